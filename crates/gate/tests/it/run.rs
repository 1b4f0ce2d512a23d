//! Runs on the whole gate: the way of a plan, and everything that ends one.

use std::sync::Arc;

use countersign_gate::directive::{Directive, Notice, OperatorAnswer};
use countersign_gate::event::{Event, Said};
use countersign_gate::key::GateKey;
use countersign_ledger::RecordKind;
use countersign_plan::approval::Settlement;
use countersign_plan::digest::Digest;
use countersign_plan::envelope::{Envelope, TrustRoot};
use countersign_plan::id::CaseId;
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::permit::{Phase, VerifiedPermit};
use countersign_plan::verdict::{Code, Decision};
use serde_json::json;

use crate::house::{
    House, Person, configuration, deployment, free, has, kept, refused, returned, two_people, write, write_two,
};

fn killed(directives: &[Directive]) -> bool {
    has(directives, |d| matches!(d, Directive::KillExecutor { .. }))
}

fn alerted(directives: &[Directive]) -> bool {
    has(directives, |d| matches!(d, Directive::Alert { .. }))
}

/// INV-1, INV-2, INV-3: what an executor is given verifies, each attempt has a permit of its own over exactly its arguments
/// and sandbox, and its intent is in the ledger before anything is spawned.
#[test]
fn a_plan_runs_to_its_end() {
    let mut house = House::new(&free());
    let (verdict, directives) = house.submit(&write_two());
    assert_eq!(verdict.decision, Decision::Allow, "{verdict:#?}");
    let case = verdict.case.unwrap();
    let start = directives.iter().find_map(|directive| match directive {
        Directive::StartExecutor { plan, gate, epoch, now, .. } => Some((plan, *gate, *epoch, *now)),
        _ => None,
    });
    let (plan, gate, epoch, now) = start.unwrap();
    let verified = plan.verify(&TrustRoot { gate, epoch: Some(epoch) }, now).unwrap();
    assert_eq!(Some(verified.digest()), verdict.plan_digest);
    house.verified(&case);
    house.run(&case, "w", Phase::Snapshot);
    house.observe(&case, kept());
    let permit = house.permit(&case, "w", Phase::Act);
    assert!(house.records(RecordKind::Intent).len() == 1, "asking is not acting");
    let run = house.perform(&case, &permit);
    assert_eq!(house.records(RecordKind::Intent).len(), 2);
    let claims = VerifiedPermit::verify(&run.permit, &gate, epoch).unwrap();
    assert_eq!(claims.claims().spec_digest, run.spec.digest().unwrap());
    assert_eq!(claims.claims().args_digest, countersign_plan::canonical::digest(&run.order.args));
    assert_eq!(run.order.args["path"], "/w/a.txt");
    assert_eq!(Envelope::from_json(&permit).unwrap(), run.permit);
    let told = house.observe(&case, returned(json!({"bytes": 41})));
    assert!(has(&told, |d| matches!(d, Directive::Observed { .. })));
    house.run(&case, "v", Phase::Snapshot);
    house.observe(&case, kept());
    let run = house.run(&case, "v", Phase::Act);
    assert_eq!(run.order.args, json!({"path": "/w/sub/b.txt", "content": "41"}), "resolved over the typed output");
    house.observe(&case, returned(json!({"bytes": 2})));
    let end = house.finish(&case, true, &["w", "v"], &[]);
    assert!(has(&end, |d| matches!(d, Directive::Notify { notice: Notice::Ended { stage: "completed", .. }, .. })));
    assert_eq!(house.records(RecordKind::CaseClosed)[0]["done"], json!(["w", "v"]));
}

