//! The thinker that cannot act, from outside: while a case with a model's key and a step's secret is in the middle of its step,
//! what planner, executor, step and monitor hold is read from `/proc`, as root reads it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use countersign_plan::verdict::{Decision, Verdict};
use countersign_wire::propose::{CaseEvent, PlannerEvent};
use serde_json::{Value, json};

use crate::harness::{Monitor, wait_for};

const MODEL_KEY: &str = "model-key-8c1f60d2a94b7e35";
const STEP_SECRET: &str = "step-secret-51e7b0934dca2f68";
/// What no process has in memory: the control of the search.
pub(crate) const NOBODYS: &str = "nobodys-secret-07d4e2b98f1a6c53";

/// A model and the server of a step in one: the step's answer waits until it is let go.
struct Server {
    port: u16,
    /// The heads of the requests of the step.
    asked: Receiver<String>,
    go: Sender<()>,
}

impl Server {
    /// The answers of the model, one for each question.
    fn start(answers: impl FnOnce(u16) -> Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut answers = answers(port).into_iter();
        let (tell, asked) = channel();
        let (go, wait) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head = request(&mut stream);
                let (kind, body) = if head.starts_with("POST /v1/") {
                    assert!(head.contains(MODEL_KEY), "the broker shows its key: {head}");
                    ("text/event-stream", answers.next().unwrap())
                } else {
                    tell.send(head).unwrap();
                    if wait.recv().is_err() {
                        return;
                    }
                    ("text/plain", "slow".to_owned())
                };
                let length = body.len();
                let head = format!("content-type: {kind}\r\ncontent-length: {length}\r\nconnection: close");
                drop(write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"));
            }
        });
        Self { port, asked, go }
    }
}

/// Reads a request; its head.
fn request(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.to_ascii_lowercase();
    let length = length.lines().find_map(|line| line.strip_prefix("content-length:").map(str::to_owned));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    head
}

/// What the model streams.
fn said(text: &str) -> String {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        format!("data: {}\n\n", json!({"id": "chatcmpl-1", "model": "m", "choices": choices}))
    };
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n";
    chunk(json!({"content": text}), None) + &chunk(json!({}), Some("stop")) + usage
}

fn turn(turn: Value) -> String {
    said(&json!({"thought": "t", "turn": turn}).to_string())
}

pub(crate) fn keep(monitor: &Monitor, name: &str, value: &str) {
    let mut options = std::fs::File::options();
    let mut file = options.create_new(true).write(true).mode(0o600).open(monitor.path(name)).unwrap();
    file.write_all(value.as_bytes()).unwrap();
}

/// The processes below the zygote of this monitor, by the name that they were started under; the monitor, its zygote and its broker too.
pub(crate) fn processes(monitor: &Monitor) -> BTreeMap<u32, String> {
    let zygote = monitor.processes("countersign-zygote");
    let [zygote] = zygote.as_slice() else { panic!("one zygote: {zygote:?}") };
    let parent = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let daemon = parent(*zygote).unwrap();
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let ours = std::iter::successors(Some(pid), |pid| parent(*pid).filter(|parent| *parent > 1));
        if ours.into_iter().any(|ancestor| ancestor == daemon)
            && let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline"))
        {
            let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(first).rsplit('/').next().unwrap().to_owned();
            found.insert(pid, name);
        }
    }
    found
}

