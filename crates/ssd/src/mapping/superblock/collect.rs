//! Collection by superblock: the valid pages of a superblock are read a sensing at a time, gathered to units
//! and programmed to the superblock of collection; then its blocks are erased. Each reclaim group collects
//! for itself, and moves nothing to another.

use super::{Copy, Draining, Frontier, Group, HostData, Superblocks, Writer};
use crate::config::CollectionPace;
use crate::flash::{BlockId, LunId, PhysicalPage, SuperblockId};
use crate::mapping::ftl::Ftl;
use crate::mapping::{Effect, Mapping};
use crate::request::{Lane, MemoryRequest, Role};
use tailcut_base::Time;
use tailcut_base::cast::{to_u8, to_u32};
use tailcut_base::fdp::{GroupId, HandleId, PlacementId};
use tailcut_base::ids::Id;

/// The superblock that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    victim: SuperblockId,
    /// The next sensing, of all that the superblock takes; those of one word line go over all dies in turn.
    next: u32,
    /// Reads under way.
    reads: u32,
    /// Its valid pages when it was chosen.
    valid: u32,
    /// Pages that should have been read for what the host has written since, in [`FRACTION`]s.
    due: u64,
    /// Pages that have been read, or are being read.
    read: u64,
}

/// Fractions of a page that is due.
const FRACTION: u64 = 1024;

impl Superblocks {
    /// The host has been given a unit in a group, while `missing` pages were missing from what is to be free
    /// there. Of a victim with `valid` valid pages, `valid` are due for each
    /// `pages_each` - `valid` that the host writes, so that as much is gained as is used up; for each
    /// superblock that is missing as many again.
    pub(super) fn host_wrote(&mut self, group: GroupId, missing: u64) {
        let each = u64::from(self.pages_each);
        if let Some(job) = &mut self.groups[group].job {
            let gained = (each - u64::from(job.valid)).max(1);
            let due = u64::from(self.config.program) * u64::from(job.valid) * FRACTION / gained;
            job.due += due + due * missing / each;
        }
    }

    /// Pages that a writer has left in its superblock.
    pub(super) fn left(&self, frontier: Option<Frontier>) -> u64 {
        frontier.map_or(0, |frontier| u64::from((self.units_each - frontier.next) * self.config.program))
    }

    /// Pages left in open superblocks of a group that any data can go to: what one of several handles has
    /// left is of no use to the others.
    fn left_for_all(&self, group: &Group) -> u64 {
        let first = HandleId::new(0);
        let host = if group.host.len() == 1 { self.left(group.host[first].frontier) } else { 0 };
        let moved = if group.collection.len() == 1 { self.left(group.collection[first].frontier) } else { 0 };
        host + moved
    }

    /// Pages that can be written to a group with `free` free superblocks, or that collection will have gained
    /// with what it has read.
    fn usable(&self, group: &Group, free: u32) -> u64 {
        let each = u64::from(self.pages_each);
        let whole = u64::from(free + group.draining()) * each;
        let gained = group.job.map_or(0, |job| {
            let valid = u64::from(job.valid);
            let gains = each - valid;
            let victim = (gains * job.read.min(valid)).checked_div(valid).unwrap_or(each);
            victim + job.read.min(valid)
        });
        let copied = group.copies_waiting() as u64;
        (whole + self.left_for_all(group) + gained).saturating_sub(copied)
    }
}

impl Mapping {
    /// Takes the next steps of collection in all groups, as far as it may go now.
    pub(crate) fn collect_superblocks(&mut self, now: Time) {
        for group in self.group_ids() {
            self.collect_in_group(now, group);
        }
        self.start_luns();
    }

    /// Takes the next steps of collection in a group.
    pub(crate) fn collect_group(&mut self, now: Time, group: GroupId) {
        self.collect_in_group(now, group);
        self.start_luns();
    }

