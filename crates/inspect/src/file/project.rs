//! Files of a project that are scripts of its tools: of Gradle, and those that are written in Ruby (the manuals of Gradle, fastlane,
//! CocoaPods, Bundler, Rake, RubyGems, Danger and Vagrant).

use countersign_plan::inspection::{Context, Inspection};

use super::settings::{MAX_TEXTS, grave, lines_of_settings};
use crate::bounded::Bounded as _;
use crate::code::Language;
use crate::inspection::{Build as _, FindingKind};

/// Names of files in Ruby that a tool reads as its own.
const IN_RUBY: &[&str] = &[
    "appfile",
    "berksfile",
    "brewfile",
    "capfile",
    "dangerfile",
    "deliverfile",
    "fastfile",
    "gemfile",
    "guardfile",
    "gymfile",
    "matchfile",
    "pluginfile",
    "podfile",
    "rakefile",
    "scanfile",
    "snapfile",
    "thorfile",
    "vagrantfile",
];

/// Whether a file of this name is a script in Ruby, by a name that says nothing of the language.
pub(super) fn is_in_ruby(lower: &str) -> bool {
    IN_RUBY.contains(&lower) || [".gemspec", ".podspec", ".rake", ".ru"].iter().any(|end| lower.ends_with(end))
}

/// What such a script does as it is read, and what its tasks do.
pub(super) fn of_ruby(out: &mut Inspection, lower: &str, text: &str, context: &Context) {
    grave(out, crate::code::code(Language::Ruby, &with_shell(text), context));
    // What provisions a machine runs there.
    if lower != "vagrantfile" {
        out.absorb(lines_of_settings(text, context));
    }
}

/// What these tools call by a bare name: a line for a shell (Rake, "FileUtils#sh"; fastlane, "sh"), and what removes folders (Rake, "FileUtils").
const BARE: &[(&str, &str)] = &[("sh", "system"), ("rm_rf", "FileUtils.rm_rf"), ("rm_r", "FileUtils.rm_r")];

/// The script with the usual names in the place of those.
fn with_shell(text: &str) -> String {
    BARE.iter().fold(text.to_owned(), |text, (bare, usual)| named(&text, bare, usual))
}

fn named(text: &str, bare: &str, usual: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(bare) {
        let head = before.strip_suffix("Actions.").unwrap_or(before);
        let begins = !head.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '/' | '"' | '\''));
        // A name, a text or a constant behind it, and no sign that gives it something.
        let given = |c: char| c.is_ascii_alphabetic() || matches!(c, '"' | '\'' | '%' | '(' | '[');
        let called = after.starts_with('(') || after.strip_prefix(' ').is_some_and(|after| after.starts_with(given));
        if begins && called {
            out.push_str(head);
            out.push_str(usual);
        } else {
            out.push_str(before);
            out.push_str(bare);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A script of Gradle that takes another one from an address (Gradle, "Script plugins"), or evaluates what one holds.
pub(super) fn of_gradle(out: &mut Inspection, name: &str, text: &str) {
    let applies = |line: &str| {
        let line = line.trim_start();
        let rest = line.strip_prefix("apply").unwrap_or("").trim_start_matches([' ', '(']);
        let from = rest.strip_prefix("from").unwrap_or("").trim_start_matches([':', '=', ' ']);
        let address = from.trim_start_matches("uri(").trim_start_matches("URI(").trim_start_matches(['"', '\'']);
        address.contains("://") && !address.starts_with("file:")
    };
    let evaluates = |line: &str| line.contains("://") && (line.contains("evaluate(") || line.contains(".parse("));
    let statements = text.split(['\n', ';', '{']).at_most(MAX_TEXTS * 16);
    for line in statements.filter(|line| applies(line) || evaluates(line)).take(1) {
        let message = format!("{name} takes a script from elsewhere: {}", line.trim());
        out.find(FindingKind::DownloadAndExecute, None, message);
    }
}
