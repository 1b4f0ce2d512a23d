//! `kill -9` of the monitor in every state that a run can be in, and another start: what the case becomes is said, the record verifies
//! and agrees with the disk, and nothing is done twice.
//!
//! An executor that stops where it is told holds the monitor in each state until it is killed; nothing depends on timing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use countersign_audit::export::{Payloads, export};
use countersign_audit::verify::{VerifyOptions, verify};
use countersign_ledger::LedgerReader;
use countersign_ledger::store::sqlite::SqliteReader;
use countersign_plan::verdict::{Decision, Verdict};
use countersign_wire::frame;
use countersign_wire::operator::to_monitor::{Halt, Kind};
use countersign_wire::propose::{FromMonitor, ToMonitor, to_monitor};
use serde_json::{Value, json};

use crate::evaluator::{Model, house};
use crate::harness::{Monitor, case, plan, wait_for, wait_for_end};

/// One state, and what it is found as after the monitor was killed in it.
struct State {
    name: &'static str,
    /// Where the executor stops.
    stop: &'static str,
    /// Where it stops once an operator has halted the case there.
    back: Option<&'static str>,
    /// The stage of the case before, and after.
    stages: (&'static str, &'static str),
    /// Attempts that began and attempts that are known to have ended, of both steps.
    attempts: (usize, usize),
    /// Permits that were given.
    permits: usize,
    /// What the two files hold after: each step appends one letter to its own.
    files: (&'static str, &'static str),
}

const STATES: [State; 10] = [
    State {
        name: "countersigned and not started",
        stop: "verify",
        back: None,
        stages: ("countersigned", "halted"),
        attempts: (0, 0),
        permits: 0,
        files: ("", ""),
    },
    State {
        name: "started, with no step",
        stop: "ask to snapshot a",
        back: None,
        stages: ("running", "halted"),
        attempts: (0, 0),
        permits: 0,
        files: ("", ""),
    },
    State {
        name: "leave to keep the state before",
        stop: "snapshot a",
        back: None,
        stages: ("running", "halted"),
        attempts: (0, 0),
        permits: 1,
        files: ("", ""),
    },
    State {
        name: "state kept, no leave to act",
        stop: "ask to act a",
        back: None,
        stages: ("running", "halted"),
        attempts: (1, 1),
        permits: 1,
        files: ("", ""),
    },
    State {
        name: "leave to act, not used",
        stop: "act a",
        back: None,
        stages: ("running", "halted"),
        attempts: (1, 1),
        permits: 2,
        files: ("", ""),
    },
    State {
        name: "between the steps",
        stop: "ask to snapshot b",
        back: None,
        stages: ("running", "halted"),
        attempts: (2, 2),
        permits: 2,
        files: ("a", ""),
    },
    State {
        name: "halted, nothing taken back yet",
        stop: "ask to snapshot b",
        back: Some("ask to restore a"),
        stages: ("running", "halted"),
        attempts: (2, 2),
        permits: 2,
        files: ("a", ""),
    },
    State {
        name: "leave to take back, not used",
        stop: "ask to snapshot b",
        back: Some("restore a"),
        stages: ("running", "halted"),
        attempts: (2, 2),
        permits: 3,
        files: ("a", ""),
    },
    State {
        name: "taken back and not closed",
        stop: "ask to snapshot b",
        back: Some("finish"),
        stages: ("running", "halted"),
        attempts: (3, 3),
        permits: 3,
        files: ("", ""),
    },
    State {
        name: "finished and not closed",
        stop: "finish",
        back: None,
        stages: ("running", "halted"),
        attempts: (4, 4),
        permits: 4,
        files: ("a", "b"),
    },
];

fn two_steps(stop: &str) -> Value {
    let append = |id: &str| {
        let args = json!({"path": format!("{id}.txt"), "content": id});
        json!({"id": id, "action": "append_file", "args": args, "reason": stop})
    };
    plan("Write the notes a.txt and b.txt", json!([append("a"), append("b")]))
}

fn of(monitor: &Monitor, case: &str) -> Vec<Value> {
    monitor.records().into_iter().filter(|record| record["case"] == case).collect()
}

fn kinds(records: &[Value], kinds: &[&str]) -> usize {
    records.iter().filter(|record| kinds.iter().any(|kind| record["kind"] == *kind)).count()
}

