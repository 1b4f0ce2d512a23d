//! What a program is handed to run: the command behind a wrapper, a shell line as an argument or on its input, a line in a container.

use countersign_plan::tool::{Effect, TargetKind};

use crate::catalogue::Role;
use crate::inspection::{Build as _, FindingKind, UnknownKind};
use crate::machine::{Machine, Part, Stream, Variable, Word};

/// What of this machine is mounted where, as far as both are constant: `/a:/b`, `type=bind,source=/a,target=/b`.
pub(super) fn mounts(values: &[(Role, Word)]) -> Vec<(String, String)> {
    let of = |word: &Word| {
        let text = word.shown();
        let field = |names: &[&str]| {
            text.split(',')
                .filter_map(|field| field.split_once('='))
                .find(|(name, _)| names.contains(name))
                .map(|(_, value)| value.to_owned())
        };
        if text.contains("type=") {
            return field(&["source", "src"]).zip(field(&["target", "dst", "destination"]));
        }
        let mut parts = text.split(':');
        parts.next().zip(parts.next()).map(|(source, target)| (source.to_owned(), target.to_owned()))
    };
    let mounts = values.iter().filter(|(role, _)| *role == Role::Volume).filter_map(|(_, word)| of(word));
    mounts.filter(|(source, target)| source.starts_with('/') && target.starts_with('/')).collect()
}

