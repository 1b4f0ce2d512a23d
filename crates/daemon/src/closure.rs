//! What a program needs to start: its interpreter and every library that it names, as the dynamic loader would find them (`ld.so(8)`, `execve(2)`).
//!
//! The answer becomes part of the recorded sandbox of a step with the profile `exact`, so it is worked out before people approve, by the monitor. Headers are read only of files
//! below the roots that the gate names, which no step can write and no plan can place, so nothing hostile is parsed where the keys are; and the gate, not this, checks that every
//! path of the answer lies there. A wrong answer can make a program fail to start; it shows no file outside of the system's own folders.
//!
//! A library that a program opens by itself while it runs (`dlopen`) is in no header and therefore not in the answer, but for the few that the C library
//! opens so, which are listed here with their reasons.

mod image;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use countersign_plan::confinement::PathLink;
use countersign_policy::facts::Closure;

use self::image::{Image, Kind};

/// The most files that one program needs.
const MOST: usize = 512;

/// The most links on the way to one file, as the kernel counts.
const MOST_LINKS: usize = 40;

/// The most scripts that name each other, as the kernel counts.
const MOST_SCRIPTS: usize = 5;

/// Where the loader looks without any configuration, after what `/etc/ld.so.conf` names. Folders that a machine lacks are passed over.
const DEFAULT_FOLDERS: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// Libraries that the C library opens without naming them in a header, where they are there.
const OPENED: [(&str, &str); 2] = [
    ("libgcc_s.so.1", "loaded when a thread is cancelled or ends itself"),
    ("libnss_files.so.2", "names of users and groups, before glibc 2.34"),
];

/// Files that the C library reads.
const DATA: [(&str, &str); 2] = [
    ("/usr/lib/locale/C.utf8", "the locale in which steps run"),
    ("/usr/lib/locale/locale-archive", "every other locale, in one file"),
];

/// The closure of a program without links in its path.
///
/// # Errors
/// In words for people.
pub(crate) fn of(program: &Path, roots: &[&str], find: &dyn Fn(&str) -> Option<String>) -> Result<Closure, String> {
    let mut closing = Closing { roots, folders: folders(), ..Closing::default() };
    closing.start(program, find)?;
    closing.run.remove(program);
    closing.finish()
}

#[derive(Default)]
struct Closing<'a> {
    roots: &'a [&'a str],
    /// Where the loader looks last.
    folders: Vec<PathBuf>,
    run: BTreeSet<PathBuf>,
    read: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Closing<'_> {
    /// What it takes to execute a file: nothing more for a static program, its libraries for another, and for a script its interpreter.
    fn start(&mut self, program: &Path, find: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        let mut program = self.take(program)?;
        for _ in 0..MOST_SCRIPTS {
            let (interpreter, argument) = match Image::read(&program)? {
                Kind::Elf(image) => return self.link(image),
                Kind::Script { interpreter, argument } => (interpreter, argument),
            };
            program = self.take(&interpreter)?;
            if program.file_name() != Some(OsStr::new("env")) {
                continue;
            }
            if let Kind::Elf(image) = Image::read(&program)? {
                self.link(image)?;
            }
            let words = argument.split_whitespace().map(|word| word.trim_start_matches("-S"));
            let name = words.into_iter().find(|word| !word.is_empty() && !word.starts_with('-') && !word.contains('='));
            let found = name.and_then(find).ok_or_else(|| format!("env would run `{argument}`, which is not here"))?;
            program = self.take(Path::new(&found))?;
        }
        Err(format!("{} stands behind too many scripts", program.display()))
    }

    /// The loader and the libraries of a program, breadth first as the loader goes.
    fn link(&mut self, program: Image) -> Result<(), String> {
        let Some(loader) = &program.interpreter else { return Ok(()) };
        let loader = self.take(loader)?;
        let Kind::Elf(like) = Image::read(&loader)? else { return Err(format!("{} is no loader", loader.display())) };
        let mut loaded = BTreeSet::from([loader.file_name().unwrap_or_default().to_owned()]);
        // Each with the folders that those which led to it hand on.
        let mut waiting = VecDeque::from([(program, Vec::<PathBuf>::new())]);
        let opened = OPENED.map(|(name, _)| OsString::from(name));
        waiting.push_back((Image { needed: opened.to_vec(), ..like.clone() }, Vec::new()));
        while let Some((image, inherited)) = waiting.pop_front() {
            let own = if image.runpath.is_empty() { image.rpath.as_slice() } else { &[] };
            let handed: Vec<PathBuf> = own.iter().chain(&inherited).cloned().collect();
            let first = if image.runpath.is_empty() { handed.as_slice() } else { image.runpath.as_slice() };
            for name in &image.needed {
                if !loaded.insert(name.clone()) {
                    continue;
                }
                match self.find(name, first, &like)? {
                    Some(library) => waiting.push_back((library, handed.clone())),
                    None if opened.contains(name) => {}
                    None => {
                        let (path, name) = (image.path.display(), name.display());
                        return Err(format!("{path} needs {name}, which lies in no folder of libraries"));
                    }
                }
            }
        }
        for (path, _) in DATA {
            if Path::new(path).exists() && self.inside(Path::new(path)) {
                self.read.insert(way(Path::new(path))?.0);
            }
        }
        Ok(())
    }

    /// Finds a library as the loader does, and takes it.
    fn find(&mut self, name: &OsStr, first: &[PathBuf], like: &Image) -> Result<Option<Image>, String> {
        let named = Path::new(name);
        let candidates: Vec<PathBuf> = if named.components().count() > 1 {
            vec![named.to_owned()]
        } else {
            first.iter().chain(&self.folders).map(|folder| folder.join(name)).collect()
        };
        for candidate in candidates.iter().filter(|path| path.is_absolute() && path.is_file()) {
            // One that lies elsewhere would not be shown, so the loader passes it over too.
            if !self.inside(&way(candidate)?.0) {
                continue;
            }
            if let Kind::Elf(image) = Image::read(candidate)?
                && image.machine == like.machine
            {
                return self.take(candidate).map(|_| Some(image));
            }
        }
        Ok(None)
    }

    /// Takes a file, and the links on the way to it.
    fn take(&mut self, path: &Path) -> Result<PathBuf, String> {
        let (real, links) = way(path)?;
        if !self.inside(&real) {
            return Err(format!("{} lies outside of the system's and the toolchains' folders", real.display()));
        }
        self.links.extend(links);
        self.run.insert(real.clone());
        if self.run.len() > MOST { Err("it needs too many files".to_owned()) } else { Ok(real) }
    }

    fn inside(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn finish(self) -> Result<Closure, String> {
        let text = |path: PathBuf| {
            path.into_os_string().into_string().map_err(|path| format!("{} is no text", path.display()))
        };
        let links =
            self.links.into_iter().map(|(path, target)| Ok(PathLink { path: text(path)?, target: text(target)? }));
        Ok(Closure {
            links: links.collect::<Result<_, String>>()?,
            run: self.run.into_iter().map(text).collect::<Result<_, _>>()?,
            read: self.read.into_iter().map(text).collect::<Result<_, _>>()?,
        })
    }
}

