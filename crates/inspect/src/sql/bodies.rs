//! The text of a block beside a mask of it: the same text in lower case, with blanks in the place of what stands in quotes, so that a word
//! that is looked for is one of the language (PostgreSQL, "Lexical Structure").

use super::apart;

/// A text without comments, and its mask, which is as long.
pub(super) struct Bare {
    text: String,
    mask: String,
}

/// The text of a block without its comments; nothing where quotes are left open or may be read in more than one way.
pub(super) fn bare(body: &str) -> Option<Bare> {
    if body.contains(['\\', '`']) {
        return None;
    }
    let (mut text, mut mask) = (String::with_capacity(body.len()), String::with_capacity(body.len()));
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        let dollar = if c == '$' { apart::dollar(rest) } else { None };
        let length = match (c, dollar) {
            ('\'' | '"', _) => 1 + rest.get(1..)?.find(c)? + 1,
            (_, Some(tag)) => {
                // Behind a letter it is a part of a name.
                let named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
                (!text.chars().next_back().is_some_and(named)).then_some(())?;
                tag.len() * 2 + rest.get(tag.len()..)?.find(tag)?
            }
            ('-', _) if rest.starts_with("--") => {
                text.push(' ');
                mask.push(' ');
                rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or("");
                continue;
            }
            ('/', _) if rest.starts_with("/*") => {
                let end = rest.find("*/")?;
                // Comments stand in comments here, and nowhere else.
                (!rest.get(2..end)?.contains("/*")).then_some(())?;
                text.push(' ');
                mask.push(' ');
                rest = rest.get(end + 2..)?;
                continue;
            }
            (c, _) => {
                text.push(c);
                mask.push(c.to_ascii_lowercase());
                rest = rest.get(c.len_utf8()..)?;
                continue;
            }
        };
        let (quoted, after) = rest.split_at_checked(length)?;
        text.push_str(quoted);
        let mark = if c == '$' { '\'' } else { c };
        mask.push(mark);
        mask.extend(std::iter::repeat_n(' ', length - 2));
        mask.push(mark);
        rest = after;
    }
    Some(Bare { text, mask })
}

impl Bare {
    pub(super) fn whole(&self) -> Masked<'_> {
        Masked { text: &self.text, mask: &self.mask }
    }
}

/// A part of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Masked<'a> {
    pub(super) text: &'a str,
    pub(super) mask: &'a str,
}

impl<'a> Masked<'a> {
    /// What stands from a place on.
    pub(super) fn from(self, at: usize) -> Self {
        Self { text: self.text.get(at..).unwrap_or(""), mask: self.mask.get(at..).unwrap_or("") }
    }

    /// What stands before a place.
    pub(super) fn to(self, at: usize) -> Self {
        Self { text: self.text.get(..at).unwrap_or(""), mask: self.mask.get(..at).unwrap_or("") }
    }

    pub(super) fn trimmed(self) -> Self {
        let begun = self.from(self.text.len() - self.text.trim_start().len());
        begun.to(begun.text.trim_end().len())
    }

