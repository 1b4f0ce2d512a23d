//! One lease at work: takes the step's asks, hands each to a task, and takes all of them down when the lease ends.

use std::sync::Arc;
use std::time::Duration;

use countersign_secret::handover::seal;
use countersign_wire::broker::FromBroker;
use countersign_wire::egress::{Ask, EGRESS_LIMIT, ask, reply};
use prost::Message as _;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::grant::Grant;
use crate::lease::Admitted;
use crate::outbox::Outbox;
use crate::refusal::Refusal;
use crate::serve::Parts;
use crate::stream::{Said, Streams};
use crate::{fetch, mail, message};

/// The most asks of one step that are under way.
const ASKS: usize = 32;
/// The most tasks of one step: asks, streams, and refusals that wait to be read.
const TASKS: usize = 512;
/// Bytes between a stream and an MCP client.
const PIPE: usize = 64 << 10;

/// A lease at work. Dropping it ends every request and connection of the step.
pub(crate) struct Desk {
    grant: Arc<Grant>,
    parts: Arc<Parts>,
    outbox: Outbox,
    streams: Streams,
    tasks: JoinSet<()>,
    room: Arc<Semaphore>,
    over: Instant,
}

/// The id of an ask that nobody will meet; 0 if it cannot even be read.
pub(crate) fn id_of(ask: &[u8]) -> u64 {
    Ask::decode(ask).map_or(0, |ask| ask.id)
}

impl Desk {
    /// Opens a desk for a lease that was admitted.
    pub(crate) fn new(lease: u64, admitted: Admitted, parts: Arc<Parts>, queue: mpsc::Sender<FromBroker>) -> Self {
        let grant = Arc::new(admitted.grant);
        let outbox = Outbox::new(lease, queue, Arc::clone(&parts.secrets), parts.events.clone(), Arc::clone(&grant));
        // A step that runs for months would overflow the clock; a day's lease ends such a one.
        let over = Instant::now() + admitted.lasts.min(Duration::from_secs(86_400));
        Self {
            grant,
            parts,
            outbox,
            streams: Streams::default(),
            tasks: JoinSet::new(),
            room: Arc::new(Semaphore::new(ASKS)),
            over,
        }
    }

    /// The case.
    pub(crate) fn case(&self) -> &str {
        self.grant.case()
    }