/// INV-9: whatever an executor asks outside of its plan is recorded as critical, told, and ends the case.
#[test]
fn a_request_outside_the_plan_halts_the_case() {
    type Lie = fn(&House) -> Said;
    let lies: [(&str, Lie); 8] = [
        ("unknown step", |house| ask(house, "z", Phase::Act, 1)),
        ("skipped", |house| ask(house, "v", Phase::Snapshot, 1)),
        ("without its snapshot", |house| ask(house, "w", Phase::Act, 1)),
        ("nothing to take back", |house| ask(house, "w", Phase::Restore, 1)),
        ("second attempt", |house| ask(house, "w", Phase::Snapshot, 2)),
        ("forged permit", |_| Said::Perform { permit: b"{}".to_vec() }),
        ("verified twice", |_| Said::Verified { plan_digest: Digest::of(b"other") }),
        ("refused what it was given", |_| Said::Rejected { message: "the permit is for another step".to_owned() }),
    ];
    for (name, lie) in lies {
        let mut house = House::new(&free());
        let case = house.running(&write_two());
        let said = lie(&house);
        let directives = house.say(&case, said);
        assert!(alerted(&directives) && killed(&directives), "{name}: {directives:?}");
        assert_eq!(house.stage(&case), "halted", "{name}");
        assert_eq!(house.records(RecordKind::Critical).len(), 1, "{name}");
        assert_eq!(refused(&house.request(&case, "w", Phase::Snapshot)), Some(Code::RunHalted), "{name}");
    }
    let mut house = House::new(&free());
    let case = house.running(&write_two());
    let message = "the executor tried socket (41)".to_owned();
    let directives = house.event(Event::ExecutorViolation { case: case.clone(), message });
    assert!(alerted(&directives), "{directives:?}");
    assert_eq!(house.stage(&case), "halted");
    assert_eq!(house.records(RecordKind::Critical).len(), 1);
    let mut house = House::new(&free());
    let case = house.running(&write());
    house.whole_step(&case, "w");
    assert!(alerted(&house.request(&case, "w", Phase::Snapshot)), "a step is not repeated");
    let mut house = House::new(&free());
    let case = house.running(&write());
    assert!(alerted(&house.finish(&case, true, &["w"], &[])), "nothing ran");
}

/// INV-9: an executor that refuses its plan says that somebody changed it: unsigned, altered, of another key, expired. Its words are
/// on record, a person is told, the case is halted, and whatever it asks for afterwards it does not get.
#[test]
fn inv_9_a_plan_that_its_executor_refuses_is_critical_and_halts_the_case() {
    for found in ["the envelope has no signature", "the signature does not hold", "signed by another key", "expired"] {
        let mut house = House::new(&free());
        let case = house.submit(&write()).0.case.unwrap();
        let directives = house.say(&case, Said::Rejected { message: found.to_owned() });
        let told = |d: &Directive| matches!(d, Directive::Alert { message, .. } if message.contains(found));
        assert!(has(&directives, told) && killed(&directives), "{found}: {directives:?}");
        assert_eq!(house.stage(&case), "halted", "{found}");
        let critical = house.records(RecordKind::Critical);
        assert_eq!(critical.len(), 1, "{found}");
        assert_eq!(critical[0]["violation"], "plan_bytes_changed");
        assert!(critical[0]["message"].as_str().unwrap().contains(found), "{critical:?}");
        assert_eq!(refused(&house.request(&case, "w", Phase::Snapshot)), Some(Code::RunHalted), "{found}");
        assert_eq!(house.records(RecordKind::Permit).len(), 0, "{found}");
    }
}

/// INV-9: an executor that refuses a permit is no liar: the record says what it refused, in its words.
#[test]
fn inv_9_a_permit_that_its_executor_refuses_is_critical_and_the_record_says_why() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    house.permit(&case, "w", Phase::Snapshot);
    let found = "step `w`: separation.violation: the permit is for another step";
    let directives = house.say(&case, Said::Rejected { message: found.to_owned() });
    assert!(alerted(&directives) && killed(&directives), "{directives:?}");
    assert_eq!(house.stage(&case), "halted");
    let critical = house.records(RecordKind::Critical);
    assert_eq!(critical[0]["violation"], "refused_by_the_executor");
    assert!(critical[0]["message"].as_str().unwrap().contains(found), "{critical:?}");
    assert_eq!((critical.len(), house.records(RecordKind::Intent).len()), (1, 0));
}

