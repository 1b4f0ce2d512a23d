//! `resume --tokens`, `resume --money` and `deny` of a case whose budget is spent: exactly the question that was shown is signed.

use countersign_plan::approval::Answer;
use countersign_plan::budget::{Ask, Budget, Dollars, Extension, Extra};
use countersign_plan::id::CaseId;
use countersign_wire::operator::{Done, to_monitor};
use countersign_wire::propose::CaseView;

use crate::args::Signer;
use crate::client::{Operator, Proposer, Start};
use crate::commands::{key, stage_of};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::passphrase::Source;
use crate::paths::Paths;
use crate::render::case;
use crate::render::line::{Line, Tone};
use crate::sign;

/// What an approver says to a spent budget, and as whom.
pub(super) struct Word<'a> {
    pub(super) case: &'a CaseId,
    pub(super) answer: Answer,
    pub(super) extra: Extra,
    pub(super) role: Option<&'a str>,
    pub(super) reason: Option<&'a str>,
    pub(super) signer: &'a Signer,
}

/// Shows what the case asks and signs the answer to exactly that.
pub(super) fn answer(word: &Word<'_>, out: &Out) -> Result<Exit, Failure> {
    let paths = Paths::of_environment()?;
    let sealed = key(word.signer, &paths)?;
    let view = Proposer::connect(&paths, Start::IfNeeded)?.show(word.case.as_str())?;
    let ask = asked(&view, word.case)?;
    if word.answer == Answer::Approve && !word.extra.is_for(ask.shortage.budget) {
        return Err(Failure::usage("what is spent is another budget, or nothing was added").fix(option(&ask)));
    }
    let lines = [case::course(&view), case::spent(&ask)].concat();
    // With JSON the answer stands on stdout; what is signed is shown all the same.
    if out.json_wanted() {
        out.note(&lines)
    } else {
        out.lines(&lines)?
    }
    let approver = sealed.approver();
    let role = sign::role(word.role, &approver.groups, &[])?;
    let prompt = match word.answer {
        Answer::Approve => format!(
            "\nTo give case {} {} more, type the passphrase of {}: ",
            word.case,
            amount(word.extra),
            approver.principal
        ),
        Answer::Deny => format!("\nTo end case {} here, type the passphrase of {}: ", word.case, approver.principal),
    };
    let unlocked = sign::must_unlock(&sealed, Source::of(word.signer.passphrase_fd), &prompt)?;
    let (signed_at, nonce) = sign::stamp()?;
    let extension = Extension {
        case: word.case.clone(),
        ask: ask.digest().ok_or_else(|| Failure::internal("what the case asks has no canonical form"))?,
        answer: word.answer,
        extra: word.extra,
        approver: unlocked.principal().clone(),
        role,
        reason: word.reason.map(str::to_owned),
        signed_at,
        expires_at: sign::expiry(signed_at, view.expires_in_s),
        nonce,
    };
    let envelope = unlocked.sign(&extension)?.to_json();
    let extend = to_monitor::Kind::Extend(to_monitor::Extend { envelope });
    let settled: Done = Operator::connect(&paths, Start::Never)?.ask(extend)?;
    out.value(&serde_json::to_value(&settled)?)?;
    let stage = stage_of(&settled, word.case);
    out.lines(&[match word.answer {
        Answer::Approve => Line::at(0)
            .tone(Tone::Good, format!("{} more", amount(word.extra)))
            .plain(format!("  case {} is {stage}", word.case)),
        Answer::Deny => Line::at(0).tone(Tone::Warn, "denied").plain(format!("  case {} is {stage}", word.case)),
    }])?;
    Ok(Exit::Done)
}

/// What the case asks beside its plan, if it does.
fn asked(view: &CaseView, case: &CaseId) -> Result<Ask, Failure> {
    let ask = serde_json::from_value::<Option<Ask>>(view.asks.clone())?.ok_or_else(|| {
        let message = format!("case {case} is `{}` and asks for no budget", view.stage);
        Failure::refused("case.not_paused", message).fix(format!("countersign show {case}"))
    })?;
    if ask.case != *case {
        let message = format!("the monitor answered with what case {} asks", ask.case);
        return Err(Failure::refused("separation.violation", message).fix("sign nothing"));
    }
    Ok(ask)
}

fn option(ask: &Ask) -> String {
    match ask.shortage.budget {
        Budget::CaseTokens => format!("countersign resume {} --tokens N", ask.case),
        Budget::CaseMoney | Budget::DayMoney => format!("countersign resume {} --money DOLLARS", ask.case),
    }
}

fn amount(extra: Extra) -> String {
    if extra.tokens > 0 { format!("{} tokens", extra.tokens) } else { Dollars(extra.micro_dollars).to_string() }
}
