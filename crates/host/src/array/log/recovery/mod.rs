//! Recovery of the log.
//!
//! The newest checkpoint with a readable header is loaded; then the rows written since it started are read,
//! following the last descriptor of each to the next. A batch is valid if its descriptor, all of its blocks
//! and their stripes are readable; a stream ends at the first invalid one. First the batches of moved blocks
//! are replayed, except for entries that the map knows newer; then all batches of the host, in order. This
//! order is right because blocks moved since the checkpoint were written before it: everything the host has
//! written since is newer.
//!
//! Rows without references are free. Rows that were open stay as they are, and a checkpoint is written before
//! any other write.

mod finish;

use super::Log;
use super::checkpoint::{COUNT_MAX, Header, Piece, decode_piece};
use super::descriptor::{Aged, Descriptor};
use super::geometry::{DUMP_ENTRIES, Place, Region, Row};
use super::stream::{HOST, MOVED};
use super::token::Token;
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::reads::{BlockRead, ReadResult, ReconstructWhen};
use crate::array::{Column, DriveId};
use crate::mutation::{Invariant, holds};
use crate::placement::WriteKind;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::Id;
use tailcut_base::{Class, Nanos, Op, Status, Time};

/// Counters of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Rows of the log that the recovery has read.
    pub rows_scanned: u64,
    /// Blocks read, of log and checkpoint.
    blocks_read: u64,
    /// Batches whose descriptor was found and valid.
    pub batches: u64,
    /// Blocks and trims that the valid batches describe.
    pub entries: u64,
    /// Time from the start until requests are accepted.
    pub duration: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Headers,
    Pieces,
    Rows,
    /// The log has been read; damaged blocks are still being rewritten.
    Repairs,
    Done,
}

/// A recovery in progress.
#[derive(Debug)]
pub(super) struct Recovery<B> {
    phase: Phase,
    began: Time,
    pending: u32,
    header: Option<Header>,
    /// Drives have different headers of this number: one of them is wrong despite its valid checksum.
    is_disputed: bool,
    /// The next piece to read.
    piece: u64,
    /// Age plus 1 of each row in use.
    ages: Vec<u32>,
    /// Rows without a summary.
    unfinished: Vec<Row>,
    /// Current read position: stream, row, and the next block to read.
    stream: usize,
    pub(super) here: Aged,
    pub(super) asked: u32,
    pub(super) content: Vec<Option<B>>,
    /// Number of extra passes over the row.
    pub(super) looks: u32,
    /// The last pass has found a descriptor: another may find more.
    pub(super) has_found: bool,
    /// Positions of the row before this one are valid.
    pub(super) reached: u32,
    /// The next batch of the stream.
    expected: Option<u64>,
    /// The last batch of each stream.
    last: [u64; 2],
    /// Rewrites of blocks in flight.
    pub repairs: u32,
    report: RecoveryReport,
}

/// Concurrent reads of a recovery.
const DEPTH: u32 = 64;

/// Upper bound of the ages assigned between a checkpoint and a power loss: both streams commit before that.
const AGES_AHEAD: u32 = 1 << 24;

impl<B: Block> Recovery<B> {
    fn new(now: Time, rows: usize) -> Recovery<B> {
        Recovery {
            phase: Phase::Headers,
            began: now,
            pending: 0,
            header: None,
            is_disputed: false,
            piece: 0,
            ages: vec![0; rows],
            unfinished: Vec::new(),
            stream: MOVED,
            here: Aged { row: Row::FIRST, age: 0 },
            asked: 0,
            content: Vec::new(),
            looks: 0,
            has_found: false,
            reached: 0,
            expected: None,
            last: [0; 2],
            repairs: 0,
            report: RecoveryReport::default(),
        }
    }

    fn header(&self) -> &Header {
        self.header.as_ref().expect("it is the first that is read")
    }
}

impl<B: Block> Log<B> {
    /// Starts recovery.
    pub(super) fn begin_recovery(&mut self, now: Time, core: &mut Core<B>) {
        let mut recovery = Recovery::new(now, self.geometry.all_rows() as usize);
        for drive in core.drives.ids() {
            for &region in if core.drives.is_in_sync(drive) { &Region::BOTH[..] } else { &[] } {
                recovery.pending += 1;
                self.read_raw(now, core, drive, self.geometry.header_block(region), 0);
            }
        }
        self.recovery = Some(Box::new(recovery));
    }

