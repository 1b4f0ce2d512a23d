//! Decisions, and everything that is none.

use std::collections::BTreeSet;

use countersign_plan::draft::Draft;
use countersign_wire::planner::Surface;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Offer, Turn, read};
use crate::sample::{GOAL, good_steps, propose, surface};

fn with<T>(surface: &Surface, asked: &[&str], (reads, drafts): (u32, u32), f: impl FnOnce(&Offer<'_>) -> T) -> T {
    let (asked, inputs): (BTreeSet<String>, Map<_, _>) = (asked.iter().map(|s| (*s).to_owned()).collect(), Map::new());
    f(&Offer { goal: GOAL, inputs: &inputs, surface, asked: &asked, reads, drafts })
}

fn turn(answer: &str) -> Result<Turn, String> {
    with(&surface(&["files", "network", "programs"]), &["files"], (3, 3), |offer| {
        read(answer, offer).map_err(|e| e.to_string())
    })
}

fn refused(answer: impl AsRef<str>, parts: &[&str]) {
    let error = turn(answer.as_ref()).unwrap_err();
    for part in parts {
        assert!(error.contains(part), "`{part}` in: {error}");
    }
}

fn draft(answer: &str) -> Draft {
    match turn(answer).unwrap() {
        Turn::Propose { draft } => Draft::read(&draft).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn step(step: Value) -> String {
    propose(json!([step]))
}

#[test]
fn a_plan_gets_its_schema_and_goal_from_here() {
    let draft = draft(&propose(good_steps()));
    assert_eq!((draft.goal(), draft.steps().len()), (GOAL, 2));
    assert_eq!(draft.source()["schema"], "countersign.plan/v1");
    assert!(draft.source()["steps"][1].get("change_request").is_none(), "null is none");
}

#[test]
fn every_kind_of_turn_is_read_bare_or_wrapped() {
    let read_one = json!({"read": {"action": "read_file", "args": {"path": "a"}}});
    assert!(matches!(turn(&read_one.to_string()), Ok(Turn::Read { .. })));
    assert!(matches!(turn(&json!({"turn": read_one}).to_string()), Ok(Turn::Read { .. })));
    let load = json!({"thought": null, "turn": {"load_tools": {"groups": ["network", "network"]}}}).to_string();
    assert!(matches!(turn(&load), Ok(Turn::LoadTools { groups }) if groups == ["network"]));
    assert!(matches!(turn(r#"{"answer": {"text": "42"}}"#), Ok(Turn::Answer { text }) if text == "42"));
    assert!(matches!(turn(r#"{"give_up": {"reason": "no"}}"#), Ok(Turn::GiveUp { reason }) if reason == "no"));
}

#[test]
fn the_goal_cannot_be_rewritten() {
    let with_goal =
        |goal: &str| json!({"turn": {"propose": {"plan": {"goal": goal, "steps": good_steps()}}}}).to_string();
    assert!(turn(&with_goal(GOAL)).is_ok(), "the pinned goal may be repeated");
    refused(with_goal("Send the report to mallory"), &["/turn/propose/plan/goal", "pinned", "leave it out"]);
    refused(with_goal(&format!("{GOAL} ")), &["pinned"]);
    let schema = json!({"propose": {"plan": {"schema": "countersign.plan/v2", "steps": good_steps()}}}).to_string();
    refused(schema, &["/propose/plan/schema"]);
}

#[test]
fn only_loaded_tools_exist() {
    refused(
        step(json!({"id": "s", "action": "send_email", "args": {}})),
        &["/steps/0/action", "not loaded", "load its group"],
    );
    refused(step(json!({"id": "s", "action": "no_such", "args": {}})), &["/steps/0/action", "not loaded"]);
    let undo = json!({"id": "s", "action": "delete_file", "args": {"path": "a"}, "rollback": {"action": "memory_write", "args": {}}});
    refused(step(undo), &["/steps/0/rollback/action", "not loaded"]);
    refused(r#"{"read": {"action": "memory_read", "args": {"key": "k"}}}"#, &["/read/action", "not loaded"]);
    refused(r#"{"read": {"action": "write_file", "args": {"path": "k"}}}"#, &["/read/action", "not readable"]);
    refused(r#"{"load_tools": {"groups": ["files"]}}"#, &["/load_tools/groups/0", "already"]);
    refused(r#"{"load_tools": {"groups": ["root"]}}"#, &["no group"]);
    refused(r#"{"load_tools": {"groups": []}}"#, &["1 to 16 groups"]);
}

#[test]
fn lesson_13_an_answer_of_no_known_kind_decides_nothing() {
    refused(r#"{"turn": {"execute": {"command": "id"}}}"#, &["/turn/execute", "exactly one of"]);
    refused(r#"{"turn": {"answer": {"text": "a"}, "read": {}}}"#, &["/turn", "exactly one of"]);
    refused(r#"{"answer": {"text": "a", "approve": true}}"#, &["/answer/approve"]);
    refused(r#"{"turn": {"answer": {"text": "a"}}, "approved": true}"#, &["/approved"]);
    refused(r#"{"propose": {"plan": {"steps": [], "approvals": []}}}"#, &["/propose/plan/approvals"]);
    refused(step(json!({"id": "s", "action": "read_file", "args": {"path": "a"}, "sudo": true})), &["/steps/0/sudo"]);
    refused(
        step(json!({"id": "s", "action": "read_file", "args": {"path": "a", "mode": 1}})),
        &["/steps/0/args/mode", "no such"],
    );
    refused(step(json!({"id": "s", "action": "read_file", "args": {}})), &["/steps/0/args", "`path` is missing"]);
    refused(r#"{"thought": {"a": 1}, "turn": {"answer": {"text": "a"}}}"#, &["/thought"]);
    refused("{}", &["exactly one of"]);
    refused(r#"{"turn": 1}"#, &["/turn"]);
}

#[test]
fn a_read_holds_no_references() {
    refused(r#"{"read": {"action": "read_file", "args": {"path": {"$from": "s1"}}}}"#, &["/read/args", "literal"]);
    refused(r#"{"read": {"action": "read_file", "args": {"path": {"$secret": "key"}}}}"#, &["literal"]);
    refused(r#"{"read": {"action": "read_file", "args": {"path": {"$env": "HOME"}}}}"#, &["/read/args/path"]);
}

#[test]
fn bounds_of_a_plan_hold_before_the_gate_sees_it() {
    let many: Vec<Value> =
        (0..10_000).map(|i| json!({"id": format!("s{i}"), "action": "read_file", "args": {"path": "a"}})).collect();
    refused(propose(json!(many)), &["/turn/propose/plan/steps", "10000 steps"]);
    let many: Vec<Value> =
        (0..600).map(|i| json!({"id": format!("s{i}"), "action": "read_file", "args": {"path": "a"}})).collect();
    refused(propose(json!(many)), &["/turn/propose/plan/steps", "600 steps"]);
    refused(propose(json!([])), &["at least one step"]);
    refused(step(json!({"id": "s", "action": "read_file", "args": {"path": "x".repeat(2 << 20)}})), &["bytes"]);
    let twice = json!({"id": "s", "action": "read_file", "args": {"path": "a"}});
    refused(propose(json!([twice, twice])), &["/steps/1/id", "twice"]);
    refused(
        step(json!({"id": "s", "action": "read_file", "args": {"path": {"$from": "later"}}})),
        &["/steps/0/args/path"],
    );
    refused(
        step(
            json!({"id": "s", "action": "read_file", "args": {"path": "a"}, "expect": [{"output": "/x", "matches": "("}]}),
        ),
        &["/expect/0"],
    );
    refused(json!({"answer": {"text": "x".repeat(40_000)}}).to_string(), &["/answer/text", "write less"]);
    refused(json!({"answer": {"text": " "}}).to_string(), &["empty"]);
}

#[test]
fn what_is_exhausted_is_not_open() {
    with(&surface(&["files"]), &[], (0, 0), |offer| {
        let error = read(r#"{"read": {"action": "read_file", "args": {"path": "a"}}}"#, offer).unwrap_err();
        assert!(error.what.contains("no reads"), "{error}");
        let error = read(&propose(good_steps()), offer).unwrap_err();
        assert!(error.what.contains("no drafts"), "{error}");
    });
}

#[test]
fn what_constrained_models_write_is_read_back() {
    let args = json!({
        "method": "POST", "url": "https://h.example/", "body": null,
        "headers": [{"name": "authorization", "value": {"$secret": "token"}}, {"name": "x", "value": "1"}],
    });
    let draft = draft(&step(json!({"id": "s", "action": "http_request", "args": args})));
    let sent = &draft.source()["steps"][0]["args"];
    assert_eq!(sent["headers"], json!({"authorization": {"$secret": "token"}, "x": "1"}));
    assert!(sent.get("body").is_none());
    let twice = json!({"method": "GET", "url": "u", "headers": [{"name": "a", "value": 1}, {"name": "a", "value": 2}]});
    refused(step(json!({"id": "s", "action": "http_request", "args": twice})), &["/args/headers/1", "twice"]);
    let text = json!({"path": "a"}).to_string();
    assert!(turn(&step(json!({"id": "s", "action": "read_file", "args": text}))).is_ok());
    refused(
        step(json!({"id": "s", "action": "read_file", "args": "{\"path\": 1, \"path\": 2}"})),
        &["/steps/0/args/path"],
    );
}

#[test]
fn what_hides_in_a_name_is_escaped_when_it_is_quoted_back() {
    let error = turn(&step(json!({"id": "s", "action": "read\u{202e}_file", "args": {}}))).unwrap_err();
    assert!(error.contains("\\u{202e}") && !error.contains('\u{202e}'), "{error}");
    let error = turn(&json!({format!("x\u{1b}{}", "y".repeat(9999)): 1}).to_string()).unwrap_err();
    assert!(error.len() < 500 && !error.contains('\u{1b}'), "{error}");
}

/// Turns of which some part was replaced by anything.
fn mangled() -> impl Strategy<Value = String> {
    let leaf = || {
        prop_oneof![
            Just(json!(null)),
            Just(json!({"$from": "s"})),
            any::<i64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
            Just(json!([[]])),
            Just(json!({"$lit": {"$secret": "x"}}))
        ]
    };
    let action = prop_oneof![Just(json!("read_file")), Just(json!("http_request")), leaf()];
    let step = (action, leaf(), leaf(), leaf(), leaf()).prop_map(|(action, args, expect, rollback, id)| {
        json!({"id": id, "action": action, "args": {"path": args, "headers": [expect.clone()]}, "expect": [expect], "rollback": rollback})
    });
    prop_oneof![
        prop::collection::vec(step, 0..4).prop_map(|steps| propose(json!(steps))),
        (leaf(), leaf()).prop_map(|(a, b)| json!({"read": {"action": a, "args": b}}).to_string()),
        leaf().prop_map(|a| json!({"turn": {"load_tools": {"groups": a}}}).to_string()),
        leaf().prop_map(|a| json!({"turn": {"answer": a}}).to_string()),
        ".{0,200}",
    ]
}

proptest! {
    #[test]
    fn no_answer_panics_and_every_draft_is_one_with_the_pinned_goal(answer in mangled()) {
        match turn(&answer) {
            Ok(Turn::Propose { draft }) => {
                let draft = Draft::read(&draft).unwrap();
                prop_assert_eq!(draft.goal(), GOAL);
            }
            Ok(_) => {}
            Err(error) => prop_assert!(countersign_plan::text::check_visible(&error).is_ok(), "{:?}", error),
        }
    }
}
