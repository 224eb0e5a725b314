//! The disk as a machine.

mod faults;
mod power;

pub use crate::contents::UnflushedPiece;
pub use faults::Corruption;
pub use power::PowerCut;

use crate::clock::DriveClock;
use crate::completion::Completion;
use crate::config::DiskConfig;
use crate::contents::{Contents, FlushPoint, ReadData, WriteId, WriteRange};
use crate::drive;
use crate::operation::{Busy, Error, Operation, Sector, Ticket};
use faults::Faults;
use std::ops::Range;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::device::{BLOCK_SECTORS, SECTOR_BYTES};
use tailcut_base::ids::Slab;
use tailcut_base::{Class, Command, CommandId, Device, Op, Spans, Status, Submit, Time};
use tailcut_ssd::Ssd;
use tailcut_ssd::config::SECTORS_MAX;
use tailcut_ssd::presets::Stalls;

tailcut_base::id! {
    /// An operation in flight.
    struct OperationId;
}

/// An operation in flight.
#[derive(Debug)]
struct InFlight {
    ticket: Ticket,
    submitted: Time,
    kind: InFlightKind,
}

/// What is to be done when the drive has completed an operation.
#[derive(Debug)]
enum InFlightKind {
    /// A read, with what it returns.
    Read(Result<ReadData, Error>),
    /// A write, durable when it completes or not.
    Write {
        id: WriteId,
        is_durable: bool,
    },
    /// A trim, of no whole page if there is no write.
    Trim(Option<WriteId>),
    Flush(FlushPoint),
}

impl InFlightKind {
    fn op(&self) -> Op {
        match self {
            InFlightKind::Read(_) => Op::Read,
            InFlightKind::Write { .. } => Op::Write,
            InFlightKind::Trim(_) => Op::Trim,
            InFlightKind::Flush(_) => Op::Flush,
        }
    }
}

/// A disk: data in memory with the durability of NVMe, and the times of a simulated SSD.
///
/// # Driving it
///
/// The test keeps the time, which never decreases over all calls. It [submits](Disk::submit) operations, and
/// calls [`Disk::advance`] at the latest when [`Disk::next_event`] is due, which returns completions. An
/// operation takes effect for reads in the order of submission; when it becomes durable is below.
///
/// # What survives a power cut
///
/// A write or trim is *unflushed* from its submission until
/// - a flush completes that was submitted after the write had completed, or
/// - it completes, if it has force unit access or the disk has no volatile cache, or
/// - the volatile cache is full and it is the oldest in it: the disk then makes it durable by itself.
///
/// A power cut leaves any subset of the unflushed writes, each cut at the boundaries of the atomic unit; see
/// [`Disk::power_cut`].
///
/// # Memory
///
/// A disk that has had no operation takes less than 1 KiB. The first operation creates the simulated drive
/// (140 KiB for a disk of 16 MiB, in about a millisecond); data takes memory where it is not zero.
#[derive(Debug)]
pub struct Disk {
    config: DiskConfig,
    seed: u64,
    /// The latest time of a call.
    now: Time,
    clock: DriveClock,
    /// Made with the first operation.
    drive: Option<Box<Ssd>>,
    contents: Contents,
    in_flight: Slab<OperationId, InFlight>,
    /// Completions that have not been returned yet.
    ready: Vec<Completion>,
    /// Completions of the drive, in processing.
    completions: Vec<tailcut_base::Completion>,
    /// Operations accepted so far.
    tickets: u64,
    faults: Faults,
    stalls: Option<Box<Stalls>>,
}

impl Disk {
    /// A new disk of zeros. The seed decides what its personality leaves to chance, such as which blocks of
    /// flash are bad.
    pub fn new(config: impl Into<DiskConfig>, seed: u64) -> Disk {
        let config = config.into();
        let stalls = config.personality().stalls(seed).map(Box::new);
        Disk {
            config,
            seed,
            now: Time::ZERO,
            clock: DriveClock::new(),
            drive: None,
            contents: Contents::default(),
            in_flight: Slab::new(),
            ready: Vec::new(),
            completions: Vec::new(),
            tickets: 0,
            faults: Faults::default(),
            stalls,
        }
    }

