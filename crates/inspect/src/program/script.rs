//! Code that a program is given: as an argument, in a file, or on standard input.

use std::collections::BTreeSet;

use countersign_plan::inspection::Flow;
use countersign_plan::tool::{Effect, TargetKind};

use crate::code::Language;
use crate::inspection::{Build as _, FindingKind, UnknownKind};
use crate::machine::{Machine, Part, Stream, Word};

impl Machine<'_> {
    /// Code as an argument.
    pub(crate) fn code_word(&mut self, language: Language, word: &Word, stdin: &Stream) {
        if language == Language::Shell {
            self.shell_text(word, stdin);
            return;
        }
        match word.constant().map(str::to_owned) {
            Some(text) => {
                self.judge_text(&text);
                self.judge_documents(&text);
                let text = self.with_arguments(language, &text);
                let since = self.out.touches.len();
                self.code(language, &text);
                self.hands_on(&text, stdin, since);
            }
            None => {
                let origin = self.origin_of(word);
                self.judge_input(&origin);
                let message = format!("the {} code of `{}` is not constant", language.name(), self.by);
                self.unknown(UnknownKind::Value, Effect::Execute, message);
                self.known_part(language, word, &origin);
            }
        }
    }

    /// Code with a name in each place that is not known: what is put there goes to whom the rest talks to.
    fn known_part(&mut self, language: Language, word: &Word, origin: &Stream) {
        let text: String = word
            .parts()
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Glob(c) => c.to_string(),
                Part::Hole { .. } => "COUNTERSIGN_UNKNOWN".to_owned(),
            })
            .collect();
        let before = self.out.touches.len();
        self.code(language, &text);
        let new = self.out.touches.get(before..).unwrap_or_default();
        let hosts: BTreeSet<String> =
            new.iter().filter(|touch| touch.kind == TargetKind::Host).map(|touch| touch.name.clone()).collect();
        for to in hosts {
            for from in &origin.sources {
                self.out.flow(Flow { from: from.clone(), to: to.clone() });
            }
        }
    }

    /// What a file in a temporary folder holds that the line itself wrote, where all of it is known: what it does is read, and no
    /// file of anybody else's is run.
    pub(super) fn scratch(&self, file: &Word) -> Option<String> {
        let written = self.put_at(file).filter(|written| !written.remote && !written.decoded)?;
        let paths = self.paths(file);
        let temporary = |path: &String| ["/tmp/", "/var/tmp/"].iter().any(|folder| path.starts_with(folder));
        let own = |path: &String| temporary(path) || self.files.contains_key(path);
        written.text.filter(|_| paths.iter().any(temporary) && paths.iter().all(own))
    }

    /// A file with code, and its arguments.
    pub(crate) fn script_file(&mut self, language: Language, command: &[Word], stdin: &Stream) -> Stream {
        let Some((file, rest)) = command.split_first() else { return self.input_code(language, stdin) };
        if matches!(file.constant(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) {
            return self.input_code(language, stdin);
        }
        if file.shown().contains("://") {
            self.touch_host(file);
            let remote = Stream { remote: true, ..Stream::unknown() };
            return self.run_written(&remote, &file.shown(), rest, stdin);
        }
        // No script is called so: an option before it was read in another way than its interpreter reads it.
        if file.shown().contains(['(', '{', ';', '"', '\'', '\n'])
            && !self.paths(file).iter().any(|path| self.files.contains_key(path))
        {
            self.unknown(UnknownKind::Code, Effect::Execute, format!("`{}` is no name of a script", file.shown()));
            if language != Language::Shell {
                let text = file.shown();
                self.code(language, &text);
            }
        }
        if self.scratch(file).is_none() {
            self.touch_path(Effect::Execute, file, false);
        }
        self.sources_beside(file);
        self.judge_deployment(&file.shown());
        self.judge_tasks(file.shown().rsplit('/').next().unwrap_or(""), rest);
        self.judge_live(file.shown().rsplit('/').next().unwrap_or(""), rest);
        if file.shown().ends_with("manage.py") {
            // It loads the project, and a shell of its own takes code (Django, "django-admin and manage.py").
            let folder = self.paths(&Word::text(".")).into_iter().next().unwrap_or_default();
            self.runs_written(&|path: &str| crate::path::is_below(path, &folder));
            let shell = rest.first().and_then(Word::constant).is_some_and(|task| task.starts_with("shell"));
            if let Some(code) = stdin.text.clone().filter(|_| shell) {
                self.runs_among_records("manage.py", &["-c".to_owned(), code]);
            }
        }
        let paths = self.paths(file);
        let path = paths.first().cloned().unwrap_or_default();
        let Some(content) = self.put_at(file) else {
            paths.iter().for_each(|path| self.judge_seen(language, path));
            // `php vendor/bin/phpunit`: a program of the project's under its own name.
            if path.contains("/vendor/bin/")
                && let Some(out) = self.of_project(&path, rest, stdin)
            {
                return out;
            }
            return Stream { sources: stdin.sources.clone(), ..Stream::unknown() };
        };
        if language == Language::Shell {
            return self.run_written(&content, &path, rest, stdin);
        }
        self.judge_input(&content);
        match content.text {
            Some(text) => self.code(language, &text),
            None => self.unknown(
                UnknownKind::Code,
                Effect::Execute,
                format!("what {path} holds when it is run is not known"),
            ),
        }
        Stream::unknown()
    }

    /// Code on standard input.
    pub(crate) fn input_code(&mut self, language: Language, stdin: &Stream) -> Stream {
        if stdin.text.as_deref() == Some("") {
            return Stream::unknown();
        }
        self.judge_input(stdin);
        match stdin.text.clone() {
            Some(text) if language == Language::Shell => self.script(&text, &Stream::empty()),
            Some(text) => {
                let text = self.with_arguments(language, &text);
                self.code(language, &text);
                Stream::unknown()
            }
            None => {
                if language == Language::Shell {
                    for text in stdin.known() {
                        self.absorb_grave(crate::shell::shell(text, self.context));
                    }
                }
                let from: Vec<&str> = stdin.sources.iter().map(String::as_str).collect();
                let from = if from.is_empty() { "its input".to_owned() } else { from.join(", ") };
                self.unknown(
                    UnknownKind::Code,
                    Effect::Execute,
                    format!("`{}` runs {from}, which is not visible here", self.by),
                );
                Stream::unknown()
            }
        }
    }

    /// Statements as an argument.
    pub(crate) fn sql_word(&mut self, word: &Word) {
        match word.constant().map(str::to_owned) {
            Some(text) => self.statements(&text),
            None if self.queries_of_project(word) => {}
            None => {
                let shown = word.shown();
                let made = self.ends_databases && matches!(shown.as_str(), "${stdin}" | "${line}");
                if made {
                    let message =
                        format!("`{}` runs the statements that end each database which a query finds", self.by);
                    self.find(FindingKind::DestroysDatabase, message);
                }
                // Whichever it is; in a loop each of them.
                if ["drop database", "drop schema"].iter().any(|text| shown.to_ascii_lowercase().contains(text)) {
                    let message = format!("`{}` drops each database that it is given", self.by);
                    self.find(FindingKind::DestroysDatabase, message);
                    self.touch_other(Effect::Delete, countersign_plan::tool::TargetKind::Database, shown.as_str());
                }
                self.unknown(UnknownKind::Value, Effect::Admin, format!("the statement `{shown}` is not constant"));
            }
        }
    }

    /// Statements on standard input.
    pub(crate) fn input_sql(&mut self, stdin: &Stream) {
        match stdin.text.clone() {
            Some(text) if text.is_empty() => {}
            Some(text) => self.statements(&text),
            None if self.runs_statements_of_project(stdin) => {}
            None => {
                if self.ends_databases {
                    let message =
                        format!("`{}` runs the statements that end each database which a query finds", self.by);
                    self.find(FindingKind::DestroysDatabase, message);
                }
                let message = format!("`{}` runs statements that are not visible here", self.by);
                self.unknown(UnknownKind::Code, Effect::Admin, message);
            }
        }
    }
}
