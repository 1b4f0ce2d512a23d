//! Copies the write-ahead log back into the database, beside the writer and not in its way.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::store::StoreError;

/// The thread is woken each time about so much was written.
const EVERY_BYTES: usize = 4 << 20;
/// A log of more pages than this (64 MiB) never became whole-copied beside the writer, so the writer waits for it once.
const MAX_LOG_PAGES: i64 = 16 * 1024;

/// The thread and what it needs to hear.
#[derive(Debug)]
pub(super) struct Backfill {
    since: usize,
    wake: Option<SyncSender<()>>,
    too_long: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Backfill {
    /// Starts the thread over a connection of its own.
    pub(super) fn start(path: &Path, connection: Connection) -> Result<Self, StoreError> {
        let (wake, woken) = sync_channel(1);
        let too_long = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("ledger-backfill".to_owned()).spawn({
            let too_long = Arc::clone(&too_long);
            move || run(&connection, &woken, &too_long)
        });
        let thread =
            thread.map_err(|source| StoreError::Io { path: path.to_owned(), action: "start a thread for", source })?;
        Ok(Self { since: 0, wake: Some(wake), too_long, thread: Some(thread) })
    }

    /// Counts what was written. True: the log has grown too long, and the writer should copy it back itself, now.
    pub(super) fn wrote(&mut self, bytes: usize) -> bool {
        self.since += bytes;
        if self.since >= EVERY_BYTES {
            self.since = 0;
            // Where it is still busy with the last call, that will do.
            let _ = self.wake.as_ref().map(|wake| wake.try_send(()));
        }
        self.too_long.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Backfill {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic; were it to, the log is copied back at the next start.
            let _ = thread.join();
        }
    }
}

fn run(connection: &Connection, woken: &Receiver<()>, too_long: &AtomicBool) {
    while woken.recv().is_ok() {
        // A failure is not lost: the writer meets it too, or the log grows until the writer copies it back itself.
        let pages = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(1));
        if pages.unwrap_or(i64::MAX) > MAX_LOG_PAGES {
            too_long.store(true, Ordering::Relaxed);
        }
    }
}
