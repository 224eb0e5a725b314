//! The control interface (Shin 2017, table 5.1): what a host may query and control of a set. What the host
//! controls is described in [`super::steering`]; replies about NVMe Predictable Latency Mode are in
//! [`predictable`](super::predictable).

use crate::mapping::Mapping;
use crate::sets::SetId;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply, GcThresholds, Windows};
use tailcut_base::device::SECTOR_BYTES;

impl Mapping {
    /// Answers a call that concerns a set, whose timers can hold moments before `horizon`. Calls that need
    /// another machine ([`Control::IsReadyForRead`], [`Control::PredictableLatencyLog`]) are
    /// [`ControlReply::Unsupported`] here. Collection that takes no time has been done before
    /// ([`Mapping::runs_at_once`]).
    pub(crate) fn control(&mut self, now: Time, set: SetId, call: Control, horizon: Time) -> ControlReply {
        let sets = u64::from(self.sets.count());
        match call {
            Control::UserCapacity => {
                let sectors = self.ftl.logical_pages() * u64::from(self.geometry.page_sectors());
                ControlReply::Bytes(sectors / sets * SECTOR_BYTES)
            }
            Control::DeviceCapacity => ControlReply::Bytes(self.geometry.raw_bytes() / sets),
            Control::EraseBlockSize => {
                ControlReply::Bytes(u64::from(self.geometry.pages) * self.geometry.page_bytes)
            }
            Control::FreeBlocks => ControlReply::Blocks(self.free_blocks_of(set)),
            Control::GetThresholds => ControlReply::Thresholds(self.collection.thresholds(set)),
            Control::SetThresholds(thresholds) => self.set_thresholds(now, set, thresholds),
            Control::IsGcRunning => ControlReply::Answer(self.is_collecting(set)),
            Control::RunGc { .. } if self.block_mapped.is_some() => ControlReply::Unsupported,
            Control::RunGc { until } => {
                if !self.config.gc.ideal && self.has_to_run(now, set, until) {
                    self.collect_until(now, set, until);
                }
                ControlReply::Done
            }
            Control::SetWindows(windows) => self.set_windows(now, set, windows, horizon),
            Control::ClearWindows => self.clear_windows(now, set),
            Control::SetPredictableLatency { is_enabled, config } => {
                self.set_predictable_latency(now, set, is_enabled, config)
            }
            Control::GetPredictableLatency => self.predictable_latency(set),
            Control::SelectWindow(window) => self.select_window(now, set, window),
            Control::SelectedWindow => self.selected_window(set),
            Control::UpdateHandle(placement) => self.update_handle(now, placement),
            Control::HandleStatus(placement) => match self.handle_status(placement) {
                Some(status) => ControlReply::HandleStatus(status),
                None if self.config.fdp.is_on() => ControlReply::Invalid,
                None => ControlReply::Unsupported,
            },
            Control::PlacementStatistics => self
                .placement_statistics()
                .map_or(ControlReply::Unsupported, ControlReply::PlacementStatistics),
            Control::IsReadyForRead | Control::PredictableLatencyLog => ControlReply::Unsupported,
        }
    }

    fn free_blocks_of(&self, set: SetId) -> u64 {
        self.sets.planes(set).map(|plane| u64::from(self.ftl.free_blocks(plane))).sum()
    }

    /// Erased blocks of the whole drive.
    pub(crate) fn erased_blocks(&self) -> u64 {
        self.sets.ids().map(|set| self.free_blocks_of(set)).sum()
    }

    /// True while it collects in some set.
    pub(crate) fn collects(&self) -> bool {
        self.sets.ids().any(|set| self.is_collecting(set))
    }

    /// Sets the thresholds of a set. Block-level mapping has none: it frees blocks as it merges them. A plane
    /// that is short of blocks now ends a quiet period.
    fn set_thresholds(&mut self, now: Time, set: SetId, thresholds: GcThresholds) -> ControlReply {
        if self.block_mapped.is_some() {
            return ControlReply::Unsupported;
        }
        if !self.config.has_room_for(thresholds) {
            return ControlReply::Invalid;
        }
        self.collection.set_thresholds(set, thresholds);
        self.aim(now, set);
        let mut planes = self.sets.planes(set);
        if self.steering.is_quiet(set) && planes.any(|plane| self.ftl.free_blocks(plane) < thresholds.low) {
            self.window_exceeded(now, set);
            self.end_quiet(now, set);
        }
        ControlReply::Done
    }

    /// True when a run until `until` has something to collect in a set.
    fn has_to_run(&self, now: Time, set: SetId, until: Time) -> bool {
        let high = self.collection.thresholds(set).high;
        until > now && self.sets.planes(set).any(|plane| self.ftl.free_blocks(plane) < high)
    }

    /// Up to how many free blocks every plane of a set is to be collected at once (`gc.ideal`) when the host
    /// asks for a run; `None` where that has nothing to do, or takes time.
    pub(crate) fn runs_at_once(&self, now: Time, set: SetId, until: Time) -> Option<u32> {
        let runs = self.config.gc.ideal && self.block_mapped.is_none() && self.has_to_run(now, set, until);
        runs.then(|| self.collection.thresholds(set).high)
    }

    /// The host asks whether a set is quiet: from now on it is about to be. False for a drive that knows no
    /// quiet periods.
    pub(crate) fn ask_for_quiet(&mut self, now: Time, set: SetId) -> bool {
        if self.block_mapped.is_some() {
            return false;
        }
        if !self.steering.is_quiet(set) {
            self.begin_quiet(now, set);
        }
        true
    }

    /// True when no program of a set will begin before its quiet period ends, and no page is completed for
    /// one.
    pub(crate) fn holds_all_programs(&self, set: SetId) -> bool {
        self.steering.rests_programs(set) && !self.steering.is_merging(set)
    }

    /// Gives a set windows. Refused where they are none, and where collection has no time of its own
    /// that could be put off.
    fn set_windows(&mut self, now: Time, set: SetId, windows: Windows, horizon: Time) -> ControlReply {
        if self.has_no_windows() {
            return ControlReply::Unsupported;
        }
        if !windows.are_valid() || windows.from >= horizon || windows.period.0 >= horizon.0 {
            return ControlReply::Invalid;
        }
        self.steer();
        self.steering.set_windows(set, Some(windows));
        self.begin_anew(now, set);
        ControlReply::Done
    }

    /// Removes the windows; work that waits for one resumes.
    fn clear_windows(&mut self, now: Time, set: SetId) -> ControlReply {
        if self.steering.has_windows(set) {
            self.steering.set_windows(set, None);
            self.begin_anew(now, set);
        }
        ControlReply::Done
    }

    /// True where collection has no time of its own that could be put off.
    pub(crate) fn has_no_windows(&self) -> bool {
        self.block_mapped.is_some() || self.config.gc.ideal
    }
}
