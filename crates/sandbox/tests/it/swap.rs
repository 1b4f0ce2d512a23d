//! Files that are exchanged between approval and execution.

use std::fs;

use countersign_sandbox::Grant;
use serde_json::json;

use crate::harness::{Stop, Work, everyone, grant, run};

#[test]
fn another_inode_under_the_approved_name_is_refused() {
    for who in everyone() {
        let work = Work::new(who);
        let path = work.file(who, "script", "approved");
        let approved = Grant::identified(&path).unwrap();
        let view = json!({ "read_only": [approved] });
        run(who, &json!({ "role": "builtin", "view": view })).good();
        work.file(who, "other", "evil");
        fs::rename(work.at("other"), &path).unwrap();
        let outcome = run(who, &json!({ "role": "builtin", "view": view }));
        let reason = outcome.refused.as_deref().unwrap_or_default();
        assert!(reason.contains("is not the file that was approved"), "{outcome:#?}");
    }
}

#[test]
fn a_link_in_the_place_of_a_granted_file_or_of_a_folder_above_it_is_refused() {
    for who in everyone() {
        let work = Work::new(who);
        let path = work.file(who, "folder/file", "text");
        work.file(who, "elsewhere/file", "other");
        let refused =
            || run(who, &json!({ "role": "builtin", "view": { "read_write": [grant(&path)] } })).refused.unwrap();
        fs::rename(&path, work.at("kept")).unwrap();
        std::os::unix::fs::symlink(work.at("elsewhere/file"), &path).unwrap();
        assert!(refused().contains("symbolic link"));
        fs::remove_dir_all(work.at("folder")).unwrap();
        std::os::unix::fs::symlink(work.at("elsewhere"), work.at("folder")).unwrap();
        assert!(refused().contains("symbolic link"));
        fs::remove_file(work.at("folder")).unwrap();
        std::os::unix::fs::symlink("/proc/self/cwd", work.at("folder")).unwrap();
        assert!(refused().contains("symbolic link"));
    }
}

#[test]
fn a_link_that_points_elsewhere_than_approved_is_refused() {
    let who = everyone()[0];
    let work = Work::new(who);
    std::os::unix::fs::symlink("usr/lib", work.at("lib")).unwrap();
    let view = |target: &str| json!({ "links": [{ "path": work.at("lib"), "target": target }] });
    run(who, &json!({ "role": "builtin", "view": view("usr/lib") })).good();
    assert!(
        run(who, &json!({ "role": "builtin", "view": view("/etc") }))
            .refused
            .unwrap()
            .contains("is not a symbolic link to")
    );
}

/// Another thread exchanges two directories as fast as it can while steps are spawned over one of them. Each step is refused, or sees
/// the approved one: never the other.
#[test]
fn a_swap_at_any_moment_is_refused_or_without_effect() {
    for who in everyone() {
        let work = Work::new(who);
        work.file(who, "a/name", "approved");
        work.file(who, "b/name", "evil");
        let approved = Grant::identified(work.at("a")).unwrap();
        let scenario = json!({ "role": "builtin", "view": { "read_only": [approved] }, "operations": [{ "read": work.at("a/name") }] });
        let stop = Stop::default();
        let (mut refused, mut ran) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.now() {
                    let (a, b) = (work.at("a"), work.at("b"));
                    rustix::fs::renameat_with(
                        rustix::fs::CWD,
                        &a,
                        rustix::fs::CWD,
                        &b,
                        rustix::fs::RenameFlags::EXCHANGE,
                    )
                    .unwrap();
                }
            });
            let _end = stop.at_end();
            while refused + ran < 60 || (refused == 0 && ran < 1_000) {
                let outcome = run(who, &scenario);
                if let Some(reason) = &outcome.refused {
                    assert!(
                        reason.contains("not the file that was approved") || reason.contains("swapped"),
                        "{reason}"
                    );
                    refused += 1;
                } else {
                    // The view holds the approved directory; its name may meanwhile belong to the other one outside.
                    assert_eq!(outcome.answer(0), Ok("approved"), "{outcome:#?}");
                    ran += 1;
                }
            }
        });
        assert!(refused > 0, "{refused} refused, {ran} ran");
    }
}
