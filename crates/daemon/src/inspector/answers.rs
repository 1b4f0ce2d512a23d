//! What inspectors said about the texts of a case, for the later events of the same case: a permit asks about the same lines as the
//! review of the plan did. Nothing goes from one case to another: an inspector that lies, lies about one case at most.

use std::collections::{HashMap, VecDeque};

use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::inspection::Inspection;

/// The most bytes of answers, as they were sent, that are kept for one case. What is beyond is asked about again.
const BYTES: usize = 256 << 10;

/// The most cases whose answers are kept. An older one is asked about again.
const CASES: usize = 16;

/// The answers of one case, by the digest of what was asked.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    by_question: HashMap<Digest, Inspection>,
    bytes: usize,
}

impl Answers {
    pub(super) fn get(&self, question: &Digest) -> Option<&Inspection> {
        self.by_question.get(question)
    }

    /// Keeps an answer of so many bytes, if there is room.
    pub(super) fn keep(&mut self, question: Digest, answer: &Inspection, bytes: usize) {
        if self.bytes + bytes <= BYTES {
            self.bytes += bytes;
            self.by_question.insert(question, answer.clone());
        }
    }
}

/// The answers of the cases that the gate decided about last.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    cases: VecDeque<(CaseId, Answers)>,
}

impl Kept {
    /// What is known about a case; nothing where there is none.
    pub(crate) fn take(&mut self, case: Option<&CaseId>) -> Answers {
        let at = self.cases.iter().position(|(kept, _)| Some(kept) == case);
        at.and_then(|at| self.cases.remove(at)).map(|(_, answers)| answers).unwrap_or_default()
    }

    /// Keeps what is known about a case.
    pub(crate) fn put(&mut self, case: CaseId, answers: Answers) {
        if answers.bytes == 0 {
            return;
        }
        self.cases.truncate(CASES - 1);
        self.cases.push_front((case, answers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> CaseId {
        name.parse().unwrap()
    }

    #[test]
    fn answers_are_those_of_their_own_case_and_older_cases_make_room() {
        let mut kept = Kept::default();
        let (question, said) = (Digest::of(b"rm x"), Inspection::default());
        for n in 0..=CASES {
            let mut answers = Answers::default();
            answers.keep(question, &said, 2);
            kept.put(case(&format!("c-{n}")), answers);
        }
        assert!(kept.take(Some(&case("c-0"))).get(&question).is_none(), "the oldest made room");
        assert!(kept.take(Some(&case("c-x"))).get(&question).is_none());
        assert!(kept.take(None).get(&question).is_none());
        assert_eq!(kept.take(Some(&case("c-1"))).get(&question), Some(&said));
        assert!(kept.take(Some(&case("c-1"))).get(&question).is_none(), "taken once");
    }

    #[test]
    fn what_does_not_fit_is_asked_about_again() {
        let mut answers = Answers::default();
        answers.keep(Digest::of(b"a"), &Inspection::default(), BYTES);
        answers.keep(Digest::of(b"b"), &Inspection::default(), 1);
        assert!(answers.get(&Digest::of(b"a")).is_some() && answers.get(&Digest::of(b"b")).is_none());
    }
}
