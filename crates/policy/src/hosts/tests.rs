//! Hosts: every spelling of an address, deceiving URLs, patterns.

use std::net::IpAddr;

use super::{Endpoint, Host, HostError, HostPattern, HostSet, Reach};

fn url(text: &str) -> String {
    Endpoint::of_url(text).unwrap().to_string()
}

#[test]
fn lesson_18_every_spelling_of_an_address_is_that_address() {
    for (text, want) in [
        ("http://127.0.0.1/", "127.0.0.1:80"),
        ("http://2130706433/", "127.0.0.1:80"),
        ("http://0x7f000001/", "127.0.0.1:80"),
        ("http://0177.0.0.1/", "127.0.0.1:80"),
        ("http://127.1/", "127.0.0.1:80"),
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1:80"),
        ("http://[::ffff:a9fe:a9fe]/", "169.254.169.254:80"),
        ("http://[64:ff9b::a9fe:a9fe]/", "169.254.169.254:80"),
        ("http://[2002:a9fe:a9fe::1]/", "169.254.169.254:80"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("https://EXAMPLE.com./x", "example.com:443"),
        ("https://b\u{fc}cher.example/", "xn--bcher-kva.example:443"),
        ("http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/", "127.0.0.1:80"),
    ] {
        assert_eq!(url(text), want, "{text}");
    }
}

#[test]
fn lesson_18_ranges_that_lists_forget() {
    for (ip, want) in [
        ("0.0.0.0", Reach::Loopback),
        ("127.8.8.8", Reach::Loopback),
        ("::1", Reach::Loopback),
        ("::", Reach::Loopback),
        ("100.64.0.1", Reach::Near),
        ("169.254.1.1", Reach::Near),
        ("10.1.2.3", Reach::Near),
        ("172.31.0.1", Reach::Near),
        ("198.18.0.1", Reach::Near),
        ("255.255.255.255", Reach::Near),
        ("fe80::1", Reach::Near),
        ("fc00::1", Reach::Near),
        ("ff02::1", Reach::Near),
        ("::ffff:10.0.0.1", Reach::Near),
        ("64:ff9b::10.0.0.1", Reach::Near),
        ("169.254.169.254", Reach::Metadata),
        ("fd00:ec2::254", Reach::Metadata),
        ("100.100.100.200", Reach::Metadata),
        ("168.63.129.16", Reach::Metadata),
        ("8.8.8.8", Reach::Public),
        ("2606:4700::1111", Reach::Public),
    ] {
        assert_eq!(Reach::from(ip.parse::<IpAddr>().unwrap()), want, "{ip}");
    }
    for (name, want) in [
        ("metadata.google.internal", Reach::Metadata),
        ("metadata.google.internal.", Reach::Metadata),
        ("x.METADATA.google.internal", Reach::Metadata),
        ("169.254.169.254.nip.io", Reach::Metadata),
        ("app-169-254-169-254.sslip.io", Reach::Metadata),
        ("a9fea9fe.nip.io", Reach::Metadata),
        ("8-8-8-8.nip.io", Reach::Near),
        ("app.localhost", Reach::Loopback),
        ("example.com", Reach::Public),
        ("notmetadata.google.internal.example", Reach::Public),
    ] {
        assert_eq!(Host::parse(name).unwrap().reach(), want, "{name}");
    }
}

#[test]
fn what_hides_where_a_request_goes_is_refused() {
    for text in [
        "https://good.example@evil.example/",
        "https://good.example:pw@evil.example/",
        "https://p\u{0430}ypal.example/",
        "https://xn--pypal-4ve.example/",
        "https://a\u{200b}b.example/",
        "https://a.example/\u{202e}gpj",
    ] {
        assert!(Endpoint::of_url(text).unwrap_err().deceives(), "{text}");
    }
    for text in [
        "http:\\\\evil.example",
        "http:/evil.example",
        "//evil.example",
        "http://good.example\\@evil.example",
        "http://a b.example/",
        "http://a.exam\tple/",
        "http://",
        "http://a..b/",
        "example.com",
        "http://a.example:99999/",
    ] {
        assert!(matches!(Endpoint::of_url(text), Err(HostError::Ambiguous(_))), "{text}");
    }
    for text in ["file:///etc/passwd", "gopher://x/", "FTP://x/", "javascript://x"] {
        assert!(matches!(Endpoint::of_url(text), Err(HostError::Scheme(_))), "{text}");
    }
}

#[test]
fn a_star_excludes_its_parent_and_never_matches_an_address() {
    let set = HostSet::compile([(0, "*.company.com"), (1, "localhost"), (2, "10.0.0.1"), (3, "api.x.example:8443")]);
    let set = set.unwrap();
    for (host, want) in [
        ("a.company.com", true),
        ("a.b.company.com", true),
        ("company.com", false),
        ("evilcompany.com", false),
        ("a.company.com.evil.example", false),
        ("localhost", true),
        ("127.0.0.1", false),
        ("10.0.0.1", true),
        ("0x0a000001", true),
        ("api.x.example:8443", true),
        ("api.x.example:443", false),
        ("api.x.example", false),
    ] {
        assert_eq!(set.contains(&Endpoint::parse(host).unwrap()), want, "{host}");
    }
    for pattern in ["*.10.0.0.1", "a.*.example", "*", "**.example", "a*.example"] {
        let any = HostPattern::parse(pattern).is_ok_and(|p| p.is_any());
        assert_eq!(any, pattern == "*", "{pattern}");
    }
    assert!(HostPattern::parse("*:443").unwrap().matches(&Endpoint::parse("a.example:443").unwrap()));
}
