//! Prints what a shell line would do, and how long it takes to find out.
//!
//! `cargo run -p countersign-inspect --example look -- 'rm -rf build'` for one line; with `--time`, the median of many runs for
//! each line of standard input and for texts of growing size; with `--about`, how often each thing stays unknown or is found in
//! the texts on standard input, which end with a NUL each.
#![expect(clippy::print_stdout, reason = "an example that prints")]

use std::hint::black_box;
use std::io::Read as _;
use std::time::Instant;

use countersign_inspect::{Context, shell};

fn main() {
    let context = Context::new("/home/user/project", "/home/user");
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--time") => time(&context),
        Some("--about") => about(&context),
        Some("--size") => {
            let shape = arguments.next().unwrap_or_default();
            let size = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(4096);
            let line = shaped(&shape, size);
            let runs = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1);
            for _ in 0..runs {
                black_box(shell(black_box(&line), &context));
            }
            println!("{shape} {size}: {}", median(&line, &context, 9));
        }
        Some(line) => println!("{:#?}", shell(line, &context)),
        None => {
            let mut text = String::new();
            if std::io::stdin().read_to_string(&mut text).is_ok() {
                println!("{:#?}", shell(&text, &context));
            }
        }
    }
}

fn about(context: &Context) {
    let mut text = String::new();
    if std::io::stdin().read_to_string(&mut text).is_err() {
        return;
    }
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    let mut clear = 0;
    for line in text.split('\0').filter(|line| !line.is_empty()) {
        let seen = shell(line, context);
        clear += usize::from(seen.unknowns.is_empty());
        let unknowns = seen.unknowns.iter().map(|u| format!("unknown {:?}: {}", u.kind, u.message));
        let findings = seen.findings.iter().map(|f| format!("finding {:?}", f.kind));
        for what in unknowns.chain(findings) {
            *counts.entry(what).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(what, count)| (std::cmp::Reverse(*count), what.clone()));
    println!("{clear} of {} without an unknown part", text.split('\0').filter(|line| !line.is_empty()).count());
    for (what, count) in counts {
        println!("{count:5} {what}");
    }
}

/// Microseconds.
fn median(line: &str, context: &Context, runs: usize) -> u128 {
    let mut times: Vec<u128> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            black_box(shell(black_box(line), context));
            start.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    times.get(runs / 2).copied().unwrap_or(0)
}

fn time(context: &Context) {
    let mut text = String::new();
    if std::io::stdin().read_to_string(&mut text).is_err() {
        return;
    }
    let mut all: Vec<u128> = text.lines().map(|line| median(line, context, 5)).collect();
    all.sort_unstable();
    let at = |share: usize| all.get(all.len() * share / 100).copied().unwrap_or(0);
    println!("{} lines: p50 {} us, p90 {} us, p99 {} us", all.len(), at(50), at(90), at(99));
    for shape in SHAPES {
        let row: Vec<String> =
            [4 << 10, 16 << 10, 64 << 10].map(|size| median(&shaped(shape, size), context, 3).to_string()).into();
        println!("{shape:14} {}", row.join("  "));
    }
}

const SHAPES: &[&str] = &[
    "quoted",
    "document",
    "script",
    "mixed",
    "arguments",
    "pipes",
    "quotes",
    "documents",
    "variables",
    "globs",
    "nested",
    "assignments",
    "substitutions",
    "braces",
    "python",
    "sql",
    "loops",
    "files",
    "and",
    "backslashes",
    "sed",
    "echo",
];

/// A text of about `size` bytes.
fn shaped(shape: &str, size: usize) -> String {
    let prose = "The quick brown fox (no 5) jumps over 10 lazy dogs. ".repeat(size / 52 + 1);
    let fill = |part: &dyn Fn(usize) -> String| {
        let mut out = String::new();
        let mut n = 0;
        while out.len() < size {
            out.push_str(&part(n));
            n += 1;
        }
        out
    };
    match shape {
        "quoted" => format!("git commit -m '{prose}'"),
        "document" => format!("cat > notes.md <<'EOF'\n{prose}\nEOF\n"),
        "script" => fill(&|_| "grep -n foo src/a.rs | sort\n".to_owned()),
        "mixed" => fill(&|n| {
            format!(
                "# step {n}\nif [ -f \"dir{n}/x\" ]; then\n  cp -r dir{n} \"out/$NAME\" && echo \"done {n}: $(date)\"\nfi\n"
            )
        }),
        "arguments" => format!("ls {}", fill(&|n| format!("f{n} "))),
        "pipes" => format!("cat x{}", fill(&|_| " | sort".to_owned())),
        "quotes" => format!("echo {}", fill(&|n| format!("'a'\"b\"$'c{n}' "))),
        "documents" => fill(&|n| format!("cat > f{n} <<E{n}\nx $HOME\nE{n}\n")),
        "variables" => fill(&|n| format!("v{n}=a{n}; echo $v{n} $w{n}\n")),
        "globs" => format!("ls {}", fill(&|n| format!("*.a{n} b?[c-d]{n}* "))),
        "nested" => fill(&|n| format!("echo $(echo $(echo $(echo {n})))\n")),
        "assignments" => fill(&|n| format!("a{n}=1\n")),
        "substitutions" => format!("echo {}", fill(&|n| format!("$(cat f{n}) "))),
        "braces" => format!("echo {}", fill(&|_| "{a,b} ".to_owned())),
        "python" => format!("python3 -c '{}'", fill(&|n| format!("x{n} = len(str({n}))\nprint(x{n})\n"))),
        "sql" => format!("psql -c \"{}\"", fill(&|n| format!("select a{n} from t{n} where b = {n};\n"))),
        "loops" => fill(&|n| format!("for i in 1 2 3 4; do echo $i > f{n}; done\n")),
        "files" => fill(&|n| format!("echo {n} > d/f{n}; cat d/f{n} >> d/all\n")),
        "and" => format!("true{}", fill(&|n| format!(" && cd d{n} || x=$y"))),
        "backslashes" => format!("echo {}", fill(&|_| "\\\\a\\ b ".to_owned())),
        "sed" => format!("sed -e '{}' f", fill(&|n| format!("s/a{n}/b{n}/g;"))),
        "echo" => format!("echo \"{}\" | sh", fill(&|n| format!("ls f{n}\n"))),
        _ => prose,
    }
}
