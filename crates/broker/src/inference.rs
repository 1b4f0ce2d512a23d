//! One question to a model, between the monitor's message and its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_wire::broker::to_broker::Infer;
use countersign_wire::broker::{Account, FromBroker, from_broker};
use countersign_wire::infer::{Failure, FailureKind, Outcome, Usage};
use tokio::sync::mpsc;

use crate::serve::Parts;

/// Bytes of an answer between two notes of progress; the first one comes with the first byte.
const STEP: u64 = 512;

/// Asks, and says what came of it.
pub(crate) async fn infer(parts: Option<Arc<Parts>>, infer: &Infer, queue: mpsc::Sender<FromBroker>) {
    let (outcome, account) = match &parts {
        Some(parts) => {
            parts.secrets.surveyed().await;
            let told = AtomicU64::new(0);
            let progress = |bytes: u64| {
                let before = told.load(Ordering::Relaxed);
                if bytes >= if before == 0 { 1 } else { before.saturating_add(STEP) } {
                    told.store(bytes, Ordering::Relaxed);
                    let progress = from_broker::Progress { id: infer.id, bytes };
                    // Progress that finds no room is not worth waiting for.
                    drop(queue.try_send(FromBroker { kind: Some(from_broker::Kind::Progress(progress)) }));
                }
            };
            parts.models.infer(infer, &progress).await
        }
        None => (
            Outcome::Failure(Failure::new(
                FailureKind::NotConfigured,
                "the broker has no configuration that holds".to_owned(),
            )),
            Account {
                provider: infer.provider.clone(),
                model: String::new(),
                outcome: "not_configured".to_owned(),
                usage: Usage::default(),
                attempts: 0,
                millis: 0,
            },
        ),
    };
    let written = serde_json::to_vec(&outcome).and_then(|outcome| Ok((outcome, serde_json::to_vec(&account)?)));
    // Never for these types; without an answer the monitor's own time-out ends the wait.
    let Ok((outcome, account)) = written else { return };
    let redact = |bytes| {
        parts.as_ref().map_or_else(|| Vec::clone(&bytes), |parts| parts.secrets.redactor().redact(bytes.clone()))
    };
    let inferred = from_broker::Inferred { id: infer.id, outcome: redact(outcome), account: redact(account) };
    drop(queue.send(FromBroker { kind: Some(from_broker::Kind::Inferred(inferred)) }).await);
}
