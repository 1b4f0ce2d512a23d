//! Tokens that the scripting languages share: names, strings, numbers, marks; comments are dropped.

use super::Language;
use super::quoting::{self, Inside};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, with the names that lead to it: `os.path.join`, `File::open`, `$x->y`.
    Name(String),
    /// A string that is constant.
    Text(String),
    /// A string that is put together at run time, as it is written.
    Built(String),
    /// A command in backquotes that is put together at run time, as it is written.
    BuiltCommand(String),
    /// A number.
    Number,
    /// A pattern of JavaScript between slashes.
    Pattern,
    /// A command in backquotes; `None` where it is not constant.
    Command(Option<String>),
    /// Any other character; a line feed is `;`.
    Mark(char),
}

/// The tokens of a text, with those of the code that stands inside of its strings after them; `None` where a string does not end or the
/// text uses quoting that is not read.
pub(super) fn tokens(language: Language, text: &str) -> Option<Vec<Token>> {
    tokens_at(language, text, &mut Inside::default())
}

fn tokens_at(language: Language, text: &str, inside: &mut Inside) -> Option<Vec<Token>> {
    if quoting::is_foreign(language, text) {
        return None;
    }
    let mut out = tokens_of(language, text, inside)?;
    for piece in std::mem::take(&mut inside.pieces) {
        out.push(Token::Mark(';'));
        out.extend(tokens_at(language, &piece, &mut inside.deeper()?)?);
    }
    Some(out)
}

