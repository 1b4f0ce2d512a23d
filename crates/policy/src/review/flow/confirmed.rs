//! Which questions the user's own goal has answered already (FORMATS §5).

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Definition, Effect, Reversibility, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::Flow;
use crate::deployment::{Confirmation, Standing, is_path_kind};
use crate::effects::{By, Touch};
use crate::flow::{self, Kind, Means, Sink};
use crate::review::prepare::Prepared;
use crate::review::{Request, around, carried, checks, goal, repository};

/// Takes out the questions that the goal has answered: every value that decides is the user's or the house's, and the effect is
/// what the goal asks for (FORMATS §5).
pub(in crate::review) fn settle(
    request: &Request<'_>,
    flow: &Flow,
    steps: &[Prepared<'_>],
    i: usize,
    reasons: &mut Vec<Reason>,
) {
    let Some(prepared) = steps.get(i) else { return };
    if prepared.derived.touches.iter().any(Touch::is_push) && is_blind(request, steps, prepared, i) {
        let message = "the goal makes the push depend on something that no step before it looks at";
        reasons.push(Reason::ask(Code::PlanOrder, message).fix("look first, push last"));
    }
    let Some(how) = confirmed(request, flow, steps, prepared, i) else { return };
    let before = reasons.len();
    let issues = flow.of(&prepared.step.id).filter(|sink| !sink.rollback).flat_map(|sink| &sink.issues);
    let released: Vec<&str> = issues.map(|issue| issue.message.as_str()).collect();
    let answered = |reason: &Reason| {
        reason.decision == Decision::RequireApproval
            && (matches!(reason.code, Code::PlanIrreversible | Code::DefaultAsk | Code::HostUnknown)
                || (how == How::ToUser && reason.code == Code::GoalUnasked && reason.rule.is_none())
                // Who keeps the repository has what is in it: to have it pushed there is to let it go there. A text that tells nothing
                // beside the goal, the goal lets go.
                || (reason.code == Code::FlowClearance && (how == How::Push || released.contains(&reason.message.as_str()))))
    };
    reasons.retain(|reason| !answered(reason));
    if reasons.len() < before {
        let (code, message) = match how {
            How::ToUser => (Code::DefaultAllow, "the user alone receives it".to_owned()),
            How::Push => (Code::FlowConfirmed, "the goal orders the push to where the repository is kept".to_owned()),
            How::Request(spans) if spans.is_empty() => (Code::FlowConfirmed, "confirmed by the request".to_owned()),
            How::Request(spans) => {
                (Code::FlowConfirmed, format!("confirmed by the request, at bytes {} of the goal", spans.join(", ")))
            }
            How::House => {
                let message = "confirmed by the request, with values that only the house's own fields hold";
                (Code::FlowConfirmed, message.to_owned())
            }
        };
        reasons.push(Reason::new(code, Decision::Allow, message));
    }
}

/// Whether the goal makes what is done depend on something, and nothing before the step looks at anything.
fn is_blind(request: &Request<'_>, steps: &[Prepared<'_>], prepared: &Prepared<'_>, i: usize) -> bool {
    let unseen = || !checks::is_looked_at_before(steps, i) || checks::looks_elsewhere(steps, i);
    prepared.goal.conditional && !request.session.has_acted() && unseen()
}

/// Words for a change in a store.
const CHANGING: &str = "updat set insert add delet remov creat alter mark chang fix correct renam mov clos reset fill load import migrat \
    backfill replac bump rais lower increas decreas clear empty truncat drop purg archiv merg put apply flag assign enter record \
    restor copy anonymi mask";

