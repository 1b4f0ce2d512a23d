//! Abstract values: words that are known in part, and data that flows between programs.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The most patterns that a list of files is followed by. Beyond that it may name any file.
const MAX_LISTING: usize = 32;

/// The most constant parts that data is known to have.
const MAX_PARTS: usize = 8;

/// The most places that data is known to come from.
const MAX_SOURCES: usize = 64;

/// A field of a command after expansion: text that is known, glob characters that are not quoted, and holes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    parts: Vec<Part>,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Known text.
    Text(String),
    /// `*`, `?` or `[`, which the shell replaces by names of files.
    Glob(char),
    /// Something that is known only at run time: what it is called, and whether it may become several words.
    Hole { name: String, many: bool },
}

/// Whether a part is a number that only a run shows.
fn is_number(part: &Part) -> bool {
    const NUMBERS: &[&str] =
        &["a number", "?", "#", "!", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "EPOCHSECONDS"];
    matches!(part, Part::Hole { name, .. } if NUMBERS.contains(&name.as_str()))
}

impl Word {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { parts: if text.is_empty() { Vec::new() } else { vec![Part::Text(text)] } }
    }

    /// A text in which `*`, `?` and `[` stand for names of files.
    pub(crate) fn pattern(text: &str) -> Self {
        let mut word = Self::default();
        for c in text.chars() {
            if matches!(c, '*' | '?' | '[') {
                word.push(Part::Glob(c));
            } else {
                word.push_str(c.encode_utf8(&mut [0; 4]));
            }
        }
        word
    }

    pub(crate) fn hole(name: impl Into<String>) -> Self {
        Self { parts: vec![Part::Hole { name: name.into(), many: false }] }
    }

    /// Any number of words that are known only at run time.
    pub(crate) fn holes(name: impl Into<String>) -> Self {
        Self { parts: vec![Part::Hole { name: name.into(), many: true }] }
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Part::Text(last)) = self.parts.last_mut() {
            last.push_str(text);
        } else {
            self.parts.push(Part::Text(text.to_owned()));
        }
    }

    pub(crate) fn push(&mut self, part: Part) {
        match part {
            Part::Text(text) => self.push_str(&text),
            part @ (Part::Glob(_) | Part::Hole { .. }) => self.parts.push(part),
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        for part in &other.parts {
            self.push(part.clone());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The text where every part of it is known and none is a pattern.
    pub(crate) fn constant(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text, glob characters included, where nothing is a hole.
    pub(crate) fn known(&self) -> Option<String> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Glob(c) => out.push(*c),
                Part::Hole { .. } => return None,
            }
        }
        Some(out)
    }

    /// As [`Word::shown`], without a copy where all of it is known.
    pub(crate) fn spelled(&self) -> Cow<'_, str> {
        self.constant().map_or_else(|| Cow::Owned(self.shown()), Cow::Borrowed)
    }

    /// The text for people and for patterns: holes are written `${name}`.
    pub(crate) fn shown(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Glob(c) => out.push(*c),
                Part::Hole { name, .. } => {
                    out.push_str("${");
                    out.push_str(name);
                    out.push('}');
                }
            }
        }
        out
    }

    /// The word with any text in the place of numbers that only a run shows, where there is text beside them and no other hole.
    pub(crate) fn numbers_as_pattern(&self) -> Option<Self> {
        let number = is_number;
        let hole = |part: &Part| matches!(part, Part::Hole { .. });
        let any = self.parts.iter().any(number) && self.parts.iter().all(|part| !hole(part) || number(part));
        let beside = self.parts.iter().any(|part| matches!(part, Part::Text(text) if text.len() > 2));
        let one = |part: &Part| if number(part) { Part::Glob('*') } else { part.clone() };
        (any && beside).then(|| Self { parts: self.parts.iter().map(one).collect() })
    }

    /// Its text with some number in the place of each that only a run shows, where nothing else is open: `$((a+1)),$((b))p`.
    pub(crate) fn with_numbers(&self) -> Option<String> {
        let one = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            // A variable of that name could have been given a text.
            Part::Hole { name, .. } => matches!(name.as_str(), "a number" | "?" | "#").then(|| "1".to_owned()),
            Part::Glob(_) => None,
        };
        self.parts.iter().map(one).collect()
    }

    /// The word with any text in the place of what only a run shows, where it is known where the name begins and that it ends as what
    /// nothing runs or believes, as settings (`.json`, `.xml`, `.txt`) and texts that agents obey (`.md`) may be: `po/$language.po`.
    pub(crate) fn data_as_pattern(&self) -> Option<Self> {
        const DATA: &[&str] = &[
            "csv", "tsv", "jsonl", "ndjson", "geojson", "gpx", "log", "pdf", "png", "jpg", "jpeg", "gif", "svg",
            "webp", "tif", "tiff", "bmp", "wav", "mp3", "mp4", "mov", "flac", "ogg", "srt", "vtt", "gz", "xz", "zst",
            "bz2", "zip", "tar", "tgz", "parquet", "npy", "npz", "h5", "nc", "xlsx", "po", "sql", "diff", "patch",
            "dat", "bak",
        ];
        // In a folder for what is made, these too.
        const MADE: &[&str] = &["json", "txt", "html", "xml"];
        const FOLDERS: &[&str] = &[
            "out",
            "output",
            "outputs",
            "data",
            "results",
            "result",
            "reports",
            "report",
            "export",
            "exports",
            "dump",
            "dumps",
            "fixtures",
            "snapshots",
            "artifacts",
            "tmp",
            "cache",
            "logs",
            "figures",
            "tables",
            "corpus",
            "backup",
            "backups",
        ];
        let (Some(Part::Text(first)), Some(Part::Text(last))) = (self.parts.first(), self.parts.last()) else {
            return None;
        };
        let whole = |part: &Part| !matches!(part, Part::Hole { many: true, .. });
        let folder = first.rsplit_once('/').map_or("", |(folder, _)| folder);
        let of_made = folder.split('/').any(|name| FOLDERS.contains(&name));
        let ending = last
            .rsplit_once('.')
            .is_some_and(|(_, ending)| DATA.contains(&ending) || (of_made && MADE.contains(&ending)));
        let begins =
            !first.starts_with(['-', '~', '.']) && first.trim_start_matches("./").len() > 1 && !first.contains("/.");
        if !(self.has_hole() && ending && begins && self.parts.iter().all(whole)) {
            return None;
        }
        let hole = |part: &Part| matches!(part, Part::Hole { .. });
        let one = |part: &Part| if hole(part) { Part::Glob('*') } else { part.clone() };
        // Several holes beside each other are one text.
        let mut parts = self.parts.clone();
        parts.dedup_by(|b, a| hole(a) && hole(b));
        Some(Self { parts: parts.iter().map(one).collect() })
    }

    /// What is known before the first hole.
    pub(crate) fn prefix(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Glob(c) => out.push(*c),
                Part::Hole { .. } => break,
            }
        }
        out
    }

    /// The name of the first hole.
    pub(crate) fn first_hole(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| match part {
            Part::Hole { name, .. } => Some(name.as_str()),
            Part::Text(_) | Part::Glob(_) => None,
        })
    }

    pub(crate) fn has_hole(&self) -> bool {
        self.first_hole().is_some()
    }

    pub(crate) fn is_pattern(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Glob(_)))
    }

    /// Whether it may become any number of words.
    pub(crate) fn is_many(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Hole { many: true, .. }))
    }

    /// The one word that this stands for in a loop over all of them.
    pub(crate) fn alone(&self) -> Self {
        let one = |part: &Part| match part {
            Part::Hole { name, .. } => Part::Hole { name: name.clone(), many: false },
            Part::Text(_) | Part::Glob(_) => part.clone(),
        };
        Self { parts: self.parts.iter().map(one).collect() }
    }

    /// The same word after its first `n` bytes of known text, if it begins with so many.
    pub(crate) fn skip(&self, n: usize) -> Option<Self> {
        let mut rest = n;
        let mut out = Self::default();
        for part in &self.parts {
            match part {
                Part::Text(text) if rest > 0 => {
                    let cut = rest.min(text.len());
                    out.push_str(text.get(cut..)?);
                    rest -= cut;
                }
                Part::Glob(_) if rest > 0 => rest -= 1,
                Part::Hole { .. } if rest > 0 => return None,
                part => out.push(part.clone()),
            }
        }
        (rest == 0).then_some(out)
    }

    /// Every file below the folder that this word names.
    pub(crate) fn all_below(&self) -> Self {
        let mut out = self.clone();
        if !self.shown().ends_with('/') {
            out.push_str("/");
        }
        out.push(Part::Glob('*'));
        out.push(Part::Glob('*'));
        out
    }

    /// The word with every `from` in known text replaced.
    pub(crate) fn replace(&self, from: &str, to: &Self) -> Self {
        let mut out = Self::default();
        for part in &self.parts {
            match part {
                Part::Text(text) => {
                    for (i, piece) in text.split(from).enumerate() {
                        if i > 0 {
                            out.append(to);
                        }
                        out.push_str(piece);
                    }
                }
                part @ (Part::Glob(_) | Part::Hole { .. }) => out.push(part.clone()),
            }
        }
        out
    }

    /// What comes before and after the first `separator` in known text.
    pub(crate) fn split_once(&self, separator: char) -> Option<(Self, Self)> {
        let mut before = Self::default();
        for (i, part) in self.parts.iter().enumerate() {
            if let Part::Text(text) = part
                && let Some((head, tail)) = text.split_once(separator)
            {
                before.push_str(head);
                let mut after = Self::text(tail);
                for rest in self.parts.iter().skip(i + 1) {
                    after.push(rest.clone());
                }
                return Some((before, after));
            }
            before.push(part.clone());
        }
        None
    }
}

