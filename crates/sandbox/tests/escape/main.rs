//! The escape battery as a test: what `cargo run -p countersign-sandbox --example escape` prints as a table, held to.
//!
//! Each battery runs with the columns "outside" and "all layers"; as root also as an ordinary user. A machine on which
//! few probes are valid would prove little, so the number of valid probes has a floor. There is no test harness around
//! this: the program is itself the one that is sealed, which must have one thread.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

#[path = "../../examples/escape/battery/mod.rs"]
mod battery;

/// The name of a test, and whether what it tests holds.
type Test = (&'static str, fn() -> Result<bool>);

/// What is tested.
const TESTS: [Test; 2] = [
    ("every_planner_probe_is_stopped", every_planner_probe_is_stopped),
    ("every_step_probe_is_stopped", every_step_probe_is_stopped),
];
/// Who the ordinary user is.
const USER: u32 = 65_533;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Request::of(&arguments) {
        Request::Part => battery::run(&arguments),
        Request::List => {
            TESTS.iter().for_each(|(name, _)| say(&format!("{name}: test\n")));
            ExitCode::SUCCESS
        }
        Request::Run(tests) => {
            let held = tests.into_iter().fold(true, |held, (name, test)| {
                let this = test().unwrap_or_else(|error| {
                    say(&format!("{error:#}\n"));
                    false
                });
                say(&format!("test {name} ... {}\n", if this { "ok" } else { "FAILED" }));
                held & this
            });
            if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

/// A planner, attacked from inside.
fn every_planner_probe_is_stopped() -> Result<bool> {
    let planner = Battery { name: "planner", spares: false, root: 150, user: 110 };
    batteries(&[planner, Battery { spares: true, root: 100, user: 80, ..planner }])
}

/// A program of a step, attacked from inside, under both profiles.
fn every_step_probe_is_stopped() -> Result<bool> {
    let exact = Battery { name: "step-exact", spares: false, root: 170, user: 120 };
    let toolchain = Battery { name: "step-toolchain", ..exact };
    batteries(&[exact, toolchain, Battery { spares: true, root: 120, user: 90, ..toolchain }])
}

/// A battery, with the least number of probes that must be valid for root and for an ordinary user, for whom what needs
/// privilege outside proves nothing.
#[derive(Clone, Copy)]
struct Battery {
    name: &'static str,
    /// Whether the spawner makes namespaces in advance, as the zygote does.
    spares: bool,
    root: usize,
    user: usize,
}

/// What the command line asks for.
enum Request {
    /// To be the program that attacks, or the harness of one battery.
    Part,
    /// The names of the tests.
    List,
    /// These tests.
    Run(Vec<Test>),
}

impl Request {
    /// As the usual test programs read it: words are parts of names, `--skip` leaves out, `--ignored` asks for none of these.
    fn of(arguments: &[String]) -> Self {
        let own = [
            "--table",
            "--harness",
            "--victim",
            "--nothing",
            "--say",
            "--say-root",
            "--outside",
            "--planner",
            "--spawner",
        ];
        let first = arguments.first().map_or("", String::as_str);
        if own.contains(&first) || first.starts_with("--step-") {
            return Self::Part;
        }
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        if has("--list") {
            return Self::List;
        }
        let (mut filters, mut skips) = (Vec::new(), Vec::new());
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--skip" => skips.extend(words.next()),
                "--test-threads" | "--color" | "--format" | "--logfile" | "-Z" => drop(words.next()),
                flag if flag.starts_with('-') => {}
                _ => filters.push(word),
            }
        }
        let wanted = |name: &str| {
            !has("--ignored")
                && (filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str())))
                && !skips.iter().any(|skip| name.contains(skip.as_str()))
        };
        Self::Run(TESTS.into_iter().filter(|(name, _)| wanted(name)).collect())
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Runs batteries as who runs this, and if that is root also as an ordinary user.
fn batteries(batteries: &[Battery]) -> Result<bool> {
    let root = std::fs::metadata("/proc/self").context("who runs this")?.uid() == 0;
    let program = std::env::current_exe().context("find this program")?;
    let mut held = true;
    for battery in batteries {
        say(if root { "as root: " } else { "as an ordinary user: " });
        let floor = if root { battery.root } else { battery.user };
        held &= passes(Command::new(&program).args(arguments(battery, floor)))?;
    }
    if !root {
        say("not root, so the run as root was skipped: the probes that need privilege outside prove nothing here\n");
        return Ok(held);
    }
    let folder = tempfile::tempdir().context("a folder for the copy")?;
    Ok(held & from_a_copy(&program, folder.path(), batteries)?)
}

fn arguments(battery: &Battery, floor: usize) -> Vec<String> {
    let floor = floor.to_string();
    let words = ["--table", battery.name, "--quick", "--summary", "--floor", &floor];
    words.into_iter().chain(battery.spares.then_some("--spares")).map(str::to_owned).collect()
}

fn passes(command: &mut Command) -> Result<bool> {
    Ok(command.status().context("start a battery")?.success())
}

/// An ordinary user may not be able to reach this program, so a copy lies where everybody may run it.
fn from_a_copy(program: &Path, folder: &Path, batteries: &[Battery]) -> Result<bool> {
    let open = || std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, open())?;
    let copy = folder.join("escape");
    std::fs::copy(program, &copy).context("copy this program")?;
    std::fs::set_permissions(&copy, open())?;
    let mut held = true;
    for battery in batteries {
        say("as an ordinary user: ");
        held &=
            passes(Command::new(&copy).args(arguments(battery, battery.user)).uid(USER).gid(USER).current_dir("/"))?;
    }
    Ok(held)
}
