//! Watching a drive at work: each finished transaction, with its phases and members, and each chip that
//! was taken from one.

use crate::config::Handling;
use crate::flash::{ChannelId, LogicalPage, LunId, PhysicalPage};
use crate::request::Kind;
use std::ops::Range;
use tailcut_base::fdp::HandleId;
use tailcut_base::{CommandId, Nanos, Time};

/// A member of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The host command that it is a part of, if any.
    pub command: Option<CommandId>,
    /// Logical page; meaningless for an erase.
    pub logical: LogicalPage,
    /// Physical page; for an erase the first page of the block.
    pub physical: PhysicalPage,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was carried out.
    Done,
    /// It was given up for a read.
    Reset,
}

/// The record of a transaction that has ended, for observers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipRecord {
    /// The LUN (chip, or die with its own ready/busy line).
    pub lun: LunId,
    /// The channel whose bus the transaction used.
    pub channel: ChannelId,
    /// The kind of operation that the transaction's members share.
    pub kind: Kind,
    /// Start of the command phase (with the data of a program).
    pub start: Time,
    /// When the command phase ended: for a program, after its data had crossed the bus.
    pub command_end: Time,
    /// When the last cell was done, or the cells were given up for a reset, which ends at `end`.
    pub cell_end: Time,
    /// When the data of a read got the bus; equal to `cell_end` for programs and erases.
    pub out_start: Time,
    /// When the transaction released the LUN.
    pub end: Time,
    /// Whether the transaction was carried out, or reset for a read.
    pub outcome: Outcome,
    /// Number of times that the transaction was suspended.
    pub suspensions: u32,
    /// How long the cells were stopped by suspensions.
    pub suspended: Nanos,
    /// How long the bus carried something else between two of its pages.
    pub gap: Nanos,
    /// The memory requests that the transaction served.
    pub members: Vec<Member>,
    /// Whose data is programmed, collected or erased; of several handles' data that of its first page. `None`
    /// for other reads and on a drive without data placement.
    pub handle: Option<HandleId>,
}

/// A chip that was taken from a program or erase, so that a read could go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The LUN that was taken from its program or erase.
    pub lun: LunId,
    /// The channel that the LUN is on.
    pub channel: ChannelId,
    /// The kind of operation that was stopped.
    pub kind: Kind,
    /// Whether the operation was suspended or reset.
    pub handling: Handling,
    /// When a read asked for the chip.
    pub asked: Time,
    /// When the cells stopped: later than `asked` by the rest of the command phase.
    pub stopped: Time,
    /// When the chip was ready for the read.
    pub free: Time,
    /// The host command whose read goes first, if it is one of the host.
    pub command: Option<CommandId>,
}

/// Watches a drive. The type without fields, `()`, watches nothing and costs nothing.
pub trait Probe {
    /// False when records need not be made at all.
    const WATCHES: bool;

    /// A transaction has ended.
    fn transaction(&mut self, record: ChipRecord);

    /// A chip has been taken from a program or erase.
    fn handover(&mut self, _: Handover) {}

    /// Pages of a read, counted from its first, have been given to the link.
    fn returned(&mut self, _command: CommandId, _pages: Range<u32>) {}
}

impl Probe for () {
    const WATCHES: bool = false;

    #[inline]
    fn transaction(&mut self, _: ChipRecord) {}
}

/// Keeps the records of a window of time.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Start of the window: a record that ends before it is not kept.
    pub from: Time,
    /// End of the window, inclusive: a record that begins after it is not kept.
    pub until: Time,
    /// The records that overlap the window, in the order of their ends.
    pub records: Vec<ChipRecord>,
}

impl Probe for Recorder {
    const WATCHES: bool = true;

    fn transaction(&mut self, record: ChipRecord) {
        if record.end >= self.from && record.start <= self.until {
            self.records.push(record);
        }
    }
}
