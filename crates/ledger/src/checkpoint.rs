//! Signed heads: the size and root of the tree as a C2SP tlog-checkpoint, signed as a C2SP signed-note with Ed25519.
//!
//! ```text
//! countersign/4f1d…            origin: which ledger
//! 42                           size
//! nND/nri/U0xuHUrYSy0HtMeal2vzD9V4k/BO79C+QeI=
//! previous 40                  extension: size of the head before, so that no head can be left out in the middle
//!
//! — prod-gate lJ8AAZ…          name, and base64(key id ‖ signature)
//! ```
//!
//! A head can be carried anywhere as text and compared with any later state of the ledger.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest as _, Sha256};

use crate::merkle::Hash;

/// The longest note that is parsed, in bytes.
pub const MAX_NOTE: usize = 16 * 1024;
/// Most extension lines and most signature lines of a note.
const MAX_LINES: usize = 16;
/// The algorithm byte of Ed25519 in key ids and encoded keys (C2SP signed-note).
const ED25519: u8 = 0x01;
/// What the origin line of every ledger starts with.
const ORIGIN: &str = "countersign/";
/// The extension that names the size of the head before.
const PREVIOUS: &str = "previous ";

/// Which ledger: chosen at random when it is created, in every head's origin line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LedgerId(String);

/// The name of a signing key: not empty, without white space and `+` (C2SP signed-note).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyName(String);

/// A name, key or note is not of its form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// Not a ledger id.
    #[error("a ledger id is 1 to 64 lower-case letters, digits or `-`")]
    LedgerId,
    /// Not a key name.
    #[error("a key name is 1 to 64 characters from `!` to `~` without `+`")]
    KeyName,
    /// Not a public key.
    #[error("a public key is written `name+key id+base64`, as `keys show` prints it")]
    Key,
    /// The note is too long, or not of the form of a note.
    #[error("no signed checkpoint: {0}")]
    Form(&'static str),
    /// No signature by the key that was asked for.
    #[error("the head of size {size} is not signed by key {key}")]
    NotSigned {
        /// The size that the head claims.
        size: u64,
        /// The key whose signature is missing.
        key: KeyName,
    },
    /// A signature under that key's name, which is wrong.
    #[error("the signature of key {key} on the head of size {size} is wrong")]
    BadSignature {
        /// The size that the head claims.
        size: u64,
        /// The key that the signature names.
        key: KeyName,
    },
}

impl LedgerId {
    /// A fresh random id (128 bits).
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LedgerId {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let good = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if good && (1..=64).contains(&text.len()) { Ok(Self(text.to_owned())) } else { Err(CheckpointError::LedgerId) }
    }
}

