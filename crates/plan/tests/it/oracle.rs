//! The quick way to read a draft against a slow one that copies each part out of the document and checks the copy: the two
//! accept the same documents, read the same from them, and refuse the others at the same place.

use std::collections::BTreeSet;

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::document::{DocumentError, typed_ref};
use countersign_plan::draft::{Draft, Privileges, RollbackAction, SCHEMA, Step};
use countersign_plan::expect::{Condition, Expect};
use countersign_plan::id::{StepId, ToolName};
use countersign_plan::pointer::Pointer;
use countersign_plan::text;
use countersign_plan::time::Span;
use countersign_plan::value::Expr;
use proptest::prelude::*;
use proptest::sample::Index;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::properties::{any_draft, any_text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlowDraft {
    #[serde(rename = "schema")]
    _schema: String,
    goal: String,
    steps: Vec<SlowStep>,
    #[serde(default)]
    privileges: Option<Privileges>,
    #[serde(default)]
    expires_in: Option<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlowStep {
    id: StepId,
    action: ToolName,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    expect: Vec<Value>,
    #[serde(default)]
    rollback: Option<SlowRollback>,
    #[serde(default)]
    irreversible: bool,
    #[serde(default)]
    needs: Vec<StepId>,
    #[serde(default)]
    change_request: Option<String>,
}

struct SlowRollback(Value);

impl<'de> Deserialize<'de> for SlowRollback {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        slow_rollback(&value).map_err(serde::de::Error::custom)?;
        Ok(Self(value))
    }
}

/// What a draft says, as text: its parts have no equality.
fn shown(goal: &str, steps: &[Step], privileges: &Privileges, expires_in: Span, digest: Digest) -> String {
    format!("{goal:?} {steps:?} {privileges:?} {expires_in} {digest}")
}

fn quick(source: &Value) -> Result<String, String> {
    let draft = Draft::from_value(source.clone()).map_err(|e| e.pointer)?;
    assert_eq!((draft.source(), &*draft.shared_source()), (source, source));
    Ok(shown(draft.goal(), draft.steps(), draft.privileges(), draft.expires_in(), draft.digest()))
}

fn slow(source: &Value) -> Result<String, String> {
    let wrong = |place: &str| Err(place.to_owned());
    // What is written by another schema may have fields that this one does not know.
    if source.get("schema").and_then(Value::as_str).is_some_and(|schema| schema != SCHEMA) {
        return wrong("/schema");
    }
    let draft: SlowDraft = typed_ref(source).map_err(|e| e.pointer)?;
    if draft.goal.len() > 16 << 10 || draft.goal.trim().is_empty() {
        return wrong("/goal");
    }
    if draft.steps.is_empty() || draft.steps.len() > 512 {
        return wrong("/steps");
    }
    let (mut seen, mut steps, mut matches) = (BTreeSet::new(), Vec::new(), 0);
    for (i, step) in draft.steps.into_iter().enumerate() {
        let step = slow_step(step, &seen).map_err(|place| format!("/steps/{i}{place}"))?;
        let is_match = |e: &&Expect| matches!(e, Expect::Output { is: Condition::Matches(_), .. });
        matches += step.expect.iter().filter(is_match).count();
        if matches > 128 {
            return Err(format!("/steps/{i}/expect"));
        }
        seen.insert(step.id.clone());
        steps.push(step);
    }
    let privileges = draft.privileges.unwrap_or_default();
    let expires_in = draft.expires_in.unwrap_or(Span::from_secs(900));
    if expires_in.as_millis() == 0 {
        return wrong("/expires_in");
    }
    let digest = Digest::of(&canonical::to_vec(source));
    Ok(shown(&draft.goal, &steps, &privileges, expires_in, digest))
}

fn slow_rollback(rollback: &Value) -> Result<Option<RollbackAction>, DocumentError> {
    match rollback {
        Value::String(_) => Ok(None),
        other => typed_ref(other).map(Some),
    }
}

fn slow_arguments(args: &Map<String, Value>) -> Result<Expr, String> {
    if args.keys().any(|name| name.starts_with('$')) {
        return Err(String::new());
    }
    Expr::from_value(&Value::Object(args.clone())).map_err(|e| e.pointer)
}

fn slow_step(step: SlowStep, seen: &BTreeSet<StepId>) -> Result<Step, String> {
    use countersign_plan::draft::Rollback;
    if seen.contains(&step.id) {
        return Err("/id".to_owned());
    }
    if step.reason.as_ref().is_some_and(|reason| reason.len() > 4 << 10) {
        return Err("/reason".to_owned());
    }
    if step.change_request.as_ref().is_some_and(|id| id.len() > 128 || text::check_name(id).is_err()) {
        return Err("/change_request".to_owned());
    }
    if step.expect.len() > 64 {
        return Err("/expect".to_owned());
    }
    let args = slow_arguments(&step.args).map_err(|place| format!("/args{place}"))?;
    let mut after = BTreeSet::new();
    for (i, need) in step.needs.iter().enumerate() {
        if !seen.contains(need) {
            return Err(format!("/needs/{i}"));
        }
        after.insert(need.clone());
    }
    let mut from = Vec::new();
    slow_references(&args, &Pointer::ROOT, &mut from);
    for (at, step) in from {
        if !seen.contains(&step) {
            return Err(format!("/args{at}"));
        }
        after.insert(step);
    }
    let read = |(i, value)| Expect::from_value(value).map_err(|e: DocumentError| format!("/expect/{i}{}", e.pointer));
    let expect = step.expect.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let rollback = match &step.rollback {
        None => None,
        Some(SlowRollback(Value::String(word))) if word == "snapshot" => Some(Rollback::Snapshot),
        Some(SlowRollback(Value::String(word))) if word == "none" => Some(Rollback::None),
        Some(SlowRollback(other)) => {
            let action = slow_rollback(other).ok().flatten().ok_or("/rollback")?;
            let args = slow_arguments(&action.args).map_err(|place| format!("/rollback/args{place}"))?;
            let mut from = Vec::new();
            slow_references(&args, &Pointer::ROOT, &mut from);
            if let Some((at, _)) = from.into_iter().find(|(_, from)| *from != step.id && !seen.contains(from)) {
                return Err(format!("/rollback/args{at}"));
            }
            Some(Rollback::Action { action: action.action, args })
        }
    };
    let SlowStep { id, action, reason, irreversible, change_request, .. } = step;
    Ok(Step { id, action, args, reason, expect, rollback, irreversible, after, change_request })
}

/// Every reference to a step, with its pointer.
fn slow_references(expr: &Expr, at: &Pointer, out: &mut Vec<(Pointer, StepId)>) {
    match expr {
        Expr::From { step, .. } => out.push((at.clone(), step.clone())),
        Expr::Join(parts) => parts.iter().for_each(|part| slow_references(part, at, out)),
        Expr::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| slow_references(item, &at.child(i.to_string()), out));
        }
        Expr::Object(members) => {
            members.iter().for_each(|(name, member)| slow_references(member, &at.child(name.as_str()), out));
        }
        _ => {}
    }
}

