//! How long deciding takes: one action against 1,000 rules, with and without a condition, and a plan of 50 steps from its bytes.
//!
//! `cargo bench -p countersign-policy --bench decide`; with its baseline in the same run:
//! `cargo bench -p countersign-policy --features baseline --bench against_cedar`.

#![expect(clippy::expect_used, reason = "a bench that meets the unexpected ends")]

mod rules;

use std::hint::black_box;

use countersign_plan::draft::Draft;
use countersign_plan::resolve::Inputs;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Decision, Mode};
use countersign_policy::changes::Changes;
use countersign_policy::deployment::{Deployment, DeploymentDocument, Own};
use countersign_policy::facts::AsWritten;
use countersign_policy::flow::{Level, Session};
use countersign_policy::policy::{Policy, PolicyDocument};
use countersign_policy::review::{Request, matches, review};
use criterion::{Criterion, criterion_group, criterion_main};
use rules::{Shape, Subject};
use serde_json::json;

fn actions(c: &mut Criterion) {
    for (name, shape) in [("1000 rules", Shape::Paths), ("1000 rules, one condition", Shape::OneCondition)] {
        let policy = rules::policy(shape);
        let hit = Subject::new("write_file", "/srv/project-500/secret/key");
        let miss = Subject::new("write_file", "/srv/project-500/src/main.rs");
        assert!(hit.is_denied(&policy) && !miss.is_denied(&policy));
        c.bench_function(&format!("decide/{name}/denied"), |b| b.iter(|| hit.is_denied(black_box(&policy))));
        c.bench_function(&format!("decide/{name}/allowed"), |b| b.iter(|| miss.is_denied(black_box(&policy))));
    }
}

fn plans(c: &mut Criterion) {
    let manifest = Manifest::builtin().expect("the built-in manifest");
    let deployment =
        Deployment::compile(DeploymentDocument::empty(), "/srv/project-500", "/home/user", &Own::default())
            .expect("the default deployment");
    let policy = Policy::compile(&PolicyDocument::empty(), deployment.place()).expect("the empty policy");
    let rules = rules::policy(Shape::Paths);
    let bytes = fifty_steps();
    let inputs = Inputs::new();
    let requester = "user:dana".parse().expect("a principal");
    let changes = Changes::default();
    let with = |policy: &Policy, then: &dyn Fn(&Request<'_>) -> Decision| {
        let draft = Draft::read(black_box(&bytes)).expect("a plan");
        let request = Request {
            draft: &draft,
            manifest: &manifest,
            deployment: &deployment,
            policy,
            changes: &changes,
            facts: &AsWritten,
            inputs: &inputs,
            requester: &requester,
            mode: Mode::Managed,
            pinned_goal: Some(draft.goal()),
            authentic: true,
            planner: Level::Open,
            session: Session::empty(),
            now: countersign_plan::time::Timestamp::from_millis(1_780_000_000_000),
        };
        then(&request)
    };
    let judge = |policy: &Policy| with(policy, &|request| review(request).decision);
    // Each step's tool, arguments, effects, rules and defaults, without the labels of its values, their proof and its check.
    let rule = |policy: &Policy| {
        with(policy, &|request| {
            let asks = matches(request, &|_, matched, asks| !matched.deny.is_empty() || !asks.is_empty());
            if asks.contains(&true) { Decision::RequireApproval } else { Decision::Allow }
        })
    };
    assert_eq!(rule(&policy), Decision::Allow);
    assert_eq!(judge(&policy), Decision::Allow);
    c.bench_function("plan/50 steps/parse", |b| b.iter(|| Draft::read(black_box(&bytes)).expect("a plan")));
    c.bench_function("plan/50 steps/parse, effects and rules, no flow proof", |b| b.iter(|| rule(&policy)));
    c.bench_function("plan/50 steps/parse, effects and 1000 rules, no flow proof", |b| b.iter(|| rule(&rules)));
    c.bench_function("plan/50 steps/parse and review, no rules", |b| b.iter(|| judge(&policy)));
    c.bench_function("plan/50 steps/parse and review, 1000 rules", |b| b.iter(|| judge(&rules)));
}

/// Reads, edits, searches and copies, with data flow between them.
fn fifty_steps() -> Vec<u8> {
    let steps: Vec<_> = (0..50)
        .map(|i| {
            let id = format!("s{i}");
            match i % 5 {
                0 => json!({"id": id, "action": "read_file", "args": {"path": format!("src/module_{i}.rs")}, "reason": "Look at it"}),
                1 => json!({"id": id, "action": "search_files", "args": {"pattern": "fn main", "path": "src"}}),
                2 => json!({"id": id, "action": "write_file",
                    "args": {"path": format!("src/out_{i}.rs"), "content": {"$from": format!("s{}", i - 2), "at": "/content"}},
                    "expect": [{"file": format!("src/out_{i}.rs"), "exists": true}]}),
                // No command line: nobody inspects here, so that one would ask.
                3 => json!({"id": id, "action": "copy_file", "needs": [format!("s{}", i - 1)],
                    "args": {"source": format!("src/out_{}.rs", i - 1), "destination": format!("src/copy_{i}.rs")}}),
                _ => json!({"id": id, "action": "append_file",
                    "args": {"path": "NOTES.md", "content": "A line about what was done, as long as such lines are.\n"}}),
            }
        })
        .collect();
    let plan = json!({"schema": "countersign.plan/v1", "goal": "Refactor the modules and note what changed", "steps": steps,
        "privileges": {"read": ["/srv/project-500/**"], "write": ["/srv/project-500/**"]}, "expires_in": "15m"});
    serde_json::to_vec(&plan).expect("a plan")
}

criterion_group!(benches, actions, plans);
criterion_main!(benches);
