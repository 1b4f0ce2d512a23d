//! What is signed here, and with what in it: the approver's records, made from what was shown.

use countersign_plan::approval::{Answer, Approval};
use countersign_plan::envelope::Envelope;
use countersign_plan::time::{Span, Timestamp};
use countersign_plan::verdict::{Quorum, Verdict};

use crate::clock;
use crate::failure::Failure;
use crate::key::{SealedKey, UnlockedKey};
use crate::passphrase::Source;
use crate::render::plan::Reviewed;

/// How long an answer counts where the case does not say.
const ANSWER_LIFE: Span = Span::from_secs(15 * 60);

/// An answer to a plan that was shown.
pub(crate) struct Answering<'a> {
    /// The plan, as it was shown.
    pub(crate) shown: &'a Reviewed,
    /// The verdict that asked.
    pub(crate) verdict: &'a Verdict,
    /// The answer.
    pub(crate) answer: Answer,
    /// The group as whose member, where one is claimed.
    pub(crate) role: Option<String>,
    /// For people.
    pub(crate) reason: Option<String>,
    /// Seconds until the case is denied by itself.
    pub(crate) expires_in_s: Option<u64>,
}

impl Answering<'_> {
    /// Signs it. The digest is that of the bytes that were shown, never one that somebody claims.
    pub(crate) fn sign(self, key: UnlockedKey) -> Result<Envelope, Failure> {
        let now = clock::now();
        let approval = Approval {
            case: self.shown.plan().case.clone(),
            plan_digest: self.shown.digest(),
            version: self.shown.plan().version,
            policy_digest: self.verdict.policy_digest,
            answer: self.answer,
            approver: key.principal().clone(),
            role: self.role,
            reason: self.reason,
            signed_at: now,
            expires_at: expiry(now, self.expires_in_s),
            nonce: nonce()?,
        };
        key.sign(&approval)
    }
}

/// The role that an approver speaks in: the one that was named, else the first group that is asked for and that the approver
/// belongs to.
pub(crate) fn role(named: Option<&str>, groups: &[String], quorums: &[Quorum]) -> Result<Option<String>, Failure> {
    if let Some(role) = named {
        return if groups.iter().any(|group| group == role) {
            Ok(Some(role.to_owned()))
        } else {
            let message = format!("the key does not belong to the group `{role}`");
            Err(Failure::usage(message).fix(format!("its groups: {}", groups.join(", "))))
        };
    }
    let asked = quorums.iter().filter_map(|quorum| quorum.group.as_ref());
    Ok(asked.into_iter().find(|group| groups.contains(group)).cloned())
}

/// Asks for the passphrase and opens the key for one signature; none where nothing was typed.
pub(crate) fn unlock(key: &SealedKey, source: Source, prompt: &str) -> Result<Option<UnlockedKey>, Failure> {
    let passphrase = source.ask(prompt)?;
    if passphrase.is_empty() {
        return Ok(None);
    }
    Ok(Some(key.unlock(&passphrase)?))
}

/// As [`unlock`], where typing nothing means that the command is not carried out.
pub(crate) fn must_unlock(key: &SealedKey, source: Source, prompt: &str) -> Result<UnlockedKey, Failure> {
    unlock(key, source, prompt)?
        .ok_or_else(|| Failure::refused("key.unlock", "no passphrase was given; nothing was signed"))
}

/// Until when an answer counts: as long as the case waits for one.
pub(crate) fn expiry(now: Timestamp, expires_in_s: Option<u64>) -> Timestamp {
    now.plus(expires_in_s.map_or(ANSWER_LIFE, Span::from_secs))
}

/// When a record is signed, and what makes it one of a kind.
pub(crate) fn stamp() -> Result<(Timestamp, String), Failure> {
    Ok((clock::now(), nonce()?))
}

fn nonce() -> Result<String, Failure> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure::internal(format!("no random bytes: {error}")))?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use countersign_plan::verdict::Quorum;

    use super::role;

    #[test]
    fn the_role_is_a_group_that_is_asked_for_and_belongs_to_the_key() {
        let groups = ["ops".to_owned(), "finance".to_owned()];
        let asked = [Quorum { group: Some("finance".to_owned()), quorum: 2 }];
        assert_eq!(role(None, &groups, &asked).unwrap().as_deref(), Some("finance"));
        assert_eq!(role(None, &groups, &[]).unwrap(), None);
        assert_eq!(role(Some("ops"), &groups, &asked).unwrap().as_deref(), Some("ops"));
        assert!(role(Some("admins"), &groups, &asked).is_err());
    }
}
