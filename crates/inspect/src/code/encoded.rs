//! Texts that JavaScript and Groovy decode out of constants (Node.js, `Buffer.from`; HTML, `atob`; Groovy JDK, "decodeBase64",
//! "decodeHex"; Java, `java.util.Base64`).

use base64::Engine as _;

use super::composed::{Unclosed, literal, named, quoted};
use crate::inspection::FindingKind;
use crate::machine::Machine;

/// The longest code that is looked at.
const MAX_TEXT: usize = 16 * 1024;

/// How often what was decoded is looked at again.
const MAX_ROUNDS: usize = 4;

/// The code of JavaScript with what it decodes out of constants as it reads it, and members of what a call gives under their names:
/// `require("a")["b" + "c"](…)` is `require("a").bc(…)`.
pub(super) fn of_node(text: &str) -> Option<String> {
    let decodes = ["Buffer.from(", "atob(", ")["].iter().any(|part| text.contains(part));
    if !decodes || text.len() > MAX_TEXT {
        return None;
    }
    let bare = text.replace("const ", "").replace("let ", "").replace("var ", "");
    let mut out = once(&bare, &by_node);
    for _ in 0..MAX_ROUNDS {
        let next = once(&named(&out), &by_node);
        if next == out {
            break;
        }
        out = next;
    }
    (out != bare).then_some(out)
}

/// The same of Groovy, with what a name is given once in the place of that name.
fn of_groovy(text: &str) -> Option<String> {
    let decodes = [".decodeBase64(", ".decodeHex(", "getDecoder()"].iter().any(|call| text.contains(call));
    if !decodes || text.len() > MAX_TEXT {
        return None;
    }
    let mut out = text.replace("java.util.Base64", "Base64").replace("def ", "").replace("String ", " ");
    out = out.replace("new  ", "new ");
    for _ in 0..MAX_ROUNDS {
        let next = named(&once(&out, &by_groovy));
        if next == out {
            break;
        }
        out = next;
    }
    (out != text).then_some(out)
}

/// One pass: each place at which `made` knows what stands there, with that in its place.
fn once(text: &str, made: &dyn Fn(&str) -> Option<(String, &str)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    let mut unclosed = Unclosed::default();
    while let Some(c) = rest.chars().next() {
        let begins = !(before.is_alphanumeric() || matches!(before, '_' | '.'));
        if begins && let Some((put, after)) = made(rest) {
            out.push_str(&put);
            (rest, before) = (after, '\'');
            continue;
        }
        // What stands in a text is none of the code.
        let own = if begins { unclosed.literal(rest) } else { None };
        let length = own.map_or(c.len_utf8(), |(_, after)| rest.len() - after.len());
        let (taken, after) = rest.split_at(length);
        out.push_str(taken);
        (rest, before) = (after, taken.chars().next_back().unwrap_or(' '));
    }
    out
}

fn by_node(text: &str) -> Option<(String, &str)> {
    if let Some(inside) = text.strip_prefix('[') {
        let (mut name, mut after) = literal(inside.trim_start())?;
        while let Some(rest) = after.trim_start().strip_prefix('+') {
            let (more, rest) = literal(rest.trim_start())?;
            name.push_str(&more);
            after = rest;
        }
        let after = after.trim_start().strip_prefix(']')?;
        let plain = name.starts_with(char::is_alphabetic) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        return (plain && after.starts_with('(')).then(|| (format!(".{name}"), after));
    }
    if let Some(inside) = text.strip_prefix("atob(") {
        let (encoded, after) = literal(inside.trim_start())?;
        return Some((quoted(&in_base64(&encoded)?), closed(after)?));
    }
    let (encoded, after) = literal(text.strip_prefix("Buffer.from(")?.trim_start())?;
    let (coding, after) = literal(after.trim_start().strip_prefix(',')?.trim_start())?;
    let value = match coding.as_str() {
        "hex" => in_hex(&encoded)?,
        "base64" | "base64url" => in_base64(&encoded)?,
        _ => return None,
    };
    let after = closed(after)?;
    // `.toString("utf8")`, `+ ""`
    let shown = after.strip_prefix(".toString(").and_then(|inside| {
        let inside = inside.trim_start();
        closed(literal(inside).map_or(inside, |(_, after)| after))
    });
    let added = || {
        let (text, after) = literal(after.trim_start().strip_prefix('+')?.trim_start())?;
        text.is_empty().then_some(after)
    };
    Some((quoted(&value), shown.or_else(added).unwrap_or(after)))
}

