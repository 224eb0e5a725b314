//! A store in absolute terms: every size resolved to blocks of a given device.

use super::merge::Span;
use super::mix::{Mix, Operation};
use super::table::false_positive_rate;
use super::tree::LEVELS;
use crate::Problem;
use tailcut_base::{Class, Nanos, SECTOR_BYTES};

/// The parameters of a store. Sizes are multiples of a block where they are in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// First sector of the region on the device.
    pub first: u64,
    /// Size of the region in blocks.
    pub region: u64,
    /// What the threads do: gets and puts, or the operations of YCSB's clients.
    pub mix: Mix,
    /// Keys, all present at the start, or to be loaded: at least 1.
    pub keys: u64,
    /// Bytes of an entry: key and value.
    pub entry: u64,
    /// Size of a block in bytes.
    pub block: u64,
    /// Bits of the filters for each key; 0 for none.
    pub bloom_bits: u64,
    /// Size of the block cache in blocks.
    pub cache: u64,
    /// Blocks of the host's page cache; 0 for none.
    pub page_cache: u64,
    /// Bytes of puts that fill a memtable.
    pub write_buffer: u64,
    /// Maximum number of memtables, the one that takes puts included.
    pub write_buffers: u32,
    /// Size of a file in bytes.
    pub file: u64,
    /// Size of level 1 in bytes.
    pub base: u64,
    /// How many times larger each level is than the one before it, from level 2 on.
    pub multiplier: u64,
    /// Number of files of level 0 at which they are compacted.
    pub l0_trigger: u32,
    /// Number of files of level 0 at which puts are slowed down.
    pub l0_slowdown: u32,
    /// Number of files of level 0 at which puts stop.
    pub l0_stop: u32,
    /// Rate of puts that are slowed down, in bytes per second.
    pub delayed_rate: u64,
    /// Gets, or operations of clients, in all.
    pub gets: u64,
    /// Number of puts in all; 0 with clients, whose operations `gets` counts.
    pub puts: u64,
    /// Number of threads that get, or of clients.
    pub readers: u32,
    /// An update reads the record first.
    pub update_reads: bool,
    /// Puts per second at most; 0 for no limit.
    pub put_rate: u64,
    /// Puts after which the log is made durable; 0 for never.
    pub sync_every: u64,
    /// Number of threads that compact, each one compaction at a time.
    pub compactions: u32,
    /// Size in bytes of the reads by which a compaction fetches its inputs.
    pub read_ahead: u64,
    /// Size in bytes of the writes of flushes and compactions.
    pub write_size: u64,
    /// Maximum number of writes in flight of one flush or compaction.
    pub write_depth: u32,
    /// Blocks that have become free are discarded on the device.
    pub discard: bool,
    /// Processor time that a get takes beside its reads.
    pub get_time: Nanos,
    /// Processor time that a put takes.
    pub put_time: Nanos,
    /// Rate at which a thread merges its inputs, in bytes per second.
    pub merge_rate: u64,
    /// Class of the reads of gets.
    pub get_class: Class,
    /// Class of the reads of compactions.
    pub compaction_read_class: Class,
    /// Class of the writes of compactions.
    pub compaction_write_class: Class,
    /// Class of the writes of flushes.
    pub flush_class: Class,
    /// Class of the writes of the log.
    pub log_class: Class,
    /// Write streams: the first is the log's, the next those of the levels, the last that of all further
    /// levels.
    pub streams: u32,
    /// Time from the start of the source at which the store begins to count.
    pub measured_from: Nanos,
}

/// Places for each key of a store that grows.
const SPARSE: u64 = 64;
/// Bytes that the log adds to an entry: 12 of the batch's header, 7 of the record's, and the kind and
/// the two lengths of the entry (RocksDB's `write_batch.cc` and `log_format.h`).
const LOG_OVERHEAD: u64 = 22;
/// Bytes of a block's entry in the index, beside its key: its handle and the lengths.
const INDEX_OVERHEAD: u64 = 12;
/// Bytes of a key in an index: db_bench's default.
const INDEX_KEY: u64 = 16;
/// Writes of the log that are in flight at most; behind them puts wait. RocksDB hands the log to the
/// page cache, which throttles a writer in its own way; it is seldom reached.
pub const LOG_DEPTH: u32 = 32;
/// Reads that a compaction has in flight at most: the piece that it waits for and the one that
/// asynchronous read-ahead has begun behind it.
pub const READS_AHEAD: u32 = 2;

