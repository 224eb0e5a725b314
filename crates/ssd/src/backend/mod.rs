//! The backend: LUNs and buses, and what they do when.
//!
//! It takes memory requests, commits those of the host by its scheduler, composes transactions of what is
//! committed to a LUN, and carries them over bus and cells. It knows physical addresses and times. What a
//! page holds, and whether it is still wanted, is known to the layers above, which it asks
//! ([`UpperLayers`]) when it composes a transaction.
//!
//! - [`choice`]: which lane of a LUN goes next;
//! - [`transactions`]: which requests run together, and how long that takes;
//! - [`transfers`]: transactions on their way over bus and cells;
//! - [`preemption`]: programs and erases that make room for reads;
//! - [`levelling`]: programs that move to idle LUNs;
//! - [`contention`]: what a read that may fail fast would wait for;
//! - [`handles`]: whose data a LUN works on;
//! - [`quiesce`]: whether a LUN is at rest;
//! - [`spans`]: where the time of a request went.

pub mod bus;
mod choice;
pub mod commit;
mod contention;
mod figures;
mod handles;
mod intake;
mod jitter;
mod levelling;
pub mod lun;
mod preemption;
mod quiesce;
mod records;
pub(crate) mod requests;
mod spans;
pub(crate) mod transaction;
mod transactions;
mod transfers;
mod upper_layers;
mod woken;

#[cfg(test)]
mod tests;

pub(crate) use choice::{Rest, bits};
pub(crate) use intake::Committed;
pub(crate) use transfers::{CellsDone, Step};
pub(crate) use upper_layers::{Allocate, UpperLayers};

use crate::backend::bus::Buses;
use crate::backend::commit::Scheduler;
use crate::backend::lun::{Lun, Luns};
use crate::backend::requests::Requests;
use crate::config::{Allocation, MappingLevel, PreemptConfig, ScheduleConfig, SsdConfig};
use crate::flash::timing::{Phases, Timing};
use crate::flash::{Layout, LunId};
use crate::request::RequestId;
use crate::sets::Sets;
use crate::timers::{DriveTimers, Timer};
use figures::Occupancy;
use handles::HandleAccounts;
use jitter::Jitter;
use levelling::Levelling;
use preemption::Preemption;
use std::collections::VecDeque;
use tailcut_base::timers::Due;
use tailcut_base::{Nanos, Time};
use woken::Woken;

/// The backend of a drive.
#[derive(Debug)]
pub(crate) struct Backend {
    layout: Layout,
    sets: Sets,
    schedule: ScheduleConfig,
    preempt: PreemptConfig,
    timing: Timing,
    phases: Phases,
    rules: Rules,
    luns: Luns,
    buses: Buses,
    requests: Requests,
    /// Present when the drive has several reclaim unit handles.
    handles: Option<Box<HandleAccounts>>,
    scheduler: Scheduler,
    preemption: Preemption,
    levelling: Levelling,
    jitter: Jitter,
    occupancy: Occupancy,
    timers: DriveTimers,
    /// LUNs that have been given work, to be started at the end of the present step.
    woken: Woken,
    /// While requests are dropped for a transaction that has just been composed, no LUN starts.
    defers_starts: bool,
    /// Void programs that were met while a transaction was composed, for the layers above to drop.
    void: VecDeque<RequestId>,
    counts: PreemptionCounts,
}

/// What the rest of the configuration has LUNs do.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Collection lets other work go between its pages.
    preempts_collection: bool,
    /// Collection programs in step with the host, so that its programs and the host's take turns.
    collects_in_step: bool,
    /// Programs may move to an idle LUN.
    levels_queues: bool,
}

/// How often operations made room for reads, and programs for each other.
#[derive(Clone, Copy, Debug, Default)]
struct PreemptionCounts {
    program_suspends: u64,
    erase_suspends: u64,
    program_resets: u64,
    erase_resets: u64,
    levelled_queues: u64,
}

