//! When each NVM set does its own work: the host's settings for that, and the planes that wait for it.
//!
//! A host steers a drive's own work in four ways, of which each NVM set has its own state:
//!
//! - *quiet periods* ([`quiet`]): `is_ready_for_read` (Shin 2017, section 5.3.2);
//! - *runs* of collection: `run_gc` (the same section), in every plane, until a moment or until the plane
//!   has as many free blocks as the high threshold;
//! - *windows* of collection ([`windows`]): IODA's PL_Win (SOSP 2021);
//! - *predictable latency mode* ([`plm`]): NVMe base specification 1.4, section 8.18, which is quiet periods
//!   and runs by other names.
//!
//! A quiet period goes before a run, and a run before windows. This machine decides; what it decides is
//! carried out by the drive (`collection::steered`, `at_rest`). It knows neither flash nor requests.

mod plm;
mod quiet;
mod windows;

use crate::flash::PlaneId;
use crate::mutation::{Invariant, holds};
use crate::sets::SetId;
use plm::PredictableLatency;
use quiet::{Quiet, Rest};
use tailcut_base::control::Windows;
use tailcut_base::ids::IdVec;
use tailcut_base::plm::{Config, Events, Log};
use tailcut_base::{Nanos, Time};
use windows::WindowSchedule;

/// What of a drive is steered, for all of its sets.
#[derive(Debug)]
pub(crate) struct Steering {
    sets: IdVec<SetId, SetSteering>,
    /// The host has begun to control when the drive collects.
    is_on: bool,
    /// Some set has a quiet period, or is about to.
    is_any_quiet: bool,
}

/// The steering state of one set.
#[derive(Debug, Default)]
struct SetSteering {
    quiet: Quiet,
    /// Until when the set collects for the host: [`Time::ZERO`] where it does not, [`Time::NEVER`] without an
    /// end.
    run_until: Time,
    windows: WindowSchedule,
    predictable: PredictableLatency,
}

impl SetSteering {
    #[inline]
    fn runs(&self, now: Time) -> bool {
        now < self.run_until
    }
}

/// Work that resumes after a quiet period or a deterministic window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Resumed {
    /// No work.
    Nothing,
    /// Programs of buffered data.
    Programs,
    /// Programs and collection.
    All,
}

impl Steering {
    /// A drive that the host does not steer yet.
    pub(crate) fn new(sets: impl Iterator<Item = SetId>) -> Steering {
        let sets = sets.map(|_| SetSteering::default()).collect();
        Steering { sets, is_on: false, is_any_quiet: false }
    }

    /// Asserts what holds after every event.
    pub(crate) fn check(&self) {
        let is_quiet = self.sets.iter().any(|set| set.quiet.rest.holds_programs());
        assert_eq!(is_quiet, self.is_any_quiet, "some set is quiet");
        for set in &self.sets {
            set.windows.check();
            assert!(
                self.is_on || set.quiet.rest == Rest::None && set.run_until == Time::ZERO,
                "nobody steers"
            );
        }
    }

    /// True once the host has begun to control when the drive collects.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// The host begins to control when a drive of `planes` planes collects. False if it has before.
    pub(crate) fn begin(&mut self, planes: u32) -> bool {
        if self.is_on {
            return false;
        }
        self.is_on = true;
        self.sets.iter_mut().for_each(|set| set.windows.set_planes(planes));
        true
    }

    /// True when collection in a set that can be put off may start now.
    pub(crate) fn lets_collect(&self, now: Time, set: SetId) -> bool {
        let set = &self.sets[set];
        !set.quiet.rests_collection() && (set.runs(now) || set.windows.let_start(now))
    }

    /// True when planes of a set collect up to the high threshold, not only below the low one.
    pub(crate) fn collects_ahead(&self, now: Time, set: SetId) -> bool {
        let set = &self.sets[set];
        set.windows.are_set() || set.runs(now)
    }

    // Runs

    /// True while a set collects for the host.
    #[inline]
    pub(crate) fn runs(&self, now: Time, set: SetId) -> bool {
        self.sets[set].runs(now)
    }

