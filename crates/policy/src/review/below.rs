//! Recursive actions: what lies below their root. Reading tools leave out what is denied; removing, copying and moving do not
//! begin (`lesson_10`).

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::effects::{By, Touch};
use crate::facts::Extent;
use crate::paths::Seen;
use crate::policy::Use;

/// The most paths that are hidden or kept below one root.
const LIMIT: usize = 4096;

/// What lies below the roots of a step.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) reasons: Vec<Reason>,
    pub(super) masked: Vec<String>,
    pub(super) read_only: Vec<String>,
}

pub(super) fn check(request: &Request<'_>, prepared: &Prepared<'_>) -> Found {
    let mut found = Found::default();
    let touches = &prepared.derived.touches;
    let changes_too = touches.iter().any(|touch| !touch.effect.is_harmless() && touch.by == By::Tool);
    for touch in touches.iter().filter(|touch| touch.recursive && !touch.is_open() && touch.seen().is_some()) {
        match touch.by {
            By::View | By::Git => view(request, prepared, touch, &mut found),
            By::Tool if touch.effect == Effect::Read && !changes_too => reading(request, prepared, touch, &mut found),
            // What a program reads below is what its view shows; what it runs below is read there.
            By::Command if touch.effect == Effect::Read => reading(request, prepared, touch, &mut found),
            By::Command if !touch.changes() => {}
            // What builds and tools may write below is kept as it is where it is protected.
            By::Command if touch.effect != Effect::Delete => view(request, prepared, touch, &mut found),
            By::Tool | By::Move | By::Command => taking(request, prepared, touch, &mut found),
        }
    }
    found.masked.sort_unstable();
    found.masked.dedup();
    found.read_only.sort_unstable();
    found.read_only.dedup();
    found
}

fn denied(request: &Request<'_>, prepared: &Prepared<'_>, effect: Effect, seen: &Seen<'_>) -> bool {
    request.policy.denies_path(prepared.step.action.as_str(), prepared.group(), effect, seen).is_some()
}

/// What a reader below `root` must not see.
fn is_hidden(request: &Request<'_>, prepared: &Prepared<'_>, path: &str) -> bool {
    let seen = Seen::new(path, None);
    request.deployment.is_restricted(&seen)
        || request.deployment.is_own_folder(&seen)
        || denied(request, prepared, Effect::Read, &seen)
}

fn list(request: &Request<'_>, root: &Touch, found: &mut Found, wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let dir = root.resolved.as_ref().unwrap_or(&root.name);
    let below = request.facts.below(dir, wanted, LIMIT);
    if below.extent == Extent::Cut {
        let message = format!("there is more below {} than can be looked at", root.name);
        found.reasons.push(Reason::ask(Code::ResourceUnresolved, message));
    }
    below.hits
}

fn reading(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch, found: &mut Found) {
    let hits = list(request, touch, found, &|path| is_hidden(request, prepared, path));
    found.masked.extend(hits);
}

fn view(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch, found: &mut Found) {
    let masked = list(request, touch, found, &|path| is_hidden(request, prepared, path));
    found.masked.extend(masked);
    if touch.effect.is_harmless() || touch.by == By::Git {
        return;
    }
    let kept = list(request, touch, found, &|path| {
        let seen = Seen::new(path, None);
        request.deployment.protected().path(&seen).is_some()
            || request.deployment.is_trusted(&seen)
            || request.deployment.is_own_file(&seen)
            || denied(request, prepared, touch.effect, &seen)
    });
    found.read_only.extend(kept);
}

/// Removing, copying and moving take everything below the root with them.
fn taking(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch, found: &mut Found) {
    let deployment = request.deployment;
    let (tool, group) = (prepared.step.action.as_str(), prepared.group());
    let dir = touch.resolved.as_ref().unwrap_or(&touch.name).clone();
    let changes = !touch.effect.is_harmless();
    // The destination of a copy or move holds nothing of its own that would go.
    let hits = list(request, touch, found, &|path| {
        let seen = Seen::new(path, None);
        denied(request, prepared, touch.effect, &seen)
            || deployment.is_own_folder(&seen)
            || (changes && (deployment.protected().path(&seen).is_some() || deployment.is_own_file(&seen)))
            || (!changes && deployment.is_restricted(&seen))
    });
    let as_written = request.facts.below(&dir, &|_| false, 1).extent == Extent::AsWritten;
    for path in &hits {
        let seen = Seen::new(path, None);
        if let Some(rule) = request.policy.denies_path(tool, group, touch.effect, &seen) {
            // Whether its condition holds for what lies below cannot be asked of the whole.
            let decision = if rule.is_conditional() { Decision::RequireApproval } else { Decision::Block };
            let message = format!("{} {} would take {path} with it", touch.effect, touch.name);
            found.reasons.push(Reason::new(Code::PolicyDeny, decision, message).by(rule.name()));
        }
        if deployment.is_own_folder(&seen) || (changes && deployment.is_own_file(&seen)) {
            let message = format!("{path} below {} belongs to Countersign", touch.name);
            found.reasons.push(Reason::block(Code::ResourceOwn, message));
        }
        if !changes && deployment.is_restricted(&seen) {
            let message = format!("{path} below {} is restricted", touch.name);
            found.reasons.push(Reason::ask(Code::ResourceRestricted, message));
        }
        if changes && let Some(pattern) = deployment.protected().path(&seen) {
            protected(request, prepared, touch, path, pattern, found);
        }
        if found.reasons.len() >= 16 {
            break;
        }
    }
    if as_written {
        if let Some(rule) = request.policy.denies_below(tool, group, touch.effect, &dir) {
            let message = format!("{} {} would take what is denied below it with it", touch.effect, touch.name);
            found.reasons.push(Reason::block(Code::PolicyDeny, message).by(rule.name()));
        }
        if deployment.has_own_below(&dir) {
            let message = format!("below {} lies what belongs to Countersign", touch.name);
            found.reasons.push(Reason::block(Code::ResourceOwn, message));
        }
        if !changes && deployment.has_restricted_below(&dir) {
            let message = format!("below {} lie restricted files", touch.name);
            found.reasons.push(Reason::ask(Code::ResourceRestricted, message));
        }
        if changes && let Some(pattern) = deployment.protected().below(&dir) {
            protected(request, prepared, touch, pattern, pattern, found);
        }
    }
}

fn protected(
    request: &Request<'_>,
    prepared: &Prepared<'_>,
    touch: &Touch,
    path: &str,
    pattern: &str,
    found: &mut Found,
) {
    let one = Use { effect: touch.effect, kind: touch.kind, path: Some(Seen::new(path, None)), endpoint: None };
    let message = format!("{} {} would take {path} with it, which {pattern} protects", touch.effect, touch.name);
    let refusal = match &prepared.step.change_request {
        None => None,
        Some(id) => match super::resources::covered(request, prepared, id, &[(one, path)]) {
            Ok(()) => {
                let reason = Reason::ask(Code::ResourceProtectedCovered, message);
                found.reasons.push(reason);
                return;
            }
            Err(refusal) => Some(refusal),
        },
    };
    found.reasons.push(Reason::block(Code::ResourceProtected, message));
    if let Some(refusal) = refusal {
        found.reasons.push(Reason::block(Code::ChangeRequestInvalid, refusal.to_string()));
    }
}
