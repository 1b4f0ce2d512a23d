//! Tier 2: a proposal that nothing but `verify` rules of tier 2 hold up waits here until the evaluator has answered, or has not.
//!
//! The gate hears what it said as a fact about exactly this draft under exactly this policy, and reviews everything again. Down, slow,
//! malformed, not believed, over budget, not configured: people are asked.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use countersign_evaluator::budget::Budget;
use countersign_evaluator::cache::Cache;
use countersign_evaluator::configuration::Configuration;
use countersign_evaluator::evidence::Evidence;
use countersign_evaluator::question::{Finding, MAX_TOKENS, Question};
use countersign_gate::event::{Event, Submission};
use countersign_plan::digest::Digest;
use countersign_plan::document::Bounds;
use countersign_plan::id::CaseId;
use countersign_policy::facts::Evaluation;
use countersign_wire::broker::from_broker::Inferred;
use countersign_wire::broker::to_broker::{self, Cancel};
use countersign_wire::infer::{Finish, Message, Outcome, Request, Role};

use super::{Answer, State};

/// Its configuration, in the configuration folder.
const FILE: &str = "evaluator.yaml";

/// The case that the broker's budgets are told of: none is ever called so.
const PAYER: &str = "c-evaluator";

/// Proposals that wait for an answer at once; for further ones people are asked.
const WAITING: usize = 32;

/// The evaluator's part of the monitor.
#[derive(Default)]
pub(crate) struct Evaluations {
    pub(crate) budget: Budget,
    cache: Cache,
    waiting: HashMap<u64, Waiting>,
    /// About the proposal that the gate looks at now.
    present: Option<Evaluated>,
    /// About the cases that were opened so, for their permits.
    held: HashMap<CaseId, Evaluated>,
}

/// What was said, and of what.
#[derive(Debug, Clone)]
pub(crate) struct Evaluated {
    pub(crate) draft: Digest,
    pub(crate) policy: Digest,
    pub(crate) said: Evaluation,
}

/// A proposal that waits.
struct Waiting {
    question: Question,
    evidence: Digest,
    about: (Digest, Digest),
    until: Instant,
    /// Proposals of the last minute, as they were counted when this one came.
    recent: u32,
    submission: Box<Submission>,
    answer: Answer,
}

/// What is to be asked.
struct Wanted {
    evidence: Evidence,
    about: (Digest, Digest),
    provider: String,
    timeout: Duration,
    secrecy: String,
}

fn spoken(finding: Finding) -> Evaluation {
    finding.doubt().map_or(Evaluation::Harmless, Evaluation::Doubtful)
}

impl Evaluations {
    /// What was said of the case whose permit is asked for.
    pub(super) fn of_case(&self, case: &CaseId) -> Option<Evaluated> {
        self.held.get(case).cloned()
    }

    /// What was said of the proposal at hand.
    pub(super) fn of_proposal(&self) -> Option<Evaluated> {
        self.present.clone()
    }

    /// The proposal at hand opened this case.
    pub(super) fn opened(&mut self, case: Option<CaseId>) {
        if let (Some(case), Some(said)) = (case, self.present.take()) {
            self.held.insert(case, said);
        }
    }

    pub(super) fn closed(&mut self, case: &CaseId) {
        self.held.remove(case);
    }
}

impl State {
    /// Has the gate judge a proposal, once the evaluator said what it has to say.
    pub(super) fn submit(&mut self, submission: Submission, answer: Answer) {
        match self.wanted(&submission) {
            Ok(None) => self.event(Event::Submit(Box::new(submission)), answer),
            Ok(Some(wanted)) => self.evaluate(wanted, submission, answer),
            Err((about, why)) => self.evaluated(about, Evaluation::Failed(why), Box::new(submission), answer),
        }
    }

