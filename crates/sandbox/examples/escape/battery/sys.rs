//! Raw kernel entry for the probes: the only unsafe code of the battery.
//!
//! A probe has to reach the kernel the way hostile machine code would: no libc wrapper that refuses an odd argument, no
//! cached pid, no errno slot. Everything here takes borrowed memory ([`Arg`]) or plain numbers, so that the probes themselves
//! stay free of `unsafe`.
#![expect(
    unsafe_code,
    reason = "probes issue raw system calls, foreign-ABI calls and generated code; nothing else does"
)]

use std::arch::{asm, x86_64::_rdtsc};
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use super::errno::Errno;

/// One system-call argument. A pointer argument borrows what it points to for as long as the call may use it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg<'a>(usize, PhantomData<&'a ()>);

/// An address as a number, for attacks on address space itself (never for memory the Rust side owns).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) usize);

macro_rules! number_arg {
    ($($number:ty),*) => {$(
        impl From<$number> for Arg<'_> {
            fn from(value: $number) -> Self {
                Self(value as isize as usize, PhantomData)
            }
        }
    )*};
}
number_arg!(i32, u32, i64, u64, usize);

impl From<Address> for Arg<'_> {
    fn from(value: Address) -> Self {
        Self(value.0, PhantomData)
    }
}

impl<'a> From<&'a CStr> for Arg<'a> {
    fn from(value: &'a CStr) -> Self {
        Self(value.as_ptr() as usize, PhantomData)
    }
}

macro_rules! memory_arg {
    ($($item:ty),*) => {$(
        impl<'a, const N: usize> From<&'a [$item; N]> for Arg<'a> {
            fn from(value: &'a [$item; N]) -> Self {
                Self(value.as_ptr() as usize, PhantomData)
            }
        }
        impl<'a, const N: usize> From<&'a mut [$item; N]> for Arg<'a> {
            fn from(value: &'a mut [$item; N]) -> Self {
                Self(value.as_mut_ptr() as usize, PhantomData)
            }
        }
        impl<'a> From<&'a [$item]> for Arg<'a> {
            fn from(value: &'a [$item]) -> Self {
                Self(value.as_ptr() as usize, PhantomData)
            }
        }
        impl<'a> From<&'a mut [$item]> for Arg<'a> {
            fn from(value: &'a mut [$item]) -> Self {
                Self(value.as_mut_ptr() as usize, PhantomData)
            }
        }
    )*};
}
memory_arg!(u8, u16, u32, i32, u64, usize);

/// `call!(SYS_openat, dir, path, flags)`: a raw system call by the name of its number in `libc`.
macro_rules! call {
    ($name:ident $(, $argument:expr)* $(,)?) => {
        $crate::battery::sys::syscall(libc::$name, &[$($crate::battery::sys::Arg::from($argument)),*])
    };
}
pub(crate) use call;

