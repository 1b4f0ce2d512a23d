//! Removals of all there is, one by one: of what a folder holds that code only lists.

use super::Seen;
use super::lex::Token;
use countersign_plan::inspection::{Unknown, UnknownKind};
use countersign_plan::tool::Effect;

use crate::inspection::FindingKind;
use crate::machine::Machine;

/// How far back the call or list is looked for that a text stands in.
const NEAR: usize = 64;

/// Whether code that removes what it finds looks for it in the home folder or the root: as one of a list, in a name, in a call that
/// lists a folder.
fn looks_everywhere(tokens: &[Token], home: &str) -> bool {
    const LISTING: &[&str] = &[
        "scandir",
        "listdir",
        "iterdir",
        "walk",
        "readdirSync",
        "readdir",
        "children",
        "each_child",
        "entries",
        "opendir",
        "RecursiveDirectoryIterator",
        "DirectoryIterator",
        "FilesystemIterator",
    ];
    let lists = |token: &Token| matches!(token, Token::Name(name) if LISTING.iter().any(|call| name.rsplit('.').next() == Some(call)));
    let is_end = |text: &str| {
        text.starts_with('/') && matches!(crate::path::normalise("/", text), path if path == home || path == "/")
    };
    let listed = tokens.iter().any(lists)
        && tokens.iter().enumerate().any(|(i, token)| {
            let before = i.checked_sub(1).and_then(|i| tokens.get(i));
            let call = i.checked_sub(2).and_then(|i| tokens.get(i));
            let listing = || matches!(tokens.get(i + 1..), Some([Token::Mark('.'), method, ..]) if lists(method));
            matches!(token, Token::Text(text) if is_end(text))
                && match before {
                    _ if listing() => true,
                    Some(Token::Mark('=' | '[')) => true,
                    Some(Token::Mark(',')) => within_list(tokens.get(..i).unwrap_or_default()),
                    Some(Token::Mark('(')) => call.is_some_and(lists),
                    _ => false,
                }
        });
    // `[".cache", path.relative(process.cwd(), os.homedir())]`: the home itself, and no part of a path.
    let alone = |i: usize| {
        let near = [i.checked_sub(1), Some(i + 1)].into_iter().flatten().filter_map(|i| tokens.get(i));
        let call = tokens.get(..i).unwrap_or_default().iter().rev().take(NEAR).find_map(|token| match token {
            Token::Name(name) => Some(name.as_str()),
            _ => None,
        });
        let joins = |name: &str| {
            name.ends_with("join")
                || name.ends_with("resolve")
                || name.ends_with("joinpath")
                || name.ends_with("catfile")
        };
        near.clone().all(|token| !matches!(token, Token::Mark('+' | '.' | '/' | '$' | '&' | '|' | '?')))
            && !call.is_some_and(joins)
    };
    let at_home = tokens.iter().enumerate().any(|(i, token)| match token {
        Token::Text(text) => text.starts_with('/') && crate::path::normalise("/", text) == home && alone(i),
        // The seventh of what getpwuid(3) gives is the home folder.
        Token::Name(name) => name.ends_with("getpwuid") || name.ends_with("getpwnam") || name.ends_with("pw_dir"),
        _ => false,
    });
    // `glob("/home/*/*")`: everything that the home folder, the folder of all of them or the root holds.
    let covers = |text: &str| {
        text.split_whitespace().any(|pattern| {
            let Some(at) = pattern.find(['*', '?', '{', '[']) else { return false };
            let folder = pattern.get(..at).unwrap_or("").trim_end_matches('/');
            let hidden = folder.strip_suffix("/.").unwrap_or(folder);
            pattern.starts_with('/') && (hidden.is_empty() || hidden == home || crate::path::is_below(home, hidden))
        })
    };
    let globbed = tokens.windows(3).any(|three| {
        matches!(three, [Token::Name(name), Token::Mark('(' | '['), Token::Text(text)]
            if matches!(name.rsplit('.').next(), Some("glob" | "iglob" | "bsd_glob" | "Dir" | "globSync")) && covers(text))
    });
    listed || at_home || globbed
}

/// Whether what is removed is by itself all that the home folder or the root holds.
fn is_everything(given: &[Token]) -> bool {
    // `map { "/$_" } …`
    let of_home = |text: &str| {
        text.split_whitespace().any(|text| {
            let rest = ["$ENV{HOME}/", "${ENV{HOME}}/"].iter().find_map(|home| text.strip_prefix(home));
            rest.is_some_and(|rest| rest.starts_with(['*', '{', '.', '[']) && !rest.contains('/'))
        })
    };
    let below = |text: &str| {
        of_home(text)
            || text.strip_prefix("/$").or_else(|| text.strip_prefix("/#{")).is_some_and(|rest| !rest.contains('/'))
    };
    given.iter().any(|token| matches!(token, Token::Built(text) if below(text)))
}

/// Whether the bracket that is still open is that of a list.
fn within_list(before: &[Token]) -> bool {
    let mut closed = 0_usize;
    for token in before.iter().rev().take(NEAR) {
        match token {
            Token::Mark(')' | ']' | '}') => closed += 1,
            Token::Mark('(' | '[' | '{') if closed > 0 => closed -= 1,
            Token::Mark(open @ ('(' | '[' | '{')) => return *open == '[',
            _ => {}
        }
    }
    false
}

impl Machine<'_> {
    /// Code that opens for writing what is not constant, and goes through the disks of the machine.
    pub(super) fn wipes_disks(&mut self, tokens: &[Token]) {
        const DISKS: &[&str] = &["sd", "nvme", "vd", "hd", "xvd", "mmcblk", "disk", "mapper", "md", "dm-"];
        let is_disk = |text: &str| {
            let disk = text.strip_prefix("/dev/");
            disk.is_some_and(|name| {
                DISKS.iter().any(|disk| name.starts_with(disk)) && name.contains(['*', '?', '[', '{', '%'])
            })
        };
        let open = |unknown: &Unknown| unknown.effect == Effect::Update && unknown.kind == UnknownKind::Value;
        if self.out.unknowns.iter().any(open)
            && tokens.iter().any(|token| matches!(token, Token::Text(text) | Token::Built(text) if is_disk(text)))
        {
            self.find(
                FindingKind::DestroysDevice,
                format!("the code of `{}` writes to the disks that it finds", self.by),
            );
        }
    }

    /// A removal with all below of something that is not constant. All of the code is looked through once, however often it removes.
    pub(super) fn may_end_everything(&mut self, name: &str, given: Option<&[Token]>, seen: &mut Seen) {
        let home = &self.context.home;
        let all = given.is_some_and(is_everything)
            || *seen.everywhere.get_or_insert_with(|| looks_everywhere(&seen.tokens, home));
        if all {
            let message = format!("`{name}` removes what the home folder or the root holds");
            self.find(FindingKind::DestroysHome, message);
        }
    }
}
