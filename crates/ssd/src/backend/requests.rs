//! All memory requests in flight.

use crate::holder::Account;
use crate::request::{MemoryRequest, RequestId};
use std::ops::{Index, IndexMut};
use tailcut_base::ids::{IdVec, Pool};

/// All memory requests in flight, with the accounts of what each waits for. Freed places are used
/// again, so after the first moments nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    requests: Pool<RequestId, MemoryRequest>,
    accounts: IdVec<RequestId, Account>,
    order: u64,
}

impl Requests {
    /// Takes a place for `request`.
    #[inline]
    pub fn add(&mut self, request: MemoryRequest) -> RequestId {
        let id = self.requests.insert(request);
        self.accounts.extend_to(id, Account::default());
        id
    }

    /// Removes a memory request, whose id may be used for another from then on.
    #[inline]
    pub fn remove(&mut self, id: RequestId) {
        self.requests.release(id);
    }

    /// The next number of order.
    #[inline]
    pub fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// Remembers the account of the LUN at the moment when `id` began to wait for it.
    #[inline]
    pub fn snapshot(&mut self, id: RequestId, account: Account) {
        self.accounts[id] = account;
    }

    /// Turns the remembered account into what the LUN did while `id` waited.
    #[inline]
    pub fn settle(&mut self, id: RequestId, account: &Account) {
        for (waited, now) in self.accounts[id].iter_mut().zip(account) {
            *waited = now.wrapping_sub(*waited);
        }
    }

    /// `id`, which had begun, waits again for the LUN whose account is `account`: what it has seen before
    /// it began stays counted.
    pub fn wait_again(&mut self, id: RequestId, account: &Account) {
        for (waited, now) in self.accounts[id].iter_mut().zip(account) {
            *waited = now.wrapping_sub(*waited);
        }
    }

    /// `id` keeps waiting at another LUN, whose account is `to`: what it has accumulated at the one
    /// before, with account `from`, stays counted.
    pub fn change_lun(&mut self, id: RequestId, from: &Account, to: &Account) {
        for (remembered, (from, to)) in self.accounts[id].iter_mut().zip(from.iter().zip(to)) {
            *remembered = remembered.wrapping_add(to.wrapping_sub(*from));
        }
    }

    /// The time account of the LUN while `id` waited; only after [`Requests::settle`].
    #[inline]
    pub fn waited(&self, id: RequestId) -> &Account {
        &self.accounts[id]
    }

    /// All memory requests in flight, with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (RequestId, &MemoryRequest)> {
        self.requests.allocated()
    }

    /// Number of memory requests in flight, committed or not.
    pub fn in_flight(&self) -> usize {
        self.requests.len()
    }
}

impl Index<RequestId> for Requests {
    type Output = MemoryRequest;
    #[inline]
    fn index(&self, id: RequestId) -> &MemoryRequest {
        &self.requests[id]
    }
}

impl IndexMut<RequestId> for Requests {
    #[inline]
    fn index_mut(&mut self, id: RequestId) -> &mut MemoryRequest {
        &mut self.requests[id]
    }
}
