//! What a gate records when a revision keeps its approvals, and what a gate that lies would record: the verifier asks by itself.

use countersign_audit::export::Payloads;
use countersign_audit::verify::{Fault, Problem, Report, VerifyOptions, verify};
use countersign_gate::event::{Event, Submission};
use countersign_gate::key::GateKey;
use countersign_ledger::checkpoint::SignCheckpoint as _;
use countersign_ledger::reader::{LedgerReader, Payload};
use countersign_ledger::store::memory::MemoryStore;
use countersign_ledger::{Entry, Ledger, Query, RecordKind};
use countersign_plan::approval::{Answer, Enrolment, Retirement};
use countersign_plan::id::CaseId;
use countersign_plan::permit::Phase;
use countersign_plan::time::{Span, Timestamp};
use serde_json::{Value, json};

use crate::support::{export, master};
use house::{House, Person, has, one_person, returned, two_people};

#[expect(dead_code, clippy::panic, reason = "it is the house of the gate's own tests, who need more of it")]
#[path = "../../../gate/tests/it/house.rs"]
mod house;

fn plan(more: &[Value]) -> Value {
    let mut steps = vec![
        json!({"id": "look", "action": "read_file", "args": {"path": "a.txt"}, "expect": [{"output": "/content", "equals": "ok"}]}),
        json!({"id": "w", "action": "write_file", "args": {"path": "a.txt", "content": "x"}}),
    ];
    steps.extend(more.iter().cloned());
    json!({"schema": "countersign.plan/v1", "goal": "Write a file", "steps": steps})
}

fn again() -> Value {
    json!({"id": "again", "action": "read_file", "args": {"path": "a.txt"}})
}

fn people() -> (Person, Person) {
    (Person::new("user:x", 11, &[]), Person::new("user:y", 12, &[]))
}

fn revise(house: &mut House, case: &CaseId, plan: &Value) {
    let submission = Submission { revises: Some(case.clone()), ..house.submission(plan) };
    house.propose(submission);
}

/// A plan that was approved and stopped at its first look, then what comes next.
fn stopped(next: impl FnOnce(&mut House, &CaseId, &Person, &Person)) -> Vec<Entry> {
    let mut house = House::new(&one_person());
    let (x, y) = people();
    house.enroll(&[&x, &y]);
    let case = house.submit(&plan(&[])).0.case.unwrap();
    house.approve(&case, &x, "1");
    house.verified(&case);
    house.run(&case, "look", Phase::Act);
    house.observe(&case, returned(json!({"content": "no"})));
    house.finish(&case, false, &[], &[]);
    assert_eq!(house.stage(&case), "stopped");
    next(&mut house, &case, &x, &y);
    entries(&house)
}

/// Everything on record.
fn entries(house: &House) -> Vec<Entry> {
    let mut reader = house.ledger.as_ref().unwrap().reader().unwrap();
    let records = reader.records(Query::default()).map(Result::unwrap);
    let entry = |record: countersign_ledger::reader::Record| {
        let Payload::Open(payload) = record.payload else { return None };
        let (kind, case, at) = (record.leaf.kind, record.leaf.case, record.leaf.at);
        let sealed = matches!(kind, RecordKind::Proposal | RecordKind::Decision | RecordKind::CaseOpened);
        Some(Entry { kind, case, at, payload, sealed })
    };
    records.filter_map(entry).collect()
}

/// A ledger of these records, signed by the very key of the gate.
fn ledger(entries: Vec<Entry>) -> (MemoryStore, VerifyOptions, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::new();
    let signer = GateKey::from_bytes(&mut [1; 32]).unwrap().head_signer().unwrap();
    let options = VerifyOptions { key: Some(signer.key()), heads: Vec::new() };
    let ledger =
        Ledger::open(Box::new(store.clone()), Box::new(signer), master(), &folder.path().join("head")).unwrap();
    let _ = ledger.append(entries).wait().unwrap();
    let out = export(&mut ledger.reader().unwrap(), Payloads::All);
    (store, options, out)
}

fn check(entries: Vec<Entry>) -> Result<Report, Fault> {
    let (_, options, out) = ledger(entries);
    verify(out.as_slice(), &options)
}

