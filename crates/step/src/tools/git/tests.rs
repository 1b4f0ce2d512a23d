//! Hostile repositories: whatever their configuration names must not run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::tools::Seen;
use crate::tools::testing::{Scene, alone};

fn plain_git(repo: &Path, args: &[&str]) -> std::process::Output {
    let out = Command::new("git")
        .args(args)
        .current_dir(repo)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    out
}

/// A repository with one commit and one change, and a script that leaves a mark when it runs.
fn repository() -> (Scene, String) {
    let scene = Scene::new();
    let script = scene.write(
        "../outside/evil",
        format!("#!/bin/sh\necho ran \"$0\" \"$@\" >> {}/mark\ncat\n", scene.outside.display()),
    );
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    plain_git(&scene.work, &["init", "-q", "-b", "main"]);
    plain_git(&scene.work, &["config", "user.name", "A"]);
    plain_git(&scene.work, &["config", "user.email", "a@b.example"]);
    scene.write("file.txt", "one\n");
    plain_git(&scene.work, &["add", "."]);
    plain_git(&scene.work, &["commit", "-q", "-m", "first"]);
    scene.write("file.txt", "two\n");
    let evil = scene.outside.join("evil").to_str().unwrap().to_owned();
    (scene, evil)
}

fn git(scene: &Scene, args: &[&str]) -> Seen {
    scene.run("git", json!({"repo": scene.spec.cwd, "args": args})).unwrap()
}

fn marked(scene: &Scene) -> Option<String> {
    let mark = scene.outside.join("mark");
    let text = std::fs::read_to_string(&mark).ok();
    drop(std::fs::remove_file(mark));
    text
}

#[test]
fn lesson_08_git_does_not_run_the_repository_fsmonitor() {
    let _alone = alone();
    let (scene, evil) = repository();
    plain_git(&scene.work, &["config", "core.fsmonitor", &evil]);
    // The attack works on a git that is not kept from it.
    plain_git(&scene.work, &["status"]);
    assert!(marked(&scene).is_some(), "the attack itself does not work here");
    let seen = git(&scene, &["status", "--short"]);
    assert_eq!(seen.output, json!({"stdout": " M file.txt\n", "stderr": "", "exit_code": 0}));
    assert_eq!(marked(&scene), None);
}

#[test]
fn lesson_08_git_runs_no_filter_driver_hook_or_alias_of_the_repository() {
    let _alone = alone();
    // The name of the filter would cut a `-c NAME=VALUE` in the wrong place.
    for (setting, value, attributes, command) in [
        ("filter.x.clean", "", "* filter=x", vec!["add", "file.txt"]),
        ("filter.x=y.clean", "", "* filter=x=y", vec!["add", "file.txt"]),
        ("filter.x.process", "", "* filter=x", vec!["add", "file.txt"]),
        ("filter.x.smudge", "", "* filter=x", vec!["checkout", "--", "file.txt"]),
        ("diff.x.textconv", "", "* diff=x", vec!["diff"]),
        ("diff.x.command", "", "* diff=x", vec!["diff"]),
        ("diff.external", "", "", vec!["diff"]),
        ("core.pager", "", "", vec!["log"]),
        ("core.editor", "", "", vec!["commit", "-a"]),
        ("alias.st", "!", "", vec!["st"]),
        ("core.sshCommand", "", "", vec!["fetch", "ssh://nowhere.example/x"]),
        ("core.hooksPath", "hooks", "", vec!["commit", "-q", "-a", "-m", "second"]),
    ] {
        let (scene, evil) = repository();
        std::fs::write(scene.work.join(".git/info/attributes"), attributes).unwrap();
        if value == "hooks" {
            let hooks = scene.outside.join("hooks");
            std::fs::create_dir(&hooks).unwrap();
            std::fs::copy(&evil, hooks.join("pre-commit")).unwrap();
            plain_git(&scene.work, &["config", setting, hooks.to_str().unwrap()]);
        } else {
            plain_git(&scene.work, &["config", setting, &format!("{value}{evil}")]);
        }
        let seen = git(&scene, &command);
        assert_eq!(marked(&scene), None, "{setting}: {seen:?}");
        if command == ["diff"] && setting != "core.pager" {
            assert!(seen.output["stdout"].as_str().unwrap().contains("+two"), "{setting}: {seen:?}");
        }
        // The same on a git that is not kept from it, so that the attack is known to work.
        if !matches!(setting, "core.pager" | "core.editor" | "core.sshCommand") {
            plain_git(&scene.work, &["checkout", "-q", "--", "."]);
            scene.write("file.txt", "three\n");
            drop(Command::new("git").args(&command).current_dir(&scene.work).output().unwrap());
            let works = marked(&scene).is_some();
            assert!(works, "the attack by {setting} itself does not work here");
        }
    }
}

