//! The drives of an array: what each has in flight, what waits for it, and whether it still serves.

mod gate;
mod guard;
mod presence;

pub use gate::Gate;

use crate::Block;
use crate::array::DriveId;
use crate::array::integrity::Integrity;
use crate::disk::{Disk, Mirror, Request, Response};
use gate::NO_EPOCH;
use std::collections::VecDeque;
use std::ops::Range;
use tailcut_base::control::Control;
use tailcut_base::id;
use tailcut_base::ids::{IdVec, Slab};
use tailcut_base::{Cause, Class, Nanos, Op, Spans, Status, Time};

/// How urgent a request to a drive is: of what waits for one drive, the more urgent goes first, and
/// what is equally urgent in the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A read that somebody waits for (SWAN, section 3.3: reads have the highest priority).
    Read,
    /// A write that somebody waits for.
    Write,
    /// Garbage collection, rebuilding, scrubbing.
    Background,
}

const URGENCIES: usize = 3;

/// Who asked, and is told of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A read that may be reconstructed; see [`Reads`](super::reads::Reads).
    Read {
        /// Which.
        read: u32,
        /// Which of its parts: the drive that is read.
        part: DriveId,
    },
    /// The record of the array; see [`Core`](super::core::Core).
    Record,
    /// The checksums of a drive in this life; see [`Integrity`].
    Integrity(u32),
    /// The flush that ends this epoch of the drive; see [`Tokens`](super::heavy::Tokens).
    Epoch(u32),
    /// The layout, which knows what the token means.
    Layout(u64),
    /// Nobody: a repair, which is only counted.
    Repair,
}

/// A request to a drive, before it has a name there.
#[derive(Clone, Debug)]
pub struct Ask<B> {
    /// What for.
    pub op: Op,
    /// Durable at its completion.
    pub fua: bool,
    /// Rather fail than wait.
    pub fail_fast: bool,
    /// Latency class.
    pub class: Class,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Content of a write, sealed; empty otherwise.
    pub data: Vec<B>,
}

impl<B> Ask<B> {
    /// The blocks that it is about.
    #[inline]
    pub fn range(&self) -> Range<u64> {
        self.block..self.block + u64::from(self.blocks)
    }
}

/// The answer of a drive, with whose it is.
#[derive(Clone, Debug)]
pub struct Answered<B> {
    /// Who asked.
    pub owner: Owner,
    /// The drive.
    pub drive: DriveId,
    /// What was asked for.
    pub op: Op,
    /// What was written was to be durable.
    pub fua: bool,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// How it ended.
    pub status: Status,
    /// Content of a read.
    pub data: Vec<B>,
    /// How much longer the drive expects to be taken, if it would rather not serve now.
    pub busy_for: Nanos,
    /// From the moment of the asking to now.
    pub spans: Spans,
}

impl<B> Answered<B> {
    /// The blocks that were asked for.
    #[inline]
    pub fn range(&self) -> Range<u64> {
        self.block..self.block + u64::from(self.blocks)
    }
}

/// Whether a drive serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// All that belongs on it is on it.
    InSync,
    /// It is being filled: it is written to, and read only where its layout knows better.
    Rebuilding,
    /// It is gone, or nothing on it can be relied on.
    Missing,
}

#[derive(Debug)]
struct Waiting<B> {
    since: Time,
    /// It needs the token of its drive, where there is one.
    is_heavy: bool,
    /// The epoch of the drive's gate under which it goes there.
    epoch: u32,
    owner: Owner,
    ask: Ask<B>,
}

#[derive(Debug)]
struct Member<B> {
    disk: Disk,
    presence: Presence,
    lanes: [VecDeque<Waiting<B>>; URGENCIES],
    in_flight: u32,
    /// The most in flight, and the most that is configured.
    depth: u32,
    most: u32,
    /// While it is being filled: blocks below this one can be read.
    filled: u64,
    /// Counts the drives that have had this place.
    life: u32,
    /// How often something more urgent went before the first of each lane.
    passed: [u32; URGENCIES],
    /// What keeps heavy requests back, where drives share a token.
    gate: Option<Box<Gate<B>>>,
    /// Writes that wait for the marks of their regions.
    unmarked: VecDeque<(Urgency, Waiting<B>)>,
    /// It does something with the token: reads should go elsewhere.
    is_at_work: bool,
}

