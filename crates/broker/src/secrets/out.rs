//! Credentials that were made and not taken back yet, by the id of their lease, in a private file of the broker's own folder: one that
//! was killed leaves them to the next, which takes them back before it does anything else with them. No value is ever in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::vault::Lease;
use crate::kept;

/// The file, in the broker's own folder.
const FILE: &str = "leases.json";

/// What is out. Cheap to clone; it outlives configurations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Out(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    /// None keeps them in memory only.
    folder: Option<PathBuf>,
    leases: Vec<Entry>,
    /// Those of an earlier broker, until somebody takes them.
    left: Vec<Entry>,
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The secret's name.
    pub(super) secret: String,
    /// The lease's id.
    pub(super) lease: String,
    /// When it expires by itself, in seconds since 1970.
    until: i64,
}

impl Out {
    /// Takes up what an earlier broker left, from the broker's own folder; empty for none. Once; later calls change nothing.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn open(&self, folder: &str) -> Result<(), String> {
        let mut held = self.held();
        if folder.is_empty() || held.folder.is_some() {
            return Ok(());
        }
        let folder = Path::new(folder);
        let read = kept::read::<Vec<Entry>>(folder, FILE);
        let read = read.map_err(|error| format!("{}: {error}", folder.join(FILE).display()))?.unwrap_or_default();
        let left: Vec<Entry> = read.into_iter().filter(|entry| entry.until > now()).collect();
        held.leases.clone_from(&left);
        held.left = left;
        held.folder = Some(folder.to_owned());
        Ok(())
    }

    /// What an earlier broker left; once.
    pub(super) fn left(&self) -> Vec<Entry> {
        std::mem::take(&mut self.held().left)
    }

    /// Credentials were made.
    ///
    /// # Errors
    /// That cannot be written down.
    pub(super) fn add(&self, secret: &str, lease: &Lease) -> Result<(), String> {
        let until = now().saturating_add(i64::try_from(lease.lasts.as_secs()).unwrap_or(i64::MAX));
        let mut held = self.held();
        held.leases.retain(|entry| entry.lease != lease.id && entry.until > now());
        held.leases.push(Entry { secret: secret.to_owned(), lease: lease.id.clone(), until });
        held.write()
    }

    /// They were taken back. Where that cannot be written down the next broker takes them back again.
    pub(super) fn remove(&self, lease: &str) {
        let mut held = self.held();
        held.leases.retain(|entry| entry.lease != lease);
        drop(held.write());
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn write(&self) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        kept::write(folder, FILE, &self.leases).map_err(|error| format!("{}: {error}", folder.join(FILE).display()))
    }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