fn tokens_of(language: Language, text: &str, inside: &mut Inside) -> Option<Vec<Token>> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while let Some(&c) = chars.get(i) {
        let next = chars.get(i + 1).copied();
        let hash = matches!(language, Language::Python | Language::Perl | Language::Ruby | Language::Php);
        let slashes = matches!(language, Language::Node | Language::Php);
        let of_variable = language == Language::Perl && i > 0 && chars.get(i - 1) == Some(&'$');
        let comments = match c {
            // An attribute is none (PHP manual, "Attributes").
            '#' => hash && !of_variable && !(language == Language::Php && next == Some('[')),
            '/' => slashes && next == Some('/'),
            '-' => language == Language::Lua && next == Some('-'),
            _ => false,
        };
        if comments && language == Language::Lua && quoting::begins_lua_block(&chars, i + 2) {
            i = quoting::lua_block(&chars, i + 2)?.1;
        } else if comments {
            i = line_end(&chars, i);
        } else if language == Language::Lua && quoting::begins_lua_block(&chars, i) {
            let (body, end) = quoting::lua_block(&chars, i)?;
            out.push(Token::Text(body));
            i = end;
        } else if matches!(language, Language::Perl | Language::Ruby)
            && c == '$'
            && matches!(next, Some('\'' | '"' | '`' | '/'))
        {
            // Variables of what was matched, of separators: no quote begins here.
            out.push(Token::Number);
            i += 2;
        } else if language == Language::Ruby && c == '?' && matches!(next, Some('\'' | '"' | '`' | '/' | '#' | '\\')) {
            // A character, or a choice between two texts: the one hides what the other does not.
            return None;
        } else if c == '/' && next == Some('*') && slashes {
            i = (i + 2..chars.len()).find(|&at| chars.get(at) == Some(&'*') && chars.get(at + 1) == Some(&'/'))? + 2;
        } else if c == '/' && language == Language::Node && begins_value(&out)? {
            i = pattern_end(&chars, i)?;
            out.push(Token::Pattern);
        } else if language == Language::Ruby
            && matches!(c, '/' | '%' | '`')
            && i.checked_sub(1).and_then(|i| chars.get(i)).is_some_and(|before| matches!(before, ':' | '.'))
        {
            // `inject(:/)`, `4./(2)`: the name of an operator.
            if c == '`' {
                return None;
            }
            out.push(Token::Number);
            i += 1;
        } else if c == '/' && quoting::hides_quote(language, &out, &chars, i) {
            return None;
        } else if c == '/' && matches!(language, Language::Perl | Language::Ruby) && begins_match(&out) {
            let end = pattern_end(&chars, i)?;
            let body: String = chars.get(i..end)?.iter().collect();
            // Code in a pattern, and what is put into it at run time.
            if ["?{", "@{", "#{"].iter().any(|mark| body.contains(mark)) {
                return None;
            }
            out.push(Token::Number);
            i = end;
        } else if c == '\n' {
            out.push(Token::Mark(';'));
            i += 1;
        } else if c.is_whitespace() {
            i += 1;
        } else if c == '\'' || c == '"' || c == '`' {
            let (token, end) = string(language, &chars, i, "", inside)?;
            out.push(token);
            i = end;
        } else if c.is_ascii_digit() {
            while chars.get(i).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_') {
                i += 1;
            }
            out.push(Token::Number);
        } else if language == Language::Perl && quoting::is_file_test(&out, &chars, i) {
            out.push(Token::Name(chars.get(i..i + 2)?.iter().collect()));
            i += 2;
        } else if is_name(c) {
            let sigil = i > 0 && matches!(chars.get(i - 1), Some('$' | '@' | '%' | '&' | '>' | '{'));
            let (name, end) = name(&chars, i);
            i = end;
            match chars.get(i) {
                Some('\'' | '"') if language == Language::Python && is_prefix(&name) => {
                    let (token, end) = string(language, &chars, i, &name.to_ascii_lowercase(), inside)?;
                    out.push(token);
                    i = end;
                }
                // `s => 1`, `-s "file"`, `sub y { … }`: a name like any other.
                Some(_)
                    if language == Language::Perl
                        && is_perl_quote(&name)
                        && quoting::is_plain_name(&out, &chars, i, &name) =>
                {
                    out.push(Token::Name(name));
                }
                Some(&open)
                    if language == Language::Perl
                        && !sigil
                        && is_perl_quote(&name)
                        && !open.is_alphanumeric()
                        && open != '='
                        && open != ',' =>
                {
                    let (token, end) = perl_quote(&name, &chars, i, inside)?;
                    out.push(token);
                    i = end;
                }
                // The old sign between the parts of a name.
                Some('\'') if language == Language::Perl && chars.get(i + 1).is_some_and(|c| is_name(*c)) => {
                    return None;
                }
                _ => out.push(Token::Name(name)),
            }
        } else if c == '%'
            && language == Language::Ruby
            && matches!(next, Some('x' | 'q' | 'Q' | 'w' | 'W' | 'i' | 'I' | 'r' | 's'))
            && chars.get(i + 2).is_some_and(|c| !c.is_alphanumeric() && !c.is_whitespace())
        {
            let (body, end) = bracketed(&chars, i + 2)?;
            let built = body.contains("#{") && matches!(next, Some('x' | 'Q' | 'W' | 'I' | 'r'));
            if built {
                quoting::pieces_of(language, &body, '"', false, inside)?;
            }
            match next {
                Some('x') if built => out.push(Token::BuiltCommand(body)),
                Some('x') => out.push(Token::Command(Some(body))),
                Some('w' | 'W' | 'i' | 'I') => words(&mut out, &body),
                Some('r') => out.push(Token::Number),
                _ if built => out.push(Token::Built(body)),
                _ => out.push(Token::Text(body)),
            }
            i = end;
        } else if c == '%'
            && language == Language::Ruby
            && next.is_some_and(|n| !n.is_alphanumeric() && !n.is_whitespace())
            && quoting::begins_percent(&out, &chars, i)
        {
            let (body, end) = bracketed(&chars, i + 1)?;
            let built = body.contains("#{");
            if built {
                quoting::pieces_of(language, &body, '"', false, inside)?;
            }
            out.push(if built { Token::Built(body) } else { Token::Text(body) });
            i = end;
        } else {
            out.push(Token::Mark(c));
            i += 1;
        }
    }
    Some(out)
}

