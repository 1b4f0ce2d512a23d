//! The last head, kept outside the database: by it a rolled-back or exchanged database is noticed at the next start (INV-8).
//!
//! Two slots of fixed size are overwritten in turn, so that the file never grows (a full disk cannot stop it), a torn write
//! leaves the other slot, and the signature in each slot tells whether it is whole. Each head is written before its batch is
//! acknowledged, which a killed process survives; it is forced to the disk within a second, by a thread that does only that.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::checkpoint::Checkpoint;

/// The size of a slot. A head is about 300 bytes; the longest key name makes it no longer than 400.
const SLOT: usize = 1024;
/// How long a head may be on its way to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The head file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HeadFileError {
    /// The system refused.
    #[error("cannot {action} the head file {path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It is no plain file of the owner alone.
    #[error(
        "the head file {path} {problem}: it must be a plain file with mode 0600, in a folder that only you can write"
    )]
    Unsafe {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It holds no head.
    #[error("the head file {path} holds no readable head: restore it from a copy")]
    Damaged {
        /// Which file.
        path: PathBuf,
    },
}

/// The heads found in a head file; which of them is genuine their signatures tell.
#[derive(Debug)]
pub(crate) struct KeptHeads {
    /// One or two.
    pub(crate) slots: Vec<Checkpoint>,
}

/// Reads the head file; nothing where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<KeptHeads>, HeadFileError> {
    let io = |action| move |source| HeadFileError::Io { path: path.to_owned(), action, source };
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io("look at")(error)),
    };
    if !meta.is_file() || meta.mode() & 0o077 != 0 {
        let problem = format!("has mode {:o}", meta.mode());
        return Err(HeadFileError::Unsafe { path: path.to_owned(), problem });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io("open"))?;
    file.take(2 * SLOT as u64 + 1).read_to_end(&mut bytes).map_err(io("read"))?;
    let slots: Vec<Checkpoint> = bytes.chunks(SLOT).filter_map(parse_slot).collect();
    if slots.is_empty() { Err(HeadFileError::Damaged { path: path.to_owned() }) } else { Ok(Some(KeptHeads { slots })) }
}

fn parse_slot(slot: &[u8]) -> Option<Checkpoint> {
    let text = std::str::from_utf8(slot).ok()?;
    Checkpoint::parse(&format!("{}\n", text.trim_end_matches('\n'))).ok()
}

/// A note, filled up to a slot with newlines.
fn slot(note: &str) -> io::Result<[u8; SLOT]> {
    let mut slot = [b'\n'; SLOT];
    match slot.get_mut(..note.len()) {
        Some(start) => start.copy_from_slice(note.as_bytes()),
        None => return Err(io::Error::new(io::ErrorKind::InvalidInput, "the head is longer than a slot")),
    }
    Ok(slot)
}

/// The open head file. Dropped, it forces what was written to the disk.
#[derive(Debug)]
pub(crate) struct HeadFile {
    path: PathBuf,
    file: Arc<File>,
    /// Which slot is overwritten next.
    next: u64,
    sync: Arc<Sync>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Sync {
    state: Mutex<SyncState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SyncState {
    dirty: bool,
    closing: bool,
    /// Forcing to disk failed: no further head is accepted.
    failed: Option<io::ErrorKind>,
}

impl Sync {
    fn lock(&self) -> MutexGuard<'_, SyncState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeadFile {
    /// Replaces the file by one that holds `note`, durably, and keeps it open for the heads to come.
    pub(crate) fn start(path: &Path, note: &str) -> Result<Self, HeadFileError> {
        let io = |action| move |source| HeadFileError::Io { path: path.to_owned(), action, source };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io("make the folder of"))?;
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let fresh = PathBuf::from(name);
        // A leftover of an interrupted start, or somebody's link: never written through.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io("replace")(error)),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&fresh).map_err(io("create"))?;
        let first = slot(note).map_err(io("write"))?;
        file.write_all(&first).and_then(|()| file.write_all(&first)).map_err(io("write"))?;
        file.sync_all().map_err(io("force to disk"))?;
        fs::rename(&fresh, path).map_err(io("replace"))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("force to disk the folder of"))?;
        let file = Arc::new(file);
        let sync = Arc::new(Sync::default());
        let thread = std::thread::Builder::new()
            .name("ledger-head".to_owned())
            .spawn({
                let (file, sync) = (Arc::clone(&file), Arc::clone(&sync));
                move || keep_synced(&file, &sync)
            })
            .map_err(io("start a thread for"))?;
        Ok(Self { path: path.to_owned(), file, next: 0, sync, thread: Some(thread) })
    }

    /// Writes a head over the older slot.
    pub(crate) fn write(&mut self, note: &str) -> Result<(), HeadFileError> {
        let io = |action, source| HeadFileError::Io { path: self.path.clone(), action, source };
        let bytes = slot(note).map_err(|source| io("write", source))?;
        self.file.write_all_at(&bytes, self.next * SLOT as u64).map_err(|source| io("write", source))?;
        self.next ^= 1;
        let mut state = self.sync.lock();
        if let Some(kind) = state.failed {
            return Err(io("force to disk", kind.into()));
        }
        if !state.dirty {
            state.dirty = true;
            self.sync.changed.notify_one();
        }
        Ok(())
    }

    /// Forces the last head to the disk and ends the thread.
    pub(crate) fn close(mut self) -> Result<(), HeadFileError> {
        self.stop();
        let source = match self.sync.lock().failed {
            None => return Ok(()),
            Some(kind) => kind.into(),
        };
        Err(HeadFileError::Io { path: self.path.clone(), action: "force to disk", source })
    }

    fn stop(&mut self) {
        self.sync.lock().closing = true;
        self.sync.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; were it to, the head is in the page cache still.
            let _ = thread.join();
        }
    }
}

impl Drop for HeadFile {
    fn drop(&mut self) {
        self.stop();
    }
}

fn keep_synced(file: &File, sync: &Sync) {
    let mut state = sync.lock();
    loop {
        while !state.dirty && !state.closing {
            state = sync.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let until = Instant::now() + SYNC_EVERY;
        while !state.closing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = sync.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.dirty {
            state.dirty = false;
            drop(state);
            let done = file.sync_data();
            state = sync.lock();
            if let Err(error) = done {
                state.failed = Some(error.kind());
            }
        }
        if state.closing && !state.dirty {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
