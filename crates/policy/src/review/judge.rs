//! One step judged: everything that is found about it, then the rules, then the defaults where no rule takes their place.

use countersign_plan::draft::Rollback;
use countersign_plan::expect::Expect;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Quorum, Reason};

use super::bounds::{Bounds, Patterns};
use super::defaults::{self, Waivable};
use super::flow::{self, Flow};
use super::prepare::Prepared;
use super::scope::StepScope;
use super::totals::{self, Total, Totals};
use super::{
    Request, apart, around, awaited, below, carried, checks, direction, edits, goal, jobs, leaving, lever, likeness,
    loosened, overwritten, packages, repository, resources, rewritten, served, sources, structure, swapped, threats,
    twice, undoing, vouched,
};
use crate::condition::Scope;
use crate::effects::{self, By, Scene};
use crate::facts::Evaluation;
use crate::paths::{self, Seen};
use crate::policy::{Action, Rule, Use};

/// A plan with everything that is worked out once for all of its steps.
#[derive(Debug)]
pub(super) struct View<'v, 'a> {
    request: &'v Request<'a>,
    steps: &'v [Prepared<'a>],
    totals: Totals,
    patterns: Patterns,
    flow: Flow,
}

impl<'v, 'a> View<'v, 'a> {
    pub(super) fn new(request: &'v Request<'a>, steps: &'v [Prepared<'a>]) -> Self {
        Self {
            request,
            steps,
            totals: totals::per_payee(steps),
            patterns: Bounds::of(request.draft.privileges()).patterns(request),
            flow: Flow::new(request, steps),
        }
    }
}

impl View<'_, '_> {
    /// The labels of every value.
    pub(super) fn into_proof(self) -> crate::flow::Proof {
        self.flow.into_proof()
    }
}

/// What judging a step gives.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) reasons: Vec<Reason>,
    pub(super) quorums: Vec<Quorum>,
    pub(super) masked: Vec<String>,
    pub(super) read_only: Vec<String>,
}

