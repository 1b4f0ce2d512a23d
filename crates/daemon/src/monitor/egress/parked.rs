//! What waits for the broker before it is judged: change requests of services, and what no record may hold. Nothing waits for good.

use std::time::Duration;

use countersign_gate::event::Event;
use countersign_wire::broker::{from_broker, to_broker};
use countersign_wire::propose::to_monitor::Kind;

use super::super::{Answer, ProposeReply, State};
use crate::peer::Peer;

/// How long the broker may take to say what its configuration holds. The program of one secret may take 20 s of it.
const BOOT: Duration = Duration::from_secs(30);

impl State {
    /// Whether a proposal waits for change requests that nobody has read yet. What comes of its configuration is said when it is
    /// judged.
    pub(in super::super) fn waits_for_changes(&mut self, cwd: &str, deployment: &str, peer: Peer) -> bool {
        drop(self.configurations.for_submission(cwd, deployment, peer));
        self.ask_changes();
        self.configurations.is_service_unread() && !self.brokerage.reading.is_empty()
    }

    /// Whether a proposal waits for the broker to say what no record may hold. Where none is to be had, nothing waits for it: then
    /// no value is to be had either.
    pub(in super::super) fn waits_for_prints(&mut self) -> bool {
        if self.brokerage.mute || !self.is_broker_configured() {
            return false;
        }
        if self.brokerage.running.is_none()
            && let Err(message) = self.broker()
        {
            crate::log(&message);
        }
        self.brokerage.running.is_some() && self.brokerage.view.is_none()
    }

    /// Keeps a proposal until the change requests are there, or are not to be had.
    pub(in super::super) fn park(&mut self, kind: Kind, peer: Peer, reply: ProposeReply) {
        self.brokerage.parked.push((kind, peer, reply));
    }

    /// Has the broker read the change requests of services that were not read for a while.
    pub(in super::super) fn ask_changes(&mut self) {
        for service in self.configurations.services_due() {
            let id = self.brokerage.number();
            let changes = to_broker::Changes { id, service: service.clone().into_bytes() };
            match self.broker().and_then(|broker| broker.tell(to_broker::Kind::Changes(changes))) {
                Ok(()) => drop(self.brokerage.reading.insert(id, service)),
                Err(message) => crate::log(&format!("change requests: {message}")),
            }
        }
    }

    pub(super) fn changes_read(&mut self, read: from_broker::ChangesRead) {
        let Some(service) = self.brokerage.reading.remove(&read.id) else { return };
        if read.error.is_empty() {
            self.configurations.service_read(&service, read.document);
        } else {
            crate::log(&format!("the change requests of {service} cannot be read: {}", read.error));
        }
        self.unpark();
    }

    /// Judges what waited, with the change requests and fingerprints that there are.
    pub(super) fn unpark(&mut self) {
        if self.brokerage.reading.is_empty() {
            for (kind, peer, reply) in std::mem::take(&mut self.brokerage.parked) {
                self.propose(kind, peer, reply);
            }
        }
    }

    /// A broker that says nothing of its configuration is of no use, and whatever waits for it is answered.
    pub(in super::super) fn broker_tick(&mut self) {
        let brokerage = &mut self.brokerage;
        if brokerage.view.is_some() || brokerage.since.elapsed() <= BOOT {
            return;
        }
        let Some(broker) = brokerage.running.take() else { return };
        let generation = broker.generation();
        broker.kill();
        let lost = format!(
            "the broker did not say within {} s what {} holds, and was ended: look for a secret whose file, command or keyring does \
             not answer, and see `countersign doctor`",
            BOOT.as_secs(),
            self.broker_file().display()
        );
        crate::log(&format!("ALERT {lost}"));
        self.event(Event::Broker { case: None, alert: true, message: lost.clone() }, Answer::Nobody);
        self.broker_lost(generation, &lost, false);
    }
}
