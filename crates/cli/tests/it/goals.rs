//! `run --goal`: with a scripted monitor what is shown and how it ends, with the real one the whole way.

use countersign_plan::verdict::Decision;
use countersign_wire::broker::{Facts, Provider};
use countersign_wire::operator::{BrokerView, to_monitor::Kind as Operate};
use countersign_wire::propose::from_monitor::{Error, Kind as Answer, Pursued};
use countersign_wire::propose::to_monitor::{Kind, Pursue};
use countersign_wire::propose::{CaseEvent, PlannerEvent};
use serde_json::{Value, json};

use crate::fake::{Asked, CASE, Place, Script, answer, case, event, plan, verdict, view};
use crate::monitor::Real;

/// A monitor whose planner did this.
fn pursuing(events: Vec<CaseEvent>) -> Script {
    Script {
        propose: Box::new(move |asked| match asked {
            Kind::Pursue(_) => vec![Answer::Pursued(Pursued { case: CASE.to_owned() })],
            Kind::Watch(_) => events.iter().map(event).collect(),
            Kind::Show(_) => vec![case(&view(&verdict(Decision::RequireApproval), "pending", &plan()))],
            Kind::Submit(_) => Vec::new(),
        }),
        operate: Box::new(|_| vec![answer(&json!({"cases": [{"case": CASE, "stage": "countersigned"}]}))]),
    }
}

/// A monitor whose planner's only draft needs a person, runs and is answered.
pub(crate) fn asking() -> Script {
    let answered = planner(PlannerEvent::Answered { text: "It is tidy.".to_owned() });
    pursuing(vec![judged(1, Decision::RequireApproval), run_ended("completed"), answered, ended("answered")])
}

fn planner(told: PlannerEvent) -> CaseEvent {
    CaseEvent::Planner(told)
}

fn judged(draft: u32, decision: Decision) -> CaseEvent {
    let verdict = serde_json::to_value(verdict(decision)).unwrap();
    planner(PlannerEvent::Judged { draft, verdict })
}

fn ended(stage: &str) -> CaseEvent {
    CaseEvent::Ended { stage: stage.to_owned(), report: json!({"ending": stage, "detail": "the goal was answered"}) }
}

fn run_ended(stage: &str) -> CaseEvent {
    CaseEvent::RunEnded { version: 1, stage: stage.to_owned(), report: json!({"detail": stage}) }
}

fn account() -> Value {
    json!({"provider": "local", "model": "small", "outcome": "answer", "attempts": 1, "millis": 12,
        "usage": {"input_tokens": 9, "output_tokens": 7, "micro_dollars": 1500}})
}

