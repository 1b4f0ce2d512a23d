//! Actions of `trap`: they run with what holds whenever the shell ends or a signal comes (POSIX XCU 2.15, `trap`).

use std::collections::BTreeSet;

use countersign_plan::tool::Effect;

use crate::bounded::has_room;
use crate::inspection::{Span, UnknownKind};
use crate::machine::{Machine, Scope, Stream, Word};

/// The most actions that are followed.
const MAX_TRAPS: usize = 16;

/// The most states that an action is read in, one by one.
const MAX_MOMENTS: usize = 16;

/// The most changes of state that are followed while an action is set: each of them is a copy.
const MAX_CHANGES: usize = 512;

/// The most times that actions set other ones.
const MAX_TURNS: usize = 3;

/// The actions that are set, and the states that came about since the first of them was.
#[derive(Debug, Default)]
pub(crate) struct Traps {
    actions: Vec<Action>,
    moments: Vec<Scope>,
    /// The state that was noted last, and how many were.
    last: Option<Scope>,
    changes: usize,
}

#[derive(Debug)]
struct Action {
    text: Word,
    span: Option<Span>,
    /// The first state that it may run in.
    since: usize,
    /// What the line itself had made before.
    made: BTreeSet<String>,
}

impl Machine<'_> {
    /// Sets an action.
    pub(crate) fn set_trap(&mut self, text: &Word, at_exit: bool) {
        if !has_room(self.traps.actions.len(), MAX_TRAPS) {
            return;
        }
        // What comes about by a signal may do so before any command.
        if !at_exit {
            let before = self.scope.clone();
            self.shell_text(text, &Stream::unknown());
            let changed = !self.scope.same_values(&before);
            self.scope = before;
            if changed {
                let message = format!("what the action `{}` changes is not followed", text.shown());
                self.unknown(UnknownKind::Value, Effect::Execute, message);
            }
        }
        self.add_moment();
        let (text, span, made) = (text.clone(), self.span, self.made.clone());
        self.traps.actions.push(Action { text, span, since: self.traps.moments.len().saturating_sub(1), made });
    }

    /// Keeps the state as it is now, where an action may run in it.
    pub(super) fn note_moment(&mut self) {
        if !self.traps.actions.is_empty() {
            self.add_moment();
        }
    }

    fn add_moment(&mut self) {
        let same = |last: &Scope| last.same_values(&self.scope);
        if self.traps.changes > MAX_CHANGES || self.traps.last.as_ref().is_some_and(same) {
            return;
        }
        self.traps.changes += 1;
        if !has_room(self.traps.changes, MAX_CHANGES) {
            self.traps.changes = MAX_CHANGES + 1;
            self.traps.last = None;
            return;
        }
        self.traps.last = Some(self.scope.clone());
        let room = self.traps.moments.len() < MAX_MOMENTS;
        match self.traps.moments.last_mut() {
            Some(last) if !room => last.join(&self.scope),
            _ => self.traps.moments.push(self.scope.clone()),
        }
    }

    /// At the end of all: reads the actions in each of the states.
    pub(super) fn at_exit(&mut self) {
        for _ in 0..MAX_TURNS {
            let Traps { actions, mut moments, .. } = std::mem::take(&mut self.traps);
            if actions.is_empty() {
                return;
            }
            moments.push(self.scope.clone());
            // Between `trap … "$tmp"` and `tmp=$(mktemp -d)` there is nothing to take away yet.
            for i in (1..moments.len()).rev() {
                if let Some((earlier, later)) = moments.split_at_mut_checked(i)
                    && let (Some(earlier), Some(later)) = (earlier.last_mut(), later.first())
                {
                    earlier.fill(later);
                }
            }
            for i in 1..moments.len() {
                if let Some((earlier, later)) = moments.split_at_mut_checked(i)
                    && let (Some(earlier), Some(later)) = (earlier.last(), later.first_mut())
                {
                    later.fill(earlier);
                }
            }
            for action in actions {
                self.span = action.span;
                let made = std::mem::replace(&mut self.made, action.made);
                for moment in moments.iter().skip(action.since.min(moments.len().saturating_sub(1))) {
                    self.scope = moment.clone();
                    self.scope.left = false;
                    self.shell_text(&action.text, &Stream::unknown());
                }
                self.made = made;
            }
        }
        if !has_room(self.traps.actions.len(), 1) {
            self.traps = Traps::default();
        }
    }
}
