//! The battery of a step's program: what a tool may try that a plan did not name.

use super::probe::Class;

mod controls;
mod files;
mod inside;
mod limits;
mod network;
mod processes;
mod programs;

/// The step's own probes, in the order of their numbers.
pub(crate) const CLASSES: &[Class] = &[
    Class { name: CONTROLS, probes: controls::PROBES },
    Class { name: "files", probes: files::PROBES },
    Class { name: "protected and masked files in work", probes: inside::PROBES },
    Class { name: "processes and namespaces", probes: processes::PROBES },
    Class { name: "network, IPC", probes: network::PROBES },
    Class { name: "programs", probes: programs::PROBES },
    Class { name: "limits and lifetime", probes: limits::PROBES },
];

/// Probes of the planner's battery that a program must not get through either. Left out are those that need the planner's
/// channel, and those that a program may do: making processes, threads, pipes, sockets among its own, executable memory,
/// reading its own files.
pub(crate) const SHARED: &[&str] = &[
    "1", "7", "8", "10", "11", "13", "14", "17", "18", "19", "20", "21", "25", "26", "29", "30", "31", "32", "33",
    "34", "35", "36", "38", "39", "41", "42", "48", "57", "58", "60", "61", "63", "64", "66", "67", "68", "69", "70",
    "71", "72", "73", "74", "76", "77", "78", "79", "80", "81", "82", "83", "84", "85", "86", "87", "88", "89", "90",
    "94", "95", "96", "97", "98", "99", "100", "101", "103", "104", "105", "106", "107", "114", "115", "117", "119",
    "120", "121", "122", "123", "131", "132", "133", "134", "135", "136", "137", "138", "144", "148", "149", "150",
    "160", "173", "175", "178", "183", "184", "185", "189",
];

/// What may come through with the profile `exact`.
pub(crate) const ALLOWED_EXACT: &[(&str, &str)] = &[];

/// What may come through with the profile `toolchain`.
pub(crate) const ALLOWED_TOOLCHAIN: &[(&str, &str)] = &[
    ("s96b", ANY_CODE),
    ("s97", ANY_CODE),
    ("s98a", ANY_CODE),
    ("s98b", ANY_CODE),
    ("s98c", ANY_CODE),
    ("s98d", ANY_CODE),
    ("s98e", ANY_CODE),
    ("s98f", ANY_CODE),
    ("s99b", ANY_CODE),
    ("s99c", ANY_CODE),
    ("1", "this file is among the public system files in view; the one with the hashes is not"),
];

/// What the approver of a toolchain step is told.
const ANY_CODE: &str = "the profile permits any code that the view permits";

/// What needs a controller that this machine may lack: allowed if, and only if, the sandbox itself reported the gap.
pub(crate) const NEEDS_CONTROLLER: &[&str] = &["s104b"];

/// The class of what must work.
pub(crate) const CONTROLS: &str = "controls (must work)";
