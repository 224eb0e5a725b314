//! The drive in a report.

use super::lifetime::{Lifetime, lasting_erases};
use super::{Demand, Resource, limits};
use serde::{Deserialize, Serialize};
use tailcut_base::fdp::{GroupId, HandleId, PlacementId};
use tailcut_base::{Device, SECTOR_BYTES};
use tailcut_ssd::config::CommitPolicy;
use tailcut_ssd::holder::Holder;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{Breakdown, CacheCounts, Figures, HandleFigures, Probe, Ssd};

/// The statistics of a drive during the measurement. Utilisations are shares, 0 … 1, of the time of all
/// parts of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveReport {
    /// Pages programmed for each page that the host's data needed. Limit: 1.
    pub write_amplification: Option<f64>,
    /// Pages programmed, for the host and for collection.
    pub programs: Programs,
    /// Blocks erased in the measurement, without erases that were reset.
    pub erases: u64,
    /// Erases for the host's pages in the long run, at the copies of a victim that were measured.
    pub erases_least: f64,
    /// Victims that collection began to empty, for any purpose.
    pub collections: u64,
    /// Blocks emptied by wear levelling; part of `collections`.
    pub levelled: u64,
    /// Emptied blocks that could not wait for a window of collection. Limit: 0.
    pub forced_collections: u64,
    /// Reads that have failed rather than wait for the drive.
    pub contended_reads: u64,
    /// Page programs and block erases that failed.
    pub failures: u64,
    /// Blocks that went bad in the measurement; without those that were bad from the factory.
    pub bad_blocks: u64,
    /// Erases per block since the drive was made; limit of the spread: 0.
    pub wear: Wear,
    /// How long the drive would last.
    pub lifetime: Lifetime,
    /// Programs and erases that were suspended or reset for reads.
    pub preemptions: Preemptions,
    /// Queued programs that moved from a busy chip to an idle one.
    pub levelled_queues: u64,
    /// Reads of garbage collection that a read of the host for the same page has spared.
    pub merged_reads: u64,
    /// The least work of each resource of this drive.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// Share of the time of ready/busy lines during which a transaction held them.
    pub chip_utilisation: f64,
    /// Share of the time of ready/busy lines by what held them, with its name.
    pub chip_time: Vec<(String, f64)>,
    /// Where the time of ready/busy lines went.
    pub breakdown: TimeBreakdown,
    /// Share of the time of ready/busy lines, with a command in the drive, in which no transaction held them.
    pub inter_chip_idleness: f64,
    /// The least inter-chip idleness: the same transactions without a pause of the busiest resource.
    pub inter_chip_idleness_least: f64,
    /// Time of places of held ready/busy lines during which their cells were not at work.
    pub intra_chip_idleness: f64,
    /// The least intra-chip idleness: full transactions that wait for no bus.
    pub intra_chip_idleness_least: f64,
    /// Share of the time of dies during which their cells were at work.
    pub die_utilisation: f64,
    /// What that would have been, had every transaction used all planes of a die.
    pub die_least: f64,
    /// Share of the time of planes during which their cells were at work.
    pub plane_utilisation: f64,
    /// Share of the time of channels during which their bus was in use.
    pub bus_utilisation: f64,
    /// Share of the time during which the link was in use, to the host and to the drive.
    pub link_utilisation: [f64; 2],
    /// Number of transactions of each kind, and of the memory requests that they served.
    pub transactions: Vec<Transactions>,
    /// Transactions of one memory request, of several planes, of several dies, of both (the
    /// parallelism that Sprinkler calls NON-PAL, PAL1, PAL2 and PAL3).
    pub parallelism: [u64; 4],
    /// The shares of memory requests that these transactions served.
    pub parallelism_shares: [f64; 4],
    /// Transactions saved by serving several memory requests in one: a share of memory requests.
    pub transaction_reduction: f64,
    /// The fewest transactions that could have served the same memory requests.
    pub transactions_least: u64,
    /// Waiting reads that followed a page which collection had moved.
    pub readdressed: u64,
    /// The most transactions by which a chip's oldest waiting request was passed over, and the bound of
    /// the scheduler; both 0 where requests are not passed over.
    pub passed_over: [u32; 2],
    /// Hits of reads and writes in the DRAM buffer, in pages.
    pub buffer: ReadHits,
    /// Hits of the read cache and the outcome of reading ahead; `None` if there is no cache.
    pub cache: Option<CacheReport>,
    /// Data of each reclaim unit handle in each reclaim group; none without data placement (`device.fdp`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handles: Vec<HandleReport>,
    /// Flash commands (page reads, page programs, block erases) per second.
    flash_commands_per_s: f64,
}

