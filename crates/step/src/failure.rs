//! Why a tool has no result.

use std::io;
use std::path::Path;

use countersign_plan::observation::Ending;
use countersign_plan::text;

/// Why a tool has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// It could not be done; nothing more than it says has happened.
    #[error("{0}")]
    Failed(String),
    /// It would have left what the step may touch.
    #[error("{0}")]
    Violation(String),
    /// It may have happened or not, and nobody here can find out.
    #[error("{0}")]
    Unknown(String),
}

impl Failure {
    /// A failure with this message; what hides in it is escaped.
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        Self::Failed(text::escape(message.as_ref()))
    }

    /// A failure at a path.
    pub(crate) fn at(what: &str, path: &Path, error: &io::Error) -> Self {
        let why = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::LOOP) => {
                "it is or crosses a symbolic link, which a step does not follow".to_owned()
            }
            Some(rustix::io::Errno::XDEV) => "it leads out of what the step may touch".to_owned(),
            _ => error.to_string(),
        };
        Self::new(format!("cannot {what} {}: {why}", path.display()))
    }

    /// Closes over `what` and `path`, for `map_err`.
    pub(crate) fn to<'a>(what: &'a str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |error| Self::at(what, path, &error)
    }

    /// How the observation ends.
    ///
    /// # Errors
    /// What is unknown can be observed by nobody: the message.
    pub(crate) fn ending(self) -> Result<Ending, String> {
        match self {
            Self::Failed(message) => Ok(Ending::Failed { message }),
            Self::Violation(message) => Ok(Ending::Violation { message }),
            Self::Unknown(message) => Err(message),
        }
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::new(io::Error::from(errno).to_string())
    }
}
