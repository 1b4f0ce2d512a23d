//! Builtins that declare variables and functions, or take them away: `declare` and its kin, `unset` (Bash reference manual 4.2), and the
//! words of a shell's own (`set`, `shift`, `trap`).

use std::rc::Rc;

use countersign_plan::tool::Effect;

use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Variable, Word};

/// Letters of `declare` that a name keeps.
const ATTRIBUTES: &[char] = &['x', 'r', 'l', 'u', 'c', 'i'];

/// The letters of the options that begin with a sign.
fn letters(rest: &[Word], sign: char) -> String {
    let options = rest.iter().filter_map(Word::constant).take_while(|text| *text != "--");
    options.filter_map(|text| text.strip_prefix(sign)).collect()
}

/// The variable of an element.
fn base(name: &str) -> &str {
    name.split_once('[').map_or(name, |(base, _)| base)
}

impl Machine<'_> {
    pub(super) fn declare(&mut self, by: &str, rest: &[Word]) -> Stream {
        let prints = rest.is_empty() || rest.iter().all(|w| w.constant().is_some_and(|t| t.starts_with('-')));
        if prints && (rest.is_empty() || rest.iter().any(|w| w.constant() == Some("-p") || w.constant() == Some("-x")))
        {
            self.find(FindingKind::EnvironmentDump, format!("`{by}` lists every variable"));
            return Stream { sources: std::iter::once("env".to_owned()).collect(), ..Stream::unknown() };
        }
        let (mut on, mut off) = (letters(rest, '-'), letters(rest, '+'));
        let references = by != "export" && on.contains('n');
        if references {
            self.unknown(UnknownKind::Value, Effect::Execute, "a variable that stands for another one is not followed");
        }
        match by {
            "export" if on.contains('n') => off.push('x'),
            "export" => on.push('x'),
            "readonly" => on.push('r'),
            _ => {}
        }
        let functions = on.contains(['f', 'F']);
        for word in rest.iter().filter(|word| !word.prefix().starts_with(['-', '+'])) {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.known(), Some(value)),
                None => (word.known(), None),
            };
            let Some(name) = name else {
                // It may be the name of any variable.
                self.scope.forget();
                continue;
            };
            let append = name.ends_with('+') && value.is_some();
            let name = name.trim_end_matches('+');
            if functions {
                self.scope.mark(&format!("{name}()"), 'x', on.contains('x'));
                continue;
            }
            self.owns(by, rest, name);
            let before = |letter: &&char| matches!(letter, 'l' | 'u' | 'c' | 'i');
            for letter in ATTRIBUTES.iter().filter(before) {
                self.attribute(name, *letter, &on, &off);
            }
            if let Some(value) = value {
                if on.contains('i') {
                    self.arithmetic(&value.shown());
                }
                let value = if references { Variable::Unknown } else { self.given(name, value, append) };
                self.assign_variable(name, value);
            }
            for letter in ATTRIBUTES.iter().filter(|letter| !before(letter)) {
                self.attribute(name, *letter, &on, &off);
            }
        }
        Stream::empty()
    }

    fn attribute(&mut self, name: &str, letter: char, on: &str, off: &str) {
        if on.contains(letter) || off.contains(letter) {
            self.scope.mark(base(name), letter, on.contains(letter));
        }
    }

    /// What a builtin with these options declares in a function is the function's own.
    pub(crate) fn owns(&mut self, by: &str, options: &[Word], name: &str) {
        if matches!(by, "local" | "declare" | "typeset") && !letters(options, '-').contains('g') && self.is_called() {
            self.scope.localise(base(name));
        }
    }

    pub(super) fn unset(&mut self, rest: &[Word]) -> Stream {
        let flags = letters(rest, '-');
        for word in rest.iter().filter(|word| !word.prefix().starts_with('-')) {
            let Some(name) = word.known() else {
                self.scope.forget();
                continue;
            };
            if name == "HISTFILE" {
                self.find(FindingKind::ErasesRecord, "what is typed is not recorded any more");
            }
            if !flags.contains('f') {
                self.judge_index(&name);
                let element = base(&name) != name;
                let value = if element { Variable::any_array(base(&name)) } else { Variable::Unset };
                self.scope.set(base(&name), value);
            }
            // Without an option it is the function only where there is no such variable.
            if !flags.contains('v') {
                self.scope.undefine(&name, !flags.contains('f'));
            }
        }
        Stream::empty()
    }

    pub(super) fn set(&mut self, rest: &[Word]) -> Stream {
        let mut words = rest.iter();
        let mut options = true;
        let mut parameters = Vec::new();
        let mut any = false;
        while let Some(word) = words.next() {
            match word.constant() {
                Some("--") if options => {
                    options = false;
                    any = true;
                }
                // `-euo pipefail`: an `o` among the letters takes a name (bash(1), "set").
                Some(text) if options && text.starts_with(['-', '+']) => {
                    let on = text.starts_with('-');
                    let named = if text.contains('o') { words.next().and_then(Word::constant) } else { None };
                    if text.contains('e') || named == Some("errexit") {
                        self.scope.errexit = on;
                    }
                    if text.contains('a') || named == Some("allexport") {
                        self.scope.allexport = on;
                    }
                    if !on && named == Some("history") {
                        self.find(FindingKind::ErasesRecord, "what is typed is not recorded any more");
                    }
                }
                text => {
                    // What is not known may be an option.
                    self.scope.errexit &= !(options && text.is_none());
                    options = false;
                    any = true;
                    parameters.push(word.clone());
                }
            }
        }
        if rest.is_empty() {
            self.find(FindingKind::EnvironmentDump, "`set` lists every variable");
            return Stream { sources: std::iter::once("env".to_owned()).collect(), ..Stream::unknown() };
        }
        if any {
            self.scope.parameters_known = true;
            let zero = self.scope.parameters.iter().take(1).cloned();
            self.scope.parameters = Rc::new(zero.chain(parameters).collect());
        }
        Stream::empty()
    }

    /// More than there are shifts nothing (Bash reference manual 4.1); past what may be several words nothing is known to be gone.
    pub(super) fn shift(&mut self, rest: &[Word]) -> Stream {
        let n = match rest.first() {
            None => Some(1),
            Some(word) => word.constant().and_then(|n| n.parse::<usize>().ok()),
        };
        let parameters = Rc::make_mut(&mut self.scope.parameters);
        match n {
            Some(n) if self.scope.parameters_known => {
                let several = |word: &Word| word.is_many() || word.is_pattern();
                let fixed = parameters.iter().skip(1).take_while(|word| !several(word)).count();
                let all = fixed + 1 >= parameters.len();
                if n <= fixed || !all {
                    parameters.drain(1..=n.min(fixed));
                }
            }
            Some(_) | None => {
                parameters.truncate(1);
                self.scope.parameters_known = false;
            }
        }
        Stream::empty()
    }

    pub(super) fn trap(&mut self, rest: &[Word]) -> Stream {
        if let Some(action) = rest.iter().find(|word| !matches!(word.constant(), Some("--" | "-l" | "-p")))
            && rest.len() > 1
            && !matches!(action.constant(), Some("-" | ""))
        {
            let exit = |word: &Word| matches!(word.constant(), Some("EXIT" | "0"));
            self.set_trap(action, rest.iter().skip(1).all(exit));
        }
        Stream::empty()
    }

    pub(super) fn test_builtin(&mut self, rest: &[Word]) -> Stream {
        for word in rest {
            self.judge_index(&word.shown());
        }
        Stream::empty()
    }

    /// `compgen` and `complete` run a command, or expand words (Bash reference manual 8.7).
    pub(super) fn completes(&mut self, rest: &[Word]) -> Stream {
        for pair in rest.windows(2) {
            let [option, value] = pair else { continue };
            match option.constant() {
                Some("-C") => drop(self.shell_text(value, &Stream::unknown())),
                Some("-W") if value.has_hole() || value.shown().contains(['$', '`']) => {
                    let message = format!("the words `{}` are expanded", value.shown());
                    self.unknown(UnknownKind::Code, Effect::Execute, message);
                }
                _ => {}
            }
        }
        let attached = rest.iter().any(|word| {
            let text = word.shown();
            (text.starts_with("-C") || text.starts_with("-W")) && text.len() > 2
        });
        if attached {
            self.unknown(UnknownKind::Code, Effect::Execute, "what a completion runs is not followed");
        }
        Stream::unknown()
    }

    /// `hash -p FILE NAME`: the name stands for that file from then on (Bash reference manual 4.1).
    pub(super) fn remembers(&mut self, rest: &[Word]) -> Stream {
        if let [option, file, ..] = rest
            && option.prefix().starts_with("-p")
        {
            self.touch_path(Effect::Execute, file, false);
            self.unknown(UnknownKind::Code, Effect::Execute, "a name is made to stand for another program");
        }
        Stream::unknown()
    }
}
