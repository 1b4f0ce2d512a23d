//! What stands whatever rules say: Countersign's own, the kernel's interfaces, protected and restricted resources, metadata
//! addresses, destruction of what everything else stands on.

use countersign_plan::document::{self, Bounds};
use countersign_plan::inspection::{Context, FindingKind, Subject};
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::{Code, Decision, Reason};
use serde_json::Value;

use super::prepare::Prepared;
use super::{Request, goal};
use crate::changes::Wanted;
use crate::deployment::{Deployment, SecrecyLevel, Standing, is_path_kind};
use crate::effects::{self, Arg, By, Touch};
use crate::facts::PathKind;
use crate::hosts::Reach;
use crate::lists::has;
use crate::paths::{self, Seen};
use crate::policy::Use;

/// Folders without which nothing runs; folders directly below `/` and home folders are meant as well.
const SYSTEM: [&str; 12] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local",
    "/usr/share",
    "/var/lib",
    "/var/log",
    "/etc/ssl",
    "/etc/pam.d",
    "/etc/systemd",
];

/// The end of a whole database is a person's to decide where the goal orders it and speaks of that database: a block anywhere else.
pub(super) fn as_wanted(request: &Request<'_>, prepared: &Prepared<'_>, finding: &Reason) -> Reason {
    let mut reason = finding.clone();
    if finding.code == Code::ResourceCatastrophic && reaches_production(prepared) {
        reason.decision = Decision::Block;
        return reason;
    }
    // Past a defence, or by code of somebody's choosing, to a host that nobody knows and the goal does not name.
    let stranger = |touch: &Touch| {
        let host = touch.endpoint.as_ref().map(|at| at.host.to_string());
        let named = host.is_some_and(|host| prepared.goal.name(&host)) || prepared.goal.name(&touch.name);
        touch.standing == Some(Standing::Other) && touch.endpoint.is_some() && !named
    };
    if matches!(finding.code, Code::ResourceDefences | Code::ExecuteLoadsCode)
        && prepared.goal.is_read()
        && prepared.derived.touches.iter().any(stranger)
    {
        reason.decision = Decision::Block;
    }
    let is_database =
        finding.code == Code::ResourceCatastrophic && prepared.derived.databases.contains(&finding.message);
    // A table of it is less than the database.
    let less =
        prepared.goal.speak_of("table row column index view") && !prepared.goal.means_all_of("database db schema");
    let spoken = prepared.goal.speak_of(goal::EMPTYING) && prepared.goal.share_a_word(&finding.message);
    // `dropdb app_dev`
    let dropped = finding.message.trim_matches('`').strip_prefix("dropdb ");
    let by_program = finding.code == Code::ResourceCatastrophic
        && dropped.is_some_and(|name| goal::names(request.pinned_goal, name));
    // "Tear down my preview environment": all that a stack holds, where that is what the goal wants.
    let stack = ["`terraform destroy", "`tofu destroy", "`pulumi destroy", "`cdk destroy", "`terragrunt destroy"];
    let torn = stack.iter().any(|begin| finding.message.starts_with(begin))
        && prepared.goal.speak_of("tear teardown destroy decommission dismantl delet remov")
        && prepared.goal.speak_of("environment env stack infrastructure preview sandbox staging cluster");
    if torn {
        reason.decision = Decision::RequireApproval;
    }
    if gives_powers(request, prepared, finding) {
        reason.decision = Decision::Block;
    }
    // "Write the image to the card, which is /dev/sdc": a whole device, in so many words.
    let device = finding.message.split_whitespace().find(|word| word.starts_with("/dev/"));
    let named = device.is_some_and(|device| goal::names(request.pinned_goal, device.trim_matches(['`', ',', '.'])))
        && finding.code == Code::ResourceCatastrophic
        && prepared.goal.speak_of("card stick usb thumb sdcard");
    // Who copies from a stick wants no new file system on it.
    let makes = ["mkfs", "wipefs"].iter().any(|program| finding.message.contains(program));
    let words = if makes {
        "format eras wipe partition"
    } else {
        "writ flash copy burn put format eras wipe overwrit clon restor"
    };
    if request.authentic && named && prepared.goal.order(words) {
        reason.decision = Decision::RequireApproval;
        return reason;
    }
    // Of a kind, everything is more than what a goal names of it.
    let whole = finding.message.trim_end_matches(" takes away everything of a kind").trim_matches('`');
    let named_only = whole.split_whitespace().any(|word| matches!(word, "--all" | "-A" | "--all-namespaces"))
        && !prepared.goal.speak_of("all every whole everything entire");
    if named_only && finding.code == Code::ResourceCatastrophic {
        return reason;
    }
    if ((is_database && spoken) || (by_program && prepared.goal.speak_of(goal::EMPTYING))) && !less {
        reason.decision = Decision::RequireApproval;
    }
    // "Rebase onto origin/fix first": a branch that one works on, in the words of git, and nothing forced.
    let rebases = finding.code == Code::ResourceHistory && finding.message.starts_with("`git rebase");
    let forced = prepared.derived.findings.iter().any(|other| other.code == Code::ResourceHistory && other != finding);
    // `--root`, `--onto`, and what git takes for them when they are shortened.
    let moves = |args: String| args.contains("--ro") || args.contains("--on");
    let here = prepared.args.literal().is_some_and(|args| !moves(args.to_string()));
    if request.authentic && rebases && !forced && here && prepared.goal.order("rebas") {
        reason.decision = Decision::Allow;
    }
    // "Put that one file back to how it was committed": what the goal names, and what a snapshot would bring back.
    let thrown = finding.message.split_once("throws away what was not committed of ").map(|(_, path)| path);
    let command = || ["`git checkout ", "`git restore "].iter().find_map(|git| finding.message.strip_prefix(git));
    let thrown = thrown.or_else(|| command().and_then(|rest| rest.strip_suffix('`')));
    let thrown = thrown.map(|path| path.strip_prefix("HEAD ").unwrap_or(path));
    let named = |path: &str| (goal::is_file_name(path) || path.contains('/')) && goal::names(request.pinned_goal, path);
    // Of another commit than the last one the goal would have to speak.
    let of_another = |args: String| ["--so", " -s", "\"-s", "~", "^"].iter().any(|sign| args.contains(sign));
    let last = prepared.args.literal().is_some_and(|args| !of_another(args.to_string()));
    if request.authentic
        && last
        && finding.code == Code::ResourceHistory
        && prepared.reversible_by == super::ReversibleBy::Snapshot
        && thrown.is_some_and(named)
        && prepared.goal.paths().count() == 1
        && (prepared.goal.speak_of("committed commited head uncommitted edit")
            || request.pinned_goal.is_some_and(|goal| goal.to_lowercase().contains("last commit")))
        && (prepared.goal.order("restor revert undo discard reset throw") || prepared.goal.speak_of("back"))
        && !forced
    {
        reason.decision = Decision::Allow;
    }
    reason
}

