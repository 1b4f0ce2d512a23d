//! The Merkle tree of RFC 6962 (section 2.1) and RFC 9162: leaves and nodes are hashed in separate domains, roots, inclusion
//! and consistency proofs are computed from stored subtree roots, and proofs are checked without the tree.
//!
//! With each leaf the store keeps the roots of the full subtrees that the leaf completes ([`Frontier::push`] gives them), one
//! more per leaf on average. So every full subtree is one look-up, a proof takes O(log² n) of them, and opening a ledger
//! does not read all of it.

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

/// A position or size lies outside the tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no proof from {from} in a tree of {size} records")]
pub struct OutOfTree {
    /// The seq or the smaller size that was asked for.
    pub from: u64,
    /// The size of the tree.
    pub size: u64,
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError<E> {
    /// The question makes no sense.
    #[error(transparent)]
    OutOfTree(#[from] OutOfTree),
    /// A node could not be read.
    #[error("{0}")]
    Nodes(E),
}

/// The largest power of two below `n`, for `n` of 2 or more (the split of RFC 6962).
const fn split(n: u64) -> u64 {
    1 << (u64::BITS - 1 - (n - 1).leading_zeros())
}

/// The root over the leaves `start..end`, where `start` is a multiple of the smallest power of two that holds the range.
fn range_root<N: Nodes>(nodes: &mut N, start: u64, end: u64) -> Result<Hash, N::Error> {
    let width = end - start;
    if width.is_power_of_two() {
        let level = width.trailing_zeros();
        return nodes.node(level, start >> level);
    }
    let middle = start + split(width);
    let left = range_root(nodes, start, middle)?;
    let right = range_root(nodes, middle, end)?;
    Ok(node_hash(&left, &right))
}

/// The audit path of leaf `seq` in the tree of `size` leaves (RFC 6962, section 2.1.1), from the leaf to the root.
///
/// # Errors
/// The leaf is not in that tree, or a node cannot be read.
pub fn inclusion_proof<N: Nodes>(nodes: &mut N, seq: u64, size: u64) -> Result<Vec<Hash>, ProofError<N::Error>> {
    if seq >= size {
        return Err(OutOfTree { from: seq, size }.into());
    }
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 {
        let middle = start + split(end - start);
        let sibling = if seq < middle { (middle, end) } else { (start, middle) };
        path.push(range_root(nodes, sibling.0, sibling.1).map_err(ProofError::Nodes)?);
        if seq < middle {
            end = middle;
        } else {
            start = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// The proof that the tree of `old` leaves is a prefix of the tree of `size` leaves (RFC 6962, section 2.1.2). Empty where
/// `old` is 0 or `size`.
///
/// # Errors
/// `old` is larger than `size`, or a node cannot be read.
pub fn consistency_proof<N: Nodes>(nodes: &mut N, old: u64, size: u64) -> Result<Vec<Hash>, ProofError<N::Error>> {
    if old > size {
        return Err(OutOfTree { from: old, size }.into());
    }
    if old == 0 || old == size {
        return Ok(Vec::new());
    }
    let (mut start, mut end) = (0, size);
    let mut proof = Vec::new();
    // Descend to the last subtree that holds the old tree's end; siblings on the way are the proof.
    while end != old {
        let middle = start + split(end - start);
        if old <= middle {
            proof.push(range_root(nodes, middle, end).map_err(ProofError::Nodes)?);
            end = middle;
        } else {
            proof.push(range_root(nodes, start, middle).map_err(ProofError::Nodes)?);
            start = middle;
        }
    }
    // The verifier has the old root already where the old tree is one full subtree from the left edge.
    if start != 0 {
        proof.push(range_root(nodes, start, end).map_err(ProofError::Nodes)?);
    }
    proof.reverse();
    Ok(proof)
}

/// A proof does not lead to the root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Too many or too few hashes for these sizes.
    #[error("the proof has a wrong number of hashes for these sizes")]
    Length,
    /// It leads to another root.
    #[error("the proof leads to another root")]
    Root,
}

/// Checks that `leaf` is the leaf `seq` of the tree of `size` leaves with that `root` (RFC 9162, section 2.1.3.2).
///
/// # Errors
/// It is not, or the proof does not show it.
pub fn verify_inclusion(leaf: &Hash, seq: u64, size: u64, path: &[Hash], root: &Hash) -> Result<(), Mismatch> {
    if seq >= size {
        return Err(Mismatch::Length);
    }
    let (mut node, mut last) = (seq, size - 1);
    let mut hash = *leaf;
    for sibling in path {
        if last == 0 {
            return Err(Mismatch::Length);
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(Mismatch::Length);
    }
    if hash == *root { Ok(()) } else { Err(Mismatch::Root) }
}

/// Checks that the tree of `old` leaves with `old_root` is a prefix of the tree of `size` leaves with `root` (RFC 9162,
/// section 2.1.4.2). The empty tree is a prefix of every tree.
///
/// # Errors
/// It is not, or the proof does not show it.
pub fn verify_consistency(old: u64, old_root: &Hash, size: u64, root: &Hash, proof: &[Hash]) -> Result<(), Mismatch> {
    if old > size {
        return Err(Mismatch::Length);
    }
    if old == 0 || old == size {
        let same = if old == size { old_root == root } else { *old_root == empty_root() };
        return match (proof.is_empty(), same) {
            (false, _) => Err(Mismatch::Length),
            (true, false) => Err(Mismatch::Root),
            (true, true) => Ok(()),
        };
    }
    let mut hashes = proof.iter();
    let first = if old.is_power_of_two() { old_root } else { hashes.next().ok_or(Mismatch::Length)? };
    let (mut node, mut last) = (old - 1, size - 1);
    while node & 1 == 1 {
        node >>= 1;
        last >>= 1;
    }
    let (mut from_old, mut from_new) = (*first, *first);
    for sibling in hashes {
        if last == 0 {
            return Err(Mismatch::Length);
        }
        if node & 1 == 1 || node == last {
            from_old = node_hash(sibling, &from_old);
            from_new = node_hash(sibling, &from_new);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            from_new = node_hash(&from_new, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(Mismatch::Length);
    }
    if from_old == *old_root && from_new == *root { Ok(()) } else { Err(Mismatch::Root) }
}

#[cfg(test)]
mod tests;
