//! What the key signs, and that it says nothing.

use countersign_ledger::SignCheckpoint as _;
use countersign_plan::envelope::pae;

use super::GateKey;

#[test]
fn the_secret_is_wiped_and_never_shown() {
    let mut secret = [7; 32];
    let key = GateKey::from_bytes(&mut secret).unwrap();
    assert_eq!(secret, [0; 32]);
    let shown = format!("{key:?} {:?}", key.checkpoint_signer("gate".parse().unwrap()));
    assert!(!shown.contains("7, 7"), "{shown}");
}

#[test]
fn a_head_signer_signs_no_plan_and_no_handover() {
    let key = GateKey::from_bytes(&mut [7; 32]).unwrap();
    let signer = key.checkpoint_signer("gate".parse().unwrap());
    for message in [pae("application/vnd.in-toto+json", b"{}"), [super::ROTATION, &[0; 40]].concat()] {
        assert!(key.public().verify(&message, &signer.sign(&message)).is_err());
    }
    assert!(key.public().verify(b"countersign/x\n1\n", &signer.sign(b"countersign/x\n1\n")).is_ok());
}
