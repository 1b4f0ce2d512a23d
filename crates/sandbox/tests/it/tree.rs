//! Nothing of a step outlives it.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{As, Stop, Work, command, everyone, run, toolchain};

/// Processes of the whole machine whose command line contains a marker.
fn alive(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path();
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(marker) && !line.contains("spawner") {
            found.push(format!("{}: {line}", path.display()));
        }
    }
    found
}

/// Of this run alone: another one may be going on beside it.
fn marker(name: &str, who: As) -> String {
    format!("MARKER-{name}-{who:?}-{}", std::process::id())
}

/// Daemons in sessions of their own, orphaned on purpose, each with the marker in its command line.
fn daemons(marker: &str) -> String {
    format!(
        "for i in 1 2 3 4 5; do (setsid sh -c 'sleep 300; : {marker}' &) ; sh -c 'sleep 300; : {marker}' & done; echo started > started; sleep 300"
    )
}

fn wait_for(path: &std::path::Path) {
    let until = Instant::now() + Duration::from_secs(30);
    while !path.exists() {
        assert!(Instant::now() < until, "{} did not appear", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn killing_a_step_ends_its_daemons_too() {
    for who in everyone() {
        let marker = &marker("kill", who);
        let work = Work::new(who);
        let started = work.at("started");
        let scenario = json!({ "role": "toolchain", "view": toolchain(work.path()), "kill": { "exists": started }, "operations": [
            { "run": ["/bin/sh", "-c", daemons(marker)] }]});
        let outcome = run(who, &scenario).good();
        assert_eq!(outcome.exit, Some(countersign_sandbox::Exit::Signal(9)), "{outcome:#?}");
        assert_eq!(alive(marker), Vec::<String>::new());
    }
}

#[test]
fn the_death_of_the_spawner_ends_the_step() {
    for who in everyone() {
        let marker = &marker("death", who);
        let work = Work::new(who);
        let scenario = json!({ "role": "toolchain", "view": toolchain(work.path()), "operations": [
            { "run": ["/bin/sh", "-c", daemons(marker)] }]});
        let mut spawner = command(who).spawn().unwrap();
        spawner.stdin.take().unwrap().write_all(scenario.to_string().as_bytes()).unwrap();
        wait_for(&work.at("started"));
        assert!(!alive(marker).is_empty());
        spawner.kill().unwrap();
        spawner.wait().unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while !alive(marker).is_empty() {
            assert!(Instant::now() < until, "{:?}", alive(marker));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The parent-death signal follows the thread that spawned: a process with several threads must not spawn at all.
#[test]
fn a_process_with_two_threads_is_refused() {
    let outcome = run(As::Own, &json!({ "role": "planner", "second_thread": true }));
    assert!(outcome.refused.as_ref().is_some_and(|reason| reason.contains("more than one thread")), "{outcome:#?}");
}

#[test]
fn a_spawner_that_cannot_be_looked_into_spawns_and_attests() {
    for who in everyone() {
        let work = Work::new(who);
        let scenario = json!({ "role": "toolchain", "not_dumpable": true, "view": toolchain(work.path()), "operations": [{ "run": ["/bin/true"] }] });
        assert_eq!(run(who, &scenario).good().answer(0), Ok(""));
        run(who, &json!({ "role": "planner", "not_dumpable": true })).good();
    }
}

#[test]
fn a_fork_bomb_dies_with_its_step() {
    for who in everyone() {
        let work = Work::new(who);
        let marker = &marker("bomb", who);
        let bomb = format!("echo > started; bomb() {{ bomb {marker} | bomb & }}; bomb; sleep 300");
        let limits =
            countersign_sandbox::Limits { processes: 40, cpu_seconds: 5, ..countersign_sandbox::Limits::program() };
        // As root the number is not limited (reported as a gap), so the bomb runs under the ordinary owner only.
        if who == As::Own && rustix::process::geteuid().is_root() {
            continue;
        }
        let scenario = json!({ "role": "toolchain", "view": toolchain(work.path()), "kill": { "exists": work.at("started") }, "limits": limits,
            "operations": [{ "run": ["/bin/sh", "-c", bomb] }]});
        let outcome = run(who, &scenario).good();
        assert_eq!(outcome.exit, Some(countersign_sandbox::Exit::Signal(9)), "{outcome:#?}");
        assert_eq!(alive(marker), Vec::<String>::new());
    }
}

#[test]
fn many_spawns_under_memory_pressure_of_others_all_come_back() {
    let stop = Stop::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.now() {
                std::hint::black_box(vec![1_u8; 8 << 20]);
            }
        });
        let _end = stop.at_end();
        for who in everyone() {
            let outcome = run(who, &json!({ "role": "planner", "repeat": 250 })).good();
            assert_eq!(outcome.exit, Some(countersign_sandbox::Exit::Code(0)));
        }
    });
}

#[test]
fn a_step_leaves_no_mount_behind() {
    for who in everyone() {
        let work = Work::new(who);
        let view = toolchain(work.path());
        run(who, &json!({ "role": "toolchain", "view": view, "operations": [{ "run": ["/bin/true"] }] })).good();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(work.path().to_str().unwrap()), "{mounts}");
    }
}
