//! Whole disks, accounts and clusters out of a list of all of them, miners, named pipes between a shell and another machine, and
//! what a setting runs later: what a program's words do that reads as ordinary work one word at a time.

use std::collections::BTreeSet;

use countersign_plan::tool::Effect;

use crate::bounded::{Bounded as _, has_room};
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{ANSWERS, Machine, Stream, Word};

/// What a shell that takes its orders from a named pipe reads.
pub(super) const PIPE: &str = "a named pipe";

/// A list of all disks of the machine.
const DISKS: &str = "the list of all disks";

/// Kinds of things that belong to a whole cluster (kubectl, `api-resources --namespaced=false`).
const CLUSTER: &[&str] = &[
    "node",
    "nodes",
    "no",
    "pv",
    "persistentvolume",
    "persistentvolumes",
    "crd",
    "crds",
    "customresourcedefinitions",
    "ns",
    "namespaces",
    "sc",
    "storageclasses",
    "clusterroles",
];

/// A list of everything of a kind that a cluster or an account has.
const EVERYTHING: &str = "the list of all that there is";

/// Programs that make what a device holds unreadable, with the words by which they do; no word where each use does (the programs'
/// manuals: util-linux, e2fsprogs, nvme-cli, gptfdisk, parted, hdparm, cryptsetup, mdadm, zfs, lvm2).
const WIPES: &[(&str, &[&str])] = &[
    ("blkdiscard", &[]),
    ("sgdisk", &["-Z", "--zap-all", "-z", "--zap", "-o", "--clear"]),
    ("sfdisk", &["--delete", "--wipe"]),
    ("parted", &["mklabel", "mktable", "rm"]),
    ("hdparm", &["--security-erase", "--security-erase-enhanced", "--trim-sector-ranges", "--write-sector"]),
    ("nvme", &["format", "sanitize", "write-zeroes", "delete-ns"]),
    ("cryptsetup", &["luksErase", "erase", "luksFormat", "reencrypt"]),
    ("mdadm", &["--zero-superblock"]),
    ("zpool", &["destroy", "labelclear"]),
    ("badblocks", &["-w"]),
    ("sg_format", &[]),
    ("scrub", &[]),
    ("nwipe", &[]),
];

/// Programs that take a device, whatever its name turns out to be.
const FORMATS: &[&str] = &[
    "mkfs",
    "mke2fs",
    "mkswap",
    "mkdosfs",
    "mkntfs",
    "mkexfatfs",
    "newfs",
    "newfs_msdos",
    "newfs_exfat",
    "wipefs",
    "shred",
    "pvremove",
    "vgremove",
    "lvremove",
    "dd",
    "wipe",
];

/// Programs that do nothing but mine.
const MINERS: &[&str] = &[
    "xmrig",
    "xmr-stak",
    "minerd",
    "cpuminer",
    "cpuminer-multi",
    "ethminer",
    "cgminer",
    "bfgminer",
    "ccminer",
    "lolminer",
    "nbminer",
    "t-rex",
    "teamredminer",
    "phoenixminer",
    "gminer",
    "srbminer-multi",
    "nanominer",
    "nheqminer",
];

