//! What passes a grant, and what looks as if it should.

use countersign_plan::egress::{Egress, HostGrant, HttpGrant, SecretGrant};
use proptest::prelude::*;
use url::Url;

use super::{Grant, fits};
use crate::address::Reach;
use crate::refusal::Meaning;

#[test]
fn patterns_fit_as_the_deployment_means_them() {
    let yes = [
        ("api.example.com", "api.example.com", 443),
        ("API.Example.com", "api.example.com", 443),
        ("*.example.com", "a.example.com", 443),
        ("*.example.com", "a.b.example.com", 8080),
        ("*.example.com:8080", "a.example.com", 8080),
        ("api.example.com:443", "api.example.com", 443),
        ("api.example.com:*", "api.example.com", 1),
        ("bücher.example", "xn--bcher-kva.example", 443),
        ("10.0.0.1", "10.0.0.1", 443),
        ("::1", "::1", 443),
        ("[::1]:443", "::1", 443),
    ];
    for (pattern, host, port) in yes {
        assert!(fits(pattern, host, port), "{pattern} {host}:{port}");
    }
    let no = [
        ("*", "api.example.com", 443),
        ("", "api.example.com", 443),
        ("*.example.com", "example.com", 443),
        ("*.example.com", "evilexample.com", 443),
        ("*.example.com", ".example.com", 443),
        ("*.com", "com", 443),
        ("*.0.0.1", "x", 443),
        ("example.com", "api.example.com", 443),
        ("api.example.com", "api.example.com.evil.com", 443),
        ("api.example.com:443", "api.example.com", 444),
        ("api.example.com:x", "api.example.com", 443),
        ("[::1]:443", "::1", 80),
        ("a*.example.com", "ab.example.com", 443),
    ];
    for (pattern, host, port) in no {
        assert!(!fits(pattern, host, port), "{pattern} {host}:{port}");
    }
}

fn grant(secrets: Vec<SecretGrant>) -> Grant {
    let at = HostGrant { host: "api.example.com".to_owned(), port: 443, private: false };
    let http = vec![HttpGrant { method: "GET".to_owned(), tls: true, at, path: "/v1/x".to_owned() }];
    Grant::new("c1".to_owned(), "s1".to_owned(), Egress { http, secrets, ..Egress::default() })
}

#[test]
fn a_secret_wants_a_handle_a_host_and_tls() {
    let hosts = vec!["api.example.com".to_owned()];
    let grant = grant(vec![SecretGrant { name: "s".parse().unwrap(), hosts, exposed: false }]);
    let url = |text: &str| Url::parse(text).unwrap();
    assert!(grant.secret("s", &url("https://api.example.com/"), Reach::Public).is_ok());
    let other = grant.secret("t", &url("https://api.example.com/"), Reach::Public).unwrap_err();
    assert_eq!(other.meaning, Meaning::Violation);
    assert_eq!(grant.secret("s", &url("https://evil.com/"), Reach::Public).unwrap_err().meaning, Meaning::Violation);
    assert_eq!(
        grant.secret("s", &url("http://api.example.com/"), Reach::Public).unwrap_err().meaning,
        Meaning::Refused
    );
    assert!(grant.secret("s", &url("http://api.example.com/"), Reach::Private).is_ok());
}

proptest! {
    /// INV-1: no address but the granted one passes, however it is written.
    #[test]
    fn only_the_granted_address_passes(text in "https?://(api\\.example\\.com|[a-z.@:\\[\\]%0-9]{1,20})(:[0-9]{1,5})?/(v1/x|[a-z0-9/.%\\\\;?#]{0,12})") {
        if let Ok(url) = Url::parse(&text)
            && grant(vec![]).request("GET", &url).is_ok()
        {
            let canonical = url.as_str().split(['?', '#']).next().unwrap_or_default();
            let without_user = canonical.rsplit_once('@').map_or(canonical.trim_start_matches("https://"), |(_, rest)| rest);
            prop_assert_eq!(without_user, "api.example.com/v1/x");
            prop_assert_eq!(url.scheme(), "https");
        }
    }
}
