//! Machine-checked expectations of a step; a miss stops the plan (FORMATS §1).

use regex::Regex;
use serde_json::Value;

use crate::digest::Digest;
use crate::document::DocumentError;
use crate::observation::{Ending, Observation};
use crate::pointer::Pointer;

/// One expectation.
#[derive(Debug, Clone)]
pub enum Expect {
    /// A condition on the output at a pointer.
    Output {
        /// Where in the output.
        at: Pointer,
        /// What must hold there.
        is: Condition,
    },
    /// The exit code of a program is one of these.
    ExitCode(Vec<i64>),
    /// The status of an HTTP answer is one of these.
    HttpStatus(Vec<i64>),
    /// A file exists or does not.
    FileExists {
        /// The path as the plan writes it.
        path: String,
        /// Whether it must exist.
        exists: bool,
    },
    /// A file has exactly this content.
    FileDigest {
        /// The path as the plan writes it.
        path: String,
        /// SHA-256 of the content.
        sha256: Digest,
    },
}

/// What must hold of a value.
#[derive(Debug, Clone)]
pub enum Condition {
    /// Equal as JSON.
    Equals(Value),
    /// A string that the expression matches from start to end.
    Matches(Regex),
    /// Present or absent.
    Exists(bool),
    /// A number not below this.
    Min(f64),
    /// A number not above this.
    Max(f64),
}

/// An expectation that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct Mismatch {
    /// What the plan expects.
    pub expected: String,
    /// What the step showed.
    pub found: String,
}

impl Expect {
    /// Reads one expectation.
    ///
    /// ```
    /// use countersign_plan::expect::{Expect, check_step};
    /// use countersign_plan::observation::{Ending, Observation};
    /// use serde_json::json;
    ///
    /// let expect = Expect::from_value(&json!({"output": "/status", "equals": "available"}))?;
    /// let shows = |status: &str| Observation {
    ///     ending: Ending::Returned,
    ///     output: json!({"status": status}),
    ///     files: Default::default(),
    ///     dropped: Default::default(),
    /// };
    /// let absolute = |path: &str| format!("/w/{path}");
    /// assert!(check_step(&[expect.clone()], &shows("available"), &absolute).is_ok());
    /// let miss = check_step(&[expect], &shows("deleting"), &absolute).unwrap_err();
    /// assert_eq!(miss.to_string(), r#"expected output /status equal to "available", found "deleting""#);
    /// # Ok::<(), countersign_plan::document::DocumentError>(())
    /// ```
    ///
    /// # Errors
    /// No form of this language, or a regular expression that does not compile or is larger than 64 KiB compiled.
    pub fn from_value(value: &Value) -> Result<Self, DocumentError> {
        let forms = "an expectation is one of {output, equals|matches|exists|min|max}, {exit_code}, {http_status}, \
                     {file, exists}, {file, sha256}";
        let wrong = |what: &str| DocumentError::at("", what);
        let members = value.as_object().ok_or_else(|| wrong(forms))?;
        let mut keys: Vec<&str> = members.keys().map(String::as_str).collect();
        keys.sort_unstable();
        let get = |key: &str| members.get(key).unwrap_or(&Value::Null);
        let text = |key: &str| match get(key) {
            Value::String(s) => Ok(s.clone()),
            _ => Err(DocumentError::at(format!("/{key}"), "a string is needed")),
        };
        let flag = |key: &str| {
            get(key).as_bool().ok_or_else(|| DocumentError::at(format!("/{key}"), "true or false is needed"))
        };
        match keys.as_slice() {
            ["exit_code"] => codes(get("exit_code")).map(Self::ExitCode).map_err(|e| e.below("/exit_code")),
            ["http_status"] => codes(get("http_status")).map(Self::HttpStatus).map_err(|e| e.below("/http_status")),
            ["exists", "file"] => Ok(Self::FileExists { path: text("file")?, exists: flag("exists")? }),
            ["file", "sha256"] => {
                let sha256 = format!("sha256:{}", text("sha256")?)
                    .parse()
                    .map_err(|_| DocumentError::at("/sha256", "64 lower-case hex digits are needed"))?;
                Ok(Self::FileDigest { path: text("file")?, sha256 })
            }
            [a, b] if *a == "output" || *b == "output" => {
                let at = text("output")?
                    .parse()
                    .map_err(|e: crate::pointer::PointerError| DocumentError::at("/output", e.to_string()))?;
                let form = if *a == "output" { *b } else { *a };
                let number =
                    || get(form).as_f64().ok_or_else(|| DocumentError::at(format!("/{form}"), "a number is needed"));
                let is = match form {
                    "equals" => Condition::Equals(get("equals").clone()),
                    "exists" => Condition::Exists(flag("exists")?),
                    "min" => Condition::Min(number()?),
                    "max" => Condition::Max(number()?),
                    "matches" => Condition::Matches(anchored(&text("matches")?)?),
                    _ => return Err(wrong(forms)),
                };
                Ok(Self::Output { at, is })
            }
            _ => Err(wrong(forms)),
        }
    }

