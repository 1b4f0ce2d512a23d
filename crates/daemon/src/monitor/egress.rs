//! The road to the broker: leases of step children, its configuration, its end. Started when something needs it.

mod parked;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use countersign_gate::event::Event;
use countersign_ledger::Ledger;
use countersign_plan::digest::Digest;
use countersign_plan::document::Bounds;
use countersign_plan::id::CaseId;
use countersign_secret::print::{Known, Press, Print};
use countersign_wire::broker::from_broker::{self, Booted};
use countersign_wire::broker::to_broker::{self, Boot, CaseEnded, Describe, Lease};
use countersign_wire::operator::BrokerView;
use countersign_wire::propose::CaseEvent;
use countersign_wire::propose::to_monitor::Kind;
use serde_json::Value;

use super::operate::{answer, fail};
use super::step::{Cut, Egress};
use super::{Answer, OperateReply, ProposeReply, State};
use crate::broker::{Broker, BrokerEvent, Leased};
use crate::peer::Peer;

/// The broker's configuration, in the configuration folder.
const CONFIGURATION: &str = "broker.yaml";

/// The broker's own folder, in the state folder.
const STATE: &str = "broker";

/// What the broker may say of its own accord in a minute before it is only logged.
const REMARKS: u32 = 120;
const MINUTE: Duration = Duration::from_secs(60);

/// The broker, as far as it is known.
#[derive(Debug)]
pub(crate) struct Brokerage {
    program: PathBuf,
    environment: Option<OwnedFd>,
    running: Option<Broker>,
    generation: u64,
    next: u64,
    /// The configuration that it was given last.
    given: Option<Digest>,
    /// When that was.
    since: Instant,
    /// What it made of that; none until it answered.
    view: Option<BrokerView>,
    /// Operators who wait for that.
    asking: Vec<OperateReply>,
    /// How much it said of its own accord, since when.
    remarks: (Instant, u32),
    /// Operators who asked about an MCP server.
    describing: HashMap<u64, OperateReply>,
    /// Services whose change requests are being read.
    reading: HashMap<u64, String>,
    /// Proposals that wait for them, or for the broker to know its configuration.
    parked: Vec<(Kind, Peer, ProposeReply)>,
    /// The last one ended before it knew its configuration.
    mute: bool,
    /// What fingerprints of secrets are made with, and those that are known.
    print_key: [u8; 32],
    known: Arc<RwLock<Known>>,
}

impl Brokerage {
    /// A broker that does not run yet, with the variables that its configuration names.
    /// No record holds a value from then on when the broker has said its fingerprint.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn new(program: &Path, environment: Option<OwnedFd>, ledger: &Ledger) -> Result<Self, getrandom::Error> {
        let mut print_key = [0; 32];
        getrandom::fill(&mut print_key)?;
        let known = Arc::new(RwLock::new(Known::new(Press::new(&print_key))));
        let looked_for = Arc::clone(&known);
        ledger.redact_with(Box::new(move |payload| {
            looked_for.read().unwrap_or_else(PoisonError::into_inner).redact_json(payload)
        }));
        Ok(Self {
            program: program.to_owned(),
            environment,
            running: None,
            generation: 0,
            next: 0,
            given: None,
            since: Instant::now(),
            view: None,
            asking: Vec::new(),
            remarks: (Instant::now(), 0),
            describing: HashMap::new(),
            reading: HashMap::new(),
            parked: Vec::new(),
            mute: false,
            print_key,
            known,
        })
    }

    /// A number that no lease, inference or question had.
    pub(super) fn number(&mut self) -> u64 {
        self.next = self.next.saturating_add(1);
        self.next
    }

    /// Sends the broker something, if one runs.
    fn tell(&self, kind: to_broker::Kind) -> Result<(), String> {
        self.running.as_ref().ok_or("no broker runs")?.tell(kind)
    }

    /// Ends it with everything that it holds.
    pub(crate) fn end(&mut self) {
        if let Some(broker) = self.running.take() {
            broker.end();
        }
    }
}

