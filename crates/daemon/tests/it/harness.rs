//! A monitor in a throwaway folder, and a client of its sockets.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use countersign_ledger::VerifyingKeyInfo;
use countersign_plan::approval::{Answer, Approval, Approver, ApproverRecord, Trust};
use countersign_plan::digest::Digest;
use countersign_plan::id::Principal;
use countersign_plan::key::PublicKey;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Verdict;
use countersign_wire::operator;
use countersign_wire::propose::{self, CaseEvent, CaseView};
use countersign_wire::{frame, propose::from_monitor, propose::to_monitor};
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use serde_json::{Value, json};

/// How long anything may take on a machine that does much else. Nothing waits so long unless it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// What stands beside `countersignd`.
const PROGRAMS: [&str; 6] = [
    "countersign-zygote",
    "countersign-executor",
    "countersign-step",
    "countersign-planner",
    "countersign-inspector",
    "countersign-broker",
];

/// A monitor in a folder of its own, with a workspace beside its state.
pub(crate) struct Monitor {
    folder: tempfile::TempDir,
    child: Option<Child>,
    pub(crate) approver: SigningKey,
    mounted: bool,
    /// A folder with programs, some of them others than the real ones.
    programs: Option<tempfile::TempDir>,
}

impl Monitor {
    /// Folders, and a monitor that answers.
    pub(crate) fn start() -> Self {
        let mut monitor = Self::prepared();
        monitor.up().expect("the monitor starts");
        monitor
    }

