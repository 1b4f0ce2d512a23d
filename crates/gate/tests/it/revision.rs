//! Revisions: a version that adds nothing but reads keeps what was approved of the one before, and every other asks anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use countersign_gate::directive::Directive;
use countersign_gate::event::{Event, Submission};
use countersign_ledger::RecordKind;
use countersign_plan::approval::{Answer, Retirement};
use countersign_plan::artifact::Plan;
use countersign_plan::confinement::Profile;
use countersign_plan::digest::Digest;
use countersign_plan::draft::Draft;
use countersign_plan::id::CaseId;
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::permit::Phase;
use countersign_plan::revision::{Version, only_reads};
use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Decision, Mode, Verdict};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::house::{
    House, Person, configuration, deployment, file, free, has, kept, one_person, returned, two_people, write,
};

fn started(directives: &[Directive]) -> bool {
    has(directives, |d| matches!(d, Directive::StartExecutor { .. }))
}

fn revise(house: &mut House, case: &CaseId, plan: &Value) -> (Verdict, Vec<Directive>) {
    let submission = Submission { revises: Some(case.clone()), ..house.submission(plan) };
    house.propose(submission)
}

fn told(verdict: &Verdict, code: Code) -> Option<&str> {
    verdict.reasons.iter().find(|reason| reason.code == code).map(|reason| reason.message.as_str())
}

fn read(id: &str, path: &str) -> Value {
    json!({"id": id, "action": "read_file", "args": {"path": path}})
}

/// A look, and a write that needs people.
fn plan() -> Value {
    json!({"schema": "countersign.plan/v1", "goal": "Write a file", "expires_in": "15m", "steps": [
        {"id": "look", "action": "read_file", "args": {"path": "a.txt"}, "expect": [{"output": "/content", "matches": "o[k]"}]},
        {"id": "w", "action": "write_file", "args": {"path": "a.txt", "content": "x"}, "reason": "it is due",
         "expect": [{"output": "/bytes", "min": 1}, {"output": "/bytes", "max": 9}]},
        {"id": "v", "action": "write_file", "args": {"path": "sub/b.txt", "content": {"$from": "look", "at": "/content"}}},
    ]})
}

fn edited(edit: impl FnOnce(&mut Value)) -> Value {
    let mut plan = plan();
    edit(&mut plan);
    plan
}

fn with_step(place: usize, step: Value) -> Value {
    edited(|plan| plan["steps"].as_array_mut().unwrap().insert(place, step))
}

struct Asked {
    house: House,
    case: CaseId,
    x: Person,
    y: Person,
}

/// A plan that one of two people has approved.
fn half(plan: &Value) -> Asked {
    half_of(House::new(&two_people()), plan)
}

fn half_of(mut house: House, plan: &Value) -> Asked {
    let (x, y) = (Person::new("user:x", 11, &[]), Person::new("user:y", 12, &[]));
    house.enroll(&[&x, &y]);
    let (verdict, _) = house.submit(plan);
    assert_eq!(verdict.decision, Decision::RequireApproval, "{verdict:#?}");
    let case = verdict.case.unwrap();
    assert!(!started(&house.approve(&case, &x, "1")));
    assert_eq!(house.stage(&case), "pending");
    assert_eq!(house.gate.case(&case).unwrap().approvals.len(), 1);
    Asked { house, case, x, y }
}

/// A house in which one person has to approve what is written, and two may.
fn one() -> (House, Person, Person) {
    let mut house = House::new(&one_person());
    let (x, y) = (Person::new("user:x", 11, &[]), Person::new("user:y", 12, &[]));
    house.enroll(&[&x, &y]);
    (house, x, y)
}

/// A plan that was approved and stopped at its first look, before it changed anything.
fn stopped(plan: &Value) -> Asked {
    let (mut house, x, y) = one();
    let case = house.submit(plan).0.case.unwrap();
    assert!(started(&house.approve(&case, &x, "1")));
    stop_at_look(&mut house, &case, &[]);
    Asked { house, case, x, y }
}

fn stop_at_look(house: &mut House, case: &CaseId, done: &[&str]) {
    house.verified(case);
    house.run(case, "look", Phase::Act);
    house.observe(case, returned(json!({"content": "no"})));
    house.finish(case, false, done, &[]);
    assert_eq!(house.stage(case), "stopped");
}

fn assert_anew(asked: &Asked, (verdict, directives): &(Verdict, Vec<Directive>), why: &str) {
    let said = told(verdict, Code::ApprovalAnew);
    assert!(said.is_some_and(|said| said.contains(why)), "{why}: {:#?}", verdict.reasons);
    assert_eq!(told(verdict, Code::ApprovalCarried), None, "{why}");
    assert_eq!(verdict.decision, Decision::RequireApproval, "{why}");
    assert!(!started(directives), "{why}");
    assert_eq!(asked.house.stage(&asked.case), "pending", "{why}");
    assert_eq!(asked.house.gate.case(&asked.case).unwrap().approvals.len(), 0, "{why}");
    assert!(asked.house.records(RecordKind::Approval).iter().all(|record| record.get("carried").is_none()), "{why}");
}