impl fmt::Display for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for KeyName {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let good = text.bytes().all(|b| b.is_ascii_graphic() && b != b'+');
        if good && (1..=64).contains(&text.len()) { Ok(Self(text.to_owned())) } else { Err(CheckpointError::KeyName) }
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A public key and its name. Text form: the verifier key of C2SP signed-note, `name+key id+base64(0x01 ‖ key)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKeyInfo {
    /// The name that signatures carry.
    pub name: KeyName,
    /// The Ed25519 public key.
    pub key: VerifyingKey,
}

impl VerifyingKeyInfo {
    /// The first four bytes of SHA-256(name ‖ "\n" ‖ 0x01 ‖ key), by which a signature names its key (C2SP signed-note).
    #[must_use]
    pub fn key_id(&self) -> [u8; 4] {
        let mut hasher = Sha256::new();
        hasher.update(self.name.0.as_bytes());
        hasher.update([b'\n', ED25519]);
        hasher.update(self.key.as_bytes());
        let [a, b, c, d, ..] = <[u8; 32]>::from(hasher.finalize());
        [a, b, c, d]
    }

    /// Checks a signature strictly (no small-order or malleable forms).
    pub(crate) fn check(&self, message: &[u8], signature: &[u8; 64]) -> Result<(), ed25519_dalek::SignatureError> {
        self.key.verify_strict(message, &Signature::from_bytes(signature))
    }
}

impl fmt::Display for VerifyingKeyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![ED25519];
        bytes.extend_from_slice(self.key.as_bytes());
        write!(f, "{}+{}+{}", self.name, hex::encode(self.key_id()), STANDARD.encode(bytes))
    }
}

impl FromStr for VerifyingKeyInfo {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(CheckpointError::Key);
        };
        let bytes = STANDARD.decode(key).map_err(|_| CheckpointError::Key)?;
        let Some((&ED25519, key)) = bytes.split_first() else { return Err(CheckpointError::Key) };
        let key = <[u8; 32]>::try_from(key).map_err(|_| CheckpointError::Key)?;
        let key = VerifyingKey::from_bytes(&key).map_err(|_| CheckpointError::Key)?;
        let info = Self { name: name.parse()?, key };
        if hex::encode(info.key_id()) == id { Ok(info) } else { Err(CheckpointError::Key) }
    }
}

/// Who signs heads. The ledger owns no key: the gate does, or a test.
///
/// Two kinds of message are signed: note bodies, which start with `countersign/`, and statements of key rotation, which start
/// with `countersign-key-rotation/`; so neither can pass for the other, nor for an envelope or a permit.
pub trait SignCheckpoint: Send {
    /// The public part of the key.
    fn key(&self) -> VerifyingKeyInfo;

    /// The Ed25519 signature of `message`.
    fn sign(&self, message: &[u8]) -> [u8; 64];
}

impl SignCheckpoint for Box<dyn SignCheckpoint> {
    fn key(&self) -> VerifyingKeyInfo {
        (**self).key()
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        (**self).sign(message)
    }
}

/// What a head says about a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which ledger.
    pub ledger: LedgerId,
    /// How many records the tree has.
    pub size: u64,
    /// Its root.
    pub root: Hash,
    /// The size of the head before this one; 0 for the first with records.
    pub previous: u64,
}

impl Head {
    /// The bytes that are signed: the note's text up to and with the last newline before the blank line.
    #[must_use]
    pub fn body(&self) -> String {
        let root = STANDARD.encode(self.root);
        format!("{ORIGIN}{}\n{}\n{root}\n{PREVIOUS}{}\n", self.ledger, self.size, self.previous)
    }

    /// The signed note.
    pub fn sign<S: SignCheckpoint + ?Sized>(&self, key: &VerifyingKeyInfo, signer: &S) -> String {
        let mut note = self.body();
        let signature = signer.sign(note.as_bytes());
        let mut bytes = key.key_id().to_vec();
        bytes.extend_from_slice(&signature);
        note.push_str("\n\u{2014} ");
        note.push_str(key.name.0.as_str());
        note.push(' ');
        STANDARD.encode_string(bytes, &mut note);
        note.push('\n');
        note
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "size {} root {}", self.size, STANDARD.encode(self.root))
    }
}

/// One signature line of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// The key's name as the line has it.
    pub name: KeyName,
    /// The first bytes of the key's digest.
    pub key_id: [u8; 4],
    /// The signature; 64 bytes for Ed25519, other lengths belong to other algorithms.
    pub bytes: Vec<u8>,
}

/// A parsed note whose signatures were *not* checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    head: Head,
    body: String,
    signatures: Vec<NoteSignature>,
}

impl Checkpoint {
    /// Reads a signed note.
    ///
    /// # Errors
    /// It is too long, or not a signed checkpoint of a Countersign ledger.
    pub fn parse(note: &str) -> Result<Self, CheckpointError> {
        let form = CheckpointError::Form;
        if note.len() > MAX_NOTE {
            return Err(form("longer than 16 KiB"));
        }
        if note.chars().any(|c| c < ' ' && c != '\n') {
            return Err(form("a control character"));
        }
        let cut = note.rfind("\n\n").ok_or(form("no blank line before the signatures"))?;
        let (body, signatures) = note.split_at_checked(cut + 1).ok_or(form("no blank line before the signatures"))?;
        let head = parse_body(body)?;
        let signatures = signatures.strip_prefix('\n').and_then(|text| text.strip_suffix('\n'));
        let signatures = signatures.ok_or(form("no signature line"))?;
        if signatures.split('\n').count() > MAX_LINES {
            return Err(form("more than 16 signatures"));
        }
        let signatures = signatures.split('\n').map(parse_signature).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { head, body: body.to_owned(), signatures })
    }

    /// What the note claims; nothing has vouched for it yet.
    #[must_use]
    pub const fn claimed(&self) -> &Head {
        &self.head
    }

    /// The signature lines.
    #[must_use]
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// The head, once the signature of `key` is found good.
    ///
    /// # Errors
    /// There is no signature of that key, or it is wrong.
    pub fn verify(&self, key: &VerifyingKeyInfo) -> Result<VerifiedHead, CheckpointError> {
        let id = key.key_id();
        let size = self.head.size;
        let signature = self.signatures.iter().find(|signature| signature.name == key.name && signature.key_id == id);
        let signature = signature.ok_or_else(|| CheckpointError::NotSigned { size, key: key.name.clone() })?;
        let bad = || CheckpointError::BadSignature { size, key: key.name.clone() };
        let bytes = <&[u8; 64]>::try_from(signature.bytes.as_slice()).map_err(|_| bad())?;
        key.check(self.body.as_bytes(), bytes).map_err(|_| bad())?;
        Ok(VerifiedHead { head: self.head.clone() })
    }
}

/// A head whose signature was found good by a key that the caller named. Made only by [`Checkpoint::verify`].
#[derive(Debug, PartialEq, Eq)]
pub struct VerifiedHead {
    head: Head,
}

impl VerifiedHead {
    /// What the head says.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }
}

fn parse_body(body: &str) -> Result<Head, CheckpointError> {
    let form = CheckpointError::Form;
    let text = body.strip_suffix('\n').ok_or(form("the text does not end in a newline"))?;
    let mut lines = text.split('\n');
    let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
        return Err(form("fewer than three lines"));
    };
    let ledger =
        origin.strip_prefix(ORIGIN).ok_or(form("the origin is not `countersign/` and a ledger id"))?.parse()?;
    let size = parse_size(size).ok_or(form("the size is no plain decimal number"))?;
    let root = STANDARD.decode(root).ok().and_then(|bytes| Hash::try_from(bytes).ok());
    let root = root.ok_or(form("the root is not 32 bytes in base64"))?;
    let mut previous = None;
    for (count, line) in lines.enumerate() {
        if line.is_empty() || count >= MAX_LINES {
            return Err(form("an empty extension line, or more than 16"));
        }
        if let Some(size) = line.strip_prefix(PREVIOUS) {
            let size = parse_size(size).ok_or(form("`previous` is no plain decimal number"))?;
            if previous.replace(size).is_some() {
                return Err(form("two `previous` lines"));
            }
        }
    }
    let previous = previous.ok_or(form("no `previous` line"))?;
    Ok(Head { ledger, size, root, previous })
}

fn parse_signature(line: &str) -> Result<NoteSignature, CheckpointError> {
    let form = CheckpointError::Form;
    let rest = line.strip_prefix("\u{2014} ").ok_or(form("a signature line without an em dash"))?;
    let (name, encoded) = rest.split_once(' ').ok_or(form("a signature line without a name"))?;
    let bytes = STANDARD.decode(encoded).map_err(|_| form("a signature that is not base64"))?;
    let (key_id, bytes) = bytes.split_first_chunk::<4>().ok_or(form("a signature without a key id"))?;
    Ok(NoteSignature { name: name.parse()?, key_id: *key_id, bytes: bytes.to_vec() })
}

/// A decimal number without sign or leading zero.
fn parse_size(text: &str) -> Option<u64> {
    let plain = text == "0" || (text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
