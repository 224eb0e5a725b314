//! Log layouts: Log-RAID and SWAN.
//!
//! All writes are appended to the open row of the front-end group, stripe by stripe, so each stripe is
//! written once and completely. A Log-RAID is a SWAN with one group, which is both written and collected.
//! `stream`, `collection` and `checkpoint` describe the order in which data becomes durable; `recovery`
//! describes replay after a power loss.

mod check;
mod checkpoint;
mod collection;
mod commit;
mod config;
mod descriptor;
mod epochs;
mod figures;
mod geometry;
mod host;
mod map;
mod open_row;
mod recovery;
mod rows;
mod scan;
mod second_look;
mod space;
mod stream;
mod token;

pub use checkpoint::is_header as is_checkpoint;
pub use config::{BlockChecksums, LogConfig, VictimChoice};
pub use figures::{Collected, GroupReads, LogFigures};
pub(super) use geometry::{fits, validation_error};
pub use recovery::RecoveryReport;
pub use scan::ScrubReport;
use tailcut_base::cast::{low_u32, low_u64};

use super::core::Core;
use super::drives::Answered;
use super::layout::{Condition, Layout};
use super::reads::{ReadResult, SealAge};
use super::requests::RequestSlot;
use crate::Block;
use crate::array::{DriveId, GroupId, numbers};
use checkpoint::Checkpoint;
use collection::Collection;
use commit::Waiter;
use epochs::Admission;
use geometry::Geometry;
use host::Runs;
use map::Map;
use open_row::{OpenRow, OpenRowId};
use recovery::Recovery;
use rows::Rows;
use scan::RowScan;
use space::Space;
use std::collections::VecDeque;
use stream::{HOST, MOVED, Stream};
use tailcut_base::ids::Pool;
use tailcut_base::random::mix64;
use tailcut_base::{Op, Status, Time};
use token::Token;

/// The layouts that write their data as a log: Log-RAID and SWAN.
#[derive(Debug)]
pub struct Log<B> {
    geometry: Geometry,
    map: Map,
    rows: Rows,
    /// Block of the host at each place plus 1, for arrays without superblocks, whose summaries cannot be read
    /// back.
    reverse: Option<Map>,
    /// Rows being written.
    open_rows: Pool<OpenRowId, OpenRow<B>>,
    streams: [Stream; 2],
    space: Space,
    /// Drives share tokens: writes are acknowledged in memory.
    has_tokens: bool,
    admission: Admission,
    collection: Collection<B>,
    runs: Runs,
    checkpoint: Checkpoint,
    /// Parts of requests that end without a completion from a drive.
    orphans: Vec<(RequestSlot, Status)>,
    figures: LogFigures,
    /// Rows collected since the list was last drained.
    recent: Vec<Collected>,
    array: u128,
    is_ready: bool,
    /// Collection is urgent: there is no room left.
    is_short: bool,
    /// Why nothing can be written any more.
    failed: Option<String>,
    /// The map is lost: nothing can be read either.
    is_lost: bool,
    recovery: Option<Box<Recovery<B>>>,
    recovery_report: Option<RecoveryReport>,
    /// The current scan of all rows, and those to follow.
    scan: Option<Box<RowScan<B>>>,
    to_rebuild: VecDeque<DriveId>,
    wants_scrub: bool,
    /// The scan waits for something other than time.
    scan_waits: bool,
    scrub_report: ScrubReport,
}

