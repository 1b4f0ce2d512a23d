//! What a probe is: data with a number, a name, what it tries, where its effect would show, and the attempt itself.

use std::ffi::{CStr, CString};
use std::fmt;

use super::errno::Errno;
use super::sys::call;

/// The outcome of an attempt as the attacker sees it.
pub(crate) type Attempt = Result<(), Errno>;

/// Where the harness would see that an attempt had an effect, independent of what the probe says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nowhere outside the probe: its own report is the result (it read something, it got a descriptor, ...).
    Report,
    /// A name in the playground appears, vanishes, or changes its content, mode, owner, times or attributes.
    Changes(&'static str),
    /// The set-user-id or set-group-id bit of a name in the playground.
    Mode(&'static str),
    /// A name in the playground gets larger than the limit of a file (64 MiB).
    Larger(&'static str),
    /// The mount table of the harness below the playground.
    Mounts,
    /// The victim process is signalled.
    Signal,
    /// The victim's memory, priority or limits change.
    Victim,
    /// A byte arrives at one of the harness's doors.
    Arrives(Door),
    /// Another program runs in the probe's place: it reports, or ends with 0 where the probe would have reported.
    Exec,
    /// A descriptor arrives over the probe's channel.
    Descriptor,
    /// Forged credentials arrive over the probe's channel.
    Credentials,
    /// A character is typed into the terminal of the harness.
    Typed,
    /// The victim dies, or the init of the step does.
    Death,
    /// Processes outlive the kill of the one that started them.
    Survivors,
}

/// Where bytes that leave the sandbox would arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// TCP listener on 127.0.0.1.
    Tcp,
    /// UDP socket on 127.0.0.1.
    Udp,
    /// UDP socket on port 53 of 127.0.0.1, where the harness may open one.
    Dns,
    /// Unix stream listener with a path inside the work folder of a step.
    Work,
    /// Unix datagram socket with a path inside the work folder of a step.
    WorkDatagram,
    /// Unix stream listener with a path inside the playground.
    Path,
    /// Unix stream listener with an abstract name.
    Abstract,
    /// Unix datagram socket with an abstract name.
    Datagram,
    /// The other end of the TCP connection that the harness leaks as descriptor 63.
    Leaked,
    /// The probe's own channel (descriptor 3).
    Channel,
}

/// One probe.
pub(crate) struct Probe {
    /// Its number in the planner's list, or `s` and its number in the list of a step's program (a letter behind it where one
    /// numbered attack has several ways).
    pub(crate) id: &'static str,
    /// Short name.
    pub(crate) name: &'static str,
    /// What it tries, in words.
    pub(crate) tries: &'static str,
    /// Where an effect would show.
    pub(crate) effect: Effect,
    /// The attempt.
    pub(crate) run: fn(&World) -> Attempt,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.name)
    }
}

/// Builds one row of a battery.
pub(crate) const fn probe(
    id: &'static str,
    name: &'static str,
    tries: &'static str,
    effect: Effect,
    run: fn(&World) -> Attempt,
) -> Probe {
    Probe { id, name, tries, effect, run }
}

/// Probes of one kind.
#[derive(Debug)]
pub(crate) struct Class {
    /// The name of the kind.
    pub(crate) name: &'static str,
    /// The probes.
    pub(crate) probes: &'static [Probe],
}

/// What an attacker is told about the world outside: everything, so that a failed attempt is never ignorance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct World {
    /// The playground folder.
    pub(crate) base: String,
    /// Process id of the harness's sacrificial process.
    pub(crate) victim: u32,
    /// Address of a readable and writable word in the victim.
    pub(crate) canary: usize,
    /// Port of the TCP listener.
    pub(crate) tcp: u16,
    /// Port of the UDP socket.
    pub(crate) udp: u16,
    /// User id of the harness.
    pub(crate) uid: u32,
    /// Host name, set again by the probe that tries to set it.
    pub(crate) host: String,
    /// Size in blocks of the host's root file system: how a probe knows that it looks at the real one.
    pub(crate) root_blocks: u64,
    /// The dynamic loader, without symbolic links; `-` if there is none.
    pub(crate) loader: String,
}

impl World {
    /// One line of text, fit for a channel or an argument.
    pub(crate) fn encode(&self) -> String {
        format!(
            "{} {} {} {} {} {} {} {} {}",
            self.base, self.victim, self.canary, self.tcp, self.udp, self.uid, self.host, self.root_blocks, self.loader
        )
    }

