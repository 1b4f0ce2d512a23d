//! Payloads under keys of their cases, and their erasure.

use std::fs;

use countersign_audit::export::Payloads;
use countersign_audit::verify::{VerifyOptions, verify};
use countersign_ledger::reader::Payload;
use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::sqlite::{SqliteReader, SqliteStore};
use countersign_ledger::{Entry, LedgerReader, Query, RecordKind};
use rusqlite::Connection;
use serde_json::json;

use crate::support::{Home, case, decision, entry, export, gate, master};

const WORD: &str = "Zweiundvierzig";

fn secret(case: &str, n: i64) -> Entry {
    entry(RecordKind::Outcome, Some(case), n, json!({ "stdout": WORD }))
}

fn erased(case: &str, n: i64) -> Entry {
    let payload = json!({"by": "user:alice", "reason": "asked"});
    Entry { sealed: false, ..entry(RecordKind::Erased, Some(case), n, payload) }
}

/// Whether the word stands in any file of the ledger.
fn on_disk(home: &Home, word: &[u8]) -> bool {
    fs::read_dir(home.path().join("ledger")).unwrap().any(|file| {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        bytes.windows(word.len()).any(|window| window == word)
    })
}

fn payload(reader: &mut LedgerReader, seq: u64) -> Payload {
    reader.record(seq).unwrap().payload
}

#[test]
fn sealed_payloads_do_not_lie_about_in_clear() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    let _ = ledger.append(vec![secret("c-1", 1), decision(2)]).wait().unwrap();
    assert!(!on_disk(&home, WORD.as_bytes()));
    assert!(on_disk(&home, b"policy.denied"), "clear ones do");
    let mut reader = ledger.reader().unwrap();
    assert_eq!(payload(&mut reader, 0), Payload::Open(json!({ "stdout": WORD })));
    ledger.close().unwrap();
    assert!(!on_disk(&home, WORD.as_bytes()));
}

#[test]
fn without_the_master_key_they_stay_sealed_and_with_a_wrong_one_nothing_opens() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    let _ = ledger.append(vec![secret("c-1", 1), decision(2)]).wait().unwrap();
    let open = |master| LedgerReader::open(Box::new(SqliteReader::open(&home.database()).unwrap()), master);
    let mut reader = open(None).unwrap();
    assert_eq!(payload(&mut reader, 0), Payload::Sealed);
    assert!(matches!(payload(&mut reader, 1), Payload::Open(_)));
    let report = verify(export(&mut reader, Payloads::All).as_slice(), &options()).unwrap();
    assert_eq!((report.payloads, report.withheld.sealed), (1, 1));
    open(Some(MasterKey::generate().unwrap())).unwrap_err();
    assert!(matches!(payload(&mut open(Some(master())).unwrap(), 0), Payload::Open(_)));
}

fn options() -> VerifyOptions {
    VerifyOptions { key: Some(gate().public()), heads: Vec::new() }
}

#[test]
fn an_erased_case_can_not_be_read_and_everything_still_verifies() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    let _ = ledger.append(vec![secret("c-1", 1), secret("c-2", 2), decision(3)]).wait().unwrap();
    let wrapped: Vec<u8> = {
        let connection = Connection::open(home.database()).unwrap();
        connection.query_row("SELECT wrapped_key FROM cases WHERE case_id = 'c-1'", [], |row| row.get(0)).unwrap()
    };
    let mut reader = ledger.reader().unwrap();
    let before = export(&mut reader, Payloads::All);
    let proof = ledger.append(vec![erased("c-1", 4)]).wait().unwrap();
    assert_eq!(proof.seqs(), 3..4);
    assert_eq!(payload(&mut reader, 0), Payload::Erased);
    assert!(matches!(payload(&mut reader, 1), Payload::Open(_)));
    // Clear payloads of the case stay: they are what the gate decided.
    assert!(matches!(payload(&mut reader, 2), Payload::Open(_)));
    // The key is in no file any more, not even in the log.
    assert!(!on_disk(&home, &wrapped[24..56]));
    // What comes late is on record and can not be read, in this run and the next; in clear it can.
    assert_eq!(ledger.append(vec![secret("c-1", 5), decision(6)]).wait().unwrap().seqs(), 4..6);
    assert_eq!(payload(&mut reader, 4), Payload::Erased);
    assert!(matches!(payload(&mut reader, 5), Payload::Open(_)));
    let after = export(&mut reader, Payloads::All);
    let report = verify(after.as_slice(), &options()).unwrap();
    assert_eq!((report.payloads, report.withheld.erased), (4, 2));
    verify(before.as_slice(), &options()).unwrap();
    drop(reader);
    ledger.close().unwrap();
    let ledger = home.open().unwrap();
    let _ = ledger.append(vec![secret("c-1", 7)]).wait().unwrap();
    let mut reader = ledger.reader().unwrap();
    assert_eq!(payload(&mut reader, 6), Payload::Erased);
    let kinds = vec![RecordKind::Erased];
    let records: Vec<_> = reader.records(Query { kinds, ..Query::default() }).map(Result::unwrap).collect();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].leaf.case, Some(case("c-1")));
}

