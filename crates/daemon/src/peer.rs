//! Who is at the other end of a socket.

/// Who is at the other end of a socket, as the kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    /// The user.
    pub(crate) uid: u32,
    /// The user's group.
    pub(crate) gid: u32,
}
