//! Ways of the scripting languages to quote that the tokens are not read through: what a reader takes for the end of a text, or for its
//! beginning, decides what is code. Where one of these may stand nothing is answered, so that the code counts as unread.
//!
//! Sources: perlop and perlvar ("Quote and Quote-like Operators", here-documents, `$'`), perlpod, Ruby's "Literals" and "Comments",
//! ECMAScript annex B.1.1 (comments as in HTML), the PHP manual ("Escaping from HTML", "Strings"), Lua 5.4 reference manual 3.1.

use super::Language;
use super::lex::{Token, begins_match, is_name};

/// Whether a text uses such a way anywhere.
pub(super) fn is_foreign(language: Language, text: &str) -> bool {
    match language {
        Language::Perl => {
            // The lines of a format are pictures (perlform).
            let format = |line: &str| line.trim_start().starts_with("format ") && line.trim_end().ends_with('=');
            has_here_document(text, false) || text.lines().any(|line| begins_pod(line) || format(line))
        }
        Language::Ruby => has_here_document(text, true) || text.lines().any(|line| line.starts_with("=begin")),
        Language::Node => text.contains("<!--") || text.lines().any(|line| line.trim_start().starts_with("-->")),
        // A last `?>` closes what the file opened; what comes after any other is no code.
        Language::Php => {
            let body = text.trim_end();
            text.contains("<<<") || body.strip_suffix("?>").unwrap_or(body).contains("?>")
        }
        Language::Python | Language::Shell | Language::PowerShell | Language::Lua | Language::Other => false,
    }
}

/// A line that begins documentation: `=pod`, `=head1`.
fn begins_pod(line: &str) -> bool {
    line.strip_prefix('=').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether `<<` may begin a document: `<<X`, `<<"X"`, `<<~X`. A shift has a blank or a number after it.
fn has_here_document(text: &str, ruby: bool) -> bool {
    text.match_indices("<<").any(|(at, _)| {
        let after = text.get(at + 2..).unwrap_or("");
        let marked = after.starts_with('~') || (ruby && after.starts_with('-'));
        let name = after.trim_start_matches(['~', '-']);
        name.starts_with(['"', '\'', '`', '_'])
            || name.starts_with(|c: char| c.is_ascii_uppercase())
            || (name.starts_with(|c: char| c.is_ascii_alphabetic()) && (marked || !ruby))
    })
}

/// Where a block of Lua ends that begins at `from` with `[[` or `[=[`: what it holds, and the place after it.
pub(super) fn lua_block(chars: &[char], from: usize) -> Option<(String, usize)> {
    let level = chars.get(from + 1..)?.iter().take_while(|c| **c == '=').count();
    if chars.get(from) != Some(&'[') || chars.get(from + 1 + level) != Some(&'[') {
        return None;
    }
    let begin = from + level + 2;
    let closes = |at: &usize| {
        chars.get(*at) == Some(&']')
            && chars.get(at + 1..at + 1 + level).is_some_and(|signs| signs.iter().all(|c| *c == '='))
            && chars.get(at + 1 + level) == Some(&']')
    };
    let end = (begin..chars.len()).find(closes)?;
    Some((chars.get(begin..end)?.iter().collect(), end + level + 2))
}

/// Whether a block of Lua begins here.
pub(super) fn begins_lua_block(chars: &[char], from: usize) -> bool {
    let level = chars.get(from + 1..).unwrap_or_default().iter().take_while(|c| **c == '=').count();
    chars.get(from) == Some(&'[') && chars.get(from + 1 + level) == Some(&'[')
}

/// How often code may stand inside of a text inside of code.
const MAX_INSIDE: usize = 4;

/// Code that stands inside of texts, as it is met.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// The pieces, in order.
    pub(super) pieces: Vec<String>,
    depth: usize,
}

impl Inside {
    /// For the pieces of a piece; `None` where they stand too deep.
    pub(super) fn deeper(&self) -> Option<Self> {
        (self.depth < MAX_INSIDE).then(|| Self { pieces: Vec::new(), depth: self.depth + 1 })
    }
}

/// Where code begins at `at` inside of a text with this quote, and how wide the sign before it is: `#{`, `${`, `{`, `@{`, `{$`.
fn begins_code(language: Language, chars: &[char], at: usize, quote: char, formatted: bool) -> Option<usize> {
    let (c, next) = (*chars.get(at)?, chars.get(at + 1).copied());
    match language {
        Language::Ruby if quote != '\'' => (c == '#' && next == Some('{')).then_some(2),
        Language::Node if quote == '`' => (c == '$' && next == Some('{')).then_some(2),
        Language::Python if formatted => (c == '{' && next != Some('{')).then_some(1),
        Language::Perl if quote != '\'' => (matches!(c, '$' | '@') && next == Some('{')).then_some(2),
        Language::Php if quote != '\'' => {
            ((c == '$' && next == Some('{')) || (c == '{' && next == Some('$'))).then_some(1 + usize::from(c == '$'))
        }
        _ => None,
    }
}

/// Where the code ends that begins at `from`, after its opening bracket: the place of the bracket that closes it. Quoted brackets
/// close nothing.
fn code_end(chars: &[char], from: usize) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, from);
    let mut quotes: Option<char> = None;
    loop {
        let c = *chars.get(at)?;
        match (quotes, c) {
            (_, '\\') => at += 1,
            (Some(quote), c) if c == quote => quotes = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quotes = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, '}') => depth -= 1,
            (None, _) => {}
        }
        at += 1;
    }
}

