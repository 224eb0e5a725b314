//! Flash operations as the mapping sees them: where each goes, and what follows from its end.

use crate::flash::{LogicalPage, LunId, PhysicalPage, PlaneId};
use crate::mapping::Mapping;
use crate::mapping::ftl::Location;
use crate::mutation::{Invariant, holds};
use crate::request::{EntryId, Kind, Lane, MemoryRequest, RequestId, Role};
use crate::sets::SetId;
use tailcut_base::Time;

/// What the end of one of the mapping's own operations lets the buffer do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Freed {
    /// Nothing.
    Nothing,
    /// Collection has come further: staged pages may be programmed.
    Unit,
    /// A superblock is free: more pages may be staged.
    Superblock,
}

impl Mapping {
    /// The host is about to read a page: its block is not erased until [`Mapping::unpin`]. Returns where the
    /// page is.
    #[inline]
    pub(crate) fn begin_read(&mut self, now: Time, physical: PhysicalPage, rank: u8) -> (LunId, u32) {
        if holds(Invariant::WriteAfterRead) {
            self.ftl.pin(physical);
        }
        let (lun, place) = self.layout.lun_of_page(physical);
        self.note_read(now, lun, rank);
        (lun, place)
    }

    /// The host has read a page. True if something follows: the last read of a block lets that be erased.
    #[inline]
    pub(crate) fn end_read(&mut self, now: Time, physical: PhysicalPage) -> bool {
        holds(Invariant::WriteAfterRead) && self.unpin(now, physical)
    }

    /// A read of a page is over. True if something follows: the last read of a block lets that be erased.
    #[inline]
    pub(crate) fn unpin(&mut self, now: Time, physical: PhysicalPage) -> bool {
        let was_last = self.ftl.unpin(physical);
        if was_last {
            self.resume_erase(now, self.layout.block_of(physical));
        }
        was_last
    }

    /// A read that waited for a page now waits for the place to which that has moved. True if something
    /// follows.
    pub(crate) fn reader_moved(&mut self, now: Time, from: PhysicalPage, to: PhysicalPage) -> bool {
        self.ftl.pin(to);
        self.counters.readdressed += 1;
        if self.collects_at_once() {
            // Its block is released when all of its reads have followed.
            self.ftl.unpin(from);
            return false;
        }
        self.unpin(now, from)
    }

    /// The page of a read that waited for its program is on flash.
    pub(crate) fn follower_found(&mut self, physical: PhysicalPage) -> (LunId, u32) {
        let (lun, place) = self.layout.lun_of_page(physical);
        self.steering.follower_ends(self.sets.of_lun(lun));
        self.ftl.pin(physical);
        (lun, place)
    }

    /// The program of an entry, which holds `logical` in `stream`.
    pub(crate) fn program_request(
        &mut self,
        now: Time,
        entry: EntryId,
        logical: LogicalPage,
        stream: u8,
    ) -> MemoryRequest {
        let frontier = self.ftl.stream_frontier(stream);
        let plane = if self.block_mapped.is_some() {
            self.plane_of_stripe(logical)
        } else if self.places_by_silence() {
            self.plane_with_silence(now, logical, frontier)
        } else {
            self.ftl.plane_for(logical, frontier)
        };
        let (lun, place) = self.layout.lun_of_plane(plane);
        let request = MemoryRequest::internal(now, Lane::USER_WRITE, Role::Program(entry), lun, place);
        MemoryRequest { logical, frontier, ..request }
    }

    /// The read of the rest of a page that is written in part, from its version on flash; `program` waits for
    /// it, or [`RequestId::NONE`].
    pub(crate) fn merge_request(
        &mut self,
        now: Time,
        entry: EntryId,
        (logical, old): (LogicalPage, PhysicalPage),
        program: RequestId,
    ) -> MemoryRequest {
        assert!(old != PhysicalPage::NONE, "a page without an old version is whole");
        self.steering.merge_begins(self.sets.of_logical(logical));
        self.ftl.pin(old);
        let (lun, place) = self.layout.lun_of_page(old);
        let mut request = MemoryRequest::internal(now, Lane::READ, Role::Merge(entry), lun, place);
        (request.logical, request.physical) = (logical, old);
        request.set_waiting_program(program);
        request
    }

    /// The rest of a page that is written in part has been read. True if something follows.
    pub(crate) fn merge_read(&mut self, now: Time, request: &MemoryRequest) -> bool {
        self.steering.merge_ends(self.sets.of_logical(request.logical));
        self.nand.read(request.physical);
        self.unpin(now, request.physical)
    }

    /// A page of the buffer has been programmed. False when the program has failed.
    #[inline]
    pub(crate) fn page_programmed(&mut self, request: &MemoryRequest) -> bool {
        let succeeded = self.nand.program(request.physical, request.logical, request.content);
        self.counters.programmed_user += u64::from(succeeded);
        succeeded
    }

    /// A page that has been programmed is found on flash, unless it was trimmed or written again.
    #[inline]
    pub(crate) fn map_programmed(&mut self, now: Time, old: PhysicalPage, physical: PhysicalPage) {
        if old != PhysicalPage::NONE {
            self.ftl.invalidate(old, now);
        }
        self.ftl.validate(physical);
    }

