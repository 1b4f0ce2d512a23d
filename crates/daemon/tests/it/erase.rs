//! Erasing a case with the real monitor: its words are gone from every file, everything still verifies, and what follows goes on.

use countersign_audit::export::{Payloads, export};
use countersign_audit::verify::{VerifyOptions, verify};
use countersign_ledger::LedgerReader;
use countersign_ledger::store::sqlite::SqliteReader;
use countersign_plan::approval::Erasure;
use countersign_plan::verdict::Decision;
use countersign_wire::operator::to_monitor::{self, Kind};
use serde_json::{Value, json};

use crate::harness::{Monitor, case, plan, wait_for};

const WORD: &str = "Zweiundvierzig";

/// Has the harness's approver ask for the erasure of a case.
fn erase(monitor: &Monitor, case: &str, nonce: &str) -> Result<Value, String> {
    let envelope = monitor.sign(|principal, signed_at| Erasure {
        case: case.parse().unwrap(),
        reason: "asked to".to_owned(),
        principal,
        signed_at,
        nonce: nonce.to_owned(),
    });
    monitor.operate(Kind::Erase(to_monitor::Erase { case: case.to_owned(), envelope }))
}

fn of(monitor: &Monitor, case: &str) -> Vec<Value> {
    monitor.records().into_iter().filter(|record| record["case"] == case).collect()
}

/// Files below the state folder in which the word stands.
fn holding(monitor: &Monitor, word: &str) -> Vec<std::path::PathBuf> {
    let (mut folders, mut found) = (vec![monitor.path("state")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if std::fs::read(entry.path()).is_ok_and(|b| b.windows(word.len()).any(|w| w == word.as_bytes())) {
                found.push(entry.path());
            }
        }
    }
    found
}

fn verified(monitor: &Monitor) -> (u64, u64) {
    let mut reader =
        LedgerReader::open(Box::new(SqliteReader::open(&monitor.path("state/ledger.db")).unwrap()), None).unwrap();
    let mut out = Vec::new();
    export(&mut reader, Payloads::All, &mut out).unwrap();
    let options = VerifyOptions { key: Some(monitor.gate_key().1), heads: Vec::new() };
    let report = verify(out.as_slice(), &options).unwrap();
    (report.payloads, report.withheld.erased)
}

fn write(monitor: &Monitor, name: &str, content: &str) -> String {
    let steps = json!([{"id": "w", "action": "write_file", "args": {"path": name, "content": content}}]);
    let verdict = monitor.submit(&plan(&format!("Write {name}"), steps)).unwrap();
    assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
    assert_eq!(monitor.ended(&case(&verdict)), "completed");
    case(&verdict)
}

#[test]
fn inv_8_an_erased_case_leaves_its_place_and_none_of_its_words() {
    let mut monitor = Monitor::start();
    monitor.enroll();
    monitor.file("notes.txt", &format!("{WORD} before"));
    let erased = write(&monitor, "notes.txt", &format!("{WORD} after"));
    let kept = write(&monitor, "other.txt", "something else");
    assert!(!holding(&monitor, WORD).is_empty(), "the snapshot holds it");
    let before = of(&monitor, &erased);

    assert_eq!(erase(&monitor, &erased, "1").unwrap(), json!({"erased": [erased]}));
    let told = |monitor: &Monitor| {
        let records = of(monitor, &erased);
        assert_eq!(records.len(), before.len() + 1);
        for (now, then) in records.iter().zip(&before) {
            assert_eq!(now["payload_digest"], then["payload_digest"]);
            assert_eq!(now["payload_state"] == "erased", now["payload"].is_null(), "{now}");
        }
        assert!(records.iter().filter(|r| r["payload_state"] == "erased").count() >= 5, "{records:#?}");
        let last = records.last().unwrap();
        assert_eq!((&last["kind"], &last["payload"]["by"]), (&json!("erased"), &json!("user:tester")));
        assert!(!serde_json::to_string(&records).unwrap().contains(WORD), "{records:#?}");
        assert!(of(monitor, &kept).iter().all(|record| record["payload_state"] == "open"));
    };
    told(&monitor);
    wait_for("the snapshots of the case are gone", || !monitor.path("state/snapshots").join(&erased).exists());
    assert!(monitor.path("state/snapshots").join(&kept).exists());
    let refused = erase(&monitor, &erased, "2").unwrap_err();
    assert!(refused.contains("erased already"), "{refused}");
    assert!(erase(&monitor, "c-nobody", "3").is_err());

    // A proof of one of its records holds, and so does the whole, offline.
    let seq = before[0]["seq"].as_u64().unwrap();
    let prove = to_monitor::Audit { form: "prove".to_owned(), from: seq, payloads: true, ..Default::default() };
    monitor.operate(Kind::Audit(prove)).unwrap();
    let (_, gone) = verified(&monitor);
    assert!(gone == 0, "without the master key nobody can tell erased from sealed");

    // Started again over it, gently and not, with leftovers of a crash in between.
    std::fs::create_dir_all(monitor.path("state/snapshots").join(&erased)).unwrap();
    for gently in [true, false] {
        if gently {
            monitor.down()
        } else {
            monitor.kill()
        }
        monitor.up().unwrap();
        told(&monitor);
        assert!(!monitor.path("state/snapshots").join(&erased).exists());
        assert_eq!(of(&monitor, &erased).len(), before.len() + 1, "a restart adds nothing to it");
    }
    verified(&monitor);
    write(&monitor, "other.txt", "and on");
    monitor.down();
    assert_eq!(holding(&monitor, WORD), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_case_that_is_open_is_not_erased_and_nothing_of_it_is_lost() {
    let monitor = Monitor::start();
    monitor.enroll();
    let steps = json!([{"id": "run", "action": "run_program", "args": {"argv": ["touch", "made"]}}]);
    let verdict = monitor.submit(&plan("Run the build", steps)).unwrap();
    let refused = erase(&monitor, &case(&verdict), "1").unwrap_err();
    assert!(refused.contains("still open"), "{refused}");
    monitor.approve(&verdict).unwrap();
    assert_eq!(monitor.ended(&case(&verdict)), "completed");
    erase(&monitor, &case(&verdict), "2").unwrap();
}
