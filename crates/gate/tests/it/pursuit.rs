//! The case of a goal in every order of events: a planner that proposes, answers, gives up, lies and is halted, around versions
//! that people approve and executors run.
//!
//! The model drives [`countersign_gate::machine::Pursuit`] beside [`countersign_gate::machine::Case`], composed as the gate
//! composes them. What it checks is what the pair promises: a version's approvals are its own, nothing starts once the pursuit was
//! stopped, an answer never comes while something is under way, and the case ends once.

use countersign_gate::machine::{
    Aim, Case, Cause, Context, Ending, Eyes, Fact, Input, Order, Pursuit, Stage, Terms, is_active,
};
use countersign_plan::approval::Answer;
use countersign_plan::digest::Digest;
use countersign_plan::permit::Phase;
use countersign_plan::saga::{Fate, Undo};
use countersign_plan::time::{Span, Timestamp};
use countersign_plan::verdict::{Decision, Quorum};
use stateright::{Checker, HasDiscoveries, Model, Property};

const PATIENCE: Span = Span::from_secs(60);
const START: i64 = 1_000_000;

/// A bug that is put around the pursuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Bug {
    /// A stopped pursuit takes further versions.
    ProposesAfterTheEnd,
    /// An answer is taken at any time.
    AnswersWhileItRuns,
    /// A violation ends the planner and leaves the version alone.
    LeavesTheVersion,
    /// A new version begins with the approvals of the one before.
    KeepsApprovals,
    /// The end of a version ends the case.
    EndsTwice,
    /// Who gave the goal gives it more budget too.
    GivesItself,
}

#[derive(Debug, Clone)]
struct Goal {
    bug: Option<Bug>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    now: Timestamp,
    pursuit: Pursuit,
    version: Option<Case>,
    number: u32,
    /// The planner was caught acting, or an operator stopped the case.
    stopped: bool,
    /// An executor was started, or a step acted, after that.
    started_late: bool,
    /// A version was started without an approval of exactly that version.
    unapproved: bool,
    /// The versions that somebody approved.
    approved: Vec<u32>,
    /// An answer was taken while a version could still act.
    early: bool,
    /// A person's word on a budget counted that was not asked for, or was the requester's own.
    unasked: bool,
    /// How often the case ended.
    ends: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Action {
    Propose(Decision),
    Approve(u32),
    Say(Input),
    Answer,
    GiveUp,
    Violate,
    Halt,
    /// A budget is spent.
    Pause,
    /// A person answers that; whether it is the one who gave the goal.
    Decide(Said, bool),
    Pass,
}

/// What a person says to a spent budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Said {
    Yes,
    No,
}

fn terms(version: u32, decision: Decision) -> Terms {
    Terms {
        plan: plan(version),
        version,
        policy: Digest::of(b"policy"),
        proposer: "agent:a".parse().unwrap(),
        requester: "user:r".parse().unwrap(),
        eyes: Eyes::Four,
        decision,
        quorums: if decision == Decision::RequireApproval {
            vec![Quorum { group: None, quorum: 1 }]
        } else {
            Vec::new()
        },
        aim: Aim::Run,
        steps: vec![("a".parse().unwrap(), Undo::Action)],
        lifetime: Span::from_secs(3600),
        pending_until: Timestamp::from_millis(START).plus(Span::from_secs(3600)),
    }
}

fn plan(version: u32) -> Digest {
    Digest::of(&version.to_be_bytes())
}

impl World {
    fn context(&self) -> Context {
        Context { now: self.now, epoch: 1 }
    }

    fn stage(&self) -> Option<&Stage> {
        self.version.as_ref().map(Case::stage)
    }

    /// What a version's move leads to, as the gate carries it out.
    fn carry(&mut self, goal: &Goal, facts: &[Fact], orders: &[Order]) {
        let number = self.number;
        // A halt of a person takes back: what runs after it is a way back, and nothing else.
        let forward = |fact: &Fact| matches!(fact, Fact::Intended { phase: Phase::Snapshot | Phase::Act, .. });
        self.started_late |= self.stopped && facts.iter().any(forward);
        if orders.contains(&Order::Start) {
            self.started_late |= self.stopped;
            let asked = self.version.as_ref().is_some_and(|case| case.terms().decision == Decision::RequireApproval);
            self.unapproved |= asked && !self.approved.contains(&number);
        }
        let closed = facts.iter().any(|fact| matches!(fact, Fact::Closed(_)));
        if closed && (self.pursuit.over().is_some() || goal.bug == Some(Bug::EndsTwice)) {
            self.ends += 1;
        }
    }

