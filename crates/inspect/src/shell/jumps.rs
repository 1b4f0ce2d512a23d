//! `break`, `continue`, `return` and `exit`: the state that they leave with is one of those that the shell goes on with (POSIX XCU 2.15).

use super::chain::either;
use crate::machine::{Machine, Scope, Word};

/// What a jump leaves, or does not get out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Loop,
    /// A function, or a file that `.` reads.
    Call,
    Subshell,
    /// A shell that is a program of its own.
    Process,
}

/// A loop, a function or a shell under way.
#[derive(Debug)]
pub(crate) struct Frame {
    kind: Kind,
    /// The state of those that left it.
    left: Option<Scope>,
    /// The state of those that went on to the next round.
    next: Option<Scope>,
    /// Whether a function jumps out of the loops around it.
    jumps: bool,
}

impl From<Kind> for Frame {
    fn from(kind: Kind) -> Self {
        Self { kind, left: None, next: None, jumps: false }
    }
}

impl Machine<'_> {
    /// Runs a loop with what its rounds leave.
    pub(super) fn looped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.framed(Kind::Loop, work)
    }

    /// The same for a function or a file that is read.
    pub(crate) fn within_call<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.framed(Kind::Call, work)
    }

    fn framed<T>(&mut self, kind: Kind, work: impl FnOnce(&mut Self) -> T) -> T {
        self.frames.push(kind.into());
        let out = work(self);
        if let Some(frame) = self.frames.pop() {
            if let Some(left) = frame.left {
                self.scope.join(&left);
            }
            if frame.jumps {
                self.jump_out(usize::MAX, true);
            }
        }
        out
    }

    /// Notes a state with which the loop under way may end.
    pub(super) fn leave_loop(&mut self, scope: &Scope) {
        if let Some(frame) = self.frames.last_mut() {
            frame.left = either(frame.left.take(), Some(scope.clone()));
        }
    }

    /// The states with which the loop under way may end, as one.
    pub(super) fn left_loop(&mut self) -> Option<Scope> {
        self.frames.last_mut().and_then(|frame| frame.left.take())
    }

    /// At the end of a round: those that went on to the next one.
    pub(super) fn next_round(&mut self) {
        if let Some(next) = self.frames.last_mut().and_then(|frame| frame.next.take()) {
            self.scope.join(&next);
        }
    }

    /// Whether the code under way is of a function, or of a file that is read.
    pub(crate) fn is_called(&self) -> bool {
        let mut inner = self.frames.iter().rev().take_while(|frame| frame.kind != Kind::Process);
        inner.any(|frame| frame.kind == Kind::Call)
    }

    /// Goes with the state as it is now to where a jump leads; what comes after it is not reached. With more words than one it is an error,
    /// and where there is nothing to leave it does nothing.
    pub(crate) fn jump(&mut self, name: &str, rest: &[Word]) {
        let number = |word: &Word| word.constant().and_then(|n| n.parse::<usize>().ok());
        let given = rest.first().map(number);
        // With `--help` it only explains itself.
        let plain = rest.len() < 2 && !rest.iter().any(|word| word.is_many() || word.prefix().starts_with("--"));
        let gone = match name {
            "exit" => true,
            "return" => {
                // A failure that ends the shell goes on nowhere.
                let ends = self.scope.errexit && !self.unchecked;
                if !(ends && matches!(given, Some(Some(1..)))) {
                    self.go_back();
                }
                self.is_called()
            }
            _ => {
                let known = matches!(given, None | Some(Some(1..)));
                let loops = given.map_or(1, |n| n.filter(|n| *n > 0).unwrap_or(usize::MAX));
                self.jump_out(loops, name == "break");
                known && self.frames.last().is_some_and(|frame| frame.kind == Kind::Loop)
            }
        };
        self.scope.left |= gone && plain;
    }

    fn go_back(&mut self) {
        let scope = self.scope.clone();
        for frame in self.frames.iter_mut().rev() {
            match frame.kind {
                Kind::Loop => {}
                Kind::Call => {
                    frame.left = either(frame.left.take(), Some(scope));
                    return;
                }
                Kind::Subshell | Kind::Process => return,
            }
        }
    }

    /// Out of so many loops, or of any where that is not known; out of the outermost one where there are not so many (Bash reference manual
    /// 4.1).
    fn jump_out(&mut self, loops: usize, ends: bool) {
        let scope = self.scope.clone();
        let own = self.frames.iter().rev().take_while(|frame| frame.kind == Kind::Loop).count();
        let outer = self.frames.len().saturating_sub(own);
        let call = outer.checked_sub(1).and_then(|at| self.frames.get_mut(at)).filter(|frame| frame.kind == Kind::Call);
        // Bash goes on to the loops around the function.
        let last = match call.filter(|_| loops > own) {
            Some(frame) => {
                frame.left = either(frame.left.take(), Some(scope.clone()));
                frame.jumps = true;
                0
            }
            None => loops.min(own),
        };
        for (count, frame) in self.frames.iter_mut().skip(outer).rev().enumerate() {
            if count + 1 == last || loops == usize::MAX {
                let to = if ends { &mut frame.left } else { &mut frame.next };
                *to = either(to.take(), Some(scope.clone()));
            }
        }
    }
}