/// Enters the kernel with number `nr` and up to six arguments, without libc in between.
///
/// # Errors
/// The errno the kernel answered.
pub(crate) fn syscall(nr: i64, args: &[Arg<'_>]) -> Result<usize, Errno> {
    let mut six = [0_usize; 6];
    for (slot, arg) in six.iter_mut().zip(args) {
        *slot = arg.0;
    }
    let [a, b, c, d, e, f] = six;
    let result: isize;
    // SAFETY: every pointer among the arguments borrows live memory of this process for the whole call (`Arg`), or is an
    // address that a probe mapped itself; the clobbers are those of the x86-64 system-call ABI.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") nr as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    Errno::check(result)
}

/// Enters the kernel through the 32-bit gate (`int 0x80`), where system calls have other numbers.
///
/// # Errors
/// The errno the kernel answered, or `EFAULT` if an address does not fit into 32 bits.
pub(crate) fn int80(nr: u32, args: [usize; 3]) -> Result<usize, Errno> {
    let mut low = [0_u32; 3];
    for (slot, arg) in low.iter_mut().zip(args) {
        *slot = u32::try_from(arg).map_err(|_| Errno(libc::EFAULT))?;
    }
    let [a, b, c] = low;
    let result: i64;
    // SAFETY: the arguments are numbers or addresses of statics below 4 GiB; rbx is saved around the call because LLVM
    // reserves it, and the 32-bit gate may clobber r8-r11.
    unsafe {
        asm!(
            "xchg {b:r}, rbx",
            "int 0x80",
            "xchg {b:r}, rbx",
            b = inout(reg) u64::from(a) => _,
            inlateout("rax") u64::from(nr) => result,
            in("rcx") u64::from(b), in("rdx") u64::from(c), in("rsi") 0_u64, in("rdi") 0_u64,
            lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
        );
    }
    #[expect(clippy::cast_possible_truncation, reason = "the 32-bit gate answers in eax")]
    let result = result as i32;
    Errno::check(isize::try_from(result).unwrap_or(-1))
}

/// Reads the time-stamp counter.
pub(crate) fn rdtsc() -> u64 {
    // SAFETY: rdtsc has no precondition; where it is disabled the process gets SIGSEGV, which is a result here.
    unsafe { _rdtsc() }
}

/// Calls the machine code at `code`, which must be the bytes of [`super::code::RETURN_42`].
pub(crate) fn execute(code: Address) -> u32 {
    let result: u32;
    // SAFETY: the probe has just written `mov eax, 42; ret` there and made the page executable; the code touches only eax.
    unsafe {
        asm!("call {code}", code = in(reg) code.0, out("eax") result, clobber_abi("sysv64"));
    }
    result
}

#[repr(align(4096))]
struct Page(UnsafeCell<[u8; 4096]>);
// SAFETY: written by one thread, before anything reads it.
unsafe impl Sync for Page {}
static PAGE: Page = Page(UnsafeCell::new([0; 4096]));

/// Copies `code` to a page of this program's own data.
pub(crate) fn code_page(code: &[u8]) -> Address {
    let page = Address(PAGE.0.get() as usize);
    poke(page, code);
    page
}

/// Copies `bytes` to an address that the probe mapped itself.
pub(crate) fn poke(to: Address, bytes: &[u8]) {
    // SAFETY: the probe got `to` from a successful mmap or shmat of at least one page, writable, or it is `PAGE`.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.0 as *mut u8, bytes.len()) }
}

/// A descriptor that the spawner left open for the whole life of this process.
pub(crate) fn inherited(fd: i32) -> BorrowedFd<'static> {
    // SAFETY: nothing in this process owns or closes the descriptor before its last use; a closed one only makes calls fail.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

static THREAD_RAN: AtomicU32 = AtomicU32::new(0);
const SPINS: u32 = 100_000;

/// Starts a raw thread that shares everything with this process, marks that it ran, and ends.
///
/// # Errors
/// The errno of `clone`, or `ETIME` if the thread was made but never ran.
pub(crate) fn thread() -> Result<(), Errno> {
    let mut stack = [0_u64; 64];
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM;
    let top = stack.as_mut_ptr_range().end as usize & !15;
    let result: isize;
    // SAFETY: the new thread runs only the four instructions below: it uses neither stack nor thread-local storage, writes
    // one static, and exits; the parent waits for that write.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov dword ptr [r9], 1",
            "xor edi, edi",
            "mov eax, 60",
            "syscall",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => result,
            inlateout("rdi") flags as isize => _, in("rsi") top, in("rdx") 0, in("r10") 0, in("r8") 0,
            in("r9") THREAD_RAN.as_ptr(),
            lateout("rcx") _, lateout("r11") _,
        );
    }
    Errno::check(result)?;
    for _ in 0..SPINS {
        if THREAD_RAN.load(Ordering::Acquire) == 1 {
            return Ok(());
        }
        let _ = call!(SYS_sched_yield);
    }
    Err(Errno(libc::ETIME))
}
