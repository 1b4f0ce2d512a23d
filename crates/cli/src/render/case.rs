//! Cases for people: those that wait, and one with what happened in it.

use countersign_plan::budget::{Ask, Budget, Dollars, Extra, Shortage};
use countersign_wire::propose::{CaseEvent, CaseRecord, CaseView};
use serde_json::Value;

use crate::render::line::{Detail, Line, Tone, Visible, clip, count};
use crate::render::progress::{Progress, enforcement, inferred};

/// The cases that wait for people, one paragraph each.
pub(crate) fn pending(cases: &[CaseView]) -> Vec<Line> {
    if cases.is_empty() {
        return vec![Line::of(0, "nothing waits for an approval")];
    }
    let mut lines = Vec::new();
    for case in cases {
        let left = case.expires_in_s.map(|left| format!("  {left} s left")).unwrap_or_default();
        let told = |pointer: &str| case.verdict.pointer(pointer).map_or_else(|| "?".to_owned(), told);
        let given = count(case.approvals.len(), "approval");
        let facts = format!("  for {}, proposed by {}, {given} given{left}", case.principal, case.agent);
        lines.push(Line::at(0).tone(Tone::Bold, &case.case).plain(facts));
        match asks(case) {
            Some(ask) => lines.extend(spent(&ask)),
            None => {
                lines.push(Line::field(1, "plan", told("/plan_digest")));
                lines.push(Line::field(1, "risk", format!("{} of 100", told("/risk/score"))));
            }
        }
        lines.push(Line::field(1, "goal", format!("“{}” (untrusted)", clip(&case.goal, Detail::Brief))));
    }
    lines.push(Line::at(0));
    lines.push(Line::of(0, "`countersign show CASE` shows one, `countersign approve CASE` or `deny CASE` answers it"));
    if cases.iter().any(|case| asks(case).is_some()) {
        lines.push(Line::of(
            0,
            "a spent budget is answered by `countersign resume CASE --tokens N` or `--money DOLLARS`, or `deny CASE`",
        ));
    }
    lines
}

/// What a case asks beside its plan.
fn asks(case: &CaseView) -> Option<Ask> {
    serde_json::from_value(case.asks.clone()).ok()
}

/// A spent budget: what is asked for, of what, and what was spent.
pub(crate) fn spent(ask: &Ask) -> Vec<Line> {
    let Shortage { budget, limit, spent, wanted } = ask.shortage;
    let (what, count): (_, fn(u64) -> String) = match budget {
        Budget::CaseTokens => ("tokens of this case", |n| n.to_string()),
        Budget::CaseMoney => ("cost of this case", |n| Dollars(n).to_string()),
        Budget::DayMoney => ("cost of all cases of this day (UTC)", |n| Dollars(n).to_string()),
    };
    let missing = spent.saturating_add(wanted).saturating_sub(limit);
    vec![
        Line::field(1, "budget", what),
        Line::field(1, "spent", format!("{} of {}", count(spent), count(limit))),
        Line::field(
            1,
            "asked for",
            format!("{} for the next inference: {} more than is left", count(wanted), count(missing)),
        ),
    ]
}

fn told(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// The facts of a case, its approvals, and what happened in order.
pub(crate) fn course(view: &CaseView) -> Vec<Line> {
    let mut lines = vec![Line::at(0).plain("case ").tone(Tone::Bold, &view.case).plain(format!("  {}", view.stage))];
    lines.push(Line::field(1, "for", &view.principal));
    lines.push(Line::field(1, "proposed by", &view.agent));
    if let Some(left) = view.expires_in_s {
        lines.push(Line::field(1, "waits", format!("{left} s more, then it is denied")));
    }
    lines.extend(asks(view).map(|ask| spent(&ask)).unwrap_or_default());
    for approval in &view.approvals {
        let who = approval.get("approver").map_or_else(|| "?".to_owned(), told);
        lines.push(Line::field(1, "approved by", who));
    }
    if !view.events.is_empty() {
        lines.push(Line::of(0, "what happened"));
    }
    let mut progress = Progress::default();
    for event in &view.events {
        match serde_json::from_value::<CaseEvent>(event.clone()) {
            Ok(CaseEvent::Ended { stage, report }) => lines.extend(progress.summary(&view.case, &stage, &report).0),
            Ok(event) => lines.extend(progress.note(&event)),
            Err(_) => lines.push(Line::of(1, Visible::json(event, Detail::Brief))),
        }
    }
    lines
}

/// What the ledger has of a case, in order: goal, versions with their decisions, what the planner did, observations, answer.
pub(crate) fn record(view: &CaseView, detail: Detail) -> Vec<Line> {
    if view.records.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::of(0, "what is recorded")];
    for record in &view.records {
        let place = format!("{:>6} ", record.seq);
        let kind = record.kind.replace('_', " ");
        lines.push(Line::at(0).tone(Tone::Dim, place).plain(format!("{kind:<16} ")).plain(gist(record, detail)));
        if record.kind == "answer" {
            let text = record.payload.get("text").and_then(Value::as_str).unwrap_or_default();
            lines.extend(text.lines().map(|row| Line::at(9).tone(Tone::Dim, "“ ").plain(row)));
        }
    }
    lines
}

