//! The evaluator of a measurement: a program of the user's that is asked, over its standard input and output, what the gate would ask
//! a second model (tier 2, [`countersign_evaluator`]).
//!
//! A question is one line of JSON, `{"messages": [{"role", "content"}…], "schema": …, "max_tokens": N}`; the answer one line,
//! `{"text": "…"}` with what the model wrote, or `{"failure": "why"}`. The program runs with the rights of whoever measures; it
//! brings its own model, keys and network. Down, slow, malformed, not believed: the case is asked about, as at the gate. No budget
//! limits a measurement.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_evaluator::cache::Cache;
use countersign_evaluator::evidence::Evidence;
use countersign_evaluator::question::{Finding, MAX_TOKENS, Question};
use countersign_policy::facts::Evaluation;
use countersign_policy::review::{Request, Review};
use serde::Deserialize;
use serde_json::json;

/// The longest answer that is read, in bytes.
const ANSWER: u64 = 1 << 20;

/// A program that asks a model.
#[derive(Debug)]
pub struct Evaluator {
    program: PathBuf,
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    cache: Cache,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    harmless: u64,
    doubtful: u64,
    failed: u64,
}

/// The program, and the thread that talks to it, so that a program that neither reads nor writes holds nobody up.
#[derive(Debug)]
struct Running {
    child: Child,
    questions: Sender<String>,
    answers: Receiver<Result<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Answer {
    Text(String),
    Failure(String),
}

impl Evaluator {
    /// Asks `program`, which has `patience` for each answer. It is started with the first question.
    #[must_use]
    pub fn new(program: &Path, patience: Duration) -> Self {
        Self { program: program.to_owned(), patience, state: Mutex::default() }
    }

    /// What is said of a plan that nothing but rules of tier 2 holds up.
    pub(crate) fn ask(&self, request: &Request<'_>, review: &Review) -> Evaluation {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let said = self.finding(&mut state, request, review);
        let counts = &mut state.counts;
        *match &said {
            Ok(Finding::Harmless) => &mut counts.harmless,
            Ok(_) => &mut counts.doubtful,
            Err(_) => &mut counts.failed,
        } += 1;
        match said {
            Ok(finding) => finding.doubt().map_or(Evaluation::Harmless, Evaluation::Doubtful),
            Err(why) => Evaluation::Failed(why),
        }
    }

    fn finding(&self, state: &mut State, request: &Request<'_>, review: &Review) -> Result<Finding, String> {
        let goal = request.pinned_goal.unwrap_or_else(|| request.draft.goal());
        let touches = review.steps.iter().map(|step| (&step.id, step.accesses.as_slice()));
        let evidence = Evidence::of(Some(goal), request.draft, touches).map_err(|error| error.to_string())?;
        let about = (evidence.digest(), request.policy.digest());
        if let Some(finding) = state.cache.get(about.0, about.1) {
            return Ok(finding);
        }
        let mut entropy = [0; 32];
        getrandom::fill(&mut entropy).map_err(|error| format!("there is no randomness: {error}"))?;
        let question = Question::new(&evidence, &entropy);
        let messages =
            json!([{"role": "system", "content": question.system}, {"role": "user", "content": question.user}]);
        let line = json!({"messages": messages, "schema": question.schema, "max_tokens": MAX_TOKENS}).to_string();
        let running = match state.running.take() {
            Some(running) => running,
            None => start(&self.program).map_err(|error| format!("{}: {error}", self.program.display()))?,
        };
        let said = running.say(line, self.patience);
        match &said {
            Ok(_) => state.running = Some(running),
            // Whatever it is busy with, its next answer would be one to this question.
            Err(_) => drop(running),
        }
        let finding = match serde_json::from_str(&said?) {
            Ok(Answer::Text(text)) => question.read(&text).map_err(|unfit| unfit.to_string())?,
            Ok(Answer::Failure(why)) => return Err(format!("the evaluator gave no answer: {why}")),
            Err(error) => return Err(format!("the evaluator's line is no answer: {error}")),
        };
        state.cache.put(about.0, about.1, finding);
        Ok(finding)
    }
}

impl fmt::Display for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Counts { harmless, doubtful, failed } = state.counts;
        let asked = harmless + doubtful + failed;
        let program = self.program.display();
        write!(
            f,
            "{program}: {asked} asked about, {harmless} harmless, {doubtful} doubtful, {failed} without an answer"
        )
    }
}

impl Drop for Running {
    /// Ends the program; with it ends the thread, whose reads and writes fail then.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn start(program: &Path) -> std::io::Result<Running> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::Error::other("it has no standard input and output"));
    };
    let (questions, asked) = mpsc::channel::<String>();
    let (said, answers) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut from = BufReader::new(from);
        for question in asked {
            let mut line = String::new();
            let answer = writeln!(to, "{question}")
                .and_then(|()| to.flush())
                .and_then(|()| (&mut from).take(ANSWER).read_line(&mut line));
            let answer = match answer {
                Ok(_) if line.ends_with('\n') => Ok(line),
                Ok(_) => Err("the evaluator ended, or said too much, before its answer was whole".to_owned()),
                Err(error) => Err(format!("the evaluator: {error}")),
            };
            if said.send(answer).is_err() {
                break;
            }
        }
    })?;
    Ok(Running { child, questions, answers })
}

impl Running {
    fn say(&self, question: String, patience: Duration) -> Result<String, String> {
        let gone = "the evaluator is gone";
        self.questions.send(question).map_err(|_| gone.to_owned())?;
        match self.answers.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) => Err("the evaluator gave no answer in time".to_owned()),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(gone.to_owned()),
        }
    }
}
