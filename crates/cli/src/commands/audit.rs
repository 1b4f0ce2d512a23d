//! `audit`: list, show, prove and export ask the monitor; verify asks nobody.

mod erase;
mod verify;

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use countersign_plan::id::CaseId;
use countersign_wire::operator::{AuditRecord, Exported, to_monitor};
use serde_json::{Value, json};

use crate::args::Audit;
use crate::client::{Operator, Start};
use crate::commands::text;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::{self, Paths};
use crate::render::audit::{erasure, row, whole};
use crate::render::line::{self, Detail, Line, Tone};

pub(super) fn audit(what: Audit, out: &Out) -> Result<Exit, Failure> {
    match what {
        Audit::List { case, from, limit } => list(case.as_ref(), from, limit, out),
        Audit::Show { what, full } => show(&what, if full { Detail::Full } else { Detail::Brief }, out),
        Audit::Prove { seq, output, payloads } => prove(seq, &output, payloads, out),
        Audit::Export { output, payloads } => export(&output, payloads, out),
        Audit::Head => head(out),
        Audit::Tiers => tiers(out),
        Audit::Erase { case, reason, signer } => erase::erase(&case, &reason, &signer, out),
        Audit::Verify { file, key, heads, other } => {
            verify::verify(&file, key.as_deref(), &heads, other.as_deref(), out)
        }
    }
}

fn asked(case: &str, from: u64, limit: u64, form: &str) -> to_monitor::Audit {
    let (case, form) = (case.to_owned(), form.to_owned());
    to_monitor::Audit { case, from, limit, form, payloads: false, output: String::new() }
}

/// Hands each record to `each`; how many there were.
fn records(
    asked: to_monitor::Audit,
    mut each: impl FnMut(&AuditRecord) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    let mut count = 0_usize;
    let mut part = |bytes: &[u8]| {
        let records: Vec<AuditRecord> = serde_json::from_slice(bytes)?;
        count = count.saturating_add(records.len());
        records.iter().try_for_each(&mut each)
    };
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::IfNeeded)?;
    let last = operator.ask_with(to_monitor::Kind::Audit(asked), &mut part)?;
    part(&last)?;
    Ok(count)
}

/// With JSON, one record a line: a ledger may be long.
fn list(case: Option<&CaseId>, from: u64, limit: u64, out: &Out) -> Result<Exit, Failure> {
    let case = case.map(CaseId::as_str).unwrap_or_default();
    let count = records(asked(case, from, limit, "records"), |record| {
        out.value(&serde_json::to_value(record)?)?;
        out.lines(&[row(record)])
    })?;
    let more = if u64::try_from(count).is_ok_and(|count| count == limit) {
        "; there may be more: --from and --limit"
    } else {
        ""
    };
    out.lines(&[Line::at(0).tone(Tone::Dim, format!("{}{more}", line::count(count, "record")))])?;
    Ok(Exit::Done)
}

fn show(what: &str, detail: Detail, out: &Out) -> Result<Exit, Failure> {
    let asked = match (what.parse::<u64>(), what.parse::<CaseId>()) {
        (Ok(seq), _) => asked("", seq, 1, "records"),
        (Err(_), Ok(case)) => asked(case.as_str(), 0, 0, "records"),
        (Err(_), Err(error)) => {
            return Err(Failure::usage(error.to_string()).fix("name a case, or the number of a record"));
        }
    };
    let mut erased = None;
    let count = records(asked, |record| {
        out.value(&serde_json::to_value(record)?)?;
        erased = erasure(record).or_else(|| erased.take());
        out.lines(&whole(record, detail))
    })?;
    if count == 0 {
        let message = format!("the ledger has no record of `{what}`");
        return Err(Failure::usage(message).fix("`countersign audit list` lists them"));
    }
    out.lines(erased.as_slice())?;
    Ok(Exit::Done)
}

