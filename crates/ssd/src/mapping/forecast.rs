//! Where reads are expected next: programs and erases that avoid them need not be preempted.
//!
//! PAReset leaves open (section 6.2) how a drive predicts collisions of reads with programs and erases. A
//! chip's past is what a drive knows: the gaps between its last urgent reads, and how long it has been
//! without one. In a burst reads follow each other closely, so the next is expected after the shorter of
//! the last two gaps (the first read of a burst has a long one before it); a silence that has outlasted
//! that is taken to last as long again as it has lasted.
//!
//! Where reads come independently of each other and of their past (Poisson arrivals, places at random)
//! nothing can be foreseen: what a program or erase meets then depends on its length alone.

use super::{Effect, Mapping};
use crate::config::Classes;
use crate::flash::{Geometry, LogicalPage, LunId, PlaneId};
use crate::request::REGULAR;
use crate::sets::SetId;
use crate::timers::Timer;
use tailcut_base::ids::IdVec;
use tailcut_base::{Nanos, Time};

/// How many planes in turn are compared when a program is placed.
const CHOICES: usize = 2;

/// A chip is quiet for an operation when no read is expected within this multiple of the operation's
/// length. Were reads independent, one in five would still come before its end (1 - e^(-1/4)).
const QUIET: u64 = 4;

#[derive(Clone, Copy, Debug)]
struct ReadHistory {
    last: Time,
    /// The last two, the newest first.
    gaps: [Nanos; 2],
}

impl ReadHistory {
    /// Nothing has been seen: the next read is expected at no time soon.
    const SILENT: ReadHistory = ReadHistory { last: Time::ZERO, gaps: [Nanos::secs(1); 2] };

    fn read(&mut self, now: Time) {
        self.gaps = [now.since(self.last), self.gaps[0]];
        self.last = now;
    }

    fn gap(&self) -> Nanos {
        self.gaps[0].min(self.gaps[1])
    }
}

/// The history of each chip's urgent reads.
#[derive(Debug)]
pub(crate) struct Forecast {
    pasts: IdVec<LunId, ReadHistory>,
    /// Of all chips of each set together.
    all: IdVec<SetId, ReadHistory>,
    /// When the programs of each set that wait for the end of reads are looked at again.
    due: IdVec<SetId, Option<Time>>,
}

impl Forecast {
    /// Nothing has been seen yet.
    pub(crate) fn new(geometry: &Geometry, sets: u32) -> Forecast {
        Forecast {
            pasts: IdVec::filled(geometry.luns() as usize, ReadHistory::SILENT),
            all: IdVec::filled(sets as usize, ReadHistory::SILENT),
            due: IdVec::filled(sets as usize, None),
        }
    }

    /// A read that may preempt has come for a LUN of a set.
    pub(crate) fn read(&mut self, now: Time, set: SetId, lun: LunId) {
        self.pasts[lun].read(now);
        self.all[set].read(now);
    }

    /// The moment from which programs of `length` are expected to run undisturbed in a set of `chips`
    /// chips, if no read comes: each chip gets one of every `chips` reads.
    fn quiet_for_programs(&self, set: SetId, chips: u32, length: Nanos) -> Time {
        let all = &self.all[set];
        let needed = Nanos(length.0 * QUIET / u64::from(chips));
        if all.gap() >= needed { all.last } else { all.last + needed }
    }

    /// True when programs of `length` of a set of `chips` chips should wait for the end of reads: they are
    /// looked at again [then](Forecast::first_due).
    pub(crate) fn holds_programs(&mut self, now: Time, set: SetId, chips: u32, length: Nanos) -> bool {
        let quiet = self.quiet_for_programs(set, chips, length);
        if quiet > now {
            self.due[set] = Some(quiet);
        }
        quiet > now
    }

    /// When the first set is looked at whose programs wait.
    pub(crate) fn first_due(&self) -> Option<Time> {
        self.due.iter().flatten().min().copied()
    }

    /// All sets whose programs wait are being looked at.
    pub(crate) fn look_at_all(&mut self) {
        self.due.as_mut_slice().fill(None);
    }

    /// How long from `now` until a LUN's next read is expected.
    pub(crate) fn silence(&self, now: Time, lun: LunId) -> Nanos {
        let past = &self.pasts[lun];
        past.gap().max(now.since(past.last))
    }

    /// True when a LUN is quiet for an operation of `length`.
    fn is_quiet(&self, now: Time, lun: LunId, length: Nanos) -> bool {
        self.silence(now, lun) >= length * QUIET
    }

    /// When a LUN will be quiet for an operation of `length` at the latest, if no read comes.
    fn quiet_from(&self, lun: LunId, length: Nanos) -> Time {
        self.pasts[lun].last + length * QUIET
    }
}

impl Mapping {
    /// The plane for a program: of the next in turn, the one whose chip expects its next read last.
    #[cold]
    pub(crate) fn plane_with_silence(&mut self, now: Time, logical: LogicalPage, frontier: u8) -> PlaneId {
        let mut best = self.ftl.plane_for(logical, frontier);
        let silence =
            |mapping: &Self, plane| mapping.forecast.silence(now, mapping.layout.lun_of_plane(plane).0);
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
    pub(crate) fn defers_erase(&self, now: Time, plane: PlaneId) -> bool {
        let (lun, _) = self.layout.lun_of_plane(plane);
        self.config.preempt.time_erases
            && !self.steering.has_windows(self.sets.of_plane(plane))
            && self.ftl.free_blocks(plane) > self.config.gc_reserve() + 1
            && !self.forecast.is_quiet(now, lun, self.erase)
    }

    /// A LUN is at rest: erases that were deferred begin if it has become quiet, or are looked at again
    /// when it may have. True when one has begun.
    #[cold]
    pub(crate) fn begin_deferred_erases(&mut self, now: Time, lun: LunId) -> bool {
        let mut begun = false;
        let mut waits = false;
        for place in 0..self.layout.places() {
            let plane = self.layout.plane_at(lun, place);
            if self.is_erase_deferred(plane) && self.must_wait(now, plane) {
                let job = self.job(plane);
                (job.deferred, job.paused) = (false, true);
            } else if self.is_erase_deferred(plane) {
                let begins = !self.defers_erase(now, plane);
                begun |= begins;
                waits |= !begins;
                if begins {
                    self.commit_deferred_erase(now, plane);
                }
            }
        }
        if waits && !begun {
            let at = self.forecast.quiet_from(lun, self.erase);
            self.effects.push_back(Effect::SetTimer(Timer::Lun(lun), at.max(now + Nanos(1))));
        }
        begun
    }

    /// A read of the host has come for a LUN. Reads of class 3 preempt nothing where the host sets
    /// classes.
    #[inline]
    pub(crate) fn note_read(&mut self, now: Time, lun: LunId, rank: u8) {
        let preempts = rank != REGULAR || self.config.schedule.classes == Classes::Equal;
        if self.config.preempt.predicts_reads() && preempts {
            self.forecast.read(now, self.sets.of_lun(lun), lun);
        }
    }

    /// True when the expected silence of chips decides where programs of the host's data go.
    #[inline]
    pub(crate) fn places_by_silence(&self) -> bool {
        self.config.preempt.place_programs && self.ftl.allocator().is_dynamic()
    }
}