    /// Whether its time is over.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.over
    }

    /// Takes an ask.
    pub(crate) fn ask(&mut self, bytes: &[u8]) {
        while self.tasks.try_join_next().is_some() {}
        if self.tasks.len() >= TASKS {
            // A step that asks faster than its answers are taken gets none.
            return;
        }
        let refusal = if bytes.len() > EGRESS_LIMIT {
            Refusal::violation(format!("an ask has at most {EGRESS_LIMIT} bytes"))
        } else {
            match Ask::decode(bytes) {
                Ok(Ask { id, kind: Some(kind) }) => return self.take(id, kind),
                Ok(Ask { kind: None, .. }) => Refusal::violation("an ask of a kind that the broker does not know"),
                Err(error) => Refusal::violation(format!("no ask: {error}")),
            }
        };
        self.refuse(id_of(bytes), refusal);
    }

    fn take(&mut self, id: u64, kind: ask::Kind) {
        if self.is_over() {
            return self.refuse(id, Refusal::refused("the time of the step is over"));
        }
        match kind {
            ask::Kind::Data(bytes) => self.said(id, Said::Data(bytes)),
            ask::Kind::Shut(_) => self.said(id, Said::Shut),
            ask::Kind::Took(count) => {
                if let Err(refusal) = self.streams.took(id, count) {
                    self.refuse(id, refusal);
                }
            }
            ask::Kind::Open(open) => self.open(id, open),
            ask::Kind::Mcp(call) => self.mcp(id, call),
            ask::Kind::Reveal(ask::Reveal { name, key }) => self.work(id, async move |parts, grant, outbox| {
                grant.exposed(&name)?;
                let value = parts.secrets.value(&name, grant.case()).await?;
                let sealed = seal(&key, &name, value.bytes()).map_err(|error| Refusal::refused(error.to_string()))?;
                outbox.note(false, &format!("the tool was shown the value of secret `{name}`")).await;
                Ok(reply::Kind::Revealed(sealed))
            }),
            ask::Kind::Fetch(fetch) => self.work(id, async move |parts, grant, outbox| {
                let fetched = fetch::fetch(&parts.client, &parts.secrets, &grant, fetch).await?;
                if let Some((alert, note)) = fetched.note {
                    outbox.note(alert, &note).await;
                }
                Ok(reply::Kind::Fetched(fetched.answer))
            }),
            ask::Kind::Mail(mail) => self.work(id, async move |parts, grant, _| {
                let message_id = mail::send(&parts, &grant, mail).await?;
                Ok(reply::Kind::Sent(reply::Sent { message_id }))
            }),
            ask::Kind::Message(said) => self.work(id, async move |parts, grant, _| {
                let message_id = message::send(&parts, &grant, said).await?;
                Ok(reply::Kind::Sent(reply::Sent { message_id }))
            }),
        }
    }

    /// Does something that waits, in a task of its own, and says what came of it.
    fn work<W, F>(&mut self, id: u64, work: W)
    where
        W: FnOnce(Arc<Parts>, Arc<Grant>, Outbox) -> F + Send + 'static,
        F: Future<Output = Result<reply::Kind, Refusal>> + Send + 'static,
    {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            return self.refuse(id, Refusal::refused(format!("at most {ASKS} asks of a step are under way")));
        };
        let (parts, grant, outbox) = (Arc::clone(&self.parts), Arc::clone(&self.grant), self.outbox.clone());
        let over = self.over;
        self.tasks.spawn(async move {
            let done = async {
                parts.secrets.surveyed().await;
                work(Arc::clone(&parts), grant, outbox.clone()).await
            };
            let outcome = tokio::time::timeout_at(over, done).await;
            let late = |_| Err(Refusal::indeterminate("the time of the step is over"));
            outbox.say(id, outcome.unwrap_or_else(late)).await;
            drop(room);
        });
    }

    fn open(&mut self, id: u64, open: ask::Open) {
        let granted = self.grant.connect(&open.host, open.port).and_then(|at| Ok((at, self.streams.begin(id)?)));
        let ((port, reach), begun) = match granted {
            Ok(granted) => granted,
            Err(refusal) => return self.refuse(id, refusal),
        };
        let (parts, outbox, over) = (Arc::clone(&self.parts), self.outbox.clone(), self.over);
        self.tasks.spawn(async move {
            let carry = async {
                match parts.client.dial(&open.host, port, reach).await {
                    Ok(far) => {
                        if outbox.pass(id, reply::Kind::Opened(reply::Opened {})).await {
                            begun.carry(&outbox, far).await;
                        }
                    }
                    Err(error) => outbox.say(id, Err(Refusal::exchange(&error, true))).await,
                }
            };
            if tokio::time::timeout_at(over, carry).await.is_err() {
                outbox.say(id, Err(Refusal::refused("the time of the step is over"))).await;
            }
        });
    }

    fn mcp(&mut self, id: u64, call: ask::Mcp) {
        if call.tool.is_empty() && call.stdio {
            return self.describe(id, call);
        }
        let granted = self.grant.mcp(&call.server, &call.tool, call.stdio).cloned();
        let begun = granted.and_then(|grant| Ok((grant, call.stdio.then(|| self.streams.begin(id)).transpose()?)));
        let (granted, begun) = match begun {
            Ok(begun) => begun,
            Err(refusal) => return self.refuse(id, refusal),
        };
        let streaming = self.outbox.clone();
        self.work(id, async move |parts, grant, _| {
            if parts.secrets.redactor().finds(&call.arguments) {
                let refusal = Refusal::refused("the arguments hold the value of a secret: the tool was not called");
                return Err(Refusal { alert: true, ..refusal });
            }
            let Some(begun) = begun else {
                return Ok(parts.mcp.call(grant.case(), &granted, call, None).await);
            };
            let (near, far) = tokio::io::duplex(PIPE);
            tokio::select! {
                outcome = parts.mcp.call(grant.case(), &granted, call, Some(near)) => Ok(outcome),
                () = begun.carry(&streaming, far) => {
                    Err(Refusal::indeterminate("the server in the step ended before it answered"))
                }
            }
        });
    }

    /// What the tools of a server are that runs in the step.
    fn describe(&mut self, id: u64, call: ask::Mcp) {
        let begun = match self.grant.describe(&call.server).and_then(|()| self.streams.begin(id)) {
            Ok(begun) => begun,
            Err(refusal) => return self.refuse(id, refusal),
        };
        let streaming = self.outbox.clone();
        self.work(id, async move |parts, _, _| {
            let (near, far) = tokio::io::duplex(PIPE);
            tokio::select! {
                described = parts.mcp.describe_inside(&call.server, near) => {
                    let result = described.map_err(Refusal::refused)?;
                    Ok(reply::Kind::Result(reply::ToolResult { result, failed: false }))
                }
                () = begun.carry(&streaming, far) => Err(Refusal::refused("the server ended before it answered")),
            }
        });
    }

    fn said(&mut self, id: u64, said: Said) {
        if let Err(refusal) = self.streams.hear(id, said) {
            self.refuse(id, refusal);
        }
    }

    fn refuse(&mut self, id: u64, refusal: Refusal) {
        let outbox = self.outbox.clone();
        self.tasks.spawn(async move { outbox.say(id, Err(refusal)).await });
    }
}
