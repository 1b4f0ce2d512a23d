//! Change requests of services: the broker reads them, the monitor keeps them for a while and judges with what it has. A service
//! that cannot be read leaves none, and what is protected stays so (INV-4).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// After this a document is read again.
const FRESH: Duration = Duration::from_secs(60);
/// After this it counts no more: the service was not to be had meanwhile.
const LASTS: Duration = Duration::from_secs(300);
/// How long nobody asks again.
const AGAIN: Duration = Duration::from_secs(10);
/// The most services.
const SERVICES: usize = 16;

/// What services said, by the JSON of the service.
#[derive(Debug, Default)]
pub(crate) struct Services(BTreeMap<String, Known>);

#[derive(Debug, Default)]
struct Known {
    asked: Option<Instant>,
    read: Option<(Instant, Vec<u8>)>,
}

impl Services {
    /// What a service said last, if that still counts; from now on it is read again and again.
    pub(crate) fn document(&mut self, service: &str) -> Option<&[u8]> {
        if !self.0.contains_key(service) && self.0.len() >= SERVICES {
            return None;
        }
        let known = self.0.entry(service.to_owned()).or_default();
        known.read.as_ref().map(|(_, document)| document.as_slice())
    }

    /// The services that are to be asked now. They count as asked.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<String> {
        let older = |at: Option<Instant>, than: Duration| at.is_none_or(|at| now.duration_since(at) >= than);
        let mut due = Vec::new();
        for (service, known) in &mut self.0 {
            if older(known.read.as_ref().map(|(at, _)| *at), FRESH) && older(known.asked, AGAIN) {
                known.asked = Some(now);
                due.push(service.clone());
            }
        }
        due
    }

    /// Whether there is a service of which nothing is known.
    pub(crate) fn is_unread(&self) -> bool {
        self.0.values().any(|known| known.read.is_none())
    }

    /// What a service said; whether that is something else than before.
    pub(crate) fn read(&mut self, service: &str, document: Vec<u8>, now: Instant) -> bool {
        let Some(known) = self.0.get_mut(service) else { return false };
        let other = known.read.as_ref().is_none_or(|(_, before)| *before != document);
        known.read = Some((now, document));
        other
    }

    /// Forgets what is too old; whether there was any.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let mut any = false;
        for known in self.0.values_mut() {
            let old = known.read.as_ref().is_some_and(|(at, _)| now.duration_since(*at) >= LASTS);
            if old {
                known.read = None;
                any = true;
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{AGAIN, FRESH, LASTS, SERVICES, Services};

    #[test]
    fn a_document_is_read_again_and_counts_no_longer_than_it_lasts() {
        let mut services = Services::default();
        let start = Instant::now();
        assert_eq!(services.due(start), [""; 0], "nobody is asked before somebody wants to know");
        assert_eq!(services.document("a"), None);
        assert!(services.is_unread());
        assert_eq!(services.due(start), ["a"]);
        assert_eq!(services.due(start + AGAIN / 2), [""; 0]);
        assert_eq!(services.due(start + AGAIN), ["a"], "one that gave no answer is asked again");
        assert!(services.read("a", b"one".to_vec(), start));
        assert!(!services.read("a", b"one".to_vec(), start) && !services.is_unread());
        assert_eq!(services.document("a"), Some(&b"one"[..]));
        assert_eq!(services.due(start + FRESH / 2), [""; 0]);
        assert_eq!(services.due(start + FRESH), ["a"]);
        assert!(!services.expire(start + LASTS - Duration::from_millis(1)));
        assert!(services.expire(start + LASTS));
        assert_eq!(services.document("a"), None);
    }

    #[test]
    fn services_without_end_are_not_kept() {
        let mut services = Services::default();
        for i in 0..100 {
            assert_eq!(services.document(&i.to_string()), None);
        }
        assert_eq!(services.due(Instant::now()).len(), SERVICES);
    }
}
