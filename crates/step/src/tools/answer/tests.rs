//! Bodies: what is read, and what is hostile.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Body, read};

const BUDGET: usize = 1 << 20;

fn xml(text: &str) -> Result<Value, String> {
    let read = read(text.as_bytes(), 0, Body::Xml, BUDGET);
    match read.note {
        None => Ok(read.body),
        Some((name, why)) => {
            assert_eq!(
                (name, read.body.as_str()),
                ("body_unread", Some(text)),
                "what cannot be read is given as it is"
            );
            Err(why)
        }
    }
}

#[test]
fn xml_becomes_an_object_by_element_names() {
    let text = r#"<?xml version="1.0"?><!-- c --><R xmlns="urn:x"><S id="1&amp;2">a &lt; b &#65;</S><L><M>1</M><M>2</M><M/></L><E/><![CDATA[ ]]></R>"#;
    let expected =
        json!({"R": {"@xmlns": "urn:x", "S": {"@id": "1&2", "#text": "a < b A"}, "L": {"M": ["1", "2", ""]}, "E": ""}});
    assert_eq!(xml(text).unwrap(), expected);
}

#[test]
fn an_entity_bomb_an_outside_entity_and_a_document_type_are_not_read() {
    for text in [
        r#"<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>"#,
        r#"<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>"#,
        "<a>&undefined;</a>",
        "<a b='&undefined;'/>",
        "<a><b></a></b>",
        "<a>",
        "</a>",
        "text",
        "<a/>text",
        "<a b='1' b='2'/>",
    ] {
        assert!(xml(text).is_err(), "{text}");
    }
}

#[test]
fn depth_and_number_are_bounded() {
    assert!(xml(&format!("{}{}", "<a>".repeat(40), "</a>".repeat(40))).is_ok());
    assert!(xml(&format!("{}{}", "<a>".repeat(50_000), "</a>".repeat(50_000))).is_err());
    assert!(xml(&format!("<a>{}</a>", "<b/>".repeat(140_000))).is_err());
    for text in ["[".repeat(100_000), format!("[{}1]", "1,".repeat(140_000))] {
        let read = read(text.as_bytes(), 0, Body::Json, BUDGET);
        assert!(read.note.is_some_and(|(name, _)| name == "body_unread"));
    }
}

#[test]
fn a_body_that_is_not_what_the_manifest_says_is_given_as_text() {
    let page = read(b"<html>", 0, Body::Json, BUDGET);
    assert_eq!((page.body, page.note.map(|(name, _)| name)), (json!("<html>"), Some("body_unread")));
    assert_eq!(read(b"", 0, Body::Json, BUDGET).body, Value::Null);
    let cut = read(br#"{"a": 1}"#, 5, Body::Json, BUDGET);
    assert_eq!((cut.body, cut.dropped), (json!(r#"{"a": 1}"#), 5), "half a document is none");
    let large = format!("[{}1]", "\"x\",".repeat(1000));
    assert!(read(large.as_bytes(), 0, Body::Json, 100).note.is_some());
}

#[test]
fn text_is_cut_between_characters_and_bytes_are_base64() {
    let cut = read("aé".as_bytes().get(..2).unwrap(), 7, Body::Raw, BUDGET);
    assert_eq!((cut.body, cut.dropped, cut.note), (json!("a"), 8, None));
    let bytes = read(b"a\xff", 0, Body::Raw, BUDGET);
    assert_eq!((bytes.body, bytes.note), (json!("Yf8="), Some(("body_encoding", "base64".to_owned()))));
    let large = read(&[0xff; 4000], 0, Body::Raw, 400);
    assert!(large.body.as_str().unwrap().len() <= 400 && large.dropped == 3700);
}

proptest! {
    #[test]
    fn no_bytes_break_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[<>&;/a!\\[\\]CDATA\"'= ]{0,60}") {
        for form in [Body::Raw, Body::Json, Body::Xml] {
            drop(read(&bytes, 0, form, 64));
            drop(read(text.as_bytes(), 0, form, 64));
        }
    }
}
