//! What the process of a planner cannot do.

use std::io::{Read as _, Write as _};
use std::process::Command;

use countersign_sandbox::Exit;

use crate::monitor::Monitor;
use crate::probe;

/// The signal of a forbidden call.
const SIGSYS: i32 = 31;

pub(crate) fn the_image_of_the_planner_is_sealed() {
    let attempts = "fwnuxtdpkm";
    for attempt in attempts.chars() {
        let outside = Command::new(probe()).arg(attempt.to_string()).output().expect("cargo test builds the example");
        assert_eq!(outside.stdout, b"through\n", "outside, `{attempt}` does not end a process");
        let mut monitor = Monitor::start(&probe());
        monitor.socket.write_all(&[u8::try_from(attempt).unwrap()]).unwrap();
        assert_eq!(monitor.ends(), Exit::Signal(SIGSYS), "`{attempt}`");
    }
    println!("  {} attempts, each ended by SIGSYS", attempts.len());
    // The control: with nothing forbidden, the same image goes on.
    let mut monitor = Monitor::start(&probe());
    monitor.socket.write_all(b"-").unwrap();
    monitor.socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = Vec::new();
    monitor.socket.read_to_end(&mut said).unwrap();
    assert_eq!(said, b"through");
    assert_eq!(monitor.ends(), Exit::Code(0));
}
