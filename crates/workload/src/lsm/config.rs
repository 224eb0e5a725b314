//! A log-structured merge store as a part of a scenario.

use super::mix::Mix;
use crate::address::WHOLE;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::quantity::exact_bytes;
use tailcut_base::{Nanos, SECTOR_BYTES};

/// A store, as configured. The defaults are those of RocksDB 5.x and of db_bench; `docs/model.md`,
/// section "Log-structured merge store", names the source of each.
#[derive(Clone, Debug, PartialEq)]
pub struct LsmConfig {
    /// Whether the workload is that of a log-structured merge store.
    pub enabled: bool,
    /// What the threads do: gets and puts, or the operations of YCSB's clients.
    pub mix: Mix,
    /// Number of threads that each perform one operation after another, of a mix with clients.
    pub clients: u32,
    /// Operations of all clients; 0 for as many as keys.
    pub operations: u64,
    /// Whether an update reads the record before it puts it back (YCSB A and B).
    pub update_reads: bool,
    /// Number of keys; 0 for as many as the region has room for.
    pub keys: u64,
    /// Length of a key in bytes.
    pub key_size: u64,
    /// Length of a value in bytes.
    pub value_size: u64,
    /// Factor of the sizes of buffers, files and levels; 0 for keys ÷ 10⁹, with clients keys ÷ 64 × 10⁶.
    pub scale: f64,
    /// Share of the device that the store lives in, ppm.
    pub region_share: u32,
    /// Whether the files that the store is made with were written after the rest of an array's preparation.
    pub loaded_last: bool,
    /// Number of gets in all, of a mix of gets and puts; 0 for keys ÷ 500.
    pub gets: u64,
    /// Number of puts in all, of a mix of gets and puts; 0 for keys ÷ 500.
    pub puts: u64,
    /// Number of threads that get random keys, of a mix of gets and puts; 0 for no gets.
    pub readers: u32,
    /// Puts per second; 0 for no limit.
    pub put_rate: u64,
    /// Number of puts after which the log is made durable; 0 for never.
    pub sync_every: u64,
    /// Size of a block, the unit of reads, in bytes.
    pub block: u64,
    /// Bits per key of the filters that spare reads of files without a key; 0 for none.
    pub bloom_bits: u64,
    /// Size of the block cache in bytes.
    pub block_cache: u64,
    /// Bytes of the host's page cache; 0 for none.
    pub page_cache: u64,
    /// Size of a memtable in bytes.
    pub write_buffer: u64,
    /// Maximum number of memtables, the one that takes puts included.
    pub write_buffers: u32,
    /// Size of a file in bytes.
    pub target_file: u64,
    /// Size of level 1 in bytes.
    pub base_level: u64,
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
    /// Number of threads that compact, each one compaction at a time.
    pub compactions: u32,
    /// Size in bytes of the reads by which a compaction fetches its inputs.
    pub read_ahead: u64,
    /// Size in bytes of the writes of flushes and compactions.
    pub write_size: u64,
    /// Maximum number of writes in flight of one flush or compaction.
    pub write_depth: u32,
    /// Whether blocks that have become free are trimmed on the device.
    pub discard: bool,
    /// Processor time that a get takes beside its reads.
    pub get_time: Nanos,
    /// Processor time that a put takes.
    pub put_time: Nanos,
    /// Rate at which a thread merges its inputs, in bytes per second.
    pub merge_rate: u64,
    /// Latency class of the reads of gets, 1 … 5.
    pub get_class: u32,
    /// Latency class of the reads of compactions, 1 … 5.
    pub compaction_read_class: u32,
    /// Latency class of the writes of compactions, 1 … 5.
    pub compaction_write_class: u32,
    /// Latency class of the writes of flushes, 1 … 5.
    pub flush_class: u32,
    /// Latency class of the writes of the log, 1 … 5.
    pub log_class: u32,
    /// Write streams, 1 … 8: 1 for all writes, or the log, level 0, level 1 and so on apart.
    pub streams: u32,
}

impl Default for LsmConfig {
    fn default() -> LsmConfig {
        LsmConfig {
            enabled: false,
            mix: Mix::PutsAndGets,
            clients: 16,
            operations: 0,
            update_reads: true,
            keys: 0,
            key_size: 16,
            value_size: 100,
            scale: 0.0,
            region_share: WHOLE,
            loaded_last: false,
            gets: 0,
            puts: 0,
            readers: 4,
            put_rate: 0,
            sync_every: 0,
            block: 4 << 10,
            bloom_bits: 10,
            block_cache: 8 << 20,
            page_cache: 0,
            write_buffer: 64 << 20,
            write_buffers: 2,
            target_file: 64 << 20,
            base_level: 256 << 20,
            multiplier: 10,
            l0_trigger: 4,
            l0_slowdown: 20,
            l0_stop: 36,
            delayed_rate: 16 << 20,
            compactions: 1,
            read_ahead: 128 << 10,
            write_size: 1 << 20,
            write_depth: 4,
            discard: false,
            get_time: Nanos::micros(5),
            put_time: Nanos::micros(3),
            merge_rate: 75_000_000,
            get_class: 1,
            compaction_read_class: 3,
            compaction_write_class: 4,
            flush_class: 4,
            log_class: 4,
            streams: 1,
        }
    }
}

