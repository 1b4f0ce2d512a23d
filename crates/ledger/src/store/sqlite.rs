//! A store in one SQLite file: write-ahead log, `synchronous=FULL`, one transaction and one fsync per batch.
//!
//! Nobody but the owner may read file or folder; one process writes at a time (a lock file). The log is copied back by a
//! thread with a connection of its own, so that no append waits for it (every 1,000 pages it would otherwise).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::time::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, TransactionBehavior, params};

use crate::checkpoint::VerifyingKeyInfo;
use crate::merkle::Hash;
use crate::record::{Leaf, RecordKind, Row, Salt, StoredPayload};
use crate::store::{Batch, Genesis, KeyPeriod, ReadStore, Selection, Store, StoreError, StoredCaseKey};

mod backfill;

use backfill::Backfill;

/// "CSLG": marks the file as a Countersign ledger.
const APPLICATION_ID: i64 = 0x4353_4c47;
/// The format of the tables below.
const FORMAT: i64 = 1;
/// After this many bytes of rows one `rows` call returns, so that long payloads do not add up.
const MAX_CHUNK_BYTES: usize = 4 << 20;

const SCHEMA: &str = "
CREATE TABLE ledger (
  id INTEGER PRIMARY KEY CHECK (id = 1), ledger TEXT NOT NULL, master_check BLOB NOT NULL, key TEXT NOT NULL
) STRICT;
CREATE TABLE signing_keys (from_size INTEGER PRIMARY KEY, key TEXT NOT NULL) STRICT;
CREATE TABLE cases (case_id TEXT PRIMARY KEY, wrapped_key BLOB) STRICT, WITHOUT ROWID;
CREATE TABLE records (
  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, case_id TEXT, digest BLOB NOT NULL,
  salt BLOB, payload BLOB NOT NULL, nodes BLOB NOT NULL, head TEXT
) STRICT;
CREATE INDEX records_of_case ON records (case_id) WHERE case_id IS NOT NULL;
";

const INSERT: &str = "INSERT INTO records (seq, at, kind, case_id, digest, salt, payload, nodes, head) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// The reading side: a connection of its own.
#[derive(Debug)]
pub struct SqliteReader {
    path: PathBuf,
    connection: Connection,
}

/// The writing side, one per file.
#[derive(Debug)]
pub struct SqliteStore {
    reader: SqliteReader,
    backfill: Backfill,
    /// A key was destroyed, and the log still holds the page on which it was.
    scrub: bool,
    /// Held as long as the store is open.
    _lock: File,
}

impl SqliteStore {
    /// Opens the database at `path` for writing, or creates it (mode 0600, its folder 0700).
    ///
    /// # Errors
    /// It is damaged, foreign, of another version, in use, or open to others than its owner.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let lock = prepare_files(path)?;
        let reader = SqliteReader { path: path.to_owned(), connection: connect(path)? };
        reader.adopt()?;
        let backfill = Backfill::start(path, connect(path)?)?;
        Ok(Self { reader, backfill, scrub: false, _lock: lock })
    }

    fn sql(&self, error: rusqlite::Error) -> StoreError {
        sql_error(&self.reader.path, error)
    }

    fn write(&mut self, batch: &Batch<'_>) -> Result<usize, rusqlite::Error> {
        let transaction = self.reader.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut bytes = 0;
        {
            let mut insert = transaction.prepare_cached(INSERT)?;
            for row in batch.rows {
                let (salt, payload) = match &row.payload {
                    StoredPayload::Clear { salt, json } => (Some(salt), json),
                    StoredPayload::Sealed(sealed) => (None, sealed),
                };
                bytes += payload.len() + 256;
                insert.execute(params![
                    row.leaf.seq.cast_signed(),
                    row.leaf.at.as_millis(),
                    row.leaf.kind.name(),
                    row.leaf.case.as_ref().map(CaseId::as_str),
                    row.leaf.payload_digest.as_bytes(),
                    salt,
                    payload,
                    row.nodes.as_flattened(),
                    row.head,
                ])?;
            }
        }
        for (case, wrapped) in batch.case_keys {
            let mut add = transaction.prepare_cached("INSERT INTO cases (case_id, wrapped_key) VALUES (?1, ?2)")?;
            add.execute(params![case.as_str(), wrapped])?;
        }
        for case in batch.erased {
            let mut erase = transaction.prepare_cached(
                "INSERT INTO cases (case_id, wrapped_key) VALUES (?1, NULL) ON CONFLICT DO UPDATE SET wrapped_key = NULL",
            )?;
            erase.execute([case.as_str()])?;
        }
        if let Some(period) = batch.rotated {
            transaction.execute(
                "INSERT INTO signing_keys (from_size, key) VALUES (?1, ?2)",
                params![period.from.cast_signed(), period.key.to_string()],
            )?;
        }
        transaction.commit()?;
        Ok(bytes)
    }
}

