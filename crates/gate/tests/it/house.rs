//! A gate with a real ledger, real keys and a machine made of a few files: what the daemon is to the gate, less the processes.

use std::sync::Arc;

use countersign_gate::clock::Moment;
use countersign_gate::configuration::{Configuration, Places, Settings};
use countersign_gate::directive::{Directive, OperatorAnswer, RunStep};
use countersign_gate::event::{Event, Report, Said, Submission};
use countersign_gate::gate::{Gate, Outside};
use countersign_gate::key::GateKey;
use countersign_ledger::reader::Payload;
use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::memory::MemoryStore;
use countersign_ledger::{Ledger, Query, RecordKind};
use countersign_plan::access::FileIdentity;
use countersign_plan::approval::{Answer, Approval, Approver, ApproverRecord};
use countersign_plan::confinement::Owner;
use countersign_plan::digest::Digest;
use countersign_plan::envelope::Envelope;
use countersign_plan::id::{CaseId, Principal};
use countersign_plan::key::PublicKey;
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::permit::Phase;
use countersign_plan::time::{Span, Timestamp};
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Mode, Verdict};
use countersign_policy::changes::Changes;
use countersign_policy::deployment::{ApprovalMode, Deployment, DeploymentDocument, Own};
use countersign_policy::facts::{Known, PathFact, PathKind};
use countersign_policy::flow::Label;
use countersign_policy::policy::{Policy, PolicyDocument};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

pub(crate) const START: i64 = 1_800_000_000_000;

/// Somebody with an approval key.
pub(crate) struct Person {
    pub(crate) approver: Approver,
    /// The user from whom the person is enrolled.
    pub(crate) user: Principal,
    pub(crate) secret: SigningKey,
}

impl Person {
    pub(crate) fn new(name: &str, seed: u8, groups: &[&str]) -> Self {
        let secret = SigningKey::from_bytes(&[seed; 32]);
        let key = PublicKey::from_bytes(secret.verifying_key().as_bytes()).unwrap();
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let user = format!("uid:{}", 2000 + u32::from(seed)).parse().unwrap();
        Self { approver: Approver { principal: name.parse().unwrap(), groups, key }, user, secret }
    }

    pub(crate) fn sign<R: ApproverRecord>(&self, record: &R) -> Envelope {
        let (payload, bytes) = record.to_sign().unwrap();
        R::envelope(payload, self.approver.key.id(), self.secret.sign(&bytes).to_bytes())
    }
}

pub(crate) struct House {
    pub(crate) gate: Gate,
    pub(crate) ledger: Option<Ledger>,
    pub(crate) facts: Known,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) wall: i64,
    pub(crate) monotonic: u64,
    settings: Settings,
    store: MemoryStore,
    folder: tempfile::TempDir,
    count: u64,
}

fn open(store: &MemoryStore, folder: &tempfile::TempDir) -> Ledger {
    let signer = GateKey::from_bytes(&mut [1; 32]).unwrap().head_signer().unwrap();
    let master = MasterKey::from_bytes(&mut [2; 32]);
    Ledger::open(Box::new(store.clone()), Box::new(signer), master, &folder.path().join("head")).unwrap()
}

pub(crate) fn configuration(policy: &Value, deployment: &Value) -> Arc<Configuration> {
    let mut document = DeploymentDocument::from_value(deployment.clone()).unwrap();
    document.workspace.get_or_insert_with(|| vec!["/w".to_owned()]);
    let own = Own { folders: vec!["/state".to_owned()], files: Vec::new() };
    let deployment = Deployment::compile(document, "/w", "/home/u", &own).unwrap();
    let policy = PolicyDocument::from_value(policy.clone()).unwrap();
    Arc::new(Configuration {
        manifest: Arc::new(Manifest::builtin().unwrap()),
        policy: Arc::new(Policy::compile(&policy, deployment.place()).unwrap()),
        deployment: Arc::new(deployment),
        changes: Arc::new(Changes::default()),
        owner: Owner { uid: 1000, gid: 1000 },
        left_out: Vec::new(),
    })
}

pub(crate) fn file(inode: u64, directory: bool) -> PathFact {
    PathFact {
        resolved: None,
        identity: Some(FileIdentity { device: 1, inode, directory }),
        kind: if directory { PathKind::Directory } else { PathKind::File },
    }
}

