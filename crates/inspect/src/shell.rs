//! Shell lines: bounds, two parsers, then the walk through the tree.

mod ansi;
mod arithmetic;
mod bounds;
mod braces;
mod calls;
mod chain;
mod ending;
mod expand;
mod here;
mod jumps;
mod loops;
mod matched;
mod parameter;
mod parts;
pub(crate) mod pattern;
mod plain;
mod redirect;
mod second;
mod standing;
mod traps;
mod variables;
mod walk;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::Parser;
use brush_parser::ast::Program;
use countersign_plan::inspection::Context;
use countersign_plan::tool::Effect;

pub(crate) use ansi::{escapes, printf};
pub(crate) use jumps::Frame;
pub(crate) use standing::Standing;
pub(crate) use traps::Traps;

use crate::inspection::{Build as _, FindingKind, Inspection, UnknownKind};
use crate::machine::{MAX_DEPTH, Machine, Stream, Word, visible};

/// What a shell line (or a whole script) would do.
///
/// Never fails: what cannot be read is an [`Unknown`](crate::Unknown). Time and memory are bounded for any text.
#[must_use]
pub fn shell(line: &str, context: &Context) -> Inspection {
    inspect(context, |machine| {
        if let Err(hidden) = visible(line) {
            machine.find(FindingKind::HiddenText, format!("the command hides something: {hidden}"));
        }
        if crate::text::holds_secret(line) {
            machine.find(FindingKind::Secret, "the command holds what looks like a credential");
        }
        let stdin = Stream::empty();
        if let Some(program) = machine.parse(line) {
            let shown = machine.walk(&program, &stdin);
            machine.judge_shown(&shown);
        }
    })
}

/// What a program with these arguments would do, started without a shell.
#[must_use]
pub fn argv<S: AsRef<str>>(words: &[S], context: &Context) -> Inspection {
    inspect(context, |machine| {
        for word in words {
            if let Err(hidden) = visible(word.as_ref()) {
                machine.find(FindingKind::HiddenText, format!("an argument hides something: {hidden}"));
            }
        }
        let words: Vec<Word> = words.iter().map(|word| Word::text(word.as_ref())).collect();
        machine.start(words, Stream::empty());
    })
}

/// So many inspections inside of each other look at parts of a text that overlap; below that each part is looked at once.
const OVERLAPPING: u32 = 3;

thread_local! {
    /// How many inspections are under way inside of each other.
    static UNDER_WAY: Cell<u32> = const { Cell::new(0) };
}

/// Whether parts of a text that overlap are not looked at any more: their number would grow with each inspection inside of another.
pub(crate) fn is_deep() -> bool {
    UNDER_WAY.get() > OVERLAPPING
}

/// So many inspections may be under way inside of each other: what runs on a machine that is reached from a machine that is reached.
const MAX_UNDER_WAY: u32 = MAX_DEPTH;

/// Runs the machine; a fault of a parser on hostile input is an unknown, not a crash.
pub(crate) fn inspect(context: &Context, work: impl FnOnce(&mut Machine<'_>)) -> Inspection {
    if UNDER_WAY.get() >= MAX_UNDER_WAY {
        let mut out = Inspection::default();
        out.too_much("what runs elsewhere is nested more deeply than is followed");
        return out;
    }
    UNDER_WAY.set(UNDER_WAY.get() + 1);
    let run = || {
        let mut machine = Machine::new(context);
        work(&mut machine);
        machine.at_exit();
        machine.finish();
        machine.out
    };
    let fault = |_| {
        let mut out = Inspection::default();
        out.unknown(UnknownKind::Syntax, Effect::Execute, None, "the parser cannot cope with this text");
        out
    };
    let out = crate::bounded::whole(|| catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(fault));
    UNDER_WAY.set(UNDER_WAY.get().saturating_sub(1));
    out
}

impl Machine<'_> {
    /// Reads a text with both parsers; what either says against it is written down.
    pub(crate) fn parse(&mut self, text: &str) -> Option<Program> {
        if let Err(problem) = bounds::check(text) {
            self.unknown(UnknownKind::TooMuch, Effect::Execute, problem);
            return None;
        }
        let read = |text: &str| Parser::new(text.as_bytes(), &expand::options()).parse_program();
        let (spaced, program) = match read(text) {
            Err(_) if text.contains("((") && text.contains(";;") => {
                let spaced = spaced(text);
                let program = read(&spaced);
                (spaced, program)
            }
            program => (String::new(), program),
        };
        let text = if spaced.is_empty() { text } else { &spaced };
        match program {
            Ok(program) => {
                if !plain::agrees(text, &program)
                    && let Err(difference) = second::opinion(text, &program)
                {
                    self.unknown(UnknownKind::Disagreement, Effect::Execute, difference);
                }
                Some(program)
            }
            Err(_) => {
                self.unknown(UnknownKind::Syntax, Effect::Execute, "the line is no complete shell command");
                None
            }
        }
    }

    /// A text that a shell runs inside this one, as `eval` and `$(…)` do; what it writes to standard output.
    pub(crate) fn nested(&mut self, text: &str) -> Stream {
        let stdin = self.shell_reads.clone();
        self.script(text, &stdin)
    }

    /// The same with standard input.
    pub(crate) fn script(&mut self, text: &str, stdin: &Stream) -> Stream {
        if self.depth >= MAX_DEPTH {
            self.out.too_much("shells are nested more deeply than is followed");
            return Stream::unknown();
        }
        self.depth += 1;
        let carries = stdin.remote || stdin.decoded || !stdin.sources.is_empty();
        let reads = if carries { stdin.origin() } else { Stream::empty() };
        let before = std::mem::replace(&mut self.shell_reads, reads);
        let out = match self.parse(text) {
            // What a program reads is run by a shell of its own.
            Some(program) if self.starting => self.as_child(|machine| machine.walk(&program, stdin)),
            Some(program) => self.walk(&program, stdin),
            None => Stream::unknown(),
        };
        self.shell_reads = before;
        self.depth -= 1;
        out
    }
}

/// The text with a blank between the signs of a loop without bounds: `for ((;;))` is `for ((; ;))` (bash(1), "Compound Commands").
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("((") {
        out.push_str(before);
        out.push_str("((");
        let (inside, more) = after.split_at(after.find("))").unwrap_or(0));
        let loops = before.trim_end().ends_with("for");
        out.push_str(&if loops { inside.replace(";;", "; ;") } else { inside.to_owned() });
        rest = more;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
