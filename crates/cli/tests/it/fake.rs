//! A scripted monitor on real sockets, and the program run against it in folders of its own.
//!
//! It decides nothing: a test says what it answers, and looks at what was asked. That the real monitor answers so is tested
//! where it lives.

use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use countersign_plan::access::{Access, Resource};
use countersign_plan::artifact::{Plan, SCHEMA, StepGrant};
use countersign_plan::confinement::Profile;
use countersign_plan::digest::Digest;
use countersign_plan::draft::Draft;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::{Effect, Manifest, TargetKind};
use countersign_plan::verdict::{Decision, Mode, Quorum, Risk, Verdict};
use countersign_wire::frame::{self, FRAME_LIMIT};
use countersign_wire::propose::{CaseEvent, CaseView};
use countersign_wire::{operator, propose};
use serde_json::{Value, json};

pub(crate) const PASSPHRASE: &str = "correct horse battery";
pub(crate) const CASE: &str = "c-1f2e";

/// What came over the sockets, in order; each connection has a number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Propose(usize, propose::to_monitor::Kind),
    Operate(usize, operator::to_monitor::Kind),
}

type Proposals = dyn Fn(&propose::to_monitor::Kind) -> Vec<propose::from_monitor::Kind> + Send + Sync;
type Operations = dyn Fn(&operator::to_monitor::Kind) -> Vec<operator::from_monitor::Kind> + Send + Sync;

/// What the monitor answers.
pub(crate) struct Script {
    pub(crate) propose: Box<Proposals>,
    pub(crate) operate: Box<Operations>,
}

/// Serves every connection on a thread of its own: the program keeps that of its proposal open.
fn serve(socket: &Path, each: impl Fn(UnixStream, usize) + Send + Sync + 'static) {
    let listener = UnixListener::bind(socket).unwrap();
    let each = Arc::new(each);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let each = Arc::clone(&each);
            std::thread::spawn(move || each(stream.unwrap(), number));
        }
    });
}

/// Folders of a test, with a monitor behind the sockets where one was scripted.
pub(crate) struct Place {
    root: tempfile::TempDir,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Place {
    /// Without a monitor.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["run", "state", "config"] {
            std::fs::DirBuilder::new().mode(0o700).create(root.path().join(name)).unwrap();
        }
        std::fs::create_dir(root.path().join("work")).unwrap();
        Self { root, asked: Arc::default() }
    }

    /// With a monitor that answers as `script` says.
    pub(crate) fn with(script: Script) -> Self {
        let place = Self::new();
        let Script { propose, operate } = script;
        let asked = Arc::clone(&place.asked);
        serve(&place.path("run/propose.sock"), move |stream, number| {
            answer_proposals(stream, number, &*propose, &asked)
        });
        let asked = Arc::clone(&place.asked);
        serve(&place.path("run/operator.sock"), move |stream, number| {
            answer_operations(stream, number, &*operate, &asked)
        });
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The program in the work folder, with nothing but these folders in its environment.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(words).current_dir(self.path("work")).env_clear().stdin(Stdio::null());
        for (variable, folder) in [("CONFIG", "config"), ("STATE", "state"), ("RUNTIME", "run")] {
            command.env(format!("COUNTERSIGN_{variable}_DIR"), self.path(folder));
        }
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran(self.command(words).output().unwrap())
    }

    /// The same with a home folder and nothing else in its environment.
    pub(crate) fn run_at_home(&self, home: &Path, words: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(words).current_dir(self.path("work")).env_clear().env("HOME", home).stdin(Stdio::null());
        Ran(command.output().unwrap())
    }

    /// As a script that owns the key: the passphrase on descriptor 0, which here is no terminal.
    pub(crate) fn sign(&self, words: &[&str], passphrase: &str) -> Ran {
        let words: Vec<&str> = words.iter().copied().chain(["--passphrase-fd", "0"]).collect();
        let mut child =
            self.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The program may refuse before it reads.
        drop(child.stdin.take().unwrap().write_all(format!("{passphrase}\n").as_bytes()));
        Ran(child.wait_with_output().unwrap())
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path("work").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The envelopes of the answers that were sent.
    pub(crate) fn answers(&self) -> Vec<Vec<u8>> {
        let answers = self.asked().into_iter().filter_map(|asked| match asked {
            Asked::Operate(_, operator::to_monitor::Kind::Answer(answer)) => Some(answer.envelope),
            Asked::Operate(..) | Asked::Propose(..) => None,
        });
        answers.collect()
    }
}

