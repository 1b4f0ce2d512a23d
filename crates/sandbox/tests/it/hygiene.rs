//! Environment, descriptors, network and limits of a confined child.

use countersign_sandbox::{Exit, Layer, Limits};
use serde_json::json;

use crate::harness::{As, ORDINARY, Work, everyone, run, toolchain};

#[test]
fn a_step_starts_without_environment_and_with_exactly_its_descriptors() {
    for who in everyone() {
        let outcome = run(who, &json!({ "role": "builtin", "operations": ["environment"] })).good();
        assert_eq!(outcome.answer(0), Ok("0"));
        assert_eq!(outcome.descriptors.len(), 4, "{outcome:#?}");
        assert_eq!(outcome.descriptors[..3], ["/dev/null", "/dev/null", "/dev/null"]);
        assert!(outcome.descriptors[3].starts_with("socket:["));
        let leaky =
            run(who, &json!({ "role": "builtin", "without": ["environment"], "operations": ["environment"] })).good();
        assert_ne!(leaky.answer(0), Ok("0"), "the control: without the layer the environment is inherited");
    }
}

/// Whatever numbers the spawner's own descriptors have, the child's are in the order given.
#[test]
fn passed_descriptors_follow_the_control_socket() {
    for extra in [1, 8, 40] {
        let outcome = run(As::Own, &json!({ "role": "builtin", "extra": extra, "operations": ["environment"] })).good();
        assert_eq!(outcome.answer(0), Ok("0"));
        assert!(outcome.descriptors[3].starts_with("socket:["), "{outcome:#?}");
        assert_eq!(outcome.descriptors[4..], vec!["/dev/zero"; extra]);
    }
}

#[test]
fn a_tool_inherits_neither_the_control_socket_nor_anything_else() {
    for who in everyone() {
        let work = Work::new(who);
        let outcome = run(
            who,
            &json!({ "role": "toolchain", "view": toolchain(work.path()), "operations": [
                { "run": ["/bin/sh", "-c", "for fd in $(seq 0 99); do [ -e /proc/$$/fd/$fd ] && printf '%s ' $fd; done; readlink /proc/$$/fd/0; env | cut -d= -f1 | sort | tr '\\n' ' '"] },
            ]}),
        )
        .good();
        assert_eq!(outcome.answer(0), Ok("0 1 2 /dev/null\nHOME LANG PATH PWD "), "{outcome:#?}");
    }
}

#[test]
fn without_a_grant_there_is_no_network_and_with_one_only_the_private_loopback() {
    let script = "import socket\n\
        def attempt(family, kind, protocol=0):\n    \
            try:\n        s = socket.socket(family, kind, protocol)\n        s.settimeout(1)\n        s.connect(('127.0.0.1', PORT)); return 'open'\n    \
            except OSError as e: return e.strerror\n\
        PORT = HOST\n\
        print(attempt(socket.AF_INET, socket.SOCK_STREAM), attempt(socket.AF_INET, socket.SOCK_STREAM, 262), sep='|', end='|')\n\
        for family in (1, 16, 40, 17):\n    \
            try: socket.socket(family, socket.SOCK_STREAM if family != 16 else socket.SOCK_RAW); print('open', end='|')\n    \
            except OSError as e: print(e.strerror, end='|')\n\
        try:\n    l = socket.create_server(('127.0.0.1', 0)); PORT = l.getsockname()[1]; print(attempt(socket.AF_INET, socket.SOCK_STREAM))\n\
        except OSError as e: print(e.strerror)\n";
    let host = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let script = script.replace("HOST", &host.local_addr().unwrap().port().to_string());
    for who in everyone() {
        let work = Work::new(who);
        let attempt = |role: &str, loopback: bool, spare: bool| {
            let outcome = run(
                who,
                &json!({ "role": role, "loopback": loopback, "no_spares": !spare, "repeat": 2, "view": toolchain(work.path()), "operations": [
                    { "run": ["/usr/bin/python3", "-c", script] }]}),
            )
            .good();
            outcome.answer(0).unwrap().trim().to_owned()
        };
        let family = "Address family not supported by protocol";
        let only_own = format!("Connection refused|{family}|{family}|{family}|{family}|{family}|open");
        for spare in [false, true] {
            assert_eq!(attempt("exact", false, spare), [family; 7].join("|"));
            assert_eq!(attempt("toolchain", true, spare), only_own);
            // The list allows the family; Landlock refuses it, and there would be no interface to use it on.
            let refused = attempt("toolchain", false, spare);
            assert!(refused.starts_with("Permission denied|") && !refused.contains("open"), "{refused}");
        }
    }
    host.set_nonblocking(true).unwrap();
    assert!(host.accept().is_err(), "nobody may have reached the host");
}

