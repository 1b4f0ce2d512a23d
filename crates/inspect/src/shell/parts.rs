//! What expansions of parameters have in common: names, lists, and the parts of words that are not known.

use brush_parser::word::{Parameter, ParameterExpr, SpecialParameter};

use crate::machine::{Part, Word};

/// Some elements of a list, where it is known which.
pub(super) fn slice(
    parameter: &Parameter,
    mut words: Vec<Word>,
    offset: Option<i64>,
    length: Option<i64>,
) -> Vec<Word> {
    // The first of the positional parameters is number one; number zero is the shell's own name.
    let first = i64::from(matches!(parameter, Parameter::Special(_)));
    let count = i64::try_from(words.len()).unwrap_or(i64::MAX);
    let known = words.iter().all(|word| !word.is_many() && !word.is_pattern());
    let start =
        offset.map(|offset| if offset < 0 { count + offset } else { offset - first }).filter(|start| *start >= 0);
    let (true, Some(start), None | Some(0..)) = (known, start, length) else { return vec![Word::holes("slice")] };
    let kept = length.unwrap_or(count);
    words.drain(..usize::try_from(start.min(count)).unwrap_or(0));
    words.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
    words
}

/// Whether an expansion makes one word of a list, where it is quoted.
pub(super) fn is_joined(expr: &ParameterExpr) -> bool {
    let whole = |parameter: &Parameter| {
        matches!(
            parameter,
            Parameter::NamedWithAllIndices { concatenate: true, .. }
                | Parameter::Special(SpecialParameter::AllPositionalParameters { concatenate: true })
        )
    };
    if let ParameterExpr::Parameter { parameter, .. } = expr {
        return whole(parameter);
    }
    parts_of(&mut expr.clone()).is_some_and(|(parameter, _)| whole(parameter))
}

/// Whether a parameter is a list of words.
pub(super) fn is_several(parameter: &Parameter) -> bool {
    matches!(
        parameter,
        Parameter::NamedWithAllIndices { .. } | Parameter::Special(SpecialParameter::AllPositionalParameters { .. })
    )
}

/// A part of a word that is not known as a whole, which comes from where that does.
pub(super) fn part_of(word: &Word, name: &str) -> Word {
    let holes = word.parts().iter().filter(|part| matches!(part, Part::Hole { .. }));
    let mut out = Word::default();
    holes.for_each(|part| out.push(part.clone()));
    if out.is_empty() { Word::hole(name) } else { out }
}

/// Whether a text is the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the environment of a shell has a variable in any case.
pub(super) fn is_usual(name: &str) -> bool {
    const NAMES: &[&str] = &["HOME", "PATH", "PWD", "OLDPWD", "SHELL", "TMPDIR", "USER", "LOGNAME", "LANG", "TERM"];
    NAMES.contains(&name) || name.starts_with("LC_")
}

/// The parameter of an expansion, and whether it only names another one.
pub(super) fn parts_of(expr: &mut ParameterExpr) -> Option<(&mut Parameter, &mut bool)> {
    match expr {
        ParameterExpr::Parameter { parameter, indirect }
        | ParameterExpr::UseDefaultValues { parameter, indirect, .. }
        | ParameterExpr::AssignDefaultValues { parameter, indirect, .. }
        | ParameterExpr::IndicateErrorIfNullOrUnset { parameter, indirect, .. }
        | ParameterExpr::UseAlternativeValue { parameter, indirect, .. }
        | ParameterExpr::ParameterLength { parameter, indirect }
        | ParameterExpr::RemoveSmallestSuffixPattern { parameter, indirect, .. }
        | ParameterExpr::RemoveLargestSuffixPattern { parameter, indirect, .. }
        | ParameterExpr::RemoveSmallestPrefixPattern { parameter, indirect, .. }
        | ParameterExpr::RemoveLargestPrefixPattern { parameter, indirect, .. }
        | ParameterExpr::Substring { parameter, indirect, .. }
        | ParameterExpr::Transform { parameter, indirect, .. }
        | ParameterExpr::UppercaseFirstChar { parameter, indirect, .. }
        | ParameterExpr::UppercasePattern { parameter, indirect, .. }
        | ParameterExpr::LowercaseFirstChar { parameter, indirect, .. }
        | ParameterExpr::LowercasePattern { parameter, indirect, .. }
        | ParameterExpr::ReplaceSubstring { parameter, indirect, .. } => Some((parameter, indirect)),
        ParameterExpr::VariableNames { .. } | ParameterExpr::MemberKeys { .. } => None,
    }
}

/// A parameter's name, without the signs around it.
pub(super) fn name_of(parameter: &Parameter) -> String {
    parameter.to_string().trim_matches(['$', '{', '}']).to_owned()
}

/// Whether a pattern of characters is left out, which stands for any.
pub(super) fn is_any(pattern: &Option<String>) -> bool {
    pattern.as_deref().is_none_or(str::is_empty)
}

pub(super) fn capitalise(text: &str, change: fn(&char) -> char) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| std::iter::once(change(&first)).chain(chars).collect())
}
