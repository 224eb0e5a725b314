//! Composes transactions: which committed requests of a LUN run together, and how long their bus and cell
//! phases take.

use super::{Allocate, Backend, UpperLayers, bits};
use crate::flash::{LunId, PhysicalPage};
use crate::request::{Kind, Lane, RequestId};
use tailcut_base::cast::{to_u8, to_u16};
use tailcut_base::{Nanos, Time};

/// The page offset of a die that has no page in a transaction yet.
const NO_OFFSET: u32 = u32::MAX;

impl Backend {
    /// Composes a transaction: the oldest request of `lane`, and what can go with it in other
    /// places. Planes of one die share a transaction when their page offsets are equal; dies
    /// interleave freely. Returns the time on the bus, and the time until all cells are done.
    pub(super) fn compose(
        &mut self,
        now: Time,
        lun: LunId,
        lane: Lane,
        upper: &mut impl Allocate,
    ) -> (Nanos, Nanos) {
        let kind = lane.kind();
        let mut offsets = [NO_OFFSET; 16];
        let mut left = self.luns[lun].places_with(lane);
        if left.is_power_of_two() && matches!(kind, Kind::UserRead | Kind::GcRead) {
            let place = left.trailing_zeros();
            let id = self.luns.first(lun, lane, place);
            self.board(now, lun, lane, place, id, upper);
            return self.durations(lun, kind);
        }
        let mut first = true;
        let levels = self.schedule.level_frontiers && matches!(kind, Kind::UserWrite | Kind::GcWrite);
        while left != 0 {
            let place = if first { self.oldest_place(lun, lane, left, upper) } else { left.trailing_zeros() };
            let place =
                if levels { self.place_behind(lun, lane, left, place, &offsets, upper) } else { place };
            left &= !(1 << place);
            let Some(id) = self.first_startable(lun, lane, place, upper) else { continue };
            let die = self.layout.planes().quotient(place) as usize;
            let offset = self.offset(id, lun, place, upper);
            if !first && !self.fits(&offsets, die, offset, kind) {
                continue;
            }
            first = false;
            offsets[die] = offset;
            self.board(now, lun, lane, place, id, upper);
        }
        self.durations(lun, kind)
    }

    /// The place to program instead of `place`, if nothing of its die is in the transaction yet: the one of
    /// its die whose write frontier is furthest behind, by less than half a block. Planes share a transaction
    /// of programs only while their frontiers stand at one page offset; random writes let them drift apart,
    /// and this brings them together.
    #[cold]
    fn place_behind(
        &self,
        lun: LunId,
        lane: Lane,
        left: u16,
        place: u32,
        offsets: &[u32; 16],
        upper: &impl UpperLayers,
    ) -> u32 {
        let die = self.layout.planes().quotient(place);
        if offsets[die as usize] != NO_OFFSET {
            return place;
        }
        let planes = self.layout.planes().get();
        let of_die = to_u16(((1u32 << planes) - 1) << (die * planes));
        let offset = |place| self.offset(self.luns.first(lun, lane, place), lun, place, upper);
        let pages = self.layout.pages.get();
        let mut behind = place;
        for other in bits(left & of_die) {
            let gap = (offset(behind) + pages - offset(other)) % pages;
            let id = self.luns.first(lun, lane, other);
            if gap > 0 && gap < pages / 2 && self.can_start(id, lun, other, upper) {
                behind = other;
            }
        }
        behind
    }

    #[inline]
    fn oldest_place(&self, lun: LunId, lane: Lane, places: u16, upper: &impl UpperLayers) -> u32 {
        if places & (places - 1) == 0 {
            return places.trailing_zeros();
        }
        let (mut oldest, mut first) = (u64::MAX, places.trailing_zeros());
        for place in bits(places) {
            let id = self.luns.first(lun, lane, place);
            let order = self.requests[id].order;
            if order < oldest && self.can_start(id, lun, place, upper) {
                (oldest, first) = (order, place);
            }
        }
        first
    }

    /// May a request of page offset `offset` in `die` join a transaction that has `offsets`?
    #[inline]
    fn fits(&self, offsets: &[u32; 16], die: usize, offset: u32, kind: Kind) -> bool {
        if offsets[die] != NO_OFFSET {
            return self.schedule.plane_sharing && (offsets[die] == offset || kind == Kind::Erase);
        }
        self.schedule.die_interleaving
            && (!self.schedule.match_cell_times || self.takes_as_long(offsets, offset, kind))
    }

    /// True unless a program of page offset `offset` would take longer, or less long, than those at
    /// `offsets`: dies behind one ready/busy line end together, so a fast page beside a slow one is
    /// busy for as long as the slow one, and a slow one could have had a slow one beside it.
    #[cold]
    fn takes_as_long(&self, offsets: &[u32; 16], offset: u32, kind: Kind) -> bool {
        let time = |offset| self.phases.program_cell(offset);
        let is_program = matches!(kind, Kind::UserWrite | Kind::GcWrite);
        !is_program || offsets.iter().all(|&other| other == NO_OFFSET || time(other) == time(offset))
    }

