//! A drive that may do to its owner everything that the fault model allows, and nothing else.
//!
//! # Fault model
//!
//! *Guarantees.* A logical block of 4 KiB is written whole or not at all, under all faults (NVMe base
//! specification, atomic write unit power fail, of a namespace formatted with 4 KiB). Between the blocks of
//! a command nothing is guaranteed: they arrive in any order, other commands see some of them before the
//! others, and a power cut leaves any of them out. Commands in flight overtake each other. A write is durable
//! when it has completed with force unit access, or when a flush has completed that was submitted after its
//! completion, or at its completion on a drive without a volatile cache. A trimmed block reads as zeros. A
//! read returns what the last completed command left.
//!
//! *Power cut*, at any event, all drives at once: of every block any version since the last durable one
//! may be left, whatever is left of other blocks; commands in flight have arrived in any part.
//!
//! *One drive of an R-group with parity*, until it has been replaced or everything has been read and
//! compared (scrubbed), together with power cuts at any moment:
//!
//! | fault | what happens | layouts |
//! | --- | --- | --- |
//! | `kill` | the drive answers "gone", what is in flight has arrived in any part | with parity; without, all may fail |
//! | `pull` | as `kill`, and with the next power it is back without the writes that it missed | with parity |
//! | `flip` | one bit of a stored block changes, its seal does not; with `sealed=no` there is no seal | with parity or copies, RAID 0: that block may fail; with `sealed=no` and in place, after the last power cut and if that came at rest, and on RAID 0 no second fault |
//! | `corrupt` | a stored block becomes something else: bytes that nobody wrote, zeros, or another block | a store on a drive by itself, on one block of a segment at a time, at rest: its item is missed or an error, never older; a store on copies with `sealed=no`: nothing is lost |
//! | `corrupt-superblock` | the same for one of a store's two superblocks | a store on a drive by itself: the other one serves |
//! | `unreadable` | a stored block answers "media error" until it is written again | with parity; RAID 0: as `flip` |
//! | `fail-write` | writes answer "media error"; of their blocks each is old, new, or unreadable | with parity; without, writes may fail |
//! | `fail-flush` | a flush answers "media error" once; some of what was cached is read until the power goes, and never becomes durable | with parity or copies; RAID 0: writes fail from then on |
//! | `read-only` | writes answer "write protected" and change nothing | with parity; without, writes may fail |
//! | `misdirect` | a block of a write lands in the place of another | logs with parity, whose seals know the age of a block; RAID 0 and copies, not with `sealed=no`: it may be stale, never that of another |
//! | `twin` | as `flip`, on two drives of a group at once | in place with parity, and copies: an error or the data, never other data |
//!
//! *Members*: which drives the array is opened from when the power is back ([`harness`](super::harness),
//! `members`). The superblocks of an array record which drives are stale and which histories have diverged
//! (`docs/decisions/array-membership.md`):
//!
//! | fault | what happens | layouts |
//! | --- | --- | --- |
//! | `return` | a drive that was replaced is back in its place with its old content, and its successor is gone | with parity or copies: it is left out, or the array is refused if another drive is missing, too |
//! | `halves` | some of the drives are opened without the others, with consent; then the others; then all | copies: both serve, and are refused together until one is chosen; otherwise a part with too few drives is refused, and nothing has changed |
//!
//! *Any drive, between power cuts*: `grow`, which is ignored, and `shrink`, which is refused until the drive
//! has its size back; nothing is lost by either.
//!
//! *Any drive, at any time*: `slow`, 10 to 1000 times, for some commands. It loses nothing, so it needs no
//! limit: all promises about the answers hold, only later. `slow-superblock` does so for writes of
//! superblocks; with `busy=PPM` drives refuse reads that may fail fast, with this probability in parts per
//! million.
//!
//! *Any drives, or all, at any time*: `full`. Three quarters of the writes that come, up to a number, answer
//! "no space"; of their blocks each is old or new. The drive is sound: no array fails it. Until the last of
//! these writes has been repeated, writes, trims and flushes may be answered with an error; reads may not.
//!
//! *One drive, where drives are SSDs* ([`flash`]): its flash wears out, and from then on writes
//! answer "write protected", those in flight with any part arrived. Since that may happen at any moment, no
//! other drive of its group is struck until another has taken its place.
//!
//! An array that closes the write hole with a bitmap instead of a journal promises less: faults or power
//! cuts, not both.
//!
//! Not in the model: two faulty drives in a group but for `twin`, blocks that are torn inside, drives that
//! lie about flushes, bits that change together with their seal. Some of these serve as mutants
//! ([`Mutant`]): what the checkers must see.

mod blocks;
mod command;
mod faults;
pub mod flash;
mod model;
mod power;

pub use command::Moment;
pub use flash::Backend;
pub use model::Model;

