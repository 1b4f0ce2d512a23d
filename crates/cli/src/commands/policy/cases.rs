//! Tests of a policy (`countersign.policy-tests/v1`): actions and plans with the decision that is expected of them.

use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::draft::Draft;
use countersign_plan::id::{Principal, ToolName};
use countersign_plan::intent::{self, Intent};
use countersign_plan::resolve::Inputs;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Decision, Mode, Reason};
use countersign_policy::changes::Changes;
use countersign_policy::deployment::Deployment;
use countersign_policy::facts::Facts;
use countersign_policy::flow::{Level, Session};
use countersign_policy::policy::Policy;
use countersign_policy::review::{Request, review};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name of this format.
pub(in crate::commands) const SCHEMA: &str = "countersign.policy-tests/v1";

/// Tests as the document writes them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::commands) struct CasesDocument {
    /// `countersign.policy-tests/v1`.
    pub(in crate::commands) schema: String,
    /// The tests.
    pub(in crate::commands) cases: Vec<Case>,
}

/// One test: an action, or a plan.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::commands) struct Case {
    /// For people.
    pub(in crate::commands) name: String,
    /// A tool of the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) action: Option<ToolName>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(in crate::commands) args: Map<String, Value>,
    /// A change request that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) change_request: Option<String>,
    /// Or a whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) plan: Option<Value>,
    /// The goal that the user gave; a plan's own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) goal: Option<String>,
    /// What the user gave with the goal.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(in crate::commands) inputs: Map<String, Value>,
    /// What must be decided.
    pub(in crate::commands) expect: Decision,
    /// The rule that must decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) rule: Option<String>,
}

/// What a test showed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::commands) struct Outcome {
    /// The test's name.
    pub(in crate::commands) name: String,
    /// What must be decided.
    pub(in crate::commands) expected: Decision,
    /// What was decided.
    pub(in crate::commands) decided: Decision,
    /// The rule that decided, where one did.
    pub(in crate::commands) rule: Option<String>,
    /// Why.
    pub(in crate::commands) reasons: Vec<Reason>,
    /// Where it failed: what differs.
    pub(in crate::commands) difference: Option<String>,
}

/// What tests are decided in.
#[derive(Clone, Copy)]
pub(in crate::commands) struct Setting<'a> {
    /// The tools.
    pub(in crate::commands) manifest: &'a Manifest,
    /// The deployment.
    pub(in crate::commands) deployment: &'a Deployment,
    /// The policy under test.
    pub(in crate::commands) policy: &'a Policy,
    /// Change requests.
    pub(in crate::commands) changes: &'a Changes,
    /// What the machine says; usually [`countersign_policy::facts::AsWritten`].
    pub(in crate::commands) facts: &'a dyn Facts,
    /// The principal for whom the actions are.
    pub(in crate::commands) requester: &'a Principal,
    /// The time at which they are decided.
    pub(in crate::commands) now: Timestamp,
}

impl std::fmt::Debug for Setting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").field("policy", &self.policy.digest()).finish_non_exhaustive()
    }
}

impl CasesDocument {
    /// Reads tests, JSON or YAML.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub(in crate::commands) fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let cases: Self = document::of_schema(&document::from_bytes(bytes, Bounds::CONFIG)?, SCHEMA)?;
        for (i, case) in cases.cases.iter().enumerate() {
            if case.action.is_some() == case.plan.is_some() {
                return Err(DocumentError::at(format!("/cases/{i}"), "a test has an `action` or a `plan`"));
            }
        }
        Ok(cases)
    }

    /// Decides every test.
    ///
    /// # Errors
    /// The first test whose action or plan is malformed, with its place.
    pub(in crate::commands) fn run(&self, setting: &Setting<'_>) -> Result<Vec<Outcome>, DocumentError> {
        let at = |i: usize| move |e: DocumentError| e.below(&format!("/cases/{i}"));
        self.cases.iter().enumerate().map(|(i, case)| case.run(setting).map_err(at(i))).collect()
    }
}

impl Case {
    fn draft(&self) -> Result<Draft, DocumentError> {
        match (&self.plan, &self.action) {
            (Some(plan), _) => Draft::from_value(plan.clone()).map_err(|e| e.below("/plan")),
            (None, Some(action)) => {
                let intent = Intent {
                    schema: intent::SCHEMA.to_owned(),
                    action: action.clone(),
                    args: self.args.clone(),
                    target: None,
                    reason: None,
                    change_request: self.change_request.clone(),
                    idempotency_key: None,
                };
                match &self.goal {
                    Some(goal) => intent.lift_for(goal),
                    None => intent.lift(),
                }
            }
            (None, None) => Err(DocumentError::at("", "a test has an `action` or a `plan`")),
        }
    }

    fn run(&self, setting: &Setting<'_>) -> Result<Outcome, DocumentError> {
        let draft = self.draft()?;
        let inputs: Inputs = self
            .inputs
            .iter()
            .map(|(name, value)| match name.parse() {
                Ok(name) => Ok((name, value.clone())),
                Err(e) => Err(DocumentError::at("/inputs", format!("{e}"))),
            })
            .collect::<Result<_, _>>()?;
        let goal = self.goal.as_deref().or_else(|| self.plan.is_some().then(|| draft.goal()));
        let review = review(&Request {
            draft: &draft,
            manifest: setting.manifest,
            deployment: setting.deployment,
            policy: setting.policy,
            changes: setting.changes,
            facts: setting.facts,
            inputs: &inputs,
            requester: setting.requester,
            mode: Mode::Managed,
            pinned_goal: goal,
            authentic: true,
            // A test is written by whoever writes the policy, and is about its rules.
            planner: Level::User,
            session: Session::empty(),
            now: setting.now,
        });
        let difference = if review.decision != self.expect {
            Some(format!("expected {}, decided {}", self.expect, review.decision))
        } else if self.rule.is_some() && self.rule != review.rule {
            let by = |rule: &Option<String>| rule.clone().unwrap_or_else(|| "no rule".to_owned());
            Some(format!("expected {} to decide, but it was {}", by(&self.rule), by(&review.rule)))
        } else {
            None
        };
        Ok(Outcome {
            name: self.name.clone(),
            expected: self.expect,
            decided: review.decision,
            rule: review.rule,
            reasons: review.reasons,
            difference,
        })
    }
}
