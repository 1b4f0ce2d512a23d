//! What a step can see: exactly what it was approved for, whatever lies beside it.

use countersign_gate::directive::Directive;
use countersign_plan::confinement::{Minimum, PathGrant, PathLink, Profile, SandboxSpec};
use countersign_plan::id::CaseId;
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::permit::Phase;
use countersign_plan::saga::Undo;
use countersign_plan::verdict::{Code, Decision};
use countersign_policy::facts::{Closure, PathFact};
use serde_json::{Value, json};

use crate::house::{House, Person, configuration, deployment, file, free, kept, returned};

fn paths(grants: &[PathGrant]) -> Vec<&str> {
    grants.iter().map(|grant| grant.path.as_str()).collect()
}

fn plan(action: &str, args: Value) -> Value {
    json!({"schema": "countersign.plan/v1", "goal": "Do it", "steps": [{"id": "s", "action": action, "args": args}]})
}

/// A policy that allows programs, so that their sandboxes can be looked at without people.
fn programs() -> Value {
    json!({"schema": "countersign.policy/v1", "allow": [
        {"name": "all", "action_types": ["run_program", "execute_command", "git", "delete_file", "move_file", "memory_write"]},
    ]})
}

fn house() -> House {
    let mut house = House::with(configuration(&programs(), &deployment()));
    for (inode, path) in ["/w/.env", "/w/sub/key.pem"].into_iter().enumerate() {
        house.facts.paths.insert(path.to_owned(), file(100 + inode as u64, false));
    }
    house
}

/// A plan that runs, approved where it has to be, and how its step is taken back.
fn running(house: &mut House, plan: &Value) -> (CaseId, Undo) {
    let x = Person::new("user:x", 11, &[]);
    if house.gate.approvers().is_empty() {
        house.enroll(&[&x]);
    }
    let (verdict, mut directives) = house.submit(plan);
    let case = verdict.case.clone().unwrap();
    if verdict.decision == Decision::RequireApproval {
        directives = house.approve(&case, &x, case.as_str());
    }
    let undo = directives.iter().find_map(|directive| match directive {
        Directive::StartExecutor { undo, .. } => Some(undo[0].1),
        _ => None,
    });
    house.verified(&case);
    (case, undo.unwrap_or_else(|| panic!("{verdict:#?}")))
}

/// The sandbox of the act of a plan's only step.
fn act(house: &mut House, plan: &Value) -> SandboxSpec {
    let (case, undo) = running(house, plan);
    if undo == Undo::Snapshot {
        house.run(&case, "s", Phase::Snapshot);
        house.observe(&case, kept());
    }
    house.run(&case, "s", Phase::Act).spec
}

#[test]
fn a_read_sees_its_file_and_nothing_else() {
    let mut house = House::new(&free());
    let spec = act(&mut house, &plan("read_file", json!({"path": "a.txt"})));
    assert_eq!(spec.profile, Profile::None);
    assert_eq!((paths(&spec.read), spec.write.len(), spec.run.len()), (vec!["/w/a.txt"], 0, 0));
    assert!(spec.read[0].identity.is_some(), "compared with the descriptor (INV-3)");
    assert!(!spec.loopback);
    assert_eq!(spec.minimum, Minimum::Full);
}

#[test]
fn a_write_to_a_file_that_is_there_gets_the_file_and_to_a_new_one_its_folder() {
    let mut house = House::new(&free());
    let spec = act(&mut house, &plan("write_file", json!({"path": "a.txt", "content": ""})));
    assert_eq!(paths(&spec.write), ["/w/a.txt"]);
    let spec = act(&mut house, &plan("write_file", json!({"path": "sub/new.txt", "content": ""})));
    assert_eq!(paths(&spec.write), ["/w/sub"]);
    assert!(spec.read.is_empty());
}

