//! Does every read return what was last written?

use super::is_success;
use tailcut_base::device::content::{self, Change};
use tailcut_base::table::Table;
use tailcut_base::{Command, Completion, Op};

/// Knows the content of every page, by what was submitted in which order: a device keeps the order
/// of requests for one page.
///
/// After the first write that the device refuses, what a page holds is not known any more, and
/// checking ends: [`Checker::is_on`] then answers no.
pub struct Checker {
    expected: Table<u32>,
    page_sectors: u32,
    on: bool,
}

impl Checker {
    /// Checks nothing, for runs without content.
    pub fn off() -> Checker {
        Checker { expected: Table::new(0), page_sectors: 8, on: false }
    }

    /// Checks an empty device of `sectors` sectors in pages of `page_sectors`.
    pub fn new(sectors: u64, page_sectors: u32) -> Checker {
        let pages = sectors.div_ceil(u64::from(page_sectors)) as usize;
        Checker { expected: Table::new(pages), page_sectors, on: true }
    }

    /// Declares what pages `0 .. pages` hold before the run.
    pub fn prepare(&mut self, pages: u64, content: impl Fn(u64) -> u32) {
        if pages > 0 {
            self.expected.request_huge_pages();
        }
        for (page, expected) in (0..pages).zip(self.expected.iter_mut()) {
            *expected = content(page);
        }
    }

    /// True while contents are checked.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// A command has been accepted by the device. Returns what a read must return.
    #[inline(always)]
    pub fn submitted(&mut self, command: &Command) -> u64 {
        if !self.on {
            return 0;
        }
        let shift = self.page_sectors.trailing_zeros();
        let first = command.sector >> shift;
        let sectors = u64::from(self.page_sectors);
        let end = (command.sector + u64::from(command.sectors) + sectors - 1) >> shift;
        match command.op {
            Op::Read => {
                let pages = (first as usize..end as usize).map(|page| self.expected.at(page));
                pages.zip(0u32..).fold(0, |sum, (page, index)| content::fold(sum, index, page))
            }
            Op::Write => {
                for page in first..end {
                    let start = page * sectors;
                    let from = command.sector.max(start) - start;
                    let to = (command.sector + u64::from(command.sectors)).min(start + sectors) - start;
                    let mask = (u64::MAX >> (64 - (to - from))) << from;
                    let change = Change::write(page, command.content, mask, to - from == sectors);
                    let before = self.expected.at(page as usize);
                    self.expected.set(page as usize, change.apply(before));
                }
                0
            }
            Op::Trim => {
                let whole = (command.sector + sectors - 1) >> shift
                    ..(command.sector + u64::from(command.sectors)) >> shift;
                for page in whole {
                    self.expected.set(page as usize, 0);
                }
                0
            }
            Op::Flush => 0,
        }
    }

    /// A command has completed: verifies the content that a read returned.
    ///
    /// # Panics
    /// If a read returned something else than was last written: the device, or its model, is broken.
    #[inline(always)]
    pub fn completed(&mut self, op: Op, completion: &Completion, expected: u64, number: u64) {
        if !self.on {
            return;
        }
        if is_success(completion.status) {
            let right = op != Op::Read || completion.content == expected;
            assert!(right, "request {number} read something else than was last written");
        } else if op == Op::Write {
            self.on = false;
        }
    }

    /// Brings what will be needed for these commands into the cache.
    #[inline(always)]
    pub fn expect(&self, commands: &[Command]) -> u64 {
        if !self.on {
            return 0;
        }
        let shift = self.page_sectors.trailing_zeros();
        let expected = &self.expected[..];
        let last = expected.len() - 1;
        commands.iter().fold(0, |sum, c| sum ^ u64::from(expected[((c.sector >> shift) as usize).min(last)]))
    }
}
