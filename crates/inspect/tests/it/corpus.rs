//! The seeds of the fuzz target, and texts that are built to be slow: nothing brings the inspection down, its result is bounded
//! and is the same each time.

use countersign_inspect::{Context, Language, Subject, code, inspect, shell, sql, text, url};

fn context() -> Context {
    Context::new("/home/user/project", "/home/user")
}

/// What `fuzz/fuzz_targets/inspect.rs` asserts.
fn holds(line: &str) {
    let context = context();
    let seen = shell(line, &context);
    assert_eq!(seen, shell(line, &context), "{line:?}");
    assert!(seen.touches.len() <= 256 && seen.programs.len() <= 256 && seen.unknowns.len() <= 257, "{line:?}");
    let languages = [
        Language::Python,
        Language::Perl,
        Language::Ruby,
        Language::Node,
        Language::Php,
        Language::Lua,
        Language::PowerShell,
    ];
    for language in languages {
        drop(code(language, line, &context));
    }
    drop(sql(line));
    drop(url(line));
    drop(inspect(&Subject::Text { text: line.to_owned() }));
    for found in text(line) {
        assert!(found.span.start <= found.span.end && found.span.end <= line.len(), "{line:?}");
    }
}

#[test]
fn the_seeds_of_the_fuzz_target_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/inspect");
    let mut count = 0;
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(bytes) = std::fs::read(file.path()) else { continue };
        holds(&String::from_utf8_lossy(&bytes));
        count += 1;
    }
    assert!(count > 50, "{count} seeds in {folder}");
}

#[test]
fn texts_that_are_built_to_be_slow_hold() {
    let parts = [
        "a=1;",
        "$(",
        "`",
        "\"$(",
        "${a:-",
        "{a,",
        "'\"",
        "\\",
        "<<E\n",
        "<(",
        "[[ ",
        "((",
        "case x in ",
        "if ",
        "for x in ",
        "!",
        "sk-",
        "eyJ",
        "://",
        "token=",
        "ignore previous ",
        "AKIA",
        "| sh ",
        "&& cd x ",
        "; x=$x$x ",
        "*?[",
        "-e ",
        "$'\\x",
        "/*",
        "--",
        "select (",
        "\\copy ",
        "import os;",
        "%x{",
        "q{",
        "<?",
        "é",
        "\u{200b}",
        "\u{e0041}",
        "aGVsbG8gd29ybGQ",
    ];
    for part in parts {
        holds(&part.repeat(1500 / part.len()));
    }
}
