//! `docs/findings.md` against the code: every finding, unknown part and code stands there, and the lines do what the page says.

use countersign_inspect::{Context, FindingKind, Inspection, UnknownKind, shell, text};
use countersign_plan::verdict::Code;

/// The rows of all tables: name, what earns it, what looks like it, what to change.
fn rows() -> Vec<[String; 4]> {
    let page = include_str!("../../../../docs/findings.md");
    page.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let line = line.replace("\\|", "\u{1}");
            let mut cells = line.split('|').skip(1).map(|cell| cell.trim().replace('\u{1}', "|"));
            [(); 4].map(|()| cells.next().unwrap_or_default())
        })
        .map(|[name, earns, looks, change]| [name.trim_matches('`').to_owned(), earns, looks, change])
        .collect()
}

fn row(name: &str) -> [String; 4] {
    let found: Vec<[String; 4]> = rows().into_iter().filter(|row| row[0] == name).collect();
    assert_eq!(found.len(), 1, "`{name}` stands {} times in docs/findings.md", found.len());
    found.into_iter().next().unwrap_or_default()
}

/// A cell that is one piece of code.
fn line(cell: &str) -> Option<&str> {
    cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`')).filter(|cell| !cell.contains('`'))
}

fn inspect(line: &str) -> Inspection {
    shell(line, &Context::new("/home/user/project", "/home/user"))
}

fn name_of(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

const FINDINGS: [FindingKind; 26] = [
    FindingKind::DestroysHome,
    FindingKind::DestroysSystem,
    FindingKind::DestroysDevice,
    FindingKind::DestroysDatabase,
    FindingKind::DecodeAndExecute,
    FindingKind::DownloadAndExecute,
    FindingKind::ReverseShell,
    FindingKind::ForkBomb,
    FindingKind::ErasesRecord,
    FindingKind::MetadataAddress,
    FindingKind::HiddenText,
    FindingKind::LookAlike,
    FindingKind::UserInfo,
    FindingKind::OddAddress,
    FindingKind::LoadsCode,
    FindingKind::Persistence,
    FindingKind::KernelInterface,
    FindingKind::Elevation,
    FindingKind::WeakensRights,
    FindingKind::EnvironmentDump,
    FindingKind::HistoryLoss,
    FindingKind::UnboundedStatement,
    FindingKind::Secret,
    FindingKind::InjectedInstruction,
    FindingKind::DisablesProtection,
    FindingKind::OpensToAnybody,
];

const UNKNOWNS: [UnknownKind; 7] = [
    UnknownKind::Syntax,
    UnknownKind::Disagreement,
    UnknownKind::Program,
    UnknownKind::Option,
    UnknownKind::Value,
    UnknownKind::Code,
    UnknownKind::TooMuch,
];

/// A new kind breaks this match, so that the lists above stay whole.
const fn is_listed(kind: FindingKind) -> bool {
    match kind {
        FindingKind::DestroysHome
        | FindingKind::DestroysSystem
        | FindingKind::DestroysDevice
        | FindingKind::DestroysDatabase
        | FindingKind::DecodeAndExecute
        | FindingKind::DownloadAndExecute
        | FindingKind::ReverseShell
        | FindingKind::ForkBomb
        | FindingKind::ErasesRecord
        | FindingKind::MetadataAddress
        | FindingKind::HiddenText
        | FindingKind::LookAlike
        | FindingKind::UserInfo
        | FindingKind::OddAddress
        | FindingKind::LoadsCode
        | FindingKind::Persistence
        | FindingKind::KernelInterface
        | FindingKind::Elevation
        | FindingKind::WeakensRights
        | FindingKind::EnvironmentDump
        | FindingKind::HistoryLoss
        | FindingKind::UnboundedStatement
        | FindingKind::Secret
        | FindingKind::InjectedInstruction
        | FindingKind::DisablesProtection
        | FindingKind::OpensToAnybody => true,
    }
}

#[test]
fn every_finding_is_explained_by_lines_that_show_it() {
    for kind in FINDINGS {
        let [name, earns, looks, change] = row(&name_of(kind));
        assert!(is_listed(kind) && !change.is_empty(), "{name}");
        if kind == FindingKind::InjectedInstruction {
            assert!(!text(&earns.replace('`', "\n")).is_empty() && text(&looks).is_empty(), "{name}");
            continue;
        }
        let (Some(earns), Some(looks)) = (line(&earns), line(&looks)) else { panic!("{name}: no shell lines") };
        assert!(inspect(earns).found(kind), "{name}: {earns}\n{:#?}", inspect(earns));
        assert!(!inspect(looks).found(kind), "{name}: {looks}\n{:#?}", inspect(looks));
    }
}

#[test]
fn every_unknown_part_is_explained_by_lines_that_show_it() {
    for kind in UNKNOWNS {
        let [name, earns, looks, change] = row(&name_of(kind));
        assert!(!change.is_empty(), "{name}");
        if let Some(earns) = line(&earns) {
            assert!(inspect(earns).unknowns.iter().any(|u| u.kind == kind), "{name}: {earns}\n{:#?}", inspect(earns));
        }
        if let Some(looks) = line(&looks) {
            assert!(!inspect(looks).unknowns.iter().any(|u| u.kind == kind), "{name}: {looks}\n{:#?}", inspect(looks));
        }
    }
}

#[test]
fn every_code_of_a_verdict_is_explained() {
    for code in Code::ALL {
        let [name, earns, looks, change] = row(code.as_str());
        assert!(!earns.is_empty() && !looks.is_empty() && !change.is_empty(), "{name}");
    }
    let known = FINDINGS.len() + UNKNOWNS.len() + Code::ALL.len();
    assert_eq!(rows().len(), known, "docs/findings.md explains something that does not exist");
}
