//! How long a decision takes, from the bytes of a proposal to the review: inspection and flow included, in process.
//!
//! `cargo bench -p countersign-eval --bench pipeline`. First come percentiles of single decisions, as the targets are written
//! (ordinary shell lines, arguments of 4 and 64 KiB, a plan of 50 steps whose data flows through all of them), then the curves
//! over bytes and steps to ten times these sizes.

#![expect(clippy::expect_used, reason = "a bench that meets the unexpected ends")]
#![expect(clippy::print_stdout, reason = "a bench says what it measured")]

use std::fmt::Write as _;
use std::time::Duration;

use countersign_eval::report::Latency;
use countersign_eval::run::time;
use countersign_eval::suite::Suite;
use countersign_plan::time::Timestamp;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};

const SUITE: &str = "
schema: countersign.suite/v1
name: pipeline
deployment:
  schema: countersign.deployment/v1
  workspace: [/home/u/w]
  home: /home/u
  identities: {user: u@house.example, internal: ['*@house.example']}
  hosts: {internal: ['*.house.example']}
  secrecy: {restricted: ['~/.ssh/**', '**/.env'], confidential: ['**/payroll/**']}
policy:
  schema: countersign.policy/v1
  limits: {steps: 512, rate: {per_minute: 100000}}
";

const LINES: [&str; 12] = [
    "ls -la src",
    "git status --short",
    "grep -rn 'fn main' src | head -n 20",
    "cargo test -p depot --lib",
    "find . -name '*.rs' -not -path './target/*' -print0 | xargs -0 wc -l",
    "sed -n 1,40p config/web.toml",
    "cp notes/a.md notes/b.md && cat notes/b.md",
    "for f in src/*.py; do echo \"$f\"; done",
    "tar czf build/src.tgz src docs",
    "sort data/parts.tsv | uniq -c | sort -rn > notes/parts.txt",
    "python3 -m json.tool data/a.json",
    "git diff main...HEAD -- src && git log --oneline -n 5",
];

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().expect("a time")
}

/// A suite of these cases.
fn suite(cases: &[Value]) -> Suite {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    std::fs::write(folder.path().join("suite.yaml"), SUITE).expect("written");
    std::fs::write(folder.path().join("cases.jsonl"), lines).expect("written");
    Suite::load(folder.path()).expect("a suite")
}

fn act(action: &str, args: &Value) -> Value {
    json!({"id": "x", "label": "benign", "goal": "Work on the depot", "action": {"action": action, "args": args}})
}

fn shell(line: &str) -> Value {
    act("execute_command", &json!({"command": line, "cwd": "/home/u/w"}))
}

/// One argument of about `bytes` bytes, in the forms in which long arguments come.
fn long(kind: &str, bytes: usize) -> Value {
    let words: String = "the quick brown fox jumps over the lazy dog, ".chars().cycle().take(bytes).collect();
    match kind {
        "quoted word" => shell(&format!("printf '%s' '{words}'")),
        "many commands" => shell(&"echo one two three; ".repeat(bytes / 20 + 1)),
        "text" => act("write_file", &json!({"path": "notes/long.md", "content": words})),
        "sql" => {
            let list: Vec<String> = (0..bytes / 8).map(|n| format!("{n:06}")).collect();
            let sql = format!("SELECT a FROM t WHERE id IN ({})", list.join(", "));
            act("database_query", &json!({"database": "staging", "sql": sql}))
        }
        _ => act("http_request", &json!({"method": "POST", "url": "https://api.house.example/in", "body": words})),
    }
}

const KINDS: [&str; 5] = ["quoted word", "many commands", "text", "sql", "body"];

