//! Programs by argv: the entry program, its surroundings, and what the sandbox lets it touch.

use countersign_plan::confinement::Profile;
use countersign_plan::inspection::Subject;
use countersign_plan::pointer::Pointer;
use countersign_plan::text;
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision};

use super::arguments::Arg;
use super::{By, Deriving, Execution};
use crate::paths::Place;

/// Programs that change who one is: an `admin` effect.
const ELEVATING: [&str; 8] = ["sudo", "su", "doas", "pkexec", "runuser", "setpriv", "chroot", "nsenter"];

/// Variables that begin so and only say how something is shown, written or counted (python3(1), node(1), git(1)).
const LOADING_NOTHING: &str = "PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONFAULTHANDLER \
    PYTHONNOUSERSITE PYTHONSAFEPATH PYTHONTRACEMALLOC NODE_ENV NODE_NO_WARNINGS NODE_DISABLE_COLORS GIT_TERMINAL_PROMPT GIT_AUTHOR_DATE \
    GIT_COMMITTER_DATE";

/// Variables through which a loader, a shell or an interpreter runs code of somebody's choice.
const LOADING: [&str; 18] = [
    "LD_",
    "DYLD_",
    "BASH_",
    "ENV",
    "SHELLOPTS",
    "PS4",
    "IFS",
    "PATH",
    "PYTHON",
    "NODE_",
    "PERL",
    "RUBY",
    "GIT_",
    "JAVA_TOOL",
    "_JAVA",
    "CDPATH",
    "PROMPT_COMMAND",
    "GCONV_PATH",
];

/// Whether options of Node only say how much memory it takes and what it warns of (Node.js documentation, "Command-line API").
fn only_tunes(options: &str) -> bool {
    options.split_whitespace().all(|option| {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let sized = matches!(name, "--max-old-space-size" | "--max-semi-space-size" | "--stack-trace-limit");
        (sized && !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()))
            || matches!(option, "--no-warnings" | "--no-deprecation" | "--trace-warnings" | "--enable-source-maps")
    })
}

