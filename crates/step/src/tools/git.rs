//! How git is kept from running what a repository says (`lesson_08`): its configuration, attributes and hooks are content
//! of the workspace, so whoever wrote them is not trusted.
//!
//! Three means: fixed settings in the environment, which win over the repository's; for settings with names of the
//! repository's own choosing (filters, drivers, aliases) a first call lists them, and each is emptied; and options or
//! subcommands whose purpose is to run something are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Outcome;
use super::programs::went_well;
use crate::failure::Failure;
use crate::program::Ran;

/// The largest configuration that is read, in bytes.
pub(super) const CONFIGURATION_LIMIT: usize = 256 << 10;

/// Settings that hold whatever the repository says, with the reason.
const FIXED: [(&str, &str, &str); 33] = [
    ("core.fsmonitor", "false", "a program that git status runs"),
    ("core.hooksPath", "/dev/null", "programs that run at commit, checkout, merge and more"),
    ("core.pager", "cat", "a program that shows output"),
    ("core.editor", "false", "a program that edits messages"),
    ("sequence.editor", "false", "a program that edits a rebase"),
    ("core.sshCommand", "false", "a program that connects"),
    ("core.gitProxy", "false", "a program that connects"),
    ("core.askPass", "false", "a program that asks for passwords"),
    ("core.attributesFile", "/dev/null", "attributes from elsewhere choose filters"),
    ("core.excludesFile", "/dev/null", "a file from elsewhere"),
    ("core.alternateRefsCommand", "false", "a program that lists references"),
    ("credential.helper", "", "a program that hands out passwords"),
    ("interactive.diffFilter", "cat", "a program that colours"),
    ("protocol.allow", "never", "programs that connect, and other repositories' hooks"),
    ("http.followRedirects", "false", "another host than the one that was judged"),
    ("http.sslVerify", "true", "whoever is on the way could be the server"),
    ("gpg.program", "false", "a program that signs and verifies"),
    ("gpg.ssh.program", "false", "a program that signs and verifies"),
    ("gpg.ssh.defaultKeyCommand", "false", "a program that finds keys"),
    ("gpg.x509.program", "false", "a program that signs and verifies"),
    ("commit.gpgSign", "false", "needs a key that the step does not have"),
    ("tag.gpgSign", "false", "needs a key that the step does not have"),
    ("log.showSignature", "false", "runs gpg"),
    ("merge.verifySignatures", "false", "runs gpg"),
    ("uploadpack.packObjectsHook", "false", "a program that packs"),
    ("submodule.recurse", "false", "repositories inside have configurations of their own"),
    ("fetch.recurseSubmodules", "false", "repositories inside have configurations of their own"),
    ("diff.ignoreSubmodules", "all", "status would run in the repositories inside"),
    ("status.submoduleSummary", "false", "status would run in the repositories inside"),
    ("gc.auto", "0", "works on in the background"),
    ("maintenance.auto", "false", "works on in the background"),
    ("safe.bareRepository", "explicit", "a folder that merely looks like a repository is none"),
    ("safe.directory", "*", "the repository was named by the permitted step itself"),
];

/// Settings whose names the repository chooses: first and last part, and what is put in their place.
const CHOSEN: [(&str, &str, &str); 31] = [
    ("diff", "external", ""),
    ("filter", "clean", ""),
    ("filter", "smudge", ""),
    ("filter", "process", ""),
    ("diff", "command", ""),
    ("diff", "textconv", ""),
    ("merge", "driver", "false"),
    ("alias", "", "!false"),
    ("pager", "", "cat"),
    ("credential", "helper", ""),
    ("difftool", "cmd", "false"),
    ("mergetool", "cmd", "false"),
    ("man", "cmd", "false"),
    ("browser", "cmd", "false"),
    ("guitool", "cmd", "false"),
    ("tar", "command", "false"),
    ("trailer", "command", ""),
    ("trailer", "cmd", ""),
    ("remote", "uploadpack", "false"),
    ("remote", "receivepack", "false"),
    ("remote", "proxy", ""),
    ("http", "proxy", ""),
    ("http", "sslverify", "true"),
    ("http", "sslcainfo", ""),
    ("http", "sslcapath", ""),
    ("http", "sslcert", ""),
    ("http", "sslkey", ""),
    ("http", "extraheader", ""),
    ("http", "cookiefile", ""),
    ("http", "followredirects", "false"),
    ("hook", "command", "false"),
];

/// Subcommands whose purpose is to run something, to serve others or to reach out.
const REFUSED: [&str; 31] = [
    "citool",
    "credential",
    "credential-cache",
    "credential-store",
    "cvsserver",
    "daemon",
    "difftool",
    "fast-import",
    "fetch-pack",
    "filter-branch",
    "for-each-repo",
    "gui",
    "help",
    "hook",
    "http-backend",
    "http-fetch",
    "http-push",
    "imap-send",
    "instaweb",
    "maintenance",
    "mergetool",
    "p4",
    "receive-pack",
    "remote-ext",
    "remote-fd",
    "send-email",
    "send-pack",
    "shell",
    "svn",
    "upload-archive",
    "upload-pack",
];

/// Options that name something to run or another place for the repository, in any subcommand.
const REFUSED_OPTIONS: [&str; 13] = [
    "--exec",
    "--upload-pack",
    "--receive-pack",
    "--ext-diff",
    "--textconv",
    "--open-files-in-pager",
    "--exec-path",
    "--git-dir",
    "--config-env",
    "--template",
    "--remote",
    "--tool",
    "--extcmd",
];

