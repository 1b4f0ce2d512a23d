//! What those who keep secrets have in common: taking values out of text, finding them by fingerprint, and handing a value over without
//! leaving a copy in the memory of the processes between them (INV-10).

pub mod handover;
pub mod print;
pub mod redact;