    fn collect_in_group(&mut self, now: Time, of: GroupId) {
        loop {
            let is_stopped = self.is_host_stopped(of);
            let (is_short, copies) = (self.missing_pages(of) > 0, self.collection.copies());
            let superblocks = self.superblocks();
            let is_placed = superblocks.placement.is_some();
            let rows = superblocks.pages_each / superblocks.config.sense;
            let group = &mut superblocks.groups[of];
            let Some(job) = group.job else {
                // A unit is padded only when there is nothing else to put into it: what pads it is garbage
                // again.
                // Of several handles one may be stopped while others have room.
                let is_wanted = is_short || is_stopped && (is_placed || group.copies_waiting() > 0);
                if !is_wanted || !self.choose_victim(now, of) {
                    self.pad_last_copies(now, of, is_stopped);
                    break;
                }
                continue;
            };
            if job.next == rows {
                if job.reads > 0 {
                    break;
                }
                group.job = None;
                let superblock = job.victim;
                group.draining.push(Draining { superblock, next: 0, erasing: 0, erased: 0 });
                self.erase_drained(now, superblock);
                continue;
            }
            let is_held = job.reads + group.copying >= copies;
            if is_held || !is_stopped && self.is_ahead_of_host(&job) {
                break;
            }
            self.read_row(now, of);
        }
    }

    /// Collects where data of a handle has come that has no superblock to go to, although others have. False
    /// if there is none.
    #[inline]
    pub(crate) fn collect_for_stopped(&mut self, now: Time) -> bool {
        let is_stopped = self.superblocks().placement.is_some()
            && self.group_ids().any(|group| self.is_host_stopped(group));
        if is_stopped {
            self.collect_superblocks(now);
        }
        is_stopped
    }

    /// Pages of a group that are missing from those that are to be free.
    pub(super) fn missing_pages(&self, group: GroupId) -> u64 {
        let Some(superblocks) = &self.superblocks else { return 0 };
        let wanted = u64::from(self.config.gc.low * superblocks.pages_each);
        let usable = superblocks.usable(&superblocks.groups[group], self.free_superblocks(group));
        wanted.saturating_sub(usable)
    }

    /// Pages that may be read before they are due, and be late before the host waits.
    fn slack(&self) -> u64 {
        u64::from(self.config.superblock.sense * self.collection.copies())
    }

    /// True when collection has done enough for what the host has written.
    fn is_ahead_of_host(&self, job: &Job) -> bool {
        let Some(superblocks) = &self.superblocks else { return false };
        superblocks.config.pace == CollectionPace::Proportional
            && job.read > job.due / FRACTION + self.slack()
    }

    /// True when the host's data for a group waits for collection, so that free superblocks do not run out.
    pub(super) fn is_behind_host(&self, group: GroupId) -> bool {
        let Some(superblocks) = &self.superblocks else { return false };
        superblocks.config.pace == CollectionPace::Proportional
            && superblocks.groups[group].job.is_some_and(|job| job.read + self.slack() < job.due / FRACTION)
    }

    /// True when the host's data for a group has no superblock to go to.
    fn is_host_stopped(&self, group: GroupId) -> bool {
        let Some(superblocks) = &self.superblocks else { return false };
        let is_one = superblocks.placement.is_none();
        let lacks_unit =
            |data: &HostData| data.frontier.is_none_or(|frontier| frontier.next == superblocks.units_each);
        let host = &superblocks.groups[group].host;
        host.iter().any(|data| lacks_unit(data) && (is_one || !data.staged.is_empty()))
            && self.free_superblocks(group) <= self.config.gc_reserve()
    }

    fn choose_victim(&mut self, now: Time, of: GroupId) -> bool {
        let superblocks = self.superblocks.as_mut().expect("the drive maps by superblock");
        let group = &mut superblocks.groups[of];
        let Some(victim) = self.ftl.choose_superblock(of, now, &mut group.random) else {
            return false;
        };
        let valid = self.ftl.superblock_valid(victim);
        self.ftl.begin_emptying_superblock(victim);
        group.job = Some(Job { victim, next: 0, reads: 0, valid, due: 0, read: 0 });
        if let Some(placement) = &mut superblocks.placement {
            let sectors = u64::from(valid) * u64::from(self.geometry.page_sectors());
            placement.collected(now, of, victim, sectors);
        }
        self.counters.collections += 1;
        true
    }

