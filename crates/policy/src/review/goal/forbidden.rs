//! Whether a step does what a ban of the goal is about.

use countersign_plan::tool::{Driver, Effect, TargetKind};
use countersign_plan::verdict::{Code, Reason};

use super::bans::{Act, Ban};
use super::words::has;
use crate::deployment::{Standing, is_path_kind};
use crate::effects::{By, Touch};
use crate::paths;
use crate::review::Request;
use crate::review::prepare::Prepared;

/// Programs that fetch, unpack, decode or show something: what they write down is not run.
const FETCHING: &str = "curl wget tar gtar bsdtar unzip gunzip gzip bunzip2 bzip2 unxz xz unzstd zstd base64 base32 xxd od strings file head tail yq tee touch \
    cut tr sort uniq wc grep egrep fgrep sed awk jq ls cat echo printf mkdir sha256sum sha512sum sha1sum md5sum cmp diff gpg true cd read test [ shellcheck";

/// What the step does although the goal forbids it. `looked` says that a step before it can stop the plan: whether the condition of a
/// conditional ban holds is then known.
pub(in crate::review) fn forbidden(
    request: &Request<'_>,
    prepared: &Prepared<'_>,
    looked: impl Fn() -> bool,
) -> Option<Reason> {
    let opens = |ban: &Ban| ban.act == Act::Open;
    // An address out of a text, which the goal forbids to open.
    let to_open = prepared.derived.open.iter().any(|open| matches!(open.kind, TargetKind::Url | TargetKind::Host));
    if to_open && prepared.goal.bans.iter().any(|ban| opens(ban) && !(ban.conditional && looked())) {
        let message = format!("the goal forbids to open it, and `{}` would", prepared.step.action);
        return Some(Reason::block(Code::GoalForbidden, message).fix("leave the step out"));
    }
    if !prepared.has_effect() && !prepared.goal.bans.iter().any(opens) {
        return None;
    }
    // "There is a link in it, do not follow it" (find(1), cp(1), rsync(1), du(1), "-L"; tar(1), "-h").
    let tar = || prepared.derived.called.iter().any(|name| name == "tar");
    let follows = |word: &&str| match word.strip_prefix('-') {
        Some(flags) if !flags.starts_with('-') => {
            flags == "follow" || flags.contains('L') || (flags.contains('h') && tar())
        }
        _ => has("--follow --copy-links --dereference", word),
    };
    let mut line = prepared.text("command").into_iter().flat_map(str::split_whitespace);
    if prepared.goal.mentions("link symlink")
        && prepared.goal.read.words.iter().any(|word| word.negated && word.text.starts_with("follow"))
        && let Some(option) = line.find(follows)
    {
        return Some(Reason::ask(Code::GoalForbidden, format!("the goal forbids to follow links, and {option} does")));
    }
    let removed = |touch: &&Touch| {
        touch.effect == Effect::Delete
            && touch.by != By::Move
            && touch.seen().is_some_and(|seen| request.deployment.in_workspace(&seen))
    };
    let elsewhere = |touch: &&Touch| prepared.goal.only_within_another(&paths::fold(&touch.name));
    if let Some(touch) = prepared.derived.touches.iter().filter(removed).find(elsewhere) {
        let message = format!("the goal wants only what lies elsewhere to go, and {} would be removed", touch.name);
        return Some(Reason::ask(Code::GoalForbidden, message).fix("leave it out"));
    }
    let (ban, touch) = prepared.goal.bans.iter().filter(|ban| !(ban.conditional && looked())).find_map(|ban| {
        let mut done = prepared.derived.touches.iter().filter(|touch| ban.act.is_done(prepared, touch));
        // Who wants nothing changed and somebody told has said both; and what a registry is asked for is no push.
        let told = |touch: &Touch| {
            let orders = prepared.goal.order(super::TELLING) && ban.act == Act::Change;
            // "Nothing goes out before she has said yes", and it is shown to her.
            let house = touch.standing.is_some_and(|standing| standing <= Standing::Internal);
            let name = paths::fold(&touch.name);
            let banned = ban.things.iter().any(|thing| name.contains(thing.as_str()));
            let shown = ban.act == Act::Appear && house && !banned && prepared.goal.name(&touch.name);
            touch.effect == Effect::Send && (orders || shown || touch.name.starts_with("registry "))
        };
        // "Change nothing, and keep the answers in X": the file that is to be written is said.
        let ordered = |touch: &Touch| {
            let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
            let file = || touch.seen().is_some() && prepared.goal.wants_into(base);
            // "Just look, then leave what you found on DP-602"
            let noted = || {
                touch.effect == Effect::Create
                    && touch.seen().is_none()
                    && prepared.goal.order_beside("leav put note writ record log comment", &touch.name)
            };
            ban.things.is_empty()
                && ban.act == Act::Change
                && matches!(touch.effect, Effect::Create | Effect::Update)
                && (file() || noted())
        };
        // "If it is there already, leave it": `mv -n` does.
        let kept = || {
            ban.conditional
                && (keeps_what_is_there(&prepared.list("argv").join(" "))
                    || keeps_what_is_there(prepared.text("command").unwrap_or("")))
        };
        let touch = done.find(|touch| {
            !is_temporary(request, touch) && !told(touch) && !ordered(touch) && ban.concerns(prepared, touch) && !kept()
        })?;
        Some((ban, touch))
    })?;
    let about = if ban.things.is_empty() { String::new() } else { format!(" ({})", ban.things.join(" ")) };
    let message = format!(
        "the goal forbids to {}{about}, and `{}` would {} {}",
        ban.act.word(),
        prepared.step.action,
        touch.effect,
        touch.name
    );
    Some(Reason::ask(Code::GoalForbidden, message).fix("leave the step out"))
}