/// The whole ledger, exported and verified offline under the gate's key.
fn verified(monitor: &Monitor) {
    let store = SqliteReader::open(&monitor.path("state/ledger.db")).unwrap();
    let mut out = Vec::new();
    export(&mut LedgerReader::open(Box::new(store), None).unwrap(), Payloads::All, &mut out).unwrap();
    verify(out.as_slice(), &VerifyOptions { key: Some(monitor.gate_key().1), heads: Vec::new() }).unwrap();
}

/// `kill -9`, the end of everything that hung below, and a new start.
fn killed(monitor: &mut Monitor) {
    let below = monitor.below();
    monitor.kill();
    wait_for_end(&below);
    monitor.up().unwrap();
}

/// No attempt of a step began twice, and each that began stands in the ledger before what it did.
fn nothing_twice(name: &str, records: &[Value]) {
    let mut begun = BTreeSet::new();
    for intent in records.iter().filter(|record| record["kind"] == "intent") {
        let attempt = (intent["payload"]["step"].to_string(), intent["payload"]["phase"].to_string());
        assert!(begun.insert(attempt), "{name}: {intent}");
    }
}

/// Kills the monitor, looks at the case, kills it again: the second start finds what the first one left.
fn looked_at_twice(monitor: &mut Monitor, name: &str, case: &str, look: impl Fn(&Monitor, &[Value])) {
    let mut before = None;
    for _ in 0..2 {
        killed(monitor);
        let records = of(monitor, case);
        look(monitor, &records);
        nothing_twice(name, &records);
        verified(monitor);
        let count = records.len();
        assert_eq!(*before.get_or_insert(count), count, "{name}: the second start adds nothing");
    }
    // Others go on.
    let steps = json!([{"id": "look", "action": "list_directory", "args": {"path": "."}}]);
    monitor.check(&plan("Look", steps)).unwrap();
}

/// INV-2, INV-6.
#[test]
fn inv_2_killed_in_each_state_of_a_run_nothing_is_lost_and_nothing_done_twice() {
    let real = PathBuf::from(env!("CARGO_BIN_EXE_countersignd"));
    let pausing = real.parent().unwrap().join("examples/pausing_executor");
    let mut monitor = Monitor::start_with_program("countersign-executor", &pausing, "schema: countersign.broker/v1\n");
    for State { name, stop, back, stages, attempts, permits, files } in STATES {
        for file in ["a.txt", "b.txt"] {
            monitor.file(file, "");
        }
        let verdict = monitor.submit(&two_steps(stop)).unwrap();
        assert_eq!(verdict.decision, Decision::Allow, "{name}: {verdict:#?}");
        let case = case(&verdict);
        let there = |monitor: &Monitor, begun: usize, given: usize| {
            let records = of(monitor, &case);
            let ended = kinds(&records, &["outcome", "compensation"]);
            monitor.show(&case).stage == stages.0
                && (kinds(&records, &["intent"]), ended, kinds(&records, &["permit"])) == (begun, begun, given)
        };
        match back {
            None => wait_for(name, || there(&monitor, attempts.0, permits)),
            Some(back) => {
                wait_for(name, || there(&monitor, 2, 2));
                monitor.operate(Kind::Halt(Halt { case: case.clone(), reason: back.to_owned() })).unwrap();
                wait_for(name, || there(&monitor, attempts.0, permits));
            }
        }
        looked_at_twice(&mut monitor, name, &case, |monitor, records| {
            assert_eq!(monitor.show(&case).stage, stages.1, "{name}");
            let ended = kinds(records, &["outcome", "compensation"]);
            assert_eq!((kinds(records, &["intent"]), ended), attempts, "{name}: {records:#?}");
            assert_eq!(kinds(records, &["permit"]), permits, "{name}");
            let close: Vec<&Value> = records.iter().filter(|record| record["kind"] == "case_closed").collect();
            assert_eq!((close.len(), &close[0]["payload"]["ending"]), (1, &json!("halted")), "{name}: {close:?}");
            let restarted = |record: &Value| record["kind"] == "case_halted" && record["payload"]["cause"] == "restart";
            assert_eq!(records.iter().filter(|record| restarted(record)).count(), 1, "{name}: it is said why");
            let content = |file: &str| monitor.read(file).unwrap_or_default();
            assert_eq!((content("a.txt").as_str(), content("b.txt").as_str()), files, "{name}");
        });
    }
}

