//! Records of the ledger for people.

use countersign_wire::operator::AuditRecord;

use crate::render::line::{Detail, Line, Tone, Visible};

/// One record on one line: place, time, kind, case, and the few words of its payload that tell what happened.
pub(crate) fn row(record: &AuditRecord) -> Line {
    let case = record.case.as_deref().unwrap_or("-");
    let text = format!(" {}  {:<18} {case}", record.at, record.kind);
    Line::at(0).tone(Tone::Dim, format!("{:>6} ", record.seq)).plain(text).plain(format!("  {}", gist(record)))
}

/// One record with its whole payload.
pub(crate) fn whole(record: &AuditRecord, detail: Detail) -> Vec<Line> {
    let mut lines = vec![row(record)];
    if record.payload_state == OPEN {
        lines.push(Line::of(3, Visible::json(&record.payload, detail)));
    }
    lines.push(Line::of(3, &record.payload_digest));
    lines
}

/// What the record of an erasure says about all of its case; nothing for any other record.
pub(crate) fn erasure(record: &AuditRecord) -> Option<Line> {
    let word = |name: &str| record.payload.get(name).and_then(|value| value.as_str()).unwrap_or("?");
    let told = format!("  by {} at {}: {}", word("by"), record.at, word("reason"));
    let line = Line::at(0).tone(Tone::Warn, "erased").plain(Visible::escaped(&told));
    (record.kind == "erased").then_some(line)
}

/// The payload could be read and is what was recorded.
const OPEN: &str = "open";

/// What says most about a record, in the order in which it is shown; long texts and digests wait for `audit show`.
const TELLING: [(&str, &str); 10] = [
    ("decision", "/verdict/decision"),
    ("decision", "/decision"),
    ("answer", "/answer"),
    ("step", "/step"),
    ("phase", "/phase"),
    ("by", "/by"),
    ("approver", "/approver/principal"),
    ("ending", "/ending"),
    ("path", "/path"),
    ("reason", "/reason"),
];
const SHORT: usize = 80;

fn gist(record: &AuditRecord) -> String {
    if record.payload_state != OPEN {
        return format!("[payload {}]", record.payload_state);
    }
    let told = TELLING.iter().filter_map(|(name, at)| Some((name, record.payload.pointer(at)?.as_str()?)));
    let short = told.filter(|(_, text)| text.len() <= SHORT && !text.starts_with("sha256:"));
    short.map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use countersign_wire::operator::AuditRecord;
    use serde_json::json;

    use super::{row, whole};
    use crate::render::line::Detail;

    #[test]
    fn a_record_shows_what_it_says_and_what_is_withheld() {
        let mut record = AuditRecord {
            seq: 7,
            at: "2026-01-01T00:00:00.000Z".to_owned(),
            kind: "decision".to_owned(),
            case: Some("c-1".to_owned()),
            payload: json!({"decision": "block", "other": "x\u{1b}"}),
            payload_digest: "sha256:00".to_owned(),
            payload_state: "open".to_owned(),
        };
        assert_eq!(row(&record).text(), "     7  2026-01-01T00:00:00.000Z  decision           c-1  decision=block");
        assert_eq!(whole(&record, Detail::Brief)[1].text().trim(), r#"{"decision":"block","other":"x\u001b"}"#);
        record.payload = serde_json::Value::Null;
        record.payload_state = "erased".to_owned();
        assert!(row(&record).text().ends_with("[payload erased]"));
    }
}
