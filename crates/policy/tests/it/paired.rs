//! Which values a goal says together, and which it only tells: for each what is asked for beside the one that looks like it.

use countersign_plan::verdict::{Code, Decision};
use serde_json::{Value, json};

/// A tool of a house that sets things: every argument decides.
fn tool(name: &str, effect: &str, args: Value) -> Value {
    let controls: Vec<String> = args.as_object().unwrap().keys().map(|key| format!("/{key}")).collect();
    json!({
        "name": name, "group": "house", "description": name,
        "args": {"type": "object", "additionalProperties": false, "properties": args},
        "effect": effect, "reversibility": "compensable", "target": {"kind": "record", "arg": "/id"},
        "controls": controls, "carries": [],
        "output": {"trust": "system", "secrecy": "internal", "fields": []}, "driver": "none",
    })
}

/// Whether the step is taken for what the goal does not say together, or only tells.
fn is_mixed_up(goal: &str, action: &str, args: Value) -> bool {
    let mut world = crate::worded::world();
    let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
    world
        .manifest
        .extend(vec![
            tool("case_close", "update", json!({"id": text})),
            tool("case_erase", "delete", json!({"id": text})),
            tool("money_back", "pay", json!({"id": text, "amount": number, "currency": text})),
            tool("case_assign", "update", json!({"id": text, "assignee": text})),
            tool("post_set", "admin", json!({"id": text, "system": {"enum": ["code", "desk"]}, "role": {"enum": ["none", "viewer", "admin"]}})),
            tool("app_start", "update", json!({"id": {"enum": ["web", "api"]}, "version": text, "env": {"enum": ["staging", "production"]}})),
            tool("job_plan", "create", json!({"id": text, "cron": text, "command": text})),
            tool("flag_put", "update", json!({"id": text, "env": {"enum": ["staging", "production"]}, "enabled": {"type": "boolean"}})),
        ])
        .unwrap();
    let step = json!({"id": "x", "action": action, "args": args});
    let review = world.plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": [step]}));
    assert!(!review.reasons.iter().any(|r| r.code == Code::ToolArguments), "{:#?}", review.reasons);
    review.reasons.iter().any(|r| r.code == Code::GoalUnasked && r.decision == Decision::RequireApproval)
}

#[test]
fn values_of_two_acts_are_not_exchanged() {
    let goal = "Close K-120 and erase K-121 for good.";
    assert!(!is_mixed_up(goal, "case_close", json!({"id": "K-120"})));
    assert!(!is_mixed_up(goal, "case_erase", json!({"id": "K-121"})));
    assert!(is_mixed_up(goal, "case_close", json!({"id": "K-121"})));
    assert!(is_mixed_up(goal, "case_erase", json!({"id": "K-120"})));

    let post = |who: &str, system: &str, role: &str| json!({"id": format!("{who}@company.example"), "system": system, "role": role});
    let goal = "Make ann@company.example a viewer in code and bob@company.example an admin in desk.";
    assert!(!is_mixed_up(goal, "post_set", post("ann", "code", "viewer")));
    assert!(!is_mixed_up(goal, "post_set", post("bob", "desk", "admin")));
    assert!(is_mixed_up(goal, "post_set", post("ann", "desk", "admin")));
    assert!(is_mixed_up(goal, "post_set", post("ann", "code", "admin")));
    let both = "Make ann@company.example and bob@company.example admins in desk.";
    assert!(!is_mixed_up(both, "post_set", post("ann", "desk", "admin")), "one order for both");

    let back = |id: &str, amount: u32| json!({"id": id, "amount": amount, "currency": "EUR"});
    let goal = "Give money back: 24 EUR on B-2210 and 42 EUR on B-2012.";
    assert!(!is_mixed_up(goal, "money_back", back("B-2210", 24)));
    assert!(!is_mixed_up(goal, "money_back", back("B-2012", 42)));
    assert!(is_mixed_up(goal, "money_back", back("B-2012", 24)));

    let goal = "Assign K-50 to ben and K-51 to mateo.";
    assert!(!is_mixed_up(goal, "case_assign", json!({"id": "K-51", "assignee": "mateo"})));
    assert!(is_mixed_up(goal, "case_assign", json!({"id": "K-50", "assignee": "mateo"})));

    let job = |id: &str, cron: &str, command: &str| json!({"id": id, "cron": cron, "command": command});
    let goal = "Plan 'make report' at 0 4 * * * as night-report and 'make prune' at 0 5 * * 0 as week-prune.";
    assert!(!is_mixed_up(goal, "job_plan", job("night-report", "0 4 * * *", "make report")));
    assert!(is_mixed_up(goal, "job_plan", job("night-report", "0 5 * * 0", "make report")));
    assert!(is_mixed_up(goal, "job_plan", job("night-report", "0 4 * * *", "make prune")));
}

