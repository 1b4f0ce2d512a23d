//! Approvals on the whole gate, with real keys: whose word counts, for what, and for how long.

use countersign_gate::directive::{Directive, OperatorAnswer};
use countersign_gate::event::Event;
use countersign_ledger::RecordKind;
use countersign_plan::approval::Answer;
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::verdict::{Code, Decision};
use serde_json::json;

use crate::house::{House, Person, configuration, free, has, one_person, refused, two_people, write, write_two};

fn started(directives: &[Directive]) -> bool {
    has(directives, |d| matches!(d, Directive::StartExecutor { .. }))
}

struct Asked {
    house: House,
    case: CaseId,
    x: Person,
    y: Person,
}

/// A case that waits for two people.
fn asked() -> Asked {
    let mut house = House::new(&two_people());
    let (x, y) = (Person::new("user:x", 11, &["ops"]), Person::new("user:y", 12, &["finance"]));
    house.enroll(&[&x, &y]);
    let (verdict, directives) = house.submit(&write());
    assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
    assert!(!started(&directives));
    let case = verdict.case.unwrap();
    assert_eq!(house.stage(&case), "pending");
    Asked { house, case, x, y }
}

/// INV-1: a plan starts with the last approval that it needs, and the countersignature names them.
#[test]
fn a_quorum_of_people_starts_the_plan() {
    let Asked { mut house, case, x, y } = asked();
    assert!(!started(&house.approve(&case, &x, "1")));
    assert!(started(&house.approve(&case, &y, "2")));
    let signature = &house.records(RecordKind::Countersignature)[0];
    let approvals: Vec<_> = house.records(RecordKind::Approval).iter().map(|a| a["envelope"].clone()).collect();
    let digests: Vec<Digest> = approvals.iter().map(countersign_plan::canonical::digest).collect();
    assert_eq!(signature["approvals"], json!(digests));
}

/// A quorum is counted by people, not by signatures or keys (`lesson_21`).
#[test]
fn lesson_21_a_quorum_counts_people() {
    let Asked { mut house, case, x, .. } = asked();
    house.approve(&case, &x, "1");
    assert!(refused(&house.approve(&case, &x, "2")).is_some());
    let second_key = Person::new("user:x", 13, &[]);
    let enrolment = countersign_plan::approval::Enrolment {
        approver: second_key.approver.clone(),
        principal: x.approver.principal.clone(),
        signed_at: house.gate.now(),
        nonce: "e9".to_owned(),
    };
    let envelope = Some(x.sign(&enrolment));
    house.event(Event::Enroll { approver: second_key.approver.clone(), by: x.user.clone(), envelope });
    assert!(refused(&house.approve(&case, &second_key, "3")).is_some());
    assert_eq!(house.stage(&case), "pending");
}

/// INV-7: not by a key of its own, not inline, not at all; and the attempt is recorded.
#[test]
fn a_proposer_never_approves() {
    for mode in ["inline", "four_eyes"] {
        let deployment = json!({"schema": "countersign.deployment/v1", "approval": {"mode": mode}});
        let mut house = House::with(configuration(&two_people(), &deployment));
        let (x, agent) = (Person::new("user:x", 11, &[]), Person::new("agent:a", 12, &[]));
        house.enroll(&[&x, &agent]);
        let case = house.submit(&write()).0.case.unwrap();
        let answer = house.approve(&case, &agent, "1");
        assert_eq!(refused(&answer), Some(Code::SeparationViolation));
        assert!(has(&answer, |d| matches!(d, Directive::Alert { .. })));
        assert_eq!(house.records(RecordKind::Critical)[0]["violation"], "self_approval");
        house.approve(&case, &x, "2");
        assert_eq!(house.stage(&case), "pending", "{mode}");
    }
}

/// INV-7: the requester approves inline only, and the record says so.
#[test]
fn a_requester_approves_inline_only_and_the_record_says_so() {
    for (mode, counts) in [("inline", true), ("four_eyes", false)] {
        let deployment = json!({"schema": "countersign.deployment/v1", "approval": {"mode": mode}});
        let mut house = House::with(configuration(&two_people(), &deployment));
        let (r, x) = (Person::new("user:r", 11, &[]), Person::new("user:x", 12, &[]));
        house.enroll(&[&r, &x]);
        let case = house.submit(&write()).0.case.unwrap();
        house.approve(&case, &x, "1");
        assert_eq!(started(&house.approve(&case, &r, "2")), counts, "{mode}");
        let approvals = house.records(RecordKind::Approval);
        assert_eq!(approvals[0]["self_approved"], false);
        assert_eq!(approvals.get(1).map(|a| a["self_approved"].clone()), counts.then_some(json!(true)));
    }
}