fn of(entries: &[Entry], kind: RecordKind, number: usize) -> &Entry {
    entries.iter().filter(|entry| entry.kind == kind).nth(number).unwrap()
}

/// What a gate would record that takes the first approval over for the last version, whatever that is, and signs it.
fn lie(mut entries: Vec<Entry>, at: impl FnOnce(&mut Entry)) -> Vec<Entry> {
    let given = of(&entries, RecordKind::Approval, 0).payload.clone();
    let digest = countersign_plan::canonical::digest(&given["envelope"]);
    let proposals: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == RecordKind::Proposal).collect();
    let (before, last) = (proposals[proposals.len() - 2], proposals[proposals.len() - 1]);
    let payload = json!({
        "by": given["by"], "key": given["key"], "groups": given["groups"], "self_approved": false,
        "expires_at": given["expires_at"], "approval": digest, "carried": before.payload["plan_digest"],
    });
    let mut entry = Entry { kind: RecordKind::Approval, payload, sealed: false, ..last.clone() };
    at(&mut entry);
    let payload = json!({"approvals": [digest], "plan_digest": last.payload["plan_digest"]});
    let signature = Entry { kind: RecordKind::Countersignature, payload, ..entry.clone() };
    entries.extend([entry, signature]);
    entries
}

#[track_caller]
fn refused(entries: Vec<Entry>, why: &str) {
    match check(entries) {
        Err(Fault { problem: Problem::Approval(said), .. }) if said.contains(why) => {}
        other => assert_eq!(format!("{other:?}"), why),
    }
}

#[test]
fn a_revision_that_only_adds_reads_verifies_with_the_approval_of_the_one_before() {
    let true_records = stopped(|house, case, _, _| {
        revise(house, case, &plan(&[again()]));
        assert_eq!(house.stage(case), "countersigned");
    });
    let report = check(true_records).unwrap();
    assert_eq!((report.carried, report.unseen), (1, 0));
    assert!(report.to_string().contains("only add reads: 1"), "{report}");
    // The same, told by hand: the lie below differs from the truth in nothing else.
    let waiting = stopped(|house, case, _, _| {
        house.pass(1);
        revise(house, case, &plan(&[again()]));
    });
    let end = waiting.iter().position(|entry| entry.payload.get("carried").is_some()).unwrap();
    assert_eq!(check(lie(waiting[..end].to_vec(), |_| {})).unwrap().carried, 1);
}

#[test]
fn an_approval_that_is_taken_over_for_more_is_found() {
    let more = json!({"id": "more", "action": "write_file", "args": {"path": "sub/b.txt", "content": "x"}});
    let quiet = json!({"id": "more", "action": "create_directory", "args": {"path": "sub/new"}});
    let mut other = plan(&[again()]);
    other["steps"][1]["args"]["content"] = json!("y");
    let mut weaker = plan(&[again()]);
    weaker["steps"][0].as_object_mut().unwrap().remove("expect");
    for (plan, why) in [
        (plan(&[more]), "asks for another reason at step `more`"),
        (plan(&[quiet]), "step `more` is added, and does more than read"),
        (other, "`args` of step `w` is not the same"),
        (weaker, "`expect` of step `look` is not the same"),
    ] {
        let widened = stopped(|house, case, _, _| {
            revise(house, case, &plan);
            assert_eq!(house.stage(case), "pending", "the gate asks");
        });
        assert!(check(widened.clone()).is_ok());
        refused(lie(widened, |_| {}), why);
    }
}

#[test]
fn an_effect_that_is_repeated_under_one_approval_is_found() {
    let mut house = House::new(&one_person());
    let (x, y) = people();
    house.enroll(&[&x, &y]);
    let mut first = plan(&[]);
    first["steps"].as_array_mut().unwrap().swap(0, 1);
    let case = house.submit(&first).0.case.unwrap();
    house.approve(&case, &x, "1");
    house.verified(&case);
    house.whole_step(&case, "w");
    house.run(&case, "look", Phase::Act);
    house.observe(&case, returned(json!({"content": "no"})));
    house.run(&case, "w", Phase::Restore);
    house.observe(&case, returned(json!({})));
    house.finish(&case, false, &[], &["w"]);
    first["steps"].as_array_mut().unwrap().push(again());
    revise(&mut house, &case, &first);
    assert_eq!(house.stage(&case), "pending");
    refused(lie(entries(&house), |_| {}), "step `w` was begun");
}

