//! How systems of this kind failed, as regressions that are not covered beside the code they concern.

use countersign_plan::verdict::{Code, Decision};
use countersign_policy::facts::{AsWritten, Known};
use serde_json::json;

use crate::world::{World, codes, is, machine};

use Decision::{Allow, Block, RequireApproval as Ask};

#[test]
fn lesson_05_proc_is_never_an_ordinary_read() {
    let world = World::with_policy("allow: [{name: all, action_types: [read_file], paths: ['/**']}]");
    for path in ["/proc/self/environ", "/proc/1/mem", "/PROC/self/environ/../environ", "/sys/class", "/dev/mem"] {
        let review = world.act("read_file", json!({"path": path}));
        if path.starts_with("/PROC") {
            // Another name on a case-sensitive file system; nothing is there.
            continue;
        }
        is(&review, Ask, Code::ResourceKernel, path);
    }
    let copy = world.act("copy_file", json!({"source": "/proc/self/environ", "destination": "x"}));
    is(&copy, Ask, Code::ResourceKernel, "a copy reads");
}

#[test]
fn lesson_07_nothing_runs_by_name_alone() {
    let world = World::with_policy("allow: [{name: safe, action_types: [run_program, execute_command, git]}]");
    for argv in [
        json!(["python3", "-c", "import os"]),
        json!(["git", "-c", "core.fsmonitor=x", "status"]),
        json!(["./git", "status"]),
        json!(["man", "-P", "sh", "ls"]),
    ] {
        assert_eq!(world.act("run_program", json!({"argv": argv.clone()})).decision, Ask, "{argv}");
    }
    for command in ["ls\nrm -rf x", "VAR=x ls", "command rm x"] {
        assert_eq!(world.act("execute_command", json!({"command": command})).decision, Ask, "{command}");
    }
}

#[test]
fn lesson_09_resources_are_where_the_manifest_says() {
    let world = World::with_policy("deny: [{name: no, action_types: ['*'], paths: ['~/vault/**']}]");
    let nested = world.act(
        "send_email",
        json!({"to": "user@company.example", "subject": "", "body": "", "attachments": ["a", "~/vault/x"]}),
    );
    is(&nested, Block, Code::PolicyDeny, "inside a list");
    // A key that only looks like a path's is data.
    let data = world.act("read_calendar", json!({"to": "team", "path": "~/vault/x"}));
    assert_eq!(data.decision, Allow);
}

#[test]
fn lesson_10_a_recursive_action_meets_what_is_denied_below_its_root() {
    let rules = "deny: [{name: no, action_types: ['*'], paths: ['src/main.rs', '**/.env']}]";
    let world = World::with_policy(rules);
    let listed = world.act("search_files", json!({"pattern": "x", "path": "."}));
    assert_eq!(listed.decision, Allow, "{:?}", listed.reasons);
    assert_eq!(listed.steps[0].masked, ["/home/user/project/app/.env", "/home/user/project/src/main.rs"]);
    for (action, args) in [
        ("delete_directory", json!({"path": "src"})),
        ("move_file", json!({"source": "src", "destination": "lib"})),
        ("copy_file", json!({"source": "src", "destination": "lib"})),
    ] {
        let review = world.act_for("Delete and move it", action, args);
        is(&review, Block, Code::PolicyDeny, action);
        assert_eq!(review.rule.as_deref(), Some("no"));
    }
    let calm = world.act_for("Clean the build", "delete_directory", json!({"path": "build"}));
    assert_eq!(calm.decision, Allow);
    // Where nothing can be listed, what hangs below by name is known all the same.
    let mut world = World::with_policy(rules);
    world.facts = Box::new(AsWritten);
    is(&world.act_for("Clean", "delete_directory", json!({"path": "src"})), Block, Code::PolicyDeny, "as written");
    // Where the listing stops, people decide.
    let mut world = World::new();
    world.facts = Box::new(Known { cut: true, ..machine() });
    is(&world.act("search_files", json!({"pattern": "x", "path": "."})), Ask, Code::ResourceUnresolved, "cut");
}

#[test]
fn lesson_10_a_copy_of_a_restricted_file_is_a_read_of_it() {
    let world = World::new();
    for source in ["app/.env", "link", "app"] {
        let review = world.act("copy_file", json!({"source": source, "destination": "plain.txt"}));
        is(&review, Ask, Code::ResourceRestricted, source);
    }
}

