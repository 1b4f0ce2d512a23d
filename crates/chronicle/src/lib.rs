//! State before an effect and back again: snapshots of files and folders, and their restore with proof.
//!
//! [`capture`] copies what a step may change into a content-addressed store and is durable before it returns; the digest of
//! its [`Index`] goes into the ledger. [`restore`] believes nothing: index and every copy must have their digests before
//! the first file is touched (`lesson_27`). Both reach files through [`beneath`] only, so that no link leads out.
//!
//! Kept are content, permission bits, modification times and link targets. Not kept: owners (a step has one), extended
//! attributes, and which names are hard links of one file.

pub mod beneath;

mod capture;
mod index;
mod restore;
mod store;

pub use capture::{CaptureError, Captured, Limit, capture};
pub use index::{Entry, Index, Kind, SCHEMA};
pub use restore::{Changes, RestoreError, restore};
