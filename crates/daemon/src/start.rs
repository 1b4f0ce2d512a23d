//! The start: every part in the order in which it may know of the others.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use countersign_gate::clock::Moment;
use countersign_gate::configuration::{Places, Settings};
use countersign_gate::event::Event;
use countersign_gate::gate::Gate;
use countersign_gate::key::GateKey;
use countersign_ledger::checkpoint::KeyName;
use countersign_ledger::ledger::OpenError;
use countersign_ledger::reader::{Payload, Record};
use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::sqlite::SqliteStore;
use countersign_ledger::{Ledger, Query, RecordKind};
use countersign_plan::time::Span;
use countersign_policy::deployment::ApprovalMode;
use countersign_wire::zygote::to_zygote::Boot;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::clock::Clock;
use crate::configure::Configurations;
use crate::folders::{Folders, private_folder};
use crate::inspector::Inspectors;
use crate::monitor::{Brokerage, Command, Evaluations, Monitor, State, erased_before, remove_snapshots};
use crate::past::{Past, Told};
use crate::toolchain::Access;
use crate::{keys, sockets, zygote};

const USAGE: &str = "usage: countersignd --state DIR --runtime DIR --config DIR [--four-eyes] [--environment]
    the monitor of Countersign; `countersign up` starts it with the right folders";

/// The folder of the memory tools, in the state folder.
const MEMORY: &str = "memory";

/// The folder of the snapshots, in the state folder; one folder a case.
pub(crate) const SNAPSHOTS: &str = "snapshots";

/// How long a monitor that is ending may keep its state folder.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The command line.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    folders: Folders,
    approval: ApprovalMode,
    /// Whether descriptor 0 holds the variables that the broker's configuration names.
    environment: bool,
}

impl Arguments {
    /// Reads the command line.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut state, mut runtime, mut config) = (None, None, None);
        let (mut approval, mut environment) = (ApprovalMode::Inline, false);
        let mut words = words;
        while let Some(word) = words.next() {
            let place = match word.as_str() {
                "--state" => &mut state,
                "--runtime" => &mut runtime,
                "--config" => &mut config,
                "--four-eyes" => {
                    approval = ApprovalMode::FourEyes;
                    continue;
                }
                "--environment" => {
                    environment = true;
                    continue;
                }
                _ => return Err(USAGE.to_owned()),
            };
            let folder = words.next().map(PathBuf::from).filter(|path| path.is_absolute());
            *place = Some(folder.ok_or_else(|| format!("{word} takes an absolute path\n{USAGE}"))?);
        }
        match (state, runtime, config) {
            (Some(state), Some(runtime), Some(config)) => {
                Ok(Self { folders: Folders { state, runtime, config }, approval, environment })
            }
            _ => Err(USAGE.to_owned()),
        }
    }
}

