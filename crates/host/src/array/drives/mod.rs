//! The drives of an array: their requests in flight and waiting, and their state.

mod ask;
mod check;
mod gate;
mod guard;
mod presence;
mod room;

pub use ask::{Answered, Ask};
pub use gate::Gate;
pub use room::{RETRY_AFTER, Refusal};
use tailcut_base::cast::to_u32;

use crate::Block;
use crate::array::DriveId;
use crate::array::integrity::Integrity;
use crate::array::reads::ReadId;
use crate::disk::{Disk, Mirror, Request, Response};
use crate::placement::WriteKind;
use gate::NO_EPOCH;
use room::Refused;
use std::collections::VecDeque;
use tailcut_base::control::Control;
use tailcut_base::fdp::HandleId;
use tailcut_base::id;
use tailcut_base::ids::{IdVec, Slab};
use tailcut_base::{Cause, Class, Nanos, Op, Spans, Status, Time};

/// Priority of a request to a drive: more urgent requests go first, equally urgent ones in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A read that a host request waits for (SWAN, section 3.3: reads have the highest priority).
    Read,
    /// A write that a host request waits for.
    Write,
    /// Garbage collection, rebuilding, scrubbing.
    Background,
}

const URGENCIES: usize = 3;

/// The issuer of a request, to which its completion is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A read that may be reconstructed; see [`Reads`](super::reads::Reads).
    Read {
        /// The read.
        read: ReadId,
        /// Part of the read: the drive it reads.
        part: DriveId,
    },
    /// The superblock of the array; see [`Core`](super::core::Core).
    MemberSuperblock,
    /// The checksum machine, for this life of the drive; see [`Integrity`].
    Integrity(u32),
    /// The flush that ends this epoch of the drive; see [`Tokens`](super::token_scheduling::Tokens).
    Epoch(u32),
    /// The layout, which assigns the meaning of the token.
    Layout(u64),
}

/// State of a member drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its content is complete.
    InSync,
    /// It is being rebuilt: it is written to, and read only below the rebuilt position or at the layout's
    /// discretion.
    Rebuilding,
    /// It is missing, or its content is unreliable.
    Missing,
}

#[derive(Debug)]
struct Waiting<B> {
    since: Time,
    /// It needs the drive's token, if there is one.
    is_heavy: bool,
    /// The epoch of the drive's gate in which it is sent.
    epoch: u32,
    owner: Owner,
    ask: Ask<B>,
    /// It is sent again after it has found no room.
    is_retry: bool,
}

#[derive(Debug)]
struct Member<B> {
    disk: Disk,
    presence: Presence,
    lanes: [VecDeque<Waiting<B>>; URGENCIES],
    in_flight: u32,
    /// Current and configured limit of requests in flight.
    depth: u32,
    most: u32,
    /// While it is being rebuilt, blocks below this one can be read.
    filled: u64,
    /// Counts the drives that have had this place.
    life: u32,
    /// For each lane, how often a more urgent request passed its first one.
    passed: [u32; URGENCIES],
    /// Holds heavy requests back, if drives share a token.
    gate: Option<Box<Gate<B>>>,
    /// Writes that wait for their regions to be marked dirty.
    unmarked: VecDeque<(Priority, Waiting<B>)>,
    /// It is working with the token: reads should avoid it.
    is_at_work: bool,
    /// It has refused writes for lack of room since the array has become full.
    is_full: bool,
}

impl<B> Member<B> {
    /// The next request to send: the most urgent, unless another has been passed too often. Otherwise a write
    /// that waits for background work on its stripe could starve.
    fn next(&mut self) -> Option<Waiting<B>> {
        let waits = |lane: &usize| !self.lanes[*lane].is_empty();
        let first = (0..URGENCIES).find(waits)?;
        let chosen =
            (first..URGENCIES).filter(waits).find(|&lane| self.passed[lane] >= PASSES_MOST).unwrap_or(first);
        for lane in chosen + 1..URGENCIES {
            self.passed[lane] += u32::from(!self.lanes[lane].is_empty());
        }
        self.passed[chosen] = 0;
        self.lanes[chosen].pop_front()
    }
}

id! {
    /// Identifier of a request in flight.
    struct FlightId;
}

/// A request in flight on a drive.
#[derive(Clone, Copy, Debug)]
struct Flight {
    owner: Owner,
    drive: DriveId,
    life: u32,
    is_heavy: bool,
    epoch: u32,
    op: Op,
    fua: bool,
    class: Class,
    /// What a write holds.
    kind: WriteKind,
    block: u64,
    blocks: u32,
    asked: Time,
    sent: Time,
    is_retry: bool,
}

