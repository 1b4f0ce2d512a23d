//! Whole conversations over bytes, and bytes that are none.

use std::io::{self, Cursor, Read, Write};

use countersign_wire::frame;
use countersign_wire::planner::{FromPlanner, ToPlanner, from_planner, to_planner};
use serde_json::json;

use super::{ChannelError, serve};
use crate::sample::{BOUNDS, answer, task};

/// A monitor that has said everything in advance.
struct Script {
    input: Cursor<Vec<u8>>,
    output: Vec<u8>,
}

impl Read for Script {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer)
    }
}

impl Write for Script {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn played(kinds: Vec<Option<to_planner::Kind>>) -> (Result<(), ChannelError>, Vec<from_planner::Kind>) {
    let mut input = Vec::new();
    for kind in kinds {
        input.extend(frame::encode(&ToPlanner { kind }).unwrap());
    }
    let mut script = Script { input: Cursor::new(input), output: Vec::new() };
    let result = serve(&mut script);
    let mut rest = script.output.as_slice();
    let mut said = Vec::new();
    while let Ok(message) = frame::read::<FromPlanner>(&mut rest, frame::FRAME_LIMIT) {
        said.push(message.kind.unwrap());
    }
    (result, said)
}

fn start() -> Option<to_planner::Kind> {
    let task = serde_json::to_vec(&task(&["files"], BOUNDS)).unwrap();
    Some(to_planner::Kind::Start(to_planner::Start { task }))
}

fn inferred(outcome: Vec<u8>) -> Option<to_planner::Kind> {
    Some(to_planner::Kind::Inferred(to_planner::Inferred { outcome }))
}

#[test]
fn a_conversation_ends_with_the_answer() {
    let text = r#"{"turn": {"answer": {"text": "done"}}}"#;
    let (result, said) = played(vec![start(), inferred(serde_json::to_vec(&answer(text)).unwrap())]);
    result.unwrap();
    assert!(
        matches!(&said[..], [from_planner::Kind::Infer(_), from_planner::Kind::Answer(a)] if a.text == "done"),
        "{said:?}"
    );
}

#[test]
fn the_task_comes_once_and_first() {
    let (result, said) = played(vec![inferred(b"{}".to_vec())]);
    assert!(matches!(result, Err(ChannelError::Task)) && said.is_empty());
    assert!(matches!(played(vec![start(), start()]).0, Err(ChannelError::Task)));
    assert!(played(vec![start()]).0.is_err(), "the monitor went away");
    assert!(matches!(played(vec![start(), None]).0, Err(ChannelError::Frame(_))));
}

#[test]
fn a_document_that_is_not_strict_ends_the_planner() {
    let text = serde_json::to_string(&answer("x")).unwrap();
    for outcome in [
        text.replacen('{', "{\"extra\": 1,", 1),
        text.replacen("\"text\"", "\"text\":\"y\",\"text\"", 1),
        json!({}).to_string(),
        "[".repeat(1000),
    ] {
        let (result, said) = played(vec![start(), inferred(outcome.into_bytes())]);
        assert!(matches!(result, Err(ChannelError::Document { what: "outcome", .. })), "{result:?}");
        assert_eq!(said.len(), 1);
    }
}
