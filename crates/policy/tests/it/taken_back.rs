//! Rollbacks: what takes back, and what does something else.

use countersign_plan::verdict::{Code, Decision};
use serde_json::{Value, json};

use crate::worded::{decided, world};
use crate::world::is;

use Decision::RequireApproval as Ask;

#[test]
fn a_rollback_sets_no_field_that_its_step_does_not_set() {
    let goal = "Set the phone of T-338 to 0123 456";
    let steps = |back: Value| {
        json!([
            {"id": "old", "action": "order_get", "args": {"to": "T-338"}},
            {"id": "set", "action": "tenant_update", "args": {"to": "T-338", "fields": {"phone": "0123 456"}},
             "rollback": {"action": "tenant_update", "args": {"to": "T-338", "fields": back}}, "needs": ["old"]},
        ])
    };
    let phone = json!({"$from": "old", "at": "/id"});
    let wide = decided(goal, steps(json!({"phone": phone, "iban": "DE99"})));
    is(&wide, Ask, Code::PlanRollbackElsewhere, "an account with it");
    for back in [json!({"phone": phone}), json!({"phone": phone, "state": {"$from": "old", "at": "/id"}})] {
        let review = decided(goal, steps(back));
        let wider = |r: &countersign_plan::verdict::Reason| r.message.contains("which the step does not set");
        assert!(!review.reasons.iter().any(wider), "{:#?}", review.reasons);
    }
}

#[test]
fn a_rollback_removes_no_copy_that_another_step_made() {
    let steps = |from: &str| {
        json!([
            {"id": "save", "action": "backup_create", "args": {"to": "stg-2", "label": "before"}},
            {"id": "alter", "action": "machine_power", "args": {"to": "stg-2", "state": "off"}, "needs": ["save"],
             "rollback": {"action": "delete_file", "args": {"path": {"$from": from, "at": "/id"}}}},
        ])
    };
    let goal = "Take a backup of stg-2 and switch it off; the backup is to be kept";
    let review = decided(goal, steps("save"));
    let told = |r: &countersign_plan::verdict::Reason| r.message.contains("what `save` made");
    assert!(review.reasons.iter().any(told), "{:#?}", review.reasons);
    assert!(!decided(goal, steps("alter")).reasons.iter().any(told));
}

#[test]
fn the_opposite_with_the_goals_own_words_takes_back() {
    let mut world = world();
    world.add(&[("van_release", "update", "compensable", "record"), ("van_book", "create", "compensable", "record")]);
    let steps = |driver: &str| {
        json!([{"id": "f", "action": "van_release", "args": {"to": "VB-88"},
            "rollback": {"action": "van_book", "args": {"to": "Luton", "driver": driver}}}])
    };
    let goal = "The Luton is in the garage, so give up its booking VB-88 (Jory Sool had it)";
    let elsewhere = |driver: &str| {
        let review = world.plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps(driver)}));
        review.reasons.iter().any(|reason| reason.code == Code::PlanRollbackElsewhere)
    };
    assert!(!elsewhere("Jory Sool"));
    assert!(elsewhere("Eve Other"), "somebody of whom the goal says nothing");
}

#[test]
fn what_takes_back_takes_back_there_and_no_more() {
    let commit = |did: Value, repo: &str| {
        let steps = json!([{"id": "c", "action": "git", "args": {"repo": ".", "args": did},
            "rollback": {"action": "git", "args": {"repo": repo, "args": ["revert", "--no-edit", "HEAD"]}}}]);
        decided("Commit the limit", steps).reasons.iter().any(|r| r.code == Code::PlanRollbackElsewhere)
    };
    let plain = json!(["commit", "-am", "limit"]);
    assert!(!commit(plain.clone(), "."));
    assert!(commit(plain, "vendor/other"), "another repository");
    assert!(commit(json!(["commit", "--amend", "-am", "limit"]), "."), "what it amends would go as well");
}