impl Plan {
    /// The write stream of the files of a level.
    pub fn stream_of_level(&self, level: usize) -> u8 {
        u8::try_from((level + 1).min(self.streams as usize - 1)).unwrap_or(u8::MAX)
    }

    /// Size of a block in sectors of 512 bytes.
    pub fn block_sectors(&self) -> u64 {
        self.block / SECTOR_BYTES
    }

    /// Entries of a full block.
    pub fn block_entries(&self) -> u64 {
        (self.block / self.entry).max(1)
    }

    /// Blocks of a file's data.
    pub fn data_blocks(&self, entries: u64) -> u64 {
        entries.div_ceil(self.block_entries())
    }

    /// Blocks of a file: data, filter and index, both rounded up.
    pub fn blocks(&self, entries: u64) -> u64 {
        let data = self.data_blocks(entries);
        let meta = (entries * self.bloom_bits).div_ceil(8) + data * (INDEX_KEY + INDEX_OVERHEAD);
        data + meta.div_ceil(self.block)
    }

    /// The most entries of a file; at least one block of them.
    pub fn file_entries(&self) -> u64 {
        let meta = (self.block_entries() * self.bloom_bits).div_ceil(8) + INDEX_KEY + INDEX_OVERHEAD;
        // Rounded down, so that data and what describes it stay within the file.
        let data = (self.file / (self.block + meta)).max(1);
        data * self.block_entries()
    }

    /// Number of puts that fill a memtable; at least 1.
    pub fn memtable_puts(&self) -> u64 {
        (self.write_buffer / self.entry).max(1)
    }

    /// Bytes of an entry in the log.
    pub fn log_entry(&self) -> u64 {
        self.entry + LOG_OVERHEAD
    }

    /// The most bytes of `level`, from 1 on, before it is compacted.
    pub fn level_bytes(&self, level: usize) -> u64 {
        self.base.saturating_mul(self.multiplier.saturating_pow(level as u32 - 1))
    }

    /// How often a filter is wrong.
    pub fn false_positives(&self) -> f64 {
        false_positive_rate(self.bloom_bits)
    }

    /// Places in the order of all keys. A store that grows has many more than keys, as hashes have: new
    /// keys fall between all others.
    pub fn places(&self) -> u64 {
        if self.mix.inserts() { (self.keys + self.gets).saturating_mul(SPARSE) } else { self.keys }
    }

    /// Keys that inserts may add: their share of the operations, and six standard deviations more.
    fn growth(&self) -> u64 {
        if self.mix != Mix::YcsbD {
            return 0;
        }
        let mean = self.gets as f64 * f64::from(self.mix.inserts_ppm()) / 1e6;
        (mean + 6.0 * mean.sqrt()).ceil() as u64
    }

    /// The levels that the store is made with, from level 0 on; none of a store that is loaded.
    pub fn levels(&self) -> Vec<Vec<Span>> {
        if self.mix == Mix::Load { vec![Vec::new()] } else { self.filled_levels() }
    }

    /// The most blocks of the files that the store is made with, which lie at the beginning of its region.
    pub fn made_blocks(&self) -> u64 {
        self.levels().iter().flatten().map(|file| self.blocks(file.entries)).sum()
    }

    /// One file less than what would be compacted in each level but the last, which has every key; in a
    /// store that grows, every key that the others do not have.
    fn filled_levels(&self) -> Vec<Vec<Span>> {
        let mut levels = vec![self.whole_files(u64::from(self.l0_trigger) - 1)];
        let bottom = self.cut(self.keys);
        let bytes = |files: &[Span]| files.iter().map(|f| self.blocks(f.entries)).sum::<u64>() * self.block;
        let all = bytes(&bottom);
        while self.level_bytes(levels.len()) < all && levels.len() + 1 < LEVELS {
            let file = self.blocks(self.file_entries()) * self.block;
            let files = (self.level_bytes(levels.len()) / file).saturating_sub(1).max(1);
            levels.push(self.cut((files * self.file_entries()).min(self.keys / self.shared())));
        }
        let entries = |files: &[Span]| files.iter().map(|f| f.entries).sum::<u64>();
        let above: u64 = levels.iter().map(|files| entries(files)).sum();
        levels.push(if self.mix.inserts() { self.cut(self.keys - above) } else { bottom });
        levels
    }

