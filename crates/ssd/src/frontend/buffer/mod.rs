//! The DRAM buffer: pages on their way to flash.
//!
//! In write-back mode a write completes when its data is here; in write-through mode (no
//! capacity) an entry only holds the data until it is programmed. Either way an entry is the
//! newest version of its logical page: reads are served from it, later writes merge into it, so
//! requests for one page keep their order.

mod check;

use crate::config::BufferConfig;
use crate::flash::{LogicalPage, PhysicalPage};
use crate::mutation::{Invariant, holds};
use crate::request::{EntryId, RequestId, Tag, WaiterId};
use crate::room::RoomClock;
use crate::sets::SetId;
use std::collections::VecDeque;
use tailcut_base::cast::to_usize;
use tailcut_base::device::content::Change;
use tailcut_base::ids::{IdVec, Pool};

/// How far an entry has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryState {
    /// Not in use.
    Free,
    /// Its data is still on the link, or waits for the commit scheduler.
    Filling,
    /// The entry waits in the line of dirty entries.
    Dirty,
    /// On its way to a chip: the read of its old rest, or its program, is committed.
    Issued,
    /// Being programmed.
    Programming,
    /// The drive has become read-only before the entry could be written.
    Stranded,
}

/// A page in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The logical page that the entry holds.
    pub logical: LogicalPage,
    /// How far the entry has come on its way to flash.
    pub state: EntryState,
    /// The version on flash; [`PhysicalPage::NONE`] when there is none.
    pub old: PhysicalPage,
    /// Fingerprint of the content that the writes in `change` are applied to.
    pub base: u32,
    /// The change made by the writes since then.
    change: Change,
    /// Sectors that have been written.
    sectors: u64,
    /// True when the whole page is here.
    pub whole: bool,
    /// It has room in the buffer; until then its data is still with the host.
    has_room: bool,
    /// Written again while it was being programmed.
    pub dirty_again: bool,
    /// Trimmed while it was issued or programmed: not to be mapped.
    pub trimmed: bool,
    /// Write stream of the last write to the page.
    pub stream: u8,
    /// The set of its logical page.
    set: SetId,
    /// The flush epoch that it belongs to.
    epoch: u64,
    /// The flush epoch of the data being programmed.
    programmed_epoch: u64,
    /// Waiters for the next program, and for the present one.
    pub waiters: WaiterId,
    /// Waiters for the program under way.
    pub programmed_waiters: WaiterId,
    /// Reads that wait for the program under way (without hit manager).
    pub readers: RequestId,
    prev: EntryId,
    next: EntryId,
}

impl Entry {
    /// The page's content as a read sees it.
    #[inline]
    pub(crate) fn content(&self) -> u32 {
        self.change.apply(self.base)
    }
}

#[derive(Clone, Debug, Default)]
struct Epoch {
    pending: u32,
    flushes: Vec<Tag>,
}

/// The share of a set in the buffer.
#[derive(Clone, Debug)]
struct Share {
    used: usize,
    dirty_first: EntryId,
    dirty_last: EntryId,
    dirty: usize,
    epochs: VecDeque<Epoch>,
    first_epoch: u64,
    /// Tags that wait for room, oldest first.
    line: VecDeque<Tag>,
    room: RoomClock,
}

impl Share {
    fn new() -> Share {
        Share {
            used: 0,
            dirty_first: EntryId::NONE,
            dirty_last: EntryId::NONE,
            dirty: 0,
            epochs: VecDeque::from([Epoch::default()]),
            first_epoch: 0,
            line: VecDeque::new(),
            room: RoomClock::default(),
        }
    }

    #[inline]
    fn join_epoch(&mut self) -> u64 {
        self.epochs.back_mut().expect("there is always an epoch").pending += 1;
        self.first_epoch + self.epochs.len() as u64 - 1
    }
}

