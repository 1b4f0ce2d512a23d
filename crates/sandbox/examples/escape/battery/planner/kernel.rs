//! Probes 131-153: parts of the kernel that have been the way out before.

use std::ffi::CStr;

use crate::battery::errno::Errno;
use crate::battery::probe::{Attempt, CHANNEL, Effect, LEAKED_TTY, Probe, probe, reached, text};
use crate::battery::sys::{Address, call, int80};

const NONE: Address = Address(0);
const PROCESS_KEYRING: i32 = -2;
const SESSION_KEYRING: i32 = -3;
const UFFD_USER_MODE_ONLY: i32 = 1;
const LANDLOCK_VERSION: i32 = 1;
const FUTEX_LOCK_PI: i32 = 6;
const FUTEX_CMP_REQUEUE_PI: i32 = 12;
const TIOCSTI: u64 = 0x5412;
const I386_OPEN: u32 = 5;
const I386_SOCKETCALL: u32 = 102;
const I386_SOCKET: usize = 1;
const X32_BIT: i64 = 0x4000_0000;

static PASSWD: &CStr = c"/etc/passwd";
static SOCKET_ARGUMENTS: [u32; 3] = [libc::AF_INET as u32, libc::SOCK_STREAM as u32, 0];

pub(super) const PROBES: &[Probe] = &[
    probe("131", "io_uring_setup", "make a ring: system calls that no filter sees", Effect::Report, |_| {
        let mut parameters = [0_u32; 30];
        call!(SYS_io_uring_setup, 1, &mut parameters).map(drop)
    }),
    probe("132", "bpf PROG_LOAD/MAP_CREATE", "make a map for kernel programs", Effect::Report, |_| {
        let array_of_one_word = [2_u32, 4, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        call!(SYS_bpf, 0, &array_of_one_word, 64).map(drop)
    }),
    probe("133", "perf_event_open", "watch the processor", Effect::Report, |_| {
        let mut attributes = [0_u64; 16];
        for (slot, value) in attributes.iter_mut().zip([1 | 128 << 32, 0]) {
            *slot = value; // type software, size 128, event cpu-clock
        }
        call!(SYS_perf_event_open, &attributes, 0, -1, -1, 0).map(drop)
    }),
    probe("134", "userfaultfd", "stop the kernel in the middle of a copy", Effect::Report, |_| {
        call!(SYS_userfaultfd, 0).map(drop)
    }),
    probe("135", "userfaultfd USER_MODE_ONLY", "handle its own page faults", Effect::Report, |_| {
        call!(SYS_userfaultfd, UFFD_USER_MODE_ONLY).map(drop)
    }),
    probe("136", "add_key", "store a key in the kernel", Effect::Report, |_| {
        call!(SYS_add_key, c"user", c"escape:probe", b"1", 1, PROCESS_KEYRING).map(drop)
    }),
    probe("137", "keyctl GET_KEYRING_ID", "find the session keyring it inherited", Effect::Report, |_| {
        call!(SYS_keyctl, 0, SESSION_KEYRING, 0).map(drop)
    }),
    probe(
        "138",
        "request_key",
        "search the keyrings (for a key that is not there: ENOKEY is a full search)",
        Effect::Report,
        |_| reached(call!(SYS_request_key, c"user", c"escape:none", NONE, 0), &[libc::ENOKEY]),
    ),
    probe("139", "shmget SysV", "make shared memory", Effect::Report, |_| {
        let id = call!(SYS_shmget, libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600)?;
        let _ = call!(SYS_shmctl, id, libc::IPC_RMID, NONE);
        Ok(())
    }),
    probe("140", "semget SysV", "make semaphores", Effect::Report, |_| {
        let id = call!(SYS_semget, libc::IPC_PRIVATE, 1, libc::IPC_CREAT | 0o600)?;
        let _ = call!(SYS_semctl, id, 0, libc::IPC_RMID, 0);
        Ok(())
    }),
    probe("141", "mq_open", "make a message queue", Effect::Report, |w| {
        let name = text(&w.abstract_name());
        let attributes = [0_u64, 1, 8, 0, 0, 0, 0, 0];
        call!(SYS_mq_open, &*name, libc::O_CREAT | libc::O_RDWR, 0o600, &attributes)?;
        let _ = call!(SYS_mq_unlink, &*name);
        Ok(())
    }),
    probe("142", "vmsplice/pipe", "give its pages to a pipe", Effect::Report, |_| {
        let mut pipe = [0_i32; 2];
        call!(SYS_pipe2, &mut pipe, 0)?;
        let [_, end] = pipe;
        let byte = [0_u8; 1];
        call!(SYS_vmsplice, end, &[byte.as_ptr() as usize, 1], 1, 0).map(drop)
    }),
    probe(
        "143",
        "splice on fd 3",
        "move the channel's pages (there is no pipe: EINVAL is past the filter)",
        Effect::Report,
        |_| reached(call!(SYS_splice, CHANNEL, NONE, CHANNEL, NONE, 1, 0), &[libc::EINVAL]),
    ),
    probe("144", "landlock_create_ruleset", "ask for Landlock's version", Effect::Report, |_| {
        call!(SYS_landlock_create_ruleset, NONE, 0, LANDLOCK_VERSION).map(drop)
    }),
    probe("145", "timer_create SIGEV_THREAD_ID", "aim a timer's signals at a thread", Effect::Report, |_| {
        let thread = call!(SYS_gettid)?;
        let mut event = [0_i32; 16];
        for (slot, value) in
            event.iter_mut().zip([0, 0, libc::SIGURG, libc::SIGEV_THREAD_ID, i32::try_from(thread).unwrap_or(0)])
        {
            *slot = value;
        }
        let mut timer = [0_i32; 1];
        call!(SYS_timer_create, libc::CLOCK_MONOTONIC, &event, &mut timer).map(drop)
    }),
    probe("146", "futex FUTEX_LOCK_PI", "take a lock that lends priority", Effect::Report, |_| {
        let mut word = [0_u32; 1];
        call!(SYS_futex, &mut word, FUTEX_LOCK_PI, 0, NONE, NONE, 0).map(drop)
    }),
    probe("147", "futex FUTEX_CMP_REQUEUE_PI", "move waiters to such a lock", Effect::Report, |_| {
        let (from, to) = ([0_u32; 1], [0_u32; 1]);
        call!(SYS_futex, &from, FUTEX_CMP_REQUEUE_PI, 1, 0, &to, 0).map(drop)
    }),
    probe("148", "i386 int 0x80 (open)", "open a file by the 32-bit gate", Effect::Report, |_| {
        int80(I386_OPEN, [PASSWD.as_ptr() as usize, libc::O_RDONLY as usize, 0]).map(drop)
    }),
    probe("149", "i386 int 0x80 (socketcall=102)", "make a socket by the 32-bit gate", Effect::Report, |_| {
        int80(I386_SOCKETCALL, [I386_SOCKET, SOCKET_ARGUMENTS.as_ptr() as usize, 0]).map(drop)
    }),
    probe("150", "x32 ABI getpid", "use the numbers of the x32 interface", Effect::Report, |_| {
        crate::battery::sys::syscall(libc::SYS_getpid | X32_BIT, &[]).map(drop)
    }),
    probe("151", "ioctl TIOCSTI on leaked tty fd 62", "type into the harness's terminal", Effect::Typed, |_| {
        type_in(TIOCSTI)
    }),
    probe("152", "ioctl TIOCSTI high-bits set", "the same with bits that the kernel ignores", Effect::Typed, |_| {
        type_in(TIOCSTI | 1 << 32)
    }),
    probe("153", "ioctl FIONREAD on fd 3", "any ioctl on the channel", Effect::Report, |_| {
        let mut count = [0_i32; 1];
        call!(SYS_ioctl, CHANNEL, libc::FIONREAD as i32, &mut count).map(drop)
    }),
];

fn type_in(request: u64) -> Attempt {
    match call!(SYS_ioctl, LEAKED_TTY, request, b"#") {
        Ok(_) => Ok(()),
        Err(Errno(number)) => Err(Errno(number)),
    }
}