    /// Whether the expectation holds of what was observed. `path` makes a plan's path absolute.
    ///
    /// # Errors
    /// What was expected and what was found.
    pub fn check(&self, seen: &Observation, path: &dyn Fn(&str) -> String) -> Result<(), Mismatch> {
        let (expected, found, holds) = match self {
            Self::Output { at, is } => {
                let value = at.get(&seen.output);
                (format!("output {at} {}", is.describe()), show(value), is.holds(value))
            }
            Self::ExitCode(codes) => code("exit code", codes, seen.output.get("exit_code")),
            Self::HttpStatus(codes) => code("HTTP status", codes, seen.output.get("status")),
            Self::FileExists { path: file, exists } => {
                let fact = seen.files.get(&path(file));
                let expected = format!("file {file} {}", if *exists { "present" } else { "absent" });
                let found = fact.map_or("nothing known", |f| if f.exists { "present" } else { "absent" });
                (expected, found.to_owned(), fact.is_some_and(|f| f.exists == *exists))
            }
            Self::FileDigest { path: file, sha256 } => {
                let digest = seen.files.get(&path(file)).and_then(|f| f.sha256);
                let found = digest.map_or_else(|| "no such content".to_owned(), |d| d.to_string());
                (format!("file {file} with {sha256}"), found, digest == Some(*sha256))
            }
        };
        if holds { Ok(()) } else { Err(Mismatch { expected, found }) }
    }

    /// Whether a regular expression is compiled for it.
    pub(crate) const fn is_match(&self) -> bool {
        matches!(self, Self::Output { is: Condition::Matches(_), .. })
    }

    /// The path of a file that this expectation asks about.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::FileExists { path, .. } | Self::FileDigest { path, .. } => Some(path),
            Self::Output { .. } | Self::ExitCode(_) | Self::HttpStatus(_) => None,
        }
    }
}

/// Has the regular-expression engine ask the system now what it asks once per process (how many processors there are, from
/// files). A process that seals itself calls this before the seal, and can then read plans after it.
pub fn prepare() {
    // The expression is a constant that compiles; whether it does changes nothing here.
    drop(Regex::new("^$"));
}

/// Whether a step went as its plan says: it returned, its expectations hold, and where the plan names none of that kind, a
/// program exited with 0 and an HTTP answer was 2xx.
///
/// # Errors
/// The first expectation that does not hold.
pub fn check_step(expects: &[Expect], seen: &Observation, path: &dyn Fn(&str) -> String) -> Result<(), Mismatch> {
    let ended = |found: String| Err(Mismatch { expected: "the step to return".to_owned(), found });
    match &seen.ending {
        Ending::Returned => {}
        Ending::Failed { message } => return ended(message.clone()),
        Ending::TimedOut => return ended("the time of the step ran out".to_owned()),
        Ending::Killed { signal } => return ended(format!("signal {signal}")),
        Ending::Violation { message } => return ended(format!("sandbox violation: {message}")),
    }
    if !expects.iter().any(|e| matches!(e, Expect::ExitCode(_))) && seen.output.get("exit_code").is_some() {
        Expect::ExitCode(vec![0]).check(seen, path)?;
    }
    if !expects.iter().any(|e| matches!(e, Expect::HttpStatus(_)))
        && let Some(status) = seen.output.get("status").and_then(Value::as_i64)
        && seen.output.get("headers").is_some()
        && !(200..300).contains(&status)
    {
        return Err(Mismatch { expected: "HTTP status 2xx".to_owned(), found: status.to_string() });
    }
    expects.iter().try_for_each(|expect| expect.check(seen, path))
}

fn code(name: &str, codes: &[i64], found: Option<&Value>) -> (String, String, bool) {
    let holds = found.and_then(Value::as_i64).is_some_and(|code| codes.contains(&code));
    let list: Vec<String> = codes.iter().map(i64::to_string).collect();
    (format!("{name} {}", list.join(" or ")), show(found), holds)
}

