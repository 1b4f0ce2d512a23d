//! From an inspection to what a step touches: every resource that a command line, a program or a statement names goes through the
//! same checks as a built-in tool's, findings become reasons, and what stays unknown asks.
//!
//! The inspection comes from a process that reads hostile text, so it is a claim: it can name more than there is, and what it
//! leaves out the sandbox does not grant.

use std::collections::BTreeMap;

use countersign_plan::inspection::{self, Context, FindingKind, Inspection, Knowledge, Subject, UnknownKind};
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Definition, Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};
use serde_json::Value;

use super::arguments::Arg;
use super::{By, Deriving, Execution, Leaving, Origin, Touch};
use crate::deployment::Standing;
use crate::facts::Extent;
use crate::hosts::Endpoint;
use crate::paths::{self, Place, Seen};

/// The name that stands for a value which a reference has still to give.
pub(crate) const REFERENCE: &str = "COUNTERSIGN_REFERENCE";

impl Deriving<'_> {
    /// Where a program of this step would run.
    pub(super) fn context(&self, place: &Place) -> Context {
        let mut context = Context::new(place.cwd(), place.home());
        let env = self.args.at(&Pointer::from_segments(vec!["env".to_owned()]));
        context.env = match env {
            Some(Expr::Object(members)) => {
                let literal = |value: Expr| value.literal().and_then(|value| text_of(&value));
                members.into_iter().filter_map(|(name, value)| literal(value).map(|value| (name, value))).collect()
            }
            Some(Expr::Literal(Value::Object(members))) => {
                members.iter().filter_map(|(name, value)| text_of(value).map(|value| (name.clone(), value))).collect()
            }
            Some(_) | None => BTreeMap::new(),
        };
        context.files.clone_from(&self.scene.written.texts);
        context.seen = self.seen_and_named();
        context
    }

    /// Of the files that were read before, those that this step names or that tools run without being told.
    fn seen_and_named(&self) -> BTreeMap<String, String> {
        const RECIPES: &[&str] = &[
            "Makefile",
            "makefile",
            "GNUmakefile",
            "justfile",
            "package.json",
            "composer.json",
            "setup.py",
            "conftest.py",
        ];
        if self.scene.written.seen.is_empty() {
            return BTreeMap::new();
        }
        let mut words = Vec::new();
        let mut open = false;
        for name in ["command", "argv", "args"] {
            match self.named(name) {
                Arg::Text(text) => words.push(text),
                Arg::List(items) => words.extend(items.iter().filter_map(|item| item.text().map(str::to_owned))),
                Arg::Open => open = true,
                Arg::Absent | Arg::Other => {}
            }
        }
        let named = |path: &str| {
            let base = path.rsplit('/').next().unwrap_or(path);
            open || RECIPES.contains(&base) || words.iter().any(|word| word.contains(base))
        };
        let seen = self.scene.written.seen.iter().filter(|(path, _)| named(path));
        seen.map(|(path, text)| (path.clone(), text.clone())).collect()
    }

    /// What the subject would do becomes what this step does. Returns whether somebody looked at it.
    pub(super) fn inspected(&mut self, subject: &Subject, by: By) -> bool {
        let Ok(inspection) = self.scene.facts.inspect(subject) else {
            self.out.execution = Execution::Unanalysed;
            return false;
        };
        self.out.execution = Execution::Analysed;
        self.take_over(&inspection, by);
        true
    }

    pub(super) fn take_over(&mut self, inspection: &Inspection, by: By) {
        // Where no host is named, nobody knows who sends it.
        let mut hosts = inspection
            .touches
            .iter()
            .filter(|touch| matches!(touch.kind, TargetKind::Host | TargetKind::Url))
            .peekable();
        let outsider = hosts.peek().is_none() || hosts.any(|touch| self.standing_of(&touch.name) == Standing::Other);
        for finding in &inspection.findings {
            let decision = match finding.kind {
                // From a host that the deployment knows people are asked.
                FindingKind::DownloadAndExecute if outsider => Decision::Block,
                kind => kind.decision(),
            };
            if finding.kind == FindingKind::DestroysDatabase {
                self.out.databases.push(finding.message.clone());
            }
            self.out.findings.push(Reason::new(code_of(finding.kind), decision, &finding.message));
        }
        for unknown in &inspection.unknowns {
            let how_far = match unknown.kind {
                UnknownKind::Value if unknown.effect.is_harmless() => Execution::ReadsUnnamed,
                UnknownKind::Program => Execution::Uncatalogued,
                UnknownKind::Syntax
                | UnknownKind::Disagreement
                | UnknownKind::Option
                | UnknownKind::Value
                | UnknownKind::Code
                | UnknownKind::TooMuch => Execution::Unanalysed,
            };
            self.unclear(how_far, format!("{} (at worst: {})", unknown.message, unknown.effect));
        }
        for program in inspection.programs.iter().filter(|program| program.knowledge == Knowledge::Uncatalogued) {
            // The inspection says so itself; what it forgets is asked all the same.
            if inspection.unknowns.iter().all(|unknown| unknown.kind != UnknownKind::Program) {
                self.unclear(Execution::Uncatalogued, format!("no catalogue says what `{}` does", program.name));
            }
        }
        let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
        self.out.called.extend(inspection.programs.iter().map(|program| base(&program.name)));
        let call = |program: &inspection::Program| {
            let args = program.args.iter().map(|arg| arg.clone().unwrap_or_default());
            std::iter::once(base(&program.name)).chain(args).collect()
        };
        self.out.calls.extend(inspection.programs.iter().map(call));
        self.out.installs = !inspection.programs.is_empty() && inspection.programs.iter().all(installs);
        let start = self.start();
        self.out.links.extend(inspection.programs.iter().flat_map(|program| links(program, &start)));
        for touch in &inspection.touches {
            self.take_over_touch(inspection, touch, by);
        }
        for flow in &inspection.flows {
            self.take_over_flow(flow);
        }
    }

    /// A part that nobody understood.
    fn unclear(&mut self, how_far: Execution, message: String) {
        self.out.execution = self.out.execution.max(how_far);
        self.out.unclear.push((how_far, message));
    }

    fn take_over_touch(&mut self, inspection: &Inspection, touch: &inspection::Touch, by: By) {
        match touch.kind {
            TargetKind::File | TargetKind::Directory => {
                if touch.effect == Effect::Delete && touch.recursive && self.is_unseen(inspection, &touch.name) {
                    self.out.removes_unseen.get_or_insert_with(|| touch.name.clone());
                }
                if touch.in_place && touch.effect == Effect::Update && edits(&touch.by) {
                    self.out.edited.push(touch.name.clone());
                }
                if !touch.name.starts_with('/') {
                    if touch.effect.is_harmless() && !inspection.unknowns.is_empty() {
                        return;
                    }
                    // Below a folder that is not known: the inspection says so as well.
                    self.found(
                        Code::ResourceUnresolved,
                        Decision::RequireApproval,
                        format!("which file {} is shows only when it runs", touch.name),
                    );
                    return;
                }
                if paths::is_harmless_device(&touch.name) {
                    return;
                }
                let by = if is_renamed(inspection, touch) { By::Move } else { by };
                // Git's writes inside of its own folder are how it works.
                let by = if touch.by == "git" && touch.effect != Effect::Execute && is_of_git(&touch.name) {
                    By::Git
                } else {
                    by
                };
                self.path(touch.effect, touch.kind, &touch.name, touch.recursive, by);
                // `ln -s /etc/x a; echo >> a`: what does not make the link writes behind it.
                if matches!(touch.effect, Effect::Create | Effect::Update) && touch.by != "ln" {
                    for name in self.behind_links(&touch.name, true, true) {
                        self.place_path(touch.effect, touch.kind, name, touch.recursive, by);
                    }
                }
                if touch.pattern {
                    self.spread(touch, by);
                }
            }
            TargetKind::Host | TargetKind::Url => {
                // A contact that neither changes anything nor carries data only asks.
                let same = |other: &&inspection::Touch| other.name == touch.name && other.kind == touch.kind;
                let changes =
                    inspection.touches.iter().filter(same).any(|other| {
                        !matches!(other.effect, Effect::None | Effect::Read | Effect::Send | Effect::Execute)
                    });
                let carries = inspection
                    .flows
                    .iter()
                    .any(|flow| (flow.to == touch.name || flow.to == "?") && !flow.from.starts_with('$'));
                let asks = touch.effect == Effect::Send && !changes && !carries;
                let effect = if asks { Effect::Read } else { touch.effect };
                self.contact(effect, &touch.name);
            }
            TargetKind::Email | TargetKind::Channel | TargetKind::Account => {
                self.resource(touch.effect, touch.kind, &touch.name, false);
                self.by_last(by);
            }
            TargetKind::Database
            | TargetKind::Calendar
            | TargetKind::Memory
            | TargetKind::Process
            | TargetKind::Record
            | TargetKind::Other => {
                self.other(touch.effect, touch.kind, &touch.name);
                self.by_last(by);
            }
        }
    }

    /// Whether a path is all of a folder that nobody knows before it runs, so that it may be any.
    fn is_unseen(&self, inspection: &Inspection, name: &str) -> bool {
        let unknown = inspection.unknowns.iter().any(|unknown| unknown.effect == Effect::Delete);
        let start = self.start();
        let below = name.strip_prefix(start.cwd()).map_or(name, |rest| rest.trim_start_matches('/'));
        let rest = below.strip_prefix("${").and_then(|rest| rest.rsplit_once('}')).map(|(_, rest)| rest);
        unknown && rest.is_some_and(|rest| rest.split('/').all(|part| part.trim_matches(['*', '.']).is_empty()))
    }

    /// A pattern stands for what the machine has that fits it; of that, what somebody cares about is named one by one. Where there is
    /// no machine, it stands for whatever may fit.
    fn spread(&mut self, touch: &inspection::Touch, by: By) {
        let deployment = self.scene.deployment;
        let taken = touch.recursive && touch.effect == Effect::Delete;
        // What is read or written anywhere below is what the view shows and keeps, as with a folder.
        let listing = touch.effect != Effect::Delete && touch.name.contains("**");
        let mut as_written = false;
        if !touch.name.contains("${") && !listing {
            let matters = |path: &str| {
                let seen = Seen::new(path, None);
                let kept = deployment.protected().path(&seen).is_some() || deployment.is_trusted(&seen);
                deployment.is_restricted(&seen)
                    || deployment.is_own_folder(&seen)
                    || deployment.is_own_file(&seen)
                    || kept
            };
            let fits = |path: &str| paths::fits(&touch.name, path, taken);
            let below = self.scene.facts.below(literal_folder(&touch.name), &|path| fits(path) && matters(path), 64);
            as_written = below.extent == Extent::AsWritten;
            if below.extent == Extent::Cut {
                let message = format!("there is more below {} than can be looked at", literal_folder(&touch.name));
                self.found(Code::ResourceUnresolved, Decision::RequireApproval, message);
            }
            for hit in below.hits {
                self.path(touch.effect, touch.kind, &hit, false, by);
            }
        }
        let named = |out: &&mut Touch| out.name == touch.name && out.effect == touch.effect;
        // Who only lists names shows nothing of what the files hold.
        let lists = touch.effect == Effect::Read && matches!(touch.by.as_str(), "ls" | "stat" | "du" | "test" | "[");
        if let Some(own) = self.out.touches.iter_mut().find(named) {
            own.pattern = true;
            own.shape =
                (as_written && !lists).then(|| if taken { format!("{}/**", touch.name) } else { touch.name.clone() });
        }
    }

    fn by_last(&mut self, by: By) {
        if let Some(last) = self.out.touches.last_mut() {
            last.by = by;
        }
    }

    /// A host that a command talks to. Names that are no hosts (buckets, remotes that a configuration names) are outsiders.
    fn contact(&mut self, effect: Effect, name: &str) {
        let endpoint = Endpoint::parse(name).ok();
        let standing = self.standing_of(name);
        let plain = Touch::plain(effect, TargetKind::Host, name.to_owned());
        self.out.touches.push(Touch { endpoint, standing: Some(standing), by: By::Command, ..plain });
    }

    pub(super) fn standing_of(&self, host: &str) -> Standing {
        Endpoint::parse(host).map_or(Standing::Other, |at| self.scene.deployment.standing_of_host(&at))
    }

    fn take_over_flow(&mut self, flow: &inspection::Flow) {
        // A letter goes to a person, not to a host.
        let standing = match flow.to.split_once('@') {
            Some((name, _)) if !name.contains(['/', ':']) => self.scene.deployment.standing_of(&flow.to.to_lowercase()),
            Some(_) | None => self.standing_of(&flow.to),
        };
        let origin = match flow.from.as_str() {
            "env" => Origin::Environment,
            "secret" => Origin::Secret,
            "rows" if standing == Standing::Other => Origin::Rows,
            path if path.starts_with('/') => {
                let fact = self.scene.facts.resolve(path);
                Origin::File { name: path.to_owned(), resolved: fact.resolved.filter(|resolved| resolved != path) }
            }
            // One variable of the environment, as a token is handed to a client.
            variable if variable.starts_with('$') => Origin::Variable,
            _ => Origin::Unknown,
        };
        self.out.leaving.push(Leaving { origin, to: flow.to.clone(), standing });
    }

    /// A tool whose target is a process may be given a line that somebody runs later: what that line does, this step does.
    pub(super) fn line_for_later(&mut self, tool: &Definition) {
        let Some(at) = &tool.target.arg else { return };
        let Arg::Text(line) = self.arg(at) else { return };
        if !line.trim().contains(char::is_whitespace) {
            return;
        }
        let context = self.context(&self.place().clone());
        if let Ok(inspection) = self.scene.facts.inspect(&Subject::Shell { line, context }) {
            // It may as well be a task in words, so that what is no command says nothing.
            let (before, unclear) = (self.out.execution, self.out.unclear.len());
            self.take_over(&inspection, By::Command);
            self.out.execution = before;
            self.out.unclear.truncate(unclear);
        }
    }

    /// A line in an argument that is named for one, of a tool that hands it to somebody who runs it: what is grave in it counts.
    pub(super) fn line_in_an_argument(&mut self) {
        for name in ["command", "cmd", "script", "shell", "exec", "run"] {
            let Arg::Text(line) = self.named(name) else { continue };
            if !line.contains(char::is_whitespace) {
                continue;
            }
            let context = self.context(&self.place().clone());
            let Ok(inspection) = self.scene.facts.inspect(&Subject::Shell { line, context }) else {
                let message = format!("nobody has inspected the line in /{name}");
                self.found(Code::ExecuteUnanalysed, Decision::RequireApproval, message);
                continue;
            };
            for finding in inspection.findings {
                if finding.kind.decision() == Decision::Block || finding.kind == FindingKind::DownloadAndExecute {
                    self.found(code_of(finding.kind), Decision::Block, finding.message);
                }
            }
        }
    }

    /// The view that what runs needs: the folders that it writes, the whole workspace where it runs code that nobody read, nothing
    /// where it only reads.
    pub(super) fn view(&mut self) {
        let runs_code = self.out.execution > Execution::ReadsUnnamed
            || self.out.touches.iter().any(|t| t.effect == Effect::Execute && t.by == By::Command);
        if runs_code {
            self.view_of_workspace();
            return;
        }
        let deployment = self.scene.deployment;
        let mut folders: Vec<String> = Vec::new();
        for touch in self.out.touches.iter().filter(|touch| touch.changes() && touch.by == By::Command) {
            let Some(seen) = touch.seen().filter(|seen| deployment.in_workspace(seen)) else { continue };
            let whole = deployment.workspace().iter().any(|root| root == seen.written());
            let parent = seen.written().rsplit_once('/').map_or("/", |(parent, _)| parent);
            let folder = if whole { seen.written() } else { parent };
            let folder = literal_folder(folder);
            if !folders.iter().any(|known| paths::is_within(folder, known)) {
                folders.retain(|known| !paths::is_within(known, folder));
                folders.push(folder.to_owned());
            }
        }
        for folder in folders {
            self.path(Effect::Update, TargetKind::Directory, &folder, true, By::View);
        }
    }
}

