//! Texts of which a parser reads only some statements: split outside of quotes, and plain statements that it does not know
//! (PostgreSQL, "SQL Commands"; SQLite, "Pragma statements"; DuckDB, "Statements").

use countersign_plan::tool::{Effect, TargetKind};

use super::words::is_tuning;
use super::{Inspection, touch};
use crate::bounded::Bounded as _;
use crate::inspection::{Build as _, FindingKind, UnknownKind};

/// The most statements of one text that are read each on its own.
const MAX_STATEMENTS: usize = 256;

/// Settings by which a server keeps what is asked of it, and values that end it (PostgreSQL, "Error Reporting and Logging"; pgAudit; MySQL,
/// "The General Query Log", "sql_log_bin").
const KEEPS: &[&str] = &["log_", "logging_collector", "pgaudit.", "general_log", "sql_log_bin", "audit_log"];
const ENDS: &[&str] = &["off", "none", "false", "0", "-1", "panic", "fatal"];

/// Words that begin a statement which changes something or reads it.
const RUN: &[&str] = &["delete", "update", "insert", "replace", "merge", "select", "with", "format"];

/// The statements of a text; nothing where quotes may be read in more than one way or are left open.
pub(super) fn statements(text: &str) -> Option<Vec<String>> {
    if text.contains(['\\', '`', '[']) || text.contains("/*!") {
        return None;
    }
    let (mut out, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..)?;
        at += match c {
            '\'' | '"' => 1 + rest.get(1..)?.find(c)? + 1,
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/")? + 2,
            '$' => match dollar(rest) {
                // Behind a letter it is a part of a name.
                Some(_) if text.get(..at)?.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$')) => {
                    return None;
                }
                Some(tag) => tag.len() * 2 + rest.get(tag.len()..)?.find(tag)?,
                None => 1,
            },
            ';' => {
                out.push(text.get(from..at)?.trim().to_owned());
                from = at + 1;
                1
            }
            c => c.len_utf8(),
        };
    }
    out.push(text.get(from..)?.trim().to_owned());
    out.retain(|statement| !statement.is_empty());
    (out.len() <= MAX_STATEMENTS).then_some(out)
}

/// `$tag$` at the beginning of a text.
pub(super) fn dollar(text: &str) -> Option<&str> {
    let end = text.get(1..)?.find('$')? + 2;
    let tag = text.get(..end)?;
    // `$1` is a parameter.
    (!tag.get(1..)?.starts_with(|c: char| c.is_ascii_digit())).then_some(())?;
    tag.trim_matches('$').chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(tag)
}

/// `COPY … PROGRAM $$…$$` with the command between single quotes (PostgreSQL manual, "Dollar-Quoted String Constants").
pub(super) fn in_plain_quotes(statement: &str) -> Option<String> {
    let lower = statement.to_ascii_lowercase();
    let at = lower.trim_start().starts_with("copy").then(|| lower.find("program"))?? + "program".len();
    let (before, rest) = statement.split_at_checked(at)?;
    let rest = rest.trim_start();
    let tag = rest.starts_with('$').then(|| dollar(rest))??;
    let (command, after) = rest.get(tag.len()..)?.split_once(tag)?;
    Some(format!("{before} '{}'{after}", command.replace('\'', "''")))
}

/// A text without the options of a `COPY … TO 'FILE' (…)`, or of one to a program: they say how the rows are written.
pub(super) fn without_options(statement: &str) -> Option<String> {
    let lower = statement.to_ascii_lowercase();
    lower.trim_start().starts_with("copy").then_some(())?;
    let at = [" to '", " to program '"].iter().find_map(|to| Some(lower.rfind(to)? + to.len()))?;
    let end = at + statement.get(at..)?.find('\'')? + 1;
    let options = statement.get(end..)?.trim().trim_end_matches(';').trim_end();
    let inner = options.trim_start_matches(['w', 'W', 'i', 'I', 't', 'T', 'h', 'H', ' ']);
    let closed = inner.starts_with('(') && inner.ends_with(')') && !inner.contains(['\'', '"', ';']);
    closed.then(|| statement.get(..end).map(str::to_owned)).flatten()
}