#[test]
fn what_is_only_told_is_not_set() {
    let start = |id: &str, version: &str| json!({"id": id, "version": version, "env": "staging"});
    let goal = "On staging web is at 4.19.0 and api at 4.18.2. Put web back to 4.18.1; api stays.";
    assert!(!is_mixed_up(goal, "app_start", start("web", "4.18.1")));
    assert!(is_mixed_up(goal, "app_start", start("web", "4.18.2")));
    assert!(is_mixed_up(goal, "app_start", start("web", "4.19.0")));
    assert!(is_mixed_up(goal, "app_start", start("api", "4.18.1")));

    let back = |amount: u32| json!({"id": "B-33", "amount": amount, "currency": "EUR"});
    assert!(is_mixed_up("Give 20 EUR of the 199 EUR back on B-33.", "money_back", back(199)));
    assert!(!is_mixed_up("Give 20 EUR of the 199 EUR back on B-33.", "money_back", back(20)));
    assert!(
        !is_mixed_up("B-33 was 199 EUR. Give it all back within 14 days.", "money_back", back(199)),
        "no other sum"
    );
}

#[test]
fn what_is_on_and_what_is_off_have_each_a_word_of_their_own() {
    let put = |id: &str, env: &str, on: bool| json!({"id": id, "env": env, "enabled": on});
    let goal = "Turn on new-plan and switch old-export off in staging.";
    assert!(!is_mixed_up(goal, "flag_put", put("new-plan", "staging", true)));
    assert!(!is_mixed_up(goal, "flag_put", put("old-export", "staging", false)));
    assert!(is_mixed_up(goal, "flag_put", put("old-export", "staging", true)));
    assert!(is_mixed_up(goal, "flag_put", put("new-plan", "staging", false)));
    let goal = "Disable old-export in staging. In production it must stay enabled.";
    assert!(!is_mixed_up(goal, "flag_put", put("old-export", "staging", false)));
    assert!(is_mixed_up(goal, "flag_put", put("old-export", "staging", true)));
    assert!(is_mixed_up(goal, "flag_put", put("old-export", "production", true)));
}

#[test]
fn what_is_told_of_one_says_nothing_of_the_other() {
    let goal = "Give 20 EUR back on B-5512. Reminder: B-5511 was already paid.";
    let back = |id: &str| json!({"id": id, "amount": 20, "currency": "EUR"});
    assert!(!is_mixed_up(goal, "money_back", back("B-5512")));
    assert!(is_mixed_up(goal, "money_back", back("B-5511")));
}

#[test]
fn what_stands_together_in_other_words_is_no_other_one() {
    let goal =
        "If parcel PR-881 really came back to us (status returned) refund order 40501, 27 EUR. If not, do nothing.";
    assert!(!is_mixed_up(goal, "money_back", json!({"id": "40501", "amount": 27, "currency": "EUR"})));
    let goal = "Nightly-Web 8.2.1 goes to staging today (they are on 8.1.9, so that's the way back). It's about K-52617; leave a note there.";
    assert!(!is_mixed_up(goal, "app_start", json!({"id": "web", "version": "8.2.1", "env": "staging"})));
}

