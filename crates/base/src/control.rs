//! The control interface of a device: queries and commands of the host (Shin 2017, table 5.1).
//!
//! These calls were later standardised as NVMe Predictable Latency Mode ([`crate::plm`]):
//! [`Control::IsReadyForRead`] corresponds to entering the deterministic window and [`Control::RunGc`] to the
//! non-deterministic one. [`Control::SetWindows`] announces all future windows of both kinds. A device
//! accepts either form; one without the interface replies [`ControlReply::Unsupported`] to every call.

use crate::fdp::{HandleStatus, PlacementId, Statistics};
use crate::plm;
use crate::time::{Nanos, Time};

/// Thresholds of garbage collection, in free blocks per plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcThresholds {
    /// Collection starts when a plane has fewer free blocks than this.
    pub low: u32,
    /// Background and host-initiated collection ends when every plane has this many.
    pub high: u32,
}

/// Windows in which a drive does background work, and outside of which it refrains from it: the
/// non-deterministic windows of NVMe Predictable Latency Mode, scheduled in advance, with drives taking turns
/// (IODA's PL_Win; SOSP 2021). Window k is `from + k * period .. from + k * period + length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Start of window 0; no window is open before it.
    pub from: Time,
    /// Time from the start of one window to the start of the next; not zero.
    pub period: Nanos,
    /// Length of each window; not zero, and at most the period.
    pub length: Nanos,
}

impl Windows {
    /// True if the windows are valid: neither empty nor overlapping.
    pub fn are_valid(&self) -> bool {
        self.length > Nanos::ZERO && self.length <= self.period
    }

    /// True if a window is open at `at`.
    pub fn is_open(&self, at: Time) -> bool {
        at >= self.from && at.since(self.from).0 % self.period.0 < self.length.0
    }

    /// Start of the first window after `at`.
    pub fn next_after(&self, at: Time) -> Time {
        if at < self.from {
            return self.from;
        }
        let begun = at.since(self.from).0 / self.period.0;
        self.from + self.period * (begun + 1)
    }
}

/// A call of the control interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Capacity that the host can address, in bytes.
    UserCapacity,
    /// Capacity of the flash, in bytes.
    DeviceCapacity,
    /// Size of an erase block, in bytes.
    EraseBlockSize,
    /// Erased blocks, over all planes.
    FreeBlocks,
    /// The thresholds of garbage collection.
    GetThresholds,
    /// Sets the thresholds; refused if `low` exceeds `high`, or if a plane full of data does not always reach
    /// that many free blocks. Planes with fewer than `low` collect at once, so the call is a trigger of
    /// garbage collection.
    SetThresholds(GcThresholds),
    /// Whether garbage collection is running; postponed collection does not count.
    IsGcRunning,
    /// Collect in every plane until `until` or until the plane has `high` free blocks; returns at once. At
    /// `until` a collection stops between two page copies, or before its erase, and resumes when it is
    /// requested again or its plane falls below `low`. Replaces the previous run. Ignored if every plane
    /// already has `high` free blocks, or if `until` has passed; otherwise a trigger of garbage collection.
    RunGc {
        /// When to stop.
        until: Time,
    },
    /// From now on garbage collection and wear levelling start only within these windows. Within a window the
    /// device collects ahead, up to the high threshold; unfinished collection resumes in the next window.
    /// Outside, it collects only where no erased block is left to write to. Replaces earlier windows; refused
    /// if the windows are empty or overlap. A trigger of garbage collection.
    SetWindows(Windows),
    /// Garbage collection may start at any time again. A trigger of it if there were windows.
    ClearWindows,
    /// Refrain from garbage collection and programs, so that nothing delays reads. The first call ends a
    /// [`Control::RunGc`] and stops collection and the programs of buffered data; the reply is no until work
    /// in progress has ended: chip operations, write commands, and the collection of planes below `low`. Then
    /// the reply is yes, and the *quiet period* lasts until a write or flush is submitted or garbage
    /// collection is triggered. Until then buffered data stays in the buffer, as safe as it was before.
    IsReadyForRead,
    /// NVMe Predictable Latency Mode Config: switches the mode on, into the non-deterministic window, or off,
    /// and selects the events to report.
    SetPredictableLatency {
        /// Whether the mode is on.
        is_enabled: bool,
        /// The events to report, and their thresholds.
        config: plm::Config,
    },
    /// The settings of [`Control::SetPredictableLatency`].
    GetPredictableLatency,
    /// NVMe Predictable Latency Mode Window: deterministic, as after [`Control::IsReadyForRead`], or
    /// non-deterministic, as after [`Control::RunGc`] without an end. In the deterministic window the host
    /// may write: this ends the quiet of the chips, but collection stays postponed until a plane falls below
    /// `low`. Refused while the mode is off.
    SelectWindow(plm::Window),
    /// The selected window, or the one to which the device has moved by itself. Refused while the mode is
    /// off.
    SelectedWindow,
    /// NVMe Predictable Latency Per NVM Set log. Reading it clears the events.
    PredictableLatencyLog,
    /// I/O Management Send, Reclaim Unit Handle Update (FDP): the next write of the handle to this group goes
    /// to another reclaim unit. Refused if handle or group do not exist, or while no reclaim unit is free.
    UpdateHandle(PlacementId),
    /// The state of a handle in a group (FDP). Refused if handle or group do not exist.
    HandleStatus(PlacementId),
    /// FDP Statistics log.
    PlacementStatistics,
}

