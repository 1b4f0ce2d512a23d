//! An exchange with whoever is at the other end.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use countersign_plan::inspection::Inspection;
use countersign_wire::frame;
use countersign_wire::inspector::FromInspector;

use super::{FRAME, exchange};

/// A deadline that no test waits for.
fn late() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

/// A peer that reads the question whole and then says `answer`.
fn peer(length: usize, answer: Vec<u8>) -> (UnixStream, JoinHandle<UnixStream>) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let thread = std::thread::spawn(move || {
        let mut asked = vec![0; length];
        theirs.read_exact(&mut asked).unwrap();
        // One that is not believed is not listened to.
        drop(theirs.write_all(&answer));
        theirs
    });
    (ours, thread)
}

#[test]
fn a_question_larger_than_any_buffer_is_sent_whole_and_its_answer_read() {
    let answer = frame::encode(&FromInspector::with(&Inspection::default())).unwrap();
    let (ours, peer) = peer(3 << 20, answer.clone());
    assert_eq!(exchange(&ours, &vec![7; 3 << 20], late()).unwrap(), answer[4..]);
    peer.join().unwrap();
}

#[test]
fn an_answer_too_large_too_much_or_cut_off_is_none() {
    let announced = u32::try_from(FRAME + 1).unwrap().to_be_bytes().to_vec();
    let (ours, peer_) = peer(1, announced);
    assert!(exchange(&ours, &[7], late()).unwrap_err().to_string().contains("at most"));
    drop(peer_.join().unwrap());
    let mut two = frame::encode(&FromInspector::with(&Inspection::default())).unwrap();
    two.extend(two.clone());
    let (ours, peer_) = peer(0, two);
    // Both came at once; one that comes later is never read.
    drop(peer_.join().unwrap());
    assert!(exchange(&ours, &[], late()).unwrap_err().to_string().contains("more than it was asked"));
    let (ours, peer_) = peer(1, vec![0, 0, 0, 9, 1]);
    let end = std::thread::spawn(move || drop(peer_.join().unwrap()));
    assert_eq!(exchange(&ours, &[7], late()).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    end.join().unwrap();
}

#[test]
fn one_that_says_nothing_or_does_not_listen_is_not_waited_for_beyond_the_deadline() {
    let soon = || Instant::now() + Duration::from_millis(50);
    let (ours, _silent) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    assert_eq!(exchange(&ours, &[7], soon()).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(exchange(&ours, &vec![7; 8 << 20], soon()).unwrap_err().kind(), ErrorKind::TimedOut);
}
