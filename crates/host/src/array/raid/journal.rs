//! The journal: blocks to be written in place are made durable first, on two drives.
//!
//! Each write of the journal is a transaction of one or more batches (group commit: batches that arrive while
//! one is in flight share the next). The two drives change from transaction to transaction, so that all
//! drives share the load; the position in the ring is the same on all of them.

use super::batch::{Batch, BatchId};
use super::ring::Ring;
use super::transaction::{ENTRIES_MOST, Entry, Header};
use super::{Raid, Token};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::placement::WriteKind;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::{Id, Pool};
use tailcut_base::{Class, Op, Spans, Status, Time};

/// The journal of an array.
#[derive(Debug)]
pub(super) struct Journal<B> {
    /// First block on every drive.
    pub first: u64,
    /// Length on every drive in blocks.
    pub blocks: u64,
    /// Allocation of the ring.
    pub ring: Ring,
    array: u128,
    /// Batches that wait for the next transaction.
    waiting: VecDeque<BatchId>,
    /// Batches of the current transaction.
    batches: Vec<BatchId>,
    /// A transaction is in flight.
    busy: bool,
    sequence: u64,
    tail: u64,
    /// Outstanding writes.
    pending: u32,
    /// The two drives, and whether each has failed its write.
    copies: [(Option<DriveId>, bool); 2],
    header: Header,
    bytes: Vec<u8>,
    content: Vec<B>,
}

impl<B: Block> Journal<B> {
    /// A journal in these blocks of every drive.
    pub(super) fn new(place: Range<u64>, array: u128) -> Journal<B> {
        let (first, blocks) = (place.start, place.end - place.start);
        Journal {
            first,
            blocks,
            ring: Ring::new(blocks),
            array,
            waiting: VecDeque::new(),
            batches: Vec::new(),
            busy: false,
            sequence: 0,
            tail: 0,
            pending: 0,
            copies: [(None, false); 2],
            header: Header::default(),
            bytes: Vec::new(),
            content: Vec::new(),
        }
    }

    /// Largest number of content blocks in a transaction of a journal of `blocks` blocks: two transactions
    /// and a block must fit.
    pub(super) fn most_cells(blocks: u64) -> usize {
        to_usize((ENTRIES_MOST as u64).min((blocks - 1) / 2 - 1))
    }

    /// True if no transaction is in flight and no batch waits.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy && self.waiting.is_empty()
    }

    /// Moves as many waiting batches as fit into a transaction.
    fn gather(
        &mut self,
        batches: &Pool<BatchId, Batch<B>>,
        entries: impl Fn(&Batch<B>, &mut Vec<Entry>, &mut Vec<B>),
    ) {
        let most = Journal::<B>::most_cells(self.blocks);
        self.header.entries.clear();
        self.content.clear();
        self.batches.clear();
        while let Some(&id) = self.waiting.front() {
            let batch = &batches[id];
            if !self.batches.is_empty() && self.header.entries.len() + batch.cells() > most {
                return;
            }
            entries(batch, &mut self.header.entries, &mut self.content);
            self.batches.push(id);
            self.waiting.pop_front();
        }
    }

    /// Returns the gathered batches to the front of the queue.
    fn put_back(&mut self) {
        while let Some(id) = self.batches.pop() {
            self.waiting.push_front(id);
        }
    }
}

impl<B: Block> Batch<B> {
    fn cells(&self) -> usize {
        (self.writes | self.trims).len()
    }
}

impl<B: Block> Raid<B> {
    /// Queues a batch for the journal.
    pub(super) fn note(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        self.journal.as_mut().expect("there is a journal").waiting.push_back(id);
        self.commit(now, core);
    }

    /// Writes the next transaction, if a batch waits and there is room.
    pub(super) fn commit(&mut self, now: Time, core: &mut Core<B>) {
        let Some(journal) = &mut self.journal else { return };
        if journal.busy || journal.waiting.is_empty() {
            return;
        }
        let shape = &self.shape;
        journal.gather(&self.batches, |batch, entries, content| {
            for cell in (batch.writes | batch.trims).iter() {
                let drive = shape.drive(batch.unit, cell / shape.rows);
                if core.drives.is_present(drive) {
                    let block = shape.base(batch.unit) + (cell % shape.rows) as u64;
                    let data = &batch.content[cell];
                    let sum = (!batch.trims.contains(cell)).then(|| data.checksum());
                    content.extend(sum.is_some().then(|| data.clone()));
                    entries.push(Entry { drive, block, content: sum });
                }
            }
        });
        match journal.ring.place(journal.header.blocks()) {
            Some(position) => self.write_transaction(now, core, position),
            None => {
                journal.put_back();
                self.make_room(now, core);
            }
        }
    }

    /// The ring is full: records the durable tail on the drives, or flushes to advance it.
    pub(super) fn make_room(&mut self, now: Time, core: &mut Core<B>) {
        let ring = &self.journal.as_ref().expect("there is a journal").ring;
        if ring.durable() == ring.oldest() || !core.is_recorded() {
            self.flush_for_journal(now, core);
        }
        // Drives without a volatile cache have been flushed at once.
        let journal = self.journal.as_ref().expect("there is a journal");
        if journal.ring.durable() > journal.ring.oldest() && core.is_recorded() && !journal.busy {
            self.checkpoint(now, core);
        }
    }

