//! Tables that lie with somebody else, or are what a program prints (ClickHouse, "Table Functions"; osquery, "Schema").

use countersign_plan::tool::{Effect, TargetKind};

use super::{Inspection, Reader, touch};

/// Functions that stand for a table at an address, which is the first thing that they are given.
const FETCHING: &[&str] = &[
    "url",
    "urlcluster",
    "s3",
    "s3cluster",
    "gcs",
    "azureblobstorage",
    "hdfs",
    "remote",
    "remotesecure",
    "mysql",
    "postgresql",
    "mongodb",
    "redis",
    "iceberg",
    "deltalake",
    "hudi",
];

/// Tables that are filled by asking whoever the condition names.
const ASKING: &[&str] = &["curl", "curl_certificate"];

impl Reader<'_> {
    /// `url('ADDRESS', …)` in the place of a table.
    pub(super) fn fetches(&mut self, function: &str, first: &str) {
        let lower = function.to_ascii_lowercase();
        if FETCHING.contains(&lower.as_str()) && !first.is_empty() {
            let host = crate::host::read(first).name.unwrap_or_else(|| "?".to_owned());
            touch(self.out, Effect::Send, TargetKind::Host, host);
        }
        if lower == "file" {
            self.file(Effect::Read, first);
        }
    }
}

/// `INSERT INTO FUNCTION url('ADDRESS', …)`: what is put there is sent, or becomes a file.
fn given_away(text: &str, out: &mut Inspection) {
    let lower = text.to_ascii_lowercase();
    let calls = ["into function ", "into table function "]
        .iter()
        .flat_map(|mark| lower.match_indices(mark).map(|(at, mark)| at + mark.len()));
    for at in calls.take(16).collect::<Vec<_>>() {
        let Some((name, rest)) = text.get(at..).and_then(|call| call.split_once('(')) else { continue };
        let first = rest.split(['\'', '"']).nth(1).unwrap_or("");
        match name.trim().to_ascii_lowercase().as_str() {
            "file" => touch(out, Effect::Update, TargetKind::File, first),
            name => Reader { out }.fetches(name, first),
        }
    }
}

/// Whom statements reach that put rows into such a table, or ask by one: as their texts name them.
pub(super) fn asked(text: &str, out: &mut Inspection) {
    given_away(text, out);
    let asks =
        out.touches.iter().any(|touch| touch.kind == TargetKind::Database && ASKING.contains(&touch.name.as_str()));
    if !asks {
        return;
    }
    for quoted in text.split('\'').skip(1).step_by(2).filter(|text| text.contains('.')).take(16) {
        if let Some(host) = crate::host::read(quoted).name {
            touch(out, Effect::Send, TargetKind::Host, host);
        }
    }
}
