//! FARO: which of the requests that wait for a chip are committed to it together.

use super::Chips;
use super::layout::ChipLayout;
use crate::backend::lun::Lun;
use crate::config::{ChipPolicy, ScheduleConfig};
use crate::flash::geometry::PLACES_MAX;
use crate::flash::{Geometry, LunId};
use crate::mutation::looked;
use crate::request::{Kind, Lane, RequestId};
use std::cmp::Reverse;
use tailcut_base::cast::to_u32;

/// Requests for one chip, at most one for each place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    members: [RequestId; PLACES_MAX],
    len: u8,
}

impl Set {
    pub(super) const EMPTY: Set = Set { members: [RequestId::NONE; PLACES_MAX], len: 0 };

    #[inline]
    pub(super) fn push(&mut self, id: RequestId) {
        self.members[usize::from(self.len)] = id;
        self.len += 1;
    }

    /// Takes one out.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<RequestId> {
        self.len = self.len.checked_sub(1)?;
        Some(self.members[usize::from(self.len)])
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn members(&self) -> &[RequestId] {
        &self.members[..usize::from(self.len)]
    }

    /// How many of its members belong to the I/O request that has the most of them.
    fn connectivity(&self, chips: Chips<'_>) -> u32 {
        let tag = |id: &RequestId| chips.requests[*id].tag;
        let equals =
            |a: &RequestId| self.members().iter().inspect(|_| looked()).filter(|b| tag(a) == tag(b)).count();
        let most = self.members().iter().map(equals);
        to_u32(most.max().unwrap_or(0))
    }

    /// What FARO compares: overlap depth, connectivity, and the order of its oldest member.
    fn merit(&self, chips: Chips<'_>) -> (u8, u32, Reverse<u64>) {
        let oldest = self.members().iter().map(|&id| chips.requests[id].order).min();
        (self.len, self.connectivity(chips), Reverse(oldest.unwrap_or(u64::MAX)))
    }
}

/// How many page offsets of equal overlap are compared by connectivity: a bound on the work of a
/// choice, where the paper would compare all.
const CANDIDATES: usize = 8;

/// FARO (Sprinkler, section 4.2): the set with the highest *overlap depth* (how many different
/// places of the chip it hits) and, among equals, the highest *connectivity* (how many of its
/// members belong to one I/O request); the older one where both are equal.
///
/// A set that cannot become one transaction would overlap in vain, so reads of planes of one die
/// count only at equal page offsets. Dies are independent, so the deepest set is the deepest of
/// each die. The page of a write is not known yet: writes to different places overlap.
#[derive(Clone, Debug)]
pub(super) struct Faro {
    planes: u32,
    dies: u32,
    plane_sharing: bool,
    die_interleaving: bool,
    reads_first: bool,
}

impl Faro {
    pub(super) fn new(schedule: &ScheduleConfig, geometry: &Geometry) -> Faro {
        Faro {
            planes: geometry.planes,
            dies: geometry.dies_per_lun(),
            plane_sharing: schedule.plane_sharing,
            die_interleaving: schedule.die_interleaving,
            reads_first: schedule.chip == ChipPolicy::ReadsFirst,
        }
    }

    /// What to commit to a LUN now, beside what is committed already. A request that must not
    /// wait any longer is given as `anchor`; it will be a member.
    pub(super) fn choose(
        &self,
        waiting: &ChipLayout,
        chips: Chips<'_>,
        lun: LunId,
        anchor: RequestId,
    ) -> Set {
        looked();
        let u = &chips.luns[lun];
        let (reads, writes) = committed(u);
        if anchor != RequestId::NONE {
            return match chips.requests[anchor].kind() {
                Kind::UserRead => self.reads(waiting, chips, lun, 0, anchor),
                _ => self.writes(waiting, chips, lun, 0, anchor),
            };
        }
        if u.is_short_of_space() || u.committed_count == 0 {
            return self.fresh(waiting, chips, lun);
        }
        if writes != 0 && self.reads_first && waiting.reads(lun) != 0 && reads == 0 {
            return self.reads(waiting, chips, lun, reads, RequestId::NONE);
        }
        match writes {
            0 => self.reads(waiting, chips, lun, reads, RequestId::NONE),
            _ => self.writes(waiting, chips, lun, writes, RequestId::NONE),
        }
    }

    /// Reads for a LUN that is busy with something which they may preempt.
    pub(super) fn reads_beside(&self, waiting: &ChipLayout, chips: Chips<'_>, lun: LunId) -> Set {
        let (taken, _) = committed(&chips.luns[lun]);
        self.reads(waiting, chips, lun, taken, RequestId::NONE)
    }

