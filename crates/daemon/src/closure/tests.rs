//! What is said to be needed, against what the machine's own loader says it loads.

use std::collections::BTreeSet;
use std::process::Command;

use super::*;

const ROOTS: [&str; 3] = ["/usr", "/lib", "/lib64"];

fn closure(program: &str) -> Result<Closure, String> {
    of(&std::fs::canonicalize(program).unwrap(), &ROOTS, &|name| Some(format!("/usr/bin/{name}")))
}

/// The files that the loader maps for a program, by its own account.
fn loaded(program: &str) -> BTreeSet<String> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(|word| std::fs::canonicalize(word).unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn the_closure_is_what_the_loader_loads_and_what_is_listed_here() {
    let mut seen = 0;
    for program in [
        "/bin/sh",
        "/bin/bash",
        "/usr/bin/git",
        "/usr/bin/perl",
        "/usr/bin/tar",
        "/usr/bin/curl",
        "/usr/bin/python3",
        "/usr/bin/gcc",
    ] {
        let theirs = loaded(program);
        if theirs.is_empty() {
            continue;
        }
        seen += 1;
        let ours = closure(program).unwrap();
        let ours: BTreeSet<String> = ours.run.into_iter().collect();
        let missing: Vec<_> = theirs.difference(&ours).collect();
        assert!(missing.is_empty(), "{program}: {missing:?}");
        let extra = ours
            .difference(&theirs)
            .filter(|path| !OPENED.iter().any(|(name, _)| path.contains(name.split('.').next().unwrap())));
        assert_eq!(extra.collect::<Vec<_>>(), Vec::<&String>::new(), "{program}");
    }
    assert!(seen >= 2, "too few programs here to compare");
}

/// Every name that the loader asks for leads, by the links given, to a file that is given.
#[test]
fn the_links_lead_from_the_names_that_are_asked_for_to_the_files() {
    let closure = closure("/bin/bash").unwrap();
    let links: BTreeMap<&str, &str> =
        closure.links.iter().map(|link| (link.path.as_str(), link.target.as_str())).collect();
    for (path, target) in &links {
        assert_eq!(std::fs::read_link(path).unwrap().to_str(), Some(*target));
    }
    let loader = closure.run.iter().find(|path| path.contains("ld-")).unwrap();
    assert!(std::fs::symlink_metadata(loader).unwrap().is_file());
}

#[test]
fn a_static_program_needs_nothing_and_a_script_its_interpreter_with_all_that_needs() {
    let own = std::env::current_exe().unwrap();
    let roots = [own.parent().unwrap().to_str().unwrap(), "/usr", "/lib", "/lib64"];
    let nothing = of(&own, &roots, &|_| None).unwrap();
    assert_eq!(nothing, Closure::default(), "this test program is static");
    let folder = tempfile::tempdir_in(own.parent().unwrap()).unwrap();
    let script = folder.path().join("script");
    let shell = closure("/bin/sh").unwrap();
    for (line, name) in [("#!/bin/sh -e", "sh"), ("#! /usr/bin/env -S A=b sh", "env")] {
        std::fs::write(&script, format!("{line}\n")).unwrap();
        let script = std::fs::canonicalize(&script).unwrap();
        let needs = of(&script, &roots, &|name| Some(format!("/bin/{name}"))).unwrap();
        assert!(shell.run.iter().all(|path| needs.run.contains(path)), "{name}: {needs:?}");
        let interpreter = std::fs::canonicalize("/bin/sh").unwrap();
        assert!(needs.run.iter().any(|path| Path::new(path) == interpreter), "{name}: {needs:?}");
        assert_eq!(needs.run.iter().any(|path| path.ends_with("/env")), name == "env");
    }
}

#[test]
fn nothing_outside_of_the_roots_is_read_or_given() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copied");
    std::fs::copy("/bin/true", &copy).unwrap();
    assert!(of(&copy, &ROOTS, &|_| None).unwrap_err().contains("outside"));
    let script = folder.path().join("script");
    std::fs::write(&script, format!("#!{}\n", copy.display())).unwrap();
    let roots = [script.to_str().unwrap(), "/usr", "/lib", "/lib64"];
    assert!(of(&script, &roots, &|_| None).unwrap_err().contains("outside"));
}

#[test]
fn a_broken_file_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken");
    let whole = std::fs::read("/bin/true").unwrap();
    let roots = [folder.path().to_str().unwrap(), "/usr", "/lib", "/lib64"];
    for length in (0..whole.len().min(4096)).step_by(37).chain([whole.len()]) {
        for flip in [0, 0x20, 0x38, 0x40, 0x60, 0x68, 0x70, 0x1c8] {
            let mut bytes = whole[..length].to_vec();
            if let Some(byte) = bytes.get_mut(flip) {
                *byte ^= 0xff;
            }
            std::fs::write(&path, &bytes).unwrap();
            // Whatever it says: it comes back.
            drop(of(&path, &roots, &|_| None));
        }
    }
    std::fs::write(&path, "no program").unwrap();
    assert!(of(&path, &roots, &|_| None).unwrap_err().contains("neither"));
}

#[test]
fn every_file_that_is_listed_here_has_a_reason() {
    for (name, reason) in OPENED.iter().chain(&DATA) {
        assert!(reason.len() > 10, "{name}");
    }
}
