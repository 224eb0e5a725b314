//! A drive on a file or a block device.
//!
//! Requests go through io_uring ([`uring`]) where it is allowed, and otherwise through threads ([`pool`]).
//! Data is copied once, between the blocks of a request and a buffer, which the system uses for direct I/O
//! where that is possible. The model name of the drive tells which of these apply.
//!
//! The system does not order concurrent requests, but users of a drive expect that requests for the same
//! block execute in order of submission. So a request that overlaps one in flight waits for it.
//!
//! Trims are carried out in pieces, one piece of one trim at a time: the system locks the file for each, and
//! reads wait for that ([`pieces`]).
//!
//! After the first failed flush no more writes are accepted: see [`FailStop`].
//!
//! A file has no protection information beside its blocks: data that is read counts as intact
//! ([`Bytes::unsealed`]), and silent corruption is found by a scrub of an array, or by a reader with its own
//! checksums, which may have another copy ([`Mirror`](tailcut_host::Mirror)).

mod buffer;
mod job;
mod pieces;
mod pool;
mod target;
mod uring;

pub use target::FileError;

use crate::FailStop;
use crate::drive::{Answers, Drive, Extent};
use buffer::{Buffer, Page};
use job::{Ended, FlightId, Job, Work};
use pieces::PieceSize;
use pool::Pool;
use rustix::fs::{SeekFrom, seek};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::Path;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::ids::Slab;
use tailcut_base::{Nanos, Op, Spans, Status, Time};
use tailcut_host::{BLOCK_BYTES, BLOCK_SECTORS, Bytes, Request, Response};
use target::Target;
use uring::Uring;

/// A drive on a file or a block device. After a failed flush it accepts no more writes: see [`FailStop`].
///
/// Its user is one thread from the first request on, which also drops it.
pub type FileDrive = FailStop<SystemFile>;

/// The drive under [`FileDrive`]: a file as the system serves it, whose second flush may succeed after the
/// first has lost data.
#[derive(Debug)]
pub struct SystemFile {
    /// Before the target: its jobs end before the lock is released.
    system: System,
    target: Target,
    flights: Slab<FlightId, Flight>,
    /// Maximum number of requests in flight.
    depth: u16,
    /// Requests that wait for overlapping earlier ones.
    waiting: VecDeque<Request<Bytes>>,
    /// Writes and trims in flight and waiting: without any, a read overlaps nothing that it must wait for.
    changes: u32,
    /// Trims that wait for the turn of their next piece.
    trims: VecDeque<FlightId>,
    /// The piece of a trim in progress: its length in blocks, and when it was submitted.
    piece: Option<(u64, Time)>,
    piece_size: PieceSize,
    buffers: Vec<Buffer>,
    is_read_only: bool,
    /// Why it accepts no more requests: the file is shorter than it was when it was opened.
    shortage: Option<String>,
    ready: Answers,
    ended: Vec<Ended>,
    model: String,
}

/// How requests reach the system.
#[derive(Debug)]
enum System {
    Uring(Box<Uring>),
    Pool(Pool),
}

/// A request in flight.
#[derive(Debug)]
struct Flight {
    id: u32,
    op: Op,
    /// Blocks that are not done yet: overlapping requests wait.
    blocks: Range<u64>,
    /// Content: of a write as given, of a read as it comes in.
    data: Vec<Bytes>,
    /// A durable write through the page cache, which is flushed once it has been written: so an error for
    /// lack of room is that of this write, and never of an earlier one that the flush has failed to write
    /// back.
    is_flushed_after: bool,
    /// Blocks of a trim of which no piece was submitted yet.
    rest: Range<u64>,
    /// Its next piece is not submitted: see [`Drive::abandon_trims`].
    is_abandoned: bool,
}

/// Options for opening a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Whether writes and trims are rejected.
    pub is_read_only: bool,
    /// Whether threads are used even where io_uring is allowed.
    pub without_uring: bool,
    /// Open a block device exclusively: fails if it is in use by a file system, swap, a RAID or device
    /// mapper, and prevents mounts while it is open. Files are always locked.
    pub is_exclusive: bool,
    /// Fail at once if the file is locked. By default, opening waits, since the lock may be that of a process
    /// that has just been killed.
    pub is_hasty: bool,
    /// Maximum number of requests in flight, each with a buffer of 128 KiB; 64 by default.
    pub depth: Option<u16>,
}

/// Default queue depth.
const DEPTH: u16 = 64;

