//! The vectors, file by file.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use countersign_audit::tree::{consistency_proof, inclusion_proof, verify_consistency, verify_inclusion};
use countersign_ledger::checkpoint::{Checkpoint, CheckpointError, Head, KeyName, SignCheckpoint, VerifyingKeyInfo};
use countersign_ledger::merkle::{Frontier, Hash, Nodes, empty_root, leaf_hash, stored_at};
use countersign_plan::canonical::to_vec;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

/// The implementation and an expectation differ.
#[derive(Debug)]
pub(crate) struct Differs(String);

impl std::fmt::Display for Differs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Differs {}

/// Every file: its path below `conformance/` and its text.
pub(crate) fn all() -> Result<Vec<(&'static str, String)>, Differs> {
    let mut tree = Tree::new()?;
    Ok(vec![
        ("proofs/inclusion.json", render("inclusion", INCLUSION, &tree.inclusion()?)),
        ("proofs/consistency.json", render("consistency", CONSISTENCY, &tree.consistency()?)),
        ("checkpoints/checkpoints.json", render("checkpoint", CHECKPOINTS, &checkpoints()?)),
    ])
}

const INCLUSION: &str = "Inclusion proofs in the trees over the first 1 to 8 of the leaves of Certificate Transparency's \
                         reference tests. leaf is hex of the leaf's bytes; leaf hash SHA-256(00, leaf), node hash SHA-256(01, left, right).";
const CONSISTENCY: &str = "Consistency proofs between the trees of inclusion.json; the empty tree is a prefix of every tree, with an empty proof.";
const CHECKPOINTS: &str = "Signed heads (C2SP tlog-checkpoint and signed-note). key is a C2SP verifier key of the seed 32 \
                           bytes of 01; refused: form, not_signed or bad_signature.";

/// One case a line; in ASCII, so that nothing hides in a checked-in file.
fn render(kind: &str, about: &str, cases: &[Value]) -> String {
    let lines: Vec<String> = cases.iter().map(|case| format!("  {}", ascii(case))).collect();
    let (kind, about) = (ascii(&json!(kind)), ascii(&json!(about)));
    format!(
        "{{\"schema\": \"countersign.conformance/v1\",\n \"kind\": {kind},\n \"about\": {about},\n \"cases\": [\n{}\n ]}}\n",
        lines.join(",\n")
    )
}