    /// The part of a growing store's keys that each level above the last has at most: 1 ÷ this.
    fn shared(&self) -> u64 {
        if self.mix.inserts() { 2 * LEVELS as u64 } else { 1 }
    }

    /// Files that a memtable became.
    fn whole_files(&self, files: u64) -> Vec<Span> {
        let each = if self.mix.inserts() { self.shared() * files.max(1) } else { 1 };
        let entries = self.memtable_puts().min(self.keys / each);
        let files = if entries == 0 { 0 } else { files };
        (0..files).map(|_| Span { lo: 0, hi: self.places() - 1, entries }).collect()
    }

    /// Files with `entries` entries in all, spread over all keys.
    fn cut(&self, entries: u64) -> Vec<Span> {
        let files = entries.div_ceil(self.file_entries());
        let part = |of: u64, i: u64| (u128::from(of) * u128::from(i) / u128::from(files)) as u64;
        let file = |i| Span {
            lo: part(self.places(), i),
            hi: part(self.places(), i + 1) - 1,
            entries: part(entries, i + 1) - part(entries, i),
        };
        (0..files).map(file).collect()
    }

    /// Blocks that the store can need: what it is made of, level 0 and logs before puts stop, and
    /// what compactions write before they give back what they read.
    pub fn blocks_needed(&self) -> u64 {
        let least = self.data_blocks(self.keys);
        if least > self.region {
            // Too large in any case; the levels need not be laid out to know it.
            return least;
        }
        let made: u64 = self.filled_levels().iter().flatten().map(|file| self.blocks(file.entries)).sum();
        let flushed = self.blocks(self.memtable_puts());
        let logs = (self.memtable_puts() * self.log_entry()).div_ceil(self.block) + self.log_piece();
        let level0 = (u64::from(self.l0_stop) + 1) * flushed;
        let overshoot = level0 + 2 * (self.base / self.block);
        made + self.blocks(self.growth())
            + 2 * level0
            + overshoot
            + u64::from(self.write_buffers) * (flushed + logs)
            + self.job_blocks()
    }

    /// Blocks that compactions of levels above 0 write before they give back what they read: each a
    /// file and those of the next level under it, twice as many as on average.
    pub fn job_blocks(&self) -> u64 {
        u64::from(self.compactions) * (2 * self.multiplier + 4) * self.blocks(self.file_entries())
    }

    /// Number of blocks by which a log grows at a time; at least 1.
    pub fn log_piece(&self) -> u64 {
        (self.write_size.min(self.write_buffer) / self.block).max(1)
    }

    /// Processor time of an operation.
    pub fn time_of(&self, operation: Operation) -> Nanos {
        match operation {
            Operation::Get | Operation::Read => self.get_time,
            Operation::Update if self.update_reads => self.get_time + self.put_time,
            Operation::Update | Operation::Insert => self.put_time,
        }
    }

    /// The most requests in flight: a read of each reader, the log with a flush behind it, and what
    /// each background thread reads, writes and discards.
    pub fn depth(&self) -> u32 {
        self.readers + LOG_DEPTH + 2 + (self.compactions + 1) * (READS_AHEAD + self.write_depth)
    }

    /// All problems; the keys are those of [`super::LsmConfig`].
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut blame = |key, message: String| problems.push(Problem { key, message });
        if self.l0_slowdown < self.l0_trigger {
            blame(
                "l0_slowdown",
                format!(
                    "puts would slow down before a compaction is due; set l0_slowdown to l0_trigger = {} or \
                        more",
                    self.l0_trigger
                ),
            );
        }
        if self.l0_stop < self.l0_slowdown {
            blame(
                "l0_stop",
                format!(
                    "puts would stop before they slow down; set l0_stop to l0_slowdown = {} or more",
                    self.l0_slowdown
                ),
            );
        }
        problems
    }
}
