//! Tells production lines from test lines in Rust that rustfmt has formatted.
//!
//! A line is code if it is neither blank nor only a comment. Test code is what stands in a `tests/`, `benches/` or
//! `examples/` folder, in a `#[cfg(test)] mod x { … }` block, or in the file of a `#[cfg(test)] mod x;`.

use std::collections::BTreeSet;

use crate::tree::File;

/// One Rust file, taken apart.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a File,
    /// Lines outside test code; empty for a file that is test code as a whole.
    pub(crate) production: Vec<&'a str>,
    pub(crate) test: Vec<&'a str>,
}

impl Source<'_> {
    pub(crate) fn production_lines(&self) -> usize {
        self.production.iter().filter(|line| is_code(line)).count()
    }
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

/// Every Rust file of the tree, split.
pub(crate) fn split(files: &[File]) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    let mut test_modules = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let (production, test, modules) = split_text(&file.text);
        test_modules.extend(modules.into_iter().map(|module| format!("{}{module}", child_folder(&file.path))));
        sources.push(Source { file, production, test });
    }
    for source in &mut sources {
        if is_test_path(&source.file.path, &test_modules) {
            source.production.clear();
            source.test = source.file.text.lines().collect();
        }
    }
    sources
}

/// The folder in which the files of a file's child modules lie: `src/a.rs` has `src/a/`, `src/lib.rs` has `src/`.
fn child_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => format!("{folder}/"),
        _ => format!("{folder}/{}/", name.trim_end_matches(".rs")),
    }
}

fn is_test_path(path: &str, test_modules: &BTreeSet<String>) -> bool {
    let in_test_folder = path.split('/').rev().skip(1).any(|part| matches!(part, "tests" | "benches" | "examples"));
    let module = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let within =
        |test: &String| module.strip_prefix(test.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    in_test_folder || test_modules.iter().any(within)
}

/// Production lines, test lines and the names of out-of-line test modules of one file.
fn split_text(text: &str) -> (Vec<&str>, Vec<&str>, Vec<&str>) {
    let (mut production, mut test, mut modules) = (Vec::new(), Vec::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            production.push(line);
            continue;
        }
        let mut held = vec![line];
        let mut depth = 0;
        // Further attributes may stand between the gate and the item.
        while let Some(next) = lines.next_if(|next| depth > 0 || next.trim_start().starts_with("#[")) {
            depth += brackets(next);
            held.push(next);
        }
        let item = lines.peek().copied().unwrap_or_default();
        match module_name(item) {
            Some((name, Body::Elsewhere)) => {
                modules.push(name);
                test.extend(held);
                test.extend(lines.next());
            }
            Some((_, Body::Here)) => {
                let indent = item.len() - item.trim_start().len();
                let closes = |line: &str| line.trim() == "}" && line.len() == indent + 1;
                test.extend(held);
                for line in lines.by_ref() {
                    test.push(line);
                    if closes(line) {
                        break;
                    }
                }
            }
            None => production.extend(held),
        }
    }
    (production, test, modules)
}

enum Body {
    Here,
    Elsewhere,
}

/// `mod x;` or `mod x {`, with any visibility.
fn module_name(line: &str) -> Option<(&str, Body)> {
    let line = line.trim();
    let (head, body) = match line.strip_suffix(';') {
        Some(head) => (head, Body::Elsewhere),
        None => (line.strip_suffix('{')?, Body::Here),
    };
    let (before, name) = head.trim_end().rsplit_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some((name, body))
}

/// How many square brackets a line leaves open.
fn brackets(line: &str) -> i32 {
    line.chars().map(|c| i32::from(c == '[') - i32::from(c == ']')).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn comments_and_blank_lines_are_not_code() {
        let files = [file("crates/x/src/a.rs", "//! Doc.\n\n// why\nfn a() {}\n    /// doc\nfn b() {}\n")];
        assert_eq!(split(&files)[0].production_lines(), 2);
    }

    #[test]
    fn a_test_module_ends_where_its_brace_closes() {
        let text = "fn a() {}\n#[cfg(test)]\n#[expect(\n    dead_code,\n    reason = \"why\"\n)]\nmod tests {\n    fn t() {\n    }\n}\nfn late() {}\n";
        let files = [file("crates/x/src/a.rs", text)];
        let split = split(&files);
        assert_eq!(split[0].production, ["fn a() {}", "fn late() {}"]);
        assert!(split[0].test.contains(&"    fn t() {"));
    }

    #[test]
    fn a_gated_item_that_is_no_module_stays_production() {
        let files = [file("crates/x/src/a.rs", "#[cfg(test)]\nfn only_for_tests() {}\n")];
        assert_eq!(split(&files)[0].production_lines(), 2);
    }

    #[test]
    fn the_file_of_a_gated_module_is_test_code_and_its_neighbours_are_not() {
        let files = [
            file("crates/x/src/lib.rs", "mod a;\n#[cfg(test)]\nmod attacks;\nmod z;\n"),
            file("crates/x/src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests;\n"),
            file("crates/x/src/a/tests.rs", "fn t() {}\n"),
            file("crates/x/src/attacks.rs", "fn attack() {}\n"),
            file("crates/x/src/attacks/deep.rs", "fn attack() {}\n"),
            file("crates/x/src/attacks_on_us.rs", "fn production() {}\n"),
            file("crates/x/tests/it/main.rs", "fn t() {}\n"),
        ];
        let lines: Vec<_> = split(&files).iter().map(Source::production_lines).collect();
        assert_eq!(lines, [2, 1, 0, 0, 0, 1, 0]);
    }
}