/// The buffer, divided evenly between the sets of the drive.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    entries: Pool<EntryId, Entry>,
    /// Pages of each set that have room.
    capacity: usize,
    threshold: usize,
    /// A capacitor makes the buffer durable.
    pub capacitor: bool,
    shares: IdVec<SetId, Share>,
    /// Writes merged into an entry that was there already.
    pub write_hits: u64,
    /// Pages read from the buffer.
    pub read_hits: u64,
}

impl Buffer {
    /// An empty buffer for pages of `page_bytes`, shared equally by `sets` sets.
    pub(crate) fn new(config: &BufferConfig, page_bytes: u64, sets: u32) -> Buffer {
        let capacity = to_usize(config.size / page_bytes) / sets as usize;
        Buffer {
            entries: Pool::new(),
            capacity,
            threshold: (capacity as u64 * u64::from(config.flush_above) / 1_000_000) as usize,
            capacitor: config.capacitor,
            shares: IdVec::filled(sets as usize, Share::new()),
            write_hits: 0,
            read_hits: 0,
        }
    }

    /// True when writes complete only on flash.
    #[inline]
    pub(crate) fn is_write_through(&self) -> bool {
        self.capacity == 0
    }

    #[inline(always)]
    fn share(&self, set: SetId) -> &Share {
        &self.shares[set]
    }

    #[inline(always)]
    fn share_mut(&mut self, set: SetId) -> &mut Share {
        &mut self.shares[set]
    }

    /// Pages of any set that have room at once.
    pub(crate) fn room(&self) -> u64 {
        let room = |share: &Share| match share.line.is_empty() {
            true => self.capacity.saturating_sub(share.used) as u64,
            false => 0,
        };
        self.shares.iter().map(room).min().unwrap_or(0)
    }

    /// The set of an entry's logical page.
    #[inline(always)]
    pub(crate) fn set_of(&self, id: EntryId) -> SetId {
        self.entries[id].set
    }

    /// Pages of a set in the buffer.
    pub(crate) fn pages(&self, set: SetId) -> usize {
        self.share(set).used
    }

    /// Dirty entries of a set that are not on their way to flash.
    #[inline]
    pub(crate) fn dirty(&self, set: SetId) -> usize {
        self.share(set).dirty
    }

    /// Tags that wait for room for pages of a set, oldest first.
    #[inline]
    pub(crate) fn line(&mut self, set: SetId) -> &mut VecDeque<Tag> {
        &mut self.share_mut(set).line
    }

    /// The oldest dirty entry of a set, when more entries are dirty than the threshold allows, or when a
    /// request waits for room or for a flush.
    #[inline(always)]
    pub(crate) fn to_flush(&self, set: SetId) -> Option<EntryId> {
        let share = self.share(set);
        let should_flush = share.dirty > self.threshold
            || (share.dirty > 0 && (!share.line.is_empty() || share.epochs.len() > 1));
        should_flush.then_some(share.dirty_first)
    }

    /// True while dirty entries of a set may stay where they are: at least half of its share is free, and
    /// no request waits for room or for a flush.
    #[inline]
    pub(crate) fn can_wait(&self, set: SetId) -> bool {
        let share = self.share(set);
        share.used * 2 <= self.capacity && share.line.is_empty() && share.epochs.len() == 1
    }

    /// Makes an entry for a logical page of a set, whose flash version is `old`, or
    /// [`PhysicalPage::NONE`], with content `base`. It has no room yet: see [`Buffer::make_room`].
    #[inline(always)]
    pub(crate) fn create(
        &mut self,
        set: SetId,
        logical: LogicalPage,
        old: PhysicalPage,
        base: u32,
    ) -> EntryId {
        let entry = Entry {
            logical,
            state: EntryState::Filling,
            old,
            base,
            change: Change::NONE,
            sectors: 0,
            whole: old == PhysicalPage::NONE,
            has_room: false,
            dirty_again: false,
            trimmed: false,
            stream: 0,
            set,
            epoch: self.share_mut(set).join_epoch(),
            programmed_epoch: 0,
            waiters: WaiterId::NONE,
            programmed_waiters: WaiterId::NONE,
            readers: RequestId::NONE,
            prev: EntryId::NONE,
            next: EntryId::NONE,
        };
        self.entries.insert(entry)
    }

