//! Permits: envelopes as they arrive, and any claims that the gate's key did sign.
#![no_main]

use std::sync::LazyLock;

use countersign_fuzz::Key;
use countersign_plan::envelope::Envelope;
use countersign_plan::permit::VerifiedPermit;
use libfuzzer_sys::fuzz_target;

static GATE: LazyLock<Key> = LazyLock::new(|| Key::new(1));
const PERMIT: &str = "application/vnd.countersign.permit+json";
const EPOCH: u64 = 7;

fuzz_target!(|data: &[u8]| {
    let signed = GATE.sign(PERMIT, data);
    if let Ok(permit) = VerifiedPermit::verify(&signed, &GATE.public, EPOCH) {
        assert_eq!(permit.claims().epoch, EPOCH);
        let (canonical, _) = permit.claims().to_sign().expect("claims have canonical bytes");
        let again = VerifiedPermit::verify(&GATE.sign(PERMIT, &canonical), &GATE.public, EPOCH);
        assert_eq!(again.expect("the canonical form verifies").claims(), permit.claims());
        assert!(VerifiedPermit::verify(&signed, &GATE.public, EPOCH + 1).is_err());
        assert!(VerifiedPermit::verify(&signed, &Key::new(2).public, EPOCH).is_err());
        assert!(VerifiedPermit::verify(&GATE.sign("application/vnd.in-toto+json", data), &GATE.public, EPOCH).is_err());
    }
    if let Ok(envelope) = Envelope::from_json(data) {
        drop(VerifiedPermit::verify(&envelope, &GATE.public, EPOCH));
    }
});