#[test]
fn ordinary_work_goes_on() {
    let _alone = alone();
    let (scene, _) = repository();
    assert_eq!(git(&scene, &["add", "-A"]).output["exit_code"], 0);
    let committed = git(&scene, &["commit", "-q", "-m", "second"]);
    assert_eq!(committed.output["exit_code"], 0, "{committed:?}");
    let log = git(&scene, &["log", "--format=%an %s"]);
    assert_eq!(log.output["stdout"], "A second\nA first\n");
    let failed = git(&scene, &["checkout", "no-such-branch"]);
    assert_eq!(failed.output["exit_code"], 1);
}

#[test]
fn an_author_is_there_where_the_repository_names_none() {
    let _alone = alone();
    let (scene, _) = repository();
    plain_git(&scene.work, &["config", "--unset", "user.name"]);
    plain_git(&scene.work, &["config", "--unset", "user.email"]);
    assert_eq!(git(&scene, &["commit", "-q", "-a", "-m", "second"]).output["exit_code"], 0);
    assert_eq!(git(&scene, &["log", "-1", "--format=%an"]).output["stdout"], "Countersign\n");
}

#[test]
fn a_repository_above_the_one_that_was_named_is_not_used() {
    let _alone = alone();
    let (scene, _) = repository();
    std::fs::create_dir(scene.work.join("sub")).unwrap();
    let refused = scene.run("git", json!({"repo": scene.path("sub"), "args": ["status"]})).unwrap();
    assert_ne!(refused.output["exit_code"], 0);
}

#[test]
fn what_runs_something_by_its_arguments_is_refused() {
    let scene = Scene::new();
    for args in [
        json!(["-c", "core.pager=evil", "log"]),
        json!(["--exec-path=/tmp", "log"]),
        json!(["difftool"]),
        json!(["submodule", "foreach", "evil"]),
        json!(["bisect", "run", "evil"]),
        json!(["rebase", "-x", "evil", "main"]),
        json!(["rebase", "--exec=evil", "main"]),
        json!(["rebase", "--exe", "evil", "main"]),
        json!(["grep", "-Oevil", "x"]),
        json!(["grep", "--op=evil", "x"]),
        json!(["fetch", "--upload-pack=evil", "/r"]),
        json!(["clone", "-c", "core.fsmonitor=evil", "/r"]),
        json!(["log", "--ext-diff", "-p"]),
        json!(["LOG"]),
        json!([""]),
    ] {
        let message = scene.refused("git", json!({"repo": scene.spec.cwd, "args": args}));
        assert!(message.contains("run") || message.contains("subcommand"), "{args}: {message}");
    }
    let fine: Vec<Vec<String>> =
        [json!(["log", "-p"]), json!(["grep", "--text", "x"]), json!(["diff", "--", "--exec"])]
            .into_iter()
            .map(|args: Value| serde_json::from_value(args).unwrap())
            .collect();
    for args in fine {
        super::check(&args).unwrap();
    }
}
