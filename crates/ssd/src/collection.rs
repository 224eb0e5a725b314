//! Garbage collection, wear levelling and the evacuation of bad blocks: one job per plane at a
//! time moves the valid pages of a block away and erases it.

use crate::config::{GcConfig, WearConfig};
use crate::controller::commit::Chips;
use crate::controller::ftl::{BlockState, Mapping};
use crate::flash::Geometry;
use crate::probe::Probe;
use crate::request::{Kind, Lane, MemoryRequest, NONE, RequestId, Role};
use crate::ssd::Ssd;
use tailcut_base::Time;
use tailcut_base::control::GcThresholds;
use tailcut_base::random::Stream;

/// Why a block is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To get erased pages.
    Space,
    /// To put its little-worn cells to work.
    Wear,
    /// Because it went bad: it will not be erased.
    Evacuate,
}

/// The emptying of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    victim: u32,
    purpose: Purpose,
    /// The next page of the victim to look at.
    next: u32,
    /// Pages on their way.
    pub(crate) moving: u32,
    /// The erase is committed.
    erasing: bool,
    /// The erase waits for its chip to be quiet.
    pub(crate) deferred: bool,
    /// The next copy, or the erase, waits for a window of collection.
    pub(crate) paused: bool,
    /// It could not wait for a window.
    pub(crate) forced: bool,
    /// The host has asked for it (see [`crate::runs`]): it ends with the time that the host has given.
    pub(crate) is_hosted: bool,
}

/// The jobs of all planes.
#[derive(Debug)]
pub(crate) struct Collection {
    jobs: Vec<Option<Job>>,
    running: u32,
    /// Bad blocks that still hold data, for each plane.
    bad: Vec<Vec<u32>>,
    /// Of each plane the blocks without data that wait, without a job, for the end of reads (`gc.ideal`).
    pinned: Vec<u32>,
    /// Erases of each plane since wear was last looked at.
    erases_since_check: Vec<u32>,
    random: Stream,
    thresholds: GcThresholds,
    /// Planes with fewer free blocks than this collect: `low`, or `high` for a drive that has windows to
    /// collect ahead in, and while the host has it collect.
    wanted: u32,
    copies: u32,
    levelling: bool,
    spread: u32,
}

impl Collection {
    pub(crate) fn new(gc: &GcConfig, wear: &WearConfig, geometry: &Geometry, seed: u64) -> Collection {
        let planes = geometry.plane_count() as usize;
        Collection {
            jobs: vec![None; planes],
            running: 0,
            bad: vec![Vec::new(); planes],
            pinned: vec![0; planes],
            erases_since_check: vec![0; planes],
            random: Stream::new(seed, "gc.victim"),
            thresholds: GcThresholds { low: gc.low, high: gc.high },
            wanted: gc.low,
            copies: gc.copies,
            levelling: wear.levelling,
            spread: wear.spread,
        }
    }

    /// True when a plane has a block that went bad and still holds data.
    pub(crate) fn has_bad(&self, plane: u32) -> bool {
        !self.bad[plane as usize].is_empty()
    }

    /// A block could not be emptied for want of a page: it comes first when there is one.
    pub(crate) fn empty_later(&mut self, plane: u32, block: u32) {
        self.bad[plane as usize].push(block);
    }

    /// True for a block that [`Collection::empty_later`] has been told of, or that went bad.
    pub(crate) fn is_emptied_later(&self, plane: u32, block: u32) -> bool {
        self.bad[plane as usize].contains(&block)
    }

    /// The victim of a plane's job and how many pages of it are on their way, while the job goes on and its
    /// erase has not been committed. `None` for evacuations, which end without one.
    pub(crate) fn unfinished(&self, plane: u32) -> Option<(u32, u32)> {
        let job = self.jobs[plane as usize].as_ref()?;
        let goes_on = !job.erasing && !job.paused && !job.deferred && job.purpose != Purpose::Evacuate;
        goes_on.then_some((job.victim, job.moving))
    }

    /// A block has been emptied at once that reads keep from being erased.
    pub(crate) fn pin_victim(&mut self, plane: u32) {
        self.pinned[plane as usize] += 1;
    }

    /// A block that was emptied at once is read no more.
    pub(crate) fn unpin_victim(&mut self, plane: u32) {
        self.pinned[plane as usize] -= 1;
    }

