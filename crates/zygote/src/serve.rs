//! The zygote's loop: commands of the monitor, ends of children, deadlines. It ends with the monitor, and everything with it.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use countersign_sandbox::Level;
use countersign_wire::rights;
use countersign_wire::step::ORDER_LIMIT;
use countersign_wire::zygote::from_zygote::{self, Booted, Exited, Refused, Spawned};
use countersign_wire::zygote::{FromZygote, ToZygote, to_zygote};
use prost::Message as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::SealFlags;

use crate::authority::Authority;
use crate::children::{Children, Programs, Started, exit};

/// Why the zygote ends other than with its monitor.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// The channel to the monitor failed.
    #[error("the channel to the monitor failed: {0}")]
    Channel(#[from] io::Error),
    /// Not a message of this channel.
    #[error("not a message of this channel: {0}")]
    Decode(#[from] prost::DecodeError),
}

/// Serves the monitor until it closes the channel.
pub(crate) fn serve(control: BorrowedFd<'_>) -> Result<(), ServeError> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(io::Error::from)?;
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).map_err(io::Error::from)?;
    // Nothing here needs a network, and nothing but confined children is started here.
    countersign_sandbox::keep_spares();
    let mut zygote =
        Zygote { control, programs: Programs::open()?, authority: Authority::default(), children: Children::new() };
    loop {
        if zygote.wait()? {
            let (packet, rights) = rights::receive(control)?;
            if packet.is_empty() {
                // Dropping the children kills and reaps them.
                return Ok(());
            }
            zygote.command(&ToZygote::decode(packet.as_slice())?, rights)?;
        }
        zygote.reap()?;
    }
}

struct Zygote<'a> {
    control: BorrowedFd<'a>,
    programs: Programs,
    authority: Authority,
    children: Children,
}

impl Zygote<'_> {
    /// Waits for a command, the end of a child or the next deadline; whether a command is there.
    fn wait(&self) -> io::Result<bool> {
        let next = self.children.values().filter(|c| !c.timed_out).filter_map(|c| c.deadline).min();
        let timeout = next.map(|at| {
            let left = at.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() }
        });
        let mut fds = vec![PollFd::new(&self.control, PollFlags::IN)];
        let signs = self.children.values().flat_map(|c| c.confined.signs());
        fds.extend(signs.map(|sign| PollFd::from_borrowed_fd(sign, PollFlags::IN)));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(fds.first().is_some_and(|fd| !fd.revents().is_empty()))
    }

    fn command(&mut self, message: &ToZygote, rights: Vec<OwnedFd>) -> Result<(), ServeError> {
        let refused = |violation, message: String| from_zygote::Kind::Refused(Refused { violation, message });
        let answer = match &message.kind {
            None => refused(false, "a command of a kind that this version does not know".to_owned()),
            Some(to_zygote::Kind::Boot(boot)) => match self.authority.boot(boot) {
                Ok(()) => {
                    let probe = countersign_sandbox::probe();
                    self.programs.are_bare = probe.level == Level::NoUserns;
                    let capabilities = serde_json::to_vec(&probe).unwrap_or_default();
                    from_zygote::Kind::Booted(Booted { capabilities })
                }
                Err(e) => refused(e.is_violation(), e.to_string()),
            },
            Some(to_zygote::Kind::SpawnExecutor(executor)) => {
                return self.started(message.id, self.programs.executor(executor.without_namespaces));
            }
            Some(to_zygote::Kind::SpawnPlanner(planner)) => {
                return self.started(message.id, self.programs.planner(planner.without_namespaces));
            }
            Some(to_zygote::Kind::SpawnInspector(inspector)) => {
                return self.started(message.id, self.programs.inspector(inspector.without_namespaces));
            }
            Some(to_zygote::Kind::SpawnClassifier(_)) => {
                return self.started(message.id, self.programs.classifier(rights));
            }
            Some(to_zygote::Kind::SpawnStep(step)) => {
                let order = rights.into_iter().next().ok_or_else(|| "the order's descriptor is missing".to_owned());
                match order.and_then(|order| read_order(&order).map(|bytes| (order, bytes))) {
                    Err(e) => refused(false, e),
                    Ok((order, bytes)) => match self.authority.permit(step, &bytes) {
                        Err(e) => refused(e.is_violation(), e.to_string()),
                        Ok(permitted) => {
                            let started = self.programs.step(&permitted.spec, &permitted.own, order);
                            return self.started(message.id, started);
                        }
                    },
                }
            }
            Some(to_zygote::Kind::Kill(_)) => {
                if let Some(child) = self.children.get(&message.id) {
                    child.confined.kill()?;
                }
                return Ok(());
            }
        };
        self.tell(message.id, answer, &[])
    }

    fn started(&mut self, id: u64, outcome: Result<Started, crate::children::StartError>) -> Result<(), ServeError> {
        match outcome {
            Err(e) => {
                self.tell(id, from_zygote::Kind::Refused(Refused { violation: false, message: e.to_string() }), &[])
            }
            Ok(started) => {
                let enforcement = serde_json::to_vec(&started.enforcement).unwrap_or_default();
                let pid = started.child.confined.pid();
                self.children.insert(id, started.child);
                let spawned = from_zygote::Kind::Spawned(Spawned { pid, enforcement });
                self.tell(id, spawned, &[started.channel.as_fd()])
            }
        }
    }

    /// Kills what is over its time and reports what ended.
    fn reap(&mut self) -> Result<(), ServeError> {
        let now = Instant::now();
        let mut ended = Vec::new();
        for (id, child) in &mut self.children {
            if !child.timed_out && child.deadline.is_some_and(|at| now >= at) {
                child.timed_out = true;
                child.confined.kill()?;
            }
            if let Some(how) = child.confined.wait(Some(Duration::ZERO))? {
                let (code, signal) = exit(how);
                let syscall = child.confined.violation().map(|violation| violation.to_string());
                ended.push((*id, Exited { code, signal, timed_out: child.timed_out, syscall }));
            }
        }
        for (id, exited) in ended {
            // Its mounts are taken apart when it is dropped: the monitor need not wait for that.
            let _ended = self.children.remove(&id);
            self.tell(id, from_zygote::Kind::Exited(exited), &[])?;
        }
        Ok(())
    }

    fn tell(&self, id: u64, kind: from_zygote::Kind, rights: &[BorrowedFd<'_>]) -> Result<(), ServeError> {
        let packet = FromZygote { id, kind: Some(kind) }.encode_to_vec();
        Ok(rights::send(self.control, &packet, rights)?)
    }
}

/// The order's bytes, from a memory file that nobody can change any more.
fn read_order(order: &OwnedFd) -> Result<Vec<u8>, String> {
    let seals = rustix::fs::fcntl_get_seals(order).map_err(|e| format!("the order is no memory file: {e}"))?;
    if !seals.contains(SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW) {
        return Err("the order's memory file is not sealed".to_owned());
    }
    let size = rustix::fs::fstat(order).map_err(|e| e.to_string())?.st_size;
    let size = usize::try_from(size).ok().filter(|size| *size <= ORDER_LIMIT).ok_or("the order is too large")?;
    let mut bytes = vec![0; size];
    let mut at = 0;
    while at < size {
        let offset = u64::try_from(at).unwrap_or(u64::MAX);
        let rest = bytes.get_mut(at..).unwrap_or_default();
        match rustix::io::pread(order, rest, offset).map_err(|e| e.to_string())? {
            0 => return Err("the order's memory file is shorter than it says".to_owned()),
            got => at += got,
        }
    }
    Ok(bytes)
}
