//! What an executor refuses to begin.

use countersign_plan::artifact::{self, Plan, StepGrant};
use countersign_plan::confinement::Profile;
use countersign_plan::digest::Digest;
use countersign_plan::draft::Draft;
use countersign_plan::envelope::{Countersignature, VerifyError};
use countersign_plan::key::PublicKey;
use countersign_plan::saga::Undo;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Mode;
use countersign_wire::executor::to_executor;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use super::{StartError, verify};

/// A countersigned plan and the key that signed it.
pub(crate) struct Setup {
    secret: SigningKey,
    pub(crate) public: PublicKey,
    pub(crate) start: to_executor::Start,
}

impl Setup {
    pub(crate) fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.secret.sign(bytes).to_bytes()
    }
}

/// A plan with one writing step for each way of taking back, countersigned.
pub(crate) fn signed(undo: &[Undo]) -> Setup {
    signed_as(undo, Mode::Managed)
}

fn signed_as(undo: &[Undo], mode: Mode) -> Setup {
    let secret = SigningKey::from_bytes(&[1; 32]);
    let public = PublicKey::from_bytes(secret.verifying_key().as_bytes()).unwrap();
    let steps: Vec<Value> = undo
        .iter()
        .enumerate()
        .map(|(i, undo)| {
            let rollback = match undo {
                Undo::Action => json!({"action": "delete_file", "args": {"path": "x"}}),
                Undo::Snapshot => json!("snapshot"),
                Undo::Pure | Undo::None => json!("none"),
            };
            json!({"id": format!("s{i}"), "action": "write_file", "args": {"path": "x", "content": ""}, "rollback": rollback})
        })
        .collect();
    let source = json!({"schema": "countersign.plan/v1", "goal": "g", "steps": steps});
    let draft = Draft::from_value(source.clone()).unwrap();
    let grants = draft.steps().iter().zip(&steps).map(|(step, source)| StepGrant {
        id: step.id.clone(),
        accesses: vec![],
        profile: Profile::None,
        irreversible: false,
        action_digest: artifact::action_digest(step, Digest::of(b"write_file"), source),
    });
    let plan = Plan {
        schema: artifact::SCHEMA.to_owned(),
        case: "c1".parse().unwrap(),
        version: 1,
        parent: None,
        principal: "user:a".parse().unwrap(),
        agent: "agent:b".parse().unwrap(),
        mode,
        draft_digest: draft.digest(),
        steps: grants.collect(),
        draft: source.into(),
        inputs: Default::default(),
        cwd: "/w".to_owned(),
        tools: ["write_file", "delete_file"].map(|t| (t.parse().unwrap(), Digest::of(t.as_bytes()))).into(),
        policy_digest: Digest::of(b"p"),
        deployment_digest: Digest::of(b"d"),
        label_proof: None,
        not_before: Timestamp::from_millis(1000),
        nonce: "00".to_owned(),
    };
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
    let undo =
        undo.iter().enumerate().map(|(i, undo)| to_executor::Undo { step: format!("s{i}"), by: undo.to_string() });
    let start = to_executor::Start {
        plan: bytes,
        envelope: envelope.to_json(),
        gate_key: public.to_bytes().to_vec(),
        epoch: 7,
        now: 1500,
        undo: undo.collect(),
    };
    Setup { secret, public, start }
}

#[test]
fn a_countersigned_plan_is_accepted() {
    verify(&signed(&[Undo::Pure, Undo::Action, Undo::Snapshot]).start).unwrap();
}

#[test]
fn an_unsigned_plan_is_refused() {
    let mut setup = signed(&[Undo::Pure]);
    let honest: Value = serde_json::from_slice(&setup.start.envelope).unwrap();
    let mut bare = honest.clone();
    bare["signatures"] = json!([]);
    setup.start.envelope = serde_json::to_vec(&bare).unwrap();
    assert!(matches!(verify(&setup.start), Err(StartError::Verify(VerifyError::Envelope(_)))));
    setup.start.envelope = Vec::new();
    assert!(matches!(verify(&setup.start), Err(StartError::Envelope(_))));
    // Signed, but by a key that is not the gate's.
    setup.start.envelope = serde_json::to_vec(&honest).unwrap();
    setup.start.gate_key = SigningKey::from_bytes(&[2; 32]).verifying_key().to_bytes().to_vec();
    assert!(matches!(verify(&setup.start), Err(StartError::Verify(VerifyError::Envelope(_)))));
}

#[test]
fn an_altered_envelope_is_refused() {
    // One bit anywhere in the plan, or in the envelope's signature or payload.
    let setup = signed(&[Undo::Pure]);
    for at in 0..setup.start.plan.len() {
        let mut start = setup.start.clone();
        start.plan[at] ^= 1;
        assert!(verify(&start).is_err(), "byte {at} of the plan");
    }
    for at in 0..setup.start.envelope.len() {
        let mut start = setup.start.clone();
        start.envelope[at] ^= 1;
        assert!(verify(&start).is_err(), "byte {at} of the envelope");
    }
    let mut cut = setup.start.clone();
    cut.plan.pop();
    assert!(verify(&cut).is_err());
}

#[test]
fn an_expired_plan_is_refused() {
    let setup = signed(&[Undo::Pure]);
    for now in [999, 2000, i64::MAX, i64::MIN] {
        let start = to_executor::Start { now, ..setup.start.clone() };
        assert!(matches!(verify(&start), Err(StartError::Verify(VerifyError::Time { .. }))), "{now}");
    }
    let start = to_executor::Start { epoch: 8, ..setup.start };
    assert!(matches!(verify(&start), Err(StartError::Verify(VerifyError::Epoch { .. }))));
}

#[test]
fn a_plan_for_somebody_else_is_refused() {
    assert!(matches!(verify(&signed_as(&[Undo::Pure], Mode::Guarded).start), Err(StartError::Guarded)));
}

#[test]
fn how_steps_are_taken_back_is_said_once_for_each_and_as_the_plan_says() {
    let setup = signed(&[Undo::Snapshot, Undo::Action]);
    let change = |change: fn(&mut Vec<to_executor::Undo>)| {
        let mut start = setup.start.clone();
        change(&mut start.undo);
        verify(&start)
    };
    assert!(matches!(change(|undo| undo.swap(0, 1)), Err(StartError::Undo)));
    assert!(matches!(change(|undo| drop(undo.pop())), Err(StartError::Undo)));
    assert!(matches!(change(|undo| undo.push(undo[0].clone())), Err(StartError::Undo)));
    assert!(matches!(change(|undo| undo[0].by = "retry".to_owned()), Err(StartError::Undo)));
    assert!(matches!(change(|undo| undo[0].by = "action".to_owned()), Err(StartError::Contradiction(..))));
    assert!(matches!(change(|undo| undo[1].by = "snapshot".to_owned()), Err(StartError::Contradiction(..))));
    // Too large to keep: a snapshot that the plan wants may turn out to be none, never the other way round.
    assert!(change(|undo| undo[0].by = "none".to_owned()).is_ok());
}
