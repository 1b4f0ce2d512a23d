//! What a program may write is copied before it runs, up to a stated size; more than that counts as irreversible, from the review over
//! what people are asked to the record, and is not taken back by guessing.

use countersign_plan::verdict::{Code, Decision, Verdict};
use serde_json::{Value, json};

use crate::harness::{Monitor, case, plan};

/// The stated size: what the files of one snapshot hold together at most.
const LIMIT: u64 = 256 << 20;

/// A house with a sparse file of so many bytes, and a plan that empties it by a program and then fails.
fn emptied(bytes: u64) -> (Monitor, Verdict) {
    let monitor = Monitor::start();
    monitor.enroll();
    std::fs::File::create(monitor.path("work/disk.img")).unwrap().set_len(bytes).unwrap();
    let empty = json!({"id": "a", "action": "run_program", "args": {"argv": ["truncate", "--size=1", "disk.img"]}});
    let fails = json!({"id": "b", "action": "append_file", "args": {"path": "log.txt", "content": "b"},
        "expect": [{"output": "/bytes", "equals": 999}]});
    let verdict = monitor.submit(&plan("Run the build", json!([empty, fails]))).unwrap();
    assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
    (monitor, verdict)
}

fn payloads(monitor: &Monitor, case: &str, kind: &str) -> Vec<Value> {
    let of = |record: &Value| record["case"] == case && record["kind"] == kind;
    monitor.records().into_iter().filter(of).map(|record| record["payload"].clone()).collect()
}

/// Phases that began for the first step.
fn phases(monitor: &Monitor, case: &str) -> Vec<Value> {
    let of_first = payloads(monitor, case, "intent").into_iter().filter(|intent| intent["step"] == "a");
    of_first.map(|intent| intent["phase"].clone()).collect()
}

fn said_irreversible(verdict: &Verdict) -> bool {
    let first = |reason: &countersign_plan::verdict::Reason| reason.step.as_ref().is_some_and(|s| s.as_str() == "a");
    verdict.reasons.iter().any(|reason| reason.code == Code::PlanIrreversible && first(reason))
}

fn length(monitor: &Monitor) -> u64 {
    std::fs::metadata(monitor.path("work/disk.img")).unwrap().len()
}

#[test]
fn what_is_too_large_to_keep_is_irreversible_from_the_review_to_the_record() {
    let (monitor, verdict) = emptied(LIMIT + 1);
    let case = case(&verdict);
    assert!(said_irreversible(&verdict), "{verdict:#?}");
    // What people sign says so,
    let asked: Value = serde_json::from_str(&monitor.show(&case).plan).unwrap();
    assert_eq!((&asked["steps"][0]["id"], &asked["steps"][0]["irreversible"]), (&json!("a"), &json!(true)), "{asked}");
    // and so does the record of what they were asked.
    let proposal = payloads(&monitor, &case, "proposal").remove(0);
    assert_eq!(proposal["plan"]["steps"][0]["irreversible"], true, "{proposal}");
    let decision = payloads(&monitor, &case, "decision").remove(0);
    assert_eq!(
        (&decision["steps"][0]["irreversible"], &decision["steps"][0]["reversible_by"]),
        (&json!(true), &json!("none"))
    );
    monitor.approve(&verdict).unwrap();
    assert_eq!(monitor.ended(&case), "stopped");
    assert_eq!(phases(&monitor, &case), ["act"], "nothing was kept, and nothing is put back");
    assert_eq!(length(&monitor), 1);
    let end = payloads(&monitor, &case, "case_closed").remove(0);
    assert!(end["standing"].to_string().contains("\"a\""), "it is said what stands: {end}");
}

#[test]
fn what_just_fits_is_kept_and_put_back() {
    let (monitor, verdict) = emptied(LIMIT - 4096);
    let case = case(&verdict);
    assert!(!said_irreversible(&verdict), "{verdict:#?}");
    let decision = payloads(&monitor, &case, "decision").remove(0);
    assert_eq!(
        (&decision["steps"][0]["irreversible"], &decision["steps"][0]["reversible_by"]),
        (&json!(false), &json!("snapshot"))
    );
    monitor.approve(&verdict).unwrap();
    assert_eq!(monitor.ended(&case), "stopped");
    assert_eq!(phases(&monitor, &case), ["snapshot", "act", "restore"]);
    assert_eq!((length(&monitor), monitor.read("log.txt")), (LIMIT - 4096, None), "as it was before");
    let end = payloads(&monitor, &case, "case_closed").remove(0);
    assert_eq!(end["undone"], json!(["a", "b"]), "{end}");
}