pub(super) fn step(view: &View<'_, '_>, i: usize) -> Judged {
    let View { request, steps, patterns, .. } = view;
    let total = view.totals.of(i);
    let mut judged = Judged::default();
    let Some(prepared) = steps.get(i) else { return judged };
    judged.reasons.extend(structure::check(request, prepared));
    let wanted = |finding| resources::as_wanted(request, prepared, finding);
    judged.reasons.extend(prepared.derived.findings.iter().map(wanted));
    if prepared.tool.is_some() {
        judged.reasons.extend(resources::check(request, prepared));
        judged.reasons.extend(leaving::check(request, prepared));
        judged.reasons.extend(resources::removed_unseen(prepared));
        judged.reasons.extend(carried::check(request, prepared));
        judged.reasons.extend(vouched::check(prepared));
        judged.reasons.extend(rewritten::check(request, prepared));
        judged.reasons.extend(around::check(prepared));
        let found = below::check(request, prepared);
        judged.reasons.extend(found.reasons);
        (judged.masked, judged.read_only) = (found.masked, found.read_only);
        let ruled = rules(request, prepared, total, &mut judged);
        // Nobody's goal asks for taking back, so that rollbacks are not compared with it.
        judged.reasons.extend(goal::unasked(request, prepared, ruled));
        judged.reasons.extend(goal::forbidden(request, prepared, || checks::is_looked_at_before(steps, i)));
        judged.reasons.extend(goal::only_described(prepared));
        judged.reasons.extend(goal::mixed_up(prepared));
        judged.reasons.extend(goal::for_another(steps, i));
        judged.reasons.extend(twice::check(steps, i));
        judged.reasons.extend(swapped::of_another(steps, i));
        judged.reasons.extend(swapped::one_for_two(steps, i));
        judged.reasons.extend(swapped::told_for_ordered(steps, i));
        judged.reasons.extend(swapped::of_another_record(steps, i));
        judged.reasons.extend(jobs::check(prepared));
        judged.reasons.extend(twice::all_of_some(steps, i));
        judged.reasons.extend(twice::as_told(request, steps, i));
        judged.reasons.extend(goal::beyond_a_look(request, prepared));
        judged.reasons.extend(goal::only_spoken_of(prepared));
        if prepared.irreversible
            && (prepared.has_effect() || prepared.step.irreversible)
            && (prepared.step.irreversible || !defaults::is_scratch_work(request, prepared))
        {
            let message = format!("nothing takes `{}` back", prepared.step.action);
            judged.reasons.push(Reason::ask(Code::PlanIrreversible, message));
        }
        judged.reasons.extend(flow::check(request, &view.flow, prepared));
        judged.reasons.extend(flow::runs_what_outsiders_wrote(&view.flow, steps, i));
        judged.reasons.extend(Bounds::of(request.draft.privileges()).exceeded(patterns, prepared, request));
        // What a policy makes of a finding no confirmation takes out again.
        lever::tighten(request.policy, &mut judged.reasons, &mut judged.quorums);
        flow::settle(request, &view.flow, steps, i, &mut judged.reasons);
        judged.reasons.extend(expectations(request, prepared));
        judged.reasons.extend(checks::vacuous(steps, i));
        judged.reasons.extend(request.pinned_goal.and_then(|goal| loosened::loosened(prepared, goal)));
        judged.reasons.extend(request.pinned_goal.and_then(|goal| loosened::opened(prepared, goal)));
        judged.reasons.extend(request.pinned_goal.and_then(|goal| loosened::skipped(prepared, goal)));
        judged.reasons.extend(request.pinned_goal.and_then(|goal| loosened::crowded(prepared, goal)));
        judged.reasons.extend(threats::slipped_in(request, steps, i));
        judged.reasons.extend(packages::repointed(steps, i));
        judged.reasons.extend(threats::erased(prepared));
        judged.reasons.extend(threats::through_a_link(steps, i));
        judged.reasons.extend(threats::behind_a_link(request, prepared));
        judged.reasons.extend(edits::beyond(request, prepared));
        judged.reasons.extend(edits::other_value(prepared));
        judged.reasons.extend(edits::in_its_place(request, steps, i));
        judged.reasons.extend(direction::check(steps, i));
        judged.reasons.extend(direction::written_elsewhere(steps, i));
        judged.reasons.extend(direction::removed_else(steps, i));
        judged.reasons.extend(overwritten::copy_lost(steps, i));
        judged.reasons.extend(overwritten::keeps_the_new(steps, i));
        judged.reasons.extend(overwritten::source_overwritten(steps, i));
        judged.reasons.extend(packages::from_elsewhere(request, prepared));
        judged.reasons.extend(packages::beside_the_named(request, prepared));
        judged.reasons.extend(packages::from_nowhere(request, prepared));
        judged.reasons.extend(flow::chosen::code(prepared, &judged.reasons));
        judged.reasons.extend(apart::check(request, steps, i));
        judged.reasons.extend(apart::kept(steps, i));
        judged.reasons.extend(checks::evidence(steps, i));
        judged.reasons.extend(threats::replaced_too_late(steps, i));
        judged.reasons.extend(sources::banned(request, steps, i));
        judged.reasons.extend(totals::other_currency(prepared));
        judged.reasons.extend(repository::check(steps, i));
        judged.reasons.extend(sources::unnamed(request, steps, i));
        judged.reasons.extend(sources::more_than_figures(steps, i));
        judged.reasons.extend(sources::attached(request, prepared));
        judged.reasons.extend(sources::other_record(request, steps, i));
        judged.reasons.extend(checks::word_unseen(steps, i));
        judged.reasons.extend(checks::condition_unseen(request, steps, i));
        judged.reasons.extend(awaited::other_state(request, steps, i));
        judged.reasons.extend(awaited::state_unseen(steps, i));
        judged.reasons.extend(awaited::other_thing(steps, i));
        judged.reasons.extend(awaited::untested(request, steps, i));
        judged.reasons.extend(threats::sent_too_early(steps, i));
        judged.reasons.extend(threats::kept_too_late(steps, i));
        judged.reasons.extend(threats::copied_too_late(steps, i));
        judged.reasons.extend(threats::draft_given_out(steps, i));
        judged.reasons.extend(served::check(request, prepared));
        judged.reasons.extend(likeness::other_file(steps, prepared));
        judged.reasons.extend(likeness::other_of_two(steps, i));
        judged.reasons.extend(likeness::other_content(steps, i));
        judged.reasons.extend(likeness::other_record(request, steps, i));
        judged.reasons.extend(likeness::kept_record(steps, i));
        judged.reasons.extend(likeness::picked_unseen(steps, i));
        judged.reasons.extend(likeness::other_address(prepared));
        judged.reasons.extend(likeness::other_name(prepared));
        judged.reasons.extend(rollback(request, patterns, steps, i));
    }
    let id = &prepared.step.id;
    for reason in &mut judged.reasons {
        reason.step.get_or_insert_with(|| id.clone());
    }
    let mut seen: Vec<Reason> = Vec::with_capacity(judged.reasons.len());
    judged.reasons.retain(|reason| {
        let new = !seen.contains(reason);
        if new {
            seen.push(reason.clone());
        }
        new
    });
    judged
}

