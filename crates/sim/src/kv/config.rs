//! The key-value server as a part of a scenario.

use super::content::{KEY_BYTES, LEAST_VALUE};
use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::quantity::exact_bytes;
use tailcut_host::kv::{AdmissionSettings, Append, Header, Keep, Settings, UNIT};
use tailcut_host::{BLOCK_BYTES, Disk};
use tailcut_workload::Problem;

tailcut_base::choice! {
    /// What a server keeps.
    pub enum Kept {
        /// A store: nothing is given up, and one that is full says so.
        Everything = "everything",
        /// A cache: what nobody has asked for goes first.
        WhatIsUsed = "what-is-used",
    }
}

/// A key-value server between the workload and its storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KvConfig {
    /// Whether the workload is that of clients of a key-value server, rather than of a device.
    pub enabled: bool,
    /// Number of items that the server holds at the start.
    pub items: u64,
    /// Length of a value in bytes.
    pub value: u64,
    /// Number of connections of clients, each with one command at a time.
    pub connections: u32,
    /// Memory of the server for items, in bytes; its index comes on top.
    pub memory: u64,
    /// Whether the server is a store that keeps everything, or a cache that evicts cold items.
    pub keep: Kept,
    /// Most bytes of records that a cache writes to flash in a day, copies included; 0 for no bound.
    pub write_budget: u64,
    /// Whether a `set` is durable when it is acknowledged.
    pub durable: bool,
    /// Bytes of the storage that hold items, from its beginning; 0 for all that is prepared.
    pub space: u64,
    /// Length of a segment of the log of items, the unit in which space is reclaimed, in bytes.
    pub segment: u64,
    /// Number of threads that serve, each on a core or a sibling of its own.
    pub threads: u32,
    /// Number of cores of the server, siblings not counted.
    pub cores: u32,
    /// Whether each core shows as two that share its speed.
    pub siblings: bool,
    /// Number of network links of the server, over which connections are spread.
    pub links: u32,
    /// Bandwidth of each network link in each direction, in bytes per second.
    pub link: u64,
    /// Time in network cards and on the cable for each direction, beside the time on the wire.
    pub latency: Nanos,
    /// The minimum time from one interrupt of a network card to its next.
    pub moderation: Nanos,
}

impl Default for KvConfig {
    /// No server. What it would be: records of YCSB, whole in the store, on the machine of Shin (2017,
    /// section 3.4), an i7-4770, behind 10 Gb/s.
    fn default() -> KvConfig {
        KvConfig {
            enabled: false,
            items: 100_000,
            // Ten fields of 100 bytes (Cooper et al., SoCC 2010).
            value: 1000,
            connections: 64,
            memory: 16 << 20,
            keep: Kept::Everything,
            write_budget: 0,
            durable: false,
            space: 0,
            segment: 4 << 20,
            threads: 1,
            cores: 4,
            siblings: true,
            links: 1,
            link: 1_250_000_000,
            // The card fetches a descriptor, then the data, and writes what has come: three crossings of
            // PCIe, each about 0.5 µs (Neugebauer et al., SIGCOMM 2018). Metres of cable take nanoseconds.
            latency: Nanos(1500),
            // 20,000 interrupts a second (Linux,
            // `Documentation/networking/device_drivers/ethernet/intel/e1000e.rst`, InterruptThrottleRate, for
            // what is neither bulk nor a single flow).
            moderation: Nanos::micros(50),
        }
    }
}

