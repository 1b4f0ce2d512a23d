//! The decision matrix: many actions under no policy, as text that people review. A change of any line is a change of behaviour.
//!
//! To accept a change, run the tests with `UPDATE_MATRIX=1` and read the difference.

use std::fmt::Write as _;

use countersign_plan::verdict::Decision;
use serde_json::{Value, json};

use crate::world::World;

fn actions() -> Vec<(&'static str, Value)> {
    let mut out = Vec::new();
    let paths = [
        "src/main.rs",
        "new.txt",
        "app/.env",
        "link",
        "out/x",
        "../x",
        "~/x",
        "~/.ssh/id",
        "/etc/passwd",
        "/etc/shadow",
        "/tmp/x",
        "/proc/self/environ",
        "/dev/null",
        "infra/prod/main.tf",
        ".git/config",
        "countersign.yaml",
        "rules.yaml",
        "~/.countersign-state/key",
        "/srv/payroll/x",
        ".",
        "~",
        "/",
    ];
    for path in paths {
        out.push(("read_file", json!({"path": path})));
        out.push(("list_directory", json!({"path": path})));
        out.push(("write_file", json!({"path": path, "content": ""})));
        out.push(("delete_file", json!({"path": path})));
        out.push(("delete_directory", json!({"path": path})));
        out.push(("copy_file", json!({"source": path, "destination": "copied.txt"})));
        out.push(("move_file", json!({"source": path, "destination": "moved.txt"})));
        out.push(("move_file", json!({"source": "old.txt", "destination": path})));
    }
    let urls = [
        "https://git.company.example/",
        "https://company.example/",
        "https://api.partner.example/",
        "https://unknown.example/",
        "http://localhost:8080/",
        "http://127.0.0.1:8080/",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "http://git.company.example:6443/",
        "ftp://git.company.example/",
    ];
    for url in urls {
        for method in ["GET", "POST", "DELETE"] {
            out.push(("http_request", json!({"method": method, "url": url})));
        }
    }
    for to in ["user@company.example", "Eve <eve@company.example>", "ap@partner.example", "eve@evil.example", "eve"] {
        out.push(("send_email", json!({"to": to, "subject": "", "body": ""})));
    }
    for channel in ["#finance", "#elsewhere"] {
        out.push(("send_message", json!({"channel": channel, "body": ""})));
    }
    for sql in [
        "SELECT 1",
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "DROP TABLE t",
        "DROP SCHEMA s",
        "ATTACH 'x' AS y",
        "GRANT x TO y",
        "nonsense",
    ] {
        for database in ["data.db", "staging", "prod-orders", "/srv/other.db"] {
            out.push(("database_query", json!({"database": database, "sql": sql})));
        }
    }
    for args in [
        json!(["status"]),
        json!(["log"]),
        json!(["add", "-A"]),
        json!(["commit", "-m", "x"]),
        json!(["checkout", "--", "."]),
        json!(["reset", "--hard"]),
        json!(["clean", "-fdx"]),
        json!(["push"]),
        json!(["push", "--force"]),
        json!(["fetch"]),
        json!(["config", "user.name", "x"]),
        json!(["-c", "a=b", "status"]),
        json!(["bisect", "run", "x"]),
    ] {
        out.push(("git", json!({"repo": ".", "args": args})));
    }
    for argv in [json!(["cargo", "test"]), json!(["./app/main.py"]), json!(["sudo", "id"]), json!(["nonesuch"])] {
        out.push(("run_program", json!({"argv": argv})));
    }
    out.push(("execute_command", json!({"command": "ls"})));
    out.push(("execute_command", json!({"command": "ls", "cwd": "~"})));
    out.push(("memory_read", json!({"key": "k"})));
    out.push(("memory_write", json!({"key": "k", "value": 1})));
    for tool in [
        "send_money",
        "grant_role",
        "create_event",
        "read_calendar",
        "drop_database",
        "start_agent",
        "connect",
        "nonesuch",
    ] {
        out.push((tool, json!({"to": "x"})));
    }
    out
}

#[test]
fn the_decision_matrix_is_the_reviewed_one() {
    let world = World::new();
    let mut text = String::from(
        "# goal \"Do the work\" | goal \"Clean up and remove it\" | action | arguments | codes under the first goal\n",
    );
    for (action, args) in actions() {
        let plain = world.act(action, args.clone());
        let asked = world.act_for("Clean up and remove it", action, args.clone());
        let mut codes: Vec<&str> =
            plain.reasons.iter().filter(|r| r.decision == plain.decision).map(|r| r.code.as_str()).collect();
        codes.dedup();
        let word = |d: Decision| match d {
            Decision::Allow => "allow",
            Decision::RequireApproval => "ask",
            Decision::Block => "BLOCK",
        };
        let (a, b) = (word(plain.decision), word(asked.decision));
        writeln!(text, "{a:5} | {b:5} | {action:16} | {args} | {}", codes.join(" ")).unwrap();
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/output/decision-matrix.txt");
    if std::env::var_os("UPDATE_MATRIX").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    let reviewed = std::fs::read_to_string(file).unwrap_or_default();
    for (line, (now, before)) in text.lines().zip(reviewed.lines()).enumerate() {
        assert_eq!(now, before, "line {} of tests/output/decision-matrix.txt", line + 1);
    }
    assert_eq!(text.lines().count(), reviewed.lines().count());
}
