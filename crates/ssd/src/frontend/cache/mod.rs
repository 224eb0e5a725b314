//! The read cache: pages of flash that stay in the drive's DRAM after they have been read, and pages that are
//! read ahead of the host.
//!
//! Entries are copies of pages on flash, so nothing is lost with the power, and moving a page on flash does
//! not affect its copy. Only a write or a trim makes a copy stale ([`ReadCache::forget`]). The least
//! recently used page is evicted first (a list, so that every step takes constant time). Pages that were
//! read ahead and not requested yet may fill half of the cache, so that reading ahead cannot displace all
//! of the rest.
//!
//! Sets share nothing: each has its part of the room.

mod check;

use crate::config::CacheConfig;
use crate::flash::{Geometry, LogicalPage};
use crate::request::{RequestId, SlotId, WaiterId};
use crate::sets::{SetId, Sets};
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::{Id, IdVec, Pool};
use tailcut_base::table::Table;

/// Outcome of reading ahead, in pages. Each page that was read ahead is used once at the most: `used` +
/// `met` + `in_vain` + unrequested pages in the cache + pages being read make up `begun`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Pages of reads that were found in the cache.
    pub hits: u64,
    /// Pages whose read ahead was begun by a chip.
    pub begun: u64,
    /// Of these, pages that were in the cache when they were asked for the first time; each is a hit as well.
    pub used: u64,
    /// Pages that were asked for while they were being read.
    pub met: u64,
    /// Pages that left the cache before they were requested.
    pub in_vain: u64,
}

impl CacheCounts {
    /// What was counted between `earlier` and `self`.
    pub fn since(&self, earlier: &CacheCounts) -> CacheCounts {
        CacheCounts {
            hits: self.hits - earlier.hits,
            begun: self.begun - earlier.begun,
            used: self.used - earlier.used,
            met: self.met - earlier.met,
            in_vain: self.in_vain - earlier.in_vain,
        }
    }
}

/// How far a page of the cache has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The page is in the cache.
    Kept,
    /// It stands in the line of its chip, to be read ahead.
    Planned,
    /// A chip is reading it.
    UnderWay,
    /// A chip is reading what it was: a write or a trim has come since.
    Outdated,
}

/// A place for a page.
#[derive(Clone, Copy, Debug)]
struct Slot {
    logical: LogicalPage,
    content: u32,
    state: State,
    /// It was read ahead and has not been requested yet.
    is_ahead: bool,
    set: SetId,
    /// Its read ahead, until that has ended.
    request: RequestId,
    /// Reads that wait for the chip.
    readers: WaiterId,
    prev: SlotId,
    next: SlotId,
}

/// The part of a set.
#[derive(Clone, Copy, Debug)]
struct Share {
    used: u32,
    /// Pages that were or are being read ahead and have not been requested.
    ahead: u32,
    /// The page that was used last, and the one whose use is longest ago.
    newest: SlotId,
    oldest: SlotId,
}

/// Where a page that is wanted stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheLookup {
    /// The page is in the cache, with this content.
    Kept(u32),
    /// A chip is reading it into this slot.
    UnderWay(SlotId),
    /// It is on flash. If it was to be read ahead, that is void: it would come too late.
    No,
}

/// The cache.
#[derive(Debug)]
pub(crate) struct ReadCache {
    slots: Pool<SlotId, Slot>,
    /// For each logical page its slot + 1; 0 for none.
    places: Table<u32>,
    /// Pages of each set.
    capacity: u32,
    shares: IdVec<SetId, Share>,
    /// Event counts since the drive was made.
    pub counts: CacheCounts,
}

impl ReadCache {
    /// An empty cache for the `logical_pages` pages of a drive, divided equally among the sets.
    pub(crate) fn new(
        config: &CacheConfig,
        geometry: &Geometry,
        logical_pages: u64,
        sets: &Sets,
    ) -> ReadCache {
        let pages = (config.size / geometry.page_bytes / u64::from(sets.count())).min(logical_pages);
        let share = Share { used: 0, ahead: 0, newest: SlotId::NONE, oldest: SlotId::NONE };
        ReadCache {
            slots: Pool::new(),
            places: Table::new(if pages > 0 { to_usize(logical_pages) } else { 0 }),
            capacity: to_u32(pages),
            shares: IdVec::filled(sets.count() as usize, share),
            counts: CacheCounts::default(),
        }
    }

