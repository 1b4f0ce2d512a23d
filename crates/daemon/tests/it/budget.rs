//! A spent budget as a case meets it: it asks, survives the monitor, and goes on or ends by an approver's word.

use countersign_plan::approval::{Answer, ApproverRecord as _};
use countersign_plan::budget::{Ask, Extension, Extra};
use countersign_plan::key::PublicKey;
use countersign_wire::operator::to_monitor::{Extend, Kind, Pending};
use countersign_wire::propose::{CaseEvent, PlannerEvent};
use ed25519_dalek::Signer as _;
use serde_json::{Value, json};

use crate::harness::{Monitor, now, wait_for_end};

const BROKER: &str = "\
schema: countersign.broker/v1
providers:
  script: {kind: scripted, script: '{folder}/script.json', clearance: internal}
budget: {tokens_per_case: 5}
";

/// A monitor whose model gives up with these words, once there are tokens for a question.
fn poor() -> Monitor {
    let monitor = Monitor::start_with_broker(BROKER);
    let turn = json!({"thought": "t", "turn": {"give_up": {"reason": "there is nothing to do"}}});
    let script = json!({"schema": "countersign.script/v1", "answers": [{"json": turn}]});
    std::fs::write(monitor.path("script.json"), script.to_string()).unwrap();
    monitor.enroll();
    monitor
}

fn paused(monitor: &Monitor) -> String {
    let case = monitor.pursue("Do this").unwrap();
    let events = monitor.watch(&case, |event| matches!(event, CaseEvent::Stage { stage, .. } if stage == "paused"));
    let Some(CaseEvent::Stage { detail, .. }) = events.last() else { panic!("{events:#?}") };
    for wanted in ["may use 5 tokens", "broker.yaml", &format!("countersign resume {case} --tokens N")] {
        assert!(detail.contains(wanted), "{detail}");
    }
    case
}

fn ask(monitor: &Monitor, case: &str) -> Ask {
    let view = monitor.show(case);
    assert_eq!(view.stage, "paused");
    serde_json::from_value(view.asks).unwrap()
}

fn answer(monitor: &Monitor, case: &str, answer: Answer, tokens: u64) -> Result<Value, String> {
    let extension = Extension {
        case: case.parse().unwrap(),
        ask: ask(monitor, case).digest().unwrap(),
        answer,
        extra: Extra { tokens, micro_dollars: 0 },
        approver: "user:tester".parse().unwrap(),
        role: None,
        reason: Some("enough for today".to_owned()),
        signed_at: now(),
        expires_at: countersign_plan::time::Timestamp::from_millis(now().as_millis() + 600_000),
        nonce: format!("{case} {tokens}"),
    };
    let (payload, bytes) = extension.to_sign().unwrap();
    let key = PublicKey::from_bytes(monitor.approver.verifying_key().as_bytes()).unwrap();
    let envelope = Extension::envelope(payload, key.id(), monitor.approver.sign(&bytes).to_bytes()).to_json();
    monitor.operate(Kind::Extend(Extend { envelope }))
}

fn gave_up(events: &[CaseEvent]) -> bool {
    let words = |reason: &str| reason.contains("there is nothing to do");
    events.iter().any(|e| matches!(e, CaseEvent::Planner(PlannerEvent::GaveUp { reason }) if words(reason)))
}

#[test]
fn a_paused_case_is_pending_and_goes_on_with_what_an_approver_adds() {
    let monitor = poor();
    let case = paused(&monitor);
    let pending = monitor.operate(Kind::Pending(Pending {})).unwrap();
    assert_eq!(pending[0]["case"], case);
    assert_eq!(pending[0]["asks"]["shortage"]["limit"], 5, "{pending:#}");
    let first = ask(&monitor, &case);
    // Too little asks again, and by another number.
    answer(&monitor, &case, Answer::Approve, 1).unwrap();
    monitor
        .watch(&case, |event| matches!(event, CaseEvent::Stage { detail, .. } if detail.contains("may use 6 tokens")));
    assert_eq!((ask(&monitor, &case).number, ask(&monitor, &case).shortage.limit), (first.number + 1, 6));
    answer(&monitor, &case, Answer::Approve, 1_000_000).unwrap();
    assert!(gave_up(&monitor.watch(&case, |_| false)));
    assert_eq!((monitor.count(&case, "approval"), monitor.ended(&case).as_str()), (2, "abandoned"));
}

#[test]
fn a_no_ends_a_paused_case_and_says_why() {
    let monitor = poor();
    let case = paused(&monitor);
    answer(&monitor, &case, Answer::Deny, 0).unwrap();
    assert_eq!(monitor.ended(&case), "denied");
    let closed = monitor.records().into_iter().find(|r| r["kind"] == "case_closed" && r["case"] == case).unwrap();
    assert!(closed["payload"]["detail"].as_str().unwrap().ends_with("no more budget: enough for today"), "{closed}");
    assert_eq!(monitor.operate(Kind::Pending(Pending {})).unwrap(), json!([]));
}

/// `kill -9` forgets neither the question nor what was spent; a fresh planner takes up the goal once somebody answers.
#[test]
fn a_paused_case_waits_on_when_the_monitor_is_killed() {
    let mut monitor = poor();
    let case = paused(&monitor);
    let before = ask(&monitor, &case);
    for _ in 0..2 {
        let below = monitor.below();
        monitor.kill();
        wait_for_end(&below);
        monitor.up().unwrap();
        assert_eq!(ask(&monitor, &case), before);
    }
    answer(&monitor, &case, Answer::Approve, 1_000_000).unwrap();
    assert!(gave_up(&monitor.watch(&case, |_| false)));
    assert_eq!(monitor.ended(&case), "abandoned");
    assert_eq!(monitor.count(&case, "case_opened"), 1);
}
