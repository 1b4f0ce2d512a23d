//! What can be typed. The long help of every command ends with examples.

mod audit;
mod eval;

pub(crate) use audit::Audit;
pub(crate) use eval::{Eval, HalfWord};

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use countersign_plan::budget::Dollars;
use countersign_plan::id::{CaseId, Principal, StepId};

const AFTER: &str = "\
Exit codes:
  0   allowed, done, verified
  10  a person must approve first (the case id is printed)
  20  blocked, refused, or verification failed
  2   wrong usage or an invalid document
  1   internal error: treat it as a block

Folders (XDG; override with COUNTERSIGN_CONFIG_DIR, COUNTERSIGN_STATE_DIR, COUNTERSIGN_RUNTIME_DIR):
  ~/.config/countersign        approver.key, gate.pub, broker.yaml (models, secrets, servers)
  ~/.local/state/countersign   the ledger, countersignd.log

First steps:
  countersign doctor                  what this machine can enforce
  countersign keys init               make an approver key, sealed under a passphrase
  countersign keys enroll             let it approve
  countersign run plan.yaml           judge, show, ask, run in sandboxes, record
  countersign audit export --output ledger.jsonl
  countersign audit verify ledger.jsonl";

/// A plan is judged, countersigned, run step by step in sandboxes, and proved.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, after_long_help = AFTER, disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Answer as JSON on stdout; nothing is asked on the terminal.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge a plan, ask where people must decide, run it confined, and record everything.
    Run(Run),
    /// Judge a plan or a single action and record the verdict; nothing is executed.
    Check(Check),
    /// List the cases that wait for people.
    Pending,
    /// Show a case: its plan, its findings, what happened.
    Show(Show),
    /// Approve exactly the plan that is shown, with the approver's key.
    Approve(Approve),
    /// Deny a pending plan, with the approver's key.
    Deny(Deny),
    /// Stop a case, or all of them: no further permit is given.
    Halt(Halt),
    /// Let a case go on that waits for your word: its last effect has an unknown outcome, or its budget is spent.
    Resume(Resume),
    /// Approver and gate keys.
    #[command(subcommand)]
    Keys(Keys),
    /// Let the loosening keys of a configuration file count, at its present content.
    Trust(Trust),
    /// The ledger: list, show, prove, export, and verify offline.
    #[command(subcommand)]
    Audit(Audit),
    /// Policies, without a monitor: check, try, explain.
    #[command(subcommand)]
    Policy(Policy),
    /// The labels of a plan's values and the way that data takes through it. Needs no monitor.
    Flow(Flow),
    /// Measure: decide every case of evaluation suites and report. Needs no monitor.
    Eval(Eval),
    /// The tools that exist, and what each does to the world.
    #[command(subcommand)]
    Tools(Tools),
    /// What this machine can enforce, and what that means. Needs no monitor.
    Doctor,
    /// How the monitor is.
    Status,
    /// Start the monitor, if none runs.
    Up,
    /// End the monitor. Running cases are stopped and their steps taken back where possible.
    Down,
    /// Write a countersign.yaml and a policy.yaml that explain themselves into the current folder.
    Init,
    /// Print a completion script for a shell.
    #[command(
        after_long_help = "Example:\n  countersign completions bash > ~/.local/share/bash-completion/completions/countersign"
    )]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// JSON Schemas of the formats.
    #[command(hide = true)]
    Schema(Schema),
}

/// `run`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  countersign run plan.yaml
  countersign run plan.yaml --input branch=main
  planner | countersign run - --json
  countersign run --goal 'Mend the failing test' --provider local

With a goal and no plan, a sealed planner turns it into one through the model provider that broker.yaml of the configuration
folder names. The planner cannot act: its plan is judged, approved and run like any other. With a plan no provider is needed.

