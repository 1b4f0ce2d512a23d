//! `countersign check` as a whole process against a running monitor, beside the cost of starting any process at all.
//!
//!     cargo build --release --bins && cargo bench --package countersign-cli --bench check
//!
//! Every round starts a static program that does nothing (this one), then `countersign check INTENT`, whose verdict is durable in
//! the ledger before it is told. Then the monitor's resident memory. Exits with 1 where a target is missed: p50 ≤ 8 ms, p99 ≤ 25 ms,
//! idle ≤ 40 MiB.

use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// The word that makes this program the baseline.
const NOTHING: &str = "do-nothing";
const ROUNDS: usize = 300;
const WARM_UP: usize = 20;
/// What is held to: median and 99th percentile of a check, resident KiB of a monitor that does nothing.
const P50: Duration = Duration::from_millis(8);
const P99: Duration = Duration::from_millis(25);
const IDLE: u64 = 40 << 10;
const INTENT: &str = r#"{"schema":"countersign.intent/v1","action":"read_file","args":{"path":"README.md"}}"#;

fn main() -> anyhow::Result<()> {
    if std::env::args().nth(1).as_deref() == Some(NOTHING) {
        return Ok(());
    }
    let root = tempfile::tempdir()?;
    let monitor = Monitor::start(root.path())?;
    let idle = monitor.resident()?;
    let own = std::env::current_exe()?;
    let (mut nothing, mut check) = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    for round in 0..WARM_UP + ROUNDS {
        let baseline = time(Command::new(&own).arg(NOTHING))?;
        let checked = time(&mut monitor.command(&["check", "intent.json", "--json"]))?;
        if round >= WARM_UP {
            nothing.push(baseline);
            check.push(checked);
        }
    }
    let after = monitor.resident()?;
    monitor.stop()?;
    let say = |text: String| writeln!(std::io::stdout(), "{text}");
    let (base, whole) = (Quantiles::of(&mut nothing), Quantiles::of(&mut check));
    say(format!("{ROUNDS} rounds                       p50        p99"))?;
    say(format!("fork+exec of a static no-op    {:>8.2?}  {:>8.2?}", base.p50, base.p99))?;
    say(format!(
        "countersign check, whole       {:>8.2?}  {:>8.2?}   (targets {P50:?}, {P99:?})",
        whole.p50, whole.p99
    ))?;
    say(format!("ratio of the medians           {:>8.1}", whole.p50.as_secs_f64() / base.p50.as_secs_f64().max(1e-9)))?;
    say(format!("monitor resident, idle         {idle:>6} KiB (target {IDLE})"))?;
    say(format!("monitor resident, afterwards   {after:>6} KiB"))?;
    ensure!(whole.p50 <= P50 && whole.p99 <= P99, "countersign check misses its target");
    ensure!(idle <= IDLE, "the idle monitor misses its target");
    Ok(())
}

struct Quantiles {
    p50: Duration,
    p99: Duration,
}

impl Quantiles {
    fn of(times: &mut [Duration]) -> Self {
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        Self { p50: at(50), p99: at(99) }
    }
}

/// How long the program took from start to end; it must end well.
fn time(command: &mut Command) -> anyhow::Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status()?;
    let took = begun.elapsed();
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(took)
}

/// A monitor in throw-away folders.
struct Monitor {
    root: PathBuf,
}

impl Monitor {
    fn start(root: &Path) -> anyhow::Result<Self> {
        let program = Path::new(env!("CARGO_BIN_EXE_countersign"));
        for sibling in ["countersignd", "countersign-zygote"] {
            ensure!(
                program.with_file_name(sibling).is_file(),
                "{sibling} is missing: `cargo build --release --bins` first"
            );
        }
        for folder in ["config", "state", "run", "work"] {
            std::fs::DirBuilder::new().mode(0o700).create(root.join(folder))?;
        }
        std::fs::write(root.join("work/README.md"), "hello\n")?;
        std::fs::write(root.join("work/intent.json"), INTENT)?;
        // The user's own configuration, so that the rounds are not held up by the limit of 120 a minute.
        let deployment = "schema: countersign.deployment/v1\npolicy: policy.yaml\n";
        let policy = "schema: countersign.policy/v1\nlimits: {rate: {per_minute: 100000}}\n";
        std::fs::write(root.join("config/countersign.yaml"), deployment)?;
        std::fs::write(root.join("config/policy.yaml"), policy)?;
        let monitor = Self { root: root.to_owned() };
        let up = monitor.command(&["up"]).output()?;
        ensure!(up.status.success(), "`countersign up`: {}", String::from_utf8_lossy(&up.stderr));
        Ok(monitor)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(words).current_dir(self.root.join("work")).env_clear();
        for (variable, folder) in [("CONFIG", "config"), ("STATE", "state"), ("RUNTIME", "run")] {
            command.env(format!("COUNTERSIGN_{variable}_DIR"), self.root.join(folder));
        }
        command
    }

    /// Resident memory in KiB.
    fn resident(&self) -> anyhow::Result<u64> {
        let status = self.command(&["status", "--json"]).output()?;
        let status: Value = serde_json::from_slice(&status.stdout)?;
        let pid = status.get("pid").and_then(Value::as_u64).context("the monitor names no process")?;
        let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }

    fn stop(&self) -> anyhow::Result<()> {
        let status = self.command(&["down"]).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "`countersign down` ended with {status}");
        Ok(())
    }
}

/// A run that fails leaves no monitor behind.
impl Drop for Monitor {
    fn drop(&mut self) {
        drop(self.command(&["down"]).stdout(Stdio::null()).stderr(Stdio::null()).status());
    }
}
