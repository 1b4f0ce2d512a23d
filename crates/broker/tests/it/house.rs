//! A monitor without the rest of the house: starts the broker, signs permits, and reads what the broker says.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use countersign_plan::confinement::{Limits, Minimum, Owner, Profile, SandboxSpec};
use countersign_plan::digest::Digest;
use countersign_plan::egress::{Egress, HostGrant, HttpGrant, SecretGrant};
use countersign_plan::key::PublicKey;
use countersign_plan::permit::{Claims, Phase};
use countersign_plan::time::Timestamp;
use countersign_wire::broker::to_broker::{self, Kind};
use countersign_wire::broker::{Facts, FromBroker, ToBroker, from_broker};
use countersign_wire::egress::{Ask, Reply, ask, reply};
use countersign_wire::frame::{self, FRAME_LIMIT};
use ed25519_dalek::{Signer as _, SigningKey};
use prost::Message as _;

pub(crate) const EPOCH: u64 = 7;
pub(crate) const CASE: &str = "c1";
/// Gate time of every lease.
pub(crate) const NOW: i64 = 1_000_000;

/// A running broker and the monitor's end of its socket.
pub(crate) struct House {
    pub(crate) child: Child,
    socket: UnixStream,
    next: u64,
    /// What the broker said of its own accord while something else was waited for.
    pub(crate) events: Vec<from_broker::Event>,
}

impl Drop for House {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl House {
    /// A booted broker.
    pub(crate) fn start(configuration: &str, variables: &[(&str, &str)]) -> Self {
        let mut house = Self::bare(variables);
        let booted = house.boot(configuration);
        assert_eq!(booted.error, "");
        house
    }

