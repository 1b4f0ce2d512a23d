//! The executor against a monitor that lies, refuses, halts and reports surprises.

use countersign_plan::digest::Digest;
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::permit::{Claims, Phase};
use countersign_plan::saga::Undo;
use countersign_plan::time::Timestamp;
use countersign_wire::executor::{Report, RunEnding};
use proptest::prelude::*;
use serde_json::json;

use super::{Event, Machine, Message};
use crate::start;
use crate::start::tests::{Setup, signed};

const EPOCH: u64 = 7;

fn claims(setup: &Setup, step: &str, phase: Phase) -> Claims {
    let tool = if phase == Phase::Compensate { "delete_file" } else { "write_file" };
    Claims {
        case: "c1".parse().unwrap(),
        plan_digest: Digest::of(&setup.start.plan),
        version: 1,
        step: step.parse().unwrap(),
        attempt: 1,
        phase,
        tool: tool.parse().unwrap(),
        tool_digest: Digest::of(tool.as_bytes()),
        args_digest: Digest::of(b"args"),
        spec_digest: Digest::of(b"spec"),
        epoch: EPOCH,
        issued_at: Timestamp::from_millis(1500),
        expires_at: Timestamp::from_millis(61_500),
        nonce: format!("{step}-{phase:?}"),
    }
}

fn permit(setup: &Setup, claims: &Claims) -> Vec<u8> {
    let (payload, bytes) = claims.to_sign().unwrap();
    Claims::envelope(payload, setup.public.id(), setup.sign(&bytes)).to_json()
}

fn seen(ending: Ending, exit_code: i64) -> Box<Observation> {
    let output = json!({"exit_code": exit_code});
    Box::new(Observation { ending, output, files: Default::default(), dropped: Default::default() })
}

fn ok() -> Box<Observation> {
    seen(Ending::Returned, 0)
}

fn begin(undo: &[Undo]) -> (Setup, Machine, Message) {
    let setup = signed(undo);
    let (machine, first) = Machine::start(start::verify(&setup.start).unwrap());
    (setup, machine, first.unwrap())
}

/// Grants, performs and reports success until `until` is asked for.
fn run_until(setup: &Setup, machine: &mut Machine, mut message: Message, until: (&str, Phase)) {
    for _ in 0..100 {
        let Message::Request { step, phase } = message else { panic!("{message:?}") };
        if (step.as_str(), phase) == until {
            return;
        }
        let leave = permit(setup, &claims(setup, step.as_str(), phase));
        assert!(matches!(machine.on(Event::Permit(leave)), Some(Message::Perform { .. })));
        message = machine.on(Event::Observed { step, observation: ok() }).unwrap();
    }
    panic!("never asked for {until:?}");
}

fn report(message: Option<Message>) -> Report {
    match message {
        Some(Message::Finished(report)) => report,
        other => panic!("{other:?}"),
    }
}

fn names(steps: &[countersign_plan::id::StepId]) -> Vec<&str> {
    steps.iter().map(|step| step.as_str()).collect()
}

