//! An executor that was taken over, in its real seal and at the end of its real socket: whatever it tries ends it and its case, is on
//! record and told a person, and has no effect.

use std::path::PathBuf;

use countersign_plan::verdict::Decision;
use serde_json::{Value, json};

use crate::harness::{Monitor, case, plan, wait_for};

/// What it tries, what that is called in the record, what the record says of it, and how many attempts had begun by then: none of
/// them more than keeping the state before the first step.
const ATTEMPTS: [(&str, &str, &str, usize); 25] = [
    ("open a socket", ACTED, "tried socket", 0),
    ("connect to the network", ACTED, "tried socket", 0),
    ("connect to the monitor", ACTED, "tried socket", 0),
    ("open a file", ACTED, "tried open", 0),
    ("start a program", ACTED, "which no executor may", 0),
    ("ask a model", ACTED, "no message", 0),
    ("say nothing that is a message", ACTED, "", 0),
    ("send more than fits", ACTED, "", 0),
    ("ask for a name that is none", ACTED, "no message", 0),
    ("ask for a phase that is none", ACTED, "no message", 0),
    ("refuse the plan", "plan_bytes_changed", "signed by another key", 0),
    ("verify other bytes", "plan_bytes_changed", "another plan", 0),
    ("ask before it verified", "executor_out_of_turn", "", 0),
    ("verify twice", "executor_out_of_turn", "", 0),
    ("ask for a step that is not there", OUTSIDE, "no such step", 0),
    ("skip a step", OUTSIDE, "step `b`", 0),
    ("reorder the steps", OUTSIDE, "step `b`", 1),
    ("act before the state is kept", OUTSIDE, "step `a`", 0),
    ("take back what was not done", OUTSIDE, "", 0),
    ("ask for two at once", OUTSIDE, "step `a`", 0),
    ("try again", "second_attempt", "attempt 2", 0),
    ("forge a permit", "unknown_permit", "a permit of digest", 0),
    ("use what is no permit", "unknown_permit", "a permit of digest", 0),
    ("use a permit twice", "permit_reused", "a permit of digest", 1),
    ("use a permit twice at once", "permit_reused", "a permit of digest", 1),
];

const ACTED: &str = "executor_tried_to_act";
const OUTSIDE: &str = "request_outside_the_plan";

/// What it says of itself, which is not so.
const ACCOUNTS: [(&str, &str, &str); 3] = [
    ("say that all is done", "report_contradicts_the_record", "completed"),
    ("say that nothing was done", "report_contradicts_the_record", "stopped"),
    ("refuse a permit", "refused_by_the_executor", "step `a`: separation.violation: the permit is of another plan"),
];

fn writing(content: &str) -> Value {
    let write =
        |id: &str| json!({"id": id, "action": "write_file", "args": {"path": format!("{id}.txt"), "content": content}});
    plan("Write the notes a.txt and b.txt", json!([write("a"), write("b")]))
}

#[test]
fn inv_9_an_executor_that_leaves_its_plan_is_killed_and_its_case_halted() {
    let real = PathBuf::from(env!("CARGO_BIN_EXE_countersignd"));
    let rogue = real.parent().unwrap().join("examples/rogue_executor");
    let monitor = Monitor::start_with_program("countersign-executor", &rogue, "schema: countersign.broker/v1\n");
    let accounts = ACCOUNTS.map(|(attempt, violation, said)| (attempt, violation, said, 0));
    for (attempt, violation, said, begun) in ATTEMPTS.into_iter().chain(accounts) {
        let verdict = monitor.submit(&writing(attempt)).unwrap();
        assert_eq!(verdict.decision, Decision::Allow, "{attempt}: {verdict:#?}");
        let case = case(&verdict);
        assert_eq!(monitor.ended(&case), "halted", "{attempt}");
        let records = monitor.records();
        let critical: Vec<&Value> =
            records.iter().filter(|record| record["case"] == case.as_str() && record["kind"] == "critical").collect();
        println!("{attempt}: {critical:?}");
        assert_eq!(critical.len(), 1, "{attempt}: {critical:?}");
        assert_eq!(critical[0]["payload"]["violation"], violation, "{attempt}");
        assert!(critical[0]["payload"]["message"].as_str().unwrap().contains(said), "{attempt}: {critical:?}");
        let intents: Vec<&Value> =
            records.iter().filter(|record| record["case"] == case.as_str() && record["kind"] == "intent").collect();
        assert_eq!(intents.len(), begun, "{attempt}: {intents:?}");
        assert!(intents.iter().all(|intent| intent["payload"]["phase"] == "snapshot"), "{attempt}: {intents:?}");
        assert_eq!((monitor.read("a.txt"), monitor.read("b.txt")), (None, None), "{attempt}");
    }
    assert_eq!(monitor.log().matches("ALERT").count(), ATTEMPTS.len() + ACCOUNTS.len(), "a person is told of each");
    // One that is gone is no attack: halted, and nothing to tell.
    let case = case(&monitor.submit(&writing("leave")).unwrap());
    assert_eq!((monitor.ended(&case), monitor.count(&case, "critical")), ("halted".to_owned(), 0));
    wait_for("the end of them all", || monitor.processes("countersign-executor").is_empty());
}
