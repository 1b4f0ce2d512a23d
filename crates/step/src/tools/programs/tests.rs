//! Programs: what comes back, what is cut, what is killed.

use std::os::unix::fs::PermissionsExt as _;

use countersign_plan::observation::Ending;
use serde_json::json;

use crate::tools::testing::{Heard, Scene, alone};

#[test]
fn a_program_gets_its_arguments_input_and_folder_and_nothing_else() {
    let _alone = alone();
    let scene = Scene::new();
    scene.write("d/x", "");
    let args = json!({"argv": ["sh", "-c", "cat; pwd; env | sort; echo $1 >&2; exit 3", "sh", "a b"],
        "stdin": "in\n", "cwd": scene.path("d"), "env": {"FLAG": "1"}});
    let seen = scene.run("run_program", args).unwrap();
    assert_eq!((&seen.output["exit_code"], &seen.output["stderr"]), (&json!(3), &json!("a b\n")));
    let stdout = seen.output["stdout"].as_str().unwrap();
    assert!(stdout.starts_with(&format!("in\n{}\n", scene.path("d"))), "{stdout}");
    let names: Vec<&str> = stdout.lines().skip(2).filter_map(|line| line.split('=').next()).collect();
    assert_eq!(names, ["FLAG", "HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR"], "PWD is the shell's own");
}

#[test]
fn a_planted_program_is_not_found_by_its_name() {
    let _alone = alone();
    let scene = Scene::new();
    let planted = scene.write("uname", "#!/bin/sh\necho planted\n");
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).unwrap();
    let seen = scene.run("run_program", json!({"argv": ["uname"]})).unwrap();
    assert_eq!(seen.output["stdout"], "Linux\n");
    assert!(scene.refused("run_program", json!({"argv": ["no-such-program"]})).contains("no-such-program"));
    assert!(scene.refused("run_program", json!({"argv": ["/no/such"]})).contains("/no/such"));
}

#[test]
fn a_flood_is_cut_and_counted_and_does_not_block() {
    let _alone = alone();
    let mut scene = Scene::new();
    scene.spec.limits.output_bytes = 1000;
    let mut heard = Heard::default();
    let args = json!({"command": "head -c 3000000 /dev/zero | tr '\\0' x; echo e >&2"});
    let seen = scene.watched("execute_command", args, &mut heard).unwrap();
    assert_eq!(seen.ending, Ending::Returned);
    assert_eq!(seen.output["stdout"].as_str().unwrap().len(), 1000);
    assert_eq!(seen.dropped["stdout"], 2_999_000);
    assert_eq!((seen.output["stderr"].as_str(), heard.error.as_slice()), (Some("e\n"), &b"e\n"[..]));
    assert!(heard.output.len() >= 1000);
}

#[test]
fn a_program_over_its_time_is_killed_with_what_it_said() {
    let _alone = alone();
    let scene = Scene::new();
    let args = json!({"argv": ["sh", "-c", "echo before; exec sleep 1000"], "timeout_s": 0.5});
    let seen = scene.run("run_program", args).unwrap();
    assert_eq!(seen.ending, Ending::TimedOut);
    assert_eq!(seen.output, json!({"stdout": "before\n", "stderr": ""}));
}

#[test]
fn signals_are_told_from_exit_codes() {
    let _alone = alone();
    let scene = Scene::new();
    let killed = scene.run("run_program", json!({"argv": ["sh", "-c", "kill -9 $$"]})).unwrap();
    assert_eq!(killed.ending, Ending::Killed { signal: 9 });
    let trapped = scene.run("run_program", json!({"argv": ["sh", "-c", "kill -SYS $$"]})).unwrap();
    assert!(matches!(trapped.ending, Ending::Violation { .. }));
    let below =
        scene.run("execute_command", json!({"command": "(kill -SYS $(exec sh -c 'echo $PPID')); exit $?"})).unwrap();
    assert!(matches!(below.ending, Ending::Violation { .. }), "{below:?}");
}

#[test]
fn a_child_that_lives_on_does_not_hold_the_step() {
    let _alone = alone();
    let scene = Scene::new();
    let args = json!({"command": "sleep 1000 & echo $!"});
    let seen = scene.run("execute_command", args).unwrap();
    assert_eq!(seen.output["exit_code"], 0);
    // As process 1 the init would have killed it; here the test does.
    let pid = seen.output["stdout"].as_str().unwrap().trim().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_program_that_does_not_read_its_input_is_no_failure() {
    let _alone = alone();
    let scene = Scene::new();
    let args = json!({"argv": ["true"], "stdin": "x".repeat(1 << 20)});
    assert_eq!(scene.run("run_program", args).unwrap().output["exit_code"], 0);
    let echoed = json!({"argv": ["cat"], "stdin": "y".repeat(1 << 20)});
    assert_eq!(scene.run("run_program", echoed).unwrap().output["stdout"].as_str().unwrap().len(), 1 << 20);
}
