//! The gate's transition function in every order of events: replays, lies, crashes, delayed records, a clock set back.
//!
//! The model drives [`countersign_gate::machine::Case`] and [`countersign_gate::clock::Clock`], the very code that the gate runs
//! on. Everything around them is the adversary's choice within small bounds: who answers what, what executor and step child
//! say, when a record becomes durable, when the monitor dies and how much of what waited was durable by then. The
//! properties are worked out from what happened outside (which answers were really given, which permits really used, what
//! really ran, what was durable at that moment), not from what the case believes.

use std::collections::BTreeSet;

use countersign_gate::clock::{Clock, Moment, Reading};
use countersign_gate::machine::{
    Aim, Case, Cause, Context, Course, Eyes, Fact, Input, Order, Output, PermitState, Run, Stage, Terms, Violation,
};
use countersign_plan::approval::Answer;
use countersign_plan::digest::Digest;
use countersign_plan::id::{KeyId, Principal, StepId};
use countersign_plan::permit::Phase;
use countersign_plan::saga::{Fate, TakeBack, Undo, take_back};
use countersign_plan::time::{Span, Timestamp};
use countersign_plan::verdict::{Code, Decision, Quorum};
use stateright::{Checker, HasDiscoveries, Model, Property};

/// Gate time when the case is opened, in milliseconds.
const START: i64 = 1_000_000;
/// One step of time: no permit outlives it.
const STEP_MS: u64 = 70_000;

/// Another name under which the requester's user enrolled a key.
const ALIAS: &str = "user:alias";

fn key_of(name: &str) -> KeyId {
    format!("key-{name}").parse().unwrap()
}

fn who(name: &str) -> Principal {
    name.parse().unwrap()
}

fn step(name: &str) -> StepId {
    name.parse().unwrap()
}

/// A bug that is put around the transition function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Bug {
    /// A plan that people must approve is taken for one that is allowed.
    SkipsApprovals,
    /// Orders are carried out before the record is durable.
    ActsBeforeTheRecord,
    /// A restart overlooks intents.
    ForgetsIntents,
    /// Using a permit does not spend it.
    ForgetsThatAPermitIsSpent,
    /// Gate time stands still.
    StopsTheClock,
    /// A restart goes on where the last epoch was.
    CarriesRunsOverARestart,
    /// A clock that was set back halts nothing.
    IgnoresTheClock,
    /// Who proposed is mistaken for an approver.
    MistakesTheProposer,
    /// From which user a key was enrolled is forgotten.
    OverlooksTheEnroller,
    /// Approvals with a retired key go on counting.
    KeepsWithdrawnApprovals,
    /// The requester's approval is not marked.
    HidesSelfApproval,
    /// What is out of order in this way is refused and then forgotten.
    Forgives(Violation),
    /// An executor that refuses its plan is not heard.
    OverlooksRejections,
    /// What is critical is recorded and told nobody.
    TellsNobody,
}

/// A case and everybody around it.
#[derive(Clone)]
struct Monitor {
    terms: Terms,
    bug: Option<Bug>,
    /// How often time may pass, the clock be set back, the monitor die.
    time: u8,
    set_backs: u8,
    crashes: u8,
    /// Whether people answer at all; else the plan is allowed by itself.
    people: bool,
    /// Whether people use other names and have keys retired.
    keys: bool,
    /// Whether the executor may say anything, or only what its plan leads to.
    liar: bool,
    /// How many records may be on their way at once.
    delay: usize,
}

/// Something that really ran.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Deed {
    epoch: u64,
    permit: u32,
    step: StepId,
    phase: Phase,
    /// Gate time when the permit was used.
    used_at: Timestamp,
    /// How many facts were durable when it ran.
    durable: usize,
    /// How it ended, once somebody saw it.
    ended: bool,
}

/// A transition whose record is on its way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Batch {
    facts: Vec<Fact>,
    orders: Vec<Order>,
    at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    wall: i64,
    monotonic: u64,
    time_left: u8,
    set_backs_left: u8,
    crashes_left: u8,
    clock: Clock,
    /// The highest gate time that anybody saw.
    latest: Timestamp,
    went_back: bool,
    epoch: u64,
    case: Case,
    ledger: Vec<Fact>,
    /// The boot epoch in which each record was written.
    epochs: Vec<u64>,
    waiting: Vec<Batch>,
    started: bool,
    granted: BTreeSet<u32>,
    /// Permits that the executor has tried to use in this epoch, whatever came of it.
    used: BTreeSet<u32>,
    /// The executor was answered that there is no leave for it.
    refused: bool,
    deeds: Vec<Deed>,
    /// The deed whose child is alive.
    child: Option<usize>,
    /// Who really approved, in order.
    approved: Vec<Principal>,
    /// The key of one of them was retired.
    retired: bool,
    /// The executor was told to stop.
    stopped: bool,
    /// The executor did what no executor may, while it ran.
    misbehaved: bool,
    /// The clock went back while the case was countersigned or running.
    caught_by_the_clock: bool,
    alerted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Action {
    /// The oldest record becomes durable and its orders are carried out.
    Record,
    /// The monitor dies; so many of the waiting records were durable. It starts again.
    Crash(usize),
    Pass,
    SetBack,
    Say(Input),
    Perform(Option<u32>),
}

