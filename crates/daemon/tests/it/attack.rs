//! Attempts to have something done without leave, each from where an attacker would stand.

use countersign_plan::verdict::{Code, Decision};
use countersign_wire::operator::to_monitor::{Answer, Kind};
use serde_json::{Value, json};

use crate::harness::{Monitor, case, plan};

fn writing(content: &str) -> Value {
    plan(
        "Run the build",
        json!([
            {"id": "run", "action": "run_program", "args": {"argv": ["sh", "-c", format!("echo {content} > made.txt")]}},
        ]),
    )
}

/// INV-3, `lesson_20`: an approval is of one plan, and of every byte of it.
#[test]
fn an_approval_of_one_plan_is_none_of_another() {
    let monitor = Monitor::start();
    monitor.enroll();
    let shown = monitor.submit(&writing("good")).unwrap();
    let altered = monitor.submit(&writing("evil")).unwrap();
    assert_eq!(altered.decision, Decision::RequireApproval, "{altered:#?}");
    let mut mixed = shown.clone();
    mixed.case.clone_from(&altered.case);
    assert!(monitor.approve(&mixed).is_err());
    // One bit of the signed envelope.
    let mut envelope = monitor.approval(&altered);
    let at = envelope.len() / 2;
    envelope[at] ^= 1;
    assert!(monitor.operate(Kind::Answer(Answer { envelope })).is_err());
    assert_eq!(monitor.show(&case(&altered)).stage, "pending");
    assert_eq!(monitor.read("made.txt"), None);
}

/// INV-7, `lesson_01`, `lesson_21`: who is not enrolled approves nothing, whatever the record says.
#[test]
fn lesson_01_nobody_approves_without_an_enrolled_key() {
    let monitor = Monitor::start();
    let verdict = monitor.submit(&writing("x")).unwrap();
    assert!(monitor.approve(&verdict).is_err());
    assert_eq!(monitor.show(&case(&verdict)).stage, "pending");
}

/// `lesson_21`: an approval counts once.
#[test]
fn lesson_21_an_approval_is_spent() {
    let monitor = Monitor::start();
    monitor.enroll();
    let verdict = monitor.submit(&writing("x")).unwrap();
    monitor.approve(&verdict).unwrap();
    assert_eq!(monitor.ended(&case(&verdict)), "completed");
    assert!(monitor.approve(&verdict).is_err());
    assert_eq!(monitor.count(&case(&verdict), "intent"), monitor.count(&case(&verdict), "outcome"));
}

/// `lesson_11`: a link put in the way after the review.
#[test]
fn lesson_11_a_folder_swapped_for_a_link_after_approval_stops_the_plan() {
    let monitor = Monitor::start();
    monitor.enroll();
    monitor.file("build/x", "artefact");
    std::fs::create_dir(monitor.path("precious")).unwrap();
    std::fs::write(monitor.path("precious/letter"), "mine").unwrap();
    let verdict = monitor
        .submit(&plan(
            "Remove the build folder and run the build",
            json!([
                {"id": "run", "action": "run_program", "args": {"argv": ["true"]}},
                {"id": "clean", "action": "delete_directory", "args": {"path": "build"}},
            ]),
        ))
        .unwrap();
    assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
    std::fs::rename(monitor.path("work/build"), monitor.path("old-build")).unwrap();
    std::os::unix::fs::symlink(monitor.path("precious"), monitor.path("work/build")).unwrap();
    monitor.approve(&verdict).unwrap();
    assert_ne!(monitor.ended(&case(&verdict)), "completed");
    assert_eq!(std::fs::read_to_string(monitor.path("precious/letter")).unwrap(), "mine");
}

