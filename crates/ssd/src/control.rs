//! The control interface (Shin 2017, table 5.1): what a host may ask and steer.

use crate::probe::Probe;
use crate::ssd::Ssd;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply, GcThresholds};

impl<P: Probe> Ssd<P> {
    /// Answers a call. A drive without the interface (`control_api`) knows none of them.
    pub(crate) fn answer(&mut self, now: Time, call: Control) -> ControlReply {
        if !self.config.control_api {
            return ControlReply::Unsupported;
        }
        match call {
            Control::UserCapacity => {
                ControlReply::Bytes(u64::from(self.ftl.logical_pages()) * self.geometry.page_bytes)
            }
            Control::DeviceCapacity => ControlReply::Bytes(self.geometry.raw_bytes()),
            Control::EraseBlockSize => {
                ControlReply::Bytes(u64::from(self.geometry.pages) * self.geometry.page_bytes)
            }
            Control::FreeBlocks => {
                let planes = 0..self.geometry.plane_count();
                ControlReply::Blocks(planes.map(|p| u64::from(self.ftl.free_blocks(p))).sum())
            }
            Control::GetThresholds => ControlReply::Thresholds(self.collection.thresholds()),
            Control::SetThresholds(thresholds) => self.set_thresholds(now, thresholds),
            Control::IsGcRunning => ControlReply::Answer(self.collection.is_running()),
            Control::RunGc { until } => self.run_gc(now, until),
            Control::IsReadyForRead => self.is_ready_for_read(now),
            Control::SetWindows(windows) => self.set_windows(now, windows),
            Control::ClearWindows => self.clear_windows(now),
            Control::SetPredictableLatency { is_enabled, config } => {
                self.set_predictable_latency(now, is_enabled, config)
            }
            Control::GetPredictableLatency => self.predictable_latency(),
            Control::SelectWindow(window) => self.select_window(now, window),
            Control::SelectedWindow => self.selected_window(),
            Control::PredictableLatencyLog => self.predictable_latency_log(now),
        }
    }

    /// Sets the thresholds. Block-level mapping has none: it frees blocks as it merges them.
    fn set_thresholds(&mut self, now: Time, thresholds: GcThresholds) -> ControlReply {
        if self.block_mapped.is_some() {
            return ControlReply::Unsupported;
        }
        if !self.config.has_room_for(thresholds) {
            return ControlReply::Invalid;
        }
        self.collection.set_thresholds(thresholds);
        self.aim(now);
        let planes = 0..self.geometry.plane_count();
        if self.quiet.is_on() && planes.clone().any(|plane| self.ftl.free_blocks(plane) < thresholds.low) {
            self.trigger(now);
        }
        for plane in planes {
            self.collect_if_short(now, plane);
        }
        ControlReply::Done
    }

    /// A plane has become short of blocks: that ends a quiet period.
    fn trigger(&mut self, now: Time) {
        self.window_exceeded(now);
        self.end_rest(now);
    }
}
