//! The chips: the state of each, the requests committed to it, and its time accounts.
//!
//! A *LUN* is what one ready/busy line speaks for: a chip, or a die where each die has its own
//! line. It carries one transaction at a time, of up to one memory request for each of its places
//! (die and plane).

mod check;

use super::transaction::Transaction;
use crate::backend::requests::Requests;
use crate::flash::geometry::{Geometry, LunId};
use crate::holder::{Account, Holder};
use crate::mutation::{Invariant, holds};
use crate::request::{Kind, Lane, MemoryRequest, RequestId, Tag};
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::{Nanos, Time};

/// The state of a LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The LUN carries out no transaction.
    Idle,
    /// Waits for the bus to start a transaction that is not composed yet.
    AwaitStart,
    /// The bus carries the command (and the data of a program), then the cells work.
    Cell,
    /// The rest of a program's pages waits for the bus.
    AwaitIn,
    /// A read's data, or the rest of it, waits for the bus.
    AwaitOut,
    /// A read's data is on the bus.
    Out,
    /// A program or erase is being suspended.
    Suspending,
    /// A program or erase is being reset.
    Resetting,
}

/// Kinds of work that figures keep apart.
const KINDS: usize = Kind::ALL.len();

/// One chip, or die with its own ready/busy line.
#[derive(Clone, Debug)]
pub struct Lun {
    /// What the LUN does at the moment.
    pub phase: Phase,
    /// The transaction that the LUN carries out; of no meaning while the LUN is idle.
    pub transaction: Transaction,
    /// The I/O request whose memory requests are committed; [`Tag::NONE`] when none are.
    pub committed_tag: Tag,
    /// How many host memory requests are committed and not yet in a transaction.
    pub committed_count: u32,
    /// Places whose programs wait outside the chip for an erase (block-level mapping).
    pub starved: u16,
    /// Places to which data of committed writes is on the link.
    awaited: u16,
    /// A program or erase that reads may preempt has the LUN.
    pub is_preemptible: bool,
    /// Reads may be committed to the LUN although it is busy: each of them may preempt.
    pub opens_to_reads: bool,
    /// A suspended program or erase waits to be resumed.
    pub is_suspended: bool,
    /// Since when user reads have gone before other work that waits, or have preempted it, without any
    /// of it ending; [`Time::NEVER`] while they have not.
    pub held_off_since: Time,
    /// When what is being suspended or reset will have made room.
    pub makes_room_at: Time,
    /// For each lane the places whose list is not empty.
    occupied: [u16; Lane::COUNT],
    /// The lanes in which there is work, a bit for each.
    lanes: u8,
    /// How many requests stand in each lane.
    waiting: [u32; Lane::COUNT],
    account: Account,
    holder: Holder,
    holder_since: Time,
}

impl Lun {
    fn new() -> Lun {
        Lun {
            phase: Phase::Idle,
            transaction: Transaction::none(),
            committed_tag: Tag::NONE,
            committed_count: 0,
            starved: 0,
            awaited: 0,
            is_preemptible: false,
            opens_to_reads: false,
            is_suspended: false,
            held_off_since: Time::NEVER,
            makes_room_at: Time::ZERO,
            occupied: [0; Lane::COUNT],
            lanes: 0,
            waiting: [0; Lane::COUNT],
            account: Account::default(),
            holder: Holder::Idle,
            holder_since: Time::ZERO,
        }
    }

    /// Changes the holder, closing the account of the one before.
    #[inline]
    pub fn hold(&mut self, now: Time, holder: Holder) {
        self.account[self.holder as usize] += now.since(self.holder_since).0;
        self.holder = holder;
        self.holder_since = now;
    }

    /// When the present holder took the LUN, or when the LUN became idle.
    pub fn held_since(&self) -> Time {
        self.holder_since
    }

    /// The accounts up to `now`.
    #[inline]
    pub fn account(&self, now: Time) -> Account {
        let mut account = self.account;
        account[self.holder as usize] += now.since(self.holder_since).0;
        account
    }

