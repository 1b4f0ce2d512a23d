//! Without namespaces: Landlock, seccomp, limits and hygiene, and the plain statement that the rest is missing.

use countersign_sandbox::{Exit, Level};
use serde_json::json;

use crate::harness::{Work, command_without_namespaces, everyone, grant, run, run_in};

#[test]
fn built_in_tools_stay_within_their_grants() {
    for who in everyone() {
        let work = Work::new(who);
        let outside = work.file(who, "outside/secret", "secret");
        let readable = work.file(who, "in/readable", "text");
        work.file(who, "out/old", "old");
        let view = json!({ "read_only": [grant(work.at("in"))], "read_write": [grant(work.at("out"))] });
        let outcome = run(
            who,
            &json!({ "role": "builtin", "no_user_namespaces": true, "view": view, "operations": [
                { "read": readable }, { "write": [readable, "x"] }, { "read": outside }, { "write": [work.at("out/new"), "new"] },
                { "read": "/etc/passwd" }, { "list": "/" }, "environment",
            ]}),
        )
        .good();
        assert_eq!(outcome.answer(0), Ok("text"));
        assert_eq!(outcome.answer(3), Ok("done"));
        assert_eq!(outcome.answer(6), Ok("0"));
        for refused in [1, 2, 4, 5] {
            assert!(outcome.answer(refused).is_err(), "{refused}: {outcome:#?}");
        }
        let enforcement = outcome.enforcement.unwrap();
        assert_eq!(enforcement.level(), Level::NoUserns, "{enforcement:#?}");
        assert!(enforcement.gaps.iter().any(|gap| gap.missing == "namespaces"));
    }
}

#[test]
fn a_planner_is_still_closed() {
    for who in everyone() {
        let outcome = run(
            who,
            &json!({ "role": "planner", "no_user_namespaces": true, "operations": [{ "read": "/etc/passwd" }] }),
        )
        .good();
        assert_eq!(outcome.exit, Some(Exit::Signal(31)));
    }
}

#[test]
fn a_mask_or_a_protected_part_inside_a_grant_is_refused_rather_than_ignored() {
    for who in everyone() {
        let work = Work::new(who);
        work.file(who, "secret", "secret");
        work.file(who, ".git/config", "config");
        for view in [
            json!({ "read_write": [grant(work.path())], "masked": [work.at("secret")] }),
            json!({ "read_write": [grant(work.path())], "read_only": [grant(work.at(".git"))] }),
        ] {
            let outcome = run(who, &json!({ "role": "builtin", "no_user_namespaces": true, "view": view }));
            assert!(
                outcome.refused.as_ref().is_some_and(|reason| reason.contains("only namespaces enforce")),
                "{outcome:#?}"
            );
        }
    }
}

#[test]
fn namespaces_that_are_refused_are_named_with_what_to_do() {
    for who in everyone() {
        let outcome = run_in(command_without_namespaces(who), &json!({ "role": "planner" }));
        let reason = outcome.refused.unwrap();
        assert!(reason.contains("max_user_namespaces") && reason.contains("no_userns"), "{reason}");
    }
}