/// The way that needs nobody: what stopped at a look before it did anything goes on with one look more.
#[test]
fn a_revision_that_only_adds_reads_needs_no_new_approval() {
    let Asked { mut house, case, .. } = stopped(&plan());
    let (verdict, directives) = revise(&mut house, &case, &with_step(1, read("again", "a.txt")));
    assert!(told(&verdict, Code::ApprovalCarried).unwrap().contains("version 1"), "{verdict:#?}");
    assert_eq!((verdict.decision, verdict.version), (Decision::RequireApproval, 2));
    assert!(started(&directives));
    house.verified(&case);
    for look in ["look", "again"] {
        house.run(&case, look, Phase::Act);
        house.observe(&case, returned(json!({"content": "ok"})));
    }
    house.whole_step(&case, "w");
    house.whole_step(&case, "v");
    house.finish(&case, true, &["look", "again", "w", "v"], &[]);
    assert_eq!(house.stage(&case), "completed");

    let approvals = house.records(RecordKind::Approval);
    let (first, carried) = (&approvals[0], &approvals[1]);
    let signed = countersign_plan::canonical::digest(&first["envelope"]);
    let proposals = house.records(RecordKind::Proposal);
    assert_eq!(carried["approval"], json!(signed));
    assert_eq!(carried["carried"], proposals[0]["plan_digest"]);
    assert_eq!(carried.get("envelope"), None, "nobody signed the second version");
    assert_eq!((&carried["by"], &carried["expires_at"]), (&first["by"], &first["expires_at"]));
    assert_eq!(house.records(RecordKind::Countersignature)[1]["approvals"], json!([signed]));
    assert_eq!(
        house.records(RecordKind::Intent).len(),
        7,
        "each effect once: {:#?}",
        house.records(RecordKind::Intent)
    );
}

/// The same while people are still asked, over two revisions and a restart, and the rest of them decide on what is there then.
#[test]
fn what_was_approved_while_it_waits_counts_for_a_version_with_more_reads() {
    let Asked { mut house, case, x, y } = half(&plan());
    let mut second = with_step(1, read("again", "a.txt"));
    second["steps"][2]["needs"] = json!(["again"]);
    let (verdict, directives) = revise(&mut house, &case, &second);
    assert!(told(&verdict, Code::ApprovalCarried).is_some() && !started(&directives), "{verdict:#?}");
    house.restart();
    assert_eq!(house.gate.case(&case).unwrap().approvals, std::slice::from_ref(&x.approver.principal));
    let mut third = second;
    third["steps"].as_array_mut().unwrap().push(json!(
        {"id": "last", "action": "list_directory", "args": {"path": "sub"}, "needs": ["v"]}
    ));
    let (verdict, directives) = revise(&mut house, &case, &third);
    assert!(told(&verdict, Code::ApprovalCarried).is_some() && !started(&directives), "{verdict:#?}");
    assert!(crate::house::refused(&house.approve(&case, &x, "2")).is_some(), "each person counts once");
    assert!(started(&house.approve(&case, &y, "3")));
    let approvals = house.records(RecordKind::Approval);
    let signed = |at: usize| json!(countersign_plan::canonical::digest(&approvals[at]["envelope"]));
    assert_eq!(house.records(RecordKind::Countersignature)[0]["approvals"], json!([signed(0), signed(3)]));
}

/// A restart between forgets neither what was approved nor what was begun.
#[test]
fn a_restart_keeps_what_a_revision_may_take_over() {
    let Asked { mut house, case, .. } = stopped(&plan());
    house.restart();
    let (verdict, directives) = revise(&mut house, &case, &with_step(0, read("again", "a.txt")));
    assert!(told(&verdict, Code::ApprovalCarried).is_some() && started(&directives), "{verdict:#?}");

    let mut asked = begun();
    asked.house.restart();
    let outcome = revise(&mut asked.house, &asked.case, &after_begun(&[read("again", "a.txt")]));
    assert_anew(&asked, &outcome, "step `w` was begun");
}

