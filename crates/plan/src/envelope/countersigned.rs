//! The countersigned plan: an in-toto Statement v1 with the plan's digest as subject, in a DSSE envelope by the gate's key.

use serde::{Deserialize, Serialize};

use super::{Envelope, EnvelopeError};
use crate::artifact::{Plan, PlanError};
use crate::canonical::Object;
use crate::digest::Digest;
use crate::document::{self, Bounds, DocumentError};
use crate::draft::Draft;
use crate::id::CaseId;
use crate::key::PublicKey;
use crate::time::Timestamp;

/// DSSE payload type of in-toto statements.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const SUBJECT: &str = "plan";
const PREDICATE_TYPE: &str = "urn:countersign:countersignature:v1";

/// What the gate says about a plan when it signs it: the statement's predicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Countersignature {
    /// Digests of the approvals that were needed.
    pub approvals: Vec<Digest>,
    /// The case.
    pub case: CaseId,
    /// Digest of the recorded verdict.
    pub decision: Digest,
    /// The monitor's boot epoch; a plan dies with it.
    pub epoch: u64,
    /// From when on it may not run any more.
    pub expires_at: Timestamp,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// The version of the plan in its case.
    pub version: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    predicate: Countersignature,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    digest: SubjectDigest,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectDigest {
    sha256: String,
}

/// Exact bytes of a plan and the gate's envelope over their digest. Says nothing before it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountersignedPlan {
    /// Canonical bytes of the plan.
    pub plan: Vec<u8>,
    /// The gate's envelope.
    pub envelope: Envelope,
}

/// What a verifier believes.
#[derive(Debug, Clone)]
pub struct TrustRoot {
    /// The gate's public key.
    pub gate: PublicKey,
    /// The boot epoch in which plans are valid; any where absent (offline checks).
    pub epoch: Option<u64>,
}

/// Why a countersigned plan was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The envelope does not hold.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The statement is malformed.
    #[error("statement: {0}")]
    Statement(#[from] DocumentError),
    /// The statement is of another kind.
    #[error("the statement is no countersignature of a plan")]
    Kind,
    /// The bytes are not the plan that was signed.
    #[error("the plan's bytes have digest {found}, but {signed} was countersigned")]
    Altered {
        /// The digest that the gate signed.
        signed: String,
        /// The digest of the bytes.
        found: String,
    },
    /// The plan itself is malformed.
    #[error("plan: {0}")]
    Plan(#[from] PlanError),
    /// The plan and the statement name different cases or versions.
    #[error("the statement is about another case or version than the plan")]
    Mismatch,
    /// Signed before the monitor's last start.
    #[error("countersigned in boot epoch {signed}, but this is epoch {now}")]
    Epoch {
        /// The epoch in the statement.
        signed: u64,
        /// The epoch now.
        now: u64,
    },
    /// Not yet or no longer valid.
    #[error("valid from {from} until {until}, but it is {now}")]
    Time {
        /// Start of validity.
        from: Timestamp,
        /// End of validity.
        until: Timestamp,
        /// Gate time.
        now: Timestamp,
    },
}

/// A plan whose countersignature was checked: the only plan that can be carried out. It cannot be made in any other way.
#[derive(Debug)]
pub struct VerifiedPlan {
    plan: Plan,
    draft: Draft,
    digest: Digest,
    countersignature: Countersignature,
}

impl Countersignature {
    /// The payload and the bytes to sign (DSSE PAE) for a plan of this digest.
    #[must_use]
    pub fn to_sign(&self, plan_digest: Digest) -> (Vec<u8>, Vec<u8>) {
        // Words and numbers: nothing that has no JSON form.
        let payload = self.payload(plan_digest).unwrap_or_default();
        let bytes = super::pae(PAYLOAD_TYPE, &payload);
        (payload, bytes)
    }

    /// The canonical bytes of the statement about a plan of this digest.
    fn payload(&self, plan_digest: Digest) -> Result<Vec<u8>, serde_json::Error> {
        // So little that it comes from memory that was just given back.
        let mut bytes = Vec::with_capacity(1024);
        let mut out = Object::open(&mut bytes);
        out.text("_type", STATEMENT_TYPE);
        out.object("predicate", |out| {
            out.member("approvals", &self.approvals)?;
            out.text("case", self.case.as_str());
            out.digest("decision", &self.decision);
            out.member("epoch", &self.epoch)?;
            out.member("expires_at", &self.expires_at)?;
            out.member("signed_at", &self.signed_at)?;
            out.member("version", &self.version)
        })?;
        out.text("predicateType", PREDICATE_TYPE);
        out.objects("subject", &[plan_digest.hex()], |out, digest| {
            out.object("digest", |out| {
                out.text("sha256", digest);
                Ok::<_, serde_json::Error>(())
            })?;
            out.text("name", SUBJECT);
            Ok::<_, serde_json::Error>(())
        })?;
        out.close();
        Ok(bytes)
    }

    /// Reads the statement about a plan of this digest: as the gate writes it, or else by what it says, since other writers of in-toto
    /// statements put spaces.
    fn read(payload: &[u8], plan_digest: Digest) -> Result<Self, VerifyError> {
        let quick = serde_json::from_slice(payload).ok().map(|statement: Statement| statement.predicate);
        if let Some(same) = quick.filter(|quick| quick.payload(plan_digest).is_ok_and(|again| again == payload)) {
            return Ok(same);
        }
        let bounds = Bounds { bytes: 1 << 20, depth: 8, values: 4096 };
        let statement: Statement = document::typed(document::from_json(payload, bounds)?)?;
        let [subject] = statement.subject.as_slice() else { return Err(VerifyError::Kind) };
        if statement.kind != STATEMENT_TYPE || statement.predicate_type != PREDICATE_TYPE || subject.name != SUBJECT {
            return Err(VerifyError::Kind);
        }
        if plan_digest.hex() != subject.digest.sha256 {
            let signed = crate::text::escape(&subject.digest.sha256);
            return Err(VerifyError::Altered { signed, found: plan_digest.hex() });
        }
        Ok(statement.predicate)
    }

    /// The envelope around a payload of [`Countersignature::to_sign`].
    #[must_use]
    pub fn envelope(payload: Vec<u8>, key: crate::id::KeyId, signature: [u8; 64]) -> Envelope {
        Envelope::signed(PAYLOAD_TYPE, payload, key, signature)
    }
}

impl CountersignedPlan {
    /// Checks the gate's signature, the plan's digest, its form, its epoch and its time.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self, root: &TrustRoot, now: Timestamp) -> Result<VerifiedPlan, VerifyError> {
        let payload = self.envelope.verify(PAYLOAD_TYPE, &root.gate)?;
        let digest = Digest::of(&self.plan);
        let countersignature = Countersignature::read(payload, digest)?;
        let (plan, draft) = Plan::read(&self.plan)?;
        if plan.case != countersignature.case || plan.version != countersignature.version {
            return Err(VerifyError::Mismatch);
        }
        if let Some(epoch) = root.epoch.filter(|epoch| *epoch != countersignature.epoch) {
            return Err(VerifyError::Epoch { signed: countersignature.epoch, now: epoch });
        }
        let (from, until) = (plan.not_before, countersignature.expires_at);
        if now < from || now >= until {
            return Err(VerifyError::Time { from, until, now });
        }
        Ok(VerifiedPlan { plan, draft, digest, countersignature })
    }
}

impl VerifiedPlan {
    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its draft.
    #[must_use]
    pub const fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Its digest.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// What the gate said when it signed.
    #[must_use]
    pub const fn countersignature(&self) -> &Countersignature {
        &self.countersignature
    }
}
