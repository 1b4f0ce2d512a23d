//! `check` and `run`: what is proposed, what the exit code says, and that nothing but a signature answers for a person.

use countersign_plan::verdict::Decision;
use countersign_wire::propose::to_monitor::Kind;
use countersign_wire::propose::{from_monitor, to_monitor};
use serde_json::json;

use crate::fake::{Asked, CASE, Place, Script, case, deciding, draft, judged, key, plan, plan_file, verdict, view};

fn submitted(place: &Place) -> to_monitor::Submit {
    let submits = place.asked().into_iter().filter_map(|asked| match asked {
        Asked::Propose(_, Kind::Submit(submit)) => Some(submit),
        Asked::Propose(..) | Asked::Operate(..) => None,
    });
    let mut submits: Vec<_> = submits.collect();
    assert_eq!(submits.len(), 1);
    submits.remove(0)
}

#[test]
fn check_is_one_request_on_one_connection() {
    let place = Place::with(deciding(Decision::Allow, "completed"));
    place.write("countersign.yaml", "");
    let file = plan_file(&place);
    let ran = place.run(&["check", &file, "--json", "--input", "n=3", "--agent", "agent:test"]).expect(0);
    assert_eq!(ran.json()["decision"], "allow");
    assert_eq!(place.asked().len(), 1, "no further request, no further connection");
    let submit = submitted(&place);
    assert_eq!(submit.document, draft().to_string().into_bytes(), "exact bytes");
    assert_eq!((submit.check, submit.guarded), (true, false));
    assert_eq!(submit.inputs, br#"{"n":3}"#);
    assert_eq!(submit.agent, "agent:test");
    let work = place.path("work").canonicalize().unwrap();
    assert_eq!(submit.cwd, work.to_str().unwrap());
    assert_eq!(submit.deployment, work.join("countersign.yaml").to_str().unwrap());
}

#[test]
fn the_exit_code_is_the_decision() {
    for (decision, code) in [(Decision::Allow, 0), (Decision::RequireApproval, 10), (Decision::Block, 20)] {
        let place = Place::with(deciding(decision, "completed"));
        let ran = place.run(&["check", &plan_file(&place)]).expect(code);
        assert!(ran.out().starts_with(&decision.as_str().to_uppercase()), "{}", ran.out());
    }
}

#[test]
fn what_the_monitor_refuses_never_ends_with_zero() {
    for (refusal, code) in [("plan.invalid", 2), ("internal.error", 1), ("something.new", 20)] {
        let script = Script {
            propose: Box::new(move |_| {
                let (code, message) = (refusal.to_owned(), "no\u{1b}[2J".to_owned());
                vec![from_monitor::Kind::Error(from_monitor::Error { code, message })]
            }),
            operate: Box::new(|_| Vec::new()),
        };
        let place = Place::with(script);
        let ran = place.run(&["check", &plan_file(&place), "--json"]).expect(code);
        assert_eq!(ran.json()["error"]["code"], refusal);
        assert!(ran.err().contains(r"error: no\u{1b}[2J"), "{}", ran.err());
    }
}

#[test]
fn an_answer_of_another_kind_and_a_closed_channel_are_failures() {
    let shown = view(&verdict(Decision::Allow), "running", &plan());
    let strange = Script { propose: Box::new(move |_| vec![case(&shown)]), operate: Box::new(|_| Vec::new()) };
    let place = Place::with(strange);
    place.run(&["check", &plan_file(&place)]).expect(1);

    let bad = from_monitor::Kind::Verdict(from_monitor::Verdict { verdict: br#"{"decision":"fine"}"#.to_vec() });
    let place =
        Place::with(Script { propose: Box::new(move |_| vec![bad.clone()]), operate: Box::new(|_| Vec::new()) });
    place.run(&["check", &plan_file(&place)]).expect(1);
}

#[test]
fn a_run_that_is_allowed_is_followed_to_its_end() {
    for (stage, code) in [("completed", 0), ("stopped", 20), ("halted", 20), ("denied", 20)] {
        let place = Place::with(deciding(Decision::Allow, stage));
        let ran = place.run(&["run", &plan_file(&place)]).expect(code);
        let text = ran.out();
        assert!(text.contains(&format!("{}  case {CASE}", stage.to_uppercase())), "{text}");
        assert!(text.contains(&format!("countersign audit show {CASE}")), "{text}");
        assert!(text.contains("1 layer held; missing: memory controller"), "{text}");
        assert!(text.contains(r"seen\u{1b}[2J"), "{text}");
        assert!(!text.contains('\u{1b}'), "no control character, no colour where there is no terminal");
    }
}

#[test]
fn a_run_as_json_is_one_object() {
    let place = Place::with(deciding(Decision::Allow, "completed"));
    let ran = place.run(&["run", &plan_file(&place), "--json"]).expect(0).json();
    assert_eq!(ran["verdict"]["decision"], "allow");
    assert_eq!((&ran["stage"], &ran["case"]), (&json!("completed"), &json!(CASE)));
    assert_eq!(ran["events"].as_array().unwrap().len(), 4);
    assert_eq!(ran["report"]["done"], json!(["look", "drop"]));
}

/// A planner that runs the program itself, without a terminal, cannot answer for a person (lesson 1).
#[test]
fn lesson_01_without_a_terminal_a_run_waits_and_signs_nothing() {
    let place = Place::with(deciding(Decision::RequireApproval, "completed"));
    key(&place);
    let ran = place.run(&["run", &plan_file(&place)]).expect(10);
    assert!(ran.err().contains(&format!("countersign approve {CASE}")), "{}", ran.err());
    assert!(ran.out().contains("2 steps in this order"), "the plan is shown\n{}", ran.out());
    let ran = place.run(&["run", &plan_file(&place), "--json"]).expect(10);
    assert_eq!(ran.json()["pending"], CASE);
    assert!(place.answers().is_empty());
    for words in [["run", "--yes", "x"], ["approve", "--yes", CASE], ["approve", "--force", CASE]] {
        place.run(&words).expect(2);
    }
    // A passphrase on standard input is not read unless the descriptor is named.
    let mut command = place.command(&["approve", CASE]);
    let typed = place.write("typed", &format!("{}\n", crate::fake::PASSPHRASE));
    let ran = command.stdin(std::fs::File::open(typed).unwrap()).output().unwrap();
    assert_ne!(ran.status.code(), Some(0));
    assert!(place.answers().is_empty());
}

#[test]
fn a_blocked_run_shows_why_and_watches_nothing() {
    let place = Place::with(deciding(Decision::Block, "completed"));
    place.run(&["run", &plan_file(&place)]).expect(20);
    assert!(!place.asked().iter().any(|asked| matches!(asked, Asked::Propose(_, Kind::Watch(_)))));
}

#[test]
fn a_run_never_goes_on_with_a_plan_that_was_not_judged() {
    let verdict = verdict(Decision::Allow);
    let mut altered = plan();
    let at = altered.windows(5).position(|bytes| bytes == b"a.log").unwrap();
    altered[at] = b'b';
    let shown = view(&verdict, "running", &altered);
    let script = Script {
        propose: Box::new(move |asked| match asked {
            Kind::Submit(_) => vec![judged(&verdict)],
            Kind::Show(_) | Kind::Watch(_) | Kind::Pursue(_) => vec![case(&shown)],
        }),
        operate: Box::new(|_| Vec::new()),
    };
    let place = Place::with(script);
    let ran = place.run(&["run", &plan_file(&place)]).expect(20);
    assert!(ran.err().contains("its verdict is about"), "{}", ran.err());
}

#[test]
fn a_goal_alone_says_that_it_needs_a_provider_and_a_plan_does_not() {
    let place = Place::new();
    let ran = place.run(&["run", "--goal", "tidy up"]).expect(2);
    assert!(ran.err().contains("`countersign run PLAN` needs no provider"), "{}", ran.err());
    assert!(!place.path("run/propose.sock").exists(), "no monitor was started for that");
}
