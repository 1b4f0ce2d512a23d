//! A server's standard output with bounds: a line is a message, and one that is too long ends the conversation instead of being
//! waited for.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// The longest message, in bytes.
pub(super) const LINE: usize = 4 << 20;
/// The most bytes of one conversation.
const WHOLE: u64 = 64 << 20;

/// Reads with bounds.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: R,
    line: usize,
    whole: u64,
}

impl<R> Lines<R> {
    /// Bounds what is read from `from`.
    pub(super) const fn new(from: R) -> Self {
        Self { from, line: 0, whole: 0 }
    }

    fn count(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.whole = self.whole.saturating_add(bytes.len() as u64);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line = self.line.saturating_add(part.len());
            if self.line > LINE || self.whole > WHOLE {
                return Err(io::Error::other("the server said more than one message or conversation may hold"));
            }
            if part.ends_with(b"\n") {
                self.line = 0;
            }
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(cx, buffer))?;
        let counted = self.count(buffer.filled().get(before..).unwrap_or_default());
        if counted.is_err() {
            // An error brings no bytes.
            buffer.set_filled(before);
        }
        Poll::Ready(counted)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::{LINE, Lines};

    #[tokio::test]
    async fn a_line_may_be_as_long_as_a_message_and_no_longer() {
        let mut read = Vec::new();
        let fits = [vec![b'x'; LINE - 1], b"\n".to_vec(), vec![b'y'; LINE - 1]].concat();
        assert_eq!(Lines::new(fits.as_slice()).read_to_end(&mut read).await.unwrap(), fits.len());
        let long = vec![b'x'; LINE + 1];
        assert!(Lines::new(long.as_slice()).read_to_end(&mut read).await.is_err());
    }

    #[tokio::test]
    async fn a_conversation_ends_somewhere() {
        let line = [vec![b'x'; 1 << 20], b"\n".to_vec()].concat();
        let many = line.repeat(65);
        assert!(Lines::new(many.as_slice()).read_to_end(&mut Vec::new()).await.is_err());
    }
}
