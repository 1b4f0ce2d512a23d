//! Orders that are addressed to an agent: one pass of one automaton of words by class, then rules on how the classes meet.
//!
//! What counts is not a phrase but its build: somebody is told to set earlier orders aside, to show what is hidden, to keep
//! something from the user; or an agent is addressed, its task is spoken of, and it is told to act. Each rule looks only at the
//! last place of each class, so that the work is linear. Texts *about* such orders quote them after a word that says so.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use super::Plain;

/// What a word does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Override,
    OverrideAnywhere,
    Prior,
    Rules,
    Reveal,
    Hidden,
    Agent,
    Head,
    Condition,
    Secrecy,
    User,
    Task,
    Action,
    Urgent,
    Mark,
    WeakMark,
    Alone,
    Mention,
    End,
}

/// Every class, by its name in the list of words.
const CLASSES: [(&str, Class); 19] = [
    ("OVERRIDE", Class::Override),
    ("OVERRIDE_ANYWHERE", Class::OverrideAnywhere),
    ("PRIOR", Class::Prior),
    ("RULES", Class::Rules),
    ("REVEAL", Class::Reveal),
    ("HIDDEN", Class::Hidden),
    ("AGENT", Class::Agent),
    ("HEAD", Class::Head),
    ("CONDITION", Class::Condition),
    ("SECRECY", Class::Secrecy),
    ("USER", Class::User),
    ("TASK", Class::Task),
    ("ACTION", Class::Action),
    ("URGENT", Class::Urgent),
    ("MARK", Class::Mark),
    ("WEAK_MARK", Class::WeakMark),
    ("ALONE", Class::Alone),
    ("MENTION", Class::Mention),
    ("END", Class::End),
];

/// The farthest that the parts of one order stand from each other, in bytes.
const NEAR: usize = 90;

/// The farthest that the signs of one message stand from each other.
const WINDOW: usize = 420;

/// The sum of signs at which a message is an order.
const ENOUGH: u32 = 6;

const SET_ASIDE: &str = "earlier instructions are to be set aside";

/// The most orders of one text.
const MAX_ORDERS: usize = 16;

/// The words and the class of each.
struct Words {
    automaton: AhoCorasick,
    classes: Vec<Class>,
}

static WORDS: LazyLock<Option<Words>> = LazyLock::new(|| {
    let mut words = Vec::new();
    let mut classes = Vec::new();
    for line in include_str!("orders.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, list) = line.split_once(": ")?;
        let (_, class) = CLASSES.iter().find(|(known, _)| *known == name)?;
        for word in list.split(';').filter(|word| !word.is_empty()) {
            words.push(super::plain(word).text);
            classes.push(*class);
        }
    }
    let automaton = AhoCorasickBuilder::new().match_kind(MatchKind::LeftmostLongest).build(words).ok()?;
    Some(Words { automaton, classes })
});

/// An order in a text that was made plain.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) what: &'static str,
}

/// Where a class was met last, and in which sentence.
#[derive(Debug, Clone, Copy)]
struct Met {
    start: usize,
    end: usize,
    sentence: usize,
}

/// Every order in a plain text.
pub(super) fn all(plain: &Plain) -> Vec<Order> {
    let text = plain.text.as_str();
    let Some(words) = WORDS.as_ref() else {
        return vec![Order { start: 0, end: 0, what: "the words of orders cannot be read" }];
    };
    let mut reading =
        Reading { plain: text, breaks: &plain.breaks, met: [None; CLASSES.len()], sentence: 0, out: Vec::new() };
    for found in words.automaton.find_iter(text) {
        let Some(class) = words.classes.get(found.pattern().as_usize()) else { continue };
        let (start, end) = (found.start(), found.end());
        if *class == Class::End {
            reading.sentence += 1;
        } else if whole_word(text, start, end) {
            reading.meet(*class, Met { start, end, sentence: reading.sentence });
        }
        if reading.out.len() >= MAX_ORDERS {
            break;
        }
    }
    reading.out
}

/// Whether a match is not a part of a longer word; scripts without blanks have no words.
fn whole_word(plain: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| c.is_alphanumeric() && u32::from(c) < 0x2E80;
    let inside = plain.get(start..end).unwrap_or("");
    let before = plain.get(..start).and_then(|head| head.chars().next_back());
    let after = plain.get(end..).and_then(|tail| tail.chars().next());
    let longer_before = inside.chars().next().is_some_and(joins) && before.is_some_and(joins);
    let longer_after = inside.chars().next_back().is_some_and(joins) && after.is_some_and(joins);
    !longer_before && !longer_after
}

