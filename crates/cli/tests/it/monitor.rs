//! With the real monitor: the way of a plan as a person goes it, and attackers inside a step who want to be that person.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::fake::{PASSPHRASE, Place, Ran, path_text};

/// A real monitor in folders of its own, and an enrolled approver; it ends with the test.
pub(crate) struct Real(pub(crate) Place);

impl Real {
    pub(crate) fn start() -> Self {
        Self::start_in(Place::new(), &[])
    }

    /// In these folders, with these variables where it is started.
    pub(crate) fn start_in(place: Place, variables: &[(&str, &str)]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_countersign"));
        let programs =
            ["d", "-zygote", "-executor", "-step", "-planner", "-broker"].map(|end| format!("countersign{end}"));
        for sibling in programs {
            let path = program.with_file_name(sibling);
            assert!(path.is_file(), "{} is missing: run `cargo build --bins` first", path.display());
        }
        let up = place.command(&["up"]).envs(variables.iter().copied()).output().unwrap();
        assert!(up.status.success(), "{up:?}");
        place.sign(&["keys", "init", "--principal", "user:alice"], PASSPHRASE).expect(0);
        place.run(&["keys", "enroll"]).expect(0);
        Self(place)
    }

    /// Proposes a plan that waits for a person; its case.
    fn pending(&self, name: &str, plan: &Value) -> String {
        self.0.write(name, &plan.to_string());
        let ran = self.0.run(&["run", name, "--json"]).expect(10).json();
        ran["pending"].as_str().unwrap().to_owned()
    }

    fn stage(&self, case: &str) -> String {
        self.0.run(&["show", case, "--json"]).expect(0).json()["stage"].as_str().unwrap().to_owned()
    }

    /// Approves, and follows the run to its end; all that was told.
    pub(crate) fn approved(&self, case: &str) -> Value {
        self.0.sign(&["approve", case, "--follow", "--json"], PASSPHRASE).expect(0).json()
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        drop(self.0.command(&["down"]).output());
    }
}

fn deletion(path: &str) -> Value {
    let step = json!({"id": "drop", "action": "delete_file", "args": {"path": path}, "rollback": "none", "irreversible": true});
    json!({"schema": "countersign.plan/v1", "goal": "Delete what is not needed", "steps": [step]})
}

#[test]
fn a_plan_is_judged_approved_run_and_proved() {
    let real = Real::start();
    let place = &real.0;
    place.write("old.txt", "x");
    let case = real.pending("plan.json", &deletion("old.txt"));
    assert!(place.run(&["pending"]).expect(0).out().contains(&case));
    assert!(place.path("work").join("old.txt").exists(), "nothing happens before the approval");
    assert_eq!(real.approved(&case)["stage"], "completed");
    assert!(!place.path("work").join("old.txt").exists());

    place.run(&["audit", "export", "--output", "all.jsonl", "--payloads"]).expect(0);
    place.run(&["audit", "verify", "all.jsonl"]).expect(0);
    let text = std::fs::read_to_string(place.path("work").join("all.jsonl")).unwrap();
    let altered = text.replacen("delete_file", "delete_filf", 1);
    assert_ne!(altered, text);
    place.write("altered.jsonl", &altered);
    let ran: Ran = place.run(&["audit", "verify", "altered.jsonl"]).expect(20);
    assert!(ran.err().contains("record "), "{}", ran.err());
    place.run(&["audit", "show", &case]).expect(0);
    place.run(&["audit", "prove", "3", "--output", "proof.json"]).expect(0);
    place.run(&["audit", "verify", "proof.json"]).expect(0);
}

#[test]
fn a_denied_plan_does_nothing_and_cannot_be_approved_any_more() {
    let real = Real::start();
    real.0.write("old.txt", "x");
    let case = real.pending("plan.json", &deletion("old.txt"));
    real.0.sign(&["deny", &case, "--reason", "still needed"], PASSPHRASE).expect(0);
    assert_eq!(real.stage(&case), "denied");
    real.0.sign(&["approve", &case], PASSPHRASE).expect(20);
    assert!(real.0.path("work").join("old.txt").exists());
}