    /// How many blocks of a plane were emptied at once and are still read.
    pub(crate) fn pinned_victims(&self, plane: u32) -> u32 {
        self.pinned[plane as usize]
    }

    pub(crate) fn thresholds(&self) -> GcThresholds {
        self.thresholds
    }

    pub(crate) fn set_thresholds(&mut self, thresholds: GcThresholds) {
        self.thresholds = thresholds;
    }

    /// True while a collection runs: not one that has been put off and has no page on its way.
    pub(crate) fn is_running(&self) -> bool {
        let runs = |job: &Job| job.moving > 0 || !job.paused && !job.deferred;
        self.running > 0 && self.jobs.iter().flatten().any(runs)
    }

    /// True when the job of a plane has an operation under way or committed.
    pub(crate) fn is_at_work(&self, plane: u32) -> bool {
        self.jobs[plane as usize].is_some_and(|job| job.moving > 0 || job.erasing)
    }

    /// True when the host has asked for the job of a plane.
    pub(crate) fn is_hosted(&self, plane: u32) -> bool {
        self.jobs[plane as usize].is_some_and(|job| job.is_hosted)
    }

    pub(crate) fn is_busy(&self, plane: u32) -> bool {
        self.jobs[plane as usize].is_some()
    }

    /// True when a plane has a block to be emptied, if it can: a bad one, or because it is short of free ones.
    pub(crate) fn is_wanted(&self, plane: u32, free: u32) -> bool {
        free < self.wanted || self.has_bad(plane)
    }

    /// Page copies of one job under way at a time.
    pub(crate) fn copies(&self) -> u32 {
        self.copies
    }

    /// Says whether planes collect up to the high threshold, or only below the low one.
    pub(crate) fn collect_ahead(&mut self, ahead: bool) {
        self.wanted = if ahead { self.thresholds.high } else { self.thresholds.low };
    }

    /// True when the job of a plane goes on although a window closes.
    pub(crate) fn cannot_stop(&self, plane: u32, is_preemptible: bool) -> bool {
        self.jobs[plane as usize].is_some_and(|job| job.forced || !is_preemptible)
    }

    /// True when the job of a plane waits for a window.
    pub(crate) fn is_paused(&self, plane: u32) -> bool {
        self.jobs[plane as usize].is_some_and(|job| job.paused)
    }
}

impl<P: Probe> Ssd<P> {
    /// Starts a collection where a plane is short of free blocks.
    #[inline]
    pub(crate) fn collect_if_short(&mut self, now: Time, plane: u32) {
        let is_short = self.ftl.free_blocks(plane) < self.collection.wanted;
        if !is_short || self.block_mapped.is_some() {
            return;
        }
        if self.windows.is_steered() && !self.is_still_short(now, plane) {
            return;
        }
        if self.config.gc.ideal {
            return self.collect_at_once(now, plane, self.collection.wanted);
        }
        if !self.collection.is_busy(plane) {
            if !self.must_wait(now, plane) {
                self.start_collection(now, plane, true);
            }
        } else if self.collection.is_paused(plane) {
            self.go_on_collecting(now, plane);
            self.wake(now);
        } else if self.is_erase_deferred(plane) && !self.defers_erase(now, plane) {
            self.commit_deferred_erase(now, plane);
            self.wake(now);
        }
    }

    /// Starts collections of an idle unit that has less than the high mark.
    pub(crate) fn collect_in_background(&mut self, now: Time, unit: u32) {
        if self.block_mapped.is_some() || self.quiet.rests_collection() {
            return;
        }
        for place in 0..self.places {
            let plane = self.layout.plane_at(unit, place);
            if self.config.gc.ideal {
                self.collect_at_once(now, plane, self.collection.thresholds.high);
                continue;
            }
            let wanted = self.ftl.free_blocks(plane) < self.collection.thresholds.high;
            if wanted && self.goes_on_in_background(now, plane) {
                return self.wake(now);
            }
            let starts = wanted && !self.collection.is_busy(plane) && !self.must_wait(now, plane);
            if starts && self.start_collection(now, plane, true) {
                return self.wake(now);
            }
        }
    }

    /// Starts a job in a plane: a bad block first, then a victim. False when there is none.
    pub(crate) fn start_collection(&mut self, now: Time, plane: u32, wake: bool) -> bool {
        let Some((victim, purpose)) = self.next_victim(now, plane) else { return false };
        self.empty(now, plane, victim, purpose);
        if wake {
            self.wake(now);
        }
        true
    }

