//! The plan as a value: vocabulary, labels, canonical bytes, envelope, verification.
//!
//! Everything here is pure: no file, no clock, no randomness. A document from outside goes
//! bytes → [`document`] (strict JSON or YAML) → typed draft ([`draft`]) → checked [`draft::Draft`] → [`artifact::Plan`]
//! → signed [`envelope`] → [`envelope::VerifiedPlan`]. Verification changes the type; nothing that was not verified can be run.

pub mod access;
pub mod approval;
pub mod artifact;
pub mod budget;
pub mod canonical;
pub mod confinement;
pub mod deed;
pub mod digest;
pub mod document;
pub mod draft;
pub mod egress;
pub mod envelope;
pub mod expect;
pub mod id;
pub mod inspection;
pub mod intent;
pub mod key;
pub mod observation;
pub mod permit;
pub mod pointer;
pub mod resolve;
pub mod revision;
pub mod saga;
pub mod text;
pub mod time;
pub mod tool;
pub mod value;
pub mod verdict;