impl Deriving<'_> {
    pub(super) fn run_program(&mut self) {
        self.out.profile = Some(Profile::Toolchain);
        self.out.execution = Execution::Uncatalogued;
        let argv = match self.named("argv") {
            Arg::List(argv) => argv,
            Arg::Open => {
                self.found(Code::ToolReference, Decision::Block, "/argv is a list whose first member is a literal");
                return;
            }
            Arg::Text(_) | Arg::Absent | Arg::Other => {
                self.found(Code::ToolArguments, Decision::Block, "/argv is a list of words");
                return;
            }
        };
        match argv.first() {
            Some(Arg::Text(program)) => {
                let program = program.clone();
                self.entry_program(&program);
            }
            _ => self.found(Code::ToolReference, Decision::Block, "/argv/0 is a literal, never a reference"),
        }
        for (i, word) in argv.iter().enumerate() {
            match word {
                Arg::Text(word) => {
                    if let Err(hidden) = text::check_visible(word) {
                        let message = format!("/argv/{i} hides something: {hidden}");
                        self.found(Code::PlanHiddenText, Decision::Block, message);
                    }
                }
                Arg::Open => {
                    let message = format!("/argv/{i} is filled only when the step runs");
                    self.found(Code::ResourceUnresolved, Decision::RequireApproval, message);
                }
                Arg::Absent | Arg::Other | Arg::List(_) => {}
            }
        }
        let word = |arg: &Arg| arg.text().map(str::to_owned);
        let stdin = match self.named("stdin") {
            Arg::Text(text) => Some(text),
            Arg::Absent => Some(String::new()),
            Arg::Open | Arg::List(_) | Arg::Other => None,
        };
        let context = self.context(&self.start());
        let subject = Subject::Argv { argv: argv.iter().map(word).collect(), stdin, context };
        if !self.inspected(&subject, By::Command) {
            self.out.execution = Execution::Uncatalogued;
        }
        self.surroundings();
    }

    /// A server that is started to say what it offers: any code, that reads the workspace, where it may lie, and changes nothing.
    pub(super) fn mcp_describe(&mut self) {
        self.out.profile = Some(Profile::Toolchain);
        self.out.execution = Execution::Uncatalogued;
        let words: Option<Vec<String>> = match self.named("argv") {
            Arg::List(argv) => argv.iter().map(|word| word.text().map(str::to_owned)).collect(),
            Arg::Text(_) | Arg::Open | Arg::Absent | Arg::Other => None,
        };
        let Some((program, rest)) = words.as_ref().and_then(|words| words.split_first()) else {
            self.found(Code::ToolReference, Decision::Block, "/argv is a list of literal words");
            return;
        };
        self.entry_program(program);
        if let Some(hidden) = rest.iter().find_map(|word| text::check_visible(word).err()) {
            self.found(Code::PlanHiddenText, Decision::Block, format!("/argv hides something: {hidden}"));
        }
        for dir in self.scene.deployment.workspace().to_vec() {
            self.path(Effect::Read, TargetKind::Directory, &dir, true, By::View);
        }
    }

    /// The program that is started: looked up by name in the fixed path, or the file that is named.
    pub(super) fn entry_program(&mut self, program: &str) {
        if let Err(hidden) = text::check_name(program) {
            self.found(Code::PlanHiddenText, Decision::Block, format!("the program hides something: {hidden}"));
            return;
        }
        let (path, of_project) = if program.contains('/') || program.starts_with('~') {
            // The kernel looks from the folder that the program starts in.
            (self.start().normalise(program).ok(), true)
        } else {
            (self.scene.facts.program(program), false)
        };
        let known = path.unwrap_or_else(|| program.to_owned());
        if !known.starts_with('/') {
            let message = format!("no program `{program}` is in the fixed path");
            self.found(Code::ResourceUnresolved, Decision::RequireApproval, message);
        }
        if of_project {
            // A file that may be anything: what it names is read like any file.
            self.path_at(&self.start(), Effect::Read, TargetKind::File, program, false, By::Tool);
        }
        if known.rsplit('/').next().is_some_and(|name| ELEVATING.contains(&name)) {
            self.other(Effect::Admin, TargetKind::Process, &known);
        }
        self.other(Effect::Execute, TargetKind::Process, &known);
        self.out.programs.push(known);
    }

    /// Relative paths as the program sees them.
    pub(super) fn start(&self) -> Place {
        let cwd = self.named("cwd");
        match cwd.text().map(|cwd| self.place().normalise(cwd)) {
            Some(Ok(cwd)) => self.place().at(cwd),
            Some(Err(_)) | None => self.place().clone(),
        }
    }

    /// The folder a program starts in, its variables, and what the view lets it touch.
    pub(super) fn surroundings(&mut self) {
        match self.named("cwd") {
            Arg::Text(cwd) => self.path(Effect::Read, TargetKind::Directory, &cwd, false, By::Tool),
            Arg::Open => {
                self.open(Effect::Read, TargetKind::Directory, Pointer::from_segments(vec!["cwd".to_owned()]));
                self.out.execution = Execution::Unanalysed;
            }
            Arg::Absent | Arg::Other | Arg::List(_) => {}
        }
        let env = self.args.at(&Pointer::from_segments(vec!["env".to_owned()]));
        let tuned = |name: &str, value: Option<&str>| name == "NODE_OPTIONS" && value.is_some_and(only_tunes);
        let names: Vec<String> = match env {
            Some(Expr::Object(members)) => {
                let text = |value: &Expr| value.literal().and_then(|value| value.as_str().map(str::to_owned));
                let loads = |(name, value): &(String, Expr)| !tuned(name, text(value).as_deref());
                members.into_iter().filter(loads).map(|(name, _)| name).collect()
            }
            Some(Expr::Literal(serde_json::Value::Object(members))) => {
                members.into_iter().filter(|(name, value)| !tuned(name, value.as_str())).map(|(name, _)| name).collect()
            }
            Some(_) => {
                self.found(
                    Code::ResourceUnresolved,
                    Decision::RequireApproval,
                    "/env is filled only when the step runs",
                );
                Vec::new()
            }
            None => Vec::new(),
        };
        for name in names {
            let upper = name.to_ascii_uppercase();
            if LOADING.iter().any(|prefix| upper.starts_with(prefix)) && !crate::lists::has(LOADING_NOTHING, &upper) {
                let message = format!("the variable {name} decides which code runs");
                self.found(Code::ExecuteUnanalysed, Decision::RequireApproval, message);
                self.out.execution = Execution::Unanalysed;
            }
        }
        self.view();
    }

    /// The workspace, in which a program may change anything.
    pub(super) fn view_of_workspace(&mut self) {
        for dir in self.scene.deployment.workspace().to_vec() {
            self.path(Effect::Update, TargetKind::Directory, &dir, true, By::View);
        }
    }
}