impl<B: Block> Log<B> {
    /// The layout of a new array, or of one about to be recovered.
    ///
    /// # Panics
    /// If the segments of all rows hold 2^40 blocks or more.
    pub fn new(core: &mut Core<B>, is_new: bool) -> Log<B> {
        if is_new {
            Log::fix_shape(core);
        }
        let geometry = Geometry::new(&core.config, core.usable().end);
        let drives = core.drives.len();
        if geometry.has_checksums() {
            core.reads.keep_checksums(drives, core.usable().end);
        }
        let config = &core.config.log;
        let places = u64::from(geometry.all_rows()) * u64::from(geometry.width * geometry.segment);
        assert!(places < 1 << 40, "a log of one array has at most 2^40 blocks");
        let every = u64::from(geometry.all_rows()) * u64::from(config.checkpoint_every) / 1_000_000;
        let is_durable = core.is_durable();
        let mut log = Log {
            map: Map::new(geometry.host_blocks),
            rows: Rows::new(&geometry, config.victim, config.victim_slack),
            reverse: (!is_durable).then(|| Map::new(places)),
            open_rows: Pool::new(),
            streams: [Stream::new(drives), Stream::new(drives)],
            space: Space::new(&geometry, config),
            has_tokens: core.tokens.is_some(),
            admission: Admission::new(core.config.epoch.cache, &geometry),
            collection: Collection::new(config.collect_victims),
            runs: Runs::new(drives),
            checkpoint: Checkpoint::new(drives, every),
            orphans: Vec::new(),
            figures: LogFigures::new(geometry.positions()),
            recent: Vec::new(),
            array: core.superblock().map_or(0, |superblock| superblock.array),
            is_ready: is_new && !is_durable,
            is_short: false,
            failed: None,
            is_lost: false,
            recovery: None,
            recovery_report: None,
            scan: None,
            to_rebuild: VecDeque::new(),
            wants_scrub: false,
            scan_waits: false,
            scrub_report: ScrubReport::default(),
            geometry,
        };
        if is_new {
            assert!(log.begin_streams(core), "a new log has free rows");
        }
        log
    }

    /// Puts the settings of a new log that never change into its superblock.
    fn fix_shape(core: &mut Core<B>) {
        let LogConfig { segment, spare, .. } = core.config.log;
        let has_checksums = core.config.log.has_checksums();
        let Some(superblock) = core.superblock() else { return };
        superblock.shape[..3].copy_from_slice(&[segment, u64::from(spare), u64::from(has_checksums)]);
    }

    /// Opens the first rows: that of the host in the front-end, that of moved blocks in the group collected
    /// first. False if no rows are free.
    fn begin_streams(&mut self, core: &mut Core<B>) -> bool {
        let front = self.space.front;
        let has_free = |group: &GroupId| self.rows.free(*group) > u32::from(*group == front);
        let Some(back) = self.geometry.groups_after(front).chain([front]).find(has_free) else {
            return false;
        };
        for (stream, group) in [(HOST, front), (MOVED, back)] {
            let Some(row) = self.rows.open(group) else { return false };
            self.begin_row(core, stream, row);
        }
        true
    }

    /// The seal age of blocks in a row of this age: distinct per array, so that blocks of different arrays
    /// are not mistaken for each other.
    fn age(&self, age: u32) -> SealAge {
        let of_array = low_u32(mix64(low_u64(self.array) ^ low_u64(self.array >> 64)));
        SealAge::new(u64::from(age ^ of_array))
    }

    /// Stops all writes: a drive that redundancy does not cover refuses them.
    fn fail(&mut self, drive: DriveId, status: Status) {
        if self.failed.is_none() {
            self.failed = Some(format!("drive {drive} does not take writes any more ({status})"));
        }
    }

    /// Counters of the log since the array was created or opened, and its free rows at the moment.
    pub fn figures(&self) -> LogFigures {
        let free_rows = self.geometry.group_ids().map(|group| self.rows.free(group)).collect();
        let (front, collecting) = (self.space.front.get(), self.space.collecting.map(GroupId::get));
        let mut figures = self.figures.clone();
        (figures.free_rows, figures.front, figures.collecting) = (free_rows, front, collecting);
        figures
    }

    /// Rows collected, in order; the caller drains the list. Beyond 4096 later ones are dropped.
    pub fn recent(&mut self) -> &mut Vec<Collected> {
        &mut self.recent
    }

    /// Result of recovery, if the array was opened.
    pub fn recovery_report(&self) -> Option<RecoveryReport> {
        self.recovery_report
    }

    /// Advances everything that may have become possible.
    fn go(&mut self, now: Time, core: &mut Core<B>) {
        if !self.is_ready {
            return self.end_recovery(now, core);
        }
        self.checkpoint_if_due(now, core);
        self.collect(now, core);
        self.walk(now, core);
        if self.has_unread_victim() {
            // The scan was the last reader, and nothing else may be in flight.
            self.collect(now, core);
        }
        for _ in 0..self.geometry.groups {
            let front = self.space.front;
            if !self.space.waiting.is_empty() {
                self.pump(now, core);
            }
            if self.space.front == front {
                return;
            }
            // The previous front-end may be collected now, or the next group must become the front-end.
            self.collect(now, core);
        }
    }

    fn missing(core: &Core<B>) -> Vec<DriveId> {
        core.drives.ids().filter(|&drive| !core.drives.is_present(drive)).collect()
    }
}

