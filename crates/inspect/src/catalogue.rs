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
    CATALOGUE.get(name).or_else(|| versioned(name).and_then(|base| CATALOGUE.get(base))).map(AsRef::as_ref)
}

/// `python3.12`, `gcc-13`, `clang++-17`: the same program under a versioned name.
fn versioned(name: &str) -> Option<&str> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    (!base.is_empty() && base.len() < name.len()).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::{CATALOGUE, SOURCES, grammar};

    #[test]
    fn every_line_of_the_catalogue_can_be_read() {
        for (area, source) in SOURCES {
            if let Err(e) = grammar::read(source) {
                panic!("{area}: {e}");
            }
        }
        assert!(CATALOGUE.len() > 400, "{}", CATALOGUE.len());
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
