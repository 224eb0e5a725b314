//! What goes wrong with a drive.

use super::{Drive, Health};
use crate::torture::fault::{Fault, FaultKind};
use crate::torture::tally::Tally;
use tailcut_host::Bytes;
use tailcut_host::array::record::RECORD_BLOCKS;

impl Drive {
    /// Something goes wrong. False when there is nothing that it could strike.
    pub fn fault(&mut self, fault: &Fault, tally: &mut Tally) -> bool {
        match fault.kind {
            FaultKind::Kill => {
                self.leave(tally);
                self.health = Health::Dead;
            }
            FaultKind::Pull => {
                self.leave(tally);
                self.health = Health::Away;
            }
            FaultKind::Slow => self.slow = (fault.pick, fault.factor.max(1)),
            FaultKind::ReadOnly => self.health = Health::ReadOnly,
            FaultKind::FailWrite => self.fail_writes = fault.pick.max(1),
            FaultKind::FailFlush => self.fail_flush = true,
            FaultKind::Misdirect => self.misdirect = Some(fault.pick),
            FaultKind::Flip | FaultKind::Unreadable => return self.damage(fault),
        }
        true
    }

    /// Faults that wait for a write or a flush to strike do so no more.
    pub fn disarm(&mut self) {
        (self.fail_writes, self.misdirect, self.fail_flush) = (0, None, false);
    }

    /// A flush fails: the system forgets that some of what it has cached was ever to be written. Reads find it until the
    /// power goes, and no later flush writes it.
    pub(super) fn forget_cached(&mut self) {
        for (block, mut versions) in std::mem::take(&mut self.cached) {
            if self.random.below(2) == 0 {
                self.cached.insert(block, versions);
            } else if let Some((_, content)) = versions.pop() {
                self.forgotten.insert(block, content);
            }
        }
    }

    /// It loses its power while the others keep theirs; what is in flight is answered with "gone".
    fn leave(&mut self, tally: &mut Tally) {
        let commands = self.commands.clone();
        self.power_off(tally);
        self.commands = commands;
    }

    fn damage(&mut self, fault: &Fault) -> bool {
        let stored: Vec<u64> =
            (RECORD_BLOCKS..self.model.blocks).filter(|&block| self.is_stored(block)).collect();
        if stored.is_empty() {
            return false;
        }
        let block = stored[fault.pick as usize % stored.len()];
        let content = self.content(block).expect("it is stored");
        self.cached.remove(&block);
        self.settle(block, content);
        if fault.kind == FaultKind::Unreadable {
            self.unreadable.insert(block);
        } else {
            let bit = self.random.below(4096 * 8) as usize;
            self.durable[block as usize].as_mut_slice()[bit / 8] ^= 1 << (bit % 8);
        }
        true
    }

    fn is_stored(&self, block: u64) -> bool {
        self.content(block).is_some_and(|content| content != Bytes::default())
    }
}