impl Monitor {
    fn new(decision: Decision, undo: &[(&str, Undo)]) -> Self {
        let terms = Terms {
            plan: Digest::of(b"plan"),
            version: 1,
            policy: Digest::of(b"policy"),
            proposer: who("agent:a"),
            requester: who("user:r"),
            eyes: Eyes::Two,
            decision,
            quorums: if decision == Decision::RequireApproval {
                vec![Quorum { group: None, quorum: 2 }]
            } else {
                Vec::new()
            },
            aim: Aim::Run,
            steps: undo.iter().map(|(id, undo)| (step(id), *undo)).collect(),
            lifetime: Span::from_millis(3 * STEP_MS),
            pending_until: Timestamp::from_millis(START).plus(Span::from_millis(STEP_MS)),
        };
        let people = decision == Decision::RequireApproval;
        Self { terms, bug: None, time: 0, set_backs: 0, crashes: 0, people, keys: false, liar: true, delay: 1 }
    }

    /// The same with so much time, so many crashes and set-backs.
    fn upset(mut self, time: u8, crashes: u8, set_backs: u8) -> Self {
        (self.time, self.crashes, self.set_backs) = (time, crashes, set_backs);
        self
    }

    /// The same with a plan that expires with the first step of time.
    fn short(mut self) -> Self {
        self.terms.lifetime = Span::from_millis(STEP_MS / 2);
        self
    }

    /// The same with people who use other names and have keys retired.
    fn keys(mut self, eyes: Eyes) -> Self {
        (self.keys, self.terms.eyes) = (true, eyes);
        self
    }

    /// The same with an executor that follows its plan.
    fn honest(mut self) -> Self {
        self.liar = false;
        self
    }

    /// The same with more records on their way at once.
    fn delayed(mut self, delay: usize) -> Self {
        self.delay = delay;
        self
    }

    fn with(mut self, bug: Bug) -> Self {
        self.bug = Some(bug);
        self
    }

    fn answers(&self) -> Vec<Input> {
        let answer = |by: &str, answer: Answer, version: u32, late: bool| Input::Answer {
            by: who(by),
            enrolled_by: vec![who(if by == ALIAS { "user:r" } else { "user:root" })],
            key: key_of(by),
            groups: Vec::new(),
            answer,
            plan: if version == 1 { self.terms.plan } else { Digest::of(b"another version") },
            version,
            policy: self.terms.policy,
            expires_at: Timestamp::from_millis(if late { START } else { START * 2 }),
        };
        if self.keys {
            return ["user:x", "user:y", "user:r", ALIAS].map(|by| answer(by, Answer::Approve, 1, false)).into();
        }
        vec![
            answer("user:x", Answer::Approve, 1, false),
            answer("user:y", Answer::Approve, 1, false),
            answer("user:r", Answer::Approve, 1, false),
            answer("agent:a", Answer::Approve, 1, false),
            answer("user:y", Answer::Approve, 2, false),
            answer("user:x", Answer::Approve, 1, true),
            answer("user:x", Answer::Deny, 1, false),
        ]
    }

    /// The terms as the buggy gate sees them.
    fn seen_terms(&self) -> Terms {
        let mut terms = self.terms.clone();
        if self.bug == Some(Bug::SkipsApprovals) {
            terms.decision = Decision::Allow;
        }
        terms
    }
}

impl World {
    fn moment(&self) -> Moment {
        Moment { wall: Timestamp::from_millis(self.wall), monotonic: Span::from_millis(self.monotonic) }
    }

    fn running(&self) -> bool {
        matches!(self.case.stage(), Stage::Running(_) | Stage::Countersigned(_))
    }

    fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.ledger.iter().chain(self.waiting.iter().flat_map(|batch| &batch.facts))
    }

    /// One event at the gate: the clock is read, then the case moves.
    fn event(&mut self, model: &Monitor, input: Input) -> Output {
        let was_running = self.running();
        let reading = self.clock.read(self.moment());
        self.went_back |= self.clock.now() < self.latest;
        self.latest = self.latest.max(self.clock.now());
        let now = match model.bug {
            Some(Bug::StopsTheClock) => Timestamp::from_millis(START),
            _ => self.clock.now(),
        };
        let epoch = match (model.bug, self.case.stage()) {
            (Some(Bug::CarriesRunsOverARestart), Stage::Running(run)) => run.lease.epoch,
            _ => self.epoch,
        };
        let context = Context { now, epoch };
        let mut all = Output::default();
        if matches!(reading, Reading::SetBack(_)) {
            self.caught_by_the_clock |= was_running;
            if model.bug != Some(Bug::IgnoresTheClock) {
                let output = self.case.step(context, Input::Halt(Cause::Clock));
                all.facts.extend(output.facts);
                all.orders.extend(output.orders);
            }
        }
        let input = match (model.bug, input) {
            (
                Some(Bug::MistakesTheProposer),
                Input::Answer { by, enrolled_by, key, groups, answer, plan, version, policy, expires_at },
            ) if by == who("agent:a") => {
                let by = who("user:x");
                Input::Answer { by, enrolled_by, key, groups, answer, plan, version, policy, expires_at }
            }
            (
                Some(Bug::OverlooksTheEnroller),
                Input::Answer { by, key, groups, answer, plan, version, policy, expires_at, .. },
            ) => {
                let enrolled_by = Vec::new();
                Input::Answer { by, enrolled_by, key, groups, answer, plan, version, policy, expires_at }
            }
            (Some(Bug::KeepsWithdrawnApprovals), Input::Retire(_)) => Input::Tick,
            (Some(Bug::OverlooksRejections), Input::Rejected) => Input::Tick,
            (_, input) => input,
        };
        let before = self.case.clone();
        let mut output = self.case.step(context, input);
        match model.bug {
            Some(Bug::ForgetsThatAPermitIsSpent) if output.orders.iter().any(|o| matches!(o, Order::Run(_))) => {
                self.case = before;
            }
            Some(Bug::Forgives(violation)) if output.facts.contains(&Fact::Critical(violation)) => {
                self.case = before;
                output = Output { orders: vec![Order::Refuse(Code::SeparationViolation)], ..Output::default() };
            }
            Some(Bug::TellsNobody) => output.orders.retain(|order| !matches!(order, Order::Alert(_))),
            Some(Bug::HidesSelfApproval) => {
                for fact in &mut output.facts {
                    if let Fact::Approved { self_approved, .. } = fact {
                        *self_approved = false;
                    }
                }
            }
            _ => {}
        }
        all.facts.extend(output.facts);
        all.orders.extend(output.orders);
        all.unanswered = output.unanswered;
        self.take(model, all.clone());
        all
    }

    /// What a transition leads to: its record waits, and its orders wait for that.
    fn take(&mut self, model: &Monitor, output: Output) {
        let batch = Batch { facts: output.facts, orders: output.orders, at: self.clock.now() };
        if batch.facts.is_empty() || model.bug == Some(Bug::ActsBeforeTheRecord) {
            let orders = batch.orders.clone();
            self.carry_out(&orders, batch.at);
            if !batch.facts.is_empty() {
                self.waiting.push(Batch { orders: Vec::new(), ..batch });
            }
        } else {
            self.waiting.push(batch);
        }
    }

    fn record(&mut self, facts: Vec<Fact>) {
        self.epochs.extend(facts.iter().map(|_| self.epoch));
        self.ledger.extend(facts);
    }

    fn carry_out(&mut self, orders: &[Order], at: Timestamp) {
        for order in orders {
            match order {
                Order::Start => self.started = true,
                Order::Grant(permit) => {
                    self.granted.insert(*permit);
                }
                Order::Run(permit) => self.run(*permit, at),
                Order::KillExecutor => self.started = false,
                Order::Alert(_) => self.alerted = true,
                Order::Stop { .. } => self.stopped = true,
                Order::Refuse(_) | Order::Tell | Order::KillStep => {}
            }
        }
    }

    /// A step child runs, whatever the gate thinks of it.
    fn run(&mut self, permit: u32, used_at: Timestamp) {
        let named = |fact: &Fact| match fact {
            Fact::Permitted { permit: number, step, phase, .. } if *number == permit => Some((step.clone(), *phase)),
            _ => None,
        };
        // Under a bug an order may name a permit that no record knows; it runs all the same.
        let (step, phase) = self.facts().filter_map(named).last().unwrap_or((step("z"), Phase::Act));
        let deed = Deed { epoch: self.epoch, permit, step, phase, used_at, durable: self.ledger.len(), ended: false };
        self.child = Some(self.deeds.len());
        self.deeds.push(deed);
    }

    fn crash(&mut self, model: &Monitor, durable: usize) {
        for batch in self.waiting.drain(..).take(durable).collect::<Vec<_>>() {
            self.record(batch.facts);
        }
        // A retirement that was not recorded did not happen.
        self.retired &= self.ledger.iter().any(|fact| matches!(fact, Fact::Withdrawn(_)));
        self.crashes_left -= 1;
        self.epoch += 1;
        self.started = false;
        self.granted.clear();
        self.used.clear();
        self.child = None;
        // What it did while the record of it was not durable, nobody knows; what runs on is another matter (INV-6).
        self.misbehaved = false;
        self.waiting.clear();
        self.clock = Clock::start(self.moment(), Some(self.latest), Span::from_secs(5));
        if model.bug == Some(Bug::CarriesRunsOverARestart) {
            self.started = true;
            self.granted = (0..4).collect();
            return;
        }
        let context = Context { now: self.clock.now(), epoch: self.epoch };
        let overlooked =
            |fact: &&Fact| model.bug != Some(Bug::ForgetsIntents) || !matches!(fact, Fact::Intended { .. });
        let facts: Vec<Fact> = self.ledger.iter().filter(overlooked).cloned().collect();
        let (case, output) = Case::rebuild(model.seen_terms(), &facts, context);
        self.case = case;
        self.take(model, output);
    }
}