fn by_groovy(text: &str) -> Option<(String, &str)> {
    let whole = |inside: &str| -> Option<(String, usize)> {
        let (value, after) = literal(inside)?;
        // The name of a coding behind it.
        let after = after.trim_start();
        let after = match after.strip_prefix(',') {
            Some(rest) => rest.find(')').and_then(|at| rest.get(at..))?,
            None => after,
        };
        let after = closed(after)?;
        Some((value, inside.len() - after.len()))
    };
    if let Some(inside) = text.strip_prefix("new String(") {
        let (value, used) = whole(inside.trim_start())?;
        return Some((quoted(&value), inside.trim_start().get(used..)?));
    }
    if let Some(inside) = text.strip_prefix("Base64.getDecoder().decode(") {
        let (value, used) = whole(inside.trim_start())?;
        return Some((quoted(&in_base64(&value)?), inside.trim_start().get(used..)?));
    }
    let (encoded, after) = literal(text)?;
    let (value, after) = if let Some(after) = after.strip_prefix(".decodeBase64()") {
        (in_base64(&encoded)?, after)
    } else {
        (in_hex(&encoded)?, after.strip_prefix(".decodeHex()")?)
    };
    Some((quoted(&value), after))
}

fn closed(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix(')')
}

fn in_hex(text: &str) -> Option<String> {
    String::from_utf8(hex::decode(text).ok()?).ok()
}

fn in_base64(text: &str) -> Option<String> {
    let standard = text.replace('-', "+").replace('_', "/");
    let bytes = base64::engine::general_purpose::STANDARD_NO_PAD.decode(standard.trim_end_matches('=')).ok()?;
    String::from_utf8(bytes).ok()
}

impl Machine<'_> {
    /// What Groovy starts once its texts are decoded, as far as that is grave.
    pub(super) fn decoded_by_groovy(&mut self, text: &str) {
        let Some(spelled) = of_groovy(text) else { return };
        let before = crate::file::started(text);
        if crate::file::started(&spelled).iter().any(|line| !before.contains(line)) {
            self.find(FindingKind::DecodeAndExecute, format!("the code of `{}` runs what it decodes", self.by));
        }
        self.foreign_code(&spelled);
    }
}

#[cfg(test)]
mod tests {
    use super::{of_groovy, of_node};

    #[test]
    fn constants_are_read_as_the_code_decodes_them() {
        for (text, decoded) in [
            ("f(Buffer.from('6964','hex')+\"\")", "f('id')"),
            ("f(Buffer.from(\"aWQ=\", 'base64').toString('utf8'))", "f('id')"),
            ("f(atob('aWQ='))", "f('id')"),
            ("require('a')['b' + 'c']('d')", "require('a').bc('d')"),
        ] {
            assert_eq!(of_node(text).as_deref(), Some(decoded));
        }
        for text in ["f(Buffer.from(x, 'hex'))", "f(\"Buffer.from('6964','hex')\")", "f(xatob('aWQ='))"] {
            assert_eq!(of_node(text), None, "{text}");
        }
        let groovy = of_groovy("def c = new String(\"aWQ=\".decodeBase64()); [\"sh\",\"-c\",c].execute()");
        assert_eq!(groovy.as_deref(), Some("c = 'id'; [\"sh\",\"-c\",'id'].execute()"));
        assert_eq!(of_groovy("println 'a'"), None);
    }
}
