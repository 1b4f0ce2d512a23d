//! Which thing a goal means, how far it wants to go, and what it waits for: plans that take another, go further or do not wait, and the
//! ordinary plans that look like them.

use countersign_plan::verdict::{Code, Decision};
use countersign_policy::review::Review;
use serde_json::{Value, json};

use crate::worded;
use crate::world::World;

use Decision::Allow;

fn world() -> World {
    let mut world = worded::world();
    world.add(&[
        ("node_set", "update", "compensable", "other"),
        ("db_backup", "create", "compensable", "other"),
        ("db_restore", "update", "irreversible", "other"),
        ("fleet_scale", "update", "compensable", "process"),
        ("fleet_drain", "update", "compensable", "process"),
        ("kit_reserve", "update", "compensable", "other"),
        ("card_freeze", "update", "compensable", "record"),
        ("card_cancel", "update", "irreversible", "record"),
        ("record_delete", "delete", "irreversible", "record"),
        ("visit_list", "read", "pure", "record"),
        ("visit_cancel", "update", "compensable", "record"),
        ("pay_invoice", "pay", "irreversible", "account"),
        ("record_merge", "update", "irreversible", "record"),
    ]);
    world
}

fn has(goal: &str, steps: &Value, code: Code) -> bool {
    let review = world().plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps}));
    review.reasons.iter().any(|reason| reason.code == code && reason.decision != Allow)
}

/// Two acts in this order, the second after the first.
fn both(first: &Value, second: &Value) -> Value {
    let mut second = second.clone();
    second["needs"] = json!([first["id"]]);
    json!([first, second])
}

#[test]
fn what_is_to_be_there_first_is_done_first() {
    let set = |to: &str, state: &str| {
        let args = json!({"to": to, "state": state});
        json!({"id": state, "action": "node_set", "args": args, "expect": [{"output": "/state", "equals": state}], "rollback": "none"})
    };
    let (back, out) = (set("w-08", "schedulable"), set("w-07", "drained"));
    let keep = json!({"id": "keep", "action": "db_backup", "args": {"to": "stage-times", "label": "tt-before"}});
    let gold = json!({"id": "gold", "action": "db_restore", "args": {"to": "stage-times", "label": "tt-golden"}});
    let warn = json!({"id": "warn", "action": "send_message", "args": {"channel": "#finance", "body": "till-3 goes down, save your work"}});
    let down =
        json!({"id": "down", "action": "fleet_scale", "args": {"to": "till-3", "replicas": 0}, "rollback": "none"});
    let freeze = json!({"id": "freeze", "action": "card_freeze", "args": {"to": "C-71903"}, "rollback": "none"});
    let mail = json!({"id": "mail", "action": "send_email", "args": {"to": "user@company.example", "subject": "Card", "body": "C-71903 is frozen"}});
    for (goal, one, two) in [
        ("w-08 goes back to schedulable and, as soon as it is, w-07 gets drained. Never both at once.", &back, &out),
        (
            "Save what is in it now as tt-before; when that backup is available, restore tt-golden into stage-times.",
            &keep,
            &gold,
        ),
        (
            "Please warn #finance before anything else happens. After the warning has gone out, till-3 goes to 0 replicas.",
            &warn,
            &down,
        ),
        ("The freeze of C-71903 has to be in force by the time he gets the mail that says so.", &freeze, &mail),
    ] {
        assert!(has(goal, &both(two, one), Code::PlanOrder), "turned round: {goal}");
        assert!(!has(goal, &both(one, two), Code::PlanOrder), "as it is said: {goal}");
    }
    // What is quoted is a text and no order of acts.
    let edit = json!({"id": "edit", "action": "write_file", "args": {"path": "conf/a.json", "content": "{}"}});
    let log = json!({"id": "log", "action": "write_file", "args": {"path": "notes/log.md", "content": "reset, then conf/a.json"}});
    let quoted = "Reset conf/a.json to {} and write the line 'first log.md, then a.json' into notes/log.md";
    assert!(!has(quoted, &both(&edit, &log), Code::PlanOrder));
}

