//! `show`: a case with its plan, its findings, what happened, and what the ledger has of it.

use countersign_plan::verdict::Verdict;
use countersign_wire::propose::CaseView;

use crate::args::Show;
use crate::client::{Proposer, Start};
use crate::commands::{run, verdict_of};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::Paths;
use crate::render::line::{Detail, Line};
use crate::render::plan::{Reviewed, review};
use crate::render::{case, verdict};

pub(super) fn show(args: &Show, out: &Out) -> Result<Exit, Failure> {
    let view = Proposer::connect(&Paths::of_environment()?, Start::IfNeeded)?.show(args.case.as_str())?;
    out.value(&serde_json::to_value(&view)?)?;
    let detail = if args.full { Detail::Full } else { Detail::Brief };
    // A goal that has no plan yet has no verdict either.
    let judged = if view.verdict.is_null() { None } else { Some(verdict_of(&view)?) };
    let mut lines = match judged {
        None => Vec::new(),
        Some(judged) => plan(&view, &judged, detail)?,
    };
    lines.push(Line::at(0));
    lines.extend(case::course(&view));
    lines.extend(case::record(&view, detail));
    out.lines(&lines)?;
    Ok(Exit::Done)
}

fn plan(view: &CaseView, judged: &Verdict, detail: Detail) -> Result<Vec<Line>, Failure> {
    if view.plan.is_empty() {
        return Ok([verdict::head(judged), verdict::findings(&judged.reasons)].concat());
    }
    let shown = Reviewed::read(view.plan.as_bytes(), judged.plan_digest)?;
    Ok(review(&shown, judged, &run::builtin()?, detail))
}
