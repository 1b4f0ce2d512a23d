//! Values of secrets, by reference: read when they are needed, kept for their time, and gone when the case ends (INV-10).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::configuration::{Configuration, Secret, Source, Vault};
use crate::http::Client;
use crate::secrets::vault::{Lease, VaultError};
use countersign_secret::redact::{Redactor, SHORTEST};

mod out;
mod prints;
mod source;
mod vault;

pub(crate) use out::Out;
pub(crate) use prints::Prints;

/// The longest value, in bytes.
const LONGEST: usize = 64 << 10;
/// How long a value is kept where nothing else is said.
const KEPT: Duration = Duration::from_secs(300);
/// How long any value is kept.
const LONGEST_KEPT: Duration = Duration::from_secs(86_400);
/// How many ended cases are remembered, for credentials that arrive after the end.
const ENDED: usize = 1024;

/// A value. It shows itself to nobody and is overwritten when the last holder lets go of it.
#[derive(Clone)]
pub(crate) struct Value(Arc<Zeroizing<Vec<u8>>>);

/// Environment variables that the monitor passed on by descriptor.
pub(crate) type Environment = BTreeMap<String, Value>;

/// Why there is no value. Holds no part of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SecretError {
    /// Nothing is called so.
    #[error("no secret is called `{0}`")]
    Unknown(String),
    /// It could not be read.
    #[error("secret `{name}`: {why}")]
    Unavailable {
        /// Its name.
        name: String,
        /// Why, without any value.
        why: String,
    },
}

/// All secrets of the configuration.
pub(crate) struct Secrets(Arc<Shared>);

/// Name and case; the case of what the broker itself needs is empty.
type Key = (String, String);

struct Shared {
    sources: BTreeMap<String, Secret>,
    environment: Environment,
    client: Arc<Client>,
    prints: Prints,
    out: Out,
    /// When the sources on this machine were read for their fingerprints.
    surveyed: tokio::sync::Mutex<Option<Instant>>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    values: BTreeMap<Key, Kept>,
    /// Values of environment variables: known before anybody asks.
    passed: Vec<(String, Value)>,
    /// Who is obtaining what: one at a time, so that no credentials are made twice.
    turns: BTreeMap<Key, Arc<tokio::sync::Mutex<()>>>,
    /// Cases that ended; the newest last.
    ended: Vec<String>,
    redactor: Arc<Redactor>,
}

struct Kept {
    value: Value,
    until: Instant,
    lease: Option<Lease>,
}

impl Value {
    /// A value.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Zeroizing::new(bytes)))
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its text, where it is UTF-8.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value(…)")
    }
}

impl Secrets {
    /// The secrets of `configuration`; nothing is read yet.
    pub(crate) fn new(
        configuration: &Configuration,
        environment: Environment,
        client: Arc<Client>,
        prints: Prints,
        out: Out,
    ) -> Self {
        let passed = configuration.secrets.iter().filter_map(|(name, secret)| match &secret.from {
            Source::Env(variable) => {
                let value = environment.get(variable).filter(|value| value.bytes().len() >= SHORTEST)?;
                Some((name.clone(), value.clone()))
            }
            Source::File(_) | Source::Keyring { .. } | Source::Command(_) | Source::Vault(_) => None,
        });
        let mut held = Held { passed: passed.collect(), ..Held::default() };
        held.index(&prints);
        let sources = configuration.secrets.clone();
        let surveyed = tokio::sync::Mutex::default();
        Self(Arc::new(Shared { sources, environment, client, prints, out, surveyed, held: Mutex::new(held) }))
    }

