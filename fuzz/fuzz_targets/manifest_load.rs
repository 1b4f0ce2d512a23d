//! Tool manifests and arguments: what loads has one digest, and a check with holes refuses nothing that the full check allows.
#![no_main]

use countersign_fuzz::{assert_shown, two};
use countersign_plan::document::{Bounds, from_bytes};
use countersign_plan::tool::Manifest;
use countersign_plan::value::Expr;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (manifest, args) = two(data);
    let mut loaded = Manifest::default();
    if let Err(error) = loaded.load(manifest) {
        assert_eq!(loaded.iter().count(), 0, "a refused manifest leaves nothing behind");
        assert_shown(&error.to_string(), data);
        return;
    }
    let mut again = Manifest::default();
    again.load(manifest).expect("a manifest loads twice");
    assert_eq!(again.digest(), loaded.digest());
    let mut builtin = Manifest::builtin().expect("the built-in manifest");
    let before = builtin.digest();
    assert!(builtin.load(manifest).is_ok() || builtin.digest() == before);
    let Ok(args) = from_bytes(args, Bounds::PLAN) else { return };
    for tool in loaded.iter() {
        let full = tool.arguments().check(&args);
        if let Ok(expr) = Expr::from_value(&args) {
            let holes = tool.arguments().check_with_holes(&expr);
            if expr.literal().is_some_and(|value| value == args) {
                assert_eq!(holes, full, "no hole, no difference");
            }
        }
        if let Err(error) = full {
            assert!(countersign_plan::text::check_visible(&error.to_string()).is_ok());
        }
    }
});