/// The drives of an array. Requests for the same block may be reordered here and in the drive: the issuer
/// must serialise them.
#[derive(Debug)]
pub struct Drives<B> {
    members: IdVec<DriveId, Member<B>>,
    flights: Slab<FlightId, Flight>,
    sent: Vec<(DriveId, Request<B>)>,
    controls: Vec<(DriveId, Control)>,
    /// Completions of requests that were not sent to a drive.
    bounced: VecDeque<Answered<B>>,
    memory: Vec<Vec<B>>,
    /// Largest number of blocks per request that every drive accepts.
    most_blocks: u32,
    /// Drives whose gates have changed.
    changed: Vec<DriveId>,
    /// Time from the first request at an idle gate until an epoch is due.
    delay: Nanos,
    /// Host reads sent to a drive with the token.
    met: u64,
    /// Counts changes of drive states.
    changes: u64,
    /// Checksums of in-place data, if kept.
    integrity: Option<Box<Integrity<B>>>,
    /// Writes that have found no room.
    refused: Refused<B>,
}

impl<B> Drives<B> {
    /// These drives, all in sync, with at most `depth` requests in flight on each.
    pub fn new(disks: &[Disk], depth: u32) -> Drives<B> {
        let member = |disk: &Disk| Member {
            disk: disk.clone(),
            presence: Presence::InSync,
            lanes: std::array::from_fn(|_| VecDeque::new()),
            in_flight: 0,
            depth: depth.min(disk.depth),
            most: depth,
            filled: 0,
            life: 0,
            passed: [0; URGENCIES],
            gate: None,
            unmarked: VecDeque::new(),
            is_at_work: false,
            is_full: false,
        };
        Drives {
            members: disks.iter().map(member).collect(),
            flights: Slab::new(),
            sent: Vec::new(),
            controls: Vec::new(),
            bounced: VecDeque::new(),
            memory: Vec::new(),
            most_blocks: disks.iter().map(|disk| disk.most_blocks).min().unwrap_or(0),
            changed: Vec::new(),
            delay: Nanos::ZERO,
            met: 0,
            changes: 0,
            integrity: None,
            refused: Refused::new(),
        }
    }

    /// Largest number of blocks of a read or write that every drive accepts: a read from one drive may have
    /// to be reconstructed from the others.
    #[inline]
    pub fn most_blocks(&self) -> u32 {
        self.most_blocks
    }

    /// The ids of all members, serving or not, in ascending order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = DriveId> + ExactSizeIterator + Clone + use<B> {
        self.members.ids()
    }

    /// Number of members of the array, serving or not.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True if there are no drives.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Size and limits of the drive in the place of a member.
    pub fn disk(&self, drive: DriveId) -> &Disk {
        &self.members[drive].disk
    }

    /// Sets whether a drive is working with the token of its group.
    pub fn set_at_work(&mut self, drive: DriveId, is_at_work: bool) {
        self.members[drive].is_at_work = is_at_work;
    }

    /// True while a drive is working with the token of its group: reads should avoid it if possible.
    #[inline]
    pub fn is_at_work(&self, drive: DriveId) -> bool {
        self.members[drive].is_at_work
    }

    /// Number of requests in flight on a drive and waiting for it.
    pub fn load(&self, drive: DriveId) -> u32 {
        let member = &self.members[drive];
        member.in_flight + member.lanes.iter().map(|lane| to_u32(lane.len())).sum::<u32>()
    }
}

impl<B: Block> Drives<B> {
    /// Sends a request to a drive; `owner` gets the completion. Writes wait for the token, if there is one.
    pub fn ask(&mut self, now: Time, drive: DriveId, urgency: Priority, owner: Owner, ask: Ask<B>) {
        self.met += u64::from(urgency == Priority::Read && ask.op == Op::Read && self.is_taken(drive));
        let is_heavy = ask.op != Op::Read && owner != Owner::MemberSuperblock;
        let waiting = Waiting { since: now, is_heavy, epoch: NO_EPOCH, owner, ask, is_retry: false };
        if self.integrity.is_some() {
            return self.ask_guarded(now, drive, urgency, waiting);
        }
        self.ask_at_gate(now, drive, urgency, waiting);
    }
}

impl<B> Drives<B> {
    /// Sends a read that waits for the token, if there is one.
    pub fn ask_in_turn(&mut self, now: Time, drive: DriveId, urgency: Priority, owner: Owner, ask: Ask<B>) {
        self.ask_at_gate(
            now,
            drive,
            urgency,
            Waiting { since: now, is_heavy: true, epoch: NO_EPOCH, owner, ask, is_retry: false },
        );
    }

    /// Sends a held request to a drive that may now be written.
    pub fn ask_kept(&mut self, now: Time, drive: DriveId, urgency: Priority, owner: Owner, ask: Ask<B>) {
        self.ask_now(
            now,
            drive,
            urgency,
            Waiting { since: now, is_heavy: true, epoch: NO_EPOCH, owner, ask, is_retry: false },
        );
    }

    fn ask_now(&mut self, now: Time, drive: DriveId, urgency: Priority, mut waiting: Waiting<B>) {
        let (member, ask) = (&self.members[drive], &waiting.ask);
        let has_limit = matches!(ask.op, Op::Read | Op::Write);
        assert!(!has_limit || ask.blocks <= member.disk.most_blocks, "a drive takes no more than it says");
        assert!(ask.op != Op::Write || ask.data.len() == ask.blocks as usize, "each block has content");
        if member.presence == Presence::Missing {
            return self.bounce(drive, waiting);
        }
        self.note_begin(now, drive, &mut waiting);
        let member = &mut self.members[drive];
        if member.in_flight < member.depth {
            self.send(now, drive, waiting);
        } else {
            member.lanes[urgency as usize].push_back(waiting);
        }
    }

