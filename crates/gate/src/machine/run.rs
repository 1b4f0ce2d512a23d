//! The moves of a run: verify, request, perform, observe, take back, end.

use countersign_plan::digest::Digest;
use countersign_plan::id::StepId;
use countersign_plan::permit::{Phase, TIME_TO_START};
use countersign_plan::saga::{Fate, TakeBack, Undo, take_back};
use countersign_plan::time::{Span, Timestamp};
use countersign_plan::verdict::Code;

use super::{Case, Cause, Context, Ending, Fact, Lease, Order, Output, Stage, Terms, Violation};

/// How long after a plan's expiry what it did may still be taken back. No step acts in that time.
pub const UNDO_GRACE: Span = Span::from_secs(3600);

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Run {
    /// For how long, and in which epoch.
    pub lease: Lease,
    /// Forward or back.
    pub course: Course,
    /// Step by step, in the order of execution.
    pub steps: Vec<Progress>,
    /// Every permit that was issued; the number of a permit is its place.
    pub permits: Vec<Issued>,
    /// The permit whose attempt is under way.
    pub flight: Option<u32>,
    /// The steps that were taken back, in that order, by place.
    pub undone: Vec<usize>,
    /// The executor was refused once: it knows that it goes no further.
    pub told: bool,
}

/// Which way a run goes. It turns back once, and never again forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Course {
    /// Step by step as the plan says.
    Forward,
    /// What was done is taken back, newest first, and the case ends so.
    Back(Ending),
    /// Something could not be taken back: it and everything before it stand.
    Stuck(Ending),
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Nothing happened yet.
    Waiting,
    /// The state before it is kept.
    Kept,
    /// It acted, and ended so.
    Acted(Fate),
    /// It was taken back, or needed not to be.
    Undone,
}

/// A permit that was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Issued {
    /// The step's place.
    pub step: usize,
    /// What for.
    pub phase: Phase,
    /// Not to be started from then on.
    pub expires_at: Timestamp,
    /// Whether it is still good.
    pub state: PermitState,
}

/// Whether a permit is still good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PermitState {
    /// Issued and not used.
    Open,
    /// Used, whatever came of it.
    Spent,
    /// Not used, and not to be used any more.
    Dead,
}

impl Run {
    fn new(lease: Lease, steps: usize) -> Self {
        Self {
            lease,
            course: Course::Forward,
            steps: vec![Progress::Waiting; steps],
            permits: Vec::new(),
            flight: None,
            undone: Vec::new(),
            told: false,
        }
    }

    /// The one thing that may be asked for next: a step's place and phase.
    #[must_use]
    pub fn next(&self, terms: &Terms) -> Option<(usize, Phase)> {
        match self.course {
            Course::Forward => self.ahead(terms),
            Course::Back(_) => {
                for (place, progress) in self.steps.iter().enumerate().rev() {
                    let (Progress::Acted(fate), Some((_, undo))) = (progress, terms.steps.get(place)) else { continue };
                    match take_back(*undo, *fate) {
                        TakeBack::Skip => {}
                        TakeBack::By(phase) => return Some((place, phase)),
                        TakeBack::Stand => return None,
                    }
                }
                None
            }
            Course::Stuck(_) => None,
        }
    }

    /// What comes next as long as nothing turns the run back.
    fn ahead(&self, terms: &Terms) -> Option<(usize, Phase)> {
        let open = |progress: &Progress| *progress != Progress::Acted(Fate::Held);
        let place = self.steps.iter().position(open)?;
        let (_, undo) = terms.steps.get(place)?;
        let kept = *undo != Undo::Snapshot || self.steps.get(place) == Some(&Progress::Kept);
        Some((place, if kept { Phase::Act } else { Phase::Snapshot }))
    }

    /// Makes every unused permit worthless, and hands all of them over.
    pub(super) fn retire(&mut self) -> Vec<Issued> {
        self.expire_permits();
        std::mem::take(&mut self.permits)
    }

    fn expire_permits(&mut self) {
        for permit in self.permits.iter_mut().filter(|permit| permit.state == PermitState::Open) {
            permit.state = PermitState::Dead;
        }
    }

