//! Facts as entries of the ledger, and back: the one place that knows how the gate's records are written.

use countersign_ledger::{Entry, RecordKind};
use countersign_plan::id::{CaseId, KeyId, Principal, StepId};
use countersign_plan::permit::Phase;
use countersign_plan::saga::Fate;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Code;
use serde_json::{Map, Value, json};

use crate::machine::{Cause, Ending, Fact, Given, Lease, Violation};

/// The longest payload of an observation that is recorded whole, in bytes; of a larger one the digest is.
const WHOLE: usize = 512 << 10;
/// The longest words of somebody else that a record or message quotes, in characters.
const QUOTED: usize = 4096;
/// Where the house keeps what it has to know of cases that were erased. Nobody opens a case of that name.
pub(crate) const HOUSE: &str = "c-house";
/// The longest signed envelope that is recorded, in bytes.
pub(crate) const SIGNED: usize = 256 << 10;
/// The deepest nesting that is recorded whole.
const DEEP: usize = 64;
/// Integers from here on have no canonical form.
const UNSAFE_INTEGER: u64 = 1 << 53;

/// An entry about a case. What may hold the words of people, arguments or output is sealed under the case's key.
pub(crate) fn entry(kind: RecordKind, case: &CaseId, at: Timestamp, payload: Value) -> Entry {
    let sealed = match kind {
        RecordKind::CaseOpened
        | RecordKind::Proposal
        | RecordKind::Decision
        | RecordKind::Denial
        | RecordKind::Outcome
        | RecordKind::Compensation
        | RecordKind::Critical
        | RecordKind::Planner
        | RecordKind::Answer
        | RecordKind::Label
        | RecordKind::Alert => true,
        RecordKind::Boot
        | RecordKind::HaltAll
        | RecordKind::Approval
        | RecordKind::Countersignature
        | RecordKind::Permit
        | RecordKind::Intent
        | RecordKind::CaseClosed
        | RecordKind::RunEnded
        | RecordKind::CaseHalted
        | RecordKind::KeyRotated
        | RecordKind::ApproverEnrolled
        | RecordKind::TrustGranted
        | RecordKind::Erased
        | RecordKind::Config => false,
    };
    Entry { kind, case: Some(case.clone()), at, payload, sealed }
}

/// An entry about the monitor itself.
pub(crate) const fn general(kind: RecordKind, at: Timestamp, payload: Value) -> Entry {
    Entry { kind, case: None, at, payload, sealed: false }
}

/// The kind and the payload of a fact, with `more` members beside its own.
pub(crate) fn write(fact: &Fact, more: Map<String, Value>) -> (RecordKind, Value) {
    let (kind, own) = match fact {
        Fact::Reviewed => (RecordKind::Decision, json!({})),
        Fact::Approved { given, self_approved } => {
            let own = json!({"by": given.by, "key": given.key, "groups": given.groups, "self_approved": self_approved});
            (RecordKind::Approval, own)
        }
        Fact::Withdrawn(key) => (RecordKind::Approval, json!({"withdrawn": key})),
        Fact::Denied(by) => (RecordKind::Denial, json!({"by": by})),
        Fact::Countersigned(lease) => (
            RecordKind::Countersignature,
            json!({"epoch": lease.epoch, "signed_at": lease.signed_at, "expires_at": lease.expires_at}),
        ),
        Fact::Permitted { permit, step, phase, expires_at } => {
            (RecordKind::Permit, json!({"permit": permit, "step": step, "phase": phase, "expires_at": expires_at}))
        }
        Fact::Refused { step, phase, code } => {
            (RecordKind::Decision, json!({"refused": code, "step": step, "phase": phase}))
        }
        Fact::Intended { permit, step, phase } => {
            (RecordKind::Intent, json!({"permit": permit, "step": step, "phase": phase}))
        }
        Fact::Outcome { step, phase, fate } => {
            let kind = match phase {
                Phase::Snapshot | Phase::Act => RecordKind::Outcome,
                Phase::Restore | Phase::Compensate => RecordKind::Compensation,
            };
            (kind, json!({"step": step, "phase": phase, "fate": fate.as_str()}))
        }
        Fact::Critical(violation) => (RecordKind::Critical, json!({"violation": violation.as_str()})),
        Fact::Halted(cause) => (RecordKind::CaseHalted, json!({"cause": cause.as_str()})),
        Fact::Indeterminate { step, phase } => {
            (RecordKind::CaseHalted, json!({"indeterminate": true, "step": step, "phase": phase}))
        }
        Fact::Settled { by, step, happened } => {
            (RecordKind::Approval, json!({"settled": step, "happened": happened, "by": by}))
        }
        Fact::Stray => (RecordKind::Alert, json!({"stray": true})),
        Fact::Closed(ending) => (RecordKind::CaseClosed, json!({"ending": ending.as_str()})),
    };
    let mut payload = more;
    if let Value::Object(own) = own {
        payload.extend(own);
    }
    (kind, Value::Object(payload))
}

