//! Files that the line itself writes: what lies where a word leads, by each place that it may name.

use countersign_plan::tool::Effect;

use super::{ENDLESS, MAX_FILES, Machine, Stream, Word};
use crate::inspection::{Build as _, FindingKind};
use crate::path;
use crate::program::has;
use crate::shell::pattern;

impl Machine<'_> {
    /// What is in the file that `word` names, as far as this line decides it; reading it is written down.
    pub(crate) fn read_file(&mut self, word: &Word) -> Stream {
        self.touch_path(Effect::Read, word, false);
        let names = self.paths(word);
        if names.as_slice() == ["/dev/null"] {
            return Stream::empty();
        }
        let mut stream = self.held(word);
        stream.endless |= names.iter().any(|name| ENDLESS.contains(&name.as_str()));
        stream.sources.extend(names);
        stream
    }

    /// What the line itself put into the file, without reading it; nothing is known of what it did not write.
    pub(crate) fn held(&self, word: &Word) -> Stream {
        self.put_at(word).unwrap_or_default()
    }

    /// What the line put where `word` leads: all that it may be, in whichever folder the shell is by then and whichever files match.
    pub(crate) fn put_at(&self, word: &Word) -> Option<Stream> {
        let names = self.put_names(word);
        // Others may match too; and who stands where it is certain does not know what stood there before.
        let open = word.is_pattern()
            || names.iter().any(|name| self.altered.contains(name))
            || (self.paths(word).len() == 1 && names.iter().any(|name| self.perhaps.contains(name)));
        let held = names.iter().filter_map(|name| self.files.get(name)).cloned().reduce(Stream::or)?;
        Some(if open { held.or(Stream::unknown()) } else { held })
    }

    /// The files of the line's own that a word may name.
    pub(crate) fn put_names(&self, word: &Word) -> Vec<String> {
        let paths = self.paths(word);
        let fits = |name: &&String| paths.iter().any(|path| pattern::matches(path, name));
        match word.is_pattern() {
            true => self.files.keys().filter(fits).cloned().collect(),
            false => paths.into_iter().filter(|path| self.files.contains_key(path)).collect(),
        }
    }

    /// Something other than the line's own words is written where these files are: what they hold is not what was put there.
    pub(crate) fn alters(&mut self, name: &str, pattern: bool) {
        // Who changes rights, dates or layout changes no deed.
        const SAME: &str = "chmod chown chgrp touch setfacl chattr black ruff isort prettier gofmt rustfmt clang-format shfmt dos2unix";
        if self.files.is_empty() || has(SAME, &self.by) {
            return;
        }
        // Of a folder above the project somebody only says that anything there may change.
        let wide = self.context.cwd == name || path::is_below(&self.context.cwd, name);
        let fits = |own: &&String| {
            (pattern && pattern::matches(name, own)) || own.as_str() == name || (!wide && path::is_below(own, name))
        };
        let fits: Vec<String> = self.files.keys().filter(fits).cloned().collect();
        self.altered.extend(fits);
    }

    /// Writes down what lies at a place now; where it may be another place that is written, either.
    pub(crate) fn put(&mut self, name: String, data: Stream, either: bool) {
        self.puts += 1;
        let data = match self.files.remove(&name) {
            Some(before) if either => before.or(data),
            Some(before) if self.conditional > 0 => {
                self.replaced.push((name.clone(), before));
                data
            }
            _ => data,
        };
        self.altered.remove(&name);
        if !either {
            self.perhaps.remove(&name);
        }
        if self.files.len() < MAX_FILES {
            if either {
                self.perhaps.insert(name.clone());
            }
            self.files.insert(name, data);
        } else {
            self.out.too_much("more files are written than are followed");
        }
    }

    /// Reads something that only a condition lets run: what it puts into files holds there, and is one of two things afterwards.
    pub(crate) fn conditional<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.condition_begins();
        let out = work(self);
        self.condition_ends(mark);
        out
    }

    pub(crate) fn condition_begins(&mut self) -> usize {
        self.conditional += 1;
        self.replaced.len()
    }

    /// As [`Machine::conditional`], with what [`Machine::condition_begins`] gave.
    pub(crate) fn condition_ends(&mut self, mark: usize) {
        self.conditional -= 1;
        for (name, before) in self.replaced.get(mark..).unwrap_or_default().to_vec() {
            if let Some(now) = self.files.remove(&name) {
                self.files.insert(name, before.or(now));
            }
        }
        if self.conditional == 0 {
            self.replaced.clear();
        }
    }

    /// Writes `data` to the file that `word` names.
    pub(crate) fn write_file(&mut self, word: &Word, data: Stream, append: bool) {
        let before = if append { self.put_at(word) } else { None };
        self.touch_path(Effect::Update, word, false);
        let host = word.shown();
        if data.endless && !host.starts_with("/dev/") {
            self.find(FindingKind::ForkBomb, format!("`{}` writes to {host} until the disk is full", self.by));
        }
        self.effort.fresh += u32::from(append && !host.starts_with("/dev/"));
        if host.starts_with("/dev/tcp/") || host.starts_with("/dev/udp/") {
            let address = host.split('/').nth(3).unwrap_or("?").to_owned();
            let texts: Vec<String> = data.known().map(str::to_owned).collect();
            self.speaks(&texts, &Word::text(address.as_str()));
            self.send(&data, &Word::text(address));
            return;
        }
        let names = self.paths(word);
        let several = names.len() > 1 || word.is_pattern();
        for name in names {
            let nothing = !append && data.text.as_deref() == Some("");
            let begun = !nothing && !several && self.emptied.remove(&name).is_some();
            if begun || !(append || nothing || several || word.has_hole()) {
                self.made.insert(name.clone());
            }
            self.judge_written(&name, &data);
            let now = match &before {
                Some(before) => before.clone().then(data.clone()),
                None if append => Stream::unknown().then(data.clone()),
                None => data.clone(),
            };
            self.put(name, now, several);
        }
    }
}
