//! The built-in manifest, and manifests that must not load.

use serde_json::{Value, json};

use super::{Effect, Manifest};
use crate::value::Expr;

fn definition() -> Value {
    json!({
        "name": "pay", "description": "Pay", "effect": "pay", "reversibility": "irreversible",
        "args": {"type": "object", "additionalProperties": false, "required": ["to", "amount"],
                 "properties": {"to": {"type": "string"}, "amount": {"type": "number", "exclusiveMinimum": 0}}},
        "target": {"kind": "account", "arg": "/to"}, "controls": ["/to", "/amount"],
        "output": {"trust": "system", "secrecy": "internal"}, "driver": "none"
    })
}

#[test]
fn the_built_in_tools_are_those_of_the_contract() {
    let manifest = Manifest::builtin().unwrap();
    let names: Vec<&str> = manifest.iter().map(|t| t.definition().name.as_str()).collect();
    assert_eq!(
        names,
        [
            "append_file",
            "copy_file",
            "create_directory",
            "database_query",
            "delete_directory",
            "delete_file",
            "execute_command",
            "git",
            "http_request",
            "list_directory",
            "mcp_describe",
            "memory_read",
            "memory_write",
            "move_file",
            "read_file",
            "run_program",
            "search_files",
            "send_email",
            "send_message",
            "write_file"
        ]
    );
    assert_eq!(manifest.get(&"delete_directory".parse().unwrap()).unwrap().definition().effect, Effect::Delete);
}