use super::mutant::Mutant;
use command::Working;
use flash::Flash;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::random::Stream;
use tailcut_host::{Bytes, Disk};

/// A drive with faults: it loses, reorders or damages what a drive may.
#[derive(Debug)]
pub struct Drive {
    model: Model,
    flash: Option<Box<Flash>>,
    /// Its flash may fail.
    is_weak: bool,
    mutant: Option<Mutant>,
    random: Stream,
    durable: Vec<Bytes>,
    /// Versions of a block that are not durable, oldest first, each with the moment of its arrival.
    cached: BTreeMap<u64, Vec<(u64, Bytes)>>,
    /// Counts what arrives.
    arrivals: u64,
    unreadable: BTreeSet<u64>,
    commands: Vec<Option<Working>>,
    health: Health,
    /// It has become read-only, and the subject knows.
    has_refused: bool,
    slow: (u32, u32),
    slow_superblocks: (u32, u32),
    fail_writes: u32,
    /// Writes that will find no room.
    no_room: u32,
    /// A write has failed since the power came on.
    has_failed_write: bool,
    misdirect: Option<u32>,
    fail_flush: bool,
    /// Blocks that a failed flush has left in memory, newer than the durable ones.
    forgotten: BTreeMap<u64, Bytes>,
    /// Blocks that it has with the next power.
    next_blocks: u64,
    /// Writes that have begun; for mutants.
    writes: u64,
}

/// Whether it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It reads and writes.
    Well,
    /// It reads and refuses writes.
    ReadOnly,
    /// It does not answer until the power comes back.
    Away,
    /// It never answers again.
    Dead,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Health::Well => "well",
            Health::ReadOnly => "read-only",
            Health::Away => "away",
            Health::Dead => "dead",
        })
    }
}

impl Drive {
    /// A blank drive; `random` decides what the model leaves open. Programs and erases of its flash fail with
    /// the chance `fail`, in parts per million.
    pub fn new(model: &Model, mutant: Option<Mutant>, fail: u32, mut random: Stream) -> Drive {
        let flash =
            (model.backend != Backend::Model).then(|| Box::new(Flash::new(model, fail, random.bits())));
        Drive {
            model: model.clone(),
            flash,
            is_weak: fail > 0,
            mutant,
            random,
            durable: vec![Bytes::default(); model.blocks as usize],
            cached: BTreeMap::new(),
            arrivals: 0,
            unreadable: BTreeSet::new(),
            commands: Vec::new(),
            health: Health::Well,
            has_refused: false,
            slow: (0, 1),
            slow_superblocks: (0, 1),
            fail_writes: 0,
            no_room: 0,
            has_failed_write: false,
            misdirect: None,
            fail_flush: false,
            forgotten: BTreeMap::new(),
            next_blocks: model.blocks,
            writes: 0,
        }
    }

    /// Blocks of its flash that have gone bad, and blocks that it has emptied to erase them.
    pub fn flash_counts(&self) -> (u64, u64) {
        self.flash.as_ref().map_or((0, 0), |flash| flash.counts())
    }

    /// A digest of the figures of its flash.
    pub fn digest_of_flash(&self) -> u64 {
        self.flash.as_ref().map_or(0, |flash| flash.digest_of_figures())
    }

    /// The drive's identity as a disk.
    pub fn disk(&self) -> Disk {
        self.model.disk()
    }

    /// Whether the drive answers and takes writes, and whether it ever will again.
    pub fn health(&self) -> Health {
        self.health
    }

    /// True when it answers commands, with an error or without.
    pub fn is_there(&self) -> bool {
        matches!(self.health, Health::Well | Health::ReadOnly)
    }

    /// True while commands are in flight.
    pub fn is_busy(&self) -> bool {
        self.commands.iter().any(Option::is_some)
    }

    /// True if programs and erases of the drive's flash may fail.
    pub fn is_weak(&self) -> bool {
        self.is_weak
    }

    /// When the next event of the drive's flash is due; [`Time::NEVER`] if none is, or without flash.
    pub fn next_event(&self) -> Time {
        self.flash.as_ref().map_or(Time::NEVER, |flash| flash.next_event())
    }

    /// A call of its control interface: anything that a drive may reply.
    pub fn control(&mut self, call: Control) -> ControlReply {
        if !self.model.has_control || !self.is_there() {
            return ControlReply::Unsupported;
        }
        match call {
            Control::EraseBlockSize => ControlReply::Bytes(16 << 10),
            Control::FreeBlocks => ControlReply::Blocks(self.random.below(40)),
            Control::IsGcRunning | Control::IsReadyForRead => ControlReply::Answer(self.random.below(3) > 0),
            Control::RunGc { .. } | Control::SetWindows(_) => ControlReply::Done,
            _ => ControlReply::Unsupported,
        }
    }
}
