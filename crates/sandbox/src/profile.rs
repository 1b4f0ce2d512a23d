//! The allow-lists as data: one line per system call with its reason, read from `profiles/*.json` when the crate is built.
//!
//! A line says what happens to one system call, possibly only for certain argument values; lines of the same call are
//! tried in order and the first that matches decides, else the list's default. What is not listed gets the default, and a number
//! newer than the table gets `beyond`, so that a C library on a newer kernel falls back instead of failing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::{ProfileName, Variant};
use crate::syscalls;

/// What a filter does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Action {
    /// Let it through.
    Allow,
    /// End the whole process with `SIGSYS`: an incident.
    Kill,
    /// Hold the process until its spawner has read which call it was and killed it: an incident with details. No list says this; it is what `Kill`
    /// becomes where the spawner listens.
    #[serde(skip)]
    Report,
    /// "Operation not permitted".
    Eperm,
    /// "Function not implemented": the C library uses an older call.
    Enosys,
    /// "Address family not supported".
    Eafnosupport,
}

/// Which bits of an argument are compared. The kernel reads an `int` as 32 bits, whatever the upper half of the register
/// holds, and a pointer as 64; comparing the wrong half is a bypass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Width {
    /// The low 32 bits: `int`, `unsigned`, `mode_t`.
    #[serde(rename = "32")]
    Int,
    /// All 64 bits: pointers and sizes.
    #[serde(rename = "64")]
    Pointer,
}

/// A test of one argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    /// Position, 0 to 5.
    pub(crate) arg: u8,
    pub(crate) width: Width,
    /// Bits that take part; all when absent.
    #[serde(default = "all_bits")]
    pub(crate) mask: u64,
    /// The masked argument is one of these.
    #[serde(rename = "in")]
    pub(crate) values: Vec<u64>,
}

const fn all_bits() -> u64 {
    u64::MAX
}

impl Condition {
    /// What the compiled filter computes, directly.
    #[cfg(test)]
    pub(crate) fn holds(&self, arguments: [u64; 6]) -> bool {
        let value = arguments[usize::from(self.arg)] & self.mask;
        self.values.iter().any(|wanted| match self.width {
            Width::Int => value as u32 == *wanted as u32,
            Width::Pointer => value == *wanted,
        })
    }
}

/// When a line counts at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Given {
    Exact,
    Toolchain,
}

/// One line of a list, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    syscall: String,
    #[serde(default = "allow")]
    action: Action,
    #[serde(default)]
    when: Vec<Condition>,
    #[serde(default)]
    given: Option<Given>,
    reason: String,
}

const fn allow() -> Action {
    Action::Allow
}

/// A list, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    about: String,
    default: Action,
    beyond: Action,
    lines: Vec<Line>,
}

/// What happens to one system call under certain arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    pub(crate) when: Vec<Condition>,
    pub(crate) action: Action,
}

/// A parsed list: rules by system call number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) default: Action,
    pub(crate) beyond: Action,
    pub(crate) rules: BTreeMap<u32, Vec<Rule>>,
}

/// A list that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProfileError {
    /// Not the expected JSON.
    #[error("seccomp profile {name}: {source}")]
    Parse {
        /// The list.
        name: &'static str,
        /// The error.
        source: serde_json::Error,
    },
    /// A system call that this architecture does not know.
    #[error("seccomp profile {name}: unknown system call {syscall}")]
    Unknown {
        /// The list.
        name: &'static str,
        /// The name.
        syscall: String,
    },
    /// An argument position beyond 5, no value to compare with, or a value outside of the mask or the width.
    #[error("seccomp profile {name}: a condition of {syscall} can never hold")]
    Condition {
        /// The list.
        name: &'static str,
        /// The system call.
        syscall: String,
    },
}

/// An embedded list and its file name.
struct Source {
    name: &'static str,
    text: &'static str,
}

const PLANNER: Source = Source { name: "planner", text: include_str!("../profiles/planner.json") };
const EXECUTOR: Source = Source { name: "executor", text: include_str!("../profiles/executor.json") };
const STEP_BUILTIN: Source = Source { name: "step-builtin", text: include_str!("../profiles/step-builtin.json") };
const WATCH: Source = Source { name: "watch", text: include_str!("../profiles/watch.json") };
const STEP_LAUNCH: Source = Source { name: "step-launch", text: include_str!("../profiles/step-launch.json") };
const PROGRAM: Source = Source { name: "program", text: include_str!("../profiles/program.json") };

