//! What an editor's expression puts into a file: the constant replacements and strings of `sed`, Perl, `jq`, `yq`, `ed`, `ex` and their
//! kin. A command line among them is judged as what the file would do once it is run (POSIX `sed`, `ed`, `ex`; the manuals of jq and yq;
//! perlop, "s/PATTERN/REPLACEMENT/").

use countersign_plan::inspection::Flow;
use countersign_plan::tool::Effect;

use super::sed;
use crate::bounded::{Bounded as _, has_room};
use crate::file::{runs_by_itself, swallows, weakens_tests};
use crate::inspection::FindingKind;
use crate::machine::{Machine, Stream, Word};

/// The most texts of one expression, and of their pieces, that are judged.
const MAX_TEXTS: usize = 64;

/// Programs whose expressions say what stands in a file afterwards.
const EDITORS: &[&str] = &[
    "sed", "gsed", "ssed", "perl", "ruby", "jq", "gojq", "jaq", "yq", "dasel", "awk", "gawk", "sd", "rpl", "ed", "ex",
    "vi", "vim", "nvim",
];

/// Ends of names of files that people read and nothing runs.
const READ: &[&str] = &[".md", ".txt", ".rst", ".adoc", ".html", ".tex", ".csv", ".log"];

/// What stands before a command line in a recipe, an image build, a workflow or a unit.
const BEFORE: &[&str] = &[
    "- run:",
    "run:",
    "RUN ",
    "CMD ",
    "ENTRYPOINT ",
    "ExecStart=",
    "ExecStartPre=",
    "command:",
    "script:",
    "- ",
    "@",
    "-",
];

impl Machine<'_> {
    /// What is brought into a folder keeps its name, by which Python reads it as it starts (cp(1), "DIRECTORY").
    fn lands_among_packages(&mut self, base: &str, rest: &[Word]) {
        if !matches!(base, "cp" | "gcp" | "mv" | "ln" | "install" | "rsync" | "scp") {
            return;
        }
        let mut names: Vec<&Word> = rest.iter().filter(|word| !word.prefix().starts_with('-')).collect();
        let Some(folders) = names.pop().map(|folder| self.paths(folder)) else { return };
        for folder in folders.iter().filter(|folder| folder.ends_with("-packages")) {
            for name in names.iter().at_most(4 * MAX_TEXTS) {
                let last = name.shown().rsplit('/').next().unwrap_or("").to_owned();
                let path = format!("{folder}/{last}");
                if crate::path::place(&path, &self.context.home) == crate::path::Place::Startup {
                    self.touch_path(Effect::Update, &Word::text(path), false);
                }
            }
        }
    }
}