/// A step sees neither the sockets nor the state nor the key of the monitor, whatever is granted (`lesson_01`, `lesson_03`).
#[test]
fn a_step_sees_nothing_of_the_monitor() {
    let monitor = Monitor::start();
    let run = monitor.path("run").display().to_string();
    let state = monitor.path("state").display().to_string();
    let line = format!("ls {run}/ {state}/ ; cat {state}/gate.key ; env ; test ! -e {run}/propose.sock && echo unseen");
    let look = |command: &str| {
        let steps = json!([{"id": "look", "action": "execute_command", "args": {"command": command}}]);
        monitor.submit(&plan("Look around", steps)).unwrap()
    };
    // What says where it looks is blocked; what hides it in a script of the workspace runs, and sees nothing.
    assert_eq!(look(&line).decision, Decision::Block);
    monitor.file("look.sh", &line);
    let verdict = look("sh look.sh");
    assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
    assert_eq!(monitor.ended(&case(&verdict)), "completed");
    let view = serde_json::to_string(&monitor.show(&case(&verdict)).events).unwrap();
    assert!(view.contains("unseen"), "{view}");
    let key = std::fs::read_to_string(monitor.path("state/gate.key")).unwrap();
    assert!(!view.contains(key.trim()), "the key was seen");
}

/// Own files are no target, even by approval.
#[test]
fn the_ledger_is_no_target() {
    let monitor = Monitor::start();
    let ledger = monitor.path("state/ledger.db").display().to_string();
    for (action, args) in [
        ("delete_file", json!({"path": ledger})),
        ("write_file", json!({"path": ledger, "content": ""})),
        ("read_file", json!({"path": monitor.path("state/gate.key").display().to_string()})),
    ] {
        let verdict = monitor.submit(&plan("Tidy", json!([{"id": "a", "action": action, "args": args}]))).unwrap();
        assert_eq!(verdict.decision, Decision::Block, "{action}: {verdict:#?}");
    }
}

#[test]
fn bad_documents_are_blocked_with_the_place_and_the_monitor_lives_on() {
    let monitor = Monitor::start();
    let mut deep = json!("x");
    for _ in 0..60 {
        deep = json!([deep]);
    }
    // What is wrong, by code, and where: a pointer into the document, or the step.
    let bad = [
        (json!({}), Code::PlanInvalid, "/schema: "),
        (json!([]), Code::PlanInvalid, "/schema: "),
        (json!({"schema": "countersign.plan/v1", "goal": "g", "steps": []}), Code::PlanInvalid, "/steps: "),
        (
            plan("g", json!([{"id": "a", "action": "read_file", "args": {"path": {"$from": "b"}}}])),
            Code::PlanInvalid,
            "/steps/0/args/path: step `b`",
        ),
        (plan("g", json!([{"id": "a", "action": "no_such_tool", "args": {}}])), Code::ToolUnknown, "`no_such_tool`"),
        (
            plan("g", json!([{"id": "a", "action": "read_file", "args": {"path": "x", "extra": 1}}])),
            Code::ToolArguments,
            "'extra'",
        ),
        (
            plan("g", json!([{"id": "a", "action": "write_file", "args": {"path": "x", "content": deep}}])),
            Code::PlanInvalid,
            "/steps/0/args/content/0/0",
        ),
        (
            plan("g", json!([{"id": "a", "action": "read_file", "args": {"path": "a\u{202e}b"}}])),
            Code::PlanHiddenText,
            "U+202E",
        ),
        (
            plan("g", json!([{"id": "a", "action": "read_file", "args": {"path": "x"}, "approved": true}])),
            Code::PlanInvalid,
            "/steps/0",
        ),
        (
            plan("g", json!([{"id": "a b", "action": "read_file", "args": {"path": "x"}}])),
            Code::PlanInvalid,
            "/steps/0/id",
        ),
    ];
    for (document, code, place) in bad {
        let verdict = monitor.submit(&document).unwrap();
        assert_eq!(verdict.decision, Decision::Block, "{document}: {verdict:#?}");
        let [reason] = verdict.reasons.as_slice() else { panic!("{document}: one reason: {verdict:#?}") };
        assert_eq!((reason.code, reason.decision), (code, Decision::Block), "{document}: {reason:?}");
        assert!(reason.message.contains(place), "{document}: {reason:?}");
        let step = (code != Code::PlanInvalid).then(|| "a".parse().unwrap());
        assert_eq!(reason.step, step, "{document}: a finding about a step names it");
        assert!(!reason.message.contains('\u{202e}'), "what hides is not shown as it is");
    }
    assert_eq!(monitor.read("x"), None);
    let fine = plan("Look", json!([{"id": "a", "action": "list_directory", "args": {"path": "."}}]));
    assert_eq!(monitor.check(&fine).unwrap().decision, Decision::Allow);
}

