//! Countersigned plans: envelopes as they arrive, and statements and plans of any content that the gate's key did sign.
#![no_main]

use std::sync::LazyLock;

use countersign_fuzz::{Key, two};
use countersign_plan::digest::Digest;
use countersign_plan::envelope::{CountersignedPlan, Envelope, TrustRoot};
use countersign_plan::time::Timestamp;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

static GATE: LazyLock<Key> = LazyLock::new(|| Key::new(1));
const STATEMENT: &str = "application/vnd.in-toto+json";

fuzz_target!(|data: &[u8]| {
    let root = TrustRoot { gate: GATE.public, epoch: None };
    let now = Timestamp::from_millis(1_790_000_060_000);
    if let Ok(envelope) = Envelope::from_json(data) {
        assert_eq!(Envelope::from_json(&envelope.to_json()).as_ref(), Ok(&envelope));
        if envelope.verify(STATEMENT, &GATE.public).is_ok() {
            assert!(envelope.verify("application/vnd.countersign.permit+json", &GATE.public).is_err());
            assert!(envelope.verify(STATEMENT, &Key::new(2).public).is_err());
        }
    }
    let (statement, plan) = two(data);
    // The digest of the plan is filled in, so that the plan is reached.
    let statement = match serde_json::from_slice::<Value>(statement) {
        Ok(mut statement) => {
            if let Some(subject) = statement.pointer_mut("/subject/0/digest/sha256") {
                *subject = json!(Digest::of(plan).hex());
            }
            statement.to_string().into_bytes()
        }
        Err(_) => statement.to_vec(),
    };
    let signed = CountersignedPlan { plan: plan.to_vec(), envelope: GATE.sign(STATEMENT, &statement) };
    if let Ok(verified) = signed.verify(&root, now) {
        assert_eq!(verified.digest(), Digest::of(plan));
        assert_eq!(verified.draft().digest(), verified.plan().draft_digest);
        assert!(now >= verified.plan().not_before && now < verified.countersignature().expires_at);
        let epoch = Some(verified.countersignature().epoch + 1);
        assert!(signed.verify(&TrustRoot { epoch, ..root.clone() }, now).is_err());
        assert!(signed.verify(&TrustRoot { gate: Key::new(2).public, ..root }, now).is_err());
    }
});
