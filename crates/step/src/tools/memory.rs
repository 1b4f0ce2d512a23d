//! Values that outlive a case: one file per key in the memory folder, named by the key's digest.
//!
//! The gate makes that folder the working folder of a memory step (`spec.cwd`) and grants it; the user's arguments name a
//! key only, so that no key can be a path.

use std::io::Read as _;

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Outcome, files};
use crate::failure::Failure;
use crate::roots::{Place, Roots, Use};

/// The largest value that is kept, in bytes of canonical JSON with its key.
const VALUE_LIMIT: usize = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    key: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyAndValue {
    key: String,
    value: Value,
}

/// `memory_read`: the value under a key.
pub(super) fn read(roots: &Roots<'_>, Key { key }: Key) -> Outcome<Value> {
    let place = place(roots, &key, Use::Read)?;
    let file = match place.open_file() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(Failure::new(format!("nothing is kept under `{key}`")));
        }
        other => other.map_err(Failure::to("read", &place.path))?.0,
    };
    let mut bytes = Vec::new();
    let most = u64::try_from(VALUE_LIMIT).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).map_err(Failure::to("read", &place.path))?;
    let bounds = Bounds { bytes: VALUE_LIMIT, depth: 64, values: 1 << 17 };
    let broken = |why: String| Failure::new(format!("what is kept under `{key}` cannot be read: {why}"));
    let kept = document::from_json(&bytes, bounds).map_err(|e| broken(e.to_string()))?;
    let kept: KeyAndValue = document::typed(kept).map_err(|e| broken(e.to_string()))?;
    if kept.key != key {
        return Err(broken("it is the value of another key".to_owned()));
    }
    Ok(json!({"value": kept.value}))
}

/// `memory_write`: a value under a key, all at once.
pub(super) fn write(roots: &Roots<'_>, KeyAndValue { key, value }: KeyAndValue) -> Outcome<Value> {
    let bytes = canonical::to_vec(&json!({"key": key, "value": value}));
    if bytes.len() > VALUE_LIMIT {
        return Err(Failure::new(format!("the value is larger than {VALUE_LIMIT} bytes")));
    }
    files::replace(&place(roots, &key, Use::Write)?, &bytes)?;
    Ok(json!({"key": key}))
}

fn place(roots: &Roots<'_>, key: &str, wanted: Use) -> Outcome<Place> {
    roots.place(&format!("{}.json", Digest::of(key.as_bytes()).hex()), wanted)
}

#[cfg(test)]
mod tests;
