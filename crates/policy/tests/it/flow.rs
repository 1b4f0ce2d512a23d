//! Information flow over random plans: open data decides nothing, labels only rise, and the checker reads every proof again.

use countersign_plan::draft::Draft;
use countersign_plan::resolve::{Inputs, Outputs, resolve};
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Code, Decision};
use countersign_policy::flow::{
    Carries, Crossings, Label, Level, Proof, Readers, Session, Setting, Terms, Verdict, check,
};
use countersign_policy::review::{Review, review};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Who, World};

static NONE: std::sync::LazyLock<Crossings> = std::sync::LazyLock::new(Crossings::default);

const GOAL: &str = "Look at T-1 and mail tom@company.example about it";

/// A manifest of random tools: three that read, with fields of random trust, and two that act.
fn tools(trusts: &[usize], secrecies: &[usize]) -> Value {
    let trust = |i: usize| ["open", "party", "user", "system"][trusts[i % trusts.len()] % 4];
    let secrecy = |i: usize| ["public", "internal", "confidential", "args"][secrecies[i % secrecies.len()] % 4];
    let field = |name: &str, i: usize| json!({"at": format!("/{name}"), "trust": trust(i), "secrecy": secrecy(i)});
    let args = |names: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "additionalProperties": false, "properties": properties})
    };
    let mut tools: Vec<Value> = (0..3)
        .map(|t| {
            json!({
                "name": format!("look_{t}"), "description": "Reads.", "args": args(&["id"]), "effect": "read",
                "reversibility": "pure", "target": {"kind": "record"}, "controls": [], "carries": [],
                "output": {"trust": "open", "secrecy": "internal", "fields": [field("a", 3 * t), field("b", 3 * t + 1), field("c", 3 * t + 2)]},
                "driver": "none",
            })
        })
        .collect();
    tools.push(json!({
        "name": "tell", "description": "Sends.", "args": args(&["to", "body"]), "effect": "send",
        "reversibility": "irreversible", "target": {"kind": "email", "arg": "/to"}, "controls": ["/to"], "carries": ["/body"],
        "output": {"trust": "system", "secrecy": "args"}, "driver": "none",
    }));
    tools.push(json!({
        "name": "note", "description": "Changes a record.", "args": args(&["id", "text"]), "effect": "update",
        "reversibility": "compensable", "target": {"kind": "record", "arg": "/id"}, "controls": ["/id"], "carries": ["/text"],
        "output": {"trust": "system", "secrecy": "internal"}, "driver": "none",
    }));
    json!({"schema": "countersign.tools/v1", "tools": tools})
}

#[derive(Debug, Clone)]
struct Pick {
    tool: usize,
    /// For each argument: a literal, a reference or a joined value.
    args: Vec<(usize, usize, usize)>,
}

fn plan(picks: &[Pick]) -> Draft {
    let names = ["look_0", "look_1", "look_2", "tell", "note"];
    let literals = ["tom@company.example", "T-1", "eve@evil.example", "T-9"];
    let steps: Vec<Value> = picks
        .iter()
        .enumerate()
        .map(|(i, pick)| {
            let value = |(form, step, field): (usize, usize, usize)| {
                let from =
                    json!({"$from": format!("s{}", step % i.max(1)), "at": format!("/{}", ["a", "b", "c"][field % 3])});
                match form % 4 {
                    _ if i == 0 => json!(literals[field % 4]),
                    0 => json!(literals[field % 4]),
                    1 => json!({"$join": ["x", from]}),
                    _ => from,
                }
            };
            let arg = |n: usize| value(*pick.args.get(n).unwrap_or(&(0, 0, 0)));
            let args = match pick.tool % 5 {
                3 => json!({"to": arg(0), "body": arg(1)}),
                4 => json!({"id": arg(0), "text": arg(1)}),
                _ => json!({"id": arg(0)}),
            };
            json!({"id": format!("s{i}"), "action": names[pick.tool % 5], "args": args})
        })
        .collect();
    Draft::from_value(json!({"schema": "countersign.plan/v1", "goal": GOAL, "steps": steps})).unwrap()
}

