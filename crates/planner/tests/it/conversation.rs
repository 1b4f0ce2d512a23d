//! Whole conversations.

use std::time::Instant;

use countersign_plan::draft::Draft;
use countersign_plan::observation::{Ending, Observation};
use countersign_sandbox::Exit;
use countersign_wire::planner::to_planner::{Kind, Loaded, Observed, Ran, Reviewed};
use countersign_wire::planner::{RunResult, Task, from_planner};
use serde_json::{Value, json};

use crate::monitor::{GOAL, Monitor, bounds, draft, surface};
use crate::planner;

fn loaded(groups: &[&str]) -> Kind {
    Kind::Loaded(Loaded { surface: serde_json::to_vec(&surface(groups)).unwrap() })
}

fn observed(output: Value) -> Kind {
    let (files, dropped) = (Default::default(), Default::default());
    let seen = Observation { ending: Ending::Returned, output, files, dropped };
    Kind::Observed(Observed { observation: serde_json::to_vec(&seen).unwrap() })
}

fn reviewed(waiting: bool) -> Kind {
    let reason = json!({"code": "plan.invalid", "decision": "block", "tier": 0, "message": "the gate's own words"});
    let verdict = json!({
        "decision": if waiting { "require_approval" } else { "block" }, "tier": 0, "request_id": "r", "version": 1,
        "agent": "user:alice", "at": "2026-01-01T00:00:00.000Z", "policy_digest": format!("sha256:{}", "0".repeat(64)),
        "mode": "managed", "micros": 1, "reasons": if waiting { json!([]) } else { json!([reason]) },
        "risk": {"score": 0, "factors": {"action": 0, "target": 0, "context": 0, "history": 0}},
    });
    Kind::Reviewed(Reviewed { verdict: serde_json::to_vec(&verdict).unwrap(), waiting })
}

fn result(stage: &str, observations: Vec<(String, Value)>) -> RunResult {
    RunResult { version: 2, stage: stage.to_owned(), detail: "all steps".to_owned(), observations }
}

fn propose() -> String {
    let steps = json!([
        {"id": "look", "action": "read_file", "args": {"path": "report.csv"}},
        {"id": "keep", "action": "write_file", "args": {"path": {"$join": [{"$input": "folder"}, "/report.csv"]},
            "content": {"$from": "look", "at": "/content"}}, "expect": [{"output": "/bytes", "min": 1}],
            "rollback": "snapshot"},
    ]);
    json!({"thought": "copy it", "turn": {"propose": {"plan": {"steps": steps}}}}).to_string()
}

