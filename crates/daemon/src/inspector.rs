//! The monitor's side of the inspectors: sealed processes that read hostile text, asked while the gate decides.
//!
//! What an inspector reads may take it over, and from then on it lies. So one inspector serves one event of the gate, which is
//! about one case, and is killed after it: what lies, lies about the text that made it lie and about nobody else's. Spares are kept
//! warm, so that no decision waits for one to start. An inspector that is silent, late, gone or unintelligible is an answer that is
//! missing: people are asked, and it is recorded.

mod answers;
mod classifier;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersign_plan::digest::Digest;
use countersign_plan::inspection::{Inspection, Subject};
use countersign_policy::facts::NotInspected;
use countersign_wire::frame;
use countersign_wire::inspector::{FromInspector, INSPECTION_LIMIT, ToInspector};
use countersign_wire::zygote::from_zygote::Exited;
use countersign_wire::zygote::to_zygote::{self, SpawnInspector};
use prost::Message as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) use answers::{Answers, Kept};
use classifier::Second;

use crate::monitor::{Command, Monitor};
use crate::zygote::{ChildEvent, Zygote};

/// How long an inspector may take to start, where no spare is ready: a machine that does much else.
const START: Duration = Duration::from_secs(15);

/// How long one answer may take. An ordinary one takes well under a millisecond.
const ANSWER: Duration = Duration::from_secs(2);

/// How long all answers of one event may take together: the monitor decides nothing else meanwhile.
const EVENT: Duration = Duration::from_secs(4);

/// Inspectors that wait, sealed and attested.
const SPARES: usize = 2;

/// The longest frame of an answer: the inspection, and what protobuf puts before it.
const FRAME: usize = INSPECTION_LIMIT + 16;

/// An inspector ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The zygote's number of it.
    pub(crate) id: u64,
    /// How.
    pub(crate) exited: Exited,
}

/// The inspectors of this monitor.
#[derive(Clone)]
pub(crate) struct Inspectors {
    shared: Arc<Shared>,
}

struct Shared {
    zygote: Zygote,
    monitor: Monitor,
    without_namespaces: bool,
    second: Second,
    pool: Mutex<Pool>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    ready: VecDeque<Seat>,
    /// Asked for, and neither here nor refused.
    starting: usize,
    /// Why the last one did not start.
    refused: Option<String>,
}

/// An inspector and the socket to it.
#[derive(Debug)]
struct Seat {
    id: u64,
    socket: UnixStream,
}

impl std::fmt::Debug for Inspectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inspectors")
    }
}

impl Inspectors {
    /// Has the first spares started, and the classifier that the configuration folder wants.
    ///
    /// # Errors
    /// A classifier is wanted, and how is not understood.
    pub(crate) fn start(
        zygote: Zygote,
        monitor: Monitor,
        config: &Path,
        without_namespaces: bool,
    ) -> Result<Self, String> {
        let second = Second::start(config, zygote.clone(), monitor.clone())?;
        let shared =
            Shared { zygote, monitor, without_namespaces, second, pool: Mutex::default(), changed: Condvar::new() };
        let inspectors = Self { shared: Arc::new(shared) };
        inspectors.keep();
        Ok(inspectors)
    }

    /// For one event of the gate, with what is known of its case.
    pub(crate) fn sitting(&self, answers: Answers) -> Sitting {
        Sitting { inspectors: self.clone(), state: RefCell::new(Sat { answers, ..Sat::default() }) }
    }

    /// Asks for as many as are missing.
    fn keep(&self) {
        let missing = {
            let mut pool = self.shared.pool();
            let missing = SPARES.saturating_sub(pool.ready.len() + pool.starting);
            pool.starting += missing;
            missing
        };
        for _ in 0..missing {
            let shared = Arc::clone(&self.shared);
            let listener = Box::new(move |id, event| shared.hear(id, event));
            let kind =
                to_zygote::Kind::SpawnInspector(SpawnInspector { without_namespaces: self.shared.without_namespaces });
            if let Err(e) = self.shared.zygote.ask(kind, &[], listener) {
                self.shared.missed(format!("no zygote: {e}"));
            }
        }
    }

