//! What all layouts share: drives, reads, requests of the host, and the record.

use super::config::{ArrayConfig, InPlaceChecksums, ReadPolicy};
use super::drives::{Answered, Ask, Drives, Owner, Presence, Urgency};
use super::heavy::{EpochFigures, Tokens};
use super::integrity::{Area, Integrity};
use super::reads::{Around, Reads, Redundancy};
use super::record::{CHECKSUMS, MemberId, RECORD_BLOCKS, Record};
use super::requests::Requests;
use super::turns::Turns;
use crate::Block;
use crate::array::{DriveId, RGroups};
use crate::disk::Disk;
use crate::planted::{Rule, holds};
use tailcut_base::control::Control;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::{Class, Op, Spans, Status, Time};

/// The common part of an array.
#[derive(Debug)]
pub struct Core<B: Block> {
    /// As configured; what the array was made with, where it was opened.
    pub config: ArrayConfig,
    /// The drives.
    pub drives: Drives<B>,
    /// Reads of stored blocks.
    pub reads: Reads<B>,
    /// Requests of the host.
    pub requests: Requests<B>,
    /// The right to write, if drives share it.
    pub tokens: Option<Tokens>,
    /// Who collects garbage when, if drives do so in turn.
    turns: Option<Turns>,
    /// Drives that do not know them, in order.
    without_turns: Vec<DriveId>,
    /// The record, where one is kept.
    record: Option<Kept>,
    /// Blocks of each drive that the array uses.
    drive_blocks: u64,
    /// Writes of the host that are done but may not be acknowledged before the record is written.
    held: Vec<u32>,
    /// The drive that could not be flushed, where no other stands in for it.
    unflushed: Option<DriveId>,
}

/// The record and how far it has got.
#[derive(Debug)]
struct Kept {
    record: Record,
    /// Which drives there are by the record that is on all of them.
    durable: IdVec<DriveId, Presence>,
    /// Copies that have not been written.
    pending: u32,
    /// It must be written once more.
    again: bool,
    /// One has been written since somebody was told.
    written: bool,
}

impl Kept {
    fn new(record: Record) -> Kept {
        let durable = record.presence.clone();
        Kept { record, durable, pending: 0, again: false, written: false }
    }
}

impl<B: Block> Core<B> {
    /// The core of a new array; it keeps a record if it has an identity.
    pub fn new(config: &ArrayConfig, disks: &[Disk], identity: Option<u128>) -> Core<B> {
        assert_eq!(disks.len(), config.drives as usize, "as many drives as configured");
        let drive_blocks = disks.iter().map(|disk| disk.blocks).min().expect("an array has drives");
        let record = identity.map(|array| Record {
            array,
            generation: 0,
            drive_blocks,
            layout: config.layout,
            groups: config.groups,
            member: DriveId::new(0),
            presence: IdVec::filled(disks.len(), Presence::InSync),
            ids: DriveId::first(disks.len()).map(|member| MemberId::first(array, member)).collect(),
            shape: std::array::from_fn(|number| {
                u64::from(number == CHECKSUMS && config.has_checksums_in_place())
            }),
            state: [0; 8],
        });
        Core::with(config, disks, drive_blocks, record)
    }

    /// The core of an array with a record.
    pub fn opened(config: &ArrayConfig, disks: &[Disk], record: &Record) -> Core<B> {
        let drives = record.presence.len() as u32;
        let checksums = match record.has_checksums_in_place() {
            true => InPlaceChecksums::On,
            false => InPlaceChecksums::Off,
        };
        let (layout, groups) = (record.layout, record.groups);
        let config = ArrayConfig { drives, layout, groups, checksums, ..config.clone() };
        let mut core = Core::with(&config, disks, record.drive_blocks, Some(record.clone()));
        for (drive, &presence) in record.presence.iter_enumerated() {
            core.drives.set_presence(drive, presence);
        }
        core
    }

    fn with(config: &ArrayConfig, disks: &[Disk], drive_blocks: u64, record: Option<Record>) -> Core<B> {
        let mut drives = Drives::new(disks, config.drive_depth);
        let has_tokens = config.has_gates();
        if has_tokens {
            drives.set_gates(config.epoch.delay);
        }
        if config.has_checksums_in_place() {
            let nobody = IdVec::filled(disks.len(), MemberId::NONE);
            let (array, ids) = record.as_ref().map_or((0, &nobody), |record| (record.array, &record.ids));
            let integrity = Integrity::new(array, ids, Area::of(drive_blocks), config.checksums_idle);
            drives.keep_checksums(integrity);
        }
        Core {
            tokens: has_tokens.then(|| Tokens::new(config)),
            drives,
            reads: Reads::new(Redundancy::of(config), config.slow_after),
            requests: Requests::default(),
            turns: Turns::new(config.turns, config.turn_pause, config.width()),
            without_turns: Vec::new(),
            record: record.map(Kept::new),
            drive_blocks,
            held: Vec::new(),
            unflushed: None,
            config: config.clone(),
        }
    }