/// Whether a program is there to change files, their names or their rights; others keep what they work with where it is.
fn edits(program: &str) -> bool {
    const EDITORS: &str = "sed gsed perl ruby awk gawk mv chmod chown chgrp setfacl chattr gzip bzip2 xz zstd dos2unix unix2dos recode \
        sponge ed ex vim vi emacs truncate shred patch rename mogrify exiftool jpegoptim optipng gifsicle python python3 node php ncks ncrename ncatted ncap2 ncpdq ncea ncra cdo ogrinfo ogr2ogr gdal_edit.py gdal_edit \
        gdaladdo gdal_rasterize h5copy grib_set sort csvsort jq yq mlr xmlstarlet crudini jupyter nbconvert jupyter-nbconvert msgattrib msgcat \
        msguniq msgconv msgfilter";
    crate::lists::has(EDITORS, program)
}

/// Whether a program makes an environment or installs packages: what it fetches are packages, each of which was judged.
fn installs(program: &inspection::Program) -> bool {
    let base = program.name.rsplit('/').next().unwrap_or("");
    let has = |word: &str| program.args.iter().flatten().any(|arg| arg == word);
    match base {
        "python" | "python3" => has("-m") && (has("venv") || has("pip")),
        "pip" | "pip3" | "npm" | "pnpm" | "yarn" => has("install") || has("ci") || has("add"),
        "venv" | "virtualenv" | "cd" | "true" | "echo" => true,
        _ => false,
    }
}

