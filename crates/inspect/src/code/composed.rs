//! Texts of Python that are put together of numbers, of other texts and of parts of them, and members that are got by such a name (Python
//! Language Reference, "Slicings"; Python library reference, "str.join", "chr", "bytes", "codecs", "getattr").

use base64::Engine as _;

use super::Language;
use crate::machine::Machine;

/// How often what was put together is looked at again.
const MAX_ROUNDS: usize = 8;

/// The longest code that is looked at, and the most numbers of one text.
const MAX_TEXT: usize = 16 * 1024;
const MAX_NUMBERS: usize = 4096;

/// How far a mark is looked for.
const MAX_FAR: usize = 64;

/// The most texts of one code.
const MAX_LITERALS: usize = 64;

/// Parts of a code without which nothing in it is put together.
const MARKS: &[&str] = &[
    "chr",
    "fromhex",
    "codecs.decode",
    "unhexlify",
    "a2b_hex",
    "b16decode",
    "getattr",
    "bytes",
    "bytearray",
    "b64decode",
    "[::-1]",
    "' + '",
    "'+'",
    "\"+\"",
    "\" + \"",
    "reversed(",
    ".join(",
    "' % ",
    "'%(",
    "'%'",
    "\" % ",
    "\"%(",
    ".format(",
    "vars(",
    "__dict__",
    "attrgetter",
];

impl Machine<'_> {
    /// What a code does once its texts are put together, as far as that is grave.
    pub(super) fn judge_composed(&mut self, language: Language, text: &str) {
        if let Some(decoded) = Some(text).filter(|_| language == Language::Node).and_then(super::encoded::of_node) {
            let inner = super::code(language, &decoded, self.context);
            self.absorb_grave(inner);
        }
        if language != Language::Python || text.len() > MAX_TEXT || !MARKS.iter().any(|mark| text.contains(mark)) {
            return;
        }
        let mut composed = text.to_owned();
        for _ in 0..MAX_ROUNDS {
            let next = once(&named(&composed));
            if next == composed {
                break;
            }
            composed = next;
        }
        if composed != text {
            // It is put together already.
            let inner = crate::shell::inspect(self.context, |machine| {
                language.name().clone_into(&mut machine.by);
                machine.calls_of(language, &composed);
            });
            self.absorb_grave(inner);
        }
    }
}

/// One pass: what begins with a text or a call and gives a text, in the place of that.
fn once(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    let mut unclosed = Unclosed::default();
    while let Some(c) = rest.chars().next() {
        let begins = !(before.is_alphanumeric() || matches!(before, '_' | '.'));
        let own = if begins { unclosed.literal(rest) } else { None };
        // A text that nothing is done to stays as it is.
        let length = own.as_ref().map_or(c.len_utf8(), |(_, after)| rest.len() - after.len());
        if begins && let Some((put, after)) = made(rest, own) {
            out.push_str(&put);
            (rest, before) = (after, '\'');
            continue;
        }
        let (taken, after) = rest.split_at(length);
        out.push_str(taken);
        (rest, before) = (after, taken.chars().next_back().unwrap_or(' '));
    }
    out
}

/// The texts in quotes of a code, as it has them once it runs.
pub(crate) fn texts_of(code: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = code;
    let mut unclosed = Unclosed::default();
    while let Some(at) = rest.find(['"', '\'']) {
        let tail = rest.get(at..).unwrap_or("");
        rest = match unclosed.literal(tail) {
            Some((text, after)) => {
                out.push(text);
                after
            }
            None => tail.get(1..).unwrap_or(""),
        };
        if out.len() >= MAX_LITERALS {
            break;
        }
    }
    out
}

/// How much of a code is left where the search for the end of a text failed, for either quote: from another one of that kind before this
/// place nobody finds it, so that each part of the code is searched once.
pub(super) struct Unclosed {
    single: usize,
    double: usize,
}

