//! How layouts that write a log behave.

use crate::array::config::whole_blocks;
use crate::disk::BLOCK_BYTES;
use tailcut_base::config::{Configure, Visit, choose, count_u32};

tailcut_base::choice! {
    /// Which row of segments is collected next.
    pub enum VictimChoice {
        /// The one with the fewest valid blocks (SWAN, section 3.4), or an older one with hardly more.
        Greedy = "greedy",
        /// The one that has been collectable for longest.
        Fifo = "fifo",
        /// The one with the best ratio of benefit to cost, `age · (1 - u) / (1 + u)` (Rosenblum and
        /// Ousterhout, SOSP 1991).
        CostBenefit = "cost-benefit",
        /// Any.
        Random = "random",
        /// The one with the fewest valid blocks of ten drawn at random (Van Houdt, SIGMETRICS 2013).
        DChoices = "d-choices",
    }
}

tailcut_base::choice! {
    /// Whether an array keeps a CRC-32C of each block.
    pub enum BlockChecksums {
        /// If some of its drives have no protection information; decided when the array is made. A simulated
        /// array counts as one of drives that have it.
        Auto = "auto",
        /// Yes.
        On = "on",
        /// No.
        Off = "off",
    }
}

/// A log, as configured.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// Bytes of a segment on one drive (SWAN, section 4.1: 1 MiB).
    pub segment: u64,
    /// Share of the space for data that the host cannot use, in parts per million.
    pub spare: u32,
    /// Which rows are collected.
    pub victim: VictimChoice,
    /// Share of a row by which an older victim may have more valid blocks than the emptiest when that is
    /// what counts, in parts per million.
    pub victim_slack: u32,
    /// Appends in flight on each drive for one open row.
    pub appends: u32,
    /// Victims that are collected at a time.
    pub collect_victims: u32,
    /// Reads of collection in flight for each drive of the group. With tokens they wait for a round of them.
    pub collect_depth: u32,
    /// Share of the rows of a group below which it is collected, in parts per million.
    pub collect_below: u32,
    /// Share of the rows after whose writing the map is written, in parts per million.
    pub checkpoint_every: u32,
    /// Of the drives of a group one at a time has the heavy-I/O token and writes, flushes and collects; reads
    /// go around it (Shin 2017, chapter 5, with parity in place of copies). What else tokens need stands in
    /// [`EpochConfig`](crate::array::epoch::EpochConfig).
    pub tokens: bool,
    /// Whether a CRC-32C of each block is kept.
    pub checksums: BlockChecksums,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            segment: 1 << 20,
            spare: 200_000,
            victim: VictimChoice::Greedy,
            victim_slack: 250_000,
            appends: 2,
            collect_victims: 16,
            collect_depth: 32,
            collect_below: 50_000,
            checkpoint_every: 125_000,
            tokens: false,
            checksums: BlockChecksums::Auto,
        }
    }
}

impl LogConfig {
    /// Blocks of a segment.
    pub fn segment_blocks(&self) -> u32 {
        (self.segment / BLOCK_BYTES) as u32
    }

    /// Takes over what an array was made with, as its superblock says: bytes of a segment, spare, and whether
    /// it keeps checksums (0: no).
    pub(in crate::array) fn keep(&mut self, [segment, spare, has_checksums, ..]: [u64; 8]) {
        (self.segment, self.spare) = (segment, spare as u32);
        self.checksums = if has_checksums == 0 { BlockChecksums::Off } else { BlockChecksums::On };
    }

    /// True if the array keeps checksums of its blocks.
    pub fn has_checksums(&self) -> bool {
        self.checksums == BlockChecksums::On
    }
}

impl Configure for LogConfig {
    fn configure(&mut self, visit: &mut dyn Visit) {
        visit.bytes(
            "segment",
            "Size of a segment on one drive, the unit of collection.",
            &mut self.segment,
            65_536..=2 << 20,
        );
        visit.share(
            "spare",
            "Share of the space for data that the host cannot use; with little of it collection costs more.",
            &mut self.spare,
            50_000..=900_000,
        );
        choose(visit, "victim", "Which row of segments is collected next.", &mut self.victim);
        visit.share(
            "victim_slack",
            "Rows that have so much more that is valid than the emptiest are as good to the greedy choice: it takes the oldest. Drives that are trimmed in the order in which they were written have less to collect themselves.",
            &mut self.victim_slack,
            0..=1_000_000,
        );
        count_u32(
            visit,
            "appends",
            "Appends in flight on each drive; what comes meanwhile goes together in the next.",
            &mut self.appends,
            1..=256,
        );
        count_u32(
            visit,
            "collect_victims",
            "Rows that are collected at a time; one barrier makes durable what was moved out of several.",
            &mut self.collect_victims,
            2..=64,
        );
        count_u32(
            visit,
            "collect_depth",
            "Reads of collection in flight for each drive of the group; with tokens they wait for a round, so that more are needed.",
            &mut self.collect_depth,
            1..=4096,
        );
        visit.share(
            "collect_below",
            "A Log-RAID collects while fewer rows than this share are free, SWAN the next groups in turn until each has so many.",
            &mut self.collect_below,
            1_000..=500_000,
        );
        visit.share(
            "checkpoint_every",
            "The map is written whenever this share of the rows has been; recovery reads no more than them.",
            &mut self.checkpoint_every,
            1_000..=1_000_000,
        );
        visit.flag(
            "tokens",
            "One drive of a group at a time writes, flushes and collects, for an epoch; reads go around it. The rest is set in epoch.",
            &mut self.tokens,
        );
        choose(
            visit,
            "checksums",
            "Keeps a CRC-32C of each block and compares it with every read: a wrong block is computed from its stripe, or answered with an error. Takes 4 bytes of memory for each block, and doubles the size of a checkpoint. auto: on for arrays that are made on files or devices, which have no protection information of their own.",
            &mut self.checksums,
        );
        whole_blocks(visit, "segment", self.segment);
    }
}
