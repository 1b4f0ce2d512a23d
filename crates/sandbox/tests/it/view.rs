//! The view shows exactly the grants, with exactly their rights.

use countersign_sandbox::Layer;
use serde_json::json;

use crate::harness::{As, Work, everyone, grant, privileged, run, toolchain};

#[test]
fn a_planner_sees_an_empty_world() {
    for who in everyone() {
        let outcome = run(who, &json!({ "role": "planner" })).good();
        let enforcement = outcome.enforcement.unwrap();
        if privileged() && who == As::Own {
            let mapping = &enforcement.layers[&Layer::UserNamespace];
            assert!(
                mapping.contains("uid 65534, gid 65534 outside"),
                "a planner needs no uid that means anything: {mapping}"
            );
        }
        let level = enforcement.level();
        assert_eq!(level, countersign_sandbox::Level::Full, "{enforcement:#?}");
        assert_eq!(outcome.exit, Some(countersign_sandbox::Exit::Code(0)));
    }
}

/// The zygote builds the empty view once and each child enters it; a tool that sees nothing must see nothing in it either.
#[test]
fn an_empty_view_is_empty_and_unwritable_whether_made_in_advance_or_not() {
    for who in everyone() {
        for spare in [false, true] {
            let outcome = run(
                who,
                // Without the second fence, which would refuse to list it.
                &json!({ "role": "builtin", "without": ["landlock"], "no_spares": !spare, "repeat": 2, "operations": [
                    { "list": "/" }, "cwd", { "read": "/etc/passwd" }, { "write": ["/new", "x"] }, { "make_directory": "/folder" },
                    { "list": "/.." }, { "read": "/proc/self/status" },
                ]}),
            )
            .good();
            assert_eq!(
                (outcome.answer(0), outcome.answer(1), outcome.answer(5)),
                (Ok(""), Ok("/"), Ok("")),
                "{outcome:#?}"
            );
            for refused in [2, 3, 4, 6] {
                assert!(outcome.answer(refused).is_err(), "{refused}: {outcome:#?}");
            }
            run(who, &json!({ "role": "planner", "no_spares": !spare, "repeat": 3 })).good();
            run(who, &json!({ "role": "executor", "no_spares": !spare, "not_dumpable": true })).good();
        }
    }
}

/// A step's view starts from one that the zygote made; what is mounted, where and how does not depend on that.
#[test]
fn a_view_with_files_is_the_same_whether_it_was_started_in_advance_or_not() {
    for who in everyone() {
        let work = Work::new(who);
        let secret = work.file(who, "out/secret", "password");
        work.file(who, "in/readable", "text");
        let view = json!({
            "read_only": [grant(work.at("in"))], "read_write": [grant(work.at("out"))], "masked": [secret],
            "dev": true, "proc": true, "private_tmp_bytes": 1 << 20, "cwd": work.at("out"),
        });
        let seen = [false, true].map(|spare| {
            let outcome = run(
                who,
                &json!({ "role": "builtin", "without": ["landlock"], "no_spares": !spare, "repeat": 2, "view": view, "operations": [
                    { "read": "/proc/self/mountinfo" }, { "list": "/" }, { "list": "/.." }, { "list": "/dev" }, "cwd",
                    { "write": ["/dev/null", "x"] }, { "write": ["/dev/new", "x"] }, { "write": ["/new", "x"] },
                    { "read": secret }, { "list": "/dev/.." }, { "mode": "/dev/full" }, { "mode": "/etc" },
                ]}),
            )
            .good();
            assert_eq!(outcome.answer(1), outcome.answer(2), "{outcome:#?}");
            for refused in [6, 7, 8, 11] {
                assert!(outcome.answer(refused).is_err(), "{refused}: {outcome:#?}");
            }
            // Where, and with which attributes; the devices that come together have a mount of their own.
            let mounts = outcome.answer(0).unwrap().lines().map(|line| line.split(' ').skip(4).take(2).collect::<Vec<_>>().join(" "));
            let mut mounts: Vec<String> = mounts.filter(|mount| !mount.starts_with("/dev ")).collect();
            mounts.sort();
            let answers: Vec<_> = (1..12).map(|position| outcome.answer(position).map_err(drop).map(str::to_owned)).collect();
            (mounts, answers)
        });
        let [without, with] = &seen;
        assert_eq!(without, with);
        assert_eq!(with.0.len(), 11, "{with:#?}");
    }
}