impl Machine<'_> {
    /// Looks at a program that is about to run.
    pub(super) fn judge_grave(&mut self, base: &str, rest: &[Word]) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let line = || format!("`{base} {}`", words.join(" "));
        let pool = |word: &String| {
            let scheme = word.split_once("://").map_or("", |(scheme, _)| scheme);
            let scheme = scheme.rsplit('=').next().unwrap_or(scheme);
            scheme.starts_with("stratum") || scheme.starts_with("daemon+http")
        };
        if MINERS.contains(&base.to_ascii_lowercase().as_str()) || words.iter().any(pool) {
            self.find(FindingKind::ForkBomb, format!("{} takes the machine to mine for somebody", line()));
        }
        let origins: BTreeSet<String> = rest.iter().flat_map(|word| self.origin_of(word).sources).collect();
        let of_all = |mark: &str| origins.contains(mark);
        let wipes = WIPES.iter().any(|(program, with)| {
            let called = |word: &String| with.contains(&word.split('=').next().unwrap_or(word));
            *program == base && (with.is_empty() || words.iter().any(called))
        });
        let listed = FORMATS.contains(&base.split('.').next().unwrap_or(base)) && of_all(DISKS);
        if (wipes && !super::only_asks(rest)) || listed {
            self.find(FindingKind::DestroysDevice, format!("{} makes what a device holds unreadable", line()));
        }
        let takes = |word: &String| {
            let verb = |word: &str| super::verbs::verb(word) == Some(Effect::Delete);
            verb(word)
                || word == "forget"
                || word.split_once('-').is_some_and(|(first, _)| verb(first))
                || word == "rb"
                || word == "--delete"
        };
        let of_cluster = |word: &String| word.split(',').any(|kind| CLUSTER.contains(&kind));
        let all_of_cluster = matches!(base, "kubectl" | "oc" | "k")
            && words.iter().any(|word| word == "delete")
            && words.iter().any(|word| word == "--all")
            && words.iter().any(of_cluster);
        if all_of_cluster || (words.iter().take(5).any(takes) && of_all(EVERYTHING)) {
            self.find(FindingKind::DestroysDatabase, format!("{} takes away everything of a kind", line()));
        }
        if base == "mkfifo" || (base == "mknod" && words.last().is_some_and(|word| word == "p")) {
            let paths: Vec<String> = rest.iter().flat_map(|word| self.paths(word)).collect();
            for path in paths {
                self.files.insert(path, Self::pipe());
            }
        }
        let second_root = matches!(base, "useradd" | "usermod" | "adduser")
            && words.iter().any(|word| word == "--non-unique" || is_cluster(word, 'o'))
            && (words
                .windows(2)
                .any(|pair| matches!(pair, [flag, id] if (flag.ends_with('u') || flag == "--uid") && id == "0"))
                || words.iter().any(|word| word == "--uid=0" || (is_cluster(word, 'u') && word.ends_with("u0"))));
        let without_password = base == "passwd"
            && words.iter().any(|word| matches!(word.as_str(), "-d" | "--delete"))
            && words.iter().any(|word| word == "root");
        if without_password {
            self.find(FindingKind::OpensToAnybody, format!("{} lets anybody be root", line()));
        }
        if second_root {
            self.find(FindingKind::OpensToAnybody, format!("{} makes another name for root", line()));
        }
        // Packages of the system run their own scripts as root (dpkg(1), rpm(8)).
        let installs = matches!(
            base,
            "dpkg" | "rpm" | "apt" | "apt-get" | "dnf" | "yum" | "zypper" | "apk" | "snap" | "installer"
        ) && words.iter().any(|word| {
            matches!(
                word.as_str(),
                "install" | "localinstall" | "add" | "-i" | "--install" | "-U" | "-Uvh" | "-ivh" | "in" | "-pkg"
            )
        });
        if installs && rest.iter().any(|word| word.prefix().contains("://") || self.held(word).remote) {
            self.find(FindingKind::DownloadAndExecute, format!("{} runs what a host sent", line()));
        }
        self.scripts_of_package(base, &words);
        self.set_by_command(base, &words);
        self.lines_within(base, &words);
        self.compiles(base, rest);
        let compiles = matches!(
            base,
            "go" | "deno" | "bun" | "crystal" | "nim" | "dart" | "swift" | "scala" | "kotlin" | "java" | "zig" | "v"
        );
        if compiles && rest.iter().any(|word| self.held(word).remote) {
            self.find(FindingKind::DownloadAndExecute, format!("{} runs what a host sent", line()));
        }
    }

    /// Marks a list of all disks, or of everything of a kind.
    pub(super) fn lists_all(&self, base: &str, rest: &[Word], out: &mut Stream) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let has = |name: &str| words.iter().any(|word| word == name);
        let first = |name: &str| words.iter().find(|word| !word.starts_with('-')).is_some_and(|word| word == name);
        let disks = match base {
            "lsblk" | "blkid" | "lsscsi" => true,
            "fdisk" | "sfdisk" | "parted" => has("-l") || has("--list"),
            "nvme" | "diskutil" => first("list"),
            _ => false,
        };
        let everything = match base {
            "kubectl" | "oc" | "k" => {
                first("get") && ["ns", "namespace", "namespaces", "crd", "crds", "pv"].iter().any(|kind| has(kind))
            }
            "aws" => {
                (has("s3") && has("ls") && words.len() <= 4)
                    || has("list-buckets")
                    || has("list-tables")
                    || has("list-hosted-zones")
            }
            "gcloud" | "gsutil" => first("ls") || (first("projects") && has("list")),
            "az" => first("group") && has("list"),
            "restic" | "rustic" => {
                let narrowed =
                    |word: &String| ["--tag", "--host", "--path", "-H", "--latest"].iter().any(|o| word.starts_with(o));
                has("snapshots") && !words.iter().any(narrowed)
            }
            "borg" | "zfs" => first("list"),
            _ if base.starts_with("kafka-topics") => has("--list"),
            _ => false,
        };
        // Where nothing narrows it, all of the folder is listed.
        let named = words.iter().filter(|word| !word.starts_with('-') && *word != ".").count();
        let whole = match base {
            "ls" | "gls" | "dir" | "vdir" | "eza" | "exa" | "lsd" | "fd" | "fdfind" => named == 0,
            "git" => first("ls-files") && named == 1,
            "rg" => has("--files") && named == 0,
            _ => false,
        };
        if whole && !out.listing.is_empty() {
            out.list(vec![Word::text(".")]);
        }
        let marks = [(disks, DISKS), (everything, EVERYTHING)];
        out.sources.extend(marks.into_iter().filter(|(holds, _)| *holds).map(|(_, mark)| mark.to_owned()));
    }

    /// `npm pkg set scripts.NAME=LINE`: a package's scripts run when it is installed or tested (npm-pkg(1), "scripts").
    fn scripts_of_package(&mut self, base: &str, words: &[String]) {
        let sets = matches!(base, "npm" | "pnpm" | "bun") && words.windows(2).any(|pair| pair == ["pkg", "set"]);
        for line in words.iter().filter(|_| sets).filter_map(|word| word.strip_prefix("scripts.")?.split_once('=')) {
            self.runs_later(line.1);
            if line.0 == "test" && crate::file::is_vacuous(line.1) {
                self.find(
                    FindingKind::DisablesProtection,
                    format!("`{base}` has the tests of the package run nothing"),
                );
            }
            let inner = crate::shell::shell(line.1, self.context);
            self.absorb_grave(inner);
        }
    }

    /// Keeps a text that something runs later without asking anybody.
    pub(crate) fn runs_later(&mut self, text: &str) {
        if self.later.len() < 16 {
            self.later.push(text.to_owned());
        }
    }

    /// What the line fetched and something is told to run later: whoever sent it decides what that is.
    pub(crate) fn judge_later(&mut self) {
        self.judge_fetched_places();
        if self.later.is_empty() {
            return;
        }
        let cwd = format!("{}/", self.context.cwd.trim_end_matches('/'));
        let home = self.context.home.trim_end_matches('/').to_owned();
        let fetched = self.files.iter().filter(|(_, file)| file.remote).map(|(path, _)| path);
        let named = fetched.chain(&self.unpacked).chain(&self.cloned).find(|path| {
            let short = path.strip_prefix(cwd.as_str()).unwrap_or(path);
            let folder = short.rsplit_once('/').map_or("", |(folder, _)| folder);
            let spelled = path.strip_prefix(home.as_str());
            let told = |text: &String| {
                text.contains(short)
                    || spelled.is_some_and(|rest| {
                        ["~", "$HOME", "${HOME}"].iter().any(|own| text.contains(&format!("{own}{rest}")))
                    })
                    || (folder.len() > 1 && text.trim_end_matches('/').ends_with(folder) && !text.contains(' '))
            };
            short.len() > 3 && self.later.iter().any(told)
        });
        let own = |path: &str| path.strip_prefix(cwd.as_str()).unwrap_or(path).to_owned();
        let told = |path: &str| {
            let short = own(path);
            self.later.iter().any(|text| text == path || text.trim_start_matches("./") == short)
        };
        // A program that the line wrote, and that something is told to start.
        let written: Vec<(String, String)> = self
            .files
            .iter()
            .filter_map(|(path, file)| Some((path.clone(), file.text.clone()?)))
            .filter(|(path, text)| text.starts_with("#!") && told(path))
            .at_most(256)
            .collect();
        let named = named.cloned();
        for (path, text) in written {
            self.absorb_grave(crate::file::file(&path, &text, self.context));
        }
        if let Some(path) = named {
            self.find(
                FindingKind::DownloadAndExecute,
                format!("{path} is what a host sent, and a setting has it run later"),
            );
        }
    }

    /// Where an archive that a host sent is unpacked: what is run from there is the host's.
    pub(super) fn unpacks(&mut self, from: &Stream, to: Option<&Word>) {
        if !from.remote || !has_room(self.unpacked.len(), 64) {
            return;
        }
        let folders = self.paths(to.unwrap_or(&Word::text(".")));
        // Into the project's own folder it may be anything, and what else lies there is not meant.
        let (own, others): (Vec<String>, Vec<String>) =
            folders.into_iter().partition(|folder| *folder == self.context.cwd);
        self.unpacked.extend(others);
        self.unpacked_here |= !own.is_empty();
    }

    /// What a host sent may lie below a place that is written: `wget -P`, `curl --output-dir`, `scp`, `rsync` (their manuals).
    pub(super) fn brings_into(&mut self, path: &str) {
        let above = self.context.cwd == path || crate::path::is_below(&self.context.cwd, path);
        let folder = !path.rsplit('/').next().unwrap_or("").contains('.');
        if folder && !above && has_room(self.unpacked.len(), 64) {
            self.unpacked.insert(path.to_owned());
        }
    }

    /// The folder out of what a host sent in which something is run.
    pub(crate) fn of_unpacked(&self, name: &str, recursive: bool) -> Option<String> {
        let archive = self.unpacked.iter().find(|folder| *folder == name || crate::path::is_below(name, folder));
        let clone = || self.cloned.iter().find(|folder| *folder == name || crate::path::is_below(name, folder));
        if let Some(folder) = archive.or_else(clone) {
            return Some(folder.clone());
        }
        let below = name.strip_prefix(self.context.cwd.as_str())?.strip_prefix('/').filter(|_| self.unpacked_here)?;
        let (first, within) = below.split_once('/').map_or((below, false), |(first, _)| (first, true));
        let plain = !first.is_empty() && !first.starts_with(['.', '*', '$']) && !OF_PROJECTS.contains(&first);
        (plain && (within || recursive)).then(|| format!("{}/{first}", self.context.cwd))
    }

    /// What is read from a pipe that has a name.
    pub(crate) fn pipe() -> Stream {
        Stream { sources: BTreeSet::from([PIPE.to_owned()]), ..Stream::unknown() }
    }

    /// What runs beside this one under a name of its own, and is talked to by pipes (Bash manual, "Coprocesses").
    pub(crate) fn keeps_coprocess(&mut self, name: &str, out: Stream) {
        self.files.insert(format!("coproc {name}"), out);
    }

    /// The answers of a coprocess that a word leads to.
    pub(crate) fn coprocess(&self, word: &Word) -> Option<Stream> {
        let mut out = self.files.get(&format!("coproc {}", word.first_hole()?)).cloned()?;
        out.sources.insert(PIPE.to_owned());
        Some(out)
    }

    /// Something that a coprocess is told.
    pub(crate) fn tells_coprocess(&mut self, name: &str, data: &Stream) {
        let shell = self.files.get(&format!("coproc {name}")).is_some_and(|out| out.sources.contains(ANSWERS));
        if shell && (data.remote || self.sockets) {
            self.find(FindingKind::ReverseShell, "a shell beside this one takes its orders from another machine");
        }
    }
}

