//! `kill -9` in every state of a run, a full disk, a rolled-back database: nothing twice, nothing lost, nothing without a record.

use countersign_plan::verdict::Decision;
use countersign_wire::propose::CaseEvent;
use serde_json::{Value, json};

use crate::harness::{Monitor, case, plan, wait_for, wait_for_end};

fn slow() -> Value {
    plan(
        "Run the build",
        json!([
            {"id": "first", "action": "write_file", "args": {"path": "first.txt", "content": "1"}},
            {"id": "slow", "action": "run_program", "args": {"argv": ["sh", "-c", "echo run >> runs.txt; sleep 600; echo end >> runs.txt"]}},
            {"id": "last", "action": "write_file", "args": {"path": "last.txt", "content": "3"}},
        ]),
    )
}

/// INV-2: an effect whose outcome is unknown is never repeated by itself.
#[test]
fn a_killed_monitor_executes_nothing_twice() {
    let mut monitor = Monitor::start();
    monitor.enroll();
    let verdict = monitor.submit(&slow()).unwrap();
    assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
    monitor.approve(&verdict).unwrap();
    wait_for("the program's first line", || monitor.read("runs.txt").as_deref() == Some("run\n"));
    let below = monitor.below();
    monitor.kill();
    wait_for_end(&below);
    monitor.up().unwrap();
    assert_eq!(monitor.show(&case(&verdict)).stage, "indeterminate");
    assert_eq!(
        monitor.read("runs.txt").as_deref(),
        Some("run\n"),
        "the program died with the monitor and did not start again"
    );
    assert_eq!(monitor.read("last.txt"), None);
    assert_eq!(
        monitor.count(&case(&verdict), "intent"),
        3 + 1,
        "snapshot and act of `first`, snapshot and act of `slow`"
    );
}

/// INV-2, INV-6: killed before the approval, the case waits on; its old approval still fits, an old permit would not.
#[test]
fn a_pending_case_outlives_the_monitor() {
    let mut monitor = Monitor::start();
    monitor.enroll();
    let quick =
        plan("Run the build", json!([{"id": "run", "action": "run_program", "args": {"argv": ["touch", "made"]}}]));
    let verdict = monitor.submit(&quick).unwrap();
    monitor.kill();
    monitor.up().unwrap();
    assert_eq!(monitor.show(&case(&verdict)).stage, "pending");
    monitor.approve(&verdict).unwrap();
    assert_eq!(monitor.ended(&case(&verdict)), "completed");
    assert!(monitor.read("made").is_some());
}

/// Killed at any moment: what the ledger says was done is what was done.
#[test]
fn killed_at_any_moment_the_record_and_the_world_agree() {
    let mut monitor = Monitor::start();
    for delay in [0_u64, 2, 5, 10, 20, 40] {
        let name = format!("file-{delay}.txt");
        let verdict = monitor
            .submit(&plan(
                "Write notes",
                json!([
                    {"id": "a", "action": "write_file", "args": {"path": name, "content": "a"}},
                    {"id": "b", "action": "append_file", "args": {"path": name, "content": "b"}},
                ]),
            ))
            .unwrap();
        assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
        std::thread::sleep(std::time::Duration::from_millis(delay));
        monitor.kill();
        monitor.up().unwrap();
        let view = monitor.show(&case(&verdict));
        let content = monitor.read(&name).unwrap_or_default();
        assert!(["", "a", "ab"].contains(&content.as_str()), "{delay} ms: {content:?}");
        let (intents, outcomes) = (monitor.count(&case(&verdict), "intent"), monitor.count(&case(&verdict), "outcome"));
        if view.stage == "completed" {
            assert_eq!(content, "ab");
        }
        if !content.is_empty() {
            assert!(intents > 0, "{delay} ms: an effect without a record");
        }
        assert!(intents - outcomes <= 1, "{delay} ms: {intents} intents, {outcomes} outcomes");
        if intents > outcomes {
            // Of a snapshot that was cut off nothing is unknown in the world; of an act everything is.
            let records = monitor.records();
            let intent =
                records.iter().rfind(|r| r["case"] == case(&verdict).as_str() && r["kind"] == "intent").unwrap();
            let unknown = intent["payload"]["phase"] == "act";
            assert_eq!(view.stage, if unknown { "indeterminate" } else { "halted" }, "{delay} ms");
        }
    }
}

