//! The real process over its real socket, against servers that do what attackers' servers do.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod attacks;
mod confined;
mod fetching;
mod house;
mod leases;
mod mcp;
mod memory;
mod model;
mod schema;
mod secrets;
mod sending;
mod server;
mod streams;
mod tls;
