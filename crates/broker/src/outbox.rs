//! Replies for one step child, without secrets.

use std::sync::Arc;

use countersign_wire::broker::{FromBroker, from_broker};
use countersign_wire::egress::{EGRESS_LIMIT, Reply, ask, reply};
use prost::Message as _;
use tokio::sync::mpsc;

use crate::events::Events;
use crate::grant::Grant;
use crate::refusal::{Meaning, Refusal};
use crate::secrets::Secrets;
use countersign_secret::redact::Redactor;

/// The way back to one step child. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Outbox {
    lease: u64,
    queue: mpsc::Sender<FromBroker>,
    secrets: Arc<Secrets>,
    events: Events,
    grant: Arc<Grant>,
}

impl Outbox {
    /// The way back to the step child of `lease`.
    pub(crate) const fn new(
        lease: u64,
        queue: mpsc::Sender<FromBroker>,
        secrets: Arc<Secrets>,
        events: Events,
        grant: Arc<Grant>,
    ) -> Self {
        Self { lease, queue, secrets, events, grant }
    }

    /// Says what came of an ask.
    pub(crate) async fn say(&self, id: u64, outcome: Result<reply::Kind, Refusal>) {
        match outcome {
            Ok(kind) => {
                let kind = clean(&self.secrets.redactor(), kind);
                if let Some(message) = packed(self.lease, id, kind, String::new()) {
                    drop(self.queue.send(message).await);
                } else {
                    let refusal = Refusal::indeterminate(format!("the answer is longer than {EGRESS_LIMIT} bytes"));
                    self.refuse(id, refusal).await;
                }
            }
            Err(refusal) => self.refuse(id, refusal).await,
        }
    }

    /// Passes on as it is what a program and its peer say to each other, and a value that the step may see.
    pub(crate) async fn pass(&self, id: u64, kind: reply::Kind) -> bool {
        match packed(self.lease, id, kind, String::new()) {
            Some(message) => self.queue.send(message).await.is_ok(),
            None => false,
        }
    }

    /// Tells people.
    pub(crate) async fn note(&self, alert: bool, message: &str) {
        let message = format!("step {}: {}", self.grant.step(), self.secrets.redactor().redact_text(message));
        if alert {
            self.events.alert(self.grant.case(), &message).await;
        } else {
            self.events.note(self.grant.case(), &message).await;
        }
    }

    async fn refuse(&self, id: u64, mut refusal: Refusal) {
        refusal.message = self.secrets.redactor().redact_text(&refusal.message);
        if refusal.alert {
            self.note(true, &refusal.message).await;
        }
        drop(self.queue.send(refused(self.lease, id, &refusal)).await);
    }
}

/// A refusal as the monitor gets it.
pub(crate) fn refused(lease: u64, id: u64, refusal: &Refusal) -> FromBroker {
    let violation = if refusal.meaning == Meaning::Violation { refusal.message.clone() } else { String::new() };
    let reply = Reply { id, kind: Some(refusal.reply()) }.encode_to_vec();
    FromBroker { kind: Some(from_broker::Kind::Reply(from_broker::Reply { lease, reply, violation })) }
}

fn packed(lease: u64, id: u64, kind: reply::Kind, violation: String) -> Option<FromBroker> {
    let reply = Reply { id, kind: Some(kind) };
    if reply.encoded_len() > EGRESS_LIMIT {
        return None;
    }
    let reply = from_broker::Reply { lease, reply: reply.encode_to_vec(), violation };
    Some(FromBroker { kind: Some(from_broker::Kind::Reply(reply)) })
}

/// A reply without any known value.
fn clean(redactor: &Redactor, kind: reply::Kind) -> reply::Kind {
    match kind {
        reply::Kind::Fetched(mut fetched) => {
            fetched.headers = fetched
                .headers
                .into_iter()
                .map(|header| ask::Header { value: redactor.redact_text(&header.value), ..header })
                .collect();
            fetched.body = redactor.redact(fetched.body);
            fetched.url = redactor.redact_text(&fetched.url);
            reply::Kind::Fetched(fetched)
        }
        reply::Kind::Result(mut result) => {
            result.result = redactor.redact(result.result);
            reply::Kind::Result(result)
        }
        reply::Kind::Sent(sent) => {
            reply::Kind::Sent(reply::Sent { message_id: redactor.redact_text(&sent.message_id) })
        }
        reply::Kind::Refused(mut refused) => {
            refused.message = redactor.redact_text(&refused.message);
            reply::Kind::Refused(refused)
        }
        passed @ (reply::Kind::Opened(_)
        | reply::Kind::Data(_)
        | reply::Kind::Shut(_)
        | reply::Kind::Took(_)
        | reply::Kind::Revealed(_)) => passed,
    }
}
