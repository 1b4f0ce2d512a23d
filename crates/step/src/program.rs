//! Runs a program inside the step's sandbox: sealed, with capped pipes, a deadline, and nothing left afterwards.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use countersign_plan::observation::Ending;
use countersign_sandbox::{Exit, Launched, Layers, Program, ProgramSeal, launch};
use countersign_secret::redact::Redactor;
use countersign_wire::egress::reply;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};
use serde_json::json;

use crate::beside::Beside;
use crate::bounded;
use crate::broker::{self, Silent};
use crate::channel::{Silence, timespec};
use crate::failure::Failure;
use crate::tools::{Outcome, Seen};
use crate::watcher::Watcher;

const CHUNK: usize = 64 << 10;

/// How often orphans of a silent program are reaped at least.
const REAPING: Duration = Duration::from_secs(1);

/// What one output stream may take of an observation, in bytes of JSON.
const STREAM_BUDGET: usize = 1536 << 10;

/// Starts programs under a seal.
#[derive(Debug)]
pub(crate) struct Launcher {
    seal: ProgramSeal,
    layers: Layers,
}

/// A program to run.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// Absolute path.
    pub(crate) path: PathBuf,
    /// The program's name first.
    pub(crate) arguments: Vec<String>,
    /// The whole environment.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    /// Written to descriptor 0, which is then closed.
    pub(crate) input: Vec<u8>,
    /// After this it is killed with everything that it started.
    pub(crate) timeout: Duration,
    /// Bytes kept of each stream.
    pub(crate) keep: usize,
    /// What goes on beside it.
    pub(crate) beside: Beside,
    /// It is shown values of secrets: this takes them out of what it says, and nobody watches meanwhile.
    pub(crate) shown: Option<Redactor>,
}

/// How a program went.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    pub(crate) exit_code: Option<i32>,
    pub(crate) output: Stream,
    pub(crate) error: Stream,
    /// The broker's answer, where the program was called by it.
    pub(crate) answer: Option<reply::Kind>,
}

/// One output stream: what was kept, and how much was not.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) kept: Vec<u8>,
    pub(crate) dropped: u64,
}

impl Stream {
    fn take(&mut self, bytes: &[u8], keep: usize) {
        let room = keep.saturating_sub(self.kept.len()).min(bytes.len());
        let (kept, dropped) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.kept.extend_from_slice(kept);
        self.dropped = self.dropped.saturating_add(u64::try_from(dropped.len()).unwrap_or(u64::MAX));
    }

    /// Without any value of a secret; where it was cut, without what may be the beginning of one either.
    fn without(self, values: &Redactor, cut: bool) -> Self {
        if !cut && self.dropped == 0 {
            return Self { kept: values.redact(self.kept), dropped: 0 };
        }
        let (kept, left_out) = values.redact_beginning(self.kept);
        Self { kept, dropped: self.dropped.saturating_add(u64::try_from(left_out).unwrap_or(u64::MAX)) }
    }
}

impl Ran {
    /// The result of a program tool: `stdout`, `stderr`, `exit_code`.
    pub(crate) fn seen(self) -> Seen {
        let mut dropped = BTreeMap::new();
        let mut text = |name: &str, stream: &Stream| {
            let (text, cut) = bounded::text(&stream.kept, STREAM_BUDGET);
            let lost = stream.dropped.saturating_add(cut);
            if lost > 0 {
                dropped.insert(name.to_owned(), lost);
            }
            text
        };
        let (stdout, stderr) = (text("stdout", &self.output), text("stderr", &self.error));
        let mut output = json!({"stdout": stdout, "stderr": stderr});
        if let (Some(code), Some(members)) = (self.exit_code, output.as_object_mut()) {
            members.insert("exit_code".to_owned(), code.into());
        }
        Seen { ending: self.ending, output, dropped }
    }
}

impl Launcher {
    /// Starts programs under this seal.
    pub(crate) const fn new(seal: ProgramSeal, layers: Layers) -> Self {
        Self { seal, layers }
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// It cannot be started or followed. Once it ran, what it did is unknown where the way to the broker breaks.
    pub(crate) fn run(&self, mut invocation: Invocation, watcher: &mut dyn Watcher) -> Outcome<Ran> {
        let shown = invocation.path.display().to_string();
        let failed = |what: &str| Failure::new(format!("cannot run {shown}: {what}"));
        let text = |text: String| CString::new(text).map_err(|_| failed("an argument holds a NUL byte"));
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(&io::Error::from(e).to_string()));
        let ((input, to_program), (from_output, output), (from_error, error)) = (pipe()?, pipe()?, pipe()?);
        for end in [&to_program, &from_output, &from_error] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        if let Some(relay) = &invocation.beside.relay {
            invocation.environment.extend(relay.environment());
        }
        let variables = invocation.environment.into_iter().map(|(name, value)| format!("{name}={value}"));
        let launched = launch(
            Program {
                path: invocation.path.clone(),
                arguments: invocation.arguments.into_iter().map(text).collect::<Result<_, _>>()?,
                environment: variables.map(text).collect::<Result<_, _>>()?,
                cwd: Some(invocation.cwd),
                input,
                output,
                error,
            },
            &self.seal,
            self.layers,
        )
        .map_err(|e| failed(&e.to_string()))?;
        let shown = invocation.shown;
        if shown.is_some() {
            let said =
                "countersign: the program sees a secret, so what it says is shown when it has ended, without that\n";
            watcher.output(true, said.as_bytes());
        }
        let mut pipes = invocation.beside.begin(watcher.channel(), to_program, from_output);
        let (to_program, from_output) = pipes.as_mut().map_or((None, None), |pipes| pipes.take().unzip());
        let mut run = Running {
            launched,
            to_program,
            input: &invocation.input,
            streams: [from_output, Some(from_error)],
            taken: [Stream::default(), Stream::default()],
            keep: invocation.keep,
            quiet: shown.is_some(),
            beside: invocation.beside,
        };
        let exit = match pipes {
            Ok(_) => run.follow(Instant::now() + invocation.timeout, watcher),
            Err(silence) => Err(silence.into()),
        };
        run.kill();
        let exit = exit.map_err(|lost| match lost {
            Lost::Pipe(e) => failed(&e.to_string()),
            Lost::Broker(silence) => broker::lost(&silence, Silent::Unknown),
        })?;
        let [output, error] = match &shown {
            None => run.taken,
            Some(values) => run.taken.map(|stream| stream.without(values, exit.is_none())),
        };
        let (ending, exit_code) = match exit {
            None => (Ending::TimedOut, None),
            Some(Exit::Code(code)) => (Ending::Returned, Some(code)),
            Some(Exit::Signal(signal)) if signal == Signal::SYS.as_raw() => {
                (Ending::Violation { message: forbidden() }, None)
            }
            Some(Exit::Signal(signal)) => (Ending::Killed { signal }, None),
        };
        Ok(Ran { ending, exit_code, output, error, answer: run.beside.answer() })
    }
}