/// Whether a line has a place or a machine of production, by a part of its name, of which the goal has no word: `infra/prod`,
/// `pg-live-2.example`. What a line leaves out is none: `!= prod`, `-v prod`.
fn reaches_production(prepared: &Prepared<'_>) -> bool {
    const PRODUCTION: &str = "prod production live";
    let marks = |c: char| c.is_whitespace() || "'\"`;&|()<>{}".contains(c);
    let of_production = |word: &str| word.split(|c: char| !c.is_alphanumeric()).any(|part| has(PRODUCTION, part));
    let leaves_out = |text: &str| ["!=", " -v", "-not", "! -", "case "].iter().any(|sign| text.contains(sign));
    let reached = |text: &str| !leaves_out(text) && text.split(marks).any(of_production);
    !PRODUCTION.split(' ').any(|word| prepared.goal.say_word(word)) && prepared.texts().any(reached)
}

/// Whether a finding is that somebody may log in or rule, on another machine as well, of which the goal does not speak.
fn gives_powers(request: &Request<'_>, prepared: &Prepared<'_>, finding: &Reason) -> bool {
    let written = finding.message.split_once(" writes ").and_then(|(_, rest)| rest.split(',').next());
    let power = written.filter(|path| request.deployment.is_power(&Seen::new(path, None)));
    finding.code == Code::ResourceTrusted
        && request.pinned_goal.is_some()
        && power.is_some_and(|path| !prepared.goal.ask_for_powers(path))
}

