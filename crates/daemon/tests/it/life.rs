//! Plans that run, as they should.

use countersign_audit::verify::{VerifyOptions, verify};
use countersign_plan::verdict::Decision;
use countersign_wire::operator::to_monitor::{Audit, Kind, Rotate};
use countersign_wire::propose::CaseEvent;
use serde_json::json;

use crate::harness::{Monitor, case, plan};

#[test]
fn a_plan_of_file_steps_runs_without_anybody_asked() {
    let monitor = Monitor::start();
    monitor.file("a.txt", "old");
    let verdict = monitor.submit(&plan("Replace a.txt by its greeting", json!([
        {"id": "old", "action": "read_file", "args": {"path": "a.txt"}},
        {"id": "write", "action": "write_file", "args": {"path": "a.txt", "content": {"$join": ["hello, ", {"$from": "old", "at": "/content"}]}}},
        {"id": "back", "action": "read_file", "args": {"path": "a.txt"}, "needs": ["write"],
         "expect": [{"output": "/content", "equals": "hello, old"}]},
    ]))).unwrap();
    assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
    assert_eq!(monitor.ended(&case(&verdict)), "completed");
    assert_eq!(monitor.read("a.txt").as_deref(), Some("hello, old"));
    let kinds: Vec<String> = monitor
        .records()
        .iter()
        .filter(|r| r["case"] == case(&verdict).as_str())
        .map(|r| r["kind"].as_str().unwrap().to_owned())
        .collect();
    for kind in ["case_opened", "decision", "countersignature", "permit", "intent", "outcome", "case_closed"] {
        assert!(kinds.iter().any(|k| k == kind), "{kind} is missing in {kinds:?}");
    }
    // What each attempt was confined by is in its record: one outcome for each of two reads, and of keeping and writing.
    let mut outcomes = monitor.records();
    outcomes.retain(|record| record["case"] == case(&verdict).as_str() && record["kind"] == "outcome");
    assert_eq!(outcomes.len(), 4, "{outcomes:#?}");
    for outcome in outcomes {
        let enforcement = &outcome["payload"]["enforcement"];
        for layer in ["landlock", "seccomp", "no-new-privileges", "process-namespace", "mount-view"] {
            assert!(enforcement["layers"][layer].is_string(), "{layer}: {enforcement}");
        }
        assert!(enforcement["layers"]["seccomp"].as_str().unwrap().contains("step-builtin"), "{enforcement}");
        assert!(enforcement["gaps"].is_array(), "{enforcement}");
    }
}

#[test]
fn a_program_runs_confined_after_approval_and_its_output_is_seen() {
    let monitor = Monitor::start();
    monitor.enroll();
    // What a script does is not what its plan says: the view hides what is restricted, whatever runs in it.
    monitor.file("greet.sh", "echo hello; id -u; cat /etc/shadow");
    let verdict = monitor
        .submit(&plan(
            "Run the greeting",
            json!([
                {"id": "greet", "action": "run_program", "args": {"argv": ["sh", "greet.sh"]},
                 "expect": [{"exit_code": 1}, {"output": "/stdout", "matches": "hello\\n1000\\n"}]},
            ]),
        ))
        .unwrap();
    assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
    monitor.approve(&verdict).unwrap();
    let events = monitor.watch(&case(&verdict), |_| false);
    assert!(matches!(events.last(), Some(CaseEvent::Ended { stage, .. }) if stage == "completed"), "{events:#?}");
    assert!(
        events.iter().any(|e| matches!(e, CaseEvent::Output { text, .. } if text.contains("hello"))),
        "{events:#?}"
    );
}

#[test]
fn a_miss_stops_the_plan_and_takes_back_what_was_done() {
    let monitor = Monitor::start();
    monitor.file("a.txt", "one");
    let verdict = monitor
        .submit(&plan(
            "Replace a.txt and read b.txt",
            json!([
                {"id": "write", "action": "write_file", "args": {"path": "a.txt", "content": "two"}},
                {"id": "new", "action": "write_file", "args": {"path": "new.txt", "content": "x"}},
                {"id": "look", "action": "read_file", "args": {"path": "a.txt"}, "needs": ["write"],
                 "expect": [{"output": "/content", "equals": "three"}]},
                {"id": "never", "action": "write_file", "args": {"path": "never.txt", "content": "x"}},
            ]),
        ))
        .unwrap();
    assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
    assert_eq!(monitor.ended(&case(&verdict)), "stopped");
    assert_eq!(monitor.read("a.txt").as_deref(), Some("one"));
    assert_eq!(monitor.read("new.txt"), None);
    assert_eq!(monitor.read("never.txt"), None);
}

#[test]
fn a_check_decides_and_runs_nothing() {
    let monitor = Monitor::start();
    let verdict = monitor
        .check(&plan(
            "Write a note",
            json!([
                {"id": "write", "action": "write_file", "args": {"path": "note.txt", "content": "x"}},
            ]),
        ))
        .unwrap();
    assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
    assert_eq!(monitor.ended(&case(&verdict)), "decided");
    assert_eq!(monitor.read("note.txt"), None);
    assert_eq!(monitor.count(&case(&verdict), "permit"), 0);
    assert!(monitor.records().iter().any(|r| r["kind"] == "decision"));
}

#[test]
fn a_message_to_a_channel_that_nobody_configured_stops_the_run() {
    let monitor = Monitor::start();
    monitor.enroll();
    let verdict = monitor
        .submit(&plan(
            "Tell the team",
            json!([
                {"id": "tell", "action": "send_message", "args": {"channel": "#team", "body": "hi"}},
            ]),
        ))
        .unwrap();
    assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
    monitor.approve(&verdict).unwrap();
    let events = monitor.watch(&case(&verdict), |_| false);
    assert!(matches!(events.last(), Some(CaseEvent::Ended { stage, .. }) if stage == "stopped"), "{events:#?}");
    assert!(format!("{events:?}").contains("no channel is called #team"), "{events:#?}");
}

/// INV-8: a new key signs from the old one's word on; runs, restarts and offline verification follow the chain.
#[test]
fn a_rotated_key_is_believed_by_zygote_ledger_and_verifier() {
    let mut monitor = Monitor::start();
    let (text, pinned) = monitor.gate_key();
    let note = |name: &str| {
        plan("Write a note", json!([{"id": "a", "action": "write_file", "args": {"path": name, "content": "x"}}]))
    };
    assert_eq!(monitor.ended(&case(&monitor.submit(&note("before")).unwrap())), "completed");
    let answer = monitor.operate(Kind::Rotate(Rotate {})).unwrap();
    assert_ne!(answer["gate_key"].as_str().unwrap(), text);
    assert_eq!(monitor.ended(&case(&monitor.submit(&note("after")).unwrap())), "completed");
    monitor.down();
    monitor.up().unwrap();
    assert_eq!(monitor.ended(&case(&monitor.submit(&note("again")).unwrap())), "completed");
    let export = monitor.path("export.jsonl");
    let audit = Audit {
        form: "export".to_owned(),
        output: export.to_str().unwrap().to_owned(),
        payloads: true,
        ..Default::default()
    };
    monitor.operate(Kind::Audit(audit)).unwrap();
    let options = VerifyOptions { key: Some(pinned), ..Default::default() };
    let report = verify(std::io::BufReader::new(std::fs::File::open(&export).unwrap()), &options);
    assert!(report.is_ok(), "{report:#?}");
    assert!(monitor.records().iter().any(|r| r["kind"] == "key_rotated"));
}
