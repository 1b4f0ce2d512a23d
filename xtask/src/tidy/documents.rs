//! Documents name files, tests and commands of this tree: what they name has to exist.

use std::collections::BTreeSet;

use crate::report::Report;
use crate::source::Source;
use crate::tree::File;

/// Relative links, and paths in backticks that start with a folder of ours, lead to tracked files or folders.
pub(super) fn links(files: &[File]) -> Report {
    let mut report = Report::default();
    let mut places: BTreeSet<&str> = BTreeSet::new();
    for file in files {
        let parents = file.path.match_indices('/').map(|(at, _)| file.path.split_at(at).0);
        places.extend(parents.chain([file.path.as_str()]));
    }
    let mut looked_at = 0;
    for document in documents(files) {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let links =
            between(&document.text, "](", ")").filter(|link| !link.contains(':')).map(|link| join(folder, link));
        let paths = between(&document.text, "`", "`").filter(|path| is_path(path)).map(|path| join("", path));
        for target in links.chain(paths) {
            looked_at += 1;
            if !places.contains(target.as_str()) {
                report.fault(format!("{}: names {target}, which is not in the tree", document.path));
            }
        }
    }
    report.count("links and paths in documents", looked_at);
    report
}

/// `room::name` in backticks is a test of that crate; it exists as `fn name` in its test code.
pub(super) fn cited_tests(files: &[File], sources: &[Source<'_>]) -> Report {
    let mut report = Report::default();
    let mut cited = BTreeSet::new();
    for document in documents(files) {
        for (room, name) in between(&document.text, "`", "`").filter_map(test_name) {
            let exists = sources.iter().filter(|source| is_of(source, room)).any(|source| defines(source, name));
            if !exists {
                report.fault(format!("{}: cites the test {room}::{name}, which does not exist", document.path));
            }
            cited.insert((room, name));
        }
    }
    report.count("tests cited by documents", cited.len());
    report
}

fn documents(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.path.ends_with(".md"))
}

/// What stands between `open` and `close` on one line, outside fenced blocks.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    let mut fenced = false;
    let lines = text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    });
    lines.flat_map(move |line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let (inside, after) = rest.split_once(open)?.1.split_once(close)?;
            rest = after;
            Some(inside)
        })
    })
}

fn is_path(text: &str) -> bool {
    let ours = ["crates/", "docs/", "examples/", "xtask/", ".ci/"].iter().any(|folder| text.starts_with(folder));
    ours && !text.contains(['*', ' ', '<', '…'])
}

/// A relative link seen from a folder, without its fragment.
fn join(folder: &str, link: &str) -> String {
    let link = link.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(link.trim_start_matches("./").split('/')).filter(|part| !part.is_empty()) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn test_name(text: &str) -> Option<(&str, &str)> {
    let (room, name) = text.split_once("::")?;
    let word =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    (word(room) && word(name)).then_some((room, name))
}

fn is_of(source: &Source<'_>, room: &str) -> bool {
    let path = source.file.path.strip_prefix("crates/").unwrap_or(&source.file.path);
    path.strip_prefix(room).is_some_and(|rest| rest.starts_with('/'))
}

fn defines(source: &Source<'_>, name: &str) -> bool {
    source.test.iter().any(|line| {
        let after = line.split_once("fn ").map_or("", |(_, after)| after);
        after.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', '<']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn link_faults(text: &str) -> Vec<String> {
        let files = [file("docs/a.md", text), file("docs/adr/README.md", ""), file("crates/x/src/lib.rs", "")];
        links(&files).faults().to_vec()
    }

    #[test]
    fn a_link_leads_somewhere() {
        assert!(link_faults("[x](adr/README.md) [y](../crates/x#top) [z](https://a.example/b)").is_empty());
        assert!(link_faults("`crates/x/src/lib.rs` and `crates/*` and `a::b`\n[self](a.md)").is_empty());
        assert_eq!(link_faults("[x](gone.md) `crates/x/src/gone.rs`").len(), 2);
    }

    #[test]
    fn a_fenced_block_is_no_promise() {
        assert!(link_faults("[self](a.md)\n```\n`crates/gone`\n```\n").is_empty());
        assert_eq!(link_faults("```\ncode\n```\n`crates/gone`\n").len(), 1);
    }

    #[test]
    fn a_cited_test_exists_in_the_crate_that_is_named() {
        let faults = |citation: &str| {
            let files = [
                file("docs/a.md", citation),
                file("crates/x/tests/it/main.rs", "#[test]\nfn holds() {}\n"),
                file("crates/y/src/lib.rs", "fn production() {}\n"),
            ];
            cited_tests(&files, &source::split(&files)).faults().len()
        };
        assert_eq!(faults("shown by `x::holds`"), 0);
        assert_eq!(faults("shown by `x::hold`"), 1);
        assert_eq!(faults("shown by `y::holds`"), 1);
        assert_eq!(faults("shown by `y::production`"), 1, "a production function is no test");
        assert_eq!(faults("no citation"), 1, "empty scan");
    }
}
