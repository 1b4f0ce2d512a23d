//! Versioned messages between processes, and framing with bounds before decode.
//!
//! One module per channel, one enum per direction, so that an unexpected message cannot be written. Frames are a 4-byte
//! big-endian length and a protobuf message. What is signed travels inside as exact bytes.

pub mod broker;
pub mod egress;
pub mod executor;
pub mod frame;
pub mod infer;
pub mod inspector;
pub mod operator;
pub mod planner;
pub mod propose;
pub mod rights;
pub mod step;
pub mod zygote;
