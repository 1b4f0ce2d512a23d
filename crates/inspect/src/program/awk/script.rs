//! The commands that a script of `awk` puts together, as far as they are constant (POSIX `awk`; gawk manual).

use std::cell::Cell;

use crate::machine::Word;

/// What a place in a script of `awk` does with what stands there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Runs,
    Answers,
    IsTold,
    Reads,
}

/// What `awk` puts into a command of its own: fields, and variables that were read.
pub(super) const READ: &str = "what awk reads";

/// How much of the values of a script is put together: what is longer is not followed.
const MAX_WORK: usize = 1 << 16;

/// The most places of a script that run or read something.
const MAX_PLACES: usize = 32;

/// A script of `awk` without the blanks that part nothing, each string as one sign that counts it.
pub(super) struct Script<'a> {
    tight: String,
    texts: &'a [String],
    /// What `-v` gives: before the script begins.
    given: Vec<(&'a str, &'a str)>,
    /// What stands among the files: given when their turn comes.
    later: Vec<&'a str>,
    home: &'a str,
    work: Cell<usize>,
}

impl<'a> Script<'a> {
    /// `None` where it is not all of what runs.
    pub(super) fn new(bare: &str, texts: &'a [String], words: &'a [Word], home: &'a str) -> Option<Self> {
        let mut sources = 0;
        for word in words.iter().map(Word::prefix) {
            sources +=
                usize::from(["-e", "-f", "-E", "--source", "--file", "--exec"].iter().any(|o| word.starts_with(o)));
            if ["-i", "-l", "--include", "--load"].iter().any(|option| word.starts_with(option)) {
                return None;
            }
        }
        if bare.contains('@') || texts.len() > 6000 || sources > 1 {
            return None;
        }
        let mut tight = String::with_capacity(bare.len());
        let (mut count, mut blank) = (0xe000, false);
        for c in bare.chars() {
            if matches!(c, ' ' | '\t') {
                blank = true;
                continue;
            }
            if blank && is_letter(c) && tight.ends_with(is_letter) {
                tight.push(' ');
            }
            blank = false;
            if c == '\u{1}' {
                tight.push(char::from_u32(count)?);
                count += 1;
            } else {
                tight.push(if c == '\n' { ';' } else { c });
            }
        }
        let (mut given, mut later) = (Vec::new(), Vec::new());
        let mut before = "";
        for word in words.iter().map(|word| word.constant().unwrap_or("")) {
            let own =
                word.strip_prefix("-v").or_else(|| word.strip_prefix("--assign=")).filter(|rest| !rest.is_empty());
            let pair = own.unwrap_or(word).split_once('=');
            if own.is_some() || matches!(before, "-v" | "--assign") {
                given.extend(pair);
            } else {
                later.extend(pair.map(|(name, _)| name));
            }
            before = word;
        }
        Some(Self { tight, texts, given, later, home, work: Cell::new(MAX_WORK) })
    }

    /// The places that run or read something, in their order, with what stands there.
    pub(super) fn places(&self) -> Vec<(Place, Option<Word>)> {
        let tight = self.tight.as_str();
        let count = ["system(", "|", "getline"].iter().map(|sign| tight.matches(sign).count()).sum::<usize>();
        if count > MAX_PLACES {
            return vec![(Place::Runs, None)];
        }
        let from = |at: usize| tight.get(at..).unwrap_or("");
        let mut out: Vec<(usize, Place, Option<Word>)> = Vec::new();
        for (at, call) in tight.match_indices("system(") {
            out.push((at, Place::Runs, self.word(from(at + call.len()), true)));
        }
        for (at, _) in tight.match_indices('|') {
            let before = tight.get(..at).unwrap_or("");
            let after = from(at + 1);
            if before.ends_with('|') || after.starts_with('|') {
                continue;
            }
            let after = after.trim_start_matches('&');
            if after.starts_with("getline") {
                let expression = before.get(start_of(before)..).unwrap_or("");
                out.push((at, Place::Answers, self.word(expression, true)));
            } else {
                out.push((at, Place::IsTold, self.word(after, true)));
            }
        }
        for (at, call) in tight.match_indices("getline") {
            let file = from(at + call.len()).trim_start_matches(|c| is_letter(c) || c == ' ');
            if let Some(file) = file.strip_prefix('<') {
                out.push((at, Place::Reads, self.word(file, true)));
            }
        }
        out.sort_by_key(|(at, place, _)| (*at, *place));
        out.into_iter().map(|(_, place, word)| (place, word)).collect()
    }

    /// Does some of the work that there may be.
    fn spend(&self, work: usize) -> Option<()> {
        self.work.set(self.work.get().checked_sub(work)?);
        Some(())
    }

