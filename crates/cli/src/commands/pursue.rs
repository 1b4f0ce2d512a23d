//! `run --goal`: a goal in words, a planner that can only talk, and from its first draft on the same road as any plan.

use std::ops::ControlFlow;

use countersign_plan::verdict::{Decision, Verdict};
use countersign_wire::propose::{CaseEvent, PlannerEvent, to_monitor};
use serde_json::{Value, json};

use crate::args::Run;
use crate::client::{Judged, Proposer, Start};
use crate::commands::run::{Asked, ask, show};
use crate::commands::{inputs, text};
use crate::document;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::{self, Paths};
use crate::render::line::{Detail, Line, Tone};
use crate::render::progress::Progress;

/// What the monitor answers where no model can be asked.
const NOT_CONFIGURED: &str = "provider.not_configured";

pub(super) fn pursue(goal: &str, args: &Run, out: &Out) -> Result<Exit, Failure> {
    let paths = Paths::of_environment()?;
    let cwd = paths::current_folder()?;
    let deployment = document::deployment(args.given.deployment.as_deref(), &cwd)?;
    let pursue = to_monitor::Pursue {
        goal: goal.to_owned(),
        inputs: inputs(&args.given.inputs)?,
        cwd: text(cwd)?,
        deployment: deployment.map(text).transpose()?.unwrap_or_default(),
        provider: args.provider.clone().unwrap_or_default(),
    };
    let mut proposer = connect(&paths)?;
    let case = proposer.pursue(pursue).map_err(|failure| explained(failure, &paths))?;
    out.lines(&[Line::at(0).plain("case ").tone(Tone::Bold, &case).plain("  planning…")])?;
    let detail = if args.full { Detail::Full } else { Detail::Brief };
    Following {
        paths: &paths,
        case: &case,
        out,
        detail,
        progress: Progress::default(),
        events: Vec::new(),
        pending: None,
    }
    .follow()
}

/// Where nothing is configured no monitor is started to say so.
fn connect(paths: &Paths) -> Result<Proposer, Failure> {
    let file = paths.broker();
    if file.exists() {
        return Proposer::connect(paths, Start::IfNeeded);
    }
    Proposer::connect(paths, Start::Never).map_err(|_| {
        let message = format!("no model provider is configured: there is no {}", file.display());
        explained(Failure::answered(NOT_CONFIGURED.to_owned(), message), paths)
    })
}

/// Without a provider nothing was done; what to write is said.
fn explained(failure: Failure, paths: &Paths) -> Failure {
    if failure.code != NOT_CONFIGURED {
        return failure;
    }
    let fix = format!(
        "write {}, for example
      schema: countersign.broker/v1
      providers:
        main: {{kind: openai, model: MODEL, key: model}}    # or anthropic; a local server: url: http://127.0.0.1:8000/v1, private: true
      secrets:
        model: {{from: {{env: OPENAI_API_KEY}}}}
    `countersign init` writes it with comments, `countersign doctor` shows what was understood; variables are read when the
    monitor starts (`countersign down`). `countersign run PLAN` needs no provider",
        paths.broker().display()
    );
    Failure { exit: Exit::Usage, ..failure }.fix(fix)
}

/// A case that a planner works on, followed to its end or to the point where people must answer.
struct Following<'a> {
    paths: &'a Paths,
    case: &'a str,
    out: &'a Out,
    detail: Detail,
    progress: Progress,
    events: Vec<Value>,
    /// The verdict that waits for people who are not here.
    pending: Option<Value>,
}

impl Following<'_> {
    fn follow(mut self) -> Result<Exit, Failure> {
        let mut proposer = Proposer::connect(self.paths, Start::Never)?;
        let end = proposer.watch(self.case, |event| self.note(event));
        self.out.live(None);
        let end = end?;
        if let Some(verdict) = self.pending {
            self.out
                .value(&json!({"case": self.case, "pending": self.case, "verdict": verdict, "events": self.events}))?;
            return Ok(Exit::Approval);
        }
        let CaseEvent::Ended { stage, report } = end else {
            return Err(Failure::internal(format!("case {} ended without saying how", self.case)));
        };
        let (lines, exit) = self.progress.summary(self.case, &stage, &report);
        self.out.lines(&[vec![Line::at(0)], lines].concat())?;
        let answer = self.progress.answer();
        self.out.value(&json!({
            "case": self.case, "stage": stage, "answer": answer, "report": report, "events": self.events,
        }))?;
        Ok(exit)
    }

    fn note(&mut self, event: &CaseEvent) -> Result<ControlFlow<()>, Failure> {
        let passing = matches!(event, CaseEvent::Planner(PlannerEvent::Thinking { .. }));
        if self.out.json_wanted() && !passing {
            self.events.push(serde_json::to_value(event)?);
        }
        let lines = self.progress.note(event);
        self.out.live(None);
        self.out.lines(&lines)?;
        self.out.live(self.progress.live().as_ref());
        let CaseEvent::Planner(PlannerEvent::Judged { verdict, .. }) = event else {
            return Ok(ControlFlow::Continue(()));
        };
        self.judged(verdict)
    }

    /// A draft that needs people: it is shown whole and signed here, or left to them.
    fn judged(&mut self, json: &Value) -> Result<ControlFlow<()>, Failure> {
        let verdict: Verdict = serde_json::from_value(json.clone())?;
        if verdict.decision != Decision::RequireApproval {
            return Ok(ControlFlow::Continue(()));
        }
        self.out.live(None);
        let judged = Judged { verdict, json: json.clone() };
        let shown = show(self.paths, self.case, &judged, self.detail, self.out)?;
        Ok(match ask(self.paths, self.case, shown.as_ref(), self.out)? {
            Asked::Answered => ControlFlow::Continue(()),
            Asked::Pending => {
                self.pending = Some(judged.json);
                ControlFlow::Break(())
            }
        })
    }
}
