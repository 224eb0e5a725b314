//! The device queue: a tag for each command in the device, with the state of its pages.

use crate::config::QueueConfig;
use crate::flash::LogicalPage;
use crate::mutation::{Invariant, holds};
use crate::request::{ServedPage, Tag};
use crate::room::RoomClock;
use std::ops::Range;
use tailcut_base::cast::low_u32;
use tailcut_base::device::content;
use tailcut_base::ids::Pool;
use tailcut_base::{Cause, Command, CommandId, Nanos, SECTOR_BYTES, Spans, Status, Time};

/// A command in the device, with the state of its pages.
#[derive(Clone, Debug)]
pub struct TaggedCommand {
    /// The command as the host submitted it.
    pub command: Command,
    /// When the host submitted the command.
    pub arrived: Time,
    /// The time up to which the command's latency is attributed to causes.
    pub mark: Time,
    /// First logical page.
    first_page: LogicalPage,
    /// Number of logical pages that the command touches, in whole or in part.
    pub pages: u32,
    /// Number of pages of the command that are not done yet.
    pub remaining: u32,
    /// Pages from the first on whose data has been given to the link: reads return data in order.
    pub returned: u32,
    /// Pages of a write that have found room in the buffer.
    pub admitted: u32,
    /// Transfers of a write's data that are on the link.
    pub in_transit: u32,
    /// Fold of the contents read so far.
    pub content: u64,
    /// The status with which the command will complete.
    pub status: Status,
    /// Until when the chips that it would have waited for are taken; only where it is contended.
    pub busy_until: Time,
    /// Attribution of the command's latency to causes, up to `mark`.
    pub spans: Spans,
    /// The clock of waits for room up to where its own is accounted for.
    room: RoomClock,
    /// Pages that LUNs have served, one for each transaction.
    served: Vec<ServedPage>,
    /// One bit for each page: set when it is done (Sprinkler, section 4.4).
    done: Vec<u64>,
}

impl TaggedCommand {
    fn new() -> TaggedCommand {
        TaggedCommand {
            command: Command::flush(CommandId(0)),
            arrived: Time::ZERO,
            mark: Time::ZERO,
            first_page: LogicalPage::new(0),
            pages: 0,
            remaining: 0,
            returned: 0,
            admitted: 0,
            room: RoomClock::default(),
            in_transit: 0,
            content: 0,
            status: Status::Success,
            busy_until: Time::ZERO,
            spans: Spans::new(),
            served: Vec::new(),
            done: Vec::new(),
        }
    }

    fn start(&mut self, now: Time, command: &Command, page_sectors: u32) {
        self.command = *command;
        self.arrived = now;
        self.mark = now;
        let shift = page_sectors.trailing_zeros();
        self.first_page = LogicalPage::new(command.sector >> shift);
        // Rounded up to whole pages; a page has a power of two of sectors.
        let end = (command.sector + u64::from(command.sectors + page_sectors - 1)) >> shift;
        // A flush may name any sector.
        self.pages = low_u32(end.saturating_sub(self.first_page.get()));
        self.remaining = self.pages;
        self.returned = 0;
        self.admitted = 0;
        self.in_transit = 0;
        self.content = 0;
        self.status = Status::Success;
        self.spans.clear();
        self.served.clear();
        if self.pages > 1 {
            self.done.clear();
            self.done.resize((self.pages as usize).div_ceil(64), 0);
        }
    }

    /// The logical page that is page `page` of the command.
    #[inline]
    pub fn page(&self, page: u32) -> LogicalPage {
        LogicalPage::new(self.first_page.get() + u64::from(page))
    }

    /// How much longer, from `now` on, the chips are taken that it would have waited for.
    #[cold]
    pub fn busy_for(&self, now: Time) -> Nanos {
        Nanos(self.busy_until.0.saturating_sub(now.0))
    }

    /// Marks page `page` of the command done, counted from 0.
    ///
    /// # Panics
    /// If the page is done already.
    #[inline]
    pub fn page_done(&mut self, page: u32) {
        assert!(self.remaining > 0, "a page was done twice");
        self.remaining -= 1;
        if self.pages > 1 {
            let (word, bit) = ((page / 64) as usize, 1u64 << (page % 64));
            assert!(self.done[word] & bit == 0, "a page was done twice");
            self.done[word] |= bit;
        }
    }

    /// A LUN has served a page, and pages of the command are left.
    pub fn page_served(&mut self, page: ServedPage) {
        // Pages of one transaction leave it together.
        if !self.served.last().is_some_and(|last| last.is_with(&page)) {
            self.served.push(page);
        }
    }

    /// Its spans, and the pages that LUNs have served, all but the last.
    #[inline]
    pub fn spans_and_served(&mut self) -> (&mut Spans, &[ServedPage]) {
        (&mut self.spans, &self.served)
    }

