//! Drives with more pages than 32 bits can number.

use crate::drives;
use std::collections::BTreeMap;
use tailcut_base::device::content::{Change, fold};
use tailcut_base::random::Stream;
use tailcut_base::{Command, CommandId, Device, Op, Status, Submit, Time};
use tailcut_ssd::config::Allocation;
use tailcut_ssd::flash::LogicalPage;
use tailcut_ssd::precondition::{PreparedState, prepared_content};
use tailcut_ssd::{Precondition, Preset, Ssd, SsdConfig};

/// A drive that carries out one command at a time, and the content of the pages that were written.
struct Pair {
    ssd: Ssd,
    now: Time,
    pages: BTreeMap<u64, u32>,
    commands: u32,
}

impl Pair {
    fn new(config: &SsdConfig) -> Pair {
        config.check_space().expect("a drive with room to work");
        Pair { ssd: Ssd::new(config, 1, true), now: Time::ZERO, pages: BTreeMap::new(), commands: 0 }
    }

    fn logical_pages(&self) -> u64 {
        let identity = self.ssd.identify();
        identity.sectors / u64::from(identity.page_sectors)
    }

    /// Carries out a command for a page. What it reads must be what was written.
    fn carry_out(&mut self, op: Op, page: u64) {
        self.commands += 1;
        let page_sectors = self.ssd.identify().page_sectors;
        let command = Command {
            op,
            sector: page * u64::from(page_sectors),
            sectors: page_sectors,
            content: self.commands,
            ..Command::flush(CommandId(self.commands))
        };
        assert_eq!(self.ssd.submit(self.now, &command), Submit::Accepted);
        let mut done = Vec::new();
        while done.is_empty() {
            self.now = self.ssd.next_event();
            assert!(self.now != Time::NEVER, "{}", self.ssd.why_stuck());
            self.ssd.advance(self.now, &mut done);
        }
        assert_eq!((done[0].id, done[0].status), (command.id, Status::Success));
        match op {
            Op::Read => assert_eq!(done[0].content, fold(0, 0, self.content(page)), "page {page}"),
            Op::Write => {
                let content = Change::write(page, command.content, u64::MAX, true).apply(0);
                self.pages.insert(page, content);
            }
            _ => {
                self.pages.insert(page, 0);
            }
        }
    }

    fn content(&self, page: u64) -> u32 {
        self.pages.get(&page).copied().unwrap_or(0)
    }

    /// Compares all pages that were written or trimmed, by reading them and by looking at them.
    fn check(&mut self) {
        for page in self.pages.keys().copied().collect::<Vec<u64>>() {
            self.carry_out(Op::Read, page);
            assert_eq!(self.ssd.peek(LogicalPage::new(page)), self.content(page), "page {page}");
        }
    }
}

/// The PM9A3 with as many blocks as `pages` pages of 4 KiB need.
fn by_superblock(pages: u64) -> SsdConfig {
    let mut config = Preset::Pm9a3.config();
    let each = u64::from(config.geometry.plane_count()) * u64::from(config.geometry.pages);
    config.geometry.blocks = (pages.div_ceil(each) as u32).next_multiple_of(16);
    config
}

#[test]
fn pages_up_to_the_end_of_a_drive_of_122_tb_keep_their_content() {
    // 30.72 and 122.88 TB.
    for pages in [7_500_000_000, 30_000_000_000] {
        let mut pair = Pair::new(&by_superblock(pages * 120 / 100));
        let last = pair.logical_pages() - 1;
        assert!(last >= pages, "{last}");
        let mut random = Stream::new(2, "test.large");
        for _ in 0..2000 {
            // About the end, and about the first numbers of 33 bits, whose low halves are those of the
            // drive's first pages.
            let near = random.below(30);
            let page = [last - near, (1 << 32) - 15 + near, near][random.below(3) as usize];
            let op = [Op::Read, Op::Write, Op::Write, Op::Trim][random.below(4) as usize];
            pair.carry_out(op, page);
        }
        pair.check();
    }
}

#[test]
fn a_large_drive_is_prepared_from_its_first_page_on() {
    let config = by_superblock(7_500_000_000);
    let mut ssd: Ssd = Ssd::new(&config, 1, true);
    let how = Precondition { state: PreparedState::Sequential, fill: 20 };
    assert_eq!(ssd.has_room_for(&how), Ok(()));
    let mapped = ssd.precondition(&how, 1);
    for (page, content) in [(0, prepared_content(0)), (mapped - 1, prepared_content(mapped - 1)), (mapped, 0)]
    {
        assert_eq!(ssd.peek(LogicalPage::new(page)), content, "page {page} of {mapped}");
    }
}

#[test]
fn collection_moves_pages_whose_numbers_take_more_than_32_bits() {
    // Many planes, so that one is soon full.
    let mut config = drives::plane(100, 700);
    let g = &mut config.geometry;
    (g.channels, g.chips, g.dies, g.planes) = (64, 64, 4, 4);
    config.ftl.spare = 50_000;
    config.ftl.allocation = Allocation::Static;
    let mut pair = Pair::new(&config);
    assert!(pair.logical_pages() > 1 << 32);
    let planes = u64::from(config.geometry.plane_count());
    let in_plane = pair.logical_pages() / planes;
    let mut random = Stream::new(3, "test.large");
    // All pages of the last plane once, then any of them.
    for number in 0..in_plane * 5 / 4 {
        let at = if number < in_plane { number } else { random.below(in_plane) };
        pair.carry_out(Op::Write, (at + 1) * planes - 1);
    }
    let counts = pair.ssd.figures(pair.now).counts;
    assert!(counts.erases > 3 && counts.programmed_gc > 1000, "{counts:?}");
    pair.check();
}

#[test]
fn a_state_that_lists_its_pages_is_refused_beyond_32_bits() {
    let mut config = Preset::M.config();
    (config.geometry.blocks, config.geometry.pages) = (1 << 15, 4096);
    let ssd: Ssd = Ssd::new(&config, 1, false);
    let refusal = |state, fill| ssd.has_room_for(&Precondition { state, fill }).expect_err("too many pages");
    let message = refusal(PreparedState::Steady, 1_000_000).to_string();
    assert!(message.contains("at most 2^32 - 1") && message.contains("\"sequential\""), "{message}");
}
