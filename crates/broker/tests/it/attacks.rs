//! What hostile servers and hostile steps try.

use std::time::Duration;

use countersign_plan::egress::{Egress, HostGrant, HttpGrant};
use countersign_wire::egress::ask;

use crate::house::{House, bearer, get, handle, header, http, post, requests};
use crate::server::{Server, ok, redirect};

const VALUE: &str = "tok-0123456789-abcdefghij";
const SECRETS: &str = "schema: countersign.broker/v1\nsecrets: {api: {from: {env: KEY}}}\n";

fn with_secret() -> House {
    House::start(SECRETS, &[("KEY", VALUE)])
}

#[test]
fn only_exactly_the_granted_request_is_made() {
    let server = Server::saying(&ok("x"));
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("GET", server.port(), "/a/b")]));
    let port = server.port();
    let attacks = [
        get(&server.url("/a")),
        get(&server.url("/a/b/")),
        get(&server.url("/a/b/../c")),
        get(&server.url("/A/b")),
        get(&server.url("/a%2fb")),
        post(&server.url("/a/b"), b""),
        get(&format!("https://127.0.0.1:{port}/a/b")),
        get(&format!("http://localhost:{port}/a/b")),
        get(&format!("http://127.0.0.1:{}/a/b", port ^ 1)),
        get(&format!("http://[::ffff:127.0.0.1]:{port}/a/b")),
        get(&format!("http://[::1]:{port}/a/b")),
        get(&format!("ftp://127.0.0.1:{port}/a/b")),
        get("file:///etc/passwd"),
        ask::Fetch { method: "get".into(), ..get(&server.url("/a/b")) },
        ask::Fetch { method: "CONNECT".into(), ..get(&server.url("/a/b")) },
        ask::Fetch { method: "GET / HTTP/1.1\r\nX: y\r\n\r\nGET".into(), ..get(&server.url("/a/b")) },
    ];
    for attack in attacks {
        let what = format!("{} {}", attack.method, attack.url);
        assert!(house.refusal(id, ask::Kind::Fetch(attack)).violation, "{what}");
    }
    assert!(!house.refusal(id, ask::Kind::Fetch(get(&format!("http://user:pass@127.0.0.1:{port}/a/b")))).violation);
    assert_eq!(server.seen().len(), 0);
    // A query is the step's own; a fragment goes nowhere.
    assert_eq!(house.fetched(id, get(&server.url("/a/b?q=1#f"))).status, 200);
    assert_eq!(server.seen()[0].line, "GET /a/b?q=1 HTTP/1.1");
}

/// Lesson 20: approving one request approves no second.
#[test]
fn lesson_20_a_request_that_changes_something_is_made_once() {
    let server = Server::saying(&ok("paid"));
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("POST", server.port(), "/pay"), http("GET", server.port(), "/pay")]));
    assert_eq!(house.fetched(id, post(&server.url("/pay"), b"10")).body, b"paid");
    let again = house.refusal(id, ask::Kind::Fetch(post(&server.url("/pay"), b"10")));
    assert!(again.violation && again.message.contains("once") || again.message.contains("before"), "{again:?}");
    for _ in 0..2 {
        assert_eq!(house.fetched(id, get(&server.url("/pay"))).status, 200);
    }
    assert_eq!(server.seen().iter().filter(|seen| seen.line.starts_with("POST")).count(), 1);
}

/// Lesson 18.
#[test]
fn lesson_18_a_redirect_to_metadata_is_not_followed_and_alerts() {
    for to in ["http://169.254.169.254/latest/meta-data/", "http://0xa9fea9fe/", "http://[::ffff:a9fe:a9fe]/"] {
        let server = Server::saying(&redirect(302, to));
        let mut house = House::start("", &[]);
        let id = house.lease(requests(vec![http("GET", server.port(), "/")]));
        let fetched = house.fetched(id, get(&server.url("/")));
        assert_eq!(fetched.status, 302, "{to}");
        assert!(
            house.events.iter().any(|event| event.alert && event.message.contains("metadata")),
            "{to}: {:?}",
            house.events
        );
    }
}

