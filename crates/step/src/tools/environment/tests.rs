//! What a program may be told.

use std::collections::BTreeMap;

use countersign_plan::confinement::Profile;

use super::environment;
use crate::tools::testing::Scene;

fn with(scene: &Scene, name: &str) -> Result<BTreeMap<String, String>, String> {
    let wanted = [(name.to_owned(), "x".to_owned())].into();
    environment(&scene.spec, &wanted).map_err(|e| e.to_string())
}

#[test]
fn lesson_07_a_plan_cannot_make_another_program_of_a_program() {
    let scene = Scene::new();
    for name in
        ["LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV", "PATH", "GIT_SSH_COMMAND", "BASH_FUNC_ls", "GLIBC_TUNABLES"]
    {
        assert!(with(&scene, name).unwrap_err().contains(name), "{name}");
    }
    for name in ["", "1A", "A=B", "BASH_FUNC_x%%", "A B", "É"] {
        assert!(with(&scene, name).is_err(), "{name}");
    }
    assert_eq!(with(&scene, "MY_FLAG").unwrap()["MY_FLAG"], "x");
}

#[test]
fn a_listed_program_is_told_only_how_to_print() {
    let mut scene = Scene::new();
    scene.spec.profile = Profile::Exact;
    for name in ["PYTHONSTARTUP", "NODE_OPTIONS", "MY_FLAG", "PERL5OPT", "LESSOPEN"] {
        assert!(with(&scene, name).is_err(), "{name}");
    }
    assert!(with(&scene, "LC_ALL").is_ok() && with(&scene, "TZ").is_ok());
}

#[test]
fn nothing_is_inherited() {
    let mut scene = Scene::new();
    let own = environment(&scene.spec, &BTreeMap::new()).unwrap();
    let names: Vec<&str> = own.keys().map(String::as_str).collect();
    assert_eq!(names, ["HOME", "LANG", "PATH", "TERM", "TMPDIR"]);
    assert!(!own["PATH"].contains(scene.spec.cwd.as_str()));
    scene.spec.limits.tmp_bytes = 0;
    assert_eq!(environment(&scene.spec, &BTreeMap::new()).unwrap()["HOME"], scene.spec.cwd);
}
