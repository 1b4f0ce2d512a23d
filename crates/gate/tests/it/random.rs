//! The whole gate with real keys under random events: whatever comes in whatever order, nothing runs that the record does not
//! allow, and nothing runs twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use countersign_gate::directive::Directive;
use countersign_gate::event::{Event, Report, Said};
use countersign_ledger::RecordKind;
use countersign_plan::id::CaseId;
use countersign_plan::permit::Phase;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::house::{House, Person, kept, returned, two_people, write, write_two};

#[derive(Debug, Clone)]
enum Move {
    Submit(bool),
    Approve(usize, usize),
    Verify(usize),
    Request(usize, &'static str, Phase),
    Follow(usize),
    Perform(usize),
    Observe(usize, bool),
    Lose(usize),
    Gone(usize),
    Finish(usize, bool),
    Halt,
    Pass(u64),
    SetBack,
    Restart,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let case = 0..3_usize;
    let phase = prop_oneof![Just(Phase::Snapshot), Just(Phase::Act), Just(Phase::Restore), Just(Phase::Compensate)];
    let one = prop_oneof![
        2 => any::<bool>().prop_map(Move::Submit),
        4 => (case.clone(), 0..4_usize).prop_map(|(case, by)| Move::Approve(case, by)),
        3 => case.clone().prop_map(Move::Verify),
        1 => (case.clone(), prop_oneof![Just("w"), Just("v"), Just("z")], phase)
            .prop_map(|(case, step, phase)| Move::Request(case, step, phase)),
        8 => case.clone().prop_map(Move::Follow),
        8 => (0..8_usize).prop_map(Move::Perform),
        8 => (case.clone(), prop::bool::weighted(0.8)).prop_map(|(case, good)| Move::Observe(case, good)),
        1 => case.clone().prop_map(Move::Lose),
        1 => case.clone().prop_map(Move::Gone),
        1 => (case, any::<bool>()).prop_map(|(case, completed)| Move::Finish(case, completed)),
        1 => Just(Move::Halt),
        1 => (1..90_u64).prop_map(Move::Pass),
        1 => Just(Move::SetBack),
        1 => Just(Move::Restart),
    ];
    prop::collection::vec(one, 1..60)
}

struct Play {
    house: House,
    people: Vec<Person>,
    cases: Vec<CaseId>,
    permits: Vec<(CaseId, Vec<u8>)>,
    /// Every attempt that really ran.
    ran: BTreeSet<(CaseId, String, &'static str)>,
    nonces: BTreeSet<String>,
    count: u32,
}

const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Snapshot => "snapshot",
        Phase::Act => "act",
        Phase::Restore => "restore",
        Phase::Compensate => "compensate",
    }
}

impl Play {
    fn new() -> Self {
        let mut house = House::new(&two_people());
        let people = vec![
            Person::new("user:x", 11, &[]),
            Person::new("user:y", 12, &[]),
            Person::new("user:r", 13, &[]),
            Person::new("agent:a", 14, &[]),
        ];
        house.enroll(&people.iter().collect::<Vec<_>>());
        Self {
            house,
            people,
            cases: Vec::new(),
            permits: Vec::new(),
            ran: BTreeSet::new(),
            nonces: BTreeSet::new(),
            count: 0,
        }
    }

    fn case(&self, place: usize) -> Option<CaseId> {
        let case = self.cases.get(place)?.clone();
        self.house.gate.case(&case).map(|_| case)
    }

    fn request(&mut self, case: &CaseId, step: &str, phase: Phase) {
        let present = Arc::clone(&self.house.configuration);
        let said = Said::Request { step: step.parse().unwrap(), phase, attempt: 1, present };
        self.event(Event::Executor { case: case.clone(), said });
    }

    fn event(&mut self, event: Event) {
        let directives = self.house.event(event);
        for directive in directives {
            match directive {
                Directive::GrantPermit { case, permit } => self.permits.push((case, permit.into_bytes())),
                Directive::RunStep(run) => self.ran(&run),
                _ => {}
            }
        }
    }

    /// What must be true of everything that runs, by the ledger alone.
    fn ran(&mut self, run: &countersign_gate::directive::RunStep) {
        let attempt = (run.case.clone(), run.order.step.to_string(), name(run.order.phase));
        assert!(self.ran.insert(attempt), "ran twice: {run:?}");
        let claims = countersign_plan::permit::VerifiedPermit::verify(
            &run.permit,
            &self.house.gate.public_key(),
            self.house.gate.epoch(),
        )
        .unwrap();
        let claims = claims.claims();
        assert!(self.nonces.insert(claims.nonce.clone()), "a permit was used twice");
        assert!(run.now < claims.expires_at && claims.case == run.case && claims.step == run.order.step);
        assert_eq!(claims.spec_digest, run.spec.digest().unwrap());
        let mine = |kind| -> Vec<serde_json::Value> {
            let mut reader = self.house.ledger.as_ref().unwrap().reader().unwrap();
            let query =
                countersign_ledger::Query { kinds: vec![kind], case: Some(run.case.clone()), ..Default::default() };
            reader
                .records(query)
                .map(|record| match record.unwrap().payload {
                    countersign_ledger::reader::Payload::Open(payload) => payload,
                    other => panic!("{other:?}"),
                })
                .collect()
        };
        assert!(mine(RecordKind::Intent).iter().any(|intent| intent["nonce"] == json!(claims.nonce)), "no intent");
        assert_eq!(mine(RecordKind::Countersignature).len(), 1);
        let by: BTreeSet<String> = mine(RecordKind::Approval).iter().map(|a| a["by"].to_string()).collect();
        assert!(by.len() >= 2, "{by:?}");
        assert!(!by.contains("\"agent:a\"") && !by.contains("\"user:r\""), "{by:?}");
        assert!(mine(RecordKind::Critical).iter().all(|c| c["violation"] == "self_approval"));
        assert!(mine(RecordKind::CaseClosed).is_empty());
    }

