//! Flexible Data Placement (NVM Express Base Specification 2.1): whose data each page of flash holds, and
//! what the host may ask about its handles. A reclaim unit is a superblock here, however many blocks it has.

use super::{Frontier, Superblocks, Writer};
use crate::config::SsdConfig;
use crate::counters::HandleFigures;
use crate::flash::{PhysicalPage, SuperblockId};
use crate::mapping::Mapping;
use std::collections::VecDeque;
use tailcut_base::Time;
use tailcut_base::cast::{to_u8, to_u32, to_usize};
use tailcut_base::control::ControlReply;
use tailcut_base::fdp::{
    Event, EventType, GroupId, HANDLES_MAX, HandleId, HandleStatus, PlacementId, Statistics,
};
use tailcut_base::ids::{Id, IdVec};

/// Events that the drive keeps of the host, and as many of the controller: the older are dropped.
const EVENTS_MAX: usize = 63;

/// Whose data is where, and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    /// The handle of what each page of flash was programmed with last.
    owners: IdVec<PhysicalPage, u8>,
    /// Pages of each handle that were programmed to a superblock since its last erase.
    programmed: IdVec<SuperblockId, [u32; HANDLES_MAX]>,
    counts: IdVec<GroupId, IdVec<HandleId, HandleCounts>>,
    /// Of the host, and of the controller.
    events: [VecDeque<Event>; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct HandleCounts {
    /// Pages of the host.
    written: u64,
    /// Pages that collection has moved.
    moved: u64,
    /// Superblocks that collection has emptied.
    collected: u64,
}

impl Placement {
    /// A drive without data.
    pub(super) fn new(config: &SsdConfig) -> Placement {
        let (geometry, fdp) = (&config.geometry, &config.fdp);
        let units = (geometry.blocks / fdp.superblocks * fdp.groups) as usize;
        let counts = IdVec::filled(fdp.handles as usize, HandleCounts::default());
        Placement {
            owners: IdVec::filled(to_usize(geometry.page_count()), 0),
            programmed: IdVec::filled(units, [0; HANDLES_MAX]),
            counts: IdVec::filled(fdp.groups as usize, counts),
            events: [const { VecDeque::new() }; 2],
        }
    }

    /// The handle of the data that a page was programmed with.
    #[inline]
    pub(super) fn handle_of(&self, page: PhysicalPage) -> HandleId {
        HandleId::new(u32::from(self.owners[page]))
    }

    fn own(&mut self, page: PhysicalPage, superblock: SuperblockId, handle: HandleId) {
        self.owners[page] = to_u8(handle.get());
        self.programmed[superblock][handle.index()] += 1;
    }

    /// The host's data of a handle is in pages of a group, the first `pages` from `first` on.
    pub(super) fn written(
        &mut self,
        first: PhysicalPage,
        pages: usize,
        superblock: SuperblockId,
        of: PlacementId,
    ) {
        for page in first.up_to(PhysicalPage::at(first.index() + pages)) {
            self.own(page, superblock, of.handle());
        }
        self.counts[of.group()][of.handle()].written += pages as u64;
    }

    /// Collection has copied a page of a group to another one.
    pub(super) fn moved(
        &mut self,
        group: GroupId,
        from: PhysicalPage,
        to: PhysicalPage,
        superblock: SuperblockId,
    ) {
        let handle = self.handle_of(from);
        self.own(to, superblock, handle);
        self.counts[group][handle].moved += 1;
    }

    /// The handle that most of the data in a superblock was written with.
    pub(super) fn main_handle(&self, superblock: SuperblockId) -> HandleId {
        let pages = &self.programmed[superblock];
        // Of equal numbers the first.
        let most = (0..pages.len()).rev().max_by_key(|&handle| pages[handle]).unwrap_or(0);
        HandleId::at(most)
    }

    /// A superblock is empty.
    pub(super) fn erased(&mut self, superblock: SuperblockId) {
        self.programmed[superblock] = [0; HANDLES_MAX];
    }

    fn note(&mut self, event: Event) {
        let events = &mut self.events[usize::from(!event.of.is_of_host())];
        if events.len() == EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// Collection has chosen a superblock of a group, of which it moves this many sectors.
    pub(super) fn collected(&mut self, at: Time, group: GroupId, superblock: SuperblockId, moved: u64) {
        let handle = self.main_handle(superblock);
        self.counts[group][handle].collected += 1;
        if moved > 0 {
            let placement = PlacementId::new(group, handle);
            self.note(Event { of: EventType::MediaReallocated, at, placement, moved });
        }
    }
}

impl Superblocks {
    /// Where a write with this stream goes. What is unknown is the first handle of the first group, as the
    /// standard has it, and an event.
    #[inline]
    pub(super) fn placement_named(&mut self, now: Time, stream: u8) -> PlacementId {
        if self.placement.is_none() { PlacementId::FIRST } else { self.placement_of_stream(now, stream) }
    }

    fn placement_of_stream(&mut self, now: Time, stream: u8) -> PlacementId {
        let named = self.named_by(stream);
        if self.has(named) {
            return named;
        }
        if let Some(placement) = &mut self.placement {
            placement.note(Event { of: EventType::InvalidIdentifier, at: now, placement: named, moved: 0 });
        }
        PlacementId::FIRST
    }

    /// What a stream names: an unknown handle of the first group if nothing that the drive has.
    pub(super) fn named_by(&self, stream: u8) -> PlacementId {
        let handles = self.groups[GroupId::FIRST].host.len();
        let named = PlacementId::of_stream(stream, to_u32(handles));
        if self.has(named) {
            return named;
        }
        PlacementId::new(GroupId::FIRST, HandleId::new(u32::from(stream)))
    }

    /// True if there are such a group and such a handle.
    fn has(&self, placement: PlacementId) -> bool {
        let group = self.groups.get(placement.group());
        group.is_some_and(|group| placement.handle().index() < group.host.len())
    }
}

impl Mapping {
    /// The events of Flexible Data Placement, the oldest first: of the host, or of the controller.
    pub(crate) fn placement_events(&self, of_host: bool) -> impl Iterator<Item = Event> {
        let placement = self.superblocks.as_ref().and_then(|superblocks| superblocks.placement.as_ref());
        placement.into_iter().flat_map(move |placement| &placement.events[usize::from(!of_host)]).copied()
    }

    /// What became of the data of each handle in each group, by stream; none without data placement.
    pub(crate) fn handle_figures(&self) -> Vec<HandleFigures> {
        let fdp = &self.config.fdp;
        let placements = (0..fdp.streams()).map(|stream| PlacementId::of_stream(to_u8(stream), fdp.handles));
        let statuses = placements.filter_map(|placement| self.handle_status(placement));
        let figures = |HandleStatus { host_written: written, moved, collected, .. }| HandleFigures {
            written,
            moved,
            collected,
        };
        statuses.map(figures).collect()
    }

    /// The state of a handle in a group; `None` if one of them does not exist.
    pub(crate) fn handle_status(&self, of: PlacementId) -> Option<HandleStatus> {
        let superblocks = self.superblocks.as_ref()?;
        let counts = superblocks.placement.as_ref()?.counts.get(of.group())?.get(of.handle())?;
        let bytes = |pages: u64| pages * self.geometry.page_bytes;
        // A handle references a reclaim unit at all times; the superblock is chosen by its first write.
        let whole = u64::from(superblocks.pages_each());
        let frontier = superblocks.groups[of.group()].host[of.handle()].frontier;
        Some(HandleStatus {
            size: bytes(whole),
            available: bytes(frontier.map_or(whole, |_| superblocks.left(frontier))),
            host_written: bytes(counts.written),
            moved: bytes(counts.moved),
            collected: counts.collected,
        })
    }

    /// The statistics of the drive as an endurance group; `None` on a drive without data placement.
    pub(crate) fn placement_statistics(&self) -> Option<Statistics> {
        let superblocks = self.superblocks.as_ref()?;
        superblocks.placement.as_ref()?;
        let block = u64::from(self.geometry.pages) * self.geometry.page_bytes;
        Some(Statistics {
            host_written: self.counters.host_bytes_written,
            media_written: (self.counters.programmed_user + self.counters.programmed_gc)
                * self.geometry.page_bytes,
            media_erased: self.counters.erases * block,
        })
    }

    /// Asserts that isolated data shares no reclaim unit, and that the counts of handles are those of the
    /// flash.
    pub(crate) fn check_placement(&self) {
        let Some((superblocks, placement)) =
            self.superblocks.as_ref().and_then(|all| Some((all, all.placement.as_ref()?)))
        else {
            return;
        };
        if superblocks.groups[GroupId::FIRST].collection.len() > 1 {
            for (superblock, pages) in placement.programmed.iter_enumerated() {
                let handles = pages.iter().filter(|&&pages| pages > 0).count();
                assert!(handles <= 1, "superblock {superblock} has data of {handles} isolated handles");
            }
        }
        let all = || placement.counts.iter().flat_map(|group| group.iter());
        let sum = |of: fn(&HandleCounts) -> u64| all().map(of).sum::<u64>();
        // Padding counts as collection's, and has no handle.
        assert_eq!(sum(|counts| counts.written), self.counters.programmed_user, "pages of the host");
        assert!(sum(|counts| counts.moved) <= self.counters.programmed_gc, "pages of collection");
        assert_eq!(sum(|counts| counts.collected), self.counters.collections, "superblocks collected");
    }

    /// Makes a handle reference another reclaim unit of a group: what is left of the present one stays
    /// unwritten. A handle whose reclaim unit is empty keeps it.
    pub(crate) fn update_handle(&mut self, now: Time, of: PlacementId) -> ControlReply {
        let Some(superblocks) = self.superblocks.as_mut().filter(|s| s.placement.is_some()) else {
            return ControlReply::Unsupported;
        };
        if !superblocks.has(of) {
            return ControlReply::Invalid;
        }
        let units_each = superblocks.units_each;
        match superblocks.host(of).frontier {
            Some(Frontier { superblock, next }) if (1..units_each).contains(&next) => {
                let has_free = self.free_superblocks(of.group()) > self.config.gc_reserve();
                if !has_free {
                    return ControlReply::Invalid;
                }
                let superblocks = self.superblocks();
                *superblocks.frontier(Writer::Host(of)) = None;
                superblocks.progress[superblock].is_full = true;
                let placement = superblocks.placement.as_mut().expect("the drive has handles");
                placement.note(Event { of: EventType::NotFullyWritten, at: now, placement: of, moved: 0 });
                self.close_if_written(now, superblock);
                ControlReply::Done
            }
            _ => ControlReply::Done,
        }
    }
}