/// A policy that asks two people for writes, and allows the rest as it does by itself.
pub(crate) fn two_people() -> Value {
    json!({"schema": "countersign.policy/v1", "verify": [
        {"name": "writes", "action_types": ["write_file"], "tier": 3, "approvers": {"quorum": 2}},
    ]})
}

/// A policy that asks one person for writes.
pub(crate) fn one_person() -> Value {
    json!({"schema": "countersign.policy/v1", "verify": [
        {"name": "writes", "action_types": ["write_file"], "tier": 3, "approvers": {"quorum": 1}},
    ]})
}

pub(crate) fn free() -> Value {
    json!({"schema": "countersign.policy/v1"})
}

pub(crate) fn deployment() -> Value {
    json!({"schema": "countersign.deployment/v1"})
}

impl House {
    pub(crate) fn new(policy: &Value) -> Self {
        Self::with(configuration(policy, &deployment()))
    }

    pub(crate) fn with(configuration: Arc<Configuration>) -> Self {
        let places = Places {
            system: vec!["/usr".to_owned()],
            readable: vec!["/etc/passwd".to_owned()],
            own: vec!["/state".to_owned()],
            memory: "/state/memory".to_owned(),
            snapshots: "/state/snapshots".to_owned(),
            snapshot_limit: 1 << 20,
            ..Places::default()
        };
        let mut facts = Known::default();
        for (inode, (path, directory)) in
            [("/", true), ("/w", true), ("/w/a.txt", false), ("/w/sub", true), ("/usr", true), ("/etc/passwd", false)]
                .into_iter()
                .enumerate()
        {
            facts.paths.insert(path.to_owned(), file(inode as u64 + 1, directory));
        }
        facts.programs.insert("cargo".to_owned(), "/usr/bin/cargo".to_owned());
        let store = MemoryStore::new();
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::new(ApprovalMode::FourEyes, places);
        let ledger = open(&store, &folder);
        let (gate, first) = boot(&settings, &ledger, START, 0);
        let ledger = Some(ledger);
        let (wall, monotonic) = (START, 0);
        let mut house = Self { gate, ledger, facts, configuration, wall, monotonic, settings, store, folder, count: 0 };
        house.record(first);
        house
    }

    /// The monitor dies and starts again on the same ledger.
    pub(crate) fn restart(&mut self) -> Vec<Directive> {
        drop(self.ledger.take());
        let ledger = open(&self.store, &self.folder);
        self.monotonic = 0;
        let (gate, first) = boot(&self.settings, &ledger, self.wall, 0);
        self.gate = gate;
        self.ledger = Some(ledger);
        self.record(first)
    }

    pub(crate) fn record(&mut self, transition: countersign_gate::transition::Transition) -> Vec<Directive> {
        match transition.ready() {
            Ok(directives) => directives,
            Err(transition) => {
                let (entries, withheld) = transition.into_parts();
                let proof = self.ledger.as_ref().unwrap().append(entries).wait().unwrap();
                withheld.release(&proof).unwrap()
            }
        }
    }

    pub(crate) fn transition(&mut self, event: Event) -> countersign_gate::transition::Transition {
        self.count += 1;
        let mut entropy = [0; 32];
        entropy[..8].copy_from_slice(&self.count.to_be_bytes());
        let moment = Moment { wall: Timestamp::from_millis(self.wall), monotonic: Span::from_millis(self.monotonic) };
        let outside = Outside { moment, entropy, facts: &self.facts, elapsed: &|| 7 };
        self.gate.handle(event, outside)
    }

    pub(crate) fn event(&mut self, event: Event) -> Vec<Directive> {
        let transition = self.transition(event);
        self.record(transition)
    }

    pub(crate) fn pass(&mut self, seconds: u64) -> Vec<Directive> {
        self.wall += i64::try_from(seconds * 1000).unwrap();
        self.monotonic += seconds * 1000;
        self.event(Event::Tick)
    }

