//! Arrows between crates point down, and only where the table says (ARCHITECTURE.md, "Crates").
//!
//! Two questions: which of our crates names which other (`cargo metadata`, dev-dependencies included), and which
//! foreign crates end up in a binary's tree (`cargo tree`), because INV-5 is a claim about what is linked.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use crate::report::Report;
use crate::tree;

/// One crate: its floor, the crates it may name, and what its tree may hold.
struct Room {
    name: &'static str,
    floor: u8,
    depends_on: &'static [&'static str],
    tree: Tree,
}

/// What a crate may link. Each stage allows more than the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tree {
    /// No async runtime, no HTTP, no TLS; dev-dependencies count too.
    Bare,
    /// The same, but a model checker or a benchmark may bring what it likes.
    Sync,
    /// An async runtime, still no HTTP and no TLS.
    Async,
    /// The two doors to the outside.
    Network,
}

const ROOMS: &[Room] = &[
    Room {
        name: "daemon",
        floor: 4,
        depends_on: &["plan", "policy", "ledger", "habit", "evaluator", "secret", "audit", "gate", "wire"],
        tree: Tree::Async,
    },
    Room {
        name: "cli",
        floor: 4,
        depends_on: &["plan", "wire", "ledger", "audit", "policy", "inspect", "eval"],
        tree: Tree::Sync,
    },
    Room { name: "audit", floor: 3, depends_on: &["plan", "ledger"], tree: Tree::Sync },
    Room { name: "eval", floor: 3, depends_on: &["plan", "policy", "habit", "inspect", "evaluator"], tree: Tree::Sync },
    Room { name: "gate", floor: 3, depends_on: &["plan", "policy", "ledger"], tree: Tree::Sync },
    Room { name: "zygote", floor: 3, depends_on: &["plan", "sandbox", "wire"], tree: Tree::Sync },
    Room { name: "executor", floor: 3, depends_on: &["plan", "sandbox", "wire"], tree: Tree::Bare },
    Room { name: "step", floor: 3, depends_on: &["plan", "sandbox", "secret", "wire", "chronicle"], tree: Tree::Sync },
    Room { name: "planner", floor: 3, depends_on: &["plan", "sandbox", "wire"], tree: Tree::Bare },
    Room { name: "inspector", floor: 3, depends_on: &["plan", "sandbox", "inspect", "wire"], tree: Tree::Sync },
    Room { name: "broker", floor: 3, depends_on: &["plan", "sandbox", "secret", "wire"], tree: Tree::Network },
    Room { name: "edge", floor: 3, depends_on: &["plan", "wire"], tree: Tree::Network },
    Room { name: "hook", floor: 3, depends_on: &["wire"], tree: Tree::Sync },
    Room { name: "policy", floor: 2, depends_on: &["plan"], tree: Tree::Sync },
    Room { name: "evaluator", floor: 2, depends_on: &["plan"], tree: Tree::Sync },
    Room { name: "habit", floor: 2, depends_on: &["plan"], tree: Tree::Sync },
    Room { name: "inspect", floor: 2, depends_on: &["plan", "classifier"], tree: Tree::Sync },
    Room { name: "ledger", floor: 2, depends_on: &["plan"], tree: Tree::Sync },
    Room { name: "chronicle", floor: 2, depends_on: &["plan"], tree: Tree::Sync },
    Room { name: "wire", floor: 2, depends_on: &["plan"], tree: Tree::Sync },
    Room { name: "classifier", floor: 1, depends_on: &[], tree: Tree::Sync },
    Room { name: "plan", floor: 1, depends_on: &[], tree: Tree::Bare },
    Room { name: "sandbox", floor: 1, depends_on: &[], tree: Tree::Sync },
    Room { name: "secret", floor: 1, depends_on: &[], tree: Tree::Sync },
];

