//! What a long conversation keeps.

use countersign_wire::infer::Role;

use super::History;

const LIMIT: usize = 256 << 10;

#[test]
fn the_newest_is_whole_the_older_brief_the_oldest_counted() {
    let mut history = History::default();
    for i in 0..2000 {
        history.push(
            &format!("said {i} {}", "x".repeat(2000)),
            format!("told {i} {}", "y".repeat(20_000)),
            format!("brief {i}"),
            LIMIT,
        );
    }
    let messages = history.messages("s".to_owned(), "t".to_owned(), LIMIT);
    let size: usize = messages.iter().map(|m| m.content.len()).sum();
    assert!(size < LIMIT + 1000, "{size}");
    assert!(messages.last().is_some_and(|m| m.role == Role::User && m.content.starts_with("told 1999 y")));
    assert!(messages[1].content.contains("earlier exchanges are left out"));
    assert!(messages.iter().any(|m| m.content.starts_with("brief ")));
    let shown = (messages.len() - 2) / 2;
    assert!(messages[1].content.contains(&format!("({} earlier", 2000 - shown)), "{}", messages[1].content);
}

#[test]
fn the_last_exchange_is_whole_whatever_its_size() {
    let mut history = History::default();
    history.push("said", "z".repeat(LIMIT + 1), "brief".to_owned(), LIMIT);
    assert!(history.messages(String::new(), String::new(), LIMIT).last().is_some_and(|m| m.content.len() > LIMIT));
}