/// The rules that match a step.
pub(super) fn matches<'p>(
    request: &'p Request<'_>,
    prepared: &Prepared<'_>,
    total: Total,
) -> crate::policy::Matches<'p> {
    let touches = prepared.derived.touches.iter().filter(|touch| !touch.is_open());
    let mut uses: Vec<Use<'_>> = touches.map(effects::Touch::as_use).collect();
    for open in &prepared.derived.open {
        uses.push(Use { effect: open.effect, kind: open.kind, path: None, endpoint: None });
    }
    if uses.is_empty() {
        let (effect, kind) = prepared.tool.map_or((Effect::Admin, TargetKind::Other), |tool| {
            (tool.definition().effect, tool.definition().target.kind)
        });
        uses.push(Use { effect, kind, path: None, endpoint: None });
    }
    let action = Action { tool: prepared.step.action.as_str(), group: prepared.group(), uses: &uses };
    let own = StepScope::new(request, prepared, Total::Alone);
    let summed = (total != Total::Alone).then(|| StepScope::new(request, prepared, total));
    let scopes: Vec<&dyn Scope> =
        std::iter::once(&own as &dyn Scope).chain(summed.as_ref().map(|s| s as &dyn Scope)).collect();
    request.policy.decide(&action, &scopes)
}

/// Whether a rule of the policy allows the step.
pub(super) fn is_allowed(request: &Request<'_>, prepared: &Prepared<'_>) -> bool {
    matches(request, prepared, Total::Alone).allow.is_some()
}

/// What the rules say, then the defaults where no rule takes their place. Returns whether a rule allows the step.
fn rules(request: &Request<'_>, prepared: &Prepared<'_>, total: Total, judged: &mut Judged) -> bool {
    let matches = matches(request, prepared, total);
    let reasons = &mut judged.reasons;
    for (rule, why) in &matches.diagnostics {
        let message = format!("the rule `{rule}` could not be evaluated: {why}");
        reasons.push(Reason::block(Code::PolicyDiagnostic, message).by(rule));
    }
    for rule in &matches.deny {
        let message = format!("the rule `{}` denies {}", rule.name(), prepared.step.action);
        reasons.push(Reason::block(Code::PolicyDeny, message).by(rule.name()));
    }
    for rule in &matches.deny_open {
        let message =
            format!("the rule `{}` may deny {} once its arguments are known", rule.name(), prepared.step.action);
        reasons.push(Reason::ask(Code::PolicyDeny, message).by(rule.name()));
    }
    for rule in &matches.verify {
        verify(request, rule, prepared, judged);
    }
    let conditional = matches.allow.is_some_and(Rule::is_conditional);
    let asks = defaults::asks(request, prepared).into_iter().filter(|ask| match ask.waivable {
        Waivable::ByRule => matches.allow.is_none(),
        Waivable::ByCondition => !conditional,
        Waivable::Never => true,
    });
    judged.reasons.extend(asks.map(|ask| Reason::new(ask.code, Decision::RequireApproval, ask.message)));
    if judged.reasons.iter().all(|reason| reason.decision == Decision::Allow) {
        judged.reasons.push(match matches.allow {
            Some(rule) => {
                let message = format!("the rule `{}` allows {}", rule.name(), prepared.step.action);
                Reason::new(Code::PolicyAllow, Decision::Allow, message).by(rule.name())
            }
            None => {
                let message = format!("{} is allowed by default", prepared.step.action);
                Reason::new(Code::DefaultAllow, Decision::Allow, message)
            }
        });
    }
    matches.allow.is_some()
}

