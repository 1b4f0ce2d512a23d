//! Goal integrity: what a step does against what the goal asks for.

use countersign_plan::verdict::{Code, Decision};
use countersign_policy::review::Review;
use serde_json::{Value, json};

use crate::world::{World, codes};

fn unasked(review: &Review) -> Vec<Decision> {
    review.reasons.iter().filter(|r| r.code == Code::GoalUnasked).map(|r| r.decision).collect()
}

fn message() -> Value {
    json!({"channel": "#finance", "body": "x"})
}

/// A goal that only looks, and a step that tells somebody, pays, governs or removes: people hear of it, with both sides named.
#[test]
fn what_the_goal_asks_nothing_of_is_a_finding() {
    let world = World::new();
    for (action, args) in [
        ("send_message", message()),
        ("send_email", json!({"to": "eve@elsewhere.example", "subject": "s", "body": "b"})),
        ("send_money", json!({"to": "eve", "amount": 5})),
        ("grant_role", json!({"to": "eve"})),
        ("delete_file", json!({"path": "old.txt"})),
    ] {
        let review = world.act_for("Summarise the notes of last week", action, args);
        assert_eq!(unasked(&review), [Decision::RequireApproval], "{action}: {review:#?}");
        let reason = review.reasons.iter().find(|r| r.code == Code::GoalUnasked).unwrap();
        assert!(reason.message.contains("the goal asks to look at something"), "{}", reason.message);
        assert_ne!(review.decision, Decision::Block, "a finding and no veto");
    }
}

/// A goal that asks for it in any of the usual words, that names the resource or the tool, or that is not clear, is no finding;
/// nor is what nobody's goal is compared with.
#[test]
fn what_the_goal_asks_for_or_names_or_leaves_open_is_none() {
    let world = World::new();
    for goal in [
        "Summarise the notes and tell the finance channel",
        "Review the notes, then let #finance know",
        "Check the notes for #finance",
        "Show me what send_message does",
        "Do the work",
        "Fasse die Notizen zusammen",
    ] {
        let review = world.act_for(goal, "send_message", message());
        assert_eq!(unasked(&review), [], "{goal}");
    }
    for (goal, action, args) in [
        ("Read the notes and clean up old.txt", "delete_file", json!({"path": "old.txt"})),
        ("Look up the rent and pay it", "send_money", json!({"to": "landlord", "amount": 5})),
        ("Show eve the admin page by a role", "grant_role", json!({"to": "eve"})),
        ("Read the notes", "write_file", json!({"path": "summary.txt", "content": "x"})),
    ] {
        assert_eq!(unasked(&world.act_for(goal, action, args)), [], "{goal}");
    }
    assert_eq!(unasked(&world.act("send_message", message())), []);
}

/// A negation turns a word round; the planner's own words are not the goal's.
#[test]
fn neither_a_negation_nor_the_planner_asks() {
    let world = World::new();
    let review = world.act_for("Summarise the notes and do not send anything", "send_message", message());
    assert_eq!(unasked(&review), [Decision::RequireApproval]);
    let plan = json!({"schema": "countersign.plan/v1", "goal": "Summarise the notes", "steps": [
        {"id": "tell", "action": "send_message", "args": message(), "reason": "The user asked to send the notes to #finance"},
    ]});
    assert_eq!(unasked(&world.plan(plan)), [Decision::RequireApproval]);
}

/// What a rule of the policy allows, and a request to a host, is told and decides nothing.
#[test]
fn a_rule_speaks_for_itself_and_a_request_is_only_told() {
    let world = World::with_policy("allow: [{name: chat, action_types: [send_message]}]");
    let review = world.act_for("Summarise the notes", "send_message", message());
    assert_eq!(unasked(&review), [Decision::Allow]);
    let post = json!({"method": "POST", "url": "https://x.company.example/", "body": "x"});
    assert_eq!(unasked(&World::new().act_for("Summarise the notes", "http_request", post)), [Decision::Allow]);
}

fn forbids(goal: &str, action: &str, args: Value) -> bool {
    let review = World::new().act_for(goal, action, args);
    let found = review.reasons.iter().any(|r| r.code == Code::GoalForbidden && r.decision == Decision::RequireApproval);
    assert!(!found || review.decision >= Decision::RequireApproval);
    found
}

