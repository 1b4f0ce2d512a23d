//! Text that hides or imitates.

use countersign_plan::text::{HiddenText, check_name, check_visible, escape};
use serde_json::json;

use super::{Cases, same};

pub(super) const TEXT: &str = "Texts as names (`name`), as commands (`visible`) and as they are shown (`escaped`): ok, or the \
                               first of control, bidirectional, invisible, mixed_script.";

fn kind(result: Result<(), HiddenText>) -> &'static str {
    match result {
        Ok(()) => "ok",
        Err(HiddenText::Control(_)) => "control",
        Err(HiddenText::Bidirectional(_)) => "bidirectional",
        Err(HiddenText::Invisible(_)) => "invisible",
        Err(HiddenText::MixedScript(_)) => "mixed_script",
    }
}

pub(super) fn text() -> Cases {
    let rows: [(&str, &str, &str, &str); 33] = [
        ("", "ok", "ok", ""),
        ("/srv/app.conf", "ok", "ok", "/srv/app.conf"),
        ("/srv/\u{e9}t\u{e9}/na\u{ef}ve", "ok", "ok", "/srv/\u{e9}t\u{e9}/na\u{ef}ve"),
        (
            "/srv/\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}",
            "ok",
            "ok",
            "/srv/\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}",
        ),
        ("\u{65e5}\u{672c}\u{8a9e}\u{306e}", "ok", "ok", "\u{65e5}\u{672c}\u{8a9e}\u{306e}"),
        ("p\u{430}ypal.example", "mixed_script", "ok", "p\u{430}ypal.example"),
        ("\u{440}aypal", "mixed_script", "ok", "\u{440}aypal"),
        ("goo\u{261}le \u{3b1}", "ok", "ok", "goo\u{261}le \u{3b1}"),
        ("echo a\u{430}", "mixed_script", "ok", "echo a\u{430}"),
        ("a\0b", "control", "control", "a\\u{0}b"),
        ("a\u{1b}[31m", "control", "control", "a\\u{1b}[31m"),
        ("a\u{7f}", "control", "control", "a\\u{7f}"),
        ("a\u{9b}31m", "control", "control", "a\\u{9b}31m"),
        ("a\rb", "control", "control", "a\\rb"),
        ("a\nb\tc", "ok", "ok", "a\\nb\\tc"),
        ("a\\nb", "ok", "ok", "a\\\\nb"),
        ("C:\\dir\\new", "ok", "ok", "C:\\dir\\\\new"),
        ("\\\n", "ok", "ok", "\\\\\\n"),
        ("\\u{202e}", "ok", "ok", "\\\\u{202e}"),
        ("safe\u{202e}txt.exe", "bidirectional", "bidirectional", "safe\\u{202e}txt.exe"),
        ("a\u{2066}b\u{2069}", "bidirectional", "bidirectional", "a\\u{2066}b\\u{2069}"),
        ("a\u{61c}", "bidirectional", "bidirectional", "a\\u{61c}"),
        ("a\u{200f}", "bidirectional", "bidirectional", "a\\u{200f}"),
        ("a\u{200b}b", "invisible", "invisible", "a\\u{200b}b"),
        ("a\u{200d}b", "invisible", "invisible", "a\\u{200d}b"),
        ("a\u{ad}b", "invisible", "invisible", "a\\u{ad}b"),
        ("a\u{fe0f}", "invisible", "invisible", "a\\u{fe0f}"),
        ("\u{feff}a", "invisible", "invisible", "\\u{feff}a"),
        ("a\u{2028}b", "invisible", "invisible", "a\\u{2028}b"),
        ("a\u{3164}", "invisible", "invisible", "a\\u{3164}"),
        ("a\u{e0041}\u{e007f}", "invisible", "invisible", "a\\u{e0041}\\u{e007f}"),
        ("a\u{e0100}", "invisible", "invisible", "a\\u{e0100}"),
        ("a\u{2060}\u{202e}", "invisible", "invisible", "a\\u{2060}\\u{202e}"),
    ];
    let mut cases = Vec::new();
    for (text, name, visible, escaped) in rows {
        same(text, &name, &kind(check_name(text)))?;
        same(text, &visible, &kind(check_visible(text)))?;
        same(text, &escaped.to_owned(), &escape(text))?;
        cases.push(json!({"text": text, "name": name, "visible": visible, "escaped": escaped}));
    }
    Ok(cases)
}
