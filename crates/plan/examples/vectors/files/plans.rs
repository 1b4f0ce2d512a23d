//! Drafts and intents.

use countersign_plan::draft::Draft;
use countersign_plan::intent::Proposal;
use serde_json::{Value, json};

use super::{Cases, Differs, Input, differs, same};

pub(super) const ACCEPTED: &str = "Drafts (countersign.plan/v1) that are read, JSON or YAML: their digest, and for each step \
                                   the earlier steps that it waits for, by `needs` and by data.";
pub(super) const REFUSED: &str = "Drafts that are refused, and the JSON pointer that the error names.";
pub(super) const INTENTS: &str =
    "Intents (countersign.intent/v1): the digest of the one-step plan that each is, or the pointer of the refusal.";

/// The example of the specification.
const EXAMPLE: &str = include_str!("../../../src/draft/example.yaml");

fn step(id: &str, args: Value) -> Value {
    json!({"id": id, "action": "read_file", "args": args})
}

fn draft(steps: Value) -> Value {
    json!({"schema": "countersign.plan/v1", "goal": "g", "steps": steps})
}

fn one(field: &str, value: Value) -> Value {
    let mut step = step("a", json!({"path": "x"}));
    put(&mut step, field, value);
    draft(json!([step]))
}

fn with(field: &str, value: Value) -> Value {
    let mut draft = draft(json!([step("a", json!({}))]));
    put(&mut draft, field, value);
    draft
}

fn put(object: &mut Value, field: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(field.to_owned(), value);
    }
}

pub(super) fn accepted() -> Cases {
    let longest_id = format!("a{}", "9".repeat(31));
    let good: Vec<(&str, Input, &[&[&str]])> = vec![
        ("the specification's example", EXAMPLE.into(), &[&[], &["snap"]]),
        ("one step", (&draft(json!([step("a", json!({}))]))).into(), &[&[]]),
        ("a step without arguments", (&draft(json!([{"id": "a", "action": "x"}]))).into(), &[&[]]),
        ("the longest id", (&draft(json!([step(&longest_id, json!({}))]))).into(), &[&[]]),
        (
            "needs and data",
            (&draft(json!([
                step("a", json!({})),
                step("b", json!({"x": {"$from": "a", "at": "/y/0"}})),
                {"id": "c", "action": "x", "args": {"j": [{"$join": ["p", 1, true, {"$from": "b"}]}]}, "needs": ["a", "a"]}
            ])))
                .into(),
            &[&[], &["a"], &["a", "b"]],
        ),
        (
            "a literal that looks like a reference",
            (&draft(json!([step("a", json!({"x": {"$lit": {"$from": "nobody", "$join": 1}}}))]))).into(),
            &[&[]],
        ),
        (
            "a rollback that uses its own output",
            (&one("rollback", json!({"action": "delete_file", "args": {"path": {"$from": "a", "at": "/p"}}}))).into(),
            &[&[]],
        ),
        ("inputs and secrets", (&one("args", json!({"to": {"$input": "to"}, "key": {"$secret": "aws-staging"}}))).into(), &[&[]]),
        ("every bound is nothing", (&with("privileges", json!({"read": [], "write": [], "connect": [], "run": [], "secrets": []}))).into(), &[&[]]),
        ("connections", (&with("privileges", json!({"connect": ["h:1", "*:443", "h:65535", "[::1]:80", "h:*"]}))).into(), &[&[]]),
        ("an argument named at", (&one("args", json!({"at": "/x", "from": "a"}))).into(), &[&[]]),
        (
            "YAML and JSON of one plan are one plan (1)",
            "schema: countersign.plan/v1\ngoal: g\nsteps: [{id: a, action: read_file, args: {path: no, n: 1.0}}]\n".into(),
            &[&[]],
        ),
        (
            "YAML and JSON of one plan are one plan (2)",
            r#" {"steps":[{"args":{"n":1,"path":"no"},"action":"read_file","id":"a"}],"goal":"g","schema":"countersign.plan/v1"}"#.into(),
            &[&[]],
        ),
        ("hidden text in a reason is kept, escaped when shown", (&one("reason", json!("a\u{202e}b"))).into(), &[&[]]),
    ];
    good.into_iter().map(|(name, input, after)| accept(name, &input, after)).collect()
}

