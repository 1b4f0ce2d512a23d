//! `eval`: suites decided by the gate's own review, reported, compared. Pure: no monitor is asked and nothing is recorded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_eval::diff::diff;
use countersign_eval::evaluator::Evaluator;
use countersign_eval::half::Half;
use countersign_eval::html;
use countersign_eval::ratchet::Ratchet;
use countersign_eval::report::Report;
use countersign_eval::run::{Settings, run};
use countersign_eval::suite::Suite;
use countersign_plan::document::Bounds;
use serde_json::{Value, json};

use crate::args::{Eval, HalfWord};
use crate::clock;
use crate::document;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::render::eval as render;
use crate::render::line::{Line, Tone};

/// The longest report that is compared, in bytes.
const REPORT: usize = 512 << 20;

pub(super) fn eval(args: &Eval, out: &Out) -> Result<Exit, Failure> {
    if let Some(pair) = &args.diff {
        return compare(pair, out);
    }
    let half = match args.half {
        HalfWord::Even => Half::Even,
        HalfWord::Odd => Half::Odd,
        HalfWord::All => Half::All,
    };
    if args.cases && half == Half::Odd {
        let failure = Failure::usage("--cases --half odd: the half that is held out is told of in totals only");
        return Err(failure.fix("leave --cases away, or look at the cases of `--half even`"));
    }
    let suites = load(&args.suites, out)?;
    #[cfg(feature = "classifier")]
    let suites = doubted(suites, args.classifier.as_deref())?;
    let mut suites = suites;
    if let Some(program) = &args.evaluator {
        let evaluator = Arc::new(Evaluator::new(program, Duration::from_secs(args.evaluator_timeout)));
        suites.iter_mut().for_each(|suite| suite.evaluate_with(&evaluator));
    }
    let jobs = args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let settings = Settings { half, jobs, now: clock::now() };
    let decided = suites.iter().map(|suite| run(suite, &settings)).collect::<Result<Vec<_>, _>>();
    let decided = decided.map_err(|error| Failure::internal(error.to_string()))?;
    let report = Report::of(&decided, &settings, args.cases || args.html.is_some());
    if let Some(path) = &args.html {
        std::fs::write(path, html::page(&report)).map_err(|error| Failure::file(path, &error))?;
    }
    let held = args.ratchet.as_deref().map(|path| hold(path, &report, args.update)).transpose()?;
    let report = Report { cases: report.cases.filter(|_| args.cases), ..report };
    let mut answer = serde_json::to_value(&report).map_err(|error| Failure::internal(error.to_string()))?;
    if let (Some(members), Some(changes)) = (answer.as_object_mut(), &held) {
        members.insert("ratchet".to_owned(), json!(changes));
    }
    out.value(&answer)?;
    let mut lines = render::report(&report);
    lines.extend(held.iter().flat_map(|changes| render::ratchet(changes, args.update)));
    out.lines(&lines)?;
    let worse = held.is_some_and(|changes| changes.iter().any(|change| change.worse));
    Ok(if worse { Exit::Blocked } else { Exit::Done })
}

/// The suites in these folders. A file beside them, as `evals/*` names it too, is left out and said.
fn load(paths: &[PathBuf], out: &Out) -> Result<Vec<Suite>, Failure> {
    let (files, folders): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(|path| path.is_file());
    let left_out = |file: &&PathBuf| Line::at(0).tone(Tone::Dim, format!("{}: no folder, left out", file.display()));
    out.note(&files.iter().map(left_out).collect::<Vec<_>>());
    if folders.is_empty() {
        return Err(Failure::usage("no folder of a suite was named"));
    }
    let load = |folder: &&PathBuf| Suite::load(folder).map_err(|error| Failure::usage(error.to_string()));
    let suites: Vec<Suite> = folders.iter().map(load).collect::<Result<_, _>>()?;
    twice(&suites)?;
    Ok(suites)
}

/// Has texts scored where that was asked for; a classifier that cannot be loaded is an error, not a smaller measurement.
#[cfg(feature = "classifier")]
fn doubted(mut suites: Vec<Suite>, folder: Option<&Path>) -> Result<Vec<Suite>, Failure> {
    if let Some(folder) = folder {
        let doubts = countersign_eval::doubt::Doubts::load(folder);
        let doubts = doubts.map_err(|error| Failure::usage(format!("--classifier: {error}")))?;
        suites.iter_mut().for_each(|suite| suite.doubt(&doubts));
    }
    Ok(suites)
}

/// Two suites of one name would be one in reports and in the ratchet.
fn twice(suites: &[Suite]) -> Result<(), Failure> {
    let mut names: Vec<&str> = suites.iter().map(Suite::name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(Failure::usage(format!("two suites are called `{}`", pair.concat()))),
        None => Ok(()),
    }
}

/// Compares with the ratchet, and moves it if that is wanted and nothing got worse.
fn hold(path: &Path, report: &Report, update: bool) -> Result<Vec<countersign_eval::ratchet::Change>, Failure> {
    let ratchet = if update && !path.exists() {
        Ratchet::empty()
    } else {
        let bytes = document::read(path, Bounds::CONFIG.bytes)?;
        Ratchet::read(&bytes).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?
    };
    let changes = ratchet.changes(report);
    if let Some(next) = ratchet.tightened(report).filter(|_| update) {
        let mut text = serde_json::to_string_pretty(&next).map_err(|error| Failure::internal(error.to_string()))?;
        text.push('\n');
        std::fs::write(path, text).map_err(|error| Failure::file(path, &error))?;
    }
    Ok(changes)
}

fn compare(pair: &[PathBuf], out: &Out) -> Result<Exit, Failure> {
    let read = |path: &PathBuf| {
        let bytes = document::read(path, REPORT)?;
        Report::read(&bytes).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
    };
    let [old, new] = pair else { return Err(Failure::usage("--diff: two reports are compared")) };
    let found = diff(&read(old)?, &read(new)?).map_err(|error| Failure::usage(error.to_string()))?;
    let answer: Value = serde_json::to_value(&found).map_err(|error| Failure::internal(error.to_string()))?;
    out.value(&answer)?;
    out.lines(&render::diff(&found))?;
    Ok(Exit::Done)
}
