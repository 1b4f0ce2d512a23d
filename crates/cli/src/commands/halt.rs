//! `halt`: no further permit for a case, or for any. Needs no key: stopping must be easy.

use countersign_wire::operator::{Done, to_monitor};

use crate::args::Halt;
use crate::client::{Operator, Start};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::Paths;
use crate::render::line::{Line, Tone};

pub(super) fn halt(args: &Halt, out: &Out) -> Result<Exit, Failure> {
    let case = args.case.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::Never)?;
    let asked = to_monitor::Halt { case, reason: args.reason.clone() };
    let halted: Done = operator.ask(to_monitor::Kind::Halt(asked))?;
    out.value(&serde_json::to_value(&halted)?)?;
    let mut lines: Vec<Line> =
        halted.cases.iter().map(|c| Line::at(0).tone(Tone::Warn, &c.stage).plain(format!("  {}", c.case))).collect();
    if lines.is_empty() {
        lines.push(Line::of(0, "nothing ran that could be halted"));
    }
    out.lines(&lines)?;
    Ok(Exit::Done)
}