/// A plan that was handed in and not answered left nothing, and may be handed in again.
#[test]
fn inv_4_killed_before_it_was_decided_a_plan_left_nothing() {
    let silent = Model::new(|_| None);
    let mut monitor = house(&silent, 60, 100);
    let steps = json!([{"id": "w", "action": "write_file", "args": {"path": "report.txt", "content": "fine"}}]);
    let draft = plan("Write the report into report.txt", steps);
    let records = monitor.records().len();
    let submit = to_monitor::Submit {
        document: serde_json::to_vec(&draft).unwrap(),
        cwd: monitor.path("work").to_str().unwrap().to_owned(),
        agent: "agent:test".to_owned(),
        ..Default::default()
    };
    let mut socket = monitor.connect("propose.sock");
    frame::write(&mut socket, &ToMonitor { kind: Some(to_monitor::Kind::Submit(submit)) }).unwrap();
    wait_for("the question to the evaluator", || silent.asked() > 0);
    assert_eq!(monitor.records().len(), records, "nothing is decided yet");
    monitor.kill();
    assert!(
        frame::read::<FromMonitor>(&mut socket, frame::FRAME_LIMIT).is_err(),
        "who asked learns it by the end of the socket"
    );
    monitor.up().unwrap();
    let of_case = |record: &&Value| record["case"].is_string();
    assert_eq!(monitor.records().iter().filter(of_case).count(), 0);
    assert_eq!(monitor.read("report.txt"), None);
    verified(&monitor);
}

/// INV-2: while people are waited for, while a step acts, and while one is taken back.
#[test]
fn inv_2_killed_while_people_decide_or_a_step_acts_or_is_taken_back() {
    let mut monitor = Monitor::start();
    monitor.enroll();
    let slow = |name: &str| format!("echo {name} >> {name}.txt; sleep 600; echo end >> {name}.txt");
    let run = |name: &str| json!({"action": "run_program", "args": {"argv": ["sh", "-c", slow(name)]}});
    let asked = |monitor: &Monitor, steps: Value| -> Verdict {
        let verdict = monitor.submit(&plan("Run the build", steps)).unwrap();
        assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
        verdict
    };
    let step = |name: &str| {
        let mut step = run(name);
        step["id"] = json!("a");
        json!([step])
    };

    let verdict = asked(&monitor, step("acts"));
    let waiting = case(&verdict);
    looked_at_twice(&mut monitor, "people are waited for", &waiting, |monitor, records| {
        assert_eq!((monitor.show(&waiting).stage.as_str(), kinds(records, &["permit", "intent"])), ("pending", 0));
        assert_eq!(monitor.read("acts.txt"), None);
    });

    monitor.approve(&verdict).unwrap();
    wait_for("the first line", || monitor.read("acts.txt").as_deref() == Some("acts\n"));
    let unknown = |monitor: &Monitor, case: &str, phase: &str, records: &[Value]| {
        assert_eq!(monitor.show(case).stage, "indeterminate");
        let halts = records.iter().filter(|record| record["payload"]["indeterminate"] == true);
        let of: Vec<_> = halts.map(|record| (&record["payload"]["step"], &record["payload"]["phase"])).collect();
        assert_eq!(of, [(&json!("a"), &json!(phase))], "a person is told what to look at");
        let ended = kinds(records, &["outcome", "compensation"]);
        assert_eq!(kinds(records, &["intent"]), ended + 1, "and nobody made up how it ended");
    };
    looked_at_twice(&mut monitor, "a step acts", &waiting, |monitor, records| {
        unknown(monitor, &waiting, "act", records);
        assert_eq!(monitor.read("acts.txt").as_deref(), Some("acts\n"), "once, and not to its end");
    });

    let first =
        json!({"id": "a", "action": "append_file", "args": {"path": "a.txt", "content": "a"}, "rollback": run("back")});
    let miss = json!([{"output": "/bytes", "equals": 999}]);
    let second = json!({"id": "b", "action": "append_file", "args": {"path": "b.txt", "content": "b"}, "expect": miss});
    let verdict = asked(&monitor, json!([first, second]));
    let back = case(&verdict);
    monitor.approve(&verdict).unwrap();
    wait_for("the first line", || monitor.read("back.txt").as_deref() == Some("back\n"));
    looked_at_twice(&mut monitor, "a step is taken back", &back, |monitor, records| {
        unknown(monitor, &back, "compensate", records);
        assert_eq!(monitor.read("back.txt").as_deref(), Some("back\n"), "once, and not to its end");
        let files = (monitor.read("a.txt"), monitor.read("b.txt"));
        assert_eq!(files, (Some("a".to_owned()), None), "the second one was taken back, and is not again");
    });
}