    pub(crate) fn submission(&self, plan: &Value) -> Submission {
        Submission {
            document: plan.to_string().into_bytes(),
            goal: None,
            inputs: Default::default(),
            cwd: "/w".to_owned(),
            requester: "user:r".parse().unwrap(),
            agent: "agent:a".parse().unwrap(),
            mode: Mode::Managed,
            check: false,
            revises: None,
            parent: None,
            seen: Label::TOP,
            configuration: Arc::clone(&self.configuration),
            origin: "/w/countersign.yaml".to_owned(),
        }
    }

    pub(crate) fn submit(&mut self, plan: &Value) -> (Verdict, Vec<Directive>) {
        let submission = self.submission(plan);
        self.propose(submission)
    }

    pub(crate) fn propose(&mut self, submission: Submission) -> (Verdict, Vec<Directive>) {
        let directives = self.event(Event::Submit(Box::new(submission)));
        let answered = directives.iter().find_map(|directive| match directive {
            Directive::AnswerProposer(verdict) => Some((**verdict).clone()),
            _ => None,
        });
        (answered.unwrap(), directives)
    }

    /// Submits a plan that is allowed, and verifies it as its executor.
    pub(crate) fn running(&mut self, plan: &Value) -> CaseId {
        let (verdict, directives) = self.submit(plan);
        let case = verdict.case.clone().unwrap();
        assert!(directives.iter().any(|d| matches!(d, Directive::StartExecutor { .. })), "{verdict:#?}");
        self.verified(&case);
        case
    }

    pub(crate) fn verified(&mut self, case: &CaseId) {
        let plan_digest = self.gate.case(case).unwrap().plan_digest.unwrap();
        assert!(self.say(case, Said::Verified { plan_digest }).is_empty());
        assert_eq!(self.stage(case), "running");
    }