/// A further tier that is asked for. What the evaluator says counts for a rule of tier 2 that names no approvers, and for nothing else;
/// what it does not answer is for people. Tier 1 is the inspection, which has looked at every step: where it found nothing, the rule is
/// satisfied (FORMATS §5).
fn verify(request: &Request<'_>, rule: &Rule, prepared: &Prepared<'_>, judged: &mut Judged) {
    let (tier, action) = (rule.tier(), &prepared.step.action);
    let mut push = |code, decision, message: String| {
        let reason = Reason::new(code, decision, message).by(rule.name());
        judged.reasons.push(Reason { tier, ..reason });
    };
    if tier == 1 && rule.approvers().is_none() && is_clean(prepared) {
        let message = format!("inspection finds nothing in {action}, which the rule `{}` asks for", rule.name());
        return push(Code::PolicyVerify, Decision::Allow, message);
    }
    if tier == 2 && rule.approvers().is_none() {
        match request.facts.evaluation(request.draft.digest(), request.policy.digest()) {
            Evaluation::NotAsked => {}
            Evaluation::Harmless => {
                let message =
                    format!("the evaluator sees no harm in the plan, which the rule `{}` asks for", rule.name());
                return push(Code::EvaluatorHarmless, Decision::Allow, message);
            }
            Evaluation::Doubtful(why) => push(Code::EvaluatorDoubtful, Decision::RequireApproval, why.to_owned()),
            Evaluation::Failed(why) => push(Code::EvaluatorUnavailable, Decision::RequireApproval, why),
        }
    }
    let message = format!("the rule `{}` asks for tier {tier} for {action}", rule.name());
    push(Code::PolicyVerify, Decision::RequireApproval, message);
    judged.quorums.push(match rule.approvers() {
        Some(approvers) => Quorum { group: approvers.group.clone(), quorum: approvers.quorum },
        None => Quorum { group: None, quorum: 1 },
    });
}

/// Whether inspection has nothing to say against a step.
fn is_clean(prepared: &Prepared<'_>) -> bool {
    prepared.derived.findings.iter().all(|finding| finding.decision == Decision::Allow)
}

/// Files that expectations look at are read like any other.
fn expectations(request: &Request<'_>, prepared: &Prepared<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for path in prepared.step.expect.iter().filter_map(Expect::file) {
        let name = match request.deployment.place().normalise(path) {
            Ok(name) => name,
            Err(e) => {
                reasons.push(Reason::block(Code::PlanHiddenText, format!("an expected path: {e}")));
                continue;
            }
        };
        let fact = request.facts.resolve(&name);
        let seen = Seen::new(&name, fact.resolved.as_deref());
        if request.deployment.is_own_folder(&seen) {
            let message = format!("an expectation looks at {name}, which belongs to Countersign");
            reasons.push(Reason::block(Code::ResourceOwn, message));
        }
        if seen.either(paths::is_kernel) {
            let message = format!("an expectation looks at {name}, which is no file");
            reasons.push(Reason::ask(Code::ResourceKernel, message));
        }
        if request.deployment.is_restricted(&seen) {
            let message = format!("an expectation looks at {name}, which is restricted");
            reasons.push(Reason::ask(Code::ResourceRestricted, message));
        }
        let read = Use { effect: Effect::Read, kind: TargetKind::File, path: Some(seen), endpoint: None };
        let action = Action { tool: "read_file", group: Some("files"), uses: &[read] };
        let scope = StepScope::new(request, prepared, Total::Alone);
        // The paths of rules are what counts here: a condition over other arguments cannot be asked.
        for rule in request.policy.decide(&action, &[&scope]).deny {
            let message = format!("an expectation looks at {name}, which the rule `{}` denies", rule.name());
            reasons.push(Reason::block(Code::PolicyDeny, message).by(rule.name()));
        }
    }
    reasons
}

