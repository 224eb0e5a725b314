//! The interface between an array and its layout.

use super::core::Core;
use super::drives::Answered;
use super::reads::ReadResult;
use super::requests::RequestSlot;
use crate::Block;
use crate::array::DriveId;
use crate::array::ids::numbers;
use std::fmt;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};

/// Condition of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All members are in sync.
    Optimal,
    /// All data can be read; one more failure in an affected group would lose data.
    Degraded {
        /// Drives that are missing.
        missing: Vec<DriveId>,
        /// Drives that are being rebuilt.
        rebuilding: Vec<DriveId>,
    },
    /// More members are missing than redundancy covers: some data cannot be read, and nothing is written.
    Failed {
        /// Explanation for the operator.
        why: String,
    },
}

/// The form used in replies to `status`: `optimal`, `degraded; missing [2], rebuilding []`, or `failed: ` and
/// the reason.
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
    /// This condition with `drives` being rebuilt in addition.
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

/// A layout: places blocks on drives and executes host requests.
///
/// Host requests are in [`Core::requests`] under their slot; the layout completes each with [`Core::finish`].
/// It sends drive requests through [`Core::drives`] and reads stored blocks through [`Core::reads`]. It
/// writes the state that must survive a power loss to the drives.
pub trait Layout<B: Block> {
    /// Number of blocks available to the host.
    fn blocks(&self) -> u64;

    /// Writes the metadata of a new array, other than the superblock.
    fn create(&mut self, now: Time, core: &mut Core<B>);

    /// Recovers the state of an opened array.
    fn recover(&mut self, now: Time, core: &mut Core<B>);

    /// True if the layout accepts requests.
    fn is_ready(&self) -> bool;

    /// Condition of the array.
    fn condition(&self, core: &Core<B>) -> Condition;

    /// Executes a host request, which is within the array.
    fn submit(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot);

    /// A read started with [`Reads::begin`](super::reads::Reads::begin) has completed. The memory
    /// of its data is used again unless the layout takes them.
    fn read_done(&mut self, now: Time, core: &mut Core<B>, done: &mut ReadResult<B>);

    /// A drive request issued under `token` has completed.
    fn answered(&mut self, now: Time, core: &mut Core<B>, token: u64, answer: &Answered<B>);

    /// A drive has replied to a control call.
    fn control_answered(&mut self, _: Time, _: &mut Core<B>, _: DriveId, _: Control, _: ControlReply) {}

    /// A drive with a gate has the token: held requests may be sent as long as
    /// [`Drives::may_write`](super::drives::Drives::may_write) permits.
    fn may_write(&mut self, _: Time, _: &mut Core<B>, _: DriveId) {}

    /// Requests of the host have been answered for lack of room, and reads must not wait for them
    /// ([`Requests::is_refused`](super::requests::Requests::is_refused)).
    fn refused(&mut self, _now: Time, _core: &mut Core<B>) {}

    /// A drive has failed or was removed; its requests complete with
    /// [`Gone`](tailcut_base::Status::Gone).
    fn drive_lost(&mut self, now: Time, core: &mut Core<B>, drive: DriveId);

    /// A requested superblock write is durable on the drives.
    fn recorded(&mut self, now: Time, core: &mut Core<B>);

    /// A drive has been replaced by a blank one: rebuild it.
    fn rebuild(&mut self, now: Time, core: &mut Core<B>, drive: DriveId);

    /// Read all data and verify it.
    fn scrub(&mut self, now: Time, core: &mut Core<B>);

    /// When the layout's next timer expires; [`Time::NEVER`] while it only waits for completions.
    fn next_event(&self) -> Time;

    /// Runs timers that have expired.
    fn advance(&mut self, now: Time, core: &mut Core<B>);
}