#[test]
fn limits_hold() {
    for who in everyone() {
        let work = Work::new(who);
        let limits = Limits { file_size: 1 << 20, processes: 24, cpu_seconds: 1, ..Limits::program() };
        let mut scenario = json!({ "role": "toolchain", "view": toolchain(work.path()), "limits": limits, "operations": [
            { "run": ["/bin/sh", "-c", "head -c 3000000 /dev/zero > big; wc -c < big; ulimit -c"] },
            { "run": ["/bin/sh", "-c", "for i in $(seq 60); do sleep 2 & done 2>/dev/null; ls /proc | grep -c '^[0-9]'"] },
            { "run": ["/bin/sh", "-c", "while :; do :; done"] },
        ]});
        let outcome = run(who, &scenario).good();
        assert!(outcome.answer(0).is_ok_and(|text| text.ends_with("1048576\n0\n")), "{outcome:#?}");
        assert!(outcome.answer(2).unwrap_err().starts_with("Signal(9)"), "{outcome:#?}");
        let gaps: Vec<&str> =
            outcome.enforcement.as_ref().unwrap().gaps.iter().map(|gap| gap.missing.as_str()).collect();
        if who == As::Ordinary {
            assert!(outcome.answer(1).is_err(), "the shell itself gives up: {outcome:#?}");
        } else if rustix::process::geteuid().is_root() {
            assert!(gaps.contains(&"a limit on the number of processes"), "{gaps:?}");
            // With an owner that is not root, root's steps are counted too.
            scenario["identity"] = json!({ "uid": ORDINARY, "gid": ORDINARY });
            let own = Work::new(As::Ordinary);
            scenario["view"] = toolchain(own.path());
            let outcome = run(who, &scenario);
            if outcome.refused.as_ref().is_some_and(|reason| reason.contains("other ids")) {
                // A container's root may be nobody else.
                return;
            }
            let outcome = outcome.good();
            assert!(outcome.answer(1).is_err(), "{outcome:#?}");
        }
    }
}

/// A shell that started us may have lowered what we may hand on.
#[test]
fn a_limit_above_our_own_is_lowered_to_it_and_said() {
    for who in everyone() {
        let work = Work::new(who);
        let outcome = run(
            who,
            &json!({ "role": "toolchain", "open_files": 200, "view": toolchain(work.path()), "operations": [
                { "run": ["/bin/sh", "-c", "ulimit -Hn"] }] }),
        )
        .good();
        assert_eq!(outcome.answer(0), Ok("200\n"), "{outcome:#?}");
        let limits = &outcome.enforcement.as_ref().unwrap().layers[&Layer::ResourceLimits];
        assert!(limits.contains("200 descriptors"), "{limits}");
    }
}

/// And it may ignore signals: neither we nor a tool may inherit that.
#[test]
fn a_spawner_whose_parent_ignored_children_still_learns_how_they_end() {
    for who in everyone() {
        let work = Work::new(who);
        let outcome = run(
            who,
            &json!({ "role": "toolchain", "children_ignored": true, "view": toolchain(work.path()), "operations": [
                { "run": ["/bin/sh", "-c", "grep SigIgn /proc/self/status"] }] }),
        )
        .good();
        assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:#?}");
        let (_, ignored) = outcome.answer(0).unwrap().split_once('\t').unwrap();
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        let ours = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE, libc::SIGTERM, libc::SIGCHLD];
        assert!(ours.iter().all(|signal| ignored & (1 << (signal - 1)) == 0), "{ignored:x}");
    }
}

