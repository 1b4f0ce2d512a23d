//! The planner's own image with one attempt in place of a task: takes its seat by the code of the binary, reads one byte, and
//! tries what the byte names. Started by `tests/it`, first unsealed (to see that the attempt succeeds), then as a planner.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test program: a failed expectation ends it visibly")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::Command;

use countersign_planner::{channel, seat};

fn main() {
    if let Some(what) = std::env::args().nth(1).and_then(|word| word.bytes().next()) {
        attempt(what);
        println!("through");
        return;
    }
    let mut socket = seat::take().unwrap();
    let mut byte = [0];
    socket.read_exact(&mut byte).unwrap();
    attempt(u8::from_be_bytes(byte));
    // Only to link all of the planner into this image; the answer shows that the attempt came through.
    drop(channel::serve(&mut socket));
    drop(socket.write_all(b"through"));
}

fn attempt(what: u8) {
    match what {
        b'f' => drop(File::open("/proc/self/status")),
        b'w' => drop(File::create("/tmp/countersign-planner-probe")),
        b'n' => drop(TcpListener::bind(("127.0.0.1", 0))),
        b'u' => drop(UnixStream::pair()),
        b'x' => drop(Command::new("/proc/self/exe").arg("exit").output()),
        b't' => drop(std::thread::Builder::new().spawn(|| ())),
        b'd' => drop(rustix::io::dup(std::io::stdin().as_fd())),
        b'p' => drop(rustix::process::getppid()),
        b'k' => drop(rustix::process::test_kill_process(rustix::process::Pid::INIT)),
        b'm' => drop(rustix::mount::unmount("/nowhere", rustix::mount::UnmountFlags::DETACH)),
        // Nothing forbidden: the control.
        _ => {}
    }
}