/// More mounts than a view that was started in advance takes.
#[test]
fn a_view_of_many_files_is_built_as_well() {
    for who in everyone() {
        let work = Work::new(who);
        let files: Vec<_> = (0..300).map(|n| grant(work.file(who, &format!("in/{n}"), "text"))).collect();
        let view = json!({ "read_only": files, "dev": true });
        let operations = json!([{ "read": work.at("in/299") }]);
        let outcome = run(who, &json!({ "role": "builtin", "view": view, "operations": operations })).good();
        assert_eq!(outcome.answer(0), Ok("text"));
    }
}

#[test]
fn only_granted_files_exist_and_only_granted_rights_hold() {
    for who in everyone() {
        let work = Work::new(who);
        let outside = work.file(who, "outside/secret", "secret");
        let readable = work.file(who, "in/readable", "text");
        let writable = work.file(who, "out/old", "old");
        let view = json!({
            "read_only": [grant(work.at("in"))], "read_write": [grant(work.at("out"))], "cwd": work.at("out"),
        });
        let outcome = run(
            who,
            &json!({ "role": "builtin", "view": view, "operations": [
                { "read": readable }, { "write": [readable, "changed"] }, { "write": [work.at("in/new"), "x"] },
                { "read": outside }, { "mode": outside }, { "write": [writable, "new"] },
                { "write": [work.at("out/made"), "made"] }, { "list": "/" }, { "list": work.path() },
                { "mode": "/etc/passwd" }, { "list": "/proc" }, { "mode": "/dev/null" }, "cwd",
                { "rename": [work.at("in/readable"), work.at("out/stolen")] },
                { "write": ["/top", "x"] }, { "write": [work.at("beside"), "x"] },
            ]}),
        )
        .good();
        assert_eq!(outcome.answer(0), Ok("text"));
        for refused in [1, 2, 3, 4, 7, 8, 9, 10, 11, 13, 14, 15] {
            assert!(outcome.answer(refused).is_err(), "{who:?} {refused}: {outcome:#?}");
        }
        for done in [5, 6] {
            assert_eq!(outcome.answer(done), Ok("done"), "{outcome:#?}");
        }
        assert_eq!(outcome.answer(12), Ok(work.at("out").to_str().unwrap()));
        assert_eq!(std::fs::read_to_string(&readable).unwrap(), "text");
        assert_eq!(std::fs::read_to_string(&writable).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(work.at("out/made")).unwrap(), "made");
        assert!(!work.at("beside").exists());
    }
}

/// Landlock alone would refuse to list; without it the view itself must be empty.
#[test]
fn the_mount_view_alone_holds_nothing_but_the_grants() {
    for who in everyone() {
        let work = Work::new(who);
        work.file(who, "in/readable", "text");
        let top = work.path().components().nth(1).unwrap().as_os_str().to_str().unwrap().to_owned();
        let outcome = run(
            who,
            &json!({ "role": "builtin", "without": ["landlock"], "view": { "read_only": [grant(work.at("in"))] },
                "operations": [{ "list": "/" }, { "list": work.path() }, { "write": ["/top", "x"] }] }),
        )
        .good();
        assert_eq!(outcome.answer(0), Ok(top.as_str()));
        assert_eq!(outcome.answer(1), Ok("in"));
        assert!(outcome.answer(2).unwrap_err().contains("ead-only"), "{outcome:#?}");
    }
}

#[test]
fn protected_parts_of_a_writable_grant_stay_as_they_are_and_masked_ones_are_covered() {
    for who in everyone() {
        let work = Work::new(who);
        let hook = work.file(who, "nested/repository/.git/hooks/post-commit", "hook");
        let key = work.file(who, "deep/keys/id", "private key");
        let secret = work.file(who, "env", "password");
        let view = json!({
            "read_write": [grant(work.path())], "read_only": [grant(work.at("nested/repository/.git"))],
            "masked": [work.at("deep/keys"), work.at("env"), work.at("later/absent")], "cwd": work.path(),
        });
        let outcome = run(
            who,
            &json!({ "role": "builtin", "view": view, "operations": [
                { "read": hook }, { "write": [hook, "evil"] }, { "read": key }, { "list": work.at("deep/keys") },
                { "read": secret }, { "chmod": [secret, 0o644] }, { "mode": secret },
                { "rename": [work.at("nested"), work.at("moved")] },
                { "rename": [work.at("nested/repository"), work.at("moved")] },
                { "rename": [work.at("deep"), work.at("moved")] }, { "rename": [work.at("env"), work.at("moved")] },
                { "write": [work.at("nested/other"), "fine"] },
            ]}),
        )
        .good();
        assert_eq!(outcome.answer(0), Ok("hook"));
        for refused in [1, 2, 3, 4, 5, 7, 8, 9, 10] {
            assert!(outcome.answer(refused).is_err(), "{who:?} {refused}: {outcome:#?}");
        }
        assert_eq!(outcome.answer(6), Ok("0"));
        assert_eq!(outcome.answer(11), Ok("done"), "{outcome:#?}");
        assert_eq!(outcome.absent, [work.at("later/absent")]);
        assert_eq!(std::fs::read_to_string(hook).unwrap(), "hook");
        assert_eq!(std::fs::read_to_string(secret).unwrap(), "password");
    }
}

