//! Writes of copies to their drive, some at a time: listed in a descriptor first, then written.

use super::cache::{CachedContent, CopyId, Listing};
use super::descriptor::{Descriptor, DescriptorEntry, ENTRIES_MOST, Mark, SlotId};
use super::line::Written;
use super::mutation::{Invariant, holds};
use super::{Epochs, RequestPurpose};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::reads::{SealAge, seal_of};
use crate::placement::WriteKind;
use tailcut_base::cast::to_u32;
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Op, Status, Time, id};

id! {
    /// A batch in progress.
    pub struct BatchId;
}

/// Copies that are written together.
#[derive(Debug)]
pub(super) struct Batch<B> {
    drive: DriveId,
    /// Life of the drive.
    life: u32,
    parts: Vec<Part<B>>,
    /// Outstanding completions.
    pending: u32,
    has_failed: bool,
    /// Slot of the descriptor that lists them.
    slot: Option<SlotId>,
    /// Slots whose entries this batch merges into its own; it writes no copies then.
    merged: Vec<SlotId>,
}

/// A copy in a batch.
#[derive(Debug)]
struct Part<B> {
    copy: CopyId,
    /// Block on the drive.
    block: u64,
    mark: Mark,
    content: CachedContent<B>,
    handle: HandleId,
    is_listed: bool,
}

impl<B> Batch<B> {
    /// The drive that it writes to.
    pub(super) fn drive(&self) -> DriveId {
        self.drive
    }

    fn new() -> Batch<B> {
        Batch {
            drive: DriveId::new(0),
            life: 0,
            parts: Vec::new(),
            pending: 0,
            has_failed: false,
            slot: None,
            merged: Vec::new(),
        }
    }
}

impl<B: Block> Epochs<B> {
    fn batch(&mut self, drive: DriveId) -> BatchId {
        let id = self.batches.allocate(Batch::new);
        let batch = &mut self.batches[id];
        (batch.drive, batch.life, batch.slot) = (drive, self.lines[drive].life, None);
        (batch.pending, batch.has_failed) = (0, false);
        self.lines[drive].batches += 1;
        id
    }

    /// Starts writing the next copies of a drive's dirty list; false if none can be written now.
    pub(super) fn next_batch(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) -> bool {
        if self.is_first_held(drive) || self.lines[drive].quota == 0 || self.lines[drive].is_merging {
            return false;
        }
        let slot = if self.is_listing { self.lines[drive].ring.take() } else { None };
        if self.is_listing && slot.is_none() {
            self.merge(now, core, drive);
            return false;
        }
        let id = self.batch(drive);
        let mut parts = std::mem::take(&mut self.batches[id].parts);
        while parts.len() < ENTRIES_MOST
            && !self.is_first_held(drive)
            && let Some(item) = self.lines[drive].pop()
        {
            self.count_wait(now, item.since);
            parts.push(self.part(core, item.copy));
        }
        let is_listed = parts.iter().any(|part| part.is_listed);
        let batch = &mut self.batches[id];
        batch.parts = parts;
        match slot {
            Some(slot) if is_listed => {
                batch.slot = Some(slot);
                self.write_descriptor(now, core, id);
            }
            slot => {
                slot.into_iter().for_each(|slot| self.lines[drive].ring.give_back(slot));
                self.write_parts(now, core, id);
            }
        }
        true
    }

    /// True if the first copy of a dirty list waits for reads of the data it overwrites.
    fn is_first_held(&mut self, drive: DriveId) -> bool {
        let line = &mut self.lines[drive];
        let first = line.first();
        line.is_held = first.is_some_and(|copy| self.cache.get(copy.entry()).readers > 0);
        line.is_held
    }

    /// A copy taken from its dirty list, in its current version.
    fn part(&mut self, core: &Core<B>, copy: CopyId) -> Part<B> {
        let entry = self.cache.get_mut(copy.entry());
        let (version, content, handle) = (entry.version, entry.held.clone(), entry.handle());
        let state = &mut entry.copies[copy.copy()];
        (state.is_queued, state.sent) = (false, version);
        let places = self.shape.places(entry.block);
        let is_known_to = |other: usize| {
            let listing = entry.copies[other].listing;
            other != copy.copy()
                && core.drives.is_present(places[other].drive)
                && listing.is_some_and(|listing| listing.mark.version == version)
        };
        // With more than two copies, those left after the loss of a drive could differ: then one of them must
        // have listed the block.
        let is_enough = places.len() == 2 || !holds(Invariant::ListEverywhere);
        let is_known = is_enough && (0..places.len()).any(is_known_to);
        let is_listed = self.is_listing && !is_known;
        // Without descriptors there is no comparison.
        let sum = if self.is_listing { content.checksum() } else { 0 };
        let block = places[copy.copy()].block;
        Part { copy, block, mark: Mark { version, sum }, content, handle, is_listed }
    }

