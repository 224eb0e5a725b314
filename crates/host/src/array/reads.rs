//! Reads of stored blocks, and how to do without the drive that they are on.
//!
//! What stands in for a block ([`Redundancy`]): where stripes have a parity, a stripe is the same block
//! address on each member of an R-group, and a block is the exclusive or of those at its address on the
//! others; where there are two copies, it is the other copy. So one machine serves reads for users,
//! collection, rebuilding and scrubbing, and one place decides when a read goes around a drive: because
//! it is missing, slow, corrupt, or taken.

use super::config::ArrayConfig;
use super::drives::{Answered, Ask, Drives, Owner, Urgency};
use crate::Block;
use std::collections::VecDeque;
use tailcut_base::random::mix64;
use tailcut_base::{Cause, Class, Nanos, Op, Spans, Status, Time};

/// A read of blocks of one drive.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The drive.
    pub drive: usize,
    /// First block on it.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// Age of the blocks: the value that they were sealed under, see [`seal_of`].
    pub age: u64,
    /// The blocks may never have been written: zeros without a seal are right, too.
    pub unwritten: bool,
    /// Latency class.
    pub class: Class,
    /// How urgent.
    pub urgency: Urgency,
    /// Whether the other members of the group may be read instead.
    pub around: Around,
    /// Told back with the result.
    pub token: u64,
}

/// What stands in for blocks that cannot be read, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// Nothing.
    None,
    /// The blocks at the same address on the other members of an R-group of so many drives.
    Parity(usize),
    /// Their copies.
    Copies(Copies),
}

/// Two copies of each block: what lies on a drive from `first` on has its copy on the next drive, `half`
/// blocks further on; what lies another `half` further on has it on the drive before (chained
/// declustering: Hsiao and DeWitt, ICDE 1990).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Drives, the last of which is followed by the first.
    pub drives: usize,
    /// The first block with a copy.
    pub first: u64,
    /// Blocks of a drive that have their copy on the next one.
    pub half: u64,
}

impl Redundancy {
    /// That of an array. Where copies are is for its layout to say: see [`Reads::set_copies`].
    pub fn of(config: &ArrayConfig) -> Redundancy {
        if config.layout.has_parity() { Redundancy::Parity(config.width()) } else { Redundancy::None }
    }

    /// How many drives stand in for one.
    fn others(&self) -> usize {
        match self {
            Redundancy::None => 0,
            Redundancy::Parity(width) => width - 1,
            Redundancy::Copies(_) => 1,
        }
    }

    /// One of those that stand in for `block` of `drive`: a drive, and the block there.
    fn other(&self, drive: usize, block: u64, index: usize) -> (usize, u64) {
        match self {
            Redundancy::None => (drive, block),
            Redundancy::Parity(width) => {
                let (group, member) = (drive / width * width, drive % width);
                (group + index + usize::from(index >= member), block)
            }
            Redundancy::Copies(copies) => copies.other(drive, block),
        }
    }
}

impl Copies {
    /// Where the other copy of a block is.
    #[inline]
    pub fn other(&self, drive: usize, block: u64) -> (usize, u64) {
        if block < self.first + self.half {
            let next = if drive + 1 == self.drives { 0 } else { drive + 1 };
            (next, block + self.half)
        } else {
            let before = if drive == 0 { self.drives - 1 } else { drive - 1 };
            (before, block - self.half)
        }
    }
}

/// When a read may be reconstructed from the other members of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Never: the stripe is incomplete, or being changed.
    Never,
    /// Not by this read: when it fails, whoever asked comes again. The data does not count as lost.
    Later,
    /// When the drive does not serve or returns something wrong, however long it takes: to see what is
    /// on it.
    WhenWrong,
    /// As `Later`, and the drive is asked to fail fast: that it would rather not serve now, and for how
    /// long, is told to whoever asked.
    Told,
    /// When the drive does not serve, serves slowly, or returns something wrong.
    AtNeed,
    /// Also when the drive would rather not serve now: it is asked to fail fast.
    WhenContended,
    /// At once: the drive is known to be taken.
    Now,
}

