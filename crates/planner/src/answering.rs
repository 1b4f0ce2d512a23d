//! Writing the answer: one question without tools and without a schema, and its text. What a hostile observation can reach
//! here is the wording, nothing else: there is no decision to read out of it.

use countersign_wire::infer::{Finish, Outcome, Request};
use countersign_wire::planner::{Bounds, RunResult};

use crate::history::History;
use crate::machine::{Event, Message, Next, ProtocolError};
use crate::prompt;
use crate::quote::{quoted, visible};
use crate::room::Room;
use crate::turn::ANSWER;

/// The least of all observations that is worth a question, in bytes.
const LEAST: usize = 256;

fn question(goal: &str, results: &[RunResult], room: &Room) -> Request {
    let told = prompt::results(goal, results, room);
    let messages = History::default().messages(prompt::answering(), told, room.past);
    Request { messages, schema: None, max_tokens: room.max_tokens }
}

/// An answer that is being written.
#[derive(Debug)]
pub struct Answering {
    asked: bool,
    max_tokens: u32,
}

impl Answering {
    /// Begins; the one question, or giving up where no inference is left for it.
    pub fn start(goal: &str, results: &[RunResult], bounds: Bounds) -> (Self, Next) {
        let asked = bounds.inferences > 0;
        let mut room = Room::of(&bounds);
        let next = if asked {
            let mut request = question(goal, results, &room);
            while !room.holds(&request) && room.observations > LEAST {
                room.observations /= 2;
                request = question(goal, results, &room);
            }
            Next::Say(Message::Infer(request))
        } else {
            Next::Say(Message::give_up("no inference is left for the answer"))
        };
        (Self { asked, max_tokens: room.max_tokens }, next)
    }

    /// What follows an event: the end.
    ///
    /// # Errors
    /// Anything but what became of the one question.
    pub fn on(&mut self, event: Event) -> Result<Next, ProtocolError> {
        if !std::mem::replace(&mut self.asked, false) {
            return Err(ProtocolError::Unexpected { event: "a message", state: "nothing is waited for" });
        }
        Ok(Next::Say(match event {
            Event::Inferred(Outcome::Answer(answer)) => match answer.finish {
                Finish::Refusal => {
                    Message::give_up(&format!("the model declined to answer: {}", quoted(&answer.text, 1000)))
                }
                Finish::Stop | Finish::Length if answer.text.trim().is_empty() => {
                    Message::give_up("the model wrote no answer")
                }
                Finish::Stop => Message::Answer { text: visible(&answer.text, ANSWER) },
                Finish::Length => {
                    let text = visible(&answer.text, ANSWER);
                    Message::Answer { text: format!("{text}… [cut at {} tokens]", self.max_tokens) }
                }
            },
            Event::Inferred(Outcome::Failure(failure)) => {
                Message::give_up(&format!("no answer ({:?}): {}", failure.kind, failure.message))
            }
            Event::Refused { code, message } => Message::give_up(&format!("no answer ({code}): {message}")),
            Event::Loaded(_) | Event::Observed(_) | Event::Reviewed { .. } | Event::Ran(_) => {
                return Err(ProtocolError::Unexpected { event: "a message", state: "waiting for an inference" });
            }
        }))
    }
}

#[cfg(test)]
mod tests;
