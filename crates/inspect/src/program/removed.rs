//! What goes by other programs than those that are there to remove: folders, whoever works here, every key of a store.

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Word};

/// The most folders of one command.
const MAX_FOLDERS: usize = 64;

impl Machine<'_> {
    /// Folders that go with all below them: `rclone delete`, `btrfs subvolume delete`, `7z a -sdel` (the programs' manuals).
    pub(super) fn removes_folders(&mut self, base: &str, words: &[String]) {
        let said = |word: &str| words.iter().any(|one| one == word);
        let skip = match base {
            "rclone" if said("delete") || said("purge") => 1,
            "btrfs" if said("delete") => 2,
            _ if base.starts_with("7z") && said("-sdel") => 2,
            _ => return,
        };
        let paths = words.iter().filter(|word| !word.starts_with('-')).skip(skip).filter(|word| !word.contains(':'));
        for path in paths.at_most(MAX_FOLDERS) {
            self.touch_path(Effect::Delete, &Word::pattern(path), true);
        }
    }

    /// `userdel -r NAME` of whoever works here, or of the administrator (userdel(8), "--remove").
    pub(super) fn removes_user(&mut self, base: &str, words: &[String]) {
        let removes = words.iter().any(|word| {
            word.starts_with("--remove") || (word.starts_with('-') && !word.starts_with("--") && word.contains('r'))
        });
        let own = self.context.home.rsplit('/').next().unwrap_or("").to_owned();
        if removes && words.iter().any(|word| *word == own || word == "root") {
            self.find(FindingKind::DestroysHome, format!("`{base}` removes the home folder with its user"));
        }
    }

    /// Every key of a store: an empty beginning, which all have (etcdctl(1), "--prefix"; Consul, "kv delete -recurse").
    pub(super) fn removes_all_keys(&mut self, base: &str, words: &[String]) {
        let said = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let all = said(&["--prefix", "--from-key", "-recurse", "--recurse", "-recurse=true"]);
        if all
            && said(&["del", "delete"])
            && words.last().is_some_and(|key| matches!(key.as_str(), "" | "/" | "--prefix" | "--from-key"))
        {
            self.find(FindingKind::DestroysDatabase, format!("`{base}` removes every key"));
        }
    }

    /// A service that guards the machine, which is stopped or no longer started (systemctl(1), service(8)).
    pub(super) fn stops_guards(&mut self, base: &str, rest: &[Word], words: &[String]) {
        const GUARDS: &str = "firewalld nftables ufw iptables ip6tables apparmor fail2ban clamav-daemon clamav-freshclam falco crowdsec \
            shorewall netfilter-persistent";
        let names = || words.iter().map(|word| word.trim_end_matches(".service")).filter(|word| !word.starts_with('-'));
        let ends = |word: &str| {
            matches!(word, "stop" | "disable" | "mask" | "kill" | "remove" | "del" | "delete" | "down" | "off")
        };
        // `systemctl VERB UNIT`, `service NAME VERB`; what is only asked about is none of it.
        let path = verbs_of(base, rest);
        let verb = match base {
            "service" | "rc-service" | "chkconfig" => names().nth(1),
            _ => path.first().map(String::as_str).or_else(|| names().next()),
        };
        if verb.is_some_and(ends)
            && let Some(guard) = names().find(|word| super::tasks::has(GUARDS, word))
        {
            self.find(FindingKind::DisablesProtection, format!("`{base}` takes {guard} down"));
        }
    }

    /// What is taken away and put where nothing keeps it: an archive, a copy or a name that is `/dev/null` (tar(1), "--remove-files"; zip(1),
    /// "-m"; 7z, "-sdel"; rsync(1), "--remove-source-files"; mv(1)).
    pub(super) fn keeps_nothing(&mut self, base: &str, words: &[String]) {
        const NOWHERE: &str = "/dev/null";
        let said = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let short = |letter: char| {
            words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
        };
        let takes = match base {
            "tar" | "gtar" | "bsdtar" => said(&["--remove-files"]),
            "zip" => short('m') || said(&["--move"]),
            "rsync" => said(&["--remove-source-files", "--remove-sent-files"]),
            "mv" | "gmv" => {
                let folder = |pair: &[String]| matches!(pair, [option, to] if matches!(option.as_str(), "-t" | "--target-directory") && to == NOWHERE);
                words.last().is_some_and(|to| to == NOWHERE)
                    || words.windows(2).any(folder)
                    || said(&["-t/dev/null", "--target-directory=/dev/null"])
            }
            _ if base.starts_with("7z") => said(&["-sdel"]),
            _ => false,
        };
        let nowhere = words.iter().any(|word| word.ends_with(NOWHERE));
        if takes && nowhere {
            self.find(FindingKind::HistoryLoss, format!("`{base} {}` takes away what nothing keeps", words.join(" ")));
        }
    }

    /// All that was ever saved of something: a whole store of backups, a file system with all below it, each snapshot (the manuals of
    /// BorgBackup, restic, ZFS, Velero, pgBackRest, WAL-G and Barman); a whole directory (ldapdelete(1), "-r").
    pub(super) fn removes_backups(&mut self, base: &str, rest: &[Word], words: &[String]) {
        let said = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        // The letter is another option of the others.
        let dry = matches!(base, "borg" | "restic" | "rustic" | "zfs" | "ldapdelete")
            && words.iter().any(|word| {
                let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-') && flags.len() < 5);
                flags.is_some_and(|flags| flags.contains('n') && flags.chars().all(char::is_alphabetic))
            });
        if dry || said(&["--dry-run"]) {
            return;
        }
        // Values of options before it are no verb.
        let path = verbs_of(base, rest);
        let verb = path.first().map_or("", String::as_str);
        let kept = || words.iter().filter_map(|word| word.strip_prefix("--keep-"));
        let all = match base {
            // Without the name of an archive it is the store that is meant.
            "borg" => match verb {
                "delete" => {
                    !words.iter().any(|word| word.contains("::"))
                        && !said(&[
                            "-a",
                            "-P",
                            "--glob-archives",
                            "--match-archives",
                            "--prefix",
                            "--first",
                            "--last",
                            "--cache-only",
                        ])
                }
                "prune" => kept().count() > 0 && kept().all(|keep| keep == "none" || keep.ends_with("=0")),
                _ => false,
            },
            "restic" | "rustic" => verb == "forget" && said(&["--unsafe-allow-remove-all"]),
            "zfs" => {
                verb == "destroy"
                    && words.iter().any(|word| is_recursive(word))
                    && !words.iter().any(|word| word.contains('@'))
            }
            "velero" => said(&["delete"]) && said(&["backup", "backups"]) && said(&["--all"]),
            "pgbackrest" => said(&["stanza-delete"]),
            "wal-g" | "wal-e" => said(&["delete"]) && said(&["everything"]),
            "barman" => verb == "delete" && said(&["all"]),
            "duplicity" => {
                let none =
                    |pair: &[String]| matches!(pair, [verb, count] if verb == "remove-all-but-n-full" && count == "0");
                said(&["--force"]) && words.windows(2).any(none)
            }
            "kopia" => said(&["delete"]) && said(&["--all-snapshots-for-source"]) && said(&["--delete"]),
            "rm" => {
                words.iter().any(|word| is_recursive(word))
                    && rest
                        .iter()
                        .filter(|word| !word.prefix().starts_with('-'))
                        .flat_map(|word| self.paths(word))
                        .any(|path| is_store(&path) && !crate::path::is_below(&path, &self.context.cwd))
            }
            "ldapdelete" => words.iter().any(|word| is_recursive(word)) && words.iter().any(|word| is_base(word)),
            _ => false,
        };
        if all {
            self.find(
                FindingKind::DestroysDatabase,
                format!("`{base} {}` takes away all that is kept there", words.join(" ")),
            );
        }
    }
}

