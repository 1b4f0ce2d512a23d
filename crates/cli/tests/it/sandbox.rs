//! A machine whose kernel gives no user namespaces, as the whole program meets it: `doctor` says what is missing and what to do, `run`
//! refuses, and where the deployment accepts it the gap is in the record.
//!
//! The machine is a user namespace in which no further one can be made.

use std::process::Command;

use serde_json::{Value, json};

use crate::fake::{PASSPHRASE, Place, Ran};

/// What says how to have user namespaces again.
const REMEDY: [&str; 3] =
    ["user.max_user_namespaces", "kernel.apparmor_restrict_unprivileged_userns", "the container's seccomp profile"];

struct Bare(Place);

impl Bare {
    fn new() -> Self {
        let place = Place::new();
        place.sign(&["keys", "init", "--principal", "user:alice"], PASSPHRASE).expect(0);
        Self(place)
    }

    fn run(&self, words: &[&str]) -> Ran {
        let there = self.0.command(words);
        let line = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", line]).arg(there.get_program()).args(there.get_args());
        command.current_dir(there.get_current_dir().unwrap()).env_clear().stdin(std::process::Stdio::null());
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.envs(there.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::of(command.output().unwrap())
    }

    fn plan(&self, name: &str, action: &str, args: &Value) {
        let steps = json!([{"id": "a", "action": action, "args": args}]);
        let plan = json!({"schema": "countersign.plan/v1", "goal": "Write a.txt", "steps": steps});
        self.0.write(name, &plan.to_string());
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        drop(self.run(&["down"]));
    }
}

fn names_what_is_missing(text: &str) {
    assert!(REMEDY.iter().all(|part| text.contains(part)) && text.contains("no_userns"), "{text}");
}

#[test]
fn doctor_names_what_is_missing_and_what_to_do() {
    let bare = Bare::new();
    let ran = bare.run(&["doctor"]).expect(0);
    let out = ran.out();
    assert!(out.contains("NO   namespaces"), "{out}");
    names_what_is_missing(&out);
    assert!(out.contains("level no_userns") && out.contains("only built-in file tools run"), "{out}");
    let found = bare.run(&["doctor", "--json"]).expect(0).json();
    assert_eq!(found["level"], "no_userns");
    let missing: Vec<&Value> =
        found["findings"].as_array().unwrap().iter().filter(|finding| finding["feature"] == "namespaces").collect();
    assert_eq!((missing.len(), &missing[0]["available"]), (1, &json!(false)), "{found}");
    // The same machine outside.
    let whole = bare.0.run(&["doctor", "--json"]).expect(0).json();
    assert_eq!(whole["level"], "full");
}

#[test]
fn run_refuses_below_the_minimum_and_says_what_is_missing() {
    let bare = Bare::new();
    bare.plan("plan.json", "write_file", &json!({"path": "a.txt", "content": "x"}));
    let ran = bare.run(&["run", "plan.json"]);
    assert_eq!(ran.code(), 20, "{} {}", ran.out(), ran.err());
    names_what_is_missing(&format!("{}{}", ran.out(), ran.err()));
    assert!(!bare.0.path("work").join("a.txt").exists());
}

/// What comes with the workspace can only tighten; the user's own configuration accepts less.
#[test]
fn run_goes_as_far_as_the_minimum_allows_and_records_the_gap() {
    let bare = Bare::new();
    let accepts = "schema: countersign.deployment/v1\nsandbox: {minimum: no_userns}\n";
    bare.0.write("countersign.yaml", accepts);
    bare.plan("plan.json", "write_file", &json!({"path": "a.txt", "content": "x"}));
    bare.run(&["run", "plan.json"]).expect(20);
    bare.run(&["down"]).expect(0);
    std::fs::write(bare.0.path("config").join("countersign.yaml"), accepts).unwrap();
    let ran = bare.run(&["run", "plan.json", "--json"]).expect(0);
    assert_eq!(std::fs::read_to_string(bare.0.path("work").join("a.txt")).unwrap(), "x");
    let ended = ran.out();
    let records = bare.run(&["audit", "list", "--json"]).expect(0).out();
    let outcomes: Vec<Value> = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["kind"] == "outcome")
        .collect();
    assert!(!outcomes.is_empty(), "{ended}");
    for outcome in &outcomes {
        let gaps = outcome["payload"]["enforcement"]["gaps"].to_string();
        assert!(gaps.contains("namespaces"), "{outcome}");
    }
    // A program needs every layer, whatever the minimum.
    bare.run(&["keys", "enroll"]).expect(0);
    bare.plan("program.json", "run_program", &json!({"argv": ["touch", "made"]}));
    let ran = bare.run(&["run", "program.json"]).expect(20);
    assert!(ran.out().contains("a program, which takes every layer"), "{}", ran.out());
    names_what_is_missing(&ran.out());
    assert!(!bare.0.path("work").join("made").exists());
}
