//! Inclusion and consistency proofs of the tree that the ledger grows (RFC 6962, section 2.1; RFC 9162): computed from the
//! roots of full subtrees that a store keeps, and checked without the tree.

use countersign_ledger::merkle::{Hash, Nodes, empty_root, node_hash};

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
