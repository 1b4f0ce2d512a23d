//! Every row of the default table of FORMATS §5, and what rules change about it.

use countersign_plan::verdict::{Code, Decision};
use countersign_policy::facts::Known;
use serde_json::{Value, json};

use crate::world::{World, codes, is, machine};

fn decisions(world: &World, table: &[(&str, Value, Decision)]) {
    for (action, args, want) in table {
        let review = world.act(action, args.clone());
        assert_eq!(review.decision, *want, "{action} {args}: {:#?}", review.reasons);
    }
}

use Decision::{Allow, Block, RequireApproval as Ask};

#[test]
fn none_and_read_are_allowed_except_as_section_4_says() {
    decisions(
        &World::new(),
        &[
            ("read_file", json!({"path": "src/main.rs"}), Allow),
            ("read_file", json!({"path": "/etc/passwd"}), Allow),
            ("read_file", json!({"path": "~/notes.txt"}), Allow),
            ("list_directory", json!({"path": "."}), Allow),
            ("search_files", json!({"pattern": "x", "path": "src"}), Allow),
            ("memory_read", json!({"key": "k"}), Allow),
            ("read_calendar", json!({"to": "team"}), Allow),
            ("database_query", json!({"database": "data.db", "sql": "SELECT 1"}), Allow),
            ("database_query", json!({"database": "prod-orders", "sql": "SELECT 1"}), Allow),
            ("read_file", json!({"path": "payroll/may.csv"}), Allow),
            ("read_file", json!({"path": "/srv/payroll/may.csv"}), Ask),
            ("read_file", json!({"path": "~/.ssh/id_ed25519"}), Ask),
            ("read_file", json!({"path": "app/.env"}), Ask),
            ("read_file", json!({"path": "link"}), Ask),
            ("read_file", json!({"path": "/tmp/socket"}), Ask),
        ],
    );
}

#[test]
fn create_and_update_are_allowed_in_workspace_and_temporary_folders_if_reversible() {
    let world = World::new();
    decisions(
        &world,
        &[
            ("write_file", json!({"path": "src/main.rs", "content": ""}), Allow),
            ("write_file", json!({"path": "new.txt", "content": ""}), Allow),
            ("append_file", json!({"path": "/tmp/x", "content": ""}), Allow),
            ("create_directory", json!({"path": "new"}), Allow),
            ("copy_file", json!({"source": "src/main.rs", "destination": "src/copy.rs"}), Allow),
            ("move_file", json!({"source": "old.txt", "destination": "new.txt"}), Allow),
            ("database_query", json!({"database": "data.db", "sql": "UPDATE t SET a = 1 WHERE b = 2"}), Allow),
            ("write_file", json!({"path": "~/x", "content": ""}), Ask),
            ("write_file", json!({"path": "out/x", "content": ""}), Ask),
            ("move_file", json!({"source": "old.txt", "destination": "~/old.txt"}), Ask),
            ("move_file", json!({"source": "~/old.txt", "destination": "old.txt"}), Ask),
            ("create_event", json!({"to": "team"}), Ask),
            ("database_query", json!({"database": "staging", "sql": "UPDATE t SET a = 1"}), Ask),
        ],
    );
    let step = json!([{"id": "a", "action": "write_file", "args": {"path": "x", "content": ""}, "rollback": "none"}]);
    is(&world.steps(step), Ask, Code::PlanIrreversible, "no rollback");
}

#[test]
fn delete_is_allowed_in_the_workspace_if_the_goal_asks_and_a_snapshot_can_be_taken() {
    let world = World::new();
    for (goal, path, want) in [
        ("Clean the build folder", "build", Allow),
        ("Build the project", "build", Ask),
        ("Clean my home", "~/old", Ask),
        ("Do not delete anything", "build", Ask),
        ("Delete everything", ".", Block),
    ] {
        let review = world.act_for(goal, "delete_directory", json!({"path": path}));
        assert_eq!(review.decision, want, "{goal} {path}: {:#?}", review.reasons);
    }
    let step = json!([{"id": "a", "action": "delete_file", "args": {"path": "old.txt"}, "rollback": "none"}]);
    let plan = json!({"schema": "countersign.plan/v1", "goal": "Delete old.txt", "steps": step});
    assert_eq!(world.plan(plan).decision, Ask, "no snapshot");
    // The planner's own words are no goal.
    let unasked = countersign_plan::intent::Proposal::from_value(
        json!({"schema": "countersign.intent/v1", "action": "delete_file", "args": {"path": "old.txt"}, "reason": "clean"}),
    );
    let unasked = unasked.unwrap();
    let who = crate::world::Who::user();
    let review = countersign_policy::review::review(&world.request(unasked.draft(), None, &who));
    assert_eq!(review.decision, Ask);
}

