//! The control interface of a device: what a host may ask and steer (Shin 2017, table 5.1).
//!
//! The standard that later gave these calls a home is NVMe Predictable Latency Mode ([`crate::plm`]):
//! [`Control::IsReadyForRead`] corresponds to entering the deterministic window and
//! [`Control::RunGc`] to the non-deterministic one. [`Control::SetWindows`] announces both for all times
//! to come. A device can be spoken to in either way; one without the interface answers
//! [`ControlReply::Unsupported`] to every call.

use crate::plm;
use crate::time::{Nanos, Time};

/// Free-block counts per plane between which garbage collection works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcThresholds {
    /// Collection starts when a plane has fewer free blocks than this.
    pub low: u32,
    /// Background and host-driven collection ends when every plane has this many.
    pub high: u32,
}

/// Windows in which a drive does its own work, and between which it keeps from it: the
/// non-deterministic windows of NVMe Predictable Latency Mode, given in advance and in turn (IODA's
/// PL_Win; SOSP 2021). The k-th is `from + k * period .. from + k * period + length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The beginning of the first.
    pub from: Time,
    /// From the beginning of one to that of the next; not zero.
    pub period: Nanos,
    /// The length of each; not zero, and at most the period.
    pub length: Nanos,
}

impl Windows {
    /// True when these are windows at all: neither empty nor overlapping.
    pub fn are_valid(&self) -> bool {
        self.length > Nanos::ZERO && self.length <= self.period
    }

    /// True within a window.
    pub fn is_open(&self, at: Time) -> bool {
        at >= self.from && at.since(self.from).0 % self.period.0 < self.length.0
    }

    /// The beginning of the first window after `at`.
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
    /// Sets the thresholds; refused when `low` exceeds `high`, or when a plane that is full of data does
    /// not always reach that many free blocks. Planes that have fewer than `low` collect at once: that is a
    /// trigger of garbage collection.
    SetThresholds(GcThresholds),
    /// Does garbage collection run? What has been put off does not.
    IsGcRunning,
    /// Collect in every plane until the moment given or until the plane has `high` free blocks; returns
    /// at once. At the moment given a collection stops between two page copies, or before its erase, and
    /// goes on when it is asked for again or its plane falls below `low`. Takes the place of the run
    /// before. Ignored when every plane has `high` free blocks already, or when the moment has passed;
    /// otherwise a trigger of garbage collection.
    RunGc {
        /// When to stop.
        until: Time,
    },
    /// From now on garbage collection and wear levelling only start within these windows. Within one the
    /// device collects ahead, up to the high threshold; what it has not finished at the end of one goes on
    /// in the next. Outside it collects only where it has no erased block left to write to. Takes the place
    /// of windows set before; refused when they are empty or overlap. A trigger of garbage collection.
    SetWindows(Windows),
    /// Garbage collection is free to start at any time again. A trigger of it if there were windows.
    ClearWindows,
    /// Keep from garbage collection and programs, so that nothing is in the way of reads. The first call
    /// ends a [`Control::RunGc`] and stops collection and the programs of buffered data; it answers no
    /// until what is under way has ended: operations of chips, commands that write, and the collection
    /// of planes below `low`. Then the answer is yes, and the *quiet period* lasts until a write or a
    /// flush is submitted or a trigger of garbage collection comes. Until then buffered data stays in the
    /// buffer, as safe as it was there before.
    IsReadyForRead,
    /// NVMe Predictable Latency Mode Config: switches the mode on, into the non-deterministic window, or
    /// off, and says of what the device shall warn.
    SetPredictableLatency {
        /// Is the mode on?
        is_enabled: bool,
        /// Of what to warn, and when.
        config: plm::Config,
    },
    /// What [`Control::SetPredictableLatency`] has set.
    GetPredictableLatency,
    /// NVMe Predictable Latency Mode Window: deterministic, as after [`Control::IsReadyForRead`], or not,
    /// as after [`Control::RunGc`] without an end. In the deterministic window the host may write: that ends
    /// the rest of the chips, but collection goes on to wait until a plane falls below `low`. Refused
    /// while the mode is off.
    SelectWindow(plm::Window),
    /// The window that was selected, or to which the device has gone by itself. Refused while the mode
    /// is off.
    SelectedWindow,
    /// NVMe Predictable Latency Per NVM Set log. Reading it takes the events away.
    PredictableLatencyLog,
}

/// The answer to a [`Control`] call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlReply {
    /// A size in bytes.
    Bytes(u64),
    /// A number of blocks.
    Blocks(u64),
    /// The thresholds.
    Thresholds(GcThresholds),
    /// Yes or no.
    Answer(bool),
    /// Is Predictable Latency Mode on, and of what does the device warn?
    PredictableLatency {
        /// Is the mode on?
        is_enabled: bool,
        /// Of what the device warns, and when.
        config: plm::Config,
    },
    /// A window of Predictable Latency Mode.
    Window(plm::Window),
    /// The log of Predictable Latency Mode.
    Log(plm::Log),
    /// Done.
    Done,
    /// The values do not fit the device, or its state.
    Invalid,
    /// The device does not know this call: see [`Control`].
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
