//! What the broker says of its own accord, for the ledger and the log.

use countersign_plan::text;
use countersign_wire::broker::{FromBroker, from_broker};
use tokio::sync::mpsc;

/// The longest message, in characters.
const LONGEST: usize = 500;

/// A door to the monitor's ledger. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Events(mpsc::Sender<FromBroker>);

impl Events {
    /// A door onto the socket's queue.
    pub(crate) const fn new(queue: mpsc::Sender<FromBroker>) -> Self {
        Self(queue)
    }

    /// Something that people may want to know; `case` is empty where it is no case's.
    pub(crate) async fn note(&self, case: &str, message: &str) {
        self.say(case, false, message).await;
    }

    /// Something that people have to know: a budget that is spent, a tool that changed, a metadata address.
    pub(crate) async fn alert(&self, case: &str, message: &str) {
        self.say(case, true, message).await;
    }

    async fn say(&self, case: &str, alert: bool, message: &str) {
        let message = text::escape(message).chars().take(LONGEST).collect();
        let event = from_broker::Event { case: case.to_owned(), alert, message };
        // Without a monitor the broker ends anyway.
        drop(self.0.send(FromBroker { kind: Some(from_broker::Kind::Event(event)) }).await);
    }
}