    fn play(&mut self, next: &Move) {
        match next {
            Move::Submit(two) => {
                if self.cases.len() < 3 {
                    let plan = if *two { write_two() } else { write() };
                    self.cases.extend(self.house.submit(&plan).0.case);
                }
            }
            Move::Approve(case, by) => {
                if let Some(case) = self.case(*case) {
                    self.count += 1;
                    let person = &self.people[*by];
                    let approval = self.house.approval(&case, person, &format!("n{}", self.count));
                    let envelope = person.sign(&approval);
                    self.event(Event::Answer(envelope));
                }
            }
            Move::Verify(case) => {
                if let Some(case) = self.case(*case) {
                    let plan_digest = self.house.gate.case(&case).unwrap().plan_digest.unwrap();
                    self.event(Event::Executor { case, said: Said::Verified { plan_digest } });
                }
            }
            Move::Request(case, step, phase) => {
                if let Some(case) = self.case(*case) {
                    self.request(&case, step, *phase);
                }
            }
            Move::Follow(case) => {
                // What an executor that follows its plan would ask next, by what ran.
                if let Some(case) = self.case(*case) {
                    let next = ["w", "v"]
                        .into_iter()
                        .flat_map(|step| [(step, Phase::Snapshot), (step, Phase::Act)])
                        .find(|(step, phase)| !self.ran.contains(&(case.clone(), (*step).to_owned(), name(*phase))));
                    if let Some((step, phase)) = next {
                        self.request(&case, step, phase);
                    }
                }
            }
            Move::Perform(back) => {
                let place = self.permits.len().checked_sub(back + 1);
                if let Some((case, permit)) = place.and_then(|place| self.permits.get(place)).cloned() {
                    self.event(Event::Executor { case, said: Said::Perform { permit } });
                }
            }
            Move::Observe(case, good) => {
                if let Some(case) = self.case(*case) {
                    let mut observation = kept();
                    observation.output["bytes"] = json!(1);
                    if !good {
                        observation = returned(json!({"exit_code": 1}));
                    }
                    self.event(Event::StepObserved { case, observation, labels: Value::Null });
                }
            }
            Move::Lose(case) => {
                if let Some(case) = self.case(*case) {
                    self.event(Event::StepLost { case, reason: "lost".to_owned() });
                }
            }
            Move::Gone(case) => {
                if let Some(case) = self.case(*case) {
                    self.event(Event::ExecutorLost { case, reason: "gone".to_owned() });
                }
            }
            Move::Finish(case, completed) => {
                if let Some(case) = self.case(*case) {
                    let report = Report { completed: *completed, done: Vec::new(), undone: Vec::new() };
                    self.event(Event::Executor { case, said: Said::Finished(report) });
                }
            }
            Move::Halt => self.event(Event::Halt { case: None, reason: "stop".to_owned() }),
            Move::Pass(seconds) => {
                let before = self.house.gate.now();
                self.house.pass(*seconds);
                assert!(self.house.gate.now() > before);
            }
            Move::SetBack => {
                let before = self.house.gate.now();
                self.house.wall -= 60_000;
                self.event(Event::Tick);
                assert!(self.house.gate.now() >= before, "gate time went back");
                assert!(self.house.gate.cases().all(|case| case.stage != "running" && case.stage != "countersigned"));
            }
            Move::Restart => {
                let mut reader = self.house.ledger.as_ref().unwrap().reader().unwrap();
                let last = reader.size().unwrap() - 1;
                let recorded = reader.record(last).unwrap().leaf.at;
                drop(reader);
                self.house.restart();
                assert!(self.house.gate.now() >= recorded, "gate time went back behind the record");
                assert!(self.house.gate.cases().all(|case| case.stage != "running" && case.stage != "countersigned"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// INV-1, INV-2, INV-6, INV-7, INV-9 on the whole gate, judged by the ledger.
    #[test]
    fn nothing_runs_that_the_record_does_not_allow(moves in moves()) {
        let mut play = Play::new();
        for next in &moves {
            play.play(next);
        }
    }
}
