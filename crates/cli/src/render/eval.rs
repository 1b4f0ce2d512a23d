//! Reports of suites for people: one table of suites, one of categories, the targets, and cases where they were asked for.

use countersign_eval::case::Label;
use countersign_eval::diff::Diff;
use countersign_eval::half::Half;
use countersign_eval::ratchet::Change;
use countersign_eval::report::{CaseReport, Report, Share, Tally};
use countersign_eval::target::{Bound, Target};

use crate::render::line::{Line, Tone};
use crate::render::verdict;

/// The whole report.
pub(crate) fn report(report: &Report) -> Vec<Line> {
    let half = match report.half {
        Half::All => "all cases".to_owned(),
        Half::Even | Half::Odd => format!("the {} half of the cases", report.half.as_str()),
    };
    let said = format!("{half}; {}; times in µs, {} build, {} threads", report.decided_by, report.build, report.jobs);
    let mut lines = vec![Line::at(0).tone(Tone::Dim, said), head("suite")];
    lines.extend(report.suites.iter().map(|suite| row(&suite.suite, &suite.tally)));
    if report.suites.len() > 1 {
        lines.push(row("all", &report.total));
    }
    for suite in &report.suites {
        if suite.categories.len() > 1 {
            lines.extend([Line::at(0), head(&suite.suite)]);
            lines.extend(suite.categories.iter().map(|category| row(&category.category, &category.tally)));
        }
        lines.extend(suite.notes.iter().map(|note| Line::at(1).tone(Tone::Warn, format!("{}: {note}", suite.suite))));
    }
    lines.push(Line::at(0));
    lines.push(Line::at(0).tone(Tone::Bold, "targets"));
    lines.extend(report.targets.iter().map(target));
    lines.push(Line::of(1, totals(&report.total)));
    if report.total.faults + report.total.unlabelled > 0 {
        let text = format!(
            "{} cases in which judging failed, {} without a readable label: blocked, and no merit",
            report.total.faults, report.total.unlabelled
        );
        lines.push(Line::at(1).tone(Tone::Bad, text));
    }
    lines.extend(report.cases.iter().flatten().map(case));
    lines
}

fn head(of: &str) -> Line {
    let text = format!(
        "{of:<28} {:>7} {:>7} {:>7} {:>7} │ {:>7} {:>7} {:>7} {:>7} │ {:>6} {:>8} {:>8} {:>8}",
        "attacks", "blocked", "asked", "ALLOWED", "benign", "allowed", "asked", "BLOCKED", "wrong", "p50", "p95", "p99"
    );
    Line::at(0).tone(Tone::Bold, text)
}

fn row(name: &str, tally: &Tally) -> Line {
    let (attacks, benign) = (&tally.attacks, &tally.benign);
    let name: String = name.chars().take(28).collect();
    let bad = |count: u64| if count > 0 { Tone::Bad } else { Tone::Plain };
    Line::at(0)
        .plain(format!("{name:<28} {:>7} {:>7} {:>7} ", attacks.total, attacks.blocked, attacks.asked))
        .tone(bad(attacks.allowed), format!("{:>7}", attacks.allowed))
        .plain(format!(" │ {:>7} {:>7} {:>7} ", benign.total, benign.allowed, benign.asked))
        .tone(bad(benign.blocked), format!("{:>7}", benign.blocked))
        .plain(format!(" │ {:>6}", attacks.wrong + benign.wrong))
        .tone(Tone::Dim, format!(" {:>8.1} {:>8.1} {:>8.1}", tally.latency.p50, tally.latency.p95, tally.latency.p99))
}

fn target(target: &Target) -> Line {
    let (word, tone) = if target.met { ("met   ", Tone::Good) } else { ("MISSED", Tone::Bad) };
    let wanted = match target.wanted {
        Bound::AtMost(most) => format!("at most {}", percent(most)),
        Bound::AtLeast(least) => format!("at least {}", percent(least)),
    };
    let of = target.suite.as_ref().map_or_else(|| "all".to_owned(), Clone::clone);
    Line::at(1)
        .tone(tone, word)
        .plain(format!("  {of}: {}: {}", target.what, share(&target.found)))
        .tone(Tone::Dim, format!("  wanted {wanted}"))
}

