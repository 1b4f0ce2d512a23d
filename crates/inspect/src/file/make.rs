//! Variables of makefiles, as far as they are texts, and the program that reads their recipes (GNU make manual, "How to Use
//! Variables", "Choosing the Shell").

use std::collections::{BTreeMap, BTreeSet};

use crate::bounded::Bounded as _;
use crate::code::Language;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Word};

/// How far a variable's value may name others.
const MAX_DEPTH: usize = 4;

/// How many values are put in for all recipes of a text: variables that hold nothing but each other would take all time.
const MAX_VALUES: usize = 4096;

/// The longest that a line of a recipe becomes, in bytes.
const MAX_LINE: usize = 16 * 1024;

/// The most values of a shell that are looked at.
const MAX_SHELLS: usize = 16;

/// The text with what the words of a command give to variables: that holds against what the text says itself.
pub(crate) fn given(text: &str, words: &[Word]) -> String {
    let mut out = text.to_owned();
    for word in words.iter().filter_map(Word::constant) {
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) {
            out.push_str(&format!("\n{name} = {value}\n"));
        }
    }
    out
}

/// What reads the recipes, where the text says so: for all of them, or for those of one target (`tidy: SHELL := perl`).
pub(crate) fn shells(text: &str) -> BTreeSet<String> {
    let known = definitions(text);
    let mut left = MAX_VALUES;
    let values = assigned(text).filter(|(name, _)| name.rsplit([':', ' ']).next() == Some("SHELL")).at_most(MAX_SHELLS);
    values.into_iter().map(|(_, value)| expanded(&value, &known, 0, &mut left)).collect()
}

/// What the shell is given before each recipe, where the text says so.
pub(crate) fn flags(text: &str) -> BTreeSet<String> {
    let values = assigned(text).filter(|(name, _)| name.rsplit([':', ' ']).next() == Some(".SHELLFLAGS"));
    values.map(|(_, value)| value).at_most(MAX_SHELLS).collect()
}

/// The recipes as a language reads them that is no shell's, where one of the text's own is given them: `SHELL := /usr/bin/perl`.
pub(super) fn of_language(text: &str) -> Option<(Language, String)> {
    let named = |shell: &String| crate::program::language_of(&format!("#!{shell}"));
    let language = shells(text).iter().filter_map(named).find(|language| *language != Language::Shell)?;
    Some((language, recipes(text)))
}

/// The recipes as the shell is given them.
pub(super) fn recipes(text: &str) -> String {
    let joined = text.replace("\\\n", " ");
    let known = definitions(&joined);
    let mut left = MAX_VALUES;
    let mut recipe = |line: &str| {
        let line = line.strip_prefix('\t').or_else(|| line.strip_prefix("    ")).or_else(|| behind(line))?;
        Some(expanded(line.trim_start_matches(['@', '-', '+', ' ', '\t']), &known, 0, &mut left))
    };
    // What a definition asks the shell is run as the file is read.
    let asked = joined.lines().filter(|line| !line.starts_with('\t')).flat_map(shelled);
    asked.chain(joined.lines().filter_map(&mut recipe)).collect::<Vec<_>>().join("\n")
}

/// The recipe that stands on the line of its rule: `all: a b ; recipe`.
fn behind(line: &str) -> Option<&str> {
    let (targets, rest) = line.split_once(':').filter(|(targets, _)| !targets.contains(['=', '#']))?;
    let (needs, recipe) = rest.split_once(';').filter(|(needs, _)| !needs.contains(['=', '#']))?;
    (!targets.trim().is_empty() && !needs.starts_with(':')).then_some(recipe)
}

/// The commands of `$(shell …)` and `!=` in a line.
fn shelled(line: &str) -> Vec<String> {
    let mut out: Vec<String> =
        line.split_once("!=").map(|(_, command)| command.trim().to_owned()).into_iter().collect();
    for after in line.split("$(shell ").skip(1) {
        let mut open = 1_usize;
        let end = after.find(|c| {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            open == 0
        });
        out.extend(end.and_then(|end| after.get(..end)).map(|command| command.replace("$$", "$")));
    }
    out
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// The variables that are given a text; the last one holds.
fn definitions(text: &str) -> BTreeMap<String, String> {
    assigned(text).filter(|(name, _)| is_name(name)).at_most(256).collect()
}

/// What stands before and behind the sign of each definition: `tidy: SHELL` and `/bin/sh`.
fn assigned(text: &str) -> impl Iterator<Item = (String, String)> {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('\t'))?;
        let name = name.trim().trim_end_matches([':', '?', '!']).trim_end();
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        Some((name.to_owned(), value.trim().to_owned()))
    })
}

