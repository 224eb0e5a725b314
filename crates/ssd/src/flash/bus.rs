//! The bus of a channel: one user at a time, granted in an order that the arbitration decides.
//!
//! A chip asks for the bus once for a command phase (with the data of a program) and once for the
//! data of a read. What the command phase carries is decided only when it is granted, so a
//! transaction can still grow while its chip waits (Sprinkler, section 4.2).

use tailcut_base::config::{Configure, Visit, choose};
use tailcut_base::divisor::Divisor;
use tailcut_base::{Nanos, Time};

tailcut_base::choice! {
    /// Who gets the bus next.
    pub enum Arbitration {
        /// Whoever asked first.
        Fifo = "fifo",
        /// Data of reads and commands of reads before programs and erases; first come first
        /// served among equals.
        ReadsFirst = "reads-first",
    }
}

/// Bus configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusConfig {
    /// Who gets the bus next.
    pub arbitration: Arbitration,
}

impl Configure for BusConfig {
    fn configure(&mut self, visit: &mut dyn Visit) {
        choose(visit, "arbitration", "Who gets a channel's bus next.", &mut self.arbitration);
    }
}

const NONE: u32 = u32::MAX;

/// How urgent a chip's wish for the bus is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Data or command of a read.
    Read,
    /// Program or erase.
    Write,
}

#[derive(Clone, Debug)]
struct Channel {
    free_at: Time,
    /// The user of the bus reports its end by itself: no timer of the channel is needed.
    reports_end: bool,
    first: [u32; 2],
    last: [u32; 2],
    busy: Nanos,
}

/// All buses of a drive. Chips that wait are linked through `next`, so nothing is allocated.
#[derive(Clone, Debug)]
pub struct Buses {
    channels: Vec<Channel>,
    next: Vec<u32>,
    units_per_channel: Divisor,
    arbitration: Arbitration,
}

impl Buses {
    /// Idle buses for `units` chips, `units_per_channel` on each.
    pub fn new(units: u32, units_per_channel: u32, config: &BusConfig) -> Buses {
        let idle = Channel {
            free_at: Time::ZERO,
            reports_end: false,
            first: [NONE; 2],
            last: [NONE; 2],
            busy: Nanos::ZERO,
        };
        Buses {
            channels: vec![idle; (units / units_per_channel) as usize],
            next: vec![NONE; units as usize],
            units_per_channel: Divisor::new(units_per_channel),
            arbitration: config.arbitration,
        }
    }

    /// The channel of a chip.
    #[inline]
    pub fn channel_of(&self, unit: u32) -> u32 {
        self.units_per_channel.quotient(unit)
    }

    /// True when the bus is free and nobody waits: the asker may take it at once.
    #[inline]
    pub fn is_free(&self, channel: u32, now: Time) -> bool {
        let channel = &self.channels[channel as usize];
        channel.free_at <= now && channel.first[0] == NONE && channel.first[1] == NONE
    }

    /// Puts a chip at the end of the waiting line. Returns the moment at which the channel must be
    /// served, unless the present user reports its end anyway.
    #[inline]
    pub fn wait(&mut self, channel: u32, unit: u32, urgency: Urgency) -> Option<Time> {
        let line = match (self.arbitration, urgency) {
            (Arbitration::ReadsFirst, Urgency::Write) => 1,
            _ => 0,
        };
        let channel = &mut self.channels[channel as usize];
        self.next[unit as usize] = NONE;
        match channel.last[line] {
            NONE => channel.first[line] = unit,
            last => self.next[last as usize] = unit,
        }
        channel.last[line] = unit;
        (!channel.reports_end).then_some(channel.free_at)
    }

    /// Takes the bus for `time`. `reports_end` says that the user will call for service itself.
    #[inline]
    pub fn take(&mut self, channel: u32, now: Time, time: Nanos, reports_end: bool) -> Time {
        let channel = &mut self.channels[channel as usize];
        assert!(channel.free_at <= now, "two users of one bus");
        channel.free_at = now + time;
        channel.reports_end = reports_end;
        channel.busy += time;
        channel.free_at
    }

    /// The chip that gets the bus next, if the bus is free and one waits.
    #[inline]
    pub fn grant(&mut self, channel: u32, now: Time) -> Option<u32> {
        let channel = &mut self.channels[channel as usize];
        if channel.free_at > now {
            return None;
        }
        channel.reports_end = false;
        let line = (0..2).find(|&line| channel.first[line] != NONE)?;
        let unit = channel.first[line];
        channel.first[line] = self.next[unit as usize];
        if channel.first[line] == NONE {
            channel.last[line] = NONE;
        }
        Some(unit)
    }

    /// When the channel must be served next: someone waits and the present user does not report
    /// its end.
    #[inline]
    pub fn service_due(&self, channel: u32) -> Option<Time> {
        let channel = &self.channels[channel as usize];
        let waits = channel.first[0] != NONE || channel.first[1] != NONE;
        (waits && !channel.reports_end).then_some(channel.free_at)
    }

    /// How long the bus of a channel has been in use, counting what was taken up to its end.
    pub fn busy(&self, channel: u32) -> Nanos {
        self.channels[channel as usize].busy
    }
}
