//! One read, from its begin to the last answer.

use super::Wanted;
use super::copies::Others;
use tailcut_base::{Nanos, Spans, Time};

/// Where a read stands.
#[derive(Debug)]
pub(super) struct Read<B> {
    pub(super) wanted: Wanted,
    /// Up to when its time is accounted for.
    pub(super) mark: Time,
    pub(super) spans: Spans,
    /// The drive itself has been asked and has not answered.
    pub(super) direct: Direct,
    /// Members of the group that have not answered.
    pub(super) pending: u32,
    /// The exclusive or of what they have answered.
    pub(super) sum: Vec<B>,
    /// One of them has no data.
    pub(super) is_broken: bool,
    /// Members that would rather not serve, and how long the longest of them is taken.
    pub(super) refused: u64,
    pub(super) longest: Nanos,
    pub(super) is_around: bool,
    /// Where there are copies: what the others have said.
    pub(super) copies: Others,
    /// The result has been told: the rest only drains.
    pub(super) is_done: bool,
    /// What the drive has is to be written again when it is known.
    pub(super) repair: bool,
    /// [`Drives::changes`](crate::array::drives::Drives::changes) when the read began, or began again.
    pub(super) changes: u64,
    /// Counts the lives of this slot, for deadlines.
    pub(super) life: u32,
}

/// What is known of the drive itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direct {
    Unasked,
    Pending,
    /// It is taken for so long.
    Contended(Nanos),
    /// It has answered with nothing of use.
    Useless,
}
