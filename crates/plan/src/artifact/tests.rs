//! The bytes of a plan, against the general way to canonical bytes; and what is no plan.

use super::*;

fn plan(change: impl FnOnce(&mut Plan)) -> Plan {
    let source = json!({
        "schema": crate::draft::SCHEMA, "goal": "g",
        "steps": [{"id": "a", "action": "read_file", "args": {"path": "x", "z": [1.5, null, true], "\u{10000}": "\u{e000}"}}],
    });
    let draft = Draft::from_value(source.clone()).unwrap();
    let grant = StepGrant {
        id: "a".parse().unwrap(),
        accesses: Vec::new(),
        profile: Profile::None,
        irreversible: false,
        action_digest: Digest::of(b"action"),
    };
    let mut plan = Plan {
        schema: SCHEMA.to_owned(),
        case: "c-1".parse().unwrap(),
        version: 1,
        parent: None,
        principal: "user:r".parse().unwrap(),
        agent: "agent:a".parse().unwrap(),
        mode: Mode::Managed,
        draft_digest: draft.digest(),
        draft: source.into(),
        inputs: BTreeMap::new(),
        cwd: "/w".to_owned(),
        steps: vec![grant],
        tools: [("read_file".parse().unwrap(), Digest::of(b"tool"))].into(),
        policy_digest: Digest::of(b"policy"),
        deployment_digest: Digest::of(b"deployment"),
        label_proof: None,
        not_before: Timestamp::from_millis(0),
        nonce: "0".repeat(32),
    };
    change(&mut plan);
    plan
}

#[test]
fn the_bytes_are_the_canonical_form_of_the_whole_plan() {
    let full = plan(|plan| {
        plan.parent = Some(Digest::of(b"parent"));
        plan.label_proof = Some(Digest::of(b"proof"));
        plan.inputs = serde_json::from_value(json!({"who": "me"})).unwrap();
    });
    for plan in [plan(|_| {}), full] {
        let bytes = plan.to_bytes().unwrap();
        assert_eq!(bytes, canonical::of(&plan).unwrap());
        let (again, draft) = Plan::read(&bytes).unwrap();
        assert_eq!(again.to_bytes().unwrap(), bytes);
        assert_eq!((draft.source(), &again.draft), (&*plan.draft, &plan.draft));
    }
}

#[test]
fn a_plan_without_its_draft_or_with_another_one_is_none() {
    let whole: Value = serde_json::from_slice(&plan(|_| {}).to_bytes().unwrap()).unwrap();
    let read = |change: &dyn Fn(&mut Value)| {
        let mut value = whole.clone();
        change(&mut value);
        Plan::read(&canonical::to_vec(&value)).map(drop)
    };
    assert_eq!(read(&|_| {}), Ok(()));
    let refused = |change: &dyn Fn(&mut Value)| match read(change) {
        Err(PlanError::Document(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let missing = refused(&|value| drop(value.as_object_mut().unwrap().remove("draft")));
    assert!(missing.contains("missing field `draft`"), "{missing}");
    let null = refused(&|value| value["draft"] = Value::Null);
    assert!(null.contains("/draft"), "{null}");
    let wrong = refused(&|value| value["draft"]["goal"] = json!(1));
    assert!(wrong.contains("/draft/goal"), "{wrong}");
    assert_eq!(read(&|value| value["draft"]["goal"] = json!("h")), Err(PlanError::Draft));
    assert_eq!(read(&|value| value["steps"][0]["id"] = json!("b")), Err(PlanError::Steps));
    let listed = refused(&|value| value["steps"][0] = json!([[], Digest::of(b"action"), "a", false, "none"]));
    assert!(listed.starts_with("/steps/0: "), "{listed}");
    let wrapped = refused(&|value| value["mode"] = json!({"managed": null}));
    assert!(wrapped.starts_with("/mode/managed: "), "{wrapped}");
}

/// `lesson_26`: two spellings of one plan would be two digests for what a person takes for one thing.
#[test]
fn only_canonical_bytes_are_a_plan() {
    let whole = String::from_utf8(plan(|_| {}).to_bytes().unwrap()).unwrap();
    let refused = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        match Plan::read(whole.replacen(from, to, 1).as_bytes()) {
            Err(PlanError::Document(error)) => error.to_string(),
            other => panic!("{to}: {other:?}"),
        }
    };
    let canonical = "document: not in canonical form";
    for (from, to) in [
        ("{\"agent\"", "{ \"agent\""),
        ("\"agent\"", "\"\\u0061gent\""),
        ("\"goal\":\"g\"", "\"goal\":\"\\u0067\""),
        ("\"version\":1", "\"version\":1\n"),
        ("1.5", "1.50"),
        ("\"mode\"", "\"inputs\":{},\"mode\""),
        ("\"cwd\":\"/w\",", ""),
    ] {
        let error = refused(from, to);
        assert!(error.contains(if to.is_empty() { "missing field `cwd`" } else { canonical }), "{to}: {error}");
    }
    for (from, to, place) in [
        ("1.5", "9007199254740993", "/draft/steps/0/args/z/0"),
        ("1.5", "-0", "/draft/steps/0/args/z/0"),
        ("\"goal\":\"g\"", "\"goal\":\"g\",\"goal\":\"g\"", "/draft/goal"),
        ("\"version\":1", "\"version\":1,\"version\":1", "/version"),
        ("\"mode\"", "\"inputs\":{\"n\":9007199254740993},\"mode\"", "/inputs/n"),
        ("\"version\":1", "\"version\":1,\"zone\":1", "/zone"),
    ] {
        let error = refused(from, to);
        assert!(error.starts_with(place), "{to}: {error}");
    }
}
