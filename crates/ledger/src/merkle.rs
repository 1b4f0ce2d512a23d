//! The Merkle tree of RFC 6962 (section 2.1) and RFC 9162 as it grows: leaves and nodes are hashed in separate domains.
//!
//! With each leaf the store keeps the roots of the full subtrees that the leaf completes ([`Frontier::push`] gives them), one
//! more per leaf on average. So every full subtree is one look-up, and opening a ledger does not read all of it.

use sha2::{Digest as _, Sha256};

/// A node of the tree: SHA-256.
pub type Hash = [u8; 32];

/// The hash of a leaf: SHA-256(0x00 ‖ bytes).
#[must_use]
pub fn leaf_hash(bytes: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([0x00]);
    hasher.update(bytes);
    hasher.finalize().into()
}

/// The hash of an inner node: SHA-256(0x01 ‖ left ‖ right).
#[must_use]
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([0x01]);
    hasher.update(left);
    hasher.update(right);
    hasher.finalize().into()
}

/// The root of the empty tree: SHA-256 of nothing.
#[must_use]
pub fn empty_root() -> Hash {
    Sha256::digest(b"").into()
}

/// The right edge of a tree: the roots of the full subtrees that it consists of, from large to small. All that appending
/// and computing the root need; at most 64 hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<Hash>,
}

impl Frontier {
    /// The empty tree.
    #[must_use]
    pub const fn new() -> Self {
        Self { size: 0, peaks: Vec::new() }
    }

    /// The right edge of the tree over the first `size` leaves of `nodes`.
    ///
    /// # Errors
    /// What reading a node raises.
    pub fn load<N: Nodes>(nodes: &mut N, size: u64) -> Result<Self, N::Error> {
        let mut peaks = Vec::new();
        let mut start = 0;
        for level in (0..u64::BITS).rev() {
            let width = 1_u64 << level;
            if size & width != 0 {
                peaks.push(nodes.node(level, start >> level)?);
                start += width;
            }
        }
        Ok(Self { size, peaks })
    }

    /// How many leaves the tree has.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf and returns the roots of the full subtrees that end with it: the leaf itself, then larger ones.
    pub fn push(&mut self, leaf: Hash) -> Vec<Hash> {
        let merges = self.size.trailing_ones();
        let mut completed = Vec::with_capacity(merges as usize + 1);
        let mut node = leaf;
        completed.push(node);
        for _ in 0..merges {
            if let Some(left) = self.peaks.pop() {
                node = node_hash(&left, &node);
                completed.push(node);
            }
        }
        self.peaks.push(node);
        self.size += 1;
        completed
    }

    /// The root of the tree (the Merkle tree hash of RFC 6962).
    #[must_use]
    pub fn root(&self) -> Hash {
        self.peaks.iter().rev().copied().reduce(|right, left| node_hash(&left, &right)).unwrap_or_else(empty_root)
    }
}

/// Where full subtrees are looked up.
pub trait Nodes {
    /// What looking up can raise.
    type Error;

    /// The root of the full subtree over the leaves `index << level .. (index + 1) << level`.
    ///
    /// # Errors
    /// The node cannot be read or does not exist.
    fn node(&mut self, level: u32, index: u64) -> Result<Hash, Self::Error>;
}

/// The seq of the record beside which the root of that full subtree is stored, at position `level` of its nodes.
#[must_use]
pub const fn stored_at(level: u32, index: u64) -> u64 {
    ((index + 1) << level) - 1
}

#[cfg(test)]
mod tests;