/// How a read ended.
#[derive(Clone, Debug)]
pub struct Done<B> {
    /// What was wanted.
    pub wanted: Wanted,
    /// Success, or why the data cannot be had.
    pub status: Status,
    /// The content of each block.
    pub data: Vec<B>,
    /// With [`Status::Contended`]: how much longer the drive expects to be taken.
    pub busy_for: Nanos,
    /// From the beginning to now.
    pub spans: Spans,
    /// It was reconstructed, because of what the drive answered or did not.
    pub reconstructed: bool,
    /// The drive returned something wrong or nothing: it is to be written again, where
    /// [`Reads::leave_repairs`] leaves that to whoever asked.
    pub damaged: bool,
}

/// The seal of a block: its place, and the age of what is there. Two blocks of one age never share a
/// seal (up to 2^48 blocks on each of 2^16 drives); of different ages, with a chance of 2^-64.
#[inline]
pub fn seal_of(drive: usize, block: u64, age: u64) -> u64 {
    mix64(mix64(age) ^ (block << 16 | drive as u64))
}

/// What reads did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Reads that were begun.
    pub begun: u64,
    /// Reconstructed because the drive is missing, or gave an error.
    pub degraded: u64,
    /// Because it was known to be taken.
    pub steered: u64,
    /// Because it would rather not have served.
    pub contended: u64,
    /// Because it did not answer in time.
    pub hedged: u64,
    /// Because it returned something else than was written.
    pub corrupt: u64,
    /// Blocks written again because of that.
    pub repaired: u64,
    /// Reads whose data could not be had at all.
    pub lost: u64,
}

/// Where a read stands.
#[derive(Debug)]
struct Read<B> {
    wanted: Wanted,
    /// Up to when its time is accounted for.
    mark: Time,
    spans: Spans,
    /// The drive itself has been asked and has not answered.
    direct: Direct,
    /// Members of the group that have not answered.
    pending: u32,
    /// The exclusive or of what they have answered.
    sum: Vec<B>,
    /// One of them has no data.
    is_broken: bool,
    /// Members that would rather not serve, and how long the longest of them is taken.
    refused: u64,
    longest: Nanos,
    is_around: bool,
    /// The result has been told: the rest only drains.
    is_done: bool,
    /// What the drive has is to be written again when it is known.
    repair: bool,
    /// Counts the lives of this slot, for deadlines.
    life: u32,
}

/// What is known of the drive itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direct {
    Unasked,
    Pending,
    /// It is taken for so long.
    Contended(Nanos),
    /// It has answered with nothing of use.
    Useless,
}

/// All reads of an array.
#[derive(Debug)]
pub struct Reads<B> {
    slots: Vec<Read<B>>,
    free: Vec<u32>,
    redundancy: Redundancy,
    /// A read that takes longer is reconstructed; never if zero.
    patience: Nanos,
    /// When reads in flight become slow: moment, slot, life. In order of time.
    deadlines: VecDeque<(Time, u32, u32)>,
    counts: ReadCounts,
    done: VecDeque<Done<B>>,
    /// Whoever asked repairs.
    leaves_repairs: bool,
}

impl<B: Block> Reads<B> {
    /// Reads with this redundancy. A read that a drive does not answer within `patience` goes around it
    /// (never if zero).
    pub fn new(redundancy: Redundancy, patience: Nanos) -> Reads<B> {
        assert!(redundancy.others() < 64, "the members of a group fit a word");
        Reads {
            slots: Vec::new(),
            free: Vec::new(),
            redundancy,
            patience,
            deadlines: VecDeque::new(),
            counts: ReadCounts::default(),
            done: VecDeque::new(),
            leaves_repairs: false,
        }
    }

    /// There are two copies of each block, which lie so.
    pub fn set_copies(&mut self, copies: Copies) {
        self.redundancy = Redundancy::Copies(copies);
    }

    /// Repairs are left to whoever asks for a read: where blocks are written in place, a repair that is
    /// on its way could undo a later write.
    pub fn leave_repairs(&mut self) {
        self.leaves_repairs = true;
    }

    /// What they did.
    pub fn counts(&self) -> &ReadCounts {
        &self.counts
    }

