//! Arrays of disks: RAID, logs and mirrors by the array machine of the crate `host`, over disks that fail,
//! lose power and are replaced.
//!
//! ```
//! use tailcut_disk::array::{ArrayState, DiskArray, LayoutKind};
//! use tailcut_disk::{Disk, Operation, Personality, Sector};
//!
//! let disks = (0..4).map(|seed| Disk::new(Personality::Collecting, seed)).collect();
//! let mut array = DiskArray::new(LayoutKind::Raid5, disks, 1)?;
//! array.submit(array.now(), Operation::write_durable(Sector::new(0), vec![7; 4096])).unwrap();
//! while array.advance(array.next_event()).is_empty() {}
//!
//! let now = array.now();
//! array.disk_mut(0).die(now);
//! array.submit(now, Operation::read(Sector::new(0), 8)).unwrap();
//! let read = loop {
//!     if let Some(completion) = array.advance(array.next_event()).pop() {
//!         break completion;
//!     }
//! };
//! assert_eq!(read.data(), [7; 4096]);
//! # Ok::<(), String>(())
//! ```

use crate::completion::Completion;
use crate::contents::ReadData;
use crate::disk::{Disk, PowerCut};
use crate::operation::{Busy, Error, Operation, Sector, Ticket};
use std::collections::BTreeMap;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::control::ControlReply;
use tailcut_base::device::{BLOCK_BYTES, BLOCK_LEN, BLOCK_SECTORS};
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::{Id, Slab};
use tailcut_base::random::Stream;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
pub use tailcut_host::array::LayoutKind;
use tailcut_host::array::{Array, ArrayConfig, Condition, Consent, DriveId, MemberId, Opening};
use tailcut_host::{Block, Bytes, Disk as Member, Mirror, Request, Response};

tailcut_base::id! {
    /// A request of the host in flight.
    struct RequestId;
}

/// Operations that an array has in flight at the most.
const DEPTH: u32 = 128;

/// The condition of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayState {
    /// It is being opened after a power cut, with recovery. Operations find it busy.
    Opening,
    /// All disks are in sync.
    Optimal,
    /// Disks are missing or being rebuilt; all data can be read.
    Degraded,
    /// More is missing than redundancy covers, for the reason given. Operations fail.
    Failed(String),
}

#[derive(Debug)]
enum Machine {
    Opening(Box<Opening<Bytes>>),
    /// The array, and the index of the disk that is each of its members.
    Open(Box<Array<Bytes>>, Vec<usize>),
    Refused(String),
}

/// An array of disks as one disk of 4 KiB blocks.
///
/// It is driven as a [`Disk`] is. Operations are of whole blocks: other ones complete with
/// [`Error::OutOfRange`]. A completed write may be lost in a power cut until a flush that was submitted later
/// completes, or until it completes, if it has force unit access; a power cut leaves each block old or new.
/// Layouts with redundancy keep these promises with one disk of a group missing. Their other promises, and
/// what is not promised, are in `docs/promises.md`.
#[derive(Debug)]
pub struct DiskArray {
    config: ArrayConfig,
    disks: Vec<Disk>,
    machine: Machine,
    /// Requests in flight on each disk.
    on_disks: Vec<BTreeMap<Ticket, Request<Bytes>>>,
    /// Operations in flight.
    requests: Slab<RequestId, (Ticket, Time, Op)>,
    /// Completions that have not been returned yet.
    ready: Vec<Completion>,
    tickets: u64,
    now: Time,
    replaced: u32,
    seed: u64,
    sectors: u64,
}

