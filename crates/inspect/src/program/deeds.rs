//! What a program's words add up to whatever it is: records of what happened that are erased, credentials that are printed, floods.

use countersign_plan::tool::{Effect, TargetKind};

use super::only_asks;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Stream, Word, is_record};

/// Services that keep the record of what happens on a machine.
const RECORDERS: &[&str] = &[
    "auditd",
    "rsyslog",
    "rsyslogd",
    "syslog",
    "syslogd",
    "syslog-ng",
    "systemd-journald",
    "journald",
    "audit",
    "osqueryd",
    "falco",
    "auditbeat",
    "filebeat",
    "fluentd",
    "fluent-bit",
    "wazuh-agent",
    "sysmon",
    "acct",
    "psacct",
    "eventlog",
    "vector",
    "promtail",
    "splunk",
    "splunkd",
    "splunkforwarder",
];

/// Words in their order after a program that prints credentials with them (the programs' manuals).
const PRINTS: &[(&str, &[&str])] = &[
    ("gpg", &["--export-secret-keys"]),
    ("gpg", &["--export-secret-subkeys"]),
    ("gpg", &["--export-secret-key"]),
    ("gpg2", &["--export-secret-keys"]),
    ("aws", &["configure", "get"]),
    ("aws", &["configure", "export-credentials"]),
    ("aws", &["iam", "create-service-specific-credential"]),
    ("aws", &["iam", "create-login-profile"]),
    ("aws", &["sso", "get-role-credentials"]),
    ("aws", &["ecr", "get-login-password"]),
    ("aws", &["eks", "get-token"]),
    ("aws", &["rds", "generate-db-auth-token"]),
    ("aws", &["codeartifact", "get-authorization-token"]),
    ("gcloud", &["iam", "service-accounts", "keys", "create"]),
    ("gcloud", &["config-helper"]),
    ("gcloud", &["secrets", "versions", "access"]),
    ("az", &["storage", "account", "keys"]),
    ("az", &["acr", "credential"]),
    ("az", &["ad", "sp", "create-for-rbac"]),
    ("az", &["keyvault", "secret", "show"]),
    ("kubectl", &["create", "token"]),
    ("oc", &["whoami", "-t"]),
    ("glab", &["auth", "token"]),
    ("gh", &["auth", "status", "--show-token"]),
    ("gh", &["auth", "token"]),
    ("git", &["credential", "fill"]),
    ("heroku", &["auth:token"]),
    ("heroku", &["config"]),
    ("fly", &["auth", "token"]),
    ("flyctl", &["auth", "token"]),
    ("doctl", &["auth", "token"]),
    ("vercel", &["env", "pull"]),
    ("sops", &["-d"]),
    ("sops", &["--decrypt"]),
    ("ansible-vault", &["view"]),
    ("ansible-vault", &["decrypt"]),
    ("getent", &["shadow"]),
    ("vault", &["token", "create"]),
    ("vault", &["print", "token"]),
    ("npm", &["token", "create"]),
    ("consul", &["acl", "token"]),
    ("nomad", &["acl", "token"]),
    ("step", &["crypto", "jwt"]),
    ("networksetup", &["-getairportpassword"]),
    ("nmcli", &["--show-secrets"]),
    ("wg", &["showconf"]),
    ("wg", &["genkey"]),
    ("docker", &["config", "inspect"]),
    ("etcdctl", &["get", "--prefix"]),
    ("etcdctl", &["get", "--from-key"]),
    ("etcdctl", &["snapshot", "save"]),
    ("terraform", &["state", "pull"]),
    ("tofu", &["state", "pull"]),
    ("terragrunt", &["state", "pull"]),
    ("kubectl", &["config", "view", "--raw"]),
    ("argocd", &["admin", "initial-password"]),
    ("flyctl", &["tokens", "create"]),
    ("fly", &["tokens", "create"]),
    ("rclone", &["config", "dump"]),
    ("rclone", &["reveal"]),
    ("docker", &["secret", "inspect"]),
];

/// Programs that do nothing but wear a machine down.
const FLOODERS: &[&str] = &[
    "slowhttptest",
    "slowloris",
    "slowloris.py",
    "goldeneye",
    "goldeneye.py",
    "hulk",
    "t50",
    "mhddos",
    "xerxes",
    "torshammer",
    "thc-ssl-dos",
    "pyloris",
    "loic",
    "hoic",
];