    fn turn(&mut self, ending: Ending) {
        if self.course == Course::Forward {
            self.course = Course::Back(ending);
        }
        self.expire_permits();
    }

    fn get(&self, permit: u32) -> Option<&Issued> {
        self.permits.get(usize::try_from(permit).ok()?)
    }

    fn get_mut(&mut self, permit: u32) -> Option<&mut Issued> {
        self.permits.get_mut(usize::try_from(permit).ok()?)
    }

    /// The attempt under way: step and phase.
    fn attempt(&self, terms: &Terms) -> Option<(StepId, Phase)> {
        let issued = self.get(self.flight?)?;
        let (step, _) = terms.steps.get(issued.step)?;
        Some((step.clone(), issued.phase))
    }

    /// The steps that went as the plan says, by place.
    #[must_use]
    pub fn done(&self) -> Vec<usize> {
        let held = |(place, progress): (usize, &Progress)| match progress {
            Progress::Acted(Fate::Held) => Some(place),
            Progress::Waiting | Progress::Kept | Progress::Acted(_) | Progress::Undone => None,
        };
        self.steps.iter().enumerate().filter_map(held).collect()
    }

    const fn ending(&self) -> Ending {
        match self.course {
            Course::Forward => Ending::Completed,
            Course::Back(ending) | Course::Stuck(ending) => ending,
        }
    }
}

/// Whether an attempt of this phase changes the world: then an unknown outcome is never taken for none.
pub(super) const fn changes(phase: Phase) -> bool {
    match phase {
        Phase::Snapshot => false,
        Phase::Act | Phase::Restore | Phase::Compensate => true,
    }
}

impl Case {
    pub(super) fn verified(&mut self, context: Context, digest: Digest, output: &mut Output) {
        match &self.stage {
            Stage::Countersigned(lease) if lease.epoch == context.epoch && digest == self.terms.plan => {
                self.stage = Stage::Running(Run::new(*lease, self.terms.steps.len()));
            }
            Stage::Countersigned(_) => self.violate(Violation::OtherPlan, output),
            Stage::Running(_) => self.violate(Violation::OutOfTurn, output),
            Stage::Pending(_) => self.violate(Violation::OutOfTurn, output),
            Stage::Indeterminate { .. } | Stage::Closed(..) => output.orders.push(Order::Refuse(Code::RunHalted)),
        }
    }

    /// Who refuses the plan is not given leave any more; who refuses what came after it says that this was not the gate's.
    pub(super) fn rejected(&mut self, output: &mut Output) {
        let running = matches!(self.stage, Stage::Running(_));
        self.violate(if running { Violation::Mistrusted } else { Violation::OtherPlan }, output);
    }

    pub(super) fn request(
        &mut self,
        context: Context,
        step: &StepId,
        phase: Phase,
        attempt: u32,
        judged: Result<(), Code>,
        output: &mut Output,
    ) {
        let run = match &mut self.stage {
            Stage::Running(run) => run,
            Stage::Pending(_) | Stage::Countersigned(_) => return self.violate(Violation::OutOfTurn, output),
            Stage::Indeterminate { .. } | Stage::Closed(..) => {
                return output.orders.push(Order::Refuse(Code::RunHalted));
            }
        };
        let place = self.terms.steps.iter().position(|(id, _)| id == step);
        let (Some(place), true) = (place, run.flight.is_none()) else {
            return self.violate(Violation::OutsidePlan, output);
        };
        if attempt != 1 {
            return self.violate(Violation::Repeat, output);
        }
        if run.permits.iter().any(|permit| permit.state == PermitState::Open) {
            return self.violate(Violation::OutsidePlan, output);
        }
        let forward = matches!(phase, Phase::Snapshot | Phase::Act);
        if forward && run.course != Course::Forward {
            // It was told to turn back after it asked: late once, not outside the plan (ADR 12).
            let unasked = !run.permits.iter().any(|permit| (permit.step, permit.phase) == (place, phase));
            let late = unasked && !run.told && run.ahead(&self.terms) == Some((place, phase));
            run.told = true;
            return if late {
                output.orders.push(Order::Refuse(Code::RunHalted));
            } else {
                self.violate(Violation::OutsidePlan, output)
            };
        }
        if run.next(&self.terms) != Some((place, phase)) && !run.leaves_out(&self.terms, place, phase) {
            return self.violate(Violation::OutsidePlan, output);
        }
        let last = if forward { run.lease.expires_at } else { run.lease.expires_at.plus(UNDO_GRACE) };
        let judged =
            if run.lease.epoch != context.epoch || context.now >= last { Err(Code::RunExpired) } else { judged };
        match judged {
            Ok(()) => {
                let expires_at = context.now.plus(TIME_TO_START).min(last);
                let permit = u32::try_from(run.permits.len()).unwrap_or(u32::MAX);
                run.permits.push(Issued { step: place, phase, expires_at, state: PermitState::Open });
                output.facts.push(Fact::Permitted { permit, step: step.clone(), phase, expires_at });
                output.orders.push(Order::Grant(permit));
            }
            Err(code) => {
                run.refuse();
                output.facts.push(Fact::Refused { step: step.clone(), phase, code });
                output.orders.push(Order::Refuse(code));
            }
        }
    }