    /// The block of a plane that should be emptied next: a bad one first, then a victim.
    pub(crate) fn next_victim(&mut self, now: Time, plane: u32) -> Option<(u32, Purpose)> {
        if let Some(block) = self.collection.bad[plane as usize].pop() {
            return Some((block, Purpose::Evacuate));
        }
        let victim = self.ftl.choose_victim(plane, now, &mut self.collection.random)?;
        Some((victim, Purpose::Space))
    }

    fn empty(&mut self, now: Time, plane: u32, victim: u32, purpose: Purpose) {
        if self.ftl.state(victim) != BlockState::Victim {
            self.ftl.begin_emptying(victim);
        }
        let forced = !self.collection_is_free(now);
        let is_hosted = self.run.is_on(now) && self.ftl.free_blocks(plane) >= self.collection.thresholds.low;
        if forced {
            self.count_forced();
        }
        self.collection.jobs[plane as usize] = Some(Job {
            victim,
            purpose,
            next: 0,
            moving: 0,
            erasing: false,
            deferred: false,
            paused: false,
            forced,
            is_hosted,
        });
        self.collection.running += 1;
        self.counters.collections += 1;
        for _ in 0..self.collection.copies {
            self.next_copy(now, plane);
        }
        self.finish_if_empty(now, plane);
    }

    pub(crate) fn job(&mut self, plane: u32) -> &mut Job {
        self.collection.jobs[plane as usize].as_mut().expect("the plane has a job")
    }