    fn bounce(&mut self, drive: DriveId, waiting: Waiting<B>) {
        let Waiting { owner, ask, is_retry, .. } = waiting;
        // No time is attributed: the issuer attributes its own.
        self.bounced.push_back(Answered {
            owner,
            drive,
            op: ask.op,
            fua: ask.fua,
            block: ask.block,
            blocks: ask.blocks,
            status: Status::Gone,
            data: ask.data,
            busy_for: Nanos::ZERO,
            spans: Spans::new(),
        });
        if is_retry {
            self.end_retry();
        }
    }

    fn send(&mut self, now: Time, drive: DriveId, waiting: Waiting<B>) {
        let Waiting { since, is_heavy, epoch, owner, ask, is_retry } = waiting;
        let (op, fua, class, kind, block, blocks) =
            (ask.op, ask.fua, ask.class, ask.kind, ask.block, ask.blocks);
        let (life, asked, sent) = (self.members[drive].life, since, now);
        let flight = Flight {
            owner,
            drive,
            life,
            is_heavy,
            epoch,
            op,
            fua,
            class,
            kind,
            block,
            blocks,
            asked,
            sent,
            is_retry,
        };
        let id = self.flights.insert(flight).get();
        self.members[drive].in_flight += 1;
        let Ask { fail_fast, mut data, .. } = ask;
        if op == Op::Read && data.capacity() == 0 {
            data = self.memory();
        }
        let handle = match op {
            Op::Write => kind.handle(self.members[drive].disk.handles),
            Op::Read | Op::Trim | Op::Flush => HandleId::FIRST,
        };
        self.sent.push((
            drive,
            Request { id, op, fua, class, fail_fast, mirror: Mirror::Any, handle, block, blocks, data },
        ));
    }

    /// True if a request is in flight on the current drive in its place, rather than on a predecessor.
    /// before.
    pub fn is_current(&self, id: u32) -> bool {
        let flight = &self.flights[FlightId::new(id)];
        flight.life == self.members[flight.drive].life
    }
}

impl<B: Block> Drives<B> {
    /// Handles a completion from a drive. Returns it with its issuer, and sends a waiting request.
    ///
    /// # Panics
    /// If `drive` is not the one that the request was sent to.
    pub fn answered(&mut self, now: Time, drive: DriveId, response: Response<B>) -> Answered<B> {
        let flight = self.flights.remove(FlightId::new(response.id));
        assert_eq!(flight.drive, drive, "a drive answers its own requests");
        if flight.life == self.members[drive].life {
            self.note_end(now, &flight, response.status);
        }
        if flight.is_retry {
            self.end_retry();
        }
        self.free_slot(now, drive);
        let mut spans = response.spans;
        spans.add(Cause::ArrayQueue, flight.sent.since(flight.asked));
        let answer = Answered {
            owner: flight.owner,
            drive,
            op: flight.op,
            fua: flight.fua,
            block: flight.block,
            blocks: flight.blocks,
            status: response.status,
            data: response.data,
            busy_for: response.busy_for,
            spans,
        };
        if self.integrity.is_some() && flight.life == self.members[drive].life {
            self.note_written(now, &answer);
        }
        answer
    }
}

impl<B> Drives<B> {
    /// A request in flight has ended: sends a waiting one.
    fn free_slot(&mut self, now: Time, drive: DriveId) {
        let member = &mut self.members[drive];
        member.in_flight -= 1;
        if member.in_flight < member.depth
            && let Some(waiting) = member.next()
        {
            self.send(now, drive, waiting);
        }
    }

    /// The next completion of a request that was not sent to a drive.
    pub fn bounced(&mut self) -> Option<Answered<B>> {
        self.bounced.pop_front()
    }

    /// Requests to be submitted to the drives, in this order.
    pub fn sent(&mut self) -> &mut Vec<(DriveId, Request<B>)> {
        &mut self.sent
    }

    /// Calls the control interface of a drive; the layout gets the reply.
    pub fn control(&mut self, drive: DriveId, call: Control) {
        self.controls.push((drive, call));
    }

    /// Control calls to be made on the drives, in this order.
    pub fn controls(&mut self) -> &mut Vec<(DriveId, Control)> {
        &mut self.controls
    }

    /// A buffer for the content of some blocks.
    pub fn memory(&mut self) -> Vec<B> {
        self.memory.pop().unwrap_or_default()
    }

    /// Keeps the memory of a list of blocks for later requests; drops it if enough is kept.
    pub fn recycle(&mut self, mut memory: Vec<B>) {
        if memory.capacity() > 0 && self.memory.len() < MEMORY_KEPT {
            memory.clear();
            self.memory.push(memory);
        }
    }
}

/// How often more urgent requests may pass a waiting one.
const PASSES_MOST: u32 = 64;

/// Spare buffers kept.
const MEMORY_KEPT: usize = 1024;
