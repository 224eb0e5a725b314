//! The actions of a run, step by step, as text that a person can read, change and run again.
//!
//! A plan is a list of statements, one in a line or separated by semicolons; `#` begins a comment.
//! The first ones are settings, `key=value`; the others are steps in their order:
//!
//! | step | meaning |
//! | --- | --- |
//! | `write B+N`, `write B+N fua` | write N blocks from B on |
//! | `read B+N`, `trim B+N`, `trim B+N fua`, `flush` | the other requests of a host |
//! | `wait` | go on when everything is answered |
//! | `kill D` and other [faults](super::fault::FaultKind) | something goes wrong with drive D |
//! | `return D P` | with the next power, a drive that was replaced is back in place D instead of its successor |
//! | `halves D P` | the next power finds a part of the drives, D among them; the one after that the others; the third all |
//! | `replace` | a missing drive gets a blank one in its place, when it is known to be missing |
//! | `scrub` | everything is read and compared |
//! | `rest` | go on when nothing is under way: neither requests, nor rebuilds and scrubs, nor power cuts |
//! | `cut N`, `cut N again M L` | the power goes N events later; and again M and L events after it has come back |
//! | `cut N after W superblock`, `... checkpoint` | the power goes N events after the Wth write of a superblock, or of the header of a checkpoint, from now on |
//!
//! Blocks count modulo the blocks that there are, drives modulo the drives: so a plan that has been made
//! smaller still means something.

mod text;

use super::drive::Backend;
use super::fault::Fault;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::log::BlockChecksums;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{ArrayConfig, InPlaceChecksums, LayoutKind, MOST_COPIES, ReadPolicy};
use tailcut_host::disk::{BLOCK_BYTES, Disk};

tailcut_base::choice! {
    /// What is tortured.
    pub enum SubjectKind {
        /// An array of drives.
        Arrays = "arrays",
        /// The key-value engine, over an array or a drive.
        Kv = "kv",
        /// The block server's connections, over an array or a drive.
        Block = "block",
        /// A drive by itself, which is an SSD.
        Ssd = "ssd",
    }
}

tailcut_base::choice! {
    /// What a key-value engine keeps, and when it writes that to its log.
    pub enum KvKeep {
        /// Everything, at once.
        Store = "store",
        /// What is used; what leaves memory is written.
        Cache = "cache",
        /// What is used; everything is written at once.
        CacheAtOnce = "cache-at-once",
    }
}

tailcut_base::choice! {
    /// Metadata whose writes a power cut can wait for.
    pub enum Metadata {
        /// What says which drives are an array: the first blocks of each drive. Of a key-value engine on a
        /// drive by itself, the store's superblocks, which are in the same place.
        Superblock = "superblock",
        /// The header of a checkpoint; of layouts that write a log.
        Checkpoint = "checkpoint",
    }
}