    /// True when there is a cache.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.capacity > 0
    }

    fn find(&self, logical: LogicalPage) -> Option<SlotId> {
        self.places.at(logical.index()).checked_sub(1).map(SlotId::new)
    }

    /// True when a page is here or on its way: a read of it needs no chip of its own.
    pub(crate) fn serves(&self, logical: LogicalPage) -> bool {
        let slot = self.find(logical).map(|slot| self.slots[slot].state);
        matches!(slot, Some(State::Kept | State::UnderWay))
    }

    /// The host wants a page.
    pub(crate) fn look_up(&mut self, logical: LogicalPage) -> CacheLookup {
        let Some(slot) = self.find(logical) else { return CacheLookup::No };
        let Slot { state, content, .. } = self.slots[slot];
        match state {
            State::Kept => {
                self.counts.hits += 1;
                self.counts.used += u64::from(self.is_asked_for(slot));
                self.unlink(slot);
                self.link(slot);
                CacheLookup::Kept(content)
            }
            State::UnderWay => {
                self.counts.met += u64::from(self.is_asked_for(slot));
                CacheLookup::UnderWay(slot)
            }
            State::Planned => {
                self.release(slot);
                CacheLookup::No
            }
            State::Outdated => unreachable!("nobody finds a page that is outdated"),
        }
    }

    /// Records a request for a page; true when it was read ahead and this is the first request.
    fn is_asked_for(&mut self, slot: SlotId) -> bool {
        let s = &mut self.slots[slot];
        let is_first = std::mem::take(&mut s.is_ahead);
        self.shares[s.set].ahead -= u32::from(is_first);
        is_first
    }

    /// The waiters for a page that is being read.
    pub(crate) fn readers_mut(&mut self, slot: SlotId) -> &mut WaiterId {
        &mut self.slots[slot].readers
    }

    /// True while a read ahead is planned for a slot, and not void.
    pub(crate) fn is_planned(&self, slot: SlotId, request: RequestId) -> bool {
        let s = &self.slots[slot];
        s.state == State::Planned && s.request == request
    }

    /// A page of a set has been read for the host. If it was to be read ahead, that is void.
    pub(crate) fn keep(&mut self, set: SetId, logical: LogicalPage, content: u32) {
        match self.find(logical) {
            Some(slot) if self.slots[slot].state == State::Planned => self.release(slot),
            Some(slot) if self.slots[slot].state == State::Kept => {
                self.unlink(slot);
                return self.link(slot);
            }
            Some(_) => return,
            None => {}
        }
        if let Some(slot) = self.claim(set, logical, State::Kept) {
            self.slots[slot].content = content;
            self.link(slot);
        }
    }

    /// A place for a page of a set that is to be read ahead; none while as many are as there may be, or when
    /// the page is here already.
    pub(crate) fn plan(&mut self, set: SetId, logical: LogicalPage) -> Option<SlotId> {
        if self.shares[set].ahead >= self.capacity.div_ceil(2) {
            return None;
        }
        let slot = self.claim(set, logical, State::Planned)?;
        self.slots[slot].is_ahead = true;
        self.shares[set].ahead += 1;
        Some(slot)
    }

    /// True when a page is here, on its way, or about to be.
    pub(crate) fn knows(&self, logical: LogicalPage) -> bool {
        self.find(logical).is_some()
    }

    /// The request that reads ahead into a slot.
    pub(crate) fn set_request(&mut self, slot: SlotId, request: RequestId) {
        self.slots[slot].request = request;
    }

    /// The request that reads ahead into a slot, until it has ended.
    pub(crate) fn request_of(&self, slot: SlotId) -> RequestId {
        self.slots[slot].request
    }

    /// A planned read ahead is not carried out.
    pub(crate) fn abandon(&mut self, slot: SlotId) {
        assert_eq!(self.slots[slot].state, State::Planned, "only what has not begun is given up");
        self.release(slot);
    }

    /// A chip begins to read a planned page.
    pub(crate) fn begin(&mut self, slot: SlotId) {
        let s = &mut self.slots[slot];
        assert_eq!(s.state, State::Planned, "a page is read ahead once");
        s.state = State::UnderWay;
        self.counts.begun += 1;
    }

    /// A page that was read ahead is here. Returns the reads that have waited for it.
    pub(crate) fn arrived(&mut self, slot: SlotId, content: u32) -> WaiterId {
        let s = &mut self.slots[slot];
        let readers = std::mem::replace(&mut s.readers, WaiterId::NONE);
        if s.state == State::Outdated {
            self.release(slot);
            return readers;
        }
        assert_eq!(s.state, State::UnderWay, "it was being read");
        (s.state, s.content) = (State::Kept, content);
        self.link(slot);
        readers
    }

    /// A page is written or trimmed: drops its copy. If it was to be read ahead, that is void.
    pub(crate) fn forget(&mut self, logical: LogicalPage) {
        let Some(slot) = self.find(logical) else { return };
        match self.slots[slot].state {
            State::Kept => self.drop_kept(slot),
            State::Planned => self.release(slot),
            State::UnderWay => {
                // Reads from before still get what it was.
                self.places.set(logical.index(), 0);
                self.slots[slot].state = State::Outdated;
            }
            State::Outdated => unreachable!("nobody finds a page that is outdated"),
        }
    }

    fn drop_kept(&mut self, slot: SlotId) {
        self.unlink(slot);
        self.release(slot);
    }

    /// Takes a slot, that of the page used least recently if there is no other. None when every page is on
    /// its way.
    fn claim(&mut self, set: SetId, logical: LogicalPage, state: State) -> Option<SlotId> {
        if self.shares[set].used >= self.capacity {
            let oldest = self.shares[set].oldest;
            if oldest == SlotId::NONE {
                return None;
            }
            self.drop_kept(oldest);
        }
        let slot = Slot {
            logical,
            content: 0,
            state,
            is_ahead: false,
            set,
            request: RequestId::NONE,
            readers: WaiterId::NONE,
            prev: SlotId::NONE,
            next: SlotId::NONE,
        };
        self.shares[set].used += 1;
        let id = self.slots.insert(slot);
        self.places.set(logical.index(), id.get() + 1);
        Some(id)
    }

    /// Gives a slot back that stands in no list.
    fn release(&mut self, slot: SlotId) {
        let Slot { logical, set, is_ahead, state, readers, .. } = self.slots[slot];
        assert_eq!(readers, WaiterId::NONE, "a page was given up while a read waited for it");
        if state != State::Outdated {
            self.places.set(logical.index(), 0);
        }
        let share = &mut self.shares[set];
        share.used -= 1;
        share.ahead -= u32::from(is_ahead);
        self.counts.in_vain += u64::from(is_ahead && state != State::Planned);
        // A planned read ahead that still has this slot is void.
        self.slots[slot].request = RequestId::NONE;
        self.slots.release(slot);
    }

    /// Puts a page at the end of those that were used.
    fn link(&mut self, slot: SlotId) {
        let share = &mut self.shares[self.slots[slot].set];
        let newest = std::mem::replace(&mut share.newest, slot);
        (self.slots[slot].prev, self.slots[slot].next) = (newest, SlotId::NONE);
        match newest {
            SlotId::NONE => share.oldest = slot,
            newest => self.slots[newest].next = slot,
        }
    }

    fn unlink(&mut self, slot: SlotId) {
        let Slot { set, prev, next, .. } = self.slots[slot];
        let share = &mut self.shares[set];
        match prev {
            SlotId::NONE => share.oldest = next,
            prev => self.slots[prev].next = next,
        }
        match next {
            SlotId::NONE => share.newest = prev,
            next => self.slots[next].prev = prev,
        }
    }

    /// Pages that were or are being read ahead and were never requested; walks all slots.
    pub(crate) fn unasked(&self) -> u64 {
        let is_unasked = |slot: &Slot| slot.is_ahead && slot.state != State::Planned;
        self.slots.allocated().filter(|(_, slot)| is_unasked(slot)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;
    use tailcut_base::random::Stream;

    fn cache(pages: u64) -> ReadCache {
        let geometry = Geometry { page_bytes: 512, ..Preset::M.config().geometry };
        let config = CacheConfig { size: pages * 512, ..CacheConfig::OFF };
        ReadCache::new(&config, &geometry, 100, &Sets::one(&geometry))
    }

    /// Compares with a list that is too simple to be wrong.
    #[test]
    fn the_page_that_was_used_least_recently_goes_first() {
        let mut cache = cache(5);
        let mut model: Vec<(u64, u32)> = Vec::new();
        let mut random = Stream::new(3, "test.cache");
        for step in 0..20_000u32 {
            let page = random.below(12);
            let at = model.iter().position(|&(known, _)| known == page);
            match random.below(4) {
                0 => {
                    cache.forget(LogicalPage::new(page));
                    at.map(|at| model.remove(at));
                }
                _ => {
                    let expected = at.map(|at| model[at].1);
                    match cache.look_up(LogicalPage::new(page)) {
                        CacheLookup::Kept(content) => assert_eq!(Some(content), expected),
                        found => assert_eq!((found, expected), (CacheLookup::No, None)),
                    }
                    cache.keep(SetId::new(0), LogicalPage::new(page), step);
                    let content = at.map_or(step, |at| model.remove(at).1);
                    model.push((page, content));
                    if model.len() > 5 {
                        model.remove(0);
                    }
                }
            }
        }
        assert!(cache.counts.hits > 1000);
    }

    #[test]
    fn pages_that_nobody_has_asked_for_have_half_of_the_room() {
        let mut cache = cache(4);
        for page in 10..14 {
            cache.keep(SetId::new(0), LogicalPage::new(u64::from(page)), page);
        }
        let slots: Vec<Option<SlotId>> =
            (0..3).map(|page| cache.plan(SetId::new(0), LogicalPage::new(page))).collect();
        assert!(slots[0].is_some() && slots[1].is_some() && slots[2].is_none());
        assert_eq!(cache.look_up(LogicalPage::new(10)), CacheLookup::No, "it made room");
        assert_eq!(cache.look_up(LogicalPage::new(13)), CacheLookup::Kept(13));
        slots.iter().flatten().for_each(|&slot| cache.begin(slot));
        cache.arrived(slots[0].expect("there was room"), 7);
        assert_eq!(cache.look_up(LogicalPage::new(0)), CacheLookup::Kept(7));
        assert!(cache.plan(SetId::new(0), LogicalPage::new(2)).is_some(), "one has been asked for");
    }

    #[test]
    fn what_is_read_ahead_is_used_met_or_in_vain() {
        let mut cache = cache(8);
        let plan = |cache: &mut ReadCache, page| {
            let slot = cache.plan(SetId::new(0), page).expect("there is room");
            cache.set_request(slot, RequestId::new(100 + page.get() as u32));
            slot
        };
        let late = plan(&mut cache, LogicalPage::new(1));
        assert!(cache.is_planned(late, RequestId::new(101)) && !cache.is_planned(late, RequestId::new(102)));
        assert_eq!(cache.look_up(LogicalPage::new(1)), CacheLookup::No, "it had not begun");
        assert!(!cache.is_planned(late, RequestId::new(101)), "it is void");
        let met = plan(&mut cache, LogicalPage::new(2));
        cache.begin(met);
        assert_eq!(cache.look_up(LogicalPage::new(2)), CacheLookup::UnderWay(met));
        *cache.readers_mut(met) = WaiterId::new(55);
        cache.forget(LogicalPage::new(2));
        assert_eq!(
            cache.look_up(LogicalPage::new(2)),
            CacheLookup::No,
            "what a chip still reads of it is for older reads"
        );
        assert_eq!(cache.arrived(met, 9), WaiterId::new(55));
        let lost = plan(&mut cache, LogicalPage::new(3));
        cache.begin(lost);
        cache.arrived(lost, 9);
        cache.forget(LogicalPage::new(3));
        assert_eq!(late, met, "places are used again");
        assert_eq!(cache.counts, CacheCounts { hits: 0, begun: 2, used: 0, met: 1, in_vain: 1 });
        assert_eq!(cache.unasked(), 0);
    }
}
