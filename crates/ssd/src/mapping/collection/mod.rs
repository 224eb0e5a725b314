//! Garbage collection, wear levelling and the evacuation of bad blocks: one job per plane at a
//! time moves the valid pages of a block away and erases it.

mod copies;
mod erase;
mod job;
mod steered;
mod wear;

use crate::config::{GcConfig, WearConfig};
use crate::flash::{BlockId, Geometry, LunId, PlaneId};
use crate::mapping::Mapping;
use crate::mapping::ftl::BlockState;
use crate::sets::SetId;
use job::{CollectionPurpose, Job};
use tailcut_base::Time;
use tailcut_base::control::GcThresholds;
use tailcut_base::ids::IdVec;
use tailcut_base::random::Stream;

/// The jobs of all planes.
#[derive(Debug)]
pub(crate) struct Collection {
    jobs: IdVec<PlaneId, Option<Job>>,
    running: u32,
    /// Bad blocks that still hold data, for each plane.
    bad: IdVec<PlaneId, Vec<BlockId>>,
    /// Of each plane the blocks without data that wait, without a job, for the end of reads (`gc.ideal`).
    pinned: IdVec<PlaneId, u32>,
    /// Erases of each plane since wear was last looked at.
    erases_since_check: IdVec<PlaneId, u32>,
    random: Stream,
    /// Of each set.
    aims: IdVec<SetId, Aim>,
    copies: u32,
    levelling: bool,
    spread: u32,
}

/// Up to what planes collect.
#[derive(Clone, Copy, Debug)]
struct Aim {
    thresholds: GcThresholds,
    /// Planes with fewer free blocks than this collect: `low`, or `high` for a set that has windows to
    /// collect ahead in, and while the host has it collect.
    wanted: u32,
}

impl Collection {
    pub(crate) fn new(
        gc: &GcConfig,
        wear: &WearConfig,
        geometry: &Geometry,
        sets: u32,
        seed: u64,
    ) -> Collection {
        let planes = geometry.plane_count() as usize;
        let aim = Aim { thresholds: GcThresholds { low: gc.low, high: gc.high }, wanted: gc.low };
        Collection {
            jobs: IdVec::filled(planes, None),
            running: 0,
            bad: IdVec::filled(planes, Vec::new()),
            pinned: IdVec::filled(planes, 0),
            erases_since_check: IdVec::filled(planes, 0),
            random: Stream::new(seed, "gc.victim"),
            aims: IdVec::filled(sets as usize, aim),
            copies: gc.copies,
            levelling: wear.levelling,
            spread: wear.spread,
        }
    }

    /// True when a plane has a block that went bad and still holds data.
    pub(crate) fn has_bad(&self, plane: PlaneId) -> bool {
        !self.bad[plane].is_empty()
    }

    /// A block could not be emptied for want of a page: it comes first when there is one.
    pub(crate) fn empty_later(&mut self, plane: PlaneId, block: BlockId) {
        self.bad[plane].push(block);
    }

    /// True for a block that was passed to [`Collection::empty_later`], or that went bad.
    pub(crate) fn is_emptied_later(&self, plane: PlaneId, block: BlockId) -> bool {
        self.bad[plane].contains(&block)
    }

    /// The victim of a plane's job and how many of its pages are being copied, while the job is running and
    /// its erase has not been committed. `None` for evacuations, which end without one.
    pub(crate) fn unfinished(&self, plane: PlaneId) -> Option<(BlockId, u32)> {
        let job = self.jobs[plane].as_ref()?;
        let goes_on =
            !job.erasing && !job.paused && !job.deferred && job.purpose != CollectionPurpose::Evacuate;
        goes_on.then_some((job.victim, job.moving))
    }

    /// A block has been emptied at once that reads keep from being erased.
    pub(crate) fn pin_victim(&mut self, plane: PlaneId) {
        self.pinned[plane] += 1;
    }

    /// A block that was emptied at once is read no more.
    pub(crate) fn unpin_victim(&mut self, plane: PlaneId) {
        self.pinned[plane] -= 1;
    }

