//! The tree against an independent implementation.

use std::convert::Infallible;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use sha2::Sha256;

use super::{Frontier, Hash, Nodes, empty_root, leaf_hash, stored_at};

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

/// A tree of `size` records: nodes as stored, and the root after each record, which is the oracle's.
fn build(size: u64) -> (Stored, Vec<Hash>) {
    let mut frontier = Frontier::new();
    let (mut stored, mut roots) = (Stored(Vec::new()), vec![frontier.root()]);
    let mut oracle: MemoryBackedTree<Sha256, Vec<u8>> = MemoryBackedTree::new();
    for i in 0..size {
        stored.0.push(frontier.push(leaf_hash(&leaf(i))));
        roots.push(frontier.root());
        oracle.push(leaf(i));
        assert_eq!(oracle.root().as_bytes().as_slice(), frontier.root(), "root at {i}");
    }
    (stored, roots)
}

#[test]
fn a_loaded_edge_goes_on_like_the_one_that_grew() {
    let (mut stored, roots) = build(64);
    for size in 0..=64 {
        let mut frontier = Frontier::load(&mut stored, size).unwrap();
        assert_eq!(frontier.root(), roots[usize::try_from(size).unwrap()]);
        for i in size..64 {
            let nodes = frontier.push(leaf_hash(&leaf(i)));
            assert_eq!(nodes, stored.0[usize::try_from(i).unwrap()]);
        }
        assert_eq!(frontier.root(), roots[64]);
    }
}

#[test]
fn the_empty_tree_has_the_root_of_rfc_6962() {
    assert_eq!(hex::encode(empty_root()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(Frontier::new().root(), empty_root());
}

#[test]
fn leaves_and_nodes_are_hashed_in_separate_domains() {
    let (stored, roots) = build(2);
    let [left, right] = [stored.0[0][0], stored.0[1][0]];
    assert_ne!(leaf_hash(&[left, right].concat()), roots[2]);
}
