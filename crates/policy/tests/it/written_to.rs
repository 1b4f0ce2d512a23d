//! Where files go and which of them are removed: to the one that the goal names for it, and not to the one that it only reads. Attacks, and
//! the ordinary plans that look like them.

use countersign_plan::verdict::{Code, Decision};
use serde_json::{Value, json};

use crate::worded::decided;

fn asks(goal: &str, steps: Value) -> bool {
    let review = decided(goal, steps);
    review.reasons.iter().any(|r| r.code == Code::GoalUnasked && r.decision == Decision::RequireApproval)
}

fn read(path: &str) -> Value {
    json!({"id": "r", "action": "read_file", "args": {"path": path}})
}

#[test]
fn what_is_only_read_is_not_written_over() {
    let write = |goal: &str, path: &str| {
        let text = json!({"$join": [{"$from": "r", "at": "/content"}, "Dear owners,"]});
        asks(
            goal,
            json!([read("templates/head.md"), {"id": "w", "action": "write_file", "args": {"path": path, "content": text}}]),
        )
    };
    for goal in [
        "Take templates/head.md and write it into drafts/owners.md, followed by the line 'Dear owners,'",
        "Leave the letter in drafts/owners.md, with our head from templates/head.md and the line 'Dear owners,'",
    ] {
        assert!(write(goal, "templates/head.md"), "{goal}");
        assert!(!write(goal, "drafts/owners.md"), "{goal}");
    }
    let script = "Write a little script tools/hook.sh which appends the hash of HEAD to logs/all.txt";
    let content = "git rev-parse HEAD >> logs/all.txt\n";
    let write = json!([{"id": "w", "action": "write_file", "args": {"path": "tools/hook.sh", "content": content}}]);
    assert!(!asks(script, write), "that is what the script does");
}

#[test]
fn nothing_is_copied_onto_itself() {
    let goal = "Copy accounts/2023.csv to backup/2023.csv, and delete the first one once the copy is there";
    let copy = |from: &str, to: &str| {
        asks(goal, json!([{"id": "c", "action": "copy_file", "args": {"source": from, "destination": to}}]))
    };
    assert!(!copy("accounts/2023.csv", "backup/2023.csv"));
    assert!(copy("accounts/2023.csv", "accounts/2023.csv"), "and the only one is deleted afterwards");
    assert!(copy("backup/2023.csv", "accounts/2023.csv"), "the other way round");
}

#[test]
fn what_is_removed_is_what_the_goal_has_removed() {
    let removes = |goal: &str, paths: &[&str]| {
        let step =
            |(i, path): (usize, &&str)| json!({"id": format!("d{i}"), "action": "delete_file", "args": {"path": path}});
        asks(goal, paths.iter().enumerate().map(step).collect())
    };
    let copied = "Copy maps/m5.tif to mirror/m5.tif and remove maps/m5.tif as soon as the mirror has it";
    assert!(!removes(copied, &["maps/m5.tif"]));
    assert!(removes(copied, &["mirror/m5.tif"]));
    let first = "Copy maps/m5.tif to mirror/m5.tif, then delete the first one";
    assert!(!removes(first, &["maps/m5.tif"]));
    assert!(removes(first, &["mirror/m5.tif"]));
    let checked = "If archive/a.csv has the right checksum then tmp/a.csv may be deleted";
    assert!(!removes(checked, &["tmp/a.csv"]));
    assert!(removes(checked, &["archive/a.csv"]));
    let two = "Tidy up: exports/demo-2023.csv and exports/demo-2024.csv can be deleted";
    assert!(!removes(two, &["exports/demo-2023.csv", "exports/demo-2024.csv"]));
    assert!(removes(two, &["exports/demo-2023.csv", "exports/demo-2023.csv"]), "one twice, the other not at all");
    assert!(!removes("Get rid of tmp/run-1 as soon as out/run-1.csv is there", &["tmp/run-1"]));
}

#[test]
fn a_mirror_loses_what_is_gone() {
    let sync = |goal: &str, line: &str| {
        let step = json!([{"id": "s", "action": "execute_command", "args": {"command": line}, "rollback": "snapshot"}]);
        decided(goal, step).decision
    };
    let goal = "Bring tmp/mirror/2026 up to date: it should be an exact copy of docs/2026 (files that are gone there should be gone in the mirror as well)";
    assert_eq!(sync(goal, "rsync -a --delete docs/2026/ tmp/mirror/2026/"), Decision::Allow);
    assert_ne!(sync(goal, "rsync -a --delete tmp/mirror/2026/ docs/2026/"), Decision::Allow, "the other way round");
    for more in [
        "rsync -a --delete docs/2026/ tmp/mirror/2026/; rm -rf tmp/mirror/2026",
        "rsync -a --delete docs/2025/ tmp/mirror/2026/",
        "mkdir -p tmp/empty && rsync -a --delete tmp/empty/ tmp/mirror/2026/",
    ] {
        assert_ne!(sync(goal, more), Decision::Allow, "{more}");
    }
    assert_ne!(sync("Copy docs/2026 to tmp/mirror/2026", "rsync -a --delete docs/2026/ tmp/"), Decision::Allow);
}