#[test]
fn what_a_step_only_reads_is_not_removed_again() {
    let index = |back: &str| {
        let rollback = json!({"action": "delete_directory", "args": {"path": back}});
        let command = "mkdir out && find sheets -name '*.csv' | sort > out/index.txt";
        let steps =
            json!([{"id": "i", "action": "execute_command", "args": {"command": command}, "rollback": rollback}]);
        decided("List the csv files below sheets in out/index.txt", steps)
            .reasons
            .iter()
            .any(|r| r.code == Code::PlanRollbackElsewhere)
    };
    assert!(index("sheets"), "what it reads");
    assert!(!index("out"), "what it makes");
}

#[test]
fn a_file_that_was_read_before_is_not_removed_to_take_a_change_back() {
    let plan = |path: &str| {
        json!([
            {"id": "old", "action": "read_file", "args": {"path": "conf/fx.yaml"}},
            {"id": "new", "action": "write_file", "args": {"path": path, "content": "a: 1"}, "needs": ["old"],
             "rollback": {"action": "delete_file", "args": {"path": path}}},
        ])
    };
    let elsewhere = |path: &str| {
        decided("Change the tolerance", plan(path)).reasons.iter().any(|r| r.code == Code::PlanRollbackElsewhere)
    };
    assert!(elsewhere("conf/fx.yaml"));
    assert!(!elsewhere("conf/new.yaml"));
}

#[test]
fn taking_back_goes_no_further_and_tells_nobody() {
    let mut world = world();
    world.add(&[
        ("card_freeze", "update", "compensable", "record"),
        ("card_unfreeze", "update", "compensable", "record"),
        ("card_cancel", "update", "irreversible", "record"),
        ("case_note", "update", "compensable", "record"),
        ("case_reply", "send", "compensable", "record"),
    ]);
    let elsewhere = |action: &str, back: &str| {
        let rollback = json!({"action": back, "args": {"to": "C-30"}});
        let steps = json!([{"id": "s", "action": action, "args": {"to": "C-30"}, "rollback": rollback}]);
        let plan = json!({"schema": "countersign.plan/v1", "goal": "Freeze card C-30 and note it on the case", "steps": steps});
        world.plan(plan).reasons.iter().any(|reason| reason.code == Code::PlanRollbackElsewhere)
    };
    assert!(elsewhere("card_freeze", "card_cancel"), "for good");
    assert!(!elsewhere("card_freeze", "card_unfreeze"));
    assert!(elsewhere("card_freeze", "case_note"), "that undoes nothing");
    assert!(elsewhere("case_note", "case_reply"), "the customer reads it");
    assert!(!elsewhere("case_note", "case_note"));
}

#[test]
fn what_was_decided_may_be_open_again() {
    use countersign_plan::draft::Draft;
    use countersign_policy::flow::Level;
    use countersign_policy::review::{Request, review};
    let mut world = world();
    world.manifest.extend(vec![json!({
        "name": "return_decide", "group": "desk", "description": "Decides about a return",
        "args": {"type": "object", "properties": {"id": {}, "decision": {}}}, "effect": "update", "reversibility": "compensable",
        "target": {"kind": "record", "arg": "/id"}, "controls": ["/id", "/decision"],
        "output": {"trust": "system", "secrecy": "internal"}, "driver": "none",
    })]).unwrap();
    let says = |back: &str| {
        let goal = "Mark the return R-7714 as accepted";
        let args = |decision: &str| json!({"id": "R-7714", "decision": decision});
        let steps = json!([{"id": "a", "action": "return_decide", "args": args("accepted"), "rollback": {"action": "return_decide", "args": args(back)}}]);
        let draft = Draft::from_value(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps})).unwrap();
        let who = crate::world::Who::user();
        let review = review(&Request { planner: Level::Open, ..world.request(&draft, Some(goal), &who) });
        !review.reasons.iter().any(|reason| reason.code == Code::FlowUntrustedControl)
    };
    assert!(says("open"));
    assert!(!says("refunded"), "that is another decision");
}