/// INV-9: a permit that the zygote finds bad started nothing. Somebody between gate and zygote changed it: critical, halted. What
/// could not be started for another reason is an ordinary failure, and is taken back.
#[test]
fn inv_9_a_permit_that_the_zygote_refuses_is_critical_and_halts_the_case() {
    for violation in [true, false] {
        let mut house = House::new(&free());
        let case = house.running(&write());
        house.run(&case, "w", Phase::Snapshot);
        house.observe(&case, kept());
        let permit = house.permit(&case, "w", Phase::Act);
        house.perform(&case, &permit);
        let message = "the permit names other arguments".to_owned();
        let directives = house.event(Event::StepRefused { case: case.clone(), violation, message });
        assert_eq!((alerted(&directives), killed(&directives)), (violation, violation), "{directives:?}");
        let outcome = house.records(RecordKind::Outcome).pop().unwrap();
        assert_eq!((&outcome["phase"], &outcome["fate"]), (&json!("act"), &json!("failed")), "nothing ran: {outcome}");
        let critical = house.records(RecordKind::Critical);
        if violation {
            assert_eq!(house.stage(&case), "halted");
            assert_eq!(critical[0]["violation"], "permit_refused_by_the_zygote");
            assert!(critical[0]["message"].as_str().unwrap().contains("other arguments"), "{critical:?}");
        } else {
            assert_eq!((house.stage(&case), critical.len()), ("running", 0));
            house.finish(&case, false, &[], &[]);
            assert_eq!(house.stage(&case), "stopped");
        }
        let again = house.say(&case, Said::Perform { permit });
        assert!(!has(&again, |d| matches!(d, Directive::RunStep(_))), "{again:?}");
    }
}

/// What confined a step is in the record of its outcome, of each step its own.
#[test]
fn what_confined_a_step_is_in_the_record_of_its_outcome() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    for (phase, seen, layer) in [(Phase::Snapshot, kept(), "one"), (Phase::Act, returned(json!({"bytes": 1})), "two")] {
        house.run(&case, "w", phase);
        let enforcement = json!({"landlock": layer});
        let told = house.event(Event::StepStarted { case: case.clone(), enforcement: enforcement.clone() });
        assert!(has(&told, |d| matches!(d, Directive::Notify { notice: Notice::StepStarted { .. }, .. })), "{told:?}");
        house.observe(&case, seen);
        assert_eq!(house.records(RecordKind::Outcome).pop().unwrap()["enforcement"], enforcement);
    }
    // What was not attested does not borrow what was before.
    let case = house.running(&write());
    house.run(&case, "w", Phase::Snapshot);
    house.observe(&case, kept());
    assert_eq!(house.records(RecordKind::Outcome).pop().unwrap()["enforcement"], json!(null));
}

fn ask(house: &House, step: &str, phase: Phase, attempt: u32) -> Said {
    Said::Request { step: step.parse().unwrap(), phase, attempt, present: Arc::clone(&house.configuration) }
}

/// INV-6.
#[test]
fn a_spent_permit_is_refused() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    let permit = house.permit(&case, "w", Phase::Snapshot);
    house.perform(&case, &permit);
    house.observe(&case, kept());
    let again = house.say(&case, Said::Perform { permit: permit.clone() });
    assert!(!has(&again, |d| matches!(d, Directive::RunStep(_))) && alerted(&again) && killed(&again));
    assert_eq!(house.records(RecordKind::Critical)[0]["violation"], "permit_reused");
    // A permit of one case is none of another.
    let other = house.running(&write_two());
    let foreign = house.say(&other, Said::Perform { permit });
    assert!(!has(&foreign, |d| matches!(d, Directive::RunStep(_))) && alerted(&foreign));
}

/// INV-6: an unused permit dies after a minute, and with its plan.
#[test]
fn credentials_die_with_the_plan() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    let permit = house.permit(&case, "w", Phase::Snapshot);
    house.pass(61);
    assert_eq!(refused(&house.say(&case, Said::Perform { permit })), Some(Code::RunExpired));
    house.finish(&case, false, &[], &[]);
    assert_eq!(house.stage(&case), "stopped");

    // Late is no violation (ADR 12): refused, on record, and told to nobody as an attack.
    assert_eq!(house.records(RecordKind::Decision).pop().unwrap()["refused"], "run.expired");
    assert!(house.records(RecordKind::Critical).is_empty());

    let mut house = House::new(&free());
    let mut plan = write();
    plan["expires_in"] = json!("10s");
    let case = house.running(&plan);
    let permit = house.permit(&case, "w", Phase::Snapshot);
    let stop = house.pass(11);
    assert!(has(&stop, |d| matches!(d, Directive::HaltExecutor { compensate: true, .. })));
    assert!(!has(&house.say(&case, Said::Perform { permit: permit.clone() }), |d| matches!(d, Directive::RunStep(_))));
    house.finish(&case, false, &[], &[]);
    let late = house.say(&case, Said::Perform { permit });
    assert!(!has(&late, |d| matches!(d, Directive::RunStep(_) | Directive::GrantPermit { .. })));
    assert_eq!(house.records(RecordKind::Intent).len(), 0);
}

