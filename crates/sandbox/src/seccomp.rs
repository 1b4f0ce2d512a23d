//! From an allow-list to a BPF program: a balanced tree over the system call numbers.
//!
//! The kernel evaluates a new filter once for every system call number to fill its cache of constant answers, so installing
//! costs as much as the average path is long: a tree of 340 instructions takes 76 µs where a chain of 950 takes 600 (SANDBOX §4.3).
//!
//! Order: architecture (another one ends the process: `int 0x80` carries other numbers), the x32 bit, then the tree; a call with
//! argument rules ends in a block that tries them in order. Format: `linux/seccomp.h`, `linux/bpf_common.h`.

use crate::instruction::Instruction;
use crate::profile::{Action, Condition, Profile, Rule, Width};
use crate::syscalls;

// linux/bpf_common.h
pub(crate) const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
pub(crate) const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
pub(crate) const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
pub(crate) const JUMP_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
pub(crate) const JUMP_GREATER_OR_EQUAL: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
pub(crate) const RETURN: u16 = 0x06; // BPF_RET | BPF_K

// struct seccomp_data
pub(crate) const OFFSET_NUMBER: u32 = 0;
pub(crate) const OFFSET_ARCH: u32 = 4;
pub(crate) const OFFSET_ARGUMENTS: u32 = 16;

/// `AUDIT_ARCH_*` of this architecture: what the filter compares first (`linux/audit.h`).
#[cfg(target_arch = "x86_64")]
pub(crate) const AUDIT_ARCH: u32 = 0xC000_003E;

/// Numbers with this bit belong to the x32 ABI, which no list allows.
#[cfg(target_arch = "x86_64")]
pub(crate) const FOREIGN_ABI_BIT: u32 = 0x4000_0000;

/// `BPF_MAXINSNS`.
const MOST_INSTRUCTIONS: usize = 4096;

const fn statement(code: u16, k: u32) -> Instruction {
    Instruction { code, jt: 0, jf: 0, k }
}

const fn branch(code: u16, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code, jt, jf, k }
}

impl Action {
    /// The value that the filter returns (`SECCOMP_RET_*`).
    pub(crate) const fn code(self) -> u32 {
        // The numbers are EPERM, ENOSYS and EAFNOSUPPORT (asm-generic/errno.h); the build has no libc.
        const ERRNO: u32 = 0x0005_0000;
        match self {
            Self::Allow => 0x7FFF_0000,
            Self::Kill => 0x8000_0000,
            Self::Report => 0x7FC0_0000,
            Self::Eperm => ERRNO | 1,
            Self::Enosys => ERRNO | 38,
            Self::Eafnosupport => ERRNO | 97,
        }
    }
}

/// More instructions than the kernel takes (4096) or a jump can span (255).
#[derive(Debug, thiserror::Error)]
#[error("seccomp: the filter is too large ({0} instructions)")]
pub(crate) struct TooLarge(usize);

/// Compiles a list.
///
/// # Errors
/// [`TooLarge`]: the build fails.
pub(crate) fn compile(profile: &Profile) -> Result<Vec<Instruction>, TooLarge> {
    let mut code = vec![
        statement(LOAD, OFFSET_ARCH),
        branch(JUMP_EQUAL, AUDIT_ARCH, 1, 0),
        statement(RETURN, Action::Kill.code()),
        statement(LOAD, OFFSET_NUMBER),
    ];
    code.extend(tree(profile, &segments(profile))?);
    if code.len() > MOST_INSTRUCTIONS { Err(TooLarge(code.len())) } else { Ok(code) }
}

/// A run of numbers with the same answer, from `start` to the next segment's start.
#[derive(Debug, Clone, Copy)]
struct Segment<'a> {
    start: u32,
    answer: Answer<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer<'a> {
    Constant(Action),
    Rules(&'a [Rule]),
}

fn segments<'a>(profile: &'a Profile) -> Vec<Segment<'a>> {
    let beyond = syscalls::TABLE.last().map_or(0, |(_, number)| number + 1);
    let mut out: Vec<Segment<'a>> = Vec::new();
    let mut push = |start: u32, answer: Answer<'a>| match out.last() {
        Some(last) if last.answer == answer => {}
        _ => out.push(Segment { start, answer }),
    };
    for number in 0..beyond {
        let answer = match profile.rules.get(&number).map(Vec::as_slice) {
            None => Answer::Constant(profile.default),
            Some([first, ..]) if first.when.is_empty() => Answer::Constant(first.action),
            Some(rules) => Answer::Rules(rules),
        };
        push(number, answer);
    }
    push(beyond, Answer::Constant(profile.beyond));
    // The x32 ABI is another set of calls: a number with its bit set ends the process, in every list.
    push(FOREIGN_ABI_BIT, Answer::Constant(Action::Kill));
    out
}

