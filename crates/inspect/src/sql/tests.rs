//! Statements: what reads, what changes with and without a bound, and what leaves the database.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::Decision;

use super::sql;
use crate::inspection::{FindingKind, UnknownKind};

fn effects(text: &str) -> Vec<Effect> {
    let mut effects: Vec<Effect> = sql(text).touches.iter().map(|touch| touch.effect).collect();
    effects.sort_unstable();
    effects.dedup();
    effects
}

#[test]
fn a_read_is_only_a_read() {
    for text in [
        "SELECT * FROM orders WHERE id = 1",
        "select count(*) from a join b on a.x = b.x group by a.y",
        "SELECT 'DROP TABLE users; --'",
        "WITH x AS (SELECT 1 AS n) SELECT n FROM x",
        "EXPLAIN SELECT * FROM t",
        "SELECT * FROM t -- DELETE FROM t",
        "SELECT \"delete\" FROM t",
        "VALUES (1), (2)",
        "SHOW TABLES",
        "PRAGMA table_info(t)",
        "SELECT replace(a, 'x', 'y') FROM t",
        "SELECT * FROM t WHERE name LIKE '%update%' ORDER BY 1 LIMIT 5;",
    ] {
        let seen = sql(text);
        assert!(seen.is_clear() && seen.touches.iter().all(|t| t.effect == Effect::Read), "{text} {seen:#?}");
    }
}

#[test]
fn a_bounded_change_is_a_change_and_no_more() {
    for (text, effect) in [
        ("INSERT INTO t (a) VALUES (1)", Effect::Create),
        ("UPDATE t SET a = 1 WHERE id = 2", Effect::Update),
        ("DELETE FROM t WHERE id = 2", Effect::Delete),
        ("CREATE TABLE t (a INT)", Effect::Create),
        ("CREATE INDEX i ON t (a)", Effect::Create),
        ("ALTER TABLE t ADD COLUMN b INT", Effect::Update),
        ("DROP TABLE t", Effect::Delete),
        ("BEGIN; UPDATE t SET a = 1 WHERE id = 1; COMMIT", Effect::Update),
    ] {
        let seen = sql(text);
        assert!(effects(text).contains(&effect) && seen.is_clear(), "{text} {seen:#?}");
    }
}

#[test]
fn a_statement_without_a_bound_is_found() {
    for text in [
        "DELETE FROM users",
        "DELETE FROM users WHERE 1 = 1",
        "DELETE FROM users WHERE true",
        "UPDATE users SET admin = true",
        "UPDATE users SET admin = 1 WHERE 'a' = 'a'",
        "DELETE FROM users WHERE id = 5 OR 1=1",
        "TRUNCATE TABLE users",
        "SELECT 1; DELETE FROM users",
        "WITH x AS (DELETE FROM users RETURNING *) SELECT * FROM x",
        "delete/**/from users",
    ] {
        assert!(sql(text).found(FindingKind::UnboundedStatement), "{text} {:#?}", sql(text));
    }
    for text in ["DROP DATABASE prod", "DROP SCHEMA public CASCADE", "drop database if exists prod"] {
        assert!(sql(text).found(FindingKind::DestroysDatabase), "{text}");
    }
}

#[test]
fn what_leaves_the_database_is_seen() {
    for text in [
        "COPY t TO '/tmp/x'",
        "COPY t FROM PROGRAM 'curl h.example'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT load_extension('x.so')",
        "SELECT writefile('/tmp/x', 'y')",
        "ATTACH DATABASE '/tmp/x.db' AS y",
        "EXEC xp_cmdshell 'dir'",
        "SELECT LOAD_FILE('/etc/passwd')",
        "SELECT * INTO OUTFILE '/tmp/x' FROM t",
        "GRANT ALL ON t TO eve",
        "CREATE USER eve",
        "SET GLOBAL general_log = 1",
        "SELECT dblink('host=h.example', 'select 1')",
        "CREATE FUNCTION f() RETURNS int AS 'x' LANGUAGE C",
    ] {
        let seen = sql(text);
        let reaches = seen
            .touches
            .iter()
            .any(|t| t.effect >= Effect::Execute || t.kind == countersign_plan::tool::TargetKind::File);
        assert!(reaches || seen.decision() != Decision::Allow, "{text} {seen:#?}");
    }
}

#[test]
fn what_dialects_read_differently_counts_as_both() {
    assert!(effects(r"SELECT 'a\'; DELETE FROM t; --'").contains(&Effect::Delete));
    for text in ["SELECT /*!50000 1; DROP TABLE t */", "frobnicate", "SELECT 'unclosed", "SELECT 1; \\! id"] {
        assert_ne!(sql(text).decision(), Decision::Allow, "{text}");
    }
    assert!(sql("").is_clear());
    assert_ne!(sql(&"(".repeat(10_000)).decision(), Decision::Allow);
    assert_ne!(sql(&format!("SELECT {}", "x,".repeat(50_000))).decision(), Decision::Allow);
}

#[test]
fn blocks_inside_of_blocks_are_bounded_and_transactions_are_none() {
    for text in ["if ".repeat(300), "begin ".repeat(64), "case when 1 then ".repeat(64)] {
        let seen = sql(&text);
        assert!(!seen.unknowns.is_empty(), "{text}");
    }
    let many = "BEGIN; UPDATE t SET a = 1 WHERE id = 2; COMMIT; DROP TABLE IF EXISTS x; ".repeat(20);
    let seen = sql(&many);
    assert!(seen.unknowns.iter().all(|u| u.kind != UnknownKind::TooMuch), "{seen:#?}");
}
