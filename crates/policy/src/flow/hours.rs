//! Hours without minutes, as people say them: "at 9", "from 9 to 10 in the morning", "14-16", "at nine". What is counted is none.

use std::ops::Range;

use super::moments::{MONTHS, NUMBERS, Words, position};
use crate::lists;

/// Words before an hour,
const BEFORE: &str = "at from till until between around";

/// between two of them,
const BETWEEN: &str = "to and till until";

/// and after one. A noun would be what is counted.
const AFTER: &str = "to till until and in on for uhr today tomorrow tonight sharp every each with the utc cet local this next of \
    monday tuesday wednesday thursday friday saturday sunday instead please o oclock";

/// Words for a day.
const DAYS: &str = "day days monday tuesday wednesday thursday friday saturday sunday today tomorrow weekday weekdays";

/// Minutes after midnight, each with the place where it is said.
pub(super) fn read(goal: &str, words: &Words<'_>) -> Vec<(i64, Range<usize>)> {
    let text = Text { goal, words };
    let mut found = Vec::new();
    let mut i = 0;
    while i < words.len() {
        let last = text.hour(i).map_or(i, |_| text.end_of_span(i));
        let led = i.checked_sub(1).is_some_and(|before| has(BEFORE, text.word(before))) || text.is_day_long(i, last);
        let part = text.part_of_day(last);
        if text.hour(i).is_some() && (led || part.is_some()) && text.is_clear(last) {
            for at in if last == i { vec![i] } else { vec![i, last] } {
                let range = words.get(at).map(|(range, _)| range.clone()).unwrap_or_default();
                found
                    .extend(text.hour(at).into_iter().flat_map(|hour| minutes(hour, part)).map(|m| (m, range.clone())));
            }
        }
        i = last + 1;
    }
    found
}

/// Nobody meets at three in the night, unless he says so.
fn minutes(hour: i64, part: Option<Part>) -> Vec<i64> {
    match part {
        Some(Part::Later) if hour < 12 => vec![(hour + 12) * 60],
        None if (1..8).contains(&hour) => vec![hour * 60, (hour + 12) * 60],
        _ => vec![hour * 60],
    }
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Early,
    Later,
}

struct Text<'t> {
    goal: &'t str,
    words: &'t Words<'t>,
}

impl Text<'_> {
    fn word(&self, i: usize) -> &str {
        self.words.get(i).map_or("", |(_, word)| *word)
    }

    /// What stands between a word and the next.
    fn gap(&self, i: usize) -> &str {
        let from = self.words.get(i).map_or(self.goal.len(), |(range, _)| range.end);
        let to = self.words.get(i + 1).map_or(self.goal.len(), |(range, _)| range.start);
        self.goal.get(from..to).unwrap_or("")
    }

    fn hour(&self, i: usize) -> Option<i64> {
        let word = self.word(i);
        let digits = word.parse::<i64>().ok().filter(|hour| word.len() <= 2 && (0..24).contains(hour));
        digits.or_else(|| position(&NUMBERS, word).filter(|hour| *hour > 0))
    }

    /// The second hour of "9 to 10" and "9-10", or the one itself.
    fn end_of_span(&self, i: usize) -> usize {
        let dash = matches!(self.gap(i).trim(), "-" | "\u{2013}" | "\u{2014}");
        let to = if dash { i + 1 } else { i + 2 };
        let spans = dash || (self.gap(i).trim().is_empty() && has(BETWEEN, self.word(i + 1)));
        if spans && self.hour(to).is_some() { to } else { i }
    }

    /// "2 June 2026, 9 to 17": of a span in the order of a day nothing else is meant, behind a day.
    fn is_day_long(&self, from: usize, to: usize) -> bool {
        let (Some(first), Some(last)) = (self.hour(from), self.hour(to)) else { return false };
        let before = from.checked_sub(1).map_or("", |i| self.word(i));
        let year = before.len() == 4 && before.starts_with("20");
        let day = year
            || MONTHS.contains(&before)
            || has(DAYS, before)
            || (before.len() <= 2 && before.parse::<u8>().is_ok());
        to > from && day && (6..22).contains(&first) && first < last
    }

    /// Whether nothing is counted: the sentence goes on otherwise, or ends.
    fn is_clear(&self, i: usize) -> bool {
        let gap = self.gap(i).trim_start();
        let ends = gap.starts_with([',', ';', ')', '?', '!']) || (gap.starts_with('.') && self.gap(i).len() > 1);
        ends || self.word(i + 1).is_empty() || (gap.is_empty() && has(AFTER, self.word(i + 1)))
    }

    fn part_of_day(&self, i: usize) -> Option<Part> {
        let next = self.words.get(i + 1..)?.iter().take(4).map(|(_, word)| *word);
        let part = |word| match word {
            "morning" => Some(Part::Early),
            "afternoon" | "evening" | "night" => Some(Part::Later),
            _ => None,
        };
        next.take_while(|word| part(word).is_some() || has("o clock in the at this tomorrow", word)).find_map(part)
    }
}

fn has(list: &'static str, word: &str) -> bool {
    !word.is_empty() && lists::has(list, word)
}