impl<B> Member<B> {
    /// What goes next: the most urgent, unless something else has been passed over too often. Otherwise
    /// a write that waits for background work of its stripe could wait for ever.
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
    /// The name of a request in flight, for its drive.
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
    block: u64,
    blocks: u32,
    asked: Time,
    sent: Time,
}

/// The drives. Requests for one block may overtake each other here and in the drive: whoever asks
/// keeps them apart.
#[derive(Debug)]
pub struct Drives<B> {
    members: IdVec<DriveId, Member<B>>,
    flights: Slab<FlightId, Flight>,
    sent: Vec<(DriveId, Request<B>)>,
    controls: Vec<(DriveId, Control)>,
    /// Answers for requests that no drive will ever see.
    bounced: VecDeque<Answered<B>>,
    memory: Vec<Vec<B>>,
    /// The most blocks of a request that every drive takes.
    most_blocks: u32,
    /// Drives whose gates have changed.
    changed: Vec<DriveId>,
    /// How long after something has come to a gate an epoch is due.
    delay: Nanos,
    /// Reads of the host that went to a drive with the token.
    met: u64,
    /// Counts changes of a drive's presence.
    changes: u64,
    /// Checksums of what is written in place, where they are kept.
    integrity: Option<Box<Integrity<B>>>,
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
        }
    }

    /// The most blocks of a read or write that every drive takes: what is read from one may have to be
    /// read from the others instead.
    #[inline]
    pub fn most_blocks(&self) -> u32 {
        self.most_blocks
    }

    /// All drives, in ascending order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = DriveId> + ExactSizeIterator + Clone + use<B> {
        self.members.ids()
    }

    /// How many drives.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True without any drive.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// What a drive says of itself.
    pub fn disk(&self, drive: DriveId) -> &Disk {
        &self.members[drive].disk
    }

    /// Says whether a drive does something with the token of its group.
    pub fn set_at_work(&mut self, drive: DriveId, is_at_work: bool) {
        self.members[drive].is_at_work = is_at_work;
    }

    /// True while a drive does something with the token of its group: reads should go elsewhere, if they can.
    #[inline]
    pub fn is_at_work(&self, drive: DriveId) -> bool {
        self.members[drive].is_at_work
    }

    /// Requests in flight on a drive and waiting for it.
    pub fn load(&self, drive: DriveId) -> u32 {
        let member = &self.members[drive];
        member.in_flight + member.lanes.iter().map(|lane| lane.len() as u32).sum::<u32>()
    }

    /// Requests of this urgency that wait for a drive.
    pub fn waiting(&self, drive: DriveId, urgency: Urgency) -> usize {
        self.members[drive].lanes[urgency as usize].len()
    }
}

impl<B: Block> Drives<B> {
    /// Asks a drive; the answer comes to `owner`. What writes waits for the token, where there is one.
    pub fn ask(&mut self, now: Time, drive: DriveId, urgency: Urgency, owner: Owner, ask: Ask<B>) {
        self.met += u64::from(urgency == Urgency::Read && ask.op == Op::Read && self.is_taken(drive));
        let is_heavy = ask.op != Op::Read && owner != Owner::Record;
        let waiting = Waiting { since: now, is_heavy, epoch: NO_EPOCH, owner, ask };
        if self.integrity.is_some() {
            return self.ask_guarded(now, drive, urgency, waiting);
        }
        self.ask_at_gate(now, drive, urgency, waiting);
    }
}

