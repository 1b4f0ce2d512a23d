//! Approvers' records: envelopes as they arrive, and any payload that an enrolled approver did sign.
#![no_main]

use std::sync::LazyLock;

use countersign_fuzz::Key;
use countersign_plan::approval::{
    Approval, Approver, ApproverRecord, Enrolment, Settlement, Trust, VerifiedApproval, VerifiedRecord,
};
use countersign_plan::envelope::Envelope;
use libfuzzer_sys::fuzz_target;

static ALICE: LazyLock<Key> = LazyLock::new(|| Key::new(3));
static ENROLLED: LazyLock<[Approver; 1]> = LazyLock::new(|| {
    [Approver {
        principal: "user:alice".parse().expect("a name"),
        groups: vec!["finance".to_owned()],
        key: ALICE.public,
    }]
});

/// What is verified is alice's, in no group that is not hers, and verifies again when it is signed in its canonical form.
fn judge<R: ApproverRecord + PartialEq + std::fmt::Debug>(payload: &[u8]) {
    let Ok(verified) = VerifiedRecord::<R>::verify(&ALICE.sign(R::PAYLOAD_TYPE, payload), ENROLLED.as_slice()) else {
        return;
    };
    let record = verified.record();
    assert_eq!(record.signer().as_str(), "user:alice");
    assert!(record.role().is_none_or(|role| role == "finance"));
    let (canonical, _) = record.to_sign().expect("a record has canonical bytes");
    let again = VerifiedRecord::<R>::verify(&ALICE.sign(R::PAYLOAD_TYPE, &canonical), ENROLLED.as_slice());
    assert_eq!(again.expect("the canonical form verifies").record(), record);
    assert!(VerifiedRecord::<R>::verify(&Key::new(4).sign(R::PAYLOAD_TYPE, payload), ENROLLED.as_slice()).is_err());
}

fuzz_target!(|data: &[u8]| {
    judge::<Approval>(data);
    judge::<Enrolment>(data);
    judge::<Trust>(data);
    judge::<Settlement>(data);
    if let Ok(envelope) = Envelope::from_json(data) {
        // Nobody but alice has alice's key: at most one of the payload types can be hers.
        let held = usize::from(VerifiedApproval::verify(&envelope, ENROLLED.as_slice()).is_ok())
            + usize::from(VerifiedRecord::<Trust>::verify(&envelope, ENROLLED.as_slice()).is_ok());
        assert!(held <= 1);
    }
});