    /// The configuration.
    pub fn config(&self) -> &DiskConfig {
        &self.config
    }

    /// The latest time of a call; [`Time::ZERO`] before the first one.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The capacity in sectors.
    pub fn sectors(&self) -> u64 {
        self.config.sectors()
    }

    /// Operations in flight, including those whose completion has not been returned yet.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len() + self.ready.len()
    }

    /// Bytes of completed and submitted writes that a power cut could undo now.
    pub fn unflushed_bytes(&self) -> u64 {
        self.contents.unflushed_bytes()
    }

    /// Bytes of memory that the data takes, without what the allocator adds.
    pub fn data_memory(&self) -> usize {
        self.contents.memory()
    }

    /// Submits an operation at `now`. Operations that name no sectors of the disk, and all operations on a
    /// disk that has [died](Disk::die), complete at once with an error.
    ///
    /// # Errors
    /// [`Busy`] with the operation if the queue is full.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call, or the data of a write is not whole sectors.
    pub fn submit(&mut self, now: Time, operation: Operation) -> Result<Ticket, Busy> {
        self.run_to(now);
        if self.in_flight() >= to_usize(u64::from(self.config.depth())) {
            return Err(Busy::new(operation));
        }
        let ticket = Ticket::new(self.tickets);
        self.tickets += 1;
        let op = operation.op();
        if let Some(error) = self.refusal(&operation) {
            let completion = Completion::new(ticket, op, now, now, Spans::new());
            self.ready.push(completion.with(Err(error), None));
            return Ok(ticket);
        }
        let (first, count) = operation.range();
        let is_durable = matches!(operation, Operation::Write { fua: true, .. });
        let kind = self.begin(ticket, operation);
        let id = self.in_flight.insert(InFlight { ticket, submitted: now, kind });
        let command = Command {
            id: CommandId(id.get()),
            op,
            fua: is_durable,
            class: Class::DEFAULT,
            fail_fast: false,
            stream: 0,
            queue: 0,
            sector: first,
            sectors: to_u32(count),
            content: 0,
        };
        let at = self.clock.drive_time(now);
        let drive = self.drive.get_or_insert_with(|| Box::new(drive::make(&self.config, self.seed)));
        match drive.submit(at, &command) {
            Submit::Accepted => {}
            refused => unreachable!("the drive is as large and deep as the disk: {refused:?}"),
        }
        Ok(ticket)
    }

    /// Why an operation fails without reaching the drive.
    fn refusal(&self, operation: &Operation) -> Option<Error> {
        let (first, count) = operation.range();
        let is_inside = first.checked_add(count).is_some_and(|end| end <= self.sectors());
        let is_flush = matches!(operation, Operation::Flush);
        if !is_flush && (!is_inside || count == 0 || count > u64::from(SECTORS_MAX)) {
            return Some(Error::OutOfRange);
        }
        self.faults.is_dead().then_some(Error::Gone)
    }

    /// Carries out an operation for the reads behind it.
    fn begin(&mut self, ticket: Ticket, operation: Operation) -> InFlightKind {
        let (first, count) = operation.range();
        let sectors = first..first + count;
        match operation {
            Operation::Read { .. } => InFlightKind::Read(self.read(sectors)),
            Operation::Write { mut data, fua, .. } => {
                let to = self.faults.target_of_write(sectors, self.config.sectors());
                data.truncate(to_usize((to.end - to.start) * SECTOR_BYTES));
                let id = self.contents.write(WriteRange::new(ticket, to), Some(data));
                InFlightKind::Write { id, is_durable: fua }
            }
            Operation::Trim { .. } => {
                let whole = sectors.start.next_multiple_of(BLOCK_SECTORS)
                    ..sectors.end / BLOCK_SECTORS * BLOCK_SECTORS;
                let has_pages = whole.start < whole.end;
                InFlightKind::Trim(
                    has_pages.then(|| self.contents.write(WriteRange::new(ticket, whole), None)),
                )
            }
            Operation::Flush => InFlightKind::Flush(self.contents.flush_point()),
        }
    }

    fn read(&mut self, sectors: Range<u64>) -> Result<ReadData, Error> {
        let from = self.faults.source_of_read(sectors, self.config.sectors());
        self.contents.read(from).ok_or(Error::Unreadable)
    }

    /// When [`Disk::advance`] is to be called at the latest; [`Time::NEVER`] if nothing is in flight and the
    /// drive has no work of its own.
    pub fn next_event(&self) -> Time {
        if let Some(completion) = self.ready.first() {
            return completion.at();
        }
        let drive = self.drive.as_ref().map_or(Time::NEVER, |drive| drive.next_event());
        let event = self.clock.test_time(drive);
        match &self.stalls {
            Some(stalls) if event != Time::NEVER => event.min(stalls.next()),
            _ => event,
        }
    }

    /// Lets the time pass up to `now`, and returns the completions since the last call, in their order. Often
    /// there are none: many events are of the drive's own.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn advance(&mut self, now: Time) -> Vec<Completion> {
        self.run_to(now);
        std::mem::take(&mut self.ready)
    }

    /// [`Disk::advance`] that appends to a vector of the caller.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn advance_into(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.run_to(now);
        completions.append(&mut self.ready);
    }

    /// The data that a read of these sectors would return now, without taking time; faults of reads do not
    /// apply.
    ///
    /// # Panics
    /// If the disk does not have all of these sectors.
    pub fn peek(&self, sector: Sector, sectors: u32) -> Vec<u8> {
        self.contents.peek(self.range(sector, sectors)).into_vec()
    }

    /// Sectors of the disk as numbers.
    fn range(&self, sector: Sector, sectors: u32) -> Range<u64> {
        let end = sector.number().saturating_add(u64::from(sectors));
        assert!(end <= self.sectors(), "a disk of {} sectors has no sector {}", self.sectors(), end - 1);
        sector.number()..end
    }

    /// Lets the time pass; completions are kept.
    fn run_to(&mut self, now: Time) {
        assert!(now >= self.now, "time runs backwards: from {} ns to {} ns", self.now.0, now.0);
        while let Some(stalls) = self.stalls.as_mut()
            && stalls.next() <= now
        {
            let (at, length) = stalls.take();
            self.run_drive(at);
            self.clock.stall(at, length);
        }
        self.run_drive(now);
        self.now = now;
    }

    fn run_drive(&mut self, now: Time) {
        let until = self.clock.drive_time(now);
        let Some(drive) = &mut self.drive else { return };
        if drive.next_event() > until {
            return;
        }
        let mut completions = std::mem::take(&mut self.completions);
        while !drive.advance(until, &mut completions) {}
        for completion in completions.drain(..) {
            self.complete(&completion);
        }
        self.completions = completions;
    }

    /// The drive has completed an operation.
    fn complete(&mut self, completion: &tailcut_base::Completion) {
        let InFlight { ticket, submitted, kind } = self.in_flight.remove(OperationId::new(completion.id.0));
        let at = self.clock.test_time(completion.at);
        let spans = self.clock.spans(&completion.spans, at.since(submitted));
        let ended = Completion::new(ticket, kind.op(), submitted, at, spans);
        let is_executed = completion.status == Status::Success;
        let mut result = Error::of(completion.status).map_or(Ok(()), Err);
        let mut data = None;
        match kind {
            InFlightKind::Read(Ok(read)) => data = Some(read),
            InFlightKind::Read(Err(error)) => result = result.and(Err(error)),
            InFlightKind::Write { id, is_durable } if is_executed => {
                self.write_completes(id, is_durable);
            }
            InFlightKind::Trim(Some(id)) if is_executed => self.write_completes(id, false),
            InFlightKind::Flush(point) if is_executed => self.contents.flush(point),
            // A failed write stays unflushed: each of its units may be old or new after a power cut.
            InFlightKind::Write { .. } | InFlightKind::Trim(_) | InFlightKind::Flush(_) => {}
        }
        self.ready.push(ended.with(result, data));
    }

    fn write_completes(&mut self, id: WriteId, is_durable: bool) {
        self.contents.complete(id);
        if is_durable || self.config.volatile_cache_bytes() == 0 {
            self.contents.settle(id);
        } else {
            self.contents.write_back(self.config.volatile_cache_bytes());
        }
    }
}