/// ADR 12: who is late once did not know better; who was told so and goes on is no plan's executor any more.
#[test]
fn late_once_is_refused_and_going_on_after_that_is_a_violation() {
    type Move = fn(&mut House, &CaseId, &[u8]) -> Vec<Directive>;
    let perform: Move = |house, case, permit| house.say(case, Said::Perform { permit: permit.to_vec() });
    let same: Move = |house, case, _| house.request(case, "w", Phase::Snapshot);
    let other: Move = |house, case, _| house.request(case, "v", Phase::Snapshot);
    for (name, expiry, first, code, again, violation) in [
        ("a permit", 61, perform, Code::RunExpired, perform, "permit_reused"),
        ("a permit, then a new one", 61, perform, Code::RunExpired, same, "request_outside_the_plan"),
        ("a permit, then another step", 61, perform, Code::RunExpired, other, "request_outside_the_plan"),
        ("a permit of an expired plan", 901, perform, Code::RunHalted, perform, "permit_reused"),
        (
            "a permit of an expired plan, then a new one",
            901,
            perform,
            Code::RunHalted,
            same,
            "request_outside_the_plan",
        ),
    ] {
        let mut house = House::new(&free());
        let mut plan = write_two();
        plan["expires_in"] = json!("15m");
        let case = house.running(&plan);
        let permit = house.permit(&case, "w", Phase::Snapshot);
        house.pass(expiry);
        let late = first(&mut house, &case, &permit);
        assert_eq!((refused(&late), alerted(&late)), (Some(code), false), "{name}: {late:?}");
        assert_eq!(house.records(RecordKind::Critical).len(), 0, "{name}");
        let told = again(&mut house, &case, &permit);
        assert!(alerted(&told) && killed(&told), "{name}: {told:?}");
        assert_eq!(house.records(RecordKind::Critical)[0]["violation"], violation, "{name}");
        assert_eq!(house.stage(&case), "halted", "{name}");
        assert_eq!(house.records(RecordKind::Intent).len(), 0, "{name}");
    }
    // A request that crossed with the word of the expiry is late; the second is not.
    let mut house = House::new(&free());
    let mut plan = write_two();
    plan["expires_in"] = json!("15m");
    let case = house.running(&plan);
    house.whole_step(&case, "w");
    house.pass(901);
    let late = house.request(&case, "v", Phase::Snapshot);
    assert_eq!((refused(&late), alerted(&late)), (Some(Code::RunHalted), false), "{late:?}");
    assert!(alerted(&house.request(&case, "v", Phase::Snapshot)));
    assert_eq!(house.stage(&case), "halted");
}

/// INV-6: gate time goes on, what runs is halted, and what had expired stays expired.
#[test]
fn a_clock_set_back_revives_nothing() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    let permit = house.permit(&case, "w", Phase::Snapshot);
    house.pass(61);
    let before = house.gate.now();
    house.wall -= 600_000;
    let directives = house.say(&case, Said::Perform { permit });
    assert!(!has(&directives, |d| matches!(d, Directive::RunStep(_))));
    assert!(alerted(&directives) && killed(&directives));
    assert_eq!(house.stage(&case), "halted");
    assert!(house.gate.now() >= before);
    // Nor does a restart under the old clock.
    house.restart();
    assert!(house.gate.now() >= before);
}

/// The old key signs the new one; what the old one signed is dead.
#[test]
fn rotation_kills_permits_of_the_old_key() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    let permit = house.permit(&case, "w", Phase::Snapshot);
    let old = house.gate.public_key();
    let directives = house.event(Event::Rotate(GateKey::from_bytes(&mut [9; 32]).unwrap()));
    assert!(killed(&directives));
    let handed = directives.iter().find_map(|directive| match directive {
        Directive::RotateKey { key, signature, .. } => Some((*key, *signature)),
        _ => None,
    });
    let (new, signature) = handed.unwrap();
    assert_eq!(new, house.gate.public_key());
    let message =
        [b"countersign zygote key rotation v1\0".as_slice(), &new.to_bytes(), &house.gate.epoch().to_be_bytes()];
    old.verify(&message.concat(), &signature).unwrap();
    assert_eq!(house.stage(&case), "halted");
    let late = house.say(&case, Said::Perform { permit });
    assert!(!has(&late, |d| matches!(d, Directive::RunStep(_))));
    let (verdict, directives) = house.submit(&write());
    let signed = directives.iter().find_map(|directive| match directive {
        Directive::StartExecutor { plan, .. } => Some(plan),
        _ => None,
    });
    let now = house.gate.now();
    let root = |gate| TrustRoot { gate, epoch: Some(1) };
    assert!(signed.unwrap().verify(&root(new), now).is_ok() && signed.unwrap().verify(&root(old), now).is_err());
    assert_eq!(verdict.decision, Decision::Allow);
}