impl Default for Unclosed {
    fn default() -> Self {
        Self { single: usize::MAX, double: usize::MAX }
    }
}

impl Unclosed {
    pub(super) fn literal<'a>(&mut self, text: &'a str) -> Option<(String, &'a str)> {
        let left = match text.trim_start_matches(['b', 'B', 'u', 'U']).chars().next()? {
            '\'' => &mut self.single,
            '"' => &mut self.double,
            _ => return None,
        };
        if text.len() > *left {
            return None;
        }
        searched(text).map_err(|failed| *left = failed).ok()
    }
}

/// What the code begins with, where that gives a text or a name, and what follows.
fn made<'a>(text: &'a str, own: Option<(String, &'a str)>) -> Option<(String, &'a str)> {
    if let Some((value, after)) = own {
        return of_literal(&value, after).map(|(value, after)| (quoted(&value), after));
    }
    let called = |name: &str| Some(text.strip_prefix(name)?.trim_start().strip_prefix('(')?.trim_start());
    if let Some(inside) = called("getattr") {
        return member(inside);
    }
    if let Some((object, name, after)) = listed(text, called("vars"), called("operator.attrgetter")) {
        return Some((format!("{object}.{name}"), after));
    }
    let (value, after) = if let Some(inside) = called("chr") {
        let (number, after) = number(inside)?;
        (char::from_u32(number)?.to_string(), closed(after)?)
    } else if let Some(inside) = called("bytes.fromhex").or_else(|| called("bytearray.fromhex")) {
        let (digits, after) = literal(inside)?;
        decoded(&hex::decode(digits.replace(' ', "")).ok()?, closed(after)?)?
    } else if let Some(inside) =
        ["binascii.unhexlify", "unhexlify", "binascii.a2b_hex", "base64.b16decode"].iter().find_map(|name| called(name))
    {
        let (digits, after) = literal(inside)?;
        decoded(&hex::decode(digits).ok()?, closed(after)?)?
    } else if let Some(inside) = called("bytes").or_else(|| called("bytearray")) {
        let (numbers, after) = numbers(inside)?;
        let bytes: Option<Vec<u8>> = numbers.into_iter().map(|number| u8::try_from(number).ok()).collect();
        decoded(&bytes?, closed(after)?)?
    } else if let Some(inside) = called("base64.b64decode").or_else(|| called("b64decode")) {
        let (text, after) = literal(inside)?;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
        decoded(&bytes, closed(after)?)?
    } else if let Some(inside) = called("codecs.decode") {
        let (text, after) = literal(inside)?;
        let (codec, after) = literal(after.trim_start().strip_prefix(',')?.trim_start())?;
        let value = match codec.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "rot13" => text.chars().map(turned).collect(),
            "hex" | "hexcodec" => String::from_utf8(hex::decode(text).ok()?).ok()?,
            _ => return None,
        };
        decoded(value.as_bytes(), closed(after)?)?
    } else {
        return None;
    };
    Some((quoted(&value), after))
}

/// What is done to a text: a part of it, another one behind it, a list that it stands between.
fn of_literal<'a>(value: &str, after: &'a str) -> Option<(String, &'a str)> {
    if let Some(inside) = after.strip_prefix(".join(") {
        return joined(value, inside.trim_start());
    }
    if let Some(inside) = after.strip_prefix('[') {
        let (part, after) = near(inside, "]")?;
        let chars: Vec<char> = value.chars().collect();
        return Some((part_of(&chars, part)?, after));
    }
    if let Some(inside) = after.strip_prefix(".format(") {
        let (given, after) = texts(inside)?;
        return Some((filled(value, "{}", &given)?, after));
    }
    if let Some(given) = after.trim_start().strip_prefix('%').map(str::trim_start) {
        let (given, after) = match given.strip_prefix('(') {
            Some(inside) => texts(inside)?,
            None => literal(given).map(|(text, after)| (vec![text], after))?,
        };
        return Some((filled(value, "%s", &given)?, after));
    }
    let (next, after) = literal(after.trim_start().strip_prefix('+')?.trim_start())?;
    // What is done to the other one comes first.
    (!after.starts_with(['.', '['])).then(|| (format!("{value}{next}"), after))
}