impl<B: Block> Layout<B> for Log<B> {
    fn blocks(&self) -> u64 {
        self.geometry.host_blocks
    }

    fn create(&mut self, now: Time, core: &mut Core<B>) {
        self.begin_checkpoint(now, core);
    }

    fn recover(&mut self, now: Time, core: &mut Core<B>) {
        self.begin_recovery(now, core);
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn condition(&self, core: &Core<B>) -> Condition {
        let missing = Log::missing(core);
        let is_beyond =
            |&drive: &DriveId| core.missing_beside(drive) > 1 || !core.config.layout.is_redundant();
        if let Some(why) = &self.failed {
            return Condition::Failed { why: why.clone() };
        }
        if missing.iter().any(is_beyond) {
            return Condition::Failed {
                why: format!("drives {:?} are missing: find them", numbers(&missing)),
            };
        }
        let rebuilding: Vec<DriveId> = (core.drives.ids())
            .filter(|&drive| core.drives.is_present(drive) && !core.drives.is_in_sync(drive))
            .collect();
        if missing.is_empty() && rebuilding.is_empty() {
            return Condition::Optimal;
        }
        Condition::Degraded { missing, rebuilding }
    }

    fn submit(&mut self, now: Time, core: &mut Core<B>, slot: RequestSlot) {
        if self.is_lost {
            core.requests.fail(slot, Status::MediaError);
            return core.finish(now, slot);
        }
        match core.requests.get(slot).op {
            Op::Read => self.read_blocks(now, core, slot),
            _ if self.open_rows.is_empty() => {
                core.requests.fail(slot, Status::WriteProtected);
                core.finish(now, slot);
            }
            Op::Write | Op::Trim => {
                self.enqueue(now, core, slot);
                self.go(now, core);
            }
            Op::Flush => {
                core.requests.expect(slot, 1);
                self.commit(now, core, HOST, Waiter::Host(slot));
            }
        }
    }

    fn read_done(&mut self, now: Time, core: &mut Core<B>, done: &mut ReadResult<B>) {
        if done.damaged {
            self.repair(now, core, done);
        }
        match Token::from(done.wanted.token) {
            Token::Run(run) => self.run_read(now, core, run, done),
            Token::Summary { job, k } => self.summary_read(job as usize, u32::from(k), done),
            Token::Valid { job } => self.valid_read(now, core, job as usize, done),
            Token::Recovery(at) => self.scanned(now, core, at, done),
            Token::Scrub(part) => self.part_read(now, core, part as usize, done),
            token => unreachable!("{token:?} reads nothing"),
        }
        self.go(now, core);
    }

    fn answered(&mut self, now: Time, core: &mut Core<B>, token: u64, answer: &Answered<B>) {
        match Token::from(token) {
            Token::Append { open_row, column } => self.appended(now, core, open_row, column, answer),
            Token::Flush { stream } => self.flushed(now, core, stream as usize, answer),
            Token::Trimmed { job } => self.trimmed(job as usize),
            Token::Checkpoint => self.checkpoint_answered(now, core, answer),
            Token::Repaired { row } => {
                self.rows.get_mut(row).readers -= 1;
                if let Some(recovery) = &mut self.recovery {
                    recovery.repairs -= 1;
                }
            }
            Token::Recovery(what) => self.raw_read(now, core, what, answer),
            Token::Rebuild => self.scan_answered(now, core, answer),
            token => unreachable!("{token:?} asks nothing"),
        }
        self.go(now, core);
    }

    fn may_write(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.send_to(now, core, drive);
        self.go(now, core);
    }

    fn drive_lost(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        if !stream::can_do_without(core, drive) {
            self.fail(drive, Status::Gone);
        }
        if self.open_rows.is_empty() {
            return;
        }
        self.stop_rebuild(drive);
        self.leave_out(now, core, drive);
        self.commit_on(now, core, HOST);
        self.commit_on(now, core, MOVED);
        self.go(now, core);
    }

    fn recorded(&mut self, _: Time, _: &mut Core<B>) {}

    fn rebuild(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        self.begin_rebuild(drive);
        self.go(now, core);
    }

    fn scrub(&mut self, now: Time, core: &mut Core<B>) {
        self.begin_scrub();
        self.go(now, core);
    }

    fn next_event(&self) -> Time {
        self.scan_at().min(self.next_admission())
    }

    fn advance(&mut self, now: Time, core: &mut Core<B>) {
        if self.scan_at().min(self.next_admission()) <= now {
            self.go(now, core);
        }
    }
}
