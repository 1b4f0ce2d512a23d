//! A value on its way from the broker to the one step that may see it, sealed to that step. The monitor passes the bytes on and
//! never holds the value, so neither does its memory, its swap or a picture of it.
//!
//! X25519 (RFC 7748) between a key of the step for one ask and a key of the broker for one answer; the key of the seal is SHA-256
//! over a label, the shared point, both public keys and the secret's name; ChaCha20-Poly1305 (RFC 8439), each key used once.

use chacha20poly1305::aead::{Aead as _, KeyInit as _};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use curve25519_dalek::MontgomeryPoint;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// Length of a public key, in bytes.
pub const PUBLIC: usize = 32;

const LABEL: &[u8] = b"countersign.reveal/v1";

/// Why a value was not handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandoverError {
    /// The machine has no random numbers.
    #[error("no random numbers")]
    Random,
    /// The other side's key is none, or one that makes every shared key the same.
    #[error("the other side's key is no key")]
    Key,
    /// The bytes were not sealed to this ask, or were touched.
    #[error("the value was not sealed to this ask")]
    Seal,
}

/// One ask for a value: the key that only the answer to it can be opened with.
pub struct Asking {
    secret: Zeroizing<[u8; 32]>,
    public: [u8; PUBLIC],
}

impl Asking {
    /// A new key.
    ///
    /// # Errors
    /// The machine has no random numbers.
    pub fn begin() -> Result<Self, HandoverError> {
        let (secret, public) = pair()?;
        Ok(Self { secret, public })
    }

    /// What the other side seals to.
    #[must_use]
    pub const fn public(&self) -> [u8; PUBLIC] {
        self.public
    }

    /// The value of the secret `name`, from what [`seal`] made.
    ///
    /// # Errors
    /// It was not sealed to this ask and this name.
    pub fn open(self, name: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, HandoverError> {
        let (theirs, sealed) = sealed.split_first_chunk::<PUBLIC>().ok_or(HandoverError::Seal)?;
        let cipher = cipher(&self.secret, *theirs, theirs, &self.public, name)?;
        cipher.decrypt(&Nonce::default(), sealed).map(Zeroizing::new).map_err(|_| HandoverError::Seal)
    }
}

impl std::fmt::Debug for Asking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asking(…)")
    }
}

/// The value of the secret `name`, for whoever holds the other half of `to` and for nobody else.
///
/// # Errors
/// `to` is no key, or the machine has no random numbers.
pub fn seal(to: &[u8], name: &str, value: &[u8]) -> Result<Vec<u8>, HandoverError> {
    let to: [u8; PUBLIC] = to.try_into().map_err(|_| HandoverError::Key)?;
    let (secret, public) = pair()?;
    let cipher = cipher(&secret, to, &public, &to, name)?;
    let sealed = cipher.encrypt(&Nonce::default(), value).map_err(|_| HandoverError::Seal)?;
    Ok([public.as_slice(), &sealed].concat())
}

fn pair() -> Result<(Zeroizing<[u8; 32]>, [u8; PUBLIC]), HandoverError> {
    let mut secret = Zeroizing::new([0; 32]);
    getrandom::fill(secret.as_mut_slice()).map_err(|_| HandoverError::Random)?;
    let public = MontgomeryPoint::mul_base_clamped(*secret).to_bytes();
    Ok((secret, public))
}

fn cipher(
    secret: &Zeroizing<[u8; 32]>,
    theirs: [u8; PUBLIC],
    broker: &[u8; PUBLIC],
    step: &[u8; PUBLIC],
    name: &str,
) -> Result<ChaCha20Poly1305, HandoverError> {
    let shared = Zeroizing::new(MontgomeryPoint(theirs).mul_clamped(**secret).to_bytes());
    if *shared == [0; 32] {
        return Err(HandoverError::Key);
    }
    let mut hasher = Sha256::new();
    for part in [LABEL, shared.as_slice(), broker, step, name.as_bytes()] {
        hasher.update(part);
    }
    let key = Zeroizing::new(<[u8; 32]>::from(hasher.finalize()));
    ChaCha20Poly1305::new_from_slice(key.as_slice()).map_err(|_| HandoverError::Key)
}

#[cfg(test)]
mod tests {
    use super::{Asking, HandoverError, PUBLIC, seal};

    #[test]
    fn only_the_ask_that_it_was_sealed_to_opens_a_value() {
        let (asking, other) = (Asking::begin().unwrap(), Asking::begin().unwrap());
        let sealed = seal(&asking.public(), "token", b"a value").unwrap();
        assert!(!sealed.windows(7).any(|window| window == b"a value"));
        assert_eq!(other.open("token", &sealed).unwrap_err(), HandoverError::Seal);
        assert_eq!(asking.open("token", &sealed).unwrap().as_slice(), b"a value");
    }

    #[test]
    fn another_name_a_touched_byte_and_a_cut_are_refused() {
        type Damage = dyn Fn(&mut Vec<u8>);
        let attempts: [&Damage; 4] = [
            &|sealed| sealed[PUBLIC] ^= 1,
            &|sealed| sealed[0] ^= 1,
            &|sealed| sealed.truncate(PUBLIC - 1),
            &|sealed| sealed.truncate(PUBLIC + 3),
        ];
        for attempt in attempts {
            let asking = Asking::begin().unwrap();
            let mut sealed = seal(&asking.public(), "token", b"a value").unwrap();
            attempt(&mut sealed);
            assert!(asking.open("token", &sealed).is_err());
        }
        let asking = Asking::begin().unwrap();
        let sealed = seal(&asking.public(), "token", b"a value").unwrap();
        assert!(asking.open("other", &sealed).is_err());
    }

    #[test]
    fn a_key_that_makes_every_shared_key_the_same_is_none() {
        assert_eq!(seal(&[0; PUBLIC], "token", b"a value"), Err(HandoverError::Key));
        assert_eq!(seal(&[1; 31], "token", b"a value"), Err(HandoverError::Key));
        let mut one = [0; PUBLIC];
        one[0] = 1;
        assert_eq!(seal(&one, "token", b"a value"), Err(HandoverError::Key));
    }
}
