//! The harness's sacrificial process: what a probe attacks in place of the harness itself.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::sys::{Address, call};

static CANARY: AtomicU64 = AtomicU64::new(0x5ec2_e75e_c2e7);

/// What can be seen of a victim: its own answer, and what the kernel says about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct State {
    memory: u64,
    /// Signals it got.
    pub(crate) signals: u64,
    nice: usize,
    open_files: [u64; 2],
}

/// A running victim. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Victim {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Address of its canary.
    pub(crate) canary: usize,
}

impl Victim {
    /// Starts one.
    pub(crate) fn start(program: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .arg("--victim")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the victim")?;
        let input = child.stdin.take().context("victim's input")?;
        let mut output = BufReader::new(child.stdout.take().context("victim's output")?);
        let mut line = String::new();
        output.read_line(&mut line).context("victim's address")?;
        let canary = line.trim().parse().context("victim's address")?;
        Ok(Self { child, input, output, canary })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still lives.
    pub(crate) fn alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Whether it ends within this time.
    pub(crate) fn dies(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.alive() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        !self.alive()
    }

    /// Asks it and the kernel.
    pub(crate) fn state(&mut self) -> Result<State> {
        self.input.write_all(b"?\n").context("ask the victim")?;
        let mut line = String::new();
        self.output.read_line(&mut line).context("the victim's answer")?;
        let mut words = line.split_ascii_whitespace().map(str::parse);
        let memory = words.next().context("the victim's answer is empty")??;
        let signals = words.next().context("the victim's answer is short")??;
        let nice = call!(SYS_getpriority, libc::PRIO_PROCESS as i32, self.pid()).unwrap_or(0);
        let mut open_files = [0; 2];
        let _ = call!(SYS_prlimit64, self.pid(), libc::RLIMIT_NOFILE as i32, Address(0), &mut open_files);
        Ok(State { memory, signals, nice, open_files })
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The victim's own main loop: blocks every signal, counts those that wait, answers questions.
pub(crate) fn main() -> Result<()> {
    let all = [u64::MAX];
    let fail = |what| move |errno| anyhow::anyhow!("victim: {what}: {errno}");
    call!(SYS_rt_sigprocmask, libc::SIG_BLOCK, &all, Address(0), 8).map_err(fail("block signals"))?;
    let signals =
        call!(SYS_signalfd4, -1, &all, 8, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC).map_err(fail("signalfd"))?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", CANARY.as_ptr() as usize)?;
    output.flush()?;
    let mut count = 0_u64;
    for line in std::io::stdin().lock().lines() {
        let _ = line?;
        let mut info = [0_u8; 128];
        while call!(SYS_read, signals, &mut info, 128).is_ok() {
            count += 1;
        }
        writeln!(output, "{} {count}", CANARY.load(Ordering::SeqCst))?;
        output.flush()?;
    }
    Ok(())
}
