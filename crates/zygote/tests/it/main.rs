//! The zygote as the monitor uses it: started with a packet socket, told to start children, asked for nothing it may not give.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use countersign_sandbox::{Enforcement, Layer, Level};
use countersign_wire::rights;
use countersign_wire::zygote::from_zygote::{self, Exited};
use countersign_wire::zygote::{FromZygote, ToZygote, to_zygote};
use prost::Message as _;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

fn attempting_inspector() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_countersign-zygote")).with_file_name("examples").join("attempting_inspector")
}

/// Copies a program by a process of its own: a descriptor that writes it here could be inherited by what another test starts meanwhile, and a file that somebody
/// may still write cannot be executed (`ETXTBSY`).
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

/// A zygote in a folder of its own, beside only the programs that were put there.
struct Zygote {
    control: OwnedFd,
    process: Child,
    _folder: tempfile::TempDir,
}

impl Zygote {
    fn beside(programs: &[(&str, &Path)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("countersign-zygote");
        copy(Path::new(env!("CARGO_BIN_EXE_countersign-zygote")), &own);
        for (name, program) in programs {
            copy(program, &folder.path().join(name));
        }
        let (control, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let process = Command::new(own).env_clear().stdin(theirs).spawn().unwrap();
        Self { control, process, _folder: folder }
    }

    fn ask(&self, id: u64, kind: to_zygote::Kind) {
        let packet = ToZygote { id, kind: Some(kind) }.encode_to_vec();
        rights::send(&self.control, &packet, &[]).unwrap();
    }

    /// The next message, which is about `id`, and what came beside it.
    fn hear(&self, id: u64) -> (from_zygote::Kind, Vec<OwnedFd>) {
        let (packet, rights) = rights::receive(&self.control).unwrap();
        assert!(!packet.is_empty(), "the zygote is gone");
        let message = FromZygote::decode(packet.as_slice()).unwrap();
        assert_eq!(message.id, id);
        (message.kind.unwrap(), rights)
    }

    fn inspector(&self, id: u64) -> (Enforcement, UnixStream) {
        self.ask(id, to_zygote::Kind::SpawnInspector(to_zygote::SpawnInspector::default()));
        match self.hear(id) {
            (from_zygote::Kind::Spawned(spawned), mut rights) => {
                (serde_json::from_slice(&spawned.enforcement).unwrap(), UnixStream::from(rights.remove(0)))
            }
            (other, _) => panic!("{other:?}"),
        }
    }

    fn end_of(&self, id: u64) -> Exited {
        match self.hear(id) {
            (from_zygote::Kind::Exited(exited), _) => exited,
            (other, _) => panic!("{other:?}"),
        }
    }

    /// Ends with its monitor.
    fn end(mut self) {
        drop(self.control);
        assert!(self.process.wait().unwrap().success());
    }
}

/// INV-5. Sealed as tightly as a planner: what it tries is named, and ends it. Each attempt is first seen to succeed unsealed.
#[test]
fn inv_5_an_inspector_computes_on_its_socket_and_nothing_else() {
    let image = attempting_inspector();
    let zygote = Zygote::beside(&[("countersign-inspector", &image)]);
    let (enforcement, mut socket) = zygote.inspector(1);
    assert_eq!(enforcement.level(), Level::Full, "{enforcement:#?}");
    assert!(enforcement.layers[&Layer::Landlock].contains("everything denied"), "{enforcement:#?}");
    let mut said = [0];
    socket.write_all(b"-").unwrap();
    socket.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"-", "the control");
    drop(socket);
    let exited = zygote.end_of(1);
    assert_eq!((exited.code, exited.syscall), (Some(0), None));

    let attempts: [(u8, &[&str]); 4] = [
        (b'f', &["open"]),
        (b'n', &["socket"]),
        (b'x', &["clone", "fork", "socketpair", "pipe", "openat"]),
        (b't', &["clone", "clone3", "rt_sigaction", "prctl"]),
    ];
    for (id, (what, calls)) in (2..).zip(attempts) {
        let outside = Command::new(&image).arg(char::from(what).to_string()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&outside.stdout).trim(), "true", "{} unsealed", char::from(what));
        let (_, mut socket) = zygote.inspector(id);
        socket.write_all(&[what]).unwrap();
        let mut rest = Vec::new();
        // A reset says the same as an end: nothing comes.
        drop(socket.read_to_end(&mut rest));
        assert_eq!(rest, b"", "{} came through", char::from(what));
        let exited = zygote.end_of(id);
        assert_eq!(exited.signal, Some(31), "SIGSYS: {exited:?}");
        let syscall = exited.syscall.unwrap_or_default();
        assert!(calls.iter().any(|call| syscall.starts_with(call)), "{}: {syscall}", char::from(what));
    }
    zygote.end();
}

#[test]
fn an_inspector_that_is_not_installed_is_refused_and_the_zygote_goes_on() {
    let zygote = Zygote::beside(&[]);
    for id in [1, 2] {
        zygote.ask(id, to_zygote::Kind::SpawnInspector(to_zygote::SpawnInspector::default()));
        match zygote.hear(id) {
            (from_zygote::Kind::Refused(refused), rights) => {
                assert!(refused.message.contains("countersign-inspector is not installed"), "{}", refused.message);
                assert!(!refused.violation && rights.is_empty());
            }
            (other, _) => panic!("{other:?}"),
        }
    }
    zygote.end();
}