impl SqliteReader {
    /// Opens the database at `path` for reading, while another process may write to it.
    ///
    /// # Errors
    /// There is none, or it is damaged, foreign or of another version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        check_file(path)?;
        let reader = Self { path: path.to_owned(), connection: connect(path)? };
        reader.check_format()?;
        reader.connection.pragma_update(None, "query_only", true).map_err(|error| reader.sql(error))?;
        Ok(reader)
    }

    fn sql(&self, error: rusqlite::Error) -> StoreError {
        sql_error(&self.path, error)
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        self.connection.pragma_query_value(None, name, |row| row.get(0)).map_err(|error| self.sql(error))
    }

    fn check_format(&self) -> Result<(), StoreError> {
        let path = || self.path.clone();
        match self.pragma("application_id")? {
            APPLICATION_ID => {}
            found => return Err(StoreError::Foreign { path: path(), found }),
        }
        match self.pragma("user_version")? {
            FORMAT => Ok(()),
            found => Err(StoreError::Version { path: path(), found, known: FORMAT }),
        }
    }

    /// Takes over a ledger's database, or makes an empty file one. Another program's database is not touched.
    fn adopt(&self) -> Result<(), StoreError> {
        let count = "SELECT count(*) FROM sqlite_schema";
        let tables: i64 = self.connection.query_row(count, [], |row| row.get(0)).map_err(|error| self.sql(error))?;
        let fresh = tables == 0 && self.pragma("application_id")? == 0 && self.pragma("user_version")? == 0;
        if !fresh {
            self.check_format()?;
        }
        let set = |name, value: &str| {
            self.connection.pragma_update_and_check(None, name, value, |_| Ok(())).map_err(|error| self.sql(error))
        };
        set("journal_mode", "WAL")?;
        self.connection
            .execute_batch(
                "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON; \
                 PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;",
            )
            .map_err(|error| self.sql(error))?;
        if fresh {
            let create = format!(
                "BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}; COMMIT;"
            );
            self.connection.execute_batch(&create).map_err(|error| self.sql(error))?;
        }
        Ok(())
    }
}