#[test]
fn execute_is_allowed_where_all_of_it_is_understood() {
    decisions(
        &World::new(),
        &[
            ("git", json!({"repo": ".", "args": ["status"]}), Allow),
            ("git", json!({"repo": ".", "args": ["commit", "-m", "x"]}), Allow),
            ("git", json!({"repo": "~/elsewhere", "args": ["commit", "-m", "x"]}), Ask),
            ("git", json!({"repo": ".", "args": ["reset", "--hard"]}), Ask),
            ("git", json!({"repo": ".", "args": ["push", "origin", "main"]}), Ask),
            ("git", json!({"repo": ".", "args": ["-c", "core.pager=x", "log"]}), Ask),
            ("git", json!({"repo": ".", "args": ["config", "core.editor", "x"]}), Ask),
            ("run_program", json!({"argv": ["cargo", "test"]}), Ask),
            ("run_program", json!({"argv": ["sudo", "ls"]}), Ask),
            ("run_program", json!({"argv": ["nonesuch"]}), Ask),
            ("execute_command", json!({"command": "ls"}), Ask),
            ("start_agent", json!({"to": "helper"}), Ask),
        ],
    );
}

#[test]
fn send_and_network_by_who_receives() {
    let get = |url: &str| json!({"method": "GET", "url": url});
    let post = |url: &str| json!({"method": "POST", "url": url, "body": "x"});
    let world = World::new();
    decisions(
        &world,
        &[
            ("http_request", get("https://git.company.example/x"), Allow),
            ("http_request", post("https://git.company.example/x"), Allow),
            ("http_request", post("http://git.company.example:2375/containers"), Ask),
            ("http_request", get("https://api.partner.example/x"), Allow),
            ("http_request", post("https://api.partner.example/x"), Ask),
            ("http_request", get("https://unknown.example/x"), Ask),
            ("http_request", get("http://127.0.0.1/"), Ask),
            ("http_request", get("http://10.0.0.7/"), Ask),
            ("send_email", json!({"to": "ap@partner.example", "subject": "", "body": ""}), Ask),
            ("send_message", json!({"channel": "#finance", "body": ""}), Ask),
            ("connect", json!({"to": "git.company.example:22"}), Ask),
        ],
    );
    // A message cannot be taken back, so it asks; to whom is a reason of its own only for strangers.
    let listed = world.act("send_message", json!({"channel": "#finance", "body": ""}));
    assert_eq!(codes(&listed), [Code::PlanIrreversible]);
    let stranger = world.act("send_message", json!({"channel": "#elsewhere", "body": ""}));
    assert!(codes(&stranger).contains(&Code::HostUnknown));
    let named =
        world.act_for("Tell #elsewhere that we ship", "send_message", json!({"channel": "#elsewhere", "body": ""}));
    assert!(!codes(&named).contains(&Code::HostUnknown));
}

#[test]
fn pay_and_admin_ask_whatever_rules_allow() {
    let world = World::with_policy("allow: [{name: all, action_types: ['*']}]");
    decisions(
        &world,
        &[
            ("send_money", json!({"to": "DE1", "amount": 1}), Ask),
            ("grant_role", json!({"to": "eve"}), Ask),
            ("send_email", json!({"to": "ap@partner.example", "subject": "", "body": ""}), Ask),
            ("read_file", json!({"path": "~/.ssh/id_ed25519"}), Ask),
            ("execute_command", json!({"command": "ls"}), Ask),
            ("run_program", json!({"argv": ["cargo", "test"]}), Ask),
            // What only asked by default is allowed.
            ("write_file", json!({"path": "~/x", "content": ""}), Allow),
            ("http_request", json!({"method": "GET", "url": "https://unknown.example/x"}), Allow),
            ("delete_file", json!({"path": "old.txt"}), Allow),
        ],
    );
    let argv = World::with_policy(
        "allow: [{name: tests, action_types: [run_program], when: 'args.argv == [\"cargo\", \"test\"]'}]",
    );
    decisions(
        &argv,
        &[
            ("run_program", json!({"argv": ["cargo", "test"]}), Allow),
            ("run_program", json!({"argv": ["cargo", "run"]}), Ask),
            ("run_program", json!({"argv": ["cargo", "test"], "env": {"LD_PRELOAD": "x.so"}}), Ask),
        ],
    );
}

