//! Orders as the zygote hands them over.

use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds};
use countersign_plan::observation::{Ending, FileFact, OBSERVATION_LIMIT, Observation};
use countersign_plan::permit::Phase;
use countersign_wire::step::{Order, SnapshotOrder};
use serde_json::{Value, json};

use super::{Perform, Performed, bounded};
use crate::tools::testing::{Heard, Scene, grant};

fn order(scene: &Scene, phase: Phase, tool: &str, args: Value) -> Order {
    let (step, tool) = ("s".parse().unwrap(), tool.parse().unwrap());
    Order { step, phase, tool, args, spec: scene.spec.clone(), facts: vec![], driver: None, snapshot: None }
}

fn perform(order: &Order) -> Observation {
    match (Perform { order, launcher: None, watcher: &mut Heard::default() }).run() {
        Performed::Seen(observation) => observation,
        Performed::Unknown(message) => panic!("{message}"),
    }
}

#[test]
fn facts_are_of_the_files_after_the_step() {
    let mut scene = Scene::new();
    let (a, b) = (scene.path("a"), scene.path("b"));
    scene.write("hidden", "h");
    scene.spec.masked = vec![scene.path("hidden")];
    let mut order = order(&scene, Phase::Act, "write_file", json!({"path": a, "content": "x"}));
    order.facts = vec![a.clone(), b.clone(), scene.spec.cwd.clone(), "/etc/passwd".to_owned(), scene.path("hidden")];
    let seen = perform(&order);
    assert_eq!(seen.ending, Ending::Returned);
    assert_eq!(seen.files[&a], FileFact { exists: true, sha256: Some(Digest::of(b"x")) });
    assert_eq!(seen.files[&b], FileFact { exists: false, sha256: None });
    assert_eq!(seen.files[&scene.spec.cwd], FileFact { exists: true, sha256: None });
    assert_eq!(seen.files.len(), 3, "nothing is claimed about what the step cannot see");
}

#[test]
fn a_snapshot_is_taken_and_put_back_by_its_digest() {
    let mut scene = Scene::new();
    let path = scene.write("a", "before");
    let store = scene.outside.join("store");
    std::fs::create_dir(&store).unwrap();
    scene.spec.write.push(grant(&store));
    let mut keep = order(&scene, Phase::Snapshot, "write_file", json!({}));
    let kept = SnapshotOrder {
        targets: vec![scene.spec.cwd.clone()],
        store: store.to_str().unwrap().to_owned(),
        limit: 1000,
        index: None,
    };
    keep.snapshot = Some(kept.clone());
    let seen = perform(&keep);
    assert_eq!((seen.ending.clone(), &seen.output["bytes"]), (Ending::Returned, &json!(6)), "{seen:?}");
    let index: Digest = seen.output["index"].as_str().unwrap().parse().unwrap();
    perform(&order(&scene, Phase::Act, "write_file", json!({"path": path, "content": "after"})));
    let mut back = order(&scene, Phase::Restore, "write_file", json!({}));
    back.snapshot = Some(SnapshotOrder { index: Some(Digest::of(b"other")), ..kept.clone() });
    assert!(matches!(perform(&back).ending, Ending::Failed { .. }));
    back.snapshot = Some(SnapshotOrder { index: Some(index), ..kept.clone() });
    let seen = perform(&back);
    assert_eq!(seen.ending, Ending::Returned, "{seen:?}");
    assert_eq!(scene.content("a"), "before");
    keep.snapshot = Some(SnapshotOrder { limit: 5, ..kept });
    let Ending::Failed { message } = perform(&keep).ending else { panic!() };
    assert!(message.contains("more than 5 bytes"), "{message}");
}

#[test]
fn an_observation_reads_back_strictly() {
    let scene = Scene::new();
    let odd = scene.write("odd", "\u{0}\u{202e}\u{feff}\u{2028}\"\\ \u{7f}\u{10ffff}");
    let seen = perform(&order(&scene, Phase::Act, "read_file", json!({"path": odd})));
    let bytes = countersign_plan::canonical::of(&seen).unwrap();
    let bounds = Bounds { bytes: OBSERVATION_LIMIT, depth: 64, values: 1 << 20 };
    let back: Observation = document::typed(document::from_json(&bytes, bounds).unwrap()).unwrap();
    assert_eq!(back, seen);
}

#[test]
fn failures_are_observations() {
    let scene = Scene::new();
    let unknown = perform(&order(&scene, Phase::Act, "no_such_tool", json!({})));
    assert!(matches!(unknown.ending, Ending::Failed { message } if message.contains("no_such_tool")));
    let no_programs = perform(&order(&scene, Phase::Act, "run_program", json!({"argv": ["true"]})));
    assert!(matches!(no_programs.ending, Ending::Failed { message } if message.contains("no programs")));
    let outside = perform(&order(&scene, Phase::Act, "read_file", json!({"path": "/etc/passwd"})));
    assert!(matches!(outside.ending, Ending::Violation { .. }));
}

#[test]
fn an_observation_never_exceeds_its_bound() {
    let large = Observation {
        ending: Ending::Returned,
        output: json!({"x": "y".repeat(OBSERVATION_LIMIT)}),
        files: Default::default(),
        dropped: Default::default(),
    };
    assert!(matches!(bounded(large).ending, Ending::Failed { .. }));
}
