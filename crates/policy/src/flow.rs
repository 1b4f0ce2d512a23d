//! Information flow: who could have written a value, who may read it, and where the two meet a sink (docs/flow.md).
//!
//! [`label`](Label) says what a value is worth, the graph how labels travel through a plan, a [`Sink`] what an effect asks of
//! them, a [`Crossing`] where a person lets a value pass, a [`Proof`] what was found in a form that [`check`] verifies again, and a
//! [`Session`] what outlives the plan.

mod crossing;
mod declared;
mod graph;
mod ground;
mod label;
mod session;
mod sink;

pub use crossing::{Crossing, Crossings, Form};
pub use graph::{Carries, Edge, Kind, Node};
pub use ground::{Ground, Grounds, Said};
pub use label::{Label, Level, Readers};
pub use session::{Session, Setting};
pub use sink::{Issue, Means, Sink, Verdict};

pub(crate) use graph::{Ambient, Graph, Look, fill};
pub(crate) use session::helper_tools;
pub(crate) use sink::{Court, Party};

/// What flow analysis found about a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The values, each made of those before it.
    pub nodes: Vec<Node>,
    /// Where they meet the world.
    pub sinks: Vec<Sink>,
}

impl Analysis {
    /// The plan's verdict: its worst sink's.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.sinks.iter().map(|sink| sink.verdict).max().unwrap_or_default()
    }

    /// The way of an issue as people read it.
    #[must_use]
    pub fn way(&self, issue: &Issue) -> Vec<String> {
        issue.way.iter().filter_map(|node| self.nodes.get(*node)).map(|node| node.name.clone()).collect()
    }

    /// The label that every resource has after the plan, for a session to keep.
    pub fn left(&self) -> impl Iterator<Item = (&str, Label)> {
        let written = self.nodes.iter().filter(|node| node.kind == Kind::Resource && !node.from.is_empty());
        written.map(|node| (node.name.as_str(), node.label))
    }
}