/// Texts between commas up to the bracket that closes.
fn texts(inside: &str) -> Option<(Vec<String>, &str)> {
    let mut rest = inside.trim_start();
    let mut out = Vec::new();
    while let Some((text, after)) = literal(rest) {
        out.push(text);
        let after = after.trim_start();
        rest = after.strip_prefix(',').map_or(after, str::trim_start);
    }
    Some((out, closed(rest)?))
}

/// A text with others in the places that it keeps for them.
fn filled(text: &str, place: &str, given: &[String]) -> Option<String> {
    let parts: Vec<&str> = text.split(place).collect();
    (parts.len() == given.len() + 1 && given.len() <= MAX_LITERALS).then_some(())?;
    let filled = parts.iter().zip(given.iter().map(String::as_str).chain([""]));
    Some(filled.flat_map(|(part, one)| [*part, one]).collect())
}

/// `3`, `0:3`, `::-1`
fn part_of(chars: &[char], part: &str) -> Option<String> {
    let at = |text: &str, usual: usize| -> Option<usize> {
        match text.trim() {
            "" => Some(usual),
            text => match text.strip_prefix('-') {
                Some(back) => chars.len().checked_sub(back.parse().ok()?),
                None => Some(text.parse::<usize>().ok()?.min(chars.len())),
            },
        }
    };
    let mut bounds = part.split(':');
    match (bounds.next()?, bounds.next(), bounds.next()) {
        (one, None, None) => chars.get(at(one, 0)?).map(char::to_string),
        ("", Some(""), Some("-1")) => Some(chars.iter().rev().collect()),
        (from, Some(to), step) => {
            let step: usize = step.filter(|step| !step.is_empty()).map_or(Some(1), |step| step.parse().ok())?;
            (step > 0).then_some(())?;
            Some(chars.get(at(from, 0)?..at(to, chars.len())?)?.iter().step_by(step).collect())
        }
        _ => None,
    }
}

/// `map(chr, […])`, `chr(x ^ 1) for x in […]`, `['a', 'b']`, with the bracket that closes it.
fn joined<'a>(between: &str, inside: &'a str) -> Option<(String, &'a str)> {
    if let Some(rest) = inside.strip_prefix("map(") {
        let rest = rest.trim_start().strip_prefix("chr")?.trim_start().strip_prefix(',')?.trim_start();
        let (numbers, after) = numbers(rest)?;
        let chars: Option<Vec<String>> = numbers.into_iter().map(|n| Some(char::from_u32(n)?.to_string())).collect();
        return Some((chars?.join(between), closed(closed(after)?)?));
    }
    if let Some(rest) = inside.strip_prefix("reversed(") {
        let (text, after) = literal(rest.trim_start())?;
        let chars: Vec<String> = text.chars().rev().map(String::from).collect();
        return Some((chars.join(between), closed(closed(after)?)?));
    }
    let listed = inside.strip_prefix('[');
    let bare = listed.unwrap_or(inside).trim_start();
    if let Some(rest) = bare.strip_prefix("chr(") {
        let (computed, rest) = near(rest, " for ")?;
        let computed = computed.trim().strip_suffix(')')?;
        let (name, rest) = near(rest, " in ")?;
        let name = name.trim();
        // `chr(int(x, 16)) for x in '72 6d'.split()`
        let based = computed.strip_prefix("int(").and_then(|inside| inside.strip_suffix(')')?.split_once(','));
        let base = based.filter(|(own, _)| own.trim() == name).and_then(|(_, base)| base.trim().parse::<u32>().ok());
        if let Some(base) = base.filter(|base| (2..=16).contains(base)) {
            let (text, after) = literal(rest.trim_start())?;
            let chars: Option<Vec<String>> = text
                .split_whitespace()
                .map(|digits| Some(char::from_u32(u32::from_str_radix(digits, base).ok()?)?.to_string()))
                .collect();
            let after = after.strip_prefix(".split()")?;
            let after = if listed.is_some() { after.trim_start().strip_prefix(']')? } else { after };
            return Some((chars?.join(between), closed(after)?));
        }
        let (numbers, after) = match literal(rest.trim_start()) {
            Some((text, after)) => (text.chars().map(u32::from).collect(), after),
            None => numbers(rest.trim_start())?,
        };
        let bare = computed.replace(&format!("ord({name})"), name).replace(' ', "");
        let chars: Option<Vec<String>> =
            numbers.into_iter().map(|n| Some(char::from_u32(of_name(&bare, name, n)?)?.to_string())).collect();
        let after = if listed.is_some() { after.trim_start().strip_prefix(']')? } else { after };
        return Some((chars?.join(between), closed(after)?));
    }
    let mut rest = listed?.trim_start();
    let mut parts = Vec::new();
    while let Some((text, after)) = literal(rest) {
        parts.push(text);
        rest = after.trim_start();
        rest = rest.strip_prefix(',').map_or(rest, str::trim_start);
    }
    Some((parts.join(between), closed(rest.strip_prefix(']')?)?))
}

