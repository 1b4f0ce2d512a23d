//! Leaves and digests.

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::time::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::{Entry, Leaf, RecordKind, entries_digest, payload_digest};

#[test]
fn a_leaf_is_the_canonical_json_of_its_fields() {
    for case in [None, Some("c-1")] {
        for kind in RecordKind::ALL {
            let leaf = Leaf {
                seq: 9_007_199_254_740_991,
                kind: *kind,
                case: case.map(|case| case.parse().unwrap()),
                at: Timestamp::from_millis(1_790_000_000_007),
                payload_digest: Digest::of(b"x"),
            };
            let fields = json!({
                "v": 1, "seq": leaf.seq, "kind": kind, "case": case, "at": leaf.at, "payload_digest": leaf.payload_digest,
            });
            assert_eq!(leaf.bytes(), canonical::to_vec(&fields));
        }
    }
}

#[test]
fn the_leaf_hash_is_the_one_that_others_compute() {
    let leaf = Leaf {
        seq: 5,
        kind: RecordKind::Decision,
        case: Some("c-1".parse().unwrap()),
        at: Timestamp::from_millis(1_790_000_000_007),
        payload_digest: payload_digest(&[0; 32], b"{}"),
    };
    let text = r#"{"at":"2026-09-21T14:13:20.007Z","case":"c-1","kind":"decision","payload_digest":"sha256:8b6b2a19bf0fae0dbab206e29b13653a1b1a5f9f7a95e3e2f4ba6d8e0a34f0c7","seq":5,"v":1}"#;
    let digest = Digest::of_parts(&[&[0; 32], b"{}"]).to_string();
    let text = text.replace("sha256:8b6b2a19bf0fae0dbab206e29b13653a1b1a5f9f7a95e3e2f4ba6d8e0a34f0c7", &digest);
    assert_eq!(String::from_utf8(leaf.bytes()).unwrap(), text);
    assert_eq!(leaf.hash(), *Digest::of_parts(&[&[0], text.as_bytes()]).as_bytes());
}

#[test]
fn kinds_read_back_by_their_stable_names() {
    let names = "boot halt_all case_opened proposal decision approval denial countersignature permit intent outcome \
                 compensation case_closed run_ended planner answer case_halted critical alert key_rotated approver_enrolled trust_granted label \
                 erased config";
    let all: Vec<&str> = RecordKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(all, names.split_whitespace().collect::<Vec<_>>());
    for kind in RecordKind::ALL {
        assert_eq!(serde_json::from_value::<RecordKind>(json!(kind)).unwrap(), *kind);
    }
    serde_json::from_value::<RecordKind>(json!("Decision")).unwrap_err();
    assert_eq!(RecordKind::from_name(""), None);
}

proptest! {
    #[test]
    fn different_entries_have_different_digests(kinds in prop::collection::vec((0_usize..22, 0_usize..3, 0_i64..3, 0_u8..3, any::<bool>()), 0..4),
                                                others in prop::collection::vec((0_usize..22, 0_usize..3, 0_i64..3, 0_u8..3, any::<bool>()), 0..4)) {
        let entry = |&(kind, case, at, payload, sealed): &(usize, usize, i64, u8, bool)| Entry {
            kind: RecordKind::ALL[kind],
            case: [None, Some("c"), Some("c-1")][case].filter(|case| case.len() > 1).map(|case| case.parse().unwrap()),
            at: Timestamp::from_millis(at),
            payload: json!({ "n": payload }),
            sealed,
        };
        let one: Vec<Entry> = kinds.iter().map(entry).collect();
        let two: Vec<Entry> = others.iter().map(entry).collect();
        prop_assert_eq!(one == two, entries_digest(&one) == entries_digest(&two));
    }
}
