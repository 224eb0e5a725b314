//! The regions of one drive, and their transitions between clean and dirty.

use super::area::{Area, MarkId, RegionId};
use super::codec::{Generation, Owner};
use crate::mutation::{Invariant, holds};
use std::collections::VecDeque;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::{Nanos, Time};

/// State of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not written since the array was opened; its checksums are unknown and its mark is dirty.
    Unknown,
    /// Its checksums on the drive are valid, and its mark is clean.
    Clean,
    /// A write waits for its mark, which is still clean on the drive and not being written.
    Wanted,
    /// The dirty mark is being written.
    Marking,
    /// Writes may be sent: its mark on the drive is dirty.
    Dirty,
    /// As `Dirty`, with its checksums being written. A write turns it back to `Dirty`.
    Cleaning,
}

/// State and history of a region.
#[derive(Clone, Copy, Debug)]
struct Region {
    state: State,
    /// Generation of its checksums that were written last.
    generation: Generation,
    /// Writes outstanding on the drive.
    in_flight: u32,
    /// Time of the last submission or completion of a write.
    written: Time,
}

/// The regions of a drive. Each one that is neither clean nor unknown is in `dirty` or in `cleaning`.
#[derive(Debug)]
pub(super) struct Regions {
    owner: Owner,
    regions: IdVec<RegionId, Region>,
    /// Dirty regions, roughly in the order of their first write.
    dirty: VecDeque<RegionId>,
    /// Maximum dirty regions before the oldest are cleaned although they are not idle.
    most: usize,
    /// Regions that wait for their marks, and regions whose marks are being written.
    wanted: Vec<RegionId>,
    marking: Vec<RegionId>,
    /// The block of marks that is being written.
    mark: Option<MarkId>,
    /// Blocks of marks to be written that no request waits for.
    stale: Vec<MarkId>,
    cleaning: Vec<RegionId>,
    /// Number of regions in `dirty` still to be examined in this round.
    left: usize,
    /// When to look for idle regions; never if none is dirty or the drive accepts no writes.
    due: Time,
    /// Consecutive failed cleaning rounds.
    failed: u8,
    /// A flush of the drive has failed, so later flushes prove nothing: no region becomes clean.
    is_stopped: bool,
}

/// Consecutive failed cleaning rounds after which cleaning stops until the next write.
const TRIES: u8 = 5;

/// Regions whose checksums are written together.
const BATCH: usize = 64;

impl Regions {
    /// All regions unknown. About `most` are dirty at a time.
    pub(super) fn new(owner: Owner, area: &Area, most: usize) -> Regions {
        let (generation, written) = (Generation::NONE, Time::ZERO);
        let region = Region { state: State::Unknown, generation, in_flight: 0, written };
        Regions {
            owner,
            regions: IdVec::filled(area.regions(), region),
            dirty: VecDeque::new(),
            most,
            wanted: Vec::new(),
            marking: Vec::new(),
            mark: None,
            stale: Vec::new(),
            cleaning: Vec::new(),
            left: 0,
            due: Time::NEVER,
            failed: 0,
            is_stopped: false,
        }
    }

    /// Owner of the regions' checksums.
    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    /// Number of regions with checksums that are not on the drive.
    pub(super) fn dirty(&self) -> usize {
        self.dirty.len() + self.cleaning.len()
    }

    /// True if no region is dirty and all marks are written.
    pub(super) fn is_at_rest(&self) -> bool {
        self.dirty() == 0 && self.mark.is_none() && self.stale.is_empty()
    }

    /// True if some of these regions have been written since `since`, or are being written.
    pub(super) fn were_written(&self, since: Time, mut regions: impl Iterator<Item = RegionId>) -> bool {
        regions.any(|region| self.regions[region].in_flight > 0 || self.regions[region].written >= since)
    }

    /// When to look for idle regions; never if none is dirty or the drive accepts no writes.
    pub(super) fn due(&self) -> Time {
        if self.is_stopped { Time::NEVER } else { self.due }
    }