/// Whatever else is another than it was counts as wider, also where it means the same.
#[test]
fn what_a_revision_changes_is_approved_anew() {
    type Edit = fn(&mut Value);
    let steps: &[(&str, Edit)] = &[
        ("`args` of step `w`", |p| p["steps"][1]["args"]["content"] = json!("y")),
        ("`args` of step `w`", |p| p["steps"][1]["args"]["path"] = json!("./a.txt")),
        ("`action` of step `w`", |p| p["steps"][1]["action"] = json!("append_file")),
        ("`expect` of step `look`", |p| p["steps"][0]["expect"][0]["matches"] = json!("o.")),
        ("`expect` of step `look`", |p| p["steps"][0]["expect"][0]["matches"] = json!("ok")),
        ("`expect` of step `look`", |p| drop(p["steps"][0].as_object_mut().unwrap().remove("expect"))),
        ("`expect` of step `w`", |p| p["steps"][1]["expect"][1]["max"] = json!(10)),
        ("`expect` of step `w`", |p| p["steps"][1]["expect"][0]["min"] = json!(2)),
        ("`expect` of step `w`", |p| drop(p["steps"][1]["expect"].as_array_mut().unwrap().pop())),
        ("`irreversible` of step `w`", |p| p["steps"][1]["irreversible"] = json!(false)),
        ("`rollback` of step `w`", |p| p["steps"][1]["rollback"] = json!("snapshot")),
        ("`reason` of step `w`", |p| p["steps"][1]["reason"] = json!("it is not due")),
        ("`change_request` of step `w`", |p| p["steps"][1]["change_request"] = json!("CR-1")),
        ("step `v` waits for other steps", |p| p["steps"][2]["needs"] = json!(["w"])),
        ("step `v` comes where step `w` was", |p| p["steps"].as_array_mut().unwrap().swap(1, 2)),
        ("step `w` comes where step `look` was", |p| p["steps"].as_array_mut().unwrap().swap(0, 1)),
        ("step `v` is left out", |p| drop(p["steps"].as_array_mut().unwrap().remove(2))),
        ("step `v` comes where step `w` was", |p| drop(p["steps"].as_array_mut().unwrap().remove(1))),
        ("`args` of step `look`", |p| p["steps"][0]["args"]["path"] = json!("sub/a.txt")),
        ("`privileges` of the plan", |p| p["privileges"] = json!({"read": ["/w/**"], "write": ["/w/**"]})),
        ("the plan would live longer", |p| p["expires_in"] = json!("16m")),
        ("step `more` is added, and does more than read", |p| {
            p["steps"].as_array_mut().unwrap().push(json!(
                {"id": "more", "action": "create_directory", "args": {"path": "sub/new"}}
            ));
        }),
        ("step `more` is added with a `rollback`", |p| {
            let mut more = read("more", "a.txt");
            more["rollback"] = json!({"action": "read_file", "args": {"path": "a.txt"}});
            p["steps"].as_array_mut().unwrap().push(more);
        }),
        ("step `more` is added with a `irreversible`", |p| {
            let mut more = read("more", "a.txt");
            more["irreversible"] = json!(false);
            p["steps"].as_array_mut().unwrap().push(more);
        }),
        ("asks for another reason at step `more`", |p| {
            p["steps"].as_array_mut().unwrap().push(json!(
                {"id": "more", "action": "write_file", "args": {"path": "sub/c.txt", "content": "z"}}
            ));
        }),
        ("asks for another reason at step `more`", |p| {
            p["steps"].as_array_mut().unwrap().push(json!(
                {"id": "more", "action": "http_request", "args": {"method": "GET", "url": "https://unknown.example/"}}
            ));
        }),
        ("", |p| {
            p["steps"].as_array_mut().unwrap().push(json!(
                {"id": "more", "action": "send_email", "args": {"to": "eve@evil.example", "subject": "s", "body": "b"}}
            ));
        }),
        ("", |p| {
            p["steps"].as_array_mut().unwrap().push(json!(
                {"id": "more", "action": "run_program", "args": {"argv": ["cargo", "build"]}}
            ));
        }),
        // The write would take its data from what was added.
        ("`args` of step `v`", |p| {
            p["steps"].as_array_mut().unwrap().insert(0, read("more", "a.txt"));
            p["steps"][3]["args"]["content"] = json!({"$from": "more", "at": "/content"});
        }),
        // Another look takes the name of the one whose data is written.
        ("`args` of step `look`", |p| {
            p["steps"][0] = read("look", "sub");
        }),
    ];
    for (place, (why, edit)) in steps.iter().enumerate() {
        let mut asked = half(&plan());
        let plan = edited(edit);
        let outcome = revise(&mut asked.house, &asked.case, &plan);
        assert_eq!(outcome.0.version, 2, "{place}: {:#?}", outcome.0);
        assert_anew(&asked, &outcome, why);
    }
}

/// An argument that is left out is another one than its default, and the other way round.
#[test]
fn an_absent_argument_is_not_its_default() {
    let program = |cwd: Option<&str>| {
        let mut args = json!({"argv": ["cargo", "build"]});
        if let Some(cwd) = cwd {
            args["cwd"] = json!(cwd);
        }
        json!({"schema": "countersign.plan/v1", "goal": "Build", "steps": [
            {"id": "b", "action": "run_program", "args": args},
        ]})
    };
    let policy = json!({"schema": "countersign.policy/v1", "verify": [
        {"name": "runs", "action_types": ["run_program"], "tier": 3, "approvers": {"quorum": 2}},
    ]});
    for (was, is) in [(None, Some("/w")), (Some("/w"), None), (Some("/w"), Some("/w/")), (Some("/w"), Some("/w"))] {
        let mut asked = half_of(House::new(&policy), &program(was));
        let outcome = revise(&mut asked.house, &asked.case, &program(is));
        if was == is {
            assert!(told(&outcome.0, Code::ApprovalCarried).is_some(), "the same plan adds nothing: {:#?}", outcome.0);
        } else {
            assert_anew(&asked, &outcome, "`args` of step `b`");
        }
    }
}

/// A read that asks by itself is no mere read: confidential outside the workspace, restricted anywhere.
#[test]
fn an_added_read_that_asks_by_itself_is_asked_about() {
    let deployment = json!({"schema": "countersign.deployment/v1",
        "secrecy": {"confidential": ["/pay/**"], "restricted": ["**/.env"]}});
    for path in ["/pay/roll.csv", "/w/.env"] {
        let mut house = House::with(configuration(&two_people(), &deployment));
        house.facts.paths.insert(path.to_owned(), file(77, false));
        let mut asked = half_of(house, &plan());
        let outcome = revise(&mut asked.house, &asked.case, &with_step(3, read("more", path)));
        assert_anew(&asked, &outcome, "asks for another reason at step `more`");
    }
}

