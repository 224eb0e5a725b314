//! Checksums of stored blocks, for drives without protection information.
//!
//! A file or a device may return wrong bytes with success: a flipped bit, or a misdirected write. A layout
//! that knows the checksum of a block sets it here, and every read of the block is verified against it: a
//! drive that differs is avoided as if it had reported an error.

use crate::Block;
use crate::array::DriveId;
use std::ops::Range;
use tailcut_base::cast::to_usize;
use tailcut_base::ids::IdVec;
use tailcut_base::table::Table;

/// A checksum per block of each drive: 4 bytes of memory per block of 4 KiB.
#[derive(Debug)]
pub struct Checksums {
    drives: IdVec<DriveId, Table<u32>>,
}

/// The stored form of an unknown checksum.
const UNKNOWN: u32 = 0;

/// The stored form of a checksum: 0 and 1 share one, so that 0 is free for [`UNKNOWN`].
#[inline]
fn stored(checksum: u32) -> u32 {
    checksum.max(1)
}

impl Checksums {
    /// All unknown, for `drives` drives of `blocks` blocks.
    ///
    /// # Panics
    /// If `blocks` does not fit the address space, which happens on 32-bit machines only.
    pub fn new(drives: usize, blocks: u64) -> Checksums {
        let blocks = usize::try_from(blocks).expect("a table of all blocks fits the address space");
        Checksums { drives: (0..drives).map(|_| Table::dense(blocks)).collect() }
    }

    /// Sets the checksum of a block's content.
    #[inline]
    pub fn set(&mut self, drive: DriveId, block: u64, checksum: u32) {
        self.drives[drive][to_usize(block)] = stored(checksum);
    }

    /// Forgets the checksums of a range of blocks: whatever a drive returns for them is accepted.
    pub fn forget(&mut self, drive: DriveId, block: u64, blocks: u32) {
        self.drives[drive][to_usize(block)..][..blocks as usize].fill(UNKNOWN);
    }

    /// Forgets the checksums of all blocks of a drive.
    pub fn forget_all(&mut self, drive: DriveId) {
        self.drives[drive] = Table::dense(self.drives[drive].len());
    }

    /// The stored forms of a range of blocks, for a checkpoint. Blocks past the end of the drive are unknown.
    pub fn dump(&self, drive: DriveId, blocks: Range<u64>) -> impl Iterator<Item = u32> {
        let table = &self.drives[drive];
        blocks.map(|block| table.get(to_usize(block)).copied().unwrap_or(UNKNOWN))
    }

    /// Restores the checksums of a drive from block `block` on, as [`dump`](Checksums::dump) returned them.
    pub fn restore(&mut self, drive: DriveId, block: u64, dumped: impl Iterator<Item = u32>) {
        self.drives[drive].iter_mut().skip(to_usize(block)).zip(dumped).for_each(|(entry, sum)| *entry = sum);
    }

    /// True if the checksum of a block is known.
    #[inline]
    pub fn knows(&self, drive: DriveId, block: u64) -> bool {
        self.drives[drive].get(to_usize(block)).is_some_and(|&sum| sum != UNKNOWN)
    }

    /// True if the content is the one whose checksum was set, or the checksum is unknown.
    #[inline]
    pub fn accept<B: Block>(&self, drive: DriveId, block: u64, content: &B) -> bool {
        match self.drives[drive].get(to_usize(block)) {
            None | Some(&UNKNOWN) => true,
            Some(&sum) => sum == stored(content.checksum()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Fingerprint;

    #[test]
    fn only_the_content_that_was_set_is_accepted() {
        let (mut sums, other, drive) = (Checksums::new(2, 10), DriveId::new(0), DriveId::new(1));
        assert!(sums.accept(drive, 3, &Fingerprint(7)), "unknown");
        sums.set(drive, 3, 7);
        assert!(sums.accept(drive, 3, &Fingerprint(7)) && !sums.accept(drive, 3, &Fingerprint(8)));
        assert!(sums.accept(other, 3, &Fingerprint(8)), "of another drive");
        sums.set(drive, 4, 0);
        assert!(sums.accept(drive, 4, &Fingerprint(0)) && !sums.accept(drive, 4, &Fingerprint(9)));
        let dumped: Vec<u32> = sums.dump(drive, 2..22).collect();
        sums.forget(drive, 3, 2);
        assert!(sums.accept(drive, 3, &Fingerprint(8)));
        sums.restore(drive, 2, dumped.into_iter());
        assert!(sums.accept(drive, 3, &Fingerprint(7)) && !sums.accept(drive, 3, &Fingerprint(8)));
    }
}
