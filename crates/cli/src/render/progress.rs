//! What is seen while a plan runs: one line per event, or on a terminal a live line and the lines that stay.

use std::collections::BTreeSet;

use countersign_plan::id::StepId;
use countersign_plan::observation::{Ending, Observation};
use countersign_wire::propose::{CaseEvent, PlannerEvent};
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Exit;
use crate::render::line::{Detail, Line, Tone, Visible, clip, count};

/// Findings of a blocked draft that are shown; all of them are in the record.
const REASONS: usize = 4;

/// What is known of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    running: Option<String>,
    finished: BTreeSet<String>,
    enforcement: Option<Value>,
    /// What the gate said last about the case, beyond its stage.
    why: Option<String>,
    /// Of a case that a planner works on.
    planning: Planning,
}

/// What a planner did so far.
#[derive(Debug, Default)]
struct Planning {
    /// What it waits for.
    now: Option<String>,
    answer: Option<String>,
    /// How the last run ended; none where nothing ran.
    run: Option<String>,
}

impl Progress {
    /// The lines that stay after an event.
    pub(crate) fn note(&mut self, event: &CaseEvent) -> Vec<Line> {
        match event {
            CaseEvent::Stage { stage, detail } => {
                if !detail.is_empty() {
                    self.why = Some(detail.clone());
                }
                let text = if detail.is_empty() { stage.clone() } else { format!("{stage}: {detail}") };
                vec![Line::at(1).tone(Tone::Dim, "· ").plain(text)]
            }
            CaseEvent::Planner(told) => self.planner(told),
            CaseEvent::RunEnded { version, stage, report } => {
                self.running = None;
                self.planning.run = Some(stage.clone());
                let why = ["/why/message", "/detail"].iter().find_map(|at| report.pointer(at)?.as_str());
                let why = why.filter(|why| *why != stage).map(|why| format!(": {why}")).unwrap_or_default();
                vec![Line::at(1).tone(Tone::Dim, "· ").plain(format!("version {version} {stage}{why}"))]
            }
            CaseEvent::StepStarted { step, phase, enforcement } => {
                self.running = Some(format!("{step} ({phase})"));
                if !enforcement.is_null() {
                    self.enforcement = Some(enforcement.clone());
                }
                Vec::new()
            }
            CaseEvent::Output { step, error, text } => output(step, *error, text),
            CaseEvent::StepEnded { step, phase, observation } => {
                self.running = None;
                if phase == "act" {
                    self.finished.insert(step.clone());
                }
                vec![ended(step, phase, observation)]
            }
            CaseEvent::Critical { message } => vec![Line::at(1).tone(Tone::Bad, "CRITICAL ").plain(message)],
            CaseEvent::Ended { .. } => {
                self.running = None;
                Vec::new()
            }
        }
    }

    fn planner(&mut self, told: &PlannerEvent) -> Vec<Line> {
        let line = |text: String| vec![Line::at(1).tone(Tone::Dim, "» ").plain(text)];
        self.planning.now = match told {
            PlannerEvent::Thinking { bytes } => Some(format!("planning… {bytes} bytes of an answer")),
            PlannerEvent::Answered { .. } | PlannerEvent::GaveUp { .. } => None,
            PlannerEvent::Judged { .. } => None,
            PlannerEvent::Started { .. }
            | PlannerEvent::Inferred { .. }
            | PlannerEvent::Loaded { .. }
            | PlannerEvent::Read { .. }
            | PlannerEvent::Answering => Some("planning…".to_owned()),
        };
        match told {
            PlannerEvent::Thinking { .. } => Vec::new(),
            PlannerEvent::Started { provider, .. } => {
                let provider = if provider.is_empty() { "the default provider" } else { provider };
                line(format!("a sealed planner asks {provider}"))
            }
            PlannerEvent::Inferred { number, account } => line(inferred(u64::from(*number), account)),
            PlannerEvent::Loaded { groups, tools } => {
                line(format!("tools loaded: {} ({tools} visible)", groups.join(", ")))
            }
            PlannerEvent::Read { action, args, outcome, .. } => {
                line(format!("read by {action} {}: {outcome}", clip(&args.to_string(), Detail::Brief)))
            }
            PlannerEvent::Judged { draft, verdict } => judged(*draft, verdict),
            PlannerEvent::Answering => line("a planner without tools writes the answer".to_owned()),
            PlannerEvent::Answered { text } => {
                self.planning.answer = Some(text.clone());
                Vec::new()
            }
            PlannerEvent::GaveUp { reason } => {
                self.why = Some(reason.clone());
                line(format!("gave up: {reason}"))
            }
        }
    }