/// The code of a replacement field of Python without what says how it is shown (`{x!r:>{n}}`, `{x=}`): the format may hold code itself.
fn of_field(code: &str) -> Vec<String> {
    let (mut depth, mut quotes) = (0_usize, None);
    let mut end = code.len();
    for (at, c) in code.char_indices() {
        match (quotes, c) {
            (Some(quote), c) if c == quote => quotes = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quotes = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ':') if depth == 0 => {
                end = at;
                break;
            }
            (None, _) => {}
        }
    }
    let (shown, format) = (code.get(..end).unwrap_or(code), code.get(end..).unwrap_or(""));
    let shown = shown.trim_end().trim_end_matches('=');
    let shown = ["!r", "!s", "!a"].iter().find_map(|how| shown.strip_suffix(how)).unwrap_or(shown);
    let mut out = vec![shown.to_owned()];
    out.extend(format.split('{').skip(1).map(|part| part.split('}').next().unwrap_or("").to_owned()));
    out
}

/// The code in the brackets behind a variable in a text of Perl: `$x[…]`, `$x->{…}`; where it ends.
fn indices(chars: &[char], from: usize, out: &mut Vec<String>) -> Option<usize> {
    let mut at = from;
    while chars.get(at).is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':')) {
        at += 1;
    }
    loop {
        let arrow = usize::from(chars.get(at) == Some(&'-') && chars.get(at + 1) == Some(&'>')) * 2;
        let close = match chars.get(at + arrow) {
            Some('[') => ']',
            Some('{') => '}',
            _ => return Some(at),
        };
        let begin = at + arrow + 1;
        let end = (begin..chars.len()).find(|i| chars.get(*i) == Some(&close))?;
        out.push(chars.get(begin..end)?.iter().collect());
        at = end + 1;
    }
}

/// Whether a quote would begin no string if the slash at `from` begins a pattern where it should divide (`if (x) /'/.test(y)`): what the quote would hide
/// is code.
pub(super) fn hides_quote(language: Language, before: &[Token], chars: &[char], from: usize) -> bool {
    let last = before.iter().rev().find(|token| **token != Token::Mark(';'));
    let may_begin = match language {
        Language::Node => matches!(last, Some(Token::Mark(')' | '}'))),
        Language::Perl | Language::Ruby => !begins_match(before),
        _ => false,
    };
    if !may_begin {
        return false;
    }
    let mut quoted = false;
    for c in chars.get(from + 1..).unwrap_or_default() {
        match c {
            '/' => return quoted,
            '\n' => return false,
            c => quoted |= matches!(c, '\'' | '"' | '`'),
        }
    }
    false
}

/// Whether `%` begins a text of Ruby and is no remainder: where a value is expected, or behind a word and a blank with none after it.
pub(super) fn begins_percent(before: &[Token], chars: &[char], at: usize) -> bool {
    match before.last() {
        None => true,
        Some(Token::Mark(mark)) => !matches!(mark, ')' | ']' | '}'),
        Some(Token::Name(_)) => at.checked_sub(1).and_then(|at| chars.get(at)).is_some_and(|c| c.is_whitespace()),
        Some(_) => false,
    }
}

/// The code inside of a text whose end was found by its brackets.
pub(super) fn pieces_of(
    language: Language,
    body: &str,
    quote: char,
    formatted: bool,
    inside: &mut Inside,
) -> Option<()> {
    let chars: Vec<char> = body.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        at = piece_at(language, &chars, at, quote, formatted, inside)?.max(at + 1);
    }
    Some(())
}

/// Where the code ends that begins at a place of a text; the place itself where none does, and nothing where it has no end.
pub(super) fn piece_at(
    language: Language,
    chars: &[char],
    at: usize,
    quote: char,
    formatted: bool,
    inside: &mut Inside,
) -> Option<usize> {
    if let Some(width) = begins_code(language, chars, at, quote, formatted) {
        let from = at + width;
        let end = code_end(chars, from)?;
        let code: String = chars.get(from..end)?.iter().collect();
        if formatted {
            inside.pieces.extend(of_field(&code));
        } else {
            inside.pieces.push(code);
        }
        return Some(end + 1);
    }
    let variable = language == Language::Perl
        && quote != '\''
        && matches!(chars.get(at), Some('$' | '@'))
        && chars.get(at + 1).is_some_and(|c| is_name(*c));
    if variable { indices(chars, at + 1, &mut inside.pieces) } else { Some(at) }
}

/// Whether a test of a file begins here, which is no call of that name: `unless -e $name`, `-f -w $name` (perlfunc, "-X").
pub(super) fn is_file_test(before: &[Token], chars: &[char], at: usize) -> bool {
    let [Some('-'), Some(letter), after] = [at, at + 1, at + 2].map(|i| chars.get(i)) else { return false };
    let alone = !after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '=' | '-'));
    let decrements = at.checked_sub(1).and_then(|i| chars.get(i)) == Some(&'-');
    let another = matches!(before.last(), Some(Token::Name(name)) if name.starts_with('-'));
    "rwxoRWXOezsfdlpSugkbctTBMAC".contains(*letter) && alone && !decrements && (another || begins_match(before))
}

/// Whether a name of Perl that is also an operator for quoting is none here: before `=>`, behind the `-` of a file test, as the name of what
/// is defined.
pub(super) fn is_plain_name(before: &[Token], chars: &[char], at: usize, name: &str) -> bool {
    let begin = at.saturating_sub(name.chars().count());
    let dash = begin.checked_sub(1).and_then(|i| chars.get(i)) == Some(&'-');
    let rest = chars.get(at..).unwrap_or_default();
    let blanks = rest.iter().take_while(|c| c.is_whitespace()).count();
    let fat = rest.get(blanks..).is_some_and(|rest| rest.starts_with(&['=', '>']));
    let words = ["sub", "package", "use", "no", "require"];
    let defined = matches!(before.last(), Some(Token::Name(word)) if words.contains(&word.as_str()));
    fat || defined || (dash && name == "s")
}