impl Configure for LsmConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.flag(
            "enabled",
            "The workload is a log-structured merge store: random gets and puts, flushes, compactions.",
            &mut self.enabled,
        );
        self.visit_mix(visit);
        self.visit_load(visit);
        self.visit_memory(visit);
        self.visit_tree(visit);
        self.visit_background(visit);
        self.visit_classes(visit);
        if self.l0_slowdown < self.l0_trigger {
            visit.problem(
                "l0_slowdown",
                "puts would slow down before a compaction is due; set it to l0_trigger or more".into(),
            );
        }
        if self.l0_stop < self.l0_slowdown {
            visit.problem(
                "l0_stop",
                "puts would stop before they slow down; set it to l0_slowdown or more".into(),
            );
        }
        if !self.block.is_multiple_of(SECTOR_BYTES) {
            let block = exact_bytes(self.block);
            visit.problem("block", format!("{block} is no multiple of 512 bytes; set 4KiB, say"));
        }
    }
}

/// YCSB's records: 10 fields of 100 bytes (`workloads/workloada`), and a key of "user" and the digits of a
/// 64-bit hash (`CoreWorkload.buildKeyName`), of which nearly all have 19.
const RECORD_BYTES: u64 = 1000;
const RECORD_KEY_BYTES: u64 = 23;

impl LsmConfig {
    /// The default store of a mix: of YCSB's records where it has clients.
    pub fn of(mix: Mix) -> LsmConfig {
        let store = LsmConfig { mix, ..LsmConfig::default() };
        if !mix.has_clients() {
            return store;
        }
        LsmConfig { key_size: RECORD_KEY_BYTES, value_size: RECORD_BYTES, ..store }
    }

    fn visit_mix(&mut self, visit: &mut dyn KeyVisitor) {
        let before = self.mix;
        choose(
            visit,
            "mix",
            "What the threads do: 'puts-and-gets' (readers and a writer), or clients that load the store or \
                do YCSB A to D; with clients a record has 23 + 1000 bytes unless key_size and value_size say \
                otherwise.",
            &mut self.mix,
        );
        if self.mix != before {
            let records = LsmConfig::of(self.mix);
            (self.key_size, self.value_size) = (records.key_size, records.value_size);
        }
        count_u32(
            visit,
            "clients",
            "Of a mix with clients: threads that each do one operation after another.",
            &mut self.clients,
            1..=4096,
        );
        visit.count(
            "operations",
            "Of ycsb-a to ycsb-d: operations of all clients; 0 for as many as keys. A load inserts every \
                key.",
            &mut self.operations,
            0..=1_000_000_000_000,
        );
        visit.flag(
            "update_reads",
            "Of ycsb-a and ycsb-b: an update reads the record before it puts it back, as YCSB does with \
                RocksDB.",
            &mut self.update_reads,
        );
    }

    fn visit_load(&mut self, visit: &mut dyn KeyVisitor) {
        visit.count(
            "keys",
            "Keys of the store, all present at the start but of a load; 0 for as many as the region has room \
                for.",
            &mut self.keys,
            0..=1_000_000_000_000,
        );
        visit.bytes("key_size", "Size of a key.", &mut self.key_size, 1..=1 << 16);
        visit.bytes("value_size", "Size of a value.", &mut self.value_size, 0..=1 << 20);
        visit.number(
            "scale",
            "Factor of block_cache, page_cache, write_buffer, target_file and base_level; 0 for keys ÷ 10^9 \
                (with clients ÷ 64 × 10^6), so that a small store has the proportions of one of so many \
                keys.",
            &mut self.scale,
            0.0..=1000.0,
        );
        visit.share(
            "region_share",
            "Share of the device, from its beginning, that the store lives in; beyond precondition.fill \
                reads find nothing.",
            &mut self.region_share,
            1..=WHOLE,
        );
        visit.flag(
            "loaded_last",
            "On an array with a log: the files that the store is made with were written after the rest of \
                the preparation, in order, as a load has just left them; otherwise they lie where the \
                preparation left their blocks.",
            &mut self.loaded_last,
        );
        visit.count(
            "gets",
            "Of puts-and-gets: gets in all; 0 for one in 500 keys.",
            &mut self.gets,
            0..=u64::MAX,
        );
        visit.count(
            "puts",
            "Of puts-and-gets: puts in all; 0 for one in 500 keys.",
            &mut self.puts,
            0..=u64::MAX,
        );
        count_u32(
            visit,
            "readers",
            "Of puts-and-gets: threads that get random keys; 0 for no gets.",
            &mut self.readers,
            0..=4096,
        );
        visit.count(
            "put_rate",
            "Of puts-and-gets: puts per second at most; 0 for no limit.",
            &mut self.put_rate,
            0..=1_000_000_000,
        );
        visit.count(
            "sync_every",
            "The writer waits for a durable log after so many puts; 0 for never.",
            &mut self.sync_every,
            0..=u64::MAX,
        );
        let second = Nanos::secs(1);
        visit.time("get_time", "Processor time of a get.", &mut self.get_time, Nanos(0)..=second);
        visit.time("put_time", "Processor time of a put.", &mut self.put_time, Nanos(1)..=second);
    }