/// The execution-time breakdown: shares of the time of all ready/busy lines, adding up to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeBreakdown {
    /// The line's transactions use the bus for command, address or data cycles.
    pub bus_active: f64,
    /// A transaction, or its sensed data, waits for the bus. Limit: 0.
    pub bus_contention: f64,
    /// Cells are at work, and the line's bus phases are over.
    pub cell_active: f64,
    /// The rest: nothing of the line is on the bus or waits for it, and its cells are not at work.
    pub idle: f64,
}

/// Pages programmed in the measurement, by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Programs {
    /// Pages programmed with data of the host.
    pub user: u64,
    /// By garbage collection and wear levelling.
    pub gc: u64,
}

/// Number of erases per block, over all blocks of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    /// Erases of the least worn block.
    pub least: u32,
    /// Mean number of erases per block.
    pub mean: f64,
    /// Erases of the most worn block.
    pub most: u32,
}

/// Programs and erases that made way for reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preemptions {
    /// Suspensions of programs; a program that was suspended twice counts twice.
    pub program_suspends: u64,
    /// Suspensions of erases; an erase that was suspended twice counts twice.
    pub erase_suspends: u64,
    /// Page programs that were reset for reads.
    pub program_resets: u64,
    /// Block erases that were reset for reads.
    pub erase_resets: u64,
    /// Pages that these resets left unusable until their block is erased.
    pub pages_spoiled: u64,
    /// Pages that had to be programmed again although their own program had ended.
    pub pages_restored: u64,
}

/// Transactions of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transactions {
    /// The kind of operation, such as `user read` or `erase`.
    pub kind: String,
    /// Number of transactions of this kind that ended in the measurement.
    pub transactions: u64,
    /// Memory requests that these transactions served, at least one each.
    pub served: u64,
}

/// The read cache, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheReport {
    /// Pages of reads that were found in the cache.
    pub hits: u64,
    /// Share of all pages that the host has read from flash, from the cache or on their way into it. Limit:
    /// 1.
    pub hit_rate: f64,
    /// Share of all pages that the host has read that were on their way into the cache when requested.
    pub met_rate: f64,
    /// Pages that chips have begun to read ahead of the host.
    pub read_ahead: u64,
    /// Pages that were in the cache when the host first requested them.
    pub used: u64,
    /// Pages that the host requested while they were being read.
    pub met: u64,
    /// Pages that left the cache before the host had requested them. Limit: 0.
    pub in_vain: u64,
}

/// Data of one reclaim unit handle in one reclaim group, in the order of their streams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandleReport {
    #[serde(default)]
    group: u32,
    #[serde(default)]
    handle: u32,
    /// Bytes of the host that were written to flash through the handle.
    pub written_bytes: u64,
    /// Bytes of its data that collection moved.
    pub moved_bytes: u64,
    /// Bytes written to flash for each byte of the host; `None` if nothing was written. Limit: 1.
    pub write_amplification: Option<f64>,
    /// Reclaim units that collection emptied and whose data was mostly of this handle.
    pub collected: u64,
}

impl HandleReport {
    /// The handle in its group.
    pub fn placement(&self) -> PlacementId {
        PlacementId::new(GroupId::new(self.group), HandleId::new(self.handle))
    }
}

/// Hits of the DRAM buffer, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadHits {
    /// Pages of reads that were served from the buffer.
    pub read_hits: u64,
    /// Pages of writes that replaced or extended a page waiting in the buffer.
    pub write_hits: u64,
    /// Pages that write commands of the host touched.
    pub pages_written: u64,
}

/// The measurement that the figures of a drive belong to.
pub(super) struct Measurement {
    /// Length of the measurement in seconds.
    pub seconds: f64,
    /// Share of it during which the busiest resource was needed.
    pub busiest: f64,
    /// Requests that ended in it, per second.
    pub requests_per_s: f64,
}