impl DiskArray {
    /// Creates an array over disks, whose data is lost, and lets virtual time pass until it is ready. The
    /// seed makes the identity of the array, by which its members are known.
    ///
    /// Journals and caches are a sixteenth of a disk. SWAN and `epochs` have two groups.
    ///
    /// # Errors
    /// Why these disks cannot be such an array.
    ///
    /// # Panics
    /// If a disk was used before and has operations in flight.
    pub fn new(layout: LayoutKind, disks: Vec<Disk>, seed: u64) -> Result<DiskArray, String> {
        let smallest = disks.iter().map(|disk| disk.config().capacity_bytes()).min().unwrap_or(0);
        let mut config = ArrayConfig {
            drives: to_u32(disks.len()),
            layout,
            groups: if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 },
            depth: DEPTH,
            ..ArrayConfig::default()
        };
        config.raid.journal = smallest / 16 / BLOCK_BYTES * BLOCK_BYTES;
        config.epoch.cache = smallest / 16 / BLOCK_BYTES * BLOCK_BYTES;
        let members: Vec<Member> = disks.iter().map(member).collect();
        if disks.is_empty() {
            return Err("an array has disks".into());
        }
        let problems = config.problems().into_iter().chain(config.validation_error(&members));
        if let Some((_, message)) = problems.into_iter().next() {
            return Err(message);
        }
        if let Some(disk) = disks.iter().find(|disk| disk.config().atomic_sectors() < BLOCK_SECTORS) {
            let sectors = disk.config().atomic_sectors();
            return Err(format!(
                "an array needs atomic units of 8 sectors or more, and a disk has {sectors}"
            ));
        }
        assert!(disks.iter().all(|disk| disk.in_flight() == 0), "a disk of a new array is at rest");
        let now = disks.iter().map(Disk::now).max().unwrap_or(Time::ZERO);
        let array = Array::create(now, &config, &members, identity(seed, 0));
        let mut array = DiskArray {
            config,
            on_disks: disks.iter().map(|_| BTreeMap::new()).collect(),
            machine: Machine::Open(Box::new(array), (0..disks.len()).collect()),
            disks,
            requests: Slab::new(),
            ready: Vec::new(),
            tickets: 0,
            now,
            replaced: 0,
            seed,
            sectors: 0,
        };
        array.carry_out(now);
        while !array.is_ready() {
            array.run_to(array.next_inner());
        }
        if let Machine::Open(open, _) = &array.machine {
            array.sectors = open.disk().blocks * BLOCK_SECTORS;
        }
        Ok(array)
    }

    /// The latest time of a call.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The capacity in sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Number of disks.
    pub fn disks(&self) -> usize {
        self.disks.len()
    }

    /// A disk.
    ///
    /// # Panics
    /// If there is no disk with this index.
    pub fn disk(&self, index: usize) -> &Disk {
        &self.disks[index]
    }

    /// A disk, for faults. Operations that are submitted to it directly are none of the array's.
    ///
    /// # Panics
    /// If there is no disk with this index.
    pub fn disk_mut(&mut self, index: usize) -> &mut Disk {
        &mut self.disks[index]
    }

    /// The condition.
    pub fn state(&self) -> ArrayState {
        match &self.machine {
            Machine::Refused(why) => ArrayState::Failed(why.clone()),
            Machine::Open(array, _) if array.is_ready() => match array.condition() {
                Condition::Optimal => ArrayState::Optimal,
                Condition::Degraded { .. } => ArrayState::Degraded,
                Condition::Failed { why } => ArrayState::Failed(why),
            },
            Machine::Open(..) | Machine::Opening(_) => ArrayState::Opening,
        }
    }

    fn is_ready(&self) -> bool {
        match &self.machine {
            Machine::Opening(_) => false,
            Machine::Open(array, _) => array.is_ready(),
            Machine::Refused(_) => true,
        }
    }

    /// Submits an operation at `now`.
    ///
    /// # Errors
    /// [`Busy`] with the operation if 128 are in flight, or the array is being opened.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call, or the data of a write is not whole sectors.
    pub fn submit(&mut self, now: Time, operation: Operation) -> Result<Ticket, Busy> {
        self.run_to(now);
        let in_flight = self.requests.len() + self.ready.len();
        if in_flight >= to_usize(u64::from(DEPTH)) || !self.is_ready() {
            return Err(Busy::new(operation));
        }
        let ticket = Ticket::new(self.tickets);
        self.tickets += 1;
        let op = operation.op();
        let (first, count) = operation.range();
        let is_whole = first.is_multiple_of(BLOCK_SECTORS) && count.is_multiple_of(BLOCK_SECTORS);
        let Machine::Open(array, _) = &mut self.machine else {
            self.fail(ticket, op, Error::Gone);
            return Ok(ticket);
        };
        if !is_whole || count > MOST_SECTORS {
            self.fail(ticket, op, Error::OutOfRange);
            return Ok(ticket);
        }
        let id = self.requests.insert((ticket, now, op));
        let mut request = request(id.get(), op, first / BLOCK_SECTORS, to_u32(count / BLOCK_SECTORS));
        if let Operation::Write { data, fua, .. } = operation {
            request.fua = fua;
            request.data = data.chunks(BLOCK_LEN).map(Bytes::encode).collect();
        }
        array.submit(now, request).expect("it is ready, and not as many are in flight as it takes");
        self.carry_out(now);
        Ok(ticket)
    }

    /// An operation fails at once.
    fn fail(&mut self, ticket: Ticket, op: Op, error: Error) {
        let completion = Completion::new(ticket, op, self.now, self.now, Spans::new());
        self.ready.push(completion.with(Err(error), None));
    }

    /// When [`DiskArray::advance`] is to be called at the latest; [`Time::NEVER`] if nothing is to be done.
    pub fn next_event(&self) -> Time {
        self.ready.first().map_or_else(|| self.next_inner(), Completion::at)
    }

    /// The next event of a disk, or of the array.
    fn next_inner(&self) -> Time {
        let array = match &self.machine {
            Machine::Open(array, _) => array.next_event(),
            Machine::Opening(_) | Machine::Refused(_) => Time::NEVER,
        };
        self.disks.iter().map(Disk::next_event).fold(array, Time::min)
    }

    /// Lets the time pass up to `now`, and returns the completions since the last call, in their order.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn advance(&mut self, now: Time) -> Vec<Completion> {
        self.run_to(now);
        std::mem::take(&mut self.ready)
    }

    fn run_to(&mut self, now: Time) {
        assert!(now >= self.now, "time runs backwards: from {} ns to {} ns", self.now.0, now.0);
        loop {
            let at = self.next_inner().max(self.now);
            if at > now {
                break;
            }
            self.now = at;
            self.step(at);
        }
        self.now = now;
    }

    /// Everything that is due at `now`.
    fn step(&mut self, now: Time) {
        for index in 0..self.disks.len() {
            let disk = &mut self.disks[index];
            if disk.next_event() > now {
                continue;
            }
            for completion in disk.advance(now.max(disk.now())) {
                if let Some(request) = self.on_disks[index].remove(&completion.ticket()) {
                    self.answered(now, index, response(request, &completion));
                }
            }
        }
        if let Machine::Open(array, _) = &mut self.machine
            && array.next_event() <= now
        {
            array.advance(now);
        }
        self.carry_out(now);
    }

    /// A disk has answered.
    fn answered(&mut self, now: Time, index: usize, response: Response<Bytes>) {
        match &mut self.machine {
            Machine::Refused(_) => {}
            Machine::Open(array, members) => {
                if let Some(member) = members.iter().position(|&disk| disk == index) {
                    array.answered(now, DriveId::at(member), response);
                }
            }
            Machine::Opening(opening) => {
                opening.answered(now, DriveId::at(index), response);
                match opening.found() {
                    None => {}
                    Some(Err(why)) => self.machine = Machine::Refused(why.to_string()),
                    Some(Ok(found)) => {
                        let order = found.order.as_slice();
                        let members: Vec<usize> =
                            order.iter().enumerate().map(|(at, disk)| disk.unwrap_or(at)).collect();
                        let disks: Vec<Member> =
                            members.iter().map(|&disk| member(&self.disks[disk])).collect();
                        let array = Array::open(now, &self.config, &disks, &found);
                        self.machine = Machine::Open(Box::new(array), members);
                    }
                }
            }
        }
    }

    /// Hands requests over to the disks, and answers to the host, until there are none.
    fn carry_out(&mut self, now: Time) {
        loop {
            let (sent, answers): (Vec<_>, Vec<_>) = match &mut self.machine {
                Machine::Refused(_) => return,
                Machine::Opening(opening) => {
                    let sent = opening.sent().drain(..).map(|(drive, request)| (drive.index(), request));
                    (sent.collect(), Vec::new())
                }
                Machine::Open(array, members) => {
                    let calls: Vec<_> = array.controls().drain(..).collect();
                    for (drive, call) in calls {
                        array.control_answered(now, drive, call, ControlReply::Unsupported);
                    }
                    let sent =
                        array.sent().drain(..).map(|(drive, request)| (members[drive.index()], request));
                    let sent = sent.collect();
                    (sent, array.answers().drain(..).collect())
                }
            };
            if sent.is_empty() && answers.is_empty() {
                return;
            }
            for (index, request) in sent {
                let disk = &mut self.disks[index];
                let at = now.max(disk.now());
                let ticket = disk.submit(at, operation(&request)).expect("the array keeps to the queue");
                self.on_disks[index].insert(ticket, request);
            }
            for answer in answers {
                let (ticket, submitted, op) = self.requests.remove(RequestId::new(answer.id));
                let completion = Completion::new(ticket, op, submitted, now, answer.spans);
                let result = Error::of(answer.status).map_or(Ok(()), Err);
                let data = (op == Op::Read).then(|| ReadData::Bytes(joined(&answer.data)));
                self.ready.push(completion.with(result, data));
            }
        }
    }

    /// The power of all disks is cut at `now`, and is back at once; see [`Disk::power_cut`]. Operations in
    /// flight never complete. The array is opened again, and is ready when [`DiskArray::state`] is no longer
    /// [`ArrayState::Opening`].
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn power_cut(&mut self, now: Time, random: &mut Stream) -> PowerCut {
        self.run_to(now);
        let cuts: Vec<PowerCut> = self.disks.iter_mut().map(|disk| disk.power_cut(now, random)).collect();
        let requests = std::mem::take(&mut self.requests);
        let mut aborted: Vec<Ticket> = requests.iter().map(|(_, &(ticket, ..))| ticket).collect();
        aborted.extend(self.ready.drain(..).map(|completion| completion.ticket()));
        aborted.sort_unstable();
        self.on_disks.iter_mut().for_each(BTreeMap::clear);
        let members: Vec<Member> = self.disks.iter().map(member).collect();
        self.machine = Machine::Opening(Box::new(Opening::new(now, &members, Consent::Degraded)));
        self.carry_out(now);
        PowerCut::of_many(aborted, &cuts)
    }

    /// Replaces a disk at `now` by another, of zeros, and begins to rebuild its data. The disk that is
    /// replaced counts as missing from then on.
    ///
    /// # Errors
    /// The array is not ready, or the disk is too small.
    ///
    /// # Panics
    /// If there is no disk with this index, or `now` is before the time of an earlier call.
    pub fn replace(&mut self, now: Time, index: usize, disk: Disk) -> Result<(), String> {
        self.run_to(now);
        self.replaced += 1;
        let id = MemberId::new(identity(self.seed, self.replaced));
        let new = member(&disk);
        let Machine::Open(array, members) = &mut self.machine else {
            return Err("the array is not open".into());
        };
        let at = members.iter().position(|&at| at == index).ok_or("the disk is no member")?;
        array.fits(&new).map_err(|error| error.to_string())?;
        array.remove(now, DriveId::at(at));
        self.on_disks[index].clear();
        self.disks[index] = disk;
        array.replace(now, DriveId::at(at), new, id).map_err(|error| error.to_string())?;
        self.carry_out(now);
        Ok(())
    }
}

