//! Stands in for `countersign-inspector` in `tests/it`: seals itself like it, answers each byte with the same byte, and tries what the
//! byte names first. With an argument it tries the same unsealed and says whether that came through.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test program: a failed expectation ends it visibly")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::UdpSocket;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::Command;

use countersign_sandbox::{Layers, announce, inherited, seal_inspector};

fn main() {
    if let Some(what) = std::env::args().nth(1).and_then(|word| word.bytes().next()) {
        println!("{}", attempt(what));
        return;
    }
    let control = inherited(3).unwrap();
    let enforcement = seal_inspector(Layers::all()).unwrap();
    announce(control.as_fd(), &enforcement).unwrap();
    let mut socket = UnixStream::from(control);
    let mut byte = [0];
    while socket.read(&mut byte).unwrap() == 1 {
        attempt(u8::from_be_bytes(byte));
        socket.write_all(&byte).unwrap();
    }
}

fn attempt(what: u8) -> bool {
    match what {
        b'f' => File::open("/").is_ok(),
        b'n' => UdpSocket::bind(("127.0.0.1", 0)).is_ok(),
        b'x' => Command::new("/proc/self/exe").arg("-").output().is_ok(),
        b't' => std::thread::Builder::new().spawn(|| ()).is_ok(),
        // Nothing forbidden: the control.
        _ => true,
    }
}
