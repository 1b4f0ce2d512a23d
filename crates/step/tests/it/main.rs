//! The real step binary in its real sandbox: spawned, attested, ordered, observed.
//!
//! Without the test harness, whose threads a spawner must not have. Every tool runs here under its system call list, so a call
//! that a tool needs and the list lacks ends the step with SIGSYS.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

use std::ffi::CString;
use std::fs;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use countersign_plan::canonical;
use countersign_plan::confinement::{Limits, Minimum, Owner, PathGrant, Profile, SandboxSpec};
use countersign_plan::digest::Digest;
use countersign_plan::egress::Egress;
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::permit::Phase;
use countersign_sandbox::{
    Exit, Grant, Identity, Layers, Limits as ProcessLimits, Network, Requirement, Spec, Stdio, StepSeal, Variant, View,
    spawn, system_folders,
};
use countersign_wire::egress::{Ask, Reply};
use countersign_wire::frame;
use countersign_wire::step::{FromStep, GO, Order, SnapshotOrder, ToStep, from_step};
use prost::Message as _;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use serde_json::{Value, json};

mod network;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() {
    let cases: [(&str, fn()); 11] = [
        ("built_in_tools_work_under_their_list", built_in_tools_work_under_their_list),
        ("a_database_is_read_and_changed_under_the_list", a_database_is_read_and_changed_under_the_list),
        ("a_snapshot_goes_and_comes_back_inside", a_snapshot_goes_and_comes_back_inside),
        ("programs_run_and_are_told_how_they_ended", programs_run_and_are_told_how_they_ended),
        ("git_works_in_a_repository", git_works_in_a_repository),
        ("a_deadline_leaves_nothing_of_the_tree", a_deadline_leaves_nothing_of_the_tree),
        ("the_broker_is_asked_from_inside", network::the_broker_is_asked_from_inside),
        ("what_nobody_knows_ends_without_an_observation", network::what_nobody_knows_ends_without_an_observation),
        ("probe_94_programs_reach_granted_hosts_only", network::probe_94_programs_reach_granted_hosts_only),
        ("an_mcp_server_runs_in_the_step", network::an_mcp_server_runs_in_the_step),
        ("an_order_for_another_seal_is_not_carried_out", an_order_for_another_seal_is_not_carried_out),
    ];
    let only = std::env::args().nth(1).filter(|word| !word.starts_with('-'));
    let mut passed = 0;
    for (name, case) in cases {
        if only.as_ref().is_none_or(|only| name.contains(only.as_str())) {
            case();
            passed += 1;
            println!("test {name} ... ok");
        }
    }
    println!("test result: ok. {passed} passed");
}

struct Work {
    _dir: tempfile::TempDir,
    work: PathBuf,
    store: PathBuf,
    /// The only thing that is granted, for reading.
    only: Option<PathBuf>,
    egress: Egress,
}

struct Ended {
    observation: Option<Observation>,
    output: Vec<u8>,
    exit: Exit,
}

