//! Shell lines, code, statements, addresses and text: nothing brings the inspection down, its result is bounded and is the same
//! each time, and what cannot be read is never clear.
#![no_main]

use countersign_inspect::{Context, Language, code, shell, sql, text, url};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let context = Context::new("/home/user/project", "/home/user");
    let seen = shell(line, &context);
    assert_eq!(seen, shell(line, &context), "{line:?}");
    assert!(seen.touches.len() <= 256 && seen.programs.len() <= 256 && seen.unknowns.len() <= 257, "{line:?}");
    for language in [Language::Python, Language::Perl, Language::Ruby, Language::Node, Language::Php, Language::Lua, Language::PowerShell] {
        drop(code(language, line, &context));
    }
    drop(sql(line));
    drop(url(line));
    for found in text(line) {
        assert!(found.span.start <= found.span.end && found.span.end <= line.len(), "{line:?}");
    }
});
