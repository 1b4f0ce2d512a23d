//! `resume`: a person's signed word on an effect whose outcome is unknown (INV-2), or on a budget that is spent.

use countersign_plan::approval::{Answer, Settlement};
use countersign_plan::budget::Extra;
use countersign_plan::id::{CaseId, StepId};
use countersign_wire::operator::{AuditRecord, Done, to_monitor};
use serde_json::Value;

use crate::args::{Happened, Resume};
use crate::client::{Operator, Proposer, Start};
use crate::commands::extend::{self, Word};
use crate::commands::{key, stage_of};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::passphrase::Source;
use crate::paths::Paths;
use crate::render::case;
use crate::render::line::Line;
use crate::sign;

pub(super) fn resume(args: &Resume, out: &Out) -> Result<Exit, Failure> {
    let Some(happened) = args.what.happened else {
        let money = args.what.money.map_or(0, |money| money.0);
        let extra = Extra { tokens: args.what.tokens.unwrap_or_default(), micro_dollars: money };
        let (answer, role) = (Answer::Approve, args.role.as_deref());
        let word = Word { case: &args.case, answer, extra, role, reason: None, signer: &args.signer };
        return extend::answer(&word, out);
    };
    let paths = Paths::of_environment()?;
    let sealed = key(&args.signer, &paths)?;
    let view = Proposer::connect(&paths, Start::IfNeeded)?.show(args.case.as_str())?;
    let mut operator = Operator::connect(&paths, Start::Never)?;
    let step = args.step.clone().map_or_else(|| open_step(&mut operator, &args.case), Ok)?;
    let happened = happened == Happened::Yes;
    let word = if happened { "happened" } else { "did not happen" };
    out.lines(&case::course(&view))?;
    let prompt = format!(
        "\nTo state that step {step} of case {} {word}, type the passphrase of {}: ",
        args.case,
        sealed.approver().principal
    );
    let unlocked = sign::must_unlock(&sealed, Source::of(args.signer.passphrase_fd), &prompt)?;
    let (signed_at, nonce) = sign::stamp()?;
    let principal = unlocked.principal().clone();
    let settlement = Settlement { case: args.case.clone(), step, happened, principal, signed_at, nonce };
    let envelope = unlocked.sign(&settlement)?.to_json();
    let asked = to_monitor::Resume { case: args.case.to_string(), envelope };
    let settled: Done = operator.ask(to_monitor::Kind::Resume(asked))?;
    out.value(&serde_json::to_value(&settled)?)?;
    let stage = stage_of(&settled, &args.case);
    out.lines(&[Line::of(0, format!("step {} {word}; case {} is {stage}", settlement.step, args.case))])?;
    Ok(Exit::Done)
}

/// The step whose intent is in the ledger and whose outcome is not.
fn open_step(operator: &mut Operator, case: &CaseId) -> Result<StepId, Failure> {
    let form = "records".to_owned();
    let asked = to_monitor::Audit { case: case.to_string(), limit: u64::MAX, form, ..to_monitor::Audit::default() };
    let mut open = None;
    let mut read = |bytes: &[u8]| {
        let records: Vec<AuditRecord> = serde_json::from_slice(bytes)?;
        records.iter().for_each(|record| settle(&mut open, record));
        Ok(())
    };
    let last = operator.ask_with(to_monitor::Kind::Audit(asked), &mut read)?;
    read(&last)?;
    open.ok_or_else(|| {
        Failure::refused("case.settled", format!("no step of case {case} has an unknown outcome"))
            .fix("name the step with --step if you know better")
    })
}

fn settle(open: &mut Option<StepId>, record: &AuditRecord) {
    let step = || record.payload.get("step").and_then(Value::as_str).and_then(|step| step.parse().ok());
    match record.kind.as_str() {
        "intent" => *open = step(),
        "outcome" if step() == *open => *open = None,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use countersign_wire::operator::AuditRecord;
    use serde_json::json;

    use super::settle;

    fn open(records: &[(&str, &str)]) -> Option<String> {
        let mut open = None;
        for (kind, step) in records {
            let payload = json!({"step": step});
            settle(&mut open, &AuditRecord { kind: (*kind).to_owned(), payload, ..AuditRecord::default() });
        }
        open.map(|step| step.to_string())
    }

    #[test]
    fn the_step_in_question_has_an_intent_and_no_outcome() {
        let done = [("permit", "a"), ("intent", "a"), ("outcome", "a")];
        assert_eq!(open(&done), None);
        assert_eq!(open(&[&done[..], &[("permit", "b")]].concat()), None, "a permit alone is no effect");
        assert_eq!(open(&[&done[..], &[("intent", "b"), ("case_halted", "")]].concat()).as_deref(), Some("b"));
        assert_eq!(open(&[]), None);
    }
}