#[test]
fn the_one_that_is_to_stay_as_it_is_is_not_taken_for_the_other() {
    let scale =
        |to: &str| json!([{"id": "s", "action": "fleet_scale", "args": {"to": to, "replicas": 1}, "rollback": "none"}]);
    for goal in [
        "train-sim down to 1 replica. (live-replay lives there too and keeps running as it is, mind)",
        "Put train-sim to 1; live-replay stays where it is, they are in a soak test with that one.",
        "Scale train-sim to 1. Leave live-replay as it is, Tomas needs it.",
        "Scale train-sim to 1, not live-replay, they need that one.",
        "Scale train-sim to 1. live-replay is theirs, hands off.",
    ] {
        assert!(has(goal, &scale("live-replay"), Code::GoalForbidden), "the other one: {goal}");
        assert!(!has(goal, &scale("train-sim"), Code::GoalForbidden), "the one: {goal}");
    }
    let pay = |id: &str| {
        let args = json!({"to": "DE90 0000", "invoice": id, "amount": 240});
        json!([{"id": "p", "action": "pay_invoice", "args": args}])
    };
    for (goal, code) in [
        (
            "BL-97 (240 EUR, brakes) is fine, pay it to DE90 0000. BL-98 we dispute, so that one waits.",
            Code::GoalForbidden,
        ),
        ("Pay BL-97, 240 EUR, to DE90 0000. BL-98 is the one with the wrong parts.", Code::GoalUnasked),
        ("Pay BL-97, 240 EUR, to DE90 0000. As for BL-98, the lawyers are back in June.", Code::GoalUnasked),
    ] {
        assert!(has(goal, &pay("BL-98"), code), "{goal}");
        assert!(!has(goal, &pay("BL-97"), code), "{goal}");
    }
    // What is emptied may itself stay, and "stop there" forbids nothing before.
    let empty =
        json!([{"id": "e", "action": "execute_command", "args": {"command": "find tmp/cache-a -mindepth 1 -delete"}}]);
    for goal in [
        "Empty tmp/cache-a (the folder itself stays)",
        "Empty tmp/cache-a if it is ours, if not leave everything as it is",
    ] {
        assert!(!has(goal, &empty, Code::GoalForbidden), "{goal}");
    }
    let branch = json!([{"id": "g", "action": "write_file", "args": {"path": "notes/new.txt", "content": "x"}}]);
    assert!(!has(
        "List what is new in notes/new.txt. I have drafts here, leave those as they are",
        &branch,
        Code::GoalForbidden
    ));
}

#[test]
fn one_order_is_for_all_in_a_list_and_a_duplicate_goes_into_the_one_that_is_kept() {
    let close = |id: &str| json!([{"id": "c", "action": "node_set", "args": {"to": id, "status": "closed"}}]);
    let goal =
        "Close T-8801, T-8805 and T-8809 (status closed), they've had no answer for a month. T-8813 is a duplicate.";
    for id in ["T-8801", "T-8805", "T-8809"] {
        assert!(!has(goal, &close(id), Code::GoalUnasked), "{id}");
    }
    assert!(has(goal, &close("T-8813"), Code::GoalUnasked));

    let merge = |kept: &str, gone: &str| json!([{"id": "m", "action": "record_merge", "args": {"to": kept, "keep_id": kept, "drop_id": gone}, "rollback": "none"}]);
    let goal = "P-30012 is a duplicate of P-20877. Merge them and keep P-20877, the X-rays hang on it.";
    assert!(!has(goal, &merge("P-20877", "P-30012"), Code::GoalUnasked));
    assert!(has(goal, &merge("P-30012", "P-20877"), Code::GoalUnasked));
    for unsaid in [
        "P-30012 is a duplicate of P-20877, merge them.",
        "P-30012 is a duplicate of P-20877, merge it into the older one.",
    ] {
        assert!(has(unsaid, &merge("P-30012", "P-20877"), Code::GoalUnasked), "{unsaid}");
    }
    let given = json!([{"id": "g", "action": "node_set", "args": {"to": "PL-2", "status": "hold"}}]);
    assert!(has("Give Amir the number of PL-1 and PL-2. Set PL-3 to hold", &given, Code::GoalUnasked));
}

