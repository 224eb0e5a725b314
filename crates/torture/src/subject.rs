//! The seam of what is tortured: a disk made of drives. Everything that stores blocks, or can be seen
//! so (a key is a block, a put a write, a deletion a trim, a commit a flush), is a [`Subject`].

use super::plan::Plan;
use std::fmt;
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};
use tailcut_host::{Bytes, Disk, Request, Response};

/// The redundancy that a subject reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubjectHealth {
    /// Whole, with all redundancy.
    Whole,
    /// Everything can be had, and less may happen than before.
    Degraded {
        /// Drives that are missing.
        missing: Vec<usize>,
        /// Drives that are being rebuilt.
        rebuilding: Vec<usize>,
    },
    /// It does not serve any more.
    Failed(String),
}

impl fmt::Display for SubjectHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubjectHealth::Whole => f.write_str("whole"),
            SubjectHealth::Degraded { missing, rebuilding } => {
                write!(f, "degraded; missing {missing:?}, rebuilding {rebuilding:?}")
            }
            SubjectHealth::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

/// The faults and repairs that a subject has counted on its drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Blocks that were read with other data than had been written.
    pub corrupt: u64,
    /// Corrupt blocks that were rewritten.
    pub repaired: u64,
    /// Reads from the other drives, because one was missing or gave an error.
    pub degraded: u64,
    /// Reads from the other drives, because one was slow.
    pub hedged: u64,
    /// Blocks that the last scrub found to be wrong, and stripes whose parity did not belong to their data.
    pub last_scrub: u64,
    /// Blocks that could not be had for repair or rebuilding.
    pub hopeless: u64,
    /// Rows of a log that collection has emptied.
    pub collected: u64,
    /// Number of checkpoints that a log has completed.
    pub checkpoints: u64,
    /// Number of times that the front end passed on to another group.
    pub rotations: u64,
}

/// What is tortured. A machine without a clock: handed requests of the host and answers of
/// drives, it leaves requests for drives in `sent` and answers for the host in `answers`.
///
/// Drives are named by their place in the list that it was made with; after a power cut it is handed
/// those that are still there, in any order, and goes on using those names.
pub trait Subject: Sized {
    /// Requests for one block take effect in the order in which they are submitted, answered or not.
    const KEEPS_ORDER: bool = false;

    /// Over blank drives.
    fn create(now: Time, plan: &Plan, drives: &[Disk]) -> Self;

    /// Over what a power cut has left: place and disk of each drive that is there.
    fn open(now: Time, plan: &Plan, drives: &[(usize, Disk)]) -> Self;

    /// Why it cannot be opened.
    fn refused(&self) -> Option<String>;

    /// Drives that it has been handed and has recognised as out of date.
    fn stale(&self) -> &[usize];

    /// Takes requests.
    fn is_ready(&self) -> bool;

    /// What it is to the host, when it is ready.
    fn disk(&self) -> Disk;

    /// How it is, when it is ready.
    fn health(&self) -> SubjectHealth;

    /// What it has met since it was made or opened.
    fn findings(&self) -> Findings;

    /// Everything else that it has counted since it was made or opened, as text. The digest of a run covers
    /// the numbers in it.
    fn counts(&self) -> String;

    /// A request of the host.
    ///
    /// # Errors
    /// The request itself, to be handed over again after an answer.
    fn submit(&mut self, now: Time, request: Request<Bytes>) -> Result<(), Request<Bytes>>;

    /// A drive has answered.
    fn answered(&mut self, now: Time, drive: usize, response: Response<Bytes>);

    /// Whether everything that it has acknowledged is durable once nothing is under way any more, without a
    /// flush of the host.
    fn is_durable_at_rest(&self) -> bool {
        false
    }

    /// Whether it can still write: a store whose drive has failed a write cannot mark what is durable, so
    /// that later damage cannot be distinguished from a write that was cut off.
    fn can_write(&self) -> bool {
        true
    }

    /// Its own invariants, while nothing is under way.
    ///
    /// # Errors
    /// The first one that is broken.
    fn check_at_rest(&self) -> Result<(), String> {
        Ok(())
    }

    /// When it wants to be called by itself.
    fn next_event(&self) -> Time;

    /// Does what is due.
    fn advance(&mut self, now: Time);

    /// Requests for drives.
    fn sent(&mut self) -> Vec<(usize, Request<Bytes>)>;

    /// Answers for the host.
    fn answers(&mut self) -> Vec<Response<Bytes>>;

    /// Calls of the drives' control interface; each is replied to.
    fn controls(&mut self) -> Vec<(usize, Control)> {
        Vec::new()
    }

    /// A drive has replied to such a call.
    fn control_answered(&mut self, _: Time, _: usize, _: Control, _: ControlReply) {}

    /// A missing drive's place is taken by a blank one.
    fn replace(&mut self, now: Time, drive: usize, disk: Disk);

    /// Everything is to be read and compared.
    fn scrub(&mut self, now: Time);
}