/// Programs that send as many requests as they are told.
const LOADERS: &[&str] = &[
    "ab",
    "wrk",
    "wrk2",
    "hey",
    "siege",
    "vegeta",
    "bombardier",
    "oha",
    "hping3",
    "nping",
    "httperf",
    "autocannon",
    "ping",
    "k6",
    "h2load",
    "cassowary",
    "rewrk",
    "mz",
    "boom",
    "tsung",
    "loadtest",
    "drill",
    "plow",
    "baton",
];

impl Machine<'_> {
    /// Looks at a program that is about to run.
    pub(super) fn judge_deeds(&mut self, base: &str, rest: &[Word]) {
        if only_asks(rest) {
            return;
        }
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        if erases(base, &words) {
            self.find(FindingKind::ErasesRecord, format!("`{base} {}`", words.join(" ")));
        }
        let remote = |word: &&String| {
            !word.starts_with('-') && !crate::host::is_local(host_in(word)) && host_in(word).contains(['.', ':'])
        };
        let aims = words.iter().any(|word| remote(&word));
        if (FLOODERS.contains(&base) && aims) || (LOADERS.contains(&base) && aims && floods(base, &words)) {
            self.find(FindingKind::ForkBomb, format!("`{base} {}` floods another machine", words.join(" ")));
        }
        if matches!(base, "stress" | "stress-ng")
            && !words
                .iter()
                .any(|word| word.starts_with("-t") || word.starts_with("--timeout") || word.contains("-ops"))
        {
            self.find(FindingKind::ForkBomb, format!("`{base}` takes all of the machine, and nothing ends it"));
        }
        for size in sizes(base, &words) {
            self.judge_size(size);
        }
        self.judge_openings(base, &words);
        if matches!(base, "npm" | "pnpm" | "yarn" | "bun")
            && matches!(words.as_slice(), [pkg, set, ..] if pkg == "pkg" && set == "set")
        {
            self.replaces_packages(&words);
        }
    }

    /// `npm pkg set overrides.NAME=npm:OTHER` has another package installed from then on (npm-pkg(1), package.json(5)).
    fn replaces_packages(&mut self, words: &[String]) {
        const WHERE: &[&str] =
            &["overrides", "resolutions", "dependencies", "devDependencies", "optionalDependencies", "pnpm"];
        let set = words.iter().filter_map(|word| word.split_once('='));
        let replaced = set.filter(|(key, _)| WHERE.iter().any(|place| key.starts_with(place)));
        let packages: Vec<String> = replaced
            .map(|(key, value)| {
                let version =
                    value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '^' | '~' | '>' | '<' | '*'));
                let name = key.rsplit('.').next().unwrap_or(key);
                if version {
                    format!("package {name}@{value}")
                } else {
                    format!("package {}", value.trim_start_matches("npm:"))
                }
            })
            .collect();
        for package in packages {
            self.touch_other(Effect::Execute, TargetKind::Other, package);
        }
    }

    /// What lets anybody in, or takes a guard of a repository away.
    fn judge_openings(&mut self, base: &str, words: &[String]) {
        let any = |parts: &[&str]| words.iter().any(|word| parts.iter().any(|part| word.contains(part)));
        let line = || format!("`{base} {}`", words.join(" "));
        let rules = match base {
            "kubectl" | "oc" => any(&["rolebinding"]) && any(&["system:unauthenticated", "system:anonymous"]),
            "gcloud" | "gsutil" => {
                any(&["allUsers", "allAuthenticatedUsers"]) && any(&["admin", "Admin", "owner", "editor"])
            }
            "ssh" | "autossh" => opens_backwards(words),
            // The editor of the file that says who rules, where it is no editor but writes what it is given.
            "visudo" | "vipw" | "vigr" => {
                ["EDITOR", "VISUAL", "SUDO_EDITOR"].iter().any(|name| self.scope.variable(name).is_some())
            }
            "chmod" | "install" => words.iter().any(|word| sets_user(word)) && self.is_about_a_shell(words),
            _ => false,
        };
        if rules {
            self.find(FindingKind::OpensToAnybody, format!("{} lets anybody in", line()));
        }
        // Who approves is never the one who asks; what is shown to him may be looked at.
        if base == "countersign" && words.first().is_some_and(|word| !SHOWS.contains(&word.as_str())) {
            self.find(FindingKind::OpensToAnybody, format!("{} decides in the place of those who are asked", line()));
        }
        if base == "gh" && any(&["/protection"]) && any(&["DELETE"]) {
            self.find(FindingKind::DisablesProtection, format!("{} takes the protection of a branch away", line()));
        }
        if base == "gh" && words.iter().any(|word| word.contains("secret_scanning") && word.contains("disabled")) {
            self.find(FindingKind::DisablesProtection, format!("{} ends the scanning for secrets", line()));
        }
    }

    /// Whether one of the words is a shell or another program that runs what it is told, or a copy of one that this line made.
    fn is_about_a_shell(&self, words: &[String]) -> bool {
        words.iter().any(|word| {
            let copied = || {
                let paths = self.paths(&Word::text(word.as_str()));
                paths
                    .iter()
                    .filter_map(|path| self.files.get(path))
                    .any(|file| file.sources.iter().any(|from| runs(from)))
            };
            runs(word) || copied()
        })
    }

    /// Marks what a program that records people writes: what they say, type or have on their screens is theirs.
    pub(super) fn records_people(&mut self, base: &str, rest: &[Word], out: &mut Stream) {
        if !records(base, rest) {
            return;
        }
        out.sources.insert("secret".to_owned());
        let written: Vec<String> = self
            .out
            .touches
            .iter()
            .filter(|touch| touch.by == self.by && touch.effect == Effect::Update)
            .map(|touch| touch.name.clone())
            .collect();
        for name in written {
            self.files.entry(name).or_default().sources.insert("secret".to_owned());
        }
    }

    /// Whether a program prints credentials with these words; what it writes is one then.
    pub(super) fn prints_credentials(&mut self, base: &str, rest: &[Word], out: &mut Stream) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let in_order = |wanted: &[&str]| {
            let mut rest = words.iter();
            wanted.iter().all(|want| {
                rest.any(|word| word == want || word.strip_prefix(want).is_some_and(|more| more.starts_with('=')))
            })
        };
        if PRINTS.iter().any(|(program, wanted)| *program == base && in_order(wanted)) {
            self.find(FindingKind::Secret, format!("`{base} {}` prints a credential", words.join(" ")));
            out.sources.insert("secret".to_owned());
        }
        let clients = super::tasks::has("psql mysql mariadb sqlcmd usql sqlite3 sqlite duckdb", base);
        if clients && words.iter().any(|word| super::client::keeps_passwords(word)) {
            out.sources.insert("secret".to_owned());
        }
        // What a directory keeps of passwords (RFC 2307; Samba, "samba.schema").
        let hashed = |word: &String| {
            ["userpassword", "sambantpassword", "sambalmpassword", "unicodepwd", "krbprincipalkey", "ntpwdhistory"]
                .contains(&word.to_ascii_lowercase().as_str())
        };
        if base == "ldapsearch" && words.iter().any(hashed) {
            self.find(FindingKind::Secret, format!("`{base}` shows what a directory keeps of passwords"));
            out.sources.insert("secret".to_owned());
        }
        // With all databases go their users with the passwords' hashes (mysqldump(1), pg_dumpall(1)).
        let all = |word: &String| matches!(word.as_str(), "--all-databases" | "-A");
        let dumps = matches!(base, "mysqldump" | "mariadb-dump" | "mysqlpump") && words.iter().any(all)
            || base == "pg_dumpall" && !words.iter().any(|word| word == "--no-role-passwords");
        if dumps {
            out.sources.insert("secret".to_owned());
        }
    }
}

