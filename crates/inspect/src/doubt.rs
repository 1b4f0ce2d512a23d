//! A second reader of texts: a small local model that adds a finding or a question to what the rules say, and takes nothing away.
//!
//! Whoever proposes the plan of a case is taken to be compromised, so every text of it came from outside. What is no text is not
//! scored. A text that was not read to its end stays unknown, which asks.

use countersign_classifier::Scored;
pub use countersign_classifier::{Classifier, LoadError};
use countersign_plan::inspection::{Finding, FindingKind, Inspection, Span, Subject, Unknown, UnknownKind};
use countersign_plan::tool::Effect;

/// What the rules said about a subject, and what the classifier adds to it.
#[must_use]
pub fn raise(classifier: &Classifier, subject: &Subject, inspection: Inspection) -> Inspection {
    let Subject::Text { text } = subject else { return inspection };
    classifier.score(&[text]).into_iter().fold(inspection, |inspection, scored| add(inspection, text, scored))
}

/// Adds what a score says. Nothing is taken away.
fn add(mut inspection: Inspection, text: &str, scored: Scored) -> Inspection {
    let characters = |end: usize| text.get(..end).map(|head| head.chars().count());
    if scored.is_doubted() {
        let span = characters(scored.start).zip(characters(scored.end)).map(|(start, end)| Span { start, end });
        let message = format!("the classifier takes it for an order to an agent (score {:.2})", scored.score);
        inspection.findings.push(Finding { kind: FindingKind::InjectedInstruction, message, span });
    }
    if !scored.whole {
        let message = "the text is longer than what the classifier reads".to_owned();
        inspection.unknowns.push(Unknown { kind: UnknownKind::TooMuch, effect: Effect::None, message, span: None });
    }
    inspection
}

#[cfg(test)]
mod tests {
    use countersign_classifier::Scored;
    use countersign_plan::inspection::{FindingKind, Inspection, Span, Subject};
    use proptest::prelude::*;

    use super::add;

    fn of(text: &str) -> Inspection {
        crate::inspect(&Subject::Text { text: text.to_owned() })
    }

    #[test]
    fn a_doubted_text_has_a_finding_at_its_place_in_characters() {
        let raised = add(Inspection::default(), "é ab", Scored { score: 0.9, start: 3, end: 5, whole: true });
        assert_eq!(raised.findings.len(), 1);
        assert!(raised.found(FindingKind::InjectedInstruction));
        assert_eq!(raised.findings[0].span, Some(Span { start: 2, end: 4 }));
    }

    #[test]
    fn what_was_not_read_is_unknown() {
        let raised = add(Inspection::default(), "a", Scored { score: 0.0, start: 0, end: 0, whole: false });
        assert!(raised.findings.is_empty() && raised.unknowns.len() == 1);
    }

    proptest! {
        #[test]
        fn no_score_lowers_a_decision(text in ".{0,60}", score in any::<f32>(), whole in any::<bool>(), end in 0..80usize) {
            let before = of(&text);
            let decision = before.decision();
            let after = add(before.clone(), &text, Scored { score, start: 0, end, whole });
            prop_assert!(after.decision() >= decision);
            prop_assert!(after.findings.starts_with(&before.findings) && after.unknowns.starts_with(&before.unknowns));
        }
    }
}
