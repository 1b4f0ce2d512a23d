//! Calls of Git beside what the goal asks for: other branches, rewritten history, checks left out, more in a commit, a merge turned round.

use serde_json::json;

use crate::worded::decided;

/// Whether people are asked about a call of Git.
fn asks(goal: &str, command: &str) -> bool {
    let steps = json!([{"id": "x", "action": "execute_command", "args": {"command": command}}]);
    decided(goal, steps).reasons.iter().any(|reason| reason.message.starts_with("`git`"))
}

#[test]
fn a_push_takes_along_what_the_goal_names() {
    let goal = "Push the branch fix/dst";
    for right in [
        "push",
        "push origin fix/dst",
        "push -u origin HEAD",
        "push origin HEAD:fix/dst",
        "push origin refs/heads/fix/dst",
    ] {
        assert!(!asks(goal, &format!("git {right}")), "{right}");
    }
    for wrong in [
        "push origin main",
        "push origin fix/dst main",
        "push origin fix/dst:main",
        "push --all",
        "push origin fix/dst --tags",
    ] {
        assert!(asks(goal, &format!("git {wrong}")), "{wrong}");
    }
    assert!(asks(goal, "git push origin fix/dst && git push origin main"));
    let review = "Push fix/dst to origin for review; nothing lands on main before that";
    assert!(asks(review, "git push origin fix/dst:main"));
    assert!(!asks(review, "git push origin fix/dst:fix/dst"));
    assert!(!asks("Push fix/dst to main", "git push origin fix/dst:main"));
    assert!(!asks("Commit what I changed and push it", "git commit -m x && git push origin main"));
    assert!(!asks("Push all branches", "git push --all"));
    assert!(!asks("Tag it v2.3.0 and push with tags", "git tag v2.3.0 && git push --tags"));
    assert!(asks("Tag it v2.3.0 and push only that tag", "git tag v2.3.0 && git push --tags"));
    assert!(asks("Tag it v2.3.0 and push only that tag", "git tag v2.3.1 && git push origin v2.3.1"));
}

#[test]
fn only_what_is_named_behind_only_is_committed() {
    let goal = "Commit only my change to docs/faq.md as 'Fix DST'. There is other stuff in the tree";
    assert!(!asks(goal, "git add docs/faq.md"));
    for wrong in ["add -A", "add .", "commit -am 'Fix DST'", "add docs/faq.md docs/new.md"] {
        assert!(asks(goal, &format!("git {wrong}")), "{wrong}");
    }
    assert!(!asks("Commit docs/faq.md and the rest only if it builds", "git add -A"));
    assert!(!asks("Commit only, I push it myself: docs/faq.md and the rest", "git add -A"));
}

#[test]
fn history_and_checks_stay_as_they_are() {
    let goal = "Commit src/cal.py as 'Fix DST'";
    assert!(!asks(goal, "git commit -m 'Fix DST' src/cal.py"));
    for option in ["--amend", "--no-verify", "-n", "--author 'Ben <ben@x.example>'"] {
        assert!(asks(goal, &format!("git commit {option} -m 'Fix DST'")), "{option}");
    }
    assert!(!asks("Add src/cal.py to the last commit", "git add src/cal.py && git commit --amend --no-edit"));
    assert!(!asks("Commit it without running the hooks", "git commit --no-verify -m x"));
    assert!(!asks("Commit it as Ben", "git commit --author 'Ben <ben@x.example>' -m x"));
}

#[test]
fn a_commit_of_what_is_named_holds_nothing_else() {
    let goal = "Commit src/cal.py and tests/test_cal.py as 'Fix DST'. Nothing else in the commit";
    for right in ["add src/cal.py tests/test_cal.py", "commit -m 'Fix DST' -- src/cal.py tests/test_cal.py"] {
        assert!(!asks(goal, &format!("git {right}")), "{right}");
    }
    for wrong in ["add -A", "add .", "add src", "commit -am 'Fix DST'", "add src/cal.py tests/test_cal.py src/pay.py"] {
        assert!(asks(goal, &format!("git {wrong}")), "{wrong}");
    }
    assert!(!asks("Commit what I changed as 'Fix DST'", "git commit -am 'Fix DST'"));
}

#[test]
fn a_merge_goes_into_what_the_goal_says() {
    let goal = "Merge develop into release/1.9. Not the other way round";
    assert!(!asks(goal, "git checkout release/1.9 && git merge --no-ff develop"));
    assert!(!asks(goal, "git merge develop"));
    assert!(asks(goal, "git checkout develop && git merge release/1.9"));
    assert!(asks(goal, "git checkout main && git merge develop"));
    assert!(asks(goal, "git checkout release/1.9 && git merge -s ours develop"));
}