/// What a plain statement does that no parser reads.
pub(super) fn alone(statement: &str, out: &mut Inspection) -> bool {
    if reaches_out(statement) {
        return false;
    }
    let lower = statement.trim_end_matches(';').trim().to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| c.is_whitespace() || c == '(').filter(|w| !w.is_empty()).collect();
    let quoted = lower.contains(['\\', '\'', '"', ';']);
    let mut database = |effect: Effect, what: &str| touch(out, effect, TargetKind::Database, what);
    match words.as_slice() {
        ["pragma" | "show" | "describe" | "desc", ..] if !quoted && !lower.contains('=') => {
            database(Effect::Read, "schema")
        }
        // A setting of one word (SQLite, "PRAGMA").
        ["pragma", name, ..] if !quoted && lower.matches('=').count() == 1 => {
            let name = bare_pragma(name.split('=').next().unwrap_or(name));
            database(of_pragma(name), &format!("pragma {name}"));
        }
        // Rows out of a file, which is the client's own (MySQL Reference Manual, "LOAD DATA").
        ["load", "data", rest @ ..] if rest.contains(&"infile") => {
            let place = lower.find("infile").map(|at| at + "infile".len());
            let named = place.and_then(|at| statement.get(at..)).map(str::trim_start).unwrap_or_default();
            let mut quoted = named.split(['\'', '"']);
            let (Some(""), Some(path), Some(table)) = (
                quoted.next(),
                quoted.next(),
                rest.iter().position(|word| *word == "table").and_then(|at| rest.get(at + 1)),
            ) else {
                return false;
            };
            // A comment may hold another name.
            if ["/*", "--", "#"].iter().any(|begins| statement.contains(begins)) {
                return false;
            }
            let replaces = rest.contains(&"replace");
            database(if replaces { Effect::Update } else { Effect::Create }, table.trim_matches('`'));
            touch(out, Effect::Read, TargetKind::File, path);
            if !rest.contains(&"local") {
                let message = "the server reads a file, which lies on its own machine";
                out.unknown(UnknownKind::Value, Effect::Read, None, message);
            }
        }
        ["vacuum", rest @ ..] if !rest.contains(&"into") && !rest.contains(&"retain") && !quoted => {
            database(Effect::Read, "maintenance")
        }
        // A copy of the database (SQLite, "VACUUM").
        ["vacuum", rest @ ..] if rest.contains(&"into") => {
            let Some(path) = statement.split(['\'', '"']).nth(1) else { return false };
            touch(out, Effect::Update, TargetKind::File, path);
        }
        // A statement that is analysed is run (MariaDB, "ANALYZE Statement").
        ["analyze", rest @ ..] if rest.iter().any(|word| RUN.contains(word)) => return false,
        ["analyze" | "reindex" | "cluster" | "checkpoint", ..] | ["force", "checkpoint"] if !quoted => {
            database(Effect::Read, "maintenance");
        }
        ["set", ..] if is_tuning(&lower) => {}
        ["alter", "system", ..] => {
            let setting = words.get(3).copied().unwrap_or("").split('=').next().unwrap_or("");
            database(Effect::Admin, &format!("alter system {setting}"));
            // What the server runs, and what it loads.
            if setting.ends_with("_command") || setting.ends_with("_libraries") {
                if let Some(line) = statement.split('\'').nth(1) {
                    touch(out, Effect::Execute, TargetKind::Process, line);
                }
                let message = format!("the database server runs or loads what `{setting}` says");
                out.unknown(UnknownKind::Code, Effect::Execute, None, message);
            }
        }
        ["create" | "alter", "role" | "user", name, ..] => database(Effect::Admin, &format!("role {name}")),
        _ => return false,
    }
    true
}

/// The name of a setting without that of a database and without quotes.
pub(super) fn bare_pragma(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name).trim_matches(['"', '`', '\'', '[', ']'])
}

/// Whether a text calls what reaches beyond the database: by its name, in quotes or not, with a blank before the bracket or not.
pub(super) fn reaches_out(text: &str) -> bool {
    text.match_indices('(').any(|(at, _)| {
        let before = text.get(..at).unwrap_or("").trim_end().trim_end_matches(['"', '`', ']']);
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let start = before.char_indices().rev().take_while(|(_, c)| part(*c)).last().map_or(before.len(), |(at, _)| at);
        let name = before.get(start..).unwrap_or("");
        // A comment between the two hides which it is.
        before.ends_with("*/") || super::REACHING.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    })
}

