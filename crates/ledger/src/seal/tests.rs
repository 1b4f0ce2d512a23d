//! Sealed values open in their place alone.

use countersign_plan::digest::Digest;
use proptest::prelude::*;

use super::{Bound, CaseKey, MasterKey, SealError};
use crate::checkpoint::LedgerId;
use crate::record::RecordKind;

fn ledger(id: &str) -> LedgerId {
    id.parse().unwrap()
}

#[test]
fn a_payload_opens_with_its_key_in_its_place() {
    let key = CaseKey::generate().unwrap();
    let here = Bound::to(&ledger("a"), RecordKind::Permit, &Digest::of(b"5"));
    let sealed = key.seal(&[1; 24], &here, &[2; 32], b"{\"n\":1}").unwrap();
    assert_eq!(sealed.len(), 24 + 32 + 7 + 16);
    assert_eq!(key.open(&here, &sealed), Ok(([2; 32], b"{\"n\":1}".to_vec())));
    let elsewhere = [
        Bound::to(&ledger("b"), RecordKind::Permit, &Digest::of(b"5")),
        Bound::to(&ledger("a"), RecordKind::Permit, &Digest::of(b"6")),
        Bound::to(&ledger("a"), RecordKind::Intent, &Digest::of(b"5")),
    ];
    for place in elsewhere {
        assert_eq!(key.open(&place, &sealed), Err(SealError::Open));
    }
    assert_eq!(CaseKey::generate().unwrap().open(&here, &sealed), Err(SealError::Open));
}

#[test]
fn a_case_key_unwraps_for_its_case_and_ledger_under_its_master_key() {
    let (master, other) = (MasterKey::generate().unwrap(), MasterKey::generate().unwrap());
    let (one, two) = ("c-1".parse().unwrap(), "c-2".parse().unwrap());
    let key = CaseKey::generate().unwrap();
    let wrapped = master.wrap(&ledger("a"), &one, &key).unwrap();
    assert_eq!(*master.unwrap(&ledger("a"), &one, &wrapped).unwrap().0, *key.0);
    assert!(master.unwrap(&ledger("a"), &two, &wrapped).is_err());
    assert!(master.unwrap(&ledger("b"), &one, &wrapped).is_err());
    assert!(other.unwrap(&ledger("a"), &one, &wrapped).is_err());
    let check = master.check_value(&ledger("a")).unwrap();
    assert_eq!(master.recognise(&ledger("a"), &check), Ok(()));
    assert_eq!(other.recognise(&ledger("a"), &check), Err(SealError::Open));
    assert_eq!(master.recognise(&ledger("b"), &check), Err(SealError::Open));
}

#[test]
fn two_sealings_of_the_same_differ() {
    let master = MasterKey::generate().unwrap();
    assert_ne!(master.check_value(&ledger("a")).unwrap(), master.check_value(&ledger("a")).unwrap());
}

proptest! {
    #[test]
    fn nothing_altered_or_cut_opens(json in prop::collection::vec(any::<u8>(), 0..80), at in any::<usize>(), flip in 1_u8..) {
        let key = CaseKey::generate().unwrap();
        let here = Bound::to(&ledger("a"), RecordKind::Permit, &Digest::of(b"5"));
        let sealed = key.seal(&[1; 24], &here, &[2; 32], &json).unwrap();
        let mut altered = sealed.clone();
        altered[at % sealed.len()] ^= flip;
        prop_assert_eq!(key.open(&here, &altered), Err(SealError::Open));
        prop_assert_eq!(key.open(&here, &sealed[..at % sealed.len()]), Err(SealError::Open));
    }
}
