//! What a manifest hands to a program beside its command line: variables, standard input and private files. Values of secrets that
//! the step's grant exposes come sealed from the broker, go nowhere else, and are taken out of what the program says (INV-10).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use countersign_plan::confinement::SandboxSpec;
use countersign_plan::resolve::SECRET_HANDLE;
use countersign_plan::tool::{CommandDriver, Handed};
use countersign_secret::handover::Asking;
use countersign_secret::redact::Redactor;
use countersign_wire::egress::{ask, reply};
use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use zeroize::Zeroizing;

use super::Outcome;
use super::template::scalar;
use crate::broker::{self, Silent, Term};
use crate::failure::Failure;
use crate::program::Invocation;
use crate::watcher::Watcher;

/// Hands things to one program.
pub(super) struct Handing<'a> {
    spec: &'a SandboxSpec,
    args: &'a Value,
    watcher: &'a mut dyn Watcher,
    term: Term,
    begun: Instant,
    shown: BTreeMap<String, Zeroizing<Vec<u8>>>,
    given: Given,
}

/// What a program is given. Its files are gone when this is.
#[derive(Debug, Default)]
pub(super) struct Given {
    environment: BTreeMap<String, String>,
    input: Option<Vec<u8>>,
    files: Vec<PrivateFile>,
}

#[derive(Debug)]
struct PrivateFile(PathBuf);

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // Where it lies ends with the step.
        drop(std::fs::remove_file(&self.0));
    }
}

impl<'a> Handing<'a> {
    /// For a step with these arguments.
    pub(super) fn new(spec: &'a SandboxSpec, args: &'a Value, watcher: &'a mut dyn Watcher) -> Self {
        let (term, begun) = (Term::of(spec), Instant::now());
        Self { spec, args, watcher, term, begun, shown: BTreeMap::new(), given: Given::default() }
    }

    /// What a command's manifest hands it.
    pub(super) fn command(mut self, driver: &CommandDriver, invocation: &mut Invocation) -> Outcome<Given> {
        for (name, handed) in &driver.files {
            if let Some(value) = self.value(name, handed)? {
                let path = self.file(&value)?;
                self.given.environment.insert(name.clone(), path);
            }
        }
        if let Some(handed) = &driver.stdin {
            self.given.input = self.value("the standard input", handed)?.map(|value| value.to_vec());
        }
        self.environment(&driver.env, invocation)
    }

    /// The variables that a manifest gives a program.
    pub(super) fn environment(
        mut self,
        variables: &BTreeMap<String, Handed>,
        invocation: &mut Invocation,
    ) -> Outcome<Given> {
        for (name, handed) in variables {
            if let Some(value) = self.value(name, handed)? {
                let text = String::from_utf8(value.to_vec())
                    .map_err(|_| Failure::new(format!("the value of the variable {name} is no text")))?;
                self.given.environment.insert(name.clone(), text);
            }
        }
        let Self { shown, mut given, begun, .. } = self;
        invocation.environment.append(&mut given.environment);
        if let Some(input) = given.input.take() {
            invocation.input = input;
        }
        if !shown.is_empty() {
            let values = shown.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
            invocation.shown = Some(Redactor::of(values));
        }
        invocation.timeout = invocation.timeout.saturating_sub(begun.elapsed());
        Ok(given)
    }

    /// What is handed over; none where its argument is absent.
    fn value(&mut self, what: &str, handed: &Handed) -> Outcome<Option<Zeroizing<Vec<u8>>>> {
        let name = match handed {
            Handed::Literal(text) => return Ok(Some(Zeroizing::new(text.clone().into_bytes()))),
            Handed::Secret(part) => part.secret.as_str(),
            Handed::Argument(place) => {
                let Some(value) = place.arg.get(self.args) else { return Ok(None) };
                let handle = value.as_object().filter(|members| members.len() == 1);
                match handle.and_then(|members| members.get(SECRET_HANDLE)?.as_str()) {
                    Some(name) => name,
                    None => return scalar(what, value).map(|text| Some(Zeroizing::new(text.into_bytes()))),
                }
            }
        };
        self.reveal(name).map(Some)
    }

    fn reveal(&mut self, name: &str) -> Outcome<Zeroizing<Vec<u8>>> {
        if let Some(value) = self.shown.get(name) {
            return Ok(value.clone());
        }
        let failed = |error: countersign_secret::handover::HandoverError| {
            Failure::new(format!("the value of secret `{name}` did not arrive: {error}"))
        };
        let asking = Asking::begin().map_err(failed)?;
        let ask = ask::Reveal { name: name.to_owned(), key: asking.public().to_vec() };
        match broker::ask(self.watcher, ask::Kind::Reveal(ask), self.term, Silent::Failed)? {
            reply::Kind::Revealed(sealed) => {
                let value = asking.open(name, &sealed).map_err(failed)?;
                self.shown.insert(name.to_owned(), value.clone());
                Ok(value)
            }
            _ => Err(broker::stray(Silent::Failed)),
        }
    }

    /// A file in the step's own `/tmp` that only its user can read; its path.
    fn file(&mut self, content: &[u8]) -> Outcome<String> {
        if self.spec.limits.tmp_bytes == 0 {
            return Err(Failure::new("the tool wants private files, and this step has no `/tmp` of its own"));
        }
        let mut random = [0; 16];
        let failed = |why: &dyn std::fmt::Display| Failure::new(format!("cannot make a private file: {why}"));
        getrandom::fill(&mut random).map_err(|error| failed(&error))?;
        let path = PathBuf::from(format!("/tmp/handed-{}", hex::encode(random)));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(&path, flags, Mode::RUSR).map_err(|error| failed(&error))?;
        let shown = path.display().to_string();
        self.given.files.push(PrivateFile(path));
        File::from(file).write_all(content).map_err(|error| failed(&error))?;
        Ok(shown)
    }
}

#[cfg(test)]
mod tests;
