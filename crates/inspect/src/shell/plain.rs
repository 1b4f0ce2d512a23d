//! A second reader for the plain part of the language: one pass, no tree, nothing guessed.
//!
//! It splits a text into the words of its commands, in the order in which they stand, and gives up at anything whose reading
//! depends on more than the next character: `case`, functions with odd names, arithmetic commands, extended patterns, process
//! substitutions, characters outside of ASCII that are not quoted. What it reads as the first parser does needs no third
//! opinion; for the rest there is the other parser ([`second`](super::second)), which reads everything but costs ten times as much.

mod check;

use brush_parser::ast::Program;

use check::Check;

/// The most substitutions inside of each other that are read here.
const MAX_DEPTH: usize = 12;

/// Whether this reader reads `text` as `program`; `false` says nothing: it may be a text that is not plain.
pub(super) fn agrees(text: &str, program: &Program) -> bool {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, words: Vec::new(), documents: Vec::new(), depth: 0 };
    if reader.commands(true).is_none() || reader.at < text.len() {
        return false;
    }
    let mut check = Check { text, words: reader.words.iter(), same: true };
    program.complete_commands.iter().for_each(|list| check.list(list));
    check.same && check.words.next().is_none()
}

/// A word by where it stands, and whether it is the first of its command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    start: usize,
    end: usize,
    first: bool,
}

/// A here-document that begins at the next line.
#[derive(Debug)]
struct Document {
    end: Vec<u8>,
    tabs: bool,
}

#[derive(Debug)]
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    words: Vec<Place>,
    documents: Vec<Document>,
    depth: usize,
}

