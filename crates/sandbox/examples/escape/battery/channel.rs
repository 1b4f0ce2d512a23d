//! The harness's end of a probe's channel: the report, and what else comes with it.

use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::errno::Errno;
use super::probe::Attempt;
use super::sys::call;

const BUFFER: usize = 512;
/// Between two looks.
pub(crate) const MOMENT: Duration = Duration::from_millis(50);

/// What came over a channel.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The probe's own report, if it lived to make one.
    pub(crate) report: Option<Attempt>,
    /// A byte that a probe sent past the report.
    pub(crate) byte: bool,
    /// A descriptor came.
    pub(crate) descriptor: bool,
    /// Credentials came that say "process 1, user 0".
    pub(crate) credentials: bool,
    /// The other end was closed before a report.
    pub(crate) closed: bool,
}

/// Listens until a report, the end, or the deadline.
pub(crate) fn listen(channel: &UnixStream, patience: Duration) -> Heard {
    listen_beside(channel, patience, &mut |_| {})
}

/// As [`listen`]; `wait` is called where there is nothing to hear.
pub(crate) fn listen_beside(channel: &UnixStream, patience: Duration, wait: &mut dyn FnMut(i32)) -> Heard {
    let deadline = Instant::now() + patience;
    let mut heard = Heard::default();
    let mut line = Vec::new();
    while Instant::now() < deadline {
        match receive(channel.as_raw_fd(), &mut heard) {
            Ok(bytes) if bytes.is_empty() => {
                heard.closed = true;
                return heard;
            }
            Ok(bytes) => {
                for byte in bytes {
                    match byte {
                        b'!' => heard.byte = true,
                        b'\n' => {
                            heard.report = parse(&line);
                            return heard;
                        }
                        other => line.push(other),
                    }
                }
            }
            Err(Errno(libc::EAGAIN)) => {
                wait(channel.as_raw_fd());
                self::wait(&[channel.as_raw_fd()], MOMENT);
            }
            Err(Errno(libc::EINTR)) => {}
            Err(_) => {
                heard.closed = true;
                return heard;
            }
        }
    }
    heard
}

/// `W` or `F 13`.
fn parse(line: &[u8]) -> Option<Attempt> {
    let text = std::str::from_utf8(line).ok()?;
    match text.split_once(' ') {
        None if text == "W" => Some(Ok(())),
        Some(("F", number)) => Some(Err(Errno(number.parse().ok()?))),
        _ => None,
    }
}

/// The line that [`parse`] reads.
pub(crate) fn report(attempt: Attempt) -> String {
    match attempt {
        Ok(()) => "W\n".to_owned(),
        Err(Errno(number)) => format!("F {number}\n"),
    }
}

/// Waits until one of the descriptors is readable or closed, or the time is up.
pub(crate) fn wait(fds: &[i32], patience: Duration) {
    const POLLIN: u64 = 1;
    let mut poll: Vec<u64> = fds.iter().map(|fd| u64::from(fd.cast_unsigned()) | POLLIN << 32).collect();
    let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    let count = poll.len();
    let _ = call!(SYS_poll, &mut *poll, count, milliseconds);
}

fn receive(fd: i32, heard: &mut Heard) -> Result<Vec<u8>, Errno> {
    let mut buffer = [0_u8; BUFFER];
    let mut control = [0_u64; 32];
    let vector = [buffer.as_mut_ptr() as usize, BUFFER];
    let mut header = [0_usize, 0, vector.as_ptr() as usize, 1, control.as_mut_ptr() as usize, 256, 0];
    let count = call!(SYS_recvmsg, fd, &mut header, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC)?;
    let bytes: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let [_, _, _, _, _, length, _] = header;
    let mut rest = bytes.get(..length).unwrap_or_default();
    while let Some((size, kind)) = head(rest) {
        let number = |at: usize| rest.get(at..at + 4).and_then(|four| four.try_into().ok()).map(i32::from_ne_bytes);
        if kind == libc::SCM_RIGHTS {
            heard.descriptor = true;
            if let Some(received) = number(16) {
                let _ = call!(SYS_close, received);
            }
        } else if kind == libc::SCM_CREDENTIALS && number(16) == Some(1) && number(20) == Some(0) {
            heard.credentials = true;
        }
        rest = rest.get(size.next_multiple_of(8)..).unwrap_or_default();
    }
    Ok(buffer.get(..count).unwrap_or_default().to_vec())
}

/// Length and type of the first control message.
fn head(bytes: &[u8]) -> Option<(usize, i32)> {
    let size = usize::from_ne_bytes(bytes.get(..8)?.try_into().ok()?);
    let kind = i32::from_ne_bytes(bytes.get(12..16)?.try_into().ok()?);
    (size >= 16).then_some((size, kind))
}