    /// A broker that knows no gate.
    pub(crate) fn bare(variables: &[(&str, &str)]) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut mappings = vec![FdMapping { parent_fd: OwnedFd::from(theirs), child_fd: 3 }];
        if !variables.is_empty() {
            let memory = rustix::fs::memfd_create("variables", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
            let mut file = File::from(memory);
            for (name, value) in variables {
                write!(file, "{name}={value}\0").unwrap();
            }
            mappings.push(FdMapping { parent_fd: OwnedFd::from(file), child_fd: 4 });
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign-broker"));
        command.env("HTTP_PROXY", "http://127.0.0.1:1").env("SSL_CERT_FILE", "/nonexistent");
        command.stdin(Stdio::null()).fd_mappings(mappings).unwrap();
        let child = command.spawn().unwrap();
        Self { child, socket: ours, next: 1, events: Vec::new() }
    }

    pub(crate) fn boot(&mut self, configuration: &str) -> from_broker::Booted {
        self.boot_in(configuration, "")
    }

    /// A broker with a folder of its own.
    pub(crate) fn boot_in(&mut self, configuration: &str, state: &str) -> from_broker::Booted {
        self.send(Kind::Boot(to_broker::Boot {
            gate_key: key().verifying_key().to_bytes().to_vec(),
            epoch: EPOCH,
            configuration: configuration.as_bytes().to_vec(),
            state: state.to_owned(),
            print_key: vec![9; 32],
        }));
        self.wait(|kind| match kind {
            from_broker::Kind::Booted(booted) => Some(booted.clone()),
            _ => None,
        })
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The monitor goes away.
    pub(crate) fn hang_up(&mut self) {
        self.socket.shutdown(std::net::Shutdown::Both).unwrap();
    }

    pub(crate) fn facts(booted: &from_broker::Booted) -> Facts {
        serde_json::from_slice(&booted.facts).unwrap()
    }

    pub(crate) fn send(&mut self, kind: Kind) {
        frame::write(&mut self.socket, &ToBroker { kind: Some(kind) }).unwrap();
    }

    /// The next message that `wanted` takes; events are kept.
    pub(crate) fn wait<T>(&mut self, wanted: impl Fn(&from_broker::Kind) -> Option<T>) -> T {
        loop {
            let message: FromBroker = frame::read(&mut self.socket, FRAME_LIMIT).unwrap();
            let kind = message.kind.unwrap();
            if let Some(found) = wanted(&kind) {
                return found;
            }
            match kind {
                from_broker::Kind::Event(event) => self.events.push(event),
                from_broker::Kind::Known(_) | from_broker::Kind::Progress(_) => {}
                other => panic!("not waited for: {other:?}"),
            }
        }
    }

    pub(crate) fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A lease under a good permit.
    pub(crate) fn lease(&mut self, egress: Egress) -> u64 {
        let id = self.fresh();
        let spec = spec(egress);
        let claims = claims(&spec, &format!("nonce-{id}"));
        self.send(Kind::Lease(lease(id, &claims, &spec, &key())));
        id
    }

    /// Why a lease was refused, and whether that is a violation.
    pub(crate) fn refused(&mut self, lease: to_broker::Lease) -> (bool, String) {
        self.send(Kind::Lease(lease));
        self.wait(|kind| match kind {
            from_broker::Kind::LeaseRefused(refused) => Some((refused.violation, refused.message.clone())),
            _ => None,
        })
    }

    pub(crate) fn tell(&mut self, lease: u64, id: u64, kind: ask::Kind) {
        let ask = Ask { id, kind: Some(kind) }.encode_to_vec();
        self.send(Kind::Ask(to_broker::Ask { lease, ask }));
    }

    /// The next reply, and the violation that the monitor is told of.
    pub(crate) fn reply(&mut self) -> (u64, reply::Kind, String) {
        self.wait(|kind| match kind {
            from_broker::Kind::Reply(reply) => {
                let read = Reply::decode(reply.reply.as_slice()).unwrap();
                Some((read.id, read.kind.unwrap(), reply.violation.clone()))
            }
            _ => None,
        })
    }

    /// Asks and waits for the reply.
    pub(crate) fn ask(&mut self, lease: u64, kind: ask::Kind) -> (reply::Kind, String) {
        let id = self.fresh();
        self.tell(lease, id, kind);
        let (of, kind, violation) = self.reply();
        assert_eq!(of, id);
        (kind, violation)
    }

    /// Fetches, and expects an answer.
    pub(crate) fn fetched(&mut self, lease: u64, fetch: ask::Fetch) -> reply::Fetched {
        match self.ask(lease, ask::Kind::Fetch(fetch)) {
            (reply::Kind::Fetched(fetched), violation) => {
                assert_eq!(violation, "");
                fetched
            }
            other => panic!("{other:?}"),
        }
    }

    /// Asks, and expects a refusal.
    pub(crate) fn refusal(&mut self, lease: u64, kind: ask::Kind) -> reply::Refused {
        match self.ask(lease, kind) {
            (reply::Kind::Refused(refused), violation) => {
                assert_eq!(refused.violation, !violation.is_empty(), "{refused:?}: {violation}");
                refused
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn key() -> SigningKey {
    SigningKey::from_bytes(&[5; 32])
}

pub(crate) fn spec(egress: Egress) -> SandboxSpec {
    SandboxSpec {
        profile: Profile::None,
        read: vec![],
        write: vec![],
        run: vec![],
        links: vec![],
        read_only: vec![],
        masked: vec![],
        cwd: "/".to_owned(),
        loopback: false,
        owner: Owner { uid: 1, gid: 1 },
        limits: Limits::PROGRAM,
        minimum: Minimum::Full,
        egress,
    }
}

pub(crate) fn claims(spec: &SandboxSpec, nonce: &str) -> Claims {
    Claims {
        case: CASE.parse().unwrap(),
        plan_digest: Digest::of(b"plan"),
        version: 1,
        step: "s1".parse().unwrap(),
        attempt: 1,
        phase: Phase::Act,
        tool: "http_request".parse().unwrap(),
        tool_digest: Digest::of(b"tool"),
        args_digest: Digest::of(b"args"),
        spec_digest: spec.digest().unwrap(),
        epoch: EPOCH,
        issued_at: Timestamp::from_millis(NOW - 1000),
        expires_at: Timestamp::from_millis(NOW + 1000),
        nonce: nonce.to_owned(),
    }
}

pub(crate) fn lease(id: u64, claims: &Claims, spec: &SandboxSpec, key: &SigningKey) -> to_broker::Lease {
    let (payload, bytes) = claims.to_sign().unwrap();
    let public = PublicKey::from_bytes(&key.verifying_key().to_bytes()).unwrap();
    let envelope = Claims::envelope(payload, public.id(), key.sign(&bytes).to_bytes());
    to_broker::Lease {
        id,
        case: CASE.to_owned(),
        permit: envelope.to_json(),
        spec: countersign_plan::canonical::of(spec).unwrap(),
        now: NOW,
    }
}

/// A grant of one request to a server on the loopback interface.
pub(crate) fn http(method: &str, port: u16, path: &str) -> HttpGrant {
    let at = HostGrant { host: "127.0.0.1".to_owned(), port, private: true };
    HttpGrant { method: method.to_owned(), tls: false, at, path: path.to_owned() }
}

pub(crate) fn handle(name: &str, hosts: &[&str]) -> SecretGrant {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    SecretGrant { name: name.parse().unwrap(), hosts, exposed: false }
}

pub(crate) fn requests(http: Vec<HttpGrant>) -> Egress {
    Egress { http, ..Egress::default() }
}

pub(crate) fn get(url: &str) -> ask::Fetch {
    ask::Fetch { method: "GET".to_owned(), url: url.to_owned(), keep: 1 << 20, ..ask::Fetch::default() }
}

pub(crate) fn post(url: &str, body: &[u8]) -> ask::Fetch {
    ask::Fetch { method: "POST".to_owned(), body: Some(body.to_vec()), ..get(url) }
}

pub(crate) fn header(name: &str, value: &str, secret: Option<&str>) -> ask::Header {
    ask::Header { name: name.to_owned(), value: value.to_owned(), secret: secret.map(str::to_owned) }
}

pub(crate) fn bearer(secret: &str) -> Option<Vec<u8>> {
    Some(format!(r#"{{"bearer":{{"secret":"{secret}"}}}}"#).into_bytes())
}