/// Whether a file only gets another name: by `mv -n`, which replaces nothing, or in a folder that the line itself copied (mv(1)).
fn is_renamed(inspection: &Inspection, touch: &inspection::Touch) -> bool {
    if touch.by != "mv" || touch.effect != Effect::Delete {
        return false;
    }
    let mut moves = inspection.programs.iter().filter(|program| program.name == "mv").peekable();
    let keeps = |program: &inspection::Program| {
        program.args.iter().flatten().any(|word| matches!(word.as_str(), "-n" | "--no-clobber"))
    };
    let replaces_nothing = moves.peek().is_some() && moves.all(keeps);
    let copied = |other: &inspection::Touch| {
        other.by == "cp"
            && other.effect == Effect::Update
            && other.name != touch.name
            && paths::is_within(&touch.name, &other.name)
    };
    replaces_nothing || inspection.touches.iter().any(copied)
}

/// The links that a program makes, whatever is there now: the name that is given, and one below it where it is a folder (ln(1)).
fn links(program: &inspection::Program, start: &Place) -> Vec<(String, String)> {
    if program.name.rsplit('/').next() != Some("ln") {
        return Vec::new();
    }
    let words: Vec<&str> =
        program.args.iter().flatten().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let [target, rest @ ..] = words.as_slice() else { return Vec::new() };
    let base = target.rsplit('/').find(|part| !part.is_empty()).unwrap_or("");
    let name = rest.last().copied().unwrap_or(".");
    let names = [name.to_owned(), format!("{name}/{base}")];
    names
        .iter()
        .filter_map(|name| {
            let link = start.normalise(name).ok()?;
            let folder = link.rsplit_once('/').map_or("/", |(folder, _)| folder);
            let target =
                start.at(if folder.is_empty() { "/".to_owned() } else { folder.to_owned() }).normalise(target).ok()?;
            (link != target).then_some((link, target))
        })
        .collect()
}

