//! How far a confinement holds, as a value to be recorded: layers with their details, and what is missing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::layers::Layer;

/// The layers that hold for one confined process, and the gaps that remain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enforcement {
    /// Each layer that holds, with what exactly it does (for example `landlock` → `ABI 7, fully enforced`).
    pub layers: BTreeMap<Layer, String>,
    /// What this machine or this mode could not give.
    pub gaps: Vec<Gap>,
}

/// Something that is not enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// What is missing, as a short noun phrase.
    pub missing: String,
    /// What that means for the user.
    pub meaning: String,
}

/// The level of `sandbox.minimum` in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Something that even the lower level needs does not hold: nothing may run.
    Insufficient,
    /// Landlock, seccomp, limits and hygiene, but no namespaces: enough for built-in file tools only.
    NoUserns,
    /// Every layer.
    Full,
}

impl Enforcement {
    /// Notes that a layer holds.
    pub fn hold(&mut self, layer: Layer, detail: impl Into<String>) {
        self.layers.insert(layer, detail.into());
    }

    /// Notes a gap.
    pub fn gap(&mut self, missing: impl Into<String>, meaning: impl Into<String>) {
        let gap = Gap { missing: missing.into(), meaning: meaning.into() };
        if !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }

    /// Adds what another part of the same confinement reports (the zygote's part and the child's own).
    pub fn merge(&mut self, other: Self) {
        for (layer, detail) in other.layers {
            self.layers
                .entry(layer)
                .and_modify(|have| {
                    if *have != detail {
                        have.push_str("; ");
                        have.push_str(&detail);
                    }
                })
                .or_insert(detail);
        }
        for gap in other.gaps {
            self.gap(gap.missing, gap.meaning);
        }
    }

    /// Which `sandbox.minimum` this satisfies. The control group is no part of it: where controllers are missing, that is a gap.
    #[must_use]
    pub fn level(&self) -> Level {
        let holds = |layer: &Layer| self.layers.contains_key(layer) || *layer == Layer::Cgroup;
        if Layer::ALL.iter().all(holds) {
            return Level::Full;
        }
        let base = [
            Layer::Descriptors,
            Layer::Environment,
            Layer::Session,
            Layer::NoNewPrivileges,
            Layer::Capabilities,
            Layer::ResourceLimits,
            Layer::Landlock,
            Layer::Seccomp,
        ];
        if base.iter().all(holds) { Level::NoUserns } else { Level::Insufficient }
    }
}