    /// The answer to the goal, where there is one.
    pub(crate) fn answer(&self) -> Option<&str> {
        self.planning.answer.as_deref()
    }

    /// The line that shows what runs now.
    pub(crate) fn live(&self) -> Option<Line> {
        let running = self.running.as_ref().or(self.planning.now.as_ref())?;
        Some(
            Line::at(1).tone(Tone::Dim, "▸ ").plain(running).tone(Tone::Dim, format!("  {} done", self.finished.len())),
        )
    }

    /// The end of a run: what was done, undone and still stands, how far the sandbox held, and how to check all that.
    pub(crate) fn summary(&self, case: &str, stage: &str, report: &Value) -> (Vec<Line>, Exit) {
        // An answer alone is no success: what ran last must have gone as planned.
        let answered = stage == "answered" && self.planning.run.as_deref().is_none_or(|run| run == "completed");
        let exit = if stage == "completed" || answered { Exit::Done } else { Exit::Blocked };
        let tone = if exit == Exit::Done { Tone::Good } else { Tone::Bad };
        let mut lines = vec![Line::at(0).tone(tone, stage.to_uppercase()).plain("  case ").tone(Tone::Bold, case)];
        if let Some(answer) = &self.planning.answer {
            lines.push(Line::of(1, "the model's answer, from what the steps showed (untrusted):"));
            lines.extend(answer.lines().map(|row| Line::at(2).tone(Tone::Dim, "“ ").plain(row)));
        }
        match serde_json::from_value::<Account>(report.clone()) {
            // The runs of a goal were told as they ended.
            Ok(account) if account.done.is_none() && (answered || stage == "abandoned") => {
                let why = Some(&account.detail).filter(|text| !text.is_empty() && exit != Exit::Done);
                lines.extend(why.map(|why| Line::field(1, "because", Visible::escaped(why))));
            }
            Ok(account) => {
                let told = [Some(&account.detail), self.why.as_ref()].into_iter().flatten();
                let why = told.into_iter().find(|text| !text.is_empty() && *text != stage);
                let why = why.filter(|_| exit != Exit::Done);
                lines.extend(why.map(|why| Line::field(1, "because", Visible::escaped(why))));
                lines.extend(account_lines(&account));
            }
            Err(_) if report.is_null() => lines.push(Line::field(1, "done", "nothing: no executor ran")),
            Err(_) => lines.push(Line::field(1, "report", Visible::json(report, Detail::Brief))),
        }
        lines.extend(self.enforcement.as_ref().map(|held| Line::field(1, "sandbox", enforcement(held))));
        lines.push(Line::field(1, "verify", format!("countersign audit show {case}")));
        (lines, exit)
    }
}

