//! Erasing a case: by whom, when, and what comes after.

use countersign_gate::directive::{Directive, OperatorAnswer};
use countersign_gate::event::{Event, PlannerDeed, Relic};
use countersign_gate::machine::Eyes;
use countersign_ledger::reader::{Payload, Record};
use countersign_ledger::{Query, RecordKind};
use countersign_plan::approval::Erasure;
use countersign_plan::id::CaseId;
use countersign_plan::verdict::Code;
use serde_json::json;

use crate::house::{House, Person, free, has, one_person, refused, write};

fn relic(case: &CaseId) -> Relic {
    let (requester, agent) = ("user:r".parse().unwrap(), "agent:a".parse().unwrap());
    Relic { case: case.clone(), requester, agent, eyes: Some(Eyes::Four) }
}

fn erasure(house: &House, case: &CaseId, by: &Person, nonce: &str) -> Erasure {
    let (principal, signed_at) = (by.approver.principal.clone(), house.gate.now());
    Erasure { case: case.clone(), reason: "asked to".to_owned(), principal, signed_at, nonce: nonce.to_owned() }
}

fn erase(house: &mut House, by: &Person, erasure: &Erasure, relics: Vec<Relic>) -> Vec<Directive> {
    let kept = json!({"labels": {}});
    house.event(Event::Erase { envelope: by.sign(erasure), relics, kept })
}

fn of(house: &House, case: &CaseId) -> Vec<Record> {
    let mut reader = house.ledger.as_ref().unwrap().reader().unwrap();
    reader.records(Query { case: Some(case.clone()), ..Query::default() }).map(Result::unwrap).collect()
}

/// A case that ran to its end, and somebody who may erase it.
fn ended() -> (House, CaseId, Person) {
    let mut house = House::new(&free());
    let x = Person::new("user:x", 11, &[]);
    house.enroll(&[&x]);
    let case = house.running(&write());
    house.whole_step(&case, "w");
    house.finish(&case, true, &["w"], &[]);
    assert_eq!(house.stage(&case), "completed");
    (house, case, x)
}

#[test]
fn an_erased_case_is_on_record_without_its_words_and_with_who_wanted_that() {
    let (mut house, case, x) = ended();
    let before = of(&house, &case).len();
    let signed = erasure(&house, &case, &x, "1");
    let done = erase(&mut house, &x, &signed, vec![relic(&case)]);
    assert!(has(
        &done,
        |d| matches!(d, Directive::AnswerOperator(OperatorAnswer::Erased { cases }) if *cases == [case.clone()])
    ));
    let records = of(&house, &case);
    assert_eq!(records.len(), before + 1, "no record is lost");
    for record in &records {
        let sealed = matches!(
            record.leaf.kind,
            RecordKind::CaseOpened | RecordKind::Proposal | RecordKind::Decision | RecordKind::Outcome
        );
        assert_eq!(record.payload == Payload::Erased, sealed, "{record:?}");
    }
    let Payload::Open(said) = &records.last().unwrap().payload else { panic!("{records:?}") };
    assert_eq!(
        (&said["by"], &said["reason"], &said["asked_for"]),
        (&json!("user:x"), &json!("asked to"), &json!(case))
    );
    assert!(said["envelope"].is_object(), "{said}");
    assert_eq!(house.records(RecordKind::Label), [json!({"labels": {}})], "what is kept is the house's own, sealed");
}

/// INV-4, INV-8: nothing that comes late stops the ledger, and nothing brings an erased case back.
#[test]
fn what_comes_late_and_a_restart_leave_an_erased_case_as_it_is() {
    let (mut house, case, x) = ended();
    let signed = erasure(&house, &case, &x, "1");
    erase(&mut house, &x, &signed, vec![relic(&case)]);
    for again in [false, true] {
        if again {
            assert!(house.restart().is_empty(), "nothing is to be done about it");
        }
        let count = of(&house, &case).len();
        assert!(house.gate.case(&case).is_none());
        assert_eq!(refused(&erase(&mut house, &x, &signed, vec![relic(&case)])), Some(Code::ApprovalExpired));
        let (reason, message) = ("late".to_owned(), "late".to_owned());
        house.event(Event::StepLost { case: case.clone(), reason: reason.clone() });
        house.event(Event::ExecutorLost { case: case.clone(), reason: reason.clone() });
        house.event(Event::ExecutorViolation { case: case.clone(), message: message.clone() });
        house.event(Event::PlannerViolation { case: case.clone(), message: message.clone() });
        house.event(Event::Planner { case: case.clone(), did: PlannerDeed::GaveUp { reason: reason.clone() } });
        house.event(Event::Broker { case: Some(case.clone()), alert: true, message: message.clone() });
        house.event(Event::Halt { case: Some(case.clone()), reason });
        let mut revision = house.submission(&write());
        revision.revises = Some(case.clone());
        let verdict = house.propose(revision).0;
        assert_ne!(verdict.case, Some(case.clone()), "{verdict:#?}");
        assert_eq!(of(&house, &case).len(), count, "what is said of it later is nobody's own");
    }
    // Others go on.
    let next = house.running(&write());
    assert_eq!(house.stage(&next), "running");
}

