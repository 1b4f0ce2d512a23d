//! Cases that were opened for a goal: the planner proposes, reads and answers, and can do nothing else.

use std::sync::Arc;

use countersign_gate::directive::{Directive, Notice};
use countersign_gate::event::{Event, Goal, PlannerDeed, Submission};
use countersign_ledger::RecordKind;
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::permit::Phase;
use countersign_plan::verdict::{Code, Decision, Verdict};
use countersign_policy::flow::{Label, Level, Readers};
use serde_json::{Value, json};

use crate::house::{House, Person, free, has, one_person, returned, write};

const GOAL: &str = "Write a file";

fn goal(house: &House) -> Goal {
    Goal {
        goal: GOAL.to_owned(),
        inputs: Default::default(),
        cwd: "/w".to_owned(),
        requester: "user:r".parse().unwrap(),
        agent: "agent:a".parse().unwrap(),
        provider: String::new(),
        configuration: Arc::clone(&house.configuration),
        origin: "/w/countersign.yaml".to_owned(),
    }
}

pub(crate) fn pursue(house: &mut House) -> CaseId {
    let goal = goal(house);
    let directives = house.event(Event::OpenGoal(Box::new(goal)));
    assert!(has(&directives, |d| matches!(d, Directive::StartPlanner { goal, .. } if goal == GOAL)));
    let opened = directives.iter().find_map(|d| match d {
        Directive::AnswerPursuer(Ok(case)) => Some(case.clone()),
        _ => None,
    });
    let case = opened.unwrap();
    assert_eq!(house.stage(&case), "planning");
    case
}

fn draft(house: &mut House, case: &CaseId, plan: &Value) -> (Verdict, Vec<Directive>) {
    let submission = Submission { revises: Some(case.clone()), ..house.submission(plan) };
    house.propose(submission)
}

fn read(house: &mut House, case: &CaseId, action: &str, args: Value) -> (Verdict, Vec<Directive>) {
    let intent = json!({"schema": "countersign.intent/v1", "action": action, "args": args});
    let submission = Submission { parent: Some(case.clone()), ..house.submission(&intent) };
    house.propose(submission)
}

/// Whether the planner was heard.
fn tell(house: &mut House, case: &CaseId, did: PlannerDeed) -> bool {
    let directives = house.event(Event::Planner { case: case.clone(), did });
    let heard = directives.iter().find_map(|d| match d {
        Directive::AnswerPlanner { heard, .. } => Some(heard.is_ok()),
        _ => None,
    });
    heard.unwrap_or_else(|| panic!("{directives:?}"))
}

fn answer(text: &str) -> PlannerDeed {
    PlannerDeed::Answered { text: text.to_owned() }
}

pub(crate) fn ends(house: &House, case: &CaseId) -> usize {
    let mut reader = house.ledger.as_ref().unwrap().reader().unwrap();
    let query = countersign_ledger::Query {
        kinds: vec![RecordKind::CaseClosed],
        case: Some(case.clone()),
        ..Default::default()
    };
    reader.records(query).count()
}

