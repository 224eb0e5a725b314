//! Copying of a victim's valid records: they are read together with their neighbours and appended to the log.

use super::super::damage::{Damage, DamageKind};
use super::super::engine::Engine;
use super::super::fetch::{key_end, key_in, record_in, whole_record_in};
use super::super::hash::KeyHash;
use super::super::index::Entry as Known;
use super::super::item::Value;
use super::super::log::format::Entry;
use super::super::log::{AppendPurpose, Record};
use super::super::place::{FrontUnit, Place, UNIT};
use super::super::record::{Header, State};
use super::super::settings::Keep;
use super::super::versions::Versions;
use super::{MOST_FAILURES, MOST_RUNS, RUN_BLOCKS, Run};
use crate::block::Bytes;
use crate::disk::{BLOCK_BYTES, BLOCK_LEN};
use crate::mutation::{Invariant, holds};
use std::ops::Range;
use tailcut_base::cast::to_usize;

impl Engine {
    /// Processes entries of the summary; false if there is nothing more to do at the moment.
    pub(super) fn copy_some(&mut self, slot: usize) -> bool {
        loop {
            let Some(flash) = &mut self.flash else { return false };
            if flash.reclaims[slot].under_way >= MOST_RUNS || flash.log.is_busy() {
                return false;
            }
            if flash.reclaims[slot].next == flash.reclaims[slot].entries.len() {
                return flash.reclaims[slot].under_way == 0 && flash.end_copying(slot, &mut self.pool);
            }
            self.begin_run(slot);
        }
    }

    /// Finds the next record to copy and reads it together with those behind it.
    fn begin_run(&mut self, slot: usize) {
        let mut run: Option<Run> = None;
        loop {
            let Some(flash) = &mut self.flash else { return };
            let reclaim = &mut flash.reclaims[slot];
            let Some(&entry) = reclaim.entries.get(reclaim.next) else { break };
            let at = reclaim.next;
            let within = blocks_of(&entry);
            let fits = |run: &Run| within.end - run.within.start <= RUN_BLOCKS;
            if !run.as_ref().is_none_or(fits) {
                break;
            }
            reclaim.next += 1;
            if !self.consider(slot, entry) {
                continue;
            }
            let Some(flash) = &mut self.flash else { return };
            flash.reclaims[slot].chosen[at] = true;
            let run = run.get_or_insert_with(|| Run {
                entries: at..at,
                within: within.clone(),
                blocks: Vec::new(),
                copy: None,
                versions: Versions::default(),
            });
            (run.entries.end, run.within.end) = (at + 1, run.within.end.max(within.end));
        }
        if let (Some(mut run), Some(flash)) = (run, &mut self.flash) {
            run.blocks = self.pool.list();
            flash.reclaims[slot].under_way += 1;
            flash.read_run(slot, run);
        }
    }

    /// Decides on a record of the victim; true if it must be copied.
    fn consider(&mut self, slot: usize, entry: Entry) -> bool {
        if entry.is_tombstone {
            self.consider_tombstone(slot, entry.hash);
            return false;
        }
        let Some(flash) = &mut self.flash else { return false };
        let victim = flash.reclaims[slot].victim;
        let place = victim.place_of(flash.log.segment_blocks(), entry.range());
        let Some(known) = self.index.find(entry.hash) else { return false };
        if let Place::Front { unit } = known.place {
            self.consider_copy_in_memory(slot, entry.hash, unit, place);
            return false;
        }
        if known.place != place {
            return false;
        }
        if entry.expires != 0 && entry.expires <= self.unix {
            self.figures.expired += 1;
            self.tiers.expired_evicted += 1;
            self.index.remove(entry.hash);
            self.leave_victim(slot, entry.hash, place);
            return false;
        }
        match self.settings.keep {
            Keep::Everything => true,
            Keep::WhatIsUsed => known.heat > 0 && self.takes_from_budget(slot, u64::from(entry.bytes)),
        }
    }

    fn abort(&mut self, slot: usize) {
        self.flash.iter_mut().for_each(|flash| flash.reclaims[slot].is_aborted = true);
    }

    /// Takes `bytes` from the copy budget of a cache's victim; false if too little is left.
    fn takes_from_budget(&mut self, slot: usize, bytes: u64) -> bool {
        let Some(flash) = &mut self.flash else { return false };
        let left = flash.reclaims[slot].budget.checked_sub(bytes);
        flash.reclaims[slot].budget = left.unwrap_or(flash.reclaims[slot].budget);
        left.is_some()
    }

