//! Taking the seat: the socket, the seal, the announcement; before any byte is read. One function, so that the attacks of the
//! tests start from the very code that the binary starts with.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use countersign_sandbox::{Layers, SealError, announce, inherited, seal_planner};

/// The descriptor of the socket to the monitor.
const CONTROL: u32 = 3;

/// Why there is no sealed planner here. The process must exit.
#[derive(Debug, thiserror::Error)]
pub enum SeatError {
    /// No socket was passed on.
    #[error("this program is started by countersign-zygote: {0}")]
    NotStarted(io::Error),
    /// The seal did not hold.
    #[error("cannot seal: {0}")]
    Seal(#[from] SealError),
    /// The spawner does not listen.
    #[error("cannot announce: {0}")]
    Announce(io::Error),
}

/// Seals this process, which must have one thread, and returns its only socket.
///
/// # Errors
/// [`SeatError`]: the process must exit.
pub fn take() -> Result<UnixStream, SeatError> {
    let control = inherited(CONTROL).map_err(SeatError::NotStarted)?;
    countersign_plan::expect::prepare();
    let enforcement = seal_planner(Layers::all())?;
    announce(control.as_fd(), &enforcement).map_err(SeatError::Announce)?;
    Ok(UnixStream::from(control))
}