    fn visit_memory(&mut self, visit: &mut dyn KeyVisitor) {
        visit.bytes("block", "Size of a block, the unit of a get's reads.", &mut self.block, 512..=1 << 20);
        visit.count(
            "bloom_bits",
            "Bits of a file's Bloom filter for each key; 0 for no filters.",
            &mut self.bloom_bits,
            0..=64,
        );
        visit.bytes(
            "block_cache",
            "Size of the block cache, before scale.",
            &mut self.block_cache,
            0..=1 << 40,
        );
        visit.bytes(
            "page_cache",
            "Size of the host's page cache, before scale; what files are read from and written to enters it. \
                0 for none: direct I/O.",
            &mut self.page_cache,
            0..=1 << 42,
        );
        visit.bytes(
            "write_buffer",
            "Puts that fill a memtable, before scale.",
            &mut self.write_buffer,
            4 << 10..=1 << 36,
        );
        count_u32(
            visit,
            "write_buffers",
            "Memtables at most; puts stop when all are full.",
            &mut self.write_buffers,
            2..=64,
        );
    }

    fn visit_tree(&mut self, visit: &mut dyn KeyVisitor) {
        visit.bytes("target_file", "Size of a file, before scale.", &mut self.target_file, 4 << 10..=1 << 36);
        visit.bytes("base_level", "Size of level 1, before scale.", &mut self.base_level, 4 << 10..=1 << 40);
        visit.count(
            "multiplier",
            "How many times larger each further level is.",
            &mut self.multiplier,
            2..=100,
        );
        count_u32(
            visit,
            "l0_trigger",
            "Files of level 0 that are compacted together.",
            &mut self.l0_trigger,
            1..=1000,
        );
        count_u32(
            visit,
            "l0_slowdown",
            "Files of level 0 from which on puts are slowed down.",
            &mut self.l0_slowdown,
            1..=10_000,
        );
        count_u32(
            visit,
            "l0_stop",
            "Files of level 0 from which on puts wait.",
            &mut self.l0_stop,
            1..=10_000,
        );
        visit.rate(
            "delayed_rate",
            "Keys and values per second of puts that are slowed down.",
            &mut self.delayed_rate,
            1000..=1 << 40,
        );
    }

    fn visit_background(&mut self, visit: &mut dyn KeyVisitor) {
        count_u32(
            visit,
            "compactions",
            "Threads that compact, beside the one that flushes.",
            &mut self.compactions,
            1..=64,
        );
        visit.bytes(
            "read_ahead",
            "Size of a compaction's reads, rounded down to whole blocks; two are in flight at most.",
            &mut self.read_ahead,
            512..=16 << 20,
        );
        visit.bytes(
            "write_size",
            "Size of the writes of flushes and compactions, rounded down to whole blocks.",
            &mut self.write_size,
            512..=16 << 20,
        );
        count_u32(
            visit,
            "write_depth",
            "Such writes in flight at most, of one thread.",
            &mut self.write_depth,
            1..=1024,
        );
        visit.flag(
            "discard",
            "Blocks of files that are gone are trimmed before they are used again.",
            &mut self.discard,
        );
        visit.rate(
            "merge_rate",
            "Bytes per second that a thread merges, the time of its reads and writes not counted.",
            &mut self.merge_rate,
            1000..=1 << 40,
        );
    }

    fn visit_classes(&mut self, visit: &mut dyn KeyVisitor) {
        count_u32(
            visit,
            "get_class",
            "Latency class of the reads of gets: 1 may reset, 2 may suspend a program or erase, 3 waits.",
            &mut self.get_class,
            1..=5,
        );
        let read = &mut self.compaction_read_class;
        count_u32(visit, "compaction_read_class", "Latency class of the reads of compactions.", read, 1..=5);
        let write = &mut self.compaction_write_class;
        count_u32(
            visit,
            "compaction_write_class",
            "Latency class of the writes of compactions.",
            write,
            1..=5,
        );
        let flush = &mut self.flush_class;
        count_u32(visit, "flush_class", "Latency class of the writes of flushes.", flush, 1..=5);
        count_u32(visit, "log_class", "Latency class of the writes of the log.", &mut self.log_class, 1..=5);
        count_u32(
            visit,
            "streams",
            "Write streams (reclaim unit handles under device.fdp): the log, level 0, level 1 and so on; the \
                last takes all further levels, 1 takes everything.",
            &mut self.streams,
            1..=8,
        );
    }
}
