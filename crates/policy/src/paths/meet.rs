//! Whether two patterns can name the same path: what a shell would make of `~/.ss?/id_*` against what a deployment classifies.
//!
//! Cautious: alternatives and character classes count as anything, so that two patterns may be said to meet that do not.

/// What one component of a pattern says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Char(char),
    One,
    Many,
}

/// The most work for one pair of components or patterns; beyond it they are taken to meet.
const MAX_COMPONENTS: usize = 64;
const MAX_MARKS: usize = 512;

/// Whether a pattern of a command (`*`, `?`, `[…]`, `**`) and a pattern of a deployment can name the same absolute path. Both begin
/// with `/` or with `**`. As in a shell, a wildcard at the start of a name does not stand for a leading dot; `**` does.
pub(super) fn meet(command: &str, known: &str) -> bool {
    let mut left = MAX_ALTERNATIVES;
    alternatives(known, &mut left).iter().any(|known| meets(command, known))
}

/// The most alternatives of a pattern that are told apart; beyond them they count as anything.
const MAX_ALTERNATIVES: usize = 64;

/// The patterns that one with `{a,b}` stands for.
fn alternatives(known: &str, left: &mut usize) -> Vec<String> {
    let parts = known.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    match parts {
        Some((head, (inner, tail))) if *left > 0 && !inner.contains('{') && !head.ends_with('\\') => {
            *left = left.saturating_sub(inner.matches(',').count() + 1);
            let each = inner.split(',').map(|one| format!("{head}{one}{tail}"));
            each.flat_map(|one| alternatives(&one, left)).collect()
        }
        _ => vec![known.to_owned()],
    }
}

fn meets(command: &str, known: &str) -> bool {
    let a = components(command);
    let b = components(known);
    if a.len() > MAX_COMPONENTS || b.len() > MAX_COMPONENTS {
        return true;
    }
    // One row of a table at a time: whether a[i..] and b[j..] meet.
    let mut next = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let mut row = vec![false; b.len() + 1];
        for j in (0..=b.len()).rev() {
            let (x, y) = (a.get(i), b.get(j));
            let get = |cells: &[bool], at: usize| cells.get(at).copied().unwrap_or(false);
            let met = match (x, y) {
                (None, None) => true,
                (Some(x), _) if x == "**" => get(&next, j) || (y.is_some() && get(&row, j + 1)),
                (_, Some(y)) if y == "**" => get(&row, j + 1) || (x.is_some() && get(&next, j)),
                (Some(x), Some(y)) => get(&next, j + 1) && names_meet(x, y),
                (None, Some(_)) | (Some(_), None) => false,
            };
            if let Some(cell) = row.get_mut(j) {
                *cell = met;
            }
        }
        next = row;
    }
    next.first().copied().unwrap_or(false)
}

fn components(pattern: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        match part.strip_prefix("**") {
            Some("") => out.push(part.to_owned()),
            // `**.gz`: any folder, then a name.
            Some(rest) => {
                out.push("**".to_owned());
                out.push(format!("*{rest}"));
            }
            None => out.push(part.to_owned()),
        }
    }
    out
}

fn marks(name: &str) -> Vec<Mark> {
    let mut out = Vec::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push(Mark::Many),
            '?' => out.push(Mark::One),
            '[' => {
                let _ = chars.by_ref().take_while(|c| *c != ']').count();
                out.push(Mark::One);
            }
            '{' => {
                let _ = chars.by_ref().take_while(|c| *c != '}').count();
                out.push(Mark::Many);
            }
            '\\' => out.extend(chars.next().map(Mark::Char)),
            c => out.push(Mark::Char(c)),
        }
    }
    out
}

fn names_meet(command: &str, known: &str) -> bool {
    let (a, b) = (marks(command), marks(known));
    if a.len() > MAX_MARKS || b.len() > MAX_MARKS {
        return true;
    }
    if b.first() == Some(&Mark::Char('.')) && !matches!(a.first(), Some(Mark::Char(_))) {
        return false;
    }
    // Which ways the rest meets: without, and with, a character of the known name that the command says.
    const OPEN: u8 = 1;
    const SAID: u8 = 2;
    let mut next = vec![0_u8; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let mut row = vec![0_u8; b.len() + 1];
        for j in (0..=b.len()).rev() {
            let get = |cells: &[u8], at: usize| cells.get(at).copied().unwrap_or(0);
            let said = |ways: u8| if ways == 0 { 0 } else { SAID };
            let met = match (a.get(i), b.get(j)) {
                (None, None) => OPEN,
                (Some(Mark::Many), y) => get(&next, j) | if y.is_some() { get(&row, j + 1) } else { 0 },
                (x, Some(Mark::Many)) => get(&row, j + 1) | if x.is_some() { get(&next, j) } else { 0 },
                (Some(Mark::Char(x)), Some(Mark::Char(y))) if x == y => said(get(&next, j + 1)),
                (Some(Mark::Char(_)), Some(Mark::Char(_))) => 0,
                (Some(_), Some(Mark::Char(_))) => said(get(&next, j + 1)),
                (Some(_), Some(_)) => get(&next, j + 1),
                (None, Some(_)) | (Some(_), None) => 0,
            };
            if let Some(cell) = row.get_mut(j) {
                *cell = met;
            }
        }
        next = row;
    }
    let ways = next.first().copied().unwrap_or(0);
    // Whoever names a beginning and leaves the end open (`app.log*`) means no ending that is known (`*.key`): of that he has to say
    // something.
    let says = |marks: &[Mark]| marks.iter().any(|mark| matches!(mark, Mark::Char(_)));
    let by_ending = b.first() == Some(&Mark::Many) && says(&b);
    if by_ending && says(&a) { ways & SAID != 0 } else { ways != 0 }
}

#[cfg(test)]
mod tests {
    use super::meet;

    #[test]
    fn patterns_meet_where_a_path_fits_both() {
        for (command, known) in [
            ("/home/u/.ss?/id_*", "/home/u/.ssh/**"),
            ("/home/*/.ssh/id_rsa", "/home/u/.ssh/**"),
            ("/etc/sh*", "/etc/shadow"),
            ("/w/infra/*/**", "/w/infra/prod/**"),
            ("/w/*/**", "/w/infra/prod/**"),
            ("/w/.e*", "**/.env"),
            ("/w/**", "**/.env"),
            ("/w/[ab].pem", "**/*.pem"),
            ("/w/**.pem", "/w/a/b/x.pem"),
            ("/w/x.p*", "**/*.{pem,key}"),
            ("/w/server.*", "**/*.key"),
            ("/w/*", "**/*.pem"),
            ("/w/s*", "**/secret*"),
            ("/w/*k?y", "**/*.key"),
        ] {
            assert!(meet(command, known), "{command} {known}");
        }
        for (command, known) in [
            ("/w/*", "**/.env"),
            ("/w/*.txt", "**/*.pem"),
            ("/w/src/*.rs", "/w/infra/prod/**"),
            ("/home/u/*", "/home/u/.ssh/**"),
            ("/etc/ho*", "/etc/shadow"),
            ("/w/?", "/w/ab"),
            ("/w/app.log*", "**/*.key"),
            ("/w/hero-*", "**/*.pem"),
            ("/w/n*", "**/*.pem"),
            ("/w/core.*", "**/{site,user}custom.py"),
        ] {
            assert!(!meet(command, known), "{command} {known}");
        }
    }

    #[test]
    fn many_wildcards_cost_little() {
        let long = "*a".repeat(200);
        assert!(!meet(&format!("/{long}b"), &format!("/{}c", "*a".repeat(200))));
    }
}
