//! HTTP requests by the broker: the built-in `http_request`, and tools whose manifest is a template of one.

use std::collections::BTreeMap;

use countersign_plan::canonical;
use countersign_plan::confinement::SandboxSpec;
use countersign_plan::observation::OBSERVATION_LIMIT;
use countersign_plan::tool::{AnswerForm, HttpDriver, Part};
use countersign_wire::egress::{ask, reply};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{self, Body};
use super::template::{encode, header, pairs, part, scalar, without_handle};
use super::{Outcome, Seen};
use crate::bounded;
use crate::broker::{self, Silent, Term};
use crate::failure::Failure;
use crate::watcher::Watcher;

/// What an answer's headers may take of an observation, in bytes of JSON.
const HEADER_BUDGET: usize = 64 << 10;
/// What an answer's body may take of an observation, in bytes of JSON.
const BODY_BUDGET: usize = OBSERVATION_LIMIT - (512 << 10);
/// The most of an answer's body that is kept: what still fits as base64.
const KEPT: u64 = 2 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Map<String, Value>,
    body: Option<String>,
}

/// `http_request`: `/status`, `/headers`, `/body`; a body that is no text is base64, and `/body_encoding` says so.
pub(super) fn request(spec: &SandboxSpec, args: Request, watcher: &mut dyn Watcher) -> Outcome<Seen> {
    let headers = args.headers.iter().map(|(name, value)| header(name, value)).collect::<Outcome<_>>()?;
    let fetch = ask::Fetch {
        method: args.method,
        url: args.url,
        headers,
        body: args.body.map(String::into_bytes),
        auth: None,
        keep: 0,
        timeout_ms: 0,
    };
    seen(fetched(spec, fetch, watcher)?, Body::Raw)
}

/// A tool whose manifest is a request with places for arguments: `/status`, `/headers`, `/body`.
pub(super) fn drive(spec: &SandboxSpec, driver: &HttpDriver, args: &Value, watcher: &mut dyn Watcher) -> Outcome<Seen> {
    let form = match driver.answer {
        AnswerForm::Json => Body::Json,
        AnswerForm::Xml => Body::Xml,
        AnswerForm::Text => Body::Raw,
    };
    seen(fetched(spec, fetch(driver, args)?, watcher)?, form)
}

/// The request of a template.
pub(super) fn fetch(driver: &HttpDriver, args: &Value) -> Outcome<ask::Fetch> {
    let mut url = fill(&driver.url, args)?;
    let query = present(&driver.query, args)?;
    if !query.is_empty() {
        url = format!("{url}?{}", pairs(&query));
    }
    let mut headers = Vec::new();
    for (name, value) in &driver.headers {
        let value = match value {
            Part::Literal(text) => Some(Value::String(text.clone())),
            Part::Argument(place) => place.arg.get(args).cloned(),
        };
        headers.extend(value.map(|value| header(name, &value)).transpose()?);
    }
    let (kind, body) = match (&driver.json, driver.form.is_empty()) {
        (None, true) => (None, None),
        (None, false) => {
            let form = pairs(&present(&driver.form, args)?);
            (Some("application/x-www-form-urlencoded"), Some(form.into_bytes()))
        }
        (Some(at), true) => {
            let missing = || Failure::new(format!("the argument {at}, which is the request's body, is absent"));
            let value = without_handle("the request's body", at.get(args).ok_or_else(missing)?)?;
            (Some("application/json"), Some(canonical::to_vec(value)))
        }
        (Some(_), false) => {
            return Err(Failure::new("the tool's manifest gives the request both a JSON body and a form"));
        }
    };
    if let Some(kind) = kind
        && !driver.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"))
    {
        headers.push(ask::Header { name: "content-type".to_owned(), value: kind.to_owned(), secret: None });
    }
    let auth = driver.auth.as_ref().map(canonical::of).transpose();
    let auth = auth.map_err(|e| Failure::new(e.to_string()))?;
    Ok(ask::Fetch { method: driver.method.clone(), url, headers, body, auth, keep: 0, timeout_ms: 0 })
}

/// The pairs whose arguments are present.
fn present(parts: &BTreeMap<String, Part>, args: &Value) -> Outcome<Vec<(String, String)>> {
    let mut out = Vec::new();
    for (name, value) in parts {
        out.extend(part(value, args)?.map(|value| (name.clone(), value)));
    }
    Ok(out)
}

/// The URL with each segment `{name}` of its path filled.
fn fill(template: &str, args: &Value) -> Outcome<String> {
    let wrong = |what: &str| Failure::new(format!("the URL of the tool's manifest, {template}, {what}"));
    let (scheme, rest) = template.split_once("://").ok_or_else(|| wrong("has no scheme"))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.contains(['{', '}', '\\', '?', '#']) {
        return Err(wrong("names its host by an argument"));
    }
    if path.contains(['?', '#']) {
        return Err(wrong("holds a query or a fragment; parameters have a place of their own"));
    }
    let mut filled = Vec::new();
    for segment in path.split('/') {
        let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        filled.push(match name {
            Some(name) => {
                let value =
                    args.get(name).ok_or_else(|| wrong(&format!("needs the argument {name}, which is absent")))?;
                let value = scalar(&format!("the argument {name}"), value)?;
                // Servers and clients take these segments out of a path, encoded or not.
                if matches!(value.as_str(), "" | "." | "..") {
                    return Err(wrong(&format!("would lead elsewhere with `{value}` as {name}")));
                }
                encode(&value)
            }
            None if segment.contains(['{', '}']) => return Err(wrong("has an argument that is not a whole segment")),
            None => segment.to_owned(),
        });
    }
    Ok(format!("{scheme}://{authority}/{}", filled.join("/")))
}

fn fetched(spec: &SandboxSpec, fetch: ask::Fetch, watcher: &mut dyn Watcher) -> Outcome<reply::Fetched> {
    let silent = match fetch.method.as_str() {
        // Safe methods (RFC 9110, section 9.2.1) change nothing that the client answers for.
        "GET" | "HEAD" | "OPTIONS" => Silent::Failed,
        _ => Silent::Unknown,
    };
    let term = Term::of(spec);
    let fetch = ask::Fetch { keep: KEPT.min(spec.limits.output_bytes), timeout_ms: term.broker_ms, ..fetch };
    match broker::ask(watcher, ask::Kind::Fetch(fetch), term, silent)? {
        reply::Kind::Fetched(fetched) => Ok(fetched),
        _ => Err(broker::stray(silent)),
    }
}

fn seen(fetched: reply::Fetched, form: Body) -> Outcome<Seen> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    let (mut used, mut left_out) = (0_usize, 0_u64);
    for header in fetched.headers {
        let size = bounded::length(&header.name) + bounded::length(&header.value) + 8;
        if used + size > HEADER_BUDGET {
            left_out = left_out.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
            continue;
        }
        used += size;
        // Repeated headers are one list (RFC 9110, section 5.3).
        headers
            .entry(header.name)
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&header.value);
            })
            .or_insert(header.value);
    }
    let read = answer::read(&fetched.body, fetched.dropped, form, BODY_BUDGET);
    let mut output = json!({"status": fetched.status, "headers": headers, "body": read.body});
    if let Some(members) = output.as_object_mut() {
        members.extend(read.note.map(|(name, said)| (name.to_owned(), Value::String(said))));
    }
    let mut seen = Seen::cut(output, "body", read.dropped);
    if left_out > 0 {
        seen.dropped.insert("headers".to_owned(), left_out);
    }
    Ok(seen)
}

#[cfg(test)]
mod tests;