impl Work {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (work, store) = (base.join("work"), base.join("store"));
        fs::create_dir(&work).unwrap();
        fs::create_dir(&store).unwrap();
        Self { _dir: dir, work, store, only: None, egress: Egress::default() }
    }

    fn path(&self, below: &str) -> String {
        self.work.join(below).to_str().unwrap().to_owned()
    }

    fn spec(&self, profile: Profile) -> SandboxSpec {
        let granted = |path: &Path| PathGrant { path: path.to_str().unwrap().to_owned(), identity: None };
        SandboxSpec {
            profile,
            read: self.only.iter().map(|path| granted(path)).collect(),
            write: if self.only.is_none() { vec![granted(&self.work), granted(&self.store)] } else { vec![] },
            run: vec![],
            links: vec![],
            read_only: vec![],
            masked: vec![],
            cwd: if self.only.is_none() { self.work.to_str().unwrap().to_owned() } else { "/".to_owned() },
            loopback: profile == Profile::Toolchain,
            owner: Owner { uid: 0, gid: 0 },
            limits: if profile == Profile::None { Limits::BUILTIN } else { Limits::PROGRAM },
            minimum: Minimum::Full,
            egress: self.egress.clone(),
        }
    }

    fn order(&self, profile: Profile, phase: Phase, tool: &str, args: Value) -> Order {
        let (step, tool) = ("s".parse().unwrap(), tool.parse().unwrap());
        Order { step, phase, tool, args, spec: self.spec(profile), facts: vec![], driver: None, snapshot: None }
    }

    /// What a tool returned.
    fn act(&self, profile: Profile, tool: &str, args: Value) -> Observation {
        let ended = self.run(&self.order(profile, Phase::Act, tool, args));
        assert_eq!(ended.exit, Exit::Code(0), "{tool}");
        ended.observation.expect("an observation")
    }

    fn returned(&self, profile: Profile, tool: &str, args: Value) -> Value {
        let seen = self.act(profile, tool, args);
        assert_eq!(seen.ending, Ending::Returned, "{tool}: {seen:?}");
        seen.output
    }

    fn run(&self, order: &Order) -> Ended {
        let seal = match order.spec.profile {
            Profile::None => StepSeal::Builtin,
            Profile::Exact => StepSeal::Program(Variant::Exact),
            Profile::Toolchain => StepSeal::Program(Variant::Toolchain),
        };
        self.run_sealed(order, seal, &mut |_| vec![])
    }

    fn run_sealed(&self, order: &Order, seal: StepSeal, broker: &mut dyn FnMut(Ask) -> Vec<Reply>) -> Ended {
        let programs = seal != StepSeal::Builtin;
        let mut view = View {
            read_only: order.spec.read.iter().map(|grant| Grant::of(&grant.path)).collect(),
            read_write: order.spec.write.iter().map(|grant| Grant::of(&grant.path)).collect(),
            cwd: order.spec.cwd.clone().into(),
            proc: programs,
            dev: programs,
            noexec_work: !programs,
            private_tmp_bytes: order.spec.limits.tmp_bytes,
            ..View::default()
        };
        if programs {
            (view.executable, view.read_only, view.links) = system_folders();
        }
        let limits = if programs { ProcessLimits::program() } else { ProcessLimits::builtin() };
        let (ours, theirs) = UnixStream::pair().unwrap();
        let step = env!("CARGO_BIN_EXE_countersign-step");
        let mut confined = spawn(Spec {
            executable: rustix::fs::open(step, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap(),
            arguments: vec![c"countersign-step".into(), CString::new(seal.argument()).unwrap()],
            stdio: Stdio::default(),
            control: theirs.into(),
            descriptors: vec![sealed(order)],
            view,
            limits,
            identity: Identity::own(),
            network: if order.spec.loopback { Network::Loopback } else { Network::None },
            requirement: Requirement::Full,
            deadline: PATIENCE,
            layers: Layers::all(),
        })
        .unwrap();
        confined.await_ready(ours.as_fd(), PATIENCE).unwrap();
        confined.attest().unwrap();
        let mut ours = ours;
        ours.write_all(&[GO]).unwrap();
        let (mut observation, mut output) = (None, Vec::new());
        while let Ok(said) = frame::read::<FromStep>(&mut ours, frame::FRAME_LIMIT) {
            match said.kind.unwrap() {
                from_step::Kind::Output(part) => output.extend(part.bytes),
                from_step::Kind::Ask(bytes) => {
                    for reply in broker(Ask::decode(bytes.as_slice()).unwrap()) {
                        // A step that has ended reads no more.
                        drop(frame::write(&mut ours, &ToStep { reply: reply.encode_to_vec() }));
                    }
                }
                from_step::Kind::Observed(seen) => {
                    observation = Some(serde_json::from_slice(&seen.observation).unwrap());
                }
            }
        }
        let exit = confined.wait(Some(PATIENCE)).unwrap().expect("the step ends");
        Ended { observation, output, exit }
    }
}

fn sealed(order: &Order) -> OwnedFd {
    let fd = rustix::fs::memfd_create("order", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    let mut file = fs::File::from(fd);
    file.write_all(&canonical::of(order).unwrap()).unwrap();
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)
        .unwrap();
    file.into()
}

