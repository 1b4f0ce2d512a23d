//! The syntax tree, walked as a shell would run it: every branch, loops until nothing new is learnt, functions when called.

use brush_parser::ast::{
    AndOr, AndOrList, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ElseClause, ExtendedTestExpr,
    ForClauseCommand, IfClauseCommand, Pipeline, Program, RedirectList, SeparatorOperator, SimpleCommand,
    SourceLocation as _, Word as RawWord,
};
use countersign_plan::tool::Effect;

use super::ending;
use crate::inspection::{Build as _, FindingKind, Span, UnknownKind};
use crate::machine::{MAX_DEPTH, Machine, Stream, Variable, Word};

/// The most values of a `for` loop that are followed one by one.
const MAX_ROUNDS: usize = 64;

/// What each round of a loop with this condition reads: one line where it reads once and the lines are known, or the names of files
/// that a line may be. `None` is all of the input.
fn rounds(condition: &CompoundList, stdin: &Stream) -> Vec<Option<Stream>> {
    if condition.to_string().matches("read ").count() != 1 {
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
        let mut out = Stream::empty();
        for list in &program.complete_commands {
            out = out.then(self.list(list, stdin));
        }
        out
    }

    pub(crate) fn list(&mut self, list: &CompoundList, stdin: &Stream) -> Stream {
        let mut out = Stream::empty();
        for item in &list.0 {
            if matches!(item.1, SeparatorOperator::Async) {
                let before = self.scope.clone();
                let concurrent = std::mem::replace(&mut self.concurrent, true);
                self.effort.starts += 1;
                let pauses = self.effort.pauses;
                out = out.then(self.and_or(&item.0, stdin));
                // Nobody waits for what waits there.
                self.effort.pauses = pauses;
                self.concurrent = concurrent;
                self.scope = before;
            } else {
                out = out.then(self.and_or(&item.0, stdin));
            }
        }
        out
    }

    /// `a && b || c`: in `b` the folder and variables of `a` hold; afterwards either may.
    fn and_or(&mut self, list: &AndOrList, stdin: &Stream) -> Stream {
        if list.additional.is_empty() {
            let before = self.scope.here();
            let out = self.pipeline(&list.first, stdin);
            if !self.scope.errexit {
                self.scope.join_folders(&before);
            }
            return out;
        }
        let before = self.scope.clone();
        let mut out = self.pipeline(&list.first, stdin);
        // `cd` may have failed: only `&&` and `set -e` tell.
        let mut failed = before;
        if !self.scope.errexit {
            failed = self.scope.if_folder_change_failed(&failed);
        }
        let mut other: Option<crate::machine::Scope> = None;
        for next in &list.additional {
            match next {
                AndOr::And(pipeline) => {
                    let skipped = self.scope.clone();
                    out = out.then(self.pipeline(pipeline, stdin));
                    other = Some(merge(other, skipped));
                }
                AndOr::Or(pipeline) => {
                    let succeeded = self.scope.clone();
                    self.scope = failed.clone();
                    if let Some(other) = &other {
                        self.scope.join(other);
                    }
                    out = out.then(self.pipeline(pipeline, stdin));
                    // `cd x || exit`: what follows runs only where it worked.
                    if leaves(pipeline) {
                        self.scope = succeeded;
                        failed = self.scope.clone();
                    } else {
                        other = Some(merge(other, succeeded));
                    }
                }
            }
        }
        if let Some(other) = other {
            self.scope.join(&other);
        }
        if !self.scope.errexit {
            self.scope.join_folders(&failed.here());
        }
        out
    }

    fn pipeline(&mut self, pipeline: &Pipeline, stdin: &Stream) -> Stream {
        let outer = std::mem::take(&mut self.inputs);
        let out = self.members(pipeline, stdin);
        self.inputs.extend(outer);
        out
    }

    fn members(&mut self, pipeline: &Pipeline, stdin: &Stream) -> Stream {
        let mut data = stdin.clone();
        if let [only] = pipeline.seq.as_slice() {
            return self.command(only, data);
        }
        let concurrent = std::mem::replace(&mut self.concurrent, true);
        let upstream = self.upstream.clone();
        for command in &pipeline.seq {
            let before = self.scope.clone();
            self.upstream.extend(self.inputs.iter().cloned());
            data = self.command(command, data);
            self.scope = before;
        }
        self.upstream = upstream;
        self.concurrent = concurrent;
        data
    }

    fn command(&mut self, command: &Command, stdin: Stream) -> Stream {
        if self.depth == 0 && self.calls.is_empty() {
            self.span = place(command);
        }
        match command {
            Command::Simple(simple) => self.simple(simple, stdin),
            Command::Compound(compound, redirects) => {
                let (stdin, target) = self.redirected(redirects.as_ref(), stdin);
                let out = self.compound(compound, &stdin);
                self.deliver(out, target)
            }
            Command::Function(function) => {
                self.scope.define(&function.fname.value, function.body.clone());
                Stream::empty()
            }
            Command::ExtendedTest(test, redirects) => {
                let (_, target) = self.redirected(redirects.as_ref(), stdin);
                self.test(&test.expr);
                self.deliver(Stream::empty(), target)
            }
        }
    }

    fn redirected(
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
            CompoundCommand::Subshell(subshell) => {
                let before = self.scope.clone();
                let out = self.list(&subshell.list, stdin);
                self.scope = before;
                out
            }
            CompoundCommand::IfClause(clause) => self.branches(clause, stdin),
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                let holds = matches!(compound, CompoundCommand::WhileClause(_));
                let before = self.effort;
                let mut condition = self.effort;
                let mut out = Stream::empty();
                for line in rounds(&clause.0, stdin) {
                    out = out.then(self.repeat(stdin, |machine, stdin| {
                        let out = machine.list(&clause.0, line.as_ref().unwrap_or(stdin));
                        condition = machine.effort;
                        out.then(machine.list(&clause.1.list, stdin))
                    }));
                }
                let did = self.effort.since(before);
                if ending::constant(&clause.0) == Some(holds) {
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
                    self.arithmetic_statement(&part.value);
                }
                let before = self.effort;
                let out = self.repeat(stdin, |machine, stdin| machine.list(&clause.body.list, stdin));
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
                let before = self.scope.clone();
                let mut after = before.clone();
                let mut out = Stream::empty();
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.single(&pattern.value);
                    }
                    if let Some(list) = &case.cmd {
                        self.scope = before.clone();
                        out = out.or(self.list(list, stdin));
                        after.join(&self.scope);
                    }
                }
                self.scope = after;
                out
            }
            CompoundCommand::Arithmetic(command) => {
                self.arithmetic_statement(&command.expr.value);
                Stream::empty()
            }
            CompoundCommand::Coprocess(process) => {
                let before = self.scope.clone();
                let concurrent = std::mem::replace(&mut self.concurrent, true);
                let out = self.command(&process.body, Self::pipe());
                self.concurrent = concurrent;
                self.scope = before;
                let name = process.name.as_ref().map_or("COPROC", |name| name.value.as_str());
                self.keeps_coprocess(name, out);
                Stream::unknown()
            }
        }
    }

    fn branches(&mut self, clause: &IfClauseCommand, stdin: &Stream) -> Stream {
        let mut out = self.list(&clause.condition, stdin);
        let before = self.scope.clone();
        let mut written = self.list(&clause.then, stdin);
        let mut after = std::mem::replace(&mut self.scope, before);
        let mut complete = false;
        for ElseClause { condition, body } in clause.elses.iter().flatten() {
            match condition {
                Some(condition) => out = out.then(self.list(condition, stdin)),
                None => complete = true,
            }
            let before = self.scope.clone();
            written = written.or(self.list(body, stdin));
            after.join(&self.scope);
            self.scope = before;
        }
        if complete {
            self.scope = after;
        } else {
            self.scope.join(&after);
            written = written.or(Stream::empty());
        }
        out.then(written)
    }

    /// A body that runs any number of times.
    fn repeat(&mut self, stdin: &Stream, mut body: impl FnMut(&mut Self, &Stream) -> Stream) -> Stream {
        let before = self.scope.clone();
        let out = body(self, stdin);
        let changed = !self.scope.same_values(&before);
        self.scope.join(&before);
        if changed {
            let before = self.scope.clone();
            body(self, stdin);
            self.scope.join(&before);
        }
        out.with_text(None)
    }

    fn for_each(&mut self, clause: &ForClauseCommand, stdin: &Stream) -> Stream {
        let before = self.effort;
        let out = self.each(clause, stdin);
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
            None if self.scope.parameters_known => self.scope.parameters.iter().skip(1).cloned().collect(),
            None => vec![Word::hole("@")],
        };
        let mut out = Stream::empty();
        // A list that looks empty is not trusted to be: the body is read once.
        if values.is_empty() && clause.values.as_ref().is_some_and(|raw| !raw.is_empty()) {
            self.assign_variable(&clause.variable_name, Variable::Scalar(Word::hole(clause.variable_name.clone())));
            return self.repeat(stdin, |machine, stdin| machine.list(&clause.body.list, stdin));
        }
        if values.len() > MAX_ROUNDS {
            let name = clause.variable_name.clone();
            self.assign_variable(&name, Variable::Scalar(Word::hole(name.clone())));
            return self.repeat(stdin, |machine, stdin| machine.list(&clause.body.list, stdin));
        }
        for value in values {
            let several = value.is_many();
            self.assign_variable(&clause.variable_name, Variable::Scalar(value.one()));
            let written = if several {
                self.repeat(stdin, |machine, stdin| machine.list(&clause.body.list, stdin))
            } else {
                self.list(&clause.body.list, stdin)
            };
            out = out.then(written);
        }
        out
    }

    fn test(&mut self, expr: &ExtendedTestExpr) {
        match expr {
            ExtendedTestExpr::And(a, b) | ExtendedTestExpr::Or(a, b) => {
                self.test(a);
                self.test(b);
            }
            ExtendedTestExpr::Not(a) | ExtendedTestExpr::Parenthesized(a) => self.test(a),
            ExtendedTestExpr::UnaryTest(_, word) => {
                self.single(&word.value);
            }
            ExtendedTestExpr::BinaryTest(_, a, b) => {
                self.single(&a.value);
                self.single(&b.value);
            }
        }
    }

    /// An expression that may assign: what it names is not known afterwards.
    pub(crate) fn arithmetic_statement(&mut self, expr: &str) {
        self.arithmetic(expr);
        if expr.contains('=') || expr.contains("++") || expr.contains("--") {
            for name in expr.split(|c: char| !c.is_alphanumeric() && c != '_') {
                if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                    self.scope.set(name, Variable::Unknown);
                }
            }
        }
    }

    /// Runs a function with its arguments.
    pub(crate) fn call(&mut self, name: &str, arguments: &[Word], stdin: &Stream) -> Option<Stream> {
        let body = self.scope.function(name)?;
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
        self.calls.push(name.to_owned());
        let parameters = std::mem::take(&mut self.scope.parameters);
        let known = self.scope.parameters_known;
        self.scope.parameters_known = !arguments.iter().any(Word::is_many);
        self.scope.parameters = parameters.iter().take(1).chain(arguments).cloned().collect();
        let (stdin, target) = self.redirected(body.1.as_ref(), stdin.clone());
        let out = self.compound(&body.0, &stdin);
        let out = self.deliver(out, target);
        self.scope.parameters = parameters;
        self.scope.parameters_known = known;
        self.calls.pop();
        Some(out)
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
                if let brush_parser::ast::AssignmentValue::Array(items) = &assignment.value {
                    let values = items.iter().flat_map(|(_, value)| self.fields(&value.value)).collect();
                    if let brush_parser::ast::AssignmentName::VariableName(name) = &assignment.name {
                        self.assign_variable(name, Variable::Array(values));
                        out.push(Word::text(name));
                    }
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

/// Whether a pipeline leaves the shell, the function or the loop.
fn leaves(pipeline: &Pipeline) -> bool {
    let Some(Command::Simple(simple)) = pipeline.seq.last() else {
        if let Some(Command::Compound(CompoundCommand::BraceGroup(group), _)) = pipeline.seq.last() {
            return group.list.0.last().is_some_and(|item| leaves(&item.0.first));
        }
        return false;
    };
    let name = simple.word_or_name.as_ref().map(|word| word.value.as_str());
    matches!(name, Some("exit" | "return" | "break" | "continue"))
}

fn merge(other: Option<crate::machine::Scope>, scope: crate::machine::Scope) -> crate::machine::Scope {
    match other {
        Some(mut other) => {
            other.join(&scope);
            other
        }
        None => scope,
    }
}
