//! What needs no monitor, and what happens where none answers.

use std::os::unix::fs::PermissionsExt as _;

use crate::fake::{Place, plan_file};

#[test]
fn no_monitor_is_said_with_what_starts_one() {
    let place = Place::new();
    let ran = place.run(&["status"]).expect(1);
    assert!(ran.err().contains("`countersign up` starts one"), "{}", ran.err());
    let ran = place.run(&["down", "--json"]).expect(1);
    assert_eq!(ran.json()["error"]["code"], "internal.error");
}

#[test]
fn a_folder_of_sockets_that_others_can_enter_is_not_used() {
    let place = Place::with(crate::fake::deciding(countersign_plan::verdict::Decision::Allow, "completed"));
    std::fs::set_permissions(place.path("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = place.run(&["check", &plan_file(&place)]).expect(20);
    assert!(ran.err().contains("chmod 700"), "{}", ran.err());
    assert!(place.asked().is_empty(), "nothing was sent");
}

#[test]
fn a_document_that_cannot_be_read_is_wrong_usage() {
    let place = Place::new();
    for words in [["check", "nowhere.yaml"], ["check", "/"], ["run", "nowhere.yaml"]] {
        place.run(&words).expect(2);
    }
    let large = place.write("large.json", &"x".repeat((1 << 20) + 1));
    let ran = place.run(&["check", large.to_str().unwrap()]).expect(2);
    assert!(ran.err().contains("more than 1048576 bytes"), "{}", ran.err());
}

#[test]
fn init_writes_two_files_and_overwrites_none() {
    let place = Place::new();
    place.run(&["init"]).expect(0);
    let mut found: Vec<String> =
        std::fs::read_dir(place.path("work")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, ["countersign.yaml", "policy.yaml"]);
    place.run(&["init"]).expect(2);
    std::fs::remove_file(place.path("work").join("policy.yaml")).unwrap();
    place.run(&["init"]).expect(2);
    assert!(!place.path("work").join("policy.yaml").exists(), "all or nothing");
}

#[test]
fn the_tools_and_the_completions_need_no_monitor() {
    let place = Place::new();
    let tools = place.run(&["tools", "list", "--json"]).expect(0).json();
    let names: Vec<&str> = tools["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["read_file", "run_program", "execute_command", "git"] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    place.run(&["tools", "show", "read_file"]).expect(0);
    place.run(&["tools", "show", "nothing"]).expect(2);
    let script = place.run(&["completions", "bash"]).expect(0);
    assert!(script.out().contains("countersign"));
}

/// The schemas under `schema/` are what the types say.
#[test]
fn the_schemas_that_are_checked_in_are_current() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema");
    Place::new().run(&["schema", "--check", folder]).expect(0);
}

#[test]
fn a_policy_is_linted_tried_and_explained_without_a_monitor() {
    let place = Place::new();
    place.write(
        "policy.yaml",
        "schema: countersign.policy/v1\ndeny: [{name: logs, action_types: [read_file], paths: ['*.log']}]\n",
    );
    assert_eq!(place.run(&["policy", "lint", "policy.yaml", "--json"]).expect(0).json()["deny"], 1);
    place.write(
        "bad.yaml",
        "schema: countersign.policy/v1\ndeny: [{name: x, action_types: [read_file], when: 'args.'}]\n",
    );
    let ran = place.run(&["policy", "lint", "bad.yaml"]).expect(2);
    assert!(ran.out().contains("/deny/0/when"), "{}", ran.out());
    place.write("misspelt.yaml", "schema: countersign.policy/v1\ndeny: [{name: x, action_types: [raed_file]}]\n");
    assert!(place.run(&["policy", "lint", "misspelt.yaml"]).expect(0).out().contains("raed_file"));

    let intent = r#"{"schema":"countersign.intent/v1","action":"read_file","args":{"path":"a.log"}}"#;
    place.write("intent.json", intent);
    let ran = place.run(&["policy", "explain", "intent.json", "--policy", "policy.yaml"]).expect(20);
    assert!(ran.out().contains("policy.deny") && ran.out().contains("rule logs"), "{}", ran.out());
    place.run(&["policy", "explain", "intent.json", "--json"]).expect(0);

    place.write(
        "goal.yaml",
        "schema: countersign.policy/v1\ngoal: [{name: asked_only, findings: ['goal.*'], decision: block}]\n",
    );
    assert_eq!(place.run(&["policy", "lint", "goal.yaml", "--json"]).expect(0).json()["goal"], 1);
    let plan = r#"{"schema":"countersign.plan/v1","goal":"Summarise the notes","steps":[{"id":"tell","action":"send_message","args":{"channel":"ops","body":"x"}}]}"#;
    place.write("tells.json", plan);
    let ran = place.run(&["policy", "explain", "tells.json", "--policy", "goal.yaml"]).expect(20);
    assert!(ran.out().contains("goal asked_only") && ran.out().contains("goal.unasked"), "{}", ran.out());

    let cases = |expect: &str| {
        format!(
            "schema: countersign.policy-tests/v1\ncases:\n  - {{name: log, action: read_file, args: {{path: a.log}}, expect: {expect}}}\n"
        )
    };
    place.write("right.yaml", &cases("block"));
    place.write("wrong.yaml", &cases("allow"));
    place.write("none.yaml", "schema: countersign.policy-tests/v1\ncases: []\n");
    place.run(&["policy", "test", "policy.yaml", "--cases", "right.yaml"]).expect(0);
    let ran = place.run(&["policy", "test", "policy.yaml", "--cases", "wrong.yaml"]).expect(20);
    assert!(ran.out().contains("expected allow, decided block"), "{}", ran.out());
    place.run(&["policy", "test", "policy.yaml", "--cases", "none.yaml"]).expect(2);
}

/// A deployment that comes with the workspace cannot loosen; `explain` says what it left out.
#[test]
fn explaining_leaves_out_what_an_untrusted_workspace_file_would_loosen() {
    let place = Place::new();
    place.write("countersign.yaml", "schema: countersign.deployment/v1\npolicy: policy.yaml\n");
    place.write("policy.yaml", "schema: countersign.policy/v1\nallow: [{name: all, action_types: ['*']}]\n");
    let intent = r#"{"schema":"countersign.intent/v1","action":"delete_directory","args":{"path":"/srv/x"}}"#;
    place.write("intent.json", intent);
    let ran = place.run(&["policy", "explain", "intent.json", "--json"]);
    assert_ne!(ran.code(), 0, "{}", ran.out());
    let ran = ran.json();
    assert_eq!(ran["ignored"][0]["pointer"], "/allow/0", "{ran}");
}
