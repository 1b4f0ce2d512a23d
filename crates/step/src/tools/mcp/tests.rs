//! Calls of MCP tools; the broker here is not real, the server is a program.

use countersign_plan::observation::Ending;
use countersign_plan::tool::Driver;
use countersign_wire::egress::{Ask, Reply, ask, reply};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::tools::testing::{Fake, Heard, Scene, alone, refused};

fn result(result: &str, failed: bool) -> reply::Kind {
    reply::Kind::Result(reply::ToolResult { result: result.as_bytes().to_vec(), failed })
}

fn driver(argv: Value) -> Option<Driver> {
    Some(Driver::Mcp(serde_json::from_value(json!({"server": "s", "tool": "t", "argv": argv})).unwrap()))
}

#[test]
fn a_call_over_the_network_is_forwarded_and_its_result_is_one_record() {
    let scene = Scene::new();
    let order = scene.order("t", json!({"b": 1, "a": "x"}), driver(json!([])));
    let answered = |kind| {
        let mut fake = Fake::always(kind);
        let seen = scene.ordered(&order, &mut fake.channel);
        let ask = fake.told().asks.remove(0);
        let Some(ask::Kind::Mcp(call)) = ask.kind else { panic!() };
        assert_eq!(
            (call.arguments.as_slice(), call.stdio, call.tool.as_str()),
            (&br#"{"a":"x","b":1}"#[..], false, "t")
        );
        seen
    };
    assert_eq!(answered(result(r#"{"n": 1}"#, false)).unwrap().output, json!({"n": 1}));
    assert_eq!(answered(result("[1]", false)).unwrap().output, json!({"result": [1]}));
    let odd = answered(result("{\"a\": 1, \"a\": 2}", false)).unwrap();
    assert!(odd.ending == Ending::Returned && odd.output["result_unread"].is_string() && odd.dropped["result"] == 16);
    let failed = answered(result(r#"{"content": [{"text": "no such city"}]}"#, true)).unwrap();
    assert!(matches!(failed.ending, Ending::Failed { message } if message.contains("no such city")));
    assert!(matches!(answered(refused(true, false)), Err(Failure::Violation(_))));
    assert!(matches!(answered(refused(false, true)), Err(Failure::Unknown(_))));
    let handle = scene.order("t", json!({"a": [{"$secret": "k"}]}), driver(json!([])));
    assert!(matches!(scene.ordered(&handle, &mut Heard::default()), Err(Failure::Failed(m)) if m.contains("$secret")));
}

/// Sends a line, and takes the next line that comes back for the result.
fn talk() -> impl FnMut(&Ask) -> Vec<Reply> + Send {
    let mut heard = Vec::new();
    move |ask| {
        let reply = |kind| Reply { id: ask.id, kind: Some(kind) };
        match ask.kind.as_ref().unwrap() {
            ask::Kind::Mcp(call) if call.stdio => vec![reply(reply::Kind::Data(b"{\"q\": 1}\n".to_vec()))],
            ask::Kind::Data(bytes) => {
                heard.extend(bytes);
                let took = reply(reply::Kind::Took(bytes.len() as u64));
                if heard.ends_with(b"\n") {
                    vec![took, reply(result(std::str::from_utf8(&heard).unwrap(), false))]
                } else {
                    vec![took]
                }
            }
            ask::Kind::Shut(_) => vec![reply(refused(false, true))],
            _ => vec![],
        }
    }
}

#[test]
fn a_server_in_the_step_speaks_with_the_broker_and_dies_with_the_answer() {
    let _alone = alone();
    let scene = Scene::new();
    let program = "read line; echo \"{\\\"got\\\": $line}\"; (sleep 0.1; touch stray) & exec sleep 1000";
    let order = scene.order("t", json!({}), driver(json!(["sh", "-c", program])));
    let mut fake = Fake::new(talk());
    let seen = scene.ordered(&order, &mut fake.channel).unwrap();
    assert_eq!(seen.output, json!({"got": {"q": 1}}));
}

#[test]
fn a_server_that_ends_or_never_answers_leaves_an_unknown_outcome() {
    let _alone = alone();
    let mut scene = Scene::new();
    let run = |scene: &Scene, program: &str| {
        let order = scene.order("t", json!({}), driver(json!(["sh", "-c", program])));
        let mut fake = Fake::new(talk());
        scene.ordered(&order, &mut fake.channel)
    };
    assert!(matches!(run(&scene, "echo no >&2; exit 3"), Err(Failure::Unknown(_))));
    scene.spec.limits.wall_ms = 1500;
    let late = run(&scene, "echo stuck >&2; exec sleep 1000");
    assert!(matches!(&late, Err(Failure::Unknown(m)) if m.contains("in time") && m.contains("stuck")), "{late:?}");
    let order = scene.order("t", json!({}), driver(json!(["sh"])));
    assert!(scene.ordered(&order, &mut Heard::default()).is_err(), "no way to a broker");
}

/// A server that prints without end fills neither the socket nor the memory of its step.
#[test]
fn a_flooding_server_is_held_at_its_window() {
    let _alone = alone();
    let mut scene = Scene::new();
    scene.spec.limits.wall_ms = 1500;
    let order = scene.order("t", json!({}), driver(json!(["sh", "-c", "exec yes"])));
    let mut fake = Fake::new(|_| vec![]);
    assert!(matches!(scene.ordered(&order, &mut fake.channel), Err(Failure::Unknown(_))));
    let sent: usize =
        fake.told().asks.iter().map(|ask| if let Some(ask::Kind::Data(d)) = &ask.kind { d.len() } else { 0 }).sum();
    assert_eq!(sent, 256 << 10);
}
