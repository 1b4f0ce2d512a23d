//! Filters through which a list of names of files stays one: the lines that come out are lines that went in (POSIX XCU; the manuals of
//! GNU coreutils, grep, ripgrep, sed and gawk).

use super::tasks::has;
use crate::machine::Word;

/// Programs that choose, order or repeat lines.
const WHOLE_LINES: &str = "cat gcat tac gtac tee gtee head ghead tail gtail sort gsort uniq guniq shuf less more most pv comm sponge fzf sk \
    peco dos2unix";

/// Programs that make other names of names.
const REWRITING: &str =
    "sed gsed awk gawk mawk nawk cut gcut tr gtr rev grep ggrep egrep fgrep zgrep rg ugrep ug pcregrep pcre2grep";

/// What a list of names is after such a filter (`filters`): the same, a part of each, those and any others, or no list, as where lines
/// are printed that hold names (`prints`).
pub(super) fn rewrites_names(base: &str, rest: &[Word], prints: bool, filters: bool, listing: &mut Vec<Word>) {
    if prints {
        listing.clear();
    }
    if listing.is_empty() || !(filters || matches!(base, "rg" | "ug" | "ugrep")) {
        return;
    }
    // What is not known of the words may be a name.
    let known: Option<Vec<String>> = rest.iter().map(Word::known).collect();
    let words: Option<Vec<&str>> = known.as_ref().map(|words| words.iter().map(String::as_str).collect());
    if words.as_ref().is_some_and(|words| keeps_names(base, words)) {
        return;
    }
    let part = words.as_ref().is_some_and(|words| is_part(base, words, listing));
    if part {
        // The first part of `./a` is the folder itself.
        let here = listing.iter().any(|word| word.shown().starts_with('.')).then(|| Word::text("."));
        *listing = std::iter::once(Word::pattern("*")).chain(here).collect();
    } else if words.as_ref().is_some_and(|words| matches!(base, "sed" | "gsed") && changes_endings(words))
        && let Some(beside) = listing.iter().map(beside).collect::<Option<Vec<Word>>>()
    {
        *listing = beside;
    } else if has(REWRITING, base) {
        listing.push(Word::holes("name"));
    } else {
        listing.clear();
    }
}

/// Whether what comes out of each name is a part of it without a slash, and no name for a folder above.
fn is_part(base: &str, words: &[&str], listing: &[Word]) -> bool {
    if words.iter().any(|word| word.contains("..")) || listing.iter().any(|word| word.shown().contains("..")) {
        return false;
    }
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let flat = !listing.iter().any(|word| word.shown().contains('/')) && !words.iter().any(|word| word.contains('/'));
    match (base, words) {
        ("cut" | "gcut", ["-d/", field] | ["-d", "/", field]) => field.strip_prefix("-f").is_some_and(number),
        ("cut" | "gcut", ["-d/", "-f", field] | ["-d", "/", "-f", field]) => number(field),
        ("cut" | "gcut" | "rev", _) => flat,
        ("tr" | "gtr", [.., to]) => flat && !to.contains(['.', '\\']),
        // Its replacements are the only text that comes from elsewhere.
        ("sed" | "gsed", _) => {
            flat && scripts(words).is_some_and(|scripts| scripts.iter().all(|script| substitution(script).is_some()))
        }
        ("awk" | "gawk" | "mawk" | "nawk", ["-F/", script] | ["-F", "/", script]) => is_field(script),
        _ => false,
    }
}

/// Whether the lines that `base` writes are lines that it read.
fn keeps_names(base: &str, words: &[&str]) -> bool {
    match base {
        "rg" | "ugrep" | "ug" => !words.iter().any(|word| says(word, "oncr", &["--o", "--l", "--n", "--c", "--r"])),
        "grep" | "ggrep" | "egrep" | "fgrep" | "zgrep" | "pcregrep" | "pcre2grep" => {
            !words.iter().any(|word| says(word, "onc", &["--o", "--line-n", "--cou"]))
        }
        "tr" | "gtr" => words.iter().filter(|word| !word.starts_with('-')).all(|set| is_separator(set)),
        "sed" | "gsed" => scripts(words).is_some_and(|scripts| scripts.iter().all(|script| chooses(script))),
        "awk" | "gawk" | "mawk" | "nawk" => matches!(words, [script, ..] if is_field(script)),
        "uniq" | "guniq" => !words.iter().any(|word| says(word, "c", &["--cou"])),
        _ => has(WHOLE_LINES, base),
    }
}

