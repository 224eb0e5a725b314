//! The bus of a channel: one user at a time, granted in an order that the arbitration decides.
//!
//! A chip asks for the bus once for a command phase (with the data of a program) and once for the
//! data of a read. What the command phase carries is decided only when it is granted, so a
//! transaction can still grow while its chip waits (Sprinkler, section 4.2).
//!
//! The pages of a transaction are carried one after another. Between two of them a chip may have the bus that
//! comes first by the arbitration; the rest of the pages follows behind it. Nothing has to happen on the bus
//! for that as long as no such chip asks: the end of what is under way is brought forward when one does.

use crate::config::{Arbitration, BusConfig};
use crate::flash::{ChannelId, Geometry, LunId};
use tailcut_base::cast::{to_u8, to_u32};
use tailcut_base::ids::IdVec;
use tailcut_base::{Nanos, Time};

/// The purpose for which a chip needs the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusUse {
    /// The command cycles of an urgent read.
    ReadCommand,
    /// The command cycles of an erase.
    EraseCommand,
    /// The command cycles and the data of a program, or the command of a read ahead.
    Program,
    /// The data of a read.
    ReadData,
}

impl Arbitration {
    /// The line in which a chip waits. That of a smaller number goes first.
    #[inline]
    fn line(self, wanted: BusUse) -> usize {
        match (self, wanted) {
            (Arbitration::Fifo, _) => 0,
            (Arbitration::CommandsFirst, BusUse::ReadCommand | BusUse::EraseCommand) => 0,
            (Arbitration::CommandsFirst, _) => 1,
            (Arbitration::DataFirst, BusUse::ReadData) => 0,
            (Arbitration::DataFirst, _) => 1,
            (Arbitration::ReadsFirst, BusUse::ReadCommand) => 0,
            (Arbitration::ReadsFirst, BusUse::ReadData) => 1,
            (Arbitration::ReadsFirst, _) => 2,
        }
    }
}

/// Lines of waiting chips.
const LINES: usize = 3;

#[derive(Clone, Debug)]
struct Channel {
    free_at: Time,
    /// The LUN whose pages are on the bus; [`LunId::NONE`] for nothing, and for what is never interrupted.
    user: LunId,
    /// The line that the user has come from.
    line: u8,
    /// The end of the use is an event: the data of a read leaves its chip, or pages of the user were put off.
    is_event: bool,
    /// Pages of the user that were put off.
    left: u32,
    /// The time that each page of the user takes.
    page: Nanos,
    /// When the user got the bus.
    since: Time,
    first: [LunId; LINES],
    last: [LunId; LINES],
    busy: Nanos,
}

impl Channel {
    #[inline]
    fn has_waiting(&self) -> bool {
        self.first.iter().any(|&lun| lun != LunId::NONE)
    }
}

/// The use of a bus that has come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusRelease {
    /// The LUN that used the bus until now.
    pub lun: LunId,
    /// Pages of its transaction that still have to cross the bus, because another chip goes first; usually 0.
    pub left: u32,
}

/// All buses of a drive. Chips that wait are linked through `next`, so nothing is allocated.
#[derive(Clone, Debug)]
pub struct Buses {
    channels: IdVec<ChannelId, Channel>,
    next: IdVec<LunId, LunId>,
    arbitration: Arbitration,
}

impl Buses {
    /// Idle buses of a drive.
    pub fn new(geometry: &Geometry, config: &BusConfig) -> Buses {
        let idle = Channel {
            free_at: Time::ZERO,
            user: LunId::NONE,
            line: 0,
            is_event: false,
            left: 0,
            page: Nanos::ZERO,
            since: Time::ZERO,
            first: [LunId::NONE; LINES],
            last: [LunId::NONE; LINES],
            busy: Nanos::ZERO,
        };
        Buses {
            channels: IdVec::filled(geometry.channels as usize, idle),
            next: IdVec::filled(geometry.luns() as usize, LunId::NONE),
            arbitration: config.arbitration,
        }
    }

    /// True when the bus is free and no chip waits for it: the caller may take it at once.
    #[inline]
    pub fn is_free(&self, channel: ChannelId, now: Time) -> bool {
        let channel = &self.channels[channel];
        channel.free_at <= now && !channel.is_event && !channel.has_waiting()
    }

    /// Puts a chip at the end of its waiting line. Returns the moment at which the channel must be
    /// served, unless its timer is set for that anyway.
    #[inline]
    pub fn wait(&mut self, channel: ChannelId, lun: LunId, now: Time, wanted: BusUse) -> Option<Time> {
        let line = self.arbitration.line(wanted);
        let channel = &mut self.channels[channel];
        self.next[lun] = LunId::NONE;
        match channel.last[line] {
            LunId::NONE => channel.first[line] = lun,
            last => self.next[last] = lun,
        }
        channel.last[line] = lun;
        let is_interrupted = line < usize::from(channel.line) && channel.user != LunId::NONE;
        if is_interrupted && Self::interrupt(channel, now) {
            return Some(channel.free_at);
        }
        (!channel.is_event).then_some(channel.free_at)
    }