#[test]
fn a_key_that_nobody_enrolled_approves_nothing() {
    let real = Real::start();
    real.0.write("old.txt", "x");
    let case = real.pending("plan.json", &deletion("old.txt"));
    let stranger = path_text(&real.0.path("config").join("stranger.key"));
    real.0.sign(&["keys", "init", "--principal", "user:mallory", "--key", &stranger], PASSPHRASE).expect(0);
    real.0.sign(&["approve", &case, "--key", &stranger], PASSPHRASE).expect(20);
    real.0.sign(&["keys", "enroll", "--key", &stranger], PASSPHRASE).expect(20);
    assert_eq!(real.stage(&case), "pending");
}

#[test]
fn after_the_gates_key_was_replaced_everything_is_still_proved_from_the_old_one() {
    let real = Real::start();
    let before = real.0.run(&["keys", "show", "--json"]).expect(0).json()["gate_key"].clone();
    real.0.run(&["keys", "rotate"]).expect(0);
    let after = real.0.run(&["keys", "show", "--json"]).expect(0).json()["gate_key"].clone();
    assert_ne!(before, after);
    real.0.write("old.txt", "x");
    let case = real.pending("plan.json", &deletion("old.txt"));
    assert_eq!(real.approved(&case)["stage"], "completed");
    real.0.run(&["audit", "export", "--output", "all.jsonl"]).expect(0);
    real.0.run(&["audit", "verify", "all.jsonl", "--key", before.as_str().unwrap()]).expect(0);
}

/// Everything that a step could do to be its own approver. It knows the passphrase, has the program beside it and may run it.
const ATTACK: &str = r#"
import json, os, pty, socket, subprocess, sys
run, state, config, case, passphrase = sys.argv[1:]
folders = {"COUNTERSIGN_RUNTIME_DIR": run, "COUNTERSIGN_STATE_DIR": state, "COUNTERSIGN_CONFIG_DIR": config}
told = {}

def attempt(name, act):
    try:
        told[name] = "done" if act() is not False else "refused"
    except BaseException as error:
        told[name] = f"{type(error).__name__}: {error}"

def connect(name):
    socket.socket(socket.AF_UNIX).connect(os.path.join(run, name))

def descriptor():
    words = ["./countersign", "approve", case, "--passphrase-fd", "0"]
    return subprocess.run(words, input=passphrase.encode() + b"\n", env=folders, capture_output=True).returncode == 0

def terminal():
    pid, master = pty.fork()
    if pid == 0:
        os.execve("./countersign", ["countersign", "approve", case], {**folders, "TERM": "xterm"})
    shown = b""
    while b"passphrase of" not in shown:
        shown += os.read(master, 4096)
    os.write(master, passphrase.encode() + b"\n")
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

attempt("list the state folder", lambda: bool(os.listdir(state)))
attempt("read the ledger", lambda: len(open(os.path.join(state, "ledger.db"), "rb").read(1)) == 1)
attempt("read the gate's key", lambda: len(open(os.path.join(state, "gate.key"), "rb").read(1)) == 1)
attempt("read the approver's key", lambda: len(open(os.path.join(config, "approver.key"), "rb").read(1)) == 1)
attempt("call propose.sock", lambda: connect("propose.sock"))
attempt("call operator.sock", lambda: connect("operator.sock"))
attempt("answer over a descriptor", descriptor)
attempt("feed the prompt through a pseudo-terminal", terminal)
print(json.dumps(told))
"#;

fn attack(real: &Real, case: &str) -> Vec<String> {
    let folder = |name: &str| path_text(&real.0.path(name));
    let words = ["/usr/bin/python3", "attack.py"].map(ToOwned::to_owned);
    words
        .into_iter()
        .chain([folder("run"), folder("state"), folder("config"), case.to_owned(), PASSPHRASE.to_owned()])
        .collect()
}

fn told(output: &str) -> Vec<(String, String)> {
    let told: Value = serde_json::from_str(output.trim()).unwrap_or_else(|error| panic!("{error}: {output}"));
    let told = told.as_object().unwrap().iter();
    told.map(|(name, how)| (name.clone(), how.as_str().unwrap().to_owned())).collect()
}