#[test]
fn what_this_machine_cannot_limit_is_reported() {
    let outcome = run(As::Own, &json!({ "role": "planner" })).good();
    let enforcement = outcome.enforcement.unwrap();
    let grouped = enforcement.layers.contains_key(&Layer::Cgroup);
    let gap = enforcement.gaps.iter().any(|gap| gap.missing.starts_with("limits over the whole process tree"));
    assert!(grouped != gap, "{enforcement:#?}");
}

#[test]
fn a_forbidden_call_ends_a_planner_or_executor_with_sigsys_and_is_named() {
    for who in everyone() {
        for role in ["planner", "executor"] {
            for (operation, call) in [
                (json!({ "read": "/etc/passwd" }), "openat (257)"),
                (json!({ "make_directory": "/tmp/made" }), "mkdir (83)"),
                (json!("cwd"), "getcwd (79)"),
            ] {
                let outcome = run(who, &json!({ "role": role, "operations": [operation, "environment"] })).good();
                assert_eq!(outcome.exit, Some(Exit::Signal(31)), "{outcome:#?}");
                assert_eq!(outcome.violation.as_deref(), Some(call), "{outcome:#?}");
                assert!(outcome.answers.is_empty(), "{outcome:#?}");
            }
        }
    }
}

/// A spawner that has other things to do, and then kills the child for another reason: what it tried is still known.
#[test]
fn a_child_held_in_a_forbidden_call_does_nothing_until_it_is_killed_and_the_call_is_known() {
    for who in everyone() {
        let outcome = run(
            who,
            &json!({ "role": "planner", "kill": "held", "operations": [{ "read": "/etc/passwd" }, "environment"] }),
        );
        assert_eq!(outcome.exit, Some(Exit::Signal(31)), "{outcome:#?}");
        assert_eq!(outcome.violation.as_deref(), Some("openat (257)"), "{outcome:#?}");
    }
}

#[test]
fn a_child_that_ends_by_itself_or_by_a_kill_is_no_violation() {
    for who in everyone() {
        let outcome = run(who, &json!({ "role": "executor", "operations": ["environment"] })).good();
        assert_eq!((outcome.exit, outcome.violation), (Some(Exit::Code(0)), None));
        let outcome = run(who, &json!({ "role": "executor", "kill": "at_once", "operations": ["environment"] }));
        assert_eq!((outcome.exit, outcome.violation), (Some(Exit::Signal(9)), None));
    }
}

/// Where an agent around us listens to its own filter already, the kernel gives no second listener: the list is the same and the kernel kills.
#[test]
fn without_a_listener_a_forbidden_call_still_ends_the_process() {
    for who in everyone() {
        let scenario = json!({ "role": "planner", "watched_already": true, "operations": [{ "read": "/etc/passwd" }] });
        let outcome = run(who, &scenario).good();
        assert_eq!((outcome.exit, &outcome.violation), (Some(Exit::Signal(31)), &None), "{outcome:#?}");
        let gaps = outcome.enforcement.unwrap().gaps;
        assert!(gaps.iter().any(|gap| gap.missing == "details of a forbidden system call"), "{gaps:?}");
    }
}

#[test]
fn an_ordinary_user_cannot_name_another() {
    let Some(who) = everyone().into_iter().find(|who| *who == As::Ordinary || !rustix::process::geteuid().is_root())
    else {
        return;
    };
    let outcome = run(who, &json!({ "role": "planner", "identity": { "uid": 0, "gid": 0 } }));
    assert!(outcome.refused.as_ref().is_some_and(|reason| reason.contains("other ids")), "{outcome:#?}");
}
