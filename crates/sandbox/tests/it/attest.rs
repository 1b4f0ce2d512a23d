//! A child that skipped a layer announces itself all the same; the attestation rejects it. One test per layer.

use serde_json::json;

use crate::harness::{everyone, run};

/// Spawns with everything but one layer and attests against everything.
fn rejection(layer: &str) -> Vec<String> {
    everyone()
        .into_iter()
        .map(|who| {
            // A spawner that hands namespaces on and leaves them would give it fresh ones all the same.
            let scenario = json!({ "role": "builtin", "without": [layer], "expect_all": true, "no_spares": true });
            let outcome = run(who, &scenario);
            assert_eq!((&outcome.refused, &outcome.not_ready), (&None, &None), "{who:?} {layer}: {outcome:#?}");
            outcome.not_attested.unwrap_or_else(|| panic!("{who:?}: a child without {layer} was accepted"))
        })
        .collect()
}

fn rejected_for(layer: &str, what: &str) {
    for reason in rejection(layer) {
        assert!(reason.contains(what), "{layer}: {reason}");
    }
}

#[test]
fn skipped_seccomp() {
    rejected_for("seccomp", "Seccomp is 0");
}

/// The layer is asked for and the child pretends.
#[test]
fn a_child_that_does_not_seal_itself_is_rejected() {
    for who in everyone() {
        let outcome = run(who, &json!({ "role": "planner", "skipped": ["seccomp"] }));
        assert!(outcome.not_attested.as_ref().is_some_and(|reason| reason.contains("Seccomp is 0")), "{outcome:#?}");
    }
}

#[test]
fn skipped_capabilities() {
    rejected_for("capabilities", "Cap");
}

#[test]
fn skipped_descriptors() {
    for who in everyone() {
        let outcome = run(who, &json!({ "role": "builtin", "without": ["descriptors"], "leak": true }));
        assert_eq!(
            (&outcome.refused, &outcome.not_ready, &outcome.not_attested),
            (&None, &None, &None),
            "{outcome:#?}"
        );
        let outcome =
            run(who, &json!({ "role": "builtin", "without": ["descriptors"], "leak": true, "expect_all": true }));
        let reason = outcome.not_attested.as_deref().unwrap_or_default();
        assert!(reason.contains("descriptor list"), "{outcome:#?}");
    }
}

#[test]
fn skipped_environment() {
    rejected_for("environment", "environment");
}

#[test]
fn skipped_session() {
    rejected_for("session", "session");
}

#[test]
fn skipped_namespaces() {
    for (layer, what) in [
        ("mount-view", "mount namespace"),
        ("process-namespace", "process namespace"),
        ("network-namespace", "network namespace"),
        ("ipc-namespace", "IPC namespace"),
        ("host-namespace", "host name namespace"),
        ("cgroup-namespace", "cgroup namespace"),
    ] {
        rejected_for(layer, what);
    }
}

#[test]
fn skipped_user_namespace() {
    // Only a privileged spawner can leave it out, which is more than uid 0; the bounding set gives it away first.
    let outcome =
        run(crate::harness::As::Own, &json!({ "role": "builtin", "without": ["user-namespace"], "expect_all": true }));
    if outcome.refused.as_ref().is_some_and(|reason| reason.contains("only inside one")) {
        return;
    }
    let reason = outcome.not_attested.as_deref().unwrap_or_default();
    assert!(reason.contains("CapBnd") || reason.contains("user namespace"), "{outcome:#?}");
}

#[test]
fn skipped_no_new_privileges() {
    // Without it an unprivileged process can enter neither a Landlock domain nor a filter, so those are left out too.
    if rustix::thread::no_new_privs().unwrap() {
        // Inherited from whoever runs the tests: it cannot be left out.
        return;
    }
    for who in everyone() {
        let without = ["no-new-privileges", "landlock", "seccomp"];
        let outcome = run(who, &json!({ "role": "builtin", "without": without, "expect_all": true }));
        assert!(outcome.not_attested.as_ref().is_some_and(|reason| reason.contains("NoNewPrivs")), "{outcome:#?}");
    }
}

#[test]
fn a_second_thread() {
    for who in everyone() {
        let limits = countersign_sandbox::Limits::program();
        let outcome = run(who, &json!({ "role": "threaded", "limits": limits, "kill": "at_once" }));
        assert!(outcome.not_attested.as_ref().is_some_and(|reason| reason.contains("Threads is 2")), "{outcome:#?}");
    }
}

#[test]
fn a_child_that_dies_before_it_is_sealed_is_never_ready() {
    for who in everyone() {
        let outcome = run(who, &json!({ "role": "no-such-role" }));
        assert!(outcome.not_ready.as_ref().is_some_and(|reason| reason.contains("ended before")), "{outcome:#?}");
    }
}
