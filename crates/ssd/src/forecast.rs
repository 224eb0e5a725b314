//! Where reads are expected next: programs and erases that avoid them need not be preempted.
//!
//! PAReset leaves open (section 6.2) how a drive foresees collisions of reads with programs and erases. A
//! chip's past is what a drive knows: the mean time between its urgent reads, and how long it has been
//! without one. The next is expected after the longer of the two: in a burst reads follow each other
//! closely, and a silence that has outlasted the mean is likely to last.
//!
//! Where reads come independently of each other and of their past (Poisson arrivals, places at random)
//! nothing can be foreseen: what a program or erase meets then depends on its length alone.

use crate::config::Classes;
use crate::flash::Geometry;
use crate::probe::Probe;
use crate::request::REGULAR;
use crate::ssd::Ssd;
use tailcut_base::{Nanos, Time};

/// The mean gap follows the last reads with weight 1/8 for the newest, as TCP's estimate of its round
/// trip does (RFC 6298).
const WEIGHT: u64 = 8;

/// How many planes in turn are compared when a program is placed.
const CHOICES: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Past {
    last: Time,
    gap: Nanos,
}

/// What has been seen of the urgent reads of each chip.
#[derive(Debug)]
pub(crate) struct Forecast {
    pasts: Vec<Past>,
}

impl Forecast {
    /// Nothing has been seen yet: the next read is expected at no time soon.
    pub(crate) fn new(geometry: &Geometry) -> Forecast {
        Forecast { pasts: vec![Past { last: Time::ZERO, gap: Nanos::secs(1) }; geometry.units() as usize] }
    }

    /// A read that may preempt has come for a unit.
    pub(crate) fn read(&mut self, now: Time, unit: u32) {
        let past = &mut self.pasts[unit as usize];
        let gap = now.since(past.last);
        past.gap = Nanos((past.gap.0 * (WEIGHT - 1) + gap.0) / WEIGHT);
        past.last = now;
    }

    /// How long from `now` until a unit's next read is expected.
    pub(crate) fn silence(&self, now: Time, unit: u32) -> Nanos {
        let past = &self.pasts[unit as usize];
        past.gap.max(now.since(past.last))
    }

    /// When a unit will have been silent for `length`, if no read comes.
    fn quiet_from(&self, unit: u32, length: Nanos) -> Time {
        self.pasts[unit as usize].last + length
    }
}

impl<P: Probe> Ssd<P> {
    /// The plane for a program: of the next in turn, the one whose chip expects its next read last.
    #[cold]
    pub(crate) fn plane_with_silence(&mut self, now: Time, logical: u32, frontier: u8) -> u32 {
        let mut best = self.ftl.plane_for(logical, frontier);
        let silence = |ssd: &Self, plane| ssd.forecast.silence(now, ssd.layout.unit_of_plane(plane).0);
        for _ in 1..CHOICES {
            let plane = self.ftl.plane_for(logical, frontier);
            if silence(self, plane) > silence(self, best) && self.ftl.can_allocate(plane, frontier) {
                best = plane;
            }
        }
        best
    }

    /// True when an erase should wait: a read of its chip is expected before it would be done, and its
    /// plane has free blocks to spare.
    pub(crate) fn defers_erase(&self, now: Time, plane: u32) -> bool {
        let (unit, _) = self.layout.unit_of_plane(plane);
        self.config.preempt.time_erases
            && self.ftl.free_blocks(plane) > self.config.gc_reserve() + 1
            && self.forecast.silence(now, unit) < self.phases.erase
    }

    /// A unit is at rest: erases that were deferred begin if it has become quiet, or are looked at again
    /// when it may have. True when one has begun.
    #[cold]
    pub(crate) fn begin_deferred_erases(&mut self, now: Time, unit: u32) -> bool {
        let mut begun = false;
        let mut waits = false;
        for place in 0..self.places {
            let plane = self.layout.plane_at(unit, place);
            if self.is_erase_deferred(plane) {
                let begins = !self.defers_erase(now, plane);
                begun |= begins;
                waits |= !begins;
                if begins {
                    self.commit_deferred_erase(now, plane);
                }
            }
        }
        if waits && !begun {
            let at = self.forecast.quiet_from(unit, self.phases.erase);
            self.set_unit_timer(unit, at.max(now + Nanos(1)));
        }
        begun
    }

    /// A read of the host has come for a unit. Reads of class 3 preempt nothing where classes are told.
    #[inline]
    pub(crate) fn note_read(&mut self, now: Time, unit: u32, rank: u8) {
        let preempts = rank != REGULAR || self.config.schedule.classes == Classes::Equal;
        if self.config.preempt.foresees() && preempts {
            self.forecast.read(now, unit);
        }
    }

    /// True when the expected silence of chips decides where programs of the host's data go.
    #[inline]
    pub(crate) fn places_by_silence(&self) -> bool {
        self.config.preempt.place_programs && self.ftl.allocator().is_dynamic()
    }
}