    /// Begins to move the next valid page of the victim, if there is one.
    pub(crate) fn next_copy(&mut self, now: Time, plane: u32) {
        if self.must_wait(now, plane) {
            self.job(plane).paused = true;
            return;
        }
        let Job { victim, next, .. } = *self.job(plane);
        let Some(physical) = self.ftl.next_valid(victim, next) else {
            self.job(plane).next = self.geometry.pages;
            return;
        };
        let offset = self.layout.offset_of(physical);
        let job = self.job(plane);
        job.next = offset + 1;
        job.moving += 1;
        let (unit, place) = self.layout.unit_of_plane(plane);
        let mut request = self.internal(now, Kind::GcRead, Role::Copy, plane, unit, place);
        request.physical = physical;
        request.source = physical;
        request.logical = self.medium.logical(physical);
        request.frontier = self.ftl.gc_frontier();
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.units[unit].account(now));
        self.commit_own(id);
    }

    /// A page of a victim has been read: it is programmed elsewhere, unless it died meanwhile.
    pub(crate) fn copy_read_done(&mut self, now: Time, id: RequestId) {
        let source = self.requests[id].source;
        let content = self.medium.read(source);
        if !self.ftl.is_valid(source) {
            return self.copy_dropped(now, id);
        }
        let r = &mut self.requests[id];
        r.kind = Kind::GcWrite;
        r.physical = NONE;
        r.content = content;
        r.since = now;
        let unit = r.unit;
        self.requests.snapshot(id, self.units[unit].account(now));
        self.commit_own(id);
    }

    /// The host has just read a page: if a collection was about to read it too, it has been spared that
    /// (PAReset, section 2.1).
    #[cold]
    pub(crate) fn spare_copy_read(&mut self, now: Time, physical: u32) {
        if self.ftl.state(self.layout.block_of(physical)) != BlockState::Victim {
            return;
        }
        let (unit, place) = self.unit_of(physical);
        let is_same = |request: &MemoryRequest| request.source == physical;
        let copy = self.units.take_where(&mut self.requests, unit, Lane::GC_READ, place, is_same);
        if let Some(id) = copy {
            self.counters.merged_reads += 1;
            self.copy_read_done(now, id);
        }
    }

    /// A page of a victim has died while it was moved.
    pub(crate) fn copy_dropped(&mut self, now: Time, id: RequestId) {
        let plane = self.requests[id].owner;
        self.requests.remove(id);
        self.copy_ended(now, plane);
    }

    /// A page of a victim has been programmed elsewhere.
    pub(crate) fn copy_program_done(&mut self, now: Time, id: RequestId) {
        let request = self.requests[id];
        if !self.medium.program(request.physical, request.logical, request.content) {
            return self.copy_failed(now, id);
        }
        self.counters.programmed_gc += 1;
        if self.ftl.is_valid(request.source) {
            self.move_page(now, request.logical, request.source, request.physical);
        }
        self.settle_block(now, request.physical);
        self.requests.remove(id);
        self.copy_ended(now, request.owner);
    }

    /// The newest version on flash of a logical page is now in another place.
    pub(crate) fn move_page(&mut self, now: Time, logical: u32, from: u32, to: u32) {
        self.ftl.invalidate(from, now);
        self.ftl.validate(to);
        match self.ftl.lookup(logical) {
            Mapping::Buffer(entry) => self.buffer[entry].old = to,
            mapping => {
                assert_eq!(mapping, Mapping::Flash(from), "a valid page is mapped");
                self.ftl.set(logical, Mapping::Flash(to));
            }
        }
        if self.config.schedule.readdressing {
            self.readdress(from, to);
        }
    }

    /// The readdressing callback (Sprinkler, section 4.3): reads that wait in the scheduler's layout
    /// for a page that has moved, by garbage collection, wear levelling or out of a bad block, go to
    /// its new place. So the layout shows what can share a transaction now, and the erase of the old
    /// block does not wait for them. Reads that are committed already keep their address.
    fn readdress(&mut self, from: u32, to: u32) {
        // Every read that waits has pinned its block; most blocks that move have none.
        while self.ftl.is_pinned(self.layout.block_of(from)) {
            let chips = Chips { requests: &self.requests, units: &self.units, layout: &self.layout };
            let Some(id) = self.scheduler.reader_of(chips, from) else { return };
            assert_eq!(self.unit_of(from), self.unit_of(to), "pages move within their plane");
            self.scheduler.leave(chips, id);
            self.requests[id].physical = to;
            // Whoever moves pages looks at the old block's pins when the move is over.
            self.ftl.unpin(from);
            self.ftl.pin(to);
            let chips = Chips { requests: &self.requests, units: &self.units, layout: &self.layout };
            self.scheduler.enter(chips, id);
            self.counters.readdressed += 1;
        }
    }

    fn copy_failed(&mut self, now: Time, id: RequestId) {
        self.counters.program_failures += 1;
        let physical = self.requests[id].physical;
        self.lose_block(now, self.layout.block_of(physical));
        let r = &mut self.requests[id];
        r.physical = NONE;
        let unit = r.unit;
        self.requests.snapshot(id, self.units[unit].account(now));
        self.commit_own(id);
    }

    fn copy_ended(&mut self, now: Time, plane: u32) {
        self.job(plane).moving -= 1;
        self.next_copy(now, plane);
        self.finish_if_empty(now, plane);
        self.wake(now);
    }

    /// Erases the victim when its last page has gone and nobody reads it any more.
    pub(crate) fn finish_if_empty(&mut self, now: Time, plane: u32) {
        let Job { victim, purpose, next, moving, erasing, .. } = *self.job(plane);
        if moving > 0 || erasing || next < self.geometry.pages && self.ftl.next_valid(victim, next).is_some()
        {
            return;
        }
        if self.ftl.is_pinned(victim) {
            return;
        }
        assert_eq!(self.ftl.valid_pages(victim), 0, "a victim is empty before it is erased");
        if purpose == Purpose::Evacuate {
            self.ftl.retire(victim);
            return self.job_ended(now, plane);
        }
        if self.must_wait(now, plane) {
            self.job(plane).paused = true;
            return;
        }
        if self.defers_erase(now, plane) {
            self.job(plane).deferred = true;
            return self.woken.push(self.layout.unit_of_plane(plane).0);
        }
        self.commit_erase(now, plane, victim);
    }

    /// True when the erase of a plane's victim waits for its chip to be quiet.
    pub(crate) fn is_erase_deferred(&self, plane: u32) -> bool {
        self.collection.jobs[plane as usize].is_some_and(|job| job.deferred)
    }

    /// The chip is quiet, or its blocks are needed: the erase of a plane's victim waits no longer.
    pub(crate) fn commit_deferred_erase(&mut self, now: Time, plane: u32) {
        let victim = self.job(plane).victim;
        self.commit_erase(now, plane, victim);
    }

    fn commit_erase(&mut self, now: Time, plane: u32, victim: u32) {
        let job = self.job(plane);
        (job.erasing, job.deferred) = (true, false);
        let (unit, place) = self.layout.unit_of_plane(plane);
        let mut request = self.internal(now, Kind::Erase, Role::Erase, plane, unit, place);
        request.physical = victim * self.geometry.pages;
        let id = self.requests.add(request);
        self.requests.snapshot(id, self.units[unit].account(now));
        self.commit_own(id);
    }

    /// The last read of a block that is being emptied has ended.
    pub(crate) fn resume_erase(&mut self, now: Time, block: u32) {
        if self.block_mapped.is_some() {
            return self.erase_block(now, block);
        }
        if self.config.gc.ideal {
            return self.victim_unpinned(now, block);
        }
        let plane = self.layout.plane_of_block(block);
        if self.collection.jobs[plane as usize].is_some_and(|job| job.victim == block) {
            self.finish_if_empty(now, plane);
            self.wake(now);
        }
    }

    /// A block has been erased: it is free, or bad if the erase failed.
    pub(crate) fn erase_done(&mut self, now: Time, id: RequestId) {
        let plane = self.requests[id].owner;
        self.requests.remove(id);
        let victim = self.job(plane).victim;
        self.erase_victim(plane, victim);
        self.job_ended(now, plane);
    }

    /// Erases an emptied block of a plane.
    pub(crate) fn erase_victim(&mut self, plane: u32, victim: u32) {
        self.count_erase(victim);
        self.collection.erases_since_check[plane as usize] += 1;
    }

    /// Erases an empty block: it is free, or retired if the erase fails.
    pub(crate) fn count_erase(&mut self, block: u32) {
        self.counters.erases += 1;
        self.preemption.earn();
        if self.medium.erase(block) {
            self.ftl.free(block);
        } else {
            self.counters.erase_failures += 1;
            self.counters.bad_blocks += 1;
            self.ftl.retire(block);
        }
    }

    fn job_ended(&mut self, now: Time, plane: u32) {
        self.collection.jobs[plane as usize] = None;
        self.collection.running -= 1;
        let has_bad = self.collection.has_bad(plane);
        if !has_bad && self.ftl.free_blocks(plane) >= self.collection.thresholds.low {
            self.level_wear(now, plane);
        }
        if !self.collection.is_busy(plane) {
            self.go_on_collecting(now, plane);
        }
        let (unit, _) = self.layout.unit_of_plane(plane);
        self.woken.push(unit);
        self.wake(now);
    }

    /// Static wear levelling: when the spread of erases in a plane is too large, the least worn
    /// block, which must hold cold data, is emptied and joins the free blocks. Looked at once for
    /// as many erases as the plane has blocks, so that its cost does not grow with the drive, and
    /// eight times as often while there is something to move: a drive that is mostly cold has as
    /// many blocks to move as it erases in a turn.
    fn level_wear(&mut self, now: Time, plane: u32) {
        if self.collection_is_free(now)
            && let Some(coldest) = self.block_to_level(plane)
        {
            self.empty(now, plane, coldest, Purpose::Wear);
        }
    }

    /// The block of a plane that wear levelling should empty, counted as if it were; see [`Ssd::level_wear`].
    pub(crate) fn block_to_level(&mut self, plane: u32) -> Option<u32> {
        let blocks = self.geometry.blocks;
        if !self.collection.levelling || self.collection.erases_since_check[plane as usize] < blocks {
            return None;
        }
        self.collection.erases_since_check[plane as usize] = 0;
        let all = plane * blocks..(plane + 1) * blocks;
        let most = all.map(|b| self.medium.erases(b)).max().unwrap_or(0);
        let coldest = self.ftl.least_worn(plane, &self.medium)?;
        if most - self.medium.erases(coldest) <= self.collection.spread {
            return None;
        }
        self.counters.levelled += 1;
        self.collection.erases_since_check[plane as usize] = blocks - blocks.div_ceil(8);
        Some(coldest)
    }

    /// A block has gone bad in use: nothing more is written to it, and what it holds moves away.
    pub(crate) fn lose_block(&mut self, now: Time, block: u32) {
        self.counters.bad_blocks += 1;
        let plane = self.layout.plane_of_block(block);
        assert!(self.ftl.abandon(block), "a program can only fail in an open block");
        self.ftl.begin_emptying(block);
        self.collection.bad[plane as usize].push(block);
        if self.config.gc.ideal {
            return self.collect_at_once(now, plane, 0);
        }
        if !self.collection.is_busy(plane) {
            self.go_on_collecting(now, plane);
        }
    }
}