    /// The word that texts, variables and calls side by side stand for, up to where the expression ends; what is not constant is a
    /// hole. `None` where anything else stands there. `whole` is what stands for all of a command: there a variable that has no value
    /// yet runs nothing, while it may well leave the rest of a command to itself.
    fn word(&self, text: &str, whole: bool) -> Option<Word> {
        let mut out = Word::default();
        let mut rest = text;
        let alone =
            |out: &Word, rest: &str| whole && out.parts().is_empty() && (rest.is_empty() || rest.starts_with(is_end));
        while let Some(c) = rest.chars().next() {
            self.spend(1)?;
            let after = rest.get(c.len_utf8()..).unwrap_or("");
            match c {
                c if is_end(c) => break,
                ' ' => rest = after,
                '(' => {
                    let (inside, after) = group(rest)?;
                    // Brackets in brackets are read again each time.
                    self.spend(inside.len())?;
                    out.append(&self.word(inside, alone(&out, after))?);
                    rest = after;
                }
                // A field.
                '$' => {
                    out.append(&Word::hole(READ));
                    rest = if after.starts_with('(') { group(after)?.1 } else { after.trim_start_matches(is_letter) };
                }
                c if is_mark(c) => {
                    let text = self.texts.get(usize::try_from(u32::from(c) - 0xe000).ok()?)?;
                    self.spend(text.len())?;
                    out.push_str(text);
                    rest = after;
                }
                c if is_letter(c) => {
                    let (name, after) = rest.split_at(rest.find(|c| !is_letter(c)).unwrap_or(rest.len()));
                    let here = rest;
                    rest = after;
                    match name {
                        "if" | "while" | "for" if after.starts_with('(') => rest = group(after)?.1,
                        "print" | "return" | "else" | "do" => {}
                        _ if after.starts_with(['(', '[']) => {
                            let (inside, after) = group(after)?;
                            self.spend(inside.len())?;
                            rest = after;
                            out.append(&self.called(name, inside));
                        }
                        _ if name.starts_with(|c: char| c.is_ascii_digit()) => out.push_str(name),
                        _ => {
                            let whole = alone(&out, after);
                            out.append(&self.value(name, here, whole).unwrap_or_else(|| Word::hole(READ)));
                        }
                    }
                }
                _ => return None,
            }
        }
        Some(out)
    }

    /// What a call or a member of an array gives: a format with what it is given, a variable of the environment.
    fn called(&self, name: &str, inside: &str) -> Word {
        let one = || self.word(inside, false).filter(|_| !inside.contains(',')).and_then(|word| word.known());
        match name {
            "ENVIRON" => match one() {
                Some(name) if name == "HOME" => Word::text(self.home),
                name => Word::hole(name.unwrap_or_else(|| READ.to_owned())),
            },
            "sprintf" => {
                let mut given = inside.split(',').map(|part| self.word(part, false));
                let Some(format) = given.next().flatten().and_then(|format| format.known()) else {
                    return Word::hole(READ);
                };
                let mut out = Word::default();
                for (i, piece) in format.split('%').enumerate() {
                    let end = piece.find(|c: char| c.is_ascii_alphabetic()).filter(|_| i > 0).map(|at| at + 1);
                    if end.is_some() {
                        out.append(&given.next().flatten().unwrap_or_else(|| Word::hole(READ)));
                    }
                    out.push_str(piece.get(end.unwrap_or(0)..).unwrap_or(""));
                }
                out
            }
            _ => Word::hole(READ),
        }
    }

    /// The value that a variable has at a place: given once, in the script or before it, and changed by nothing.
    fn value(&self, name: &str, here: &str, whole: bool) -> Option<Word> {
        // A parameter of that name, what a function changes in its arguments, the table of all variables (gawk manual).
        const CHANGING: &[&str] = &["function ", "func ", "sub(", "split(", "match(", "asort", "SYMTAB"];
        self.spend(self.tight.len() / 16 + 256)?;
        let read = [format!("getline {name}"), format!("({name} in ")];
        let changes = CHANGING.iter().any(|call| self.tight.contains(call));
        let own = !name.contains(|c: char| c.is_lowercase()) || self.tight.contains(&format!("${name}"));
        if own || changes || read.iter().any(|read| self.tight.contains(read)) || self.later.contains(&name) {
            return None;
        }
        // What awk sets by itself has names without small letters; `$c = x` sets a field.
        let head = |at: usize| self.tight.get(..at).unwrap_or("");
        let mut set = Vec::new();
        for (at, _) in self.tight.match_indices(name).filter(|(at, _)| !head(*at).ends_with(is_letter)) {
            let behind = self.tight.get(at + name.len()..).unwrap_or("");
            let counts = |text: &str| text.starts_with("++") || text.starts_with("--");
            let adds = behind.strip_prefix(['+', '-', '*', '/', '%', '^']).is_some_and(|rest| rest.starts_with('='));
            if adds || counts(behind) || head(at).ends_with("++") || head(at).ends_with("--") {
                return None;
            }
            set.extend(behind.strip_prefix('=').filter(|value| !value.starts_with('=')).map(|value| (at, value)));
        }
        let mut given = self.given.iter().filter(|(given, _)| *given == name);
        match (set.as_slice(), given.next(), given.next()) {
            // Its own escapes are read once more (POSIX `awk`, "-v").
            ([], Some((_, value)), None) if !value.contains('\\') => {
                self.spend(value.len())?;
                Some(Word::text(*value))
            }
            ([(at, value)], None, None) => {
                let at_place = here.as_ptr() as usize - self.tight.as_ptr() as usize;
                (whole || (*at < at_place && comes_first(head(*at)))).then(|| self.word(value, whole)).flatten()
            }
            _ => None,
        }
    }
}

/// Whether what stands before a place in a script is done before all else, whatever is read: the beginning of its first `BEGIN`.
fn comes_first(head: &str) -> bool {
    let rest = head.strip_prefix("BEGIN{");
    rest.is_some_and(|rest| {
        !rest.contains(['{', '}', '?'])
            && !["if(", "while(", "for(", "exit", "&&", "||"].iter().any(|word| rest.contains(word))
    })
}

const fn is_end(c: char) -> bool {
    matches!(c, ';' | '}' | ')')
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !is_mark(c) || c == '_'
}

/// What stands in the brackets that a text begins with, and what comes after them.
fn group(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some((text.get(1..at)?, text.get(at + 1..)?));
        }
    }
    None
}

/// Where the expression begins that a text ends with.
fn start_of(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            c if depth > 0 || is_letter(c) || is_mark(c) || matches!(c, '$' | ' ') => {}
            _ => return at + c.len_utf8(),
        }
    }
    0
}

const fn is_mark(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}')
}