/// What is touched is another file by now, though the plan says the same words.
#[test]
fn a_file_that_was_swapped_is_approved_anew() {
    let mut asked = half(&plan());
    asked.house.facts.paths.insert("/w/a.txt".to_owned(), file(99, false));
    let outcome = revise(&mut asked.house, &asked.case, &plan());
    assert_anew(&asked, &outcome, "what step `look` touches, or how it was judged");
}

/// Stopped after its first write was permitted: the write, then a look that does not show what it should.
fn begun() -> Asked {
    let (mut house, x, y) = one();
    let case = house.submit(&after_begun(&[])).0.case.unwrap();
    assert!(started(&house.approve(&case, &x, "1")));
    house.verified(&case);
    house.permit(&case, "w", Phase::Snapshot);
    house.pass(901);
    house.finish(&case, false, &[], &[]);
    assert_eq!(house.stage(&case), "stopped");
    Asked { house, case, x, y }
}

fn after_begun(more: &[Value]) -> Value {
    let mut plan = write();
    plan["expires_in"] = json!("15m");
    plan["steps"].as_array_mut().unwrap().extend(more.iter().cloned());
    plan
}

/// An approval covers one execution: what had leave once, used or not, done or taken back, is a new effect.
#[test]
fn an_effect_that_was_begun_is_approved_anew() {
    let written = json!({"schema": "countersign.plan/v1", "goal": "Write a file", "steps": [
        {"id": "w", "action": "write_file", "args": {"path": "a.txt", "content": "x"}},
        {"id": "look", "action": "read_file", "args": {"path": "a.txt"}, "expect": [{"output": "/content", "equals": "ok"}]},
    ]});
    for (taken_back, restarted) in [(true, false), (false, false), (true, true), (false, true)] {
        let (mut house, x, y) = one();
        let case = house.submit(&written).0.case.unwrap();
        assert!(started(&house.approve(&case, &x, "1")));
        house.verified(&case);
        if taken_back {
            house.whole_step(&case, "w");
            house.run(&case, "look", Phase::Act);
            house.observe(&case, returned(json!({"content": "no"})));
            house.run(&case, "w", Phase::Restore);
            house.observe(&case, returned(json!({})));
            house.finish(&case, false, &[], &["w"]);
        } else {
            house.run(&case, "w", Phase::Snapshot);
            let ending = Ending::Failed { message: "the disk is full".to_owned() };
            house.observe(&case, Observation { ending, ..kept() });
            house.finish(&case, false, &[], &[]);
        }
        assert_eq!(house.stage(&case), "stopped");
        if restarted {
            house.restart();
        }
        let mut asked = Asked { house, case, x, y };
        let mut more = written.clone();
        more["steps"].as_array_mut().unwrap().push(read("again", "a.txt"));
        let outcome = revise(&mut asked.house, &asked.case, &more);
        assert_anew(&asked, &outcome, "step `w` was begun, or its plan was halted");
        // That it was asked again does not make it approved.
        let (verdict, _) = revise(&mut asked.house, &asked.case, &more);
        assert_eq!((told(&verdict, Code::ApprovalCarried), told(&verdict, Code::ApprovalAnew)), (None, None));
        assert!(started(&asked.house.approve(&asked.case, &asked.x, "2")));
    }
}

/// What people said no to, stopped by hand, or let pass by, and what broke a rule, is not taken up under their old word.
#[test]
fn what_was_ended_by_people_or_by_a_violation_is_approved_anew() {
    let more = with_step(0, read("again", "a.txt"));
    let mut asked = half(&plan());
    let mut no = asked.house.approval(&asked.case, &asked.y, "2");
    no.answer = Answer::Deny;
    asked.house.event(Event::Answer(asked.y.sign(&no)));
    assert_eq!(asked.house.stage(&asked.case), "denied");
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "it is denied");

    let mut asked = half(&plan());
    asked.house.event(Event::Halt { case: Some(asked.case.clone()), reason: "wait".to_owned() });
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "it is halted");

    let mut asked = half(&plan());
    asked.house.pass(3700);
    assert_eq!(asked.house.stage(&asked.case), "expired");
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "it is expired");

    // Time that ran out before anything was done.
    for restarted in [false, true] {
        let (mut house, x, y) = one();
        let case = house.submit(&edited(|plan| plan["expires_in"] = json!("1m"))).0.case.unwrap();
        house.approve(&case, &x, "1");
        house.verified(&case);
        house.pass(61);
        house.finish(&case, false, &[], &[]);
        assert_eq!(house.stage(&case), "stopped");
        if restarted {
            house.restart();
        }
        let mut asked = Asked { house, case, x, y };
        let outcome = revise(&mut asked.house, &asked.case, &edited(|plan| plan["expires_in"] = json!("1m")));
        assert_anew(&asked, &outcome, "was begun, or its plan was halted");
    }

    let (mut house, x, y) = one();
    let case = house.submit(&plan()).0.case.unwrap();
    house.approve(&case, &x, "1");
    house.verified(&case);
    house.run(&case, "look", Phase::Act);
    let ending = Ending::Violation { message: "a socket".to_owned() };
    house.observe(&case, Observation { ending, ..returned(json!({})) });
    house.finish(&case, false, &[], &[]);
    assert_eq!(house.stage(&case), "stopped");
    let mut asked = Asked { house, case, x, y };
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "was begun, or its plan was halted");
}

