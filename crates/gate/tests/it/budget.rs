//! Cases whose budget is spent: what they ask, whose answer counts, and that both outlive the process.

use countersign_gate::directive::Directive;
use countersign_gate::event::{Event, PlannerDeed, Submission};
use countersign_ledger::RecordKind;
use countersign_plan::approval::Answer;
use countersign_plan::budget::{Ask, Budget, Extension, Extra, Shortage};
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::time::Span;
use countersign_plan::verdict::Code;
use serde_json::json;

use crate::goal::{ends, pursue};
use crate::house::{House, Person, configuration, free, has, refused, write};

const SHORT: Shortage = Shortage { budget: Budget::CaseTokens, limit: 100, spent: 90, wanted: 30 };

fn spend(house: &mut House, case: &CaseId, shortage: Shortage) -> Vec<Directive> {
    let message = "the case may use 100 tokens".to_owned();
    house.event(Event::BudgetSpent { case: case.clone(), shortage, message })
}

fn asked(house: &House, case: &CaseId) -> Ask {
    house.gate.case(case).unwrap().asks.unwrap()
}

fn more(house: &House, case: &CaseId, by: &Person, tokens: u64, nonce: &str) -> Extension {
    Extension {
        case: case.clone(),
        ask: asked(house, case).digest().unwrap(),
        answer: Answer::Approve,
        extra: Extra { tokens, micro_dollars: 0 },
        approver: by.approver.principal.clone(),
        role: None,
        reason: None,
        signed_at: house.gate.now(),
        expires_at: house.gate.now().plus(Span::from_secs(300)),
        nonce: nonce.to_owned(),
    }
}

fn tell(house: &mut House, by: &Person, said: &Extension) -> Vec<Directive> {
    house.event(Event::Extend(by.sign(said)))
}

fn continued(directives: &[Directive]) -> bool {
    has(directives, |d| matches!(d, Directive::ContinuePlanner { .. }))
}

/// A case that waits for people because its budget is spent.
fn paused() -> (House, CaseId, Person) {
    let mut house = House::new(&free());
    let x = Person::new("user:x", 11, &["ops"]);
    house.enroll(&[&x]);
    let case = pursue(&mut house);
    let told = spend(&mut house, &case, SHORT);
    assert!(has(&told, |d| matches!(d, Directive::Notify { .. })));
    (house, case, x)
}

#[test]
fn a_spent_budget_asks_people_and_their_word_lets_the_case_go_on() {
    let (mut house, case, x) = paused();
    let summary = house.gate.case(&case).unwrap();
    assert_eq!((summary.stage, summary.asks.as_ref().map(|ask| ask.shortage)), ("paused", Some(SHORT)));
    assert!(summary.pending_until.is_some());
    assert!(spend(&mut house, &case, SHORT).is_empty(), "asked again for the same it is the same question");
    let said = more(&house, &case, &x, 500, "1");
    assert!(continued(&tell(&mut house, &x, &said)));
    let summary = house.gate.case(&case).unwrap();
    assert_eq!((summary.stage, summary.extra), ("planning", Extra { tokens: 500, micro_dollars: 0 }));
    let record = &house.records(RecordKind::Approval)[0];
    assert_eq!((&record["extended"]["tokens"], &record["by"]), (&json!(500), &json!("user:x")));
    assert!(record["envelope"].is_object());
    // The same signature answers neither again nor the next question.
    assert!(refused(&tell(&mut house, &x, &said)).is_some());
    spend(&mut house, &case, Shortage { limit: 600, spent: 590, ..SHORT });
    assert_eq!(asked(&house, &case).number, 2);
    assert!(refused(&tell(&mut house, &x, &Extension { nonce: "2".to_owned(), ..said })).is_some());
    let next = more(&house, &case, &x, 7, "3");
    assert!(continued(&tell(&mut house, &x, &next)));
    assert_eq!(house.gate.case(&case).unwrap().extra.tokens, 507);
}

#[test]
fn what_was_not_asked_and_what_comes_too_late_counts_for_nothing() {
    let (mut house, case, x) = paused();
    let good = more(&house, &case, &x, 500, "0");
    for (place, spoil) in [
        (|e: &mut Extension| e.ask = Digest::of(b"another question")) as fn(&mut Extension),
        |e| e.extra = Extra { tokens: 0, micro_dollars: 5 },
        |e| e.extra = Extra::default(),
        |e| e.extra.micro_dollars = 1,
        |e| e.case = "c-other".parse().unwrap(),
        |e| e.role = Some("finance".to_owned()),
        |e| e.approver = "user:y".parse().unwrap(),
        |e| e.expires_at = e.signed_at,
    ]
    .into_iter()
    .enumerate()
    {
        let mut said = Extension { nonce: format!("spoilt-{place}"), ..good.clone() };
        spoil(&mut said);
        assert!(refused(&tell(&mut house, &x, &said)).is_some(), "{place}");
        assert_eq!(house.stage(&case), "paused", "{place}");
    }
    let stranger = Person::new("user:z", 19, &[]);
    let said = more(&house, &case, &stranger, 500, "z");
    assert!(refused(&tell(&mut house, &stranger, &said)).is_some());
    assert!(house.records(RecordKind::Approval).is_empty());
    let end = house.pass(3601);
    assert!(has(&end, |d| matches!(d, Directive::EndPlanner { .. })));
    assert_eq!((house.stage(&case), ends(&house, &case)), ("expired", 1));
    let late = Extension { nonce: "late".to_owned(), expires_at: house.gate.now().plus(Span::from_secs(300)), ..good };
    assert!(refused(&tell(&mut house, &x, &late)).is_some());
}

