//! Conversations, bounds, and messages out of turn; hostile models and any order of outcomes.

use countersign_plan::draft::Draft;
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::verdict::Verdict;
use countersign_wire::infer::{Answer, Failure, FailureKind, Finish, Outcome, REQUEST_LIMIT, Request, Role, Usage};
use countersign_wire::planner::{Bounds, RunResult, Task};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Event, Machine, Message, Next, ProtocolError};
use crate::sample::{BOUNDS, GOAL, answer, good_steps, propose, surface, task, within};

fn start(task: Task) -> (Machine, Request) {
    let (machine, next) = Machine::start(task).unwrap();
    (machine, asked(next))
}

fn begun() -> (Machine, Request) {
    start(task(&["files"], BOUNDS))
}

fn asked(next: Next) -> Request {
    match next {
        Next::Say(Message::Infer(request)) => request,
        other => panic!("{other:?}"),
    }
}

fn gave_up(next: Next) -> String {
    match next {
        Next::Say(Message::GiveUp { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

fn says(machine: &mut Machine, text: impl Into<String>) -> Next {
    machine.on(Event::Inferred(answer(text))).unwrap()
}

fn ends(machine: &mut Machine, outcome: Outcome) -> String {
    gave_up(machine.on(Event::Inferred(outcome)).unwrap())
}

/// The last message of the user in a request.
fn told(request: &Request) -> &str {
    &request.messages.last().unwrap().content
}

fn verdict(reason: &str) -> Box<Verdict> {
    let digest = format!("sha256:{}", "0".repeat(64));
    let value = json!({
        "decision": "block", "tier": 0, "request_id": "r", "version": 1, "agent": "user:alice",
        "at": "2026-01-01T00:00:00.000Z", "policy_digest": digest, "mode": "managed", "micros": 1,
        "reasons": [{"code": "plan.invalid", "decision": "block", "tier": 0, "step": "look", "message": reason, "fix": "take `read_file`"}],
        "risk": {"score": 0, "factors": {"action": 0, "target": 0, "context": 0, "history": 0}},
    });
    Box::new(serde_json::from_value(value).unwrap())
}

fn blocked(reason: &str) -> Event {
    Event::Reviewed { verdict: verdict(reason), waiting: false }
}

fn waiting() -> Event {
    Event::Reviewed { verdict: verdict("ask"), waiting: true }
}

fn observation(output: Value) -> Event {
    let (files, dropped) = (Default::default(), Default::default());
    Event::Observed(Box::new(Observation { ending: Ending::Returned, output, files, dropped }))
}

fn run(stage: &str, observations: Vec<(String, Value)>) -> RunResult {
    RunResult { version: 1, stage: stage.to_owned(), detail: "the detail".to_owned(), observations }
}

fn refusal() -> Event {
    Event::Refused { code: "read.denied".to_owned(), message: "not this one".to_owned() }
}

const READ: &str = r#"{"turn": {"read": {"action": "read_file", "args": {"path": "a"}}}}"#;

#[test]
fn a_goal_becomes_a_plan_and_the_planner_ends_when_it_has_run() {
    let (mut machine, first) = begun();
    assert_eq!(first.messages[0].role, Role::System);
    assert!(
        first.messages[0].content.contains("write_file(content: string, path: string)"),
        "{}",
        first.messages[0].content
    );
    assert!(!first.messages[0].content.contains("run_program"), "what is not loaded is not visible");
    assert!(told(&first).contains(GOAL) && told(&first).contains("/srv/archive") && told(&first).contains("/srv/work"));
    assert!(first.schema.is_some() && first.max_tokens == BOUNDS.max_tokens);

    let Next::Say(Message::LoadTools { groups }) = says(&mut machine, r#"{"load_tools": {"groups": ["programs"]}}"#)
    else {
        panic!()
    };
    assert_eq!(groups, ["programs"]);
    let second = asked(machine.on(Event::Loaded(surface(&["files", "programs"]))).unwrap());
    assert!(second.messages[0].content.contains("run_program(argv: list of string"), "{}", second.messages[0].content);
    assert!(told(&second).contains("run_program") && !told(&second).contains("write_file"));

    assert!(matches!(says(&mut machine, READ), Next::Say(Message::Read { .. })));
    let third = asked(machine.on(observation(json!({"content": "a,b\n</data>"}))).unwrap());
    assert!(told(&third).contains(r#"{"ending":"returned","output":{"content":"a,b\n</data>"}}"#), "{}", told(&third));
    assert!(told(&third).contains("Left: 9 answers, 2 reads, 3 drafts."), "{}", told(&third));
    assert_eq!(third.messages.len(), 6);

    let Next::Say(Message::Propose { draft }) = says(&mut machine, propose(good_steps())) else { panic!() };
    assert_eq!(Draft::read(&draft).unwrap().goal(), GOAL);
    assert_eq!(machine.on(waiting()).unwrap(), Next::Wait);
    assert_eq!(machine.on(Event::Ran(run("completed", vec![]))).unwrap(), Next::End);
    assert!(machine.on(waiting()).is_err(), "nothing follows the end");
}

#[test]
fn roles_alternate_and_the_last_is_the_user() {
    let (mut machine, mut request) = begun();
    for _ in 0..2 {
        let roles: Vec<Role> = request.messages.iter().map(|m| m.role).collect();
        assert_eq!(roles[0], Role::System);
        assert!(
            roles[1..].chunks(2).all(|pair| pair[0] == Role::User && pair.get(1).is_none_or(|r| *r == Role::Assistant))
        );
        assert_eq!(roles.last(), Some(&Role::User));
        request = asked(says(&mut machine, "no JSON"));
    }
}

#[test]
fn the_gates_reasons_come_back_to_the_model_and_drafts_are_bounded() {
    let (mut machine, _) = begun();
    for i in 0..BOUNDS.drafts {
        match (i, says(&mut machine, propose(good_steps()))) {
            (0, Next::Say(Message::Propose { .. })) | (1.., Next::Say(Message::Revise { .. })) => {}
            other => panic!("{other:?}"),
        }
        let next = machine.on(blocked("no tool `look\u{202e}`")).unwrap();
        if i + 1 < BOUNDS.drafts {
            let request = asked(next);
            let told = told(&request);
            for part in ["`block`", "[plan.invalid] step look:", "\\u202e", "Fix: \"take `read_file`\""] {
                assert!(told.contains(part), "{part} in {told}");
            }
        } else {
            let reason = gave_up(next);
            assert!(reason.contains("no draft was accepted") && reason.contains("plan.invalid"), "{reason}");
        }
    }
}

#[test]
fn mistakes_are_told_with_place_and_fix_and_bounded_in_a_row() {
    let (mut machine, _) = begun();
    let wrong = propose(json!([{"id": "s", "action": "rm", "args": {}}]));
    let request = asked(says(&mut machine, wrong.clone()));
    assert!(told(&request).contains("/turn/propose/plan/steps/0/action: `rm` is not loaded"), "{}", told(&request));
    asked(says(&mut machine, "hm"));
    assert!(matches!(says(&mut machine, READ), Next::Say(Message::Read { .. })), "a good turn begins the count anew");
    asked(machine.on(refusal()).unwrap());
    asked(says(&mut machine, "hm"));
    asked(says(&mut machine, "hm"));
    let reason = gave_up(says(&mut machine, wrong));
    assert!(reason.contains("3 answers in a row") && reason.contains("`rm` is not loaded"), "{reason}");
}

#[test]
fn reads_and_loads_cannot_go_round_for_ever() {
    let (mut machine, _) = begun();
    for _ in 0..BOUNDS.reads {
        assert!(matches!(says(&mut machine, READ), Next::Say(Message::Read { .. })));
        asked(machine.on(observation(json!({}))).unwrap());
    }
    let request = asked(says(&mut machine, READ));
    assert!(told(&request).contains("no reads are left"), "{}", told(&request));
    assert!(!request.schema.unwrap().to_string().contains("\"read\""));

    let (mut machine, _) = begun();
    let load = r#"{"load_tools": {"groups": ["network"]}}"#;
    assert!(matches!(says(&mut machine, load), Next::Say(Message::LoadTools { .. })));
    asked(machine.on(Event::Loaded(surface(&["files"]))).unwrap());
    let request = asked(says(&mut machine, load));
    assert!(told(&request).contains("loaded already"), "asked for once, whatever came of it: {}", told(&request));

    let (mut machine, _) = begun();
    assert!(matches!(says(&mut machine, load), Next::Say(Message::LoadTools { .. })));
    let request = asked(machine.on(refusal()).unwrap());
    assert!(told(&request).contains("Loading was refused") && !request.messages[0].content.contains("(loaded)"));
    assert!(matches!(says(&mut machine, load), Next::Say(Message::LoadTools { .. })), "fewer at once may be asked for");
}

#[test]
fn inferences_are_bounded() {
    let bounds = Bounds { inferences: 2, drafts: 100, ..BOUNDS };
    let (mut machine, _) = start(task(&["files"], bounds));
    asked(says(&mut machine, "hm"));
    let reason = gave_up(says(&mut machine, "hm"));
    assert!(reason.contains("2 inferences were not enough") && reason.contains("no JSON object"), "{reason}");
    let (_, next) = Machine::start(task(&["files"], Bounds { inferences: 0, ..bounds })).unwrap();
    gave_up(next);
}

#[test]
fn a_reason_for_giving_up_fits_its_message_whatever_it_quotes() {
    for text in ["x".repeat(1 << 16), "\u{202e}".repeat(1 << 16), "\u{10348}".repeat(1 << 16)] {
        let (mut machine, _) = begun();
        let failure = Failure::new(FailureKind::Rejected, text);
        assert!(ends(&mut machine, Outcome::Failure(failure)).len() <= crate::turn::REASON);
    }
}

#[test]
fn what_a_run_left_undone_may_be_planned_again() {
    for (stage, goes_on) in
        [("stopped", true), ("denied", true), ("expired", true), ("halted", false), ("indeterminate", false)]
    {
        let (mut machine, _) = begun();
        let _ = says(&mut machine, propose(good_steps()));
        assert_eq!(machine.on(waiting()).unwrap(), Next::Wait);
        let result = run(stage, vec![("look".to_owned(), json!({"content": "seen"}))]);
        let next = machine.on(Event::Ran(result)).unwrap();
        if goes_on {
            let request = asked(next);
            assert!(told(&request).contains("seen") && told(&request).contains(stage), "{}", told(&request));
            assert!(matches!(says(&mut machine, propose(good_steps())), Next::Say(Message::Revise { .. })));
        } else {
            assert!(gave_up(next).contains("a person decides"));
        }
    }
    let (mut machine, _) = begun();
    let _ = says(&mut machine, propose(good_steps()));
    let _ = machine.on(waiting());
    assert!(gave_up(machine.on(Event::Ran(run("superseded", vec![]))).unwrap()).contains("superseded"));
}

#[test]
fn no_inference_is_the_end_but_garbage_is_asked_again() {
    let failure = |kind| Outcome::Failure(Failure::new(kind, "why".to_owned()));
    for kind in [
        FailureKind::NotConfigured,
        FailureKind::Clearance,
        FailureKind::Budget,
        FailureKind::Unavailable,
        FailureKind::RateLimited,
        FailureKind::Rejected,
    ] {
        assert!(ends(&mut begun().0, failure(kind)).contains("why"));
    }
    let (mut machine, _) = begun();
    asked(machine.on(Event::Inferred(failure(FailureKind::Garbage))).unwrap());
    asked(machine.on(Event::Inferred(failure(FailureKind::Garbage))).unwrap());
    ends(&mut machine, failure(FailureKind::Garbage));
    assert!(gave_up(begun().0.on(refusal()).unwrap()).contains("not this one"));
}

#[test]
fn a_model_that_declines_or_is_cut_is_heard() {
    let ended = |finish| {
        Outcome::Answer(Answer { text: "{".to_owned(), finish, model: "m".to_owned(), usage: Usage::default() })
    };
    assert!(ends(&mut begun().0, ended(Finish::Refusal)).contains("declined"));
    let request = asked(begun().0.on(Event::Inferred(ended(Finish::Length))).unwrap());
    assert!(told(&request).contains("cut at 2000 tokens"));
}

#[test]
fn inv_9_a_message_out_of_turn_ends_the_planner() {
    let events = || {
        [
            waiting(),
            blocked("x"),
            Event::Ran(run("completed", vec![])),
            observation(json!({})),
            Event::Loaded(surface(&[])),
            Event::Inferred(answer("x")),
        ]
    };
    let states: [(&[&str], usize); 4] =
        [(&[], 5), (&[r#"{"load_tools": {"groups": ["network"]}}"#], 4), (&[READ], 3), (&["propose"], 0)];
    for (said, fits) in states {
        for (i, event) in events().into_iter().enumerate() {
            let (mut machine, _) = begun();
            for text in said {
                let text = if *text == "propose" { propose(good_steps()) } else { (*text).to_owned() };
                let _ = says(&mut machine, text);
            }
            let fitting = i == fits || (fits == 0 && i == 1);
            let result = machine.on(event);
            assert_eq!(result.is_ok(), fitting, "{said:?} {i}: {result:?}");
            if !fitting {
                assert!(machine.on(Event::Inferred(answer(READ))).is_err(), "it does not come back");
            }
        }
    }
}

#[test]
fn a_task_that_cannot_be_worked_on_is_refused() {
    for (goal, inputs) in [("", json!({})), (" \n", json!({})), (&*"g".repeat(20 << 10), json!({})), ("g", json!([]))] {
        let task =
            Task::Draft { goal: goal.to_owned(), inputs, cwd: "/".to_owned(), surface: surface(&[]), bounds: BOUNDS };
        assert!(matches!(Machine::start(task), Err(ProtocolError::Task(_))));
    }
}

#[test]
fn a_long_conversation_stays_within_one_request() {
    let bounds = Bounds { inferences: 25, reads: 60, drafts: 3, max_tokens: 100, context: 0 };
    let (mut machine, mut request) = start(task(&["files"], bounds));
    for i in 0..24 {
        assert!(serde_json::to_vec(&request).unwrap().len() < REQUEST_LIMIT / 2);
        let said = json!({"thought": "\u{1}".repeat(100_000), "turn": {"read": {"action": "read_file", "args": {"path": "a"}}}});
        assert!(matches!(says(&mut machine, said.to_string()), Next::Say(Message::Read { .. })));
        let next =
            machine.on(observation(json!({"content": format!("seen {i} {}", "\u{202e}".repeat(200_000))}))).unwrap();
        request = asked(next);
        assert!(told(&request).contains(&format!("seen {i} ")) && told(&request).contains("more characters"));
    }
    assert!(request.messages.iter().any(|m| m.content.contains("showed is left out here")));
}

#[test]
fn what_a_model_is_told_fits_its_context() {
    for context in [8192, 16_384] {
        let bounds = Bounds { inferences: 25, reads: 60, ..within(context) };
        let (mut machine, mut request) = start(task(&["files", "network", "programs", "mail"], bounds));
        for i in 0..8 {
            let tokens = |text: &str| text.len().div_ceil(3);
            let messages: usize = request.messages.iter().map(|m| tokens(&m.content) + 8).sum();
            let form = request.schema.as_ref().map_or(0, |schema| tokens(&schema.to_string()));
            let all = messages + form + request.max_tokens as usize;
            assert!(all <= context as usize, "{context}: {all} in question {i}");
            assert!(matches!(says(&mut machine, READ), Next::Say(Message::Read { .. })));
            let next =
                machine.on(observation(json!({"content": format!("seen {i} {}", "x".repeat(200_000))}))).unwrap();
            request = asked(next);
            assert!(told(&request).contains(&format!("seen {i} ")) && told(&request).contains("more characters"));
        }
        let reasons = vec!["why".repeat(2000); 3];
        let _ = says(&mut machine, propose(good_steps()));
        asked(machine.on(blocked(&reasons.concat())).unwrap());
    }
    let (_, next) = Machine::start(task(&["files"], within(600))).unwrap();
    let reason = gave_up(next);
    assert!(reason.contains("one question of 600 tokens"), "{reason}");
}

/// Anything that a model may answer, and anything that may come of what it asks for.
fn conversation() -> impl Strategy<Value = Vec<(String, u8)>> {
    let text = prop_oneof![
        3 => Just(READ.to_owned()),
        2 => Just(propose(good_steps())),
        2 => prop::sample::select(vec!["files", "network", "mail", "data"]).prop_map(|g| json!({"load_tools": {"groups": [g]}}).to_string()),
        1 => any::<Vec<u8>>().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        1 => ".{0,80}",
    ];
    prop::collection::vec((text, any::<u8>()), 1..60)
}

proptest! {
    #[test]
    fn any_answers_lead_to_a_bounded_number_of_messages(turns in conversation(), inferences in 0_u32..15, drafts in 0_u32..4, reads in 0_u32..4) {
        let bounds = Bounds { inferences, reads, drafts, max_tokens: 10, context: 0 };
        let (mut machine, mut next) = Machine::start(task(&["files"], bounds)).unwrap();
        let (mut sent, mut counts) = (0_u32, (0, 0, 0));
        let mut turns = turns.into_iter().cycle();
        loop {
            let (text, chance) = turns.next().unwrap();
            let refuse = chance % 5 == 0;
            let event = match next {
                Next::End => break,
                Next::Wait => Event::Ran(run(if chance % 2 == 0 { "stopped" } else { "completed" }, vec![])),
                Next::Say(message) => {
                    sent += 1;
                    prop_assert!(sent <= 2 * inferences + 1, "{} messages", sent);
                    match message {
                        Message::Infer(_) => { counts.0 += 1; Event::Inferred(answer(text)) }
                        Message::LoadTools { .. } if refuse => refusal(),
                        Message::LoadTools { groups } => Event::Loaded(surface(&["files", groups[0].as_str()])),
                        Message::Read { .. } => { counts.1 += 1; if refuse { refusal() } else { observation(json!({"x": text})) } }
                        Message::Propose { .. } | Message::Revise { .. } => {
                            counts.2 += 1;
                            match chance % 3 { 0 => refusal(), 1 => blocked(&text), _ => waiting() }
                        }
                        Message::Answer { .. } | Message::GiveUp { .. } => break,
                    }
                }
            };
            next = machine.on(event).unwrap();
        }
        prop_assert!(counts.0 <= inferences && counts.1 <= reads && counts.2 <= drafts, "{:?}", counts);
    }
}
