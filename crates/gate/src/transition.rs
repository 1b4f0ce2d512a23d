//! Write-ahead as a signature: directives come out only against the ledger's proof for exactly their entries (INV-2).

use countersign_ledger::{Entry, Recorded};

use crate::directive::Directive;

/// What one event led to.
#[derive(Debug)]
#[must_use = "entries must be recorded; dropping a transition loses its directives"]
pub struct Transition {
    entries: Vec<Entry>,
    directives: Vec<Directive>,
}

/// Directives that wait for the proof that their entries are durable. It cannot be copied or made elsewhere, and what it
/// holds cannot be taken out without the ledger's proof.
///
/// ```compile_fail
/// fn twice(withheld: countersign_gate::transition::Withheld) -> countersign_gate::transition::Withheld { withheld.clone() }
/// ```
/// ```compile_fail
/// fn open(withheld: countersign_gate::transition::Withheld) -> usize { withheld.directives.len() }
/// ```
/// ```compile_fail
/// fn forge(withheld: countersign_gate::transition::Withheld, first: u64, count: u64, digest: countersign_plan::digest::Digest) {
///     withheld.release(&countersign_ledger::Recorded { first, count, digest }).unwrap();
/// }
/// ```
#[derive(Debug)]
#[must_use = "directives are released by the ledger's proof"]
pub struct Withheld {
    entries: Vec<Entry>,
    directives: Vec<Directive>,
}

/// The proof is for other entries; the directives are lost, and the gate must be told `LedgerFailed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the ledger's proof is for other entries than those of this transition; nothing was released")]
pub struct NotProved;

impl Transition {
    pub(crate) const fn new(entries: Vec<Entry>, directives: Vec<Directive>) -> Self {
        Self { entries, directives }
    }

    /// The directives, if nothing has to be recorded first.
    ///
    /// # Errors
    /// The transition itself, if it has entries.
    pub fn ready(self) -> Result<Vec<Directive>, Self> {
        if self.entries.is_empty() { Ok(self.directives) } else { Err(self) }
    }

    /// What is to be recorded, together and in this order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries for the ledger, and the directives behind them.
    pub fn into_parts(self) -> (Vec<Entry>, Withheld) {
        (self.entries.clone(), Withheld { entries: self.entries, directives: self.directives })
    }
}

impl Withheld {
    /// The directives, against the proof that exactly their entries are durable.
    ///
    /// # Errors
    /// The proof is for other entries, or nothing had to be recorded ([`Transition::ready`]).
    pub fn release(self, proof: &Recorded) -> Result<Vec<Directive>, NotProved> {
        if self.entries.is_empty() || proof.covers(&self.entries).is_err() {
            return Err(NotProved);
        }
        Ok(self.directives)
    }
}