impl Control {
    /// True for a call of Flexible Data Placement ([`crate::fdp`]).
    pub fn is_of_placement(self) -> bool {
        matches!(self, Control::UpdateHandle(_) | Control::HandleStatus(_) | Control::PlacementStatistics)
    }
}

/// The reply to a [`Control`] call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlReply {
    /// A size in bytes.
    Bytes(u64),
    /// A number of blocks.
    Blocks(u64),
    /// The thresholds of collection that are set.
    Thresholds(GcThresholds),
    /// The answer to a question: true for yes.
    Answer(bool),
    /// Whether Predictable Latency Mode is on, and the events to report.
    PredictableLatency {
        /// Whether the mode is on.
        is_enabled: bool,
        /// The events to report, and their thresholds.
        config: plm::Config,
    },
    /// A window of Predictable Latency Mode.
    Window(plm::Window),
    /// The log of Predictable Latency Mode.
    Log(plm::Log),
    /// The state of a reclaim unit handle.
    HandleStatus(HandleStatus),
    /// The statistics of Flexible Data Placement.
    PlacementStatistics(Statistics),
    /// The call was carried out.
    Done,
    /// The values do not fit the device or its state.
    Invalid,
    /// The device does not support this call; see [`Control`].
    Unsupported,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_open_at_their_beginning_and_are_closed_at_their_end() {
        let windows = Windows { from: Time(100), period: Nanos(50), length: Nanos(20) };
        let open: Vec<u64> = (0..230).filter(|&at| windows.is_open(Time(at))).collect();
        let expected: Vec<u64> = (100..120).chain(150..170).chain(200..220).collect();
        assert_eq!(open, expected);
    }

    #[test]
    fn the_next_window_begins_later_than_now() {
        let windows = Windows { from: Time(100), period: Nanos(50), length: Nanos(20) };
        for (at, next) in [(0, 100), (99, 100), (100, 150), (119, 150), (149, 150), (150, 200)] {
            assert_eq!(windows.next_after(Time(at)), Time(next), "after {at}");
        }
    }

    #[test]
    fn windows_are_neither_empty_nor_overlapping() {
        let of = |period, length| Windows { from: Time(7), period: Nanos(period), length: Nanos(length) };
        assert!(of(10, 10).are_valid() && of(10, 1).are_valid());
        assert!(!of(10, 0).are_valid() && !of(10, 11).are_valid() && !of(0, 0).are_valid());
    }
}