/// Only what could still be said now: by a key that counts, before its time is over, under the same policy, for the same work.
#[test]
fn an_approval_that_could_not_be_given_now_is_not_taken_over() {
    let more = with_step(0, read("again", "a.txt"));
    let mut asked = stopped(&plan());
    asked.house.pass(301);
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "may approve it no more");

    let mut asked = stopped(&plan());
    let retirement = Retirement {
        key: asked.x.approver.key,
        principal: asked.y.approver.principal.clone(),
        signed_at: asked.house.gate.now(),
        nonce: "retire".to_owned(),
    };
    asked.house.event(Event::Retire(asked.y.sign(&retirement)));
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "may approve it no more");

    let mut asked = half(&plan());
    let mut policy = two_people();
    policy["limits"] = json!({"steps": 63});
    asked.house.configuration = configuration(&policy, &deployment());
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "the policy is not the same");

    let mut asked = half(&plan());
    let known = json!({"schema": "countersign.deployment/v1", "hosts": {"internal": ["x.example"]}});
    asked.house.configuration = configuration(&two_people(), &known);
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "the deployment is not the same");

    let mut asked = half(&plan());
    let elsewhere = Submission {
        revises: Some(asked.case.clone()),
        origin: "/elsewhere/countersign.yaml".to_owned(),
        ..asked.house.submission(&more)
    };
    let outcome = asked.house.propose(elsewhere);
    assert_anew(&asked, &outcome, "`origin` of the proposal");

    let mut asked = half(&plan());
    let inputs = [("to".parse().unwrap(), json!("y"))].into_iter().collect();
    let given = Submission { revises: Some(asked.case.clone()), inputs, ..asked.house.submission(&more) };
    let outcome = asked.house.propose(given);
    assert_anew(&asked, &outcome, "the inputs is not the same");

    for spoil in [(|s: &mut Submission| s.agent = "agent:b".parse().unwrap()) as fn(&mut Submission), |s| {
        s.requester = "user:other".parse().unwrap()
    }] {
        let mut asked = half(&plan());
        let mut submission = Submission { revises: Some(asked.case.clone()), ..asked.house.submission(&more) };
        spoil(&mut submission);
        let (verdict, directives) = asked.house.propose(submission);
        assert_eq!(verdict.decision, Decision::Block);
        assert!(!started(&directives));
    }
}

/// INV-7: under four eyes the requester's own word is not taken over, wherever it comes from; and a check approves no run.
#[test]
fn what_was_approved_under_other_terms_is_not_taken_over() {
    let more = with_step(0, read("again", "a.txt"));
    // The person who approved turns out to hold a key that the requester sent in.
    let mut asked = stopped(&plan());
    let second = Person { user: "user:r".parse().unwrap(), ..Person::new("user:x", 15, &[]) };
    let enrolment = countersign_plan::approval::Enrolment {
        approver: second.approver.clone(),
        principal: asked.y.approver.principal.clone(),
        signed_at: asked.house.gate.now(),
        nonce: "late".to_owned(),
    };
    let envelope = Some(asked.y.sign(&enrolment));
    asked.house.event(Event::Enroll { approver: second.approver.clone(), by: second.user.clone(), envelope });
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "may approve it no more");

    let mut house = House::new(&two_people());
    let (x, y) = (Person::new("user:x", 11, &[]), Person::new("user:y", 12, &[]));
    house.enroll(&[&x, &y]);
    let check = Submission { check: true, ..house.submission(&plan()) };
    let case = house.propose(check).0.case.unwrap();
    house.approve(&case, &x, "1");
    let mut asked = Asked { house, case, x, y };
    let outcome = revise(&mut asked.house, &asked.case, &more);
    assert_anew(&asked, &outcome, "`check` of the proposal");
}

/// A version as its records tell it.
type Parts = (Plan, Draft, Verdict, Vec<Value>, Map<String, Value>);
type Spoil = fn(&mut Parts);