/// A list of words (Ruby, "Literals").
fn words(out: &mut Vec<Token>, body: &str) {
    out.push(Token::Mark('['));
    for (i, word) in body.split_whitespace().enumerate() {
        out.extend((i > 0).then_some(Token::Mark(',')));
        out.push(Token::Text(word.to_owned()));
    }
    out.push(Token::Mark(']'));
}

/// Words of JavaScript that a value follows.
const VALUE_FOLLOWS: &[&str] = &[
    "return",
    "typeof",
    "case",
    "in",
    "do",
    "else",
    "void",
    "delete",
    "throw",
    "instanceof",
    "new",
    "extends",
    "default",
];

/// Whether what comes next is a value, so that a slash begins a pattern and does not divide (ECMAScript, "Lexical Grammar"). A line
/// feed ends nothing before a slash, and after `++` and `--` either may be meant: then nothing is answered.
fn begins_value(before: &[Token]) -> Option<bool> {
    let mut before = before.iter().rev().skip_while(|token| **token == Token::Mark(';'));
    let last = before.next();
    Some(match last {
        None => true,
        Some(Token::Mark('+' | '-')) if before.next() == last => return None,
        Some(Token::Mark(mark)) => !matches!(mark, ')' | ']' | '}'),
        // Words that may also be names.
        Some(Token::Name(name)) if matches!(name.as_str(), "of" | "await" | "yield") => return None,
        Some(Token::Name(name)) => VALUE_FOLLOWS.contains(&name.as_str()),
        Some(_) => false,
    })
}

/// Whether a slash begins a match in Perl or Ruby: after a word or a sign that a value has to follow (perlop, "Regexp Quote-Like
/// Operators"). Anywhere else it divides.
pub(super) fn begins_match(before: &[Token]) -> bool {
    match before.last() {
        None => true,
        Some(Token::Mark(mark)) => !matches!(mark, ')' | ']' | '}' | '.'),
        Some(Token::Name(name)) => {
            matches!(
                name.as_str(),
                "while"
                    | "until"
                    | "if"
                    | "elsif"
                    | "unless"
                    | "and"
                    | "or"
                    | "not"
                    | "split"
                    | "grep"
                    | "when"
                    | "return"
                    | "print"
                    | "puts"
                    | "p"
                    | "push"
                    | "join"
                    | "map"
                    | "in"
                    | "then"
                    | "do"
            )
        }
        Some(_) => false,
    }
}

/// Stands for the home folder at the beginning of a text.
pub(super) const HOME: char = '\u{f8fe}';

/// The home folder, as texts that are put together begin with it.
const HOMES: &[&str] = &[
    "{os.environ['HOME']}",
    "{os.environ[\"HOME\"]}",
    "{os.getenv('HOME')}",
    "{os.getenv(\"HOME\")}",
    "{os.path.expanduser('~')}",
    "{os.path.expanduser(\"~\")}",
    "{Path.home()}",
    "{pathlib.Path.home()}",
    "${process.env.HOME}",
    "${os.homedir()}",
    "${homedir()}",
    "${require('os').homedir()}",
    "${require(\"os\").homedir()}",
    "$ENV{HOME}",
    "$ENV{'HOME'}",
    "#{Dir.home}",
    "#{Dir.home()}",
    "#{ENV['HOME']}",
    "#{ENV[\"HOME\"]}",
];

/// A text below the home folder of which nothing else is put together.
pub(super) fn at_home(text: &str) -> Option<Token> {
    let rest = HOMES.iter().find_map(|home| text.strip_prefix(home))?;
    let constant = (rest.is_empty() || rest.starts_with('/')) && !rest.contains(['{', '$', '@']);
    constant.then(|| Token::Text(format!("{HOME}{rest}")))
}

