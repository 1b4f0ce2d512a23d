//! What a text from outside has chosen: things, addresses and receivers that it names and the goal does not.
//!
//! Where the goal orders something of the kind, people are asked; where it wants nothing of it, the text has chosen the act as well, and
//! there is nothing to ask (FORMATS §5, "Block, not ask").

use countersign_plan::inspection::OBEYED;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::Flow;
use crate::deployment::{Standing, is_path_kind};
use crate::effects::{By, Touch};
use crate::flow::Level;
use crate::lists::has;
use crate::paths::fold;
use crate::review::prepare::Prepared;
use crate::review::{Request, defaults, goal};

/// Words of a goal that wants to know what stands behind an address.
const FOLLOWING: &str = "link url uri page site address website web fetch download follow open visit attach image picture photo file document \
    pdf feed grab pull archiv mirror import load fill form video map health ping";

/// Words of a goal that wants something kept.
const KEEPING: &str = "remember memor keep note rule store save record learn prefer standing write put jot set add";

/// Words of a note by which something is let through later on.
const PERMITTING: &str = "approvals approval approved preapproved permissions permission allowlist whitelist allowed trusted exempt exemption \
    exceptions waiver consent authorised authorized authority mandate";

/// Words for what is read where a shell or a session starts.
const STARTING: &str =
    "profile shell startup start login bashrc zshrc rc dotfile environment terminal autostart path home";

/// What is touched under a name that is not known yet: asks, unless it only reads something that is neither file nor host and a
/// trusted field names it.
pub(super) fn unresolved(request: &Request<'_>, flow: &Flow, prepared: &Prepared<'_>, reasons: &mut Vec<Reason>) {
    let trusted = flow.open.get(&prepared.step.id);
    for (i, open) in prepared.derived.open.iter().enumerate() {
        // An id picks a thing of the tool's own, whatever it calls it.
        let picked = prepared.tool.is_some_and(|tool| tool.definition().selects.contains(&open.at));
        let placed = !picked && is_path_kind(open.kind)
            || matches!(open.kind, TargetKind::Host | TargetKind::Url | TargetKind::Database | TargetKind::Process);
        let trusted = trusted.and_then(|list| list.get(i)).is_some_and(|trusted| *trusted);
        // What a helper is told to do names no process: where its words go is the flow's to say.
        if open.kind == TargetKind::Process && defaults::is_helper(request, prepared) {
            continue;
        }
        if (open.effect.is_harmless() || trusted) && !placed || (open.effect.is_harmless() && trusted) {
            continue;
        }
        let message = format!("{} names what is touched and has no value before the plan runs", open.at);
        // An address out of a text, where nobody wants anything fetched or looked at behind it.
        let goal = &prepared.goal;
        let obeyed = open.kind == TargetKind::Url && !trusted && request.planner < Level::User && !goal.delegates();
        let unwanted = obeyed && goal.is_read() && !goal.speak_of(FOLLOWING);
        // Rights for somebody out of a text, where nobody speaks of rights.
        let ruled = open.effect == Effect::Admin
            && !trusted
            && request.planner < Level::User
            && request.pinned_goal.is_some()
            && !goal.delegates()
            && !goal.ask_for_powers(prepared.step.action.as_str());
        let decision = if unwanted || ruled { Decision::Block } else { Decision::RequireApproval };
        reasons.push(Reason::new(Code::ResourceUnresolved, decision, message));
    }
}

/// What data from outside named, and the goal did not: whoever wrote the data chose it.
pub(super) fn chosen(request: &Request<'_>, prepared: &Prepared<'_>, reasons: &mut Vec<Reason>) {
    if request.planner >= Level::User {
        return;
    }
    // Whether something that decides is nobody's of the house.
    let open = reasons.iter().any(|reason| reason.code == Code::FlowUntrustedControl);
    for touch in prepared.derived.touches.iter().filter(|touch| touch.by == By::Tool && !touch.is_open()) {
        let found = address(request, prepared, touch)
            .or_else(|| receiver(request, prepared, touch))
            .or_else(|| memory(request, prepared, touch))
            .or_else(|| act(request, prepared, touch).filter(|_| open))
            .or_else(|| statement(request, prepared, touch))
            .or_else(|| file(request, touch))
            .or_else(|| removal(request, prepared, touch))
            .or_else(|| believed(request, prepared, touch));
        if let Some((decision, message)) = found {
            let reason = Reason::new(Code::FlowUntrustedControl, decision, message);
            reasons.push(reason.fix("say in the goal that it is wanted"));
        }
    }
}