/// INV-8: a database put back to an earlier copy is refused at the start.
#[test]
fn a_rolled_back_database_is_refused_at_the_start() {
    let mut monitor = Monitor::start();
    let look = plan("Look", json!([{"id": "a", "action": "list_directory", "args": {"path": "."}}]));
    monitor.check(&look).unwrap();
    monitor.down();
    std::fs::copy(monitor.path("state/ledger.db"), monitor.path("old.db")).unwrap();
    monitor.up().unwrap();
    monitor.check(&look).unwrap();
    monitor.down();
    std::fs::copy(monitor.path("old.db"), monitor.path("state/ledger.db")).unwrap();
    for extra in ["ledger.db-wal", "ledger.db-shm"] {
        drop(std::fs::remove_file(monitor.path("state").join(extra)));
    }
    let refused = monitor.up().unwrap_err();
    assert!(refused.contains("head"), "{refused}");
}

/// INV-4: without the monitor nothing runs: the child processes end with it.
#[test]
fn without_the_monitor_nothing_runs() {
    let mut monitor = Monitor::start();
    monitor.enroll();
    let verdict = monitor.submit(&plan("Run the build", json!([
        {"id": "beat", "action": "run_program",
         "args": {"argv": ["sh", "-c", "while true; do echo x >> beat.txt; sleep 0.05; done"], "timeout_s": 60}},
    ]))).unwrap();
    monitor.approve(&verdict).unwrap();
    wait_for("the beat", || monitor.read("beat.txt").is_some());
    // The monitor's zygote, its executor, and the step with all that it started.
    let below = monitor.below();
    assert!(below.len() >= 4, "{below:?}");
    monitor.kill();
    wait_for_end(&below);
}

/// A halt kills the step that runs; what it did is unknown then, and nobody pretends to know (INV-2).
#[test]
fn a_halt_kills_the_running_step_and_asks_a_person() {
    let monitor = Monitor::start();
    monitor.enroll();
    let verdict = monitor.submit(&slow()).unwrap();
    monitor.approve(&verdict).unwrap();
    wait_for("the program's first line", || monitor.read("runs.txt").as_deref() == Some("run\n"));
    let halt = countersign_wire::operator::to_monitor::Halt { case: case(&verdict), reason: "enough".to_owned() };
    monitor.operate(countersign_wire::operator::to_monitor::Kind::Halt(halt)).unwrap();
    let unknown = |event: &CaseEvent| matches!(event, CaseEvent::Stage { stage, .. } if stage == "indeterminate");
    let events = monitor.watch(&case(&verdict), unknown);
    assert!(events.last().is_some_and(unknown), "{events:#?}");
    assert_eq!(monitor.read("last.txt"), None);
    assert_eq!(monitor.read("runs.txt").as_deref(), Some("run\n"), "the step went on");
}

/// INV-2, INV-4: a disk that is full stops everything: what cannot be recorded is not done.
#[test]
fn on_a_full_disk_nothing_is_done_and_nothing_is_lost() {
    let Some(mut monitor) = Monitor::start_on_small_disk(2048) else {
        println!("skipped: only root can mount a small disk");
        return;
    };
    let note = |n: usize| {
        plan(
            "Write notes",
            json!([{"id": "a", "action": "write_file", "args": {"path": format!("{n}.txt"), "content": "x".repeat(20_000)}}]),
        )
    };
    let mut acknowledged = Vec::new();
    for n in 0..200 {
        match monitor.submit(&note(n)) {
            Ok(verdict) => {
                assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
                acknowledged.push(case(&verdict));
            }
            Err(error) => {
                assert!(error.contains("internal.error") || error.contains("record"), "{error}");
                break;
            }
        }
    }
    assert!(acknowledged.len() < 200, "the disk never filled");
    let refused = monitor.submit(&note(1000));
    assert!(refused.is_err() || refused.is_ok_and(|v| v.decision == Decision::Block));
    // With room again, everything that was acknowledged is there.
    monitor.kill();
    let remount = std::process::Command::new("mount")
        .args(["-o", "remount,size=64m"])
        .arg(monitor.path("state"))
        .status()
        .unwrap();
    assert!(remount.success());
    monitor.up().unwrap();
    let records = monitor.records();
    for name in &acknowledged {
        assert!(records.iter().any(|r| r["case"] == name.as_str() && r["kind"] == "decision"), "{name} is lost");
    }
    assert_eq!(monitor.read("1000.txt"), None, "an effect without a record");
}

/// INV-4: a database that is cut off is refused at the start, and nothing is overwritten.
#[test]
fn a_truncated_database_is_refused_at_the_start() {
    let mut monitor = Monitor::start();
    let look = plan("Look", json!([{"id": "a", "action": "list_directory", "args": {"path": "."}}]));
    monitor.check(&look).unwrap();
    monitor.down();
    let path = monitor.path("state/ledger.db");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let refused = monitor.up().unwrap_err();
    assert!(refused.contains("ledger.db"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap().len(), bytes.len() / 2);
}
