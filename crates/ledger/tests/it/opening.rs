//! Opening a ledger that somebody worked on in the meantime (INV-8).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::StoreError;
use countersign_ledger::store::sqlite::SqliteStore;
use countersign_ledger::{HeadFileError, Ledger, OpenError};
use rusqlite::Connection;

use crate::support::{Home, TestKey, at, decision, fill, gate};

/// A closed ledger of about 60 records.
fn filled() -> Home {
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    ledger.close().unwrap();
    home
}

fn edit(home: &Home, sql: &str) {
    let connection = Connection::open(home.database()).unwrap();
    assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
}

fn copy(home: &Home) -> Vec<u8> {
    fs::read(home.database()).unwrap()
}

#[test]
fn a_ledger_goes_on_where_it_ended() {
    let home = filled();
    let ledger = home.open().unwrap();
    assert_eq!(ledger.append(vec![decision(70)]).wait().unwrap().seqs(), 60..61);
    let id = ledger.id().clone();
    drop(ledger);
    let ledger = home.open().unwrap();
    assert_eq!(*ledger.id(), id);
    assert_eq!(ledger.append(vec![decision(71)]).wait().unwrap().seqs(), 61..62);
}

#[test]
fn files_are_the_owners_alone() {
    let home = filled();
    let _ledger = home.open().unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for folder in ["ledger", "head"] {
        let folder = home.path().join(folder);
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for file in fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }
}