impl Machine<'_> {
    /// Looks at an editor that is about to run.
    pub(super) fn judge_placed(&mut self, base: &str, rest: &[Word], stdin: &Stream) {
        self.lands_among_packages(base, rest);
        if crate::shell::is_deep() || !(EDITORS.contains(&base) || matches!(base, "patch" | "git")) {
            return;
        }
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let patches =
            base == "patch" || (base == "git" && words.iter().any(|word| matches!(word.as_str(), "apply" | "am")));
        if patches {
            for (name, text) in stdin.known().flat_map(added).at_most(MAX_TEXTS).collect::<Vec<_>>() {
                for path in self.paths(&Word::text(name)) {
                    self.judge_written(&path, &Stream::constant(text.as_str()));
                }
            }
        }
        if !EDITORS.contains(&base) {
            return;
        }
        let texts = placed(base, &words, stdin);
        // Whoever visits the page gives it to that host.
        let hosts = words.iter().take(MAX_TEXTS).filter_map(|word| crate::file::implant::overhears(word));
        for host in hosts.collect::<Vec<_>>() {
            self.touch_other(Effect::Send, countersign_plan::tool::TargetKind::Host, host.as_str());
            self.leaves("secret", &host);
        }
        let names: Vec<String> = rest.iter().filter(|word| is_name(word)).flat_map(|word| self.paths(word)).collect();
        if !names.is_empty() && names.iter().all(|name| READ.iter().any(|end| name.ends_with(end))) {
            return;
        }
        let by_itself = names.iter().any(|name| runs_by_itself(name, &self.context.home));
        let passes = words.iter().any(|word| word.to_ascii_lowercase().contains("test") && lets_fail(word))
            || texts.iter().flat_map(|text| text.lines()).any(swallows);
        if names.iter().any(|name| is_check(name)) && words.iter().any(|word| lets_pass(word)) {
            self.find(FindingKind::DisablesProtection, format!("`{base}` has a check that fails pass"));
        }
        if by_itself && passes {
            self.find(FindingKind::DisablesProtection, format!("`{base}` has tests that fail pass"));
        }
        // Whoever reads all secrets of a repository has the step of a workflow give them to that host (GitHub Actions, "Contexts").
        let all = |word: &&String| word.to_lowercase().replace(' ', "").contains("tojson(secrets)");
        if names.iter().any(|name| name.contains("/workflows/")) {
            let end = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '\\' | ')' | '|' | ';');
            let hosts = words.iter().filter(all).flat_map(|word| word.split("://").skip(1).at_most(MAX_TEXTS));
            for host in hosts.filter_map(|rest| rest.split(end).next()).map(str::to_owned).collect::<Vec<_>>() {
                self.touch_host(&Word::text(host.as_str()));
                self.leaves("secret", &host);
            }
        }
        let joined = texts.join("\n");
        let holds = !joined.is_empty() && has_room(joined.len(), 64 * 1024);
        for name in names.iter().filter(|_| holds) {
            if has_room(self.placed.len(), 4 * MAX_TEXTS) {
                self.placed.push((name.clone(), joined.clone()));
            }
        }
        self.judge_texts(&names, &texts);
    }

    /// Texts that go into files of these names: what each says of tests, and what a command line among them would do.
    pub(crate) fn judge_texts(&mut self, names: &[String], texts: &[String]) {
        if crate::shell::is_deep() {
            return;
        }
        let base = self.by.clone();
        let by_itself = names.iter().any(|name| runs_by_itself(name, &self.context.home));
        for text in texts {
            // Lines that are put into a file which runs by itself are read as that file is.
            for name in names.iter().filter(|_| by_itself && text.contains('\n')) {
                self.judge_written(name, &Stream::constant(text.as_str()));
            }
            if let Some(message) = names.iter().find_map(|name| weakens_tests(name, text)) {
                self.find(FindingKind::DisablesProtection, message);
            }
        }
        for piece in texts.iter().flat_map(|text| pieces(text)).at_most(MAX_TEXTS) {
            let inner = match piece.contains("${{") {
                true => crate::shell::shell(&crate::file::plain(piece), self.context),
                false => crate::shell::shell(piece, self.context),
            };
            let sends = |flow: &Flow| {
                flow.to != "?" && (flow.from.starts_with('/') || matches!(flow.from.as_str(), "env" | "secret"))
            };
            if by_itself && inner.flows.iter().any(sends) {
                self.absorb_grave(inner);
                continue;
            }
            let grave = inner.findings.iter().find(|finding| crate::file::is_grave(finding.kind));
            let Some(message) = grave.map(|finding| finding.message.clone()) else { continue };
            if by_itself {
                self.absorb_grave(inner);
            } else {
                self.find(FindingKind::Persistence, format!("`{base}` writes what would, once it is run: {message}"));
            }
        }
    }
}

/// Whether a script by its name checks something, or is a hook that may refuse.
fn is_check(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let words = ["check", "verify", "lint", "validate", "audit", "gate", "guard", "scan", "test", "precommit", "ci"];
    let hook = ["/hooks/", "/.husky/", "/.githooks/"].iter().any(|folder| name.contains(folder));
    hook || last.split(['-', '_', '.']).any(|part| words.contains(&part))
}

