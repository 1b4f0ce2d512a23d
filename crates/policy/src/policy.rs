//! Policies (`countersign.policy/v1`): deny, verify and allow rules, and limits, compiled for deciding (FORMATS §5).
//!
//! Deny beats verify beats allow; a goal rule makes findings about the goal ask or block. Rules are found by tool, group and effect and there by folder, pattern and host; no decision
//! looks at all rules. Of the candidates only, conditions are evaluated, and a condition that fails blocks (`lesson_14`).

mod document;
mod rules;
mod selector;

pub use document::{
    AllowRule, Approvers, DenyRule, EvaluatorLimit, GoalDecision, GoalRule, Limits, PolicyDocument, RateLimit,
    RiskLimits, SCHEMA, VerifyRule,
};
pub use rules::{Rule, RuleSet};
pub use selector::{Selector, Selectors};

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::Code;
use serde_json::json;

use crate::condition::{Environment, Outcome, Scope};
use crate::hosts::Endpoint;
use crate::paths::{Case, Place, Seen};

/// All findings about the goal, as a goal rule writes it.
const EVERY_GOAL_FINDING: &str = "goal.*";

/// A compiled policy.
#[derive(Debug)]
pub struct Policy {
    digest: Digest,
    document: PolicyDocument,
    deny: RuleSet,
    verify: RuleSet,
    allow: RuleSet,
}

/// A policy that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {what}")]
pub struct PolicyError {
    /// The place in the document.
    pub pointer: String,
    /// What is wrong and how to mend it.
    pub what: String,
}

/// One effect of an action on one resource, as rules see it.
#[derive(Debug, Clone)]
pub struct Use<'a> {
    /// What is done.
    pub effect: Effect,
    /// To what kind of thing.
    pub kind: TargetKind,
    /// The path, where it is one.
    pub path: Option<Seen<'a>>,
    /// The host, where it is one.
    pub endpoint: Option<&'a Endpoint>,
}

/// An action as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Action<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its group.
    pub group: Option<&'a str>,
    /// Everything it does, declared and derived; at least one.
    pub uses: &'a [Use<'a>],
}

/// The rules that matched an action.
#[derive(Debug, Default)]
pub struct Matches<'p> {
    /// Deny rules that hold.
    pub deny: Vec<&'p Rule>,
    /// Deny rules whose condition asks about something that has no value yet.
    pub deny_open: Vec<&'p Rule>,
    /// Verify rules that hold, or may hold once every value is there.
    pub verify: Vec<&'p Rule>,
    /// The first allow rule that holds.
    pub allow: Option<&'p Rule>,
    /// Rules that could not be evaluated: name and why. Any of them blocks.
    pub diagnostics: Vec<(&'p str, String)>,
}

impl Policy {
    /// Compiles a document for a place: what `~` and relative patterns stand for.
    ///
    /// # Errors
    /// The first pattern, selector, host or condition that does not compile, or a name that stands twice.
    pub fn compile(document: &PolicyDocument, place: &Place) -> Result<Self, PolicyError> {
        let env = Environment::default();
        let (mut deny, mut verify, mut allow) = (Vec::new(), Vec::new(), Vec::new());
        let mut names = std::collections::BTreeSet::new();
        let mut unique = |name: &str, pointer: String| {
            if names.insert(name.to_owned()) {
                Ok(())
            } else {
                let what = format!("a rule named `{name}` exists already; reasons cite rules by name");
                Err(PolicyError { pointer: format!("{pointer}/name"), what })
            }
        };
        for (i, rule) in document.deny.iter().enumerate() {
            let pointer = format!("/deny/{i}");
            unique(&rule.name, pointer.clone())?;
            deny.push(rules::compile_rule(&rules::Source::of(rule), Case::Folded, place, &env, &pointer)?);
        }
        for (i, rule) in document.verify.iter().enumerate() {
            let pointer = format!("/verify/{i}");
            unique(&rule.name, pointer.clone())?;
            verify.push(rules::compile_rule(&rules::Source::of(rule), Case::Folded, place, &env, &pointer)?);
        }
        for (i, rule) in document.allow.iter().enumerate() {
            let pointer = format!("/allow/{i}");
            unique(&rule.name, pointer.clone())?;
            allow.push(rules::compile_rule(&rules::Source::of(rule), Case::Exact, place, &env, &pointer)?);
        }
        for (i, rule) in document.goal.iter().enumerate() {
            let pointer = format!("/goal/{i}");
            unique(&rule.name, pointer.clone())?;
            goal_rule(rule, &pointer)?;
        }
        let risk = document.limits.risk;
        if risk.ask > risk.block {
            let what = "the score that asks is above the one that blocks".to_owned();
            return Err(PolicyError { pointer: "/limits/risk".to_owned(), what });
        }
        let value =
            serde_json::to_value(document).map_err(|e| PolicyError { pointer: String::new(), what: e.to_string() })?;
        let digest = canonical::digest(&json!({"document": value, "cwd": place.cwd(), "home": place.home()}));
        Ok(Self {
            digest,
            document: document.clone(),
            deny: RuleSet::compile(deny, Case::Folded, place, "/deny")?,
            verify: RuleSet::compile(verify, Case::Folded, place, "/verify")?,
            allow: RuleSet::compile(allow, Case::Exact, place, "/allow")?,
        })
    }

