//! The form of a turn against its reader, and hostile schemas of tools.

use std::collections::BTreeSet;

use countersign_wire::planner::{Surface, SurfaceTool};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::turn;
use crate::sample::{GOAL, good_steps, propose, surface};
use crate::turn::Offer;

const ROOM: usize = 64 << 10;

fn schema(surface: &Surface, asked: &[&str], (reads, drafts): (u32, u32)) -> Value {
    let asked: BTreeSet<String> = asked.iter().map(|s| (*s).to_owned()).collect();
    let inputs: Map<String, Value> = [("folder".to_owned(), json!("/srv"))].into_iter().collect();
    turn(&Offer { goal: GOAL, inputs: &inputs, surface, asked: &asked, reads, drafts }, ROOM)
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).unwrap()
}

/// Calls `visit` with every object schema of a schema.
fn objects(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            if members.get("type") == Some(&json!("object")) {
                visit(members);
            }
            members.values().for_each(|v| objects(v, visit));
        }
        Value::Array(items) => items.iter().for_each(|v| objects(v, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn keywords(value: &Value, inside_properties: bool, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if !inside_properties {
                    out.insert(key.clone());
                }
                let names = !inside_properties && matches!(key.as_str(), "properties" | "$defs");
                if inside_properties || key != "enum" {
                    keywords(value, names, out);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|v| keywords(v, false, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const ALL: &[&str] = &["files", "network", "programs", "data", "mail", "memory", "chat"];

#[test]
fn a_constrained_turn_is_read_and_a_read_turn_may_be_constrained() {
    let surface = surface(ALL);
    let validator = validator(&schema(&surface, &[], (3, 3)));
    let full = |id: &str, action: &str, args: Value| {
        json!({"id": id, "action": action, "args": args, "reason": "r", "expect": [{"exit_code": {"in": [0, 1]}}],
            "rollback": null, "needs": [], "change_request": null})
    };
    let headers = json!([{"name": "authorization", "value": {"$secret": "token"}}]);
    for (action, args) in [
        (
            "write_file",
            json!({"path": {"$input": "folder"}, "content": {"$join": ["a", 1, {"$from": "s0", "at": "/x"}]}}),
        ),
        ("http_request", json!({"method": "GET", "url": "https://h.example/", "headers": headers, "body": null})),
        (
            "run_program",
            json!({"argv": ["ls", {"$from": "s0", "at": ""}], "cwd": null, "env": null, "stdin": null, "timeout_s": 5}),
        ),
    ] {
        let first = full("s0", "read_file", json!({"path": "a"}));
        let answer = propose(json!([first, full("s1", action, args)]));
        let value: Value = serde_json::from_str(&answer).unwrap();
        assert!(
            validator.is_valid(&value),
            "{action}: {:?}",
            validator.iter_errors(&value).map(|e| e.to_string()).next()
        );
        let (asked, inputs) = (BTreeSet::new(), Map::new());
        let offer = Offer { goal: GOAL, inputs: &inputs, surface: &surface, asked: &asked, reads: 3, drafts: 3 };
        crate::turn::read(&answer, &offer).unwrap();
    }
    for wrong in [
        json!({"thought": "t", "turn": {"execute": {}}}),
        json!({"thought": "t", "turn": {"read": {"action": "write_file", "args": {"path": "a", "content": "b"}}}}),
        json!({"thought": "t", "turn": {"read": {"action": "read_file", "args": {"path": {"$from": "s", "at": ""}}}}}),
        json!({"thought": "t", "turn": {"load_tools": {"groups": ["root"]}}}),
        serde_json::from_str(&propose(json!([full("s", "rm", json!({}))]))).unwrap(),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
    let lax: Value = serde_json::from_str(&propose(good_steps())).unwrap();
    assert!(!validator.is_valid(&lax), "the form is stricter than the reader, which also takes shorter turns");
}

#[test]
fn only_what_constrained_decoders_share_is_used() {
    let schema = schema(&surface(ALL), &[], (3, 3));
    let mut used = BTreeSet::new();
    keywords(&schema, false, &mut used);
    let known = [
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "type",
    ];
    assert!(used.iter().all(|keyword| known.contains(&keyword.as_str())), "{used:?}");
    objects(&schema, &mut |object| {
        let names: BTreeSet<&str> = object["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required = object["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(names, required, "all members are required");
        assert_eq!(object["additionalProperties"], false);
    });
    assert_eq!(schema["type"], "object", "providers want an object at the root");
}

#[test]
fn no_definition_refers_to_itself() {
    let schema = schema(&surface(ALL), &[], (3, 3));
    let defs = schema["$defs"].as_object().unwrap();
    let refers = |value: &Value| -> BTreeSet<String> {
        let text = value.to_string();
        defs.keys().filter(|name| text.contains(&format!("\"#/$defs/{name}\""))).cloned().collect()
    };
    let mut left: Vec<&String> = defs.keys().collect();
    let mut settled = BTreeSet::new();
    while !left.is_empty() {
        let before = left.len();
        left.retain(|name| {
            let ready = refers(&defs[*name]).is_subset(&settled);
            if ready {
                settled.insert((*name).clone());
            }
            !ready
        });
        assert!(left.len() < before, "a cycle among {left:?}");
    }
}

#[test]
fn what_is_not_open_is_not_in_the_form() {
    let has = |schema: &Value, kind: &str| schema.to_string().contains(&format!("\"{kind}\":{{"));
    let none = schema(&surface(&[]), &[], (3, 3));
    assert!(has(&none, "load_tools") && !has(&none, "propose") && !has(&none, "read"));
    let spent = schema(&surface(&["files"]), ALL, (0, 0));
    assert!(!has(&spent, "propose") && !has(&spent, "read") && has(&spent, "answer") && has(&spent, "give_up"));
    let groups: Vec<String> = surface(&[]).groups.into_iter().map(|(name, _)| name).collect();
    let asked: Vec<&str> = groups.iter().map(String::as_str).collect();
    assert!(!has(&schema(&surface(&["files"]), &asked, (3, 3)), "load_tools"));
}

fn tool(name: &str, args: Value) -> SurfaceTool {
    let text = |s: &str| s.to_owned();
    SurfaceTool {
        name: text(name),
        description: text("d"),
        args,
        effect: text("update"),
        reversibility: text("snapshot"),
        readable: true,
        outputs: Vec::new(),
        secrets: Vec::new(),
    }
}

#[test]
fn a_schema_that_cannot_be_written_out_takes_json_text() {
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    for args in [
        json!({"$ref": "https://evil.example/schema"}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {"$ref": "#"}}}),
        json!({"type": "object", "properties": {"$from": {"type": "string"}}}),
        json!({"type": "object", "properties": {"filter[id]": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"enum": (0..1000).map(|i| i.to_string()).collect::<Vec<_>>()}}}),
        json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "object"}}}}}),
        json!({"type": 7, "properties": 7}),
        deep,
    ] {
        let surface = Surface { groups: vec![], tools: vec![tool("t", args.clone())] };
        let schema = schema(&surface, &[], (3, 3));
        let turn = json!({"thought": "", "turn": {"read": {"action": "t", "args": "{}"}}});
        assert!(validator(&schema).is_valid(&turn), "{args}");
    }
}

#[test]
fn many_tools_do_not_make_a_large_form() {
    let args = json!({"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}});
    let tools = (0..2000).map(|i| tool(&format!("tool_{i}"), args.clone())).collect();
    let schema = schema(&Surface { groups: vec![], tools }, &[], (3, 3));
    assert!(schema.to_string().len() < 300 << 10, "{}", schema.to_string().len());
    validator(&schema);
}

#[test]
fn the_form_of_the_built_in_tools_stays_small() {
    let size = |loaded: &[&str]| schema(&surface(loaded), &[], (3, 3)).to_string().len();
    assert!(size(&["files"]) < 16 << 10 && size(ALL) < 28 << 10, "{} and {} bytes", size(&["files"]), size(ALL));
}

#[test]
fn a_secret_is_one_of_those_that_a_loaded_tool_takes() {
    let of = |loaded: &[&str]| schema(&surface(loaded), &[], (3, 3)).to_string();
    assert!(!of(&["files"]).contains("$secret"), "no loaded tool takes one");
    assert!(of(&["network"]).contains(r#""$secret":{"enum":["token"],"type":"string"}"#));
}
