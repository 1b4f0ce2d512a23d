//! Approvals: a signature of an enrolled approver over exactly the plan that was shown (INV-3, INV-7; `lesson_20` to `lesson_22`).
//!
//! Approvers sign other records too (another approver's enrolment, trust in a configuration file, the settlement of an
//! effect whose outcome is unknown). Each has a payload type of its own, so that none passes for another, and all are
//! checked in the same way: [`VerifiedRecord::verify`].

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::digest::Digest;
use crate::document::{self, Bounds, DocumentError};
use crate::envelope::{self, Envelope, EnvelopeError};
use crate::id::{CaseId, KeyId, Principal, StepId};
use crate::key::PublicKey;
use crate::time::Timestamp;

/// What an approver says about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It may run.
    Approve,
    /// It may not.
    Deny,
}

/// An approver's record: everything that the signature is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The case.
    pub case: CaseId,
    /// The exact plan.
    pub plan_digest: Digest,
    /// Its version.
    pub version: u32,
    /// The policy that asked.
    pub policy_digest: Digest,
    /// The answer.
    pub answer: Answer,
    /// Who answers.
    pub approver: Principal,
    /// The group as whose member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// For people; required for a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// Counts for nothing from then on.
    pub expires_at: Timestamp,
    /// Makes two equal approvals two.
    pub nonce: String,
}

/// A person who may approve, with the key that proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approver {
    /// Who.
    pub principal: Principal,
    /// The groups that the person belongs to.
    #[serde(default)]
    pub groups: Vec<String>,
    /// The public key.
    pub key: PublicKey,
}

/// An approval whose signature was checked against an enrolled approver. It cannot be made in any other way.
#[derive(Debug)]
pub struct VerifiedApproval {
    approval: Approval,
    digest: Digest,
}

/// Why an approval was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// The envelope does not hold.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The record is malformed.
    #[error("approval: {0}")]
    Record(#[from] DocumentError),
    /// The key is not that of an enrolled approver.
    #[error("no enrolled approver has the key {0}; enrol it first with `countersign keys enroll`")]
    NotEnrolled(KeyId),
    /// The record names somebody other than the owner of the key.
    #[error("the key belongs to {owner}, but the record says {claimed}")]
    Impersonation {
        /// Whose key it is.
        owner: Principal,
        /// Who the record says.
        claimed: Principal,
    },
    /// The approver does not belong to the group that the record claims.
    #[error("{0} does not belong to the group `{1}`")]
    Role(Principal, String),
}

/// A record that an approver signs.
pub trait ApproverRecord: Serialize + DeserializeOwned {
    /// The DSSE payload type.
    const PAYLOAD_TYPE: &'static str;

    /// Who the record says that it is from.
    fn signer(&self) -> &Principal;

    /// The group as whose member the record speaks, if it says one.
    fn role(&self) -> Option<&str> {
        None
    }

    /// The payload and the bytes to sign (DSSE PAE).
    ///
    /// # Errors
    /// Never for these types; kept so that nothing is signed by accident.
    fn to_sign(&self) -> Result<(Vec<u8>, Vec<u8>), serde_json::Error> {
        let payload = canonical::of(self)?;
        let bytes = envelope::pae(Self::PAYLOAD_TYPE, &payload);
        Ok((payload, bytes))
    }

    /// The envelope around a payload of [`ApproverRecord::to_sign`].
    fn envelope(payload: Vec<u8>, key: KeyId, signature: [u8; 64]) -> Envelope {
        Envelope::signed(Self::PAYLOAD_TYPE, payload, key, signature)
    }
}

impl ApproverRecord for Approval {
    const PAYLOAD_TYPE: &'static str = "application/vnd.countersign.approval+json";

    fn signer(&self) -> &Principal {
        &self.approver
    }

    fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }
}

/// An enrolled approver's word that another person may approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolment {
    /// Who may approve from now on.
    pub approver: Approver,
    /// Who says so.
    pub principal: Principal,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// Makes two equal enrolments two; a replay is seen by it.
    pub nonce: String,
}

impl ApproverRecord for Enrolment {
    const PAYLOAD_TYPE: &'static str = "application/vnd.countersign.enrolment+json";

