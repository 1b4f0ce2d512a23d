//! How much of an input is looked at: what lies beyond a bound is an unknown of the whole inspection, and never nothing.

use std::cell::Cell;

use countersign_plan::inspection::Inspection;

use crate::inspection::Build as _;

thread_local! {
    /// Whether the inspection under way left something out.
    static LEFT_OUT: Cell<bool> = const { Cell::new(false) };
    /// How many inspections are under way inside of each other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The inspection that `work` makes; what it left out is an unknown of it, and of the inspection that it is a part of.
pub(crate) fn whole(work: impl FnOnce() -> Inspection) -> Inspection {
    let outer = LEFT_OUT.replace(false) && DEPTH.get() > 0;
    DEPTH.set(DEPTH.get() + 1);
    let mut out = work();
    DEPTH.set(DEPTH.get().saturating_sub(1));
    if LEFT_OUT.get() {
        out.too_much("it holds more of one kind than is looked at");
    }
    LEFT_OUT.set(outer || LEFT_OUT.get());
    out
}

/// Whether a list of so many still takes one more. Where it does not, the inspection under way says so.
pub(crate) fn has_room(length: usize, most: usize) -> bool {
    let room = length < most;
    if !room {
        LEFT_OUT.set(true);
    }
    room
}

/// Iterators over what an input holds.
pub(crate) trait Bounded: Iterator + Sized {
    /// The first `most` of it. Where there is more, the inspection under way says so.
    fn at_most(self, most: usize) -> AtMost<Self> {
        AtMost { inner: self, left: most }
    }
}

impl<I: Iterator> Bounded for I {}

/// See [`Bounded::at_most`].
#[derive(Debug, Clone)]
pub(crate) struct AtMost<I> {
    inner: I,
    left: usize,
}

impl<I: Iterator> Iterator for AtMost<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let next = self.inner.next()?;
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Some(next)
            }
            None => {
                LEFT_OUT.set(true);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_said_and_what_is_all_is_not() {
        let first = |most: usize| {
            whole(|| {
                assert_eq!((0..3).at_most(most).count(), most.min(3));
                Inspection::default()
            })
        };
        assert_eq!(first(2).unknowns.len(), 1);
        assert!(first(3).unknowns.is_empty());
        assert!(first(4).unknowns.is_empty());
    }
}