/// Arrows that only tests draw: from, to, why. A line that no `Cargo.toml` uses is a fault.
const TEST_ARROWS: &[(&str, &str, &str)] = &[
    ("daemon", "sandbox", "the rogue planner and executor of its tests seal themselves like the real ones"),
    ("audit", "gate", "its tests hold to account what a real gate records, and what a lying one would"),
    ("audit", "policy", "the gate of those tests judges by one"),
    ("policy", "inspect", "its tests judge by what the inspector really says"),
    ("daemon", "planner", "the probing planner of its tests takes the seat of the real one"),
];

const RUNTIMES: &[&str] =
    &["tokio", "async-std", "smol", "async-executor", "async-io", "futures-executor", "mio", "glommio", "monoio"];

const NETWORK: &[&str] = &[
    "attohttpc",
    "axum",
    "boring",
    "curl",
    "h2",
    "h3",
    "hyper",
    "hyper-util",
    "isahc",
    "minreq",
    "native-tls",
    "openssl",
    "quinn",
    "reqwest",
    "rustls",
    "surf",
    "tiny_http",
    "tonic",
    "tungstenite",
    "ureq",
];

/// What only comes with a feature: crates whose presence in a default build is a fault, and the room that is made of them.
const OPTIONAL: (&str, &[&str]) =
    ("classifier", &["countersign-classifier", "ndarray", "matrixmultiply", "safetensors"]);

const PREFIX: &str = "countersign-";

/// `from` names `to` in its `Cargo.toml`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    from: String,
    to: String,
    test_only: bool,
}

pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    let metadata = tree::output(tree::cargo(root).args(["metadata", "--format-version=1", "--no-deps"]))?;
    let (crates, arrows) = arrows(&serde_json::from_str(&metadata).context("cargo metadata printed no JSON")?)?;
    let mut report = judge_arrows(ROOMS, TEST_ARROWS, &crates, &arrows);
    let mut linked = 0;
    for room in ROOMS.iter().filter(|room| crates.contains(room.name)) {
        let edges = if room.tree == Tree::Bare { "normal,build,dev" } else { "normal,build" };
        let package = format!("{PREFIX}{}", room.name);
        let listing = tree::output(tree::cargo(root).args([
            "tree",
            "--package",
            &package,
            "--edges",
            edges,
            "--prefix=none",
            "--format={p}",
        ]))?;
        linked += judge_tree(room, &listing, &mut report);
    }
    report.count("linked crates looked at", linked);
    Ok(report)
}

/// Our crates and the arrows between them, from `cargo metadata --no-deps`.
fn arrows(metadata: &Value) -> anyhow::Result<(BTreeSet<String>, BTreeSet<Arrow>)> {
    let packages = metadata.get("packages").and_then(Value::as_array).context("cargo metadata has no `packages`")?;
    let ours = |value: &Value| Some(value.get("name")?.as_str()?.strip_prefix(PREFIX)?.to_owned());
    let mut crates = BTreeSet::new();
    let mut arrows = BTreeSet::new();
    for package in packages {
        let Some(from) = ours(package) else { continue };
        let dependencies = package.get("dependencies").and_then(Value::as_array).context("a package without a list")?;
        for dependency in dependencies {
            let Some(to) = ours(dependency) else { continue };
            let test_only = dependency.get("kind").and_then(Value::as_str) == Some("dev");
            arrows.insert(Arrow { from: from.clone(), to, test_only });
        }
        crates.insert(from);
    }
    Ok((crates, arrows))
}