/// Each part of a version counts, also where no house of these tests would come by another one.
#[test]
fn each_part_of_a_version_has_to_be_the_same() {
    let Asked { mut house, case, .. } = half(&plan());
    revise(&mut house, &case, &with_step(1, read("again", "a.txt")));
    let (proposals, decisions) = (house.records(RecordKind::Proposal), house.records(RecordKind::Decision));
    let read_back = |at: usize| {
        let bytes = countersign_plan::canonical::to_vec(&proposals[at]["plan"]);
        let (plan, draft) = Plan::read(&bytes).unwrap();
        let verdict: Verdict = serde_json::from_value(decisions[at]["verdict"].clone()).unwrap();
        let proposal = proposals[at].as_object().unwrap().clone();
        (plan, draft, verdict, decisions[at]["steps"].as_array().unwrap().clone(), proposal)
    };
    let first = read_back(0);
    let before = Version { plan: &first.0, draft: &first.1, verdict: &first.2, steps: &first.3, proposal: &first.4 };
    let judge = |spoil: Spoil| {
        let mut second = read_back(1);
        spoil(&mut second);
        let (plan, draft, verdict, steps, proposal) = &second;
        only_reads(before, Version { plan, draft, verdict, steps, proposal }, &BTreeSet::new())
    };
    assert_eq!(judge(|_| {}), Ok(()));
    let spoilt: &[(&str, Spoil)] = &[
        ("the case", |p| p.0.case = "c-other".parse().unwrap()),
        ("the requester", |p| p.0.principal = "user:o".parse().unwrap()),
        ("the agent", |p| p.0.agent = "agent:o".parse().unwrap()),
        ("the mode", |p| p.0.mode = Mode::Guarded),
        ("the folder", |p| p.0.cwd = "/elsewhere".to_owned()),
        ("the version before", |p| p.0.parent = None),
        ("the version before", |p| p.0.version = 1),
        ("the definition of a tool", |p| {
            p.0.tools.insert("write_file".parse().unwrap(), Digest::of(b"x"));
        }),
        ("the definition of a tool", |p| drop(p.0.tools.pop_last())),
        ("what step `w` touches", |p| p.0.steps[2].irreversible = true),
        ("what step `w` touches", |p| p.0.steps[2].action_digest = Digest::of(b"x")),
        ("what step `w` touches", |p| p.3[2]["grants"]["write"] = json!(["/w"])),
        ("what step `w` touches", |p| p.3[2]["masked"] = json!(["/w/x"])),
        ("its review is of other steps", |p| p.3.swap(0, 1)),
        ("its review is of other steps", |p| drop(p.3.pop())),
        ("step `again` is added", |p| p.3[1]["decision"] = json!("require_approval")),
        ("step `again` is added", |p| p.3[1]["reversible_by"] = json!("none")),
        ("step `again` is added", |p| p.3[1]["grants"]["secrets"] = json!(["token"])),
        ("step `again` is added", |p| p.0.steps[1].profile = Profile::Toolchain),
        ("step `again` is added", |p| p.0.steps[1].profile = Profile::Exact),
        ("step `again` is added", |p| p.0.steps[1].irreversible = true),
        ("step `again` is added", |p| p.0.steps[1].accesses[0].effect = Effect::Create),
        ("it asks other people", |p| p.2.quorums[0].quorum = 3),
        ("it asks other people", |p| p.2.quorums[0].group = Some("ops".to_owned())),
        ("it asks for another reason", |p| p.2.reasons[0].message.push('!')),
        ("it asks for another reason", |p| p.2.reasons[0].code = Code::DefaultAsk),
        ("people were not asked", |p| p.2.decision = Decision::Allow),
        ("people were not asked", |p| p.2.decision = Decision::Block),
        ("`goal` of the proposal", |p| drop(p.4.insert("goal".to_owned(), json!("other")))),
        ("`pinned` of the proposal", |p| drop(p.4.insert("pinned".to_owned(), json!(false)))),
        ("`authentic` of the proposal", |p| drop(p.4.remove("authentic"))),
    ];
    for (why, spoil) in spoilt {
        let said = judge(*spoil).unwrap_err();
        assert!(said.0.contains(why), "{why}: {said}");
    }
}

/// Where nobody was asked, or nobody answered, there is nothing to take over and nothing to tell.
#[test]
fn without_an_approval_nothing_is_said_of_any() {
    let mut house = House::new(&free());
    let case = house.submit(&write()).0.case.unwrap();
    house.event(Event::Halt { case: Some(case.clone()), reason: String::new() });
    let (verdict, directives) = revise(&mut house, &case, &write());
    assert!(started(&directives));
    assert_eq!((told(&verdict, Code::ApprovalCarried), told(&verdict, Code::ApprovalAnew)), (None, None));
}

/// An edit of a plan, as somebody would try who wants more done than was approved.
#[derive(Debug, Clone)]
enum Edit {
    Read(usize, usize, usize),
    Effect(usize, usize),
    Remove(usize),
    Swap(usize, usize),
    Copy(usize, usize),
    Rename(usize, usize),
    Member(usize, &'static str, Value),
    Around(&'static str, Value),
    From(usize, usize),
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"path": "a.txt", "content": "x"})),
        Just(json!({"path": "sub/b.txt", "content": "x"})),
        Just(json!({"path": "a.txt"})),
        Just(json!([])),
        Just(json!(["look"])),
        Just(json!([{"output": "/bytes", "min": 1}, {"output": "/bytes", "max": 9}])),
        Just(json!([{"output": "/bytes", "min": 0}, {"output": "/bytes", "max": 9}])),
        Just(json!("snapshot")),
        Just(json!("none")),
        Just(json!("15m")),
        Just(json!("5m")),
        Just(json!(false)),
        Just(json!({})),
        Just(json!({"write": ["/w/**"]})),
    ]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = 0..5_usize;
    let members = prop::sample::select(vec!["args", "expect", "needs", "rollback", "irreversible", "reason", "action"]);
    let around = prop::sample::select(vec!["privileges", "expires_in", "goal"]);
    let one = prop_oneof![
        8 => (at.clone(), 0..6_usize, 0..4_usize).prop_map(|(at, id, path)| Edit::Read(at, id, path)),
        1 => (at.clone(), 0..6_usize).prop_map(|(at, id)| Edit::Effect(at, id)),
        1 => at.clone().prop_map(Edit::Remove),
        1 => (at.clone(), at.clone()).prop_map(|(a, b)| Edit::Swap(a, b)),
        1 => (at.clone(), 0..6_usize).prop_map(|(at, id)| Edit::Copy(at, id)),
        1 => (at.clone(), 0..6_usize).prop_map(|(at, id)| Edit::Rename(at, id)),
        1 => (at.clone(), members, values()).prop_map(|(at, name, value)| Edit::Member(at, name, value)),
        1 => (around, values()).prop_map(|(name, value)| Edit::Around(name, value)),
        1 => (at.clone(), 0..6_usize).prop_map(|(at, id)| Edit::From(at, id)),
    ];
    prop::collection::vec(one, 0..4)
}