/// Whether an interpreter is only told to look whether code can be read (bash(1), "-n"; php(1), "-l"; node(1), "--check"; ruby(1), perl(1), "-c").
fn only_reads_code(prepared: &Prepared<'_>, program: &str) -> bool {
    let flag = match program {
        "bash" | "sh" | "zsh" => "-n",
        "php" => "-l",
        "node" => "--check",
        "ruby" | "perl" => "-c",
        _ => return program == "chmod",
    };
    // The first line of a script that is written names its interpreter.
    let line = prepared.given.to_string();
    let line = ["/usr/bin/env ", "/bin/", "/usr/bin/"]
        .iter()
        .fold(line, |line, place| line.replace(&format!("#!{place}{program}\\n"), "\\n"))
        .replace("\\n", " ");
    let words =
        line.split(|c: char| c.is_whitespace() || "\"'`;|&()<>{},\\".contains(c)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let mut named = words.iter().enumerate().filter(|(_, word)| word.rsplit('/').next() == Some(program)).peekable();
    named.peek().is_some() && named.all(|(i, _)| words.get(i + 1) == Some(&flag))
}

fn is_temporary(request: &Request<'_>, touch: &Touch) -> bool {
    touch.seen().is_some_and(|seen| request.deployment.in_temporary(&seen))
}

/// Whether every program of a line that writes is told to keep what is there (tar(1), cp(1), mv(1), rsync(1), unzip(1)).
fn keeps_what_is_there(line: &str) -> bool {
    const KEEPING: &[&str] = &[
        "--keep-old-files",
        "--skip-old-files",
        "--no-clobber",
        "--ignore-existing",
        "cp -n ",
        "cp -rn ",
        "cp -an ",
        "mv -n ",
        "mv -nv ",
        "unzip -n ",
    ];
    let count = |words: &[&str]| words.iter().map(|word| line.matches(word).count()).sum::<usize>();
    let writers = count(&["cp ", "mv ", "tar ", "unzip ", "rsync ", "dd ", "tee ", "sed -i", "install "]);
    writers > 0 && count(KEEPING) >= writers && !line.contains('>')
}

impl Act {
    const fn word(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Remove => "remove",
            Self::Tell => "send",
            Self::Reply => "answer",
            Self::Pay => "pay",
            Self::Run => "run",
            Self::Install => "install",
            Self::Open => "open",
            Self::Overwrite => "overwrite",
            Self::Govern => "grant",
            Self::Appear => "let others see it",
            Self::Ship => "let anything leave the house",
        }
    }

    fn is_done(self, prepared: &Prepared<'_>, touch: &Touch) -> bool {
        if matches!(touch.by, By::View | By::Git) {
            return false;
        }
        let effect = touch.effect;
        match self {
            Self::Change => !effect.is_harmless() && effect != Effect::Execute,
            Self::Remove => effect == Effect::Delete && touch.by != By::Move,
            Self::Tell => effect == Effect::Send && touch.standing != Some(Standing::User),
            Self::Reply => {
                let of_house = touch.kind == TargetKind::Channel
                    && touch.standing.is_some_and(|standing| standing <= Standing::Internal);
                effect == Effect::Send && touch.standing != Some(Standing::User) && !of_house
            }
            Self::Pay => effect == Effect::Pay,
            Self::Install => {
                let package = ["registry ", "package "].iter().any(|kind| touch.name.starts_with(kind));
                let args = prepared.given.to_string();
                let told = prepared.step.action.as_str().contains("install") || args.contains("install");
                package || ((told || prepared.derived.installs) && !effect.is_harmless())
            }
            Self::Open => {
                matches!(touch.kind, TargetKind::Url | TargetKind::Host)
                    && matches!(effect, Effect::Read | Effect::Send)
            }
            // What keeps what is there says so (tar(1), cp(1), rsync(1), unzip(1)).
            Self::Overwrite => {
                effect != Effect::Create
                    && !matches!(effect, Effect::Send | Effect::Execute)
                    && !effect.is_harmless()
                    && prepared.step.action.as_str() != "append_file"
                    && !keeps_what_is_there(&prepared.given.to_string())
            }
            Self::Govern => effect == Effect::Admin,
            Self::Ship => {
                let ships = |part: &str| has("ship shipment dispatch deliver delivery courier parcel", part);
                !effect.is_harmless() && prepared.step.action.as_str().split(['_', '-', '.']).any(ships)
            }
            Self::Appear => {
                let here = effect == Effect::Execute && !prepared.is_remote();
                let kept = is_path_kind(touch.kind) || touch.kind == TargetKind::Memory;
                // "Get it ready on preview; it must not go live": where the goal wants it to appear.
                let rehearsal = |stage| has("preview staging draft test sandbox", stage) && prepared.goal.name(stage);
                let rehearsed = prepared.texts().any(rehearsal)
                    && !prepared.texts().any(|stage| has("live prod production public", stage));
                !effect.is_harmless() && touch.by == By::Tool && !kept && !here && !rehearsed
            }
            // Programs that only show something are how it is looked at.
            Self::Run => {
                let tool = prepared.tool.map(|tool| tool.definition());
                let own = tool.is_some_and(|tool| !matches!(tool.driver, Driver::Builtin(_)));
                let line =
                    tool.is_some_and(|tool| tool.effect == Effect::Execute) && prepared.step.action.as_str() != "git";
                // To fetch and to unpack something is not to run it.
                let writes = touch.seen().is_some()
                    && matches!(effect, Effect::Create | Effect::Update)
                    && prepared
                        .derived
                        .called
                        .iter()
                        .all(|program| has(FETCHING, program) || only_reads_code(prepared, program));
                // Nor is to be told what there is to run (pytest(1), "--collect-only"; Playwright and Jest, "--list", "--listTests").
                let lists = || {
                    let args = prepared.given.to_string();
                    [
                        "--list",
                        "--syntax-check",
                        "--collect-only",
                        "--listTests",
                        "--no-run",
                        "--dry-run",
                        "--sql",
                        "--plan",
                        "--print",
                    ]
                    .iter()
                    .any(|flag| args.contains(flag))
                };
                (own && !effect.is_harmless())
                    || (line && touch.by == By::Command && !effect.is_harmless() && !writes && !lists())
            }
        }
    }
}

