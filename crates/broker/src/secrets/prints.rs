//! Values that are known by their fingerprints: those that nobody has used yet, those that were replaced, and those of cases that
//! ended. The monitor is told the same fingerprints, so that no record holds a value (INV-10).

use std::sync::{Arc, PoisonError, RwLock};

use countersign_secret::print::{Known, Press, Print};
use countersign_secret::redact::Redactor;
use countersign_wire::broker::{FromBroker, from_broker};
use tokio::sync::mpsc;

use super::Value;

/// Fingerprints, and the way to the monitor. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Prints {
    press: Press,
    known: Arc<RwLock<Known>>,
    queue: mpsc::Sender<FromBroker>,
}

impl Prints {
    /// Nothing known yet; fingerprints are made with the monitor's key.
    pub(crate) fn new(key: &[u8; 32], queue: mpsc::Sender<FromBroker>) -> Self {
        let press = Press::new(key);
        Self { known: Arc::new(RwLock::new(Known::new(press.clone()))), press, queue }
    }

    /// From now on nobody is told this value, and no record written afterwards holds it.
    pub(super) async fn learn(&self, name: &str, value: &Value) {
        let prints = self.press.prints(name, value.bytes());
        {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            prints.iter().cloned().for_each(|print| known.learn(print));
        }
        let known = from_broker::Known { prints: prints.into_iter().map(told).collect() };
        // Without a monitor the broker ends anyway.
        drop(self.queue.send(FromBroker { kind: Some(from_broker::Kind::Known(known)) }).await);
    }

    /// `redactor`, and what is known by fingerprint.
    pub(super) fn with(&self, redactor: Redactor) -> Redactor {
        redactor.with(Arc::clone(&self.known))
    }
}

fn told(print: Print) -> from_broker::Print {
    from_broker::Print {
        name: print.name,
        length: u32::try_from(print.length).unwrap_or(u32::MAX),
        filter: u32::from(print.filter),
        tag: print.tag.to_vec(),
    }
}
