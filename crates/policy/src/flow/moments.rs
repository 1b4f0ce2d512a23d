//! Days, times, lengths and numbers as people write them in a goal, each with the place where it is said.

use std::ops::Range;

pub(super) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

pub(crate) const NUMBERS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// A day; the year where it is stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Day {
    pub(super) year: Option<i64>,
    pub(super) month: i64,
    pub(super) day: i64,
}

pub(super) type Words<'g> = [(Range<usize>, &'g str)];

pub(super) fn read_days(goal: &str, words: &Words<'_>) -> Vec<(Day, Range<usize>)> {
    let mut days = Vec::new();
    let whole = |i: usize, j: usize| Some(words.get(i)?.0.start..words.get(j)?.0.end);
    let number = |i: usize| words.get(i).and_then(|(_, w)| ordinal(w));
    for (i, (_, word)) in words.iter().enumerate() {
        // 2024-05-15, 15.5.2024, 5/15/2024: either way of writing a day and a month.
        if let (Some(a), Some(b), Some(c)) = (number(i), number(i + 1), number(i + 2)) {
            let orders = [(a, b, c), (c, b, a), (c, a, b)];
            for (year, month, day) in orders {
                let is_day = (1000..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
                if let (true, Some(range)) = (is_day && joined(goal, words, i), whole(i, i + 2)) {
                    days.push((Day { year: Some(year), month, day }, range));
                }
            }
        }
        let Some(month) = month(word) else { continue };
        let year = |i: usize| number(i).filter(|y| (1000..10_000).contains(y));
        let near = |j: Option<usize>| j.and_then(|j| number(j).filter(|d| (1..=31).contains(d)).map(|d| (j, d)));
        let of = words.get(i.wrapping_sub(1)).is_some_and(|(_, w)| *w == "of");
        let before = near(i.checked_sub(if of { 2 } else { 1 }));
        let after = near(Some(i + 1));
        for (j, day) in before.into_iter().chain(after) {
            let last = year(j.max(i) + 1).map_or(j.max(i), |_| j.max(i) + 1);
            if let Some(range) = whole(j.min(i), last) {
                days.push((Day { year: year(j.max(i) + 1), month, day }, range));
            }
        }
    }
    days
}

pub(super) fn read_times(goal: &str, words: &Words<'_>) -> Vec<(i64, Range<usize>)> {
    let mut times = Vec::new();
    for (i, (range, word)) in words.iter().enumerate() {
        let next = words.get(i + 1);
        let half = |w: &str| (w == "am" || w == "a").then_some(0).or((w == "pm" || w == "p").then_some(720));
        let hour = |text: &str| text.parse::<i64>().ok().filter(|h| (0..24).contains(h));
        let clock = |h: i64, half: Option<i64>| half.map_or(h * 60, |half| (h % 12) * 60 + half);
        if let Some(split) = word.find(|c: char| c.is_alphabetic())
            && let (Some(digits), Some(rest)) = (word.get(..split), word.get(split..))
            && let (Some(h), Some(half)) = (hour(digits), half(rest).filter(|_| rest.len() == 2))
        {
            times.push((clock(h, Some(half)), range.clone()));
        }
        if let (Some(h), Some((end, minutes))) = (hour(word), next)
            && goal.get(range.end..end.start) == Some(":")
            && let (Some(m), rest) = leading(minutes)
            && (0..60).contains(&m)
        {
            let after = words.get(i + 2).map(|(_, w)| *w);
            let half = if rest.is_empty() { after.and_then(half) } else { half(rest) };
            times.push((clock(h, half) + m, range.start..end.end));
        } else if let (Some(h), Some((end, w))) = (hour(word), next)
            && let (Some(half), 2) = (half(w), w.len())
        {
            times.push((clock(h, Some(half)), range.start..end.end));
        }
        if *word == "noon" || *word == "midday" {
            times.push((720, range.clone()));
        }
    }
    times
}

pub(super) fn read_durations(words: &Words<'_>) -> Vec<i64> {
    let mut durations = Vec::new();
    for (i, (_, unit)) in words.iter().enumerate() {
        let minutes = match *unit {
            "hour" | "hours" | "hr" | "hrs" | "h" => 60,
            "minute" | "minutes" | "min" | "mins" => 1,
            "day" | "days" => 24 * 60,
            _ => continue,
        };
        let before = |n: usize| i.checked_sub(n).and_then(|j| words.get(j)).map_or("", |(_, w)| *w);
        let count = match before(1) {
            "a" | "an" if before(2) == "half" => (minutes / 2, 1),
            "a" | "an" | "half" if before(1) == "half" => (minutes / 2, 1),
            "a" | "an" => (minutes, 1),
            word => (minutes, word.parse().ok().or_else(|| position(&NUMBERS, word)).unwrap_or(0)),
        };
        durations.push(count.0 * count.1);
    }
    durations.retain(|d| *d > 0);
    durations
}

/// A number that is written as a word. "One" and "a" are said of much that nobody counts.
pub(super) fn in_words(word: &str) -> Option<f64> {
    let at = NUMBERS.iter().position(|number| *number == word).filter(|at| *at > 1)?;
    u32::try_from(at).ok().map(f64::from)
}

/// Numbers that stand alone: no part of a name, a day, a time or a version.
pub(super) fn read_numbers(
    goal: &str,
    days: &[(Day, Range<usize>)],
    times: &[(i64, Range<usize>)],
) -> Vec<(f64, Range<usize>)> {
    let mut numbers = Vec::new();
    let mut rest = 0;
    while let Some(tail) = goal.get(rest..)
        && let Some(at) = tail.find(|c: char| c.is_ascii_digit())
    {
        let start = rest + at;
        let tail = goal.get(start..).unwrap_or("");
        let len = tail.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(tail.len());
        let text = tail.get(..len).unwrap_or("").trim_end_matches(['.', ',']);
        let end = start + text.len();
        rest = start + len.max(1);
        let before = goal.get(..start).and_then(|s| s.chars().next_back());
        let after = goal.get(end..).and_then(|s| s.chars().next());
        let part = |c: char| c.is_alphanumeric() || "-_/:#@%+".contains(c);
        let inside = days.iter().map(|(_, r)| r).chain(times.iter().map(|(_, r)| r));
        // "(-1)": a sign that no word stands before.
        let sign = start.checked_sub(1).filter(|_| before == Some('-'));
        let free = |s: &str| s.chars().next_back().is_none_or(|c| c.is_whitespace() || c == '(');
        let sign = sign.filter(|sign| goal.get(..*sign).is_some_and(free));
        let plus = before == Some('+') && goal.get(..start - 1).is_some_and(free);
        let alone =
            (sign.is_some() || plus || !before.is_some_and(|c| part(c) || c == '.')) && !after.is_some_and(part);
        if alone
            && !inside.into_iter().any(|r| r.start <= start && end <= r.end)
            && let Some(number) = amount(text)
        {
            // "Store B minus 6"
            let minus = goal.get(..start).is_some_and(|s| s.ends_with(" minus "));
            if minus {
                numbers.push((-number, start - 6..end));
                continue;
            }
            numbers.push(sign.map_or((number, start..end), |sign| (-number, sign..end)));
        }
    }
    numbers
}

/// A day, a time of day or both, as ISO 8601 writes them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) day: Option<(i64, i64, i64)>,
    pub(super) minute: Option<i64>,
}