    /// Before anything goes out: the values on this machine are known by their fingerprints, whether anybody has used them or not.
    /// Files and keyrings are read again from time to time, a program runs once.
    pub(crate) async fn surveyed(&self) {
        let mut surveyed = self.0.surveyed.lock().await;
        if surveyed.is_some_and(|at| at.elapsed() < KEPT) {
            return;
        }
        let mut reading = tokio::task::JoinSet::new();
        for (name, secret) in &self.0.sources {
            let due = match &secret.from {
                Source::Env(_) | Source::File(_) | Source::Keyring { .. } => true,
                Source::Command(_) => surveyed.is_none(),
                // Reading there makes credentials.
                Source::Vault(_) => false,
            };
            if due {
                let (shared, name) = (Arc::clone(&self.0), name.clone());
                reading.spawn(async move {
                    // One that cannot be read goes nowhere either; whoever uses it is told why.
                    if let Ok(value) = shared.plain(&name).await {
                        shared.prints.learn(&name, &value).await;
                    }
                });
            }
        }
        while reading.join_next().await.is_some() {}
        *surveyed = Some(Instant::now());
    }

    /// The value of a secret for a case; `case` is empty for what the broker itself needs.
    ///
    /// # Errors
    /// No such secret, or its source has no usable value now.
    pub(crate) async fn value(&self, name: &str, case: &str) -> Result<Value, SecretError> {
        let key = (name.to_owned(), case.to_owned());
        if let Some(value) = self.0.fresh(&key) {
            return Ok(value);
        }
        // A task of its own: whoever waits may give up, but credentials that are being made have to be known to be taken back.
        let shared = Arc::clone(&self.0);
        let obtained = tokio::spawn(async move { shared.obtain(key).await });
        let stopped = |_| SecretError::Unavailable { name: name.to_owned(), why: "the broker is ending".to_owned() };
        obtained.await.map_err(stopped)?
    }

    /// Reads a value again at its next use: a server refused it.
    pub(crate) fn stale(&self, name: &str, case: &str) {
        self.0.stale(name, case);
    }

    /// Takes every value that is known out of text.
    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.0.held().redactor)
    }

    /// Takes back what a broker left that was killed; returns what went wrong with that.
    pub(crate) async fn take_back(&self) -> Vec<String> {
        let lease = |entry: out::Entry| (entry.secret, entry.lease);
        self.0.revoke(self.0.out.left().into_iter().map(lease).collect()).await
    }

    /// A case lives, whether it had ended before or not.
    pub(crate) fn case_lives(&self, case: &str) {
        self.0.held().ended.retain(|ended| ended != case);
    }

    /// Forgets what was obtained for a case and takes credentials back that were made for it; returns what went wrong with that.
    pub(crate) async fn case_ended(&self, case: &str) -> Vec<String> {
        let leases = self.0.held().end(case, &self.0.prints);
        self.0.revoke(leases).await
    }

    /// Forgets everything.
    pub(crate) async fn all_ended(&self) -> Vec<String> {
        let leases = {
            let mut held = self.0.held();
            let cases: BTreeSet<String> = held.values.keys().map(|(_, case)| case.clone()).collect();
            cases.iter().flat_map(|case| held.end(case, &self.0.prints)).collect()
        };
        self.0.revoke(leases).await
    }
}

impl Shared {
    fn fresh(&self, key: &Key) -> Option<Value> {
        let now = Instant::now();
        self.held().values.get(key).filter(|kept| kept.until > now).map(|kept| kept.value.clone())
    }

    fn stale(&self, name: &str, case: &str) {
        if let Some(kept) = self.held().values.get_mut(&(name.to_owned(), case.to_owned())) {
            kept.until = Instant::now();
            if let Some(lease) = &mut kept.lease {
                lease.renewable = false;
            }
        }
    }

