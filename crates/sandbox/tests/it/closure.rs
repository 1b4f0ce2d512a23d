//! A program in a view of itself and its libraries (profile `exact`): what lies beside those is neither read nor loaded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Work, everyone, grant, run};

/// What the machine's loader says that a program loads.
fn loaded(program: &str) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

/// The links on the way to a file: `/lib64`, `/lib`, and a library's short name.
fn links(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut path = path.to_owned();
    let mut found = Vec::new();
    while let Some((link, target)) =
        path.ancestors().filter_map(|part| Some((part.to_owned(), std::fs::read_link(part).ok()?))).last()
    {
        let rest = path.strip_prefix(&link).unwrap().to_owned();
        let next = link.parent().unwrap().join(&target);
        path = if rest.as_os_str().is_empty() { next } else { next.join(rest) };
        found.push((link, target));
    }
    found
}

#[test]
fn a_program_with_its_own_libraries_reads_and_loads_none_beside_them() {
    let programs = ["/bin/cat", "/bin/true"].map(|path| std::fs::canonicalize(path).unwrap());
    let asked: BTreeSet<PathBuf> = programs.iter().flat_map(|path| loaded(path.to_str().unwrap())).collect();
    let files: BTreeSet<PathBuf> = asked.iter().map(|path| std::fs::canonicalize(path).unwrap()).collect();
    let loader = asked.iter().find(|path| path.to_str().unwrap().contains("/ld-")).unwrap();
    let library = files.iter().find(|path| path.to_str().unwrap().contains("libc.so")).unwrap();
    let beside = std::fs::read_dir(library.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let mut beside = beside.filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("lib") && name.contains(".so") && !files.contains(path) && !path.is_symlink()
    });
    let beside = beside.next().unwrap();
    let links: BTreeSet<(PathBuf, PathBuf)> = asked.iter().flat_map(|path| links(path)).collect();
    let links: Vec<Value> = links.iter().map(|(path, target)| json!({ "path": path, "target": target })).collect();
    for who in everyone() {
        let work = Work::new(who);
        let attempt = |further: Option<&Path>| {
            let granted: Vec<Value> =
                files.iter().chain(&programs).map(PathBuf::as_path).chain(further).map(grant).collect();
            let view = json!({ "executable": granted, "links": links, "read_write": [grant(work.path())], "cwd": work.path(),
                "proc": true, "dev": true, "noexec_work": true });
            let outcome = run(
                who,
                &json!({ "role": "exact", "view": view, "operations": [
                    { "run": [programs[1]] }, { "run": [programs[0], beside] }, { "run": [loader, "--preload", beside, programs[1]] }] }),
            )
            .good();
            let said = |position| match outcome.answer(position) {
                Ok(text) | Err(text) => text.to_owned(),
            };
            assert_eq!(outcome.answer(0), Ok(""), "the control: {outcome:#?}");
            (said(1), said(2))
        };
        let (read, load) = attempt(None);
        assert!(read.contains("No such file"), "{read}");
        assert!(load.contains("cannot be preloaded"), "{load}");
        let (read, load) = attempt(Some(&beside));
        assert!(
            !read.contains("No such file") && !load.contains("cannot be preloaded"),
            "granted, both come through: {load}"
        );
    }
}
