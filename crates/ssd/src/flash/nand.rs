//! The NAND array itself: what stands in each page, how far each block is programmed, how worn it is,
//! and which operations fail. The rules of the NAND array are asserted here, always.

use super::geometry::{BlockId, Geometry, Layout, LogicalPage, PhysicalPage};
use tailcut_base::cast::{low_u32, to_usize};
use tailcut_base::config::{Configure, KeyVisitor};
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::random::Stream;
use tailcut_base::table::Table;

/// Faults of the NAND array. Probabilities per operation; 0 switches a fault off.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// Probability that a block is bad when the drive is new.
    pub factory_bad: f64,
    /// Probability that a page program fails, which makes its block bad.
    pub program_fail: f64,
    /// Probability that an erase fails, which makes its block bad.
    pub erase_fail: f64,
}

impl Configure for Faults {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.number(
            "factory_bad",
            "Probability that a block is bad when the drive is new.",
            &mut self.factory_bad,
            0.0..=0.2,
        );
        visit.number(
            "program_fail",
            "Probability that a page program fails; its block is then bad.",
            &mut self.program_fail,
            0.0..=0.1,
        );
        visit.number(
            "erase_fail",
            "Probability that a block erase fails; the block is then bad.",
            &mut self.erase_fail,
            0.0..=0.1,
        );
    }
}

/// The state of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// The next page to be programmed; `pages` when full.
    next: u32,
    /// Erases so far, with those that were reset.
    erases: u32,
    bad: bool,
    /// Some of its pages cannot be read: a program of their word line was reset.
    spoiled: bool,
}

/// Bytes of memory for each block.
pub(crate) const BYTES_PER_BLOCK: usize = size_of::<Block>();

/// A countdown to the next failure of a kind of operation: one draw per failure, none per success.
#[derive(Clone, Debug)]
struct Countdown {
    probability: f64,
    left: u64,
    stream: Stream,
}

impl Countdown {
    fn new(probability: f64, seed: u64, name: &str) -> Countdown {
        let mut stream = Stream::new(seed, name);
        let left = stream.geometric(probability);
        Countdown { probability, left, stream }
    }

    /// Counts one operation; true when it fails.
    #[inline]
    fn strikes(&mut self) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        self.left = self.stream.geometric(self.probability);
        true
    }
}

/// True where the number of a logical page plus one does not fit in 32 bits.
fn is_wide(geometry: &Geometry) -> bool {
    geometry.page_count() > u64::from(u32::MAX)
}

/// Words of 32 bits in the record of a page, with its fingerprint if it has `content`.
pub(crate) fn words_per_page(geometry: &Geometry, content: bool) -> usize {
    1 + usize::from(content) + usize::from(is_wide(geometry))
}

/// All pages and blocks of a drive.
#[derive(Clone, Debug)]
pub struct NandArray {
    layout: Layout,
    blocks: IdVec<BlockId, Block>,
    /// Per page a record of `stride` words: the logical page (spare area) plus one, in runs with content
    /// the fingerprint, and on a drive of more pages than 32 bits count the high bits of the first.
    pages: Table<u32>,
    stride: usize,
    has_content: bool,
    is_wide: bool,
    program_faults: Countdown,
    erase_faults: Countdown,
    /// Spoiled pages of which reads were pending, with the content that the controller has kept for them.
    kept: Vec<(PhysicalPage, u32)>,
}

/// The content of a spoiled page's spare area.
const SPOILED: LogicalPage = LogicalPage::NONE;

impl NandArray {
    /// A new drive. With `content` its pages keep their fingerprints.
    pub fn new(geometry: &Geometry, faults: &Faults, seed: u64, content: bool) -> NandArray {
        let stride = words_per_page(geometry, content);
        let mut blocks = IdVec::filled(to_usize(geometry.block_count()), Block::default());
        if faults.factory_bad > 0.0 {
            let mut stream = Stream::new(seed, "flash.factory-bad");
            let mut at = stream.geometric(faults.factory_bad);
            while at < blocks.len() as u64 {
                blocks[BlockId::at(to_usize(at))].bad = true;
                at += 1 + stream.geometric(faults.factory_bad);
            }
        }
        NandArray {
            layout: Layout::new(geometry),
            blocks,
            pages: Table::new(to_usize(geometry.page_count()) * stride),
            stride,
            has_content: content,
            is_wide: is_wide(geometry),
            program_faults: Countdown::new(faults.program_fail, seed, "flash.program-fail"),
            erase_faults: Countdown::new(faults.erase_fail, seed, "flash.erase-fail"),
            kept: Vec::new(),
        }
    }

