//! A process that is killed at any moment loses nothing that it had acknowledged.
//!
//! The test binary starts itself again as the writer, which prints a line for each acknowledged record; it is killed while it
//! writes, and the ledger is opened and verified.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use countersign_audit::export::Payloads;
use countersign_audit::verify::{VerifyOptions, verify};
use countersign_ledger::reader::Payload;
use countersign_ledger::{Query, RecordKind};
use serde_json::json;

use crate::support::{Home, decision, entry, export, gate};

/// Set for the writer: where its ledger is.
const PLACE: &str = "COUNTERSIGN_LEDGER_CRASH_TEST";

/// Not a test of its own: what the killed process does.
#[test]
fn the_writer_that_is_killed() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let home = Home::at(place.into());
    let ledger = home.open().unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let ledger = &ledger;
            scope.spawn(move || {
                for n in 0.. {
                    let case = format!("c-{worker}");
                    let entries =
                        vec![entry(RecordKind::Intent, Some(&case), n, json!({"worker": worker, "n": n})), decision(n)];
                    let seqs = ledger.append(entries).wait().unwrap().seqs();
                    println!("acknowledged {} {worker} {n}", seqs.start);
                }
            });
        }
    });
}

#[test]
fn a_killed_writer_loses_nothing_acknowledged() {
    let home = Home::new();
    let mut acknowledged = Vec::new();
    let mut past = 0;
    for round in 0..12_usize {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::the_writer_that_is_killed", "--nocapture", "--test-threads=1"])
            .env(PLACE, home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Killed after a different number of records in each round; what is in the pipe then counts, too.
        let mut left = 1 + round * 7;
        while left > 0 {
            let line = lines.next().expect("the writer writes until it is killed").unwrap();
            left -= usize::from(note(&line, &mut acknowledged));
        }
        child.kill().unwrap();
        for line in lines.map_while(Result::ok) {
            note(&line, &mut acknowledged);
        }
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let ledger = home.open().unwrap();
        let mut reader = ledger.reader().unwrap();
        let records: Vec<_> = reader.records(Query { from: past, ..Query::default() }).map(Result::unwrap).collect();
        for (seq, worker, n) in acknowledged.drain(..) {
            let record = &records[usize::try_from(seq - past).unwrap()];
            assert_eq!(record.leaf.seq, seq);
            assert_eq!(record.payload, Payload::Open(json!({"worker": worker, "n": n})));
        }
        past = reader.size().unwrap();
        let options = VerifyOptions { key: Some(gate().public()), heads: Vec::new() };
        let report = verify(export(&mut reader, Payloads::All).as_slice(), &options).unwrap();
        assert_eq!(report.head.size, past);
        ledger.close().unwrap();
    }
    assert!(past > 500, "{past}");
}

/// Takes down a line of the writer; other lines are the test harness's. A last line may be cut.
fn note(line: &str, acknowledged: &mut Vec<(u64, u64, u64)>) -> bool {
    let Some((_, rest)) = line.split_once("acknowledged ") else { return false };
    let numbers: Vec<u64> = rest.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [seq, worker, n] = numbers[..] else { return false };
    acknowledged.push((seq, worker, n));
    true
}