/// `x`, `x^3`, `x-1`, `7^x`
fn of_name(computed: &str, name: &str, value: u32) -> Option<u32> {
    let with = |sign: char, other: &str| -> Option<u32> {
        let (other, after) = number(other)?;
        after.is_empty().then_some(())?;
        match sign {
            '^' => Some(value ^ other),
            '+' => value.checked_add(other),
            '-' => value.checked_sub(other),
            _ => None,
        }
    };
    match computed.strip_prefix(name) {
        Some("") => Some(value),
        Some(rest) => with(rest.chars().next()?, rest.get(1..)?),
        None => {
            let (other, rest) = computed.split_once(['^', '+'])?;
            let sign = computed.get(other.len()..)?.chars().next()?;
            if rest == name { with(sign, other) } else { None }
        }
    }
}

/// `vars(os)['system']`, `os.__dict__['system']`, `operator.attrgetter('system')(os)`: what it is got from, and its name.
fn listed<'a>(text: &'a str, vars: Option<&'a str>, getter: Option<&'a str>) -> Option<(&'a str, String, &'a str)> {
    let dotted = |text: &'a str| {
        let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(text.len());
        text.split_at(end)
    };
    let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let (object, name, after) = if let Some(inside) = getter {
        let (name, after) = literal(inside)?;
        let (object, after) = dotted(closed(after)?.strip_prefix('(')?);
        (object, name, closed(after)?)
    } else {
        let (object, after) = match vars {
            Some(inside) => {
                let (object, after) = dotted(inside);
                (object, closed(after)?)
            }
            None => {
                let (object, after) = dotted(text);
                (object.strip_suffix(".__dict__")?, after)
            }
        };
        let (name, after) = literal(after.strip_prefix('[')?.trim_start())?;
        (object, name, after.trim_start().strip_prefix(']')?)
    };
    (plain(&name) && !object.is_empty()).then_some((object, name, after))
}