impl Model for Monitor {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let moment = Moment { wall: Timestamp::from_millis(START), monotonic: Span::from_millis(0) };
        let clock = Clock::start(moment, None, Span::from_secs(5));
        let (case, output) = Case::open(self.seen_terms(), Context { now: clock.now(), epoch: 1 });
        let mut world = World {
            wall: START,
            monotonic: 0,
            time_left: self.time,
            set_backs_left: self.set_backs,
            crashes_left: self.crashes,
            latest: clock.now(),
            went_back: false,
            clock,
            epoch: 1,
            case,
            ledger: Vec::new(),
            epochs: Vec::new(),
            waiting: Vec::new(),
            started: false,
            granted: BTreeSet::new(),
            used: BTreeSet::new(),
            refused: false,
            deeds: Vec::new(),
            child: None,
            approved: Vec::new(),
            retired: false,
            stopped: false,
            misbehaved: false,
            caught_by_the_clock: false,
            alerted: false,
        };
        // A proposal that is not durable is no case: it starts with its record.
        let batch = output.facts;
        world.record(batch);
        world.carry_out(&output.orders, world.clock.now());
        vec![world]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if !world.waiting.is_empty() {
            actions.push(Action::Record);
        }
        let closed = matches!(world.case.stage(), Stage::Closed(..));
        // Nothing comes of a closed case whose record is whole but a late use of a permit.
        if world.crashes_left > 0 && !(closed && world.waiting.is_empty()) {
            actions.extend((0..=world.waiting.len()).map(Action::Crash));
        }
        if world.time_left > 0 && !closed {
            actions.push(Action::Pass);
        }
        if world.set_backs_left > 0 && world.running() {
            actions.push(Action::SetBack);
        }
        // The daemon hands over one event at a time.
        if world.waiting.len() >= self.delay {
            return;
        }
        if self.people && matches!(world.case.stage(), Stage::Pending(_)) {
            // An attempt of the proposer is recorded each time; once is enough to see that.
            let tried = world.facts().any(|fact| *fact == Fact::Critical(Violation::SelfApproval));
            let again = |input: &Input| tried && matches!(input, Input::Answer { by, .. } if *by == who("agent:a"));
            // Who has no enrolled key any more is not heard.
            let gone =
                |input: &Input| world.retired && matches!(input, Input::Answer { key, .. } if *key == key_of("user:x"));
            let answers = self.answers().into_iter().filter(|input| !again(input) && !gone(input));
            actions.extend(answers.map(Action::Say));
            if self.keys && world.approved.contains(&who("user:x")) && !world.retired {
                actions.push(Action::Say(Input::Retire(key_of("user:x"))));
            }
        }
        if matches!(world.case.stage(), Stage::Indeterminate { .. }) {
            for by in ["user:x", "agent:a"] {
                let (by, step) = (who(by), step("a"));
                actions.push(Action::Say(Input::Settle { by, enrolled_by: Vec::new(), step, happened: true }));
            }
            let (by, enrolled_by) = (who("user:x"), Vec::new());
            actions.push(Action::Say(Input::Settle { by, enrolled_by, step: step("b"), happened: false }));
        }
        if matches!(world.case.stage(), Stage::Closed(..) | Stage::Indeterminate { .. }) {
            // Nothing leads out of there; a late use of a permit is enough to see that.
            if world.started && self.liar {
                actions.extend(world.granted.iter().take(1).map(|permit| Action::Perform(Some(*permit))));
            } else if world.started {
                actions.extend(world.granted.difference(&world.used).map(|permit| Action::Perform(Some(*permit))));
            }
            return;
        }
        actions.push(Action::Say(Input::Halt(Cause::Operator)));
        actions.push(Action::Say(Input::Halt(Cause::Rotation)));
        if world.child.is_some() {
            for input in [
                Input::Observed(Fate::Held),
                Input::Observed(Fate::Missed),
                Input::Observed(Fate::Failed),
                Input::Caught,
                Input::BadPermit,
                Input::Lost,
            ] {
                actions.push(Action::Say(input));
            }
        }
        if world.started {
            self.executor(world, actions);
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        match action {
            Action::Record => {
                let batch = world.waiting.remove(0);
                world.record(batch.facts);
                world.carry_out(&batch.orders, batch.at);
            }
            Action::Crash(durable) => world.crash(self, durable),
            Action::Pass => {
                world.time_left -= 1;
                world.wall += i64::try_from(STEP_MS).unwrap();
                world.monotonic += STEP_MS;
                let _ = world.event(self, Input::Tick);
            }
            Action::SetBack => {
                world.set_backs_left -= 1;
                world.wall -= 3_600_000;
                let _ = world.event(self, Input::Tick);
            }
            Action::Say(input) => {
                let by = match &input {
                    Input::Answer { by, answer: Answer::Approve, .. } => Some(by.clone()),
                    _ => None,
                };
                let child_said = matches!(input, Input::Observed(_) | Input::Caught | Input::BadPermit | Input::Lost);
                let known = child_said && input != Input::Lost;
                if world.running() && lies(&input, &world) {
                    world.misbehaved = true;
                }
                if matches!(input, Input::Retire(_)) {
                    world.retired = true;
                    world.approved.retain(|by| *by != who("user:x"));
                }
                let asked = world.running() && matches!(input, Input::Request { .. });
                let output = world.event(self, input);
                world.refused |= asked && no_leave(&output);
                if output.facts.iter().any(|fact| matches!(fact, Fact::Approved { .. })) {
                    world.approved.extend(by);
                }
                if child_said && let Some(deed) = world.child.take() {
                    world.deeds[deed].ended = known;
                }
            }
            Action::Perform(permit) => {
                let spent = permit.is_some_and(|permit| world.used.contains(&permit));
                if world.running() && (permit.is_none() || spent) {
                    world.misbehaved = true;
                }
                let running = world.running();
                let output = world.event(self, Input::Perform(permit));
                world.used.extend(permit);
                world.refused |= running && no_leave(&output);
            }
        }
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("INV-1", inv_1),
            Property::always("INV-2", inv_2),
            Property::always("INV-6", inv_6),
            Property::always("INV-7", inv_7),
            Property::always("INV-9", inv_9),
            Property::always("no false charge", no_false_charge),
            Property::sometimes("a plan completes", |_, world: &World| {
                world.ledger.contains(&Fact::Closed(countersign_gate::machine::Ending::Completed))
            }),
            Property::sometimes("a step is taken back", |_, world: &World| {
                let held = |fact: &Fact| {
                    matches!(fact, Fact::Outcome { phase: Phase::Restore | Phase::Compensate, fate: Fate::Held, .. })
                };
                world.ledger.iter().any(held)
            }),
            Property::sometimes("an outcome is unknown", |_, world: &World| {
                world.ledger.iter().any(|fact| matches!(fact, Fact::Indeterminate { .. }))
            }),
        ]
    }
}

