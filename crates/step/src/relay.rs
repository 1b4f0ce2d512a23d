//! The road of a step's programs to granted hosts: an HTTP proxy on the private loopback, whose streams go through the step's one
//! socket to the broker.
//!
//! The broker decides and connects; the relay refuses what is not granted before it asks, so that a program that tries its luck
//! gets an answer and not an incident. `CONNECT HOST:PORT` is a tunnel; `GET http://HOST/…` is one request on a connection of
//! its own, so that a second request for another host can never reach the first one's.

mod head;
pub(crate) mod hello;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};

use countersign_plan::egress::HostGrant;
use countersign_plan::text;
use countersign_wire::egress::{Reply, ask, reply};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::channel::{Channel, Silence};
use crate::relay::head::{Head, HeadError, Kind};
use crate::tunnel::Tunnel;

/// Connections at once; further ones wait.
const CONNECTIONS: usize = 64;

/// The relay of one program.
#[derive(Debug)]
pub(crate) struct Relay {
    listener: TcpListener,
    port: u16,
    granted: Vec<HostGrant>,
    arriving: Vec<Arriving>,
    opening: BTreeMap<u64, Opening>,
    open: BTreeMap<u64, Tunnel>,
    /// What was refused, for people who watch.
    refused: Vec<String>,
}

/// A connection whose request is being read.
#[derive(Debug)]
struct Arriving {
    socket: TcpStream,
    read: Vec<u8>,
}

/// A connection for which the broker was asked.
#[derive(Debug)]
struct Opening {
    socket: TcpStream,
    kind: Kind,
    host: String,
}

impl Relay {
    /// Listens on the private loopback.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn new(granted: &[HostGrant]) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            port,
            granted: granted.to_vec(),
            arriving: Vec::new(),
            opening: BTreeMap::new(),
            open: BTreeMap::new(),
            refused: Vec::new(),
        })
    }

    /// What a program's environment says so that it finds the relay.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (String, String)> {
        let proxy = format!("http://127.0.0.1:{}", self.port);
        let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, proxy.clone()));
        // A program's own servers are beside it; what was granted under such a name is not.
        let granted = |name: &str| self.granted.iter().any(|grant| grant.host == name);
        let beside: Vec<&str> = ["localhost", "127.0.0.1"].into_iter().filter(|name| !granted(name)).collect();
        names
            .into_iter()
            .chain([("NO_PROXY", beside.join(","))])
            .flat_map(|(name, value)| [(name.to_owned(), value.clone()), (name.to_ascii_lowercase(), value)])
    }

    /// What it waits for.
    pub(crate) fn interest<'a>(&'a self, has_room: bool, fds: &mut Vec<PollFd<'a>>) {
        if self.connections() < CONNECTIONS {
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        fds.extend(self.arriving.iter().map(|arriving| PollFd::new(&arriving.socket, PollFlags::IN)));
        for tunnel in self.open.values() {
            tunnel.interest(has_room, fds);
        }
    }

    /// What was refused since the last call.
    pub(crate) fn refusals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refused)
    }

    /// One turn of every connection.
    pub(crate) fn turn(&mut self, channel: &mut Channel) -> Result<(), Silence> {
        self.accept();
        for mut arriving in std::mem::take(&mut self.arriving) {
            match arriving.read() {
                Ok(None) => self.arriving.push(arriving),
                Ok(Some(head)) => self.begin(channel, arriving.socket, head)?,
                Err(error) => answer(&arriving.socket, error.status(), &error.to_string()),
            }
        }
        for tunnel in self.open.values_mut() {
            if let Err(why) = tunnel.turn(channel)? {
                self.refused.push(text::escape(&why));
            }
        }
        self.open.retain(|_, tunnel| !tunnel.is_over());
        Ok(())
    }

    /// A reply of the broker for one of the connections.
    pub(crate) fn reply(&mut self, channel: &mut Channel, reply: Reply) -> Result<(), Silence> {
        let id = reply.id;
        match reply.kind {
            Some(reply::Kind::Opened(_)) => {
                let Some(Opening { socket, kind, host }) = self.opening.remove(&id) else { return Ok(()) };
                let Ok(from) = socket.try_clone() else { return channel.ask(id, ask::Kind::Shut(ask::Shut {})) };
                let mut tunnel = Tunnel::new(id, OwnedFd::from(from), OwnedFd::from(socket));
                if let Err(why) = opened(channel, &mut tunnel, kind, host)? {
                    self.refused.push(text::escape(&why));
                }
                self.open.insert(id, tunnel);
            }
            Some(reply::Kind::Data(bytes)) => {
                let Some(tunnel) = self.open.get_mut(&id) else { return Ok(()) };
                if tunnel.write(channel, &bytes)?.is_err() {
                    tunnel.abandon(channel)?;
                    self.open.remove(&id);
                }
            }
            Some(reply::Kind::Took(bytes)) => {
                let Some(tunnel) = self.open.get_mut(&id) else { return Ok(()) };
                if tunnel.took(bytes).is_err() {
                    tunnel.abandon(channel)?;
                    self.open.remove(&id);
                }
            }
            Some(reply::Kind::Shut(_)) => {
                if let Some(tunnel) = self.open.get_mut(&id) {
                    tunnel.shut();
                }
            }
            Some(reply::Kind::Refused(refused)) => {
                if let Some(opening) = self.opening.remove(&id) {
                    self.refuse(&opening.socket, 502, &format!("{}: {}", opening.host, refused.message));
                }
                // Dropped, both halves: the program sees a connection that ends.
                self.open.remove(&id);
            }
            Some(
                reply::Kind::Fetched(_) | reply::Kind::Sent(_) | reply::Kind::Result(_) | reply::Kind::Revealed(_),
            )
            | None => {}
        }
        Ok(())
    }

    fn connections(&self) -> usize {
        self.arriving.len() + self.opening.len() + self.open.len()
    }

    fn accept(&mut self) {
        while self.connections() < CONNECTIONS {
            let Ok((socket, _)) = self.listener.accept() else { return };
            if socket.set_nonblocking(true).is_ok() {
                self.arriving.push(Arriving { socket, read: Vec::new() });
            }
        }
    }

    fn begin(&mut self, channel: &mut Channel, socket: TcpStream, head: Head) -> Result<(), Silence> {
        let Head { host, port, kind } = head;
        let granted = self.granted.iter().any(|grant| grant.port == port && grant.host.eq_ignore_ascii_case(&host));
        if !granted {
            self.refuse(&socket, 403, &format!("{host}:{port} is not among the hosts that this step was granted"));
            return Ok(());
        }
        let id = channel.fresh();
        channel.ask(id, ask::Kind::Open(ask::Open { host: host.clone(), port: port.into() }))?;
        self.opening.insert(id, Opening { socket, kind, host });
        Ok(())
    }

    fn refuse(&mut self, socket: &TcpStream, status: u16, why: &str) {
        let why = text::escape(why);
        answer(socket, status, &why);
        self.refused.push(why);
    }
}

