//! Monitor ⇄ inspector, over the inspector's only socket: a subject goes in, an inspection comes out, one for one and in that
//! order. What answers may have been taken over by what it reads: an answer is hostile until it is read within its bounds.

use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::inspection::{Inspection, Subject};

/// The longest subject, in bytes of JSON. What is longer is not inspected.
pub const SUBJECT_LIMIT: usize = 4 << 20;

/// The longest inspection, in bytes of JSON: the text of one and its entries, escaped.
pub const INSPECTION_LIMIT: usize = 4 << 20;

/// What reading an inspection may cost.
const INSPECTION: Bounds = Bounds { bytes: INSPECTION_LIMIT, depth: 8, values: 1 << 18 };

/// What the monitor asks.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ToInspector {
    /// JSON of a [`Subject`].
    #[prost(bytes = "vec", tag = "1")]
    pub subject: Vec<u8>,
}

/// What an inspector answers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FromInspector {
    /// JSON of an [`Inspection`]; empty where it would be longer than [`INSPECTION_LIMIT`], which is no answer.
    #[prost(bytes = "vec", tag = "1")]
    pub inspection: Vec<u8>,
}

impl ToInspector {
    /// Asks about a subject; none where it is longer than any that is inspected.
    #[must_use]
    pub fn about(subject: &Subject) -> Option<Self> {
        let subject = serde_json::to_vec(subject).ok().filter(|bytes| bytes.len() <= SUBJECT_LIMIT)?;
        Some(Self { subject })
    }
}

impl FromInspector {
    /// Answers with an inspection.
    #[must_use]
    pub fn with(inspection: &Inspection) -> Self {
        let inspection = serde_json::to_vec(inspection).ok().filter(|bytes| bytes.len() <= INSPECTION_LIMIT);
        Self { inspection: inspection.unwrap_or_default() }
    }

    /// Reads the answer.
    ///
    /// # Errors
    /// It is no inspection, or one beyond its bounds.
    pub fn read(&self) -> Result<Inspection, DocumentError> {
        document::from_json(&self.inspection, INSPECTION).and_then(document::typed)
    }
}

#[cfg(test)]
mod tests {
    use countersign_plan::inspection::{Context, Inspection, MAX_ENTRIES, Subject, Touch};
    use countersign_plan::tool::{Effect, TargetKind};
    use proptest::prelude::*;

    use super::{FromInspector, INSPECTION_LIMIT, SUBJECT_LIMIT, ToInspector};

    fn line(line: String) -> Subject {
        Subject::Shell { line, context: Context::new("/w", "/home/u") }
    }

    fn touching(names: impl Iterator<Item = String>) -> Inspection {
        let touch = |name| Touch {
            effect: Effect::Read,
            kind: TargetKind::File,
            name,
            pattern: false,
            recursive: false,
            by: "cat".to_owned(),
            in_place: false,
        };
        Inspection { touches: names.map(touch).collect(), ..Inspection::default() }
    }

    #[test]
    fn an_answer_is_read_as_it_was_given() {
        let inspection = touching(["/w/a".to_owned(), "/w/\u{1}".to_owned()].into_iter());
        assert_eq!(FromInspector::with(&inspection).read().unwrap(), inspection);
    }

    #[test]
    fn what_is_over_a_bound_is_neither_asked_nor_believed() {
        assert!(ToInspector::about(&line("x".to_owned())).is_some());
        assert!(ToInspector::about(&line("x".repeat(SUBJECT_LIMIT))).is_none());
        let long = touching(std::iter::once("\u{1}".repeat(INSPECTION_LIMIT / 6)));
        assert!(FromInspector::with(&long).inspection.is_empty());
        assert!(FromInspector::with(&long).read().is_err(), "no answer is no inspection");
        let many = touching((0..=MAX_ENTRIES).map(|n| format!("/w/{n}")));
        assert!(FromInspector::with(&many).read().is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(inspection in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(FromInspector { inspection }.read());
        }
    }
}
