//! Drafts that are read, and drafts that are refused at a named place.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Draft;

fn draft(steps: Value) -> Value {
    json!({"schema": "countersign.plan/v1", "goal": "Tidy up", "steps": steps})
}

fn refused(value: Value, pointer: &str) {
    let error = Draft::from_value(value.clone()).map(|_| ()).unwrap_err();
    assert_eq!(error.pointer, pointer, "{value}: {error}");
}

fn step(id: &str, args: Value) -> Value {
    json!({"id": id, "action": "read_file", "args": args})
}

#[test]
fn the_contract_s_example_is_read() {
    let yaml = include_str!("example.yaml");
    let draft = Draft::read(yaml.as_bytes()).unwrap();
    assert_eq!(draft.steps().len(), 2);
    assert_eq!(draft.steps()[1].after.iter().map(|s| s.as_str()).collect::<Vec<_>>(), ["snap"]);
    let as_json = crate::canonical::to_vec(draft.source());
    assert_eq!(Draft::read(&as_json).unwrap().digest(), draft.digest());
}

#[test]
fn order_is_topological_by_construction() {
    refused(draft(json!([step("a", json!({"path": {"$from": "b"}})), step("b", json!({}))])), "/steps/0/args/path");
    refused(draft(json!([step("a", json!({"path": {"$from": "a"}}))])), "/steps/0/args/path");
    refused(draft(json!([step("a", json!({})), step("a", json!({}))])), "/steps/1/id");
    let mut needs = draft(json!([step("a", json!({})), step("b", json!({}))]));
    needs["steps"][0]["needs"] = json!(["b"]);
    refused(needs, "/steps/0/needs/0");
    let mut nested = draft(json!([step("a", json!({"x": [{"$join": ["p", {"$from": "z"}]}]}))]));
    nested["steps"][0]["expect"] = json!([]);
    refused(nested, "/steps/0/args/x/0");
}

#[test]
fn a_rollback_may_use_its_own_step_and_nothing_later() {
    let mut own = draft(json!([step("a", json!({})), step("b", json!({}))]));
    own["steps"][0]["rollback"] = json!({"action": "delete_file", "args": {"path": {"$from": "a", "at": "/path"}}});
    assert!(Draft::from_value(own.clone()).is_ok());
    own["steps"][0]["rollback"]["args"]["path"]["$from"] = json!("b");
    refused(own, "/steps/0/rollback/args/path");
}

#[test]
fn unknown_fields_and_wrong_forms_are_refused_where_they_stand() {
    let mut extra = draft(json!([step("a", json!({}))]));
    extra["steps"][0]["approved"] = json!(true);
    refused(extra, "/steps/0/approved");
    let mut id = draft(json!([step("a", json!({}))]));
    id["steps"][0]["id"] = json!("A");
    refused(id, "/steps/0/id");
    refused(draft(json!([])), "/steps");
    refused(draft(json!([step("a", json!({"$from": "x"}))])), "/steps/0/args");
    let mut hidden = draft(json!([step("a", json!({}))]));
    hidden["privileges"] = json!({"write": ["a\u{202e}b"]});
    refused(hidden, "/privileges/write/0");
    for connection in ["example.org", ":443", "h:0", "h:+80", "h:080", "h:65536", "h:"] {
        let mut port = draft(json!([step("a", json!({}))]));
        port["privileges"] = json!({"connect": [connection]});
        refused(port, "/privileges/connect/0");
    }
    let mut expiry = draft(json!([step("a", json!({}))]));
    expiry["expires_in"] = json!("0s");
    refused(expiry, "/expires_in");
}

/// serde would read a list as the fields of a struct in their order. Who then looks up `args` by its name finds none, and the
/// digest of the action, by which an approval is carried to the next version, would be the same for any arguments.
#[test]
fn lesson_24_what_has_members_is_never_a_list() {
    for args in [json!({"path": "x"}), json!({"path": "/etc/shadow"})] {
        refused(draft(json!([["a", "read_file", args]])), "/steps/0");
    }
    refused(json!(["countersign.plan/v1", "g", [step("a", json!({}))]]), "");
    for (member, listed) in [
        ("rollback", json!(["delete_file", {"path": "x"}])),
        ("args", json!([["path", "x"]])),
        ("args", Value::Null),
        ("expect", json!({"output": "/a", "exists": true})),
    ] {
        let mut wrong = draft(json!([step("a", json!({}))]));
        wrong["steps"][0][member] = listed;
        refused(wrong, &format!("/steps/0/{member}"));
    }
    let mut privileges = draft(json!([step("a", json!({}))]));
    privileges["privileges"] = json!([["a"], null]);
    refused(privileges, "/privileges");
}

#[test]
fn many_steps_and_long_texts_are_bounded() {
    let many: Vec<Value> = (0..513).map(|i| step(&format!("s{i}"), json!({}))).collect();
    refused(draft(Value::from(many)), "/steps");
    let mut long = draft(json!([step("a", json!({}))]));
    long["steps"][0]["reason"] = json!("x".repeat(4097));
    refused(long, "/steps/0/reason");
}

proptest! {
    #[test]
    fn no_document_panics(text in "\\PC{0,300}") {
        drop(Draft::read(text.as_bytes()));
    }

    /// Whatever order of references is drawn, an accepted draft only looks back.
    #[test]
    fn accepted_drafts_only_look_back(refs in prop::collection::vec(0usize..8, 1..8)) {
        let steps: Vec<Value> = refs.iter().enumerate().map(|(i, r)| step(&format!("s{i}"), json!({"path": {"$from": format!("s{r}")}}))).collect();
        match Draft::from_value(draft(Value::from(steps))) {
            Ok(_) => prop_assert!(refs.iter().enumerate().all(|(i, r)| *r < i)),
            Err(_) => prop_assert!(refs.iter().enumerate().any(|(i, r)| *r >= i)),
        }
    }
}
