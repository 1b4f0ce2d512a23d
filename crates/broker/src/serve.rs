//! The monitor's requests. What decides is synchronous and happens here, in the order in which the requests came; what waits for
//! somebody outside happens in a task that dies with its lease, its inference or the broker.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use countersign_plan::key::PublicKey;
use countersign_wire::broker::to_broker::{self, Kind};
use countersign_wire::broker::{Facts, FromBroker, ToBroker, from_broker};
use countersign_wire::frame::FrameError;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use crate::channel;
use crate::configuration::Configuration;
use crate::confine::Needs;
use crate::desk::Desk;
use crate::events::Events;
use crate::http::Client;
use crate::lease::Admission;
use crate::mcp::Servers;
use crate::mcp::quarantine::Quarantine;
use crate::model::{Models, Spent};
use crate::outbox;
use crate::refusal::Refusal;
use crate::resolve::System;
use crate::secrets::{Environment, Out, Prints, Secrets};

/// Messages to the monitor that wait.
const QUEUE: usize = 64;
/// The most leases at a time.
const LEASES: usize = 1024;
/// The most bytes of a file with certificate authorities.
const AUTHORITIES: u64 = 4 << 20;
/// How long credentials are taken back when the broker ends; the monitor waits a little longer.
const FAREWELL: Duration = Duration::from_secs(15);

/// Serves the monitor until it closes the socket.
///
/// # Errors
/// The socket broke, or carried something that is no message.
pub(crate) async fn serve(
    monitor: UnixStream,
    environment: Environment,
    granted: Needs,
    first: Kind,
) -> anyhow::Result<()> {
    let (mut reader, writer) = tokio::net::UnixStream::from_std(monitor)?.into_split();
    let (queue, messages) = mpsc::channel(QUEUE);
    let writing = tokio::spawn(channel::write_all(writer, messages));
    let mut broker = Broker {
        queue,
        environment,
        admission: None,
        parts: None,
        leases: BTreeMap::new(),
        inferring: BTreeMap::new(),
        leaving: BTreeMap::new(),
        spent: Spent::default(),
        prints: None,
        quarantine: Quarantine::default(),
        out: Out::default(),
        tasks: JoinSet::new(),
        granted,
    };
    broker.on(first);
    let outcome = loop {
        match channel::read::<ToBroker>(&mut reader).await {
            Ok(ToBroker { kind: Some(kind) }) => broker.on(kind),
            Ok(ToBroker { kind: None }) => break Err(FrameError::Unknown.into()),
            Err(FrameError::Closed) => break Ok(()),
            Err(error) => break Err(error.into()),
        }
    };
    broker.farewell().await;
    writing.abort();
    outcome
}

struct Broker {
    queue: mpsc::Sender<FromBroker>,
    environment: Environment,
    /// Whose permits count; permits that were spent stay spent under the next configuration.
    admission: Option<Admission>,
    /// Nothing is reachable without.
    parts: Option<Arc<Parts>>,
    leases: BTreeMap<u64, Desk>,
    inferring: BTreeMap<u64, AbortHandle>,
    /// Cases whose credentials are being taken back: no model is asked for them meanwhile.
    leaving: BTreeMap<String, watch::Receiver<()>>,
    /// What models cost so far; it outlives configurations.
    spent: Spent,
    /// Values that were known once; they stay so under the next configuration.
    prints: Option<Prints>,
    /// Tools that changed; no configuration lets them out.
    quarantine: Quarantine,
    /// Credentials that were made and not taken back.
    out: Out,
    tasks: JoinSet<()>,
    /// What this process may touch, for good.
    granted: Needs,
}

/// What one configuration makes reachable; the tasks of all leases share it.
pub(crate) struct Parts {
    pub(crate) configuration: Configuration,
    pub(crate) client: Arc<Client>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) models: Models,
    pub(crate) mcp: Servers,
    pub(crate) events: Events,
    /// Certificate authorities beyond the public ones, as PEM.
    pub(crate) authorities: Option<Vec<u8>>,
}

impl Broker {
    fn on(&mut self, kind: Kind) {
        while self.tasks.try_join_next().is_some() {}
        match kind {
            Kind::Boot(boot) => self.boot(&boot),
            Kind::Lease(lease) => self.lease(&lease),
            Kind::Ask(ask) => match self.leases.get_mut(&ask.lease) {
                Some(desk) => desk.ask(&ask.ask),
                None => {
                    // Which lease it is, the monitor says: a step can be late, but not ask under another's.
                    let refusal = Refusal::refused("the step has no lease, or none any more");
                    self.say(outbox::refused(ask.lease, crate::desk::id_of(&ask.ask), &refusal));
                }
            },
            Kind::Release(release) => drop(self.leases.remove(&release.lease)),
            Kind::Infer(infer) => self.infer(infer),
            Kind::Cancel(cancel) => {
                if let Some(task) = self.inferring.remove(&cancel.id) {
                    task.abort();
                }
            }
            Kind::CaseEnded(ended) => self.case_ended(ended),
            Kind::Describe(describe) => self.describe(describe),
            Kind::Changes(changes) => self.changes(changes),
        }
    }