/// A step whose outcome does not hold stops the plan, whatever its executor says, and what was done is taken back newest
/// first (`lesson_28`).
#[test]
fn lesson_28_a_miss_stops_and_takes_back_newest_first() {
    let mut house = House::new(&free());
    let case = house.running(&write_two());
    house.whole_step(&case, "w");
    house.run(&case, "v", Phase::Snapshot);
    house.observe(&case, kept());
    house.run(&case, "v", Phase::Act);
    let missed = Observation { ending: Ending::TimedOut, ..returned(json!({})) };
    house.observe(&case, missed);
    // Going on as if nothing had been is no option.
    assert!(alerted(&house.finish(&case, true, &["w", "v"], &[])));

    let mut house = House::new(&free());
    let case = house.running(&write_two());
    house.whole_step(&case, "w");
    house.run(&case, "v", Phase::Snapshot);
    house.observe(&case, kept());
    house.run(&case, "v", Phase::Act);
    house.observe(&case, Observation { ending: Ending::TimedOut, ..returned(json!({})) });
    let run = house.run(&case, "v", Phase::Restore);
    assert_eq!(run.order.snapshot.unwrap().index, Some(Digest::of(b"index")));
    house.observe(&case, returned(json!({})));
    house.run(&case, "w", Phase::Restore);
    house.observe(&case, returned(json!({})));
    house.finish(&case, false, &["w"], &["v", "w"]);
    assert_eq!(house.stage(&case), "stopped");
    assert_eq!(house.records(RecordKind::Compensation).len(), 2);
}

/// Plan approval never switches the step check off: a policy or tool that changed since refuses (`lesson_21`, `lesson_23`).
#[test]
fn lesson_23_what_changed_since_the_plan_was_judged_gets_no_leave() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    house.configuration = configuration(&two_people(), &deployment());
    assert_eq!(refused(&house.request(&case, "w", Phase::Snapshot)), Some(Code::PolicyChanged));
    house.finish(&case, false, &[], &[]);
    assert_eq!(house.stage(&case), "stopped");

    let mut house = House::new(&free());
    let case = house.running(&write());
    let mut fact = crate::house::file(3, false);
    fact.resolved = Some("/etc/passwd".to_owned());
    house.facts.paths.insert("/w/a.txt".to_owned(), fact);
    let answer = house.request(&case, "w", Phase::Snapshot);
    assert!(refused(&answer).is_some(), "a link swapped in: {answer:?}");
}

/// INV-2: what was started and has no outcome is never repeated; a person settles it with a signature.
#[test]
fn inv_2_an_unknown_outcome_is_indeterminate_and_settled_by_a_person() {
    let mut house = House::new(&free());
    let person = Person::new("user:x", 11, &[]);
    house.enroll(&[&person]);
    let case = house.running(&write());
    house.run(&case, "w", Phase::Snapshot);
    house.observe(&case, kept());
    house.run(&case, "w", Phase::Act);
    let directives = house.event(Event::StepLost { case: case.clone(), reason: "killed".to_owned() });
    assert!(killed(&directives));
    assert_eq!(house.stage(&case), "indeterminate");
    assert_eq!(refused(&house.request(&case, "w", Phase::Act)), Some(Code::RunHalted));
    house.restart();
    assert_eq!(house.stage(&case), "indeterminate");
    let settlement = Settlement {
        case: case.clone(),
        step: "w".parse().unwrap(),
        happened: true,
        principal: person.approver.principal.clone(),
        signed_at: house.gate.now(),
        nonce: "s1".to_owned(),
    };
    let stranger = Person::new("user:x", 12, &[]);
    assert!(refused(&house.event(Event::Settle(stranger.sign(&settlement)))).is_some());
    let done = house.event(Event::Settle(person.sign(&settlement)));
    assert!(has(&done, |d| matches!(d, Directive::AnswerOperator(OperatorAnswer::Done { .. }))));
    assert_eq!(house.stage(&case), "stopped");
}

