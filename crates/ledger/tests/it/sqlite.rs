//! Databases that are damaged, foreign, or on a full disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::StoreError;
use countersign_ledger::store::sqlite::{SqliteReader, SqliteStore};
use countersign_ledger::{AppendError, Ledger, OpenError, RecordKind};
use rusqlite::Connection;
use serde_json::json;

use crate::support::{Home, decision, entry, fill, gate, master};

fn private(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_truncated_database_never_opens_as_if_it_were_whole() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    ledger.close().unwrap();
    let whole = fs::read(home.database()).unwrap();
    assert!(whole.len() > 40_000);
    let cuts =
        (0..whole.len()).step_by(1021).chain([1, 15, 16, 99, 100, 4095, 4096, whole.len() - 4096, whole.len() - 1]);
    for length in cuts {
        fs::write(home.database(), &whole[..length]).unwrap();
        let Err(error) = home.open() else { panic!("opened at {length} of {} bytes", whole.len()) };
        assert!(!error.to_string().is_empty());
    }
    fs::write(home.database(), &whole).unwrap();
    drop(home.open().unwrap());
}

#[test]
fn a_database_of_something_else_is_refused_and_left_alone() {
    let home = Home::new();
    fs::create_dir(home.path().join("ledger")).unwrap();
    fs::set_permissions(home.path().join("ledger"), fs::Permissions::from_mode(0o700)).unwrap();
    let connection = Connection::open(home.database()).unwrap();
    connection.execute_batch("CREATE TABLE books (title TEXT); INSERT INTO books VALUES ('Emma');").unwrap();
    drop(connection);
    private(&home.database());
    let before = fs::read(home.database()).unwrap();
    assert!(matches!(SqliteStore::open(&home.database()), Err(StoreError::Foreign { found: 0, .. })));
    assert!(matches!(SqliteReader::open(&home.database()), Err(StoreError::Foreign { .. })));
    assert_eq!(fs::read(home.database()).unwrap(), before);
    Connection::open(home.database()).unwrap().execute_batch("PRAGMA application_id = 7").unwrap();
    assert!(matches!(SqliteStore::open(&home.database()), Err(StoreError::Foreign { found: 7, .. })));
    for bytes in [b"just some text, long enough to be taken for a header of a database file ".repeat(9), vec![0; 8192]]
    {
        fs::write(home.database(), &bytes).unwrap();
        assert!(matches!(SqliteStore::open(&home.database()), Err(StoreError::Damaged { .. })));
        assert_eq!(fs::read(home.database()).unwrap(), bytes);
    }
}

#[test]
fn another_version_is_refused() {
    let home = Home::new();
    home.open().unwrap().close().unwrap();
    Connection::open(home.database()).unwrap().execute_batch("PRAGMA user_version = 2").unwrap();
    assert!(matches!(home.open(), Err(OpenError::Store(StoreError::Version { found: 2, known: 1, .. }))));
}

#[test]
fn a_reader_makes_no_database() {
    let home = Home::new();
    assert!(matches!(SqliteReader::open(&home.database()), Err(StoreError::Io { .. })));
    assert!(!home.database().exists());
}

/// A file system of one MiB, mounted where the process may mount.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_stops_the_ledger_and_loses_nothing_acknowledged() {
    let home = Home::new();
    let Some(disk) = SmallDisk::mount(&home.path().join("small")) else {
        println!("skipped: this user may not mount a file system");
        return;
    };
    let open = || {
        let store = SqliteStore::open(&disk.0.join("ledger.db"))?;
        Ledger::open(Box::new(store), gate().boxed(), master(), &home.head())
    };
    let ledger = open().unwrap();
    let big = |n| entry(RecordKind::Outcome, Some("c-1"), n, json!({"n": n, "out": "x".repeat(8000)}));
    let mut acknowledged = 0;
    let error = loop {
        match ledger.append(vec![big(acknowledged)]).wait() {
            Ok(proof) => assert_eq!(proof.seqs().start, u64::try_from(acknowledged).unwrap()),
            Err(error) => break error,
        }
        acknowledged += 1;
        assert!(acknowledged < 200, "more was acknowledged than fits");
    };
    assert!(acknowledged > 20, "{acknowledged}");
    assert!(matches!(&error, AppendError::Poisoned(cause) if cause.contains("no space left")), "{error}");
    // Small entries, which might fit, are refused as well.
    assert!(matches!(ledger.append(vec![decision(1)]).wait(), Err(AppendError::Poisoned(_))));
    assert!(ledger.close().is_err());
    // With more room it goes on, and all that was acknowledged is there.
    let grown = Command::new("mount").args(["-o", "remount,size=16m"]).arg(&disk.0).status().unwrap();
    assert!(grown.success());
    let ledger = open().unwrap();
    let mut reader = ledger.reader().unwrap();
    assert!(reader.size().unwrap() >= u64::try_from(acknowledged).unwrap());
    for n in 0..acknowledged {
        let record = reader.record(u64::try_from(n).unwrap()).unwrap();
        assert!(matches!(record.payload, countersign_ledger::reader::Payload::Open(value) if value["n"] == json!(n)));
    }
    let _ = ledger.append(vec![decision(2)]).wait().unwrap();
}

#[test]
fn a_ledger_cannot_be_made_on_a_full_disk_and_says_why() {
    let home = Home::new();
    let Some(disk) = SmallDisk::mount(&home.path().join("small")) else {
        println!("skipped: this user may not mount a file system");
        return;
    };
    fs::write(disk.0.join("filler"), vec![0; 1 << 20]).unwrap();
    let opened = SqliteStore::open(&disk.0.join("ledger.db"))
        .map_err(OpenError::from)
        .and_then(|store| Ledger::open(Box::new(store), gate().boxed(), MasterKey::generate().unwrap(), &home.head()));
    let error = opened.unwrap_err().to_string();
    assert!(error.contains("no space left") || error.contains("No space left"), "{error}");
}