/// How the program ended.
#[derive(Debug)]
pub(crate) struct Ran(Output);

impl Ran {
    pub(crate) const fn of(output: Output) -> Self {
        Self(output)
    }

    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails with everything that was said unless the exit code is this.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.out(), self.err());
        self
    }
}

fn answer_proposals(mut stream: UnixStream, number: usize, script: &Proposals, asked: &Mutex<Vec<Asked>>) {
    while let Ok(propose::ToMonitor { kind: Some(kind) }) = frame::read(&mut stream, FRAME_LIMIT) {
        asked.lock().unwrap().push(Asked::Propose(number, kind.clone()));
        for kind in script(&kind) {
            if frame::write(&mut stream, &propose::FromMonitor { kind: Some(kind) }).is_err() {
                return;
            }
        }
    }
}

fn answer_operations(mut stream: UnixStream, number: usize, script: &Operations, asked: &Mutex<Vec<Asked>>) {
    while let Ok(operator::ToMonitor { kind: Some(kind) }) = frame::read(&mut stream, FRAME_LIMIT) {
        asked.lock().unwrap().push(Asked::Operate(number, kind.clone()));
        for kind in script(&kind) {
            if frame::write(&mut stream, &operator::FromMonitor { kind: Some(kind) }).is_err() {
                return;
            }
        }
    }
}

pub(crate) fn draft() -> Value {
    json!({
        "schema": "countersign.plan/v1",
        "goal": "Tidy up",
        "steps": [
            {"id": "look", "action": "read_file", "args": {"path": "a.log"}},
            {"id": "drop", "action": "delete_file", "args": {"path": "a.log"}, "rollback": "none", "reason": "not needed"}
        ]
    })
}

/// Canonical bytes of the plan that the draft became.
pub(crate) fn plan() -> Vec<u8> {
    let manifest = Manifest::builtin().unwrap();
    let checked = Draft::from_value(draft()).unwrap();
    let grant = |id: &str, effect| {
        let name = "/srv/a.log".to_owned();
        let resource = Resource { kind: TargetKind::File, name, resolved: None, identity: None };
        StepGrant {
            id: id.parse().unwrap(),
            accesses: vec![Access { effect, resource, recursive: false }],
            profile: Profile::None,
            irreversible: effect == Effect::Delete,
            action_digest: Digest::of(id.as_bytes()),
        }
    };
    let tools = checked.steps().iter().map(|step| (step.action.clone(), manifest.get(&step.action).unwrap().digest()));
    let plan = Plan {
        schema: SCHEMA.to_owned(),
        case: CASE.parse().unwrap(),
        version: 3,
        parent: None,
        principal: "uid:0".parse().unwrap(),
        agent: "agent:cli".parse().unwrap(),
        mode: Mode::Managed,
        draft_digest: checked.digest(),
        draft: draft().into(),
        inputs: std::collections::BTreeMap::new(),
        cwd: "/srv".to_owned(),
        steps: vec![grant("look", Effect::Read), grant("drop", Effect::Delete)],
        tools: tools.collect(),
        policy_digest: policy_digest(),
        deployment_digest: Digest::of(b"deployment"),
        label_proof: None,
        not_before: Timestamp::EPOCH,
        nonce: "n".to_owned(),
    };
    plan.to_bytes().unwrap()
}

pub(crate) fn policy_digest() -> Digest {
    Digest::of(b"policy")
}

pub(crate) fn verdict(decision: Decision) -> Verdict {
    Verdict {
        decision,
        tier: 0,
        rule: None,
        request_id: "r-1".to_owned(),
        case: Some(CASE.parse().unwrap()),
        version: 3,
        agent: "agent:cli".parse().unwrap(),
        at: Timestamp::EPOCH,
        plan_digest: Some(Digest::of(&plan())),
        policy_digest: policy_digest(),
        mode: Mode::Managed,
        reasons: Vec::new(),
        risk: Risk::default(),
        quorums: vec![Quorum { group: Some("finance".to_owned()), quorum: 1 }],
        micros: 84,
    }
}