impl Ban {
    pub(super) const fn on(act: Act, things: Vec<String>) -> Self {
        Self { act, things, conditional: false, others: false }
    }

    /// Whether the ban is about this touch: by its name, the tool's, or an argument.
    fn concerns(&self, prepared: &Prepared<'_>, touch: &Touch) -> bool {
        // "The rest of the cache" is kept by whoever does not take all of it.
        if self.others && !self.things.is_empty() {
            let folder = if touch.pattern { crate::effects::literal_folder(&touch.name) } else { &touch.name };
            let last = paths::fold(folder.trim_end_matches('/').rsplit('/').next().unwrap_or("")).into_owned();
            return self.things.contains(&last);
        }
        // `git restore -- prices.js`: of the repository, what the goal names.
        let only_named = || {
            let paths = prepared.list("args").into_iter();
            let mut paths = paths.skip_while(|word| *word != "--").skip(1).peekable();
            paths.peek().is_some() && paths.all(|path| prepared.goal.name(path))
        };
        if self.others && prepared.step.action.as_str() == "git" && only_named() {
            return false;
        }
        if self.others {
            let picked = prepared.derived.open.iter().any(|open| !open.effect.is_harmless());
            let remote = touch.by == By::Tool && touch.seen().is_none() && touch.standing.is_none();
            let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
            let file =
                touch.by == By::Tool && touch.seen().is_some() && base.contains('.') && !prepared.goal.name(base);
            // A line that changes what lies where the goal names nothing.
            let named = || touch.name.split(['/', '*']).any(|part| part.len() > 1 && prepared.goal.name(part));
            let line = touch.by == By::Command && touch.seen().is_some() && !touch.effect.is_harmless() && !named();
            return file || line || (remote && (picked || touch.is_open() || !prepared.goal.name(&touch.name)));
        }
        let mut args = prepared.given.clone();
        // What a note says of a thing does nothing to it.
        let prose = touch.seen().is_some() && [".md", ".txt"].iter().any(|end| touch.name.ends_with(end));
        if let Some(args) = args.as_object_mut().filter(|_| prose) {
            args.remove("content");
        }
        // Nor does what is said of one thing to another: "withdraw WO-8799 as a duplicate of WO-8790".
        let controls = prepared.tool.map_or(&[][..], |tool| &tool.definition().controls);
        let named = touch.by == By::Tool && touch.seen().is_none() && self.act == Act::Remove && !controls.is_empty();
        if let Some(args) = args.as_object_mut().filter(|_| named) {
            let controls = |key: &String| controls.iter().any(|at| at.segments().first() == Some(key));
            let prose =
                |key: &String| has("why reason note comment remark text message memo description body subject", key);
            args.retain(|key, _| controls(key) || !prose(key));
        }
        let mut spoken = paths::fold(&format!("{} {} {args}", touch.name, prepared.step.action)).into_owned();
        if let Some(tool) = prepared.tool.map(|tool| tool.definition()).filter(|_| self.act == Act::Appear) {
            spoken.extend([" ", tool.group.as_deref().unwrap_or(""), " ", &paths::fold(&tool.description)]);
        }
        let part = |c: char| c.is_alphanumeric();
        let whole = |thing: &str| {
            spoken.match_indices(thing).any(|(at, _)| {
                let before = spoken.get(..at).and_then(|s| s.chars().next_back());
                let after = spoken.get(at + thing.len()..).and_then(|s| s.chars().next());
                !before.is_some_and(part) && !after.is_some_and(part)
            })
        };
        // An option that leaves it out does what was wanted.
        let left_out = |thing: &str| {
            ["ignore-", "no-", "skip-", "without-", "disable-"]
                .iter()
                .any(|leaving| thing.len() > 3 && spoken.contains(&format!("--{leaving}{thing}")))
        };
        // "Install scripts" are one thing.
        let goal = &prepared.goal.read.text;
        // `find … -not -path 'logs/legal/*'`: it stands nowhere but where it is left out.
        let leaves = |thing: &str| {
            spoken.match_indices(thing).all(|(at, _)| {
                let before =
                    spoken.get(..at).unwrap_or("").trim_end_matches([' ', '=', '\'', '"', '\\', '*', '.', '/']);
                ["-not -path", "! -path", "! -name", "! -iname", "-not -name", "-not -iname", "--exclude"]
                    .iter()
                    .any(|option| before.ends_with(option))
            })
        };
        // "Except anything with 'signed' in the name": what a removal of many files has to leave out.
        let quoted = |thing: &String| ['\'', '"'].iter().any(|mark| goal.contains(&format!("{mark}{thing}{mark}")));
        let many = touch.effect == Effect::Delete && (touch.pattern || touch.recursive) && touch.seen().is_some();
        // "The ones that start with audit_ have to stay"
        let begins = |thing: &str| goal.contains(&format!("{thing}_")) || goal.contains(&format!("{thing}*"));
        let takes = |thing: &String| !(spoken.contains(thing.as_str()) && leaves(thing));
        let removes = self.act == Act::Remove;
        let left = |thing: &&String| (removes && quoted(thing)) || begins(thing);
        if many && matches!(self.act, Act::Remove | Act::Change) && self.things.iter().filter(left).any(takes) {
            return true;
        }
        let obeyed = |(i, thing): (usize, &String)| {
            let file = thing.contains('/') || thing.starts_with('.') || super::is_file_name(thing);
            if (file || quoted(thing) || begins(thing)) && leaves(thing) {
                return true;
            }
            let next = self.things.get(i + 1).filter(|next| goal.contains(&format!("{thing} {next}")));
            left_out(thing) || next.is_some_and(|next| left_out(next))
        };
        // All of a folder is also what is to be left alone in it, unless the line leaves it out.
        let holds = |thing: &String| {
            let all = touch.recursive || touch.pattern;
            let folder = paths::fold(crate::effects::literal_folder(&touch.name)).into_owned();
            let thing = thing.trim_start_matches("./").trim_end_matches('/');
            let inside =
                |(at, _): (usize, &str)| thing.get(..at).is_some_and(|head| folder.ends_with(&format!("/{head}")));
            all && touch.seen().is_some()
                && thing.match_indices('/').any(inside)
                && !spoken.contains(thing.rsplit('/').next().unwrap_or(thing))
        };
        if self.things.iter().any(holds) {
            return true;
        }
        let mut things = self.things.iter().enumerate();
        self.things.is_empty() || things.any(|(i, thing)| whole(thing) && !obeyed((i, thing)))
    }
}