/// Whether nothing is wrong but that internal data would leave, and all of it is what the user typed himself or a text that tells nothing
/// of which the goal does not speak.
fn tells_nothing_else(request: &Request<'_>, flow: &Flow, prepared: &Prepared<'_>, sink: &Sink) -> bool {
    fn is_plain(nodes: &[flow::Node], node: usize) -> bool {
        nodes.get(node).is_some_and(|node| match &node.kind {
            Kind::Input | Kind::Grounded(_) | Kind::Literal => true,
            Kind::Join => node.from.iter().all(|edge| is_plain(nodes, edge.node)),
            _ => node.label.readers == flow::Readers::ANYONE,
        })
    }
    let open = |issue: &flow::Issue| issue.decision == Decision::RequireApproval;
    let (mut said, mut texts) = (request.pinned_goal.unwrap_or("").to_owned(), Vec::new());
    for input in request.inputs.values().filter_map(serde_json::Value::as_str) {
        said.push('\n');
        said.push_str(input);
    }
    carried::gather(&prepared.args, &mut texts);
    // The names of the arguments are the tool's.
    let names = prepared.tool.and_then(|tool| tool.definition().args.get("properties")?.as_object());
    texts.retain(|text| !names.is_some_and(|names| names.contains_key(text)));
    sink.issues.iter().all(open)
        && flow.is_plain(request, &[sink])
        && sink.carries.iter().all(|node| is_plain(&flow.proof.nodes, *node))
        && texts.iter().all(|text| flow::tells_no_more(&said, text))
}

/// How a step is confirmed beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    /// Nobody but the user receives anything.
    ToUser,
    /// The goal orders a push, and the step is one to the repository's own remote.
    Push,
    /// The goal or an input says every value; the places in the goal.
    Request(Vec<String>),
    /// The goal says the target, and fields that nobody outside writes say the rest.
    House,
}