#[test]
fn only_the_gate_s_leave_for_exactly_this_errand_is_used() {
    let undo = [Undo::Pure, Undo::Snapshot];
    let honest = |setup: &Setup| claims(setup, "s0", Phase::Act);
    type Change = fn(&mut Claims);
    let changes: [(&str, Change); 9] = [
        ("step", |c| c.step = "s1".parse().unwrap()),
        ("phase", |c| c.phase = Phase::Restore),
        ("attempt", |c| c.attempt = 2),
        ("tool", |c| c.tool = "delete_file".parse().unwrap()),
        ("definition", |c| c.tool_digest = Digest::of(b"other")),
        ("plan", |c| c.plan_digest = Digest::of(b"other")),
        ("version", |c| c.version = 2),
        ("case", |c| c.case = "c2".parse().unwrap()),
        ("epoch", |c| c.epoch = EPOCH + 1),
    ];
    for (what, change) in changes {
        let (setup, mut machine, _) = begin(&undo);
        let mut lie = honest(&setup);
        change(&mut lie);
        let report = report(machine.on(Event::Permit(permit(&setup, &lie))));
        let RunEnding::Refused { code, message, .. } = report.ending else { panic!("{what}") };
        assert_eq!(code, "separation.violation");
        assert!(message.contains(what), "{what}: {message}");
        assert!(machine.on(Event::Permit(permit(&setup, &honest(&setup)))).is_none());
    }
    // Signed by somebody else, and not signed at all.
    let (setup, mut machine, _) = begin(&undo);
    let (payload, _) = honest(&setup).to_sign().unwrap();
    let forged = Claims::envelope(payload, setup.public.id(), [7; 64]).to_json();
    assert!(matches!(report(machine.on(Event::Permit(forged))).ending, RunEnding::Refused { .. }));
    let (_, mut machine, _) = begin(&undo);
    assert!(matches!(report(machine.on(Event::Permit(b"{}".to_vec()))).ending, RunEnding::Refused { .. }));
}

#[test]
fn a_permit_is_used_once_and_only_when_asked_for() {
    let (setup, mut machine, _) = begin(&[Undo::Pure, Undo::Pure]);
    let leave = permit(&setup, &claims(&setup, "s0", Phase::Act));
    machine.on(Event::Permit(leave.clone())).unwrap();
    let twice = report(machine.on(Event::Permit(leave)));
    assert!(matches!(twice.ending, RunEnding::Refused { .. }));
    // The same nonce under the next step's claims.
    let (setup, mut machine, _) = begin(&[Undo::Pure, Undo::Pure]);
    let first = claims(&setup, "s0", Phase::Act);
    machine.on(Event::Permit(permit(&setup, &first))).unwrap();
    machine.on(Event::Observed { step: "s0".parse().unwrap(), observation: ok() }).unwrap();
    let again = Claims { nonce: first.nonce, ..claims(&setup, "s1", Phase::Act) };
    let RunEnding::Refused { message, .. } = report(machine.on(Event::Permit(permit(&setup, &again)))).ending else {
        panic!()
    };
    assert!(message.contains("before"), "{message}");
}

#[test]
fn compensation_stops_at_what_cannot_be_undone() {
    let undo = [Undo::Snapshot, Undo::None, Undo::Pure, Undo::Action, Undo::Snapshot, Undo::Pure];
    let (setup, mut machine, first) = begin(&undo);
    run_until(&setup, &mut machine, first, ("s5", Phase::Act));
    let leave = permit(&setup, &claims(&setup, "s5", Phase::Act));
    machine.on(Event::Permit(leave)).unwrap();
    let mut next = machine.on(Event::Observed { step: "s5".parse().unwrap(), observation: seen(Ending::Returned, 1) });
    let mut asked = Vec::new();
    while let Some(Message::Request { step, phase }) = next {
        asked.push((step.to_string(), phase));
        machine.on(Event::Permit(permit(&setup, &claims(&setup, step.as_str(), phase)))).unwrap();
        next = machine.on(Event::Observed { step, observation: ok() });
    }
    assert_eq!(asked, [("s4".to_owned(), Phase::Restore), ("s3".to_owned(), Phase::Compensate)]);
    let report = report(next);
    assert!(matches!(&report.ending, RunEnding::Mismatch { step, .. } if step.as_str() == "s5"));
    assert_eq!(names(&report.done), ["s0", "s1", "s2", "s3", "s4"]);
    assert_eq!(names(&report.undone), ["s4", "s3"]);
    let standing: Vec<&str> = report.standing.iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(standing, ["s1", "s0"], "the step that cannot be undone, and what came before it");
}

