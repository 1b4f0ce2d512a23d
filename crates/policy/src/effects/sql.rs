//! SQL statements by their verb: a cautious classification, never a parse. What is not plainly a read counts as more.

use countersign_plan::tool::Effect;
use countersign_plan::value::Expr;
use serde_json::Value;

/// What a text of statements does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Statement {
    /// Every effect; at least one.
    pub(super) effects: Vec<Effect>,
    /// A word that reads or writes files, loads code or runs programs.
    pub(super) forbidden: Option<&'static str>,
    /// Whether a whole database or schema would go.
    pub(super) destroys_all: bool,
    /// Whether a statement begins with a word that is not known.
    pub(super) unknown: bool,
}

impl Statement {
    pub(super) fn unknown() -> Self {
        Self { effects: vec![Effect::Admin], unknown: true, ..Self::default() }
    }

    fn add(&mut self, effect: Effect) {
        if !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }
}

/// Functions and clauses that leave the database, of SQLite, PostgreSQL, MySQL, SQL Server and DuckDB.
const FORBIDDEN: &[&str] = &[
    "load_extension",
    "readfile",
    "writefile",
    "fts3_tokenizer",
    "pg_read_file",
    "pg_read_binary_file",
    "pg_ls_dir",
    "lo_import",
    "lo_export",
    "dblink",
    "outfile",
    "dumpfile",
    "load_file",
    "xp_cmdshell",
    "sp_oacreate",
    "openrowset",
    "read_text",
    "read_blob",
    "read_csv",
    "writable_schema",
    "temp_store_directory",
    "data_store_directory",
];

/// Statements that do, by their first word.
const FORBIDDEN_VERBS: &[&str] = &["attach", "detach", "install", "load", "import"];

/// `PRAGMA`s that only read when they are given no value (sqlite.org/pragma.html).
const READING_PRAGMAS: &[&str] = &[
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "database_list",
    "collation_list",
    "function_list",
    "compile_options",
    "integrity_check",
    "quick_check",
    "user_version",
    "schema_version",
    "page_count",
    "page_size",
    "freelist_count",
    "encoding",
];

/// What the statements in `sql` do.
pub(super) fn classify(sql: &str) -> Statement {
    let mut out = Statement::default();
    let Some(words) = words(sql) else { return Statement::unknown() };
    let mut any = false;
    for statement in words.split(|word| word == ";").filter(|s| !s.is_empty()) {
        any = true;
        one(statement, &mut out);
    }
    if any { out } else { Statement::unknown() }
}

/// The text of a statement with a placeholder for each reference.
pub(super) fn around_references(expr: &Expr) -> Option<String> {
    let Expr::Join(parts) = expr else { return None };
    let mut text = String::new();
    for part in parts {
        match part.literal() {
            Some(Value::String(literal)) => text.push_str(&literal),
            Some(other) => text.push_str(&other.to_string()),
            None => text.push_str(" ? "),
        }
    }
    Some(text)
}

fn one(words: &[String], out: &mut Statement) {
    let word = |i: usize| words.get(i).map_or("", String::as_str);
    let has = |any: &[&str]| words.iter().any(|w| any.contains(&w.as_str()));
    if let Some(found) = FORBIDDEN.iter().find(|f| words.iter().any(|w| w == *f)) {
        out.forbidden = Some(found);
    }
    if let Some(found) = FORBIDDEN_VERBS.iter().find(|verb| **verb == word(0)) {
        out.forbidden = Some(found);
    }
    if word(0) == "copy" && has(&["program"]) {
        out.forbidden = Some("program");
    }
    match word(0) {
        "select" | "values" | "with" | "explain" | "table" | "describe" | "desc" | "show" => {
            out.add(Effect::Read);
            let writes = [
                (&["insert", "merge"][..], Effect::Create),
                (&["update", "replace", "for"][..], Effect::Update),
                (&["delete", "truncate"][..], Effect::Delete),
            ];
            // `SELECT … INTO`, `WITH … DELETE`, `EXPLAIN ANALYZE UPDATE`, `FOR UPDATE`; `replace()` the function is over-counted.
            let plain = word(0) == "select" && !has(&["into", "for"]);
            for (verbs, effect) in writes.into_iter().filter(|_| !plain) {
                if has(verbs) {
                    out.add(effect);
                }
            }
            if has(&["into"]) {
                out.add(Effect::Create);
            }
        }
        "pragma" => {
            let name = words.iter().skip(1).find(|w| w.chars().all(|c| c.is_alphanumeric() || c == '_'));
            let reads = name.is_some_and(|n| READING_PRAGMAS.contains(&n.as_str())) && !has(&["="]);
            out.add(if reads { Effect::Read } else { Effect::Update });
        }
        "insert" => {
            out.add(Effect::Create);
            if has(&["replace", "update", "duplicate"]) {
                out.add(Effect::Update);
            }
        }
        "update" | "replace" | "merge" | "upsert" | "comment" | "reindex" | "analyze" | "vacuum" => {
            out.add(Effect::Update);
            if word(0) == "vacuum" && has(&["into"]) {
                out.forbidden = Some("vacuum into");
            }
            if has(&["delete"]) {
                out.add(Effect::Delete);
            }
        }
        "delete" | "truncate" => out.add(Effect::Delete),
        "create" => {
            out.add(Effect::Create);
            if has(&["user", "role", "login", "extension", "function", "procedure", "trigger", "server", "event"]) {
                out.add(Effect::Admin);
            }
        }
        "alter" => {
            out.add(Effect::Update);
            if has(&["drop"]) {
                out.add(Effect::Delete);
            }
            if has(&["user", "role", "login", "system", "owner", "database"]) {
                out.add(Effect::Admin);
            }
        }
        "drop" => {
            out.add(Effect::Delete);
            out.destroys_all |= matches!(word(1), "database" | "schema" | "keyspace" | "catalog");
            if has(&["user", "role", "login", "owned"]) {
                out.add(Effect::Admin);
            }
        }
        "begin" | "commit" | "end" | "rollback" | "savepoint" | "release" | "start" => out.add(Effect::Read),
        "grant" | "revoke" | "set" | "reset" | "reassign" | "copy" | "do" | "call" | "exec" | "execute" | "lock"
        | "kill" | "shutdown" | "use" | "prepare" | "security" => {
            out.add(Effect::Admin);
        }
        _ => {
            out.add(Effect::Admin);
            out.unknown = true;
        }
    }
}

