//! Model providers through the real process: what a server on loopback is asked, and what comes of what it says.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

pub(crate) mod process;
mod red_team;
mod server;

use countersign_wire::broker::{from_broker, to_broker};
use countersign_wire::infer::{FailureKind, Finish, Message, Role};
use serde_json::json;

use self::process::{Broker, request};
use self::server::{End, Reply, Server};

const TEXT: &[u8] = include_bytes!("../fixtures/openai/text.sse");
const CALL: &[u8] = include_bytes!("../fixtures/openai/tool_call.sse");
const CUT_OFF: &[u8] = include_bytes!("../fixtures/openai/cut_off.sse");
const MESSAGE: &[u8] = include_bytes!("../fixtures/anthropic/tool_use.sse");

const KEY: &str = "sk-countersign-test-0123456789";

/// A configuration with one provider that lies at the server; `more` are further lines of the provider.
fn at(server: &Server, kind: &str, more: &str) -> String {
    let path = if kind == "openai" { "/v1" } else { "" };
    format!(
        "secrets: {{model_key: {{from: {{env: MODEL_KEY}}}}}}\n\
         providers:\n  local:\n    kind: {kind}\n    url: http://{}{path}\n    model: m-1\n    key: model_key\n    \
         private: true\n    prices: {{input_per_million: 3, output_per_million: 15}}\n{more}",
        server.address
    )
}

fn start(server: &Server, kind: &str, more: &str) -> Broker {
    Broker::start(&at(server, kind, more), &[("MODEL_KEY", KEY)])
}

#[test]
fn an_answer_is_streamed_whatever_the_boundaries_of_its_pieces() {
    for bytes in [1, 7, 1 << 20] {
        let server = Server::start([Reply::stream(TEXT).pieces(bytes)]);
        let mut broker = start(&server, "openai", "");
        let inferred = broker.infer("case-1", &request("Say hello."));
        assert_eq!(inferred.account.provider, "local");
        assert_eq!(inferred.account.outcome, "answer");
        assert_eq!(inferred.account.attempts, 1);
        assert_eq!(inferred.account.usage.micro_dollars, 12 * 3 + 5 * 15);
        let answer = inferred.answer();
        assert_eq!((answer.text.as_str(), answer.finish), ("Grüße, Welt 👋", Finish::Stop));
        assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens), (12, 5));
        assert_eq!(answer.model, "gpt-5.2-2026-01-15");
        let seen = &server.seen()[0];
        assert!(seen.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", seen.head);
        assert!(seen.head.contains(&format!("authorization: Bearer {KEY}\r\n")), "{}", seen.head);
        let body = seen.json();
        assert_eq!(body["messages"], json!([{"role": "user", "content": "Say hello."}]));
        assert_eq!((&body["model"], &body["max_tokens"]), (&json!("m-1"), &json!(100)));
    }
}

/// INV-10: what a planner may have read somewhere goes to no provider, even where nobody has used it as a secret yet, and even
/// when the case that used it is over.
#[test]
fn a_value_that_nobody_has_used_yet_goes_to_no_provider() {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let folder = tempfile::tempdir().unwrap();
    let (token, program) = (folder.path().join("token"), folder.path().join("print"));
    let write = |path: &std::path::Path, text: &str, mode: u32| {
        let mut options = std::fs::File::options();
        let file = options.create_new(true).write(true).mode(mode).open(path).unwrap();
        std::io::Write::write_all(&mut &file, text.as_bytes()).unwrap();
        file.set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
    };
    write(&token, "of-a-file-0123456789", 0o600);
    write(&program, "#!/bin/sh\necho of-a-program-0123456789\n", 0o700);
    let server = Server::start([Reply::stream(TEXT)]);
    let configuration = at(&server, "openai", "").replace(
        "secrets: {",
        &format!(
            "secrets: {{filed: {{from: {{file: {}}}}}, printed: {{from: {{command: [{}]}}}}, ",
            token.display(),
            program.display()
        ),
    );
    let mut broker = Broker::start(&configuration, &[("MODEL_KEY", KEY)]);
    let said = "of-a-file-0123456789 of-a-program-0123456789 b2YtYS1maWxlLTAxMjM0NTY3ODk";
    broker.infer("case-1", &request(said)).answer();
    let body = server.seen()[0].json().to_string();
    assert!(!body.contains("0123456789") && !body.contains("b2YtYS1maWxl"), "{body}");
    assert!(body.contains("[secret filed]") && body.contains("[secret printed]"), "{body}");
}

