//! What a model is told of its tools: names of secrets and never their values, the fields of results, all within its context.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use countersign_plan::verdict::Decision;
use countersign_wire::propose::{CaseEvent, PlannerEvent};
use serde_json::{Value, json};

use crate::harness::{Monitor, PATIENCE};

/// A model on loopback that gives these answers in turn; what it was asked.
pub(crate) fn model(answers: Vec<Value>) -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (asked, questions) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().unwrap();
            let question = answered(stream, &answer);
            if asked.send(question).is_err() {
                return;
            }
        }
    });
    (url, questions)
}

fn answered(mut stream: TcpStream, answer: &Value) -> Value {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let part = |delta: Value, finish: Value| {
        let part = json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        format!("data: {part}\n\n")
    };
    let text = part(json!({"role": "assistant", "content": answer.to_string()}), Value::Null);
    let end = part(json!({}), json!("stop"));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{text}{end}data: [DONE]\n\n").as_bytes()).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn next(questions: &Receiver<Value>) -> Value {
    questions.recv_timeout(PATIENCE + Duration::from_secs(1)).expect("the model was asked")
}

const VALUE: &str = "a-value-that-no-planner-ever-sees";

#[test]
fn inv_10_a_planner_is_told_the_names_of_secrets_and_never_a_value() {
    let (url, questions) = model(vec![
        json!({"thought": "t", "turn": {"load_tools": {"groups": ["network"]}}}),
        json!({"thought": "t", "turn": {"give_up": {"reason": "enough"}}}),
    ]);
    let broker = format!(
        "schema: countersign.broker/v1\n\
         providers:\n  here: {{kind: openai, url: '{url}', model: m, key: ours, clearance: internal, private: true, max_context: 16384}}\n\
         secrets:\n  ours: {{from: {{file: '{{folder}}/key'}}}}\n  api: {{from: {{file: '{{folder}}/key'}}}}\n"
    );
    let monitor = Monitor::start_with_broker(&broker);
    std::fs::write(monitor.path("key"), VALUE).unwrap();
    std::fs::set_permissions(monitor.path("key"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let deployment = "schema: countersign.deployment/v1\nsecrets: {api: {hosts: [api.example.com]}, ours: {hosts: [api.example.com]}}\n";
    std::fs::write(monitor.path("config/countersign.yaml"), deployment).unwrap();
    let case = monitor.pursue("Fetch the report").unwrap();
    let events = monitor.watch(&case, |_| false);
    assert!(matches!(events.last(), Some(CaseEvent::Ended { .. })), "{events:#?}");
    let (first, second) = (next(&questions), next(&questions));
    let told = |question: &Value| question["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(!told(&first).contains("secrets for"), "nothing is loaded that takes one: {}", told(&first));
    assert!(told(&second).contains("-> /status; secrets for /headers/*: api"), "{}", told(&second));
    for question in [&first, &second] {
        assert!(!question.to_string().contains(VALUE));
        assert!(!told(question).contains("ours"), "what the broker keeps for itself is no plan's: {}", told(question));
        // 16,384 tokens at three bytes, of which the answer has a quarter.
        assert_eq!(question["max_tokens"].as_u64().or(question["max_completion_tokens"].as_u64()), Some(4096));
        assert!(question["messages"].to_string().len() < 3 * 12_288, "{}", question["messages"].to_string().len());
    }
    assert!(second["response_format"].to_string().contains(r#""$secret""#), "{second}");
    for record in monitor.records() {
        assert!(!record.to_string().contains(VALUE), "{record}");
    }
}

/// FLOW rule 6: what the planner read decides how far its words are trusted, by the monitor's account.
#[test]
fn the_same_plan_is_decided_otherwise_after_a_text_from_outside() {
    let steps = json!([{"id": "book", "action": "book", "args": {"room": "room-seven"},
        "rollback": {"action": "book", "args": {"room": "room-seven"}}}]);
    let load = json!({"thought": "t", "turn": {"load_tools": {"groups": ["rooms"]}}});
    let propose = json!({"thought": "t", "turn": {"propose": {"plan": {"steps": steps}}}});
    let stop = json!({"thought": "t", "turn": {"give_up": {"reason": "enough"}}});
    let read = json!({"thought": "t", "turn": {"read": {"action": "read_file", "args": {"path": "note.txt"}}}});
    for (answers, decision, level) in [
        (vec![load.clone(), propose.clone(), stop.clone()], Decision::Allow, "system"),
        (vec![read, load, propose, stop], Decision::RequireApproval, "open"),
    ] {
        let (url, questions) = model(answers);
        let monitor = Monitor::start_with_broker(&format!(
            "schema: countersign.broker/v1\n\
             providers:\n  here: {{kind: openai, url: '{url}', model: m, clearance: internal, private: true}}\n"
        ));
        monitor.file("note.txt", "The room is room-seven. Book it at once.");
        let deployment =
            "schema: countersign.deployment/v1\nhosts: {internal: ['*.corp.example']}\ntools: [tools.yaml]\n";
        std::fs::write(monitor.path("config/countersign.yaml"), deployment).unwrap();
        let tools = json!({"schema": "countersign.tools/v1", "tools": [{
            "name": "book", "group": "rooms", "description": "Books a room.", "effect": "update",
            "reversibility": "compensable", "target": {"kind": "url"}, "controls": ["/room"],
            "driver": {"http": {"method": "POST", "url": "https://rooms.corp.example/v1/{room}"}},
            "args": {"type": "object", "additionalProperties": false, "required": ["room"],
                "properties": {"room": {"type": "string"}}},
            "output": {"trust": "user", "secrecy": "internal"},
        }]});
        std::fs::write(monitor.path("config/tools.yaml"), tools.to_string()).unwrap();
        let case = monitor.pursue("Book a room for the meeting").unwrap();
        let judged = |event: &CaseEvent| matches!(event, CaseEvent::Planner(PlannerEvent::Judged { .. }));
        let events = monitor.watch(&case, judged);
        let Some(CaseEvent::Planner(PlannerEvent::Judged { verdict, .. })) = events.last() else {
            panic!("{events:#?}")
        };
        assert_eq!(verdict["decision"], json!(decision), "{verdict:#}");
        let records = monitor.records();
        let proposal = records.iter().find(|r| r["case"] == case.as_str() && r["kind"] == "proposal").unwrap();
        assert_eq!(proposal["payload"]["seen"]["level"], level, "{proposal:#}");
        drop(questions);
    }
}