impl Monitor {
    /// What an executor that runs may say: what it should, and lies.
    fn executor(&self, world: &World, actions: &mut Vec<Action>) {
        if matches!(world.case.stage(), Stage::Countersigned(_)) {
            actions.push(Action::Say(Input::Verified(self.terms.plan)));
            if self.liar {
                actions.push(Action::Say(Input::Verified(Digest::of(b"other bytes"))));
                actions.push(Action::Say(Input::Rejected));
            }
        }
        let Stage::Running(run) = world.case.stage() else { return };
        if !self.liar {
            let open = run.permits.iter().any(|permit| permit.state == PermitState::Open);
            if let (Some((place, phase)), None, false) = (run.next(&self.terms), run.flight, open) {
                let step = self.terms.steps[place].0.clone();
                actions.push(Action::Say(Input::Request { step, phase, attempt: 1, judged: Ok(()) }));
            }
            // It uses a permit at once, or never.
            let latest = world.granted.last().filter(|permit| !world.used.contains(permit));
            actions.extend(latest.map(|permit| Action::Perform(Some(*permit))));
            actions.extend(self.account(world, run).map(Action::Say));
            return;
        }
        let mut steps: Vec<StepId> = self.terms.steps.iter().map(|(id, _)| id.clone()).collect();
        steps.push(step("z"));
        for step in steps {
            for phase in [Phase::Snapshot, Phase::Act, Phase::Restore, Phase::Compensate] {
                let request = Input::Request { step: step.clone(), phase, attempt: 1, judged: Ok(()) };
                actions.push(Action::Say(request));
            }
        }
        if let Some((place, phase)) = run.next(&self.terms) {
            let step = self.terms.steps[place].0.clone();
            let judged = Err(Code::PolicyChanged);
            actions.push(Action::Say(Input::Request { step: step.clone(), phase, attempt: 1, judged }));
            actions.push(Action::Say(Input::Request { step, phase, attempt: 2, judged: Ok(()) }));
        }
        actions.extend(world.granted.iter().map(|permit| Action::Perform(Some(*permit))));
        actions.push(Action::Perform(None));
        actions.push(Action::Say(Input::ExecutorOffended));
        actions.push(Action::Say(Input::Rejected));
        actions.push(Action::Say(Input::Verified(self.terms.plan)));
        actions.push(Action::Say(Input::ExecutorLost));
        for completed in [true, false] {
            let name = |place: usize| self.terms.steps[place].0.clone();
            let done: Vec<StepId> = run.done().into_iter().map(name).collect();
            let undone: Vec<StepId> = run.undone.iter().map(|place| name(*place)).collect();
            actions.push(Action::Say(Input::Finished { completed, done, undone }));
        }
        let everything = self.terms.steps.iter().map(|(id, _)| id.clone()).collect();
        actions.push(Action::Say(Input::Finished { completed: true, done: everything, undone: Vec::new() }));
    }
}

impl Monitor {
    /// What an executor that follows its plan says at the end, by what it was told; a word to stop may be on its way to it.
    fn account(&self, world: &World, run: &Run) -> Option<Input> {
        let shown = |id: &StepId| {
            let held =
                |fact: &Fact| matches!(fact, Fact::Outcome { step, phase: Phase::Act, fate: Fate::Held } if step == id);
            world.ledger.iter().any(held)
        };
        let all: Vec<StepId> = self.terms.steps.iter().map(|(id, _)| id.clone()).collect();
        let back = run.permits.iter().any(|permit| matches!(permit.phase, Phase::Restore | Phase::Compensate));
        if all.iter().all(shown) && !world.stopped && !back {
            return Some(Input::Finished { completed: true, done: all, undone: Vec::new() });
        }
        let idle = run.flight.is_none() && run.permits.iter().all(|permit| permit.state != PermitState::Open);
        let over = run.course != Course::Forward && run.next(&self.terms).is_none() && idle && world.waiting.is_empty();
        let name = |place: usize| self.terms.steps[place].0.clone();
        let done = run.done().into_iter().map(name).collect();
        let undone = run.undone.iter().map(|place| name(*place)).collect();
        over.then_some(Input::Finished { completed: false, done, undone })
    }
}

