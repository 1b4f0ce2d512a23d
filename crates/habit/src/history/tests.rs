//! Habits and departures from them.

use proptest::prelude::*;

use countersign_plan::deed::Act;

use super::*;

fn act(tool: &str, effect: Effect, place: &str) -> Act {
    Act { tool: tool.parse().unwrap(), effect, place: place.to_owned() }
}

fn usual() -> Vec<Act> {
    vec![act("read_file", Effect::Read, "workspace"), act("write_file", Effect::Update, "workspace")]
}

/// An agent that works at ten o'clock, twice a day.
fn habits(plans: i64) -> History {
    let mut history = History::default();
    for n in 0..plans {
        let day = n / 2;
        history.push(Deed { at: Timestamp::from_millis((day * 24 + 10) * HOUR + n % 2 * 60_000), acts: usual() });
    }
    history
}

fn next(history: &History, hour: i64) -> Timestamp {
    let last = history.0.back().unwrap().at.as_millis().div_euclid(24 * HOUR);
    Timestamp::from_millis(((last + 1) * 24 + hour) * HOUR)
}

#[test]
fn the_usual_is_no_departure_and_an_empty_past_says_nothing() {
    let history = habits(60);
    assert_eq!(history.departure(&Deed { at: next(&history, 10), acts: usual() }), Departure::default());
    let mail = vec![act("send_email", Effect::Send, "mallory@evil.example")];
    assert_eq!(History::EMPTY.departure(&Deed { at: next(&history, 3), acts: mail }), Departure::default());
}

#[test]
fn a_cold_start_counts_little_and_grows_with_the_past() {
    let mail = || vec![act("send_email", Effect::Send, "mallory@evil.example")];
    let novelty = |plans| {
        let history = habits(plans);
        history.departure(&Deed { at: next(&history, 10), acts: mail() }).novelty
    };
    assert_eq!((novelty(1), novelty(12), novelty(200)), (0, 2, 4));
}

#[test]
fn what_is_new_counts_more_when_it_acts_than_when_it_reads() {
    let history = habits(100);
    let departs = |acts| history.departure(&Deed { at: next(&history, 10), acts }).novelty;
    let mut read = usual();
    read.push(act("read_file", Effect::Read, "/etc"));
    let mut sent = usual();
    sent.push(act("send_email", Effect::Send, "new@partner.example"));
    assert!(departs(read) < departs(sent));
}

#[test]
fn the_middle_of_the_night_and_a_burst_are_seen() {
    let mut history = habits(60);
    assert_eq!(history.departure(&Deed { at: next(&history, 3), acts: usual() }).time, 2);
    let burst = next(&history, 10);
    for _ in 0..12 {
        history.push(Deed { at: burst, acts: usual() });
    }
    assert_eq!(history.departure(&Deed { at: burst, acts: usual() }).rate, 2);
}

#[test]
fn one_burst_in_the_past_does_not_make_bursts_usual() {
    let mut history = habits(60);
    let burst = next(&history, 10);
    for _ in 0..40 {
        history.push(Deed { at: burst, acts: usual() });
    }
    let again = next(&history, 10);
    for _ in 0..20 {
        history.push(Deed { at: again, acts: usual() });
    }
    assert_eq!(history.departure(&Deed { at: again, acts: usual() }).rate, 2);
}

#[test]
fn an_order_never_seen_is_a_departure() {
    let history = habits(100);
    let mut turned = usual();
    turned.reverse();
    assert_eq!(history.departure(&Deed { at: next(&history, 10), acts: turned }).sequence, 2);
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let act = ("[a-c]", 0_usize..9, "[a-c]").prop_map(|(tool, n, place)| {
        let effect = [
            Effect::None,
            Effect::Read,
            Effect::Create,
            Effect::Update,
            Effect::Delete,
            Effect::Execute,
            Effect::Send,
            Effect::Pay,
            Effect::Admin,
        ][n];
        Act { tool: tool.parse().unwrap(), effect, place }
    });
    let deed = (0_i64..4_000_000_000_000, prop::collection::vec(act, 0..6))
        .prop_map(|(at, acts)| Deed { at: Timestamp::from_millis(at), acts });
    prop::collection::vec(deed, 1..60)
}

proptest! {
    #[test]
    fn the_points_stay_in_their_range_for_any_past(mut deeds in deeds()) {
        let last = deeds.pop().unwrap();
        let mut history = History::default();
        deeds.into_iter().for_each(|deed| history.push(deed));
        let departure = history.departure(&last);
        prop_assert!(departure.novelty <= 4 && departure.rate <= 2 && departure.time <= 2 && departure.sequence <= 2);
        prop_assert!(departure.points() <= 10);
    }
}