    /// True while none of its work can start for want of erased pages.
    #[inline]
    pub fn is_short_of_space(&self) -> bool {
        self.holder == Holder::Space || self.starved != 0
    }

    /// Places to which data of committed writes is on the link, as a bit mask.
    #[inline]
    pub fn awaited(&self) -> u16 {
        self.awaited
    }

    /// True while data is on the link for a place that has no other write to contribute to the next
    /// transaction: its parallelism is decided when the command sequence starts (Sprinkler, section
    /// 2.2), so the few µs of the transfer are worth a page of parallelism.
    #[inline]
    pub fn holds_for_data(&self) -> bool {
        self.awaited & !self.places_with(Lane::USER_WRITE) != 0 && holds(Invariant::HoldForData)
    }

    /// A committed host request is not committed here any more.
    #[inline]
    pub fn uncommit(&mut self) {
        self.committed_count -= 1;
        if self.committed_count == 0 {
            self.committed_tag = Tag::NONE;
        }
    }

    /// Something else than a user read has ended here.
    #[inline]
    pub fn end_of_other_work(&mut self) {
        self.held_off_since = Time::NEVER;
        (self.is_preemptible, self.opens_to_reads) = (false, false);
    }

    /// User reads go before other work from now on, if they have not done so before.
    #[inline]
    pub fn hold_off(&mut self, now: Time) {
        self.held_off_since = self.held_off_since.min(now);
    }

    /// True when something else than user reads waits, or stands suspended.
    #[inline]
    pub fn has_other_work(&self) -> bool {
        self.is_suspended || (self.lanes & Lane::ALL_BUT_AHEAD) >> Lane::READS.len() != 0
    }

    /// True when work of any kind is committed.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.lanes != 0
    }

    /// True when work is committed in `lane`, and in no other.
    #[inline]
    pub fn has_only(&self, lane: Lane) -> bool {
        self.lanes == 1 << lane.index()
    }

    /// The most important lane of user reads in which there is work.
    #[inline]
    pub fn first_reads(&self) -> Option<Lane> {
        Lane::of_mask(self.lanes & ((1 << Lane::READS.len()) - 1)).next()
    }

    /// The lane of reads ahead, if there are any.
    #[inline]
    pub fn reads_ahead(&self) -> Option<Lane> {
        (self.lanes & Lane::AHEAD.mask() != 0).then_some(Lane::AHEAD)
    }

    /// The lanes of a mask in which there is work, the most important first.
    #[inline]
    pub fn lanes_with_work(&self, mask: u8) -> impl Iterator<Item = Lane> + use<> {
        Lane::of_mask(self.lanes & mask)
    }

    /// Number of requests that are committed to the LUN and wait in `lane`.
    #[inline]
    pub fn waiting(&self, lane: Lane) -> u32 {
        self.waiting[lane.index()]
    }

    /// The places that have work in `lane`, as a bit mask.
    #[inline]
    pub fn places_with(&self, lane: Lane) -> u16 {
        self.occupied[lane.index()]
    }
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: RequestId,
    last: RequestId,
}

/// All LUNs of a drive, with what their cells have done.
#[derive(Clone, Debug)]
pub struct Luns {
    luns: IdVec<LunId, Lun>,
    /// First-in first-out lists of committed requests, one for each LUN, lane and place.
    lists: Vec<List>,
    /// Pages of committed writes on the link, for each plane.
    on_link: Vec<u32>,
    places: usize,
    /// Cell time summed over dies that were at work.
    pub die_busy: Nanos,
    /// Cell time summed over planes that were at work.
    pub plane_busy: Nanos,
    /// Transactions by kind, without those that were reset.
    pub transactions: [u64; KINDS],
    /// Memory requests served by transactions, by kind.
    pub served: [u64; KINDS],
    /// Transactions by parallelism: none, plane sharing, die interleaving, both.
    pub parallelism: [u64; 4],
    /// Memory requests served by transactions, by parallelism.
    pub served_in: [u64; 4],
    /// Time that data of reads, sensed, has waited in chips for a bus.
    pub out_wait: Nanos,
    /// How many LUNs a transaction holds.
    held: u64,
    /// Ends minus starts of the times that they were held, modulo 2^64.
    held_base: u64,
}