fn ascii(value: &Value) -> String {
    let mut out = String::new();
    for c in String::from_utf8_lossy(&to_vec(value)).chars() {
        if (' '..='~').contains(&c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

fn same<T: PartialEq + std::fmt::Debug>(name: &str, expected: &T, found: &T) -> Result<(), Differs> {
    if expected == found { Ok(()) } else { Err(Differs(format!("{name}: expected {expected:?}, found {found:?}"))) }
}

/// The leaves of Certificate Transparency's reference tests, and the roots of the trees over the first 1 to 8 of them.
const LEAVES: [&str; 8] =
    ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const ROOTS: [&str; 8] = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

/// The full subtrees, by the leaf that completes them.
struct Completed(Vec<Vec<Hash>>);

impl Nodes for Completed {
    type Error = Differs;

    fn node(&mut self, level: u32, index: u64) -> Result<Hash, Differs> {
        let at = usize::try_from(stored_at(level, index)).unwrap_or(usize::MAX);
        let node = self.0.get(at).and_then(|nodes| nodes.get(level as usize)).copied();
        node.ok_or_else(|| Differs(format!("no node {level}/{index}")))
    }
}

/// Name, leaf, seq, size, path and root.
type Inclusion<'a> = (&'a str, &'a [u8], u64, u64, &'a [Hash], &'a Hash);
/// Name, old size and root, new size and root, proof.
type Consistency<'a> = (&'a str, u64, &'a Hash, u64, &'a Hash, &'a [Hash]);

struct Tree {
    leaves: Vec<Vec<u8>>,
    nodes: Completed,
    /// By size, from the empty tree.
    roots: Vec<Hash>,
}

impl Tree {
    fn new() -> Result<Self, Differs> {
        let mut tree = Self { leaves: Vec::new(), nodes: Completed(Vec::new()), roots: vec![empty_root()] };
        let mut frontier = Frontier::new();
        for (leaf, root) in LEAVES.iter().zip(ROOTS) {
            let leaf = hex::decode(leaf).map_err(|e| Differs(e.to_string()))?;
            tree.nodes.0.push(frontier.push(leaf_hash(&leaf)));
            tree.leaves.push(leaf);
            same("root", &root.to_owned(), &hex::encode(frontier.root()))?;
            tree.roots.push(frontier.root());
        }
        Ok(tree)
    }

    fn root(&self, size: u64) -> Hash {
        usize::try_from(size).ok().and_then(|size| self.roots.get(size)).copied().unwrap_or_default()
    }

    fn leaf(&self, seq: u64) -> Vec<u8> {
        usize::try_from(seq).ok().and_then(|seq| self.leaves.get(seq)).cloned().unwrap_or_default()
    }

    fn path(&mut self, seq: u64, size: u64) -> Result<Vec<Hash>, Differs> {
        inclusion_proof(&mut self.nodes, seq, size).map_err(|e| Differs(e.to_string()))
    }

    fn proof(&mut self, old: u64, size: u64) -> Result<Vec<Hash>, Differs> {
        consistency_proof(&mut self.nodes, old, size).map_err(|e| Differs(e.to_string()))
    }

    fn inclusion(&mut self) -> Result<Vec<Value>, Differs> {
        let mut cases = Vec::new();
        for size in 1..=8 {
            for seq in 0..size {
                let path = self.path(seq, size)?;
                let name = format!("leaf {seq} of {size}");
                cases.push(include(&name, &self.leaf(seq), seq, size, &path, &self.root(size), true)?);
            }
        }
        let (leaf, path, root) = (self.leaf(2), self.path(2, 7)?, self.root(7));
        let other = self.root(3);
        let with = |more: Hash| path.iter().copied().chain([more]).collect::<Vec<_>>();
        let flipped: Vec<Hash> = path.iter().map(|hash| hash.map(|byte| byte ^ 1)).collect();
        let reversed: Vec<Hash> = path.iter().rev().copied().collect();
        let (_, shorter) = path.split_first().ok_or(Differs("an empty path".to_owned()))?;
        // Without separate domains an inner node would pass for a leaf.
        let inner = [leaf_hash(&self.leaf(0)), leaf_hash(&self.leaf(1))].concat();
        let above = [self.path(0, 4)?.split_off(1), Vec::new()].concat();
        let wrong: [Inclusion<'_>; 11] = [
            ("another leaf", b"x", 2, 7, &path, &root),
            ("another place", &leaf, 3, 7, &path, &root),
            ("another size", &leaf, 2, 9, &path, &root),
            ("another root", &leaf, 2, 7, &path, &other),
            ("altered hashes", &leaf, 2, 7, &flipped, &root),
            ("hashes in another order", &leaf, 2, 7, &reversed, &root),
            ("a hash too many", &leaf, 2, 7, &with(root), &root),
            ("a hash too few", &leaf, 2, 7, shorter, &root),
            ("behind the end", &leaf, 7, 7, &path, &root),
            ("in the empty tree", b"", 0, 0, &[], &empty_root()),
            ("an inner node as a leaf", &inner, 0, 2, &above, &self.root(4)),
        ];
        for (name, leaf, seq, size, path, root) in wrong {
            cases.push(include(name, leaf, seq, size, path, root, false)?);
        }
        Ok(cases)
    }

    fn consistency(&mut self) -> Result<Vec<Value>, Differs> {
        let mut cases = Vec::new();
        for size in 0..=8 {
            for old in 0..=size {
                let proof = self.proof(old, size)?;
                let name = format!("{old} in {size}");
                cases.push(extend(&name, old, &self.root(old), size, &self.root(size), &proof, true)?);
            }
        }
        let (proof, old, new) = (self.proof(3, 7)?, self.root(3), self.root(7));
        let (_, shorter) = proof.split_first().ok_or(Differs("an empty proof".to_owned()))?;
        let longer: Vec<Hash> = proof.iter().copied().chain([new]).collect();
        let flipped: Vec<Hash> = proof.iter().map(|hash| hash.map(|byte| byte ^ 1)).collect();
        let forked = leaf_hash(b"forked");
        let wrong: [Consistency<'_>; 10] = [
            ("another old root", 3, &forked, 7, &new, &proof),
            ("another new root", 3, &old, 7, &forked, &proof),
            ("another old size", 4, &old, 7, &new, &proof),
            ("another new size", 3, &old, 9, &new, &proof),
            ("altered hashes", 3, &old, 7, &new, &flipped),
            ("a hash too many", 3, &old, 7, &new, &longer),
            ("a hash too few", 3, &old, 7, &new, shorter),
            ("shrunk", 7, &new, 3, &old, &proof),
            ("the same size, another root", 7, &forked, 7, &new, &[]),
            ("a proof where none is needed", 0, &self.root(0), 7, &new, &proof),
        ];
        for (name, old, old_root, size, root, proof) in wrong {
            cases.push(extend(name, old, old_root, size, root, proof, false)?);
        }
        Ok(cases)
    }
}

fn hexes(hashes: &[Hash]) -> Vec<String> {
    hashes.iter().map(hex::encode).collect()
}

fn include(
    name: &str,
    leaf: &[u8],
    seq: u64,
    size: u64,
    path: &[Hash],
    root: &Hash,
    holds: bool,
) -> Result<Value, Differs> {
    same(name, &holds, &verify_inclusion(&leaf_hash(leaf), seq, size, path, root).is_ok())?;
    let (leaf, path, root) = (hex::encode(leaf), hexes(path), hex::encode(root));
    Ok(json!({"name": name, "leaf": leaf, "seq": seq, "size": size, "path": path, "root": root, "holds": holds}))
}

fn extend(
    name: &str,
    old: u64,
    old_root: &Hash,
    size: u64,
    root: &Hash,
    proof: &[Hash],
    holds: bool,
) -> Result<Value, Differs> {
    same(name, &holds, &verify_consistency(old, old_root, size, root, proof).is_ok())?;
    let (old_root, root, proof) = (hex::encode(old_root), hex::encode(root), hexes(proof));
    Ok(
        json!({"name": name, "old": old, "old_root": old_root, "size": size, "root": root, "proof": proof, "holds": holds}),
    )
}

struct Gate(SigningKey, KeyName);

impl Gate {
    fn new(seed: u8) -> Result<Self, CheckpointError> {
        Ok(Self(SigningKey::from_bytes(&[seed; 32]), "gate".parse()?))
    }
}

impl SignCheckpoint for Gate {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: self.1.clone(), key: self.0.verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

fn checkpoints() -> Result<Vec<Value>, Differs> {
    let form = |e: CheckpointError| Differs(e.to_string());
    let (gate, mallory) = (Gate::new(1).map_err(form)?, Gate::new(2).map_err(form)?);
    let key = gate.key();
    let head = Head { ledger: "4f1d".parse().map_err(form)?, size: 42, root: leaf_hash(b"root"), previous: 40 };
    let good = head.sign(&key, &gate);
    let (body, signature) = good.split_once("\n\n").ok_or(Differs("no signature".to_owned()))?;
    let root = STANDARD.encode(head.root);
    let sign = |body: &str| {
        let bytes = [key.key_id().as_slice(), &gate.sign(body.as_bytes())].concat();
        format!("{body}\n\u{2014} gate {}\n", STANDARD.encode(bytes))
    };
    let extended = format!("countersign/4f1d\n42\n{root}\nprevious 40\nextension of another kind\n");
    let witness = format!("{good}\u{2014} witness {}\n", STANDARD.encode([7; 76]));
    let first = good.replacen("\n\n", &format!("\n\n\u{2014} witness {}\n", STANDARD.encode([7; 76])), 1);
    let short = format!("{body}\n\n\u{2014} gate {}\n", STANDARD.encode([key.key_id().as_slice(), &[0; 60]].concat()));
    let rows: Vec<(&str, String, Result<(), &str>)> = vec![
        ("good", good.clone(), Ok(())),
        ("with a witness behind", witness, Ok(())),
        ("with a witness before", first, Ok(())),
        ("an unknown extension", sign(&extended), Ok(())),
        ("the first head", sign(&format!("countersign/4f1d\n1\n{root}\nprevious 0\n")), Ok(())),
        ("signed by mallory under the gate's name and key id", head.sign(&key, &mallory), Err("bad_signature")),
        ("signed by mallory", head.sign(&mallory.key(), &mallory), Err("not_signed")),
        ("another size than was signed", good.replacen("\n42\n", "\n43\n", 1), Err("bad_signature")),
        ("another root than was signed", good.replacen(&root, &STANDARD.encode([0; 32]), 1), Err("bad_signature")),
        ("another ledger than was signed", good.replacen("4f1d", "4f1e", 1), Err("bad_signature")),
        ("a head left out", good.replacen("previous 40", "previous 41", 1), Err("bad_signature")),
        ("a short signature", short, Err("bad_signature")),
        ("no signature", format!("{body}\n"), Err("form")),
        ("no blank line", good.replacen("\n\n", "\n", 1), Err("form")),
        ("cut before the last newline", good.trim_end().to_owned(), Err("form")),
        ("line ends of Windows", good.replace('\n', "\r\n"), Err("form")),
        ("a hyphen for the em dash", good.replace('\u{2014}', "-"), Err("form")),
        ("base64 without padding", good.replacen(&root, &STANDARD_NO_PAD.encode(head.root), 1), Err("form")),
        (
            "a root of 31 bytes",
            sign(&format!("countersign/4f1d\n42\n{}\nprevious 40\n", STANDARD.encode([0; 31]))),
            Err("form"),
        ),
        ("a size with a leading zero", sign(&format!("countersign/4f1d\n042\n{root}\nprevious 40\n")), Err("form")),
        ("a size with a sign", sign(&format!("countersign/4f1d\n+42\n{root}\nprevious 40\n")), Err("form")),
        (
            "a size beyond 64 bits",
            sign(&format!("countersign/4f1d\n18446744073709551616\n{root}\nprevious 40\n")),
            Err("form"),
        ),
        ("another log's head", sign(&format!("example.com/log\n42\n{root}\nprevious 40\n")), Err("form")),
        ("no previous size", sign(&format!("countersign/4f1d\n42\n{root}\n")), Err("form")),
        ("two previous sizes", sign(&format!("countersign/4f1d\n42\n{root}\nprevious 40\nprevious 41\n")), Err("form")),
        (
            "an empty extension line",
            format!("countersign/4f1d\n42\n{root}\nprevious 40\n\nx\n\n{signature}"),
            Err("form"),
        ),
        ("a control character", sign(&format!("countersign/4f1d\n42\n{root}\nprevious 40\na\tb\n")), Err("form")),
        ("nothing", String::new(), Err("form")),
    ];
    let mut cases = Vec::new();
    for (name, note, expected) in rows {
        let found = match Checkpoint::parse(&note).and_then(|note| note.verify(&key)) {
            Ok(verified) => Ok(verified.head().clone()),
            Err(CheckpointError::NotSigned { .. }) => Err("not_signed"),
            Err(CheckpointError::BadSignature { .. }) => Err("bad_signature"),
            Err(_) => Err("form"),
        };
        same(name, &expected, &found.clone().map(drop))?;
        let mut case = json!({"name": name, "note": note, "key": key.to_string()});
        let more = match found {
            Ok(head) => {
                let head = json!({"ledger": head.ledger.as_str(), "size": head.size, "root": hex::encode(head.root), "previous": head.previous});
                ("verified", head)
            }
            Err(kind) => ("refused", json!({ "kind": kind })),
        };
        if let Some(members) = case.as_object_mut() {
            members.insert(more.0.to_owned(), more.1);
        }
        cases.push(case);
    }
    Ok(cases)
}