    /// The best set for a LUN to which nothing is committed.
    fn fresh(&self, waiting: &ChipLayout, chips: Chips<'_>, lun: LunId) -> Set {
        let reads = match waiting.reads(lun) {
            0 => Set::EMPTY,
            _ => self.reads(waiting, chips, lun, 0, RequestId::NONE),
        };
        // Write after read: a write does not pass a read that waits for the same plane.
        let contested = waiting.reads(lun) & waiting.writes(lun) != 0;
        if waiting.writes(lun) == 0 || (contested || self.reads_first) && !reads.is_empty() {
            return reads;
        }
        let writes = self.writes(waiting, chips, lun, 0, RequestId::NONE);
        if reads.merit(chips) > writes.merit(chips) { reads } else { writes }
    }

    /// Writes to places where none is committed: the oldest of each.
    fn writes(
        &self,
        waiting: &ChipLayout,
        chips: Chips<'_>,
        lun: LunId,
        taken: u16,
        anchor: RequestId,
    ) -> Set {
        let mut set = Set::EMPTY;
        let mut free = waiting.writes(lun) & !taken;
        let mut dies = 0u32;
        if anchor != RequestId::NONE {
            set.push(anchor);
            let place = u32::from(chips.requests[anchor].place);
            free &= !(1 << place);
            dies = 1 << (place / self.planes);
        }
        while free != 0 {
            looked();
            let place = free.trailing_zeros();
            free &= free - 1;
            let die = 1 << (place / self.planes);
            let fits = if dies & die == 0 { dies == 0 || self.die_interleaving } else { self.plane_sharing };
            if fits {
                set.push(waiting.write_to(chips.layout.plane_at(lun, place)));
                dies |= die;
            }
        }
        set
    }

    /// Reads for places where none is committed, each die at the page offset that serves most.
    fn reads(
        &self,
        waiting: &ChipLayout,
        chips: Chips<'_>,
        lun: LunId,
        taken: u16,
        anchor: RequestId,
    ) -> Set {
        let mut best = Set::EMPTY;
        if anchor != RequestId::NONE {
            best.push(anchor);
        }
        let anchor_die =
            (anchor != RequestId::NONE).then(|| u32::from(chips.requests[anchor].place) / self.planes);
        // The anchor's die comes first: another may be left out.
        let dies = anchor_die.into_iter().chain((0..self.dies).filter(|&die| Some(die) != anchor_die));
        for die in dies {
            looked();
            let mut free = self.places_of(die) & waiting.reads(lun) & !taken;
            if free == 0 {
                continue;
            }
            let fixed = if anchor_die == Some(die) {
                free &= !(1 << chips.requests[anchor].place);
                Some(chips.layout.offset_of(chips.requests[anchor].physical))
            } else {
                self.committed_offset(chips, lun, die, taken)
            };
            let with = match fixed {
                Some(_) if !self.plane_sharing => best,
                Some(offset) => self.with_offset(best, waiting, chips, lun, free, offset),
                None if !self.die_interleaving && (taken != 0 || !best.is_empty()) => {
                    let alone = self.with_best_offset(Set::EMPTY, waiting, chips, lun, free);
                    if taken == 0 && anchor == RequestId::NONE && alone.len > best.len { alone } else { best }
                }
                None => self.with_best_offset(best, waiting, chips, lun, free),
            };
            best = with;
        }
        best
    }

    #[inline]
    fn places_of(&self, die: u32) -> u16 {
        ((((1u32 << self.planes) - 1) << (die * self.planes)) & 0xFFFF) as u16
    }

    /// The page offset that a read which is committed in a die has fixed for it.
    fn committed_offset(&self, chips: Chips<'_>, lun: LunId, die: u32, taken: u16) -> Option<u32> {
        let committed = self.places_of(die) & taken;
        (committed != 0).then(|| {
            let id = chips.luns.first(lun, Lane::READ, committed.trailing_zeros());
            chips.layout.offset_of(chips.requests[id].physical)
        })
    }

    /// `set` with the reads of page offset `offset` at the places `free`.
    fn with_offset(
        &self,
        mut set: Set,
        waiting: &ChipLayout,
        chips: Chips<'_>,
        lun: LunId,
        mut free: u16,
        offset: u32,
    ) -> Set {
        while free != 0 {
            looked();
            let place = free.trailing_zeros();
            free &= free - 1;
            let id = waiting.read_at(chips.layout.plane_at(lun, place), offset);
            if id != RequestId::NONE {
                set.push(id);
            }
        }
        set
    }

    /// `set` with the reads of the page offset, among those at the places `free` of one die, that
    /// gives the most overlap.
    fn with_best_offset(
        &self,
        set: Set,
        waiting: &ChipLayout,
        chips: Chips<'_>,
        lun: LunId,
        free: u16,
    ) -> Set {
        if !self.plane_sharing || free.is_power_of_two() {
            let alone = (0..to_u32(PLACES_MAX)).filter(|place| free >> place & 1 == 1).map(|place| {
                let plane = chips.layout.plane_at(lun, place);
                let word = |at: u32| waiting.offsets(plane)[at as usize];
                self.best_of(set, waiting, chips, lun, 1 << place, word)
            });
            return alone.max_by_key(|set| set.merit(chips)).unwrap_or(set);
        }
        // Counts of occupied planes for 64 offsets at a time, bit-sliced; the highest count wins.
        let mut most = 0;
        for at in 0..waiting.words() {
            most = most.max(highest(&self.counts(waiting, chips, lun, free, at)));
        }
        let word = |at: u32| with_count(&self.counts(waiting, chips, lun, free, at), most);
        self.best_of(set, waiting, chips, lun, free, word)
    }

