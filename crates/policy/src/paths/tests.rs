//! Paths: one form, patterns by their definition, case, links.

use super::{Case, PathSet, Place, Seen, absolute, is_kernel, is_within};

fn place() -> Place {
    Place::new("/home/user/project", "/home/user").unwrap()
}

fn set(case: Case, patterns: &[&str]) -> PathSet {
    PathSet::compile(case, &place(), patterns.iter().enumerate().map(|(i, p)| (u32::try_from(i).unwrap(), *p))).unwrap()
}

fn denies(pattern: &str, path: &str) -> bool {
    let path = place().normalise(path).unwrap();
    Seen::new(&path, None).touches(&set(Case::Folded, &[pattern]))
}

#[test]
fn a_path_has_one_form() {
    for (path, want) in [
        ("a.txt", "/home/user/project/a.txt"),
        ("./a/../b//c/", "/home/user/project/b/c"),
        ("~", "/home/user"),
        ("~/x", "/home/user/x"),
        ("~bob/x", "/home/user/project/~bob/x"),
        ("a/~/b", "/home/user/project/a/~/b"),
        ("../../../../../etc/passwd", "/etc/passwd"),
        ("/", "/"),
        ("//etc///shadow", "/etc/shadow"),
    ] {
        assert_eq!(place().normalise(path).unwrap(), want, "{path}");
    }
    for hidden in ["", "a\u{202e}b", "a\0b", "a\u{200b}", "p\u{0430}ypal"] {
        assert!(place().normalise(hidden).is_err(), "{hidden:?}");
    }
    assert!(absolute("x").is_err());
}

#[test]
fn patterns_match_as_formats_section_4_says() {
    for (pattern, path, hits) in [
        ("~/.ssh/**", "~/.ssh/id_ed25519", true),
        ("~/.ssh/**", "~/.ssh", true),
        ("~/.ssh/**", "~/.sshx", false),
        ("**/.env", ".env", true),
        ("**/.env", "/.env", true),
        ("**/.env", "/srv/app/.env", true),
        ("**/.env", "/srv/app/.env.bak", false),
        ("**/*.pem", "keys/a.pem", true),
        ("*.pem", "a.pem", true),
        ("*.pem", "keys/a.pem", false),
        ("*", "a/b", false),
        ("src/**/gen/*", "src/gen/a", true),
        ("src/**/gen/*", "src/a/b/gen/c", true),
        ("src/**/gen/*", "src/a/b/gen/c/d", false),
        ("/etc/*/x/**", "/etc/a/x", true),
        ("/etc/*/x/**", "/etc/a/x/y/z", true),
        ("/etc/*/x/**", "/etc/a/b/x", false),
        ("/**", "/", true),
        ("/**", "/anything", true),
        ("**", "/anything/at/all", true),
        ("**/payroll/**", "hr/payroll", true),
        ("**/payroll/**", "hr/payroll/2026/may.csv", true),
        ("/srv/{a,b}.txt", "/srv/b.txt", true),
        ("/srv/[ab].txt", "/srv/c.txt", false),
        ("./src/../lib/**", "lib/x", true),
        ("../other/*", "/home/user/other/x", true),
        ("../../../../x", "/x", true),
    ] {
        assert_eq!(denies(pattern, path), hits, "{pattern} on {path}");
    }
}

#[test]
fn lesson_11_case_does_not_hide_from_a_deny_and_does_not_widen_an_allow() {
    assert!(denies("**/.env", "/srv/app/.ENV"));
    assert!(denies("~/.ssh/**", "/HOME/User/.SSH/id"));
    assert!(denies("/srv/straße/**", "/srv/STRASSE/x"));
    let allow = set(Case::Exact, &["~/src/**"]);
    assert!(Seen::new("/home/user/src/a", None).inside(&allow));
    assert!(!Seen::new("/home/user/SRC/a", None).inside(&allow));
}

#[test]
fn lesson_11_a_link_does_not_hide_and_does_not_widen() {
    let deny = set(Case::Folded, &["~/.ssh/**"]);
    let link = Seen::new("/home/user/project/notes", Some("/home/user/.ssh/id"));
    assert!(link.touches(&deny));
    assert!(Seen::new("/home/user/.ssh/id", Some("/srv/elsewhere")).touches(&deny));
    let allow = set(Case::Exact, &["~/project/**"]);
    assert!(!link.inside(&allow));
    assert!(Seen::new("/home/user/project/a", Some("/home/user/project/b")).inside(&allow));
}

