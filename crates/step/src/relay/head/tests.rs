//! Requests as programs and attackers write them (SANDBOX probe 94).

use proptest::prelude::*;

use super::{Head, HeadError, Kind, parse};

fn tunnel(host: &str, port: u16, early: &[u8]) -> Head {
    Head { host: host.to_owned(), port, kind: Kind::Tunnel { early: early.to_vec() } }
}

#[test]
fn a_tunnel_is_for_exactly_the_host_and_port_that_are_named() {
    let read = |text: &str| parse(text.as_bytes());
    assert_eq!(
        read("CONNECT a.example:443 HTTP/1.1\r\nHost: b.example\r\n\r\nearly"),
        Ok(Some(tunnel("a.example", 443, b"early")))
    );
    assert_eq!(read("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n"), Ok(Some(tunnel("2001:db8::1", 443, b""))));
    assert_eq!(read("CONNECT a.example:443 HTTP/1.1\r\nHost"), Ok(None));
    for wrong in [
        "a.example",
        "a.example:443@evil.example:443",
        "user@evil.example:443",
        "a.example:https",
        "a.example:-1",
        "a.example:99999",
        "2001:db8::1:443",
        "[a.example]:443",
        ":443",
        "a.example:443/x",
        "a%2eexample:443",
    ] {
        assert!(matches!(read(&format!("CONNECT {wrong} HTTP/1.1\r\n\r\n")), Err(HeadError::Malformed(_))), "{wrong}");
    }
}

fn request(text: &str) -> (String, u16, String, Vec<u8>, u64) {
    match parse(text.as_bytes()).unwrap().unwrap() {
        Head { host, port, kind: Kind::Request { head, body, left } } => {
            (host, port, String::from_utf8(head).unwrap(), body, left)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_is_sent_once_to_the_host_of_its_own_line() {
    let (host, port, head, body, left) = request(
        "POST http://A.example/p?q HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nConnection: keep-alive\r\nX: 1\r\n\
         Content-Length: 6\r\n\r\nbod",
    );
    assert_eq!((host.as_str(), port, body.as_slice(), left), ("a.example", 80, &b"bod"[..], 3));
    let expected = "POST /p?q HTTP/1.1\r\nHost: A.example\r\nConnection: close\r\nX: 1\r\nContent-Length: 6\r\n\r\n";
    assert_eq!(head, expected);
    let (host, port, head, ..) = request("GET http://a.example:8080 HTTP/1.0\r\n\r\n");
    assert_eq!((host.as_str(), port), ("a.example", 8080));
    assert!(head.starts_with("GET / HTTP/1.1\r\nHost: a.example:8080\r\n"));
    assert!(request("GET http://a.example?x HTTP/1.1\r\n\r\n").2.starts_with("GET /?x HTTP/1.1\r\n"));
}

#[test]
fn a_pipelined_second_request_goes_nowhere() {
    let (_, _, head, body, left) =
        request("GET http://a.example/ HTTP/1.1\r\n\r\nGET http://evil.example/ HTTP/1.1\r\n\r\n");
    assert!(!head.contains("evil") && body.is_empty() && left == 0);
}

#[test]
fn what_smuggles_or_is_no_proxy_request_is_refused() {
    for wrong in [
        "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET https://a.example/ HTTP/1.1\r\n\r\n",
        "GET http://a.example@evil.example/ HTTP/1.1\r\n\r\n",
        "GET http:///x HTTP/1.1\r\n\r\n",
        "POST http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST http://a.example/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n",
    ] {
        assert!(matches!(parse(wrong.as_bytes()), Err(HeadError::Malformed(_))), "{wrong}");
    }
    let chunked = "POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(parse(chunked.as_bytes()), Err(HeadError::Length));
    let long = format!("GET http://a.example/{} HTTP/1.1\r\n", "x".repeat(20 << 10));
    assert_eq!(parse(long.as_bytes()), Err(HeadError::Large));
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200), tail in "[a-z:/@.\\[\\] \r\n]{0,80}") {
        drop(parse(&bytes));
        drop(parse(format!("CONNECT {tail}").as_bytes()));
        drop(parse(format!("GET http://{tail}").as_bytes()));
    }
}
