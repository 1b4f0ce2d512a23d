//! Processes of a probe that outlive it.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::sys::call;

const LOOKS: u32 = 4;

/// Ids of the processes that still run a step probe of this playground.
/// Looks several times, because one that forks in a loop can hide from one look.
pub(crate) fn find(base: &str) -> Result<Vec<u32>> {
    for _ in 0..LOOKS {
        let found = look(base)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

fn look(base: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { continue };
        let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let zombie = state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
        let ours = |word: &&[u8]| word.windows(base.len()).any(|part| part == base.as_bytes());
        if !zombie && words.contains(&b"--step-probe".as_slice()) && words.iter().any(ours) {
            found.push(pid);
        }
    }
    Ok(found)
}

/// Ends them, and those that replace themselves faster than they can be found: such a one looks for the file `stop`.
pub(crate) fn end(pids: &[u32], base: &Path) {
    let _ = fs::write(base.join("stop"), "");
    for &pid in pids {
        let _ = call!(SYS_kill, pid, libc::SIGKILL);
    }
}

/// What the batteries could leave on the machine: mounts, control groups, processes, sockets.
pub(crate) fn leftovers(base: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let lines =
        |path: &str| fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    let point = |line: &String| line.split_ascii_whitespace().nth(4).map(str::to_owned);
    let mounts =
        lines("/proc/self/mountinfo").iter().filter_map(point).filter(|point| point.contains(base)).collect::<Vec<_>>();
    found.extend(mounts.into_iter().map(|point| format!("mount {point}")));
    let name = |line: &String| line.split_ascii_whitespace().nth(7).map(str::to_owned);
    let marker = base.replace('/', ".");
    let sockets = lines("/proc/net/unix")
        .iter()
        .filter_map(name)
        .filter(|name| name.contains(base) || name.contains(&marker))
        .collect::<Vec<_>>();
    found.extend(sockets.into_iter().map(|name| format!("socket {name}")));
    groups(Path::new("/sys/fs/cgroup"), 0, &mut found);
    for pid in find(base)? {
        found.push(format!("process {pid}"));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Control groups of this process's own making: their names carry its id.
fn groups(folder: &Path, depth: u32, found: &mut Vec<String>) {
    const DEEPEST: u32 = 8;
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if depth > DEEPEST || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains("countersign") && name.contains(&own) {
            found.push(format!("control group {}", entry.path().display()));
        }
        groups(&entry.path(), depth + 1, found);
    }
}
