//! Hosts and URLs: one name for each spelling, and spellings that deceive.

use super::{host, read, url};
use crate::inspection::FindingKind;

#[test]
fn each_spelling_of_a_host_has_one_name() {
    for (text, name) in [
        ("https://Example.COM/x", "example.com:443"),
        ("http://example.com.:8080/", "example.com:8080"),
        ("example.com:22", "example.com:22"),
        ("git@github.com", "github.com"),
        ("ssh://git@github.com/x", "github.com:22"),
        ("http://[::1]:80/", "[::1]:80"),
        ("http://2130706433/", "127.0.0.1:80"),
        ("http://0x7f.1/", "127.0.0.1:80"),
        ("http://0177.0.0.1/", "127.0.0.1:80"),
        ("http://[::ffff:10.0.0.1]/", "10.0.0.1:80"),
        ("http://[64:ff9b::a9fe:a9fe]/", "169.254.169.254:80"),
        ("http://b\u{fc}cher.example/", "xn--bcher-kva.example:80"),
        ("localhost", "localhost"),
    ] {
        assert_eq!(read(text).name.as_deref(), Some(name), "{text}");
    }
}

#[test]
fn an_address_that_deceives_is_found() {
    for (text, kind) in [
        ("http://169.254.169.254/latest", FindingKind::MetadataAddress),
        ("http://2852039166/", FindingKind::MetadataAddress),
        ("http://[::ffff:169.254.169.254]/", FindingKind::MetadataAddress),
        ("http://[fd00:ec2::254]/", FindingKind::MetadataAddress),
        ("http://metadata.google.internal/", FindingKind::MetadataAddress),
        ("http://100.100.100.200/", FindingKind::MetadataAddress),
        ("http://0xa9.0xfe.0xa9.0xfe/", FindingKind::OddAddress),
        ("http://0/", FindingKind::OddAddress),
        ("http://127.1/", FindingKind::OddAddress),
        ("http://ex%61mple.com/", FindingKind::OddAddress),
        ("http://good.example\\@evil.example/", FindingKind::OddAddress),
        ("https://good.example@evil.example/", FindingKind::UserInfo),
        ("gopher://cache.example:6379/_FLUSHALL%0d%0a", FindingKind::OddAddress),
        ("DICT://cache.example:11211/stats", FindingKind::OddAddress),
        ("https://good.example:x@evil.example/", FindingKind::UserInfo),
        ("https://p\u{0430}ypal.example/", FindingKind::LookAlike),
        ("https://\u{0430}\u{0440}\u{0440}\u{04cf}\u{0435}.example/", FindingKind::LookAlike),
        ("https://xn--80ak6aa92e.example/", FindingKind::LookAlike),
        ("https://\u{ff45}xample.com/", FindingKind::LookAlike),
        ("https://exam\u{200b}ple.com/", FindingKind::HiddenText),
    ] {
        assert!(url(text).found(kind), "{text} {:?}", url(text));
    }
}

#[test]
fn an_ordinary_address_is_only_a_host() {
    for text in [
        "https://api.example/v1?q=a@b",
        "https://example.com/@user/post",
        "http://localhost:3000/",
        "https://10.1.2.3/",
        "http://[2001:db8::1]/",
        "https://m\u{fc}nchen.example/",
        "https://\u{4f8b}\u{3048}.example/",
        "https://\u{043f}\u{0440}\u{0438}\u{0432}\u{0435}\u{0442}.example/",
        "git@github.com",
        "db.internal:5432",
        "example.com.",
    ] {
        assert!(host(text).is_clear(), "{text} {:?}", host(text));
    }
    for text in ["", "http://", "https:///x", "a b", "http://[::1", "http://exa mple/"] {
        assert!(!url(text).is_clear(), "{text}");
    }
}
