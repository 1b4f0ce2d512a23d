//! How a step's init starts the tool: fork, seal, `exec`; and how it reaps what the tool leaves behind.
//!
//! The tool is process 2, not 1: the first process of a namespace ignores signals from inside that have no handler, so a tool in its place could not
//! be ended by a broken pipe or a CPU limit.

use std::convert::Infallible;
use std::ffi::{CString, NulError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::process::{WaitId, WaitIdOptions, WaitOptions, chdir, waitid, waitpid};

use crate::layers::Layers;
use crate::seal::{ProgramSeal, SealError, seal_program};
use crate::spawn::Exit;
use crate::sys::{self, NullTerminated};

/// A tool to be started. Nothing is looked up: the path is absolute, the environment is exactly what is given.
#[derive(Debug)]
pub struct Program {
    /// Absolute path in the view.
    pub path: PathBuf,
    /// Its arguments, the program name first.
    pub arguments: Vec<CString>,
    /// `NAME=value` strings.
    pub environment: Vec<CString>,
    /// Where it starts; `None` stays where the init is.
    pub cwd: Option<PathBuf>,
    /// Descriptor 0.
    pub input: OwnedFd,
    /// Descriptor 1.
    pub output: OwnedFd,
    /// Descriptor 2.
    pub error: OwnedFd,
}

/// A running tool.
#[derive(Debug)]
pub struct Launched {
    pid: u32,
    pidfd: OwnedFd,
    ended: Option<Exit>,
}

/// Why a tool was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A path with a null byte.
    #[error("launch: a path contains a null byte: {0}")]
    Path(#[from] NulError),
    /// The working directory cannot be entered.
    #[error("launch: cannot enter the working directory: {0}")]
    Cwd(io::Error),
    /// The seal failed.
    #[error("launch: the program could not be sealed: {0}")]
    Seal(SealError),
    /// The program cannot be executed: absent from the view, not executable, or the interpreter of its first line is.
    #[error("launch: cannot execute the program: {0}")]
    Execute(io::Error),
    /// No process could be made.
    #[error("launch: cannot start a process: {0}")]
    Fork(io::Error),
}

/// Starts a tool, sealed. The caller has one thread and waits until the tool's `exec`.
///
/// # Errors
/// [`LaunchError`]; no process is left then.
pub fn launch(program: Program, seal: &ProgramSeal, layers: Layers) -> Result<Launched, LaunchError> {
    use std::os::unix::ffi::OsStringExt as _;
    let path = CString::new(program.path.into_os_string().into_vec())?;
    let cwd = program.cwd.map(|cwd| CString::new(cwd.into_os_string().into_vec())).transpose()?;
    // Out of the way of 0 to 2, whatever the caller passes.
    let aside = |descriptor: &OwnedFd| {
        rustix::io::fcntl_dupfd_cloexec(descriptor, 3).map_err(|errno| LaunchError::Fork(errno.into()))
    };
    let prepared = Prepared {
        path,
        cwd,
        standard: [aside(&program.input)?, aside(&program.output)?, aside(&program.error)?],
        arguments: NullTerminated::new(program.arguments.iter().map(CString::as_c_str)),
        environment: NullTerminated::new(program.environment.iter().map(CString::as_c_str)),
    };
    let mut failure = None;
    // The child writes into this variable: memory is shared until `exec`, and the caller runs again only then.
    let mut body = || match start(&prepared, seal, layers) {
        Ok(never) => match never {},
        Err(error) => {
            failure = Some(error);
            126
        }
    };
    let (pid, pidfd) = sys::clone_suspended(&mut body).map_err(LaunchError::Fork)?;
    let launched = Launched { pid, pidfd, ended: None };
    match failure {
        None => Ok(launched),
        Some(error) => {
            launched.discard();
            Err(error)
        }
    }
}

struct Prepared<'a> {
    path: CString,
    cwd: Option<CString>,
    standard: [OwnedFd; 3],
    arguments: NullTerminated<'a>,
    environment: NullTerminated<'a>,
}

fn start(prepared: &Prepared<'_>, seal: &ProgramSeal, layers: Layers) -> Result<Infallible, LaunchError> {
    for (descriptor, number) in prepared.standard.iter().zip(0..) {
        sys::duplicate_to(descriptor, number).map_err(LaunchError::Fork)?;
    }
    if let Some(cwd) = &prepared.cwd {
        chdir(cwd).map_err(|errno| LaunchError::Cwd(errno.into()))?;
    }
    seal_program(seal, layers).map_err(LaunchError::Seal)?;
    Err(LaunchError::Execute(sys::execute_path(&prepared.path, &prepared.arguments, &prepared.environment)))
}

impl Launched {
    /// Reaps a child that never became the tool.
    fn discard(self) {
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED) {}
    }

    /// The tool's process id inside.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Becomes readable when the tool has ended.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Reaps every process that has ended, the tool's orphans included, without waiting; gives the tool's own end once it is there.
    ///
    /// # Errors
    /// Whatever `wait4(2)` gives.
    pub fn reap(&mut self) -> io::Result<Option<Exit>> {
        loop {
            match waitpid(None, WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if u32::try_from(pid.as_raw_nonzero().get()) == Ok(self.pid) {
                        self.ended = match (status.exit_status(), status.terminating_signal()) {
                            (Some(code), _) => Some(Exit::Code(code)),
                            (None, Some(signal)) => Some(Exit::Signal(signal)),
                            (None, None) => None,
                        };
                    }
                }
                Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(self.ended),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}
