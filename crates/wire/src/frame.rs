//! Length-prefixed frames: the length is checked before a byte of the body is read or kept (`lesson_19`: linear, bounded).

use std::io::{self, Read, Write};

use prost::Message;

/// The largest frame on any channel, in bytes.
pub const FRAME_LIMIT: usize = 8 << 20;

/// Why a frame was refused.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The peer went away; between frames this is the ordinary end.
    #[error("the peer closed the channel")]
    Closed,
    /// The peer announced more than the channel carries.
    #[error("a frame of {announced} bytes, but at most {limit} are read")]
    Oversize {
        /// The length that the peer announced.
        announced: usize,
        /// The bound of the channel.
        limit: usize,
    },
    /// The body is no message of this channel.
    #[error("not a message of this channel: {0}")]
    Decode(#[from] prost::DecodeError),
    /// A message that says nothing this reader knows.
    #[error("a message of a kind that this version does not know")]
    Unknown,
    /// The channel failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A frame's bytes for a message.
///
/// # Errors
/// The message is larger than [`FRAME_LIMIT`].
pub fn encode<M: Message>(message: &M) -> Result<Vec<u8>, FrameError> {
    let length = message.encoded_len();
    let oversize = FrameError::Oversize { announced: length, limit: FRAME_LIMIT };
    let prefix = u32::try_from(length).ok().filter(|_| length <= FRAME_LIMIT).ok_or(oversize)?;
    let mut out = Vec::with_capacity(length + 4);
    out.extend_from_slice(&prefix.to_be_bytes());
    message.encode_raw(&mut out);
    Ok(out)
}

/// The body's length from a frame's prefix.
///
/// # Errors
/// More than `limit`.
pub fn length(prefix: [u8; 4], limit: usize) -> Result<usize, FrameError> {
    let announced = usize::try_from(u32::from_be_bytes(prefix)).unwrap_or(usize::MAX);
    if announced > limit { Err(FrameError::Oversize { announced, limit }) } else { Ok(announced) }
}

/// Writes one message.
///
/// # Errors
/// Too large, or the channel failed.
pub fn write<M: Message>(to: &mut impl Write, message: &M) -> Result<(), FrameError> {
    to.write_all(&encode(message)?)?;
    to.flush()?;
    Ok(())
}

/// Reads one message of at most `limit` bytes.
///
/// # Errors
/// Closed, too large, malformed, or the channel failed.
pub fn read<M: Message + Default>(from: &mut impl Read, limit: usize) -> Result<M, FrameError> {
    let mut prefix = [0; 4];
    match from.read_exact(&mut prefix) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(FrameError::Closed),
        other => other?,
    }
    let length = length(prefix, limit)?;
    // The buffer grows with what arrives, so that an announcement alone costs nothing.
    let mut body = Vec::new();
    let wanted = u64::try_from(length).unwrap_or(u64::MAX);
    let got = from.by_ref().take(wanted).read_to_end(&mut body)?;
    if got < length { Err(FrameError::Closed) } else { Ok(M::decode(body.as_slice())?) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FrameError, encode, read};
    use crate::executor::{FromExecutor, from_executor};

    #[test]
    fn a_frame_over_its_bound_is_refused_before_decoding() {
        let mut bytes: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0, 0];
        assert!(matches!(read::<FromExecutor>(&mut bytes, 1024), Err(FrameError::Oversize { limit: 1024, .. })));
    }

    #[test]
    fn a_cut_frame_is_a_closed_peer() {
        let message =
            FromExecutor { kind: Some(from_executor::Kind::Finished(from_executor::Finished { report: vec![1; 64] })) };
        let bytes = encode(&message).unwrap();
        for cut in 0..bytes.len() {
            assert!(matches!(read::<FromExecutor>(&mut &bytes[..cut], 1024), Err(FrameError::Closed)), "{cut}");
        }
        assert_eq!(read::<FromExecutor>(&mut bytes.as_slice(), 1024).unwrap(), message);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(read::<FromExecutor>(&mut bytes.as_slice(), 100));
        }
    }
}
