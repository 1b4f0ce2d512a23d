//! Offline verification against every kind of tampering: each attack first, then what the verifier says to it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_audit::export::Payloads;
use countersign_audit::verify::{Fault, Place, Problem, Relation, Report, VerifyOptions, verify, verify_against};
use countersign_ledger::checkpoint::{Checkpoint, Head, VerifyingKeyInfo};
use countersign_ledger::merkle::Frontier;
use countersign_ledger::record::{Leaf, payload_digest};
use countersign_ledger::store::memory::MemoryStore;
use countersign_ledger::{Ledger, RecordKind};
use countersign_plan::canonical;
use serde_json::{Value, json};

use crate::support::{Home, TestKey, at, decision, export, fill, gate};

fn options() -> VerifyOptions {
    VerifyOptions { key: Some(gate().public()), heads: Vec::new() }
}

fn check(bytes: &[u8]) -> Result<Report, Fault> {
    verify(bytes, &options())
}

fn filled(payloads: Payloads) -> Vec<u8> {
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    fill(&ledger);
    export(&mut ledger.reader().unwrap(), payloads)
}

fn lines(export: &[u8]) -> Vec<Vec<u8>> {
    export.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn parsed(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

fn written(value: &Value) -> Vec<u8> {
    let mut line = canonical::to_vec(value);
    line.push(b'\n');
    line
}

/// The position of the line that holds record `seq`.
fn line_of(lines: &[Vec<u8>], seq: u64) -> usize {
    lines.iter().position(|line| parsed(line).get("seq") == Some(&json!(seq))).unwrap()
}

fn leaf_of(record: &Value) -> Leaf {
    let text = |name: &str| record[name].as_str().unwrap();
    Leaf {
        seq: record["seq"].as_u64().unwrap(),
        kind: RecordKind::from_name(text("kind")).unwrap(),
        case: record["case"].as_str().map(|case| case.parse().unwrap()),
        at: text("at").parse().unwrap(),
        payload_digest: text("payload_digest").parse().unwrap(),
    }
}

/// What somebody without the key can do: give a changed record a matching digest and leaf hash.
fn rehash(record: &mut Value) {
    if let (Some(payload), Some(salt)) = (record.get("payload"), record.get("salt")) {
        let salt = hex::decode(salt.as_str().unwrap()).unwrap().try_into().unwrap();
        record["payload_digest"] = json!(payload_digest(&salt, &canonical::to_vec(payload)));
    }
    record["leaf"] = json!(hex::encode(leaf_of(record).hash()));
}

/// What somebody with a key of his own can do: recompute everything and sign it.
fn resign(lines: &mut [Vec<u8>], key: &TestKey) {
    let (mut frontier, mut previous) = (Frontier::new(), 0);
    let ledger: countersign_ledger::LedgerId = parsed(&lines[0])["ledger"].as_str().unwrap().parse().unwrap();
    for line in lines.iter_mut().skip(1) {
        let mut value = parsed(line);
        if value.get("checkpoint").is_some() {
            let head = Head { ledger: ledger.clone(), size: frontier.size(), root: frontier.root(), previous };
            previous = frontier.size();
            *line = written(&json!({ "checkpoint": head.sign(&key.public(), key) }));
        } else {
            value["seq"] = json!(frontier.size());
            rehash(&mut value);
            frontier.push(leaf_of(&value).hash());
            *line = written(&value);
        }
    }
    let mut header = parsed(&lines[0]);
    header["size"] = json!(frontier.size());
    lines[0] = written(&header);
}

#[test]
fn an_untouched_export_verifies() {
    for payloads in [Payloads::All, Payloads::Redacted] {
        let report = check(&filled(payloads)).unwrap();
        assert_eq!((report.head.size, report.checkpoints), (60, 12));
        let shown = report.payloads + report.withheld.redacted;
        assert_eq!(shown, 60);
        assert_eq!(report.payloads, if payloads == Payloads::All { 60 } else { 0 });
        assert!(report.to_string().contains("records 0 to 59 anchored"));
    }
}

#[test]
fn every_removal_repetition_and_swap_of_lines_is_found() {
    for payloads in [Payloads::All, Payloads::Redacted] {
        let whole = lines(&filled(payloads));
        for at in 0..whole.len() {
            let mut removed = whole.clone();
            removed.remove(at);
            check(&removed.concat()).expect_err(&format!("without line {at}"));
            let mut doubled = whole.clone();
            doubled.insert(at, whole[at].clone());
            check(&doubled.concat()).expect_err(&format!("line {at} twice"));
            // All pairs of one kind of export, neighbours of the other.
            let reach = if payloads == Payloads::All { whole.len() } else { whole.len().min(at + 2) };
            for other in at + 1..reach {
                let mut swapped = whole.clone();
                swapped.swap(at, other);
                check(&swapped.concat()).expect_err(&format!("lines {at} and {other} swapped"));
            }
        }
    }
}

#[test]
fn every_cut_is_found_unless_it_leaves_whole_batches_and_then_a_later_head_finds_it() {
    let whole = filled(Payloads::All);
    let all = lines(&whole);
    let last: Checkpoint = Checkpoint::parse(parsed(all.last().unwrap())["checkpoint"].as_str().unwrap()).unwrap();
    // Every place in the last lines, and some in all others.
    for at in (0..whole.len()).filter(|at| at % 37 == 0 || at + 1200 > whole.len()) {
        check(&whole[..at]).expect_err(&format!("cut at {at}"));
    }
    // An attacker who also corrects the unsigned count in the first line.
    let mut whole_batches = 0;
    for keep in 1..all.len() {
        let mut cut = all[..keep].to_vec();
        let records = cut.iter().filter(|line| parsed(line).get("seq").is_some()).count();
        let mut header = parsed(&cut[0]);
        header["size"] = json!(records);
        cut[0] = written(&header);
        let ends_in_head = parsed(&cut[keep - 1]).get("checkpoint").is_some();
        assert_eq!(check(&cut.concat()).is_ok(), ends_in_head, "{keep} lines");
        if ends_in_head {
            whole_batches += 1;
            let heads = vec![last.clone()];
            let fault = verify(cut.concat().as_slice(), &VerifyOptions { heads, ..options() }).unwrap_err();
            assert!(matches!(fault.problem, Problem::CutTail { .. }), "{fault}");
            assert_eq!(fault.place, Place::Head(60));
        }
    }
    assert_eq!(whole_batches, 11);
    let report = verify(whole.as_slice(), &VerifyOptions { heads: vec![last], ..options() }).unwrap();
    assert_eq!(report.heads, 1);
}

#[test]
fn lesson_26_a_decision_edited_from_block_to_allow_is_found() {
    let whole = lines(&filled(Payloads::All));
    let at = line_of(&whole, 20);
    // The payload alone.
    let mut edited = whole.clone();
    let mut record = parsed(&edited[at]);
    assert_eq!(record["payload"]["decision"], "block");
    record["payload"]["decision"] = json!("allow");
    edited[at] = written(&record);
    let fault = check(&edited.concat()).unwrap_err();
    assert!(matches!((&fault.place, &fault.problem), (Place::Record(20), Problem::Payload)), "{fault}");
    // With the digest.
    let digest = {
        let mut record = record.clone();
        rehash(&mut record);
        record["payload_digest"].clone()
    };
    record["payload_digest"] = digest;
    edited[at] = written(&record);
    let fault = check(&edited.concat()).unwrap_err();
    assert!(matches!((&fault.place, &fault.problem), (Place::Record(20), Problem::Leaf)), "{fault}");
    // With the leaf hash, too: the next head finds it.
    rehash(&mut record);
    edited[at] = written(&record);
    let fault = check(&edited.concat()).unwrap_err();
    assert!(matches!(&fault.problem, Problem::Root { .. }), "{fault}");
    assert!(matches!(&fault.place, Place::Records(seqs) if seqs.contains(&20)), "{fault}");
    // The kind.
    let mut record = parsed(&whole[at]);
    record["kind"] = json!("approval");
    edited[at] = written(&record);
    let fault = check(&edited.concat()).unwrap_err();
    assert!(matches!((&fault.place, &fault.problem), (Place::Record(20), Problem::Leaf)), "{fault}");
    // All of it, in a redacted export, where no payload shows the kind.
    let mut redacted = lines(&filled(Payloads::Redacted));
    let mut record = parsed(&redacted[at]);
    record["kind"] = json!("approval");
    rehash(&mut record);
    redacted[at] = written(&record);
    assert!(matches!(check(&redacted.concat()).unwrap_err().problem, Problem::Root { .. }));
}

#[test]
fn a_removed_middle_an_insertion_and_a_reordering_are_named() {
    let whole = lines(&filled(Payloads::All));
    let at = line_of(&whole, 20);
    let mut removed = whole.clone();
    removed.remove(at);
    let fault = check(&removed.concat()).unwrap_err();
    assert!(
        matches!((&fault.place, &fault.problem), (Place::Records(seqs), Problem::Missing) if *seqs == (20..21)),
        "{fault}"
    );
    // A whole batch and its head.
    let mut removed = whole.clone();
    let start = line_of(&whole, 31);
    let end = line_of(&whole, 36);
    removed.drain(start..end);
    let fault = check(&removed.concat()).unwrap_err();
    assert!(
        matches!((&fault.place, &fault.problem), (Place::Records(seqs), Problem::Missing) if *seqs == (31..36)),
        "{fault}"
    );
    // A removed record whose gap is closed by renumbering what follows.
    let mut renumbered = whole.clone();
    renumbered.remove(at);
    for (seq, line) in renumbered.iter_mut().filter(|line| parsed(line).get("seq").is_some()).enumerate() {
        let mut record = parsed(line);
        record["seq"] = json!(seq);
        rehash(&mut record);
        *line = written(&record);
    }
    let fault = check(&renumbered.concat()).unwrap_err();
    assert!(matches!(fault.place, Place::Head(_)) && matches!(fault.problem, Problem::Position { .. }), "{fault}");
    // A forged record between others.
    let mut inserted = whole.clone();
    inserted.insert(at, whole[at].clone());
    let fault = check(&inserted.concat()).unwrap_err();
    assert!(matches!((&fault.place, &fault.problem), (Place::Record(21), Problem::Sequence { found: 20 })), "{fault}");
    // Two records change places and numbers.
    let mut swapped = whole.clone();
    let (mut first, mut second) = (parsed(&whole[at]), parsed(&whole[at + 1]));
    (first["seq"], second["seq"]) = (json!(21), json!(20));
    rehash(&mut first);
    rehash(&mut second);
    swapped[at] = written(&second);
    swapped[at + 1] = written(&first);
    let fault = check(&swapped.concat()).unwrap_err();
    assert!(matches!(&fault.problem, Problem::Root { .. }), "{fault}");
    assert!(matches!(&fault.place, Place::Records(seqs) if seqs.contains(&20)), "{fault}");
}

#[test]
fn a_full_rewrite_under_another_key_is_found() {
    let evil = TestKey::new("gate", 66);
    let mut forged = lines(&filled(Payloads::All));
    let at = line_of(&forged, 20);
    let mut record = parsed(&forged[at]);
    record["payload"]["decision"] = json!("allow");
    forged[at] = written(&record);
    resign(&mut forged, &evil);
    // The first line still names the true key.
    let fault = check(&forged.concat()).unwrap_err();
    assert!(
        matches!((&fault.place, &fault.problem), (Place::Records(seqs), Problem::Signature { .. }) if *seqs == (0..1)),
        "{fault}"
    );
    // Now the forger's.
    let mut header = parsed(&forged[0]);
    header["keys"][0]["key"] = json!(evil.public().to_string());
    forged[0] = written(&header);
    let fault = check(&forged.concat()).unwrap_err();
    assert!(
        matches!((&fault.place, &fault.problem), (Place::Records(seqs), Problem::OtherKey { .. }) if *seqs == (0..1)),
        "{fault}"
    );
    // Both, with the forger's first: his key never signed the true one.
    header["keys"] = json!([header["keys"][0], {"from": 1, "key": gate().public().to_string()}]);
    forged[0] = written(&header);
    check(&forged.concat()).unwrap_err();
    // To somebody who trusts the forger all is well: the forgery was complete.
    header["keys"] = json!([header["keys"][0]]);
    forged[0] = written(&header);
    verify(forged.concat().as_slice(), &VerifyOptions { key: Some(evil.public()), heads: Vec::new() }).unwrap();
}

#[test]
fn without_a_key_nothing_is_anchored() {
    let whole = filled(Payloads::All);
    let none = VerifyOptions::default();
    let fault = verify(whole.as_slice(), &none).unwrap_err();
    assert!(matches!(fault.problem, Problem::Unanchored { records: 60 }), "{fault}");
    assert!(fault.to_string().contains("unanchored"));
    // But tampering is still named first.
    let mut edited = lines(&whole);
    let at = line_of(&edited, 20);
    let mut record = parsed(&edited[at]);
    record["kind"] = json!("approval");
    edited[at] = written(&record);
    assert_eq!(verify(edited.concat().as_slice(), &none).unwrap_err().place, Place::Record(20));
}

#[test]
fn lesson_26_nothing_proves_nothing() {
    assert!(matches!(check(b"").unwrap_err().problem, Problem::Empty));
    let header = lines(&filled(Payloads::All)).remove(0);
    assert!(matches!(check(&header).unwrap_err().problem, Problem::Size { .. }));
    let mut empty = parsed(&header);
    empty["size"] = json!(0);
    assert!(matches!(check(&written(&empty)).unwrap_err().problem, Problem::Empty));
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    let whole = export(&mut ledger.reader().unwrap(), Payloads::All);
    assert!(matches!(check(&whole).unwrap_err().problem, Problem::Empty));
}

#[test]
fn garbage_and_endless_lines_are_refused_within_bounds() {
    struct Endless(u64);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += buffer.len() as u64;
            assert!(self.0 < 4 << 20, "reads on and on");
            buffer.fill(b'[');
            Ok(buffer.len())
        }
    }
    let fault = verify(std::io::BufReader::new(Endless(0)), &options()).unwrap_err();
    assert!(fault.to_string().starts_with("line 1: longer than"), "{fault}");
    let whole = lines(&filled(Payloads::All));
    let deep = [vec![b'['; 100_000], b"\n".to_vec()].concat();
    let garbage: [&[u8]; 9] = [
        b"\n",
        b"{}\n",
        b"null\n",
        b"\xff\xfe\n",
        b"{\"seq\":1}\n",
        b"[]\n",
        &deep,
        b"{\"checkpoint\":1}\n",
        b"{\"checkpoint\":\"\"}\n",
    ];
    for line in garbage {
        for at in [0, 1, 20, whole.len()] {
            let mut bad = whole.clone();
            bad.insert(at, line.to_vec());
            let fault = check(&bad.concat()).unwrap_err();
            assert_eq!(fault.place, Place::Line(at as u64 + 1), "{fault}");
        }
    }
}