    fn boot(&mut self, boot: &to_broker::Boot) {
        // Whatever an earlier configuration or epoch allowed is over.
        self.leases.clear();
        for (_, task) in std::mem::take(&mut self.inferring) {
            task.abort();
        }
        if let Some(before) = self.parts.take() {
            self.tasks.spawn(async move { drop(before.secrets.all_ended().await) });
        }
        let booted = match self.reopen(boot) {
            Ok(facts) => from_broker::Booted { facts, error: String::new() },
            Err(error) => from_broker::Booted { facts: Vec::new(), error },
        };
        let (queue, parts) = (self.queue.clone(), self.parts.clone());
        self.tasks.spawn(async move {
            if let Some(parts) = parts {
                parts.secrets.surveyed().await;
                let back = Arc::clone(&parts.secrets);
                let events = parts.events.clone();
                tokio::spawn(async move {
                    for failed in back.take_back().await {
                        events.note("", &failed).await;
                    }
                });
            }
            drop(queue.send(FromBroker { kind: Some(from_broker::Kind::Booted(booted)) }).await);
        });
    }

    /// Takes key, epoch and configuration; returns what the monitor may know of it.
    fn reopen(&mut self, boot: &to_broker::Boot) -> Result<Vec<u8>, String> {
        if !Needs::of(boot).within(&self.granted) {
            let what =
                "the configuration names what this broker was not started with; start it again (`countersign down`)";
            return Err(what.to_owned());
        }
        let earlier = self.admission.take();
        let key: [u8; 32] = boot.gate_key.as_slice().try_into().map_err(|_| "the gate's key has 32 bytes")?;
        let gate = PublicKey::from_bytes(&key).map_err(|error| format!("the gate's key: {error}"))?;
        let same = earlier.filter(|earlier| earlier.is_of(gate, boot.epoch));
        self.admission = Some(same.unwrap_or(Admission::new(gate, boot.epoch)));
        self.spent.open(&boot.state)?;
        self.quarantine.open(&boot.state)?;
        self.out.open(&boot.state)?;
        let key = boot.print_key.as_slice().try_into().map_err(|_| "the key of fingerprints has 32 bytes")?;
        let prints = self.prints.get_or_insert_with(|| Prints::new(key, self.queue.clone())).clone();
        let lasting = (self.spent.clone(), prints, self.quarantine.clone(), self.out.clone());
        let parts = Parts::open(&boot.configuration, self.environment.clone(), &self.queue, lasting)?;
        let facts = Facts { confinement: self.granted.say(), ..parts.facts() };
        let facts = serde_json::to_vec(&facts).map_err(|error| error.to_string())?;
        self.parts = Some(Arc::new(parts));
        Ok(facts)
    }

    fn lease(&mut self, lease: &to_broker::Lease) {
        let refused = |violation, message: String| {
            let refused = from_broker::LeaseRefused { lease: lease.id, violation, message };
            FromBroker { kind: Some(from_broker::Kind::LeaseRefused(refused)) }
        };
        let (Some(admission), Some(parts)) = (&mut self.admission, &self.parts) else {
            return self.say(refused(false, "the broker has no configuration that holds".to_owned()));
        };
        self.leases.retain(|_, desk| !desk.is_over());
        if self.leases.contains_key(&lease.id) || self.leases.len() >= LEASES {
            return self.say(refused(false, "the number is taken, or there are too many leases".to_owned()));
        }
        match admission.admit(lease) {
            Ok(admitted) => {
                // The gate permits a step of it: if it had ended, it was resumed.
                parts.secrets.case_lives(&lease.case);
                let desk = Desk::new(lease.id, admitted, Arc::clone(parts), self.queue.clone());
                self.leases.insert(lease.id, desk);
            }
            Err(error) => self.say(refused(error.is_violation(), error.to_string())),
        }
    }

    fn infer(&mut self, infer: to_broker::Infer) {
        self.inferring.retain(|_, task| !task.is_finished());
        let queue = self.queue.clone();
        let id = infer.id;
        let parts = self.parts.clone();
        let leaving = self.leaving.get(&infer.case).cloned();
        let task = self.tasks.spawn(async move {
            if let Some(mut leaving) = leaving {
                // Nothing is ever said: it ends when the credentials are taken back.
                drop(leaving.changed().await);
            }
            crate::inference::infer(parts, &infer, queue).await;
        });
        if let Some(earlier) = self.inferring.insert(id, task) {
            earlier.abort();
        }
    }

