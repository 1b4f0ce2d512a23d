//! One inference from the monitor's request to what it records: provider, clearance, budget, attempts, account.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use countersign_plan::budget::Extra;
use countersign_plan::text;
use countersign_wire::broker::to_broker::Infer;
use countersign_wire::broker::{self, Account};
use countersign_wire::infer::{
    ANSWER_LIMIT, Answer, Failure, FailureKind, Outcome, REQUEST_LIMIT, Request, Role, Usage,
};
use tokio::time::Instant;

use super::book::Book;
use super::budget::{self, Kept, Limits, Prices};
use super::fault::{self, Fault};
use super::provider::{Means, Provider, whole};
use super::redaction;
use super::retry;
use super::written::{Claimed, Written};
use crate::configuration::{Configuration, Secrecy};
use crate::events::Events;
use crate::http::Client;
use crate::secrets::{Secrets, Value};

/// Bytes of JSON around an answer.
const ENVELOPE: usize = 64;

/// What was spent. It outlives a configuration: a new one may raise a limit, it forgives nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spent(Arc<Mutex<Book>>);

impl Spent {
    /// Takes up what was spent before, from a folder of the broker's own; empty for none.
    ///
    /// # Errors
    /// It cannot be used.
    pub(crate) fn open(&self, folder: &str) -> Result<(), String> {
        locked(&self.0).open(folder)
    }
}

/// All providers of the configuration, and what has been spent on them.
pub(crate) struct Models {
    providers: BTreeMap<String, Provider>,
    default: Option<String>,
    budgets: Arc<Mutex<Book>>,
    client: Arc<Client>,
    secrets: Arc<Secrets>,
    events: Events,
}

impl Models {
    /// The providers of `configuration`; what they cost is added to `spent`.
    ///
    /// # Errors
    /// A provider that cannot be used as it is configured, or a script that cannot be read, with its place.
    pub(crate) fn new(
        configuration: &Configuration,
        secrets: Arc<Secrets>,
        client: Arc<Client>,
        events: Events,
        spent: Spent,
    ) -> Result<Self, String> {
        let mut providers = BTreeMap::new();
        for (name, configured) in &configuration.providers {
            let provider = Provider::new(configured).map_err(|e| e.below(&format!("/providers/{name}")).to_string())?;
            providers.insert(name.clone(), provider);
        }
        let micro = |dollars: Option<f64>| dollars.map(|d| whole(d * 1_000_000.0));
        let limits = Limits {
            case_tokens: configuration.budget.tokens_per_case,
            case_micro_dollars: micro(configuration.budget.dollars_per_case),
            day_micro_dollars: micro(configuration.budget.dollars_per_day),
        };
        let Spent(budgets) = spent;
        locked(&budgets).limit(limits);
        let default = configuration.default_provider().map(str::to_owned);
        Ok(Self { providers, default, budgets, client, secrets, events })
    }

    /// What the monitor may know of them; the default one first.
    pub(crate) fn facts(&self) -> Vec<broker::Provider> {
        let mut named: Vec<_> = self.providers.iter().collect();
        named.sort_by_key(|(name, _)| Some(*name) != self.default.as_ref());
        named.into_iter().map(|(name, provider)| provider.facts(name)).collect()
    }

    /// A case ended: what it spent is forgotten, but for the day's account.
    pub(crate) fn case_ended(&self, case: &str) {
        locked(&self.budgets).end(case);
        for provider in self.providers.values() {
            provider.end(case);
        }
    }

    /// Asks a provider. `progress` is told the bytes of the answer so far. Dropped when nobody waits any more; what was sent
    /// until then is booked.
    pub(crate) async fn infer(&self, infer: &Infer, progress: &(dyn Fn(u64) + Send + Sync)) -> (Outcome, Account) {
        let begun = Instant::now();
        let mut run = Run { models: self, asked: infer, attempts: 0, usage: Usage::default(), alert: None, begun };
        let outcome = run.outcome(progress).await;
        let redactor = self.secrets.redactor();
        let (outcome, model) = match outcome {
            Ok(answer) => {
                let model = answer.model.clone();
                (Outcome::Answer(answer), model)
            }
            Err(failure) => {
                let message = redactor.redact_text(&failure.message);
                (Outcome::Failure(Failure { message, ..failure }), String::new())
            }
        };
        if let Some(alert) = &run.alert {
            self.events.alert(&infer.case, &redactor.redact_text(alert)).await;
        }
        let account = Account {
            provider: run.name().to_owned(),
            model,
            outcome: word(&outcome).to_owned(),
            usage: run.usage,
            attempts: run.attempts,
            millis: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        (outcome, account)
    }
}

/// An inference under way.
struct Run<'a> {
    models: &'a Models,
    asked: &'a Infer,
    attempts: u32,
    usage: Usage,
    alert: Option<String>,
    begun: Instant,
}