    /// The program of a page of the buffer is over, and the page is where it belongs: its block is closed
    /// only now, so that its last page counts as valid when victims are ranked.
    #[inline]
    pub(crate) fn end_program(&mut self, now: Time, plane: PlaneId, request: &MemoryRequest) {
        self.settle_block(now, request.physical);
        self.left_stripe(request.logical);
        self.block_program_ended(now, plane, request.physical, true);
    }

    /// A page is trimmed: it is found nowhere. Returns its entry of the buffer, if it has one.
    pub(crate) fn trim_page(&mut self, now: Time, logical: LogicalPage) -> Option<EntryId> {
        let location = self.ftl.lookup(logical);
        match location {
            Location::Unmapped => return None,
            Location::Flash(physical) => self.ftl.invalidate(physical, now),
            Location::Buffer(_) => {}
        }
        self.ftl.set(logical, Location::Unmapped);
        if let Location::Buffer(entry) = location { Some(entry) } else { None }
    }

    /// What an entry for a page of a write begins with, if the page is at `location`: its version on flash,
    /// and the content of that where the page is not written as a whole.
    #[inline]
    pub(crate) fn version_to_change(
        &self,
        location: Location,
        is_whole: impl FnOnce() -> bool,
    ) -> (PhysicalPage, u32) {
        match location {
            Location::Flash(physical) if is_whole() => (physical, 0),
            Location::Flash(physical) => (physical, self.nand.content(physical)),
            _ => (PhysicalPage::NONE, 0),
        }
    }

    /// The program of a page has been reset: no page of its word line, which begins at `start` and has `bits`
    /// pages, can be read or programmed any more.
    pub(crate) fn spoil_word_line(
        &mut self,
        now: Time,
        request: &MemoryRequest,
        start: PhysicalPage,
        bits: u32,
    ) {
        let block = self.layout.block_of(request.physical);
        let end = (self.layout.offset_of(start) + bits).min(self.geometry.pages);
        let is_read = self.ftl.is_pinned(block) && holds(Invariant::KeepForReads);
        self.nand.spoil(start, request.physical, end, is_read);
        self.counters.pages_spoiled += u64::from(end - self.layout.offset_of(request.physical));
        let plane = self.layout.plane_at(request.lun, u32::from(request.place));
        if holds(Invariant::LeaveWordLine) {
            self.ftl.skip_to(plane, request.frontier, end);
        }
        if end == self.geometry.pages {
            self.ftl.close(block, now);
        }
    }

    /// An operation of the mapping itself has been carried out.
    pub(crate) fn operation_done(&mut self, now: Time, request: MemoryRequest) -> Freed {
        match (request.role, request.kind()) {
            (Role::Copy(_), Kind::GcRead) => self.copy_read(now, request),
            (Role::Copy(_), _) => self.copy_programmed(now, request),
            (Role::Erase(plane), _) => self.victim_erased(now, plane),
            (Role::BlockCopy(_), Kind::GcRead) => self.block_copy_read(now, request),
            (Role::BlockCopy(_), _) => self.block_copy_programmed(now, request),
            (Role::BlockErase(plane), _) => {
                self.replaced_block_erased(now, plane, self.layout.block_of(request.physical));
            }
            (Role::Row, _) => {
                self.row_read(now, request.physical);
                return Freed::Unit;
            }
            (Role::SuperblockErase, _) => {
                if self.superblock_block_erased(now, self.layout.block_of(request.physical)) {
                    return Freed::Superblock;
                }
            }
            (role, _) => unreachable!("{role:?} is not the mapping's own"),
        }
        Freed::Nothing
    }

    /// The next LUN of a set that has not been found quiesced since its quiet period began.
    pub(crate) fn next_to_rest(&self, set: SetId) -> Option<LunId> {
        let next = self.steering.luns_at_rest(set);
        (next < self.sets.luns_each()).then(|| self.sets.lun(set, next))
    }

    /// True unless a set has become read-only.
    #[inline]
    pub(crate) fn takes_writes(&self, set: SetId) -> bool {
        self.read_only.takes_writes(set)
    }

    /// The set of a plane takes no more writes: it has no room for another and cannot make any. Returns the
    /// set.
    pub(crate) fn refuse_writes(&mut self, now: Time, plane: PlaneId) -> SetId {
        let set = self.sets.of_plane(plane);
        if self.takes_writes(set) {
            let why = format!(
                "at {now} plane {plane} had {} free blocks, {} blocks of the drive had gone bad, and \
                 collection had no victim that would free a block; more spare space (ftl.spare) would have \
                 kept it writable",
                self.ftl.free_blocks(plane),
                self.counters.bad_blocks
            );
            self.read_only.note(set, why);
        }
        set
    }

    /// True when programs wait in a LUN for their page, and not for their turn in the queue of block-level
    /// mapping: a program that has come to its chip has its page there.
    pub(crate) fn gives_pages_at_chips(&self) -> bool {
        self.block_mapped.is_none()
    }
}