    /// Requests huge pages for the records of a drive that will be full of data.
    pub(crate) fn request_huge_pages(&self) {
        self.pages.request_huge_pages();
    }

    /// The fingerprint in a page. The page must have been programmed.
    #[inline]
    pub fn content(&self, physical: PhysicalPage) -> u32 {
        if self.has_content { self.pages.at(physical.index() * self.stride + 1) } else { 0 }
    }

    /// The logical page that the spare area of a page names.
    #[inline]
    pub fn logical(&self, physical: PhysicalPage) -> LogicalPage {
        let at = physical.index() * self.stride;
        let high = if self.is_wide { self.high_word(physical) } else { 0 };
        // One less than 0 is no page.
        LogicalPage::new((u64::from(self.pages.at(at)) | high << 32).wrapping_sub(1))
    }

    /// The high bits in the record of a page, on a drive that has them.
    #[cold]
    fn high_word(&self, physical: PhysicalPage) -> u64 {
        u64::from(self.pages.at((physical.index() + 1) * self.stride - 1))
    }

    #[cold]
    fn set_high_word(&mut self, physical: PhysicalPage, high: u32) {
        self.pages.set((physical.index() + 1) * self.stride - 1, high);
    }

    #[inline]
    fn set_record(&mut self, physical: PhysicalPage, logical: LogicalPage, content: u32) {
        let at = physical.index() * self.stride;
        let number = logical.get().wrapping_add(1);
        self.pages.set(at, low_u32(number));
        if self.has_content {
            self.pages.set(at + 1, content);
        }
        if self.is_wide {
            self.set_high_word(physical, low_u32(number >> 32));
        }
    }

    /// Reads a page: the fingerprint of its content, or 0 on a drive that keeps none.
    ///
    /// # Panics
    /// If the page was not programmed since the erase of its block, or was spoiled by a reset and no pending
    /// read kept its content.
    #[inline(always)]
    pub fn read(&self, physical: PhysicalPage) -> u32 {
        let (id, offset) = self.layout.block_and_offset(physical);
        let block = &self.blocks[id];
        assert!(offset < block.next, "read of a page that was not programmed since the erase");
        if block.spoiled {
            return self.read_beside_spoiled(physical);
        }
        self.content(physical)
    }

    /// Reads a page of a block with spoiled pages: those that were pending are answered from the copies
    /// that the controller has kept.
    #[cold]
    fn read_beside_spoiled(&self, physical: PhysicalPage) -> u32 {
        if self.logical(physical) != SPOILED {
            return self.content(physical);
        }
        let kept = self.kept.iter().find(|kept| kept.0 == physical);
        kept.expect("read of a page that a reset has spoiled").1
    }

    /// A program of page `reset` was reset: the pages of its word line, from page `first` to page offset
    /// `end` of the block, hold nothing any more and count as used. With `keep` the content of those
    /// that were programmed is kept for the reads that are pending.
    ///
    /// # Panics
    /// If the block is bad, or `reset` is not the next page of its block to be programmed.
    pub fn spoil(&mut self, first: PhysicalPage, reset: PhysicalPage, end: u32, keep: bool) {
        let id = self.layout.block_of(first);
        let block = &mut self.blocks[id];
        assert!(!block.bad, "reset of a program of a bad block");
        assert_eq!(block.next, self.layout.offset_of(reset), "the page that was reset was the next one");
        block.next = end;
        block.spoiled = true;
        for page in first.up_to(self.layout.page_at(id, end)) {
            if keep && page < reset && self.logical(page) != SPOILED {
                self.kept.push((page, self.content(page)));
            }
            self.set_record(page, SPOILED, 0);
        }
    }

    /// An erase of a block was reset: it has worn the block like a whole one.
    pub fn wear_out(&mut self, block: BlockId) {
        self.blocks[block].erases += 1;
    }

    /// The next page of `block` that can be programmed; the number of pages when it is full.
    #[inline]
    pub fn next_page(&self, block: BlockId) -> u32 {
        self.blocks[block].next
    }