/// INV-3: exactly the plan, version, policy and case that wait.
#[test]
fn an_approval_of_another_version_counts_for_nothing() {
    let Asked { mut house, case, x, y } = asked();
    let first = house.approval(&case, &x, "1");
    let mut changed = write();
    changed["steps"][0]["args"]["content"] = json!("something else");
    let submission = countersign_gate::event::Submission { revises: Some(case.clone()), ..house.submission(&changed) };
    let (verdict, _) = house.propose(submission);
    assert_eq!((verdict.version, verdict.case.as_ref()), (2, Some(&case)));
    assert!(refused(&house.event(Event::Answer(x.sign(&first)))).is_some());
    for (place, spoil) in [
        (|a: &mut countersign_plan::approval::Approval| a.version = 1) as fn(&mut _),
        |a| a.plan_digest = Digest::of(b"another plan"),
        |a| a.policy_digest = Digest::of(b"another policy"),
        |a| a.case = "c-other".parse().unwrap(),
    ]
    .into_iter()
    .enumerate()
    {
        let mut approval = house.approval(&case, &x, &format!("spoilt-{place}"));
        spoil(&mut approval);
        assert!(refused(&house.event(Event::Answer(x.sign(&approval)))).is_some(), "{place}");
    }
    house.approve(&case, &x, "2");
    assert!(started(&house.approve(&case, &y, "3")), "the version that waits takes approvals of its own");
}

/// An approval that came too late, and a case that nobody answered, are blocks (`lesson_21`, `lesson_22`).
#[test]
fn an_expired_approval_counts_for_nothing() {
    let Asked { mut house, case, x, y } = asked();
    let approval = house.approval(&case, &x, "1");
    house.pass(301);
    assert_eq!(refused(&house.event(Event::Answer(x.sign(&approval)))), Some(Code::ApprovalExpired));
    house.approve(&case, &x, "2");
    house.pass(3300);
    assert_eq!(house.stage(&case), "expired", "denied by itself");
    assert!(refused(&house.approve(&case, &y, "3")).is_some());
    assert_eq!(house.records(RecordKind::Countersignature).len(), 0);
}

/// A signature counts once, also after a restart; what waits for people waits on.
#[test]
fn a_restart_keeps_what_waits_and_what_was_signed() {
    let Asked { mut house, case, x, y } = asked();
    house.approve(&case, &x, "1");
    house.restart();
    assert_eq!(house.stage(&case), "pending");
    assert!(refused(&house.approve(&case, &x, "2")).is_some(), "counted before the restart");
    let directives = house.approve(&case, &y, "3");
    assert!(started(&directives), "{directives:?}");
    house.verified(&case);
}

/// One no is enough, whoever says it but the proposer.
#[test]
fn a_denial_denies() {
    let Asked { mut house, case, x, y } = asked();
    house.approve(&case, &x, "1");
    let mut denial = house.approval(&case, &y, "2");
    denial.answer = Answer::Deny;
    denial.reason = Some("no".to_owned());
    house.event(Event::Answer(y.sign(&denial)));
    assert_eq!(house.stage(&case), "denied");
    assert_eq!(house.records(RecordKind::Denial).len(), 1);
}

/// A group that a rule names is asked, and nobody else (`lesson_22`).
#[test]
fn lesson_22_a_group_that_is_asked_is_asked() {
    let policy = json!({"schema": "countersign.policy/v1", "verify": [
        {"name": "writes", "action_types": ["write_file"], "tier": 3, "approvers": {"group": "finance", "quorum": 1}},
    ]});
    let mut house = House::new(&policy);
    let (x, y) = (Person::new("user:x", 11, &["ops"]), Person::new("user:y", 12, &["finance"]));
    house.enroll(&[&x, &y]);
    let case = house.submit(&write()).0.case.unwrap();
    assert!(refused(&house.approve(&case, &x, "1")).is_some());
    assert!(started(&house.approve(&case, &y, "2")));
}

