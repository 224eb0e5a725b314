//! What holds of the read cache after every event.

use super::{ReadCache, State};
use crate::request::SlotId;
use tailcut_base::ids::Id;

impl ReadCache {
    /// Asserts of each set that its list of kept pages and its counts agree with the slots, and that every
    /// slot is found by its page. Walks all slots.
    pub(crate) fn check(&self) {
        for (set, share) in self.shares.iter_enumerated() {
            let slots = || self.slots.allocated().filter(|(_, slot)| slot.set == set);
            assert_eq!(share.used as usize, slots().count(), "slots of set {set}");
            assert!(share.used <= self.capacity, "the share of set {set}");
            let (mut next, mut last, mut kept) = (share.oldest, SlotId::NONE, 0);
            while next != SlotId::NONE {
                let slot = &self.slots[next];
                assert_eq!((slot.state, slot.set, slot.prev), (State::Kept, set, last), "slot {next}");
                kept += 1;
                (last, next) = (next, slot.next);
            }
            assert_eq!(share.newest, last, "the newest page of set {set}");
            let is_kept = |state: State| state == State::Kept;
            assert_eq!(slots().filter(|(_, slot)| is_kept(slot.state)).count(), kept, "kept pages");
            for (id, slot) in slots().filter(|(_, slot)| slot.state != State::Outdated) {
                let found = self.places.at(slot.logical.index());
                assert_eq!(found, id.get() + 1, "page {} is in slot {id}", slot.logical);
            }
        }
    }
}
