//! The second reader of texts: one sealed process with a small local model, asked beside the inspectors (docs/classifier.md).
//!
//! It is loaded once and lives long, because its weights are large: what takes it over may lie about later cases too. All that it
//! can say is doubt, which is added to what an inspector found; a lie is doubt where there is none, or silence, which is what there
//! is without it. No answer where one is wanted asks people.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersign_plan::document::{self, Bounds};
use countersign_plan::inspection::{FindingKind, Inspection, Subject, Unknown, UnknownKind};
use countersign_plan::tool::Effect;
use countersign_wire::inspector::FromInspector;
use countersign_wire::zygote::to_zygote::{self, SpawnClassifier};
use prost::Message as _;
use serde::Deserialize;

use super::{Ended, Seat, receive, send};
use crate::monitor::{Command, Monitor};
use crate::zygote::{ChildEvent, Zygote};

/// The file in the configuration folder that wants a classifier.
const FILE: &str = "classifier.yaml";

/// Its format.
const SCHEMA: &str = "countersign.classifier/v1";

/// How long all answers of one event may take together, the loading before the first included: 64 windows of 64 tokens take a slow core
/// two seconds, and the monitor decides nothing else meanwhile.
pub(super) const EVENT: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "schema")]
    _schema: String,
    /// The folder of `model.safetensors` and `vocab.txt`; absolute.
    encoder: PathBuf,
}

/// The classifier of this monitor; none where nobody wants one.
#[derive(Clone)]
pub(super) struct Second {
    wanted: Option<Arc<Wanted>>,
}

struct Wanted {
    zygote: Zygote,
    monitor: Monitor,
    encoder: PathBuf,
    seat: Mutex<Place>,
    changed: Condvar,
}

/// Where the classifier sits.
#[derive(Debug)]
enum Place {
    /// To be started when it is next wanted; why the last one is not there.
    Empty(String),
    /// Asked for, and neither here nor refused.
    Starting,
    /// It waits for questions.
    Ready(Seat),
}

/// A question on its way. Whoever lets go of it unanswered ends the one that was asked: its late answer would be taken for the next.
pub(super) struct Asked<'a> {
    wanted: &'a Arc<Wanted>,
    seat: Option<Seat>,
    /// Why it did not go out.
    failure: String,
    until: Instant,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if let Some(seat) = self.seat.take() {
            self.wanted.dismiss(&seat, "nobody waited for its answer");
        }
    }
}

impl Second {
    /// Starts what the configuration folder wants.
    ///
    /// # Errors
    /// The file is there and cannot be read: whoever wants a classifier and gets none must know.
    pub(super) fn start(config: &Path, zygote: Zygote, monitor: Monitor) -> Result<Self, String> {
        let path = config.join(FILE);
        let place = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let bytes = match std::fs::read(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self { wanted: None }),
            read => read.map_err(|e| place(&e))?,
        };
        let value = document::from_bytes(&bytes, Bounds::CONFIG).map_err(|e| place(&e))?;
        let document: Document = document::of_schema(&value, SCHEMA).map_err(|e| place(&e))?;
        if !document.encoder.is_absolute() {
            return Err(place(&"/encoder: name the folder by an absolute path; evals/classifier/install fills one"));
        }
        let seat = Mutex::new(Place::Empty(String::new()));
        let wanted = Arc::new(Wanted { zygote, monitor, encoder: document.encoder, seat, changed: Condvar::new() });
        wanted.spawn().map_err(|e| place(&e))?;
        Ok(Self { wanted: Some(wanted) })
    }

    /// Puts the question, if it is one for the classifier; the inspector reads meanwhile. Its answer is waited for until then; a time
    /// that is over asks nobody.
    pub(super) fn ask(&self, subject: &Subject, question: &[u8], until: Instant) -> Option<Asked<'_>> {
        let wanted = self.wanted.as_ref().filter(|_| matches!(subject, Subject::Text { .. }))?;
        let (seat, failure) = match wanted.put(question, until) {
            Ok(seat) => (Some(seat), String::new()),
            Err(why) => (None, why),
        };
        Some(Asked { wanted, seat, failure, until })
    }

    /// The zygote ended, and the classifier with it.
    pub(super) fn lost(&self) {
        if let Some(wanted) = &self.wanted {
            *wanted.place() = Place::Empty("the zygote ended".to_owned());
            wanted.changed.notify_all();
        }
    }
}

