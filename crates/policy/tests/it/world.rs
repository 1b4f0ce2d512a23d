//! A small company's deployment, its tools and its machine; actions and plans decided in it.

use countersign_inspect::{Inspection, Subject};
use countersign_plan::draft::Draft;
use countersign_plan::intent::Intent;
use countersign_plan::resolve::Inputs;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Code, Decision, Mode};
use countersign_policy::changes::Changes;
use countersign_policy::deployment::{Deployment, DeploymentDocument, Own};
use countersign_policy::facts::{Below, Facts, Known, NotInspected, PathFact, PathKind};
use countersign_policy::flow::{Level, Session};
use countersign_policy::policy::{Policy, PolicyDocument};
use countersign_policy::review::{Request, Review, StepReview, recheck, review};
use serde_json::{Value, json};

pub(crate) const DEPLOYMENT: &str = "
schema: countersign.deployment/v1
workspace: [/home/user/project]
home: /home/user
identities: {user: user@company.example, internal: ['*@company.example', '#finance'], known: [ap@partner.example]}
hosts: {internal: ['*.company.example', localhost], known: [api.partner.example]}
secrecy: {restricted: ['~/.ssh/**'], confidential: ['**/payroll/**']}
protected: [{kind: database, match: 'prod-*'}, {kind: file, match: 'infra/prod/**'}]
";

const CHANGES: &str = "
schema: countersign.changes/v1
change_requests:
  - {id: CR-1, status: approved, requested_by: user@company.example, approved_by: [ines@company.example],
     not_before: '2026-01-01T00:00:00Z', not_after: '2027-01-01T00:00:00Z',
     actions: [drop_database, write_file, delete_directory], resources: [{kind: database, match: prod-old}, {kind: file, match: 'infra/prod/**'}]}
  - {id: CR-late, status: approved, requested_by: user@company.example, approved_by: [ines@company.example],
     not_after: '2026-02-01T00:00:00Z', actions: [drop_database], resources: [{kind: database, match: prod-old}]}
";

/// Tools beside the built-in ones: name, effect, reversibility, target kind, target argument.
const TOOLS: &[(&str, &str, &str, &str)] = &[
    ("send_money", "pay", "irreversible", "account"),
    ("grant_role", "admin", "compensable", "account"),
    ("create_event", "create", "compensable", "calendar"),
    ("read_calendar", "read", "pure", "calendar"),
    ("drop_database", "delete", "irreversible", "database"),
    ("start_agent", "execute", "compensable", "process"),
    ("connect", "send", "compensable", "host"),
    ("inbox", "read", "pure", "record"),
];

pub(crate) struct World {
    pub(crate) deployment: Deployment,
    pub(crate) manifest: Manifest,
    pub(crate) policy: Policy,
    pub(crate) changes: Changes,
    pub(crate) facts: Box<dyn Facts>,
    pub(crate) inputs: Inputs,
}

/// The machine: a project with a restricted file and a hook in it, a link out of it, programs.
pub(crate) fn machine() -> Known {
    let mut known = Known::default();
    let mut put = |path: &str, kind, resolved: Option<&str>| {
        let fact = PathFact { resolved: resolved.map(str::to_owned), identity: None, kind };
        known.paths.insert(path.to_owned(), fact);
    };
    for dir in ["/home/user/project", "/home/user/project/src", "/home/user/project/build", "/home/user/project/app"] {
        put(dir, PathKind::Directory, None);
    }
    for file in ["src/main.rs", "build/a.o", "old.txt", "app/.env", "app/main.py", ".git/hooks/pre-commit", "data.db"] {
        put(&format!("/home/user/project/{file}"), PathKind::File, None);
    }
    put("/home/user/project/infra/prod/main.tf", PathKind::File, None);
    put("/home/user/project/infra", PathKind::Directory, None);
    put("/home/user/project/link", PathKind::File, Some("/home/user/.ssh/id_ed25519"));
    put("/home/user/project/out", PathKind::Directory, Some("/srv/elsewhere"));
    put("/home/user/project/out/x", PathKind::Missing, Some("/srv/elsewhere/x"));
    put("/tmp/socket", PathKind::Special, None);
    for program in ["sh", "cargo", "git", "python3", "sudo"] {
        known.programs.insert(program.to_owned(), format!("/usr/bin/{program}"));
    }
    known
}

/// The machine, with somebody who reads statements and git's arguments; `all`, command lines, programs and texts as well.
#[derive(Debug)]
pub(crate) struct Inspecting {
    pub(crate) known: Known,
    pub(crate) all: bool,
}

impl Facts for Inspecting {
    fn resolve(&self, path: &str) -> PathFact {
        self.known.resolve(path)
    }

    fn below(&self, dir: &str, wanted: &dyn Fn(&str) -> bool, limit: usize) -> Below {
        self.known.below(dir, wanted, limit)
    }

    fn recent_actions(&self) -> u32 {
        self.known.recent_actions()
    }

    fn fit_snapshot(&self, paths: &[&str]) -> bool {
        self.known.fit_snapshot(paths)
    }

    fn program(&self, name: &str) -> Option<String> {
        self.known.program(name)
    }

