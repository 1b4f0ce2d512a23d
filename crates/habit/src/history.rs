//! What an agent used to do, and how far a plan departs from it: the `history` factor of the risk score.
//!
//! Plain counting that can be explained: what is new, how often, at which hour, in which order. It survives a cold start, because
//! each part is weighted by how much past there is, and an outlier in the past, because rates are compared with a median and
//! the median of its deviations (Rousseeuw and Croux 1993, section 1). A departure only adds to a score; habit excuses nothing, so
//! this stands outside the trusted base.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use countersign_plan::deed::{Deed, Departure};
use countersign_plan::id::ToolName;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::Effect;
use serde::{Deserialize, Serialize};

/// How many plans of an agent are remembered; older ones no longer count.
pub const REMEMBERED: usize = 512;
/// The most acts of one plan that are kept.
const ACTS: usize = 256;
/// The past at which habits count half.
const HALF: usize = 12;
/// Plans that must lie in the past before hours and rates say anything.
const ENOUGH: usize = 20;
/// Milliseconds of an hour.
const HOUR: i64 = 3_600_000;

/// The past of one agent, oldest first; the last [`REMEMBERED`] plans.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct History(VecDeque<Deed>);

impl History {
    /// No past.
    pub const EMPTY: &'static Self = &Self(VecDeque::new());

    /// Adds a plan that was let through; the oldest is forgotten.
    pub fn push(&mut self, mut deed: Deed) {
        deed.acts.truncate(ACTS);
        self.0.push_back(deed);
        while self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    /// How many plans are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no past.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How far a plan departs from this past; nothing where there is none.
    #[must_use]
    pub fn departure(&self, deed: &Deed) -> Departure {
        if self.is_empty() || deed.acts.is_empty() {
            return Departure::default();
        }
        let time = if self.len() >= ENOUGH { self.time(deed.at) } else { 0 };
        let rate = if self.len() >= ENOUGH { self.rate(deed.at) } else { 0 };
        Departure {
            novelty: self.weighted(4, self.novelty(deed)),
            rate,
            time,
            sequence: self.weighted(2, self.order(deed)),
        }
    }

    /// `most` points times a share in thousandths, weighted by how much past there is.
    fn weighted(&self, most: usize, share: usize) -> u8 {
        let points = most * share.min(1000) * self.len() / (self.len() + HALF);
        u8::try_from((points + 500) / 1000).unwrap_or(u8::MAX)
    }

    /// The share of what is new in thousandths: half for kinds of action, half for places. Reading counts a quarter.
    fn novelty(&self, deed: &Deed) -> usize {
        let past = || self.0.iter().flat_map(|deed| &deed.acts);
        let kinds: BTreeSet<(&ToolName, Effect)> = past().map(|act| (&act.tool, act.effect)).collect();
        let places: BTreeSet<&str> = past().map(|act| act.place.as_str()).collect();
        let (mut new, mut all) = (0, 0);
        for act in &deed.acts {
            let weight = if act.effect.is_harmless() { 1 } else { 4 };
            all += 2 * weight;
            new += usize::from(!kinds.contains(&(&act.tool, act.effect))) * weight;
            new += usize::from(!places.contains(act.place.as_str())) * weight;
        }
        (new * 1000).checked_div(all).unwrap_or(0)
    }

    /// The share of pairs of effects, one after the other, that no plan of the past had, in thousandths.
    fn order(&self, deed: &Deed) -> usize {
        let pairs = |deed: &Deed| {
            let effects = deed.acts.iter().map(|act| act.effect);
            effects.clone().zip(effects.skip(1)).collect::<BTreeSet<_>>()
        };
        let known: BTreeSet<_> = self.0.iter().flat_map(pairs).collect();
        let here = pairs(deed);
        (here.difference(&known).count() * 1000).checked_div(here.len()).unwrap_or(0)
    }

    /// Whether the agent proposed hardly anything within an hour of this time of day.
    fn time(&self, now: Timestamp) -> u8 {
        let hour = |at: Timestamp| at.as_millis().div_euclid(HOUR).rem_euclid(24);
        let near =
            self.0.iter().filter(|deed| matches!((hour(deed.at) - hour(now)).rem_euclid(24), 0 | 1 | 23)).count();
        match near * 100 / self.len() {
            0 => 2,
            1..=2 => 1,
            _ => 0,
        }
    }

    /// Plans of this hour against those of the hours in which the agent worked at all.
    fn rate(&self, now: Timestamp) -> u8 {
        let hour = |at: Timestamp| at.as_millis().div_euclid(HOUR);
        let mut hours: BTreeMap<i64, i64> = BTreeMap::new();
        for deed in self.0.iter().filter(|deed| hour(deed.at) != hour(now)) {
            *hours.entry(hour(deed.at)).or_default() += 1;
        }
        let here =
            1 + i64::try_from(self.0.iter().filter(|deed| hour(deed.at) == hour(now)).count()).unwrap_or(i64::MAX - 1);
        let Some(usual) = median(hours.values().copied().collect()) else { return 0 };
        let spread = median(hours.values().map(|count| (count - usual).abs()).collect()).unwrap_or(0).max(1);
        // The modified z-score: 0.6745 times the distance in spreads; 3.5 is its usual bound (Iglewicz and Hoaglin 1993).
        match (here - usual).saturating_mul(6745) / spread {
            ..35_000 => 0,
            35_000..70_000 => 1,
            _ => 2,
        }
    }
}

/// The middle value, the lower of two.
fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests;