    fn count_wait(&mut self, now: Time, since: Time) {
        let wait = now.since(since);
        self.figures.longest_wait = self.figures.longest_wait.max(wait);
        self.figures.late += u64::from(wait > self.deadline);
    }

    fn write_descriptor(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        let parts = self.batches[id].parts.iter().filter(|part| part.is_listed);
        let listed = |part: &Part<B>| {
            let entry = self.cache.get(part.copy.entry());
            DescriptorEntry {
                block: entry.block,
                mark: part.mark,
                before: entry.copies[part.copy.copy()].durable,
            }
        };
        let entries: Vec<DescriptorEntry> = parts.map(listed).collect();
        self.send_descriptor(now, core, id, entries);
        if !holds(Invariant::ListFirst) {
            self.write_parts(now, core, id);
        }
    }

    fn send_descriptor(&mut self, now: Time, core: &mut Core<B>, id: BatchId, entries: Vec<DescriptorEntry>) {
        self.sequence += 1;
        self.figures.descriptors += 1;
        let batch = &self.batches[id];
        let slot = batch.slot.expect("it has a slot");
        let descriptor = Descriptor { array: self.array, slot, sequence: self.sequence, entries };
        let mut data = core.drives.memory();
        data.push(B::encode(&descriptor.encode()));
        let (op, class, block) = (Op::Write, Class::DEFAULT, self.first_slot + u64::from(slot.get()));
        let ask =
            Ask { op, fua: true, fail_fast: false, class, kind: WriteKind::Metadata, block, blocks: 1, data };
        let owner = Owner::Layout(RequestPurpose::Descriptor(id).pack());
        core.drives.ask(now, batch.drive, Priority::Write, owner, ask);
    }

    /// Merges the entries of several slots into one.
    fn merge(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        let id = self.batch(drive);
        let mut merged = std::mem::take(&mut self.batches[id].merged);
        let line = &mut self.lines[drive];
        let slot = line.ring.take_merging(&mut merged).expect("one slot is kept for this");
        assert!(merged.len() > 1, "there are more slots than what is listed needs");
        line.is_merging = true;
        let mut entries = Vec::new();
        for &from in &merged {
            for &copy in line.ring.listed(from) {
                let entry = self.cache.get(copy.entry());
                if let Some(Listing { slot, mark, before }) = entry.copies[copy.copy()].listing
                    && slot == from
                {
                    entries.push(DescriptorEntry { block: entry.block, mark, before });
                }
            }
        }
        self.figures.merges += 1;
        let batch = &mut self.batches[id];
        (batch.merged, batch.slot) = (merged, Some(slot));
        self.send_descriptor(now, core, id, entries);
    }

    /// The write of a descriptor has completed, successfully or not.
    pub(super) fn listed(&mut self, now: Time, core: &mut Core<B>, id: BatchId, answer: &Answered<B>) {
        let batch = &mut self.batches[id];
        batch.has_failed |= answer.status != Status::Success;
        let (drive, is_current) = (batch.drive, batch.life == self.lines[batch.drive].life);
        if !batch.merged.is_empty() {
            let is_good = is_current && !batch.has_failed;
            return self.merged(now, core, id, is_good);
        }
        if !holds(Invariant::ListFirst) {
            return;
        }
        if !is_current || batch.has_failed {
            if is_current {
                let slot = batch.slot.expect("it has a slot");
                self.lines[drive].ring.give_back(slot);
            }
            self.batches[id].has_failed = true;
            return self.end_batch(now, core, id);
        }
        self.note_listings(id);
        self.write_parts(now, core, id);
    }

    fn note_listings(&mut self, id: BatchId) {
        let Batch { drive, slot, parts, .. } = &self.batches[id];
        let slot = slot.expect("it has a slot");
        let ring = &mut self.lines[*drive].ring;
        for part in parts.iter().filter(|part| part.is_listed) {
            let state = self.cache.copy(part.copy);
            let listing = Listing { slot, mark: part.mark, before: state.durable };
            ring.list(slot, part.copy);
            if let Some(old) = state.listing.replace(listing) {
                ring.release(old.slot);
            }
        }
        if !holds(Invariant::ListedUntilAgreed) {
            for part in parts.iter().filter(|part| part.is_listed) {
                self.cache.copy(part.copy).listing = None;
                ring.release(slot);
            }
        }
    }

