//! Durable appends against a bare SQLite group commit of the same rows, in the same run, in turns.
//!
//! Both sides: one writing thread that commits whatever waits, WAL, `synchronous=FULL`, the same table and index, a thread
//! that copies the log back, and writers that wait for their row to be durable before they send the next. The bare side gets
//! its rows ready-made and keeps no tree, digest, seal or signature; it stands for what the disk and SQLite allow.
//!
//! `cargo bench -p countersign-ledger` prints records per second (medians of the rounds) and the ratios, and exits with 1
//! where a ratio is below its target: 65 % with one writer, 80 % with 64.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a bench that meets the unexpected ends")]
#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use countersign_ledger::checkpoint::{SignCheckpoint, VerifyingKeyInfo};
use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::sqlite::SqliteStore;
use countersign_ledger::{Entry, Ledger, RecordKind};
use countersign_plan::canonical;
use countersign_plan::time::Timestamp;
use ed25519_dalek::{Signer, SigningKey};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

const ROUND: Duration = Duration::from_millis(400);
const ROUNDS: usize = 25;
/// Writers, and the least share of the bare rate.
const TARGETS: [(usize, f64); 2] = [(1, 0.65), (64, 0.80)];

struct Key(SigningKey);

impl SignCheckpoint for Key {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: "bench".parse().expect("a name"), key: self.0.verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// A permit as the gate would record it, about 480 bytes.
fn payload() -> Value {
    json!({
        "action": "execute_command", "attempt": 1, "boot_epoch": 17, "expires_at": "2026-11-21T22:31:50.000Z",
        "args_digest": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "plan_digest": "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "sandbox_digest": "sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9",
        "nonce": "5e884898da28047151d0e56f8dc62927", "step": "run_tests", "reason": "Run the test suite after the change",
    })
}

fn entry(worker: usize) -> Entry {
    let case = format!("c-{worker:04}").parse().expect("a case id");
    let at = Timestamp::from_millis(1_790_000_000_000);
    Entry { kind: RecordKind::Permit, case: Some(case), at, payload: payload(), sealed: true }
}

/// Processor time of all threads so far, in seconds.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    // utime and stime, in ticks of 10 ms (proc_pid_stat(5), fields 14 and 15).
    fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// What one side did in a round.
#[derive(Clone, Copy)]
struct Rate {
    per_second: f64,
    processor_micros: f64,
}

/// Lets `writers` threads append for a round, each waiting for its row.
fn race(writers: usize, append: impl Fn(usize) + Sync) -> Rate {
    let stop = AtomicBool::new(false);
    let (start, processor) = (Instant::now(), processor_seconds());
    let count: u64 = std::thread::scope(|scope| {
        let (append, stop) = (&append, &stop);
        let workers: Vec<_> = (0..writers)
            .map(|worker| {
                scope.spawn(move || {
                    let mut count = 0;
                    while !stop.load(Ordering::Relaxed) {
                        append(worker);
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        std::thread::sleep(ROUND);
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().expect("a worker")).sum()
    });
    let processor = processor_seconds() - processor;
    Rate { per_second: count as f64 / start.elapsed().as_secs_f64(), processor_micros: processor * 1e6 / count as f64 }
}

fn open_ledger(folder: &Path) -> Ledger {
    let store = SqliteStore::open(&folder.join("db/ledger.db")).expect("a store");
    let master = MasterKey::generate().expect("random bytes");
    let key = Key(SigningKey::from_bytes(&[7; 32]));
    Ledger::open(Box::new(store), Box::new(key), master, &folder.join("head/head")).expect("a ledger")
}

/// What a row of the bare side is made of: as long as a sealed row, its nodes, and no head.
struct BareRow {
    case: String,
    payload: Vec<u8>,
    digest: [u8; 32],
    nodes: [u8; 64],
    done: SyncSender<()>,
}

/// The bare side: the ledger's table and index, filled by one thread that commits whatever waits.
fn open_bare(folder: &Path) -> Sender<BareRow> {
    std::fs::create_dir_all(folder).expect("a folder");
    let path = folder.join("bare.db");
    let connection = Connection::open(&path).expect("a database");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY;
             PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON;
             CREATE TABLE records (
               seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, case_id TEXT, digest BLOB NOT NULL,
               salt BLOB, payload BLOB NOT NULL, nodes BLOB NOT NULL, head TEXT
             ) STRICT;
             CREATE INDEX records_of_case ON records (case_id) WHERE case_id IS NOT NULL;",
        )
        .expect("a table");
    let (sender, waiting) = channel();
    std::thread::Builder::new()
        .name("bare-writer".to_owned())
        .spawn(move || bare_writer(connection, &path, &waiting))
        .expect("a thread");
    sender
}

fn bare_writer(mut connection: Connection, path: &Path, waiting: &Receiver<BareRow>) {
    let (wake, woken) = sync_channel::<()>(1);
    let other = Connection::open(path).expect("a second connection");
    std::thread::spawn(move || {
        while woken.recv().is_ok() {
            other.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).expect("a checkpoint");
        }
    });
    let (mut seq, mut since) = (0_i64, 0);
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![first];
        batch.extend(waiting.try_iter().take(2047));
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).expect("begin");
        {
            let sql = "INSERT INTO records (seq, at, kind, case_id, digest, salt, payload, nodes, head) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
            let mut insert = transaction.prepare_cached(sql).expect("a statement");
            for row in &batch {
                let none: Option<&str> = None;
                let at = 1_790_000_000_000_i64;
                let values = params![seq, at, "permit", row.case, row.digest, none, row.payload, row.nodes, none];
                insert.execute(values).expect("an insert");
                seq += 1;
                since += row.payload.len() + 256;
            }
        }
        transaction.commit().expect("commit");
        if since > 4 << 20 {
            since = 0;
            let _ = wake.try_send(());
        }
        for row in batch {
            let _ = row.done.send(());
        }
    }
}

fn median(rates: &[Rate], of: fn(&Rate) -> f64) -> f64 {
    let mut values: Vec<f64> = rates.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn main() -> ExitCode {
    // `cargo test --benches` only wants to know that it runs.
    let rounds = if std::env::args().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = canonical::to_vec(&payload()).len();
    println!("durable append, payload {bytes} bytes, sealed; medians of {rounds} rounds of {ROUND:?} in turns");
    println!(
        "{:>8} {:>10} {:>10} {:>6} {:>7} {:>14} {:>12}",
        "writers", "ledger/s", "bare/s", "ratio", "target", "ledger cpu us", "bare cpu us"
    );
    let ledger = open_ledger(&folder.path().join("ledger"));
    let bare = open_bare(&folder.path().join("bare"));
    // Nonce, salt, ciphertext, tag.
    let sealed = vec![0x5a_u8; 24 + 32 + bytes + 16];
    let mut good = true;
    for (writers, target) in TARGETS {
        let entries: Vec<Entry> = (0..writers).map(entry).collect();
        let cases: Vec<String> = (0..writers).map(|worker| format!("c-{worker:04}")).collect();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            ours.push(race(writers, |worker| {
                let proof = ledger.append(vec![entries[worker].clone()]).wait().expect("a record");
                assert!(!proof.seqs().is_empty(), "a proof names its record");
            }));
            theirs.push(race(writers, |worker| {
                let (done, wait) = sync_channel(1);
                let (case, payload) = (cases[worker].clone(), sealed.clone());
                bare.send(BareRow { case, payload, digest: [7; 32], nodes: [8; 64], done }).expect("the bare writer");
                wait.recv().expect("a commit");
            }));
        }
        let rate = |rates: &[Rate]| median(rates, |rate| rate.per_second);
        let processor = |rates: &[Rate]| median(rates, |rate| rate.processor_micros);
        let ratio = rate(&ours) / rate(&theirs);
        println!(
            "{writers:>8} {:>10.0} {:>10.0} {ratio:>6.2} {target:>7.2} {:>14.1} {:>12.1}",
            rate(&ours),
            rate(&theirs),
            processor(&ours),
            processor(&theirs)
        );
        good &= ratio >= target;
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