#[test]
fn a_goal_is_followed_from_planning_to_its_answer() {
    let place = Place::with(pursuing(vec![
        planner(PlannerEvent::Started { provider: String::new(), enforcement: Value::Null }),
        planner(PlannerEvent::Thinking { bytes: 100 }),
        planner(PlannerEvent::Inferred { number: 1, account: account() }),
        planner(PlannerEvent::Loaded { groups: vec!["files".to_owned()], tools: 10 }),
        planner(PlannerEvent::Read {
            action: "read_file".to_owned(),
            args: json!({"path": "a.txt"}),
            case: "c-2".to_owned(),
            outcome: "done".to_owned(),
        }),
        judged(1, Decision::Allow),
        run_ended("completed"),
        planner(PlannerEvent::Answering),
        planner(PlannerEvent::Answered { text: "There are four.\u{1b}[2J".to_owned() }),
        ended("answered"),
    ]));
    let words = ["run", "--goal", "Count them", "--input", "n=3", "--provider", "local"];
    let told = place.run(&words).expect(0).out();
    for wanted in [
        "answer 1 of small: 7 tokens in 12 ms, 0.001500 $",
        "tools loaded: files (10 visible)",
        "read by read_file {\"path\":\"a.txt\"}: done",
        "draft 1 judged: allow",
        "version 1 completed",
        "There are four.\\u{1b}[2J",
        "untrusted",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let pursued = place.asked().into_iter().find_map(|asked| match asked {
        Asked::Propose(_, Kind::Pursue(pursue)) => Some(pursue),
        Asked::Propose(..) | Asked::Operate(..) => None,
    });
    let Pursue { goal, inputs, provider, .. } = pursued.unwrap();
    assert_eq!((goal.as_str(), inputs.as_slice(), provider.as_str()), ("Count them", &br#"{"n":3}"#[..], "local"));

    let ran = place.run(&["run", "--goal", "Count them", "--json"]).expect(0).json();
    assert_eq!((&ran["stage"], &ran["case"]), (&json!("answered"), &json!(CASE)));
    assert!(ran["answer"].as_str().unwrap().starts_with("There are four."));
    assert_eq!(ran["events"].as_array().unwrap().len(), 9, "progress is not kept");
}

#[test]
fn an_answer_after_a_run_that_stopped_is_no_success() {
    let answered = planner(PlannerEvent::Answered { text: "It could not be done.".to_owned() });
    let place = Place::with(pursuing(vec![run_ended("stopped"), answered, ended("answered")]));
    place.run(&["run", "--goal", "Mend it"]).expect(20);
    let gave_up = planner(PlannerEvent::GaveUp { reason: "there is no such file".to_owned() });
    let place = Place::with(pursuing(vec![gave_up, ended("abandoned")]));
    let told = place.run(&["run", "--goal", "Mend it"]).expect(20).out();
    assert!(told.contains("there is no such file"), "{told}");
    let place = Place::with(pursuing(vec![ended("halted")]));
    place.run(&["run", "--goal", "Mend it"]).expect(20);
}

#[test]
fn a_draft_that_needs_people_is_shown_whole_and_left_to_them_where_no_terminal_is() {
    let place = Place::with(pursuing(vec![judged(1, Decision::RequireApproval), ended("answered")]));
    let ran = place.run(&["run", "--goal", "Tidy up"]).expect(10);
    assert!(ran.out().contains("delete_file") && ran.out().contains("/srv/a.log"), "{}", ran.out());
    assert!(ran.err().contains(&format!("countersign approve {CASE}")), "{}", ran.err());
    let ran = place.run(&["run", "--goal", "Tidy up", "--json"]).expect(10).json();
    assert_eq!((&ran["pending"], &ran["verdict"]["decision"]), (&json!(CASE), &json!("require_approval")));
    assert!(place.answers().is_empty(), "nothing was signed");
}

#[test]
fn without_a_provider_it_is_said_how_to_configure_one_and_that_plans_need_none() {
    let script = Script {
        propose: Box::new(|_| {
            let message = "no model provider is configured: there is no broker.yaml".to_owned();
            vec![Answer::Error(Error { code: "provider.not_configured".to_owned(), message })]
        }),
        operate: Box::new(|_| Vec::new()),
    };
    let place = Place::with(script);
    let told = place.run(&["run", "--goal", "Mend it"]).expect(2).err();
    for wanted in ["countersign.broker/v1", "providers:", "broker.yaml", "`countersign run PLAN` needs no provider"] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let ran = place.run(&["run", "--goal", "Mend it", "--json"]).expect(2).json();
    assert_eq!(ran["error"]["code"], "provider.not_configured");
    place.run(&["run"]).expect(2);
    place.run(&["run", "--provider", "local"]).expect(2);
}

#[test]
fn pinned_tools_are_a_manifest_that_believes_no_server() {
    let view = BrokerView {
        file: "/c/broker.yaml".to_owned(),
        configured: true,
        facts: Facts::default(),
        error: String::new(),
    };
    let view = serde_json::to_value(view).unwrap();
    let script = Script {
        propose: Box::new(|_| Vec::new()),
        operate: Box::new(move |asked| match asked {
            Operate::Broker(_) => vec![answer(&view)],
            Operate::Describe(describe) if describe.server == "tickets" => vec![answer(&json!([{
                "name": "close", "description": "Closes a ticket.",
                "input_schema": {"type": "object", "properties": {"id": {"type": "string"}}},
                "digest": format!("sha256:{}", "ab".repeat(32)),
            }]))],
            _ => Vec::new(),
        }),
    };
    let place = Place::with(script);
    let ran = place.run(&["tools", "pin", "tickets"]).expect(0);
    place.write("tickets.tools.yaml", &ran.out());
    let shown = place.run(&["tools", "show", "tickets_close", "--manifest", "tickets.tools.yaml", "--json"]).expect(0);
    assert_eq!(shown.json()["definition"]["effect"], "admin");
}

#[test]
fn doctor_names_what_the_broker_can_reach() {
    let provider = Provider {
        name: "local".to_owned(),
        kind: "openai".to_owned(),
        model: "small".to_owned(),
        host: "127.0.0.1:8000".to_owned(),
        clearance: "confidential".to_owned(),
        max_context: 0,
    };
    let view = BrokerView {
        file: "/c/broker.yaml".to_owned(),
        configured: true,
        facts: Facts { providers: vec![provider], ..Facts::default() },
        error: String::new(),
    };
    let view = serde_json::to_value(view).unwrap();
    let script = Script {
        propose: Box::new(|_| Vec::new()),
        operate: Box::new(
            move |asked| if matches!(asked, Operate::Broker(_)) { vec![answer(&view)] } else { Vec::new() },
        ),
    };
    let place = Place::with(script);
    let told = place.run(&["doctor"]).out();
    assert!(told.contains("local: openai small at 127.0.0.1:8000"), "{told}");
    assert_eq!(place.run(&["doctor", "--json"]).json()["broker"]["facts"]["providers"][0]["name"], "local");
}

fn scripted(answers: &Value, more: &str) -> Place {
    let place = Place::new();
    let script = place.path("config/script.json");
    std::fs::write(&script, json!({"schema": "countersign.script/v1", "answers": answers}).to_string()).unwrap();
    let broker = format!(
        "schema: countersign.broker/v1\nproviders:\n  script: {{kind: scripted, script: '{}', clearance: internal}}\n{more}",
        script.display()
    );
    std::fs::write(place.path("config/broker.yaml"), broker).unwrap();
    place
}

fn propose(steps: Value) -> Value {
    json!({"json": {"turn": {"propose": {"plan": {"steps": steps}}}}})
}

#[test]
fn a_goal_is_planned_approved_run_answered_and_on_record() {
    let place = scripted(
        &json!([
            {"json": {"turn": {"load_tools": {"groups": ["files"]}}}},
            propose(json!([{"id": "drop", "action": "delete_file", "args": {"path": "old.txt"}, "rollback": "none", "irreversible": true}])),
            {"text": "old.txt is gone."},
        ]),
        "",
    );
    let real = Real::start_in(place, &[]);
    let place = &real.0;
    place.write("old.txt", "x");
    let ran = place.run(&["run", "--goal", "Delete old.txt", "--json"]).expect(10).json();
    let case = ran["pending"].as_str().unwrap().to_owned();
    assert!(place.path("work/old.txt").exists(), "nothing happens before the approval");
    let told = real.approved(&case);
    assert_eq!(told["stage"], "answered", "{told}");
    assert!(!place.path("work/old.txt").exists());
    let shown = place.run(&["show", &case]).expect(0).out();
    for wanted in ["goal “Delete old.txt”", "version 1 require_approval", "drop act held", "“ old.txt is gone."] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    place.run(&["audit", "export", "--output", "all.jsonl", "--payloads"]).expect(0);
    place.run(&["audit", "verify", "all.jsonl"]).expect(0);
}

/// `lesson_03`: of the environment only what the broker's configuration names goes on, by descriptor, and into no process's
/// environment.
#[test]
fn lesson_03_named_variables_reach_the_broker_and_no_environment() {
    let answers = json!([{"json": {"turn": {"give_up": {"reason": "no"}}}}]);
    let more = "secrets:\n  token: {from: {env: COUNTERSIGN_TEST_TOKEN}}\n";
    let variables = [("COUNTERSIGN_TEST_TOKEN", "very-secret-4711"), ("COUNTERSIGN_TEST_OTHER", "not-named-4712")];
    let real = Real::start_in(scripted(&answers, more), &variables);
    let place = &real.0;
    let told = place.run(&["doctor"]).out();
    assert!(told.contains("token (names only)") && !told.contains("very-secret"), "{told}");
    place.run(&["run", "--goal", "Nothing"]).expect(20);
    let status = place.run(&["status", "--json"]).expect(0).json();
    let monitor = u32::try_from(status["pid"].as_u64().unwrap()).unwrap();
    let mut looked_at = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if pid != monitor && parent != Some(monitor) {
            continue;
        }
        // Its own user cannot read it of a process that forbids that; root can, and finds nothing.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        looked_at += 1;
        assert_eq!(String::from_utf8_lossy(&environment), "", "process {pid}");
    }
    assert!(looked_at > 0 || !rustix::process::geteuid().is_root());
    let log = std::fs::read_to_string(place.path("state/countersignd.log")).unwrap_or_default();
    assert!(!log.contains("4711") && !log.contains("4712"), "{log}");
}