fn world(trusts: &[usize], secrecies: &[usize]) -> World {
    let mut world = World::new();
    let mut manifest = Manifest::builtin().unwrap();
    manifest.load(tools(trusts, secrecies).to_string().as_bytes()).unwrap();
    world.manifest = manifest;
    world
}

fn judged(world: &World, draft: &Draft, planner: Level, session: &Session) -> Review {
    let who = Who::user();
    let request = countersign_policy::review::Request { planner, session, ..world.request(draft, Some(GOAL), &who) };
    review(&request)
}

/// Runs the plan over invented outputs. `open` is what everybody may write; all other fields answer the same in every run.
fn control_values(world: &World, draft: &Draft, proof: &Proof, open: &str) -> Vec<(String, Value)> {
    let mut outputs = Outputs::new();
    let mut seen = Vec::new();
    for (i, step) in draft.steps().iter().enumerate() {
        let definition = world.manifest.get(&step.action).unwrap().definition();
        let args = resolve(&step.args, &outputs, &Inputs::new()).unwrap();
        let sink = proof.sinks.iter().find(|sink| sink.step == step.id);
        if definition.effect.is_harmless() {
            let mut output = json!({"a": "", "b": "", "c": ""});
            for field in &definition.output.fields {
                let name = field.at.segments()[0].clone();
                let trusted = Level::declared(field.trust).is_some_and(|level| level >= Level::User);
                output[&name] = json!(if trusted { format!("fixed-{i}-{name}") } else { format!("{open}-{i}-{name}") });
            }
            outputs.insert(step.id.clone(), output);
            continue;
        }
        outputs.insert(step.id.clone(), json!({"a": format!("done-{i}"), "b": "", "c": ""}));
        if sink.is_some_and(|sink| sink.verdict == Verdict::Proved) {
            for at in &definition.controls {
                seen.push((format!("{}{at}", step.id), at.get(&args).cloned().unwrap_or_default()));
            }
        }
    }
    seen
}

fn terms<'a>(world: &'a World, draft: &'a Draft, review: &'a Review) -> Terms<'a> {
    Terms {
        draft,
        manifest: &world.manifest,
        deployment: &world.deployment,
        session: Session::empty(),
        inputs: &world.inputs,
        goal: Some(GOAL),
        planner: Level::Open,
        crossings: &NONE,
        steps: &review.steps,
    }
}

