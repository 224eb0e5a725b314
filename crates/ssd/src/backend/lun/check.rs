//! What holds of the LUNs after every event.

use super::{Holder, Luns, Phase};
use crate::backend::requests::Requests;
use crate::request::{Lane, RequestId};
use tailcut_base::cast::to_u32;
use tailcut_base::ids::Id;

impl Luns {
    /// Asserts that lists, masks and counts of committed requests agree, that transactions are within their
    /// LUNs, and that a LUN is held by one exactly while it has a phase of one. Walks all that is committed;
    /// returns how many memory requests lists and running transactions hold.
    ///
    /// # Panics
    /// If one of them does not hold; the message names the LUN.
    pub fn check(&self, requests: &Requests) -> usize {
        let mut held = 0;
        let mut on_chip = 0;
        for (id, lun) in self.luns.iter_enumerated() {
            for lane in (0..Lane::COUNT).flat_map(|lane| Lane::of_mask(1 << lane)) {
                let mut waiting = 0;
                for place in 0..to_u32(self.places) {
                    let list = &self.lists[self.list(id, lane, place)];
                    let (mut next, mut last) = (list.first, RequestId::NONE);
                    while next != RequestId::NONE {
                        let request = &requests[next];
                        assert_eq!((request.lun, request.lane), (id, lane), "{next} waits where it belongs");
                        assert_eq!(u32::from(request.place), place, "{next} waits at its place");
                        waiting += 1;
                        (last, next) = (next, request.next);
                    }
                    assert_eq!(list.last, last, "the end of the list of LUN {id}, place {place}");
                    let is_occupied = lun.occupied[lane.index()] >> place & 1 == 1;
                    assert_eq!(is_occupied, list.first != RequestId::NONE, "the mask of places of LUN {id}");
                }
                assert_eq!(waiting, lun.waiting[lane.index()], "requests that wait for LUN {id}");
                assert_eq!(lun.lanes & lane.mask() != 0, waiting > 0, "the mask of lanes of LUN {id}");
                held += waiting as usize;
            }
            let places = 0..to_u32(self.places);
            let is_awaited = |place: u32| self.on_link[id.index() * self.places + place as usize] > 0;
            let awaited = places.filter(|&place| is_awaited(place)).fold(0, |mask, place| mask | 1 << place);
            assert_eq!(lun.awaited, awaited, "the places of LUN {id} to which data is on the link");
            let is_taken = !matches!(lun.phase, Phase::Idle | Phase::AwaitStart);
            let is_waiting = matches!(lun.holder, Holder::Idle | Holder::Space | Holder::BusWait);
            assert_eq!(is_taken, !is_waiting, "LUN {id} in phase {:?}, held by {:?}", lun.phase, lun.holder);
            if is_taken {
                on_chip += 1;
                let members = lun.transaction.members();
                assert!(!members.is_empty() && members.len() <= self.places, "the transaction of LUN {id}");
                let is_own = |&member: &RequestId| requests[member].lun == id;
                assert!(members.iter().all(is_own), "all members are of LUN {id}");
                held += members.len();
            }
        }
        assert_eq!(on_chip, self.held, "LUNs that are held");
        held
    }
}