/// A path after every link, and the links.
fn way(path: &Path) -> Result<(PathBuf, Vec<(PathBuf, PathBuf)>), String> {
    let failed = |at: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", at.display());
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let (mut real, mut links) = (PathBuf::from("/"), Vec::new());
    let mut left: VecDeque<OsString> = parts(path).into();
    while let Some(part) = left.pop_front() {
        let next = match Path::new(&part).components().next() {
            Some(Component::Normal(name)) => real.join(name),
            Some(Component::ParentDir) => real.parent().unwrap_or(Path::new("/")).to_owned(),
            _ => PathBuf::from("/"),
        };
        let found = std::fs::symlink_metadata(&next).map_err(|error| failed(&next, &error))?;
        if !found.is_symlink() {
            real = next;
            continue;
        }
        let target = std::fs::read_link(&next).map_err(|error| failed(&next, &error))?;
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
        links.push((next, target));
        if links.len() > MOST_LINKS {
            return Err(failed(path, &"too many links"));
        }
    }
    Ok((real, links))
}

/// The folders that `/etc/ld.so.conf` names, one a line, with what it includes; then the default ones. The loader itself reads a cache made from the same lines.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut files = vec![PathBuf::from("/etc/ld.so.conf")];
    let mut seen = 0;
    while let Some(file) = files.pop() {
        seen += 1;
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for line in text.lines().filter_map(|line| line.split('#').next()).map(str::trim) {
            match line.strip_prefix("include").map(str::trim) {
                Some(pattern) if seen < MOST => files.extend(included(pattern)),
                Some(_) => {}
                None if line.starts_with('/') => folders.push(PathBuf::from(line)),
                None => {}
            }
        }
    }
    folders.extend(DEFAULT_FOLDERS.map(PathBuf::from));
    folders
}

/// The files of an `include` line: `FOLDER/*SUFFIX`, as every distribution writes it, last name first for a stack.
fn included(pattern: &str) -> Vec<PathBuf> {
    let Some((folder, name)) = pattern.rsplit_once('/') else { return Vec::new() };
    let Some((before, after)) = name.split_once('*') else { return vec![PathBuf::from(pattern)] };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with(before) && name.ends_with(after)
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(fits).collect();
    files.sort_by(|a, b| b.cmp(a));
    files
}

#[cfg(test)]
mod tests;
