//! Which LUNs have been given work in the present step.

use crate::flash::LunId;

/// A FIFO of the LUNs that have new work: usually one, rarely more than a few.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    luns: Vec<LunId>,
    next: usize,
}

impl Woken {
    #[inline]
    pub(crate) fn push(&mut self, lun: LunId) {
        self.luns.push(lun);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<LunId> {
        let lun = self.luns.get(self.next).copied()?;
        self.next += 1;
        if self.next == self.luns.len() {
            self.luns.clear();
            self.next = 0;
        }
        Some(lun)
    }
}
