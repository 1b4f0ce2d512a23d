//! `eval`: which suites are decided, and what is done with the report.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Which cases are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HalfWord {
    /// Those that rules may be made with.
    Even,
    /// Those that are held out: totals only.
    Odd,
    /// All.
    All,
}

/// `eval`
#[derive(Debug, Args)]
#[command(after_long_help = "\
A suite is a folder with suite.yaml (deployment, tools, policy) and cases.jsonl. Every case is decided by the review that the
gate uses; no person and no language model takes part, nothing is recorded or executed, and paths are judged as written. A
case that cannot be read is decided as a block. A question to a person is never counted as a block.

With --evaluator a model is asked where nothing but `verify` rules of tier 2 hold a case up, as the gate asks one, and the
report says so. PROGRAM reads a line of JSON for each question, {messages, schema, max_tokens}, and writes one for each answer,
{\"text\": …} or {\"failure\": …}; evals/local-model/evaluator.py is one for servers that speak the OpenAI protocol. An answer that
is late, malformed or not believed leaves the question to people.

Cases are split into two halves by the SHA-256 of their id. Whoever changes rules works with `--half even`; `--half odd` tells
totals only. Times are those of one machine: take them from a release build with --jobs 1.

The exit code is 0 when everything was decided, whatever the figures are; 20 when --ratchet finds a figure that got worse;
2 when a suite cannot be read.

Examples:
  countersign eval evals/suites/*
  countersign eval evals/suites/plan-threats --half even --json --cases > report.json
  countersign eval --diff before.json after.json
  countersign eval evals/suites/* --ratchet evals/ratchet.json
  countersign eval my-suite --evaluator evals/local-model/evaluator.py")]
pub(crate) struct Eval {
    /// Folders of suites.
    #[arg(value_name = "DIR", required_unless_present = "diff")]
    pub(crate) suites: Vec<PathBuf>,
    /// Tell case by case: decision, tier, reasons, time.
    #[arg(long)]
    pub(crate) cases: bool,
    /// Which cases are decided.
    #[arg(long, value_name = "HALF", default_value = "all")]
    pub(crate) half: HalfWord,
    /// How many threads judge; as many as there are processors where nothing is said.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Write the report as one HTML file that loads nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Compare with the best that was reached: a figure that got worse ends with exit code 20.
    #[arg(long, value_name = "FILE")]
    pub(crate) ratchet: Option<PathBuf>,
    /// Write the figures into the ratchet, if none got worse.
    #[arg(long, requires = "ratchet")]
    pub(crate) update: bool,
    /// Ask this program's model where nothing but rules of tier 2 asks; such figures move no ratchet.
    #[arg(long, value_name = "PROGRAM", conflicts_with = "ratchet")]
    pub(crate) evaluator: Option<PathBuf>,
    /// Seconds that an evaluator's answer may take.
    #[arg(long, value_name = "SECONDS", default_value = "20", requires = "evaluator", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) evaluator_timeout: u64,
    /// Score texts by the classifier too, whose encoder lies in this folder (evals/classifier/install).
    #[cfg(feature = "classifier")]
    #[arg(long, value_name = "DIR")]
    pub(crate) classifier: Option<PathBuf>,
    /// Compare two reports that were written with `--json --cases`, and decide nothing.
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["suites", "cases", "evaluator", "half", "jobs", "html", "ratchet"])]
    pub(crate) diff: Option<Vec<PathBuf>>,
}
