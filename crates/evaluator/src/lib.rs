//! The second opinion of tier 2: what another model is asked about a plan, and what its answer counts for.
//!
//! The model sees the plan as [`evidence`], quoted, among items that are known to be harmful; it never sees the conversation that
//! led there. What it may say is closed ([`question`]): for each item one word. An answer that lacks the canary, misses an item or
//! calls a known-bad one harmless is no answer. How often a principal may have it asked is a [`budget`]; what it said before holds
//! for the same evidence under the same policy ([`cache`]).
//!
//! Outside the trusted base: the most that any of this can bring about is that a `verify` rule of tier 2 asks nobody. The policy
//! ([`countersign_plan::verdict`]) keeps every other reason as it is.

pub mod budget;
pub mod cache;
pub mod configuration;
pub mod evidence;
pub mod question;