    /// A spare, or one that starts until then.
    fn take(&self, deadline: Instant) -> Result<Seat, String> {
        self.keep();
        let mut pool = self.shared.pool();
        loop {
            if let Some(seat) = pool.ready.pop_front() {
                return Ok(seat);
            }
            if pool.starting == 0 {
                let why = pool.refused.clone().unwrap_or_else(|| "it ended before it was asked".to_owned());
                return Err(format!("no inspector can be started: {why}"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("no inspector started in time".to_owned());
            }
            pool = self.shared.changed.wait_timeout(pool, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The zygote ended, and every inspector with it.
    pub(crate) fn lost(&self) {
        let mut pool = self.shared.pool();
        *pool = Pool { refused: Some("the zygote ended".to_owned()), ..Pool::default() };
        self.shared.changed.notify_all();
        self.shared.second.lost();
    }
}

impl Shared {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// On the zygote's own thread: the monitor's may be waiting for exactly this.
    fn hear(&self, id: u64, event: ChildEvent) {
        match event {
            ChildEvent::Spawned(_, channel) => {
                let socket = UnixStream::from(channel);
                match socket.set_nonblocking(true) {
                    Ok(()) => {
                        let mut pool = self.pool();
                        pool.starting = pool.starting.saturating_sub(1);
                        pool.ready.push_back(Seat { id, socket });
                        self.changed.notify_all();
                    }
                    Err(e) => self.missed(e.to_string()),
                }
            }
            ChildEvent::Refused { message, .. } => self.missed(message),
            ChildEvent::Exited(exited) => {
                self.pool().ready.retain(|seat| seat.id != id);
                self.monitor.send(Command::Inspector(Ended { id, exited }));
            }
            ChildEvent::Booted(_) => {}
        }
    }

    fn missed(&self, why: String) {
        let mut pool = self.pool();
        pool.starting = pool.starting.saturating_sub(1);
        pool.refused = Some(why);
        self.changed.notify_all();
    }
}

/// The inspections of one event, all by one inspector, which is taken when the first is asked for.
#[derive(Debug)]
pub(crate) struct Sitting {
    inspectors: Inspectors,
    state: RefCell<Sat>,
}

#[derive(Debug, Default)]
struct Sat {
    /// The inspector, and until when it may answer.
    seat: Option<(Seat, Instant)>,
    id: Option<u64>,
    failure: Option<String>,
    /// Until when the classifier may answer, once it was asked.
    second_until: Option<Instant>,
    /// What was said about the case, here and earlier.
    answers: Answers,
}

/// What a sitting comes to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The inspector that was asked, if one was.
    pub(crate) id: Option<u64>,
    /// Why not everything was inspected.
    pub(crate) failure: Option<String>,
    /// What was said, for the next event of the same case.
    pub(crate) answers: Answers,
}

impl Sitting {
    /// What the subject would do. After one failure nothing more is asked: what is left is not inspected.
    pub(crate) fn inspect(&self, subject: &Subject) -> Result<Inspection, NotInspected> {
        let mut state = self.state.borrow_mut();
        if state.failure.is_some() {
            return Err(NotInspected::Failed);
        }
        self.answer(&mut state, subject).map_err(|failure| {
            state.failure = Some(failure);
            self.rise(&mut state);
            NotInspected::Failed
        })
    }

    fn answer(&self, state: &mut Sat, subject: &Subject) -> Result<Inspection, String> {
        let asked = ToInspector::about(subject).ok_or("it is longer than what is inspected")?;
        let question = Digest::of(&asked.subject);
        if let Some(known) = state.answers.get(&question) {
            return Ok(known.clone());
        }
        let asked = frame::encode(&asked).map_err(|e| e.to_string())?;
        let until = *state.second_until.get_or_insert_with(|| Instant::now() + classifier::EVENT);
        let second = self.inspectors.shared.second.ask(subject, &asked, until);
        if state.seat.is_none() {
            let seat = self.inspectors.take(Instant::now() + START)?;
            state.id = Some(seat.id);
            state.seat = Some((seat, Instant::now() + EVENT));
        }
        let (seat, until) = state.seat.as_ref().ok_or("no inspector")?;
        let deadline = (Instant::now() + ANSWER).min(*until);
        let answer = exchange(&seat.socket, &asked, deadline).map_err(|e| match e.kind() {
            io::ErrorKind::TimedOut => "the inspector did not answer in time and was killed".to_owned(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                "the inspector ended before it answered".to_owned()
            }
            _ => format!("the inspector was killed: {e}"),
        })?;
        let bytes = answer.len();
        let answer = FromInspector::decode(answer.as_slice()).map_err(|e| e.to_string());
        let said = answer.and_then(|answer| answer.read().map_err(|e| e.to_string())).map_err(|e| {
            // Its words are quoted nowhere: whoever took it over chose them.
            let place = countersign_plan::text::escape(&e.chars().take(120).collect::<String>());
            format!("the inspector gave no inspection and was killed: {place}")
        })?;
        let heard = Instant::now();
        let (said, whole) = match second {
            Some(second) => second.raise(said),
            None => (said, true),
        };
        // What the classifier takes is none of the inspector's time.
        if let Some((_, until)) = &mut state.seat {
            *until += heard.elapsed();
        }
        if whole {
            state.answers.keep(question, &said, bytes);
        } else {
            // One that failed is not waited for again by the same event.
            state.second_until = Some(Instant::now());
        }
        Ok(said)
    }

    /// Ends the inspector.
    fn rise(&self, state: &mut Sat) {
        if let Some((seat, _)) = state.seat.take() {
            drop(self.inspectors.shared.zygote.kill(seat.id));
        }
    }

    /// The end: the inspector is killed, and another one started in its place.
    pub(crate) fn end(self) -> Outcome {
        let mut state = self.state.borrow_mut();
        self.rise(&mut state);
        let answers = std::mem::take(&mut state.answers);
        let outcome = Outcome { id: state.id.take(), failure: state.failure.take(), answers };
        if outcome.id.is_some() {
            self.inspectors.keep();
        }
        outcome
    }
}

/// Sends a frame and reads one, by the deadline.
fn exchange(socket: &UnixStream, asked: &[u8], deadline: Instant) -> io::Result<Vec<u8>> {
    send(socket, asked, deadline)?;
    receive(socket, deadline)
}

/// Sends a frame by the deadline.
fn send(socket: &UnixStream, asked: &[u8], deadline: Instant) -> io::Result<()> {
    use io::Write as _;
    let mut rest = asked;
    while !rest.is_empty() {
        match (&*socket).write(rest) {
            Ok(0) => return Err(io::ErrorKind::BrokenPipe.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(e) => wait(socket, PollFlags::OUT, deadline, e)?,
        }
    }
    Ok(())
}

/// Reads a frame by the deadline. Anything beyond the one frame is not an answer.
fn receive(socket: &UnixStream, deadline: Instant) -> io::Result<Vec<u8>> {
    use io::Read as _;
    let mut answer = Vec::new();
    let mut wanted = 4;
    let mut chunk = [0; 16 << 10];
    while answer.len() < wanted {
        match (&*socket).read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => answer.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(e) => wait(socket, PollFlags::IN, deadline, e)?,
        }
        if wanted == 4
            && let Some(prefix) = answer.first_chunk::<4>()
        {
            wanted += frame::length(*prefix, FRAME).map_err(io::Error::other)?;
        }
    }
    if answer.len() > wanted {
        return Err(io::Error::other("it said more than it was asked"));
    }
    Ok(answer.split_off(4))
}

/// Waits until the socket is ready, where that was all that was missing.
fn wait(socket: &UnixStream, flags: PollFlags, deadline: Instant, error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::WouldBlock => {}
        io::ErrorKind::Interrupted => return Ok(()),
        _ => return Err(error),
    }
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let timeout = Timespec::try_from(left).map_err(|_| io::ErrorKind::TimedOut)?;
    match poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), flags)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests;