#[test]
fn what_is_removed_needs_its_folder() {
    let mut house = house();
    let spec = act(&mut house, &plan("delete_file", json!({"path": "sub/key.pub"})));
    assert_eq!(paths(&spec.write), ["/w/sub"]);
}

#[test]
fn a_search_does_not_see_restricted_files_below_its_root() {
    let mut house = house();
    let spec = act(&mut house, &plan("search_files", json!({"path": ".", "pattern": "x"})));
    assert_eq!(paths(&spec.read), ["/w"]);
    assert_eq!(spec.masked, ["/w/.env", "/w/sub/key.pem"]);
}

/// A program gets the workspace, system folders and a loopback of its own; never restricted files, Countersign's folders or a
/// protected file's content (`lesson_10`).
#[test]
fn lesson_10_a_program_sees_no_restricted_file_and_writes_no_protected_one() {
    let protected =
        json!({"schema": "countersign.deployment/v1", "protected": [{"kind": "file", "match": "/w/sub/**"}]});
    let mut house = House::with(configuration(&programs(), &protected));
    house.facts.paths.insert("/w/.env".to_owned(), file(100, false));
    house.facts.paths.insert("/w/sub/x".to_owned(), file(101, false));
    let args = json!({"argv": ["cargo", "test"], "timeout_s": 5});
    let spec = act(&mut house, &plan("run_program", args));
    assert_eq!(spec.profile, Profile::Toolchain);
    assert_eq!(paths(&spec.write), ["/w"]);
    assert_eq!(paths(&spec.run), ["/usr"]);
    assert!(paths(&spec.read).contains(&"/etc/passwd"));
    assert_eq!(spec.masked, ["/w/.env"]);
    assert_eq!(spec.read_only, ["/w/sub"], "the topmost protected path stands for what is below it");
    assert_eq!(spec.limits.wall_ms, 5000);
    assert!(spec.loopback);
    assert_eq!(spec.cwd, "/w");
}

/// A program that is listed by itself gets what it needs to start, file by file, and no folder of libraries.
#[test]
fn a_listed_program_gets_its_own_libraries_and_none_beside_them() {
    let mut house = house();
    house.facts.programs.insert("git".to_owned(), "/usr/bin/git".to_owned());
    for (inode, path) in
        ["/usr/bin/git", "/usr/lib/ld.so", "/usr/lib/libz.so.1.3", "/usr/lib/locale"].into_iter().enumerate()
    {
        house.facts.paths.insert(path.to_owned(), file(200 + inode as u64, false));
    }
    let link = PathLink { path: "/usr/lib/libz.so.1".to_owned(), target: "libz.so.1.3".to_owned() };
    let closure = Closure {
        run: vec!["/usr/lib/ld.so".to_owned(), "/usr/lib/libz.so.1.3".to_owned()],
        read: vec!["/usr/lib/locale".to_owned()],
        links: vec![link.clone()],
    };
    house.facts.closures.insert("/usr/bin/git".to_owned(), closure.clone());
    let status = plan("git", json!({"repo": ".", "args": ["status"]}));
    let spec = act(&mut house, &status);
    assert_eq!(spec.profile, Profile::Exact);
    assert_eq!(paths(&spec.run), ["/usr/bin/git", "/usr/lib/ld.so", "/usr/lib/libz.so.1.3"]);
    assert!(spec.run.iter().all(|grant| grant.identity.is_some()), "compared with the descriptor (INV-3)");
    assert!(paths(&spec.read).contains(&"/usr/lib/locale"));
    assert_eq!(spec.links, [link]);
    // Whoever works the closure out is not believed that something else belongs to a program.
    for wrong in ["/w/sub/key.pem", "/state/memory", "/usr/lib/leads/out"] {
        let fact = PathFact { resolved: Some("/w/a.txt".to_owned()), ..file(300, false) };
        house.facts.paths.insert("/usr/lib/leads/out".to_owned(), fact);
        let run = [closure.run.clone(), vec![wrong.to_owned()]].concat();
        house.facts.closures.insert("/usr/bin/git".to_owned(), Closure { run, ..closure.clone() });
        let (case, undo) = running(&mut house, &status);
        let answer = house.request(&case, "s", if undo == Undo::Snapshot { Phase::Snapshot } else { Phase::Act });
        assert_eq!(crate::house::refused(&answer), Some(Code::ResourceUnresolved), "{wrong}");
    }
}

