//! The drive's replies about its NVMe Predictable Latency Mode: see `steering::plm`. Each NVM set has a
//! mode, windows and a log of its own ([`crate::sets`]).

use crate::flash::PlaneId;
use crate::probe::Probe;
use crate::sets::SetId;
use crate::ssd::Ssd;
use tailcut_base::control::ControlReply;
use tailcut_base::plm::{Config, Events, Log, State, Window};
use tailcut_base::{Nanos, Time};

impl<P: Probe> Ssd<P> {
    /// Switches the mode on, into the non-deterministic window, or off.
    pub(super) fn set_predictable_latency(
        &mut self,
        now: Time,
        set: SetId,
        is_enabled: bool,
        config: Config,
    ) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        match (self.mapping.steering.enable_predictable(set, is_enabled, config), is_enabled) {
            (true, true) => {
                self.mapping.collect_until(now, set, Time::NEVER);
                self.carry_out(now);
            }
            (true, false) => {
                self.mapping.end_run(now, set);
                self.mapping.end_quiet(now, set);
                self.carry_out(now);
            }
            (false, _) => {}
        }
        ControlReply::Done
    }

    /// The configured mode and events of a set.
    pub(super) fn predictable_latency(&self, set: SetId) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        let is_enabled = self.mapping.steering.is_predictable(set);
        ControlReply::PredictableLatency { is_enabled, config: self.mapping.steering.predictable_config(set) }
    }

    /// Goes to a window.
    pub(super) fn select_window(&mut self, now: Time, set: SetId, window: Window) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        if !self.mapping.steering.is_predictable(set) {
            return ControlReply::Invalid;
        }
        match window {
            Window::Deterministic => {
                self.mapping.steering.select_deterministic(set);
                self.mapping.begin_quiet(now, set);
                self.carry_out(now);
            }
            Window::NonDeterministic => {
                self.mapping.collect_until(now, set, Time::NEVER);
                self.carry_out(now);
            }
        }
        ControlReply::Done
    }

    /// The window that was selected, unless the drive has left it.
    pub(super) fn selected_window(&self, set: SetId) -> ControlReply {
        match self.mapping.steering.is_predictable(set) {
            true if self.mapping.steering.is_deterministic(set) => {
                ControlReply::Window(Window::Deterministic)
            }
            true => ControlReply::Window(Window::NonDeterministic),
            false if self.has_no_windows() => ControlReply::Unsupported,
            false => ControlReply::Invalid,
        }
    }

    /// The log: reading it takes the events away.
    pub(super) fn predictable_latency_log(&mut self, now: Time, set: SetId) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        let state = self.window_state(now, set);
        let planes = u64::from(self.mapping.sets.planes_each());
        let thresholds = self.mapping.collection.thresholds(set);
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
        ControlReply::Log(Log { events: self.mapping.steering.take_events(set, &log), ..log })
    }

    /// The deterministic window begins when what is under way has ended.
    fn window_state(&mut self, now: Time, set: SetId) -> State {
        let mut luns = self.mapping.sets.luns(set);
        match (self.mapping.steering.is_predictable(set), self.mapping.steering.is_deterministic(set)) {
            (false, _) => State::Off,
            (true, false) => State::NonDeterministic,
            (true, true) if self.mapping.steering.is_quiet(set) && !self.has_come_to_rest(now, set) => {
                State::NonDeterministic
            }
            (true, true) if luns.all(|lun| self.rests_from_collection(now, lun)) => State::Deterministic,
            (true, true) => State::NonDeterministic,
        }
    }

    /// Page writes of a set until a plane of it falls below the low threshold, if they go to the planes in
    /// turn; less what is in the buffer already. A plane falls below it when it opens one block too many.
    fn writes_left(&self, set: SetId) -> u64 {
        let planes = self.mapping.sets.planes(set);
        let least = planes.map(|plane| self.pages_above_low(plane)).min().unwrap_or(0);
        (u64::from(self.mapping.sets.planes_each()) * least)
            .saturating_sub(self.frontend.buffer.pages(set) as u64)
    }

    /// Pages that a plane can give to the first stream before it has fewer free blocks than `low`.
    fn pages_above_low(&self, plane: PlaneId) -> u64 {
        let pages = u64::from(self.geometry.pages);
        let low = self.mapping.collection.thresholds(self.mapping.sets.of_plane(plane)).low;
        let Some(blocks) = self.mapping.ftl.free_blocks(plane).checked_sub(low) else { return 0 };
        u64::from(blocks) * pages + u64::from(self.mapping.ftl.pages_left(plane, 0))
    }

    /// The time in which every plane gains `blocks` free blocks, if no reads come: victims as full as the
    /// mean block of a drive that is full of data, which is more than any sensible policy finds. The planes
    /// of a chip take turns.
    fn time_to_collect(&self, set: SetId, blocks: u64) -> Nanos {
        let pages = u64::from(self.geometry.pages);
        let planes = u64::from(self.geometry.plane_count());
        let data = u64::from(self.mapping.ftl.logical_pages()).div_ceil(planes);
        let low = self.mapping.collection.thresholds(set).low;
        let kept = u64::from(self.geometry.blocks - low.min(self.geometry.blocks - 1));
        let valid = data.div_ceil(kept).min(pages - 1);
        let victims = (blocks * pages).div_ceil(pages - valid);
        self.time_of_victims(victims, valid)
    }

    /// The time in which what is under way ends at the latest, if no reads come: the copies of each plane
    /// and an erase.
    fn time_to_rest(&self) -> Nanos {
        self.time_of_victims(1, u64::from(self.mapping.collection.copies()))
    }

    fn time_of_victims(&self, victims: u64, pages: u64) -> Nanos {
        (self.backend.time_of_copy() * pages + self.backend.time_of_erase())
            * victims
            * u64::from(self.layout.places.get())
    }
}

/// Whole milliseconds that are not less.
fn millis(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000)
}
