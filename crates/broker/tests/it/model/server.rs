//! A model server on loopback that says what it is told to, byte by byte.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does with one connection.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    pieces: Vec<Vec<u8>>,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The body ends as HTTP has it.
    Whole,
    /// The connection is closed in the middle.
    Cut,
    /// Nothing more comes.
    Silence,
    /// Nothing comes at all, not even a head.
    Mute,
    /// The last piece comes again and again, until the other side has enough.
    Endless,
}

impl Reply {
    pub(crate) fn stream(body: &[u8]) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream".into())],
            pieces: vec![body.to_vec()],
            end: End::Whole,
        }
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        let headers = vec![("content-type".into(), "application/json".into())];
        Self { status, headers, pieces: vec![body.as_bytes().to_vec()], end: End::Whole }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(n, _)| n != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The body in pieces of that many bytes, each a chunk and a segment of its own.
    pub(crate) fn pieces(mut self, bytes: usize) -> Self {
        self.pieces = self.pieces.concat().chunks(bytes).map(<[u8]>::to_vec).collect();
        self
    }

    pub(crate) fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The server; it lives as long as the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    sent: Arc<Mutex<usize>>,
}

impl Server {
    /// Gives `replies` in order, the last one for ever.
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sent = Arc::new(Mutex::new(0));
        let server = Self { address, replies: replies.clone(), seen: seen.clone(), sent: sent.clone() };
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (replies, seen, sent) = (replies.clone(), seen.clone(), sent.clone());
                std::thread::spawn(move || {
                    let mut connection = connection.unwrap();
                    connection.set_nodelay(true).unwrap();
                    let Some(request) = read(&mut connection) else { return };
                    seen.lock().unwrap().push(request);
                    let reply = {
                        let mut replies = replies.lock().unwrap();
                        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
                    };
                    // The other side may go away in the middle; that is often the test.
                    drop(write(&mut connection, &reply.unwrap(), &sent));
                });
            }
        });
        server
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Bytes of bodies that the other side took.
    pub(crate) fn sent(&self) -> usize {
        *self.sent.lock().unwrap()
    }

    pub(crate) fn then(&self, reply: Reply) {
        *self.replies.lock().unwrap() = [reply].into();
    }
}

fn read(connection: &mut TcpStream) -> Option<Seen> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let lower = head.to_ascii_lowercase();
    let length =
        lower.lines().find_map(|line| line.strip_prefix("content-length:")).map_or(0, |l| l.trim().parse().unwrap());
    let mut body = vec![0; length];
    connection.read_exact(&mut body).ok()?;
    Some(Seen { head, body: String::from_utf8(body).unwrap() })
}

fn write(connection: &mut TcpStream, reply: &Reply, sent: &Mutex<usize>) -> std::io::Result<()> {
    if reply.end == End::Mute {
        std::thread::sleep(Duration::from_secs(3600));
    }
    let mut head = format!("HTTP/1.1 {} Said\r\ntransfer-encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    connection.write_all(format!("{head}\r\n").as_bytes())?;
    let mut chunk = |piece: &[u8]| {
        connection.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
        connection.write_all(piece)?;
        connection.write_all(b"\r\n")?;
        *sent.lock().unwrap() += piece.len();
        std::io::Result::Ok(())
    };
    for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
        chunk(piece)?;
    }
    match reply.end {
        End::Whole => connection.write_all(b"0\r\n\r\n"),
        End::Cut | End::Mute => Ok(()),
        End::Silence => {
            // Until the other side goes away.
            connection.read(&mut [0]).map(drop)
        }
        End::Endless => loop {
            chunk(reply.pieces.last().unwrap())?;
        },
    }
}
