//! The closed catalogue of reasons. A code is a promise to scripts: it is never renamed and never reused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($variant:ident = $name:literal, $doc:literal;)*) => {
        /// Why something was decided.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $doc] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name that documents and scripts use.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it means.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }

        impl FromStr for Code {
            type Err = UnknownCode;

            fn from_str(text: &str) -> Result<Self, UnknownCode> {
                match text { $($name => Ok(Self::$variant),)* _ => Err(UnknownCode) }
            }
        }
    };
}

/// The text names no code of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no code of the catalogue")]
pub struct UnknownCode;

codes! {
    PlanInvalid = "plan.invalid", "The document is no plan: unreadable, unknown fields, wrong order, out of bounds.";
    PlanGoalMismatch = "plan.goal_mismatch", "The draft carries another goal than the one pinned for the case.";
    PlanTooManySteps = "plan.too_many_steps", "More steps than the policy's limit.";
    PlanWeakerThanManifest = "plan.weaker_than_manifest", "The draft calls a step milder than its tool is.";
    PlanPrivilegeExceeded = "plan.privilege_exceeded", "A step does more than the privileges that the plan asks for.";
    PlanPrivilegeExcessive = "plan.privilege_excessive", "The plan asks for far more than its steps need.";
    PlanExpiryLong = "plan.expiry_long", "The plan would stay valid for more than 24 hours.";
    PlanIrreversible = "plan.irreversible", "A step cannot be taken back.";
    PlanInputMissing = "plan.input_missing", "An input that the plan uses was not given with the goal.";
    PlanOrder = "plan.order", "A step needs what an earlier step removes: the copy or check comes after the loss.";
    PlanExpectVacuous = "plan.expect_vacuous", "An expectation always holds, so that a failure would not stop the plan.";
    PlanRollbackElsewhere = "plan.rollback_elsewhere", "A rollback changes what its step does not touch.";
    PlanHiddenText = "plan.hidden_text", "A path, host, command or id holds characters that hide or imitate.";
    ToolUnknown = "tool.unknown", "No tool of that name exists here.";
    ToolArguments = "tool.arguments", "The arguments do not fit the tool.";
    ToolReference = "tool.reference", "A reference stands where the tool needs a literal.";
    ToolSecretRefused = "tool.secret_refused", "A secret stands where the tool takes none.";
    ToolSecretExposed = "tool.secret_exposed", "The tool would see the value of a secret itself.";
    SandboxMissing = "sandbox.missing", "This machine cannot confine a step as far as the deployment wants.";
    ToolDriverUnavailable = "tool.driver_unavailable", "The tool is known but nothing here can carry it out.";
    ToolChanged = "tool.changed", "The definition is not the one that the plan pinned.";
    PolicyDeny = "policy.deny", "A deny rule matched.";
    PolicyVerify = "policy.verify", "A verify rule asks for a further tier.";
    EvaluatorHarmless = "evaluator.harmless", "The evaluator sees no harm: a verify rule of tier 2 asks nobody.";
    EvaluatorDoubtful = "evaluator.doubtful", "The evaluator sees harm, or cannot tell: people decide.";
    EvaluatorUnavailable = "evaluator.unavailable", "No answer of the evaluator counts: people decide.";
    PolicyAllow = "policy.allow", "An allow rule matched.";
    PolicyDiagnostic = "policy.diagnostic", "A rule could not be evaluated, and what cannot be evaluated blocks.";
    PolicyInvalid = "policy.invalid", "The policy or deployment cannot be read.";
    PolicyLeftOut = "policy.left_out", "A key of a workspace's file would loosen, and nobody trusted the file: it was left out.";
    PolicyChanged = "policy.changed", "The policy or deployment is not the one that judged the plan.";
    PolicyLimit = "policy.limit", "A limit of the policy is exceeded.";
    PolicyRate = "policy.rate", "More actions a minute than the policy allows.";
    DefaultAsk = "default.ask", "No rule matched and the effect asks by default.";
    DefaultAllow = "default.allow", "No rule matched and the effect is allowed by default.";
    DefaultBlock = "default.block", "No rule matched and the effect is blocked by default.";
    ResourceProtected = "resource.protected", "A protected resource would change without a valid change request.";
    ResourceProtectedCovered = "resource.protected_covered", "A protected resource would change under a valid change request.";
    ChangeRequestInvalid = "change_request.invalid", "The change request is unknown, not approved, expired or covers something else.";
    ResourceOwn = "resource.own", "Countersign's own files, sockets or processes are no target.";
    ResourceRestricted = "resource.restricted", "Restricted data would be read.";
    ResourceConfidential = "resource.confidential", "Confidential data outside the workspace would be read.";
    ResourceOutside = "resource.outside", "Something outside the workspace would change.";
    ResourceTrusted = "resource.trusted", "Something that other programs run or believe by themselves would change.";
    ResourceKernel = "resource.kernel", "`/proc`, `/sys` and `/dev` are no files.";
    ResourceUnresolved = "resource.unresolved", "What is touched cannot be known before it runs.";
    ResourceChanged = "resource.changed", "What a name means changed since it was judged.";
    ResourceCatastrophic = "resource.catastrophic", "Home, system, devices or a whole database would be destroyed.";
    HostUnknown = "host.unknown", "The host or recipient is neither internal nor known.";
    HostMetadata = "host.metadata", "A metadata address.";
    HostInvalid = "host.invalid", "No host, address or URL that can be read in one way only.";
    HostDeceives = "host.deceives", "A host that is shown as another one: look-alike letters, or a name before `@`.";
    ExecuteUnanalysed = "execute.unanalysed", "The command line was not analysed.";
    ExecuteDecoded = "execute.decoded", "Something is decoded and then run.";
    ExecuteDownloaded = "execute.downloaded", "Something from the network is run as it comes.";
    ExecuteReverseShell = "execute.reverse_shell", "A shell is connected to another machine.";
    ExecuteForkBomb = "execute.fork_bomb", "Processes that start more of themselves without end.";
    ExecuteLoadsCode = "execute.loads_code", "A variable or option decides which code a program runs.";
    ExecuteElevated = "execute.elevated", "The rights of another user are taken.";
    ExecuteWritten = "execute.written", "What the plan or the agent wrote before is run, and its text is not known.";
    ResourceRights = "resource.rights", "Who may do what is changed widely.";
    ResourceEnvironment = "resource.environment", "The whole environment is read out.";
    ResourceHistory = "resource.history", "Published or recorded history is rewritten or lost.";
    ResourceUnbounded = "resource.unbounded", "A statement changes or removes every row.";
    ResourceDefences = "resource.defences", "A protection is switched off: firewall, audit, signature or certificate check.";
    TextSecret = "text.secret", "Something that looks like a credential stands in the open.";
    TextInstructions = "text.instructions", "A text gives orders to an agent.";
    FlowClearance = "flow.clearance", "Data would reach a reader beyond its clearance.";
    FlowUntrustedControl = "flow.untrusted_control", "Untrusted data decides what happens.";
    FlowConfirmed = "flow.confirmed", "The goal itself says every value that decides, so nobody is asked.";
    FlowCrossed = "flow.crossed", "A person let a single value of exactly this plan pass.";
    GoalForbidden = "goal.forbidden", "The goal forbids what a step does.";
    GoalUnasked = "goal.unasked", "The goal asks for other things, and for nothing of this kind.";
    PlannerRefused = "planner.refused", "What the planner asks for is not due now.";
    PlannerReads = "planner.reads_only", "Before it proposes, a planner reads, with tools that only read.";
    RiskAsk = "risk.ask", "The risk score reached the policy's ask threshold.";
    RiskBlock = "risk.block", "The risk score reached the policy's block threshold.";
    ApprovalExpired = "approval.expired", "The approval came too late.";
    ApprovalCarried = "approval.carried", "Approvals of the version before count, since this one only adds reads.";
    ApprovalAnew = "approval.anew", "Approvals of the version before do not count for this one.";
    ApprovalDenied = "approval.denied", "A person said no.";
    RunFailed = "run.failed", "A step failed, or was cut off.";
    RunMismatch = "run.mismatch", "A step did not show what the plan expects.";
    RunExpired = "run.expired", "The plan or permit expired.";
    RunHalted = "run.halted", "The case was halted.";
    RunIndeterminate = "run.indeterminate", "An effect was started and its outcome is unknown.";
    RunViolation = "run.violation", "The sandbox stopped something that the step may not do.";
    SeparationViolation = "separation.violation", "A planner tried to act, or an executor left its plan.";
    InternalError = "internal.error", "Something failed inside the gate, and every failure is a block.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Code {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = Self::ALL.iter().map(|code| code.as_str()).collect();
        schemars::json_schema!({"type": "string", "enum": names})
    }
}
