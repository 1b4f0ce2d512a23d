//! The walk over an export, line by line: what has been read so far, and what must hold next.

use std::collections::BTreeMap;
use std::io::BufRead;

use countersign_plan::canonical;

use crate::export::line::{self, Header, Line, LinePayload, RecordLine};
use crate::export::{Payloads, Withheld};
use crate::verify::revisions::Revisions;
use crate::verify::{Fault, Place, Problem, Report, VerifyOptions, WithheldCounts};
use countersign_ledger::checkpoint::{Checkpoint, Head, LedgerId, VerifyingKeyInfo};
use countersign_ledger::merkle::{Frontier, Hash};
use countersign_ledger::record::{self, RecordKind};
use countersign_ledger::rotation::Rotation;
use countersign_ledger::store::KeyPeriod;

/// What a line was.
enum Step {
    Head,
    Record(u64, Hash),
    End,
}

/// An export in the course of being verified.
#[derive(Clone)]
pub(super) struct Walk<R> {
    input: R,
    buffer: Vec<u8>,
    line: u64,
    header: Header,
    frontier: Frontier,
    /// The last good head; none before the first.
    last: Option<Head>,
    checkpoints: u64,
    /// The keys so far, each vouched for by the one before.
    keys: Vec<KeyPeriod>,
    pinned: Option<VerifyingKeyInfo>,
    /// How many records are under heads of the pinned key or a successor.
    anchored: u64,
    /// Heads from elsewhere, by size, that were not met yet.
    awaited: BTreeMap<u64, Vec<Checkpoint>>,
    heads: u64,
    payloads: u64,
    withheld: WithheldCounts,
    revisions: Revisions,
}

impl<R: BufRead> Walk<R> {
    /// Reads the first line.
    pub(super) fn start(mut input: R, options: &VerifyOptions) -> Result<Self, Fault> {
        let at = |error| Fault::new(Place::Line(1), Problem::Line(error));
        let mut buffer = Vec::new();
        let Some(first) = line::read_line(&mut input, &mut buffer).map_err(at)? else {
            return Err(Fault::new(Place::Export, Problem::Empty));
        };
        let header = line::parse_header(first).map_err(at)?;
        let Some(first_key) = header.keys.first().filter(|period| period.from == 0) else {
            return Err(Fault::new(Place::Line(1), Problem::Keys));
        };
        let keys = vec![first_key.clone()];
        let mut awaited: BTreeMap<u64, Vec<Checkpoint>> = BTreeMap::new();
        for head in &options.heads {
            awaited.entry(head.claimed().size).or_default().push(head.clone());
        }
        Ok(Self {
            input,
            buffer,
            line: 1,
            header,
            frontier: Frontier::new(),
            last: None,
            checkpoints: 0,
            keys,
            pinned: options.key.clone(),
            anchored: 0,
            awaited,
            heads: 0,
            payloads: 0,
            withheld: WithheldCounts::default(),
            revisions: Revisions::default(),
        })
    }

    pub(super) const fn ledger(&self) -> &LedgerId {
        &self.header.ledger
    }

    /// Reads up to and with the next record: its seq and leaf hash. Heads on the way are checked.
    pub(super) fn next_record(&mut self) -> Result<Option<(u64, Hash)>, Fault> {
        loop {
            match self.step()? {
                Step::Head => {}
                Step::Record(seq, hash) => return Ok(Some((seq, hash))),
                Step::End => return Ok(None),
            }
        }
    }

    /// Reads and checks one line.
    fn step(&mut self) -> Result<Step, Fault> {
        let place = Place::Line(self.line + 1);
        let at = |error| Fault::new(place.clone(), Problem::Line(error));
        let Some(bytes) = line::read_line(&mut self.input, &mut self.buffer).map_err(at)? else { return Ok(Step::End) };
        self.line += 1;
        match line::parse_line(bytes).map_err(at)? {
            Line::Checkpoint(note) => self.checkpoint(&note).map(|()| Step::Head),
            Line::Record(record) => self.record(&record).map(|(seq, hash)| Step::Record(seq, hash)),
        }
    }