/// Whether an expression puts what goes on in the place of what ends a script with a failure, or takes that out (POSIX, "exit", "set -e").
fn lets_pass(expression: &str) -> bool {
    const ALWAYS: &[&str] = &["true", ":", ""];
    let passes = |(from, to): &(String, String)| {
        let goes_on = ALWAYS.contains(&to.trim())
            || ["|| true", "|| :", "exit 0", "set +e"].iter().any(|word| to.contains(word))
            || (stops_at_failure(from) && to.contains("set "));
        (exits_with_failure(from) || stops_at_failure(from))
            && !(exits_with_failure(to) || stops_at_failure(to))
            && goes_on
    };
    // `/exit 1/d`
    let taken_out = |command: &str| {
        let found = command.trim().strip_prefix('/').and_then(|rest| sed::past(rest, '/'));
        found.is_some_and(|(from, tail)| {
            tail.trim_start_matches(['I', 'M', ' ']) == "d" && (exits_with_failure(from) || stops_at_failure(from))
        })
    };
    substitutions(expression).iter().any(passes) || expression.split([';', '\n']).any(taken_out)
}

/// `exit` with a number other than nought, or with a pattern for one.
fn exits_with_failure(text: &str) -> bool {
    text.match_indices("exit ").any(|(at, call)| {
        let code = text.get(at + call.len()..).unwrap_or("");
        code.starts_with(|c: char| matches!(c, '1'..='9' | '[' | '\\' | '.'))
    })
}

/// `set` with a cluster of letters that has an `e` in it.
fn stops_at_failure(text: &str) -> bool {
    text.split("set -").skip(1).any(|flags| flags.chars().take_while(char::is_ascii_alphabetic).any(|flag| flag == 'e'))
}

/// Whether an expression has a step of a service fail without anybody heeding it.
fn lets_fail(expression: &str) -> bool {
    let tight: String = expression.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
    ["continue-on-error", "continueOnError", "allow_failure"].iter().any(|key| {
        tight.match_indices(key).any(|(at, _)| {
            let rest = tight.get(at + key.len()..).unwrap_or("");
            rest.trim_start_matches([':', '=', ']', '|']).starts_with("true")
        })
    })
}

/// The lines that a patch adds, by the files that it adds them to (diff(1), "Unified format").
fn added(patch: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for line in patch.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            let name = name.split('\t').next().unwrap_or(name);
            out.push((name.strip_prefix("b/").unwrap_or(name).to_owned(), String::new()));
        } else if let (Some(text), Some((_, lines))) = (line.strip_prefix('+'), out.last_mut()) {
            lines.push_str(text);
            lines.push('\n');
        }
        if !has_room(out.len(), MAX_TEXTS) {
            break;
        }
    }
    out
}

/// Whether a word may name a file.
fn is_name(word: &Word) -> bool {
    word.constant().is_some_and(|text| {
        !text.starts_with('-') && text.contains(|c: char| c.is_alphanumeric()) && !text.contains([' ', '\n', '"', '|'])
    })
}

/// The texts that a program of this name puts in the place of others.
fn placed(base: &str, words: &[String], stdin: &Stream) -> Vec<String> {
    let mut out: Vec<String> = match base {
        "sed" | "gsed" | "ssed" => words.iter().flat_map(|word| sed::placed(word)).collect(),
        "perl" | "ruby" => words.iter().flat_map(|word| replacements(word)).collect(),
        "jq" | "gojq" | "jaq" | "yq" | "dasel" => {
            let given = words.windows(3).filter(|three| three.first().is_some_and(|flag| flag.starts_with("--arg")));
            let given = given.filter_map(|three| three.get(2).cloned());
            // `dasel put -v VALUE`
            let values = words
                .windows(2)
                .filter(|pair| base == "dasel" && matches!(pair.first().map(String::as_str), Some("-v" | "--value")));
            let values = values.filter_map(|pair| pair.get(1).cloned());
            given.chain(values).chain(words.iter().flat_map(|word| strings(word))).collect()
        }
        "awk" | "gawk" if words.iter().any(|word| word == "inplace") => {
            words.iter().flat_map(|word| quoted(word)).collect()
        }
        "sd" | "rpl" => words.iter().skip(1).cloned().collect(),
        "ed" | "ex" | "vi" | "vim" | "nvim" => {
            let texts = words.iter().map(String::as_str).chain(stdin.known());
            texts.flat_map(|text| replacements(text).into_iter().chain(text.lines().map(str::to_owned))).collect()
        }
        _ => Vec::new(),
    };
    out.retain(|text| !text.trim().is_empty());
    out.into_iter().at_most(4 * MAX_TEXTS).collect()
}

