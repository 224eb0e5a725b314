//! Arrays of drives: RAID, Log-RAID, SWAN and token groups behind one seam.
//!
//! An [`Array`] is a disk made of disks. It is a machine without a clock: the driver hands it requests
//! of the host ([`Array::submit`]) and answers of drives ([`Array::answered`]), calls
//! [`Array::advance`] when [`Array::next_event`] has come, and after each of these three hands what
//! [`Array::sent`] holds to the drives and what [`Array::answers`] holds to the host. Calls of the drives'
//! control interface ([`Array::controls`]) it makes as well, and hands the replies back
//! ([`Array::control_answered`]).
//!
//! What the layouts share: requests are cut and joined in `requests`, drives are asked through `drives`,
//! blocks are read through `reads`, which goes around drives that do not serve, and what the drives must know
//! of the array stands in their superblock (`record`), by which `opening` finds an array again and
//! `membership` tells its members from drives of its past. A layout ([`Layout`]) decides where blocks are.
//!
//! Fault model: at most one drive of an R-group with parity is missing, slow or wrong at a time;
//! the power may go at any moment. What was acknowledged and flushed, or written with force unit
//! access, is there afterwards; other writes are there or not, block by block; nothing else ever is.
//!
//! A drive whose flush or durable write fails is lost, and may have lost what it had acknowledged before: an
//! array with redundancy goes on without it, any other writes nothing more ([`Core::unflushed`]). A drive
//! without protection information beside its blocks may return something wrong with success: a reader that
//! can tell asks for another copy ([`Mirror`]).

pub mod config;
pub mod core;
pub mod drives;
pub mod epoch;
mod figures;
pub mod fit;
pub mod heavy;
mod ids;
pub mod integrity;
pub mod layout;
pub mod log;
mod membership;
pub mod opening;
#[cfg(feature = "planted")]
pub mod planted;
#[cfg(not(feature = "planted"))]
mod planted;
pub mod raid;
pub mod reads;
pub mod record;
pub mod requests;
pub mod rig;
mod shape;
pub mod turns;

pub use config::{ArrayConfig, InPlaceChecksums, LayoutKind, Members, ReadPolicy};
pub use fit::TooSmall;
use ids::numbers;
pub use ids::{Column, DriveId, GroupId, RGroups};
pub use layout::{Condition, Layout};
pub use membership::{Stale, StaleCause};
pub use opening::{Consent, Found, OpenError, Opening};
pub use reads::MOST_COPIES;
pub use record::{MEMBERS_MAX, MemberId};

use self::core::Core;
use crate::Block;
use crate::disk::{Disk, Mirror, Request, Response};
use drives::{Answered, Owner, Presence};
use epoch::Epochs;
use heavy::EpochFigures;
use log::Log;
use raid::Raid;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::{Op, Status, Time};

/// An array of drives.
#[derive(Debug)]
pub struct Array<B: Block> {
    core: Core<B>,
    layout: Kind<B>,
    /// It has been ready once: from then on it takes requests, and writes wait for a record at their end.
    was_ready: bool,
    /// It was opened, and recovers when its record is on the drives.
    is_recovery_due: bool,
    /// What epochs did that does not count.
    epochs_before: EpochFigures,
}

/// The layouts.
#[derive(Debug)]
enum Kind<B: Block> {
    Raid(Box<Raid<B>>),
    Log(Box<Log<B>>),
    Epochs(Box<Epochs<B>>),
}

