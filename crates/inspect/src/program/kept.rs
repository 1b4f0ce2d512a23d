//! Filters through which a list of names of files stays one: the lines that come out are lines that went in (POSIX XCU; the manuals of
//! GNU coreutils, grep, sed and gawk).

use super::tasks::has;
use crate::machine::Word;

/// Programs that choose, order or repeat lines.
const WHOLE_LINES: &str = "cat gcat tac gtac tee gtee head ghead tail gtail sort gsort uniq guniq shuf less more most pv ts comm sponge fzf sk \
    peco gum column dos2unix unbuffer stdbuf parallel";

/// Programs that make other names of names.
const REWRITING: &str = "sed gsed awk gawk mawk nawk cut gcut tr gtr rev";

/// What a list of names is after such a filter: the same, one part of each, those and any others, or no list.
pub(super) fn rewrites_names(base: &str, rest: &[Word], listing: &mut Vec<Word>) {
    if listing.is_empty() || keeps_names(base, rest) {
        return;
    }
    let slash = |word: &Word| word.shown().contains('/');
    let part = has(REWRITING, base) && (!listing.iter().chain(rest).any(slash) || is_one_part(base, rest));
    if part {
        *listing = vec![Word::pattern("*")];
    } else if has(REWRITING, base) {
        listing.push(Word::holes("name"));
    } else {
        listing.clear();
    }
}

/// Whether what comes out of each name is one part of it between slashes: `cut -d/ -f2`, `awk -F/ '{print $2}'`.
fn is_one_part(base: &str, rest: &[Word]) -> bool {
    let Some(words) = rest.iter().map(Word::constant).collect::<Option<Vec<&str>>>() else { return false };
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    match (base, words.as_slice()) {
        ("cut" | "gcut", ["-d/", field] | ["-d", "/", field]) => field.strip_prefix("-f").is_some_and(number),
        ("cut" | "gcut", ["-d/", "-f", field] | ["-d", "/", "-f", field]) => number(field),
        ("awk" | "gawk" | "mawk" | "nawk", ["-F/", script] | ["-F", "/", script]) => {
            let inner = script.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or("");
            let field = inner.trim().strip_prefix("print").map_or("", str::trim).strip_prefix('$').unwrap_or("");
            field == "NF" || number(field)
        }
        _ => false,
    }
}

/// Whether the lines that `base` writes are lines that it read.
fn keeps_names(base: &str, rest: &[Word]) -> bool {
    let Some(words) = rest.iter().map(Word::constant).collect::<Option<Vec<&str>>>() else { return true };
    match base {
        "grep" | "ggrep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ugrep" | "ug" | "pcregrep" | "pcre2grep" => {
            !words.iter().any(|word| says(word, "onc", &["--only-matching", "--line-number", "--count", "--replace"]))
        }
        "tr" | "gtr" => words.iter().filter(|word| !word.starts_with('-')).all(|set| is_separator(set)),
        "sed" | "gsed" => scripts(&words).is_some_and(|scripts| scripts.iter().all(|script| chooses(script))),
        "awk" | "gawk" | "mawk" | "nawk" => {
            words.iter().find(|word| !word.starts_with('-')).is_some_and(|script| prints_fields(script))
                && !words.iter().any(|word| says(word, "Fv", &["--field-separator", "--assign"]))
        }
        "uniq" | "guniq" => !words.iter().any(|word| says(word, "c", &["--count"])),
        _ => has(WHOLE_LINES, base),
    }
}

/// Whether a word is one of these options, by letter or by name.
fn says(word: &str, letters: &str, names: &[&str]) -> bool {
    let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    short.is_some_and(|short| short.contains(|c| letters.contains(c)))
        || names.iter().any(|name| word.split('=').next() == Some(name))
}

/// Whether a set of `tr` holds nothing but what stands between names.
fn is_separator(set: &str) -> bool {
    matches!(set, "\n" | "\\n" | "\0" | "\\0" | "\\000" | " " | "\\r" | "\r" | ":" | "," | "\t" | "\\t" | "[:space:]")
}

/// The scripts of `sed`; nothing where one lies in a file.
fn scripts<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut out = Vec::new();
    let mut rest = words.iter();
    let mut own = true;
    while let Some(word) = rest.next() {
        match *word {
            "-e" | "--expression" => {
                out.push(*rest.next()?);
                own = false;
            }
            "-f" | "--file" => return None,
            word if word.starts_with('-') => {}
            word if own => {
                out.push(word);
                own = false;
            }
            _ => {}
        }
    }
    Some(out)
}

/// Whether a script of `sed` only prints, leaves out or ends, or takes a `./` away, which leads to the same file.
fn chooses(script: &str) -> bool {
    script.split([';', '\n']).map(str::trim).filter(|command| !command.is_empty()).all(|command| {
        let bare = |mark: char| {
            let parts: Vec<&str> =
                command.strip_prefix('s').and_then(|rest| rest.strip_prefix(mark))?.split(mark).collect();
            Some(matches!(parts.as_slice(), ["^\\./" | "^./" | "^\\.\\/", "", ""]))
        };
        let address = command.trim_end_matches(['p', 'd', 'q', '!', ' ']);
        let plain = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '~' | '+');
        let pattern = address.len() > 1 && address.starts_with('/') && address.ends_with('/');
        ['/', '|', '#', ','].iter().any(|mark| bare(*mark).unwrap_or(false))
            || (address.len() < command.len() && (address.chars().all(plain) || pattern))
    })
}

/// Whether a program of awk prints nothing but fields, each of which is a name or a part of a line of several words.
fn prints_fields(script: &str) -> bool {
    let plain = |text: &str| {
        text.trim().split([',', ' ']).filter(|field| !field.is_empty()).all(|field| {
            let name = field.strip_prefix('$').unwrap_or("?");
            name == "NF" || (!name.is_empty() && name.chars().all(|c| c.is_ascii_digit()))
        })
    };
    !script.contains("printf")
        && !["sub(", "FS", "$0=", "$0 =", "split(", "substr("].iter().any(|part| script.contains(part))
        && script.split("print").skip(1).all(|rest| plain(rest.split([';', '}', '\n']).next().unwrap_or(rest)))
}