/// Whether what is to be remembered is what the goal says, behind what was remembered under the same key before.
fn is_repeated(goal: &str, steps: &[Prepared<'_>], prepared: &Prepared<'_>) -> bool {
    let said = |part: &Expr| match part {
        Expr::Text(text) => flow::repeats(goal, text),
        Expr::From { step, .. } => steps.iter().any(|read| {
            read.step.id == *step
                && read.step.action.as_str() == "memory_read"
                && read.text("key").is_some_and(|key| prepared.text("key") == Some(key))
        }),
        _ => false,
    };
    match prepared.step.args.at(&Pointer::from_segments(vec!["value".to_owned()])) {
        Some(Expr::Join(parts)) => parts.iter().all(said),
        Some(value @ Expr::Text(_)) => said(&value),
        Some(Expr::Literal(value)) => value.as_str().is_some_and(|text| flow::repeats(goal, text)),
        _ => false,
    }
}

fn confirmed(
    request: &Request<'_>,
    flow: &Flow,
    steps: &[Prepared<'_>],
    prepared: &Prepared<'_>,
    i: usize,
) -> Option<How> {
    let confirmation = request.deployment.document().approval.as_ref().and_then(|approval| approval.confirmation);
    let definition = prepared.tool?.definition();
    let touches = &prepared.derived.touches;
    if confirmation == Some(Confirmation::Always) {
        return None;
    }
    let sinks: Vec<&Sink> = flow.of(&prepared.step.id).filter(|sink| !sink.rollback).collect();
    let back = || flow.of(&prepared.step.id).filter(|sink| sink.rollback).all(|sink| sink.issues.is_empty());
    let blind = is_blind(request, steps, prepared, i);
    if request.authentic && !blind && is_push_as_asked(prepared) && flow.is_plain(request, &sinks) && back() {
        return Some(How::Push);
    }
    if !sinks.iter().all(|sink| sink.issues.is_empty() || tells_nothing_else(request, flow, prepared, sink)) {
        return None;
    }
    let to_user = |touch: &Touch| touch.effect.is_harmless() || touch.standing == Some(Standing::User);
    if definition.effect == Effect::Send && touches.iter().all(to_user) && touches.iter().any(|t| t.standing.is_some())
    {
        return Some(How::ToUser);
    }
    let goal = request.pinned_goal.filter(|_| request.authentic)?;
    let (wishes, action) = (&prepared.goal, prepared.step.action.as_str());
    // Who asks for something to be remembered, in words of his own, wants it remembered.
    let memory =
        touches.iter().all(|touch| touch.kind == TargetKind::Memory) && wishes.order("remember memor note keep");
    // What is remembered is believed later on: no sentence of it may be about something else.
    let strays = || {
        let mut texts = Vec::new();
        carried::gather(&prepared.args, &mut texts);
        texts.iter().any(|text| flow::strays(goal, text))
    };
    let remembers = touches.iter().any(|touch| touch.kind == TargetKind::Memory && !touch.effect.is_harmless());
    if remembers && strays() {
        return None;
    }
    let mut kept = sinks.iter().flat_map(|sink| &sink.carries).peekable();
    // Nor what a step found of which the goal has no word.
    let mut unnamed = false;
    prepared.step.args.references(&mut |_, expr| {
        let Expr::From { step: from, .. } = expr else { return };
        let read = steps.iter().find(|read| read.step.id == *from);
        let named = |read: &&Prepared<'_>| {
            read.step.action.as_str() == "memory_read"
                || read.texts().any(|text| wishes.name(text) || wishes.share_a_word(text))
        };
        unnamed |= read.filter(|read| !named(read)).is_some();
    });
    if remembers && unnamed && !wishes.delegates() {
        return None;
    }
    if memory && kept.peek().is_some() && (kept.all(|node| flow.is_said(*node)) || is_repeated(goal, steps, prepared)) {
        return Some(How::Request(Vec::new()));
    }
    let reaches = touches.iter().any(|touch| touch.endpoint.is_some() || touch.kind == TargetKind::Url);
    let acts = touches.iter().any(|touch| !touch.effect.is_harmless());
    // What a command line does is judged by itself; no value of it is the goal's.
    let by_command = touches.iter().any(|touch| touch.by != By::Tool && touch.by != By::Move);
    // A request to the house's own, at the very address that the goal gives, of a goal that wants something sent or made.
    let given = |touch: &Touch| {
        touch.effect.is_harmless()
            || (touch.kind == TargetKind::Url
                && matches!(touch.effect, Effect::Send | Effect::Create | Effect::Update)
                && touch.standing.is_some_and(|standing| standing <= Standing::Internal)
                && goal::names(Some(goal), &touch.name))
    };
    let plain = || !around::acts_by_address(prepared);
    if reaches
        && acts
        && !by_command
        && !blind
        && touches.iter().all(given)
        && wishes.want_more_than_a_look()
        && plain()
    {
        return Some(How::Request(Vec::new()));
    }
    if reaches || !acts || by_command {
        return None;
    }
    // Whole stores and files that nothing brings back: a word in a goal is too little.
    let lasting = |kind| matches!(kind, TargetKind::Database | TargetKind::Account) || is_path_kind(kind);
    let lost = touches.iter().any(|touch| touch.effect == Effect::Delete && lasting(touch.kind));
    let nodes = || {
        let decides = sinks.iter().flat_map(|sink| &sink.decides);
        decides.filter_map(|(node, _)| flow.proof.nodes.get(*node))
    };
    // Where the goal says a value.
    let span = |node: &flow::Node| match node.kind {
        Kind::Grounded(flow::Ground::Goal { from, to }) => Some(from..to),
        _ => None,
    };
    let to_named = |all: bool| {
        // What goes along is no receiver.
        let to = definition.target.arg.as_ref().map(|at| format!("{}{at}", prepared.step.id)).unwrap_or_default();
        let several = all && nodes().any(|node| node.name.starts_with(&to));
        let nodes = nodes().filter(|node| !several || node.name.starts_with(&to));
        is_addressed(wishes, nodes, all, wishes.want_more_than_a_look())
    };
    // A note of the house's own on the very record that the goal is about is part of any work on it.
    let noted = |touch: &Touch| {
        let notes = action
            .split(['_', '-', '.'])
            .any(|part| matches!(part, "note" | "comment" | "annotate" | "remark" | "memo" | "worklog" | "journal"));
        // "Boil it down as a note on WO-2300", by a tool that can change more than that.
        let target = definition.target.arg.as_ref().and_then(|at| at.segments().last());
        let only_note = || {
            let keys = || prepared.given.as_object().into_iter().flat_map(|args| args.keys());
            let notes = |key: &String| matches!(key.as_str(), "note" | "comment" | "remark");
            let mut beside = keys().filter(|key| Some(*key) != target);
            keys().any(notes)
                && keys().any(|key| Some(key) != target)
                && beside.all(|key| notes(key) || matches!(key.as_str(), "state" | "status"))
                && wishes.speak_of("note comment remark")
        };
        let notes = notes || only_note();
        let adds = matches!(touch.effect, Effect::Create | Effect::Update) && touch.kind == TargetKind::Record;
        notes && adds && touch.standing.is_none() && wishes.name(&touch.name)
    };
    // "beta-eu: 12 replicas, please"
    let spans = || nodes().map(span).collect::<Option<Vec<_>>>();
    let set = |touch: &Touch| {
        touch.effect == Effect::Update && spans().is_some_and(|spans| wishes.say_together(action, &spans))
    };
    let wanted = |touch: &Touch| {
        wishes.ask_for(action, touch.effect)
            || noted(touch)
            || set(touch)
            || (touch.effect == Effect::Update && wishes.order_at(&touch.name))
            || (touch.effect == Effect::Send && touch.kind != TargetKind::Record && to_named(true))
    };
    // "She toys with the idea of NIGHT-8. Leave me a page about it": what is only spoken of is not set.
    let only_spoken = || {
        let sets = touches.iter().any(|touch| {
            touch.effect == Effect::Update && !is_path_kind(touch.kind) && touch.kind != TargetKind::Memory
        });
        let said: Vec<_> = nodes().filter_map(span).collect();
        sets && !wishes.call(action)
            && !said.is_empty()
            && wishes.only_speak_at(&said)
            && !spans().is_some_and(|spans| wishes.say_together(action, &spans))
    };
    // "Review pull 1931 and write your notes to reviews/1931.md" changes nothing but that file.
    let only_files = || {
        let sets = |touch: &Touch| {
            matches!(touch.effect, Effect::Update) && !is_path_kind(touch.kind) && touch.kind != TargetKind::Memory
        };
        touches.iter().any(sets) && !touches.iter().any(&noted) && wishes.only_write_files(action)
    };
    let asked = touches.iter().all(wanted) && !wishes.ask_for_opposite(action) && !only_spoken() && !only_files();
    // What the goal asks for once is done once; of payments and rights, whatever is written along with it.
    let pays = touches.iter().any(|touch| matches!(touch.effect, Effect::Pay | Effect::Admin));
    let decisive = |step: &Prepared<'_>| definition.controls.iter().map(|at| step.step.args.at(at)).collect::<Vec<_>>();
    let again = steps.iter().take(i).filter(|s| s.step.action == prepared.step.action).any(|s| {
        s.step.args == prepared.step.args
            || (pays && !definition.controls.is_empty() && decisive(s) == decisive(prepared))
    });
    // A message can say what was found.
    let grave = |effect: Effect| !effect.is_harmless() && !matches!(effect, Effect::Send | Effect::Create);
    let blind = blind && touches.iter().any(|touch| grave(touch.effect));
    // What is started elsewhere is asked for by its name or by where it goes.
    let started = definition.effect == Effect::Execute;
    // A whole line that the goal gives is given to be run.
    let dictated = || {
        let line =
            |said: std::ops::Range<usize>| goal.get(said).is_some_and(|said| said.len() >= 12 && said.contains(' '));
        nodes().filter_map(span).any(line)
    };
    let ordered =
        || wishes.order("run start launch trigger") && spans().is_some_and(|spans| wishes.say_together(action, &spans));
    let begun = || prepared.is_remote() && (wishes.call(action) || to_named(false) || dictated() || ordered());
    // Whoever asks a store something has not asked for what a statement changes in it.
    let statement = || prepared.args.at(&Pointer::from_segments(vec!["sql".to_owned()])).is_some();
    let silent = touches.iter().any(|touch| !touch.effect.is_harmless())
        && statement()
        && !touches.iter().any(|touch| wishes.order_beside(CHANGING, &touch.name))
        && !dictated();
    if lost || !asked || again || blind || silent || (started && !begun() && runs(definition, &sinks)) {
        return None;
    }
    // What leaves is the goal's to name as well, where not everybody of the house may read it and many do, or an outsider.
    let sends = touches.iter().any(|touch| touch.effect == Effect::Send);
    let outside = touches.iter().any(|touch| touch.standing == Some(Standing::Other));
    let widely = sends && (outside || touches.iter().any(|touch| touch.kind == TargetKind::Channel));
    if widely && sinks.iter().flat_map(|sink| &sink.carries).any(|node| flow.takes_unnamed(request, steps, *node)) {
        return None;
    }
    let decides = || sinks.iter().flat_map(|sink| &sink.decides);
    let idle = matches!(definition.target.kind, TargetKind::Process | TargetKind::Email);
    let fits = |node: usize, means: Option<Means>| match means {
        Some(Means::Label) => flow.is_said(node),
        Some(Means::Bounded | Means::Endorsed) => true,
        Some(Means::Listed) => is_colleague(goal, touches),
        Some(Means::Judged) => idle,
        None => false,
    };
    if !decides().all(|(node, means)| fits(*node, *means)) {
        return None;
    }
    // Where nothing decides, the goal has to ask for something new.
    if decides().next().is_none() && !(definition.controls.is_empty() || wishes.speak_of(goal::MAKING)) {
        return None;
    }
    // "It still runs on staging, get rid of it": a place of which something is to go may not itself go.
    let removes = touches.iter().any(|touch| touch.effect == Effect::Delete && touch.by == By::Tool);
    if removes
        && definition.reversibility == Reversibility::Irreversible
        && nodes().next().is_some()
        && nodes().all(|node| is_place(wishes, node))
    {
        return None;
    }
    let said_of = prepared.given.to_string();
    let others = |touch: &Touch| {
        touch.effect == Effect::Delete && touch.by == By::Tool && wishes.remove_other_records(&touch.name, &said_of)
    };
    // "Block it until Friday", "take it off view": for good is more than that.
    let acts_on = |touch: &Touch| !touch.effect.is_harmless() && touch.effect != Effect::Send;
    let for_good = definition.reversibility == Reversibility::Irreversible && touches.iter().any(acts_on);
    // An act that nothing takes back has its own word in the goal.
    let own = wishes.say_all_of(action) || wishes.order(goal::FOR_GOOD);
    let less = !(own || wishes.call(action)) || wishes.speak_of_a_while() || (removes && !own);
    if is_turned_round(prepared, nodes()) || touches.iter().any(others) || (for_good && !pays && less) {
        return None;
    }
    let said = |kind: &Kind| matches!(kind, Kind::Grounded(_) | Kind::Input);
    // Whoever is of the house, or known to it, may be answered.
    if sends && outside && nodes().any(|node| is_spoken_of(wishes, node)) {
        return None;
    }
    // A payment names its payee by the goal, or changes none.
    let given = |at| prepared.step.args.at(at).is_some();
    if pays && definition.target.arg.as_ref().is_some_and(given) && !nodes().any(|node| said(&node.kind)) {
        return None;
    }
    if nodes().all(|node| said(&node.kind)) {
        let span = |kind: &Kind| match kind {
            Kind::Grounded(flow::Ground::Goal { from, to }) => Some(format!("{from}-{to}")),
            Kind::Grounded(flow::Ground::Input { name }) => Some(format!("input {name}")),
            _ => None,
        };
        return Some(How::Request(nodes().filter_map(|node| span(&node.kind)).collect()));
    }
    // Of what goes for good the goal says all.
    (!(removes && for_good) || wishes.order(goal::FOR_GOOD)).then_some(How::House)
}

/// Whether the step only pushes what the repository has to where the repository is kept, and the goal orders a push. What a push
/// overwrites or removes there is a finding of its own.
fn is_push_as_asked(prepared: &Prepared<'_>) -> bool {
    let mut acts = prepared.derived.touches.iter().filter(|t| !t.effect.is_harmless() && t.effect != Effect::Execute);
    let pushes = |touch: &Touch| touch.is_push() || matches!(touch.by, By::Git | By::View);
    // A goal that speaks of a branch means that one.
    let meant = |touch: &Touch| {
        let ref_meant = |pushed: &str| repository::is_meant(&prepared.goal, pushed);
        let last = touch.name.rsplit(' ').next().unwrap_or("");
        let refs = touch.name.split(' ').skip(3).filter(|word| word.contains(':'));
        !(prepared.goal.speak_of("branch tag") || prepared.goal.names_a_branch()) || refs.chain([last]).all(ref_meant)
    };
    prepared.derived.touches.iter().any(Touch::is_push)
        && acts.all(pushes)
        && prepared.derived.touches.iter().filter(|touch| touch.is_push()).all(meant)
        && prepared.derived.findings.is_empty()
        && prepared.goal.order(goal::PUSHING)
}

/// Whether the goal names every value, or any, as whom or where something is for.
fn is_addressed<'n>(wishes: &goal::Wishes, nodes: impl Iterator<Item = &'n flow::Node>, all: bool, acts: bool) -> bool {
    let mut nodes = nodes.peekable();
    let addressed = |node: &flow::Node| {
        let Kind::Grounded(flow::Ground::Goal { from, to }) = node.kind else { return false };
        // "A summary for the leads (#desk-leads)"
        let bracketed = wishes.is_bracketed(from..to);
        let leads = |word: &&str| !bracketed || matches!(*word, "to" | "for" | "tell");
        let before = wishes.before(from).take(5).filter(leads).find(|word| !matches!(*word, "the" | "and" | "a"));
        before.is_some_and(|word| match word {
            // "… and the same to #sales": outside of a question this can only be whom it is for.
            "to" | "let" | "cc" | "into" => acts || !wishes.is_asked_at(from),
            // "Give ann@… the text"
            "give" | "hand" | "pass" | "show" | "reach" => acts && !wishes.is_asked_at(from),
            "for" | "in" | "on" | "onto" | "with" | "at" => acts,
            _ => false,
        })
    };
    nodes.peek().is_some() && if all { nodes.all(addressed) } else { nodes.any(addressed) }
}

