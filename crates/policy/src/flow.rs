//! Information flow: who could have written a value, who may read it, and where the two meet a sink.
//!
//! The labels of a plan's values, the rules by which they travel, and what an agent's earlier work leaves behind.

mod label;
mod session;

pub use label::Level;
pub use session::Session;