/// The actions and the configuration of a run.
///
/// # Examples
/// ```
/// use tailcut_torture::{Plan, run, seeds};
///
/// let plan = seeds::target("raid5").expect("a layout").plan(1);
/// // The text of a plan is the plan.
/// assert_eq!(plan.in_line().parse::<Plan>().expect("it can be read"), plan);
/// assert_eq!(run(&plan, None, None).wrong, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is tortured: an array, the key-value engine, the block server or a drive.
    pub subject: SubjectKind,
    /// It stands on an array; otherwise on a drive by itself. Of a key-value engine and a block server.
    pub has_array: bool,
    /// Maximum number of keys; fewer where they would fill more than a third of the log.
    pub keys: u64,
    /// Which items are kept; of a key-value engine.
    pub keep: KvKeep,
    /// Maximum length of an item with its key and header, in bytes.
    pub item: u32,
    /// Blocks of a segment of a key-value engine.
    pub kv_segment: u32,
    /// Threads of a key-value server, which share one shard less than they are, and at least one; 0 for the
    /// engine by itself.
    pub threads: u32,
    /// Bytes of a block of the host, several of which share a block of the drive; of a block server.
    pub cell: u32,
    /// Number of connections to a block server.
    pub connections: u32,
    /// Seed of the decisions of drives: times, order, and what a power cut leaves.
    pub seed: u64,
    /// Layout of the data on the drives.
    pub layout: LayoutKind,
    /// Number of drives of the array.
    pub drives: u32,
    /// Number of R-groups, or of token groups of epochs.
    pub groups: u32,
    /// Copies of each block; of epochs.
    pub copies: u32,
    /// Number of blocks of a drive.
    pub blocks: u64,
    /// Maximum number of blocks of a command to a drive.
    pub most: u32,
    /// Whether drives acknowledge writes before they are durable.
    pub cache: bool,
    /// What times and failures of drives come from.
    pub backend: Backend,
    /// The drive whose flash fails; of drives that are SSDs. Another that takes its place is sound.
    pub weak: Option<u32>,
    /// The chance that a program or an erase of that drive fails, in parts per million.
    pub fail: u32,
    /// The chance that a drive refuses a read that may be refused, in parts per million; where times are
    /// drawn.
    pub busy: u32,
    /// The shortest and the longest time of a command, in ns; where times are drawn.
    pub latency: (u64, u64),
    /// Blocks of a chunk; of layouts that write in place.
    pub chunk: u64,
    /// The protection against the write hole; of layouts that write in place, with parity.
    pub write_hole: WriteHole,
    /// Blocks of the journal on each drive.
    pub journal: u64,
    /// Blocks of a segment; of layouts that write a log.
    pub segment: u64,
    /// Reads of collection in flight for one victim; of layouts that write a log.
    pub collect: u32,
    /// Share of the rows after whose writing the map is written, in parts per million; of layouts that
    /// write a log.
    pub checkpoint: u32,
    /// One drive of a group at a time is written; of layouts that write a log.
    pub tokens: bool,
    /// Drives have protection information: what they return wrongly is known to be wrong. Without it, arrays
    /// keep block checksums, unless a key-value engine on epochs does.
    pub sealed: bool,
    /// Blocks that may be dirty; of epochs, and of logs with tokens.
    pub dirty: u64,
    /// How long a write rests in the cache, and the longest time that it waits for the token, in ns;
    /// likewise.
    pub waits: (u64, u64),
    /// How reads are kept from meeting a drive's own work; likewise.
    pub mode: EpochMode,
    /// Whether drives support the calls of the control interface.
    pub control: bool,
    /// Maximum number of requests that the array works on at a time.
    pub depth: u32,
    /// Maximum number of requests in flight on a drive.
    pub drive_depth: u32,
    /// Number of requests that the host keeps in flight.
    pub queue: u32,
    /// Which reads avoid a drive and are reconstructed.
    pub reads: ReadPolicy,
    /// When a read becomes slow, in ns; 0 for never.
    pub slow_after: u64,
    /// The actions of the run, in order.
    pub steps: Vec<Step>,
}

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A request of the host.
    Io {
        /// What for.
        op: Op,
        /// First block.
        block: u64,
        /// Number of blocks; 0 for a flush.
        blocks: u32,
        /// Of a write: force unit access.
        fua: bool,
    },
    /// Everything is answered before the next step.
    Wait,
    /// A fault occurs.
    Fault(Fault),
    /// Drives that are missing are replaced.
    Replace,
    /// Everything is read and compared.
    Scrub,
    /// Nothing is under way before the next step, nor will be.
    Rest,
    /// The power is cut.
    Cut {
        /// Events from now to the cut.
        after: u32,
        /// Further cuts, each in events after the power has come back.
        again: Vec<u32>,
    },
    /// The power goes when metadata has been written.
    CutAfter {
        /// The kind of metadata.
        what: Metadata,
        /// The write of it that counts, from 1.
        writes: u32,
        /// Events after that write was sent to its drive.
        after: u32,
    },
}

