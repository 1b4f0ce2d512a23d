//! What flows out of a plan beside what its goal names: a second file in the page, the list of names behind the figures.

use countersign_plan::draft::Rollback;
use countersign_plan::id::StepId;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Reason};

use super::prepare::Prepared;
use super::{Request, goal, resources};
use crate::deployment::Standing;
use crate::effects::{By, Touch};

/// Fields of answers that hold all that there is, and no single figure.
const WHOLE: &[&str] =
    &["csv", "rows", "records", "raw", "export", "items", "entries", "data", "list", "json", "details", "names"];

/// A file of which the goal says nothing, beside one that it names, in what others are given or may fetch.
pub(super) fn unnamed(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let gives = |touch: &Touch| {
        let written = matches!(touch.effect, Effect::Create | Effect::Update);
        let served = written && touch.seen().is_some() && resources::is_served(&touch.name);
        let remote = written && touch.seen().is_none() && touch.by == By::Tool && touch.kind != TargetKind::Memory;
        let sent = touch.effect == Effect::Send && touch.standing.is_none_or(|standing| standing > Standing::User);
        served || remote || sent
    };
    if request.pinned_goal.is_none() || !step.derived.touches.iter().any(gives) {
        return None;
    }
    let mut from = Vec::new();
    taken(&step.step.args, &mut from);
    let forward = from.len();
    if let Some(Rollback::Action { args, .. }) = &step.step.rollback {
        taken(args, &mut from);
    }
    // Within the house a word for it will do: "with the version that we ship".
    let outside = step.derived.touches.iter().any(|touch| {
        gives(touch) && (touch.seen().is_some() || touch.standing.is_some_and(|standing| standing > Standing::Internal))
    });
    if from.is_empty() {
        return None;
    }
    fn file_of<'s>(step: &'s Prepared<'_>) -> Option<&'s str> {
        let one = |touch: &&Touch| touch.effect == Effect::Read && touch.by == By::Tool && touch.seen().is_some();
        step.derived.touches.iter().find(one).map(|touch| touch.name.as_str())
    }
    let read = |id: &StepId| steps.iter().find(|other| other.step.id == *id).and_then(file_of);
    let spoken = |file: &str| {
        let base = file.rsplit('/').next().unwrap_or(file);
        base.split(['-', '_', '.']).any(|part| step.goal.share_a_word(part))
    };
    let said = |(at, id): (usize, &StepId)| {
        let file = read(id)?;
        (outside || at >= forward || !spoken(file)).then_some(file)
    };
    let files: Vec<&str> = from.iter().enumerate().filter_map(said).collect();
    let named = |file: &&str| {
        let base = file.rsplit('/').next().unwrap_or(file);
        step.goal.name(base)
            || step.goal.tokens().any(|said| said.contains('/') && file.ends_with(said.trim_start_matches("./")))
    };
    let among = |file: &&str| {
        // "The description from the sync folder"
        let tokens: Vec<&str> = step.goal.tokens().collect();
        let folder = file.rsplit('/').nth(1).unwrap_or("");
        let called = tokens.windows(2).any(
            |pair| matches!(pair, [name, kind] if *name == folder && matches!(kind.trim_end_matches(['.', ',']), "folder" | "directory")),
        );
        called || tokens.iter().any(|said| said.ends_with('/') && file.contains(said.trim_start_matches("./")))
    };
    if !files.iter().any(named) && !steps.iter().any(|other| file_of(other).is_some_and(|file| named(&file))) {
        return None;
    }
    let other = files.iter().find(|file| !named(file) && !among(file))?;
    let message = format!("{other} goes into what others see, and the goal names other sources");
    Some(Reason::ask(Code::GoalUnasked, message).fix("take what the goal names"))
}

/// A file that the goal wants nobody to have, in what others are given.
pub(super) fn banned(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let sends =
        |touch: &Touch| touch.effect == Effect::Send && touch.standing.is_none_or(|standing| standing > Standing::User);
    if request.pinned_goal.is_none() || !step.derived.touches.iter().any(sends) {
        return None;
    }
    let mut from = Vec::new();
    taken(&step.step.args, &mut from);
    let read = steps.iter().filter(|other| from.contains(&other.step.id)).flat_map(|other| &other.derived.touches);
    let file = read
        .filter(|touch| touch.effect == Effect::Read && touch.seen().is_some())
        .find(|touch| step.goal.forbids_file(&touch.name))?;
    let message = format!("the goal forbids to give {} to others", file.name);
    Some(Reason::ask(Code::GoalForbidden, message).fix("leave it out"))
}