impl Configure for KvConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.flag(
            "enabled",
            "The workload is that of clients of a key-value server: each read gets an item, each write sets \
             one. The device that the workload sees has 4KiB for each item, whatever its size.",
            &mut self.enabled,
        );
        self.visit_items(visit);
        self.visit_machine(visit);
        if self.enabled {
            for message in self.settings().problems() {
                visit.problem("memory", format!("{message}; see kv.value, kv.memory and kv.segment"));
            }
        }
        if self.write_budget > 0 && self.keep == Kept::Everything {
            let message = "a store writes every item; set kv.keep = \"what-is-used\", or write_budget = 0";
            visit.problem("write_budget", message.into());
        }
        // One for interrupts, whose work goes before that of threads.
        let cpus = self.cores << u32::from(self.siblings);
        let most = (cpus - 1).max(1);
        if self.threads > most {
            let parts = if self.siblings { "cores and siblings" } else { "cores" };
            let threads = self.threads;
            visit.problem(
                "threads",
                format!(
                    "{threads} threads on {cpus} {parts} leave none to interrupts; set kv.threads = {most}, \
                     or more kv.cores"
                ),
            );
        }
        if !self.segment.is_multiple_of(BLOCK_BYTES) {
            visit.problem("segment", "a segment is made of blocks of 4KiB; set 4MiB, say".into());
        }
    }
}

impl KvConfig {
    fn visit_items(&mut self, visit: &mut dyn KeyVisitor) {
        visit.count("items", "Items that the server holds at the start.", &mut self.items, 1..=1 << 32);
        let values = LEAST_VALUE as u64..=1 << 19;
        visit.bytes("value", "Size of a value.", &mut self.value, values);
        visit.bytes(
            "memory",
            "Memory of the server for items; its index comes on top.",
            &mut self.memory,
            1 << 20..=1 << 40,
        );
        choose(
            visit,
            "keep",
            "Whether it is a store that keeps everything, each item on flash at once, or a cache that gives \
                up what nobody asks for.",
            &mut self.keep,
        );
        visit.bytes(
            "write_budget",
            "Most bytes that a cache writes to flash in a day, copies that make room included; a minute's share \
                at once. 0 for no bound.",
            &mut self.write_budget,
            0..=1 << 60,
        );
        visit.flag("durable", "What is set is durable when it is acknowledged.", &mut self.durable);
        visit.bytes(
            "space",
            "Space for items on the storage, from its beginning; 0 for all that precondition.fill prepares.",
            &mut self.space,
            0..=1 << 42,
        );
        visit.bytes(
            "segment",
            "Size of a segment of the log of items, the unit in which space is used again.",
            &mut self.segment,
            64 << 10..=1 << 30,
        );
    }

    fn visit_machine(&mut self, visit: &mut dyn KeyVisitor) {
        count_u32(
            visit,
            "connections",
            "Connections of clients, each with one command at a time.",
            &mut self.connections,
            1..=1 << 16,
        );
        count_u32(
            visit,
            "threads",
            "Threads that serve, as memcached's -t, each on a core of its own, or on a sibling; one is left \
                to interrupts.",
            &mut self.threads,
            1..=16,
        );
        count_u32(
            visit,
            "cores",
            "Cores of the server: those that serve no clients take the interrupts.",
            &mut self.cores,
            1..=8,
        );
        visit.flag("siblings", "Each core shows as two that share its speed.", &mut self.siblings);
        count_u32(
            visit,
            "links",
            "Network links of the server, over which connections are spread.",
            &mut self.links,
            1..=16,
        );
        visit.rate(
            "link",
            "Speed of each link in each direction; 125MB/s are 1 Gbit/s.",
            &mut self.link,
            1_000_000..=1 << 40,
        );
        visit.time(
            "latency",
            "Time in network cards and on the cable for each direction, beside the time on the wire.",
            &mut self.latency,
            Nanos(0)..=Nanos::secs(1),
        );
        visit.time(
            "moderation",
            "The minimum time from one interrupt of a network card to its next; 0 for none.",
            &mut self.moderation,
            Nanos(0)..=Nanos::secs(1),
        );
    }

