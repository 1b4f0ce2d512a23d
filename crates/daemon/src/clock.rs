//! The only place that reads clocks.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use countersign_plan::time::Timestamp;

/// Wall clock and monotonic clock, read together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock whose monotonic reading starts now.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The wall clock; the epoch itself where it is set before 1970.
    pub(crate) fn wall(self) -> Timestamp {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
        Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    /// Milliseconds since the start, whatever the wall clock does.
    pub(crate) fn monotonic_ms(self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
