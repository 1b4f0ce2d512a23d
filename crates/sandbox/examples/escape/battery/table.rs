//! The result as a table for people and as JSON for machines.

use std::fmt::Write as _;

use countersign_sandbox::Layer;
use serde_json::{Value, json as value};

use super::harness::Seen;
use super::scan::{Row, Scan};

/// How to write a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A Markdown table with a summary.
    Table,
    /// One JSON object.
    Json,
    /// The line of counts, and nothing else.
    Summary,
}

/// Writes a scan.
pub(crate) fn render(scan: &Scan, form: Form) -> String {
    match form {
        Form::Table => text(scan),
        Form::Json => json(scan),
        Form::Summary => summary(scan),
    }
}

const LEGEND: &str = "Groups of layers: **H** hygiene (descriptors, environment, session), **R** resource limits, no capabilities and own user \
namespace, **N** all namespaces with the mount view, **L** Landlock, **S** seccomp; `no_new_privs` comes with L and S, which need it. \
\"stopped alone by\": with only this group on, the probe is stopped. \"works without\": with everything but this group on, it works. \
`no effect`: the probe was told that it worked, but nothing happened outside.";

/// Letters of the groups for which `pick` holds.
fn letters(row: &Row, pick: impl Fn(&Seen, &Seen) -> bool) -> String {
    let letters: String =
        row.groups.iter().filter(|(_, alone, without)| pick(alone, without)).map(|(letter, _, _)| *letter).collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}

/// Layers that stop it alone.
fn alone(row: &Row) -> String {
    if row.groups.is_empty() {
        String::new()
    } else {
        letters(row, |alone, _| !alone.worked() && !matches!(alone, Seen::Broken(_)))
    }
}

/// Layers without which it works.
fn needed(row: &Row) -> String {
    if row.groups.is_empty() { String::new() } else { letters(row, |_, without| without.worked()) }
}

fn outside(row: &Row) -> String {
    if row.valid() { "works".to_owned() } else { format!("not testable here ({})", row.outside) }
}

fn inside(row: &Row) -> String {
    if row.control() {
        return if row.broken() {
            format!("**DOES NOT WORK** ({})", row.inside)
        } else {
            "works, as it must".to_owned()
        };
    }
    match (row.escaped(), row.allowed) {
        (true, _) => format!("**ESCAPED** ({})", row.inside),
        (false, Some(why)) if row.inside.worked() => format!("works, by design: {why}"),
        _ => row.inside.to_string(),
    }
}

/// A Markdown table with a summary.
fn text(scan: &Scan) -> String {
    let mut out = String::new();
    let user = if scan.root { "root" } else { "an ordinary user" };
    let _ = writeln!(out, "## {} battery, run by {user}\n", scan.which.name());
    if scan.rows.iter().any(|row| !row.groups.is_empty()) {
        let _ = writeln!(out, "{LEGEND}\n");
    }
    let _ = writeln!(out, "| # | probe | what it tries | outside | all layers | stopped alone by | works without |");
    let _ = writeln!(out, "|---|---|---|---|---|---|---|");
    let mut class = "";
    for row in &scan.rows {
        if row.class != class {
            class = row.class;
            let _ = writeln!(out, "| | **{class}** | | | | | |");
        }
        let name = row.name.replace('|', "\\|");
        let _ = writeln!(
            out,
            "| {} | {name} | {} | {} | {} | {} | {} |",
            row.id,
            row.tries,
            outside(row),
            inside(row),
            alone(row),
            needed(row)
        );
    }
    let _ = writeln!(out, "{}", left_out(scan));
    if !scan.checks.is_empty() {
        let _ = writeln!(out, "| # | attack on the spawner | answer |\n|---|---|---|");
    }
    for check in &scan.checks {
        let fault = if check.held() { "" } else { "**WRONG**: " };
        let _ = writeln!(out, "| {} | {} | {fault}{} |", check.id, check.tries, check.seen);
    }
    let _ = writeln!(out);
    for left in &scan.leftovers {
        let _ = writeln!(out, "- left behind: {left}");
    }
    for gap in &scan.gaps {
        let _ = writeln!(out, "- not enforced on this machine: {gap}");
    }
    let _ = writeln!(out, "\n{}\n", summary(scan));
    out
}

