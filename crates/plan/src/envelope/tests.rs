//! What verification refuses: every way to have another plan run than the one that was signed.

use std::sync::Arc;

use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::json;

use super::{Countersignature, CountersignedPlan, Envelope, EnvelopeError, TrustRoot, VerifyError};
use crate::artifact::{self, Plan, StepGrant};
use crate::canonical;
use crate::confinement::Profile;
use crate::digest::Digest;
use crate::document::{Bounds, from_json};
use crate::draft::Draft;
use crate::key::PublicKey;
use crate::permit::VerifiedPermit;
use crate::time::Timestamp;
use crate::verdict::Mode;

fn key(seed: u8) -> (SigningKey, PublicKey) {
    let secret = SigningKey::from_bytes(&[seed; 32]);
    let public = PublicKey::from_bytes(secret.verifying_key().as_bytes()).unwrap();
    (secret, public)
}

fn plan() -> Plan {
    let source = json!({"schema": "countersign.plan/v1", "goal": "g", "steps": [{"id": "a", "action": "read_file", "args": {"path": "x"}}]});
    let draft = Draft::from_value(source.clone()).unwrap();
    let digest = Digest::of(b"tool");
    Plan {
        schema: artifact::SCHEMA.to_owned(),
        case: "c1".parse().unwrap(),
        version: 1,
        parent: None,
        principal: "user:a".parse().unwrap(),
        agent: "agent:b".parse().unwrap(),
        mode: Mode::Managed,
        draft_digest: draft.digest(),
        draft: source.clone().into(),
        inputs: Default::default(),
        cwd: "/w".to_owned(),
        steps: vec![StepGrant {
            id: "a".parse().unwrap(),
            accesses: vec![],
            profile: Profile::None,
            irreversible: false,
            action_digest: artifact::action_digest(&draft.steps()[0], digest, &source["steps"][0]),
        }],
        tools: [("read_file".parse().unwrap(), digest)].into(),
        policy_digest: Digest::of(b"p"),
        deployment_digest: Digest::of(b"d"),
        label_proof: None,
        not_before: Timestamp::from_millis(1000),
        nonce: "00".to_owned(),
    }
}

fn countersign(plan: &Plan, secret: &SigningKey, public: PublicKey) -> CountersignedPlan {
    let bytes = plan.to_bytes().unwrap();
    let statement = Countersignature {
        case: plan.case.clone(),
        version: plan.version,
        epoch: 7,
        decision: Digest::of(b"v"),
        approvals: vec![],
        signed_at: Timestamp::from_millis(1000),
        expires_at: Timestamp::from_millis(2000),
    };
    let (payload, to_sign) = statement.to_sign(Digest::of(&bytes));
    let envelope = Countersignature::envelope(payload, public.id(), secret.sign(&to_sign).to_bytes());
    CountersignedPlan { plan: bytes, envelope }
}

fn root(gate: PublicKey) -> TrustRoot {
    TrustRoot { gate, epoch: Some(7) }
}

const NOW: Timestamp = Timestamp::from_millis(1500);

#[test]
fn a_signed_plan_is_verified_and_survives_the_wire() {
    let (secret, public) = key(1);
    let signed = countersign(&plan(), &secret, public);
    assert_eq!(signed.verify(&root(public), NOW).unwrap().draft().goal(), "g");
    assert_eq!(Envelope::from_json(&signed.envelope.to_json()).unwrap(), signed.envelope);
}

#[test]
fn inv_3_any_altered_byte_of_plan_or_envelope_is_refused() {
    let (secret, public) = key(1);
    let signed = countersign(&plan(), &secret, public);
    for i in 0..signed.plan.len() {
        let mut altered = signed.clone();
        altered.plan[i] ^= 1;
        assert!(matches!(altered.verify(&root(public), NOW), Err(VerifyError::Altered { .. })), "byte {i}");
    }
    let json = signed.envelope.to_json();
    for i in 0..json.len() {
        let mut altered = json.clone();
        altered[i] ^= 1;
        if let Ok(envelope) = Envelope::from_json(&altered) {
            let altered = CountersignedPlan { plan: signed.plan.clone(), envelope };
            assert!(altered.verify(&root(public), NOW).is_err(), "byte {i}");
        }
    }
}

