//! The same decisions by the same rules in Cedar, in the same run: the whole set, and sliced by action as its authors advise.
//!
//! `cargo bench -p countersign-policy --features baseline --bench against_cedar` prints criterion's estimates, then medians of rounds in
//! turns with their ratio, and exits with 1 where a target is missed: 1 µs by rules alone, 10 µs with one condition, and a sixtieth of
//! Cedar's time, sliced by action, by rules alone.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench prints, and ends at the unexpected"
)]

mod rules;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, RestrictedExpression};
use criterion::{Criterion, criterion_group};
use rules::{Shape, Subject, TOOLS};

/// The rules as Cedar policies: a pattern is a `like`, as in Cedar's own examples.
fn policies(shape: Shape, tools: &[&str]) -> PolicySet {
    let document = rules::document(shape);
    let mut text = String::new();
    let mut add = |kind: &str, tool: &str, paths: &Option<Vec<String>>, when: Option<&String>| {
        if !tools.contains(&tool) {
            return;
        }
        for pattern in paths.iter().flatten() {
            let pattern = pattern.strip_suffix("**").unwrap_or(pattern);
            let more = if when.is_some() { " && context.amount > 500" } else { "" };
            writeln!(text, "{kind}(principal, action == Action::\"{tool}\", resource) when {{ context.path like \"{pattern}*\"{more} }};")
                .expect("text");
        }
    };
    for rule in &document.deny {
        add("forbid", &rule.action_types[0], &rule.paths, rule.when.as_ref());
    }
    for rule in &document.allow {
        add("permit", &rule.action_types[0], &rule.paths, rule.when.as_ref());
    }
    text.parse().expect("cedar policies")
}

fn request(tool: &str, path: &str) -> Request {
    let uid = |text: &str| text.parse::<EntityUid>().expect("an entity");
    let context = HashMap::from([
        ("path".to_owned(), RestrictedExpression::new_string(path.to_owned())),
        ("amount".to_owned(), RestrictedExpression::new_long(501)),
    ]);
    let context = Context::from_pairs(context).expect("a context");
    let action = uid(&format!("Action::\"{tool}\""));
    Request::new(uid("Agent::\"a\""), action, uid("File::\"f\""), context, None).expect("a request")
}

fn compare(c: &mut Criterion) {
    for (name, shape) in [("1000 rules", Shape::Paths), ("1000 rules, one condition", Shape::OneCondition)] {
        let policy = rules::policy(shape);
        let whole = policies(shape, &TOOLS);
        let sliced = policies(shape, &["write_file"]);
        let authorizer = Authorizer::new();
        let entities = Entities::empty();
        for (outcome, path, denied) in
            [("denied", "/srv/project-500/secret/key", true), ("allowed", "/srv/project-500/src/main.rs", false)]
        {
            let subject = Subject::new("write_file", path);
            let request = request("write_file", path);
            let want = if denied { Decision::Deny } else { Decision::Allow };
            for set in [&whole, &sliced] {
                assert_eq!(authorizer.is_authorized(&request, set, &entities).decision(), want, "{name} {outcome}");
            }
            assert_eq!(subject.is_denied(&policy), denied);
            let mut group = c.benchmark_group(format!("against cedar/{name}/{outcome}"));
            group.bench_function("countersign", |b| b.iter(|| subject.is_denied(black_box(&policy))));
            group.bench_function("cedar, sliced by action", |b| {
                b.iter(|| authorizer.is_authorized(black_box(&request), &sliced, &entities).decision());
            });
            group.bench_function("cedar, whole set", |b| {
                b.iter(|| authorizer.is_authorized(black_box(&request), &whole, &entities).decision());
            });
            group.finish();
        }
    }
}

const ROUNDS: usize = 101;
/// Decisions of one round.
const OURS: u32 = 2000;
const THEIRS: u32 = 20;

/// What is held to, by shape: microseconds of a decision at most, and how many times faster than Cedar sliced by action at least.
const TARGETS: [(&str, Shape, f64, Option<f64>); 2] =
    [("1000 rules", Shape::Paths, 1.0, Some(60.0)), ("one condition", Shape::OneCondition, 10.0, None)];

/// Microseconds of one of so many calls.
fn micros(calls: u32, mut call: impl FnMut()) -> f64 {
    let begun = Instant::now();
    (0..calls).for_each(|_| call());
    begun.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Whether every target holds, in rounds that take turns so that a busy neighbour hits both alike.
fn holds() -> bool {
    println!("{:>16} {:>9} {:>12} {:>12} {:>7}", "rules", "outcome", "countersign", "cedar", "ratio");
    let mut good = true;
    for (name, shape, most, least) in TARGETS {
        let (policy, sliced) = (rules::policy(shape), policies(shape, &["write_file"]));
        let (authorizer, entities) = (Authorizer::new(), Entities::empty());
        for (outcome, path) in [("denied", "/srv/project-500/secret/key"), ("allowed", "/srv/project-500/src/main.rs")]
        {
            let (subject, request) = (Subject::new("write_file", path), request("write_file", path));
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                ours.push(micros(OURS, || drop(black_box(subject.is_denied(black_box(&policy))))));
                let ask = || authorizer.is_authorized(black_box(&request), &sliced, &entities).decision();
                theirs.push(micros(THEIRS, || drop(black_box(ask()))));
            }
            let (ours, theirs) = (median(ours), median(theirs));
            let ratio = theirs / ours;
            let held = ours <= most && least.is_none_or(|least| ratio >= least);
            let target = least.map(|least| format!(", {least:.0} x")).unwrap_or_default();
            let word = if held { "" } else { "MISSED" };
            println!(
                "{name:>16} {outcome:>9} {ours:>9.3} us {theirs:>9.1} us {ratio:>7.0}   (target {most} us{target}) {word}"
            );
            good &= held;
        }
    }
    good
}

criterion_group!(benches, compare);

fn main() -> ExitCode {
    benches();
    Criterion::default().configure_from_args().final_summary();
    // Tried out as a test, nothing is measured.
    let measured = std::env::args().any(|word| word == "--bench");
    if !measured || holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
