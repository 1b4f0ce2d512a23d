//! Frames over an asynchronous socket: the same bounds as everywhere, before a byte of the body is read.

use std::io;

use countersign_wire::frame::{self, FRAME_LIMIT, FrameError};
use prost::Message;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// Reads one message; the length is checked before the body is read.
pub(crate) async fn read<M: Message + Default>(reader: &mut OwnedReadHalf) -> Result<M, FrameError> {
    read_within(reader, FRAME_LIMIT).await
}

/// As [`read`], of a peer whose messages have a bound of their own.
pub(crate) async fn read_within<M: Message + Default>(
    reader: &mut OwnedReadHalf,
    limit: usize,
) -> Result<M, FrameError> {
    let mut prefix = [0; 4];
    match reader.read_exact(&mut prefix).await {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(FrameError::Closed),
        other => other?,
    };
    let length = frame::length(prefix, limit)?;
    let mut body = Vec::new();
    let wanted = u64::try_from(length).unwrap_or(u64::MAX);
    let got = reader.take(wanted).read_to_end(&mut body).await?;
    if got < length { Err(FrameError::Closed) } else { Ok(M::decode(body.as_slice())?) }
}

/// Writes messages until nobody sends any more or the peer is gone.
pub(crate) async fn write_all<M: Message>(mut writer: OwnedWriteHalf, mut messages: mpsc::Receiver<M>) {
    while let Some(message) = messages.recv().await {
        let Ok(bytes) = frame::encode(&message) else { return };
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