const IDS: [&str; 6] = ["look", "w", "v", "r", "s", "t"];
const PATHS: [&str; 4] = ["a.txt", "sub/b.txt", "/etc/passwd", "/w/.env"];

fn apply(plan: &mut Value, edit: &Edit) {
    if let Edit::Around(name, value) = edit {
        plan[*name] = value.clone();
        return;
    }
    let steps = plan["steps"].as_array_mut().unwrap();
    let most = steps.len();
    match edit {
        Edit::Read(at, id, path) => steps.insert((*at).min(most), read(IDS[*id], PATHS[*path])),
        Edit::Effect(at, id) => {
            let args = json!({"path": "sub/n.txt", "content": "n"});
            steps.insert((*at).min(most), json!({"id": IDS[*id], "action": "write_file", "args": args}));
        }
        _ if most == 0 => {}
        Edit::Remove(at) => drop(steps.remove(at % most)),
        Edit::Swap(a, b) => steps.swap(a % most, b % most),
        Edit::Copy(at, id) => {
            let mut copy = steps[at % most].clone();
            copy["id"] = json!(IDS[*id]);
            steps.push(copy);
        }
        Edit::Rename(at, id) => steps[at % most]["id"] = json!(IDS[*id]),
        Edit::Member(at, name, value) => steps[at % most][*name] = value.clone(),
        Edit::From(at, _) if !steps[at % most]["args"].is_object() => {}
        Edit::From(at, id) => {
            steps[at % most]["args"]["content"] = json!({"$from": IDS[*id], "at": "/content"});
        }
        Edit::Around(..) => {}
    }
}

/// What a plan does beyond reading, with everything that controls it, in its order.
fn effects(plan: &Value) -> Vec<Value> {
    let controls = |step: &Value| {
        let of = |name: &str| step.get(name).cloned().unwrap_or(Value::Null);
        json!([
            of("id"),
            of("action"),
            of("args"),
            of("expect"),
            of("rollback"),
            of("irreversible"),
            of("change_request")
        ])
    };
    let acts = |step: &&Value| step["action"] != "read_file";
    plan["steps"].as_array().unwrap().iter().filter(acts).map(controls).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever is edited: where an approval is taken over, the same effects with the same controls happen, in the same order, each
    /// from the same steps, and every look that they stood behind is still there.
    #[test]
    fn whatever_is_taken_over_does_what_was_approved(edits in edits()) {
        let before = plan();
        let mut after = before.clone();
        edits.iter().for_each(|edit| apply(&mut after, edit));
        let Asked { mut house, case, y, .. } = half(&before);
        let (verdict, _) = revise(&mut house, &case, &after);
        let carried = told(&verdict, Code::ApprovalCarried).is_some();
        let added: Vec<&Value> = after["steps"].as_array().unwrap().iter().filter(|s| {
            before["steps"].as_array().unwrap().iter().all(|old| old["id"] != s["id"])
        }).collect();
        if carried {
            prop_assert_eq!(effects(&after), effects(&before));
            prop_assert_eq!(after.get("privileges"), before.get("privileges"));
            prop_assert_eq!(&after["goal"], &before["goal"]);
            for step in &added {
                prop_assert_eq!(&step["action"], "read_file");
                prop_assert!(step["args"]["path"] != "/w/.env");
                let name = json!({"$from": step["id"], "at": "/content"});
                prop_assert!(effects(&after).iter().all(|effect| effect[2]["content"] != name));
            }
            let old = before["steps"].as_array().unwrap();
            let still: Vec<&Value> = after["steps"].as_array().unwrap().iter().filter(|s| old.iter().any(|o| o["id"] == s["id"])).collect();
            prop_assert_eq!(still.len(), old.len());
            prop_assert!(still.iter().zip(old).all(|(is, was)| is["args"] == was["args"] && is.get("expect") == was.get("expect")));
            prop_assert!(started(&house.approve(&case, &y, "2")));
        } else if verdict.decision == Decision::RequireApproval && verdict.version == 2 {
            prop_assert!(told(&verdict, Code::ApprovalAnew).is_some());
            // Two are wanted for what is written; for a look that asks one is enough.
            let writes = after["steps"].as_array().unwrap().iter().any(|step| step["action"] == "write_file");
            prop_assert!(!writes || !started(&house.approve(&case, &y, "2")), "one of two is not enough");
        }
    }
}

