//! What thinking without authority costs, measured on the real monitor with its real children.
//!
//!     cargo build --release --bins && cargo bench --package countersign-daemon --bench goal
//!
//! Two things, each beside its baseline in the same run, in turns: from a goal to its sealed planner's first message with the model's answer
//! to it (a script, so that nothing hides the road), over a bare start of the planner's program; and a step that asks a local server with a
//! credential that the broker puts in, over the same step without one.
//!
//! Last what stays in memory: of a sealed planner and of the broker, which have no baseline. `ROUNDS=0` measures only that.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a bench: a failed step ends it")]
#![expect(clippy::indexing_slicing, clippy::print_stdout, clippy::print_stderr, reason = "a bench prints")]

#[path = "../tests/it/harness.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod harness;

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use countersign_plan::verdict::Decision;
use countersign_wire::propose::{CaseEvent, PlannerEvent};
use serde_json::{Value, json};

use crate::harness::{Monitor, case, plan, wait_for};

const WARM_UP: usize = 5;
const TOKEN: &str = "bench-token-3d81f06be5297ac4";

fn main() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(100);
    if rounds > 0 {
        planner(rounds);
        credentials(rounds);
    }
    memory();
}

/// Resident memory, as the kernel counts it (`VmRSS`, `RssAnon` and the peak `VmHWM` of `/proc/PID/status`), in KiB.
fn memory() {
    let monitor = Monitor::start_with_broker(
        "schema: countersign.broker/v1\n\
         providers: {script: {kind: scripted, script: '{folder}/script.json', clearance: internal}}\n",
    );
    // Answers of 900 KB that are none: the planner asks again until it has had enough of them.
    let large = json!([{"text": "no JSON here "}, {"text": "0123456789", "times": 90_000}]);
    let answers = json!([
        {"when": "Give up", "times": 0, "json": {"thought": "t", "turn": {"give_up": {"reason": "measured"}}}},
        {"generate": large, "times": 0, "delay": 20},
    ]);
    let script = json!({"schema": "countersign.script/v1", "answers": answers});
    std::fs::write(monitor.path("script.json"), script.to_string()).unwrap();
    let one = |name: &str| {
        wait_for(name, || monitor.processes(name).len() == 1);
        monitor.processes(name)[0]
    };
    println!("\nresident memory, KiB                              VmRSS  RssAnon    VmHWM");
    let row = |what: &str, pid: u32| {
        let [rss, anonymous, peak] = ["VmRSS", "RssAnon", "VmHWM"].map(|field| status(pid, field));
        println!("{what:<48} {rss:>7} {anonymous:>8} {peak:>8}");
    };
    row("sealed planner, spare", one("countersign-planner"));
    let case = monitor.pursue("Give up at once").unwrap();
    monitor.watch(&case, |_| false);
    let broker = one("countersign-broker");
    row("broker, idle after a call", broker);
    let case = monitor.pursue("Say more than anybody reads").unwrap();
    let most = Cell::new((0, 0));
    monitor.watch(&case, |_| {
        let now = (status(broker, "VmRSS"), status(broker, "RssAnon"));
        most.set(most.get().max(now));
        false
    });
    let (rss, anonymous) = most.get();
    println!("{:<48} {rss:>7} {anonymous:>8} {:>8}", "broker, while answers of 900 KB come", status(broker, "VmHWM"));
}

