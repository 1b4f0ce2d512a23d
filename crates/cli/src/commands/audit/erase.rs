//! `audit erase`: an approver's signature under which the words of a case that ended are destroyed.

use countersign_plan::approval::Erasure;
use countersign_plan::id::CaseId;
use countersign_wire::operator::{AuditRecord, to_monitor};
use serde_json::Value;

use super::{asked, records};
use crate::args::Signer;
use crate::client::{Operator, Start};
use crate::commands::key;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::passphrase::Source;
use crate::paths::Paths;
use crate::render::line::{Line, Tone, Visible, count};
use crate::sign;

/// What the ledger has of a case.
#[derive(Default)]
struct Found {
    records: usize,
    goal: Option<String>,
    ending: Option<String>,
    erased: bool,
}

impl Found {
    fn take(&mut self, record: &AuditRecord) {
        let word = |name: &str| record.payload.get(name).and_then(Value::as_str).map(str::to_owned);
        self.records = self.records.saturating_add(1);
        match record.kind.as_str() {
            "case_opened" => self.goal = word("goal"),
            "case_closed" => self.ending = word("ending"),
            "erased" => self.erased = true,
            _ => {}
        }
    }
}

pub(super) fn erase(case: &CaseId, reason: &str, signer: &Signer, out: &Out) -> Result<Exit, Failure> {
    if reason.trim().is_empty() {
        return Err(Failure::usage("--reason is empty").fix("say why: the ledger keeps it, readable for everybody"));
    }
    let paths = Paths::of_environment()?;
    let sealed = key(signer, &paths)?;
    let mut found = Found::default();
    records(asked(case.as_str(), 0, u64::MAX, "records"), |record| {
        found.take(record);
        Ok(())
    })?;
    if found.records == 0 {
        let message = format!("the ledger has no record of case {case}");
        return Err(Failure::usage(message).fix("`countersign audit list` names the cases"));
    }
    if found.erased {
        return Err(Failure::refused("audit.erased", format!("case {case} was erased already"))
            .fix(format!("`countersign audit show {case}` says by whom")));
    }
    let lines = shown(case, reason, &found);
    if out.json_wanted() {
        out.note(&lines);
    } else {
        out.lines(&lines)?;
    }
    let prompt =
        format!("\nTo destroy the words of case {case}, type the passphrase of {}: ", sealed.approver().principal);
    let unlocked = sign::must_unlock(&sealed, Source::of(signer.passphrase_fd), &prompt)?;
    let (signed_at, nonce) = sign::stamp()?;
    let principal = unlocked.principal().clone();
    let erasure = Erasure { case: case.clone(), reason: reason.to_owned(), principal, signed_at, nonce };
    let envelope = unlocked.sign(&erasure)?.to_json();
    let erase = to_monitor::Erase { case: case.to_string(), envelope };
    let erased: Value = Operator::connect(&paths, Start::Never)?.ask(to_monitor::Kind::Erase(erase))?;
    out.value(&erased)?;
    let reads = erased.get("erased").and_then(Value::as_array).map_or(0, Vec::len).saturating_sub(1);
    out.lines(&[
        Line::at(0).tone(Tone::Warn, "erased").plain(format!("  case {case}")),
        Line::of(1, format!("and {} in which its planner read", count(reads, "case"))),
        Line::of(1, "the ledger verifies as before; an older backup of it still opens with its master key"),
    ])?;
    Ok(Exit::Done)
}

/// What goes, and what stays.
fn shown(case: &CaseId, reason: &str, found: &Found) -> Vec<Line> {
    let goal = found.goal.as_deref().map_or_else(|| Visible::escaped("-"), Visible::escaped);
    vec![
        Line::at(0).tone(Tone::Bold, format!("case {case}")),
        Line::at(1).tone(Tone::Dim, "goal     ").plain(goal),
        Line::field(1, "ending", found.ending.as_deref().unwrap_or("it has not ended")),
        Line::field(1, "records", found.records.to_string()),
        Line::field(
            1,
            "goes",
            "goal, plans, arguments, verdicts, denials, outputs, answers and snapshots: nobody can read them again",
        ),
        Line::field(1, "stays", "that each record was there, who approved, permits, how it ended, and this:"),
        Line::at(1).tone(Tone::Dim, "reason   ").plain(Visible::escaped(reason)),
    ]
}
