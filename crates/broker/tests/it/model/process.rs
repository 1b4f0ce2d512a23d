//! The real broker as a process, seen from where the monitor sits.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use countersign_wire::broker::to_broker::{Boot, Cancel, CaseEnded, Infer};
use countersign_wire::broker::{Account, FromBroker, ToBroker, from_broker, to_broker};
use countersign_wire::frame;
use countersign_wire::infer::{Answer, Failure, Message, Outcome, Request, Role};

/// A broker that was booted.
pub(crate) struct Broker {
    child: Child,
    socket: UnixStream,
    next: u64,
    /// Where it keeps what was spent; empty for nowhere.
    state: String,
}

/// What came of an inference, with what was said on the way.
#[derive(Debug)]
pub(crate) struct Inferred {
    pub(crate) outcome: Outcome,
    pub(crate) account: Account,
    pub(crate) progress: Vec<u64>,
    pub(crate) alerts: Vec<String>,
}

impl Inferred {
    pub(crate) fn answer(self) -> Answer {
        match self.outcome {
            Outcome::Answer(answer) => answer,
            Outcome::Failure(failure) => panic!("{failure:?}"),
        }
    }

    pub(crate) fn failure(self) -> Failure {
        match self.outcome {
            Outcome::Answer(answer) => panic!("{answer:?}"),
            Outcome::Failure(failure) => failure,
        }
    }
}

impl Broker {
    /// Starts a broker with a configuration (its `schema` line is added) and environment variables by descriptor.
    pub(crate) fn start(configuration: &str, variables: &[(&str, &str)]) -> Self {
        let mut broker = Self::unbooted(variables);
        assert_eq!(broker.boot(configuration), "");
        broker
    }

    /// Starts a broker that knows no configuration yet.
    pub(crate) fn unbooted(variables: &[(&str, &str)]) -> Self {
        let (socket, theirs) = UnixStream::pair().unwrap();
        // Nothing here waits for ever: whoever hangs is a failed test.
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let sealed: File = tempfile::tempfile().unwrap();
        let text: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (&sealed).write_all(text.join("\0").as_bytes()).unwrap();
        // A shell that puts two descriptors where the broker looks for them, and then is the broker.
        let child = Command::new("/bin/sh")
            .args(["-c", "exec \"$0\" 3<&0 4<&1 0</dev/null 1>/dev/null", env!("CARGO_BIN_EXE_countersign-broker")])
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(sealed)
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        Self { child, socket, next: 0, state: String::new() }
    }

    /// The same, with a folder of its own.
    pub(crate) fn start_in(folder: &std::path::Path, configuration: &str, variables: &[(&str, &str)]) -> Self {
        let mut broker = Self::unbooted(variables);
        broker.state = folder.to_str().unwrap().to_owned();
        assert_eq!(broker.boot(configuration), "");
        broker
    }

    /// Boots, again if it must be; what is wrong with the configuration, or nothing.
    pub(crate) fn boot(&mut self, configuration: &str) -> String {
        let gate_key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes().to_vec();
        let configuration = format!("schema: countersign.broker/v1\n{configuration}").into_bytes();
        self.tell(to_broker::Kind::Boot(Boot {
            gate_key,
            epoch: 1,
            configuration,
            state: self.state.clone(),
            print_key: vec![9; 32],
        }));
        loop {
            if let from_broker::Kind::Booted(booted) = self.hear() {
                return booted.error;
            }
        }
    }

    pub(crate) fn tell(&mut self, kind: to_broker::Kind) {
        frame::write(&mut self.socket, &ToBroker { kind: Some(kind) }).unwrap();
    }

    pub(crate) fn hear(&mut self) -> from_broker::Kind {
        loop {
            let message: FromBroker = frame::read(&mut self.socket, frame::FRAME_LIMIT).unwrap();
            match message.kind.unwrap() {
                from_broker::Kind::Known(_) => {}
                kind => return kind,
            }
        }
    }

    /// Begins an inference and does not wait for it; its number.
    pub(crate) fn begin(&mut self, case: &str, secrecy: &str, request: &Request) -> u64 {
        self.next += 1;
        let infer = Infer {
            id: self.next,
            case: case.to_owned(),
            provider: String::new(),
            secrecy: secrecy.to_owned(),
            request: serde_json::to_vec(request).unwrap(),
            ..Infer::default()
        };
        self.tell(to_broker::Kind::Infer(infer));
        self.next
    }

    /// Asks the default provider for a case, with public data.
    pub(crate) fn infer(&mut self, case: &str, request: &Request) -> Inferred {
        let id = self.begin(case, "public", request);
        self.end(id)
    }

    /// Waits for an inference.
    pub(crate) fn end(&mut self, wanted: u64) -> Inferred {
        let (mut progress, mut alerts) = (Vec::new(), Vec::new());
        loop {
            match self.hear() {
                from_broker::Kind::Progress(said) => progress.push(said.bytes),
                from_broker::Kind::Event(event) if event.alert => alerts.push(event.message),
                from_broker::Kind::Inferred(inferred) if inferred.id == wanted => {
                    let outcome = serde_json::from_slice(&inferred.outcome).unwrap();
                    let account = serde_json::from_slice(&inferred.account).unwrap();
                    return Inferred { outcome, account, progress, alerts };
                }
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn cancel(&mut self, id: u64) {
        self.tell(to_broker::Kind::Cancel(Cancel { id }));
    }

    pub(crate) fn case_ended(&mut self, case: &str) {
        self.tell(to_broker::Kind::CaseEnded(CaseEnded { case: case.to_owned(), goes_on: false }));
    }

    /// The most memory that it ever had, in KiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A request with one message of the user.
pub(crate) fn request(said: &str) -> Request {
    let messages = vec![Message { role: Role::User, content: said.to_owned() }];
    Request { messages, schema: None, max_tokens: 100 }
}
