//! What the broker and a step that is shown a secret have in common: taking values out of text, and handing a value over without
//! leaving a copy in the memory of the processes between them (INV-10).

pub mod handover;
pub mod redact;
