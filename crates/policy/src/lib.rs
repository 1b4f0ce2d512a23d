//! Decide: plan, facts and policy to a decision with reasons.
//!
//! Everything here is pure: no clock, no file, no network. What lies outside comes in as [`facts::Facts`], `now` and documents.
//! A deployment says where the work runs and what matters there, a policy which actions are denied, verified or allowed; both
//! are compiled once ([`deployment::Deployment`], [`policy::Policy`]) and asked often ([`review::review`],
//! [`review::recheck`]). What cannot be decided blocks.

pub mod changes;
pub mod condition;
pub mod deployment;
mod effects;
pub mod facts;
pub mod flow;
pub mod history;
pub mod hosts;
pub mod identities;
mod lists;
pub mod paths;
pub mod policy;
pub mod review;
pub mod trust_base;
