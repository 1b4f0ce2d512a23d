//! Blocks of procedural SQL that are run at once: the statements inside of `DO $$ … $$`, those too that are put together and then run
//! (PostgreSQL, "DO", "PL/pgSQL — Basic Statements", "Executing Dynamic Commands", "Control Structures").

use countersign_plan::tool::Effect;

use super::bodies::{self, Masked};
use super::{Inspection, apart};
use crate::inspection::{Build as _, FindingKind, UnknownKind};

/// The most statements of a block, and the most conditions, values and queries in it.
const MAX_STATEMENTS: usize = 128;

/// Catalogues that list everything there is.
const LISTS: &[&str] = &[
    "pg_tables",
    "pg_class",
    "pg_database",
    "pg_namespace",
    "information_schema.tables",
    "information_schema.schemata",
];

/// Words that begin a statement which does nothing to the database.
const CONTROL: &[&str] = &["end", "null", "get", "close"];

/// What the block in a statement would do; nothing where it is none that is read.
pub(super) fn block(statement: &str, out: &mut Inspection) -> bool {
    let Some(bare) = body(statement).and_then(bodies::bare) else { return false };
    let body = bare.whole();
    let Some((declared, statements)) = body.around("begin") else { return false };
    let (declared, statements) = (declared.statements(), statements.statements());
    if declared.len().max(statements.len()) > MAX_STATEMENTS {
        return false;
    }
    let lower = body.text.to_ascii_lowercase();
    let lists = LISTS.iter().any(|list| lower.contains(list));
    let mut block = Block { lists, left: MAX_STATEMENTS, out };
    declared.into_iter().for_each(|piece| block.declares(piece));
    statements.into_iter().for_each(|piece| block.one(piece));
    true
}

/// The text between the dollars of `DO [LANGUAGE plpgsql] $tag$ … $tag$`.
fn body(statement: &str) -> Option<&str> {
    let rest = behind_comments(statement)?.trim().trim_end_matches(';').trim_end();
    let (first, rest) =
        rest.split_once(|c: char| c.is_whitespace() || c == '$').map(|(first, _)| (first, rest.get(first.len()..)))?;
    first.eq_ignore_ascii_case("do").then_some(())?;
    let rest = rest?.trim_start();
    let open = rest.find('$')?;
    let tag = apart::dollar(rest.get(open..)?)?;
    let inner = rest.get(open + tag.len()..)?;
    let close = inner.find(tag)?;
    let said = format!("{} {}", rest.get(..open)?, inner.get(close + tag.len()..)?).to_ascii_lowercase();
    let plain = said.split_whitespace().all(|word| matches!(word, "language" | "plpgsql" | "'plpgsql'"));
    plain.then(|| inner.get(..close)).flatten()
}

/// What stands behind the comments that a text begins with; nothing where one stands in another.
fn behind_comments(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    loop {
        rest = if rest.starts_with("--") {
            rest.get(rest.find('\n')?..)?.trim_start()
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let (comment, after) = inside.split_once("*/")?;
            (!comment.contains("/*")).then_some(())?;
            after.trim_start()
        } else {
            return Some(rest);
        };
    }
}

struct Block<'a> {
    /// Whether a catalogue of everything is named.
    lists: bool,
    /// How many more parts are looked at.
    left: usize,
    out: &'a mut Inspection,
}