    async fn obtain(&self, key: Key) -> Result<Value, SecretError> {
        let turn = Arc::clone(self.held().turns.entry(key.clone()).or_default());
        let _turn = turn.lock().await;
        if let Some(value) = self.fresh(&key) {
            return Ok(value);
        }
        let secret = self.source(&key.0)?;
        let named = |why: String| SecretError::Unavailable { name: key.0.clone(), why };
        let kept = match &secret.from {
            Source::Vault(vault) => {
                let kept = self.leased(&key, secret, vault).await.map_err(named)?;
                if let Some(lease) = &kept.lease
                    && let Err(why) = self.out.add(&key.0, lease)
                {
                    self.revoke(vec![(key.0.clone(), lease.id.clone())]).await;
                    return Err(named(format!("its lease cannot be written down: {why}")));
                }
                kept
            }
            Source::Env(_) | Source::File(_) | Source::Keyring { .. } | Source::Command(_) => {
                let value = self.plain(&key.0).await?;
                Kept { value, until: Instant::now() + secret.ttl.map_or(KEPT, Duration::from_secs), lease: None }
            }
        };
        let value = kept.value.clone();
        self.prints.learn(&key.0, &value).await;
        let outcome = self.held().keep(key.clone(), kept, &self.prints);
        let (outcome, surplus) = match outcome {
            Ok(replaced) => (Ok(value), replaced),
            Err(late) => (Err(named("the case has ended".to_owned())), late),
        };
        self.revoke(surplus.into_iter().map(|lease| (key.0.clone(), lease.id)).collect()).await;
        outcome
    }

    /// The value of a secret on this machine, as its source has it now.
    async fn plain(&self, name: &str) -> Result<Value, SecretError> {
        let unavailable = |why: String| SecretError::Unavailable { name: name.to_owned(), why };
        let read = match self.source(name)?.from.clone() {
            Source::Env(variable) => {
                let value = self.environment.get(&variable);
                return value
                    .cloned()
                    .ok_or_else(|| unavailable(format!("{variable} is not set")))
                    .and_then(|v| sized(name, v));
            }
            Source::File(path) => blocking(move || source::file(&path)).await,
            Source::Keyring { service, account } => blocking(move || source::keyring(&service, &account)).await,
            Source::Command(argv) => source::program(&argv).await,
            Source::Vault(_) => Err("a secret in Vault is no token of Vault".to_owned()),
        };
        sized(name, Value(Arc::new(read.map_err(unavailable)?)))
    }

    async fn leased(&self, key: &Key, secret: &Secret, at: &Vault) -> Result<Kept, String> {
        let mut token = self.token(at).await?;
        let held = self.held().values.get(key).and_then(|kept| Some((kept.value.clone(), kept.lease.clone()?)));
        if let Some((value, lease)) = held.filter(|(_, lease)| lease.renewable)
            && let Ok(lease) = vault::renew(&self.client, at, &token, &lease).await
        {
            return Ok(kept(value, secret, Some(lease)));
        }
        let mut read = vault::read(&self.client, at, &token).await;
        if matches!(read, Err(VaultError::Forbidden)) {
            // The token may have been rotated since it was read.
            self.stale(&at.token, "");
            token = self.token(at).await?;
            read = vault::read(&self.client, at, &token).await;
        }
        let read = read.map_err(VaultError::say)?;
        let value = sized(&key.0, Value(Arc::new(read.value))).map_err(|error| error.to_string());
        match value {
            Ok(value) => Ok(kept(value, secret, read.lease)),
            Err(why) => {
                if let Some(lease) = read.lease {
                    drop(vault::revoke(&self.client, at, &token, &lease.id).await);
                }
                Err(why)
            }
        }
    }

    /// The token of Vault, kept for its time like every other value.
    async fn token(&self, at: &Vault) -> Result<Value, String> {
        let key = (at.token.clone(), String::new());
        if let Some(value) = self.fresh(&key) {
            return Ok(value);
        }
        let said = |error: SecretError| error.to_string();
        let value = self.plain(&at.token).await.map_err(said)?;
        let ttl = self.source(&at.token).map_err(said)?.ttl;
        let until = Instant::now() + ttl.map_or(KEPT, Duration::from_secs);
        self.prints.learn(&at.token, &value).await;
        // A token has no lease that could be left over.
        drop(self.held().keep(key, Kept { value: value.clone(), until, lease: None }, &self.prints));
        Ok(value)
    }

