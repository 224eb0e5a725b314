//! The handles that a layer hands on: what its own kinds of writes leave of its disks'.

use super::WriteKind;
use tailcut_base::cast::to_u32;
use tailcut_base::fdp::{HANDLES_MAX, HandleId};
use tailcut_base::ids::Id;

/// The handles that an array offers to its host, as handles of its members. [`HandleId::FIRST`] of the host
/// is that of the members, where all data goes; the others are those of the members that no other kind of
/// write of the array names, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostHandles {
    members: [HandleId; HANDLES_MAX],
    count: u32,
}

impl HostHandles {
    /// The first handle, for an array that writes in the order of time.
    pub const ONE: HostHandles = HostHandles { members: [HandleId::FIRST; HANDLES_MAX], count: 1 };

    /// Of an array whose members have at least `handles` handles, and that writes the kinds of `own` beside
    /// the data of its host.
    pub fn beside(own: &[WriteKind], handles: u32) -> HostHandles {
        let mut of = HostHandles::ONE;
        let all = HandleId::first(HANDLES_MAX.min(handles as usize)).skip(1);
        for handle in all.filter(|&handle| own.iter().all(|kind| kind.handle(handles) != handle)) {
            of.members[of.count as usize] = handle;
            of.count += 1;
        }
        of
    }

    /// How many the host has: 1 to 8.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The handle of the members for a write of the host that names `handle`; the first one if the array does
    /// not offer it.
    #[inline]
    pub fn of_member(&self, handle: HandleId) -> HandleId {
        let is_offered = to_u32(handle.index()) < self.count;
        if is_offered { self.members[handle.index()] } else { HandleId::FIRST }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(own: &[WriteKind], handles: u32) -> Vec<u32> {
        let of = HostHandles::beside(own, handles);
        (0..of.count()).map(|handle| of.of_member(HandleId::new(handle)).get()).collect()
    }

    #[test]
    fn a_host_has_the_handles_that_the_array_does_not_need() {
        assert_eq!(offered(&[], 1), [0]);
        assert_eq!(offered(&[], 8), [0, 1, 2, 3, 4, 5, 6, 7]);
        let mirror = [WriteKind::Metadata];
        assert_eq!([1, 2, 3].map(|handles| offered(&mirror, handles).len()), [1, 1, 2]);
        assert_eq!(offered(&mirror, 5), [0, 1, 3, 4]);
        let parity = [WriteKind::Parity, WriteKind::Metadata];
        assert_eq!([1, 2, 3].map(|handles| offered(&parity, handles)), [[0]; 3]);
        assert_eq!(offered(&parity, 5), [0, 3, 4]);
    }

    #[test]
    fn a_handle_that_is_not_offered_is_the_first() {
        let of = HostHandles::beside(&[WriteKind::Metadata], 3);
        assert_eq!([0, 1, 2, 7].map(|handle| of.of_member(HandleId::new(handle)).get()), [0, 1, 0, 0]);
    }
}
