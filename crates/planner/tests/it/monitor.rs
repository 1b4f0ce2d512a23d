//! A monitor: spawns a planner as the zygote does, and speaks its side of the socket.

use std::ffi::CString;
use std::io::Read as _;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use countersign_plan::tool::Manifest;
use countersign_sandbox::{Confined, Exit, Identity, Layers, Limits, Network, Requirement, Spec, Stdio, View, spawn};
use countersign_wire::frame;
use countersign_wire::infer::{Answer, Finish, Outcome, Request, Usage};
use countersign_wire::planner::to_planner::{Inferred, Kind, Start};
use countersign_wire::planner::{Bounds, FromPlanner, Surface, SurfaceTool, Task, ToPlanner, from_planner};
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};

pub(crate) const GOAL: &str = "Archive the report";
const SOON: Duration = Duration::from_secs(20);

pub(crate) struct Monitor {
    pub(crate) confined: Confined,
    pub(crate) socket: UnixStream,
}

impl Monitor {
    /// Spawned, announced, attested.
    pub(crate) fn start(binary: &Path) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let executable = rustix::fs::open(binary, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let confined = spawn(Spec {
            executable,
            arguments: vec![CString::from(c"countersign-planner")],
            stdio: Stdio::default(),
            control: theirs.into(),
            descriptors: vec![],
            view: View::default(),
            limits: Limits::planner(),
            identity: Identity::own(),
            network: Network::None,
            requirement: Requirement::Full,
            deadline: SOON,
            layers: Layers::all(),
        })
        .unwrap();
        confined.await_ready(ours.as_fd(), SOON).unwrap();
        confined.attest().unwrap();
        ours.set_read_timeout(Some(SOON)).unwrap();
        Self { confined, socket: ours }
    }

    pub(crate) fn tell(&mut self, kind: Kind) {
        frame::write(&mut self.socket, &ToPlanner { kind: Some(kind) }).unwrap();
    }

    pub(crate) fn begin(&mut self, task: &Task) {
        self.tell(Kind::Start(Start { task: serde_json::to_vec(task).unwrap() }));
    }

    pub(crate) fn hear(&mut self) -> from_planner::Kind {
        frame::read::<FromPlanner>(&mut self.socket, frame::FRAME_LIMIT).unwrap().kind.unwrap()
    }

    /// The next message is a question to the model.
    pub(crate) fn asked(&mut self) -> Request {
        match self.hear() {
            from_planner::Kind::Infer(infer) => serde_json::from_slice(&infer.request).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The model answers.
    pub(crate) fn answer(&mut self, text: impl Into<String>) {
        let (model, usage) = ("m".to_owned(), Usage::default());
        let outcome = Outcome::Answer(Answer { text: text.into(), finish: Finish::Stop, model, usage });
        self.tell(Kind::Inferred(Inferred { outcome: serde_json::to_vec(&outcome).unwrap() }));
    }

    /// The end of the process, with nothing further said.
    pub(crate) fn ends(mut self) -> Exit {
        let exit = self.confined.wait(Some(SOON)).unwrap().expect("it ends");
        let mut rest = Vec::new();
        self.socket.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"", "nothing follows the end");
        exit
    }

    /// The most memory that the process has had, in KiB.
    pub(crate) fn peak(&self) -> u64 {
        let info = format!("/proc/self/fdinfo/{}", self.confined.pidfd().as_raw_fd());
        let pid = number(&std::fs::read_to_string(info).unwrap(), "Pid:");
        number(&std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap(), "VmHWM:")
    }
}

fn number(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

pub(crate) fn surface(loaded: &[&str]) -> Surface {
    let groups = vec![("files".to_owned(), "files".to_owned()), ("programs".to_owned(), "programs".to_owned())];
    let manifest = Manifest::builtin().unwrap();
    let word = |value: Value| value.as_str().unwrap().to_owned();
    let tools = manifest
        .iter()
        .map(|tool| tool.definition())
        .filter(|tool| tool.group.as_deref().is_some_and(|group| loaded.contains(&group)));
    let tools = tools.map(|tool| SurfaceTool {
        name: tool.name.to_string(),
        description: tool.description.clone(),
        args: tool.args.clone(),
        effect: word(json!(tool.effect)),
        reversibility: word(json!(tool.reversibility)),
        readable: json!(tool.effect) == "read",
        outputs: Vec::new(),
        secrets: Vec::new(),
    });
    Surface { groups, tools: tools.collect() }
}

pub(crate) fn bounds() -> Bounds {
    Bounds { inferences: 12, reads: 4, drafts: 4, max_tokens: 2000, context: 0 }
}

pub(crate) fn draft() -> Task {
    let (goal, inputs, cwd) = (GOAL.to_owned(), json!({"folder": "old"}), "/srv/work".to_owned());
    Task::Draft { goal, inputs, cwd, surface: surface(&[]), bounds: bounds() }
}