struct Reading<'a> {
    plain: &'a str,
    breaks: &'a [usize],
    met: [Option<Met>; CLASSES.len()],
    sentence: usize,
    out: Vec<Order>,
}

impl Reading<'_> {
    fn last(&self, class: Class) -> Option<Met> {
        self.met.get(class as usize).copied().flatten()
    }

    /// The last place of a class in this sentence and near `at`.
    fn near(&self, class: Class, at: &Met) -> Option<Met> {
        self.last(class).filter(|met| met.sentence == at.sentence && at.end.saturating_sub(met.start) <= NEAR)
    }

    fn meet(&mut self, class: Class, at: Met) {
        if let Some(place) = self.met.get_mut(class as usize) {
            *place = Some(at);
        }
        match class {
            Class::Override | Class::OverrideAnywhere | Class::Rules | Class::Prior => self.set_aside(&at),
            Class::Hidden => {
                // `your instructions` are also rules that were given before.
                if self.text(&at).ends_with(['s', 't'])
                    && let Some(verb) = self.near(Class::Override, &at).filter(|verb| self.is_imperative(verb))
                {
                    self.report(verb.start, at.end, SET_ASIDE);
                }
                if let Some(reveal) = self.near(Class::Reveal, &at).or(self.near(Class::Action, &at))
                    && self.is_imperative(&reveal)
                {
                    self.report(reveal.start, at.end, "it asks for what is kept from sight");
                }
            }
            Class::Agent => {
                if let Some(condition) = self.near(Class::Condition, &at)
                    && at.start.saturating_sub(condition.end) <= 12
                    && self.text(&condition).starts_with(['i', 's', 'w', 'е', '如', 'あ'])
                {
                    self.report(condition.start, at.end, "it speaks to whoever is a model");
                }
                self.message(&at);
            }
            Class::User => {
                if let Some(secrecy) = self.near(Class::Secrecy, &at)
                    && at.start.saturating_sub(secrecy.end) <= 24
                    && self.is_imperative(&if self.text(&secrecy).starts_with("without") {
                        self.near(Class::Action, &at).unwrap_or(secrecy)
                    } else {
                        secrecy
                    })
                    && self.is_about_this(&at)
                {
                    self.report(secrecy.start, at.end, "something is to be kept from the user");
                }
                self.message(&at);
            }
            Class::Mark => self.report(at.start, at.end, "it holds a mark that divides a model's input"),
            Class::Alone if !self.is_mentioned(&at) => self.report(at.start, at.end, "it gives a model another part"),
            Class::Task | Class::Action | Class::Urgent | Class::Secrecy | Class::WeakMark => self.message(&at),
            Class::Head if self.text(&at).starts_with("instruction") => self.meet(Class::Rules, at),
            Class::Reveal | Class::Head | Class::Condition | Class::Mention | Class::Alone | Class::End => {}
        }
    }

    fn text(&self, at: &Met) -> &str {
        self.plain.get(at.start..at.end).unwrap_or("")
    }

    /// Orders that were given before are to be set aside.
    fn set_aside(&mut self, at: &Met) {
        let (Some(prior), Some(rules)) = (self.near(Class::Prior, at), self.near(Class::Rules, at)) else { return };
        let verb = match (self.near(Class::OverrideAnywhere, at), self.near(Class::Override, at)) {
            (Some(anywhere), _) => anywhere,
            (None, Some(verb)) if self.is_imperative(&verb) && verb.start < rules.start => verb,
            (None, _) => return,
        };
        let start = verb.start.min(prior.start).min(rules.start);
        let end = verb.end.max(prior.end).max(rules.end);
        if end - start <= NEAR {
            self.report(start, end, SET_ASIDE);
        }
    }

    /// Whether something is said to be kept from the user about this very text, and not about a password, say.
    fn is_about_this(&self, user: &Met) -> bool {
        let tail = self.plain.get(user.end..).unwrap_or("");
        let secrecy = self.last(Class::Secrecy).map_or("", |met| self.text(&met));
        let next = tail.trim_start();
        secrecy.contains("this")
            || next.starts_with("about this")
            || next.starts_with("about these")
            || next.starts_with("about it")
            || next.starts_with(['.', '!', ',', ';'])
            || next.is_empty()
            || next.starts_with("that you")
            || next.starts_with("what you")
    }

    /// Whether a verb is an order: at the beginning of a sentence or after a word that makes it one.
    fn is_imperative(&self, verb: &Met) -> bool {
        let head = self.plain.get(..verb.start).unwrap_or("").trim_end_matches(' ');
        let Some(last) = head.chars().next_back() else { return true };
        if !last.is_alphanumeric() || self.breaks.binary_search(&verb.start).is_ok() {
            return true;
        }
        let word = head.rsplit(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or("");
        let before = head.strip_suffix(word).unwrap_or("").trim_end();
        match word {
            "please" | "now" | "and" | "then" | "must" | "should" | "shall" | "hereby" | "immediately" | "just"
            | "simply" | "also" | "kindly" | "first" | "agent" | "assistant" | "ai" | "bitte" => true,
            "to" => {
                ["need", "have", "required", "instructed", "want you", "ordered"].iter().any(|w| before.ends_with(w))
            }
            _ => false,
        }
    }

    /// Whether the text only speaks of such an order: it is quoted, or an example, after a word that says so.
    fn is_mentioned(&self, at: &Met) -> bool {
        let mentioned =
            |met: &Met| at.start >= met.end && at.start - met.end <= NEAR && at.sentence <= met.sentence + 1;
        let quoted = self
            .plain
            .get(..at.start)
            .and_then(|head| head.chars().next_back())
            .is_some_and(|c| matches!(c, '"' | '\'' | '\u{201c}' | '\u{ab}' | '\u{201e}' | '(' | '\u{300c}'));
        quoted && self.last(Class::Mention).is_some_and(|met| mentioned(&met))
    }

    /// Signs that together make a message to an agent.
    fn message(&mut self, at: &Met) {
        let within = |met: Option<Met>| met.filter(|met| at.end.saturating_sub(met.start) <= WINDOW);
        let mut sum = 0;
        let mut start = at.start;
        let mut add = |met: Option<Met>, weight: u32| {
            if let Some(met) = met {
                sum += weight;
                start = start.min(met.start);
            }
            met.is_some()
        };
        let task = add(within(self.last(Class::Task)), 3);
        let secrecy = add(within(self.last(Class::Secrecy)).filter(|met| self.is_imperative(met)), 2);
        let mark = add(within(self.last(Class::WeakMark)), 2);
        let action = add(within(self.last(Class::Action)).filter(|met| self.is_imperative(met)), 2);
        add(within(self.last(Class::Urgent)), 1);
        let agent = within(self.last(Class::Agent));
        let addressed = agent.filter(|agent| self.is_addressed(agent));
        add(agent, 1);
        let addressed = add(addressed, 3);
        if sum >= ENOUGH && (task || mark || addressed) && (action || secrecy) {
            self.report(start, at.end, "it tells an agent what to do");
        }
    }

    /// Whether an agent is spoken to and not of.
    fn is_addressed(&self, agent: &Met) -> bool {
        let head = self.last(Class::Head).is_some_and(|head| {
            head.end <= agent.start && agent.start - head.end <= 14 && head.sentence == agent.sentence
        });
        let before = self.plain.get(..agent.start).unwrap_or("").trim_end_matches(' ');
        let begins =
            before.chars().next_back().is_none_or(|c| matches!(c, '.' | '!' | '?' | ':' | '>' | '-' | '[' | '(' | '@'));
        let called = self.plain.get(agent.end..).unwrap_or("").starts_with([',', ':', '!']);
        head || (begins && called)
    }

    fn report(&mut self, start: usize, end: usize, what: &'static str) {
        let at = Met { start, end, sentence: self.sentence };
        let known = self
            .out
            .last()
            .is_some_and(|order| order.end >= start || (order.what == what && start - order.end < WINDOW));
        if !known && !self.is_mentioned(&at) {
            self.out.push(Order { start, end, what });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CLASSES;

    #[test]
    fn every_word_has_one_class() {
        let mut seen = std::collections::BTreeMap::new();
        let lines = include_str!("orders.txt").lines().filter(|line| !line.starts_with('#'));
        for (name, list) in lines.filter_map(|line| line.split_once(": ")) {
            assert!(CLASSES.iter().any(|(known, _)| *known == name), "{name}");
            for word in list.split(';') {
                let word = super::super::plain(word).text;
                assert_eq!(seen.insert(word.clone(), name), None, "`{word}` stands in {name} too");
            }
        }
        assert!(super::WORDS.is_some() && seen.len() > 300);
    }
}
