//! From drives to an array that accepts requests: blank drives are cleared, and the effects of a power loss
//! are repaired.

use super::intent::INTENT_BLOCKS;
use super::mutation::{Invariant, holds};
use super::ring::Ring;
use super::transaction::Header;
use super::walk::Task;
use super::{Raid, Token};
use crate::Block;
use crate::array::DriveId;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Presence, Priority};
use crate::array::reads::{SealAge, seal_of};
use crate::placement::WriteKind;
use std::collections::BTreeMap;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::{Class, Op, Status, Time};

/// Stage of the work before requests are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The drives are cleared: the parity of zeros is zero, whatever they held.
    Clear,
    /// The journal or the bitmap is read.
    Read,
    /// Transactions that are on one drive only are copied to a second one.
    Copy,
    /// The content of the journal is written in place.
    Write,
    /// The drives are flushed.
    Flush,
    /// Once the superblock is on the drives, the journal starts anew.
    Restart,
    /// The parity of marked regions is recomputed.
    Resync,
    /// None: requests are accepted.
    Ready,
}

/// State of a recovery.
#[derive(Debug)]
pub(super) struct Recovery<B> {
    /// The stage that the recovery has reached.
    pub stage: Stage,
    /// Outstanding completions.
    pending: u32,
    /// Clearing: the next block of each drive.
    cleared: IdVec<DriveId, u64>,
    /// Blocks read from each drive.
    rings: IdVec<DriveId, Vec<B>>,
    /// Pending writes: drive, block and content (None to trim), in reverse order.
    writes: Vec<(DriveId, u64, Option<B>)>,
    /// Writes in place that follow the pending ones, in the same form.
    in_place: Vec<(DriveId, u64, Option<B>)>,
    has_restarted: bool,
}

impl<B> Recovery<B> {
    /// No recovery: requests are accepted.
    pub(super) fn none() -> Recovery<B> {
        Recovery {
            stage: Stage::Ready,
            pending: 0,
            cleared: IdVec::new(),
            rings: IdVec::new(),
            writes: Vec::new(),
            in_place: Vec::new(),
            has_restarted: false,
        }
    }
}

/// A transaction found: its header, its content, and the drives that hold it.
struct FoundTransaction<B> {
    header: Header,
    content: Vec<B>,
    drives: Vec<DriveId>,
}

/// Upper bound of transaction numbers, which no array can reach.
const SEQUENCE_MAX: u64 = 1 << 62;

/// Concurrent requests on all drives together.
const AT_ONCE: u32 = 64;

impl<B: Block> Raid<B> {
    /// Clears the drives of a new array.
    pub(super) fn begin_clear(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.stage = Stage::Clear;
        self.recovery.cleared = IdVec::filled(core.drives.len(), core.usable().start);
        self.recovery.pending = 1;
        self.clear_more(now, core);
        self.recovery_part_done(now, core);
    }

    fn clear_more(&mut self, now: Time, core: &mut Core<B>) {
        let end = core.usable().end;
        for drive in core.drives.ids() {
            let block = self.recovery.cleared[drive];
            let blocks = to_u32((end - block).min(self.most as u64));
            if blocks > 0 {
                self.recovery.cleared[drive] += u64::from(blocks);
                self.ask_for_recovery(now, core, drive, (block, blocks), Op::Trim, Vec::new());
            }
        }
    }

