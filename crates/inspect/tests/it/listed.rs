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