    /// The first block of a drive that a layout may use, and the first that it may not.
    pub fn usable(&self) -> std::ops::Range<u64> {
        let area = self.drives.integrity().map(Integrity::area);
        RECORD_BLOCKS..area.map_or(self.drive_blocks, Area::start)
    }

    /// Blocks of each drive that the array uses.
    pub fn drive_blocks(&self) -> u64 {
        self.drive_blocks
    }

    /// True when the array keeps what it needs to be opened again.
    pub fn is_durable(&self) -> bool {
        self.record.is_some()
    }

    /// Identity of the array, where it keeps records.
    pub fn identity(&self) -> Option<u128> {
        self.record.as_ref().map(|kept| kept.record.array)
    }

    /// The record; its `shape` and `state` belong to the layout. Changes are written with
    /// [`Core::write_record`].
    pub fn record(&mut self) -> Option<&mut Record> {
        self.record.as_mut().map(|kept| &mut kept.record)
    }

    /// What epochs before the drives' gates did, if they have any.
    pub fn token_figures(&self) -> Option<EpochFigures> {
        let (met, diverted) = (self.drives.met(), self.reads.counts().steered);
        let times = self.drives.stage_times();
        self.tokens.as_ref().map(|tokens| EpochFigures { met, diverted, times, ..*tokens.figures() })
    }

    /// Goes on with epochs; the next drive for which the layout may send what it has kept back.
    pub(super) fn run_tokens(&mut self, now: Time) -> Option<DriveId> {
        self.tokens.as_mut()?.run(now, &mut self.drives)
    }

    /// Tells the drives when they may collect, if they do so in turn.
    pub(super) fn announce_turns(&mut self) {
        let Some(turns) = self.turns else { return };
        for drive in self.drives.ids() {
            self.drives.control(drive, Control::SetWindows(turns.of(drive)));
        }
    }

    /// A drive does not know turns: it collects whenever it likes.
    pub(super) fn turn_refused(&mut self, drive: DriveId) {
        if let Err(at) = self.without_turns.binary_search(&drive) {
            self.without_turns.insert(at, drive);
        }
    }

    /// Drives that do not know turns, though the array has them.
    pub fn without_turns(&self) -> usize {
        self.without_turns.len()
    }

    fn is_in_turn(&self, now: Time, drive: DriveId) -> bool {
        self.turns.is_some_and(|turns| turns.is_on(now, drive))
            && self.without_turns.binary_search(&drive).is_err()
    }

    /// How a read of a complete stripe treats a drive, by the policy of the array.
    pub fn around(&self, now: Time, drive: DriveId) -> Around {
        match self.config.reads {
            ReadPolicy::Direct => Around::AtNeed,
            ReadPolicy::AroundCollection if self.is_in_turn(now, drive) => Around::Now,
            ReadPolicy::AroundCollection => Around::AtNeed,
            ReadPolicy::FailFast => Around::WhenContended,
        }
    }

    /// Drives of the group of `drive` that do not serve.
    pub fn missing_beside(&self, drive: DriveId) -> usize {
        let groups = RGroups::new(self.config.width());
        groups.drives(groups.group_of(drive)).filter(|&member| !self.drives.is_in_sync(member)).count()
    }

    /// A part of a request of the host has ended; the last one ends the request.
    pub fn part_done(&mut self, now: Time, slot: u32, status: Status, spans: &Spans) {
        if self.requests.part_done(now, slot, status, spans) {
            self.finish(now, slot);
        }
    }

    /// Ends a request of the host. A write is not acknowledged while a record is being written:
    /// it may have done without a drive that the record still counts on. One that has failed promises
    /// nothing: it is answered before reads that came after it.
    pub fn finish(&mut self, now: Time, slot: u32) {
        if self.unflushed.is_some() && self.requests.get(slot).op != Op::Read {
            self.requests.fail(slot, Status::MediaError);
        }
        let request = self.requests.get(slot);
        if request.op != Op::Read && request.is_good() && !self.is_recorded() {
            self.held.push(slot);
        } else {
            self.requests.finish(now, slot);
        }
    }

