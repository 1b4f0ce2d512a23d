//! What it costs to look through a command line, a long argument, a text and a statement.
//!
//! `cargo bench -p countersign-inspect`

use std::hint::black_box;

use countersign_inspect::{Context, Language, code, shell, sql, text};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Lines as developers and agents write them.
const LINES: &[&str] = &[
    "git status --short",
    "cd crates/parser && cargo test -- --nocapture 2>&1 | tail -n 40",
    "find . -name '*.rs' -not -path './target/*' | xargs grep -n 'unsafe' | sort | head -20",
    "for f in src/*.ts; do npx prettier --write \"$f\"; done",
    "curl -fsSL \"https://api.example/v1/items?page=$PAGE\" -H 'Accept: application/json' | jq -r '.items[].id'",
    "if [ ! -d build ]; then mkdir -p build && cmake -S . -B build; fi; make -C build -j4",
    "echo cm0gLXJmIH4= | base64 -d | sh",
    "eval \"$(printf '\\162\\155 %s' -rf) ${HOME}\"",
];

fn lines(c: &mut Criterion) {
    let context = Context::new("/home/user/project", "/home/user");
    let mut group = c.benchmark_group("shell line");
    for (i, line) in LINES.iter().enumerate() {
        group.bench_with_input(BenchmarkId::from_parameter(i), line, |b, line| {
            b.iter(|| shell(black_box(line), &context))
        });
    }
    group.finish();
}

/// Growth is linear: ten times the text, about ten times the time.
fn sizes(c: &mut Criterion) {
    let context = Context::new("/home/user/project", "/home/user");
    let mut group = c.benchmark_group("size");
    for size in [4 << 10, 16 << 10, 64 << 10] {
        group.throughput(Throughput::Bytes(size as u64));
        let words = "The quick brown fox, 'quoted', $5 and (brackets). ".repeat(size / 50 + 1);
        let quoted: String = words.replace('\'', "").chars().take(size).collect();
        let argument = format!("git commit -m '{quoted}'");
        group.bench_with_input(BenchmarkId::new("argument", size), &argument, |b, line| {
            b.iter(|| shell(black_box(line), &context))
        });
        let document = format!("cat > notes.md <<'EOF'\n{words}\nEOF\n");
        group.bench_with_input(BenchmarkId::new("here-document", size), &document, |b, line| {
            b.iter(|| shell(black_box(line), &context))
        });
        let script = "grep -n foo src/a.rs | sort\n".repeat(size / 28);
        group.bench_with_input(BenchmarkId::new("script", size), &script, |b, line| {
            b.iter(|| shell(black_box(line), &context))
        });
        group.bench_with_input(BenchmarkId::new("text", size), &words, |b, words| b.iter(|| text(black_box(words))));
    }
    group.finish();
}

fn others(c: &mut Criterion) {
    let context = Context::new("/home/user/project", "/home/user");
    let python = "import json, sys\nd = json.load(sys.stdin)\nprint(sorted(k for k in d if d[k] > 3))";
    c.bench_function("python one-liner", |b| b.iter(|| code(Language::Python, black_box(python), &context)));
    let query =
        "SELECT a.id, count(*) FROM a JOIN b ON a.id = b.a WHERE b.t > 5 GROUP BY a.id ORDER BY 2 DESC LIMIT 10";
    c.bench_function("sql query", |b| b.iter(|| sql(black_box(query))));
}

criterion_group!(benches, lines, sizes, others);
criterion_main!(benches);
