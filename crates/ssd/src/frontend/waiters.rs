//! Pages of commands that wait for something to end: for a program, or for a read ahead.

use crate::request::{Tag, WaiterId};
use tailcut_base::Time;
use tailcut_base::ids::Pool;

/// A page of a command that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    /// The command that the page belongs to.
    pub(crate) tag: Tag,
    /// Number of the page in its command, from 0.
    pub(crate) page: u32,
    /// When the page began to wait.
    pub(crate) since: Time,
}

/// Lists of waiters, the latest first.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiters: Pool<WaiterId, (Waiter, WaiterId)>,
}

impl Waiters {
    /// Puts a waiter before the list that begins with `rest`. Returns the list.
    pub(crate) fn push(&mut self, waiter: Waiter, rest: WaiterId) -> WaiterId {
        self.waiters.insert((waiter, rest))
    }

    /// True if nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// The tags of the waiters of a list.
    pub(crate) fn tags(&self, list: WaiterId) -> impl Iterator<Item = Tag> {
        let next = |&list: &WaiterId| Some(self.waiters[list].1).filter(|&rest| rest != WaiterId::NONE);
        let first = Some(list).filter(|&list| list != WaiterId::NONE);
        std::iter::successors(first, next).map(|list| self.waiters[list].0.tag)
    }

    /// Takes the first waiter out of a list, which is the rest from then on.
    pub(crate) fn pop(&mut self, list: &mut WaiterId) -> Option<Waiter> {
        if *list == WaiterId::NONE {
            return None;
        }
        let (waiter, rest) = self.waiters[*list];
        self.waiters.release(*list);
        *list = rest;
        Some(waiter)
    }
}