/// Whether the gate gave no leave.
fn no_leave(output: &Output) -> bool {
    output.orders.iter().any(|order| matches!(order, Order::Refuse(_)))
}

/// How a phase of a step ended, by what is on record or on its way there.
fn fate(world: &World, id: &StepId, wanted: Phase) -> Option<Fate> {
    world.facts().find_map(|fact| match fact {
        Fact::Outcome { step, phase, fate } if step == id && *phase == wanted => Some(*fate),
        _ => None,
    })
}

/// Whether something made it known that the run goes no further.
fn turned(world: &World) -> bool {
    let stops = |fact: &Fact| match fact {
        Fact::Outcome { fate, .. } => *fate != Fate::Held,
        Fact::Refused { .. } | Fact::Halted(_) => true,
        _ => false,
    };
    world.refused || world.facts().any(stops)
}

/// Whether an attempt is under way.
fn in_flight(world: &World) -> bool {
    let open = |fact: &Fact| match fact {
        Fact::Intended { step, phase, .. } => fate(world, step, *phase).is_none(),
        _ => false,
    };
    world.facts().any(open)
}

/// Whether an executor that follows its plan would never say this.
fn lies(input: &Input, world: &World) -> bool {
    match input {
        Input::Verified(digest) => {
            *digest != world.case.terms().plan || !matches!(world.case.stage(), Stage::Countersigned(_))
        }
        // Nothing but the gate's own words reaches it here.
        Input::Rejected | Input::ExecutorOffended => true,
        Input::Request { step, phase, attempt, .. } => *attempt != 1 || !is_next(world, step, *phase),
        Input::Finished { completed: true, done, .. } => {
            let acted = |id: &StepId| fate(world, id, Phase::Act) == Some(Fate::Held);
            done.len() != world.case.terms().steps.len() || !done.iter().all(acted) || in_flight(world)
        }
        Input::Finished { completed: false, .. } => !turned(world) || in_flight(world),
        _ => false,
    }
}

/// Whether this is what the plan leads to, by what is on record: each attempt once, the state kept before each step acts, the
/// steps in order; and once something stopped it, back from the newest to the oldest.
fn is_next(world: &World, wanted: &StepId, phase: Phase) -> bool {
    let steps = &world.case.terms().steps;
    let asked = |fact: &Fact| matches!(fact, Fact::Permitted { step, phase: p, .. } | Fact::Refused { step, phase: p, .. } if step == wanted && *p == phase);
    if world.facts().any(asked) || in_flight(world) {
        return false;
    }
    // A permit that it has and did not use: only a halt of the way forward makes it ask for something else.
    let unused = world.facts().fold(None, |last, fact| match fact {
        Fact::Permitted { phase, .. } => Some(*phase),
        Fact::Intended { .. } | Fact::Refused { .. } => None,
        _ => last,
    });
    let forward = matches!(phase, Phase::Snapshot | Phase::Act);
    if let Some(unused) = unused
        && (forward || !turned(world) || matches!(unused, Phase::Restore | Phase::Compensate))
    {
        return false;
    }
    if forward {
        let first = steps.iter().find(|(id, _)| fate(world, id, Phase::Act) != Some(Fate::Held));
        let keep = |id: &StepId, undo: Undo| undo == Undo::Snapshot && fate(world, id, Phase::Snapshot).is_none();
        let due = |(id, undo): &(StepId, Undo)| {
            id == wanted && phase == if keep(id, *undo) { Phase::Snapshot } else { Phase::Act }
        };
        return !world.refused && first.is_some_and(due);
    }
    // Taken back, needed not to be, or failed so that it is left out.
    let settled = |(id, undo): &(StepId, Undo)| match fate(world, id, Phase::Act) {
        None => true,
        Some(fate_) => match take_back(*undo, fate_) {
            TakeBack::Skip => true,
            TakeBack::By(by) => {
                fate(world, id, by) == Some(Fate::Held) || (by == Phase::Restore && fate_ == Fate::Failed)
            }
            TakeBack::Stand => false,
        },
    };
    let mut later = steps.iter().rev().take_while(|(id, _)| id != wanted);
    let due = |(id, undo): &(StepId, Undo)| {
        id == wanted && fate(world, id, Phase::Act).is_some_and(|fate| take_back(*undo, fate) == TakeBack::By(phase))
    };
    turned(world) && later.all(settled) && steps.iter().any(due)
}