/// The whole way: draft, approval, run, revision with approvals of its own, answer. One case, one end.
#[test]
fn a_goal_is_pursued_to_its_answer() {
    let mut house = House::new(&one_person());
    let x = Person::new("user:x", 11, &[]);
    house.enroll(&[&x]);
    let case = pursue(&mut house);
    assert!(tell(&mut house, &case, PlannerDeed::Started { enforcement: json!({"landlock": 6}), surface: None }));
    let (request, answered) = (Digest::of(b"asked"), Digest::of(b"said"));
    let secrecy = "internal".to_owned();
    let account = json!({"provider": "p", "usage": {"input_tokens": 3}});
    assert!(tell(&mut house, &case, PlannerDeed::Inferred { number: 1, request, answer: answered, secrecy, account }));
    let (verdict, _) = draft(&mut house, &case, &write());
    assert_eq!((verdict.decision, verdict.version), (Decision::RequireApproval, 1), "{verdict:#?}");
    assert_eq!(verdict.case.as_ref(), Some(&case));
    assert!(!tell(&mut house, &case, answer("done, trust me")), "people still decide");
    let first = house.approval(&case, &x, "1");
    house.event(Event::Answer(x.sign(&first)));
    house.verified(&case);
    assert!(!tell(&mut house, &case, answer("done, trust me")), "it still runs");
    let (busy, _) = draft(&mut house, &case, &write());
    assert_eq!((busy.decision, busy.reasons[0].code), (Decision::Block, Code::PlannerRefused));
    house.whole_step(&case, "w");
    let end = house.finish(&case, true, &["w"], &[]);
    assert!(has(&end, |d| {
        matches!(d, Directive::Notify { notice: Notice::RunEnded { version: 1, stage: "completed", .. }, .. })
    }));
    assert_eq!((house.stage(&case), ends(&house, &case)), ("planning", 0));

    let (verdict, directives) = draft(&mut house, &case, &write());
    assert_eq!((verdict.decision, verdict.version), (Decision::RequireApproval, 2));
    assert!(!has(&directives, |d| matches!(d, Directive::StartExecutor { .. })), "a new version needs new approvals");
    let old = house.event(Event::Answer(x.sign(&first)));
    assert!(crate::house::refused(&old).is_some());
    house.approve(&case, &x, "2");
    house.verified(&case);
    house.whole_step(&case, "w");
    house.finish(&case, true, &["w"], &[]);
    assert!(tell(&mut house, &case, answer("Two files were written.")));
    assert_eq!((house.stage(&case), ends(&house, &case)), ("answered", 1));
    assert_eq!(house.records(RecordKind::Answer)[0]["text"], "Two files were written.");
    assert_eq!(house.records(RecordKind::RunEnded).len(), 2);
    assert_eq!(house.records(RecordKind::CaseOpened).len(), 1);

    house.restart();
    assert_eq!((house.stage(&case), house.gate.case(&case).unwrap().version), ("answered", 2));
    assert!(!tell(&mut house, &case, answer("and another thing")));
    let (late, directives) = draft(&mut house, &case, &write());
    assert_eq!((late.decision, late.reasons[0].code), (Decision::Block, Code::PlannerRefused));
    assert!(!has(&directives, |d| matches!(d, Directive::StartExecutor { .. })));
    assert_eq!(read(&mut house, &case, "read_file", json!({"path": "a.txt"})).0.decision, Decision::Block);
    assert_eq!(ends(&house, &case), 1);
}

/// The goal is pinned: a draft or revision for another one is blocked, whatever its planner read.
#[test]
fn a_draft_for_another_goal_is_blocked_and_the_case_goes_on() {
    let mut house = House::new(&free());
    let case = pursue(&mut house);
    let mut other = write();
    other["goal"] = json!("Send the file to mallory");
    let (verdict, directives) = draft(&mut house, &case, &other);
    assert_eq!((verdict.decision, verdict.reasons[0].code), (Decision::Block, Code::PlanGoalMismatch));
    assert!(!has(&directives, |d| matches!(d, Directive::StartExecutor { .. })));
    assert_eq!(house.stage(&case), "planning");
    let submission = Submission {
        revises: Some(case.clone()),
        goal: Some("Send the file to mallory".to_owned()),
        ..house.submission(&other)
    };
    assert_eq!(house.propose(submission).0.reasons[0].code, Code::PlanGoalMismatch);
    assert_eq!(draft(&mut house, &case, &write()).0.version, 2, "the blocked draft was the first version");
}

/// INV-9: a planner that tries to act ends its case, whatever of it was under way.
#[test]
fn a_planner_that_tries_to_act_halts_its_case() {
    for stage in ["planning", "pending", "running"] {
        let mut house = House::new(&if stage == "pending" { one_person() } else { free() });
        let x = Person::new("user:x", 11, &[]);
        house.enroll(&[&x]);
        let case = pursue(&mut house);
        if stage != "planning" {
            draft(&mut house, &case, &write());
        }
        if stage == "running" {
            house.verified(&case);
        }
        assert_eq!(house.stage(&case), stage);
        let message = "it opened a socket".to_owned();
        let directives = house.event(Event::PlannerViolation { case: case.clone(), message });
        assert!(has(&directives, |d| matches!(d, Directive::Alert { .. })), "{stage}");
        assert!(has(&directives, |d| matches!(d, Directive::EndPlanner { .. })), "{stage}");
        assert_eq!(has(&directives, |d| matches!(d, Directive::KillExecutor { .. })), stage == "running");
        assert_eq!((house.stage(&case), ends(&house, &case)), ("halted", 1), "{stage}");
        assert_eq!(house.records(RecordKind::Critical)[0]["violation"], "planner_tried_to_act");
        if stage == "pending" {
            let approval = house.approval(&case, &x, "1");
            assert!(crate::house::refused(&house.event(Event::Answer(x.sign(&approval)))).is_some());
        }
        assert_eq!(draft(&mut house, &case, &write()).0.decision, Decision::Block, "{stage}");
        assert!(!tell(&mut house, &case, answer("sorry")), "{stage}");
        house.restart();
        assert_eq!(ends(&house, &case), 1, "{stage}");
    }
}

