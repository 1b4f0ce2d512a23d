//! When an attempt is made again: an inference changes nothing in the world, so it may be, but not for ever.

use std::time::Duration;

use super::fault::{Again, Fault};

/// The first pause; it doubles.
const FIRST: Duration = Duration::from_millis(500);
/// The longest pause of our own choice.
const LONGEST: Duration = Duration::from_secs(8);

/// How long to wait before the next attempt, after `attempts` of at most `most`, with `left` of the time for all of it;
/// nothing when there is none. `random` is uniform.
///
/// The pause lies between half and all of 0.5 s, 1 s, 2 s, … so that those who failed together do not come back together;
/// what the provider asks for (`Retry-After`, RFC 9110 section 10.2.3) counts as a minimum.
pub(crate) fn pause(fault: &Fault, attempts: u32, most: u32, left: Duration, random: u64) -> Option<Duration> {
    let Again::Later(asked) = fault.again else { return None };
    if attempts >= most {
        return None;
    }
    let doublings = attempts.saturating_sub(1).min(16);
    let whole = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    let half = whole / 2;
    let spread = u64::try_from(half.as_millis()).unwrap_or(u64::MAX).max(1);
    let own = half + Duration::from_millis(random % spread);
    let wait = asked.map_or(own, |asked| asked.max(own));
    (wait < left).then_some(wait)
}

/// A `Retry-After` of seconds or of a date, or a `retry-after-ms`; nothing where it says neither. A date in the past asks for
/// no wait.
pub(crate) fn asked(retry_after: Option<&str>, retry_after_ms: Option<&str>, now: jiff::Timestamp) -> Option<Duration> {
    if let Some(millis) = retry_after_ms.and_then(|m| m.trim().parse::<u64>().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let text = retry_after?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LONGEST, asked, pause};
    use crate::model::fault::{Again, Fault};

    const LEFT: Duration = Duration::from_secs(60);

    #[test]
    fn pauses_double_within_bounds_and_end() {
        let fault = Fault::unavailable("");
        for (attempts, low, high) in [(1, 250, 500), (2, 500, 1000), (3, 1000, 2000), (9, 4000, 8000)] {
            for random in [0, 249, 250, u64::MAX] {
                let wait = pause(&fault, attempts, 10, LEFT, random).unwrap().as_millis();
                assert!((low..=high).contains(&wait), "{attempts}: {wait}");
            }
        }
        assert_eq!(pause(&fault, 10, 10, LEFT, 0), None);
        assert_eq!(pause(&Fault::garbage(""), 1, 10, LEFT, 0), None);
        assert!(pause(&fault, u32::MAX - 1, u32::MAX, LEFT, 0).unwrap() <= LONGEST);
    }

    #[test]
    fn the_provider_may_ask_for_more_but_not_for_more_than_is_left() {
        let fault = |s| Fault { again: Again::Later(Some(Duration::from_secs(s))), ..Fault::unavailable("") };
        assert_eq!(pause(&fault(20), 1, 3, LEFT, 0), Some(Duration::from_secs(20)));
        assert_eq!(pause(&fault(0), 1, 3, LEFT, 0), Some(Duration::from_millis(250)));
        assert_eq!(pause(&fault(u64::MAX), 1, 3, LEFT, 0), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = "2015-10-21T07:28:00Z".parse().unwrap();
        assert_eq!(asked(Some("17"), None, now), Some(Duration::from_secs(17)));
        assert_eq!(asked(Some("Wed, 21 Oct 2015 07:28:30 GMT"), None, now), Some(Duration::from_secs(30)));
        assert_eq!(asked(Some("Wed, 21 Oct 2015 07:00:00 GMT"), None, now), Some(Duration::ZERO));
        assert_eq!(asked(Some("17"), Some("40"), now), Some(Duration::from_millis(40)));
        assert_eq!(asked(Some("-1"), None, now), None);
        assert_eq!(asked(Some("soon"), None, now), None);
        assert_eq!(asked(None, None, now), None);
    }
}