    fn case_ended(&mut self, to_broker::CaseEnded { case, goes_on }: to_broker::CaseEnded) {
        self.leases.retain(|_, desk| desk.case() != case);
        self.leaving.retain(|_, leaving| leaving.has_changed().is_ok());
        if let Some(parts) = self.parts.clone() {
            let (done, leaving) = watch::channel(());
            self.leaving.insert(case.clone(), leaving);
            self.tasks.spawn(async move {
                let _until_here = done;
                if !goes_on {
                    parts.models.case_ended(&case);
                }
                parts.mcp.case_ended(&case).await;
                for problem in parts.secrets.case_ended(&case).await {
                    parts.events.alert(&case, &problem).await;
                }
            });
        }
    }

    fn describe(&mut self, describe: to_broker::Describe) {
        let queue = self.queue.clone();
        let parts = self.parts.clone();
        self.tasks.spawn(async move {
            let outcome = match &parts {
                Some(parts) => {
                    parts.secrets.surveyed().await;
                    parts.mcp.describe(&describe.server).await
                }
                None => Err("the broker has no configuration that holds".to_owned()),
            };
            let (tools, error) = match outcome {
                Ok(tools) => (tools, String::new()),
                Err(error) => (Vec::new(), error),
            };
            let error = parts.map_or(error.clone(), |parts| parts.secrets.redactor().redact_text(&error));
            let described = from_broker::Described { id: describe.id, tools, error };
            drop(queue.send(FromBroker { kind: Some(from_broker::Kind::Described(described)) }).await);
        });
    }

    fn changes(&mut self, changes: to_broker::Changes) {
        let queue = self.queue.clone();
        let parts = self.parts.clone();
        self.tasks.spawn(async move {
            let outcome = match &parts {
                Some(parts) => {
                    parts.secrets.surveyed().await;
                    crate::changes::read(parts, &changes.service).await
                }
                None => Err("the broker has no configuration that holds".to_owned()),
            };
            let (document, error) = match outcome {
                Ok(document) => (document, String::new()),
                Err(error) => (Vec::new(), error),
            };
            let error = parts.map_or(error.clone(), |parts| parts.secrets.redactor().redact_text(&error));
            let read = from_broker::ChangesRead { id: changes.id, document, error };
            drop(queue.send(FromBroker { kind: Some(from_broker::Kind::ChangesRead(read)) }).await);
        });
    }

    /// Says something without waiting for the monitor: it may itself be waiting to be read.
    fn say(&mut self, message: FromBroker) {
        let queue = self.queue.clone();
        self.tasks.spawn(async move { drop(queue.send(message).await) });
    }

    async fn farewell(self) {
        drop(self.leases);
        if let Some(parts) = self.parts {
            // What cannot be taken back in time expires by itself.
            drop(tokio::time::timeout(FAREWELL, parts.secrets.all_ended()).await);
        }
    }
}

impl Parts {
    fn open(
        configuration: &[u8],
        environment: Environment,
        queue: &mpsc::Sender<FromBroker>,
        (spent, prints, quarantine, out): (Spent, Prints, Quarantine, Out),
    ) -> Result<Self, String> {
        let configuration = Configuration::read(configuration).map_err(|error| error.to_string())?;
        let authorities = configuration.authorities.as_deref().map(authorities).transpose()?;
        let resolver = System::new(configuration.hosts.clone());
        let client = Client::new(Arc::new(resolver), authorities.as_deref());
        let client = Arc::new(client.map_err(|error| format!("/authorities: {error}"))?);
        let secrets = Arc::new(Secrets::new(&configuration, environment, Arc::clone(&client), prints, out));
        let events = Events::new(queue.clone());
        let models = Models::new(&configuration, Arc::clone(&secrets), Arc::clone(&client), events.clone(), spent)?;
        let mcp = Servers::new(&configuration, Arc::clone(&secrets), Arc::clone(&client), events.clone(), quarantine)?;
        Ok(Self { configuration, client, secrets, models, mcp, events, authorities })
    }

    /// What the monitor may know.
    fn facts(&self) -> Facts {
        Facts {
            providers: self.models.facts(),
            secrets: self.configuration.secrets.keys().cloned().collect(),
            own: self.configuration.own_secrets(),
            mcp: self.mcp.facts(),
            mail: self.configuration.mail.is_some(),
            channels: self.configuration.channels.keys().cloned().collect(),
            confinement: String::new(),
        }
    }
}

fn authorities(path: &str) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    let mut pem = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(AUTHORITIES).read_to_end(&mut pem));
    read.map(|_| pem).map_err(|error| format!("/authorities: {error}"))
}