#[test]
fn other_spellings_of_the_same_values_are_refused() {
    let whole = lines(&filled(Payloads::All));
    let at = line_of(&whole, 20);
    let line = String::from_utf8(whole[at].clone()).unwrap();
    let time = parsed(&whole[at])["at"].as_str().unwrap().to_owned();
    let spellings = [
        line.replace(",\"kind\"", ", \"kind\""),
        line.replace("\"kind\":", "\"seq\":20,\"kind\":"),
        line.replace("\"v\":1", "\"v\":1.0"),
        line.replace("\"seq\":20", "\"seq\":2e1"),
        line.replace("\"block\"", "\"bl\\u006fck\""),
        line.replace("0.1", "0.10"),
        line.replace(&time, &time.replace('Z', "+00:00")),
        line.replace(&time, &time.replace(".020Z", ".02Z")),
        line.replace("\n", "\r\n"),
        line.replace("{\"at\"", "{\"a\":1,\"at\""),
        format!(" {line}"),
    ];
    for spelling in spellings {
        assert_ne!(spelling, line);
        let mut other = whole.clone();
        other[at] = spelling.clone().into_bytes();
        let fault = check(&other.concat()).expect_err(&spelling);
        assert_eq!(fault.place, Place::Line(at as u64 + 1), "{fault}");
    }
}