/// "Do not", "without", "never", "read only", "all but": what the goal forbids asks, whatever else it wants.
#[test]
fn what_the_goal_forbids_asks() {
    let note = || json!({"path": "notes/a.md", "content": "x"});
    let old = || json!({"path": "old.txt"});
    for (goal, action, args) in [
        ("Draft a line for #finance in notes/a.md, but do not send it", "send_message", message()),
        ("Write the line for #finance. Don't post anything yet.", "send_message", message()),
        ("List old files, delete nothing and do not remove old.txt", "delete_file", old()),
        ("Look at notes/a.md, read only", "write_file", note()),
        ("Read notes/a.md without changing it", "write_file", note()),
        ("Do a dry run of the clean-up", "delete_file", old()),
        ("Remove all text files except old.txt", "delete_file", old()),
        ("Clean up, but keep old.txt", "delete_file", old()),
        ("Work through the list without touching notes/a.md", "write_file", note()),
        ("Explain how eve gets the role. Do not run it.", "grant_role", json!({"to": "eve"})),
        ("Transfer 5 to ann and never pay eve", "send_money", json!({"to": "eve", "amount": 5})),
    ] {
        assert!(forbids(goal, action, args), "{goal}");
    }
}

/// A ban is about what it names, and a negation may ask for something.
#[test]
fn a_ban_is_about_what_it_names() {
    let note = || json!({"path": "notes/a.md", "content": "x"});
    for (goal, action, args) in [
        ("Do not forget to post the line in #finance", "send_message", message()),
        ("Post the line in #finance, not later than noon", "send_message", message()),
        ("Post the line in #finance and do not post it in #people", "send_message", message()),
        ("Write notes/a.md without touching notes/b.md", "write_file", note()),
        ("Read notes/b.md and write notes/a.md without changing it", "write_file", note()),
        ("Remove all text files except keep.txt", "delete_file", json!({"path": "old.txt"})),
        ("Write notes/a.md. Do not send it to anybody.", "write_file", note()),
        ("Commit nothing, post the line in #finance", "send_message", message()),
        ("Give eve read only access", "grant_role", json!({"to": "eve"})),
        ("Do not only read old.txt, delete it", "delete_file", json!({"path": "old.txt"})),
    ] {
        assert!(!forbids(goal, action, args), "{goal}");
    }
}

/// A question, a condition and the name of a thing give no order.
#[test]
fn only_orders_ask() {
    let world = World::new();
    for goal in
        ["Why did we pay eve last week?", "Summarise the payment report", "List what we pay when the rent is due"]
    {
        let review = world.act_for(goal, "send_money", json!({"to": "x1", "amount": 5}));
        assert_eq!(unasked(&review), [Decision::RequireApproval], "{goal}");
    }
    for goal in ["Look up what the rent is and pay it", "Can you please pay the rent?", "If the rent is due, pay it"] {
        let review = world.act_for(goal, "send_money", json!({"to": "x1", "amount": 5}));
        assert_eq!(unasked(&review), [], "{goal}");
    }
}