    fn record(&mut self, record: &RecordLine) -> Result<(u64, Hash), Fault> {
        let (seq, expected) = (record.leaf.seq, self.frontier.size());
        if seq > expected {
            return Err(Fault::new(Place::Records(expected..seq), Problem::Missing));
        }
        if seq < expected {
            return Err(Fault::new(Place::Record(expected), Problem::Sequence { found: seq }));
        }
        let fault = |problem| Err(Fault::new(Place::Record(seq), problem));
        let hash = record.leaf.hash();
        if hash != record.hash {
            return fault(Problem::Leaf);
        }
        let rotates = record.leaf.kind == RecordKind::KeyRotated;
        match &record.payload {
            LinePayload::Open { salt, value } => {
                if record::payload_digest(salt, &canonical::to_vec(value)) != record.leaf.payload_digest {
                    return fault(Problem::Payload);
                }
                if self.header.payloads == Payloads::Redacted && !rotates {
                    return fault(Problem::Withheld("all"));
                }
                self.payloads += 1;
                if rotates {
                    let rotation = Rotation::read(value, &self.header.ledger, seq);
                    self.rotate(rotation.map_err(|error| Fault::new(Place::Record(seq), Problem::Rotation(error)))?)?;
                }
            }
            LinePayload::Withheld(Withheld::Damaged) => return fault(Problem::Damaged),
            LinePayload::Withheld(reason) => {
                let count = match (reason, self.header.payloads) {
                    _ if rotates => return fault(Problem::Withheld(reason.name())),
                    (Withheld::Redacted, Payloads::Redacted) => &mut self.withheld.redacted,
                    (Withheld::Erased, Payloads::All) => &mut self.withheld.erased,
                    (Withheld::Sealed, Payloads::All) => &mut self.withheld.sealed,
                    (Withheld::Damaged | Withheld::Erased | Withheld::Sealed | Withheld::Redacted, _) => {
                        return fault(Problem::Withheld(reason.name()));
                    }
                };
                *count += 1;
            }
        }
        let shown = if let LinePayload::Open { value, .. } = &record.payload { Some(value) } else { None };
        if let Err(problem) = self.revisions.take(&record.leaf, shown) {
            return fault(Problem::Approval(countersign_plan::text::escape(&problem)));
        }
        self.frontier.push(hash);
        self.meet_heads()?;
        Ok((seq, hash))
    }

    /// The old key has signed the next one; both must be the ones that the first line announced.
    fn rotate(&mut self, rotation: Rotation) -> Result<(), Fault> {
        let place = Place::Record(rotation.from.saturating_sub(1));
        if self.keys.last().is_none_or(|period| period.key != rotation.old) {
            return Err(Fault::new(place, Problem::RotationKey));
        }
        let period = KeyPeriod { from: rotation.from, key: rotation.new };
        if self.header.keys.get(self.keys.len()) != Some(&period) {
            return Err(Fault::new(place, Problem::Keys));
        }
        self.keys.push(period);
        Ok(())
    }

    /// The key that signs heads of that size, and its position in the chain.
    fn key_at(&self, size: u64) -> Option<(usize, &VerifyingKeyInfo)> {
        let periods = self.keys.iter().enumerate().rev();
        periods
            .map(|(index, period)| (index, period.from, &period.key))
            .find_map(|(index, from, key)| if from < size || from == 0 { Some((index, key)) } else { None })
    }

