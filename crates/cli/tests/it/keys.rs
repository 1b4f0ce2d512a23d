//! `keys` and `trust`: what is enrolled, what is pinned, what is signed.

use countersign_plan::approval::{Approver, Enrolment, Erasure, Retirement, Trust, VerifiedRecord};
use countersign_plan::digest::Digest;
use countersign_plan::envelope::Envelope;
use countersign_plan::key::PublicKey;
use countersign_wire::operator::to_monitor;
use countersign_wire::operator::to_monitor::Kind;
use serde_json::json;

use crate::fake::{Asked, CASE, PASSPHRASE, Place, Script, answer, key, path_text};

fn gate_key() -> String {
    let secret = ed25519_dalek::SigningKey::from_bytes(&[9; 32]);
    PublicKey::from_bytes(&secret.verifying_key().to_bytes()).unwrap().to_string()
}

/// A monitor that knows these approvers and has this key.
fn monitor(approvers: Vec<Approver>, gate_key: String) -> Script {
    Script {
        propose: Box::new(|_| Vec::new()),
        operate: Box::new(move |asked| match asked {
            Kind::Status(_) => vec![answer(&json!({"gate_key": gate_key, "approvers": approvers}))],
            _ => vec![answer(&json!({}))],
        }),
    }
}

fn asked<T>(place: &Place, pick: impl Fn(Kind) -> Option<T>) -> Vec<T> {
    let kinds = place.asked().into_iter().filter_map(|asked| match asked {
        Asked::Operate(_, kind) => pick(kind),
        Asked::Propose(..) => None,
    });
    kinds.collect()
}

fn enrolments(place: &Place) -> Vec<to_monitor::Enroll> {
    asked(place, |kind| if let Kind::Enroll(enroll) = kind { Some(enroll) } else { None })
}

#[test]
fn a_key_is_sealed_private_and_never_replaced() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.sign(&["keys", "init"], "short").expect(2);
    let approver = key(&place);
    assert_eq!(
        (approver.principal.as_str(), approver.groups.as_slice()),
        ("user:alice", ["finance".to_owned()].as_slice())
    );
    let path = place.path("config").join("approver.key");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let before = std::fs::read(&path).unwrap();
    let ran = place.sign(&["keys", "init"], PASSPHRASE).expect(2);
    assert!(ran.err().contains("not overwritten"), "{}", ran.err());
    assert_eq!(std::fs::read(&path).unwrap(), before);

    // The public half goes beside the key and over nothing.
    let same = path_text(&place.path("config").join("alice.pub"));
    place.sign(&["keys", "init", "--key", &same], PASSPHRASE).expect(2);
    let taken = path_text(&place.path("config").join("bob.key"));
    std::fs::write(place.path("config").join("bob.pub"), "somebody else's").unwrap();
    place.sign(&["keys", "init", "--key", &taken], PASSPHRASE).expect(2);
    assert!(!place.path("config").join("bob.key").exists());
}

#[test]
fn the_first_approver_is_enrolled_as_it_is_and_pins_the_gates_key() {
    let place = Place::with(monitor(Vec::new(), gate_key()));
    let approver = key(&place);
    place.run(&["keys", "enroll"]).expect(0);
    let enrolments = enrolments(&place);
    assert_eq!(enrolments.len(), 1);
    assert!(enrolments[0].envelope.is_empty());
    assert_eq!(serde_json::from_slice::<Approver>(&enrolments[0].approver).unwrap(), approver);
    let pinned = std::fs::read_to_string(place.path("config").join("gate.pub")).unwrap();
    assert!(pinned.starts_with("countersign+"), "{pinned}");
}

#[test]
fn a_later_approver_needs_the_signature_of_an_enrolled_one() {
    let bobs = Place::new();
    bobs.sign(&["keys", "init", "--principal", "user:bob"], PASSPHRASE).expect(0);
    let public = path_text(&bobs.path("config").join("approver.pub"));

    let first = Place::new();
    let alice = key(&first);
    let place = Place::with(monitor(vec![alice.clone()], gate_key()));
    for name in ["approver.key", "approver.pub"] {
        std::fs::copy(first.path("config").join(name), place.path("config").join(name)).unwrap();
    }
    place.sign(&["keys", "enroll", &public], PASSPHRASE).expect(0);
    let enrolments = enrolments(&place);
    let envelope = Envelope::from_json(&enrolments[0].envelope).unwrap();
    let verified = VerifiedRecord::<Enrolment>::verify(&envelope, &[alice]).unwrap();
    assert_eq!(verified.record().approver.principal.as_str(), "user:bob");
    assert_eq!(serde_json::from_slice::<Approver>(&enrolments[0].approver).unwrap(), verified.record().approver);

    // Bob's own key cannot enrol Bob.
    let stranger = Place::with(monitor(vec![verified.record().approver.clone()], gate_key()));
    key(&stranger);
    stranger.sign(&["keys", "enroll"], PASSPHRASE).expect(20);
    assert!(self::enrolments(&stranger).is_empty());
}

#[test]
fn a_gate_key_other_than_the_pinned_one_is_said_and_the_pin_stays() {
    let place = Place::with(monitor(Vec::new(), gate_key()));
    let ran = place.run(&["keys", "show", "--json"]).expect(0);
    let pinned = ran.json()["pinned"].as_str().unwrap().to_owned();
    let other = Place::with(monitor(Vec::new(), {
        let secret = ed25519_dalek::SigningKey::from_bytes(&[8; 32]);
        PublicKey::from_bytes(&secret.verifying_key().to_bytes()).unwrap().to_string()
    }));
    std::fs::write(other.path("config").join("gate.pub"), format!("{pinned}\n")).unwrap();
    let ran = other.run(&["keys", "show", "--json"]).expect(0);
    assert!(ran.err().contains("another key than the one that is pinned"), "{}", ran.err());
    assert_eq!(ran.json()["pinned"], pinned);
}