/// Where a pattern ends, with its flags; a slash in brackets belongs to it.
fn pattern_end(chars: &[char], from: usize) -> Option<usize> {
    let (mut i, mut class) = (from + 1, false);
    loop {
        match chars.get(i)? {
            '\n' => return None,
            '\\' => i += 1,
            '[' => class = true,
            ']' => class = false,
            '/' if !class => return Some(flags(chars, i + 1)),
            _ => {}
        }
        i += 1;
    }
}

pub(super) fn line_end(chars: &[char], from: usize) -> usize {
    chars.iter().skip(from).position(|c| *c == '\n').map_or(chars.len(), |n| from + n)
}

pub(super) fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_prefix(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "r" | "b" | "u" | "f" | "rb" | "br" | "fr" | "rf" | "t" | "rt" | "tr")
}

fn is_perl_quote(name: &str) -> bool {
    matches!(name, "q" | "qq" | "qx" | "qw" | "m" | "s" | "y" | "tr" | "qr")
}

/// A name with what is joined to it by `.`, `::` and `->`.
fn name(chars: &[char], from: usize) -> (String, usize) {
    let mut out = String::new();
    let mut i = from;
    loop {
        while let Some(&c) = chars.get(i).filter(|c| c.is_alphanumeric() || **c == '_') {
            out.push(c);
            i += 1;
        }
        if matches!(chars.get(i), Some('?' | '!'))
            && chars.get(i + 1) != Some(&'=')
            && matches!(chars.get(i + 1), Some('(' | ' '))
        {
            i += 1;
        }
        let joined = match (chars.get(i), chars.get(i + 1)) {
            (Some('.'), Some(c)) if is_name(*c) => Some((".", 1)),
            (Some('?'), Some('.')) => Some((".", 2)),
            (Some(':'), Some(':')) if chars.get(i + 2).is_some_and(|c| is_name(*c)) => Some(("::", 2)),
            (Some('-'), Some('>')) if chars.get(i + 2).is_some_and(|c| is_name(*c)) => Some((".", 2)),
            _ => None,
        };
        match joined {
            Some((mark, width)) => {
                out.push_str(mark);
                i += width;
            }
            None => return (out, i),
        }
    }
}

fn string(
    language: Language,
    chars: &[char],
    from: usize,
    prefix: &str,
    inside: &mut Inside,
) -> Option<(Token, usize)> {
    let quote = *chars.get(from)?;
    let triple =
        language == Language::Python && chars.get(from + 1) == Some(&quote) && chars.get(from + 2) == Some(&quote);
    let width = if triple { 3 } else { 1 };
    let raw =
        prefix.contains('r') || (quote == '\'' && matches!(language, Language::Perl | Language::Ruby | Language::Php));
    let mut i = from + width;
    let mut text = String::new();
    let formatted = prefix.contains(['f', 't']);
    let mut built = formatted;
    // Such a string ends with its line.
    let within_line = match language {
        Language::Python => !triple,
        Language::Node => quote != '`',
        Language::Lua => true,
        _ => false,
    };
    loop {
        let c = *chars.get(i)?;
        let closes = c == quote && (!triple || (chars.get(i + 1) == Some(&quote) && chars.get(i + 2) == Some(&quote)));
        if closes {
            break;
        }
        if within_line && c == '\n' {
            return None;
        }
        let next = chars.get(i + 1).copied();
        if formatted && c == '{' && next == Some('{') {
            text.push_str("{{");
            i += 2;
            continue;
        }
        // What stands inside as code is no part of the string's own quoting.
        let end = quoting::piece_at(language, chars, i, quote, formatted, inside)?;
        if end > i {
            built = true;
            text.extend(chars.get(i..end)?);
            i = end;
            continue;
        }
        built |= match language {
            Language::Perl | Language::Php if quote != '\'' => {
                (matches!(c, '$') && next.is_some_and(|n| is_name(n) || n == '{'))
                    || (c == '@' && language == Language::Perl && next.is_some_and(is_name))
            }
            Language::Ruby if quote != '\'' => c == '#' && next == Some('{'),
            Language::Node if quote == '`' => c == '$' && next == Some('{'),
            _ => false,
        };
        text.push(c);
        // A brace that a backslash stands before is a field all the same.
        if c == '\\' && !(formatted && next == Some('{')) {
            text.push(next?);
            i += 1;
        }
        i += 1;
    }
    // Python's `f""` without a brace is constant.
    if formatted && !text.contains('{') {
        built = false;
    }
    let text = if raw { text } else { crate::shell::escapes(&text, false) };
    let command = quote == '`' && matches!(language, Language::Perl | Language::Ruby | Language::Php);
    let token = match (command, built) {
        (true, true) => Token::BuiltCommand(text),
        (true, false) => Token::Command(Some(text)),
        (false, true) => at_home(&text).unwrap_or(Token::Built(text)),
        (false, false) => Token::Text(text),
    };
    Some((token, i + width))
}