/// Calls of Countersign that show, judge or verify, and change nothing.
const SHOWS: &[&str] = &[
    "pending",
    "show",
    "check",
    "doctor",
    "status",
    "flow",
    "eval",
    "audit",
    "policy",
    "tools",
    "snapshots",
    "completions",
    "help",
];

/// Whether a program gives other letters for those that it reads, so that they say something only afterwards: `rev`, `tr A-Za-z N-ZA-Mn-za-m`.
/// Capitals and small letters are no secret, and what is left out is not turned.
pub(super) fn turns_letters(base: &str, rest: &[Word]) -> bool {
    let words: Vec<&str> = rest.iter().filter_map(Word::constant).filter(|word| !word.starts_with('-')).collect();
    match (base, words.as_slice()) {
        ("rev", []) | ("rot13" | "caesar", _) => true,
        ("tr" | "gtr", [from, to]) => {
            let letters = |set: &str| set.chars().filter(char::is_ascii_alphabetic).count();
            letters(from) > 3 && letters(to) > 3 && !from.eq_ignore_ascii_case(to) && !to.starts_with('[')
        }
        _ => false,
    }
}

/// Whether a mode lets a program run as its owner (chmod(1)).
fn sets_user(mode: &str) -> bool {
    let octal = mode.bytes().all(|b| b.is_ascii_digit()) && mode.trim_start_matches('0').len() == 4;
    let value = mode.strip_prefix("--mode=").or_else(|| mode.strip_prefix("-m")).unwrap_or(mode);
    let by_letter = |clause: &str| {
        clause.split_once(['+', '=']).is_some_and(|(who, what)| {
            what.contains('s') && who.chars().all(|c| "ugoa".contains(c)) && what.chars().all(|c| "rwxXst".contains(c))
        })
    };
    (octal && mode.trim_start_matches('0').starts_with(['2', '4', '6']))
        || value.split(',').any(by_letter)
        || (value != mode && sets_user(value))
}