#[test]
fn a_no_ends_the_case_with_its_reason() {
    let (mut house, case, x) = paused();
    let reason = Some("the month is over".to_owned());
    let said = Extension { answer: Answer::Deny, extra: Extra::default(), reason, ..more(&house, &case, &x, 0, "1") };
    let directives = tell(&mut house, &x, &said);
    assert!(has(&directives, |d| matches!(d, Directive::EndPlanner { .. })));
    assert_eq!((house.stage(&case), ends(&house, &case)), ("denied", 1));
    let closed = house.records(RecordKind::CaseClosed);
    assert_eq!(closed[0]["detail"], "user:x gives it no more budget: the month is over");
    assert_eq!(house.records(RecordKind::Denial).len(), 1);
    house.restart();
    assert_eq!((house.stage(&case), ends(&house, &case)), ("denied", 1));
}

/// INV-7: the planner never, the one who gave the goal only where the deployment says so, and the record tells.
#[test]
fn nobody_gives_more_to_a_case_of_their_own() {
    for (mode, counts) in [("inline", true), ("four_eyes", false)] {
        let deployment = json!({"schema": "countersign.deployment/v1", "approval": {"mode": mode}});
        let mut house = House::with(configuration(&free(), &deployment));
        let (r, agent) = (Person::new("user:r", 11, &[]), Person::new("agent:a", 12, &[]));
        house.enroll(&[&r, &agent]);
        let case = pursue(&mut house);
        spend(&mut house, &case, SHORT);
        let said = more(&house, &case, &agent, 500, "1");
        let answer = tell(&mut house, &agent, &said);
        assert_eq!(refused(&answer), Some(Code::SeparationViolation));
        assert!(has(&answer, |d| matches!(d, Directive::Alert { .. })));
        assert_eq!(house.records(RecordKind::Critical)[0]["violation"], "self_approval");
        let said = more(&house, &case, &r, 500, "2");
        assert_eq!(continued(&tell(&mut house, &r, &said)), counts, "{mode}");
        let approvals = house.records(RecordKind::Approval);
        assert_eq!(approvals.first().map(|a| a["self_approved"].clone()), counts.then_some(json!(true)));
    }
}

/// INV-7: whoever enrolled a key may hold it, so that a second name for the requester's own user is the requester.
#[test]
fn a_second_name_of_the_requester_gives_nothing_under_four_eyes() {
    let deployment = json!({"schema": "countersign.deployment/v1", "approval": {"mode": "four_eyes"}});
    let mut house = House::with(configuration(&free(), &deployment));
    let mut alias = Person::new("user:alias", 11, &[]);
    alias.user = "user:r".parse().unwrap();
    house.enroll(&[&alias]);
    let case = pursue(&mut house);
    spend(&mut house, &case, SHORT);
    let said = more(&house, &case, &alias, 500, "1");
    assert!(refused(&tell(&mut house, &alias, &said)).is_some());
    assert_eq!(house.stage(&case), "paused");
}

#[test]
fn a_question_and_its_answer_outlive_the_process() {
    let (mut house, case, x) = paused();
    let before = asked(&house, &case);
    let directives = house.restart();
    assert!(!has(&directives, |d| matches!(d, Directive::StartPlanner { .. })), "nobody said that it may go on");
    assert_eq!((house.stage(&case), asked(&house, &case)), ("paused", before));
    let said = more(&house, &case, &x, 500, "1");
    let directives = tell(&mut house, &x, &said);
    assert!(has(&directives, |d| matches!(d, Directive::StartPlanner { .. })), "the planner of before is gone");
    // The answer too: the monitor was killed before the planner did anything.
    let directives = house.restart();
    assert!(has(&directives, |d| matches!(d, Directive::StartPlanner { .. })));
    assert_eq!((house.stage(&case), house.gate.case(&case).unwrap().extra.tokens), ("planning", 500));
    assert!(refused(&tell(&mut house, &x, &said)).is_some(), "it counts once");
    let did = PlannerDeed::Started { enforcement: json!({}), surface: None };
    house.event(Event::Planner { case: case.clone(), did });
    house.restart();
    assert_eq!((house.stage(&case), ends(&house, &case)), ("halted", 1), "what was under way is interrupted, as ever");
}

/// What ran is not run again by a planner that knows nothing of it.
#[test]
fn a_case_that_ran_something_does_not_begin_anew() {
    let (mut house, case, x) = paused();
    let said = more(&house, &case, &x, 500, "1");
    tell(&mut house, &x, &said);
    let submission = Submission { revises: Some(case.clone()), ..house.submission(&write()) };
    house.propose(submission);
    house.verified(&case);
    house.whole_step(&case, "w");
    house.finish(&case, true, &["w"], &[]);
    spend(&mut house, &case, SHORT);
    assert_eq!(house.stage(&case), "paused");
    let directives = house.restart();
    assert!(!has(&directives, |d| matches!(d, Directive::StartPlanner { .. })));
    assert_eq!((house.stage(&case), ends(&house, &case)), ("halted", 1));
}