impl Moment {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (day, time) = match text.split_once(['T', 't', ' ']) {
            Some((day, time)) => (Some(day), Some(time)),
            None if text.contains(':') => (None, Some(text)),
            None => (Some(text), None),
        };
        let parts = |text: &str, by: char| {
            let number = |p: &str| p.bytes().all(|b| b.is_ascii_digit()).then(|| p.parse().ok()).flatten();
            text.split(by).map(number).collect::<Option<Vec<i64>>>()
        };
        let day = day.map(|day| parts(day, '-').filter(|p: &Vec<i64>| p.len() == 3 && day.len() >= 8));
        let time = time.map(|time| {
            // With an offset it is the hour on the clock there (RFC 3339, section 4.2).
            let offset = time.len().checked_sub(6).and_then(|at| time.split_at_checked(at)).filter(|(_, offset)| {
                offset.starts_with(['+', '-'])
                    && parts(offset.get(1..).unwrap_or(""), ':').is_some_and(|p| p.len() == 2)
            });
            let time = offset.map_or(time, |(time, _)| time).trim_end_matches(['Z', 'z']);
            let time = time.split_once('.').map_or(time, |(whole, _)| whole);
            parts(time, ':').filter(|p: &Vec<i64>| matches!(p.len(), 2 | 3) && p.get(2).is_none_or(|s| *s == 0))
        });
        let day = match day {
            Some(parts) => match parts?.as_slice() {
                [year, month, day] => Some((*year, *month, *day)),
                _ => return None,
            },
            None => None,
        };
        let minute = match time {
            Some(parts) => match parts?.as_slice() {
                [hour, minute, ..] => Some(hour * 60 + minute),
                _ => return None,
            },
            None => None,
        };
        Some(Self { day, minute })
    }

    /// Minutes since a day before all others.
    pub(super) fn absolute(self) -> Option<i64> {
        let (year, month, day) = self.day?;
        // Days from the civil calendar (H. Hinnant, "chrono-compatible low-level date algorithms").
        let year = if month <= 2 { year - 1 } else { year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
        Some(days * 24 * 60 + self.minute.unwrap_or(0))
    }
}

