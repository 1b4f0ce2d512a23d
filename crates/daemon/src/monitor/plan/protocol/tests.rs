//! A fake planner in conversation with the pure protocol: the road of a goal, and every way to leave it.

use countersign_wire::planner::FromPlanner;
use countersign_wire::planner::from_planner::{Answer, GiveUp, Infer, Kind, LoadTools, Propose, Read};
use countersign_wire::planner::to_planner::{self, Inferred, Loaded, Observed, Ran, Refused, Reviewed, Start};
use proptest::prelude::*;

use super::{ANSWER, ARGS, Awaited, BOUNDS, Demand, GROUPS, NOT_ITS_OWN, Protocol, REASON, Work};

fn say(kind: Kind) -> FromPlanner {
    FromPlanner { kind: Some(kind) }
}

fn infer() -> FromPlanner {
    say(Kind::Infer(Infer { request: b"{}".to_vec() }))
}

fn propose(draft: &str) -> FromPlanner {
    say(Kind::Propose(Propose { draft: draft.as_bytes().to_vec() }))
}

fn revise(draft: &str) -> FromPlanner {
    say(Kind::Revise(Propose { draft: draft.as_bytes().to_vec() }))
}

fn read(args: &str) -> FromPlanner {
    say(Kind::Read(Read { action: "read_file".to_owned(), args: args.as_bytes().to_vec() }))
}

fn started(work: Work) -> Protocol {
    let mut protocol = Protocol::new(work);
    protocol.tell(&to_planner::Kind::Start(Start { task: vec![] })).unwrap();
    protocol
}

fn reviewed(waiting: bool) -> to_planner::Kind {
    to_planner::Kind::Reviewed(Reviewed { verdict: vec![], waiting })
}

