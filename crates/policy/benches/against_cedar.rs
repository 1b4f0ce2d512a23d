//! The same decisions by the same rules in Cedar, in the same run: the whole set, and sliced by action as its authors advise.
//!
//! `cargo bench -p countersign-policy --features baseline --bench against_cedar`

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a bench that meets the unexpected ends")]

mod rules;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;

use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, RestrictedExpression};
use criterion::{Criterion, criterion_group, criterion_main};
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

criterion_group!(benches, compare);
criterion_main!(benches);