fn judge_arrows(
    rooms: &[Room],
    test_arrows: &[(&str, &str, &str)],
    crates: &BTreeSet<String>,
    arrows: &BTreeSet<Arrow>,
) -> Report {
    let mut report = Report::default();
    for name in crates.iter().filter(|name| room(rooms, name).is_none()) {
        report.fault(format!("crate {name} stands on no floor: a new crate needs an ADR and a row in xtask layers"));
    }
    for Arrow { from, to, test_only } in arrows {
        let (Some(upper), Some(lower)) = (room(rooms, from), room(rooms, to)) else { continue };
        let kind = if *test_only { "  (tests)" } else { "" };
        report.line(format!("        {from} ({}) -> {to} ({}){kind}", upper.floor, lower.floor));
        if *test_only && test_arrows.iter().any(|(a, b, _)| a == from && b == to) {
            continue;
        }
        if lower.floor >= upper.floor {
            report.fault(format!("{from} -> {to} goes up: floor {} to floor {}", upper.floor, lower.floor));
        } else if !upper.depends_on.contains(&lower.name) {
            report.fault(format!("{from} -> {to} is not in the table: {from} may name {:?}", upper.depends_on));
        }
    }
    for (from, to, _) in test_arrows {
        if !arrows.iter().any(|arrow| arrow.test_only && arrow.from == *from && arrow.to == *to) {
            report.fault(format!("{from} -> {to} is listed as a test arrow and drawn by nobody: remove the line"));
        }
    }
    report.count("crates", crates.len());
    report.count("arrows between them", arrows.len());
    let absent: Vec<_> = rooms.iter().map(|room| room.name).filter(|name| !crates.contains(*name)).collect();
    report.line(format!("{:>6}  rooms in the table without a crate: {}", absent.len(), absent.join(", ")));
    report
}

fn room<'a>(rooms: &'a [Room], name: &str) -> Option<&'a Room> {
    rooms.iter().find(|room| room.name == name)
}