impl Profile {
    /// Reads an embedded list.
    ///
    /// # Errors
    /// [`ProfileError`]: the build fails.
    pub(crate) fn load(name: ProfileName) -> Result<Self, ProfileError> {
        match name {
            ProfileName::Planner => PLANNER.profile(None),
            ProfileName::Executor => EXECUTOR.profile(None),
            ProfileName::PlannerWatched => PLANNER.profile(None)?.watched(),
            ProfileName::ExecutorWatched => EXECUTOR.profile(None)?.watched(),
            // Whatever the list is, it has none of these calls, so it answers them with its default.
            ProfileName::Unwatch => Ok(EXECUTOR.profile(None)?.taking_back(WATCH.profile(None)?)),
            ProfileName::Builtin => STEP_BUILTIN.profile(None),
            #[cfg(test)]
            ProfileName::Program(variant) => PROGRAM.profile(Some(variant)),
            ProfileName::TakeBack(variant) => {
                Ok(PROGRAM.profile(Some(variant))?.taking_back(STEP_LAUNCH.profile(Some(variant))?))
            }
            ProfileName::StepInit(variant) => {
                // The init's filter also binds the program (filters stack, the strictest answer wins), so it is the
                // program's list with some calls set free; the program's own filter takes those back.
                let mut profile = PROGRAM.profile(Some(variant))?;
                let own = STEP_LAUNCH.profile(Some(variant))?;
                profile.rules.extend(own.rules);
                Ok(profile)
            }
        }
    }
}

impl Profile {
    /// This list for a second filter, above one that also set other calls free. Installing costs as much as a list is long, and the first filter
    /// goes on to hold, so this one only has to answer those calls, as the list does; everything else passes on to the other.
    fn taking_back(self, set_free: Self) -> Self {
        let mut rules = BTreeMap::new();
        for number in set_free.rules.into_keys() {
            let mut answer = self.rules.get(&number).cloned().unwrap_or_default();
            answer.push(Rule { when: Vec::new(), action: self.default });
            rules.insert(number, answer);
        }
        Self { default: Action::Allow, beyond: Action::Allow, rules }
    }

    /// This list where the spawner listens: what would end the process is told first, and the calls that it takes to hand the listener over are set free.
    fn watched(mut self) -> Result<Self, ProfileError> {
        let told = |action: &mut Action| {
            if *action == Action::Kill {
                *action = Action::Report;
            }
        };
        told(&mut self.default);
        told(&mut self.beyond);
        self.rules.values_mut().flatten().for_each(|rule| told(&mut rule.action));
        self.rules.extend(WATCH.profile(None)?.rules);
        Ok(self)
    }
}

impl Source {
    fn document(&self) -> Result<Document, ProfileError> {
        serde_json::from_str(self.text).map_err(|source| ProfileError::Parse { name: self.name, source })
    }

    fn profile(&self, variant: Option<Variant>) -> Result<Profile, ProfileError> {
        let document = self.document()?;
        let mut rules: BTreeMap<u32, Vec<Rule>> = BTreeMap::new();
        for line in document.lines {
            let counts = match line.given {
                None => true,
                Some(Given::Exact) => variant == Some(Variant::Exact),
                Some(Given::Toolchain) => variant == Some(Variant::Toolchain),
            };
            let Some(number) = number(&line.syscall) else {
                return Err(ProfileError::Unknown { name: self.name, syscall: line.syscall });
            };
            if !line.when.iter().all(Condition::can_hold) {
                return Err(ProfileError::Condition { name: self.name, syscall: line.syscall });
            }
            if counts {
                rules.entry(number).or_default().push(Rule { when: line.when, action: line.action });
            }
        }
        Ok(Profile { default: document.default, beyond: document.beyond, rules })
    }
}

/// The number of a system call.
pub(crate) fn number(name: &str) -> Option<u32> {
    syscalls::TABLE.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

impl Condition {
    fn can_hold(&self) -> bool {
        let width_mask = match self.width {
            Width::Int => u64::from(u32::MAX),
            Width::Pointer => u64::MAX,
        };
        self.arg < 6
            && !self.values.is_empty()
            && self.values.iter().all(|value| value & !(self.mask & width_mask) == 0)
    }
}

#[cfg(test)]
#[path = "profile/tests.rs"]
mod tests;