/// What a setting of SQLite changes: the session, the file, or what may be done to it (SQLite, "PRAGMA").
pub(super) fn of_pragma(name: &str) -> Effect {
    const SESSION: &str = "foreign_keys synchronous cache_size temp_store busy_timeout mmap_size recursive_triggers case_sensitive_like \
        defer_foreign_keys automatic_index cache_spill count_changes read_uncommitted query_only reverse_unordered_selects threads \
        wal_autocheckpoint wal_checkpoint optimize analysis_limit soft_heap_limit hard_heap_limit integrity_check quick_check";
    const BEYOND: &str =
        "writable_schema temp_store_directory data_store_directory trusted_schema key rekey hexkey hexrekey";
    let has = |list: &str| list.split_whitespace().any(|known| known.eq_ignore_ascii_case(name));
    match (has(SESSION), has(BEYOND)) {
        (true, _) => Effect::Read,
        (_, true) => Effect::Admin,
        _ => Effect::Update,
    }
}

/// Whether an extension holds nothing but types and functions that compute (PostgreSQL, "Additional Supplied Modules", "trusted").
pub(super) fn is_trusted(name: &str) -> bool {
    const TRUSTED: &str = "btree_gin btree_gist citext cube dict_int fuzzystrmatch hstore intarray isn lo ltree pgcrypto pg_trgm seg tablefunc \
        tsm_system_rows tsm_system_time unaccent uuid-ossp postgis postgis_topology vector plpgsql";
    TRUSTED.split_whitespace().any(|known| known.eq_ignore_ascii_case(name.trim_matches('"')))
}

/// What a statement has the server no longer keep: `ALTER SYSTEM SET log_statement = none`, `SET GLOBAL general_log = OFF`.
pub(super) fn silences(statement: &str) -> Option<String> {
    let lower = statement.to_ascii_lowercase().replace("''", "none");
    let mut words = lower
        .split(|c: char| c.is_whitespace() || matches!(c, '=' | ',' | ';'))
        .map(|word| word.trim_matches(['\'', '"']))
        .filter(|word| !word.is_empty());
    let first = words.next()?;
    let sets = first == "set" || (first == "alter" && words.any(|word| word == "set"));
    sets.then_some(())?;
    let rest: Vec<&str> = words.filter(|word| !matches!(*word, "to" | "global" | "local" | "session")).collect();
    let name = rest.first().filter(|name| KEEPS.iter().any(|keeps| name.starts_with(keeps)))?;
    let value = rest.get(1).copied().unwrap_or("");
    ENDS.contains(&value).then(|| (*name).to_owned())
}

/// The text that an argument begins with, put together of constants, and what follows it.
fn constant(argument: &str) -> Option<(String, &str)> {
    let (mut out, mut rest) = (String::new(), argument.trim_start());
    loop {
        let tag = if rest.starts_with('$') { dollar(rest)? } else { "'" };
        let (text, after) = rest.strip_prefix(tag)?.split_once(tag)?;
        out.push_str(text);
        rest = after.trim_start();
        match rest.strip_prefix("||") {
            Some(more) => rest = more.trim_start(),
            None => return Some((out, rest)),
        }
    }
}

/// Adds what a statement takes away from the record.
pub(super) fn judge_record(text: &str, out: &mut Inspection) {
    // In `U&"\0070g_read_file"` letters are numbers (PostgreSQL, "Identifiers and Key Words").
    if text.as_bytes().windows(3).any(|three| three.eq_ignore_ascii_case(b"u&\"")) {
        out.unknown(UnknownKind::Value, Effect::Execute, None, "a name is written in numbers");
    }
    // `set_config('NAME', 'VALUE', …)` (PostgreSQL, "Configuration Settings Functions").
    let lower = text.to_ascii_lowercase();
    let mut set = Vec::new();
    for call in lower.split("set_config").skip(1).at_most(MAX_STATEMENTS) {
        let call = call.trim_start().trim_start_matches('"').trim_start();
        // A comment before the bracket hides what stands behind it.
        let Some(arguments) = call.strip_prefix('(').or_else(|| call.strip_prefix("/*").map(|_| "")) else {
            continue;
        };
        let name = constant(arguments);
        let keeps = |name: &str| KEEPS.iter().any(|keeps| name.starts_with(keeps));
        match name.as_ref().map(|(name, rest)| (name, rest.strip_prefix(',').and_then(constant))) {
            Some((name, Some((value, _)))) => set.extend(silences(&format!("set {name} = '{value}'"))),
            Some((name, None)) if !keeps(name) => {}
            _ => {
                let message = "which setting gets which value is only known when it runs";
                out.unknown(UnknownKind::Value, Effect::Admin, None, message);
            }
        }
    }
    for name in text.split(';').at_most(MAX_STATEMENTS).filter_map(silences).chain(set) {
        let message = format!("the server no longer records what `{name}` has it record");
        out.find(FindingKind::DisablesProtection, None, message);
    }
}
