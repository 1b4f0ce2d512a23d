//! The default of each effect, where no rule matched and nothing was found (the table of FORMATS §5).

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Mode};

use super::copies::{is_generated_anew, is_mirrored};
use super::prepare::Prepared;
use super::{Request, ReversibleBy, goal};
use crate::deployment::Standing;
use crate::effects::{By, Execution, Touch};
use crate::flow;
use crate::lists::has;
use crate::paths;

/// Ports through which a whole machine or cluster is commanded: not part of "internal hosts: any method".
const CONTROL_PLANE: [(u16, &str); 17] = [
    (22, "SSH"),
    (23, "telnet"),
    (135, "Windows RPC"),
    (445, "SMB"),
    (2375, "Docker"),
    (2376, "Docker"),
    (2377, "Docker Swarm"),
    (2379, "etcd"),
    (2380, "etcd"),
    (3389, "RDP"),
    (4646, "Nomad"),
    (5985, "WinRM"),
    (5986, "WinRM"),
    (6443, "Kubernetes"),
    (8500, "Consul"),
    (10250, "kubelet"),
    (10255, "kubelet"),
];

/// Why an effect asks by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) code: Code,
    pub(super) message: String,
    /// Whether a rule to allow may take the place of this default.
    pub(super) waivable: Waivable,
}

/// What may take the place of a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waivable {
    /// Any rule to allow.
    ByRule,
    /// Only a rule with a condition: programs are never allowed by name alone (`lesson_07`).
    ByCondition,
    /// No rule.
    Never,
}

/// The first thing about the step that asks by default for each touch; nothing where all is allowed.
pub(super) fn asks(request: &Request<'_>, prepared: &Prepared<'_>) -> Vec<Ask> {
    let mut asks: Vec<Ask> = Vec::new();
    for touch in &prepared.derived.touches {
        if let Some(ask) = ask(request, prepared, touch)
            && !asks.contains(&ask)
        {
            asks.push(ask);
        }
    }
    for (how_far, message) in &prepared.derived.unclear {
        // "Run the tender spider": whom it asks is known to whoever has it run.
        let crawls = || {
            prepared.goal.order("run start launch crawl scrap")
                && prepared.goal.speak_of("spider scrap crawl")
                && !prepared.goal.mentions("test")
        };
        if message.starts_with("which machines the spider") && request.authentic && crawls() {
            continue;
        }
        let waivable = match how_far {
            // Our own sandbox shows the step what it was granted and nothing restricted; what it reads stays where it is.
            Execution::ReadsUnnamed if request.mode == Mode::Managed && !sends(prepared) => continue,
            Execution::Analysed | Execution::Uncatalogued => Waivable::ByCondition,
            Execution::ReadsUnnamed | Execution::Unanalysed => Waivable::Never,
        };
        asks.push(Ask { code: Code::ExecuteUnanalysed, message: message.clone(), waivable });
    }
    asks
}

/// Whether the step talks to anybody.
fn sends(prepared: &Prepared<'_>) -> bool {
    prepared.derived.touches.iter().any(|touch| touch.standing.is_some() || touch.effect == Effect::Send)
}

