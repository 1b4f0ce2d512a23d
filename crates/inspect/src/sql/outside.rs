//! Tables that lie with somebody else, or are what a program prints (ClickHouse, "Table Functions", "Table Engines"; osquery, "Schema").

use countersign_plan::tool::{Effect, TargetKind};
use sqlparser::ast::{CreateTable, CreateTableOptions, Insert, SqlOption};

use super::{Inspection, Reader, touch};
use crate::bounded::Bounded as _;
use crate::inspection::{Build as _, UnknownKind};

/// Functions and engines that stand for a table at an address, which is the first thing that they are given.
const FETCHING: &[&str] = &[
    "url",
    "s3",
    "s3queue",
    "gcs",
    "azureblobstorage",
    "azurequeue",
    "hdfs",
    "remote",
    "remotesecure",
    "mysql",
    "postgresql",
    "materializedpostgresql",
    "mongodb",
    "redis",
    "iceberg",
    "icebergs3",
    "icebergazure",
    "iceberghdfs",
    "deltalake",
    "deltalakes3",
    "deltalakeazure",
    "hudi",
    "jdbc",
    "odbc",
    "arrowflight",
    "kafka",
    "rabbitmq",
    "nats",
    "ytsaurus",
];

/// Those that stand for a file of the server.
const FILES: &[&str] = &["file", "sqlite", "iceberglocal", "deltalakelocal", "embeddedrocksdb"];

/// Tables that are filled by asking whoever the condition names.
const ASKING: &[&str] = &["curl", "curl_certificate"];

/// The text of an argument, where it is one.
fn constant(argument: &str) -> Option<&str> {
    let argument = argument.trim();
    let inner = argument.get(1..argument.len().checked_sub(1)?)?;
    (argument.starts_with('\'') && argument.ends_with('\'') && !inner.contains('\'')).then_some(inner)
}

impl Reader<'_> {
    /// `url('ADDRESS', …)` in the place of a table, of which rows are read or which gets them.
    pub(super) fn fetches(&mut self, function: &str, given: &[String], effect: Effect) {
        let name: String =
            function.chars().filter(|c| !matches!(c, '"' | '`')).collect::<String>().to_ascii_lowercase();
        // On a cluster the name of that comes first (ClickHouse, "s3Cluster").
        let (name, at) = match name.strip_suffix("cluster") {
            Some(name) => (name, 1),
            None => (name.as_str(), 0),
        };
        let first = given.get(at).map(String::as_str);
        if FILES.contains(&name) {
            self.file(effect, first.and_then(constant).unwrap_or("?"));
        }
        if matches!(name, "executable" | "executablepool") && effect == Effect::Create {
            let line = first.and_then(constant).unwrap_or("?");
            touch(self.out, Effect::Execute, TargetKind::Process, line);
            let message = "the table is what a program prints";
            self.out.unknown(UnknownKind::Code, Effect::Execute, None, message);
        }
        if !FETCHING.contains(&name) {
            return;
        }
        // Several servers are named one behind the other (ClickHouse, "remote").
        let hosts = first.and_then(constant).map(|first| first.split([',', '|'])).into_iter().flatten().at_most(64);
        let hosts: Vec<Option<String>> = hosts
            .map(|host| {
                // The name of a driver stands before the address (JDBC, "DriverManager").
                crate::host::read(host.trim().trim_start_matches("jdbc:"))
                    .name
                    .filter(|name| !name.contains(['{', '}']))
            })
            .collect();
        let hosts = if hosts.is_empty() { vec![None] } else { hosts };
        for host in hosts {
            touch(self.out, Effect::Send, TargetKind::Host, host.unwrap_or_else(|| "?".to_owned()));
        }
    }

    /// `INSERT INTO FUNCTION url('ADDRESS', …)`: what is put there is sent, or becomes a file. The parser takes it for a table of that name.
    pub(super) fn gives_away(&mut self, insert: &Insert) {
        if let Some(alias) = &insert.table_alias
            && insert.table.to_string().eq_ignore_ascii_case("function")
        {
            let given: Vec<String> = insert.columns.iter().map(ToString::to_string).collect();
            self.fetches(&alias.alias.value, &given, Effect::Update);
        }
    }

    /// `CREATE TABLE … ENGINE = URL('ADDRESS', …)`: whoever reads the table asks there.
    pub(super) fn lies_with(&mut self, create: &CreateTable) {
        let CreateTableOptions::Plain(options) = &create.table_options else { return };
        for option in options {
            if let SqlOption::NamedParenthesizedList(list) = option
                && let Some(name) = &list.name
                && list.key.value.eq_ignore_ascii_case("engine")
            {
                let given: Vec<String> = list.values.iter().map(|value| format!("'{}'", value.value)).collect();
                // A file of this engine lies in the folder of its table.
                if !name.value.eq_ignore_ascii_case("file") {
                    self.fetches(&name.value, &given, Effect::Create);
                }
            }
        }
    }
}

/// Whom statements ask that read a table which is filled by asking: as their texts name them.
pub(super) fn asked(text: &str, out: &mut Inspection) {
    let asks = out.touches.iter().any(|touch| {
        let last = touch.name.rsplit('.').next().unwrap_or("").to_ascii_lowercase();
        touch.kind == TargetKind::Database && ASKING.contains(&last.as_str())
    });
    if !asks {
        return;
    }
    let quoted = text.split(['\'', '"']).skip(1).step_by(2).filter(|text| text.contains('.')).at_most(64);
    let mut hosts: Vec<String> = quoted.filter_map(|quoted| crate::host::read(quoted).name).collect();
    // What is put together or taken out of another table is known to nobody.
    if hosts.is_empty() || text.contains("||") {
        hosts.push("?".to_owned());
    }
    for host in hosts {
        touch(out, Effect::Send, TargetKind::Host, host);
    }
}
