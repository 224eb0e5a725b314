//! What a disk holds: durable data, and the writes that a power cut may undo.
//!
//! A read returns what the writes submitted before it wrote, in their order. A write is *unflushed* until it
//! is [settled](Contents::settle). Until then its data is in the cached copies of its pages, which reads see,
//! and not in the durable ones. A power cut [leaves](Contents::power_cut) any of the pieces of unflushed
//! writes, applied in the order of their submission. A settled write stays: what an older, unflushed write
//! has in the same sectors is superseded, and never comes back.

mod page;
mod table;
mod unflushed;

use page::{PAGE_SECTORS, PageState, SharedPage, overlap};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use table::PageTable;
use tailcut_base::cast::to_usize;
use tailcut_base::device::SECTOR_BYTES;
pub use unflushed::UnflushedPiece;
pub(crate) use unflushed::WriteRange;
use unflushed::{Payload, Unflushed, pieces};

/// The sequence number of an unflushed write, in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WriteId(u64);

/// What a flush covers: the writes that had completed when it was submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlushPoint(u64);

/// The data of a read.
#[derive(Clone, Debug)]
pub(crate) enum ReadData {
    Bytes(Vec<u8>),
    /// A part of a page of the disk, as it was when it was read.
    Page(SharedPage, Range<usize>),
}

impl ReadData {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            ReadData::Bytes(bytes) => bytes,
            ReadData::Page(page, part) => &page[part.clone()],
        }
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self {
            ReadData::Bytes(bytes) => bytes,
            ReadData::Page(page, part) => page[part].to_vec(),
        }
    }
}

/// What a power cut has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survival {
    survived: u64,
    lost: u64,
    torn: u64,
}

impl Survival {
    /// Pieces that have survived.
    pub(crate) fn survived(&self) -> u64 {
        self.survived
    }

    /// Pieces that are lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes of which some pieces have survived and some are lost.
    pub(crate) fn torn(&self) -> u64 {
        self.torn
    }
}

/// The data of a disk. Memory grows with the pages that are not zero, and with unflushed data.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pages: PageTable,
    /// Unflushed writes, the oldest first; `None` where one has been settled before an older one.
    unflushed: VecDeque<Option<Unflushed>>,
    /// The sequence number of the front of `unflushed`.
    oldest: u64,
    unflushed_bytes: u64,
    /// Writes that have completed so far.
    completed: u64,
    /// Sectors whose durable copy cannot be read.
    unreadable: BTreeSet<u64>,
}

impl Contents {
    /// The data of sectors, whether they can be read or not.
    pub(crate) fn peek(&self, sectors: Range<u64>) -> ReadData {
        let visible = |page: u64| self.pages.get(page).and_then(PageState::visible);
        if page::numbers(sectors.clone()).count() == 1
            && let Some((page, part)) = page::parts(sectors.clone()).next()
            && let Some(shared) = visible(page)
        {
            return ReadData::Page(SharedPage::clone(shared), part);
        }
        let mut data = Vec::with_capacity(to_usize(bytes_in(&sectors)));
        for (page, part) in page::parts(sectors) {
            match visible(page) {
                Some(bytes) => data.extend_from_slice(&bytes[part]),
                None => data.resize(data.len() + part.len(), 0),
            }
        }
        ReadData::Bytes(data)
    }

    /// The data of sectors; `None` if one of them cannot be read.
    pub(crate) fn read(&self, sectors: Range<u64>) -> Option<ReadData> {
        let can_be_read = self.unreadable.is_empty()
            || self.unreadable.range(sectors.clone()).all(|&sector| self.is_cached(sector));
        can_be_read.then(|| self.peek(sectors))
    }

    /// True if reads of the sector are answered from the cache.
    fn is_cached(&self, sector: u64) -> bool {
        let state = self.pages.get(sector / PAGE_SECTORS);
        state.is_some_and(|state| state.has_cached(sector % PAGE_SECTORS))
    }

    /// Notes a write, or a trim if it has no `data`, of a range that is not empty. Reads see it from now on.
    pub(crate) fn write(&mut self, range: WriteRange, data: Option<Vec<u8>>) -> WriteId {
        let data = match data {
            Some(data) if range.is_page() => Payload::Page(page::shared(&data)),
            Some(data) => Payload::Bytes(data),
            None => Payload::Zeros,
        };
        if let Payload::Page(shared) = &data {
            let number = range.sectors().start / PAGE_SECTORS;
            self.pages.get_mut(number).write_whole(SharedPage::clone(shared));
        } else {
            let mut rest = if let Payload::Bytes(bytes) = &data { Some(bytes.as_slice()) } else { None };
            for (page, part) in page::parts(range.sectors()) {
                let bytes = rest.map(|bytes| bytes.split_at(part.len()));
                rest = bytes.map(|(_, rest)| rest);
                self.pages.get_mut(page).write(part, bytes.map(|(bytes, _)| bytes));
            }
        }
        self.unflushed_bytes += range.bytes();
        self.unflushed.push_back(Some(Unflushed::new(range, data)));
        WriteId(self.oldest + self.unflushed.len() as u64 - 1)
    }

    fn get_mut(&mut self, id: WriteId) -> Option<&mut Unflushed> {
        self.unflushed.get_mut(to_usize(id.0.checked_sub(self.oldest)?))?.as_mut()
    }

    /// A write has been acknowledged: flushes submitted from now on cover it.
    pub(crate) fn complete(&mut self, id: WriteId) {
        self.completed += 1;
        let completed = FlushPoint(self.completed);
        if let Some(write) = self.get_mut(id) {
            write.complete(completed);
        }
    }