#[test]
fn trust_is_a_signature_over_the_path_and_the_bytes_that_were_shown() {
    let place = Place::with(monitor(Vec::new(), gate_key()));
    let alice = key(&place);
    let text = "schema: countersign.deployment/v1\nhosts: {known: [api.example]}\n";
    let file = place.write("countersign.yaml", text);
    let ran = place.sign(&["trust", "countersign.yaml"], PASSPHRASE).expect(0);
    assert!(ran.out().contains("api.example"), "{}", ran.out());
    let sent = asked(&place, |kind| if let Kind::Trust(trust) = kind { Some(trust.envelope) } else { None });
    let verified = VerifiedRecord::<Trust>::verify(&Envelope::from_json(&sent[0]).unwrap(), &[alice]).unwrap();
    assert_eq!(verified.record().path, path_text(&file.canonicalize().unwrap()));
    assert_eq!(verified.record().digest, Digest::of(text.as_bytes()));
}

#[test]
fn a_key_is_retired_by_a_signature_over_exactly_it() {
    let first = Place::new();
    let own = key(&first);
    let place = Place::with(monitor(vec![own.clone()], gate_key()));
    let own_key = path_text(&first.path("config").join("approver.key"));
    place.run(&["keys", "retire", "ed25519:no"]).expect(2);
    place.sign(&["keys", "retire", &gate_key(), "--key", &own_key], PASSPHRASE).expect(2);
    place.sign(&["keys", "retire", &own.key.to_string(), "--key", &own_key], "not the passphrase").expect(20);
    assert!(asked(&place, |kind| if let Kind::Retire(retire) = kind { Some(retire) } else { None }).is_empty());
    place.sign(&["keys", "retire", &own.key.to_string(), "--key", &own_key], PASSPHRASE).expect(0);
    let sent = asked(&place, |kind| if let Kind::Retire(retire) = kind { Some(retire.envelope) } else { None });
    let envelope = Envelope::from_json(&sent[0]).unwrap();
    let verified = VerifiedRecord::<Retirement>::verify(&envelope, std::slice::from_ref(&own)).unwrap();
    assert_eq!((&verified.record().key, verified.record().principal.as_str()), (&own.key, "user:alice"));
}

/// A monitor whose ledger has these records of the case.
fn ledger(records: Vec<serde_json::Value>) -> Script {
    Script {
        propose: Box::new(|_| Vec::new()),
        operate: Box::new(move |asked| match asked {
            Kind::Audit(_) => vec![answer(&json!(records))],
            _ => vec![answer(&json!({"erased": [CASE]}))],
        }),
    }
}

fn record(kind: &str, payload: &serde_json::Value) -> serde_json::Value {
    json!({"seq": 1, "kind": kind, "case": CASE, "at": "t", "payload": payload, "payload_state": "open"})
}

/// No power of the socket: what was sealed goes under a signature over exactly the case and the reason, and never unasked.
#[test]
fn a_case_is_erased_by_a_signature_over_it_and_the_reason() {
    let opened = record("case_opened", &json!({"goal": "Call Ann"}));
    let closed = record("case_closed", &json!({"ending": "completed"}));
    let place = Place::with(ledger(vec![opened.clone(), closed.clone()]));
    let own = key(&place);
    let erase = |reason: &str, passphrase: &str| {
        place.sign(&["audit", "erase", CASE, "--reason", reason, "--json"], passphrase)
    };
    let sent = || asked(&place, |kind| if let Kind::Erase(erase) = kind { Some(erase) } else { None });
    erase(" ", PASSPHRASE).expect(2);
    place.run(&["audit", "erase", CASE]).expect(2);
    place.run(&["audit", "erase", CASE, "--reason", "r", "--yes"]).expect(2);
    erase("asked to", "not the passphrase").expect(20);
    assert!(sent().is_empty());
    let ran = erase("asked to", PASSPHRASE).expect(0);
    assert_eq!(ran.json(), json!({"erased": [CASE]}));
    assert!(ran.err().contains("Call Ann"), "who signs sees what goes: {}", ran.err());
    let sent = sent();
    assert_eq!((sent.len(), sent[0].case.as_str()), (1, CASE));
    let envelope = Envelope::from_json(&sent[0].envelope).unwrap();
    let verified = VerifiedRecord::<Erasure>::verify(&envelope, std::slice::from_ref(&own)).unwrap();
    assert_eq!((verified.record().case.as_str(), verified.record().reason.as_str()), (CASE, "asked to"));

    let gone = record("erased", &json!({"by": "user:alice", "reason": "asked to"}));
    let place = Place::with(ledger(vec![opened, closed, gone]));
    key(&place);
    let ran = place.sign(&["audit", "erase", CASE, "--reason", "again"], PASSPHRASE).expect(20);
    assert!(ran.err().contains("erased already"), "{}", ran.err());
    let ran = place.run(&["audit", "show", CASE]).expect(0);
    assert!(ran.out().contains("erased  by user:alice at t: asked to"), "{}", ran.out());
    let empty = Place::with(ledger(Vec::new()));
    key(&empty);
    empty.sign(&["audit", "erase", CASE, "--reason", "r"], PASSPHRASE).expect(2);
}
