//! The checks of this repository: `cargo xtask ci` runs everything, each other word one check.
//!
//! Every check prints what it counted and fails on an empty scan, so that a moved folder cannot turn it green.

mod ci;
mod layers;
mod opened;
mod ordinary;
mod phrasings;
mod ratchet;
mod report;
mod source;
mod suite;
mod suites;
mod tcb;
mod tidy;
mod tree;
mod variants;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

const USAGE: &str = "usage: cargo xtask layers | tidy | tcb | ratchet [--update] | suites | phrasings | variants [KIND] | ordinary | ci";

fn main() -> anyhow::Result<ExitCode> {
    let root = root()?;
    let report = match std::env::args().nth(1).as_deref() {
        Some("layers") => layers::check(&root)?,
        Some("tidy") => tidy::check(&root)?,
        Some("tcb") => tcb::check(&root)?,
        Some("ratchet") => match std::env::args().nth(2).as_deref() {
            None => ratchet::check(&root)?,
            Some("--update") => ratchet::update(&root)?,
            Some(_) => {
                report::say(USAGE);
                return Ok(ExitCode::from(2));
            }
        },
        Some("suites") => suites::write(&root)?,
        Some("phrasings") => phrasings::count(&root)?,
        Some("variants") => variants::count(&root, std::env::args().nth(2).as_deref())?,
        Some("ordinary") => ordinary::check(&root)?,
        Some("ci") => ci::check(&root)?,
        _ => {
            report::say(USAGE);
            return Ok(ExitCode::from(2));
        }
    };
    Ok(report.print())
}

/// The repository root: the folder above this crate.
fn root() -> anyhow::Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("xtask lies one folder below the repository root")?.to_owned())
}
