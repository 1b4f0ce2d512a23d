//! One case as its records tell it: what is needed to go on from there, and nothing that was stored as a stage.

use std::collections::BTreeSet;

use countersign_plan::artifact::Plan;
use countersign_plan::budget::{Ask, Extra};
use countersign_plan::digest::Digest;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Verdict;
use countersign_policy::review::StepReview;
use serde_json::Value;

use crate::case::{Counted, Dossier};
use crate::gate::budget::pin;
use crate::gate::terms;
use crate::machine::{Aim, Cause, Ending, Eyes, Fact, Terms};

/// The records of one case, in order, from its latest proposal on.
#[derive(Debug, Default)]
pub(crate) struct Past {
    proposal: Option<Value>,
    decision: Option<Value>,
    facts: Vec<Fact>,
    approvals: Vec<Value>,
    hidden: bool,
    /// How the case was opened, if for a goal.
    pub(crate) pursued: Option<Value>,
    /// Whether the case ended, and not only a version of its plan.
    closed: bool,
    ending: Option<Ending>,
    /// What it asks, or was just given, while its planner has done nothing further.
    waiting: Option<Waiting>,
    /// How often it asked, what it was given, how many versions of a plan it had, and whether one of them was ever signed.
    asked: u32,
    extra: Extra,
    versions: u32,
    signed: bool,
}

/// A case whose budget was spent, and that did not go on.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// What it asks; none where that was answered.
    pub(crate) ask: Option<Ask>,
    pub(crate) until: Timestamp,
    pub(crate) asked: u32,
    pub(crate) extra: Extra,
    pub(crate) versions: u32,
}

/// How a case ends, or goes on, whose planner was there before a restart.
pub(crate) const INTERRUPTED: &str = "interrupted: the monitor was started again, and its planner is gone";

/// What the records of a case come to.
pub(crate) enum Reconstruction {
    /// It ended so; what it was, where the records still say it.
    Over(Option<Ending>, Option<Value>, Option<(Box<Dossier>, Terms, Vec<Fact>)>),
    /// It waits for people with nothing else of it under way, or was answered, and was opened so.
    Waiting(Value, Box<Waiting>),
    /// It goes on from here.
    Open(Box<Dossier>, Terms, Vec<Fact>),
    /// It did not end and does not go on, and why: what it was about cannot be read any more, or its planner is gone and nothing
    /// else of it is under way.
    Lost(Cause, String),
}

impl Past {
    /// A new version: what was said about the one before is over.
    pub(crate) fn propose(&mut self, payload: Value) {
        let versions = payload.get("version").and_then(Value::as_u64).and_then(|v| u32::try_from(v).ok());
        *self = Self {
            proposal: Some(payload),
            pursued: self.pursued.take(),
            asked: self.asked,
            extra: self.extra,
            versions: versions.unwrap_or(u32::MAX),
            signed: self.signed,
            ..Self::default()
        };
    }

    /// Something that its planner did: it goes on, unless it asks.
    pub(crate) fn planner(&mut self, payload: &Value) {
        let asks = || Some((part::<Ask>(payload, "asks").ok()?, part(payload, "until").ok()?));
        self.waiting = asks().map(|(ask, until)| {
            self.asked = ask.number;
            self.wait(Some(ask), until)
        });
    }

    /// People gave it more.
    pub(crate) fn extend(&mut self, payload: &Value) {
        self.extra = self.extra.and(part(payload, "extended").unwrap_or_default());
        self.waiting = part(payload, "until").ok().map(|until| self.wait(None, until));
    }

    const fn wait(&self, ask: Option<Ask>, until: Timestamp) -> Waiting {
        Waiting { ask, until, asked: self.asked, extra: self.extra, versions: self.versions }
    }

    /// How it was opened.
    pub(crate) fn open(&mut self, payload: Value) {
        self.pursued = Some(payload).filter(|p| p.get("pursued").and_then(Value::as_bool).unwrap_or(false));
    }

    /// The case ended.
    pub(crate) fn close(&mut self, payload: &Value) {
        self.closed = true;
        self.ending = payload.get("ending").and_then(Value::as_str).and_then(Ending::from_word);
    }

    /// Nothing more is kept of the case than that it ended, if it did.
    pub(crate) fn forget(&mut self) {
        if self.closed {
            *self = Self { closed: true, ..Self::default() };
        }
    }

    /// A fact, with the payload that states it.
    pub(crate) fn add(&mut self, fact: Fact, payload: Value) {
        match fact {
            Fact::Reviewed => self.decision = Some(payload),
            Fact::Approved { .. } => self.approvals.push(payload),
            Fact::Withdrawn(ref key) => {
                self.approvals.retain(|approval| approval.get("key").and_then(Value::as_str) != Some(key.as_str()));
            }
            Fact::Countersigned(_) => self.signed = true,
            Fact::Denied(_)
            | Fact::Permitted { .. }
            | Fact::Refused { .. }
            | Fact::Intended { .. }
            | Fact::Outcome { .. }
            | Fact::Critical(_)
            | Fact::Halted(_)
            | Fact::Indeterminate { .. }
            | Fact::Settled { .. }
            | Fact::Stray
            | Fact::Closed(_) => {}
        }
        self.facts.push(fact);
    }