/// A violation that belongs to no case is recorded and told all the same, and no case comes of it.
#[test]
fn a_violation_of_nobody_s_planner_is_told() {
    let mut house = House::new(&free());
    let case: CaseId = "c-nobody".parse().unwrap();
    let directives = house.event(Event::PlannerViolation { case: case.clone(), message: "who is this".to_owned() });
    assert!(has(&directives, |d| matches!(d, Directive::Alert { .. })));
    house.restart();
    assert_eq!((house.records(RecordKind::Critical).len(), ends(&house, &case)), (1, 0));
}

/// INV-5: what a planner reads it reads by a case of its own, under the same gate; what is no read is blocked, and nobody
/// else speaks for it.
#[test]
fn a_planner_reads_and_nothing_else() {
    let mut house = House::new(&free());
    let case = pursue(&mut house);
    let (verdict, directives) = read(&mut house, &case, "read_file", json!({"path": "a.txt"}));
    assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
    let child = verdict.case.unwrap();
    assert_ne!(child, case);
    assert!(has(&directives, |d| matches!(d, Directive::StartExecutor { .. })));
    assert_eq!(house.records(RecordKind::CaseOpened)[1]["parent"], json!(case));
    for (action, args) in [
        ("write_file", json!({"path": "a.txt", "content": "x"})),
        ("run_program", json!({"argv": ["cargo", "--version"]})),
        ("execute_command", json!({"command": "cat a.txt"})),
        ("delete_file", json!({"path": "a.txt"})),
    ] {
        let (verdict, directives) = read(&mut house, &case, action, args);
        assert_eq!(verdict.decision, Decision::Block, "{action}");
        assert!(!has(&directives, |d| matches!(d, Directive::StartExecutor { .. })), "{action}");
    }
    let intent = json!({"schema": "countersign.intent/v1", "action": "read_file", "args": {"path": "a.txt"}});
    for strange in [
        Submission { agent: "agent:b".parse().unwrap(), parent: Some(case.clone()), ..house.submission(&intent) },
        Submission { requester: "user:z".parse().unwrap(), parent: Some(case.clone()), ..house.submission(&intent) },
        Submission { origin: "/elsewhere".to_owned(), parent: Some(case.clone()), ..house.submission(&intent) },
        Submission { parent: Some("c-none".parse().unwrap()), ..house.submission(&intent) },
        Submission { agent: "agent:b".parse().unwrap(), revises: Some(case.clone()), ..house.submission(&write()) },
        Submission { check: true, revises: Some(case.clone()), ..house.submission(&write()) },
    ] {
        let verdict = house.propose(strange).0;
        assert_eq!((verdict.decision, verdict.reasons[0].code), (Decision::Block, Code::PlannerRefused));
    }
    // With its case, what it reads is halted.
    house.event(Event::Halt { case: Some(case.clone()), reason: "enough".to_owned() });
    assert_eq!(house.stage(&child), "halted");
    assert_eq!((house.stage(&case), ends(&house, &case)), ("halted", 1));
}