When approval is required and a terminal is there, the whole plan is shown and the approver's passphrase is asked for; it signs
exactly that plan. Elsewhere the case id is printed and the exit code is 10: `countersign approve CASE` answers it. There is no
option that says yes.")]
pub(crate) struct Run {
    /// The plan (countersign.plan/v1, YAML or JSON), or `-` for standard input.
    pub(crate) plan: Option<PathBuf>,
    /// The goal in your words. Without a plan a planner turns it into one; a plan that is given must carry the same.
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// The model provider that the planner asks, in place of the default one of broker.yaml.
    #[arg(long, value_name = "NAME", requires = "goal", conflicts_with = "plan")]
    pub(crate) provider: Option<String>,
    /// Everything else that goes with a proposal.
    #[command(flatten)]
    pub(crate) given: Given,
    /// Show long arguments whole.
    #[arg(long)]
    pub(crate) full: bool,
}

/// `check`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  countersign check plan.yaml
  echo '{\"schema\":\"countersign.intent/v1\",\"action\":\"read_file\",\"args\":{\"path\":\"README.md\"}}' | countersign check -
  countersign check intent.json --json && echo allowed")]
pub(crate) struct Check {
    /// A plan (countersign.plan/v1) or an intent (countersign.intent/v1), or `-` for standard input.
    pub(crate) document: PathBuf,
    /// The goal as you give it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// Everything else that goes with a proposal.
    #[command(flatten)]
    pub(crate) given: Given,
}

/// What goes with a proposal.
#[derive(Debug, Args)]
pub(crate) struct Given {
    /// An input of the goal, for `{$input: NAME}`; VALUE is JSON, or else text.
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// The deployment file, in place of the nearest countersign.yaml upward.
    #[arg(long, value_name = "FILE")]
    pub(crate) deployment: Option<PathBuf>,
    /// Who proposes.
    #[arg(long, value_name = "NAME", default_value = "agent:cli")]
    pub(crate) agent: Principal,
}

/// `show`
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The case.
    pub(crate) case: CaseId,
    /// Show long arguments whole.
    #[arg(long)]
    pub(crate) full: bool,
}

/// The key that signs.
#[derive(Debug, Args)]
pub(crate) struct Signer {
    /// The approver's key file, in place of approver.key in the configuration folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Read the passphrase from this descriptor (its first line), for scripts that own the key. Otherwise the terminal is asked.
    #[arg(long, value_name = "N")]
    pub(crate) passphrase_fd: Option<u32>,
}

/// `approve`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The plan is fetched, its digest computed here and compared with the verdict's, and shown whole. The passphrase then signs the
digest of exactly what was shown, with version, policy, expiry and a nonce. The monitor, the executor and `audit verify` check
that signature; being able to open a socket approves nothing.

Examples:
  countersign pending
  countersign approve c-4f1d
  countersign approve c-4f1d --role finance --full
  countersign approve c-4f1d --key ci.key --passphrase-fd 3 3<passphrase.txt")]
pub(crate) struct Approve {
    /// The case.
    pub(crate) case: CaseId,
    /// The group as whose member you answer; else the first one that is asked for.
    #[arg(long, value_name = "GROUP")]
    pub(crate) role: Option<String>,
    /// The key that signs.
    #[command(flatten)]
    pub(crate) signer: Signer,
    /// Show long arguments whole.
    #[arg(long)]
    pub(crate) full: bool,
    /// Follow the run to its end; the exit code is then that of the run.
    #[arg(long)]
    pub(crate) follow: bool,
}

/// `deny`
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  countersign deny c-4f1d --reason 'the backup is still running'")]
pub(crate) struct Deny {
    /// The case.
    pub(crate) case: CaseId,
    /// Why; it is recorded and told to the proposer.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The group as whose member you answer.
    #[arg(long, value_name = "GROUP")]
    pub(crate) role: Option<String>,
    /// The key that signs.
    #[command(flatten)]
    pub(crate) signer: Signer,
}

/// `halt`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  countersign halt c-4f1d --reason 'wrong branch'\n  countersign halt --all")]
pub(crate) struct Halt {
    /// The case.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) case: Option<CaseId>,
    /// Every case.
    #[arg(long)]
    pub(crate) all: bool,
    /// Why; it is recorded.
    #[arg(long, value_name = "TEXT", default_value = "halted by an operator")]
    pub(crate) reason: String,
}