    /// A record of the case that cannot be read.
    pub(crate) fn hide(&mut self) {
        self.hidden = true;
    }

    /// What the records come to.
    pub(crate) fn reconstruct(mut self) -> Reconstruction {
        if self.closed {
            let (ending, opened) = (self.ending, self.pursued.clone());
            let dossier = if self.hidden { None } else { self.dossier().ok() };
            return Reconstruction::Over(ending, opened, dossier.map(|(d, terms, facts)| (Box::new(d), terms, facts)));
        }
        if self.hidden {
            return Reconstruction::Lost(Cause::Ledger, "payloads of the case were erased".to_owned());
        }
        if let (Some(opened), Some(waiting), false) = (&self.pursued, self.waiting.take(), self.signed) {
            let (goal, inputs) = (opened.get("goal").and_then(Value::as_str), opened.get("inputs"));
            let pin = pin(goal.unwrap_or_default(), inputs.unwrap_or(&Value::Null));
            if opened.get("pin").and_then(Value::as_str) != Some(pin.as_str()) {
                return Reconstruction::Lost(Cause::Ledger, "its goal is not recorded as it was given".to_owned());
            }
            return Reconstruction::Waiting(opened.clone(), Box::new(waiting));
        }
        let over = self.facts.iter().find_map(|f| if let Fact::Closed(end) = f { Some(end.as_str()) } else { None });
        if self.pursued.is_some() && (self.proposal.is_none() || over.is_some()) {
            let what = over.map_or("nothing had been done".to_owned(), |end| format!("its last plan was {end}"));
            return Reconstruction::Lost(Cause::Restart, format!("{INTERRUPTED}: {what}, and no answer was written"));
        }
        match self.dossier() {
            Ok((dossier, terms, facts)) => Reconstruction::Open(Box::new(dossier), terms, facts),
            Err(problem) => Reconstruction::Lost(Cause::Ledger, problem.to_owned()),
        }
    }

    fn dossier(self) -> Result<(Dossier, Terms, Vec<Fact>), &'static str> {
        let proposal = self.proposal.ok_or("its proposal is missing")?;
        let decision = self.decision.ok_or("its decision is missing")?;
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let bytes = countersign_plan::canonical::to_vec(proposal.get("plan").ok_or("its plan is missing")?);
        let digest = Digest::of(&bytes);
        // A plan in which a secret was found is recorded without it, and is then not the plan that was judged.
        if text(&proposal, "plan_digest").as_deref() != Some(digest.to_string().as_str()) {
            return Err("its plan is not recorded as it was judged");
        }
        let (plan, draft) = Plan::read(&bytes).map_err(|_| "its plan cannot be read")?;
        let verdict: Verdict = part(&decision, "verdict")?;
        if verdict.plan_digest != Some(digest) {
            return Err("its decision is about another plan");
        }
        let steps: Vec<StepReview> = part(&decision, "steps")?;
        let eyes = text(&decision, "eyes")
            .and_then(|word| Eyes::from_word(&word))
            .ok_or("its decision lacks who may approve")?;
        let pending_until = part(&decision, "pending_until")?;
        let check = proposal.get("check").and_then(Value::as_bool).ok_or("its aim is missing")?;
        let mut dossier = Dossier {
            goal: text(&proposal, "goal").ok_or("its goal is missing")?,
            pinned: proposal.get("pinned").and_then(Value::as_bool).ok_or("it does not say who gave its goal")?,
            authentic: proposal.get("authentic").and_then(Value::as_bool).unwrap_or(false),
            seen: part(&proposal, "seen")?,
            origin: text(&proposal, "origin").ok_or("its origin is missing")?,
            plan,
            draft,
            bytes,
            digest,
            verdict,
            steps,
            approvals: Vec::new(),
            begun: BTreeSet::new(),
        };
        for fact in &self.facts {
            match fact {
                Fact::Permitted { step, .. } => dossier.begin(Some(step)),
                Fact::Critical(_) | Fact::Halted(_) => dossier.begin(None),
                _ => {}
            }
        }
        for approval in &self.approvals {
            let digest = match approval.get("carried") {
                Some(_) => part(approval, "approval")?,
                None => countersign_plan::canonical::digest(
                    approval.get("envelope").ok_or("the signature of an approval is missing")?,
                ),
            };
            let by = text(approval, "by").and_then(|by| by.parse().ok()).ok_or("an approval names nobody")?;
            let key = text(approval, "key").and_then(|key| key.parse().ok()).ok_or("an approval names no key")?;
            let groups = part(approval, "groups")?;
            // What does not say until when it counts is taken over by no later version.
            let expires_at = part(approval, "expires_at").unwrap_or(Timestamp::EPOCH);
            dossier.approvals.push(Counted { digest, by, key, groups, expires_at });
        }
        let aim = if check { Aim::Check } else { Aim::Run };
        let terms = terms(&dossier, eyes, aim, pending_until);
        Ok((dossier, terms, self.facts))
    }
}

fn part<T: serde::de::DeserializeOwned>(value: &Value, key: &str) -> Result<T, &'static str> {
    let part = value.get(key).cloned().ok_or("a part of its decision is missing")?;
    serde_json::from_value(part).map_err(|_| "a part of its decision cannot be read")
}
