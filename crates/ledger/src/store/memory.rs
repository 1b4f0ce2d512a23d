//! A store in memory, for tests and for trying things out: durable until the process ends.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use countersign_plan::id::CaseId;

use crate::merkle::Hash;
use crate::record::Row;
use crate::store::{Batch, Genesis, KeyPeriod, ReadStore, Selection, Store, StoreError, StoredCaseKey};

#[derive(Debug, Default)]
struct Contents {
    genesis: Option<Genesis>,
    rows: Vec<Row>,
    keys: Vec<KeyPeriod>,
    /// The wrapped key, or nothing once erased.
    cases: HashMap<CaseId, Option<Vec<u8>>>,
}

/// A store in memory. Clones share the contents, so that a ledger can be closed and opened again on them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<RwLock<Contents>>);

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> RwLockReadGuard<'_, Contents> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Contents> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn position(seq: u64) -> usize {
    usize::try_from(seq).unwrap_or(usize::MAX)
}

impl ReadStore for MemoryStore {
    fn genesis(&mut self) -> Result<Option<Genesis>, StoreError> {
        Ok(self.read().genesis.clone())
    }

    fn key_periods(&mut self) -> Result<Vec<KeyPeriod>, StoreError> {
        Ok(self.read().keys.clone())
    }

    fn size(&mut self) -> Result<u64, StoreError> {
        Ok(self.read().rows.len() as u64)
    }

    fn rows(&mut self, selection: &Selection<'_>, limit: usize) -> Result<Vec<Row>, StoreError> {
        let wanted = |row: &&Row| {
            selection.case.is_none_or(|case| row.leaf.case.as_ref() == Some(case))
                && (selection.kinds.is_empty() || selection.kinds.contains(&row.leaf.kind))
        };
        let count = position(selection.to.saturating_sub(selection.from));
        let contents = self.read();
        let rows = contents.rows.iter().skip(position(selection.from)).take(count);
        Ok(rows.filter(wanted).take(limit).cloned().collect())
    }

    fn nodes(&mut self, seq: u64) -> Result<Vec<Hash>, StoreError> {
        let contents = self.read();
        let row = contents.rows.get(position(seq));
        Ok(row.ok_or_else(|| StoreError::Record { seq, problem: "it is missing".to_owned() })?.nodes.clone())
    }

    fn head_covering(&mut self, size: u64) -> Result<Option<String>, StoreError> {
        let contents = self.read();
        Ok(contents.rows.iter().skip(position(size.saturating_sub(1))).find_map(|row| row.head.clone()))
    }

    fn case_key(&mut self, case: &CaseId) -> Result<StoredCaseKey, StoreError> {
        Ok(match self.read().cases.get(case) {
            None => StoredCaseKey::Absent,
            Some(Some(wrapped)) => StoredCaseKey::Wrapped(wrapped.clone()),
            Some(None) => StoredCaseKey::Erased,
        })
    }

    fn reader(&self) -> Result<Box<dyn ReadStore>, StoreError> {
        Ok(Box::new(self.clone()))
    }
}

impl Store for MemoryStore {
    fn initialise(&mut self, genesis: &Genesis) -> Result<(), StoreError> {
        let mut contents = self.write();
        contents.genesis = Some(genesis.clone());
        contents.keys = vec![KeyPeriod { from: 0, key: genesis.key.clone() }];
        Ok(())
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let mut contents = self.write();
        contents.rows.extend_from_slice(batch.rows);
        contents.cases.extend(batch.case_keys.iter().map(|(case, wrapped)| (case.clone(), Some(wrapped.clone()))));
        contents.cases.extend(batch.erased.iter().map(|case| (case.clone(), None)));
        contents.keys.extend(batch.rotated.cloned());
        Ok(())
    }
}
