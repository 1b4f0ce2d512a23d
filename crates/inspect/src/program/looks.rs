//! Programs that only look, or reach nothing but what stands for a device on this machine, as their words say: a file system in a file, a
//! check of settings, a bus that is none (debugfs(8), nginx(8), can-utils).

use countersign_plan::tool::Effect;

use super::tasks::has;
use crate::machine::{Machine, Stream, Word};

impl Machine<'_> {
    /// What such a program does; nothing where its words say anything else.
    pub(super) fn looks(&mut self, base: &str, rest: &[Word]) -> Option<Stream> {
        match base {
            "debugfs" => self.looks_into_image(rest),
            "nginx" | "openresty" | "angie" => self.checks_settings(rest),
            "cansend" | "canplayer" | "cangen" => self.on_a_bus_of_its_own(rest),
            _ => None,
        }
    }

    /// `debugfs -R REQUEST IMAGE`, which changes nothing without `-w`; some requests write what they find to a file here.
    fn looks_into_image(&mut self, rest: &[Word]) -> Option<Stream> {
        const SHOWING: &str = "ls stat cat stats show_super_stats ncheck icheck htree htree_dump blocks bmap ex extents dump_extents \
            filefrag lsdel list_deleted_inodes logdump testi testb imap features params freefrag inode_dump dx_hash supported_features \
            list_quota get_quota ea_list ea_get bd block_dump dump_mmp idump";
        let words: Vec<&str> = rest.iter().map(Word::constant).collect::<Option<_>>()?;
        let (mut request, mut image) = (None, None);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word {
                "-R" => request = Some(words.next()?),
                "-b" | "-s" => drop(words.next()?),
                "-c" | "-i" | "-n" | "-D" => {}
                _ if word.starts_with('-') || image.is_some() => return None,
                file => image = Some(file),
            }
        }
        let (request, image) = (request?, image?);
        // A device holds what belongs to the whole machine.
        if image.starts_with("/dev/") || request.contains(['|', '!', '\n', '"']) {
            return None;
        }
        let mut asked = request.split_whitespace();
        let written = match asked.next()? {
            "dump" | "rdump" | "dump_inode" => {
                let given: Vec<&str> = asked.filter(|word| *word != "-p").collect();
                Some(*given.get(1..)?.last()?)
            }
            word if has(SHOWING, word) => None,
            _ => return None,
        };
        let out = self.read_file(&Word::text(image));
        if let Some(file) = written {
            self.touch_path(Effect::Update, &Word::text(file), request.starts_with("rdump"));
        }
        Some(out.with_text(None))
    }

    /// `nginx -t`: the settings are read and checked, and what they name is opened (nginx(8), "-t").
    fn checks_settings(&mut self, rest: &[Word]) -> Option<Stream> {
        const MILD: &[&str] =
            &["pid", "error_log", "daemon", "worker_processes", "master_process", "user", "worker_rlimit_nofile"];
        if !rest.iter().any(|word| matches!(word.constant(), Some("-t" | "-T"))) {
            return None;
        }
        let mut words = rest.iter();
        let mut read = Vec::new();
        while let Some(word) = words.next() {
            match word.constant() {
                Some("-t" | "-T" | "-q") => {}
                Some("-c") => read.push(words.next()?),
                Some("-p" | "-e") => drop(words.next()?),
                Some("-g") => {
                    let mut told = words.next()?.constant()?.split(';').map(str::trim).filter(|told| !told.is_empty());
                    told.all(|told| MILD.contains(&told.split_whitespace().next().unwrap_or(""))).then_some(())?;
                }
                _ => return None,
            }
        }
        // Its modules are loaded to be checked (nginx, "load_module").
        for file in read {
            self.touch_path(Effect::Execute, file, false);
        }
        Some(Stream::unknown())
    }

    /// Frames for a virtual bus go no further than this machine (Linux, "Documentation/networking/can").
    fn on_a_bus_of_its_own(&mut self, rest: &[Word]) -> Option<Stream> {
        let words: Vec<&str> = rest.iter().map(Word::constant).collect::<Option<_>>()?;
        let (mut buses, mut at) = (0, 0);
        while let Some(word) = words.get(at) {
            at += 1;
            match *word {
                "-I" => {
                    self.touch_path(Effect::Read, &Word::text(*words.get(at)?), false);
                    at += 1;
                }
                "-l" | "-g" | "-s" | "-n" | "-L" | "-D" | "-p" => at += 1,
                _ if word.starts_with('-') => {}
                // `cansend BUS FRAME`
                _ if buses > 0 && word.contains('#') => {}
                _ if word.split('=').next().is_some_and(|bus| bus.starts_with("vcan")) => buses += 1,
                _ => return None,
            }
        }
        (buses > 0).then(Stream::unknown)
    }

    /// What `realpath` and `readlink -f` make of a name: the same file by its whole path (GNU coreutils, "realpath invocation", "readlink
    /// invocation"). Where a link leads is seen when it is used.
    pub(super) fn whole_path(&mut self, base: &str, rest: &[Word]) -> Option<Stream> {
        if matches!(base, "basename" | "dirname") {
            return super::own::part_of_name(base, rest);
        }
        const FLAGS: &str = "-e -m -s -q -L -P -n -f -z -- --no-symlinks --quiet --strip --logical --physical --no-newline --canonicalize \
            --canonicalize-missing --canonicalize-existing";
        let flag = |word: &&Word| word.prefix().starts_with('-');
        let plain = |word: &Word| word.constant().is_some_and(|flag| has(FLAGS, flag));
        let (flags, names): (Vec<&Word>, Vec<&Word>) = rest.iter().partition(flag);
        // Without `-f` it is what a link holds, whatever that is.
        let follows =
            |word: &&Word| matches!(word.constant(), Some("-f" | "-e" | "-m")) || word.prefix().starts_with("--can");
        let [word] = names.as_slice() else { return None };
        if !flags.iter().all(|word| plain(word)) || (base.ends_with("readlink") && !flags.iter().any(follows)) {
            return None;
        }
        self.touch_path(Effect::Read, word, false);
        let paths = self.paths(word);
        Some(match (word.constant(), paths.as_slice()) {
            (Some(_), [path]) => Stream::constant(format!("{path}\n")),
            _ => {
                let mut out = Stream::unknown();
                out.list(vec![(*word).clone()]);
                out
            }
        })
    }
}
