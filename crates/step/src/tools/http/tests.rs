//! Requests as the broker gets them, and answers as the plan sees them.

use countersign_plan::tool::{Driver, HttpDriver};
use countersign_wire::egress::{ask, reply};
use serde_json::{Value, json};

use super::fetch;
use crate::failure::Failure;
use crate::tools::Seen;
use crate::tools::testing::{Fake, Heard, Scene, refused};

fn header(name: &str, value: &str) -> ask::Header {
    ask::Header { name: name.to_owned(), value: value.to_owned(), secret: None }
}

fn fetched(status: u32, body: &[u8]) -> reply::Kind {
    let headers = vec![header("a", "1"), header("b", "x"), header("a", "2")];
    reply::Kind::Fetched(reply::Fetched { status, headers, body: body.to_vec(), dropped: 0, url: String::new() })
}

/// What the broker was asked and what came of it.
fn go(
    tool: &str,
    driver: Option<Value>,
    args: Value,
    answer: reply::Kind,
) -> (Option<ask::Fetch>, Result<Seen, Failure>) {
    let scene = Scene::new();
    let driver = driver.map(|driver| Driver::Http(serde_json::from_value(driver).unwrap()));
    let mut fake = Fake::always(answer);
    let seen = scene.ordered(&scene.order(tool, args, driver), &mut fake.channel);
    let asked = fake.told().asks.pop().map(|ask| match ask.kind {
        Some(ask::Kind::Fetch(fetch)) => fetch,
        other => panic!("{other:?}"),
    });
    (asked, seen)
}

#[test]
fn a_request_is_asked_as_it_stands_and_its_secret_by_name_only() {
    let args = json!({"method": "POST", "url": "https://h.example/x?q=1", "body": "b",
        "headers": {"accept": "*/*", "authorization": ["Bearer ", {"$secret": "token"}]}});
    let (asked, seen) = go("http_request", None, args, fetched(201, b"made"));
    let asked = asked.unwrap();
    assert_eq!((asked.method.as_str(), asked.url.as_str()), ("POST", "https://h.example/x?q=1"));
    assert_eq!(asked.body.as_deref(), Some(&b"b"[..]));
    let secret = ask::Header { secret: Some("token".to_owned()), ..header("authorization", "Bearer ") };
    assert_eq!(asked.headers, [header("accept", "*/*"), secret]);
    assert!(asked.keep > 0 && asked.timeout_ms > 0);
    let seen = seen.unwrap();
    assert_eq!(seen.output, json!({"status": 201, "headers": {"a": "1, 2", "b": "x"}, "body": "made"}));
    for wrong in [
        json!({"method": "GET", "url": {"$secret": "token"}}),
        json!({"method": "GET", "url": "https://h.example/", "body": {"$secret": "token"}}),
        json!({"method": "GET", "url": "https://h.example/", "headers": {"a": [{"$secret": "token"}]}}),
    ] {
        let (asked, seen) = go("http_request", None, wrong.clone(), fetched(200, b""));
        assert!(asked.is_none() && matches!(seen, Err(Failure::Failed(_))), "{wrong}");
    }
}

#[test]
fn a_status_is_an_answer_and_a_body_that_is_no_text_is_marked() {
    let get = json!({"method": "GET", "url": "https://h.example/"});
    let (_, seen) = go("http_request", None, get.clone(), fetched(500, &[0xff, 0, 1]));
    let output = seen.unwrap().output;
    assert_eq!(
        (&output["status"], &output["body"], &output["body_encoding"]),
        (&json!(500), &json!("/wAB"), &json!("base64"))
    );
}

/// INV-2: what may have happened is nobody's failure and nobody's success.
#[test]
fn refusals_keep_their_meaning() {
    let ask = |method: &str, answer| {
        go("http_request", None, json!({"method": method, "url": "https://h.example/"}), answer).1.unwrap_err()
    };
    assert!(matches!(ask("POST", refused(true, false)), Failure::Violation(_)));
    assert!(matches!(ask("POST", refused(false, true)), Failure::Unknown(_)));
    assert!(matches!(ask("POST", refused(false, false)), Failure::Failed(_)));
    let stray = reply::Kind::Sent(reply::Sent { message_id: String::new() });
    assert!(matches!(ask("POST", stray.clone()), Failure::Unknown(_)));
    assert!(matches!(ask("GET", stray), Failure::Failed(_)));
}