/// INV-2, INV-6: a restart at any state of a run carries nothing over it.
#[test]
fn a_restart_halts_what_ran_and_asks_about_what_was_under_way() {
    for (records, expected) in [(0, "halted"), (1, "halted"), (2, "halted"), (3, "halted"), (4, "indeterminate")] {
        let mut house = House::new(&free());
        let case = house.running(&write());
        let mut permit = Vec::new();
        for moved in 0..records {
            match moved {
                0 => drop(house.run(&case, "w", Phase::Snapshot)),
                1 => drop(house.observe(&case, kept())),
                2 => permit = house.permit(&case, "w", Phase::Act),
                _ => drop(house.perform(&case, &permit)),
            }
        }
        house.restart();
        assert_eq!(house.gate.epoch(), 2);
        assert_eq!(house.stage(&case), expected, "after {records} moves");
        let late = house.say(&case, Said::Perform { permit });
        assert!(!has(&late, |d| matches!(d, Directive::RunStep(_))), "after {records} moves");
        house.restart();
        let known = house.gate.case(&case).map(|summary| summary.stage);
        assert_eq!(known, Some(expected));
    }
}

/// A halt stops the step that runs, and its effect is taken back from its snapshot; a second one ends all.
#[test]
fn a_halt_kills_and_takes_back() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    house.run(&case, "w", Phase::Snapshot);
    house.observe(&case, kept());
    house.run(&case, "w", Phase::Act);
    let halted = house.event(Event::Halt { case: None, reason: "stop".to_owned() });
    assert!(has(&halted, |d| matches!(d, Directive::KillStep { .. })));
    assert!(has(&halted, |d| matches!(d, Directive::HaltExecutor { compensate: true, .. })));
    assert_eq!(house.records(RecordKind::HaltAll).len(), 1);
    house.observe(&case, Observation { ending: Ending::Killed { signal: 9 }, ..returned(json!({})) });
    house.run(&case, "w", Phase::Restore);
    house.observe(&case, returned(json!({})));
    house.finish(&case, false, &[], &["w"]);
    assert_eq!(house.stage(&case), "halted");
}

/// INV-4: once the record failed, nothing happens any more.
#[test]
fn inv_4_a_gate_without_a_ledger_does_nothing() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    let transition = house.transition(Event::LedgerFailed);
    let directives = transition.ready().unwrap();
    assert!(killed(&directives) && alerted(&directives));
    let asked = house.transition(Event::Executor {
        case: case.clone(),
        said: Said::Request {
            step: "w".parse().unwrap(),
            phase: Phase::Snapshot,
            attempt: 1,
            present: Arc::clone(&house.configuration),
        },
    });
    assert!(!has(&asked.ready().unwrap(), |d| matches!(d, Directive::GrantPermit { .. })));
    let submission = house.submission(&write());
    let answer = house.transition(Event::Submit(Box::new(submission))).ready().unwrap();
    assert!(has(&answer, |d| matches!(d, Directive::AnswerProposer(v) if v.decision == Decision::Block)));
}

/// INV-2 as a signature: the proof for other entries releases nothing.
#[test]
fn inv_2_directives_come_out_against_their_own_proof_only() {
    let mut house = House::new(&free());
    let submission = house.submission(&write());
    let first = house.transition(Event::Submit(Box::new(submission)));
    let submission = house.submission(&write_two());
    let second = house.transition(Event::Submit(Box::new(submission)));
    let (entries, _) = first.into_parts();
    let (_, withheld) = second.ready().unwrap_err().into_parts();
    let proof = house.ledger.as_ref().unwrap().append(entries).wait().unwrap();
    assert!(withheld.release(&proof).is_err());
}

/// The sandbox stopping a step is a critical event, and the step is taken back.
#[test]
fn inv_9_a_step_that_leaves_its_sandbox_is_recorded_and_told() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    house.run(&case, "w", Phase::Snapshot);
    house.observe(&case, kept());
    house.run(&case, "w", Phase::Act);
    let seen = Observation { ending: Ending::Violation { message: "SIGSYS".to_owned() }, ..returned(json!({})) };
    assert!(alerted(&house.observe(&case, seen)));
    assert_eq!(house.records(RecordKind::Critical)[0]["violation"], "sandbox_violation");
    house.run(&case, "w", Phase::Restore);
}