#[test]
fn the_statement_is_canonical_and_is_read_with_spaces_too() {
    let (secret, public) = key(1);
    let signed = countersign(&plan(), &secret, public);
    let payload = signed.envelope.unverified_payload();
    let value = from_json(payload, Bounds::PLAN).unwrap();
    assert_eq!(canonical::to_vec(&value), payload);
    let verify = |payload: Vec<u8>| {
        let signature = secret.sign(&super::pae("application/vnd.in-toto+json", &payload)).to_bytes();
        let envelope = Countersignature::envelope(payload, public.id(), signature);
        CountersignedPlan { plan: signed.plan.clone(), envelope }.verify(&root(public), NOW)
    };
    let spaced = verify(serde_json::to_vec_pretty(&value).unwrap()).unwrap();
    assert_eq!(spaced.countersignature(), signed.verify(&root(public), NOW).unwrap().countersignature());
    let text = std::str::from_utf8(payload).unwrap();
    // Two statements in one; and one that the gate never writes.
    let twice = text.replacen("\"epoch\":7", "\"epoch\":7,\"epoch\":7", 1);
    let foreign = text.replacen("urn:countersign:countersignature:v1", "urn:countersign:permit:v1", 1);
    assert!(matches!(verify(twice.into_bytes()), Err(VerifyError::Statement(_))));
    assert!(matches!(verify(foreign.into_bytes()), Err(VerifyError::Kind)));
}

#[test]
fn another_key_epoch_time_or_kind_is_refused() {
    let (secret, public) = key(1);
    let (other_secret, other) = key(2);
    let signed = countersign(&plan(), &secret, public);
    assert!(matches!(signed.verify(&root(other), NOW), Err(VerifyError::Envelope(EnvelopeError::Unsigned(_)))));
    // A foreign key under the trusted name.
    let (payload, to_sign) = (
        signed.envelope.unverified_payload().to_vec(),
        super::pae("application/vnd.in-toto+json", signed.envelope.unverified_payload()),
    );
    let forged = Countersignature::envelope(payload, public.id(), other_secret.sign(&to_sign).to_bytes());
    let forged = CountersignedPlan { plan: signed.plan.clone(), envelope: forged };
    assert!(matches!(forged.verify(&root(public), NOW), Err(VerifyError::Envelope(EnvelopeError::Key(_)))));
    let later = TrustRoot { gate: public, epoch: Some(8) };
    assert!(matches!(signed.verify(&later, NOW), Err(VerifyError::Epoch { .. })));
    for now in [999, 2000, 3000] {
        assert!(
            matches!(signed.verify(&root(public), Timestamp::from_millis(now)), Err(VerifyError::Time { .. })),
            "{now}"
        );
    }
    assert!(VerifiedPermit::verify(&signed.envelope, &public, 7).is_err());
}

#[test]
fn a_plan_whose_parts_contradict_each_other_is_refused() {
    let (secret, public) = key(1);
    let mut smuggled = plan();
    Arc::make_mut(&mut smuggled.draft)["steps"][0]["args"]["path"] = json!("/etc/shadow");
    assert!(matches!(countersign(&smuggled, &secret, public).verify(&root(public), NOW), Err(VerifyError::Plan(_))));
    let mut ungranted = plan();
    ungranted.steps.clear();
    assert!(matches!(countersign(&ungranted, &secret, public).verify(&root(public), NOW), Err(VerifyError::Plan(_))));
}

#[test]
fn lesson_24_an_action_s_digest_is_of_what_it_means() {
    let a = plan().steps[0].action_digest;
    let mut reworded = plan().draft.as_ref().clone();
    reworded["steps"][0]["reason"] = json!("because");
    let draft = Draft::from_value(reworded.clone()).unwrap();
    let same = artifact::action_digest(&draft.steps()[0], Digest::of(b"tool"), &reworded["steps"][0]);
    assert_eq!(a, same);
    reworded["steps"][0]["args"]["path"] = json!("y");
    let draft = Draft::from_value(reworded.clone()).unwrap();
    assert_ne!(a, artifact::action_digest(&draft.steps()[0], Digest::of(b"tool"), &reworded["steps"][0]));
}
