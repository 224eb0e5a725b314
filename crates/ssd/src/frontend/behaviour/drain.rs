//! When will a full buffer have room? When programs of its pages end.
//!
//! The drive knows when each program under way has begun, and how long the last three of its kind of page
//! took from the first cycle to the last: their mean is when it will end. The programs of one kind end in the
//! order in which they began, so the next to end is the first of one of a few lists. The n-th page of room
//! comes with the n-th end; for more pages than can be programmed side by side each chip is taken to begin
//! its next program at once, so that a further round takes one mean program. When none is under way (their
//! data may still be on the link) they are taken to begin now. What this cannot see (collection, erases, a
//! program that is suspended) makes a prediction early by as long as it takes.

use super::accuracy::LastThree;
use crate::flash::LunId;
use crate::sets::{SetId, Sets};
use tailcut_base::cast::to_u8;
use tailcut_base::ids::IdVec;
use tailcut_base::{Nanos, Time};

/// Kinds of page: as many as there can be pages of a word line.
const KINDS: usize = 4;

/// Ends that are examined at most: a bound on the work of a prediction.
pub(super) const LOOKS: usize = 64;

/// A program under way.
#[derive(Clone, Copy, Debug)]
struct Program {
    is_on: bool,
    began: Time,
    pages: u32,
    kind: u8,
    set: SetId,
    prev: LunId,
    next: LunId,
}

const NO_PROGRAM: Program = Program {
    is_on: false,
    began: Time::ZERO,
    pages: 0,
    kind: 0,
    set: SetId::FIRST,
    prev: LunId::NONE,
    next: LunId::NONE,
};

/// Programs in the order of their beginnings.
#[derive(Clone, Copy, Debug)]
struct List {
    first: LunId,
    last: LunId,
}

/// Pages of a set that wait for room.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingPages {
    /// Number of pages of the set that wait for room in the buffer.
    pub pages: u32,
    /// Pages that are programmed side by side, at least 1.
    pub width: u32,
}

/// The programs of buffered pages that are under way, by chip.
#[derive(Clone, Debug, Default)]
pub(super) struct Drain {
    programs: IdVec<LunId, Program>,
    lists: IdVec<SetId, [List; KINDS]>,
    /// Pages under way in each set.
    pages: IdVec<SetId, u32>,
    times: [LastThree; KINDS],
}

impl Drain {
    /// No program under way yet, in a drive that is divided into these sets.
    pub(super) fn new(sets: &Sets) -> Drain {
        let (luns, sets) = ((sets.luns_each() * sets.count()) as usize, sets.count() as usize);
        Drain {
            programs: IdVec::filled(luns, NO_PROGRAM),
            lists: IdVec::filled(sets, [List { first: LunId::NONE, last: LunId::NONE }; KINDS]),
            pages: IdVec::filled(sets, 0),
            times: Default::default(),
        }
    }

    /// A chip of a set begins to program `pages` pages, the slowest of which is of this kind.
    pub(super) fn began(&mut self, now: Time, lun: LunId, set: SetId, kind: usize, pages: u32) {
        let list = &mut self.lists[set][kind];
        let last = std::mem::replace(&mut list.last, lun);
        match last {
            LunId::NONE => list.first = lun,
            last => self.programs[last].next = lun,
        }
        let program =
            Program { is_on: true, began: now, pages, kind: to_u8(kind), set, prev: last, next: LunId::NONE };
        self.programs[lun] = program;
        self.pages[set] += pages;
    }

    /// The program of a chip, if one is known, is over.
    pub(super) fn over(&mut self, now: Time, lun: LunId) {
        if let Some((kind, began)) = self.leave(lun) {
            self.times[kind].add(now.since(began));
        }
    }

    /// Forgets the program of a chip, if one is known, because its end is unknown from now on. Returns its
    /// kind and when it began.
    pub(super) fn leave(&mut self, lun: LunId) -> Option<(usize, Time)> {
        let Program { is_on, prev, next, kind, set, pages, began } = self.programs[lun];
        if !is_on {
            return None;
        }
        let list = &mut self.lists[set][usize::from(kind)];
        match prev {
            LunId::NONE => list.first = next,
            prev => self.programs[prev].next = next,
        }
        match next {
            LunId::NONE => list.last = prev,
            next => self.programs[next].prev = prev,
        }
        self.programs[lun].is_on = false;
        self.pages[set] -= pages;
        Some((usize::from(kind), began))
    }

    /// When pages of a set will have room; `None` while too few programs have been seen.
    pub(super) fn room_for(&self, now: Time, set: SetId, waiting: WaitingPages) -> Option<Time> {
        let WaitingPages { pages, width } = waiting;
        let ahead = pages.saturating_sub(1);
        let (rounds, in_round) = (u64::from(ahead / width), ahead % width + 1);
        let end = match self.pages[set] {
            0 => now + self.mean()?,
            _ => self.end_of(set, in_round)?.max(now),
        };
        Some(end + self.mean()? * rounds)
    }