/// Whether the goal has the value as where something is.
fn is_place(wishes: &goal::Wishes, node: &flow::Node) -> bool {
    let Kind::Grounded(flow::Ground::Goal { from, to }) = node.kind else { return false };
    let placed = |at: usize| {
        let word =
            wishes.before(at).find(|word| !matches!(*word, "the" | "a" | "our" | "my" | "namespace" | "cluster"));
        word.is_some_and(|word| matches!(word, "on" | "in" | "from" | "at" | "within" | "inside"))
    };
    placed(from) && wishes.again(from..to).all(placed)
}

/// Whether the goal has the value only as where something comes from or what it is about, and not as whom it is for.
fn is_spoken_of(wishes: &goal::Wishes, node: &flow::Node) -> bool {
    let Kind::Grounded(flow::Ground::Goal { from, to }) = node.kind else { return false };
    let about = |at: usize| {
        let word =
            wishes.before(at).find(|word| !matches!(*word, "the" | "a" | "our" | "my" | "his" | "her" | "their"));
        word.is_some_and(|word| {
            matches!(word, "from" | "about" | "regarding" | "concerning" | "except" | "without" | "instead")
        })
    };
    about(from) && wishes.again(from..to).all(about)
}

/// Whether the goal says the source where the step has the destination, or the other way round.
fn is_turned_round<'n>(prepared: &Prepared<'_>, nodes: impl Iterator<Item = &'n flow::Node>) -> bool {
    let words: Vec<(bool, &str)> = nodes
        .filter_map(|node| {
            let Kind::Grounded(flow::Ground::Goal { from, .. }) = node.kind else { return None };
            let name = node.name.rsplit('/').next()?;
            let part = |list: &[&str]| name.split(['_', '-']).any(|part| list.contains(&part));
            let destination = part(&["to", "destination", "dest", "dst", "recipient", "target", "new", "into"]);
            let source = part(&["from", "source", "src", "sender", "old"]);
            let mut before = prepared.goal.before(from);
            let place = before.find(|word| matches!(*word, "from" | "to" | "into" | "onto"))?;
            (destination != source).then_some((destination, place))
        })
        .collect();
    let both = words.iter().any(|(to, _)| *to) && words.iter().any(|(to, _)| !to);
    both && words.iter().any(|(to, word)| *to == (*word == "from"))
}

/// Whether every listed receiver is one of the house whom the goal calls by name ("Nora" for `nora@…`).
fn is_colleague(goal: &str, touches: &[Touch]) -> bool {
    let mut receivers = touches.iter().filter(|touch| !touch.effect.is_harmless() && touch.standing.is_some());
    receivers.all(|touch| {
        let house = touch.standing.is_some_and(|standing| standing <= Standing::Internal);
        let name = touch.name.split_once('@').map_or(touch.name.as_str(), |(name, _)| name);
        // "Ruben" for ruben.haas@…: a name, and not the word that somebody has for an address.
        let parts = || goal.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with(char::is_uppercase));
        let by_name =
            || parts().any(|word| word.len() > 2 && name.split('.').any(|part| crate::paths::fold(word) == part));
        house && (goal::names(Some(goal), &touch.name) || goal::names(Some(goal), name) || by_name())
    })
}

/// Whether the step runs a program, other than a helper agent whose tools change nothing.
fn runs(definition: &Definition, sinks: &[&Sink]) -> bool {
    let helper = definition.target.kind == TargetKind::Process
        && sinks.iter().flat_map(|sink| &sink.decides).all(|(_, means)| *means == Some(Means::Judged));
    definition.effect == Effect::Execute && !helper
}