impl ReadStore for SqliteReader {
    fn genesis(&mut self) -> Result<Option<Genesis>, StoreError> {
        let query = "SELECT ledger, master_check, key FROM ledger";
        let found = self
            .connection
            .query_row(query, [], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get::<_, String>(2)?)))
            .optional()
            .map_err(|error| self.sql(error))?;
        let Some((ledger, master_check, key)) = found else { return Ok(None) };
        let damaged = |detail: String| StoreError::Damaged { path: self.path.clone(), detail };
        let ledger = ledger.parse().map_err(|_| damaged("the ledger id".to_owned()))?;
        let key = key.parse().map_err(|_| damaged("the first key".to_owned()))?;
        Ok(Some(Genesis { ledger, master_check, key }))
    }

    fn key_periods(&mut self) -> Result<Vec<KeyPeriod>, StoreError> {
        let mut periods = Vec::new();
        let mut select = self
            .connection
            .prepare_cached("SELECT from_size, key FROM signing_keys ORDER BY from_size")
            .map_err(|error| self.sql(error))?;
        let mut rows = select.query([]).map_err(|error| self.sql(error))?;
        while let Some(row) = rows.next().map_err(|error| self.sql(error))? {
            let (from, key): (i64, String) =
                row.get(0).and_then(|from| Ok((from, row.get(1)?))).map_err(|error| self.sql(error))?;
            let key: VerifyingKeyInfo = key
                .parse()
                .map_err(|_| StoreError::Damaged { path: self.path.clone(), detail: "a signing key".to_owned() })?;
            periods.push(KeyPeriod { from: from.cast_unsigned(), key });
        }
        Ok(periods)
    }

    fn size(&mut self) -> Result<u64, StoreError> {
        let last: Option<i64> = self
            .connection
            .prepare_cached("SELECT max(seq) FROM records")
            .and_then(|mut query| query.query_row([], |row| row.get(0)))
            .map_err(|error| self.sql(error))?;
        Ok(last.map_or(0, |last| last.cast_unsigned().saturating_add(1)))
    }

    fn rows(&mut self, selection: &Selection<'_>, limit: usize) -> Result<Vec<Row>, StoreError> {
        let mut query = String::from(
            "SELECT seq, at, kind, case_id, digest, salt, payload, nodes, head FROM records WHERE seq >= ?1 AND seq < ?2",
        );
        if selection.case.is_some() {
            query.push_str(" AND case_id = ?3");
        } else {
            query.push_str(" AND ?3 IS NULL");
        }
        if !selection.kinds.is_empty() {
            // Names of a closed set, none of which needs quoting.
            let names: Vec<String> = selection.kinds.iter().map(|kind| format!("'{}'", kind.name())).collect();
            query.push_str(&format!(" AND kind IN ({})", names.join(",")));
        }
        query.push_str(" ORDER BY seq LIMIT ?4");
        let mut select = self.connection.prepare_cached(&query).map_err(|error| self.sql(error))?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let top = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
        let case = selection.case.map(CaseId::as_str);
        let mut found = select
            .query(params![top(selection.from), top(selection.to), case, limit])
            .map_err(|error| self.sql(error))?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while bytes < MAX_CHUNK_BYTES
            && let Some(row) = found.next().map_err(|error| self.sql(error))?
        {
            let row = read_row(row)?;
            bytes += match &row.payload {
                StoredPayload::Clear { json, .. } => json.len(),
                StoredPayload::Sealed(sealed) => sealed.len(),
            };
            rows.push(row);
        }
        Ok(rows)
    }

    fn nodes(&mut self, seq: u64) -> Result<Vec<Hash>, StoreError> {
        let nodes: Option<Vec<u8>> = self
            .connection
            .prepare_cached("SELECT nodes FROM records WHERE seq = ?1")
            .and_then(|mut query| query.query_row([seq.cast_signed()], |row| row.get(0)).optional())
            .map_err(|error| self.sql(error))?;
        let problem = |problem: &str| StoreError::Record { seq, problem: problem.to_owned() };
        split_nodes(&nodes.ok_or_else(|| problem("it is missing"))?).ok_or_else(|| problem("its tree nodes"))
    }

    fn head_covering(&mut self, size: u64) -> Result<Option<String>, StoreError> {
        let query = "SELECT head FROM records WHERE seq >= ?1 AND head IS NOT NULL ORDER BY seq LIMIT 1";
        let from = i64::try_from(size.saturating_sub(1)).unwrap_or(i64::MAX);
        self.connection
            .prepare_cached(query)
            .and_then(|mut query| query.query_row([from], |row| row.get(0)).optional())
            .map_err(|error| self.sql(error))
    }

    fn case_key(&mut self, case: &CaseId) -> Result<StoredCaseKey, StoreError> {
        let found: Option<Option<Vec<u8>>> = self
            .connection
            .prepare_cached("SELECT wrapped_key FROM cases WHERE case_id = ?1")
            .and_then(|mut query| query.query_row([case.as_str()], |row| row.get(0)).optional())
            .map_err(|error| self.sql(error))?;
        Ok(match found {
            None => StoredCaseKey::Absent,
            Some(Some(wrapped)) => StoredCaseKey::Wrapped(wrapped),
            Some(None) => StoredCaseKey::Erased,
        })
    }

    fn reader(&self) -> Result<Box<dyn ReadStore>, StoreError> {
        Ok(Box::new(Self::open(&self.path)?))
    }
}

impl ReadStore for SqliteStore {
    fn genesis(&mut self) -> Result<Option<Genesis>, StoreError> {
        self.reader.genesis()
    }

    fn key_periods(&mut self) -> Result<Vec<KeyPeriod>, StoreError> {
        self.reader.key_periods()
    }

    fn size(&mut self) -> Result<u64, StoreError> {
        self.reader.size()
    }

    fn rows(&mut self, selection: &Selection<'_>, limit: usize) -> Result<Vec<Row>, StoreError> {
        self.reader.rows(selection, limit)
    }

    fn nodes(&mut self, seq: u64) -> Result<Vec<Hash>, StoreError> {
        self.reader.nodes(seq)
    }

    fn head_covering(&mut self, size: u64) -> Result<Option<String>, StoreError> {
        self.reader.head_covering(size)
    }

    fn case_key(&mut self, case: &CaseId) -> Result<StoredCaseKey, StoreError> {
        self.reader.case_key(case)
    }

    fn reader(&self) -> Result<Box<dyn ReadStore>, StoreError> {
        self.reader.reader()
    }
}

