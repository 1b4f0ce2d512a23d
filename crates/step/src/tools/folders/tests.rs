//! Folders made, removed, moved and copied.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::tools::testing::{Scene, grant};

fn from_to(scene: &Scene, from: &str, to: &str) -> serde_json::Value {
    json!({"source": scene.path(from), "destination": scene.path(to)})
}

#[test]
fn a_folder_is_made_with_its_parents() {
    let scene = Scene::new();
    let path = scene.path("a/b/c");
    for _ in 0..2 {
        let seen = scene.run("create_directory", json!({"path": path})).unwrap();
        assert_eq!(seen.output, json!({"path": path}));
    }
    assert!(scene.work.join("a/b/c").is_dir());
    scene.write("file", "");
    scene.refused("create_directory", json!({"path": scene.path("file")}));
}

#[test]
fn deleting_a_folder_follows_no_link() {
    let scene = Scene::new();
    fs::write(scene.outside.join("kept"), "k").unwrap();
    scene.write("target/deep/file", "x");
    symlink(&scene.outside, scene.work.join("target/link")).unwrap();
    let seen = scene.run("delete_directory", json!({"path": scene.path("target")})).unwrap();
    assert_eq!(seen.output, json!({"deleted": 4}));
    assert!(scene.outside.join("kept").exists() && !scene.work.join("target").exists());
    scene.write("file", "");
    assert!(scene.refused("delete_directory", json!({"path": scene.path("file")})).contains("no directory"));
    symlink(&scene.outside, scene.work.join("link")).unwrap();
    assert!(scene.refused("delete_directory", json!({"path": scene.path("link")})).contains("no directory"));
}

#[test]
fn moving_replaces_files_only() {
    let scene = Scene::new();
    scene.write("a", "1");
    scene.write("b", "2");
    scene.write("d/x", "3");
    scene.run("move_file", from_to(&scene, "a", "b")).unwrap();
    assert_eq!(scene.content("b"), "1");
    scene.run("move_file", from_to(&scene, "d", "e")).unwrap();
    assert_eq!(scene.content("e/x"), "3");
    assert!(scene.refused("move_file", from_to(&scene, "b", "e")).contains("exists"));
    assert!(scene.refused("move_file", from_to(&scene, "e", "b")).contains("exists"));
    assert!(scene.refused("move_file", from_to(&scene, "e", "e/inside")).contains("inside"));
    scene.refused("move_file", from_to(&scene, "none", "f"));
}

#[test]
fn copying_keeps_the_source_and_copies_links_as_links() {
    let scene = Scene::new();
    scene.write("d/x", "1");
    symlink("/etc/passwd", scene.work.join("d/link")).unwrap();
    scene.run("copy_file", from_to(&scene, "d", "e")).unwrap();
    assert_eq!((scene.content("d/x").as_str(), scene.content("e/x").as_str()), ("1", "1"));
    assert_eq!(fs::read_link(scene.work.join("e/link")).unwrap().to_str(), Some("/etc/passwd"));
    scene.write("f", "2");
    scene.run("copy_file", from_to(&scene, "f", "e/x")).unwrap();
    assert_eq!(scene.content("e/x"), "2");
    assert!(scene.refused("copy_file", from_to(&scene, "d", "e")).contains("exists"));
}

#[test]
fn a_copy_may_come_from_what_is_only_readable_and_a_move_may_not() {
    let mut scene = Scene::new();
    fs::write(scene.outside.join("f"), "theirs").unwrap();
    scene.spec.read = vec![grant(&scene.outside)];
    let args = json!({"source": scene.outside.join("f"), "destination": scene.path("f")});
    scene.run("copy_file", args.clone()).unwrap();
    assert_eq!(scene.content("f"), "theirs");
    assert!(scene.refused("move_file", args).contains("not among"));
    assert!(scene.outside.join("f").exists());
}