fn ask(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Option<Ask> {
    let by_rule = |code, message: String| Some(Ask { code, message, waivable: Waivable::ByRule });
    let never = |code, message: String| Some(Ask { code, message, waivable: Waivable::Never });
    let on_network = matches!(touch.kind, TargetKind::Host | TargetKind::Url);
    if touch.is_open() {
        // What no reference has filled yet is judged by name at the permit; whether to ask before is said with the references.
        return match touch.effect {
            Effect::Pay | Effect::Admin => never(Code::DefaultAsk, format!("{} asks", touch.effect)),
            // A thing of somebody's records is changed no more lightly because a step has still to name it.
            Effect::Create | Effect::Update | Effect::Delete
                if prepared.is_remote()
                    && matches!(touch.kind, TargetKind::Record | TargetKind::Other | TargetKind::Process) =>
            {
                by_rule(Code::DefaultAsk, format!("{} of a {} that is not known yet asks", touch.effect, touch.kind))
            }
            Effect::None
            | Effect::Read
            | Effect::Create
            | Effect::Update
            | Effect::Delete
            | Effect::Execute
            | Effect::Send => None,
        };
    }
    match touch.effect {
        Effect::None => None,
        // Who gives an address to be read wants just that read.
        Effect::Read if is_given(request, touch) => None,
        Effect::Read if on_network => network(touch, true),
        Effect::Read => None,
        Effect::Create | Effect::Update if on_network => network(touch, false),
        Effect::Create | Effect::Update => change(request, prepared, touch),
        // Nor is a word in its path an order: "ask /jobs/purge-artifacts if it is green".
        Effect::Delete if gets(prepared) && is_given(request, touch) => network(touch, true),
        Effect::Delete if on_network => network(touch, false).or_else(|| {
            // Any method within the house, but a removal there has to be asked for like one here.
            // Of a command nobody sees what it removes there.
            let words = if touch.by == By::Command { goal::ERASING } else { goal::DESTROYING };
            let asked = prepared.goal.speak_of(words);
            (!asked)
                .then(|| by_rule(Code::DefaultAsk, format!("the goal does not ask for a removal at {}", touch.name)))?
        }),
        Effect::Delete if touch.by == By::Move => change(request, prepared, touch),
        Effect::Delete => removal(request, prepared, touch),
        Effect::Execute if touch.by == By::Command => runs(request, prepared, touch),
        // What is not clear about it is said of itself.
        Effect::Execute if !prepared.derived.unclear.is_empty() => None,
        // What a helper agent may do its tools say; who decides what it is told is a question of its own.
        Effect::Execute if is_helper(request, prepared) => None,
        Effect::Execute => match prepared.derived.execution {
            Execution::Analysed | Execution::ReadsUnnamed => None,
            // What is started elsewhere is its server's to do; the goal says whether it is wanted.
            Execution::Uncatalogued if prepared.is_remote() => Some(Ask {
                code: Code::DefaultAsk,
                message: format!("{} of {} asks", touch.effect, touch.name),
                waivable: Waivable::ByCondition,
            }),
            Execution::Uncatalogued => Some(Ask {
                code: Code::ExecuteUnanalysed,
                message: format!("no catalogue says what {} does with these arguments", touch.name),
                waivable: Waivable::ByCondition,
            }),
            Execution::Unanalysed => {
                never(Code::ExecuteUnanalysed, "the command line was not analysed in full".to_owned())
            }
        },
        Effect::Send if on_network => network(touch, false),
        // What is fetched from a registry is judged as the packages that run.
        Effect::Send if touch.by == By::Command && touch.name.starts_with("registry ") => None,
        Effect::Send if touch.is_push() => {
            // To the remote that the repository's configuration names, as the goal says.
            let asked = prepared.goal.speak_of(goal::PUSHING);
            (!asked).then(|| by_rule(Code::HostUnknown, "the goal does not ask for a push".to_owned()))?
        }
        Effect::Send => {
            let listed = touch.standing.is_some_and(|standing| standing <= Standing::Known);
            let addressed = touch.standing.is_some() || matches!(touch.kind, TargetKind::Record | TargetKind::Other);
            if listed || (addressed && goal::names(request.pinned_goal, &touch.name)) {
                None
            } else {
                by_rule(Code::HostUnknown, format!("{} is neither listed nor named by the goal", touch.name))
            }
        }
        Effect::Pay | Effect::Admin => never(Code::DefaultAsk, format!("{} asks, whatever rules allow", touch.effect)),
    }
}

pub(super) fn is_helper(request: &Request<'_>, prepared: &Prepared<'_>) -> bool {
    prepared.tool.is_some_and(|tool| flow::helper_tools(request.manifest, tool.definition(), &prepared.given).is_some())
}

/// Code that nobody looked at: a program of the system, the project's own build and tests, a script. It runs in the sandbox, with
/// what the step was granted.
fn runs(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Option<Ask> {
    let by_rule = |code, message: String| Some(Ask { code, message, waivable: Waivable::ByRule });
    if let Some(seen) = touch.seen() {
        if prepared.written.is_opaque(&touch.name, touch.recursive)
            && !((touch.recursive || is_environment(&touch.name))
                && prepared.written.is_installed(&touch.name, touch.recursive))
        {
            return by_rule(
                Code::ExecuteWritten,
                format!("{} was written before, with a text nobody knows", touch.name),
            );
        }
        if request.deployment.in_workspace(&seen) || seen.both(paths::is_of_system) {
            return None;
        }
        return by_rule(Code::ExecuteUnanalysed, format!("{} is run, and lies outside of the workspace", touch.name));
    }
    if touch.kind == TargetKind::Other
        && let Some(package) = touch.name.strip_prefix("package ")
        && !goal::names_package(request.pinned_goal, package)
    {
        return by_rule(
            Code::ExecuteUnanalysed,
            format!("the package {package} runs code, and the goal does not name it"),
        );
    }
    None
}

/// Whether a tool reads a page at an address that the goal gives to the letter: of a host with a name, at its usual port.
fn is_given(request: &Request<'_>, touch: &Touch) -> bool {
    let usual = touch
        .endpoint
        .as_ref()
        .is_some_and(|at| matches!(at.port, Some(80 | 443)) && at.host.to_string().ends_with(char::is_alphabetic));
    let said = request.authentic && goal::names(request.pinned_goal, &touch.name);
    touch.kind == TargetKind::Url && touch.by == By::Tool && usual && said
}

/// Whether the step is a request by the method that changes nothing.
pub(super) fn gets(prepared: &Prepared<'_>) -> bool {
    let method = Pointer::from_segments(vec!["method".to_owned()]);
    prepared.args.at(&method).and_then(|method| Expr::literal(&method)).is_some_and(|method| method == "GET")
}

/// Through which port of it a whole machine or cluster is commanded.
pub(super) fn control_plane(touch: &Touch) -> Option<&'static (u16, &'static str)> {
    let port = touch.endpoint.as_ref().and_then(|endpoint| endpoint.port);
    CONTROL_PLANE.iter().find(|(known, _)| Some(*known) == port)
}

fn network(touch: &Touch, reads: bool) -> Option<Ask> {
    let standing = touch.standing.unwrap_or(Standing::Other);
    let by_rule = |code, message: String| Some(Ask { code, message, waivable: Waivable::ByRule });
    if let Some((port, what)) = control_plane(touch) {
        return by_rule(Code::DefaultAsk, format!("port {port} is a control plane ({what})"));
    }
    match standing {
        Standing::User | Standing::Internal => None,
        Standing::Known if reads => None,
        Standing::Known => by_rule(Code::DefaultAsk, format!("{} is known for reading, not for sending", touch.name)),
        Standing::Other => by_rule(Code::HostUnknown, format!("{} is neither internal nor known", touch.name)),
    }
}

fn change(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Option<Ask> {
    let by_rule = |code, message: String| Some(Ask { code, message, waivable: Waivable::ByRule });
    if touch.kind == TargetKind::Process
        && touch.by == By::Command
        && prepared.goal.speak_of(goal::RELOADING)
        && !matches!(touch.name.as_str(), "1" | "-1" | "0")
        && is_meant(request, prepared, &touch.name)
    {
        return None;
    }
    // "Stop the watcher with pid 48213".
    if touch.kind == TargetKind::Process
        && touch.by == By::Command
        && touch.name.len() > 1
        && request
            .pinned_goal
            .is_some_and(|goal| is_said_process(goal, &touch.name) || is_said_to_be_kept(goal, &touch.name))
        && ["stop", "kill", "terminat"].iter().any(|verb| prepared.goal.order(verb))
    {
        return None;
    }
    let Some(seen) = touch.seen() else {
        if touch.kind == TargetKind::Database && is_in_file(request, prepared, touch) {
            return None;
        }
        // "Apply the open migrations to my local database", other than those of production.
        if touch.by == By::Command && migrates_as_asked(prepared, touch) {
            return None;
        }
        return by_rule(Code::DefaultAsk, format!("{} of the {} {} asks", touch.effect, touch.kind, touch.name));
    };
    let deployment = request.deployment;
    if !deployment.in_workspace(&seen) && !deployment.in_temporary(&seen) {
        return by_rule(Code::ResourceOutside, format!("{} is outside of the workspace", touch.name));
    }
    if touch.by != By::View && prepared.reversible_by == ReversibleBy::None && !is_scratch(request, touch) {
        return by_rule(Code::DefaultAsk, format!("nothing takes the {} of {} back", touch.effect, touch.name));
    }
    let inside = below_workspace(request, &touch.name);
    let one = touch.by == By::Command && !touch.recursive && !touch.pattern && inside.contains('/');
    if (one || matches!(touch.by, By::Tool | By::Move))
        && touch.kind != TargetKind::Directory
        && !deployment.in_temporary(&seen)
        && !is_product(inside)
        && prepared.goal.writes_elsewhere(&touch.name, inside)
    {
        return by_rule(Code::DefaultAsk, format!("the goal has something written, and not into {}", touch.name));
    }
    None
}

/// Tools that bring a database to another state of its schema, with what they call that.
const MIGRATING: &str = "rails db:|rake db:|manage.py |django-admin |artisan |flask db |prisma migrate |prisma db push|prisma db seed|alembic ";

/// Whether such a tool does what the goal orders, and neither the goal nor the line speaks of production.
fn migrates_as_asked(prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let goal = &prepared.goal;
    let migrates = MIGRATING.split('|').any(|tool| format!(" {}", touch.name).contains(&format!(" {tool}")));
    let ordered = goal.want_more_than_a_look()
        && goal.speak_of("migrat seed fixture")
        && goal.order("appl run upgrad bring roll reset execut migrate seed load creat");
    let line = paths::fold(&prepared.given.to_string()).into_owned();
    let live = goal.mentions("prod production live") || ["prod", "live"].iter().any(|place| line.contains(place));
    migrates && ordered && !live
}

/// Whether a goal says of a number that it is that of a process: one may be a port, a row or an amount as well.
fn is_said_process(goal: &str, number: &str) -> bool {
    let said = paths::fold(goal);
    let words: Vec<&str> = said.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_process = |word: &&str| matches!(*word, "pid" | "pids" | "process" | "processes");
    words.iter().enumerate().any(|(i, word)| {
        *word == number && words.get(i.saturating_sub(3)..i).is_some_and(|before| before.iter().any(is_process))
    })
}

/// "Kill the build (pid in /tmp/x.pid)", and the line reads the number there.
fn is_said_to_be_kept(goal: &str, process: &str) -> bool {
    let file = process
        .strip_prefix("${(cat ")
        .or_else(|| process.strip_prefix("${(< "))
        .and_then(|rest| rest.strip_suffix(")}"));
    file.is_some_and(|file| {
        file.ends_with(".pid") && !file.contains([' ', ';', '|', '&', '$', '`']) && goal::names(Some(goal), file)
    })
}

/// Whether a path is a program of an environment that a package manager fills.
fn is_environment(path: &str) -> bool {
    ["/.venv/bin/", "/venv/bin/", "/node_modules/.bin/"].iter().any(|folder| path.contains(folder))
}

/// Whether all that a step changes is made again whenever it is missed.
pub(super) fn is_scratch_work(request: &Request<'_>, prepared: &Prepared<'_>) -> bool {
    let mut changed =
        prepared.derived.touches.iter().filter(|touch| touch.changes() && touch.by != By::View).peekable();
    changed.peek().is_some() && changed.all(|touch| touch.effect == Effect::Update && is_scratch(request, touch))
}

/// Whether a removal of many files at once is of what the goal wants to be rid of, or of what is made again anyway: a word of tidying or of
/// taking something's place, which alone is enough for one file, says of no folder that it may go.
fn is_meant_to_go(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let goal = &prepared.goal;
    let inside = below_workspace(request, &touch.name);
    let many = (touch.recursive || touch.pattern) && touch.by != By::Git;
    if !many || is_product(inside) {
        return true;
    }
    let (erased, spoken_of) = (goal.speak_of(goal::ERASING), goal.share_a_word(inside));
    // Whoever publishes something empties a folder, and whoever moves something takes it away.
    let in_passing = if touch.name.ends_with("/*") { goal::PUSHING } else { "mov renam" };
    let is_pattern = touch.pattern || touch.name.contains('*');
    (erased && is_pattern) || (spoken_of && (goal.speak_of(goal::TIDYING) || goal.speak_of(in_passing)))
}

/// Whether it is built anew, as whoever wants a build from scratch does it.
fn is_rebuilt(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let inside = below_workspace(request, &touch.name);
    // "Cross compile it into dist/": the line empties the folder that the goal names, and fills it again.
    let again = |other: &Touch| other.effect == Effect::Create && other.name == touch.name;
    let filled = || {
        let made = prepared.derived.touches.iter().any(again);
        made && prepared.goal.name(inside) && prepared.goal.speak_of(goal::MAKING)
    };
    // `rm -rf dist && python -m build`, where the goal has it built.
    let builds = || {
        let named = |call: &Vec<String>, list: &'static str| call.first().is_some_and(|name| has(list, name));
        let calls = &prepared.derived.calls;
        let removed = calls.iter().position(|call| named(call, "rm"));
        let built = calls.iter().rposition(|call| named(call, BUILDERS));
        has("dist build target .next .nuxt _build _site", inside)
            && prepared.goal.speak_of("build packag compil bundl")
            && removed.zip(built).is_some_and(|(removed, built)| removed < built)
    };
    is_product(inside) && (prepared.goal.speak_of(goal::REBUILDING) || filled() || builds())
}

/// A path as it is called in its workspace.
pub(super) fn below_workspace<'a>(request: &Request<'_>, path: &'a str) -> &'a str {
    let below = |root: &String| path.strip_prefix(root.as_str()).and_then(|rest| rest.strip_prefix('/'));
    request.deployment.workspace().iter().find_map(below).unwrap_or(path)
}

/// Programs that build a project.
const BUILDERS: &str = "python python3 npm npx pnpm yarn bun cargo make go mvn gradle gradlew cmake ninja hatch poetry flit uv dotnet sphinx-build mkdocs hugo";

/// Folders and endings of what builds, tests and tools leave behind, as the projects' own ignore files name them.
const PRODUCTS: &str = "target build builds dist out output outputs bin obj node_modules bower_components __pycache__ .cache cache \
    .pytest_cache .mypy_cache .ruff_cache .tox .nox .eggs .gradle .next .nuxt .turbo .parcel-cache .nyc_output coverage htmlcov \
    tmp temp .tmp log logs deriveddata _site _build .terraform .venv venv cmake-build-debug cmake-build-release";
const PRODUCT_ENDINGS: &str = "o obj a so pyc pyo class log tmp temp bak orig rej swp old cache egg-info gcda gcno";

/// Whether all of a path inside the workspace is what some tool makes again.
fn is_product(inside: &str) -> bool {
    let (folders, file) = inside.rsplit_once('/').unwrap_or(("", inside));
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    let folder = |part: &str| {
        has(PRODUCTS, &part.to_ascii_lowercase()) || part.starts_with("cmake-build") || part.ends_with("cache")
    };
    inside.split('/').any(folder)
        || has(PRODUCT_ENDINGS, ending.trim_end_matches('*'))
        || file.ends_with('~')
        || folders.is_empty() && file.is_empty()
}

/// The same of a path anywhere in the workspace.
pub(super) fn is_product_of(request: &Request<'_>, path: &str) -> bool {
    is_product(below_workspace(request, path))
}

/// Whether one file of a scratch folder is removed by the line that writes it.
fn is_in_between(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let written = |other: &Touch| other.effect == Effect::Update && other.name == touch.name && other.by == By::Command;
    let one = !touch.pattern && !touch.name.contains('*');
    touch.by == By::Command
        && ((one && is_scratch(request, touch)) || is_next_version(prepared, touch))
        && prepared.derived.touches.iter().any(written)
}

/// Whether one file or folder goes that its line makes anew, and has not touched before, say as a link to another one:
/// `rm -rf /tmp/x && tar -xf y.tar -C /tmp/x`.
fn is_made_anew(prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let whole = touch.name.trim_end_matches('/');
    let makes = |other: &Touch| {
        let below = other.name.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        below && matches!(other.effect, Effect::Create | Effect::Update) && other.by == By::Command
    };
    let touches = &prepared.derived.touches;
    let at = touches.iter().position(|other| other.effect == touch.effect && other.name == touch.name);
    let (before, after) = touches.split_at(at.unwrap_or(touches.len()));
    let one = !touch.pattern && !touch.name.contains('*');
    one && !before.iter().any(makes) && after.iter().any(makes)
}

/// Whether the goal has a folder tidied that lies below a temporary one, by its name.
fn is_tidied(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let whole = touch.name.trim_end_matches('/');
    let folder = whole.rsplit_once("/**").map_or(whole, |(folder, _)| folder);
    !folder.contains('*')
        && request.deployment.in_temporary(&paths::Seen::new(folder, None))
        && prepared.goal.order_beside(goal::TIDYING, folder)
        && !prepared.goal.keeps(folder)
}

/// Whether a line of `find` removes what is younger than a time (find(1), "-mtime", "Numeric arguments").
fn takes_the_younger(prepared: &Prepared<'_>) -> bool {
    let args = &prepared.given;
    let line = args.to_string();
    // `find X -delete -mtime +30` has removed them before it looks how old they are (find(1), "-delete").
    let first =
        |test: &str| line.find("-delete").is_some_and(|at| line.get(at..).is_some_and(|rest| rest.contains(test)));
    let late =
        ["-mtime", "-mmin", "-ctime", "-newer"].iter().any(|test| first(test) && line.matches("-delete").count() == 1);
    let younger = ["-mtime -", "-mmin -", "-ctime -", "-atime -", "-mtime\",\"-", "-mmin\",\"-"];
    let other_way = ["! -mtime", "-not -mtime", "! -mmin", "-not -mmin"];
    late || younger.iter().any(|test| line.contains(test)) && !other_way.iter().any(|test| line.contains(test))
}

/// Whether a line of `find` says by their names which files it means, and not only which it does not (find(1), "-name").
fn picks_by_name(line: &str) -> bool {
    let words: Vec<&str> =
        line.split(|c: char| c.is_whitespace() || "\"',\\".contains(c)).filter(|w| !w.is_empty()).collect();
    words.iter().enumerate().any(|(i, word)| {
        let before = i.checked_sub(1).and_then(|i| words.get(i)).copied().unwrap_or("");
        matches!(*word, "-name" | "-iname" | "-regex" | "-iregex") && !matches!(before, "!" | "-not")
    })
}

/// Whether it is `x.new` of a file `x` that the same line writes.
fn is_next_version(prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let of = ["new", "tmp", "part", "next"].iter().find_map(|end| touch.name.strip_suffix(&format!(".{end}")));
    let writes = |of: &str| {
        let mut touches = prepared.derived.touches.iter();
        touches.any(|other| other.name == of && matches!(other.effect, Effect::Create | Effect::Update))
    };
    of.is_some_and(writes)
}

/// Whether a path lies in a folder of the workspace whose things are made again whenever they are missed.
pub(super) fn is_scratch(request: &Request<'_>, touch: &Touch) -> bool {
    let made_again = |path: &str| {
        let below = |root: &String| path.strip_prefix(root.as_str()).filter(|rest| rest.starts_with('/'));
        let inside = request.deployment.workspace().iter().find_map(below).unwrap_or("");
        inside.split('/').any(|part| matches!(part, "tmp" | "temp" | ".cache" | "node_modules" | "__pycache__"))
    };
    // A folder of that name may be a link to another.
    touch.seen().is_some_and(|seen| seen.both(made_again))
}

/// Whether the goal names a unit, or speaks of it. A process has a number, of which no goal speaks.
fn is_meant(request: &Request<'_>, prepared: &Prepared<'_>, process: &str) -> bool {
    let unit = process.rsplit_once('.').map_or(process, |(unit, _)| unit);
    !process.starts_with(|c: char| c.is_ascii_alphabetic())
        || [process, unit].iter().any(|name| goal::names(request.pinned_goal, name))
        || prepared.goal.share_a_word(unit)
}

/// Whether a database is a file, which is judged as one: by the same act, or one for the time between, of a program that has no other
/// databases (sqlite3(1)).
fn is_in_file(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let mut files = prepared.derived.touches.iter().filter(|t| t.changes() && t.seen().is_some());
    let passing = |t: &Touch| t.seen().is_some_and(|seen| request.deployment.in_temporary(&seen));
    let called = &prepared.derived.called;
    let sqlite =
        called.iter().any(|program| program == "sqlite3") && called.iter().all(|program| has(OF_FILES, program));
    files.clone().any(|t| t.effect == touch.effect) || (sqlite && files.clone().next().is_some() && files.all(passing))
}

/// Programs beside `sqlite3` that have no databases.
const OF_FILES: &str = "sqlite3 cat echo printf head tail time sort column cp rm mkdir ls wc";

fn removal(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch) -> Option<Ask> {
    let by_rule = |code, message: String| Some(Ask { code, message, waivable: Waivable::ByRule });
    let Some(seen) = touch.seen() else {
        if touch.kind == TargetKind::Database && is_in_file(request, prepared, touch) {
            return None;
        }
        return by_rule(Code::DefaultAsk, format!("{} of the {} {} asks", touch.effect, touch.kind, touch.name));
    };
    // "Make a file in /tmp, look at df and remove it again"
    if request.deployment.in_temporary(&seen) && !touch.recursive && !touch.pattern && prepared.clears_up(touch) {
        return None;
    }
    let by_line = touch.by == By::Command && request.deployment.in_temporary(&seen);
    let copy = || touch.name.strip_suffix("/*").is_some_and(|folder| is_mirrored(request, prepared, folder));
    if by_line && (is_made_anew(prepared, touch) || copy()) {
        return None;
    }
    let tidied = by_line && is_tidied(request, prepared, touch);
    if !request.deployment.in_workspace(&seen) && !tidied {
        return by_rule(Code::ResourceOutside, format!("{} is outside of the workspace", touch.name));
    }
    // `DIR/*` and `DIR/**/*` are all of it.
    let whole = ["/**/*", "/**", "/*"].iter().find_map(|all| touch.name.strip_suffix(all)).unwrap_or(&touch.name);
    // "Delete empty files", wherever they are; who names a place means that one.
    let picks = || {
        let anywhere = || prepared.goal.paths().next().is_none();
        touch.name.ends_with("/**") && (anywhere() || picks_by_name(&prepared.given.to_string()))
    };
    if request.deployment.workspace().iter().any(|root| root == whole) && touch.by != By::Git && !picks() {
        return by_rule(Code::DefaultAsk, format!("{} is the whole workspace", touch.name));
    }
    if !tidied && !matches!(prepared.reversible_by, ReversibleBy::Snapshot | ReversibleBy::Action) {
        return by_rule(Code::DefaultAsk, format!("nothing brings {} back", touch.name));
    }
    // What the plan made for itself it may clear away; what a line writes for the time between, too.
    let own = || is_scratch(request, touch) && prepared.written.made(&touch.name);
    if prepared.clears_up(touch) || is_in_between(request, prepared, touch) || own() {
        return None;
    }
    if is_mirrored(request, prepared, whole) || is_generated_anew(prepared, touch) {
        return None;
    }
    if !(prepared.goal.speak_of(goal::REMOVAL) || is_rebuilt(request, prepared, touch)) {
        return by_rule(Code::DefaultAsk, format!("the goal does not ask for the removal of {}", touch.name));
    }
    if !is_meant_to_go(request, prepared, touch) {
        return by_rule(Code::DefaultAsk, format!("the goal does not ask for the removal of {}", touch.name));
    }
    if prepared.goal.speak_of("older old ago before") && takes_the_younger(prepared) {
        return by_rule(
            Code::DefaultAsk,
            "the goal asks for the removal of what is older, and the line takes what is younger".to_owned(),
        );
    }
    let many = touch.pattern || (touch.recursive && touch.by == By::Command);
    if many && touch.by != By::Git && prepared.goal.removes_other_kinds(&touch.name, &prepared.given.to_string()) {
        return by_rule(
            Code::DefaultAsk,
            format!("the goal asks for the removal of another kind of files than {}", touch.name),
        );
    }
    let all_of = below_workspace(request, touch.name.trim_end_matches(['*', '/']));
    if (many || touch.recursive)
        && touch.by != By::Git
        && let Some(left) = prepared.goal.spared_and_taken(all_of, &touch.name, &prepared.given.to_string())
    {
        return by_rule(Code::DefaultAsk, format!("the goal has {left} left, and the line does not leave it out"));
    }
    if many && touch.by != By::Git && prepared.goal.removes_below(all_of) {
        return by_rule(Code::DefaultAsk, format!("the goal asks for the removal of less than {}", touch.name));
    }
    let inside = below_workspace(request, &touch.name);
    // What is made again anyway goes wherever it lies, unless the goal says where.
    let anywhere = || is_product(inside) && !(many && prepared.goal.says_where());
    let elsewhere = || prepared.goal.is_read() && !anywhere() && !prepared.goal.means_path(&touch.name, inside);
    if touch.by != By::Git && (prepared.goal.remove_others(&touch.name) || elsewhere()) {
        return by_rule(Code::DefaultAsk, format!("the goal asks for other removals than that of {}", touch.name));
    }
    None
}
