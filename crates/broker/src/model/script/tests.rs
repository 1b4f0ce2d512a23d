//! A script is played as it is written.

use std::time::Duration;

use countersign_wire::infer::{Finish, Message, Request, Role};

use super::{Body, Piece, Played, Script};
use crate::model::fault::Fault;
use crate::model::openai::Chunks;
use crate::model::reading::{Parts, Reading};
use crate::model::written::Written;

fn script(yaml: &str) -> Script {
    Script::read(format!("schema: countersign.script/v1\nanswers:\n{yaml}").as_bytes()).unwrap()
}

fn request(said: &str) -> Request {
    let messages = vec![Message { role: Role::User, content: said.to_owned() }];
    Request { messages, schema: None, max_tokens: 100 }
}

fn read(played: Played) -> Result<Written, Fault> {
    let mut reading = Reading::begin(played.content_type, Parts::Openai(Chunks::new(false)))?;
    for piece in played.body {
        match piece {
            Piece::Bytes(bytes) => reading.take(&bytes)?,
            Piece::Wait(_) | Piece::Silence | Piece::Break => break,
        }
    }
    reading.finish()
}

fn text(script: &mut Script, case: &str, said: &str) -> Option<String> {
    script.play(case, &request(said)).map(|played| read(played).unwrap().text)
}

#[test]
fn answers_come_in_order_by_what_was_said_and_by_case() {
    let mut script = script("  - {when: tests, text: run them}\n  - {json: {steps: []}}\n  - {text: no, times: 0}\n");
    assert_eq!(text(&mut script, "a", "plan").as_deref(), Some(r#"{"steps":[]}"#));
    assert_eq!(text(&mut script, "a", "the tests fail").as_deref(), Some("run them"));
    assert_eq!(text(&mut script, "a", "the tests fail").as_deref(), Some("no"));
    assert_eq!(text(&mut script, "a", "plan").as_deref(), Some("no"));
    assert_eq!(text(&mut script, "b", "plan").as_deref(), Some(r#"{"steps":[]}"#));
    script.end("a");
    assert_eq!(text(&mut script, "a", "plan").as_deref(), Some(r#"{"steps":[]}"#));
}

#[test]
fn a_script_that_is_used_up_says_nothing() {
    let mut script = script("  - {text: once}\n");
    assert!(text(&mut script, "a", "x").is_some());
    assert!(script.play("a", &request("x")).is_none());
}

#[test]
fn ends_refusals_and_counts_are_played_as_a_provider_has_them() {
    let mut script = script(
        "  - {text: half, finish: length, usage: [7, 3]}\n  - {text: never, refuse: true}\n  - {text: '{}', call: rm}\n",
    );
    let half = read(script.play("a", &request("x")).unwrap()).unwrap();
    assert_eq!((half.finish, half.usage.input, half.usage.output), (Finish::Length, Some(7), Some(3)));
    let never = read(script.play("a", &request("x")).unwrap()).unwrap();
    assert_eq!((never.finish, never.text.as_str()), (Finish::Refusal, "never"));
    assert!(read(script.play("a", &request("x")).unwrap()).unwrap_err().message.contains("it was given none"));
}

#[test]
fn faults_are_played_too() {
    let mut script = script(
        "  - {status: 503, text: busy, retry_after: 2}\n  - {raw: true, text: '<html>'}\n  - {text: a, cut: true}\n  \
         - {text: a, hang: true, delay: 5}\n",
    );
    let busy = script.play("a", &request("x")).unwrap();
    assert_eq!((busy.status, busy.retry_after.as_deref()), (503, Some("2")));
    assert_eq!(busy.body.collect::<Vec<_>>(), [Piece::Bytes("busy".into())]);
    let garbage = script.play("a", &request("x")).unwrap();
    assert_eq!(garbage.body.collect::<Vec<_>>(), [Piece::Bytes("<html>".into())]);
    let last = |body: Body| body.last().unwrap();
    assert_eq!(last(script.play("a", &request("x")).unwrap().body), Piece::Break);
    let mut silent = script.play("a", &request("x")).unwrap().body;
    assert_eq!(silent.next(), Some(Piece::Wait(Duration::from_millis(5))));
    assert_eq!(last(silent), Piece::Silence);
}

#[test]
fn a_generated_answer_is_made_while_it_is_read() {
    let mut script =
        script("  - generate: [{text: '['}, {text: '{n},', times: 9999}, {text: '9999]'}]\n    times: 0\n");
    let written = text(&mut script, "a", "x").unwrap();
    let numbers: Vec<u32> = serde_json::from_str(&written).unwrap();
    assert_eq!(numbers, (0..10_000).collect::<Vec<_>>());
    let mut endless = self::script("  - generate: [{text: 'xxxxxxxxxxxxxxxx', times: 4000000000}]\n");
    let fault = read(endless.play("a", &request("x")).unwrap()).unwrap_err();
    assert!(fault.message.contains("longer than"), "{fault:?}");
}

#[test]
fn a_script_is_strict() {
    for (wrong, part) in [
        ("schema: countersign.script/v2\nanswers: []", "/schema"),
        ("schema: countersign.script/v1\nanswers: [{txt: a}]", "/answers/0"),
        ("schema: countersign.script/v1\nanswers: [{text: a, json: 1}]", "/answers/0"),
    ] {
        let error = Script::read(wrong.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