fn codes(value: &Value) -> Result<Vec<i64>, DocumentError> {
    let wrong = || DocumentError::at("", "an integer or {in: [integers]} is needed");
    let one = |v: &Value| v.as_i64().ok_or_else(wrong);
    match value {
        Value::Number(_) => Ok(vec![one(value)?]),
        Value::Object(members) if members.len() == 1 => match members.get("in") {
            Some(Value::Array(items)) if !items.is_empty() => items.iter().map(one).collect(),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

fn anchored(pattern: &str) -> Result<Regex, DocumentError> {
    regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
        .size_limit(64 << 10)
        .build()
        .map_err(|e| DocumentError::at("/matches", crate::text::escape(&e.to_string())))
}

impl Condition {
    fn holds(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Exists(exists), value) => value.is_some() == *exists,
            (_, None) => false,
            (Self::Equals(want), Some(value)) => crate::canonical::to_vec(want) == crate::canonical::to_vec(value),
            (Self::Matches(pattern), Some(value)) => value.as_str().is_some_and(|s| pattern.is_match(s)),
            (Self::Min(min), Some(value)) => value.as_f64().is_some_and(|n| n >= *min),
            (Self::Max(max), Some(value)) => value.as_f64().is_some_and(|n| n <= *max),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Equals(value) => format!("equal to {}", show(Some(value))),
            Self::Matches(pattern) => format!("matching {pattern}"),
            Self::Exists(true) => "present".to_owned(),
            Self::Exists(false) => "absent".to_owned(),
            Self::Min(n) => format!("at least {n}"),
            Self::Max(n) => format!("at most {n}"),
        }
    }
}

fn show(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let cut: String = text.chars().take(200).collect();
    let more = text.chars().count().saturating_sub(200);
    if more > 0 { format!("{cut}… ({more} more characters)") } else { cut }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Expect, check_step};
    use crate::observation::{Ending, Observation};

    fn seen(output: Value) -> Observation {
        Observation { ending: Ending::Returned, output, files: Default::default(), dropped: Default::default() }
    }

    fn holds(expect: Value, output: Value) -> bool {
        let expects = vec![Expect::from_value(&expect).unwrap()];
        check_step(&expects, &seen(output), &|p| p.to_owned()).is_ok()
    }

    #[test]
    fn conditions_hold_exactly() {
        assert!(holds(json!({"output": "/status", "equals": "ok"}), json!({"status": "ok"})));
        assert!(!holds(json!({"output": "/status", "equals": "ok"}), json!({"status": "OK"})));
        assert!(holds(json!({"output": "/v", "matches": "a+"}), json!({"v": "aaa"})));
        assert!(!holds(json!({"output": "/v", "matches": "a+"}), json!({"v": "aaab"})));
        assert!(!holds(json!({"output": "/v", "matches": "a|b"}), json!({"v": "xa"})));
        assert!(!holds(json!({"output": "/v", "min": 1}), json!({})));
        assert!(holds(json!({"output": "/v", "exists": false}), json!({})));
        assert!(holds(json!({"exit_code": {"in": [1, 2]}}), json!({"exit_code": 2})));
    }

    #[test]
    fn an_exit_code_is_zero_unless_the_plan_says_otherwise() {
        assert!(check_step(&[], &seen(json!({"exit_code": 1})), &|p| p.to_owned()).is_err());
        assert!(!holds(json!({"output": "/stdout", "exists": true}), json!({"exit_code": 1, "stdout": ""})));
        assert!(holds(json!({"exit_code": 1}), json!({"exit_code": 1})));
        assert!(check_step(&[], &seen(json!({"status": 500, "headers": {}})), &|p| p.to_owned()).is_err());
    }

    #[test]
    fn a_step_that_did_not_return_went_wrong() {
        let late = Observation { ending: Ending::TimedOut, ..seen(json!({"exit_code": 0})) };
        assert!(check_step(&[], &late, &|p| p.to_owned()).is_err());
    }

    #[test]
    fn what_hides_in_an_expression_is_shown_by_the_refusal() {
        let error = Expect::from_value(&json!({"output": "/a", "matches": "(\u{202e}"})).unwrap_err();
        assert!(error.what.contains("\\u{202e}") && crate::text::check_visible(&error.what).is_ok(), "{error}");
    }

    #[test]
    fn unknown_forms_are_refused() {
        for wrong in [
            json!({"output": "/a", "equals": 1, "min": 2}),
            json!({"output": "/a"}),
            json!({"exit_code": "0"}),
            json!({"exit_code": {"in": []}}),
            json!({"file": "x"}),
            json!({"file": "x", "sha256": "ABC"}),
            json!({"output": "/a", "matches": "("}),
            json!({"stdout": "x"}),
            json!([]),
        ] {
            assert!(Expect::from_value(&wrong).is_err(), "{wrong}");
        }
    }
}