/// Whether a word is one of these options, by letter or by the beginning of a name.
fn says(word: &str, letters: &str, names: &[&str]) -> bool {
    let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    short.is_some_and(|short| short.contains(|c| letters.contains(c)))
        || names.iter().any(|name| word.starts_with(name))
}

/// Whether a set of `tr` holds nothing but what stands between names.
fn is_separator(set: &str) -> bool {
    matches!(set, "\n" | "\\n" | "\0" | "\\0" | "\\000" | " " | "\\r" | "\r" | ":" | "," | "\t" | "\\t" | "[:space:]")
}

/// The scripts of `sed`; nothing where one lies in a file or is not found.
fn scripts<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut out = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-e" | "--expression" => out.push(*rest.next()?),
            "-n" | "-E" | "-r" | "-z" | "-u" | "-s" | "-nE" | "-nr" | "-En" | "-rn" | "--quiet" | "--silent"
            | "--regexp-extended" | "--null-data" => {}
            word if word.starts_with('-') => return None,
            word if out.is_empty() => out.push(word),
            _ => return None,
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Whether a script of `sed` only prints, leaves out or ends, or takes a `./` away, which leads to the same file.
fn chooses(script: &str) -> bool {
    script.split([';', '\n']).map(str::trim).filter(|command| !command.is_empty()).all(|command| {
        let address = command.trim_end_matches(['p', 'd', 'q', '!', ' ']);
        let plain = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '~' | '+');
        let pattern = address.len() > 1 && address.starts_with('/') && address.ends_with('/');
        matches!(substitution(command), Some(("^\\./" | "^./" | "^\\.\\/", "")))
            || (address.len() < command.len() && (address.chars().all(plain) || pattern))
    })
}

/// The pattern and the replacement of one `s`, with no flags but `g`, `i` and a number.
fn substitution(command: &str) -> Option<(&str, &str)> {
    let body = command.trim().strip_prefix('s')?;
    let mark = body.chars().next().filter(|mark| matches!(mark, '/' | '|' | '#' | ',' | ':' | '@' | '!'))?;
    let parts: Vec<&str> = body.get(1..)?.split(mark).collect();
    let [pattern, new, flags] = parts.as_slice() else { return None };
    flags.chars().all(|c| matches!(c, 'g' | 'i' | 'I') || c.is_ascii_digit()).then_some((*pattern, *new))
}

/// Whether all that a script does is put another ending in the place of one: `s/\.py$/.txt/`.
fn changes_endings(words: &[&str]) -> bool {
    let ending = |script: &&str| {
        substitution(script).is_some_and(|(pattern, new)| {
            let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '\\'));
            pattern.strip_suffix('$').is_some_and(plain) && plain(new) && !new.contains(['\\']) && !new.contains("..")
        })
    };
    scripts(words).is_some_and(|scripts| scripts.iter().all(ending))
}

/// Any name in the folder of a name.
fn beside(word: &Word) -> Option<Word> {
    let name = word.known()?;
    let folder = name.rfind('/').and_then(|at| name.get(..=at)).unwrap_or("");
    Some(if name.ends_with("**") { word.clone() } else { Word::pattern(&format!("{folder}*")) })
}

/// Whether a program of awk prints one field, of all lines or of those that match: `/x/ {print $2}`. A name is the only field of its line.
fn is_field(script: &str) -> bool {
    let script = script.trim();
    let act = match script.strip_prefix('/').and_then(|rest| rest.split_once('/')) {
        Some((_, act)) => act.trim(),
        None => script,
    };
    let inner = act.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map_or("", str::trim);
    let field = inner.trim_end_matches(';').strip_prefix("print").map_or("", str::trim).strip_prefix('$').unwrap_or("");
    field == "NF" || (!field.is_empty() && field.chars().all(|c| c.is_ascii_digit()))
}
