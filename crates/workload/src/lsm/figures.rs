//! The statistics of a store.

use super::mix::Operation;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Time};

/// The statistics of one kind of operation.
#[derive(Clone, Debug, Default)]
pub struct OperationFigures {
    /// From the beginning of an operation to when its client continues.
    pub latency: LatencyHistogram,
    /// Of the reads of the disk that such operations waited for, each on its own.
    pub disk_reads: LatencyHistogram,
}

/// The statistics of a store since it started to count.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// When counting began, from the start of the source.
    pub from: Time,
    /// The last moment that the figures cover.
    pub until: Time,
    /// Gets: every block that one waits for, and its processor time.
    pub gets: LatencyHistogram,
    /// Operations of clients: reads, updates, inserts. Their reads are not in `gets`.
    pub operations: [OperationFigures; 3],
    /// Operations of clients that look for a record: reads, and updates that read.
    pub searches: u64,
    /// Blocks that were looked for in the host's page cache.
    pub page_cache_lookups: u64,
    /// Blocks that were found in the page cache, among `page_cache_lookups`.
    pub page_cache_hits: u64,
    /// Puts that were done, by the writer or by clients.
    pub puts: u64,
    /// When the last put was done.
    pub last_put: Time,
    /// Bytes of the keys and values that were put.
    pub put_bytes: u64,
    /// Blocks that gets and reads of clients looked for, in the block cache first.
    pub lookups: u64,
    /// Blocks that were found in the block cache, among `lookups`.
    pub cache_hits: u64,
    /// Blocks that were looked for because a filter was wrong: the key was not in their file.
    pub false_positives: u64,
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
    /// Time that the writer stood still: both memtables full, or too many files on level 0.
    pub stalled: Nanos,
    /// Total time by which puts were slowed down.
    pub delayed: Nanos,
}

impl Figures {
    /// Figures without any count, which begin at `now`.
    pub fn since(now: Time) -> Figures {
        Figures { from: now, until: now, last_put: now, ..Figures::default() }
    }

    /// Length of the time that the figures cover, in seconds.
    pub fn seconds(&self) -> f64 {
        self.until.since(self.from).as_secs_f64()
    }

    /// Bytes that flushes and compactions wrote for each byte that was put; the log not counted.
    pub fn write_amplification(&self) -> f64 {
        let written = self.flushed_bytes + self.compaction_written_bytes;
        if self.put_bytes == 0 { 0.0 } else { written as f64 / self.put_bytes as f64 }
    }

    /// The statistics of a kind of operation of clients; `None` for a get.
    pub fn of(&self, operation: Operation) -> Option<&OperationFigures> {
        place(operation).map(|place| &self.operations[place])
    }

    /// A get, or an operation of a client, has ended.
    pub(super) fn end(&mut self, operation: Operation, latency: Nanos) {
        match place(operation) {
            None => self.gets.record(latency),
            Some(place) => self.operations[place].latency.record(latency),
        }
    }

    /// A read of the disk for an operation of a client has ended.
    pub(super) fn end_disk_read(&mut self, operation: Operation, latency: Nanos) {
        if let Some(place) = place(operation) {
            self.operations[place].disk_reads.record(latency);
        }
    }

    /// Blocks that a get, or a read of a client, looks for on average.
    pub fn blocks_per_get(&self) -> f64 {
        let searches = self.gets.count() + self.searches;
        if searches == 0 { 0.0 } else { self.lookups as f64 / searches as f64 }
    }

    /// Share of the blocks that were in the cache.
    pub fn cache_hit_share(&self) -> f64 {
        if self.lookups == 0 { 0.0 } else { self.cache_hits as f64 / self.lookups as f64 }
    }
}

/// Where a kind of operation stands in [`Figures::operations`].
fn place(operation: Operation) -> Option<usize> {
    match operation {
        Operation::Get => None,
        Operation::Read => Some(0),
        Operation::Update => Some(1),
        Operation::Insert => Some(2),
    }
}