    /// SHA-256 of the canonical bytes of the document and its place.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The document.
    #[must_use]
    pub const fn document(&self) -> &PolicyDocument {
        &self.document
    }

    /// The limits, defaults filled in.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.document.limits
    }

    /// The goal rules that are about findings of this code.
    pub fn about_goal(&self, code: Code) -> impl Iterator<Item = &GoalRule> {
        let named = move |rule: &&GoalRule| rule.findings.iter().any(|f| f == code.as_str() || f == EVERY_GOAL_FINDING);
        self.document.goal.iter().filter(move |rule| is_about_goal(code) && named(rule))
    }

    /// The deny, verify and allow rules.
    #[must_use]
    pub const fn rules(&self) -> [&RuleSet; 3] {
        [&self.deny, &self.verify, &self.allow]
    }

    /// The rules that match an action. A rule to deny or verify holds if any of `scopes` makes its condition true, a rule to
    /// allow only if all of them do: an action is judged alone and with what the plan adds up to.
    pub fn decide(&self, action: &Action<'_>, scopes: &[&dyn Scope]) -> Matches<'_> {
        let mut matches = Matches::default();
        for rule in self.deny.any_use(action) {
            match rule.holds(scopes, Outcome::True) {
                Outcome::True => matches.deny.push(rule),
                Outcome::Unknown => matches.deny_open.push(rule),
                Outcome::False => {}
                Outcome::Diagnostic(why) => matches.diagnostics.push((rule.name(), why)),
            }
        }
        if !matches.deny.is_empty() {
            return matches;
        }
        for rule in self.verify.any_use(action) {
            match rule.holds(scopes, Outcome::True) {
                Outcome::True | Outcome::Unknown => matches.verify.push(rule),
                Outcome::False => {}
                Outcome::Diagnostic(why) => matches.diagnostics.push((rule.name(), why)),
            }
        }
        for rule in self.allow.all_uses(action) {
            match rule.holds(scopes, Outcome::False) {
                Outcome::True => {
                    matches.allow = Some(rule);
                    break;
                }
                Outcome::False | Outcome::Unknown => {}
                Outcome::Diagnostic(why) => matches.diagnostics.push((rule.name(), why)),
            }
        }
        matches
    }

    /// The deny rule whose paths hit `path` for this tool and effect, its condition aside.
    #[must_use]
    pub fn denies_path(&self, tool: &str, group: Option<&str>, effect: Effect, path: &Seen<'_>) -> Option<&Rule> {
        self.deny.path_hit(tool, group, effect, path)
    }

    /// The deny rule for this tool and effect with a path that hangs from a folder below `dir`.
    #[must_use]
    pub fn denies_below(&self, tool: &str, group: Option<&str>, effect: Effect, dir: &str) -> Option<&Rule> {
        self.deny.anchored_below(tool, group, effect, dir)
    }
}

/// Whether findings of this code are about the goal.
fn is_about_goal(code: Code) -> bool {
    code.as_str().starts_with("goal.")
}

fn goal_rule(rule: &GoalRule, pointer: &str) -> Result<(), PolicyError> {
    let wrong = |at: &str, what: String| Err(PolicyError { pointer: format!("{pointer}/{at}"), what });
    if rule.findings.is_empty() {
        return wrong("findings", format!("it names no finding; `{EVERY_GOAL_FINDING}` is all of them"));
    }
    for (i, name) in rule.findings.iter().enumerate() {
        if name != EVERY_GOAL_FINDING && !name.parse::<Code>().is_ok_and(is_about_goal) {
            let name = countersign_plan::text::escape(name);
            let what =
                format!("`{name}` is no finding about the goal: write `{EVERY_GOAL_FINDING}` or a code that begins so");
            return wrong(&format!("findings/{i}"), what);
        }
    }
    match (&rule.approvers, rule.decision) {
        (Some(_), GoalDecision::Block) => wrong("approvers", "what blocks asks nobody; leave them out".to_owned()),
        (Some(approvers), GoalDecision::RequireApproval) if approvers.quorum == 0 => {
            wrong("approvers/quorum", "at least 1".to_owned())
        }
        (Some(_) | None, _) => Ok(()),
    }
}