/// A line with the values of its variables; what is defined nowhere comes from the environment.
fn expanded(line: &str, known: &BTreeMap<String, String>, depth: usize, left: &mut usize) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        if !crate::bounded::has_room(out.len(), MAX_LINE) {
            break;
        }
        out.push_str(rest.get(..at).unwrap_or(""));
        rest = rest.get(at + 1..).unwrap_or("");
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let close = if rest.starts_with('(') { ')' } else { '}' };
        let inner = rest.strip_prefix(['(', '{']).and_then(|inner| Some((inner, inner.find(close)?)));
        let Some((inner, end)) = inner else {
            out.push('$');
            continue;
        };
        let name = inner.get(..end).unwrap_or("");
        let after = inner.get(end + 1..).unwrap_or("");
        if name == "RM" && !known.contains_key(name) {
            out.push_str("rm -f");
        } else if let Some(value) = known.get(name).filter(|_| depth < MAX_DEPTH && *left > 0) {
            *left -= 1;
            out.push_str(&expanded(value, known, depth + 1, left));
        } else if is_name(name) {
            out.push_str(&format!("${{{}}}", name.replace(['.', '-'], "_")));
        } else if let Some(command) = name.strip_prefix("shell ") {
            out.push_str(&format!("$({command})"));
        } else {
            // A function of make's own.
            out.push_str("${MAKE_FUNCTION}");
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

impl Machine<'_> {
    /// Recipes that another program than a shell reads.
    pub(crate) fn judge_shell_of_recipes(&mut self, text: &str) {
        for flags in flags(text) {
            // What stands before a recipe is a part of the line: `.SHELLFLAGS := -c 'run; :' --`.
            let inner = crate::shell::shell(&format!("sh {} :", flags.replace("$$", "$")), self.context);
            self.absorb_grave(inner);
        }
        for shell in shells(text) {
            if crate::program::language_of(&format!("#!{shell}")) != Some(Language::Shell) {
                self.find(FindingKind::LoadsCode, format!("SHELL={shell} decides what runs the recipes"));
            }
        }
        if let Some((language, recipes)) = of_language(text) {
            let inner = crate::code::code(language, &recipes, self.context);
            self.absorb_grave(inner);
        }
    }
}

/// Whether `make` reads a file of this name without being told.
pub(super) fn is_makefile(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    matches!(last, "Makefile" | "makefile" | "GNUmakefile")
}

#[cfg(test)]
mod tests {
    use super::{given, recipes, shells};
    use crate::machine::Word;

    #[test]
    fn recipes_are_read_with_the_values_of_variables() {
        let text = "D := out\nE = $(D)/x\nall:\n\t@rm -rf $(E) $(HOME)/y $$PWD $(dir a b)\n";
        assert_eq!(recipes(text), "rm -rf out/x ${HOME}/y $PWD ${MAKE_FUNCTION}");
        let words = [Word::text("all"), Word::text("D=/home/user")];
        assert!(recipes(&given(text, &words)).starts_with("rm -rf /home/user/x"));
        assert_eq!(recipes("A = $(A)\nx:\n\techo $(A)\n"), "echo ${A}");
        let nothing = "D =\nC = $(D)$(D)\nB = $(C)$(C)\n".replace("$(C)$(C)", &"$(C)".repeat(5000));
        let rest = recipes(&format!("{nothing}all:\n\techo $(B)\n"));
        assert!(rest.contains("${C}") || rest.contains("${D}"), "what was not put in stays open");
        let text = "SHELL = /bin/sh\nP := perl\nfmt: export SHELL := $(P)\nMYSHELL=/x\nfmt:\n\tSHELL=/y run\n";
        assert_eq!(shells(text).into_iter().collect::<Vec<_>>(), ["/bin/sh", "perl"]);
    }
}