/// A halt of the case ends its planner and takes back what its plan did; the case ends once.
#[test]
fn a_halt_ends_the_planner_and_takes_back_the_run() {
    let mut house = House::new(&free());
    let case = pursue(&mut house);
    draft(&mut house, &case, &write());
    house.verified(&case);
    house.whole_step(&case, "w");
    let halted = house.event(Event::Halt { case: None, reason: "enough".to_owned() });
    assert!(has(&halted, |d| matches!(d, Directive::EndPlanner { .. })));
    assert!(has(&halted, |d| matches!(d, Directive::HaltExecutor { compensate: true, .. })));
    assert_eq!(ends(&house, &case), 0, "it is being taken back");
    house.run(&case, "w", Phase::Restore);
    house.observe(&case, returned(json!({})));
    let end = house.finish(&case, false, &[], &["w"]);
    assert!(has(&end, |d| matches!(d, Directive::Notify { notice: Notice::Ended { stage: "halted", .. }, .. })));
    assert_eq!((house.stage(&case), ends(&house, &case)), ("halted", 1));
}

/// INV-6, INV-4: no planner outlives its monitor, nor one that nobody hears of; what waits for people waits on.
#[test]
fn a_restart_or_silence_ends_a_planner() {
    let mut house = House::new(&one_person());
    let x = Person::new("user:x", 11, &[]);
    house.enroll(&[&x]);
    let (idle, waiting) = (pursue(&mut house), pursue(&mut house));
    draft(&mut house, &waiting, &write());
    house.restart();
    assert_eq!(house.stage(&idle), "halted", "it can still be shown");
    assert_eq!(ends(&house, &idle), 1);
    assert_eq!(house.stage(&waiting), "pending");
    house.approve(&waiting, &x, "1");
    house.verified(&waiting);
    house.whole_step(&waiting, "w");
    house.finish(&waiting, true, &["w"], &[]);
    assert_eq!((house.stage(&waiting), ends(&house, &waiting)), ("completed", 1));
    house.restart();
    assert_eq!((ends(&house, &idle), ends(&house, &waiting)), (1, 1), "what is over stays over");

    let silent = pursue(&mut house);
    house.pass(3599);
    assert_eq!(house.stage(&silent), "planning");
    let over = house.pass(2);
    assert!(has(&over, |d| matches!(d, Directive::EndPlanner { .. })));
    assert_eq!((house.stage(&silent), ends(&house, &silent)), ("abandoned", 1));
    let gone = pursue(&mut house);
    house.event(Event::PlannerEnded { case: gone.clone(), reason: "killed".to_owned() });
    assert_eq!((house.stage(&gone), ends(&house, &gone)), ("abandoned", 1));
}

/// INV-7: the planner's own principal approves nothing that it proposed, enrolled or not.
#[test]
fn a_planner_approves_no_draft_of_its_own() {
    let mut house = House::new(&one_person());
    let (x, agent) = (Person::new("user:x", 11, &[]), Person::new("agent:a", 12, &[]));
    house.enroll(&[&x, &agent]);
    let case = pursue(&mut house);
    draft(&mut house, &case, &write());
    assert_eq!(crate::house::refused(&house.approve(&case, &agent, "1")), Some(Code::SeparationViolation));
    assert_eq!(house.stage(&case), "pending");
}

/// Words of a planner are bounded, and so is how much it makes the monitor write.
#[test]
fn what_a_planner_says_is_bounded() {
    let mut house = House::new(&free());
    let case = pursue(&mut house);
    assert!(!tell(&mut house, &case, answer(&"x".repeat(300 << 10))));
    assert_eq!(house.stage(&case), "planning", "a shorter answer may follow");
    let mut goal = goal(&house);
    goal.goal = "x".repeat(20 << 10);
    let directives = house.event(Event::OpenGoal(Box::new(goal)));
    assert!(has(&directives, |d| matches!(d, Directive::AnswerPursuer(Err(_)))));
    for _ in 0..4096 {
        let loaded = PlannerDeed::Loaded { groups: Vec::new(), surface: Digest::of(b"s"), tools: 0 };
        let _ = house.transition(Event::Planner { case: case.clone(), did: loaded });
    }
    let reason = "tired".to_owned();
    let transition = house.transition(Event::Planner { case: case.clone(), did: PlannerDeed::GaveUp { reason } });
    assert!(!transition.ready().is_ok_and(|d| d.is_empty()));
    assert_eq!(house.stage(&case), "abandoned");
}

