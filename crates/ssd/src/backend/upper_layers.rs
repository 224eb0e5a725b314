//! What the backend asks of the layers above it.

use crate::flash::{LunId, PhysicalPage, PlaneId};
use crate::request::{MemoryRequest, RequestId};

/// What the backend asks of the mapping and the frontend when it decides which transaction a LUN starts.
/// The answers hold for the present moment only.
pub(crate) trait UpperLayers {
    /// True when a program or a read ahead is obsolete: its page was trimmed or overwritten meanwhile.
    fn is_void(&self, id: RequestId, request: &MemoryRequest) -> bool;

    /// True when a program has to wait for the end of a quiet period.
    fn is_put_off(&self, id: RequestId, request: &MemoryRequest) -> bool;

    /// True while programs of buffered data rest in the set of a LUN.
    fn rests_programs(&self, lun: LunId) -> bool;

    /// True when a frontier of a plane has an erased page.
    fn can_allocate(&self, plane: PlaneId, frontier: u8) -> bool;

    /// The place in its block of the next page of a frontier.
    fn next_offset(&self, plane: PlaneId, frontier: u8) -> u32;

    /// True when a plane has no free blocks but those that collection needs.
    fn is_short_of_blocks(&self, plane: PlaneId) -> bool;

    /// True when a physical page holds the newest version on flash of some logical page.
    fn is_valid(&self, physical: PhysicalPage) -> bool;

    /// True while little room is left in the buffer for writes to the set of a LUN.
    fn has_backlog(&self, lun: LunId) -> bool;

    /// True when what is in the buffer survives a power cut.
    fn keeps_buffer(&self) -> bool;

    /// Pages to program for `pages` pages of the host's data at the write amplification so far, rounded down.
    fn pages_used_for(&self, pages: u64) -> u64;

    /// Pages that the collection of a plane has yet to copy, beside those that are under way, before it
    /// erases; `None` when it does not collect or its erase has been committed.
    fn pages_left_to_copy(&self, plane: PlaneId) -> Option<u32>;

    /// True when a plane has a collection that continues in a quiet period.
    fn must_collect(&self, plane: PlaneId) -> bool;

    /// True when the collection of a plane may have stopped in a quiet period without having ended: an
    /// operation of it is committed, or its erase waits for the LUN to be idle.
    fn may_stand_still(&self, plane: PlaneId) -> bool;
}

/// The layers above, when they may change: at the moment at which a program starts.
pub(crate) trait Allocate: UpperLayers {
    /// A program starts at a plane: gives it its page, unless it has one, and takes its data from the
    /// buffer.
    fn begin_program(&mut self, plane: PlaneId, request: &mut MemoryRequest);
}