/// Begins a stream with what the program said before there was one.
fn opened(channel: &mut Channel, tunnel: &mut Tunnel, kind: Kind, host: String) -> Result<Result<(), String>, Silence> {
    let (first, second) = match kind {
        Kind::Tunnel { early } => {
            tunnel.greet(b"HTTP/1.1 200 Connection established\r\n\r\n");
            tunnel.guard(host);
            (early, Vec::new())
        }
        Kind::Request { head, body, left } => {
            tunnel.limit(left);
            (head, body)
        }
    };
    for bytes in [first, second] {
        if !bytes.is_empty()
            && let Err(why) = tunnel.send(channel, &bytes)?
        {
            return Ok(Err(why));
        }
    }
    Ok(Ok(()))
}

impl Arriving {
    /// Reads on; the head once it is complete.
    fn read(&mut self) -> Result<Option<Head>, HeadError> {
        let mut chunk = [0; 4096];
        loop {
            match rustix::io::read(self.socket.as_fd(), &mut chunk) {
                Ok(0) => return Err(HeadError::Cut),
                Ok(got) => {
                    self.read.extend_from_slice(chunk.get(..got).unwrap_or_default());
                    if let Some(head) = head::parse(&self.read)? {
                        return Ok(Some(head));
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(_) => return Err(HeadError::Cut),
            }
        }
    }
}

/// Answers in the relay's own name, as far as the program takes it, and closes.
fn answer(socket: &TcpStream, status: u16, why: &str) {
    let phrase = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        411 => "Length Required",
        431 => "Request Header Fields Too Large",
        _ => "Bad Gateway",
    };
    let body = format!("countersign: {why}\n");
    let answer = format!(
        "HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // A program that does not read its answer does without.
    let _ = rustix::io::write(socket, answer.as_bytes());
}

#[cfg(test)]
mod tests;