#[test]
fn a_grant_below_a_mask_or_of_a_kernel_file_system_is_refused() {
    let who = everyone()[0];
    let work = Work::new(who);
    work.file(who, "state/ledger", "rows");
    let refused = |view| run(who, &json!({ "role": "builtin", "view": view })).refused.unwrap();
    let masked = json!({ "read_only": [grant(work.at("state/ledger"))], "masked": [work.at("state")] });
    assert!(refused(masked).contains("is masked by"));
    for path in ["/", "/proc", "/proc/1", "/sys/kernel", "/dev"] {
        assert!(refused(json!({ "read_only": [grant(path)] })).contains("cannot be granted"), "{path}");
    }
    for path in ["relative", "/var/../etc", "/var/tmp/", "/var//tmp"] {
        assert!(refused(json!({ "read_only": [grant(path)] })).contains("normal form"), "{path}");
    }
    assert!(
        refused(json!({ "read_only": [grant(work.path())], "read_write": [grant(work.path())] })).contains("twice")
    );
    assert!(refused(json!({ "cwd": "/var/tmp" })).contains("working directory"));
}

#[test]
fn dynamic_programs_run_with_private_temporary_files_and_see_only_their_own_processes() {
    for who in everyone() {
        let work = Work::new(who);
        let outcome = run(
            who,
            &json!({ "role": "toolchain", "view": toolchain(work.path()), "operations": [
                { "run": ["/bin/sh", "-c", "echo made > made && cat made && id -u"] },
                { "run": ["/bin/sh", "-c", "echo x > /tmp/countersign-private && ls /tmp && ls -a /root /home 2>&1 | wc -l"] },
                { "run": ["/bin/sh", "-c", "ls /proc | grep -c '^[0-9]'; head -c1 /dev/urandom | wc -c; echo x > /dev/null"] },
                { "run": ["/bin/sh", "-c", "uname -n; cat /proc/cpuinfo"] },
                { "run": ["/bin/sh", "-c", "chmod 666 /dev/null || ls -A /"] },
            ]}),
        )
        .good();
        assert_eq!(outcome.answer(0), Ok("made\n1000\n"));
        assert!(outcome.answer(1).unwrap().starts_with("countersign-private\n"), "{outcome:#?}");
        assert!(!std::path::Path::new("/tmp/countersign-private").exists());
        let processes = outcome.answer(2).unwrap();
        let (count, rest) = processes.split_once('\n').unwrap();
        assert!(count.parse::<u32>().unwrap() <= 5 && rest == "1\n", "{processes}");
        assert!(outcome.answer(3).unwrap_err().contains("sandbox\n"), "{outcome:#?}");
        assert!(outcome.answer(4).is_err(), "{outcome:#?}");
    }
}

#[test]
fn nothing_in_a_no_exec_work_folder_is_executed() {
    for who in everyone() {
        let work = Work::new(who);
        let mut view = toolchain(work.path());
        view["noexec_work"] = json!(true);
        let outcome = run(
            who,
            &json!({ "role": "exact", "view": view, "operations": [
                { "run": ["/bin/sh", "-c", "cp /bin/true mine && chmod 755 mine && ./mine"] },
                { "run": ["/bin/sh", "-c", "cp /bin/true /tmp/mine && chmod 755 /tmp/mine && /tmp/mine"] },
                { "run": ["/bin/sh", "-c", "/lib64/ld-linux-x86-64.so.2 ./mine"] },
                { "run": ["/bin/true"] },
            ]}),
        )
        .good();
        for refused in [0, 1, 2] {
            assert!(outcome.answer(refused).is_err(), "{refused}: {outcome:#?}");
        }
        assert_eq!(outcome.answer(3), Ok(""));
    }
}
