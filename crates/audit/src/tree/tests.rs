//! Proofs against an independent implementation, and against forgery.

use std::convert::Infallible;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use proptest::prelude::*;
use sha2::Sha256;

use countersign_ledger::merkle::{Frontier, Hash, Nodes, empty_root, leaf_hash, stored_at};

use super::{ProofError, consistency_proof, inclusion_proof, verify_consistency, verify_inclusion};

/// Per record, the nodes that it completes: as a store keeps them.
struct Stored(Vec<Vec<Hash>>);

impl Nodes for Stored {
    type Error = Infallible;

    fn node(&mut self, level: u32, index: u64) -> Result<Hash, Infallible> {
        Ok(self.0[usize::try_from(stored_at(level, index)).unwrap()][level as usize])
    }
}

fn leaf(i: u64) -> Vec<u8> {
    format!("record {i}").into_bytes()
}

/// A tree of `size` records: nodes as stored, the root after each record, and the oracle's tree.
fn build(size: u64) -> (Stored, Vec<Hash>, MemoryBackedTree<Sha256, Vec<u8>>) {
    let mut frontier = Frontier::new();
    let (mut stored, mut roots, mut oracle) = (Stored(Vec::new()), vec![frontier.root()], MemoryBackedTree::new());
    for i in 0..size {
        stored.0.push(frontier.push(leaf_hash(&leaf(i))));
        roots.push(frontier.root());
        oracle.push(leaf(i));
    }
    (stored, roots, oracle)
}

fn joined(proof: &[Hash]) -> Vec<u8> {
    proof.concat()
}

#[test]
fn lesson_26_roots_and_proofs_agree_with_an_oracle_at_every_size_to_130() {
    let (mut stored, roots, _) = build(130);
    let mut oracle: MemoryBackedTree<Sha256, Vec<u8>> = MemoryBackedTree::new();
    for size in 0..=130_u64 {
        if size > 0 {
            oracle.push(leaf(size - 1));
        }
        let root = roots[usize::try_from(size).unwrap()];
        assert_eq!(oracle.root().as_bytes().as_slice(), root, "root at {size}");
        assert_eq!(Frontier::load(&mut stored, size).unwrap().root(), root, "loaded at {size}");
        for seq in 0..size {
            let path = inclusion_proof(&mut stored, seq, size).unwrap();
            let expected = oracle.prove_inclusion(usize::try_from(seq).unwrap());
            assert_eq!(expected.as_bytes(), joined(&path), "inclusion of {seq} in {size}");
            verify_inclusion(&leaf_hash(&leaf(seq)), seq, size, &path, &root).unwrap();
        }
        for old in 0..=size {
            let proof = consistency_proof(&mut stored, old, size).unwrap();
            if old > 0 && old < size {
                let expected = oracle.prove_consistency(usize::try_from(size - old).unwrap());
                assert_eq!(expected.as_bytes(), joined(&proof), "consistency of {old} with {size}");
            }
            verify_consistency(old, &roots[usize::try_from(old).unwrap()], size, &root, &proof).unwrap();
        }
    }
}

#[test]
fn the_empty_tree_includes_nothing() {
    assert!(verify_inclusion(&empty_root(), 0, 0, &[], &empty_root()).is_err());
}

#[test]
fn what_is_not_in_the_tree_has_no_proof() {
    let (mut stored, _, _) = build(5);
    assert!(matches!(inclusion_proof(&mut stored, 5, 5), Err(ProofError::OutOfTree(_))));
    assert!(matches!(consistency_proof(&mut stored, 6, 5), Err(ProofError::OutOfTree(_))));
}

proptest! {
    #[test]
    fn proofs_of_larger_trees_agree_with_the_oracle(size in 1_u64..1500, a in any::<u64>(), b in any::<u64>()) {
        let (mut stored, roots, oracle) = build(size);
        let root = roots.last().unwrap();
        let (seq, old) = (a % size, 1 + b % size);
        let path = inclusion_proof(&mut stored, seq, size).unwrap();
        let expected = oracle.prove_inclusion(usize::try_from(seq).unwrap());
        prop_assert_eq!(expected.as_bytes(), joined(&path));
        prop_assert_eq!(verify_inclusion(&leaf_hash(&leaf(seq)), seq, size, &path, root), Ok(()));
        let proof = consistency_proof(&mut stored, old, size).unwrap();
        let old_root = &roots[usize::try_from(old).unwrap()];
        prop_assert_eq!(verify_consistency(old, old_root, size, root, &proof), Ok(()));
    }

    #[test]
    fn no_altered_proof_holds(size in 2_u64..200, a in any::<u64>(), b in any::<u64>(), c in any::<usize>(), flip in 1_u8..) {
        let (mut stored, roots, _) = build(size);
        let root = roots.last().unwrap();
        let (seq, old) = (a % size, 1 + b % (size - 1));
        let leaf = leaf_hash(&leaf(seq));
        let path = inclusion_proof(&mut stored, seq, size).unwrap();
        let proof = consistency_proof(&mut stored, old, size).unwrap();
        let old_root = &roots[usize::try_from(old).unwrap()];
        for change in 0..4 {
            let (mut path, mut proof) = (path.clone(), proof.clone());
            for hashes in [&mut path, &mut proof] {
                let at = c % hashes.len();
                match change {
                    0 => hashes[at][c % 32] ^= flip,
                    1 => drop(hashes.remove(at)),
                    2 => hashes.insert(at, leaf),
                    _ => hashes.push(*root),
                }
            }
            prop_assert!(verify_inclusion(&leaf, seq, size, &path, root).is_err());
            prop_assert!(verify_consistency(old, old_root, size, root, &proof).is_err());
        }
        let mut wrong = leaf;
        wrong[c % 32] ^= flip;
        prop_assert!(verify_inclusion(&wrong, seq, size, &path, root).is_err());
        // The same path for another place.
        prop_assert!(verify_inclusion(&leaf, seq ^ 1, size, &path, root).is_err());
        prop_assert!(verify_inclusion(&leaf, size, size, &path, root).is_err());
        prop_assert!(verify_consistency(old, root, size, root, &proof).is_err());
        prop_assert!(verify_consistency(old, old_root, size, old_root, &proof).is_err());
    }
}
