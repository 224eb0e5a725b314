//! What goes wrong with a drive.

use super::{Drive, Health};
use crate::fault::{Fault, FaultKind};
use crate::tally::Tally;
use tailcut_host::array::superblock::SUPERBLOCK_BLOCKS;
use tailcut_host::{Block, Bytes};

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
            FaultKind::SlowSuperblock => self.slow_superblocks = (fault.pick, fault.factor.max(1)),
            FaultKind::ReadOnly => (self.health, self.has_refused) = (Health::ReadOnly, false),
            FaultKind::FailWrite => self.fail_writes = fault.pick.max(1),
            FaultKind::Full => self.no_room = fault.pick.max(1),
            FaultKind::FailFlush => self.fail_flush = true,
            FaultKind::Misdirect => self.misdirect = Some(fault.pick),
            FaultKind::Flip | FaultKind::Twin | FaultKind::Unreadable | FaultKind::Corrupt => {
                return self.damage(fault);
            }
            FaultKind::CorruptSuperblock => return self.corrupt(u64::from(fault.pick) % SUPERBLOCK_BLOCKS),
            FaultKind::Grow | FaultKind::Shrink => return self.will_resize(fault),
            // What happens to the array between two openings is none of a drive's business.
            FaultKind::Return | FaultKind::Halves => return false,
        }
        true
    }

    /// With the next power it has another size. Drives with flash keep theirs.
    fn will_resize(&mut self, fault: &Fault) -> bool {
        let by = 1 + u64::from(fault.pick) % RESIZE_MOST;
        self.next_blocks = match fault.kind {
            FaultKind::Grow => self.model.blocks + by,
            _ => self.model.blocks - by,
        };
        self.flash.is_none()
    }

    /// Takes the size that it is to have with this power.
    pub(super) fn resize(&mut self) {
        if self.flash.is_none() {
            self.model.blocks = self.next_blocks;
            let stored = self.durable.len().max(self.next_blocks as usize);
            // What lies beyond the end of a drive that has shrunk is there again when it has its size back.
            self.durable.resize(stored, Bytes::default());
        }
    }

    /// A drive that has shrunk gets its size back; false if none has.
    pub fn restore_size(&mut self) -> bool {
        let stored = self.durable.len() as u64;
        let is_shrunk = self.model.blocks < stored;
        (self.model.blocks, self.next_blocks) = (stored, stored);
        is_shrunk
    }

    /// A write has failed with a media error since the power came on.
    pub fn has_failed_write(&self) -> bool {
        self.has_failed_write
    }

    /// A fault waits for a write or a flush to strike.
    pub fn is_armed(&self) -> bool {
        self.fail_flush || self.fail_writes > 0 || self.misdirect.is_some()
    }

    /// Faults that wait for a write or a flush to strike do so no more.
    pub fn disarm(&mut self) {
        (self.fail_writes, self.misdirect, self.fail_flush) = (0, None, false);
        self.no_room = 0;
        if self.health == Health::ReadOnly && !self.has_refused {
            self.health = Health::Well;
        }
    }

    /// A flush fails: the system forgets that some of what it has cached was ever to be written. Reads find
    /// it until the power goes, and no later flush writes it.
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

    /// The block that a fault would strike, of those that strike one; none if nothing is stored.
    pub fn target(&self, fault: &Fault) -> Option<u64> {
        let stored: Vec<u64> =
            (SUPERBLOCK_BLOCKS..self.model.blocks).filter(|&block| self.is_stored(block)).collect();
        let index = (fault.pick as usize).checked_rem(stored.len())?;
        Some(stored[index])
    }

    fn damage(&mut self, fault: &Fault) -> bool {
        let Some(block) = self.target(fault) else { return false };
        if fault.kind == FaultKind::Corrupt {
            return self.corrupt(block);
        }
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

    /// A stored block becomes something else.
    fn corrupt(&mut self, block: u64) -> bool {
        if !self.is_stored(block) {
            return false;
        }
        let mut content = match self.random.below(3) {
            0 => Bytes::default(),
            1 => {
                let other = SUPERBLOCK_BLOCKS + self.random.below(self.model.blocks - SUPERBLOCK_BLOCKS);
                self.content(other).unwrap_or_default()
            }
            _ => {
                let words: Vec<u8> = (0..512).flat_map(|_| self.random.bits().to_le_bytes()).collect();
                Bytes::encode(&words)
            }
        };
        if !self.model.sealed {
            content = Bytes::unsealed(content.as_slice());
        }
        self.cached.remove(&block);
        self.settle(block, content);
        true
    }

    fn is_stored(&self, block: u64) -> bool {
        self.content(block).is_some_and(|content| content != Bytes::default())
    }
}

/// The most blocks by which a drive grows or shrinks.
const RESIZE_MOST: u64 = 40;
