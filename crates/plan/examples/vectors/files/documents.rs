//! Strict YAML: the JSON schema of YAML 1.2.

use countersign_plan::document;

use super::canonical::{SYNTAX, accept, refuse};
use super::{Cases, Input};

pub(super) const ACCEPTED: &str = "YAML of the YAML 1.2 JSON schema, read by the YAML reader whatever its first byte; the \
                                   canonical bytes of the value and their SHA-256. What matches no other type is a string.";
pub(super) const REFUSED: &str = "What a strict YAML reader refuses, and the JSON pointer that the error names (empty: the \
                                  whole document, or a place that is no value; absent: the text is no YAML).";

pub(super) fn accepted() -> Cases {
    TEXTS.iter().map(|(name, input, expected)| accept(name, &(*input).into(), expected, document::from_yaml)).collect()
}

const TEXTS: &[(&str, &str, &str)] = &[
    ("a mapping and a sequence", "a: 1\nb:\n  - x\n  - y: 2\n", r#"{"a":1,"b":["x",{"y":2}]}"#),
    ("a sequence at its key's indent", "a:\n- 1\n- 2\n", r#"{"a":[1,2]}"#),
    ("flow style", "a: {b: [1, two, \"3\"], c: {}}\n", r#"{"a":{"b":[1,"two","3"],"c":{}}}"#),
    ("JSON is YAML", "{\"a\": [1, \"b\", null, true]}", r#"{"a":[1,"b",null,true]}"#),
    ("a scalar alone", "word", r#""word""#),
    ("no, yes, on, off, y, n", "[no, yes, on, off, y, n, NO, Yes]", r#"["no","yes","on","off","y","n","NO","Yes"]"#),
    ("true and false", "[true, false, True, FALSE]", r#"[true,false,"True","FALSE"]"#),
    ("null", "a: null\nb: ~\nc:\nd: Null\n", r#"{"a":null,"b":null,"c":null,"d":"Null"}"#),
    ("dates and times", "[2026-01-01, 2026-01-01T00:00:00Z]", r#"["2026-01-01","2026-01-01T00:00:00Z"]"#),
    ("octal, hexadecimal, binary", "[0o14, 0x10, 0b1, 014, 1_000]", r#"["0o14","0x10","0b1","014","1_000"]"#),
    ("base 60", "[190:20:30, 1:30]", r#"["190:20:30","1:30"]"#),
    ("numbers", "[0, -1, 1.0, 1e3, 1.5e-9, 4.50]", "[0,-1,1,1000,1.5e-9,4.5]"),
    ("a version that is a number", "[1.10, 1.1.0, v1.10]", r#"[1.1,"1.1.0","v1.10"]"#),
    ("numbers of other schemas", "[+1, .5, -.5, 1e, e1]", r#"["+1",".5","-.5","1e","e1"]"#),
    ("quoted scalars are strings", "['1', \"true\", 'null', \"\"]", r#"["1","true","null",""]"#),
    ("escapes in double quotes", r#"a: "\u0061\x41\n\0\U0001F600""#, "{\"a\":\"aA\\n\\u0000\u{1f600}\"}"),
    ("no escapes in single quotes", r"a: 'it''s \n'", r#"{"a":"it's \\n"}"#),
    ("a literal block", "a: |\n  one\n    two\n\nb: |-\n  x\n", r#"{"a":"one\n  two\n","b":"x"}"#),
    ("a folded block", "a: >\n  one\n  two\n\n  three\n", r#"{"a":"one two\nthree\n"}"#),
    ("a plain scalar over two lines", "a: one\n  two\n", r#"{"a":"one two"}"#),
    ("line ends of Windows", "a: 1\r\nb: |\r\n  x\r\n  y\r\n", r#"{"a":1,"b":"x\ny\n"}"#),
    ("comments", "# first\na: 1 # second\nb: \"x # y\"\nc: x#y\n", r#"{"a":1,"b":"x # y","c":"x#y"}"#),
    ("markers of one document", "---\na: 1\n...\n", r#"{"a":1}"#),
    ("keys are texts", "1: a\ntrue: b\n~: c\n2026-01-01: d\n", r#"{"1":"a","2026-01-01":"d","true":"b","~":"c"}"#),
    ("a quoted << is a key", "\"<<\": 1\n", r#"{"<<":1}"#),
    ("references of a plan", "{$from: snap, at: /name}", r#"{"$from":"snap","at":"/name"}"#),
    ("colons and hashes inside words", "[a:b, http://x/y#z]", r#"["a:b","http://x/y#z"]"#),
    ("other scripts", "\u{e9}t\u{e9}: \u{1f600}\n", "{\"\u{e9}t\u{e9}\":\"\u{1f600}\"}"),
];

pub(super) fn refused() -> Cases {
    let mut cases = Vec::new();
    for (name, input, pointer) in REFUSALS {
        cases.push(refuse(name, &(*input).into(), pointer, document::from_yaml)?);
    }
    let more = [
        ("no UTF-8", Input::Bytes(b"a: \xff\n".to_vec()), String::new()),
        ("33 levels", Input::Parts(vec![("[", 33), ("]", 33)]), "/0".repeat(32)),
        ("a bomb of brackets", Input::Parts(vec![("[", 5_000)]), SYNTAX.to_owned()),
        ("more than 1 MiB", Input::Parts(vec![("# x\n", 1 << 18), ("a: 1", 1)]), String::new()),
    ];
    for (name, input, pointer) in more {
        cases.push(refuse(name, &input, &pointer, document::from_yaml)?);
    }
    Ok(cases)
}

const REFUSALS: &[(&str, &str, &str)] = &[
    ("an anchor", "a: &x 1\n", "/a"),
    ("an anchor on a mapping", "a: &x\n  b: 1\n", "/a"),
    ("an alias", "a: 1\nb: *a\n", "/b"),
    ("a billion laughs", "a: &a [x, x]\nb: &b [*a, *a]\n", "/a"),
    ("a tag", "a: !!str 1\n", "/a"),
    ("a tag of its own", "a: !secret 1\n", "/a"),
    ("the tag that says nothing", "a: ! 1\n", "/a"),
    ("a tag in full", "a: !<tag:yaml.org,2002:int> \"1\"\n", "/a"),
    ("a tag on a mapping", "!!map {a: 1}\n", ""),
    ("a merge key", "a: {<<: {b: 1}}\n", "/a"),
    ("a merge key in a block", "<<:\n  b: 1\n", ""),
    ("a key twice", "a: 1\nb: 2\na: 1\n", "/a"),
    ("a key twice, quoted once", "a: 1\n\"a\": 2\n", "/a"),
    ("a key twice by an escape", "a: 1\n\"\\u0061\": 2\n", "/a"),
    ("a key twice, below", "x:\n  - 0\n  - k: 1\n    k: 2\n", "/x/1/k"),
    ("a sequence as a key", "? [a]\n: 1\n", ""),
    ("a mapping as a key", "{{a: 1}: 2}\n", SYNTAX),
    ("two documents", "a: 1\n---\nb: 2\n", ""),
    ("nothing", "", SYNTAX),
    ("a comment alone", "# x\n", SYNTAX),
    ("a tab as indentation", "a:\n\tb: 1\n", SYNTAX),
    ("wrong indentation", "a:\n    b: 1\n  c: 2\n", SYNTAX),
    ("two values on a line", "a: b: c\n", SYNTAX),
    ("a string that is cut", "a: \"b\n", SYNTAX),
    ("a sequence that is cut", "a: [1, 2\n", SYNTAX),
    ("a reserved character", "a: @b\n", SYNTAX),
    ("a lone surrogate", "a: \"\\ud800\"\n", SYNTAX),
    ("a byte order mark", "\u{feff}a: 1\n", ""),
    ("NUL", "a: 1\n\0b: 2\n", ""),
    ("a control character", "a: x\u{1b}[31m\n", ""),
    ("not a number", "a: .nan\n", "/a"),
    ("infinity", "[1, -.inf]\n", "/1"),
    ("negative zero", "a: -0\n", "/a"),
    ("negative zero with a point", "a: [-0.0]\n", "/a/0"),
    ("2^53", "a: 9007199254740992\n", "/a"),
    ("more than a double holds", "a: 1e400\n", "/a"),
    ("a number that ends in its point", "a: 1.\n", "/a"),
];