/// Compares what a crate links with what its room allows; returns how many linked crates it saw.
fn judge_tree(room: &Room, listing: &str, report: &mut Report) -> usize {
    let linked: BTreeSet<&str> = listing.lines().filter_map(|line| line.split_whitespace().next()).collect();
    if !linked.contains(format!("{PREFIX}{}", room.name).as_str()) {
        report.fault(format!("empty scan: the tree of {} does not even hold itself", room.name));
    }
    let forbidden = [(RUNTIMES, Tree::Async, "an async runtime"), (NETWORK, Tree::Network, "HTTP or TLS")];
    for (names, _, what) in forbidden.into_iter().filter(|(_, from, _)| room.tree < *from) {
        for name in names.iter().filter(|name| linked.contains(**name)) {
            report.fault(format!("{} links {name}: {what} has no place in this crate (INV-5)", room.name));
        }
    }
    let (owner, optional) = OPTIONAL;
    for name in optional.iter().filter(|name| room.name != owner && linked.contains(**name)) {
        report.fault(format!("{} links {name} without being asked: it belongs behind a feature", room.name));
    }
    linked.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(metadata: &Value, test_arrows: &[(&str, &str, &str)]) -> Report {
        let (crates, arrows) = arrows(metadata).unwrap();
        judge_arrows(ROOMS, test_arrows, &crates, &arrows)
    }

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let dependencies: Vec<_> =
            dependencies.iter().map(|(name, kind)| json!({"name": name, "kind": kind})).collect();
        json!({"name": name, "dependencies": dependencies})
    }

    #[test]
    fn the_table_itself_points_down_and_names_only_its_own_rooms() {
        for upper in ROOMS {
            for name in upper.depends_on {
                let lower = room(ROOMS, name).unwrap_or_else(|| panic!("{} names {name}, no such room", upper.name));
                assert!(lower.floor < upper.floor, "{} -> {name} goes up", upper.name);
            }
        }
    }

    #[test]
    fn an_arrow_in_the_table_passes_and_is_counted() {
        let metadata = json!({"packages": [
            package("countersign-plan", &[("serde", None)]),
            package("countersign-wire", &[("countersign-plan", None)]),
        ]});
        let report = judged(&metadata, &[]);
        assert_eq!(report.faults(), <[String; 0]>::default());
    }

    #[test]
    fn an_arrow_up_fails() {
        let report = judged(
            &json!({"packages": [package("countersign-plan", &[("countersign-gate", None)]), package("countersign-gate", &[])]}),
            &[],
        );
        assert_eq!(report.faults(), ["plan -> gate goes up: floor 1 to floor 3"]);
    }

    #[test]
    fn an_arrow_along_a_floor_fails() {
        let report = judged(
            &json!({"packages": [package("countersign-executor", &[("countersign-gate", None)]), package("countersign-gate", &[])]}),
            &[],
        );
        assert_eq!(report.faults(), ["executor -> gate goes up: floor 3 to floor 3"]);
    }

    #[test]
    fn an_arrow_down_that_the_table_does_not_draw_fails() {
        let report = judged(
            &json!({"packages": [package("countersign-executor", &[("countersign-policy", None)]), package("countersign-policy", &[])]}),
            &[],
        );
        let fault = r#"executor -> policy is not in the table: executor may name ["plan", "sandbox", "wire"]"#;
        assert_eq!(report.faults(), [fault]);
    }

    #[test]
    fn a_dev_dependency_is_an_arrow_too_unless_it_is_listed() {
        let metadata = json!({"packages": [
            package("countersign-ledger", &[("countersign-gate", Some("dev"))]),
            package("countersign-gate", &[]),
        ]});
        assert!(judged(&metadata, &[]).failed());
        assert!(!judged(&metadata, &[("ledger", "gate", "real records")]).failed());
    }

    #[test]
    fn a_listed_test_arrow_excuses_no_production_arrow_and_may_not_go_stale() {
        let metadata = json!({"packages": [
            package("countersign-ledger", &[("countersign-gate", None)]),
            package("countersign-gate", &[]),
        ]});
        let faults = judged(&metadata, &[("ledger", "gate", "real records")]).faults().len();
        assert_eq!(faults, 2, "the arrow up, and the stale line");
    }

    #[test]
    fn a_crate_without_a_row_fails() {
        let report = judged(&json!({"packages": [package("countersign-helpers", &[])]}), &[]);
        assert!(report.faults()[0].starts_with("crate helpers stands on no floor"), "{report:?}");
    }

    #[test]
    fn a_workspace_without_our_crates_is_an_empty_scan() {
        let report = judged(&json!({"packages": [package("serde", &[])]}), &[]);
        assert_eq!(report.faults().len(), 2, "no crates, no arrows: {report:?}");
    }

    /// INV-5: the executor has no model and no network, the plan has no runtime; the tree shows it.
    #[test]
    fn a_network_crate_in_the_executor_and_a_runtime_in_the_plan_fail() {
        for (name, intruder) in [("executor", "reqwest"), ("executor", "tokio"), ("plan", "tokio"), ("planner", "ureq")]
        {
            let mut report = Report::default();
            let listing = format!("countersign-{name} v0.1.0 (/x)\nserde v1.0.0\n{intruder} v1.0.0\n");
            judge_tree(room(ROOMS, name).unwrap(), &listing, &mut report);
            assert_eq!(report.faults().len(), 1, "{name} with {intruder}: {report:?}");
        }
    }

    #[test]
    fn the_daemon_may_have_a_runtime_but_no_http() {
        let daemon = room(ROOMS, "daemon").unwrap();
        let mut report = Report::default();
        judge_tree(daemon, "countersign-daemon v0.1.0\ntokio v1.0.0\n", &mut report);
        assert!(report.faults().is_empty(), "{report:?}");
        judge_tree(daemon, "countersign-daemon v0.1.0\nhyper v1.0.0\n", &mut report);
        assert_eq!(report.faults().len(), 1);
    }

    #[test]
    fn what_comes_with_a_feature_is_in_no_default_build() {
        for (name, faults) in [("cli", 1), ("eval", 1), ("classifier", 0)] {
            let mut report = Report::default();
            judge_tree(room(ROOMS, name).unwrap(), &format!("{PREFIX}{name} v0.1.0\nndarray v0.17.2\n"), &mut report);
            assert_eq!(report.faults().len(), faults, "{name}: {report:?}");
        }
    }

    #[test]
    fn a_tree_that_does_not_hold_the_crate_itself_is_an_empty_scan() {
        let mut report = Report::default();
        judge_tree(room(ROOMS, "plan").unwrap(), "", &mut report);
        assert!(report.faults()[0].starts_with("empty scan"), "{report:?}");
    }
}
