//! What programs do with their arguments, as data: one text file for each area, in the notation of [`grammar`].
//!
//! The entries come from the programs' own manuals. An entry says what each operand and option value is to the program: a
//! file that it reads, writes or deletes, a command that it runs, a host that it talks to. An option that an entry neither
//! lists nor waives (`*`) is unknown, and so is a subcommand.

mod grammar;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

pub(crate) use grammar::{Arity, Entry, FLAG, Opt, Role, Slot, Tag};

const SOURCES: &[(&str, &str)] = &[
    ("files", include_str!("catalogue/files.txt")),
    ("text", include_str!("catalogue/text.txt")),
    ("system", include_str!("catalogue/system.txt")),
    ("wrappers", include_str!("catalogue/wrappers.txt")),
    ("network", include_str!("catalogue/network.txt")),
    ("versions", include_str!("catalogue/versions.txt")),
    ("build", include_str!("catalogue/build.txt")),
    ("packages", include_str!("catalogue/packages.txt")),
    ("containers", include_str!("catalogue/containers.txt")),
    ("cloud", include_str!("catalogue/cloud.txt")),
    ("databases", include_str!("catalogue/databases.txt")),
    ("develop", include_str!("catalogue/develop.txt")),
    ("families", include_str!("catalogue/families.txt")),
    ("further", include_str!("catalogue/further.txt")),
    ("everyday", include_str!("catalogue/everyday.txt")),
    ("services", include_str!("catalogue/services.txt")),
    ("science", include_str!("catalogue/science.txt")),
    ("web", include_str!("catalogue/web.txt")),
    ("hardware", include_str!("catalogue/hardware.txt")),
    ("servers", include_str!("catalogue/servers.txt")),
    ("desk", include_str!("catalogue/desk.txt")),
    ("clouds", include_str!("catalogue/clouds.txt")),
    ("platforms", include_str!("catalogue/platforms.txt")),
    ("workbench", include_str!("catalogue/workbench.txt")),
    ("toolchains", include_str!("catalogue/toolchains.txt")),
    ("administration", include_str!("catalogue/administration.txt")),
    ("operations", include_str!("catalogue/operations.txt")),
    ("laboratory", include_str!("catalogue/laboratory.txt")),
    ("backends", include_str!("catalogue/backends.txt")),
    ("publishing", include_str!("catalogue/publishing.txt")),
    ("mobile", include_str!("catalogue/mobile.txt")),
];

static CATALOGUE: LazyLock<HashMap<&'static str, Arc<Entry>>> = LazyLock::new(|| {
    let mut entries = HashMap::new();
    for (_, source) in SOURCES {
        for (names, entry) in grammar::read(source).unwrap_or_default() {
            let entry = Arc::new(entry);
            for name in names {
                entries.insert(name, Arc::clone(&entry));
            }
        }
    }
    entries
});

/// The entry of a program by its bare name.
pub(crate) fn entry(name: &str) -> Option<&'static Entry> {
    // Those of a device are none here.
    if name.contains(':') {
        return None;
    }
    let known = |name: &str| CATALOGUE.get(name).or_else(|| versioned(name).and_then(|base| CATALOGUE.get(base)));
    // `mkfs.TYPE` makes a file system of whatever type (mkfs(8)).
    let makes = || name.starts_with("mkfs.").then(|| known("mkfs")).flatten();
    known(name).or_else(makes).or_else(|| of_target(name).and_then(known)).map(AsRef::as_ref)
}

/// The entry of a program that a device has, and this machine has not.
pub(crate) fn of_device(name: &str) -> Option<&'static Entry> {
    CATALOGUE.get(format!("android:{name}").as_str()).map(AsRef::as_ref)
}

/// Whether two names are those of one program: `gcc-13`, `x86_64-linux-gnu-gcc`.
pub(crate) fn is_same(name: &str, other: &str) -> bool {
    name == other || entry(name).zip(entry(other)).is_some_and(|(one, two)| std::ptr::eq(one, two))
}

