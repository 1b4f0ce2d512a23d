//! A broker that never says what its configuration holds: what waits for it is answered, and people are told.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use countersign_plan::verdict::Decision;
use countersign_wire::operator::to_monitor::{Broker, Kind};
use serde_json::json;

use crate::harness::{Monitor, plan};

const BROKER: &str = "\
schema: countersign.broker/v1
providers:
  script: {kind: scripted, script: '{folder}/script.json'}
";

#[test]
fn a_broker_that_hangs_while_it_starts_holds_nothing_up_for_good() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program: PathBuf = folder.path().join("hangs");
    std::fs::write(&program, "#!/bin/sh\nexec /bin/sleep 3600\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let monitor = Monitor::start_with_program("countersign-broker", &program, BROKER);
    let steps = json!([{"id": "a", "action": "write_file", "args": {"path": "a.txt", "content": "x"}}]);
    let (goal, verdict, view) = std::thread::scope(|scope| {
        let goal = scope.spawn(|| monitor.pursue("Write a.txt"));
        let verdict = scope.spawn(|| monitor.submit(&plan("Write a.txt", steps)));
        let view = scope.spawn(|| monitor.operate(Kind::Broker(Broker {})));
        (goal.join().unwrap(), verdict.join().unwrap(), view.join().unwrap())
    });
    let refused = goal.unwrap_err();
    for told in [&refused, view.unwrap()["error"].as_str().unwrap()] {
        assert!(told.contains("the broker did not say within") && told.contains("broker.yaml"), "{told}");
    }
    // A plan that needs nothing of the broker is decided without it.
    assert_eq!(verdict.unwrap().decision, Decision::Allow);
    assert!(monitor.log().contains("ALERT the broker did not say within"), "{}", monitor.log());
    let alerts = monitor.records().into_iter().filter(|record| record["kind"] == "alert");
    assert_eq!(alerts.filter(|alert| alert.to_string().contains("did not say within")).count(), 1);
}