/// Subcommands that compare, and so could run drivers: those are told not to.
const COMPARING: [&str; 8] =
    ["diff", "diff-files", "diff-index", "diff-tree", "format-patch", "log", "show", "whatchanged"];

/// Refuses arguments that make git run something else.
pub(super) fn check(args: &[String]) -> Outcome<()> {
    let command = args.first().map(String::as_str).unwrap_or_default();
    let word =
        !command.is_empty() && command.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !word || command.starts_with('-') {
        return Err(Failure::new("the first argument of git is its subcommand; global options are not taken"));
    }
    let rest = args.get(1..).unwrap_or_default();
    let second = rest.first().map(String::as_str).unwrap_or_default();
    let runs = REFUSED.contains(&command)
        || command.contains("--")
        || matches!((command, second), ("submodule", _) | ("bisect", "run" | "visualize" | "view"));
    if runs {
        return Err(Failure::new(format!(
            "`git {command}` runs other programs or talks to others; this tool does not"
        )));
    }
    for option in rest.iter().take_while(|option| *option != "--") {
        // Git takes any unambiguous beginning of a long option.
        let name = option.split('=').next().unwrap_or_default();
        let long =
            name.len() > 2 && name != "--text" && REFUSED_OPTIONS.iter().any(|refused| refused.starts_with(name));
        let short = match command {
            "rebase" => name.starts_with("-x") || name == "-i" || name == "--interactive",
            "grep" => name.starts_with("-O"),
            "clone" | "ls-remote" | "fetch" | "pull" => {
                name.starts_with("-u") || name.starts_with("-c") || name == "--config"
            }
            "config" => name == "-e" || name == "--edit" || name == "edit",
            _ => false,
        };
        if long || short {
            return Err(Failure::new(format!("`git {command} {option}` may run another program; this tool does not")));
        }
    }
    Ok(())
}

/// The environment of git: no configuration but the repository's, no question, no way out but the relay where the step was
/// granted hosts; and the settings that win over those of the repository.
pub(super) fn environment(
    mut base: BTreeMap<String, String>,
    repo: &Path,
    settings: &[Setting],
    reaches: bool,
) -> BTreeMap<String, String> {
    let ceiling = repo.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let own = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", "false"),
        ("GIT_EDITOR", "false"),
        ("GIT_SEQUENCE_EDITOR", "false"),
        ("GIT_PAGER", "cat"),
        ("GIT_ALLOW_PROTOCOL", if reaches { "http:https" } else { "none" }),
        ("GIT_PROTOCOL_FROM_USER", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        // The repository is the folder that was named, not one above it.
        ("GIT_CEILING_DIRECTORIES", ceiling.as_str()),
    ];
    base.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    base.insert("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
    // By name and value apart: in `-c NAME=VALUE` a name with `=` in it would be cut at the wrong place.
    for (i, (name, value)) in settings.iter().enumerate() {
        base.insert(format!("GIT_CONFIG_KEY_{i}"), name.clone());
        base.insert(format!("GIT_CONFIG_VALUE_{i}"), value.clone());
    }
    base
}

/// A setting: name and value.
pub(super) type Setting = (String, String);

/// The settings that hold in every repository.
pub(super) fn fixed() -> Vec<Setting> {
    FIXED.iter().map(|(name, value, _)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// All settings that win over those of the repository, given the names of what it configures.
pub(super) fn settings(configured: &BTreeSet<String>) -> Vec<Setting> {
    let emptied = configured.iter().filter_map(|name| Some((name.clone(), emptied(name)?.to_owned())));
    let author = [("user.name", "Countersign"), ("user.email", "countersign@localhost")]
        .into_iter()
        .filter(|(name, _)| !configured.contains(*name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    fixed().into_iter().chain(emptied).chain(author).collect()
}

/// The call that lists what is configured. It runs nothing.
pub(super) fn list() -> Vec<String> {
    ["git", "--no-pager", "config", "--list", "--name-only", "--null"].map(str::to_owned).into()
}

/// The names of the settings.
pub(super) fn configured(asked: &Ran) -> Outcome<BTreeSet<String>> {
    if !went_well(asked) || asked.output.dropped > 0 {
        let said = String::from_utf8_lossy(&asked.error.kept);
        return Err(Failure::new(format!("the configuration of the repository cannot be read: {}", said.trim())));
    }
    asked
        .output
        .kept
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| {
            String::from_utf8(name.to_vec())
                .map_err(|_| Failure::new("the configuration of the repository has a name that is no text"))
        })
        .collect()
}

/// The whole command line for a subcommand.
pub(super) fn argv(args: Vec<String>) -> Vec<String> {
    let mut argv = vec!["git".to_owned(), "--no-pager".to_owned()];
    let mut args = args.into_iter();
    if let Some(command) = args.next() {
        let compares = COMPARING.contains(&command.as_str());
        argv.push(command);
        if compares {
            argv.extend(["--no-ext-diff", "--no-textconv"].map(str::to_owned));
        }
    }
    argv.extend(args);
    argv
}

/// What a setting of the repository's own choosing is replaced by, if it could run something.
fn emptied(name: &str) -> Option<&'static str> {
    let (section, last) = (name.split('.').next()?, name.rsplit('.').next()?);
    CHOSEN
        .iter()
        .find(|(first, end, _)| section == *first && (end.is_empty() || last == *end))
        .map(|(_, _, instead)| *instead)
}

#[cfg(test)]
mod tests;