    /// Takes credentials back: name of the secret, id of the lease.
    async fn revoke(&self, leases: Vec<(String, String)>) -> Vec<String> {
        let mut failed = Vec::new();
        for (name, lease) in leases {
            let Ok(Secret { from: Source::Vault(at), .. }) = self.source(&name) else { continue };
            let outcome = match self.token(at).await {
                Ok(token) => vault::revoke(&self.client, at, &token, &lease).await.map_err(VaultError::say),
                Err(why) => Err(why),
            };
            if outcome.is_ok() {
                self.out.remove(&lease);
            }
            if let Err(why) = outcome {
                failed.push(format!(
                    "credentials of secret `{name}` could not be taken back and live until they expire: {why}"
                ));
            }
        }
        failed
    }

    fn source(&self, name: &str) -> Result<&Secret, SecretError> {
        self.sources.get(name).ok_or_else(|| SecretError::Unknown(countersign_plan::text::escape(name)))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Keeps a value, unless its case has ended meanwhile. Either way the lease that is left over is to be taken back: that of
    /// the value before, or its own.
    fn keep(&mut self, key: Key, kept: Kept, prints: &Prints) -> Result<Option<Lease>, Option<Lease>> {
        if !key.1.is_empty() && self.ended.contains(&key.1) {
            return Err(kept.lease);
        }
        let id = kept.lease.as_ref().map(|lease| lease.id.clone());
        let mut surplus = None;
        if let Some(old) = self.values.insert(key, kept) {
            surplus = old.lease.filter(|lease| Some(&lease.id) != id.as_ref());
        }
        self.index(prints);
        Ok(surplus)
    }

    /// Forgets a case; returns the leases that it held.
    fn end(&mut self, case: &str, prints: &Prints) -> Vec<(String, String)> {
        let mut leases = Vec::new();
        let of_case = |key: &Key| key.1 == case;
        for (key, kept) in self.values.iter_mut().filter(|(key, _)| of_case(key)) {
            leases.extend(kept.lease.take().map(|lease| (key.0.clone(), lease.id)));
        }
        self.values.retain(|key, _| !of_case(key));
        self.turns.retain(|key, _| !of_case(key));
        self.ended.push(case.to_owned());
        let surplus = self.ended.len().saturating_sub(ENDED);
        self.ended.drain(..surplus);
        self.index(prints);
        leases
    }

    fn index(&mut self, prints: &Prints) {
        let current = self.values.iter().map(|((name, _), kept)| (name.as_str(), kept.value.bytes()));
        let passed = self.passed.iter().map(|(name, value)| (name.as_str(), value.bytes()));
        self.redactor = Arc::new(prints.with(Redactor::of(current.chain(passed))));
    }
}

/// A value of Vault: used for two thirds of its lease, so that it does not expire under way.
fn kept(value: Value, secret: &Secret, lease: Option<Lease>) -> Kept {
    let leased = lease.as_ref().map(|lease| lease.lasts * 2 / 3);
    let asked = secret.ttl.map(Duration::from_secs);
    let lasts = match (leased, asked) {
        (Some(leased), Some(asked)) => leased.min(asked),
        (Some(lasts), None) | (None, Some(lasts)) => lasts,
        (None, None) => KEPT,
    };
    Kept { value, until: Instant::now() + lasts.min(LONGEST_KEPT), lease }
}

fn sized(name: &str, value: Value) -> Result<Value, SecretError> {
    if (SHORTEST..=LONGEST).contains(&value.bytes().len()) {
        return Ok(value);
    }
    let why = format!("a value has {SHORTEST} to {LONGEST} bytes");
    Err(SecretError::Unavailable { name: name.to_owned(), why })
}

async fn blocking<T: Send + 'static>(read: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
}