#[test]
fn the_tail_under_no_head_is_reported_apart() {
    let mut whole = lines(&filled(Payloads::All));
    whole.pop();
    let fault = check(&whole.concat()).unwrap_err();
    assert!(
        matches!((&fault.place, &fault.problem), (Place::Records(seqs), Problem::Uncovered { anchored: 57 }) if *seqs == (57..60)),
        "{fault}"
    );
}

#[test]
fn a_head_left_out_moved_or_of_a_wrong_size_is_named() {
    let whole = lines(&filled(Payloads::All));
    let heads: Vec<usize> = (0..whole.len()).filter(|&at| parsed(&whole[at]).get("checkpoint").is_some()).collect();
    let mut removed = whole.clone();
    removed.remove(heads[4]);
    let fault = check(&removed.concat()).unwrap_err();
    assert!(matches!(fault.problem, Problem::HeadMissing { named: 15, found: 13 }), "{fault}");
    let mut early = whole.clone();
    early.swap(heads[4], heads[4] - 1);
    assert!(matches!(check(&early.concat()).unwrap_err().problem, Problem::Position { stands: 14 }));
    let mut other = whole.clone();
    other[heads[4]] = whole[heads[5]].clone();
    let fault = check(&other.concat()).unwrap_err();
    assert!(matches!((&fault.place, &fault.problem), (Place::Head(31), Problem::Position { stands: 15 })), "{fault}");
    // A second signature hides nothing: an export has exactly one per head.
    let note = parsed(&whole[heads[4]])["checkpoint"].as_str().unwrap().to_owned();
    let twice = format!("{note}\u{2014} other {}\n", STANDARD.encode([0; 68]));
    other[heads[4]] = written(&json!({ "checkpoint": twice }));
    check(&other.concat()).unwrap_err();
}

