//! What it costs to read, canonicalise and verify a plan, beside the nearest thing that does less.
//!
//! `cargo bench -p countersign-plan`

use std::hint::black_box;

use countersign_plan::canonical;
use countersign_plan::document::{self, Bounds};
use countersign_plan::draft::Draft;
use countersign_plan::envelope::{Envelope, pae};
use countersign_plan::key::PublicKey;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

const TYPE: &str = "application/vnd.in-toto+json";

/// A plan as planners write them: every step has arguments, a reason, an expectation, and uses the step before.
fn plan(steps: usize) -> Value {
    let step = |i: usize| {
        let from = if i == 0 { json!("report.csv") } else { json!({"$from": format!("s{}", i - 1), "at": "/path"}) };
        json!({
            "id": format!("s{i}"), "action": "copy_file",
            "args": {"source": from, "destination": format!("archive/2026/report-{i}.csv")},
            "reason": "Keep last month's figures before they are replaced",
            "expect": [{"output": "/bytes", "min": 1}], "rollback": "snapshot", "irreversible": false
        })
    };
    let steps: Vec<Value> = (0..steps).map(step).collect();
    json!({"schema": "countersign.plan/v1", "goal": "Archive the reports", "steps": steps, "expires_in": "15m"})
}

fn read(c: &mut Criterion) {
    let bytes = serde_json::to_vec(&plan(50)).unwrap_or_default();
    let mut group = c.benchmark_group("read a plan of 50 steps");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("serde_json::from_slice", |b| b.iter(|| serde_json::from_slice::<Value>(black_box(&bytes))));
    group.bench_function("strict value", |b| b.iter(|| document::from_json(black_box(&bytes), Bounds::PLAN)));
    group.bench_function("checked draft with digest", |b| b.iter(|| Draft::read(black_box(&bytes))));
    group.finish();
}

fn write(c: &mut Criterion) {
    let value = plan(14);
    let bytes = canonical::to_vec(&value);
    let mut group = c.benchmark_group(format!("canonical bytes of a plan of {} bytes", bytes.len()));
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("serde_json::to_vec", |b| b.iter(|| serde_json::to_vec(black_box(&value))));
    group.bench_function("serde_jcs::to_vec", |b| b.iter(|| serde_jcs::to_vec(black_box(&value))));
    group.bench_function("canonical::to_vec", |b| b.iter(|| canonical::to_vec(black_box(&value))));
    group.bench_function("canonical::digest", |b| b.iter(|| canonical::digest(black_box(&value))));
    group.finish();
}

fn verify(c: &mut Criterion) {
    let secret = SigningKey::from_bytes(&[1; 32]);
    let Ok(public) = PublicKey::from_bytes(&secret.verifying_key().to_bytes()) else { return };
    let payload = canonical::to_vec(&plan(14));
    let signature = secret.sign(&pae(TYPE, &payload));
    let envelope = Envelope::signed(TYPE, payload, public.id(), signature.to_bytes());
    let json = envelope.to_json();
    let mut group = c.benchmark_group("an envelope over 4 KiB");
    group.bench_function("signature alone", |b| {
        let message = pae(TYPE, envelope.unverified_payload());
        b.iter(|| secret.verifying_key().verify_strict(black_box(&message), &signature));
    });
    group.bench_function("verify", |b| b.iter(|| black_box(&envelope).verify(TYPE, &public).map(<[u8]>::len)));
    group.bench_function("read and verify", |b| {
        b.iter(|| Envelope::from_json(black_box(&json)).is_ok_and(|envelope| envelope.verify(TYPE, &public).is_ok()));
    });
    group.finish();
}

criterion_group!(benches, read, write, verify);
criterion_main!(benches);
