//! `run`: a plan from its proposal to its end. Shows it, asks where people must decide, follows it.

use std::ops::ControlFlow;

use countersign_plan::approval::Answer;
use countersign_plan::document::Bounds;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Decision, Verdict};
use countersign_wire::operator::{Done, to_monitor};
use countersign_wire::propose::{CaseEvent, CaseView};
use serde_json::{Value, json};

use crate::args::Run;
use crate::client::{Judged, Operator, Proposer, Start};
use crate::commands::{pursue, stage_of, submission, verdict_of};
use crate::document;
use crate::failure::{Exit, Failure};
use crate::key::{KeyFileError, SealedKey};
use crate::out::Out;
use crate::passphrase::Source;
use crate::paths::Paths;
use crate::render::line::{Detail, Line, Tone};
use crate::render::plan::{Reviewed, review};
use crate::render::progress::Progress;
use crate::render::verdict;
use crate::sign::{self, Answering};

pub(super) fn run(args: &Run, out: &Out) -> Result<Exit, Failure> {
    let plan = match (&args.plan, &args.goal) {
        (Some(plan), _) => plan,
        (None, Some(goal)) => return pursue::pursue(goal, args, out),
        (None, None) => {
            return Err(Failure::usage("neither a plan nor a goal was named")
                .fix("`countersign run PLAN` runs a plan; `countersign run --goal TEXT` has one made"));
        }
    };
    let bytes = document::read(plan, Bounds::PLAN.bytes)?;
    let paths = Paths::of_environment()?;
    // The connection of the proposal stays open until the end of the run; reading and following have their own.
    let mut proposer = Proposer::connect(&paths, Start::IfNeeded)?;
    let judged = proposer.submit(submission(bytes, args.goal.as_ref(), &args.given, false)?)?;
    let detail = if args.full { Detail::Full } else { Detail::Brief };
    let Some(case) = judged.verdict.case.as_ref().map(|case| case.as_str().to_owned()) else {
        return without_case(&judged, out);
    };
    let shown = show(&paths, &case, &judged, detail, out)?;
    match judged.verdict.decision {
        Decision::Block => {
            out.value(&json!({"verdict": judged.json}))?;
            Ok(Exit::Blocked)
        }
        Decision::Allow => follow(&paths, &case, &judged.json, out),
        Decision::RequireApproval => match ask(&paths, &case, shown.as_ref(), out)? {
            Asked::Answered => follow(&paths, &case, &judged.json, out),
            Asked::Pending => {
                out.value(&json!({"verdict": judged.json, "pending": case}))?;
                Ok(Exit::Approval)
            }
        },
    }
}

/// A proposal that opened no case was not a plan; nothing runs, whatever the verdict says.
fn without_case(judged: &Judged, out: &Out) -> Result<Exit, Failure> {
    out.value(&json!({"verdict": judged.json}))?;
    let mut lines = verdict::head(&judged.verdict);
    lines.extend(verdict::findings(&judged.verdict.reasons));
    out.lines(&lines)?;
    Ok(Exit::Blocked)
}

/// Shows the plan that was judged, or the verdict alone where no plan was made.
pub(super) fn show(
    paths: &Paths,
    case: &str,
    judged: &Judged,
    detail: Detail,
    out: &Out,
) -> Result<Option<(CaseView, Reviewed)>, Failure> {
    let (lines, shown) = look(paths, case, judged, detail)?;
    out.lines(&lines)?;
    Ok(shown)
}

/// What is shown of a case, and the plan itself where one was made.
pub(super) type Look = (Vec<Line>, Option<(CaseView, Reviewed)>);

/// The plan that was judged, and how it looks; the verdict alone where no plan was made.
pub(super) fn look(paths: &Paths, case: &str, judged: &Judged, detail: Detail) -> Result<Look, Failure> {
    let view = Proposer::connect(paths, Start::Never)?.show(case)?;
    if view.plan.is_empty() {
        let mut lines = verdict::head(&judged.verdict);
        lines.extend(verdict::findings(&judged.verdict.reasons));
        return Ok((lines, None));
    }
    let shown = Reviewed::read(view.plan.as_bytes(), judged.verdict.plan_digest)?;
    let lines = review(&shown, &judged.verdict, &builtin()?, detail);
    Ok((lines, Some((view, shown))))
}