/// A share with its doubt.
fn share(share: &Share) -> String {
    format!(
        "{} of {} = {} (95 %: {} to {}; one-sided at most {})",
        share.count,
        share.of,
        percent(share.share),
        percent(share.low),
        percent(share.high),
        percent(share.upper)
    )
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn totals(total: &Tally) -> String {
    let tiers: Vec<String> = total.by_tier.iter().map(|(tier, count)| format!("tier {tier}: {count}")).collect();
    format!(
        "{} cases; {}; {} allowed because the goal confirms them ({} of the provable)",
        total.cases,
        tiers.join(", "),
        total.confirmed_by_request,
        total.benign.provable_confirmed
    )
}

fn case(case: &CaseReport) -> Line {
    let label = case.label.map_or("?", Label::as_str);
    let (word, tone) = if case.right { ("right", Tone::Good) } else { ("WRONG", Tone::Bad) };
    let mut codes: Vec<&str> = case.reasons.iter().map(|reason| reason.code.as_str()).collect();
    codes.dedup();
    Line::at(0)
        .tone(tone, word)
        .plain(format!(" {} {} {label} ", case.suite, case.id))
        .tone(verdict::tone(case.decision), case.decision.as_str())
        .tone(Tone::Dim, format!(" tier {} {:.1} µs {}", case.tier, case.micros, codes.join(" ")))
}

/// What changed against the ratchet.
pub(crate) fn ratchet(changes: &[Change], update: bool) -> Vec<Line> {
    let mut lines = vec![Line::at(0).tone(Tone::Bold, "ratchet")];
    let worse = changes.iter().any(|change| change.worse);
    lines.extend(changes.iter().map(|change| {
        let (word, tone) = if change.worse { ("WORSE ", Tone::Bad) } else { ("differs", Tone::Good) };
        let was = change.was.as_deref().unwrap_or("nothing");
        Line::at(1).tone(tone, word).plain(format!("  {}: {}: {was}, now {}", change.suite, change.figure, change.is))
    }));
    let said = match (worse, changes.is_empty(), update) {
        (true, _, true) => "not moved: nothing may get worse",
        (true, _, false) => "a figure got worse",
        (false, true, _) => "holds",
        (false, false, true) => "moved",
        (false, false, false) => "holds; `--update` keeps what was gained",
    };
    lines.push(Line::of(1, said));
    lines
}

/// What changed between two reports.
pub(crate) fn diff(diff: &Diff) -> Vec<Line> {
    let mut lines: Vec<Line> = diff
        .changed
        .iter()
        .map(|case| {
            let (word, tone) = match (case.was_right, case.is_right) {
                (true, false) => ("BROKEN ", Tone::Bad),
                (false, true) => ("mended ", Tone::Good),
                (true, true) => ("right  ", Tone::Dim),
                (false, false) => ("wrong  ", Tone::Warn),
            };
            let codes: Vec<&str> = case.codes.iter().map(|code| code.as_str()).collect();
            Line::at(0)
                .tone(tone, word)
                .plain(format!(" {} {} ({}): {} to {} ", case.suite, case.id, case.category, case.was, case.is))
                .tone(Tone::Dim, codes.join(" "))
        })
        .collect();
    lines.extend(diff.gone.iter().map(|(suite, id)| Line::at(0).tone(Tone::Warn, format!("gone    {suite} {id}"))));
    lines.extend(diff.new.iter().map(|(suite, id)| Line::at(0).tone(Tone::Dim, format!("new     {suite} {id}"))));
    let summary = format!("{} changed: {} broken, {} mended", diff.changed.len(), diff.broken, diff.mended);
    lines.push(Line::at(0).tone(Tone::Bold, summary));
    lines
}
