//! Probes 43-57: other programs, more processes, and code that was not in the program.

use libc::{AT_EMPTY_PATH, MAP_ANONYMOUS, MAP_PRIVATE, O_RDONLY, PROT_EXEC, PROT_READ, PROT_WRITE};

use crate::battery::code::{RETURN_42, program};
use crate::battery::errno::Errno;
use crate::battery::probe::{Attempt, CHANNEL, Effect, Probe, forked, must, open, probe, reap};
use crate::battery::sys::{self, Address, call};

const PAGE: usize = 4096;
const READ_IMPLIES_EXEC: u32 = 0x40_0000;
const SHM_EXEC: i32 = 0o100_000;
const NONE: Address = Address(0);

pub(super) const PROBES: &[Probe] = &[
    probe("43", "execve /bin/true", "fork and run a host program", Effect::Report, |_| {
        let code = forked(0, || {
            let argv = [c"true".as_ptr() as usize, 0];
            let _ = call!(SYS_execve, c"/bin/true", &argv, NONE);
            127
        })?;
        if code == 0 { Ok(()) } else { Err(Errno(libc::ENOEXEC)) }
    }),
    probe("44", "execve direct (no fork)", "become a host program", Effect::Exec, |_| {
        let argv = [c"true".as_ptr() as usize, 0];
        call!(SYS_execve, c"/bin/true", &argv, NONE).map(drop)
    }),
    probe("45", "memfd_create", "make a file that is in no folder", Effect::Report, |_| {
        call!(SYS_memfd_create, c"probe", 0).map(drop)
    }),
    probe("46", "memfd + execveat AT_EMPTY_PATH", "write a program into memory and become it", Effect::Exec, |_| {
        let fd = call!(SYS_memfd_create, c"probe", 0)?;
        let elf = program(CHANNEL as u8);
        call!(SYS_write, fd, &*elf, elf.len())?;
        let argv = [c"probe".as_ptr() as usize, 0];
        call!(SYS_execveat, fd, c"", &argv, NONE, AT_EMPTY_PATH).map(drop)
    }),
    probe("47", "execveat self exe fd", "start its own program again, unsealed", Effect::Exec, |_| {
        let fd = open(c"/proc/self/exe", O_RDONLY)?;
        let argv = [c"escape".as_ptr() as usize, c"--say".as_ptr() as usize, 0];
        call!(SYS_execveat, fd, c"", &argv, NONE, AT_EMPTY_PATH).map(drop)
    }),
    probe("48", "memfd_secret", "make memory that not even the kernel maps", Effect::Report, |_| {
        call!(SYS_memfd_secret, 0).map(drop)
    }),
    probe("49", "fork", "make a process", Effect::Report, |_| forked(0, || 0).map(drop)),
    probe("50", "clone thread (CLONE_VM|CLONE_THREAD)", "make a thread", Effect::Report, |_| sys::thread()),
    probe("51", "clone3 new process", "make a process by the newer call", Effect::Report, |_| {
        let mut arguments = [0_u64; 11];
        if let Some(exit_signal) = arguments.get_mut(4) {
            *exit_signal = libc::SIGCHLD as u64;
        }
        let pid = call!(SYS_clone3, &arguments, 88)?;
        if pid == 0 {
            let _ = call!(SYS_exit_group, 0);
        }
        reap(pid).map(drop)
    }),
    probe("52", "mmap PROT_EXEC anonymous", "map executable memory", Effect::Report, |_| {
        map(PROT_READ | PROT_EXEC).map(drop)
    }),
    probe("53", "mmap W|X", "write code and run it", Effect::Report, |_| run(map(PROT_READ | PROT_WRITE | PROT_EXEC)?)),
    probe(
        "54",
        "mprotect to PROT_EXEC",
        "write code, then make its page executable and run it",
        Effect::Report,
        |_| {
            let page = map(PROT_READ | PROT_WRITE)?;
            sys::poke(page, &RETURN_42);
            call!(SYS_mprotect, page, PAGE, PROT_READ | PROT_EXEC)?;
            must(sys::execute(page) == 42)
        },
    ),
    probe("55", "pkey_mprotect exec", "the same by the call with a protection key", Effect::Report, |_| {
        let page = map(PROT_READ | PROT_WRITE)?;
        sys::poke(page, &RETURN_42);
        call!(SYS_pkey_mprotect, page, PAGE, PROT_READ | PROT_EXEC, -1)?;
        must(sys::execute(page) == 42)
    }),
    probe("56", "personality READ_IMPLIES_EXEC", "make all later readable memory executable", Effect::Report, |_| {
        call!(SYS_personality, READ_IMPLIES_EXEC)?;
        run(map(PROT_READ | PROT_WRITE)?)
    }),
    probe("57", "shmat SHM_EXEC", "attach shared memory executable and run it", Effect::Report, |_| {
        let id = call!(SYS_shmget, libc::IPC_PRIVATE, PAGE, libc::IPC_CREAT | 0o700)?;
        let attached = call!(SYS_shmat, id, NONE, SHM_EXEC);
        let _ = call!(SYS_shmctl, id, libc::IPC_RMID, NONE);
        run(Address(attached?))
    }),
];

fn map(protection: i32) -> Result<Address, Errno> {
    call!(SYS_mmap, NONE, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0).map(Address)
}

fn run(page: Address) -> Attempt {
    sys::poke(page, &RETURN_42);
    must(sys::execute(page) == 42)
}
