//! What `exec` without a command leaves open for all that comes after it (POSIX XCU 2.15, `exec`).

use std::collections::BTreeMap;

use brush_parser::ast::{CommandPrefixOrSuffixItem, IoFileRedirectKind, IoRedirect};
use countersign_plan::tool::Effect;

use super::redirect::Target;
use crate::bounded::{Bounded as _, has_room};
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream};

/// The most descriptors that are followed.
const MAX_DESCRIPTORS: usize = 32;

/// What the shell under way reads from and writes to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    input: Option<Stream>,
    /// Where standard output goes, where that was changed since the list under way began.
    outputs: Option<Vec<Target>>,
    /// What was written to commands among them.
    written: Option<Stream>,
    /// What descriptors beyond the first three are open for writing to.
    descriptors: BTreeMap<i32, Target>,
}

impl Standing {
    /// What a program has of it.
    pub(super) fn inherited(&self) -> Self {
        Self { descriptors: self.descriptors.clone(), ..Self::default() }
    }

    /// What a list begins with, and what it goes back to.
    pub(super) fn begin(&mut self) -> (Option<Stream>, Option<Vec<Target>>) {
        (self.input.take(), self.outputs.take())
    }

    pub(super) fn end(&mut self, outer: (Option<Stream>, Option<Vec<Target>>)) {
        self.input = match (self.input.take(), outer.0) {
            (Some(own), Some(outer)) => Some(outer.or(own)),
            (own, outer) => own.or(outer),
        };
        self.outputs = match (self.outputs.take(), outer.1) {
            (Some(own), Some(outer)) => Some(beside(Some(&outer), &own)),
            (own, outer) => own.or(outer),
        };
    }

    pub(super) fn input(&self) -> Option<&Stream> {
        self.input.as_ref()
    }

    pub(super) fn open(&mut self, fd: i32, target: Target) {
        if self.descriptors.contains_key(&fd) || has_room(self.descriptors.len(), MAX_DESCRIPTORS) {
            self.descriptors.insert(fd, target);
        }
    }

    /// Whether anything of it leads to another command or comes from elsewhere.
    fn is_open(&self) -> bool {
        let runs = |target: &Target| !matches!(target, Target::File { .. });
        self.input.is_some() || self.outputs.iter().flatten().chain(self.descriptors.values()).any(runs)
    }

    pub(super) fn target(&self, fd: &str) -> Option<&Target> {
        self.descriptors.get(&fd.parse().ok()?)
    }
}

impl Machine<'_> {
    /// `exec` with redirections alone.
    pub(super) fn keep_redirections<'a>(
        &mut self,
        items: impl Iterator<Item = &'a CommandPrefixOrSuffixItem>,
        stdin: &Stream,
        targets: &[Target],
    ) {
        for item in items {
            let CommandPrefixOrSuffixItem::IoRedirect(redirect) = item else { continue };
            let copied = |fd: Option<i32>| matches!(fd, Some(3..));
            let duplicates = matches!(
                redirect,
                IoRedirect::File(fd, IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput, _)
                    if copied(*fd)
            );
            let (input, output) = match redirect {
                IoRedirect::HereDocument(fd, _) | IoRedirect::HereString(fd, _) => {
                    (matches!(fd, None | Some(0)), false)
                }
                IoRedirect::OutputAndError(..) => (false, true),
                IoRedirect::File(fd, kind, _) => match kind {
                    IoFileRedirectKind::Read
                    | IoFileRedirectKind::ReadAndWrite
                    | IoFileRedirectKind::DuplicateInput => (matches!(fd, None | Some(0)), false),
                    IoFileRedirectKind::Write
                    | IoFileRedirectKind::Append
                    | IoFileRedirectKind::Clobber
                    | IoFileRedirectKind::DuplicateOutput => (false, matches!(fd, None | Some(1 | 2))),
                },
            };
            // What was set before may still hold, where only a branch sets another one.
            if input {
                let before = self.standing.input.take();
                self.standing.input = Some(before.map_or_else(|| stdin.clone(), |before| before.or(stdin.clone())));
            }
            if output {
                self.flush_standing();
                self.standing.outputs = Some(beside(self.standing.outputs.as_deref(), targets));
            }
            if duplicates && self.standing.is_open() {
                let message = "where a descriptor leads that is made of another one is not followed";
                self.unknown(UnknownKind::Code, Effect::Execute, message);
            }
        }
    }

    /// What is written goes to where `exec` leads; what is left goes on.
    pub(super) fn hand_on(&mut self, out: Stream) -> Stream {
        if out.text.as_deref() == Some("") {
            return out;
        }
        let Some(targets) = self.standing.outputs.clone().filter(|targets| !targets.is_empty()) else { return out };
        for target in targets {
            match target {
                Target::File { path, .. } => self.write_file(&path, out.clone(), true),
                Target::Process(_) | Target::Coprocess(_) => {
                    let before = self.standing.written.take().unwrap_or_else(Stream::empty);
                    self.standing.written = Some(before.then(out.clone()));
                }
            }
        }
        Stream::empty()
    }

    /// Hands what was written to the commands that read it.
    pub(super) fn flush_standing(&mut self) {
        let Some(written) = self.standing.written.take() else { return };
        let targets = self.standing.outputs.clone().unwrap_or_default();
        let commands = targets.into_iter().filter(|target| !matches!(target, Target::File { .. })).collect();
        self.deliver(written, commands);
    }
}

/// Where output goes by now, and the commands that it went to before: only a branch may have changed it.
fn beside(before: Option<&[Target]>, now: &[Target]) -> Vec<Target> {
    let commands = before.into_iter().flatten().filter(|target| !matches!(target, Target::File { .. }));
    commands.chain(now).cloned().at_most(MAX_DESCRIPTORS).collect()
}
