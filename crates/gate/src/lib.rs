//! The reference monitor: a pure, synchronous state machine, and the only signer.
//!
//! An [`event::Event`] goes into [`gate::Gate::handle`]; a [`transition::Transition`] comes out: entries for the ledger, and
//! directives that stay withheld until the ledger proves that exactly these entries are durable (INV-2). Whoever drives the
//! gate records first and acts after:
//!
//! ```text
//! let transition = gate.handle(event, moment, entropy, &facts);
//! match transition.ready() {
//!     Ok(directives) => carry out                       // nothing had to be recorded
//!     Err(transition) => {
//!         let (entries, withheld) = transition.into_parts();
//!         match ledger.append(entries).wait() {
//!             Ok(recorded) => carry out withheld.release(&recorded)?
//!             Err(_) => gate.handle(Event::LedgerFailed, …) // everything halts
//!         }
//!     }
//! }
//! ```
//!
//! Transitions are recorded and released in the order in which they were made; several may be on their way at once.
//!
//! No clock, file, socket or randomness: time, entropy and facts are arguments. Which moves are legal is decided by
//! [`machine`], plain data that a model checker drives exhaustively; the stages of [`case`] and the mint of [`permit`] wrap it
//! in types that cannot be made, copied or read from anywhere else.
//!
//! What may surprise:
//!
//! - The gate's state moves on when an event is taken, before its record is durable; only directives wait. That is sound
//!   because nothing but directives leaves the gate, records become durable in order, and a record that fails ends
//!   everything until the next start ([`event::Event::LedgerFailed`]).
//! - A plan that expires while it runs gets no further leave to act. What it did may be taken back for an hour more
//!   ([`machine::UNDO_GRACE`]); else an expiry would leave half of it behind.
//! - A person's halt takes back what was done; a clock set back, a new key, a lost executor and a violation do not, since
//!   nobody is left who could be trusted with it. A second halt stops the taking back.
//! - A person who belongs to several groups fills a place in each quorum that asks for one of them, unless the approval names
//!   the group for which it speaks.
//! - Relative paths of a plan start from the deployment's first workspace, which is what its `cwd` says; paths of
//!   expectations too, and `~` is no home there.
//! - An approver's name is anybody's choice, so a key is also known by the user who sent it in (`enrolled_by`, the peer of the
//!   operator's socket). Under four eyes a key counts as the requester's own if its owner's name is the requester's, or if any
//!   key of that name was ever enrolled from the requester's user (INV-7). So each approver sends in their own key, with
//!   somebody else's signature, or an administrator who requests nothing enrols all. One person with several users is for
//!   the deployment to exclude: the kernel does not know persons.
//! - A case that was opened for a goal is two things: the pursuit, which its planner keeps going, and at most one version of
//!   a plan at a time, which takes the road of every other plan. A version's end is recorded as `run_ended`; the case ends with
//!   the planner's answer, its giving up, its violation, a halt, or a restart. What the planner reads before it proposes is a
//!   case of its own, that names its parent.
//! - What the broker may do for a step is worked out by the policy from the same arguments that it judged, and stands in the
//!   sandbox spec, so that the permit binds it. References may complete a URL below what was shown, never lead out of it.
//! - The end of a case names code and step of what stopped it in clear; the words are in the sealed record of that.
//! - What people approved counts for the next version where that adds nothing but reads ([`countersign_plan::revision`]) and the
//!   version before waits, or stopped by itself before any effect of it had leave. A person's halt is a no.
//! - A check that people approve ends as `decided`: nothing is countersigned, because nothing is to run.

pub mod case;
pub mod clock;
pub mod configuration;
pub mod confine;
pub mod directive;
pub mod event;
pub mod gate;
mod judge;
pub mod key;
pub mod machine;
pub mod permit;
mod record;
mod replay;
pub mod transition;
