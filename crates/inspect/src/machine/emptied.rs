//! Files that are emptied: what was in them is gone, as if they had been removed.

use countersign_plan::tool::Effect;

use super::{Machine, Word};
use crate::inspection::FindingKind;

/// Files that are empty by nature: a marker, not work.
const MARKERS: &[&str] = &["__init__.py", "py.typed", ".gitkeep", ".keep", ".nojekyll", ".nomedia", ".placeholder"];

/// Names of files below `/var/log` that record who did what (syslog.conf, utmp and auditd manuals).
const RECORDS: &[&str] = &[
    "auth.log", "secure", "syslog", "messages", "wtmp", "btmp", "lastlog", "faillog", "tallylog", "kern.log", "audit",
    "journal", "sudo.log", "cron",
];

impl Machine<'_> {
    /// Nothing is left in the file that `word` names. Where it is one that the line goes on to fill it was only begun anew.
    pub(crate) fn empties(&mut self, word: &Word) {
        if word.is_pattern() || word.has_hole() {
            self.touch_path(Effect::Delete, word, false);
            if let Some(name) = self.paths(word).into_iter().find(|name| !is_made_again(name)) {
                self.find(
                    FindingKind::UnboundedStatement,
                    format!("`{}` empties every file that {name} matches", self.by),
                );
            }
            return;
        }
        for name in self.paths(word) {
            let last = name.rsplit('/').next().unwrap_or("");
            // A log of one's own work is begun anew; one that lies elsewhere is somebody's record.
            let here = name.starts_with(&format!("{}/", self.context.cwd));
            if here && is_made_again(&name) {
                self.touch_path(Effect::Update, word, false);
                continue;
            }
            if !(self.made.contains(&name)
                || MARKERS.contains(&last)
                || name.starts_with("/dev/")
                || name.starts_with("/tmp/"))
            {
                self.emptied.insert(name, self.by.clone());
            }
        }
    }

    /// Whether the pipeline under way reads the file that `word` names: what opens it for writing empties it before it is read (Bash
    /// manual, "Redirections"). What the line itself made is none that is lost.
    pub(crate) fn is_input(&self, word: &Word) -> bool {
        let own = |name: &String| {
            self.made.contains(name) || (self.files.contains_key(name) && !self.context.files.contains_key(name))
        };
        let open = |name: &String| self.inputs.contains(name) || self.upstream.contains(name);
        let read = |name: &String| open(name) && !name.starts_with("/dev/") && !own(name);
        !word.has_hole() && self.paths(word).iter().any(read)
    }

    /// What was in such a file is lost, whatever is written there afterwards.
    pub(crate) fn loses_input(&mut self, word: &Word) {
        for name in self.paths(word) {
            self.made.remove(&name);
        }
        self.empties(word);
    }

    /// At the end of the line: what was emptied and not filled again is destroyed.
    pub(crate) fn finish(&mut self) {
        self.judge_later();
        for (name, by) in std::mem::take(&mut self.emptied) {
            self.made.remove(&name);
            let before = std::mem::replace(&mut self.by, by);
            self.touch_path(Effect::Delete, &Word::text(name), false);
            self.by = before;
        }
        // One of a machine's defences may be in the way; whoever takes down several leaves it open.
        let down = self.out.findings.iter().filter(|finding| finding.kind == FindingKind::DisablesProtection);
        let guards: std::collections::BTreeSet<&str> = down.filter_map(|finding| guard(&finding.message)).collect();
        if guards.len() >= 2 {
            let names = guards.into_iter().collect::<Vec<_>>().join(", ");
            self.find(FindingKind::OpensToAnybody, format!("several defences of the machine are taken down: {names}"));
        }
        // Files below a folder that are encrypted in place, and whose originals are removed.
        let locks = |by: &str| matches!(by, "openssl" | "ccrypt" | "7z" | "7za" | "zip" | "mcrypt");
        let outside =
            |name: &str| !name.starts_with(&format!("{}/", self.context.cwd)) && name.starts_with(&self.context.home);
        let locked = self.out.touches.iter().find(|touch| {
            touch.effect == Effect::Delete
                && touch.name.contains("**")
                && outside(&touch.name)
                && self
                    .out
                    .touches
                    .iter()
                    .any(|other| other.name == touch.name && other.effect == Effect::Read && locks(&other.by))
        });
        if let Some(name) = locked.map(|touch| touch.name.clone()) {
            self.find(
                FindingKind::DestroysHome,
                format!("every file of {name} is encrypted, and the originals are removed"),
            );
        }
    }

    /// Whether the record of what happened is what is removed.
    pub(super) fn judge_record(&mut self, effect: Effect, name: &str) {
        if effect == Effect::Delete && is_record(name) {
            self.find(FindingKind::ErasesRecord, format!("`{}` removes the record {name}", self.by));
        }
    }
}

/// The defence of a whole machine or repository that a finding speaks of, by the program that it names.
fn guard(message: &str) -> Option<&'static str> {
    const GUARDS: &[&str] = &[
        "ufw",
        "iptables",
        "ip6tables",
        "nft",
        "firewall-cmd",
        "setenforce",
        "aa-teardown",
        "apparmor",
        "auditctl",
        "auditd",
        "fail2ban",
        "clamav",
        "falco",
        "gatekeeper",
        "spctl",
        "csrutil",
        "firewalld",
        "nftables",
        "protection",
        "scanning",
    ];
    let mut words = message.split(|c: char| !(c.is_alphanumeric() || c == '-'));
    words.find_map(|word| GUARDS.iter().find(|guard| **guard == word)).copied()
}

/// Whether a file is one that programs write by themselves: a log that is no record, the product of a build.
fn is_made_again(name: &str) -> bool {
    const FOLDERS: &[&str] =
        &["/build/", "/dist/", "/target/", "/tmp/", "/out/", "/coverage/", "/.cache/", "/logs/", "/log/"];
    let telling = ["audit", "access", "auth", "security", "history"].iter().any(|word| name.contains(word));
    let written = [".log", ".out", ".tmp", ".err"].iter().any(|end| name.ends_with(end));
    !telling && (written || FOLDERS.iter().any(|folder| name.contains(folder)))
}

/// Whether a file is a log: what is left out of it is missing for good.
pub(crate) fn is_log(name: &str) -> bool {
    name.ends_with(".log") || name.split('/').any(|part| matches!(part, "audit" | "log" | "logs" | "journal"))
}

/// Whether a file records what people and programs did: typed history, logins, the audit trail.
pub(crate) fn is_record(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or("");
    let history = last.starts_with('.') && (last.ends_with("_history") || matches!(last, ".history" | ".viminfo"));
    let logged = name.strip_prefix("/var/log/").or_else(|| name.strip_prefix("/var/account/"));
    history
        || logged.is_some_and(|rest| {
            let first = rest.split('/').next().unwrap_or("");
            RECORDS.contains(&first.split(['*', '?']).next().unwrap_or("").trim_end_matches(".1"))
        })
        || matches!(name, "/var/run/utmp" | "/run/utmp")
}
