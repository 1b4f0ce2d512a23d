//! How a command ends: the exit codes of FORMATS §8, and failures that say the place and the fix.

use std::fmt;
use std::process::ExitCode;

use countersign_plan::document::DocumentError;
use countersign_plan::text::{check_visible, escape};
use countersign_plan::verdict::Decision;
use countersign_wire::frame::FrameError;

/// What scripts read.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Allowed, done, verified.
    Done = 0,
    /// Something failed inside; callers treat it as a block.
    Internal = 1,
    /// Wrong usage or an invalid document.
    Usage = 2,
    /// A person must approve first.
    Approval = 10,
    /// Blocked, refused, or verification failed.
    Blocked = 20,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<Decision> for Exit {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Allow => Self::Done,
            Decision::RequireApproval => Self::Approval,
            Decision::Block => Self::Blocked,
        }
    }
}

/// Why a command did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// A stable word for scripts.
    pub(crate) code: String,
    /// What went wrong, and where.
    pub(crate) message: String,
    /// What mends it.
    pub(crate) fix: Option<String>,
}

impl Failure {
    fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self { exit, code: code.to_owned(), message: message.into(), fix: None }
    }

    /// Wrong usage or an invalid document.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// Refused, or verification failed.
    pub(crate) fn refused(code: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::Blocked, code, message)
    }

    /// Something failed inside.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Exit::Internal, "internal.error", message)
    }

    /// A file or folder that cannot be used.
    pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(Exit::Usage, "file", format!("{}: {error}", path.display()))
    }

    /// What the monitor answered instead of what was asked for.
    pub(crate) fn answered(code: String, message: String) -> Self {
        let exit = match code.as_str() {
            "internal.error" => Exit::Internal,
            "plan.invalid" | "usage" | "policy.invalid" | "case.unknown" => Exit::Usage,
            _ => Exit::Blocked,
        };
        Self { exit, code, message, fix: None }
    }

    /// The same failure, with what mends it.
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// For a terminal: whatever hides in it is escaped.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", lines(&self.message))?;
        match &self.fix {
            Some(fix) => write!(f, "\n  fix: {}", lines(fix)),
            None => Ok(()),
        }
    }
}

/// Our own line breaks stay, everything else that hides is escaped.
fn lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n  ")
}

/// Text of ours with parts that are escaped already: left as it is, unless something hides in it.
fn visible(text: &str) -> String {
    if text.contains('\t') || check_visible(text).is_err() { escape(text) } else { text.to_owned() }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Self {
        Self::new(Exit::Usage, "document", error.to_string())
    }
}

impl From<FrameError> for Failure {
    fn from(error: FrameError) -> Self {
        let failure = Self::internal(format!("the monitor: {error}"));
        match error {
            FrameError::Closed => {
                failure.fix("it ended or was restarted; `countersign status`, and the log in the state folder")
            }
            FrameError::Oversize { .. } | FrameError::Decode(_) | FrameError::Unknown => {
                failure.fix("monitor and command line may be of different versions: `countersign down`, then again")
            }
            FrameError::Io(_) => failure,
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(format!("the monitor's answer is not of the form that this version reads: {error}"))
            .fix("monitor and command line may be of different versions: `countersign down`, then again")
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, Failure};

    #[test]
    fn what_hides_in_a_failure_is_shown() {
        let failure = Failure::usage("a\u{1b}[2Jb\u{202e}").fix("one\ntwo");
        assert_eq!(failure.to_string(), "error: a\\u{1b}[2Jb\\u{202e}\n  fix: one\n  two");
    }

    #[test]
    fn an_unknown_answer_of_the_monitor_is_a_block() {
        assert_eq!(Failure::answered("something.new".to_owned(), String::new()).exit, Exit::Blocked);
        assert_eq!(Failure::answered("internal.error".to_owned(), String::new()).exit, Exit::Internal);
    }
}