    /// The merge of several slots into one has completed.
    fn merged(&mut self, now: Time, core: &mut Core<B>, id: BatchId, is_good: bool) {
        let batch = &mut self.batches[id];
        let (drive, slot) = (batch.drive, batch.slot.expect("it has a slot"));
        let is_current = batch.life == self.lines[drive].life;
        let mut merged = std::mem::take(&mut batch.merged);
        let line = &mut self.lines[drive];
        for &from in merged.iter().filter(|_| is_good) {
            for copy in line.ring.listed(from).to_vec() {
                let state = self.cache.copy(copy);
                if let Some(listing) = &mut state.listing
                    && listing.slot == from
                {
                    listing.slot = slot;
                    line.ring.list(slot, copy);
                    line.ring.release(from);
                }
            }
        }
        if is_current {
            line.ring.give_back_if_unused(slot);
            line.is_merging = false;
        }
        merged.clear();
        self.batches[id].merged = merged;
        self.end_batch(now, core, id);
    }

    /// Writes the copies of a batch.
    fn write_parts(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        let batch = &mut self.batches[id];
        let drive = batch.drive;
        batch.parts.sort_unstable_by_key(|part| part.block);
        batch.pending = 1;
        let parts = std::mem::take(&mut batch.parts);
        let mut rest = &parts[..];
        while let Some(first) = rest.first() {
            let is_trim = first.content == CachedContent::Zeros;
            let goes_on = |(offset, part): &(usize, &Part<B>)| {
                part.block == first.block + *offset as u64
                    && (part.content == CachedContent::Zeros) == is_trim
                    && part.handle == first.handle
            };
            let count = rest.iter().enumerate().take(self.most).take_while(goes_on).count();
            self.write_run(now, core, id, &rest[..count], is_trim);
            rest = &rest[count..];
        }
        self.figures.written += parts.len() as u64;
        let batch = &mut self.batches[id];
        batch.parts = parts;
        debug_assert_eq!(batch.drive, drive);
        self.batch_part_done(now, core, id);
    }

    fn write_run(&mut self, now: Time, core: &mut Core<B>, id: BatchId, parts: &[Part<B>], is_trim: bool) {
        let drive = self.batches[id].drive;
        let mut data = core.drives.memory();
        for part in parts {
            match &part.content {
                CachedContent::Data(block) => {
                    let mut block = block.clone();
                    block.seal(seal_of(drive, part.block, SealAge::IN_PLACE));
                    data.push(block);
                }
                CachedContent::Lost => data.push(B::encode(b"lost")),
                CachedContent::Zeros | CachedContent::Unknown => {}
            }
        }
        self.batches[id].pending += 1;
        let op = if is_trim { Op::Trim } else { Op::Write };
        let (block, blocks, class) = (parts[0].block, to_u32(parts.len()), Class::DEFAULT);
        let kind = WriteKind::Named(parts[0].handle);
        let ask = Ask { op, fua: false, fail_fast: false, class, kind, block, blocks, data };
        core.drives.ask(
            now,
            drive,
            Priority::Write,
            Owner::Layout(RequestPurpose::BatchWrite(id).pack()),
            ask,
        );
    }

    /// A write of a batch has completed, successfully or not.
    pub(super) fn batch_written(&mut self, now: Time, core: &mut Core<B>, id: BatchId, answer: &Answered<B>) {
        self.batches[id].has_failed |= answer.status != Status::Success;
        self.batch_part_done(now, core, id);
    }

    fn batch_part_done(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        let batch = &mut self.batches[id];
        batch.pending -= 1;
        if batch.pending == 0 {
            self.end_batch(now, core, id);
        }
    }

    /// All requests of a batch have completed: its copies become durable with the flush.
    fn end_batch(&mut self, now: Time, core: &mut Core<B>, id: BatchId) {
        let batch = &mut self.batches[id];
        let drive = batch.drive;
        let has_failed = batch.has_failed || batch.life != self.lines[drive].life;
        let mut parts = std::mem::take(&mut batch.parts);
        self.batches.release(id);
        for Part { copy, mark, .. } in parts.drain(..) {
            if has_failed {
                self.undo(now, core, copy);
            } else {
                self.lines[drive].written.push(Written { copy, mark });
            }
        }
        self.batches[id].parts = parts;
        self.lines[drive].batches -= 1;
        self.write_on(now, core, drive);
    }

    /// A copy was not written: returns it to the dirty list.
    pub(super) fn undo(&mut self, now: Time, core: &Core<B>, copy: CopyId) {
        self.cache.copy(copy).sent = 0;
        if !self.cache.copy(copy).is_queued {
            self.queue(now, core, copy);
        }
        self.leave_if_done(now, core, copy.entry());
    }
}