fn accept(name: &str, input: &Input, after: &[&[&str]]) -> Result<Value, Differs> {
    let draft = Draft::read(&input.bytes()).map_err(|e| differs(name, e))?;
    let found: Vec<Vec<&str>> = draft.steps().iter().map(|s| s.after.iter().map(|id| id.as_str()).collect()).collect();
    same(name, &after.iter().map(|ids| ids.to_vec()).collect(), &found)?;
    let steps: Vec<Value> =
        draft.steps().iter().map(|s| json!({"id": s.id, "action": s.action, "after": s.after})).collect();
    let (expires, digest) = (draft.expires_in().as_millis(), draft.digest());
    Ok(json!({"name": name, "input": input.json(), "draft_digest": digest, "steps": steps, "expires_in_ms": expires}))
}

pub(super) fn refused() -> Cases {
    let many: Vec<Value> = (0..513).map(|i| json!({"id": format!("s{i}"), "action": "x"})).collect();
    let expectations = vec![json!({"exit_code": 0}); 65];
    let matching = |id: &str, count: usize| json!({"id": id, "action": "x", "expect": vec![json!({"output": "", "matches": "a"}); count]});
    let args = |value: Value| draft(json!([step("a", json!({"x": value}))]));
    let ids = |ids: &[&str]| draft(ids.iter().map(|id| step(id, json!({}))).collect());
    let bad: Vec<(&str, Value, &str)> = vec![
        ("no object", json!([]), ""),
        ("another schema", with("schema", json!("countersign.plan/v2")), "/schema"),
        ("no schema", json!({"goal": "g", "steps": []}), ""),
        ("an unknown field", with("approved", json!(true)), "/approved"),
        ("a field in another case", with("Goal", json!("g")), "/Goal"),
        ("no goal", with("goal", json!(" \n")), "/goal"),
        ("a goal that is no text", with("goal", json!(["g"])), "/goal"),
        ("a long goal", with("goal", json!("g".repeat((16 << 10) + 1))), "/goal"),
        ("no steps", draft(json!([])), "/steps"),
        ("steps by name", draft(json!({"a": step("a", json!({}))})), "/steps"),
        ("513 steps", draft(Value::from(many)), "/steps"),
        ("an unknown field of a step", one("sudo", json!(true)), "/steps/0/sudo"),
        ("a step without a tool", draft(json!([{"id": "a"}])), "/steps/0"),
        ("an id in upper case", ids(&["A"]), "/steps/0/id"),
        ("an id that starts with a digit", ids(&["1a"]), "/steps/0/id"),
        ("an id with a space", ids(&["a "]), "/steps/0/id"),
        ("an empty id", ids(&[""]), "/steps/0/id"),
        ("an id of 33 characters", ids(&[&"a".repeat(33)]), "/steps/0/id"),
        ("an id with a Cyrillic letter", ids(&["drop", "dr\u{43e}p"]), "/steps/1/id"),
        ("an id with a full-width letter", ids(&["\u{ff41}"]), "/steps/0/id"),
        ("an id with an invisible character", ids(&["a\u{200b}"]), "/steps/0/id"),
        ("an id twice", ids(&["a", "b", "a"]), "/steps/2/id"),
        ("a tool with a space", one("action", json!("read file")), "/steps/0/action"),
        ("a tool with a Cyrillic letter", one("action", json!("re\u{430}d_file")), "/steps/0/action"),
        ("arguments that are a list", one("args", json!(["x"])), "/steps/0/args"),
        ("arguments that are a reference", one("args", json!({"$from": "a"})), "/steps/0/args"),
        ("an argument named like a reference", one("args", json!({"path": "x", "$input": "y"})), "/steps/0/args"),
        ("a reference to nothing", args(json!({"$from": "z"})), "/steps/0/args/x"),
        ("a reference to its own step", args(json!({"$from": "a"})), "/steps/0/args/x"),
        (
            "a reference to a later step",
            draft(json!([step("a", json!({"x": {"$from": "b"}})), step("b", json!({}))])),
            "/steps/0/args/x",
        ),
        (
            "a reference to a look-alike",
            draft(json!([step("a", json!({})), step("b", json!({"x": {"$from": "\u{430}"}}))])),
            "/steps/1/args/x",
        ),
        ("a reference below a join", args(json!([{"$join": ["p", {"$from": "z"}]}])), "/steps/0/args/x/0"),
        ("a reference with a member too many", args(json!({"$from": "a", "at": "", "default": 1})), "/steps/0/args/x"),
        ("two references in one", args(json!({"$input": "a", "$secret": "b"})), "/steps/0/args/x"),
        ("an unknown reference", args(json!({"$env": "HOME"})), "/steps/0/args/x"),
        ("a reference in capitals", args(json!({"$From": "a"})), "/steps/0/args/x"),
        ("a member named $ alone", args(json!({"$": 1})), "/steps/0/args/x"),
        ("a $ member beside others", args(json!({"a": 1, "$b": 2})), "/steps/0/args/x"),
        ("a pointer without its slash", args(json!({"$from": "a", "at": "x"})), "/steps/0/args/x/at"),
        ("a pointer with a wrong escape", args(json!({"$from": "a", "at": "/~2"})), "/steps/0/args/x/at"),
        ("a pointer that is a number", args(json!({"$from": "a", "at": 0})), "/steps/0/args/x/at"),
        ("a step that is a number", args(json!({"$from": 1})), "/steps/0/args/x"),
        ("a join of nothing", args(json!({"$join": []})), "/steps/0/args/x"),
        ("a join that is a text", args(json!({"$join": "ab"})), "/steps/0/args/x"),
        ("a join with a fraction", args(json!({"$join": ["a", 1.5]})), "/steps/0/args/x/$join/1"),
        ("a join with an object", args(json!({"$join": [{"a": 1}]})), "/steps/0/args/x/$join/0"),
        ("a join with a literal", args(json!({"$join": [{"$lit": "a"}]})), "/steps/0/args/x/$join/0"),
        ("a literal that passes for a secret", args(json!({"$lit": {"a": [{"$secret": "aws"}]}})), "/steps/0/args/x"),
        ("a secret without a name", args(json!({"$secret": ""})), "/steps/0/args/x"),
        ("an input by number", args(json!({"$input": 1})), "/steps/0/args/x"),
        (
            "a wrong reference below names that need escapes",
            args(json!({"a/b": {"~": {"$env": 1}}})),
            "/steps/0/args/x/a~1b/~0",
        ),
        (
            "needs a later step",
            draft(json!([{"id": "a", "action": "x", "needs": ["b"]}, step("b", json!({}))])),
            "/steps/0/needs/0",
        ),
        ("needs itself", one("needs", json!(["a"])), "/steps/0/needs/0"),
        ("an expectation of no form", one("expect", json!([{"exit_code": 0}, {"stdout": "x"}])), "/steps/0/expect/1"),
        (
            "an expectation of two forms",
            one("expect", json!([{"output": "", "equals": 1, "min": 0}])),
            "/steps/0/expect/0",
        ),
        (
            "an expectation whose pointer is wrong",
            one("expect", json!([{"output": "x", "equals": 1}])),
            "/steps/0/expect/0/output",
        ),
        (
            "an expression that does not compile",
            one("expect", json!([{"output": "", "matches": "("}])),
            "/steps/0/expect/0/matches",
        ),
        (
            "an expression that is too large",
            one("expect", json!([{"output": "", "matches": "(a{1000}){1000}"}])),
            "/steps/0/expect/0/matches",
        ),
        ("an exit code that is a fraction", one("expect", json!([{"exit_code": 0.5}])), "/steps/0/expect/0/exit_code"),
        ("no exit code at all", one("expect", json!([{"exit_code": {"in": []}}])), "/steps/0/expect/0/exit_code"),
        (
            "a digest in upper case",
            one("expect", json!([{"file": "x", "sha256": "A".repeat(64)}])),
            "/steps/0/expect/0/sha256",
        ),
        ("65 expectations", one("expect", Value::from(expectations)), "/steps/0/expect"),
        (
            "129 expressions in one plan",
            draft(json!([matching("a", 64), matching("b", 64), matching("c", 1)])),
            "/steps/2/expect",
        ),
        ("a rollback of no form", one("rollback", json!("undo")), "/steps/0/rollback"),
        (
            "a rollback with an unknown field",
            one("rollback", json!({"action": "x", "when": "later"})),
            "/steps/0/rollback",
        ),
        (
            "a rollback that uses a later step",
            draft(
                json!([{"id": "a", "action": "x", "rollback": {"action": "y", "args": {"p": {"$from": "b"}}}}, step("b", json!({}))]),
            ),
            "/steps/0/rollback/args/p",
        ),
        ("irreversible as a text", one("irreversible", json!("false")), "/steps/0/irreversible"),
        ("a long reason", one("reason", json!("r".repeat((4 << 10) + 1))), "/steps/0/reason"),
        ("a change request that hides", one("change_request", json!("CR-1\u{2066}")), "/steps/0/change_request"),
        ("an unknown privilege", with("privileges", json!({"admin": []})), "/privileges/admin"),
        ("a privilege that hides", with("privileges", json!({"write": ["a", "b\u{200d}"]})), "/privileges/write/1"),
        ("a privilege of two scripts", with("privileges", json!({"read": ["/p\u{430}ypal"]})), "/privileges/read/0"),
        ("a connection without a port", with("privileges", json!({"connect": ["h"]})), "/privileges/connect/0"),
        ("a connection to port 0", with("privileges", json!({"connect": ["h:0"]})), "/privileges/connect/0"),
        ("a port with a sign", with("privileges", json!({"connect": ["h:+80"]})), "/privileges/connect/0"),
        ("a port above 65535", with("privileges", json!({"connect": ["h:65536"]})), "/privileges/connect/0"),
        ("no time to run", with("expires_in", json!("0s")), "/expires_in"),
        ("a time without a unit", with("expires_in", json!("15")), "/expires_in"),
        ("a time that is a number", with("expires_in", json!(15)), "/expires_in"),
        ("a time that overflows", with("expires_in", json!("99999999999999999999d")), "/expires_in"),
    ];
    let mut cases = Vec::new();
    for (name, input, pointer) in bad {
        cases.push(refuse(name, &(&input).into(), pointer, |bytes| Draft::read(bytes).map(drop))?);
    }
    let texts = [
        ("a member twice", r#"{"schema":"countersign.plan/v1","goal":"g","goal":"h","steps":[]}"#, "/goal"),
        (
            "an argument twice by an escape",
            r#"{"schema":"countersign.plan/v1","goal":"g","steps":[{"id":"a","action":"x","args":{"path":"a","p\u0061th":"b"}}]}"#,
            "/steps/0/args/path",
        ),
        ("a YAML alias", "schema: countersign.plan/v1\ngoal: &g x\nsteps: [{id: a, action: x, reason: *g}]\n", "/goal"),
        ("neither", "", ""),
    ];
    for (name, input, pointer) in texts {
        cases.push(refuse(name, &input.into(), pointer, |bytes| Draft::read(bytes).map(drop))?);
    }
    Ok(cases)
}

fn refuse(
    name: &str,
    input: &Input,
    pointer: &str,
    read: fn(&[u8]) -> Result<(), countersign_plan::document::DocumentError>,
) -> Result<Value, Differs> {
    match read(&input.bytes()) {
        Ok(()) => Err(differs(name, "accepted")),
        Err(error) => {
            same(&format!("{name} ({error})"), &pointer.to_owned(), &error.pointer)?;
            Ok(json!({"name": name, "input": input.json(), "refused": {"pointer": pointer}}))
        }
    }
}

pub(super) fn intents() -> Cases {
    let intent = |extra: Value| {
        let mut intent = json!({"schema": "countersign.intent/v1", "action": "read_file", "args": {"path": "a"}});
        if let (Some(members), Value::Object(extra)) = (intent.as_object_mut(), extra) {
            members.extend(extra);
        }
        intent
    };
    let mut cases = Vec::new();
    for (name, value) in [
        ("an action", intent(json!({}))),
        ("with words", intent(json!({"reason": "look", "target": "a", "idempotency_key": "k"}))),
        ("with a change request", intent(json!({"change_request": "CR-1"}))),
    ] {
        let input = Input::from(&value);
        let proposal = Proposal::read(&input.bytes()).map_err(|e| differs(name, e))?;
        let (digest, source) = (proposal.draft().digest(), proposal.draft().source());
        cases.push(json!({"name": name, "input": input.json(), "draft": source, "draft_digest": digest}));
    }
    for (name, value, pointer) in [
        ("another schema", intent(json!({"schema": "x"})), "/schema"),
        ("an unknown field", intent(json!({"goal": "g"})), "/goal"),
        ("a reference to a step", intent(json!({"args": {"path": {"$from": "act"}}})), "/args/path"),
        ("a reason that is too long", intent(json!({"reason": "r".repeat(4097)})), "/reason"),
    ] {
        cases.push(refuse(name, &(&value).into(), pointer, |bytes| Proposal::read(bytes).map(drop))?);
    }
    Ok(cases)
}