#[test]
fn what_was_put_out_of_use_is_in_use_again() {
    use countersign_plan::draft::Draft;
    use countersign_policy::flow::Level;
    use countersign_policy::review::{Request, review};
    let mut world = world();
    let tool = |name: &str, arg: &str| {
        json!({
            "name": name, "group": "lockers", "description": name, "args": {"type": "object", "properties": {"id": {}, arg: {}}},
            "effect": "update", "reversibility": "compensable", "target": {"kind": "record", "arg": "/id"},
            "controls": ["/id", format!("/{arg}")], "output": {"trust": "system", "secrecy": "internal"}, "driver": "none",
        })
    };
    let mut by_party = tool("phone_set", "mode");
    by_party["output"]["trust"] = json!("party");
    world
        .manifest
        .extend(vec![
            tool("locker_set_mode", "mode"),
            tool("alert_silence", "minutes"),
            by_party,
            tool("fleet_scale_to", "replicas"),
        ])
        .unwrap();
    let says = |goal: &str, action: &str, arg: &str, set: Value, back: Value| {
        let args = |value: Value| json!({"id": "LK-77", arg: value});
        let steps = json!([{"id": "s", "action": action, "args": args(set), "rollback": {"action": action, "args": args(back)}}]);
        let draft = Draft::from_value(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps})).unwrap();
        let who = crate::world::Who::user();
        let review = review(&Request { planner: Level::Open, ..world.request(&draft, Some(goal), &who) });
        !review.reasons.iter().any(|reason| matches!(reason.code, Code::FlowUntrustedControl | Code::InternalError))
    };
    // What the step says that it found, whoever wrote that, and nothing else of it.
    for (field, own) in [("/previous", true), ("/old_mode", true), ("/note", false)] {
        let back = json!({"$from": "s", "at": field});
        assert_eq!(says("Set LK-77 to disabled", "phone_set", "mode", json!("disabled"), back), own, "{field}");
    }
    // What it found may not say which one it is put back on, and nothing is no value that it set.
    let other = |back: Value| {
        let goal = "Set LK-77 to disabled";
        let steps = json!([{"id": "s", "action": "phone_set", "args": {"id": "LK-77", "mode": "disabled"}, "rollback": {"action": "phone_set", "args": back}}]);
        let draft = Draft::from_value(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps})).unwrap();
        let who = crate::world::Who::user();
        let review = review(&Request { planner: Level::Open, ..world.request(&draft, Some(goal), &who) });
        review.reasons.iter().any(|reason| matches!(reason.code, Code::FlowUntrustedControl | Code::InternalError))
    };
    assert!(other(json!({"id": {"$from": "s", "at": "/old_id"}, "mode": {"$from": "s", "at": "/previous"}})));
    assert!(other(json!({"id": "LK-77", "mode": null})));
    assert!(says("Set LK-77 to disabled", "locker_set_mode", "mode", json!("disabled"), json!("active")));
    assert!(
        !says("Set LK-77 to active", "locker_set_mode", "mode", json!("active"), json!("disabled")),
        "it may have been in use"
    );
    for (set, back, own) in [
        ("repair", json!("available"), true),
        ("repair", json!("sold"), false),
        ("hidden", json!("public"), false),
        ("unlisted", json!("listed"), true),
        ("lost", json!("public"), false),
        ("active", json!("public"), false),
        ("maintenance", json!({"$from": "s", "at": "/old_mode"}), true),
    ] {
        let said = says(&format!("Set LK-77 to {set}"), "locker_set_mode", "mode", json!(set), back.clone());
        assert_eq!(said, own, "{set}: {back}");
    }
    assert!(says("Mute LK-77 for 60 minutes", "alert_silence", "minutes", json!(60), json!(0)));
    assert!(
        !says("Scale LK-77 to 60 replicas", "fleet_scale_to", "replicas", json!(60), json!(0)),
        "nothing would run"
    );
}
