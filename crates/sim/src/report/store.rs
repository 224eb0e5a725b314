//! A log-structured merge store in a report.

use super::{Bare, Curve};
use serde::{Deserialize, Serialize};
use tailcut_base::Op;
use tailcut_base::config::Choice;
use tailcut_workload::lsm::figures::OperationFigures;
use tailcut_workload::lsm::tree::LEVELS;
use tailcut_workload::lsm::{Operation, Store};

/// The statistics of a store during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreReport {
    /// Keys of the store; of one that grows, those at the end.
    pub keys: u64,
    /// Gets that ended in the measurement; 0 for a store with clients, whose operations are in `operations`.
    pub gets: u64,
    /// Gets that ended per second of the measurement.
    pub gets_per_s: f64,
    /// Latencies of gets: all blocks that a get waits for and its processor time. Limit: the
    /// processor time and one block of an idle drive.
    pub get_latency: Curve,
    /// Blocks that a get looks for on average. Limit: 1, of a key that is in no memtable.
    pub blocks_per_get: f64,
    /// Share of these blocks that were in the cache.
    pub cache_hit_share: f64,
    /// Share of these blocks that a filter asked for wrongly. Limit: 0.
    pub false_positive_share: f64,
    /// Operations of the clients of a store, by kind; empty for a store without clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationReport>,
    /// Share of the blocks that came from the host's page cache, of those that were not in the block
    /// cache; none without a page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache_hit_share: Option<f64>,
    /// Puts of the store in the measurement.
    pub puts: u64,
    /// Puts per second, from the beginning of the measurement to the last put.
    pub puts_per_s: f64,
    /// Time in ns that the writer stood still. Limit: 0.
    pub stalled_ns: u64,
    /// Time in ns by which puts were slowed down. Limit: 0.
    pub delayed_ns: u64,
    /// Bytes of keys and values that were put.
    pub put_bytes: u64,
    /// Bytes of the log that were written to the device.
    pub log_bytes: u64,
    /// Memtables that became files.
    pub flushes: u64,
    /// Bytes of the files that memtables became.
    pub flushed_bytes: u64,
    /// Compactions that merged files; files that only moved down are not counted.
    pub compactions: u64,
    /// Files that went down a level as they were.
    pub moved_files: u64,
    /// Bytes of the files that compactions have merged.
    pub compaction_read_bytes: u64,
    /// Bytes of the files that compactions wrote.
    pub compaction_written_bytes: u64,
    /// Bytes flushed and compacted for each byte that was put, the log not counted. Limit: 1 in the
    /// long run.
    pub write_amplification: f64,
    /// Files and bytes of each level at the end, as far down as there are any.
    pub levels: Vec<LevelReport>,
    /// Length of the measurement in seconds.
    pub seconds: f64,
}

/// Operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationReport {
    /// The kind of operation: `read`, `update` or `insert`.
    pub kind: String,
    /// Operations of this kind that ended in the measurement.
    pub count: u64,
    /// Operations of this kind per second.
    pub per_s: f64,
    /// As the application sees them: processor time, every block that is waited for, and of a put every
    /// wait for room. Limit: the processor time, for what a memtable or a cache has.
    pub latency: Curve,
    /// Reads of the disk that such operations waited for.
    pub disk_reads: u64,
    /// As the disk sees them: each of these reads on its own, with its wait for a place in the queue.
    /// Limit: a block of an idle drive.
    pub disk_latency: Curve,
}

impl OperationReport {
    fn new(
        operation: Operation,
        done: &OperationFigures,
        store: &Store,
        bare: &Bare,
        seconds: f64,
    ) -> OperationReport {
        let plan = store.plan();
        let block_ns = bare.latency_ns(Op::Read, plan.block as f64);
        // Cached blocks are read without the disk, and put back without it.
        let bare_ns = plan.time_of(operation).0 as f64;
        let count = done.latency.count();
        OperationReport {
            kind: operation.to_string(),
            count,
            per_s: if seconds > 0.0 { count as f64 / seconds } else { 0.0 },
            latency: Curve::of(&done.latency, bare_ns),
            disk_reads: done.disk_reads.count(),
            disk_latency: Curve::of(&done.disk_reads, block_ns),
        }
    }

    fn all(store: &Store, bare: &Bare, seconds: f64) -> Vec<OperationReport> {
        let report = |&operation: &Operation| {
            let done = store.figures().of(operation).filter(|done| done.latency.count() > 0)?;
            Some(OperationReport::new(operation, done, store, bare, seconds))
        };
        Operation::all().iter().filter_map(report).collect()
    }
}

/// A level of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelReport {
    /// Number of files in the level.
    pub files: u64,
    /// Size of the level's files in bytes.
    pub bytes: u64,
}

impl StoreReport {
    pub(super) fn new(store: &Store, bare: &Bare) -> StoreReport {
        let (figures, plan, tree) = (store.figures(), store.plan(), store.tree());
        let seconds = figures.seconds();
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let putting = figures.last_put.since(figures.from).as_secs_f64();
        let bare_ns = plan.get_time.0 as f64 + bare.latency_ns(Op::Read, plan.block as f64);
        let depth = (0..LEVELS).rev().find(|&level| tree.files(level) > 0).map_or(0, |level| level + 1);
        let level =
            |level| LevelReport { files: tree.files(level) as u64, bytes: tree.blocks(level) * plan.block };
        StoreReport {
            keys: store.inserted().unwrap_or(plan.keys),
            gets: figures.gets.count(),
            gets_per_s: rate(figures.gets.count()),
            get_latency: Curve::of(&figures.gets, bare_ns),
            blocks_per_get: figures.blocks_per_get(),
            cache_hit_share: figures.cache_hit_share(),
            false_positive_share: figures.false_positives as f64 / figures.lookups.max(1) as f64,
            operations: OperationReport::all(store, bare, seconds),
            page_cache_hit_share: share(figures.page_cache_hits, figures.page_cache_lookups),
            puts: figures.puts,
            puts_per_s: if putting > 0.0 { figures.puts as f64 / putting } else { 0.0 },
            stalled_ns: figures.stalled.0,
            delayed_ns: figures.delayed.0,
            put_bytes: figures.put_bytes,
            log_bytes: figures.log_bytes,
            flushes: figures.flushes,
            flushed_bytes: figures.flushed_bytes,
            compactions: figures.compactions,
            moved_files: figures.moved_files,
            compaction_read_bytes: figures.compaction_read_bytes,
            compaction_written_bytes: figures.compaction_written_bytes,
            write_amplification: figures.write_amplification(),
            levels: (0..depth).map(level).collect(),
            seconds,
        }
    }
}

/// A share of what there was any of.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
