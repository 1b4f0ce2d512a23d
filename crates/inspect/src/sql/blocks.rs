//! Blocks of procedural SQL that are run at once: the statements inside of `DO $$ … $$`, those too that are put together and then run
//! (PostgreSQL, "DO", "PL/pgSQL — Basic Statements", "Executing Dynamic Commands", "Control Structures").

use countersign_plan::tool::Effect;

use super::{Inspection, REACHING, apart};
use crate::inspection::{Build as _, FindingKind, UnknownKind};

/// The most statements of a block.
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
const CONTROL: &[&str] = &["end", "return", "null", "raise", "exit", "continue", "get", "assert", "close", "declare"];

/// What the block in a statement would do; nothing where it is none that is read.
pub(super) fn block(statement: &str, out: &mut Inspection) -> bool {
    let Some(body) = body(statement) else { return false };
    let lower = body.to_ascii_lowercase();
    let Some(begin) = word_at(&lower, "begin") else { return false };
    let Some(pieces) = body.get(begin + "begin".len()..).and_then(apart::statements) else { return false };
    if pieces.len() > MAX_STATEMENTS {
        return false;
    }
    // What variables begin with is computed, too.
    let given =
        body.get(..begin).unwrap_or("").split(';').filter_map(|line| line.split_once(":=").map(|(_, value)| value));
    given.for_each(|value| out.absorb(super::sql(&format!("SELECT {value}"))));
    for piece in pieces {
        one(&piece, LISTS.iter().any(|list| lower.contains(list)), out);
    }
    true
}