/// Lesson 18: even a grant does not open them.
#[test]
fn lesson_18_metadata_and_link_local_addresses_are_refused_even_if_granted() {
    let mut house = House::start(
        "schema: countersign.broker/v1\nhosts: {rebound.example: [169.254.169.254], mixed.example: [93.184.215.14, 169.254.0.7], private.example: [10.0.0.1]}",
        &[],
    );
    let grant = |host: &str, private| HttpGrant {
        method: "GET".into(),
        tls: false,
        at: HostGrant { host: host.into(), port: 80, private },
        path: "/".into(),
    };
    let hosts = [
        "169.254.169.254",
        "169.254.1.1",
        "rebound.example",
        "mixed.example",
        "0.0.0.0",
        "fe80::1",
        "fd00:ec2::254",
        "100.100.100.200",
    ];
    let id = house.lease(requests(hosts.iter().map(|host| grant(host, true)).collect()));
    for host in hosts {
        let shown = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let refused = house.refusal(id, ask::Kind::Fetch(get(&format!("http://{shown}/"))));
        assert!(!refused.violation && refused.message.contains("never reached"), "{host}: {refused:?}");
    }
    assert_eq!(house.events.iter().filter(|event| event.alert).count(), 4, "{:?}", house.events);
    // Private addresses want a grant that says so.
    let id = house.lease(requests(vec![grant("private.example", false), grant("127.0.0.1", false)]));
    for host in ["private.example", "127.0.0.1"] {
        let refused = house.refusal(id, ask::Kind::Fetch(get(&format!("http://{host}/"))));
        assert!(refused.message.contains("hosts.internal"), "{refused:?}");
    }
}

/// INV-10: the value goes to the host that the handle is for, and to no other.
#[test]
fn a_secret_goes_nowhere_but_to_its_hosts() {
    let server = Server::saying(&ok("x"));
    let mut house = with_secret();
    let egress = Egress {
        secrets: vec![handle("api", &["api.example.com", "*.example.org"])],
        ..requests(vec![http("GET", server.port(), "/")])
    };
    let id = house.lease(egress);
    let asks = [
        ask::Fetch { auth: bearer("api"), ..get(&server.url("/")) },
        ask::Fetch { headers: vec![header("x-key", "", Some("api"))], ..get(&server.url("/")) },
        ask::Fetch { auth: bearer("other"), ..get(&server.url("/")) },
    ];
    for ask in asks {
        assert!(house.refusal(id, ask::Kind::Fetch(ask)).violation);
    }
    assert_eq!(server.seen().len(), 0);
}

/// INV-10.
#[test]
fn a_secret_does_not_follow_a_redirect_to_another_host() {
    let thief = Server::saying(&ok("thanks"));
    let to = thief.url("/steal");
    let server = Server::saying(&redirect(307, &to));
    let mut house = with_secret();
    // Even a thief that the secret's own grant covers by host gets nothing: another port is another origin.
    let id = house.lease(Egress {
        secrets: vec![handle("api", &["127.0.0.1"])],
        ..requests(vec![http("GET", server.port(), "/"), http("GET", thief.port(), "/steal")])
    });
    let headers = vec![
        header("authorization", "Bearer ", Some("api")),
        header("x-key", "", Some("api")),
        header("cookie", "a=b", None),
    ];
    let fetched = house.fetched(id, ask::Fetch { headers, ..get(&server.url("/")) });
    assert_eq!((fetched.body.as_slice(), fetched.url), (b"thanks".as_slice(), to));
    assert_eq!(server.seen()[0].header("authorization"), Some(format!("Bearer {VALUE}").as_str()));
    assert_eq!(server.seen()[0].header("x-key"), Some(VALUE));
    let stolen = &thief.seen()[0];
    assert!(stolen.headers.iter().all(|(name, value)| !value.contains(VALUE) && name != "cookie"), "{stolen:?}");
}

/// INV-10.
#[test]
fn a_server_that_echoes_the_secret_gives_nothing_away() {
    use base64::Engine as _;
    let server = Server::start(|seen, out| {
        let token = seen.header("authorization").unwrap().trim_start_matches("Bearer ");
        let encoded = base64::engine::general_purpose::STANDARD.encode(format!("user:{token}"));
        let body = format!("you said {token}, that is {encoded} or {}", hex::encode(token));
        let head = format!("HTTP/1.1 401 No\r\nX-Echo: {token}\r\nContent-Length: {}\r\n\r\n", body.len());
        drop(out.write_all(format!("{head}{body}").as_bytes()));
    });
    let mut house = with_secret();
    let egress =
        Egress { secrets: vec![handle("api", &["127.0.0.1"])], ..requests(vec![http("GET", server.port(), "/")]) };
    let id = house.lease(egress);
    let fetched = house.fetched(id, ask::Fetch { auth: bearer("api"), ..get(&server.url("/")) });
    let body = String::from_utf8(fetched.body).unwrap();
    assert_eq!(body.matches("[secret api]").count(), 3, "{body}");
    assert!(fetched.headers.iter().any(|header| header.name == "x-echo" && header.value == "[secret api]"));
    assert!(!body.contains(VALUE));
}

