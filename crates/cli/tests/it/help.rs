//! The help teaches: every command is listed, and the long help of those that people start with shows examples.

use std::process::Command;

fn help(words: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_countersign")).args(words).arg("--help").output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn the_help_lists_every_command() {
    let text = help(&[]);
    let commands: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|word| !word.is_empty()))
        .collect();
    let wanted = [
        "run",
        "check",
        "pending",
        "show",
        "approve",
        "deny",
        "halt",
        "resume",
        "keys",
        "trust",
        "audit",
        "policy",
        "flow",
        "eval",
        "tools",
        "doctor",
        "status",
        "up",
        "down",
        "init",
        "completions",
    ];
    assert_eq!(commands, wanted, "{text}");
    for code in ["10  a person must approve first", "20  blocked, refused, or verification failed"] {
        assert!(text.contains(code), "{text}");
    }
}

#[test]
fn the_long_help_shows_examples_and_there_is_no_yes() {
    for command in ["run", "check", "approve", "deny", "trust", "resume", "halt", "eval"] {
        let text = help(&[command]);
        assert!(text.contains("Example"), "{command}: {text}");
        assert!(!text.contains("--yes"), "{command}: {text}");
    }
    for words in [["audit", "verify"], ["audit", "export"], ["keys", "init"], ["keys", "enroll"], ["policy", "test"]] {
        assert!(help(&words).contains("Example"), "{words:?}");
    }
}
