//! Servers on the loopback interface, as honest or hostile as a test needs them.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a server got.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A server that notes what it gets.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers each request with what `answer` writes.
    pub(crate) fn start(answer: impl Fn(&Seen, &mut dyn Write) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (noted, answer) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let (noted, answer) = (Arc::clone(&noted), Arc::clone(&answer));
                thread::spawn(move || {
                    let Some(request) = read(&mut BufReader::new(&socket)) else { return };
                    noted.lock().unwrap().push(request.clone());
                    answer(&request, &mut &socket);
                });
            }
        });
        Self { address, seen }
    }

    /// Answers every request with the same bytes.
    pub(crate) fn saying(answer: &str) -> Self {
        let answer = answer.to_owned();
        Self::start(move |_, out| drop(out.write_all(answer.as_bytes())))
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

/// `200 OK` with a body.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A redirect.
pub(crate) fn redirect(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}

fn read(from: &mut BufReader<&TcpStream>) -> Option<Seen> {
    let mut seen = Seen::default();
    from.read_line(&mut seen.line).ok().filter(|got| *got > 0)?;
    seen.line = seen.line.trim_end().to_owned();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        seen.headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    seen.body = vec![0; length];
    from.read_exact(&mut seen.body).ok()?;
    Some(seen)
}
