//! SHA-256 digests as a type, so that a hash is never confused with other bytes or with text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What the text form starts with.
const PREFIX: &str = "sha256:";

/// How long the text form is.
const LENGTH: usize = PREFIX.len() + 64;

/// The value of a lower-case hex digit; anything else has a bit that no digit has.
const fn digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        _ => NO_DIGIT,
    }
}

const NO_DIGIT: u8 = 0x80;

/// A SHA-256 digest (32 bytes, FIPS 180-4). Text form: `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The text is not `sha256:` followed by 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` followed by 64 lower-case hex digits")]
pub struct DigestError;

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of the concatenation of `parts`, without copying them together.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// A digest that was computed elsewhere.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hex digits without the algorithm's name, as in-toto subjects want them.
    #[must_use]
    pub fn hex(&self) -> String {
        self.text(&mut [0; LENGTH]).strip_prefix(PREFIX).unwrap_or_default().to_owned()
    }

    /// The text form, in the room that it needs. Digests are most of what is written besides the author's own words, so this
    /// neither goes through a formatter nor asks for memory.
    fn text<'a>(&self, room: &'a mut [u8; LENGTH]) -> &'a str {
        self.fill(room);
        std::str::from_utf8(room).unwrap_or_default()
    }

    fn fill(&self, room: &mut [u8; LENGTH]) {
        const fn digit(value: u8) -> u8 {
            value + if value < 10 { b'0' } else { b'a' - 10 }
        }
        let (prefix, digits) = room.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        // The room is exactly twice the digest.
        let (pairs, _) = digits.as_chunks_mut();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 0xf)];
        }
    }

    /// Writes the text form in its quotes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut room = [0; LENGTH];
        self.fill(&mut room);
        out.reserve(LENGTH + 2);
        out.push(b'"');
        out.extend_from_slice(&room);
        out.push(b'"');
    }

    /// The first twelve hex digits: enough for a person to compare, never for a program.
    #[must_use]
    pub fn short(&self) -> String {
        self.hex().chars().take(12).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(&mut [0; LENGTH]))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits = text.strip_prefix(PREFIX).ok_or(DigestError)?.as_bytes();
        let (pairs, []) = digits.as_chunks() else { return Err(DigestError) };
        if pairs.len() != 32 {
            return Err(DigestError);
        }
        let mut bytes = [0; 32];
        let mut wrong = 0;
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let (high, low) = (digit(*high), digit(*low));
            wrong |= high | low;
            *byte = high << 4 | low;
        }
        if wrong & NO_DIGIT == 0 { Ok(Self(bytes)) } else { Err(DigestError) }
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text(&mut [0; LENGTH]))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"})
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Digest, PREFIX};

    proptest! {
        /// Against the `hex` crate, which takes upper-case digits, too.
        #[test]
        fn a_digest_is_read_in_one_form(bytes in any::<[u8; 32]>(), at in 0_usize..64, put in any::<char>()) {
            let digest = Digest::from_bytes(bytes);
            prop_assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
            let mut digits = hex::encode(bytes);
            digits.replace_range(at..=at, put.encode_utf8(&mut [0; 4]));
            let lower = !digits.bytes().any(|byte| byte.is_ascii_uppercase());
            let want = hex::decode(&digits).ok().filter(|_| lower).and_then(|bytes| bytes.try_into().ok());
            let read = format!("{PREFIX}{digits}").parse::<Digest>();
            prop_assert_eq!(read.ok(), want.map(Digest::from_bytes));
            let whole = digest.to_string();
            let misshapen = [whole.replace(PREFIX, ""), format!("{whole}00"), format!("{whole}0"), PREFIX.to_owned()];
            for text in misshapen.iter().map(String::as_str).chain(whole.get(..whole.len() - 2)) {
                prop_assert!(text.parse::<Digest>().is_err());
            }
        }
    }
}
