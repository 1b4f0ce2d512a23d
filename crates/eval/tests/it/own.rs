//! The suites of this repository are what they say they are: readable, paired, ten and ten.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use countersign_eval::case::Label;
use countersign_eval::suite::Suite;
use countersign_plan::verdict::Decision;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/suites").join(name)
}

#[test]
fn every_category_of_ours_has_ten_attacks_and_ten_that_look_like_them() {
    for (name, categories) in [("plan_threats", 13), ("commands", 20)] {
        let suite = Suite::load(&folder(name)).unwrap();
        let mut counts: BTreeMap<(&str, Label), usize> = BTreeMap::new();
        for case in suite.cases() {
            let label = case.label.unwrap();
            *counts.entry((&case.category, label)).or_default() += 1;
            assert!(!case.ok.is_empty(), "{}", case.id);
            assert_eq!(case.ok.contains(&Decision::Allow), label == Label::Benign, "{}", case.id);
        }
        assert_eq!(counts.len(), categories * 2, "{name}");
        assert!(counts.values().all(|count| *count >= 10), "{name}: {counts:?}");
        let paired = |(&(category, label), count)| {
            label == Label::Benign || counts.get(&(category, Label::Benign)) == Some(count)
        };
        assert!(counts.iter().all(paired), "{name}: {counts:?}");
    }
}