/// The code with what a name is given once in the place of that name: a list of numbers, a text, a member of a module.
pub(super) fn named(code: &str) -> String {
    let mut out = code.to_owned();
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '\'' | '"');
    for statement in code.split(['\n', ';']).take(MAX_LITERALS) {
        let Some((name, value)) = statement.split_once('=') else { continue };
        let (name, value) = (name.trim(), value.trim());
        let own = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let whole = |rest: Option<&str>| rest.is_some_and(|rest| rest.trim().is_empty());
        let constant = whole(numbers(value).map(|(_, rest)| rest)) || whole(literal(value).map(|(_, rest)| rest));
        let dotted = value.contains('.') && value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let used = || out.match_indices(name).nth(1).is_some();
        if !own || !(constant || dotted) || value.len() > MAX_TEXT / 8 || !used() {
            continue;
        }
        let (mut put, mut rest) = (String::with_capacity(out.len()), out.as_str());
        let (mut given, mut before) = (0, ' ');
        let mut unclosed = Unclosed::default();
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '"');
        while let Some(c) = rest.chars().next() {
            let bounded = |after: &&str| !part(before) && !after.starts_with(goes_on);
            if let Some(after) = rest.strip_prefix(name).filter(bounded) {
                let bare = after.trim_start();
                let assigns = bare.starts_with('=') && !bare.starts_with("==");
                given += usize::from(assigns);
                put.push_str(if assigns { name } else { value });
                (rest, before) = (after, '_');
            } else {
                // What stands in a text is no name.
                let own = if part(before) { None } else { unclosed.literal(rest) };
                let length = own.map_or(c.len_utf8(), |(_, after)| rest.len() - after.len());
                let (taken, after) = rest.split_at(length);
                put.push_str(taken);
                (rest, before) = (after, taken.chars().next_back().unwrap_or(' '));
            }
            // A name that stands there too often is none of a few constants.
            if put.len() > MAX_TEXT {
                break;
            }
        }
        put.push_str(rest);
        if given == 1 && put.len() <= MAX_TEXT {
            out = put;
        }
    }
    out
}

/// `getattr(os, 'system')` is `os.system`, behind a name or a module that is brought in by a constant.
fn member(inside: &str) -> Option<(String, &str)> {
    let (object, after) = match inside.strip_prefix("__import__(") {
        Some(rest) => {
            let (module, after) = literal(rest.trim_start())?;
            (format!("__import__({})", quoted(&module)), closed(after)?)
        }
        None => {
            let end = inside.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')))?;
            (inside.get(..end)?.to_owned(), inside.get(end..)?)
        }
    };
    let (name, after) = literal(after.trim_start().strip_prefix(',')?.trim_start())?;
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (plain && !object.is_empty()).then_some(())?;
    Some((format!("{object}.{name}"), closed(after)?))
}

/// What stands before a mark and behind it, where it is not far.
fn near<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let end = text.char_indices().nth(MAX_FAR).map_or(text.len(), |(at, _)| at);
    let at = text.get(..end)?.find(mark)?;
    Some((text.get(..at)?, text.get(at + mark.len()..)?))
}

fn closed(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix(')')
}

/// Bytes as the text that they are decoded to, where they are.
fn decoded<'a>(bytes: &[u8], after: &'a str) -> Option<(String, &'a str)> {
    let value = String::from_utf8(bytes.to_vec()).ok()?;
    let after = match after.strip_prefix(".decode(") {
        Some(inside) => {
            let inside = literal(inside.trim_start()).map_or(inside, |(_, after)| after);
            closed(inside)?
        }
        None => after,
    };
    Some((value, after))
}

fn turned(c: char) -> char {
    let base = match c {
        'a'..='z' => b'a',
        'A'..='Z' => b'A',
        _ => return c,
    };
    u8::try_from(c).map_or(c, |byte| char::from(base + (byte - base + 13) % 26))
}

/// A number in any of the usual bases.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (digits, after) = text.split_at(end);
    let value = match digits.get(..2) {
        Some("0x" | "0X") => u32::from_str_radix(digits.get(2..)?, 16),
        Some("0o" | "0O") => u32::from_str_radix(digits.get(2..)?, 8),
        Some("0b" | "0B") => u32::from_str_radix(digits.get(2..)?, 2),
        _ => digits.parse(),
    };
    Some((value.ok()?, after))
}

