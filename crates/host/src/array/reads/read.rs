//! One read, from its start to its last completion.

use super::BlockRead;
use super::copies::Others;
use tailcut_base::{Nanos, Spans, Time, id};

id! {
    /// A read in progress.
    pub struct ReadId;
}

/// State of a read.
#[derive(Debug)]
pub(super) struct Read<B> {
    pub(super) wanted: BlockRead,
    /// Time up to which the read's time is attributed.
    pub(super) mark: Time,
    pub(super) spans: Spans,
    /// State of the part on the drive itself.
    pub(super) direct: Direct,
    /// Outstanding parts on members of the group.
    pub(super) pending: u32,
    /// Exclusive or of the completed parts.
    pub(super) sum: Vec<B>,
    /// A part has failed.
    pub(super) is_broken: bool,
    /// Members that declined, and the longest time that one of them stays busy.
    pub(super) refused: u64,
    pub(super) longest: Nanos,
    pub(super) is_around: bool,
    /// With copies, the results of the other copies.
    pub(super) copies: Others,
    /// The result has been returned: the rest only drains.
    pub(super) is_done: bool,
    /// The drive's content must be rewritten once it is known.
    pub(super) repair: bool,
    /// [`Drives::changes`](crate::array::drives::Drives::changes) at the start or restart of the read.
    pub(super) changes: u64,
    /// Counts the uses of this id, for deadlines.
    pub(super) life: u32,
}

/// State of the part on the drive itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direct {
    Unasked,
    Pending,
    /// It has declined and stays busy for this long.
    Contended(Nanos),
    /// It has failed or returned wrong data.
    Useless,
}
