//! The one door to the terminal: stdout for answers, stderr for failures and progress.

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::render::line::Line;

/// Where a command writes.
#[derive(Debug)]
pub(crate) struct Out {
    json: bool,
    colour: bool,
}

impl Out {
    /// `colour_wanted` says what the environment asks for; a stream that is no terminal gets none.
    pub(crate) fn new(json: bool, colour_wanted: bool) -> Self {
        Self { json, colour: colour_wanted && !json && io::stdout().is_terminal() }
    }

    /// Whether the answer is wanted as JSON.
    pub(crate) const fn json_wanted(&self) -> bool {
        self.json
    }

    /// Whether a person sits in front of it: JSON is for programs.
    pub(crate) fn interactive(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Writes the answer for people, if it is wanted so.
    pub(crate) fn lines(&self, lines: &[Line]) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let mut text = String::new();
        for line in lines {
            line.write(&mut text, self.colour);
            text.push('\n');
        }
        self.raw(text.as_bytes())
    }

    /// Writes the answer for programs, if it is wanted so.
    pub(crate) fn value(&self, value: &Value) -> Result<(), Failure> {
        if !self.json {
            return Ok(());
        }
        self.raw(format!("{value}\n").as_bytes())
    }

    /// Writes bytes as they are.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
        written.map_err(|error| Failure::internal(format!("standard output: {error}")))
    }

    /// Writes something beside the answer to stderr.
    pub(crate) fn note(&self, lines: &[Line]) {
        let colour = self.colour && io::stderr().is_terminal();
        let mut text = String::new();
        for line in lines {
            line.write(&mut text, colour);
            text.push('\n');
        }
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }

    /// Replaces the live line of a terminal; nothing elsewhere.
    pub(crate) fn live(&self, line: Option<&Line>) {
        if self.json || !io::stderr().is_terminal() {
            return;
        }
        let mut text = String::from("\r\u{1b}[K");
        if let Some(line) = line {
            line.write(&mut text, self.colour);
        }
        let mut stderr = io::stderr().lock();
        drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
    }

    /// Says why a command failed: to stderr for people, and as an object on stdout where JSON is wanted.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.json {
            let Failure { code, message, fix, .. } = failure;
            drop(self.value(&json!({"error": {"code": code, "message": message, "fix": fix}})));
        }
        drop(io::stderr().lock().write_all(format!("{failure}\n").as_bytes()));
    }
}