/// Whether a word is of flags of one letter, and this is among them.
fn is_cluster(word: &str, flag: char) -> bool {
    word.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains(flag))
}

/// Folders that projects have of their own: what is run there is theirs, whatever else was unpacked beside it.
const OF_PROJECTS: &[&str] = &[
    "api",
    "app",
    "apps",
    "backend",
    "bin",
    "build",
    "ci",
    "client",
    "cmd",
    "config",
    "deploy",
    "dist",
    "docs",
    "env",
    "examples",
    "frontend",
    "hack",
    "infra",
    "lib",
    "node_modules",
    "ops",
    "packages",
    "scripts",
    "server",
    "services",
    "src",
    "target",
    "test",
    "tests",
    "tools",
    "vendor",
    "venv",
    "web",
];

impl Machine<'_> {
    /// The same of programs that name the archive first and the folder by an option (unzip(1), 7z(1), cpio(1)).
    pub(super) fn unpacks_by(&mut self, base: &str, rest: &[Word], stdin: &Stream) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let attached =
            || words.iter().zip(rest).find_map(|(text, word)| text.strip_prefix("-o").and_then(|_| word.skip(2)));
        let to = match base {
            "unzip" => words.iter().position(|word| word == "-d").and_then(|at| rest.get(at + 1).cloned()),
            "cpio" | "bsdcpio" => words.iter().position(|word| word == "-D").and_then(|at| rest.get(at + 1).cloned()),
            _ => attached(),
        };
        let mut from = if base.ends_with("cpio") { stdin.clone() } else { Stream::unknown() };
        for file in rest.iter().filter(|word| !word.shown().starts_with('-')) {
            from.remote |= self.held(file).remote;
        }
        self.unpacks(&from, to.as_ref());
    }

    /// `docker compose OPTIONS… COMMAND`: the options that stand before the command are those of the program of its own.
    pub(super) fn composed(&mut self, base: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let (first, more) = rest.split_first()?;
        let option = more.first().is_some_and(|word| word.shown().starts_with('-'));
        (first.constant() == Some("compose") && option).then(|| {
            let program = if base == "podman" { "podman-compose" } else { "docker-compose" };
            self.start(std::iter::once(Word::text(program)).chain(more.iter().cloned()).collect(), stdin.clone())
        })
    }

    /// Letters to people: whoever they are addressed to gets what is in them.
    pub(super) fn posts(&mut self, base: &str, rest: &[Word], letter: &Stream) {
        const POSTS: &[&str] =
            &["mail", "mailx", "mutt", "neomutt", "sendmail", "msmtp", "swaks", "s-nail", "exim", "sendemail", "ssmtp"];
        let address = |word: &Word| {
            let text = word.shown();
            let text = text.rsplit(['<', '=', ':']).next().unwrap_or(&text).trim_end_matches('>').to_owned();
            let plain = text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
            (plain && !text.contains(['/', ' '])).then_some(text)
        };
        if !POSTS.contains(&base) {
            return;
        }
        for to in rest.iter().filter_map(address) {
            for from in &letter.sources {
                self.leaves(from, &to);
            }
        }
    }
}

