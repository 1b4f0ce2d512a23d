//! Crossing points: what people let pass for exactly one plan, and what nobody let pass.

use countersign_plan::digest::Digest;
use countersign_plan::verdict::{Code, Decision};
use countersign_policy::changes::Changes;
use countersign_policy::facts::{AsWritten, Below, Facts, PathFact};
use serde_json::{Value, json};

use crate::world::{World, codes};

/// Payroll goes to a partner, who is not cleared for it.
fn steps() -> Value {
    json!([
        {"id": "r", "action": "read_file", "args": {"path": "payroll/may.csv"}},
        {"id": "s", "action": "send_email",
         "args": {"to": "ap@partner.example", "subject": "May", "body": {"$from": "r", "at": "/content"}}},
    ])
}

fn crossing(draft: &str, change: impl Fn(&mut Value)) -> Value {
    let mut crossing = json!({
        "value": "r/content", "to": "ap@partner.example", "form": {"matches": "[a-z]+,[0-9]+"},
        "approver": "user:ines@company.example", "draft": draft, "expires": "2026-06-02T12:00:00Z",
    });
    change(&mut crossing);
    crossing
}

fn world(crossing: &Value) -> World {
    let changes = json!({"schema": "countersign.changes/v1", "change_requests": [], "crossings": [crossing]});
    let mut world = World::new();
    world.changes = Changes::read(changes.to_string().as_bytes()).unwrap();
    world
}

fn draft() -> String {
    World::new().steps(steps()).proof.unwrap().draft.to_string()
}

#[test]
fn a_declassification_lets_one_value_of_one_plan_reach_one_receiver() {
    let without = World::new().steps(steps());
    assert!(codes(&without).contains(&Code::FlowClearance), "{:#?}", without.reasons);
    let review = world(&crossing(&draft(), |_| {})).steps(steps());
    assert!(!codes(&review).contains(&Code::FlowClearance), "{:#?}", review.reasons);
    let told = review.reasons.iter().find(|reason| reason.code == Code::FlowCrossed).unwrap();
    assert!(told.message.contains("ines") && told.message.contains("ap@partner.example"), "{told:?}");
    assert_eq!(review.proof.unwrap().crossings.iter().count(), 1, "the proof says so");
    for (what, change) in [
        ("by the requester", ("approver", json!("user:user@company.example"))),
        ("expired", ("expires", json!("2026-06-01T12:00:00Z"))),
        ("of another draft", ("draft", json!(Digest::of(b"other")))),
        ("to somebody else", ("to", json!("eve@elsewhere.example"))),
        ("of another value", ("value", json!("q/content"))),
    ] {
        let review = world(&crossing(&draft(), |c| c[change.0] = change.1.clone())).steps(steps());
        assert!(codes(&review).contains(&Code::FlowClearance), "{what}: {:#?}", review.reasons);
    }
}

/// The value is not known when people say what it must be; at the permit it is.
#[test]
fn a_value_of_another_form_does_not_pass_at_the_permit() {
    let world = world(&crossing(&draft(), |_| {}));
    let args = |body: &str| json!({"to": "ap@partner.example", "subject": "May", "body": body});
    let (_, codes) = world.again(steps(), "s", args("ann,4100"));
    assert!(!codes.contains(&Code::FlowClearance), "{codes:?}");
    for other in ["ann,4100\nbob,3900", "x ann,4100", ""] {
        let (_, codes) = world.again(steps(), "s", args(other));
        assert!(codes.contains(&Code::FlowClearance), "{other:?}: {codes:?}");
    }
}

/// A machine that remembers that a plan of every draft was let through.
struct Spent;

impl Facts for Spent {
    fn resolve(&self, path: &str) -> PathFact {
        AsWritten.resolve(path)
    }

    fn below(&self, dir: &str, wanted: &dyn Fn(&str) -> bool, limit: usize) -> Below {
        AsWritten.below(dir, wanted, limit)
    }

    fn recent_actions(&self) -> u32 {
        0
    }

    fn program(&self, name: &str) -> Option<String> {
        AsWritten.program(name)
    }

    fn is_spent(&self, _draft: Digest) -> bool {
        true
    }
}

#[test]
fn what_people_let_pass_passes_once() {
    let mut world = world(&crossing(&draft(), |_| {}));
    world.facts = Box::new(Spent);
    let review = world.steps(steps());
    assert!(codes(&review).contains(&Code::FlowClearance), "{:#?}", review.reasons);
    assert!(review.reasons.iter().all(|reason| reason.code != Code::FlowCrossed));
}

/// A crossing closes an issue of flow; a rule that denies, and what is irreversible, stand.
#[test]
fn a_crossing_speaks_for_no_rule() {
    let mut house = World::with_policy("deny: [{name: no, action_types: [send_email]}]");
    house.changes = world(&crossing(&draft(), |_| {})).changes;
    assert_eq!(house.steps(steps()).decision, Decision::Block);
    let review = world(&crossing(&draft(), |_| {})).steps(steps());
    assert_eq!(review.decision, Decision::RequireApproval, "a mail cannot be taken back: {:#?}", review.reasons);
}

#[test]
fn a_form_that_cannot_be_compared_is_an_error_with_its_place() {
    for form in [json!({"matches": "("}), json!({"range": [2, 1]})] {
        let crossing = crossing(&draft(), |c| c["form"] = form.clone());
        let changes = json!({"schema": "countersign.changes/v1", "change_requests": [], "crossings": [crossing]});
        let error = Changes::read(changes.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains("/crossings/0/form"), "{error}");
    }
}
