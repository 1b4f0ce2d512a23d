//! What is left of a value when nobody needs it any more, read from the broker's memory as root reads it.

use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::time::{Duration, Instant};

use countersign_plan::egress::Egress;
use countersign_secret::handover::Asking;
use countersign_wire::broker::to_broker::{self, Kind};
use countersign_wire::egress::{ask, reply};

use crate::house::{CASE, House, bearer, get, handle, http, requests};
use crate::server::{Server, ok};

const FETCHED: &str = "fetched-value-7d1b95e3c2a8";
const SHOWN: &str = "shown-value-40c6fa1e88d7";
/// What stays: the control of the search.
const PASSED: &str = "passed-value-9b2e64d01f35";

/// How often each value stands in what can be read of a process's memory.
fn search(pid: u32, wanted: [&str; 3]) -> [usize; 3] {
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut found = [0; 3];
    for line in std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        // The kernel's own pages cannot be read this way.
        if !rights.starts_with('r') || line.contains("[v") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let (from, to) = (u64::from_str_radix(from, 16).unwrap(), u64::from_str_radix(to, 16).unwrap());
        let mut bytes = vec![0; usize::try_from(to - from).unwrap()];
        let mut filled = 0;
        while let Ok(count) = memory.read_at(&mut bytes[filled..], from + filled as u64)
            && count > 0
        {
            filled += count;
        }
        for (count, wanted) in found.iter_mut().zip(wanted) {
            *count += bytes[..filled].windows(wanted.len()).filter(|part| *part == wanted.as_bytes()).count();
        }
    }
    found
}

/// INV-10: after the case the broker itself knows nothing any more.
#[test]
fn inv_10_no_copy_of_a_value_outlives_its_case_in_the_brokers_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, value: &str| {
        let path = folder.path().join(name);
        let mut file = std::fs::File::options().create_new(true).write(true).mode(0o600).open(&path).unwrap();
        file.write_all(value.as_bytes()).unwrap();
        path.display().to_string()
    };
    let configuration = format!(
        "schema: countersign.broker/v1\nsecrets: {{fetched: {{from: {{file: {}}}}}, shown: {{from: {{file: {}}}}}, passed: {{from: {{env: PASSED}}}}}}\n",
        file("fetched", FETCHED),
        file("shown", SHOWN)
    );
    let mut house = House::start(&configuration, &[("PASSED", PASSED)]);
    if std::fs::File::open(format!("/proc/{}/mem", house.child.id())).is_err() {
        println!("skipped: only root reads the memory of the broker, which is not dumpable");
        return;
    }
    // The server sends the value back, so that it is in an answer too.
    let server = Server::start(|request, out| {
        drop(out.write_all(ok(request.header("authorization").unwrap_or_default()).as_bytes()));
    });
    let mut shown = handle("shown", &[]);
    shown.exposed = true;
    let secrets = vec![handle("fetched", &["127.0.0.1"]), shown];
    let id = house.lease(Egress { secrets, ..requests(vec![http("GET", server.port(), "/")]) });
    let fetched = house.fetched(id, ask::Fetch { auth: bearer("fetched"), ..get(&server.url("/")) });
    assert_eq!(fetched.body, b"Bearer [secret fetched]");
    let asking = Asking::begin().unwrap();
    let reveal = ask::Reveal { name: "shown".to_owned(), key: asking.public().to_vec() };
    let (kind, _) = house.ask(id, ask::Kind::Reveal(reveal));
    let reply::Kind::Revealed(sealed) = kind else { panic!("{kind:?}") };
    assert_eq!(asking.open("shown", &sealed).unwrap().as_slice(), SHOWN.as_bytes());
    let wanted = [FETCHED, SHOWN, PASSED];
    let pid = house.child.id();
    let during = search(pid, wanted);
    assert!(during.iter().all(|count| *count > 0), "the search finds what is there: {during:?}");
    house.send(Kind::CaseEnded(to_broker::CaseEnded { case: CASE.to_owned(), goes_on: false }));
    // The end of a case is not answered.
    let until = Instant::now() + Duration::from_secs(60);
    let mut after = search(pid, wanted);
    while after[..2] != [0, 0] && Instant::now() < until {
        after = search(pid, wanted);
    }
    println!("during {during:?}, after {after:?}");
    assert_eq!(after[..2], [0, 0], "nothing of it is left");
    assert!(after[2] > 0, "the control of the search");
}