    /// True when the time of a set's run is over and [`Steering::end_run`] has not been called.
    pub(crate) fn run_is_over(&self, now: Time, set: SetId) -> bool {
        let until = self.sets[set].run_until;
        until != Time::ZERO && now >= until && holds(Invariant::EndRun)
    }

    /// From now on a set collects for the host.
    pub(crate) fn begin_run(&mut self, set: SetId, until: Time) {
        self.sets[set].run_until = until;
    }

    /// A set collects for the host no more.
    pub(crate) fn end_run(&mut self, set: SetId) {
        self.sets[set].run_until = Time::ZERO;
    }

    // Quiet periods

    /// True while a quiet period of a set lasts, or is about to begin.
    #[inline]
    pub(crate) fn is_quiet(&self, set: SetId) -> bool {
        self.is_any_quiet && self.sets[set].quiet.rest.holds_programs()
    }

    /// True while some set is quiet, or about to be.
    #[inline]
    pub(crate) fn is_any_quiet(&self) -> bool {
        self.is_any_quiet
    }

    /// True while programs of a set's buffered data are held: it is quiet, and no request waits for one.
    #[inline]
    pub(crate) fn rests_programs(&self, set: SetId) -> bool {
        self.is_quiet(set) && self.sets[set].quiet.nobody_waits()
    }

    /// True while collection of a set rests.
    #[inline]
    pub(crate) fn rests_collection(&self, set: SetId) -> bool {
        self.sets[set].quiet.rests_collection()
    }

    /// A quiet period of a set begins, or begins anew. In a deterministic window it is that of the window.
    pub(crate) fn begin_quiet(&mut self, set: SetId) {
        self.end_run(set);
        self.sets[set].quiet.begin();
        self.is_any_quiet = true;
    }

    /// Ends a quiet period or a deterministic window of a set; false if there is none.
    pub(crate) fn end_quiet(&mut self, set: SetId) -> bool {
        let was = std::mem::replace(&mut self.sets[set].quiet.rest, Rest::None);
        self.look_for_quiet();
        was != Rest::None
    }

    /// A write or a flush has come for a set: it ends a quiet period, and in a deterministic window lets
    /// programs begin.
    #[inline]
    pub(crate) fn write_begins(&mut self, set: SetId) -> Resumed {
        self.sets[set].quiet.writes += 1;
        if self.is_quiet(set) { self.end_quiet_for_write(set) } else { Resumed::Nothing }
    }

    #[cold]
    fn end_quiet_for_write(&mut self, set: SetId) -> Resumed {
        if !self.is_deterministic(set) {
            self.end_quiet(set);
            return Resumed::All;
        }
        self.sets[set].quiet.rest = Rest::Deterministic { holds_programs: false };
        self.look_for_quiet();
        Resumed::Programs
    }

    /// A write or a flush of a set has been answered.
    #[inline]
    pub(crate) fn write_ends(&mut self, set: SetId) {
        self.sets[set].quiet.writes -= 1;
    }

    fn look_for_quiet(&mut self) {
        self.is_any_quiet = self.sets.iter().any(|set| set.quiet.rest.holds_programs());
    }

    /// A read begins for the rest of a page that is written in part.
    #[inline]
    pub(crate) fn merge_begins(&mut self, set: SetId) {
        self.sets[set].quiet.merges += 1;
    }

    /// Such a read has ended.
    #[inline]
    pub(crate) fn merge_ends(&mut self, set: SetId) {
        self.sets[set].quiet.merges -= 1;
    }

    /// True while such reads are under way in a set.
    pub(crate) fn is_merging(&self, set: SetId) -> bool {
        self.sets[set].quiet.merges > 0
    }

    /// A read of the host waits for a program.
    pub(crate) fn follower_begins(&mut self, set: SetId) {
        self.sets[set].quiet.followers += 1;
    }

    /// It does no more.
    pub(crate) fn follower_ends(&mut self, set: SetId) {
        self.sets[set].quiet.followers -= 1;
    }

    /// How many of a set's LUNs, counted from the first, have quiesced since its quiet period began.
    pub(crate) fn luns_at_rest(&self, set: SetId) -> u32 {
        self.sets[set].quiet.luns_at_rest
    }

    /// One more LUN of a set has quiesced.
    pub(crate) fn lun_rests(&mut self, set: SetId) {
        self.sets[set].quiet.luns_at_rest += 1;
    }

