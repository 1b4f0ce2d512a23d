//! The monitor's side of the zygote: started before threads and keys exist, spoken to in packets.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use countersign_wire::rights;
use countersign_wire::zygote::from_zygote::{self, Exited, Spawned};
use countersign_wire::zygote::{FromZygote, ToZygote, to_zygote};
use prost::Message as _;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// What became of a child that was asked for.
#[derive(Debug)]
pub(crate) enum ChildEvent {
    /// It runs; its channel.
    Spawned(Spawned, OwnedFd),
    /// It was not started. `violation` says whether somebody tried to act without leave.
    Refused {
        /// Whether this is a separation violation.
        violation: bool,
        /// For people.
        message: String,
    },
    /// It is gone.
    Exited(Exited),
    /// The answer to `boot`: what this kernel enforces, as JSON.
    Booted(Vec<u8>),
}

/// Takes the events of one child, with the id of the command that asked for it.
pub(crate) type Listener = Box<dyn FnMut(u64, ChildEvent) + Send>;

/// The channel to the zygote.
#[derive(Clone)]
pub(crate) struct Zygote {
    shared: Arc<Shared>,
}

struct Shared {
    socket: OwnedFd,
    next: AtomicU64,
    listeners: Mutex<HashMap<u64, Listener>>,
}

impl std::fmt::Debug for Zygote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Zygote")
    }
}

/// Starts the zygote with an empty environment. Called while this process has one thread and no secret.
pub(crate) fn start(program: &Path) -> io::Result<(OwnedFd, Child)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // A packet carries a permit and a spec; the default buffers hold few of them.
    rustix::net::sockopt::set_socket_send_buffer_size(&ours, 4 * rights::PACKET_LIMIT)?;
    rustix::net::sockopt::set_socket_send_buffer_size(&theirs, 4 * rights::PACKET_LIMIT)?;
    let child = Command::new(program)
        .arg0("countersign-zygote")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()?;
    Ok((ours, child))
}

impl Zygote {
    /// Takes over the channel; a thread of its own hands events to their listeners until the zygote ends, then calls `ended`.
    pub(crate) fn attach(socket: OwnedFd, ended: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared { socket, next: AtomicU64::new(1), listeners: Mutex::default() });
        let reader = Arc::clone(&shared);
        std::thread::Builder::new().name("zygote-reader".to_owned()).spawn(move || {
            reader.read();
            ended();
        })?;
        Ok(Self { shared })
    }

    /// Sends a command; `listener` hears what becomes of the child. Returns the id of the command.
    pub(crate) fn ask(&self, kind: to_zygote::Kind, rights: &[BorrowedFd<'_>], listener: Listener) -> io::Result<u64> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.shared.listeners().insert(id, listener);
        let packet = ToZygote { id, kind: Some(kind) }.encode_to_vec();
        rights::send(self.shared.socket.as_fd(), &packet, rights).inspect_err(|_| {
            self.shared.listeners().remove(&id);
        })?;
        Ok(id)
    }

    /// Tells the zygote whose permits count and waits for its answer: what this kernel enforces, as JSON.
    pub(crate) fn boot(&self, boot: to_zygote::Boot) -> io::Result<Vec<u8>> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let listener = move |_, event| match event {
            ChildEvent::Booted(capabilities) => drop(sender.try_send(Ok(capabilities))),
            ChildEvent::Refused { message, .. } => drop(sender.try_send(Err(message))),
            ChildEvent::Exited(_) | ChildEvent::Spawned(..) => {
                drop(sender.try_send(Err("not an answer to boot".to_owned())))
            }
        };
        self.ask(to_zygote::Kind::Boot(boot), &[], Box::new(listener))?;
        let answer = receiver.recv_timeout(std::time::Duration::from_secs(10));
        answer.map_err(|_| io::Error::other("the zygote did not answer"))?.map_err(io::Error::other)
    }

    /// Kills the child of that id with its whole tree.
    pub(crate) fn kill(&self, id: u64) -> io::Result<()> {
        let packet = ToZygote { id, kind: Some(to_zygote::Kind::Kill(to_zygote::Kill {})) }.encode_to_vec();
        rights::send(self.shared.socket.as_fd(), &packet, &[])
    }
}

impl Shared {
    fn listeners(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) {
        while let Ok((packet, rights)) = rights::receive(self.socket.as_fd()) {
            let Ok(message) = FromZygote::decode(packet.as_slice()) else { return };
            if packet.is_empty() {
                return;
            }
            self.hand_out(message, rights);
        }
    }

    fn hand_out(&self, message: FromZygote, rights: Vec<OwnedFd>) {
        let mut last = true;
        let event = match message.kind {
            Some(from_zygote::Kind::Spawned(spawned)) => match rights.into_iter().next() {
                Some(channel) => {
                    last = false;
                    ChildEvent::Spawned(spawned, channel)
                }
                None => ChildEvent::Refused { violation: false, message: "the child's channel is missing".to_owned() },
            },
            Some(from_zygote::Kind::Refused(refused)) => {
                ChildEvent::Refused { violation: refused.violation, message: refused.message }
            }
            Some(from_zygote::Kind::Exited(exited)) => ChildEvent::Exited(exited),
            Some(from_zygote::Kind::Booted(booted)) => ChildEvent::Booted(booted.capabilities),
            None => return,
        };
        let Some(mut listener) = self.listeners().remove(&message.id) else { return };
        listener(message.id, event);
        if !last {
            self.listeners().insert(message.id, listener);
        }
    }
}
