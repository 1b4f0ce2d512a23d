//! What the broker adds to a model call: the same request to the same local server, once by the same HTTP client in this process
//! and once through the real broker, in turns.
//!
//!     cargo bench --package countersign-broker --bench overhead
//!
//! Direct is: connect, send, read the stream to its end. Through the broker is: frame, provider, clearance, budget, redaction,
//! connect, send, read and understand the stream, frame. The server answers at once, so that nothing hides the difference; a
//! real model takes a hundred milliseconds and more.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use command_fds::{CommandFdExt as _, FdMapping};
use countersign_wire::broker::to_broker::{Boot, Infer, Kind};
use countersign_wire::broker::{FromBroker, ToBroker, from_broker};
use countersign_wire::frame;
use countersign_wire::infer::{Message, Outcome, Request, Role};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::json;

const ROUNDS: usize = 1000;
const WARM_UP: usize = 50;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let say = |text: String| drop(writeln!(std::io::stdout(), "{text}"));
    say(format!("{ROUNDS} rounds, in turns                p50 µs    p99 µs"));
    for (what, deltas, prompt) in [("short", 5, 400), ("200 deltas, 32 KiB asked", 200, 32 << 10)] {
        let server = serve(answer(deltas));
        let mut broker = Broker::start(server);
        let asked = request(prompt);
        let body = json!({"model": "m", "stream": true, "messages": asked.messages, "max_tokens": asked.max_tokens});
        let body = Bytes::from(body.to_string());
        let (mut direct, mut through) = (Vec::new(), Vec::new());
        for round in 0..WARM_UP + ROUNDS {
            let begun = Instant::now();
            runtime.block_on(ask(server, body.clone()));
            let first = begun.elapsed();
            let begun = Instant::now();
            broker.ask(&asked);
            let second = begun.elapsed();
            if round >= WARM_UP {
                direct.push(first);
                through.push(second);
            }
        }
        let (direct, through) = (Quantiles::of(direct), Quantiles::of(through));
        say(format!("{what}: direct                 {:>8} {:>8}", direct.p50.as_micros(), direct.p99.as_micros()));
        say(format!("{what}: through the broker     {:>8} {:>8}", through.p50.as_micros(), through.p99.as_micros()));
        let added = through.p50.saturating_sub(direct.p50);
        say(format!("{what}: added to the median    {:>8}", added.as_micros()));
    }
}

/// The direct call: one connection, one exchange, the whole stream.
async fn ask(server: SocketAddr, body: Bytes) {
    let stream = tokio::net::TcpStream::connect(server).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = hyper::Request::post("/v1/chat/completions")
        .header("host", server.to_string())
        .header("content-type", "application/json")
        .header("connection", "close")
        .body(Full::new(body))
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let read = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(read.ends_with(b"[DONE]\n\n"));
    connection.abort();
}

struct Quantiles {
    p50: Duration,
    p99: Duration,
}

impl Quantiles {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |hundredths: usize| *times.get(times.len() * hundredths / 100).unwrap();
        Self { p50: at(50), p99: at(99) }
    }
}

struct Broker {
    child: Child,
    socket: UnixStream,
    next: u64,
}

impl Broker {
    fn start(server: SocketAddr) -> Self {
        let (socket, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign-broker"));
        let mappings = vec![FdMapping { parent_fd: OwnedFd::from(theirs), child_fd: 3 }];
        command.env_clear().stdin(Stdio::null()).fd_mappings(mappings).unwrap();
        let mut broker = Self { child: command.spawn().unwrap(), socket, next: 0 };
        let configuration = json!({
            "schema": "countersign.broker/v1",
            "providers": {"local": {"kind": "openai", "url": format!("http://{server}/v1"), "model": "m", "private": true,
                "prices": {"input_per_million": 3, "output_per_million": 15}}},
            "budget": {"tokens_per_case": 1_000_000_000, "dollars_per_day": 1_000_000},
        });
        let gate_key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes().to_vec();
        broker.tell(Kind::Boot(Boot {
            gate_key,
            epoch: 1,
            configuration: configuration.to_string().into_bytes(),
            state: String::new(),
            print_key: vec![9; 32],
        }));
        let said = broker.hear();
        let error = if let from_broker::Kind::Booted(booted) = said { booted.error } else { format!("{said:?}") };
        assert_eq!(error, "");
        broker
    }

    fn ask(&mut self, request: &Request) {
        self.next += 1;
        let request = serde_json::to_vec(request).unwrap();
        let (case, provider, secrecy) = ("case".to_owned(), String::new(), "public".to_owned());
        self.tell(Kind::Infer(Infer { id: self.next, case, provider, secrecy, request, ..Infer::default() }));
        loop {
            if let from_broker::Kind::Inferred(inferred) = self.hear() {
                let outcome: Outcome = serde_json::from_slice(&inferred.outcome).unwrap();
                assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
                return;
            }
        }
    }

    fn tell(&mut self, kind: Kind) {
        frame::write(&mut self.socket, &ToBroker { kind: Some(kind) }).unwrap();
    }

    fn hear(&mut self) -> from_broker::Kind {
        let message: FromBroker = frame::read(&mut self.socket, frame::FRAME_LIMIT).unwrap();
        message.kind.unwrap()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn request(bytes: usize) -> Request {
    let messages = vec![Message { role: Role::User, content: "word ".repeat(bytes / 5) }];
    Request { messages, schema: None, max_tokens: 1000 }
}

/// A stream of that many deltas, with its head.
fn answer(deltas: usize) -> Vec<u8> {
    let chunk = |delta: serde_json::Value, finish: Option<&str>| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        format!("data: {}\n\n", json!({"id": "chatcmpl-1", "model": "m", "choices": choices}))
    };
    let mut body: String = (0..deltas).map(|_| chunk(json!({"content": "word "}), None)).collect();
    body.push_str(&chunk(json!({}), Some("stop")));
    body.push_str("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n");
    let head = format!("content-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close", body.len());
    format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes()
}

/// Answers every request with the same bytes, one after the other.
fn serve(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            read_request(&mut connection);
            connection.write_all(&answer).unwrap();
        }
    });
    address
}

fn read_request(connection: &mut TcpStream) {
    let mut read = Vec::new();
    let mut buffer = [0; 64 << 10];
    let mut wanted = usize::MAX;
    while read.len() < wanted {
        let count = connection.read(&mut buffer).unwrap();
        read.extend_from_slice(buffer.get(..count).unwrap());
        if wanted == usize::MAX
            && let Some(end) = read.windows(4).position(|w| w == b"\r\n\r\n")
        {
            let head = String::from_utf8_lossy(read.get(..end).unwrap()).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
            wanted = end + 4 + length.trim().parse::<usize>().unwrap();
        }
    }
}
