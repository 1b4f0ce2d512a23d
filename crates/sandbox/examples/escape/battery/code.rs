//! Machine code the probes try to get executed.

/// `mov eax, 42; ret`.
pub(crate) const RETURN_42: [u8; 6] = [0xb8, 42, 0, 0, 0, 0xc3];

/// A whole static ELF program that writes `W\n` to descriptor `fd` and exits 0: small enough to be carried as data by a
/// process that has no file to copy, and its report proves that it really ran.
pub(crate) fn program(fd: u8) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let code: [u8; 35] = [
        0xbf, fd, 0, 0, 0, // mov edi, fd
        0x48, 0x8d, 0x35, 21, 0, 0, 0, // lea rsi, [rip + 21]
        0xba, 2, 0, 0, 0, // mov edx, 2
        0xb8, 1, 0, 0, 0, // mov eax, 1 (write)
        0x0f, 0x05, // syscall
        0x31, 0xff, // xor edi, edi
        0xb8, 60, 0, 0, 0, // mov eax, 60 (exit)
        0x0f, 0x05, // syscall
        b'W', b'\n',
    ];
    let size = HEADERS + code.len() as u64;
    let mut elf = Vec::with_capacity(256);
    elf.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    elf.extend_from_slice(&2_u16.to_le_bytes()); // ET_EXEC
    elf.extend_from_slice(&62_u16.to_le_bytes()); // EM_X86_64
    elf.extend_from_slice(&1_u32.to_le_bytes());
    elf.extend_from_slice(&(BASE + HEADERS).to_le_bytes()); // entry
    elf.extend_from_slice(&64_u64.to_le_bytes()); // program headers
    elf.extend_from_slice(&0_u64.to_le_bytes()); // section headers
    elf.extend_from_slice(&0_u32.to_le_bytes()); // flags
    for half in [64_u16, 56, 1, 0, 0, 0] {
        elf.extend_from_slice(&half.to_le_bytes());
    }
    elf.extend_from_slice(&1_u32.to_le_bytes()); // PT_LOAD
    elf.extend_from_slice(&5_u32.to_le_bytes()); // R+X
    for word in [0, BASE, BASE, size, size, 0x1000] {
        elf.extend_from_slice(&word.to_le_bytes());
    }
    elf.extend_from_slice(&code);
    elf
}
