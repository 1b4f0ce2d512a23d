//! `audit`: the ledger for people, and for whoever verifies it offline.

use std::path::PathBuf;

use clap::Subcommand;
use countersign_plan::id::CaseId;

use super::Signer;

/// `audit`
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// List records.
    List {
        /// Of this case only.
        #[arg(long)]
        case: Option<CaseId>,
        /// From this record on.
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        from: u64,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 1000)]
        limit: u64,
    },
    /// Show the records of a case, or one record, with payloads.
    Show {
        /// A case, or the number of a record.
        #[arg(value_name = "CASE|SEQ")]
        what: String,
        /// Show long payloads whole.
        #[arg(long)]
        full: bool,
    },
    /// Write a proof that a record is in the ledger, for somebody who has nothing but the public key.
    #[command(
        after_long_help = "Example:\n  countersign audit prove 17 --output proof.json && countersign audit verify proof.json"
    )]
    Prove {
        /// The number of the record.
        seq: u64,
        /// The file to write; an existing one is not overwritten.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// With the payload.
        #[arg(long)]
        payloads: bool,
    },
    /// Write the whole ledger as lines of JSON, for anybody to verify offline.
    #[command(after_long_help = "\
Without --payloads only digests are written, which is enough to verify and safe to hand out.

Example:
  countersign audit export --output ledger.jsonl --payloads")]
    Export {
        /// The file to write; an existing one is not overwritten.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// With payloads.
        #[arg(long)]
        payloads: bool,
    },
    /// Destroy the words of a case that ended, for good: its goal, plans, arguments, outputs and snapshots.
    #[command(after_long_help = "\
The key that sealed them is destroyed, under an approver's signature that the ledger keeps with the reason. Every record stays, and
so does every proof: the tree holds salted digests. Who approved, what was permitted and how it ended stays readable; so does the
reason, so name nothing in it that has to go. Labels of the files that the case wrote outlive it, sealed as the house's own.

A case that is still open is not erased: answer, settle or halt it first. There is no option that says yes.

Example:
  countersign audit erase c-4f1d --reason 'request 118 of a customer'")]
    Erase {
        /// The case.
        case: CaseId,
        /// Why; it is recorded, and stays readable for everybody.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The key that signs.
        #[command(flatten)]
        signer: Signer,
    },
    /// Print the newest signed head, to be kept elsewhere.
    #[command(after_long_help = "Example:\n  countersign audit head > head-$(date +%F).txt")]
    Head,
    /// Count which tier decided: rules (0), the evaluator (2), people (3).
    #[command(after_long_help = "Example:\n  countersign audit tiers")]
    Tiers,
    /// Verify an export offline: trusts nothing but the public key and the heads that it is given.
    #[command(after_long_help = "\
Names the first record or interval that is wrong: an edited byte or decision, a removed, added or moved record, a signature by
another key. A cut tail or a rolled-back ledger shows only against a later head (--head), a fork against another export (--other).

Examples:
  countersign audit verify ledger.jsonl
  countersign audit verify ledger.jsonl --key 'gate+1a2b3c4d+AQ…' --head head-2026-11-20.txt
  countersign audit verify ledger.jsonl --other copy-of-a-colleague.jsonl")]
    Verify {
        /// The export, or the proof of a record.
        file: PathBuf,
        /// The gate's public key (`name+id+base64`), or a file that holds it; else the one that is pinned here.
        #[arg(long, value_name = "PUB")]
        key: Option<String>,
        /// A signed head kept elsewhere, which the export must contain.
        #[arg(long = "head", value_name = "CHECKPOINT")]
        heads: Vec<PathBuf>,
        /// Another export of the same ledger.
        #[arg(long, value_name = "FILE")]
        other: Option<PathBuf>,
    },
}
