//! The seam between an array and the way it lays data out.

use super::core::Core;
use super::drives::Answered;
use super::reads::Done;
use crate::Block;
use crate::array::DriveId;
use crate::array::ids::numbers;
use std::fmt;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};

/// How an array is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Everything is there, with all its redundancy.
    Optimal,
    /// Everything can be read; one more failure in these groups would lose data.
    Degraded {
        /// Drives that are missing.
        missing: Vec<DriveId>,
        /// Drives that are being rebuilt.
        rebuilding: Vec<DriveId>,
    },
    /// More is missing than can be made up for: some data cannot be read, and nothing is written.
    Failed {
        /// What a person should know.
        why: String,
    },
}

/// As in answers to `status`: `optimal`, `degraded; missing [2], rebuilding []`, or `failed: ` and why.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Optimal => f.write_str("optimal"),
            Condition::Degraded { missing, rebuilding } => {
                write!(f, "degraded; missing {:?}, rebuilding {:?}", numbers(missing), numbers(rebuilding))
            }
            Condition::Failed { why } => write!(f, "failed: {why}"),
        }
    }
}

impl Condition {
    /// The same where these drives are being rebuilt, too.
    pub(super) fn and_rebuilding(self, drives: impl Iterator<Item = DriveId>) -> Condition {
        let (missing, mut rebuilding) = match self {
            Condition::Optimal => (Vec::new(), Vec::new()),
            Condition::Degraded { missing, rebuilding } => (missing, rebuilding),
            failed => return failed,
        };
        for drive in drives {
            if !rebuilding.contains(&drive) {
                rebuilding.push(drive);
            }
        }
        if missing.is_empty() && rebuilding.is_empty() {
            return Condition::Optimal;
        }
        Condition::Degraded { missing, rebuilding }
    }
}

/// A way to lay data out: it decides where blocks are, and carries requests of the host out.
///
/// Requests are in [`Core::requests`] under their slot; a layout ends each with
/// [`Core::finish`]. Requests for drives go through [`Core::drives`], reads of stored blocks through
/// [`Core::reads`]. What it needs to survive a power cut it writes to the drives.
pub trait Layout<B: Block> {
    /// Blocks that the host can use.
    fn blocks(&self) -> u64;

    /// Writes what a new array needs on its drives, beside the record.
    fn create(&mut self, now: Time, core: &mut Core<B>);

    /// Recovers the state of an array that was opened.
    fn recover(&mut self, now: Time, core: &mut Core<B>);

    /// True when requests can be taken.
    fn is_ready(&self) -> bool;

    /// How the array is.
    fn condition(&self, core: &Core<B>) -> Condition;

    /// A request of the host, which lies within the array.
    fn submit(&mut self, now: Time, core: &mut Core<B>, slot: u32);

    /// A read that was begun with [`Reads::begin`](super::reads::Reads::begin) has ended.
    fn read_done(&mut self, now: Time, core: &mut Core<B>, done: Done<B>);

    /// A drive has answered what the layout asked under `token`.
    fn answered(&mut self, now: Time, core: &mut Core<B>, token: u64, answer: Answered<B>);

    /// A drive has answered a call of its control interface, if the layout made any.
    fn control_answered(&mut self, _: Time, _: &mut Core<B>, _: DriveId, _: Control, _: ControlReply) {}

    /// A drive with a gate has the token: what has been kept back for it may be sent, as long as
    /// [`Drives::may_write`](super::drives::Drives::may_write) says so.
    fn may_write(&mut self, _: Time, _: &mut Core<B>, _: DriveId) {}

    /// A drive does not serve any more; what was asked of it comes back as
    /// [`Gone`](tailcut_base::Status::Gone).
    fn drive_lost(&mut self, now: Time, core: &mut Core<B>, drive: DriveId);

    /// A record that was asked for is on the drives.
    fn recorded(&mut self, now: Time, core: &mut Core<B>);

    /// A drive has been replaced by a blank one: fill it.
    fn rebuild(&mut self, now: Time, core: &mut Core<B>, drive: DriveId);

    /// Read everything and compare it with what it should be.
    fn scrub(&mut self, now: Time, core: &mut Core<B>);

    /// When it next has something to do by itself; [`Time::NEVER`] while it only waits for answers.
    fn next_event(&self) -> Time;

    /// Does what is due.
    fn advance(&mut self, now: Time, core: &mut Core<B>);
}
