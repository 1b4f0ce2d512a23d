//! Gate time (INV-6): never goes back, whatever the wall clock does. A clock set back revives nothing and halts what runs.

use countersign_plan::time::{Span, Timestamp};

/// What the machine's two clocks say, read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The wall clock.
    pub wall: Timestamp,
    /// A clock that only runs forward, also while the machine sleeps (`CLOCK_BOOTTIME`).
    pub monotonic: Span,
}

/// Turns readings into gate time: max(wall clock, last ledger time) plus monotonic delta.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Clock {
    now: Timestamp,
    last: Moment,
    tolerance: Span,
}

/// What a reading means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Reading {
    /// Time passed.
    Passed,
    /// The wall clock went back against the monotonic one by this much.
    SetBack(Span),
}

impl Clock {
    /// A clock that starts at the later of the wall clock and the last time in the ledger.
    #[must_use]
    pub fn start(moment: Moment, ledger: Option<Timestamp>, tolerance: Span) -> Self {
        let now = ledger.map_or(moment.wall, |last| last.max(moment.wall));
        Self { now, last: moment, tolerance }
    }

    /// Gate time at the last reading.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Takes a reading.
    pub fn read(&mut self, moment: Moment) -> Reading {
        let delta = moment.monotonic.as_millis().checked_sub(self.last.monotonic.as_millis());
        let passed = Span::from_millis(delta.unwrap_or(0));
        self.now = self.now.plus(passed).max(moment.wall);
        // The best wall clock so far, moved on: small steps back add up.
        let expected = self.last.wall.plus(passed);
        let behind = expected.since(moment.wall);
        if delta.is_none() || behind > self.tolerance {
            self.last = moment;
            Reading::SetBack(behind)
        } else {
            self.last = Moment { wall: expected.max(moment.wall), monotonic: moment.monotonic };
            Reading::Passed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Moment, Reading};
    use countersign_plan::time::{Span, Timestamp};

    fn at(wall: i64, monotonic: u64) -> Moment {
        Moment { wall: Timestamp::from_millis(wall), monotonic: Span::from_millis(monotonic) }
    }

    fn start(wall: i64, ledger: Option<i64>) -> Clock {
        Clock::start(at(wall, 0), ledger.map(Timestamp::from_millis), Span::from_secs(5))
    }

    #[test]
    fn inv_6_gate_time_never_goes_back() {
        let mut clock = start(1_000_000, None);
        assert_eq!(clock.read(at(1_001_000, 1000)), Reading::Passed);
        assert_eq!(clock.now().as_millis(), 1_001_000);
        assert_eq!(clock.read(at(500_000, 2000)), Reading::SetBack(Span::from_millis(502_000)));
        assert_eq!(clock.now().as_millis(), 1_002_000, "time went on by the monotonic clock");
        assert_eq!(clock.read(at(501_000, 3000)), Reading::Passed, "it is told once");
        assert_eq!(clock.now().as_millis(), 1_003_000);
    }

    #[test]
    fn it_starts_no_earlier_than_the_ledger() {
        assert_eq!(start(1000, Some(5000)).now().as_millis(), 5000);
        assert_eq!(start(9000, Some(5000)).now().as_millis(), 9000);
    }

    #[test]
    fn small_steps_back_add_up() {
        let mut clock = start(1_000_000, None);
        assert_eq!(clock.read(at(996_000, 0)), Reading::Passed);
        assert_eq!(clock.read(at(992_000, 0)), Reading::SetBack(Span::from_millis(8000)));
    }

    #[test]
    fn a_clock_put_forward_expires_and_a_monotonic_clock_that_goes_back_is_a_finding() {
        let mut clock = start(1_000_000, None);
        assert_eq!(clock.read(at(2_000_000, 10)), Reading::Passed);
        assert_eq!(clock.now().as_millis(), 2_000_000);
        assert!(matches!(clock.read(at(2_000_000, 5)), Reading::SetBack(_)));
    }
}
