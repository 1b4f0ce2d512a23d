//! What a snapshot refuses, and what it leaves out.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::{CaptureError, Limit, capture};
use crate::index::Kind;

fn folder() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (work, store) = (base.join("work"), base.join("store"));
    fs::create_dir(&work).unwrap();
    (dir, work, store)
}

#[test]
fn more_than_the_limit_is_refused_whole() {
    let (_dir, work, store) = folder();
    fs::write(work.join("a"), [0; 600]).unwrap();
    fs::write(work.join("b"), [1; 600]).unwrap();
    let refused = capture(std::slice::from_ref(&work), &[], &store, Limit::of_bytes(1000));
    assert!(matches!(refused, Err(CaptureError::TooLarge { limit: 1000, what: "bytes", .. })), "{refused:?}");
    assert!(fs::read_dir(store.join("index")).unwrap().next().is_none());
    capture(std::slice::from_ref(&work), &[], &store, Limit::of_bytes(1200)).unwrap();
    let few = capture(&[work], &[], &store, Limit { bytes: 10_000, entries: 2 });
    assert!(matches!(few, Err(CaptureError::TooLarge { what: "names", .. })), "{few:?}");
}

#[test]
fn a_link_on_the_way_is_refused_and_a_link_inside_is_kept_as_a_link() {
    let (_dir, work, store) = folder();
    let outside = work.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "s").unwrap();
    symlink(&outside, work.join("way")).unwrap();
    let through = capture(&[work.join("way/secret")], &[], &store, Limit::of_bytes(1000));
    assert!(matches!(through, Err(CaptureError::Read { .. })), "{through:?}");
    let kept = capture(std::slice::from_ref(&work), &[], &store, Limit::of_bytes(1000)).unwrap();
    assert_eq!(kept.bytes, 0);
    assert!(kept.index.entries.iter().any(|e| e.was == Kind::Symlink { to: outside.clone() }));
}

#[test]
fn a_pipe_is_refused_and_does_not_block() {
    let (_dir, work, store) = folder();
    let made = std::process::Command::new("mkfifo").arg(work.join("pipe")).status().unwrap();
    assert!(made.success());
    let refused = capture(&[work], &[], &store, Limit::of_bytes(1000));
    assert!(matches!(refused, Err(CaptureError::Special { kind: "named pipe", .. })), "{refused:?}");
}

#[test]
fn paths_out_of_normal_form_are_refused() {
    let (_dir, work, store) = folder();
    for wrong in [PathBuf::from("work"), work.join("../work"), PathBuf::from("/")] {
        let refused = capture(&[wrong], &[], &store, Limit::of_bytes(1000));
        assert!(matches!(refused, Err(CaptureError::Path(_))), "{refused:?}");
    }
}

#[test]
fn what_is_covered_is_left_out() {
    let (_dir, work, store) = folder();
    fs::write(work.join("key"), "k").unwrap();
    let kept = capture(std::slice::from_ref(&work), &[work.join("key")], &store, Limit::of_bytes(1000)).unwrap();
    assert_eq!(kept.bytes, 0);
    assert!(kept.index.entries.iter().any(|e| e.path == work.join("key") && e.was == Kind::Covered));
}