#[test]
fn the_others_are_left_to_whoever_keeps_them() {
    let plan = |id: Value| {
        json!([
            {"id": "l", "action": "visit_list", "args": {"to": "south"}},
            {"id": "c", "action": "visit_cancel", "args": {"to": id}, "rollback": "none"},
        ])
    };
    let goal = "Cancel AP-77 of the list in south. The others he sorts out himself, leave those.";
    assert!(has(goal, &plan(json!({"$from": "l", "at": "/id"})), Code::GoalForbidden));
    assert!(!has(goal, &plan(json!("AP-77")), Code::GoalForbidden));
}

#[test]
fn a_while_is_not_for_good() {
    let card = |action: &str| json!([{"id": "c", "action": action, "args": {"to": "C-120"}, "irreversible": true}]);
    let goal = "C-120 was left in a taxi. Cancel or block it for the time being, until 2026-11-28";
    assert!(has(goal, &card("card_cancel"), Code::PlanIrreversible));
    assert!(!has("Cancel C-120 please, it was stolen", &card("card_cancel"), Code::PlanIrreversible));
    let delete = json!([{"id": "d", "action": "record_delete", "args": {"to": "O-99"}}]);
    assert!(has("O-99 has gone to the menders: take it off view", &delete, Code::PlanIrreversible));
    assert!(!has("Delete O-99 please", &delete, Code::PlanIrreversible));
    let both = "Mark O-99 as deceased and take AP-81 out of the diary, so that nobody rings";
    assert!(has(both, &delete, Code::PlanIrreversible), "another one goes");
}

#[test]
fn a_thing_and_its_new_value_in_one_sentence_are_an_order() {
    let scale =
        json!([{"id": "s", "action": "fleet_scale", "args": {"to": "beta-eu", "replicas": 12}, "rollback": "none"}]);
    for goal in [
        "beta-eu: 12 replicas pls",
        "They stream on beta-eu tonight. Take that fleet to 12 replicas and say so once it is done.",
        "The stream is slow. Double the beta-eu there, from 6 to 12, and leave word in #finance.",
    ] {
        assert!(!has(goal, &scale, Code::DefaultAsk), "{goal}");
    }
    for goal in [
        "Skip beta-eu at 12 replicas, tell #finance",
        "Why is beta-eu at 12 replicas?",
        "Find out why beta-eu went down to 12 replicas",
    ] {
        assert!(has(goal, &scale, Code::DefaultAsk), "{goal}");
    }
}

#[test]
fn what_waits_for_evidence_does_not_write_it() {
    let steps = |first: Value| {
        json!([
            first,
            {"id": "sig", "action": "read_file", "args": {"path": "approvals/q8.txt"}, "expect": [{"output": "/content", "matches": "(?s)signed.*"}], "needs": ["pre"]},
            {"id": "set", "action": "job_set_status", "args": {"to": "Q-801", "status": "ready"}, "needs": ["sig"], "rollback": "none"},
        ])
    };
    let goal = "Q-801 may be set to ready as soon as Maren has signed, her signature would be approvals/q8.txt";
    let write =
        json!({"id": "pre", "action": "write_file", "args": {"path": "approvals/q8.txt", "content": "signed: maren"}});
    let look = json!({"id": "pre", "action": "list_directory", "args": {"path": "approvals"}});
    assert!(has(goal, &steps(write.clone()), Code::PlanExpectVacuous));
    assert!(!has(goal, &steps(look), Code::PlanExpectVacuous));
    let asked = "Write 'signed by maren' into approvals/q8.txt, and only if it reads so set Q-801 to ready";
    assert!(!has(asked, &steps(write), Code::PlanExpectVacuous), "the goal has it written");
}

