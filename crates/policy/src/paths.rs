//! Paths and path patterns (FORMATS §4, "Paths"): one lexical form, and sets of patterns that are asked without scanning.
//!
//! A pattern is absolute, starts with `~` for the home folder or with `**/` for anywhere, or is relative to the current
//! folder. `*` and `?` never cross `/`; `**` is a whole component; `**/x` also matches `x`, `d/**` also `d`. What is denied,
//! protected or classified is compared in folded case, what is allowed exactly (`lesson_11`).

mod meet;
mod pattern;
mod set;

pub use pattern::PatternError;
pub use set::{Case, PathSet};

use std::borrow::Cow;

use countersign_plan::text::{self, HiddenText};

/// Folders whose entries are the kernel's interfaces and never files (`lesson_05`).
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What relative paths and a leading `~` stand for; both absolute and lexically normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    cwd: String,
    home: String,
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It hides or imitates.
    #[error(transparent)]
    Hidden(#[from] HiddenText),
    /// It is empty.
    #[error("an empty path names nothing")]
    Empty,
    /// It must be absolute and is not.
    #[error("`{0}` is no absolute path")]
    Relative(String),
}

impl Place {
    /// A place; both paths must be absolute.
    ///
    /// # Errors
    /// A path that is relative, empty or hides something.
    pub fn new(cwd: &str, home: &str) -> Result<Self, PathError> {
        Ok(Self { cwd: absolute(cwd)?, home: absolute(home)? })
    }

    /// The folder that relative paths are relative to.
    #[must_use]
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// The folder that a leading `~` stands for.
    #[must_use]
    pub fn home(&self) -> &str {
        &self.home
    }

    /// The same place with another current folder.
    #[must_use]
    pub fn at(&self, cwd: String) -> Self {
        Self { cwd, home: self.home.clone() }
    }

    /// The absolute, lexically normalised form of a path as a plan writes it.
    ///
    /// # Errors
    /// An empty path, or one that hides something.
    pub fn normalise(&self, path: &str) -> Result<String, PathError> {
        text::check_name(path)?;
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        let (base, rest) = self.split(path);
        Ok(lexical(base, rest))
    }

    /// The folder that `path` starts from, and what follows.
    fn split<'a>(&'a self, path: &'a str) -> (&'a str, &'a str) {
        if path.starts_with('/') {
            ("", path)
        } else if path == "~" {
            (&self.home, "")
        } else if let Some(rest) = path.strip_prefix("~/") {
            (&self.home, rest)
        } else {
            (&self.cwd, path)
        }
    }
}

/// The normalised form of an absolute path.
///
/// # Errors
/// A path that is relative, empty or hides something.
pub fn absolute(path: &str) -> Result<String, PathError> {
    text::check_name(path)?;
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.starts_with('/') { Ok(lexical("", path)) } else { Err(PathError::Relative(text::escape(path))) }
}

fn lexical(base: &str, rest: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(rest.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    let mut out = String::with_capacity(base.len() + rest.len() + 1);
    for part in &parts {
        out.push('/');
        out.push_str(part);
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

/// Whether `path` is `dir` or lies below it. Both normalised.
#[must_use]
pub fn is_within(path: &str, dir: &str) -> bool {
    dir == "/" || path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether `path` fits a pattern as a shell reads it, or lies below what does where `below` is meant.
#[must_use]
pub fn fits(pattern: &str, path: &str, below: bool) -> bool {
    let literal = |path: &str| -> String {
        path.chars().flat_map(|c| "*?[]{}\\".contains(c).then_some('\\').into_iter().chain([c])).collect()
    };
    meet::meet(pattern, &literal(path)) || (below && meet::meet(&format!("{pattern}/**"), &literal(path)))
}

/// Whether `path` is one of the kernel's interfaces. The process table of another folder is not meant.
#[must_use]
pub fn is_kernel(path: &str) -> bool {
    KERNEL.iter().any(|dir| is_within(path, dir))
}

/// Whether `path` lies where the system keeps its programs.
#[must_use]
pub fn is_of_system(path: &str) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store"].iter().any(|dir| is_within(path, dir))
        && !is_within(path, "/usr/local")
}

/// Whether `path` is a device that holds nothing of anybody's (Filesystem Hierarchy Standard, `/dev`).
#[must_use]
pub fn is_harmless_device(path: &str) -> bool {
    let known = ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty"];
    path.strip_prefix("/dev/").is_some_and(|name| known.contains(&name) || name.starts_with("fd/"))
}

/// Whether `path` shows the machine's own figures and nothing of anybody: proc(5), the files without a process.
#[must_use]
pub fn is_of_machine(path: &str) -> bool {
    let known = ["cpuinfo", "meminfo", "loadavg", "uptime", "version", "stat", "vmstat", "filesystems", "swaps"];
    path.strip_prefix("/proc/").is_some_and(|name| known.contains(&name))
}

/// Whether `path` shows a process, its memory or its environment rather than the machine.
#[must_use]
pub fn is_of_process(path: &str) -> bool {
    let of = |first: &str| {
        let number = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
        let pattern = first.contains(['*', '?', '[', '$']);
        number || pattern || matches!(first, "self" | "thread-self" | "kcore" | "kmsg" | "kallsyms" | "keys")
    };
    path == "/proc" || path.strip_prefix("/proc/").is_some_and(|rest| of(rest.split('/').next().unwrap_or("")))
}

/// What `ps` shows anybody of a process as well: where it is, what it is called, how it fares (proc(5)). Its environment and its
/// memory are none of it.
#[must_use]
pub fn is_shown_of_process(path: &str) -> bool {
    let mut parts = path.strip_prefix("/proc/").unwrap_or("").split('/');
    let process = parts.next().unwrap_or("");
    let shown = matches!(
        parts.next().unwrap_or(""),
        "cwd"
            | "exe"
            | "comm"
            | "cmdline"
            | "status"
            | "stat"
            | "statm"
            | "limits"
            | "cgroup"
            | "io"
            | "sched"
            | "wchan"
    );
    shown && parts.next().is_none() && !process.starts_with('k')
}

/// `text` in folded case: what differs only in case is equal, also beyond ASCII (`ſ` is `s`, `ß` is `ss`).
#[must_use]
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        }
    } else {
        Cow::Owned(text.to_uppercase().to_lowercase())
    }
}