    /// The item is in memory as well: it stays there only, or its record is appended from there.
    fn consider_copy_in_memory(&mut self, slot: usize, hash: KeyHash, unit: FrontUnit, place: Place) {
        let header = self.front.header(unit);
        if header.home != place.encode() {
            return;
        }
        let is_kept = match self.settings.keep {
            Keep::Everything => true,
            Keep::WhatIsUsed => {
                self.settings.writes_at_once() && self.takes_from_budget(slot, header.record_bytes())
            }
        };
        let copy = if is_kept { self.append_from_front(hash, unit, AppendPurpose::Move) } else { None };
        if copy.is_none() && self.settings.keep == Keep::Everything {
            return self.abort(slot);
        }
        let home = copy.map_or(0, Place::encode);
        self.front.set_header(unit, &Header { home, ..header });
        self.leave_victim(slot, hash, place);
    }

    /// Invalidates a record of the victim. Writes a tombstone if an older record could reappear once the
    /// victim is gone.
    fn leave_victim(&mut self, slot: usize, hash: KeyHash, place: Place) {
        let (Some(flash), Place::Log { unit, .. }) = (&mut self.flash, place) else { return };
        flash.log.forget(unit);
        let (victim, sequence) =
            (flash.reclaims[slot].victim, flash.log.sequence(flash.reclaims[slot].victim));
        let is_elsewhere = self.index.find(hash).is_some_and(|known| self.front_home(known) != Some(0));
        let Some(flash) = &mut self.flash else { return };
        if !is_elsewhere && flash.log.needs_tombstone(sequence, victim) {
            self.figures.tombstones += 1;
            flash.reclaims[slot].is_aborted |=
                !flash.log.write_tombstone(self.now, hash, sequence, AppendPurpose::Move, &mut self.pool);
        }
    }

    fn front_home(&self, known: Known) -> Option<u64> {
        match known.place {
            Place::Front { unit } => Some(self.front.header(unit).home),
            Place::Log { .. } => None,
        }
    }

    fn consider_tombstone(&mut self, slot: usize, hash: KeyHash) {
        let is_superseded = self.index.find(hash).is_some_and(|known| self.front_home(known) != Some(0));
        let Some(flash) = &mut self.flash else { return };
        let (victim, buried) = (flash.reclaims[slot].victim, flash.log.buried(flash.reclaims[slot].victim));
        if !is_superseded && flash.log.needs_tombstone(buried, victim) {
            self.figures.tombstones += 1;
            flash.reclaims[slot].is_aborted |=
                !flash.log.write_tombstone(self.now, hash, buried, AppendPurpose::Move, &mut self.pool);
        }
    }

    /// A read of a run, or of a part of it, has completed.
    pub(super) fn note_run(&mut self, slot: usize, mut run: Run, is_good: bool, mut data: Vec<Bytes>) {
        run.blocks.append(&mut data);
        self.pool.recycle(data);
        let Some(flash) = &mut self.flash else { return };
        let needed = run.within.end - run.within.start;
        if is_good && (run.blocks.len() as u64) < needed {
            return flash.read_run(slot, run);
        }
        flash.reclaims[slot].failures += u32::from(!is_good);
        let (next, copies) = (run.copy.map_or(0, |copy| copy + 1), flash.jobs.copies());
        let is_last = next >= copies && (is_good || flash.reclaims[slot].failures > MOST_FAILURES);
        let mut is_damaged = false;
        for at in run.entries.clone() {
            let Some(flash) = &mut self.flash else { return };
            if !flash.reclaims[slot].chosen[at] {
                continue;
            }
            let entry = flash.reclaims[slot].entries[at];
            let offset = u64::from(entry.unit) * UNIT - run.within.start * BLOCK_BYTES;
            if is_good && self.copy(slot, entry, &mut run, to_usize(offset)) {
                continue;
            }
            is_damaged = true;
            match (is_last, is_good, self.settings.keep) {
                (false, _, _) => {}
                (_, false, Keep::Everything) => self.note_unreadable(slot),
                _ => self.note_lost(slot, entry, is_good),
            }
        }
        let Some(flash) = &mut self.flash else { return };
        if is_damaged && !is_last {
            let blocks = std::mem::take(&mut run.blocks);
            run.versions.add(run.copy, &blocks, &[]);
            self.pool.recycle(blocks);
            run.copy = if next < copies { Some(next) } else { None };
            return flash.read_run(slot, run);
        }
        flash.reclaims[slot].under_way -= 1;
        self.pool.recycle(run.blocks);
    }

    fn note_unreadable(&mut self, slot: usize) {
        self.flash.iter_mut().for_each(|flash| flash.reclaims[slot].is_unreadable = true);
    }

