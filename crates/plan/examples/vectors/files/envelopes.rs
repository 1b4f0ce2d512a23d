//! DSSE envelopes: countersigned plans, permits and approvers' records, whole and broken.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use countersign_plan::approval::{
    Answer, Approval, ApprovalError, Approver, ApproverRecord, Enrolment, Erasure, Retirement, Settlement, Trust,
    VerifiedApproval, VerifiedRecord,
};
use countersign_plan::artifact::{self, Plan, StepGrant};
use countersign_plan::canonical;
use countersign_plan::confinement::Profile;
use countersign_plan::digest::Digest;
use countersign_plan::draft::Draft;
use countersign_plan::envelope::{
    Countersignature, CountersignedPlan, Envelope, EnvelopeError, TrustRoot, VerifyError, pae,
};
use countersign_plan::key::PublicKey;
use countersign_plan::permit::{Claims, PermitError, Phase, VerifiedPermit};
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Mode;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use super::{Cases, Differs, differs, same};

pub(super) const PLANS: &str = "Countersigned plans: the exact bytes of the plan (text) and the gate's envelope (DSSE over an \
    in-toto Statement v1), verified with the gate's key, boot epoch (null: any) and time. Ed25519 seeds: gate 32 bytes of 01, \
    mallory of 02, alice of 03, bob of 04.";
pub(super) const PERMITS: &str = "Permits: an envelope, the gate's key and boot epoch; the claims, or the kind of refusal. \
    Expiry and single use are for a verifier with a clock and a memory. Seeds as in plans.json.";
pub(super) const APPROVALS: &str = "Records that approvers sign (approval, enrolment, trust, settlement), against the enrolled \
    approvers; the digest is SHA-256 of the canonical JSON form of the envelope. Seeds as in plans.json.";

const STATEMENT: &str = "application/vnd.in-toto+json";
const PERMIT: &str = "application/vnd.countersign.permit+json";

struct Key(SigningKey);

impl Key {
    fn new(seed: u8) -> Self {
        Self(SigningKey::from_bytes(&[seed; 32]))
    }

    fn public(&self) -> Result<PublicKey, Differs> {
        PublicKey::from_bytes(&self.0.verifying_key().to_bytes()).map_err(|e| differs("key", e))
    }

    /// An envelope as this key signs it.
    fn envelope(&self, payload_type: &str, payload: &[u8]) -> Result<Value, Differs> {
        let signature = self.0.sign(&pae(payload_type, payload)).to_bytes();
        Ok(dsse(payload_type, payload, &[(self.public()?.id().as_str(), &signature)]))
    }
}

fn dsse(payload_type: &str, payload: &[u8], signatures: &[(&str, &[u8])]) -> Value {
    let signatures: Vec<Value> =
        signatures.iter().map(|(id, sig)| json!({"keyid": id, "sig": STANDARD.encode(sig)})).collect();
    json!({"payload": STANDARD.encode(payload), "payloadType": payload_type, "signatures": signatures})
}

fn signature_of(envelope: &Value) -> Result<Vec<u8>, Differs> {
    let text = envelope["signatures"][0]["sig"].as_str().unwrap_or_default();
    STANDARD.decode(text).map_err(|e| differs("signature", e))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_790_000_000_000 + second * 1000)
}

fn text(value: &Value) -> String {
    String::from_utf8_lossy(&canonical::to_vec(value)).into_owned()
}

fn name<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Differs> {
    text.parse().map_err(|e| differs(text, e))
}

fn a_plan() -> Result<Plan, Differs> {
    let source = json!({"schema": "countersign.plan/v1", "goal": "Read it", "steps": [{"id": "a", "action": "read_file", "args": {"path": "x"}}]});
    let draft = Draft::from_value(source.clone()).map_err(|e| differs("draft", e))?;
    let tool = Digest::of(b"tool");
    let steps = draft.steps().iter().map(|step| StepGrant {
        id: step.id.clone(),
        accesses: Vec::new(),
        profile: Profile::None,
        irreversible: false,
        action_digest: artifact::action_digest(step, tool, &source["steps"][0]),
    });
    Ok(Plan {
        schema: artifact::SCHEMA.to_owned(),
        case: name("c-1")?,
        version: 1,
        parent: None,
        principal: name("user:alice")?,
        agent: name("agent:planner")?,
        mode: Mode::Managed,
        draft_digest: draft.digest(),
        draft: source.clone().into(),
        inputs: Default::default(),
        cwd: "/w".to_owned(),
        steps: steps.collect(),
        tools: [(name("read_file")?, tool)].into(),
        policy_digest: Digest::of(b"policy"),
        deployment_digest: Digest::of(b"deployment"),
        label_proof: None,
        not_before: at(0),
        nonce: "00".to_owned(),
    })
}

