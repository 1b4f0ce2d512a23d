//! Functions: which bodies run, with which parameters and variables of their own (POSIX XCU 2.9.5; Bash reference manual 3.3).

use countersign_plan::tool::Effect;

use crate::inspection::{Build as _, FindingKind, UnknownKind};
use crate::machine::{MAX_DEPTH, Machine, Stream, Word};

impl Machine<'_> {
    /// Runs a function with its arguments, and what else the name may be.
    pub(crate) fn call(&mut self, name: &str, arguments: &[Word], stdin: &Stream) -> Option<Stream> {
        let function = self.scope.function(name)?.clone();
        if self.calls.iter().any(|call| call == name) {
            if self.concurrent {
                self.find(FindingKind::ForkBomb, format!("the function `{name}` starts itself again and again"));
            }
            self.unknown(UnknownKind::Code, Effect::Execute, format!("the function `{name}` calls itself"));
            return Some(Stream::unknown());
        }
        if self.calls.len() >= MAX_DEPTH as usize {
            self.out.too_much("functions call each other more deeply than is followed");
            return Some(Stream::unknown());
        }
        let before = self.scope.clone();
        let mut out: Option<Stream> = None;
        let mut after = None;
        if !function.always {
            out = Some(self.past_functions(name, arguments, stdin));
            after = Some(std::mem::replace(&mut self.scope, before.clone()));
        }
        self.calls.push(name.to_owned());
        for body in &function.bodies {
            self.scope = before.clone();
            let outer = self.scope.enter();
            let zero = self.scope.parameters.iter().take(1).cloned();
            self.scope.parameters = std::rc::Rc::new(zero.chain(arguments.iter().cloned()).collect());
            self.scope.parameters_known = true;
            let written = self.within_call(|machine| {
                let (stdin, target) = machine.redirected(body.1.as_ref(), stdin.clone());
                let out = machine.compound(&body.0, &stdin);
                machine.deliver(out, target)
            });
            self.scope.leave(outer);
            self.scope.parameters = std::rc::Rc::clone(&before.parameters);
            self.scope.parameters_known = before.parameters_known;
            out = Some(match out {
                Some(out) => out.or(written),
                None => written,
            });
            after = super::chain::either(after, Some(self.scope.clone()));
        }
        self.calls.pop();
        if let Some(after) = after {
            self.scope = after;
        }
        out
    }

    /// The positional parameters.
    pub(crate) fn all_parameters(&self) -> Vec<Word> {
        if self.scope.parameters_known {
            self.scope.parameters.iter().skip(1).cloned().collect()
        } else {
            vec![Word::holes("@")]
        }
    }

    /// The word at a place of a list, where words before it may be any number of words: it may be any of those from there on. Nothing where
    /// there is none.
    pub(super) fn nth(&self, words: &[Word], n: usize, name: &str) -> Vec<Word> {
        let several = |word: &Word| word.is_many() || word.is_pattern();
        match words.iter().position(several) {
            Some(first) if first == n && words.get(n).is_some_and(|word| !word.is_many()) => {
                words.get(n).cloned().into_iter().collect()
            }
            Some(first) if first <= n => {
                let rest = words.get(first..).unwrap_or_default();
                let known = !rest.iter().any(Word::has_hole);
                let any = if let [only] = rest { Some(only.alone()) } else { None };
                vec![any.or_else(|| self.one_of(rest).filter(|_| known)).unwrap_or_else(|| Word::hole(name))]
            }
            Some(_) | None => words.get(n).cloned().into_iter().collect(),
        }
    }

    /// How many words a list becomes, where that is known.
    pub(super) fn count(words: &[Word]) -> Option<usize> {
        let single = |word: &Word| !word.is_many() && !word.is_pattern();
        words.iter().all(single).then_some(words.len())
    }
}