/// The most sectors of an operation: 32 MiB.
const MOST_SECTORS: u64 = 65_536;

/// The disk as a member of an array.
fn member(disk: &Disk) -> Member {
    Member {
        blocks: disk.sectors() / BLOCK_SECTORS,
        depth: disk.config().depth(),
        most_blocks: to_u32(MOST_SECTORS / BLOCK_SECTORS),
        volatile_cache: disk.config().volatile_cache_bytes() > 0,
        copies: 1,
        handles: 1,
    }
}

/// 128 bits for the identity of an array, or of its disk that was put in as the `replaced`-th.
fn identity(seed: u64, replaced: u32) -> u128 {
    let mut random = Stream::new(seed, &format!("array identity {replaced}"));
    u128::from(random.bits()) << 64 | u128::from(random.bits())
}

fn request(id: u32, op: Op, block: u64, blocks: u32) -> Request<Bytes> {
    let (class, mirror) = (Class::DEFAULT, Mirror::Any);
    Request {
        id,
        op,
        fua: false,
        class,
        fail_fast: false,
        mirror,
        handle: HandleId::FIRST,
        block,
        blocks,
        data: Vec::new(),
    }
}

/// The operation of a disk that a request of the array is.
fn operation(request: &Request<Bytes>) -> Operation {
    let sector = Sector::new(request.block * BLOCK_SECTORS);
    let sectors = request.blocks * to_u32(BLOCK_SECTORS);
    match request.op {
        Op::Read => Operation::read(sector, sectors),
        Op::Write => Operation::Write { sector, data: joined(&request.data), fua: request.fua },
        Op::Trim => Operation::trim(sector, sectors),
        Op::Flush => Operation::Flush,
    }
}

/// The answer to a request that a disk has completed.
fn response(request: Request<Bytes>, completion: &Completion) -> Response<Bytes> {
    let status = match completion.result() {
        Ok(()) => Status::Success,
        Err(Error::OutOfRange) => Status::InvalidField,
        Err(Error::Unreadable) => Status::MediaError,
        Err(Error::WriteProtected) => Status::WriteProtected,
        Err(Error::Gone) => Status::Gone,
    };
    let mut data = request.data;
    if request.op == Op::Read && status == Status::Success {
        let blocks = completion.data().as_chunks::<BLOCK_LEN>().0;
        data = blocks.iter().map(Bytes::unsealed).collect();
    }
    Response { id: request.id, status, data, busy_for: Nanos::ZERO, spans: *completion.spans() }
}

fn joined(blocks: &[Bytes]) -> Vec<u8> {
    let mut data = Vec::with_capacity(blocks.len() * BLOCK_LEN);
    blocks.iter().for_each(|block| data.extend_from_slice(block.as_slice()));
    data
}
