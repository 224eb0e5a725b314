//! Configuration of log layouts.

use crate::array::config::whole_blocks;
use crate::disk::BLOCK_BYTES;
use tailcut_base::cast::to_u32;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};

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
    /// Whether an array keeps a checksum of each block.
    pub enum BlockChecksums {
        /// Only if some of its drives have no protection information; decided at creation. The drives of a
        /// simulated array count as having it.
        Auto = "auto",
        /// Keep checksums.
        On = "on",
        /// Keep no checksums.
        Off = "off",
    }
}

/// Configuration of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// Segment size in bytes on one drive (SWAN, section 4.1: 1 MiB).
    pub segment: u64,
    /// Share of the capacity for data that is withheld from the host, in parts per million.
    pub spare: u32,
    /// Choice of the rows to collect.
    pub victim: VictimChoice,
    /// Share of a row by which an older victim may have more valid blocks than the emptiest if emptiness
    /// decides, in parts per million.
    pub victim_slack: u32,
    /// Concurrent appends on each drive for one open row.
    pub appends: u32,
    /// Number of victim rows that are collected at the same time.
    pub collect_victims: u32,
    /// Concurrent collection reads for each drive of the group. With tokens they wait for a round of them.
    pub collect_depth: u32,
    /// Share of free rows of a group below which it is collected, in parts per million.
    pub collect_below: u32,
    /// Share of rows after whose writing a checkpoint is due, in parts per million.
    pub checkpoint_every: u32,
    /// Heavy-I/O tokens: one drive of a group at a time writes, flushes and collects; reads avoid it (Shin
    /// 2017, chapter 5, with parity in place of copies). Further settings of tokens are in
    /// [`EpochConfig`](crate::array::epoch::EpochConfig).
    pub tokens: bool,
    /// Whether a checksum of each block is kept.
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
    /// Number of blocks of 4 KiB in a segment.
    pub fn segment_blocks(&self) -> u32 {
        to_u32(self.segment / BLOCK_BYTES)
    }

    /// Restores the settings fixed at creation from a superblock: bytes per segment, spare, and whether the
    /// array keeps checksums (0: no).
    pub(in crate::array) fn keep(&mut self, [segment, spare, has_checksums, ..]: [u64; 8]) {
        (self.segment, self.spare) = (segment, to_u32(spare));
        self.checksums = if has_checksums == 0 { BlockChecksums::Off } else { BlockChecksums::On };
    }

    /// True if the array keeps checksums of its blocks.
    pub fn has_checksums(&self) -> bool {
        self.checksums == BlockChecksums::On
    }
}

impl Configure for LogConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
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
            "Rows that have so much more that is valid than the emptiest are as good to the greedy choice: \
                it takes the oldest. Drives that are trimmed in the order in which they were written have \
                less to collect themselves.",
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
            "Reads of collection in flight for each drive of the group; with tokens they wait for a round, \
                so that more are needed.",
            &mut self.collect_depth,
            1..=4096,
        );
        visit.share(
            "collect_below",
            "A Log-RAID collects while fewer rows than this share are free, SWAN the next groups in turn \
                until each has so many.",
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
            "One drive of a group at a time writes, flushes and collects, for an epoch; reads go around it. \
                The rest is set in epoch.",
            &mut self.tokens,
        );
        choose(
            visit,
            "checksums",
            "Keeps a checksum of each block and compares it with every read: a wrong block is computed from \
                its stripe, or answered with an error. Takes 4 bytes of memory for each block, and doubles \
                the size of a checkpoint. auto: on for arrays that are made on files or devices, which have \
                no protection information of their own.",
            &mut self.checksums,
        );
        whole_blocks(visit, "segment", self.segment);
    }
}