pub(crate) fn view(verdict: &Verdict, stage: &str, plan: &[u8]) -> CaseView {
    CaseView {
        case: CASE.to_owned(),
        stage: stage.to_owned(),
        principal: "uid:0".to_owned(),
        agent: "agent:cli".to_owned(),
        goal: "Tidy up".to_owned(),
        verdict: serde_json::to_value(verdict).unwrap(),
        plan: String::from_utf8(plan.to_vec()).unwrap(),
        approvals: Vec::new(),
        expires_in_s: Some(600),
        asks: Value::Null,
        events: Vec::new(),
        records: Vec::new(),
    }
}

pub(crate) fn judged(verdict: &Verdict) -> propose::from_monitor::Kind {
    let verdict = serde_json::to_vec(verdict).unwrap();
    propose::from_monitor::Kind::Verdict(propose::from_monitor::Verdict { verdict })
}

pub(crate) fn case(view: &CaseView) -> propose::from_monitor::Kind {
    propose::from_monitor::Kind::Case(propose::from_monitor::Case { case: serde_json::to_vec(view).unwrap() })
}

pub(crate) fn event(event: &CaseEvent) -> propose::from_monitor::Kind {
    propose::from_monitor::Kind::Event(propose::from_monitor::Event { event: serde_json::to_vec(event).unwrap() })
}

pub(crate) fn answer(value: &Value) -> operator::from_monitor::Kind {
    operator::from_monitor::Kind::Answer(value.to_string().into_bytes())
}

/// A monitor that decides so, shows the plan, runs it to `stage`, and takes answers.
pub(crate) fn deciding(decision: Decision, stage: &'static str) -> Script {
    let verdict = verdict(decision);
    let shown = view(&verdict, if decision == Decision::RequireApproval { "pending" } else { "running" }, &plan());
    Script {
        propose: Box::new(move |asked| match asked {
            propose::to_monitor::Kind::Submit(_) => vec![judged(&verdict)],
            propose::to_monitor::Kind::Show(_) => vec![case(&shown)],
            propose::to_monitor::Kind::Pursue(_) => Vec::new(),
            propose::to_monitor::Kind::Watch(_) => course(stage).iter().map(event).collect(),
        }),
        operate: Box::new(|asked| match asked {
            operator::to_monitor::Kind::Status(_) => vec![answer(&json!({"approvers": []}))],
            _ => vec![answer(&json!({"cases": [{"case": CASE, "stage": "countersigned"}]}))],
        }),
    }
}

fn course(stage: &str) -> Vec<CaseEvent> {
    let (step, phase) = ("look".to_owned(), "act".to_owned());
    let enforcement =
        json!({"layers": {"landlock": "ABI 7"}, "gaps": [{"missing": "memory controller", "meaning": "-"}]});
    let report = if stage == "completed" {
        json!({"ending": "completed", "detail": "completed", "done": ["look", "drop"], "undone": [], "standing": []})
    } else {
        json!({"ending": stage, "detail": "drop did not show it", "done": [], "undone": [], "standing": ["look"]})
    };
    vec![
        CaseEvent::StepStarted { step: step.clone(), phase: phase.clone(), enforcement },
        CaseEvent::Output { step: step.clone(), error: false, text: "seen\u{1b}[2J\n".to_owned() },
        CaseEvent::StepEnded { step, phase, observation: json!({"ending": "returned", "output": {}}) },
        CaseEvent::Ended { stage: stage.to_owned(), report },
    ]
}

/// A key of an approver in the group `finance`, in the place where the program looks for it.
pub(crate) fn key(place: &Place) -> countersign_plan::approval::Approver {
    place.sign(&["keys", "init", "--principal", "user:alice", "--group", "finance"], PASSPHRASE).expect(0);
    let public = std::fs::read(place.path("config").join("approver.pub")).unwrap();
    serde_json::from_slice(&public).unwrap()
}

pub(crate) fn plan_file(place: &Place) -> String {
    path_text(&place.write("plan.json", &draft().to_string()))
}

pub(crate) fn path_text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
