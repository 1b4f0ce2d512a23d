//! `audit`: reading by parts, and verification that trusts nobody, on a real ledger's export.

use countersign_audit::export::{Payloads, export};
use countersign_audit::prove::{last_head, prove_inclusion};
use countersign_ledger::checkpoint::{SignCheckpoint, VerifyingKeyInfo};
use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::memory::MemoryStore;
use countersign_ledger::{Entry, Ledger, LedgerReader, RecordKind};
use countersign_plan::time::Timestamp;
use countersign_wire::operator::from_monitor;
use countersign_wire::operator::to_monitor::Kind;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use crate::fake::{Asked, CASE, Place, Script, answer, path_text};

#[derive(Clone)]
struct Gate(SigningKey);

impl SignCheckpoint for Gate {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: "countersign".parse().unwrap(), key: self.0.verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

struct Evidence {
    gate: Gate,
    export: Vec<u8>,
    shorter: Vec<u8>,
    head: String,
    proof: Vec<u8>,
}

/// Six records, the last three in a second batch; what an auditor gets of them.
fn evidence(place: &Place) -> Evidence {
    let gate = Gate(SigningKey::from_bytes(&[9; 32]));
    let store = Box::new(MemoryStore::default());
    let head = place.path("state").join("head");
    let ledger = Ledger::open(store, Box::new(gate.clone()), MasterKey::from_bytes(&mut [3; 32]), &head).unwrap();
    let entry = |n: i64| Entry {
        kind: RecordKind::Decision,
        case: Some(CASE.parse().unwrap()),
        at: Timestamp::from_millis(1_790_000_000_000 + n),
        payload: json!({"decision": "block", "n": n}),
        sealed: false,
    };
    let _ = ledger.append((0..3).map(entry).collect()).wait().unwrap();
    let mut reader = ledger.reader().unwrap();
    let export = |reader: &mut LedgerReader| {
        let mut bytes = Vec::new();
        export(reader, Payloads::All, &mut bytes).unwrap();
        bytes
    };
    let shorter = export(&mut reader);
    let _ = ledger.append((3..6).map(entry).collect()).wait().unwrap();
    let proof = prove_inclusion(&mut reader, 4, Payloads::All).unwrap();
    Evidence { gate, export: export(&mut reader), shorter, head: last_head(&mut reader).unwrap(), proof }
}

fn pin(place: &Place, gate: &Gate) {
    std::fs::write(place.path("config").join("gate.pub"), format!("{}\n", gate.key())).unwrap();
}

#[test]
fn an_export_is_verified_against_the_pinned_key_or_a_named_one() {
    let place = Place::new();
    let Evidence { gate, export, .. } = evidence(&place);
    let file = place.path("work").join("ledger.jsonl");
    std::fs::write(&file, export).unwrap();
    let ran = place.run(&["audit", "verify", "ledger.jsonl", "--json"]).expect(20);
    assert_eq!(ran.json()["error"]["code"], "unanchored");

    let named = place.run(&["audit", "verify", "ledger.jsonl", "--json", "--key", &gate.key().to_string()]).expect(0);
    assert_eq!((&named.json()["verified"], &named.json()["records"]), (&json!(true), &json!(6)));
    let other = SigningKey::from_bytes(&[1; 32]);
    let ran = place.run(&["audit", "verify", "ledger.jsonl", "--key", &Gate(other).key().to_string()]).expect(20);
    assert!(ran.err().contains("pinned key"), "{}", ran.err());
    place.run(&["audit", "verify", "ledger.jsonl", "--key", "nonsense"]).expect(2);

    pin(&place, &gate);
    let ran = place.run(&["audit", "verify", "ledger.jsonl"]).expect(0);
    assert!(ran.out().contains("a cut tail or a rolled-back ledger would not show"), "{}", ran.out());
}

/// A decision that is edited from block to allow is found, and named.
#[test]
fn an_edited_decision_ends_with_20_and_names_the_record() {
    let place = Place::new();
    let Evidence { gate, export, .. } = evidence(&place);
    pin(&place, &gate);
    let text = String::from_utf8(export).unwrap();
    let edited = text.replacen(r#""decision":"block","n":4"#, r#""decision":"allow","n":4"#, 1);
    assert_ne!(edited, text);
    place.write("ledger.jsonl", &edited);
    let ran = place.run(&["audit", "verify", "ledger.jsonl", "--json"]).expect(20);
    assert_eq!(ran.json()["error"]["code"], "audit.fault");
    assert!(ran.err().contains("record 4"), "{}", ran.err());
}

#[test]
fn a_cut_tail_shows_against_a_later_head_and_against_another_export() {
    let place = Place::new();
    let Evidence { gate, export, shorter, head, .. } = evidence(&place);
    pin(&place, &gate);
    let write = |name: &str, bytes: &[u8]| {
        let path = place.path("work").join(name);
        std::fs::write(&path, bytes).unwrap();
        path_text(&path)
    };
    let (long, short, head) = (write("long", &export), write("short", &shorter), write("head", head.as_bytes()));
    place.run(&["audit", "verify", &short]).expect(0);
    let ran = place.run(&["audit", "verify", &short, "--head", &head]).expect(20);
    assert!(ran.err().contains("its tail was cut"), "{}", ran.err());
    let ran = place.run(&["audit", "verify", &long, "--head", &head, "--other", &short]).expect(0);
    assert!(ran.out().contains("the other export is older"), "{}", ran.out());
}

#[test]
fn the_proof_of_a_record_is_verified_by_itself() {
    let place = Place::new();
    let Evidence { gate, proof, .. } = evidence(&place);
    place.write("proof.json", std::str::from_utf8(&proof).unwrap());
    place.run(&["audit", "verify", "proof.json"]).expect(20);
    pin(&place, &gate);
    let ran = place.run(&["audit", "verify", "proof.json", "--json"]).expect(0);
    assert_eq!((&ran.json()["seq"], &ran.json()["payload"]["n"]), (&json!(4), &json!(4)));
    let edited = String::from_utf8(proof).unwrap().replacen("block", "allow", 1);
    place.write("proof.json", &edited);
    place.run(&["audit", "verify", "proof.json"]).expect(20);
}

#[test]
fn records_come_in_parts_and_are_shown_one_a_line() {
    let record = |seq: u64| {
        let payload = json!({"decision": "block"});
        json!({"seq": seq, "kind": "decision", "case": CASE, "at": "t", "payload_digest": "d", "payload": payload,
               "payload_state": "open"})
    };
    let (first, last): (Vec<Value>, Vec<Value>) = ((0..64).map(record).collect(), vec![record(64)]);
    let script = Script {
        propose: Box::new(|_| Vec::new()),
        operate: Box::new(move |_| {
            let part = from_monitor::Kind::Part(serde_json::to_vec(&first).unwrap());
            vec![part, answer(&json!(last))]
        }),
    };
    let place = Place::with(script);
    let ran = place.run(&["audit", "list", "--case", CASE, "--json"]).expect(0);
    let seqs: Vec<Value> =
        ran.out().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].clone()).collect();
    assert_eq!(seqs, (0..65).map(Value::from).collect::<Vec<_>>());
    let asked = place.asked();
    let [Asked::Operate(_, Kind::Audit(audit))] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((audit.case.as_str(), audit.form.as_str(), audit.limit), (CASE, "records", 1000));
    assert!(place.run(&["audit", "list"]).expect(0).out().contains("65 records"));
}

#[test]
fn an_export_is_written_by_the_monitor_where_nothing_is_overwritten() {
    let script = Script {
        propose: Box::new(|_| Vec::new()),
        operate: Box::new(|_| vec![answer(&json!({"file": "x", "records": 6}))]),
    };
    let place = Place::with(script);
    place.run(&["audit", "export", "--output", "ledger.jsonl"]).expect(0);
    let asked = place.asked();
    let [Asked::Operate(_, Kind::Audit(audit))] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(audit.output, path_text(&place.path("work").canonicalize().unwrap().join("ledger.jsonl")));
    assert!(!audit.payloads);
    place.write("there", "kept");
    place.run(&["audit", "export", "--output", "there"]).expect(2);
    place.run(&["audit", "prove", "3", "--output", "there"]).expect(2);
    assert_eq!(std::fs::read_to_string(place.path("work").join("there")).unwrap(), "kept");
}