    /// Gives an entry room, if it has none. False when there is none left.
    #[inline(always)]
    pub(crate) fn make_room(&mut self, id: EntryId) -> bool {
        let entry = &mut self.entries[id];
        if entry.has_room {
            return true;
        }
        let share = &mut self.shares[entry.set];
        if share.used >= self.capacity {
            return false;
        }
        entry.has_room = true;
        share.used += 1;
        true
    }

    /// Merges a write into an entry.
    #[inline(always)]
    pub(crate) fn write(&mut self, id: EntryId, change: Change, sectors: u64, whole: bool, stream: u8) {
        let again = self.entries[id].state == EntryState::Programming && !self.entries[id].dirty_again;
        if again {
            let epoch = self.share_mut(self.set_of(id)).join_epoch();
            self.entries[id].epoch = epoch;
        }
        let entry = &mut self.entries[id];
        entry.change = if entry.sectors == 0 || holds(Invariant::WriteAfterWrite) {
            entry.change.then(change)
        } else {
            change.then(entry.change)
        };
        entry.sectors |= sectors;
        entry.whole |= whole;
        entry.stream = stream;
        entry.dirty_again |= again;
    }

    /// Puts a filled entry at the end of the dirty line.
    #[inline(always)]
    pub(crate) fn make_dirty(&mut self, id: EntryId) {
        let entry = &mut self.entries[id];
        let share = &mut self.shares[entry.set];
        let last = share.dirty_last;
        entry.state = EntryState::Dirty;
        (entry.prev, entry.next) = (last, EntryId::NONE);
        match last {
            EntryId::NONE => share.dirty_first = id,
            last => self.entries[last].next = id,
        }
        share.dirty_last = id;
        share.dirty += 1;
    }

    /// Takes an entry out of the dirty line, because it is issued or trimmed.
    #[inline(always)]
    pub(crate) fn leave_line(&mut self, id: EntryId) {
        let Entry { prev, next, state, set, .. } = self.entries[id];
        assert_eq!(state, EntryState::Dirty);
        let share = &mut self.shares[set];
        match prev {
            EntryId::NONE => share.dirty_first = next,
            prev => self.entries[prev].next = next,
        }
        match next {
            EntryId::NONE => share.dirty_last = prev,
            next => self.entries[next].prev = prev,
        }
        share.dirty -= 1;
        self.entries[id].state = EntryState::Issued;
    }

    /// The entry's program begins: what it holds now is what will be on flash. Returns it.
    #[inline]
    pub(crate) fn begin_program(&mut self, id: EntryId) -> u32 {
        let entry = &mut self.entries[id];
        assert_eq!(entry.state, EntryState::Issued, "program of an entry that was not issued");
        entry.state = EntryState::Programming;
        entry.base = entry.content();
        entry.change = Change::NONE;
        entry.whole = true;
        entry.programmed_epoch = entry.epoch;
        entry.programmed_waiters = entry.waiters;
        entry.waiters = WaiterId::NONE;
        entry.base
    }

    /// Settles the account of the data of a set that has reached flash (or was trimmed before). Flush
    /// commands that can complete are appended to `flushes`.
    #[inline(always)]
    pub(crate) fn settle(&mut self, set: SetId, epoch: u64, flushes: &mut Vec<Tag>) {
        let share = self.share_mut(set);
        let at = to_usize(epoch - share.first_epoch);
        share.epochs[at].pending -= 1;
        while share.epochs.len() > 1 && share.epochs[0].pending == 0 {
            let epoch = share.epochs.pop_front().expect("there are two");
            share.first_epoch += 1;
            flushes.extend(epoch.flushes);
        }
    }

