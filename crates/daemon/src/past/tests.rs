//! The fold over records, without a monitor.

use std::sync::Arc;

use countersign_ledger::RecordKind;
use countersign_plan::id::CaseId;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::TargetKind;
use countersign_policy::flow::{Label, Level, Readers, Session};
use serde_json::{Value, json};

use super::labels::{Labels, Left};
use super::{Past, REST, Seat, Told};

const BEGUN: i64 = 1_700_000_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(BEGUN + 1000 * seconds)
}

fn user() -> Seat {
    Seat::Agents("uid:1000".parse().unwrap())
}

struct Records {
    past: Past,
    now: i64,
}

impl Records {
    fn new() -> Self {
        Self { past: Past::default(), now: 0 }
    }

    fn tell(&mut self, case: &str, kind: RecordKind, payload: Option<&Value>) {
        let case: CaseId = case.parse().unwrap();
        self.past.take(Told { kind, case: Some(&case), at: at(self.now), payload }, &mut |_| None);
    }

    fn open(&mut self, case: &str, more: &Value) {
        let mut opened = json!({"requester": "uid:1000", "agent": "agent:a"});
        opened.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.tell(case, RecordKind::CaseOpened, Some(&opened));
        let access = json!({"effect": "update", "resource": {"kind": "file", "name": "/w/a"}});
        let steps = json!([{"id": "s", "accesses": [access]}]);
        let plan = json!({"principal": "uid:1000", "cwd": "/w", "steps": steps, "draft": {"steps": []}});
        self.tell(case, RecordKind::Proposal, Some(&json!({"plan": plan, "origin": "here"})));
    }

    fn outcome(&mut self, case: &str, labels: &Value) {
        let payload = json!({"step": "s", "phase": "act", "fate": "held", "labels": labels});
        self.tell(case, RecordKind::Outcome, Some(&payload));
    }

    fn close(&mut self, case: &str) {
        self.tell(case, RecordKind::CaseClosed, Some(&json!({"ending": "completed"})));
    }

    fn session(&self) -> Arc<Session> {
        self.past.session(&user(), at(self.now))
    }
}

fn secret() -> Value {
    let readers = json!({"level": "open", "readers": "user+internal"});
    json!({"read": readers, "kept": {"file:/w/a": readers}, "told": "0000000000ff"})
}

fn label(session: &Session) -> Option<Label> {
    session.kept(TargetKind::File, "/w/a")
}

#[test]
fn what_is_known_of_nothing_can_be_said() {
    let session = Labels::unknown().session();
    assert_eq!(session.seen(), Label::TOP);
    assert_eq!(session.kept(TargetKind::Memory, "x"), Some(Label::TOP));
    assert_eq!(Labels::of(&session), Some(Labels::unknown()));
}

#[test]
fn labels_of_a_resource_are_everybodys_and_what_was_seen_is_its_seats() {
    let mut records = Records::new();
    records.open("c-1", &json!({"pursued": true}));
    records.outcome("c-1", &secret());
    let planner = records.past.session(&Seat::Planner("c-1".parse().unwrap()), at(1));
    assert!(!planner.seen().readers.within(Readers::NOBODY) && planner.seen().level == Level::Open);
    let outside = records.session();
    assert_eq!(outside.seen(), Label::BOTTOM, "somebody else read it");
    assert!(label(&outside).is_some(), "the file has its label for all");
    records.close("c-1");
    let fresh = records.past.session(&Seat::Planner("c-1".parse().unwrap()), at(2));
    assert_eq!(fresh.seen(), Label::BOTTOM, "a new planner starts clean");
    assert!(label(&fresh).is_some());
}

#[test]
fn outside_agents_rest_and_begin_anew_while_files_keep_their_labels() {
    let mut records = Records::new();
    records.open("c-1", &json!({}));
    records.outcome("c-1", &secret());
    records.close("c-1");
    let rest = i64::try_from(REST.as_millis() / 1000).unwrap();
    records.now = rest - 1;
    assert_ne!(records.session().seen(), Label::BOTTOM);
    records.now = rest;
    assert_eq!(records.session().seen(), Label::BOTTOM);
    assert!(label(&records.session()).is_some());
}

#[test]
fn what_a_record_does_not_tell_is_the_worst() {
    for labels in [json!(null), json!({"left_out": 9}), json!({"kept": {"file:/w/a": "?"}})] {
        let mut records = Records::new();
        records.open("c-1", &json!({}));
        records.outcome("c-1", &labels);
        assert_eq!(records.session().seen(), Label::TOP, "{labels}");
        assert_eq!(label(&records.session()), Some(Label::TOP), "{labels}");
    }
    let mut records = Records::new();
    records.open("c-1", &json!({}));
    records.tell("c-1", RecordKind::Outcome, None);
    assert_eq!(label(&records.session()), Some(Label::TOP), "a payload that was erased");
    let mut records = Records::new();
    records.tell("c-1", RecordKind::Outcome, None);
    assert_eq!(label(&records.session()), Some(Label::TOP), "and nothing of its case is known");
    let mut records = Records::new();
    records.open("c-1", &json!({}));
    records.tell("c-1", RecordKind::CaseHalted, Some(&json!({"indeterminate": true, "step": "s", "phase": "act"})));
    assert_eq!(label(&records.session()), Some(Label::TOP), "a step that was lost");
}