/// What says most about a record.
fn gist(record: &CaseRecord, detail: Detail) -> Visible {
    let payload = &record.payload;
    let word = |at: &str| payload.pointer(at).and_then(Value::as_str).unwrap_or_default();
    if payload.is_null() {
        return Visible::escaped("[its payload cannot be read]");
    }
    let text = match record.kind.as_str() {
        "case_opened" => format!("goal “{}”", clip(word("/goal"), detail)),
        "decision" if payload.get("verdict").is_some() => {
            let version = payload.pointer("/verdict/version").and_then(Value::as_u64).unwrap_or_default();
            let first = payload.pointer("/verdict/reasons/0/message").and_then(Value::as_str).unwrap_or_default();
            let why = if first.is_empty() { String::new() } else { format!(": {}", clip(first, detail)) };
            format!("version {version} {}{why}", word("/verdict/decision"))
        }
        "outcome" | "compensation" => {
            let output = payload.pointer("/observation/output").map(Value::to_string).unwrap_or_default();
            format!("{} {} {} {}", word("/step"), word("/phase"), word("/fate"), clip(&output, detail))
        }
        "planner" => deed(payload, detail),
        "permit" | "intent" => format!("{} {}", word("/step"), word("/phase")),
        "approval" if payload.get("extended").is_some() => format!("by {}: {}", word("/by"), extended(payload)),
        "approval" | "denial" => format!("by {}", word("/by")),
        "countersignature" => format!("until {}", word("/expires_at")),
        "run_ended" | "case_closed" => match word("/detail") {
            detail if detail.is_empty() || detail == word("/ending") => word("/ending").to_owned(),
            why => format!("{}: {}", word("/ending"), clip(why, detail)),
        },
        "answer" => "by the model, from what the steps showed (untrusted)".to_owned(),
        _ => clip(&payload.to_string(), detail),
    };
    Visible::escaped(&text)
}

/// What was added to a budget.
fn extended(payload: &Value) -> String {
    match payload.get("extended").cloned().map(serde_json::from_value::<Extra>) {
        Some(Ok(extra)) if extra.tokens > 0 => format!("{} tokens more", extra.tokens),
        Some(Ok(extra)) => format!("{} more", Dollars(extra.micro_dollars)),
        Some(Err(_)) | None => "what was added cannot be read".to_owned(),
    }
}

/// What a planner did.
fn deed(payload: &Value, detail: Detail) -> String {
    let word = |at: &str| payload.pointer(at).and_then(Value::as_str).unwrap_or_default();
    if payload.get("asks").is_some() {
        return word("/message").to_owned();
    }
    if let Some(held) = payload.pointer("/started/enforcement") {
        return format!("started sealed: {}", enforcement(held));
    }
    if let Some(account) = payload.pointer("/inferred/account") {
        let number = payload.pointer("/inferred/number").and_then(Value::as_u64).unwrap_or_default();
        return format!("{}, shown {} data at most", inferred(number, account), word("/inferred/secrecy"));
    }
    if let Some(groups) = payload.pointer("/loaded/groups") {
        return format!("loaded {}", clip(&groups.to_string(), detail));
    }
    if payload.get("read").is_some() {
        return format!("read by {} in case {}: {}", word("/read/action"), word("/read/case"), word("/read/outcome"));
    }
    clip(&payload.to_string(), detail)
}

#[cfg(test)]
mod tests {
    use countersign_wire::propose::{CaseRecord, CaseView};
    use serde_json::{Value, json};

    use super::record;
    use crate::render::line::{Detail, Line};

    #[test]
    fn the_record_of_a_goal_has_goal_versions_decisions_observations_and_answer() {
        let of = |seq: u64, kind: &str, payload: Value| CaseRecord {
            seq,
            kind: kind.to_owned(),
            at: String::new(),
            payload,
        };
        let verdict = |version: u32, decision: &str| {
            json!({"verdict": {"version": version, "decision": decision,
            "reasons": [{"message": "it is\u{1b}[2Jprotected"}]}})
        };
        let records = vec![
            of(1, "case_opened", json!({"goal": "mend it"})),
            of(2, "decision", verdict(1, "block")),
            of(3, "decision", verdict(2, "allow")),
            of(
                4,
                "outcome",
                json!({"step": "s1", "phase": "act", "fate": "held", "observation": {"output": {"n": 4}}}),
            ),
            of(5, "answer", json!({"text": "four\nof them"})),
            of(
                7,
                "planner",
                json!({"inferred": {"number": 2, "secrecy": "internal", "account": {"model": "small",
                "outcome": "answer", "usage": {"output_tokens": 5}, "millis": 9}}}),
            ),
            of(8, "run_ended", json!({"ending": "stopped", "detail": "step a failed"})),
            of(6, "permit", Value::Null),
        ];
        let view = CaseView {
            case: "c-1".to_owned(),
            stage: "answered".to_owned(),
            principal: "uid:0".to_owned(),
            agent: "agent:planner".to_owned(),
            goal: "mend it".to_owned(),
            verdict: Value::Null,
            plan: String::new(),
            approvals: vec![],
            expires_in_s: None,
            asks: Value::Null,
            events: vec![],
            records,
        };
        let text = record(&view, Detail::Brief).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        for wanted in [
            "“mend it”",
            "version 1 block",
            "version 2 allow",
            "s1 act held {\"n\":4}",
            "“ four",
            "“ of them",
            "cannot be read",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(!text.contains('\u{1b}'), "what a record quotes cannot drive the terminal");
    }
}
