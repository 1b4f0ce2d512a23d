//! Texts of R that are put together of numbers and of other texts, and functions that are called by their names (R: "utf8Conversion",
//! "rawConversion", "paste", "file.path", "do.call", "get").

/// How often what was put together is looked at again.
const MAX_ROUNDS: usize = 8;

/// The longest code that is looked at, and the most numbers of one text.
const MAX_TEXT: usize = 64 * 1024;
const MAX_NUMBERS: usize = 4096;

/// The most calls of a kind and names that are followed, and the longest of what one holds.
const MAX_CALLS: usize = 256;
const MAX_NAMES: usize = 32;
const MAX_INSIDE: usize = 4096;

/// Calls whose constant arguments give a text.
const CALLS: &[&str] =
    &["intToUtf8(", "rawToChar(", "paste0(", "paste(", "file.path(", "path.expand(", "normalizePath("];

/// The code with each such text as it is read.
pub(super) fn spelled(text: &str) -> String {
    let mut out = text.to_owned();
    if out.len() > MAX_TEXT || !CALLS.iter().chain(&["Sys.getenv(", "do.call(", "get("]).any(|call| out.contains(call))
    {
        return out;
    }
    for home in ["Sys.getenv(\"HOME\")", "Sys.getenv('HOME')"] {
        out = out.replace(home, "\"~\"");
    }
    for _ in 0..MAX_ROUNDS {
        let next = by_name(&given(&once(&out)));
        if next == out {
            break;
        }
        out = next;
    }
    out
}

fn once(text: &str) -> String {
    let mut out = text.to_owned();
    for call in CALLS {
        let mut from = 0;
        for _ in 0..MAX_CALLS {
            let Some(at) = out.get(from..).and_then(|rest| rest.find(call)).map(|at| from + at) else { break };
            from = at + call.len();
            let before = out.get(..at).and_then(|head| head.chars().next_back());
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_')) {
                continue;
            }
            let Some(inside) = out.get(from..).and_then(within).map(str::to_owned) else { continue };
            let Some(value) = value(call, &inside) else { continue };
            if value.contains(['"', '\\', '\n']) {
                continue;
            }
            out.replace_range(at..from + inside.len() + 1, &format!("\"{value}\""));
            from = at;
        }
    }
    out
}

/// What stands before the bracket that closes, outside of quotes.
fn within(text: &str) -> Option<&str> {
    let (mut depth, mut quote) = (0_usize, None);
    let end = text.char_indices().take(MAX_INSIDE).find(|(_, c)| {
        match (*c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            (c @ ('"' | '\''), None) => quote = Some(c),
            ('(', None) => depth += 1,
            (')', None) if depth == 0 => return true,
            (')', None) => depth -= 1,
            _ => {}
        }
        false
    });
    text.get(..end?.0)
}

fn value(call: &str, inside: &str) -> Option<String> {
    let texts = || texts(inside);
    match call {
        "intToUtf8(" => numbers(inside)?.into_iter().map(char::from_u32).collect(),
        "rawToChar(" => {
            let raw = inside.trim().strip_prefix("as.raw(")?.strip_suffix(')')?;
            numbers(raw)?.into_iter().map(char::from_u32).collect()
        }
        "paste0(" => Some(texts()?.concat()),
        "paste(" => {
            let (parts, separator) = inside.rsplit_once(',')?;
            let separator = separator.split_whitespace().collect::<String>();
            matches!(separator.as_str(), "sep=\"\"" | "sep=''" | "collapse=\"\"" | "collapse=''").then_some(())?;
            Some(self::texts(parts.trim().trim_start_matches("c(").trim_end_matches(')'))?.concat())
        }
        "file.path(" => Some(texts()?.join("/")),
        _ => texts()?.into_iter().next(),
    }
}

/// `c(47, 0x72, 109L)`, `rev(c(1:3))`
fn numbers(inside: &str) -> Option<Vec<u32>> {
    let bare = inside.trim();
    let (bare, turned) = match bare.strip_prefix("rev(").and_then(|rest| rest.strip_suffix(')')) {
        Some(rest) => (rest.trim(), true),
        None => (bare, false),
    };
    let bare = bare.strip_prefix("c(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(bare);
    let number = |text: &str| -> Option<u32> {
        let text = text.trim().trim_end_matches('L');
        match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    let mut out = Vec::new();
    for part in bare.split(',') {
        match part.split_once(':') {
            Some((from, to)) => out.extend((number(from)?..=number(to)?).take(MAX_NUMBERS)),
            None => out.push(number(part)?),
        }
        (out.len() <= MAX_NUMBERS).then_some(())?;
    }
    if turned {
        out.reverse();
    }
    Some(out)
}

/// The texts of a list of nothing but texts.
fn texts(inside: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut rest = inside.trim();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (text, after) = rest.get(1..)?.split_once(quote)?;
        out.push(text.to_owned());
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
    }
    (!out.is_empty()).then_some(out)
}

/// The code with a text in the place of the name that is given it, where a call takes that name alone.
fn given(text: &str) -> String {
    let mut out = text.to_owned();
    let mut names = 0;
    for statement in text.split(['\n', ';']) {
        let Some((name, value)) = statement.split_once("<-").or_else(|| statement.split_once(" = ")) else { continue };
        let (name, value) = (name.trim(), value.trim());
        let plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'));
        let constant = texts(value).is_some_and(|texts| texts.len() == 1);
        if name.is_empty() || !plain(name) || !constant || text.matches(&format!("{name} <-")).count() > 1 {
            continue;
        }
        names += 1;
        if names > MAX_NAMES || value.len() > MAX_INSIDE || out.len() > MAX_TEXT {
            break;
        }
        for end in [",", ")"] {
            out = out.replace(&format!("({name}{end}"), &format!("({value}{end}"));
        }
    }
    out
}

/// `get("f")(…)`, `match.fun("f")(…)` and `do.call("f", list(…))` call `f`.
fn by_name(text: &str) -> String {
    let mut out = text.to_owned();
    for (call, then) in [("get(", ")("), ("match.fun(", ")("), ("do.call(", ", list("), ("do.call(", ",list(")] {
        for quote in ['"', '\''] {
            let begins = format!("{call}{quote}");
            let mut from = 0;
            for _ in 0..MAX_CALLS {
                let Some(at) = out.get(from..).and_then(|rest| rest.find(&begins)).map(|at| from + at) else { break };
                from = at + begins.len();
                let Some((name, rest)) = out.get(from..).and_then(|rest| rest.split_once(quote)) else { break };
                if rest.starts_with(then) && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | ':')) {
                    let (end, name) = (from + name.len() + 1 + then.len(), format!("{name}("));
                    out.replace_range(at..end, &name);
                    from = at;
                }
            }
        }
    }
    out
}
