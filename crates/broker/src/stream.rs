//! Streams of a step: connections of its programs, and the standard input and output of an MCP server that runs in it. Each
//! direction has a window (see [`countersign_wire::egress`]): what a slow side does not take, the other side does not get to send.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use countersign_wire::egress::{STREAM_CHUNK, STREAM_WINDOW, ask, reply};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc};

use crate::outbox::Outbox;
use crate::refusal::Refusal;

/// The most streams of one step.
const STREAMS: usize = 64;
/// The most messages of a stream that wait; the window bounds their bytes.
const WAITING: usize = 4096;

/// What a step says of a stream.
#[derive(Debug)]
pub(crate) enum Said {
    /// Bytes.
    Data(Vec<u8>),
    /// No more of them.
    Shut,
}

/// The streams of one lease.
#[derive(Default)]
pub(crate) struct Streams {
    open: BTreeMap<u64, Handle>,
}

struct Handle {
    said: mpsc::Sender<Said>,
    account: Arc<Account>,
}

/// What is under way in both directions.
struct Account {
    /// Bytes from the step that wait.
    waiting: AtomicU64,
    /// Bytes to the step that it did not take yet.
    untaken: AtomicU64,
    /// How many more may be sent to it.
    credit: Semaphore,
}

/// One end of a stream that is being set up.
pub(crate) struct Begun {
    id: u64,
    said: mpsc::Receiver<Said>,
    account: Arc<Account>,
}

impl Streams {
    /// Begins a stream.
    ///
    /// # Errors
    /// The id is in use, or there are too many.
    pub(crate) fn begin(&mut self, id: u64) -> Result<Begun, Refusal> {
        self.open.retain(|_, handle| !handle.said.is_closed());
        if self.open.contains_key(&id) {
            return Err(Refusal::violation("a stream of this id is open"));
        }
        if self.open.len() >= STREAMS {
            return Err(Refusal::refused(format!("at most {STREAMS} connections are open at a time")));
        }
        let (said, hear) = mpsc::channel(WAITING);
        let credit = Semaphore::new(usize::try_from(STREAM_WINDOW).unwrap_or(usize::MAX));
        let account = Arc::new(Account { waiting: AtomicU64::new(0), untaken: AtomicU64::new(0), credit });
        self.open.insert(id, Handle { said, account: Arc::clone(&account) });
        Ok(Begun { id, said: hear, account })
    }

    /// Passes on what a step says of a stream. What comes after the end of one is dropped: the step may not know yet.
    ///
    /// # Errors
    /// More than the window allows; the stream ends.
    pub(crate) fn hear(&mut self, id: u64, said: Said) -> Result<(), Refusal> {
        let Some(handle) = self.open.get(&id) else { return Ok(()) };
        let fits = match &said {
            Said::Data(bytes) => {
                let length = bytes.len() as u64;
                handle.account.waiting.fetch_add(length, Ordering::Relaxed).saturating_add(length) <= STREAM_WINDOW
            }
            Said::Shut => true,
        };
        let full = matches!(handle.said.try_send(said), Err(mpsc::error::TrySendError::Full(_)));
        if fits && !full {
            return Ok(());
        }
        self.close(id)
    }

    /// The step passed on so many bytes of a stream: as many more may go to it.
    ///
    /// # Errors
    /// More than went to it; the stream ends.
    pub(crate) fn took(&mut self, id: u64, count: u64) -> Result<(), Refusal> {
        let Some(handle) = self.open.get(&id) else { return Ok(()) };
        let untaken = &handle.account.untaken;
        let left = untaken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| held.checked_sub(count));
        if left.is_err() {
            return self.close(id);
        }
        handle.account.credit.add_permits(usize::try_from(count).unwrap_or(0));
        Ok(())
    }

    fn close(&mut self, id: u64) -> Result<(), Refusal> {
        self.open.remove(&id);
        Err(Refusal::refused("the stream said more than its window holds: it was closed"))
    }
}

impl Begun {
    /// Carries bytes between the step and `far` until both directions have ended or one broke.
    pub(crate) async fn carry(self, outbox: &Outbox, far: impl AsyncRead + AsyncWrite) {
        let Self { id, mut said, account } = self;
        let (mut from, mut to) = tokio::io::split(far);
        // Which directions have ended: that from the step, that to it.
        let (shut, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let up = async {
            while let Some(said) = said.recv().await {
                match said {
                    Said::Data(_) if shut.load(Ordering::Relaxed) => {
                        return Err("bytes after the end of the stream".to_owned());
                    }
                    Said::Data(bytes) => {
                        to.write_all(&bytes).await.map_err(|error| error.to_string())?;
                        let length = bytes.len() as u64;
                        account.waiting.fetch_sub(length, Ordering::Relaxed);
                        outbox.pass(id, reply::Kind::Took(length)).await;
                    }
                    Said::Shut => {
                        shut.store(true, Ordering::Relaxed);
                        to.shutdown().await.map_err(|error| error.to_string())?;
                        if ended.load(Ordering::Relaxed) {
                            return Ok(());
                        }
                    }
                }
            }
            // The stream was closed with its handle: nobody listens.
            Err::<(), String>(String::new())
        };
        let down = async {
            let mut chunk = vec![0; STREAM_CHUNK];
            loop {
                // At least one byte of credit, and as many more as there are.
                let Ok(first) = account.credit.acquire().await else { return Ok(()) };
                first.forget();
                let more = account.credit.available_permits().min(STREAM_CHUNK - 1);
                let more = account.credit.try_acquire_many(u32::try_from(more).unwrap_or(0)).map_or(0, |permit| {
                    let held = permit.num_permits();
                    permit.forget();
                    held
                });
                let room = chunk.get_mut(..=more).ok_or("a window of another size")?;
                let got = from.read(room).await.map_err(|error| error.to_string())?;
                if got == 0 {
                    outbox.pass(id, reply::Kind::Shut(ask::Shut {})).await;
                    return Ok(());
                }
                account.credit.add_permits(more + 1 - got);
                account.untaken.fetch_add(got as u64, Ordering::Relaxed);
                let bytes = room.get(..got).unwrap_or_default().to_vec();
                if !outbox.pass(id, reply::Kind::Data(bytes)).await {
                    return Err(String::new());
                }
            }
        };
        tokio::pin!(up, down);
        let outcome = tokio::select! {
            broken = &mut up => broken,
            finished = &mut down => match finished {
                Ok(()) if shut.load(Ordering::Relaxed) => Ok(()),
                // The far side has said everything; the step may go on until it shuts as well.
                Ok(()) => {
                    ended.store(true, Ordering::Relaxed);
                    up.await
                }
                broken => broken,
            },
        };
        if let Err(why) = outcome
            && !why.is_empty()
        {
            outbox.say(id, Err(Refusal::refused(format!("the stream broke: {why}")))).await;
        }
    }
}