    /// The settings of the storage engine that follow from this configuration.
    pub fn settings(&self) -> Settings {
        Settings {
            memory: self.memory,
            most_item: (self.value + SPARE).next_multiple_of(UNIT),
            keep: match self.keep {
                Kept::Everything => Keep::Everything,
                Kept::WhatIsUsed => Keep::WhatIsUsed,
            },
            append: Append::OnLeaving,
            admission: AdmissionSettings { daily_bytes: self.write_budget, ..AdmissionSettings::default() },
            segment_blocks: (self.segment / BLOCK_BYTES) as u32,
            ..Settings::default()
        }
    }

    /// Bytes that an item takes on flash at most: a record touches no more blocks than it must, so a block
    /// is divided among the whole records that fit, or a long record has its blocks alone.
    pub fn footprint(&self) -> u64 {
        let record = (Header::BYTES as u64 + KEY_BYTES as u64 + self.value).next_multiple_of(UNIT);
        match BLOCK_BYTES / record {
            0 => record.next_multiple_of(BLOCK_BYTES),
            records => BLOCK_BYTES / records,
        }
    }

    /// Blocks of a storage that the server uses, of which `prepared` hold something.
    ///
    /// # Errors
    /// What does not fit, with the key to blame.
    pub fn blocks(&self, prepared: u64, disk: &Disk) -> Result<u64, Problem> {
        let problem = |key, message| Err(Problem { key, message });
        if prepared == 0 {
            let message = "what nobody has written is read in no time: set precondition.state = \"steady\"";
            return problem("enabled", message.into());
        }
        let blocks = if self.space == 0 { prepared } else { self.space / BLOCK_BYTES };
        if blocks > prepared {
            let most = exact_bytes(prepared * BLOCK_BYTES);
            return problem("space", format!("precondition.fill prepares {most}: set that or less"));
        }
        let shape = Disk { blocks, ..disk.clone() };
        let segments = match self.settings().segments_on(&shape) {
            Ok(segments) => u64::from(segments),
            Err(why) => return problem("space", format!("{why}: set more, or a smaller kv.segment")),
        };
        let bytes = segments.saturating_sub(SPARE_SEGMENTS + segments / 16) * self.segment;
        let most = bytes / self.footprint() * MOST_FULL / 100;
        if self.keep == Kept::Everything && self.items > most {
            return problem("items", format!("a store of this size works with at most {most} of them"));
        }
        Ok(blocks)
    }
}

/// Bytes of an item beside its value, at most.
const SPARE: u64 = 304;
/// Segments that are written, copied or erased.
const SPARE_SEGMENTS: u64 = 6;
/// Per cent of the rest that may be valid, or the log copies more than it writes.
const MOST_FULL: u64 = 90;

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(config: &KvConfig, prepared: u64) -> Option<&'static str> {
        let disk =
            Disk { blocks: 1 << 20, depth: 32, most_blocks: 32, volatile_cache: true, copies: 1, handles: 1 };
        config.blocks(prepared, &disk).err().map(|problem| problem.key)
    }

    #[test]
    fn what_does_not_fit_is_blamed_on_the_key_that_can_be_changed() {
        let fits = KvConfig { space: 1 << 30, ..KvConfig::default() };
        assert_eq!(attribute(&fits, 1 << 19), None);
        assert_eq!(attribute(&fits, 0), Some("enabled"), "an empty drive");
        assert_eq!(attribute(&fits, 1 << 17), Some("space"), "less is prepared");
        assert_eq!(attribute(&KvConfig { space: 1 << 20, ..fits.clone() }, 1 << 19), Some("space"), "no log");
        assert_eq!(attribute(&KvConfig { items: 1 << 20, ..fits }, 1 << 19), Some("items"));
    }

    #[test]
    fn an_item_takes_its_share_of_a_block_or_whole_ones() {
        let footprint = |value| KvConfig { value, ..KvConfig::default() }.footprint();
        assert_eq!(footprint(1000), 4096 / 3, "1072 bytes, of which a block holds three");
        assert_eq!(footprint(3000), 4096);
        assert_eq!(footprint(5000), 8192);
    }
}
