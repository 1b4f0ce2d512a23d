//! What goes because something makes it again: what a mirror has too much, what a generator wrote.

use super::Request;
use super::defaults::below_workspace;
use super::prepare::Prepared;
use crate::effects::Touch;
use crate::lists::has;

/// "Regenerate the mocks": what by its ending a generator wrote, before that runs again (Go blog, "Generating code"; protoc's manual).
pub(super) fn is_generated_anew(prepared: &Prepared<'_>, touch: &Touch) -> bool {
    const GENERATED: [&str; 7] = ["_mock.go", "_gen.go", ".gen.go", ".pb.go", "_string.go", "_pb2.py", "_pb2_grpc.py"];
    let calls = &prepared.derived.calls;
    let removed = calls.iter().position(|call| call.first().is_some_and(|name| name == "rm"));
    let generates = |call: &Vec<String>| match call.iter().map(String::as_str).take(2).collect::<Vec<_>>().as_slice() {
        ["go", word] => *word == "generate",
        [name, ..] => has("mockgen protoc buf", name),
        [] => false,
    };
    let again = calls.iter().rposition(generates);
    GENERATED.iter().any(|end| touch.name.ends_with(end))
        && !touch.recursive
        && prepared.goal.speak_of("regenerat")
        && removed.zip(again).is_some_and(|(removed, again)| removed < again)
}

/// "An exact copy of it, and what is gone there is gone here as well": a line that removes nothing but that, from where the goal says to this
/// folder (rsync(1), `--delete`).
pub(super) fn is_mirrored(request: &Request<'_>, prepared: &Prepared<'_>, folder: &str) -> bool {
    const BESIDE: &str = "mkdir wc diff cmp ls du head tail sort grep cat echo sha256sum md5sum";
    let calls = prepared.derived.calls.iter();
    let (mirrors, beside): (Vec<_>, Vec<_>) = calls.partition(|call| call.first().is_some_and(|name| name == "rsync"));
    let Some((call, again)) = mirrors.split_first() else { return false };
    let same = |other: &&Vec<String>| other.ends_with(call.get(call.len().saturating_sub(2)..).unwrap_or_default());
    let shows = |call: &&Vec<String>| call.first().is_some_and(|name| has(BESIDE, name));
    if !(again.iter().all(same) && beside.iter().all(shows)) {
        return false;
    }
    let plain: Vec<&str> = call.iter().skip(1).map(String::as_str).filter(|arg| !arg.starts_with('-')).collect();
    let [from, to] = plain.as_slice() else { return false };
    let (from, to) = (from.trim_end_matches('/'), to.trim_end_matches('/'));
    call.iter().any(|arg| arg.starts_with("--delete"))
        && to.trim_start_matches("./") == below_workspace(request, folder)
        && prepared.goal.speak_of("mirror exact")
        && [from, to].iter().all(|path| prepared.goal.name(path))
        && !prepared.goal.says("of", to)
}