impl Luns {
    /// Idle LUNs of a drive.
    pub fn new(geometry: &Geometry) -> Luns {
        Luns {
            luns: IdVec::filled(geometry.luns() as usize, Lun::new()),
            lists: vec![
                List { first: RequestId::NONE, last: RequestId::NONE };
                geometry.plane_count() as usize * Lane::COUNT
            ],
            on_link: vec![0; geometry.plane_count() as usize],
            places: geometry.places_per_lun() as usize,
            die_busy: Nanos::ZERO,
            plane_busy: Nanos::ZERO,
            transactions: [0; KINDS],
            served: [0; KINDS],
            parallelism: [0; 4],
            served_in: [0; 4],
            out_wait: Nanos::ZERO,
            held: 0,
            held_base: 0,
        }
    }

    /// Number of LUNs of the drive.
    pub fn len(&self) -> usize {
        self.luns.len()
    }

    /// True for a drive without chips, which cannot be configured.
    pub fn is_empty(&self) -> bool {
        self.luns.is_empty()
    }

    /// A transaction takes a LUN.
    #[inline]
    pub fn seize(&mut self, now: Time, lun: LunId, holder: Holder) {
        self.luns[lun].hold(now, holder);
        self.held += 1;
        self.held_base = self.held_base.wrapping_sub(now.0);
    }

    /// Ends the hold of a transaction on a LUN, which is idle from `now` on.
    #[inline]
    pub fn release(&mut self, now: Time, lun: LunId) {
        self.luns[lun].hold(now, Holder::Idle);
        self.held -= 1;
        self.held_base = self.held_base.wrapping_add(now.0);
    }

    /// Time of all LUNs up to `now` during which a transaction held them. Takes constant time for any
    /// number of LUNs.
    #[inline]
    pub fn held(&self, now: Time) -> Nanos {
        Nanos(self.held_base.wrapping_add(self.held.wrapping_mul(now.0)))
    }

    /// Counts a transaction: members, cell time of its dies and planes, and its parallelism.
    #[inline]
    pub fn count(&mut self, kind: Kind, members: u64, dies: Nanos, planes: Nanos, parallelism: usize) {
        self.die_busy += dies;
        self.plane_busy += planes;
        self.transactions[kind as usize] += 1;
        self.served[kind as usize] += members;
        self.parallelism[parallelism] += 1;
        self.served_in[parallelism] += members;
    }

    /// A counted transaction was given up: it has served nothing, and of its cell time in `dies` dies,
    /// `left` was not spent.
    pub fn uncount(&mut self, transaction: &Transaction, left: Nanos, dies: u32) {
        let members = transaction.members().len() as u64;
        self.die_busy = self.die_busy.saturating_sub(left * u64::from(dies));
        self.plane_busy = self.plane_busy.saturating_sub(left * members);
        self.transactions[transaction.kind as usize] -= 1;
        self.served[transaction.kind as usize] -= members;
        self.parallelism[usize::from(transaction.parallelism)] -= 1;
        self.served_in[usize::from(transaction.parallelism)] -= members;
    }

    #[inline]
    fn list(&self, lun: LunId, lane: Lane, place: u32) -> usize {
        (lun.index() * Lane::COUNT + lane.index()) * self.places + place as usize
    }

    /// The oldest request of `lane` at `place`.
    #[inline]
    pub fn first(&self, lun: LunId, lane: Lane, place: u32) -> RequestId {
        self.lists[self.list(lun, lane, place)].first
    }

    /// Commits a request: appends it to the list of its LUN, lane and place.
    #[inline(always)]
    pub fn commit(&mut self, requests: &mut Requests, id: RequestId) {
        let (lun, lane, place) = (requests[id].lun, requests[id].lane, u32::from(requests[id].place));
        requests[id].next = RequestId::NONE;
        self.luns[lun].waiting[lane.index()] += 1;
        let at = self.list(lun, lane, place);
        match self.lists[at].last {
            RequestId::NONE => self.begin_list(at, id, lun, lane, place),
            last => requests[last].next = id,
        }
        self.lists[at].last = id;
    }