/// INV-1: what ran had a durable decision, countersignature and the approvals that the decision asks for.
fn inv_1(model: &Monitor, world: &World) -> bool {
    world.deeds.iter().all(|deed| {
        let durable = &world.ledger[..deed.durable];
        let signed = durable.iter().position(|fact| matches!(fact, Fact::Countersigned(_)));
        let Some(signed) = signed else { return false };
        let before = &durable[..signed];
        let people: BTreeSet<&Principal> = before
            .iter()
            .enumerate()
            .filter_map(|(place, fact)| match fact {
                Fact::Approved { given, .. } => {
                    let gone = Fact::Withdrawn(given.key.clone());
                    let retired = world.retired && given.key == key_of("user:x");
                    (!before[place..].contains(&gone) && !retired).then_some(&given.by)
                }
                _ => None,
            })
            .collect();
        let needed = match model.terms.decision {
            Decision::Allow => 0,
            Decision::RequireApproval => 2,
            Decision::Block => return false,
        };
        before.contains(&Fact::Reviewed)
            && people.len() >= needed
            && !before.iter().any(|fact| matches!(fact, Fact::Denied(_)))
    })
}

/// INV-2: what ran was announced in a durable record; nothing acts twice; what has no known outcome is never taken for ended.
fn inv_2(_: &Monitor, world: &World) -> bool {
    let announced = world.deeds.iter().all(|deed| {
        let intended = Fact::Intended { permit: deed.permit, step: deed.step.clone(), phase: deed.phase };
        world.ledger[..deed.durable].contains(&intended)
    });
    let mut attempts = BTreeSet::new();
    let once = world.deeds.iter().all(|deed| attempts.insert((deed.step.clone(), deed.phase)));
    let closed = matches!(world.case.stage(), Stage::Closed(..));
    let settled = world.facts().any(|fact| matches!(fact, Fact::Settled { .. }));
    // An intent in the record, or a deed in the world, whose end nobody recorded.
    let open = |step: &StepId, phase: Phase| {
        let ended = |fact: &Fact| matches!(fact, Fact::Outcome { step: s, phase: p, .. } if s == step && *p == phase);
        phase != Phase::Snapshot && !world.facts().any(ended)
    };
    let intents = world.facts().filter_map(|fact| match fact {
        Fact::Intended { step, phase, .. } => Some((step, *phase)),
        _ => None,
    });
    let deeds = world.deeds.iter().map(|deed| (&deed.step, deed.phase));
    let unknown = intents.chain(deeds).any(|(step, phase)| open(step, phase));
    announced && once && !(closed && unknown && !settled)
}

/// INV-6: a permit is used once, in its epoch, before it expires; gate time never goes back, and a clock that does ends runs.
fn inv_6(_: &Monitor, world: &World) -> bool {
    let mut used = BTreeSet::new();
    let permits = world.deeds.iter().all(|deed| {
        let issued =
            world.ledger[..deed.durable].iter().zip(&world.epochs).rev().find_map(|(fact, epoch)| match fact {
                Fact::Permitted { permit, expires_at, .. } if *permit == deed.permit => Some((*epoch, *expires_at)),
                _ => None,
            });
        let signed = world.ledger[..deed.durable].iter().rev().find_map(|fact| match fact {
            Fact::Countersigned(lease) => Some(lease.epoch),
            _ => None,
        });
        used.insert((deed.epoch, deed.permit))
            && signed == Some(deed.epoch)
            && issued.is_some_and(|(epoch, expires_at)| epoch == deed.epoch && deed.used_at < expires_at)
    });
    permits && !world.went_back && !(world.caught_by_the_clock && world.running())
}

/// INV-7: who proposed never approved; the requester only where that is allowed, and the record says so.
fn inv_7(model: &Monitor, world: &World) -> bool {
    let proposer = world.approved.contains(&model.terms.proposer);
    let own = |by: &Principal| *by == model.terms.requester || *by == who(ALIAS);
    let recorded = world.facts().all(|fact| match fact {
        Fact::Approved { given, self_approved } => {
            given.by != model.terms.proposer && (!own(&given.by) || (*self_approved && model.terms.eyes == Eyes::Two))
        }
        _ => true,
    });
    !proposer && recorded
}

/// INV-9: an executor that misbehaves is recorded and told of, and neither it nor anybody else goes on with the case.
fn inv_9(_: &Monitor, world: &World) -> bool {
    let separation = |fact: &Fact| matches!(fact, Fact::Critical(violation) if !matches!(violation, Violation::Sandbox | Violation::SelfApproval));
    let critical = world.facts().any(separation);
    let waits = world.waiting.iter().any(|batch| batch.facts.iter().any(separation));
    let after = world.deeds.iter().any(|deed| world.ledger[..deed.durable].iter().any(separation));
    // A crash between a record and its orders loses the alarm; the record stays.
    let crashed = world.epoch > 1;
    let seen = critical || !world.misbehaved;
    let told = !critical || world.alerted || waits || crashed;
    seen && told && !after && !((critical || world.misbehaved) && world.running())
}

/// INV-9 accuses nobody who follows the plan, whatever crosses with what.
fn no_false_charge(model: &Monitor, world: &World) -> bool {
    let charged = |fact: &Fact| match fact {
        Fact::Critical(violation) => {
            !matches!(violation, Violation::Sandbox | Violation::SelfApproval | Violation::BadPermit)
        }
        _ => false,
    };
    model.liar || !world.facts().any(charged)
}

fn check(model: Monitor, depth: usize) -> impl Checker<Monitor> {
    model.checker().threads(2).target_max_depth(depth).spawn_bfs().join()
}