#[test]
fn a_broker_that_says_nothing_is_unknown_for_what_changes_and_a_failure_for_what_reads() {
    for (method, unknown) in [("DELETE", true), ("GET", false)] {
        let mut scene = Scene::new();
        scene.spec.limits.wall_ms = 40;
        let mut fake = Fake::new(|_| vec![]);
        let order = scene.order("http_request", json!({"method": method, "url": "https://h.example/"}), None);
        let failure = scene.ordered(&order, &mut fake.channel).unwrap_err();
        assert_eq!(matches!(failure, Failure::Unknown(_)), unknown, "{failure:?}");
    }
    let scene = Scene::new();
    let order = scene.order("http_request", json!({"method": "GET", "url": "https://h.example/"}), None);
    assert!(matches!(scene.ordered(&order, &mut Heard::default()), Err(Failure::Failed(_))), "no way to a broker");
}

#[test]
fn a_template_is_filled_in_its_places() {
    let driver = json!({"method": "PUT", "url": "https://h.example/v1/items/{id}", "query": {"q": {"arg": "/q"}, "r": "lit eral",
        "s": {"arg": "/absent"}}, "headers": {"x-key": {"arg": "/key"}, "x-none": {"arg": "/absent"}}, "json": "/item",
        "auth": {"bearer": {"secret": "token"}}});
    let args = json!({"id": "a/b ?#%", "q": "1&2=3", "key": {"$secret": "k"}, "item": {"b": 1, "a": [true]}});
    let (asked, seen) = go("t", Some(driver), args, fetched(200, b"{\"n\": [1]}"));
    let asked = asked.unwrap();
    assert_eq!(asked.url, "https://h.example/v1/items/a%2Fb%20%3F%23%25?q=1%262%3D3&r=lit%20eral");
    assert_eq!(asked.body.as_deref(), Some(&br#"{"a":[true],"b":1}"#[..]));
    let key = ask::Header { secret: Some("k".to_owned()), ..header("x-key", "") };
    assert_eq!(asked.headers, [key, header("content-type", "application/json")]);
    assert_eq!(asked.auth.as_deref(), Some(&br#"{"bearer":{"secret":"token"}}"#[..]));
    assert_eq!(seen.unwrap().output["body"], json!({"n": [1]}));
}

#[test]
fn a_form_is_encoded() {
    let driver = json!({"method": "POST", "url": "https://h.example", "form": {"A": "x y", "B": {"arg": "/b"}, "C": {"arg": "/c"}}});
    let driver: HttpDriver = serde_json::from_value(driver).unwrap();
    let asked = fetch(&driver, &json!({"b": "&"})).unwrap();
    assert_eq!((asked.url.as_str(), asked.body.as_deref()), ("https://h.example/", Some(&b"A=x%20y&B=%26"[..])));
    assert_eq!(asked.headers, [header("content-type", "application/x-www-form-urlencoded")]);
}

#[test]
fn a_template_never_leads_elsewhere() {
    let with = |url: &str| serde_json::from_value::<HttpDriver>(json!({"method": "GET", "url": url})).unwrap();
    for value in ["..", ".", ""] {
        assert!(fetch(&with("https://h.example/a/{x}/b"), &json!({"x": value})).is_err(), "{value}");
    }
    for (url, args) in [
        ("https://{x}/a", json!({"x": "evil.example"})),
        ("https://h.example{x}/a", json!({"x": "@evil.example"})),
        ("https://h.example/a{x}", json!({"x": "b"})),
        ("https://h.example/{x}", json!({})),
        ("https://h.example/{x}", json!({"x": {"$secret": "k"}})),
        ("https://h.example/{x}", json!({"x": null})),
        ("https://h.example/a?b={x}", json!({"x": "b"})),
        ("h.example/{x}", json!({"x": "b"})),
    ] {
        assert!(fetch(&with(url), &args).is_err(), "{url}");
    }
    let mut both = with("https://h.example/");
    both.json = Some("".parse().unwrap());
    assert!(fetch(&both, &json!({"a": {"$secret": "k"}})).unwrap_err().to_string().contains("$secret"));
    both.form = [("a".to_owned(), countersign_plan::tool::Part::Literal("b".to_owned()))].into();
    assert!(fetch(&both, &json!({})).is_err());
}

#[test]
fn a_flood_of_headers_is_cut_and_counted() {
    let headers = (0..100).map(|i| header(&format!("h{i}"), &"x".repeat(4 << 10))).collect();
    let answer = reply::Kind::Fetched(reply::Fetched { status: 200, headers, ..Default::default() });
    let (_, seen) = go("http_request", None, json!({"method": "GET", "url": "https://h.example/"}), answer);
    let seen = seen.unwrap();
    assert!(seen.output["headers"].as_object().unwrap().len() < 17);
    assert!(seen.dropped["headers"] > 300 << 10);
}
