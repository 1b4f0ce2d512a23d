//! `check`: judge and record, execute nothing. One connection, one request, one answer: this is what hooks call.

use countersign_plan::document::Bounds;

use crate::args::Check;
use crate::client::{Proposer, Start};
use crate::commands::submission;
use crate::document;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::Paths;
use crate::render::verdict;

pub(super) fn check(args: &Check, out: &Out) -> Result<Exit, Failure> {
    let bytes = document::read(&args.document, Bounds::PLAN.bytes)?;
    let submit = submission(bytes, args.goal.as_ref(), &args.given, true)?;
    let judged = Proposer::connect(&Paths::of_environment()?, Start::IfNeeded)?.submit(submit)?;
    out.value(&judged.json)?;
    let mut lines = verdict::head(&judged.verdict);
    lines.extend(verdict::findings(&judged.verdict.reasons));
    out.lines(&lines)?;
    Ok(judged.verdict.decision.into())
}