fn a_statement(plan: &[u8]) -> Result<Value, Differs> {
    let countersignature = Countersignature {
        case: name("c-1")?,
        version: 1,
        epoch: 7,
        decision: Digest::of(b"decision"),
        approvals: vec![Digest::of(b"approval")],
        signed_at: at(0),
        expires_at: at(900),
    };
    let (payload, _) = countersignature.to_sign(Digest::of(plan));
    serde_json::from_slice(&payload).map_err(|e| differs("statement", e))
}

fn envelope_kind(error: &EnvelopeError) -> &'static str {
    match error {
        EnvelopeError::Document(_) => "document",
        EnvelopeError::Type { .. } => "type",
        EnvelopeError::Unsigned(_) => "unsigned",
        EnvelopeError::Key(_) => "signature",
    }
}

/// A plan, its envelope, and how they are to be verified.
struct Presented {
    plan: Vec<u8>,
    envelope: String,
    gate: PublicKey,
    epoch: Option<u64>,
    now: Timestamp,
}

impl Presented {
    fn verify(&self) -> Result<Digest, &'static str> {
        let envelope = Envelope::from_json(self.envelope.as_bytes()).map_err(|_| "document")?;
        let signed = CountersignedPlan { plan: self.plan.clone(), envelope };
        match signed.verify(&TrustRoot { gate: self.gate, epoch: self.epoch }, self.now) {
            Ok(verified) => Ok(verified.digest()),
            Err(VerifyError::Envelope(e)) => Err(envelope_kind(&e)),
            Err(VerifyError::Statement(_)) => Err("statement"),
            Err(VerifyError::Kind) => Err("kind"),
            Err(VerifyError::Altered { .. }) => Err("altered"),
            Err(VerifyError::Plan(_)) => Err("plan"),
            Err(VerifyError::Mismatch) => Err("mismatch"),
            Err(VerifyError::Epoch { .. }) => Err("epoch"),
            Err(VerifyError::Time { .. }) => Err("time"),
        }
    }

    fn case(&self, name: &str, expected: Result<(), &'static str>) -> Result<Value, Differs> {
        let found = self.verify();
        same(name, &expected, &found.map(drop))?;
        let (plan, gate, epoch) = (String::from_utf8_lossy(&self.plan), self.gate, self.epoch);
        let mut case = json!({"name": name, "plan": plan, "envelope": self.envelope, "gate": gate, "epoch": epoch, "now": self.now});
        match found {
            Ok(digest) => case["verified"] = json!({ "plan_digest": digest }),
            Err(kind) => case["refused"] = json!({ "kind": kind }),
        }
        Ok(case)
    }
}

