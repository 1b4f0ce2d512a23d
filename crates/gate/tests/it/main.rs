//! The gate from outside: the model check over its transition function, and the whole gate with a real ledger and real keys.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod budget;
mod confinement;
mod erase;
mod goal;
mod house;
mod model;
mod people;
mod pursuit;
mod random;
mod remote;
mod revision;
mod run;
