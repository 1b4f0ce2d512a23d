//! Lists of names that one program prints and another one takes: each name counts, however many there are.

use countersign_inspect::FindingKind;
use countersign_plan::tool::Effect;

use crate::seen::{all, clear, doubtful, inspect};

#[test]
fn each_name_of_a_list_counts() {
    for line in [
        "rm -rf $(find build /etc)",
        "rm -rf `ls -d build /etc`",
        "find build /etc -type f | while read -r f; do rm \"$f\"; done",
        "ls -d build /etc | while IFS= read -r f; do rm -rf \"$f\"; done",
        "for f in $(find build /etc); do rm -rf $f; done",
        "printf '%s\\n' build /etc | while read f; do rm -rf $f; done",
        "mapfile -t all <<< $'build\\n/etc'; rm -rf \"${all[@]}\"",
    ] {
        let seen = inspect(line);
        let removed = |name: &str| name == "/etc" || name.starts_with("/etc/");
        let removes = seen.touches.iter().any(|touch| touch.effect == Effect::Delete && removed(&touch.name));
        assert!(removes, "{line}: {seen:#?}");
    }
    all(FindingKind::DestroysSystem, &["mapfile -C 'rm -rf /etc;' -c 1 all < list"]);
}

#[test]
fn a_list_whose_end_is_not_looked_at_may_name_anything() {
    let folders: String = (0..200).map(|i| format!("a{i} ")).collect();
    doubtful(&[
        "x=$(find build /etc); rm -rf $x",
        "rm -rf \"$(find build /etc)\"",
        "mapfile -t all < <(find build /etc); rm -rf \"${all[@]}\"",
        "{ read f; rm -rf $f; } < <(find build /etc)",
        &format!("find {folders} /etc | parallel rm -rf {{}}"),
        &format!("find {folders} /etc | xargs rm -rf"),
        &format!("printf '%s ' {folders} /etc | xargs rm -rf"),
    ]);
    clear(&[
        "find src tests -name '*.py' | while read -r f; do wc -l \"$f\"; done",
        "grep -c x $(find src tests)",
        "ls -t backups/*.sql | tail -n +6 | xargs wc -c",
    ]);
}

/// What stands behind a bound of a program's words, of a file's lines or of a list in a document is not nothing.
#[test]
fn what_lies_beyond_a_bound_is_said() {
    let many = |one: &str, times: usize| one.repeat(times);
    doubtful(&[
        &format!("vim {} -c '!rm -rf /'", many("-c 'set nu' ", 100)),
        &format!("dotnet build {} -p:CustomAfterMicrosoftCommonTargets=/tmp/x.targets", many("-v:q ", 100)),
        &format!("printf '{}' | while read -r a b; do rm -rf $a; done", many("x y\\n", 100)),
    ]);
    let files: String = (0..100).map(|i| format!("a{i}.c ")).collect();
    clear(&[
        &format!("wc -l {}", many("a ", 400)),
        &format!("printf '%s\\n' {}", many("a ", 400)),
        &format!("cp {files} backup/"),
        &format!("git add {files}"),
        &format!("gcc -c {files}"),
    ]);
}
