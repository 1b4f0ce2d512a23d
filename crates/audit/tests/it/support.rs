//! Keys, entries and places: those of the ledger's own tests, and its export.

use std::path::PathBuf;

use countersign_audit::export::Payloads;
use countersign_ledger::LedgerReader;

#[path = "../../../ledger/tests/it/support.rs"]
mod house;

pub(crate) use house::{Home, TestKey, at, case, decision, entry, fill, gate, master};

impl Home {
    /// The home that another process made.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder, _made: None }
    }
}

pub(crate) fn export(reader: &mut LedgerReader, payloads: Payloads) -> Vec<u8> {
    let mut out = Vec::new();
    countersign_audit::export::export(reader, payloads, &mut out).unwrap();
    out
}