    /// Commits a request that was taken before, ahead of all others of its list.
    pub fn commit_again(&mut self, requests: &mut Requests, id: RequestId) {
        let (lun, lane, place) = (requests[id].lun, requests[id].lane, u32::from(requests[id].place));
        let at = self.list(lun, lane, place);
        let first = self.lists[at].first;
        self.luns[lun].waiting[lane.index()] += 1;
        requests[id].next = first;
        if first == RequestId::NONE {
            self.begin_list(at, id, lun, lane, place);
            self.lists[at].last = id;
        } else {
            self.lists[at].first = id;
        }
    }

    #[inline(always)]
    fn begin_list(&mut self, at: usize, id: RequestId, lun: LunId, lane: Lane, place: u32) {
        self.lists[at].first = id;
        let u = &mut self.luns[lun];
        u.occupied[lane.index()] |= 1 << place;
        u.lanes |= 1 << lane.index();
    }

    /// The data of a committed write to a place begins its way over the link.
    pub fn await_data(&mut self, lun: LunId, place: u32) {
        self.on_link[lun.index() * self.places + place as usize] += 1;
        self.luns[lun].awaited |= 1 << place;
    }

    /// The data of a committed write to a place is here.
    pub fn data_arrived(&mut self, lun: LunId, place: u32) {
        let on_link = &mut self.on_link[lun.index() * self.places + place as usize];
        *on_link -= 1;
        if *on_link == 0 {
            self.luns[lun].awaited &= !(1 << place);
        }
    }

    /// Takes the oldest request of `lane` at `place`.
    ///
    /// # Panics
    /// If nothing of `lane` is committed at `place`.
    #[inline(always)]
    pub fn take(&mut self, requests: &Requests, lun: LunId, lane: Lane, place: u32) -> RequestId {
        let at = self.list(lun, lane, place);
        let id = self.lists[at].first;
        assert!(id != RequestId::NONE, "took a request that was not committed");
        self.lists[at].first = requests[id].next;
        let u = &mut self.luns[lun];
        u.waiting[lane.index()] -= 1;
        if requests[id].next == RequestId::NONE {
            self.lists[at].last = RequestId::NONE;
            u.occupied[lane.index()] &= !(1 << place);
            u.lanes &= !(u8::from(u.occupied[lane.index()] == 0) << lane.index());
        }
        id
    }

    /// Takes the request of `lane` at `place` that `is_meant`, wherever in the list it stands.
    pub fn take_where(
        &mut self,
        requests: &mut Requests,
        lun: LunId,
        lane: Lane,
        place: u32,
        is_meant: impl Fn(&MemoryRequest) -> bool,
    ) -> Option<RequestId> {
        let at = self.list(lun, lane, place);
        let mut before = RequestId::NONE;
        let mut id = self.lists[at].first;
        while id != RequestId::NONE && !is_meant(&requests[id]) {
            before = id;
            id = requests[id].next;
        }
        if id == RequestId::NONE {
            return None;
        }
        if before == RequestId::NONE {
            return Some(self.take(requests, lun, lane, place));
        }
        requests[before].next = requests[id].next;
        if requests[id].next == RequestId::NONE {
            self.lists[at].last = before;
        }
        self.luns[lun].waiting[lane.index()] -= 1;
        Some(id)
    }

    /// The ids of all LUNs, in ascending order.
    pub fn ids(&self) -> impl Iterator<Item = LunId> + use<> {
        self.luns.ids()
    }

    /// All LUNs, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Lun> {
        self.luns.iter()
    }
}

impl std::ops::Index<LunId> for Luns {
    type Output = Lun;
    #[inline]
    fn index(&self, lun: LunId) -> &Lun {
        &self.luns[lun]
    }
}

impl std::ops::IndexMut<LunId> for Luns {
    #[inline]
    fn index_mut(&mut self, lun: LunId) -> &mut Lun {
        &mut self.luns[lun]
    }
}
