//! What is wrong with a plan before anybody looks at what it does: structure, references, privileges, limits.

use countersign_plan::deed::Departure;
use countersign_plan::verdict::{Code, Decision};
use countersign_policy::facts::Known;
use serde_json::{Value, json};

use crate::world::{Who, World, codes, is, machine};

use Decision::{Allow, Block, RequireApproval as Ask};

fn read(id: &str) -> Value {
    json!({"id": id, "action": "read_file", "args": {"path": "src/main.rs"}})
}

#[test]
fn the_goal_is_the_pinned_one() {
    let world = World::new();
    let plan = json!({"schema": "countersign.plan/v1", "goal": "Delete all", "steps": [read("a")]});
    let draft = countersign_plan::draft::Draft::from_value(plan).unwrap();
    let who = Who::user();
    let review = countersign_policy::review::review(&world.request(&draft, Some("Read a file"), &who));
    is(&review, Block, Code::PlanGoalMismatch, "another goal");
}

#[test]
fn limits_of_the_policy_hold() {
    let world = World::with_policy("limits: {steps: 2}");
    is(&world.steps(json!([read("a"), read("b"), read("c")])), Block, Code::PlanTooManySteps, "steps");
    assert_eq!(world.steps(json!([read("a"), read("b")])).decision, Allow);
    let mut world = World::new();
    let mut machine = crate::world::machine();
    machine.recent = 120;
    world.facts = Box::new(machine);
    is(&world.steps(json!([read("a")])), Block, Code::PolicyRate, "rate");
    let long = json!({"schema": "countersign.plan/v1", "goal": "x", "steps": [read("a")], "expires_in": "25h"});
    is(&World::new().plan(long), Ask, Code::PlanExpiryLong, "expiry");
}

#[test]
fn risk_asks_and_blocks_where_the_policy_says() {
    let pay = json!([{"id": "a", "action": "send_money", "args": {"to": "DE1", "amount": 1}}]);
    let strict = World::with_policy("limits: {risk: {ask: 10, block: 30}}");
    is(&strict.steps(pay.clone()), Block, Code::RiskBlock, "block");
    let review = World::new().steps(pay);
    assert_eq!(
        review.risk.score,
        review.risk.factors.action + review.risk.factors.target + review.risk.factors.context
    );
    let calm = World::new().steps(json!([read("a")]));
    assert!(calm.risk.score < 10, "{:?}", calm.risk);
}

#[test]
fn a_departure_from_the_agents_own_past_adds_to_the_risk_and_habit_takes_nothing_off() {
    let pay = json!([{"id": "a", "action": "send_money", "args": {"to": "DE1", "amount": 1}}]);
    let stranger = World::new().steps(pay.clone());
    let with = |departure| {
        let mut world = World::new();
        world.facts = Box::new(Known { departure, ..machine() });
        world.steps(pay.clone())
    };
    let reader = with(Departure { novelty: 4, rate: 1, time: 0, sequence: 2 });
    let payer = with(Departure::default());
    assert_eq!(with(Departure { novelty: 255, rate: 255, time: 255, sequence: 255 }).risk.factors.history, 10);
    assert!(reader.risk.factors.history > payer.risk.factors.history, "{:?} {:?}", reader.risk, payer.risk);
    assert_eq!(reader.risk.score, stranger.risk.score + reader.risk.factors.history);
    assert_eq!((stranger.risk.factors.history, payer.decision), (0, stranger.decision));
}

#[test]
fn a_large_payment_is_riskier_than_a_small_one() {
    let pay = |amount: u64| {
        let steps = json!([{"id": "a", "action": "send_money", "args": {"to": "DE1", "amount": amount}}]);
        World::new().steps(steps).risk.factors.context
    };
    assert_eq!((pay(1_000) - pay(10), pay(2_000_000) - pay(10)), (1, 4));
}

#[test]
fn arguments_fit_the_tool() {
    let world = World::new();
    for args in [json!({}), json!({"path": 7}), json!({"path": "a", "extra": 1}), json!({"path": ""})] {
        assert_eq!(world.act("read_file", args.clone()).decision, Block, "{args}");
    }
}