/// Why the text of a plan is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("statement {number} of the plan, '{statement}': {message}")]
pub struct PlanError {
    /// Number of the statement in the plan, from 1.
    pub number: usize,
    /// The text of the statement.
    pub statement: String,
    /// What would be right in place of the statement.
    pub message: String,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            subject: SubjectKind::Arrays,
            has_array: true,
            keys: 40,
            keep: KvKeep::Store,
            item: 4608,
            kv_segment: 8,
            threads: 0,
            cell: 512,
            connections: 2,
            seed: 1,
            layout: LayoutKind::Raid0,
            drives: 2,
            groups: 1,
            copies: 2,
            blocks: 256,
            most: 32,
            cache: true,
            backend: Backend::Model,
            weak: None,
            fail: 20_000,
            busy: 0,
            latency: (20_000, 100_000),
            chunk: 2,
            write_hole: WriteHole::Journal,
            journal: 24,
            segment: 16,
            collect: 32,
            checkpoint: 125_000,
            tokens: false,
            sealed: true,
            dirty: 24,
            waits: (200_000, 20_000_000),
            mode: EpochMode::Epoch,
            control: false,
            depth: 16,
            drive_depth: 8,
            queue: 4,
            reads: ReadPolicy::Direct,
            slow_after: 0,
            steps: Vec::new(),
        }
    }
}

impl Plan {
    /// The configuration of the array that the plan describes.
    pub fn array(&self) -> ArrayConfig {
        let mut config = ArrayConfig {
            drives: self.drives,
            layout: self.layout,
            groups: self.groups,
            depth: self.depth,
            drive_depth: self.drive_depth,
            reads: self.reads,
            slow_after: Nanos(self.slow_after),
            ..ArrayConfig::default()
        };
        config.raid.chunk = self.chunk * BLOCK_BYTES;
        config.raid.write_hole = self.write_hole;
        config.raid.journal = self.journal * BLOCK_BYTES;
        config.epoch.copies = self.copies;
        config.epoch.chunk = self.chunk * BLOCK_BYTES;
        config.epoch.cache = self.dirty * BLOCK_BYTES;
        (config.epoch.delay, config.epoch.deadline) = (Nanos(self.waits.0), Nanos(self.waits.1));
        config.epoch.mode = self.mode;
        config.log.segment = self.segment * BLOCK_BYTES;
        config.log.tokens = self.tokens;
        if !self.sealed && !self.layout.is_in_place() {
            config.log.checksums = BlockChecksums::On;
        } else if !self.sealed && !self.is_store_on_copies() {
            (config.checksums, config.checksums_idle) = (InPlaceChecksums::On, CHECKSUMS_IDLE);
        }
        (config.log.collect_depth, config.log.checkpoint_every) = (self.collect, self.checkpoint);
        config
    }

    /// Shards of a key-value store.
    pub fn shards(&self) -> u32 {
        self.threads.saturating_sub(1).max(1)
    }

    /// Only the store's own checksums identify the right copy.
    fn is_store_on_copies(&self) -> bool {
        self.subject == SubjectKind::Kv && self.has_array && self.layout.is_mirrored()
    }

    /// What does not fit together in what stands on an array or a drive.
    fn problem_of_subject(&self) -> Option<String> {
        let is_drive = self.layout == LayoutKind::Raid0 && self.drives == 1;
        if !self.has_array && (!is_drive || self.subject == SubjectKind::Arrays) {
            return Some(
                "array=no is one drive below subject=kv, block or ssd: layout=raid0 drives=1".into(),
            );
        }
        let is_ssd = !self.has_array && self.backend == Backend::SsdContent;
        if self.subject == SubjectKind::Ssd && !is_ssd {
            return Some(
                "subject=ssd is a drive by itself with its content: array=no drive=ssd-content".into(),
            );
        }
        let is_cell = self.cell.is_power_of_two() && (512..=4096).contains(&self.cell);
        if !is_cell || !(1..=64).contains(&self.connections) {
            return Some("cell is 512, 1024, 2048 or 4096, and connections 1 to 64".into());
        }
        if self.threads > THREADS_MOST || self.drive_depth < self.shards() {
            return Some(format!("threads is at most {THREADS_MOST}, and drive_depth at least one less"));
        }
        let is_segment = (4..=4096).contains(&self.kv_segment);
        let most = self.kv_segment.saturating_mul(BLOCK_BYTES as u32 / 2);
        if self.keys == 0 || !is_segment || !(ITEM_LEAST..=most).contains(&self.item) {
            return Some(format!(
                "keys is at least 1, kv_segment 4 to 4096, and item {ITEM_LEAST} bytes to half a segment"
            ));
        }
        None
    }

