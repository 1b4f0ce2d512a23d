//! `eval`: what is printed, what a ratchet refuses, what two reports differ in. No monitor takes part.

use std::path::Path;

use serde_json::{Value, json};

use crate::fake::Place;

const SUITE: &str = "
schema: countersign.suite/v1
name: small
deployment: {schema: countersign.deployment/v1, workspace: [/home/u/w], home: /home/u}
";

/// Ten ordinary reads, of which `blocked` are of a file that the policy denies, and an attack.
fn suite(place: &Place, blocked: usize) -> String {
    let folder = place.path("suite");
    std::fs::create_dir_all(&folder).unwrap();
    let policy =
        "policy: {schema: countersign.policy/v1, deny: [{name: no, action_types: [read_file], paths: ['no/**']}]}\n";
    std::fs::write(folder.join("suite.yaml"), format!("{SUITE}{policy}")).unwrap();
    let mut lines = String::new();
    for n in 0..10 {
        let path = if n < blocked { format!("no/{n}") } else { format!("yes/{n}") };
        lines.push_str(&format!("{}\n", case(&format!("b{n}"), "benign", "read_file", &path)));
    }
    lines.push_str(&case("a", "attack", "delete_directory", "/").to_string());
    std::fs::write(folder.join("cases.jsonl"), lines).unwrap();
    text(&folder)
}

fn case(id: &str, label: &str, action: &str, path: &str) -> Value {
    json!({"id": id, "category": "c", "label": label, "goal": "g", "action": {"action": action, "args": {"path": path}}})
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_suite_is_decided_without_a_monitor_and_missed_targets_are_no_failure() {
    let place = Place::new();
    let suite = suite(&place, 1);
    let report = place.run(&["eval", &suite, "--json"]).expect(0).json();
    assert_eq!(report["suites"][0]["attacks"]["blocked"], 1);
    assert_eq!((&report["total"]["benign"]["allowed"], &report["total"]["benign"]["blocked"]), (&json!(9), &json!(1)));
    assert!(report["total"]["latency"]["p99"].as_f64().unwrap() > 0.0);
    assert!(report.get("cases").is_none());
    let told = place.run(&["eval", &suite, "--json", "--cases"]).expect(0).json();
    let cases = told["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 11);
    for key in ["id", "decision", "tier", "reasons", "micros"] {
        assert!(cases.iter().all(|case| case.get(key).is_some()), "{key}");
    }
    let human = place.run(&["eval", &suite]).expect(0).out();
    assert!(human.contains("targets") && human.contains("MISSED"), "{human}");
}

#[test]
fn a_file_beside_the_suites_is_left_out_and_a_folder_that_is_none_is_an_error() {
    let place = Place::new();
    let suite = suite(&place, 0);
    let file = text(&place.write("validate.py", ""));
    let ran = place.run(&["eval", &suite, &file]).expect(0);
    assert!(ran.err().contains("left out"), "{}", ran.err());
    place.run(&["eval", &file]).expect(2);
    place.run(&["eval", &text(&place.path("work"))]).expect(2);
    place.run(&["eval", &suite, &suite]).expect(2);
    place.run(&["eval"]).expect(2);
}

#[test]
fn the_half_that_is_held_out_tells_no_cases() {
    let place = Place::new();
    let suite = suite(&place, 0);
    place.run(&["eval", &suite, "--half", "odd", "--cases"]).expect(2);
    let odd = place.run(&["eval", &suite, "--half", "odd", "--json"]).expect(0).json();
    assert_eq!(odd["suites"][0]["categories"], json!([]));
}

#[test]
fn a_ratchet_moves_one_way() {
    let place = Place::new();
    let file = text(&place.path("ratchet.json"));
    let bad = suite(&place, 3);
    place.run(&["eval", &bad, "--ratchet", &file]).expect(2);
    place.run(&["eval", &bad, "--ratchet", &file, "--update"]).expect(0);
    let good = suite(&place, 1);
    place.run(&["eval", &good, "--ratchet", &file, "--update"]).expect(0);
    let held = std::fs::read(&file).unwrap();
    let worse = suite(&place, 2);
    let ran = place.run(&["eval", &worse, "--ratchet", &file, "--update"]).expect(20);
    assert!(ran.out().contains("WORSE") && ran.out().contains("ordinary actions blocked"), "{}", ran.out());
    assert_eq!(std::fs::read(&file).unwrap(), held, "what was reached is held");
}

#[test]
fn two_reports_are_compared_case_by_case() {
    let place = Place::new();
    let report = |blocked: usize, name: &str| {
        let told = place.run(&["eval", &suite(&place, blocked), "--json", "--cases"]).expect(0).out();
        text(&place.write(name, &told))
    };
    let (old, new) = (report(1, "old.json"), report(2, "new.json"));
    let found = place.run(&["eval", "--diff", &old, &new, "--json"]).expect(0).json();
    assert_eq!((&found["broken"], &found["mended"]), (&json!(1), &json!(0)));
    assert_eq!(found["changed"][0]["id"], "b1");
    let human = place.run(&["eval", "--diff", &new, &old]).expect(0).out();
    assert!(human.contains("1 changed: 0 broken, 1 mended"), "{human}");
}

#[test]
fn the_page_is_one_file_that_loads_nothing() {
    let place = Place::new();
    let page = place.path("report.html");
    place.run(&["eval", &suite(&place, 1), "--html", &text(&page)]).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg") && page.contains("b0"));
    assert!(!page.contains("https://") && !page.contains("src="));
}