impl Run<'_> {
    fn name(&self) -> &str {
        let named = Some(self.asked.provider.as_str()).filter(|name| !name.is_empty());
        named.or(self.models.default.as_deref()).unwrap_or_default()
    }

    async fn outcome(&mut self, progress: &(dyn Fn(u64) + Send + Sync)) -> Result<Answer, Failure> {
        let models = self.models;
        let provider = models.providers.get(self.name()).ok_or_else(|| self.unknown())?;
        let request = read(&self.asked.request)?;
        cleared(provider, self.name(), &self.asked.secrecy)?;
        // The key is fetched first, so that it is among the values that are looked for.
        let key = self.key(provider).await?;
        let mut request = redaction::request(&models.secrets.redactor(), request);
        let input = budget::tokens_of(&request);
        request.max_tokens = provider.room(input, request.max_tokens)?;
        let body = provider.body(&request).map_err(failure)?;
        let written = self.attempts(provider, &request, &body, key.as_ref(), progress).await?;
        self.answer(provider, written)
    }

    async fn attempts(
        &mut self,
        provider: &Provider,
        request: &Request,
        body: &Bytes,
        key: Option<&Value>,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Written, Failure> {
        let models = self.models;
        let deadline = self.begun + provider.patience.total();
        let input = budget::tokens_of(request);
        loop {
            let held = self.hold(provider.prices, input, u64::from(request.max_tokens))?;
            self.attempts += 1;
            let report = |bytes: usize| {
                held.seen.store(bytes, Relaxed);
                progress(u64::try_from(bytes).unwrap_or(u64::MAX));
            };
            let means = Means { client: &models.client, key, case: &self.asked.case, deadline, progress: &report };
            let tried = provider.attempt(request, body.clone(), &means).await;
            let bytes = held.seen.load(Relaxed);
            let used = match &tried {
                Ok(written) => budget::used(written.usage, input, written.text.len()),
                Err(fault) if fault.worked => budget::used(Claimed::default(), input, bytes),
                Err(_) => (0, 0),
            };
            self.book(held, provider.prices.usage(used.0, used.1));
            let mut fault = match tried {
                Ok(written) => return Ok(written),
                Err(fault) => fault,
            };
            if fault.alert {
                self.alert = Some(fault.message.clone());
            }
            if fault.key
                && let Some(name) = &provider.key
            {
                models.secrets.stale(name, "");
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(pause) = retry::pause(&fault, self.attempts, provider.patience.attempts, left, random()) else {
                if self.attempts > 1 {
                    fault.message.push_str(&format!(" (after {} attempts)", self.attempts));
                }
                return Err(failure(fault));
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn key(&self, provider: &Provider) -> Result<Option<Value>, Failure> {
        let Some(name) = &provider.key else { return Ok(None) };
        let value = self.models.secrets.value(name, "").await;
        value.map(Some).map_err(|e| failure(Fault::rejected(format!("the provider's key cannot be had: {e}"))))
    }

    fn hold(&mut self, prices: Prices, input: u64, output: u64) -> Result<Held, Failure> {
        let wanted = prices.usage(input, output);
        let budgets = Arc::clone(&self.models.budgets);
        let extra = Extra { tokens: self.asked.extra_tokens, micro_dollars: self.asked.extra_micro_dollars };
        let kept = locked(&budgets).keep(&self.asked.case, wanted, extra, today());
        match kept {
            Ok(kept) => Ok(Held { budgets, kept: Some(kept), prices, input, seen: AtomicUsize::new(0) }),
            Err((spent, first)) => {
                let message = spent.to_string();
                if first {
                    self.alert = Some(message.clone());
                }
                let shortage = if let budget::Spent::Shortage(shortage) = spent { Some(shortage) } else { None };
                Err(Failure { kind: FailureKind::Budget, message, shortage })
            }
        }
    }

    fn book(&mut self, mut held: Held, used: Usage) {
        self.usage = budget::add(&self.usage, &used);
        if let Some(kept) = held.kept.take()
            && locked(&held.budgets).settle(kept, used, today())
        {
            let message = "an inference used more than was estimated, and a budget is passed: no further one is made";
            self.alert = Some(message.to_owned());
        }
    }

    fn answer(&self, provider: &Provider, written: Written) -> Result<Answer, Failure> {
        let secrets = self.models.secrets.redactor();
        let model = if written.model.is_empty() {
            provider.model.clone()
        } else {
            fault::excerpt(&secrets.redact_text(&written.model))
        };
        let text = redaction::answer(&secrets, &written.text);
        let answer = Answer { text, finish: written.finish, model, usage: self.usage };
        // Control characters take six bytes in JSON: the bound is that of the message, not only of the text.
        let length = serde_json::to_vec(&answer).map_or(usize::MAX, |json| json.len());
        if length > ANSWER_LIMIT - ENVELOPE {
            return Err(failure(Fault::garbage(format!(
                "the answer has {length} bytes as JSON; at most {ANSWER_LIMIT} are taken"
            ))));
        }
        Ok(answer)
    }

    fn unknown(&self) -> Failure {
        let message = match self.name() {
            "" => "no model provider is configured: name one under `providers`".to_owned(),
            name => format!("no model provider is called `{}`", text::escape(name)),
        };
        Failure::new(FailureKind::NotConfigured, message)
    }
}

/// An estimate that is kept aside while an attempt runs. However the attempt ends, even because nobody waits for it any
/// more, what it used is booked.
struct Held {
    budgets: Arc<Mutex<Book>>,
    kept: Option<Kept>,
    prices: Prices,
    input: u64,
    /// Bytes of the answer so far.
    seen: AtomicUsize,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            let (input, output) = budget::used(Claimed::default(), self.input, self.seen.load(Relaxed));
            locked(&self.budgets).settle(kept, self.prices.usage(input, output), today());
        }
    }
}

fn read(bytes: &[u8]) -> Result<Request, Failure> {
    let rejected = |what: String| Failure::new(FailureKind::Rejected, format!("not an inference request: {what}"));
    if bytes.len() > REQUEST_LIMIT {
        return Err(rejected(format!("{} bytes, but at most {REQUEST_LIMIT} are taken", bytes.len())));
    }
    let request: Request = serde_json::from_slice(bytes).map_err(|e| rejected(e.to_string()))?;
    let turns = request.messages.iter().skip_while(|m| m.role == Role::System);
    let systems = request.messages.iter().filter(|m| m.role == Role::System).count();
    let mut expected = [Role::User, Role::Assistant].into_iter().cycle();
    if systems > 1 || !turns.clone().all(|m| Some(m.role) == expected.next()) {
        return Err(rejected("after at most one `system` message, `user` and `assistant` alternate".to_owned()));
    }
    if turns.last().is_none_or(|m| m.role != Role::User) {
        return Err(rejected("the last message is not the user's".to_owned()));
    }
    if request.messages.iter().any(|m| m.content.is_empty()) {
        return Err(rejected("a message is empty".to_owned()));
    }
    if request.max_tokens == 0 {
        return Err(rejected("`max_tokens` is 0".to_owned()));
    }
    Ok(request)
}

fn cleared(provider: &Provider, name: &str, secrecy: &str) -> Result<(), Failure> {
    // A word that is unknown here is more secret than everything.
    if Secrecy::of(secrecy).is_some_and(|context| context <= provider.clearance) {
        return Ok(());
    }
    let message = format!(
        "the context is {}, and the provider `{}` is cleared for {}: name a provider with a higher `clearance`",
        text::escape(secrecy),
        text::escape(name),
        provider.clearance.as_str()
    );
    Err(Failure::new(FailureKind::Clearance, message))
}

fn failure(fault: Fault) -> Failure {
    Failure::new(fault.kind, fault.message)
}

const fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Answer(_) => "answer",
        Outcome::Failure(failure) => match failure.kind {
            FailureKind::NotConfigured => "not_configured",
            FailureKind::Clearance => "clearance",
            FailureKind::Budget => "budget",
            FailureKind::Unavailable => "unavailable",
            FailureKind::RateLimited => "rate_limited",
            FailureKind::Rejected => "rejected",
            FailureKind::Garbage => "garbage",
        },
    }
}

fn locked(budgets: &Mutex<Book>) -> MutexGuard<'_, Book> {
    budgets.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the day (UTC).
fn today() -> i64 {
    jiff::Timestamp::now().as_second().div_euclid(86_400)
}

/// For the spread of pauses. Without randomness they are not spread, which is no reason to fail.
fn random() -> u64 {
    getrandom::u64().unwrap_or_default()
}