    /// Copies a record if it is still valid; false if it is damaged.
    fn copy(&mut self, slot: usize, entry: Entry, run: &mut Run, offset: usize) -> bool {
        let Some(flash) = &mut self.flash else { return true };
        let (victim, segment_blocks) = (flash.reclaims[slot].victim, flash.log.segment_blocks());
        let sequence = flash.log.sequence(victim);
        let place = victim.place_of(segment_blocks, entry.range());
        let Some(known) = self.index.find(entry.hash) else { return true };
        if let Place::Front { unit } = known.place {
            // It has been read so often meanwhile that it is in memory as well.
            self.consider_copy_in_memory(slot, entry.hash, unit, place);
            return true;
        }
        if known.place != place {
            return true;
        }
        let within = u64::from(segment_blocks) * BLOCK_BYTES - u64::from(entry.unit) * UNIT;
        let of = (sequence, flash.log.salt(victim));
        let Run { blocks, versions, .. } = run;
        let first = offset / BLOCK_LEN;
        if !versions.is_empty() {
            versions.combine(blocks, first..key_end(offset), |blocks| record_in(blocks, offset, of, within));
        }
        let end = (offset + entry.bytes as usize).div_ceil(BLOCK_LEN);
        let whole_in = |blocks: &[Bytes]| whole_record_in(blocks, offset, of, within);
        let Some(found) = versions.combine(blocks, first..end, whole_in) else { return false };
        let header = found.header;
        let is_doubted = flash.is_doubted(&header);
        if header.is_expired(self.unix) && !is_doubted {
            self.figures.expired += 1;
            self.tiers.expired_evicted += 1;
            self.index.remove(entry.hash);
            self.leave_victim(slot, entry.hash, place);
            return true;
        }
        let mut key = [0; 256];
        let key = key_in(blocks, offset, &header, &mut key);
        let value = Value::Blocks { blocks, at: offset + header.value_at(), bytes: header.value as usize };
        let state = header.state.without(State::FETCHED);
        let state = if is_doubted { state.with(State::DOUBTED) } else { state };
        let record = Record { header: Header { state, ..header }, key, value, hash: entry.hash };
        let Some(flash) = &mut self.flash else { return true };
        let copy = flash.log.append(self.now, &record, AppendPurpose::Move, &mut self.pool);
        let Some(copy) = copy else {
            flash.reclaims[slot].is_aborted |= self.settings.keep == Keep::Everything;
            return true;
        };
        self.index.set(entry.hash, Known { place: copy, heat: known.heat.saturating_sub(1) });
        if let Place::Log { unit, .. } = place {
            flash.log.forget(unit);
        }
        self.figures.copied += header.record_bytes();
        self.admission.note_written(header.record_bytes());
        true
    }
}

impl Engine {
    /// A record of the victim that must be copied is damaged. A cache drops the item and any older version; a
    /// store writes a record that marks it as lost.
    fn note_lost(&mut self, slot: usize, entry: Entry, is_damaged: bool) {
        let Some(flash) = &mut self.flash else { return };
        if is_damaged {
            let block = flash.log.first_block(flash.reclaims[slot].victim) + blocks_of(&entry).start;
            self.figures.damaged += 1;
            self.damages.add(Damage { block, what: DamageKind::Record });
        }
        let victim = flash.reclaims[slot].victim;
        let place = victim.place_of(flash.log.segment_blocks(), entry.range());
        let (Some(known), Place::Log { unit, .. }) = (self.index.find(entry.hash), place) else { return };
        if let Place::Front { unit } = known.place {
            return self.consider_copy_in_memory(slot, entry.hash, unit, place);
        }
        if known.place != place || !holds(Invariant::LossesAreRecorded) {
            return;
        }
        if self.settings.keep == Keep::WhatIsUsed {
            self.index.remove(entry.hash);
            self.figures.evicted += 1;
            self.tiers.evicted_on_flash += 1;
            return self.leave_victim(slot, entry.hash, place);
        }
        let key = entry.hash.0.to_le_bytes();
        let header = Header { key: 16, state: State::LOST, ..Header::default() };
        let record = Record { header, key: &key, value: Value::Slice(&[]), hash: entry.hash };
        match flash.log.append(self.now, &record, AppendPurpose::Move, &mut self.pool) {
            Some(place) => {
                flash.log.forget(unit);
                self.index.set(entry.hash, Known { place, heat: 0 });
            }
            None => flash.reclaims[slot].is_aborted = true,
        }
    }
}

/// The blocks of its segment that a record touches.
fn blocks_of(entry: &Entry) -> Range<u64> {
    let start = u64::from(entry.unit) * UNIT;
    start / BLOCK_BYTES..(start + u64::from(entry.bytes)).div_ceil(BLOCK_BYTES)
}