/// Runs the monitor until it is told to end.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let text = |what: &'static str| move |e: std::io::Error| format!("{what}: {e}");
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // A session of its own; it fails only for a process that leads one already.
    let _ = rustix::process::setsid();
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(|e| format!("cannot become non-dumpable: {e}"))?;
    let environment = if arguments.environment { Some(environment().map_err(text("descriptor 0"))?) } else { None };
    let own = std::env::current_exe().map_err(text("own program"))?;
    let program = own.with_file_name("countersign-zygote");
    let (channel, _zygote) = zygote::start(&program)
        .map_err(|e| format!("{}: {e}; it is installed beside countersignd", program.display()))?;

    let folders = canonical(&arguments.folders)?;
    let Some(_lock) = lock(&folders)? else {
        crate::log("another monitor answers already; this one leaves the place to it");
        return Ok(());
    };
    let clock = Clock::start();
    let (mut secret, ledger) = open_ledger(&folders.state)?;
    let key = GateKey::from_bytes(&mut secret).map_err(|e| e.to_string())?;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(512 << 10)
        .enable_all()
        .build()
        .map_err(text("async runtime"))?;
    let (monitor, commands) = Monitor::channel();
    let ended = monitor.clone();
    let zygote = zygote::Zygote::attach(channel, move || ended.zygote_ended()).map_err(text("zygote"))?;
    let mut configurations = Configurations::new(&folders)?;
    trusted_before(&ledger, &mut configurations)?;
    // A step that keeps the state before looks at the folder, and where there is none at the one above, which no step may see.
    // Once there it may belong to the user for whom steps act.
    if !folders.state.join(MEMORY).exists() {
        private_folder(&folders.state.join(MEMORY)).map_err(text("memory"))?;
    }
    let places = places(&folders, &configurations);
    let settings = Settings::new(arguments.approval, places);
    let moment = Moment { wall: clock.wall(), monotonic: Span::from_millis(clock.monotonic_ms()) };
    let machine = serde_json::json!({"version": env!("CARGO_PKG_VERSION"), "kernel": kernel()});
    let mut reader = ledger.reader().map_err(|e| e.to_string())?;
    let mut broken = None;
    let (mut past, mut evaluations) = (Past::default(), Evaluations::default());
    let gone = erased_before(&mut reader)?;
    gone.iter().for_each(|case| remove_snapshots(&folders.state, case));
    past.without(gone);
    let history = reader.records(Query::default()).map_while(|record| record.map_err(|e| broken = Some(e)).ok());
    let history = history.inspect(|Record { leaf, payload }| {
        let payload = match payload {
            Payload::Open(payload) => Some(payload),
            Payload::Sealed | Payload::Erased | Payload::Damaged => None,
        };
        let told = Told { kind: leaf.kind, case: leaf.case.as_ref(), at: leaf.at, payload };
        if let Some(principal) = past.evaluated(&told) {
            evaluations.budget.asked(&principal, leaf.at);
        }
        past.take(told, &mut |origin| configurations.for_origin(origin).ok().map(|(found, _)| found));
    });
    let (gate, transition) = Gate::boot(settings, key, history, moment, machine).map_err(|e| e.to_string())?;
    past.without(Default::default());
    if let Some(e) = broken {
        return Err(format!("the ledger cannot be read: {e}"));
    }
    let boot = Boot {
        gate_key: gate.public_key().to_bytes().to_vec(),
        epoch: gate.epoch(),
        own: configurations.own_folders(),
        signature: Vec::new(),
    };
    let capabilities = zygote.boot(boot).map_err(text("zygote"))?;
    let without_namespaces = configurations.takes_no_namespaces();
    let inspectors = Inspectors::start(zygote.clone(), monitor.clone(), &folders.config, without_namespaces)?;
    let (propose, operate) = {
        let _inside = runtime.enter();
        sockets::bind(&folders.runtime).map_err(|e| format!("{}: {e}", folders.runtime.display()))?
    };
    let brokerage = Brokerage::new(&own.with_file_name("countersign-broker"), environment, &ledger)
        .map_err(|e| format!("no random bytes: {e}"))?;
    let mut state = State {
        gate,
        ledger,
        zygote,
        monitor: monitor.clone(),
        clock,
        runtime: runtime.handle().clone(),
        configurations,
        folders,
        capabilities: serde_json::from_slice(&capabilities).unwrap_or_default(),
        without_namespaces,
        runs: Default::default(),
        watchers: Default::default(),
        rates: Default::default(),
        past,
        evaluations,
        plans: Default::default(),
        inspectors,
        inspected: Default::default(),
        answers: Default::default(),
        brokerage,
        rotating: None,
        failed: false,
    };
    // The start itself is recorded before anybody is answered.
    state.first(transition)?;
    if state.is_broker_configured() {
        state.keep_spare();
    }
    runtime.spawn(sockets::serve_propose(propose, monitor.clone()));
    runtime.spawn(sockets::serve_operator(operate, monitor.clone()));
    runtime.spawn(signals(monitor));
    serve(state, &commands);
    Ok(())
}

/// The variables for the broker, off descriptor 0, where no child would look for them.
fn environment() -> std::io::Result<OwnedFd> {
    let kept = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(nothing)?;
    Ok(kept)
}

fn serve(mut state: State, commands: &Receiver<Command>) {
    state.serve(commands);
    state.end_all_children();
    state.end_all_planners();
    state.brokerage.end();
    if let Err(e) = state.ledger.close() {
        crate::log(&format!("the ledger did not close cleanly: {e}"));
    }
    // Last: who waits for the end looks at these.
    for socket in [sockets::LAST, sockets::FIRST] {
        drop(std::fs::remove_file(state.folders.runtime.join(socket)));
    }
}

/// The configuration files that approvers trusted, from the ledger.
fn trusted_before(ledger: &Ledger, configurations: &mut Configurations) -> Result<(), String> {
    let mut reader = ledger.reader().map_err(|e| e.to_string())?;
    let query = Query { kinds: vec![RecordKind::TrustGranted], ..Query::default() };
    for record in reader.records(query) {
        let record = record.map_err(|e| e.to_string())?;
        let Payload::Open(payload) = &record.payload else { continue };
        let text = |name: &str| payload.get(name).and_then(serde_json::Value::as_str);
        if let (Some(path), Some(Ok(digest))) = (text("path"), text("digest").map(str::parse)) {
            configurations.trust(path, digest);
        }
    }
    Ok(())
}

