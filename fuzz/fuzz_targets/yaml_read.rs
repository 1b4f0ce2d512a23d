//! YAML against JSON: what both readers accept they read as the same value, and what is read has one form.
#![no_main]

use countersign_fuzz::{assert_one_form, assert_shown};
use countersign_plan::document::{Bounds, from_bytes, from_json, from_yaml};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let (json, yaml) = (from_json(data, Bounds::PLAN), from_yaml(data, Bounds::PLAN));
    for value in [&json, &yaml] {
        match value {
            Ok(value) => assert_one_form(value),
            Err(error) => assert_shown(&error.to_string(), data),
        }
    }
    if let Ok(strict) = &json {
        let loose: Value = serde_json::from_slice(data).expect("strict JSON is JSON");
        assert_eq!(countersign_plan::canonical::to_vec(&loose), countersign_plan::canonical::to_vec(strict));
    }
    if let (Ok(json), Ok(yaml)) = (&json, &yaml) {
        assert_eq!(json, yaml);
    }
    if let Ok(value) = from_bytes(data, Bounds::PLAN) {
        assert!(json.is_ok_and(|json| json == value) || yaml.is_ok_and(|yaml| yaml == value));
    }
});
