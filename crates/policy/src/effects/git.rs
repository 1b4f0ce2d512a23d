//! git by subcommand (`lesson_07`, `lesson_08`): what is listed is understood, everything else is not.
//!
//! The tool runs git with hooks and configuration neutralised; this table decides what its arguments ask for. Options that name a
//! program, a configuration or another repository are never understood.

use countersign_plan::confinement::Profile;
use countersign_plan::inspection::Subject;
use countersign_plan::pointer::Pointer;
use countersign_plan::text;
use countersign_plan::tool::{Definition, Effect, TargetKind};
use countersign_plan::verdict::{Code, Decision};

use super::arguments::Arg;
use super::{By, Deriving, Execution, Touch};
use crate::deployment::Standing;
use crate::hosts::Endpoint;

/// What a subcommand does to the repository and beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Shows.
    Read,
    /// Adds to or changes what git keeps; what was there can be found again.
    Update,
    /// Overwrites or removes files or history.
    Delete,
    /// Talks to a remote and takes from it.
    Fetch,
    /// Gives to a remote.
    Push,
    /// Gives to a remote and loses what is there.
    PushLoss,
    /// Changes what git runs or trusts.
    Configure,
}

/// Global options without a value that change nothing that matters.
const GLOBAL: [&str; 5] = ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"];

/// Options of subcommands that run programs, write files elsewhere or read outside of the repository.
const OPAQUE: [&str; 19] = [
    "--exec",
    "--upload-pack",
    "--receive-pack",
    "--ext-diff",
    "--textconv",
    "--open-files-in-pager",
    "--no-index",
    "--output",
    "--config",
    "--template",
    "--separate-git-dir",
    "--git-dir",
    "--work-tree",
    "--contents",
    "--gpg-sign",
    "--reference",
    "--pathspec-from-file",
    "--server-option",
    "--recurse-submodules",
];

impl Deriving<'_> {
    pub(super) fn git(&mut self, tool: &Definition) {
        self.out.profile = Some(Profile::Exact);
        self.other(Effect::Execute, TargetKind::Process, "git");
        self.out.programs.extend(self.scene.facts.program("git"));
        let repo = match self.named("repo") {
            Arg::Text(repo) => repo,
            _ => {
                self.open(Effect::Update, tool.target.kind, Pointer::from_segments(vec!["repo".to_owned()]));
                self.out.execution = Execution::Unanalysed;
                return;
            }
        };
        let words: Option<Vec<String>> = match self.named("args") {
            Arg::List(args) => args.iter().map(|arg| arg.text().map(str::to_owned)).collect(),
            _ => None,
        };
        let Some(words) = words else {
            self.found(Code::ResourceUnresolved, Decision::RequireApproval, "/args is filled only when the step runs");
            self.out.execution = Execution::Unanalysed;
            self.path(Effect::Update, TargetKind::Directory, &repo, true, By::Git);
            return;
        };
        if let Some(hidden) = words.iter().find_map(|word| text::check_visible(word).err()) {
            self.found(Code::PlanHiddenText, Decision::Block, format!("the arguments of git hide something: {hidden}"));
        }
        let place = self.place().clone();
        if let Ok(folder) = place.normalise(&repo) {
            let argv = std::iter::once("git".to_owned()).chain(words.iter().cloned()).map(Some).collect();
            let context = self.context(&place.at(folder));
            if self.inspected(&Subject::Argv { argv, stdin: Some(String::new()), context }, By::Command) {
                self.path(Effect::Read, TargetKind::Directory, &repo, false, By::Git);
                // Its part that speaks HTTP is another program, with libraries and authorities of the system.
                if self.out.touches.iter().any(|touch| touch.endpoint.is_some()) {
                    self.out.profile = Some(Profile::Toolchain);
                }
                return;
            }
            self.out.execution = Execution::Analysed;
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some((does, rest)) = understand(&words) else {
            self.out.execution = Execution::Unanalysed;
            self.path(Effect::Update, TargetKind::Directory, &repo, true, By::Git);
            return;
        };
        self.path(Effect::Read, TargetKind::Directory, &repo, false, By::Git);
        match does {
            Does::Read => {}
            Does::Update => self.path(Effect::Update, TargetKind::Directory, &repo, true, By::Git),
            Does::Delete => self.path(Effect::Delete, TargetKind::Directory, &repo, true, By::Git),
            Does::Configure => {
                let config = format!("{}/.git/config", repo.trim_end_matches('/'));
                self.path(Effect::Update, TargetKind::File, &config, false, By::Tool);
            }
            Does::Fetch => {
                self.path(Effect::Update, TargetKind::Directory, &repo, true, By::Git);
                self.remote(Effect::Read, rest);
            }
            Does::Push => self.remote(Effect::Send, rest),
            Does::PushLoss => {
                self.remote(Effect::Send, rest);
                self.remote(Effect::Delete, rest);
            }
        }
    }

    /// The remote: a URL is a host; a name stands for one that only the repository's configuration knows.
    fn remote(&mut self, effect: Effect, words: &[&str]) {
        let named = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("origin");
        if named.starts_with("https://") || named.starts_with("http://") {
            // Its part that speaks HTTP is another program, with libraries and authorities of the system.
            self.out.profile = Some(Profile::Toolchain);
            self.endpoint(effect, TargetKind::Url, named, Endpoint::of_url(named));
            return;
        }
        let plain = Touch::plain(effect, TargetKind::Url, format!("git remote {named}"));
        self.out.touches.push(Touch { standing: Some(Standing::Other), ..plain });
    }
}

