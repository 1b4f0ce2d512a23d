//! Capture, any change, restore: as before. And never from a copy that was changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{RestoreError, restore};
use crate::capture::{Limit, capture};

const LIMIT: Limit = Limit::of_bytes(1 << 20);

fn folder() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (work, store) = (base.join("work"), base.join("store"));
    fs::create_dir(&work).unwrap();
    (dir, work, store)
}

/// Everything below a path: kind and content, mode, time.
fn state(path: &Path) -> BTreeMap<PathBuf, (String, u32, i64, i64)> {
    let mut all = BTreeMap::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_symlink() {
            all.insert(path.clone(), (format!("-> {:?}", fs::read_link(&path).unwrap()), 0, 0, 0));
            continue;
        }
        let what = if meta.is_dir() { String::from("dir") } else { format!("{:?}", fs::read(&path).unwrap()) };
        all.insert(path.clone(), (what, meta.mode(), meta.mtime(), meta.mtime_nsec()));
        if meta.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    all
}

#[test]
fn a_tampered_snapshot_is_not_restored() {
    let (_dir, work, store) = folder();
    fs::write(work.join("a"), "first").unwrap();
    fs::write(work.join("b"), "second").unwrap();
    let kept = capture(std::slice::from_ref(&work), &[], &store, LIMIT).unwrap();
    fs::write(work.join("a"), "changed").unwrap();
    fs::write(work.join("b"), "changed").unwrap();
    let changed = state(&work);

    // A copy with another content of the same length: nothing at all is put back, the honest copy neither.
    let blob = store.join("blobs").join(countersign_plan::digest::Digest::of(b"second").hex());
    fs::set_permissions(&blob, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&blob, "seconD").unwrap();
    assert!(matches!(restore(&store, kept.digest, &[]), Err(RestoreError::Blob(path)) if path == work.join("b")));
    assert_eq!(state(&work), changed);
    fs::write(&blob, "second and more").unwrap();
    assert!(matches!(restore(&store, kept.digest, &[]), Err(RestoreError::Blob(_))));
    fs::remove_file(&blob).unwrap();
    assert!(matches!(restore(&store, kept.digest, &[]), Err(RestoreError::Blob(_))));
    fs::write(&blob, "second").unwrap();

    // An index that names another path.
    let index = store.join("index").join(format!("{}.json", kept.digest.hex()));
    let honest = fs::read_to_string(&index).unwrap();
    fs::set_permissions(&index, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&index, honest.replace("work/a", "work/c")).unwrap();
    assert!(matches!(restore(&store, kept.digest, &[]), Err(RestoreError::Index(_))));
    assert_eq!(state(&work), changed);

    fs::write(&index, honest).unwrap();
    restore(&store, kept.digest, &[]).unwrap();
    assert_eq!(fs::read(work.join("a")).unwrap(), b"first");
}

#[test]
fn lesson_27_an_index_restores_nothing_outside_its_targets() {
    let (_dir, work, store) = folder();
    fs::write(work.join("a"), "first").unwrap();
    let mut index = capture(&[work.join("a")], &[], &store, LIMIT).unwrap().index;
    index.entries[0].path = work.join("elsewhere");
    let forged = crate::store::Store::open(&store).unwrap().keep_index(&index.to_bytes().unwrap()).unwrap();
    assert!(matches!(restore(&store, forged, &[]), Err(RestoreError::Index(_))));
    assert!(!work.join("elsewhere").exists());
}

#[test]
fn what_appeared_goes_and_what_went_comes_back() {
    let (_dir, work, store) = folder();
    fs::write(work.join("kept"), "k").unwrap();
    fs::write(work.join("lost"), "l").unwrap();
    let absent = work.join("new/deep/file");
    let targets = [work.join("lost"), absent.clone()];
    let kept = capture(&targets, &[], &store, LIMIT).unwrap();
    fs::remove_file(work.join("lost")).unwrap();
    fs::create_dir_all(absent.parent().unwrap()).unwrap();
    fs::write(&absent, "n").unwrap();
    let changes = restore(&store, kept.digest, &[]).unwrap();
    assert_eq!(fs::read(work.join("lost")).unwrap(), b"l");
    assert!(!work.join("new").exists());
    assert_eq!(changes.restored, [work.join("lost")]);
    assert!(changes.removed.contains(&absent) && changes.removed.contains(&work.join("new")));
    assert_eq!(fs::read(work.join("kept")).unwrap(), b"k");
}

#[test]
fn a_folder_that_somebody_else_uses_by_now_stays() {
    let (_dir, work, store) = folder();
    let absent = work.join("new/file");
    let kept = capture(std::slice::from_ref(&absent), &[], &store, LIMIT).unwrap();
    fs::create_dir(work.join("new")).unwrap();
    fs::write(&absent, "n").unwrap();
    fs::write(work.join("new/notes"), "mine").unwrap();
    restore(&store, kept.digest, &[]).unwrap();
    assert!(!absent.exists());
    assert_eq!(fs::read(work.join("new/notes")).unwrap(), b"mine");
}

