//! What models cost so far, in a file of the broker's own: one that is killed and started anew forgets nothing.
//!
//! An estimate is in the file before its inference is sent, and what was used takes its place after. What was under way when the
//! broker died counts as its estimate. A file that cannot be read or written stops inferences, not the count.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use countersign_plan::budget::Extra;
use countersign_wire::infer::Usage;

use super::budget::{Budgets, Kept, Limits, Record, Spent};
use crate::kept;

/// The file.
const FILE: &str = "spent.json";

/// Budgets, and where they are kept.
#[derive(Debug, Default)]
pub(crate) struct Book {
    budgets: Budgets,
    /// The folder; none keeps them in memory only.
    folder: Option<PathBuf>,
}

impl Book {
    /// Takes up what was spent before, from a folder that is made where there is none. Once; later calls change nothing.
    ///
    /// # Errors
    /// The folder or its file cannot be used.
    pub(crate) fn open(&mut self, folder: &str) -> Result<(), String> {
        if folder.is_empty() || self.folder.is_some() {
            return Ok(());
        }
        let folder = PathBuf::from(folder);
        let at = |what: &dyn std::fmt::Display| format!("what was spent, {}: {what}", folder.join(FILE).display());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| at(&error))?;
        if let Some(record) = kept::read::<Record>(&folder, FILE).map_err(|error| at(&error))? {
            self.budgets.restore(record).map_err(|error| at(&error))?;
        }
        // Whether it can be written is known now, not with the first inference.
        kept::write(&folder, FILE, &self.budgets.record()).map_err(|error| at(&error))?;
        self.folder = Some(folder);
        Ok(())
    }

    /// New limits; what was spent stays spent.
    pub(crate) fn limit(&mut self, limits: Limits) {
        self.budgets.limit(limits);
    }

    /// Keeps an estimate aside, in the file too. `extra` is what people added to the case's limits, `day` the number of the day
    /// (UTC).
    ///
    /// # Errors
    /// A limit would be passed, or it cannot be written down; and whether this is the first time that this is said of the case.
    pub(crate) fn keep(&mut self, case: &str, wanted: Usage, extra: Extra, day: i64) -> Result<Kept, (Spent, bool)> {
        let kept = self.budgets.keep(case, wanted, extra, day)?;
        match self.write() {
            Ok(()) => Ok(kept),
            Err(error) => {
                self.budgets.settle(kept, Usage::default(), day);
                Err((Spent::Unwritten(error.to_string()), true))
            }
        }
    }

    /// Books what an inference used in place of its estimate; whether somebody has to be told that a limit is now passed.
    pub(crate) fn settle(&mut self, kept: Kept, used: Usage, day: i64) -> bool {
        let passed = self.budgets.settle(kept, used, day);
        // Where this fails the estimate stays in the file, and the next inference is not made.
        drop(self.write());
        passed
    }

    /// Forgets a case.
    pub(crate) fn end(&mut self, case: &str) {
        self.budgets.end(case);
        drop(self.write());
    }

    fn write(&self) -> io::Result<()> {
        self.folder.as_deref().map_or(Ok(()), |folder| kept::write(folder, FILE, &self.budgets.record()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use countersign_plan::budget::{Budget, Extra, Shortage};
    use countersign_wire::infer::Usage;

    use super::super::budget::{Limits, Spent};
    use super::{Book, FILE};

    const NONE: Extra = Extra { tokens: 0, micro_dollars: 0 };
    const TEN: Usage = Usage { input_tokens: 6, output_tokens: 4, micro_dollars: 10 };

    fn book(folder: &std::path::Path, tokens: u64) -> Book {
        let mut book = Book::default();
        book.open(folder.to_str().unwrap()).unwrap();
        book.limit(Limits { case_tokens: Some(tokens), ..Limits::default() });
        book
    }

    #[test]
    fn what_was_spent_and_what_was_under_way_is_spent_after_a_crash() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("broker");
        let mut first = book(&folder, 30);
        let kept = first.keep("a", TEN, NONE, 5).unwrap();
        assert!(!first.settle(kept, TEN, 5));
        let under_way = first.keep("a", TEN, NONE, 5).unwrap();
        // Nothing is told: the process is gone.
        drop(first);
        drop(under_way);
        let mut second = book(&folder, 30);
        let again = second.keep("a", TEN, NONE, 5).unwrap();
        assert!(matches!(second.keep("a", TEN, NONE, 5), Err((Spent::Shortage(Shortage { spent: 30, .. }), true))));
        assert!(!second.settle(again, Usage::default(), 5));
        second.end("a");
        let mut third = book(&folder, 30);
        assert!(third.keep("a", TEN, NONE, 5).is_ok(), "a case that ended is forgotten");
        assert_eq!(std::fs::metadata(folder.join(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn the_day_is_spent_after_a_crash_and_cases_of_last_month_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits { day_micro_dollars: Some(15), ..Limits::default() };
        let mut first = book(dir.path(), 1000);
        let kept = first.keep("a", TEN, NONE, 5).unwrap();
        first.settle(kept, TEN, 5);
        let mut second = book(dir.path(), 1000);
        second.limit(limits);
        assert!(matches!(
            second.keep("b", TEN, NONE, 5),
            Err((Spent::Shortage(Shortage { budget: Budget::DayMoney, .. }), _))
        ));
        let kept = second.keep("b", TEN, NONE, 50).unwrap();
        second.settle(kept, TEN, 50);
        let mut third = book(dir.path(), 15);
        assert!(third.keep("a", TEN, NONE, 50).is_ok(), "a day so long ago is nobody's");
        assert!(third.keep("b", TEN, NONE, 50).is_err());
    }

    #[test]
    fn a_file_that_is_none_is_not_taken_for_nothing_spent() {
        let dir = tempfile::tempdir().unwrap();
        for wrong in ["", "{", "{\"schema\":\"other\",\"day\":1,\"day_micro_dollars\":0,\"cases\":{}}"] {
            std::fs::write(dir.path().join(FILE), wrong).unwrap();
            let error = Book::default().open(dir.path().to_str().unwrap()).unwrap_err();
            assert!(error.contains(FILE), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_written_down_is_not_spent() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("broker");
        let mut book = book(&folder, 1000);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(book.keep("a", TEN, NONE, 5), Err((Spent::Unwritten(_), true))));
        std::fs::create_dir(&folder).unwrap();
        assert!(book.keep("a", TEN, NONE, 5).is_ok());
    }
}
