//! Ends of lines, bounds, and any boundary of chunks.

use proptest::prelude::*;

use super::{EVENT_LIMIT, Event, EventError, Events};

fn read(chunks: &[&[u8]]) -> Result<Vec<Event>, EventError> {
    let mut events = Events::default();
    let mut out = Vec::new();
    for chunk in chunks {
        let mut chunk = *chunk;
        while let Some(event) = events.next(&mut chunk)? {
            out.push(event);
        }
    }
    Ok(out)
}

fn event(name: &str, data: &str) -> Event {
    Event { name: name.to_owned(), data: data.to_owned() }
}

#[test]
fn every_end_of_line_of_the_standard_ends_a_line() {
    for end in ["\n", "\r\n", "\r"] {
        let text = format!(": comment{end}event: a{end}data: 1{end}data:2{end}{end}data{end}{end}data: 3{end}");
        assert_eq!(read(&[text.as_bytes()]).unwrap(), [event("a", "1\n2"), event("", "")], "{end:?}");
    }
}

#[test]
fn a_byte_order_mark_counts_only_at_the_start() {
    assert_eq!(read(&[b"\xef\xbb\xbfdata: 1\n\n"]).unwrap(), [event("", "1")]);
    assert_eq!(read(&[b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n"]).unwrap(), [event("", "1")]);
}

#[test]
fn an_event_without_data_is_none() {
    assert_eq!(read(&[b"event: ping\nid: 7\nretry: 10\n\ndata: x\n\n"]).unwrap(), [event("", "x")]);
}

#[test]
fn an_event_that_is_cut_off_is_none() {
    assert_eq!(read(&[b"data: 1\n\ndata: 2\n"]).unwrap(), [event("", "1")]);
}

#[test]
fn an_event_without_end_is_refused_at_its_bound() {
    let chunk = [b'x'; 4096];
    let mut events = Events::default();
    let mut refused_after = 0;
    for n in 0..1000 {
        if events.next(&mut chunk.as_slice()).is_err() {
            refused_after = n * chunk.len();
            break;
        }
    }
    assert_eq!(refused_after, EVENT_LIMIT);
    let lines = "data: 0123456789\n".repeat(EVENT_LIMIT / 8);
    assert_eq!(read(&[lines.as_bytes()]), Err(EventError::Oversize));
}

#[test]
fn bytes_that_are_no_text_are_refused_and_not_mended() {
    assert_eq!(read(&[b"data: \xff\n\n"]), Err(EventError::Encoding));
}

proptest! {
    #[test]
    fn the_boundaries_of_chunks_do_not_matter(
        text in "((data|event|id|:|x)?(: ?)?[a-zé]{0,3}(\n|\r|\r\n)){0,12}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes = text.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|i| i.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let chunks: Vec<&[u8]> = at.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(read(&chunks), read(&[bytes]));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(read(&[&bytes]));
    }
}
