//! Finds the array that a set of drives belongs to. Read-only.

use super::config::{ArrayConfig, LayoutKind};
use super::drives::{Ask, Drives, Owner, Presence, Priority};
use super::epoch::copies_of;
use super::membership::{self, Own, Stale};
use super::shape::impossible;
use super::superblock::{FORMAT, MEMBERS_MAX, MemberSuperblock, NoSuperblock, SUPERBLOCK_BLOCKS};
use super::{DriveId, numbers};
use crate::Block;
use crate::disk::{Disk, Request, Response};
use crate::placement::WriteKind;
use tailcut_base::cast::to_usize;
use tailcut_base::ids::{Id, IdVec};
use tailcut_base::{Class, Op, Status, Time};

/// An array found on drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundArray {
    /// The latest superblock of the array; drives that were not given count as missing in it.
    pub superblock: MemberSuperblock,
    /// For each member, the index of its drive among those given.
    pub order: IdVec<DriveId, Option<usize>>,
    /// Stale drives among those given: the array has continued without them.
    pub stale: Vec<Stale>,
    /// The newest superblock as it is on the drives.
    pub(super) newest: MemberSuperblock,
    /// Members that lack the newest superblock, because power was lost during its write.
    pub(super) behind: Vec<DriveId>,
}

impl FoundArray {
    /// `config` for this array: what is fixed when an array is created is as its superblock has it.
    pub fn as_created(&self, config: &ArrayConfig) -> ArrayConfig {
        config.as_created(&self.superblock)
    }
}

/// Whether to open an array without members that it counts on and that may be in use elsewhere as the same
/// array. Consent is not needed if that is impossible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// Refuse to open it.
    #[default]
    Refuse,
    /// Open it degraded: the operator knows that the missing drives are not in use.
    Degraded,
}

/// Why drives cannot be opened as an array. Drives are identified by their index among those given, from 0.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OpenError {
    /// No drive is a member of an array.
    #[error("none of the {0} drives belongs to an array; create one first")]
    NoArray(usize),
    /// A drive holds foreign data.
    #[error("drive {drive} holds something that is not part of an array: leave it out, or erase it first")]
    Foreign {
        /// Index of the drive.
        drive: usize,
    },
    /// A drive was written by an earlier or later program.
    #[error(
        "drive {drive} is of format {format}, and this program supports only format {FORMAT}: use the {} \
            that wrote it\
        {}",
        if *.format < FORMAT { "earlier version" } else { "later version" },
        if *.format < FORMAT { " to copy the data to a new array" } else { "" },
    )]
    Format {
        /// Index of the drive.
        drive: usize,
        /// Its superblock format.
        format: u32,
    },
    /// A drive belongs to another array.
    #[error(
        "drives {first} and {second} belong to different arrays ({first_array:032x} and \
            {second_array:032x}): open one array at a time"
    )]
    Mixed {
        /// Index of one drive.
        first: usize,
        /// Index of another.
        second: usize,
        /// Identity of the array of `first`.
        first_array: u128,
        /// Identity of the array of `second`.
        second_array: u128,
    },
    /// Two drives claim to be the same member.
    #[error("drives {first} and {second} are both number {member} of the array: one is a copy, leave it out")]
    Twice {
        /// Index of one drive.
        first: usize,
        /// Index of the other.
        second: usize,
        /// Their member number.
        member: DriveId,
    },
    /// A drive is smaller than when the array was created.
    #[error(
        "drive {drive} has {blocks} blocks, and the array uses {needed} of each drive: it has shrunk, or is \
         another one; leave it out if the layout can do without it"
    )]
    TooSmall {
        /// Index of the drive.
        drive: usize,
        /// Blocks of the drive.
        blocks: u64,
        /// Blocks needed.
        needed: u64,
    },
    /// A superblock has a valid checksum but impossible content.
    #[error(
        "the superblock on drive {drive} describes an array that cannot be ({why}): leave the drive out if \
         the layout can do without it, or restore its first blocks from a copy"
    )]
    Impossible {
        /// Index of the drive.
        drive: usize,
        /// The impossible value.
        why: String,
    },
    /// More drives are missing than redundancy covers.
    #[error(
        "members {:?} of the array are missing, and {layout} can do without {spare} of {}: find them{}",
        numbers(missing),
        if layout.is_mirrored() { "the neighbours that hold the copies of a block" } else { "each R-group" },
        list(stale)
    )]
    TooFew {
        /// Missing members.
        missing: Vec<DriveId>,
        /// The layout.
        layout: LayoutKind,
        /// Number of drives that may be missing, per R-group or among the holders of a block.
        spare: usize,
        /// Stale drives among those given, which cannot replace them.
        stale: Vec<Stale>,
    },
    /// The given drives could run degraded, and so could the missing ones.
    #[error(
        "members {:?} of the array are missing. They hold all its data and may be in use without these: give \
         them as well, or, if nobody uses them, open the array degraded (--degraded) and replace them{}",
        numbers(missing),
        list(stale)
    )]
    NeedsConsent {
        /// Missing members.
        missing: Vec<DriveId>,
        /// Stale drives among those given.
        stale: Vec<Stale>,
    },
    /// Two subsets of the array were used separately.
    #[error(
        "the array was opened with drives {kept:?} and with drives {others:?} apart from each other, and \
         both have taken writes: give only the drives of one side to keep what that has, then replace the \
         others, whose writes since then are lost"
    )]
    Diverged {
        /// Drives of the subset with more changes of its superblock.
        kept: Vec<usize>,
        /// Drives of the other subset.
        others: Vec<usize>,
    },
    /// It was created when arrays could have more members.
    #[error(
        "the array has {members} drives, and this program opens arrays of up to {MEMBERS_MAX}: use the \
         program that made it"
    )]
    TooMany {
        /// Number of its members.
        members: usize,
    },
}