impl Store for SqliteStore {
    fn initialise(&mut self, genesis: &Genesis) -> Result<(), StoreError> {
        let key = genesis.key.to_string();
        let written = self.reader.connection.transaction().and_then(|transaction| {
            transaction.execute(
                "INSERT INTO ledger (id, ledger, master_check, key) VALUES (1, ?1, ?2, ?3)",
                params![genesis.ledger.as_str(), genesis.master_check, key],
            )?;
            transaction.execute("INSERT INTO signing_keys (from_size, key) VALUES (0, ?1)", [&key])?;
            transaction.commit()
        });
        written.map_err(|error| self.sql(error))
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let bytes = self.write(batch).map_err(|error| self.sql(error))?;
        self.scrub |= !batch.erased.is_empty();
        if self.scrub {
            let busy =
                self.reader.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            self.scrub = busy.map_err(|error| self.sql(error))? != 0;
        }
        if self.backfill.wrote(bytes) {
            let passive = self.reader.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            passive.map_err(|error| self.sql(error))?;
        }
        Ok(())
    }
}

/// Makes folder, lock and file, or checks that they are the owner's alone; takes the lock.
fn prepare_files(path: &Path) -> Result<File, StoreError> {
    let io = |action, path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Io { path, action, source }
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io("make the folder", folder))?;
    let mode = fs::metadata(folder).map_err(io("look at", folder))?.mode();
    if mode & 0o077 != 0 {
        let problem = format!("has mode {:o}", mode & 0o7777);
        return Err(StoreError::Unsafe {
            path: folder.to_owned(),
            problem,
            fix: "a ledger's folder is its owner's alone, `chmod 700` it",
        });
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let mut options = OpenOptions::new();
    let lock = options.write(true).create(true).truncate(false).mode(0o600).open(&lock_path);
    let lock = lock.map_err(io("open the lock", &lock_path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => return Err(io("lock", &lock_path)(source)),
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("force to disk", folder))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_file(path)?,
        Err(error) => return Err(io("create", path)(error)),
    }
    Ok(lock)
}

fn check_file(path: &Path) -> Result<(), StoreError> {
    let meta = fs::symlink_metadata(path).map_err(|source| StoreError::Io {
        path: path.to_owned(),
        action: "look at",
        source,
    })?;
    let problem = match meta.mode() & 0o7777 {
        _ if !meta.is_file() => "is no plain file".to_owned(),
        mode if mode & 0o077 != 0 => format!("has mode {mode:o}"),
        _ => return Ok(()),
    };
    Err(StoreError::Unsafe { path: path.to_owned(), problem, fix: "a ledger is its owner's alone, `chmod 600` it" })
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(|error| sql_error(path, error))
}

fn sql_error(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { path, detail: error.to_string() }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::InUse { path },
        _ => StoreError::Sql { path, source: error },
    }
}

fn split_nodes(bytes: &[u8]) -> Option<Vec<Hash>> {
    let (nodes, rest) = bytes.as_chunks::<32>();
    if rest.is_empty() && !nodes.is_empty() { Some(nodes.to_vec()) } else { None }
}

fn read_row(row: &rusqlite::Row<'_>) -> Result<Row, StoreError> {
    let seq = row.get_ref(0).ok().and_then(|seq| seq.as_i64().ok()).unwrap_or_default().cast_unsigned();
    let wrong = |what: &str| StoreError::Record { seq, problem: format!("its {what} cannot be read") };
    let at = Timestamp::from_millis(row.get(1).map_err(|_| wrong("time"))?);
    let kind = row.get_ref(2).ok().and_then(|kind| kind.as_str().ok()).and_then(RecordKind::from_name);
    let kind = kind.ok_or_else(|| wrong("kind"))?;
    let case = match row.get_ref(3).map_err(|_| wrong("case"))? {
        ValueRef::Null => None,
        value => Some(value.as_str().ok().and_then(|case| case.parse().ok()).ok_or_else(|| wrong("case"))?),
    };
    let payload_digest = Digest::from_bytes(row.get(4).map_err(|_| wrong("digest"))?);
    let salt: Option<Salt> = row.get(5).map_err(|_| wrong("salt"))?;
    let bytes: Vec<u8> = row.get(6).map_err(|_| wrong("payload"))?;
    let payload = match salt {
        Some(salt) => StoredPayload::Clear { salt, json: bytes },
        None => StoredPayload::Sealed(bytes),
    };
    let nodes = row.get_ref(7).ok().and_then(|nodes| nodes.as_blob().ok()).and_then(split_nodes);
    let nodes = nodes.ok_or_else(|| wrong("tree nodes"))?;
    let head = row.get(8).map_err(|_| wrong("head"))?;
    Ok(Row { leaf: Leaf { seq, kind, case, at, payload_digest }, payload, nodes, head })
}