    /// What does not fit together.
    pub fn problem(&self) -> Option<String> {
        if let Some(message) = self.problem_of_subject() {
            return Some(message);
        }
        let (least, most) = self.latency;
        let counts = [self.depth, self.drive_depth, self.queue, self.drives, self.most, self.collect];
        if counts.contains(&0) || self.chunk == 0 || self.segment == 0 {
            return Some(
                "depth, drive_depth, queue, drives, most, collect, chunk and segment are at least 1".into(),
            );
        }
        if !self.layout.is_in_place() && self.segment < SEGMENT_LEAST {
            return Some(format!("segment is at least {SEGMENT_LEAST} blocks"));
        }
        let has_checksums = self.has_array && (self.layout.is_in_place() || self.layout.has_parity());
        if !self.sealed && !has_checksums {
            return Some("sealed=no is for arrays with checksums: any layout but log-raid0 and swan0".into());
        }
        if self.busy > BUSY_MOST {
            return Some(format!(
                "busy is the chance of a refusal in parts per million, at most {BUSY_MOST}"
            ));
        }
        if self.dirty == 0 {
            return Some("dirty is at least 1".into());
        }
        if least == 0 || least > most {
            return Some("latency is LEAST..MOST in ns, with 1 <= LEAST <= MOST".into());
        }
        if self.blocks > 1 << 20 {
            return Some("blocks is the size of a drive, at most 1048576".into());
        }
        if let Some(message) = self.problem_of_weakness() {
            return Some(message);
        }
        if !(2..=MOST_COPIES as u32).contains(&self.copies) {
            return Some(format!("copies is 2 to {MOST_COPIES}"));
        }
        if !self.has_array {
            return None;
        }
        let (blocks, depth, most_blocks) = (self.blocks, self.drive_depth, self.most);
        let disk = Disk { blocks, depth, most_blocks, volatile_cache: self.cache, copies: 1, handles: 1 };
        let (config, validation_error) =
            (self.array(), |config: &ArrayConfig| config.validation_error(&[disk]));
        let problem = config.problems().into_iter().next().or_else(|| validation_error(&config));
        problem.map(|(key, message)| format!("{key}: {message}"))
    }

    fn problem_of_weakness(&self) -> Option<String> {
        let weak = self.weak?;
        if self.backend != Backend::Ssd || weak >= self.drives {
            return Some("weak is one of the drives, which are to be SSDs: drive=ssd".into());
        }
        if self.fail > FAIL_MOST {
            return Some(format!(
                "fail is the chance of a failure in parts per million, at most {FAIL_MOST}"
            ));
        }
        if !self.layout.is_redundant() {
            return Some(format!("{} has no drive to spare: weak=none", self.layout));
        }
        let is_either = self.layout.is_in_place() && self.write_hole == WriteHole::Resync;
        let message = "with write_hole=resync there are faults or power cuts, not both: weak=none, or no cut";
        (is_either && self.cuts() > 0).then(|| message.into())
    }

    /// Number of power cuts in the plan.
    pub fn cuts(&self) -> usize {
        let of = |step: &Step| match step {
            Step::Cut { again, .. } => 1 + again.len(),
            Step::CutAfter { .. } => 1,
            _ => 0,
        };
        self.steps.iter().map(of).sum()
    }

    /// All in one line, for a command line.
    pub fn in_line(&self) -> String {
        self.to_string().trim_end().replace('\n', "; ")
    }
}

/// The highest chance of a program to fail: beyond, hardly anything is ever stored.
const FAIL_MOST: u32 = 200_000;

/// Checksums in place are written to drives after so long: several times in most plans.
const CHECKSUMS_IDLE: Nanos = Nanos::millis(1);

/// The highest chance of a refusal.
const BUSY_MOST: u32 = 900_000;

/// A shorter item of a key-value engine has no room for its key and a version number.
const ITEM_LEAST: u32 = 512;

/// The most threads of a key-value server.
const THREADS_MOST: u32 = 8;

/// Fewer blocks have no room for data beside what describes it.
const SEGMENT_LEAST: u64 = 8;