    /// How many of the places `free` are occupied at each of 64 page offsets: bit *b* of the count
    /// of an offset stands in slice *b*.
    fn counts(&self, waiting: &ChipLayout, chips: Chips<'_>, lun: LunId, mut free: u16, at: u32) -> Slices {
        let mut slices = [0u64; COUNT_BITS];
        while free != 0 {
            looked();
            let place = free.trailing_zeros();
            free &= free - 1;
            let mut carry = waiting.offsets(chips.layout.plane_at(lun, place))[at as usize];
            for slice in &mut slices {
                (*slice, carry) = (*slice ^ carry, *slice & carry);
            }
        }
        slices
    }

    /// The best of the sets that the page offsets in `word` make with `set`: of the highest
    /// connectivity, then the oldest.
    fn best_of(
        &self,
        set: Set,
        waiting: &ChipLayout,
        chips: Chips<'_>,
        lun: LunId,
        places: u16,
        word: impl Fn(u32) -> u64,
    ) -> Set {
        let words = waiting.words();
        // Looked at from the offset of the oldest on, so that no offset is always last.
        let oldest = &chips.requests[waiting.ages.first(lun)];
        let start = if oldest.kind() == Kind::UserRead { chips.layout.offset_of(oldest.physical) } else { 0 };
        let mut chosen = set;
        // The merit of `chosen`, once there is another to compare it with.
        let mut highest = None;
        let mut compared = 0;
        for step in 0..=words {
            looked();
            let at = (start / 64 + step) % words;
            let mask = match step {
                0 => u64::MAX << (start % 64),
                _ if step == words => !(u64::MAX << (start % 64)),
                _ => u64::MAX,
            };
            let mut left = word(at) & mask;
            while left != 0 {
                let offset = at * 64 + left.trailing_zeros();
                left &= left - 1;
                let with = self.with_offset(set, waiting, chips, lun, places, offset);
                if chosen.len == set.len {
                    chosen = with;
                } else {
                    let merit = with.merit(chips);
                    if merit > *highest.get_or_insert_with(|| chosen.merit(chips)) {
                        (chosen, highest) = (with, Some(merit));
                    }
                }
                compared += 1;
                if compared == CANDIDATES {
                    return chosen;
                }
            }
        }
        chosen
    }
}

/// Bits of a count of planes: up to [`PLACES_MAX`].
const COUNT_BITS: usize = 5;
const _: () = assert!(PLACES_MAX < 1 << COUNT_BITS);

type Slices = [u64; COUNT_BITS];

/// The highest of 64 bit-sliced counts.
fn highest(slices: &Slices) -> u32 {
    let mut among = u64::MAX;
    let mut count = 0;
    for bit in (0..COUNT_BITS).rev() {
        if among & slices[bit] != 0 {
            among &= slices[bit];
            count |= 1 << bit;
        }
    }
    count
}

/// Where 64 bit-sliced counts have the value `count`.
fn with_count(slices: &Slices, count: u32) -> u64 {
    (0..COUNT_BITS).fold(u64::MAX, |among, bit| match count >> bit & 1 {
        1 => among & slices[bit],
        _ => among & !slices[bit],
    })
}

/// The places of a LUN where a host read, or a host write, is committed; none while it is short
/// of space, because then a read behind a write may hold the block whose erase would make space.
#[inline]
pub(super) fn committed(lun: &Lun) -> (u16, u16) {
    if lun.is_short_of_space() {
        return (0, 0);
    }
    (lun.places_with(Lane::READ), lun.places_with(Lane::USER_WRITE) | lun.awaited())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bit_sliced_counts_agree_with_counting(planes in prop::collection::vec(any::<u64>(), 1..=16)) {
            let mut slices = [0; COUNT_BITS];
            for &plane in &planes {
                let mut carry = plane;
                for slice in &mut slices {
                    (*slice, carry) = (*slice ^ carry, *slice & carry);
                }
            }
            let count = |bit: u32| planes.iter().filter(|&&plane| plane >> bit & 1 == 1).count() as u32;
            let most = (0..64).map(count).max().unwrap_or(0);
            prop_assert_eq!(highest(&slices), most);
            let expected = (0..64).filter(|&bit| count(bit) == most).fold(0u64, |mask, bit| mask | 1 << bit);
            prop_assert_eq!(with_count(&slices, most), expected);
        }
    }
}