/// The first approver enrols; each later one is signed for by an enrolled one, and for exactly that person.
#[test]
fn an_enrolment_is_signed_by_an_approver() {
    let mut house = House::new(&free());
    let (x, y) = (Person::new("user:x", 11, &[]), Person::new("user:y", 12, &[]));
    house.enroll(&[&x]);
    assert!(
        refused(&house.event(Event::Enroll { approver: y.approver.clone(), by: y.user.clone(), envelope: None }))
            .is_some()
    );
    let enrolment = countersign_plan::approval::Enrolment {
        approver: y.approver.clone(),
        principal: y.approver.principal.clone(),
        signed_at: house.gate.now(),
        nonce: "n".to_owned(),
    };
    let by_itself = Some(y.sign(&enrolment));
    assert!(
        refused(&house.event(Event::Enroll { approver: y.approver.clone(), by: y.user.clone(), envelope: by_itself }))
            .is_some()
    );
    let other = Person::new("user:z", 13, &[]);
    let enrolment =
        countersign_plan::approval::Enrolment { principal: x.approver.principal.clone(), ..enrolment.clone() };
    let envelope = Some(x.sign(&enrolment));
    assert!(refused(&house.event(Event::Enroll { approver: other.approver, by: x.user.clone(), envelope })).is_some());
    house.restart();
    assert_eq!(house.gate.approvers().len(), 1);
}

/// A check is decided, recorded and never run, approved or not; an unreadable proposal is decided too.
#[test]
fn a_check_runs_nothing_and_an_unreadable_proposal_is_a_block() {
    let mut house = House::new(&two_people());
    let (x, y) = (Person::new("user:x", 11, &[]), Person::new("user:y", 12, &[]));
    house.enroll(&[&x, &y]);
    let submission = countersign_gate::event::Submission { check: true, ..house.submission(&write_two()) };
    let (verdict, _) = house.propose(submission);
    let case = verdict.case.unwrap();
    house.approve(&case, &x, "1");
    let done = house.approve(&case, &y, "2");
    assert!(!started(&done));
    assert!(has(&done, |d| matches!(d, Directive::AnswerOperator(OperatorAnswer::Done { .. }))));
    assert_eq!(house.stage(&case), "decided");
    let submission = countersign_gate::event::Submission { document: b"{]".to_vec(), ..house.submission(&write()) };
    let (verdict, directives) = house.propose(submission);
    assert_eq!(verdict.decision, Decision::Block);
    assert_eq!(verdict.reasons[0].code, Code::PlanInvalid);
    assert!(!started(&directives));
    assert_eq!(house.records(RecordKind::Decision).len(), 2);
}

/// INV-7: a name of one's own choosing is no second pair of eyes. The key that a user enrolled under any name approves no case
/// of that user under four eyes, nor does any other key of the same name; inline it does, and the record says so.
#[test]
fn a_requester_under_another_name_is_still_the_requester() {
    for (mode, counts) in [("four_eyes", false), ("inline", true)] {
        let deployment = json!({"schema": "countersign.deployment/v1", "approval": {"mode": mode}});
        let mut house = House::with(configuration(&one_person(), &deployment));
        // uid:1000 enrols himself as alice, then as bob, with alice's signature; carol enrols herself.
        let mut alice = Person::new("user:alice", 11, &[]);
        let mut bob = Person::new("user:bob", 12, &[]);
        let carol = Person::new("user:carol", 13, &[]);
        // A second key of alice, sent in by somebody else.
        let second = Person::new("user:alice", 14, &[]);
        alice.user = "uid:1000".parse().unwrap();
        bob.user = alice.user.clone();
        house.enroll(&[&alice, &bob, &carol, &second]);
        house.restart();
        for (place, poser) in [&alice, &bob, &second].into_iter().enumerate() {
            let submission =
                countersign_gate::event::Submission { requester: alice.user.clone(), ..house.submission(&write()) };
            let case = house.propose(submission).0.case.unwrap();
            let answer = house.approve(&case, poser, &format!("n{place}"));
            assert_eq!(started(&answer), counts, "{mode}: {}", poser.approver.principal);
            assert_eq!(refused(&answer).is_some(), !counts);
            if counts {
                assert_eq!(house.records(RecordKind::Approval).last().unwrap()["self_approved"], true);
            } else {
                assert!(started(&house.approve(&case, &carol, &format!("c{place}"))), "somebody else may");
            }
        }
    }
}

