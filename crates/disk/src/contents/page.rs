//! Pages of data: the unit in which a disk keeps it.

use std::ops::Range;
use std::sync::Arc;
use tailcut_base::cast::to_usize;
use tailcut_base::device::{BLOCK_LEN, BLOCK_SECTORS, SECTOR_BYTES};

/// Sectors of a page.
pub(super) const PAGE_SECTORS: u64 = BLOCK_SECTORS;

static ZEROS: [u8; BLOCK_LEN] = [0; BLOCK_LEN];

/// The bytes of a page. They are shared by copies of a page, reads, and unflushed writes, and copied when one
/// of them is changed in part.
pub(crate) type SharedPage = Arc<[u8; BLOCK_LEN]>;

/// A page with these bytes, which must be as many.
pub(super) fn shared(bytes: &[u8]) -> SharedPage {
    Arc::<[u8]>::from(bytes).try_into().expect("the bytes are a whole page")
}

/// The data of a page; zeros take no memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Page(Option<SharedPage>);

impl Page {
    /// Replaces a part of the page by `data`, or by zeros if there is none.
    pub(super) fn store(&mut self, part: Range<usize>, data: Option<&[u8]>) {
        let is_whole = part.len() == BLOCK_LEN;
        match (data, &mut self.0) {
            (None, page) if is_whole => *page = None,
            (None, None) => {}
            (None, Some(page)) => Arc::make_mut(page)[part].fill(0),
            (Some(data), page) if is_whole => *page = Some(shared(data)),
            (Some(data), page) => {
                let page = page.get_or_insert_with(|| shared(&ZEROS));
                Arc::make_mut(page)[part].copy_from_slice(data);
            }
        }
    }

    fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |_| BLOCK_LEN)
    }
}

/// The copy of a page that unflushed writes have changed.
#[derive(Debug)]
struct Cached {
    page: Page,
    /// Unflushed writes of this page.
    writers: u32,
    /// A bit for each sector that one of its writes has changed.
    written: u8,
}

/// A page of a disk.
#[derive(Debug, Default)]
pub(super) struct PageState {
    durable: Page,
    cached: Option<Cached>,
}

impl PageState {
    /// What reads return; `None` for zeros.
    pub(super) fn visible(&self) -> Option<&SharedPage> {
        self.cached.as_ref().map_or(&self.durable, |cached| &cached.page).0.as_ref()
    }

    /// True if an unflushed write has changed this sector of the page.
    pub(super) fn has_cached(&self, sector: u64) -> bool {
        self.cached.as_ref().is_some_and(|cached| cached.written >> sector & 1 == 1)
    }

    /// A new unflushed write of a part of the page, with zeros if it has no data.
    pub(super) fn write(&mut self, part: Range<usize>, data: Option<&[u8]>) {
        self.cached_for_write(&part).store(part, data);
    }

    /// A new unflushed write of the whole page.
    pub(super) fn write_whole(&mut self, page: SharedPage) {
        *self.cached_for_write(&(0..BLOCK_LEN)) = Page(Some(page));
    }

    /// The cached copy, which has one write more from now on.
    fn cached_for_write(&mut self, part: &Range<usize>) -> &mut Page {
        let durable = &self.durable;
        let cached = self.cached.get_or_insert_with(|| {
            let page = if part.len() == BLOCK_LEN { Page::default() } else { durable.clone() };
            Cached { page, writers: 0, written: 0 }
        });
        cached.writers += 1;
        cached.written |= sector_mask(part);
        &mut cached.page
    }

    /// Unflushed writes of this page.
    pub(super) fn writers(&self) -> u32 {
        self.cached.as_ref().map_or(0, |cached| cached.writers)
    }

    /// An unflushed write has been made durable. The last one leaves the cached copy as the durable one, as
    /// that has what all writes have written, in their order.
    pub(super) fn leave(&mut self) {
        let cached = self.cached.as_mut().expect("an unflushed write has a cached copy");
        cached.writers -= 1;
        if cached.writers == 0 {
            self.durable = self.cached.take().expect("it is there").page;
        }
    }

    /// A power cut loses the cached copy.
    pub(super) fn lose_cached(&mut self) {
        self.cached = None;
    }

    pub(super) fn durable_mut(&mut self) -> &mut Page {
        &mut self.durable
    }

    /// Changes a part of both copies.
    pub(super) fn change(&mut self, part: Range<usize>, change: impl Fn(&mut [u8])) {
        let cached = self.cached.as_mut().map(|cached| &mut cached.page);
        for page in [Some(&mut self.durable), cached].into_iter().flatten() {
            let page = page.0.get_or_insert_with(|| shared(&ZEROS));
            change(&mut Arc::make_mut(page)[part.clone()]);
        }
    }

    /// Bytes of its data.
    pub(super) fn memory(&self) -> usize {
        self.durable.memory() + self.cached.as_ref().map_or(0, |cached| cached.page.memory())
    }
}

/// A bit for each sector of a part of a page.
fn sector_mask(part: &Range<usize>) -> u8 {
    let bytes = to_usize(SECTOR_BYTES);
    let sectors = part.len() / bytes;
    if sectors == to_usize(PAGE_SECTORS) { u8::MAX } else { ((1 << sectors) - 1) << (part.start / bytes) }
}

/// The pages that sectors are in.
pub(super) fn numbers(sectors: Range<u64>) -> Range<u64> {
    sectors.start / PAGE_SECTORS..sectors.end.div_ceil(PAGE_SECTORS)
}

/// The parts of pages that sectors are, in order: page, and bytes within it.
pub(super) fn parts(sectors: Range<u64>) -> impl Iterator<Item = (u64, Range<usize>)> {
    numbers(sectors.clone()).map(move |page| {
        let first = page * PAGE_SECTORS;
        let within = sectors.start.max(first)..sectors.end.min(first + PAGE_SECTORS);
        (page, bytes_of(page, &within))
    })
}

/// The bytes of a page that these of its sectors are.
pub(super) fn bytes_of(page: u64, sectors: &Range<u64>) -> Range<usize> {
    let offset = |sector: u64| to_usize((sector - page * PAGE_SECTORS) * SECTOR_BYTES);
    offset(sectors.start)..offset(sectors.end)
}

/// The sectors that a part of a page is.
pub(super) fn overlap(page: u64, part: &Range<usize>) -> Range<u64> {
    let sector = |byte: usize| page * PAGE_SECTORS + byte as u64 / SECTOR_BYTES;
    sector(part.start)..sector(part.end)
}
