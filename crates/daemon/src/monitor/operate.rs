//! Messages of operators: answers, halts, enrolment, trust, rotation, status. What needs a person's word carries a signature.

use countersign_gate::directive::OperatorAnswer;
use countersign_gate::event::Event;
use countersign_gate::key::{CheckpointSigner, GateKey};
use countersign_plan::document::{self, Bounds};
use countersign_plan::envelope::Envelope;
use countersign_plan::id::CaseId;
use countersign_plan::key::PublicKey;
use countersign_wire::operator::from_monitor::{self, Error};
use countersign_wire::operator::{FromMonitor, to_monitor};
use countersign_wire::zygote::to_zygote::Boot;
use serde_json::{Value, json};
use to_monitor::Kind;

use super::{Answer, Command, OperateReply, State};
use crate::keys;
use crate::peer::Peer;

/// Sends an operator a failure.
pub(crate) fn fail(reply: &OperateReply, code: &str, message: &str) {
    let kind = from_monitor::Kind::Error(Error { code: code.to_owned(), message: message.to_owned() });
    drop(reply.try_send(FromMonitor { kind: Some(kind) }));
}

/// Sends an operator an answer.
pub(crate) fn answer(reply: &OperateReply, value: &Value) {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    drop(reply.try_send(FromMonitor { kind: Some(from_monitor::Kind::Answer(bytes)) }));
}

impl State {
    pub(crate) fn operate(&mut self, kind: Kind, peer: Peer, reply: OperateReply) {
        let event = match kind {
            Kind::Pending(_) => return answer(&reply, &self.pending()),
            Kind::Status(_) => return answer(&reply, &self.status()),
            Kind::Audit(audit) => return self.audit(audit, reply),
            Kind::Shutdown(_) => {
                answer(&reply, &json!({"stopping": true}));
                return self.monitor.send(Command::Shutdown);
            }
            Kind::Answer(message) => envelope(&message.envelope).map(Event::Answer),
            Kind::Extend(message) => envelope(&message.envelope).map(Event::Extend),
            Kind::Trust(message) => envelope(&message.envelope).map(Event::Trust),
            Kind::Resume(message) => envelope(&message.envelope).map(Event::Settle),
            Kind::Halt(halt) => parse_case(&halt.case).map(|case| Event::Halt { case, reason: halt.reason }),
            Kind::Enroll(enroll) => enrolment(&enroll, peer),
            Kind::Retire(message) => envelope(&message.envelope).map(Event::Retire),
            Kind::Erase(message) => return self.erase(message, reply),
            Kind::Broker(_) => return self.broker_facts(reply),
            Kind::Describe(message) => return self.describe(message.server, reply),
            Kind::Rotate(_) => self.next_key().map(Event::Rotate),
        };
        match event {
            Ok(event) => self.event(event, Answer::Operator(reply)),
            Err(message) => fail(&reply, "plan.invalid", &message),
        }
    }

    fn pending(&self) -> Value {
        let waiting = self.gate.cases().filter(|case| case.pending_until.is_some());
        let views = waiting.filter_map(|case| self.view(case.case.as_str()));
        Value::Array(views.filter_map(|view| serde_json::to_value(view).ok()).collect())
    }

    fn status(&self) -> Value {
        let stages: Vec<Value> =
            self.gate.cases().map(|c| json!({"case": c.case, "stage": c.stage, "goal": c.goal})).collect();
        json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "epoch": self.gate.epoch(),
            "gate_key": self.gate.public_key(),
            "ledger": self.ledger.id().as_str(),
            "approvers": self.gate.approvers(),
            "cases": stages,
            "state": self.folders.state,
            "runtime": self.folders.runtime,
            "config": self.folders.config,
            "enforcement": self.capabilities,
            "halted": self.failed,
        })
    }

    /// A new key, on disk beside the old one before anybody signs with it: a crash between loses neither.
    fn next_key(&mut self) -> Result<GateKey, String> {
        let secret = keys::random().map_err(|e| e.to_string())?;
        keys::store(&self.folders.state.join(keys::NEXT), &secret).map_err(|e| e.to_string())?;
        let key = GateKey::from_bytes(&mut (*secret).clone()).map_err(|e| e.to_string())?;
        self.rotating = Some(secret);
        Ok(key)
    }

    /// The ledger first, then the zygote, then the file: each believes the new key only from the old one.
    pub(crate) fn rotate_key(&mut self, signer: CheckpointSigner, key: PublicKey, signature: [u8; 64]) {
        let Some(secret) = self.rotating.take() else { return };
        let at = self.gate.now();
        let outcome = self.ledger.rotate(Box::new(signer), at).wait().map_err(|e| e.to_string()).and_then(|_| {
            keys::store(&self.folders.state.join(keys::GATE), &secret).map_err(|e| e.to_string())?;
            drop(std::fs::remove_file(self.folders.state.join(keys::NEXT)));
            let boot = Boot {
                gate_key: key.to_bytes().to_vec(),
                epoch: self.gate.epoch(),
                own: self.configurations.own_folders(),
                signature: signature.to_vec(),
            };
            self.zygote.boot(boot).map_err(|e| e.to_string())
        });
        self.broker_key_changed();
        if let Err(message) = outcome {
            crate::log(&format!("the key was not replaced everywhere, everything halts: {message}"));
            self.failed = true;
            self.end_all_children();
        }
    }
}

fn envelope(bytes: &[u8]) -> Result<Envelope, String> {
    Envelope::from_json(bytes).map_err(|e| e.to_string())
}

fn parse_case(case: &str) -> Result<Option<CaseId>, String> {
    if case.is_empty() {
        Ok(None)
    } else {
        case.parse().map(Some).map_err(|e: countersign_plan::id::NameError| e.to_string())
    }
}

fn enrolment(enroll: &to_monitor::Enroll, peer: Peer) -> Result<Event, String> {
    let value = document::from_json(&enroll.approver, Bounds::PLAN).map_err(|e| e.to_string())?;
    let approver = document::typed(value).map_err(|e| e.to_string())?;
    let envelope = if enroll.envelope.is_empty() { None } else { Some(envelope(&enroll.envelope)?) };
    let by = format!("uid:{}", peer.uid).parse().map_err(|e: countersign_plan::id::NameError| e.to_string())?;
    Ok(Event::Enroll { approver, by, envelope })
}

impl Answer {
    /// What the gate tells an operator.
    pub(crate) fn operator(self, said: &OperatorAnswer) {
        let Self::Operator(reply) = self else { return };
        let value = match said {
            OperatorAnswer::Done { cases } => {
                let cases: Vec<Value> =
                    cases.iter().map(|(case, stage)| json!({"case": case, "stage": stage})).collect();
                json!({"cases": cases})
            }
            OperatorAnswer::Enrolled => json!({"enrolled": true}),
            OperatorAnswer::Retired { key, cases } => {
                let cases: Vec<Value> =
                    cases.iter().map(|(case, stage)| json!({"case": case, "stage": stage})).collect();
                json!({"retired": key, "cases": cases})
            }
            OperatorAnswer::Trusted { path, digest } => json!({"trusted": path, "digest": digest}),
            OperatorAnswer::Erased { cases } => json!({"erased": cases}),
            OperatorAnswer::Rotated { key } => json!({"gate_key": key}),
            OperatorAnswer::Refused { code, message } => return fail(&reply, code.as_str(), message),
        };
        answer(&reply, &value);
    }
}