/// INV-7 at work: each way succeeds for the person outside, and none for the step inside.
#[test]
fn a_step_cannot_approve_itself() {
    let real = Real::start();
    let place = &real.0;
    place.write("attack.py", ATTACK);
    std::fs::copy(env!("CARGO_BIN_EXE_countersign"), place.path("work").join("countersign")).unwrap();
    for name in ["a", "b", "c"] {
        place.write(name, "x");
    }
    // Outside, as a person of this user could: two approvals, of which one is enough.
    let control = real.pending("control.json", &deletion("a"));
    let argv = attack(&real, &control);
    let ran = Command::new(&argv[0]).args(&argv[1..]).current_dir(place.path("work")).env_clear().output().unwrap();
    let outside = told(std::str::from_utf8(&ran.stdout).unwrap());
    assert_eq!(outside.len(), 8);
    for (name, how) in &outside {
        // The second answer comes to a case that has its approval already.
        let late = name.starts_with("feed the prompt");
        assert!(how == "done" || late, "{name} must succeed outside to count inside: {how}");
    }
    let terminal = real.pending("terminal.json", &deletion("b"));
    let alone = ATTACK.replace("attempt(\"answer over a descriptor\", descriptor)\n", "");
    place.write("terminal.py", &alone);
    let mut argv = attack(&real, &terminal);
    argv[1] = "terminal.py".to_owned();
    let ran = Command::new(&argv[0]).args(&argv[1..]).current_dir(place.path("work")).env_clear().output().unwrap();
    let how = told(std::str::from_utf8(&ran.stdout).unwrap());
    assert!(how.iter().any(|(name, how)| name.starts_with("feed the prompt") && how == "done"), "{how:?}");

    // Inside, with the victim's passphrase and the program in hand.
    let victim = real.pending("victim.json", &deletion("c"));
    let step = json!({"id": "try", "action": "run_program", "args": {"argv": attack(&real, &victim)},
                      "rollback": "none", "irreversible": true});
    let plan = json!({"schema": "countersign.plan/v1", "goal": "Run the tests", "steps": [step]});
    let case = real.pending("attack.json", &plan);
    let view = real.approved(&case);
    assert_eq!(view["stage"], "completed", "{view}");
    let output: String = view["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["event"] == "output" && event["error"] == false)
        .filter_map(|event| event["text"].as_str())
        .collect();
    let inside = told(&output);
    assert_eq!(inside.len(), 8);
    for (name, how) in &inside {
        assert_ne!(how, "done", "{name} succeeded inside a step");
    }
    assert_eq!(real.stage(&victim), "pending");
    assert!(place.path("work").join("c").exists());
}

/// A newcomer's machine: no folder of ours, no configuration, no variable but the home folder. The first plan starts the monitor.
#[test]
fn with_nothing_but_a_home_folder_a_plan_is_judged_and_run() {
    let place = Place::new();
    let home = place.path("home");
    std::fs::create_dir(&home).unwrap();
    let bare = |words: &[&str]| place.run_at_home(&home, words);
    let step = json!({"id": "note", "action": "write_file", "args": {"path": "note.txt", "content": "x"}});
    let plan = json!({"schema": "countersign.plan/v1", "goal": "Write note.txt", "steps": [step]});
    place.write("plan.json", &plan.to_string());
    let checked = bare(&["check", "plan.json", "--json"]);
    let ran = bare(&["run", "plan.json", "--json"]);
    let status = bare(&["status"]);
    let down = bare(&["down"]);
    assert_eq!(checked.expect(0).json()["decision"], "allow");
    assert!(ran.expect(0).out().contains("completed"));
    assert_eq!(std::fs::read_to_string(place.path("work").join("note.txt")).unwrap(), "x");
    status.expect(0);
    down.expect(0);
    // What it made lies below that home, for nobody else to read.
    let state = home.join(".local/state/countersign");
    assert!(state.join("ledger.db").is_file());
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&state).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    assert!(!home.join(".config/countersign/countersign.yaml").exists(), "nothing was configured by itself");
}
