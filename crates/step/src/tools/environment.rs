//! The environment of a program: nothing is inherited, and what a plan adds cannot make another program of it (`lesson_07`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use countersign_plan::confinement::{Profile, SandboxSpec};

use super::Outcome;
use crate::failure::Failure;

/// Where programs are looked up, in this order. The work folder never is.
const SEARCH: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Names that are never taken from a plan, with the reason. A name that ends in `*` stands for all that begin so.
const REFUSED: [(&str, &str); 19] = [
    ("LD_*", "it makes the loader run other code"),
    ("DYLD_*", "it makes the loader run other code"),
    ("GLIBC_TUNABLES", "it changes the C library under every program"),
    ("GCONV_PATH", "it makes the C library load other code"),
    ("LOCPATH", "it makes the C library read other files"),
    ("BASH_ENV", "a shell would run it first"),
    ("BASH_FUNC_*", "a shell would take functions from it"),
    ("ENV", "a shell would run it first"),
    ("SHELLOPTS", "it changes what a shell line means"),
    ("BASHOPTS", "it changes what a shell line means"),
    ("IFS", "it changes what a shell line means"),
    ("PS4", "a shell would expand it"),
    ("PROMPT_COMMAND", "a shell would run it"),
    ("CDPATH", "it changes what a shell line means"),
    ("PATH", "programs are looked up in a fixed search path"),
    ("HOME", "it is the step's own"),
    ("TMPDIR", "it is the step's own"),
    ("GIT_*", "git would run other programs; the tool `git` sets its own"),
    ("SSH_*", "it names an agent outside the step"),
];

/// Names that a listed program may be given: they change how it prints, not what it does.
const HARMLESS: [&str; 8] = ["LANG", "LANGUAGE", "LC_*", "TZ", "NO_COLOR", "COLUMNS", "LINES", "SOURCE_DATE_EPOCH"];

/// The environment of a program of this step.
pub(super) fn environment(spec: &SandboxSpec, wanted: &BTreeMap<String, String>) -> Outcome<BTreeMap<String, String>> {
    let home = if spec.limits.tmp_bytes > 0 { "/tmp" } else { spec.cwd.as_str() };
    let mut all: BTreeMap<String, String> = [
        ("PATH", search_path(spec)),
        ("HOME", home.to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("TERM", "dumb".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if spec.limits.tmp_bytes > 0 {
        all.insert("TMPDIR".to_owned(), "/tmp".to_owned());
    }
    // Where a Rust toolchain is granted, its front ends find it.
    if let Some(rustup) = spec.run.iter().find(|grant| Path::new(&grant.path).ends_with(".rustup")) {
        all.insert("RUSTUP_HOME".to_owned(), rustup.path.clone());
    }
    for (name, value) in wanted {
        check(name, spec.profile)?;
        all.insert(name.clone(), value.clone());
    }
    Ok(all)
}

fn check(name: &str, profile: Profile) -> Outcome<()> {
    let mut bytes = name.bytes();
    let well_formed = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !well_formed {
        return Err(Failure::new(format!("`{name}` is no name of an environment variable")));
    }
    if let Some((_, why)) = REFUSED.iter().find(|(pattern, _)| covers(pattern, name)) {
        return Err(Failure::new(format!("the environment variable {name} is not passed on: {why}")));
    }
    if profile == Profile::Exact && !HARMLESS.iter().any(|pattern| covers(pattern, name)) {
        let message = format!(
            "the environment variable {name} is not passed to a listed program, for which its meaning is unknown"
        );
        return Err(Failure::new(message));
    }
    Ok(())
}

fn covers(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

fn folders(spec: &SandboxSpec) -> impl Iterator<Item = PathBuf> {
    // Toolchains stand before the system's own, as their user has it.
    let granted =
        spec.run.iter().filter(|_| spec.profile == Profile::Toolchain).map(|grant| PathBuf::from(&grant.path));
    let bins = granted.filter_map(|root| {
        let bin = if root.ends_with("bin") { root } else { root.join("bin") };
        (!SEARCH.iter().any(|system| Path::new(system) == bin) && bin.is_dir()).then_some(bin)
    });
    bins.chain(SEARCH.iter().map(PathBuf::from))
}

fn search_path(spec: &SandboxSpec) -> String {
    let folders: Vec<String> = folders(spec).map(|folder| folder.to_string_lossy().into_owned()).collect();
    folders.join(":")
}

/// The absolute path of a program by name.
pub(super) fn find(spec: &SandboxSpec, name: &str) -> Outcome<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    folders(spec)
        .map(|folder| folder.join(name))
        .find(|path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0))
        .ok_or_else(|| Failure::new(format!("no program `{name}` is in the search path of this step")))
}

#[cfg(test)]
mod tests;