    /// The page offset that a request has, or would get, in its block.
    #[inline(always)]
    fn offset(&self, id: RequestId, lun: LunId, place: u32, upper: &impl UpperLayers) -> u32 {
        let request = &self.requests[id];
        match request.kind() {
            Kind::UserWrite | Kind::GcWrite if request.physical == PhysicalPage::NONE => {
                upper.next_offset(self.layout.plane_at(lun, place), request.frontier)
            }
            Kind::Erase => 0,
            _ => self.layout.offset_of(request.physical),
        }
    }

    /// The first request of a list that can start. Programs and reads ahead that have become void leave it,
    /// for the layers above to drop.
    fn first_startable(
        &mut self,
        lun: LunId,
        lane: Lane,
        place: u32,
        upper: &impl UpperLayers,
    ) -> Option<RequestId> {
        loop {
            let id = self.luns.first(lun, lane, place);
            if id == RequestId::NONE {
                return None;
            }
            if !upper.is_void(id, &self.requests[id]) {
                return self.can_start(id, lun, place, upper).then_some(id);
            }
            self.luns.take(&self.requests, lun, lane, place);
            self.left_committed(lun, id);
            self.void.push_back(id);
        }
    }

    /// A request joins the transaction of its LUN.
    #[inline(always)]
    fn board(
        &mut self,
        now: Time,
        lun: LunId,
        lane: Lane,
        place: u32,
        id: RequestId,
        upper: &mut impl Allocate,
    ) {
        self.luns.take(&self.requests, lun, lane, place);
        self.left_committed(lun, id);
        let account = self.luns[lun].account(now);
        self.requests.settle(id, &account);
        self.end_wait_for_handles(now, id);
        if matches!(lane.kind(), Kind::UserWrite | Kind::GcWrite) {
            upper.begin_program(self.layout.plane_at(lun, place), &mut self.requests[id]);
        }
        self.luns[lun].transaction.push(id, self.requests[id].pages_on_bus());
    }

    /// Bus time of the command phase, and time until the last cell is done. Dies interleave: each
    /// begins its cell work when its own part of the command phase is over.
    #[inline]
    fn durations(&mut self, lun: LunId, kind: Kind) -> (Nanos, Nanos) {
        let p = &self.phases;
        let command = match kind {
            Kind::UserRead | Kind::GcRead | Kind::ReadAhead => p.read_command,
            Kind::UserWrite | Kind::GcWrite => p.program_command + p.transfer,
            Kind::Erase => p.erase_command,
        };
        if let &[id] = self.luns[lun].transaction.members() {
            let cell = self.cell_time(id, kind);
            let cell = if kind.is_read() { self.jitter.of(cell) } else { cell };
            self.luns.count(kind, 1, cell, cell, 0);
            let command = match kind {
                Kind::UserWrite | Kind::GcWrite => {
                    self.program_page() * u64::from(self.requests[id].pages_on_bus())
                }
                _ => command,
            };
            return (command, command + cell);
        }
        let (mut bus, mut end, mut dies, mut shared) = (Nanos::ZERO, Nanos::ZERO, 0u16, false);
        let (mut die_busy, mut plane_busy) = (Nanos::ZERO, Nanos::ZERO);
        let members = self.luns[lun].transaction.members();
        // Members stand in the order in which they boarded; those of a die need not be adjacent,
        // but share their page offset and so their cell time.
        for &id in members {
            let request = &self.requests[id];
            let cell = self.cell_time(id, kind);
            bus += command;
            end = end.max(bus + cell);
            let die = 1u16 << (self.layout.planes().quotient(u32::from(request.place)));
            plane_busy += cell;
            if dies & die == 0 {
                die_busy += cell;
            } else {
                shared = true;
            }
            dies |= die;
        }
        let count = members.len() as u64;
        let parallelism = usize::from(shared) + 2 * usize::from(dies & (dies.wrapping_sub(1)) != 0);
        self.luns[lun].transaction.parallelism = to_u8(parallelism);
        self.luns.count(kind, count, die_busy, plane_busy, parallelism);
        (bus, end)
    }

    #[inline(always)]
    pub(super) fn cell_time(&self, id: RequestId, kind: Kind) -> Nanos {
        let offset = self.layout.offset_of(self.requests[id].physical);
        match kind {
            Kind::UserRead | Kind::GcRead | Kind::ReadAhead => self.phases.read_cell(offset),
            Kind::UserWrite | Kind::GcWrite => self.phases.program_cell(offset),
            Kind::Erase => self.phases.erase,
        }
    }
}