fn built_in_tools_work_under_their_list() {
    let w = Work::new();
    let run = |tool: &str, args: Value| w.returned(Profile::None, tool, args);
    fs::write(w.work.join("a.txt"), "one\ntwo\n").unwrap();
    assert_eq!(run("read_file", json!({"path": w.path("a.txt")}))["content"], "one\ntwo\n");
    assert_eq!(run("write_file", json!({"path": w.path("a.txt"), "content": "three\n"}))["bytes"], 6);
    run("write_file", json!({"path": w.path("new.txt"), "content": "n"}));
    run("append_file", json!({"path": w.path("a.txt"), "content": "four\n"}));
    assert_eq!(fs::read_to_string(w.work.join("a.txt")).unwrap(), "three\nfour\n");
    run("create_directory", json!({"path": w.path("d/e")}));
    run("move_file", json!({"source": w.path("new.txt"), "destination": w.path("d/e/new.txt")}));
    run("copy_file", json!({"source": w.path("d"), "destination": w.path("f")}));
    let listed = run("list_directory", json!({"path": w.path("f/e")}));
    assert_eq!(listed["entries"], json!([{"name": "new.txt", "kind": "file", "size": 1}]));
    let found = run("search_files", json!({"path": w.path(""), "pattern": "^four$"}));
    assert_eq!(found["matches"][0]["line"], 2);
    run("delete_file", json!({"path": w.path("a.txt")}));
    assert_eq!(run("delete_directory", json!({"path": w.path("d")}))["deleted"], 3);
    run("memory_write", json!({"key": "k", "value": {"v": 1}}));
    assert_eq!(run("memory_read", json!({"key": "k"}))["value"], json!({"v": 1}));
    let outside = w.act(Profile::None, "read_file", json!({"path": "/etc/passwd"}));
    assert!(matches!(outside.ending, Ending::Violation { .. }), "{outside:?}");
    let mut order = w.order(Profile::None, Phase::Act, "write_file", json!({"path": w.path("fact"), "content": "x"}));
    order.facts = vec![w.path("fact"), w.path("none")];
    let facts = w.run(&order).observation.unwrap().files;
    assert_eq!(facts[&w.path("fact")].sha256, Some(Digest::of(b"x")));
    assert!(!facts[&w.path("none")].exists);
}

fn a_database_is_read_and_changed_under_the_list() {
    let w = Work::new();
    rusqlite::Connection::open(w.work.join("d.db")).unwrap().execute_batch("create table t (n)").unwrap();
    let run = |sql: &str| w.returned(Profile::None, "database_query", json!({"database": w.path("d.db"), "sql": sql}));
    assert_eq!(run("insert into t values (1), (2)")["count"], 2);
    assert_eq!(run("select sum(n) as s from t")["rows"], json!([{"s": 3}]));
    // Granted for reading by itself, closed, and in WAL mode: its index cannot be made beside it.
    rusqlite::Connection::open(w.work.join("d.db")).unwrap().pragma_update(None, "journal_mode", "WAL").unwrap();
    let mut w = w;
    w.only = Some(w.work.join("d.db"));
    let seen =
        w.returned(Profile::None, "database_query", json!({"database": w.path("d.db"), "sql": "select n from t"}));
    assert_eq!(seen["count"], 2);
}

fn a_snapshot_goes_and_comes_back_inside() {
    let w = Work::new();
    fs::create_dir(w.work.join("d")).unwrap();
    fs::write(w.work.join("d/a"), "before").unwrap();
    // A folder below the grant, and the grant itself, which is a mount point inside.
    for target in [w.path("d"), w.work.to_str().unwrap().to_owned()] {
        let profile = Profile::None;
        let kept = |index| SnapshotOrder {
            targets: vec![target.clone()],
            store: w.store.to_str().unwrap().to_owned(),
            limit: 1 << 20,
            index,
        };
        let phase = |phase, index| {
            let order = Order { snapshot: Some(kept(index)), ..w.order(profile, phase, "write_file", json!({})) };
            let seen = w.run(&order).observation.unwrap();
            assert_eq!(seen.ending, Ending::Returned, "{seen:?}");
            seen.output
        };
        let index: Digest = phase(Phase::Snapshot, None)["index"].as_str().unwrap().parse().unwrap();
        w.returned(Profile::None, "delete_directory", json!({"path": w.path("d")}));
        phase(Phase::Restore, Some(index));
        assert_eq!(fs::read(w.work.join("d/a")).unwrap(), b"before");
    }
}

