//! Lists of words that stand in one text with blanks between them: each is taken apart once, when it is asked for the first time.
//!
//! Rules of language keep their words so because a person reads and changes them best in that form. A list is known by where its text
//! stands, which for a text of the program itself is always the same place.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// What money is counted in: codes (ISO 4217) that are no other words, and names.
pub(crate) const MONEY: &str = "eur euro euros usd dollar dollars gbp pounds chf franc francs nok sek dkk isk kroner kronor pln zloty czk huf ron lei \
    bgn jpy yen cny aud nzd brl mxn sgd hkd krw uah";

/// Lists shorter than this are gone through as they stand, in bytes.
const SHORT: usize = 24;

/// The words of a list, those with the same first letter beside each other.
#[derive(Debug)]
struct List {
    words: Vec<&'static str>,
    /// Where the words of each letter begin.
    begins: [usize; LETTERS + 1],
}

/// The letters that words begin with, and everything else.
const LETTERS: usize = 27;

fn letter(word: &str) -> usize {
    match word.bytes().next() {
        Some(byte @ b'a'..=b'z') => usize::from(byte - b'a'),
        Some(_) | None => LETTERS - 1,
    }
}

impl List {
    fn new(text: &'static str) -> Self {
        let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
        words.sort_by_key(|word| letter(word));
        let mut begins = [0; LETTERS + 1];
        for (at, begin) in begins.iter_mut().enumerate() {
            *begin = words.partition_point(|word| letter(word) < at);
        }
        Self { words, begins }
    }

    /// The words that begin with the letter of this one.
    fn beside(&self, word: &str) -> &[&'static str] {
        let at = letter(word);
        let (Some(from), Some(to)) = (self.begins.get(at), self.begins.get(at + 1)) else { return &[] };
        self.words.get(*from..*to).unwrap_or(&[])
    }
}

/// Where a text stands, as a number; no two of the program's own texts have the same place and length.
type Place = (usize, usize);

thread_local! {
    static LISTS: RefCell<BTreeMap<Place, List>> = const { RefCell::new(BTreeMap::new()) };
}

fn ask(text: &'static str, word: &str, is: impl Fn(&str) -> bool) -> bool {
    if text.len() < SHORT {
        return text.split_ascii_whitespace().any(is);
    }
    let place = (text.as_ptr() as usize, text.len());
    let known = LISTS.with_borrow(|lists| lists.get(&place).map(|list| list.beside(word).iter().any(|one| is(one))));
    known.unwrap_or_else(|| {
        let list = List::new(text);
        let found = list.beside(word).iter().any(|one| is(one));
        LISTS.with_borrow_mut(|lists| lists.insert(place, list));
        found
    })
}

/// Whether the list has the word.
pub(crate) fn has(list: &'static str, word: &str) -> bool {
    ask(list, word, |one| one == word)
}

/// Whether the word begins with one of the list's.
pub(crate) fn begins(list: &'static str, word: &str) -> bool {
    ask(list, word, |one| word.starts_with(one))
}

/// Words of tools' names and of goals that turn each other round.
pub(crate) const OPPOSITES: &[(&str, &str)] = &[
    ("add invite join attach assign", "remove kick leave detach unassign expel"),
    ("give hand", "take"),
    ("grant allow permit", "revoke deny block forbid withdraw"),
    ("enable activate arm resume start", "disable deactivate disarm pause suspend stop"),
    ("suspend ban expel", "reinstate readmit restore"),
    ("check-in checkin admit", "check-out checkout discharge"),
    ("issue", "void revoke"),
    ("create impose", "lift"),
    ("raise increase", "lower decrease reduce"),
    ("assign allocate", "unassign deallocate free"),
    ("open unlock unblock", "close lock block"),
    ("book reserve hold", "cancel release"),
    ("publish share show", "unpublish unshare hide retract"),
    ("subscribe follow", "unsubscribe unfollow"),
    ("deposit", "withdraw"),
    ("credit", "charge debit"),
    ("archive", "restore unarchive"),
    ("mute silence snooze", "unmute"),
];

/// Whether two words are for acts that turn each other round.
pub(crate) fn are_opposites(one: &str, other: &str) -> bool {
    let pair = |(a, b): &(&'static str, &'static str)| (has(a, one) && has(b, other)) || (has(b, one) && has(a, other));
    OPPOSITES.iter().any(pair)
}

/// Words of tools' names and of goals for the same act.
const SAME: &[&str] = &[
    "cancel end terminate stop close discontinue quit annul void abort unsubscribe",
    "delete remove erase destroy forget purge wipe drop discard trash shred scrap",
    "update change set adjust amend correct modify edit revise alter",
    "hold freeze pause suspend park",
    "release free unfreeze resume",
    "assign give allocate route hand",
    "reschedule shift postpone defer move",
    "schedule plan arrange",
    "approve accept confirm",
    "reject decline refuse deny",
    "restart reboot bounce cycle recycle",
    "resolve solve complete finish settle close",
    "scale resize grow shrink",
    "rename relabel retitle",
    "publish post announce",
    "hide unlist unpublish withhold",
    "order buy purchase procure",
    "refund reimburse return credit",
    "tag label mark flag",
    "swap exchange replace switch substitute",
    "extend prolong renew",
    "revoke withdraw remove",
    "grant give allow",
    "print reprint",
    "block ban bar",
    "snapshot backup",
    "merge combine join",
    "transfer move wire remit",
    "subscribe enrol enroll signup",
    "retire decommission sunset",
];

/// In which of the lists a word stands, a bit for each.
static ACTS: LazyLock<HashMap<&'static str, u128>> = LazyLock::new(|| {
    let mut acts: HashMap<&str, u128> = HashMap::new();
    let lists = SAME.iter().copied().chain(OPPOSITES.iter().flat_map(|(one, other)| [*one, *other]));
    for (i, list) in lists.enumerate().take(128) {
        for word in list.split(' ') {
            *acts.entry(word).or_default() |= 1 << i;
        }
    }
    acts
});

/// Whether two words name the same act: of tools that book, people say "reserve".
pub(crate) fn are_synonyms(one: &str, other: &str) -> bool {
    let lists = |word: &str| ACTS.get(word).copied().unwrap_or(0);
    one != other && lists(one) & lists(other) != 0
}

#[cfg(test)]
mod tests {
    use super::{begins, has};

    #[test]
    fn a_list_answers_as_its_text_does() {
        const SHORT: &str = "to in";
        const LONG: &str = "read summar find list 2nd show  explain\n über analy review check zip";
        for list in [SHORT, LONG, ""] {
            for word in
                ["to", "t", "into", "read", "reader", "rea", "2nd", "2", "über", "überall", "zip", "zi", "", "summary"]
            {
                assert_eq!(has(list, word), list.split_ascii_whitespace().any(|one| one == word), "{word}");
                assert_eq!(
                    begins(list, word),
                    list.split_ascii_whitespace().any(|one| word.starts_with(one)),
                    "{word}"
                );
            }
        }
    }
}
