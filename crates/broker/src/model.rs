//! Model providers: a neutral request in, an answer or a failure out, and an account of what it used.
//!
//! An answer is untrusted text and nothing more: it is bounded ([`reading`]), it ends for a known reason ([`openai`],
//! [`anthropic`]), secrets are taken out of it ([`redaction`]), and nobody here looks at what it asks for. What may be asked
//! is bounded too: by the provider's clearance, by [`budget`], and by [`patience`]. Everything but [`provider`] and [`inference`] is
//! synchronous and touches nothing.

mod anthropic;
mod book;
mod budget;
mod fault;
mod inference;
mod openai;
pub(crate) mod patience;
mod provider;
mod reading;
mod redaction;
mod retry;
mod script;
mod sse;
mod written;

pub(crate) use inference::{Models, Spent};
