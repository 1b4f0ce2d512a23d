//! Every embedded list is sound: known calls, reasons, no line without an effect.

use super::*;

const SOURCES: [Source; 6] = [PLANNER, EXECUTOR, WATCH, STEP_BUILTIN, STEP_LAUNCH, PROGRAM];

#[test]
fn every_list_parses_and_names_known_calls() {
    for source in SOURCES {
        for variant in [None, Some(Variant::Exact), Some(Variant::Toolchain)] {
            let profile = source.profile(variant).unwrap();
            assert!(!profile.rules.is_empty(), "{}", source.name);
        }
    }
}

#[test]
fn every_line_has_a_reason() {
    for source in SOURCES {
        let document = source.document().unwrap();
        assert!(document.about.len() > 40, "{}", source.name);
        for line in document.lines {
            assert!(line.reason.len() >= 5, "{}: {} has no reason", source.name, line.syscall);
        }
    }
}

/// A line that changes nothing misleads its reader: equal to the default, after a line that always matches, or written twice.
#[test]
fn no_line_is_redundant() {
    for source in SOURCES {
        let document = source.document().unwrap();
        for (position, line) in document.lines.iter().enumerate() {
            let place = format!("{}: line {} ({})", source.name, position + 1, line.syscall);
            let later: Vec<&Line> =
                document.lines.iter().skip(position + 1).filter(|other| other.syscall == line.syscall).collect();
            if line.when.is_empty() && line.given.is_none() {
                assert!(later.is_empty(), "{place}: hides {} later lines", later.len());
            }
            if later.is_empty() {
                assert_ne!(line.action, document.default, "{place}: equals the default");
            }
            for other in later {
                assert_ne!((&line.when, line.given), (&other.when, other.given), "{place}: written twice");
            }
        }
    }
}

#[test]
fn planner_and_executor_allow_no_way_out() {
    let forbidden = [
        "sendmsg",
        "recvmsg",
        "open",
        "openat",
        "openat2",
        "socket",
        "execve",
        "execveat",
        "clone",
        "clone3",
        "fork",
        "ioctl",
        "prctl",
        "rt_sigaction",
        "seccomp",
        "memfd_create",
        "accept",
        "connect",
        "bind",
        "dup",
        "pidfd_open",
    ];
    for name in [ProfileName::Planner, ProfileName::Executor] {
        let profile = Profile::load(name).unwrap();
        assert_eq!(profile.default, Action::Kill);
        for call in forbidden {
            assert!(!profile.rules.contains_key(&number(call).unwrap()), "{name:?}: {call}");
        }
        assert!(profile.rules.len() <= 36);
        let fcntl = &profile.rules[&number("fcntl").unwrap()];
        assert_eq!(
            fcntl.iter().flat_map(|rule| &rule.when).map(|when| (when.arg, when.values.as_slice())).collect::<Vec<_>>(),
            [(1, [1].as_slice())]
        );
    }
}

#[test]
fn filters_stack_so_the_init_of_a_program_step_never_ends_what_the_program_may_try() {
    for variant in [Variant::Exact, Variant::Toolchain] {
        let init = Profile::load(ProfileName::StepInit(variant)).unwrap();
        let program = Profile::load(ProfileName::Program(variant)).unwrap();
        assert_eq!((init.default, init.beyond), (program.default, program.beyond));
        let own = STEP_LAUNCH.profile(Some(variant)).unwrap();
        for (number, rules) in &program.rules {
            assert!(own.rules.contains_key(number) || init.rules.get(number) == Some(rules), "{number}");
        }
    }
}

#[test]
fn exact_gives_neither_network_nor_memory_files() {
    let exact = Profile::load(ProfileName::Program(Variant::Exact)).unwrap();
    for call in ["memfd_create", "connect", "bind", "listen"] {
        assert!(!exact.rules.contains_key(&number(call).unwrap()), "{call}");
    }
    let socket = &exact.rules[&number("socket").unwrap()];
    assert_eq!(socket.iter().map(|rule| rule.action).collect::<Vec<_>>(), [Action::Eafnosupport]);
}

#[test]
fn a_condition_that_can_never_hold_is_refused() {
    let attempt = |when: &str| {
        let text = format!(
            r#"{{"about":"","default":"KILL","beyond":"KILL","lines":[{{"syscall":"read","when":[{when}],"reason":"test"}}]}}"#
        );
        Source { name: "test", text: text.leak() }.profile(None)
    };
    assert!(attempt(r#"{"arg":0,"width":"32","in":[3]}"#).is_ok());
    for broken in [
        r#"{"arg":6,"width":"32","in":[3]}"#,
        r#"{"arg":0,"width":"32","in":[]}"#,
        r#"{"arg":0,"width":"32","in":[4294967296]}"#,
        r#"{"arg":0,"width":"64","mask":3,"in":[4]}"#,
    ] {
        assert!(matches!(attempt(broken), Err(ProfileError::Condition { .. })), "{broken}");
    }
    assert!(matches!(attempt(r#"{"arg":0,"width":"32","in":[3],"or":1}"#), Err(ProfileError::Parse { .. })));
}