impl<B> Drives<B> {
    /// The same for a read that waits for the token, too.
    pub fn ask_in_turn(&mut self, now: Time, drive: DriveId, urgency: Urgency, owner: Owner, ask: Ask<B>) {
        self.ask_at_gate(
            now,
            drive,
            urgency,
            Waiting { since: now, is_heavy: true, epoch: NO_EPOCH, owner, ask },
        );
    }

    /// Asks a drive that may be written now for what has been kept back for it.
    pub fn ask_kept(&mut self, now: Time, drive: DriveId, urgency: Urgency, owner: Owner, ask: Ask<B>) {
        self.ask_now(
            now,
            drive,
            urgency,
            Waiting { since: now, is_heavy: true, epoch: NO_EPOCH, owner, ask },
        );
    }

    fn ask_now(&mut self, now: Time, drive: DriveId, urgency: Urgency, mut waiting: Waiting<B>) {
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
        let Waiting { owner, ask, .. } = waiting;
        // Whoever is told so at once has waited for nothing: its own account fills the rest.
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
    }

    fn send(&mut self, now: Time, drive: DriveId, waiting: Waiting<B>) {
        let Waiting { since, is_heavy, epoch, owner, ask } = waiting;
        let (op, fua, block, blocks) = (ask.op, ask.fua, ask.block, ask.blocks);
        let life = self.members[drive].life;
        let flight =
            Flight { owner, drive, life, is_heavy, epoch, op, fua, block, blocks, asked: since, sent: now };
        let id = self.flights.insert(flight).get();
        self.members[drive].in_flight += 1;
        let Ask { fail_fast, class, mut data, .. } = ask;
        if op == Op::Read && data.capacity() == 0 {
            data = self.memory();
        }
        self.sent.push((
            drive,
            Request { id, op, fua, class, fail_fast, mirror: Mirror::Any, block, blocks, data },
        ));
    }

    /// True when a request is in flight on the drive that has this place now, and not on one that had it
    /// before.
    pub fn is_current(&self, id: u32) -> bool {
        let flight = &self.flights[FlightId::new(id)];
        flight.life == self.members[flight.drive].life
    }
}

impl<B: Block> Drives<B> {
    /// A drive has answered: whose it is. Sends what has waited for its place.
    pub fn answered(&mut self, now: Time, drive: DriveId, response: Response<B>) -> Answered<B> {
        let flight = self.flights.remove(FlightId::new(response.id));
        assert_eq!(flight.drive, drive, "a drive answers its own requests");
        if flight.life == self.members[drive].life {
            self.note_end(now, &flight, response.status);
        }
        let member = &mut self.members[drive];
        member.in_flight -= 1;
        if member.in_flight < member.depth
            && let Some(waiting) = member.next()
        {
            self.send(now, drive, waiting);
        }
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
    /// The next answer for a request that no drive will see.
    pub fn bounced(&mut self) -> Option<Answered<B>> {
        self.bounced.pop_front()
    }

    /// What is to be handed to the drives, in this order.
    pub fn sent(&mut self) -> &mut Vec<(DriveId, Request<B>)> {
        &mut self.sent
    }

    /// Calls the control interface of a drive; the reply comes to the layout.
    pub fn control(&mut self, drive: DriveId, call: Control) {
        self.controls.push((drive, call));
    }

    /// Calls that are to be handed to the drives, in this order.
    pub fn controls(&mut self) -> &mut Vec<(DriveId, Control)> {
        &mut self.controls
    }

    /// Room for the content of some blocks.
    pub fn memory(&mut self) -> Vec<B> {
        self.memory.pop().unwrap_or_default()
    }

    /// Gives such room back.
    pub fn recycle(&mut self, mut memory: Vec<B>) {
        if memory.capacity() > 0 && self.memory.len() < MEMORY_KEPT {
            memory.clear();
            self.memory.push(memory);
        }
    }
}

/// How often more urgent requests go before one that waits.
const PASSES_MOST: u32 = 64;

/// Lists of blocks that are kept for later use.
const MEMORY_KEPT: usize = 1024;