/// The words that say what a program is to do, by its grammar.
fn verbs_of(base: &str, rest: &[Word]) -> Vec<String> {
    let parsed = crate::catalogue::entry(base).and_then(|entry| super::options::read(entry, rest).ok());
    parsed.map(|(_, parsed)| parsed.path).unwrap_or_default()
}

/// Whether a path is that of a store of backups, or of what such a store consists of (restic, "Repository Layout"; BorgBackup, "Repository").
fn is_store(path: &str) -> bool {
    let path = path.trim_end_matches(['/', '*']);
    let (folder, last) = path.rsplit_once('/').unwrap_or(("", path));
    let kept = |part: &str| {
        let lower = part.to_ascii_lowercase();
        ["backup", "restic", "borg", "pgbackrest", "barman"].iter().any(|name| lower.contains(name))
    };
    let whole = matches!(folder, "" | "/var" | "/mnt" | "/srv" | "/data") && matches!(last, "backup" | "backups");
    let passes = ["/tmp/", "/var/tmp/"].iter().any(|folder| path.starts_with(folder));
    path.starts_with('/')
        && !passes
        && (whole || (folder.split('/').any(kept) && matches!(last, "data" | "index" | "keys" | "snapshots")))
}

/// Whether flags of one letter say that all below is meant.
fn is_recursive(word: &str) -> bool {
    word == "--recursive"
        || word
            .strip_prefix('-')
            .is_some_and(|flags| !flags.starts_with('-') && flags.len() < 5 && flags.contains(['r', 'R']))
}

/// Whether a name is that of a directory's base, and of nothing in it (RFC 2247).
fn is_base(name: &str) -> bool {
    let part = |part: &str| {
        let kind = part.split('=').next().unwrap_or("").trim().to_ascii_lowercase();
        part.contains('=') && matches!(kind.as_str(), "dc" | "o" | "c")
    };
    name.contains('=') && name.split(',').all(part)
}