/// How often each of `wanted` stands in what can be read of a process's memory, and how many bytes that was.
pub(crate) fn search(pid: u32, wanted: [&str; 3]) -> std::io::Result<([usize; 3], usize)> {
    let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
    let (mut found, mut read) = ([0; 3], 0);
    for line in std::fs::read_to_string(format!("/proc/{pid}/maps"))?.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        // The kernel's own pages are no memory of the process, and cannot be read this way.
        if !rights.starts_with('r')
            || line.ends_with("[vvar]")
            || line.ends_with("[vvar_vclock]")
            || line.ends_with("[vsyscall]")
        {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let (from, to) = (u64::from_str_radix(from, 16).unwrap(), u64::from_str_radix(to, 16).unwrap());
        let mut bytes = vec![0; usize::try_from(to - from).unwrap()];
        // A mapping may have gone since it was listed; what is left of it counts.
        let mut filled = 0;
        while let Ok(count) = memory.read_at(&mut bytes[filled..], from + filled as u64)
            && count > 0
        {
            filled += count;
        }
        read += filled;
        for (count, wanted) in found.iter_mut().zip(wanted) {
            *count += occurrences(&bytes[..filled], wanted.as_bytes());
        }
    }
    Ok((found, read))
}

/// How often `wanted` stands in `bytes`.
fn occurrences(bytes: &[u8], wanted: &[u8]) -> usize {
    let first = wanted[0];
    let mut found = 0;
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        found += usize::from(rest[at..].starts_with(wanted));
        rest = &rest[at + 1..];
    }
    found
}

/// Whether the process has taken its seal: a filter, whose listener it holds only for a moment.
fn is_sealed(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let filtered = status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"]));
    filtered && std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|open| open.count() == 4)
}

/// Where the descriptors of a process lead.
fn descriptors(pid: u32) -> BTreeMap<u32, String> {
    let folder = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let link = |path: &Path| std::fs::read_link(path).unwrap().to_string_lossy().into_owned();
    folder
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_str().unwrap().parse().unwrap(), link(&entry.path())))
        .collect()
}

