//! What an export carries, and that it is written as it goes.

use std::io::{self, Write};

use countersign_audit::export::{ExportError, Payloads, export as write};
use countersign_audit::verify::{VerifyOptions, verify};
use countersign_ledger::{Entry, RecordKind};
use serde_json::{Value, json};

use crate::support::{Home, TestKey, at, decision, entry, export, fill, gate};

#[test]
fn a_redacted_export_carries_no_payload_and_no_salt_but_key_rotations() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    let _ = ledger.rotate(TestKey::new("gate", 2).boxed(), at(100)).wait().unwrap();
    let text = String::from_utf8(export(&mut ledger.reader().unwrap(), Payloads::Redacted)).unwrap();
    let open: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let open: Vec<&Value> =
        open.iter().filter(|line| line.get("payload").is_some() || line.get("salt").is_some()).collect();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0]["kind"], "key_rotated");
    assert!(!text.contains("policy.denied"));
    assert_eq!(text.matches("payload_digest").count(), 62);
}

#[test]
fn an_export_is_what_was_durable_when_it_began() {
    struct Appending<'a>(&'a countersign_ledger::Ledger, Vec<u8>);
    impl Write for Appending<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.append(vec![decision(100)]).wait().unwrap();
            self.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    let mut out = Appending(&ledger, Vec::new());
    let exported = write(&mut ledger.reader().unwrap(), Payloads::All, &mut out).unwrap();
    assert_eq!((exported.records, exported.checkpoints), (60, 12));
    let options = VerifyOptions { key: Some(gate().public()), heads: Vec::new() };
    let report = verify(out.1.as_slice(), &options).unwrap();
    assert_eq!(report.head.size, 60);
}

#[test]
fn an_output_that_fails_ends_the_export() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    for room in [0, 100, 5000] {
        let result = write(&mut ledger.reader().unwrap(), Payloads::All, &mut Full(room));
        assert!(matches!(result, Err(ExportError::Write(_))));
    }
}

#[test]
fn payloads_read_back_exactly_as_they_were_given() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    let payloads = [
        json!(null),
        json!(""),
        json!(0.1 + 0.2),
        json!([1e300, -1e-300, 5e-324, 1.797_693_134_862_315_7e308, -0.0, 1e21, 123_456_789.123]),
        json!({"": {"\u{0}": "\u{1f}\u{7f}\u{80}\u{2028}\u{feff}\u{1F600}"}, "z": 1, "a": 2, "\u{e000}": 3, "\u{10000}": 4}),
        json!(-9_007_199_254_740_991_i64),
        json!([[], {}, [[]], ""]),
    ];
    for (n, payload) in payloads.iter().enumerate() {
        for sealed in [true, false] {
            let n = i64::try_from(n).unwrap();
            let entry = Entry { sealed, ..entry(RecordKind::Outcome, Some("c-1"), n, payload.clone()) };
            let seq = ledger.append(vec![entry]).wait().unwrap().seqs().start;
            let record = ledger.reader().unwrap().record(seq).unwrap();
            let countersign_ledger::reader::Payload::Open(back) = record.payload else { panic!("{payload}") };
            let canonical = countersign_plan::canonical::to_vec;
            assert_eq!(canonical(&back), canonical(payload));
        }
    }
    let options = VerifyOptions { key: Some(gate().public()), heads: Vec::new() };
    let bytes = export(&mut ledger.reader().unwrap(), Payloads::All);
    verify(bytes.as_slice(), &options).unwrap();
}
