//! A set of path patterns, asked by hash of each folder on the way and one automaton for patterns that hang nowhere.

use std::collections::HashMap;

use globset::{Candidate, GlobSet, GlobSetBuilder};

use super::pattern::{Pattern, PatternError, Rest, builder};
use super::{Place, is_within, meet};

/// What is asked at each folder on the way: its entries and the rest of the path; true ends the walk.
type AtAnchor<'f> = dyn FnMut(&[(u32, Rest)], &str) -> bool + 'f;

/// How names are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Byte for byte: for what is allowed.
    Exact,
    /// In folded case: for what is denied, protected or classified.
    Folded,
}

/// A compiled set of patterns, each with an id; several patterns may share one.
#[derive(Debug)]
pub struct PathSet {
    case: Case,
    anchored: HashMap<Box<str>, Vec<(u32, Rest)>>,
    /// Which lengths the keys of `anchored` have, so that most folders are passed by without hashing.
    lengths: Vec<bool>,
    floating: GlobSet,
    floating_ids: Vec<u32>,
    /// Each pattern as text, absolute or beginning with `**`.
    shapes: Vec<(u32, String)>,
}

impl PathSet {
    /// A set without patterns.
    #[must_use]
    pub fn empty(case: Case) -> Self {
        let anchored = HashMap::new();
        Self {
            case,
            anchored,
            lengths: Vec::new(),
            floating: GlobSet::empty(),
            floating_ids: Vec::new(),
            shapes: Vec::new(),
        }
    }

    /// Compiles patterns.
    ///
    /// # Errors
    /// The first pattern that does not compile.
    pub fn compile<'p>(
        case: Case,
        place: &Place,
        patterns: impl IntoIterator<Item = (u32, &'p str)>,
    ) -> Result<Self, PatternError> {
        let mut set = Self::empty(case);
        let mut floating = GlobSetBuilder::new();
        for (id, text) in patterns {
            let pattern = Pattern::parse(text, place, case)?;
            let wrong = |e: globset::Error| PatternError { pattern: text.to_owned(), what: e.kind().to_string() };
            set.shapes.extend(pattern.shapes().map(|shape| (id, shape)));
            if let Some(anchor) = pattern.anchor {
                if set.lengths.len() <= anchor.len() {
                    set.lengths.resize(anchor.len() + 1, false);
                }
                if let Some(slot) = set.lengths.get_mut(anchor.len()) {
                    *slot = true;
                }
                set.anchored.entry(anchor.into()).or_default().push((id, pattern.rest));
            } else {
                for text in &pattern.texts {
                    floating.add(builder(text).build().map_err(wrong)?);
                    set.floating_ids.push(id);
                }
            }
        }
        set.floating = floating
            .build()
            .map_err(|e| PatternError { pattern: String::new(), what: format!("all together: {}", e.kind()) })?;
        Ok(set)
    }

    /// How names are compared.
    #[must_use]
    pub const fn case(&self) -> Case {
        self.case
    }

    /// Whether there is no pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.anchored.is_empty() && self.floating_ids.is_empty()
    }

    /// Calls `visit` with the id of each pattern that matches the normalised `path`, spelled in the set's case. An id may come
    /// more than once.
    pub(super) fn hits(&self, path: &str, visit: &mut dyn FnMut(u32)) {
        self.each_anchor(path, &mut |entries, rest| {
            for (id, pattern) in entries {
                if pattern.fits(rest) {
                    visit(*id);
                }
            }
            false
        });
        if !self.floating_ids.is_empty() {
            let candidate = Candidate::new(path.strip_prefix('/').unwrap_or(path));
            // Most paths fit none of them, which is sooner said than which ones one fits.
            if !self.floating.is_match_candidate(&candidate) {
                return;
            }
            for index in self.floating.matches_candidate(&candidate) {
                if let Some(id) = self.floating_ids.get(index) {
                    visit(*id);
                }
            }
        }
    }

    /// Calls `visit` with the ids of patterns that a pattern of a command may meet. Patterns that hang nowhere (`**/*.pem`) count
    /// where the command's begins a name in one folder (`.e*`): that `*.txt` or `**` may name such a file is nobody's claim.
    pub(super) fn met_by(&self, command: &str, visit: &mut dyn FnMut(u32)) {
        let folder = command.strip_suffix("/**").unwrap_or(command);
        // What a search picks somewhere below a folder shows only on a machine.
        if folder.contains("**") {
            return;
        }
        let last = folder.rsplit('/').next().unwrap_or(folder);
        let aimed = !last.starts_with(['*', '?', '[']) && folder == command;
        for (id, shape) in &self.shapes {
            if (aimed || !shape.starts_with("**")) && meet::meet(command, shape) {
                visit(*id);
            }
        }
    }

    /// Whether any pattern matches.
    pub(super) fn contains(&self, path: &str) -> bool {
        let anchored =
            self.each_anchor(path, &mut |entries, rest| entries.iter().any(|(_, pattern)| pattern.fits(rest)));
        anchored || (!self.floating_ids.is_empty() && self.floating.is_match(path.strip_prefix('/').unwrap_or(path)))
    }

    /// The ids of patterns that hang from a folder below `dir`: what is known to lie there without looking.
    pub fn anchored_below(&self, dir: &str) -> impl Iterator<Item = u32> {
        let dir = match self.case {
            Case::Folded => super::fold(dir).into_owned(),
            Case::Exact => dir.to_owned(),
        };
        self.anchored
            .iter()
            .filter(move |(anchor, _)| anchor.as_ref() != dir && is_within(anchor, &dir))
            .flat_map(|(_, entries)| entries.iter().map(|(id, _)| *id))
    }

    /// Calls `found` with the entries of each folder on the way to `path`, itself included, and the rest below that folder, until
    /// it says true.
    fn each_anchor(&self, path: &str, found: &mut AtAnchor<'_>) -> bool {
        if self.anchored.is_empty() {
            return false;
        }
        let ends = path.bytes().enumerate().skip(1).filter(|(_, b)| *b == b'/').map(|(i, _)| i);
        let root = (path.len() > 1).then_some(0);
        for end in root.into_iter().chain(ends).chain(std::iter::once(path.len())) {
            let known = if end == 0 { 1 } else { end };
            if !self.lengths.get(known).copied().unwrap_or(false) {
                continue;
            }
            let Some((folder, rest)) = path.split_at_checked(end) else { continue };
            let folder = if end == 0 { "/" } else { folder };
            if let Some(entries) = self.anchored.get(folder)
                && found(entries, rest.strip_prefix('/').unwrap_or(rest))
            {
                return true;
            }
        }
        false
    }
}