/// The text between the dollars of `DO [LANGUAGE plpgsql] $tag$ … $tag$`.
fn body(statement: &str) -> Option<&str> {
    let rest = statement.trim().trim_end_matches(';').trim_end();
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

/// Where a word stands that is no part of another.
fn word_at(lower: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    lower.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = lower.get(..*at).and_then(|head| head.chars().next_back());
        let after = lower.get(at + word.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

/// One statement of a block, behind the words that lead to it.
fn one(piece: &str, lists: bool, out: &mut Inspection) {
    let mut rest = piece.trim();
    // Each word that is taken away leaves less.
    loop {
        let lower = rest.to_ascii_lowercase();
        let first = lower.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        let until = |word: &str| {
            let at = word_at(&lower, word)?;
            Some((rest.get(first.len()..at)?.trim(), rest.get(at + word.len()..)?.trim_start()))
        };
        let computes = |condition: &str| super::sql(&format!("SELECT {condition}"));
        match first {
            "begin" | "loop" | "else" | "then" => rest = rest.get(first.len()..).unwrap_or("").trim_start(),
            "if" | "elsif" | "elseif" | "while" | "when" => {
                let Some((condition, next)) = until(if first == "while" { "loop" } else { "then" }) else {
                    return unread(rest, out);
                };
                out.absorb(computes(condition));
                rest = next;
            }
            "exception" => {
                let Some((_, next)) = until("then") else { return unread(rest, out) };
                rest = next;
            }
            "for" | "foreach" => {
                let Some((source, next)) = until("loop") else { return unread(rest, out) };
                let source = word_at(&source.to_ascii_lowercase(), "in")
                    .and_then(|at| source.get(at + 2..))
                    .unwrap_or(source)
                    .trim();
                let lower = source.to_ascii_lowercase();
                if lower.starts_with("execute") {
                    executes(source, lists, out);
                } else if lower.starts_with("select") || lower.starts_with("with") {
                    out.absorb(super::sql(source));
                } else if !lower.contains("..") && !lower.starts_with("array") {
                    out.absorb(computes(source));
                }
                rest = next;
            }
            "execute" => return executes(rest, lists, out),
            // What another connection is told is a statement, too (PostgreSQL, "dblink_exec").
            "perform" if lower.contains("dblink") => {
                told_elsewhere(rest, lists, out);
                return out.absorb(super::sql(&format!("SELECT {}", rest.get(first.len()..).unwrap_or(""))));
            }
            "perform" => {
                return out.absorb(super::sql(&format!("SELECT {}", rest.get(first.len()..).unwrap_or(""))));
            }
            _ if CONTROL.contains(&first) => {
                // What is only said may still be computed by something that reaches out.
                if REACHING.iter().any(|(name, _)| lower.contains(&format!("{name}("))) {
                    unread(rest, out);
                }
                return;
            }
            "" => return,
            "select" | "with" => return out.absorb(super::sql(&without_target(rest))),
            _ => {
                // `name := value`
                match rest.split_once(":=") {
                    Some((name, value))
                        if name.trim().chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) =>
                    {
                        out.absorb(computes(value));
                    }
                    _ => out.absorb(super::sql(rest)),
                }
                return;
            }
        }
    }
}

/// `SELECT a INTO x FROM t`: a variable takes what is read.
fn without_target(query: &str) -> String {
    let lower = query.to_ascii_lowercase();
    let Some(at) = word_at(&lower, "into") else { return query.to_owned() };
    let end = lower.get(at..).and_then(|tail| word_at(tail, "from")).map_or(query.len(), |from| at + from);
    format!("{}{}", query.get(..at).unwrap_or(""), query.get(end..).unwrap_or(""))
}

/// `EXECUTE 'TEXT' || …`, `EXECUTE format('TEXT %I', …)`: the statement with any name in the place of what is filled in.
fn executes(piece: &str, lists: bool, out: &mut Inspection) {
    let mut text = String::new();
    let mut rest = piece.get("execute".len()..).unwrap_or("").trim_start();
    let formats = rest.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("format"));
    let mut open = false;
    while let Some(at) = rest.find(['\'', '$']) {
        let between = rest.get(..at).unwrap_or("");
        if !text.is_empty() && between.chars().any(char::is_alphanumeric) && !formats {
            text.push('x');
            open |= !between.contains("quote_");
        }
        let (tag, after) = match rest.get(at..).unwrap_or("") {
            quoted if quoted.starts_with('\'') => ("'", quoted.get(1..).unwrap_or("")),
            dollars => match apart::dollar(dollars) {
                Some(tag) => (tag, dollars.get(tag.len()..).unwrap_or("")),
                None => break,
            },
        };
        let Some((body, next)) = after.split_once(tag) else { return unread(piece, out) };
        text.push_str(body);
        rest = next;
        if formats {
            break;
        }
    }
    if text.is_empty() {
        return unread(piece, out);
    }
    if formats {
        open |= text.contains("%s");
        text = text.replace("%I", "x").replace("%L", "'x'").replace("%s", "x").replace("%%", "%");
    } else if rest.chars().any(char::is_alphanumeric) && !rest.trim_start().to_ascii_lowercase().starts_with("using") {
        text.push('x');
        open |= !rest.contains("quote_");
    }
    let inner = super::sql(&text);
    let removes = inner.touches.iter().any(|touch| touch.effect == Effect::Delete);
    out.absorb(inner);
    if lists && removes {
        out.find(FindingKind::DestroysDatabase, None, "the block removes everything that a catalogue lists");
    }
    if open {
        out.unknown(UnknownKind::Value, Effect::Admin, None, "a part of a statement is only known when it runs");
    }
}

/// `dblink_exec(CONNECTION, 'TEXT' || …)`: what is put together behind the comma, as if it were executed here.
fn told_elsewhere(piece: &str, lists: bool, out: &mut Inspection) {
    let Some((_, given)) = piece.split_once('(') else { return };
    let inside = given.rsplit_once(')').map_or(given, |(inside, _)| inside);
    // Without a connection of its own the statement comes first.
    let statement = inside.split_once(',').map_or(inside, |(_, rest)| rest);
    executes(&format!("execute {statement}"), lists, out);
}

fn unread(piece: &str, out: &mut Inspection) {
    let what: String = piece.chars().take(60).collect();
    out.unknown(UnknownKind::Code, Effect::Admin, None, format!("what `{what}` in a block does is not analysed"));
}