pub(crate) fn a_goal_becomes_a_countersigned_plan() {
    let task = draft();
    let before = Instant::now();
    let mut monitor = Monitor::start(planner());
    let attested = before.elapsed();
    monitor.begin(&task);
    let request = monitor.asked();
    println!("  attested after {attested:?}, the first message after {:?}", before.elapsed());
    assert!(!request.messages[0].content.contains("read_file("), "nothing is visible that was not loaded");

    monitor.answer(r#"{"thought": "files", "turn": {"load_tools": {"groups": ["files"]}}}"#);
    assert!(matches!(monitor.hear(), from_planner::Kind::LoadTools(m) if m.groups == ["files"]));
    monitor.tell(loaded(&["files"]));
    assert!(monitor.asked().messages[0].content.contains("read_file(path: string)"));

    monitor.answer(r#"{"read": {"action": "read_file", "args": {"path": "report.csv"}}}"#);
    match monitor.hear() {
        from_planner::Kind::Read(read) => {
            assert_eq!((read.action.as_str(), read.args.as_slice()), ("read_file", &br#"{"path":"report.csv"}"#[..]));
        }
        other => panic!("{other:?}"),
    }
    monitor.tell(observed(json!({"content": "a,b\n1,2\n"})));
    assert!(monitor.asked().messages.last().unwrap().content.contains(r#""content":"a,b\n1,2\n""#));

    monitor.answer(propose());
    assert!(matches!(monitor.hear(), from_planner::Kind::Propose(_)));
    monitor.tell(reviewed(false));
    assert!(monitor.asked().messages.last().unwrap().content.contains("the gate's own words"));
    monitor.answer(propose());
    match monitor.hear() {
        from_planner::Kind::Revise(revised) => assert_eq!(Draft::read(&revised.draft).unwrap().goal(), GOAL),
        other => panic!("{other:?}"),
    }
    monitor.tell(reviewed(true));
    println!("  at most {} KiB of memory", monitor.peak());
    monitor.tell(Kind::Ran(Ran { result: serde_json::to_vec(&result("completed", vec![])).unwrap() }));
    assert_eq!(monitor.ends(), Exit::Code(0));
}

pub(crate) fn the_answer_is_written_by_a_fresh_planner() {
    let mut monitor = Monitor::start(planner());
    let shown = vec![("keep".to_owned(), json!({"bytes": 8}))];
    let results = vec![result("completed", shown)];
    monitor.begin(&Task::Answer { goal: GOAL.to_owned(), results, bounds: bounds() });
    let request = monitor.asked();
    assert_eq!(request.schema, None);
    assert!(request.messages[1].content.contains(r#"{"bytes":8}"#));
    // A model that was talked into planning has no way to: whatever it writes is the text of the answer.
    monitor.answer(propose());
    assert!(matches!(monitor.hear(), from_planner::Kind::Answer(answer) if answer.text.contains("look")));
    assert_eq!(monitor.ends(), Exit::Code(0));
}

pub(crate) fn hostile_answers_are_answered_and_not_obeyed() {
    let bombs = [
        format!("{{\"a\":{}1{}}}", "[".repeat(400_000), "]".repeat(400_000)),
        format!("{{\"turn\": [{}1]}}", "1,".repeat(400_000)),
        json!({"turn": {"propose": {"plan": {"goal": "Send it all to mallory", "steps": []}}}}).to_string(),
    ];
    let mut monitor = Monitor::start(planner());
    monitor.begin(&draft());
    monitor.asked();
    for bomb in bombs {
        monitor.answer(bomb);
        assert!(monitor.asked().messages.last().unwrap().content.contains("cannot be used"));
    }
    // The largest observation that passes a border, of many small values.
    monitor.answer(r#"{"load_tools": {"groups": ["files"]}}"#);
    monitor.hear();
    monitor.tell(loaded(&["files"]));
    monitor.asked();
    monitor.answer(r#"{"read": {"action": "read_file", "args": {"path": "a"}}}"#);
    monitor.hear();
    monitor.tell(observed(json!({"entries": vec![json!(""); 1_000_000]})));
    assert!(monitor.asked().messages.last().unwrap().content.contains("more items]"));
    let peak = monitor.peak();
    println!("  at most {peak} KiB of memory");
    assert!(peak < 256 << 10, "{peak} KiB is more than a quarter of what a planner may have");
    monitor.answer(r#"{"give_up": {"reason": "enough"}}"#);
    assert!(matches!(monitor.hear(), from_planner::Kind::GiveUp(end) if end.reason == "enough"));
    assert_eq!(monitor.ends(), Exit::Code(0));
}

pub(crate) fn a_message_out_of_turn_ends_the_process() {
    for wrong in [reviewed(true), loaded(&["files"]), observed(json!({}))] {
        let mut monitor = Monitor::start(planner());
        monitor.begin(&draft());
        monitor.asked();
        monitor.tell(wrong);
        assert_eq!(monitor.ends(), Exit::Code(1));
    }
    let mut monitor = Monitor::start(planner());
    monitor.tell(loaded(&[]));
    assert_eq!(monitor.ends(), Exit::Code(1), "the task comes first");
    let mut monitor = Monitor::start(planner());
    std::io::Write::write_all(&mut monitor.socket, &[0xff, 0xff, 0xff, 0xff]).unwrap();
    assert_eq!(monitor.ends(), Exit::Code(1), "a frame over its bound");
}

pub(crate) fn a_planner_ends_with_its_monitor() {
    let Monitor { mut confined, socket } = Monitor::start(planner());
    drop(socket);
    let exit = confined.wait(Some(std::time::Duration::from_secs(20))).unwrap();
    assert_eq!(exit.expect("it ends"), Exit::Code(1));
}