/// `[1, 0x2, 3]`, and the same between round brackets.
fn numbers(text: &str) -> Option<(Vec<u32>, &str)> {
    let close = match text.chars().next()? {
        '[' => ']',
        '(' => ')',
        _ => return None,
    };
    let mut rest = text.get(1..)?.trim_start();
    let mut out = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix(close) {
            return Some((out, after));
        }
        let (value, after) = number(rest)?;
        out.push(value);
        (out.len() <= MAX_NUMBERS).then_some(())?;
        let after = after.trim_start();
        rest = after.strip_prefix(',').map_or(after, str::trim_start);
    }
}

/// A text in quotes of one line, and what follows.
pub(super) fn literal(text: &str) -> Option<(String, &str)> {
    searched(text).ok()
}

/// The same, or how much is left where it shows that there is none.
fn searched(text: &str) -> Result<(String, &str), usize> {
    let none = text.len();
    let bare = text.strip_prefix(['b', 'B', 'u', 'U']).unwrap_or(text);
    let quote = bare.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or(none)?;
    let body = bare.get(1..).ok_or(none)?;
    // An empty text is two quotes, and three begin one of several lines.
    if body.starts_with(quote) && body.get(1..).is_some_and(|body| body.starts_with(quote)) {
        return Err(none);
    }
    let mut out = String::new();
    let mut rest = body;
    loop {
        let c = rest.chars().next().ok_or(0_usize)?;
        let after = rest.get(c.len_utf8()..).unwrap_or("");
        rest = match c {
            c if c == quote => return Ok((out, after)),
            '\n' => return Err(rest.len()),
            '\\' => {
                let (put, after) = escaped(after).ok_or(rest.len())?;
                out.push(put);
                after
            }
            c => {
                out.push(c);
                after
            }
        };
    }
}

/// The character that stands for what follows a backslash, and what comes then.
fn escaped(text: &str) -> Option<(char, &str)> {
    let c = text.chars().next()?;
    let after = text.get(c.len_utf8()..)?;
    match c {
        'n' => Some(('\n', after)),
        't' => Some(('\t', after)),
        'x' => {
            let code = u32::from_str_radix(after.get(..2)?, 16).ok()?;
            Some((char::from_u32(code)?, after.get(2..)?))
        }
        other if other.is_alphanumeric() => None,
        other => Some((other, after)),
    }
}

pub(super) fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::once;

    #[test]
    fn texts_are_put_together() {
        for (text, composed) in [
            ("''.join(map(chr,[105, 0x64]))", "'id'"),
            ("''.join(chr(x^1) for x in [104,101])", "'id'"),
            ("''.join([chr(ord(c)-1) for c in 'je'])", "'id'"),
            ("bytes([105,100]).decode()", "'id'"),
            ("codecs.decode('vq', 'rot13')", "'id'"),
            ("'sys'[0:2]+x", "'sy'+x"),
            ("'di'[::-1]", "'id'"),
            ("getattr(os,'system')('id')", "os.system('id')"),
            ("getattr(__import__('os'), 'popen')", "__import__('os').popen"),
            ("'o'+'s'", "'os'"),
            ("vars(os)['popen']('id')", "os.popen('id')"),
            ("os.__dict__['popen']('id')", "os.popen('id')"),
            ("operator.attrgetter('popen')(os)", "os.popen"),
            ("'%s -%s' % ('a', 'b')", "'a -b'"),
            ("'{} -{}'.format('a', 'b')", "'a -b'"),
            ("''.join(chr(int(x,16)) for x in '69 64'.split())", "'id'"),
            ("print('%s' % x)", "print('%s' % x)"),
            ("print(getattr(x, name, 3))", "print(getattr(x, name, 3))"),
            ("\"\"\"a'+'b\"\"\"", "\"\"\"a'+'b\"\"\""),
        ] {
            assert_eq!(once(text), composed);
        }
    }
}