    pub(super) fn perform(&mut self, context: Context, permit: Option<u32>, output: &mut Output) {
        let issued = match (&self.stage, permit) {
            (Stage::Running(run), Some(permit)) => run.get(permit).copied(),
            (Stage::Closed(_, permits), Some(permit)) => {
                usize::try_from(permit).ok().and_then(|place| permits.get(place)).copied()
            }
            (_, None) | (Stage::Pending(_) | Stage::Countersigned(_) | Stage::Indeterminate { .. }, Some(_)) => None,
        };
        let Some(Issued { step: place, phase, expires_at, state }) = issued else {
            return self.violate(Violation::UnknownPermit, output);
        };
        match state {
            PermitState::Spent => return self.violate(Violation::SpentPermit, output),
            PermitState::Dead => {
                if let Stage::Running(run) = &mut self.stage
                    && std::mem::replace(&mut run.told, true)
                {
                    return self.violate(Violation::SpentPermit, output);
                }
                return output.orders.push(Order::Refuse(Code::RunHalted));
            }
            PermitState::Open => {}
        }
        let (Stage::Running(run), Some(permit), Some((step, _))) =
            (&mut self.stage, permit, self.terms.steps.get(place))
        else {
            return self.violate(Violation::UnknownPermit, output);
        };
        if context.epoch != run.lease.epoch || context.now >= expires_at {
            run.refuse();
            output.facts.push(Fact::Refused { step: step.clone(), phase, code: Code::RunExpired });
            output.orders.push(Order::Refuse(Code::RunExpired));
            return;
        }
        if let Some(issued) = run.get_mut(permit) {
            issued.state = PermitState::Spent;
        }
        run.flight = Some(permit);
        output.facts.push(Fact::Intended { permit, step: step.clone(), phase });
        output.orders.push(Order::Run(permit));
    }

    pub(super) fn observed(&mut self, fate: Fate, output: &mut Output) {
        let Stage::Running(run) = &mut self.stage else { return output.facts.push(Fact::Stray) };
        let Some((step, phase)) = run.attempt(&self.terms) else { return output.facts.push(Fact::Stray) };
        let place = run.flight.take().and_then(|permit| run.get(permit)).map(|issued| issued.step);
        output.facts.push(Fact::Outcome { step, phase, fate });
        output.orders.push(Order::Tell);
        let Some(progress) = place.and_then(|place| run.steps.get_mut(place)) else { return };
        match (phase, fate) {
            (Phase::Snapshot, Fate::Held) => *progress = Progress::Kept,
            (Phase::Snapshot, Fate::Missed | Fate::Failed | Fate::Cut) => run.turn(Ending::Stopped),
            (Phase::Act, Fate::Held) => *progress = Progress::Acted(fate),
            (Phase::Act, Fate::Missed | Fate::Failed | Fate::Cut) => {
                *progress = Progress::Acted(fate);
                run.turn(Ending::Stopped);
            }
            (Phase::Restore | Phase::Compensate, Fate::Held) => {
                *progress = Progress::Undone;
                run.undone.extend(place);
            }
            (Phase::Restore | Phase::Compensate, Fate::Missed | Fate::Failed | Fate::Cut) => run.stick(),
        }
    }