/// What flows from one program to the next, or stands in a file that the same line wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The whole content, where it is constant.
    pub(crate) text: Option<String>,
    /// Where it is not: the parts that are, in their order.
    pub(crate) parts: Vec<String>,
    /// Whether something was decoded on the way.
    pub(crate) decoded: bool,
    /// Whether a host's answer is in it.
    pub(crate) remote: bool,
    /// Whether it has no end: a device that never stops, or a program that says the same again and again.
    pub(crate) endless: bool,
    /// The files, or `env`, that it holds data of.
    pub(crate) sources: BTreeSet<String>,
    /// Where it is a list of names of files: the patterns that they match.
    pub(crate) listing: Vec<Word>,
}

impl Stream {
    /// No data at all: what a program without output writes.
    pub(crate) fn empty() -> Self {
        Self { text: Some(String::new()), ..Self::default() }
    }

    /// Data of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self::default()
    }

    pub(crate) fn constant(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// The same origin, without the content.
    pub(crate) fn origin(&self) -> Self {
        Self { text: None, parts: Vec::new(), listing: self.listing.clone(), sources: self.sources.clone(), ..*self }
    }

    /// The same origin in parts: a name that it lists may be cut in two.
    pub(crate) fn in_parts(&self) -> Self {
        Self { listing: Vec::new(), ..self.origin() }
    }

    /// Adds where data comes from. Beyond the bound it comes from anywhere.
    fn add_sources(&mut self, more: BTreeSet<String>) {
        if self.sources.is_empty() {
            self.sources = more;
            return;
        }
        for source in more {
            if self.sources.len() >= MAX_SOURCES {
                self.sources.insert("?".to_owned());
                return;
            }
            self.sources.insert(source);
        }
    }

    /// The same origin with other content.
    pub(crate) fn with_text(mut self, text: Option<String>) -> Self {
        self.text = text;
        self.parts.clear();
        self
    }

    /// What is known of the content: all of it, or the parts that are constant.
    pub(crate) fn known(&self) -> impl Iterator<Item = &str> {
        self.text.iter().chain(&self.parts).map(String::as_str)
    }

    /// Keeps the constant parts of data that is not constant as a whole.
    pub(crate) fn keep(&mut self, parts: impl IntoIterator<Item = String>) {
        for part in parts {
            if self.parts.len() < MAX_PARTS && !part.is_empty() && !self.parts.contains(&part) {
                self.parts.push(part);
            }
        }
    }

    /// The names that stand in it where it is a list of such: patterns, words that are known, anything where nothing is known.
    fn names(&self) -> Vec<Word> {
        match &self.text {
            _ if !self.listing.is_empty() => self.listing.clone(),
            Some(text) => text.lines().filter(|line| !line.trim().is_empty()).map(line_as_name).collect(),
            None => vec![Word::holes("name")],
        }
    }

    /// Takes over the list of `other`. What else stands beside names is taken for names too.
    fn join_list(&mut self, other: &Self) {
        if self.listing.is_empty() && other.listing.is_empty() {
            return;
        }
        let names = self.names();
        self.listing.clear();
        self.list(names);
        self.list(other.names());
    }

    /// Adds patterns of names of files.
    pub(crate) fn list(&mut self, patterns: Vec<Word>) {
        for pattern in patterns {
            if self.listing.contains(&pattern) {
                continue;
            }
            if self.listing.len() >= MAX_LISTING {
                self.listing = vec![Word::holes("name")];
            }
            self.listing.push(pattern);
        }
    }

    /// This, followed by `other`.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.join_list(&other);
        self.text = match (self.text.take(), other.text) {
            (Some(mut a), Some(b)) => {
                a.push_str(&b);
                Some(a)
            }
            (a, b) => {
                self.keep(a.into_iter().chain(other.parts).chain(b));
                None
            }
        };
        self.decoded |= other.decoded;
        self.remote |= other.remote;
        self.endless |= other.endless;
        self.add_sources(other.sources);
        self
    }

    /// Either this or `other`.
    pub(crate) fn or(mut self, other: Self) -> Self {
        self.join_list(&other);
        if self.text != other.text || self.text.is_none() {
            let text = self.text.take();
            self.keep(text.into_iter().chain(other.parts).chain(other.text));
        }
        self.decoded |= other.decoded;
        self.remote |= other.remote;
        self.endless |= other.endless;
        self.add_sources(other.sources);
        self
    }
}

/// A line as a name of a file; where it may hold several words, or none, anything.
fn line_as_name(line: &str) -> Word {
    let line = line.trim();
    if line.contains(char::is_whitespace) { Word::holes("name") } else { Word::text(line) }
}