/// Whether a path is that of a program that runs what it is told.
fn runs(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    [
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "tcsh", "csh", "busybox", "python", "perl", "ruby",
        "node", "lua", "php", "env", "find", "vim", "vi", "awk", "gawk", "nmap", "tclsh", "expect", "gdb", "socat",
    ]
    .contains(&bare)
}

/// The host in an address that is an operand.
fn host_in(word: &str) -> &str {
    let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// Whether the words of a program that loads another machine ask for more than a test.
fn floods(base: &str, words: &[String]) -> bool {
    if words.iter().any(|word| matches!(word.as_str(), "--flood" | "--faster" | "--rand-source"))
        || (base == "ping" && words.iter().any(|word| word == "-f"))
    {
        return true;
    }
    if base == "ping" {
        return false;
    }
    let mut most_requests = 0;
    let mut most_at_once = 0;
    for (i, word) in words.iter().enumerate() {
        let Some(name) = word.strip_prefix('-') else { continue };
        let name = name.trim_start_matches('-');
        let split = name.find(|c: char| c == '=' || c.is_ascii_digit()).unwrap_or(name.len());
        let (name, attached) = name.split_at(split);
        let value = if attached.is_empty() {
            words.get(i + 1).map_or("", String::as_str)
        } else {
            attached.trim_start_matches('=')
        };
        let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
        let factor = if value.ends_with(['k', 'K']) {
            1000
        } else if value.ends_with(['m', 'M']) {
            1_000_000
        } else {
            1
        };
        let Ok(number) = digits.parse::<u64>().map(|n| n.saturating_mul(factor)) else { continue };
        match name {
            "n" | "r" | "requests" | "num-conns" | "reps" | "count" | "amount" => {
                most_requests = most_requests.max(number)
            }
            "c" | "u" | "vus" | "connections" | "concurrent" | "concurrency" | "clients" | "workers"
            | "max-workers" => {
                most_at_once = most_at_once.max(number);
            }
            "rate" | "R" => most_at_once = most_at_once.max(if number == 0 { u64::MAX } else { number / 2 }),
            _ => {}
        }
    }
    most_requests >= 50_000 || most_at_once >= 500
}

/// How many bytes a program is told to write.
fn sizes(base: &str, words: &[String]) -> Vec<u64> {
    use crate::machine::size;
    let value = |i: usize, names: &[&str]| -> Option<u64> {
        let word = words.get(i)?;
        names.iter().find_map(|name| {
            let rest = word.strip_prefix(name)?;
            if rest.is_empty() { size(words.get(i + 1)?) } else { size(rest.trim_start_matches('=')) }
        })
    };
    match base {
        "fallocate" => (0..words.len()).filter_map(|i| value(i, &["-l", "--length"])).collect(),
        "head" => (0..words.len()).filter_map(|i| value(i, &["-c", "--bytes"])).collect(),
        "mkfile" => words.iter().filter_map(|word| size(word)).collect(),
        "dd" => {
            let of = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)).and_then(size);
            let block = of("bs=").or_else(|| of("obs=")).unwrap_or(512);
            of("count=").map(|count| count.saturating_mul(block)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the record of what happened is erased or no longer kept, by the program that keeps it.
fn erases(base: &str, words: &[String]) -> bool {
    let has = |name: &str| words.iter().any(|word| word == name);
    let value = |name: &str| {
        words.iter().enumerate().find_map(|(i, word)| match word.strip_prefix(name) {
            Some("") => words.get(i + 1).map(String::as_str),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        })
    };
    // Countersign's own services keep the record that proves what was done.
    let recorder = |word: &String| {
        let unit = word.strip_suffix(".service").or_else(|| word.strip_suffix(".socket")).unwrap_or(word);
        RECORDERS.contains(&unit) || unit.starts_with("countersign")
    };
    match base {
        "journalctl" => {
            let short = |text: &str| {
                let text = text.trim().to_ascii_lowercase();
                let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
                let number: u64 = text.strip_suffix(unit).and_then(|n| n.parse().ok()).unwrap_or(0);
                number == 0
                    || unit.is_empty()
                    || unit.starts_with('s')
                    || unit == "m"
                    || unit.starts_with("min")
                    || unit.starts_with("us")
                    || unit.starts_with("ms")
                    || (unit.starts_with('h') && number < 24)
            };
            let small = |text: &str| crate::machine::size(text).is_some_and(|bytes| bytes <= 16 << 20);
            let few = |text: &str| text.parse::<u64>().is_ok_and(|n| n <= 1);
            value("--vacuum-time").is_some_and(short)
                || value("--vacuum-size").is_some_and(small)
                || value("--vacuum-files").is_some_and(few)
        }
        "logrotate" => words
            .iter()
            .any(|word| word == "--force" || (word.starts_with('-') && !word.starts_with("--") && word.contains('f'))),
        "wevtutil" => has("cl") || has("clear-log"),
        "auditctl" => {
            has("-D")
                || words.windows(2).any(|pair| matches!(pair, [flag, value] if flag == "-e" && value == "0"))
                || has("-e0")
        }
        "systemctl" | "rc-service" | "initctl" | "launchctl" | "sc" => {
            words.iter().any(|word| {
                matches!(word.as_str(), "stop" | "disable" | "mask" | "kill" | "unload" | "bootout" | "delete")
            }) && words.iter().any(recorder)
        }
        "service" => words.first().is_some_and(recorder) && has("stop"),
        "pkill" | "killall" | "rc-update" => words.iter().any(recorder),
        "ln" => words.windows(2).any(
            |pair| matches!(pair, [from, to] if from == "/dev/null" && (is_record(to) || to.contains("_history"))),
        ),
        "fc" => has("-p") && has("/dev/null"),
        "accton" => has("off"),
        "aureport" | "utmpdump" => false,
        "shred" | "srm" | "wipe" => words.iter().any(|word| is_record(word)),
        "tlog" | "script" => false,
        _ => false,
    }
}
/// Whether a tunnel back is open to every machine, or leads to this machine's own ssh (ssh(1), `-R`).
fn opens_backwards(words: &[String]) -> bool {
    let after = words.windows(2).filter_map(|pair| match pair {
        [flag, value] if flag.starts_with('-') && !flag.starts_with("--") && flag.ends_with('R') => {
            Some(value.as_str())
        }
        _ => None,
    });
    let joined = words.iter().filter_map(|word| word.strip_prefix("-R").filter(|value| !value.is_empty()));
    after.chain(joined).any(|value| {
        let parts: Vec<&str> = value.split(':').collect();
        let all = parts.len() >= 4 && parts.first().is_some_and(|bind| matches!(*bind, "0.0.0.0" | "*" | ""));
        all || (parts.len() >= 3 && parts.last() == Some(&"22"))
    })
}

/// Whether a program takes down what somebody says, types or has on the screen (FFmpeg documentation, "Input Devices").
fn records(base: &str, words: &[Word]) -> bool {
    const DEVICES: &[&str] = &[
        "pulse",
        "alsa",
        "x11grab",
        "v4l2",
        "video4linux2",
        "avfoundation",
        "gdigrab",
        "dshow",
        "kmsgrab",
        "jack",
        "oss",
    ];
    let pair = |name: &str, fits: &dyn Fn(&str) -> bool| {
        words.windows(2).any(|pair| match pair {
            [flag, value] => flag.constant() == Some(name) && fits(&value.shown()),
            _ => false,
        })
    };
    match base {
        "ffmpeg" | "avconv" => pair("-f", &|value| DEVICES.contains(&value)),
        "xinput" => words.first().is_some_and(|word| word.shown().starts_with("test")),
        "import" => pair("-window", &|value| value == "root"),
        "arecord" | "parec" | "parecord" | "pw-record" | "scrot" | "grim" | "wf-recorder" | "gnome-screenshot"
        | "spectacle" | "screencapture" | "fswebcam" | "imagesnap" | "logkeys" | "showkey" | "screenkey" | "xclip"
        | "xsel" | "wl-paste" | "pbpaste" | "maim" | "streamer" => true,
        _ => false,
    }
}