    /// A drive could not be flushed, and nothing stands in for it: a later flush that succeeds proves
    /// nothing, so nothing more is written and acknowledged before the array is opened again.
    pub(super) fn note_unflushed(&mut self, drive: DriveId) {
        if !holds(Rule::FailedFlushesAreFinal) {
            return;
        }
        self.unflushed.get_or_insert(drive);
        self.drives.stop_cleaning(drive);
        for &slot in &self.held {
            self.requests.fail(slot, Status::MediaError);
        }
    }

    /// The drive because of which nothing more is written; see [`Core::note_unflushed`].
    pub fn unflushed(&self) -> Option<DriveId> {
        self.unflushed
    }

    /// True when no record is being written.
    pub fn is_recorded(&self) -> bool {
        self.record.as_ref().is_none_or(|kept| kept.pending == 0)
    }

    /// Drives that serve, and that after a power cut now would have to be filled again: no record says yet
    /// that they have been.
    pub fn unrecorded(&self) -> impl Iterator<Item = DriveId> {
        let durable = self.record.as_ref().map_or(&[][..], |kept| kept.durable.as_slice());
        let is_behind =
            |&drive: &DriveId| self.drives.is_in_sync(drive) && durable[drive.index()] != Presence::InSync;
        DriveId::first(durable.len()).filter(is_behind)
    }

    /// A drive has another identity from the next record on.
    pub(super) fn rename(&mut self, drive: DriveId, id: MemberId) {
        if let Some(kept) = &mut self.record {
            kept.record.ids[drive] = id;
        }
    }

    /// Writes the record of an array that is opened: first `newest` as it is to the members that are
    /// `behind`, then the next one to all. Otherwise a power cut in each of several openings would leave a
    /// member that was there all the time more than one generation behind the newest, as if the array had
    /// gone on without it.
    ///
    /// Each opening is two generations. So a copy of a drive from before it, put back later, is further
    /// behind than a power cut can leave a member, and is stale.
    pub(super) fn write_first_record(&mut self, now: Time, newest: &Record, behind: &[DriveId]) {
        for &drive in behind {
            self.send_record(now, drive, newest);
        }
        self.write_record(now);
        if let Some(kept) = &mut self.record {
            kept.again = true;
        }
    }

    fn send_record(&mut self, now: Time, drive: DriveId, record: &Record) {
        let Some(kept) = &mut self.record else { return };
        kept.pending += 1;
        let record = Record { member: drive, ..record.clone() };
        let (class, block) = (Class::DEFAULT, record.generation % RECORD_BLOCKS);
        let data = vec![B::encode(&record.encode())];
        let ask = Ask { op: Op::Write, fua: true, fail_fast: false, class, block, blocks: 1, data };
        self.drives.ask(now, drive, Urgency::Read, Owner::Record, ask);
    }

    /// Writes the record to all drives that are there.
    pub fn write_record(&mut self, now: Time) {
        let Some(kept) = &mut self.record else { return };
        if kept.pending > 0 {
            kept.again = true;
            return;
        }
        // A drive that has failed the write of one copy may fail that of the other: one is to stay.
        if self.unflushed.is_some() {
            return;
        }
        let record = &mut kept.record;
        record.generation += 1;
        record.presence = self.drives.ids().map(|drive| self.drives.presence(drive)).collect();
        let record = record.clone();
        for drive in self.drives.ids() {
            if self.drives.is_present(drive) {
                self.send_record(now, drive, &record);
            }
        }
    }

    /// A drive has written its record, or has not.
    pub(super) fn record_answered(&mut self, now: Time, answer: Answered<B>) {
        self.drives.recycle(answer.data);
        let kept = self.record.as_mut().expect("it was written");
        kept.pending -= 1;
        if kept.pending == 0 {
            kept.written = true;
            kept.durable.clone_from(&kept.record.presence);
            if std::mem::take(&mut kept.again) {
                self.write_record(now);
            }
        }
    }

    /// Acknowledges what had to wait for the record; true when there was a record to be told of.
    pub(super) fn release_held(&mut self, now: Time) -> bool {
        if !self.is_recorded() {
            return false;
        }
        for slot in std::mem::take(&mut self.held) {
            self.requests.finish(now, slot);
        }
        self.record.as_mut().is_some_and(|kept| std::mem::take(&mut kept.written))
    }
}