/// A folder that shows only when the step runs, removed with all below it, where the goal wants nothing to go: nobody needs to be asked
/// whether some folder may be lost.
pub(super) fn removed_unseen(prepared: &Prepared<'_>) -> Option<Reason> {
    let name = prepared.derived.removes_unseen.as_ref()?;
    let wanted = [goal::TIDYING, goal::EMPTYING, goal::REBUILDING, "replac swap supersed cancel"];
    if prepared.goal.tokens().next().is_none() || wanted.iter().any(|stems| prepared.goal.speak_of(stems)) {
        return None;
    }
    let message =
        format!("{name} is removed with all below it, shows only when it runs, and the goal wants nothing to go");
    Some(Reason::block(Code::ResourceUnresolved, message).fix("name the folder, in a goal that asks for its removal"))
}

pub(super) fn check(request: &Request<'_>, prepared: &Prepared<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut protected = Vec::new();
    let touches = &prepared.derived.touches;
    for touch in touches.iter().filter(|touch| touch.by != By::View && touch.effect != Effect::None) {
        if let Some(seen) = touch.seen().filter(|_| !touch.is_open()) {
            path(request, prepared, touch, &seen, &mut reasons);
        }
        if touch.endpoint.as_ref().is_some_and(|endpoint| endpoint.host.reach() == Reach::Metadata) {
            let message = format!("{} hands out the credentials of this machine", touch.name);
            reasons.push(Reason::block(Code::HostMetadata, message));
        }
        let runs = touch.effect == Effect::Execute && touch.by == By::Command;
        if runs && prepared.written.came_from(&touch.name, touch.recursive) == Some(Standing::Other) {
            let message = format!("{} came from a host that nobody knows, and would be run", touch.name);
            reasons.push(Reason::block(Code::ExecuteDownloaded, message));
        }
        let killed = touch.by == By::Command
            && ["pkill ", "killall ", "kill "].iter().any(|verb| touch.name.starts_with(verb))
            && paths::fold(&touch.name).contains("countersign");
        if (touch.kind == TargetKind::Process && is_own_process(&touch.name)) || killed {
            let message = format!("{} is one of Countersign's own processes", touch.name);
            reasons.push(Reason::block(Code::ResourceOwn, message));
        }
        // Running a file leaves it as it is; what it does is judged by itself.
        let runs_file = touch.effect == Effect::Execute && touch.seen().is_some();
        // Git's writes inside of its own folder do not count (FORMATS §4).
        let within_git = touch.by == By::Git && effects::is_of_git(&touch.name);
        if !touch.effect.is_harmless()
            && !runs_file
            && !within_git
            && let Some(pattern) = protection(request.deployment, touch)
        {
            protected.push((touch, pattern.to_owned()));
        }
    }
    reasons.extend(judge_protected(request, prepared, &protected));
    reasons.extend(published(request.deployment, touches));
    reasons
}

/// Folders whose content a web server hands to whoever asks.
const SERVED: &[&str] = &["public", "public_html", "htdocs", "www", "wwwroot", "webroot"];

/// Whether a path lies in such a folder.
pub(super) fn is_served(path: &str) -> bool {
    path.split('/').any(|part| SERVED.contains(&part))
}

/// What is more than internal, put where everybody may fetch it.
fn published(deployment: &Deployment, touches: &[Touch]) -> Option<Reason> {
    let kept = |touch: &&Touch| {
        let read = touch.effect == Effect::Read || touch.by == By::Move;
        read && touch.seen().is_some_and(|seen| deployment.secrecy(&seen) >= SecrecyLevel::Confidential)
    };
    let served = |touch: &&Touch| {
        let written = matches!(touch.effect, Effect::Create | Effect::Update) && touch.by != By::View;
        written && touch.seen().is_some() && is_served(&touch.name)
    };
    let (from, to) = (touches.iter().find(kept)?, touches.iter().find(served)?);
    let message = format!("{} would lie in {}, from where it is handed to whoever asks", from.name, to.name);
    // A key there is everybody's at once.
    let key = from.seen().is_some_and(|seen| deployment.secrecy(&seen) >= SecrecyLevel::Restricted);
    let decision = if key { Decision::Block } else { Decision::RequireApproval };
    Some(Reason::new(Code::FlowClearance, decision, message))
}

/// Words in a file of a build service that let it do more than build: keys, rights, foreign code in the house's name.
const MORE_THAN_BUILDING: &[&str] =
    &["secrets", "pull_request_target", "workflow_run", "self-hosted", "privileged", "folderopen"];