/// What is said of a program that the system call filter ended.
pub(crate) fn forbidden() -> String {
    "the program made a system call that its sandbox forbids (SIGSYS)".to_owned()
}

struct Running<'a> {
    launched: Launched,
    to_program: Option<OwnedFd>,
    input: &'a [u8],
    streams: [Option<OwnedFd>; 2],
    taken: [Stream; 2],
    keep: usize,
    /// Nobody watches what it says.
    quiet: bool,
    beside: Beside,
}

/// Why a program is not followed any further.
#[derive(Debug, thiserror::Error)]
enum Lost {
    /// Its pipes failed.
    #[error(transparent)]
    Pipe(#[from] io::Error),
    /// The way to the broker broke.
    #[error(transparent)]
    Broker(#[from] Silence),
}

impl From<Errno> for Lost {
    fn from(errno: Errno) -> Self {
        Self::Pipe(errno.into())
    }
}

impl Running<'_> {
    /// Feeds and drains until the program has ended, or the broker has the answer that it was started for; `None` where its time
    /// ran out first, or it still ran.
    fn follow(&mut self, deadline: Instant, watcher: &mut dyn Watcher) -> Result<Option<Exit>, Lost> {
        let served = self.beside.awaits();
        loop {
            self.feed()?;
            self.beside(watcher)?;
            let answered = served && !self.beside.awaits();
            if let Some(exit) = self.launched.reap()?.filter(|_| answered || !served) {
                // What it wrote before its end is in the pipes by now; a child that lives on and writes more is not waited for.
                self.drain(watcher)?;
                return Ok(Some(exit));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if answered || left.is_zero() {
                self.drain(watcher)?;
                return Ok(None);
            }
            self.wait(left.min(REAPING), watcher)?;
            self.drain(watcher)?;
        }
    }

    fn beside(&mut self, watcher: &mut dyn Watcher) -> Result<(), Lost> {
        if let Some(channel) = watcher.channel().filter(|_| !self.beside.is_empty()) {
            self.beside.turn(channel)?;
        }
        for refused in self.beside.refusals() {
            watcher.output(true, format!("countersign: {refused}\n").as_bytes());
        }
        Ok(())
    }

    fn wait(&mut self, left: Duration, watcher: &mut dyn Watcher) -> io::Result<()> {
        let mut fds = Vec::new();
        // One that has ended is waited for no more: its descriptor stays readable.
        if self.launched.reap()?.is_none() {
            fds.push(PollFd::from_borrowed_fd(self.launched.pidfd(), PollFlags::IN));
        }
        if let Some(channel) = watcher.channel().filter(|_| !self.beside.is_empty()) {
            self.beside.interest(channel, &mut fds);
        }
        fds.extend(self.streams.iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(self.to_program.iter().map(|fd| PollFd::new(fd, PollFlags::OUT)));
        match poll(&mut fds, Some(&timespec(left))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn feed(&mut self) -> io::Result<()> {
        while let Some(pipe) = &self.to_program {
            if self.input.is_empty() {
                self.to_program = None;
                break;
            }
            match rustix::io::write(pipe, self.input) {
                Ok(sent) => self.input = self.input.get(sent..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // A program need not read its input.
                Err(Errno::PIPE) => self.to_program = None,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    fn drain(&mut self, watcher: &mut dyn Watcher) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        for ((slot, taken), error) in self.streams.iter_mut().zip(&mut self.taken).zip([false, true]) {
            // One round of a flooding program at a time, so that its time is looked at between.
            for _ in 0..64 {
                let Some(pipe) = slot else { break };
                match rustix::io::read(pipe.as_fd(), &mut chunk) {
                    Ok(0) => *slot = None,
                    Ok(got) => {
                        let bytes = chunk.get(..got).unwrap_or_default();
                        if taken.kept.len() < self.keep && !self.quiet {
                            watcher.output(error, bytes);
                        }
                        taken.take(bytes, self.keep);
                    }
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => break,
                    Err(e) => return Err(e.into()),
                }
            }
        }
        Ok(())
    }

    /// Ends whatever is left. As the first process of its namespace this process can name all of them at once.
    fn kill(&mut self) {
        if std::process::id() == 1 {
            // `kill(-1)`: every process but the caller.
            while kill_process_group(Pid::INIT, Signal::KILL) == Err(Errno::INTR) {}
        }
        // It may have ended by itself.
        let _ = pidfd_send_signal(self.launched.pidfd(), Signal::KILL);
        drop(self.launched.reap());
    }
}
