//! What lets more through than the goal: "only while a seat costs at most 240 EUR", and an expectation of a fare up to 9999.

use countersign_plan::expect::{Condition, Expect};
use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};

use super::prepare::Prepared;
use crate::effects::Touch;
use crate::flow::NUMBERS;

/// What stands before the most that something may be.
const MOST: &[&str] = &[
    "at most",
    "no more than",
    "not more than",
    "up to a maximum of",
    "less than",
    "fewer than",
    "under",
    "below",
    "not above",
    "not over",
    "maximum",
    "max",
    "<=",
    "<",
];

/// What stands before the least that something may be.
const LEAST: &[&str] = &[
    "at least",
    "no less than",
    "not less than",
    "no fewer than",
    "more than",
    "above",
    "over",
    "minimum",
    "min",
    ">=",
    ">",
];

/// Between units of one thing: minutes and hours, hours and days, parts and thousandths, parts and hundredths.
const UNITS: &[f64] = &[60.0, 3600.0, 24.0, 1440.0, 1000.0, 1024.0, 100.0];

/// An expectation of a step whose bound is wider than all that the goal says, and no number of the goal's.
pub(super) fn loosened(prepared: &Prepared<'_>, goal: &str) -> Option<Reason> {
    let numbers = |text: &str| -> Vec<f64> { text.split_whitespace().filter_map(number).collect() };
    let wider = |expect: &Expect| {
        let Expect::Output { at, is } = expect else { return None };
        let (bound, least, begins, others) = match is {
            Condition::Min(bound) => (*bound, true, LEAST, MOST),
            Condition::Max(bound) => (*bound, false, MOST, LEAST),
            _ => return None,
        };
        let text = crate::paths::fold(goal);
        // "At least two", and an expectation of at most two.
        // "Fewer than 200", and one of 200 and more, is only the other side of the same.
        let other: Vec<&str> =
            others.iter().copied().filter(|words| !words.contains("than") || words.starts_with("no")).collect();
        let turned = bounds(&text, &other).contains(&bound) && !bounds(&text, begins).contains(&bound);
        if turned && !prepared.goal.awaited().is_empty() {
            return Some(format!("{at} to be {bound}"));
        }
        // "-18 degrees or colder", and an expectation of at most 18.
        let is = |word: &str| number(word).is_some_and(|number| (number - bound).abs() < 1e-9);
        let unsigned = |word: &str| word.strip_prefix(['-', '−', '–']).is_some_and(is);
        if bound > 0.0 && text.split_whitespace().any(unsigned) && !text.split_whitespace().any(is) {
            return Some(format!("{at} to be {bound}"));
        }
        let mut said = bounds(&text, begins);
        said.extend(between(&text).map(|(low, high)| if least { low } else { high }));
        let own = numbers(&text).iter().any(|one| {
            let other = |unit: &f64| (one * unit - bound).abs() < 1e-9 || (one / unit - bound).abs() < 1e-9;
            (one - bound).abs() < 1e-9 || UNITS.iter().any(other)
        });
        let looser = |said: &f64| if least { bound < *said } else { bound > *said };
        (!said.is_empty() && !own && said.iter().all(looser)).then(|| format!("{at} to be {bound}"))
    };
    let what = prepared.step.expect.iter().find_map(wider)?;
    let message = format!("the expectation of {what} or better lets more through than the goal does");
    Some(Reason::ask(Code::PlanExpectVacuous, message).fix("expect what the goal says"))
}

/// A line that opens at every address, where the goal names the machine's own: "the default stays 127.0.0.1:9000".
pub(super) fn opened(prepared: &Prepared<'_>, goal: &str) -> Option<Reason> {
    const ALL: &str = "0.0.0.0";
    let line = prepared.text("command").or_else(|| prepared.text("content"))?;
    let local = ["127.0.0.1", "localhost", "[::1]"].iter().any(|own| goal.contains(own));
    let message = format!("the goal names the machine's own address, and the line has {ALL}");
    (local && line.contains(ALL) && !goal.contains(ALL))
        .then(|| Reason::ask(Code::GoalUnasked, message).fix("take the address of the goal"))
}