/// The property above says something only if both happen.
#[test]
fn both_kinds_of_revision_are_met() {
    let mut seen = (0, 0);
    for (at, path) in [(0, 0), (1, 2), (3, 1), (2, 3)] {
        let mut after = plan();
        apply(&mut after, &Edit::Read(at, 3, path));
        let Asked { mut house, case, .. } = half(&plan());
        let present = Arc::clone(&house.configuration);
        assert!(present.left_out.is_empty());
        match told(&revise(&mut house, &case, &after).0, Code::ApprovalCarried) {
            Some(_) => seen.0 += 1,
            None => seen.1 += 1,
        }
    }
    assert_eq!(seen, (3, 1), "`.env` is restricted");
}

/// What may happen to a case that is revised again and again.
#[derive(Debug, Clone)]
enum Turn {
    Revise(u8),
    Approve(bool),
    /// Runs what is countersigned, up to a step that does not go as it should.
    Run(usize),
    Restart,
    Pass(u64),
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let one = prop_oneof![
        4 => (0..6_u8).prop_map(Turn::Revise),
        4 => any::<bool>().prop_map(Turn::Approve),
        3 => (0..6_usize).prop_map(Turn::Run),
        1 => Just(Turn::Restart),
        1 => (1..200_u64).prop_map(Turn::Pass),
    ];
    prop::collection::vec(one, 1..24)
}

/// Runs the version that is countersigned; the step of that number misses, and what was done is taken back.
fn run_until(house: &mut House, case: &CaseId, misses: usize) {
    house.verified(case);
    let plan: Value = serde_json::from_slice(&house.gate.case(case).unwrap().plan).unwrap();
    let steps = plan["draft"]["steps"].as_array().unwrap();
    let (mut done, mut written): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (place, step) in steps.iter().enumerate() {
        let id = step["id"].as_str().unwrap();
        let reads = step["action"] == "read_file";
        if place == misses {
            let first = if reads { Phase::Act } else { Phase::Snapshot };
            house.run(case, id, first);
            let ending = Ending::Failed { message: "the disk is gone".to_owned() };
            house.observe(case, Observation { ending, ..kept() });
            for undone in written.iter().rev() {
                house.run(case, undone, Phase::Restore);
                house.observe(case, returned(json!({})));
            }
            done.retain(|id| !written.contains(id));
            written.reverse();
            house.finish(case, false, &done, &written);
            return;
        }
        if reads {
            house.run(case, id, Phase::Act);
            house.observe(case, returned(json!({"content": "ok"})));
        } else {
            house.whole_step(case, id);
            written.push(id);
        }
        done.push(id);
    }
    house.finish(case, true, &done, &[]);
}

/// By the ledger alone: no signature of a person stands behind two executions of one effect, and every effect has two of them.
fn each_signature_is_used_once(house: &House) {
    let mut reader = house.ledger.as_ref().unwrap().reader().unwrap();
    let mut signed: Vec<String> = Vec::new();
    let mut used = BTreeSet::new();
    for record in reader.records(countersign_ledger::Query::default()).map(Result::unwrap) {
        let countersign_ledger::reader::Payload::Open(payload) = record.payload else { continue };
        match record.leaf.kind {
            RecordKind::Countersignature => {
                signed = payload["approvals"].as_array().unwrap().iter().map(ToString::to_string).collect();
            }
            RecordKind::Intent if payload["phase"] == "act" => {
                let step = payload["step"].as_str().unwrap().to_owned();
                if ["w", "v", "more"].contains(&step.as_str()) {
                    assert_eq!(signed.iter().collect::<BTreeSet<_>>().len(), 2, "{step}");
                    for by in &signed {
                        assert!(used.insert((by.clone(), step.clone())), "{by} twice for {step}");
                    }
                }
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// However often a plan is revised, approved, run, stopped and taken back, over restarts and with time passing.
    #[test]
    fn no_approval_covers_two_executions(turns in turns()) {
        let Asked { mut house, case, x, y } = half(&plan());
        let mut number = 10;
        for turn in &turns {
            let stage = house.stage(&case);
            match turn {
                Turn::Revise(_) if ["countersigned", "running"].contains(&stage) => {}
                Turn::Revise(kind) => {
                    let next = match kind {
                        0..4 => with_step(usize::from(*kind), read("again", "a.txt")),
                        4 => plan(),
                        _ => with_step(1, json!(
                            {"id": "more", "action": "write_file", "args": {"path": "sub/c.txt", "content": "z"}}
                        )),
                    };
                    revise(&mut house, &case, &next);
                }
                Turn::Approve(first) => {
                    number += 1;
                    house.approve(&case, if *first { &x } else { &y }, &number.to_string());
                }
                Turn::Run(misses) if stage == "countersigned" => run_until(&mut house, &case, *misses),
                Turn::Run(_) => {}
                Turn::Restart => drop(house.restart()),
                Turn::Pass(seconds) => drop(house.pass(*seconds)),
            }
        }
        each_signature_is_used_once(&house);
    }
}
