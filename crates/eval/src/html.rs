//! The report as one page that loads nothing: tables with the figures, plots as inline SVG, light and dark.
//!
//! Colour never carries a meaning alone: every part of a plot has a title, every plot is followed by its table. Text of suites
//! is escaped.

mod plot;

use std::fmt::Write as _;

use crate::half::Half;
use crate::report::{CaseReport, Report, Tally};
use crate::target::{Bound, Target};

/// What a page holds at most of cases that went wrong.
const MOST: usize = 2000;

const STYLE: &str = include_str!("html/style.css");

/// The page.
#[must_use]
pub fn page(report: &Report) -> String {
    let mut out = String::new();
    let half = match report.half {
        Half::All => "all cases".to_owned(),
        Half::Even | Half::Odd => format!("the {} half of the cases", report.half.as_str()),
    };
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><title>Countersign: evaluation</title>\
         <style>{STYLE}</style></head><body><main><h1>Evaluation</h1><p>{} cases of {} suites ({half}), decided {}: {}. \
         Countersign {}, {} build, {} threads.</p>",
        report.total.cases,
        report.suites.len(),
        escape(&report.at.to_string()),
        escape(&report.decided_by),
        escape(&report.version),
        escape(&report.build),
        report.jobs
    );
    targets(&mut out, &report.targets);
    let rows: Vec<(&str, &Tally)> = report.suites.iter().map(|suite| (suite.suite.as_str(), &suite.tally)).collect();
    section(&mut out, "Suites", &rows, Some(&report.total));
    latency(&mut out, report);
    for suite in report.suites.iter().filter(|suite| suite.categories.len() > 1) {
        let rows: Vec<(&str, &Tally)> =
            suite.categories.iter().map(|category| (category.category.as_str(), &category.tally)).collect();
        section(&mut out, &suite.suite, &rows, None);
    }
    wrong(&mut out, report.cases.as_deref().unwrap_or_default());
    out.push_str("</main></body></html>\n");
    out
}

fn targets(out: &mut String, targets: &[Target]) {
    out.push_str("<h2>Targets</h2>");
    out.push_str(&plot::intervals(targets));
    out.push_str(
        "<div class=\"wide\"><table><thead><tr><th>suite</th><th>what</th><th>found</th><th>95 % interval</th>\
         <th>one-sided at most</th><th>wanted</th><th>result</th></tr></thead><tbody>",
    );
    for target in targets {
        let wanted = match target.wanted {
            Bound::AtMost(most) => format!("≤ {}", percent(most)),
            Bound::AtLeast(least) => format!("≥ {}", percent(least)),
        };
        let (class, word) = if target.met { ("good", "met") } else { ("bad", "missed") };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{} / {} = {}</td><td class=\"n\">{} – {}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{wanted}</td><td class=\"{class}\">{word}</td></tr>",
            escape(target.suite.as_deref().unwrap_or("all")),
            escape(&target.what),
            target.found.count,
            target.found.of,
            percent(target.found.share),
            percent(target.found.low),
            percent(target.found.high),
            percent(target.found.upper),
        );
    }
    out.push_str(
        "</tbody></table></div><p class=\"note\">Intervals: Wilson, two-sided; upper bound: Clopper and Pearson. Cases of a suite share \
         authors and tools, so that both understate the doubt. A question to a person is never counted as a block.</p>",
    );
}