    /// Reads what the next sensing of the victim makes available, if any of it is valid.
    fn read_row(&mut self, now: Time, of: GroupId) {
        let superblocks = self.superblocks.as_mut().expect("the drive maps by superblock");
        let group = &mut superblocks.groups[of];
        let first = group.die(0);
        let job = group.job.as_mut().expect("a superblock is being read");
        let (die, row) = (job.next % superblocks.dies, job.next / superblocks.dies);
        job.next += 1;
        let plane = self.layout.plane_at(LunId::new(first.get() + die), 0);
        let block = self.layout.block_in_plane(job.victim, plane);
        let first = self.layout.page_at(block, row * superblocks.config.sense);
        let pages = to_u32(valid_in(&self.ftl, first, superblocks.config.sense).count());
        if pages == 0 {
            return;
        }
        let handle = match &superblocks.placement {
            Some(placement) => valid_in(&self.ftl, first, superblocks.config.sense)
                .next()
                .map_or(HandleId::FIRST, |page| placement.handle_of(page)),
            None => HandleId::FIRST,
        };
        job.reads += 1;
        job.read += u64::from(pages);
        let (lun, place) = self.layout.lun_of_plane(plane);
        let mut request = MemoryRequest::internal(now, Lane::GC_READ, Role::Row, lun, place);
        (request.physical, request.page, request.frontier) = (first, pages, to_u8(handle.get()));
        self.issue(request);
    }

    /// A sensing of the victim that begins at `first` has been read.
    pub(crate) fn row_read(&mut self, now: Time, first: PhysicalPage) {
        let block = self.layout.block_of(first);
        let (group, superblock) = (self.layout.group_of(block), self.layout.superblock_of(block));
        let superblocks = self.superblocks.as_mut().expect("the drive maps by superblock");
        let Superblocks { config, groups, placement, progress, .. } = superblocks;
        let (of, placement) = (&mut groups[group], placement.as_ref());
        let owners = placement.filter(|_| of.collection.len() > 1);
        for source in valid_in(&self.ftl, first, config.sense) {
            let (logical, content) = (self.nand.logical(source), self.nand.read(source));
            let destination = owners.map_or(HandleId::FIRST, |owners| owners.handle_of(source));
            of.collection[destination].copies.push(Copy { logical, source, content });
            progress[superblock].copies += 1;
        }
        of.job.as_mut().expect("a superblock is being read").reads -= 1;
        self.program_copies_read(now, group);
        self.collect_group(now, group);
    }

    /// Programs the copies that fill units of a group.
    fn program_copies_read(&mut self, now: Time, group: GroupId) {
        let wanted = self.superblocks().config.program as usize;
        for destination in self.group(group).collection.ids() {
            let destination = PlacementId::new(group, destination);
            loop {
                if self.superblocks().moved(destination).copies.len() >= wanted {
                    self.drop_dead_copies(destination);
                }
                if self.superblocks().moved(destination).copies.len() < wanted {
                    break;
                }
                let Some(first) = self.take_unit(Writer::Collection(destination)) else { break };
                self.program_copies(now, destination, first);
            }
        }
    }

    /// Forgets copies for a destination of pages that the host has replaced since they were read.
    fn drop_dead_copies(&mut self, destination: PlacementId) {
        let superblocks = self.superblocks.as_mut().expect("the drive maps by superblock");
        let (ftl, layout, progress) = (&self.ftl, &self.layout, &mut superblocks.progress);
        let group = &mut superblocks.groups[destination.group()];
        group.collection[destination.handle()].copies.retain(|copy| {
            let is_valid = ftl.is_valid(copy.source);
            if !is_valid {
                progress[layout.superblock_of(layout.block_of(copy.source))].copies -= 1;
            }
            is_valid
        });
    }