fn programs_run_and_are_told_how_they_ended() {
    let w = Work::new();
    let order = w.order(
        Profile::Toolchain,
        Phase::Act,
        "run_program",
        json!({"argv": ["sh", "-c", "cat; echo $$ $PPID; id -u; touch made; exit 4"], "stdin": "in\n"}),
    );
    let ended = w.run(&order);
    let seen = ended.observation.unwrap();
    assert_eq!(seen.ending, Ending::Returned, "{seen:?}");
    assert_eq!(seen.output["exit_code"], 4, "{seen:?}");
    assert_eq!(seen.output["stdout"], "in\n2 1\n1000\n");
    assert_eq!(ended.output, b"in\n2 1\n1000\n");
    assert!(w.work.join("made").exists());
    let blocked = w.returned(
        Profile::Toolchain,
        "execute_command",
        json!({"command": "cat /root/.ssh/id_ed25519 /etc/shadow; ls /home"}),
    );
    assert_ne!(blocked["exit_code"], 0);
    let killed = w.act(Profile::Toolchain, "execute_command", json!({"command": "kill -9 $$"}));
    assert_eq!(killed.ending, Ending::Killed { signal: 9 });
}

fn git_works_in_a_repository() {
    let w = Work::new();
    let plain =
        |args: &[&str]| assert!(Command::new("git").args(args).current_dir(&w.work).status().unwrap().success());
    plain(&["init", "-q", "-b", "main"]);
    fs::write(w.work.join("a"), "1\n").unwrap();
    let git = |args: Value| {
        let seen = w.returned(Profile::Toolchain, "git", json!({"repo": w.path(""), "args": args}));
        assert_eq!(seen["exit_code"], 0, "{seen}");
        seen["stdout"].as_str().unwrap().to_owned()
    };
    git(json!(["add", "."]));
    git(json!(["commit", "-q", "-m", "first"]));
    assert_eq!(git(json!(["log", "--format=%an: %s"])), "Countersign: first\n");
    assert_eq!(git(json!(["status", "--short"])), "");
}

fn a_deadline_leaves_nothing_of_the_tree() {
    let w = Work::new();
    let marker = w.path("daemon");
    let line = format!("(setsid sh -c 'echo > started; sleep 1000; : {marker}' &) ; sleep 1000; : {marker}");
    // On a busy machine the daemon may not even have begun when a short time is up.
    for seconds in [1, 8, 64] {
        let seen = w.act(Profile::Toolchain, "execute_command", json!({"command": line, "timeout_s": seconds}));
        assert_eq!(seen.ending, Ending::TimedOut);
        assert_eq!(alive(&marker), Vec::<String>::new());
        if w.work.join("started").exists() {
            return;
        }
    }
    panic!("the daemon never began");
}

/// Processes of the whole machine whose command line contains a marker.
fn alive(marker: &str) -> Vec<String> {
    let line =
        |path: PathBuf| String::from_utf8_lossy(&fs::read(path.join("cmdline")).unwrap_or_default()).into_owned();
    let lines = fs::read_dir("/proc").unwrap().map(|entry| line(entry.unwrap().path()));
    lines.filter(|line| line.contains(marker)).collect()
}

fn an_order_for_another_seal_is_not_carried_out() {
    let w = Work::new();
    let order = w.order(Profile::Toolchain, Phase::Act, "run_program", json!({"argv": ["touch", "made"]}));
    let ended = w.run_sealed(&order, StepSeal::Builtin, &mut |_| vec![]);
    assert_eq!((ended.exit, ended.observation), (Exit::Code(1), None));
    assert!(!w.work.join("made").exists());
}
