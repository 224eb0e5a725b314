//! The link between host and device: bandwidth and a cost per command, first come first served.

use crate::config::LinkConfig;
use crate::request::{RequestId, Tag};
use crate::timers::Direction;
use std::collections::VecDeque;
use tailcut_base::{Nanos, Time};

/// A transfer over the link, with the time that is reserved for it.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// When the first byte enters the link.
    pub start: Time,
    /// When the last byte has crossed the link.
    pub end: Time,
}

/// What arrives at the far end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The completion of a tag is with the host.
    Completion(Tag),
    /// The data of `pages` pages of a tag's write, from page `first`, is with the device.
    Data {
        /// The tag.
        tag: Tag,
        /// First page.
        first: u32,
        /// Number of pages.
        pages: u32,
    },
    /// The data of one memory request is with the device.
    Page(RequestId),
}

/// The link: each direction is reserved by arithmetic; transfers under way are in a queue whose head is the
/// only pending event.
#[derive(Clone, Debug)]
pub struct Link {
    config: LinkConfig,
    free_at: [Time; 2],
    under_way: [VecDeque<(Time, Arrival)>; 2],
    busy: [Nanos; 2],
    /// When each direction is in use, from the moment of the last reservation on: what is reserved back to
    /// back is one stretch.
    reserved: [VecDeque<Transfer>; 2],
    bytes: [u64; 2],
    /// The last length and its time: most transfers are of one length.
    last: (u64, Nanos),
    /// The time of a completion without data, which a command takes at the very least: without it, a host
    /// that sends the next command as one ends could send any number of them in no time.
    completion: Nanos,
}

/// Bytes of a completion (NVMe base specification 1.4, section 4.6).
pub const COMPLETION_BYTES: u64 = 16;

impl Link {
    /// A link on which nothing has been transferred or reserved yet.
    pub fn new(config: &LinkConfig) -> Link {
        Link {
            config: config.clone(),
            free_at: [Time::ZERO; 2],
            under_way: [VecDeque::new(), VecDeque::new()],
            busy: [Nanos::ZERO; 2],
            reserved: [VecDeque::new(), VecDeque::new()],
            bytes: [0; 2],
            last: (0, Nanos::ZERO),
            completion: Nanos::for_bytes(COMPLETION_BYTES, config.rate).max(Nanos(1)),
        }
    }

    /// Reserves the link at `now` for `bytes`, and for the cost of a command if `command` is true, from
    /// `ready` on. A command without data takes the time of its completion at least.
    #[inline]
    pub fn reserve(
        &mut self,
        direction: Direction,
        now: Time,
        ready: Time,
        bytes: u64,
        command: bool,
    ) -> Transfer {
        if bytes != self.last.0 {
            self.last = (bytes, Nanos::for_bytes(bytes, self.config.rate));
        }
        let mut time = self.last.1;
        if command {
            time += self.config.command;
        }
        if bytes == 0 && command {
            time = time.max(self.completion);
        }
        let line = if self.config.half_duplex { 0 } else { direction as usize };
        let start = ready.max(self.free_at[line]);
        let end = start + time;
        self.free_at[line] = end;
        self.busy[direction as usize] += time;
        self.bytes[direction as usize] += bytes;
        self.note_reserved(direction, now, start, end);
        Transfer { start, end }
    }

    /// Occupies the link to the host for as long as the drive fills in a page that holds no data.
    #[inline]
    pub fn fill_in(&mut self, now: Time) {
        let (direction, time) = (Direction::ToHost, self.config.unwritten);
        if time == Nanos::ZERO {
            return;
        }
        let line = if self.config.half_duplex { 0 } else { direction as usize };
        let start = now.max(self.free_at[line]);
        self.free_at[line] = start + time;
        self.busy[direction as usize] += time;
        self.note_reserved(direction, now, start, start + time);
    }

    #[inline]
    fn note_reserved(&mut self, direction: Direction, now: Time, start: Time, end: Time) {
        let reserved = &mut self.reserved[direction as usize];
        match reserved.back_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => {
                while reserved.front().is_some_and(|first| first.end <= now) {
                    reserved.pop_front();
                }
                reserved.push_back(Transfer { start, end });
            }
        }
    }

    /// Announces what arrives at the end of a transfer. Returns the moment for the direction's
    /// timer when this is the next arrival.
    #[inline]
    pub fn announce(&mut self, direction: Direction, end: Time, arrival: Arrival) -> Option<Time> {
        let queue = &mut self.under_way[direction as usize];
        debug_assert!(queue.back().is_none_or(|(last, _)| *last <= end));
        queue.push_back((end, arrival));
        (queue.len() == 1).then_some(end)
    }

    /// The next arrival by `now`, oldest first; `None` if there is none.
    #[inline]
    pub fn arrived(&mut self, direction: Direction, now: Time) -> Option<Arrival> {
        let queue = &mut self.under_way[direction as usize];
        match queue.front() {
            Some((at, _)) if *at <= now => queue.pop_front().map(|(_, arrival)| arrival),
            _ => None,
        }
    }

    /// When the next arrival of a direction is due.
    #[inline]
    pub fn next_arrival(&self, direction: Direction) -> Option<Time> {
        self.under_way[direction as usize].front().map(|(at, _)| *at)
    }

    /// How long a direction has been in use up to `now`, which must not be before the last reservation was
    /// made. What is reserved beyond it does not count yet.
    pub fn busy(&self, direction: Direction, now: Time) -> Nanos {
        let stretches = self.reserved[direction as usize].iter();
        let ahead: u64 = stretches.map(|t| t.end.0.saturating_sub(t.start.max(now).0)).sum();
        Nanos(self.busy[direction as usize].0 - ahead)
    }

    /// Bytes carried in a direction.
    pub fn bytes(&self, direction: Direction) -> u64 {
        self.bytes[direction as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_been_in_use_up_to_now_and_no_longer() {
        let config = LinkConfig {
            rate: 1_000_000_000,
            command: Nanos::ZERO,
            half_duplex: false,
            unwritten: Nanos(7000),
        };
        let mut link = Link::new(&config);
        // Busy from 0 to 3 µs and from 10 to 12 µs.
        link.reserve(Direction::ToHost, Time(0), Time(0), 1000, false);
        link.reserve(Direction::ToHost, Time(0), Time(0), 2000, false);
        link.reserve(Direction::ToHost, Time(0), Time(10_000), 2000, false);
        let busy = |now| link.busy(Direction::ToHost, Time(now)).0;
        assert_eq!([0, 500, 3000, 9000, 11_000, 20_000].map(busy), [0, 500, 3000, 3000, 4000, 5000]);
        assert_eq!(link.busy(Direction::ToDevice, Time(500)), Nanos::ZERO);
        link.reserve(Direction::ToHost, Time(11_500), Time(13_000), 1000, false);
        assert_eq!(link.busy(Direction::ToHost, Time(11_500)), Nanos(4500));
        assert_eq!(link.busy(Direction::ToHost, Time(14_000)), Nanos(6000));
        link.fill_in(Time(20_000));
        let zeros = link.reserve(Direction::ToHost, Time(20_000), Time(20_000), 1000, false);
        assert_eq!((zeros.start, zeros.end), (Time(27_000), Time(28_000)), "a page without data");
        assert_eq!(link.busy(Direction::ToHost, Time(23_000)), Nanos(9000));
    }
}