fn section(out: &mut String, title: &str, rows: &[(&str, &Tally)], total: Option<&Tally>) {
    let _ = write!(out, "<h2>{}</h2>", escape(title));
    out.push_str(&plot::decisions(title, rows));
    out.push_str(
        "<div class=\"wide\"><table><thead><tr><th></th><th>attacks</th><th>blocked</th><th>asked</th><th>allowed</th><th>benign</th>\
         <th>allowed</th><th>asked</th><th>blocked</th><th>confirmed by request</th><th>wrong</th></tr></thead><tbody>",
    );
    let all = total.filter(|_| rows.len() > 1).map(|total| ("all", total));
    for (name, tally) in rows.iter().copied().chain(all) {
        let (attacks, benign) = (&tally.attacks, &tally.benign);
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(name));
        for number in [attacks.total, attacks.blocked, attacks.asked] {
            let _ = write!(out, "<td class=\"n\">{number}</td>");
        }
        let _ = write!(out, "<td class=\"n {}\">{}</td>", loud(attacks.allowed), attacks.allowed);
        for number in [benign.total, benign.allowed, benign.asked] {
            let _ = write!(out, "<td class=\"n\">{number}</td>");
        }
        let _ = write!(out, "<td class=\"n {}\">{}</td>", loud(benign.blocked), benign.blocked);
        for number in [tally.confirmed_by_request, attacks.wrong + benign.wrong] {
            let _ = write!(out, "<td class=\"n\">{number}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

const fn loud(count: u64) -> &'static str {
    if count > 0 { "bad" } else { "" }
}

fn latency(out: &mut String, report: &Report) {
    let _ = write!(out, "<h2>Time per case</h2><p>Microseconds, {}.</p>", escape(&report.latency_covers));
    let rows: Vec<(&str, &Tally)> = report.suites.iter().map(|suite| (suite.suite.as_str(), &suite.tally)).collect();
    out.push_str(&plot::times(&rows));
    out.push_str(
        "<div class=\"wide\"><table><thead><tr><th></th><th>p50</th><th>p95</th><th>p99</th><th>slowest</th></tr></thead><tbody>",
    );
    for (name, tally) in rows.iter().copied().chain([("all", &report.total)]) {
        let time = &tally.latency;
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(name));
        for micros in [time.p50, time.p95, time.p99, time.max] {
            let _ = write!(out, "<td class=\"n\">{micros:.1}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

fn wrong(out: &mut String, cases: &[CaseReport]) {
    let wrong: Vec<&CaseReport> = cases.iter().filter(|case| !case.right).collect();
    if wrong.is_empty() {
        return;
    }
    let _ = write!(out, "<h2>Cases decided otherwise than they should be</h2><p>{} of {}", wrong.len(), cases.len());
    if wrong.len() > MOST {
        let _ = write!(out, "; the first {MOST} are listed");
    }
    out.push_str(
        ".</p><div class=\"wide\"><table><thead><tr><th>suite</th><th>case</th><th>category</th><th>label</th><th>decision</th>\
         <th>first reason</th></tr></thead><tbody>",
    );
    for case in wrong.iter().take(MOST) {
        let reason = case.reasons.first().map(|reason| format!("{}: {}", reason.code, reason.message));
        let label = case.label.map_or("?", crate::case::Label::as_str);
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{label}</td><td>{}</td><td>{}</td></tr>",
            escape(&case.suite),
            escape(&case.id),
            escape(&case.category),
            case.decision,
            escape(&reason.unwrap_or_default())
        );
    }
    out.push_str("</tbody></table></div>");
}

/// A share in per cent.
fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Text as HTML shows it, in an element or in a quoted attribute.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use countersign_plan::verdict::Decision::{Allow, Block};
    use countersign_plan::verdict::{Code, Reason};

    use super::page;
    use crate::report::testing::{case, report, suite};

    fn full() -> String {
        let mut wrong = case("<b>", Allow, false);
        wrong.reasons = vec![Reason::new(Code::PlanInvalid, Block, "<script>alert('x')</script>")];
        let mut report = report(vec![wrong, case("fine", Block, true)]);
        let mut one = suite("a & <i>b</i>");
        one.tally.attacks.total = 4;
        one.tally.attacks.blocked = 3;
        one.tally.attacks.allowed = 1;
        one.tally.latency.p50 = 10.0;
        one.tally.latency.p99 = 900.0;
        report.targets = crate::target::targets(std::slice::from_ref(&one), &one.tally);
        report.suites = vec![one];
        page(&report)
    }

    #[test]
    fn nothing_of_a_suite_becomes_markup() {
        let page = full();
        assert!(!page.contains("<script") && !page.contains("<i>b") && !page.contains("<td><b>"), "{page}");
        assert!(page.contains("a &amp; &lt;i&gt;b") && page.contains("&lt;script&gt;"));
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = full();
        for word in ["http://", "https://", "src=", "@import", "url(", "<link"] {
            assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(word), "{word}");
        }
    }

    #[test]
    fn every_plot_says_in_words_what_it_shows() {
        let page = full();
        let plots = page.matches("<svg").count();
        assert!(plots >= 2, "{plots}");
        assert_eq!(page.matches("role=\"img\" aria-label=\"").count(), plots);
        assert!(page.contains("3 of 4 blocked"));
    }
}
