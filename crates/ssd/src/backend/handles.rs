//! Whose data a LUN works on: the time of its programs and of collection by reclaim unit handle, so that the
//! wait of a request can be attributed to the handle that caused it. Only for drives with data placement.

use super::Backend;
use crate::config::FdpConfig;
use crate::flash::{Geometry, LunId};
use crate::holder::Holder;
use crate::request::{Kind, RequestId};
use tailcut_base::cause::{HeldUp, HeldUpBy};
use tailcut_base::fdp::{GroupId, HANDLES_MAX, HandleId, PlacementId};
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::{Nanos, Time};

/// The time of each handle: programs of the host's data first, then collection.
type Account = [u64; 2 * HANDLES_MAX];

/// Such times of LUNs, and what waiting requests have seen of them.
#[derive(Debug)]
pub(super) struct HandleAccounts {
    luns_per_group: u32,
    luns: IdVec<LunId, LunAccount>,
    waited: IdVec<RequestId, Account>,
}

#[derive(Clone, Copy, Debug)]
struct LunAccount {
    times: Account,
    /// The place in the account of what holds the LUN, and since when; `None` for reads and while it is idle.
    holder: Option<(usize, Time)>,
}

impl LunAccount {
    fn at(&self, now: Time) -> Account {
        let mut times = self.times;
        if let Some((place, since)) = self.holder {
            times[place] += now.since(since).0;
        }
        times
    }
}

impl HandleAccounts {
    /// Accounts of the LUNs of a drive, of which each reclaim group has an equal share.
    pub(super) fn new(geometry: &Geometry, fdp: &FdpConfig) -> HandleAccounts {
        let idle = LunAccount { times: [0; 2 * HANDLES_MAX], holder: None };
        let luns_per_group = geometry.luns() / fdp.groups;
        let luns = IdVec::filled(geometry.luns() as usize, idle);
        HandleAccounts { luns_per_group, luns, waited: IdVec::new() }
    }

    fn group_of(&self, lun: LunId) -> GroupId {
        GroupId::new(lun.get() / self.luns_per_group)
    }

    /// A LUN is held by work on data of a handle, or by something else.
    fn hold(&mut self, now: Time, lun: LunId, holder: Option<usize>) {
        let account = &mut self.luns[lun];
        account.times = account.at(now);
        account.holder = holder.map(|place| (place, now));
    }
}

/// The place in an account of what a transaction does for a handle.
fn place_of(holder: Holder, handle: HandleId) -> Option<usize> {
    match holder {
        Holder::UserWrite => Some(handle.index()),
        Holder::GcRead | Holder::GcWrite | Holder::Erase => Some(HANDLES_MAX + handle.index()),
        _ => None,
    }
}

impl Backend {
    /// The transaction of a LUN takes it.
    #[inline]
    pub(super) fn seize(&mut self, now: Time, lun: LunId, holder: Holder) {
        self.luns.seize(now, lun, holder);
        if self.handles.is_some() {
            self.account_handle(now, lun, holder);
        }
    }

    /// The handle of the first page of a LUN's transaction; meaningless for reads of the host.
    fn first_handle(&self, lun: LunId) -> HandleId {
        let first = self.luns[lun].transaction.members().first();
        HandleId::new(first.map_or(0, |&id| u32::from(self.requests[id].frontier)))
    }

    /// Whose data a LUN's transaction programs, collects or erases.
    pub(super) fn handle_at_work(&self, lun: LunId) -> Option<HandleId> {
        let is_read = matches!(self.luns[lun].transaction.kind, Kind::UserRead | Kind::ReadAhead);
        (self.handles.is_some() && !is_read).then(|| self.first_handle(lun))
    }

    fn account_handle(&mut self, now: Time, lun: LunId, holder: Holder) {
        let place = place_of(holder, self.first_handle(lun));
        if let Some(accounts) = &mut self.handles {
            accounts.hold(now, lun, place);
        }
    }

    /// A LUN is idle from now on.
    #[inline]
    pub(super) fn end_handle(&mut self, now: Time, lun: LunId) {
        if let Some(accounts) = &mut self.handles {
            accounts.hold(now, lun, None);
        }
    }

    /// A request begins to wait for its LUN.
    #[inline]
    pub(super) fn begin_wait_for_handles(&mut self, now: Time, id: RequestId) {
        if let Some(accounts) = &mut self.handles {
            let account = accounts.luns[self.requests[id].lun].at(now);
            accounts.waited.extend_to(id, [0; 2 * HANDLES_MAX]);
            accounts.waited[id] = account;
        }
    }

    /// The wait of a request for its LUN is over.
    #[inline]
    pub(super) fn end_wait_for_handles(&mut self, now: Time, id: RequestId) {
        if let Some(accounts) = &mut self.handles {
            let account = accounts.luns[self.requests[id].lun].at(now);
            for (waited, now) in accounts.waited[id].iter_mut().zip(account) {
                *waited = now - *waited;
            }
        }
    }

    /// What a request whose wait is over has waited longest for: programs or collection of one handle.
    #[inline]
    pub(super) fn held_up(&self, id: RequestId) -> HeldUp {
        let Some(accounts) = &self.handles else { return HeldUp::NONE };
        let waited = accounts.waited[id].iter().enumerate();
        let longest = |longest: (usize, u64), (place, &time): (usize, &u64)| {
            if time > longest.1 { (place, time) } else { longest }
        };
        let (place, time) = waited.fold((0, 0), longest);
        let group = accounts.group_of(self.requests[id].lun);
        let placement = PlacementId::new(group, HandleId::at(place % HANDLES_MAX));
        let is_collection = place >= HANDLES_MAX;
        let by = if is_collection { HeldUpBy::collection(placement) } else { HeldUpBy::programs(placement) };
        HeldUp::new(by, Nanos(time))
    }
}
