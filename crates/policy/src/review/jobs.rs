//! Jobs of a cluster that a line submits (sbatch(1), salloc(1), srun(1), qsub(1), bsub(1)): those that the goal wants, and no wider.

use countersign_plan::verdict::{Code, Reason};

use super::prepare::Prepared;
use crate::lists::has;

/// Programs that have a job run later.
const SUBMITTING: &str = "sbatch qsub bsub";

/// Words by which a job is wanted.
const WANTED: &str =
    "submit resubmit run rerun start restart launch queue send kick schedul array test execut sbatch qsub bsub through";

/// A job that nobody wants yet, or one with more machines, alone on them or before others, of which the goal says nothing.
pub(super) fn check(prepared: &Prepared<'_>) -> Option<Reason> {
    let line = prepared.text("command").filter(|_| prepared.goal.is_read())?;
    let called = |list: &'static str| prepared.derived.called.iter().any(|program| has(list, program));
    if called(SUBMITTING) && !prepared.goal.speak_of(WANTED) {
        let message = "the line submits a job, and the goal does not ask for one to run";
        return Some(Reason::ask(Code::GoalUnasked, message).fix("write the script and leave it"));
    }
    if !called("sbatch srun salloc") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |i: usize, short: &str, long: &str| {
        let word = words.get(i)?;
        let attached = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')).or(word.strip_prefix(short));
        let apart = || words.get(i + 1).copied().filter(|_| *word == short || *word == long);
        attached.filter(|value| !value.is_empty()).or_else(apart)
    };
    // "2-4"
    let several =
        |nodes: &&str| nodes.rsplit('-').next().and_then(|most| most.parse::<u32>().ok()).is_some_and(|n| n > 1);
    let unsaid = |text: &str| !prepared.goal.name(text);
    let wider = (0..words.len()).find_map(|i| match words.get(i) {
        Some(&"--exclusive") if !prepared.goal.speak_of("exclusiv whole alone") => Some("--exclusive".to_owned()),
        _ => {
            let nodes = value(i, "-N", "--nodes").filter(several);
            let first = value(i, "-q", "--qos").filter(|_| !called("qsub bsub"));
            nodes.or(first).filter(|text| unsaid(text)).map(|_| words.get(i).copied().unwrap_or_default().to_owned())
        }
    })?;
    let message = format!("the job takes more than the goal says (`{wider}`)");
    Some(Reason::ask(Code::GoalUnasked, message).fix("ask for what the goal says, or say it there"))
}
