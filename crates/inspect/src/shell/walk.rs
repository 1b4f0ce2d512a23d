//! The syntax tree, walked as a shell would run it: every branch, loops until nothing new is learnt, functions when called.

use brush_parser::ast::{
    AssignmentName, AssignmentValue, BinaryPredicate, CaseItemPostAction, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, ExtendedTestExpr, Program, RedirectList, SimpleCommand, SourceLocation as _,
    Word as RawWord,
};
use countersign_plan::tool::Effect;

use super::ending;
use super::loops::MAX_ROUNDS;
use super::redirect::may_fail;
use crate::bounded::Bounded as _;
use crate::inspection::{FindingKind, Span, UnknownKind};
use crate::machine::{Machine, Stream, Variable, Word};

/// The most branches of one `case`.
const MAX_CASES: usize = 256;

/// What each round of a loop with this condition reads: one line where it reads once and the lines are known, or the names of files
/// that a line may be. `None` is all of the input.
fn rounds(condition: &CompoundList, stdin: &Stream) -> Vec<Option<Stream>> {
    if ending::names_read(condition).is_none() {
        return vec![None];
    }
    let lines: Vec<&str> = stdin.text.iter().flat_map(|text| text.lines()).collect();
    let line = |text: &&str| Some(Stream { text: Some((*text).to_owned()), ..stdin.clone() });
    let name = |word: &Word| Some(Stream { listing: vec![word.clone()], ..stdin.clone() });
    match (lines.len(), stdin.listing.len()) {
        (2..=MAX_ROUNDS, _) => lines.iter().map(line).collect(),
        (0, 2..) => stdin.listing.iter().map(name).collect(),
        _ => vec![None],
    }
}