/// What a step made may be removed again without asking, if the plan itself names it; what a step's output chose may not.
#[test]
fn a_compensation_is_judged_with_its_concrete_arguments() {
    let plan = |path: serde_json::Value| {
        json!({"schema": "countersign.plan/v1", "goal": "Make a folder", "steps": [
            {"id": "m", "action": "create_directory", "args": {"path": "new"},
             "rollback": {"action": "delete_directory", "args": {"path": path}}},
            {"id": "w", "action": "write_file", "args": {"path": "a.txt", "content": "x"}},
        ]})
    };
    for (path, leave) in [(json!("new"), true), (json!({"$from": "m", "at": "/path"}), false)] {
        let mut house = House::new(&free());
        let x = Person::new("user:x", 11, &[]);
        house.enroll(&[&x]);
        let (verdict, directives) = house.submit(&plan(path));
        let case = verdict.case.unwrap();
        if !has(&directives, |d| matches!(d, Directive::StartExecutor { .. })) {
            assert!(!leave, "{:#?}", verdict.reasons);
            continue;
        }
        house.verified(&case);
        house.run(&case, "m", Phase::Act);
        house.observe(&case, returned(json!({"path": "/w/sub"})));
        house.facts.paths.insert("/w/new".to_owned(), crate::house::file(50, true));
        house.run(&case, "w", Phase::Snapshot);
        house.observe(&case, Observation { ending: Ending::TimedOut, ..returned(json!({})) });
        let answer = house.request(&case, "m", Phase::Compensate);
        assert_eq!(refused(&answer).is_none(), leave, "{answer:?}");
    }
}

/// No proposal can make a record that the ledger cannot take, and so stop everybody (INV-4).
#[test]
fn inv_4_a_huge_proposal_is_a_block_and_not_a_failure() {
    let mut house = House::new(&free());
    let long = "k".repeat(900_000);
    for document in [
        json!({"schema": "countersign.plan/v1", "goal": "g", "steps": [], long.clone(): 1}),
        json!({"schema": "countersign.plan/v1", "goal": "g", "steps": [
            {"id": "w", "action": "write_file", "args": {"path": "a.txt", "content": long}}]}),
        json!({"schema": "countersign.plan/v1", "goal": "\u{202e}".repeat(200_000), "steps": []}),
    ] {
        let (verdict, _) = house.submit(&document);
        assert_eq!(verdict.decision, Decision::Block);
    }
    let submission =
        countersign_gate::event::Submission { goal: Some("\u{0}".repeat(300_000)), ..house.submission(&write()) };
    assert_eq!(house.propose(submission).0.decision, Decision::Block);
}

/// INV-9 accuses nobody falsely: a person's halt that crosses with the executor's last word is a halt, with everything standing.
/// The same word after leave to take back is a lie, and so is one that leaves out what happened.
#[test]
fn a_halt_that_crosses_with_the_last_word_is_no_violation() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    house.whole_step(&case, "w");
    let halted = house.event(Event::Halt { case: Some(case.clone()), reason: "stop it".to_owned() });
    assert!(has(&halted, |d| matches!(d, Directive::HaltExecutor { compensate: true, .. })));
    let end = house.finish(&case, true, &["w"], &[]);
    assert!(!alerted(&end), "{end:?}");
    assert_eq!(house.stage(&case), "halted");
    let closed = &house.records(RecordKind::CaseClosed)[0];
    assert_eq!((&closed["done"], &closed["standing"]), (&json!(["w"]), &json!(["w"])));
    assert_eq!(closed["why"]["code"], "run.halted");
    assert!(house.records(RecordKind::Critical).is_empty());

    for lie in ["after leave to take back", "of steps that did not run"] {
        let mut house = House::new(&free());
        let case = house.running(&write_two());
        house.whole_step(&case, "w");
        if lie.starts_with("after") {
            house.whole_step(&case, "v");
            house.event(Event::Halt { case: Some(case.clone()), reason: "stop it".to_owned() });
            house.permit(&case, "v", Phase::Restore);
        } else {
            house.event(Event::Halt { case: Some(case.clone()), reason: "stop it".to_owned() });
        }
        assert!(alerted(&house.finish(&case, true, &["w", "v"], &[])), "{lie}");
        assert_eq!(house.records(RecordKind::Critical)[0]["violation"], "report_contradicts_the_record");
    }
}