impl Backend {
    /// The backend of a drive that has no work.
    pub(crate) fn new(config: &SsdConfig, sets: Sets, seed: u64) -> Backend {
        let geometry = &config.geometry;
        let may_move =
            config.ftl.allocation == Allocation::Dynamic && config.ftl.mapping == MappingLevel::Page;
        let waits_for_buffer = config.preempt.time_programs || config.holds_writes_back();
        Backend {
            layout: Layout::new(geometry),
            sets,
            schedule: config.schedule.clone(),
            preempt: config.preempt.clone(),
            timing: config.timing.clone(),
            phases: Phases::new(&config.timing, geometry).sensing(config.pages_per_sense()),
            rules: Rules {
                preempts_collection: config.gc.preemptible,
                collects_in_step: config.ftl.mapping == MappingLevel::Superblock,
                levels_queues: config.schedule.level_queues && may_move,
            },
            luns: Luns::new(geometry),
            buses: Buses::new(geometry, &config.bus),
            requests: Requests::default(),
            handles: config.fdp.is_on().then(|| Box::new(HandleAccounts::new(geometry, &config.fdp))),
            scheduler: Scheduler::new(&config.schedule, geometry),
            preemption: Preemption::new(&config.preempt, geometry, seed),
            levelling: Levelling::new(geometry, sets),
            jitter: Jitter::new(config.timing.read_jitter, seed),
            occupancy: Occupancy::default(),
            timers: DriveTimers::new(geometry, waits_for_buffer),
            woken: Woken::default(),
            defers_starts: false,
            void: VecDeque::new(),
            counts: PreemptionCounts::default(),
        }
    }

    /// The longest that the cells of a program take.
    pub(crate) fn longest_program(&self) -> Nanos {
        self.phases.program_cell_most()
    }

    /// An erase has been completed: resets may cost more.
    pub(crate) fn erase_completed(&mut self) {
        self.preemption.earn();
    }

    /// A LUN, to be looked at.
    #[inline(always)]
    pub(crate) fn lun(&self, lun: LunId) -> &Lun {
        &self.luns[lun]
    }

    /// Something else than a read of the host has ended at a LUN.
    #[inline]
    pub(crate) fn end_of_other_work(&mut self, lun: LunId) {
        self.luns[lun].end_of_other_work();
    }

    /// Asserts what holds between two events; walks what is in flight.
    pub(crate) fn check_between_events(&self) {
        let on_chips = self.luns.check(&self.requests);
        assert!(on_chips <= self.requests.in_flight(), "requests of LUNs are in flight");
        assert!(self.void.is_empty() && !self.defers_starts, "no transaction is being composed");
    }

    /// Sets a timer to a moment.
    #[inline(always)]
    pub(crate) fn set_timer(&mut self, timer: Timer, at: Time) {
        self.timers.set(timer, at);
    }

    /// Sets a timer to a moment, or stops it if that is [`Time::NEVER`].
    pub(crate) fn set_or_clear_timer(&mut self, timer: Timer, at: Time) {
        self.timers.set_or_clear(timer, at);
    }

    /// The host begins to steer collection: from now on there are windows.
    pub(crate) fn add_window_timer(&mut self) {
        self.timers.add_windows();
    }

    /// The latest moment that a timer can hold.
    pub(crate) fn horizon(&self) -> Time {
        self.timers.horizon()
    }

    /// When the first timer expires; [`Time::NEVER`] if none is set.
    #[inline(always)]
    pub(crate) fn next_event(&self) -> Time {
        self.timers.next()
    }

    /// The timer that expires first, if not after `until`.
    #[inline(always)]
    pub(crate) fn due_timer(&self, until: Time) -> Option<(Timer, Due)> {
        self.timers.due(until)
    }

    /// Stops a timer that has been served, unless it has been set to another moment since.
    #[inline(always)]
    pub(crate) fn expire_timer(&mut self, due: Due) {
        self.timers.expire(due);
    }
}
