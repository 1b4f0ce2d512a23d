//! Lists of what is to be installed, and where it comes from.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::deployment::Standing;
use crate::effects::{By, Touch};
use crate::hosts::Endpoint;
use crate::paths::{fold, is_within};

/// Parts of the names of such lists.
const LISTS: &[&str] = &["lock", "requirements", "package.json", ".npmrc", "pip.conf", "Gemfile", "pyproject.toml"];

/// What stands before the address that something is to come from instead of the registry (PEP 508; pip(1), "--index-url"; npmrc(5);
/// package.json, "URLs as dependencies"; Cargo, "Specifying dependencies"; Gemfile(5)).
const SOURCES: &[&str] = &[
    "@ ",
    "git+",
    "--index-url ",
    "--index-url=",
    "--extra-index-url ",
    "--extra-index-url=",
    "--find-links ",
    "--find-links=",
    "-i ",
    "-f ",
    "registry=",
    "registry = ",
    "git = \"",
    "url = \"",
    "source \"",
    "source '",
    "git: \"",
    "git: '",
];

/// A list of what is to be installed which the plan itself gave another source before.
pub(super) fn repointed(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    const INSTALLERS: &[&str] =
        &["pip", "pip3", "uv", "poetry", "npm", "npx", "yarn", "pnpm", "bun", "cargo", "bundle"];
    let step = steps.get(i)?;
    let touches = || step.derived.touches.iter();
    let own = |touch: &Touch| touch.name.rsplit('/').next().is_some_and(|base| INSTALLERS.contains(&base));
    if !touches().any(|touch| touch.name.starts_with("registry ") || (touch.effect == Effect::Execute && own(touch))) {
        return None;
    }
    let reads = |name: &str| {
        touches().any(|touch| {
            touch.seen().is_some() && (touch.name == name || (touch.recursive && is_within(name, &touch.name)))
        })
    };
    let list = steps.iter().take(i).find_map(|before| {
        let args = before.given.to_string();
        let source = ["://", "--index", "--hash", "git+"].iter().any(|word| args.contains(word));
        let mut changed = before.derived.touches.iter().filter(|touch| touch.changes() && touch.by != By::View);
        changed.find(|touch| source && LISTS.iter().any(|list| touch.name.contains(list)) && reads(&touch.name))
    })?;
    let message = format!("{} was given another source before, and says what is installed", list.name);
    Some(Reason::ask(Code::ExecuteWritten, message))
}

/// A list that takes something from a host of which the goal says nothing, in a text that the plan itself writes.
pub(super) fn from_elsewhere(request: &Request<'_>, step: &Prepared<'_>) -> Option<Reason> {
    let written = |touch: &&Touch| {
        let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
        matches!(touch.by, By::Tool | By::Command)
            && matches!(touch.effect, Effect::Create | Effect::Update)
            && (base == "Cargo.toml" || LISTS.iter().any(|list| base.contains(list)))
    };
    let list = step.derived.touches.iter().find(written)?;
    let args = step.args.literal()?;
    let words = |value: &serde_json::Value| -> Vec<String> {
        match value {
            serde_json::Value::Array(words) => {
                words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
            }
            other => other.as_str().map(str::to_owned).into_iter().collect(),
        }
    };
    // As sed has a slash in what it puts in.
    let texts: Vec<String> = args.as_object()?.values().flat_map(words).map(|text| text.replace("\\/", "/")).collect();
    let address = texts.iter().flat_map(|text| sources(text)).find(|address| {
        let Ok(endpoint) = Endpoint::of_url(address) else { return false };
        let host = endpoint.host.to_string();
        request.deployment.standing_of_host(&endpoint) > Standing::Internal
            && !step.goal.name(&host)
            && !step.goal.name(address)
    })?;
    let message = format!("{} would take something from {address}, and the goal does not say so", list.name);
    // Whoever wrote the address in a text from outside wants his own code in the house.
    let host = Endpoint::of_url(address).map(|at| at.host.to_string()).unwrap_or_default();
    let told = request.session.was_told(address) || request.session.was_told(&host);
    let decision = if told { Decision::Block } else { Decision::RequireApproval };
    Some(
        Reason::new(Code::ExecuteWritten, decision, message)
            .fix("take it from the registry, or name the source in the goal"),
    )
}