/// INV-10, INV-5.
#[test]
fn inv_10_seen_from_outside_only_the_broker_holds_a_secret_and_nobody_else_a_way_out() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root reads the memory of these processes, which are not dumpable");
        return;
    }
    let server = Server::start(|port| {
        let headers = json!([{"name": "x-token", "value": {"$secret": "token"}}]);
        let args =
            json!({"method": "GET", "url": format!("http://127.0.0.1:{port}/slow"), "headers": headers, "body": null});
        vec![
            turn(json!({"load_tools": {"groups": ["network"]}})),
            turn(json!({"propose": {"plan": {"steps": [{"id": "ask", "action": "http_request", "args": args}]}}})),
            said("It was slow."),
        ]
    });
    let monitor = Monitor::start_with_broker(&format!(
        "schema: countersign.broker/v1\n\
         providers:\n  local: {{kind: openai, url: 'http://127.0.0.1:{}/v1', model: m, key: model, clearance: internal, private: true}}\n\
         secrets:\n  model: {{from: {{file: '{{folder}}/model'}}}}\n  token: {{from: {{file: '{{folder}}/token'}}}}\n",
        server.port
    ));
    keep(&monitor, "model", MODEL_KEY);
    keep(&monitor, "token", STEP_SECRET);
    let deployment = "schema: countersign.deployment/v1\nhosts: {internal: ['127.0.0.1']}\nsecrets: {token: {hosts: ['127.0.0.1']}}\n";
    std::fs::write(monitor.path("config/countersign.yaml"), deployment).unwrap();
    monitor.enroll();
    let case = monitor.pursue("Ask the slow server").unwrap();
    let judged = |event: &CaseEvent| match event {
        CaseEvent::Planner(PlannerEvent::Judged { verdict, .. }) => {
            Some(serde_json::from_value::<Verdict>(verdict.clone()).unwrap())
        }
        _ => None,
    };
    let events = monitor.watch(&case, |event| judged(event).is_some());
    let verdict = events.iter().find_map(judged).unwrap_or_else(|| panic!("{events:#?}"));
    if verdict.decision == Decision::RequireApproval {
        monitor.approve(&verdict).unwrap();
    }
    assert_ne!(verdict.decision, Decision::Block, "{verdict:#?}");
    let head = server.asked.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    assert!(head.contains(STEP_SECRET), "the broker put the secret where its handle stood: {head}");

    // The step waits for its answer: everybody is there.
    wait_for("sealed spares", || {
        let named = |name: &str| monitor.processes(name);
        let (planners, inspectors) = (named("countersign-planner"), named("countersign-inspector"));
        let all = [planners.as_slice(), inspectors.as_slice()].concat();
        planners.len() == 2 && inspectors.len() == 2 && all.iter().all(|pid| is_sealed(*pid))
    });
    let processes = processes(&monitor);
    println!("{processes:#?}");
    let outside = std::fs::read_link("/proc/self/ns/net").unwrap();
    for (pid, name) in &processes {
        let (found, read) = search(*pid, [MODEL_KEY, STEP_SECRET, NOBODYS]).unwrap();
        println!("{name}: {found:?} in {read} bytes");
        assert!(read > 100_000, "{name}: its memory was read");
        assert_eq!(found[2], 0, "{name}: the control of the search");
        if name == "countersign-broker" {
            assert!(found[0] > 0 && found[1] > 0, "the broker holds both: the search finds what is there");
            continue;
        }
        assert_eq!(found, [0; 3], "{name} has a secret in its memory");
        if name == "countersignd" || name == "countersign-zygote" {
            continue;
        }
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        assert!(environment.iter().all(|byte| *byte == 0), "{name}: {:?}", String::from_utf8_lossy(&environment));
        let descriptors = descriptors(*pid);
        println!("{name}: {descriptors:?}");
        let mut sockets = 0;
        for (number, target) in &descriptors {
            match number {
                0..=2 => assert_eq!(target, "/dev/null", "{name}: descriptor {number}"),
                3 => assert!(target.starts_with("socket:"), "{name}: descriptor 3 is {target}"),
                4 if name == "countersign-step" => assert!(!target.starts_with("socket:"), "{name}: {target}"),
                _ => panic!("{name}: descriptor {number} is {target}"),
            }
            sockets += usize::from(target.starts_with("socket:"));
        }
        assert_eq!(sockets, 1, "{name}: {descriptors:?}");
        assert_ne!(std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap(), outside, "{name}: a network of its own");
        let links = std::fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap();
        let links: Vec<&str> =
            links.lines().filter_map(|line| line.split_once(':')).map(|(link, _)| link.trim()).collect();
        assert_eq!(links, ["lo"], "{name}: no way out");
        for table in ["tcp", "tcp6", "udp", "udp6", "raw", "packet"] {
            let Ok(table) = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")) else { continue };
            assert_eq!(table.lines().count(), 1, "{name}: {table}");
        }
        for line in std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().lines() {
            let mut words = line.split_whitespace();
            let rights = words.nth(1).unwrap();
            let file = words.nth(3).unwrap_or_default();
            assert!(!(rights.contains('w') && rights.contains('x')), "{name}: {line}");
            let own = file.is_empty() || file.starts_with('[') || file.contains(name.as_str());
            assert!(own, "{name}: something else is mapped: {line}");
        }
    }
    let count = |wanted: &str| processes.values().filter(|name| *name == wanted).count();
    for (name, wanted) in [
        ("countersignd", 1),
        ("countersign-zygote", 1),
        ("countersign-broker", 1),
        ("countersign-planner", 2),
        ("countersign-inspector", 2),
        ("countersign-executor", 1),
        ("countersign-step", 1),
    ] {
        assert_eq!(count(name), wanted, "{name}: {processes:#?}");
    }
    server.go.send(()).unwrap();
    let events = monitor.watch(&case, |_| false);
    assert!(matches!(events.last(), Some(CaseEvent::Ended { stage, .. }) if stage == "answered"), "{events:#?}");
    let told = format!("{events:?}") + &format!("{:?}", monitor.records());
    for secret in [MODEL_KEY, STEP_SECRET] {
        assert!(!told.contains(secret), "no event and no record says it");
        assert!(!std::fs::read_to_string(monitor.path("log")).unwrap().contains(secret), "no line of the log says it");
    }
}
