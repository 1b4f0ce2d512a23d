//! Frames of every channel: what is read is within its bound and is written and read back as the same message.
#![no_main]

use countersign_wire::{executor, frame, operator, propose, step, zygote};
use libfuzzer_sys::fuzz_target;
use prost::Message;

const LIMIT: usize = 4096;

fn judge<M: Message + Default + PartialEq>(data: &[u8]) {
    let mut rest = data;
    // Frames follow each other on a channel.
    while let Ok(message) = frame::read::<M>(&mut rest, LIMIT) {
        let bytes = frame::encode(&message).expect("what was read fits into a frame");
        let again = frame::read::<M>(&mut bytes.as_slice(), frame::FRAME_LIMIT).expect("what was written is read");
        assert!(again == message || message.encode_to_vec() == again.encode_to_vec());
        for cut in [0, 3, bytes.len() / 2, bytes.len() - 1] {
            let cut = bytes.get(..cut).unwrap_or_default();
            assert!(frame::read::<M>(&mut &*cut, frame::FRAME_LIMIT).is_err() || cut.len() == bytes.len());
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((channel, data)) = data.split_first() else { return };
    match channel % 9 {
        0 => judge::<executor::ToExecutor>(data),
        1 => judge::<executor::FromExecutor>(data),
        2 => judge::<operator::ToMonitor>(data),
        3 => judge::<operator::FromMonitor>(data),
        4 => judge::<propose::ToMonitor>(data),
        5 => judge::<propose::FromMonitor>(data),
        6 => judge::<step::FromStep>(data),
        7 => judge::<zygote::ToZygote>(data),
        _ => judge::<zygote::FromZygote>(data),
    }
});
