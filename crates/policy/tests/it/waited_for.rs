//! What a goal makes an act wait for, and looks that wait for something else: another state, another record, tests that do not run.

use countersign_plan::verdict::{Code, Decision};
use serde_json::{Value, json};

use crate::worded::decided;

/// Whether people are asked about what the act waits for.
fn asks(goal: &str, steps: Value) -> bool {
    let codes = [Code::PlanOrder, Code::PlanExpectVacuous];
    let review = decided(goal, steps);
    review.reasons.iter().any(|reason| codes.contains(&reason.code) && reason.decision == Decision::RequireApproval)
}

fn look(order: &str, expect: Value) -> Value {
    json!({"id": "o", "action": "order_get", "args": {"to": order}, "expect": [expect]})
}

fn off(order: &str) -> Value {
    json!({"id": "f", "action": "job_set_status", "args": {"to": order, "status": "closed"}, "needs": ["o"]})
}

#[test]
fn the_state_that_is_waited_for_is_the_one_that_is_expected() {
    let goal = "Set J-54 to closed if its checks are green. Do not touch J-55.";
    let waits = |expect: Value| asks(goal, json!([look("J-54", expect), off("J-54")]));
    for right in [
        json!({"output": "/checks", "equals": "success"}),
        json!({"output": "/checks", "matches": "green|passed"}),
        json!({"output": "/green", "equals": true}),
        json!({"output": "/failures", "max": 0}),
    ] {
        assert!(!waits(right.clone()), "{right}");
    }
    for wrong in [
        json!({"output": "/checks", "equals": "failure"}),
        json!({"output": "/checks", "matches": "success|pending"}),
        json!({"output": "/checks", "matches": "[a-z]+"}),
        json!({"output": "/green", "equals": false}),
        json!({"output": "/base", "equals": "main"}),
    ] {
        assert!(waits(wrong.clone()), "{wrong}");
    }
    let turned = "If the checks of J-54 are green, leave it. Otherwise set J-54 to closed.";
    assert!(!asks(turned, json!([look("J-54", json!({"output": "/checks", "equals": "failure"})), off("J-54")])));
}

#[test]
fn a_state_that_is_excepted_is_looked_for() {
    let goal = "Set J-54 to closed unless somebody has disputed it";
    let waits = |expect: Value| asks(goal, json!([look("J-54", expect), off("J-54")]));
    assert!(waits(json!({"output": "/amount", "equals": 912.4})), "a sum says nothing of it");
    assert!(!waits(json!({"output": "/state", "equals": "open"})));
    let number = "Set J-54 to closed unless it is over 500";
    assert!(!asks(number, json!([look("J-54", json!({"output": "/amount", "max": 500})), off("J-54")])));
}

#[test]
fn a_number_below_nothing_keeps_its_sign() {
    let goal = "Set J-54 to closed if the store is at -18 degrees or colder";
    let waits = |most: i32| asks(goal, json!([look("J-54", json!({"output": "/celsius", "max": most})), off("J-54")]));
    assert!(waits(18));
    assert!(!waits(-18));
}

#[test]
fn the_number_that_is_waited_for_is_not_turned_round() {
    let goal = "If J-54 has at least two approvals, set it to closed";
    let waits = |expect: Value| asks(goal, json!([look("J-54", expect), off("J-54")]));
    assert!(waits(json!({"output": "/approvals", "min": 1})));
    assert!(waits(json!({"output": "/approvals", "max": 2})));
    assert!(!waits(json!({"output": "/approvals", "min": 2})));
    let most = "If J-54 has at most two open points, set it to closed";
    assert!(!asks(most, json!([look("J-54", json!({"output": "/open", "max": 2})), off("J-54")])));
}

#[test]
fn what_is_looked_at_is_what_the_act_is_for() {
    let goal = "Set J-54 to closed if its checks are green. Do not touch J-55.";
    let green = json!({"output": "/checks", "equals": "green"});
    assert!(asks(goal, json!([look("J-55", green.clone()), off("J-54")])));
    assert!(!asks(goal, json!([look("J-54", green.clone()), off("J-54")])));
    let of_another = "Set J-54 to closed if the checks of J-55 are green";
    assert!(!asks(of_another, json!([look("J-55", green), off("J-54")])));
}

#[test]
fn tests_that_are_waited_for_run_all_and_stop_what_comes_after_them() {
    let goal = "Run the tests, and only when they are green push the branch fix/dst";
    let plan = |test: &str, expect: Value| {
        let test = json!({"id": "t", "action": "execute_command", "args": {"command": test}, "expect": expect});
        let push = json!({"id": "p", "action": "execute_command", "args": {"command": "git push origin fix/dst"}, "needs": ["t"]});
        asks(goal, json!([test, push]))
    };
    for right in
        ["pytest -q", "make test", "cargo test --workspace", "cd app && npm test", "bash scripts/test.sh", "ctest -V"]
    {
        assert!(!plan(right, json!([])), "{right}");
    }
    for wrong in ["pytest --version", "pytest --co", "pytest -k nothing", "pytest tests/test_a.py", "git status"] {
        assert!(plan(wrong, json!([])), "{wrong}");
    }
    assert!(plan("pytest -q", json!([{"exit_code": 1}])));
    assert!(plan("pytest -q", json!([{"exit_code": {"in": [0, 1]}}])));
    assert!(!plan("pytest -q", json!([{"exit_code": 0}])));
    let line =
        |command: &str| asks(goal, json!([{"id": "p", "action": "execute_command", "args": {"command": command}}]));
    assert!(line("pytest -q; git push origin fix/dst"));
    assert!(!line("pytest -q && git push origin fix/dst"));
    let one = "Run tests/test_a.py, and only when it is green push the branch fix/dst";
    let test = json!({"id": "t", "action": "execute_command", "args": {"command": "pytest tests/test_a.py"}});
    let push =
        json!({"id": "p", "action": "execute_command", "args": {"command": "git push origin fix/dst"}, "needs": ["t"]});
    assert!(!asks(one, json!([test, push])), "the one that is named");
}
