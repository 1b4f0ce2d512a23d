//! Append-only evidence: what was proposed, decided, approved, permitted and done, in an order that nobody can change later.
//!
//! Records form an RFC 6962 Merkle tree whose heads are signed (C2SP checkpoints), one per batch, before anybody is told that
//! a record is durable. Payloads stand beside the tree under salted digests and, per case, under a key of their own, so that
//! they can be erased or withheld while every proof holds. Exports, proofs and offline verification are `countersign-audit`.
//!
//! Synchronous and without an opinion on policy; the gate decides, the ledger remembers (INV-2, INV-8, INV-10).

pub mod checkpoint;
mod head_file;
pub mod ledger;
pub mod merkle;
mod random;
pub mod reader;
pub mod record;
pub mod rotation;
pub mod seal;
pub mod store;

pub use checkpoint::{LedgerId, SignCheckpoint, VerifyingKeyInfo};
pub use head_file::HeadFileError;
pub use ledger::{AppendError, Ledger, OpenError, Recorded, Ticket};
pub use reader::{LedgerReader, Query};
pub use record::{Entry, RecordKind};
