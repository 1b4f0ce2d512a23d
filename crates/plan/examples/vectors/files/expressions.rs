//! Argument expressions and expectations.

use countersign_plan::expect::{Expect, check_step};
use countersign_plan::observation::Observation;
use countersign_plan::resolve::{Inputs, Outputs, ResolveError, resolve as value_of};
use countersign_plan::value::Expr;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Cases, Differs, differs, same};

pub(super) const RESOLVE: &str = "Argument expressions over the outputs of earlier steps and the user's inputs: the concrete \
                                  value, or why there is none (no_output, missing, no_input, join, forged).";
pub(super) const EXPECT: &str = "A step's expectations against what it showed, the defaults (exit code 0, HTTP 2xx) \
                                 included: held or missed. Paths are absolute already.";

fn typed<T: DeserializeOwned>(name: &str, value: &Value) -> Result<T, Differs> {
    T::deserialize(value).map_err(|e| differs(name, e))
}

pub(super) fn resolve() -> Cases {
    let outputs = json!({"s1": {"n": 3, "f": 1.5, "to": "a@b.example", "list": ["x", {"k~/": null}], "yes": true, "": 0, "auth": {"$secret": "aws"}}, "s3": [1]});
    let inputs = json!({"to": "c@d.example", "rows": [1, 2], "auth": [{"$secret": "aws"}]});
    let good = [
        ("a literal", json!({"a": [1, "b", null]}), json!({"a": [1, "b", null]})),
        ("the type is kept", json!({"$from": "s1", "at": "/n"}), json!(3)),
        ("an object is kept", json!({"$from": "s1", "at": "/list/1"}), json!({"k~/": null})),
        ("null is a value", json!({"$from": "s1", "at": "/list/1/k~0~1"}), json!(null)),
        ("the empty name", json!({"$from": "s1", "at": "/"}), json!(0)),
        ("the whole output", json!({"x": {"$from": "s3"}}), json!({"x": [1]})),
        (
            "a join",
            json!({"$join": ["n=", {"$from": "s1", "at": "/n"}, ", ", {"$from": "s1", "at": "/yes"}]}),
            json!("n=3, true"),
        ),
        ("a join in a join", json!({"$join": [{"$join": ["a", -1]}, {"$input": "to"}]}), json!("a-1c@d.example")),
        ("an input", json!([{"$input": "rows"}]), json!([[1, 2]])),
        ("a secret stays a handle", json!({"key": {"$secret": "aws"}}), json!({"key": {"$secret": "aws"}})),
        (
            "a literal with $ keys",
            json!({"$lit": {"$from": "s1", "$x": [{"$input": "to"}]}}),
            json!({"$from": "s1", "$x": [{"$input": "to"}]}),
        ),
    ];
    let bad = [
        ("a step that has not run", json!({"$from": "s2"}), "no_output"),
        ("a missing field", json!([{"$from": "s1", "at": "/cc"}]), "missing"),
        ("an index with a leading zero", json!({"$from": "s1", "at": "/list/00"}), "missing"),
        ("the index behind the end", json!({"$from": "s1", "at": "/list/-"}), "missing"),
        ("a field of a text", json!({"$from": "s1", "at": "/to/0"}), "missing"),
        ("a star is a name here", json!({"$from": "s1", "at": "/list/*"}), "missing"),
        ("no such input", json!({"$input": "cc"}), "no_input"),
        ("a join with a fraction", json!({"$join": ["a", {"$from": "s1", "at": "/f"}]}), "join"),
        ("a join with null", json!({"$join": [{"$from": "s1", "at": "/list/1/k~0~1"}]}), "join"),
        ("a join with an array", json!({"$join": [{"$input": "rows"}]}), "join"),
        ("an output that passes for a secret", json!({"auth": {"$from": "s1", "at": "/auth"}}), "forged"),
        ("a whole output that holds one", json!({"$from": "s1"}), "forged"),
        ("an input that passes for a secret", json!({"$input": "auth"}), "forged"),
        ("a join with a secret", json!({"$join": ["Bearer ", {"$secret": "aws"}]}), "join"),
    ];
    let (o, i): (Outputs, Inputs) = (typed("outputs", &outputs)?, typed("inputs", &inputs)?);
    let run = |name: &str, expr: &Value| {
        Expr::from_value(expr).map(|expr| value_of(&expr, &o, &i)).map_err(|e| differs(name, e))
    };
    let case = |name: &str, expr: &Value| json!({"name": name, "expr": expr, "outputs": outputs, "inputs": inputs});
    let mut cases = Vec::new();
    for (name, expr, value) in good {
        same(name, &value, &run(name, &expr)?.map_err(|e| differs(name, e))?)?;
        let mut case = case(name, &expr);
        case["value"] = value;
        cases.push(case);
    }
    for (name, expr, kind) in bad {
        let found = match run(name, &expr)? {
            Ok(value) => return Err(differs(name, value)),
            Err(ResolveError::NoOutput(_)) => "no_output",
            Err(ResolveError::Missing { .. }) => "missing",
            Err(ResolveError::NoInput(_)) => "no_input",
            Err(ResolveError::Join(_)) => "join",
            Err(ResolveError::Forged(_)) => "forged",
        };
        same(name, &kind, &found)?;
        let mut case = case(name, &expr);
        case["refused"] = json!({ "kind": kind });
        cases.push(case);
    }
    Ok(cases)
}

