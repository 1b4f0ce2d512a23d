//! `run --goal` against a provider that speaks Anthropic's streamed Messages, in the shapes that its documentation records: tool calls,
//! refusals, truncation, limits, failures and what is no answer at all. Real broker, monitor and planner; only the provider is a stand-in.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::fake::Place;
use crate::monitor::Real;

const KEY: &str = "sk-ant-of-this-test-0123456789";

/// Heads and bodies of requests.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// Answers each connection with the next of these bytes, the last one for ever; what was asked.
fn provider(answers: Vec<Vec<u8>>) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for (place, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            seen.lock().unwrap().push(read(&stream));
            let answer = answers.get(place).or(answers.last()).unwrap();
            // The other side may have had enough.
            drop(stream.write_all(answer));
        }
    });
    (address, asked)
}

fn read(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

fn http(status: &str, kind: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn stream(events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    http("200 OK", "text/event-stream", &events.iter().map(event).collect::<String>())
}

fn failed(status: &str, kind: &str, message: &str) -> Vec<u8> {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
    http(status, "application/json", &body.to_string())
}

fn begun() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "model": "claude-of-this-test", "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 25, "output_tokens": 1}}})
}

fn ended(reason: &str) -> [Value; 2] {
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": 40}});
    [delta, json!({"type": "message_stop"})]
}

/// One block, its content in two pieces.
fn block(index: u32, start: &Value, delta: fn(&str) -> Value, content: &str) -> Vec<Value> {
    let middle = (0..=content.len() / 2).rev().find(|at| content.is_char_boundary(*at)).unwrap();
    let (first, second) = content.split_at(middle);
    let piece = |text| json!({"type": "content_block_delta", "index": index, "delta": delta(text)});
    vec![
        json!({"type": "content_block_start", "index": index, "content_block": start}),
        json!({"type": "ping"}),
        piece(first),
        piece(second),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn said(text: &str) -> Vec<Value> {
    block(0, &json!({"type": "text", "text": ""}), |text| json!({"type": "text_delta", "text": text}), text)
}

fn text(content: &str, reason: &str) -> Vec<u8> {
    stream(&[vec![begun()], said(content), ended(reason).to_vec()].concat())
}

/// A word before it, then a call of the tool that carries the answer.
fn call(tool: &str, input: &str, reason: &str) -> Vec<u8> {
    let start = json!({"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}});
    let called = block(1, &start, |part| json!({"type": "input_json_delta", "partial_json": part}), input);
    stream(&[vec![begun()], said("I'll say it by the tool."), called, ended(reason).to_vec()].concat())
}

fn turn(turn: &Value) -> Vec<u8> {
    call("answer", &json!({"thought": "t", "turn": turn}).to_string(), "tool_use")
}

fn started(address: &str) -> Real {
    let place = Place::new();
    let broker = format!(
        "schema: countersign.broker/v1\nproviders:\n  far:\n    kind: anthropic\n    url: http://{address}\n    model: claude\n    \
         key: model\n    private: true\n    clearance: internal\n    patience: {{attempts: 2}}\n\
         secrets: {{model: {{from: {{env: TEST_MODEL_KEY}}}}}}\n"
    );
    std::fs::write(place.path("config/broker.yaml"), broker).unwrap();
    Real::start_in(place, &[("TEST_MODEL_KEY", KEY)])
}

#[test]
fn a_goal_goes_from_tool_calls_to_a_file_and_an_answer() {
    let steps =
        json!([{"id": "write", "action": "write_file", "args": {"path": "greeting.txt", "content": "Grüße 👋"}}]);
    let (address, asked) = provider(vec![
        turn(&json!({"load_tools": {"groups": ["files"]}})),
        // A call that was cut off is heard of, and made again.
        call("answer", "{\"turn\": {\"propose\": {\"plan\": {\"steps\": [{\"id", "max_tokens"),
        turn(&json!({"propose": {"plan": {"steps": steps}}})),
        text("The greeting is in greeting.txt.", "end_turn"),
    ]);
    let real = started(&address);
    let place = &real.0;
    let ran = place.run(&["run", "--goal", "Write a greeting into greeting.txt"]).expect(0).out();
    for wanted in ["of claude-of-this-test: 40 tokens", "draft 1 judged: allow", "The greeting is in greeting.txt."] {
        assert!(ran.contains(wanted), "{wanted}: {ran}");
    }
    assert_eq!(std::fs::read_to_string(place.path("work/greeting.txt")).unwrap(), "Grüße 👋");
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 4);
    for (head, body) in asked.iter() {
        let head = head.to_ascii_lowercase();
        assert!(head.starts_with("post /v1/messages ") && head.contains(&format!("x-api-key: {KEY}")), "{head}");
        assert_eq!(body["stream"], true);
    }
    assert_eq!(asked[0].1["tool_choice"]["type"], "tool", "the answer is held to its form");
    let repair = asked[2].1["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(repair.contains("was cut at"), "the model hears what was wrong: {repair}");
}

#[test]
fn what_is_no_answer_is_said_in_plain_words_and_has_no_effect() {
    let mut half = text("a sentence that is never ended by its own end", "end_turn");
    half.truncate(half.len() - 180);
    let mut missing = Vec::new();
    for (what, answer, wanted) in [
        ("a refusal", text("I can't help with that.", "refusal"), &["the model declined"][..]),
        ("truncation", call("answer", "{\"turn\": {", "max_tokens"), &["6 answers in a row", "was cut at"]),
        (
            "a tool of its own",
            call("bash", "{\"command\": \"id\"}", "tool_use"),
            &["6 answers in a row", "called the tool `bash`, which it was not given"],
        ),
        (
            "a rate limit",
            failed("429 Too Many Requests", "rate_limit_error", "slow down"),
            &["limits the rate (HTTP 429)", "slow down", "2 attempts"],
        ),
        ("overload", failed("529 Overloaded", "overloaded_error", "Overloaded"), &["failed (HTTP 529)", "2 attempts"]),
        ("a failure", failed("500 Internal Server Error", "api_error", "oops"), &["failed (HTTP 500)", "oops"]),
        (
            "a wrong key",
            failed("401 Unauthorized", "authentication_error", "invalid x-api-key"),
            &["refused the key or its rights (HTTP 401)"],
        ),
        (
            "an unknown model",
            failed("404 Not Found", "not_found_error", "model: claude"),
            &["no such model or path (HTTP 404)"],
        ),
        (
            "a page of a proxy",
            http("200 OK", "text/html", "<html>Sign in</html>"),
            &["of the type `text/html`", "the address that of a model provider"],
        ),
        (
            "garbage",
            http("200 OK", "text/event-stream", "event: message_start\ndata: {\"type\":\"message_start\",\n\n"),
            &["6 answers in a row"],
        ),
        ("a stream that breaks", half, &["the connection broke"]),
    ] {
        let (address, asked) = provider(vec![answer]);
        let real = started(&address);
        let ran = real.0.run(&["run", "--goal", "Write a greeting into greeting.txt"]).expect(20);
        let told = ran.out();
        println!("{what}: {told}");
        missing.extend(wanted.iter().filter(|part| !told.contains(**part)).map(|part| format!("{what}: {part}")));
        assert!(!told.contains(KEY) && !ran.err().contains(KEY), "{what}");
        assert!(!real.0.path("work/greeting.txt").exists(), "{what}");
        assert!(!asked.lock().unwrap().is_empty(), "{what}");
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
