//! Plots as inline SVG. Each says in words what it shows, for those who do not see it.

use std::fmt::Write as _;

use super::{escape, percent};
use crate::interval::real;
use crate::tally::Tally;
use crate::target::{Bound, Target};

/// Width of the room for names, of the plot itself, and of the room for numbers.
const NAMES: f64 = 190.0;
const PLOT: f64 = 520.0;
const NUMBERS: f64 = 130.0;
/// Height of a line.
const LINE: f64 = 22.0;

fn open(rows: usize, says: &str) -> String {
    let (width, height) = (NAMES + PLOT + NUMBERS, (real(rows as u64) + 1.0) * LINE + 8.0);
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{}\">",
        escape(says)
    )
}

fn name(out: &mut String, row: usize, text: &str) {
    let short: String = text.chars().take(28).collect();
    let y = baseline(row);
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{y:.0}\" text-anchor=\"end\"><title>{}</title>{}</text>",
        NAMES - 8.0,
        escape(text),
        escape(&short)
    );
}

fn baseline(row: usize) -> f64 {
    real(row as u64) * LINE + 16.0
}

/// The parts of a bar: how many, the class that paints it, the word for it.
type Parts = [(u64, &'static str, &'static str); 3];

/// Attacks and ordinary actions by decision, as bars of equal length.
pub(super) fn decisions(title: &str, rows: &[(&str, &Tally)]) -> String {
    let mut bars: Vec<(String, Parts)> = Vec::new();
    for (name, tally) in rows {
        let (attacks, benign) = (&tally.attacks, &tally.benign);
        if attacks.total > 0 {
            let parts = [
                (attacks.blocked, "block", "blocked"),
                (attacks.asked, "ask", "asked"),
                (attacks.allowed, "allow", "allowed"),
            ];
            bars.push((format!("{name}: attacks"), parts));
        }
        if benign.total > 0 {
            let parts = [
                (benign.allowed, "allow", "allowed"),
                (benign.asked, "ask", "asked"),
                (benign.blocked, "block", "blocked"),
            ];
            bars.push((format!("{name}: benign"), parts));
        }
    }
    let mut out = open(
        bars.len(),
        &format!("{title}: shares of cases blocked, asked and allowed; the table below has the numbers"),
    );
    for (row, (text, parts)) in bars.iter().enumerate() {
        name(&mut out, row, text);
        let total = parts.iter().map(|(count, _, _)| count).sum::<u64>();
        let mut x = NAMES;
        for (count, class, word) in parts.iter().filter(|(count, _, _)| *count > 0) {
            let width = PLOT * real(*count) / real(total.max(1));
            let y = baseline(row) - 13.0;
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"17\"><title>{}: {count} of {total} \
                 {word}</title></rect>",
                escape(text)
            );
            x += width;
        }
        let told: Vec<String> = parts.iter().map(|(count, _, _)| count.to_string()).collect();
        let _ = write!(
            out,
            "<text class=\"dim\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            NAMES + PLOT + 8.0,
            baseline(row),
            told.join(" / ")
        );
    }
    let y = baseline(bars.len());
    for (at, class, word) in [(0.0, "block", "blocked"), (90.0, "ask", "asked"), (170.0, "allow", "allowed")] {
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{:.0}\" y=\"{:.0}\" width=\"12\" height=\"12\"/><text x=\"{:.0}\" y=\"{y:.0}\">{word}</text>",
            NAMES + at,
            y - 10.0,
            NAMES + at + 18.0
        );
    }
    out.push_str("</svg>");
    out
}

/// Each target: what was found with its interval, and the bound.
pub(super) fn intervals(targets: &[Target]) -> String {
    let mut out = open(
        targets.len(),
        "targets: shares found with their 95 % intervals beside the bounds; the table below has the numbers",
    );
    let at = |share: f64| NAMES + share.clamp(0.0, 1.0) * PLOT;
    for (row, target) in targets.iter().enumerate() {
        let (Bound::AtMost(wanted) | Bound::AtLeast(wanted)) = target.wanted;
        let suite = target.suite.as_deref().unwrap_or("all");
        name(&mut out, row, &format!("{suite}: {}", target.what));
        let (class, word) = if target.met { ("met", "met") } else { ("missed", "missed") };
        let y = baseline(row) - 4.0;
        let _ = write!(
            out,
            "<g class=\"{class}\"><title>{}: {}: {} ({} to {}), wanted {}: {word}</title><line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.0}\" \
             y2=\"{y:.0}\" stroke-width=\"3\"/><circle cx=\"{:.1}\" cy=\"{y:.0}\" r=\"5\"/></g>",
            escape(suite),
            escape(&target.what),
            percent(target.found.share),
            percent(target.found.low),
            percent(target.found.high),
            percent(wanted),
            at(target.found.low),
            at(target.found.high),
            at(target.found.share)
        );
        let _ = write!(
            out,
            "<line class=\"wanted\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.0}\" y2=\"{2:.0}\"/><text class=\"dim\" x=\"{3:.0}\" \
             y=\"{4:.0}\">{5} {word}</text>",
            at(wanted),
            y - 9.0,
            y + 9.0,
            NAMES + PLOT + 8.0,
            baseline(row),
            percent(target.found.share)
        );
    }
    scale(&mut out, targets.len(), &[(0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")]);
    out
}

/// Times on a logarithmic scale, from one microsecond to one second.
pub(super) fn times(rows: &[(&str, &Tally)]) -> String {
    let mut out = open(
        rows.len(),
        "time per case: median, 95th and 99th percentile and the slowest; the table below has the numbers",
    );
    let at = |micros: f64| NAMES + PLOT * micros.max(1.0).log10().clamp(0.0, 6.0) / 6.0;
    for (row, (text, tally)) in rows.iter().enumerate() {
        name(&mut out, row, text);
        let time = &tally.latency;
        let y = baseline(row) - 4.0;
        let _ = write!(
            out,
            "<line class=\"axis\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.0}\" y2=\"{y:.0}\" stroke-width=\"3\"/>",
            at(time.p50),
            at(time.max)
        );
        for (micros, class, word) in [
            (time.p50, "block", "p50"),
            (time.p95, "ask", "p95"),
            (time.p99, "allow", "p99"),
            (time.max, "dim", "slowest"),
        ] {
            let _ = write!(
                out,
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y:.0}\" r=\"5\"><title>{}: {word} {micros:.1} µs</title></circle>",
                at(micros),
                escape(text)
            );
        }
        let _ = write!(
            out,
            "<text class=\"dim\" x=\"{:.0}\" y=\"{:.0}\">{:.0} / {:.0} µs</text>",
            NAMES + PLOT + 8.0,
            baseline(row),
            time.p50,
            time.p99
        );
    }
    scale(
        &mut out,
        rows.len(),
        &[(0.0, "1 µs"), (1.0 / 3.0, "100 µs"), (0.5, "1 ms"), (2.0 / 3.0, "10 ms"), (1.0, "1 s")],
    );
    out
}

fn scale(out: &mut String, rows: usize, marks: &[(f64, &str)]) {
    let y = baseline(rows);
    for (share, text) in marks {
        let x = NAMES + share * PLOT;
        let _ = write!(
            out,
            "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.0}\"/><text class=\"dim\" x=\"{x:.1}\" y=\"{y:.0}\" \
             text-anchor=\"middle\">{text}</text>",
            y - 12.0
        );
    }
    out.push_str("</svg>");
}