    /// A page of a read is here.
    #[inline(always)]
    pub fn page_read(&mut self, read: PageRead) {
        let PageRead { page, content } = read;
        self.content = content::fold(self.content, page, content);
        self.page_done(page);
    }

    /// Begins a wait of the command for room in the buffer; `clock` is the reading at this moment.
    pub fn wait_for_room(&mut self, clock: RoomClock) {
        self.room = clock;
    }

    /// Attributes the time up to `now` to a wait for room in the buffer.
    pub fn account_wait_for_room(&mut self, now: Time, clock: RoomClock) {
        let waited = now.since(self.mark);
        let for_collection = clock.collections_part(&self.room, waited);
        self.spans.add(Cause::BufferFullGc, for_collection);
        self.spans.hold_up(clock.held_up(for_collection));
        self.spans.add(Cause::BufferFull, waited - for_collection);
        (self.room, self.mark) = (clock, now);
    }

    /// Accounts for the time up to `now`: it went into `cause`.
    #[inline]
    pub fn account(&mut self, now: Time, cause: Cause) {
        self.spans.add(cause, now.since(self.mark));
        self.mark = now;
    }

    /// The pages, from the first that was not returned yet, that are done without a gap.
    #[inline]
    pub fn returnable(&self) -> Range<u32> {
        if self.pages == 1 {
            return self.returned..1 - self.remaining;
        }
        let mut end = self.returned;
        if !holds(Invariant::InOrderReturn) {
            // Whatever number of pages is here, as if they were the first.
            return self.returned..self.pages - self.remaining;
        }
        while end < self.pages && self.done[(end / 64) as usize] >> (end % 64) & 1 == 1 {
            end += 1;
        }
        self.returned..end
    }
}

/// A page of a command that has been read.
#[derive(Clone, Copy, Debug)]
pub struct PageRead {
    /// Index of the page within its command, from 0.
    pub page: u32,
    /// Fingerprint of the content that was read.
    pub content: u32,
}

/// All tags of a device.
#[derive(Clone, Debug)]
pub struct Tags {
    tags: Pool<Tag, TaggedCommand>,
    depth: usize,
    page_sectors: u32,
}

impl Tags {
    /// The free tags of a queue, for commands on pages of `page_sectors` sectors.
    pub fn new(queue: &QueueConfig, page_sectors: u32) -> Tags {
        Tags { tags: Pool::new(), depth: queue.depth as usize, page_sectors }
    }

    /// Binds a command to a tag; `None` when all are in use.
    #[inline]
    pub fn bind(&mut self, now: Time, command: &Command) -> Option<Tag> {
        if self.tags.len() == self.depth {
            return None;
        }
        let id = self.tags.allocate(TaggedCommand::new);
        self.tags[id].start(now, command, self.page_sectors);
        Some(id)
    }

    /// The sectors of page `page` of a command that it covers, as a bit mask.
    #[inline]
    pub fn sectors_of(&self, id: Tag, page: u32) -> u64 {
        let (t, sectors) = (&self.tags[id], u64::from(self.page_sectors));
        let start = t.page(page).get() * sectors;
        let from = t.command.sector.max(start) - start;
        let to = (t.command.sector + u64::from(t.command.sectors)).min(start + sectors) - start;
        (u64::MAX >> (64 - (to - from))) << from
    }

    /// True if a command covers page `page` from the first sector to the last.
    #[inline]
    pub fn is_whole(&self, id: Tag, page: u32) -> bool {
        self.sectors_of(id, page) == u64::MAX >> (64 - self.page_sectors)
    }

    /// Bytes of some pages of a command that it covers.
    #[inline]
    pub fn bytes_of(&self, id: Tag, pages: Range<u32>) -> u64 {
        let t = &self.tags[id];
        if pages.end - pages.start == t.pages {
            return u64::from(t.command.sectors) * SECTOR_BYTES;
        }
        let page = |n: u32| t.page(n).get() * u64::from(self.page_sectors);
        let start = t.command.sector.max(page(pages.start));
        let end = (t.command.sector + u64::from(t.command.sectors)).min(page(pages.end));
        (end - start) * SECTOR_BYTES
    }

    /// Releases a tag, which may be bound to another command from then on.
    #[inline]
    pub fn release(&mut self, id: Tag) {
        self.tags.release(id);
    }
}

impl std::ops::Index<Tag> for Tags {
    type Output = TaggedCommand;
    #[inline]
    fn index(&self, id: Tag) -> &TaggedCommand {
        &self.tags[id]
    }
}

impl std::ops::IndexMut<Tag> for Tags {
    #[inline]
    fn index_mut(&mut self, id: Tag) -> &mut TaggedCommand {
        &mut self.tags[id]
    }
}
