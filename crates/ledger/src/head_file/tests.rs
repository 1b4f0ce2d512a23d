//! The file outside the database.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{HeadFile, HeadFileError, read};

/// A note that parses; whose signature it carries is of no interest here.
fn note(size: u64) -> String {
    let root = "A".repeat(43) + "=";
    format!("countersign/x\n{size}\n{root}\nprevious 0\n\n\u{2014} gate AAAAAAA=\n")
}

fn sizes(path: &std::path::Path) -> Vec<u64> {
    let mut sizes: Vec<u64> = read(path).unwrap().unwrap().slots.iter().map(|slot| slot.claimed().size).collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn the_last_two_heads_are_kept_and_the_file_never_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/head");
    assert!(read(&path).unwrap().is_none());
    let mut file = HeadFile::start(&path, &note(0)).unwrap();
    assert_eq!(sizes(&path), [0, 0]);
    let length = fs::metadata(&path).unwrap().len();
    for size in 1..10 {
        file.write(&note(size)).unwrap();
        assert_eq!(sizes(&path), [size - 1, size]);
    }
    // A shorter note leaves nothing of the longer one.
    file.write(&note(1_000_000)).unwrap();
    file.write(&note(3)).unwrap();
    file.write(&note(4)).unwrap();
    assert_eq!(sizes(&path), [3, 4]);
    assert_eq!(fs::metadata(&path).unwrap().len(), length);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    file.close().unwrap();
    assert_eq!(sizes(&path), [3, 4]);
}

#[test]
fn a_note_longer_than_a_slot_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head");
    let mut file = HeadFile::start(&path, &note(0)).unwrap();
    file.write(&note(1).replace("previous 0", &format!("previous 0\n{}", "x".repeat(1024)))).unwrap_err();
    assert_eq!(sizes(&path), [0, 0]);
}

#[test]
fn nothing_is_written_through_a_link_left_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let (path, victim) = (folder.path().join("head"), folder.path().join("victim"));
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, folder.path().join("head.new")).unwrap();
    symlink(&victim, &path).unwrap();
    assert!(matches!(read(&path), Err(HeadFileError::Unsafe { .. })));
    HeadFile::start(&path, &note(0)).unwrap().close().unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    assert_eq!(sizes(&path), [0, 0]);
}

#[test]
fn a_folder_in_place_of_the_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read(folder.path()), Err(HeadFileError::Unsafe { .. })));
    assert!(matches!(HeadFile::start(folder.path(), &note(0)), Err(HeadFileError::Io { .. })));
}
