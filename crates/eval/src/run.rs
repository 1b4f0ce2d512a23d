//! The cases of suites decided, on as many threads as are wanted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use countersign_plan::time::Timestamp;

use crate::case::Case;
use crate::half::Half;
use crate::judge::{Judged, judge, warm};
use crate::suite::Suite;

/// Bytes of stack for a thread that judges: as much as a process has by default.
const STACK: usize = 8 << 20;

/// How suites are decided.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Which cases.
    pub half: Half,
    /// How many threads; at least one.
    pub jobs: usize,
    /// The time at which the cases are decided.
    pub now: Timestamp,
}

/// The cases of a suite that were decided, in the order of the file.
#[derive(Debug)]
pub struct Decided<'s> {
    pub(crate) suite: &'s Suite,
    pub(crate) cases: Vec<(&'s Case, Judged)>,
}

/// The time that one case takes, from the bytes of its proposal to the review.
#[must_use]
pub fn time(suite: &Suite, case: &Case, now: Timestamp) -> Duration {
    Duration::from_nanos(judge(suite, case, now).nanos)
}

/// Decides the cases of `suite` that `settings` picks.
///
/// # Errors
/// No thread can be started.
pub fn run<'s>(suite: &'s Suite, settings: &Settings) -> std::io::Result<Decided<'s>> {
    let picked: Vec<&Case> = suite.cases.iter().filter(|case| settings.half.holds(&case.id)).collect();
    warm();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, case)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            picked.get(at).map(|case| (at, *case))
        } {
            done.push((at, judge(suite, case, settings.now)));
        }
        done
    };
    let mut judged = std::thread::scope(|scope| {
        let threads: std::io::Result<Vec<_>> = (0..settings.jobs.clamp(1, 256))
            .map(|_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work))
            .collect();
        let mut judged = Vec::with_capacity(picked.len());
        for thread in threads? {
            judged.extend(thread.join().map_err(|_| std::io::Error::other("a thread that judges ended in a panic"))?);
        }
        Ok::<_, std::io::Error>(judged)
    })?;
    judged.sort_unstable_by_key(|(at, _)| *at);
    let cases = picked.into_iter().zip(judged).map(|(case, (_, judged))| (case, judged)).collect();
    Ok(Decided { suite, cases })
}
