//! Lists and pipelines: what runs after what, where an error goes unnoticed, and what runs in a shell apart (POSIX XCU 2.9.2, 2.9.3,
//! 2.12).

use brush_parser::ast::{AndOr, AndOrList, Command, CompoundList, CompoundListItem, Pipeline, SeparatorOperator};

use super::jumps::Kind;
use crate::bounded::Bounded as _;
use crate::machine::{Machine, Scope, Stream, Whereabouts};

/// The most commands of one list that follow each other by `&&` and `||`.
const MAX_LINKS: usize = 256;

impl Machine<'_> {
    pub(crate) fn list(&mut self, list: &CompoundList, stdin: &Stream) -> Stream {
        self.items(&list.0, stdin)
    }

    /// The items of a list; what `exec` leaves open in one of them holds in those after it.
    pub(super) fn items<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a CompoundListItem>,
        stdin: &Stream,
    ) -> Stream {
        let outer = self.standing.begin();
        let mut out = Stream::empty();
        for CompoundListItem(list, separator) in items {
            let kept = self.standing.input().cloned();
            let written = self.item(list, separator, kept.as_ref().unwrap_or(stdin));
            out = out.then(self.hand_on(written));
        }
        self.standing.end(outer);
        out
    }

    fn item(&mut self, list: &AndOrList, separator: &SeparatorOperator, stdin: &Stream) -> Stream {
        if matches!(separator, SeparatorOperator::Async) {
            let concurrent = std::mem::replace(&mut self.concurrent, true);
            self.effort.starts += 1;
            let pauses = self.effort.pauses;
            let out = self.apart(|machine| machine.and_or(list, stdin).0);
            // Nobody waits for what waits there.
            self.effort.pauses = pauses;
            self.concurrent = concurrent;
            return out;
        }
        let (out, failed) = self.and_or(list, stdin);
        if let Some(failed) = failed {
            self.scope.join(&failed);
        }
        out
    }

    /// What decides where a shell goes on: the scope is afterwards that where it holds; the other is where it does not.
    pub(super) fn condition(&mut self, list: &CompoundList, stdin: &Stream) -> (Stream, Scope) {
        let outer = std::mem::replace(&mut self.unchecked, true);
        let mut out = Stream::empty();
        let mut failed = None;
        for (i, item) in list.0.iter().enumerate() {
            let last = i + 1 == list.0.len() && !matches!(item.1, SeparatorOperator::Async);
            if last {
                let (written, otherwise) = self.and_or(&item.0, stdin);
                out = out.then(written);
                failed = otherwise;
            } else {
                out = out.then(self.item(&item.0, &item.1, stdin));
            }
        }
        self.unchecked = outer;
        let failed = failed.unwrap_or_else(|| self.scope.clone());
        (out, failed)
    }

    /// `a && b || c`. The scope is afterwards that where it succeeded; the other is where it failed and the shell goes on all the same.
    /// An error counts only in the last of them (POSIX XCU 2.15, `set -e`).
    fn and_or(&mut self, list: &AndOrList, stdin: &Stream) -> (Stream, Option<Scope>) {
        let outer = self.unchecked;
        self.unchecked = outer || !list.additional.is_empty();
        let (mut out, mut failed) = self.pipeline(&list.first, stdin);
        let sure = self.condition_begins();
        for (i, next) in list.additional.iter().at_most(MAX_LINKS).enumerate() {
            self.unchecked = outer || i + 1 < list.additional.len();
            match next {
                AndOr::And(pipeline) => {
                    let (written, otherwise) = self.pipeline(pipeline, stdin);
                    out = out.then(written);
                    failed = either(failed, otherwise);
                }
                AndOr::Or(pipeline) => {
                    self.condition_ends(sure);
                    self.condition_begins();
                    let otherwise = failed.take().unwrap_or_else(|| self.scope.clone());
                    let succeeded = std::mem::replace(&mut self.scope, otherwise);
                    let (written, otherwise) = self.pipeline(pipeline, stdin);
                    out = out.then(written);
                    // `cd x || exit`: what follows runs only where it worked.
                    self.scope.join(&succeeded);
                    failed = otherwise;
                }
            }
        }
        self.condition_ends(sure);
        self.unchecked = outer;
        (out, failed)
    }

    /// As [`Machine::and_or`].
    fn pipeline(&mut self, pipeline: &Pipeline, stdin: &Stream) -> (Stream, Option<Scope>) {
        let outer = std::mem::take(&mut self.inputs);
        let unchecked = self.unchecked;
        self.unchecked |= pipeline.bang;
        let before = self.scope.here();
        let out = self.members(pipeline, stdin);
        self.inputs.extend(outer);
        self.note_moment();
        let checked = self.scope.errexit && !self.unchecked;
        let mut failed = (!checked).then(|| self.if_failed(pipeline, &before));
        self.unchecked = unchecked;
        if pipeline.bang
            && let Some(failed) = &mut failed
        {
            std::mem::swap(failed, &mut self.scope);
        }
        (out, failed)
    }

    /// The state where a pipeline fails: what changes the folder did not. A compound command and a function have seen to that inside.
    fn if_failed(&self, pipeline: &Pipeline, before: &Whereabouts) -> Scope {
        let [Command::Simple(simple)] = pipeline.seq.as_slice() else { return self.scope.clone() };
        let name = simple.word_or_name.as_ref().map_or("", |word| word.value.as_str());
        if self.scope.function(name).is_some_and(|function| function.always) {
            return self.scope.clone();
        }
        if matches!(name, "cd" | "chdir" | "pushd" | "popd") {
            return self.scope.if_folder_change_failed(before);
        }
        let mut failed = self.scope.clone();
        failed.join_folders(before);
        failed
    }

    fn members(&mut self, pipeline: &Pipeline, stdin: &Stream) -> Stream {
        let mut data = stdin.clone();
        if let [only] = pipeline.seq.as_slice() {
            return self.command(only, data);
        }
        let concurrent = std::mem::replace(&mut self.concurrent, true);
        let upstream = self.upstream.clone();
        for (i, command) in pipeline.seq.iter().enumerate() {
            self.upstream.extend(self.inputs.iter().cloned());
            if self.scope.lastpipe && i + 1 == pipeline.seq.len() {
                let before = self.scope.clone();
                data = self.command(command, data);
                self.scope.join(&before);
            } else {
                data = self.apart(|machine| machine.command(command, data));
            }
        }
        self.upstream = upstream;
        self.concurrent = concurrent;
        data
    }

    /// Runs something in a subshell: what it changes holds only there.
    pub(super) fn apart<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.scope.clone();
        self.frames.push(Kind::Subshell.into());
        let standing = self.standing.clone();
        let out = work(self);
        self.flush_standing();
        self.standing = standing;
        self.frames.pop();
        self.scope = before;
        out
    }

    /// Runs something in a shell that is started as a program.
    pub(super) fn as_child<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let context = self.context;
        let child = self.scope.child(|name| context.env.contains_key(name) || super::parts::is_usual(name));
        let before = std::mem::replace(&mut self.scope, child);
        self.frames.push(Kind::Process.into());
        let outer = (self.starting, self.unchecked);
        (self.starting, self.unchecked) = (false, false);
        let inherited = self.standing.inherited();
        let standing = std::mem::replace(&mut self.standing, inherited);
        let out = work(self);
        self.standing = standing;
        (self.starting, self.unchecked) = outer;
        self.frames.pop();
        self.scope = before;
        out
    }
}

/// One of several states, where there is any.
pub(super) fn either(one: Option<Scope>, other: Option<Scope>) -> Option<Scope> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.join(&other);
            Some(one)
        }
        (one, other) => one.or(other),
    }
}
