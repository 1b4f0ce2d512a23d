//! One statement, inside one file.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::tools::testing::{Scene, grant};

fn database(scene: &Scene, name: &str) -> String {
    let path = scene.path(name);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("create table t (id integer, name text, data blob); insert into t values (1, 'a', x'00ff'), (2, 'b', null);").unwrap();
    path
}

fn read_only(scene: &mut Scene) {
    scene.spec.read = vec![grant(&scene.work)];
    scene.spec.write = vec![];
}

#[test]
fn rows_are_typed_and_parameters_are_bound() {
    let mut scene = Scene::new();
    let path = database(&scene, "d.db");
    read_only(&mut scene);
    let args =
        json!({"database": path, "sql": "select * from t where name = ?1 or id > ?2", "params": ["a' or 1=1 --", 1]});
    let seen = scene.run("database_query", args).unwrap();
    assert_eq!(seen.output, json!({"rows": [{"id": 2, "name": "b", "data": null}], "count": 1}));
    let blob =
        scene.run("database_query", json!({"database": path, "sql": "select data from t where id = 1"})).unwrap();
    assert_eq!(blob.output["rows"][0]["data"]["hex"], "00ff");
    let large = scene.run("database_query", json!({"database": path, "sql": "select 9007199254740993 as n"})).unwrap();
    assert_eq!(large.output["rows"][0]["n"], "9007199254740993");
}

#[test]
fn writing_needs_the_grant() {
    let mut scene = Scene::new();
    let path = database(&scene, "d.db");
    let update = json!({"database": path, "sql": "update t set name = 'c'"});
    assert_eq!(scene.run("database_query", update.clone()).unwrap().output, json!({"rows": [], "count": 2}));
    read_only(&mut scene);
    assert!(scene.refused("database_query", update).contains("readonly"));
    // Granted by itself: no journal can lie beside it, and it works all the same.
    scene.spec.read = vec![];
    scene.spec.write = vec![grant(path.as_ref())];
    let insert = json!({"database": path, "sql": "insert into t values (3, ?, ?)", "params": [{"j": 1}, true]});
    assert_eq!(scene.run("database_query", insert).unwrap().output["count"], 1);
    assert_eq!(std::fs::read_dir(&scene.work).unwrap().count(), 1);
}

#[test]
fn a_statement_reaches_no_other_file_and_loads_no_code() {
    let scene = Scene::new();
    let path = database(&scene, "d.db");
    let other = scene.outside.join("o.db");
    Connection::open(&other).unwrap().execute_batch("create table secret (s)").unwrap();
    for sql in [
        format!("attach '{}' as o", other.display()),
        format!("vacuum into '{}'", scene.outside.join("copy.db").display()),
        "select load_extension('/tmp/x.so')".to_owned(),
        "pragma journal_mode = off".to_owned(),
        "pragma writable_schema = 1".to_owned(),
        "create virtual table v using fts5(x)".to_owned(),
        "update sqlite_master set sql = 'x'".to_owned(),
        "select 1; drop table t".to_owned(),
        "not sql".to_owned(),
    ] {
        scene.refused("database_query", json!({"database": path, "sql": sql}));
    }
    assert!(!scene.outside.join("copy.db").exists());
    let count = scene.run("database_query", json!({"database": path, "sql": "select count(*) as n from t"})).unwrap();
    assert_eq!(count.output["rows"][0]["n"], 2);
    assert!(scene.run("database_query", json!({"database": path, "sql": "pragma table_info(t)"})).is_ok());
    scene.refused("database_query", json!({"database": scene.path("missing.db"), "sql": "select 1"}));
    assert!(!scene.work.join("missing.db").exists());
}

#[test]
fn rows_are_bounded_and_the_rest_is_counted() {
    let scene = Scene::new();
    let path = database(&scene, "d.db");
    let series = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10003) select i from n";
    let seen = scene.run("database_query", json!({"database": path, "sql": series})).unwrap();
    assert_eq!((seen.output["count"].clone(), seen.dropped["rows"]), (Value::from(10_000), 3));
    let wide = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) \
                select i, hex(zeroblob(500000)) as h from n";
    let seen = scene.run("database_query", json!({"database": path, "sql": wide})).unwrap();
    assert!(seen.dropped["rows"] > 0 && seen.output["count"].as_u64().unwrap() >= 3);
}