/// INV-10: in the other direction as well.
#[test]
fn a_request_that_carries_a_value_instead_of_a_handle_is_not_sent() {
    let server = Server::saying(&ok("x"));
    let mut house = with_secret();
    let http_grants = || vec![http("GET", server.port(), "/"), http("POST", server.port(), "/")];
    let id = house.lease(Egress { secrets: vec![handle("api", &["127.0.0.1"])], ..requests(http_grants()) });
    // The broker holds the value once it was used.
    assert_eq!(house.fetched(id, ask::Fetch { auth: bearer("api"), ..get(&server.url("/")) }).status, 200);
    let leaks = [
        get(&server.url(&format!("/?q={VALUE}"))),
        ask::Fetch { headers: vec![header("x", VALUE, None)], ..get(&server.url("/")) },
        post(&server.url("/"), format!("leak {VALUE}").as_bytes()),
        post(&server.url("/"), hex::encode(VALUE).as_bytes()),
    ];
    for (at, leak) in leaks.into_iter().enumerate() {
        let id = house.lease(requests(http_grants()));
        let refused = house.refusal(id, ask::Kind::Fetch(leak));
        assert!(refused.message.contains("value of a secret") && !refused.message.contains(VALUE), "{at}: {refused:?}");
    }
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_body_without_end_is_cut_at_its_bound() {
    let server = Server::start(|_, out| {
        drop(out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n"));
        let piece = vec![b'x'; 1 << 16];
        // Until the broker hangs up.
        for _ in 0..1600 {
            if out.write_all(&piece).is_err() {
                return;
            }
        }
    });
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("GET", server.port(), "/")]));
    let fetched = house.fetched(id, ask::Fetch { keep: 1000, ..get(&server.url("/")) });
    assert_eq!((fetched.body.len(), fetched.dropped), (1000, 104_857_600 - 1000));
    // Whatever is asked for, no more than four mebibytes are kept.
    let fetched = house.fetched(id, ask::Fetch { keep: u64::MAX, ..get(&server.url("/")) });
    assert_eq!(fetched.body.len(), 4 << 20);
}

#[test]
fn a_head_without_end_and_one_that_is_no_http_are_errors() {
    let endless = Server::start(|_, out| {
        drop(out.write_all(b"HTTP/1.1 200 OK\r\n"));
        while out.write_all(b"X-Padding: 0123456789012345678901234567890123456789\r\n").is_ok() {}
    });
    let garbage = Server::saying("SSH-2.0-OpenSSH_9.9\r\n\r\n");
    let mut house = House::start("", &[]);
    for server in [&endless, &garbage] {
        let id = house.lease(requests(vec![http("GET", server.port(), "/"), http("POST", server.port(), "/")]));
        assert!(!house.refusal(id, ask::Kind::Fetch(get(&server.url("/")))).indeterminate);
        assert!(house.refusal(id, ask::Kind::Fetch(post(&server.url("/"), b""))).indeterminate);
    }
}

#[test]
fn a_server_that_dribbles_is_left_when_the_time_is_over() {
    let server = Server::start(|_, out| {
        drop(out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"));
        while out.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("GET", server.port(), "/")]));
    let refused = house.refusal(id, ask::Kind::Fetch(ask::Fetch { timeout_ms: 300, ..get(&server.url("/")) }));
    assert!(refused.message.contains("in time"), "{refused:?}");
}

/// What is compressed stays so: a bomb is as long as it was sent.
#[test]
fn nothing_is_decompressed_and_nothing_compressed_is_asked_for() {
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 99, 96, 24, 5, 163, 96, 20, 140, 2, 8, 0, 0];
    let server = Server::start(move |_, out| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", bomb.len());
        drop(out.write_all(head.as_bytes()).and_then(|()| out.write_all(&bomb)));
    });
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("GET", server.port(), "/")]));
    assert_eq!(house.fetched(id, get(&server.url("/"))).body, bomb);
    assert_eq!(server.seen()[0].header("accept-encoding"), Some("identity"));
}

#[test]
fn headers_that_split_requests_or_belong_to_the_connection_are_refused() {
    let server = Server::saying(&ok("x"));
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("GET", server.port(), "/")]));
    let attacks = [
        ("x", "a\r\nEvil: 1"),
        ("x", "a\nEvil: 1"),
        ("x", "a\0b"),
        ("x\r\ny", "a"),
        ("x y", "a"),
        ("", "a"),
        ("Host", "other.example"),
        ("host", "other.example"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("connection", "close, x"),
        ("Upgrade", "websocket"),
        ("te", "trailers"),
        ("proxy-authorization", "x"),
        ("accept-encoding", "gzip"),
        ("expect", "100-continue"),
    ];
    for (name, value) in attacks {
        let fetch = ask::Fetch { headers: vec![header(name, value, None)], ..get(&server.url("/")) };
        house.refusal(id, ask::Kind::Fetch(fetch));
    }
    let many = (0..100).map(|at| header(&format!("x-{at}"), "y", None)).collect();
    house.refusal(id, ask::Kind::Fetch(ask::Fetch { headers: many, ..get(&server.url("/")) }));
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn redirects_in_a_circle_end() {
    let server = Server::saying(&redirect(302, "/"));
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("GET", server.port(), "/")]));
    assert_eq!(house.fetched(id, get(&server.url("/"))).status, 302);
    assert_eq!(server.seen().len(), 6);
}
