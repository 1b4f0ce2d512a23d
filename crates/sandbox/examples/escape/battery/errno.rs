//! Error numbers by name: what a stopped probe was told.

use std::fmt;

/// An error number of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    /// Splits a raw system-call return value (-4095..-1 are errors).
    ///
    /// # Errors
    /// The error number in it.
    pub(crate) fn check(result: isize) -> Result<usize, Self> {
        if (-4095..0).contains(&result) {
            return Err(Self(i32::try_from(-result).unwrap_or(libc::EIO)));
        }
        Ok(result.cast_unsigned())
    }
}

macro_rules! names {
    ($($name:ident)*) => {
        fn name(number: i32) -> Option<&'static str> {
            match number {
                $(libc::$name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}
names! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV
    ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK
    ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP ENODATA ETIME EPROTO EBADMSG EOVERFLOW ENOTSOCK EDESTADDRREQ EMSGSIZE
    EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL
    ENETDOWN ENETUNREACH ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ETIMEDOUT ECONNREFUSED EHOSTUNREACH EALREADY
    EINPROGRESS ESTALE EDQUOT ENOKEY EKEYREJECTED
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}