/// A path under both its names, with their folded forms worked out once.
#[derive(Debug, Clone)]
pub struct Seen<'a> {
    written: &'a str,
    resolved: Option<&'a str>,
    folded: Cow<'a, str>,
    folded_resolved: Option<Cow<'a, str>>,
    /// The pattern that a command names, in folded case, where no machine says what it stands for.
    pattern: Option<Cow<'a, str>>,
}

impl<'a> Seen<'a> {
    /// A path as written, and as resolved where that differs. Both normalised.
    #[must_use]
    pub fn new(written: &'a str, resolved: Option<&'a str>) -> Self {
        let resolved = resolved.filter(|r| *r != written);
        Self { written, resolved, folded: fold(written), folded_resolved: resolved.map(fold), pattern: None }
    }

    /// The same where a command names everything that fits `pattern`: for what is denied, protected or classified it counts
    /// whatever may fit.
    #[must_use]
    pub fn meaning(mut self, pattern: Option<&'a str>) -> Self {
        self.pattern = pattern.map(fold);
        self
    }

    /// The path as written.
    #[must_use]
    pub const fn written(&self) -> &'a str {
        self.written
    }

    /// Whether `test` holds of either name.
    pub fn either(&self, mut test: impl FnMut(&str) -> bool) -> bool {
        test(self.written) || self.resolved.is_some_and(test)
    }

    /// Whether `test` holds of both names.
    pub fn both(&self, mut test: impl FnMut(&str) -> bool) -> bool {
        test(self.written) && self.resolved.is_none_or(test)
    }

    /// Calls `visit` with the ids of all patterns that hit either name.
    pub fn hits(&self, set: &PathSet, visit: &mut dyn FnMut(u32)) {
        let (written, resolved) = self.spelled(set);
        set.hits(written, visit);
        if let Some(resolved) = resolved {
            set.hits(resolved, visit);
        }
        if let (Some(pattern), Case::Folded) = (&self.pattern, set.case()) {
            set.met_by(pattern, visit);
        }
    }

    /// Whether any pattern hits either name: for what is denied, protected or classified.
    #[must_use]
    pub fn touches(&self, set: &PathSet) -> bool {
        let (written, resolved) = self.spelled(set);
        let mut met = false;
        if let (Some(pattern), Case::Folded) = (&self.pattern, set.case()) {
            set.met_by(pattern, &mut |_| met = true);
        }
        met || set.contains(written) || resolved.is_some_and(|r| set.contains(r))
    }

    /// Whether patterns hit both names: for what is allowed.
    #[must_use]
    pub fn inside(&self, set: &PathSet) -> bool {
        let (written, resolved) = self.spelled(set);
        set.contains(written) && resolved.is_none_or(|r| set.contains(r))
    }

    fn spelled(&self, set: &PathSet) -> (&str, Option<&str>) {
        match set.case() {
            Case::Folded => (&self.folded, self.folded_resolved.as_deref()),
            Case::Exact => (self.written, self.resolved),
        }
    }
}

#[cfg(test)]
mod tests;