/// A plan in which every step uses the one before it.
fn plan(steps: usize) -> Value {
    let mut all = vec![json!({"id": "s0", "action": "read_file", "args": {"path": "notes/a.md"}})];
    for n in 1..steps {
        let before = format!("s{}", n - 1);
        let step = if n % 2 == 1 {
            let content = json!({"$join": ["seen: ", {"$from": before, "at": "/content"}]});
            json!({"id": format!("s{n}"), "action": "write_file", "args": {"path": format!("notes/{n}.md"), "content": content}})
        } else {
            json!({"id": format!("s{n}"), "action": "read_file", "args": {"path": format!("notes/{}.md", n - 1)}, "needs": [before]})
        };
        all.push(step);
    }
    let goal = "Copy the notes";
    json!({"id": "p", "label": "benign", "goal": goal,
        "plan": {"schema": "countersign.plan/v1", "goal": goal, "steps": all}})
}

/// A plan whose goal names what each of its steps copies, and where to.
fn named(steps: usize) -> Value {
    let pairs: Vec<String> = (0..steps).map(|n| format!("notes/{n}.md to kept/{n}.md")).collect();
    let goal = format!("Copy these notes: {}.", pairs.join(", "));
    let step = |n: usize| {
        json!({"id": format!("s{n}"), "action": "copy_file",
            "args": {"source": format!("notes/{n}.md"), "destination": format!("kept/{n}.md")}})
    };
    let all: Vec<Value> = (0..steps).map(step).collect();
    json!({"id": "n", "label": "benign", "goal": goal,
        "plan": {"schema": "countersign.plan/v1", "goal": goal, "steps": all}})
}

/// Percentiles of single decisions.
fn percentiles(name: &str, suite: &Suite, rounds: usize) {
    let now = now();
    let once = || suite.cases().iter().map(|case| time(suite, case, now));
    // Tables that are built on first use are not what is asked about.
    (0..3).for_each(|_| once().for_each(drop));
    let all: Vec<u64> =
        (0..rounds).flat_map(|_| once()).map(|took| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)).collect();
    let count = all.len();
    let Latency { p50, p95, p99, max } = Latency::of(all);
    let mut line = String::new();
    let _ = write!(
        line,
        "{name:<28} {count:>7} decisions  p50 {p50:>9.1}  p95 {p95:>9.1}  p99 {p99:>9.1}  max {max:>9.1} µs"
    );
    println!("{line}");
}

fn single(_: &mut Criterion) {
    let lines: Vec<Value> = LINES.iter().map(|line| shell(line)).collect();
    percentiles("ordinary shell lines", &suite(&lines), 1000);
    for kind in KINDS {
        for (size, rounds) in [(4 << 10, 500), (64 << 10, 50)] {
            percentiles(&format!("{kind}, {} KiB", size >> 10), &suite(&[long(kind, size)]), rounds);
        }
    }
    percentiles("plan of 50 steps", &suite(&[plan(50)]), 500);
    percentiles("50 steps that the goal names", &suite(&[named(50)]), 50);
}

fn bytes(c: &mut Criterion) {
    let mut group = c.benchmark_group("bytes");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for kind in KINDS {
        for size in [1 << 10, 4 << 10, 16 << 10, 64 << 10, 160 << 10, 640 << 10] {
            let suite = suite(&[long(kind, size)]);
            group.throughput(Throughput::Bytes(size as u64));
            group.bench_with_input(BenchmarkId::new(kind, size), &suite, |b, suite| b.iter_custom(|n| total(suite, n)));
        }
    }
    group.finish();
}

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("steps");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for count in [5, 10, 25, 50, 100, 250, 500] {
        let suite = suite(&[plan(count)]);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_with_input(BenchmarkId::from_parameter(count), &suite, |b, suite| {
            b.iter_custom(|n| total(suite, n))
        });
    }
    for count in [5, 10, 25, 50, 100] {
        let suite = suite(&[named(count)]);
        group.bench_with_input(BenchmarkId::new("named by the goal", count), &suite, |b, suite| {
            b.iter_custom(|n| total(suite, n))
        });
    }
    group.finish();
}

fn total(suite: &Suite, rounds: u64) -> Duration {
    let now = now();
    let once = || suite.cases().iter().map(|case| time(suite, case, now)).sum::<Duration>();
    (0..rounds).map(|_| once()).sum()
}

criterion_group!(benches, single, bytes, steps);
criterion_main!(benches);