/// Whether a path lies inside of git's own folder and is nothing that git runs or believes (FORMATS §4, "Protected").
pub(crate) fn is_of_git(path: &str) -> bool {
    let inside = path.split_once("/.git/").map(|(_, rest)| rest);
    path.ends_with("/.git")
        || inside.is_some_and(|rest| {
            let first = rest.split('/').next().unwrap_or("");
            !matches!(first, "hooks" | "config" | "config.worktree" | "info") && rest != "objects/info/alternates"
        })
}

/// The folder above the first component with a wildcard.
pub(crate) fn literal_folder(path: &str) -> &str {
    let mut end = 0;
    for part in path.split('/').skip(1) {
        if part.contains(['*', '?', '[', '$']) {
            break;
        }
        end += part.len() + 1;
    }
    path.get(..end).filter(|path| !path.is_empty()).unwrap_or("/")
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The line with each reference as the one quoted word that it becomes.
pub(super) fn line_around_references(expr: &Expr) -> Option<String> {
    match expr {
        Expr::From { .. } | Expr::Secret(_) | Expr::Input(_) => Some(format!("\"${REFERENCE}\"")),
        Expr::Join(parts) => {
            let mut line = String::new();
            for part in parts {
                match part.literal() {
                    Some(value) => line.push_str(&text_of(&value)?),
                    None => line.push_str(&format!("\"${REFERENCE}\"")),
                }
            }
            Some(line)
        }
        other => other.literal().as_ref().and_then(text_of),
    }
}

/// The code that a finding is reported under.
pub(super) const fn code_of(kind: FindingKind) -> Code {
    match kind {
        FindingKind::DestroysHome
        | FindingKind::DestroysSystem
        | FindingKind::DestroysDevice
        | FindingKind::DestroysDatabase => Code::ResourceCatastrophic,
        FindingKind::DecodeAndExecute => Code::ExecuteDecoded,
        FindingKind::DownloadAndExecute => Code::ExecuteDownloaded,
        FindingKind::ReverseShell => Code::ExecuteReverseShell,
        FindingKind::ForkBomb => Code::ExecuteForkBomb,
        FindingKind::MetadataAddress => Code::HostMetadata,
        FindingKind::HiddenText => Code::PlanHiddenText,
        FindingKind::LookAlike | FindingKind::UserInfo => Code::HostDeceives,
        FindingKind::OddAddress => Code::HostInvalid,
        FindingKind::LoadsCode => Code::ExecuteLoadsCode,
        FindingKind::Persistence => Code::ResourceTrusted,
        FindingKind::KernelInterface => Code::ResourceKernel,
        FindingKind::Elevation => Code::ExecuteElevated,
        FindingKind::WeakensRights => Code::ResourceRights,
        FindingKind::EnvironmentDump => Code::ResourceEnvironment,
        FindingKind::HistoryLoss => Code::ResourceHistory,
        FindingKind::UnboundedStatement => Code::ResourceUnbounded,
        FindingKind::Secret => Code::TextSecret,
        FindingKind::InjectedInstruction => Code::TextInstructions,
        FindingKind::DisablesProtection | FindingKind::ErasesRecord | FindingKind::OpensToAnybody => {
            Code::ResourceDefences
        }
    }
}