pub(super) fn plans() -> Cases {
    let (gate, mallory) = (Key::new(1), Key::new(2));
    let plan = a_plan()?;
    let bytes = plan.to_bytes().map_err(|e| differs("plan", e))?;
    let statement = a_statement(&bytes)?;
    let good = gate.envelope(STATEMENT, text(&statement).as_bytes())?;
    let id = gate.public()?.id();
    let presented = |envelope: &Value| {
        let envelope = text(envelope);
        gate.public().map(|gate| Presented { plan: bytes.clone(), envelope, gate, epoch: Some(7), now: at(60) })
    };
    let mut cases = vec![presented(&good)?.case("good", Ok(()))?];

    // The circumstances.
    let circumstances = [
        ("at the first moment", Some(7), at(0), Ok(())),
        ("in any epoch", None, at(899), Ok(())),
        ("too early", Some(7), at(-1), Err("time")),
        ("at the moment of expiry", Some(7), at(900), Err("time")),
        ("after the monitor's next start", Some(8), at(60), Err("epoch")),
    ];
    for (name, epoch, now, expected) in circumstances {
        cases.push(Presented { epoch, now, ..presented(&good)? }.case(name, expected)?);
    }
    cases.push(Presented { gate: mallory.public()?, ..presented(&good)? }.case("another gate", Err("unsigned"))?);

    // The plan's bytes.
    let alter = |from: &str, to: &str| String::from_utf8_lossy(&bytes).replacen(from, to, 1).into_bytes();
    let altered = [
        ("a word of the plan altered", alter("Read it", "Read me")),
        ("a space more in the plan", alter("{", "{ ")),
        ("no plan at all", Vec::new()),
    ];
    for (name, plan) in altered {
        cases.push(Presented { plan, ..presented(&good)? }.case(name, Err("altered"))?);
    }

    // The signatures.
    let payload = text(&statement).into_bytes();
    let signature = signature_of(&good)?;
    let order = hex_bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut carry = 0;
    let (r, s) = signature.split_at(32);
    let s = s.iter().zip(&order).map(|(&a, &b)| {
        let sum = u16::from(a) + u16::from(b) + carry;
        carry = sum >> 8;
        sum.to_le_bytes()[0]
    });
    let malleable: Vec<u8> = r.iter().copied().chain(s).collect();
    let foreign = signature_of(&mallory.envelope(STATEMENT, &payload)?)?;
    let mallory_id = mallory.public()?.id();
    let mut unpadded = good.clone();
    unpadded["signatures"][0]["sig"] = json!(STANDARD_NO_PAD.encode(&signature));
    let mut extra = good.clone();
    extra["comment"] = json!("trust me");
    let other = text(&a_statement(b"another plan")?).into_bytes();
    let many = vec![(mallory_id.as_str(), foreign.as_slice()); 16];
    let too_many: Vec<_> = many.iter().copied().chain([(id.as_str(), signature.as_slice())]).collect();
    let envelopes = [
        (
            "a foreign signature beside the gate's",
            dsse(STATEMENT, &payload, &[(mallory_id.as_str(), &foreign), (id.as_str(), &signature)]),
            Ok(()),
        ),
        (
            "a foreign signature under the gate's name",
            dsse(STATEMENT, &payload, &[(id.as_str(), &foreign)]),
            Err("signature"),
        ),
        ("a foreign signature alone", dsse(STATEMENT, &payload, &[(mallory_id.as_str(), &foreign)]), Err("unsigned")),
        ("no signature", dsse(STATEMENT, &payload, &[]), Err("unsigned")),
        (
            "another payload under the signature",
            dsse(STATEMENT, &other, &[(id.as_str(), &signature)]),
            Err("signature"),
        ),
        (
            "the payload signed without its type",
            dsse(STATEMENT, &payload, &[(id.as_str(), &gate.0.sign(&payload).to_bytes())]),
            Err("signature"),
        ),
        ("another type over the same signature", dsse(PERMIT, &payload, &[(id.as_str(), &signature)]), Err("type")),
        ("signed by the gate as a permit", gate.envelope(PERMIT, &payload)?, Err("type")),
        ("a malleable signature (S + L)", dsse(STATEMENT, &payload, &[(id.as_str(), &malleable)]), Err("signature")),
        ("a signature of zeros", dsse(STATEMENT, &payload, &[(id.as_str(), &[0; 64])]), Err("signature")),
        ("a short signature", dsse(STATEMENT, &payload, &[(id.as_str(), &[0; 63])]), Err("document")),
        ("17 signatures", dsse(STATEMENT, &payload, &too_many), Err("document")),
        ("base64 without padding", unpadded, Err("document")),
        ("an unknown field in the envelope", extra, Err("document")),
    ];
    for (name, envelope, expected) in envelopes {
        cases.push(presented(&envelope)?.case(name, expected)?);
    }
    let twice = text(&good).replacen('{', "{\"payload\":\"\",", 1);
    cases.push(Presented { envelope: twice, ..presented(&good)? }.case("a payload twice", Err("document"))?);
    // The neutral element as a public key: a lax verifier takes R = neutral, S = 0 for a signature of everything.
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let mut universal = [0; 64];
    universal[0] = 1;
    let weak = PublicKey::from_bytes(&neutral).map_err(|e| differs("weak key", e))?;
    let envelope = text(&dsse(STATEMENT, &payload, &[(weak.id().as_str(), &universal)]));
    cases
        .push(Presented { envelope, gate: weak, ..presented(&good)? }.case("a gate of small order", Err("signature"))?);

    // Statements that the gate's key signed, but that say something else.
    let edits: [(&str, &str, Value, &'static str); 11] = [
        ("another statement type", "/_type", json!("https://in-toto.io/Statement/v0.1"), "kind"),
        ("another predicate", "/predicateType", json!("https://slsa.dev/provenance/v1"), "kind"),
        ("another subject's name", "/subject/0/name", json!("permit"), "kind"),
        ("no subject", "/subject", json!([]), "kind"),
        ("two subjects", "/subject", json!([statement["subject"][0], statement["subject"][0]]), "kind"),
        ("another digest", "/subject/0/digest/sha256", json!(Digest::of(b"x").hex()), "altered"),
        (
            "the digest in upper case",
            "/subject/0/digest/sha256",
            json!(Digest::of(&bytes).hex().to_uppercase()),
            "altered",
        ),
        ("another case", "/predicate/case", json!("c-2"), "mismatch"),
        ("another version", "/predicate/version", json!(2), "mismatch"),
        ("an unknown field in the predicate", "/predicate/by", json!("me"), "statement"),
        ("an expiry that is no time", "/predicate/expires_at", json!("never"), "statement"),
    ];
    for (name, place, value, kind) in edits {
        let mut edited = statement.clone();
        put(&mut edited, place, value);
        let envelope = gate.envelope(STATEMENT, text(&edited).as_bytes())?;
        cases.push(presented(&envelope)?.case(name, Err(kind))?);
    }
    let twice = text(&statement).replacen('{', "{\"predicateType\":\"x\",", 1);
    let envelope = gate.envelope(STATEMENT, twice.as_bytes())?;
    cases.push(presented(&envelope)?.case("a member twice in the statement", Err("statement"))?);
    // Not canonical, but exactly what was signed: nothing is canonicalised again.
    let spaced = text(&statement).replacen('{', "{ ", 1);
    let envelope = gate.envelope(STATEMENT, spaced.as_bytes())?;
    cases.push(presented(&envelope)?.case("a statement with spaces", Ok(()))?);

    // Plans that the gate's key signed, but whose parts contradict each other.
    let edits = [
        ("another draft than its digest", "/draft/steps/0/args/path", json!("/etc/shadow")),
        ("no grant for a step", "/steps", json!([])),
        ("a grant for another step", "/steps/0/id", json!("b")),
        ("an unknown field in the plan", "/sudo", json!(true)),
        ("another schema", "/schema", json!("countersign.artifact/v2")),
    ];
    for (name, place, value) in edits {
        let mut edited: Value = serde_json::from_slice(&bytes).map_err(|e| differs(name, e))?;
        put(&mut edited, place, value);
        let plan = text(&edited).into_bytes();
        let envelope = text(&gate.envelope(STATEMENT, text(&a_statement(&plan)?).as_bytes())?);
        cases.push(Presented { plan, envelope, ..presented(&good)? }.case(name, Err("plan"))?);
    }
    // A plan has one form.
    let plan = String::from_utf8_lossy(&bytes).replacen('{', "{ ", 1).into_bytes();
    let envelope = text(&gate.envelope(STATEMENT, text(&a_statement(&plan)?).as_bytes())?);
    cases.push(Presented { plan, envelope, ..presented(&good)? }.case("a plan with spaces", Err("plan"))?);
    Ok(cases)
}

fn hex_bytes(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .filter_map(|i| text.get(2 * i..2 * i + 2))
        .filter_map(|b| u8::from_str_radix(b, 16).ok())
        .collect()
}

/// Sets the member at a pointer; the last segment may be new.
fn put(value: &mut Value, place: &str, new: Value) {
    if let Some((parent, last)) = place.rsplit_once('/') {
        match value.pointer_mut(parent) {
            Some(Value::Object(members)) => drop(members.insert(last.to_owned(), new)),
            Some(other) => other[last.parse().unwrap_or(0_usize)] = new,
            None => {}
        }
    }
}

pub(super) fn permits() -> Cases {
    let (gate, mallory) = (Key::new(1), Key::new(2));
    let claims = Claims {
        case: name("c-1")?,
        plan_digest: Digest::of(b"plan"),
        version: 1,
        step: name("a")?,
        attempt: 1,
        phase: Phase::Act,
        tool: name("read_file")?,
        tool_digest: Digest::of(b"tool"),
        args_digest: Digest::of(b"{\"path\":\"x\"}"),
        spec_digest: Digest::of(b"spec"),
        epoch: 7,
        issued_at: at(0),
        expires_at: at(60),
        nonce: "01".to_owned(),
    };
    let (payload, _) = claims.to_sign().map_err(|e| differs("permit", e))?;
    let value: Value = serde_json::from_slice(&payload).map_err(|e| differs("permit", e))?;
    let edit = |place: &str, new: Value| {
        let mut edited = value.clone();
        put(&mut edited, place, new);
        gate.envelope(PERMIT, text(&edited).as_bytes())
    };
    let good = gate.envelope(PERMIT, &payload)?;
    let mut moved = good.clone();
    moved["payload"] = json!(STANDARD.encode(text(&value).replace("\"attempt\":1", "\"attempt\":2")));
    let rows: Vec<(&str, Value, u64, Result<(), &'static str>)> = vec![
        ("good", good.clone(), 7, Ok(())),
        ("each phase has its word", edit("/phase", json!("compensate"))?, 7, Ok(())),
        ("after the monitor's next start", good.clone(), 8, Err("epoch")),
        ("of a later start", good, 6, Err("epoch")),
        ("for another attempt than was signed", moved, 7, Err("signature")),
        ("signed by mallory", mallory.envelope(PERMIT, &payload)?, 7, Err("unsigned")),
        ("a statement", gate.envelope(STATEMENT, &payload)?, 7, Err("type")),
        ("an approval", gate.envelope(Approval::PAYLOAD_TYPE, &payload)?, 7, Err("type")),
        ("an unknown phase", edit("/phase", json!("Act"))?, 7, Err("claims")),
        ("an unknown claim", edit("/admin", json!(true))?, 7, Err("claims")),
        ("a digest without its algorithm", edit("/args_digest", json!(Digest::of(b"x").hex()))?, 7, Err("claims")),
        ("a negative attempt", edit("/attempt", json!(-1))?, 7, Err("claims")),
        ("a step that is none", edit("/step", json!("A"))?, 7, Err("claims")),
        ("no claims", gate.envelope(PERMIT, b"")?, 7, Err("claims")),
        (
            "a claim twice",
            gate.envelope(PERMIT, text(&value).replacen('{', "{\"step\":\"b\",", 1).as_bytes())?,
            7,
            Err("claims"),
        ),
    ];
    let mut cases = Vec::new();
    for (name, envelope, epoch, expected) in rows {
        let envelope = text(&envelope);
        let key = gate.public()?;
        let parsed = Envelope::from_json(envelope.as_bytes()).map_err(|e| differs(name, e))?;
        let found = match VerifiedPermit::verify(&parsed, &key, epoch) {
            Ok(permit) => Ok(serde_json::to_value(permit.claims()).map_err(|e| differs(name, e))?),
            Err(PermitError::Envelope(e)) => Err(envelope_kind(&e)),
            Err(PermitError::Claims(_)) => Err("claims"),
            Err(PermitError::Epoch { .. }) => Err("epoch"),
        };
        same(name, &expected, &found.clone().map(drop))?;
        let mut case = json!({"name": name, "envelope": envelope, "gate": key, "epoch": epoch});
        match found {
            Ok(claims) => case["verified"] = json!({ "claims": claims }),
            Err(kind) => case["refused"] = json!({ "kind": kind }),
        }
        cases.push(case);
    }
    Ok(cases)
}

fn approval_kind(error: &ApprovalError) -> &'static str {
    match error {
        ApprovalError::Envelope(e) => envelope_kind(e),
        ApprovalError::Record(_) => "record",
        ApprovalError::NotEnrolled(_) => "not_enrolled",
        ApprovalError::Impersonation { .. } => "impersonation",
        ApprovalError::Role(..) => "role",
    }
}