/// Calls the layout with the core.
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
    /// An array over blank drives that keeps no record on them: for runs that only want timing. `config` must
    /// be free of [`problems`](ArrayConfig::problems), and fit the drives ([`ArrayConfig::misfit`]).
    pub fn fresh(config: &ArrayConfig, disks: &[Disk]) -> Array<B> {
        let mut array = Array::new(Core::new(config, disks, None), true);
        array.core.drives.begin_checksums(Time::ZERO);
        array
    }

    /// A new array over drives whose content does not matter; its records carry `identity`, 128 random bits.
    /// It takes requests when [`Array::is_ready`].
    pub fn create(now: Time, config: &ArrayConfig, disks: &[Disk], identity: u128) -> Array<B> {
        let mut array = Array::new(Core::new(config, disks, Some(identity)), true);
        array.core.drives.begin_checksums(now);
        with!(array, layout, core => layout.create(now, core));
        array.core.write_record(now);
        array.settle(now);
        array
    }

    /// The array that `found` describes, over drives in the order that it gives. It recovers what
    /// a power cut may have left, and takes requests when [`Array::is_ready`]. Of `config` counts what
    /// can be chosen anew each time; what the array was made with stands in its record.
    pub fn open(now: Time, config: &ArrayConfig, disks: &[Disk], found: &Found) -> Array<B> {
        let core = Core::opened(config, disks, &found.record);
        let mut array = Array::new(core, false);
        // Which drives are missing must stand on the others before recovery writes anything without them.
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

    /// What it is to the host.
    pub fn disk(&self) -> Disk {
        let blocks = match &self.layout {
            Kind::Raid(raid) => raid.blocks(),
            Kind::Log(log) => log.blocks(),
            Kind::Epochs(epochs) => epochs.blocks(),
        };
        let (depth, copies) = (self.core.config.depth, self.core.reads.copies());
        Disk { blocks, depth, most_blocks: MOST_BLOCKS, volatile_cache: true, copies }
    }

    /// True when it takes requests: it has been written or recovered.
    pub fn is_ready(&self) -> bool {
        let is_ready = match &self.layout {
            Kind::Raid(raid) => raid.is_ready(),
            Kind::Log(log) => log.is_ready(),
            Kind::Epochs(epochs) => Layout::<B>::is_ready(&**epochs),
        };
        self.was_ready || is_ready && !self.is_recovery_due && self.core.is_recorded()
    }

    /// How it is. A drive that has been filled counts when the record says so.
    pub fn condition(&self) -> Condition {
        let condition = match &self.layout {
            Kind::Raid(raid) => raid.condition(&self.core),
            Kind::Log(log) => log.condition(&self.core),
            Kind::Epochs(epochs) => epochs.condition(&self.core),
        };
        if let (Some(drive), Condition::Optimal) = (self.core.unflushed(), &condition) {
            let why = format!(
                "drive {drive} could not be flushed: what was not durable before may be lost, and nothing more is \
                 written; check it, and open the array again"
            );
            return Condition::Failed { why };
        }
        condition.and_rebuilding(self.core.unrecorded())
    }

    /// What its layouts share, for figures.
    pub fn core(&self) -> &Core<B> {
        &self.core
    }

    /// The layout, if it writes in place: for what it has found and how far it has got.
    pub fn raid(&self) -> Option<&Raid<B>> {
        match &self.layout {
            Kind::Raid(raid) => Some(raid),
            Kind::Log(_) | Kind::Epochs(_) => None,
        }
    }

    /// Drives that were told their turns and do not know the call: they collect whenever they like, and reads
    /// do not go around them for it.
    pub fn without_turns(&self) -> usize {
        self.core.without_turns()
    }

    /// The layout, if it has epochs: for what it has found and how far it has got.
    pub fn epochs(&self) -> Option<&Epochs<B>> {
        match &self.layout {
            Kind::Epochs(epochs) => Some(epochs),
            _ => None,
        }
    }

    /// A request of the host.
    ///
    /// # Errors
    /// The request itself when the array has as many as it works on at a time, or is not ready yet: to be
    /// submitted again after an answer.
    pub fn submit(&mut self, now: Time, request: Request<B>) -> Result<(), Request<B>> {
        if self.core.requests.in_flight() >= self.core.config.depth || !self.is_ready() {
            return Err(request);
        }
        let end = request.block.checked_add(u64::from(request.blocks));
        let fits = request.op == Op::Flush
            || (request.blocks > 0 && end.is_some_and(|end| end <= self.disk().blocks));
        let fits = fits && self.has_copy(&request);
        let is_refused = self.core.unflushed().is_some() && request.op != Op::Read;
        let slot = self.core.requests.open(now, request);
        if is_refused {
            self.core.requests.fail(slot, Status::MediaError);
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

    /// True when what a request says of copies makes sense here.
    fn has_copy(&self, request: &Request<B>) -> bool {
        let is_there = |copy| request.op == Op::Read && copy < usize::from(self.core.reads.copies());
        let has_content =
            !matches!(request.mirror, Mirror::Repair(_)) || request.data.len() == request.blocks as usize;
        request.mirror.copy().is_none_or(is_there) && has_content
    }

    /// A drive has answered a request.
    pub fn answered(&mut self, now: Time, drive: DriveId, response: Response<B>) {
        let is_current = self.core.drives.is_current(response.id);
        let answer = self.core.drives.answered(now, drive, response);
        if is_current && self.is_failing(&answer) {
            self.lose(now, drive);
        } else if is_current && self.is_unflushed(&answer) {
            self.core.note_unflushed(drive);
        }
        self.route(now, answer);
        self.settle(now);
    }

    /// True when an answer says that its drive is of no use any more. One that does not take writes would
    /// fall behind; where nothing can stand in for it, it still serves reads.
    fn is_failing(&self, answer: &Answered<B>) -> bool {
        let refuses = matches!(answer.status, Status::WriteProtected | Status::MediaError);
        let is_redundant = self.core.config.layout.is_redundant();
        answer.status == Status::Gone || is_redundant && refuses && answer.op != Op::Read
    }

    /// True when an answer says that a drive may have lost what it has acknowledged before. A durable write
    /// that is refused for lack of room says nothing of that.
    fn is_unflushed(&self, answer: &Answered<B>) -> bool {
        let is_durable_write = answer.op == Op::Write && answer.fua;
        match answer.status {
            Status::Success => false,
            Status::WriteProtected | Status::InvalidField => answer.op == Op::Flush,
            _ => answer.op == Op::Flush || is_durable_write,
        }
    }

    /// A drive does not serve any more.
    fn lose(&mut self, now: Time, drive: DriveId) {
        if self.core.drives.presence(drive) == Presence::Missing {
            return;
        }
        self.core.drives.set_presence(drive, Presence::Missing);
        // First of all: nothing is acknowledged without the drive before the others know that it is gone.
        self.core.write_record(now);
        if !self.is_recovery_due {
            with!(self, layout, core => layout.drive_lost(now, core, drive));
        }
    }

    /// A drive is taken away: what it has not answered it never answers. The array goes on as if it had died.
    pub fn remove(&mut self, now: Time, drive: DriveId) {
        self.lose(now, drive);
        self.settle(now);
    }

    /// Whether a drive can take a place in it.
    ///
    /// # Errors
    /// [`TooSmall`], when it has fewer blocks than the array uses of each drive.
    pub fn fits(&self, disk: &Disk) -> Result<(), TooSmall> {
        let (blocks, needed) = (disk.blocks, self.core.drive_blocks());
        if blocks < needed { Err(TooSmall { blocks, needed }) } else { Ok(()) }
    }

    /// Gives a missing drive's place to another one, and begins to rebuild on it. The drive must hold nothing
    /// of an earlier life in this array: what it held as a member counts as content otherwise. `id` is 128
    /// random bits.
    ///
    /// # Errors
    /// See [`Array::fits`]; nothing has changed then.
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

    /// Begins to read all that is stored and to compare it with what it should be.
    pub fn scrub(&mut self, now: Time) {
        with!(self, layout, core => layout.scrub(now, core));
        self.settle(now);
    }

    fn route(&mut self, now: Time, answer: Answered<B>) {
        match answer.owner {
            Owner::Read { .. } => self.core.reads.answered(now, &mut self.core.drives, answer),
            Owner::Layout(token) => {
                with!(self, layout, core => layout.answered(now, core, token, answer));
            }
            Owner::Record => self.core.record_answered(now, answer),
            Owner::Integrity(life) => self.core.drives.checksums_answered(now, life, answer),
            Owner::Epoch(epoch) => {
                let core = &mut self.core;
                let tokens = core.tokens.as_mut().expect("they have epochs");
                tokens.flushed(now, &mut core.drives, answer.drive, epoch, answer.status);
                core.drives.recycle(answer.data);
            }
            Owner::Repair => self.core.drives.recycle(answer.data),
        }
    }

    /// Tells everybody what has come of the last step, until nothing more does.
    fn settle(&mut self, now: Time) {
        loop {
            if let Some(done) = self.core.reads.done() {
                with!(self, layout, core => layout.read_done(now, core, done));
            } else if let Some(answer) = self.core.drives.bounced() {
                self.route(now, answer);
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
            } else {
                self.was_ready = self.is_ready();
                return;
            }
        }
    }

    /// When it next has something to do by itself.
    pub fn next_event(&self) -> Time {
        if self.is_recovery_due {
            return Time::NEVER;
        }
        let layout = match &self.layout {
            Kind::Raid(raid) => raid.next_event(),
            Kind::Log(log) => log.next_event(),
            Kind::Epochs(epochs) => Layout::<B>::next_event(&**epochs),
        };
        let tokens = self.core.tokens.as_ref().map_or(Time::NEVER, |tokens| tokens.next_event());
        layout.min(self.core.reads.next_event()).min(tokens).min(self.core.drives.next_rest())
    }

    /// Nobody will write any more. What is known of blocks is written to the drives, so that it is known when
    /// the array is opened again; true when that has been done.
    pub fn come_to_rest(&mut self, now: Time) -> bool {
        self.core.drives.end_checksums(now);
        self.core.drives.integrity().is_none_or(integrity::Integrity::is_at_rest)
    }

    /// Does what is due.
    pub fn advance(&mut self, now: Time) {
        if self.is_recovery_due {
            return;
        }
        self.core.reads.advance(now, &mut self.core.drives);
        self.core.drives.rest(now);
        if let Some(tokens) = &mut self.core.tokens {
            tokens.advance(now, &mut self.core.drives);
        }
        with!(self, layout, core => layout.advance(now, core));
        self.settle(now);
    }

    /// Requests for the drives, to be handed over in this order.
    pub fn sent(&mut self) -> &mut Vec<(DriveId, Request<B>)> {
        self.core.drives.sent()
    }

    /// Calls of the drives' control interface, to be made in this order after the requests of
    /// [`Array::sent`]; what a drive does not know is no error.
    pub fn controls(&mut self) -> &mut Vec<(DriveId, Control)> {
        self.core.drives.controls()
    }

    /// A drive has replied to a call of its control interface. Every call is replied to;
    /// [`ControlReply::Unsupported`] where there is nobody to ask.
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

    /// Answers for the host.
    pub fn answers(&mut self) -> &mut Vec<Response<B>> {
        self.core.requests.answers()
    }
}

/// The most blocks of one request of the host: 32 MiB.
const MOST_BLOCKS: u32 = 8192;
