//! The tool that runs git and nothing else: what its arguments ask for the inspection says (`lesson_07`, `lesson_08`).
//!
//! The tool runs git with hooks and configuration neutralised. An argument that names a program would run that program under the
//! name of git, which is no use of this tool.

use countersign_plan::confinement::Profile;
use countersign_plan::inspection::Subject;
use countersign_plan::pointer::Pointer;
use countersign_plan::text;
use countersign_plan::tool::{Definition, Effect, TargetKind};
use countersign_plan::verdict::{Code, Decision};

use super::arguments::Arg;
use super::{By, Deriving, Execution};

/// Options whose value is a program that git starts; git accepts any unambiguous beginning of them.
const STARTING: [&str; 5] = ["--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager", "--extcmd"];

/// Subcommands that change nothing, for where nobody reads their arguments.
const SHOWING: [&str; 8] = ["status", "log", "diff", "show", "blame", "grep", "ls-files", "describe"];

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
        // What a rebase runs after each commit is inspected like any line.
        let rebases = words.first().is_some_and(|word| word == "rebase");
        if let Some(word) = words.iter().find(|word| starts_program(word) && !rebases) {
            let message = format!("`{word}` lets git start a program of the plan's choice");
            self.found(Code::ExecuteLoadsCode, Decision::Block, message);
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
        }
        self.out.execution = Execution::Unanalysed;
        let shows = words.first().is_some_and(|word| SHOWING.contains(&word.as_str()));
        self.path(if shows { Effect::Read } else { Effect::Update }, TargetKind::Directory, &repo, !shows, By::Git);
    }
}

/// Whether an argument names a program to start: by such an option, or by a transport that is one.
fn starts_program(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    let option = name.starts_with("--") && name.len() > 4 && STARTING.iter().any(|option| option.starts_with(name));
    option || word.starts_with("ext::")
}