/// Whether an effect happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Happened {
    /// It happened.
    Yes,
    /// It did not happen.
    No,
}

/// What is said with `resume`.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Resumption {
    /// Whether the effect in question happened.
    #[arg(long)]
    pub(crate) happened: Option<Happened>,
    /// Tokens that the case may use beyond its limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=countersign_plan::budget::MOST))]
    pub(crate) tokens: Option<u64>,
    /// Dollars that the case may cost beyond its limit, and beyond that of the day.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) money: Option<Dollars>,
}

/// Dollars with at most six decimal places, more than nothing.
fn dollars(text: &str) -> Result<Dollars, String> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 6 {
        return Err("dollars have at most nine digits before the point and six after it".to_owned());
    }
    let micro = format!("{whole}{part:0<6}").parse::<u64>().map_err(|e| e.to_string())?;
    if micro == 0 { Err("that is nothing".to_owned()) } else { Ok(Dollars(micro)) }
}

/// `resume`
#[derive(Debug, Args)]
#[command(after_long_help = "\
After a crash the outcome of the last effect may be unknown; it is never repeated by itself. Look for yourself whether it
happened, then say so under your key.

A case whose budget for models is spent is `paused`: `countersign pending` shows what was spent, and of what. It goes on with the
amount that you add under your key, or ends with `countersign deny`.

Examples:
  countersign resume c-4f1d --happened no
  countersign resume c-4f1d --tokens 50000
  countersign resume c-4f1d --money 2.50")]
pub(crate) struct Resume {
    /// The case.
    pub(crate) case: CaseId,
    /// What you say.
    #[command(flatten)]
    pub(crate) what: Resumption,
    /// The group as whose member you answer.
    #[arg(long, value_name = "GROUP", conflicts_with = "happened")]
    pub(crate) role: Option<String>,
    /// The step in question; else the last one that began and did not end.
    #[arg(long, value_name = "STEP", requires = "happened")]
    pub(crate) step: Option<StepId>,
    /// The key that signs.
    #[command(flatten)]
    pub(crate) signer: Signer,
}

/// `keys`
#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Make an approver key: Ed25519, sealed under a passphrase (Argon2id, XChaCha20-Poly1305).
    #[command(after_long_help = "Example:\n  countersign keys init --principal user:alice --group finance")]
    Init {
        /// Whose key it is; this user's id where nothing is said.
        #[arg(long, value_name = "NAME")]
        principal: Option<Principal>,
        /// A group that the person belongs to.
        #[arg(long = "group", value_name = "GROUP")]
        groups: Vec<String>,
        /// Where the key goes, and how the passphrase is given.
        #[command(flatten)]
        signer: Signer,
    },
    /// Let a key approve. The first one is taken as it is; each later one needs the signature of an enrolled approver.
    #[command(after_long_help = "\
Examples:
  countersign keys enroll              your own key, as the first
  countersign keys enroll bob.pub      Bob's (made by his `keys init`), signed by you")]
    Enroll {
        /// The public half of another person's key (approver.pub); your own key where nothing is said.
        public: Option<PathBuf>,
        /// The key that signs.
        #[command(flatten)]
        signer: Signer,
    },
    /// Show the gate's key and the enrolled approvers; pins the gate's key for offline verification when first seen.
    Show,
    /// Let a key approve nothing any more. An enrolled approver signs that; the last key cannot be retired.
    #[command(after_long_help = "\
Examples:
  countersign keys show                          names the keys
  countersign keys retire ed25519:3f…            signed with your own key

Approvals with it that wait for others no longer count; what was signed on the strength of them stands.")]
    Retire {
        /// The key, as `keys show` prints it.
        public: countersign_plan::key::PublicKey,
        /// The key that signs.
        #[command(flatten)]
        signer: Signer,
    },
    /// Replace the gate's signing key: the old one signs the new one in the ledger, and its permits die.
    Rotate,
}

/// `trust`
#[derive(Debug, Args)]
#[command(after_long_help = "\
A configuration file that comes with a workspace can only tighten. This shows what it would loosen, and records your signature
over its path and digest; a changed file must be trusted again.

