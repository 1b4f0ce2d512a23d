//! Branches and loops: every branch, and rounds until nothing new is learnt (POSIX XCU 2.9.4).

use brush_parser::ast::{CompoundList, ElseClause, ForClauseCommand, IfClauseCommand, Word as RawWord};

use super::ending;
use crate::bounded::Bounded as _;
use crate::inspection::Build as _;
use crate::machine::{Machine, Scope, Stream, Variable, Word};

/// The most values of a `for` loop that are followed one by one.
pub(super) const MAX_ROUNDS: usize = 64;

/// The most branches of one `if`.
const MAX_BRANCHES: usize = 256;

impl Machine<'_> {
    pub(super) fn branches(&mut self, clause: &IfClauseCommand, stdin: &Stream) -> Stream {
        let (mut out, mut failed) = self.condition(&clause.condition, stdin);
        let mut written = self.conditional(|machine| machine.list(&clause.then, stdin));
        let mut after = self.scope.clone();
        let mut complete = false;
        for ElseClause { condition, body } in clause.elses.iter().flatten().at_most(MAX_BRANCHES) {
            self.scope = failed.clone();
            match condition {
                Some(condition) => {
                    let (more, otherwise) = self.conditional(|machine| machine.condition(condition, stdin));
                    out = out.then(more);
                    failed = otherwise;
                }
                None => complete = true,
            }
            written = written.or(self.conditional(|machine| machine.list(body, stdin)));
            after.join(&self.scope);
        }
        if !complete {
            after.join(&failed);
            written = written.or(Stream::empty());
        }
        self.scope = after;
        out.then(written)
    }

    /// A body that runs again and again, `ends` where it may do so after each round. The parameters are those of each round, as `shift`
    /// leaves them.
    pub(super) fn repeat(
        &mut self,
        stdin: &Stream,
        ends: bool,
        mut body: impl FnMut(&mut Self, &Stream) -> Stream,
    ) -> Stream {
        let mut out = None;
        let mut after: Option<Scope> = None;
        for round in 0.. {
            let start = self.scope.clone();
            let puts = self.puts;
            let written = body(self, stdin);
            out.get_or_insert(written);
            // What the first round writes the next one may read.
            let again = round == 0 && self.puts != puts;
            self.next_round();
            match &mut after {
                Some(after) => after.join(&self.scope),
                None => after = Some(self.scope.clone()),
            }
            self.scope.join_but_parameters(&start);
            if self.scope.same_values(&start) && !again {
                break;
            }
            if round == 2 * MAX_ROUNDS {
                self.out.too_much("a loop changes more from round to round than is followed");
                break;
            }
        }
        // Where a condition ends it, that knows the state.
        if let Some(after) = if ends { after } else { self.left_loop() } {
            self.scope = after;
        }
        out.unwrap_or_default().with_text(None)
    }

    /// Whether a loop that goes on as long as there are parameters has none left.
    pub(super) fn has_shifted_all(&self, condition: &CompoundList, holds: bool) -> bool {
        self.scope.parameters_known
            && self.scope.parameters.len() == 1
            && ending::counts_parameters(condition).is_some_and(|some| some == holds)
    }

    pub(super) fn for_each(&mut self, clause: &ForClauseCommand, stdin: &Stream) -> Stream {
        let before = self.effort;
        let out = self.looped(|machine| machine.each(clause, stdin));
        let did = self.effort.since(before);
        let counts =
            |raw: &RawWord| (raw.value.contains("seq ") || raw.value.contains("..")) && ending::is_large(&raw.value);
        if did.starts > 0 && clause.values.iter().flatten().any(counts) {
            self.judge_many(did);
        }
        out
    }

    fn each(&mut self, clause: &ForClauseCommand, stdin: &Stream) -> Stream {
        let values: Vec<Word> = match &clause.values {
            Some(raw) => raw.iter().flat_map(|word| self.fields(&word.value)).collect(),
            None => self.all_parameters(),
        };
        // A list that looks empty is not trusted to be: the body is read once.
        let hidden = values.is_empty() && clause.values.as_ref().is_some_and(|raw| !raw.is_empty());
        let values =
            if hidden || values.len() > MAX_ROUNDS { vec![Word::holes(clause.variable_name.as_str())] } else { values };
        let mut out = Stream::empty();
        for value in values {
            // Any number of words, or as many as there are files.
            let several = value.is_many() || value.is_pattern();
            // A pattern that nothing matches may be no word at all.
            if value.is_many() || (value.is_pattern() && self.scope.nullglob) {
                let none = self.scope.clone();
                self.leave_loop(&none);
            }
            let value = Variable::Scalar(value.alone());
            self.assign_variable(&clause.variable_name, value.clone());
            let written = if several {
                self.repeat(stdin, true, |machine, stdin| {
                    machine.assign_variable(&clause.variable_name, value.clone());
                    machine.list(&clause.body.list, stdin)
                })
            } else {
                let written = self.list(&clause.body.list, stdin);
                self.next_round();
                written
            };
            out = out.then(written);
        }
        out
    }
}