#[test]
fn a_conversation_goes_from_the_goal_to_a_run_and_a_revision() {
    let mut protocol = started(Work::Draft);
    assert_eq!(protocol.hear(infer()), Ok(Demand::Infer(b"{}".to_vec())));
    protocol.tell(&to_planner::Kind::Inferred(Inferred { outcome: vec![] })).unwrap();
    let load = say(Kind::LoadTools(LoadTools { groups: vec!["programs".to_owned()] }));
    assert_eq!(protocol.hear(load), Ok(Demand::Load(vec!["programs".to_owned()])));
    protocol.tell(&to_planner::Kind::Loaded(Loaded { surface: vec![] })).unwrap();
    assert!(matches!(protocol.hear(read(r#"{"path": "a"}"#)), Ok(Demand::Read { .. })));
    protocol.tell(&to_planner::Kind::Observed(Observed { observation: vec![] })).unwrap();
    assert!(matches!(protocol.hear(propose("{}")), Ok(Demand::Draft(_))));
    protocol.tell(&reviewed(false)).unwrap();
    assert!(matches!(protocol.hear(revise("{}")), Ok(Demand::Draft(_))));
    protocol.tell(&reviewed(true)).unwrap();
    assert_eq!(protocol.awaits(), Some(Awaited::Run));
    protocol.tell(&to_planner::Kind::Ran(Ran { result: vec![] })).unwrap();
    assert!(matches!(protocol.hear(say(Kind::GiveUp(GiveUp { reason: "x".to_owned() }))), Ok(Demand::GiveUp(_))));
    assert!(protocol.is_over());
    assert!(protocol.hear(infer()).is_err(), "nothing after the end");
}

#[test]
fn speaking_out_of_turn_is_a_breach_in_every_state() {
    let mut before_its_task = Protocol::new(Work::Draft);
    assert!(before_its_task.hear(infer()).is_err());
    let mut asking = started(Work::Draft);
    asking.hear(infer()).unwrap();
    assert!(asking.hear(infer()).unwrap_err().to_string().contains("waits for the model"));
    let mut waiting = started(Work::Draft);
    waiting.hear(propose("{}")).unwrap();
    assert!(waiting.hear(revise("{}")).is_err(), "a second draft before the verdict on the first");
    waiting.tell(&reviewed(true)).unwrap();
    for late in [revise("{}"), infer(), read("{}"), say(Kind::Answer(Answer { text: "done".to_owned() }))] {
        assert!(waiting.hear(late).is_err(), "the plan waits for people, and the planner with it");
    }
    assert!(started(Work::Draft).hear(FromPlanner { kind: None }).is_err());
}

#[test]
fn drafts_come_in_their_order_and_set_nothing_that_is_the_gates() {
    assert!(started(Work::Draft).hear(revise("{}")).is_err(), "there is nothing to revise");
    let mut protocol = started(Work::Draft);
    protocol.hear(propose("{}")).unwrap();
    protocol.tell(&reviewed(false)).unwrap();
    assert!(protocol.hear(propose("{}")).is_err(), "the first draft comes once");
    for field in NOT_ITS_OWN {
        let draft = format!(r#"{{"schema": "countersign.plan/v1", "goal": "g", "steps": [], "{field}": 1}}"#);
        let breach = started(Work::Draft).hear(propose(&draft)).unwrap_err().to_string();
        assert!(breach.contains(field), "{breach}");
        let draft =
            format!(r#"{{"schema": "countersign.plan/v1", "goal": "g", "steps": [{{"id": "a", "{field}": 1}}]}}"#);
        assert!(started(Work::Draft).hear(propose(&draft)).is_err(), "{field} of a step");
    }
    assert!(started(Work::Draft).hear(propose("no plan at all")).is_ok(), "the gate refuses it with a verdict");
}

#[test]
fn a_draft_has_no_field_that_counts_as_the_gates() {
    let draft = r#"{"schema": "countersign.plan/v1", "goal": "read it", "steps": [{"id": "a", "action": "read_file",
        "args": {"path": "a"}}], "privileges": {"read": ["a"]}, "expires_in": "1h"}"#;
    countersign_plan::draft::Draft::read(draft.as_bytes()).unwrap();
    assert!(started(Work::Draft).hear(propose(draft)).is_ok());
}

#[test]
fn a_planner_that_answers_has_no_tools() {
    for tried in [say(Kind::LoadTools(LoadTools { groups: vec![] })), read("{}"), propose("{}"), revise("{}")] {
        assert!(started(Work::Answer).hear(tried).is_err());
    }
    let mut protocol = started(Work::Answer);
    protocol.hear(infer()).unwrap();
    protocol.tell(&to_planner::Kind::Inferred(Inferred { outcome: vec![] })).unwrap();
    assert_eq!(
        protocol.hear(say(Kind::Answer(Answer { text: "four".to_owned() }))),
        Ok(Demand::Answer("four".to_owned()))
    );
}

#[test]
fn what_is_over_a_bound_is_a_breach() {
    let mut protocol = started(Work::Draft);
    for _ in 0..BOUNDS.inferences {
        protocol.hear(infer()).unwrap();
        protocol.tell(&to_planner::Kind::Inferred(Inferred { outcome: vec![] })).unwrap();
    }
    assert!(protocol.hear(infer()).is_err());
    let mut protocol = started(Work::Draft);
    for _ in 0..BOUNDS.reads {
        protocol.hear(read("{}")).unwrap();
        protocol.tell(&to_planner::Kind::Refused(Refused::default())).unwrap();
    }
    assert!(protocol.hear(read("{}")).is_err());
    let mut protocol = started(Work::Draft);
    protocol.hear(propose("{}")).unwrap();
    for _ in 1..BOUNDS.drafts {
        protocol.tell(&reviewed(false)).unwrap();
        protocol.hear(revise("{}")).unwrap();
    }
    protocol.tell(&reviewed(false)).unwrap();
    assert!(protocol.hear(revise("{}")).is_err());

    let long = |n: usize| "x".repeat(n + 1);
    let groups = vec!["g".to_owned(); GROUPS + 1];
    let over = [
        say(Kind::Answer(Answer { text: long(ANSWER) })),
        say(Kind::GiveUp(GiveUp { reason: long(REASON) })),
        say(Kind::LoadTools(LoadTools { groups })),
        say(Kind::LoadTools(LoadTools { groups: vec![long(64)] })),
        say(Kind::Infer(Infer { request: vec![0; countersign_wire::infer::REQUEST_LIMIT + 1] })),
        read(&format!(r#"{{"path": "{}"}}"#, long(ARGS))),
        read("[]"),
        read(r#"{"a": 1, "a": 2}"#),
    ];
    for message in over {
        assert!(started(Work::Draft).hear(message).is_err());
    }
}

fn any_message() -> impl Strategy<Value = FromPlanner> {
    let text = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        text().prop_map(|request| say(Kind::Infer(Infer { request }))),
        text().prop_map(|args| say(Kind::Read(Read { action: "read_file".to_owned(), args }))),
        text().prop_map(|draft| say(Kind::Propose(Propose { draft }))),
        text().prop_map(|draft| say(Kind::Revise(Propose { draft }))),
        Just(say(Kind::LoadTools(LoadTools { groups: vec![] }))),
        Just(say(Kind::Answer(Answer { text: String::new() }))),
        Just(FromPlanner { kind: None }),
    ]
}

proptest! {
    /// However it speaks: after a demand it is never heard again before it was answered, and a breach changes nothing.
    #[test]
    fn whoever_was_heard_waits(messages in prop::collection::vec(any_message(), 1..30)) {
        let mut protocol = started(Work::Draft);
        for message in messages {
            let turn = protocol.thinks();
            let heard = protocol.hear(message);
            prop_assert!(turn || heard.is_err());
            if heard.is_ok() {
                prop_assert!(!protocol.thinks());
                let answer = match protocol.awaits() {
                    Some(Awaited::Model) => to_planner::Kind::Inferred(Inferred { outcome: vec![] }),
                    Some(Awaited::Tools) => to_planner::Kind::Loaded(Loaded { surface: vec![] }),
                    Some(Awaited::Read) => to_planner::Kind::Observed(Observed { observation: vec![] }),
                    Some(Awaited::Verdict) => reviewed(false),
                    Some(Awaited::Task | Awaited::Run) | None => return Ok(()),
                };
                prop_assert!(protocol.tell(&answer).is_ok());
            } else {
                return Ok(());
            }
        }
    }
}
