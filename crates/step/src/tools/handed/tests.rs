//! What a program is handed, and that nobody else hears of the secrets in it.

use std::path::Path;

use countersign_plan::observation::Ending;
use countersign_plan::tool::Driver;
use countersign_secret::handover::seal;
use countersign_wire::egress::{Ask, Reply, ask, reply};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::tools::Seen;
use crate::tools::testing::{Fake, Scene, Told, alone, refused};

const VALUE: &str = "hunter2-\u{e9}-0123456789";

/// A broker that reveals whatever it is asked for.
fn revealing(ask: &Ask) -> Vec<Reply> {
    let Some(ask::Kind::Reveal(wanted)) = &ask.kind else { panic!("{ask:?}") };
    let value = if wanted.name == "other" { "another-0123456789" } else { VALUE };
    let sealed = seal(&wanted.key, &wanted.name, value.as_bytes()).unwrap();
    vec![Reply { id: ask.id, kind: Some(reply::Kind::Revealed(sealed)) }]
}

fn command(line: &str, more: Value) -> Driver {
    let mut driver = json!({"argv": ["sh", "-c", line]});
    driver.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(json!({ "command": driver })).unwrap()
}

fn run(scene: &Scene, driver: Driver, args: Value, mut fake: Fake) -> (Result<Seen, Failure>, Told) {
    let order = scene.order("t", args, Some(driver));
    let seen = scene.ordered(&order, &mut fake.channel);
    (seen, fake.told())
}

/// INV-10.
#[test]
fn a_value_reaches_the_program_and_nobody_who_hears_it_speak() {
    let _alone = alone();
    let scene = Scene::new();
    let line = "printf '%s|' \"$K\" \"$PLAIN\" \"${ABSENT-none}\"; cat; stat -c %a \"$F\"; cat \"$F\"; printf %s \"$K\" | base64; \
                printf '%s ' \"$F\"; test \"$K\" = \"$(cat \"$F\")\" && echo same; echo \"$K\" >&2";
    let handed = json!({
        "env": {"K": {"arg": "/key"}, "PLAIN": {"arg": "/n"}, "ABSENT": {"arg": "/absent"}},
        "stdin": {"secret": "other"}, "files": {"F": {"arg": "/key"}},
    });
    let args = json!({"key": {"$secret": "token"}, "n": 3});
    let (seen, told) = run(&scene, command(line, handed), args, Fake::new(revealing));
    let seen = seen.unwrap();
    let said = seen.output.to_string();
    assert!(said.contains("same") && said.contains("400") && said.contains("|3|none|"), "{said}");
    assert!(said.contains("[secret token]") && said.contains("[secret other]"), "{said}");
    assert!(!said.contains("hunter2") && !said.contains("another-"), "{said}");
    let stdout = seen.output["stdout"].as_str().unwrap();
    let file = stdout.split_whitespace().find(|word| word.starts_with("/tmp/handed-")).unwrap();
    assert!(!Path::new(file).exists(), "{file} ends with the program");
    let asked: Vec<&str> = told
        .asks
        .iter()
        .map(|ask| match &ask.kind {
            Some(ask::Kind::Reveal(wanted)) => wanted.name.as_str(),
            _ => panic!("{ask:?}"),
        })
        .collect();
    assert_eq!(asked, ["token", "other"], "each is asked for once");
    let watched = String::from_utf8(told.output).unwrap();
    assert!(
        watched.starts_with("countersign: ") && !watched.contains("hunter2") && !watched.contains("same"),
        "{watched}"
    );
}

/// INV-10: neither the bound of an output nor the end of a program's time shows a half of a value.
#[test]
fn no_half_of_a_value_is_shown_at_a_cut() {
    let _alone = alone();
    let mut scene = Scene::new();
    let handed = json!({"env": {"K": {"secret": "token"}}});
    for kept in [500, 505, 510, 515] {
        scene.spec.limits.output_bytes = kept;
        let line = "head -c 495 /dev/zero | tr '\\0' x; printf %s \"$K\"; head -c 100 /dev/zero | tr '\\0' x";
        let (seen, _) = run(&scene, command(line, handed.clone()), json!({}), Fake::new(revealing));
        let seen = seen.unwrap();
        let stdout = seen.output["stdout"].as_str().unwrap();
        assert!(stdout.bytes().all(|byte| byte == b'x') && stdout.len() > 100, "{kept}: {stdout}");
        assert_eq!(stdout.len() as u64 + seen.dropped["stdout"], 595 + VALUE.len() as u64, "{kept}");
    }
    scene.spec.limits.output_bytes = 1000;
    scene.spec.limits.wall_ms = 1500;
    let line = "printf 'begin %0200d' 1; printf %s \"$K\" | head -c 8; exec sleep 1000";
    let (seen, _) = run(&scene, command(line, handed), json!({}), Fake::new(revealing));
    let seen = seen.unwrap();
    assert_eq!(seen.ending, Ending::TimedOut);
    assert!(!seen.output.to_string().contains("hunt"), "{:?}", seen.output);
}

#[test]
fn what_cannot_be_handed_over_starts_no_program() {
    let _alone = alone();
    let scene = Scene::new();
    let trace = scene.path("trace");
    let line = format!("touch {trace}");
    let handle = json!({"$secret": "token"});
    let other = |ask: &Ask| {
        let Some(ask::Kind::Reveal(wanted)) = &ask.kind else { panic!("{ask:?}") };
        let sealed = seal(&wanted.key, "another", VALUE.as_bytes()).unwrap();
        vec![Reply { id: ask.id, kind: Some(reply::Kind::Revealed(sealed)) }]
    };
    let by_env = json!({"env": {"K": {"arg": "/key"}}});
    let attempts: [(&str, Value, Value, Fake); 5] = [
        ("not granted", by_env.clone(), json!({"key": handle}), Fake::always(refused(true, false))),
        ("sealed to something else", by_env.clone(), json!({"key": handle}), Fake::new(other)),
        ("not sealed", by_env.clone(), json!({"key": handle}), Fake::always(reply::Kind::Revealed(vec![0; 80]))),
        ("a handle inside", by_env.clone(), json!({"key": [handle]}), Fake::new(revealing)),
        ("another kind of value", by_env, json!({"key": {"a": 1}}), Fake::new(revealing)),
    ];
    for (attempt, handed, args, fake) in attempts {
        let (seen, _) = run(&scene, command(&line, handed), args, fake);
        let failure = seen.unwrap_err();
        assert_eq!(matches!(failure, Failure::Violation(_)), attempt == "not granted", "{attempt}: {failure}");
        assert!(!failure.to_string().contains("hunter2"), "{attempt}: {failure}");
        assert!(!Path::new(&trace).exists(), "{attempt}");
    }
}
