//! The conversation so far, within bounds: what is newest is sent whole, what is older in brief, what is oldest not at all,
//! each time with a count.

use countersign_wire::infer::{Message, Role};

use crate::quote::inert;

/// The most that is kept of one answer of the model, in bytes.
const SAID: usize = 48 << 10;
/// The most of an answer once it is old, in bytes.
const SAID_BRIEF: usize = 600;

/// What the model said, and what it was told then.
#[derive(Debug, Clone)]
struct Exchange {
    said: String,
    told: String,
    brief: String,
}

impl Exchange {
    fn said_briefly(&self) -> String {
        inert(&self.said, SAID_BRIEF)
    }
}

/// Past exchanges, oldest first.
#[derive(Debug, Clone, Default)]
pub struct History {
    exchanges: Vec<Exchange>,
}

impl History {
    /// Adds an exchange: the model's answer, of which at most `room` bytes are kept, what it is told next, and in brief what that
    /// was.
    pub fn push(&mut self, said: &str, told: String, brief: String, room: usize) {
        self.exchanges.push(Exchange { said: inert(said, SAID.min(room)), told, brief });
    }

    /// The conversation that begins with `system` and the task; past exchanges have `room` bytes.
    #[must_use]
    pub fn messages(&self, system: String, task: String, room: usize) -> Vec<Message> {
        let mut left = room;
        let mut newest_first = Vec::new();
        let mut dropped = 0;
        for exchange in self.exchanges.iter().rev() {
            let whole = exchange.said.len() + exchange.told.len();
            let said = exchange.said_briefly();
            let brief = said.len() + exchange.brief.len();
            if dropped == 0 && (whole <= left || newest_first.is_empty()) {
                left = left.saturating_sub(whole);
                newest_first.push((exchange.said.clone(), exchange.told.clone()));
            } else if dropped == 0 && brief <= left {
                left -= brief;
                newest_first.push((said, exchange.brief.clone()));
            } else {
                dropped += 1;
            }
        }
        let note = if dropped > 0 { format!("\n({dropped} earlier exchanges are left out.)") } else { String::new() };
        let message = |role, content| Message { role, content };
        let mut messages = vec![message(Role::System, system), message(Role::User, format!("{task}{note}"))];
        for (said, told) in newest_first.into_iter().rev() {
            messages.extend([message(Role::Assistant, said), message(Role::User, told)]);
        }
        messages
    }
}

#[cfg(test)]
mod tests;