/// Whether the goal asks for this very file: for a hook, or by the name of a file of the build services, pre-commit or the editor, whose
/// text says no more than what is built and takes no code from anybody whom the goal does not name.
fn is_meant(prepared: &Prepared<'_>, name: &str, text: &str) -> bool {
    if ["/.git/hooks/", "/.husky/", "/.githooks/"].iter().any(|folder| name.contains(folder)) {
        return prepared.goal.speak_of(goal::HOOKS);
    }
    let last = name.rsplit('/').next().unwrap_or(name);
    let only_builds = |document: &Value| {
        let mut said = Vec::new();
        members(document, "", &mut said);
        !said.iter().any(|(key, _)| *key == "permissions")
            && said.iter().filter_map(|(key, value)| foreign_code(key, value)).all(|v| prepared.goal.share_a_word(v))
    };
    let lower = text.to_ascii_lowercase();
    is_of_build_service(name)
        && prepared.goal.name(last)
        && !MORE_THAN_BUILDING.iter().any(|more| lower.contains(more))
        && document::from_yaml(text.as_bytes(), Bounds::CONFIG).is_ok_and(|document| only_builds(&document))
}

/// Whether it is a file of the build services, pre-commit or the editor.
fn is_of_build_service(name: &str) -> bool {
    let of_project = ["/.pre-commit-config.yaml", "/.gitlab-ci.yml", "/.vscode/tasks.json", "/.woodpecker.yml"];
    name.contains("/workflows/") || of_project.iter().any(|end| name.ends_with(end))
}

/// The texts of a document, each with the key that it stands under, however deep.
fn members<'d>(value: &'d Value, key: &'d str, out: &mut Vec<(&'d str, &'d str)>) {
    match value {
        Value::Object(all) => {
            for (own, value) in all {
                // What takes code may say in parts which.
                let inner = if TAKING.contains(&key) { key } else { own };
                out.push((own, ""));
                members(value, inner, out);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, key, out)),
        Value::String(text) => out.push((key, text)),
        _ => {}
    }
}

/// Keys under which such a file says whose code it takes.
const TAKING: &[&str] = &["uses", "repo", "image", "container", "include", "remote", "extends", "template"];

/// The code of others that a member of such a file takes.
fn foreign_code<'d>(key: &str, value: &'d str) -> Option<&'d str> {
    let own =
        ["actions/", "github/", "./"].iter().any(|own| value.starts_with(own)) || matches!(value, "local" | "meta");
    (TAKING.contains(&key) && !value.is_empty() && !own).then_some(value)
}

/// A file that is run by something that asks nobody, that the goal asks for, and whose text is read to the end and does nothing that asks.
fn is_as_asked(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch, seen: &Seen<'_>) -> bool {
    // A goal that the proposer brought asks for nothing in the user's name.
    if !request.authentic || !request.deployment.in_workspace(seen) {
        return false;
    }
    if touch.by == By::Command && is_of_build_service(&touch.name) && super::edits::are_said(prepared) {
        return true;
    }
    let content = Pointer::from_segments(vec!["content".to_owned()]);
    let text = match (touch.by, Arg::of(&prepared.args, &content)) {
        (By::Tool, Arg::Text(text)) => Some(text),
        // A change of its mode by a command.
        (By::Command, _) => prepared.written.texts.get(&touch.name).cloned(),
        _ => None,
    };
    // "Add his key to infra/staging/authorized_keys, it is: ssh-ed25519 AAAA… mateo@…": the goal gives the line and the file.
    let given = |text: &str| text.len() >= 12 && !text.contains('\n') && prepared.goal.has_line(text);
    let named = || {
        let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
        prepared.goal.name(super::defaults::below_workspace(request, &touch.name)) && prepared.goal.wants_into(base)
    };
    if touch.by == By::Tool && named() && text.as_ref().is_some_and(|text| given(text.trim())) {
        return true;
    }
    let Some(text) = text.filter(|text| is_meant(prepared, &touch.name, text)) else { return false };
    let context = Context::new(request.deployment.place().cwd(), request.deployment.home());
    let Ok(inspection) = request.facts.inspect(&Subject::File { path: touch.name.clone(), text, context }) else {
        return false;
    };
    let quiet = |touch: &countersign_plan::inspection::Touch| {
        touch.effect.is_harmless()
            || touch.effect == Effect::Execute
            || (is_path_kind(touch.kind) && touch.effect != Effect::Delete)
    };
    let clear =
        inspection.unknowns.is_empty() && inspection.findings.iter().all(|f| f.kind == FindingKind::Persistence);
    clear && inspection.touches.iter().all(quiet)
}