    pub(crate) fn stage(&self, case: &CaseId) -> &'static str {
        self.gate.case(case).unwrap().stage
    }

    pub(crate) fn say(&mut self, case: &CaseId, said: Said) -> Vec<Directive> {
        self.event(Event::Executor { case: case.clone(), said })
    }

    pub(crate) fn request(&mut self, case: &CaseId, step: &str, phase: Phase) -> Vec<Directive> {
        let present = Arc::clone(&self.configuration);
        self.say(case, Said::Request { step: step.parse().unwrap(), phase, attempt: 1, present })
    }

    /// Asks for leave and gets it.
    pub(crate) fn permit(&mut self, case: &CaseId, step: &str, phase: Phase) -> Vec<u8> {
        let directives = self.request(case, step, phase);
        let shown = format!("{directives:?}");
        directives
            .into_iter()
            .find_map(|directive| match directive {
                Directive::GrantPermit { permit, .. } => Some(permit.into_bytes()),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no permit: {shown}"))
    }

    /// Uses a permit; what the zygote is told.
    pub(crate) fn perform(&mut self, case: &CaseId, permit: &[u8]) -> RunStep {
        let directives = self.say(case, Said::Perform { permit: permit.to_vec() });
        let shown = format!("{directives:?}");
        directives
            .into_iter()
            .find_map(|directive| match directive {
                Directive::RunStep(run) => Some(*run),
                _ => None,
            })
            .unwrap_or_else(|| panic!("nothing ran: {shown}"))
    }

    /// Asks, uses, and returns what ran.
    pub(crate) fn run(&mut self, case: &CaseId, step: &str, phase: Phase) -> RunStep {
        let permit = self.permit(case, step, phase);
        self.perform(case, &permit)
    }

    pub(crate) fn observe(&mut self, case: &CaseId, observation: Observation) -> Vec<Directive> {
        self.event(Event::StepObserved { case: case.clone(), observation, labels: Value::Null })
    }

    /// A step that keeps the state before and acts, as its plan says.
    pub(crate) fn whole_step(&mut self, case: &CaseId, step: &str) {
        self.run(case, step, Phase::Snapshot);
        self.observe(case, kept());
        self.run(case, step, Phase::Act);
        self.observe(case, returned(json!({"bytes": 1})));
    }

    pub(crate) fn finish(&mut self, case: &CaseId, completed: bool, done: &[&str], undone: &[&str]) -> Vec<Directive> {
        let steps = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
        self.say(case, Said::Finished(Report { completed, done: steps(done), undone: steps(undone) }))
    }

    pub(crate) fn enroll(&mut self, people: &[&Person]) {
        let first = people[0];
        for (place, person) in people.iter().enumerate() {
            let enrolment = countersign_plan::approval::Enrolment {
                approver: person.approver.clone(),
                principal: first.approver.principal.clone(),
                signed_at: self.gate.now(),
                nonce: format!("enrol-{place}"),
            };
            let envelope = (place > 0).then(|| first.sign(&enrolment));
            let event = Event::Enroll { approver: person.approver.clone(), by: person.user.clone(), envelope };
            let directives = self.event(event);
            assert!(matches!(directives.as_slice(), [Directive::AnswerOperator(OperatorAnswer::Enrolled)]));
        }
    }

    /// An approval of exactly what waits.
    pub(crate) fn approval(&self, case: &CaseId, by: &Person, nonce: &str) -> Approval {
        let summary = self.gate.case(case).unwrap();
        Approval {
            case: case.clone(),
            plan_digest: summary.plan_digest.unwrap(),
            version: summary.version,
            policy_digest: summary.verdict.unwrap().policy_digest,
            answer: Answer::Approve,
            approver: by.approver.principal.clone(),
            role: None,
            reason: None,
            signed_at: self.gate.now(),
            expires_at: self.gate.now().plus(Span::from_secs(300)),
            nonce: nonce.to_owned(),
        }
    }

    pub(crate) fn approve(&mut self, case: &CaseId, by: &Person, nonce: &str) -> Vec<Directive> {
        let approval = self.approval(case, by, nonce);
        self.event(Event::Answer(by.sign(&approval)))
    }

    /// Every payload of a kind, in order.
    pub(crate) fn records(&self, kind: RecordKind) -> Vec<Value> {
        let mut reader = self.ledger.as_ref().unwrap().reader().unwrap();
        let query = Query { kinds: vec![kind], ..Query::default() };
        reader
            .records(query)
            .map(|record| match record.unwrap().payload {
                Payload::Open(payload) => payload,
                other => panic!("{other:?}"),
            })
            .collect()
    }
}

fn boot(
    settings: &Settings,
    ledger: &Ledger,
    wall: i64,
    monotonic: u64,
) -> (Gate, countersign_gate::transition::Transition) {
    let mut reader = ledger.reader().unwrap();
    let history: Vec<_> = reader.records(Query::default()).map(Result::unwrap).collect();
    let key = GateKey::from_bytes(&mut [1; 32]).unwrap();
    let moment = Moment { wall: Timestamp::from_millis(wall), monotonic: Span::from_millis(monotonic) };
    Gate::boot(settings.clone(), key, history, moment, json!({"kernel": "test"})).unwrap()
}

pub(crate) fn returned(output: Value) -> Observation {
    Observation { ending: Ending::Returned, output, files: Default::default(), dropped: Default::default() }
}

/// What a snapshot reports.
pub(crate) fn kept() -> Observation {
    returned(json!({"index": Digest::of(b"index")}))
}

/// A plan that writes one file.
pub(crate) fn write() -> Value {
    json!({"schema": "countersign.plan/v1", "goal": "Write a file", "steps": [
        {"id": "w", "action": "write_file", "args": {"path": "a.txt", "content": "x"}},
    ]})
}

/// A plan that writes two files, the second with what the first step shows.
pub(crate) fn write_two() -> Value {
    json!({"schema": "countersign.plan/v1", "goal": "Write files", "steps": [
        {"id": "w", "action": "write_file", "args": {"path": "a.txt", "content": "x"}},
        {"id": "v", "action": "write_file", "args": {"path": "sub/b.txt", "content": {"$join": [{"$from": "w", "at": "/bytes"}]}}},
    ]})
}

pub(crate) fn has(directives: &[Directive], wanted: impl Fn(&Directive) -> bool) -> bool {
    directives.iter().any(wanted)
}

pub(crate) fn refused(directives: &[Directive]) -> Option<countersign_plan::verdict::Code> {
    directives.iter().find_map(|directive| match directive {
        Directive::RefuseExecutor { code, .. } | Directive::AnswerOperator(OperatorAnswer::Refused { code, .. }) => {
            Some(*code)
        }
        _ => None,
    })
}