#[test]
fn files_that_others_can_read_or_swap_are_refused() {
    let home = filled();
    let unsafe_store = |home: &Home| matches!(home.open(), Err(OpenError::Store(StoreError::Unsafe { .. })));
    fs::set_permissions(home.database(), fs::Permissions::from_mode(0o640)).unwrap();
    assert!(unsafe_store(&home));
    fs::set_permissions(home.database(), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(home.path().join("ledger"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(unsafe_store(&home));
    fs::set_permissions(home.path().join("ledger"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(home.head(), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(home.open(), Err(OpenError::HeadFile(HeadFileError::Unsafe { .. }))));
    fs::set_permissions(home.head(), fs::Permissions::from_mode(0o600)).unwrap();
    let elsewhere = home.path().join("elsewhere.db");
    fs::rename(home.database(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.database()).unwrap();
    assert!(unsafe_store(&home));
}

#[test]
fn a_second_writer_is_refused() {
    let home = filled();
    let _first = home.open().unwrap();
    assert!(matches!(home.open(), Err(OpenError::Store(StoreError::InUse { .. }))));
}

#[test]
fn a_rolled_back_database_is_refused_and_both_heads_are_named() {
    let home = filled();
    let old = copy(&home);
    let ledger = home.open().unwrap();
    let _ = ledger.append(vec![decision(70)]).wait().unwrap();
    ledger.close().unwrap();
    fs::write(home.database(), old).unwrap();
    match home.open() {
        Err(OpenError::RolledBack { kept, found }) => assert_eq!((kept.size, found.size), (61, 60)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_forked_database_is_refused_and_both_heads_are_named() {
    let home = filled();
    let old = (copy(&home), fs::read(home.head()).unwrap());
    let ledger = home.open().unwrap();
    let _ = ledger.append(vec![decision(70)]).wait().unwrap();
    ledger.close().unwrap();
    let kept = fs::read(home.head()).unwrap();
    // Somebody with the key goes on from the old state, to a larger size.
    fs::write(home.database(), old.0).unwrap();
    fs::write(home.head(), old.1).unwrap();
    let ledger = home.open().unwrap();
    let _ = ledger.append(vec![decision(71), decision(72)]).wait().unwrap();
    ledger.close().unwrap();
    fs::write(home.head(), kept).unwrap();
    match home.open() {
        Err(OpenError::Forked { kept, found }) => {
            assert_eq!((kept.size, found.size), (61, 61));
            assert_ne!(kept.root, found.root);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_emptied_or_exchanged_database_is_refused() {
    let home = filled();
    fs::write(home.database(), b"").unwrap();
    assert!(matches!(home.open(), Err(OpenError::OtherLedger { .. })));
    let other = filled();
    fs::copy(other.database(), home.database()).unwrap();
    assert!(matches!(home.open(), Err(OpenError::OtherLedger { .. })));
    fs::remove_file(home.database()).unwrap();
    assert!(matches!(home.open(), Err(OpenError::OtherLedger { .. })));
}

#[test]
fn a_missing_or_damaged_head_file_is_refused() {
    let home = filled();
    let head = fs::read(home.head()).unwrap();
    fs::remove_file(home.head()).unwrap();
    assert!(matches!(home.open(), Err(OpenError::HeadMissing { size: 60 })));
    for bytes in [Vec::new(), b"rubbish".to_vec(), vec![0; 5000], head[..100].to_vec()] {
        fs::write(home.head(), bytes).unwrap();
        fs::set_permissions(home.head(), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(home.open(), Err(OpenError::HeadFile(HeadFileError::Damaged { .. }))));
    }
    // Somebody else's head of the same ledger.
    let forged = String::from_utf8(head.clone()).unwrap().replace("\u{2014} gate ", "\u{2014} evil ");
    fs::write(home.head(), forged).unwrap();
    assert!(matches!(home.open(), Err(OpenError::HeadForeign { .. })));
    fs::write(home.head(), &head).unwrap();
    home.open().unwrap();
}

#[test]
fn a_torn_slot_of_the_head_file_leaves_the_other() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    for n in 0..5 {
        let _ = ledger.append(vec![decision(n)]).wait().unwrap();
    }
    ledger.close().unwrap();
    let head = fs::read(home.head()).unwrap();
    for slot in 0..2 {
        for torn in [0, 10, 150, 300] {
            let mut bytes = head.clone();
            bytes[slot * 1024 + torn..(slot + 1) * 1024].fill(0);
            fs::write(home.head(), bytes).unwrap();
            drop(home.open().unwrap());
        }
    }
}

#[test]
fn an_altered_right_edge_is_refused() {
    let edits = [
        "UPDATE records SET kind = 'approval' WHERE seq = 59",
        "UPDATE records SET kind = 'rubbish' WHERE seq = 59",
        "UPDATE records SET at = at + 1 WHERE seq = 58",
        "UPDATE records SET case_id = 'c-9' WHERE seq = 59",
        "UPDATE records SET digest = zeroblob(32) WHERE seq = 59",
        "UPDATE records SET digest = zeroblob(31) WHERE seq = 59",
        "UPDATE records SET nodes = zeroblob(32) WHERE seq = 58",
        // A full subtree on the edge, far back.
        "UPDATE records SET nodes = zeroblob(6 * 32) WHERE seq = 31",
        "UPDATE records SET nodes = zeroblob(32) WHERE seq = 31",
        "UPDATE records SET head = NULL WHERE seq = 59",
        "UPDATE records SET head = (SELECT head FROM records WHERE seq = 56) WHERE seq = 59",
        "UPDATE records SET head = replace(head, 'previous 57', 'previous 0') WHERE seq = 59",
        "DELETE FROM records WHERE seq = 58",
        "DELETE FROM records WHERE seq = 59",
        "DELETE FROM records",
        "UPDATE ledger SET master_check = zeroblob(64)",
        "UPDATE ledger SET ledger = 'other'",
        "UPDATE signing_keys SET key = replace(key, 'gate', 'evil')",
    ];
    for sql in edits {
        let home = filled();
        edit(&home, sql);
        let error = home.open().expect_err(sql);
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn an_altered_subtree_is_found_by_the_last_head_alone() {
    let home = filled();
    // The head outside is so old that it does not cover the altered part.
    let connection = Connection::open(home.database()).unwrap();
    let old: String = connection.query_row("SELECT head FROM records WHERE seq = 14", [], |row| row.get(0)).unwrap();
    drop(connection);
    fs::write(home.head(), &old).unwrap();
    home.open().unwrap().close().unwrap();
    fs::write(home.head(), &old).unwrap();
    edit(&home, "UPDATE records SET nodes = zeroblob(6 * 32) WHERE seq = 31");
    assert!(matches!(home.open(), Err(OpenError::Altered { seq: 59, .. })));
}

#[test]
fn another_key_is_refused_and_the_right_one_named() {
    let home = filled();
    match home.open_as(&TestKey::new("gate", 2)) {
        Err(OpenError::OtherKey { expected, .. }) => assert_eq!(*expected, gate().public()),
        other => panic!("{other:?}"),
    }
    let store = SqliteStore::open(&home.database()).unwrap();
    let other = MasterKey::generate().unwrap();
    let opened = Ledger::open(Box::new(store), gate().boxed(), other, &home.head());
    assert!(matches!(opened, Err(OpenError::OtherMasterKey(_))));
}

#[test]
fn an_interrupted_creation_is_finished() {
    let home = Home::new();
    // Killed after the tables were made.
    drop(SqliteStore::open(&home.database()).unwrap());
    drop(home.open().unwrap());
    // Killed before the head file was written.
    fs::remove_file(home.head()).unwrap();
    let ledger = home.open().unwrap();
    let _ = ledger.append(vec![decision(1)]).wait().unwrap();
}

#[test]
fn a_rotation_is_followed_at_the_next_start() {
    let home = filled();
    let (old, new) = (gate(), TestKey::new("gate", 2));
    let ledger = home.open().unwrap();
    let proof = ledger.rotate(new.boxed(), at(100)).wait().unwrap();
    assert_eq!(proof.seqs(), 60..61);
    assert!(ledger.rotate(new.boxed(), at(101)).wait().is_err());
    let _ = ledger.append(vec![decision(101)]).wait().unwrap();
    ledger.close().unwrap();
    assert!(matches!(home.open_as(&old), Err(OpenError::OtherKey { .. })));
    home.open_as(&new).unwrap().close().unwrap();
}

#[test]
fn a_rotation_interrupted_before_the_new_keys_first_head_is_finished() {
    let home = filled();
    let head = fs::read(home.head()).unwrap();
    let new = TestKey::new("gate", 2);
    let ledger = home.open().unwrap();
    let _ = ledger.rotate(new.boxed(), at(100)).wait().unwrap();
    ledger.close().unwrap();
    // The state between the two batches of a rotation.
    edit(&home, "DELETE FROM records WHERE seq = 61");
    fs::write(home.head(), head).unwrap();
    assert!(matches!(home.open(), Err(OpenError::OtherKey { .. })));
    let ledger = home.open_as(&new).unwrap();
    assert_eq!(ledger.append(vec![decision(3)]).wait().unwrap().seqs(), 61..62);
}

#[test]
fn a_rotation_interrupted_before_the_new_keys_first_head_was_kept_is_finished() {
    let home = filled();
    let new = TestKey::new("gate", 2);
    let ledger = home.open().unwrap();
    let _ = ledger.rotate(new.boxed(), at(100)).wait().unwrap();
    ledger.close().unwrap();
    // The database has the new key's first head already, the head file the old key's last.
    let old = |size: u64| {
        let connection = Connection::open(home.database()).unwrap();
        let query = "SELECT head FROM records WHERE seq = ?1";
        connection.query_row(query, [i64::try_from(size).unwrap() - 1], |row| row.get::<_, String>(0)).unwrap()
    };
    for size in [61, 60, 57] {
        fs::write(home.head(), old(size)).unwrap();
        home.open_as(&new).unwrap().close().unwrap();
    }
    // A stranger's head is none of the ledger's, whatever its size.
    let evil = TestKey::new("gate", 66);
    for size in [60, 61, 62] {
        let claimed = countersign_ledger::checkpoint::Checkpoint::parse(&old(size)).unwrap().claimed().clone();
        fs::write(home.head(), claimed.sign(&evil.public(), &evil)).unwrap();
        assert!(matches!(home.open_as(&new), Err(OpenError::HeadForeign { .. })));
    }
}

#[test]
fn a_rotation_that_was_altered_is_refused() {
    let edits = [
        "UPDATE records SET kind = 'config' WHERE seq = 60",
        "UPDATE records SET payload = CAST('{}' AS BLOB) WHERE seq = 60",
        "DELETE FROM records WHERE seq = 60",
        "UPDATE signing_keys SET from_size = 60 WHERE from_size = 61",
        "DELETE FROM signing_keys WHERE from_size = 61",
    ];
    for sql in edits {
        let home = filled();
        let new = TestKey::new("gate", 2);
        let ledger = home.open().unwrap();
        let _ = ledger.rotate(new.boxed(), at(100)).wait().unwrap();
        ledger.close().unwrap();
        edit(&home, sql);
        home.open_as(&new).expect_err(sql);
    }
}