    /// Reads a block of unknown age: its content identifies it.
    fn read_raw(&mut self, now: Time, core: &mut Core<B>, drive: DriveId, block: u64, what: u32) {
        let (op, class, data) = (Op::Read, Class::DEFAULT, Vec::new());
        let ask =
            Ask { op, fua: false, fail_fast: false, class, kind: WriteKind::Data, block, blocks: 1, data };
        core.drives.ask(now, drive, Priority::Read, Owner::Layout(Token::Recovery(what).into()), ask);
    }

    fn recovering(&mut self) -> &mut Recovery<B> {
        self.recovery.as_mut().expect("a recovery is under way")
    }

    /// The read of a header or a piece has completed, successfully or not.
    pub(super) fn raw_read(&mut self, now: Time, core: &mut Core<B>, what: u32, answer: &Answered<B>) {
        let array = self.array;
        let recovery = self.recovering();
        recovery.pending -= 1;
        recovery.report.blocks_read += 1;
        let bytes = answer.data.first().filter(|_| answer.status == Status::Success).and_then(Block::decode);
        if recovery.phase == Phase::Headers {
            let header = bytes.and_then(Header::decode).filter(|header| header.array == array);
            if let (Some(one), Some(other)) = (&recovery.header, &header)
                && one.number <= other.number
            {
                recovery.is_disputed = one.number == other.number && (one != other || recovery.is_disputed);
            }
            let newest = recovery.header.take().into_iter().chain(header).max_by_key(|h| h.number);
            recovery.header = newest;
            if recovery.pending == 0 {
                self.headers_read(now, core);
            }
        } else {
            let (index, copy) = (u64::from(what >> 1), what as usize & 1);
            let header = recovery.header().clone();
            let number = header.number;
            match bytes.and_then(|bytes| decode_piece(bytes, &header, index, &self.geometry)) {
                Some(Piece::Map(entries)) if self.are_possible(index, &entries) => self.load(index, &entries),
                Some(Piece::Sums(sums)) => self.load_checksums(core, index, sums),
                Some(_) => self.abandon(format!("piece {index} of checkpoint {number} contradicts itself")),
                None if copy + 1 < self.geometry.copies() => self.read_piece(now, core, index, copy + 1),
                None => self.abandon(format!("piece {index} of checkpoint {number} cannot be read")),
            }
            self.read_pieces(now, core);
        }
    }

    /// Recovery has failed: the map is lost.
    #[cold]
    fn abandon(&mut self, why: String) {
        self.failed.get_or_insert(why);
        self.is_lost = true;
        self.is_ready = true;
    }

    fn headers_read(&mut self, now: Time, core: &mut Core<B>) {
        let (segment, host_blocks) = (self.geometry.segment, self.geometry.host_blocks);
        let geometry = self.geometry.clone();
        let recovery = self.recovering();
        recovery.phase = Phase::Pieces;
        let is_disputed = recovery.is_disputed;
        match &recovery.header {
            None => self.abandon("no checkpoint can be read".into()),
            Some(header) if (header.segment, header.host_blocks) != (segment, host_blocks) => {
                let why = format!("the checkpoint is of another shape: {header}");
                self.abandon(why);
            }
            Some(header) if is_disputed || !header.is_possible(&geometry) => {
                let why = format!("the checkpoint's header contradicts itself, or others: {header}");
                self.abandon(why);
            }
            Some(_) => self.read_pieces(now, core),
        }
    }

    fn read_pieces(&mut self, now: Time, core: &mut Core<B>) {
        if self.is_lost {
            return;
        }
        while self.recovering().pending < DEPTH && self.recovering().piece < self.recovering().header().pieces
        {
            let index = self.recovering().piece;
            self.recovering().piece += 1;
            self.read_piece(now, core, index, 0);
        }
        if self.recovering().pending == 0 {
            self.recovering().phase = Phase::Rows;
            self.begin_stream(now, core, MOVED);
        }
    }

    fn read_piece(&mut self, now: Time, core: &mut Core<B>, index: u64, copy: usize) {
        self.recovering().pending += 1;
        let region = Region::of(self.recovering().header().number);
        let (drive, block) = self.geometry.dump_place(region, index, copy);
        self.read_raw(now, core, drive, block, to_u32(index << 1 | copy as u64));
    }

    /// True if all entries of a piece are places of data or ages that were assigned.
    fn are_possible(&self, index: u64, entries: &[u64]) -> bool {
        let recovery = self.recovery.as_ref().expect("a recovery is under way");
        let opened = u64::from(recovery.header().opened);
        let (host_blocks, rows) = (self.geometry.host_blocks, u64::from(self.geometry.all_rows()));
        (index * DUMP_ENTRIES..).zip(entries).all(|(entry, &raw)| {
            if entry < host_blocks {
                raw == 0 || self.geometry.holds_data(Place(raw - 1))
            } else {
                entry >= host_blocks + rows || raw <= opened
            }
        })
    }