/// How tests say that they are not to run: pytest ("Skip and xfail"), unittest, Jest, Mocha, Go, Rust, JUnit.
const SKIPPING: &str = "pytest.mark.skip|pytest.mark.xfail|pytest.skip(|unittest.skip|it.skip(|test.skip(|describe.skip(|xit(|xdescribe(|\
    t.Skip(|#[ignore|@Ignore|@Disabled";

/// A test that is left out, where the goal says nothing of that: "the test is right, make it green".
pub(super) fn skipped(prepared: &Prepared<'_>, goal: &str) -> Option<Reason> {
    let written = |touch: &&Touch| matches!(touch.effect, Effect::Create | Effect::Update) && touch.seen().is_some();
    let file = prepared.derived.touches.iter().filter(written).find(|t| t.name.to_lowercase().contains("test"))?;
    // `exit(` is no `xit(`.
    let marked = |mark: &&str| prepared.texts().any(|text| text.replace("exit(", "").contains(*mark));
    let mark = SKIPPING.split('|').find(marked)?;
    let wanted = prepared.goal.mentions("skip xfail ignor disabl quarantin flak pending mark") || goal.contains(mark);
    let message = format!("{} would leave a test out by `{mark}`, and the goal says nothing of it", file.name);
    (!wanted).then(|| Reason::ask(Code::GoalUnasked, message))
}

/// More at a time than the goal lets run: "at most two at a time", and `xargs -P 0`.
pub(super) fn crowded(prepared: &Prepared<'_>, goal: &str) -> Option<Reason> {
    const AT_ONCE: [&str; 4] = [" at a time", " at once", " in parallel", " concurrently"];
    const OPTIONS: [&str; 5] = ["-P", "-j", "--max-procs", "--jobs", "--parallel"];
    let line = prepared.text("command")?;
    let text = crate::paths::fold(goal);
    let before = AT_ONCE.iter().find_map(|said| Some(text.split_once(said)?.0))?;
    let counted = |word: &str| word.parse().ok().or_else(|| NUMBERS.iter().position(|number| *number == word));
    let most: usize = before.rsplit(' ').take(2).find_map(counted)?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let given = |(i, word): (usize, &&str)| {
        let behind = OPTIONS.iter().find_map(|option| word.strip_prefix(option))?.trim_start_matches('=');
        if behind.is_empty() { words.get(i + 1)?.parse().ok() } else { behind.parse().ok() }
    };
    // xargs(1): "If max-procs is 0, xargs will run as many processes as possible at a time."
    let count: usize = words.iter().enumerate().find_map(given).filter(|count| *count == 0 || *count > most)?;
    let message = format!("the goal lets {most} run at a time, and the line {count}");
    Some(Reason::ask(Code::GoalUnasked, message).fix("take the number of the goal"))
}

/// The numbers that stand behind one of these words.
fn bounds(text: &str, begins: &[&str]) -> Vec<f64> {
    let behind = |word: &&str| {
        let whole = |(at, _): &(usize, &str)| {
            !text.get(..*at).unwrap_or("").ends_with(char::is_alphanumeric)
                && !text.get(at + word.len()..).unwrap_or("").starts_with(char::is_alphabetic)
        };
        let mut found = text.match_indices(*word).filter(whole);
        found.find_map(|(at, _)| text.get(at + word.len()..)?.split_whitespace().take(2).find_map(counted))
    };
    begins.iter().filter_map(behind).collect()
}

/// "Between 4.0 and 4.4".
fn between(text: &str) -> Option<(f64, f64)> {
    let after = text.split("between ").nth(1)?;
    let mut numbers = after.split_whitespace().take(5).filter_map(number);
    numbers.next().zip(numbers.next())
}

/// The same, or a number in letters.
fn counted(word: &str) -> Option<f64> {
    let letters = |at: usize| u32::try_from(at).ok().map(f64::from);
    number(word).or_else(|| letters(NUMBERS.iter().position(|number| *number == word)?))
}

/// The number that a word begins with.
fn number(word: &str) -> Option<f64> {
    let word = word.trim_start_matches(['(', '€', '$', '£', '<', '>', '=']);
    let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(word.len());
    let digits = word.get(..end)?.trim_end_matches(['.', ',']);
    // A day or an hour is no amount.
    let rest = word.get(end..).unwrap_or("");
    if digits.is_empty() || rest.starts_with(['-', ':', '/']) {
        return None;
    }
    digits.replace(',', "").parse().ok()
}