#[test]
fn lesson_21_arguments_are_compared_with_the_schema() {
    let mut manifest = Manifest::default();
    manifest.extend(vec![definition()]).unwrap();
    let pay = manifest.get(&"pay".parse().unwrap()).unwrap();
    assert!(pay.arguments().check(&json!({"to": "x", "amount": 10})).is_ok());
    for wrong in [
        json!({"to": "x"}),
        json!({"to": "x", "amount": 0}),
        json!({"to": "x", "amount": 1, "cc": "y"}),
        json!({"to": 1, "amount": 1}),
    ] {
        assert!(pay.arguments().check(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_hole_is_left_to_the_permit_and_nothing_else_is() {
    let mut manifest = Manifest::default();
    manifest.extend(vec![definition()]).unwrap();
    let check = |args: Value| {
        let tool = manifest.get(&"pay".parse().unwrap()).unwrap();
        tool.arguments().check_with_holes(&Expr::from_value(&args).unwrap())
    };
    assert!(check(json!({"to": "x", "amount": {"$from": "s1", "at": "/n"}})).is_ok());
    assert!(check(json!({"to": {"$from": "s1", "at": "/n"}})).is_err());
    assert!(check(json!({"to": 1, "amount": {"$from": "s1", "at": "/n"}})).is_err());
    assert!(check(json!({"to": "x", "amount": {"$from": "s1"}, "cc": {"$from": "s1"}})).is_err());
}

#[test]
fn what_a_hole_may_still_mend_is_left_to_the_permit() {
    let mut tool = definition();
    tool["controls"] = json!(["/to"]);
    tool["args"] = json!({"type": "object", "required": ["to"],
        "properties": {"to": {"type": "string"}, "tags": {"type": "array", "contains": {"const": "x"}}},
        "if": {"properties": {"to": {"const": "a"}}},
        "then": {"$ref": "#/$defs/one"}, "else": {"properties": {"n": {"maximum": 0}}},
        "$defs": {"one": {"properties": {"n": {"maximum": 1}}}}});
    let mut manifest = Manifest::default();
    manifest.extend(vec![tool]).unwrap();
    let arguments = manifest.get(&"pay".parse().unwrap()).unwrap().arguments();
    let check = |args: Value| arguments.check_with_holes(&Expr::from_value(&args).unwrap());
    assert!(arguments.check(&json!({"to": "a", "n": 1, "tags": ["x"]})).is_ok());
    assert!(check(json!({"to": {"$input": "to"}, "n": 1, "tags": [{"$input": "tag"}]})).is_ok());
    assert!(check(json!({"to": "b", "n": 1})).is_err());
    assert!(check(json!({"to": "a", "tags": ["y"]})).is_err());
}

#[test]
fn manifests_that_contradict_themselves_do_not_load() {
    let broken: [(&str, Value); 7] = [
        ("/effect", json!("destroy")),
        ("/controls", json!(["/nobody"])),
        ("/reversibility", json!("pure")),
        ("/args", json!({"type": "array"})),
        ("/exposes", json!(true)),
        ("/surprise", json!(1)),
        ("/driver", json!({"command": {"argv": ["{to}"]}})),
    ];
    for (at, value) in broken {
        let mut tool = definition();
        tool.as_object_mut().unwrap().insert(at.trim_start_matches('/').to_owned(), value);
        assert!(Manifest::default().extend(vec![tool]).is_err(), "{at}");
    }
    let mut manifest = Manifest::builtin().unwrap();
    let mut shadow = definition();
    shadow["name"] = json!("read_file");
    assert!(manifest.extend(vec![shadow]).is_err());
    assert!(Manifest::default().extend(vec![definition(), definition()]).is_err());
}

/// INV-10: a command line is no place for a secret, and a tool that sees one says so.
#[test]
fn a_program_is_handed_a_secret_only_where_its_manifest_says_so() {
    let with = |exposes: bool, accepts: Value, driver: Value| {
        let mut tool = definition();
        tool["args"] = json!({"type": "object", "properties": {"to": {"type": "string"}, "amount": {}, "key": {}}});
        tool["effect"] = json!("admin");
        tool["reversibility"] = json!("irreversible");
        for (name, value) in [("accepts_secret", accepts), ("exposes", json!(exposes)), ("driver", driver)] {
            tool[name] = value;
        }
        let mut manifest = Manifest::default();
        manifest.extend(vec![tool]).map(|()| {
            let tool = manifest.get(&"pay".parse().unwrap()).unwrap();
            tool.definition().driver.secrets().iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>()
        })
    };
    let command = |more: Value| {
        let mut driver = json!({"argv": ["deploy", {"arg": "/to"}]});
        driver.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "command": driver })
    };
    let (none, key) = (json!([]), json!(["/key"]));
    for place in [
        json!({"env": {"K": {"arg": "/key"}}}),
        json!({"stdin": {"arg": "/key"}}),
        json!({"files": {"K": {"arg": "/key"}}}),
    ] {
        assert_eq!(with(true, key.clone(), command(place)).unwrap(), Vec::<String>::new());
    }
    let fixed = command(json!({"env": {"K": {"secret": "k"}, "L": "as it stands"}}));
    assert_eq!(with(true, none.clone(), fixed.clone()).unwrap(), ["k"]);
    let server = json!({"mcp": {"server": "s", "tool": "t", "argv": ["serve"], "env": {"K": {"secret": "k"}}}});
    assert_eq!(with(true, none.clone(), server.clone()).unwrap(), ["k"]);
    let auth = json!({"http": {"method": "GET", "url": "https://h.example/", "auth": {"bearer": {"secret": "k"}}}});
    assert_eq!(with(false, none.clone(), auth.clone()).unwrap(), ["k"]);
    for (exposes, accepts, driver) in [
        (false, none.clone(), fixed),
        (false, none.clone(), server),
        (true, none.clone(), auth),
        (true, none.clone(), json!({"builtin": "run_program"})),
        (true, key.clone(), command(json!({}))),
        (true, key, json!({"command": {"argv": ["deploy", {"arg": "/key"}]}})),
        (true, none.clone(), command(json!({"env": {"not a name": "x"}}))),
        (true, none.clone(), command(json!({"env": {"K": "x"}, "files": {"K": "y"}}))),
        (true, none.clone(), command(json!({"env": {"K": {"arg": "/nobody"}}}))),
        (true, none, command(json!({"env": {"K": {"secret": "k", "more": 1}}}))),
    ] {
        assert!(with(exposes, accepts, driver.clone()).is_err(), "{driver}");
    }
}

#[test]
fn what_hides_in_a_schema_is_shown_by_the_refusal() {
    let mut tool = definition();
    tool["args"]["properties"]["to"] = json!({"type": "number\u{feff}"});
    let error = Manifest::default().extend(vec![tool.clone()]).unwrap_err().to_string();
    tool["args"]["properties"]["to"] = json!({"additionalProperties": {"type": "string"}});
    let mut manifest = Manifest::default();
    manifest.extend(vec![tool]).unwrap();
    let arguments = manifest.get(&"pay".parse().unwrap()).unwrap().arguments();
    let argument = arguments.check(&json!({"to": {"a\u{202e}": 1}, "amount": 1})).unwrap_err().to_string();
    assert!(argument.starts_with("/to/a\\u{202e}: ") && crate::text::check_visible(&argument).is_ok(), "{argument}");
    assert!(error.contains("\\u{feff}") && crate::text::check_visible(&error).is_ok(), "{error}");
}

#[test]
fn a_definition_is_pinned_by_every_word_of_it() {
    let digest = |tool: Value| {
        let mut manifest = Manifest::default();
        manifest.extend(vec![tool]).unwrap();
        manifest.digest()
    };
    let mut renamed = definition();
    renamed["description"] = json!("Pay!");
    assert_ne!(digest(definition()), digest(renamed));
    // What was asked for before is not what holds afterwards.
    let mut manifest = Manifest::default();
    let empty = manifest.digest();
    manifest.extend(vec![definition()]).unwrap();
    assert_ne!(manifest.digest(), empty);
    assert_eq!(manifest.digest(), digest(definition()));
}