fn prove(seq: u64, output: &Path, payloads: bool, out: &Out) -> Result<Exit, Failure> {
    let mut file = create(output)?;
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::IfNeeded)?;
    let asked = to_monitor::Audit { payloads, ..asked("", seq, 1, "prove") };
    let proof: Value = operator.ask(to_monitor::Kind::Audit(asked))?;
    let bytes = countersign_plan::canonical::to_vec(&proof);
    let written = file.write_all(&bytes).and_then(|()| file.write_all(b"\n")).and_then(|()| file.sync_all());
    written.map_err(|error| Failure::file(output, &error))?;
    out.value(&json!({"seq": seq, "output": output.to_string_lossy()}))?;
    out.lines(&[
        Line::of(0, format!("proof of record {seq} written to {}", output.display())),
        Line::of(1, format!("countersign audit verify {}", output.display())),
    ])?;
    Ok(Exit::Done)
}

fn create(path: &Path) -> Result<File, Failure> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| Failure::file(path, &error).fix("name a file that does not exist yet"))
}

fn export(output: &Path, payloads: bool, out: &Out) -> Result<Exit, Failure> {
    let output = paths::current_folder()?.join(output);
    if output.exists() {
        return Err(Failure::usage(format!("{}: exists already", output.display())).fix("name a file that does not"));
    }
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::IfNeeded)?;
    let asked = to_monitor::Audit { payloads, output: text(output.clone())?, ..asked("", 0, 0, "export") };
    let end: Exported = operator.ask(to_monitor::Kind::Audit(asked))?;
    out.value(&serde_json::to_value(&end)?)?;
    let what = if payloads { "with payloads" } else { "without payloads" };
    out.lines(&[
        Line::of(0, format!("{} records written {what} to {}", end.records, output.display())),
        Line::of(1, format!("countersign audit verify {}", output.display())),
    ])?;
    Ok(Exit::Done)
}

fn tiers(out: &Out) -> Result<Exit, Failure> {
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::IfNeeded)?;
    let counted: Value = operator.ask(to_monitor::Kind::Audit(asked("", 0, 0, "tiers")))?;
    out.value(&counted)?;
    let counts = |value: &Value| {
        let counts = value.as_object().into_iter().flatten();
        counts.map(|(word, count)| format!("{word} {count}")).collect::<Vec<_>>().join(", ")
    };
    let mut lines = Vec::new();
    for (tier, decided) in counted.get("tiers").and_then(Value::as_object).into_iter().flatten() {
        let who = match tier.as_str() {
            "0" => "rules",
            "2" => "evaluator",
            "3" => "people",
            _ => "heuristics",
        };
        lines.push(Line::of(0, format!("tier {tier} ({who}): {}", counts(decided))));
    }
    let evaluator = counted.get("evaluator").map(counts).unwrap_or_default();
    if !evaluator.is_empty() {
        lines.push(Line::of(0, format!("evaluator: {evaluator}")));
    }
    let unread = counted.get("unread").and_then(Value::as_u64).unwrap_or(0);
    if unread > 0 {
        lines.push(Line::at(0).tone(Tone::Dim, format!("{unread} decisions cannot be read any more")));
    }
    if lines.is_empty() {
        lines.push(Line::at(0).tone(Tone::Dim, "nothing was decided yet".to_owned()));
    }
    out.lines(&lines)?;
    Ok(Exit::Done)
}

fn head(out: &Out) -> Result<Exit, Failure> {
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::IfNeeded)?;
    let head: Value = operator.ask(to_monitor::Kind::Audit(asked("", 0, 0, "head")))?;
    out.value(&head)?;
    let note = head.get("checkpoint").and_then(Value::as_str);
    let note = note.ok_or_else(|| Failure::internal("the monitor answered without a signed head"))?;
    if !out.json_wanted() {
        out.raw(note.as_bytes())?;
    }
    Ok(Exit::Done)
}
