//! Files that the line itself writes: what lies where a word leads, by each place that it may name.

use countersign_plan::tool::Effect;

use super::{ENDLESS, MAX_FILES, Machine, Stream, Word};
use crate::inspection::{Build as _, FindingKind};
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
        let paths = self.paths(word);
        if !word.is_pattern() {
            return paths.iter().filter_map(|path| self.files.get(path)).cloned().reduce(Stream::or);
        }
        let fits = |name: &String| paths.iter().any(|path| pattern::matches(path, name));
        let held = self.files.iter().filter(|(name, _)| fits(name)).map(|(_, held)| held.clone());
        // Others may match too.
        held.reduce(Stream::or).map(|held| held.or(Stream::unknown()))
    }

    /// Writes down what lies at a place now; where it may be another place that is written, either.
    pub(crate) fn put(&mut self, name: String, data: Stream, either: bool) {
        let data = match self.files.remove(&name) {
            Some(before) if either => before.or(data),
            _ => data,
        };
        if self.files.len() < MAX_FILES {
            self.files.insert(name, data);
        } else {
            self.out.too_much("more files are written than are followed");
        }
    }

    /// Writes `data` to the file that `word` names.
    pub(crate) fn write_file(&mut self, word: &Word, data: Stream, append: bool) {
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
            let now = match self.files.get(&name).filter(|_| append) {
                Some(before) => before.clone().then(data.clone()),
                None if append => Stream::unknown().then(data.clone()),
                None => data.clone(),
            };
            self.put(name, now, several);
        }
    }
}