fn path(request: &Request<'_>, prepared: &Prepared<'_>, touch: &Touch, seen: &Seen<'_>, reasons: &mut Vec<Reason>) {
    let deployment = request.deployment;
    let mut found = |code, decision, message: String| reasons.push(Reason::new(code, decision, message));
    let changes = touch.changes();
    if deployment.is_own_folder(seen) || (changes && deployment.is_own_file(seen)) {
        let message = format!("{} belongs to Countersign and is no target", touch.name);
        found(Code::ResourceOwn, Decision::Block, message);
    }
    // A pattern is as wide as its fixed part says.
    if changes && touch.pattern && touch.by == By::Command && !deployment.in_workspace(seen) {
        let folder = effects::literal_folder(&touch.name);
        // Of one over the home folder or all of the machine more is to be said than that.
        let wide = paths::is_within(deployment.home(), folder);
        if !wide && deployment.has_own_below(folder) {
            let message = format!("{} reaches what belongs to Countersign", touch.name);
            found(Code::ResourceOwn, Decision::Block, message);
        }
    }
    // "enabled: false in cron/bounce.yaml", and a line that has it in all of them.
    if changes && touch.pattern && touch.by == By::Command && touch.effect == Effect::Update {
        let folder = effects::literal_folder(&touch.name);
        if let Some(one) = prepared.goal.names_one_in(folder) {
            let message = format!("{} is more than {one}, of which the goal speaks", touch.name);
            found(Code::GoalUnasked, Decision::RequireApproval, message);
        }
    }
    if changes && deployment.is_trusted(seen) && !is_as_asked(request, prepared, touch, seen) {
        let asked = || request.pinned_goal.is_none() || prepared.goal.ask_for_powers(&touch.name);
        if deployment.is_power(seen) && !asked() {
            let message =
                format!("{} says who may log in or rule here, and the goal speaks of no such thing", touch.name);
            found(Code::ResourceTrusted, Decision::Block, message);
        } else {
            let message = format!("{} is run or believed by something that asks nobody", touch.name);
            found(Code::ResourceTrusted, Decision::RequireApproval, message);
        }
    }
    if seen.either(paths::is_kernel) {
        // Programs read from there what the machine is; of processes and devices they are asked about like tools.
        let by_command = touch.by == By::Command;
        let of_machine = |path: &str| {
            paths::is_of_machine(path) || (by_command && !paths::is_of_process(path) && !path.starts_with("/dev"))
        };
        let shown = by_command && !changes && seen.both(paths::is_shown_of_process);
        if changes || touch.recursive || !(shown || seen.both(of_machine)) {
            let decision = if changes && !by_command { Decision::Block } else { Decision::RequireApproval };
            let message = format!("{} is an interface of the kernel and no file", touch.name);
            found(Code::ResourceKernel, decision, message);
        }
    } else if touch.path_kind == PathKind::Special {
        let message = format!("{} is a socket, a pipe or a device", touch.name);
        found(Code::ResourceUnresolved, Decision::RequireApproval, message);
    }
    // What a command does to all of a folder the inspection says; a copy into it leaves what is there.
    let removes = touch.effect == Effect::Delete || (touch.recursive && changes && touch.by != By::Command);
    // Nor is a whole folder of the user's that he does not speak of.
    let of_home = |path: &str| {
        let name = path.strip_prefix(deployment.home()).and_then(|rest| rest.strip_prefix('/')).unwrap_or("");
        !name.is_empty() && !name.contains(['/', '*']) && !name.starts_with('.') && !prepared.goal.name(name)
    };
    let whole = touch.effect == Effect::Delete
        && touch.by == By::Command
        && touch.recursive
        && !deployment.in_workspace(seen)
        && seen.either(of_home);
    if removes && touch.by != By::Git && (whole || seen.either(|p| is_foundation(p, deployment))) {
        let message = format!("{} {} destroys what everything else stands on", touch.effect, touch.name);
        found(Code::ResourceCatastrophic, Decision::Block, message);
    }
    // All of the place of the work, where the goal speaks of the removal of other things.
    let all_of = |ws: &String| [format!("{ws}/*"), format!("{ws}/**"), ws.clone()].contains(&touch.name);
    let of_work = touch.effect == Effect::Delete && touch.by == By::Command && (touch.recursive || touch.pattern);
    if of_work && deployment.workspace().iter().any(all_of) && prepared.goal.remove_others(&touch.name) {
        let message = format!("{} is all of the work, and the goal asks for other removals", touch.name);
        found(Code::ResourceCatastrophic, Decision::Block, message);
    }
    // What is moved or copied is read as well.
    let reads = touch.effect == Effect::Read || touch.by == By::Move;
    if reads && touch.by != By::Git {
        match deployment.secrecy(seen) {
            SecrecyLevel::Restricted => {
                let message = format!("{} is restricted", touch.name);
                found(Code::ResourceRestricted, Decision::RequireApproval, message);
            }
            SecrecyLevel::Confidential if !deployment.in_workspace(seen) => {
                let message = format!("{} is confidential and outside the workspace", touch.name);
                found(Code::ResourceConfidential, Decision::RequireApproval, message);
            }
            SecrecyLevel::Public | SecrecyLevel::Internal | SecrecyLevel::Confidential => {}
        }
    }
}