#[test]
fn hostile_frames_close_the_connection_and_nothing_else() {
    use std::io::{Read as _, Write as _};
    let monitor = Monitor::start();
    for bytes in
        [vec![0xff; 64], vec![0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff], vec![0x7f, 0xff, 0xff, 0xff], vec![0, 0, 0, 9, 1]]
    {
        for socket in ["propose.sock", "operator.sock"] {
            let mut stream = monitor.connect(socket);
            drop(stream.write_all(&bytes));
            drop(stream.shutdown(std::net::Shutdown::Write));
            let mut rest = Vec::new();
            drop(stream.read_to_end(&mut rest));
        }
    }
    let fine = plan("Look", json!([{"id": "a", "action": "list_directory", "args": {"path": "."}}]));
    assert_eq!(monitor.check(&fine).unwrap().decision, Decision::Allow);
}

/// Rules that somebody wrote and that nobody reads are an error, and not left out in silence.
#[test]
fn a_policy_that_no_deployment_names_is_refused_until_one_does() {
    let monitor = Monitor::start();
    let write = |name: &str, text: &str| std::fs::write(monitor.path(&format!("config/{name}")), text).unwrap();
    write(
        "policy.yaml",
        "schema: countersign.policy/v1\ndeny: [{name: no_lists, action_types: [list_directory], paths: ['**']}]\n",
    );
    let look = plan("Look", json!([{"id": "a", "action": "list_directory", "args": {"path": "."}}]));
    for deployment in [None, Some("schema: countersign.deployment/v1\n")] {
        match deployment {
            None => std::fs::remove_file(monitor.path("config/countersign.yaml")).unwrap(),
            Some(text) => write("countersign.yaml", text),
        }
        let refused = format!("{:?}", monitor.check(&look).unwrap_err());
        assert!(refused.contains("policy.yaml is named by no deployment"), "{refused}");
        assert!(refused.contains("write `policy: policy.yaml` into"), "{refused}");
    }
    write("countersign.yaml", "schema: countersign.deployment/v1\npolicy: policy.yaml\n");
    assert_eq!(monitor.check(&look).unwrap().decision, Decision::Block);
}

/// The trust base: a configuration that comes with the workspace tightens at once, and loosens only once it is trusted at
/// exactly its content.
#[test]
fn a_configuration_from_the_workspace_only_tightens_until_it_is_trusted() {
    let monitor = Monitor::start();
    monitor.enroll();
    monitor.file("countersign.yaml", "schema: countersign.deployment/v1\npolicy: rules.yaml\n");
    let outside = "/srv/elsewhere";
    let rules = format!(
        "schema: countersign.policy/v1\n\
         deny:\n  - {{name: no_notes, action_types: [write_file], paths: [\"notes/**\"]}}\n\
         allow:\n  - {{name: outside, action_types: [write_file], paths: [\"{outside}/**\"]}}\n"
    );
    monitor.file("rules.yaml", &rules);
    let write = |path: &str| {
        plan("Write", json!([{"id": "a", "action": "write_file", "args": {"path": path, "content": "x"}}]))
    };
    let elsewhere = write(&format!("{outside}/a"));
    let denied = monitor.check(&write("notes/a")).unwrap();
    assert_eq!(denied.decision, Decision::Block, "{denied:#?}");
    assert_eq!(
        monitor.check(&elsewhere).unwrap().decision,
        Decision::RequireApproval,
        "an untrusted allow rule counted"
    );
    monitor.trust("rules.yaml").unwrap();
    let trusted = monitor.check(&elsewhere).unwrap();
    assert_eq!(trusted.decision, Decision::Allow, "{trusted:#?}");
    // Another content is another file.
    monitor.file("rules.yaml", &format!("{rules}# changed\n"));
    assert_eq!(monitor.check(&elsewhere).unwrap().decision, Decision::RequireApproval, "trust outlived the content");
    // And the plan cannot change the file that judges it.
    let own = plan(
        "Replace the rules",
        json!([{"id": "a", "action": "write_file", "args": {"path": "rules.yaml", "content": "x"}}]),
    );
    assert_eq!(monitor.check(&own).unwrap().decision, Decision::Block);
}
