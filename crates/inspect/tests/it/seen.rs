//! What is seen of a line, as the tests of this folder ask for it.

use countersign_inspect::{Context, FindingKind, Inspection};
use countersign_plan::inspection::Subject;
use countersign_plan::tool::{Effect, TargetKind};

pub(crate) fn inspect(line: &str) -> Inspection {
    let context = Context::new("/home/user/project", "/home/user");
    countersign_inspect::inspect(&Subject::Shell { line: line.to_owned(), context })
}

pub(crate) fn has(line: &str, kind: FindingKind) -> bool {
    inspect(line).findings.iter().any(|finding| finding.kind == kind)
}

pub(crate) fn all(kind: FindingKind, lines: &[&str]) {
    for line in lines {
        assert!(has(line, kind), "{line}: {:#?}", inspect(line));
    }
}

pub(crate) fn none(kind: FindingKind, lines: &[&str]) {
    for line in lines {
        assert!(!has(line, kind), "{line}: {:#?}", inspect(line));
    }
}

pub(crate) fn clear(lines: &[&str]) {
    for line in lines {
        assert!(inspect(line).is_clear(), "{line}: {:#?}", inspect(line));
    }
}

pub(crate) fn doubtful(lines: &[&str]) {
    for line in lines {
        assert!(!inspect(line).unknowns.is_empty(), "{line}: {:#?}", inspect(line));
    }
}

pub(crate) fn touches(line: &str, effect: Effect, name: &str) -> bool {
    inspect(line).touches.iter().any(|touch| touch.effect == effect && touch.name == name)
}

pub(crate) fn touches_kind(line: &str, effect: Effect, kind: TargetKind, name: &str) -> bool {
    inspect(line).touches.iter().any(|touch| touch.effect == effect && touch.kind == kind && touch.name == name)
}

pub(crate) fn touches_file(line: &str, effect: Effect, name: &str) -> bool {
    let file = |kind: TargetKind| matches!(kind, TargetKind::File | TargetKind::Directory);
    inspect(line).touches.iter().any(|touch| touch.effect == effect && file(touch.kind) && touch.name == name)
}

pub(crate) fn goes(line: &str, from: &str) -> bool {
    inspect(line).flows.iter().any(|flow| flow.from == from && flow.to.starts_with("h.example"))
}

pub(crate) fn finds(kind: FindingKind, attacks: &[&str], ordinary: &[&str]) {
    for line in attacks {
        assert!(inspect(line).found(kind), "{line}: {:#?}", inspect(line));
    }
    for line in ordinary {
        assert!(!inspect(line).found(kind), "{line}: {:#?}", inspect(line));
    }
}

pub(crate) fn reads(ordinary: &[&str], beyond: &[&str]) {
    for line in ordinary {
        assert!(inspect(line).unknowns.is_empty(), "{line}: {:#?}", inspect(line));
    }
    for line in beyond {
        assert!(!inspect(line).unknowns.is_empty(), "{line}: {:#?}", inspect(line));
    }
}