#[test]
fn what_is_taken_back_has_its_label_back() {
    let mut records = Records::new();
    records.open("c-1", &json!({}));
    records.outcome("c-1", &secret());
    records.close("c-1");
    records.open("c-2", &json!({}));
    records.outcome("c-2", &json!({"kept": {"file:/w/a": {"level": "open", "readers": "anyone"}}}));
    assert_eq!(label(&records.session()).unwrap().readers, Readers::ANYONE, "overwritten as a whole");
    records.tell("c-2", RecordKind::Compensation, Some(&json!({"step": "s", "phase": "restore", "fate": "held"})));
    assert_ne!(label(&records.session()).unwrap().readers, Readers::ANYONE);
}

/// The fold over everything but an erased case, with what was kept of it, knows the same of files as the fold over everything.
#[test]
fn an_erased_case_leaves_its_labels_and_taints_nothing_else() {
    let mut whole = Records::new();
    let mut alone = Records::new();
    for records in [&mut whole, &mut alone] {
        records.open("c-1", &json!({}));
        records.outcome("c-1", &secret());
        records.close("c-1");
    }
    // Somebody wrote the file since: the label of now is kept, and not that of then.
    whole.open("c-2", &json!({}));
    whole.outcome("c-2", &json!({"kept": {"file:/w/a": {"level": "user", "readers": "user+internal"}}}));
    whole.close("c-2");
    let kept = whole.past.outlives(&alone.past, at(1));
    assert!(!kept.to_string().contains("told"), "no word is kept: {kept}");
    let before = whole.session();

    let mut again = Records::new();
    let gone: CaseId = "c-1".parse().unwrap();
    again.past.without([gone].into());
    again.tell("c-1", RecordKind::CaseOpened, None);
    again.tell("c-1", RecordKind::Outcome, None);
    again.tell("c-1", RecordKind::CaseHalted, Some(&json!({"indeterminate": true, "step": "s", "phase": "act"})));
    again.close("c-1");
    assert_eq!(label(&again.session()), None);
    again.tell("c-house", RecordKind::Label, Some(&kept));
    again.past.without(std::collections::HashSet::new());
    assert_eq!(label(&again.session()), label(&before));
    assert_eq!(again.session().kept(TargetKind::File, "/w/other"), None, "others are as they were");
    assert_eq!(again.session().seen(), Label::TOP, "what was read is words, so that the worst is believed");
    again.now = i64::try_from(REST.as_millis() / 1000).unwrap();
    assert_eq!(again.session().seen(), Label::BOTTOM, "until the agents have rested");

    // A monitor that goes on knows what it knew, and taints nobody.
    whole.tell("c-house", RecordKind::Label, Some(&kept));
    assert_eq!((whole.session().seen(), label(&whole.session())), (before.seen(), label(&before)));
    // Where that record cannot be read either, everything is unknown.
    let mut lost = Records::new();
    lost.tell("c-house", RecordKind::Label, None);
    assert_eq!(label(&lost.session()), Some(Label::TOP));
}

/// A plan that waits for people, or runs, is held to what others write meanwhile; what it learns itself it did not know when it was
/// written.
#[test]
fn a_plan_under_way_sees_what_others_write_and_not_what_it_reads() {
    let mut records = Records::new();
    records.open("c-1", &json!({}));
    records.open("c-2", &json!({}));
    records.outcome("c-2", &secret());
    let of = |records: &Records, case: &str| records.past.session_of(&case.parse().unwrap());
    assert_eq!(of(&records, "c-1").seen(), Label::BOTTOM);
    assert!(label(&of(&records, "c-1")).is_some());
    assert!(label(&of(&records, "c-2")).is_none());
    assert_eq!(label(&of(&records, "c-9")), Some(Label::TOP), "a case that nobody remembers");
}

#[test]
fn what_was_added_is_what_is_there_after() {
    let mut before = Labels::default();
    let left: Left = serde_json::from_value(secret()).unwrap();
    before.see(&left);
    before.keep(&left);
    let more = json!({"kept": {"memory:k": {"level": "user", "readers": "anyone"}}, "told": "00000000000a00000000000b",
        "known": ["x"], "helpers": ["h"], "texts": {"set": {"/w/a": "text"}}, "opaque": {"set": {"/w/b": null}}});
    let left: Left = serde_json::from_value(more).unwrap();
    let mut after = before.clone();
    after.see(&left);
    after.keep(&left);
    let found = Left::between(&before, &after);
    let mut again = before.clone();
    again.see(&found);
    again.keep(&found);
    assert_eq!(again, after);
    assert_eq!(Labels::of(&after.session()), Some(after), "a session says the same");
}