/// What one question to a model came to.
pub(crate) fn inferred(number: u64, account: &Value) -> String {
    let word = |at: &str| account.pointer(at).and_then(Value::as_str).filter(|word| !word.is_empty());
    let count = |at: &str| account.pointer(at).and_then(Value::as_u64).unwrap_or_default();
    let who = word("/model").or_else(|| word("/provider")).unwrap_or("no model");
    match word("/outcome") {
        Some("answer") => {
            let (tokens, millis) = (count("/usage/output_tokens"), count("/millis"));
            let cost = match count("/usage/micro_dollars") {
                0 => String::new(),
                cost => format!(", {}.{:06} $", cost / 1_000_000, cost % 1_000_000),
            };
            format!("answer {number} of {who}: {tokens} tokens in {millis} ms{cost}")
        }
        outcome => format!("answer {number} of {who}: none ({})", outcome.unwrap_or("no account")),
    }
}

/// What became of a draft, with what is to be mended.
fn judged(draft: u32, verdict: &Value) -> Vec<Line> {
    let decision = verdict.get("decision").and_then(Value::as_str).unwrap_or("?");
    let tone = match decision {
        "allow" => Tone::Good,
        "require_approval" => Tone::Warn,
        _ => Tone::Bad,
    };
    let mut lines =
        vec![Line::at(1).tone(Tone::Dim, "» ").plain(format!("draft {draft} judged: ")).tone(tone, decision)];
    if decision == "block" {
        let reasons = verdict.get("reasons").and_then(Value::as_array).into_iter().flatten();
        let told = reasons.filter_map(|reason| {
            Some((reason.get("code")?.as_str()?.to_owned(), reason.get("message")?.as_str()?.to_owned()))
        });
        lines.extend(told.take(REASONS).map(|(code, message)| Line::of(3, format!("{code}: {message}"))));
    }
    lines
}

fn output(step: &str, error: bool, text: &str) -> Vec<Line> {
    let mark = if error { "!" } else { "|" };
    let row = |row: &str| Line::at(2).tone(Tone::Dim, format!("{step} {mark} ")).plain(row);
    text.trim_end_matches('\n').split('\n').map(row).collect()
}

fn ended(step: &str, phase: &str, observation: &Value) -> Line {
    let shown = serde_json::from_value::<Observation>(observation.clone());
    let exit_code = shown.as_ref().ok().and_then(|shown| shown.output.get("exit_code")).and_then(Value::as_i64);
    let (tone, mark, how) = match shown.map(|shown| shown.ending) {
        Ok(Ending::Returned) => match exit_code {
            None | Some(0) => (Tone::Good, "✓", "done".to_owned()),
            Some(code) => (Tone::Warn, "!", format!("done with exit code {code}")),
        },
        Ok(Ending::Failed { message }) => (Tone::Bad, "✗", format!("failed: {message}")),
        Ok(Ending::TimedOut) => (Tone::Bad, "✗", "timed out; its processes were killed".to_owned()),
        Ok(Ending::Killed { signal }) => (Tone::Bad, "✗", format!("killed by signal {signal}")),
        Ok(Ending::Violation { message }) => (Tone::Bad, "✗", format!("stopped by the sandbox: {message}")),
        Err(_) => (Tone::Warn, "!", "ended".to_owned()),
    };
    let what = if phase == "act" { step.to_owned() } else { format!("{step} ({phase})") };
    Line::at(1).tone(tone, format!("{mark} ")).tone(Tone::Bold, what).plain(format!("  {how}"))
}

/// How a run ended, as the gate tells it. Steps are named in the order in which things happened to them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Account {
    detail: String,
    done: Option<Vec<StepId>>,
    undone: Vec<StepId>,
    standing: Vec<StepId>,
}

fn account_lines(account: &Account) -> Vec<Line> {
    let names = |steps: &[StepId]| {
        let names: Vec<&str> = steps.iter().map(StepId::as_str).collect();
        let listed = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        format!("{}{listed}", count(steps.len(), "step"))
    };
    let mut lines = Vec::new();
    match &account.done {
        Some(done) => {
            lines.push(Line::field(1, "done", names(done)));
            lines.push(Line::field(1, "taken back", names(&account.undone)));
            lines.push(Line::field(1, "standing", names(&account.standing)));
        }
        None => lines.push(Line::field(1, "done", "nothing: no step ran")),
    }
    lines
}

