//! Parameter expansion, as far as values are constant (Bash reference manual 3.5.3).

use brush_parser::word::{
    Parameter, ParameterExpr, ParameterTestType, ParameterTransformOp, SpecialParameter, SubstringMatchKind,
};
use countersign_plan::tool::Effect;

use super::matched::{self, Cut};
use super::parts::{capitalise, is_any, is_name, is_several, name_of, part_of, parts_of, slice};
use super::{ansi, pattern};
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Part, Variable, Word};

/// The most defaults that are kept.
const MAX_DEFAULTS: usize = 64;

/// Stands for the number of the shell's own process.
const PROCESS: &str = "31415";

impl Machine<'_> {
    /// The words that a parameter expansion yields: none where it is unset, several for `$@` and arrays.
    pub(crate) fn parameter(&mut self, expr: &ParameterExpr) -> Vec<Word> {
        match self.pointed_at(expr) {
            Ok(Some(expr)) => self.direct(&expr),
            Ok(None) => self.direct(expr),
            Err(hole) => vec![hole],
        }
    }

    /// `${!x…}` as the same of the parameter that `x` names, or what it yields where that is not known.
    fn pointed_at(&mut self, expr: &ParameterExpr) -> Result<Option<ParameterExpr>, Word> {
        if let ParameterExpr::Parameter { indirect: false, .. } = expr {
            return Ok(None);
        }
        let mut expr = expr.clone();
        let Some((parameter, indirect)) = parts_of(&mut expr).filter(|(_, indirect)| **indirect) else {
            return Ok(None);
        };
        let hole = Word::holes(format!("!{}", name_of(parameter)));
        let found = self.lookup(parameter);
        let [word] = found.as_slice() else { return Err(hole) };
        let Some(name) = word.constant().filter(|name| is_name(name)) else {
            self.judge_index(&word.shown());
            return Err(hole);
        };
        *parameter = Parameter::Named(name.to_owned());
        *indirect = false;
        Ok(Some(expr))
    }

    fn direct(&mut self, expr: &ParameterExpr) -> Vec<Word> {
        match expr {
            ParameterExpr::Parameter { parameter, .. } => self.lookup(parameter),
            ParameterExpr::UseDefaultValues { parameter, test_type, default_value, .. } => {
                self.default(parameter, test_type, default_value.as_deref(), false)
            }
            ParameterExpr::AssignDefaultValues { parameter, test_type, default_value, .. } => {
                self.default(parameter, test_type, default_value.as_deref(), true)
            }
            ParameterExpr::IndicateErrorIfNullOrUnset { parameter, error_message, .. } => {
                if let Some(message) = error_message {
                    self.single(message);
                }
                match self.lookup(parameter) {
                    found if found.is_empty() || found.iter().any(Word::has_hole) => {
                        vec![Word::hole(format!("{}:?", name_of(parameter)))]
                    }
                    found => found,
                }
            }
            ParameterExpr::UseAlternativeValue { parameter, test_type, alternative_value, .. } => {
                let alternative = alternative_value.as_deref().map_or_else(Word::default, |raw| self.single(raw));
                match self.is_set(parameter, test_type) {
                    Some(true) => vec![alternative],
                    Some(false) => Vec::new(),
                    // What comes in its place says nothing of it.
                    None => vec![Word::hole(format!("{}:+", name_of(parameter)))],
                }
            }
            ParameterExpr::ParameterLength { parameter, .. } => {
                let known = self.lookup(parameter);
                if is_several(parameter) {
                    let count = Self::count(&known).map(|n| Word::text(n.to_string()));
                    return vec![count.unwrap_or_else(|| Word::hole("length"))];
                }
                match known.first().and_then(Word::constant) {
                    Some(text) if known.len() == 1 => vec![Word::text(text.chars().count().to_string())],
                    Some(_) | None => vec![Word::hole("length")],
                }
            }
            ParameterExpr::RemoveSmallestSuffixPattern { parameter, pattern, .. } => {
                self.remove(parameter, pattern.as_deref(), Cut::SmallestSuffix)
            }
            ParameterExpr::RemoveLargestSuffixPattern { parameter, pattern, .. } => {
                self.remove(parameter, pattern.as_deref(), Cut::LargestSuffix)
            }
            ParameterExpr::RemoveSmallestPrefixPattern { parameter, pattern, .. } => {
                self.remove(parameter, pattern.as_deref(), Cut::SmallestPrefix)
            }
            ParameterExpr::RemoveLargestPrefixPattern { parameter, pattern, .. } => {
                self.remove(parameter, pattern.as_deref(), Cut::LargestPrefix)
            }
            ParameterExpr::Substring { parameter, offset, length, .. } => {
                let offset = self.arithmetic(&offset.value);
                let length = length.as_ref().map(|l| self.arithmetic(&l.value));
                self.substring(parameter, &offset, length.as_ref())
            }
            ParameterExpr::Transform { parameter, op, .. } => self.transform(parameter, op),
            ParameterExpr::UppercasePattern { parameter, pattern, .. } if is_any(pattern) => {
                self.spelled_anew(parameter, |text| text.to_uppercase())
            }
            ParameterExpr::LowercasePattern { parameter, pattern, .. } if is_any(pattern) => {
                self.spelled_anew(parameter, |text| text.to_lowercase())
            }
            ParameterExpr::UppercaseFirstChar { parameter, pattern, .. } if is_any(pattern) => {
                self.spelled_anew(parameter, |text| capitalise(text, char::to_ascii_uppercase))
            }
            ParameterExpr::LowercaseFirstChar { parameter, pattern, .. } if is_any(pattern) => {
                self.spelled_anew(parameter, |text| capitalise(text, char::to_ascii_lowercase))
            }
            ParameterExpr::ReplaceSubstring { parameter, pattern, replacement, match_kind, .. } => {
                self.replace(parameter, pattern, replacement.as_deref(), match_kind)
            }
            ParameterExpr::UppercasePattern { parameter, pattern, .. }
            | ParameterExpr::LowercasePattern { parameter, pattern, .. }
            | ParameterExpr::UppercaseFirstChar { parameter, pattern, .. }
            | ParameterExpr::LowercaseFirstChar { parameter, pattern, .. } => {
                self.single(pattern.as_deref().unwrap_or(""));
                vec![Word::hole(name_of(parameter))]
            }
            ParameterExpr::VariableNames { prefix, .. } => vec![Word::holes(prefix)],
            ParameterExpr::MemberKeys { variable_name, .. } => vec![Word::holes(variable_name)],
        }
    }

    /// The value of a variable as one word, where it is set and known to be.
    pub(crate) fn variable_word(&self, name: &str) -> Option<Word> {
        match self.scope.variable(name) {
            Some(Variable::Scalar(word)) => Some(word.clone()),
            Some(Variable::Array(words)) => Some(self.nth(words, 0, name).pop().unwrap_or_default()),
            Some(Variable::Unset) => None,
            Some(Variable::Unknown) => Some(Word::hole(name)),
            None => self.inherited(name),
        }
    }

    fn variable_words(&self, name: &str) -> Vec<Word> {
        self.variable_word(name).into_iter().collect()
    }

    /// A variable that the line itself does not set.
    fn inherited(&self, name: &str) -> Option<Word> {
        if let Some(value) = self.context.env.get(name) {
            return Some(Word::text(value.clone()));
        }
        match name {
            "HOME" => Some(Word::text(self.context.home.clone())),
            "PWD" => Some(match self.scope.folders() {
                Some([folder]) => Word::text(folder.clone()),
                Some(_) | None => Word::hole(name),
            }),
            "OLDPWD" => Some(match self.scope.previous() {
                Some([folder]) => Word::text(folder.clone()),
                Some(_) | None => Word::hole(name),
            }),
            "IFS" => Some(Word::text(" \t\n")),
            // Absolute paths and lists of them, whatever they are.
            "PATH" | "SHELL" | "BASH" | "TMPDIR" => {
                let mut word = Word::text("/");
                word.push(Part::Hole { name: name.to_owned(), many: false });
                Some(word)
            }
            "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "BASHPID" | "EPOCHSECONDS" | "HOSTNAME"
            | "HOSTTYPE" | "OSTYPE" | "BASH_VERSION" | "USER" | "LOGNAME" | "LANG" | "TERM" | "COLUMNS" | "LINES"
            | "REPLY" => Some(Word::hole(name)),
            _ if self.context.env_complete => None,
            _ => Some(Word::hole(name)),
        }
    }

    fn lookup(&mut self, parameter: &Parameter) -> Vec<Word> {
        match parameter {
            Parameter::Named(name) => self.variable_words(name),
            Parameter::Positional(n) => {
                let place = usize::try_from(*n).unwrap_or(usize::MAX);
                if place == 0 || self.scope.parameters_known {
                    self.nth(&self.scope.parameters, place, &n.to_string())
                } else {
                    vec![Word::hole(n.to_string())]
                }
            }
            Parameter::Special(SpecialParameter::AllPositionalParameters { .. }) => self.all_parameters(),
            Parameter::Special(SpecialParameter::ShellName) => {
                vec![self.scope.parameters.first().cloned().unwrap_or_default()]
            }
            // Some number that nobody chose, the same wherever it stands.
            Parameter::Special(SpecialParameter::ProcessId) => vec![Word::text(PROCESS)],
            Parameter::Special(special @ SpecialParameter::PositionalParameterCount) => {
                let count = Self::count(&self.scope.parameters).filter(|_| self.scope.parameters_known);
                vec![count.map_or_else(|| Word::hole(special.to_string()), |n| Word::text((n - 1).to_string()))]
            }
            Parameter::Special(
                special @ (SpecialParameter::LastExitStatus
                | SpecialParameter::CurrentOptionFlags
                | SpecialParameter::LastBackgroundProcessId),
            ) => vec![Word::hole(special.to_string())],
            Parameter::NamedWithIndex { name, index } => {
                let index = self.arithmetic(index).constant().and_then(|i| i.parse::<i64>().ok());
                match (self.scope.variable(name), index) {
                    (Some(Variable::Array(words)), Some(i)) => {
                        let from_end = |back: i64| {
                            Self::count(words).and_then(|n| n.checked_add_signed(isize::try_from(back).ok()?))
                        };
                        let i = usize::try_from(i).ok().or_else(|| from_end(i));
                        i.map_or_else(|| vec![Word::hole(name.clone())], |i| self.nth(words, i, name))
                    }
                    (Some(Variable::Scalar(word)), Some(0)) => vec![word.clone()],
                    _ => vec![Word::hole(name.clone())],
                }
            }
            Parameter::NamedWithAllIndices { name, .. } => match self.scope.variable(name) {
                Some(Variable::Array(words)) => words.clone(),
                Some(Variable::Scalar(word)) => vec![word.clone()],
                Some(Variable::Unset) => Vec::new(),
                Some(Variable::Unknown) | None => vec![Word::holes(name)],
            },
        }
    }

    fn is_set(&mut self, parameter: &Parameter, test: &ParameterTestType) -> Option<bool> {
        let found = self.lookup(parameter);
        if found.iter().any(Word::has_hole) {
            return None;
        }
        Some(match test {
            ParameterTestType::Unset => !found.is_empty(),
            ParameterTestType::UnsetOrNull => found.iter().any(|word| !word.is_empty()),
        })
    }

    fn default(
        &mut self,
        parameter: &Parameter,
        test: &ParameterTestType,
        default: Option<&str>,
        assign: bool,
    ) -> Vec<Word> {
        let set = self.is_set(parameter, test);
        if set == Some(true) {
            return self.lookup(parameter);
        }
        let value = default.map_or_else(Word::default, |raw| self.single(raw));
        // With a default that is something it is never empty.
        let mark = if value.is_empty() { "" } else { ":-" };
        let hole = format!("{}{mark}", name_of(parameter));
        if set.is_none() && !value.is_empty() && self.defaults.len() < MAX_DEFAULTS {
            self.defaults.insert(hole.clone(), value.clone());
        }
        let either = || Word::hole(hole);
        let value = if set == Some(false) { value } else { either() };
        if assign && let Parameter::Named(name) = parameter {
            self.assign_variable(name, Variable::Scalar(value.clone()));
        }
        vec![value]
    }

    /// What becomes of each constant word, and of each that stands for names of files.
    fn map(
        &mut self,
        parameter: &Parameter,
        change: impl Fn(&str) -> String,
        of_names: impl Fn(&Word) -> Option<Word>,
    ) -> Vec<Word> {
        let name = name_of(parameter);
        self.lookup(parameter)
            .iter()
            .map(|word| match word.constant() {
                Some(text) => Word::text(change(text)),
                None if word.is_pattern() && !word.has_hole() => {
                    of_names(word).unwrap_or_else(|| Word::hole(name.clone()))
                }
                None => part_of(word, &name),
            })
            .collect()
    }

    /// The same letters, large or small.
    fn spelled_anew(&mut self, parameter: &Parameter, change: impl Fn(&str) -> String) -> Vec<Word> {
        self.map(parameter, &change, |word| Some(matched::changed(word, &change)))
    }

    fn remove(&mut self, parameter: &Parameter, raw: Option<&str>, cut: Cut) -> Vec<Word> {
        let Some(pattern) = raw.map_or_else(|| Some(String::new()), |raw| self.single_pattern(raw)) else {
            return self.hole_of(parameter);
        };
        self.map(parameter, |text| cut.of(text, &pattern), |word| matched::cut(word, &pattern, cut))
    }

    /// A part of a parameter of which nothing is known; where it comes from is.
    fn hole_of(&mut self, parameter: &Parameter) -> Vec<Word> {
        let name = name_of(parameter);
        let found = self.lookup(parameter);
        vec![
            found
                .iter()
                .find(|word| word.has_hole())
                .map_or_else(|| Word::hole(name.as_str()), |word| part_of(word, &name)),
        ]
    }

    /// A pattern as written after quotes are removed, with glob characters kept; `None` where it is not known, or where quotes or the signs
    /// of extended patterns (Bash reference manual 3.5.8.1) make something else of it.
    fn single_pattern(&mut self, raw: &str) -> Option<String> {
        let pattern = self.single(raw).known()?;
        let quoted = raw.contains(['\\', '\'', '"']) && pattern.contains(['*', '?', '[']);
        let extended = ["?(", "*(", "+(", "@(", "!("].iter().any(|sign| pattern.contains(sign));
        (!quoted && !extended).then_some(pattern)
    }

    fn replace(
        &mut self,
        parameter: &Parameter,
        pattern: &str,
        replacement: Option<&str>,
        kind: &SubstringMatchKind,
    ) -> Vec<Word> {
        let pattern = self.single_pattern(pattern);
        let replacement = replacement.map_or_else(Word::default, |raw| self.single(raw));
        match (pattern, replacement.constant()) {
            (Some(pattern), Some(new)) if !pattern.is_empty() => {
                let new = new.to_owned();
                if pattern.contains(['*', '?', '[']) {
                    return self.map_known(parameter, |text| pattern::replace(text, &pattern, &new, kind));
                }
                let of_names = |word: &Word| matched::replaced(word, &pattern, &new);
                let change = |text: &str| match kind {
                    SubstringMatchKind::Anywhere => text.replace(&pattern, &new),
                    SubstringMatchKind::FirstOccurrence => text.replacen(&pattern, &new, 1),
                    SubstringMatchKind::Prefix => {
                        text.strip_prefix(&pattern).map_or_else(|| text.to_owned(), |rest| format!("{new}{rest}"))
                    }
                    SubstringMatchKind::Suffix => {
                        text.strip_suffix(&pattern).map_or_else(|| text.to_owned(), |head| format!("{head}{new}"))
                    }
                };
                self.map(parameter, change, of_names)
            }
            _ => self.hole_of(parameter),
        }
    }

    fn map_known(&mut self, parameter: &Parameter, change: impl Fn(&str) -> Option<String>) -> Vec<Word> {
        self.lookup(parameter)
            .iter()
            .map(|word| {
                word.constant().and_then(&change).map_or_else(|| part_of(word, &name_of(parameter)), Word::text)
            })
            .collect()
    }

    fn substring(&mut self, parameter: &Parameter, offset: &Word, length: Option<&Word>) -> Vec<Word> {
        let number = |word: &Word| word.constant().and_then(|n| n.parse::<i64>().ok());
        let (offset, length) = (number(offset), length.map(number));
        let words = self.lookup(parameter);
        if is_several(parameter) {
            return slice(parameter, words, offset.filter(|_| length != Some(None)), length.flatten());
        }
        let [word] = words.as_slice() else { return if words.is_empty() { words } else { vec![Word::holes("slice")] } };
        // A part of the name of a file that is there leads nowhere else.
        let hole = || match matched::part_of(word, "").filter(|_| word.is_pattern() && !word.has_hole()) {
            Some(part) => vec![part],
            None => vec![part_of(word, &name_of(parameter))],
        };
        let Some(start) = offset else { return hole() };
        // The beginning of a word may be known where its end is not.
        let known = word.constant().map_or_else(|| word.prefix(), str::to_owned);
        let whole = word.constant().is_some();
        let chars: Vec<char> = known.chars().collect();
        let count = i64::try_from(chars.len()).unwrap_or(i64::MAX);
        let start = if start < 0 && whole { count + start } else { start };
        let end = match length {
            Some(Some(n)) if n >= 0 => start.saturating_add(n),
            Some(Some(n)) if whole => count + n,
            None if whole => count,
            Some(_) | None => return hole(),
        };
        if start < 0 || (end > count && !whole) {
            return hole();
        }
        let (from, to) = (usize::try_from(start).unwrap_or(0), usize::try_from(end.clamp(0, count)).unwrap_or(0));
        vec![Word::text(chars.iter().take(to).skip(from).collect::<String>())]
    }

    fn transform(&mut self, parameter: &Parameter, op: &ParameterTransformOp) -> Vec<Word> {
        match op {
            ParameterTransformOp::ToUpperCase => self.spelled_anew(parameter, str::to_uppercase),
            ParameterTransformOp::ToLowerCase => self.spelled_anew(parameter, str::to_lowercase),
            ParameterTransformOp::CapitalizeInitial => {
                self.spelled_anew(parameter, |text| capitalise(text, char::to_ascii_uppercase))
            }
            ParameterTransformOp::ExpandEscapeSequences => {
                self.map(parameter, |text| ansi::escapes(text, false), |_| None)
            }
            ParameterTransformOp::PromptExpand => {
                self.unknown(
                    UnknownKind::Code,
                    Effect::Execute,
                    format!("`{parameter}` is expanded as a prompt, which runs commands"),
                );
                vec![Word::hole(name_of(parameter))]
            }
            ParameterTransformOp::Quoted
            | ParameterTransformOp::PossiblyQuoteWithArraysExpanded { .. }
            | ParameterTransformOp::ToAssignmentLogic
            | ParameterTransformOp::ToAttributeFlags => vec![Word::hole(name_of(parameter))],
        }
    }
}