/// The words of a text in lower case, without comments and quoted parts; `;` and `=` stand for themselves. `None` where a
/// quote or comment does not end.
fn words(sql: &str) -> Option<Vec<String>> {
    // A backslash ends a string in one dialect and not in another.
    if sql.contains('\\') {
        return None;
    }
    let mut out = Vec::new();
    let mut word = String::new();
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() || c == '_' {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        match c {
            // A dollar quote is one in one dialect only.
            '$' => return None,
            '\'' | '"' | '`' => {
                if !chars.by_ref().any(|next| next == c) {
                    return None;
                }
                out.push("?".to_owned());
            }
            '[' => {
                if !chars.by_ref().any(|next| next == ']') {
                    return None;
                }
                out.push("?".to_owned());
            }
            '-' if chars.peek() == Some(&'-') => {
                chars.by_ref().find(|next| *next == '\n');
            }
            // MySQL runs what stands in `/*!`; `#` begins a comment there and an operator elsewhere.
            '#' => return None,
            '/' if chars.peek() == Some(&'*') => {
                chars.next();
                if chars.peek() == Some(&'!') {
                    return None;
                }
                let mut last = ' ';
                if !chars.by_ref().any(|next| std::mem::replace(&mut last, next) == '*' && next == '/') {
                    return None;
                }
            }
            ';' | '=' => out.push(c.to_string()),
            _ => {}
        }
    }
    if !word.is_empty() {
        out.push(word);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use countersign_plan::tool::Effect;

    use super::classify;

    #[test]
    fn only_a_plain_read_is_a_read() {
        for sql in [
            "SELECT * FROM orders",
            "select name from t where a = 'drop table x'; -- delete",
            "EXPLAIN SELECT 1",
            "PRAGMA table_info(orders)",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "VALUES (1)",
            "/* delete */ SELECT 1",
        ] {
            assert_eq!(classify(sql).effects, [Effect::Read], "{sql}");
            assert!(classify(sql).forbidden.is_none() && !classify(sql).unknown, "{sql}");
        }
    }

    #[test]
    fn what_writes_counts_as_what_it_writes() {
        for (sql, effect) in [
            ("SELECT 1; DELETE FROM t", Effect::Delete),
            ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", Effect::Delete),
            ("EXPLAIN ANALYZE UPDATE t SET a = 1", Effect::Update),
            ("SELECT * INTO copy FROM t", Effect::Create),
            ("INSERT INTO t VALUES (1)", Effect::Create),
            ("INSERT OR REPLACE INTO t VALUES (1)", Effect::Update),
            ("UPDATE t SET a = 1", Effect::Update),
            ("TRUNCATE t", Effect::Delete),
            ("DROP TABLE t", Effect::Delete),
            ("ALTER TABLE t DROP COLUMN c", Effect::Delete),
            ("GRANT ALL ON t TO eve", Effect::Admin),
            ("CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM u; END", Effect::Admin),
            ("PRAGMA journal_mode = OFF", Effect::Update),
            ("PRAGMA journal_mode(OFF)", Effect::Update),
            ("frobnicate", Effect::Admin),
            ("", Effect::Admin),
            ("SELECT 'unclosed", Effect::Admin),
            ("SELECT 'a\\'; DROP TABLE t; --'", Effect::Admin),
            ("SELECT /*!50000 1; DROP TABLE t */", Effect::Admin),
        ] {
            assert!(classify(sql).effects.contains(&effect), "{sql}: {:?}", classify(sql));
        }
    }

    #[test]
    fn what_leaves_the_database_is_forbidden() {
        for sql in [
            "ATTACH DATABASE '/etc/x' AS y",
            "SELECT load_extension('x')",
            "SELECT writefile('/tmp/x', y) FROM t",
            "VACUUM INTO '/tmp/x'",
            "COPY t TO PROGRAM 'sh'",
            "SELECT * FROM t INTO OUTFILE '/x'",
            "SELECT pg_read_file('/etc/passwd')",
            "select 1; attach 'x' as y",
        ] {
            assert!(classify(sql).forbidden.is_some(), "{sql}");
        }
        assert!(classify("DROP DATABASE prod").destroys_all);
        assert!(classify("DROP SCHEMA public CASCADE").destroys_all);
        assert!(!classify("DROP TABLE t").destroys_all);
    }
}