impl Asked<'_> {
    /// What the inspector said, and what the classifier adds to it; whether it did answer.
    pub(super) fn raise(self, mut inspection: Inspection) -> (Inspection, bool) {
        match self.answer() {
            Ok(said) => {
                let doubts = said.findings.into_iter().filter(|found| found.kind == FindingKind::InjectedInstruction);
                inspection.findings.extend(doubts);
                inspection.unknowns.extend(said.unknowns);
                (inspection, true)
            }
            Err(why) => {
                crate::log(&format!("the classifier gave no answer: {why}"));
                let message = "the classifier did not answer".to_owned();
                inspection.unknowns.push(Unknown {
                    kind: UnknownKind::TooMuch,
                    effect: Effect::None,
                    message,
                    span: None,
                });
                (inspection, false)
            }
        }
    }

    fn answer(mut self) -> Result<Inspection, String> {
        let seat = self.seat.take().ok_or_else(|| std::mem::take(&mut self.failure))?;
        let answer = receive(&seat.socket, self.until).map_err(|e| e.to_string());
        let said = answer.and_then(|answer| FromInspector::decode(answer.as_slice()).map_err(|e| e.to_string()));
        let said = said.and_then(|answer| answer.read().map_err(|e| e.to_string()));
        match &said {
            Ok(_) => *self.wanted.place() = Place::Ready(seat),
            // Late, gone or unintelligible: another one starts for the next question.
            Err(why) => self.wanted.dismiss(&seat, why),
        }
        said
    }
}

impl Wanted {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has one started.
    fn spawn(self: &Arc<Self>) -> Result<(), String> {
        let open = |name: &str| {
            let path = self.encoder.join(name);
            File::open(&path).map_err(|e| format!("{}: {e}; evals/classifier/install puts it there", path.display()))
        };
        let (weights, vocabulary) = (open("model.safetensors")?, open("vocab.txt")?);
        *self.place() = Place::Starting;
        let own = Arc::clone(self);
        let listener = Box::new(move |id, event| own.hear(id, event));
        let kind = to_zygote::Kind::SpawnClassifier(SpawnClassifier {});
        self.zygote.ask(kind, &[weights.as_fd(), vocabulary.as_fd()], listener).map(drop).map_err(|e| {
            let why = format!("no zygote: {e}");
            *self.place() = Place::Empty(why.clone());
            why
        })
    }

    /// On the zygote's own thread, as for inspectors.
    fn hear(&self, id: u64, event: ChildEvent) {
        let mut place = self.place();
        match event {
            ChildEvent::Spawned(_, channel) => {
                let socket = UnixStream::from(channel);
                *place = match socket.set_nonblocking(true) {
                    Ok(()) => Place::Ready(Seat { id, socket }),
                    Err(e) => Place::Empty(e.to_string()),
                };
            }
            ChildEvent::Refused { message, .. } => *place = Place::Empty(message),
            ChildEvent::Exited(exited) => {
                if matches!(&*place, Place::Ready(seat) if seat.id == id) {
                    *place = Place::Empty("it ended".to_owned());
                }
                self.monitor.send(Command::Inspector(Ended { id, exited }));
            }
            ChildEvent::Booted(_) => {}
        }
        self.changed.notify_all();
    }

    /// Sends the question to the one that is there, or to the next.
    fn put(self: &Arc<Self>, question: &[u8], until: Instant) -> Result<Seat, String> {
        if Instant::now() >= until {
            return Err("it had no time left".to_owned());
        }
        if matches!(&*self.place(), Place::Empty(_)) {
            self.spawn()?;
        }
        let mut place = self.place();
        let seat = loop {
            match std::mem::replace(&mut *place, Place::Starting) {
                Place::Ready(seat) => break seat,
                Place::Empty(why) => {
                    *place = Place::Empty(why.clone());
                    return Err(format!("it cannot be started: {why}"));
                }
                Place::Starting => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("it did not start in time".to_owned());
            }
            place = self.changed.wait_timeout(place, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(place);
        send(&seat.socket, question, until).map_err(|e| {
            self.dismiss(&seat, &e.to_string());
            e.to_string()
        })?;
        Ok(seat)
    }

    fn dismiss(&self, seat: &Seat, why: &str) {
        drop(self.zygote.kill(seat.id));
        *self.place() = Place::Empty(why.to_owned());
    }
}
