//! The first parser's tree against the words that the strict reader found.

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, Pipeline, SimpleCommand,
};

use super::Place;

/// The first parser's commands against the words that were read, in their order.
pub(super) struct Check<'a> {
    pub(super) text: &'a str,
    pub(super) words: std::slice::Iter<'a, Place>,
    pub(super) same: bool,
}

impl Check<'_> {
    pub(super) fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.pipeline(&item.0.first);
            for next in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.seq {
            match command {
                Command::Simple(simple) => self.simple(simple),
                Command::Compound(compound, _) => self.compound(compound),
                Command::Function(function) => self.compound(&function.body.0),
                Command::ExtendedTest(..) => {}
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => self.list(&clause.body.list),
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition);
                    }
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Arithmetic(_)
            | CompoundCommand::ArithmeticForClause(_)
            | CompoundCommand::CaseClause(_)
            | CompoundCommand::Coprocess(_) => self.same = false,
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let Some(name) = &simple.word_or_name else { return };
        self.word(&name.value, true);
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    self.word(&word.value, false);
                }
                CommandPrefixOrSuffixItem::IoRedirect(_) => {}
                CommandPrefixOrSuffixItem::ProcessSubstitution(..) => self.same = false,
            }
        }
    }

    fn word(&mut self, value: &str, first: bool) {
        self.same &= self
            .words
            .next()
            .is_some_and(|place| place.first == first && self.text.get(place.start..place.end) == Some(value));
    }
}