pub(super) fn expect() -> Cases {
    let returned = |output: Value| json!({"ending": "returned", "output": output});
    let file = |fact: Value| json!({"ending": "returned", "output": {}, "files": {"/w/x": fact}});
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let rows: Vec<(&str, Value, Value, bool)> = vec![
        ("nothing expected, nothing shown", json!([]), returned(json!({})), true),
        ("exit code 0 by default", json!([]), returned(json!({"exit_code": 1})), false),
        (
            "exit code 0 beside other expectations",
            json!([{"output": "/stdout", "exists": true}]),
            returned(json!({"exit_code": 1, "stdout": ""})),
            false,
        ),
        ("another exit code", json!([{"exit_code": {"in": [0, 2]}}]), returned(json!({"exit_code": 2})), true),
        ("no exit code shown", json!([{"exit_code": 0}]), returned(json!({})), false),
        ("an exit code that is a text", json!([{"exit_code": 0}]), returned(json!({"exit_code": "0"})), false),
        ("HTTP 2xx by default", json!([]), returned(json!({"status": 500, "headers": {}})), false),
        ("a status that is none of HTTP", json!([]), returned(json!({"status": 500})), true),
        ("another HTTP status", json!([{"http_status": 404}]), returned(json!({"status": 404, "headers": {}})), true),
        ("equal", json!([{"output": "/a", "equals": {"x": [1]}}]), returned(json!({"a": {"x": [1]}})), true),
        ("equal as numbers", json!([{"output": "/a", "equals": 1}]), returned(json!({"a": 1.0})), true),
        ("a number is no text", json!([{"output": "/a", "equals": 1}]), returned(json!({"a": "1"})), false),
        ("case counts", json!([{"output": "/a", "equals": "ok"}]), returned(json!({"a": "OK"})), false),
        ("equal to null is there", json!([{"output": "/a", "equals": null}]), returned(json!({})), false),
        ("matches the whole text", json!([{"output": "/a", "matches": "a|b"}]), returned(json!({"a": "ab"})), false),
        ("matches", json!([{"output": "/a", "matches": "a+"}]), returned(json!({"a": "aaa"})), true),
        (
            "a line feed behind the match",
            json!([{"output": "/a", "matches": "a+"}]),
            returned(json!({"a": "aaa\n"})),
            false,
        ),
        ("a number does not match", json!([{"output": "/a", "matches": ".*"}]), returned(json!({"a": 1})), false),
        ("present", json!([{"output": "/a", "exists": true}]), returned(json!({"a": null})), true),
        ("absent", json!([{"output": "/a", "exists": false}]), returned(json!({"a": null})), false),
        ("at least", json!([{"output": "/a", "min": 2}]), returned(json!({"a": 2})), true),
        ("below the least", json!([{"output": "/a", "min": 2}]), returned(json!({"a": 1.9})), false),
        ("a missing number is not small", json!([{"output": "/a", "max": 2}]), returned(json!({})), false),
        ("a file", json!([{"file": "/w/x", "exists": true}]), file(json!({"exists": true})), true),
        (
            "a file of which nothing is known",
            json!([{"file": "/w/y", "exists": false}]),
            file(json!({"exists": false})),
            false,
        ),
        (
            "a file's content",
            json!([{"file": "/w/x", "sha256": digest}]),
            file(json!({"exists": true, "sha256": format!("sha256:{digest}")})),
            true,
        ),
        (
            "a file without known content",
            json!([{"file": "/w/x", "sha256": digest}]),
            file(json!({"exists": true})),
            false,
        ),
        (
            "all must hold",
            json!([{"output": "/a", "min": 0}, {"output": "/a", "max": 1}]),
            returned(json!({"a": 2})),
            false,
        ),
        ("a time-out", json!([]), json!({"ending": "timed_out", "output": {"exit_code": 0}}), false),
        ("a violation", json!([]), json!({"ending": {"violation": {"message": "open /etc"}}, "output": {}}), false),
    ];
    let mut cases = Vec::new();
    for (name, expect, observation, holds) in rows {
        let list: Vec<Value> = typed(name, &expect)?;
        let expects: Vec<Expect> =
            list.iter().map(Expect::from_value).collect::<Result<_, _>>().map_err(|e| differs(name, e))?;
        let seen: Observation = typed(name, &observation)?;
        same(name, &holds, &check_step(&expects, &seen, &|path| path.to_owned()).is_ok())?;
        cases.push(json!({"name": name, "expect": expect, "observation": observation, "holds": holds}));
    }
    Ok(cases)
}
