//! Who is at the other end of a step: people who watch, and the broker.

use crate::channel::Channel;

/// Who watches a step and answers it.
pub(crate) trait Watcher {
    /// Output of the program, as it comes. Must not block.
    fn output(&mut self, error: bool, bytes: &[u8]);

    /// The way to the broker, where there is one.
    fn channel(&mut self) -> Option<&mut Channel> {
        None
    }
}