impl Machine<'_> {
    /// Shell lines inside of the commands that editors, debuggers and the like are given (vim(1), `:!`; gdb(1), `shell`; osascript(1),
    /// `do shell script`; Emacs manual, "Shell"): what is grave in them counts.
    fn lines_within(&mut self, base: &str, words: &[String]) {
        let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
        let line = |word: &String| -> Option<String> {
            let after = |mark: &str| word.split_once(mark).map(|(_, rest)| rest);
            match if base.ends_with("gdb") || base.starts_with("gdb") { "gdb" } else { base } {
                "vim" | "vi" | "nvim" | "view" | "ex" | "ed" => after("!").map(str::to_owned),
                "gdb" | "lldb" | "rr" => ["shell ", "!", "platform shell "]
                    .iter()
                    .find_map(|mark| word.strip_prefix(mark))
                    .map(str::to_owned),
                "pdflatex" | "xelatex" | "lualatex" | "latex" | "tex" | "pdftex" | "luatex" => {
                    after("write18{").map(|rest| rest.split('}').next().unwrap_or(rest).to_owned())
                }
                "osascript" => after("do shell script").and_then(quoted),
                "emacs" | "emacsclient" => after("shell-command").and_then(quoted),
                "expect" => after("spawn ").map(str::to_owned),
                "tmux" | "screen" => word.contains([' ', ';']).then(|| word.clone()),
                _ => None,
            }
        };
        for line in words.iter().filter_map(line).at_most(64) {
            let inner = crate::shell::shell(&line, self.context);
            self.absorb_grave(inner);
        }
    }

    /// `git clone URL`: what is run of it is the host's, where that is none that the deployment knows.
    pub(super) fn clones(&mut self, base: &str, rest: &[Word]) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let Some(at) = words.iter().position(|word| word == "clone").filter(|_| base == "git" || base == "hg") else {
            return;
        };
        let mut operands = rest
            .iter()
            .skip(at + 1)
            .filter(|word| !word.shown().starts_with('-'))
            .skip_while(|word| !word.shown().contains("://"));
        let (Some(url), to) = (operands.next(), operands.next()) else { return };
        let name = url.shown();
        let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or("").trim_end_matches(".git").to_owned();
        let folders = self.paths(to.unwrap_or(&Word::text(name)));
        if self.cloned.len() < 16 {
            self.cloned.extend(folders.into_iter().filter(|folder| *folder != self.context.cwd));
        }
    }
}

impl Machine<'_> {
    /// A compiler or a runner of compiled code over what the line itself wrote: what is grave in that counts. What stands on standard
    /// input is not read.
    fn compiles(&mut self, base: &str, rest: &[Word]) {
        const COMPILE: &[&str] = &[
            "go", "gcc", "gfortran", "flang", "gdc", "ldc2", "g++", "cc", "c++", "clang", "clang++", "tcc", "rustc",
            "javac", "java", "kotlinc", "kotlin", "swift", "swiftc", "scala", "csc", "tsx", "ts-node", "deno", "bun",
            "zig", "nim", "dmd", "ldc2", "dotnet",
        ];
        if !COMPILE.contains(&base) {
            return;
        }
        for word in rest {
            if matches!(word.constant(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) {
                self.unknown(
                    UnknownKind::Code,
                    Effect::Execute,
                    format!("`{base}` takes code from its input, which is not analysed"),
                );
            }
            let [path] = self.paths(word).try_into().unwrap_or_else(|_| [String::new()]);
            if let Some(text) = self.files.get(&path).and_then(|file| file.text.clone()) {
                let inner = crate::file::file(&path, &text, self.context);
                self.absorb_grave(inner);
            }
        }
    }
}