/// The replacements of `s`, as they stand afterwards.
fn replacements(text: &str) -> Vec<String> {
    substitutions(text).into_iter().map(|(_, replacement)| sed::unescaped(&replacement, false)).collect()
}

/// What `s` looks for with whatever mark, wherever it stands in a text, and what it puts there.
fn substitutions(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('s')).map(|at| from + at) {
        from = at + 1;
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let Some(mark) = text.get(at + 1..).and_then(|rest| rest.chars().next()) else { break };
        let begins = !before.is_some_and(|c| c.is_alphabetic() || matches!(c, '\\' | '.' | '_' | '$' | '-'));
        if !begins
            || !matches!(mark, '/' | '#' | '|' | '!' | '@' | ',' | '~' | '%' | '{')
            || !has_room(out.len(), MAX_TEXTS)
        {
            continue;
        }
        let body = text.get(at + 1 + mark.len_utf8()..).unwrap_or("");
        let found = if mark == '{' {
            sed::past(body, '}')
                .and_then(|(from, tail)| Some((from, sed::past(tail.trim_start().strip_prefix('{')?, '}')?)))
        } else {
            sed::past(body, mark).and_then(|(from, tail)| Some((from, sed::past(tail, mark)?)))
        };
        if let Some((looked_for, (replacement, tail))) = found {
            out.push((looked_for.to_owned(), replacement.to_owned()));
            from = text.len() - tail.len();
        }
    }
    out
}

/// The strings of a filter for JSON or YAML that are given to something: after `=`, `:`, `,`, `[` and `+`, and not after a comparison.
fn strings(filter: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = filter;
    let mut before = String::new();
    while let Some((head, tail)) = rest.split_once('"') {
        before.push_str(head);
        let Some((text, after)) = sed::past(tail, '"') else { break };
        let tight: String = before.chars().filter(|c| !c.is_whitespace()).collect();
        let compares = tight.ends_with("==") || tight.ends_with("!=") || tight.ends_with("(=");
        if tight.ends_with(['=', ':', ',', '[', '+']) && !compares && has_room(out.len(), MAX_TEXTS) {
            let text = sed::unescaped(text, false);
            // The script of a package that runs its tests, as it stands there.
            if tight.ends_with("scripts.test=") || tight.ends_with("scripts.test|=") {
                out.push(format!("\"test\": \"{text}\""));
            }
            out.push(text);
        }
        before.clear();
        rest = after;
    }
    out
}

/// All strings of a script.
fn quoted(script: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = script;
    while let Some((text, after)) = rest.split_once('"').and_then(|(_, tail)| sed::past(tail, '"')) {
        out.push(sed::unescaped(text, false));
        rest = after;
        if !has_room(out.len(), MAX_TEXTS) {
            break;
        }
    }
    out
}

/// The parts of a text that may be a command line: its lines without what a file puts before one, and what stands between quotes.
fn pieces(text: &str) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    for line in text.lines() {
        let mut bare = line.trim();
        for before in BEFORE {
            bare = bare.strip_prefix(before).unwrap_or(bare).trim_start();
        }
        let pieces =
            line.split('"').chain(line.split('\'')).chain([bare]).chain(bare.split_once(": ").map(|(_, to)| to));
        for piece in pieces.map(str::trim).filter(|piece| may_be_grave(piece)) {
            if !out.contains(&piece) && has_room(out.len(), MAX_TEXTS) {
                out.push(piece);
            }
        }
    }
    out
}

/// Whether a text holds what a grave line cannot be without.
fn may_be_grave(text: &str) -> bool {
    ["${{", "|", "$(", "`", "/dev/tcp", ";", "&&", "<(", "rm -"].iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::{pieces, replacements, strings};

    #[test]
    fn what_is_put_in_the_place_of_something_is_read() {
        assert_eq!(replacements("%s#a#curl x \\| sh#g | x"), ["curl x | sh"]);
        assert_eq!(replacements("s{a}{b; c}"), ["b; c"]);
        assert!(replacements("/curls | sh/d").is_empty());
        assert_eq!(strings(".a = \"x | y\" | select(.b == \"p | q\")"), ["x | y"]);
        assert_eq!(pieces("\"test\": \"a | b\","), ["a | b", "\"test\": \"a | b\",", "\"a | b\","]);
    }
}