/// Explores every order of events within the model's bounds, to the end.
fn holds(name: &str, model: Monitor) -> impl Checker<Monitor> {
    let began = std::time::Instant::now();
    let found = check(model, 1000);
    println!("{name}: {} states, depth {}, {:?}", found.unique_state_count(), found.max_depth(), began.elapsed());
    for property in ["INV-1", "INV-2", "INV-6", "INV-7", "INV-9", "no false charge"] {
        if let Some(path) = found.discovery(property) {
            panic!("{name}: {property} does not hold: {:#?}", path.into_actions());
        }
    }
    found
}

/// INV-1, INV-2, INV-6, INV-7 and INV-9 hold in every order of events: with people asked, and on the whole way of a plan
/// there and back.
#[test]
fn the_model_holds_its_invariants() {
    let asked = |undo| Monitor::new(Decision::RequireApproval, &[("a", undo)]);
    let allowed = |undo| Monitor::new(Decision::Allow, &[("a", undo)]);
    holds("people, crashes, time", asked(Undo::Action).honest().upset(1, 1, 0));
    holds("other names, keys retired", asked(Undo::Action).honest().keys(Eyes::Two).upset(0, 1, 0));
    holds("four eyes, keys retired", asked(Undo::Action).honest().keys(Eyes::Four).upset(0, 1, 0));
    holds("halts that cross with what the executor says", allowed(Undo::Action).honest().delayed(2));
    holds("crashes, time, lies, records late", allowed(Undo::Action).upset(1, 1, 0).delayed(2));
    holds("clock set back, lies", allowed(Undo::Snapshot).upset(1, 0, 1));
    holds("expiry, records late", allowed(Undo::Action).upset(1, 1, 0).short().honest().delayed(2));
    let both = Monitor::new(Decision::Allow, &[("a", Undo::Snapshot), ("b", Undo::Action)]);
    let way = holds("two steps there and back, crashes, lies", both.clone().upset(0, 1, 0));
    for reached in ["a plan completes", "a step is taken back", "an outcome is unknown"] {
        assert!(way.discovery(reached).is_some(), "{reached} was never reached: the model is too narrow");
    }
    holds("two steps, crashes, time", both.honest().upset(1, 1, 0));
    let blocked = holds("blocked", Monitor::new(Decision::Block, &[("a", Undo::Pure)]).upset(1, 1, 1));
    assert!(blocked.discovery("a plan completes").is_none(), "a blocked plan ran");
}

/// Each property fails on a transition function with a bug that breaks it: the check can find what it looks for.
#[test]
fn a_seeded_bug_is_found() {
    let asked = || Monitor::new(Decision::RequireApproval, &[("a", Undo::Action)]).honest();
    let run = || Monitor::new(Decision::Allow, &[("a", Undo::Action)]);
    let two = || Monitor::new(Decision::Allow, &[("a", Undo::Snapshot), ("b", Undo::Action)]);
    let bugs = [
        (asked().with(Bug::SkipsApprovals), "INV-1"),
        (run().with(Bug::ActsBeforeTheRecord), "INV-2"),
        (run().upset(0, 1, 0).honest().with(Bug::ForgetsIntents), "INV-2"),
        (run().with(Bug::ForgetsThatAPermitIsSpent), "INV-2"),
        (run().with(Bug::ForgetsThatAPermitIsSpent), "INV-6"),
        (run().upset(1, 0, 0).with(Bug::StopsTheClock), "INV-6"),
        (run().upset(0, 1, 0).with(Bug::CarriesRunsOverARestart), "INV-6"),
        (run().upset(0, 0, 1).with(Bug::IgnoresTheClock), "INV-6"),
        (asked().with(Bug::MistakesTheProposer), "INV-7"),
        (asked().with(Bug::HidesSelfApproval), "INV-7"),
        (asked().keys(Eyes::Four).with(Bug::OverlooksTheEnroller), "INV-7"),
        (asked().keys(Eyes::Two).with(Bug::KeepsWithdrawnApprovals), "INV-1"),
        (run().with(Bug::OverlooksRejections), "INV-9"),
        (run().with(Bug::TellsNobody), "INV-9"),
        (two().with(Bug::Forgives(Violation::OutOfTurn)), "INV-9"),
        (two().with(Bug::Forgives(Violation::OtherPlan)), "INV-9"),
        (two().with(Bug::Forgives(Violation::OutsidePlan)), "INV-9"),
        (two().with(Bug::Forgives(Violation::Repeat)), "INV-9"),
        (two().with(Bug::Forgives(Violation::UnknownPermit)), "INV-9"),
        (two().with(Bug::Forgives(Violation::SpentPermit)), "INV-9"),
        (two().with(Bug::Forgives(Violation::FalseReport)), "INV-9"),
        (two().with(Bug::Forgives(Violation::Mistrusted)), "INV-9"),
        (two().with(Bug::Forgives(Violation::Executor)), "INV-9"),
    ];
    for (model, property) in bugs {
        let bug = model.bug;
        let wanted = HasDiscoveries::AllOf([property].into());
        let checker = model.checker().threads(2).finish_when(wanted).target_state_count(400_000);
        let found = checker.spawn_bfs().join();
        assert!(found.discovery(property).is_some(), "{bug:?} was not found by {property}");
    }
}
