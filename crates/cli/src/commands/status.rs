//! `status`, `up`, `down`: the monitor itself.

use countersign_wire::operator::{Status, to_monitor};
use serde_json::{Value, json};

use crate::client::{Operator, Start};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::Paths;
use crate::render::line::{Line, Tone};

pub(super) fn status(out: &Out) -> Result<Exit, Failure> {
    show(&Operator::connect(&Paths::of_environment()?, Start::Never)?.status()?, out)
}

pub(super) fn up(out: &Out) -> Result<Exit, Failure> {
    show(&Operator::connect(&Paths::of_environment()?, Start::IfNeeded)?.status()?, out)
}

pub(super) fn down(out: &Out) -> Result<Exit, Failure> {
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::Never)?;
    let pid = operator.status()?.pid;
    let _: Value = operator.ask(to_monitor::Kind::Shutdown(to_monitor::Shutdown {}))?;
    let gone = gone(pid);
    out.value(&json!({"down": gone}))?;
    let text = if gone { "the monitor has ended" } else { "the monitor is ending; it still writes the ledger down" };
    out.lines(&[Line::of(0, text)])?;
    Ok(Exit::Done)
}

/// Waits until the process is gone, at most 30 seconds: whoever copies the state folder next wants it whole.
fn gone(pid: u32) -> bool {
    for _ in 0..3000 {
        // A process that nobody has waited for yet is a name without a program.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    false
}

fn show(status: &Status, out: &Out) -> Result<Exit, Failure> {
    out.value(&serde_json::to_value(status)?)?;
    out.lines(&lines(status))?;
    Ok(Exit::Done)
}

fn lines(status: &Status) -> Vec<Line> {
    let state = if status.halted {
        Line::at(0).tone(Tone::Bad, "HALTED").plain("  nothing can be recorded, so nothing is done; see the log")
    } else {
        Line::at(0).tone(Tone::Good, "running")
    };
    let count = |stage: &str| status.cases.iter().filter(|case| case.stage == stage).count();
    let cases =
        format!("{} run, {} wait for people, {} in all", count("running"), count("pending"), status.cases.len());
    let program = format!("countersignd {}, process {}, boot epoch {}", status.version, status.pid, status.epoch);
    let mut lines = vec![
        state,
        Line::field(1, "monitor", program),
        Line::field(1, "ledger", &status.ledger),
        Line::field(1, "gate key", &status.gate_key),
        Line::field(1, "cases", cases),
    ];
    if let Some(memory) = resident(status.pid) {
        lines.push(Line::field(1, "memory", memory));
    }
    if let Some(level) = status.enforcement.get("level").and_then(Value::as_str) {
        lines.push(Line::field(1, "sandbox", format!("level {level} (`countersign doctor` says what that means)")));
    }
    if status.approvers.is_empty() {
        let text = "nobody is enrolled: `countersign keys init`, then `countersign keys enroll`";
        lines.push(Line::field(1, "approvers", text));
    }
    lines.extend(status.approvers.iter().map(|approver| {
        Line::field(1, "approver", format!("{}  {}  {}", approver.principal, approver.key, approver.groups.join(", ")))
    }));
    lines
}

/// Resident memory of the monitor, as the kernel says.
fn resident(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(format!("{} resident", line.trim()))
}

#[cfg(test)]
mod tests {
    use countersign_wire::operator::{CaseStage, Status};

    use super::lines;

    #[test]
    fn the_status_says_who_waits_and_that_nobody_can_approve_yet() {
        let waits = CaseStage { case: "c-1".to_owned(), stage: "pending".to_owned(), goal: String::new() };
        let status = Status { cases: vec![waits], halted: true, ..Status::default() };
        let text: Vec<String> = lines(&status).iter().map(super::Line::text).collect();
        assert!(text[0].starts_with("HALTED"));
        assert!(text.iter().any(|line| line.contains("0 run, 1 wait for people, 1 in all")), "{text:?}");
        assert!(text.iter().any(|line| line.contains("nobody is enrolled")), "{text:?}");
    }
}