/// Maximum blocks of a read or write: 128 KiB, so by default all buffers of a drive take 8 MiB, which an
/// unprivileged user may lock.
const MOST_BLOCKS: usize = 32;

/// Threads used in place of io_uring, and so the maximum number of requests in flight.
const THREADS: usize = 8;

impl FileDrive {
    /// Opens and locks a file or a block device. Its content is not changed.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn open(path: &Path, options: FileOptions) -> Result<FileDrive, FileError> {
        let target = Target::open(path, options)?;
        let name = path.display().to_string();
        let file = SystemFile::over(target, &name, options);
        let file = file.map_err(|why| FileError::System { path: name, why })?;
        let writes_back = !file.target.is_direct && !options.is_read_only;
        Ok(if writes_back { FailStop::behind_a_cache(file) } else { FailStop::new(file) })
    }

    /// True if reads and writes bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.inner().target.is_direct
    }

    /// Creates a sparse file of `blocks` blocks of zeros, for [`FileDrive::open`].
    ///
    /// # Errors
    /// If the file exists already, or cannot be made durable.
    pub fn create(path: &Path, blocks: u64) -> Result<(), FileError> {
        Target::create(path, blocks)
    }
}

impl SystemFile {
    fn over(target: Target, name: &str, options: FileOptions) -> io::Result<SystemFile> {
        let depth = options.depth.unwrap_or(DEPTH).max(1);
        let buffers: Vec<Buffer> = (0..depth).map(|number| Buffer::new(number, MOST_BLOCKS)).collect();
        let ring = match options.without_uring {
            true => Err(String::from("io_uring is switched off")),
            false => Uring::new(&target.file, depth.into(), &buffers)
                .map_err(|why| format!("io_uring is refused: {why}")),
        };
        let (system, how) = match ring {
            Ok(ring) => (System::Uring(Box::new(ring)), String::from("io_uring")),
            Err(why) => {
                let pool = Pool::start(&target.file, THREADS)?;
                (System::Pool(pool), format!("{THREADS} threads: {why}"))
            }
        };
        let direct =
            if target.is_direct { "direct" } else { "through the page cache: direct I/O is refused" };
        let model = format!("{name} ({how}; {direct})");
        Ok(SystemFile {
            target,
            system,
            flights: Slab::new(),
            depth,
            waiting: VecDeque::new(),
            changes: 0,
            trims: VecDeque::new(),
            piece: None,
            piece_size: PieceSize::new(),
            buffers,
            is_read_only: options.is_read_only,
            shortage: None,
            ready: Answers::default(),
            ended: Vec::new(),
            model,
        })
    }

    fn begin_request(&mut self, now: Time, request: Request<Bytes>) {
        let Request { id, op, fua, block, blocks, mut data, .. } = request;
        assert!(self.flights.len() < usize::from(self.depth), "its user keeps to the depth of its queue");
        let all = block..block + u64::from(blocks);
        let (work, buffer) = match op {
            Op::Read => (Work::Read, Some(self.buffer())),
            Op::Write => {
                let is_durable = fua && self.target.is_direct;
                let mut buffer = self.buffer();
                let pages = buffer.pages_mut().iter_mut().zip(&data);
                pages.for_each(|(page, block)| page.0.copy_from_slice(block.as_slice()));
                (Work::Write { is_durable }, Some(buffer))
            }
            Op::Flush => (Work::Flush, None),
            Op::Trim => (Work::Punch, None),
        };
        if op != Op::Write {
            data.clear();
        }
        let rest = if op == Op::Trim { all.clone() } else { 0..0 };
        let is_flushed_after = op == Op::Write && fua && !self.target.is_direct;
        let flight =
            Flight { id, op, blocks: all.clone(), data, is_flushed_after, rest, is_abandoned: false };
        let flight = self.flights.insert(flight);
        if op == Op::Trim {
            return self.trim(now, flight);
        }
        self.begin(job(flight, work, all, buffer));
    }

    /// Submits the next piece of a trim, or queues it.
    fn trim(&mut self, now: Time, flight: FlightId) {
        if !self.target.punches {
            return self.zero(flight);
        }
        self.trims.push_back(flight);
        self.punch(now);
    }