/// The fact that a record states; none where it states nothing about the life of its case.
///
/// # Errors
/// The record is of a kind that states a fact, and does not state one.
pub(crate) fn read(kind: RecordKind, payload: &Value) -> Result<Option<Fact>, &'static str> {
    let fact = match kind {
        RecordKind::Decision if payload.get("refused").is_some() => {
            let code = word(payload, "refused")?.parse::<Code>().map_err(|_| "its code is unknown")?;
            Fact::Refused { step: step(payload, "step")?, phase: phase(payload)?, code }
        }
        RecordKind::Decision => Fact::Reviewed,
        RecordKind::Approval if payload.get("settled").is_some() => Fact::Settled {
            by: by(payload)?,
            step: step(payload, "settled")?,
            happened: payload.get("happened").and_then(Value::as_bool).ok_or("it does not say what happened")?,
        },
        RecordKind::Approval if payload.get("extended").is_some() => return Ok(None),
        RecordKind::Approval if payload.get("withdrawn").is_some() => Fact::Withdrawn(key(payload, "withdrawn")?),
        RecordKind::Approval => {
            let groups = payload.get("groups").and_then(Value::as_array).ok_or("its groups are missing")?;
            let groups = groups.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let self_approved = payload.get("self_approved").and_then(Value::as_bool).unwrap_or(false);
            Fact::Approved { given: Given { by: by(payload)?, key: key(payload, "key")?, groups }, self_approved }
        }
        RecordKind::Denial => Fact::Denied(by(payload)?),
        RecordKind::Countersignature => Fact::Countersigned(Lease {
            epoch: payload.get("epoch").and_then(Value::as_u64).ok_or("its epoch is missing")?,
            signed_at: time(payload, "signed_at")?,
            expires_at: time(payload, "expires_at")?,
        }),
        RecordKind::Permit => Fact::Permitted {
            permit: number(payload)?,
            step: step(payload, "step")?,
            phase: phase(payload)?,
            expires_at: time(payload, "expires_at")?,
        },
        RecordKind::Intent => {
            Fact::Intended { permit: number(payload)?, step: step(payload, "step")?, phase: phase(payload)? }
        }
        RecordKind::Outcome | RecordKind::Compensation => {
            let fate = word(payload, "fate")?.parse::<Fate>().map_err(|_| "its fate is unknown")?;
            Fact::Outcome { step: step(payload, "step")?, phase: phase(payload)?, fate }
        }
        RecordKind::Critical => {
            Fact::Critical(Violation::from_word(word(payload, "violation")?).ok_or("its violation is unknown")?)
        }
        RecordKind::CaseHalted if payload.get("indeterminate").is_some() => {
            Fact::Indeterminate { step: step(payload, "step")?, phase: phase(payload)? }
        }
        RecordKind::CaseHalted => {
            Fact::Halted(Cause::from_word(word(payload, "cause")?).ok_or("its cause is unknown")?)
        }
        RecordKind::Alert => Fact::Stray,
        RecordKind::CaseClosed | RecordKind::RunEnded => {
            Fact::Closed(Ending::from_word(word(payload, "ending")?).ok_or("its ending is unknown")?)
        }
        RecordKind::Boot
        | RecordKind::HaltAll
        | RecordKind::CaseOpened
        | RecordKind::Proposal
        | RecordKind::Planner
        | RecordKind::Answer
        | RecordKind::KeyRotated
        | RecordKind::ApproverEnrolled
        | RecordKind::TrustGranted
        | RecordKind::Label
        | RecordKind::Erased
        | RecordKind::Config => return Ok(None),
    };
    Ok(Some(fact))
}

/// `value` as it can be recorded: itself, or its size and digest where it is too large, too deep or has no canonical form.
pub(crate) fn recordable(value: &Value) -> Value {
    let mut pending = vec![(value, 1_usize)];
    let mut fits = true;
    while let (Some((value, depth)), true) = (pending.pop(), fits) {
        fits = depth <= DEEP;
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => pending.extend(members.values().map(|item| (item, depth + 1))),
            Value::Number(number) => {
                let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
                fits &= size.is_none_or(|size| size < UNSAFE_INTEGER);
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    let bytes = value.to_string().into_bytes();
    if fits && bytes.len() <= WHOLE {
        value.clone()
    } else {
        json!({"left_out": bytes.len(), "digest": countersign_plan::digest::Digest::of(&bytes)})
    }
}

/// Somebody else's words as they are quoted: what hides is escaped, and nothing is cut without a count.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = countersign_plan::text::escape(text);
    match escaped.char_indices().nth(QUOTED) {
        None => escaped,
        Some((end, _)) => {
            let more = escaped.chars().count().saturating_sub(QUOTED);
            format!("{}… ({more} more characters)", escaped.get(..end).unwrap_or_default())
        }
    }
}

fn word<'v>(payload: &'v Value, key: &str) -> Result<&'v str, &'static str> {
    payload.get(key).and_then(Value::as_str).ok_or("a member is missing")
}

fn by(payload: &Value) -> Result<Principal, &'static str> {
    word(payload, "by")?.parse().map_err(|_| "it names nobody")
}

fn key(payload: &Value, member: &str) -> Result<KeyId, &'static str> {
    word(payload, member)?.parse().map_err(|_| "it names no key")
}

fn step(payload: &Value, key: &str) -> Result<StepId, &'static str> {
    word(payload, key)?.parse().map_err(|_| "it names no step")
}

fn time(payload: &Value, key: &str) -> Result<Timestamp, &'static str> {
    word(payload, key)?.parse().map_err(|_| "a time in it is none")
}

fn number(payload: &Value) -> Result<u32, &'static str> {
    let number = payload.get("permit").and_then(Value::as_u64).ok_or("its number is missing")?;
    u32::try_from(number).map_err(|_| "its number is none")
}

fn phase(payload: &Value) -> Result<Phase, &'static str> {
    match word(payload, "phase")? {
        "snapshot" => Ok(Phase::Snapshot),
        "act" => Ok(Phase::Act),
        "restore" => Ok(Phase::Restore),
        "compensate" => Ok(Phase::Compensate),
        _ => Err("its phase is unknown"),
    }
}