/// The built-in tools, to say what a step's tool does.
pub(super) fn builtin() -> Result<Manifest, Failure> {
    Manifest::builtin().map_err(|error| Failure::internal(format!("the built-in tools: {error}")))
}

pub(super) enum Asked {
    /// Enough people said yes.
    Answered,
    /// Somebody must still answer.
    Pending,
}

pub(super) fn ask(
    paths: &Paths,
    case: &str,
    shown: Option<&(CaseView, Reviewed)>,
    out: &Out,
) -> Result<Asked, Failure> {
    let how = |why: &str| {
        out.note(&[
            Line::at(0),
            Line::at(0).tone(Tone::Warn, "approval required: ").plain(why),
            Line::of(1, format!("countersign show {case} --full    shows the plan whole")),
            Line::of(1, format!("countersign approve {case}        signs it with an approver's key")),
            Line::of(1, format!("countersign deny {case} --reason TEXT")),
        ]);
    };
    let Some((view, shown)) = shown else {
        how("there is no plan to sign");
        return Ok(Asked::Pending);
    };
    if !out.interactive() {
        how(&format!("case {case} is pending"));
        return Ok(Asked::Pending);
    }
    let key = match SealedKey::read(&paths.approver_key()) {
        Ok(key) => key,
        Err(KeyFileError::Absent(_)) => {
            how("this user has no approver key (`countersign keys init`, then `countersign keys enroll`)");
            return Ok(Asked::Pending);
        }
        Err(error) => return Err(error.into()),
    };
    let verdict = verdict_of(view)?;
    let settled = answer(paths, &key, view, shown, &verdict)?;
    match settled {
        Some(settled) if stage_of(&settled, &shown.plan().case) == "pending" => {
            how("your approval counts, and further ones are needed");
            Ok(Asked::Pending)
        }
        Some(_) => Ok(Asked::Answered),
        None => {
            how("nothing was signed");
            Ok(Asked::Pending)
        }
    }
}

fn answer(
    paths: &Paths,
    key: &SealedKey,
    view: &CaseView,
    shown: &Reviewed,
    verdict: &Verdict,
) -> Result<Option<Done>, Failure> {
    let approver = key.approver();
    let role = sign::role(None, &approver.groups, &verdict.quorums)?;
    let prompt = format!(
        "\nTo approve exactly this plan ({}), type the passphrase of {}; Enter alone leaves it pending: ",
        shown.digest(),
        approver.principal
    );
    let Some(unlocked) = sign::unlock(key, Source::Terminal, &prompt)? else { return Ok(None) };
    let answering =
        Answering { shown, verdict, answer: Answer::Approve, role, reason: None, expires_in_s: view.expires_in_s };
    let envelope = answering.sign(unlocked)?.to_json();
    let mut operator = Operator::connect(paths, Start::Never)?;
    operator.ask(to_monitor::Kind::Answer(to_monitor::Answer { envelope })).map(Some)
}

/// Follows a case to its end and sums it up.
pub(super) fn follow(paths: &Paths, case: &str, verdict: &Value, out: &Out) -> Result<Exit, Failure> {
    let mut progress = Progress::default();
    let mut events = Vec::new();
    let end = Proposer::connect(paths, Start::Never)?.watch(case, |event| {
        if out.json_wanted() {
            events.push(serde_json::to_value(event)?);
        }
        let lines = progress.note(event);
        out.live(None);
        out.lines(&lines)?;
        out.live(progress.live().as_ref());
        Ok(ControlFlow::Continue(()))
    });
    out.live(None);
    let CaseEvent::Ended { stage, report } = end? else {
        return Err(Failure::internal(format!("case {case} ended without saying how")));
    };
    let (lines, exit) = progress.summary(case, &stage, &report);
    out.lines(&[vec![Line::at(0)], lines].concat())?;
    out.value(&json!({"verdict": verdict, "case": case, "stage": stage, "report": report, "events": events}))?;
    Ok(exit)
}