    /// Deallocates the next piece of a trim, unless another piece is in progress.
    fn punch(&mut self, now: Time) {
        if self.piece.is_some() {
            return;
        }
        let Some(flight) = self.trims.pop_front() else { return };
        let piece = self.next_piece(flight, self.piece_size.blocks());
        let blocks = piece.end - piece.start;
        self.piece = Some((blocks, now));
        self.begin(job(flight, Work::Punch, piece, None));
    }

    /// Takes the next piece of a trim, of at most `most` blocks.
    fn next_piece(&mut self, flight: FlightId, most: u64) -> Range<u64> {
        let flight = &mut self.flights[flight];
        let first = flight.rest.start;
        flight.rest.start += (flight.rest.end - first).min(most);
        first..flight.rest.start
    }

    /// True if a request overlaps an earlier one, in flight or among the first `ahead` that wait.
    fn must_wait(&self, request: &Request<Bytes>, ahead: usize) -> bool {
        if request.op == Op::Read && self.changes == 0 {
            return false;
        }
        let (first, end) = (request.block, request.block + u64::from(request.blocks));
        let meets = |op: Op, blocks: Range<u64>| {
            (op != Op::Read || request.op != Op::Read) && blocks.start < end && first < blocks.end
        };
        let of = |waiting: &Request<Bytes>| waiting.block..waiting.block + u64::from(waiting.blocks);
        self.flights.iter().any(|(_, flight)| meets(flight.op, flight.blocks.clone()))
            || self.waiting.iter().take(ahead).any(|waiting| meets(waiting.op, of(waiting)))
    }

    /// Starts requests that need not wait any more.
    fn resume(&mut self, now: Time) {
        if self.shortage.is_some() {
            return self.refuse_waiting(|_| true);
        }
        let mut at = 0;
        while at < self.waiting.len() {
            if self.must_wait(&self.waiting[at], at) {
                at += 1;
            } else {
                let request = self.waiting.remove(at).expect("it is there");
                self.begin_request(now, request);
            }
        }
    }

    /// Answers waiting requests of some operations.
    fn refuse_waiting(&mut self, is_refused: impl Fn(Op) -> bool) {
        for request in std::mem::take(&mut self.waiting) {
            if is_refused(request.op) {
                self.changes -= u32::from(matches!(request.op, Op::Write | Op::Trim));
                self.answer(request.id, Status::Gone, request.data);
            } else {
                self.waiting.push_back(request);
            }
        }
    }

    fn begin(&mut self, job: Job) {
        match &mut self.system {
            System::Uring(ring) => ring.begin(job),
            System::Pool(pool) => pool.begin(job),
        }
    }

    /// A buffer for data; there are as many as requests.
    fn buffer(&mut self) -> Buffer {
        self.buffers.pop().expect("its user keeps to the depth of its queue")
    }

    /// The next piece of a trim where the file system cannot punch holes: writes zeros.
    fn zero(&mut self, flight: FlightId) {
        let piece = self.next_piece(flight, MOST_BLOCKS as u64);
        let mut buffer = self.buffer();
        buffer.bytes_mut().fill(0);
        let work = Work::Write { is_durable: false };
        self.begin(job(flight, work, piece, Some(buffer)));
    }

    fn ended(&mut self, now: Time, mut job: Job, result: Result<u64, rustix::io::Errno>) {
        let (id, mut status) = (job.flight, job.status(result));
        if status == Status::Gone && result.is_ok() && self.shortage.is_none() {
            self.shortage = Some(format!(
                "{}: it is shorter than when it was opened, and is not used any more: restore it, and start \
                    again",
                self.model
            ));
        }
        if job.work == Work::Punch
            && let Some((blocks, since)) = self.piece.take()
        {
            self.piece_size.note(blocks, now.since(since));
        }
        let flight = &mut self.flights[id];
        if let Some(buffer) = job.buffer.take() {
            if flight.op == Op::Read && status == Status::Success {
                let blocks = (job.length / BLOCK_BYTES) as usize;
                flight.data.extend(buffer.pages()[..blocks].iter().map(|Page(bytes)| Bytes::unsealed(bytes)));
            }
            self.buffers.push(buffer);
        }
        if status == Status::Success && std::mem::take(&mut flight.is_flushed_after) {
            return self.begin(self::job(id, Work::Flush, 0..0, None));
        }
        if status == Status::Success && !flight.rest.is_empty() {
            if !flight.is_abandoned {
                flight.blocks.start = flight.rest.start;
                return self.trim(now, id);
            }
            status = Status::Gone;
        }
        self.finish(id, status);
        self.punch(now);
    }