    fn input(&mut self, goal: &Goal, input: Input) {
        let context = self.context();
        let Some(version) = &mut self.version else { return };
        let output = version.step(context, input);
        self.carry(goal, &output.facts, &output.orders);
    }

    /// The planner's part is over; the case with it, unless a version is under way.
    fn end(&mut self, ending: Ending) {
        let fresh = self.pursuit.over().is_none();
        self.pursuit.end(ending);
        if fresh && !is_active(self.stage()) {
            self.ends += 1;
        }
    }

    fn stop(&mut self, goal: &Goal, cause: Cause) {
        self.end(Ending::Halted);
        self.stopped = true;
        if goal.bug != Some(Bug::LeavesTheVersion) {
            self.input(goal, Input::Halt(cause));
        }
    }
}

impl Model for Goal {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let now = Timestamp::from_millis(START);
        vec![World {
            now,
            pursuit: Pursuit::open(now, PATIENCE),
            version: None,
            number: 0,
            stopped: false,
            started_late: false,
            unapproved: false,
            approved: Vec::new(),
            early: false,
            unasked: false,
            ends: 0,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.number < 3 {
            actions.extend([Decision::Allow, Decision::RequireApproval, Decision::Block].map(Action::Propose));
        }
        actions.extend((1..=world.number).map(Action::Approve));
        actions.extend([Action::Answer, Action::GiveUp, Action::Violate, Action::Halt]);
        if world.now == Timestamp::from_millis(START) {
            actions.push(Action::Pass);
        }
        if world.number < 2 && !is_active(world.stage()) {
            actions.push(Action::Pause);
            let words = [(Said::Yes, false), (Said::Yes, true), (Said::No, false)];
            actions.extend(words.map(|(said, own)| Action::Decide(said, own)));
        }
        let say = |input| Action::Say(input);
        match world.stage() {
            Some(Stage::Countersigned(_)) => actions.push(say(Input::Verified(plan(world.number)))),
            Some(Stage::Running(run)) => {
                let step = || "a".parse().unwrap();
                if let (Some((_, phase)), None) = (run.next(&terms(world.number, Decision::Allow)), run.flight) {
                    actions.push(say(Input::Request { step: step(), phase, attempt: 1, judged: Ok(()) }));
                }
                let last = u32::try_from(run.permits.len()).unwrap().checked_sub(1);
                actions.extend(last.filter(|_| run.flight.is_none()).map(|permit| say(Input::Perform(Some(permit)))));
                if run.flight.is_some() {
                    actions.extend([Input::Observed(Fate::Held), Input::Observed(Fate::Missed), Input::Lost].map(say));
                }
                let name = |places: Vec<usize>| places.into_iter().map(|_| step()).collect();
                let (done, undone) = (name(run.done()), name(run.undone.clone()));
                let completed = run.done().len() == 1;
                actions.push(say(Input::Finished { completed, done, undone }));
            }
            Some(Stage::Indeterminate { .. }) => {
                let (by, step) = ("user:x".parse().unwrap(), "a".parse().unwrap());
                actions.push(say(Input::Settle { by, enrolled_by: Vec::new(), step, happened: true }));
            }
            Some(Stage::Pending(_) | Stage::Closed(..)) | None => {}
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        match action {
            Action::Propose(decision) => {
                let open = world.pursuit.propose(world.stage());
                let version = match (open, self.bug) {
                    (Ok(version), _) => version,
                    (Err(_), Some(Bug::ProposesAfterTheEnd)) if !is_active(world.stage()) => world.number + 1,
                    (Err(_), _) => return None,
                };
                world.input(self, Input::Supersede);
                world.pursuit.proposed();
                world.number = version;
                let (case, output) = Case::open(terms(version, decision), world.context());
                world.version = Some(case);
                world.carry(self, &output.facts, &output.orders);
                if self.bug == Some(Bug::KeepsApprovals) && !world.approved.is_empty() {
                    let input = approval(version);
                    world.input(self, input);
                }
            }
            Action::Approve(version) => {
                if version == world.number && !world.approved.contains(&version) {
                    world.approved.push(version);
                }
                world.input(self, approval(version));
            }
            Action::Say(input) => world.input(self, input),
            Action::Answer => {
                let active = is_active(world.stage());
                let stage = world.version.as_ref().map(|case| case.stage().clone());
                let taken = world.pursuit.answer(stage.as_ref()).is_ok();
                if taken {
                    world.ends += 1;
                } else if self.bug == Some(Bug::AnswersWhileItRuns) && world.pursuit.over().is_none() {
                    world.end(Ending::Answered);
                    world.early |= active;
                }
                world.early |= taken && active;
            }
            Action::GiveUp => world.end(Ending::Abandoned),
            Action::Violate => world.stop(self, Cause::Violation),
            Action::Halt => world.stop(self, Cause::Operator),
            Action::Pause => drop(world.pursuit.pause(world.now.plus(PATIENCE))),
            Action::Decide(said, own) => {
                let answer = if said == Said::Yes { Answer::Approve } else { Answer::Deny };
                let (asked, active) = (world.pursuit.waits().is_some(), is_active(world.stage()));
                let eyes = if self.bug == Some(Bug::GivesItself) { Eyes::Two } else { Eyes::Four };
                if world.pursuit.decide(world.now, answer, false, own, eyes).is_ok() {
                    world.unasked |= !asked || (own && said == Said::Yes);
                    world.ends += u8::from(said == Said::No && !active);
                }
            }
            Action::Pass => {
                world.now = world.now.plus(Span::from_secs(61));
                let stage = world.version.as_ref().map(|case| case.stage().clone());
                if world.pursuit.tick(world.now, stage.as_ref()).is_some() {
                    world.ends += 1;
                }
                world.input(self, Input::Tick);
            }
        }
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing starts after a stop", |_, world: &World| !world.started_late),
            Property::always("approvals are a version's own", |_, world: &World| !world.unapproved),
            Property::always("no answer while something is under way", |_, world: &World| !world.early),
            Property::always("the case ends once, and only when it is over", |_, world: &World| {
                let over = world.pursuit.over().is_some() && !is_active(world.stage());
                world.ends == u8::from(over)
            }),
            Property::always("people's word on a budget is asked for, and somebody else's", |_, world: &World| {
                !world.unasked
            }),
            Property::sometimes("answered after a revision", |_, world: &World| {
                world.pursuit.over() == Some(Ending::Answered) && world.number == 2
            }),
        ]
    }
}

fn approval(version: u32) -> Input {
    Input::Answer {
        by: "user:x".parse().unwrap(),
        enrolled_by: Vec::new(),
        key: "key-x".parse().unwrap(),
        groups: Vec::new(),
        answer: Answer::Approve,
        plan: plan(version),
        version,
        policy: Digest::of(b"policy"),
        expires_at: Timestamp::from_millis(START * 10),
    }
}

/// INV-1, INV-9 around a planner, in every order of events.
#[test]
fn a_pursuit_holds_its_promises_in_every_order() {
    let began = std::time::Instant::now();
    let found = Goal { bug: None }.checker().threads(2).target_max_depth(14).spawn_bfs().join();
    println!("pursuit: {} states, depth {}, {:?}", found.unique_state_count(), found.max_depth(), began.elapsed());
    for (name, path) in found.discoveries() {
        assert_eq!(name, "answered after a revision", "{name} does not hold: {:#?}", path.into_actions());
    }
    assert!(found.discovery("answered after a revision").is_some());
}

/// Each promise fails on a pursuit with a bug that breaks it.
#[test]
fn a_seeded_bug_of_a_pursuit_is_found() {
    for (bug, property) in [
        (Bug::ProposesAfterTheEnd, "nothing starts after a stop"),
        (Bug::LeavesTheVersion, "nothing starts after a stop"),
        (Bug::KeepsApprovals, "approvals are a version's own"),
        (Bug::AnswersWhileItRuns, "no answer while something is under way"),
        (Bug::EndsTwice, "the case ends once, and only when it is over"),
        (Bug::GivesItself, "people's word on a budget is asked for, and somebody else's"),
    ] {
        let wanted = HasDiscoveries::AllOf([property].into());
        let checker = Goal { bug: Some(bug) }.checker().threads(2).finish_when(wanted).target_state_count(400_000);
        let found = checker.spawn_bfs().join();
        assert!(found.discovery(property).is_some(), "{bug:?} was not found by {property}");
    }
}