    /// What a flush covers that is submitted now.
    pub(crate) fn flush_point(&self) -> FlushPoint {
        FlushPoint(self.completed)
    }

    /// Makes durable what a flush covers.
    pub(crate) fn flush(&mut self, point: FlushPoint) {
        for number in self.oldest..self.oldest + self.unflushed.len() as u64 {
            let id = WriteId(number);
            if self.get_mut(id).is_some_and(|write| write.is_covered_by(point)) {
                self.settle(id);
            }
        }
    }

    /// Makes a write durable, if it is not yet.
    pub(crate) fn settle(&mut self, id: WriteId) {
        self.make_durable(id);
        self.forget_settled();
    }

    /// Makes the oldest writes durable until at most `bytes` are unflushed.
    pub(crate) fn write_back(&mut self, bytes: u64) {
        while self.unflushed_bytes > bytes {
            self.settle(WriteId(self.oldest));
        }
    }

    fn forget_settled(&mut self) {
        while let Some(None) = self.unflushed.front() {
            self.unflushed.pop_front();
            self.oldest += 1;
        }
    }

    fn make_durable(&mut self, id: WriteId) {
        let Some(index) = id.0.checked_sub(self.oldest).map(to_usize) else { return };
        let Some(write) = self.unflushed.get_mut(index).and_then(Option::take) else { return };
        let sectors = write.range().sectors();
        self.unflushed_bytes -= write.range().bytes();
        let is_shared = |state: &PageState| state.writers() > 1;
        if page::numbers(sectors.clone()).any(|page| self.pages.get(page).is_some_and(is_shared)) {
            for older in self.unflushed.range_mut(..index).flatten() {
                older.supersede(sectors.clone());
            }
        }
        for (page, part) in page::parts(sectors.clone()) {
            let state = self.pages.get_mut(page);
            if state.writers() > 1 {
                for valid in write.valid_within(overlap(page, &part)) {
                    state.durable_mut().store(page::bytes_of(page, &valid), write.data_of(&valid));
                }
            }
            state.leave();
        }
        self.heal(&write, sectors);
    }

    /// Sectors that have been written can be read again.
    fn heal(&mut self, write: &Unflushed, sectors: Range<u64>) {
        if !self.unreadable.is_empty() {
            for valid in write.valid_within(sectors) {
                for sector in valid {
                    self.unreadable.remove(&sector);
                }
            }
        }
    }

    /// The pieces of unflushed writes, in the order of submission: the part of a write within one aligned
    /// unit of `unit` sectors.
    pub(crate) fn pieces(&self, unit: u64) -> impl Iterator<Item = UnflushedPiece> + '_ {
        self.unflushed.iter().flatten().flat_map(move |write| pieces(write, unit))
    }

    /// The power is cut: of the unflushed pieces those survive that `survives` chooses, which is called with
    /// each in the order of submission.
    pub(crate) fn power_cut(
        &mut self,
        unit: u64,
        mut survives: impl FnMut(&UnflushedPiece) -> bool,
    ) -> Survival {
        let mut survival = Survival::default();
        let writes: Vec<Unflushed> = self.unflushed.drain(..).flatten().collect();
        (self.oldest, self.unflushed_bytes) = (0, 0);
        for write in &writes {
            for page in page::numbers(write.range().sectors()) {
                self.pages.get_mut(page).lose_cached();
            }
        }
        for write in &writes {
            let (mut survived, mut lost) = (0, 0);
            for piece in pieces(write, unit) {
                if !survives(&piece) {
                    lost += 1;
                    continue;
                }
                survived += 1;
                let sectors = piece.range().sectors();
                for (page, part) in page::parts(sectors.clone()) {
                    let state = self.pages.get_mut(page);
                    for valid in write.valid_within(overlap(page, &part)) {
                        state.durable_mut().store(page::bytes_of(page, &valid), write.data_of(&valid));
                    }
                }
                self.heal(write, sectors);
            }
            survival.survived += survived;
            survival.lost += lost;
            survival.torn += u64::from(survived > 0 && lost > 0);
        }
        survival
    }

    /// Changes the stored bytes of sectors, durable and cached; reads see it at once. `change` is called with
    /// the number of each sector and its bytes, for each copy, and must do the same to equal bytes. Data of
    /// unflushed writes that survive a power cut replaces the damage.
    pub(crate) fn damage(&mut self, sectors: Range<u64>, change: impl Fn(u64, &mut [u8])) {
        for sector in sectors {
            let page = sector / PAGE_SECTORS;
            let state = self.pages.get_mut(page);
            state.change(page::bytes_of(page, &(sector..sector + 1)), |bytes| change(sector, bytes));
        }
    }

    /// Reads of these sectors fail until they have been written again.
    pub(crate) fn make_unreadable(&mut self, sectors: Range<u64>) {
        self.unreadable.extend(sectors);
    }

    /// Bytes of unflushed writes.
    pub(crate) fn unflushed_bytes(&self) -> u64 {
        self.unflushed_bytes
    }

    /// Bytes of memory that the data takes, without what the allocator adds.
    pub(crate) fn memory(&self) -> usize {
        let unflushed: usize = self.unflushed.iter().flatten().map(Unflushed::memory).sum();
        self.pages.memory()
            + unflushed
            + self.unflushed.capacity() * size_of::<Option<Unflushed>>()
            + self.unreadable.len() * size_of::<u64>()
    }
}

/// The bytes of a range of sectors.
fn bytes_in(sectors: &Range<u64>) -> u64 {
    (sectors.end - sectors.start) * SECTOR_BYTES
}