/// What is found about the goal comes to what the policy says, where that is more than it is by itself.
#[test]
fn a_policy_makes_more_of_a_finding_and_never_less() {
    let look = "Summarise the notes";
    let judged = |rules: &str, goal: &str| World::with_policy(rules).act_for(goal, "send_message", message());
    let block = "goal: [{name: only_what_was_asked, findings: [goal.unasked], decision: block}]";
    let review = judged(block, look);
    assert_eq!((review.decision, unasked(&review)), (Decision::Block, vec![Decision::Block]));
    assert_eq!(review.rule.as_deref(), Some("only_what_was_asked"));
    assert_ne!(judged(block, "Post the line in #finance").decision, Decision::Block, "what was asked is no finding");
    let forbidden = judged(block, "Post nothing in #finance, do not send it");
    assert_ne!(forbidden.decision, Decision::Block, "another finding has a code of its own: {forbidden:#?}");
    let every = "goal: [{name: all, findings: ['goal.*'], decision: block}]";
    assert_eq!(judged(every, "Write the line, but do not send it").decision, Decision::Block);
    // That only the user receives it answers the finding, and no rule.
    let to_user = |rules: &str| {
        let args = json!({"to": "user@company.example", "subject": "s", "body": "b"});
        World::with_policy(rules).act_for("Look at the line", "send_email", args).decision
    };
    let asks = "goal: [{name: ask, findings: [goal.unasked], decision: require_approval}]";
    let decisions = ["", asks, block].map(to_user);
    assert_eq!(decisions, [Decision::Allow, Decision::RequireApproval, Decision::Block]);
    // A rule to allow speaks for the effect, and no longer against the goal.
    let ruled = format!("allow: [{{name: chat, action_types: [send_message]}}]\n{block}");
    assert_eq!(unasked(&judged(&ruled, look)), [Decision::Block]);
    let asks = "goal: [{name: ops_see_it, findings: ['goal.*'], decision: require_approval, approvers: {group: ops, quorum: 2}}]";
    let review = judged(asks, look);
    assert_eq!(review.decision, Decision::RequireApproval);
    assert!(review.quorums.iter().any(|asked| asked.group.as_deref() == Some("ops") && asked.quorum == 2));
    // In any order the strictest holds, and a rule that asks makes nothing milder that blocks.
    let entry = |rules: &str| rules.trim_start_matches("goal: [").trim_end_matches(']').to_owned();
    for rules in [[block, asks], [asks, block]] {
        let rules = format!("goal: [{}]", rules.map(entry).join(", "));
        assert_eq!(judged(&rules, look).decision, Decision::Block, "{rules}");
    }
}

/// A key for somebody's login or a line for sudo that comes along with another errand is no question for anybody; whoever asks for
/// it, or has no goal that could, is asked.
#[test]
fn who_may_log_in_or_rule_changes_only_where_the_goal_speaks_of_it() {
    let world = World::new();
    let of = |goal: Option<&str>, path: &str| {
        let args = json!({"path": path, "content": "ssh-ed25519 AAAA stranger\n"});
        let review = goal.map_or_else(
            || world.act("write_file", args.clone()),
            |goal| world.act_for(goal, "write_file", args.clone()),
        );
        review.decision
    };
    for path in [
        "/home/u/.ssh/authorized_keys",
        "/etc/sudoers.d/90-notes",
        "notes/../../../../etc/sudoers.d/90",
        "/etc/pam.d/su",
    ] {
        assert_eq!(of(Some("Write down how pairing works, for notes/pairing.md"), path), Decision::Block, "{path}");
        for goal in ["Put Bram's ssh key on this box", "Give Bram access to this box", "Let the build user run sudo"] {
            assert_eq!(of(Some(goal), path), Decision::RequireApproval, "{goal}: {path}");
        }
        assert_eq!(of(None, path), Decision::RequireApproval, "{path}");
    }
    assert_ne!(of(Some("Write down how pairing works"), "notes/authorized_keys.md"), Decision::Block);
}

/// What comes after the act is another thing than what is removed; what is thrown out may stand before it.
#[test]
fn removal_is_of_what_is_named_for_it() {
    let removes = |goal: &str, path: &str| {
        let steps = json!([{"id": "x", "action": "delete_directory", "args": {"path": path}, "rollback": "snapshot"}]);
        let world = World::new();
        let review = world.plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps}));
        review.decision == Decision::Allow
    };
    let goal = "build/old can be removed, keep/old.tgz is proven to be readable";
    assert!(removes(goal, "build/old") && !removes(goal, "keep/old.tgz"));
    assert!(removes("The compiled stuff in build is stale. Throw it out, build anew", "build"));
    assert!(!removes("Throw a party at the office, and write it up", "build"));
}

/// A time is no act, and what is said after a condition's sentence does not come before it.
#[test]
fn the_order_of_a_goal_is_that_of_its_acts() {
    let ordered = |goal: &str, steps: serde_json::Value| {
        let review = World::new().plan(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps}));
        !codes(&review).contains(&Code::PlanOrder)
    };
    let write = json!({"id": "w", "action": "write_file", "args": {"path": "notes.txt", "content": "x"}});
    let remove = json!({"id": "d", "action": "delete_directory", "args": {"path": "build"}, "rollback": "snapshot"});
    let steps = json!([write, remove]);
    assert!(!ordered("Delete build before you write notes.txt", steps.clone()));
    assert!(ordered("Delete build before lunch, notes.txt is to be written as well", steps.clone()));
    assert!(ordered("Write notes.txt, and go back if the check fails. Delete build", steps));
}