#[test]
fn erasing_among_other_appends_takes_effect_at_its_place() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    // All of it waits for one batch, most likely; it must hold either way.
    let tickets = [
        ledger.append(vec![secret("c-1", 1)]),
        ledger.append(vec![secret("c-1", 2), erased("c-1", 3), secret("c-1", 4)]),
        ledger.append(vec![secret("c-1", 5)]),
        ledger.append(vec![secret("c-2", 6)]),
    ];
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()), "erasing stops nobody");
    let mut reader = ledger.reader().unwrap();
    for seq in [0, 1, 3, 4] {
        assert_eq!(payload(&mut reader, seq), Payload::Erased, "{seq}");
    }
    for seq in [2, 5] {
        assert!(matches!(payload(&mut reader, seq), Payload::Open(_)), "{seq}");
    }
    verify(export(&mut reader, Payloads::All).as_slice(), &options()).unwrap();
}

#[test]
fn an_altered_or_moved_payload_is_not_read_as_if_it_were_genuine() {
    let edits = [
        // A sealed payload of another record of the same case.
        ("UPDATE records SET payload = (SELECT payload FROM records WHERE seq = 1) WHERE seq = 0", 0),
        ("UPDATE records SET payload = zeroblob(100) WHERE seq = 0", 0),
        ("UPDATE records SET payload = x'00' WHERE seq = 0", 0),
        ("DELETE FROM cases", 0),
        (
            "UPDATE cases SET wrapped_key = (SELECT wrapped_key FROM cases WHERE case_id = 'c-2') WHERE case_id = 'c-1'",
            0,
        ),
        ("UPDATE records SET payload = CAST(replace(payload, 'block', 'allow') AS BLOB) WHERE seq = 3", 3),
        ("UPDATE records SET payload = CAST('no json' AS BLOB) WHERE seq = 3", 3),
        ("UPDATE records SET payload = CAST('{}' || char(10) || '{}' AS BLOB) WHERE seq = 3", 3),
        ("UPDATE records SET salt = zeroblob(32) WHERE seq = 3", 3),
    ];
    for (sql, seq) in edits {
        let home = Home::new();
        let ledger = home.open().unwrap();
        let entries = vec![secret("c-1", 1), secret("c-1", 2), secret("c-2", 3), decision(4)];
        let _ = ledger.append(entries).wait().unwrap();
        Connection::open(home.database()).unwrap().execute(sql, []).unwrap();
        let mut reader = ledger.reader().unwrap();
        assert_eq!(payload(&mut reader, seq), Payload::Damaged, "{sql}");
        let fault = verify(export(&mut reader, Payloads::All).as_slice(), &options()).expect_err(sql);
        assert_eq!(fault.place, countersign_audit::verify::Place::Record(seq), "{sql}: {fault}");
    }
}

#[test]
fn an_alteration_anywhere_in_the_database_is_named_by_the_verifier() {
    let edits = [
        "UPDATE records SET kind = 'approval' WHERE seq = 3",
        "UPDATE records SET at = at + 1 WHERE seq = 3",
        "UPDATE records SET case_id = 'c-7' WHERE seq = 3",
        "UPDATE records SET digest = zeroblob(32) WHERE seq = 3",
        "UPDATE records SET nodes = zeroblob(96) WHERE seq = 3",
        "UPDATE records SET head = NULL WHERE seq = 3",
        "UPDATE records SET head = replace(head, 'previous 0', 'previous 1') WHERE seq = 3",
        "UPDATE records SET head = 'rubbish' WHERE seq = 3",
        "DELETE FROM records WHERE seq = 3",
        "UPDATE records SET seq = 9 WHERE seq = 3",
        "UPDATE signing_keys SET key = 'rubbish'",
        "UPDATE signing_keys SET from_size = 1",
    ];
    for sql in edits {
        let home = Home::new();
        let ledger = home.open().unwrap();
        for first in [0, 4] {
            let _ = ledger.append((first..first + 4).map(decision).collect()).wait().unwrap();
        }
        assert!(Connection::open(home.database()).unwrap().execute(sql, []).unwrap() > 0);
        let mut out = Vec::new();
        let exported = countersign_audit::export::export(&mut ledger.reader().unwrap(), Payloads::All, &mut out);
        assert!(exported.is_err() || verify(out.as_slice(), &options()).is_err(), "{sql}");
    }
}

#[test]
fn the_master_key_shows_itself_to_nobody() {
    assert_eq!(format!("{:?}", master()), "MasterKey(..)");
    let mut bytes = [5; 32];
    drop(MasterKey::from_bytes(&mut bytes));
    assert_eq!(bytes, [0; 32]);
    let store = SqliteStore::open(&Home::new().database());
    assert!(!format!("{store:?}").contains("9, 9"));
}
