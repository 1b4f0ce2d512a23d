//! Steps that use the network: their permit says what they may ask, and the broker is the only road.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use countersign_plan::verdict::Decision;
use countersign_wire::propose::CaseEvent;
use serde_json::{Value, json};

use crate::harness::{Monitor, PATIENCE, case, plan, wait_for};

const BROKER: &str = "schema: countersign.broker/v1\n";

/// A monitor whose own configuration calls this machine internal.
fn monitor() -> Monitor {
    let monitor = Monitor::start_with_broker(BROKER);
    let deployment = "schema: countersign.deployment/v1\nhosts: {internal: ['127.0.0.1']}\n";
    std::fs::write(monitor.path("config/countersign.yaml"), deployment).unwrap();
    monitor
}

/// A server that hands each connection to `serve`.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        for stream in listener.incoming().take(1) {
            serve(stream.unwrap());
        }
    });
    (port, thread)
}

fn head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

fn get(port: u16, method: &str) -> Value {
    plan(
        "Ask the local server",
        json!([
            {"id": "ask", "action": "http_request", "args": {"method": method, "url": format!("http://127.0.0.1:{port}/status")}},
        ]),
    )
}

fn last(events: &[CaseEvent]) -> String {
    match events.last() {
        Some(CaseEvent::Ended { stage, .. }) => stage.clone(),
        other => panic!("the case did not end: {other:?}"),
    }
}

#[test]
fn a_step_fetches_what_its_permit_names_through_the_broker() {
    let monitor = monitor();
    let (port, served) = server(|mut stream| {
        let asked = head(&mut stream);
        assert!(asked.starts_with("GET /status HTTP/1.1"), "{asked}");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello").unwrap();
    });
    let verdict = monitor.submit(&get(port, "GET")).unwrap();
    assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
    let events = monitor.watch(&case(&verdict), |_| false);
    assert_eq!(last(&events), "completed", "{verdict:#?}\n{events:#?}");
    let body = events.iter().find_map(|event| match event {
        CaseEvent::StepEnded { observation, .. } => observation.pointer("/output/body").cloned(),
        _ => None,
    });
    assert_eq!(body, Some(json!("hello")), "{events:#?}");
    served.join().unwrap();
}

/// INV-2: what a broker did that is gone is unknown, and nothing is repeated by itself.
#[test]
fn inv_2_a_broker_killed_during_a_request_leaves_a_person_to_decide() {
    let monitor = monitor();
    let (tell, asked) = std::sync::mpsc::channel();
    let (port, served) = server(move |mut stream| {
        tell.send(head(&mut stream)).unwrap();
        // No answer: the request was taken, and nobody will ever know.
        drop(stream.read(&mut [0; 16]));
    });
    let verdict = monitor.submit(&get(port, "POST")).unwrap();
    let name = case(&verdict);
    asked.recv_timeout(PATIENCE).unwrap();
    crate::goal::kill(monitor.processes("countersign-broker")[0]);
    wait_for("an unknown outcome", || monitor.show(&name).stage == "indeterminate");
    served.join().unwrap();
    assert_eq!(monitor.count(&name, "permit"), 1);
}

/// A step child that was taken over asks for more than its permit grants: it is ended, and its case halted.
#[test]
fn inv_9_a_step_that_asks_beyond_its_permit_is_ended_and_its_case_halted() {
    let real = std::path::PathBuf::from(env!("CARGO_BIN_EXE_countersignd"));
    let rogue = real.parent().unwrap().join("examples/rogue_step");
    let monitor = Monitor::start_with_program("countersign-step", &rogue, BROKER);
    let deployment = "schema: countersign.deployment/v1\nhosts: {internal: ['127.0.0.1']}\n";
    std::fs::write(monitor.path("config/countersign.yaml"), deployment).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let write = |content: &str| {
        plan(
            "Write a note",
            json!([{"id": "a", "action": "write_file", "args": {"path": "a.txt", "content": content}}]),
        )
    };
    let post = |body: &str| {
        let args = json!({"method": "POST", "url": format!("http://127.0.0.1:{port}/granted"), "body": body});
        plan("Tell the local server", json!([{"id": "a", "action": "http_request", "args": args}]))
    };
    let attempts = [
        ("no network was granted", write(&format!("fetch http://127.0.0.1:{port}/"))),
        ("another method and path", post(&format!("fetch http://127.0.0.1:{port}/other"))),
        ("another host", post("fetch http://169.254.169.254/latest/meta-data/")),
        ("no ask at all", post("no ask")),
        ("an ask without end", post("too much")),
    ];
    for (attempt, plan) in attempts {
        let verdict = monitor.submit(&plan).unwrap();
        assert_eq!(verdict.decision, Decision::Allow, "{attempt}: {verdict:#?}");
        let name = case(&verdict);
        let events = monitor.watch(&name, |event| matches!(event, CaseEvent::Critical { .. }));
        assert!(matches!(events.last(), Some(CaseEvent::Critical { .. })), "{attempt}: {events:#?}");
        println!("{attempt}: {:?}", events.last());
        assert_eq!(monitor.count(&name, "critical"), 1, "{attempt}");
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nothing was sent to anybody");
}
