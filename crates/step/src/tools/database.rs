//! One SQL statement on a SQLite file of the view.
//!
//! The file is opened read-only unless the gate granted it for writing. The statement can open no other file, load no
//! code and change no setting of the database (defensive mode and an authorizer, <https://sqlite.org/security.html>).

use std::path::Path;

use countersign_plan::observation::OBSERVATION_LIMIT;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use super::{Outcome, Seen};
use crate::bounded;
use crate::failure::Failure;
use crate::roots::{Place, Roots, Use};

/// The most rows that are given; more are counted.
const ROWS: u64 = 10_000;
/// The most rows that are counted.
const COUNTED: u64 = 10_000_000;
/// What the rows may take of an observation, in bytes of JSON, roughly.
const ROWS_BUDGET: usize = OBSERVATION_LIMIT - (512 << 10);
/// How long another writer is waited for.
const BUSY: std::time::Duration = std::time::Duration::from_secs(5);
/// The largest integer that JSON carries exactly; larger ones are given as text.
const EXACT: u64 = (1 << 53) - 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    database: String,
    sql: String,
    #[serde(default)]
    params: Vec<Value>,
}

/// `database_query`: rows and their count; for a statement that changes, how many rows it changed.
pub(super) fn query(roots: &Roots<'_>, Query { database, sql, params }: Query) -> Outcome<Seen> {
    let writable = roots.place(&database, Use::Write).ok();
    let (place, write) = match writable {
        Some(place) => (place, true),
        None => (roots.place(&database, Use::Read)?, false),
    };
    // Resolved without links here, and once more by SQLite, which refuses links as well (NOFOLLOW).
    place.open_file().map_err(Failure::to("open", &place.path))?;
    let parameters: Vec<Parameter> = params.iter().map(Parameter).collect();
    let ran = open(&place, write, Kind::Shared).and_then(|connection| run(&connection, &sql, &parameters));
    let ran = match ran {
        // A database in WAL mode that nobody has open cannot be opened where its index cannot be made; nor can it then change.
        Err(e) if !write && e.sqlite_error_code() == Some(ErrorCode::CannotOpen) && !has_log(&place) => {
            open(&place, write, Kind::Still).and_then(|connection| run(&connection, &sql, &parameters))
        }
        other => other,
    };
    ran.map_err(|e| failed(&place, &e))
}

/// Whether others may use the database at the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Shared,
    Still,
}

fn has_log(place: &Place) -> bool {
    let mut log = place.path.clone().into_os_string();
    log.push("-wal");
    Path::new(&log).symlink_metadata().is_ok()
}

/// A `file:` URI of a path (RFC 3986, section 2.1), for the setting that a path alone cannot carry.
fn still(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => uri.push(char::from(*byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

fn failed(place: &Place, error: &rusqlite::Error) -> Failure {
    Failure::new(format!("{}: {error}", place.path.display()))
}

fn open(place: &Place, write: bool, kind: Kind) -> rusqlite::Result<Connection> {
    let access = if write { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    let flags = access | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = match kind {
        Kind::Shared => Connection::open_with_flags(&place.path, flags)?,
        Kind::Still => Connection::open_with_flags(still(&place.path), flags | OpenFlags::SQLITE_OPEN_URI)?,
    };
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false)?;
    if write && place.alone {
        // The folder of the file is not the step's, so no journal can lie beside it; the snapshot is what takes back.
        connection.pragma_update(None, "journal_mode", "MEMORY")?;
    }
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.authorizer(Some(authorize))?;
    Ok(connection)
}

fn authorize(context: AuthContext<'_>) -> Authorization {
    const ASKING: [&str; 9] = [
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "integrity_check",
        "quick_check",
    ];
    match context.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } | AuthAction::CreateVtable { .. } => Authorization::Deny,
        AuthAction::Pragma { pragma_name, pragma_value } => {
            if pragma_value.is_none() || ASKING.contains(&pragma_name) {
                Authorization::Allow
            } else {
                Authorization::Deny
            }
        }
        AuthAction::Function {
            function_name: "load_extension" | "fts3_tokenizer" | "readfile" | "writefile" | "edit",
        } => Authorization::Deny,
        AuthAction::Unknown { .. } => Authorization::Deny,
        _ => Authorization::Allow,
    }
}

fn run(connection: &Connection, sql: &str, parameters: &[Parameter<'_>]) -> rusqlite::Result<Seen> {
    // More than one statement is an error here, before the first one runs.
    let mut statement = connection.prepare(sql)?;
    if statement.column_count() == 0 {
        let changed = statement.execute(rusqlite::params_from_iter(parameters))?;
        return Ok(Seen::returned(json!({"rows": [], "count": changed})));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
    let (mut given, mut more, mut used) = (Vec::new(), 0_u64, 0_usize);
    while let Some(row) = rows.next()? {
        if u64::try_from(given.len()).unwrap_or(u64::MAX) >= ROWS || used >= ROWS_BUDGET {
            more += 1;
            if more >= COUNTED {
                break;
            }
            continue;
        }
        let mut members = Map::new();
        for (i, column) in columns.iter().enumerate() {
            let value = value(row.get_ref(i)?);
            used = used.saturating_add(bounded::length(column)).saturating_add(size(&value)).saturating_add(8);
            members.insert(column.clone(), value);
        }
        if used < ROWS_BUDGET {
            given.push(Value::Object(members));
        } else {
            more += 1;
        }
    }
    let count = given.len();
    Ok(Seen::cut(json!({"rows": given, "count": count}), "rows", more))
}

fn value(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) if n.unsigned_abs() <= EXACT => n.into(),
        ValueRef::Integer(n) => n.to_string().into(),
        ValueRef::Real(n) => Number::from_f64(n).map_or(Value::Null, Value::Number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => json!({"hex": hex::encode(bytes)}),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => bounded::length(text),
        Value::Object(members) => members.values().map(size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => 24,
    }
}

/// A parameter from JSON: what SQLite has no type for is bound as its JSON text.
struct Parameter<'a>(&'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Bool(b) => ToSqlOutput::Borrowed(ValueRef::Integer(i64::from(*b))),
            Value::Number(n) => match (n.as_i64(), n.as_f64()) {
                (Some(n), _) => ToSqlOutput::Borrowed(ValueRef::Integer(n)),
                (None, Some(n)) => ToSqlOutput::Borrowed(ValueRef::Real(n)),
                (None, None) => ToSqlOutput::from(n.to_string()),
            },
            Value::String(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Array(_) | Value::Object(_) => ToSqlOutput::from(self.0.to_string()),
        })
    }
}

#[cfg(test)]
mod tests;