    /// Reads what [`Self::encode`] wrote.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        Some(Self {
            base: words.next()?.to_owned(),
            victim: words.next()?.parse().ok()?,
            canary: words.next()?.parse().ok()?,
            tcp: words.next()?.parse().ok()?,
            udp: words.next()?.parse().ok()?,
            uid: words.next()?.parse().ok()?,
            host: words.next()?.to_owned(),
            root_blocks: words.next()?.parse().ok()?,
            loader: words.next()?.to_owned(),
        })
    }

    /// A path in the playground.
    pub(crate) fn path(&self, name: &str) -> CString {
        text(&format!("{}/{name}", self.base))
    }

    /// A path below `/proc` of the victim.
    pub(crate) fn victim_file(&self, name: &str) -> CString {
        text(&format!("/proc/{}/{name}", self.victim))
    }

    /// The abstract name of the harness's stream listener; the datagram socket's has a `d` behind it.
    pub(crate) fn abstract_name(&self) -> String {
        self.base.replace('/', ".")
    }
}

/// A C string of `text`; one with a zero byte inside becomes empty.
pub(crate) fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// `openat` in the current folder.
pub(crate) fn open(path: &CStr, flags: i32) -> Result<usize, Errno> {
    call!(SYS_openat, libc::AT_FDCWD, path, flags, 0o666)
}

/// Opens for reading and gets at least one byte.
pub(crate) fn open_and_read(path: &CStr) -> Attempt {
    let fd = open(path, libc::O_RDONLY | libc::O_NONBLOCK)?;
    let mut byte = [0_u8; 1];
    nonzero(call!(SYS_read, fd, &mut byte, 1)?)
}

/// `Ok` if the kernel handed out something.
pub(crate) fn nonzero(count: usize) -> Attempt {
    if count == 0 { Err(Errno(libc::ENODATA)) } else { Ok(()) }
}

/// `Ok` if `condition` holds: the call answered, but what counts is what it gave.
pub(crate) fn must(condition: bool) -> Attempt {
    if condition { Ok(()) } else { Err(Errno(libc::ENODATA)) }
}

/// For calls made with an argument that cannot succeed, so that the outside stays unharmed: one of `errors` means that the
/// kernel got past every permission check and looked at the argument.
pub(crate) fn reached(result: Result<usize, Errno>, errors: &[i32]) -> Attempt {
    match result {
        Err(Errno(number)) if errors.contains(&number) => Ok(()),
        other => other.map(drop),
    }
}

/// Runs `child` in a forked process and gives its exit code.
///
/// # Errors
/// The errno of `clone` or `wait4`, or `EINTR` if the child died of a signal.
pub(crate) fn forked(flags: i32, child: impl FnOnce() -> u8) -> Result<u8, Errno> {
    let pid = call!(SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0)?;
    if pid == 0 {
        let code = child();
        let _ = call!(SYS_exit_group, i32::from(code));
    }
    reap(pid)
}

/// Waits for a child and gives its exit code.
///
/// # Errors
/// The errno of `wait4`, or `EINTR` if the child died of a signal.
pub(crate) fn reap(pid: usize) -> Result<u8, Errno> {
    let mut status = [0_i32; 1];
    call!(SYS_wait4, pid, &mut status, 0, 0)?;
    let [status] = status;
    if libc::WIFEXITED(status) {
        u8::try_from(libc::WEXITSTATUS(status)).map_err(|_| Errno(libc::EIO))
    } else {
        Err(Errno(libc::EINTR))
    }
}

/// The names in an open folder other than `.` and `..`, as one blob of `getdents64` records; empty if there are none.
///
/// # Errors
/// The errno of `getdents64`.
pub(crate) fn entries(fd: usize) -> Result<Vec<String>, Errno> {
    let mut names = Vec::new();
    let mut buffer = [0_u8; 8192];
    loop {
        let count = call!(SYS_getdents64, fd, &mut buffer, 8192)?;
        if count == 0 {
            return Ok(names);
        }
        let mut rest = buffer.get(..count).unwrap_or_default();
        while let (Some(&low), Some(&high)) = (rest.get(16), rest.get(17)) {
            let length = usize::from(u16::from_le_bytes([low, high]));
            let name: Vec<u8> = rest.iter().skip(19).copied().take_while(|&byte| byte != 0).collect();
            if name != b"." && name != b".." {
                names.push(String::from_utf8_lossy(&name).into_owned());
            }
            rest = rest.get(length.max(1)..).unwrap_or_default();
        }
    }
}

/// Descriptor of the probe's channel to the harness.
pub(crate) const CHANNEL: i32 = 3;
/// Leaked descriptors, open in the harness and deliberately inheritable.
pub(crate) const LEAKED_FILE: i32 = 60;
/// See [`LEAKED_FILE`].
pub(crate) const LEAKED_FOLDER: i32 = 61;
/// See [`LEAKED_FILE`].
pub(crate) const LEAKED_TTY: i32 = 62;
/// See [`LEAKED_FILE`].
pub(crate) const LEAKED_SOCKET: i32 = 63;
/// The secret that the harness leaks in its environment.
pub(crate) const LEAKED_VARIABLE: &str = "ESCAPE_LEAKED_SECRET";
