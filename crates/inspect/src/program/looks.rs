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
            filefrag lsdel list_deleted_inodes testi testb imap features params freefrag inode_dump dx_hash supported_features \
            list_quota get_quota ea_list bd block_dump dump_mmp idump";
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
        let device = self.paths(&Word::text(image)).iter().any(|path| path.starts_with("/dev/"));
        if device || request.contains(['|', '!', '\n', '"']) {
            return None;
        }
        let mut asked = request.split_whitespace();
        let written = match asked.next()? {
            "dump" | "rdump" | "dump_inode" => {
                let given: Vec<&str> = asked.filter(|word| *word != "-p").collect();
                Some(*given.get(1..)?.last()?)
            }
            // With an option it writes what it finds to a file.
            "ea_get" if !request.contains(" -") => None,
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
        const MILD: &[&str] = &["daemon", "worker_processes", "master_process", "user", "worker_rlimit_nofile"];
        let (mut read, mut folders, mut opened) = (Vec::new(), Vec::new(), Vec::new());
        let mut checks = false;
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            // Letters stand together, the last one with its value.
            let letters = word.prefix();
            for (at, letter) in letters.strip_prefix('-')?.char_indices() {
                checks |= matches!(letter, 't' | 'T');
                if matches!(letter, 't' | 'T' | 'q') {
                    continue;
                }
                let attached = word.skip(at + 2).filter(|value| !value.is_empty());
                let value = match attached {
                    Some(value) => value,
                    None => words.next()?.clone(),
                };
                match letter {
                    'c' => read.push(value),
                    'p' => folders.push(value),
                    'e' => opened.push(value),
                    'g' => {
                        for told in value.constant()?.split(';').map(str::trim).filter(|told| !told.is_empty()) {
                            let mut told = told.split_whitespace();
                            match (told.next()?, told.next()) {
                                ("pid" | "error_log", Some(file)) => opened.push(Word::text(file)),
                                (name, _) => MILD.contains(&name).then_some(())?,
                            }
                        }
                    }
                    _ => return None,
                }
                break;
            }
        }
        if !checks {
            return None;
        }
        // What is written while it is checked (nginx, "error_log", "pid").
        let stream = |word: &Word| {
            let text = word.prefix();
            text == "stderr" || text.starts_with("syslog:") || text.starts_with("memory:")
        };
        for file in opened.iter().filter(|file| !stream(file)) {
            self.touch_path(Effect::Update, file, false);
        }
        for folder in folders {
            self.touch_path(Effect::Execute, &folder, true);
        }
        // Its modules are loaded to be checked (nginx, "load_module").
        for file in read {
            self.touch_path(Effect::Execute, &file, false);
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
        let paths = self.paths(word);
        // A link that the line made, or brought there, leads elsewhere.
        let linked = |touch: &crate::inspection::Touch| {
            (touch.recursive || matches!(touch.by.as_str(), "ln" | "gln" | "mv"))
                && touch.effect > Effect::Read
                && paths.iter().any(|path| *path == touch.name || crate::path::is_below(path, &touch.name))
        };
        if self.out.touches.iter().any(linked) {
            return None;
        }
        self.touch_path(Effect::Read, word, false);
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
