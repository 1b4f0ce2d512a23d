//! The checked-in schema is what the types say.

use std::process::Command;

#[test]
fn the_schema_in_the_repository_is_current() {
    let printed = Command::new(env!("CARGO_BIN_EXE_countersign-broker")).arg("--schema").output().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/broker.schema.json");
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(
        String::from_utf8(printed.stdout).unwrap() == kept,
        "countersign-broker --schema > schema/broker.schema.json"
    );
}

#[test]
fn the_variables_that_a_configuration_names_are_printed() {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign-broker"));
    let mut child = command.arg("--variables").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let text = "schema: countersign.broker/v1\nsecrets: {b: {from: {env: B_KEY}}, a: {from: {env: A_KEY}}, c: {from: {file: /x}}}";
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"A_KEY\nB_KEY\n");
}