    fn ask_for_recovery(
        &mut self,
        now: Time,
        core: &mut Core<B>,
        drive: DriveId,
        (block, blocks): (u64, u32),
        op: Op,
        data: Vec<B>,
    ) {
        self.recovery.pending += 1;
        let class = Class::DEFAULT;
        let ask = Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks, data };
        core.drives.ask(now, drive, Priority::Write, Owner::Layout(Token::Recovery.pack()), ask);
    }

    /// Starts reading the journal or the bitmap of an array being opened.
    pub(super) fn begin_recovery(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.stage = Stage::Read;
        self.recovery.rings = IdVec::filled(core.drives.len(), Vec::new());
        self.recovery.pending = 1;
        let (first, blocks) = match (&self.journal, &self.intent) {
            (Some(journal), _) => (journal.first, journal.blocks),
            (None, Some(_)) => (core.usable().start, INTENT_BLOCKS),
            (None, None) => (0, 0),
        };
        for drive in core.drives.ids() {
            if !core.drives.is_in_sync(drive) {
                continue;
            }
            self.recovery.rings[drive] = vec![B::default(); to_usize(blocks)];
            for at in (0..blocks).step_by(self.most) {
                let part = to_u32((blocks - at).min(self.most as u64));
                self.ask_for_recovery(now, core, drive, (first + at, part), Op::Read, Vec::new());
            }
        }
        self.recovery_part_done(now, core);
    }

    /// Handles a completion from a drive.
    pub(super) fn recovery_answered(&mut self, now: Time, core: &mut Core<B>, answer: &Answered<B>) {
        match self.recovery.stage {
            Stage::Read if answer.status == Status::Success => {
                let at = to_usize(answer.block - core.usable().start);
                self.recovery.rings[answer.drive][at..at + answer.data.len()].clone_from_slice(&answer.data);
            }
            // One unreadable block must not fail its neighbours.
            Stage::Read if answer.blocks > 1 && answer.status == Status::MediaError => {
                for block in answer.block..answer.block + u64::from(answer.blocks) {
                    self.ask_for_recovery(now, core, answer.drive, (block, 1), Op::Read, Vec::new());
                }
            }
            Stage::Clear => self.clear_more(now, core),
            Stage::Copy | Stage::Write => self.write_more(now, core, 1),
            _ => {}
        }
        self.recovery_part_done(now, core);
    }

    fn recovery_part_done(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.pending -= 1;
        if self.recovery.pending > 0 {
            return;
        }
        match self.recovery.stage {
            Stage::Read if self.journal.is_some() => self.judge_journal(now, core),
            Stage::Read => self.judge_intent(now, core),
            Stage::Copy => self.begin_writes(now, core, Stage::Write),
            Stage::Clear | Stage::Write => {
                self.recovery.stage = Stage::Flush;
                self.is_flushing = true;
                self.begin_flush(now, core, None);
            }
            stage => unreachable!("nothing is asked for in stage {stage:?}"),
        }
    }

    fn begin_writes(&mut self, now: Time, core: &mut Core<B>, stage: Stage) {
        self.recovery.stage = stage;
        if stage == Stage::Write {
            self.recovery.writes = std::mem::take(&mut self.recovery.in_place);
        }
        self.recovery.pending = 1;
        self.write_more(now, core, AT_ONCE);
        self.recovery_part_done(now, core);
    }

    /// Submits up to `most` requests, each for a run of adjacent blocks.
    fn write_more(&mut self, now: Time, core: &mut Core<B>, most: u32) {
        for _ in 0..most {
            let Some((drive, end, content)) = self.recovery.writes.pop() else { return };
            let op = if content.is_some() { Op::Write } else { Op::Trim };
            let mut first = end;
            let mut data: Vec<B> = content.into_iter().collect();
            let limit = self.most as u64;
            while let Some((_, _, content)) = self.recovery.writes.pop_if(|(next, block, content)| {
                *next == drive
                    && *block + 1 == first
                    && content.is_some() == (op == Op::Write)
                    && end - first + 1 < limit
            }) {
                first -= 1;
                data.extend(content);
            }
            data.reverse();
            self.ask_for_recovery(now, core, drive, (first, to_u32(end - first + 1)), op, data);
        }
    }

    /// Finds the transactions that may not be in place, and the writes they require.
    fn judge_journal(&mut self, now: Time, core: &mut Core<B>) {
        let found = self.transactions(core);
        let tail = found.last_key_value().map_or(0, |(_, newest)| newest.header.tail);
        let next = found.last_key_value().map_or(1, |(&sequence, _)| sequence + 1);
        let journal = self.journal.as_mut().expect("there is a journal");
        journal.ring = Ring::new(journal.blocks);
        journal.ring.go_on_from(next);
        let mut in_place = BTreeMap::new();
        self.recovery.writes.clear();
        let place = |whole: &FoundTransaction<B>| (whole.header.position, whole.header.blocks());
        let together =
            Ring::together(journal.blocks, found.range(tail..).rev().map(|(_, whole)| place(whole)));
        let oldest = found.keys().rev().take(together).next_back().copied().unwrap_or(next);
        for (&sequence, whole) in found.range(oldest..) {
            let position = whole.header.position;
            journal.ring.restore(sequence, position..position + whole.header.blocks());
            let mut content = whole.content.iter();
            for entry in &whole.header.entries {
                let content = entry.content.and_then(|_| content.next()).cloned();
                in_place.insert((entry.drive, entry.block), content);
            }
            let first = journal.first + whole.header.position;
            // It may be the newest, whose second copy a power loss has prevented. From now on it counts.
            let second = core.drives.ids().find(|drive| !whole.drives.contains(drive));
            if let (1, Some(second)) = (whole.drives.len(), second.filter(|_| self.recovery.is_whole(core))) {
                let mut bytes = Vec::new();
                whole.header.encode(&mut bytes);
                let blocks = std::iter::once(B::encode(&bytes)).chain(whole.content.iter().cloned());
                self.recovery.writes.extend((first..).zip(blocks).map(|(at, b)| (second, at, Some(b))));
            }
        }
        if holds(Invariant::Replay) {
            let sealed = in_place.into_iter().map(|((drive, block), content)| {
                let seal = |mut content: B| {
                    content.seal(seal_of(drive, block, SealAge::IN_PLACE));
                    content
                };
                (drive, block, content.map(seal))
            });
            self.recovery.in_place = sealed.collect();
        }
        self.recovery.rings = IdVec::new();
        if self.recovery.writes.is_empty() {
            return self.begin_writes(now, core, Stage::Write);
        }
        // Copies must be durable before any write in place.
        self.begin_copies(now, core);
    }

    /// All complete transactions on the drives.
    fn transactions(&self, core: &Core<B>) -> BTreeMap<u64, FoundTransaction<B>> {
        let array = self.array;
        let mut found: BTreeMap<u64, FoundTransaction<B>> = BTreeMap::new();
        for (drive, ring) in self.recovery.rings.iter_enumerated() {
            for (position, block) in ring.iter().enumerate() {
                let Some(header) = block.decode().and_then(Header::decode) else { continue };
                let end = position + to_usize(header.blocks());
                let is_whole = header.array == array
                    && header.position == position as u64
                    && end <= ring.len()
                    && header.fits(&ring[position + 1..end]);
                let data = self.shape.base(0)..core.usable().end;
                let is_possible = header.sequence < SEQUENCE_MAX
                    && header.tail <= header.sequence
                    && header
                        .entries
                        .iter()
                        .all(|entry| entry.drive.index() < core.drives.len() && data.contains(&entry.block));
                if !is_whole || !is_possible {
                    continue;
                }
                let content = &ring[position + 1..end];
                let new = || FoundTransaction {
                    header: header.clone(),
                    content: content.to_vec(),
                    drives: Vec::new(),
                };
                found.entry(header.sequence).or_insert_with(new).drives.push(drive);
            }
        }
        found
    }

    fn begin_copies(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.stage = Stage::Copy;
        self.recovery.pending = 1;
        for (drive, block, content) in std::mem::take(&mut self.recovery.writes) {
            self.recovery.pending += 1;
            let (op, class, data) = (Op::Write, Class::DEFAULT, content.into_iter().collect());
            let ask =
                Ask { op, fua: true, fail_fast: false, class, kind: WriteKind::Data, block, blocks: 1, data };
            core.drives.ask(now, drive, Priority::Write, Owner::Layout(Token::Recovery.pack()), ask);
        }
        self.recovery_part_done(now, core);
    }

    /// Loads the bitmap, and starts repairing the parity of marked regions.
    fn judge_intent(&mut self, now: Time, core: &mut Core<B>) {
        let rings = std::mem::take(&mut self.recovery.rings);
        if let Some(intent) = &mut self.intent {
            for block in rings.iter().flatten() {
                intent.restore(block.decode().unwrap_or(&[]));
            }
            self.recovery.stage = Stage::Resync;
            return self.begin_task(now, core, Task::Resync);
        }
        self.be_ready(now, core);
    }

    /// Advances recovery after an event that it may wait for.
    pub(super) fn recovery_goes_on(&mut self, now: Time, core: &mut Core<B>) {
        match self.recovery.stage {
            Stage::Flush if !self.is_flushing => {
                self.recovery.stage = Stage::Restart;
                self.recovery.has_restarted = false;
                self.recovery_goes_on(now, core);
            }
            Stage::Restart if self.recovery.has_restarted => {
                let is_idle = self.journal.as_ref().is_none_or(|journal| journal.is_idle())
                    && self.intent.as_ref().is_none_or(|intent| intent.is_idle());
                if is_idle {
                    self.be_ready(now, core);
                }
            }
            Stage::Restart if core.is_recorded() => {
                self.recovery.has_restarted = true;
                match (self.journal.is_some(), self.intent.is_some()) {
                    (true, _) => self.checkpoint(now, core),
                    (_, true) => self.write_intent(now, core),
                    _ => self.be_ready(now, core),
                }
            }
            _ => {}
        }
    }

    /// The resync is complete.
    pub(super) fn resynced(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery.stage = Stage::Flush;
        self.is_flushing = true;
        self.begin_flush(now, core, None);
    }

    fn be_ready(&mut self, now: Time, core: &mut Core<B>) {
        self.recovery = Recovery { stage: Stage::Ready, ..Recovery::none() };
        for drive in core.drives.ids() {
            if core.drives.presence(drive) == Presence::Rebuilding {
                // The journal may have restored blocks from before the drive was lost.
                core.drives.forget_checksums(drive);
                self.begin_task(now, core, Task::Rebuild(drive));
            }
        }
    }
}

impl<B> Recovery<B> {
    /// True if no drive is missing, so that one may still be lost.
    fn is_whole(&self, core: &Core<B>) -> bool
    where
        B: Block,
    {
        core.drives.ids().all(|drive| core.drives.is_in_sync(drive))
    }
}
