//! Whether a loop's condition is settled beforehand (Bash reference manual 3.2.5, 6.4 and 6.5).

use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr, Pipeline,
};

/// A number of rounds that no ordinary loop has.
const LARGE: u64 = 1000;

/// What a condition always comes out as; `None` where that depends on anything.
pub(crate) fn constant(condition: &CompoundList) -> Option<bool> {
    let item = condition.0.last()?;
    if !item.0.additional.is_empty() || condition.0.len() > 1 {
        return None;
    }
    of_pipeline(&item.0.first)
}

/// The names that the one command of a condition reads a line into: `while IFS= read -r name || [ -n "$name" ]`.
pub(crate) fn names_read(condition: &CompoundList) -> Option<Vec<&str>> {
    let [item] = condition.0.as_slice() else { return None };
    let [Command::Simple(simple)] = item.0.first.seq.as_slice() else { return None };
    (simple.word_or_name.as_ref()?.value == "read").then_some(())?;
    let words = simple.suffix.iter().flat_map(|suffix| &suffix.0).filter_map(|item| match item {
        CommandPrefixOrSuffixItem::Word(word) => Some(word.value.as_str()),
        _ => None,
    });
    Some(words.filter(|word| super::parts::is_name(word)).collect())
}

/// Whether a condition asks for parameters that are left (`true`) or for none (`false`): `[ $# -gt 0 ]`, `(( $# ))`, `[ -n "$1" ]`.
pub(crate) fn counts_parameters(condition: &CompoundList) -> Option<bool> {
    let [item] = condition.0.as_slice() else { return None };
    let [only] = item.0.first.seq.as_slice() else { return None };
    if !item.0.additional.is_empty() || item.0.first.bang {
        return None;
    }
    let words: Vec<&str> = match only {
        Command::Simple(simple) if simple.prefix.is_none() => {
            let name = simple.word_or_name.as_ref()?.value.as_str();
            let mut words = Vec::new();
            for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
                let CommandPrefixOrSuffixItem::Word(word) = item else { return None };
                words.push(word.value.as_str());
            }
            match (name, words.as_slice()) {
                ("test", words) | ("[", [words @ .., "]"]) => words.to_vec(),
                _ => return None,
            }
        }
        Command::Compound(CompoundCommand::Arithmetic(command), _) => match command.expr.value.trim() {
            "$#" | "$# > 0" | "$#>0" | "$# != 0" | "# > 0" => return Some(true),
            _ => return None,
        },
        _ => return None,
    };
    match words.as_slice() {
        ["$#" | "\"$#\"", "-gt" | "-ne", "0"] | ["$#" | "\"$#\"", "-ge", "1"] => Some(true),
        ["-n", "\"$1\""] | ["\"$1\""] => Some(true),
        ["$#" | "\"$#\"", "-eq", "0"] | ["-z", "\"$1\""] => Some(false),
        _ => None,
    }
}

fn of_pipeline(pipeline: &Pipeline) -> Option<bool> {
    let [only] = pipeline.seq.as_slice() else { return None };
    let holds = match only {
        Command::Simple(simple) => {
            let mut words = vec![simple.word_or_name.as_ref()?.value.as_str()];
            for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
                match item {
                    CommandPrefixOrSuffixItem::Word(word) => words.push(&word.value),
                    _ => return None,
                }
            }
            of_words(&words)
        }
        Command::ExtendedTest(test, _) => match &test.expr {
            ExtendedTestExpr::UnaryTest(_, word) => literal(&word.value).map(|text| !text.is_empty()),
            _ => None,
        },
        Command::Compound(CompoundCommand::Arithmetic(command), _) => {
            command.expr.value.trim().parse::<i64>().ok().map(|value| value != 0)
        }
        Command::Compound(..) | Command::Function(_) => None,
    }?;
    Some(holds != pipeline.bang)
}

fn of_words(words: &[&str]) -> Option<bool> {
    match words {
        [":" | "true" | "/bin/true" | "/usr/bin/true", ..] => Some(true),
        ["false" | "/bin/false" | "/usr/bin/false", ..] => Some(false),
        ["[", operands @ .., "]"] | ["test", operands @ ..] => match operands {
            [] => Some(false),
            [one] => literal(one).map(|text| !text.is_empty()),
            [a, "=" | "==" | "-eq", b] => Some(literal(a)? == literal(b)?),
            [a, "!=" | "-ne", b] => Some(literal(a)? != literal(b)?),
            ["-n", one] => literal(one).map(|text| !text.is_empty()),
            ["-z", one] => literal(one).map(str::is_empty),
            _ => None,
        },
        _ => None,
    }
}

/// The text of a word that nothing is expanded in.
fn literal(word: &str) -> Option<&str> {
    let bare = word.trim_matches(['"', '\'']);
    (!bare.contains(['$', '`', '*', '?', '['])).then_some(bare)
}

/// Whether a number of so many rounds is in a text.
pub(crate) fn is_large(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit())
        .any(|digits| digits.len() > 18 || digits.parse::<u64>().is_ok_and(|n| n >= LARGE))
}
