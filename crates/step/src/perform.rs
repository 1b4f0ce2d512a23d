//! What the order says, done; what was seen, bounded.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use countersign_chronicle::{Limit, capture, restore};
use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::observation::{Ending, FileFact, OBSERVATION_LIMIT, Observation};
use countersign_plan::permit::Phase;
use countersign_wire::step::{Order, SnapshotOrder};
use rustix::fs::FileType;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;
use crate::program::Launcher;
use crate::roots::{Roots, Use};
use crate::tools::{self, Outcome, Seen};
use crate::watcher::Watcher;

/// The most paths that a restore names one by one.
const NAMED_CHANGES: usize = 1000;

/// One order to carry out.
pub(crate) struct Perform<'a> {
    pub(crate) order: &'a Order,
    /// Starts programs, where the profile allows any.
    pub(crate) launcher: Option<&'a Launcher>,
    pub(crate) watcher: &'a mut dyn Watcher,
}

/// What came of an order.
#[derive(Debug, PartialEq)]
pub(crate) enum Performed {
    /// What was seen.
    Seen(Observation),
    /// Nobody knows whether it happened, for this reason. The step ends without an observation.
    Unknown(String),
}

impl Perform<'_> {
    /// Does it; every failure whose effect is known is an observation too.
    pub(crate) fn run(&mut self) -> Performed {
        let roots = Roots::new(&self.order.spec);
        let outcome = match self.order.phase {
            Phase::Act | Phase::Compensate => tools::run(&roots, self.order, self.launcher, self.watcher),
            Phase::Snapshot => self.snapshot().map(Seen::returned),
            Phase::Restore => self.restore().map(Seen::returned),
        };
        let seen = match outcome.map_err(Failure::ending) {
            Ok(seen) => seen,
            Err(Ok(ending)) => Seen { ending, output: json!({}), dropped: BTreeMap::new() },
            Err(Err(message)) => return Performed::Unknown(message),
        };
        let files = self.order.facts.iter().filter_map(|path| Some((path.clone(), fact(&roots, path)?))).collect();
        Performed::Seen(bounded(Observation { ending: seen.ending, output: seen.output, files, dropped: seen.dropped }))
    }

    fn snapshot(&self) -> Outcome<Value> {
        let (order, targets, covered) = self.snapshot_order()?;
        let kept = capture(&targets, &covered, order.store.as_ref(), Limit::of_bytes(order.limit))
            .map_err(|e| Failure::new(e.to_string()))?;
        Ok(json!({"index": kept.digest, "bytes": kept.bytes, "entries": kept.index.entries.len()}))
    }

    fn restore(&self) -> Outcome<Value> {
        let (order, _, covered) = self.snapshot_order()?;
        let index = order.index.ok_or_else(|| Failure::new("the order names no snapshot to restore"))?;
        let changes = restore(order.store.as_ref(), index, &covered).map_err(|e| Failure::new(e.to_string()))?;
        let named = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().take(NAMED_CHANGES).map(|path| path.to_string_lossy().into_owned()).collect()
        };
        Ok(json!({
            "restored": named(&changes.restored),
            "removed": named(&changes.removed),
            "count": changes.restored.len() + changes.removed.len(),
        }))
    }

    fn snapshot_order(&self) -> Outcome<(&SnapshotOrder, Vec<PathBuf>, Vec<PathBuf>)> {
        let order =
            self.order.snapshot.as_ref().ok_or_else(|| Failure::new("the order does not say what is to be kept"))?;
        let paths = |list: &[String]| list.iter().map(PathBuf::from).collect();
        Ok((order, paths(&order.targets), paths(&self.order.spec.masked)))
    }
}

/// What is known of a file after the step. `None` where the step cannot see it: then nothing is claimed.
fn fact(roots: &Roots<'_>, path: &str) -> Option<FileFact> {
    let absent = FileFact { exists: false, sha256: None };
    if roots.spec().masked.iter().any(|masked| PathBuf::from(path).starts_with(masked)) {
        return None;
    }
    let place = roots.place(path, Use::Read).ok()?;
    let stat = match place.open(rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()) {
        Ok(fd) => rustix::fs::fstat(fd).ok()?,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Some(absent),
        Err(_) => return None,
    };
    if countersign_chronicle::beneath::file_type(&stat) != FileType::RegularFile {
        return Some(FileFact { exists: true, sha256: None });
    }
    let (mut file, _) = place.open_file().ok()?;
    let mut hasher = Hasher(Sha256::new());
    io::copy(&mut file, &mut hasher).ok()?;
    Some(FileFact { exists: true, sha256: Some(Digest::from_bytes(hasher.0.finalize().into())) })
}

struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The tools keep to their bounds; should their sum not, the result is given up and the effect reported all the same.
fn bounded(observation: Observation) -> Observation {
    let length = canonical::of(&observation).map_or(usize::MAX, |bytes| bytes.len());
    if length <= OBSERVATION_LIMIT {
        return observation;
    }
    let message = format!("the result is larger than the {OBSERVATION_LIMIT} bytes that an observation holds");
    let ending = match observation.ending {
        Ending::Returned => Ending::Failed { message },
        other => other,
    };
    Observation { ending, output: json!({}), files: BTreeMap::new(), dropped: observation.dropped }
}

#[cfg(test)]
mod tests;