#[test]
fn payloads_are_withheld_only_as_the_first_line_says() {
    let withhold = |lines: &mut Vec<Vec<u8>>, seq: u64, reason: &str| {
        let at = line_of(lines, seq);
        let mut record = parsed(&lines[at]);
        record.as_object_mut().unwrap().remove("payload");
        record.as_object_mut().unwrap().remove("salt");
        record["withheld"] = json!(reason);
        lines[at] = written(&record);
    };
    for reason in ["redacted", "damaged"] {
        let mut whole = lines(&filled(Payloads::All));
        withhold(&mut whole, 20, reason);
        assert_eq!(check(&whole.concat()).unwrap_err().place, Place::Record(20));
    }
    let mut whole = lines(&filled(Payloads::All));
    withhold(&mut whole, 21, "erased");
    withhold(&mut whole, 22, "sealed");
    let report = check(&whole.concat()).unwrap();
    assert_eq!((report.payloads, report.withheld.erased, report.withheld.sealed), (58, 1, 1));
    withhold(&mut whole, 23, "whim");
    check(&whole.concat()).unwrap_err();
}

/// Two histories of one ledger: the first half in common, then each its own.
fn forked() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    let common = export(&mut ledger.reader().unwrap(), Payloads::All);
    ledger.close().unwrap();
    let (database, head) = (std::fs::read(home.database()).unwrap(), std::fs::read(home.head()).unwrap());
    let go_on = |ledger: Ledger, n: i64| {
        let _ = ledger.append(vec![decision(100), decision(n)]).wait().unwrap();
        let out = export(&mut ledger.reader().unwrap(), Payloads::All);
        ledger.close().unwrap();
        out
    };
    let one = go_on(home.open().unwrap(), 101);
    std::fs::write(home.database(), database).unwrap();
    std::fs::write(home.head(), head).unwrap();
    let two = go_on(home.open().unwrap(), 102);
    (common, one, two)
}