#[test]
fn a_link_put_in_the_way_does_not_lead_a_restore_out() {
    let (_dir, work, store) = folder();
    let outside = work.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "theirs").unwrap();
    fs::create_dir(work.join("sub")).unwrap();
    fs::write(work.join("sub/file"), "ours").unwrap();
    let kept = capture(&[work.join("sub/file")], &[], &store, LIMIT).unwrap();
    fs::rename(work.join("sub"), work.join("moved")).unwrap();
    symlink(&outside, work.join("sub")).unwrap();
    assert!(matches!(restore(&store, kept.digest, &[]), Err(RestoreError::Write { .. })));
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"theirs");

    // As an entry of a kept folder the link is removed, not followed.
    fs::remove_file(work.join("sub")).unwrap();
    fs::rename(work.join("moved"), work.join("sub")).unwrap();
    let kept = capture(std::slice::from_ref(&work), &[], &store, LIMIT).unwrap();
    fs::remove_dir_all(work.join("sub")).unwrap();
    symlink(&outside, work.join("sub")).unwrap();
    restore(&store, kept.digest, &[]).unwrap();
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"theirs");
    assert_eq!(fs::read(work.join("sub/file")).unwrap(), b"ours");
}

#[test]
fn names_that_are_no_text_are_kept() {
    use std::os::unix::ffi::OsStrExt as _;
    let (_dir, work, store) = folder();
    let odd = work.join(std::ffi::OsStr::from_bytes(b"odd-\xff"));
    fs::write(&odd, "o").unwrap();
    let kept = capture(std::slice::from_ref(&work), &[], &store, LIMIT).unwrap();
    fs::remove_file(&odd).unwrap();
    restore(&store, kept.digest, &[]).unwrap();
    assert_eq!(fs::read(&odd).unwrap(), b"o");
}

/// One change to a small tree.
#[derive(Debug, Clone)]
enum Change {
    Write(u8, u8, Vec<u8>),
    Mkdir(u8, u8),
    Link(u8, u8),
    Remove(u8, u8),
    Move(u8, u8, u8, u8),
    Mode(u8, u8, u32),
}

fn place(work: &Path, folder: u8, name: u8) -> PathBuf {
    match folder % 3 {
        0 => work.join(format!("n{}", name % 4)),
        1 => work.join(format!("n0/n{}", name % 4)),
        _ => work.join(format!("n0/n1/n{}", name % 4)),
    }
}

fn apply(work: &Path, change: &Change) {
    // A change that does not apply to the tree as it is changes nothing.
    match change {
        Change::Write(f, n, content) => drop(fs::write(place(work, *f, *n), content)),
        Change::Mkdir(f, n) => drop(fs::create_dir(place(work, *f, *n))),
        Change::Link(f, n) => drop(symlink("n2", place(work, *f, *n))),
        Change::Remove(f, n) => {
            let path = place(work, *f, *n);
            drop(fs::remove_file(&path));
            drop(fs::remove_dir_all(&path));
        }
        Change::Move(f, n, g, m) => drop(fs::rename(place(work, *f, *n), place(work, *g, *m))),
        Change::Mode(f, n, mode) => {
            let path = place(work, *f, *n);
            if path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) {
                fs::set_permissions(path, fs::Permissions::from_mode(0o700 | (mode & 0o077))).unwrap();
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0..3u8, 0..4u8, prop::collection::vec(any::<u8>(), 0..6)).prop_map(|(f, n, c)| Change::Write(f, n, c)),
        (0..3u8, 0..4u8).prop_map(|(f, n)| Change::Mkdir(f, n)),
        (0..3u8, 0..4u8).prop_map(|(f, n)| Change::Link(f, n)),
        (0..3u8, 0..4u8).prop_map(|(f, n)| Change::Remove(f, n)),
        (0..3u8, 0..4u8, 0..3u8, 0..4u8).prop_map(|(f, n, g, m)| Change::Move(f, n, g, m)),
        (0..3u8, 0..4u8, any::<u32>()).prop_map(|(f, n, m)| Change::Mode(f, n, m)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn whatever_changes_a_restore_brings_back_what_was(
        before in prop::collection::vec(change(), 0..20),
        since in prop::collection::vec(change(), 0..20),
    ) {
        let (_dir, work, store) = folder();
        before.iter().for_each(|change| apply(&work, change));
        let kept = capture(std::slice::from_ref(&work), &[], &store, LIMIT).unwrap();
        let was = state(&work);
        since.iter().for_each(|change| apply(&work, change));
        restore(&store, kept.digest, &[]).unwrap();
        prop_assert_eq!(state(&work), was);
        let again = restore(&store, kept.digest, &[]).unwrap();
        prop_assert!(again.restored.is_empty() && again.removed.is_empty(), "{:?}", again);
    }
}
