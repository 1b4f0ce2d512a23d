//! Strict JSON and its canonical bytes (RFC 8785).

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds, DocumentError};
use serde_json::{Value, json};

use super::{Cases, Differs, Input, differs, same};

pub(super) const ACCEPTED: &str = "Strict JSON within the bounds of a plan (1 MiB, 32 levels, 65536 values), its canonical \
                                   bytes (RFC 8785) and their SHA-256.";
pub(super) const REFUSED: &str = "What a strict JSON reader refuses, and the JSON pointer that the error names (empty: the whole document; absent: the \
     text is no JSON, and the place is the reader's own).";

pub(super) fn accepted() -> Cases {
    let mut cases = Vec::new();
    for (name, input, expected) in TEXTS {
        cases.push(accept(name, &(*input).into(), expected, document::from_json)?);
    }
    let deep = Input::Parts(vec![("[", 32), ("]", 32)]);
    cases.push(accept("32 levels", &deep, &format!("{}{}", "[".repeat(32), "]".repeat(32)), document::from_json)?);
    Ok(cases)
}

/// Inputs and the canonical text that each has.
const TEXTS: &[(&str, &str, &str)] = &[
    ("null", "null", "null"),
    ("booleans", "[true,\tfalse]", "[true,false]"),
    ("a string alone", "\"a\"", "\"a\""),
    ("white space", " \n\r\t{ \"a\" : [ ] , \"b\" : { } } \n", "{\"a\":[],\"b\":{}}"),
    ("zero", "[0,0.0,0e5,0.000]", "[0,0,0,0]"),
    ("integers", "[1,-1,10,-10]", "[1,-1,10,-10]"),
    ("the largest integers", "[9007199254740991,-9007199254740991]", "[9007199254740991,-9007199254740991]"),
    ("integral floats are integers", "[1.0,1e3,1E+2,9007199254740991.0,120e-1]", "[1,1000,100,9007199254740991,12]"),
    ("fractions", "[4.50,0.1,-0.5,2e-3]", "[4.5,0.1,-0.5,0.002]"),
    ("the change to exponents", "[1e-6,1e-7,1.5e-9]", "[0.000001,1e-7,1.5e-9]"),
    ("RFC 8785 section 3.2.2", "[333333333.33333329,0.000000000000000000000000001]", "[333333333.3333333,1e-27]"),
    ("the smallest number", "[5e-324,4.9406564584124654e-324]", "[5e-324,5e-324]"),
    (
        "every digit counts",
        "[8.383658838626809e-78,2.2250738585072011e-308]",
        "[8.383658838626809e-78,2.225073858507201e-308]",
    ),
    ("a half below 2^53", "[4503599627370495.5]", "[4503599627370495.5]"),
    ("below the smallest number", "[1e-400]", "[0]"),
    ("short escapes", r#""\b\f\n\r\t\"\\\/""#, r#""\b\f\n\r\t\"\\/""#),
    ("other control characters", r#""\u0000\u000B\u001f""#, r#""\u0000\u000b\u001f""#),
    ("what need not be escaped is not", r#""\u0041\u007f\u00e9\u20ac\u2028""#, "\"A\u{7f}\u{e9}\u{20ac}\u{2028}\""),
    ("a surrogate pair", r#""\ud83d\ude00""#, "\"\u{1f600}\""),
    ("texts are not normalised", "[\"\u{e9}\",\"e\u{301}\"]", "[\"\u{e9}\",\"e\u{301}\"]"),
    (
        "RFC 8785 section 3.2.3",
        r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
    ),
    ("members that look like indices", r#"{"10":1,"9":2,"1":3,"":4}"#, r#"{"":4,"1":3,"10":1,"9":2}"#),
    (
        "members that some languages reserve",
        r#"{"constructor":1,"__proto__":{"a":1}}"#,
        r#"{"__proto__":{"a":1},"constructor":1}"#,
    ),
    (
        "members that differ in case or form",
        "{\"b\":1,\"a\":2,\"B\":3,\"\u{e9}\":4,\"e\u{301}\":5}",
        "{\"B\":3,\"a\":2,\"b\":1,\"e\u{301}\":5,\"\u{e9}\":4}",
    ),
    ("members that are prefixes", r#"{"ab":1,"a":2,"a b":3,"a\u0000":4}"#, r#"{"a":2,"a\u0000":4,"a b":3,"ab":1}"#),
    ("nested", r#"{"z":[{"y":1,"x":{"d":[],"c":{}}}],"a":null}"#, r#"{"a":null,"z":[{"x":{"c":{},"d":[]},"y":1}]}"#),
];

/// The pointer of an error that comes before there is any value: another reader may name another place.
pub(super) const SYNTAX: &str = "?";

pub(super) fn refused() -> Cases {
    let mut cases = Vec::new();
    for (name, input, pointer) in REFUSALS {
        cases.push(refuse(name, &(*input).into(), pointer, document::from_json)?);
    }
    let bytes: [(&str, &[u8]); 6] = [
        ("no UTF-8", b"\"\xff\""),
        ("UTF-8 in too many bytes", b"\"\xc0\xaf\""),
        ("a surrogate in UTF-8", b"\"\xed\xa0\x80\""),
        ("UTF-8 that is cut", b"\"\xe2\x82\""),
        ("UTF-16", b"\xff\xfe\"\0a\0\"\0"),
        ("UTF-32", b"\"\0\0\0a\0\0\0\"\0\0\0"),
    ];
    for (name, input) in bytes {
        cases.push(refuse(name, &input.into(), "", document::from_json)?);
    }
    let bounds = [
        ("33 levels", Input::Parts(vec![("[", 33), ("]", 33)]), "/0".repeat(32)),
        ("33 levels of objects", Input::Parts(vec![("{\"a\":", 33), ("1", 1), ("}", 33)]), "/a".repeat(32)),
        ("a bomb of brackets", Input::Parts(vec![("[", 100_000)]), "/0".repeat(32)),
        ("more than 65536 values", Input::Parts(vec![("[", 1), ("0,", 65_535), ("0]", 1)]), "/65535".to_owned()),
        ("more than 1 MiB", Input::Parts(vec![("\"", 1), ("a", 1 << 20), ("\"", 1)]), String::new()),
        ("more than 1 MiB of white space", Input::Parts(vec![(" ", 1 << 20), ("1", 1)]), String::new()),
    ];
    for (name, input, pointer) in bounds {
        cases.push(refuse(name, &input, &pointer, document::from_json)?);
    }
    Ok(cases)
}

/// Inputs and the pointer that the refusal names.
const REFUSALS: &[(&str, &str, &str)] = &[
    ("a member twice", r#"{"a":1,"b":2,"a":1}"#, "/a"),
    ("a member twice by an escape", r#"{"a":1,"\u0061":2}"#, "/a"),
    ("a member twice by an escaped slash", r#"{"a/b":1,"a\/b":2}"#, "/a~1b"),
    ("a member twice, below", r#"{"x":[0,{"y":{"k":1,"k":2}}]}"#, "/x/1/y/k"),
    ("the empty member twice", r#"{"":1,"":2}"#, "/"),
    ("a member twice whose name needs escapes", r#"{"~/":{"":1,"":2}}"#, "/~0~1/"),
    ("negative zero", "[1,-0]", "/1"),
    ("negative zero with a point", "{\"a\":-0.0}", "/a"),
    ("negative zero with an exponent", "[-0e1]", "/0"),
    ("a negative number that is zero when read", "[-1e-400]", "/0"),
    ("2^53", "[9007199254740992]", "/0"),
    ("-2^53", "[-9007199254740992]", "/0"),
    ("2^53 + 1", "{\"n\":9007199254740993}", "/n"),
    ("2^53 as a float", "[9007199254740992.0]", "/0"),
    ("a float that rounds to 2^53", "[9007199254740991.5]", "/0"),
    ("1e16", "[1e16]", "/0"),
    ("2^64", "[18446744073709551616]", "/0"),
    ("more than a double holds", "[1e400]", SYNTAX),
    ("not a number", "[NaN]", SYNTAX),
    ("infinity", "[Infinity]", SYNTAX),
    ("a plus sign", "[+1]", SYNTAX),
    ("a leading zero", "[01]", SYNTAX),
    ("no digit before the point", "[.5]", SYNTAX),
    ("no digit after the point", "[1.]", SYNTAX),
    ("hexadecimal", "[0x10]", SYNTAX),
    ("a lone high surrogate", r#"{"a":["\ud800"]}"#, SYNTAX),
    ("a lone low surrogate", r#"["\udc00"]"#, SYNTAX),
    ("surrogates in the wrong order", r#"["\ude00\ud83d"]"#, SYNTAX),
    ("a high surrogate and a letter", r#"["\ud83da"]"#, SYNTAX),
    ("a lone surrogate in a name", r#"{"a":{"\ud800":1}}"#, SYNTAX),
    ("an unknown escape", r#"["\x41"]"#, SYNTAX),
    ("a line feed in a string", "[\"a\nb\"]", SYNTAX),
    ("a tab in a string", "[\"a\tb\"]", SYNTAX),
    ("NUL in a string", "[\"a\0b\"]", SYNTAX),
    ("NUL behind the end", "1\0", SYNTAX),
    ("single quotes", "['a']", SYNTAX),
    ("a comma behind the last element", "[1,]", SYNTAX),
    ("a comma behind the last member", r#"{"a":1,}"#, SYNTAX),
    ("a name without quotes", "{a:1}", SYNTAX),
    ("a comment", "[1] // x", SYNTAX),
    ("two documents", "{} {}", SYNTAX),
    ("nothing", "", SYNTAX),
    ("white space alone", " \n", SYNTAX),
    ("a byte order mark", "\u{feff}{}", ""),
    ("a no-break space as white space", "[1,\u{a0}2]", SYNTAX),
    ("a form feed as white space", "[1,\u{c}2]", SYNTAX),
    ("a document that is cut", r#"{"a":{"b":["#, SYNTAX),
    ("a string that is cut", r#"{"a":"b"#, SYNTAX),
];

type Read = fn(&[u8], Bounds) -> Result<Value, DocumentError>;

pub(super) fn accept(name: &str, input: &Input, expected: &str, read: Read) -> Result<Value, Differs> {
    let value = read(&input.bytes(), Bounds::PLAN).map_err(|e| differs(name, e))?;
    let bytes = canonical::to_vec(&value);
    same(name, &expected.to_owned(), &String::from_utf8_lossy(&bytes).into_owned())?;
    let (hex, digest) = (bytes.iter().map(|b| format!("{b:02x}")).collect::<String>(), Digest::of(&bytes));
    Ok(json!({"name": name, "input": input.json(), "canonical_hex": hex, "digest": digest}))
}

pub(super) fn refuse(name: &str, input: &Input, pointer: &str, read: Read) -> Result<Value, Differs> {
    match read(&input.bytes(), Bounds::PLAN) {
        Ok(value) => Err(differs(name, format!("accepted as {value}"))),
        Err(error) => {
            if pointer == SYNTAX {
                return Ok(json!({"name": name, "input": input.json(), "refused": {}}));
            }
            same(&format!("{name} ({error})"), &pointer.to_owned(), &error.pointer)?;
            Ok(json!({"name": name, "input": input.json(), "refused": {"pointer": pointer}}))
        }
    }
}