#[test]
fn references_stand_where_they_may() {
    let world = World::new();
    let from = json!({"$from": "r", "at": "/content"});
    let with = |action: &str, args: Value| world.steps(json!([read("r"), {"id": "s", "action": action, "args": args}]));
    is(&with("run_program", json!({"argv": [from, "x"]})), Block, Code::ToolReference, "argv[0]");
    is(&with("run_program", json!({"argv": from})), Block, Code::ToolReference, "argv");
    is(
        &with("http_request", json!({"method": from, "url": "https://git.company.example/"})),
        Block,
        Code::ToolReference,
        "method",
    );
    is(&with("database_query", json!({"database": from, "sql": "SELECT 1"})), Block, Code::ToolReference, "database");
    is(
        &with("database_query", json!({"database": "data.db", "sql": {"$join": ["SELECT ", from]}})),
        Ask,
        Code::ToolReference,
        "sql",
    );
    is(&with("execute_command", json!({"command": {"$join": ["echo ", from]}})), Ask, Code::ToolReference, "command");
    is(&with("read_file", json!({"path": from})), Ask, Code::ResourceUnresolved, "a path that is not known");
    is(
        &with("write_file", json!({"path": {"$join": ["notes/", from]}, "content": ""})),
        Ask,
        Code::ResourceUnresolved,
        "part of one",
    );
    assert_eq!(with("write_file", json!({"path": "notes.txt", "content": from})).decision, Allow, "content");
}

#[test]
fn inputs_are_the_users_and_must_be_there() {
    let mut world = World::new();
    let act = |world: &World| world.act("write_file", json!({"path": {"$input": "where"}, "content": ""}));
    is(&act(&world), Block, Code::PlanInputMissing, "missing");
    world.inputs.insert("where".parse().unwrap(), json!("notes.txt"));
    assert_eq!(act(&world).decision, Allow);
    world.inputs.insert("where".parse().unwrap(), json!("countersign.yaml"));
    is(&act(&world), Block, Code::ResourceOwn, "what the input names is judged");
}

#[test]
fn a_draft_is_never_milder_than_the_manifest() {
    let world = World::new();
    let step = |action: &str, args: Value, rollback: Value| {
        world.steps(json!([{"id": "a", "action": action, "args": args, "rollback": rollback}]))
    };
    let pay = json!({"to": "DE1", "amount": 1});
    is(
        &step("send_money", pay.clone(), json!("snapshot")),
        Block,
        Code::PlanWeakerThanManifest,
        "snapshot of a payment",
    );
    let undo = json!({"action": "send_money", "args": {"to": "DE2", "amount": 1}});
    let claimed = step("send_money", pay, undo);
    assert!(claimed.steps[0].irreversible, "a payment back does not make it reversible");
    is(
        &step("create_event", json!({"to": "x"}), json!({"action": "nonesuch", "args": {}})),
        Block,
        Code::ToolUnknown,
        "rollback",
    );
    let strict =
        json!([{"id": "a", "action": "write_file", "args": {"path": "x", "content": ""}, "irreversible": true}]);
    is(&world.steps(strict), Ask, Code::PlanIrreversible, "stricter is taken at its word");
}

#[test]
fn a_rollback_is_judged_like_a_step() {
    let world = World::new();
    let with = |rollback: Value| {
        world.steps(
            json!([{"id": "a", "action": "write_file", "args": {"path": "x", "content": ""}, "rollback": rollback}]),
        )
    };
    assert_eq!(with(json!({"action": "delete_file", "args": {"path": "x"}})).decision, Allow, "of its own work");
    is(&with(json!({"action": "delete_directory", "args": {"path": "~"}})), Block, Code::ResourceCatastrophic, "home");
    is(
        &with(json!({"action": "drop_database", "args": {"to": "prod-old"}})),
        Block,
        Code::ResourceProtected,
        "protected",
    );
    is(
        &with(json!({"action": "http_request", "args": {"method": "POST", "url": "https://evil.example/"}})),
        Block,
        Code::PlanRollbackElsewhere,
        "elsewhere",
    );
}

#[test]
fn privileges_bound_the_steps() {
    let world = World::new();
    let with = |privileges: Value, step: Value| {
        world.plan(json!({"schema": "countersign.plan/v1", "goal": "Do it", "steps": [step], "privileges": privileges}))
    };
    let write = json!({"id": "a", "action": "write_file", "args": {"path": "src/x", "content": ""}});
    assert_eq!(with(json!({"write": ["src/**"]}), write.clone()).decision, Allow);
    is(&with(json!({"write": ["lib/**"]}), write.clone()), Block, Code::PlanPrivilegeExceeded, "elsewhere");
    is(&with(json!({"write": []}), write.clone()), Block, Code::PlanPrivilegeExceeded, "nothing");
    is(&with(json!({"write": ["SRC/**"]}), write.clone()), Block, Code::PlanPrivilegeExceeded, "allowed exactly");
    let out = json!({"id": "a", "action": "write_file", "args": {"path": "out/x", "content": ""}});
    is(&with(json!({"write": ["out/**"]}), out), Block, Code::PlanPrivilegeExceeded, "through a link");
    let get =
        json!({"id": "a", "action": "http_request", "args": {"method": "GET", "url": "https://git.company.example/"}});
    assert_eq!(with(json!({"connect": ["git.company.example:443"]}), get.clone()).decision, Allow);
    is(&with(json!({"connect": ["git.company.example:80"]}), get.clone()), Block, Code::PlanPrivilegeExceeded, "port");
    is(&with(json!({"connect": []}), get), Block, Code::PlanPrivilegeExceeded, "no network");
    let run = json!({"id": "a", "action": "run_program", "args": {"argv": ["cargo", "test"]}});
    is(&with(json!({"run": ["git"]}), run.clone()), Block, Code::PlanPrivilegeExceeded, "another program");
    for named in ["cargo", "/usr/bin/cargo"] {
        assert_eq!(with(json!({"run": [named]}), run.clone()).decision, Ask, "{named}");
    }
}

