//! JSON pointers (RFC 6901) and patterns of them.

use countersign_plan::pointer::Pointer;
use serde_json::{Value, json};

use super::{Cases, Differs, differs, same};

pub(super) const POINTERS: &str = "JSON pointers (RFC 6901): the segments, unescaped, or a refusal; and the value in \
                                   `document`, or that there is none (`absent`).";
pub(super) const PATTERNS: &str = "Patterns, in which `*` stands for one index or key: what they match in `document`, and \
                                   which pointers they cover (a label covers its subtree).";

fn parse(text: &str) -> Result<Pointer, Differs> {
    text.parse().map_err(|e| differs(text, e))
}

pub(super) fn pointers() -> Cases {
    let document = json!({"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8, "~1": 9, "*": 10, "\u{e9}": 11});
    let rows: [(&str, &[&str], Option<Value>); 24] = [
        ("", &[], Some(document.clone())),
        ("/foo", &["foo"], Some(json!(["bar", "baz"]))),
        ("/foo/0", &["foo", "0"], Some(json!("bar"))),
        ("/", &[""], Some(json!(0))),
        ("/a~1b", &["a/b"], Some(json!(1))),
        ("/c%d", &["c%d"], Some(json!(2))),
        ("/e^f", &["e^f"], Some(json!(3))),
        ("/g|h", &["g|h"], Some(json!(4))),
        ("/i\\j", &["i\\j"], Some(json!(5))),
        ("/k\"l", &["k\"l"], Some(json!(6))),
        ("/ ", &[" "], Some(json!(7))),
        ("/m~0n", &["m~n"], Some(json!(8))),
        ("/~01", &["~1"], Some(json!(9))),
        ("/*", &["*"], Some(json!(10))),
        ("/\u{e9}", &["\u{e9}"], Some(json!(11))),
        ("/e\u{301}", &["e\u{301}"], None),
        ("/foo/00", &["foo", "00"], None),
        ("/foo/+1", &["foo", "+1"], None),
        ("/foo/-", &["foo", "-"], None),
        ("/foo/2", &["foo", "2"], None),
        ("/foo/99999999999999999999", &["foo", "99999999999999999999"], None),
        ("/foo/\u{661}", &["foo", "\u{661}"], None),
        ("/foo/0/0", &["foo", "0", "0"], None),
        ("//", &["", ""], None),
    ];
    let mut cases = Vec::new();
    for (text, segments, value) in rows {
        let pointer = parse(text)?;
        same(text, &segments.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>(), &pointer.segments().to_vec())?;
        same(text, &text.to_owned(), &pointer.to_string())?;
        same(text, &value.as_ref(), &pointer.get(&document))?;
        let mut case = json!({"pointer": text, "segments": segments, "document": document});
        match value {
            Some(value) => case["value"] = value,
            None => case["absent"] = json!(true),
        }
        cases.push(case);
    }
    for text in ["foo", "#/foo", " /foo", "/~", "/a~", "/~2", "/~~0", "/~~01", "/~ 0", "~1"] {
        if text.parse::<Pointer>().is_ok() {
            return Err(differs(text, "accepted"));
        }
        cases.push(json!({"pointer": text, "refused": {}}));
    }
    Ok(cases)
}

pub(super) fn patterns() -> Cases {
    let document =
        json!({"rows": [{"to": "a"}, {"to": "b", "cc": "c"}, 3], "by": {"x~": {"to": 1}, "y": {}}, "*": {"to": 2}});
    let matches: [(&str, &[&str]); 7] = [
        ("", &[""]),
        ("/rows/*/to", &["/rows/0/to", "/rows/1/to"]),
        ("/rows/*", &["/rows/0", "/rows/1", "/rows/2"]),
        ("/by/*/to", &["/by/x~0/to"]),
        ("/rows/1/cc", &["/rows/1/cc"]),
        ("/rows/*/to/*", &[]),
        ("/*/to", &["/*/to"]),
    ];
    let covers: [(&str, &str, bool); 7] = [
        ("", "/a/b", true),
        ("/rows/*", "/rows/7/to", true),
        ("/rows/*", "/rows", false),
        ("/rows/*/to", "/rows/0/cc", false),
        ("/rows", "/rowsx", false),
        ("/a~1b", "/a/b", false),
        ("/x", "/*", false),
    ];
    let mut cases = Vec::new();
    for (pattern, expected) in matches {
        let found: Vec<String> = parse(pattern)?.matches(&document).iter().map(|(at, _)| at.to_string()).collect();
        same(pattern, &expected.iter().map(|s| (*s).to_owned()).collect(), &found)?;
        cases.push(json!({"pattern": pattern, "document": document, "matches": expected}));
    }
    for (pattern, at, expected) in covers {
        same(pattern, &expected, &parse(pattern)?.covers(&parse(at)?))?;
        cases.push(json!({"pattern": pattern, "at": at, "covers": expected}));
    }
    Ok(cases)
}