    fn checkpoint(&mut self, note: &str) -> Result<(), Fault> {
        let checkpoint = Checkpoint::parse(note).map_err(|error| Fault::new(Place::Line(self.line), error.into()))?;
        let claimed = checkpoint.claimed().clone();
        let size = claimed.size;
        let before = self.last.as_ref().map_or(0, |head| head.size);
        let fault = |problem| Err(Fault::new(Place::Head(size), problem));
        if claimed.ledger != self.header.ledger {
            return fault(Problem::OtherLedger(claimed.ledger));
        }
        if size != self.frontier.size() || size == before {
            return fault(Problem::Position { stands: self.frontier.size() });
        }
        if claimed.previous != before {
            return fault(Problem::HeadMissing { named: claimed.previous, found: before });
        }
        let Some((index, key)) = self.key_at(size) else { return fault(Problem::Keys) };
        if checkpoint.signatures().len() != 1 {
            return fault(Problem::Checkpoint(countersign_ledger::checkpoint::CheckpointError::Form(
                "not exactly one signature",
            )));
        }
        let place = Place::Records(before..size);
        if let Some(pinned) =
            self.pinned.as_ref().filter(|pinned| self.header.keys.iter().all(|known| known.key != **pinned))
        {
            let problem = Problem::OtherKey { found: Box::new(key.clone()), pinned: Box::new(pinned.clone()) };
            return Err(Fault::new(place, problem));
        }
        if let Err(source) = checkpoint.verify(key) {
            return Err(Fault::new(place, Problem::Signature { source }));
        }
        if self.frontier.root() != claimed.root {
            return Err(Fault::new(place, Problem::Root { size }));
        }
        let pinned = self.keys.iter().position(|period| Some(&period.key) == self.pinned.as_ref());
        if pinned.is_some_and(|pinned| pinned <= index) {
            self.anchored = size;
        }
        self.last = Some(claimed);
        self.checkpoints += 1;
        Ok(())
    }

    /// Compares the heads from elsewhere of the present size.
    fn meet_heads(&mut self) -> Result<(), Fault> {
        let size = self.frontier.size();
        let Some(heads) = self.awaited.remove(&size) else { return Ok(()) };
        let root = self.frontier.root();
        for head in heads {
            // A head that is not ours proves nothing against the export.
            self.check_head(&head)?;
            if head.claimed().root != root {
                return Err(Fault::new(Place::Head(size), Problem::Fork));
            }
            self.heads += 1;
        }
        Ok(())
    }

    /// Checks that a head from elsewhere is signed by one of the ledger's keys.
    fn check_head(&self, head: &Checkpoint) -> Result<(), Fault> {
        let claimed = head.claimed();
        let fault = |problem| Err(Fault::new(Place::Head(claimed.size), problem));
        if claimed.ledger != self.header.ledger {
            return fault(Problem::OtherLedger(claimed.ledger.clone()));
        }
        let mut problem = Problem::Keys;
        for period in &self.keys {
            match head.verify(&period.key) {
                Ok(_) => return Ok(()),
                Err(source) => problem = Problem::Signature { source },
            }
        }
        fault(problem)
    }

    /// Checks what can be said only at the end.
    pub(super) fn finish(mut self) -> Result<Report, Fault> {
        let size = self.frontier.size();
        let ends = |problem| Err(Fault::new(Place::Export, problem));
        let empty = self.awaited.remove(&0).unwrap_or_default();
        for head in &empty {
            self.check_head(head)?;
        }
        if let Some((at, heads)) = self.awaited.pop_first() {
            for head in &heads {
                self.check_head(head)?;
            }
            return Err(Fault::new(Place::Head(at), Problem::CutTail { ends: size }));
        }
        let Some(last) = self.last.take().filter(|_| size > 0) else {
            return match size {
                0 if self.header.size == 0 => ends(Problem::Empty),
                0 => ends(Problem::Size { announced: self.header.size, found: 0 }),
                _ => Err(Fault::new(Place::Records(0..size), Problem::Uncovered { anchored: 0 })),
            };
        };
        if last.size != size {
            return Err(Fault::new(Place::Records(last.size..size), Problem::Uncovered { anchored: last.size }));
        }
        if self.header.size != size {
            return ends(Problem::Size { announced: self.header.size, found: size });
        }
        if self.header.keys != self.keys {
            return ends(Problem::Keys);
        }
        if self.pinned.is_none() {
            return ends(Problem::Unanchored { records: size });
        }
        if self.anchored != size {
            let place = Place::Records(self.anchored..size);
            return Err(Fault::new(place, Problem::Uncovered { anchored: self.anchored }));
        }
        Ok(Report {
            ledger: self.header.ledger,
            head: last,
            checkpoints: self.checkpoints,
            keys: self.keys,
            payloads: self.payloads,
            withheld: self.withheld,
            heads: self.heads + empty.len() as u64,
            carried: self.revisions.carried,
            unseen: self.revisions.unseen,
            other: None,
        })
    }
}

#[cfg(test)]
mod tests;
