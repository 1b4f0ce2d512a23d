//! What a granted request looks like to an honest server.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use countersign_plan::egress::Egress;
use countersign_wire::egress::ask;

use crate::house::{House, get, handle, header, http, post, requests};
use crate::server::{Server, ok, redirect};

fn house(value: &str) -> House {
    House::start("schema: countersign.broker/v1\nsecrets: {api: {from: {env: KEY}, ttl: 0}}\n", &[("KEY", value)])
}

fn one(server: &Server, method: &str) -> Egress {
    Egress { secrets: vec![handle("api", &["127.0.0.1"])], ..requests(vec![http(method, server.port(), "/")]) }
}

#[test]
fn a_request_arrives_as_it_was_asked_and_the_answer_as_it_was_given() {
    let server = Server::saying("HTTP/1.1 201 Created\r\nX-Id: 7\r\nContent-Length: 4\r\n\r\nmade");
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("POST", server.port(), "/things")]));
    let fetch = ask::Fetch {
        headers: vec![header("Content-Type", "application/json", None), header("x-two", "b", None)],
        ..post(&server.url("/things?a=1"), b"{}")
    };
    let fetched = house.fetched(id, fetch);
    assert_eq!((fetched.status, fetched.body.as_slice(), fetched.dropped), (201, b"made".as_slice(), 0));
    assert!(fetched.headers.contains(&header("x-id", "7", None)));
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /things?a=1 HTTP/1.1");
    assert_eq!(seen.header("host"), Some(server.address.to_string().as_str()));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, b"{}");
}

#[test]
fn a_secret_is_put_where_the_manifest_says() {
    let server = Server::saying(&ok("x"));
    let mut house = house("user-name:p4ssw0rd-long");
    let auths = [
        r#"{"bearer": {"secret": "api"}}"#,
        r#"{"basic": {"secret": "api"}}"#,
        r#"{"header": {"name": "x-api-key", "secret": "api"}}"#,
        r#"{"query": {"name": "key", "secret": "api"}}"#,
        r#"{"aws_sigv4": {"secret": "api", "region": "eu-west-1", "service": "rds"}}"#,
    ];
    for auth in auths {
        let id = house.lease(one(&server, "GET"));
        let fetch = ask::Fetch { auth: Some(auth.as_bytes().to_vec()), ..get(&server.url("/?a=1")) };
        let fetched = house.fetched(id, fetch);
        assert_eq!(fetched.url, server.url("/?a=1"), "the address that is told holds no secret");
    }
    let seen = server.seen();
    let basic = base64::engine::general_purpose::STANDARD.encode("user-name:p4ssw0rd-long");
    assert_eq!(seen[0].header("authorization"), Some("Bearer user-name:p4ssw0rd-long"));
    assert_eq!(seen[1].header("authorization"), Some(format!("Basic {basic}").as_str()));
    assert_eq!(seen[2].header("x-api-key"), Some("user-name:p4ssw0rd-long"));
    assert_eq!(seen[3].line, "GET /?a=1&key=user-name%3Ap4ssw0rd-long HTTP/1.1");
    let signed = seen[4].header("authorization").unwrap();
    assert!(
        signed.starts_with("AWS4-HMAC-SHA256 Credential=user-name/") && signed.contains("/eu-west-1/rds/aws4_request")
    );
    assert!(!signed.contains("p4ssw0rd"));
}

#[test]
fn a_plan_cannot_say_a_parameter_that_carries_a_secret_or_a_way_that_does_not_exist() {
    let server = Server::saying(&ok("x"));
    let mut house = house("user-name:p4ssw0rd-long");
    let id = house.lease(one(&server, "GET"));
    for (auth, url) in [
        (r#"{"query": {"name": "key", "secret": "api"}}"#, "/?key=mine"),
        (r#"{"telepathy": {"secret": "api"}}"#, "/"),
        (r#"{"header": {"name": "host", "secret": "api"}}"#, "/"),
        (r#"{"header": {"name": "x", "secret": "api", "more": 1}}"#, "/"),
    ] {
        let fetch = ask::Fetch { auth: Some(auth.as_bytes().to_vec()), ..get(&server.url(url)) };
        house.refusal(id, ask::Kind::Fetch(fetch));
    }
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn a_granted_redirect_is_followed_and_changes_the_method_as_http_says() {
    let server = Server::start(|seen, out| {
        let answer = match seen.line.as_str() {
            "POST /303 HTTP/1.1" => redirect(303, "/end"),
            "POST /307 HTTP/1.1" => redirect(307, "/post"),
            "GET /end HTTP/1.1" => ok("got"),
            "POST /post HTTP/1.1" => ok("posted"),
            other => panic!("{other}"),
        };
        drop(out.write_all(answer.as_bytes()));
    });
    let port = server.port();
    let mut house = House::start("", &[]);
    let grants = [
        http("POST", port, "/303"),
        http("POST", port, "/307"),
        http("GET", port, "/end"),
        http("POST", port, "/post"),
    ];
    let id = house.lease(requests(grants.to_vec()));
    assert_eq!(house.fetched(id, post(&server.url("/303"), b"body")).body, b"got");
    assert_eq!(house.fetched(id, post(&server.url("/307"), b"body")).body, b"posted");
    assert_eq!(server.seen().last().unwrap().body, b"body");
    assert!(house.events.is_empty());
}

#[test]
fn what_broke_after_it_was_sent_is_indeterminate_if_it_could_change_something() {
    let server = Server::start(|_, _| ());
    let mut house = House::start("", &[]);
    let id = house.lease(requests(vec![http("GET", server.port(), "/"), http("POST", server.port(), "/")]));
    assert!(!house.refusal(id, ask::Kind::Fetch(get(&server.url("/")))).indeterminate);
    assert!(house.refusal(id, ask::Kind::Fetch(post(&server.url("/"), b"pay"))).indeterminate);
    // Where nobody listens, nothing was sent.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let id = house.lease(requests(vec![http("POST", closed.port(), "/")]));
    let refused = house.refusal(id, ask::Kind::Fetch(post(&format!("http://{closed}/"), b"pay")));
    assert!(!refused.indeterminate && !refused.violation, "{refused:?}");
}

#[test]
fn a_value_that_was_rotated_is_read_again_when_a_server_refuses_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    write_private(&file, "old-value-0123456789");
    let calls = std::sync::Arc::new(AtomicUsize::new(0));
    let (counted, rotated) = (calls.clone(), file.clone());
    let server = Server::start(move |seen, out| {
        let answer = if seen.header("authorization") == Some("Bearer new-value-0123456789") {
            ok("welcome")
        } else {
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                write_private(&rotated, "new-value-0123456789");
            }
            "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n".to_owned()
        };
        drop(out.write_all(answer.as_bytes()));
    });
    let configuration =
        format!("schema: countersign.broker/v1\nsecrets: {{api: {{from: {{file: {}}}}}}}\n", file.display());
    let mut house = House::start(&configuration, &[]);
    let id = house.lease(one(&server, "GET"));
    let fetched = house.fetched(id, ask::Fetch { auth: crate::house::bearer("api"), ..get(&server.url("/")) });
    assert_eq!((fetched.status, fetched.body.as_slice()), (200, b"welcome".as_slice()));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

fn write_private(file: &std::path::Path, text: &str) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(file).unwrap();
    writeln!(file, "{text}").unwrap();
}
