//! Greetings, whole and damaged.

use proptest::prelude::*;

use super::{Hello, read};

fn counted(width: usize, bytes: &[u8]) -> Vec<u8> {
    [&bytes.len().to_be_bytes()[8 - width..], bytes].concat()
}

/// A greeting with these extensions.
pub(crate) fn greeting(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let all: Vec<u8> = extensions
        .iter()
        .flat_map(|(kind, content)| [kind.to_be_bytes().to_vec(), counted(2, content)].concat())
        .collect();
    let body =
        [vec![3, 3], vec![7; 32], counted(1, &[9; 32]), counted(2, &[0x13, 1]), counted(1, &[0]), counted(2, &all)]
            .concat();
    let message = [vec![1], counted(3, &body)].concat();
    [vec![0x16, 3, 1], counted(2, &message)].concat()
}

pub(crate) fn named(name: &str) -> (u16, Vec<u8>) {
    (0, counted(2, &[vec![0], counted(2, name.as_bytes())].concat()))
}

#[test]
fn the_name_is_read_wherever_it_stands() {
    let bytes = greeting(&[(43, vec![2, 3, 4]), named("A.Example"), (51, vec![0; 1200])]);
    assert_eq!(read(&bytes), Hello::Greeting(Some("a.example".to_owned())));
    assert_eq!(read(&greeting(&[(43, vec![2, 3, 4])])), Hello::Greeting(None));
    for cut in 0..bytes.len() {
        assert_eq!(read(&bytes[..cut]), Hello::Partial, "{cut}");
    }
    assert_eq!(read(b"SSH-2.0-x"), Hello::Other);
}

#[test]
fn a_greeting_that_hides_its_name_is_odd() {
    let whole = greeting(&[named("a.example")]);
    assert_eq!(read(&greeting(&[named("a.example"), named("b.example")])), Hello::Odd);
    let two = (0, counted(2, &[vec![0], counted(2, b"a"), vec![0], counted(2, b"b")].concat()));
    assert_eq!(read(&greeting(&[two])), Hello::Odd);
    // In two records.
    let (first, second) = whole[5..].split_at(20);
    let split = [vec![0x16, 3, 1], counted(2, first), vec![0x16, 3, 1], counted(2, second)].concat();
    assert_eq!(read(&split), Hello::Odd);
    assert_eq!(read(&[0x16, 3, 1, 0xff, 0xff]), Hello::Odd);
    assert_eq!(read(&[0x16, 3, 1, 0, 0]), Hello::Odd);
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0..120_usize, to in any::<u8>()) {
        drop(read(&bytes));
        drop(read(&[&[0x16, 3, 1, 0, 100][..], &bytes].concat()));
        let mut greeting = greeting(&[named("a.example")]);
        if let Some(byte) = greeting.get_mut(at) {
            *byte = to;
        }
        drop(read(&greeting));
    }
}