#[test]
fn an_unknown_tool_blocks() {
    is(&World::new().act("frobnicate", json!({})), Block, Code::ToolUnknown, "unknown tool");
}

#[test]
fn deny_beats_verify_beats_allow() {
    let rules = "
deny: [{name: no, action_types: [delete_file], paths: ['secret/**']}]
verify: [{name: look, action_types: ['effect:delete'], tier: 3, approvers: {group: ops, quorum: 2}}]
allow: [{name: yes, action_types: [delete_file, write_file], paths: ['**']}]";
    let world = World::with_policy(rules);
    let denied = world.act("delete_file", json!({"path": "secret/x"}));
    is(&denied, Block, Code::PolicyDeny, "deny");
    assert_eq!(denied.rule.as_deref(), Some("no"));
    assert!(denied.quorums.is_empty());
    let verified = world.act("delete_file", json!({"path": "old.txt"}));
    is(&verified, Ask, Code::PolicyVerify, "verify");
    assert_eq!(verified.quorums[0].group.as_deref(), Some("ops"));
    assert_eq!(verified.quorums[0].quorum, 2);
    assert_eq!(verified.tier, 3);
    let allowed = world.act("write_file", json!({"path": "~/x", "content": ""}));
    assert_eq!((allowed.decision, allowed.rule.as_deref()), (Allow, Some("yes")));
}

#[test]
fn several_paths_deny_on_any_and_allow_on_all() {
    let deny = World::with_policy("deny: [{name: no, action_types: [copy_file], paths: ['~/vault/**']}]");
    for args in [
        json!({"source": "~/vault/a", "destination": "a"}),
        json!({"source": "a", "destination": "~/vault/a"}),
        json!({"source": "a", "destination": "~/VAULT/a"}),
    ] {
        is(&deny.act("copy_file", args), Block, Code::PolicyDeny, "any");
    }
    let allow = World::with_policy("allow: [{name: yes, action_types: [copy_file], paths: ['~/free/**']}]");
    for (destination, want) in [("~/free/b", Allow), ("~/other/b", Ask), ("~/FREE/b", Ask)] {
        let review = allow.act("copy_file", json!({"source": "~/free/a", "destination": destination}));
        assert_eq!(review.decision, want, "{destination}");
    }
}

#[test]
fn an_effect_of_a_rule_is_tied_to_its_own_path() {
    let world = World::with_policy("deny: [{name: keep, action_types: ['effect:delete'], paths: ['src/**']}]");
    is(
        &world.act("move_file", json!({"source": "src/a.rs", "destination": "a.rs"})),
        Block,
        Code::PolicyDeny,
        "source",
    );
    assert_eq!(world.act("move_file", json!({"source": "a.rs", "destination": "src/a.rs"})).decision, Allow);
}

#[test]
fn amount_limits_hold_for_the_sum_per_payee() {
    let world = World::with_policy(
        "verify: [{name: large, action_types: ['effect:pay'], when: 'args.amount > 500.0', approvers: {group: finance, quorum: 2}}]",
    );
    let pay = |id: &str, to: &str, amount: Value| json!({"id": id, "action": "send_money", "args": {"to": to, "amount": amount}});
    let large = |steps: Value| codes(&world.steps(steps)).contains(&Code::PolicyVerify);
    assert!(!large(json!([pay("a", "DE1", json!(400))])));
    assert!(large(json!([pay("a", "DE1", json!(501))])));
    assert!(large(json!([pay("a", "DE1", json!(300)), pay("b", "de1", json!(300))])), "split");
    assert!(!large(json!([pay("a", "DE1", json!(300)), pay("b", "DE2", json!(300))])), "two payees");
    assert!(large(json!([pay("a", "DE1", json!(501)), pay("b", "DE1", json!(-300))])), "taken off again");
    let open = json!([
        {"id": "r", "action": "inbox", "args": {"to": "x"}},
        pay("a", "DE1", json!({"$from": "r", "at": "/id"})),
    ]);
    assert!(large(open), "open amount");
}

/// What is too large for a snapshot cannot be put back, so people decide.
#[test]
fn what_fits_no_snapshot_is_irreversible() {
    let mut world = World::new();
    let clean = json!({"path": "build"});
    assert_eq!(world.act_for("Clean the build", "delete_directory", clean.clone()).decision, Allow);
    world.facts = Box::new(Known { large: vec!["/home/user/project/build".to_owned()], ..machine() });
    let review = world.act_for("Clean the build", "delete_directory", clean);
    is(&review, Ask, Code::PlanIrreversible, "large");
    assert!(review.steps[0].irreversible);
}
