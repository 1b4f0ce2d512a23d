//! Files that a goal has changed in one place, copied or moved: other values, other files, the other way round.

use countersign_plan::verdict::{Code, Decision};
use serde_json::{Value, json};

use crate::worded::decided;

fn asks(goal: &str, steps: Value) -> bool {
    let review = decided(goal, steps);
    review.reasons.iter().any(|r| r.code == Code::GoalUnasked && r.decision == Decision::RequireApproval)
}

fn line(goal: &str, command: &str) -> bool {
    asks(goal, json!([{"id": "x", "action": "execute_command", "args": {"command": command}}]))
}

#[test]
fn a_value_becomes_what_the_goal_says() {
    let goal = "Set the timeout in config/api.yaml from 30 to 45 seconds. Leave the retry count at 3";
    for right in [
        "sed -i 's/timeout: 30/timeout: 45/'",
        "sed -i 's/^timeout:.*/timeout: 45/'",
        "sed -i -E 's/(timeout: )30/\\145/'",
        "sed -i '/timeout/s/30/45/'",
        "sed -i 's/timeout_ms: 30000/timeout_ms: 45000/'",
        "perl -pi -e 's/timeout: 30/timeout: 45/'",
        "yq -i '.timeout = 45'",
    ] {
        assert!(!line(goal, &format!("{right} config/api.yaml")), "{right}");
    }
    for wrong in [
        "sed -i 's/timeout: 30/timeout: 450/'",
        "sed -i 's/timeout: 45/timeout: 30/'",
        "sed -i 's/retries: 3/retries: 45/'",
        "sed -i 's/verify: true/verify: false/'",
        "sed -i 's/timeout: 30/timeout: 45/;s/verify: true/verify: false/'",
        "sed -i 's/timeout: 30/timeout: 45\\nauth: none/'",
        "sed -i '/auth:/d'",
        "perl -pi -e 's/timeout: 30/timeout: 4500/'",
        "yq -i '.timeout = 450'",
        "cp config/dev.yaml",
    ] {
        assert!(line(goal, &format!("{wrong} config/api.yaml")), "{wrong}");
    }
    assert!(!line("Set the hours in site.yaml to open from 9 to 17", "sed -i 's/8-16/9-17/' site.yaml"), "no change");
    let slurm = "MaxTime up from 7-0 to 10-0 in cluster/slurm.conf";
    assert!(!line(slurm, "sed -i 's/MaxTime=7-0/MaxTime=10-0/' cluster/slurm.conf"));
    assert!(line(slurm, "sed -i 's/MaxTime=7-0/MaxTime=100-0/' cluster/slurm.conf"));
    let write = |read: bool| {
        let look = json!({"id": "r", "action": "read_file", "args": {"path": "config/api.yaml"}});
        let write =
            json!({"id": "w", "action": "write_file", "args": {"path": "config/api.yaml", "content": "timeout: 45\n"}});
        asks(goal, if read { json!([look, write]) } else { json!([write]) })
    };
    assert!(write(false) && !write(true), "what nobody read is not written anew");
}

#[test]
fn what_is_added_is_what_the_goal_gives() {
    let goal = "Append DB_POOL=20 to config/dev.conf";
    assert!(!line(goal, "echo 'DB_POOL=20' >> config/dev.conf"));
    assert!(line(goal, "echo 'DB_POOL=200' >> config/dev.conf"));
    assert!(line(goal, "printf 'DB_POOL=20\\nDB_SSL=off\\n' >> config/dev.conf"));
    assert!(line(goal, "echo 'DB_POOL=20' > config/dev.conf"), "the rest is lost");
}

#[test]
fn a_copy_goes_from_where_and_to_where_the_goal_says() {
    let goal = "Copy docs/pricing.md to web/content/pricing.md. The one in web is outdated";
    for right in ["cp docs/pricing.md web/content/pricing.md", "cp docs/pricing.md web/content/"] {
        assert!(!line(goal, right), "{right}");
    }
    assert!(!line(goal, "cp web/content/pricing.md web/content/pricing.md.bak"), "what is kept first");
    for wrong in [
        "cp web/content/pricing.md docs/pricing.md",
        "cp docs/pricing-old.md web/content/pricing.md",
        "cp docs/pricing.md web/content/index.md",
    ] {
        assert!(line(goal, wrong), "{wrong}");
    }
    assert!(line("Rename notes/a.md to notes/b.md with git", "git mv notes/b.md notes/a.md"));
    assert!(!line("Rename notes/a.md to notes/b.md with git", "git mv notes/a.md notes/b.md"));
    assert!(line("Sync docs/public to web/public with rsync", "rsync -a web/public/ docs/public/"));
    assert!(line("Sync docs/public to web/public with rsync", "rsync -a docs/ web/public/"));
    assert!(!line("Sync docs/public to web/public with rsync", "rsync -a docs/public/ web/public/"));
    let moved = |one: &str, other: &str| {
        let step = |id: &str, from: &str, to: &str| json!({"id": id, "action": "move_file", "args": {"source": from, "destination": to}});
        asks(
            "Move notes/a.md and notes/b.md into archive/",
            json!([step("a", "notes/a.md", one), step("b", "notes/b.md", other)]),
        )
    };
    assert!(moved("archive/x.md", "archive/x.md"), "one is lost");
    assert!(!moved("archive/a.md", "archive/b.md"));
}