/// The stale drives, as a continuation of an error message.
fn list(stale: &[Stale]) -> String {
    stale.iter().map(|stale| format!("; {stale}")).collect()
}

/// A state machine that reads superblocks and determines the array.
#[derive(Debug)]
pub struct Opening<B> {
    drives: Drives<B>,
    disks: Vec<Disk>,
    superblocks: Vec<Vec<Result<MemberSuperblock, NoSuperblock>>>,
    pending: usize,
    consent: Consent,
}

impl<B: Block> Opening<B> {
    /// Starts reading. `consent` decides about missing drives that may be in use elsewhere.
    pub fn new(now: Time, disks: &[Disk], consent: Consent) -> Opening<B> {
        let mut drives = Drives::new(disks, u32::MAX);
        for drive in drives.ids() {
            for block in 0..SUPERBLOCK_BLOCKS {
                let class = Class::DEFAULT;
                let data = Vec::new();
                let ask = Ask {
                    op: Op::Read,
                    fua: false,
                    fail_fast: false,
                    class,
                    kind: WriteKind::Data,
                    block,
                    blocks: 1,
                    data,
                };
                drives.ask(now, drive, Priority::Read, Owner::Layout(0), ask);
            }
        }
        let superblocks = vec![Vec::new(); disks.len()];
        let pending = disks.len() * to_usize(SUPERBLOCK_BLOCKS);
        Opening { drives, disks: disks.to_vec(), superblocks, pending, consent }
    }

    /// Requests to be submitted to the drives, which are numbered in the order given.
    pub fn sent(&mut self) -> &mut Vec<(DriveId, Request<B>)> {
        self.drives.sent()
    }

    /// Handles a completion from a drive.
    pub fn answered(&mut self, now: Time, drive: DriveId, response: Response<B>) {
        let answer = self.drives.answered(now, drive, response);
        self.pending -= 1;
        let bytes = answer.data.first().and_then(Block::decode).unwrap_or(&[]);
        let readable = answer.status == Status::Success && !bytes.is_empty();
        let superblock = if readable { MemberSuperblock::decode(bytes) } else { Err(NoSuperblock::Damaged) };
        self.superblocks[drive.index()].push(superblock);
    }