    /// Programs a page; false when the program fails and the block is bad from now on. The page
    /// counts as used either way.
    ///
    /// # Panics
    /// If the block is bad, or the page is not the next of its block.
    #[inline]
    pub fn program(&mut self, physical: PhysicalPage, logical: LogicalPage, content: u32) -> bool {
        let fails = self.program_faults.strikes();
        let (id, offset) = self.layout.block_and_offset(physical);
        let block = &mut self.blocks[id];
        assert!(!block.bad, "program of a bad block");
        assert_eq!(block.next, offset, "pages of a block are programmed in order, once");
        block.next += 1;
        block.bad = fails;
        self.set_record(physical, logical, content);
        !fails
    }

    /// Writes a page of a drive that is being prepared: as [`NandArray::program`], without faults.
    #[inline]
    pub fn place(&mut self, physical: PhysicalPage, logical: LogicalPage, content: u32) {
        self.set_record(physical, logical, content);
    }

    /// Declares the first `pages` of a block that was never erased programmed, while a drive is being
    /// prepared.
    ///
    /// # Panics
    /// If the block is bad, or `pages` is above the pages of a block.
    pub fn prepare_block(&mut self, block: BlockId, pages: u32) {
        let block = &mut self.blocks[block];
        assert!(!block.bad && pages <= self.layout.pages.get());
        block.next = pages;
    }

    /// Erases a block; false when the erase fails and the block is bad from now on.
    ///
    /// # Panics
    /// If the block is bad.
    pub fn erase(&mut self, block: BlockId) -> bool {
        let fails = self.erase_faults.strikes();
        let id = block;
        let block = &mut self.blocks[block];
        assert!(!block.bad, "erase of a bad block");
        block.next = 0;
        block.erases += 1;
        block.bad = fails;
        if std::mem::take(&mut block.spoiled) {
            let layout = &self.layout;
            self.kept.retain(|kept| layout.block_of(kept.0) != id);
        }
        !fails
    }

    /// Erases of a block so far.
    #[inline]
    pub fn erases(&self, block: BlockId) -> u32 {
        self.blocks[block].erases
    }

    /// True when a block must not be programmed or erased any more.
    #[inline]
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.blocks[block].bad
    }

    /// True when pages keep their fingerprints.
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    /// Touches the record of a page, so that it is in the cache when needed.
    #[inline]
    pub fn touch(&self, physical: PhysicalPage) -> u32 {
        self.pages.at(physical.index() * self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::geometry::ReadyBusy;

    fn tiny() -> NandArray {
        let geometry = Geometry {
            channels: 1,
            chips: 1,
            dies: 1,
            planes: 1,
            blocks: 4,
            pages: 4,
            page_bytes: 4096,
            spare_bytes: 0,
            ready_busy: ReadyBusy::Chip,
        };
        NandArray::new(&geometry, &Faults { factory_bad: 0.0, program_fail: 0.0, erase_fail: 0.0 }, 1, true)
    }

    #[test]
    fn a_page_holds_what_was_programmed_until_the_erase() {
        let mut nand = tiny();
        assert!(nand.program(PhysicalPage::new(4), LogicalPage::new(17), 99));
        assert_eq!(
            (nand.read(PhysicalPage::new(4)), nand.logical(PhysicalPage::new(4))),
            (99, LogicalPage::new(17))
        );
        assert!(nand.erase(BlockId::new(1)));
        assert_eq!((nand.next_page(BlockId::new(1)), nand.erases(BlockId::new(1))), (0, 1));
    }

    #[test]
    #[should_panic(expected = "in order, once")]
    fn pages_are_programmed_in_order() {
        tiny().program(PhysicalPage::new(1), LogicalPage::new(0), 0);
    }

    #[test]
    #[should_panic(expected = "in order, once")]
    fn no_program_without_erase() {
        let mut nand = tiny();
        nand.program(PhysicalPage::new(0), LogicalPage::new(0), 0);
        nand.program(PhysicalPage::new(0), LogicalPage::new(0), 0);
    }

    #[test]
    #[should_panic(expected = "not programmed")]
    fn nothing_can_be_read_after_the_erase() {
        let mut nand = tiny();
        nand.program(PhysicalPage::new(0), LogicalPage::new(0), 0);
        nand.erase(BlockId::new(0));
        nand.read(PhysicalPage::new(0));
    }
}