    /// Writes a transaction without content, which records the tail.
    pub(super) fn checkpoint(&mut self, now: Time, core: &mut Core<B>) {
        let journal = self.journal.as_mut().expect("there is a journal");
        journal.header.entries.clear();
        journal.content.clear();
        let position = journal.ring.last_place().expect("a block is always left for it");
        self.write_transaction(now, core, position);
    }

    /// Flushes the drives if that allows space to be reused.
    pub(super) fn flush_for_journal(&mut self, now: Time, core: &mut Core<B>) {
        let ring = &self.journal.as_ref().expect("there is a journal").ring;
        if ring.complete() > ring.durable() && !self.is_flushing {
            self.is_flushing = true;
            self.begin_flush(now, core, None);
        }
    }

    fn write_transaction(&mut self, now: Time, core: &mut Core<B>, position: u64) {
        let journal = self.journal.as_mut().expect("there is a journal");
        // During a superblock write, the drives may still count on one that has fallen behind.
        journal.tail = if core.is_recorded() { journal.ring.durable() } else { journal.ring.oldest() };
        let parts = to_u32(journal.batches.len().max(1));
        journal.sequence = journal.ring.take(position..position + journal.header.blocks(), parts);
        (journal.header.array, journal.header.sequence) = (journal.array, journal.sequence);
        (journal.header.tail, journal.header.position) = (journal.tail, position);
        for &id in &journal.batches {
            self.batches[id].transaction = journal.sequence;
        }
        journal.header.encode(&mut journal.bytes);
        journal.content.insert(0, B::encode(&journal.bytes));
        journal.busy = true;
        self.write_copies(now, core);
    }

    /// Writes the transaction to two drives.
    fn write_copies(&mut self, now: Time, core: &mut Core<B>) {
        let journal = self.journal.as_mut().expect("there is a journal");
        let width = self.shape.width;
        let mut drives = (0..width)
            .map(|step| DriveId::at((to_usize(journal.sequence) + step) % width))
            .filter(|&drive| core.drives.is_in_sync(drive));
        let pair = [drives.next(), drives.next()];
        journal.copies = pair.map(|drive| (drive, drive.is_none()));
        journal.pending = 1;
        let first = journal.first + journal.header.position;
        for drive in pair.into_iter().flatten() {
            for (part, blocks) in journal.content.chunks(self.most).enumerate() {
                let mut data = core.drives.memory();
                data.extend_from_slice(blocks);
                journal.pending += 1;
                let (op, class, block) = (Op::Write, Class::DEFAULT, first + (part * self.most) as u64);
                let blocks = to_u32(blocks.len());
                let ask = Ask {
                    op,
                    fua: true,
                    fail_fast: false,
                    class,
                    kind: WriteKind::Metadata,
                    block,
                    blocks,
                    data,
                };
                let owner = Owner::Layout(Token::Journal.pack());
                core.drives.ask(now, drive, Priority::Write, owner, ask);
            }
        }
        self.copy_part_written(now, core, &Spans::new());
    }

    /// A write of the transaction has completed on a drive.
    pub(super) fn journal_written(&mut self, now: Time, core: &mut Core<B>, answer: &Answered<B>) {
        let journal = self.journal.as_mut().expect("there is a journal");
        if answer.status != Status::Success {
            for copy in journal.copies.iter_mut().filter(|copy| copy.0 == Some(answer.drive)) {
                copy.1 = true;
            }
        }
        self.copy_part_written(now, core, &answer.spans);
    }

    fn copy_part_written(&mut self, now: Time, core: &mut Core<B>, spans: &Spans) {
        let journal = self.journal.as_mut().expect("there is a journal");
        journal.pending -= 1;
        if journal.pending > 0 {
            return;
        }
        if journal.copies.iter().all(|copy| copy.1) && !self.has_failed(core) {
            return self.write_copies(now, core);
        }
        self.committed(now, core, spans);
    }

    /// The transaction is durable: writes its batches in place.
    fn committed(&mut self, now: Time, core: &mut Core<B>, spans: &Spans) {
        // It stays busy until its batches have started: batches that end at once must not start the next
        // transaction.
        let journal = self.journal.as_mut().expect("there is a journal");
        journal.ring.reuse(journal.tail);
        let mut batches = std::mem::take(&mut journal.batches);
        if batches.is_empty() {
            journal.ring.batch_done(journal.sequence);
        }
        if journal.ring.is_half_full() {
            self.flush_for_journal(now, core);
        }
        for &id in &batches {
            self.batches[id].account(now, spans);
            self.write_batch(now, core, id);
        }
        batches.clear();
        let journal = self.journal.as_mut().expect("there is a journal");
        (journal.batches, journal.busy) = (batches, false);
        self.journal_changed(now, core);
    }

    /// The state of the journal has changed: starts the next transaction if possible, and advances recovery.
    pub(super) fn journal_changed(&mut self, now: Time, core: &mut Core<B>) {
        self.commit(now, core);
        self.recovery_goes_on(now, core);
    }
}