async fn signals(monitor: Monitor) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return;
    };
    tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
    monitor.send(Command::Shutdown);
}

/// Makes the folders and names them without links, as the kernel will.
fn canonical(folders: &Folders) -> Result<Folders, String> {
    let make = |path: &Path| -> Result<PathBuf, String> {
        private_folder(path).map_err(|e| format!("{}: {e}", path.display()))?;
        path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))
    };
    Ok(Folders { state: make(&folders.state)?, runtime: make(&folders.runtime)?, config: make(&folders.config)? })
}

/// One monitor for one state folder. `None` where another one answers already: two clients started one each. One that is on its
/// way out is waited for.
fn lock(folders: &Folders) -> Result<Option<File>, String> {
    let path = folders.state.join("lock");
    let place = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(place)?;
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(e) => return Err(place(e.into())),
        }
        if std::os::unix::net::UnixStream::connect(folders.runtime.join(sockets::LAST)).is_ok() {
            return Ok(None);
        }
        if begun.elapsed() > LOCK_PATIENCE {
            return Err(format!("{}: another monitor runs on this state folder, with other sockets", path.display()));
        }
        std::thread::sleep(LOCK_PAUSE);
    }
}

/// Opens the ledger with the gate's key, or with the next one if a rotation was cut off after the ledger believed it.
fn open_ledger(state: &Path) -> Result<(keys::Secret, Ledger), String> {
    let database = state.join("ledger.db");
    // A ledger without its keys is not continued by new ones.
    let fresh = !database.exists();
    let gate = state.join(keys::GATE);
    let next = state.join(keys::NEXT);
    let secret = keys::load(&gate, fresh).map_err(|e| e.to_string())?;
    match open_with(state, &database, &secret, fresh) {
        Ok(ledger) => Ok((secret, ledger)),
        Err(first) if next.exists() => {
            let secret = keys::load(&next, false).map_err(|e| e.to_string())?;
            let ledger = open_with(state, &database, &secret, fresh).map_err(|_| first)?;
            keys::store(&gate, &secret).map_err(|e| e.to_string())?;
            drop(std::fs::remove_file(&next));
            Ok((secret, ledger))
        }
        Err(e) => Err(e),
    }
}

fn open_with(state: &Path, database: &Path, secret: &keys::Secret, fresh: bool) -> Result<Ledger, String> {
    let master = MasterKey::from_bytes(&mut *keys::load(&state.join(keys::MASTER), fresh).map_err(|e| e.to_string())?);
    let key = GateKey::from_bytes(&mut secret.clone()).map_err(|e| e.to_string())?;
    let name: KeyName = KEY_NAME.parse().map_err(|e| format!("{e}"))?;
    let store = SqliteStore::open(database).map_err(|e| format!("{}: {e}", database.display()))?;
    let opened = Ledger::open(Box::new(store), Box::new(key.checkpoint_signer(name)), master, &state.join("head"));
    opened.map_err(|e: OpenError| format!("{}: {e}", database.display()))
}

/// The name of the gate's key in signed heads.
pub(crate) const KEY_NAME: &str = "countersign";

fn places(folders: &Folders, configurations: &Configurations) -> Places {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let toolchain = configurations.toolchain();
    Places {
        system: toolchain.system(Access::Run),
        readable: toolchain.system(Access::Read),
        toolchains: toolchain.of_user(Access::Run),
        hidden: toolchain.of_user(Access::Hide),
        own: configurations.own_folders(),
        memory: text(folders.state.join(MEMORY)),
        snapshots: text(folders.state.join(SNAPSHOTS)),
        snapshot_limit: crate::facts::SNAPSHOT_LIMIT,
    }
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

impl State {
    fn first(&mut self, transition: countersign_gate::transition::Transition) -> Result<(), String> {
        self.remember(&transition);
        let directives = match transition.ready() {
            Ok(directives) => directives,
            Err(transition) => {
                let (entries, withheld) = transition.into_parts();
                let proof =
                    self.ledger.append(entries).wait().map_err(|e| format!("the start cannot be recorded: {e}"))?;
                withheld.release(&proof).map_err(|e| e.to_string())?
            }
        };
        self.directives(directives, crate::monitor::Answer::Nobody);
        self.event(Event::Tick, crate::monitor::Answer::Nobody);
        Ok(())
    }
}