/// Which probes work with every layer but one: what that layer alone holds back. Where there is none, others hold it too.
fn left_out(scan: &Scan) -> String {
    let mut out = String::new();
    if scan.rows.iter().all(|row| row.without.is_empty()) {
        return out;
    }
    let _ = writeln!(out, "\n| left out alone | probes that then work | which |\n|---|---|---|");
    for layer in Layer::ALL {
        // What comes through with all layers is no matter of this one.
        let tried = scan.rows.iter().filter(|row| !row.inside.worked());
        let seen =
            tried.flat_map(|row| row.without.iter().filter(|(out, _)| *out == layer).map(move |(_, s)| (row, s)));
        let (mut works, mut broken) = (Vec::new(), None);
        for (row, seen) in seen {
            match seen {
                Seen::Broken(why) => broken = Some(why.clone()),
                seen if seen.worked() => works.push(row.id.as_str()),
                _ => {}
            }
        }
        let which = match broken {
            Some(why) if works.is_empty() => format!("cannot be left out alone: {why}"),
            _ => works.join(", "),
        };
        let _ = writeln!(out, "| {layer:?} | {} | {which} |", works.len());
    }
    out
}

/// One line of counts.
fn summary(scan: &Scan) -> String {
    let count = |pick: fn(&Row) -> bool| scan.rows.iter().filter(|row| pick(row)).count();
    format!(
        "{}: {} probes, {} valid here, {} stopped, {} allowed by design, {} ESCAPED, {} not testable here, {} broken, {} left behind, {} of {} attacks on the spawner refused ({:.1} s)",
        scan.which.name(),
        scan.rows.iter().filter(|row| !row.control()).count(),
        scan.valid(),
        scan.stopped(),
        count(|row| row.valid() && row.inside.worked() && row.allowed.is_some()),
        count(Row::escaped),
        count(|row| !row.valid() && !row.broken()),
        count(Row::broken),
        scan.leftovers.len(),
        scan.checks.iter().filter(|check| !check.control() && check.held()).count(),
        scan.checks.iter().filter(|check| !check.control()).count(),
        scan.seconds,
    )
}

/// The same as JSON.
fn json(scan: &Scan) -> String {
    let rows: Vec<Value> = scan
        .rows
        .iter()
        .map(|row| {
            let groups: Vec<Value> = row
                .groups
                .iter()
                .map(|(letter, alone, without)| value!({"layer": letter, "alone": alone.to_string(), "without": without.to_string()}))
                .collect();
            let left_out: Vec<Value> =
                row.without.iter().map(|(layer, seen)| value!({"layer": format!("{layer:?}"), "seen": seen.to_string()})).collect();
            value!({
                "without": left_out,
                "id": row.id, "class": row.class, "name": row.name, "tries": row.tries, "valid": row.valid(),
                "outside": row.outside.to_string(), "inside": row.inside.to_string(), "escaped": row.escaped(),
                "broken": row.broken(), "allowed": row.allowed, "layers": groups,
            })
        })
        .collect();
    let checks: Vec<Value> = scan
        .checks
        .iter()
        .map(|check| value!({"id": check.id, "tries": check.tries, "seen": check.seen, "held": check.held()}))
        .collect();
    let whole = value!({
        "checks": checks,
        "battery": scan.which.name(), "root": scan.root, "rows": rows, "gaps": scan.gaps, "left_behind": scan.leftovers,
        "valid": scan.valid(), "stopped": scan.stopped(), "holds": scan.holds(), "seconds": scan.seconds,
    });
    format!("{whole:#}\n")
}
