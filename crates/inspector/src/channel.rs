//! Between frames and the reading: nothing is decided here.

use std::io::{Read, Write};

use anyhow::Context as _;
use countersign_plan::inspection::{Inspection, Subject};
use countersign_wire::frame::{self, FRAME_LIMIT, FrameError};
use countersign_wire::inspector::{FromInspector, ToInspector};

/// Answers until the monitor goes.
///
/// # Errors
/// The channel failed, or the monitor said what is no subject; the process must exit.
pub(crate) fn serve(socket: &mut (impl Read + Write), inspect: impl Fn(&Subject) -> Inspection) -> anyhow::Result<()> {
    loop {
        let asked: ToInspector = match frame::read(socket, FRAME_LIMIT) {
            Err(FrameError::Closed) => return Ok(()),
            asked => asked.context("the channel to the monitor")?,
        };
        let subject: Subject = serde_json::from_slice(&asked.subject).context("the subject")?;
        let answer = FromInspector::with(&inspect(&subject));
        frame::write(socket, &answer).context("the channel to the monitor")?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read, Write};

    use countersign_inspect::inspect;
    use countersign_plan::inspection::{Context, FindingKind, Subject};
    use countersign_wire::frame::{self, FRAME_LIMIT};
    use countersign_wire::inspector::{FromInspector, ToInspector};

    use super::serve;

    /// What is asked, and what was answered.
    struct Channel {
        asked: Cursor<Vec<u8>>,
        answered: Vec<u8>,
    }

    impl Read for Channel {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.asked.read(into)
        }
    }

    impl Write for Channel {
        fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
            self.answered.write(from)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn channel(asked: Vec<u8>) -> Channel {
        Channel { asked: Cursor::new(asked), answered: Vec::new() }
    }

    #[test]
    fn each_subject_has_one_answer_and_the_end_of_the_channel_is_the_end() {
        let shell = |line: &str| Subject::Shell { line: line.to_owned(), context: Context::new("/w", "/home/u") };
        let asked = [shell("ls -la"), shell("rm -rf /")];
        let frames = asked.iter().flat_map(|subject| frame::encode(&ToInspector::about(subject).unwrap()).unwrap());
        let mut channel = channel(frames.collect());
        serve(&mut channel, inspect).unwrap();
        let mut answers = channel.answered.as_slice();
        let mut next = || frame::read::<FromInspector>(&mut answers, FRAME_LIMIT).unwrap().read().unwrap();
        assert!(next().is_clear());
        assert!(next().found(FindingKind::DestroysSystem));
        assert!(answers.is_empty());
    }

    #[test]
    fn what_is_no_subject_ends_the_process_without_an_answer() {
        for subject in ["", "{}", r#"{"shell": {"line": 1}}"#, r#"{"run": "ls"}"#] {
            let asked = ToInspector { subject: subject.as_bytes().to_vec() };
            let mut channel = channel(frame::encode(&asked).unwrap());
            assert!(serve(&mut channel, inspect).is_err(), "{subject}");
            assert!(channel.answered.is_empty());
        }
    }
}
