//! `kill -9` of a monitor's children in the middle of a step, as the kernel does it where memory is short: what the step did is unknown,
//! the record says so and of what, a person is asked, and nothing is done twice, not even by the next monitor.

use countersign_plan::verdict::Decision;
use countersign_wire::propose::CaseEvent;
use serde_json::{Value, json};

use crate::goal::kill;
use crate::harness::{Monitor, case, plan, wait_for, wait_for_end};

/// Kills every process of that name while the program of the second step runs.
fn killed_in_a_step(name: &str, said: &str) -> Monitor {
    let mut monitor = Monitor::start();
    monitor.enroll();
    let verdict = monitor
        .submit(&plan(
            "Run the build",
            json!([
                {"id": "first", "action": "write_file", "args": {"path": "first.txt", "content": "1"}},
                {"id": "slow", "action": "run_program",
                 "args": {"argv": ["sh", "-c", "echo run >> runs.txt; sleep 600; echo end >> runs.txt"]}},
                {"id": "last", "action": "write_file", "args": {"path": "last.txt", "content": "3"}},
            ]),
        ))
        .unwrap();
    assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
    let case = case(&verdict);
    monitor.approve(&verdict).unwrap();
    wait_for("the program's first line", || monitor.read("runs.txt").as_deref() == Some("run\n"));
    let running = crate::outside::processes(&monitor);
    let victims: Vec<u32> = running.iter().filter(|(_, is)| *is == name).map(|(pid, _)| *pid).collect();
    assert!(!victims.is_empty(), "{name} runs: {running:?}");
    let zygote = monitor.processes("countersign-zygote");
    let below = monitor.below();
    for pid in victims {
        kill(pid);
    }
    let unknown = |event: &CaseEvent| matches!(event, CaseEvent::Stage { stage, .. } if stage == "indeterminate");
    let events = monitor.watch(&case, unknown);
    assert!(events.last().is_some_and(unknown), "{events:#?}");

    let of = |records: &[Value], kind: &str| -> Vec<Value> {
        let wanted = |record: &&Value| record["case"] == case.as_str() && record["kind"] == kind;
        records.iter().filter(wanted).map(|record| record["payload"].clone()).collect()
    };
    let check = |monitor: &Monitor| {
        assert_eq!(monitor.show(&case).stage, "indeterminate", "{name}");
        let records = monitor.records();
        let mut unknown = of(&records, "case_halted");
        unknown.retain(|record| record["indeterminate"] == true);
        assert_eq!(unknown.len(), 1, "{name}: {unknown:?}");
        assert_eq!((&unknown[0]["step"], &unknown[0]["phase"]), (&json!("slow"), &json!("act")), "{name}");
        assert!(unknown[0]["message"].as_str().unwrap().contains(said), "{name}: {unknown:?}");
        // Keeping and acting, of two steps; the last of them has no outcome, and nobody made one up.
        assert_eq!((of(&records, "intent").len(), of(&records, "outcome").len()), (4, 3), "{name}");
        assert_eq!(of(&records, "critical"), Vec::<Value>::new(), "{name}: who was killed is not accused");
        assert_eq!(monitor.read("first.txt").as_deref(), Some("1"), "{name}: nothing is taken back by guessing");
        assert_eq!(monitor.read("runs.txt").as_deref(), Some("run\n"), "{name}: done once, and not to its end");
        assert_eq!(monitor.read("last.txt"), None, "{name}");
    };
    check(&monitor);
    // Of the case nothing is left: neither executor nor step, nor what the step had started.
    let spares = ["countersign-planner", "countersign-inspector", "countersign-broker", "countersign-zygote"];
    let spared: Vec<u32> = spares.iter().flat_map(|spare| monitor.processes(spare)).collect();
    let gone: Vec<(u32, u64)> = below.into_iter().filter(|(pid, _)| !spared.contains(pid)).collect();
    wait_for_end(&gone);
    if name == "countersign-zygote" {
        assert!(zygote.iter().all(|pid| !monitor.processes(name).contains(pid)));
    } else {
        let note =
            plan("Write", json!([{"id": "a", "action": "write_file", "args": {"path": "next", "content": "x"}}]));
        let next = monitor.submit(&note).unwrap();
        assert_eq!(monitor.ended(&crate::harness::case(&next)), "completed", "{name}: others go on");
    }
    monitor.kill();
    monitor.up().unwrap();
    check(&monitor);
    monitor
}

#[test]
fn inv_2_an_executor_that_is_killed_leaves_a_person_to_decide() {
    killed_in_a_step("countersign-executor", "the executor is gone");
}

#[test]
fn inv_2_a_step_that_is_killed_leaves_a_person_to_decide() {
    killed_in_a_step("countersign-step", "the step child ended with signal 9");
}

/// With the zygote everything that runs dies. Nothing runs until there is another one.
#[test]
fn inv_2_a_zygote_that_is_killed_leaves_a_person_to_decide() {
    let monitor = killed_in_a_step("countersign-zygote", "the zygote ended");
    let note = plan("Write", json!([{"id": "a", "action": "write_file", "args": {"path": "next", "content": "x"}}]));
    let next = monitor.submit(&note).unwrap();
    assert_eq!(monitor.ended(&case(&next)), "completed", "the next monitor has its own");
}