impl Machine<'_> {
    /// A whole program; what it writes to standard output.
    pub(crate) fn walk(&mut self, program: &Program, stdin: &Stream) -> Stream {
        let out = self.items(program.complete_commands.iter().flat_map(|list| &list.0), stdin);
        self.flush_standing();
        out
    }

    pub(super) fn command(&mut self, command: &Command, stdin: Stream) -> Stream {
        if self.depth == 0 && self.calls.is_empty() {
            self.span = place(command);
        }
        match command {
            Command::Simple(simple) => self.simple(simple, stdin),
            Command::Compound(compound, redirects) => {
                let (stdin, target) = self.redirected(redirects.as_ref(), stdin);
                let fails = redirects.as_ref().is_some_and(|list| list.0.iter().any(may_fail));
                let before = fails.then(|| self.scope.clone());
                let out = self.compound(compound, &stdin);
                if let Some(before) = before {
                    self.scope.join(&before);
                }
                self.deliver(out, target)
            }
            Command::Function(function) => {
                if !self.spend() {
                    return Stream::unknown();
                }
                self.scope.define(&function.fname.value, function.body.clone());
                Stream::empty()
            }
            Command::ExtendedTest(test, redirects) => {
                if !self.spend() {
                    return Stream::unknown();
                }
                let (_, target) = self.redirected(redirects.as_ref(), stdin);
                self.test(&test.expr);
                self.deliver(Stream::empty(), target)
            }
        }
    }

    pub(super) fn redirected(
        &mut self,
        redirects: Option<&RedirectList>,
        stdin: Stream,
    ) -> (Stream, Vec<super::redirect::Target>) {
        match redirects {
            Some(list) => self.redirects(list.0.iter(), stdin),
            None => (stdin, Vec::new()),
        }
    }

    pub(crate) fn compound(&mut self, compound: &CompoundCommand, stdin: &Stream) -> Stream {
        if !self.spend() {
            return Stream::unknown();
        }
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, stdin),
            CompoundCommand::Subshell(subshell) => self.apart(|machine| machine.list(&subshell.list, stdin)),
            CompoundCommand::IfClause(clause) => self.branches(clause, stdin),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                let holds = matches!(compound, CompoundCommand::WhileClause(_));
                let before = self.effort;
                let mut condition = self.effort;
                let endless = ending::constant(&clause.0) == Some(holds);
                let mut out = Stream::empty();
                for line in rounds(&clause.0, stdin) {
                    out = out.then(self.looped(|machine| {
                        machine.repeat(stdin, false, |machine, stdin| {
                            let (out, failed) = machine.condition(&clause.0, line.as_ref().unwrap_or(stdin));
                            condition = machine.effort;
                            let ends = if holds { failed } else { std::mem::replace(&mut machine.scope, failed) };
                            if !endless {
                                machine.leave_loop(&ends);
                            }
                            if machine.has_shifted_all(&clause.0, holds) {
                                return out;
                            }
                            out.then(machine.conditional(|machine| machine.list(&clause.1.list, stdin)))
                        })
                    }));
                }
                // The last `read`, which finds no line, leaves its names empty.
                for name in ending::names_read(&clause.0).into_iter().flatten() {
                    self.scope.set(name, Variable::Unknown);
                }
                let did = self.effort.since(before);
                if endless {
                    self.judge_endless(did);
                    if ending::constant(&clause.1.list).is_some() && self.effort.limits == 0 {
                        self.find(FindingKind::ForkBomb, "a loop without end keeps a processor busy, and does nothing");
                    }
                } else {
                    if holds {
                        self.judge_until_full(condition.since(before), did);
                    }
                    // `until grep -q up log; do :; done`
                    let pauses = did.pauses > 0 || did.limits > 0 || clause.0.to_string().contains("read ");
                    if ending::constant(&clause.1.list).is_some() && !pauses {
                        let message = "a loop that waits without a pause keeps a processor busy";
                        self.unknown(UnknownKind::Code, Effect::Execute, message);
                    }
                }
                out
            }
            CompoundCommand::ForClause(clause) => self.for_each(clause, stdin),
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&part.value);
                }
                let before = self.effort;
                let out = self.looped(|machine| {
                    let start = machine.scope.clone();
                    machine.leave_loop(&start);
                    machine.repeat(stdin, true, |machine, stdin| machine.list(&clause.body.list, stdin))
                });
                let did = self.effort.since(before);
                match clause.condition.as_ref().map(|part| part.value.trim()) {
                    None | Some("" | "1" | "true") => self.judge_endless(did),
                    Some(bound) if ending::is_large(bound) => self.judge_many(did),
                    Some(_) => {}
                }
                out
            }
            CompoundCommand::CaseClause(clause) => {
                self.single(&clause.value.value);
                // Where a case before it goes on into the next ones (Bash reference manual 3.2.5.2), they start where that one ends too.
                let mut start = self.scope.clone();
                let mut after = start.clone();
                let mut out = Stream::empty();
                for case in clause.cases.iter().at_most(MAX_CASES) {
                    for pattern in &case.patterns {
                        self.single(&pattern.value);
                    }
                    if let Some(list) = &case.cmd {
                        self.scope = start.clone();
                        out = out.or(self.conditional(|machine| machine.list(list, stdin)));
                        after.join(&self.scope);
                        if !matches!(case.post_action, CaseItemPostAction::ExitCase) {
                            start.join(&self.scope);
                        }
                    }
                }
                self.scope = after;
                out
            }
            CompoundCommand::Arithmetic(command) => {
                self.arithmetic(&command.expr.value);
                Stream::empty()
            }
            CompoundCommand::Coprocess(process) => {
                let concurrent = std::mem::replace(&mut self.concurrent, true);
                let out = self.apart(|machine| machine.command(&process.body, Self::pipe()));
                self.concurrent = concurrent;
                let name = process.name.as_ref().map_or("COPROC", |name| name.value.as_str());
                self.keeps_coprocess(name, out);
                Stream::unknown()
            }
        }
    }

    fn test(&mut self, expr: &ExtendedTestExpr) {
        match expr {
            ExtendedTestExpr::And(a, b) | ExtendedTestExpr::Or(a, b) => {
                self.test(a);
                self.test(b);
            }
            ExtendedTestExpr::Not(a) | ExtendedTestExpr::Parenthesized(a) => self.test(a),
            ExtendedTestExpr::UnaryTest(_, word) => {
                let word = self.single(&word.value);
                self.judge_index(&word.shown());
            }
            ExtendedTestExpr::BinaryTest(sign, a, b) => {
                let sums = matches!(
                    sign,
                    BinaryPredicate::ArithmeticEqualTo
                        | BinaryPredicate::ArithmeticNotEqualTo
                        | BinaryPredicate::ArithmeticLessThan
                        | BinaryPredicate::ArithmeticLessThanOrEqualTo
                        | BinaryPredicate::ArithmeticGreaterThan
                        | BinaryPredicate::ArithmeticGreaterThanOrEqualTo
                );
                for raw in [a, b] {
                    let word = self.single(&raw.value);
                    if let Some(text) = word.constant().filter(|_| sums) {
                        self.judge_index(text);
                        self.judge_names(text);
                    }
                }
            }
        }
    }

    /// The words of a simple command's arguments; process substitutions become files.
    pub(crate) fn argument(
        &mut self,
        item: &CommandPrefixOrSuffixItem,
        declares: bool,
        stdin: &Stream,
        out: &mut Vec<Word>,
    ) {
        match item {
            CommandPrefixOrSuffixItem::Word(word) => self.word(word, declares, out),
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                if let (AssignmentValue::Array(_), AssignmentName::VariableName(name)) =
                    (&assignment.value, &assignment.name)
                {
                    let flags: Vec<Word> = out.iter().skip(1).cloned().collect();
                    self.owns(out.first().and_then(Word::constant).unwrap_or(""), &flags, name);
                    self.assign(assignment);
                    out.push(Word::text(name));
                } else {
                    self.word(word, declares, out);
                }
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                let file = self.process_substitution(kind, subshell, stdin);
                match out.last_mut().filter(|word| word.shown().ends_with('=')) {
                    Some(option) => option.append(&file),
                    None => out.push(file),
                }
            }
            CommandPrefixOrSuffixItem::IoRedirect(_) => {}
        }
    }

    fn word(&mut self, word: &RawWord, declares: bool, out: &mut Vec<Word>) {
        if declares && word.value.contains('=') {
            out.push(self.single(&word.value));
        } else {
            self.add_fields(&word.value, out);
        }
    }
}

/// Where a command stands. Of a simple one the ends are those of its first and last part, which needs no more than a look.
fn place(command: &Command) -> Option<Span> {
    if let Command::Simple(SimpleCommand {
        prefix: None,
        word_or_name: Some(RawWord { loc: Some(first), .. }),
        suffix,
    }) = command
    {
        let last = suffix.as_ref().map_or(Some(first), |suffix| match suffix.0.last() {
            Some(CommandPrefixOrSuffixItem::Word(RawWord { loc, .. })) => loc.as_ref(),
            _ => None,
        });
        if let Some(last) = last {
            return Some(Span { start: first.start.index, end: last.end.index });
        }
    }
    command.location().map(|at| Span { start: at.start.index, end: at.end.index })
}
