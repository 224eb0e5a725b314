//! NVMe Predictable Latency Mode of a drive: the same control as `run_gc` and `is_ready_for_read`, by the
//! names of the standard (see [`tailcut_base::plm`]).
//!
//! The non-deterministic window is a run of collection without an end; the deterministic one is a quiet
//! period in which the host may write. Writes let programs begin; collection goes on to rest until a plane
//! falls below the low threshold: then the drive goes to the non-deterministic window by itself.
//!
//! Each NVM set has a mode, windows and a log of its own ([`crate::sets`]). Reads and time in the deterministic window are not bounded: the model
//! knows no read disturb and no loss of charge that would make a drive move data.

use crate::flash::PlaneId;
use crate::probe::Probe;
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::control::ControlReply;
use tailcut_base::plm::{Config, Events, Log, State, Window};
use tailcut_base::{Nanos, Time};

/// The mode of a set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PredictableLatency {
    is_enabled: bool,
    config: Config,
    /// What has come to pass since the log was read.
    events: Events,
    /// Warnings that the present window has given already.
    warned: Events,
}

impl<P: Probe> Ssd<P> {
    /// Switches the mode on, into the non-deterministic window, or off.
    pub(crate) fn set_predictable_latency(
        &mut self,
        now: Time,
        set: SetId,
        is_enabled: bool,
        config: Config,
    ) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        let predictable = &mut self.set_mut(set).predictable;
        let was_enabled = predictable.is_enabled;
        (predictable.is_enabled, predictable.config) = (is_enabled, config);
        if is_enabled != was_enabled {
            (predictable.events, predictable.warned) = (Events::NONE, Events::NONE);
            if is_enabled {
                self.collect_until(now, set, Time::NEVER);
            } else {
                self.end_run(now, set);
                self.end_rest(now, set);
            }
        }
        ControlReply::Done
    }

    /// What has been set.
    pub(crate) fn predictable_latency(&self, set: SetId) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        let PredictableLatency { is_enabled, config, .. } = self.set(set).predictable;
        ControlReply::PredictableLatency { is_enabled, config }
    }

    /// Goes to a window.
    pub(crate) fn select_window(&mut self, now: Time, set: SetId, window: Window) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        let state = self.set_mut(set);
        if !state.predictable.is_enabled {
            return ControlReply::Invalid;
        }
        match window {
            Window::Deterministic => {
                state.predictable.warned = Events::NONE;
                state.quiet.is_deterministic = true;
                self.rest_from_now(now, set);
            }
            Window::NonDeterministic => self.collect_until(now, set, Time::NEVER),
        }
        ControlReply::Done
    }

    /// The window that was selected, unless the drive has left it.
    pub(crate) fn selected_window(&self, set: SetId) -> ControlReply {
        let state = self.set(set);
        match state.predictable.is_enabled {
            true if state.quiet.is_deterministic => ControlReply::Window(Window::Deterministic),
            true => ControlReply::Window(Window::NonDeterministic),
            false if self.has_no_windows() => ControlReply::Unsupported,
            false => ControlReply::Invalid,
        }
    }

    /// The log: reading it takes the events away.
    pub(crate) fn predictable_latency_log(&mut self, now: Time, set: SetId) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        let state = self.window_state(now, set);
        let planes = u64::from(self.sets.planes_each());
        let thresholds = self.collection.thresholds(set);
        let spare_blocks = u64::from(thresholds.high - thresholds.low);
        let log = Log {
            state,
            events: Events::NONE,
            reads_typical: u64::MAX,
            writes_typical: planes * spare_blocks * u64::from(self.geometry.pages),
            time_maximum_ms: u64::MAX,
            rest_high_ms: millis(self.time_to_collect(set, spare_blocks)),
            rest_low_ms: millis(self.time_to_rest()),
            reads_left: u64::MAX,
            writes_left: self.writes_left(set),
            time_left_ms: u64::MAX,
        };
        ControlReply::Log(Log { events: self.take_events(set, &log), ..log })
    }

    /// A deterministic window has taken more writes than it could.
    pub(crate) fn note_exceeded(&mut self, set: SetId) {
        let predictable = &mut self.set_mut(set).predictable;
        let warning = Events::WRITES.when(!predictable.warned.contain(Events::WRITES));
        predictable.events = predictable.events.and(warning).and(Events::EXCEEDED);
    }

    fn has_no_windows(&self) -> bool {
        self.block_mapped.is_some() || self.config.gc.ideal
    }

    /// The deterministic window begins when what is under way has ended.
    fn window_state(&mut self, now: Time, set: SetId) -> State {
        let mut units = self.sets.units(set);
        let state = self.set(set);
        match (state.predictable.is_enabled, state.quiet.is_deterministic) {
            (false, _) => State::Off,
            (true, false) => State::NonDeterministic,
            (true, true) if self.is_quiet(set) && !self.has_come_to_rest(now, set) => State::NonDeterministic,
            (true, true) if units.all(|unit| self.rests_from_collection(now, unit)) => State::Deterministic,
            (true, true) => State::NonDeterministic,
        }
    }

    /// Page writes of a set until a plane of it falls below the low threshold, if they go to the planes in turn; less
    /// what is in the buffer already. A plane falls below it when it opens one block too many.
    fn writes_left(&self, set: SetId) -> u64 {
        let planes = self.sets.planes(set);
        let least = planes.map(|plane| self.pages_above_low(plane)).min().unwrap_or(0);
        (u64::from(self.sets.planes_each()) * least).saturating_sub(self.buffer.pages(set) as u64)
    }

    /// Pages that a plane can give to the first stream before it has fewer free blocks than `low`.
    fn pages_above_low(&self, plane: PlaneId) -> u64 {
        let pages = u64::from(self.geometry.pages);
        let low = self.collection.thresholds(self.sets.of_plane(plane)).low;
        let Some(blocks) = self.ftl.free_blocks(plane).checked_sub(low) else { return 0 };
        u64::from(blocks) * pages + u64::from(self.ftl.pages_left(plane, 0))
    }

    /// The time in which every plane gains so many free blocks, if no reads come: victims as full as the
    /// mean block of a drive that is full of data, which is more than any sensible policy finds. The
    /// planes of a chip take turns.
    fn time_to_collect(&self, set: SetId, blocks: u64) -> Nanos {
        let pages = u64::from(self.geometry.pages);
        let planes = u64::from(self.geometry.plane_count());
        let data = u64::from(self.ftl.logical_pages()).div_ceil(planes);
        let low = self.collection.thresholds(set).low;
        let kept = u64::from(self.geometry.blocks - low.min(self.geometry.blocks - 1));
        let valid = data.div_ceil(kept).min(pages - 1);
        let victims = (blocks * pages).div_ceil(pages - valid);
        self.time_of_victims(victims, valid)
    }

    /// The time in which what is under way ends at the latest, if no reads come: the copies of each plane
    /// and an erase.
    fn time_to_rest(&self) -> Nanos {
        self.time_of_victims(1, u64::from(self.collection.copies()))
    }

    fn time_of_victims(&self, victims: u64, pages: u64) -> Nanos {
        (self.time_of_copy() * pages + self.time_of_erase()) * victims * u64::from(self.places)
    }

    /// The events that have come, of those that the host wants to hear of.
    fn take_events(&mut self, set: SetId, log: &Log) -> Events {
        let p = &mut self.set_mut(set).predictable;
        let warnings = Events::READS
            .when(log.reads_left <= p.config.reads)
            .and(Events::WRITES.when(log.writes_left <= p.config.writes))
            .and(Events::TIME.when(log.time_left_ms <= p.config.time_ms));
        let mut events = std::mem::take(&mut p.events);
        if log.state == State::Deterministic {
            events = events.and(warnings.without(p.warned));
            p.warned = p.warned.and(warnings);
        }
        events.among(p.config.events)
    }
}

/// Whole milliseconds that are not less.
fn millis(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000)
}
