//! The way of a write with force unit access (FUA), from the buffer on: it ends when its pages are on flash.

use super::Ssd;
use crate::frontend::buffer::EntryState;
use crate::probe::Probe;
use crate::request::{EntryId, RequestId, Tag, WaiterId};
use tailcut_base::{Cause, Nanos, Time};

impl<P: Probe> Ssd<P> {
    /// A write that must be durable waits for the programs of its pages, which start at once.
    pub(crate) fn force(&mut self, now: Time, tag: Tag) {
        let takes_writes = |set| self.mapping.takes_writes(set);
        let forced = self.frontend.force(now, tag, &self.mapping.ftl, takes_writes);
        if forced.is_empty() {
            self.complete(now, tag);
        }
        // On a read-only drive `issue` fails the entry at once, and the command with it: register the waiters of all
        // pages before issuing the first.
        for entry in forced {
            if self.frontend.buffer[entry].state == EntryState::Dirty {
                self.issue(now, entry);
            }
        }
        self.wake(now);
    }

    /// The program of an entry has ended: the time of the writes whose last page it was goes to what the program waited
    /// for. A write that met a program under way, or one that was repeated, waited for a flush.
    #[inline]
    pub(crate) fn account_forced(&mut self, now: Time, id: RequestId, entry: EntryId) {
        let list = self.frontend.buffer[entry].programmed_waiters;
        if list == WaiterId::NONE || self.frontend.buffer.is_write_through() {
            return;
        }
        for tag in self.frontend.waiters.tags(list) {
            let t = &mut self.frontend.tags[tag];
            if t.remaining > 1 {
                t.page_served(self.backend.served_page(id, now));
            } else if let Some(before) = self.backend.wait_before(id, t.mark) {
                t.spans.add(Cause::Flush, before);
                self.backend.add_spans(t.spans_and_served(), id, Nanos::ZERO, now);
                t.mark = now;
            }
        }
    }
}