fn picks() -> impl Strategy<Value = Vec<Pick>> {
    let pick = (0_usize..5, prop::collection::vec((0_usize..4, 0_usize..8, 0_usize..4), 2));
    prop::collection::vec(pick.prop_map(|(tool, args)| Pick { tool, args }), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two runs that differ only in open data perform what is proved with the same control arguments.
    #[test]
    fn open_data_decides_nothing_that_is_proved(picks in picks(), trusts in prop::collection::vec(0_usize..4, 9), secrecies in prop::collection::vec(0_usize..4, 9)) {
        let world = world(&trusts, &secrecies);
        let draft = plan(&picks);
        let review = judged(&world, &draft, Level::Open, Session::empty());
        let proof = review.proof.as_ref().unwrap();
        prop_assert!(review.reasons.iter().all(|reason| reason.code != Code::InternalError), "{:?}", review.reasons);
        let one = control_values(&world, &draft, proof, "honest");
        prop_assert_eq!(one, control_values(&world, &draft, proof, "forged"));
        // What is not proved is asked about or blocked.
        prop_assert!(proof.verdict() == Verdict::Proved || review.decision != Decision::Allow);
    }

    /// Less trusted tools, a less trusted planner and more that was seen never make a label better.
    #[test]
    fn the_pass_is_monotone(picks in picks(), trusts in prop::collection::vec(0_usize..4, 9), secrecies in prop::collection::vec(0_usize..3, 9), lower in 0_usize..9) {
        let draft = plan(&picks);
        let labels = |world: &World, planner, session: &Session| -> Vec<(String, Label)> {
            let review = judged(world, &draft, planner, session);
            review.proof.unwrap().nodes.iter().map(|node| (node.name.clone(), node.label)).collect()
        };
        let base = labels(&world(&trusts, &secrecies), Level::Open, Session::empty());
        let mut less = trusts.clone();
        less[lower] = 0;
        let mut more = secrecies.clone();
        more[lower] = 2;
        let mut session = Session::empty().clone();
        let seen = world(&trusts, &secrecies);
        let setting = Setting { manifest: &seen.manifest, deployment: &seen.deployment, planner: Level::Open };
        session.observe(&setting, &"read_file".parse().unwrap(), &json!({"path": "notes.txt"}), &json!({"content": "hello"}));
        for worse in [
            labels(&world(&less, &secrecies), Level::Open, Session::empty()),
            labels(&world(&trusts, &more), Level::Open, Session::empty()),
            labels(&world(&trusts, &secrecies), Level::Open, &session),
        ] {
            prop_assert_eq!(base.len(), worse.len());
            for ((name, better), (_, worse)) in base.iter().zip(&worse) {
                prop_assert!(better.below(*worse), "{} {:?} {:?}", name, better, worse);
            }
        }
    }

    /// A proof with one edge, label or sink changed is refused.
    #[test]
    fn the_checker_refuses_every_mutation(picks in picks(), trusts in prop::collection::vec(0_usize..4, 9), secrecies in prop::collection::vec(0_usize..4, 9)) {
        let world = world(&trusts, &secrecies);
        let draft = plan(&picks);
        let review = judged(&world, &draft, Level::Open, Session::empty());
        let proof = review.proof.clone().unwrap();
        let terms = terms(&world, &draft, &review);
        prop_assert_eq!(check(&terms, &proof), Ok(()));
        for n in 0..proof.nodes.len() {
            for e in 0..proof.nodes[n].from.len() {
                let mut cut = proof.clone();
                cut.nodes[n].from.remove(e);
                prop_assert!(check(&terms, &cut).is_err(), "cut {} {}", n, e);
                let mut turned = proof.clone();
                let edge = &mut turned.nodes[n].from[e];
                edge.carries = if edge.carries == Carries::Trust { Carries::Secrecy } else { Carries::Trust };
                prop_assert!(check(&terms, &turned).is_err(), "turned {} {}", n, e);
                let mut moved = proof.clone();
                moved.nodes[n].from[e].node = (proof.nodes[n].from[e].node + 1) % proof.nodes.len();
                prop_assert!(check(&terms, &moved).is_err(), "moved {} {}", n, e);
            }
            let mut twice = proof.clone();
            if let Some(edge) = proof.nodes[n].from.first() {
                twice.nodes[n].from.push(*edge);
                prop_assert!(check(&terms, &twice).is_err(), "twice {}", n);
            }
            let mut better = proof.clone();
            better.nodes[n].label = Label::BOTTOM;
            better.nodes[n].base = Label::BOTTOM;
            let same = proof.nodes[n].base == Label::BOTTOM && proof.nodes[n].label == Label::BOTTOM;
            prop_assert!(same || check(&terms, &better).is_err(), "better {}", n);
        }
        for (s, sink) in proof.sinks.iter().enumerate() {
            if sink.verdict != Verdict::Proved {
                let mut proved = proof.clone();
                proved.sinks[s].verdict = Verdict::Proved;
                prop_assert!(check(&terms, &proved).is_err(), "proved {}", s);
            }
            let mut gone = proof.clone();
            gone.sinks.remove(s);
            prop_assert!(sink.decides.is_empty() || check(&terms, &gone).is_err(), "gone {}", s);
        }
    }
}

#[test]
fn labels_outlive_a_plan_until_they_are_overwritten() {
    let world = World::new();
    let setting = Setting { manifest: &world.manifest, deployment: &world.deployment, planner: Level::Open };
    let kind = countersign_plan::tool::TargetKind::Memory;
    let mut session = Session::empty().clone();
    let secret = Label { level: Level::Open, readers: Readers::NOBODY };
    session.write(kind, "a", secret, false);
    session.write(kind, "a", Label::BOTTOM, false);
    assert_eq!(session.kept(kind, "a"), Some(secret), "a write joins");
    session.write(kind, "a", Label::BOTTOM, true);
    assert_eq!(session.kept(kind, "a"), Some(Label::BOTTOM), "an overwrite replaces");
    session.observe(&setting, &"nothing_like_it".parse().unwrap(), &json!({}), &json!({}));
    assert_eq!(session.seen(), Label::TOP, "what is not known is the worst");
}

/// Found by attacks of our own: a folder that was copied as a whole, and a copy that an earlier plan made.
#[test]
fn a_copy_carries_its_label_through_folders_and_plans() {
    let world = World::new();
    let steps = |steps: Value| {
        let goal = "Send the sheet to ap@partner.example";
        Draft::from_value(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps})).unwrap()
    };
    let mail = |from: &str| json!({"id": "m", "action": "send_email", "args": {"to": "ap@partner.example", "subject": "x", "body": {"$from": from, "at": "/content"}}});
    let read = |path: &str| json!({"id": "r", "action": "read_file", "args": {"path": path}});
    let who = Who::user();
    let decide = |draft: &Draft, session: &Session| {
        let request = world.request(draft, Some(draft.goal()), &who);
        let review = review(&countersign_policy::review::Request { session, planner: Level::Open, ..request });
        review.reasons.iter().any(|reason| reason.code == Code::FlowClearance)
    };
    let copy = json!({"id": "c", "action": "copy_file", "args": {"source": "payroll", "destination": "copies"}});
    assert!(decide(&steps(json!([copy, read("copies/may.csv"), mail("r")])), Session::empty()), "through a folder");
    let setting = Setting { manifest: &world.manifest, deployment: &world.deployment, planner: Level::Open };
    let mut session = Session::empty().clone();
    assert!(!decide(&steps(json!([read("note.txt"), mail("r")])), &session), "an ordinary file goes");
    let args = json!({"source": "payroll/may.csv", "destination": "note.txt"});
    session.observe(&setting, &"copy_file".parse().unwrap(), &args, &json!({"path": "note.txt"}));
    assert!(decide(&steps(json!([read("note.txt"), mail("r")])), &session), "through an earlier plan");
}

