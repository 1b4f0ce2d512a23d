//! Looking around.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::tools::testing::Scene;

#[test]
fn a_list_is_sorted_and_names_kinds() {
    let scene = Scene::new();
    scene.write("b", "12");
    scene.write("a/x", "");
    symlink("nowhere", scene.work.join("c")).unwrap();
    let seen = scene.run("list_directory", json!({"path": scene.spec.cwd})).unwrap();
    let entries = seen.output["entries"].as_array().unwrap();
    let names: Vec<_> = entries.iter().map(|e| (e["name"].as_str().unwrap(), e["kind"].as_str().unwrap())).collect();
    assert_eq!(names, [("a", "directory"), ("b", "file"), ("c", "symlink")]);
    assert_eq!(entries[1]["size"], 2);
    scene.refused("list_directory", json!({"path": scene.path("b")}));
}

#[test]
fn matches_carry_path_line_and_text_and_links_are_not_followed() {
    let scene = Scene::new();
    scene.write("src/a.rs", "one\nneedle here\r\n");
    scene.write("b", "\0needle");
    fs::write(scene.outside.join("c"), "needle").unwrap();
    symlink(&scene.outside, scene.work.join("link")).unwrap();
    symlink(scene.outside.join("c"), scene.work.join("c")).unwrap();
    let seen = scene.run("search_files", json!({"path": scene.spec.cwd, "pattern": "ne+dle"})).unwrap();
    let wanted = json!([{"path": scene.path("src/a.rs"), "line": 2, "text": "needle here"}]);
    assert_eq!(seen.output["matches"], wanted);
    let one = scene.run("search_files", json!({"path": scene.path("src/a.rs"), "pattern": "^one$"})).unwrap();
    assert_eq!(one.output["matches"][0]["line"], 1);
}

#[test]
fn what_is_not_shown_is_counted() {
    let scene = Scene::new();
    let path = scene.write("many", "x\n".repeat(super::SHOWN + 7));
    let seen = scene.run("search_files", json!({"path": path, "pattern": "x"})).unwrap();
    assert_eq!(seen.output["matches"].as_array().unwrap().len(), super::SHOWN);
    assert_eq!(seen.dropped["matches"], 7);
    let long = scene.write("long", "y".repeat(10_000));
    let seen = scene.run("search_files", json!({"path": long, "pattern": "y"})).unwrap();
    assert!(seen.output["matches"][0]["text"].as_str().unwrap().len() < 500);
}

#[test]
fn a_pattern_that_explodes_is_refused() {
    let scene = Scene::new();
    scene.refused("search_files", json!({"path": scene.spec.cwd, "pattern": "((a{100}){100}){100}"}));
    scene.refused("search_files", json!({"path": scene.spec.cwd, "pattern": "("}));
}