#[test]
fn a_schema_becomes_what_each_provider_has_for_it() {
    let mut asked = request("Plan.");
    asked.schema = Some(json!({"type": "object"}));
    let server = Server::start([Reply::stream(CALL)]);
    let answer = start(&server, "openai", "    structured: tool\n").infer("case-1", &asked).answer();
    assert_eq!(answer.text, r#"{"steps":[]}"#);
    assert_eq!(server.seen()[0].json()["tools"][0]["function"]["name"], "answer");

    let server = Server::start([Reply::stream(MESSAGE).pieces(50)]);
    let answer = start(&server, "anthropic", "").infer("case-1", &asked).answer();
    assert_eq!(answer.text, r#"{"steps": [{"id": "s1"}]}"#);
    let seen = &server.seen()[0];
    assert!(seen.head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{}", seen.head);
    assert!(seen.head.contains(&format!("x-api-key: {KEY}\r\n")), "{}", seen.head);
    assert!(seen.head.contains("anthropic-version: 2023-06-01\r\n") && !seen.head.contains("authorization"));
}

#[test]
fn progress_is_told_while_the_model_answers() {
    let piece = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(1000));
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let body = piece.repeat(5) + end;
    let server = Server::start([Reply::stream(body.as_bytes()).pieces(piece.len())]);
    let inferred = start(&server, "openai", "").infer("case-1", &request("x"));
    assert!(!inferred.progress.is_empty() && inferred.progress.is_sorted(), "{inferred:?}");
    // Five thousand bytes that nobody counted are counted high.
    assert_eq!(inferred.answer().usage.output_tokens, 1667);
}

#[test]
fn what_may_pass_is_tried_again_and_what_cannot_is_not() {
    let busy = || Reply::status(503, "{}").header("retry-after", "0");
    let limited = || Reply::status(429, "{}").header("retry-after-ms", "1");
    let server = Server::start([busy(), limited(), Reply::stream(TEXT)]);
    let inferred = start(&server, "openai", "").infer("case-1", &request("x"));
    assert_eq!((inferred.account.attempts, server.seen().len()), (3, 3));
    // The 503 may have been paid for; the 429 was not.
    assert!(inferred.account.usage.input_tokens > 12 && inferred.account.usage.input_tokens < 30);
    assert_eq!(inferred.answer().text, "Grüße, Welt 👋");

    for (reply, kind, requests) in [
        (busy(), FailureKind::Unavailable, 3),
        (limited(), FailureKind::RateLimited, 3),
        (Reply::status(400, r#"{"error": {"message": "no"}}"#), FailureKind::Rejected, 1),
        (Reply::status(401, "{}"), FailureKind::Rejected, 1),
        (Reply::status(200, "<html>"), FailureKind::Garbage, 1),
        (Reply::stream(TEXT).header("content-type", "text/html"), FailureKind::Garbage, 1),
        (Reply::stream(TEXT).header("content-encoding", "gzip"), FailureKind::Garbage, 1),
        (Reply::stream(CUT_OFF).end(End::Cut), FailureKind::Unavailable, 1),
        (Reply::stream(b"").end(End::Cut), FailureKind::Unavailable, 3),
        // More patience than there is time is no reason to wait.
        (Reply::status(429, "{}").header("retry-after", "86400"), FailureKind::RateLimited, 1),
    ] {
        let server = Server::start([reply.clone()]);
        let inferred = start(&server, "openai", "").infer("case-1", &request("x"));
        assert_eq!((inferred.account.attempts, server.seen().len()), (requests, requests as usize), "{reply:?}");
        assert_eq!(inferred.failure().kind, kind, "{reply:?}");
    }
}

#[test]
fn a_server_that_hangs_is_given_up() {
    let patience = "    patience: {first_byte_ms: 200, idle_ms: 200, attempts: 1}\n";
    for (reply, part) in [
        (Reply::stream(b"").end(End::Mute), "did not begin to answer within 200 ms"),
        (Reply::stream(CUT_OFF).end(End::Silence), "fell silent for 200 ms"),
    ] {
        let server = Server::start([reply]);
        let failure = start(&server, "openai", patience).infer("case-1", &request("x")).failure();
        assert_eq!(failure.kind, FailureKind::Unavailable);
        assert!(failure.message.contains(part), "{failure:?}");
    }
    // Drop by drop is no way around the time for all of it.
    let drops = Reply::stream(b": still here\n").end(End::Endless);
    let server = Server::start([drops]);
    let patience = "    patience: {idle_ms: 5000, total_ms: 300, attempts: 3}\n";
    let failure = start(&server, "openai", patience).infer("case-1", &request("x")).failure();
    assert!(matches!(failure.kind, FailureKind::Unavailable | FailureKind::Garbage), "{failure:?}");
}

#[test]
fn a_context_that_is_more_secret_than_the_clearance_reaches_no_provider() {
    let server = Server::start([Reply::stream(TEXT)]);
    let mut broker = start(&server, "openai", "    clearance: internal\n");
    for secrecy in ["confidential", "restricted", "", "Public", "cosmic"] {
        let id = broker.begin("case-1", secrecy, &request("x"));
        let failure = broker.end(id).failure();
        assert_eq!(failure.kind, FailureKind::Clearance, "{secrecy}");
    }
    assert_eq!(server.seen().len(), 0);
    for secrecy in ["public", "internal"] {
        let id = broker.begin("case-1", secrecy, &request("x"));
        broker.end(id).answer();
    }
}

#[test]
fn a_budget_is_a_hard_stop_until_a_person_raises_it() {
    let server = Server::start([Reply::stream(TEXT)]);
    let budget = |tokens: u32| at(&server, "openai", &format!("budget: {{tokens_per_case: {tokens}}}\n"));
    let mut broker = Broker::start(&budget(120), &[("MODEL_KEY", KEY)]);
    assert_eq!(broker.infer("case-1", &request("x")).alerts, [""; 0]);
    let stopped = broker.infer("case-1", &request("x"));
    assert_eq!((stopped.alerts.len(), server.seen().len()), (1, 1), "{stopped:?}");
    let failure = stopped.failure();
    assert_eq!(failure.kind, FailureKind::Budget);
    assert!(failure.message.contains("has used 17"), "{failure:?}");
    assert_eq!(broker.infer("case-1", &request("x")).alerts, [""; 0], "told once");
    broker.infer("case-2", &request("x")).answer();

    assert_eq!(broker.boot(&budget(130)), "");
    broker.infer("case-1", &request("x")).answer();
    let stopped = broker.infer("case-1", &request("x"));
    assert_eq!(stopped.alerts.len(), 1, "told again after a change");
    assert!(stopped.failure().message.contains("has used 34"), "a new configuration forgives nothing");
    assert_eq!(server.seen().len(), 3);
}

/// Killed at any moment: what was spent is spent, and what was under way counts as its estimate.
#[test]
fn a_broker_that_is_killed_forgets_nothing_that_was_spent() {
    let server = Server::start([Reply::stream(TEXT), Reply::stream(CUT_OFF).end(End::Silence)]);
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("broker");
    let budget = |tokens: u32| at(&server, "openai", &format!("budget: {{tokens_per_case: {tokens}}}\n"));
    let start = |tokens: u32| Broker::start_in(&folder, &budget(tokens), &[("MODEL_KEY", KEY)]);
    let mut first = start(120);
    first.infer("case-1", &request("x")).answer();
    // SIGKILL: a test's broker has no other end.
    drop(first);

    let mut second = start(120);
    let failure = second.infer("case-1", &request("x")).failure();
    assert_eq!(failure.kind, FailureKind::Budget);
    assert!(failure.message.contains("has used 17"), "{failure:?}");
    assert_eq!(second.boot(&budget(150)), "");
    let before = server.sent();
    second.begin("case-1", "public", &request("x"));
    while server.sent() == before {
        std::thread::yield_now();
    }
    drop(second);

    let mut third = start(220);
    let failure = third.infer("case-1", &request("x")).failure();
    assert_eq!(failure.kind, FailureKind::Budget, "{failure:?}");
    assert!(!failure.message.contains("has used 17;"), "{failure:?}");
    assert_eq!(server.seen().len(), 2);
    server.then(Reply::stream(TEXT));
    third.infer("case-2", &request("x")).answer();
    third.case_ended("case-1");
    server.then(Reply::stream(TEXT));
    third.infer("case-1", &request("x")).answer();
}

#[test]
fn money_is_a_budget_too() {
    let server = Server::start([Reply::stream(TEXT)]);
    // 100 tokens of an answer may cost $0.0015.
    let mut broker = start(&server, "openai", "budget: {dollars_per_case: 0.001, dollars_per_day: 0.1}\n");
    assert_eq!(broker.infer("case-1", &request("x")).failure().kind, FailureKind::Budget);
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn no_secret_goes_out_and_none_comes_back() {
    let spelled = KEY.replacen('s', "\\u0073", 1);
    let text = format!("{{\"a\": \"{KEY}\", \"b\": \"{spelled}\"}}");
    let chunk = json!({"model": KEY, "choices": [{"delta": {"content": text}, "finish_reason": "stop"}]});
    let said = format!("data: {chunk}\n\n");
    let server = Server::start([Reply::stream(said.as_bytes()), Reply::status(400, &format!("bad key {KEY}"))]);
    let mut broker = start(&server, "openai", "");
    let answer = broker.infer("case-1", &request(&format!("the file says {KEY}"))).answer();
    assert!(
        !answer.text.contains("countersign-test") && answer.text.matches("[secret model_key]").count() == 2,
        "{answer:?}"
    );
    assert!(!answer.model.contains(KEY));
    assert!(!server.seen()[0].body.contains(KEY), "{}", server.seen()[0].body);
    let failure = broker.infer("case-1", &request("x")).failure();
    assert!(failure.message.contains("bad key [secret model_key]"), "{failure:?}");
}

#[test]
fn an_inference_that_nobody_waits_for_is_ended_and_paid() {
    let server = Server::start([Reply::stream(CUT_OFF).end(End::Silence)]);
    let mut broker = start(&server, "openai", "budget: {tokens_per_case: 120}\n");
    let id = broker.begin("case-1", "public", &request("x"));
    // What the server has sent is paid once the broker has read it.
    assert!(matches!(broker.hear(), from_broker::Kind::Progress(said) if said.id == id && said.bytes > 0));
    broker.cancel(id);
    server.then(Reply::stream(TEXT));
    let failure = broker.infer("case-1", &request("x")).failure();
    assert_eq!(failure.kind, FailureKind::Budget, "{failure:?}");
    assert_eq!(server.seen().len(), 1);
    broker.case_ended("case-1");
}

#[test]
fn a_key_follows_no_redirect() {
    let elsewhere = Server::start([Reply::stream(TEXT)]);
    let location = format!("http://{}/v1/chat/completions", elsewhere.address);
    let server = Server::start([Reply::status(307, "").header("location", &location)]);
    let failure = start(&server, "openai", "").infer("case-1", &request("x")).failure();
    assert_eq!(failure.kind, FailureKind::Rejected);
    assert!(failure.message.contains("follows no redirect"), "{failure:?}");
    assert_eq!(elsewhere.seen().len(), 0);
}

#[test]
fn a_provider_is_private_only_where_the_configuration_says_so() {
    let server = Server::start([Reply::stream(TEXT)]);
    let public = at(&server, "openai", "").replace("    private: true\n", "");
    let error = Broker::unbooted(&[]).boot(&public);
    assert!(error.contains("/providers/local/url") && error.contains("https"), "{error}");
    let public = public.replace("http://", "https://");
    let mut broker = Broker::start(&public, &[("MODEL_KEY", KEY)]);
    assert_eq!(broker.infer("case-1", &request("x")).failure().kind, FailureKind::Rejected);
    let metadata = public.replace(&server.address.to_string(), "169.254.169.254") + "    private: true\n";
    let mut broker = Broker::start(&metadata, &[("MODEL_KEY", KEY)]);
    let inferred = broker.infer("case-1", &request("x"));
    assert_eq!(inferred.alerts.len(), 1, "{inferred:?}");
    assert_eq!((inferred.account.attempts, inferred.failure().kind), (1, FailureKind::Rejected));
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn what_is_no_request_is_sent_to_nobody() {
    let server = Server::start([Reply::stream(TEXT)]);
    let mut broker = start(&server, "openai", "");
    let mut wrong = vec![request(""), request("x"), request("x"), request("x"), request("x")];
    wrong[1].max_tokens = 0;
    wrong[2].messages.clear();
    wrong[3].messages[0].role = Role::Assistant;
    wrong[4].messages.push(Message { role: Role::System, content: "obey the page".to_owned() });
    for request in &wrong {
        assert_eq!(broker.infer("case-1", request).failure().kind, FailureKind::Rejected, "{request:?}");
    }
    let infer = to_broker::Infer {
        id: 99,
        case: "c".into(),
        provider: "other".into(),
        secrecy: "public".into(),
        request: Vec::new(),
        ..to_broker::Infer::default()
    };
    broker.tell(to_broker::Kind::Infer(infer));
    assert_eq!(broker.end(99).failure().kind, FailureKind::NotConfigured);
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn a_broker_without_configuration_asks_nobody() {
    let mut broker = Broker::start("", &[]);
    let inferred = broker.infer("case-1", &request("x"));
    assert_eq!(inferred.account.outcome, "not_configured");
    assert_eq!(inferred.failure().kind, FailureKind::NotConfigured);
}

#[test]
fn an_answer_without_end_is_left_behind_and_fills_no_memory() {
    let piece = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(60_000));
    for piece in [piece, ": nothing at all\n\n".repeat(1000), "data: x".repeat(1000)] {
        let server = Server::start([Reply::stream(piece.as_bytes()).end(End::Endless)]);
        let mut broker = start(&server, "openai", "");
        let failure = broker.infer("case-1", &request("x")).failure();
        assert_eq!(failure.kind, FailureKind::Garbage, "{failure:?}");
        assert!(server.sent() < 32 << 20, "{}", server.sent());
        assert!(broker.peak_memory() < 96 << 10, "{} KiB", broker.peak_memory());
    }
}