/// Found by the example's first attack: a program that may write a folder does not make what is secret in it less so.
#[test]
fn a_program_that_writes_a_folder_takes_nothing_off_what_lies_in_it() {
    let world = World::new();
    let goal = "Send the note to ap@partner.example";
    let decide = |path: &str, session: &Session| {
        let steps = json!([
            {"id": "r", "action": "read_file", "args": {"path": path}},
            {"id": "m", "action": "send_email", "args": {"to": "ap@partner.example", "subject": "x", "body": {"$from": "r", "at": "/content"}}},
        ]);
        let draft = Draft::from_value(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps})).unwrap();
        let who = Who::user();
        let request = world.request(&draft, Some(goal), &who);
        review(&countersign_policy::review::Request { session, planner: Level::Open, ..request }).decision
    };
    let folder = countersign_plan::tool::TargetKind::Directory;
    let mut session = Session::empty().clone();
    session.write(folder, &world.deployment.workspace()[0], Label::BOTTOM, false);
    for path in ["app/.env", "payroll/may.csv"] {
        let before = decide(path, Session::empty());
        assert_ne!(before, Decision::Allow);
        assert_eq!(decide(path, &session), before, "{path}");
    }
}

/// Who proposes can write whatever goal confirms it.
#[test]
fn only_a_goal_that_was_given_apart_from_the_plan_confirms_beforehand() {
    let world = World::new();
    let goal = "Create the event Review with ann@company.example";
    let steps =
        json!([{"id": "a", "action": "create_event", "args": {"to": "ann@company.example", "subject": "Review"}}]);
    let draft = Draft::from_value(json!({"schema": "countersign.plan/v1", "goal": goal, "steps": steps})).unwrap();
    let who = Who::user();
    let judged = |authentic| {
        let request = world.request(&draft, Some(goal), &who);
        review(&countersign_policy::review::Request { authentic, planner: Level::Open, ..request })
    };
    let confirmed = |review: &Review| review.reasons.iter().any(|reason| reason.code == Code::FlowConfirmed);
    assert!(confirmed(&judged(true)), "{:#?}", judged(true).reasons);
    assert!(!confirmed(&judged(false)));
    assert_eq!(judged(false).decision, Decision::RequireApproval);
}
