//! The array in a report.

use super::Lifetime;
use crate::array::incidents::Begun;
use crate::scenario::Scenario;
use crate::storage::Storage;
use crate::world::World;
use serde::{Deserialize, Serialize};
use tailcut_base::{Op, Time};
use tailcut_host::array::log::{GroupReads, LogFigures};
use tailcut_host::array::token_scheduling::EpochFigures;
use tailcut_host::array::{Array, Members};
use tailcut_host::{BLOCK_BYTES, Fingerprint};
use tailcut_ssd::{Figures, SsdConfig};

/// The statistics of an array. Counts of reads include those of preparation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayReport {
    /// Name of the layout of data on the members, as in `array.layout`.
    pub layout: String,
    /// Number of R-groups, or of token groups of epochs; 1 for other layouts.
    pub groups: u32,
    /// Number of members: drives, or NVM sets of one drive.
    pub drives: u32,
    /// Whether the members are the NVM sets of one drive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over_sets: bool,
    /// When the sources that count began, in ns since the start of preparation.
    pub prepared_ns: u64,
    /// Reads of stored blocks that the layout asked for.
    pub reads: u64,
    /// Reads reconstructed because the array knew that their drive was busy.
    pub steered: u64,
    /// Reads that their drive would rather not have served at once.
    pub contended: u64,
    /// Reads reconstructed because their drive was slow.
    pub hedged: u64,
    /// Reads reconstructed because their drive was missing or gave an error.
    pub degraded: u64,
    /// Drives that were told when to collect and do not know the call.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_turns: u32,
    /// Bytes of flash used up on all drives for each byte that the host wrote in the measurement: redundancy,
    /// descriptors, and collection by the array and by the drives. Unknown where the host wrote nothing, and
    /// behind a key-value server.
    #[serde(default)]
    pub write_amplification: Option<f64>,
    /// What the log has done; only of layouts that write one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogReport>,
    /// What the epochs have done; only of layouts with tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<EpochReport>,
    /// What happened to the drives, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<IncidentReport>,
    /// The statistics of each member, in the order of their numbers.
    pub members: Vec<MemberReport>,
}

/// An incident of a run (`array.incidents`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentReport {
    incident: String,
    at_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_work: bool,
}

impl IncidentReport {
    fn new(begun: &Begun, prepared: Time) -> IncidentReport {
        IncidentReport {
            incident: begun.incident().to_string(),
            at_ns: begun.at().since(prepared).0,
            took_ns: begun.took().map(|took| took.0),
            has_work: begun.has_work(),
        }
    }

    /// What happened, in the words of the schedule, such as `remove 1`.
    pub fn incident(&self) -> &str {
        &self.incident
    }

    /// When it began, in ns since the measured sources began.
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// Time of the rebuild of the drive that came back, or of the scrub, in ns; `None` for incidents without
    /// such work, and if the run ended before.
    pub fn took_ns(&self) -> Option<u64> {
        self.took_ns
    }

    /// True if a rebuild or a scrub has begun for it: none does while a drive is missing.
    pub fn has_work(&self) -> bool {
        self.has_work
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The statistics of an array's epochs since it was prepared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// Number of epochs that began.
    pub epochs: u64,
    /// Length of the longest epoch in ns.
    pub longest_ns: u64,
    /// Blocks written to drives; each copy counts.
    pub written: u64,
    /// Copies that were not written because a newer write had come.
    pub superseded: u64,
    /// Blocks of descriptors written to drives.
    pub descriptors: u64,
    /// Blocks of reads answered from the cache.
    pub from_cache: u64,
    /// Reads that went to the copy on a drive without the token.
    pub diverted: u64,
    /// Reads that had to go to a drive with the token.
    pub met: u64,
    /// Writes that waited for room in the cache or the lines.
    pub throttled: u64,
    /// The longest time that a copy waited for the token, in ns.
    pub longest_wait_ns: u64,
    /// Copies that waited for longer than the deadline.
    pub late: u64,
    /// Number of times that a drive with the token was found collecting after it had been told to.
    pub collections: u64,
    /// How often the token passed on although a drive had not quiesced.
    pub restless: u64,
    /// What drives did with the token, in ns of all of them together.
    #[serde(default)]
    pub stages: StageReport,
    /// Drives that do not know the control interface, where it was to be used.
    pub without_control: u32,
}

/// What drives did while they had the token, in ns; sums over all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReport {
    /// Time in which drives answered the reads that they had received before the token.
    pub draining_ns: u64,
    /// Time in which drives were written to.
    pub writing_ns: u64,
    /// Time in which drives were flushed.
    pub flushing_ns: u64,
    /// Time in which drives collected garbage.
    pub collecting_ns: u64,
    /// Time in which drives were quiescing before the token passed on.
    pub settling_ns: u64,
    /// Time in which drives had nothing more to do while others of their group did.
    pub waiting_ns: u64,
}

/// The statistics of an array's log, including preparation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogReport {
    /// Bytes that the host wrote to the log.
    pub host_bytes: u64,
    /// Blocks that collection moved for each that the host wrote. Limit: 0.
    pub moved: f64,
    /// Descriptors, padding and checkpoints for each block that the host wrote. Limit: 0.
    pub overhead: f64,
    /// Rows of segments that collection has emptied.
    pub rows_collected: u64,
    /// Mean share of valid blocks in the rows that were collected, 0 … 1.
    pub victim_utilisation: f64,
    /// Rows of each R-group that are free at the end.
    pub free_rows: Vec<u32>,
    /// Number of times that the front end passed on to another R-group.
    pub rotations: u64,
    /// Requests that were held back because collection could not keep up.
    pub throttled: u64,
    /// Reads by the state of the R-group that they went to.
    pub reads: Vec<GroupReport>,
}

