//! `approve`: shows a pending plan whole and signs exactly that.

use countersign_plan::approval::Answer;
use countersign_wire::operator::{Done, to_monitor};

use crate::args::Approve;
use crate::client::{Operator, Proposer, Start};
use crate::commands::{key, run, stage_of, verdict_of};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::passphrase::Source;
use crate::paths::Paths;
use crate::render::line::{Detail, Line, Tone};
use crate::render::plan::{Reviewed, review};
use crate::sign::{self, Answering};

pub(super) fn approve(args: &Approve, out: &Out) -> Result<Exit, Failure> {
    let paths = Paths::of_environment()?;
    let sealed = key(&args.signer, &paths)?;
    let view = Proposer::connect(&paths, Start::IfNeeded)?.show(args.case.as_str())?;
    if view.stage != "pending" {
        let message = format!("case {} is `{}` and waits for no answer", args.case, view.stage);
        let fix = if view.asks.is_null() { "show" } else { "resume --help; countersign show" };
        return Err(Failure::refused("case.not_pending", message).fix(format!("countersign {fix} {}", args.case)));
    }
    let verdict = verdict_of(&view)?;
    let shown = Reviewed::read(view.plan.as_bytes(), verdict.plan_digest)?;
    if shown.plan().case != args.case {
        let message = format!("the monitor answered with the plan of case {}", shown.plan().case);
        return Err(Failure::refused("separation.violation", message).fix("sign nothing"));
    }
    let detail = if args.full { Detail::Full } else { Detail::Brief };
    let lines = review(&shown, &verdict, &run::builtin()?, detail);
    // With JSON the answer stands on stdout; what is signed is shown all the same.
    if out.json_wanted() {
        out.note(&lines)
    } else {
        out.lines(&lines)?
    }
    let approver = sealed.approver();
    let role = sign::role(args.role.as_deref(), &approver.groups, &verdict.quorums)?;
    let prompt =
        format!("\nTo approve exactly this plan ({}), type the passphrase of {}: ", shown.digest(), approver.principal);
    let unlocked = sign::must_unlock(&sealed, Source::of(args.signer.passphrase_fd), &prompt)?;
    let answering = Answering {
        shown: &shown,
        verdict: &verdict,
        answer: Answer::Approve,
        role,
        reason: None,
        expires_in_s: view.expires_in_s,
    };
    let envelope = answering.sign(unlocked)?.to_json();
    let settled: Done =
        Operator::connect(&paths, Start::Never)?.ask(to_monitor::Kind::Answer(to_monitor::Answer { envelope }))?;
    let stage = stage_of(&settled, &args.case);
    let follow = args.follow && stage != "pending";
    if !follow {
        out.value(&serde_json::to_value(&settled)?)?;
    }
    let waits = if stage == "pending" { ": further approvals are needed" } else { "" };
    out.lines(&[
        Line::at(0).tone(Tone::Good, "approved").plain(format!("  case {} is {stage}{waits}", args.case)),
        Line::of(1, format!("countersign show {}", args.case)),
    ])?;
    if follow {
        return run::follow(&paths, args.case.as_str(), &view.verdict, out);
    }
    Ok(if stage == "pending" { Exit::Approval } else { Exit::Done })
}