/// What a text from outside holds, run as code, where the goal wants nothing done that a text says.
pub(in crate::review) fn code(prepared: &Prepared<'_>, reasons: &[Reason]) -> Option<Reason> {
    let open = reasons.iter().any(|reason| reason.code == Code::FlowUntrustedControl);
    let runs = |(_, message): &&(crate::effects::Execution, String)| {
        message.starts_with("the command `") && message.contains(crate::effects::REFERENCE)
    };
    prepared.derived.unclear.iter().find(runs).filter(|_| open && !prepared.goal.delegates())?;
    let message = "what a text from outside holds would be run as a command";
    Some(Reason::block(Code::ExecuteUnanalysed, message).fix("say in the goal what is to be run"))
}

type Found = Option<(Decision, String)>;

/// An address that is sent something, or that is fetched instead of the one that the goal gives.
fn address(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Found {
    let host = touch.endpoint.as_ref().map(|at| at.host.to_string()).unwrap_or_default();
    let named = |name: &str| goal::names(request.pinned_goal, name);
    let told = request.session.was_told(&touch.name) || request.session.was_told(&host);
    if touch.kind != TargetKind::Url || !told || named(&host) || named(&touch.name) {
        return None;
    }
    let instead = || prepared.goal.addresses().any(|(said, _)| said.contains('.') && said != host);
    if touch.effect == Effect::Read && instead() {
        let message = format!("data from outside names {}, and the goal another address", touch.name);
        return Some((Decision::RequireApproval, message));
    }
    if touch.effect.is_harmless() {
        return None;
    }
    let obeyed = defaults::control_plane(touch).is_some() || goal::unwanted(request, prepared);
    let decision = if obeyed { Decision::Block } else { Decision::RequireApproval };
    Some((decision, format!("data from outside names {}, and the goal does not", touch.name)))
}

/// Somebody whom a text wants told, where nobody else wants anybody told.
fn receiver(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Found {
    let receives = touch.effect == Effect::Send && touch.standing.is_some_and(|standing| standing > Standing::User);
    let colleague = touch.name.split('@').next().unwrap_or(&touch.name);
    // "All their readers" for the list `all-readers`.
    let parts = touch.name.replace(['-', '_'], " ");
    let told = || request.session.was_told(&touch.name) || (!parts.contains('@') && request.session.was_told(&parts));
    let chosen =
        receives && told() && !goal::names(request.pinned_goal, colleague) && goal::unwanted(request, prepared);
    chosen
        .then(|| (Decision::Block, format!("data from outside names {}, and the goal wants nothing sent", touch.name)))
}

/// An act that a text calls by the name of its tool, as a planner would, where nobody else wants it.
fn act(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Found {
    let (goal, action) = (&prepared.goal, prepared.step.action.as_str());
    let chosen = !touch.effect.is_harmless()
        && action.contains(['_', '-', '.'])
        && request.session.was_told(action)
        && !goal.delegates()
        && !goal.call(action);
    chosen.then(|| (Decision::Block, format!("data from outside calls `{action}`, and the goal wants nothing of it")))
}

/// A statement that a text holds, where nobody else wants anything changed by it.
fn statement(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Found {
    let chosen = touch.kind == TargetKind::Database
        && !touch.effect.is_harmless()
        && prepared.text("sql").is_some_and(|sql| is_told(request, prepared) || holds_a_told(request, prepared, sql))
        && goal::unwanted(request, prepared);
    chosen.then(|| {
        (Decision::Block, format!("data from outside says what is done in {}, and the goal does not", touch.name))
    })
}

/// Whether a statement has a value in quotes that a text from outside gives, and the goal does not: "delete T-311 as well".
fn holds_a_told(request: &Request<'_>, prepared: &Prepared<'_>, sql: &str) -> bool {
    let told = |value: &&str| value.len() > 2 && request.session.was_told(value) && !prepared.goal.name(value);
    sql.split('\'').skip(1).step_by(2).any(|value| told(&value))
}

/// What a text says is to be remembered, where the user wants nothing remembered.
fn memory(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Found {
    let goal = &prepared.goal;
    // What stands as a permission is believed by whoever reads it.
    let standing = || {
        fold(&touch.name).split(|c: char| !c.is_alphanumeric()).any(|part| has(PERMITTING, part))
            && !goal.speak_of("approv permi allow trust")
    };
    let chosen = touch.kind == TargetKind::Memory
        && !touch.effect.is_harmless()
        && goal.is_read()
        && !goal.delegates()
        && (!goal.speak_of(KEEPING) || standing())
        && (is_told(request, prepared) || takes_up(prepared));
    chosen.then(|| {
        let message =
            format!("data from outside says what is to be remembered as {}, and the goal does not", touch.name);
        (Decision::Block, message)
    })
}

/// What a text wants gone, by its path, where the goal wants nothing gone and does not name it.
fn removal(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Found {
    touch.seen()?;
    let inside = |root: &String| touch.name.strip_prefix(root.as_str()).and_then(|rest| rest.strip_prefix('/'));
    let below = request.deployment.workspace().iter().find_map(inside).unwrap_or(&touch.name);
    let base = below.rsplit('/').next().unwrap_or(below);
    let goal = &prepared.goal;
    let told = (below.contains('/') && request.session.was_told(below))
        || (base.contains('.') && request.session.was_told(base));
    let chosen = touch.effect == Effect::Delete
        && told
        && goal.is_read()
        && !goal.delegates()
        && (!goal.speak_of(goal::REMOVAL) || goal.forbids_removal())
        && !goal.name(base)
        && !prepared.clears_up(touch);
    chosen
        .then(|| (Decision::Block, format!("data from outside names {}, and the goal wants nothing to go", touch.name)))
}

/// A file outside of the workspace, or a restricted one.
fn file(request: &Request<'_>, touch: &Touch) -> Found {
    let named = |name: &str| goal::names(request.pinned_goal, name);
    let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
    let seen = touch.seen()?;
    if request.deployment.is_restricted(&seen) && request.session.was_told(base) && !named(base) {
        let message = format!("data from outside names {}, which is restricted, and the goal does not", touch.name);
        return Some((Decision::Block, message));
    }
    let chosen =
        !request.deployment.in_workspace(&seen) && request.session.was_told(&touch.name) && !named(&touch.name);
    chosen
        .then(|| (Decision::RequireApproval, format!("data from outside names {}, and the goal does not", touch.name)))
}

/// What a text says, put where programs believe it: a key, a profile, a unit.
fn believed(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Found {
    let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
    let seen = touch.seen()?;
    let chosen = !touch.effect.is_harmless()
        && request.deployment.is_trusted(&seen)
        && !request.deployment.in_workspace(&seen)
        && !goal::names(request.pinned_goal, base)
        && !prepared.goal.delegates()
        // "Put it into keys/p.pub" says where, and not among the keys that let in.
        && (is_told(request, prepared)
            || (takes_up(prepared)
                && (request.deployment.is_power(&seen) || !prepared.goal.speak_of(STARTING))
                && prepared.goal.paths().next().is_some()));
    chosen.then(|| {
        (Decision::Block, format!("data from outside says what {} is to hold, and the goal does not", touch.name))
    })
}

/// What a text from outside says, put where agents take their orders from: taken over as it is, or in the words of a planner that read it.
pub(super) fn obeyed(request: &Request<'_>, flow: &Flow, prepared: &Prepared<'_>) -> Option<Reason> {
    let base = |touch: &Touch| crate::paths::fold(touch.name.rsplit('/').next().unwrap_or(&touch.name)).into_owned();
    let acts = prepared.derived.touches.iter().filter(|touch| touch.by == By::Tool && !touch.effect.is_harmless());
    let file = acts.map(base).find(|base| OBEYED.contains(&base.as_str()))?;
    let told = request.planner < Level::User && is_told(request, prepared);
    if prepared.goal.delegates() || !(told || flow.takes_from_outside(&prepared.step.id)) {
        return None;
    }
    let decision = if prepared.goal.name(&file) { Decision::RequireApproval } else { Decision::Block };
    let message = format!("a text from outside would stand in {file}, which agents obey");
    Some(Reason::new(Code::FlowUntrustedControl, decision, message).fix("say in the goal that it is wanted"))
}

/// Whether a step writes what another one returned.
fn takes_up(prepared: &Prepared<'_>) -> bool {
    let mut found = false;
    prepared.step.args.references(&mut |_, expr| found |= matches!(expr, Expr::From { .. }));
    found
}

/// Whether most words of what a step writes stand in a text from outside.
fn is_told(request: &Request<'_>, prepared: &Prepared<'_>) -> bool {
    let apart = |c: char| c.is_whitespace() || ",;.!?:".contains(c);
    let words: Vec<&str> = prepared.texts().flat_map(|text| text.split(apart)).filter(|word| word.len() > 3).collect();
    let told = words.iter().filter(|word| request.session.was_told(word)).count();
    told > 1 && told * 2 > words.len()
}