#[test]
fn an_approval_that_was_over_retired_denied_or_never_given_is_found() {
    let told = || {
        let all = stopped(|house, case, _, _| revise(house, case, &plan(&[again()])));
        let end = all.iter().position(|entry| entry.payload.get("carried").is_some()).unwrap();
        all[..end].to_vec()
    };
    refused(lie(told(), |entry| entry.at = entry.at.plus(Span::from_secs(301))), "its time was over");
    refused(lie(told(), |entry| entry.payload["by"] = json!("user:y")), "nobody gave it");
    refused(lie(told(), |entry| entry.payload["carried"] = json!(Value::Null)), "not from the version before");
    let first = of(&told(), RecordKind::Approval, 0).payload.clone();
    refused(lie(told(), |entry| entry.payload = first), "approves another plan");
    let mut unnamed = told();
    let signature = of(&unnamed, RecordKind::Countersignature, 0).clone();
    unnamed.push(signature);
    refused(unnamed, "it names other approvals than were recorded for its plan");

    let retired = stopped(|house, case, x, y| {
        let (key, principal) = (x.approver.key, y.approver.principal.clone());
        let signed_at: Timestamp = house.gate.now();
        house.event(Event::Retire(y.sign(&Retirement { key, principal, signed_at, nonce: "r".to_owned() })));
        revise(house, case, &plan(&[again()]));
        assert_eq!(house.stage(case), "pending");
    });
    refused(lie(retired, |_| {}), "its key was retired");

    // The one who approved turns out to hold a key that the requester sent in.
    let own = stopped(|house, case, _, y| {
        let user = "user:r".parse().unwrap();
        let second = Person { user, ..Person::new("user:x", 15, &[]) };
        let enrolment = Enrolment {
            approver: second.approver.clone(),
            principal: y.approver.principal.clone(),
            signed_at: house.gate.now(),
            nonce: "late".to_owned(),
        };
        let envelope = Some(y.sign(&enrolment));
        house.event(Event::Enroll { approver: second.approver.clone(), by: second.user.clone(), envelope });
        revise(house, case, &plan(&[again()]));
        assert_eq!(house.stage(case), "pending");
    });
    refused(lie(own, |_| {}), "by somebody who may not approve it");

    // One that is not over.
    let mut going = told();
    going.retain(|entry| entry.kind != RecordKind::CaseClosed);
    refused(lie(going, |_| {}), "not from the version before, while it waited or once it had stopped");

    // One whose time ran out before it did anything.
    let mut house = House::new(&one_person());
    let (x, y) = people();
    house.enroll(&[&x, &y]);
    let mut brief = plan(&[]);
    brief["expires_in"] = json!("1m");
    let case = house.submit(&brief).0.case.unwrap();
    house.approve(&case, &x, "1");
    house.verified(&case);
    house.pass(61);
    house.finish(&case, false, &[], &[]);
    revise(&mut house, &case, &brief);
    assert_eq!(house.stage(&case), "pending");
    refused(lie(entries(&house), |_| {}), "step `w` was begun, or its plan was halted");

    let mut house = House::new(&two_people());
    let (x, y) = people();
    house.enroll(&[&x, &y]);
    let case = house.submit(&plan(&[])).0.case.unwrap();
    house.approve(&case, &x, "1");
    let mut no = house.approval(&case, &y, "2");
    no.answer = Answer::Deny;
    house.event(Event::Answer(y.sign(&no)));
    revise(&mut house, &case, &plan(&[again()]));
    assert!(!has(&house.pass(1), |d| matches!(d, countersign_gate::directive::Directive::StartExecutor { .. })));
    refused(lie(entries(&house), |_| {}), "taken over from no version that is recorded");
}

#[test]
fn what_is_sealed_is_counted_and_not_believed() {
    let (store, options, _) = ledger(stopped(|house, case, _, _| revise(house, case, &plan(&[again()]))));
    let mut reader = LedgerReader::open(Box::new(store), None).unwrap();
    let report = verify(export(&mut reader, Payloads::All).as_slice(), &options).unwrap();
    assert_eq!((report.carried, report.unseen), (0, 1));
    assert!(report.to_string().contains("words of their cases: 1"), "{report}");
}
