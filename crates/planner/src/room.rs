//! How much of a question may go to what, so that it fits into the model's context.
//!
//! The rule: a token counts as three bytes, as the broker guesses it. The answer gets what the monitor allows, and at most a
//! quarter of the context. Of the rest the tools' lines get a quarter, the form of the answer a sixth, the past a third, one
//! observation an eighth, all observations of finished runs a half, the inputs a sixteenth; none more than it would get of a
//! model without a bound. What is cut is counted where it stood. What still does not fit loses its past first, then its form.

use countersign_wire::infer::{REQUEST_LIMIT, Request};
use countersign_wire::planner::Bounds;

/// Bytes that count as one token.
const TOKEN: usize = 3;
/// Tokens that a provider spends on each message, beside its text.
const MESSAGE: usize = 8;

/// Shares of a question, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Tokens of the whole context; none where nobody said.
    context: Option<usize>,
    /// Tokens of the answer.
    pub max_tokens: u32,
    /// The lines about groups and tools.
    pub tools: usize,
    /// The arguments of tools in the form of the answer.
    pub form: usize,
    /// Past exchanges.
    pub past: usize,
    /// One observation.
    pub observation: usize,
    /// All observations of finished runs.
    pub observations: usize,
    /// The inputs.
    pub inputs: usize,
}

impl Room {
    /// The shares under these bounds.
    #[must_use]
    pub fn of(bounds: &Bounds) -> Self {
        let context = usize::try_from(bounds.context).ok().filter(|context| *context > 0);
        let quarter = (bounds.context / 4).max(1);
        let max_tokens = if context.is_some() { bounds.max_tokens.min(quarter) } else { bounds.max_tokens };
        let answer = usize::try_from(max_tokens).unwrap_or(usize::MAX);
        let all = context.map_or(REQUEST_LIMIT, |context| context.saturating_sub(answer).saturating_mul(TOKEN));
        Self {
            context,
            max_tokens,
            tools: (96 << 10).min(all / 4),
            form: (64 << 10).min(all / 6),
            past: (256 << 10).min(all / 3),
            observation: (24 << 10).min(all / 8),
            observations: (96 << 10).min(all / 2),
            inputs: (16 << 10).min(all / 16),
        }
    }

    /// Whether a question fits: as a message to the monitor, and with its answer into the context.
    #[must_use]
    pub fn holds(&self, request: &Request) -> bool {
        let messages: usize = request.messages.iter().map(|m| m.content.len().div_ceil(TOKEN) + MESSAGE).sum();
        let form = request.schema.as_ref().map_or(0, |schema| schema.to_string().len().div_ceil(TOKEN));
        let answer = usize::try_from(self.max_tokens).unwrap_or(usize::MAX);
        let tokens = messages.saturating_add(form).saturating_add(answer);
        self.context.is_none_or(|context| tokens <= context)
            && serde_json::to_vec(request).is_ok_and(|bytes| bytes.len() <= REQUEST_LIMIT)
    }

    /// What does not fit, for people.
    #[must_use]
    pub fn too_small(&self) -> String {
        let context = self.context.map_or_else(String::new, |context| format!(" of {context} tokens"));
        format!(
            "goal, tools and inputs do not fit into one question{context}; load fewer groups, or take a model with more context"
        )
    }
}

#[cfg(test)]
mod tests {
    use countersign_wire::infer::{Message, Request, Role};
    use serde_json::json;

    use super::Room;
    use crate::sample::BOUNDS;

    #[test]
    fn without_a_context_nothing_is_smaller_than_it_was() {
        let room = Room::of(&BOUNDS);
        assert_eq!((room.max_tokens, room.tools, room.observation), (BOUNDS.max_tokens, 96 << 10, 24 << 10));
        assert_eq!((room.form, room.past, room.observations, room.inputs), (64 << 10, 256 << 10, 96 << 10, 16 << 10));
    }

    #[test]
    fn shares_fall_with_the_context_and_what_holds_is_what_the_broker_takes() {
        let mut before = Room::of(&BOUNDS);
        for context in [200_000, 16_384, 4096, 512, 1] {
            let room = Room::of(&crate::sample::within(context));
            assert!(room.max_tokens <= (context / 4).max(1));
            assert!(room.tools <= before.tools && room.past <= before.past && room.observation <= before.observation);
            let fixed = room.tools + room.form + room.past + room.inputs;
            assert!(fixed < 3 * context as usize + 3, "{context}: {fixed}");
            before = room;
        }
        let room = Room::of(&crate::sample::within(400));
        let request = |bytes: usize| Request {
            messages: vec![Message { role: Role::User, content: "x".repeat(bytes) }],
            schema: Some(json!({})),
            max_tokens: room.max_tokens,
        };
        // 400 tokens, of which the answer has 100, the message's frame 8 and the form 1.
        assert!(room.holds(&request(3 * 291)) && !room.holds(&request(3 * 291 + 1)));
    }
}