#[test]
fn a_value_stands_where_the_goal_says_it() {
    let mut world = crate::worded::world();
    let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
    world
        .manifest
        .extend(vec![
            tool("foal_enter", "create", json!({"id": text, "dam": text, "sire": text})),
            tool("nodes_reserve", "create", json!({"id": text, "nodes": number, "hours": number})),
            tool("seats_order", "create", json!({"id": text, "quantity": number, "price": number})),
            tool("money_back", "pay", json!({"id": text, "amount": number, "currency": text})),
            tool("delivery_correct", "update", json!({"id": text, "field": text, "value": number})),
        ])
        .unwrap();
    let plan = |goal: &str, acts: &[(&str, Value)]| {
        let step = |(i, (action, args)): (usize, &(&str, Value))| json!({"id": format!("s{i}"), "action": action, "args": args});
        let steps: Vec<Value> = acts.iter().enumerate().map(step).collect();
        let review = world.plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps}));
        assert!(!review.reasons.iter().any(|r| r.code == Code::ToolArguments), "{:#?}", review.reasons);
        review.reasons.iter().any(|r| r.code == Code::GoalUnasked && r.decision == Decision::RequireApproval)
    };
    let foal = |dam: &str, sire: &str| ("foal_enter", json!({"id": "C-77", "dam": dam, "sire": sire}));
    let goal = "Enter the foal of C-77: dam MH-2201, sire MH-1140.";
    assert!(!plan(goal, &[foal("MH-2201", "MH-1140")]));
    assert!(plan(goal, &[foal("MH-1140", "MH-1140")]));
    assert!(plan(goal, &[foal("MH-2201", "MH-2201")]));

    let reserve = |nodes: u32, hours: u32| ("nodes_reserve", json!({"id": "wren", "nodes": nodes, "hours": hours}));
    let goal = "The course needs 4 nodes of wren for 6 hours, reserve them.";
    assert!(!plan(goal, &[reserve(4, 6)]));
    assert!(plan(goal, &[reserve(6, 6)]));
    assert!(plan(goal, &[reserve(4, 4)]));

    let order = |quantity: u32, price: u32| ("seats_order", json!({"id": "K-9", "quantity": quantity, "price": price}));
    let goal = "Order 8 seats of K-9, 312 EUR in all.";
    assert!(!plan(goal, &[order(8, 312)]));
    assert!(plan(goal, &[order(312, 312)]));
    let back = |id: &str, amount: f64| ("money_back", json!({"id": id, "amount": amount, "currency": "EUR"}));
    let goal = "Refund 18.90 EUR on order 66071, see K-3";
    assert!(!plan(goal, &[back("K-3", 18.9)]));
    assert!(plan(goal, &[back("K-3", 66071.0)]));

    let correct = |field: &str, value: f64| ("delivery_correct", json!({"id": "K-8", "field": field, "value": value}));
    let goal = "Correct K-8: moisture has to be 14.2, tonnes is 26.9.";
    let right = [correct("moisture", 14.2), correct("tonnes", 26.9)];
    assert!(!plan(goal, &right));
    assert!(plan(goal, &[correct("moisture", 26.9), correct("tonnes", 26.9)]));

    let goal = "Two bills of Brandner: B-31 over 120 EUR and B-32 over 80 EUR. Refund both today.";
    assert!(!plan(goal, &[back("B-31", 120.0), back("B-32", 80.0)]));
    assert!(plan(goal, &[back("B-31", 120.0), back("B-31", 80.0)]), "one twice, the other not at all");
    assert!(plan(goal, &[back("B-31", 80.0), back("B-32", 120.0)]), "the sums exchanged");
}
