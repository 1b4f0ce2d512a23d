//! Who a child is outside.

use std::io;
use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};

use crate::sys::{self, Capability};

/// Who the child is outside. Inside it is always uid and gid 1000.
///
/// A root spawner names the owner of the work folder, so that granted files can be written without any capability: the
/// child gets a user namespace with the single mapping 1000 → this id. An ordinary user can only give its own ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Outer uid.
    pub uid: u32,
    /// Outer gid.
    pub gid: u32,
}

impl Identity {
    /// The ids of the calling process.
    #[must_use]
    pub fn own() -> Self {
        Self { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
    }

    /// For a child that owns no file (planner, inspector, executor): under a root spawner nobody's ids, so that not even its bare uid
    /// means anything outside; else the spawner's own. Its own too where only root may execute the binary, where a container has no such id, or
    /// where it lacks the capabilities to give a child another one.
    #[must_use]
    pub fn of_nobody(executable: impl AsFd) -> Self {
        const NOBODY: u32 = 65534;
        let own = Self::own();
        let for_all = rustix::fs::fstat(executable).is_ok_and(|found| found.st_mode & 0o001 != 0);
        let exists = |map: &str| std::fs::read_to_string(map).is_ok_and(|map| is_mapped(&map, NOBODY));
        if may_give_others().unwrap_or(false) && for_all && exists("/proc/self/uid_map") && exists("/proc/self/gid_map")
        {
            Self { uid: NOBODY, gid: NOBODY }
        } else {
            own
        }
    }
}

/// Whether the caller has the capabilities of the host that it takes to give a child other ids and namespaces without a user namespace
/// of its own. Being uid 0 is not enough: a container's root lacks some.
pub(super) fn may_give_others() -> io::Result<bool> {
    const NEEDED: [Capability; 5] =
        [Capability::SetGid, Capability::SetUid, Capability::SetPcap, Capability::NetAdmin, Capability::SysAdmin];
    let held = sys::effective_capabilities()?;
    Ok(NEEDED.into_iter().all(|capability| held & (1 << capability as u32) != 0))
}

/// Whether an id exists in a user namespace: a line of its map is first id inside, first id outside, how many (`user_namespaces(7)`).
fn is_mapped(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        matches!(fields.as_slice(), [inside, _, count] if (*inside..inside + count).contains(&u64::from(id)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_says_which_ids_exist() {
        let whole = "         0          0 4294967295\n";
        let container = "0 1000 1\n1 100000 65536\n";
        assert!(is_mapped(whole, 65534) && is_mapped(container, 65534));
        assert!(!is_mapped("0 1000 1\n", 65534) && !is_mapped("", 65534) && !is_mapped("0 0 65534\n", 65534));
    }
}
