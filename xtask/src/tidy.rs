//! House rules that no lint knows: headers, file sizes, names, invariants and their tests, proof types, the front door.
//!
//! Each rule is a function from the tracked tree to a [`Report`] that says how much it looked at.

use std::collections::BTreeSet;
use std::path::Path;

use crate::report::Report;
use crate::source::{self, Source};
use crate::tree::{self, File};

mod documents;
#[cfg(test)]
mod tests;

/// Most production lines that one file may have.
const LONGEST: usize = 500;

/// Files that may be longer, because they are one table: path and what the table is.
const TABLES: &[(&str, &str)] = &[];

/// Where files lie that are no text: the trained head of the classifier, and inputs that fuzzers found.
const UNTEXTED: &[&str] = &["crates/classifier/head.safetensors", "fuzz/corpus/"];

/// Names that say nothing: what is in such a file belongs somewhere else.
const BANNED_NAMES: &[&str] = &["common", "utils", "core", "types", "helpers", "shared"];

/// The invariants of ARCHITECTURE.md that must be cited by a test: all ten.
const INVARIANTS: std::ops::RangeInclusive<u32> = 1..=10;

/// Types that prove something by existing: a derived constructor would be a second mint.
const PROOFS: &[&str] = &["SignedPlan", "Permit", "VerifiedPlan", "Recorded"];
const SECOND_MINTS: &[&str] = &["Deserialize", "Default", "Clone"];

/// What may lie in the root: it is the front door.
const ROOT: &[&str] = &[
    ".cargo",
    ".ci",
    ".gitattributes",
    ".github",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "SPECIFICATION.md",
    "clippy.toml",
    "conformance",
    "crates",
    "deny.toml",
    "deploy",
    "docs",
    "evals",
    "examples",
    "fuzz",
    "model",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "schema",
    "sdk",
    "web",
    "xtask",
];

/// Hosts of package registries: which registry to use is a matter of the machine that builds.
const REGISTRIES: &[&str] = &[
    "crates.io",
    "files.pythonhosted.org",
    "pypi.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "proxy.golang.org",
    "deb.debian.org",
    "archive.ubuntu.com",
    "docker.io",
    "ghcr.io",
    "quay.io",
];

/// Folders of one person's machine, never of this repository.
const PRIVATE_PATHS: &[&str] = &[concat!("/work", "/main"), concat!("/work", "/shared"), concat!("/work", "/notes")];

/// The command that tests everything; README.md names it and `.ci/run` ends with it.
const TEST_COMMAND: &str = "cargo xtask ci";

pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    let mut report = judge(&tree::tracked(root)?);
    report.absorb(untexted(&tree::untexted(root)?));
    Ok(report)
}

fn judge(files: &[File]) -> Report {
    let sources = source::split(files);
    let mut report = Report::default();
    report.absorb(headers(&sources));
    report.absorb(lengths(&sources));
    report.absorb(names(files));
    report.absorb(invariants(files, &sources));
    report.absorb(proof_types(&sources));
    report.absorb(lint_exceptions(&sources));
    report.absorb(root_listing(files));
    report.absorb(outside_names(files));
    report.absorb(front_door(files));
    report.absorb(documents::links(files));
    report.absorb(documents::cited_tests(files, &sources));
    report
}