    fn evaluator(&self) -> Result<Option<Configuration>, String> {
        let path = self.folders.config.join(FILE);
        let place = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        match std::fs::metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(place(&e)),
            Ok(meta) if usize::try_from(meta.len()).map_or(true, |size| size > Bounds::CONFIG.bytes) => {
                return Err(place(&"too long"));
            }
            Ok(_) => {}
        }
        let bytes = std::fs::read(&path).map_err(|e| place(&e))?;
        Configuration::read(&bytes).map(Some).map_err(|e| place(&e))
    }

    /// The question that a proposal leads to, if it does; or why it cannot be asked.
    fn wanted(&mut self, submission: &Submission) -> Result<Option<Wanted>, ((Digest, Digest), String)> {
        let policy = &submission.configuration.policy;
        if self.failed || !policy.document().verify.iter().any(|rule| rule.tier == Some(2)) {
            return Ok(None);
        }
        let configured = self.evaluator();
        if matches!(configured, Ok(None)) {
            return Ok(None);
        }
        let Some((draft, review)) = self.foresee(submission) else { return Ok(None) };
        if !review.is_for_evaluator() {
            return Ok(None);
        }
        let about = (draft.digest(), policy.digest());
        let failed = |why: String| (about, why);
        let Some(configuration) = configured.map_err(failed)? else { return Ok(None) };
        let goal = submission.goal.as_deref().unwrap_or_else(|| draft.goal());
        let touches = review.steps.iter().map(|step| (&step.id, step.accesses.as_slice()));
        let evidence = Evidence::of(Some(goal), &draft, touches).map_err(|e| failed(e.to_string()))?;
        let seat = self.past.seat(submission);
        let readers = self.past.session(&seat, self.clock.wall()).seen().readers;
        let secrecy = readers.word(&submission.configuration.deployment).as_str().to_owned();
        let timeout = Duration::from_secs(configuration.timeout_s.into());
        Ok(Some(Wanted { evidence, about, provider: configuration.provider, timeout, secrecy }))
    }

    fn evaluate(&mut self, wanted: Wanted, submission: Submission, answer: Answer) {
        let submission = Box::new(submission);
        let about = wanted.about;
        let evidence = wanted.evidence.digest();
        if let Some(finding) = self.evaluations.cache.get(evidence, about.1) {
            return self.evaluated(about, spoken(finding), submission, answer);
        }
        let per_day = submission.configuration.policy.limits().evaluator.per_day;
        let mut entropy = [0; 32];
        let refusal = if self.evaluations.waiting.len() >= WAITING {
            Some(format!("{WAITING} plans wait for the evaluator already"))
        } else if getrandom::fill(&mut entropy).is_err() {
            Some("there is no randomness".to_owned())
        } else if !self.evaluations.budget.take(&submission.requester, self.clock.wall(), per_day) {
            Some(format!("the {per_day} questions a day that the policy allows {} are used up", submission.requester))
        } else {
            None
        };
        if let Some(why) = refusal {
            return self.evaluated(about, Evaluation::Failed(why), submission, answer);
        }
        let question = Question::new(&wanted.evidence, &entropy);
        let message = |role, content: &str| Message { role, content: content.to_owned() };
        let request = Request {
            messages: vec![message(Role::System, &question.system), message(Role::User, &question.user)],
            schema: Some(question.schema.clone()),
            max_tokens: MAX_TOKENS,
        };
        let id = self.brokerage.number();
        let ask = to_broker::Kind::Infer(to_broker::Infer {
            id,
            case: PAYER.to_owned(),
            provider: wanted.provider,
            secrecy: wanted.secrecy,
            request: serde_json::to_vec(&request).unwrap_or_default(),
            ..to_broker::Infer::default()
        });
        if let Err(why) = self.broker().and_then(|broker| broker.tell(ask)) {
            return self.evaluated(about, Evaluation::Failed(why), submission, answer);
        }
        let (until, recent) = (Instant::now() + wanted.timeout, self.rates.present);
        self.evaluations.waiting.insert(id, Waiting { question, evidence, about, until, recent, submission, answer });
    }

    /// The gate judges, with what was said.
    fn evaluated(&mut self, about: (Digest, Digest), said: Evaluation, submission: Box<Submission>, answer: Answer) {
        self.evaluations.present = Some(Evaluated { draft: about.0, policy: about.1, said });
        self.event(Event::Submit(submission), answer);
        self.evaluations.present = None;
    }

    /// The broker's word, if it is about an evaluation.
    pub(super) fn evaluation(&mut self, inferred: Inferred) -> Option<Inferred> {
        let Some(Waiting { question, evidence, about, recent, submission, answer, .. }) =
            self.evaluations.waiting.remove(&inferred.id)
        else {
            return Some(inferred);
        };
        self.rates.present = recent;
        let said = match serde_json::from_slice(&inferred.outcome) {
            Ok(Outcome::Answer(said)) if said.finish == Finish::Stop => {
                question.read(&said.text).map_err(|unfit| unfit.to_string())
            }
            Ok(Outcome::Answer(_)) => Err("the evaluator did not finish its answer".to_owned()),
            Ok(Outcome::Failure(failure)) => Err(format!("the evaluator gave no answer: {}", failure.message)),
            Err(_) => Err("the broker's word on the evaluator cannot be read".to_owned()),
        };
        let said = match said {
            Ok(finding) => {
                self.evaluations.cache.put(evidence, about.1, finding);
                spoken(finding)
            }
            Err(why) => Evaluation::Failed(why),
        };
        self.evaluated(about, said, submission, answer);
        None
    }

    /// Nobody waits longer than was configured.
    pub(super) fn evaluations_tick(&mut self) {
        let now = Instant::now();
        let late = self.evaluations.waiting.iter().filter(|(_, waiting)| waiting.until <= now);
        for id in late.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.tell_broker(to_broker::Kind::Cancel(Cancel { id }));
            self.not_evaluated(id, "the evaluator gave no answer in time");
        }
    }

    /// The broker is gone, and every question with it.
    pub(super) fn nothing_evaluated(&mut self, why: &str) {
        for id in self.evaluations.waiting.keys().copied().collect::<Vec<_>>() {
            self.not_evaluated(id, why);
        }
    }

    fn not_evaluated(&mut self, id: u64, why: &str) {
        if let Some(Waiting { about, recent, submission, answer, .. }) = self.evaluations.waiting.remove(&id) {
            self.rates.present = recent;
            self.evaluated(about, Evaluation::Failed(why.to_owned()), submission, answer);
        }
    }
}