/// What may come next in a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A command or a word of the grammar.
    Command,
    /// Words of the command.
    Word,
    /// Only redirections and what ends the command: a compound is complete.
    End,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn ahead(&self, n: usize) -> Option<u8> {
        self.bytes.get(self.at + n).copied()
    }

    fn blanks(&mut self) {
        loop {
            match (self.peek(), self.ahead(1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                _ => return,
            }
        }
    }

    /// Commands to the end of the text, or (`outer` is false) to the bracket that closes the substitution.
    fn commands(&mut self, outer: bool) -> Option<()> {
        let mut expect = Expect::Command;
        let mut subshells = 0_usize;
        loop {
            self.blanks();
            let Some(byte) = self.peek() else {
                return (outer && subshells == 0 && self.documents.is_empty()).then_some(());
            };
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.bodies(outer)?;
                    expect = Expect::Command;
                }
                b'#' => self.at = self.line_end(),
                b';' => {
                    self.at += 1;
                    if matches!(self.peek(), Some(b';' | b'&')) {
                        return None;
                    }
                    expect = Expect::Command;
                }
                b'&' if self.ahead(1) == Some(b'>') => {
                    self.at += 2;
                    self.at += usize::from(self.peek() == Some(b'>'));
                    self.target()?;
                }
                b'&' | b'|' => {
                    self.at += 1;
                    let next = self.peek();
                    self.at += usize::from(next == Some(byte) || (byte == b'|' && next == Some(b'&')));
                    expect = Expect::Command;
                }
                b'(' => {
                    if expect != Expect::Command || self.ahead(1) == Some(b'(') {
                        return None;
                    }
                    self.at += 1;
                    subshells += 1;
                }
                b')' if subshells > 0 => {
                    self.at += 1;
                    subshells -= 1;
                    expect = Expect::End;
                }
                b')' => return (!outer).then_some(()),
                b'<' | b'>' => self.redirection()?,
                _ => expect = self.item(expect)?,
            }
        }
    }

    /// A word of the command, of the grammar, or the number of a redirection.
    fn item(&mut self, expect: Expect) -> Option<Expect> {
        let start = self.at;
        let plain = self.word()?;
        let word = self.bytes.get(start..self.at)?;
        if matches!(self.peek(), Some(b'<' | b'>')) {
            if word.iter().all(u8::is_ascii_digit) {
                self.redirection()?;
                return Some(expect);
            }
            if word.starts_with(b"{") {
                return None;
            }
        }
        match expect {
            Expect::End => None,
            Expect::Word => {
                self.push(start, false);
                Some(Expect::Word)
            }
            Expect::Command => self.first(start, plain),
        }
    }

    fn push(&mut self, start: usize, first: bool) {
        if self.depth == 0 {
            self.words.push(Place { start, end: self.at, first });
        }
    }

    /// The first word of a command.
    fn first(&mut self, start: usize, plain: bool) -> Option<Expect> {
        let word = self.bytes.get(start..self.at)?;
        if plain {
            match word {
                b"if" | b"then" | b"elif" | b"else" | b"while" | b"until" | b"do" | b"!" | b"{" => {
                    return Some(Expect::Command);
                }
                b"time" => {
                    self.blanks();
                    let flag = self.bytes.get(self.at..self.at + 2) == Some(b"-p")
                        && matches!(self.ahead(2), Some(b' ' | b'\t'));
                    self.at += if flag { 2 } else { 0 };
                    return Some(Expect::Command);
                }
                b"fi" | b"done" | b"}" => return Some(Expect::End),
                b"for" => return self.for_head(),
                b"[[" => return self.test(),
                b"case" | b"esac" | b"function" | b"coproc" | b"select" | b"in" => return None,
                _ => {}
            }
        }
        if word.starts_with(b"{") || word.starts_with(b"}") {
            return None;
        }
        match word.iter().position(|b| *b == b'=') {
            Some(equals) if is_variable(word.get(..equals)?) => return Some(Expect::Command),
            // An element of an array, perhaps.
            Some(equals) if word.get(..equals)?.contains(&b'[') => return None,
            Some(_) | None => {}
        }
        let after = self.at;
        self.blanks();
        if self.peek() == Some(b'(') {
            let named = word.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
            if !named || self.ahead(1) != Some(b')') {
                return None;
            }
            self.at += 2;
            return Some(Expect::Command);
        }
        self.at = after;
        self.push(start, true);
        Some(Expect::Word)
    }

    /// `for NAME in WORDS`, up to `do`.
    fn for_head(&mut self) -> Option<Expect> {
        self.blanks();
        let start = self.at;
        self.word()?;
        if !is_variable(self.bytes.get(start..self.at)?) {
            return None;
        }
        self.blanks();
        if matches!(self.peek(), Some(b';' | b'\n')) {
            return Some(Expect::End);
        }
        let start = self.at;
        self.word()?;
        if self.bytes.get(start..self.at)? != b"in" {
            return None;
        }
        loop {
            self.blanks();
            match self.peek()? {
                b';' | b'\n' => return Some(Expect::End),
                b'#' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => return None,
                _ => self.word()?,
            };
        }
    }

    /// The inside of `[[ … ]]`.
    fn test(&mut self) -> Option<Expect> {
        loop {
            self.blanks();
            match self.peek()? {
                b'&' | b'|' if self.ahead(1) == self.peek() => self.at += 2,
                b'<' | b'>' if matches!(self.ahead(1), Some(b' ')) => self.at += 1,
                b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b';' | b'#' | b'\n' => return None,
                _ => {
                    let start = self.at;
                    self.word()?;
                    match self.bytes.get(start..self.at)? {
                        b"]]" => return Some(Expect::End),
                        b"=~" => return None,
                        _ => {}
                    }
                }
            }
        }
    }

    /// A word; whether nothing in it is quoted or expanded.
    fn word(&mut self) -> Option<bool> {
        let mut plain = true;
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')' => break,
                // A function's brackets come after its name; any other are an extended pattern or an array.
                b'(' if self.at > start && self.ahead(1) == Some(b')') => break,
                b'(' => return None,
                b'\'' => {
                    plain = false;
                    self.at += 1;
                    self.at += self.bytes.get(self.at..)?.iter().position(|b| *b == b'\'')? + 1;
                }
                b'"' => {
                    plain = false;
                    self.double_quoted()?;
                }
                b'`' => {
                    plain = false;
                    self.backquoted()?;
                }
                b'$' => {
                    plain = false;
                    self.dollar(false)?;
                }
                b'\\' => {
                    plain = false;
                    if !matches!(self.ahead(1)?, b' '..=b'~') {
                        return None;
                    }
                    self.at += 2;
                }
                0x21..=0x7e => self.at += 1,
                _ => return None,
            }
        }
        (self.at > start).then_some(plain)
    }

    fn double_quoted(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    if !self.ahead(1)?.is_ascii() {
                        return None;
                    }
                    self.at += 2;
                }
                b'$' => self.dollar(true)?,
                b'`' => self.backquoted()?,
                _ => self.at += 1,
            }
        }
    }

    fn backquoted(&mut self) -> Option<()> {
        self.at += 1;
        let length = self.bytes.get(self.at..)?.iter().position(|b| matches!(b, b'`' | b'\\'))?;
        self.at += length;
        (self.peek() == Some(b'`')).then(|| self.at += 1)
    }

    /// What begins with `$`.
    fn dollar(&mut self, quoted: bool) -> Option<()> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.ahead(1) == Some(b'(') => {
                self.at += 2;
                let inside = |b: &u8| b.is_ascii_alphanumeric() || b" _+-*/%<>=!&|^~?:,$".contains(b);
                self.at += self.bytes.get(self.at..)?.iter().position(|b| !inside(b))?;
                let ends = self.peek() == Some(b')') && self.ahead(1) == Some(b')');
                self.at += 2;
                ends.then_some(())
            }
            Some(b'(') => {
                self.at += 1;
                self.nested()
            }
            Some(b'{') => {
                self.at += 1;
                self.braced()
            }
            Some(b'\'') if !quoted => {
                self.at += 1;
                loop {
                    match self.peek()? {
                        b'\'' => break,
                        b'\\' => self.at += 2,
                        _ => self.at += 1,
                    }
                }
                self.at += 1;
                Some(())
            }
            Some(b'"') if !quoted => None,
            Some(b'[') => None,
            Some(_) | None => Some(()),
        }
    }

    fn nested(&mut self) -> Option<()> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let waiting = std::mem::take(&mut self.documents);
        self.commands(false)?;
        if !self.documents.is_empty() || self.peek() != Some(b')') {
            return None;
        }
        self.documents = waiting;
        self.at += 1;
        self.depth -= 1;
        Some(())
    }

    /// `${…}` without quotes inside.
    fn braced(&mut self) -> Option<()> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        loop {
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    self.depth -= 1;
                    return Some(());
                }
                b'$' => self.dollar(true)?,
                b'\'' | b'"' | b'\\' | b'`' | b'{' | b'(' | b')' | b'\n' | b'<' | b'>' => return None,
                0x20..=0x7e => self.at += 1,
                _ => return None,
            }
        }
    }

    /// `<`, `>`, `>>`, `<<`, `<<<` and their kin, with what follows.
    fn redirection(&mut self) -> Option<()> {
        let rest = self.bytes.get(self.at..)?;
        if rest.starts_with(b"<<<") {
            self.at += 3;
            return self.target();
        }
        if rest.starts_with(b"<<") {
            self.at += 2;
            return self.document();
        }
        if rest.starts_with(b"<(") || rest.starts_with(b">(") {
            return None;
        }
        let wide = [&b">>"[..], b">&", b"<&", b">|", b"<>"].iter().any(|sign| rest.starts_with(sign));
        self.at += if wide { 2 } else { 1 };
        self.target()
    }

    fn target(&mut self) -> Option<()> {
        self.blanks();
        if matches!(self.peek(), Some(b'<' | b'>')) {
            return None;
        }
        self.word().map(|_| ())
    }

    fn document(&mut self) -> Option<()> {
        let tabs = self.peek() == Some(b'-');
        self.at += usize::from(tabs);
        self.blanks();
        let quote = self.peek().filter(|b| matches!(b, b'\'' | b'"'));
        self.at += usize::from(quote.is_some());
        let length = self.bytes.get(self.at..)?.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let end = self.bytes.get(self.at..self.at + length)?.to_vec();
        self.at += length;
        if end.is_empty() || quote.is_some_and(|quote| self.peek() != Some(quote)) {
            return None;
        }
        self.at += usize::from(quote.is_some());
        if !matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'>' | b'<' | b')')) {
            return None;
        }
        self.documents.push(Document { end, tabs });
        Some(())
    }

    /// The here-documents that begin at this line.
    fn bodies(&mut self, outer: bool) -> Option<()> {
        if self.documents.is_empty() {
            return Some(());
        }
        if !outer {
            return None;
        }
        for document in std::mem::take(&mut self.documents) {
            loop {
                if self.at >= self.bytes.len() {
                    return None;
                }
                let end = self.line_end();
                let mut line = self.bytes.get(self.at..end)?;
                self.at = (end + 1).min(self.bytes.len());
                while let (true, Some((b'\t', rest))) = (document.tabs, line.split_first()) {
                    line = rest;
                }
                if line == document.end {
                    break;
                }
            }
        }
        Some(())
    }

    fn line_end(&self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.iter().position(|b| *b == b'\n').map_or(self.bytes.len(), |n| self.at + n)
    }
}

/// `NAME` or `NAME+`, before an equals sign.
fn is_variable(word: &[u8]) -> bool {
    let word = word.strip_suffix(b"+").unwrap_or(word);
    word.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && word.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

#[cfg(test)]
mod tests;
