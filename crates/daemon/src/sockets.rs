//! The two doors: `propose.sock` and `operator.sock`, in a folder that only the owner can enter. Frames in, commands out.
//!
//! The peer's uid comes from the kernel. Being able to open a door grants nothing: an approval is a signature (INV-7).

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use countersign_wire::frame::FrameError;
use countersign_wire::{operator, propose};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use crate::channel::{read, write_all};
use crate::folders::private_folder;
use crate::monitor::{Command, Monitor};
use crate::peer::Peer;

/// How many messages may wait for a slow client before it is dropped.
const BACKLOG: usize = 1024;

/// The operators' socket, bound first.
pub(crate) const FIRST: &str = "operator.sock";
/// The proposers' socket, bound last: where it answers, both do.
pub(crate) const LAST: &str = "propose.sock";

/// Makes the runtime folder and both sockets in it.
pub(crate) fn bind(runtime: &Path) -> io::Result<(UnixListener, UnixListener)> {
    private_folder(runtime)?;
    let operate = listen(&runtime.join(FIRST))?;
    let propose = listen(&runtime.join(LAST))?;
    Ok((propose, operate))
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves `propose.sock` for ever.
pub(crate) async fn serve_propose(listener: UnixListener, monitor: Monitor) {
    while let Some(stream) = accept(&listener).await {
        let Ok(peer) = peer(&stream) else { continue };
        let monitor = monitor.clone();
        tokio::spawn(async move {
            let (mut reader, writer) = stream.into_split();
            let (reply, replies) = mpsc::channel::<propose::FromMonitor>(BACKLOG);
            let writing = tokio::spawn(write_all(writer, replies));
            loop {
                match read::<propose::ToMonitor>(&mut reader).await {
                    Ok(propose::ToMonitor { kind: Some(kind) }) => {
                        monitor.send(Command::Propose { kind, peer, reply: reply.clone() });
                    }
                    Ok(_) => drop(reply.try_send(malformed(&FrameError::Unknown))),
                    Err(FrameError::Closed) => break,
                    Err(e) => {
                        drop(reply.try_send(malformed(&e)));
                        break;
                    }
                }
            }
            drop(reply);
            drop(writing.await);
        });
    }
}

/// Serves `operator.sock` for ever.
pub(crate) async fn serve_operator(listener: UnixListener, monitor: Monitor) {
    while let Some(stream) = accept(&listener).await {
        let Ok(peer) = peer(&stream) else { continue };
        let monitor = monitor.clone();
        tokio::spawn(async move {
            let (mut reader, writer) = stream.into_split();
            let (reply, replies) = mpsc::channel::<operator::FromMonitor>(BACKLOG);
            let writing = tokio::spawn(write_all(writer, replies));
            while let Ok(operator::ToMonitor { kind: Some(kind) }) = read(&mut reader).await {
                monitor.send(Command::Operate { kind, peer, reply: reply.clone() });
            }
            drop(reply);
            drop(writing.await);
        });
    }
}

async fn accept(listener: &UnixListener) -> Option<UnixStream> {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return Some(stream),
            // Out of descriptors, or a peer that left: the door stays open.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    }
}

/// Who is at the other end, as the kernel says. Only the monitor's own user comes in.
fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let credentials = stream.peer_cred()?;
    let own = rustix::process::geteuid().as_raw();
    if credentials.uid() != own && credentials.uid() != 0 {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    Ok(Peer { uid: credentials.uid(), gid: credentials.gid() })
}

fn malformed(error: &FrameError) -> propose::FromMonitor {
    let error = propose::from_monitor::Error { code: "plan.invalid".to_owned(), message: error.to_string() };
    propose::FromMonitor { kind: Some(propose::from_monitor::Kind::Error(error)) }
}