    /// The same with the state on a disk of so many kilobytes of its own. `None` where only root could make one.
    pub(crate) fn start_on_small_disk(kilobytes: u32) -> Option<Self> {
        let mut monitor = Self::prepared();
        let state = monitor.path("state");
        std::fs::create_dir(&state).unwrap();
        let size = format!("size={kilobytes}k,mode=700");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&state).output().ok()?;
        if !mount.status.success() {
            return None;
        }
        monitor.mounted = true;
        monitor.up().expect("the monitor starts");
        Some(monitor)
    }

    /// A monitor with this deployment and these rules of its user.
    pub(crate) fn start_with_configuration(deployment: &str, rules: &str) -> Self {
        let mut monitor = Self::prepared();
        monitor.configure(deployment, rules);
        monitor.up().expect("the monitor starts");
        monitor
    }

    /// Writes the user's deployment and rules.
    pub(crate) fn configure(&self, deployment: &str, rules: &str) {
        std::fs::write(self.path("config/countersign.yaml"), deployment).unwrap();
        std::fs::write(self.path("config/rules.yaml"), rules).unwrap();
    }

    /// A monitor whose broker has this configuration; `{folder}` in it is the throwaway folder.
    pub(crate) fn start_with_broker(configuration: &str) -> Self {
        let mut monitor = Self::prepared();
        monitor.configure_broker(configuration);
        monitor.up().expect("the monitor starts");
        monitor
    }

    /// A monitor beside which another program stands in for one of the real ones.
    pub(crate) fn start_with_program(name: &str, program: &Path, configuration: &str) -> Self {
        let mut monitor = Self::prepared();
        monitor.configure_broker(configuration);
        monitor.replace_program(name, program);
        monitor.up().expect("the monitor starts");
        monitor
    }

    /// A monitor that wants a classifier, whose encoder's two files hold these bytes, and beside which another program may stand
    /// in for the real inspector.
    pub(crate) fn start_with_classifier(encoder: &[u8], inspector: Option<&Path>) -> Self {
        let mut monitor = Self::prepared();
        monitor.configure_broker("schema: countersign.broker/v1\n");
        let folder = monitor.path("encoder");
        std::fs::create_dir(&folder).unwrap();
        for file in ["model.safetensors", "vocab.txt"] {
            std::fs::write(folder.join(file), encoder).unwrap();
        }
        let wanted = format!("schema: countersign.classifier/v1\nencoder: {}\n", folder.display());
        std::fs::write(monitor.path("config/classifier.yaml"), wanted).unwrap();
        if let Some(program) = inspector {
            monitor.replace_program("countersign-inspector", program);
        }
        monitor.up().expect("the monitor starts");
        monitor
    }

    fn replace_program(&mut self, name: &str, program: &Path) {
        let real = PathBuf::from(env!("CARGO_BIN_EXE_countersignd"));
        let folder = real.parent().unwrap();
        // Beside the real ones, so that links will do.
        let programs = tempfile::tempdir_in(folder).unwrap();
        for sibling in PROGRAMS.iter().chain(&["countersignd"]) {
            let from = if *sibling == name { program.to_owned() } else { folder.join(sibling) };
            std::fs::hard_link(from, programs.path().join(sibling)).unwrap();
        }
        self.programs = Some(programs);
    }

    /// Writes the broker's configuration.
    pub(crate) fn configure_broker(&self, configuration: &str) {
        let config = self.path("config");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::set_permissions(&config, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let configuration =
            configuration.replace("{folder}", self.folder.path().canonicalize().unwrap().to_str().unwrap());
        std::fs::write(config.join("broker.yaml"), configuration).unwrap();
    }

    /// Gives a goal; the case that was opened for it, or why none was.
    pub(crate) fn pursue(&self, goal: &str) -> Result<String, String> {
        let pursue = to_monitor::Pursue {
            goal: goal.to_owned(),
            cwd: self.path("work").to_str().unwrap().to_owned(),
            ..Default::default()
        };
        match self.ask(to_monitor::Kind::Pursue(pursue)) {
            from_monitor::Kind::Pursued(pursued) => Ok(pursued.case),
            from_monitor::Kind::Error(error) => Err(format!("{}: {}", error.code, error.message)),
            other => panic!("{other:?}"),
        }
    }

    /// The process ids of this monitor's children of that name.
    pub(crate) fn processes(&self, name: &str) -> Vec<u32> {
        let monitor = self.child.as_ref().expect("a monitor runs").id();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let Ok(line) = std::fs::read_to_string(entry.path().join("cmdline")) else { continue };
            let parent = |pid| stat(pid).map(|(parent, _)| parent);
            let ours = parent(pid) == Some(monitor) || parent(pid).and_then(parent) == Some(monitor);
            if ours && line.trim_end_matches('\0').rsplit('/').next() == Some(name) {
                found.push(pid);
            }
        }
        found
    }

    fn prepared() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        // What asks people here does so by rule, whatever else is understood of it.
        let config = folder.path().join("config");
        std::fs::create_dir(&config).unwrap();
        std::fs::set_permissions(&config, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::write(config.join("countersign.yaml"), "schema: countersign.deployment/v1\npolicy: rules.yaml\n")
            .unwrap();
        let rules =
            "schema: countersign.policy/v1\nverify:\n  - {name: people, action_types: [run_program, send_message]}\n";
        std::fs::write(config.join("rules.yaml"), rules).unwrap();
        Self { folder, child: None, approver: SigningKey::from_bytes(&[7; 32]), mounted: false, programs: None }
    }

    /// Starts the monitor; what it said where it ends instead.
    pub(crate) fn up(&mut self) -> Result<(), String> {
        let program = match &self.programs {
            Some(programs) => programs.path().join("countersignd"),
            None => PathBuf::from(env!("CARGO_BIN_EXE_countersignd")),
        };
        for sibling in PROGRAMS {
            let path = program.with_file_name(sibling);
            assert!(path.exists(), "{} is missing: run `cargo build --bins` first", path.display());
        }
        let log = std::fs::File::options().create(true).append(true).open(self.path("log")).unwrap();
        let child = Command::new(program)
            .env_clear()
            .args(["--state", self.path("state").to_str().unwrap()])
            .args(["--runtime", self.path("run").to_str().unwrap()])
            .args(["--config", self.path("config").to_str().unwrap()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.as_mut().unwrap().try_wait().unwrap() {
                return Err(format!("{status}: {}", self.log()));
            }
            if ["run/operator.sock", "run/propose.sock"].iter().all(|it| UnixStream::connect(self.path(it)).is_ok()) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("no answer within {} s: {}", PATIENCE.as_secs(), self.log()))
    }

    /// What the monitor logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// The processes that hang below this monitor, with what tells each of them from a later one of the same number.
    pub(crate) fn below(&self) -> Vec<(u32, u64)> {
        let monitor = self.child.as_ref().expect("a monitor runs").id();
        let mut all = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
            all.extend(pid.and_then(|pid| stat(pid).map(|(parent, begun)| (pid, parent, begun))));
        }
        let mut found = vec![(monitor, 0)];
        let mut next = 0;
        while let Some((parent, _)) = found.get(next).copied() {
            found.extend(all.iter().filter(|(_, of, _)| *of == parent).map(|(pid, _, begun)| (*pid, *begun)));
            next += 1;
        }
        found.split_off(1)
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("a monitor runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Ends the monitor as an operator does.
    pub(crate) fn down(&mut self) {
        self.operate(operator::to_monitor::Kind::Shutdown(operator::to_monitor::Shutdown {})).unwrap();
        self.child.take().expect("a monitor runs").wait().unwrap();
    }

    /// A path below the throwaway folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file of the workspace.
    pub(crate) fn file(&self, name: &str, content: &str) {
        let path = self.path("work").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// The content of a file of the workspace, if it is there.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path("work").join(name)).ok()
    }

    /// A connection to a socket of the monitor.
    pub(crate) fn connect(&self, socket: &str) -> UnixStream {
        let stream = UnixStream::connect(self.path("run").join(socket)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Submits a plan.
    pub(crate) fn submit(&self, plan: &Value) -> Result<Verdict, String> {
        self.propose(plan, false)
    }

    /// Submits a plan that is only judged.
    pub(crate) fn check(&self, plan: &Value) -> Result<Verdict, String> {
        self.propose(plan, true)
    }

    fn propose(&self, plan: &Value, check: bool) -> Result<Verdict, String> {
        let deployment = self.path("work/countersign.yaml");
        let submit = to_monitor::Submit {
            document: serde_json::to_vec(plan).unwrap(),
            cwd: self.path("work").to_str().unwrap().to_owned(),
            agent: "agent:test".to_owned(),
            deployment: if deployment.exists() { deployment.to_str().unwrap().to_owned() } else { String::new() },
            check,
            ..Default::default()
        };
        match self.ask(to_monitor::Kind::Submit(submit)) {
            from_monitor::Kind::Verdict(verdict) => Ok(serde_json::from_slice(&verdict.verdict).unwrap()),
            from_monitor::Kind::Error(error) => Err(format!("{}: {}", error.code, error.message)),
            other => panic!("{other:?}"),
        }
    }

    fn ask(&self, kind: to_monitor::Kind) -> from_monitor::Kind {
        let mut stream = self.connect("propose.sock");
        frame::write(&mut stream, &propose::ToMonitor { kind: Some(kind) }).unwrap();
        let answer: propose::FromMonitor = frame::read(&mut stream, frame::FRAME_LIMIT).unwrap();
        answer.kind.unwrap()
    }

    /// A case as its proposer sees it.
    pub(crate) fn show(&self, case: &str) -> CaseView {
        match self.ask(to_monitor::Kind::Show(to_monitor::Show { case: case.to_owned() })) {
            from_monitor::Kind::Case(case) => serde_json::from_slice(&case.case).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Follows a case until `enough` says so or it ends; the events so far.
    pub(crate) fn watch(&self, case: &str, enough: impl Fn(&CaseEvent) -> bool) -> Vec<CaseEvent> {
        let mut stream = self.connect("propose.sock");
        let kind = to_monitor::Kind::Watch(to_monitor::Watch { case: case.to_owned() });
        frame::write(&mut stream, &propose::ToMonitor { kind: Some(kind) }).unwrap();
        let mut events = Vec::new();
        loop {
            let message = match frame::read::<propose::FromMonitor>(&mut stream, frame::FRAME_LIMIT) {
                Ok(message) => message,
                Err(error) => {
                    println!("no further event of case {case}: {error}");
                    return events;
                }
            };
            let Some(from_monitor::Kind::Event(event)) = message.kind else { panic!("{message:?}") };
            let event: CaseEvent = serde_json::from_slice(&event.event).unwrap();
            let last = enough(&event) || matches!(event, CaseEvent::Ended { .. });
            events.push(event);
            if last {
                return events;
            }
        }
    }

    /// The stage in which a case ended.
    pub(crate) fn ended(&self, case: &str) -> String {
        match self.watch(case, |_| false).pop() {
            Some(CaseEvent::Ended { stage, report }) => {
                println!("case {case} ended {stage}: {report}");
                stage
            }
            other => panic!("the case did not end: {other:?}"),
        }
    }

    /// Asks the operator's socket.
    pub(crate) fn operate(&self, kind: operator::to_monitor::Kind) -> Result<Value, String> {
        let mut stream = self.connect("operator.sock");
        frame::write(&mut stream, &operator::ToMonitor { kind: Some(kind) }).unwrap();
        let mut parts = Vec::new();
        loop {
            let answer: operator::FromMonitor = frame::read(&mut stream, frame::FRAME_LIMIT).unwrap();
            match answer.kind.unwrap() {
                operator::from_monitor::Kind::Part(bytes) => {
                    parts.extend(serde_json::from_slice::<Vec<Value>>(&bytes).unwrap());
                }
                operator::from_monitor::Kind::Answer(bytes) => {
                    let value: Value = serde_json::from_slice(&bytes).unwrap();
                    return Ok(match value {
                        Value::Array(items) if !parts.is_empty() => {
                            parts.extend(items);
                            Value::Array(parts)
                        }
                        other => other,
                    });
                }
                operator::from_monitor::Kind::Error(error) => return Err(format!("{}: {}", error.code, error.message)),
            }
        }
    }

    /// Enrols the harness's approver as the first one.
    pub(crate) fn enroll(&self) {
        let key = PublicKey::from_bytes(self.approver.verifying_key().as_bytes()).unwrap();
        let approver = Approver { principal: "user:tester".parse().unwrap(), groups: vec![], key };
        let approver = serde_json::to_vec(&approver).unwrap();
        let enroll = operator::to_monitor::Enroll { approver, envelope: vec![] };
        self.operate(operator::to_monitor::Kind::Enroll(enroll)).unwrap();
    }

    /// Has the harness's approver trust a file of the workspace at its present content.
    pub(crate) fn trust(&self, name: &str) -> Result<Value, String> {
        let path = self.path("work").join(name);
        let envelope = self.sign(|principal, signed_at| Trust {
            digest: Digest::of(&std::fs::read(&path).unwrap()),
            path: path.to_str().unwrap().to_owned(),
            principal,
            signed_at,
            nonce: format!("trust {name}"),
        });
        self.operate(operator::to_monitor::Kind::Trust(operator::to_monitor::Trust { envelope }))
    }

    /// A record that the harness's approver signs now, as its envelope.
    pub(crate) fn sign<R: ApproverRecord>(&self, record: impl FnOnce(Principal, Timestamp) -> R) -> Vec<u8> {
        let (payload, bytes) = record("user:tester".parse().unwrap(), now()).to_sign().unwrap();
        let key = PublicKey::from_bytes(self.approver.verifying_key().as_bytes()).unwrap();
        R::envelope(payload, key.id(), self.approver.sign(&bytes).to_bytes()).to_json()
    }

    /// The signed approval of exactly the plan of this verdict.
    pub(crate) fn approval(&self, verdict: &Verdict) -> Vec<u8> {
        let approval = Approval {
            case: verdict.case.clone().unwrap(),
            plan_digest: verdict.plan_digest.unwrap(),
            version: verdict.version,
            policy_digest: verdict.policy_digest,
            answer: Answer::Approve,
            approver: "user:tester".parse().unwrap(),
            role: None,
            reason: None,
            signed_at: verdict.at,
            expires_at: Timestamp::from_millis(verdict.at.as_millis() + 600_000),
            nonce: verdict.request_id.clone(),
        };
        let (payload, bytes) = approval.to_sign().unwrap();
        let key = PublicKey::from_bytes(self.approver.verifying_key().as_bytes()).unwrap();
        Approval::envelope(payload, key.id(), self.approver.sign(&bytes).to_bytes()).to_json()
    }

    /// Approves exactly the plan of this verdict.
    pub(crate) fn approve(&self, verdict: &Verdict) -> Result<Value, String> {
        let envelope = self.approval(verdict);
        self.operate(operator::to_monitor::Kind::Answer(operator::to_monitor::Answer { envelope }))
    }

    /// The gate's key now, as text and as offline verification pins it.
    pub(crate) fn gate_key(&self) -> (String, VerifyingKeyInfo) {
        let status = self.operate(operator::to_monitor::Kind::Status(operator::to_monitor::Status {})).unwrap();
        let text = status["gate_key"].as_str().unwrap().to_owned();
        let key: PublicKey = text.parse().unwrap();
        let key = VerifyingKey::from_bytes(&key.to_bytes()).unwrap();
        (text, VerifyingKeyInfo { name: "countersign".parse().unwrap(), key })
    }

    /// Every record of the ledger, in order.
    pub(crate) fn records(&self) -> Vec<Value> {
        let audit = operator::to_monitor::Audit { form: "records".to_owned(), limit: 100_000, ..Default::default() };
        let records = self.operate(operator::to_monitor::Kind::Audit(audit)).unwrap();
        records.as_array().unwrap().clone()
    }

    /// How many records of a kind the case has.
    pub(crate) fn count(&self, case: &str, kind: &str) -> usize {
        self.records().iter().filter(|r| r["case"] == case && r["kind"] == kind).count()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
        if self.mounted {
            drop(Command::new("umount").arg("-l").arg(self.path("state")).status());
        }
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

/// A plan of these steps.
pub(crate) fn plan(goal: &str, steps: Value) -> Value {
    json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps})
}

/// The case of a verdict.
pub(crate) fn case(verdict: &Verdict) -> String {
    verdict.case.as_ref().expect("a case").to_string()
}

/// Waits until `there` says so.
pub(crate) fn wait_for(what: &str, there: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !there() {
        assert!(Instant::now() < deadline, "{what} did not happen within {} s", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until none of these processes runs any more.
pub(crate) fn wait_for_end(processes: &[(u32, u64)]) {
    for (pid, begun) in processes {
        wait_for(&format!("the end of process {pid}"), || stat(*pid).is_none_or(|(_, now)| now != *begun));
    }
}

/// The parent of a process and when it began; none for one that is gone, or that only waits to be reaped.
fn stat(pid: u32) -> Option<(u32, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let state = words.next()?;
    let (parent, begun) = (words.next()?.parse().ok()?, words.nth(17)?.parse().ok()?);
    (!matches!(state, "Z" | "X")).then_some((parent, begun))
}

pub(crate) fn now() -> Timestamp {
    let millis = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    Timestamp::from_millis(i64::try_from(millis).unwrap())
}
