//! Arrays of drives: RAID, Log-RAID, SWAN and token groups behind one interface.
//!
//! An [`Array`] is a block device built from drives. It is a state machine without a clock: the driver passes
//! it host requests ([`Array::submit`]) and drive completions ([`Array::answered`]), calls [`Array::advance`]
//! when [`Array::next_event`] is due, and after each of these submits [`Array::sent`] to the drives and
//! returns [`Array::answers`] to the host. It also makes the calls of the drives' control interface
//! ([`Array::controls`]) and passes the replies back ([`Array::control_answered`]).
//!
//! Common to the layouts: `requests` splits and joins host requests, `drives` sends drive requests, `reads`
//! reads blocks and avoids drives that are not in sync, `record` is the superblock of a member, by which
//! `opening` reassembles an array and `membership` separates its members from stale drives. A layout
//! ([`Layout`]) decides where blocks are.
//!
//! Fault model: at most one drive of an R-group with parity is missing, slow or returns wrong data at a time;
//! power may be lost at any moment. Acknowledged writes that were flushed, or written with force unit access,
//! survive; other writes survive or not, block by block; no other data ever appears.
//!
//! A drive whose flush or durable write fails is treated as failed, since it may have lost data it
//! acknowledged before: an array with redundancy continues without it, any other stops writing
//! ([`Core::unflushed`]). A drive without protection information may return wrong data with success: a reader
//! that can detect that requests another copy ([`Mirror`]).
//!
//! A drive without room for a write has not failed: the write is kept and sent again until there is room, in
//! every layout alike (`drives/room`). Meanwhile the host gets [`Status::NoSpace`] for every write, and for
//! trims and flushes that do not end within an attempt; reads go on. A refused write may still take effect
//! later, before any later write of the same blocks.

mod check;
mod completion;
pub mod config;
pub mod core;
pub mod drives;
pub mod epoch;
mod figures;
pub mod fit;
mod ids;
pub mod integrity;
pub mod layout;
pub mod log;
mod membership;
#[cfg(feature = "mutation")]
pub mod mutation;
#[cfg(not(feature = "mutation"))]
mod mutation;
pub mod opening;
pub mod raid;
pub mod reads;
pub mod requests;
mod shape;
pub mod superblock;
pub mod token_scheduling;
pub mod turns;

pub use config::{ArrayConfig, InPlaceChecksums, LayoutKind, Members, ReadPolicy};
pub use figures::Scrub;
pub use fit::TooSmall;
use ids::numbers;
pub use ids::{Column, DriveId, GroupId, RGroups};
pub use layout::{Condition, Layout};
pub use membership::{Stale, StaleCause};
pub use opening::{Consent, FoundArray, OpenError, Opening};
pub use reads::MOST_COPIES;
pub use superblock::{MEMBERS_MAX, MemberId};

use self::core::Core;
use crate::Block;
use crate::disk::{Disk, Mirror, Request, Response};
use drives::{Answered, Owner, Presence};
use epoch::Epochs;
use log::Log;
use raid::Raid;
use std::ops::Range;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::{Op, Status, Time};
use token_scheduling::EpochFigures;

