//! What a score costs on one core: texts of 16, 64 and 256 tokens, alone and together. Needs the encoder: `COUNTERSIGN_CLASSIFIER`.
//!
//! Counts the time that the thread had a core, so that other work on the machine adds less to it.

use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use countersign_classifier::Classifier;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rustix::time::{ClockId, clock_gettime};

/// The time that this thread had a core.
struct ThreadTime;

impl Measurement for ThreadTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
    }

    fn end(&self, begun: Duration) -> Duration {
        self.start().saturating_sub(begun)
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn score(criterion: &mut Criterion<ThreadTime>) {
    let Some(folder) = std::env::var_os("COUNTERSIGN_CLASSIFIER") else {
        drop(writeln!(
            std::io::stderr(),
            "left out: COUNTERSIGN_CLASSIFIER names no folder with the encoder (evals/classifier/install)"
        ));
        return;
    };
    let read = |name: &str| std::fs::read(Path::new(&folder).join(name)).unwrap_or_default();
    let Ok(classifier) = Classifier::new(&read("model.safetensors"), &read("vocab.txt")) else {
        drop(writeln!(std::io::stderr(), "left out: the encoder cannot be loaded"));
        return;
    };
    let mut group = criterion.benchmark_group("score");
    group.sample_size(10);
    for tokens in [16, 64, 256] {
        // One word is one token; two are the marks of the window.
        let text = "the river flows into a lake near our town and then goes on to ".repeat(20);
        let words: Vec<&str> = text.split(' ').take(if tokens <= 64 { tokens - 2 } else { tokens }).collect();
        let text = words.join(" ");
        for batch in [1, 8, 32] {
            let texts = vec![text.as_str(); batch];
            group.throughput(Throughput::Elements(batch as u64));
            group.bench_with_input(BenchmarkId::new(format!("{tokens} tokens"), batch), &texts, |bencher, texts| {
                bencher.iter(|| classifier.score(black_box(texts)));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(ThreadTime);
    targets = score
}
criterion_main!(benches);
