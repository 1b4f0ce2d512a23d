//! What a plan's earlier steps wrote: a script that is written and then run is read before it runs, and one whose text nobody
//! knows is asked about.

use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Definition, Driver, Effect, TargetKind};
use countersign_plan::value::Expr;
use serde::{Deserialize, Serialize};

use super::arguments::Arg;
use super::{By, Derived, Touch};
use crate::deployment::Standing;
use crate::facts::PathKind;
use crate::paths::is_within;

/// The longest text that is kept, and all of them together, in bytes.
const MAX_TEXT: usize = 64 * 1024;
const MAX_TOGETHER: usize = 256 * 1024;

/// The most files that are remembered.
const MAX_FILES: usize = 1024;

/// What earlier steps of the plan and earlier actions of the agent wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    /// Files whose text is known, by absolute path.
    pub(crate) texts: BTreeMap<String, String>,
    /// Files and folders whose content is not, and the farthest host that it may come from.
    opaque: BTreeMap<String, Option<Standing>>,
    /// Files that the agent read as a whole, by absolute path: what stands there counts against what runs them, never for it. It is
    /// not kept: the record has no business with what files hold that nobody wrote.
    #[serde(skip)]
    pub(crate) seen: BTreeMap<String, String>,
    /// Files that the plan made, as far as anybody can tell: nothing was there before, or nobody knew of it. Nothing outlives the plan.
    #[serde(skip)]
    made: BTreeSet<String>,
    /// Of the opaque ones those that nothing but an installation of packages wrote.
    #[serde(skip)]
    installed: BTreeSet<String>,
    /// Links that the plan made: where, and to what.
    #[serde(skip)]
    links: Vec<(String, String)>,
    /// Whether more was written than is remembered.
    overfull: bool,
}

impl Written {
    /// Nothing yet.
    pub(crate) const EMPTY: Self = Self {
        texts: BTreeMap::new(),
        opaque: BTreeMap::new(),
        seen: BTreeMap::new(),
        made: BTreeSet::new(),
        installed: BTreeSet::new(),
        links: Vec::new(),
        overfull: false,
    };

    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.opaque.is_empty() && !self.overfull
    }

    /// Links that the plan made before.
    pub(crate) fn links(&self) -> impl Iterator<Item = &(String, String)> {
        self.links.iter()
    }

    /// Whether the file was made by an earlier step: it may go again.
    pub(crate) fn made(&self, path: &str) -> bool {
        self.made.contains(path)
    }

    /// Whether the file, or something below the folder where `below` is meant, was written with a text nobody knows.
    pub(crate) fn is_opaque(&self, path: &str, below: bool) -> bool {
        self.overfull || self.opaque(path, below).next().is_some()
    }

    /// Whether all that was written there unseen came by an installation of packages, which was judged by itself.
    pub(crate) fn is_installed(&self, path: &str, below: bool) -> bool {
        let near = |from: &Option<Standing>| from.is_none_or(|from| from <= Standing::Known);
        !self.overfull && self.opaque(path, below).all(|(known, from)| near(from) && self.installed.contains(known))
    }

    /// The farthest host that the file's content may come from.
    pub(crate) fn came_from(&self, path: &str, below: bool) -> Option<Standing> {
        self.opaque(path, below).filter_map(|(_, from)| *from).max()
    }

    fn opaque(&self, path: &str, below: bool) -> impl Iterator<Item = (&String, &Option<Standing>)> {
        // Data in a folder for data is no code, unless a host that nobody knows sent it or that folder is what runs.
        let known_data = move |known: &str, from: &Option<Standing>| {
            from.is_none_or(|from| from <= Standing::Known) && known.strip_prefix(path).is_some_and(is_data)
        };
        let counts = move |known: &str, from: &Option<Standing>| {
            is_within(path, known) || (below && is_within(known, path) && !known_data(known, from))
        };
        self.opaque.iter().filter(move |(known, from)| counts(known, from))
    }

    /// Keeps the text of a file that was read as a whole; nothing where there is no room.
    pub(crate) fn saw(&mut self, path: &str, text: &str) {
        let together: usize = self.seen.values().map(String::len).sum();
        if text.len() <= MAX_TEXT && together + text.len() <= MAX_TOGETHER && self.seen.len() < MAX_FILES {
            self.seen.insert(path.to_owned(), text.to_owned());
        }
    }

    fn know(&mut self, path: &str, text: String) {
        self.seen.remove(path);
        let together: usize = self.texts.values().map(String::len).sum();
        if text.len() > MAX_TEXT || together + text.len() > MAX_TOGETHER || self.texts.len() >= MAX_FILES {
            self.forget(path, None);
            return;
        }
        self.opaque.remove(path);
        self.texts.insert(path.to_owned(), text);
    }

    fn forget(&mut self, path: &str, from: Option<Standing>) {
        self.texts.retain(|known, _| !is_within(known, path));
        self.installed.remove(path);
        if self.opaque.len() >= MAX_FILES {
            self.overfull = true;
            return;
        }
        self.opaque.insert(path.to_owned(), from);
    }
}