/// The pointers of all parts of `value`.
fn parts(value: &Value, at: &Pointer, out: &mut Vec<String>) {
    out.push(at.to_string());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| parts(item, &at.child(i.to_string()), out));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| parts(member, &at.child(name.as_str()), out));
        }
        _ => {}
    }
}

/// Something that may or may not have a right to stand where it is put.
fn any_part() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        any_text().prop_map(Value::from),
        "s[0-4]".prop_map(Value::from),
        prop::sample::select(vec![
            json!([]),
            json!({}),
            json!(["s0", "read_file", {"path": "x"}]),
            json!(["s0"]),
            json!({"$from": "s0", "at": "/x"}),
            json!({"$from": "s3"}),
            json!({"$join": ["a", {"$from": "s1"}]}),
            json!({"$secret": "k"}),
            json!({"$lit": {"$from": 1}}),
            json!({"action": "delete_file", "args": {"path": {"$from": "s1"}}}),
            json!({"action": "delete_file", "args": {"$from": "s1"}}),
            json!({"action": "delete_file", "when": "later"}),
            json!([{"output": "/a", "matches": "a+"}]),
            json!([{"output": "/a", "matches": "("}]),
            json!([{"exit_code": {"in": [0, 1]}}, {"file": "x", "exists": true}]),
            json!([7]),
            json!({"snapshot": null}),
            json!("snapshot"),
            json!("0s"),
        ]),
    ]
}

proptest! {
    #[test]
    fn the_quick_way_reads_what_the_slow_way_reads(
        source in any_draft(),
        changes in prop::collection::vec((any::<Index>(), any_part(), prop::option::of(prop::sample::select(vec![
            "id", "args", "reason", "expect", "rollback", "irreversible", "needs", "change_request", "privileges", "x", "$x",
        ]))), 0..3),
    ) {
        let mut source = source;
        for (index, part, member) in changes {
            let mut places = Vec::new();
            parts(&source, &Pointer::ROOT, &mut places);
            let slot = source.pointer_mut(&places[index.index(places.len())]).unwrap();
            match (slot.as_object_mut(), member) {
                (Some(members), Some(name)) => drop(members.insert(name.to_owned(), part)),
                _ => *slot = part,
            }
        }
        prop_assert_eq!(quick(&source), slow(&source), "{}", source);
        // What serde itself takes is taken, but for lists in place of objects and objects in place of words.
        match (typed_ref::<SlowDraft>(&source), SlowDraft::deserialize(&source)) {
            (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
            (Ok(_), Err(e)) => prop_assert!(false, "{e}: {source}"),
            (Err(e), Ok(_)) => {
                let place = source.pointer(&e.pointer);
                prop_assert!(place.is_some_and(Value::is_array), "{e}: {source}");
            }
        }
    }
}
