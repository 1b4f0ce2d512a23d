//! A plan as a deed: what the history of its agent is asked about ([`crate::facts::Facts::departure`]).

use countersign_plan::access::{Access, Resource};
use countersign_plan::deed::{Act, Deed};
use countersign_plan::id::ToolName;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::TargetKind;

use crate::deployment::{Deployment, is_path_kind};
use crate::paths::Seen;

/// The most acts of one plan that are told.
const ACTS: usize = 256;

/// A plan proposed at `at`: the tool and the accesses of each step, in the order of the steps.
pub fn deed<'a>(
    at: Timestamp,
    steps: impl IntoIterator<Item = (&'a ToolName, &'a [Access])>,
    deployment: &Deployment,
) -> Deed {
    let of = |tool: &ToolName, access: &Access| Act {
        tool: tool.clone(),
        effect: access.effect,
        place: place(&access.resource, deployment),
    };
    let mut acts: Vec<Act> = Vec::new();
    for (tool, accesses) in steps {
        for act in accesses.iter().map(|access| of(tool, access)) {
            // Ten files of one place in one step are one act.
            if acts.last() != Some(&act) && acts.len() < ACTS {
                acts.push(act);
            }
        }
    }
    Deed { at, acts }
}

/// Where a resource lies, coarsely enough to be met again.
fn place(resource: &Resource, deployment: &Deployment) -> String {
    if !is_path_kind(resource.kind) {
        return match resource.kind {
            TargetKind::Url => host(&resource.name).to_owned(),
            _ => resource.name.clone(),
        };
    }
    if deployment.in_workspace(&Seen::new(&resource.name, resource.resolved.as_deref())) {
        return "workspace".to_owned();
    }
    // Two names below the root: `/etc/ssl`, `/home/ann`.
    let ends = resource.path().match_indices('/').map(|(at, _)| at).nth(2);
    resource.path().get(..ends.unwrap_or(resource.path().len())).unwrap_or_default().to_owned()
}

/// The host of a URL, the whole where it has none.
fn host(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or(url)
}