#[test]
fn nothing_is_erased_that_is_under_way_or_by_whom_it_concerns() {
    let mut house = House::new(&one_person());
    let (x, r, agent) =
        (Person::new("user:x", 11, &[]), Person::new("user:r", 12, &[]), Person::new("agent:a", 13, &[]));
    house.enroll(&[&x, &r, &agent]);
    let case = house.submit(&write()).0.case.unwrap();
    let refuses = |house: &mut House, by: &Person, signed: &Erasure, relics| refused(&erase(house, by, signed, relics));
    let refuse = |house: &mut House, by: &Person, nonce: &str, code| {
        let signed = erasure(house, &case, by, nonce);
        assert_eq!(refuses(house, by, &signed, vec![relic(&case)]), Some(code), "{nonce}");
    };
    refuse(&mut house, &x, "it waits for people", Code::PolicyDeny);
    house.approve(&case, &x, "a");
    refuse(&mut house, &x, "it is countersigned", Code::PolicyDeny);
    house.verified(&case);
    house.whole_step(&case, "w");
    refuse(&mut house, &x, "it runs", Code::PolicyDeny);
    house.event(Event::Halt { case: Some(case.clone()), reason: "enough".to_owned() });
    refuse(&mut house, &x, "its effects are being taken back", Code::PolicyDeny);
    house.run(&case, "w", countersign_plan::permit::Phase::Restore);
    house.event(Event::StepLost { case: case.clone(), reason: "killed".to_owned() });
    assert_eq!(house.stage(&case), "indeterminate");
    refuse(&mut house, &x, "nobody knows what it did", Code::PolicyDeny);
    let (principal, signed_at) = (x.approver.principal.clone(), house.gate.now());
    let (step, nonce) = ("w".parse().unwrap(), "s".to_owned());
    let settlement = countersign_plan::approval::Settlement {
        case: case.clone(),
        step,
        happened: true,
        principal,
        signed_at,
        nonce,
    };
    house.event(Event::Settle(x.sign(&settlement)));
    assert_eq!(house.stage(&case), "stopped");

    refuse(&mut house, &agent, "by its proposer", Code::SeparationViolation);
    refuse(&mut house, &r, "by its requester, under four eyes", Code::PolicyDeny);
    refuse(&mut house, &Person::new("user:z", 19, &[]), "by a stranger", Code::PolicyDeny);
    let other = house.submit(&write()).0.case.unwrap();
    let signed = erasure(&house, &case, &x, "another case");
    assert_eq!(refuses(&mut house, &x, &signed, vec![relic(&other)]), Some(Code::PolicyDeny));
    assert_eq!(
        refuses(&mut house, &x, &signed, vec![relic(&case), relic(&other)]),
        Some(Code::PolicyDeny),
        "it is open"
    );
    assert_eq!(refuses(&mut house, &x, &signed, Vec::new()), Some(Code::PolicyDeny));
    let silent = Erasure { reason: " ".to_owned(), ..erasure(&house, &case, &x, "no reason") };
    assert_eq!(refuses(&mut house, &x, &silent, vec![relic(&case)]), Some(Code::PolicyDeny));
    assert!(house.records(RecordKind::Erased).is_empty());
    // With somebody's word for it, the requester erases what was approved inline.
    let signed = erasure(&house, &case, &r, "inline");
    let untold = Relic { eyes: None, ..relic(&case) };
    assert_eq!(refuses(&mut house, &r, &signed, vec![untold]), Some(Code::PolicyDeny), "no record says so");
    let inline = Relic { eyes: Some(Eyes::Two), ..relic(&case) };
    assert_eq!(refuses(&mut house, &r, &signed, vec![inline]), None);
}