impl DriveReport {
    /// What `figures` say.
    pub(super) fn new<P: Probe>(ssd: &Ssd<P>, figures: &Figures, measurement: &Measurement) -> DriveReport {
        let (f, &Measurement { seconds, busiest, requests_per_s }) = (figures, measurement);
        let demand = Demand::new(ssd.config(), f);
        let (least, mean, most) = ssd.wear();
        let elapsed = f.at.0 as f64;
        let share = |busy: u64| if elapsed == 0.0 { 0.0 } else { busy as f64 / elapsed };
        let programs = Programs { user: f.counts.programmed_user, gc: f.counts.programmed_gc };
        DriveReport {
            write_amplification: f.defined_write_amplification(),
            programs,
            erases: f.counts.erases,
            erases_least: lasting_erases(ssd.config(), f),
            collections: f.counts.collections,
            levelled: f.counts.levelled,
            forced_collections: f.counts.forced_collections,
            contended_reads: f.counts.contended_reads,
            failures: f.counts.program_failures + f.counts.erase_failures,
            bad_blocks: f.counts.bad_blocks,
            wear: Wear { least, mean, most },
            lifetime: Lifetime::new(ssd.config(), f, capacity(ssd), seconds),
            preemptions: preemptions(f),
            levelled_queues: f.counts.levelled_queues,
            merged_reads: f.counts.merged_reads,
            resources: demand.resources(requests_per_s),
            chip_utilisation: f.lun_utilisation(),
            chip_time: HOLDERS
                .iter()
                .map(|&(h, name)| (name.to_string(), share(f.holders[h as usize]) / f.luns.max(1) as f64))
                .collect(),
            breakdown: breakdown(f),
            inter_chip_idleness: f.inter_chip_idleness(),
            inter_chip_idleness_least: limits::inter_chip_idleness(f, busiest),
            intra_chip_idleness: f.intra_chip_idleness(),
            intra_chip_idleness_least: demand.intra_chip_idleness(),
            die_utilisation: f.die_utilisation(),
            die_least: demand.die_share(),
            plane_utilisation: f.plane_utilisation(),
            bus_utilisation: f.bus_utilisation(),
            link_utilisation: f.link_busy.map(|busy| share(busy.0)),
            transactions: transactions(f),
            parallelism: f.parallelism,
            parallelism_shares: f.parallelism_shares(),
            transaction_reduction: f.transaction_reduction(),
            transactions_least: demand.transactions(),
            readdressed: f.counts.readdressed,
            passed_over: passed_over(ssd, f),
            buffer: ReadHits {
                read_hits: f.buffer_read_hits,
                write_hits: f.buffer_write_hits,
                pages_written: f.counts.host_pages_written,
            },
            cache: cache(ssd, f),
            handles: handles(ssd, f),
            flash_commands_per_s: if seconds > 0.0 { f.flash_commands() as f64 / seconds } else { 0.0 },
        }
    }
}

fn capacity<P: Probe>(ssd: &Ssd<P>) -> u64 {
    ssd.identify().sectors * SECTOR_BYTES
}

fn cache<P: Probe>(ssd: &Ssd<P>, figures: &Figures) -> Option<CacheReport> {
    let CacheCounts { hits, begun, used, met, in_vain } = figures.cache;
    let flash = figures.served[Kind::UserRead as usize];
    let share = |pages: u64| pages as f64 / (hits + met + flash).max(1) as f64;
    let (hit_rate, met_rate) = (share(hits), share(met));
    let report = CacheReport { hits, hit_rate, met_rate, read_ahead: begun, used, met, in_vain };
    (ssd.config().cache.size > 0).then_some(report)
}

fn handles<P: Probe>(ssd: &Ssd<P>, figures: &Figures) -> Vec<HandleReport> {
    let fdp = &ssd.config().fdp;
    let count = if fdp.is_on() { fdp.streams() } else { 0 };
    let handle =
        |(stream, &HandleFigures { written, moved, collected }): (u32, &HandleFigures)| HandleReport {
            group: stream / fdp.handles,
            handle: stream % fdp.handles,
            written_bytes: written,
            moved_bytes: moved,
            write_amplification: (written > 0).then(|| (written + moved) as f64 / written as f64),
            collected,
        };
    (0..count).zip(&figures.handles).map(handle).collect()
}

fn preemptions(figures: &Figures) -> Preemptions {
    let counts = &figures.counts;
    Preemptions {
        program_suspends: counts.program_suspends,
        erase_suspends: counts.erase_suspends,
        program_resets: counts.program_resets,
        erase_resets: counts.erase_resets,
        pages_spoiled: counts.pages_spoiled,
        pages_restored: counts.pages_restored,
    }
}

fn breakdown(figures: &Figures) -> TimeBreakdown {
    let Breakdown { bus_active, bus_contention, cell_active, idle } = figures.breakdown();
    TimeBreakdown { bus_active, bus_contention, cell_active, idle }
}

/// Which schedulers pass requests over, and are bounded in it.
fn passed_over<P: Probe>(ssd: &Ssd<P>, figures: &Figures) -> [u32; 2] {
    let schedule = &ssd.config().schedule;
    match schedule.commit {
        CommitPolicy::Faro | CommitPolicy::Sprinkler => [figures.most_passed, schedule.passes],
        _ => [0, 0],
    }
}

fn transactions(figures: &Figures) -> Vec<Transactions> {
    let kind = |kind: Kind| Transactions {
        kind: kind.label().into(),
        transactions: figures.transactions[kind as usize],
        served: figures.served[kind as usize],
    };
    Kind::ALL.map(kind).into()
}

/// What can hold a ready/busy line, with its name in reports.
const HOLDERS: [(Holder, &str); 9] = [
    (Holder::UserRead, "user read"),
    (Holder::UserWrite, "user write"),
    (Holder::GcRead, "gc read"),
    (Holder::GcWrite, "gc program"),
    (Holder::Erase, "erase"),
    (Holder::Suspend, "suspend"),
    (Holder::Reset, "reset"),
    (Holder::ReadAhead, "read ahead"),
    (Holder::BusWait, "bus wait"),
];
