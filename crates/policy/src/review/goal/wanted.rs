//! Whether the goal asks in so many words for what a step does, where it is data from outside that says to whom or with what.
//!
//! [`super::unasked`] compares kinds and lets an unclear goal be; that is for people to see. Who obeys a text from outside needs more: an
//! order of the user's for an act of this kind. Without one the text has chosen the act as well (FORMATS §5, "Block, not ask").

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;

use super::words::has;
use super::{Kind, UNCLEAR, is_named};
use crate::deployment::is_path_kind;
use crate::effects::{By, Open, Touch};
use crate::review::Request;
use crate::review::prepare::Prepared;

/// Words of grammar by which a goal is known to be in the language that is read here.
pub(super) const ENGLISH: &str = "the a an to of and in on for with is are me my our it this that please from by at";

/// Words by which somebody is told to do what a text says.
const OBEYING: &str = "run execut start launch try appl follow perform install";

/// Words by which something is started that runs elsewhere.
const STARTING: &str =
    "deploy roll rollout releas trigger schedul submit queue updat upgrad install assign restart scale promot run";

/// Words by which somebody is to be told something; to write something down is none.
const TELLING: &str = "send sent mail email messag notif inform tell repl respond answer forward shar post publish announc contact remind \
    alert escalat submit push deliver distribut broadcast invit cc thank confirm upload request ping slack chat report ask call releas deploy";

/// Words of descriptions that say nothing of what a tool is for.
const COMMON: &str = "until when from with that this these those their there than then into output given only each every what which will \
    date time name number value reason text person card note";

/// Words of an answer, whose receiver is whoever wrote.
const ANSWERING: &str = "repl respond answer confirm sender requester customer client";

/// Words for whoever wrote something.
const WRITERS: &str =
    "person people writer author wrote whoever address everybody everyone participants attendees members";

/// Whether nothing in the goal asks for what the step does. A goal in another language is not read, and says neither.
pub(in crate::review) fn unwanted(request: &Request<'_>, prepared: &Prepared<'_>) -> bool {
    let Some(goal) = request.pinned_goal else { return false };
    let wishes = &prepared.goal;
    let words = &wishes.read.words;
    let silent = wishes.asked.is_empty() && words.len() <= UNCLEAR;
    if silent || wishes.delegates() || !words.iter().any(|word| word.asks || has(ENGLISH, &word.text)) {
        return false;
    }
    let action = prepared.step.action.as_str();
    let object = |touch: &Touch| is_named(goal, prepared, touch) || wishes.speak_of_object(action);
    let more = |kind: &Kind| !matches!(kind, Kind::Look | Kind::Tell);
    // What stands in many descriptions says nothing.
    // Nor does the kind of the thing itself: "the lot TM-131/12" for a tool `release_lot`.
    let share = |text: &str, name: &str| {
        let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !has(COMMON, word));
        words.any(|word| wishes.share_a_word(word) && !wishes.says(word, name))
    };
    let described = |touch: &Touch| {
        let tool = prepared.tool.map(|tool| tool.definition());
        let args = prepared.args.literal();
        let keys = args
            .as_ref()
            .and_then(|args| args.as_object())
            .map(|args| args.keys().cloned().collect::<Vec<_>>().join(" "));
        let about = tool.map_or("", |tool| tool.description.as_str());
        let share = |text: &str| share(text, &touch.name);
        share(action) || share(about) || keys.is_some_and(|keys| share(&keys))
    };
    // What is only looked at is not to be changed.
    let changed = |touch: &Touch| {
        let named = is_named(goal, prepared, touch)
            && (wishes.asked.is_empty() || wishes.asked.iter().any(more))
            && described(touch);
        named || wishes.act_on_object(action)
    };
    let pays = wishes.asked.contains(&Kind::Pay) || wishes.command(action);
    let wanted = |touch: &Touch| match touch.effect {
        Effect::None | Effect::Read => true,
        Effect::Send => {
            let tells = wishes.order(TELLING) || wishes.writes_to_somebody();
            is_named(goal, prepared, touch) || wishes.command(action) || (tells && !names_others(wishes))
        }
        Effect::Pay => pays,
        Effect::Admin => wishes.order_powers() || wishes.command(action),
        Effect::Delete => wishes.asked.contains(&Kind::Remove) || wishes.command(action),
        Effect::Execute if prepared.is_remote() => {
            wishes.call(action) || wishes.order(OBEYING) || wishes.order(STARTING) || object(touch)
        }
        Effect::Execute => !is_all_of_it_given(prepared) || wishes.order(OBEYING),
        // Where money goes from then on.
        Effect::Create | Effect::Update if touch.kind == TargetKind::Account => {
            wishes.order("updat chang correct enter regist switch replac record add creat save fill")
                || wishes.command(action)
        }
        // What is started by itself from then on, and what is changed that the goal has no word for, where it names what it is about.
        Effect::Create | Effect::Update
            if touch.kind == TargetKind::Process
                || (touch.effect == Effect::Update && !is_path_kind(touch.kind) && wishes.names_anything()) =>
        {
            changed(touch) || wishes.command(action) || wishes.order(STARTING) || wishes.order(OBEYING)
        }
        Effect::Create | Effect::Update => {
            is_path_kind(touch.kind)
                || (wishes.asked.iter().any(more) && described(touch) && !wishes.only_write_files(action))
                || (object(touch) && (wishes.asked.is_empty() || wishes.asked.iter().any(more)))
                || wishes.command(action)
        }
    };
    // Of whom or what nobody knows yet, the kind of the act says enough.
    let open = |one: &Open| match one.effect {
        // What is started by itself from then on.
        Effect::Create | Effect::Update if one.kind == TargetKind::Process => {
            wishes.command(action) || wishes.order(STARTING) || wishes.order(OBEYING)
        }
        Effect::Pay => pays,
        Effect::Admin => wishes.order_powers() || wishes.command(action),
        Effect::Delete => wishes.asked.contains(&Kind::Remove) || wishes.command(action),
        _ => true,
    };
    let touched = prepared.derived.touches.iter().filter(|touch| touch.by == By::Tool).all(wanted);
    !touched || !prepared.derived.open.iter().all(open)
}