    fn finish(&mut self, flight: FlightId, status: Status) {
        let Flight { id, op, mut data, .. } = self.flights.remove(flight);
        self.changes -= u32::from(matches!(op, Op::Write | Op::Trim));
        // An array repeats a write that found no room.
        if op == Op::Write && status != Status::NoSpace {
            data.clear();
        }
        self.answer(id, status, data);
    }

    fn answer(&mut self, id: u32, status: Status, data: Vec<Bytes>) {
        let (busy_for, spans) = (Nanos::ZERO, Spans::new());
        self.ready.responses.push(Response { id, status, data, busy_for, spans });
    }
}

fn job(flight: FlightId, work: Work, blocks: Range<u64>, buffer: Option<Buffer>) -> Job {
    let (offset, length) = (blocks.start * BLOCK_BYTES, (blocks.end - blocks.start) * BLOCK_BYTES);
    Job { flight, work, offset, length, done: 0, buffer }
}

impl Drive for SystemFile {
    fn identify(&self) -> Identify {
        Identify {
            model: self.model.clone(),
            sectors: self.target.blocks * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: self.depth.into(),
            max_sectors: MOST_BLOCKS as u32 * BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: true,
            handles: 1,
        }
    }

    fn has_protection_information(&self) -> bool {
        false
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        let is_change = matches!(request.op, Op::Write | Op::Trim);
        if self.shortage.is_some() {
            return self.answer(request.id, Status::Gone, request.data);
        }
        if self.is_read_only && is_change {
            return self.answer(request.id, Status::WriteProtected, Vec::new());
        }
        let waits = self.must_wait(&request, self.waiting.len());
        self.changes += u32::from(is_change);
        if waits {
            self.waiting.push_back(request);
        } else {
            self.begin_request(now, request);
        }
    }

    fn control(&mut self, _: Time, call: Control) {
        self.ready.replies.push((call, ControlReply::Unsupported));
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        let mut ended = std::mem::take(&mut self.ended);
        match &mut self.system {
            System::Uring(ring) => ring.take(&mut ended),
            System::Pool(pool) => pool.take(&mut ended),
        }
        for (job, result) in ended.drain(..) {
            self.ended(now, job, result);
        }
        self.ended = ended;
        self.resume(now);
        answers.responses.append(&mut self.ready.responses);
        answers.replies.append(&mut self.ready.replies);
    }

    fn abandon_trims(&mut self) {
        for flight in std::mem::take(&mut self.trims) {
            self.finish(flight, Status::Gone);
        }
        self.flights.iter_mut().for_each(|(_, flight)| flight.is_abandoned = true);
        self.refuse_waiting(|op| op == Op::Trim);
    }

    fn next_event(&self) -> Time {
        let is_quiet = self.ready.responses.is_empty() && self.ready.replies.is_empty();
        if is_quiet { Time::NEVER } else { Time::ZERO }
    }

    fn failure(&self) -> Option<&str> {
        self.shortage.as_deref()
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        match &self.system {
            System::Uring(ring) => Some(ring.wakes()),
            System::Pool(pool) => Some(pool.wakes()),
        }
    }

    fn arm(&mut self) -> bool {
        let is_quiet = self.next_event() == Time::NEVER;
        is_quiet
            && match &mut self.system {
                System::Uring(ring) => ring.arm(),
                System::Pool(pool) => pool.arm(),
            }
    }

    /// Extents are those of the file system; nothing is known of a device.
    fn extent(&self, block: u64, blocks: u64) -> Extent {
        let all = Extent { blocks, is_allocated: true, is_zero: false };
        if !self.target.is_file {
            return all;
        }
        let (first, end) = (block * BLOCK_BYTES, (block + blocks) * BLOCK_BYTES);
        // No data after the offset is reported as an error.
        let data = match seek(&self.target.file, SeekFrom::Data(first)) {
            Ok(data) => data,
            Err(rustix::io::Errno::NXIO) => end,
            Err(_) => return all,
        };
        // A partially allocated block is allocated.
        let holes = (data.min(end) - first) / BLOCK_BYTES;
        if holes > 0 {
            return Extent { blocks: holes, is_allocated: false, is_zero: true };
        }
        let hole = seek(&self.target.file, SeekFrom::Hole(data)).map_or(end, |hole| hole.min(end));
        Extent { blocks: (hole - first).div_ceil(BLOCK_BYTES).max(1), ..all }
    }
}

#[cfg(test)]
mod tests;