    /// Reads that have not been told of.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Begins a read.
    pub fn begin(&mut self, now: Time, drives: &mut Drives<B>, wanted: Wanted) {
        self.counts.begun += 1;
        let slot = self.slot(now, wanted);
        let can_go_around = self.can_go_around(&wanted);
        if !drives.serves(wanted.drive, wanted.block, wanted.blocks) {
            self.read_mut(slot).direct = Direct::Useless;
            if can_go_around {
                self.counts.degraded += 1;
                self.go_around(now, drives, slot);
                return self.drain(slot);
            }
            self.lose(now, drives, slot);
            return self.drain(slot);
        }
        if can_go_around && wanted.around == Around::Now && self.others_serve(drives, &wanted) {
            self.counts.steered += 1;
            return self.go_around(now, drives, slot);
        }
        let fail_fast =
            wanted.around == Around::Told || can_go_around && wanted.around == Around::WhenContended;
        self.ask_drive(now, drives, slot, fail_fast);
        if can_go_around && wanted.around != Around::WhenWrong && self.patience > Nanos::ZERO {
            self.deadlines.push_back((now + self.patience, slot, self.slots[slot as usize].life));
        }
    }

    fn can_go_around(&self, wanted: &Wanted) -> bool {
        self.redundancy != Redundancy::None
            && !matches!(wanted.around, Around::Never | Around::Later | Around::Told)
    }

    fn others_serve(&self, drives: &Drives<B>, wanted: &Wanted) -> bool {
        // Since the read began, a drive that takes less at a time may have replaced another.
        let serves = |(member, block)| {
            drives.serves(member, block, wanted.blocks) && wanted.blocks <= drives.disk(member).most_blocks
        };
        self.others(wanted).all(serves)
    }

    /// Those that stand in for what is wanted: drive, and first block there.
    fn others(&self, wanted: &Wanted) -> impl Iterator<Item = (usize, u64)> + use<B> {
        let (redundancy, drive, block) = (self.redundancy, wanted.drive, wanted.block);
        (0..redundancy.others()).map(move |index| redundancy.other(drive, block, index))
    }

