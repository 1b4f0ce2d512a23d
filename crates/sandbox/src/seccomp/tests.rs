//! The compiled tree answers as the list does, for every call and for random arguments.

use proptest::prelude::*;

use super::*;
use crate::filter::Filter;
use crate::name::{ProfileName, Variant};
use crate::profile::number;

/// What the list says, read straight from it.
fn expected(profile: &Profile, arch: u32, number: u32, arguments: [u64; 6]) -> Action {
    if arch != AUDIT_ARCH || number & 0x8000_0000 != 0 || number & FOREIGN_ABI_BIT != 0 {
        return Action::Kill;
    }
    if syscalls::TABLE.iter().all(|(_, known)| *known < number) {
        return profile.beyond;
    }
    profile.rules.get(&number).map_or(profile.default, |rules| {
        rules
            .iter()
            .find(|rule| rule.when.iter().all(|condition| condition.holds(arguments)))
            .map_or(profile.default, |rule| rule.action)
    })
}

/// A classic BPF machine for the instructions that the generator uses; anything else, or a jump past the end, panics.
fn run(code: &[Instruction], arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let mut data = Vec::new();
    data.extend(number.to_le_bytes());
    data.extend(arch.to_le_bytes());
    data.extend(0u64.to_le_bytes());
    for argument in arguments {
        data.extend(argument.to_le_bytes());
    }
    let (mut accumulator, mut at) = (0u32, 0usize);
    loop {
        let instruction = code[at];
        at += 1;
        match instruction.code {
            LOAD => {
                let offset = instruction.k as usize;
                accumulator = u32::from_le_bytes(data[offset..offset + 4].try_into().unwrap());
            }
            AND => accumulator &= instruction.k,
            JUMP => at += instruction.k as usize,
            JUMP_EQUAL => at += usize::from(if accumulator == instruction.k { instruction.jt } else { instruction.jf }),
            JUMP_GREATER_OR_EQUAL => {
                at += usize::from(if accumulator >= instruction.k { instruction.jt } else { instruction.jf });
            }
            RETURN => return instruction.k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

const LISTS: [ProfileName; 9] = [
    ProfileName::Planner,
    ProfileName::Executor,
    ProfileName::PlannerWatched,
    ProfileName::ExecutorWatched,
    ProfileName::Builtin,
    ProfileName::StepInit(Variant::Exact),
    ProfileName::StepInit(Variant::Toolchain),
    ProfileName::Program(Variant::Exact),
    ProfileName::Program(Variant::Toolchain),
];

fn check(profile: &Profile, code: &[Instruction], arch: u32, number: u32, arguments: [u64; 6]) {
    let expected = expected(profile, arch, number, arguments);
    assert_eq!(run(code, arch, number, arguments), expected.code(), "call {number} {arguments:x?}");
}

/// Argument values at which some rule of some list changes its mind, each also with dirt in the upper half.
fn interesting() -> Vec<u64> {
    let mut values = vec![0, 1, 2, 3, u64::MAX, 1 << 32, u64::from(u32::MAX)];
    for name in LISTS {
        let profile = Profile::load(name).unwrap();
        for condition in profile.rules.values().flatten().flat_map(|rule| &rule.when) {
            values.extend(
                condition.values.iter().flat_map(|value| [*value, value + 1, value | 1 << 32, value ^ (1 << 31)]),
            );
            values.extend([condition.mask, condition.mask >> 1]);
        }
    }
    values.sort_unstable();
    values.dedup();
    values
}

#[test]
fn every_number_answers_as_its_list_says() {
    let values = interesting();
    for name in LISTS {
        let profile = Profile::load(name).unwrap();
        let filter = compile(&profile).unwrap();
        for number in (0..600).chain([0x3fff_ffff, 0x4000_0000, 0x4000_0001, 0x4000_0000 | 59, 0x8000_0000, u32::MAX]) {
            check(&profile, &filter, AUDIT_ARCH, number, [0; 6]);
            check(&profile, &filter, 0x4000_0003, number, [0; 6]);
            for rule in profile.rules.get(&number).into_iter().flatten() {
                for condition in &rule.when {
                    for value in &values {
                        let mut arguments = [0; 6];
                        arguments[usize::from(condition.arg)] = *value;
                        check(&profile, &filter, AUDIT_ARCH, number, arguments);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_calls_answer_as_their_list_says(
        list in 0..LISTS.len(),
        number in prop_oneof![8 => 0u32..480, 1 => any::<u32>()],
        picks in prop::array::uniform6(prop_oneof![any::<u64>(), any::<u32>().prop_map(u64::from), 0u64..20, prop::sample::select(interesting())]),
    ) {
        let profile = Profile::load(LISTS[list]).unwrap();
        let filter = compile(&profile).unwrap();
        check(&profile, &filter, AUDIT_ARCH, number, picks);
    }
}

#[test]
fn a_pointer_is_compared_in_both_halves_and_an_int_in_one() {
    let planner = compile(&Profile::load(ProfileName::Planner).unwrap()).unwrap();
    let sendto = number("sendto").unwrap();
    let address = |value| run(&planner, AUDIT_ARCH, sendto, [3, 0, 0, 0, value, 0]);
    assert_eq!(address(0), Action::Allow.code());
    assert_eq!(address(1), Action::Kill.code());
    assert_eq!(address(0x7f00_0000_0000), Action::Kill.code(), "the low half of this address is zero");

    let program = compile(&Profile::load(ProfileName::Program(Variant::Toolchain)).unwrap()).unwrap();
    let ioctl = number("ioctl").unwrap();
    let request = |value| run(&program, AUDIT_ARCH, ioctl, [0, value, 0, 0, 0, 0]);
    assert_eq!(request(0x5412), Action::Eperm.code());
    assert_eq!(request(0xdead_0000_5412), Action::Eperm.code(), "the kernel drops the upper half");
    assert_eq!(request(0x5401), Action::Allow.code());
}

#[test]
fn the_trees_stay_shallow() {
    for name in LISTS {
        let filter = compile(&Profile::load(name).unwrap()).unwrap();
        assert!(filter.len() < 800, "{name:?}: {}", filter.len());
        let longest = (0..463).map(|number| path(&filter, number)).max().unwrap();
        assert!(longest <= 60, "{name:?}: {longest}");
    }
}

/// Instructions on the way to the answer for a call with zero arguments.
fn path(code: &[Instruction], number: u32) -> usize {
    let (mut at, mut steps, mut accumulator) = (0usize, 0usize, 0u32);
    loop {
        let instruction = code[at];
        at += 1;
        steps += 1;
        match instruction.code {
            LOAD => {
                accumulator = match instruction.k {
                    OFFSET_NUMBER => number,
                    OFFSET_ARCH => AUDIT_ARCH,
                    _ => 0,
                }
            }
            JUMP => at += instruction.k as usize,
            JUMP_EQUAL => at += usize::from(if accumulator == instruction.k { instruction.jt } else { instruction.jf }),
            JUMP_GREATER_OR_EQUAL => {
                at += usize::from(if accumulator >= instruction.k { instruction.jt } else { instruction.jf });
            }
            RETURN => return steps,
            _ => {}
        }
    }
}

/// What is installed is what the list in the tree says, not what it said when something was built.
#[test]
fn the_built_filters_are_those_of_the_lists() {
    let built = LISTS.into_iter().filter(|name| !matches!(name, ProfileName::Program(_)));
    let second =
        [ProfileName::TakeBack(Variant::Exact), ProfileName::TakeBack(Variant::Toolchain), ProfileName::Unwatch];
    for name in built.chain(second) {
        assert_eq!(Filter::of(name).code(), compile(&Profile::load(name).unwrap()).unwrap(), "{name:?}");
    }
}

/// A tool is under two filters, of which the stricter answer counts; together they are the program's list.
#[test]
fn the_filters_of_a_tool_make_up_the_programs_list() {
    let strictness = |answer: u32| match answer {
        0x8000_0000 => 2,
        0x7fff_0000 => 0,
        _ => 1,
    };
    let values = interesting();
    for variant in [Variant::Exact, Variant::Toolchain] {
        let program = Profile::load(ProfileName::Program(variant)).unwrap();
        let init = Filter::of(ProfileName::StepInit(variant));
        let take_back = Filter::of(ProfileName::TakeBack(variant));
        assert!(take_back.code().len() < 40, "{}", take_back.code().len());
        let check = |number: u32, arguments: [u64; 6]| {
            let answers = [init, take_back].map(|filter| run(filter.code(), AUDIT_ARCH, number, arguments));
            // Of equally strict answers the newer filter's counts.
            let strictest = answers.into_iter().rev().max_by_key(|answer| strictness(*answer)).unwrap();
            let newest = if strictness(answers[1]) == strictness(answers[0]) { answers[1] } else { strictest };
            assert_eq!(newest, expected(&program, AUDIT_ARCH, number, arguments).code(), "{number} {arguments:x?}");
        };
        for number in (0..600).chain([0x4000_0000, u32::MAX]) {
            check(number, [0; 6]);
            let ruled = program.rules.get(&number).is_some_and(|rules| rules.iter().any(|rule| !rule.when.is_empty()));
            for argument in (0..6).filter(|_| ruled) {
                for value in &values {
                    let mut arguments = [0; 6];
                    arguments[argument] = *value;
                    check(number, arguments);
                }
            }
        }
    }
}

/// A planner or executor whose spawner listens is under two filters; together they are its list, except that most of what would be killed is told first.
#[test]
fn the_filters_of_a_watched_child_make_up_its_list() {
    let unwatch = Filter::of(ProfileName::Unwatch);
    assert!(unwatch.code().len() < 20, "{}", unwatch.code().len());
    let values = interesting();
    for (plain, watched) in
        [(ProfileName::Planner, ProfileName::PlannerWatched), (ProfileName::Executor, ProfileName::ExecutorWatched)]
    {
        let list = Profile::load(plain).unwrap();
        let check = |arch: u32, call: u32, arguments: [u64; 6]| {
            let answers = [watched, ProfileName::Unwatch]
                .map(|name| run(Filter::of(name).code(), arch, call, arguments).cast_signed());
            // The kernel's order: the smaller as a signed number is the stricter.
            let strictest = answers.into_iter().min().unwrap().cast_unsigned();
            match expected(&list, arch, call, arguments) {
                Action::Kill => assert!(
                    [Action::Kill.code(), Action::Report.code()].contains(&strictest),
                    "{plain:?} {call} {arguments:x?}: {strictest:x}"
                ),
                other => assert_eq!(strictest, other.code(), "{plain:?} {call} {arguments:x?}"),
            }
            strictest
        };
        for call in (0..600).chain([0x4000_0000, 0x8000_0000, u32::MAX]) {
            check(AUDIT_ARCH, call, [0; 6]);
            assert_eq!(check(0x4000_0003, call, [0; 6]), Action::Kill.code(), "another architecture");
            let set_free = ["sendmsg", "seccomp"].map(|name| number(name).unwrap());
            let ruled = list.rules.get(&call).is_some_and(|rules| rules.iter().any(|rule| !rule.when.is_empty()));
            for argument in (0..6).filter(|_| ruled || set_free.contains(&call)) {
                for value in &values {
                    let mut arguments = [0; 6];
                    arguments[argument] = *value;
                    check(AUDIT_ARCH, call, arguments);
                }
            }
        }
        let told = |name: &str| check(AUDIT_ARCH, number(name).unwrap(), [3, 0, 0, 0, 0, 0]);
        assert_eq!(told("openat"), Action::Report.code());
        assert_eq!(told("sendmsg"), Action::Kill.code(), "set free for the listener, then taken back");
        assert_eq!(told("seccomp"), Action::Kill.code());
    }
}
