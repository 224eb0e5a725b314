//! The control interface (Shin 2017, table 5.1): what a host may query and control. [`crate::mapping`]
//! describes how the drive follows it.

mod predictable;

use crate::probe::Probe;
use crate::sets::{SetId, Sets};
use crate::ssd::Ssd;
use tailcut_base::control::{Control, ControlReply, GcThresholds, Windows};
use tailcut_base::device::{Identify, SECTOR_BYTES};
use tailcut_base::{Device, Time};

impl<P: Probe> Ssd<P> {
    /// The sets that the drive is divided into.
    pub fn sets(&self) -> Sets {
        self.mapping.sets
    }

    /// Identifies a set as a device of its own. Its sector 0 is sector `set` × its sectors of the drive.
    pub fn identify_set(&self, set: SetId) -> Identify {
        let whole = self.identify();
        let count = self.mapping.sets.count();
        assert!(set.get() < count, "the drive has {count} sets");
        let (sectors, queue_depth) = (whole.sectors / u64::from(count), whole.queue_depth / count);
        Identify { sectors, queue_depth, ..whole }
    }

    /// A call of the control interface that concerns one set; see [`Device::control`].
    pub fn control_set(&mut self, now: Time, set: SetId, call: Control) -> ControlReply {
        assert!(set.get() < self.mapping.sets.count(), "the drive has {} sets", self.mapping.sets.count());
        self.answer(now, set, call)
    }

    /// Erased blocks of the whole drive, for observers outside the drive; a host asks by
    /// [`Control::FreeBlocks`].
    pub fn erased_blocks(&self) -> u64 {
        self.mapping
            .sets
            .ids()
            .flat_map(|set| self.mapping.sets.planes(set))
            .map(|p| u64::from(self.mapping.ftl.free_blocks(p)))
            .sum()
    }

    /// True while it collects somewhere.
    pub fn collects(&self) -> bool {
        self.mapping.sets.ids().any(|set| self.mapping.is_collecting(set))
    }

    /// Answers a call that concerns a set. A drive without the interface (`control_api`) knows none of them.
    pub(crate) fn answer(&mut self, now: Time, set: SetId, call: Control) -> ControlReply {
        if !self.config.control_api {
            return ControlReply::Unsupported;
        }
        let reply = self.carry_out_call(now, set, call);
        self.set_timers();
        reply
    }

    fn carry_out_call(&mut self, now: Time, set: SetId, call: Control) -> ControlReply {
        match call {
            Control::UserCapacity => ControlReply::Bytes(
                self.frontend.sectors / u64::from(self.mapping.sets.count()) * SECTOR_BYTES,
            ),
            Control::DeviceCapacity => {
                ControlReply::Bytes(self.geometry.raw_bytes() / u64::from(self.mapping.sets.count()))
            }
            Control::EraseBlockSize => {
                ControlReply::Bytes(u64::from(self.geometry.pages) * self.geometry.page_bytes)
            }
            Control::FreeBlocks => {
                let planes = self.mapping.sets.planes(set);
                ControlReply::Blocks(planes.map(|p| u64::from(self.mapping.ftl.free_blocks(p))).sum())
            }
            Control::GetThresholds => ControlReply::Thresholds(self.mapping.collection.thresholds(set)),
            Control::SetThresholds(thresholds) => self.set_thresholds(now, set, thresholds),
            Control::IsGcRunning => ControlReply::Answer(self.mapping.is_collecting(set)),
            Control::RunGc { until } => self.run_gc(now, set, until),
            Control::IsReadyForRead => self.is_ready_for_read(now, set),
            Control::SetWindows(windows) => self.set_windows(now, set, windows),
            Control::ClearWindows => self.clear_windows(now, set),
            Control::SetPredictableLatency { is_enabled, config } => {
                self.set_predictable_latency(now, set, is_enabled, config)
            }
            Control::GetPredictableLatency => self.predictable_latency(set),
            Control::SelectWindow(window) => self.select_window(now, set, window),
            Control::SelectedWindow => self.selected_window(set),
            Control::PredictableLatencyLog => self.predictable_latency_log(now, set),
        }
    }

    /// Sets the thresholds of a set. Block-level mapping has none: it frees blocks as it merges them.
    fn set_thresholds(&mut self, now: Time, set: SetId, thresholds: GcThresholds) -> ControlReply {
        if self.mapping.block_mapped.is_some() {
            return ControlReply::Unsupported;
        }
        if !self.config.has_room_for(thresholds) {
            return ControlReply::Invalid;
        }
        self.mapping.collection.set_thresholds(set, thresholds);
        self.mapping.aim(now, set);
        let planes = self.mapping.sets.planes(set);
        if self.mapping.steering.is_quiet(set)
            && planes.clone().any(|plane| self.mapping.ftl.free_blocks(plane) < thresholds.low)
        {
            self.trigger(now, set);
        }
        for plane in planes {
            self.collect_if_short(now, plane);
        }
        ControlReply::Done
    }

    /// A plane of a set has become short of blocks: that ends a quiet period.
    fn trigger(&mut self, now: Time, set: SetId) {
        self.mapping.window_exceeded(now, set);
        self.carry_out(now);
        self.mapping.end_quiet(now, set);
        self.carry_out(now);
    }

    /// Collects in a set until a moment, unless there is nothing to be collected.
    fn run_gc(&mut self, now: Time, set: SetId, until: Time) -> ControlReply {
        if self.mapping.block_mapped.is_some() {
            return ControlReply::Unsupported;
        }
        let high = self.mapping.collection.thresholds(set).high;
        let planes = self.mapping.sets.planes(set);
        if until <= now || planes.clone().all(|plane| self.mapping.ftl.free_blocks(plane) >= high) {
            return ControlReply::Done;
        }
        if self.config.gc.ideal {
            for plane in planes {
                self.mapping.collect_at_once(now, plane, high);
                self.carry_out(now);
            }
            self.mapping.end_quiet(now, set);
            self.carry_out(now);
        } else {
            self.mapping.collect_until(now, set, until);
            self.carry_out(now);
        }
        ControlReply::Done
    }

    /// Is a set quiet? It is asked to be.
    fn is_ready_for_read(&mut self, now: Time, set: SetId) -> ControlReply {
        if self.mapping.block_mapped.is_some() {
            return ControlReply::Unsupported;
        }
        if !self.mapping.steering.is_quiet(set) {
            self.mapping.begin_quiet(now, set);
            self.carry_out(now);
        }
        ControlReply::Answer(self.has_come_to_rest(now, set))
    }

    /// Gives a set windows. Refused where they are none, and where collection has no time of its own
    /// that could be put off.
    fn set_windows(&mut self, now: Time, set: SetId, windows: Windows) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        let horizon = self.horizon();
        if !windows.are_valid() || windows.from >= horizon || windows.period.0 >= horizon.0 {
            return ControlReply::Invalid;
        }
        self.mapping.steer();
        self.mapping.steering.set_windows(set, Some(windows));
        self.mapping.begin_anew(now, set);
        self.carry_out(now);
        ControlReply::Done
    }

    /// Removes the windows; work that waits for one resumes.
    fn clear_windows(&mut self, now: Time, set: SetId) -> ControlReply {
        if self.mapping.steering.has_windows(set) {
            self.mapping.steering.set_windows(set, None);
            self.mapping.begin_anew(now, set);
            self.carry_out(now);
        }
        ControlReply::Done
    }

    /// True where collection has no time of its own that could be put off.
    fn has_no_windows(&self) -> bool {
        self.mapping.block_mapped.is_some() || self.config.gc.ideal
    }
}
