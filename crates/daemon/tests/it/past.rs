//! What one case leaves behind counts in the next, whoever proposes it and whether or not the monitor was started again.

use countersign_plan::approval::Erasure;
use countersign_plan::verdict::{Code, Decision, Verdict};
use countersign_wire::operator::to_monitor;
use serde_json::{Value, json};

use crate::harness::{Monitor, case, plan};

/// A house with payroll files, a partner and a rule that lets requests to the partner pass.
fn house() -> Monitor {
    let deployment = "schema: countersign.deployment/v1\npolicy: rules.yaml\n\
        hosts: {known: [api.partner.example]}\nsecrecy: {confidential: [\"**/payroll/**\"]}\n";
    let rules = "schema: countersign.policy/v1\nallow:\n  - {name: partner, action_types: [http_request]}\n";
    let monitor = Monitor::start_with_configuration(deployment, rules);
    monitor.enroll();
    monitor.file("payroll/may.csv", "ann,4100");
    monitor.file("prices.csv", "nut,1");
    monitor
}

fn done(monitor: &Monitor, goal: &str, steps: Value) {
    let verdict = monitor.submit(&plan(goal, steps)).unwrap();
    if verdict.decision == Decision::RequireApproval {
        monitor.approve(&verdict).unwrap();
    }
    assert_eq!(monitor.ended(&case(&verdict)), "completed", "{verdict:#?}");
}

/// A first case puts one file's content into another, or into memory.
fn copy(monitor: &Monitor, from: &str, to: &str) {
    let content = json!({"$from": "r", "at": "/content"});
    let write = if to.contains('.') {
        json!({"id": "w", "action": "write_file", "args": {"path": to, "content": content}})
    } else {
        json!({"id": "w", "action": "memory_write", "args": {"key": to, "value": content}})
    };
    done(
        monitor,
        "Keep a copy of the figures",
        json!([{"id": "r", "action": "read_file", "args": {"path": from}}, write]),
    );
}

/// A later case sends it to the partner.
fn sent(monitor: &Monitor, from: &str) -> Verdict {
    let (read, at) = if from.contains('.') {
        (json!({"id": "r", "action": "read_file", "args": {"path": from}}), "/content")
    } else {
        (json!({"id": "r", "action": "memory_read", "args": {"key": from}}), "/value")
    };
    let body = json!({"$from": "r", "at": at});
    let send = json!({"id": "s", "action": "http_request", "irreversible": false,
        "args": {"method": "POST", "url": "https://api.partner.example/figures", "body": body}});
    monitor.check(&plan("Send the figures to api.partner.example", json!([read, send]))).unwrap()
}

fn leaks(verdict: &Verdict) -> bool {
    verdict.reasons.iter().any(|reason| reason.code == Code::FlowClearance && reason.decision != Decision::Allow)
}

#[test]
fn a_secret_that_one_case_wrote_down_is_seen_when_another_sends_it() {
    for (name, start_again) in [("notes.txt", false), ("notes.txt", true), ("figures", true)] {
        let mut monitor = house();
        let before = sent(&monitor, name);
        assert!(!leaks(&before), "nothing is secret yet: {before:#?}");
        copy(&monitor, "payroll/may.csv", name);
        if start_again {
            monitor.down();
            monitor.up().unwrap();
        }
        let verdict = sent(&monitor, name);
        assert!(leaks(&verdict), "{name}, started again: {start_again}: {verdict:#?}");
    }
}

#[test]
fn what_is_no_secret_is_sent_as_ever() {
    let mut monitor = house();
    copy(&monitor, "prices.csv", "notes.txt");
    copy(&monitor, "prices.csv", "figures");
    monitor.down();
    monitor.up().unwrap();
    for name in ["notes.txt", "figures"] {
        let verdict = sent(&monitor, name);
        assert!(!leaks(&verdict), "{name}: {verdict:#?}");
    }
}

/// What an agent read it may write in its own words; a name that it gives itself is no border.
#[test]
fn what_was_read_in_one_case_is_not_said_in_another() {
    let mut monitor = house();
    let words = |monitor: &Monitor| {
        let send = json!({"id": "s", "action": "http_request",
            "args": {"method": "POST", "url": "https://api.partner.example/figures", "body": "YW5uLDQxMDA="}});
        monitor.check(&plan("Send the figures to api.partner.example", json!([send]))).unwrap()
    };
    assert!(!leaks(&words(&monitor)), "nothing was read yet");
    done(&monitor, "Look at May", json!([{"id": "r", "action": "read_file", "args": {"path": "payroll/may.csv"}}]));
    assert!(leaks(&words(&monitor)));
    monitor.kill();
    monitor.up().unwrap();
    assert!(leaks(&words(&monitor)), "after a crash");
}

/// A step of which nobody knows what it did leaves the worst label: crashed while it was under way.
#[test]
fn what_a_lost_step_left_is_taken_for_secret() {
    let mut monitor = house();
    monitor.file("slow.sh", "sleep 1000");
    let write = plan(
        "Run slow.sh and write notes.txt",
        json!([{"id": "run", "action": "run_program", "args": {"argv": ["sh", "slow.sh"]}}]),
    );
    let verdict = monitor.submit(&write).unwrap();
    if verdict.decision == Decision::RequireApproval {
        monitor.approve(&verdict).unwrap();
    }
    monitor.watch(
        &case(&verdict),
        |event| matches!(event, countersign_wire::propose::CaseEvent::StepStarted { phase, .. } if phase == "act"),
    );
    monitor.kill();
    monitor.up().unwrap();
    let send = json!({"id": "s", "action": "http_request",
        "args": {"method": "POST", "url": "https://api.partner.example/figures", "body": "x"}});
    let verdict = monitor.check(&plan("Send x to api.partner.example", json!([send]))).unwrap();
    assert!(leaks(&verdict), "{verdict:#?}");
}

/// What a case wrote has its label also when the case is erased; and what it had nothing to do with is not tainted by that.
#[test]
fn labels_outlive_the_case_that_is_erased() {
    let mut monitor = house();
    copy(&monitor, "payroll/may.csv", "notes.txt");
    let case = monitor.records().iter().rev().find_map(|r| r["case"].as_str().map(str::to_owned)).unwrap();
    let envelope = monitor.sign(|principal, signed_at| Erasure {
        case: case.parse().unwrap(),
        reason: "asked to".to_owned(),
        principal,
        signed_at,
        nonce: "1".to_owned(),
    });
    monitor.operate(to_monitor::Kind::Erase(to_monitor::Erase { case, envelope })).unwrap();
    assert!(leaks(&sent(&monitor, "notes.txt")));
    monitor.down();
    monitor.up().unwrap();
    assert!(leaks(&sent(&monitor, "notes.txt")), "the file is as secret as it was");
}
