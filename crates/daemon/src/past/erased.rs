//! What has to be known of cases that were erased: the labels of what they wrote, and not a word of what was said.
//!
//! An erased record tells nothing, and of what tells nothing the worst is believed; one erasure would then taint everything for good.
//! So the record of the erasure goes with one of labels, sealed as the house's own. What was seen is not kept, since it is words: the
//! outside agents that still know it count as having seen the worst after a restart, until they have rested.

use std::collections::{BTreeMap, HashSet};

use countersign_plan::digest::Digest;
use countersign_plan::id::{CaseId, Principal};
use countersign_plan::time::Timestamp;
use countersign_policy::flow::Label;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::labels::Left;
use super::{Past, REST, Seat};

/// The JSON of a `label` record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Kept {
    /// Resources that the cases wrote, by key, with the label that each has now.
    labels: BTreeMap<String, Label>,
    /// The label of resources that could not be told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<Label>,
    /// Users whose outside agents still know what they read there, and when those proposed last.
    seen: BTreeMap<Principal, Timestamp>,
    /// Drafts whose crossing points were used.
    spent: Vec<Digest>,
}

impl Past {
    /// From now on the records of these cases tell nothing: what counts of them stands where they were erased.
    pub(crate) fn without(&mut self, gone: HashSet<CaseId>) {
        self.gone = gone;
    }

    /// What has to be known once cases are erased. `alone` is the fold over their records and no others.
    pub(crate) fn outlives(&self, alone: &Self, now: Timestamp) -> Value {
        let rest = self.store.rest();
        let label = |key: &str| self.store.kept(key).or(rest).unwrap_or(Label::TOP);
        let users = alone.seats.iter().filter_map(|(seat, seated)| {
            let Seat::Agents(user) = seat else { return None };
            let live = self.seats.get(seat).filter(|live| live.last.is_none_or(|last| now.since(last) < REST))?;
            live.labels.knows(&seated.labels).then(|| (user.clone(), live.last.unwrap_or(now)))
        });
        let kept = Kept {
            labels: alone.store.keys().map(|key| (key.clone(), label(key))).collect(),
            rest: alone.store.rest(),
            seen: users.collect(),
            spent: alone.spent.iter().copied().collect(),
        };
        serde_json::to_value(kept).unwrap_or(Value::Null)
    }

    /// Takes in what outlived an erasure; the worst where that cannot be read.
    pub(super) fn keep(&mut self, house: &CaseId, payload: &Value) {
        let unknown = |_| Kept { rest: Some(Label::TOP), ..Kept::default() };
        let kept: Kept = serde_json::from_value(payload.clone()).unwrap_or_else(unknown);
        self.learn(house, &Left { kept: kept.labels, rest: kept.rest, ..Left::default() });
        self.spent.extend(kept.spent);
        // While the monitor runs it knows what was seen; after a restart nobody does.
        for (user, last) in kept.seen.into_iter().filter(|_| !self.gone.is_empty()) {
            let seated = self.seats.entry(Seat::Agents(user)).or_default();
            seated.labels.see(&Left { read: Some(Label::TOP), ..Left::default() });
            seated.last = seated.last.max(Some(last));
        }
    }
}