    /// Stops cleaning after a failed flush: a later successful flush does not make the lost data durable.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Restores marks from a block; None if it is unreadable. It may be readable next time, so it is
    /// overwritten before its regions are written.
    pub(super) fn restore(
        &mut self,
        now: Time,
        area: &Area,
        mark: MarkId,
        marks: Option<impl Iterator<Item = Generation>>,
    ) {
        let Some(marks) = marks else {
            for region in area.marked_in(mark) {
                self.regions[region].state = State::Clean;
                self.touch(now, Nanos::ZERO, region);
            }
            return;
        };
        for (region, generation) in area.marked_in(mark).zip(marks) {
            if generation != Generation::NONE {
                let region = &mut self.regions[region];
                (region.state, region.generation) = (State::Clean, generation);
            }
        }
    }

    /// The next region from `from` on whose checksums on the drive are valid.
    pub(super) fn next_clean(&self, from: RegionId) -> Option<RegionId> {
        let mut regions = from.up_to(RegionId::at(self.regions.len()));
        regions.find(|&region| self.regions[region].state == State::Clean)
    }

    /// Generation of the checksums of a region; None unless it is clean.
    pub(super) fn clean(&self, region: RegionId) -> Option<Generation> {
        let Region { state, generation, .. } = self.regions[region];
        (state == State::Clean).then_some(generation)
    }

    /// Starts with a blank drive: all of its marks are written as dirty.
    pub(super) fn begin_blank(&mut self, area: &Area) {
        self.stale = MarkId::first(area.marks()).collect();
    }

    /// Schedules the search for idle regions, if any region is dirty.
    pub(super) fn look_at(&mut self, at: Time) {
        self.due = if self.dirty.is_empty() { Time::NEVER } else { at };
    }

    /// True if some regions can be written now: their writes then count as in flight. Otherwise requests
    /// their marks, and the write must be offered again.
    #[inline]
    pub(super) fn admit(
        &mut self,
        now: Time,
        idle: Nanos,
        regions: impl Iterator<Item = RegionId> + Clone,
    ) -> bool {
        let mut is_marked = true;
        for region in regions.clone() {
            is_marked &= self.touch(now, idle, region);
        }
        if is_marked || !holds(Invariant::DirtyBeforeWrite) {
            regions.for_each(|region| self.regions[region].in_flight += 1);
            return true;
        }
        false
    }

    /// Records that a region's checksums change. True if its mark is dirty on the drive already.
    #[inline]
    pub(super) fn touch(&mut self, now: Time, idle: Nanos, id: RegionId) -> bool {
        let region = &mut self.regions[id];
        region.written = now;
        if self.failed >= TRIES {
            (self.failed, self.due) = (0, now + idle);
        }
        match region.state {
            State::Dirty => true,
            State::Cleaning => {
                region.state = State::Dirty;
                true
            }
            State::Wanted | State::Marking => false,
            State::Unknown => {
                region.state = State::Dirty;
                self.soil(now, idle, id);
                true
            }
            State::Clean => {
                region.state = State::Wanted;
                self.wanted.push(id);
                self.soil(now, idle, id);
                false
            }
        }
    }

    fn soil(&mut self, now: Time, idle: Nanos, id: RegionId) {
        self.dirty.push_back(id);
        let at = if self.dirty() > self.most { now } else { now + idle };
        self.due = self.due.min(at);
    }

    /// A write of some regions has completed.
    #[inline]
    pub(super) fn ended(&mut self, now: Time, regions: impl Iterator<Item = RegionId>) {
        for region in regions {
            let region = &mut self.regions[region];
            region.in_flight -= 1;
            region.written = now;
        }
    }