    fn slot(&mut self, now: Time, wanted: Wanted) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Read {
                wanted,
                mark: now,
                spans: Spans::new(),
                direct: Direct::Unasked,
                pending: 0,
                sum: Vec::new(),
                is_broken: false,
                refused: 0,
                longest: Nanos::ZERO,
                is_around: false,
                is_done: false,
                repair: false,
                life: 0,
            });
            (self.slots.len() - 1) as u32
        });
        let read = &mut self.slots[slot as usize];
        (read.wanted, read.mark, read.spans) = (wanted, now, Spans::new());
        (read.direct, read.pending, read.refused) = (Direct::Unasked, 0, 0);
        (read.is_broken, read.is_around, read.is_done, read.repair) = (false, false, false, false);
        read.longest = Nanos::ZERO;
        read.life = read.life.wrapping_add(1);
        slot
    }

    fn read_mut(&mut self, slot: u32) -> &mut Read<B> {
        &mut self.slots[slot as usize]
    }

    fn ask_drive(&mut self, now: Time, drives: &mut Drives<B>, slot: u32, fail_fast: bool) {
        let read = self.read_mut(slot);
        read.direct = Direct::Pending;
        let wanted = read.wanted;
        let part = wanted.drive as u32;
        drives.ask(
            now,
            wanted.drive,
            wanted.urgency,
            Owner::Read { read: slot, part },
            ask(&wanted, wanted.block, fail_fast),
        );
    }

    /// Reads the other members.
    fn go_around(&mut self, now: Time, drives: &mut Drives<B>, slot: u32) {
        let wanted = self.slots[slot as usize].wanted;
        let mut sum = drives.memory();
        sum.clear();
        sum.resize(wanted.blocks as usize, B::default());
        let others = self.others(&wanted);
        let others_serve = self.others_serve(drives, &wanted);
        let read = self.read_mut(slot);
        read.is_around = true;
        read.sum = sum;
        read.pending = 0;
        if !others_serve {
            read.is_broken = true;
            return self.all_answered(now, drives, slot);
        }
        // Where the drive itself is of no use there is nothing to fall back on: the others must serve.
        let fail_fast = wanted.around == Around::WhenContended && read.direct != Direct::Useless;
        for (member, block) in others {
            self.read_mut(slot).pending += 1;
            let owner = Owner::Read { read: slot, part: member as u32 };
            drives.ask(now, member, wanted.urgency, owner, ask(&wanted, block, fail_fast));
        }
    }

    /// A drive has answered a part of a read.
    pub fn answered(&mut self, now: Time, drives: &mut Drives<B>, answer: Answered<B>) {
        let Owner::Read { read: slot, part } = answer.owner else {
            unreachable!("only parts of reads come here")
        };
        if self.slots[slot as usize].wanted.drive == part as usize {
            self.drive_answered(now, drives, slot, answer);
        } else {
            self.member_answered(now, drives, slot, answer);
        }
        self.drain(slot);
    }

    fn drive_answered(&mut self, now: Time, drives: &mut Drives<B>, slot: u32, answer: Answered<B>) {
        let read = &mut self.slots[slot as usize];
        assert_eq!(read.direct, Direct::Pending);
        let wanted = read.wanted;
        read.direct = Direct::Useless;
        if read.is_done {
            return drives.recycle(answer.data);
        }
        let intact = answer.status == Status::Success && is_intact(&wanted, &answer);
        if intact {
            if !read.is_around {
                let passed = now.since(read.mark);
                read.spans.extend(&answer.spans);
                read.spans.add(Cause::ArrayQueue, passed.saturating_sub(answer.spans.total()));
                read.mark = now;
            }
            return self.tell(now, drives, slot, Status::Success, answer.data);
        }
        let status = answer.status;
        if status == Status::Contended {
            read.direct = Direct::Contended(answer.busy_for);
        }
        if !read.is_around {
            read.spans.extend(&answer.spans);
            let gap = now.since(read.mark).saturating_sub(answer.spans.total());
            read.spans.add(Cause::ArrayQueue, gap);
            read.mark = now;
        }
        drives.recycle(answer.data);
        self.count_failure(slot, status);
        if self.slots[slot as usize].is_around {
            // The others are on their way, or have failed, or would rather not have served.
            if self.slots[slot as usize].pending == 0 {
                self.all_answered(now, drives, slot);
            }
        } else if self.can_go_around(&wanted) {
            self.go_around(now, drives, slot);
        } else {
            self.lose(now, drives, slot);
        }
    }

    fn count_failure(&mut self, slot: u32, status: Status) {
        let read = &mut self.slots[slot as usize];
        match status {
            Status::Contended => self.counts.contended += 1,
            Status::Success => {
                self.counts.corrupt += 1;
                read.repair = true;
            }
            Status::MediaError => {
                self.counts.degraded += 1;
                read.repair = true;
            }
            _ => self.counts.degraded += 1,
        }
    }

    fn member_answered(&mut self, now: Time, drives: &mut Drives<B>, slot: u32, answer: Answered<B>) {
        let read = &mut self.slots[slot as usize];
        read.pending -= 1;
        if read.is_done {
            return drives.recycle(answer.data);
        }
        let wanted = read.wanted;
        match answer.status {
            Status::Success if is_intact(&wanted, &answer) => {
                for (sum, block) in read.sum.iter_mut().zip(&answer.data) {
                    sum.xor(block);
                }
            }
            Status::Contended => {
                read.refused |= 1 << (answer.drive % 64);
                read.longest = read.longest.max(answer.busy_for);
            }
            _ => read.is_broken = true,
        }
        drives.recycle(answer.data);
        if self.slots[slot as usize].pending == 0 {
            self.all_answered(now, drives, slot);
        }
    }

    /// Every other member has answered.
    fn all_answered(&mut self, now: Time, drives: &mut Drives<B>, slot: u32) {
        let read = &mut self.slots[slot as usize];
        read.spans.add(Cause::Reconstruction, now.since(read.mark));
        read.mark = now;
        if !read.is_broken && read.refused == 0 {
            let data = std::mem::take(&mut read.sum);
            self.repair(now, drives, slot, &data);
            return self.tell(now, drives, slot, Status::Success, data);
        }
        let (direct, refused, longest) = (read.direct, read.refused, read.longest);
        match direct {
            Direct::Pending => {}
            Direct::Useless if read.is_broken => self.lose(now, drives, slot),
            // Whoever is free first is waited for (IODA, section 3.2.2: busy remaining time).
            Direct::Contended(busy) if read.is_broken || busy <= longest => {
                self.ask_drive(now, drives, slot, false);
            }
            Direct::Unasked => self.ask_drive(now, drives, slot, false),
            Direct::Contended(_) | Direct::Useless => self.ask_refused(now, drives, slot, refused),
        }
    }

    /// Those that would rather not serve must.
    fn ask_refused(&mut self, now: Time, drives: &mut Drives<B>, slot: u32, refused: u64) {
        let wanted = self.slots[slot as usize].wanted;
        let read = self.read_mut(slot);
        (read.refused, read.longest) = (0, Nanos::ZERO);
        for (member, block) in self.others(&wanted) {
            if refused & (1 << (member % 64)) != 0 {
                self.read_mut(slot).pending += 1;
                let owner = Owner::Read { read: slot, part: member as u32 };
                drives.ask(now, member, wanted.urgency, owner, ask(&wanted, block, false));
            }
        }
    }

    /// Writes again what was found corrupt or unreadable.
    fn repair(&mut self, now: Time, drives: &mut Drives<B>, slot: u32, data: &[B]) {
        let read = &self.slots[slot as usize];
        let wanted = read.wanted;
        if !read.repair || self.leaves_repairs || !drives.is_present(wanted.drive) {
            return;
        }
        self.counts.repaired += u64::from(wanted.blocks);
        let mut content = drives.memory();
        content.extend_from_slice(data);
        for (block, address) in content.iter_mut().zip(wanted.block..) {
            block.seal(seal_of(wanted.drive, address, wanted.age));
        }
        let (block, blocks) = (wanted.block, wanted.blocks);
        let class = wanted.class;
        let ask = Ask { op: Op::Write, fua: false, fail_fast: false, class, block, blocks, data: content };
        drives.ask(now, wanted.drive, Urgency::Background, Owner::Repair, ask);
    }

    /// The data cannot be had, or not in this way.
    #[cold]
    fn lose(&mut self, now: Time, drives: &mut Drives<B>, slot: u32) {
        let Read { wanted, direct, .. } = &self.slots[slot as usize];
        let status = match direct {
            Direct::Contended(_) if wanted.around == Around::Told => Status::Contended,
            _ => Status::MediaError,
        };
        self.counts.lost += u64::from(!matches!(wanted.around, Around::Later | Around::Told));
        self.tell(now, drives, slot, status, Vec::new());
    }

    fn tell(&mut self, now: Time, drives: &mut Drives<B>, slot: u32, status: Status, data: Vec<B>) {
        let read = &mut self.slots[slot as usize];
        read.spans.add(Cause::Reconstruction, now.since(read.mark));
        read.mark = now;
        read.is_done = true;
        let sum = std::mem::take(&mut read.sum);
        let (wanted, spans, reconstructed, damaged) = (read.wanted, read.spans, read.is_around, read.repair);
        let busy_for = match read.direct {
            Direct::Contended(busy_for) => busy_for,
            _ => Nanos::ZERO,
        };
        self.done.push_back(Done { wanted, status, data, busy_for, spans, reconstructed, damaged });
        drives.recycle(sum);
    }

    /// Frees the slot of a read that waits for nothing more.
    fn drain(&mut self, slot: u32) {
        let read = &mut self.slots[slot as usize];
        if read.is_done && read.pending == 0 && read.direct != Direct::Pending {
            read.life = read.life.wrapping_add(1);
            self.free.push(slot);
        }
    }

    /// The next result.
    pub fn done(&mut self) -> Option<Done<B>> {
        self.done.pop_front()
    }

    /// When a read becomes slow.
    pub fn next_event(&self) -> Time {
        self.deadlines.front().map_or(Time::NEVER, |&(at, ..)| at)
    }

    /// Reads that have become slow are reconstructed, and whichever is first counts.
    pub fn advance(&mut self, now: Time, drives: &mut Drives<B>) {
        while let Some(&(at, slot, life)) = self.deadlines.front() {
            if at > now {
                return;
            }
            self.deadlines.pop_front();
            let read = &self.slots[slot as usize];
            if read.life == life && !read.is_done && !read.is_around && read.direct == Direct::Pending {
                self.counts.hedged += 1;
                self.go_around(now, drives, slot);
            }
        }
    }
}

fn ask<B>(wanted: &Wanted, block: u64, fail_fast: bool) -> Ask<B> {
    let Wanted { class, blocks, .. } = *wanted;
    Ask { op: Op::Read, fua: false, fail_fast, class, block, blocks, data: Vec::new() }
}

fn is_intact<B: Block>(wanted: &Wanted, answer: &Answered<B>) -> bool {
    answer.data.iter().zip(answer.block..).all(|(block, address)| {
        let seal = seal_of(answer.drive, address, wanted.age);
        block.is_intact(seal) || (wanted.unwritten && *block == B::default())
    })
}