impl State {
    /// A broker that runs and was given the configuration as it is on disk now.
    pub(super) fn broker(&mut self) -> Result<&Broker, String> {
        if self.failed {
            return Err("everything is halted".to_owned());
        }
        let configuration = self.broker_configuration()?;
        let digest = Digest::of(&configuration);
        if self.brokerage.given.is_some_and(|given| given != digest)
            && let Some(before) = self.brokerage.running.take()
        {
            // What it may touch is fixed by the configuration that it began with: another takes its place.
            let generation = before.generation();
            std::thread::spawn(move || before.end());
            self.brokerage.given = None;
            self.broker_lost(generation, "the broker's configuration changed; ask again", true);
        }
        let brokerage = &mut self.brokerage;
        if brokerage.running.is_none() {
            brokerage.generation = brokerage.generation.saturating_add(1);
            let environment = brokerage.environment.as_ref();
            let (program, generation) = (&brokerage.program, brokerage.generation);
            let started = Broker::start(program, environment, generation, &self.monitor, &self.runtime);
            let broker = started.map_err(|e| format!("the broker does not start: {}: {e}", program.display()))?;
            brokerage.running = Some(broker);
            brokerage.given = None;
        }
        if brokerage.given != Some(digest) {
            let gate_key = self.gate.public_key().to_bytes().to_vec();
            let state = self.folders.state.join(STATE).to_string_lossy().into_owned();
            let print_key = brokerage.print_key.to_vec();
            let boot = Boot { gate_key, epoch: self.gate.epoch(), configuration, state, print_key };
            brokerage.tell(to_broker::Kind::Boot(boot))?;
            (brokerage.given, brokerage.since) = (Some(digest), Instant::now());
            brokerage.view = None;
        }
        self.brokerage.running.as_ref().ok_or_else(|| "no broker runs".to_owned())
    }

    /// From now on permits of another key count.
    pub(super) fn broker_key_changed(&mut self) {
        self.brokerage.given = None;
        if self.brokerage.running.is_some()
            && let Err(message) = self.broker()
        {
            crate::log(&message);
        }
    }

    pub(super) fn broker_file(&self) -> PathBuf {
        self.folders.config.join(CONFIGURATION)
    }

    /// Whether there is a configuration for the broker.
    pub(crate) fn is_broker_configured(&self) -> bool {
        self.broker_file().exists()
    }

    /// Whether the broker that runs was given another one than there is now.
    pub(super) fn is_broker_configuration_new(&self) -> bool {
        let given = self.brokerage.given;
        self.broker_configuration().is_ok_and(|now| given.is_some_and(|given| given != Digest::of(&now)))
    }