/// What a rollback would do is judged like a step: what blocks a step blocks it, what asks for a step asks for it. Values that
/// only the step itself can give are judged when it is taken back.
fn rollback(request: &Request<'_>, patterns: &Patterns, steps: &[Prepared<'_>], i: usize) -> Vec<Reason> {
    let Some(prepared) = steps.get(i) else { return Vec::new() };
    let Some(Rollback::Action { action, args }) = &prepared.step.rollback else { return Vec::new() };
    let Some(tool) = request.manifest.get(action) else { return Vec::new() };
    let Ok(args) = effects::substitute(args, request.inputs) else { return Vec::new() };
    let scene = Scene { deployment: request.deployment, facts: request.facts, written: &prepared.written };
    let step = countersign_plan::draft::Step {
        action: action.clone(),
        args: args.clone(),
        reason: None,
        expect: Vec::new(),
        rollback: None,
        irreversible: false,
        ..prepared.step.clone()
    };
    let as_step = Prepared {
        step: &step,
        tool: Some(tool),
        derived: effects::derive(tool.definition(), &args, scene),
        given: crate::flow::fill(&args),
        args,
        // Taking back is itself the way back.
        reversible_by: super::ReversibleBy::Action,
        irreversible: false,
        concrete: false,
        written: std::rc::Rc::clone(&prepared.written),
        goal: std::rc::Rc::clone(&prepared.goal),
        faults: Vec::new(),
    };
    let mut judged = Judged { reasons: as_step.derived.findings.clone(), ..Judged::default() };
    judged.reasons.extend(structure::secrets(request, &as_step.step.args, &as_step.derived, tool.definition()));
    judged.reasons.extend(resources::check(request, &as_step));
    if takes_back_own_work(request, prepared, &as_step) {
        leave_to_take_back(&mut judged.reasons);
    }
    judged.reasons.extend(leaving::check(request, &as_step));
    judged.reasons.extend(below::check(request, &as_step).reasons);
    rules(request, &as_step, Total::Alone, &mut judged);
    judged.reasons.extend(undoing::beyond_step(request, prepared, &as_step));
    judged.reasons.extend(Bounds::of(request.draft.privileges()).exceeded(patterns, &as_step, request));
    let mut reasons = judged.reasons;
    reasons.extend(undoing::store_lost(prepared, &as_step));
    reasons.extend(undoing::wider_fields(prepared, &as_step));
    reasons.extend(undoing::not_before(prepared, &as_step));
    reasons.extend(undoing::removes_other(prepared, &as_step));
    reasons.extend(undoing::for_good(prepared, &as_step));
    reasons.extend(undoing::tells(prepared, &as_step));
    reasons.extend(undoing::unrelated(prepared, &as_step));
    // Removing what the step itself made is what a rollback is for.
    reasons.retain(|r| r.decision != Decision::Allow && !is_own_undoing(request, r, prepared, &as_step));
    reasons.extend(undoing::was_there(steps, i, &as_step));
    if undoing::is_wanted_on_failure(request, &as_step) {
        reasons.retain(|reason| reason.code != Code::PlanRollbackElsewhere || reason.decision == Decision::Block);
    }
    for reason in &mut reasons {
        reason.message = format!("rollback: {}", reason.message);
    }
    reasons
}

/// Whether everything that the rollback touches has its name from the step's own arguments, is not what the step is aimed at,
/// and the step itself has leave: a snapshot that the step makes under a change request may be removed again.
fn takes_back_own_work(request: &Request<'_>, prepared: &Prepared<'_>, rollback: &Prepared<'_>) -> bool {
    let Some(id) = &prepared.step.change_request else { return false };
    let Some(serde_json::Value::Object(given)) = prepared.args.literal() else { return false };
    let touches = &prepared.derived.touches;
    let uses: Vec<_> = touches.iter().map(|touch| (touch.as_use(), touch.name.as_str())).collect();
    prepared.group().is_some()
        && prepared.group() == rollback.group()
        && touches.iter().any(|touch| touch.effect == Effect::Create)
        && resources::covered(request, prepared, id, &uses).is_ok()
        && rollback.derived.touches.iter().all(|touch| {
            let named = given.values().any(|value| value.as_str() == Some(touch.name.as_str()));
            named && !touches.iter().any(|own| own.name == touch.name)
        })
}

