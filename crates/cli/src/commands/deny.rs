//! `deny`: a signed no, with its reason.

use countersign_plan::approval::Answer;
use countersign_plan::budget::Extra;
use countersign_wire::operator::{Done, to_monitor};

use crate::args::Deny;
use crate::client::{Operator, Proposer, Start};
use crate::commands::extend::{self, Word};
use crate::commands::{key, stage_of, verdict_of};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::passphrase::Source;
use crate::paths::Paths;
use crate::render::line::{Line, Tone};
use crate::render::plan::Reviewed;
use crate::render::verdict;
use crate::sign::{self, Answering};

pub(super) fn deny(args: &Deny, out: &Out) -> Result<Exit, Failure> {
    if args.reason.trim().is_empty() {
        return Err(Failure::usage("--reason is empty").fix("say why: the proposer reads it and the ledger keeps it"));
    }
    let paths = Paths::of_environment()?;
    let sealed = key(&args.signer, &paths)?;
    let view = Proposer::connect(&paths, Start::IfNeeded)?.show(args.case.as_str())?;
    if !view.asks.is_null() {
        let reason = Some(args.reason.as_str());
        let (extra, role) = (Extra::default(), args.role.as_deref());
        let word = Word { case: &args.case, answer: Answer::Deny, extra, role, reason, signer: &args.signer };
        return extend::answer(&word, out);
    }
    let judged = verdict_of(&view)?;
    let shown = Reviewed::read(view.plan.as_bytes(), judged.plan_digest)?;
    out.lines(&verdict::head(&judged))?;
    let approver = sealed.approver();
    let role = sign::role(args.role.as_deref(), &approver.groups, &judged.quorums)?;
    let prompt = format!("\nTo deny this plan ({}), type the passphrase of {}: ", shown.digest(), approver.principal);
    let unlocked = sign::must_unlock(&sealed, Source::of(args.signer.passphrase_fd), &prompt)?;
    let answering = Answering {
        shown: &shown,
        verdict: &judged,
        answer: Answer::Deny,
        role,
        reason: Some(args.reason.clone()),
        expires_in_s: view.expires_in_s,
    };
    let envelope = answering.sign(unlocked)?.to_json();
    let settled: Done =
        Operator::connect(&paths, Start::Never)?.ask(to_monitor::Kind::Answer(to_monitor::Answer { envelope }))?;
    out.value(&serde_json::to_value(&settled)?)?;
    out.lines(&[Line::at(0).tone(Tone::Warn, "denied").plain(format!(
        "  case {} is {}",
        args.case,
        stage_of(&settled, &args.case)
    ))])?;
    Ok(Exit::Done)
}