/// What the arguments ask for, and the words after the subcommand; `None` where any of them is not understood.
fn understand<'w>(words: &'w [&'w str]) -> Option<(Does, &'w [&'w str])> {
    let start = words.iter().position(|word| !GLOBAL.contains(word))?;
    let (subcommand, rest) = words.get(start..)?.split_first()?;
    // What stands after `--` is a path inside the repository.
    let options: Vec<&str> = rest.iter().take_while(|word| **word != "--").copied().collect();
    let opaque = |word: &&str| {
        let name = word.split('=').next().unwrap_or(word);
        // git accepts any unambiguous beginning of a long option.
        name.starts_with("--") && name.len() > 3 && OPAQUE.iter().any(|o| o.starts_with(name) || name.starts_with(o))
            || word.starts_with("ext::")
            || word.starts_with("-c=")
    };
    if options.iter().any(opaque) || rest.iter().any(|word| word.contains("ext::")) {
        return None;
    }
    if leaves_repository(rest) {
        return None;
    }
    let has = |any: &[&str]| {
        options.iter().any(|o| any.contains(o) || any.iter().any(|a| a.len() > 2 && o.starts_with(&format!("{a}="))))
    };
    let short = |letter: char| options.iter().any(|o| o.starts_with('-') && !o.starts_with("--") && o.contains(letter));
    let first = rest.iter().find(|w| !w.starts_with('-')).copied();
    let does = match *subcommand {
        "status" | "rev-parse" | "ls-files" | "ls-tree" | "describe" | "shortlog" | "cat-file" | "rev-list"
        | "merge-base" | "name-rev" | "for-each-ref" | "count-objects" | "check-ignore" | "diff-tree"
        | "diff-index" | "diff-files" | "show-ref" | "version" | "var" | "whatchanged" | "cherry" | "range-diff"
        | "verify-commit" | "fsck" => Does::Read,
        "log" | "diff" | "show" | "blame" | "annotate" => {
            if short('O') {
                return None;
            } else {
                Does::Read
            }
        }
        "grep" => {
            if short('O') || short('f') {
                return None;
            } else {
                Does::Read
            }
        }
        "branch" => match () {
            () if short('D') || short('d') || has(&["--delete"]) => Does::Delete,
            () if short('f') || short('M') || short('C') || has(&["--force"]) => Does::Delete,
            () if first.is_none() || has(&["--list", "--show-current", "--contains", "--merged", "--no-merged"]) => {
                Does::Read
            }
            () => Does::Update,
        },
        "tag" => match () {
            () if short('d') || short('f') || has(&["--delete", "--force"]) => Does::Delete,
            () if first.is_none() || has(&["--list", "-l", "-n", "--contains"]) => Does::Read,
            () => Does::Update,
        },
        "stash" => match first {
            Some("list" | "show") => Does::Read,
            Some("drop" | "clear") => Does::Delete,
            None | Some("push" | "pop" | "apply" | "save" | "branch" | "create" | "store") => Does::Update,
            Some(_) => return None,
        },
        "reflog" => match first {
            None | Some("show" | "exists") => Does::Read,
            Some(_) => Does::Delete,
        },
        "remote" => match first {
            None | Some("get-url") => Does::Read,
            Some("show" | "update" | "prune") => Does::Fetch,
            Some(_) => Does::Configure,
        },
        "worktree" if first == Some("list") => Does::Read,
        "config" => {
            let reads =
                has(&["--get", "--get-all", "--get-regexp", "--list", "-l"]) || matches!(first, Some("get" | "list"));
            if has(&["--global", "--system", "--file", "-f", "--worktree", "--edit", "-e"]) {
                return None;
            }
            if reads { Does::Read } else { Does::Configure }
        }
        "add" | "commit" | "init" | "merge" | "cherry-pick" | "revert" | "mv" | "notes" | "am" | "apply" => {
            if short('i')
                || short('p') && *subcommand == "add"
                || short('S')
                || has(&["--strategy", "-s"]) && *subcommand == "merge"
            {
                return None;
            }
            Does::Update
        }
        "switch" | "checkout" => {
            let loses = short('f')
                || has(&["--force", "--discard-changes", "-B", "-C"])
                || rest.contains(&"--")
                || rest.contains(&".");
            if loses { Does::Delete } else { Does::Update }
        }
        "rebase" => {
            if short('x') || short('i') || has(&["--interactive"]) {
                return None;
            }
            Does::Delete
        }
        "reset" => {
            if has(&["--hard", "--merge", "--keep"]) {
                Does::Delete
            } else {
                Does::Update
            }
        }
        "restore" | "clean" | "rm" | "gc" | "prune" | "repack" | "update-ref" | "sparse-checkout" => Does::Delete,
        "fetch" | "pull" | "ls-remote" | "clone" => {
            if has(&["--force", "-f", "--prune", "-p"]) && *subcommand != "ls-remote" {
                Does::Delete
            } else {
                Does::Fetch
            }
        }
        "push" => {
            let refs = rest.iter().any(|w| w.starts_with('+') || w.starts_with(':'));
            let loses = refs
                || short('f')
                || short('d')
                || options.iter().any(|o| o.starts_with("--f"))
                || has(&["--delete", "--mirror", "--prune"]);
            if loses { Does::PushLoss } else { Does::Push }
        }
        _ => return None,
    };
    Some((does, rest))
}

/// Whether a word names a file outside of the repository: git reads such files for `diff`, `commit -F` and others. What stands in
/// for a message is text.
fn leaves_repository(words: &[&str]) -> bool {
    let mut text = false;
    words.iter().any(|word| {
        if std::mem::replace(&mut text, matches!(*word, "-m" | "--message")) || word.starts_with("--message=") {
            return false;
        }
        let value = match word.strip_prefix('-') {
            Some(long) if long.starts_with('-') => word.split_once('=').map_or("", |(_, value)| value),
            Some(short) => short.get(1..).unwrap_or(""),
            None => word,
        };
        value.starts_with(['/', '~']) || value.split('/').any(|part| part == "..")
    })
}

#[cfg(test)]
mod tests {
    use super::{Does, understand};

    fn of(line: &str) -> Option<Does> {
        let words: Vec<&str> = line.split(' ').collect();
        understand(&words).map(|(does, _)| does)
    }

    #[test]
    fn subcommands_are_what_they_do() {
        for (line, does) in [
            ("status --short", Does::Read),
            ("--no-pager log -3", Does::Read),
            ("diff HEAD -- a.txt", Does::Read),
            ("branch", Does::Read),
            ("branch --show-current", Does::Read),
            ("branch feature", Does::Update),
            ("branch -D feature", Does::Delete),
            ("commit -m x", Does::Update),
            ("commit -m /etc/..", Does::Update),
            ("diff main..feature", Does::Read),
            ("diff HEAD~2 src/a", Does::Read),
            ("add -A", Does::Update),
            ("checkout main", Does::Update),
            ("checkout -- a.txt", Does::Delete),
            ("reset --hard HEAD~3", Does::Delete),
            ("reset HEAD a.txt", Does::Update),
            ("clean -fdx", Does::Delete),
            ("stash drop", Does::Delete),
            ("config user.email x@y.example", Does::Configure),
            ("config --get user.email", Does::Read),
            ("remote add evil https://evil.example/x", Does::Configure),
            ("fetch origin", Does::Fetch),
            ("clone https://git.example/r.git r", Does::Fetch),
            ("push origin main", Does::Push),
            ("push --force origin main", Does::PushLoss),
            ("push -f", Does::PushLoss),
            ("push --force-with-lease", Does::PushLoss),
            ("push origin +main", Does::PushLoss),
            ("push origin :main", Does::PushLoss),
            ("push origin --delete main", Does::PushLoss),
        ] {
            assert_eq!(of(line), Some(does), "{line}");
        }
    }

    #[test]
    fn lesson_07_what_runs_programs_is_never_understood() {
        for line in [
            "-c core.fsmonitor=/tmp/x status",
            "-ccore.pager=x log",
            "--exec-path=/tmp status",
            "-C /elsewhere status",
            "--git-dir=/x status",
            "-p log",
            "log --ext-diff",
            "log --textconv",
            "log --output=/etc/x",
            "log --outp=/etc/x",
            "diff --no-index /etc/passwd /dev/null",
            "diff -O/etc/passwd",
            "grep -Oless x",
            "grep --open-files-in-pager=sh x",
            "fetch --upload-pack=/tmp/x origin",
            "fetch --upload-pa=/tmp/x origin",
            "clone ext::sh%20-c%20id x",
            "push ext::sh x",
            "rebase -x id main",
            "rebase -i main",
            "bisect run sh x",
            "submodule foreach id",
            "filter-branch --tree-filter id",
            "difftool",
            "diff /dev/null /home/user/.ssh/id_rsa",
            "diff a.txt ../../secret",
            "diff ~/.ssh/id_rsa x",
            "commit -F /etc/shadow",
            "commit -F/etc/shadow",
            "commit --file=/etc/shadow",
            "add -- ../x",
            "aliased",
            "config --global core.editor x",
            "",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
