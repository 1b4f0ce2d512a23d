//! Information flow: who could have written a value, who may read it, and where the two meet a sink (docs/flow.md).
//!
//! [`label`](Label) says what a value is worth, the graph how labels travel through a plan, a [`Sink`] what an effect asks of
//! them, a [`Crossing`] where a person lets a value pass, a [`Proof`] what was found in a form that [`check`] verifies again, and a
//! [`Session`] what outlives the plan.

mod back;
mod check;
mod crossing;
mod declared;
mod graph;
mod ground;
mod hours;
mod label;
mod moments;
mod proof;
mod session;
mod sink;
mod switches;
mod told;

pub use check::{ProofError, Terms, check};
pub use crossing::{Crossing, Crossings, Form};
pub use graph::{Carries, Edge, Kind, Node};
pub use ground::{Ground, Grounds, Said};
pub use label::{Label, Level, Readers};
pub use proof::{Parts, Proof, SCHEMA};
pub use session::{Session, Setting};
pub use sink::{Issue, Means, Sink, Verdict};

pub(crate) use back::{is_version_before, restores};
pub(crate) use graph::{Ambient, Finished, Graph, Look, fill, strings};
pub(crate) use moments::NUMBERS;
pub(crate) use proof::{of_goal, of_session};
pub(crate) use session::{ancestors, helper_tools};
pub(crate) use sink::{Court, Party};
pub(crate) use switches::{is_switch, switches};
pub(crate) use told::{beginning, repeats, speaks_of_else, strays, tells_no_more};

impl Proof {
    /// The way of an issue as people read it.
    #[must_use]
    pub fn way(&self, issue: &Issue) -> Vec<String> {
        issue.way.iter().filter_map(|node| self.nodes.get(*node)).map(|node| node.name.clone()).collect()
    }

    /// The label that each resource has after the plan, for a session to keep; the last of a name holds.
    pub fn left(&self) -> impl Iterator<Item = (&str, Label)> {
        let written = self.steps.iter().flat_map(|step| &step.writes).filter_map(|node| self.nodes.get(*node));
        written.map(|node| (node.name.as_str(), node.label))
    }
}