/// Every Rust file says at its top what it is for.
fn headers(sources: &[Source<'_>]) -> Report {
    let mut report = Report::default();
    for Source { file, .. } in sources {
        if !first_words(&file.text).is_some_and(|line| line.starts_with("//!")) {
            report.fault(format!("{}: starts without a `//!` that says what the file is for", file.path));
        }
    }
    report.count("Rust files with a header", sources.len());
    report
}

/// The first line that is neither blank nor part of an inner attribute.
fn first_words(text: &str) -> Option<&str> {
    let mut open = false;
    text.lines().map(str::trim).find(|line| {
        let skip = open || line.is_empty() || line.starts_with("#![");
        open = (open || line.starts_with("#![")) && !line.ends_with(']');
        !skip
    })
}

fn lengths(sources: &[Source<'_>]) -> Report {
    let mut report = Report::default();
    let production = sources.iter().filter(|source| !source.production.is_empty());
    let mut sizes: Vec<_> = production.map(|source| (source.production_lines(), &source.file.path)).collect();
    sizes.sort_unstable();
    for (lines, path) in sizes.iter().filter(|(lines, path)| *lines > LONGEST && !is_table(path)) {
        report.fault(format!("{path}: {lines} production lines, {LONGEST} at most: split it by what it does"));
    }
    for (path, _) in TABLES {
        if !sizes.iter().any(|(lines, name)| name == path && *lines > LONGEST) {
            report.fault(format!("{path}: listed as a long table and is none: remove the line"));
        }
    }
    report
        .count(&format!("production files, {} the longest", sizes.last().map_or(0, |(lines, _)| *lines)), sizes.len());
    report
}

fn is_table(path: &str) -> bool {
    TABLES.iter().any(|(table, _)| *table == path)
}

fn names(files: &[File]) -> Report {
    let mut report = Report::default();
    let mut looked_at = 0;
    for file in files.iter().filter(|file| file.is_rust()) {
        looked_at += 1;
        if let Some(part) = file.path.trim_end_matches(".rs").split('/').find(|part| BANNED_NAMES.contains(part)) {
            report.fault(format!("{}: `{part}` names nothing: say what is inside", file.path));
        }
    }
    report.count("file and crate names", looked_at);
    report
}

/// Every `INV-n` in code exists in ARCHITECTURE.md, and every invariant is cited by a test.
fn invariants(files: &[File], sources: &[Source<'_>]) -> Report {
    let mut report = Report::default();
    let map = files.iter().find(|file| file.path == "ARCHITECTURE.md").map_or("", |file| file.text.as_str());
    let defined: BTreeSet<u32> = map.lines().filter(|line| line.starts_with("**INV-")).flat_map(cited).collect();
    let mut citations = 0;
    let mut tested = BTreeSet::new();
    for source in sources {
        for number in source.production.iter().chain(&source.test).flat_map(|line| cited(line)) {
            citations += 1;
            if !defined.contains(&number) {
                report
                    .fault(format!("{}: cites INV-{number}, which ARCHITECTURE.md does not define", source.file.path));
            }
        }
        tested.extend(source.test.iter().flat_map(|line| cited(line)));
    }
    for number in INVARIANTS {
        if !defined.contains(&number) {
            report.fault(format!("ARCHITECTURE.md does not define INV-{number} in a line that starts with `**INV-`"));
        }
        if !tested.contains(&number) {
            report.fault(format!("INV-{number} is cited by no test: name it in the test that fails when it is broken"));
        }
    }
    report.count("invariants defined", defined.len());
    report.count("citations of invariants in code", citations);
    report.count("invariants cited by tests", tested.len());
    report
}

/// The numbers `n` of every `INV-n` in a line.
fn cited(line: &str) -> impl Iterator<Item = u32> {
    line.split("INV-").skip(1).filter_map(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| rest.split_at(end).0);
        digits.parse().ok()
    })
}

/// Proof types are minted in one place: none of them can be deserialised, defaulted or cloned.
fn proof_types(sources: &[Source<'_>]) -> Report {
    let mut report = Report::default();
    let mut found = BTreeSet::new();
    for source in sources {
        let mut attributes = String::new();
        for line in source.production.iter().map(|line| line.trim()) {
            if let Some(proof) = PROOFS.iter().find(|proof| declares(line, proof)) {
                found.insert(*proof);
                for mint in SECOND_MINTS.iter().filter(|mint| words(&attributes).any(|word| word == **mint)) {
                    report.fault(format!("{}: {proof} derives {mint}: a second mint", source.file.path));
                }
            }
            if let Some((mint, proof)) = implements(line) {
                report.fault(format!("{}: {mint} is implemented for {proof}: a second mint", source.file.path));
            }
            if line.is_empty() || line.ends_with(['}', ';']) {
                attributes.clear();
            } else if !line.starts_with("//") {
                attributes.push_str(line);
            }
        }
    }
    for proof in PROOFS.iter().filter(|proof| !found.contains(**proof)) {
        report.fault(format!("empty scan: no struct {proof} in the tree"));
    }
    report.count("proof types without a second mint", found.len());
    report
}

fn declares(line: &str, name: &str) -> bool {
    let mut words = words(line).skip_while(|word| *word != "struct" && *word != "enum");
    !line.starts_with("//") && words.nth(1) == Some(name)
}

/// `impl … Mint … for Proof`, if that is what the line says.
fn implements(line: &str) -> Option<(&'static str, &'static str)> {
    let (before, after) = line.strip_prefix("impl")?.split_once(" for ")?;
    let mint = SECOND_MINTS.iter().find(|mint| words(before).any(|word| word == **mint))?;
    let proof = PROOFS.iter().find(|proof| words(after).next() == Some(**proof))?;
    Some((mint, proof))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A lint is silenced by `expect` with a reason, never by `allow`.
fn lint_exceptions(sources: &[Source<'_>]) -> Report {
    let mut report = Report::default();
    let mut exceptions = 0;
    for source in sources {
        let text = &source.file.text;
        for (at, _) in text.match_indices("#[").chain(text.match_indices("#![")) {
            let attribute = text.split_at(at).1;
            let before = text.split_at(at).0.rsplit('\n').next().unwrap_or_default();
            if !before.trim().is_empty() {
                continue;
            }
            let body = attribute.trim_start_matches(['#', '!', '[']);
            if body.starts_with("allow(") {
                report.fault(format!(
                    "{}: `allow` silences a lint for ever: use `expect` with a reason",
                    source.file.path
                ));
            } else if body.starts_with("expect(") {
                exceptions += 1;
                let whole = body.split_once(")]").map_or(body, |(whole, _)| whole);
                if !whole.contains("reason = \"") {
                    report.fault(format!("{}: `expect` without a reason", source.file.path));
                }
            }
        }
    }
    report.line(format!("{exceptions:>6}  lint exceptions, each with a reason"));
    report
}

/// What is built is not kept: files that are no text have a place of their own.
fn untexted(paths: &[String]) -> Report {
    let mut report = Report::default();
    for path in paths.iter().filter(|path| !UNTEXTED.iter().any(|place| path.starts_with(place))) {
        report.fault(format!("{path}: is no text: build it where it is needed instead of keeping it"));
    }
    report.line(format!("{:>6}  files that are no text", paths.len()));
    report
}

fn root_listing(files: &[File]) -> Report {
    let mut report = Report::default();
    let top: BTreeSet<_> = files.iter().filter_map(|file| file.path.split('/').next()).collect();
    for name in top.iter().filter(|name| !ROOT.contains(*name)) {
        report.fault(format!("{name}: has no place in the root listing (xtask tidy, ROOT)"));
    }
    report.count("entries in the root", top.len());
    report
}

/// No tracked file names a registry to build from, or a folder of somebody's machine.
///
/// Rust sources, suites and vectors are exempt from the first half: hosts of registries are what plans talk about.
fn outside_names(files: &[File]) -> Report {
    let mut report = Report::default();
    for file in files.iter().filter(|file| !file.path.ends_with("Cargo.lock")) {
        let content = file.is_rust() || ["evals/", "conformance/"].iter().any(|folder| file.path.starts_with(folder));
        let registries = if content { &[] } else { REGISTRIES };
        // Somebody's own folder may have such a name in it.
        let from_root = |(at, _)| !file.text.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
        let private = PRIVATE_PATHS.iter().filter(|path| file.text.match_indices(**path).any(from_root));
        for name in registries.iter().filter(|name| file.text.contains(**name)).chain(private) {
            report.fault(format!("{}: names {name}", file.path));
        }
    }
    report.count("tracked text files", files.len());
    report
}

/// README.md tells people the command that `.ci/run` ends with.
fn front_door(files: &[File]) -> Report {
    let mut report = Report::default();
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    if !text("README.md").lines().any(|line| line.trim() == TEST_COMMAND) {
        report.fault(format!("README.md: has no line `{TEST_COMMAND}`"));
    }
    let last = text(".ci/run").lines().rev().map(str::trim).find(|line| !line.is_empty());
    if last.map(|line| line.trim_start_matches("exec ")) != Some(TEST_COMMAND) {
        report.fault(format!(".ci/run: does not end with `{TEST_COMMAND}`, the test command of README.md"));
    }
    report.line("     1  test command, the same in README.md and .ci/run");
    report
}