    /// How many blocks of a plane were emptied at once and are still read.
    pub(crate) fn pinned_victims(&self, plane: PlaneId) -> u32 {
        self.pinned[plane]
    }

    pub(crate) fn thresholds(&self, set: SetId) -> GcThresholds {
        self.aims[set].thresholds
    }

    pub(crate) fn set_thresholds(&mut self, set: SetId, thresholds: GcThresholds) {
        self.aims[set].thresholds = thresholds;
    }

    /// True while a collection of a plane runs: not one that has been put off and has no page on its way.
    fn runs(&self, plane: PlaneId) -> bool {
        self.jobs[plane].is_some_and(|job| job.moving > 0 || !job.paused && !job.deferred)
    }

    /// True when the job of a plane has an operation under way or committed.
    pub(crate) fn is_at_work(&self, plane: PlaneId) -> bool {
        self.jobs[plane].is_some_and(|job| job.moving > 0 || job.erasing)
    }

    /// True when the host has asked for the job of a plane.
    pub(crate) fn is_hosted(&self, plane: PlaneId) -> bool {
        self.jobs[plane].is_some_and(|job| job.is_hosted)
    }

    pub(crate) fn is_busy(&self, plane: PlaneId) -> bool {
        self.jobs[plane].is_some()
    }

    /// True when a plane has a block to be emptied, if it can: a bad one, or because it is short of free
    /// ones.
    pub(crate) fn is_wanted(&self, set: SetId, plane: PlaneId, free: u32) -> bool {
        free < self.wanted(set) || self.has_bad(plane)
    }

    #[inline]
    fn wanted(&self, set: SetId) -> u32 {
        self.aims[set].wanted
    }

    /// Page copies of one job under way at a time.
    pub(crate) fn copies(&self) -> u32 {
        self.copies
    }

    /// Sets whether planes of a set collect up to the high threshold, or only below the low one.
    pub(crate) fn collect_ahead(&mut self, set: SetId, ahead: bool) {
        let aim = &mut self.aims[set];
        aim.wanted = if ahead { aim.thresholds.high } else { aim.thresholds.low };
    }

    /// True when the job of a plane continues although a window closes.
    pub(crate) fn cannot_stop(&self, plane: PlaneId, is_preemptible: bool) -> bool {
        self.jobs[plane].is_some_and(|job| job.forced || !is_preemptible)
    }

    /// True when the job of a plane waits for a window.
    pub(crate) fn is_paused(&self, plane: PlaneId) -> bool {
        self.jobs[plane].is_some_and(|job| job.paused)
    }
}

impl Mapping {
    /// True while a collection runs in a set.
    pub(crate) fn is_collecting(&self, set: SetId) -> bool {
        if let Some(superblocks) = &self.superblocks {
            return superblocks.collects();
        }
        self.collection.running > 0 && self.sets.planes(set).any(|plane| self.collection.runs(plane))
    }

    /// Starts a collection where a plane is short of free blocks.
    #[inline]
    pub(crate) fn collect_if_short(&mut self, now: Time, plane: PlaneId) {
        let wanted = self.collection.wanted(self.sets.of_plane(plane));
        let is_short = self.ftl.free_blocks(plane) < wanted;
        if !is_short || self.block_mapped.is_some() || self.superblocks.is_some() {
            return;
        }
        if self.steering.is_on() && !self.is_still_short(now, plane) {
            return;
        }
        if self.config.gc.ideal {
            return self.collect_at_once(now, plane, wanted);
        }
        if !self.collection.is_busy(plane) {
            if !self.must_wait(now, plane) {
                self.start_collection(now, plane);
                self.start_luns();
            }
        } else if self.collection.is_paused(plane) {
            self.go_on_collecting(now, plane);
            self.start_luns();
        } else if self.is_erase_deferred(plane) && !self.defers_erase(now, plane) {
            self.commit_deferred_erase(now, plane);
            self.start_luns();
        }
    }

