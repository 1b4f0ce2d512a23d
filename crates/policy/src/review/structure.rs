//! A step against its tool: arguments, references, secrets, and claims that are milder than the manifest's.

use std::collections::BTreeMap;

use countersign_plan::draft::Rollback;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Definition, Driver, Part, Reversibility, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::deployment::Standing;
use crate::effects;

pub(super) fn check(request: &Request<'_>, prepared: &Prepared<'_>) -> Vec<Reason> {
    let mut reasons = prepared.faults.clone();
    let Some(tool) = prepared.tool else { return reasons };
    let definition = tool.definition();
    let fits = match prepared.args.literal() {
        Some(value) if prepared.concrete => tool.arguments().check(&value),
        Some(_) | None => tool.arguments().check_with_holes(&prepared.args),
    };
    if let Err(e) = fits {
        reasons.push(Reason::block(Code::ToolArguments, e.to_string()));
    }
    references(definition, &prepared.step.args, &mut reasons);
    reasons.extend(secrets(request, &prepared.step.args, &prepared.derived, definition));
    rollback(request, prepared, definition, &mut reasons);
    reasons
}

/// Where a built-in tool takes literals only, and where a reference is at least a question.
fn references(definition: &Definition, args: &Expr, reasons: &mut Vec<Reason>) {
    let Driver::Builtin(name) = &definition.driver else { return };
    args.references(&mut |at, expr| {
        if matches!(expr, Expr::Input(_)) {
            return;
        }
        let segments: Vec<&str> = at.segments().iter().map(String::as_str).collect();
        let literal_only = match (name.as_str(), segments.as_slice()) {
            ("run_program", [] | ["argv"] | ["argv", "0"]) => true,
            ("http_request", ["method"]) | ("database_query", ["database"]) => true,
            ("database_query" | "execute_command", ["sql" | "command"]) => {
                let message = format!("a reference stands in {at}; it is inserted as one value");
                reasons.push(Reason::ask(Code::ToolReference, message));
                false
            }
            _ => false,
        };
        if literal_only {
            reasons.push(Reason::block(Code::ToolReference, format!("{at} is a literal, never a reference")));
        }
    });
    reasons.dedup();
}

/// Secrets stand only where the manifest accepts them, in headers or where the tool says that it sees them, and go only to hosts
/// that they are bound to. A secret of the tool's own authentication goes where the tool goes.
pub(super) fn secrets(
    request: &Request<'_>,
    args: &Expr,
    derived: &effects::Derived,
    definition: &Definition,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut refuse = |code: Code, message: String| reasons.push(Reason::block(code, message));
    args.references(&mut |at, expr| {
        let Expr::Secret(name) = expr else { return };
        let accepted = definition.accepts_secret.iter().any(|place: &Pointer| place.covers(at));
        if !accepted {
            refuse(Code::ToolSecretRefused, format!("{} takes no secret at {at}", definition.name));
        } else if !in_header(definition, at) && !definition.exposes {
            let message = format!(
                "{} would see the secret `{name}` itself at {at}; its manifest has to say so (`exposes: true`)",
                definition.name
            );
            refuse(Code::ToolSecretRefused, message);
        }
    });
    let endpoints = || derived.touches.iter().filter_map(|touch| touch.endpoint.as_ref());
    let nowhere = derived.open.iter().any(|open| matches!(open.kind, TargetKind::Host | TargetKind::Url));
    for name in effects::secrets(definition, args) {
        if definition.exposes {
            let message = format!("{} would see the value of the secret `{name}` itself", definition.name);
            reasons.push(Reason::ask(Code::ToolSecretExposed, message));
        }
        for endpoint in endpoints().filter(|endpoint| !request.deployment.secret_may_reach(&name, endpoint)) {
            let message = format!("the secret `{name}` is not for {endpoint}");
            let fix = format!("bind it in the deployment: `secrets: {{{name}: {{hosts: […]}}}}`");
            reasons.push(Reason::block(Code::FlowClearance, message).fix(fix));
        }
        let in_clear = |touch: &&effects::Touch| {
            let inside = touch.standing.is_some_and(|standing| standing <= Standing::Internal);
            touch.endpoint.is_some() && !inside && touch.name.to_ascii_lowercase().starts_with("http://")
        };
        if let Some(touch) = derived.touches.iter().find(in_clear) {
            let message = format!("the secret `{name}` would go out of the house in clear, to {}", touch.name);
            let fix = "use https";
            reasons.push(Reason::block(Code::FlowClearance, message).fix(fix));
        }
        if nowhere {
            let message = format!("the secret `{name}` would go to a host that is not known yet");
            reasons.push(Reason::block(Code::FlowClearance, message));
        }
    }
    reasons
}

/// Whether an argument goes into a header, where the broker puts a secret in place of its handle.
fn in_header(definition: &Definition, at: &Pointer) -> bool {
    match &definition.driver {
        Driver::Builtin(name) => {
            name.as_str() == "http_request" && at.segments().first().is_some_and(|first| first == "headers")
        }
        Driver::Http(driver) => {
            let part = |part: &Part| matches!(part, Part::Argument(argument) if argument.arg.covers(at));
            let elsewhere = |parts: &BTreeMap<String, Part>| parts.values().any(part);
            let in_body = driver.json.as_ref().is_some_and(|json| json.covers(at) || at.covers(json));
            let in_path = at.segments().first().is_some_and(|first| driver.url.contains(&format!("{{{first}}}")));
            elsewhere(&driver.headers) && !elsewhere(&driver.query) && !elsewhere(&driver.form) && !in_body && !in_path
        }
        Driver::Mcp(_) | Driver::Command(_) => false,
        // Carried out by nobody, so seen by nobody.
        Driver::None => true,
    }
}

/// The draft may be stricter than the manifest, never milder; a rollback is a tool of the manifest and fits it.
fn rollback(request: &Request<'_>, prepared: &Prepared<'_>, definition: &Definition, reasons: &mut Vec<Reason>) {
    match &prepared.step.rollback {
        None | Some(Rollback::None) => {}
        Some(Rollback::Snapshot) => {
            if matches!(definition.reversibility, Reversibility::Irreversible | Reversibility::Compensable) {
                let message = format!("{} keeps no snapshot, whatever the draft says", definition.name);
                reasons.push(Reason::block(Code::PlanWeakerThanManifest, message));
            }
        }
        Some(Rollback::Action { action, args }) => match request.manifest.get(action) {
            None => {
                let message = format!("the rollback names no tool that exists here: `{action}`");
                reasons.push(Reason::block(Code::ToolUnknown, message));
            }
            Some(tool) => match effects::substitute(args, request.inputs) {
                Err(name) => {
                    let message = format!("the input `{name}` of the rollback was not given with the goal");
                    reasons.push(Reason::block(Code::PlanInputMissing, message));
                }
                Ok(args) => {
                    if let Err(e) = tool.arguments().check_with_holes(&args) {
                        reasons.push(Reason::block(Code::ToolArguments, format!("the rollback's arguments: {e}")));
                    }
                    references(tool.definition(), &args, reasons);
                }
            },
        },
    }
}