    /// The sandbox stopped something: the attempt was cut, and somebody must know.
    pub(super) fn caught(&mut self, output: &mut Output) {
        self.observed(Fate::Cut, output);
        output.facts.push(Fact::Critical(Violation::Sandbox));
        output.orders.push(Order::Alert(Violation::Sandbox));
    }

    /// Nothing ran, because the zygote found the permit bad.
    pub(super) fn violate_unstarted(&mut self, output: &mut Output) {
        if let Stage::Running(run) = &mut self.stage
            && let Some((step, phase)) = run.attempt(&self.terms)
        {
            output.facts.push(Fact::Outcome { step, phase, fate: Fate::Failed });
            run.flight = None;
        }
        self.violate(Violation::BadPermit, output);
    }

    pub(super) fn lost(&mut self, output: &mut Output) {
        let attempt = match &self.stage {
            Stage::Running(run) => run.attempt(&self.terms),
            Stage::Pending(_) | Stage::Countersigned(_) | Stage::Indeterminate { .. } | Stage::Closed(..) => None,
        };
        match attempt {
            None => output.facts.push(Fact::Stray),
            // Nothing but the snapshot's own store was touched.
            Some((_, phase)) if !changes(phase) => self.observed(Fate::Failed, output),
            Some((step, phase)) => {
                output.orders.push(Order::KillExecutor);
                self.indeterminate(step, phase, output);
            }
        }
    }

    pub(super) fn executor_lost(&mut self, output: &mut Output) {
        match &self.stage {
            Stage::Countersigned(_) | Stage::Running(_) => self.stop_now(Cause::Executor, output),
            Stage::Pending(_) | Stage::Indeterminate { .. } | Stage::Closed(..) => {}
        }
    }

    pub(super) fn finished(&mut self, completed: bool, done: &[StepId], undone: &[StepId], output: &mut Output) {
        let run = match &self.stage {
            Stage::Running(run) => run,
            Stage::Pending(_) | Stage::Countersigned(_) => return self.violate(Violation::OutOfTurn, output),
            Stage::Indeterminate { .. } | Stage::Closed(..) => return,
        };
        let name = |place: &usize| self.terms.steps.get(*place).map(|(id, _)| id.clone());
        let held: Vec<StepId> = run.done().iter().filter_map(name).collect();
        let taken: Vec<StepId> = run.undone.iter().filter_map(name).collect();
        let pure = |id: &&StepId| self.terms.steps.iter().any(|(step, undo)| step == *id && *undo == Undo::Pure);
        // Whether a step that was taken back still counts as done is the executor's way of speaking.
        let done: Vec<&StepId> = done.iter().filter(|id| !taken.contains(id)).collect();
        let told = done.iter().copied().eq(held.iter()) && undone.iter().filter(|id| !pure(id)).eq(taken.iter());
        let all = held.len() == self.terms.steps.len();
        // A halt that crossed with the executor's last word: it was done before it heard of it, and nothing is taken back.
        let crossed = matches!(run.course, Course::Back(Ending::Halted))
            && !run.permits.iter().any(|permit| matches!(permit.phase, Phase::Restore | Phase::Compensate));
        let true_ending = match run.course {
            Course::Forward => completed && all,
            Course::Back(_) | Course::Stuck(_) => !completed || (all && crossed),
        };
        if run.flight.is_some() || !told || !true_ending {
            return self.violate(Violation::FalseReport, output);
        }
        let ending = run.ending();
        self.close(ending, output);
    }