    /// The array found, once every drive has answered.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn found(&self) -> Option<Result<FoundArray, OpenError>> {
        self.is_done().then(|| self.judge())
    }

    /// True once every drive has answered.
    pub fn is_done(&self) -> bool {
        self.pending == 0
    }

    /// The identity of each drive's array, once every drive has answered; None if its superblocks are
    /// unreadable.
    pub fn arrays(&self) -> Vec<Option<u128>> {
        let array = |superblocks: &Vec<Result<MemberSuperblock, NoSuperblock>>| {
            superblocks.iter().flatten().next().map(|r| r.array)
        };
        self.superblocks.iter().map(array).collect()
    }

    fn judge(&self) -> Result<FoundArray, OpenError> {
        let mut latest: Vec<Own<'_>> = Vec::new();
        for (drive, superblocks) in self.superblocks.iter().enumerate() {
            if let Some(superblock) = self.latest_of(drive, superblocks)? {
                latest.push((drive, superblock));
            }
        }
        let Some(&(first, newest)) = latest.first() else {
            return Err(OpenError::NoArray(self.disks.len()));
        };
        for &(second, superblock) in &latest {
            if superblock.array != newest.array {
                let (first_array, second_array) = (newest.array, superblock.array);
                return Err(OpenError::Mixed { first, second, first_array, second_array });
            }
            if superblock.presence.len() > MEMBERS_MAX {
                return Err(OpenError::TooMany { members: superblock.presence.len() });
            }
            let (members, others) = (superblock.presence.len(), newest.presence.len());
            if members != others {
                let why = format!("it has {members} drives, and that of drive {first} has {others}");
                return Err(OpenError::Impossible { drive: second, why });
            }
            if let Some(what) = superblock.fixed_difference(newest) {
                let why = format!("its {what} is not that of drive {first}, though they are of one array");
                return Err(OpenError::Impossible { drive: second, why });
            }
        }
        let (drive, newest) = membership::newest(&latest)?.expect("there is one");
        if let Some(why) = impossible(newest) {
            return Err(OpenError::Impossible { drive, why });
        }
        self.assemble(newest, &latest)
    }

    /// The latest superblock of a drive; None if it is blank or damaged.
    fn latest_of<'r>(
        &self,
        drive: usize,
        superblocks: &'r [Result<MemberSuperblock, NoSuperblock>],
    ) -> Result<Option<&'r MemberSuperblock>, OpenError> {
        let newest = superblocks.iter().flatten().max_by_key(|superblock| superblock.generation);
        for superblock in superblocks {
            // A damaged checksum can look like an earlier format.
            if let Err(NoSuperblock::Format(format)) = superblock
                && (*format > FORMAT || newest.is_none())
            {
                return Err(OpenError::Format { drive, format: *format });
            }
        }
        let is_foreign =
            superblocks.iter().any(|superblock| matches!(superblock, Err(NoSuperblock::Foreign)));
        match newest {
            None if is_foreign => Err(OpenError::Foreign { drive }),
            newest => Ok(newest),
        }
    }

    fn assemble(&self, newest: &MemberSuperblock, latest: &[Own<'_>]) -> Result<FoundArray, OpenError> {
        let mut order: IdVec<DriveId, Option<usize>> = IdVec::filled(newest.presence.len(), None);
        let (mut stale, mut behind) = (Vec::new(), Vec::new());
        for &(drive, superblock) in latest {
            let member = superblock.member;
            if let Some(cause) = membership::stale_cause(newest, superblock) {
                stale.push(Stale { drive, member: superblock.member, cause });
                continue;
            }
            if let Some(first) = order[member] {
                return Err(OpenError::Twice { first, second: drive, member: superblock.member });
            }
            let (blocks, needed) = (self.disks[drive].blocks, newest.drive_blocks);
            if blocks < needed {
                return Err(OpenError::TooSmall { drive, blocks, needed });
            }
            order[member] = Some(drive);
            if superblock.generation < newest.generation {
                behind.push(member);
            }
        }
        let mut superblock = newest.clone();
        for member in superblock.ids.ids() {
            if order[member].is_none() {
                superblock.presence[member] = Presence::Missing;
            }
        }
        enough(&superblock, &stale)?;
        self.is_alone(newest, &order, &stale)?;
        Ok(FoundArray { superblock, order, stale, newest: newest.clone(), behind })
    }

    /// An error if the missing members could be in use elsewhere, unless the operator has ruled that out.
    fn is_alone(
        &self,
        newest: &MemberSuperblock,
        order: &IdVec<DriveId, Option<usize>>,
        stale: &[Stale],
    ) -> Result<(), OpenError> {
        // A stale drive is not the member that the superblock counts on: that one may be elsewhere.
        let is_absent =
            |&member: &DriveId| newest.presence[member] != Presence::Missing && order[member].is_none();
        let missing: Vec<DriveId> = order.ids().filter(is_absent).collect();
        if self.consent == Consent::Degraded || !membership::could_serve(newest, &missing) {
            return Ok(());
        }
        Err(OpenError::NeedsConsent { missing, stale: stale.to_vec() })
    }
}

/// An error if some group cannot do without its missing members.
fn enough(superblock: &MemberSuperblock, stale: &[Stale]) -> Result<(), OpenError> {
    if membership::holds_all(superblock) {
        return Ok(());
    }
    let layout = superblock.layout;
    let spare = match layout.is_mirrored() {
        true => copies_of(superblock) - 1,
        false => usize::from(layout.is_redundant()),
    };
    let is_missing = |&member: &DriveId| superblock.presence[member] != Presence::InSync;
    let missing = superblock.presence.ids().filter(is_missing).collect();
    Err(OpenError::TooFew { missing, layout, spare, stale: stale.to_vec() })
}
