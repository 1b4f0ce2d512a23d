//! The monitor's side of the broker: started on demand with an empty environment, spoken to in frames, started again after a
//! crash, ended with the monitor.
//!
//! What steps ask and what comes back passes here unread: sizes, rates and queues are bounded, and nothing is parsed.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command as Program, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use countersign_wire::broker::from_broker::{self, Reply};
use countersign_wire::broker::to_broker::{self, Ask};
use countersign_wire::broker::{FromBroker, ToBroker};
use countersign_wire::egress::EGRESS_LIMIT;
use countersign_wire::frame;
use countersign_wire::step::ToStep;
use rustix::fs::SeekFrom;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::OwnedWriteHalf;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::channel;
use crate::monitor::{Command, Monitor};

/// The descriptors that the broker finds: its channel, and the variables that its configuration names.
const CHANNEL: i32 = 3;
const ENVIRONMENT: i32 = 4;

/// Messages that may wait for the broker; a step that asks more waits itself.
const BACKLOG: usize = 256;

/// Messages per second that one peer may send; what comes faster is read later.
const RATE: u32 = 2000;

/// How long it may take to give back what it obtained, when the monitor ends.
const LEAVE: Duration = Duration::from_secs(20);

/// Bytes that may wait for one step child: every stream has a window, and a step asks little at once.
const WAITING: usize = 32 << 20;

/// What the broker did.
#[derive(Debug)]
pub(crate) enum BrokerEvent {
    /// It said something that is for the monitor.
    Said(from_broker::Kind),
    /// A step child asked for what it was not granted, or does not read what it asked for.
    Offence {
        /// The lease.
        lease: u64,
        /// For people.
        message: String,
    },
    /// It is gone, with every lease and every inference.
    Ended(String),
}

/// A broker that runs.
#[derive(Debug)]
pub(crate) struct Broker {
    generation: u64,
    child: Child,
    to: mpsc::Sender<ToBroker>,
    leases: Leases,
}

