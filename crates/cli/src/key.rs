//! The approver's key: Ed25519, sealed under a passphrase in a file that only its owner can read.
//!
//! Argon2id (RFC 9106, 64 MiB, 3 passes) makes a key from the passphrase, XChaCha20-Poly1305 seals the seed with it, and every
//! other field of the file is authenticated with it: nobody can exchange the name or the public key under the passphrase.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use countersign_plan::approval::{Approver, ApproverRecord};
use countersign_plan::canonical;
use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::envelope::Envelope;
use countersign_plan::id::Principal;
use countersign_plan::key::PublicKey;
use ed25519_dalek::{Signer as _, SigningKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::failure::Failure;

/// The name of this format.
const SCHEMA: &str = "countersign.approver-key/v1";
const KDF: &str = "argon2id";
const CIPHER: &str = "xchacha20poly1305";

/// A key that is sealed: nothing can be signed with it before [`SealedKey::unlock`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SealedKey {
    schema: String,
    principal: Principal,
    groups: Vec<String>,
    public_key: PublicKey,
    kdf: Kdf,
    cipher: String,
    nonce: String,
    sealed: String,
}

/// How the passphrase becomes a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kdf {
    name: String,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: String,
}

/// A key whose passphrase was typed. It signs once; the next signature needs the passphrase again.
pub(crate) struct UnlockedKey {
    principal: Principal,
    secret: SigningKey,
    public: PublicKey,
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyFileError {
    /// There is none.
    #[error("{0}: there is no approver key here")]
    Absent(PathBuf),
    /// There is one already.
    #[error("{0}: there is a key already, and it is not overwritten")]
    Exists(PathBuf),
    /// The file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// Others could read it.
    #[error("{0}: others can read this key")]
    Open(PathBuf),
    /// Not of this format.
    #[error("{0}: {1}")]
    Form(PathBuf, DocumentError),
    /// The passphrase is wrong, or the file was altered: the cipher cannot tell which.
    #[error("the passphrase is wrong, or the key file was altered")]
    Unlock,
    /// The machine gave no random bytes or not enough memory.
    #[error("{0}")]
    Machine(String),
}

impl From<KeyFileError> for Failure {
    fn from(error: KeyFileError) -> Self {
        let message = error.to_string();
        match error {
            KeyFileError::Absent(_) => Self::usage(message)
                .fix("`countersign keys init`, then `countersign keys enroll`, or name one with --key"),
            KeyFileError::Exists(path) => {
                Self::usage(message).fix(format!("move {} away first if you mean to replace it", path.display()))
            }
            KeyFileError::Open(path) => Self::refused("key.open", message).fix(format!("chmod 600 {}", path.display())),
            KeyFileError::Unlock => Self::refused("key.unlock", message),
            KeyFileError::File(..) | KeyFileError::Form(..) => Self::usage(message),
            KeyFileError::Machine(_) => Self::internal(message),
        }
    }
}

impl SealedKey {
    /// A fresh key for `principal`, sealed under `passphrase`.
    pub(crate) fn generate(principal: Principal, groups: Vec<String>, passphrase: &str) -> Result<Self, KeyFileError> {
        let mut seed = Zeroizing::new([0_u8; 32]);
        fill(&mut *seed)?;
        Self::seal(&seed, principal, groups, passphrase)
    }

    fn seal(
        seed: &[u8; 32],
        principal: Principal,
        groups: Vec<String>,
        passphrase: &str,
    ) -> Result<Self, KeyFileError> {
        let (mut salt, mut nonce) = ([0_u8; 16], [0_u8; 24]);
        fill(&mut salt)?;
        fill(&mut nonce)?;
        let public = SigningKey::from_bytes(seed).verifying_key().to_bytes();
        let public_key = PublicKey::from_bytes(&public).map_err(|error| KeyFileError::Machine(error.to_string()))?;
        let kdf = Kdf { name: KDF.to_owned(), memory_kib: 64 << 10, passes: 3, lanes: 1, salt: hex::encode(salt) };
        let mut key = Self {
            schema: SCHEMA.to_owned(),
            principal,
            groups,
            public_key,
            kdf,
            cipher: CIPHER.to_owned(),
            nonce: hex::encode(nonce),
            sealed: String::new(),
        };
        let payload = Payload { msg: seed.as_slice(), aad: &key.associated()? };
        let sealed =
            key.cipher(passphrase)?.encrypt(&XNonce::from(nonce), payload).map_err(|_| KeyFileError::Unlock)?;
        key.sealed = STANDARD.encode(sealed);
        Ok(key)
    }