/// Reads of R-groups in one state (SWAN, table 4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// The state: front end, idle, collecting.
    pub state: String,
    /// Number of reads from R-groups in this state.
    pub reads: u64,
    /// Mean time of these reads in the array, in ns; 0 if there were none.
    pub mean_ns: f64,
}

/// One drive of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberReport {
    /// Bytes per second that the array wrote to the drive, in whole pages.
    pub written_per_s: f64,
    /// Read commands per second that the drive completed.
    pub reads_per_s: f64,
    /// Pages programmed for each page that the array's data needed.
    pub write_amplification: Option<f64>,
    /// Share of the time of the drive's ready/busy lines during which a transaction held them, 0 … 1.
    pub chip_utilisation: f64,
    /// Blocks of the drive that were erased in the measurement.
    pub erases: u64,
    /// Years that it lasts at the measured rate; see [`Lifetime`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub years: Option<f64>,
}

impl ArrayReport {
    pub(super) fn new<S: Storage>(
        scenario: &Scenario,
        world: &World<S>,
        array: &Array<Fingerprint>,
        figures: &[Figures],
    ) -> ArrayReport {
        let seconds = world.stats.elapsed().as_secs_f64();
        let (_, written) = world.stats.op(Op::Write).ended();
        let used: u64 = figures.iter().map(Figures::pages_used).sum();
        let used_bytes = used as f64 * scenario.device.geometry.page_bytes as f64;
        let is_known = written > 0 && world.device.kv_figures().is_none();
        let reads = array.core().reads.counts();
        ArrayReport {
            layout: scenario.array.layout.to_string(),
            groups: scenario.array.groups,
            drives: scenario.array.drives,
            over_sets: scenario.array.members == Members::Sets,
            prepared_ns: world.prepared().map_or(0, |at| at.0),
            reads: reads.begun,
            steered: reads.steered,
            contended: reads.contended,
            hedged: reads.hedged,
            degraded: reads.degraded,
            write_amplification: is_known.then(|| used_bytes / written as f64),
            without_turns: array.without_turns() as u32,
            log: array.log_figures().map(|figures| LogReport::new(&figures)),
            epochs: array.epoch_figures().map(|figures| EpochReport::new(&figures)),
            incidents: {
                let prepared = world.prepared().unwrap_or(Time::ZERO);
                world.device.incidents().iter().map(|begun| IncidentReport::new(begun, prepared)).collect()
            },
            members: figures.iter().map(|f| MemberReport::new(&scenario.device, f, seconds)).collect(),
        }
    }
}

impl EpochReport {
    fn new(figures: &EpochFigures) -> EpochReport {
        EpochReport {
            epochs: figures.epochs,
            longest_ns: figures.longest_epoch.0,
            written: figures.written,
            superseded: figures.superseded,
            descriptors: figures.descriptors,
            from_cache: figures.from_cache,
            diverted: figures.diverted,
            met: figures.met,
            throttled: figures.throttled,
            longest_wait_ns: figures.longest_wait.0,
            late: figures.late,
            collections: figures.collections,
            restless: figures.restless,
            stages: StageReport::new(figures),
            without_control: figures.without_control,
        }
    }
}

impl StageReport {
    fn new(figures: &EpochFigures) -> StageReport {
        let times = &figures.times;
        StageReport {
            draining_ns: times.draining.0,
            writing_ns: times.writing.0,
            flushing_ns: times.flushing.0,
            collecting_ns: times.collecting.0,
            settling_ns: times.settling.0,
            waiting_ns: figures.waiting.0,
        }
    }
}

impl LogReport {
    fn new(figures: &LogFigures) -> LogReport {
        let host = figures.host_blocks.max(1) as f64;
        let overhead = figures.descriptors + figures.padding + figures.checkpoint_blocks;
        let group = |state: &str, reads: &GroupReads| GroupReport {
            state: state.into(),
            reads: reads.reads,
            mean_ns: reads.time.0 as f64 / reads.reads.max(1) as f64,
        };
        LogReport {
            host_bytes: figures.host_blocks * BLOCK_BYTES,
            moved: figures.moved_blocks as f64 / host,
            overhead: overhead as f64 / host,
            rows_collected: figures.rows_collected,
            victim_utilisation: figures.victim_utilisation(),
            free_rows: figures.free_rows.clone(),
            rotations: figures.rotations,
            throttled: figures.throttled,
            reads: vec![
                group("front end", &figures.reads_front),
                group("idle", &figures.reads_idle),
                group("collecting", &figures.reads_collecting),
            ],
        }
    }
}

impl MemberReport {
    fn new(config: &SsdConfig, figures: &Figures, seconds: f64) -> MemberReport {
        let per_s = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let page_bytes = config.geometry.page_bytes as f64;
        MemberReport {
            written_per_s: per_s(figures.counts.host_pages_written as f64 * page_bytes),
            reads_per_s: per_s(figures.counts.host_reads as f64),
            write_amplification: figures.defined_write_amplification(),
            chip_utilisation: figures.lun_utilisation(),
            erases: figures.counts.erases,
            // A lifetime in years does not depend on the capacity that the host sees.
            years: Lifetime::new(config, figures, 1, seconds).years,
        }
    }
}
