//! Pointers, expectations, expressions and shown text over arbitrary values.
#![no_main]

use countersign_fuzz::{assert_shown, two};
use countersign_plan::document::{Bounds, from_json};
use countersign_plan::expect::{Expect, check_step};
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::pointer::Pointer;
use countersign_plan::resolve::{Inputs, Outputs, resolve};
use countersign_plan::text;
use countersign_plan::value::Expr;
use libfuzzer_sys::fuzz_target;

/// Reads [`text::escape`] back, to show that no two texts look the same.
fn unescape(shown: &str) -> String {
    let mut out = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        rest = match after.chars().next() {
            Some('n') => {
                out.push('\n');
                &after[1..]
            }
            Some('t') => {
                out.push('\t');
                &after[1..]
            }
            Some('r') => {
                out.push('\r');
                &after[1..]
            }
            Some('\\') => {
                out.push('\\');
                &after[1..]
            }
            Some('u') => {
                let end = after.find('}').expect("an escape ends");
                let code = u32::from_str_radix(&after[2..end], 16).expect("an escape has a number");
                out.push(char::from_u32(code).expect("a character"));
                &after[end + 1..]
            }
            _ => {
                out.push('\\');
                after
            }
        };
    }
    out.push_str(rest);
    out
}

fuzz_target!(|data: &[u8]| {
    if let Ok(raw) = std::str::from_utf8(data) {
        let shown = text::escape(raw);
        assert!(shown.chars().all(|c| !c.is_control()) && text::check_visible(&shown).is_ok(), "{shown:?}");
        assert!(shown.len() <= 10 * raw.len());
        assert_eq!(unescape(&shown), raw);
        if let Ok(pointer) = raw.parse::<Pointer>() {
            assert_eq!(pointer.to_string(), raw);
        }
        let segment = Pointer::from_segments(vec![raw.to_owned()]);
        assert_eq!(segment.to_string().parse::<Pointer>().as_ref(), Ok(&segment));
    }
    let (expect, output) = two(data);
    let Ok(output) = from_json(output, Bounds::PLAN) else { return };
    let Ok(value) = from_json(expect, Bounds::PLAN) else { return };
    if let Ok(expect) = Expect::from_value(&value) {
        let seen = Observation {
            ending: Ending::Returned,
            output: output.clone(),
            files: Default::default(),
            dropped: Default::default(),
        };
        if let Err(miss) = check_step(&[expect], &seen, &|path| path.to_owned()) {
            assert!(miss.found.len() <= 4096, "{} bytes of finding", miss.found.len());
        }
    }
    match Expr::from_value(&value) {
        Ok(expr) => {
            let outputs = Outputs::from([("s".parse().expect("a step"), output)]);
            let concrete = resolve(&expr, &outputs, &Inputs::new());
            if let Some(literal) = expr.literal() {
                assert_eq!(concrete.as_ref(), Ok(&literal));
            }
            let mut places = Vec::new();
            expr.references(&mut |at, _| places.push(at.clone()));
            assert!(places.iter().all(|at| expr.at(at).is_some()));
        }
        Err(error) => assert_shown(&error.to_string(), data),
    }
});