    /// When the programs under way in a set have freed `pages` pages, or the first [`LOOKS`] of them have
    /// ended.
    fn end_of(&self, set: SetId, pages: u32) -> Option<Time> {
        let mut at = self.lists[set].map(|list| list.first);
        let (mut freed, mut end) = (0, None);
        for _ in 0..LOOKS {
            let mut next: Option<(Time, usize)> = None;
            for (kind, &lun) in at.iter().enumerate().filter(|(_, lun)| **lun != LunId::NONE) {
                let ends = self.programs[lun].began + self.times[kind].mean()?;
                next = next.filter(|&(sooner, _)| sooner <= ends).or(Some((ends, kind)));
            }
            let Some((ends, kind)) = next else { break };
            let program = &self.programs[at[kind]];
            (freed, end, at[kind]) = (freed + program.pages, Some(ends), program.next);
            if freed >= pages {
                break;
            }
        }
        end
    }

    /// The mean of the kinds of program that have been seen, rounded down.
    fn mean(&self) -> Option<Nanos> {
        let means = self.times.iter().filter_map(LastThree::mean);
        let (sum, count) = means.fold((Nanos::ZERO, 0), |(sum, count), time| (sum + time, count + 1));
        (count > 0).then(|| sum / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;
    use tailcut_base::random::Stream;

    /// Of a drive that is not divided.
    fn empty() -> Drain {
        Drain::new(&Sets::one(&Preset::M.config().geometry))
    }

    fn room_for(drain: &Drain, now: Time, pages: u32) -> Option<Time> {
        drain.room_for(now, SetId::FIRST, WaitingPages { pages, width: 4 })
    }

    /// Two chips whose programs take 100 for kind 0 and 700 for kind 1.
    fn seen() -> Drain {
        let mut drain = empty();
        for (kind, length) in [(0, 100), (1, 700)] {
            for round in 0..3 {
                drain.began(Time(1000 * round), LunId::new(0), SetId::new(0), kind, 1);
                drain.over(Time(1000 * round + length), LunId::new(0));
            }
        }
        drain
    }

    #[test]
    fn room_comes_with_the_ends_of_programs_in_their_order() {
        let mut drain = seen();
        assert_eq!(room_for(&empty(), Time(9000), 1), None, "nothing is known");
        assert_eq!(room_for(&drain, Time(9000), 1), Some(Time(9400)), "nothing is under way");
        drain.began(Time(10_000), LunId::new(0), SetId::new(0), 1, 1);
        drain.began(Time(10_050), LunId::new(1), SetId::new(0), 0, 2);
        drain.began(Time(10_060), LunId::new(2), SetId::new(0), 0, 1);
        let room = |pages| room_for(&drain, Time(10_070), pages);
        assert_eq!(room(1), Some(Time(10_150)));
        assert_eq!(room(2), Some(Time(10_150)), "two pages at once");
        assert_eq!(room(3), Some(Time(10_160)));
        assert_eq!(room(4), Some(Time(10_700)));
        assert_eq!(room(5), Some(Time(10_150 + 400)), "the next round, by the mean of 100 and 700");
        assert_eq!(room_for(&drain, Time(10_500), 1), Some(Time(10_500)), "overdue");
    }

    #[test]
    fn what_was_taken_from_its_chip_brings_no_room() {
        let mut drain = seen();
        drain.began(Time(10_000), LunId::new(0), SetId::new(0), 0, 1);
        drain.began(Time(10_020), LunId::new(1), SetId::new(0), 0, 1);
        drain.leave(LunId::new(0));
        drain.over(Time(99_999), LunId::new(0));
        assert_eq!(room_for(&drain, Time(10_030), 1), Some(Time(10_120)));
    }

    /// Compares with a sorted list of all programs.
    #[test]
    fn the_order_of_ends_is_that_of_a_plain_sort() {
        let mut drain = empty();
        let mut model: Vec<(u64, LunId, usize)> = Vec::new();
        for kind in 0..4 {
            for round in 0..3 {
                drain.began(Time(round), LunId::new(0), SetId::new(0), kind, 1);
                drain.over(Time(round + 50 * (kind as u64 + 1)), LunId::new(0));
            }
        }
        let mut random = Stream::new(2, "test.drain");
        for step in 1..3000u64 {
            let now = 10_000 + step * 10;
            let lun = LunId::new(random.below(32) as u32);
            match model.iter().position(|&(_, other, _)| other == lun) {
                Some(at) => {
                    model.remove(at);
                    drain.leave(lun);
                }
                None => {
                    let kind = random.below(4) as usize;
                    model.push((now, lun, kind));
                    drain.began(Time(now), lun, SetId::new(0), kind, 1);
                }
            }
            let mut ends: Vec<u64> = model.iter().map(|&(at, _, kind)| at + 50 * (kind as u64 + 1)).collect();
            ends.sort_unstable();
            for (at, end) in ends.iter().enumerate() {
                let expected = Some(Time(*end.max(&now)));
                let waiting = WaitingPages { pages: at as u32 + 1, width: 32 };
                assert_eq!(drain.room_for(Time(now), SetId::FIRST, waiting), expected);
            }
        }
    }
}
