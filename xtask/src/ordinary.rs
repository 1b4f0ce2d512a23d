//! The tests whose subject is what the kernel lets a process do, again as an ordinary user.
//!
//! Root has capabilities that hide a missing one, and an ordinary user needs user namespaces where root does not. Started
//! as root, this runs the built test programs of those crates under another uid, with an empty environment and a home
//! of its own. Started as an ordinary user it has nothing to add: the step `test` was that already.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::report::{Report, say};
use crate::tree;

/// Crates whose tests start processes, confine them or keep their files private.
const CRATES: &[&str] = &["sandbox", "zygote", "step", "executor", "chronicle", "ledger", "daemon", "cli"];

/// `nobody`, who owns nothing.
const UID: u32 = 65_534;

/// Runs a program as `nobody`. If the checkout lies below a folder that only root may enter, a private mount view puts
/// it at the same path below folders that everybody may enter: test programs have paths built in.
const DROP: &str = r#"
set -eu
root=$1 uid=$2 folder=$3
shift 3
drop="setpriv --reuid=$uid --regid=$uid --clear-groups --inh-caps=-all"
if ! $drop test -r "$root/Cargo.toml"; then
  hold=$HOME/.checkout
  mkdir "$hold"
  mount --bind "$root" "$hold"
  mount -t tmpfs -o mode=755 none "/$(printf %s "$root" | cut -d/ -f2)"
  mkdir -p "$root"
  mount --bind "$hold" "$root"
fi
cd "$folder"
exec $drop "$@"
"#;

/// A built test program and the folder of its package, in which cargo would start it.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    path: PathBuf,
    folder: PathBuf,
}

pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    let mut report = Report::default();
    if std::fs::metadata("/proc/self")?.uid() != 0 {
        report.line("        run by an ordinary user: `cargo test` has covered it");
        return Ok(report);
    }
    let packages = CRATES.iter().flat_map(|name| ["--package".to_owned(), format!("countersign-{name}")]);
    let messages =
        tree::output(tree::cargo(root).args(["test", "--locked", "--no-run", "--message-format=json"]).args(packages))?;
    let programs = programs(&messages)?;
    for program in &programs {
        say(&format!("--- {} as uid {UID}", program.path.display()));
        if let Err(error) = run(root, program) {
            report.fault(format!("{}: {error:#}", program.path.display()));
        }
    }
    report.count(&format!("test programs run as uid {UID}"), programs.len());
    Ok(report)
}

/// The test programs among cargo's JSON messages.
fn programs(messages: &str) -> anyhow::Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("cargo printed a broken message")?;
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str).map(PathBuf::from);
        if message.pointer("/profile/test") == Some(&Value::Bool(true))
            && let (Some(path), Some(manifest)) = (text("/executable"), text("/manifest_path"))
        {
            let folder = manifest.parent().context("a manifest without a folder")?.to_owned();
            programs.push(Program { path, folder });
        }
    }
    Ok(programs)
}

fn run(root: &Path, program: &Program) -> anyhow::Result<()> {
    let home = tempfile::Builder::new().prefix("ordinary-").tempdir_in("/var/tmp")?;
    chown(home.path(), Some(UID), Some(UID))?;
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700))?;
    let status = Command::new("unshare")
        .args(["--mount", "--propagation=private", "sh", "-c", DROP, "sh"])
        .arg(root)
        .arg(UID.to_string())
        .args([&program.folder, &program.path])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .status()
        .context("start unshare")?;
    ensure!(status.success(), "ended with {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_programs_are_taken_from_the_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/r/crates/x/Cargo.toml","profile":{"test":true},"executable":"/r/target/x"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/r/crates/y/Cargo.toml","profile":{"test":false},"executable":"/r/target/y"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/r/crates/z/Cargo.toml","profile":{"test":true},"executable":null}"#,
            "\n",
        );
        let expected = Program { path: "/r/target/x".into(), folder: "/r/crates/x".into() };
        assert_eq!(programs(messages).unwrap(), [expected]);
    }

    /// A checkout with one program, which everybody may read.
    fn checkout(script: &str) -> (tempfile::TempDir, Program) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("program");
        std::fs::write(root.path().join("Cargo.toml"), "").unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        for (path, mode) in [(&path, 0o755), (&root.path().to_owned(), 0o755)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let program = Program { path, folder: root.path().to_owned() };
        (root, program)
    }

    /// An ordinary user cannot become another one: there the check itself has nothing to run.
    #[test]
    fn a_program_runs_with_another_uid_in_its_own_home_and_its_failure_is_an_error() {
        let (root, program) =
            checkout(r#"test "$(id -u)" = 65534 && test -w "$HOME" && test -r Cargo.toml && ! test -w Cargo.toml"#);
        if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
            run(root.path(), &program).unwrap();
        }
        let (root, program) = checkout("exit 3");
        assert!(run(root.path(), &program).is_err());
    }
}
