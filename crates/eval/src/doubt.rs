//! A second reader of texts: a small local model that adds a finding or a question to what the rules say, and takes nothing away.
//!
//! Whoever proposes the plan of a case is taken to be compromised, so every text of it came from outside. What is no text is not
//! scored. A text that was not read to its end stays unknown, which asks.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use countersign_classifier::{Classifier, LoadError, Scored};
use countersign_plan::inspection::{Finding, FindingKind, Inspection, Span, Subject, Unknown, UnknownKind};
use countersign_plan::tool::Effect;

/// Why nobody scores.
#[derive(Debug, thiserror::Error)]
pub enum DoubtError {
    /// A file of the encoder is not there.
    #[error("{0}: {1}; evals/classifier/install puts it there")]
    File(String, std::io::Error),
    /// A file of the encoder is not the one that is meant.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// A loaded classifier.
#[derive(Clone)]
pub struct Doubts {
    classifier: Arc<Classifier>,
}

impl fmt::Debug for Doubts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Doubts")
    }
}

impl Doubts {
    /// Loads the encoder's files from the folder in which `evals/classifier/install` put them.
    ///
    /// # Errors
    /// A file is missing, or another one than the head was trained with.
    pub fn load(folder: &Path) -> Result<Self, DoubtError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|error| DoubtError::File(path.display().to_string(), error))
        };
        let classifier = Classifier::new(&read("model.safetensors")?, &read("vocab.txt")?)?;
        Ok(Self { classifier: Arc::new(classifier) })
    }

    /// What the rules said about a subject, and what the classifier adds to it.
    pub(crate) fn raise(&self, subject: &Subject, inspection: Inspection) -> Inspection {
        let Subject::Text { text } = subject else { return inspection };
        self.classifier.score(&[text]).into_iter().fold(inspection, |inspection, scored| add(inspection, text, scored))
    }
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

    use super::{Doubts, add};

    fn of(text: &str) -> Inspection {
        countersign_inspect::inspect(&Subject::Text { text: text.to_owned() })
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

    #[test]
    fn without_the_files_nobody_scores_and_it_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Doubts::load(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("model.safetensors") && missing.contains("evals/classifier/install"), "{missing}");
        std::fs::write(folder.path().join("model.safetensors"), "x").unwrap();
        std::fs::write(folder.path().join("vocab.txt"), "x").unwrap();
        let other = Doubts::load(folder.path()).unwrap_err().to_string();
        assert!(other.contains("SHA-256"), "{other}");
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