#[test]
fn lesson_11_case_and_links_do_not_hide() {
    let world = World::new();
    for path in ["app/.ENV", "App/.Env", "link", "~/.SSH/x"] {
        is(&world.act("read_file", json!({"path": path})), Ask, Code::ResourceRestricted, path);
    }
    is(
        &world.act("write_file", json!({"path": "out/x", "content": ""})),
        Ask,
        Code::ResourceOutside,
        "through a folder link",
    );
}

#[test]
fn lesson_12_what_is_not_known_blocks() {
    let world = World::with_policy("allow: [{name: all, action_types: ['*']}]");
    for tool in ["authenticate", "concatenate", "read_file2", "Read_file"] {
        is(&world.act(tool, json!({"path": "x"})), Block, Code::ToolUnknown, tool);
    }
}

#[test]
fn lesson_14_a_rule_that_cannot_be_evaluated_blocks() {
    for rules in [
        "deny: [{name: bad, action_types: [read_file], when: 'args.missing == 1.0'}]",
        "verify: [{name: bad, action_types: [read_file], when: 'args.path > 1.0'}]",
        "allow: [{name: bad, action_types: [read_file], when: 'args.path'}]",
    ] {
        let review = World::with_policy(rules).act("read_file", json!({"path": "src/main.rs"}));
        is(&review, Block, Code::PolicyDiagnostic, rules);
        assert_eq!(review.rule.as_deref(), Some("bad"));
        // Of candidates only: another tool is not held up.
        assert_eq!(World::with_policy(rules).act("list_directory", json!({"path": "."})).decision, Allow);
    }
}

#[test]
fn lesson_15_an_omitted_argument_does_not_skip_its_check() {
    let world =
        World::with_policy("deny: [{name: far, action_types: [grant_role], when: 'args.subject != \"guest\"'}]");
    is(&world.act("grant_role", json!({"to": "eve"})), Block, Code::PolicyDiagnostic, "omitted");
    is(&world.act("grant_role", json!({"to": "eve", "subject": "admin"})), Block, Code::PolicyDeny, "other");
    assert_eq!(world.act("grant_role", json!({"to": "eve", "subject": "guest"})).decision, Ask);
}

#[test]
fn lesson_18_odd_spellings_of_an_address_are_that_address() {
    let world = World::with_policy("deny: [{name: no, action_types: ['*'], hosts: [10.0.0.7]}]");
    for url in
        ["http://10.0.0.7/", "http://0xa000007/", "http://012.0.0.7/", "http://[::ffff:10.0.0.7]/", "http://167772167/"]
    {
        is(&world.act("http_request", json!({"method": "GET", "url": url})), Block, Code::PolicyDeny, url);
    }
}

#[test]
fn lesson_20_drift_is_seen_at_the_permit() {
    let world = World::with_policy("deny: [{name: cap, action_types: [send_money], when: 'args.amount > 10.0'}]");
    let steps = json!([
        {"id": "r", "action": "inbox", "args": {"to": "x"}},
        {"id": "p", "action": "send_money", "args": {"to": "DE1", "amount": {"$from": "r", "at": "/id"}}},
    ]);
    let planned = world.steps(steps.clone());
    is(&planned, Ask, Code::PolicyDeny, "a rule that may deny once the amount is known");
    let (review, found) = world.again(steps.clone(), "p", json!({"to": "DE1", "amount": 99}));
    assert_eq!(review.decision, Block);
    assert!(found.contains(&Code::PolicyDeny));
    let (review, _) = world.again(steps.clone(), "p", json!({"to": "DE1", "amount": 10}));
    assert_eq!(review.decision, Ask, "a payment asks");
    let (review, found) = world.again(steps, "p", json!({"to": "DE1"}));
    assert_eq!((review.decision, found.contains(&Code::PolicyDiagnostic)), (Block, true), "a missing amount");
}

#[test]
fn lesson_25_what_asks_is_no_block() {
    let review = World::new().act("run_program", json!({"argv": ["cargo", "test"]}));
    assert_eq!(review.decision, Ask);
    assert!(codes(&review).iter().all(|code| *code == Code::ExecuteUnanalysed));
    assert!(review.reasons.iter().all(|r| r.decision != Block));
}