fn status(pid: u32, field: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn planner(rounds: usize) {
    let monitor = Monitor::start_with_broker(
        "schema: countersign.broker/v1\n\
         providers: {script: {kind: scripted, script: '{folder}/script.json', clearance: internal}}\n",
    );
    let answers = json!([{"json": {"thought": "t", "turn": {"give_up": {"reason": "measured"}}}}]);
    let script = json!({"schema": "countersign.script/v1", "answers": answers});
    std::fs::write(monitor.path("script.json"), script.to_string()).unwrap();
    let bare = std::path::Path::new(env!("CARGO_BIN_EXE_countersignd")).with_file_name("countersign-planner");
    let mut times = [const { Vec::new() }; 4];
    for round in 0..WARM_UP + rounds {
        // With nothing to sit on it ends at once: exec, start, end.
        let begun = Instant::now();
        let ended = Command::new(&bare).env_clear().stdin(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(!ended.success(), "it runs for a zygote only");
        let exec = begun.elapsed();
        wait_for("a spare planner", || monitor.processes("countersign-planner").len() == 1);
        let (started, warm) = first_words(&monitor);
        // The goal before took the spare one: this one starts with a planner that is being made.
        let other = monitor.pursue("Take the spare planner").unwrap();
        let (_, cold) = first_words(&monitor);
        monitor.watch(&other, |_| false);
        if round >= WARM_UP {
            for (times, time) in times.iter_mut().zip([exec, started, warm, cold]) {
                times.push(time);
            }
        }
    }
    let [exec, started, warm, cold] = times.map(median);
    println!("{rounds} rounds, medians                                 ms    ratio");
    line("bare start of the planner's program", exec, exec);
    line("goal to a sealed planner that has it (spare)", started, exec);
    line("goal to its first question, answered (spare)", warm, exec);
    line("goal to its first question, answered (no spare)", cold, exec);
}

/// From giving a goal to its planner, and to the answer to its first question.
fn first_words(monitor: &Monitor) -> (Duration, Duration) {
    let begun = Instant::now();
    let (started, asked) = (Cell::new(None), Cell::new(None));
    let case = monitor.pursue("Say at once that nothing can be done").unwrap();
    monitor.watch(&case, |event| {
        match event {
            CaseEvent::Planner(PlannerEvent::Started { .. }) => started.set(Some(begun.elapsed())),
            CaseEvent::Planner(PlannerEvent::Inferred { .. }) => asked.set(Some(begun.elapsed())),
            _ => {}
        }
        false
    });
    (started.get().unwrap(), asked.get().unwrap())
}

fn credentials(rounds: usize) {
    let port = serve();
    let monitor = Monitor::start_with_broker(
        "schema: countersign.broker/v1\nsecrets: {token: {from: {file: '{folder}/token'}}}\n",
    );
    let mut options = std::fs::File::options();
    let mut file = options.create_new(true).write(true).mode(0o600).open(monitor.path("token")).unwrap();
    file.write_all(TOKEN.as_bytes()).unwrap();
    let deployment = "schema: countersign.deployment/v1\nhosts: {internal: ['127.0.0.1']}\n\
                      secrets: {token: {hosts: ['127.0.0.1']}}\ntools: [tools.json]\npolicy: policy.yaml\n";
    std::fs::write(monitor.path("config/countersign.yaml"), deployment).unwrap();
    // More actions in a minute than one agent usually has.
    let policy = "schema: countersign.policy/v1\nlimits: {rate: {per_minute: 100000}}\n";
    std::fs::write(monitor.path("config/policy.yaml"), policy).unwrap();
    let tool = |name: &str, auth: Value| {
        let mut http = json!({"method": "GET", "url": format!("http://127.0.0.1:{port}/{name}")});
        if !auth.is_null() {
            http["auth"] = auth;
        }
        json!({
            "name": name, "group": "bench", "description": "Ask the local server.",
            "args": {"type": "object", "additionalProperties": false, "required": [], "properties": {}},
            "effect": "read", "reversibility": "pure", "target": {"kind": "other"},
            "output": {"trust": "party", "secrecy": "internal"}, "driver": {"http": http},
        })
    };
    let tools = [tool("ask_plainly", Value::Null), tool("ask_with_token", json!({"bearer": {"secret": "token"}}))];
    let tools = json!({"schema": "countersign.tools/v1", "tools": tools});
    std::fs::write(monitor.path("config/tools.json"), tools.to_string()).unwrap();
    let get =
        |headers: Value| json!({"method": "GET", "url": format!("http://127.0.0.1:{port}/get"), "headers": headers});
    let variants = [
        ("tool of a manifest, no credential", "ask_plainly", json!({})),
        ("tool of a manifest, bearer token", "ask_with_token", json!({})),
        ("http_request, no secret", "http_request", get(json!({"x-token": "none"}))),
        ("http_request, $secret in a header", "http_request", get(json!({"x-token": {"$secret": "token"}}))),
    ];
    monitor.enroll();
    let mut times = [const { Vec::new() }; 4];
    for round in 0..WARM_UP + rounds {
        for ((_, action, args), times) in variants.iter().zip(&mut times) {
            let time = step(&monitor, action, args);
            if round >= WARM_UP {
                times.push(time);
            }
        }
    }
    let medians = times.map(median);
    println!("\none step, from its start to its end                ms    ratio over the one without");
    for (at, (what, ..)) in variants.iter().enumerate() {
        line(what, medians[at], medians[at & !1]);
    }
}

/// Runs one step; from its start to its end, as told.
fn step(monitor: &Monitor, action: &str, args: &Value) -> Duration {
    let verdict =
        monitor.submit(&plan("Ask the server", json!([{"id": "a", "action": action, "args": args}]))).unwrap();
    match verdict.decision {
        Decision::Allow => {}
        Decision::RequireApproval => drop(monitor.approve(&verdict).unwrap()),
        Decision::Block => panic!("{verdict:#?}"),
    }
    let (begun, ended) = (Cell::new(None), Cell::new(None));
    let events = monitor.watch(&case(&verdict), |event| {
        match event {
            CaseEvent::StepStarted { phase, .. } if phase == "act" => begun.set(Some(Instant::now())),
            CaseEvent::StepEnded { .. } => ended.set(Some(Instant::now())),
            _ => {}
        }
        false
    });
    assert!(matches!(events.last(), Some(CaseEvent::Ended { stage, .. }) if stage == "completed"), "{events:#?}");
    ended.get().unwrap() - begun.get().unwrap()
}

/// A server that answers at once; with a token, only to the right one.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            assert!(!head.starts_with("GET /ask_with_token") || head.contains(TOKEN), "{head}");
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\n\"ok\"").unwrap();
        }
    });
    port
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn line(what: &str, time: Duration, base: Duration) {
    let ratio = time.as_secs_f64() / base.as_secs_f64();
    println!("{what:<48} {:>7.2} {ratio:>7.2}", time.as_secs_f64() * 1e3);
}