fn tree(profile: &Profile, segments: &[Segment<'_>]) -> Result<Vec<Instruction>, TooLarge> {
    let (left, right) = segments.split_at(segments.len() / 2);
    let (Some(pivot), false) = (right.first(), left.is_empty()) else {
        return match segments.first().map(|only| only.answer) {
            Some(Answer::Rules(rules)) => argument_block(profile, rules),
            Some(Answer::Constant(action)) => Ok(vec![statement(RETURN, action.code())]),
            None => Ok(vec![statement(RETURN, Action::Kill.code())]),
        };
    };
    let below = tree(profile, left)?;
    let above = tree(profile, right)?;
    let mut code = Vec::with_capacity(below.len() + above.len() + 2);
    match u8::try_from(below.len()) {
        Ok(distance) => code.push(branch(JUMP_GREATER_OR_EQUAL, pivot.start, distance, 0)),
        Err(_) => {
            let distance = u32::try_from(below.len()).map_err(|_| TooLarge(below.len()))?;
            code.push(branch(JUMP_GREATER_OR_EQUAL, pivot.start, 0, 1));
            code.push(statement(JUMP, distance));
        }
    }
    code.extend(below);
    code.extend(above);
    Ok(code)
}

/// Tries the rules of one call in order; the list's default when none matches.
fn argument_block(profile: &Profile, rules: &[Rule]) -> Result<Vec<Instruction>, TooLarge> {
    let mut code = Vec::new();
    for rule in rules {
        let mut steps: Vec<Step> = rule.when.iter().flat_map(condition_steps).collect();
        steps.push(Step::Plain(statement(RETURN, rule.action.code())));
        let length = steps.len();
        for (position, step) in steps.into_iter().enumerate() {
            code.push(step.at(length - position - 1)?);
        }
    }
    code.push(statement(RETURN, profile.default.code()));
    Ok(code)
}

/// An instruction of a condition before its way out is known.
enum Step {
    Plain(Instruction),
    /// Compare with a value: equal goes on after `skip` instructions, unequal tries the next value or leaves the rule.
    Equal {
        value: u32,
        skip: usize,
        otherwise: Otherwise,
    },
}

enum Otherwise {
    /// Go on with the next instruction.
    Next,
    /// Skip so many instructions (the rest of this value's halves).
    Skip(usize),
    /// The rule does not match.
    Leave,
}

impl Step {
    /// `rest`: how many instructions of the rule follow this one.
    fn at(self, rest: usize) -> Result<Instruction, TooLarge> {
        let short = |distance: usize| u8::try_from(distance).map_err(|_| TooLarge(distance));
        match self {
            Self::Plain(instruction) => Ok(instruction),
            Self::Equal { value, skip, otherwise } => {
                let no = match otherwise {
                    Otherwise::Next => 0,
                    Otherwise::Skip(count) => count,
                    Otherwise::Leave => rest,
                };
                Ok(branch(JUMP_EQUAL, value, short(skip)?, short(no)?))
            }
        }
    }
}

fn condition_steps(condition: &Condition) -> Vec<Step> {
    let low_offset = OFFSET_ARGUMENTS + 8 * u32::from(condition.arg);
    let low = |value: u64| (value & u64::from(u32::MAX)) as u32;
    let high = |value: u64| (value >> 32) as u32;
    let load = |offset: u32, mask: u32| {
        let mask = (mask != u32::MAX).then(|| Step::Plain(statement(AND, mask)));
        std::iter::once(Step::Plain(statement(LOAD, offset))).chain(mask)
    };
    let count = condition.values.len();
    let mut steps = Vec::new();
    match condition.width {
        Width::Int => {
            steps.extend(load(low_offset, low(condition.mask)));
            for (position, value) in condition.values.iter().enumerate() {
                let left = count - position - 1;
                let otherwise = if left == 0 { Otherwise::Leave } else { Otherwise::Next };
                steps.push(Step::Equal { value: low(*value), skip: left, otherwise });
            }
        }
        Width::Pointer => {
            let low_load = load(low_offset, low(condition.mask)).count();
            let high_load = load(low_offset + 4, high(condition.mask)).count();
            let per_value = low_load + 1 + high_load + 1;
            for (position, value) in condition.values.iter().enumerate() {
                let left = count - position - 1;
                let give_up = |skip| if left == 0 { Otherwise::Leave } else { Otherwise::Skip(skip) };
                steps.extend(load(low_offset, low(condition.mask)));
                steps.push(Step::Equal { value: low(*value), skip: 0, otherwise: give_up(high_load + 1) });
                steps.extend(load(low_offset + 4, high(condition.mask)));
                steps.push(Step::Equal { value: high(*value), skip: left * per_value, otherwise: give_up(0) });
            }
        }
    }
    steps
}

#[cfg(test)]
#[path = "seccomp/tests.rs"]
mod tests;
