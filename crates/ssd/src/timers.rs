//! The timers of a drive: one for everything that can be under way.

use crate::flash::{ChannelId, Geometry, LunId};
use tailcut_base::Time;
use tailcut_base::cast::low_u32;
use tailcut_base::ids::Id;
use tailcut_base::timers::{Due, Timers};

/// A way over the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Direction {
    /// Data of reads, and completions.
    ToHost,
    /// Data of writes.
    ToDevice,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Something arrives over the link.
    Link(Direction),
    /// A bus is free.
    Channel(ChannelId),
    /// The cells of a LUN are done, or it has been preempted.
    Lun(LunId),
    /// The buffer is looked at again: writes are paced, or wait for the end of reads.
    Buffer,
    /// A window of collection begins. Drives that the host does not steer have none.
    Windows,
}

/// The timers for the link, then those of the channels, then those of the LUNs.
const FIRST_CHANNEL: usize = 2;

/// One timer for each direction of the link, channel and LUN, and the two of the drive as a whole where
/// they can be needed. The first to expire is found in a time that depends on the number of timers only by
/// its logarithm; see [`Timers`].
#[derive(Clone, Debug)]
pub(crate) struct DriveTimers {
    timers: Timers,
    first_lun: usize,
    /// The first timer behind those of the LUNs.
    behind_luns: usize,
    has_buffer: bool,
}

impl DriveTimers {
    /// The timers of a drive of `geometry`, with one for the buffer if it is ever waited for.
    pub(crate) fn new(geometry: &Geometry, has_buffer: bool) -> DriveTimers {
        let first_lun = FIRST_CHANNEL + geometry.channels as usize;
        let behind_luns = first_lun + geometry.luns() as usize;
        let timers = Timers::with_small_tree(first_lun, behind_luns + usize::from(has_buffer));
        DriveTimers { timers, first_lun, behind_luns, has_buffer }
    }

    /// Adds the timer of the windows, behind all others.
    pub(crate) fn add_windows(&mut self) {
        self.timers = self.timers.with_one_more();
    }

    /// The latest moment that the timers can hold.
    pub(crate) fn horizon(&self) -> Time {
        self.timers.horizon()
    }

    #[inline(always)]
    fn slot(&self, timer: Timer) -> usize {
        match timer {
            Timer::Link(direction) => direction as usize,
            Timer::Channel(channel) => FIRST_CHANNEL + channel.index(),
            Timer::Lun(lun) => self.first_lun + lun.index(),
            Timer::Buffer => self.behind_luns,
            Timer::Windows => self.behind_luns + usize::from(self.has_buffer),
        }
    }

    #[inline(always)]
    fn timer(&self, slot: usize) -> Timer {
        if slot < FIRST_CHANNEL {
            let is_to_host = slot == Direction::ToHost as usize;
            return Timer::Link(if is_to_host { Direction::ToHost } else { Direction::ToDevice });
        }
        if slot < self.first_lun {
            Timer::Channel(ChannelId::new(low_u32((slot - FIRST_CHANNEL) as u64)))
        } else if slot < self.behind_luns {
            Timer::Lun(LunId::new(low_u32((slot - self.first_lun) as u64)))
        } else if self.has_buffer && slot == self.behind_luns {
            Timer::Buffer
        } else {
            Timer::Windows
        }
    }

    /// Sets a timer to a moment.
    #[inline(always)]
    pub(crate) fn set(&mut self, timer: Timer, at: Time) {
        self.timers.set(self.slot(timer), at);
    }

    /// Sets a timer to a moment, or stops it if that is [`Time::NEVER`].
    pub(crate) fn set_or_clear(&mut self, timer: Timer, at: Time) {
        self.timers.set_or_clear(self.slot(timer), at);
    }

    /// Stops a timer.
    pub(crate) fn clear(&mut self, timer: Timer) {
        self.timers.clear(self.slot(timer));
    }

    /// The timer that expires first, if not after `until`; at one moment the one of the link, then of the
    /// channels, then of the LUNs.
    #[inline(always)]
    pub(crate) fn due(&self, until: Time) -> Option<(Timer, Due)> {
        let due = self.timers.due(until)?;
        Some((self.timer(due.slot()), due))
    }

    /// When the first timer expires; [`Time::NEVER`] if none is set.
    #[inline(always)]
    pub(crate) fn next(&self) -> Time {
        self.timers.next()
    }

    /// Stops a timer that has been served, unless it has been set to another moment since.
    #[inline(always)]
    pub(crate) fn expire(&mut self, due: Due) {
        self.timers.expire(due);
    }
}
