//! The physical layout of what waits: by chip, place and page offset.

use super::Chips;
use super::waiting::Waiting;
use crate::flash::{Geometry, LunId, PlaneId};
use crate::mutation::looked;
use crate::request::{Kind, RequestId};
use tailcut_base::ids::IdVec;

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: RequestId,
    next: RequestId,
}

/// Requests that wait for their chips (`phy_layout` of Sprinkler's algorithm 1). Each stands in two
/// lists: that of its chip, in order of arrival, and that of its *slot*. A plane has a slot for
/// each page offset, for the reads of pages of that offset, and one for all writes, whose page is
/// chosen only when their transaction starts. Planes of a die can share a transaction of reads at
/// those offsets whose slots are occupied in each: a bit mask of the occupied offsets answers that
/// in a word for 64 offsets, however many requests wait.
#[derive(Clone, Debug)]
pub(super) struct ChipLayout {
    /// By chip, in order of arrival.
    pub(super) ages: Waiting,
    /// First request of each slot; its `prev` is the last.
    slots: Vec<RequestId>,
    links: IdVec<RequestId, Link>,
    /// Occupied page offsets of each plane.
    offsets: Vec<u64>,
    /// The places of each chip where reads wait, and where writes do.
    places: IdVec<LunId, [u16; 2]>,
    pages: u32,
    words: u32,
}

impl ChipLayout {
    /// Nothing waits.
    pub(super) fn new(geometry: &Geometry) -> ChipLayout {
        let planes = geometry.plane_count() as usize;
        let words = geometry.pages.div_ceil(64);
        ChipLayout {
            ages: Waiting::new(geometry.luns()),
            slots: vec![RequestId::NONE; planes * (geometry.pages as usize + 1)],
            links: IdVec::new(),
            offsets: vec![0; planes * words as usize],
            places: IdVec::filled(geometry.luns() as usize, [0; 2]),
            pages: geometry.pages,
            words,
        }
    }

    /// Where reads of a chip wait: a bit for each place.
    #[inline]
    pub(super) fn reads(&self, lun: LunId) -> u16 {
        self.places[lun][0]
    }

    /// Where writes of a chip wait.
    #[inline]
    pub(super) fn writes(&self, lun: LunId) -> u16 {
        self.places[lun][1]
    }

    /// The oldest waiting read of page offset `offset` in a plane, or [`RequestId::NONE`].
    #[inline]
    pub(super) fn read_at(&self, plane: PlaneId, offset: u32) -> RequestId {
        self.slots[self.slot(plane, offset)]
    }

    /// The oldest write to a plane.
    #[inline]
    pub(super) fn write_to(&self, plane: PlaneId) -> RequestId {
        self.slots[self.slot(plane, self.pages)]
    }

    /// The occupied page offsets of a plane, 64 to a word.
    #[inline]
    pub(super) fn offsets(&self, plane: PlaneId) -> &[u64] {
        let from = self.word(plane, 0);
        &self.offsets[from..from + self.words as usize]
    }

    /// Words of [`ChipLayout::offsets`].
    #[inline]
    pub(super) fn words(&self) -> u32 {
        self.words
    }

    #[inline]
    fn slot(&self, plane: PlaneId, offset: u32) -> usize {
        (plane.get() * (self.pages + 1) + offset) as usize
    }

    #[inline]
    fn word(&self, plane: PlaneId, word: u32) -> usize {
        (plane.get() * self.words + word) as usize
    }

    /// A request begins to wait.
    #[inline]
    pub(super) fn add(&mut self, chips: Chips<'_>, id: RequestId) {
        self.ages.add(chips.requests[id].lun, id);
        self.enter_slot(chips, id);
    }

    /// A request is committed.
    #[inline]
    pub(super) fn remove(&mut self, chips: Chips<'_>, id: RequestId) {
        self.ages.remove(chips.requests[id].lun, id);
        self.leave_slot(chips, id);
    }

    /// The plane, the place behind its chip and the slot of a request.
    #[inline]
    fn whereabouts(&self, chips: Chips<'_>, id: RequestId) -> (PlaneId, u32, u32) {
        let request = &chips.requests[id];
        let place = u32::from(request.place);
        let offset = match request.kind() {
            Kind::UserRead => chips.layout.offset_of(request.physical),
            _ => self.pages,
        };
        (chips.layout.plane_at(request.lun, place), place, offset)
    }

    /// Puts a request into the slot of its address.
    pub(super) fn enter_slot(&mut self, chips: Chips<'_>, id: RequestId) {
        looked();
        let (plane, place, offset) = self.whereabouts(chips, id);
        self.links.extend_to(id, Link { prev: RequestId::NONE, next: RequestId::NONE });
        let slot = self.slot(plane, offset);
        match self.slots[slot] {
            RequestId::NONE => {
                self.slots[slot] = id;
                self.links[id] = Link { prev: id, next: RequestId::NONE };
                let is_write = offset == self.pages;
                self.places[chips.requests[id].lun][usize::from(is_write)] |= 1 << place;
                if !is_write {
                    let word = self.word(plane, offset / 64);
                    self.offsets[word] |= 1 << (offset % 64);
                }
            }
            first => {
                let last = std::mem::replace(&mut self.links[first].prev, id);
                self.links[last].next = id;
                self.links[id] = Link { prev: last, next: RequestId::NONE };
            }
        }
    }

    /// Takes a request out of its slot; its address must be the one that it entered with.
    pub(super) fn leave_slot(&mut self, chips: Chips<'_>, id: RequestId) {
        looked();
        let (plane, place, offset) = self.whereabouts(chips, id);
        let slot = self.slot(plane, offset);
        let Link { prev, next } = self.links[id];
        let first = self.slots[slot];
        if first != id {
            self.links[prev].next = next;
            let behind = if next == RequestId::NONE { first } else { next };
            self.links[behind].prev = prev;
            return;
        }
        self.slots[slot] = next;
        if next != RequestId::NONE {
            self.links[next].prev = prev;
            return;
        }
        let lun = chips.requests[id].lun;
        if offset == self.pages {
            self.places[lun][1] &= !(1 << place);
            return;
        }
        let word = self.word(plane, offset / 64);
        self.offsets[word] &= !(1 << (offset % 64));
        if self.offsets(plane).iter().inspect(|_| looked()).all(|&word| word == 0) {
            self.places[lun][0] &= !(1 << place);
        }
    }

    /// The request queued after `id` in its slot, or [`RequestId::NONE`] if `id` is the last.
    #[inline]
    pub(super) fn next_in_slot(&self, id: RequestId) -> RequestId {
        looked();
        self.links[id].next
    }
}