/// An array of drives.
///
/// # Examples
/// ```
/// use tailcut_base::fdp::HandleId;
/// use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
/// use tailcut_host::array::{Array, ArrayConfig};
/// use tailcut_host::{Disk, Fingerprint, Mirror, Request, Response};
///
/// let config = ArrayConfig { drives: 4, ..ArrayConfig::default() };
/// let (volatile_cache, handles) = (false, 1);
/// let disk = Disk { blocks: 1 << 16, depth: 32, most_blocks: 256, volatile_cache, copies: 1, handles };
/// let mut array = Array::<Fingerprint>::fresh(&config, &vec![disk; 4]);
/// let (op, class, mirror, data) = (Op::Read, Class::DEFAULT, Mirror::Any, Vec::new());
/// let handle = HandleId::FIRST;
/// let read =
///     Request { id: 7, op, fua: false, class, fail_fast: false, mirror, handle, block: 9, blocks: 1, data };
/// array.submit(Time::ZERO, read).expect("it accepts requests");
///
/// let (drive, sent) = array.sent().pop().expect("one block is on one drive");
/// let (id, status, busy_for, spans) = (sent.id, Status::Success, Nanos::ZERO, Spans::new());
/// let response = Response { id, status, data: vec![Fingerprint(3)], busy_for, spans };
/// array.answered(Time::ZERO, drive, response);
/// assert_eq!(array.answers()[0].data, [Fingerprint(3)]);
/// ```
#[derive(Debug)]
pub struct Array<B: Block> {
    core: Core<B>,
    layout: Kind<B>,
    /// It has been ready once: since then it accepts requests, and writes wait for superblock writes to
    /// complete.
    was_ready: bool,
    /// It is being opened: recovery starts once its superblock is on the drives.
    is_recovery_due: bool,
    /// Counters of epochs before the last reset.
    epochs_before: EpochFigures,
}

/// The layout of an array.
#[derive(Debug)]
enum Kind<B: Block> {
    Raid(Box<Raid<B>>),
    Log(Box<Log<B>>),
    Epochs(Box<Epochs<B>>),
}

/// Calls a method of the layout with the core.
macro_rules! with {
    ($array:expr, $layout:ident, $core:ident => $call:expr) => {{
        let $core = &mut $array.core;
        match &mut $array.layout {
            Kind::Raid($layout) => $call,
            Kind::Log($layout) => $call,
            Kind::Epochs($layout) => $call,
        }
    }};
}

impl<B: Block> Array<B> {
    /// An array over blank drives that keeps no superblocks: for runs that only measure time. `config` must
    /// have no [`problems`](ArrayConfig::problems) and fit the drives ([`ArrayConfig::validation_error`]).
    pub fn fresh(config: &ArrayConfig, disks: &[Disk]) -> Array<B> {
        let mut array = Array::new(Core::new(config, disks, None), true);
        array.core.drives.begin_checksums(Time::ZERO);
        array
    }

    /// A new array; the content of the drives is overwritten. Its superblocks carry `identity`, 128 random
    /// bits. It accepts requests once [`Array::is_ready`].
    pub fn create(now: Time, config: &ArrayConfig, disks: &[Disk], identity: u128) -> Array<B> {
        let mut array = Array::new(Core::new(config, disks, Some(identity)), true);
        array.core.drives.begin_checksums(now);
        with!(array, layout, core => layout.create(now, core));
        array.core.write_record(now);
        array.settle(now);
        array
    }

    /// Opens the array that `found` describes, over drives in its order. It recovers from a power loss and
    /// accepts requests once [`Array::is_ready`]. Only the settings in `config` that can change between
    /// openings apply; the others are in the superblock.
    pub fn open(now: Time, config: &ArrayConfig, disks: &[Disk], found: &FoundArray) -> Array<B> {
        let core = Core::opened(config, disks, &found.superblock);
        let mut array = Array::new(core, false);
        // The superblock must record the missing drives before recovery writes anything without them.
        array.is_recovery_due = true;
        array.core.write_first_record(now, &found.newest, &found.behind);
        array.core.drives.load_checksums(now);
        array.settle(now);
        array
    }

    fn new(mut core: Core<B>, is_new: bool) -> Array<B> {
        let kind = core.config.layout;
        let layout = if kind.is_mirrored() {
            Kind::Epochs(Box::new(Epochs::new(&mut core, is_new)))
        } else if kind.is_in_place() {
            Kind::Raid(Box::new(Raid::new(&mut core, is_new)))
        } else {
            Kind::Log(Box::new(Log::new(&mut core, is_new)))
        };
        core.announce_turns();
        Array {
            core,
            layout,
            was_ready: false,
            is_recovery_due: false,
            epochs_before: EpochFigures::default(),
        }
    }