#[test]
fn lesson_28_a_compensation_that_failed_is_not_tried_again_and_not_skipped_past() {
    let (setup, mut machine, first) = begin(&[Undo::Action, Undo::Snapshot, Undo::Pure]);
    run_until(&setup, &mut machine, first, ("s2", Phase::Act));
    let refused = Event::Refused { code: "run.expired".to_owned(), message: "late".to_owned() };
    let next = machine.on(refused).unwrap();
    assert_eq!(next, Message::Request { step: "s1".parse().unwrap(), phase: Phase::Restore });
    machine.on(Event::Permit(permit(&setup, &claims(&setup, "s1", Phase::Restore)))).unwrap();
    let failed = seen(Ending::Failed { message: "no room".to_owned() }, 0);
    let report = report(machine.on(Event::Observed { step: "s1".parse().unwrap(), observation: failed }));
    assert!(report.undone.is_empty());
    assert_eq!(report.standing.len(), 2);
    assert!(report.standing[0].1.contains("no room"));
}

#[test]
fn a_halt_overtakes_a_permit_and_says_whether_to_take_back() {
    for compensate in [true, false] {
        let (setup, mut machine, first) = begin(&[Undo::Snapshot, Undo::Pure]);
        run_until(&setup, &mut machine, first, ("s1", Phase::Act));
        assert!(machine.on(Event::Halt { reason: "stop".to_owned(), compensate }).is_none());
        let next = machine.on(Event::Permit(permit(&setup, &claims(&setup, "s1", Phase::Act))));
        if compensate {
            assert_eq!(next, Some(Message::Request { step: "s0".parse().unwrap(), phase: Phase::Restore }));
        } else {
            let report = report(next);
            assert!(matches!(report.ending, RunEnding::Halted { .. }));
            assert_eq!(report.standing.len(), 1);
        }
    }
}

#[test]
fn an_observation_of_another_step_ends_the_run() {
    let (setup, mut machine, _) = begin(&[Undo::Snapshot, Undo::Pure]);
    machine.on(Event::Permit(permit(&setup, &claims(&setup, "s0", Phase::Snapshot)))).unwrap();
    let report = report(machine.on(Event::Observed { step: "s1".parse().unwrap(), observation: ok() }));
    assert!(matches!(report.ending, RunEnding::Refused { code, .. } if code == "separation.violation"));
}

#[test]
fn facts_are_asked_for_by_absolute_normal_paths() {
    assert_eq!(super::absolute("/w/d", "./a/../b"), "/w/d/b");
    assert_eq!(super::absolute("/w", "/etc//x"), "/etc/x");
    assert_eq!(super::absolute("/w", "../../.."), "/");
}

/// What the monitor does with an errand.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fare {
    Well,
    Refused,
    Missed,
    Failed,
    Cut,
}

fn fare() -> impl Strategy<Value = Fare> {
    prop_oneof![
        12 => Just(Fare::Well),
        1 => Just(Fare::Refused),
        1 => Just(Fare::Missed),
        1 => Just(Fare::Failed),
        1 => Just(Fare::Cut),
    ]
}

fn undo() -> impl Strategy<Value = Undo> {
    prop_oneof![Just(Undo::Pure), Just(Undo::Snapshot), Just(Undo::Action), Just(Undo::None)]
}

/// How a step is taken back.
#[derive(Debug, PartialEq)]
enum Way {
    Nothing,
    By(Phase),
    Stands,
}

