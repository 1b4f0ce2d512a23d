//! Values under keys.

use serde_json::json;

use crate::tools::testing::Scene;

#[test]
fn a_value_is_read_back_as_it_was_kept() {
    let scene = Scene::new();
    for value in [json!({"a": [1, 2.5, null]}), json!("text")] {
        let seen = scene.run("memory_write", json!({"key": "k", "value": value})).unwrap();
        assert_eq!(seen.output, json!({"key": "k"}));
        assert_eq!(scene.run("memory_read", json!({"key": "k"})).unwrap().output, json!({"value": value}));
    }
    assert!(scene.refused("memory_read", json!({"key": "other"})).contains("nothing is kept"));
}

#[test]
fn a_key_is_never_a_path() {
    let scene = Scene::new();
    for key in ["../outside/x", "/etc/passwd", ".", "a/b"] {
        scene.run("memory_write", json!({"key": key, "value": 1})).unwrap();
        assert_eq!(scene.run("memory_read", json!({"key": key})).unwrap().output["value"], 1);
    }
    assert_eq!(std::fs::read_dir(&scene.outside).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(&scene.work).unwrap().count(), 4);
}

#[test]
fn a_file_put_under_another_key_s_name_is_noticed() {
    let scene = Scene::new();
    scene.run("memory_write", json!({"key": "mine", "value": "m"})).unwrap();
    let name =
        |key: &str| scene.work.join(format!("{}.json", countersign_plan::digest::Digest::of(key.as_bytes()).hex()));
    std::fs::rename(name("mine"), name("yours")).unwrap();
    assert!(scene.refused("memory_read", json!({"key": "yours"})).contains("another key"));
    std::fs::write(name("broken"), "{").unwrap();
    assert!(scene.refused("memory_read", json!({"key": "broken"})).contains("cannot be read"));
}