/// What the broker notices by itself is on record; what people have to know is told at once.
#[test]
fn what_the_broker_says_of_its_own_accord_is_on_record_and_an_alert_is_told() {
    let mut house = House::new(&free());
    let case: CaseId = "c-nobody".parse().unwrap();
    let said = |alert| Event::Broker { case: Some(case.clone()), alert, message: "the budget is spent".to_owned() };
    assert!(!has(&house.event(said(false)), |d| matches!(d, Directive::Alert { .. })));
    assert!(has(&house.event(said(true)), |d| matches!(d, Directive::Alert { .. })));
    assert_eq!(house.records(RecordKind::Alert).len(), 2);
    house.restart();
}

/// A house with one tool more: it books at a host of the house, and its own argument decides what.
fn bookings() -> House {
    let deployment = json!({"schema": "countersign.deployment/v1", "hosts": {"internal": ["*.corp.example"]}, "approval": {"mode": "inline"}});
    let base = crate::house::configuration(&free(), &deployment);
    let mut manifest = countersign_plan::tool::Manifest::builtin().unwrap();
    let tool = json!({
        "name": "book", "description": "Books a room.", "effect": "update", "reversibility": "compensable",
        "target": {"kind": "url"}, "controls": ["/room"],
        "driver": {"http": {"method": "POST", "url": "https://rooms.corp.example/v1/{room}"}},
        "args": {"type": "object", "additionalProperties": false, "properties": {"room": {"type": "string"}}},
        "output": {"trust": "user", "secrecy": "internal"},
    });
    manifest.extend(vec![tool]).unwrap();
    let base = Arc::into_inner(base).unwrap();
    let mut house =
        House::with(Arc::new(countersign_gate::configuration::Configuration { manifest: Arc::new(manifest), ..base }));
    house.enroll(&[&Person::new("user:x", 11, &[])]);
    house
}

/// FLOW rule 6: the same plan for the same goal, from a planner that had read nothing, and from one that had read what anybody may
/// have written, or what nobody knows.
#[test]
fn a_planners_words_count_for_what_it_has_read() {
    let goal_of = |house: &House| Goal { goal: "Book a room for the meeting".to_owned(), ..goal(house) };
    let plan = json!({"schema": "countersign.plan/v1", "goal": "Book a room for the meeting", "steps": [
        {"id": "book", "action": "book", "args": {"room": "room-seven"},
         "rollback": {"action": "book", "args": {"room": "room-seven"}}},
    ]});
    let judged = |seen: Option<Label>| {
        let mut house = bookings();
        let goal = goal_of(&house);
        let directives = house.event(Event::OpenGoal(Box::new(goal)));
        let case = directives.iter().find_map(|d| match d {
            Directive::AnswerPursuer(Ok(case)) => Some(case.clone()),
            _ => None,
        });
        let submission = match seen {
            Some(seen) => Submission { revises: case, seen, ..house.submission(&plan) },
            // Whoever proposes from outside says himself what he has seen: he is not believed.
            None => Submission { seen: Label::BOTTOM, ..house.submission(&plan) },
        };
        let verdict = house.propose(submission).0;
        let recorded = house.records(RecordKind::Proposal).pop().unwrap();
        (verdict, recorded["seen"].clone())
    };
    let untrusted = |verdict: &Verdict| verdict.reasons.iter().any(|r| r.code == Code::FlowUntrustedControl);
    let (clean, recorded) = judged(Some(Label::BOTTOM));
    assert_eq!((clean.decision, untrusted(&clean)), (Decision::Allow, false), "{clean:#?}");
    assert_eq!(recorded, json!(Label::BOTTOM), "a restart judges the permits by the same");
    let of = |level: Level| Label { level, ..Label::BOTTOM };
    for seen in
        [of(Level::Open), of(Level::Party), Label::TOP, Label { level: Level::System, readers: Readers::NOBODY }]
    {
        let (told, recorded) = judged(Some(seen));
        assert_eq!((told.decision, untrusted(&told)), (Decision::RequireApproval, true), "{seen:?}: {told:#?}");
        assert_eq!(recorded, json!(seen));
    }
    let (outside, recorded) = judged(None);
    assert_eq!((outside.decision, untrusted(&outside)), (Decision::RequireApproval, true), "{outside:#?}");
    assert_eq!(recorded, Value::Null);
}