Example:
  countersign trust countersign.yaml")]
pub(crate) struct Trust {
    /// A deployment, policy, tool or change-request file.
    pub(crate) file: PathBuf,
    /// The key that signs.
    #[command(flatten)]
    pub(crate) signer: Signer,
}

/// `flow`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Each value has a label: how far its writers are trusted (open, party, user, system) and who may read it. A sink is where values
meet the world: `proved`, `conditional` (an endorsement would close it) or `refuted`; the way of what is wrong is shown.

Examples:
  countersign flow plan.yaml
  countersign flow plan.yaml --svg > flow.svg

The exit code is 0 when every sink is proved, 10 when one is conditional, 20 when one is refuted.")]
pub(crate) struct Flow {
    /// A plan or an intent, or `-` for standard input.
    pub(crate) document: PathBuf,
    /// As a graph that Graphviz reads.
    #[arg(long, conflicts_with = "svg")]
    pub(crate) dot: bool,
    /// As a picture.
    #[arg(long)]
    pub(crate) svg: bool,
    /// Take the plan's own words for the user's, as if he had written it.
    #[arg(long)]
    pub(crate) trusted: bool,
    /// The policy; without one the defaults per effect decide.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The deployment, in place of the nearest countersign.yaml upward.
    #[arg(long, value_name = "FILE")]
    pub(crate) deployment: Option<PathBuf>,
}

/// `policy`
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Read and compile a policy, and say what is wrong with it.
    #[command(after_long_help = "Example:\n  countersign policy lint policy.yaml")]
    Lint {
        /// The policy.
        file: PathBuf,
    },
    /// Decide the plans or intents of some files by a policy and compare with what is expected.
    #[command(after_long_help = "\
A file of cases is YAML:
  schema: countersign.policy-tests/v1
  cases:
    - {name: reads are free, action: read_file, args: {path: a.txt}, expect: allow}
    - {name: keys are not, action: read_file, args: {path: ~/.ssh/id_ed25519}, expect: block}
A case may hold a whole `plan` in place of `action` and `args`. Plans are judged as written, without looking at this machine.

Example:
  countersign policy test policy.yaml --cases policy-tests.yaml")]
    Test {
        /// The policy.
        file: PathBuf,
        /// The cases.
        #[arg(long, value_name = "FILE")]
        cases: PathBuf,
        /// The deployment that it is tried with.
        #[arg(long, value_name = "FILE")]
        deployment: Option<PathBuf>,
    },
    /// Say how a plan or an intent would be decided, and why. Pure: no monitor is asked and nothing is recorded.
    #[command(after_long_help = "Example:\n  countersign policy explain plan.yaml --policy policy.yaml")]
    Explain {
        /// A plan or an intent, or `-` for standard input.
        document: PathBuf,
        /// The policy; without one the defaults per effect decide.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        /// The deployment, in place of the nearest countersign.yaml upward.
        #[arg(long, value_name = "FILE")]
        deployment: Option<PathBuf>,
    },
}

/// `tools`
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List the tools with effect and reversibility.
    List {
        /// A manifest beside the built-in one.
        #[arg(long = "manifest", value_name = "FILE")]
        manifests: Vec<PathBuf>,
    },
    /// Show one tool whole, with the digest that plans pin.
    Show {
        /// The tool.
        name: String,
        /// A manifest beside the built-in one.
        #[arg(long = "manifest", value_name = "FILE")]
        manifests: Vec<PathBuf>,
    },
    /// Print manifest entries for the tools that an MCP server offers now, each pinned to its present definition.
    #[command(after_long_help = "\
The server is one of broker.yaml that is reached by network. What a tool does to the world its server cannot be believed about:
every entry is written as irreversible until you say otherwise, and a definition that changes later is refused.

Example:
  countersign tools pin tickets > tickets.tools.yaml")]
    Pin {
        /// The server's name in broker.yaml.
        server: String,
    },
}

/// `schema`
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Write them into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    pub(crate) output: Option<PathBuf>,
    /// Compare them with those of this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) check: Option<PathBuf>,
}