impl Machine<'_> {
    /// The program that a wrapper starts.
    pub(crate) fn wrapped(&mut self, command: &[Word], assignments: bool, stdin: &Stream) -> Stream {
        let mut rest = command;
        while let (true, Some((first, more))) = (assignments, rest.split_first()) {
            let Some((name, value)) = first.split_once('=') else { break };
            let name = name.shown();
            if name.is_empty() || name.contains('/') {
                break;
            }
            self.assign_variable(&name, crate::machine::Variable::Scalar(value));
            self.scope.mark(&name, 'x', true);
            rest = more;
        }
        // `watch 'a | b'`: one word that is a line.
        if let [line] = rest
            && line.shown().contains(' ')
        {
            return self.shell_text(line, stdin);
        }
        self.start(rest.to_vec(), stdin.clone())
    }

    /// A command on another machine or in a container: its paths are not ours, but what it does counts. Whether it shows what is kept
    /// there as a secret.
    pub(super) fn elsewhere(&mut self, command: &[Word], mounts: &[(String, String)]) -> bool {
        let shown: Vec<String> = command.iter().map(Word::shown).collect();
        let what = format!("{} … {}", self.by, shown.join(" "));
        let constant: Option<Vec<String>> = command.iter().map(|word| word.constant().map(str::to_owned)).collect();
        let Some(words) = constant else {
            self.touch_other(Effect::Execute, TargetKind::Process, what);
            self.unknown(UnknownKind::Value, Effect::Execute, "what runs elsewhere shows only when the line runs");
            return false;
        };
        // Judged on its own: only what matters anywhere is taken over.
        let inner = match words.as_slice() {
            words if self.by == "adb" => super::device::on_device(words, self.context),
            [one] => crate::shell::shell(one, self.context),
            words if self.by == "ssh" => crate::shell::shell(&words.join(" "), self.context),
            words => crate::shell::argv(words, self.context),
        };
        let effect = if self.looks_at_device(&inner) { Effect::Read } else { Effect::Execute };
        self.touch_other(effect, TargetKind::Process, what);
        let line = if matches!(self.by.as_str(), "ssh" | "ansible") { words.join(" ") } else { String::new() };
        if !crate::shell::is_deep() && crate::path::speaks_of_startup(&line) {
            // A login begins in the home folder: what is read at start-up lies below it.
            let home = &self.context.home;
            let mut there = crate::shell::shell(&line, &crate::Context::new(home, home));
            there.findings.retain(|finding| finding.kind == FindingKind::Persistence);
            there.findings.into_iter().for_each(|finding| self.find(finding.kind, finding.message));
        }
        let tells = inner.found(FindingKind::EnvironmentDump) || inner.found(FindingKind::Secret);
        let fetches = inner.found(FindingKind::DownloadAndExecute);
        for finding in inner.findings {
            self.find(finding.kind, finding.message);
        }
        // Whose code it is that runs there says who sends it.
        for touch in inner.touches.iter().filter(|touch| fetches && touch.kind == TargetKind::Host) {
            self.out.touch(touch.clone());
        }
        // What is mounted there is ours.
        for touch in inner.touches.iter().filter(|touch| touch.kind == TargetKind::File) {
            let Some((source, target)) = mounts.iter().find(|(_, target)| {
                touch.name == *target || crate::path::is_below(&touch.name, target.trim_end_matches('/'))
            }) else {
                continue;
            };
            let below = touch.name.get(target.trim_end_matches('/').len()..).unwrap_or("");
            let ours = format!("{}{below}", source.trim_end_matches('/'));
            let word = Word::pattern(if ours.is_empty() { "/" } else { &ours });
            self.touch_path(touch.effect, &word, touch.recursive);
        }
        for flow in &inner.flows {
            let of_mount = mounts.iter().find_map(|(source, target)| {
                let target = target.trim_end_matches('/');
                crate::path::is_below(&flow.from, target)
                    .then(|| format!("{}{}", source.trim_end_matches('/'), flow.from.get(target.len()..).unwrap_or("")))
            });
            if let Some(from) = of_mount {
                self.touch_other(Effect::Send, TargetKind::Host, flow.to.clone());
                self.leaves(&from, &flow.to);
            }
        }
        for unknown in inner.unknowns {
            self.unknown(unknown.kind, unknown.effect, unknown.message);
        }
        // That a program is run there hides nothing of what else is done.
        let effects: std::collections::BTreeSet<Effect> = inner.touches.iter().map(|touch| touch.effect).collect();
        let gravest = effects.last().copied();
        let changes = |effect: &Effect| matches!(effect, Effect::Create | Effect::Update | Effect::Delete);
        for effect in effects.into_iter().filter(|effect| !effect.is_harmless()) {
            if Some(effect) == gravest || (gravest == Some(Effect::Execute) && changes(&effect)) {
                let what = format!("{} … {}", self.by, shown.join(" "));
                self.touch_named(effect, &what);
            }
        }
        tells
    }

    /// A shell line as an argument.
    pub(crate) fn shell_text(&mut self, word: &Word, stdin: &Stream) -> Stream {
        match word.known() {
            Some(text) => {
                self.judge_text(&text);
                self.script(&text, stdin)
            }
            None => {
                // What is known of it still counts: the holes become variables.
                let text = word.shown();
                let origin = self.origin_of(word);
                self.judge_input(&origin);
                if origin.remote && origin.sources.contains(super::grave::PIPE) {
                    self.find(
                        FindingKind::ReverseShell,
                        "what runs is told by another machine, which gets the answers",
                    );
                }
                if self.sockets && word.prefix().is_empty() {
                    self.find(FindingKind::ReverseShell, "what runs is told by another machine");
                }
                self.unknown(UnknownKind::Value, Effect::Execute, format!("the command `{text}` is not constant"));
                self.around_holes(word, stdin)
            }
        }
    }

    /// What a line does as far as it is known, with a variable in each place that is not.
    pub(super) fn around_holes(&mut self, word: &Word, stdin: &Stream) -> Stream {
        let mut text = String::new();
        let mut known = false;
        for (i, part) in word.parts().iter().enumerate() {
            match part {
                Part::Text(part) => {
                    known |= part.contains(char::is_alphabetic);
                    text.push_str(part);
                }
                Part::Glob(c) => text.push(*c),
                Part::Hole { name, .. } => {
                    let variable = format!("COUNTERSIGN_{i}");
                    self.scope.set(&variable, Variable::Scalar(Word::hole(name.as_str())));
                    self.scope.mark(&variable, 'x', true);
                    text.push_str(&format!("${{{variable}}}"));
                }
            }
        }
        if known { self.script(&text, stdin) } else { Stream::unknown() }
    }

    /// A text that is run and of which a part was decoded.
    pub(crate) fn judge_text(&mut self, text: &str) {
        if self.decoded.iter().any(|part| text.contains(part.as_str())) {
            self.find(FindingKind::DecodeAndExecute, format!("`{}` runs what was decoded", self.by));
        }
    }

    /// Whatever comes from the standard input and is run.
    pub(crate) fn judge_input(&mut self, stdin: &Stream) {
        if stdin.decoded {
            self.find(FindingKind::DecodeAndExecute, format!("`{}` runs what was decoded", self.by));
        }
        if stdin.remote {
            self.find(FindingKind::DownloadAndExecute, format!("`{}` runs what a host sends", self.by));
        }
    }
}