/// Whether removing `path` removes home, system or the place of the work.
fn is_foundation(path: &str, deployment: &Deployment) -> bool {
    let top = path == "/" || path.matches('/').count() == 1;
    let a_home = path.strip_prefix("/home/").is_some_and(|rest| !rest.contains('/'));
    let above = |dir: &str| paths::is_within(dir, path);
    let workspace = deployment.workspace().iter().any(|ws| ws != path && above(ws));
    top || a_home || above(deployment.home()) || workspace || SYSTEM.contains(&path)
}

fn is_own_process(name: &str) -> bool {
    let name = paths::fold(name);
    // `kill $(pgrep countersign)` names it as well.
    name.rsplit('/').next().is_some_and(|base| base.starts_with("countersign"))
        || (name.contains("${") && name.contains("countersign"))
}

/// The pattern that protects what is touched.
fn protection<'d>(deployment: &'d Deployment, touch: &Touch) -> Option<&'d str> {
    let patterns = deployment.protected();
    match (touch.seen(), &touch.endpoint) {
        _ if touch.is_open() => None,
        (Some(seen), _) => patterns.path(&seen),
        (None, Some(endpoint)) => patterns.host(endpoint),
        (None, None) => patterns.name(touch.kind, &touch.name),
    }
}

fn judge_protected(request: &Request<'_>, prepared: &Prepared<'_>, protected: &[(&Touch, String)]) -> Vec<Reason> {
    let Some((first, pattern)) = protected.first() else { return Vec::new() };
    let more = if protected.len() > 1 { format!(" and {} more", protected.len() - 1) } else { String::new() };
    let what = format!("{} of {}{more} is protected by {pattern}", first.effect, first.name);
    let Some(id) = &prepared.step.change_request else {
        let fix = "name a valid change request in `change_request`";
        return vec![Reason::block(Code::ResourceProtected, what).fix(fix)];
    };
    let uses: Vec<(Use<'_>, &str)> = protected.iter().map(|(touch, _)| (touch.as_use(), touch.name.as_str())).collect();
    match covered(request, prepared, id, &uses) {
        Ok(()) => {
            vec![Reason::ask(Code::ResourceProtectedCovered, format!("{what}, and {id} covers it"))]
        }
        Err(refusal) => vec![
            Reason::block(Code::ResourceProtected, what),
            Reason::block(Code::ChangeRequestInvalid, refusal.to_string()),
        ],
    }
}

/// Whether the change request covers these uses.
pub(super) fn covered(
    request: &Request<'_>,
    prepared: &Prepared<'_>,
    id: &str,
    uses: &[(Use<'_>, &str)],
) -> Result<(), crate::changes::Refusal> {
    let wanted = Wanted {
        tool: prepared.step.action.as_str(),
        group: prepared.group(),
        uses,
        requester: request.requester.as_str(),
        user: request.deployment.user(),
        now: request.now,
    };
    request.changes.cover(id, &wanted, request.deployment.place())
}
