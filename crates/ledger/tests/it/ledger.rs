//! Appending, and the proof that comes back.

use std::sync::mpsc::channel;

use countersign_ledger::record::{MAX_DEPTH, MAX_ENTRIES, MAX_PAYLOAD, entries_digest};
use countersign_ledger::store::memory::MemoryStore;
use countersign_ledger::{AppendError, Entry, Query, RecordKind};
use serde_json::{Value, json};

use crate::support::{Home, at, case, decision, entry};

#[test]
fn a_proof_names_its_records_and_its_entries() {
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    let entries = vec![decision(1), entry(RecordKind::Permit, Some("c-1"), 2, json!({}))];
    let first = ledger.append(entries.clone()).wait().unwrap();
    assert_eq!(first.seqs(), 0..2);
    assert_eq!(*first.digest(), entries_digest(&entries));
    first.covers(&entries).unwrap();
    let second = ledger.append(vec![decision(3)]).wait().unwrap();
    assert_eq!(second.seqs(), 2..3);
    second.covers(&entries).unwrap_err();
    // Not for entries that differ in anything.
    for change in 0..5 {
        let mut other = entries.clone();
        match change {
            0 => other[0].kind = RecordKind::Denial,
            1 => other[0].case = Some(case("c-9")),
            2 => other[0].at = at(9),
            3 => other[0].payload = json!({"decision": "allow"}),
            _ => other[1].sealed = false,
        }
        first.covers(&other).unwrap_err();
    }
    first.covers(&entries[..1]).unwrap_err();
}

#[test]
fn records_read_back_by_case_kind_and_range() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    for n in 0..300 {
        let case = if n % 3 == 0 { "c-a" } else { "c-b" };
        let kind = if n % 2 == 0 { RecordKind::Intent } else { RecordKind::Outcome };
        drop(ledger.append(vec![entry(kind, Some(case), n, json!({ "n": n }))]));
    }
    let _ = ledger.append(vec![entry(RecordKind::Boot, None, 300, Value::Null)]).wait().unwrap();
    let mut reader = ledger.reader().unwrap();
    assert_eq!(reader.size().unwrap(), 301);
    let mut seqs =
        |query: Query| -> Vec<u64> { reader.records(query).map(|record| record.unwrap().leaf.seq).collect() };
    assert_eq!(seqs(Query::default()), (0..301).collect::<Vec<_>>());
    assert_eq!(seqs(Query { from: 10, to: Some(12), ..Query::default() }), [10, 11]);
    let of_case = Query { case: Some(case("c-a")), ..Query::default() };
    assert_eq!(seqs(of_case.clone()), (0..300).step_by(3).collect::<Vec<_>>());
    let kinds = vec![RecordKind::Intent, RecordKind::Boot];
    assert_eq!(seqs(Query { kinds: kinds.clone(), from: 290, ..Query::default() }), [290, 292, 294, 296, 298, 300]);
    assert_eq!(seqs(Query { kinds, from: 290, ..of_case }), [294]);
    let record = reader.record(7).unwrap();
    assert_eq!(record.payload, countersign_ledger::reader::Payload::Open(json!({"n": 7})));
    reader.record(301).unwrap_err();
}

#[test]
fn many_writers_get_disjoint_places_and_all_records_are_there() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    let mut seqs: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..16)
            .map(|worker| {
                let ledger = &ledger;
                scope.spawn(move || {
                    let mut seqs = Vec::new();
                    for n in 0..40 {
                        let entries = vec![decision(n), entry(RecordKind::Label, Some("c-7"), n, json!([worker, n]))];
                        let proof = ledger.append(entries.clone()).wait().unwrap();
                        proof.covers(&entries).unwrap();
                        seqs.extend(proof.seqs());
                    }
                    seqs
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    seqs.sort_unstable();
    assert_eq!(seqs, (0..16 * 40 * 2).collect::<Vec<_>>());
    ledger.close().unwrap();
    home.open().unwrap();
}

#[test]
fn replies_come_without_waiting_too() {
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    let (sender, receiver) = channel();
    ledger
        .append_with(vec![decision(1)], Box::new(move |result| sender.send(result.map(|proof| proof.seqs())).unwrap()));
    assert_eq!(receiver.recv().unwrap().unwrap(), 0..1);
}

#[test]
fn what_cannot_be_written_is_refused_and_the_ledger_goes_on() {
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    let with = |payload: Value| vec![Entry { payload, ..decision(1) }];
    let mut deep = json!(1);
    for _ in 0..MAX_DEPTH {
        deep = json!([deep]);
    }
    let bad = [
        Vec::new(),
        vec![decision(1); MAX_ENTRIES + 1],
        with(json!("x".repeat(MAX_PAYLOAD))),
        with(deep),
        with(json!({"n": 9_007_199_254_740_992_u64})),
        with(json!([-9_007_199_254_740_993_i64])),
        vec![Entry { at: at(-1_790_000_000_001), ..decision(1) }],
        vec![Entry { at: at(i64::MAX - 1_790_000_000_000), ..decision(1) }],
    ];
    for entries in bad {
        assert!(matches!(ledger.append(entries).wait(), Err(AppendError::Entry(_))));
    }
    assert_eq!(ledger.append(with(json!({"n": 9_007_199_254_740_991_u64}))).wait().unwrap().seqs(), 0..1);
}

#[test]
fn ledger_time_never_goes_back() {
    let home = Home::new();
    let store = MemoryStore::new();
    let ledger = home.open_memory(&store).unwrap();
    assert_eq!(ledger.last_at(), None);
    for millis in [5, 3, 7] {
        let _ = ledger.append(vec![entry(RecordKind::Alert, None, millis, json!({}))]).wait().unwrap();
    }
    let times: Vec<_> = ledger.reader().unwrap().records(Query::default()).map(|r| r.unwrap().leaf.at).collect();
    assert_eq!(times, [at(5), at(5), at(7)]);
    ledger.close().unwrap();
    assert_eq!(home.open_memory(&store).unwrap().last_at(), Some(at(7)));
}

/// INV-10
#[test]
fn known_secrets_reach_no_record() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    const SECRET: &str = "hunter2/ü+secret";
    ledger.redact_with(Box::new(|payload| {
        let text = payload.to_string();
        text.contains("hunter2").then(|| serde_json::from_str(&text.replace(SECRET, "[secret door]")).unwrap())
    }));
    let payload = json!({"env": format!("PASS={SECRET}&x"), "n": 5});
    let entries = vec![Entry { sealed: false, ..entry(RecordKind::Outcome, Some("c-1"), 1, payload) }];
    let proof = ledger.append(entries.clone()).wait().unwrap();
    // The proof is for the entries as the owner knows them.
    proof.covers(&entries).unwrap();
    let record = ledger.reader().unwrap().record(0).unwrap();
    let expected = json!({"env": "PASS=[secret door]&x", "n": 5});
    assert_eq!(record.payload, countersign_ledger::reader::Payload::Open(expected));
    ledger.close().unwrap();
    for file in std::fs::read_dir(home.path().join("ledger")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
    }
}

#[test]
fn a_closed_ledger_takes_nothing() {
    let home = Home::new();
    let store = MemoryStore::new();
    let ledger = home.open_memory(&store).unwrap();
    let ticket = ledger.append(vec![decision(1)]);
    ledger.close().unwrap();
    // What waited was written before it closed.
    assert_eq!(ticket.wait().unwrap().seqs(), 0..1);
}