    fn load(&mut self, index: u64, entries: &[u64]) {
        let host_blocks = self.geometry.host_blocks;
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        for (entry, &raw) in (index * DUMP_ENTRIES..).zip(entries) {
            if entry < host_blocks {
                self.map.replace(entry, raw.checked_sub(1).map(Place));
            } else if let Some(age) = recovery.ages.get_mut(to_usize(entry - host_blocks)) {
                *age = to_u32(raw);
            }
        }
    }

    fn load_checksums(&self, core: &mut Core<B>, index: u64, sums: Vec<u32>) {
        let checksums = core.reads.checksums().filter(|_| holds(Invariant::ChecksumsAreRestored));
        if let (Some((drive, block)), Some(checksums)) = (self.geometry.sums_of(index), checksums) {
            checksums.restore(drive, block, sums.into_iter());
        }
    }

    fn begin_stream(&mut self, now: Time, core: &mut Core<B>, stream: usize) {
        let recovery = self.recovering();
        let start = recovery.header().starts[stream];
        recovery.stream = stream;
        recovery.expected = None;
        recovery.last[stream] = start.batch;
        self.begin_scan(now, core, start.here);
    }

    fn begin_scan(&mut self, now: Time, core: &mut Core<B>, here: Aged) {
        let blocks = (self.geometry.stripes() * self.geometry.width) as usize;
        let recovery = self.recovering();
        (recovery.here, recovery.asked) = (here, 0);
        recovery.content.clear();
        recovery.content.resize(blocks, None);
        (recovery.looks, recovery.has_found) = (0, false);
        recovery.ages[here.row.index()] = here.age + 1;
        recovery.report.rows_scanned += 1;
        self.scan(now, core);
    }

    fn scan(&mut self, now: Time, core: &mut Core<B>) {
        let width = self.geometry.width;
        while self.recovering().pending < DEPTH {
            let recovery = self.recovering();
            let (here, asked) = (recovery.here, recovery.asked);
            if asked as usize == recovery.content.len() {
                break;
            }
            recovery.asked += 1;
            // However long it takes: a block missing on a drive must be rewritten there.
            let around = if recovery.looks == 0 {
                Some(ReconstructWhen::WhenWrong)
            } else {
                self.around_again(core, asked)
            };
            let Some(around) = around else { continue };
            let recovery = self.recovering();
            recovery.pending += 1;
            recovery.report.blocks_read += 1;
            let wanted = BlockRead {
                drive: self.geometry.drive(here.row, Column::new(asked % width)),
                block: self.geometry.address(here.row) + u64::from(asked / width),
                blocks: 1,
                age: self.age(here.age),
                unwritten: false,
                class: Class::DEFAULT,
                urgency: Priority::Read,
                around,
                token: Token::Recovery(asked).into(),
            };
            core.reads.begin(now, &mut core.drives, wanted);
        }
        if self.recovering().pending == 0 {
            self.row_read(now, core);
        }
    }

    /// The read of a block of a row has completed, successfully or not.
    pub(super) fn scanned(&mut self, now: Time, core: &mut Core<B>, at: u32, done: &mut ReadResult<B>) {
        self.recovering().pending -= 1;
        if done.wanted.around == ReconstructWhen::Always {
            self.stripe_read(now, core, at, done);
        } else if done.status == Status::Success {
            let recovery = self.recovering();
            recovery.content[at as usize] = done.data.pop();
            recovery.has_found |= recovery.looks > 0 && done.reconstructed;
        }
        self.scan(now, core);
    }

    /// All of a row has been read: replays its valid part.
    fn row_read(&mut self, now: Time, core: &mut Core<B>) {
        let mut recovery = self.recovery.take().expect("a recovery is under way");
        let before = (recovery.expected, recovery.last, recovery.report);
        let next = self.replay_row(core, &mut recovery);
        if next.is_none() && self.may_read_again(core, &recovery) {
            // Replaying applied batches again has no effect.
            (recovery.expected, recovery.last, recovery.report) = before;
            self.recovery = Some(recovery);
            self.read_again(core);
            return self.scan(now, core);
        }
        self.recovery = Some(recovery);
        self.repair_parities(now, core);
        if let Some(next) = next {
            self.forget_checksums(core, next.row);
            return self.begin_scan(now, core, next);
        }
        self.forget_rest(core);
        let recovery = self.recovering();
        recovery.unfinished.push(recovery.here.row);
        if recovery.stream == MOVED {
            self.begin_stream(now, core, HOST);
        } else {
            recovery.phase = Phase::Repairs;
            self.end_recovery(now, core);
        }
    }