impl Block<'_> {
    /// What a variable begins with, and the query of a cursor.
    fn declares(&mut self, piece: Masked<'_>) {
        let marks = [":=", "="].iter().filter_map(|mark| Some((piece.mask.find(mark)?, *mark)));
        let words = ["default", "for", "is"].iter().filter_map(|word| Some((piece.find(word)?, *word)));
        match marks.chain(words).min_by_key(|(at, _)| *at) {
            Some((at, word @ ("for" | "is"))) => self.states(piece.from(at + word.len()).text),
            Some((at, mark)) => self.computes(piece.from(at + mark.len()).text),
            None => {}
        }
    }

    /// One statement of a block, behind the words that lead to it.
    fn one(&mut self, piece: Masked<'_>) {
        let mut rest = piece.trimmed();
        // Each word that is taken away leaves less.
        loop {
            // `<<label>>`
            if rest.mask.starts_with("<<") {
                let Some(end) = rest.mask.find(">>") else { return self.unread(rest.text) };
                rest = rest.from(end + 2).trimmed();
                continue;
            }
            if rest.text.is_empty() {
                return;
            }
            let first = rest.first();
            let after = rest.from(first.len()).trimmed();
            match first {
                "begin" | "loop" | "else" => rest = after,
                "if" | "elsif" | "elseif" | "while" | "when" | "case" | "exception" => {
                    let until = match first {
                        "while" => "loop",
                        "case" => "when",
                        _ => "then",
                    };
                    let Some((condition, next)) = after.around(until) else { return self.unread(rest.text) };
                    // What is caught is a name.
                    if first != "exception" && !condition.text.trim().is_empty() {
                        self.computes(condition.text);
                    }
                    rest = if first == "case" { after.from(condition.text.len()).trimmed() } else { next.trimmed() };
                }
                "for" | "foreach" => {
                    let Some((header, next)) = after.around("loop") else { return self.unread(rest.text) };
                    let Some((_, source)) = header.around("in") else { return self.unread(rest.text) };
                    self.goes_through(source.trimmed());
                    rest = next.trimmed();
                }
                _ => return self.ends_with(first, rest, after),
            }
        }
    }

    /// What a loop goes through: a query, a range, a list, a cursor.
    fn goes_through(&mut self, source: Masked<'_>) {
        // `FOR i IN REVERSE 10..1`
        let backwards = source.first() == "reverse";
        let source = if backwards { source.from("reverse".len()).trimmed() } else { source };
        match source.first() {
            "execute" => self.executes(source.from("execute".len())),
            "select" | "with" | "delete" | "update" | "insert" | "values" => self.states(source.text),
            "array" if !source.mask.starts_with("array[") => self.computes(source.from("array".len()).text),
            "reverse" => self.unread(source.text),
            _ => match source.mask.find("..") {
                Some(at) => {
                    let (least, rest) = (source.to(at), source.from(at + 2));
                    let (most, step) = rest.around("by").unwrap_or((rest, rest.from(rest.text.len())));
                    for bound in [least, most, step].iter().filter(|bound| !bound.text.trim().is_empty()) {
                        self.computes(bound.text);
                    }
                }
                None => self.computes(source.text),
            },
        }
    }

    /// A statement that no other follows.
    fn ends_with(&mut self, first: &str, rest: Masked<'_>, after: Masked<'_>) {
        match first {
            "declare" => self.declares(after),
            "execute" => self.executes(after),
            // What another connection is told is a statement, too (PostgreSQL, "dblink_exec").
            "perform" => {
                if after.mask.contains("dblink") {
                    self.told_elsewhere(after);
                }
                self.computes(after.text);
            }
            "return" | "assert" if after.text.is_empty() => {}
            "return" if matches!(after.first(), "next" | "query") => self.unread(rest.text),
            "return" | "assert" => self.computes(after.text),
            "exit" | "continue" => {
                if let Some((_, condition)) = after.around("when") {
                    self.computes(condition.text);
                }
            }
            "raise" => {
                const LEVELS: &[&str] = &["debug", "log", "info", "notice", "warning", "exception"];
                let said = if LEVELS.contains(&after.first()) { after.from(after.first().len()) } else { after };
                let said = said.with_comma_for("using");
                if !said.trim().is_empty() {
                    self.computes(said.trim().trim_start_matches(','));
                }
            }
            // Without a bracket nothing is called.
            _ if CONTROL.contains(&first) && !rest.mask.contains('(') => {}
            _ => match rest.assigned() {
                Some(value) => self.computes(value.text),
                None => self.states(&rest.without_target()),
            },
        }
    }

    /// `EXECUTE 'TEXT' || …`, `EXECUTE format('TEXT %I', …)`: the statement with any name in the place of what is filled in.
    fn executes(&mut self, piece: Masked<'_>) {
        let whole = piece.without_target();
        let Some(bare) = bodies::bare(&whole) else { return self.unread(&whole) };
        let whole = bare.whole();
        // What is put together and what is handed on are computed first.
        self.computes(&whole.with_comma_for("using"));
        let given = whole.around("using").map_or(whole, |(given, _)| given).trimmed();
        let (mut text, mut proved) = (String::new(), true);
        for part in given.parts("||") {
            if let Some(constant) = part.constant() {
                text.push_str(&constant);
                continue;
            }
            let inside = part.inside();
            let arguments = inside.filter(|_| part.first() == "format").map(|inside| inside.parts(","));
            // Only a pattern that is written there says what is filled in where.
            let pattern = arguments.and_then(|arguments| arguments.first().and_then(Masked::constant));
            let quotes = matches!(part.first(), "quote_ident" | "quote_literal" | "quote_nullable");
            if let Some((filled, names)) = pattern.as_deref().map(filled) {
                text.push_str(&filled);
                proved &= names;
            } else if quotes && inside.is_some() && !text.is_empty() {
                text.push('x');
            } else {
                // What a function is given may be the text.
                let constants = part.constants();
                text.push_str(if constants.is_empty() { "x" } else { &constants });
                proved = false;
            }
        }
        if text.trim_matches('x').is_empty() {
            return self.unread(piece.text);
        }
        let inner = super::sql(&text);
        let removes = inner.touches.iter().any(|touch| touch.effect == Effect::Delete);
        self.out.absorb(inner);
        if self.lists && removes {
            let message = "the block removes everything that a catalogue lists";
            self.out.find(FindingKind::DestroysDatabase, None, message);
        }
        if !proved {
            let message = "a part of a statement is only known when it runs";
            self.out.unknown(UnknownKind::Value, Effect::Admin, None, message);
        }
    }

    /// `dblink_exec(CONNECTION, 'TEXT' || …)`: what is put together behind the comma, as if it were executed here.
    fn told_elsewhere(&mut self, piece: Masked<'_>) {
        let Some(inside) = piece.inside() else { return self.unread(piece.text) };
        // Without a connection of its own the statement comes first.
        let arguments = inside.parts(",");
        let Some(statement) = arguments.get(1).or_else(|| arguments.first()) else { return };
        self.executes(*statement);
    }

    fn computes(&mut self, value: &str) {
        self.states(&format!("SELECT {value}"));
    }

    fn states(&mut self, statement: &str) {
        if self.left == 0 {
            return self.unread(statement);
        }
        self.left -= 1;
        self.out.absorb(super::sql(statement));
    }

    fn unread(&mut self, piece: &str) {
        let what: String = piece.chars().take(60).collect();
        let message = format!("what `{what}` in a block does is not analysed");
        self.out.unknown(UnknownKind::Code, Effect::Admin, None, message);
    }
}

/// A pattern of `format` with a name, a text or anything in the places that it keeps, and whether it is a name or a text in each of them
/// (PostgreSQL, "format").
fn filled(pattern: &str) -> (String, bool) {
    let (mut text, mut proved) = (String::new(), true);
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let kind = after.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | '-' | '*'));
        match kind.chars().next() {
            Some('I') => text.push('x'),
            Some('L') => text.push_str("'x'"),
            Some('%') => text.push('%'),
            _ => {
                text.push('x');
                proved = false;
            }
        }
        rest = kind.get(kind.chars().next().map_or(0, char::len_utf8)..).unwrap_or("");
    }
    text.push_str(rest);
    (text, proved)
}