fn bracketed(chars: &[char], from: usize) -> Option<(String, usize)> {
    let open = *chars.get(from)?;
    let close = match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    };
    let mut depth = 1;
    let mut out = String::new();
    let mut i = from + 1;
    loop {
        let c = *chars.get(i)?;
        i += 1;
        if c == '\\' {
            out.push(c);
            out.push(*chars.get(i)?);
            i += 1;
            continue;
        }
        if c == close {
            depth -= 1;
            if depth == 0 {
                return Some((out, i));
            }
        } else if c == open {
            depth += 1;
        }
        out.push(c);
    }
}

/// `q{…}`, `qq(…)`, `qx/…/`, `s/…/…/e`.
fn perl_quote(name: &str, chars: &[char], from: usize, inside: &mut Inside) -> Option<(Token, usize)> {
    let mut at = from;
    while chars.get(at).is_some_and(|c| c.is_whitespace()) {
        at += 1;
    }
    let (body, mut end) = bracketed(chars, at)?;
    // Code in a pattern (perlre, "(?{ code })").
    if matches!(name, "m" | "qr" | "s") && (body.contains("(?{") || body.contains("(??{")) {
        return None;
    }
    let built = body.contains('$') || body.contains('@');
    if built && matches!(name, "qq" | "qx" | "m" | "qr" | "s") {
        quoting::pieces_of(Language::Perl, &body, '"', false, inside)?;
    }
    Some((
        match name {
            "q" | "qw" => Token::Text(body),
            "qq" if !built => Token::Text(body),
            "qq" => Token::Built(body),
            "qx" if built => Token::BuiltCommand(body),
            "qx" => Token::Command(Some(body)),
            "m" | "qr" => {
                end = flags(chars, end);
                Token::Number
            }
            _ => {
                // The second part shares the mark unless the first was in brackets.
                let open = *chars.get(at)?;
                let second = if matches!(open, '(' | '{' | '[' | '<') { end } else { end - 1 };
                let (second, after) = bracketed(chars, second)?;
                if name == "s" && second.contains(['$', '@']) {
                    quoting::pieces_of(Language::Perl, &second, '"', false, inside)?;
                }
                end = flags(chars, after);
                let flags: String = chars.get(after..end)?.iter().collect();
                let evaluated = if name == "s" { flags.matches('e').count() } else { 0 };
                let shapes = evaluated == 1 && super::perl::only_shapes(&second);
                // A bare word may call what nobody sees, and what the code gives is code once more where the flag stands there twice.
                let open = evaluated > 1 || (evaluated == 1 && !shapes && !super::perl::calls_openly(&second));
                inside.pieces.extend((evaluated == 1 && !shapes).then_some(second));
                if open { Token::Command(None) } else { Token::Number }
            }
        },
        end,
    ))
}

fn flags(chars: &[char], from: usize) -> usize {
    from + chars.iter().skip(from).take_while(|c| c.is_ascii_alphabetic()).count()
}