/// INV-7: what a step did is not settled by the one who asked for it, under whatever name.
#[test]
fn a_requester_under_another_name_settles_nothing() {
    let mut house = House::new(&free());
    let mut bob = Person::new("user:bob", 12, &[]);
    bob.user = "uid:1000".parse().unwrap();
    let carol = Person::new("user:carol", 13, &[]);
    house.enroll(&[&bob, &carol]);
    let submission = countersign_gate::event::Submission { requester: bob.user.clone(), ..house.submission(&write()) };
    let case = house.propose(submission).0.case.unwrap();
    house.verified(&case);
    house.run(&case, "w", countersign_plan::permit::Phase::Snapshot);
    house.observe(&case, crate::house::kept());
    house.run(&case, "w", countersign_plan::permit::Phase::Act);
    house.event(Event::StepLost { case: case.clone(), reason: "gone".to_owned() });
    assert_eq!(house.stage(&case), "indeterminate");
    let settle = |by: &Person, nonce: &str, house: &House| countersign_plan::approval::Settlement {
        case: case.clone(),
        step: "w".parse().unwrap(),
        happened: false,
        principal: by.approver.principal.clone(),
        signed_at: house.gate.now(),
        nonce: nonce.to_owned(),
    };
    let own = bob.sign(&settle(&bob, "1", &house));
    assert!(refused(&house.event(Event::Settle(own))).is_some());
    let other = carol.sign(&settle(&carol, "2", &house));
    assert!(refused(&house.event(Event::Settle(other))).is_none());
}

fn retirement(of: &Person, by: &Person, nonce: &str, house: &House) -> countersign_plan::envelope::Envelope {
    by.sign(&countersign_plan::approval::Retirement {
        key: of.approver.key,
        principal: by.approver.principal.clone(),
        signed_at: house.gate.now(),
        nonce: nonce.to_owned(),
    })
}

/// A key that is retired approves nothing, and what it approved while others were waited for counts no longer, also after a
/// restart.
#[test]
fn a_retired_key_approves_nothing_and_its_pending_approvals_are_gone() {
    let Asked { mut house, case, x, y } = asked();
    let z = Person::new("user:z", 13, &[]);
    let enrolment = countersign_plan::approval::Enrolment {
        approver: z.approver.clone(),
        principal: x.approver.principal.clone(),
        signed_at: house.gate.now(),
        nonce: "e9".to_owned(),
    };
    let envelope = Some(x.sign(&enrolment));
    house.event(Event::Enroll { approver: z.approver.clone(), by: z.user.clone(), envelope });
    house.approve(&case, &x, "1");
    let done = house.event(Event::Retire(retirement(&x, &y, "r1", &house)));
    let told = |d: &Directive| matches!(d, Directive::AnswerOperator(OperatorAnswer::Retired { cases, .. }) if cases.len() == 1);
    assert!(has(&done, told), "{done:?}");
    assert!(house.gate.case(&case).unwrap().approvals.is_empty());
    assert!(refused(&house.approve(&case, &x, "2")).is_some(), "the key is enrolled no longer");
    house.restart();
    assert_eq!(house.gate.approvers().len(), 2);
    assert!(house.gate.case(&case).unwrap().approvals.is_empty());
    assert!(!started(&house.approve(&case, &y, "3")), "one of two");
    let signed = house.approve(&case, &z, "4");
    assert!(started(&signed), "{signed:?}");
    let approvals = &house.records(RecordKind::Countersignature)[0]["approvals"];
    assert_eq!(approvals.as_array().unwrap().len(), 2, "the withdrawn one is not among them");
    let record = house.records(RecordKind::ApproverEnrolled).last().unwrap().clone();
    assert_eq!((&record["by"], &record["retired"]), (&json!("user:y"), &json!(x.approver.key)));
}

/// The last approver stays, a stranger retires nobody, and a retirement counts once.
#[test]
fn the_last_approver_is_not_retired_and_nobody_else_retires() {
    let mut house = House::new(&free());
    let (x, y) = (Person::new("user:x", 11, &[]), Person::new("user:y", 12, &[]));
    house.enroll(&[&x]);
    let refuses = |house: &mut House, envelope| refused(&house.event(Event::Retire(envelope))).is_some();
    let envelope = retirement(&x, &x, "1", &house);
    assert!(refuses(&mut house, envelope), "the last one");
    let envelope = retirement(&x, &y, "2", &house);
    assert!(refuses(&mut house, envelope), "by nobody that is enrolled");
    let mut house = House::new(&free());
    house.enroll(&[&x, &y]);
    let envelope = retirement(&Person::new("user:z", 19, &[]), &x, "3", &house);
    assert!(refuses(&mut house, envelope), "a key that nobody has");
    let envelope = retirement(&y, &x, "4", &house);
    assert!(!refuses(&mut house, envelope.clone()));
    assert!(refuses(&mut house, envelope), "twice");
}