    // Windows

    /// True when a set has windows of collection.
    #[inline]
    pub(crate) fn has_windows(&self, set: SetId) -> bool {
        self.sets[set].windows.are_set()
    }

    /// Gives a set windows, or takes them away.
    pub(crate) fn set_windows(&mut self, set: SetId, windows: Option<Windows>) {
        self.sets[set].windows.set(windows);
    }

    /// Has a plane of a set wait for the next window, or for the end of a quiet period. True if the set is to
    /// be looked at earlier than before ([`Steering::next_look`]); not where that is at `horizon` or later.
    pub(crate) fn wait(&mut self, now: Time, set: SetId, plane: PlaneId, horizon: Time) -> bool {
        let rests = self.sets[set].quiet.rests_collection();
        self.sets[set].windows.wait(now, plane, rests, horizon)
    }

    /// All of a set's planes wait.
    pub(crate) fn wait_all(&mut self, set: SetId, planes: impl Iterator<Item = PlaneId> + Clone) {
        self.sets[set].windows.wait_all(planes);
    }

    /// The waiting planes of a set, in the order in which they began to wait, to be resumed one by one with
    /// [`Steering::goes_on`].
    pub(crate) fn take_waiting(&mut self, set: SetId) -> Vec<PlaneId> {
        self.sets[set].windows.take_waiting()
    }

    /// A plane of a set that waited resumes, and may have to wait again.
    pub(crate) fn goes_on(&mut self, set: SetId, plane: PlaneId) {
        self.sets[set].windows.goes_on(plane);
    }

    /// Planes of a set that wait are looked at then; at no time if `None`.
    pub(crate) fn look_at(&mut self, set: SetId, at: Option<Time>) {
        self.sets[set].windows.look_at(at);
    }

    /// True when planes of a set that wait are to be looked at.
    pub(crate) fn is_due(&self, now: Time, set: SetId) -> bool {
        self.sets[set].windows.due().is_some_and(|due| due <= now)
    }

    /// When the first set is to be looked at; [`Time::NEVER`] if none is.
    pub(crate) fn next_look(&self) -> Time {
        self.sets.iter().filter_map(|set| set.windows.due()).min().unwrap_or(Time::NEVER)
    }

    /// Schedules the check of the waiting planes of a set for the next moment of its clock.
    pub(crate) fn look_soon(&mut self, now: Time, set: SetId) {
        self.look_at(set, Some(now + Nanos(1)));
    }

    // Predictable latency mode

    /// True when the mode is on.
    pub(crate) fn is_predictable(&self, set: SetId) -> bool {
        self.sets[set].predictable.is_enabled
    }

    /// The events that the host has enabled for the set's log.
    pub(crate) fn predictable_config(&self, set: SetId) -> Config {
        self.sets[set].predictable.config
    }

    /// Switches the mode on or off. True if that has changed it.
    pub(crate) fn enable_predictable(&mut self, set: SetId, is_enabled: bool, config: Config) -> bool {
        self.sets[set].predictable.enable(is_enabled, config)
    }

    /// True in a deterministic window, or while one is about to begin.
    pub(crate) fn is_deterministic(&self, set: SetId) -> bool {
        matches!(self.sets[set].quiet.rest, Rest::Deterministic { .. })
    }

    /// A deterministic window begins with the next quiet period ([`Steering::begin_quiet`]).
    pub(crate) fn select_deterministic(&mut self, set: SetId) {
        let set = &mut self.sets[set];
        set.predictable.begin_window();
        set.quiet.rest = Rest::Deterministic { holds_programs: false };
    }

    /// A plane has fallen below the low threshold: a deterministic window ends by itself, and a run without
    /// an end begins. False if there is no such window.
    pub(crate) fn exceed(&mut self, set: SetId) -> bool {
        if !self.is_deterministic(set) {
            return false;
        }
        self.end_quiet(set);
        self.sets[set].predictable.exceed();
        self.begin_run(set, Time::NEVER);
        true
    }

    /// The enabled events since the log was last read.
    pub(crate) fn take_events(&mut self, set: SetId, log: &Log) -> Events {
        self.sets[set].predictable.take_events(log)
    }
}