    /// Replays the whole batches of a row. Returns the row in which the stream continues; None at its end.
    fn replay_row(&mut self, core: &mut Core<B>, recovery: &mut Recovery<B>) -> Option<Aged> {
        recovery.reached = 0;
        let start = recovery.header().starts[recovery.stream].batch;
        for position in 0..self.geometry.positions() {
            let Some(descriptor) = self.descriptor_at(recovery, position) else { continue };
            if recovery.expected.is_some_and(|expected| expected != descriptor.batch)
                || recovery.expected.is_none() && descriptor.batch > start
                || descriptor.batch >= COUNT_MAX
            {
                return None;
            }
            recovery.expected = Some(descriptor.batch + 1);
            if descriptor.batch >= start {
                if !self.is_whole(recovery, &descriptor) {
                    return None;
                }
                self.set_checksums(core, recovery, &descriptor);
                self.replay(recovery.stream, &descriptor);
                recovery.last[recovery.stream] = descriptor.batch + 1;
                recovery.report.batches += 1;
                recovery.report.entries += (descriptor.entries.len() + descriptor.trims.len()) as u64;
            }
            recovery.reached = position + 1;
            if let Some(next) = descriptor.next {
                // Ages increase from row to row, so this terminates. Larger ages cannot have been assigned.
                let is_possible = next.row.get() < self.geometry.all_rows()
                    && next.age > recovery.here.age
                    && next.age < recovery.header().opened.saturating_add(AGES_AHEAD);
                return is_possible.then_some(next);
            }
        }
        None
    }

    pub(super) fn content_at<'r>(&self, recovery: &'r Recovery<B>, position: u32) -> Option<&'r B> {
        let column = self.geometry.data_column(recovery.here.row, position % self.geometry.data).get();
        recovery.content[(position / self.geometry.data * self.geometry.width + column) as usize].as_ref()
    }

    pub(super) fn descriptor_at(&self, recovery: &Recovery<B>, position: u32) -> Option<Descriptor> {
        self.descriptor_in(recovery, position, self.content_at(recovery, position)?)
    }

    pub(super) fn descriptor_in(
        &self,
        recovery: &Recovery<B>,
        position: u32,
        content: &B,
    ) -> Option<Descriptor> {
        let descriptor = Descriptor::decode(content.decode()?)?;
        let is_right = descriptor.array == self.array
            && descriptor.here == recovery.here
            && descriptor.stream as usize == recovery.stream
            && descriptor.position == position
            && u64::from(descriptor.first) + descriptor.entries.len() as u64 == u64::from(position);
        is_right.then_some(descriptor)
    }

    /// True if all blocks of a batch, and all their stripes, are readable.
    fn is_whole(&self, recovery: &Recovery<B>, descriptor: &Descriptor) -> bool {
        if !holds(Invariant::BatchesAreWhole) {
            return true;
        }
        let (data, width) = (self.geometry.data, self.geometry.width);
        let stripes = descriptor.first / data..=descriptor.position / data;
        let mut slots = stripes.flat_map(|stripe| stripe * width..(stripe + 1) * width);
        if self.geometry.parity(Row::FIRST).is_some()
            && !slots.all(|slot| recovery.content[slot as usize].is_some())
        {
            return false;
        }
        (descriptor.first..).zip(&descriptor.entries).all(|(position, entry)| {
            self.content_at(recovery, position).is_some_and(|content| content.checksum() == entry.checksum)
        })
    }

    fn replay(&mut self, stream: usize, descriptor: &Descriptor) {
        let mut trims = descriptor.trims.iter().peekable();
        for (index, entry) in (0u32..).zip(&descriptor.entries) {
            while let Some(trim) = trims.next_if(|trim| u32::from(trim.after) <= index) {
                self.replay_trim(trim.block, trim.blocks);
            }
            let place = self.geometry.place(descriptor.here.row, descriptor.first + index);
            if entry.block >= self.geometry.host_blocks {
                continue;
            }
            let is_newest = stream == HOST
                || self.map.get(entry.block) == entry.source
                || !holds(Invariant::MovesAreConditional);
            if is_newest {
                self.map.replace(entry.block, Some(place));
            }
        }
        for trim in trims {
            self.replay_trim(trim.block, trim.blocks);
        }
    }

    fn replay_trim(&mut self, block: u64, blocks: u32) {
        let end = (block + u64::from(blocks)).min(self.geometry.host_blocks);
        for block in block..end {
            self.map.replace(block, None);
        }
    }
}
