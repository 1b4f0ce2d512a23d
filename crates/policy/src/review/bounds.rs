//! The privileges that a plan asks for: an upper bound on its steps, and a finding where they are far above them.

use countersign_plan::confinement::Profile;
use countersign_plan::draft::Privileges;
use countersign_plan::tool::{Definition, Driver, Effect, TargetKind};
use countersign_plan::verdict::{Code, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::deployment::Standing;
use crate::effects::{By, Derived, Execution, Touch};
use crate::hosts::{Endpoint, HostPattern};
use crate::paths::{self, Case, PathSet, PatternError, Seen};

/// The most entries of one list, and the longest entry, in bytes: compiling and asking them is bounded by it.
const MAX_ENTRIES: usize = 256;
const MAX_ENTRY: usize = 1024;

/// The privileges of a plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<'a>(&'a Privileges);

/// The path patterns of privileges, compiled once for all steps.
#[derive(Debug)]
pub(super) struct Patterns {
    read: Option<Result<PathSet, PatternError>>,
    write: Option<Result<PathSet, PatternError>>,
}

impl<'a> Bounds<'a> {
    pub(super) const fn of(privileges: &'a Privileges) -> Self {
        Self(privileges)
    }

    /// Lists that are too long to be judged.
    pub(super) fn oversized(&self) -> Option<Reason> {
        let Privileges { read, write, connect, run, secrets } = self.0;
        let large = |list: &Option<Vec<String>>| {
            list.as_ref().is_some_and(|l| l.len() > MAX_ENTRIES || l.iter().any(|entry| entry.len() > MAX_ENTRY))
        };
        [read, write, connect, run, secrets].into_iter().any(large).then(|| {
            let message = format!("privileges list at most {MAX_ENTRIES} entries of at most {MAX_ENTRY} bytes");
            Reason::block(Code::PolicyLimit, message)
        })
    }

    /// Compiles the path patterns; nothing of oversized lists, which block.
    pub(super) fn patterns(&self, request: &Request<'_>) -> Patterns {
        let place = request.deployment.place();
        let oversized = self.oversized().is_some();
        let set = |list: &Option<Vec<String>>| {
            list.as_ref().map(|list| {
                let kept = list.iter().filter(|_| !oversized).map(|p| (0, p.as_str()));
                PathSet::compile(Case::Exact, place, kept)
            })
        };
        Patterns { read: set(&self.0.read), write: set(&self.0.write) }
    }

    /// Replaces the folders that a program may write by those that the plan asks for, as far as they lie in them.
    pub(super) fn narrow_view(&self, derived: &mut Derived, request: &Request<'_>) {
        let Some(write) = &self.0.write else { return };
        let Some(example) = derived.touches.iter().find(|touch| touch.by == By::View).cloned() else { return };
        derived.touches.retain(|touch| touch.by != By::View);
        for root in roots(write, request) {
            let fact = request.facts.resolve(&root);
            let touch = Touch {
                resolved: fact.resolved.filter(|r| *r != root),
                identity: fact.identity,
                path_kind: fact.kind,
                name: root,
                ..example.clone()
            };
            if touch.seen().is_some_and(|seen| request.deployment.in_workspace(&seen)) {
                derived.touches.push(touch);
            }
        }
    }

    /// Of the folder that a program starts in nothing is read where the plan asks for parts of it: it is there because they are.
    pub(super) fn narrow_start(&self, derived: &mut Derived, tool: &Definition, request: &Request<'_>) {
        let Some(read) = self.0.read.as_ref().filter(|_| tool.effect == Effect::Execute) else { return };
        let mut asked = roots(read, request);
        asked.extend(self.0.write.iter().flat_map(|write| roots(write, request)));
        derived.touches.retain(|touch| {
            let start = touch.by == By::Tool && touch.effect == Effect::Read && touch.kind == TargetKind::Directory;
            let covered = asked.iter().any(|root| paths::is_within(&touch.name, root));
            !start || covered || !asked.iter().any(|root| paths::is_within(root, &touch.name))
        });
    }

    /// Adds the hosts that the plan asks for to what its programs touch: through each one data may leave. Programs with a list of
    /// their own binaries, and git, make no connection.
    pub(super) fn connections(&self, derived: &mut Derived, tool: &Definition, request: &Request<'_>) {
        if derived.profile != Some(Profile::Toolchain) || is_builtin(tool, "git") {
            return;
        }
        for entry in self.0.connect.iter().flatten().take(MAX_ENTRIES) {
            let Ok(endpoint) = Endpoint::parse(entry) else { continue };
            if endpoint.port.is_none() {
                let message = format!("`privileges.connect`: {entry} names no port, so that no program can reach it");
                derived.findings.push(Reason::ask(Code::PlanPrivilegeExcessive, message));
                continue;
            }
            let standing = request.deployment.standing_of_host(&endpoint);
            let Some(effect) = wanted_by(derived, standing) else { continue };
            let plain = Touch::plain(effect, TargetKind::Host, endpoint.to_string());
            derived.touches.push(Touch { endpoint: Some(endpoint), standing: Some(standing), ..plain });
        }
    }

    /// The folders that a program may read besides what it may write.
    pub(super) fn readable_roots(&self, request: &Request<'_>) -> Vec<String> {
        match &self.0.read {
            None => request.deployment.workspace().to_vec(),
            Some(list) => {
                let inside = |root: &String| request.deployment.workspace().iter().any(|ws| paths::is_within(root, ws));
                roots(list, request).into_iter().filter(inside).collect()
            }
        }
    }

    /// Whether the plan asks for parts of a folder, which are then all that its programs see of it.
    fn asks_below(&self, folder: &str, request: &Request<'_>) -> bool {
        let below = |list: &Vec<String>| {
            let roots = roots(list, request);
            roots.len() == list.len() && roots.iter().any(|root| root != folder && paths::is_within(root, folder))
        };
        self.0.read.as_ref().is_none_or(below) && self.0.write.as_ref().is_none_or(below)
    }

    /// What a step does beyond the privileges.
    pub(super) fn exceeded(&self, patterns: &Patterns, prepared: &Prepared<'_>, request: &Request<'_>) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let mut exceed = |what: String| {
            let fix = "ask for it in `privileges`, or leave the key out to have it derived";
            reasons.push(Reason::block(Code::PlanPrivilegeExceeded, what).fix(fix));
        };
        let place = request.deployment.place();
        let Patterns { read, write } = patterns;
        for touch in prepared.derived.touches.iter().filter(|t| t.by != By::View && !t.is_open()) {
            if let Some(seen) = touch.seen() {
                if touch.by == By::Command && request.deployment.in_temporary(&seen) {
                    continue;
                }
                // What a program may do anywhere below where it starts, it does within the view that the plan asks for.
                let anywhere = touch.by == By::Command
                    && request.deployment.in_workspace(&seen)
                    && matches!(touch.effect, Effect::Execute | Effect::Update);
                if anywhere && self.asks_below(&touch.name, request) {
                    continue;
                }
                // The program that a step starts is the system's.
                let started = || prepared.list("argv").first().is_some_and(|program| *program == touch.name);
                if touch.effect == Effect::Read && seen.both(crate::paths::is_of_system) && started() {
                    continue;
                }
                // Git reads a repository by what it keeps there, and the files that it is asked for.
                let kept = format!("{}/.git/HEAD", touch.name);
                let by_git = prepared.step.action.as_str() == "git" && touch.effect == Effect::Read;
                if by_git && matches!(read, Some(Ok(set)) if Seen::new(&kept, None).inside(set)) {
                    continue;
                }
                let (bound, word) = if touch.changes() { (write, "write") } else { (read, "read") };
                match bound {
                    None => {}
                    Some(Ok(set)) if seen.inside(set) => {}
                    // What may be written may be read.
                    Some(Ok(_)) if word == "read" && matches!(write, Some(Ok(set)) if seen.inside(set)) => {}
                    Some(Ok(_)) => exceed(format!("{} {} is outside of `privileges.{word}`", touch.effect, touch.name)),
                    Some(Err(e)) => exceed(format!("`privileges.{word}`: {e}")),
                }
            }
            if let (Some(endpoint), Some(list)) = (&touch.endpoint, &self.0.connect) {
                let fits = |entry: &String| HostPattern::parse(entry).is_ok_and(|pattern| pattern.matches(endpoint));
                if !list.iter().any(fits) {
                    exceed(format!("{endpoint} is not in `privileges.connect`"));
                }
            }
        }
        let in_project = |path: &str| request.deployment.in_workspace(&Seen::new(path, None));
        // The words of a shell line are judged with the line.
        let line = prepared.tool.is_some_and(|tool| is_builtin(tool.definition(), "execute_command"));
        if let (Some(run), false) = (&self.0.run, line || prepared.derived.execution == Execution::Unanalysed) {
            for program in &prepared.derived.programs {
                let same = |entry: &String| {
                    entry == program
                        || (!entry.contains('/') && request.facts.program(entry).as_ref() == Some(program))
                        || (entry.contains('/') && place.normalise(entry).is_ok_and(|path| path == *program))
                        // The plan's own words name a program of the project by its last part; its argv shows the rest.
                        || (in_project(program) && program.rsplit('/').next() == Some(entry.as_str()))
                };
                if !run.iter().any(same) {
                    exceed(format!("{program} is not in `privileges.run`"));
                }
            }
        }
        if let Some(secrets) = &self.0.secrets {
            prepared.step.args.references(&mut |_, expr| {
                if let countersign_plan::value::Expr::Secret(name) = expr
                    && !secrets.iter().any(|s| s == name.as_str())
                {
                    exceed(format!("the secret `{name}` is not in `privileges.secrets`"));
                }
            });
        }
        reasons
    }

    /// What the plan asks for and no step needs.
    pub(super) fn excessive(&self, steps: &[Prepared<'_>], request: &Request<'_>) -> Vec<Reason> {
        if let Some(oversized) = self.oversized() {
            return vec![oversized];
        }
        let mut reasons = Vec::new();
        let mut excess = |what: String| {
            let fix = "ask for what the steps name and no more";
            reasons.push(Reason::ask(Code::PlanPrivilegeExcessive, what).fix(fix));
        };
        let touches = || steps.iter().flat_map(|step| &step.derived.touches).filter(|touch| touch.by != By::View);
        let lists = [("read", &self.0.read, true), ("write", &self.0.write, false)];
        for (word, list, reading) in lists {
            for pattern in list.iter().flatten() {
                match PathSet::compile(Case::Exact, request.deployment.place(), [(0, pattern.as_str())]) {
                    Err(e) => excess(format!("`privileges.{word}`: {e}")),
                    Ok(_) if inside(pattern, request) => {}
                    Ok(set) => {
                        let named = touches().any(|touch| {
                            let meant = reading || !touch.effect.is_harmless();
                            meant && touch.seen().is_some_and(|seen| seen.inside(&set))
                        });
                        // A whole system or home is more than any step names.
                        if !named || is_vast(pattern, request) {
                            excess(format!("`privileges.{word}` asks for {pattern}, which no step names"));
                        }
                    }
                }
            }
        }
        for entry in self.0.connect.iter().flatten() {
            match HostPattern::parse(entry) {
                Err(e) => excess(format!("`privileges.connect`: {e}")),
                Ok(pattern) if pattern.is_any() => {
                    excess(format!("`privileges.connect` asks for every host ({entry})"))
                }
                Ok(pattern) => {
                    let named = touches().filter_map(|t| t.endpoint.as_ref()).any(|e| pattern.matches(e));
                    let listed = Endpoint::parse(entry)
                        .is_ok_and(|e| request.deployment.standing_of_host(&e) <= Standing::Known);
                    if !named && !listed {
                        excess(format!("`privileges.connect` asks for {entry}, which no step names"));
                    }
                }
            }
        }
        for entry in self.0.secrets.iter().flatten() {
            let mut named = false;
            for step in steps {
                step.step.args.references(&mut |_, expr| {
                    named |= matches!(expr, countersign_plan::value::Expr::Secret(name) if name.as_str() == entry);
                });
            }
            if !named {
                excess(format!("`privileges.secrets` asks for {entry}, which no step uses"));
            }
        }
        reasons
    }
}

/// What a program of the step may do at a host that the plan lists; `None` where what was read of it needs no such host, which is
/// then not granted.
fn wanted_by(derived: &Derived, standing: Standing) -> Option<Effect> {
    if derived.execution > Execution::ReadsUnnamed {
        return Some(Effect::Send);
    }
    let by_command = || derived.touches.iter().filter(|touch| touch.by == By::Command);
    // A registry or a remote under the name that the machine's own configuration gives it.
    let named_elsewhere = by_command().any(|t| t.effect == Effect::Send && t.endpoint.is_none());
    let runs_code = by_command().any(|touch| touch.effect == Effect::Execute);
    match standing {
        Standing::User | Standing::Internal if runs_code || named_elsewhere => Some(Effect::Send),
        Standing::Known if named_elsewhere => Some(Effect::Read),
        Standing::User | Standing::Internal | Standing::Known | Standing::Other => None,
    }
}

fn is_builtin(tool: &Definition, wanted: &str) -> bool {
    matches!(&tool.driver, Driver::Builtin(name) if name.as_str() == wanted)
}

/// The folders and files that patterns of the forms `path` and `dir/**` name; other forms name nothing that a view can show.
fn roots(patterns: &[String], request: &Request<'_>) -> Vec<String> {
    patterns.iter().filter_map(|pattern| root(pattern, request)).collect()
}

fn root(pattern: &str, request: &Request<'_>) -> Option<String> {
    let bare = pattern.strip_suffix("/**").unwrap_or(pattern);
    let bare = if bare.is_empty() && pattern.starts_with('/') { "/" } else { bare };
    let plain = !bare.contains(['*', '?', '[', ']', '{', '}', '\\']) && !bare.is_empty();
    plain.then(|| request.deployment.place().normalise(bare).ok()).flatten()
}

/// Whether everything that the pattern may match lies in the workspace or a temporary folder.
fn inside(pattern: &str, request: &Request<'_>) -> bool {
    if pattern == "**" || pattern.starts_with("**/") {
        return false;
    }
    let literal: Vec<&str> =
        pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\'])).collect();
    let head = literal.join("/");
    let head = if head.is_empty() && pattern.starts_with('/') {
        "/"
    } else if head.is_empty() {
        "."
    } else {
        &head
    };
    request.deployment.place().normalise(head).is_ok_and(|path| {
        // What lies below counts, and the temporary folders themselves are nobody's.
        let below = format!("{path}/x");
        request.deployment.in_workspace(&Seen::new(&path, None))
            || request.deployment.in_temporary(&Seen::new(&below, None))
    })
}

fn is_vast(pattern: &str, request: &Request<'_>) -> bool {
    if pattern == "**" || pattern.starts_with("**/") {
        return true;
    }
    pattern.ends_with("/**")
        && root(pattern, request)
            .is_some_and(|root| paths::is_within(request.deployment.home(), &root) || root.matches('/').count() <= 1)
}