    fn signer(&self) -> &Principal {
        &self.principal
    }
}

/// An approver's word that a key approves nothing any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retirement {
    /// The key that is retired.
    pub key: PublicKey,
    /// Who says so.
    pub principal: Principal,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// Makes two equal retirements two; a replay is seen by it.
    pub nonce: String,
}

impl ApproverRecord for Retirement {
    const PAYLOAD_TYPE: &'static str = "application/vnd.countersign.retirement+json";

    fn signer(&self) -> &Principal {
        &self.principal
    }
}

/// Trust in a configuration file at one digest: its keys that loosen count (FORMATS §4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// The file; absolute, without symbolic links.
    pub path: String,
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// Who trusts it.
    pub principal: Principal,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// Makes two equal records two; a replay is seen by it.
    pub nonce: String,
}

impl ApproverRecord for Trust {
    const PAYLOAD_TYPE: &'static str = "application/vnd.countersign.trust+json";

    fn signer(&self) -> &Principal {
        &self.principal
    }
}

/// An approver's word that the words of a case that ended are to be destroyed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erasure {
    /// The case.
    pub case: CaseId,
    /// Why; it stays readable.
    pub reason: String,
    /// Who says so.
    pub principal: Principal,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// Makes two equal records two; a replay is seen by it.
    pub nonce: String,
}

impl ApproverRecord for Erasure {
    const PAYLOAD_TYPE: &'static str = "application/vnd.countersign.erasure+json";

    fn signer(&self) -> &Principal {
        &self.principal
    }
}

/// A person's word on an effect whose outcome is unknown (INV-2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settlement {
    /// The indeterminate case.
    pub case: CaseId,
    /// The step whose outcome is unknown.
    pub step: StepId,
    /// Whether the effect happened.
    pub happened: bool,
    /// Who says so.
    pub principal: Principal,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// Makes two equal records two; a replay is seen by it.
    pub nonce: String,
}

impl ApproverRecord for Settlement {
    const PAYLOAD_TYPE: &'static str = "application/vnd.countersign.settlement+json";

    fn signer(&self) -> &Principal {
        &self.principal
    }
}

/// A record whose signature was checked against an enrolled approver. It cannot be made in any other way.
#[derive(Debug)]
pub struct VerifiedRecord<R> {
    record: R,
    key: KeyId,
    digest: Digest,
}

impl<R: ApproverRecord> VerifiedRecord<R> {
    /// Checks that an enrolled approver signed, that the record speaks for the owner of that key, and for a group only if
    /// the owner belongs to it. Freshness, replay and the record's meaning are for the caller to judge.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(envelope: &Envelope, enrolled: &[Approver]) -> Result<Self, ApprovalError> {
        let mut unknown = None;
        for id in envelope.key_ids() {
            let Some(approver) = enrolled.iter().find(|a| a.key.id() == *id) else {
                unknown = Some(id.clone());
                continue;
            };
            let payload = envelope.verify(R::PAYLOAD_TYPE, &approver.key)?;
            let bounds = Bounds { bytes: 64 << 10, depth: 4, values: 256 };
            let record: R = document::typed(document::from_json(payload, bounds)?)?;
            if *record.signer() != approver.principal {
                let (owner, claimed) = (approver.principal.clone(), record.signer().clone());
                return Err(ApprovalError::Impersonation { owner, claimed });
            }
            if let Some(role) = record.role().filter(|role| !approver.groups.iter().any(|group| group == role)) {
                return Err(ApprovalError::Role(record.signer().clone(), crate::text::escape(role)));
            }
            return Ok(Self { digest: Digest::of(&envelope.to_json()), key: id.clone(), record });
        }
        Err(ApprovalError::NotEnrolled(unknown.unwrap_or_else(KeyId::unmatched)))
    }

    /// What was said.
    #[must_use]
    pub const fn record(&self) -> &R {
        &self.record
    }

    /// The key that signed.
    #[must_use]
    pub const fn key(&self) -> &KeyId {
        &self.key
    }

    /// The digest of the signed envelope.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