impl Broker {
    /// Starts the program with an empty environment. Its events carry `generation`.
    pub(crate) fn start(
        program: &Path,
        environment: Option<&OwnedFd>,
        generation: u64,
        monitor: &Monitor,
        runtime: &Handle,
    ) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut mappings = vec![FdMapping { parent_fd: theirs.into(), child_fd: CHANNEL }];
        if let Some(environment) = environment {
            // The place in the file is shared by all who hold it.
            rustix::fs::seek(environment, SeekFrom::Start(0))?;
            mappings.push(FdMapping { parent_fd: environment.try_clone()?, child_fd: ENVIRONMENT });
        }
        let mut command = Program::new(program);
        command.arg0("countersign-broker").env_clear().current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        let child = command.spawn()?;
        // Its end of the channel must be in no other hands, or its end would not be seen.
        drop(command);
        ours.set_nonblocking(true)?;
        let stream = {
            let _inside = runtime.enter();
            tokio::net::UnixStream::from_std(ours)?
        };
        let (mut reader, writer) = stream.into_split();
        let (to, messages) = mpsc::channel(BACKLOG);
        let leases = Leases::default();
        runtime.spawn(channel::write_all(writer, messages));
        let (monitor, lanes) = (monitor.clone(), leases.clone());
        runtime.spawn(async move {
            let tell = |event| monitor.send(Command::Broker { generation, event });
            let mut pace = Pace::new();
            let end = loop {
                pace.keep().await;
                let reply = match channel::read::<FromBroker>(&mut reader).await {
                    Err(e) => break e.to_string(),
                    Ok(FromBroker { kind: None }) => break "it sent what is no message".to_owned(),
                    Ok(FromBroker { kind: Some(from_broker::Kind::Reply(reply)) }) => reply,
                    Ok(FromBroker { kind: Some(kind) }) => {
                        tell(BrokerEvent::Said(kind));
                        continue;
                    }
                };
                let (lease, violation) = (reply.lease, reply.violation.clone());
                let offence = if violation.is_empty() { lanes.deliver(reply).err() } else { Some(violation) };
                if let Some(message) = offence {
                    tell(BrokerEvent::Offence { lease, message });
                }
            };
            tell(BrokerEvent::Ended(end));
        });
        Ok(Self { generation, child, to, leases })
    }

    /// Which start of the broker this is.
    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Sends it something.
    pub(crate) fn tell(&self, kind: to_broker::Kind) -> Result<(), String> {
        self.to.try_send(ToBroker { kind: Some(kind) }).map_err(|e| format!("the broker does not listen: {e}"))
    }

    /// The way of the step child that holds this lease.
    pub(crate) fn leased(&self, lease: u64) -> Leased {
        Leased { lease, to: self.to.clone(), leases: self.leases.clone() }
    }

    /// The step child is gone.
    pub(crate) fn release(&self, lease: u64) {
        self.leases.lanes().remove(&lease);
        // A broker that does not listen is gone with all its leases.
        drop(self.tell(to_broker::Kind::Release(to_broker::Release { lease })));
    }

    /// Ends it: it hears all that was said to it, sees its socket close and gives back what it obtained for cases, or is killed
    /// where that takes too long.
    pub(crate) fn end(self) {
        let Self { mut child, to, leases, .. } = self;
        leases.lanes().clear();
        drop(to);
        let until = std::time::Instant::now() + LEAVE;
        while std::time::Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(child.kill());
        drop(child.wait());
    }

    /// Ends it at once: one that broke off is of no more use.
    pub(crate) fn kill(mut self) {
        self.leases.lanes().clear();
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A lease whose step child was not told to go yet.
#[derive(Debug)]
pub(crate) struct Leased {
    lease: u64,
    to: mpsc::Sender<ToBroker>,
    leases: Leases,
}

impl Leased {
    /// From now on what the step child asks goes to the broker, and what comes back to `writer`.
    pub(crate) fn open(self, writer: OwnedWriteHalf) -> Road {
        let (to, replies) = mpsc::channel(BACKLOG);
        let waiting = Arc::new(AtomicUsize::new(0));
        self.leases.lanes().insert(self.lease, Lane { to, waiting: Arc::clone(&waiting) });
        tokio::spawn(write_replies(writer, replies, waiting));
        Road { lease: self.lease, to: self.to, pace: Pace::new() }
    }
}

/// The way of one step child to the broker.
#[derive(Debug)]
pub(crate) struct Road {
    lease: u64,
    to: mpsc::Sender<ToBroker>,
    pace: Pace,
}

impl Road {
    /// Passes an ask on, unread; waits where the broker is behind.
    ///
    /// # Errors
    /// It is larger than any ask.
    pub(crate) async fn ask(&mut self, ask: Vec<u8>) -> Result<(), String> {
        if ask.len() > EGRESS_LIMIT {
            return Err(format!("an ask of {} bytes; at most {EGRESS_LIMIT} are passed on", ask.len()));
        }
        self.pace.keep().await;
        let ask = ToBroker { kind: Some(to_broker::Kind::Ask(Ask { lease: self.lease, ask })) };
        // Without a broker the step is ended elsewhere.
        drop(self.to.send(ask).await);
        Ok(())
    }
}

/// The step children that hold leases.
#[derive(Debug, Clone, Default)]
struct Leases(Arc<Mutex<HashMap<u64, Lane>>>);

/// What waits for one step child.
#[derive(Debug)]
struct Lane {
    to: mpsc::Sender<ToStep>,
    waiting: Arc<AtomicUsize>,
}

impl Leases {
    fn lanes(&self) -> MutexGuard<'_, HashMap<u64, Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a reply on, unread. A lease that is over wants none.
    fn deliver(&self, reply: Reply) -> Result<(), String> {
        let mut lanes = self.lanes();
        let Some(lane) = lanes.get(&reply.lease) else { return Ok(()) };
        let size = reply.reply.len();
        let waiting = lane.waiting.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        if waiting <= WAITING && lane.to.try_send(ToStep { reply: reply.reply }).is_ok() {
            return Ok(());
        }
        let closed = lane.to.is_closed();
        lanes.remove(&reply.lease);
        if closed { Ok(()) } else { Err("it does not read what it asked for".to_owned()) }
    }
}

async fn write_replies(mut writer: OwnedWriteHalf, mut replies: mpsc::Receiver<ToStep>, waiting: Arc<AtomicUsize>) {
    while let Some(message) = replies.recv().await {
        waiting.fetch_sub(message.reply.len(), Ordering::Relaxed);
        let Ok(bytes) = frame::encode(&message) else { return };
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Holds a peer to [`RATE`] by making it wait.
#[derive(Debug)]
struct Pace {
    second: Instant,
    count: u32,
}

impl Pace {
    fn new() -> Self {
        Self { second: Instant::now(), count: 0 }
    }

    async fn keep(&mut self) {
        let next = self.second + Duration::from_secs(1);
        if Instant::now() >= next {
            *self = Self::new();
        } else if self.count >= RATE {
            tokio::time::sleep_until(next).await;
            *self = Self::new();
        }
        self.count = self.count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use countersign_wire::broker::from_broker::Reply;
    use tokio::sync::mpsc;

    use super::{BACKLOG, EGRESS_LIMIT, Lane, Leases, Pace, RATE, Road};

    fn reply(lease: u64, bytes: usize) -> Reply {
        Reply { lease, reply: vec![0; bytes], violation: String::new() }
    }

    #[test]
    fn a_step_that_does_not_read_fills_no_memory_and_harms_no_other() {
        let leases = Leases::default();
        let (to, _unread) = mpsc::channel(BACKLOG);
        leases.lanes().insert(1, Lane { to, waiting: Arc::new(AtomicUsize::new(0)) });
        let (to, mut read) = mpsc::channel(BACKLOG);
        leases.lanes().insert(2, Lane { to, waiting: Arc::new(AtomicUsize::new(0)) });
        let refused = (0..BACKLOG + 1).find_map(|_| leases.deliver(reply(1, 1 << 20)).err());
        assert!(refused.unwrap().contains("does not read"));
        assert!(leases.deliver(reply(1, 1)).is_ok(), "the lane is gone, and nothing is kept for it");
        leases.deliver(reply(2, 5)).unwrap();
        assert_eq!(read.try_recv().unwrap().reply.len(), 5);
        leases.deliver(reply(3, 5)).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_ask_over_the_bound_is_not_passed_on_and_a_flood_waits() {
        let (to, mut asks) = mpsc::channel(BACKLOG * 100);
        let mut road = Road { lease: 7, to, pace: Pace::new() };
        assert!(road.ask(vec![0; EGRESS_LIMIT + 1]).await.is_err());
        assert!(asks.try_recv().is_err());
        let begun = tokio::time::Instant::now();
        for _ in 0..=RATE {
            road.ask(vec![1]).await.unwrap();
        }
        assert!(begun.elapsed() >= std::time::Duration::from_millis(900), "{:?}", begun.elapsed());
        assert_eq!(asks.len(), RATE as usize + 1);
    }
}
