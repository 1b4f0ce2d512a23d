//! Each rule meets a tree that breaks it, and one that does not.

use super::*;

fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

fn source_faults(rule: fn(&[Source<'_>]) -> Report, path: &str, text: &str) -> Vec<String> {
    rule(&source::split(&[file(path, text)])).faults().to_vec()
}

/// Spelt apart, so that these tests do not count as citations themselves.
fn inv(number: u32) -> String {
    format!("INV{}{number}", '-')
}

#[test]
fn an_empty_tree_fails_every_counting_rule() {
    let faults = judge(&[]).faults().join("\n");
    for what in ["Rust files", "production files", "names", "invariants defined", "struct Permit", "root", "tracked"] {
        assert!(faults.contains(what), "{what} missing in:\n{faults}");
    }
}

#[test]
fn a_file_opens_with_what_it_is_for() {
    assert_eq!(source_faults(headers, "a.rs", "fn main() {}\n").len(), 1);
    assert_eq!(source_faults(headers, "a.rs", "// Comment.\nfn main() {}\n").len(), 1);
    assert_eq!(source_faults(headers, "a.rs", "").len(), 1);
    assert!(source_faults(headers, "a.rs", "//! Doc.\n").is_empty());
    assert!(source_faults(headers, "a.rs", "#![expect(\n    lint,\n    reason = \"r\"\n)]\n//! Doc.\n").is_empty());
}

#[test]
fn a_heap_fails_and_its_tests_do_not_count() {
    let code = "fn a() {}\n".repeat(LONGEST);
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn t() {}\n".repeat(LONGEST));
    assert!(source_faults(lengths, "crates/x/src/a.rs", &format!("//! Doc.\n{code}{tests}")).is_empty());
    assert_eq!(source_faults(lengths, "crates/x/src/a.rs", &format!("{code}fn b() {{}}\n")).len(), 1);
}

#[test]
fn a_name_that_says_nothing_fails_as_file_and_as_crate() {
    for path in ["crates/x/src/utils.rs", "crates/core/src/lib.rs", "crates/x/tests/it/helpers.rs"] {
        assert_eq!(names(&[file(path, "")]).faults().len(), 1, "{path}");
    }
    assert!(names(&[file("crates/x/src/common_name.rs", "")]).faults().is_empty());
}

fn invariant_faults(defined: std::ops::RangeInclusive<u32>, production: &str, test: &str) -> Vec<String> {
    let map: String = defined.map(|number| format!("**{} A name.** Text.\n", inv(number))).collect();
    let code = format!("//! Doc. {production}\n#[cfg(test)]\nmod tests {{\n    // {test}\n}}\n");
    let files = [file("ARCHITECTURE.md", &map), file("crates/x/src/lib.rs", &code)];
    invariants(&files, &source::split(&files)).faults().to_vec()
}

#[test]
fn every_invariant_is_defined_and_tested() {
    let all: String = INVARIANTS.map(|number| inv(number) + ", ").collect();
    assert!(invariant_faults(INVARIANTS, &all, &all).is_empty());

    let untested = invariant_faults(INVARIANTS, &all, &all.replace(&inv(7), ""));
    assert_eq!(untested, [format!("{} is cited by no test: name it in the test that fails when it is broken", inv(7))]);

    let undefined = invariant_faults(1..=9, "", &all);
    assert_eq!(undefined.len(), 2, "cited without a definition, and a definition missing: {undefined:?}");

    let invented = invariant_faults(INVARIANTS, &inv(11), &all);
    assert!(invented[0].contains("does not define"), "{invented:?}");
}

#[test]
fn two_digits_are_one_number() {
    assert_eq!(cited(&format!("{}: {}, {}", inv(1), inv(10), "INV-n")).collect::<Vec<_>>(), [1, 10]);
}

#[test]
fn a_second_mint_of_a_proof_type_fails() {
    let clean = PROOFS.map_all(|proof| {
        format!("/// A Clone of nothing.\n#[derive(Debug, PartialEq)]\npub struct {proof} {{\n    a: u8,\n}}\n")
    });
    assert!(source_faults(proof_types, "crates/x/src/a.rs", &clean).is_empty());

    for mint in ["Clone", "Default", "serde::Deserialize"] {
        let derived = clean.replacen("PartialEq", &format!("PartialEq,\n    {mint}"), 1);
        assert_eq!(source_faults(proof_types, "crates/x/src/a.rs", &derived).len(), 1, "{derived}");
    }
    for hand_written in
        ["impl Clone for Permit {", "impl<'de> Deserialize<'de> for Permit {", "impl<T> Default for Recorded<T> {"]
    {
        let with = format!("{clean}\n{hand_written}\n}}\n");
        assert_eq!(source_faults(proof_types, "crates/x/src/a.rs", &with).len(), 1, "{hand_written}");
    }
}

#[test]
fn a_neighbour_of_a_proof_type_may_be_cloned() {
    let clean =
        PROOFS.map_all(|proof| format!("#[derive(Clone)]\nstruct {proof}Id;\n#[derive(Debug)]\nstruct {proof};\n"));
    assert!(source_faults(proof_types, "crates/x/src/a.rs", &clean).is_empty());
}

#[test]
fn a_proof_type_that_is_gone_is_an_empty_scan() {
    assert_eq!(source_faults(proof_types, "crates/x/src/a.rs", "struct Permitted;\n").len(), PROOFS.len() + 1);
}

#[test]
fn a_lint_is_silenced_with_a_reason_or_not_at_all() {
    let exception =
        |attribute: &str| source_faults(lint_exceptions, "a.rs", &format!("//! Doc.\n{attribute}\nfn a() {{}}\n"));
    assert_eq!(exception("#[allow(dead_code)]").len(), 1);
    assert_eq!(exception("    #[expect(dead_code)]").len(), 1);
    assert!(exception("#![expect(\n    dead_code,\n    reason = \"because\"\n)]").is_empty());
    assert!(exception("// about #[allow(dead_code)]").is_empty());
}

#[test]
fn the_root_is_no_attic() {
    assert!(root_listing(&[file("README.md", ""), file("docs/notes.md", "")]).faults().is_empty());
    assert_eq!(root_listing(&[file("NOTES.md", "")]).faults().len(), 1);
    assert_eq!(untexted(&["a-program".to_owned(), "fuzz/corpus/x".to_owned()]).faults().len(), 1);
}

#[test]
fn registries_and_private_folders_are_not_named() {
    let faults = |path: &str, text: &str| outside_names(&[file(path, text)]).faults().len();
    assert_eq!(faults(".cargo/config.toml", "registry = \"https://index.crates.io\""), 1);
    assert_eq!(faults("docs/a.md", PRIVATE_PATHS[0]), 1);
    assert_eq!(faults("crates/x/src/a.rs", PRIVATE_PATHS[1]), 1);
    assert_eq!(faults("crates/x/src/a.rs", "install from pypi.org"), 0, "plans talk about registries");
    assert_eq!(faults("docs/a.md", "the step's /work folder"), 0);
}

#[test]
fn ci_runs_what_the_readme_says() {
    let door = |readme: &str, run: &str| front_door(&[file("README.md", readme), file(".ci/run", run)]).faults().len();
    assert_eq!(door("# A\n\n    cargo xtask ci\n", "#!/usr/bin/env bash\nexec cargo xtask ci\n"), 0);
    assert_eq!(door("# A\n\n    cargo xtask ci\n", "cargo test\n"), 1);
    assert_eq!(door("# A\n\n    cargo test\n", "cargo xtask ci\n"), 1);
}

/// One text with something for every name.
trait MapAll {
    fn map_all(&self, text: impl Fn(&str) -> String) -> String;
}

impl MapAll for [&str] {
    fn map_all(&self, text: impl Fn(&str) -> String) -> String {
        self.iter().map(|name| text(name)).collect()
    }
}