impl Approval {
    /// The payload and the bytes to sign (DSSE PAE).
    ///
    /// # Errors
    /// Never for this type; kept so that nothing is approved by accident.
    pub fn to_sign(&self) -> Result<(Vec<u8>, Vec<u8>), serde_json::Error> {
        ApproverRecord::to_sign(self)
    }

    /// The envelope around a payload of [`Approval::to_sign`].
    #[must_use]
    pub fn envelope(payload: Vec<u8>, key: KeyId, signature: [u8; 64]) -> Envelope {
        <Self as ApproverRecord>::envelope(payload, key, signature)
    }
}

impl VerifiedApproval {
    /// Checks the signature against the enrolled approvers.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(envelope: &Envelope, enrolled: &[Approver]) -> Result<Self, ApprovalError> {
        VerifiedRecord::verify(envelope, enrolled)
            .map(|VerifiedRecord { record, digest, key: _ }| Self { approval: record, digest })
    }

    /// What was said.
    #[must_use]
    pub const fn approval(&self) -> &Approval {
        &self.approval
    }

    /// The digest of the signed envelope.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::{ApprovalError, Approver, ApproverRecord, Enrolment, Settlement, Trust, VerifiedRecord};
    use crate::digest::Digest;
    use crate::envelope::{Envelope, EnvelopeError};
    use crate::key::PublicKey;
    use crate::time::Timestamp;

    fn approver(name: &str, key: &SigningKey) -> Approver {
        let key = PublicKey::from_bytes(&key.verifying_key().to_bytes()).unwrap();
        Approver { principal: name.parse().unwrap(), groups: vec!["ops".to_owned()], key }
    }

    fn sign<R: ApproverRecord>(record: &R, key: &SigningKey) -> Envelope {
        let (payload, bytes) = record.to_sign().unwrap();
        let id = PublicKey::from_bytes(&key.verifying_key().to_bytes()).unwrap().id();
        R::envelope(payload, id, key.sign(&bytes).to_bytes())
    }

    fn trust(principal: &str) -> Trust {
        Trust {
            path: "/srv/countersign.yaml".to_owned(),
            digest: Digest::of(b"x"),
            principal: principal.parse().unwrap(),
            signed_at: Timestamp::EPOCH,
            nonce: "n".to_owned(),
        }
    }

    #[test]
    fn a_record_counts_only_by_the_enrolled_owner_of_the_key() {
        let (alice, mallory) = (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]));
        let enrolled = [approver("user:alice", &alice)];
        let good = VerifiedRecord::<Trust>::verify(&sign(&trust("user:alice"), &alice), &enrolled).unwrap();
        assert_eq!(good.record().path, "/srv/countersign.yaml");

        let foreign = VerifiedRecord::<Trust>::verify(&sign(&trust("user:alice"), &mallory), &enrolled);
        assert!(matches!(foreign, Err(ApprovalError::NotEnrolled(_))));
        let both = [approver("user:alice", &alice), approver("user:mallory", &mallory)];
        let posing = VerifiedRecord::<Trust>::verify(&sign(&trust("user:alice"), &mallory), &both);
        assert!(matches!(posing, Err(ApprovalError::Impersonation { .. })));
    }

    #[test]
    fn no_record_passes_for_one_of_another_kind() {
        let alice = SigningKey::from_bytes(&[1; 32]);
        let enrolled = [approver("user:alice", &alice)];
        let enrolment = Enrolment {
            approver: approver("user:bob", &SigningKey::from_bytes(&[3; 32])),
            principal: "user:alice".parse().unwrap(),
            signed_at: Timestamp::EPOCH,
            nonce: "n".to_owned(),
        };
        let envelope = sign(&enrolment, &alice);
        assert_eq!(VerifiedRecord::<Enrolment>::verify(&envelope, &enrolled).unwrap().record(), &enrolment);
        for error in [
            VerifiedRecord::<Trust>::verify(&envelope, &enrolled).unwrap_err(),
            VerifiedRecord::<Settlement>::verify(&envelope, &enrolled).unwrap_err(),
        ] {
            assert!(matches!(error, ApprovalError::Envelope(EnvelopeError::Type { .. })), "{error}");
        }
    }
}