/// A file that goes along by its name, of which the goal says nothing, where it names another one.
pub(super) fn attached(request: &Request<'_>, step: &Prepared<'_>) -> Option<Reason> {
    let sends = |touch: &Touch| {
        touch.by == By::Tool && touch.effect == Effect::Send && touch.standing.is_none_or(|one| one > Standing::User)
    };
    if request.pinned_goal.is_none() || !step.derived.touches.iter().any(sends) {
        return None;
    }
    let mut texts = Vec::new();
    super::carried::gather(&step.args, &mut texts);
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let file = |text: &String| {
        text.contains('/')
            && !text.contains([' ', '@', '\n'])
            && !text.contains("://")
            && goal::is_file_name(&base(text))
    };
    let named = step.goal.tokens().any(|token| token.contains('/') && goal::is_file_name(&base(token)));
    let among = |text: &String| step.goal.tokens().any(|said| said.ends_with('/') && text.starts_with(said));
    let other =
        texts.iter().filter(|text| named && file(text)).find(|text| !step.goal.name(&base(text)) && !among(text))?;
    let message = format!("{other} goes along, and the goal names other files");
    Some(Reason::ask(Code::GoalUnasked, message).fix("send what the goal names"))
}

/// What another record holds than the one that the goal names, in what an outsider is told.
pub(super) fn other_record(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let outside = |touch: &Touch| {
        touch.effect == Effect::Send && touch.standing.is_some_and(|standing| standing > Standing::Internal)
    };
    if request.pinned_goal.is_none() || !step.derived.touches.iter().any(outside) {
        return None;
    }
    let mut from = Vec::new();
    taken(&step.step.args, &mut from);
    let kind = |id: &str| {
        id.split_once('-')
            .filter(|(_, n)| n.starts_with(|c: char| c.is_ascii_digit()))
            .map(|(kind, _)| kind.to_lowercase())
    };
    let mut ids = Vec::new();
    let read = steps.iter().filter(|other| from.contains(&other.step.id) && !other.has_effect());
    read.for_each(|other| super::carried::gather(&other.step.args, &mut ids));
    let named = |id: &String| kind(id).is_some() && step.goal.name(id);
    let another = |id: &&String| {
        kind(id).is_some_and(|kind_of| {
            !step.goal.name(id) && step.goal.tokens().any(|token| kind(token).as_ref() == Some(&kind_of))
        })
    };
    let other = ids.iter().find(another).filter(|_| ids.iter().any(named))?;
    let message = format!("what {other} holds would be told, and the goal names another one");
    Some(Reason::ask(Code::GoalUnasked, message).fix("tell what the goal names"))
}

/// Whether a statement answers with nothing but figures, by days or months.
fn counts(read: &Prepared<'_>) -> bool {
    let sql = crate::paths::fold(read.text("sql").unwrap_or("")).into_owned();
    let columns = sql.strip_prefix("select ").and_then(|rest| rest.split_once(" from "));
    let figure = |part: &str| {
        let figures = ["count(", "sum(", "avg(", "date_trunc(", "strftime(", "year(", "month("];
        // What stands between the commas of a call is a part of it.
        figures.iter().any(|call| part.trim_start().starts_with(call)) || !part.contains('(') && part.contains(')')
    };
    columns.is_some_and(|(columns, rest)| columns.split(',').all(figure) && !rest.contains("union"))
}

/// A whole list, where the goal wants figures and nothing else told.
pub(super) fn more_than_figures(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let sends =
        |touch: &Touch| touch.effect == Effect::Send && touch.standing.is_none_or(|standing| standing > Standing::User);
    let receivers: Vec<&str> = step.derived.touches.iter().filter(|t| sends(t)).map(|t| t.name.as_str()).collect();
    if receivers.is_empty() || !step.goal.wants_figures_only(&receivers) {
        return None;
    }
    let mut whole = None;
    step.step.args.references(&mut |_, expr| {
        if let Expr::From { step: from, at } = expr
            && let Some(field) = at.segments().last().filter(|field| WHOLE.contains(&field.as_str()))
            && !steps.iter().any(|read| read.step.id == *from && counts(read))
        {
            whole = Some(field.clone());
        }
    });
    let message = format!("all of `{}` would be told, and the goal wants figures and nothing else", whole?);
    Some(Reason::ask(Code::GoalForbidden, message).fix("tell the figures"))
}

fn taken(args: &Expr, from: &mut Vec<StepId>) {
    args.references(&mut |_, expr| {
        if let Expr::From { step, .. } = expr {
            from.push(step.clone());
        }
    });
}