    /// Properties of the array as a block device.
    pub fn disk(&self) -> Disk {
        let blocks = match &self.layout {
            Kind::Raid(raid) => raid.blocks(),
            Kind::Log(log) => log.blocks(),
            Kind::Epochs(epochs) => epochs.blocks(),
        };
        let (depth, copies) = (self.core.config.depth, self.core.reads.copies());
        Disk {
            blocks,
            depth,
            most_blocks: MOST_BLOCKS,
            volatile_cache: true,
            copies,
            handles: self.core.handles().count(),
        }
    }

    /// The blocks of each drive that hold data; `None` for layouts that write a log.
    pub fn data_blocks(&self) -> Option<Range<u64>> {
        match &self.layout {
            Kind::Raid(raid) => Some(raid.data_blocks()),
            Kind::Log(_) => None,
            Kind::Epochs(epochs) => Some(epochs.data_blocks()),
        }
    }

    /// True if it accepts requests: it has been created or recovered.
    pub fn is_ready(&self) -> bool {
        let is_ready = match &self.layout {
            Kind::Raid(raid) => raid.is_ready(),
            Kind::Log(log) => log.is_ready(),
            Kind::Epochs(epochs) => Layout::<B>::is_ready(&**epochs),
        };
        self.was_ready || is_ready && !self.is_recovery_due && self.core.is_recorded()
    }

    /// Condition of the array. A rebuilt drive counts as in sync once the superblock records it.
    pub fn condition(&self) -> Condition {
        let condition = match &self.layout {
            Kind::Raid(raid) => raid.condition(&self.core),
            Kind::Log(log) => log.condition(&self.core),
            Kind::Epochs(epochs) => epochs.condition(&self.core),
        };
        if let (Some(drive), Condition::Optimal) = (self.core.unflushed(), &condition) {
            let why = format!(
                "drive {drive} could not be flushed: what was not durable before may be lost, and nothing \
                 more is written; check it, and open the array again"
            );
            return Condition::Failed { why };
        }
        condition.and_rebuilding(self.core.unrecorded())
    }

    /// The state common to all layouts, for counters.
    pub fn core(&self) -> &Core<B> {
        &self.core
    }

    /// The layout, if it writes in place: for its findings and progress.
    pub fn raid(&self) -> Option<&Raid<B>> {
        match &self.layout {
            Kind::Raid(raid) => Some(raid),
            Kind::Log(_) | Kind::Epochs(_) => None,
        }
    }

    /// Number of drives that do not support the configured windows: they collect at any time, and reads do
    /// not avoid them for it.
    pub fn without_turns(&self) -> usize {
        self.core.without_turns()
    }

    /// The layout, if it has epochs: for its findings and progress.
    pub fn epochs(&self) -> Option<&Epochs<B>> {
        match &self.layout {
            Kind::Epochs(epochs) => Some(epochs),
            _ => None,
        }
    }

    /// Submits a host request.
    ///
    /// # Errors
    /// Returns the request if the maximum number is in flight, or if the array is not ready: resubmit it
    /// after a completion.
    pub fn submit(&mut self, now: Time, request: Request<B>) -> Result<(), Request<B>> {
        if self.core.requests.in_flight() >= self.core.config.depth || !self.is_ready() {
            return Err(request);
        }
        let end = request.block.checked_add(u64::from(request.blocks));
        let fits = request.op == Op::Flush
            || (request.blocks > 0 && end.is_some_and(|end| end <= self.disk().blocks));
        let fits = fits && self.has_copy(&request);
        let is_refused = self.core.unflushed().is_some() && request.op != Op::Read;
        let is_without_room = self.core.is_without_room(request.op);
        let request = Request { handle: self.core.handles().of_member(request.handle), ..request };
        let slot = self.core.requests.open(now, request);
        if is_refused || fits && is_without_room {
            let status = if is_refused { Status::MediaError } else { Status::NoSpace };
            self.core.requests.fail(slot, status);
            self.core.requests.finish(now, slot);
        } else if fits {
            with!(self, layout, core => layout.submit(now, core, slot));
        } else {
            self.core.requests.fail(slot, Status::InvalidField);
            self.core.requests.finish(now, slot);
        }
        self.settle(now);
        Ok(())
    }