fn last_head(export: &[u8]) -> Checkpoint {
    Checkpoint::parse(parsed(lines(export).last().unwrap())["checkpoint"].as_str().unwrap()).unwrap()
}

#[test]
fn a_fork_is_found_against_the_other_export_and_the_other_head() {
    let (common, one, two) = forked();
    let fault = verify_against(one.as_slice(), two.as_slice(), &options()).unwrap_err();
    // The salts differ, so the first record after the common part does.
    assert!(matches!((&fault.place, &fault.problem), (Place::Record(60), Problem::ForkRecord)), "{fault}");
    let with = |head| VerifyOptions { heads: vec![head], ..options() };
    let fault = verify(one.as_slice(), &with(last_head(&two))).unwrap_err();
    assert!(matches!((&fault.place, &fault.problem), (Place::Head(62), Problem::Fork)), "{fault}");
    verify(one.as_slice(), &with(last_head(&common))).unwrap();
    verify(one.as_slice(), &with(last_head(&one))).unwrap();
    let relation = |a: &[u8], b: &[u8]| verify_against(a, b, &options()).unwrap().other.unwrap();
    assert_eq!(relation(&one, &common), Relation::Older(60));
    assert_eq!(relation(&common, &one), Relation::Newer(62));
    assert_eq!(relation(&one, &one), Relation::Same);
    // A faulty other export is no proof of a fork.
    let mut bad = lines(&two);
    let at = line_of(&bad, 60);
    bad.remove(at);
    let fault = verify_against(one.as_slice(), bad.concat().as_slice(), &options()).unwrap_err();
    assert!(matches!(fault.problem, Problem::Other(_)), "{fault}");
    let stranger = filled(Payloads::All);
    verify_against(one.as_slice(), stranger.as_slice(), &options()).unwrap_err();
}