/// Whether a text is a day, a time of day or both: it says when, and nothing else.
pub(crate) fn is_moment(text: &str) -> bool {
    Moment::read(text.trim()).is_some()
}

/// Whether both are moments of one form, a month or less apart.
pub(super) fn is_near(one: &str, other: &str) -> bool {
    let (Some(a), Some(b)) = (Moment::read(one.trim()), Moment::read(other.trim())) else { return false };
    a.absolute().zip(b.absolute()).is_some_and(|(a, b)| (a - b).abs() <= 31 * 24 * 60)
}

pub(super) fn words(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.extend(text.get(from..at).map(|word| (from..at, word)));
                start = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    words
}

/// Whether three words are written as one, with the same sign between them.
pub(super) fn joined(text: &str, words: &[(Range<usize>, &str)], i: usize) -> bool {
    let between = |i: usize| text.get(words.get(i)?.0.end..words.get(i + 1)?.0.start);
    matches!((between(i), between(i + 1)), (Some(a), Some(b)) if a == b && matches!(a, "-" | "/" | "."))
}

pub(super) fn month(word: &str) -> Option<i64> {
    MONTHS
        .iter()
        .zip(1..)
        .find(|(name, _)| **name == word || (word.len() == 3 && name.starts_with(word)))
        .map(|(_, i)| i)
}

pub(super) fn leading(word: &str) -> (Option<i64>, &str) {
    let split = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    (word.get(..split).and_then(|d| d.parse().ok()), word.get(split..).unwrap_or(""))
}

pub(super) fn ordinal(word: &str) -> Option<i64> {
    let (number, rest) = leading(word);
    number.filter(|_| matches!(rest, "" | "st" | "nd" | "rd" | "th"))
}

pub(super) fn position(list: &[&str], word: &str) -> Option<i64> {
    list.iter().zip(0..).find(|(w, _)| **w == word).map(|(_, i)| i)
}

/// `1,440`, `12.00`, `5.29`; what both customs read alike.
pub(super) fn amount(text: &str) -> Option<f64> {
    let thousands = text.split(',').skip(1).all(|group| group.split('.').next().is_some_and(|g| g.len() == 3));
    if text.contains(',') && !thousands {
        return None;
    }
    text.replace(',', "").parse().ok()
}