    /// True if the request's choice of a copy is valid for this array.
    fn has_copy(&self, request: &Request<B>) -> bool {
        let is_there = |copy| request.op == Op::Read && copy < usize::from(self.core.reads.copies());
        let has_content =
            !matches!(request.mirror, Mirror::Repair(_)) || request.data.len() == request.blocks as usize;
        request.mirror.copy().is_none_or(is_there) && has_content
    }

    /// Fails a drive.
    fn lose(&mut self, now: Time, drive: DriveId) {
        if self.core.drives.presence(drive) == Presence::Missing {
            return;
        }
        self.core.drives.set_presence(drive, Presence::Missing);
        // Start this first: no write without the drive may be acknowledged before the others record its loss.
        self.core.write_record(now);
        if !self.is_recovery_due {
            with!(self, layout, core => layout.drive_lost(now, core, drive));
        }
    }

    /// Removes a drive: its outstanding requests never complete. The array continues as if it had failed.
    pub fn remove(&mut self, now: Time, drive: DriveId) {
        self.lose(now, drive);
        self.settle(now);
    }

    /// Checks whether a drive can replace a member.
    ///
    /// # Errors
    /// [`TooSmall`], if it has fewer blocks than the array uses of each drive.
    pub fn fits(&self, disk: &Disk) -> Result<(), TooSmall> {
        let (blocks, needed) = (disk.blocks, self.core.drive_blocks());
        if blocks < needed { Err(TooSmall { blocks, needed }) } else { Ok(()) }
    }

    /// Replaces a missing drive by another and starts its rebuild. The new drive must hold no superblock of
    /// this array: its old content would count as valid otherwise. `id` is 128 random bits.
    ///
    /// # Errors
    /// See [`Array::fits`]; the array is unchanged then.
    pub fn replace(&mut self, now: Time, drive: DriveId, disk: Disk, id: MemberId) -> Result<(), TooSmall> {
        self.fits(&disk)?;
        self.core.drives.replace(drive, disk);
        self.core.rename(drive, id);
        self.core.drives.renew_checksums(now, drive, id);
        self.core.write_record(now);
        with!(self, layout, core => layout.rebuild(now, core, drive));
        self.settle(now);
        Ok(())
    }

    /// Starts a scrub: reads all data and verifies it.
    pub fn scrub(&mut self, now: Time) {
        with!(self, layout, core => layout.scrub(now, core));
        self.settle(now);
    }

    /// Delivers a completion to its issuer, and keeps its memory for later requests.
    fn route(&mut self, now: Time, answer: &mut Answered<B>) {
        match answer.owner {
            Owner::Read { .. } => self.core.reads.answered(now, &mut self.core.drives, answer),
            Owner::Layout(token) => {
                with!(self, layout, core => layout.answered(now, core, token, answer));
            }
            Owner::MemberSuperblock => self.core.record_answered(now),
            Owner::Integrity(life) => self.core.drives.checksums_answered(now, life, answer),
            Owner::Epoch(epoch) => {
                let core = &mut self.core;
                let tokens = core.tokens.as_mut().expect("they have epochs");
                tokens.flushed(now, &mut core.drives, answer.drive, epoch, answer.status);
            }
        }
        self.core.drives.recycle(std::mem::take(&mut answer.data));
    }

    /// Delivers the results of reads, and keeps their memory for later requests.
    fn deliver_reads(&mut self, now: Time) {
        let mut results = std::mem::take(self.core.reads.done());
        for done in &mut results {
            with!(self, layout, core => layout.read_done(now, core, done));
            self.core.drives.recycle(std::mem::take(&mut done.data));
        }
        // The memory of the list is used again.
        results.clear();
        results.append(self.core.reads.done());
        *self.core.reads.done() = results;
    }