#[test]
fn heads_from_elsewhere_count_only_when_signed() {
    let (common, one, two) = forked();
    let evil = TestKey::new("gate", 66);
    let claimed = last_head(&two).claimed().clone();
    let forged = Checkpoint::parse(&claimed.sign(&evil.public(), &evil)).unwrap();
    for export in [&common, &one] {
        let fault = verify(export.as_slice(), &VerifyOptions { heads: vec![forged.clone()], ..options() }).unwrap_err();
        assert!(matches!(fault.problem, Problem::Signature { .. }), "{fault}");
    }
}

/// A ledger whose key was rotated twice, exported.
fn rotated(payloads: Payloads) -> (Vec<u8>, [TestKey; 3]) {
    let keys = [gate(), TestKey::new("gate", 2), TestKey::new("gate-b", 3)];
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    fill(&ledger);
    let _ = ledger.rotate(keys[1].boxed(), at(100)).wait().unwrap();
    let _ = ledger.append(vec![decision(101)]).wait().unwrap();
    let _ = ledger.rotate(keys[2].boxed(), at(102)).wait().unwrap();
    (export(&mut ledger.reader().unwrap(), payloads), keys)
}

#[test]
fn the_chain_of_keys_is_followed_from_any_of_them() {
    for payloads in [Payloads::All, Payloads::Redacted] {
        let (whole, keys) = rotated(payloads);
        for key in &keys {
            let report =
                verify(whole.as_slice(), &VerifyOptions { key: Some(key.public()), heads: Vec::new() }).unwrap();
            let chain: Vec<(u64, VerifyingKeyInfo)> =
                report.keys.into_iter().map(|period| (period.from, period.key)).collect();
            assert_eq!(chain, [(0, keys[0].public()), (61, keys[1].public()), (64, keys[2].public())]);
        }
        verify(whole.as_slice(), &VerifyOptions { key: Some(TestKey::new("gate", 9).public()), heads: Vec::new() })
            .unwrap_err();
    }
}

