//! Attempts to lead a path out of its grant.

use std::fs;
use std::os::unix::fs::symlink;

use countersign_plan::confinement::PathGrant;
use serde_json::json;

use super::{Roots, Use};
use crate::failure::Failure;
use crate::tools::testing::{Scene, grant};

#[test]
fn a_symlink_swapped_in_does_not_lead_out() {
    let scene = Scene::new();
    fs::write(scene.outside.join("key"), "secret").unwrap();
    scene.write("sub/key", "ours");
    let attempts = || {
        [
            ("read_file", json!({"path": scene.path("sub/key")})),
            ("write_file", json!({"path": scene.path("sub/key"), "content": "x"})),
            ("append_file", json!({"path": scene.path("sub/key"), "content": "x"})),
            ("copy_file", json!({"source": scene.path("sub/key"), "destination": scene.path("copy")})),
            ("move_file", json!({"source": scene.path("sub/key"), "destination": scene.path("copy")})),
            ("list_directory", json!({"path": scene.path("sub")})),
            ("search_files", json!({"path": scene.path("sub"), "pattern": "secret"})),
            ("create_directory", json!({"path": scene.path("sub/new")})),
            ("delete_file", json!({"path": scene.path("sub/key")})),
        ]
    };
    // The folder on the way is swapped for a link after the plan was judged.
    fs::remove_dir_all(scene.work.join("sub")).unwrap();
    symlink(&scene.outside, scene.work.join("sub")).unwrap();
    for (tool, args) in attempts() {
        let message = scene.refused(tool, args);
        assert!(message.contains("symbolic link") || message.contains("Not a directory"), "{tool}: {message}");
    }
    // The file itself is: whatever is done, is done to the link.
    fs::remove_file(scene.work.join("sub")).unwrap();
    fs::create_dir(scene.work.join("sub")).unwrap();
    symlink(scene.outside.join("key"), scene.work.join("sub/key")).unwrap();
    for (tool, args) in attempts().into_iter().take(3) {
        let message = scene.refused(tool, args);
        assert!(message.contains("symbolic link"), "{tool}: {message}");
    }
    for (tool, args) in attempts().into_iter().skip(3) {
        if let Ok(seen) = scene.run(tool, args) {
            assert!(!seen.output.to_string().contains("secret"), "{tool}");
        }
    }
    assert_eq!(fs::read(scene.outside.join("key")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(&scene.outside).unwrap().count(), 1);
}

#[test]
fn lesson_11_a_root_that_was_swapped_is_not_the_one_that_was_approved() {
    let scene = Scene::new();
    fs::rename(&scene.work, scene.outside.join("old")).unwrap();
    fs::create_dir(&scene.work).unwrap();
    scene.write("a", "planted");
    let message = scene.refused("read_file", json!({"path": scene.path("a")}));
    assert!(message.contains("approved"), "{message}");
    fs::remove_dir_all(&scene.work).unwrap();
    symlink(scene.outside.join("old"), &scene.work).unwrap();
    let message = scene.refused("read_file", json!({"path": scene.path("a")}));
    assert!(message.contains("symbolic link"), "{message}");
}

#[test]
fn what_is_not_granted_is_a_violation() {
    let mut scene = Scene::new();
    fs::write(scene.outside.join("key"), "secret").unwrap();
    let roots = |scene: &Scene, path: &str, wanted| Roots::new(&scene.spec).place(path, wanted).map(drop);
    let key = scene.outside.join("key");
    let key = key.to_str().unwrap();
    for path in [key, "/etc/passwd", "/", "/proc/self/environ", &scene.path("../outside/key"), "../outside/key"] {
        assert!(matches!(roots(&scene, path, Use::Read), Err(Failure::Violation(_))), "{path}");
    }
    // Beside a granted folder, with its name as the beginning.
    fs::create_dir(scene.work.parent().unwrap().join("work2")).unwrap();
    let beside = format!("{}2/x", scene.spec.cwd);
    assert!(matches!(roots(&scene, &beside, Use::Read), Err(Failure::Violation(_))));
    // Granted for reading is not granted for writing.
    scene.spec.read = vec![grant(&scene.outside)];
    assert!(roots(&scene, key, Use::Read).is_ok());
    assert!(matches!(roots(&scene, key, Use::Write), Err(Failure::Violation(_))));
    let message = scene.refused("write_file", json!({"path": key, "content": "x"}));
    assert!(message.contains("not among"), "{message}");
}

#[test]
fn protected_parts_of_a_grant_are_for_reading_only() {
    let mut scene = Scene::new();
    scene.write("ci/deploy.sh", "deploy");
    scene.spec.read_only = vec![scene.path("ci")];
    assert!(scene.run("read_file", json!({"path": scene.path("ci/deploy.sh")})).is_ok());
    let message = scene.refused("write_file", json!({"path": scene.path("ci/deploy.sh"), "content": "x"}));
    assert!(message.contains("protected"), "{message}");
}

#[test]
fn a_file_that_is_granted_by_itself_opens_nothing_beside_it() {
    let mut scene = Scene::new();
    let (a, b) = (scene.write("a", "1"), scene.write("b", "2"));
    scene.spec.write = vec![grant(a.as_ref())];
    assert!(scene.run("write_file", json!({"path": a, "content": "new"})).is_ok());
    assert_eq!(scene.content("a"), "new");
    assert!(scene.run("read_file", json!({"path": b})).is_err());
    assert!(scene.run("read_file", json!({"path": format!("{a}/x")})).is_err());
}

#[test]
fn relative_paths_start_at_the_working_folder() {
    let scene = Scene::new();
    scene.write("d/f", "here");
    assert_eq!(scene.run("read_file", json!({"path": "d/./f"})).unwrap().output["content"], "here");
    let none = PathGrant { path: "/nowhere".to_owned(), identity: None };
    let mut gone = Scene::new();
    gone.spec.read = vec![none];
    assert!(matches!(gone.run("read_file", json!({"path": "/nowhere/x"})), Err(Failure::Failed(_))));
}