/// Leave to do includes leave to take back: people are asked about it and nothing more.
fn leave_to_take_back(reasons: &mut Vec<Reason>) {
    reasons.retain(|reason| reason.code != Code::ChangeRequestInvalid);
    for reason in reasons.iter_mut().filter(|reason| reason.code == Code::ResourceProtected) {
        reason.code = Code::ResourceProtectedCovered;
        reason.decision = Decision::RequireApproval;
        reason.fix = None;
    }
}

/// Whether the default that asks is about something that the step itself touches, or that its own output names.
fn is_own_undoing(request: &Request<'_>, reason: &Reason, prepared: &Prepared<'_>, rollback: &Prepared<'_>) -> bool {
    // What a program may see, and that it runs, takes nothing away.
    let counts = |touch: &&effects::Touch| touch.by != By::View && touch.effect != Effect::Execute;
    let touches = || rollback.derived.touches.iter().filter(counts);
    let touched = |touch: &effects::Touch| touch.is_open() || undoing::is_own(prepared, touch);
    let by_default = matches!(reason.code, Code::DefaultAsk | Code::ResourceOutside);
    let pays = touches().any(|touch| touch.effect == Effect::Pay);
    let governs = touches().any(|touch| touch.effect == Effect::Admin);
    // A store with all that is in it is more than what one step makes of it.
    let made = |lost: &effects::Touch| {
        let mut made = prepared.derived.touches.iter().filter(|touch| touch.effect == Effect::Create);
        let named = made.any(|touch| touch.kind == lost.kind && touch.name == lost.name);
        (named && prepared.goal.introduce(&lost.name))
            || (undoing::copies(prepared, rollback, &lost.name) && prepared.goal.name(&lost.name))
    };
    let store = |touch: &effects::Touch| {
        touch.kind == TargetKind::Database && touch.effect == Effect::Delete && !touch.is_open() && !made(touch)
    };
    let stores = rollback.irreversible_by_manifest() && touches().any(store);
    by_default
        && !pays
        && !stores
        && (returned(prepared, rollback)
            || (governs && turns_round(prepared, rollback))
            || (!governs && touches().all(touched))
            || (!governs && undoing::is_again(request, prepared, rollback)))
}

/// Whether the rollback decides with nothing but what its own step returned, or puts it back with the step's own tool: the same values, but for
/// those that the step returned and the opposite of a word that it set.
fn returned(prepared: &Prepared<'_>, rollback: &Prepared<'_>) -> bool {
    let controls = rollback.tool.map_or(&[][..], |tool| &tool.definition().controls);
    let own = |expr: &Expr| matches!(expr, Expr::From { step, .. } if *step == prepared.step.id);
    let alike = prepared.step.action == rollback.step.action;
    let same = |at: &Pointer, expr: &Expr| alike && prepared.args.at(at).as_ref() == Some(expr);
    // A day or a version near the one that was set is no opposite of it.
    let turned = |at: &Pointer, expr: &Expr| {
        let word =
            |value: &serde_json::Value| value.as_str().is_some_and(|text| !text.contains(|c: char| c.is_ascii_digit()));
        let before = expr.literal().filter(word);
        alike && before.is_some_and(|before| crate::flow::restores(&prepared.args, at, &before))
    };
    let given = || controls.iter().filter_map(|at| rollback.args.at(at).map(|expr| (at, expr)));
    let back = |(at, expr): (&Pointer, Expr)| own(&expr) || turned(at, &expr);
    !controls.is_empty()
        && given().all(|(at, expr)| back((at, expr.clone())) || same(at, &expr))
        && (!alike || given().any(back))
}

/// Whether the rollback is the other half of the step's pair (grant and revoke), with the same values.
fn turns_round(prepared: &Prepared<'_>, rollback: &Prepared<'_>) -> bool {
    let values = |prepared: &Prepared<'_>| prepared.args.literal();
    goal::are_opposites(prepared.step.action.as_str(), rollback.step.action.as_str())
        && values(prepared).is_some_and(|own| values(rollback) == Some(own))
}
