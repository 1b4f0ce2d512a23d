//! Files as they are read, written, appended to and deleted.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::json;

use crate::tools::testing::Scene;

#[test]
fn text_is_read_whole_and_other_content_is_refused_clearly() {
    let mut scene = Scene::new();
    let path = scene.write("a", "héllo\n");
    assert_eq!(scene.run("read_file", json!({"path": path})).unwrap().output, json!({"content": "héllo\n"}));
    let binary = scene.write("b", b"ab\xff");
    assert!(scene.refused("read_file", json!({"path": binary})).contains("byte 2"));
    scene.spec.limits.output_bytes = 4;
    assert!(scene.refused("read_file", json!({"path": path})).contains("more than 4 bytes"));
    assert!(scene.refused("read_file", json!({"path": scene.path("none")})).contains("none"));
    assert!(scene.refused("read_file", json!({"path": scene.spec.cwd})).contains("not a regular file"));
    assert!(scene.refused("read_file", json!({"path": path, "offset": 1})).contains("offset"));
}

#[test]
fn what_would_not_fit_an_observation_is_refused() {
    let scene = Scene::new();
    let path = scene.write("zeros", vec![1; 1 << 20]);
    assert!(scene.refused("read_file", json!({"path": path})).contains("control characters"));
}

#[test]
fn a_pipe_does_not_block_a_reader() {
    let scene = Scene::new();
    let _alone = crate::tools::testing::alone();
    std::process::Command::new("mkfifo").arg(scene.path("pipe")).status().unwrap();
    assert!(scene.refused("read_file", json!({"path": scene.path("pipe")})).contains("not a regular file"));
    let append = json!({"path": scene.path("pipe"), "content": "x"});
    scene.refused("append_file", append);
}

#[test]
fn writing_replaces_all_at_once_and_keeps_the_permissions() {
    let scene = Scene::new();
    let path = scene.write("run.sh", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    let seen = scene.run("write_file", json!({"path": path, "content": "new!"})).unwrap();
    assert_eq!(seen.output, json!({"bytes": 4}));
    let after = fs::metadata(&path).unwrap();
    assert_eq!((scene.content("run.sh").as_str(), after.mode() & 0o777), ("new!", 0o750));
    assert_ne!(after.ino(), before, "a new file, renamed over the old one");
    assert_eq!(fs::read_dir(&scene.work).unwrap().count(), 1, "no temporary file is left");
    // A hard link elsewhere keeps the old content.
    fs::hard_link(&path, scene.outside.join("link")).unwrap();
    scene.run("write_file", json!({"path": path, "content": "newer"})).unwrap();
    assert_eq!(fs::read(scene.outside.join("link")).unwrap(), b"new!");
}

#[test]
fn writing_over_what_is_no_file_is_refused() {
    let scene = Scene::new();
    fs::create_dir(scene.work.join("d")).unwrap();
    assert!(scene.refused("write_file", json!({"path": scene.path("d"), "content": ""})).contains("no regular file"));
    let missing = json!({"path": scene.path("no/where"), "content": ""});
    scene.refused("write_file", missing);
    assert!(!scene.work.join("no").exists());
}

#[test]
fn appending_makes_or_extends() {
    let scene = Scene::new();
    for _ in 0..2 {
        scene.run("append_file", json!({"path": scene.path("log"), "content": "line\n"})).unwrap();
    }
    assert_eq!(scene.content("log"), "line\nline\n");
}

#[test]
fn deleting_takes_one_file_and_of_a_link_the_link() {
    let scene = Scene::new();
    fs::write(scene.outside.join("kept"), "k").unwrap();
    symlink(scene.outside.join("kept"), scene.work.join("link")).unwrap();
    fs::create_dir(scene.work.join("d")).unwrap();
    assert_eq!(scene.run("delete_file", json!({"path": scene.path("link")})).unwrap().output, json!({"deleted": true}));
    assert!(scene.outside.join("kept").exists());
    assert!(scene.refused("delete_file", json!({"path": scene.path("d")})).contains("delete_directory"));
    scene.refused("delete_file", json!({"path": scene.path("link")}));
}
