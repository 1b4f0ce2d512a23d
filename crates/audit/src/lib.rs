//! Evidence taken elsewhere: exports of a ledger, their offline verification with the public key alone, and proofs as documents.
//!
//! Nothing here decides, signs or records anything. What is written is checked by whoever reads it; what is read is hostile
//! until every byte of it is accounted for (INV-8). It stands outside the trusted base (docs/adr/0006): an error in it shows
//! something wrong to an auditor, and changes no decision, no effect and no record.

pub mod export;
pub mod prove;
pub mod tree;
pub mod verify;