/// A package of a host that nobody knows, which the goal does not name.
pub(super) fn from_nowhere(request: &Request<'_>, step: &Prepared<'_>) -> Option<Reason> {
    let unknown = |touch: &&Touch| {
        let package = touch.name.strip_prefix("package ").filter(|_| touch.effect == Effect::Execute);
        let Some(package) = package.filter(|package| package.contains("://")) else { return false };
        let Ok(endpoint) = Endpoint::of_url(package.trim_start_matches("git+")) else { return false };
        let last = package.rsplit('/').next().unwrap_or(package);
        let called = last.split(['@', '#']).next().unwrap_or(last).trim_end_matches(".git").trim_end_matches(".tgz");
        request.deployment.standing_of_host(&endpoint) == Standing::Other
            && ![&endpoint.host.to_string(), called, package].iter().any(|name| step.goal.name(name))
    };
    let package = step.derived.touches.iter().find(|touch| touch.by == By::Command && unknown(touch))?;
    let message = format!("the {} comes from a host that nobody knows, and the goal does not name it", package.name);
    Some(Reason::block(Code::ExecuteUnanalysed, message).fix("take it from a registry, or name the source in the goal"))
}

/// A package that the plan adds to a list beside the one that the goal names, or that is called almost like it.
pub(super) fn beside_the_named(request: &Request<'_>, step: &Prepared<'_>) -> Option<Reason> {
    let appends = |touch: &&Touch| {
        let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
        touch.by == By::Tool && touch.changes() && base.contains("requirements") && base.ends_with(".txt")
    };
    let list = step.derived.touches.iter().find(appends).filter(|_| step.step.action.as_str() == "append_file")?;
    let args = step.args.literal()?;
    let lines = args.get("content")?.as_str()?.lines().map(str::trim).filter(|line| !line.is_empty());
    let packages: Vec<&str> = lines.filter(|line| !line.starts_with(['#', '-'])).collect();
    let named = |package: &&&str| super::goal::names_package(request.pinned_goal, package);
    let slip = |package: &&&str| {
        let name = fold(package.split(['=', '<', '>', '~', '!', '[', ';', ' ']).next().unwrap_or(package)).into_owned();
        step.goal.tokens().any(|said| is_slip(&said.replace('_', "-"), &name.replace('_', "-")))
    };
    packages.iter().find(|package| named(package) || slip(package))?;
    let other = packages.iter().find(|package| !named(package))?;
    let message = format!("{} would get {other}, and the goal names another package", list.name);
    Some(Reason::ask(Code::GoalUnasked, message).fix("name the package in the goal"))
}

/// Whether a name is another one with a letter more, less or other, or with two of them exchanged.
fn is_slip(said: &str, name: &str) -> bool {
    let long = 4..=64;
    long.contains(&said.len()) && said.len().abs_diff(name.len()) < 2 && strsim::osa_distance(said, name) == 1
}

/// The addresses of a list that are sources of their own.
fn sources(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, _)| {
        let start = text.get(..at)?.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '+').map_or(0, |i| i + 1);
        let scheme = text.get(start..at)?;
        let before = text.get(..start)?;
        let own = SOURCES.iter().any(|word| before.ends_with(word)) || scheme.starts_with("git+");
        // A dependency of package.json whose value is an address of an archive.
        let rest = text.get(start..)?;
        let end = rest.find(|c: char| c.is_whitespace() || "\"'#,;\\".contains(c)).unwrap_or(rest.len());
        let address = rest.get(..end)?.trim_start_matches("git+");
        let archive =
            before.ends_with("\": \"") && [".tgz", ".tar.gz", ".git"].iter().any(|ending| address.ends_with(ending));
        (own || archive).then_some(address)
    })
}
