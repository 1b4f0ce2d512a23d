//! `kill -9` of the monitor at every stage of a goal: each case ends with a record that says why, and nothing is done twice.

use countersign_plan::verdict::Verdict;
use countersign_wire::propose::{CaseEvent, PlannerEvent};
use serde_json::{Value, json};

use crate::harness::{Monitor, wait_for, wait_for_end};

const BROKER: &str = "\
schema: countersign.broker/v1
providers:
  script: {kind: scripted, script: '{folder}/script.json', clearance: internal}
";

fn scripted(answers: &Value) -> Monitor {
    let monitor = Monitor::start_with_broker(BROKER);
    let script = json!({"schema": "countersign.script/v1", "answers": answers});
    std::fs::write(monitor.path("script.json"), script.to_string()).unwrap();
    monitor.enroll();
    monitor
}

fn turn(turn: Value) -> Value {
    json!({"json": {"thought": "t", "turn": turn}})
}

fn program(argv: &Value) -> Value {
    json!([
        turn(json!({"load_tools": {"groups": ["programs"]}})),
        turn(json!({"propose": {"plan": {"steps": [{"id": "run", "action": "run_program", "args": {"argv": argv}}]}}})),
        {"text": "Done.", "delay": 600_000},
    ])
}

/// Follows the case until its plan was judged.
fn judged(monitor: &Monitor, case: &str) -> Verdict {
    let is = |event: &CaseEvent| matches!(event, CaseEvent::Planner(PlannerEvent::Judged { .. }));
    match monitor.watch(case, is).pop() {
        Some(CaseEvent::Planner(PlannerEvent::Judged { verdict, .. })) => serde_json::from_value(verdict).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// `kill -9`, the end of everything that hung below, and a new start.
fn killed(monitor: &mut Monitor) {
    let below = monitor.below();
    monitor.kill();
    wait_for_end(&below);
    monitor.up().unwrap();
}

/// How the case was closed, which it was once.
fn closing(monitor: &Monitor, case: &str) -> Value {
    let records = monitor.records();
    let mut ends = records.iter().filter(|r| r["case"] == case && r["kind"] == "case_closed");
    let end = ends.next().unwrap_or_else(|| panic!("case {case} was not closed"))["payload"].clone();
    assert!(ends.next().is_none(), "case {case} was closed twice");
    end
}

fn says(record: &Value, parts: &[&str]) {
    let detail = record["detail"].as_str().unwrap_or_default();
    assert!(parts.iter().all(|part| detail.contains(part)), "{record}");
}

#[test]
fn a_goal_that_was_being_planned_is_closed_as_interrupted() {
    let mut monitor = scripted(&json!([{"text": "{}", "delay": 600_000}]));
    let case = monitor.pursue("Write a.txt").unwrap();
    monitor.watch(&case, |event| matches!(event, CaseEvent::Planner(PlannerEvent::Started { .. })));
    killed(&mut monitor);
    let end = closing(&monitor, &case);
    assert_eq!(end["ending"], "halted");
    says(&end, &["interrupted", "nothing had been done"]);
    assert_eq!((monitor.show(&case).stage.as_str(), monitor.count(&case, "permit")), ("halted", 0));
    // It stays so.
    killed(&mut monitor);
    closing(&monitor, &case);
    assert_eq!(monitor.show(&case).stage, "halted");
}

#[test]
fn a_goals_plan_that_waited_for_people_waits_on_and_runs_once_without_its_planner() {
    let mut monitor = scripted(&program(&json!(["sh", "-c", "echo once >> made.txt"])));
    let case = monitor.pursue("Run the build").unwrap();
    let verdict = judged(&monitor, &case);
    killed(&mut monitor);
    assert_eq!(monitor.show(&case).stage, "pending");
    let interrupted = |r: &Value| r["case"] == case.as_str() && r["payload"]["interrupted"].is_string();
    assert_eq!(
        monitor.records().iter().filter(|r| interrupted(r)).count(),
        1,
        "who reads the record knows that no answer comes"
    );
    monitor.approve(&verdict).unwrap();
    assert_eq!(monitor.ended(&case), "completed");
    assert_eq!(monitor.read("made.txt").as_deref(), Some("once\n"));
    assert_eq!(closing(&monitor, &case)["ending"], "completed");
    assert_eq!((monitor.show(&case).stage.as_str(), monitor.count(&case, "answer")), ("completed", 0));
    killed(&mut monitor);
    assert_eq!(monitor.read("made.txt").as_deref(), Some("once\n"));
    closing(&monitor, &case);
}

/// INV-2: what a step of a goal's plan did is unknown, and a person decides.
#[test]
fn a_goals_plan_that_ran_is_indeterminate_and_nothing_is_done_twice() {
    let mut monitor = scripted(&program(&json!(["sh", "-c", "echo run >> runs.txt; sleep 600"])));
    let case = monitor.pursue("Run the build").unwrap();
    let verdict = judged(&monitor, &case);
    monitor.approve(&verdict).unwrap();
    wait_for("the program's first line", || monitor.read("runs.txt").as_deref() == Some("run\n"));
    killed(&mut monitor);
    assert_eq!(monitor.show(&case).stage, "indeterminate");
    let intents = monitor.count(&case, "intent");
    killed(&mut monitor);
    assert_eq!(monitor.show(&case).stage, "indeterminate");
    assert_eq!(monitor.count(&case, "intent"), intents);
    assert_eq!(monitor.read("runs.txt").as_deref(), Some("run\n"));
}

#[test]
fn a_goal_whose_plan_was_done_is_closed_with_what_was_done_and_without_an_answer() {
    let mut monitor = scripted(&program(&json!(["sh", "-c", "echo once >> made.txt"])));
    let case = monitor.pursue("Run the build").unwrap();
    let verdict = judged(&monitor, &case);
    monitor.approve(&verdict).unwrap();
    monitor.watch(&case, |event| matches!(event, CaseEvent::Planner(PlannerEvent::Answering)));
    let permits = monitor.count(&case, "permit");
    killed(&mut monitor);
    let end = closing(&monitor, &case);
    assert_eq!(end["ending"], "halted");
    says(&end, &["interrupted", "its last plan was completed", "no answer was written"]);
    assert_eq!(monitor.read("made.txt").as_deref(), Some("once\n"));
    assert_eq!((monitor.count(&case, "permit"), monitor.count(&case, "answer")), (permits, 0));
    assert_eq!(monitor.count(&case, "run_ended"), 1, "that it was done is on record");
}