    fn broker_configuration(&self) -> Result<Vec<u8>, String> {
        let path = self.broker_file();
        let place = |e: std::io::Error| format!("{}: {e}", path.display());
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(place(e)),
        };
        let limit = u64::try_from(Bounds::CONFIG.bytes).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(place)?;
        if bytes.len() > Bounds::CONFIG.bytes {
            return Err(format!("{}: more than {limit} bytes", path.display()));
        }
        Ok(bytes)
    }

    /// Tells the broker of the permit of a step child before that is told to go. None where it may ask nothing.
    pub(super) fn lease(&mut self, case: &CaseId, id: u64) -> Result<Option<Leased>, String> {
        let Some(step) = self.step_mut(case, id) else { return Err("its run is over".to_owned()) };
        let (permit, spec) = match &step.egress {
            Egress::Granted { permit, spec } => (permit.clone(), spec.clone()),
            Egress::None => return Ok(None),
            Egress::Leased { .. } => return Err("its lease is used".to_owned()),
        };
        let now = self.gate.now().as_millis();
        let lease = self.brokerage.number();
        let broker = self.broker()?;
        broker.tell(to_broker::Kind::Lease(Lease { id: lease, case: case.to_string(), permit, spec, now }))?;
        let (generation, leased) = (broker.generation(), broker.leased(lease));
        if let Some(step) = self.step_mut(case, id) {
            step.egress = Egress::Leased { generation, lease };
        }
        Ok(Some(leased))
    }

    /// A step child is gone: its lease dies.
    pub(super) fn release(&self, generation: u64, lease: u64) {
        if let Some(broker) = self.brokerage.running.as_ref().filter(|broker| broker.generation() == generation) {
            broker.release(lease);
        }
    }

    /// A case ended, or its plan did and it goes on to its answer: what was obtained for it dies.
    pub(super) fn broker_case_ended(&self, case: &CaseId, goes_on: bool) {
        if let Some(broker) = &self.brokerage.running
            && let Err(message) = broker.tell(to_broker::Kind::CaseEnded(CaseEnded { case: case.to_string(), goes_on }))
        {
            crate::log(&message);
        }
    }

    /// The step child that holds a lease.
    fn holder(&self, generation: u64, wanted: u64) -> Option<(CaseId, u64)> {
        self.runs.iter().find_map(|(case, run)| {
            let step = run.step.as_ref()?;
            let held =
                matches!(step.egress, Egress::Leased { generation: g, lease } if g == generation && lease == wanted);
            held.then(|| (case.clone(), step.id))
        })
    }

    /// Something from a broker; of an earlier one it does not count any more.
    pub(super) fn broker_event(&mut self, generation: u64, event: BrokerEvent) {
        if self.brokerage.running.as_ref().is_none_or(|broker| broker.generation() != generation) {
            return;
        }
        match event {
            BrokerEvent::Said(kind) => self.broker_said(generation, kind),
            BrokerEvent::Offence { lease, message } => self.offended(generation, lease, message),
            BrokerEvent::Ended(reason) => self.broker_ended(generation, &reason),
        }
    }

    fn broker_said(&mut self, generation: u64, kind: from_broker::Kind) {
        match kind {
            from_broker::Kind::Booted(booted) => self.broker_booted(&booted),
            from_broker::Kind::LeaseRefused(refused) => {
                if refused.violation {
                    return self.offended(generation, refused.lease, format!("the broker: {}", refused.message));
                }
                // Each ask of the step is refused: it ends by itself, and whoever watches sees why.
                crate::log(&format!("the broker refused a lease: {}", refused.message));
                if let Some((case, id)) = self.holder(generation, refused.lease)
                    && let Some(step) = self.step_mut(&case, id).map(|step| step.step.to_string())
                {
                    let text = format!("the broker refused its lease: {}", refused.message);
                    self.watchers.event(&case, CaseEvent::Output { step, error: true, text });
                }
            }
            from_broker::Kind::Described(described) => {
                let Some(reply) = self.brokerage.describing.remove(&described.id) else { return };
                match serde_json::from_slice::<Value>(&described.tools) {
                    Ok(tools) if described.error.is_empty() => answer(&reply, &tools),
                    Ok(_) => fail(&reply, "broker.unreachable", &described.error),
                    Err(_) if !described.error.is_empty() => fail(&reply, "broker.unreachable", &described.error),
                    Err(e) => fail(&reply, "internal.error", &e.to_string()),
                }
            }
            from_broker::Kind::ChangesRead(read) => self.changes_read(read),
            from_broker::Kind::Event(event) => self.broker_remark(event),
            from_broker::Kind::Known(known) => self.prints_known(known),
            from_broker::Kind::Progress(progress) => self.thinking(progress.id, progress.bytes),
            from_broker::Kind::Inferred(inferred) => {
                if let Some(inferred) = self.evaluation(inferred) {
                    self.inferred(inferred);
                }
            }
            // Replies go to their step child where they are read.
            from_broker::Kind::Reply(_) => {}
        }
    }

    /// Values that no record may hold from now on.
    fn prints_known(&self, said: from_broker::Known) {
        let mut known = self.brokerage.known.write().unwrap_or_else(PoisonError::into_inner);
        for print in said.prints {
            let from_broker::Print { name, length, filter, tag } = print;
            if let (Ok(length), Ok(filter), Ok(tag)) = (length.try_into(), filter.try_into(), tag.try_into()) {
                known.learn(Print { name, length, filter, tag });
            }
        }
    }

    /// Something that the broker says of its own accord is recorded, unless there is too much of it.
    fn broker_remark(&mut self, event: from_broker::Event) {
        let remarks = &mut self.brokerage.remarks;
        if remarks.0.elapsed() > MINUTE {
            *remarks = (Instant::now(), 0);
        }
        remarks.1 = remarks.1.saturating_add(1);
        if remarks.1 > REMARKS {
            return crate::log(&format!(
                "the broker said more than {REMARKS} things in a minute; left out: {}",
                event.message
            ));
        }
        let case = event.case.parse().ok();
        self.event(Event::Broker { case, alert: event.alert, message: event.message }, Answer::Nobody);
    }

    fn broker_booted(&mut self, booted: &Booted) {
        let (facts, error) = match serde_json::from_slice(&booted.facts) {
            Ok(facts) => (facts, booted.error.clone()),
            Err(_) if !booted.error.is_empty() => (Default::default(), booted.error.clone()),
            Err(e) => (Default::default(), format!("its facts are unreadable: {e}")),
        };
        if !error.is_empty() {
            crate::log(&format!("{}: {error}; nothing is reachable", self.broker_file().display()));
        }
        let view = BrokerView { facts, error, ..self.no_broker("") };
        for reply in self.brokerage.asking.drain(..) {
            answer(&reply, &serde_json::to_value(&view).unwrap_or_default());
        }
        self.brokerage.view = Some(view);
        self.brokerage.mute = false;
        self.broker_answered(None);
        self.unpark();
    }

    /// What the broker's configuration holds, once it is known.
    pub(super) const fn broker_view(&self) -> Option<&BrokerView> {
        self.brokerage.view.as_ref()
    }

    /// Sends the broker something that it may miss: one that is gone has forgotten it anyway.
    pub(super) fn tell_broker(&self, kind: to_broker::Kind) {
        if let Err(message) = self.brokerage.tell(kind) {
            crate::log(&message);
        }
    }

    fn no_broker(&self, error: &str) -> BrokerView {
        BrokerView {
            file: self.broker_file().display().to_string(),
            configured: self.is_broker_configured(),
            facts: Default::default(),
            error: error.to_owned(),
        }
    }

    /// What the broker's configuration holds, for an operator.
    pub(super) fn broker_facts(&mut self, reply: OperateReply) {
        if let Err(error) = self.broker().map(|_| ()) {
            return answer(&reply, &serde_json::to_value(self.no_broker(&error)).unwrap_or_default());
        }
        match &self.brokerage.view {
            Some(view) => answer(&reply, &serde_json::to_value(view).unwrap_or_default()),
            None => self.brokerage.asking.push(reply),
        }
    }

    /// What an MCP server offers, for an operator.
    pub(super) fn describe(&mut self, server: String, reply: OperateReply) {
        let id = self.brokerage.number();
        let asked = self.broker().and_then(|broker| broker.tell(to_broker::Kind::Describe(Describe { id, server })));
        match asked {
            Ok(()) => drop(self.brokerage.describing.insert(id, reply)),
            Err(message) => fail(&reply, "broker.unreachable", &message),
        }
    }

    /// A step child tried to leave its permit: it is ended, and the gate is told when it is gone (INV-9).
    fn offended(&mut self, generation: u64, lease: u64, message: String) {
        if let Some((case, id)) = self.holder(generation, lease) {
            self.cut_step(&case, id, Cut::Offence(message));
        }
    }

    /// Its leases died with it; what it did of what was asked is unknown. Another one starts when it is needed.
    fn broker_ended(&mut self, generation: u64, reason: &str) {
        crate::log(&format!("ALERT the broker ended: {reason}; its leases died with it"));
        if let Some(broker) = self.brokerage.running.take() {
            broker.kill();
        }
        self.broker_lost(
            generation,
            "the broker ended before it answered; it is started again when it is needed",
            false,
        );
    }

    /// Nobody answers what a broker was asked.
    fn broker_lost(&mut self, generation: u64, lost: &str, again: bool) {
        self.brokerage.mute = self.brokerage.view.take().is_none();
        let view = self.no_broker(lost);
        for reply in self.brokerage.asking.drain(..) {
            answer(&reply, &serde_json::to_value(&view).unwrap_or_default());
        }
        for (_, reply) in self.brokerage.describing.drain() {
            fail(&reply, "broker.unreachable", lost);
        }
        self.brokerage.reading.clear();
        self.unpark();
        self.broker_answered(Some(lost));
        if again {
            self.ask_models_again();
        } else {
            self.nothing_inferred(lost);
        }
        self.nothing_evaluated(lost);
        let holders = self.runs.iter().filter_map(|(case, run)| {
            let step = run.step.as_ref()?;
            let held = matches!(step.egress, Egress::Leased { generation: g, .. } if g == generation);
            held.then(|| (case.clone(), step.id))
        });
        let holders: Vec<(CaseId, u64)> = holders.collect();
        for (case, id) in holders {
            self.cut_step(&case, id, Cut::Broker("the broker ended while the step used the network".to_owned()));
        }
    }
}