    /// The epoch of the data that an entry was programmed with.
    #[inline]
    pub(crate) fn programmed_epoch(&self, id: EntryId) -> u64 {
        self.entries[id].programmed_epoch
    }

    /// The epoch of the newest data of an entry.
    #[inline]
    pub(crate) fn epoch(&self, id: EntryId) -> u64 {
        self.entries[id].epoch
    }

    /// The clock of waits for room in the share of a set.
    pub(crate) fn room_clock(&mut self, set: SetId) -> &mut RoomClock {
        &mut self.share_mut(set).room
    }

    /// True while writes to a set wait to come in.
    #[inline]
    pub(crate) fn has_waiting(&self, set: SetId) -> bool {
        !self.share(set).line.is_empty()
    }

    /// True while at least seven eighths of the share of a set are in use.
    #[inline]
    pub(crate) fn is_nearly_full(&self, set: SetId) -> bool {
        self.share(set).used * 8 >= self.capacity * 7
    }

    /// True while a flush of a set waits.
    pub(crate) fn awaits_flush(&self, set: SetId) -> bool {
        self.share(set).epochs.len() > 1
    }

    /// Takes the version on flash from an entry, if there is one: it is obsolete.
    pub(crate) fn take_old(&mut self, id: EntryId) -> Option<PhysicalPage> {
        let old = std::mem::replace(&mut self.entries[id].old, PhysicalPage::NONE);
        (old != PhysicalPage::NONE).then_some(old)
    }

    /// Entries of a set that are on their way to flash, or not filled yet.
    pub(crate) fn not_dirty(&self, set: SetId) -> usize {
        self.pages(set) - self.dirty(set)
    }

    /// Frees an entry.
    #[inline(always)]
    pub(crate) fn release(&mut self, id: EntryId) {
        let entry = &mut self.entries[id];
        assert!(entry.state != EntryState::Free && entry.state != EntryState::Dirty);
        assert!(entry.waiters == WaiterId::NONE, "an entry was freed while a command waited for it");
        entry.state = EntryState::Free;
        self.shares[entry.set].used -= usize::from(entry.has_room);
        self.entries.release(id);
    }

    /// The entries of a set whose data is with the host or on the link; looks at all entries.
    pub(crate) fn filling(&self, set: SetId) -> Vec<EntryId> {
        self.entries
            .allocated()
            .filter(|(_, e)| e.state == EntryState::Filling && e.set == set)
            .map(|(id, _)| id)
            .collect()
    }

    /// All entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.allocated().map(|(_, entry)| entry)
    }

    /// True when nothing of a set is pending.
    pub(crate) fn is_durable(&self, set: SetId) -> bool {
        self.share(set).epochs.iter().all(|epoch| epoch.pending == 0)
    }

    /// Gives up all flush commands that wait for a set: appends them to `flushes`.
    pub(crate) fn give_up_flushes(&mut self, set: SetId, flushes: &mut Vec<Tag>) {
        flushes.extend(self.share_mut(set).epochs.iter_mut().flat_map(|epoch| epoch.flushes.drain(..)));
    }

    /// A flush command for a set: true when nothing is pending and it can complete at once; otherwise it is
    /// returned by a later [`Buffer::settle`].
    pub(crate) fn flush(&mut self, set: SetId, tag: Tag) -> bool {
        if self.is_durable(set) {
            return true;
        }
        let epochs = &mut self.share_mut(set).epochs;
        epochs.back_mut().expect("there is always an epoch").flushes.push(tag);
        epochs.push_back(Epoch::default());
        false
    }
}

impl std::ops::Index<EntryId> for Buffer {
    type Output = Entry;
    #[inline]
    fn index(&self, id: EntryId) -> &Entry {
        &self.entries[id]
    }
}

impl std::ops::IndexMut<EntryId> for Buffer {
    #[inline]
    fn index_mut(&mut self, id: EntryId) -> &mut Entry {
        &mut self.entries[id]
    }
}