impl Written {
    /// Whether a step writes anything that is remembered here.
    pub(crate) fn concerns(derived: &Derived) -> bool {
        derived.touches.iter().any(writes)
    }

    /// Adds what a step writes.
    pub(crate) fn write_down(&mut self, tool: &Definition, args: &Expr, derived: &Derived) {
        let room = MAX_FILES.saturating_sub(self.links.len());
        self.overfull |= derived.links.len() > room;
        self.links.extend(derived.links.iter().take(room).cloned());
        let changed: Vec<&Touch> = derived.touches.iter().filter(|touch| writes(touch)).collect();
        if changed.is_empty() {
            return;
        }
        // What is copied or moved there may be the last of its kind, and what is added to was there before.
        let takes = changed.iter().any(|touch| touch.effect == Effect::Delete || touch.by == By::Move);
        let makes = matches!(tool.name.as_str(), "write_file" | "execute_command" | "run_program") && !takes;
        for touch in &changed {
            let new =
                self.made.contains(&touch.name) || matches!(touch.path_kind, PathKind::Missing | PathKind::Unknown);
            let whole = touch.kind == TargetKind::File && !touch.pattern;
            if makes && new && whole && self.made.len() < MAX_FILES {
                self.made.insert(touch.name.clone());
            } else {
                self.made.retain(|known| !is_within(known, &touch.name));
            }
        }
        let text = |name: &str| match Arg::of(args, &Pointer::from_segments(vec![name.to_owned()])) {
            Arg::Text(text) => Some(text),
            Arg::List(_) | Arg::Open | Arg::Absent | Arg::Other => None,
        };
        let builtin = match &tool.driver {
            Driver::Builtin(name) => name.as_str(),
            Driver::None | Driver::Command(_) | Driver::Http(_) | Driver::Mcp(_) => "",
        };
        match (builtin, changed.as_slice()) {
            ("write_file", [file]) => match text("content") {
                Some(content) => self.know(&file.name, content),
                None => self.forget(&file.name, None),
            },
            ("append_file", [file]) => match (self.texts.get(&file.name).cloned(), text("content")) {
                (Some(before), Some(content)) => self.know(&file.name, before + &content),
                // What was there before is the project's own; what is added alone can be read.
                (None, Some(content)) if !self.is_opaque(&file.name, false) => self.know(&file.name, content),
                (None | Some(_), _) => self.forget(&file.name, None),
            },
            ("copy_file" | "move_file", _) => {
                let from = derived.touches.first().map(|touch| touch.name.clone()).unwrap_or_default();
                let to = derived.touches.last().map(|touch| touch.name.clone()).unwrap_or_default();
                if let Some(known) = self.texts.get(&from).cloned() {
                    self.know(&to, known);
                } else if self.is_opaque(&from, true) {
                    let farthest = self.came_from(&from, true);
                    self.forget(&to, farthest);
                }
            }
            ("create_directory" | "delete_file" | "delete_directory", _) => {
                for touch in changed {
                    self.texts.retain(|known, _| !is_within(known, &touch.name));
                }
            }
            // A program that talks to nobody writes what it makes of the project; one that does may write what it was sent.
            ("execute_command" | "run_program" | "git", _) => {
                let farthest = derived.touches.iter().filter_map(|touch| touch.standing).max();
                for touch in changed {
                    self.texts.retain(|known, _| !is_within(known, &touch.name));
                    if farthest.is_some() {
                        // What was written there before by anything else is still in it.
                        let anew = !self.opaque.contains_key(&touch.name) || self.installed.contains(&touch.name);
                        self.forget(&touch.name, farthest);
                        if derived.installs && anew {
                            self.installed.insert(touch.name.clone());
                        }
                    }
                }
            }
            _ => changed.into_iter().for_each(|touch| self.forget(&touch.name, None)),
        }
    }
}

fn writes(touch: &Touch) -> bool {
    let file = matches!(touch.kind, TargetKind::File | TargetKind::Directory);
    file && touch.changes() && touch.by != By::View && !touch.is_open()
}

/// Whether a file only holds data, by its name and by a folder for such files on the way to it.
fn is_data(path: &str) -> bool {
    const FOLDERS: &[&str] = &["data", "reports", "notes", "docs", "exports", "logs"];
    const ENDS: &[&str] = &[".json", ".csv", ".tsv", ".txt", ".md", ".log", ".pdf"];
    let mut folders = path.split('/').rev().skip(1);
    ENDS.iter().any(|end| path.ends_with(end))
        && folders.any(|folder| FOLDERS.contains(&folder))
        && !path.contains("/.")
        && !path.ends_with("package.json")
        && !path.ends_with("requirements.txt")
}