    /// The word that stands first.
    pub(super) fn first(self) -> &'a str {
        let end = self.mask.find(|c: char| !is_part(c)).unwrap_or(self.mask.len());
        self.mask.get(..end).unwrap_or("")
    }

    /// Where a word stands that is no part of another.
    pub(super) fn find(self, word: &str) -> Option<usize> {
        self.all(word).next()
    }

    fn all(self, word: &str) -> impl Iterator<Item = usize> {
        self.mask.match_indices(word).map(|(at, _)| at).filter(move |at| {
            let before = self.mask.get(..*at).and_then(|head| head.chars().next_back());
            let after = self.mask.get(at + word.len()..).and_then(|tail| tail.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    }

    /// What stands before such a word and behind it.
    pub(super) fn around(self, word: &str) -> Option<(Self, Self)> {
        let at = self.find(word)?;
        Some((self.to(at), self.from(at + word.len())))
    }

    /// What stands between semicolons.
    pub(super) fn statements(self) -> Vec<Self> {
        let (mut out, mut from) = (Vec::new(), 0);
        for (at, _) in self.mask.match_indices(';').chain([(self.mask.len(), "")]) {
            out.push(self.to(at).from(from).trimmed());
            from = at + 1;
        }
        out.retain(|piece| !piece.text.is_empty());
        out
    }

    /// What stands between such marks, outside of brackets.
    pub(super) fn parts(self, mark: &str) -> Vec<Self> {
        let (mut out, mut from, mut depth) = (Vec::new(), 0, 0_usize);
        for (at, c) in self.mask.char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                _ if depth == 0 && at >= from && self.mask.get(at..).is_some_and(|rest| rest.starts_with(mark)) => {
                    out.push(self.to(at).from(from).trimmed());
                    from = at + mark.len();
                }
                _ => {}
            }
        }
        out.push(self.from(from).trimmed());
        out
    }

    /// What stands in the brackets of a call, where nothing follows them.
    pub(super) fn inside(self) -> Option<Self> {
        let open = self.mask.find('(')?;
        let mut depth = 0_usize;
        let close = self.mask.char_indices().skip_while(|(at, _)| *at < open).find(|(_, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })?;
        let alone = self.mask.get(close.0 + 1..)?.trim().is_empty();
        alone.then(|| self.to(close.0).from(open + 1))
    }

    /// The texts in quotes, where there is nothing else.
    pub(super) fn constant(&self) -> Option<String> {
        let only = self.mask.starts_with('\'') && self.mask.chars().all(|c| c == '\'' || c.is_whitespace());
        only.then(|| self.constants())
    }

    /// The texts in quotes one behind the other, with a name between them where something else stands.
    pub(super) fn constants(self) -> String {
        let mut out = String::new();
        let mut rest = self.text;
        let mut any = false;
        while let Some(at) = rest.find(['\'', '$', '"']) {
            let (between, quoted) = rest.split_at(at);
            if any && between.chars().any(char::is_alphanumeric) {
                out.push('x');
            }
            let tag = match quoted.chars().next() {
                Some('$') => apart::dollar(quoted).unwrap_or("$"),
                Some('"') => "\"",
                _ => "'",
            };
            let (body, after) = match quoted.get(tag.len()..).and_then(|body| body.split_once(tag)) {
                Some(found) if tag != "$" => found,
                _ => ("", quoted.get(1..).unwrap_or("")),
            };
            // Two of them are one that stands in a text.
            if any && at == 0 && tag == "'" {
                out.push('\'');
            }
            if tag != "\"" {
                out.push_str(body);
                any |= tag != "$";
            }
            rest = after;
        }
        if any && rest.chars().any(char::is_alphanumeric) {
            out.push('x');
        }
        out
    }

    /// `name := value`, `name[1] = value`
    pub(super) fn assigned(self) -> Option<Self> {
        let at = self.mask.find('=')?;
        let value = self.from(at + 1);
        let name = self.to(at).mask.trim_end_matches(':').trim();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '+' | '-');
        (!name.is_empty() && name.chars().all(plain)).then_some(value)
    }

    /// `SELECT a INTO x FROM t`: without the variables that take what is read.
    pub(super) fn without_target(self) -> String {
        let inserts = |at: &usize| {
            let before = self.to(*at).mask.trim_end();
            ["insert", "merge", "replace"].iter().any(|word| before.ends_with(word))
        };
        let Some(at) = self.all("into").find(|at| !inserts(at)) else { return self.text.to_owned() };
        let mut rest = self.from(at + "into".len()).trimmed();
        if rest.first() == "strict" {
            rest = rest.from("strict".len()).trimmed();
        }
        loop {
            let plain = |c: char| is_part(c) || matches!(c, '.' | '[' | ']');
            let end = rest.mask.find(|c: char| !plain(c)).unwrap_or(rest.mask.len());
            rest = rest.from(end).trimmed();
            if !rest.mask.starts_with(',') {
                break;
            }
            rest = rest.from(1).trimmed();
        }
        format!("{} {}", self.to(at).text, rest.text)
    }

    /// The text with a comma in the place of a word, so that what stands on both sides of it is computed.
    pub(super) fn with_comma_for(self, word: &str) -> String {
        match self.around(word) {
            Some((before, after)) => format!("{}, {}", before.text, after.text),
            None => self.text.to_owned(),
        }
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