fn verify_record(record: &str, envelope: &Envelope, enrolled: &[Approver]) -> Result<Digest, ApprovalError> {
    match record {
        "approval" => VerifiedApproval::verify(envelope, enrolled).map(|v| v.digest()),
        "enrolment" => VerifiedRecord::<Enrolment>::verify(envelope, enrolled).map(|v| v.digest()),
        "trust" => VerifiedRecord::<Trust>::verify(envelope, enrolled).map(|v| v.digest()),
        "retirement" => VerifiedRecord::<Retirement>::verify(envelope, enrolled).map(|v| v.digest()),
        "erasure" => VerifiedRecord::<Erasure>::verify(envelope, enrolled).map(|v| v.digest()),
        _ => VerifiedRecord::<Settlement>::verify(envelope, enrolled).map(|v| v.digest()),
    }
}

pub(super) fn approvals() -> Cases {
    let (gate, mallory, alice, bob) = (Key::new(1), Key::new(2), Key::new(3), Key::new(4));
    let enrolled = [
        Approver {
            principal: name("user:alice")?,
            groups: vec!["finance".to_owned(), "ops".to_owned()],
            key: alice.public()?,
        },
        Approver { principal: name("user:bob")?, groups: Vec::new(), key: bob.public()? },
    ];
    let approval = Approval {
        case: name("c-1")?,
        plan_digest: Digest::of(b"plan"),
        version: 1,
        policy_digest: Digest::of(b"policy"),
        answer: Answer::Approve,
        approver: name("user:alice")?,
        role: Some("finance".to_owned()),
        reason: None,
        signed_at: at(0),
        expires_at: at(900),
        nonce: "02".to_owned(),
    };
    let value = serde_json::to_value(&approval).map_err(|e| differs("approval", e))?;
    let edit = |place: &str, new: Value| {
        let mut edited = value.clone();
        put(&mut edited, place, new);
        edited
    };
    let sign = |key: &Key, kind: &str, value: &Value| key.envelope(kind, text(value).as_bytes());
    let a = Approval::PAYLOAD_TYPE;
    let enrolment = json!({"approver": {"principal": "user:mallory", "groups": [], "key": mallory.public()?}, "principal": "user:alice", "signed_at": at(0), "nonce": "03"});
    let trust = json!({"path": "/srv/countersign.yaml", "digest": Digest::of(b"file"), "principal": "user:bob", "signed_at": at(0), "nonce": "04"});
    let settlement = json!({"case": "c-1", "step": "a", "happened": true, "principal": "user:alice", "signed_at": at(0), "nonce": "05"});
    let retirement = json!({"key": bob.public()?, "principal": "user:alice", "signed_at": at(0), "nonce": "06"});
    let erasure =
        json!({"case": "c-1", "reason": "asked to", "principal": "user:alice", "signed_at": at(0), "nonce": "07"});
    let mut silent = erasure.clone();
    silent["reason"] = json!(null);
    let good = sign(&alice, a, &value)?;
    let mut both = good.clone();
    both["signatures"] = json!([sign(&mallory, a, &value)?["signatures"][0], good["signatures"][0]]);
    let mut swapped = good.clone();
    swapped["payload"] = json!(STANDARD.encode(text(&edit("/answer", json!("deny")))));
    let rows: Vec<(&str, &str, Value, Result<(), &'static str>)> = vec![
        ("good", "approval", good.clone(), Ok(())),
        (
            "a denial without a group",
            "approval",
            sign(
                &bob,
                a,
                &json!({"answer": "deny", "approver": "user:bob", "case": "c-1", "expires_at": at(900), "nonce": "n", "plan_digest": approval.plan_digest, "policy_digest": approval.policy_digest, "reason": "no", "signed_at": at(0), "version": 1}),
            )?,
            Ok(()),
        ),
        ("a stranger's signature beside it", "approval", both, Ok(())),
        ("a stranger's", "approval", sign(&mallory, a, &value)?, Err("not_enrolled")),
        ("the gate's", "approval", sign(&gate, a, &value)?, Err("not_enrolled")),
        ("of nobody", "approval", dsse(a, text(&value).as_bytes(), &[]), Err("not_enrolled")),
        ("bob in alice's name", "approval", sign(&bob, a, &value)?, Err("impersonation")),
        ("for a group that is not hers", "approval", sign(&alice, a, &edit("/role", json!("security")))?, Err("role")),
        ("for a group in another case", "approval", sign(&alice, a, &edit("/role", json!("Finance")))?, Err("role")),
        ("another answer than was signed", "approval", swapped, Err("signature")),
        (
            "an answer that does not exist",
            "approval",
            sign(&alice, a, &edit("/answer", json!("approved")))?,
            Err("record"),
        ),
        ("no answer", "approval", sign(&alice, a, &edit("/answer", json!(null)))?, Err("record")),
        ("an unknown field", "approval", sign(&alice, a, &edit("/scope", json!("*")))?, Err("record")),
        ("signed as a permit", "approval", sign(&alice, PERMIT, &value)?, Err("type")),
        ("an enrolment", "enrolment", sign(&alice, Enrolment::PAYLOAD_TYPE, &enrolment)?, Ok(())),
        (
            "an enrolment by oneself",
            "enrolment",
            sign(&mallory, Enrolment::PAYLOAD_TYPE, &enrolment)?,
            Err("not_enrolled"),
        ),
        ("an enrolment signed as an approval", "enrolment", sign(&alice, a, &enrolment)?, Err("type")),
        ("trust", "trust", sign(&bob, Trust::PAYLOAD_TYPE, &trust)?, Ok(())),
        ("trust in bob's name", "trust", sign(&alice, Trust::PAYLOAD_TYPE, &trust)?, Err("impersonation")),
        ("a settlement", "settlement", sign(&alice, Settlement::PAYLOAD_TYPE, &settlement)?, Ok(())),
        ("a retirement", "retirement", sign(&alice, Retirement::PAYLOAD_TYPE, &retirement)?, Ok(())),
        (
            "a retirement by a stranger",
            "retirement",
            sign(&mallory, Retirement::PAYLOAD_TYPE, &retirement)?,
            Err("not_enrolled"),
        ),
        (
            "a retirement signed as an enrolment",
            "retirement",
            sign(&alice, Enrolment::PAYLOAD_TYPE, &retirement)?,
            Err("type"),
        ),
        ("an erasure", "erasure", sign(&alice, Erasure::PAYLOAD_TYPE, &erasure)?, Ok(())),
        ("an erasure without a reason", "erasure", sign(&alice, Erasure::PAYLOAD_TYPE, &silent)?, Err("record")),
        ("an erasure by a stranger", "erasure", sign(&mallory, Erasure::PAYLOAD_TYPE, &erasure)?, Err("not_enrolled")),
        (
            "an erasure signed as a settlement",
            "erasure",
            sign(&alice, Settlement::PAYLOAD_TYPE, &erasure)?,
            Err("type"),
        ),
        ("a settlement shown as trust", "trust", sign(&alice, Settlement::PAYLOAD_TYPE, &settlement)?, Err("type")),
    ];
    let mut cases = Vec::new();
    for (name, record, envelope, expected) in rows {
        let envelope = text(&envelope);
        let parsed = Envelope::from_json(envelope.as_bytes()).map_err(|e| differs(name, e))?;
        let found = verify_record(record, &parsed, &enrolled).map_err(|e| approval_kind(&e));
        same(name, &expected, &found.map(drop))?;
        let mut case = json!({"name": name, "record": record, "envelope": envelope, "enrolled": enrolled});
        match found {
            Ok(digest) => case["verified"] = json!({ "digest": digest }),
            Err(kind) => case["refused"] = json!({ "kind": kind }),
        }
        cases.push(case);
    }
    Ok(cases)
}