    /// Reads the file of a key.
    pub(crate) fn read(path: &Path) -> Result<Self, KeyFileError> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => KeyFileError::Absent(path.to_owned()),
            _ => KeyFileError::File(path.to_owned(), error),
        };
        if fs::metadata(path).map_err(failed)?.mode() & 0o077 != 0 {
            return Err(KeyFileError::Open(path.to_owned()));
        }
        let bytes = fs::read(path).map_err(failed)?;
        Self::parse(&bytes).map_err(|error| KeyFileError::Form(path.to_owned(), error))
    }

    fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        let bounds = Bounds { bytes: 64 << 10, depth: 4, values: 256 };
        let key: Self = document::typed(document::from_json(bytes, bounds)?)?;
        let known =
            [("/schema", &key.schema, SCHEMA), ("/kdf/name", &key.kdf.name, KDF), ("/cipher", &key.cipher, CIPHER)];
        for (at, found, wanted) in known {
            if found != wanted {
                return Err(DocumentError::at(at, format!("this reader knows `{wanted}`")));
            }
        }
        // A file from elsewhere may not ask for all the memory of this machine.
        let Kdf { memory_kib, passes, lanes, .. } = key.kdf;
        if memory_kib > 1 << 20 || passes > 16 || lanes > 16 {
            return Err(DocumentError::at("/kdf", "at most 1 GiB, 16 passes and 16 lanes are computed"));
        }
        Ok(key)
    }

    /// Writes a new file; an existing one stays as it is.
    pub(crate) fn write(&self, path: &Path) -> Result<(), KeyFileError> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => KeyFileError::Exists(path.to_owned()),
            _ => KeyFileError::File(path.to_owned(), error),
        };
        let mut text = serde_json::to_string_pretty(self).map_err(|error| KeyFileError::Machine(error.to_string()))?;
        text.push('\n');
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
    }

    /// Who the key belongs to, as others may know it.
    pub(crate) fn approver(&self) -> Approver {
        Approver { principal: self.principal.clone(), groups: self.groups.clone(), key: self.public_key }
    }

    /// Opens the key for one signature.
    pub(crate) fn unlock(&self, passphrase: &str) -> Result<UnlockedKey, KeyFileError> {
        let nonce = hex::decode(&self.nonce).ok().and_then(|nonce| <[u8; 24]>::try_from(nonce).ok());
        let nonce = nonce.ok_or(KeyFileError::Unlock)?;
        let sealed = STANDARD.decode(&self.sealed).map_err(|_| KeyFileError::Unlock)?;
        let payload = Payload { msg: &sealed, aad: &self.associated()? };
        let seed = self.cipher(passphrase)?.decrypt(&XNonce::from(nonce), payload).map_err(|_| KeyFileError::Unlock)?;
        let seed = Zeroizing::new(seed);
        let seed = <&[u8; 32]>::try_from(seed.as_slice()).map_err(|_| KeyFileError::Unlock)?;
        let secret = SigningKey::from_bytes(seed);
        if secret.verifying_key().to_bytes() != self.public_key.to_bytes() {
            return Err(KeyFileError::Unlock);
        }
        Ok(UnlockedKey { principal: self.principal.clone(), secret, public: self.public_key })
    }

    /// Everything in the file but the sealed seed.
    fn associated(&self) -> Result<Vec<u8>, KeyFileError> {
        let mut clear = serde_json::to_value(self).map_err(|error| KeyFileError::Machine(error.to_string()))?;
        if let Some(members) = clear.as_object_mut() {
            members.remove("sealed");
        }
        Ok(canonical::to_vec(&clear))
    }

    fn cipher(&self, passphrase: &str) -> Result<XChaCha20Poly1305, KeyFileError> {
        let machine =
            |error: argon2::Error| KeyFileError::Machine(format!("the passphrase could not be stretched: {error}"));
        let salt = hex::decode(&self.kdf.salt).map_err(|_| KeyFileError::Unlock)?;
        let params = Params::new(self.kdf.memory_kib, self.kdf.passes, self.kdf.lanes, Some(32)).map_err(machine)?;
        let mut key = Zeroizing::new([0_u8; 32]);
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon.hash_password_into(passphrase.as_bytes(), &salt, &mut *key).map_err(machine)?;
        Ok(XChaCha20Poly1305::new((&*key).into()))
    }
}

impl UnlockedKey {
    /// Whose key it is.
    pub(crate) const fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Signs one record, and is gone.
    pub(crate) fn sign<R: ApproverRecord>(self, record: &R) -> Result<Envelope, Failure> {
        let (payload, bytes) = record.to_sign()?;
        Ok(R::envelope(payload, self.public.id(), self.secret.sign(&bytes).to_bytes()))
    }
}

fn fill(bytes: &mut [u8]) -> Result<(), KeyFileError> {
    getrandom::fill(bytes).map_err(|error| KeyFileError::Machine(format!("no random bytes: {error}")))
}

#[cfg(test)]
mod tests;