    /// Starts collections of an idle LUN that has less than the high mark.
    pub(crate) fn collect_in_background(&mut self, now: Time, lun: LunId) {
        let set = self.sets.of_lun(lun);
        if self.block_mapped.is_some() || self.superblocks.is_some() || self.steering.rests_collection(set) {
            return;
        }
        let high = self.collection.thresholds(set).high;
        for place in 0..self.layout.places() {
            let plane = self.layout.plane_at(lun, place);
            if self.config.gc.ideal {
                self.collect_at_once(now, plane, high);
                continue;
            }
            let wanted = self.ftl.free_blocks(plane) < high;
            if wanted && self.goes_on_in_background(now, plane) {
                return self.start_luns();
            }
            let starts = wanted && !self.collection.is_busy(plane) && !self.must_wait(now, plane);
            if starts && self.start_collection(now, plane) {
                return self.start_luns();
            }
        }
    }

    /// A plane has no page for a write that waits. True if collection will make room; collection at once may
    /// have made it when its effects have been carried out ([`Mapping::has_room_at_once`]).
    pub(crate) fn makes_room(&mut self, now: Time, plane: PlaneId) -> bool {
        if self.config.gc.ideal {
            self.collect_at_once(now, plane, self.reserve + 1);
            return false;
        }
        if self.is_erase_deferred(plane) {
            self.commit_deferred_erase(now, plane);
        }
        self.resume_collection(now, plane);
        self.collection.is_busy(plane) || self.start_collection(now, plane)
    }

    /// Starts a job in a plane: a bad block first, then a victim. False when there is none.
    pub(crate) fn start_collection(&mut self, now: Time, plane: PlaneId) -> bool {
        let Some((victim, purpose)) = self.next_victim(now, plane) else { return false };
        self.empty(now, plane, victim, purpose);
        true
    }

    /// The block of a plane that should be emptied next: a bad one first, then a victim.
    pub(crate) fn next_victim(&mut self, now: Time, plane: PlaneId) -> Option<(BlockId, CollectionPurpose)> {
        if let Some(block) = self.collection.bad[plane].pop() {
            return Some((block, CollectionPurpose::Evacuate));
        }
        let victim = self.ftl.choose_victim(plane, now, &mut self.collection.random)?;
        Some((victim, CollectionPurpose::Space))
    }

    fn empty(&mut self, now: Time, plane: PlaneId, victim: BlockId, purpose: CollectionPurpose) {
        if self.ftl.state(victim) != BlockState::Victim {
            self.ftl.begin_emptying(victim);
        }
        let set = self.sets.of_plane(plane);
        let forced = !self.steering.lets_collect(now, set);
        let low = self.collection.thresholds(set).low;
        let is_hosted = self.steering.runs(now, set) && self.ftl.free_blocks(plane) >= low;
        if forced {
            self.count_forced();
        }
        self.collection.jobs[plane] = Some(Job {
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

    pub(crate) fn job(&mut self, plane: PlaneId) -> &mut Job {
        self.collection.jobs[plane].as_mut().expect("the plane has a job")
    }

    fn job_ended(&mut self, now: Time, plane: PlaneId) {
        self.collection.jobs[plane] = None;
        self.collection.running -= 1;
        let has_bad = self.collection.has_bad(plane);
        let low = self.collection.thresholds(self.sets.of_plane(plane)).low;
        if !has_bad && self.ftl.free_blocks(plane) >= low {
            self.level_wear(now, plane);
        }
        if !self.collection.is_busy(plane) {
            self.go_on_collecting(now, plane);
        }
        let (lun, _) = self.layout.lun_of_plane(plane);
        self.wake(lun);
        self.start_luns();
    }

    /// A block has gone bad in use: nothing more is written to it, and what it holds moves away.
    pub(crate) fn lose_block(&mut self, now: Time, block: BlockId) {
        self.counters.bad_blocks += 1;
        let plane = self.layout.plane_of_block(block);
        assert!(self.ftl.abandon(block), "a program can only fail in an open block");
        self.ftl.begin_emptying(block);
        self.collection.bad[plane].push(block);
        if self.config.gc.ideal {
            return self.collect_at_once(now, plane, 0);
        }
        if !self.collection.is_busy(plane) {
            self.go_on_collecting(now, plane);
        }
    }
}
