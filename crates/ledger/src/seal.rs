//! Payloads under a key of their case, so that destroying the key erases them while every proof still holds.
//!
//! Each case gets a random 256-bit key, which is stored only wrapped under the master key. A payload is sealed together with
//! its salt by XChaCha20-Poly1305 under a random 192-bit nonce; ledger, kind and payload digest are bound as associated data.
//! The salt makes each digest unique and the leaf ties it to its seq, so a ciphertext moved to another record does not open;
//! and a payload can be sealed before its record has a place, by the thread that brings it. Erasure holds for the database; a copy of it taken before, together with
//! the master key, still opens.

use std::fmt;

use chacha20poly1305::aead::{Aead, AeadInOut, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use zeroize::{Zeroize, Zeroizing};

use crate::checkpoint::LedgerId;
use crate::record::{RecordKind, Salt};

const KEY: usize = 32;
const NONCE: usize = 24;
const SALT: usize = 32;
const TAG: usize = 16;

/// Random, one per sealed value.
pub(crate) type Nonce = [u8; NONCE];

/// The key under which the keys of cases are wrapped. The caller keeps it; it is wiped from memory when dropped.
pub struct MasterKey(Zeroizing<[u8; KEY]>);

/// A case's own key. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct CaseKey(Zeroizing<[u8; KEY]>);

/// Sealing or opening failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    Random,
    /// The ciphertext was altered, moved, or belongs to another key.
    #[error("the sealed bytes do not open: altered, moved, or under another key")]
    Open,
}

impl MasterKey {
    /// Takes over key bytes; the caller's copy is wiped.
    #[must_use]
    pub fn from_bytes(bytes: &mut [u8; KEY]) -> Self {
        let key = Self(Zeroizing::new(*bytes));
        bytes.zeroize();
        key
    }

    /// A fresh random key.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn generate() -> Result<Self, SealError> {
        Ok(Self(random_key()?))
    }

    /// A value by which a store recognises its master key later, without telling anything about it.
    pub(crate) fn check_value(&self, ledger: &LedgerId) -> Result<Vec<u8>, SealError> {
        seal(&self.0, &fresh_nonce()?, &[], &aad(b"master-check", ledger, b""))
    }

    /// Refuses another key than the one that made the check value.
    pub(crate) fn recognise(&self, ledger: &LedgerId, check_value: &[u8]) -> Result<(), SealError> {
        open(&self.0, check_value, &aad(b"master-check", ledger, b"")).map(drop)
    }

    pub(crate) fn wrap(&self, ledger: &LedgerId, case: &CaseId, key: &CaseKey) -> Result<Vec<u8>, SealError> {
        seal(&self.0, &fresh_nonce()?, &[&*key.0], &aad(b"case-key", ledger, case.as_str().as_bytes()))
    }

    pub(crate) fn unwrap(&self, ledger: &LedgerId, case: &CaseId, wrapped: &[u8]) -> Result<CaseKey, SealError> {
        let bytes = open(&self.0, wrapped, &aad(b"case-key", ledger, case.as_str().as_bytes()))?;
        let bytes = <[u8; KEY]>::try_from(bytes.as_slice()).map_err(|_| SealError::Open)?;
        Ok(CaseKey(Zeroizing::new(bytes)))
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

impl CaseKey {
    pub(crate) fn generate() -> Result<Self, SealError> {
        Ok(Self(random_key()?))
    }

    /// Nonce, ciphertext of salt and payload, tag.
    pub(crate) fn seal(&self, nonce: &Nonce, bound: &Bound, salt: &Salt, json: &[u8]) -> Result<Vec<u8>, SealError> {
        seal(&self.0, nonce, &[salt, json], &bound.0)
    }

    /// Salt and canonical payload.
    pub(crate) fn open(&self, bound: &Bound, sealed: &[u8]) -> Result<(Salt, Vec<u8>), SealError> {
        let plain = open(&self.0, sealed, &bound.0)?;
        let (salt, json) = plain.split_first_chunk::<SALT>().ok_or(SealError::Open)?;
        Ok((*salt, json.to_vec()))
    }
}

impl fmt::Debug for CaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CaseKey(..)")
    }
}

fn random_key() -> Result<Zeroizing<[u8; KEY]>, SealError> {
    let mut key = Zeroizing::new([0; KEY]);
    getrandom::fill(&mut *key).map_err(|_| SealError::Random)?;
    Ok(key)
}

fn aad(purpose: &[u8], ledger: &LedgerId, rest: &[u8]) -> Vec<u8> {
    [b"countersign/v1\n", purpose, b"\n", ledger.as_str().as_bytes(), b"\n", rest].concat()
}

/// What a sealed payload is bound to: it opens nowhere else.
pub(crate) struct Bound(Vec<u8>);

impl Bound {
    pub(crate) fn to(ledger: &LedgerId, kind: RecordKind, payload_digest: &Digest) -> Self {
        let mut aad = aad(b"payload", ledger, kind.name().as_bytes());
        aad.push(b'\n');
        aad.extend_from_slice(payload_digest.as_bytes());
        Self(aad)
    }
}

fn fresh_nonce() -> Result<Nonce, SealError> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|_| SealError::Random)?;
    Ok(nonce)
}

fn seal(key: &[u8; KEY], nonce: &Nonce, parts: &[&[u8]], aad: &[u8]) -> Result<Vec<u8>, SealError> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    // Sealed where it lies, so that no copy of the plaintext is left behind.
    let mut out = Vec::with_capacity(NONCE + length + TAG);
    out.extend_from_slice(nonce);
    parts.iter().for_each(|part| out.extend_from_slice(part));
    let cipher = XChaCha20Poly1305::new(&(*key).into());
    let plain = out.get_mut(NONCE..).ok_or(SealError::Open)?;
    let tag = cipher.encrypt_inout_detached(&XNonce::from(*nonce), aad, plain.into()).map_err(|_| SealError::Open)?;
    out.extend_from_slice(&tag);
    Ok(out)
}

fn open(key: &[u8; KEY], sealed: &[u8], aad: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or(SealError::Open)?;
    let cipher = XChaCha20Poly1305::new(&(*key).into());
    let plain = cipher.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad }).map_err(|_| SealError::Open)?;
    Ok(Zeroizing::new(plain))
}

#[cfg(test)]
mod tests;