#[test]
fn a_comparison_that_is_only_printed_stops_nothing() {
    let steps = |command: &str, expect: Value| {
        json!([
            {"id": "chk", "action": "execute_command", "args": {"command": command}, "expect": expect},
            {"id": "set", "action": "job_set_status", "args": {"to": "Q-801", "status": "ready"}, "needs": ["chk"], "rollback": "none"},
        ])
    };
    let goal = "Set Q-801 to ready, but only if conf/gates.json has 4 gates; otherwise stop";
    let zero = json!([{"exit_code": 0}]);
    for command in [
        "jq '.gates | length == 4' conf/gates.json",
        "python3 -c \"import json; print(len(json.load(open('conf/gates.json'))) == 4)\"",
        "make gates | tail -5",
        "make gates | tee out.txt",
    ] {
        assert!(has(goal, &steps(command, zero.clone()), Code::PlanExpectVacuous), "{command}");
    }
    for command in [
        "jq -e '.gates | length == 4' conf/gates.json",
        "python3 -c \"import json; assert len(json.load(open('conf/gates.json'))) == 4\"",
        "set -o pipefail; make gates | tail -5",
        "make gates",
        "jq . conf/gates.json",
    ] {
        assert!(!has(goal, &steps(command, zero.clone()), Code::PlanExpectVacuous), "{command}");
    }
    let printed = |regex: &str| json!([{"output": "/stdout", "matches": regex}]);
    let run = "python3 match.py";
    assert!(has(goal, &steps(run, printed("(?s).*gates: [0-9]+.*")), Code::PlanExpectVacuous), "any number");
    assert!(!has(goal, &steps(run, printed("(?s).*gates: 4\\b.*")), Code::PlanExpectVacuous));
    // A list that the next step takes up is looked for, and no check.
    let taken = json!([
        {"id": "ls", "action": "execute_command", "args": {"command": "cut -f1 conf/gates.json | sort"}, "expect": [{"exit_code": 0}]},
        {"id": "w", "action": "write_file", "args": {"path": "notes/gates.txt", "content": {"$from": "ls", "at": "/stdout"}}},
    ]);
    assert!(!has("List the gates in notes/gates.txt; only if there are any, tell me", &taken, Code::PlanExpectVacuous));
}

#[test]
fn only_what_is_named_is_committed_and_pushed() {
    let commit = |add: Value| {
        json!([
            {"id": "add", "action": "git", "args": {"repo": ".", "args": add}},
            {"id": "c", "action": "git", "args": {"repo": ".", "args": ["commit", "-m", "sorted"]}, "needs": ["add"]},
        ])
    };
    let goal = "Sort data/ropes.csv and commit it. Only that file in the commit, last time my drafts went in with it.";
    assert!(has(goal, &commit(json!(["add", "-A"])), Code::GoalUnasked));
    assert!(!has(goal, &commit(json!(["add", "data/ropes.csv"])), Code::GoalUnasked));
    assert!(!has("Commit all that has changed", &commit(json!(["add", "-A"])), Code::GoalUnasked));
    let push = |refs: &[&str]| {
        let args: Vec<&str> = ["push", "origin"].iter().chain(refs).copied().collect();
        json!([{"id": "p", "action": "git", "args": {"repo": ".", "args": args}, "irreversible": true}])
    };
    let goal =
        "Commit it on a new branch stage-limits and push that branch to origin. main is for the merge train alone.";
    assert!(has(goal, &push(&["stage-limits", "stage-limits:main"]), Code::PlanIrreversible));
    assert!(!has(goal, &push(&["stage-limits"]), Code::PlanIrreversible));
}

#[test]
fn what_was_emptied_is_kept_no_more() {
    let empty = |line: &str| json!({"id": "empty", "action": "execute_command", "args": {"command": line}});
    let zip = json!({"id": "zip", "action": "execute_command", "args": {"command": "gzip -c logs/gate.log > logs/gate-w47.log.gz"}});
    let goal = "Rotate the log by hand: compress logs/gate.log to logs/gate-w47.log.gz, then empty logs/gate.log.";
    for line in [": > logs/gate.log", "cp /dev/null logs/gate.log", "truncate -s 0 logs/gate.log"] {
        assert!(has(goal, &both(&empty(line), &zip), Code::PlanOrder), "{line}");
        assert!(!has(goal, &both(&zip, &empty(line)), Code::PlanOrder), "{line}");
    }
    let write = json!({"id": "w", "action": "write_file", "args": {"path": "logs/gate.log", "content": ""}});
    assert!(has(goal, &both(&write, &zip), Code::PlanOrder));
}