    fn inspect(&self, subject: &Subject) -> Result<Inspection, NotInspected> {
        let git = matches!(subject, Subject::Argv { argv, .. } if argv.first().is_some_and(|word| word.as_deref() == Some("git")));
        let read = self.all || git || matches!(subject, Subject::Sql { .. });
        if read { Ok(countersign_inspect::inspect(subject)) } else { Err(NotInspected::Nobody) }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let document = DeploymentDocument::read(DEPLOYMENT.as_bytes()).unwrap();
        let own = Own {
            folders: vec!["/home/user/.countersign-state".to_owned()],
            files: vec!["/home/user/project/rules.yaml".to_owned()],
        };
        let deployment = Deployment::compile(document, "/home/user", "/home/user", &own).unwrap();
        let mut manifest = Manifest::builtin().unwrap();
        manifest.extend(TOOLS.iter().map(tool).collect()).unwrap();
        let policy = Policy::compile(&PolicyDocument::empty(), deployment.place()).unwrap();
        let changes = Changes::read(CHANGES.as_bytes()).unwrap();
        Self {
            deployment,
            manifest,
            policy,
            changes,
            facts: Box::new(Inspecting { known: machine(), all: false }),
            inputs: Inputs::new(),
        }
    }

    /// Further tools: name, effect, reversibility, target kind.
    pub(crate) fn add(&mut self, tools: &[(&str, &str, &str, &str)]) {
        self.manifest.extend(tools.iter().map(tool).collect()).unwrap();
    }

    pub(crate) fn with_policy(rules: &str) -> Self {
        let mut world = Self::new();
        let text = format!("schema: countersign.policy/v1\n{rules}\n");
        let document = PolicyDocument::read(text.as_bytes()).unwrap();
        world.policy = Policy::compile(&document, world.deployment.place()).unwrap();
        world
    }

    pub(crate) fn request<'a>(&'a self, draft: &'a Draft, goal: Option<&'a str>, who: &'a Who) -> Request<'a> {
        Request {
            draft,
            manifest: &self.manifest,
            deployment: &self.deployment,
            policy: &self.policy,
            changes: &self.changes,
            facts: self.facts.as_ref(),
            inputs: &self.inputs,
            requester: &who.0,
            mode: Mode::Managed,
            pinned_goal: goal,
            authentic: true,
            planner: Level::User,
            session: Session::empty(),
            now: "2026-06-01T12:00:00Z".parse().unwrap(),
        }
    }

    pub(crate) fn plan(&self, plan: Value) -> Review {
        let draft = Draft::from_value(plan).unwrap();
        review(&self.request(&draft, Some(draft.goal()), &Who::user()))
    }

    /// Steps under the goal "Do the work".
    pub(crate) fn steps(&self, steps: Value) -> Review {
        self.plan(json!({"schema": "countersign.plan/v1", "goal": "Do the work", "steps": steps}))
    }

    pub(crate) fn act(&self, action: &str, args: Value) -> Review {
        self.act_for("Do the work", action, args)
    }

    pub(crate) fn act_for(&self, goal: &str, action: &str, args: Value) -> Review {
        let intent: Intent =
            serde_json::from_value(json!({"schema": "countersign.intent/v1", "action": action, "args": args})).unwrap();
        let draft = intent.lift_for(goal).unwrap();
        review(&self.request(&draft, Some(goal), &Who::user()))
    }

    pub(crate) fn again(&self, steps: Value, step: &str, args: Value) -> (StepReview, Vec<Code>) {
        let plan = json!({"schema": "countersign.plan/v1", "goal": "Do the work", "steps": steps});
        let draft = Draft::from_value(plan).unwrap();
        let who = Who::user();
        let request = self.request(&draft, Some("Do the work"), &who);
        let (review, reasons) = recheck(&request, &step.parse().unwrap(), &args);
        (review, reasons.iter().filter(|r| r.decision > Decision::Allow).map(|r| r.code).collect())
    }
}

pub(crate) struct Who(countersign_plan::id::Principal);

impl Who {
    pub(crate) fn user() -> Self {
        Self("user:user@company.example".parse().unwrap())
    }
}

/// The codes of what asks or blocks, strictest first.
pub(crate) fn codes(review: &Review) -> Vec<Code> {
    review.reasons.iter().filter(|r| r.decision > Decision::Allow).map(|r| r.code).collect()
}

pub(crate) fn is(review: &Review, decision: Decision, code: Code, what: &str) {
    assert_eq!(review.decision, decision, "{what}: {:#?}", review.reasons);
    assert!(review.reasons.iter().any(|r| r.code == code && r.decision == decision), "{what}: {:#?}", review.reasons);
}

fn tool(&(name, effect, reversibility, kind): &(&str, &str, &str, &str)) -> Value {
    json!({
        "name": name, "group": "extra", "description": name,
        "args": {"type": "object", "additionalProperties": true, "properties": {"to": {}, "amount": {}, "subject": {}}},
        "effect": effect, "reversibility": reversibility, "target": {"kind": kind, "arg": "/to"},
        "controls": ["/to"], "carries": ["/subject"],
        "output": {"trust": "open", "secrecy": "internal", "fields": [
            {"at": "/id", "trust": "system", "secrecy": "internal", "capacity": "id"},
            {"at": "/salary", "trust": "system", "secrecy": "confidential"},
            {"at": "/key", "trust": "system", "secrecy": "restricted"}]},
        "driver": "none",
    })
}