    /// Where the host waits for a superblock whose last pages do not fill a unit, they are programmed alone.
    fn pad_last_copies(&mut self, now: Time, group: GroupId, is_stopped: bool) {
        if !is_stopped || self.group(group).copying > 0 {
            return;
        }
        let mut is_empty = true;
        for destination in self.group(group).collection.ids() {
            let destination = PlacementId::new(group, destination);
            self.drop_dead_copies(destination);
            if self.superblocks().moved(destination).copies.is_empty() {
                continue;
            }
            is_empty = false;
            if let Some(first) = self.take_unit(Writer::Collection(destination)) {
                self.program_copies(now, destination, first);
            }
        }
        if is_empty {
            self.erase_all_drained(now, group);
        }
    }

    /// Erases what has been emptied of a group.
    pub(super) fn erase_all_drained(&mut self, now: Time, group: GroupId) {
        let mut at = 0;
        while let Some(&Draining { superblock, .. }) = self.group(group).draining.get(at) {
            self.erase_drained(now, superblock);
            at += 1;
        }
    }

    /// Erases blocks of a superblock that has been read to its end, if nothing in it is valid any more: so
    /// many at a time, and each when no read of it is under way.
    fn erase_drained(&mut self, now: Time, superblock: SuperblockId) {
        let copies = self.superblocks().progress[superblock].copies;
        if self.ftl.superblock_valid(superblock) > 0 || copies > 0 {
            return;
        }
        let group = self.layout.group_of_superblock(superblock);
        loop {
            let superblocks = self.superblocks.as_mut().expect("the drive maps by superblock");
            let (dies, blocks, most) = (superblocks.dies, superblocks.blocks(), superblocks.config.erases);
            let group = &mut superblocks.groups[group];
            let first = group.die(0);
            let draining = group.draining.iter_mut().find(|draining| draining.superblock == superblock);
            let Some(draining) = draining else { return };
            if draining.next == blocks || draining.erasing == most {
                return;
            }
            let (die, place) = (draining.next % dies, draining.next / dies);
            let plane = self.layout.plane_at(LunId::new(first.get() + die), 0);
            let block = BlockId::new(self.layout.block_in_plane(superblock, plane).get() + place);
            if self.ftl.is_pinned(block) {
                return;
            }
            draining.next += 1;
            draining.erasing += 1;
            let (lun, place) = self.layout.lun_of_plane(plane);
            let mut request = MemoryRequest::internal(now, Lane::ERASE, Role::SuperblockErase, lun, place);
            let placement = superblocks.placement.as_ref();
            let handle = placement.map_or(0, |placement| to_u8(placement.main_handle(superblock).get()));
            (request.physical, request.frontier) = (self.layout.page_at(block, 0), handle);
            self.issue(request);
        }
    }

    /// The last read of a block of a superblock that is being emptied has ended.
    pub(crate) fn superblock_unpinned(&mut self, now: Time, block: BlockId) {
        self.erase_drained(now, self.layout.superblock_of(block));
        self.start_luns();
    }

    /// A block of a superblock has been erased. True when it was the last, so that the superblock is free.
    pub(crate) fn superblock_block_erased(&mut self, now: Time, block: BlockId) -> bool {
        self.counters.erases += 1;
        self.effects.push_back(Effect::EraseCompleted);
        self.nand.erase(block);
        let (group, superblock) = (self.layout.group_of(block), self.layout.superblock_of(block));
        let superblocks = self.superblocks();
        let blocks = superblocks.blocks();
        let mut list = superblocks.groups[group].draining.iter_mut();
        let draining = list.find(|draining| draining.superblock == superblock).expect("it is being erased");
        draining.erasing -= 1;
        draining.erased += 1;
        if draining.erased < blocks {
            self.erase_drained(now, superblock);
            return false;
        }
        superblocks.groups[group].draining.retain(|draining| draining.superblock != superblock);
        if let Some(placement) = &mut superblocks.placement {
            placement.erased(superblock);
        }
        self.ftl.free_superblock(superblock);
        self.program_copies_read(now, group);
        true
    }
}

/// The valid pages among `count` pages from `first` on.
fn valid_in(ftl: &Ftl, first: PhysicalPage, count: u32) -> impl Iterator<Item = PhysicalPage> {
    first.up_to(PhysicalPage::at(first.index() + count as usize)).filter(|&page| ftl.is_valid(page))
}