#[test]
fn a_folder_with_glob_characters_in_its_name_is_literal() {
    let place = Place::new("/srv/[x]", "/home/user").unwrap();
    let set = PathSet::compile(Case::Exact, &place, [(0, "*.rs"), (1, "sub/**")]).unwrap();
    assert!(Seen::new("/srv/[x]/a.rs", None).inside(&set));
    assert!(Seen::new("/srv/[x]/sub/a", None).inside(&set));
    assert!(!Seen::new("/srv/x/a.rs", None).inside(&set));
}

#[test]
fn patterns_that_mean_two_things_are_refused() {
    for pattern in ["", "a**b", "*/../x", "{a/b,c}", "a[", "a\u{200b}b"] {
        assert!(PathSet::compile(Case::Exact, &place(), [(0, pattern)]).is_err(), "{pattern:?}");
    }
}

#[test]
fn what_hangs_below_a_folder_is_known_without_looking() {
    let set = set(Case::Folded, &["~/.ssh/**", "**/.env", "/etc/shadow", "~/project/a/**"]);
    let mut below: Vec<u32> = set.anchored_below("/home/user").collect();
    below.sort_unstable();
    assert_eq!(below, [0, 3]);
    assert_eq!(set.anchored_below("/home/user/.ssh").count(), 0);
    assert_eq!(set.anchored_below("/").count(), 3);
}

#[test]
fn lesson_05_the_kernels_interfaces_are_no_files() {
    for path in ["/proc/self/environ", "/proc", "/sys/kernel", "/dev/sda"] {
        assert!(is_kernel(path), "{path}");
    }
    assert!(!is_kernel("/process/x"));
    assert!(is_within("/a/b", "/a") && !is_within("/ab", "/a") && is_within("/a", "/"));
}

mod properties {
    use proptest::prelude::*;

    use super::super::{Case, PathSet, Place, Seen};

    /// Patterns by their definition: component by component, with backtracking.
    fn naive(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern, path) {
            ([], []) => true,
            (["**", rest @ ..], _) => naive(rest, path) || (!path.is_empty() && naive(pattern, &path[1..])),
            ([one, rest @ ..], [name, names @ ..]) => {
                let fits = match one.split_once('*') {
                    None => one == name,
                    Some((head, tail)) => {
                        name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
                    }
                };
                fits && naive(rest, names)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn the_index_agrees_with_the_definition(
            patterns in prop::collection::vec(prop::collection::vec("a|b|c|\\*|\\*\\*|a\\*|\\*b", 1..5), 1..8),
            path in prop::collection::vec("a|b|c|ab|bb", 1..6),
        ) {
            let place = Place::new("/", "/").unwrap();
            let texts: Vec<String> = patterns.iter().map(|p| {
                let floating = p[0] == "**";
                format!("{}{}", if floating { "" } else { "/" }, p.join("/"))
            }).collect();
            let written = format!("/{}", path.join("/"));
            let names: Vec<&str> = path.iter().map(String::as_str).collect();
            for (i, pattern) in patterns.iter().enumerate() {
                let one = PathSet::compile(Case::Exact, &place, [(0, texts[i].as_str())]).unwrap();
                let parts: Vec<&str> = pattern.iter().map(String::as_str).collect();
                let want = naive(&parts, &names);
                prop_assert_eq!(Seen::new(&written, None).inside(&one), want, "{} on {}", texts[i], written);
            }
            let all = PathSet::compile(
                Case::Exact, &place, texts.iter().enumerate().map(|(i, t)| (u32::try_from(i).unwrap(), t.as_str())),
            ).unwrap();
            let mut hits = std::collections::BTreeSet::new();
            Seen::new(&written, None).hits(&all, &mut |id| { hits.insert(id); });
            let want: std::collections::BTreeSet<u32> = patterns.iter().enumerate().filter(|(_, p)| {
                naive(&p.iter().map(String::as_str).collect::<Vec<_>>(), &names)
            }).map(|(i, _)| u32::try_from(i).unwrap()).collect();
            prop_assert_eq!(hits, want);
        }
    }
}