/// How far the sandbox held: its layers and its gaps, by name.
pub(crate) fn enforcement(held: &Value) -> String {
    let Some(layers) = held.get("layers").and_then(Value::as_object) else {
        return held.as_str().map_or_else(|| clip(&held.to_string(), Detail::Brief), ToOwned::to_owned);
    };
    let gaps = held.get("gaps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let missing: Vec<&str> = gaps.iter().filter_map(|gap| gap.get("missing")?.as_str()).collect();
    let layers = count(layers.len(), "layer");
    if missing.is_empty() {
        format!("{layers} held")
    } else {
        format!("{layers} held; missing: {}", missing.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use countersign_wire::propose::CaseEvent;
    use serde_json::{Value, json};

    use super::Progress;
    use crate::failure::Exit;
    use crate::render::line::Line;

    fn text(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn output_of_a_program_cannot_drive_the_terminal() {
        let mut progress = Progress::default();
        let event =
            CaseEvent::Output { step: "test".to_owned(), error: false, text: "a\nb\u{1b}]0;x\u{7}\n".to_owned() };
        assert_eq!(text(&progress.note(&event)), ["    test | a", "    test | b\\u{1b}]0;x\\u{7}"]);
    }

    #[test]
    fn a_step_is_shown_while_it_runs_and_how_it_ended() {
        let mut progress = Progress::default();
        let started =
            CaseEvent::StepStarted { step: "test".to_owned(), phase: "act".to_owned(), enforcement: Value::Null };
        assert!(progress.note(&started).is_empty());
        assert!(progress.live().unwrap().text().contains("test (act)"));
        let observation = json!({"ending": "returned", "output": {"exit_code": 3}});
        let ended = CaseEvent::StepEnded { step: "test".to_owned(), phase: "act".to_owned(), observation };
        assert_eq!(text(&progress.note(&ended)), ["  ! test  done with exit code 3"]);
        assert!(progress.live().is_none());
    }

    #[test]
    fn only_a_completed_run_ends_with_zero() {
        let progress = Progress::default();
        let report = json!({"ending": "completed", "done": ["a"], "undone": [], "standing": []});
        assert_eq!(progress.summary("c-1", "completed", &report).1, Exit::Done);
        for stage in ["stopped", "halted", "denied", "indeterminate", "something new", ""] {
            assert_eq!(progress.summary("c-1", stage, &report).1, Exit::Blocked, "{stage}");
        }
    }

    #[test]
    fn what_was_taken_back_and_what_stands_after_a_stop_is_said() {
        let detail = "step c should show exit code 0, but showed exit code 1";
        let report = json!({"ending": "stopped", "detail": detail, "done": [], "undone": ["b"], "standing": ["a"]});
        let (lines, _) = Progress::default().summary("c-1", "stopped", &report);
        let told = text(&lines).join("\n");
        for wanted in [detail, "taken back   1 step: b", "standing     1 step: a"] {
            assert!(told.contains(wanted), "{told}");
        }
        let (lines, _) =
            Progress::default().summary("c-1", "denied", &json!({"ending": "denied", "detail": "by uid:0"}));
        assert!(text(&lines).join("\n").contains("no step ran"));
    }

    #[test]
    fn a_stop_says_the_gates_reason_and_not_only_its_stage() {
        let mut progress = Progress::default();
        let (stage, detail) = ("stopping".to_owned(), "step c: found 3".to_owned());
        progress.note(&CaseEvent::Stage { stage, detail });
        let report = json!({"ending": "stopped", "detail": "stopped", "done": []});
        let (lines, _) = progress.summary("c-1", "stopped", &report);
        assert!(text(&lines).join("\n").contains("because      step c: found 3"));
        let (lines, _) = progress.summary("c-1", "completed", &report);
        assert!(!text(&lines).join("\n").contains("because"));
    }
}
