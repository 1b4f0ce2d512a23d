//! The classifier beside the rules ([`countersign_inspect::doubt`]), in process, with the encoder from a folder.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use countersign_inspect::doubt::{Classifier, LoadError};
use countersign_plan::inspection::{Inspection, Subject};

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
        countersign_inspect::doubt::raise(&self.classifier, subject, inspection)
    }
}

#[cfg(test)]
mod tests {
    use super::Doubts;

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
}
