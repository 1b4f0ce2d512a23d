//! The thinker that cannot act, from inside: its own image tries one forbidden system call after the other under the real monitor.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use countersign_wire::propose::CaseEvent;
use serde_json::Value;

use crate::harness::{Monitor, wait_for};

const BROKER: &str = "\
schema: countersign.broker/v1
providers:
  script: {kind: scripted, script: '{folder}/script.json', clearance: internal}
";

/// What the seal itself still needs after its listener is handed over is forbidden by a second filter, which kills without a report: the
/// record says that there was a call and not which. So does a number of another table.
const NAMELESS: [&str; 4] = ["sendmsg", "seccomp", "a number beyond the table", "the x32 table"];

struct Probe {
    name: String,
    number: i64,
    outside: String,
}

fn image() -> PathBuf {
    let image = PathBuf::from(env!("CARGO_BIN_EXE_countersignd")).with_file_name("examples").join("probing_planner");
    assert!(image.exists(), "{} is missing: run `cargo build --examples` first", image.display());
    image
}

fn probes(image: &Path) -> Vec<Probe> {
    let listed = Command::new(image).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed
        .lines()
        .map(|line| {
            let mut words = line.split('\t');
            let mut next = || words.next().unwrap().to_owned();
            Probe { name: next(), number: next().parse().unwrap(), outside: next() }
        })
        .collect()
}

/// A folder in which only a seal forbids anything: one file to spoil, one free name.
fn playground(folder: &Path) -> &str {
    drop(std::fs::remove_dir_all(folder));
    std::fs::create_dir(folder).unwrap();
    std::fs::write(folder.join("kept"), "kept").unwrap();
    let open = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(folder, open(0o777)).unwrap();
    std::fs::set_permissions(folder.join("kept"), open(0o666)).unwrap();
    folder.to_str().unwrap()
}

/// Whether nobody touched the folder.
fn untouched(folder: &Path) -> bool {
    let names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let mode = std::fs::metadata(folder.join("kept")).map(|kept| kept.mode() & 0o7777);
    names == ["kept"] && mode.ok() == Some(0o666) && std::fs::read(folder.join("kept")).unwrap() == b"kept"
}

/// The processes of this machine that run that image, wherever they hang.
fn running(image: &Path) -> Vec<String> {
    let wanted = std::fs::metadata(image).unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        let Ok(exe) = std::fs::metadata(entry.path().join("exe")) else { continue };
        if pid.parse::<u32>().is_ok() && (exe.dev(), exe.ino()) == (wanted.dev(), wanted.ino()) {
            found.push(pid);
        }
    }
    found
}

fn criticals(events: &[CaseEvent]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| if let CaseEvent::Critical { message } = event { Some(message.as_str()) } else { None })
        .collect()
}

/// INV-9. Each probe that can succeed here is first seen to succeed without the seal: what does nothing anywhere shows nothing.
#[test]
fn inv_9_every_probe_from_inside_the_planner_is_a_critical_event() {
    let image = image();
    let probes = probes(&image);
    let ground = tempfile::tempdir().unwrap();
    let mut shown = 0;
    for Probe { name, outside, .. } in probes.iter().filter(|probe| probe.outside != "unsaid") {
        let folder = ground.path().join("ground");
        let tried = Command::new(&image).args([name.as_str(), playground(&folder)]).output().unwrap();
        assert_ne!(tried.status.signal(), Some(libc::SIGSYS), "{name}: nothing seals it here");
        let said = String::from_utf8_lossy(&tried.stdout);
        let did = match outside.as_str() {
            "splits" => {
                wait_for(name, || folder.join("trace").exists());
                true
            }
            _ => said.contains("came through"),
        };
        println!("outside: {name}: {}", if did { "it succeeds" } else { said.trim() });
        shown += usize::from(did);
    }
    assert!(shown >= 40, "only {shown} probes show that they would do something");

    let monitor = Monitor::start_with_program("countersign-planner", &image, BROKER);
    std::fs::write(monitor.path("script.json"), r#"{"schema": "countersign.script/v1", "answers": []}"#).unwrap();
    let folder = monitor.path("ground");
    let pursue = |name: &str| {
        let case = monitor.pursue(&format!("{name} {}", playground(&folder))).unwrap();
        let events = monitor.watch(&case, |_| false);
        let Some(CaseEvent::Ended { stage, .. }) = events.last() else { panic!("{name}: {events:#?}") };
        (case, stage.clone(), events)
    };
    let (case, stage, events) = pursue("nothing");
    assert_eq!((stage.as_str(), criticals(&events).len()), ("abandoned", 0), "the control: {events:#?}");
    let mut halted = vec![(case, None)];
    for Probe { name, number, .. } in &probes {
        let (case, stage, events) = pursue(name);
        let critical = criticals(&events);
        assert_eq!(stage, "halted", "{name}: {events:#?}");
        assert_eq!(critical.len(), 1, "{name}: {events:#?}");
        println!("{name}: {}", critical[0]);
        let told = if NAMELESS.contains(&name.as_str()) {
            critical[0].contains(&format!("({number})")) || critical[0].contains("does not name")
        } else {
            let first = name.split(' ').next().unwrap();
            critical[0].contains(&format!("the planner tried {first} ({number}) "))
        };
        assert!(told, "{name}: the call is named: {critical:?}");
        assert!(untouched(&folder), "{name}: something came into being");
        wait_for("an end of all but the spare planner", || running(&image).len() <= 1);
        halted.push((case, Some(critical[0].to_owned())));
    }
    let records = monitor.records();
    for (case, message) in &halted {
        let of =
            |kind: &str| records.iter().filter(|r| r["case"] == **case && r["kind"] == kind).collect::<Vec<&Value>>();
        assert!(of("permit").is_empty() && of("countersignature").is_empty());
        let critical = of("critical");
        assert_eq!(critical.len(), usize::from(message.is_some()), "{message:?}: {critical:#?}");
        if let (Some(message), [record]) = (message, critical.as_slice()) {
            let call = message.split(": ").last().unwrap();
            assert!(record.to_string().contains(call), "the ledger says what people were told: {record:#}");
        }
    }
    let log = std::fs::read_to_string(monitor.path("log")).unwrap();
    assert_eq!(log.matches("ALERT").count(), probes.len(), "a person is told of each");
    println!("{} probes, {shown} of them seen to succeed without the seal", probes.len());
}
