//! `pending`: the cases that wait for people.

use countersign_wire::operator::to_monitor;
use countersign_wire::propose::CaseView;

use crate::client::{Operator, Start};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::Paths;
use crate::render::case;

pub(super) fn pending(out: &Out) -> Result<Exit, Failure> {
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::IfNeeded)?;
    let cases: Vec<CaseView> = operator.ask(to_monitor::Kind::Pending(to_monitor::Pending {}))?;
    out.value(&serde_json::to_value(&cases)?)?;
    out.lines(&case::pending(&cases))?;
    Ok(Exit::Done)
}