    /// The next outdated block of marks, if none is being written.
    pub(super) fn next_mark(&mut self, area: &Area) -> Option<MarkId> {
        if self.mark.is_some() {
            return None;
        }
        let first = self.wanted.first().map(|&region| area.mark_of(region));
        let mark = first.or_else(|| self.stale.last().copied())?;
        self.stale.retain(|&stale| stale != mark);
        for &region in self.wanted.iter().filter(|&&region| area.mark_of(region) == mark) {
            self.regions[region].state = State::Marking;
            self.marking.push(region);
        }
        self.wanted.retain(|&region| area.mark_of(region) != mark);
        self.mark = Some(mark);
        Some(mark)
    }

    /// The marks of a block as they should be on the drive.
    pub(super) fn marks(&self, area: &Area, mark: MarkId) -> impl Iterator<Item = Generation> {
        area.marked_in(mark).map(|region| self.clean(region).unwrap_or(Generation::NONE))
    }

    /// Completes the write of a block of marks. After a failure the writes that wait for marks fail, so their
    /// regions are clean again.
    pub(super) fn marked(&mut self, is_good: bool) {
        let mark = self.mark.take();
        if is_good {
            self.marking.drain(..).for_each(|region| self.regions[region].state = State::Dirty);
            return;
        }
        for region in self.marking.drain(..).chain(self.wanted.drain(..)) {
            self.regions[region].state = State::Clean;
        }
        self.dirty.retain(|&region| self.regions[region].state != State::Clean);
        self.stale.extend(mark);
    }

    /// Starts cleaning up to 64 regions that have been idle for `idle` or, if too many are dirty, the oldest.
    /// Returns the regions whose checksums must be written.
    pub(super) fn begin_cleaning(&mut self, now: Time, idle: Nanos) -> &[RegionId] {
        self.due = Time::NEVER;
        if !self.cleaning.is_empty() {
            return &[];
        }
        if self.left == 0 {
            self.left = self.dirty.len();
        }
        let mut over = self.dirty.len().saturating_sub(self.most);
        while self.left > 0 && self.cleaning.len() < BATCH {
            self.left -= 1;
            let Some(id) = self.dirty.pop_front() else { break };
            let region = &mut self.regions[id];
            let is_at_rest = region.written + idle <= now || over > 0;
            if region.state == State::Dirty && region.in_flight == 0 && is_at_rest {
                over = over.saturating_sub(1);
                region.state = State::Cleaning;
                region.generation = region.generation.next();
                self.cleaning.push(id);
            } else {
                self.dirty.push_back(id);
            }
        }
        if self.cleaning.is_empty() {
            (self.left, self.due) = (0, self.next_round(now, idle));
        }
        &self.cleaning
    }

    fn next_round(&self, now: Time, idle: Nanos) -> Time {
        if self.dirty.is_empty() { Time::NEVER } else { now + idle }
    }

    /// The generation with which the checksums of a region are written.
    pub(super) fn generation(&self, region: RegionId) -> Generation {
        self.regions[region].generation
    }

    /// Completes a cleaning round. If all of it is durable, regions without a write meanwhile become clean.
    /// Returns their number.
    pub(super) fn cleaned(&mut self, now: Time, idle: Nanos, area: &Area, is_good: bool) -> u64 {
        let mut count = 0;
        let cleaning = std::mem::take(&mut self.cleaning);
        for &id in &cleaning {
            let region = &mut self.regions[id];
            if region.state != State::Cleaning || !is_good || self.is_stopped {
                region.state = State::Dirty;
                self.dirty.push_back(id);
                continue;
            }
            count += 1;
            region.state = State::Clean;
            let mark = area.mark_of(id);
            if !self.stale.contains(&mark) {
                self.stale.push(mark);
            }
        }
        self.cleaning = cleaning;
        self.cleaning.clear();
        self.failed = if is_good { 0 } else { self.failed + 1 };
        let goes_on = self.left > 0 || count > 0 && self.dirty.len() > self.most;
        self.due = if self.failed >= TRIES {
            Time::NEVER
        } else if goes_on && is_good {
            now
        } else {
            self.next_round(now, idle)
        };
        count
    }
}

#[cfg(test)]
mod tests;