/// How a step with this undo is taken back after an attempt that went so. Written down here a second time, so that a change of either is seen.
fn expected(undo: Undo, fare: Fare) -> Way {
    match (undo, fare) {
        (Undo::Pure, _) => Way::Nothing,
        (Undo::Snapshot, _) => Way::By(Phase::Restore),
        (Undo::Action | Undo::None, Fare::Failed) => Way::Nothing,
        (Undo::Action, Fare::Well | Fare::Missed) => Way::By(Phase::Compensate),
        (Undo::Action | Undo::None, _) => Way::Stands,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn requests_are_a_prefix_of_the_plan_and_the_way_back_is_its_reverse(
        undo in prop::collection::vec(undo(), 1..7),
        fares in prop::collection::vec(fare(), 40),
        halt_at in prop::option::of(0..20usize),
    ) {
        let (setup, mut machine, first) = begin(&undo);
        let (mut next, mut forwards, mut back) = (first, Vec::new(), Vec::new());
        let (mut acted, mut stopped, mut stuck) = (Vec::new(), false, false);
        for (i, fare) in fares.into_iter().enumerate() {
            let Message::Request { step, phase } = next.clone() else { break };
            let index: usize = step.as_str().trim_start_matches('s').parse().unwrap();
            if matches!(phase, Phase::Snapshot | Phase::Act) {
                prop_assert!(!stopped, "asked to go on after a surprise");
                forwards.push((index, phase));
            } else {
                stopped = true;
                back.push((index, phase));
            }
            if halt_at == Some(i) {
                let answer = machine.on(Event::Halt { reason: "stop".to_owned(), compensate: true });
                prop_assert!(answer.is_none());
                if !matches!(phase, Phase::Restore | Phase::Compensate) {
                    stopped = true;
                    let late = permit(&setup, &claims(&setup, step.as_str(), phase));
                    next = machine.on(Event::Permit(late)).unwrap();
                    continue;
                }
            }
            if fare == Fare::Refused {
                stuck |= stopped;
                stopped = true;
                next = machine.on(Event::Refused { code: "run.expired".to_owned(), message: String::new() }).unwrap();
                continue;
            }
            let leave = permit(&setup, &claims(&setup, step.as_str(), phase));
            let used = matches!(machine.on(Event::Permit(leave)), Some(Message::Perform { .. }));
            prop_assert!(used, "the leave was not used");
            let observation = match fare {
                Fare::Well | Fare::Refused => ok(),
                Fare::Missed => seen(Ending::Returned, 1),
                Fare::Failed => seen(Ending::Failed { message: String::new() }, 0),
                Fare::Cut => seen(Ending::Killed { signal: 9 }, 0),
            };
            stuck |= fare != Fare::Well && matches!(phase, Phase::Restore | Phase::Compensate);
            stopped |= fare != Fare::Well;
            if phase == Phase::Act {
                acted.push((index, fare));
            }
            next = machine.on(Event::Observed { step, observation }).unwrap();
        }
        let Message::Finished(report) = next else { return Err(TestCaseError::fail("not finished")) };

        // Forwards: each step once, in order, its state kept before it acts.
        let plan: Vec<(usize, Phase)> = undo.iter().enumerate().flat_map(|(i, undo)| {
            let keep = (*undo == Undo::Snapshot).then_some((i, Phase::Snapshot));
            keep.into_iter().chain([(i, Phase::Act)])
        }).collect();
        prop_assert!(plan.starts_with(&forwards), "{:?} of {:?}", forwards, plan);
        prop_assert_eq!(matches!(report.ending, RunEnding::Completed), !stopped);

        // Back: exactly the reverse of what acted, down to the first that cannot be undone.
        if stopped {
            let mut wanted = Vec::new();
            for (index, fare) in acted.iter().rev() {
                match expected(undo[*index], *fare) {
                    Way::Stands => break,
                    Way::Nothing => {}
                    Way::By(phase) => wanted.push((*index, phase)),
                }
            }
            if stuck {
                prop_assert!(wanted.starts_with(&back));
            } else {
                prop_assert_eq!(&back, &wanted);
            }
            let undone: Vec<String> = back.iter().map(|(index, _)| format!("s{index}")).collect();
            prop_assert!(undone.starts_with(&report.undone.iter().map(ToString::to_string).collect::<Vec<_>>()));
            // Nothing that acted and needs taking back is left out of the account.
            for (index, fare) in &acted {
                if expected(undo[*index], *fare) != Way::Nothing {
                    let id: countersign_plan::id::StepId = format!("s{index}").parse().unwrap();
                    let told = report.undone.contains(&id) || report.standing.iter().any(|(step, _)| *step == id);
                    prop_assert!(told, "{} in {:?}", id, report);
                }
            }
        } else {
            prop_assert!(back.is_empty() && report.undone.is_empty() && report.standing.is_empty());
        }
    }
}
