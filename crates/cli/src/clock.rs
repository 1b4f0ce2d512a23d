//! The one door to the clock. Gate time is the monitor's; this one only dates what is signed here.

use std::time::{SystemTime, UNIX_EPOCH};

use countersign_plan::time::Timestamp;

/// Now, by the wall clock; the start of 1970 where the clock stands before it, so that nothing signed then counts.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(0))
}