impl super::Wishes {
    /// Whether it gives money back, which goes to where it came from: nobody else's text says where.
    pub(in crate::review) fn pays_back(&self) -> bool {
        let words = &self.read.words;
        let back = |verb: &super::words::Word| {
            words.iter().any(|w| w.at > verb.at && w.clause == verb.clause && w.text == "back")
        };
        words.iter().any(|word| word.orders() && word.is(Kind::Pay.stems()) && back(word))
    }

    /// Whether it orders that somebody is told something.
    pub(in crate::review) fn tells(&self) -> bool {
        self.order(TELLING) || self.writes_to_somebody()
    }

    /// Whether it means somebody who wrote.
    pub(in crate::review) fn answers(&self) -> bool {
        self.speak_of(ANSWERING) || self.speak_of(WRITERS)
    }
}

/// Whether the goal says to whom something is to be sent, so that nobody else is meant.
pub(super) fn names_others(wishes: &super::Wishes) -> bool {
    let addressed =
        |word: &str| word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    let channel =
        |word: &str| word.strip_prefix('#').is_some_and(|name| name.len() > 1 && name.starts_with(char::is_alphabetic));
    let mut words = wishes.read.text.split(|c: char| c.is_whitespace() || "()<>,;\"'".contains(c));
    words.any(|word| addressed(word) || channel(word)) && !wishes.speak_of(ANSWERING)
}

/// Whether a program is started that runs a text which is one of its words.
fn is_interpreter(prepared: &Prepared<'_>) -> bool {
    let word = |at: &str| {
        let at = Pointer::from_segments(vec!["argv".to_owned(), at.to_owned()]);
        prepared.step.args.at(&at).and_then(|word| word.literal()).and_then(|word| word.as_str().map(str::to_owned))
    };
    ["1", "2"]
        .into_iter()
        .filter_map(word)
        .any(|option| matches!(option.as_str(), "-c" | "-e" | "-lc" | "-ec" | "--eval" | "-Command"))
}

/// Whether the whole line or script that runs is a value of another step.
fn is_all_of_it_given(prepared: &Prepared<'_>) -> bool {
    let given = |segments: &[&str]| {
        let at = Pointer::from_segments(segments.iter().map(|segment| (*segment).to_owned()).collect());
        match prepared.step.args.at(&at) {
            Some(Expr::From { .. }) => true,
            Some(Expr::Join(parts)) => parts.iter().all(|part| matches!(part, Expr::From { .. })),
            _ => false,
        }
    };
    ["command", "script", "code", "program"].into_iter().any(|name| given(&[name]))
        // `sh -c` and its like take theirs as a word.
        || ["1", "2", "3"].into_iter().any(|word| given(&["argv", word]) && is_interpreter(prepared))
}