    /// Ends the use of a bus with the page that is on it, if there are more. True when it has been brought
    /// forward.
    fn interrupt(channel: &mut Channel, now: Time) -> bool {
        if channel.left > 0 || channel.free_at <= now || channel.page == Nanos::ZERO {
            return false;
        }
        let carried = now.since(channel.since).0.div_ceil(channel.page.0).max(1);
        let end = channel.since + channel.page * carried;
        if end >= channel.free_at {
            return false;
        }
        let put_off = channel.free_at.since(end);
        channel.left = to_u32(put_off.0 / channel.page.0);
        channel.busy = Nanos(channel.busy.0 - put_off.0);
        (channel.free_at, channel.is_event) = (end, true);
        true
    }

    /// Lets the pages that a LUN has on the bus pass as a whole from now on. False when some have been put
    /// off already.
    pub fn hold_together(&mut self, channel: ChannelId, lun: LunId) -> bool {
        let channel = &mut self.channels[channel];
        if channel.user != lun {
            return true;
        }
        if channel.left == 0 && !channel.is_event {
            channel.user = LunId::NONE;
        }
        channel.left == 0
    }

    /// Takes the bus for command cycles alone.
    ///
    /// # Panics
    /// If the bus is busy at `now`, or its last use ended without its event being served.
    #[inline]
    pub fn take(&mut self, channel: ChannelId, now: Time, time: Nanos) {
        let channel = &mut self.channels[channel];
        assert!(channel.free_at <= now && !channel.is_event, "two users of one bus");
        channel.free_at = now + time;
        channel.user = LunId::NONE;
        channel.busy += time;
    }

    /// Takes the bus for `pages` pages of a LUN, `page` each. Returns their end, which is an event for data
    /// of reads.
    ///
    /// # Panics
    /// If the bus is busy at `now`, or its last use ended without its event being served.
    #[inline]
    pub fn carry(
        &mut self,
        channel: ChannelId,
        lun: LunId,
        now: Time,
        pages: u64,
        page: Nanos,
        what: BusUse,
    ) -> Time {
        let line = self.arbitration.line(what);
        let channel = &mut self.channels[channel];
        assert!(channel.free_at <= now && !channel.is_event, "two users of one bus");
        let time = page * pages;
        channel.free_at = now + time;
        (channel.user, channel.line) = (lun, to_u8(line));
        (channel.page, channel.since, channel.left) = (page, now, 0);
        channel.is_event = what == BusUse::ReadData;
        channel.busy += time;
        channel.free_at
    }

    /// The use that was on the bus until now, if its end is an event.
    #[inline]
    pub fn end_of_use(&mut self, channel: ChannelId) -> Option<BusRelease> {
        let channel = &mut self.channels[channel];
        if !std::mem::take(&mut channel.is_event) {
            return None;
        }
        let lun = std::mem::replace(&mut channel.user, LunId::NONE);
        Some(BusRelease { lun, left: std::mem::take(&mut channel.left) })
    }

    /// Puts a chip back whose pages were put off: it is the next of its line.
    pub fn wait_again(&mut self, channel: ChannelId, lun: LunId, wanted: BusUse) {
        let line = self.arbitration.line(wanted);
        let channel = &mut self.channels[channel];
        self.next[lun] = channel.first[line];
        channel.first[line] = lun;
        if channel.last[line] == LunId::NONE {
            channel.last[line] = lun;
        }
    }

    /// The chip that gets the bus next, if the bus is free and one waits.
    #[inline]
    pub fn grant(&mut self, channel: ChannelId, now: Time) -> Option<LunId> {
        let channel = &mut self.channels[channel];
        if channel.free_at > now || channel.is_event {
            return None;
        }
        let line = (0..LINES).find(|&line| channel.first[line] != LunId::NONE)?;
        let lun = channel.first[line];
        channel.first[line] = self.next[lun];
        if channel.first[line] == LunId::NONE {
            channel.last[line] = LunId::NONE;
        }
        Some(lun)
    }

    /// When the channel must be served next: someone waits and the present user is a command
    /// phase, whose end is no event otherwise.
    #[inline]
    pub fn service_due(&self, channel: ChannelId) -> Option<Time> {
        let channel = &self.channels[channel];
        (!channel.is_event && channel.has_waiting()).then_some(channel.free_at)
    }

    /// How long the buses have been in use up to `now`, summed over channels; none must have been taken
    /// later.
    pub fn busy(&self, now: Time) -> Nanos {
        let busy = |channel: &Channel| Nanos(channel.busy.0 - channel.free_at.0.saturating_sub(now.0));
        self.channels.iter().map(busy).sum()
    }
}
