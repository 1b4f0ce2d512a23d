//! A step without its sandbox: the same tools on a temporary folder, programs without a filter.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use countersign_plan::access::FileIdentity;
use countersign_plan::confinement::{Limits, Minimum, Owner, PathGrant, Profile, SandboxSpec};
use countersign_plan::permit::Phase;
use countersign_plan::tool::Driver;
use countersign_sandbox::{Layers, ProgramSeal, Variant};
use countersign_wire::egress::{Ask, Reply, reply};
use countersign_wire::frame;
use countersign_wire::step::{FromStep, Order, ToStep, from_step};
use prost::Message as _;
use serde_json::Value;

use crate::channel::Channel;
use crate::failure::Failure;
use crate::program::Launcher;
use crate::roots::Roots;
use crate::tools::{self, Seen};
use crate::watcher::Watcher;

/// A work folder and the spec of a step in it.
pub(crate) struct Scene {
    _dir: tempfile::TempDir,
    pub(crate) work: PathBuf,
    /// Beside the work folder, and not granted.
    pub(crate) outside: PathBuf,
    pub(crate) spec: SandboxSpec,
}

/// An init reaps whatever ends, so only one may live in a process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scene {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (work, outside) = (base.join("work"), base.join("outside"));
        for folder in [&work, &outside] {
            std::fs::create_dir(folder).unwrap();
        }
        let spec = SandboxSpec {
            profile: Profile::Toolchain,
            read: vec![],
            write: vec![grant(&work)],
            run: vec![],
            links: vec![],
            read_only: vec![],
            masked: vec![],
            cwd: work.to_str().unwrap().to_owned(),
            loopback: false,
            owner: Owner { uid: 0, gid: 0 },
            limits: Limits::PROGRAM,
            minimum: Minimum::Full,
            egress: Default::default(),
        };
        Self { _dir: dir, work, outside, spec }
    }

    pub(crate) fn path(&self, below: &str) -> String {
        self.work.join(below).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.work.join(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        self.path(below)
    }

    pub(crate) fn content(&self, below: &str) -> String {
        String::from_utf8(std::fs::read(self.work.join(below)).unwrap()).unwrap()
    }

    pub(crate) fn run(&self, tool: &str, args: Value) -> Result<Seen, Failure> {
        self.watched(tool, args, &mut Heard::default())
    }

    pub(crate) fn watched(&self, tool: &str, args: Value, heard: &mut Heard) -> Result<Seen, Failure> {
        self.ordered(&self.order(tool, args, None), heard)
    }

    /// The order of a step in this scene.
    pub(crate) fn order(&self, tool: &str, args: Value, driver: Option<Driver>) -> Order {
        let (step, tool, spec) = ("s".parse().unwrap(), tool.parse().unwrap(), self.spec.clone());
        Order { step, phase: Phase::Act, tool, args, spec, facts: vec![], driver, snapshot: None }
    }

    /// Carries an order out for whoever watches.
    pub(crate) fn ordered(&self, order: &Order, watcher: &mut dyn Watcher) -> Result<Seen, Failure> {
        let launcher = Launcher::new(ProgramSeal::prepare(Variant::Toolchain).unwrap(), Layers::none());
        tools::run(&Roots::new(&order.spec), order, Some(&launcher), watcher)
    }

    pub(crate) fn refused(&self, tool: &str, args: Value) -> String {
        match self.run(tool, args) {
            Err(Failure::Failed(message) | Failure::Violation(message) | Failure::Unknown(message)) => message,
            Ok(seen) => panic!("{tool} returned {}", seen.output),
        }
    }
}

/// A grant by identity, as the gate makes it.
pub(crate) fn grant(path: &Path) -> PathGrant {
    use std::os::unix::fs::MetadataExt as _;
    let meta = path.symlink_metadata().unwrap();
    let identity = FileIdentity { device: meta.dev(), inode: meta.ino(), directory: meta.is_dir() };
    PathGrant { path: path.to_str().unwrap().to_owned(), identity: Some(identity) }
}

/// What was shown while a program ran.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) output: Vec<u8>,
    pub(crate) error: Vec<u8>,
}

impl Watcher for Heard {
    fn output(&mut self, error: bool, bytes: &[u8]) {
        if error { &mut self.error } else { &mut self.output }.extend_from_slice(bytes);
    }
}

/// A monitor with a broker behind it, at the other end of a step's channel.
pub(crate) struct Fake {
    pub(crate) channel: Channel,
    thread: JoinHandle<Told>,
}

/// What a step said.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) asks: Vec<Ask>,
    pub(crate) output: Vec<u8>,
    pub(crate) observed: usize,
}

impl Fake {
    /// Answers each ask with what `answer` says.
    pub(crate) fn new(mut answer: impl FnMut(&Ask) -> Vec<Reply> + Send + 'static) -> Self {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || {
            let mut told = Told::default();
            while let Ok(said) = frame::read::<FromStep>(&mut theirs, frame::FRAME_LIMIT) {
                match said.kind.unwrap() {
                    from_step::Kind::Output(output) => told.output.extend(output.bytes),
                    from_step::Kind::Observed(_) => told.observed += 1,
                    from_step::Kind::Ask(bytes) => {
                        let ask = Ask::decode(bytes.as_slice()).unwrap();
                        for reply in answer(&ask) {
                            // A step that has ended reads no more.
                            drop(frame::write(&mut theirs, &ToStep { reply: reply.encode_to_vec() }));
                        }
                        told.asks.push(ask);
                    }
                }
            }
            told
        });
        Self { channel: Channel::new(ours), thread }
    }

    /// Answers every ask in the same way.
    pub(crate) fn always(kind: reply::Kind) -> Self {
        Self::new(move |ask| vec![Reply { id: ask.id, kind: Some(kind.clone()) }])
    }

    /// What was said, once the step's end is closed.
    pub(crate) fn told(self) -> Told {
        drop(self.channel);
        self.thread.join().unwrap()
    }
}

/// A refusal.
pub(crate) fn refused(violation: bool, indeterminate: bool) -> reply::Kind {
    reply::Kind::Refused(reply::Refused { violation, indeterminate, message: "no".to_owned() })
}