/// What a toolchain for another machine has under the target's name: `arm-none-eabi-objdump`, `x86_64-w64-mingw32-gcc`.
const TARGET_TOOLS: &str = "ar as addr2line c++ c++filt cc clang clang++ cpp elfedit g++ gcc gdb gfortran gprof ld nm objcopy objdump \
    ranlib readelf size strings strip";

/// The host's program of that kind; a target is written in two to four parts that begin with the processor (config.guess).
fn of_target(name: &str) -> Option<&str> {
    let ends = |name: &str| TARGET_TOOLS.split_whitespace().any(|tool| name.ends_with(tool));
    let name = versioned(name).filter(|base| ends(base)).unwrap_or(name);
    let tool = |tool: &&str| name.strip_suffix(*tool).is_some_and(|rest| rest.ends_with('-'));
    let tool = TARGET_TOOLS.split_whitespace().filter(tool).max_by_key(|tool| tool.len())?;
    let target = name.strip_suffix(tool)?.strip_suffix('-')?;
    let processors = [
        "aarch64",
        "arm",
        "avr",
        "i386",
        "i486",
        "i586",
        "i686",
        "loongarch",
        "m68k",
        "mips",
        "msp430",
        "or1k",
        "powerpc",
        "ppc",
        "riscv",
        "s390",
        "sh4",
        "sparc",
        "wasm",
        "x86_64",
        "xtensa",
    ];
    processors.iter().any(|processor| target.starts_with(processor)).then_some(tool)
}

/// `python3.12`, `gcc-13`, `clang++-17`: the same program under a versioned name.
fn versioned(name: &str) -> Option<&str> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    (!base.is_empty() && base.len() < name.len()).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::{CATALOGUE, Role, SOURCES, entry, grammar};

    #[test]
    fn the_tools_of_another_target_are_those_of_the_host() {
        for (name, base) in [
            ("riscv64-unknown-elf-readelf", "readelf"),
            ("aarch64-linux-gnu-g++", "g++"),
            ("i686-w64-mingw32-gcc-13", "gcc"),
            ("avr-objcopy", "objcopy"),
        ] {
            assert!(std::ptr::eq(entry(name).unwrap(), entry(base).unwrap()), "{name}");
        }
        for name in ["evil-objdump", "arm-none-eabi-rm", "arm-none-eabi", "armsize"] {
            assert!(entry(name).is_none(), "{name}");
        }
    }

    #[test]
    fn every_line_of_the_catalogue_can_be_read() {
        for (area, source) in SOURCES {
            if let Err(e) = grammar::read(source) {
                panic!("{area}: {e}");
            }
        }
        assert!(CATALOGUE.len() > 400, "{}", CATALOGUE.len());
    }

    /// Who carries a command reads it once, however often one stands behind the other: twice each would take all time.
    #[test]
    fn a_command_behind_many_carriers_is_read_once() {
        let carries = |entry: &grammar::Entry| {
            let slots = entry.slots.iter().map(|slot| slot.role);
            let values = entry.options.values().filter_map(|option| option.value);
            slots.chain(values).any(|role| matches!(role, Role::Argv | Role::RemoteArgv | Role::Command | Role::Filter))
        };
        let context = countersign_plan::inspection::Context::new("/w", "/home/u");
        let mut tried = 0;
        for (name, entry) in CATALOGUE.iter() {
            let below = entry.subcommands.iter().filter(|(_, entry)| carries(entry));
            let words = below.map(|(words, _)| {
                words.iter().map(|word| word.split('|').next().unwrap_or(word)).collect::<Vec<_>>().join(" ")
            });
            let own = carries(entry).then(String::new);
            for words in own.into_iter().chain(words.take(2)) {
                let _ = crate::shell::shell(&format!("{} true", format!("{name} {words} ").repeat(40)), &context);
                tried += 1;
            }
        }
        assert!(tried > 40, "{tried}");
    }

    #[test]
    fn no_program_is_described_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for (area, source) in SOURCES {
            for (names, _) in grammar::read(source).unwrap_or_default() {
                for name in names {
                    assert!(seen.insert(name), "{area}: {name}");
                }
            }
        }
    }
}
