//! Drafts and intents: what is read has one form, one digest, and only looks back.
#![no_main]

use std::collections::BTreeSet;

use countersign_fuzz::{assert_one_form, assert_shown};
use countersign_plan::canonical;
use countersign_plan::draft::Draft;
use countersign_plan::intent::Proposal;
use countersign_plan::pointer::Pointer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match Draft::read(data) {
        Ok(draft) => {
            assert_one_form(draft.source());
            let again = Draft::read(&canonical::to_vec(draft.source())).expect("a draft's canonical bytes are a draft");
            assert_eq!(again.digest(), draft.digest());
            let mut seen = BTreeSet::new();
            for step in draft.steps() {
                assert!(step.after.iter().all(|id| seen.contains(id)), "{} looks ahead", step.id);
                assert!(seen.insert(step.id.clone()), "{} stands there twice", step.id);
            }
        }
        Err(error) => {
            assert_shown(&error.to_string(), data);
            assert!(error.pointer.parse::<Pointer>().is_ok(), "{:?}", error.pointer);
        }
    }
    if let Ok(Proposal::Action(intent, draft)) = Proposal::read(data) {
        assert_eq!(draft.steps().len(), 1);
        assert_eq!(draft.steps()[0].action, intent.action);
    }
});
