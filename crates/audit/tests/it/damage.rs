//! Databases with overwritten pages: what is exported of them never passes for whole.

use std::fs;

use countersign_audit::export::{Payloads, export};
use countersign_audit::verify::{VerifyOptions, verify};
use countersign_ledger::LedgerReader;
use countersign_ledger::store::sqlite::SqliteReader;

use crate::support::{Home, fill, gate, master};

#[test]
fn overwritten_pages_never_panic_and_never_verify() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    ledger.close().unwrap();
    let (whole, head) = (fs::read(home.database()).unwrap(), fs::read(home.head()).unwrap());
    for page in 0..whole.len() / 4096 {
        for fill in [0_u8, 0xff] {
            let mut bytes = whole.clone();
            bytes[page * 4096..(page + 1) * 4096].fill(fill);
            fs::write(home.database(), bytes).unwrap();
            fs::write(home.head(), &head).unwrap();
            let Ok(reader) = SqliteReader::open(&home.database()) else { continue };
            let Ok(mut reader) = LedgerReader::open(Box::new(reader), Some(master())) else {
                continue;
            };
            let mut out = Vec::new();
            let exported = export(&mut reader, Payloads::All, &mut out);
            let options = VerifyOptions { key: Some(gate().public()), heads: Vec::new() };
            let clean = exported.is_ok() && verify(out.as_slice(), &options).is_ok();
            drop(reader);
            // Pages of the index, or free ones, hold nothing that an export shows.
            let lost = clean && out.len() < 20_000;
            assert!(!lost, "page {page}");
        }
    }
}