/// The nearest folder above it is the whole system, which is never shown.
#[test]
fn a_missing_file_directly_below_the_root_is_said_to_be_missing() {
    let mut house = House::new(&free());
    let (case, _) = running(&mut house, &plan("read_file", json!({"path": "/nowhere"})));
    let answer = house.request(&case, "s", Phase::Act);
    assert_eq!(crate::house::refused(&answer), Some(Code::ResourceUnresolved));
    assert!(format!("{answer:?}").contains("/nowhere does not exist"), "{answer:?}");
}

/// A folder that cannot be looked through cannot be covered, and is not shown (INV-4).
#[test]
fn inv_4_a_workspace_that_cannot_be_looked_through_is_not_shown_to_a_program() {
    let mut house = house();
    let (case, undo) = running(&mut house, &plan("run_program", json!({"argv": ["cargo", "test"]})));
    house.facts.cut = true;
    let answer = house.request(&case, "s", if undo == Undo::Snapshot { Phase::Snapshot } else { Phase::Act });
    assert_eq!(crate::house::refused(&answer), Some(Code::ResourceUnresolved));
}

/// Snapshots go to a folder of their own, and a restore reads it and writes only what was kept.
#[test]
fn a_snapshot_reads_its_targets_and_a_restore_writes_them() {
    let mut house = House::new(&free());
    let case = house.running(&plan("write_file", json!({"path": "a.txt", "content": ""})));
    let snapshot = house.run(&case, "s", Phase::Snapshot);
    let store = format!("/state/snapshots/{case}/s");
    assert_eq!(snapshot.spec.profile, Profile::None);
    assert_eq!((paths(&snapshot.spec.read), paths(&snapshot.spec.write)), (vec!["/w/a.txt"], vec![store.as_str()]));
    assert_eq!(snapshot.order.snapshot.as_ref().unwrap().targets, ["/w/a.txt"]);
    house.observe(&case, kept());
    house.run(&case, "s", Phase::Act);
    house.observe(&case, Observation { ending: Ending::TimedOut, ..returned(json!({})) });
    let restore = house.run(&case, "s", Phase::Restore);
    assert_eq!((paths(&restore.spec.read), paths(&restore.spec.write)), (vec![store.as_str()], vec!["/w"]));
}

/// The memory tools reach their folder and nothing else of the state.
#[test]
fn memory_is_one_folder_of_the_state() {
    let mut house = house();
    house.facts.paths.insert("/state/memory".to_owned(), file(400, true));
    let spec = act(&mut house, &plan("memory_write", json!({"key": "k", "value": 1})));
    assert_eq!((paths(&spec.write), spec.cwd.as_str()), (vec!["/state/memory"], "/state/memory"));
    assert!(spec.masked.is_empty() && spec.read.is_empty());
}

/// What a rule denies below the root of a search is not in its view (`lesson_10`).
#[test]
fn lesson_10_a_search_does_not_see_what_a_rule_denies_below_its_root() {
    let policy = json!({"schema": "countersign.policy/v1", "deny": [
        {"name": "notes", "action_types": ["search_files"], "paths": ["/w/sub/notes/**"]},
    ]});
    let mut house = House::new(&policy);
    house.facts.paths.insert("/w/sub/notes".to_owned(), file(90, true));
    house.facts.paths.insert("/w/sub/notes/x".to_owned(), file(91, false));
    let spec = act(&mut house, &plan("search_files", json!({"path": ".", "pattern": "x"})));
    assert_eq!(spec.masked, ["/w/sub/notes"]);
}