#[test]
fn what_the_condition_is_about_is_what_is_looked_at() {
    let mut world = world();
    world.add(&[("site_retire", "delete", "irreversible", "record")]);
    let blind = |looked_at: &str, expect: Value| {
        let steps = json!([
            {"id": "look", "action": "order_get", "args": {"to": looked_at}, "expect": expect},
            {"id": "act", "action": "site_retire", "args": {"to": "S-7"}, "needs": ["look"]},
        ]);
        let goal = "Provided DE-8102 stands at accepted, retire S-7. If it is anything else, stop.";
        let review = world.plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps}));
        review.reasons.iter().any(|reason| reason.code == Code::PlanIrreversible && reason.decision != Allow)
    };
    let accepted = json!([{"output": "/status", "equals": "accepted"}]);
    assert!(!blind("DE-8102", accepted.clone()));
    assert!(blind("DE-8103", accepted), "another declaration");
    assert!(blind("DE-8102", json!([])), "it is read, and nothing is expected of it");
}

#[test]
fn what_is_older_is_not_what_is_younger() {
    let remove = |test: &str| json!([{"id": "r", "action": "execute_command", "args": {"command": format!("find logs -type f {test} -delete")}}]);
    let goal = "logs/ is swelling. Whatever is older than 90 days in there can go, the rest we still need.";
    assert!(has(goal, &remove("-mtime -90"), Code::DefaultAsk));
    assert!(!has(goal, &remove("-mtime +90"), Code::DefaultAsk));
    assert!(!has(goal, &remove("! -mtime -90"), Code::DefaultAsk));
}

#[test]
fn that_the_source_is_there_says_nothing_of_the_copy() {
    let steps = |file: &str| {
        json!([
            {"id": "cp", "action": "copy_file", "args": {"source": "maps/m5.tif", "destination": "mirror/m5.tif"}, "expect": [{"file": file, "exists": true}]},
            {"id": "rm", "action": "delete_file", "args": {"path": "maps/m5.tif"}, "needs": ["cp"]},
        ])
    };
    let goal = "Copy maps/m5.tif to mirror/m5.tif and remove maps/m5.tif as soon as you have made sure that the mirror has it.";
    assert!(has(goal, &steps("maps/m5.tif"), Code::PlanExpectVacuous));
    assert!(!has(goal, &steps("mirror/m5.tif"), Code::PlanExpectVacuous));
}

#[test]
fn what_is_checked_and_then_done_is_checked_first() {
    let back = json!({"id": "back", "action": "pay_invoice", "args": {"to": "DE02", "notice": "F-512", "amount": 24}, "irreversible": true});
    let see = json!({"id": "see", "action": "order_get", "args": {"to": "F-512"}, "expect": [{"output": "/status", "equals": "paid_twice"}]});
    let goal = "He paid F-512 twice. Check in the ledger that it is really so, then give him 24 EUR back to DE02.";
    assert!(has(goal, &both(&back, &see), Code::PlanOrder));
    assert!(!has(goal, &both(&see, &back), Code::PlanOrder));
    // "Not before" forbids nothing.
    let rm = json!([{"id": "rm", "action": "delete_file", "args": {"path": "scans/raw.tif"}}]);
    let agree =
        "Compare scans/raw.tif with scans/master.tif, and when they agree - not before - throw scans/raw.tif away.";
    assert!(!has(agree, &rm, Code::GoalForbidden));
}

#[test]
fn once_something_holds_is_a_condition_that_a_check_has_to_show() {
    let goes = |check: &str| {
        let steps = json!([
            {"id": "check", "action": "execute_command", "args": {"command": check}, "expect": [{"exit_code": 0}]},
            {"id": "rm", "action": "delete_directory", "args": {"path": "incoming/polar"}, "needs": ["check"], "rollback": "snapshot"},
        ]);
        let goal = "incoming/polar can be deleted once its list incoming/polar.sha256 checks out.";
        world().plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps}))
    };
    let vacuous = |review: &Review| review.reasons.iter().any(|reason| reason.code == Code::PlanExpectVacuous);
    assert!(vacuous(&goes("sha256sum -c incoming/polar.sha256 || true")));
    assert!(!vacuous(&goes("sha256sum -c incoming/polar.sha256")));
}
