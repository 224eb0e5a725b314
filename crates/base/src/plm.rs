//! The terms of NVMe Predictable Latency Mode: windows, events, and the log of a window (NVM Express
//! Base Specification 1.4, section 8.18). Their layout as bytes is in `tailcut_ssd::nvme::plm`.
//!
//! In the *deterministic window* (DTWIN) a device refrains from background work; in the *non-deterministic
//! window* (NDWIN) it does the work that is due. Reads count in units of 4 KiB at random addresses, writes in
//! units of the optimal write size, which is a page in our drives.

use std::fmt;

/// A set of events: in [`Config`] those that the host enables, in [`Log`] those that have occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(u16);

impl Events {
    /// No event.
    pub const NONE: Events = Events(0);
    /// The reads left in the deterministic window have fallen to the threshold.
    pub const READS: Events = Events(1);
    /// The writes left have fallen to the threshold.
    pub const WRITES: Events = Events(1 << 1);
    /// The time left has fallen to the threshold.
    pub const TIME: Events = Events(1 << 2);
    /// The device moved to the non-deterministic window by itself: the host exceeded the limits of the
    /// deterministic one.
    pub const EXCEEDED: Events = Events(1 << 14);
    /// The device moved to the non-deterministic window by itself, for another reason.
    pub const EXCURSION: Events = Events(1 << 15);
    /// All events that the standard defines.
    pub const ALL: Events = Events(0b1100_0000_0000_0111);

    /// The events of a bit mask of the standard; `None` if it has a bit that the standard does not define.
    pub fn from_bits(bits: u16) -> Option<Events> {
        (bits & !Events::ALL.0 == 0).then_some(Events(bits))
    }

    /// The events as the bit mask that the NVMe base specification defines.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// The events that are in `self`, in `others` or in both.
    pub fn and(self, others: Events) -> Events {
        Events(self.0 | others.0)
    }

    /// The events that are both in `self` and in `others`.
    pub fn among(self, others: Events) -> Events {
        Events(self.0 & others.0)
    }

    /// The events of `self` that are not in `others`.
    pub fn without(self, others: Events) -> Events {
        Events(self.0 & !others.0)
    }

    /// True if all of `others` are among these.
    pub fn contain(self, others: Events) -> bool {
        self.0 & others.0 == others.0
    }

    /// These events if `condition` holds, otherwise none.
    pub fn when(self, condition: bool) -> Events {
        if condition { self } else { Events::NONE }
    }
}

/// The names of the events, separated by commas, such as `reads,time`; `none` if there are none.
impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (Events::READS, "reads"),
            (Events::WRITES, "writes"),
            (Events::TIME, "time"),
            (Events::EXCEEDED, "exceeded"),
            (Events::EXCURSION, "excursion"),
        ];
        let mut names = named.iter().filter(|(event, _)| self.contain(*event)).map(|(_, name)| *name);
        f.write_str(names.next().unwrap_or("none"))?;
        names.try_for_each(|name| write!(f, ",{name}"))
    }
}

/// Windows of Predictable Latency Mode that a host can select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// DTWIN: the device defers background work, so that latencies are predictable.
    Deterministic,
    /// NDWIN: the device does background work.
    NonDeterministic,
}

/// The events that a host wants reported, and their thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The events that the host has enabled; all others go unreported.
    pub events: Events,
    /// [`Events::READS`] occurs when at most this many reads are left.
    pub reads: u64,
    /// [`Events::WRITES`] occurs when at most this many writes are left.
    pub writes: u64,
    /// [`Events::TIME`] occurs when at most this many milliseconds are left.
    pub time_ms: u64,
}

/// The window state of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The mode is off.
    #[default]
    Off,
    /// The deterministic window is selected: the device defers background work.
    Deterministic,
    /// The non-deterministic window is selected: the device does background work.
    NonDeterministic,
}

/// The log of the windows of an NVM set. Unbounded numbers are `u64::MAX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Whether Predictable Latency Mode is on, and the window that is selected if so.
    pub state: State,
    /// The enabled events that have occurred since the log was last read.
    pub events: Events,
    /// Reads that a deterministic window typically supports (DTWIN Reads Typical).
    pub reads_typical: u64,
    /// Writes that a deterministic window typically supports (DTWIN Writes Typical).
    pub writes_typical: u64,
    /// Maximum length of a deterministic window, in ms (DTWIN Time Maximum).
    pub time_maximum_ms: u64,
    /// Minimum length of a non-deterministic window before a deterministic one can support the typical
    /// values, in ms (NDWIN Time Minimum High).
    pub rest_high_ms: u64,
    /// Minimum length of a non-deterministic window before any deterministic one, in ms (NDWIN Time Minimum
    /// Low).
    pub rest_low_ms: u64,
    /// Reads that the current deterministic window, or one that began now, still supports (DTWIN Reads
    /// Estimate).
    pub reads_left: u64,
    /// Writes that the current deterministic window, or one that began now, still supports (DTWIN Writes
    /// Estimate).
    pub writes_left: u64,
    /// Time left in the current deterministic window, or in one that began now, in ms (DTWIN Time Estimate).
    pub time_left_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bits_of_the_standard_are_events() {
        for bits in 0..=u16::MAX {
            let expected = (bits & 0b0011_1111_1111_1000 == 0).then_some(bits);
            assert_eq!(Events::from_bits(bits).map(Events::bits), expected);
        }
    }
}
