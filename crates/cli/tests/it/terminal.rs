//! `run` in front of a person: on a pseudo-terminal of its own, which is also the controlling one.

use std::io::Write as _;
use std::process::{Command, Stdio};

use countersign_plan::approval::VerifiedApproval;
use countersign_plan::envelope::Envelope;
use countersign_plan::verdict::Decision;

use crate::fake::{CASE, PASSPHRASE, Place, deciding, key, plan_file};
use crate::goals::asking;

/// Runs `argv` on a terminal, types the first line of standard input once something asks for a passphrase, prints what
/// the terminal showed and ends as the program did.
const TERMINAL: &str = r#"
import os, pty, select, sys, termios
typed = sys.stdin.readline()
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
asked = False
while True:
    if not asked and b"passphrase of" in shown and not termios.tcgetattr(terminal)[3] & termios.ECHO:
        asked = True
        os.write(terminal, typed.encode())
    # As a person, it types only once the terminal does not show it.
    if not select.select([terminal], [], [], 0.01)[0]:
        continue
    try:
        chunk = os.read(terminal, 4096)
    except OSError:
        break
    if not chunk:
        break
    shown += chunk
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

/// Exit code and everything that the terminal showed.
fn at_a_terminal(place: &Place, words: &[&str], typed: &str) -> (i32, String) {
    let program = place.command(words);
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", TERMINAL]).arg(program.get_program()).args(program.get_args());
    command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TERM", "xterm");
    command.current_dir(place.path("work")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{typed}\n").as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    (ran.status.code().unwrap(), String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn a_person_sees_the_plan_types_the_passphrase_and_watches_it_run() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    let approver = key(&place);
    let (code, shown) = at_a_terminal(&place, &["run", &plan_file(&place)], PASSPHRASE);
    assert_eq!(code, 0, "{shown}");
    let [plan, prompt, end] =
        ["IRREVERSIBLE", "passphrase of user:alice", "COMPLETED"].map(|text| shown.find(text).unwrap());
    assert!(plan < prompt && prompt < end, "{shown}");
    assert!(!shown.contains(PASSPHRASE), "what is typed is not shown");
    let answers = place.answers();
    let envelope = Envelope::from_json(&answers[0]).unwrap();
    VerifiedApproval::verify(&envelope, &[approver]).unwrap();
    assert_eq!(answers.len(), 1);
}

#[test]
fn a_planners_draft_is_shown_whole_and_signed_where_it_came_up() {
    let place = Place::with(asking());
    let approver = key(&place);
    let (code, shown) = at_a_terminal(&place, &["run", "--goal", "Tidy up"], PASSPHRASE);
    assert_eq!(code, 0, "{shown}");
    let [plan, prompt, end] =
        ["IRREVERSIBLE", "passphrase of user:alice", "It is tidy."].map(|text| shown.find(text).unwrap());
    assert!(plan < prompt && prompt < end, "{shown}");
    let answers = place.answers();
    VerifiedApproval::verify(&Envelope::from_json(&answers[0]).unwrap(), &[approver]).unwrap();
    let place = Place::with(asking());
    key(&place);
    let (code, shown) = at_a_terminal(&place, &["run", "--goal", "Tidy up"], "");
    assert_eq!(code, 10, "nothing was typed: {shown}");
    assert!(place.answers().is_empty());
}

#[test]
fn typing_nothing_or_something_else_signs_nothing() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    key(&place);
    let (code, shown) = at_a_terminal(&place, &["run", &plan_file(&place)], "");
    assert_eq!(code, 10, "{shown}");
    assert!(shown.contains(&format!("countersign approve {CASE}")), "{shown}");
    for guess in ["yes", "y", "approve"] {
        let (code, shown) = at_a_terminal(&place, &["run", &plan_file(&place)], guess);
        assert_eq!(code, 20, "{shown}");
    }
    assert!(place.answers().is_empty());
}

#[test]
fn without_a_key_a_terminal_says_how_to_get_one() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    let (code, shown) = at_a_terminal(&place, &["run", &plan_file(&place)], "");
    assert_eq!(code, 10, "{shown}");
    assert!(shown.contains("countersign keys init"), "{shown}");
}

/// JSON is for programs: nothing is asked, even on a terminal.
#[test]
fn json_asks_nobody() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    key(&place);
    let (code, shown) = at_a_terminal(&place, &["run", &plan_file(&place), "--json"], PASSPHRASE);
    assert_eq!(code, 10, "{shown}");
    assert!(place.answers().is_empty());
}