#[test]
fn a_forged_rotation_is_found() {
    let (whole, keys) = rotated(Payloads::All);
    let whole = lines(&whole);
    let evil = TestKey::new("evil", 66);
    let swap_key = |lines: &mut [Vec<u8>], at: usize, pointer: &str, from: &TestKey| {
        let mut value = parsed(&lines[at]);
        let key = value.pointer_mut(pointer).unwrap();
        assert_eq!(*key, json!(from.public().to_string()));
        *key = json!(evil.public().to_string());
        if value.get("seq").is_some() {
            rehash(&mut value);
        }
        lines[at] = written(&value);
    };
    let at = line_of(&whole, 60);
    // The new key is exchanged in statement and first line.
    let mut forged = whole.clone();
    swap_key(&mut forged, at, "/payload/new", &keys[1]);
    swap_key(&mut forged, 0, "/keys/1/key", &keys[1]);
    assert!(matches!(check(&forged.concat()).unwrap_err().problem, Problem::Rotation(_)));
    // The first line alone.
    let mut forged = whole.clone();
    swap_key(&mut forged, 0, "/keys/1/key", &keys[1]);
    assert!(matches!(check(&forged.concat()).unwrap_err().problem, Problem::Keys));
    // The first line promises a key that no record speaks of, or hides one.
    for change in [0, 1] {
        let mut forged = whole.clone();
        let mut header = parsed(&forged[0]);
        let listed = header["keys"].as_array_mut().unwrap();
        if change == 0 {
            listed.push(json!({"from": 65, "key": evil.public().to_string()}));
        } else {
            listed.pop();
        }
        forged[0] = written(&header);
        assert!(matches!(check(&forged.concat()).unwrap_err().problem, Problem::Keys));
    }
    // A head of the old key after the rotation, and of the new key before it.
    for (head, key) in [(62, 0), (60, 1)] {
        let mut forged = whole.clone();
        for line in &mut forged {
            let value = parsed(line);
            let Some(note) = value["checkpoint"].as_str() else { continue };
            let claimed = Checkpoint::parse(note).unwrap().claimed().clone();
            if claimed.size == head {
                *line = written(&json!({ "checkpoint": claimed.sign(&keys[key].public(), &keys[key]) }));
            }
        }
        let fault = check(&forged.concat()).unwrap_err();
        assert!(matches!(fault.problem, Problem::Signature { .. }), "{fault}");
    }
    // The statement withheld.
    let mut forged = whole.clone();
    let mut record = parsed(&forged[at]);
    record.as_object_mut().unwrap().remove("payload");
    record.as_object_mut().unwrap().remove("salt");
    record["withheld"] = json!("erased");
    forged[at] = written(&record);
    assert!(matches!(check(&forged.concat()).unwrap_err().problem, Problem::Withheld(_)));
}

#[test]
fn a_stranger_who_rotates_to_the_pinned_key_gains_nothing() {
    // He signs a history of his own and "rotates" to the true key, which never signs anything there.
    let evil = TestKey::new("evil", 66);
    let home = Home::new();
    let store = Box::new(MemoryStore::new());
    let ledger = Ledger::open(store, evil.boxed(), crate::support::master(), &home.head()).unwrap();
    fill(&ledger);
    let _ = ledger.rotate(gate().boxed(), at(100)).wait().unwrap();
    let mut whole = lines(&export(&mut ledger.reader().unwrap(), Payloads::All));
    // The true key's first head is cut off, for he cannot make it.
    let keep = line_of(&whole, 61);
    whole.truncate(keep);
    let mut header = parsed(&whole[0]);
    header["size"] = json!(61);
    whole[0] = written(&header);
    let fault = check(&whole.concat()).unwrap_err();
    assert!(
        matches!((&fault.place, &fault.problem), (Place::Records(seqs), Problem::Uncovered { anchored: 0 }) if *seqs == (0..61)),
        "{fault}"
    );
}

#[test]
fn every_line_that_is_changed_and_rehashed_is_found() {
    let whole = lines(&filled(Payloads::All));
    let mut seen = BTreeSet::new();
    for at in 1..whole.len() {
        let record = parsed(&whole[at]);
        if record.get("seq").is_none() {
            continue;
        }
        let changes = [
            ("at", json!("2026-01-01T00:00:00.000Z")),
            ("case", json!("c-other")),
            ("kind", json!("boot")),
            ("payload", json!({"decision": "allow"})),
            ("salt", json!("00".repeat(32))),
        ];
        for (field, value) in changes {
            let mut changed = record.clone();
            changed[field] = value;
            rehash(&mut changed);
            let mut forged = whole.clone();
            forged[at] = written(&changed);
            let fault = check(&forged.concat()).unwrap_err();
            let seq = record["seq"].as_u64().unwrap();
            assert!(matches!(&fault.place, Place::Records(seqs) if seqs.contains(&seq)), "{fault}");
            seen.insert(seq);
        }
    }
    assert_eq!(seen.len(), 60);
}