    pub(super) fn halt(&mut self, cause: Cause, output: &mut Output) {
        match &mut self.stage {
            Stage::Indeterminate { .. } | Stage::Closed(..) => {}
            Stage::Pending(_) => {
                if matches!(cause, Cause::Operator | Cause::Ledger | Cause::Violation) {
                    output.facts.push(Fact::Halted(cause));
                    self.close(Ending::Halted, output);
                }
            }
            Stage::Running(run) if cause == Cause::Operator && run.course == Course::Forward => {
                if run.flight.is_some() {
                    output.orders.push(Order::KillStep);
                }
                run.turn(Ending::Halted);
                output.facts.push(Fact::Halted(cause));
                output.orders.push(Order::Stop { cause, compensate: true });
            }
            Stage::Countersigned(_) | Stage::Running(_) => self.stop_now(cause, output),
        }
    }

    pub(super) fn expire_run(&mut self, context: Context, output: &mut Output) {
        let Stage::Running(run) = &mut self.stage else { return };
        if run.flight.is_some() {
            return;
        }
        if run.course == Course::Forward && context.now >= run.lease.expires_at {
            if run.done().len() < run.steps.len() {
                run.turn(Ending::Stopped);
                output.facts.push(Fact::Halted(Cause::Expiry));
                output.orders.push(Order::Stop { cause: Cause::Expiry, compensate: true });
            }
        } else if context.now >= run.lease.expires_at.plus(UNDO_GRACE) {
            self.stop_now(Cause::Expiry, output);
        }
    }

    /// A separation violation: recorded, told, halted, the executor killed (INV-9).
    pub(super) fn violate(&mut self, violation: Violation, output: &mut Output) {
        output.facts.push(Fact::Critical(violation));
        output.orders.push(Order::Alert(violation));
        match &self.stage {
            Stage::Countersigned(_) | Stage::Running(_) => self.stop_now(Cause::Violation, output),
            Stage::Pending(_) => {
                output.orders.push(Order::KillExecutor);
                self.halt(Cause::Violation, output);
            }
            Stage::Indeterminate { .. } | Stage::Closed(..) => output.orders.push(Order::KillExecutor),
        }
    }

    /// Ends a run where it stands: nothing is taken back, and what is under way has an unknown outcome.
    fn stop_now(&mut self, cause: Cause, output: &mut Output) {
        output.facts.push(Fact::Halted(cause));
        let attempt = match &self.stage {
            Stage::Running(run) => run.attempt(&self.terms),
            Stage::Pending(_) | Stage::Countersigned(_) | Stage::Indeterminate { .. } | Stage::Closed(..) => None,
        };
        if attempt.is_some() {
            output.orders.push(Order::KillStep);
        }
        output.orders.push(Order::KillExecutor);
        match attempt {
            Some((step, phase)) if changes(phase) => self.indeterminate(step, phase, output),
            Some(_) | None => self.close(Ending::Halted, output),
        }
    }

    fn indeterminate(&mut self, step: StepId, phase: Phase, output: &mut Output) {
        output.facts.push(Fact::Indeterminate { step: step.clone(), phase });
        self.stage = Stage::Indeterminate { step, phase };
    }
}

impl Run {
    /// No leave: forward, the run turns back; on the way back, it is stuck.
    fn refuse(&mut self) {
        self.told = true;
        match self.course {
            Course::Forward => self.turn(Ending::Stopped),
            Course::Back(_) | Course::Stuck(_) => self.stick(),
        }
    }

    fn stick(&mut self) {
        self.course = Course::Stuck(self.ending());
        self.expire_permits();
    }

    /// What failed needs not be put back: asking for the step before it leaves it out.
    fn leaves_out(&mut self, terms: &Terms, place: usize, phase: Phase) -> bool {
        let (Course::Back(_), Some((first, Phase::Restore))) = (self.course, self.next(terms)) else { return false };
        let Some(progress) = self.steps.get(first).copied() else { return false };
        if progress != Progress::Acted(Fate::Failed) {
            return false;
        }
        let mut without = self.clone();
        if let Some(slot) = without.steps.get_mut(first) {
            *slot = Progress::Undone;
        }
        let legal = without.next(terms) == Some((place, phase));
        if legal {
            *self = without;
        }
        legal
    }
}
