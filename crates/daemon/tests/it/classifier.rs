//! The second reader of texts beside the inspectors: what it adds, what it cannot take away, and what its silence comes to.

use std::path::PathBuf;

use countersign_plan::verdict::{Code, Decision, Verdict};
use serde_json::{Value, json};

use crate::harness::{Monitor, plan, wait_for};

fn note(text: &str) -> Value {
    let args = json!({"path": "note.txt", "content": text});
    plan("Write a note", json!([{"id": "a", "action": "write_file", "args": args}]))
}

fn judged(monitor: &Monitor, plan: &Value) -> Verdict {
    monitor.check(plan).unwrap()
}

/// Its inspector finds nothing in anything; its classifier does what the text says.
fn with_rogue() -> Monitor {
    let real = PathBuf::from(env!("CARGO_BIN_EXE_countersignd"));
    Monitor::start_with_classifier(b"x", Some(&real.parent().unwrap().join("examples/rogue_classifier")))
}

#[test]
fn a_doubt_is_added_to_a_text_in_which_nothing_was_found_and_texts_alone_are_scored() {
    let monitor = with_rogue();
    let plain = judged(&monitor, &note("a plain note"));
    assert_eq!(plain.decision, Decision::Allow, "{plain:#?}");
    let doubted = judged(&monitor, &note("doubt this"));
    assert_eq!(doubted.decision, Decision::RequireApproval, "{doubted:#?}");
    assert!(doubted.reasons.iter().any(|reason| reason.code == Code::TextInstructions), "{doubted:#?}");
    // What it says beside doubts counts for nothing, and no line is asked about.
    let more = judged(&monitor, &note("touch everything"));
    assert_eq!(more.decision, Decision::Allow, "{more:#?}");
    let args = json!({"command": "echo doubt this"});
    let line = plan("Say it", json!([{"id": "a", "action": "execute_command", "args": args}]));
    let line = judged(&monitor, &line);
    assert_eq!(line.decision, Decision::Allow, "{line:#?}");
}

#[test]
fn inv_4_a_classifier_that_is_gone_asks_and_the_next_text_has_another_one() {
    let monitor = with_rogue();
    for way in ["leave", "say more than fits"] {
        let asked = judged(&monitor, &note(way));
        assert_eq!(asked.decision, Decision::RequireApproval, "{way}: {asked:#?}");
        let plain = judged(&monitor, &note("a plain note"));
        assert_eq!(plain.decision, Decision::Allow, "{way}: {plain:#?}");
    }
}

/// The inspector goes while the classifier reads: nobody takes that answer, and the next text has one of its own.
#[test]
fn an_answer_that_nobody_waited_for_holds_up_no_later_text() {
    let monitor = with_rogue();
    let asked = judged(&monitor, &note("no inspector for this"));
    assert_eq!(asked.decision, Decision::RequireApproval, "{asked:#?}");
    let plain = judged(&monitor, &note("a plain note"));
    assert_eq!(plain.decision, Decision::Allow, "{plain:#?}");
}

/// Every one of these texts silences whoever scores it; the event waits for the first, and asks about all.
#[test]
fn an_event_waits_for_a_silent_classifier_once() {
    let monitor = with_rogue();
    let step = |n: u32| json!({"id": format!("s{n}"), "action": "write_file", "args": {"path": format!("{n}.txt"), "content": format!("say nothing {n}")}});
    let before = std::time::Instant::now();
    let asked = judged(&monitor, &plan("Write notes", (0..20).map(step).collect()));
    println!("20 texts with a silent classifier: {:?}", before.elapsed());
    assert_eq!(asked.decision, Decision::RequireApproval, "{asked:#?}");
    let unread = asked.reasons.iter().filter(|reason| reason.message.contains("classifier did not answer"));
    assert_eq!(unread.count(), 20, "{asked:#?}");
}

#[test]
fn inv_9_a_classifier_that_tries_to_act_is_a_critical_event() {
    let monitor = with_rogue();
    let asked = judged(&monitor, &note("open a file"));
    assert_eq!(asked.decision, Decision::RequireApproval, "{asked:#?}");
    wait_for("a critical record", || monitor.records().iter().any(|record| record["kind"] == "critical"));
}

/// What is wanted and not there asks; it is never left out in silence.
#[test]
fn an_encoder_that_is_another_one_or_a_build_without_a_classifier_asks_about_texts() {
    let monitor = Monitor::start_with_classifier(b"no encoder", None);
    let text = judged(&monitor, &note("a plain note"));
    assert_eq!(text.decision, Decision::RequireApproval, "{text:#?}");
    let args = json!({"command": "ls -la"});
    let line = judged(&monitor, &plan("List", json!([{"id": "a", "action": "execute_command", "args": args}])));
    assert_eq!(line.decision, Decision::Allow, "{line:#?}");
}