/// The record of an end says what stopped the case: code and step in clear, the words only to who watches and in sealed records.
#[test]
fn the_end_says_what_stopped_the_case() {
    let mut house = House::new(&free());
    let plan = json!({"schema": "countersign.plan/v1", "goal": "Write a file", "steps": [
        {"id": "w", "action": "write_file", "args": {"path": "a.txt", "content": "x"}, "expect": [{"output": "/bytes", "equals": 1}]},
    ]});
    let case = house.running(&plan);
    house.run(&case, "w", Phase::Snapshot);
    house.observe(&case, kept());
    house.run(&case, "w", Phase::Act);
    house.observe(&case, returned(json!({"bytes": 7, "secret": "hush"})));
    house.run(&case, "w", Phase::Restore);
    house.observe(&case, returned(json!({})));
    let end = house.finish(&case, false, &[], &["w"]);
    let told = end.iter().find_map(|d| match d {
        Directive::Notify { notice: Notice::Ended { report, .. }, .. } => Some(report["why"].clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert_eq!((&told["code"], &told["step"]), (&json!("run.mismatch"), &json!("w")));
    assert!(told["message"].as_str().unwrap().contains("found 7"), "{told}");
    let closed = &house.records(RecordKind::CaseClosed)[0];
    assert_eq!(closed["why"], json!({"code": "run.mismatch", "step": "w"}));
    assert!(house.records(RecordKind::Outcome)[1]["message"].as_str().unwrap().contains("found 7"));
}

/// What an untrusted file of the workspace would have loosened is told with each verdict, and decides nothing.
#[test]
fn keys_that_were_left_out_are_told_and_decide_nothing() {
    let mut house = House::new(&free());
    let plain = house.submit(&write()).0;
    let mut told = configuration(&free(), &deployment());
    Arc::get_mut(&mut told).unwrap().left_out = (0..20)
        .map(|place| countersign_policy::trust_base::Ignored {
            file: "/w/countersign.yaml".to_owned(),
            pointer: format!("/hosts/internal/{place}"),
            what: "nobody trusted lists this host".to_owned(),
        })
        .collect();
    house.configuration = told;
    let verdict = house.submit(&write()).0;
    assert_eq!((verdict.decision, verdict.risk), (plain.decision, plain.risk));
    let left_out: Vec<_> = verdict.reasons.iter().filter(|r| r.code == Code::PolicyLeftOut).collect();
    assert_eq!(left_out.len(), 9, "eight, and a count of the rest");
    assert!(left_out.iter().all(|reason| reason.decision == Decision::Allow));
    assert!(left_out[0].fix.as_ref().unwrap().contains("countersign trust /w/countersign.yaml"));
    assert!(left_out[8].message.starts_with("12 more"));
}

/// What ended can be shown after a restart as it could before: the latest cases are rebuilt from their records, and nothing is
/// recorded for them again.
#[test]
fn what_ended_is_still_shown_after_a_restart() {
    let mut house = House::new(&free());
    let case = house.running(&write());
    house.whole_step(&case, "w");
    house.finish(&case, true, &["w"], &[]);
    let before = house.gate.case(&case).unwrap();
    let blocked = house.submit(&json!({"schema": "countersign.plan/v1", "goal": "x", "steps": []})).0.case.unwrap();
    house.restart();
    let after = house.gate.case(&case).unwrap();
    assert_eq!((after.stage, after.plan, after.plan_digest), ("completed", before.plan, before.plan_digest));
    assert_eq!(after.verdict, before.verdict);
    assert!(house.gate.case(&blocked).is_none(), "no plan was made of it");
    assert_eq!(house.records(RecordKind::CaseClosed).len(), 2);
    assert_eq!(refused(&house.request(&case, "w", Phase::Act)), Some(Code::RunHalted));
    for _ in 0..130 {
        let case = house.running(&write());
        house.event(Event::ExecutorLost { case, reason: "gone".to_owned() });
    }
    house.restart();
    assert!(house.gate.case(&case).is_none(), "only the latest are kept");
    assert_eq!(house.records(RecordKind::CaseClosed).len(), 132);
}
