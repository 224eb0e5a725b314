//! The drive's replies about its NVMe Predictable Latency Mode: see `steering::plm`. Each NVM set has a
//! mode, windows and a log of its own ([`crate::sets`]).

use crate::flash::PlaneId;
use crate::mapping::Mapping;
use crate::sets::SetId;
use tailcut_base::control::ControlReply;
use tailcut_base::plm::{Config, Events, Log, State, Window};
use tailcut_base::{Nanos, Time};

/// How long the backend takes for a step of collection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectionTimes {
    copy: Nanos,
    erase: Nanos,
}

impl CollectionTimes {
    /// The time of a page copy and that of an erase.
    pub(crate) fn new(copy: Nanos, erase: Nanos) -> CollectionTimes {
        CollectionTimes { copy, erase }
    }

    /// The time of a victim of which `pages` pages are copied.
    fn of_victim(self, pages: u64) -> Nanos {
        self.copy * pages + self.erase
    }
}

impl Mapping {
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
        match (self.steering.enable_predictable(set, is_enabled, config), is_enabled) {
            (true, true) => self.collect_until(now, set, Time::NEVER),
            (true, false) => {
                self.end_run(now, set);
                self.end_quiet(now, set);
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
        let is_enabled = self.steering.is_predictable(set);
        ControlReply::PredictableLatency { is_enabled, config: self.steering.predictable_config(set) }
    }

    /// Goes to a window.
    pub(super) fn select_window(&mut self, now: Time, set: SetId, window: Window) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        if !self.steering.is_predictable(set) {
            return ControlReply::Invalid;
        }
        match window {
            Window::Deterministic => {
                self.steering.select_deterministic(set);
                self.begin_quiet(now, set);
            }
            Window::NonDeterministic => self.collect_until(now, set, Time::NEVER),
        }
        ControlReply::Done
    }

    /// The window that was selected, unless the drive has left it.
    pub(super) fn selected_window(&self, set: SetId) -> ControlReply {
        match self.steering.is_predictable(set) {
            true if self.steering.is_deterministic(set) => ControlReply::Window(Window::Deterministic),
            true => ControlReply::Window(Window::NonDeterministic),
            false if self.has_no_windows() => ControlReply::Unsupported,
            false => ControlReply::Invalid,
        }
    }

    /// True in a deterministic window, or while one is about to begin.
    pub(crate) fn has_deterministic_window(&self, set: SetId) -> bool {
        !self.has_no_windows() && self.steering.is_predictable(set) && self.steering.is_deterministic(set)
    }

    /// The log: reading it takes the events away. `is_quiesced` when all that is under way before the
    /// deterministic window begins has ended; `buffered` pages of the set are in the buffer.
    pub(crate) fn predictable_latency_log(
        &mut self,
        set: SetId,
        is_quiesced: bool,
        buffered: u64,
        times: CollectionTimes,
    ) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        let state = match self.steering.is_predictable(set) {
            false => State::Off,
            true if is_quiesced => State::Deterministic,
            true => State::NonDeterministic,
        };
        let planes = u64::from(self.sets.planes_each());
        let thresholds = self.collection.thresholds(set);
        let spare_blocks = u64::from(thresholds.high - thresholds.low);
        let log = Log {
            state,
            events: Events::NONE,
            reads_typical: u64::MAX,
            writes_typical: planes * spare_blocks * u64::from(self.geometry.pages),
            time_maximum_ms: u64::MAX,
            rest_high_ms: millis(self.time_to_collect(set, spare_blocks, times)),
            rest_low_ms: millis(self.time_to_rest(times)),
            reads_left: u64::MAX,
            writes_left: self.writes_left(set).saturating_sub(buffered),
            time_left_ms: u64::MAX,
        };
        ControlReply::Log(Log { events: self.steering.take_events(set, &log), ..log })
    }

    /// Page writes of a set until a plane of it falls below the low threshold, if they go to the planes in
    /// turn. A plane falls below it when it opens one block too many.
    fn writes_left(&self, set: SetId) -> u64 {
        let least = self.sets.planes(set).map(|plane| self.pages_above_low(plane)).min().unwrap_or(0);
        u64::from(self.sets.planes_each()) * least
    }

    /// Pages that a plane can give to the first stream before it has fewer free blocks than `low`.
    fn pages_above_low(&self, plane: PlaneId) -> u64 {
        let pages = u64::from(self.geometry.pages);
        let low = self.collection.thresholds(self.sets.of_plane(plane)).low;
        let Some(blocks) = self.ftl.free_blocks(plane).checked_sub(low) else { return 0 };
        u64::from(blocks) * pages + u64::from(self.ftl.pages_left(plane, 0))
    }

    /// The time in which every plane gains `blocks` free blocks, if no reads come: victims as full as the
    /// mean block of a drive that is full of data, which is more than any sensible policy finds. The planes
    /// of a chip take turns.
    fn time_to_collect(&self, set: SetId, blocks: u64, times: CollectionTimes) -> Nanos {
        let pages = u64::from(self.geometry.pages);
        let planes = u64::from(self.geometry.plane_count());
        let data = self.ftl.logical_pages().div_ceil(planes);
        let low = self.collection.thresholds(set).low;
        let kept = u64::from(self.geometry.blocks - low.min(self.geometry.blocks - 1));
        let valid = data.div_ceil(kept).min(pages - 1);
        let victims = (blocks * pages).div_ceil(pages - valid);
        times.of_victim(valid) * victims * u64::from(self.layout.places())
    }

    /// The time in which what is under way ends at the latest, if no reads come: the copies of each plane
    /// and an erase.
    fn time_to_rest(&self, times: CollectionTimes) -> Nanos {
        times.of_victim(u64::from(self.collection.copies())) * u64::from(self.layout.places())
    }
}

/// Whole milliseconds that are not less.
fn millis(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000)
}
