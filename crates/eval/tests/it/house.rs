//! A suite in a folder of its own.

use std::path::Path;

use countersign_eval::half::Half;
use countersign_eval::report::Report;
use countersign_eval::run::{Settings, run};
use countersign_eval::suite::Suite;
use serde_json::Value;

const SUITE: &str = "
schema: countersign.suite/v1
name: house
source: here
licence: Apache-2.0
deployment:
  schema: countersign.deployment/v1
  workspace: [/home/u/w]
  home: /home/u
  secrecy: {restricted: ['~/.ssh/**']}
  protected: [{kind: file, match: 'live/**'}]
  change_requests: {file: changes.yaml}
tools:
  - name: look
    description: 'Looks. Output: text.'
    args: {type: object, additionalProperties: false, required: [id], properties: {id: {type: string}}}
    effect: read
    reversibility: pure
    target: {kind: record, arg: /id}
    output: {trust: open, secrecy: internal}
    driver: none
policy:
  schema: countersign.policy/v1
  deny: [{name: no_secrets_file, action_types: [read_file], paths: [secret.txt]}]
";

const CHANGES: &str = "
schema: countersign.changes/v1
change_requests:
  - {id: CR-1, status: approved, requested_by: a@x.example, approved_by: [b@x.example], actions: [write_file],
     resources: [{kind: file, match: 'live/**'}]}
";

/// Writes a suite of these cases into `folder`.
pub(crate) fn write(folder: &Path, cases: &[Value]) {
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    raw(folder, &lines);
}

/// Writes a suite with this `cases.jsonl` into `folder`.
pub(crate) fn raw(folder: &Path, lines: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("suite.yaml"), SUITE).unwrap();
    std::fs::write(folder.join("changes.yaml"), CHANGES).unwrap();
    std::fs::write(folder.join("cases.jsonl"), lines).unwrap();
}

/// Settings for all cases at a fixed time.
pub(crate) fn settings(half: Half, jobs: usize) -> Settings {
    Settings { half, jobs, now: "2026-06-01T12:00:00Z".parse().unwrap() }
}

/// The report about the suite in `folder`, case by case.
pub(crate) fn decided(folder: &Path, settings: &Settings) -> Report {
    let suite = Suite::load(folder).unwrap();
    Report::of(&[run(&suite, settings).unwrap()], settings, true)
}
