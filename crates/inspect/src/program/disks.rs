//! Programs of disks that change them with most of their words, and with a few only show what there is (the manuals of util-linux, gptfdisk,
//! parted, mdadm, cryptsetup, lvm2 and hdparm).

use super::Machine;
use crate::machine::{Stream, Word};

/// What shows, and what may stand beside it.
struct Shows {
    program: &'static str,
    shows: &'static [&'static str],
    beside: &'static [&'static str],
}

const SHOWS: &[Shows] = &[
    Shows {
        program: "sgdisk",
        shows: &[
            "-p",
            "--print",
            "-i",
            "--info",
            "-v",
            "--verify",
            "-O",
            "--print-mbr",
            "-L",
            "--list-types",
            "-D",
            "--display-alignment",
        ],
        beside: &[],
    },
    Shows {
        program: "parted",
        shows: &["-l", "--list", "print", "p"],
        beside: &[
            "-s",
            "-m",
            "--script",
            "--machine",
            "unit",
            "free",
            "all",
            "devices",
            "s",
            "B",
            "MB",
            "MiB",
            "GB",
            "GiB",
            "%",
        ],
    },
    Shows { program: "gdisk", shows: &["-l"], beside: &[] },
    Shows { program: "partprobe", shows: &["-d", "--dry-run", "-s", "--summary"], beside: &[] },
    Shows {
        program: "mdadm",
        shows: &["--detail", "-D", "--examine", "-E", "--query", "-Q"],
        beside: &["--scan", "-s", "--brief", "-b", "--export", "-Y", "--verbose", "-v", "--test", "-t"],
    },
    Shows {
        program: "cryptsetup",
        shows: &["status", "luksDump", "isLuks", "luksUUID", "benchmark"],
        beside: &["-v", "--verbose", "--dump-json-metadata", "--type", "luks1", "luks2"],
    },
    Shows {
        program: "dmsetup",
        shows: &["ls", "info", "status", "table", "deps", "targets", "version"],
        beside: &["-c", "--tree", "-C", "--columns", "-v", "--noheadings", "-o", "name"],
    },
    Shows {
        program: "hdparm",
        shows: &["-I", "-i", "-g", "-C", "-t", "-T", "-tT", "-Tt", "-H"],
        beside: &["--direct", "-v"],
    },
    Shows {
        program: "zpool",
        shows: &["status", "list", "iostat", "history", "get", "events"],
        beside: &["-v", "-x", "-H", "-p", "-o", "-L", "-P", "all"],
    },
    Shows {
        program: "zfs",
        shows: &["list", "get"],
        beside: &["-H", "-p", "-r", "-t", "-o", "snapshot", "filesystem", "all", "-d", "1"],
    },
    Shows { program: "swapon", shows: &["-s", "--show", "--summary"], beside: &["--noheadings", "--bytes", "--raw"] },
    Shows { program: "losetup", shows: &["-a", "--all", "-l", "--list"], beside: &["-O", "-J", "--json", "-n"] },
    Shows { program: "tune2fs", shows: &["-l"], beside: &[] },
    Shows { program: "xfs_growfs", shows: &["-n"], beside: &[] },
    Shows {
        program: "nvme",
        shows: &["list", "smart-log", "id-ctrl", "id-ns", "error-log", "list-subsys", "fw-log", "list-ns"],
        beside: &["-o", "json", "normal", "-v", "-H", "--output-format=json"],
    },
    Shows {
        program: "diskutil",
        shows: &["list", "info", "activity"],
        beside: &["-plist", "-all", "apfs", "external", "internal", "physical"],
    },
];

/// Options with which `wipefs` shows signatures as it does without any (wipefs(8)).
const WIPEFS: &[&str] = &["-n", "--no-act", "-J", "--json", "-i", "--noheadings", "-p", "--parsable"];

impl Machine<'_> {
    /// What a program of disks writes where it only shows what there is.
    pub(super) fn shows_disks(&mut self, base: &str, rest: &[Word]) -> Option<Stream> {
        let words: Vec<&str> = rest.iter().map(Word::constant).collect::<Option<_>>()?;
        let named = |word: &&&str| word.starts_with('/') || !(word.starts_with('-') || word.contains('='));
        let only = if base == "wipefs" {
            words.iter().all(|word| WIPEFS.contains(word) || named(&word))
        } else {
            let known = SHOWS.iter().find(|shows| shows.program == base)?;
            let shows = |word: &&&str| known.shows.contains(*word);
            // A verb of a program that has verbs stands before what it is about.
            let place = words.iter().position(|word| known.shows.contains(word))?;
            let first =
                words.iter().take(place).all(|word| word.starts_with(['-', '/']) || known.beside.contains(word));
            let verbs = !matches!(base, "parted");
            first
                && words.iter().all(|word| {
                    shows(&word) || known.beside.contains(word) || word.starts_with('/') || (verbs && named(&word))
                })
        };
        if !only {
            return None;
        }
        let mut out = Stream::unknown();
        self.lists_all(base, rest, &mut out);
        Some(out)
    }
}