    /// Delivers all results of the last step, and their consequences, until none are left.
    fn settle(&mut self, now: Time) {
        loop {
            if !self.core.reads.done().is_empty() {
                self.deliver_reads(now);
            } else if let Some(mut answer) = self.core.drives.bounced() {
                self.route(now, &mut answer);
            } else if let Some(drive) = self.core.run_tokens(now) {
                with!(self, layout, core => layout.may_write(now, core, drive));
            } else if self.is_recovery_due {
                if !self.core.is_recorded() || !self.core.drives.has_checksums() {
                    return;
                }
                self.is_recovery_due = false;
                with!(self, layout, core => layout.recover(now, core));
            } else if self.core.release_held(now) {
                with!(self, layout, core => layout.recorded(now, core));
            } else if self.core.refuse_stuck(now) {
                with!(self, layout, core => layout.refused(now, core));
            } else {
                self.was_ready = self.is_ready();
                return;
            }
        }
    }

    /// True while a drive has no room for writes: these, and flushes that depend on them, are answered with
    /// [`Status::NoSpace`]; reads are served. The drives that have refused writes are
    /// [`Drives::full`](drives::Drives::full).
    pub fn is_full(&self) -> bool {
        self.core.drives.is_full()
    }

    /// When the array's next timer expires; [`Time::NEVER`] if none is set.
    pub fn next_event(&self) -> Time {
        let retry = self.core.drives.next_retry();
        if self.is_recovery_due {
            return retry;
        }
        let layout = match &self.layout {
            Kind::Raid(raid) => raid.next_event(),
            Kind::Log(log) => log.next_event(),
            Kind::Epochs(epochs) => Layout::<B>::next_event(&**epochs),
        };
        let tokens = self.core.tokens.as_ref().map_or(Time::NEVER, |tokens| tokens.next_event());
        layout.min(self.core.reads.next_event()).min(tokens).min(self.core.drives.next_rest()).min(retry)
    }

    /// Prepares for shutdown: no writes follow. Writes the state of blocks to the drives, for the next
    /// opening. True once that is complete.
    pub fn come_to_rest(&mut self, now: Time) -> bool {
        self.core.drives.end_checksums(now);
        self.core.drives.integrity().is_none_or(integrity::Integrity::is_at_rest)
    }

    /// Runs the timers that have expired by `now`.
    pub fn advance(&mut self, now: Time) {
        self.core.drives.retry_refused(now);
        if self.is_recovery_due {
            return self.settle(now);
        }
        self.core.reads.advance(now, &mut self.core.drives);
        self.core.drives.rest(now);
        if let Some(tokens) = &mut self.core.tokens {
            tokens.advance(now, &mut self.core.drives);
        }
        with!(self, layout, core => layout.advance(now, core));
        self.settle(now);
    }

    /// Requests to be submitted to the drives, in this order.
    pub fn sent(&mut self) -> &mut Vec<(DriveId, Request<B>)> {
        self.core.drives.sent()
    }

    /// Control calls to be made on the drives, in this order, after the requests of [`Array::sent`]. An
    /// unsupported call is not an error.
    pub fn controls(&mut self) -> &mut Vec<(DriveId, Control)> {
        self.core.drives.controls()
    }

    /// Handles a drive's reply to a control call. Every call must get a reply;
    /// [`ControlReply::Unsupported`] if the drive has no control interface.
    pub fn control_answered(&mut self, now: Time, drive: DriveId, call: Control, reply: ControlReply) {
        if matches!((call, reply), (Control::SetWindows(_), ControlReply::Unsupported)) {
            self.core.turn_refused(drive);
        }
        if let Some(tokens) = &mut self.core.tokens {
            tokens.replied(now, &mut self.core.drives, drive, call, reply);
        }
        with!(self, layout, core => layout.control_answered(now, core, drive, call, reply));
        self.settle(now);
    }

    /// Completions of requests of the host, to be taken by the caller.
    pub fn answers(&mut self) -> &mut Vec<Response<B>> {
        self.core.requests.answers()
    }
}

/// Largest number of blocks of a host request: 32 MiB.
const MOST_BLOCKS: u32 = 8192;
