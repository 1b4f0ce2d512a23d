//! The table of all suites in `evals/reports/suites.md`, out of `evals/ratchet.json`: the figures that `cargo xtask ratchet` holds to.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use crate::report::Report;

const FIGURES: &str = "evals/ratchet.json";
const DOCUMENT: &str = "evals/reports/suites.md";

/// The line that the table stands under; it is the last thing of the document.
const HEADING: &str = "## All suites";

/// Writes the table anew.
pub(crate) fn write(root: &Path) -> anyhow::Result<Report> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"));
    let figures: Value = serde_json::from_str(&read(FIGURES)?).with_context(|| format!("read {FIGURES}"))?;
    let document = read(DOCUMENT)?;
    let before = document.split(HEADING).next().unwrap_or(&document).trim_end();
    let (table, rows) = table(&figures);
    std::fs::write(root.join(DOCUMENT), format!("{before}\n\n{HEADING}\n\n{table}"))
        .with_context(|| format!("write {DOCUMENT}"))?;
    let mut report = Report::default();
    report.count("suites", rows);
    Ok(report)
}

/// The table, and how many suites it has.
fn table(figures: &Value) -> (String, usize) {
    let mut out = String::from(
        "| suite | attacks | blocked | asked | allowed | only a block is right, blocked | ordinary | allowed | asked | blocked | nobody should be asked, allowed | provable, allowed |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let suites = figures.get("suites").and_then(Value::as_object);
    let mut all = Row::default();
    for (name, suite) in suites.into_iter().flatten() {
        let row = Row::of(suite);
        row.write(&mut out, name);
        all.add(&row);
    }
    all.write(&mut out, "**all**");
    (out, suites.map_or(0, serde_json::Map::len))
}

/// Pairs of how many, and of how many.
#[derive(Debug, Default)]
struct Row {
    attacks_allowed: [u64; 2],
    attacks_blocked: [u64; 2],
    must_block: [u64; 2],
    benign_allowed: [u64; 2],
    benign_blocked: [u64; 2],
    must_allow: [u64; 2],
    provable: [u64; 2],
}

impl Row {
    fn of(suite: &Value) -> Self {
        let pair = |name: &str| {
            let number = |i: usize| suite.get(name).and_then(|pair| pair.get(i)).and_then(Value::as_u64).unwrap_or(0);
            [number(0), number(1)]
        };
        Self {
            attacks_allowed: pair("attacks_allowed"),
            attacks_blocked: pair("attacks_blocked"),
            must_block: pair("must_block"),
            benign_allowed: pair("benign_allowed"),
            benign_blocked: pair("benign_blocked"),
            must_allow: pair("must_allow"),
            provable: pair("provable"),
        }
    }

    fn add(&mut self, other: &Self) {
        let add = |to: &mut [u64; 2], from: [u64; 2]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        add(&mut self.attacks_allowed, other.attacks_allowed);
        add(&mut self.attacks_blocked, other.attacks_blocked);
        add(&mut self.must_block, other.must_block);
        add(&mut self.benign_allowed, other.benign_allowed);
        add(&mut self.benign_blocked, other.benign_blocked);
        add(&mut self.must_allow, other.must_allow);
        add(&mut self.provable, other.provable);
    }

    fn write(&self, out: &mut String, name: &str) {
        let rest = |of: u64, one: u64, two: u64| of.saturating_sub(one + two);
        let share = |[count, of]: [u64; 2]| if of == 0 { "–".to_owned() } else { format!("{count} / {of}") };
        let ([allowed, attacks], [blocked, _]) = (self.attacks_allowed, self.attacks_blocked);
        let ([passed, ordinary], [stopped, _]) = (self.benign_allowed, self.benign_blocked);
        let _ = writeln!(
            out,
            "| {name} | {attacks} | {blocked} | {} | {allowed} | {} | {ordinary} | {passed} | {} | {stopped} | {} | {} |",
            rest(attacks, blocked, allowed),
            share(self.must_block),
            rest(ordinary, passed, stopped),
            share(self.must_allow),
            share(self.provable),
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::table;

    #[test]
    fn what_is_neither_blocked_nor_allowed_was_asked() {
        let suite = json!({"attacks_allowed": [1, 60], "attacks_blocked": [30, 60], "must_block": [24, 24], "benign_allowed": [50, 60],
            "benign_blocked": [0, 60], "must_allow": [44, 45], "provable": [0, 0]});
        let (text, rows) = table(&json!({"suites": {"a": suite, "b": suite}}));
        assert_eq!(rows, 2);
        assert!(text.contains("| a | 60 | 30 | 29 | 1 | 24 / 24 | 60 | 50 | 10 | 0 | 44 / 45 | – |"), "{text}");
        assert!(text.contains("| **all** | 120 | 60 | 58 | 2 | 48 / 48 |"), "{text}");
    }
}