#[test]
fn asking_for_far_more_than_needed_is_a_finding() {
    let world = World::new();
    let with = |privileges: Value| {
        let plan =
            json!({"schema": "countersign.plan/v1", "goal": "Do it", "steps": [read("a")], "privileges": privileges});
        world.plan(plan)
    };
    assert_eq!(with(json!({"read": ["src/**"], "write": ["**/../x"]})).decision, Ask);
    assert_eq!(with(json!({"read": ["~/project/**"], "write": ["/tmp/**"]})).decision, Allow);
    for vast in [
        json!({"read": ["/**"]}),
        json!({"read": ["~/**"]}),
        json!({"read": ["**"]}),
        json!({"write": ["/etc/**"], "read": ["src/**"]}),
        json!({"connect": ["*:443"]}),
        json!({"connect": ["unknown.example:443"]}),
        json!({"secrets": ["aws"]}),
    ] {
        let review = with(vast.clone());
        assert!(codes(&review).contains(&Code::PlanPrivilegeExcessive), "{vast}: {:?}", review.reasons);
    }
}

#[test]
fn what_a_step_may_touch_is_bounded_by_what_it_says() {
    let world = World::new();
    let review = world.steps(json!([
        {"id": "w", "action": "write_file", "args": {"path": "src/x", "content": ""}},
        {"id": "p", "action": "run_program", "args": {"argv": ["cargo", "test"]}},
    ]));
    let [write, program] = review.steps.as_slice() else { panic!() };
    assert_eq!(write.grants.write, ["/home/user/project/src/x"]);
    assert!(write.grants.run.is_empty() && write.grants.connect.is_empty() && write.grants.read.is_empty());
    assert_eq!(program.grants.run, ["/usr/bin/cargo"]);
    assert_eq!(program.grants.write, ["/home/user/project"]);
    assert!(program.masked.contains(&"/home/user/project/app/.env".to_owned()), "{:?}", program.masked);
    assert!(program.read_only.contains(&"/home/user/project/.git/hooks/pre-commit".to_owned()));
    assert!(program.read_only.contains(&"/home/user/project/infra/prod/main.tf".to_owned()));
    let narrow = world
        .plan(json!({"schema": "countersign.plan/v1", "goal": "x", "privileges": {"write": ["build/**", "~/x/**"]},
        "steps": [{"id": "p", "action": "run_program", "args": {"argv": ["cargo", "build"]}}]}));
    assert_eq!(narrow.steps[0].grants.write, ["/home/user/project/build"]);
}

#[test]
fn a_permit_is_judged_with_concrete_arguments() {
    let world = World::new();
    let steps = json!([
        {"id": "r", "action": "inbox", "args": {"to": "x"}},
        {"id": "w", "action": "write_file", "args": {"path": {"$from": "r", "at": "/id"}, "content": ""}},
    ]);
    let (good, none) = world.again(steps.clone(), "w", json!({"path": "notes.txt", "content": ""}));
    assert_eq!((good.decision, none), (Allow, vec![]));
    assert_eq!(good.accesses[0].resource.name, "/home/user/project/notes.txt");
    for (path, code) in [
        ("../../../home/user/.countersign-state/key", Code::ResourceOwn),
        ("infra/prod/x", Code::ResourceProtected),
        ("/proc/self/mem", Code::ResourceKernel),
    ] {
        let (bad, codes) = world.again(steps.clone(), "w", json!({"path": path, "content": ""}));
        assert_eq!(bad.decision, Block, "{path}");
        assert!(codes.contains(&code), "{path}: {codes:?}");
    }
    let (wrong, codes) = world.again(steps.clone(), "w", json!({"path": 7, "content": ""}));
    assert_eq!((wrong.decision, codes.contains(&Code::ToolArguments)), (Block, true));
    assert_eq!(world.again(steps, "nonesuch", json!({})).0.decision, Block);
}
