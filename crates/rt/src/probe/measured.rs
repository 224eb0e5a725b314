//! Results of a probe, as far as it got.

use super::bench::Failed;
use super::profile::Profile;
use super::stalls::Signature;
use super::tally::Tally;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_host::BLOCK_BYTES;

/// Results for a drive. Measurements that were not reached are empty.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Model, size and limits that the drive reports.
    pub identity: Identity,
    /// Random reads of 4 KiB, by queue depth, in ascending order from 1.
    pub reads: Vec<Tally>,
    /// Random reads of larger sizes, at depth 1 and at a high depth.
    pub large_reads: Vec<Tally>,
    /// Sequential reads of the largest size at a high depth.
    pub sequential_read: Option<Tally>,
    /// Sequential reads of 4 KiB at depth 1: faster than random ones if the drive reads ahead.
    pub stream: Option<Tally>,
    /// Repeated reads of a few blocks: faster if the drive caches reads.
    pub again: Option<Tally>,
    /// Results of the measurements that write; empty where none were made.
    pub writes: Writes,
    /// Whether the probe made all measurements, was cancelled, or met a failed request.
    pub end: End,
}

/// Identity that a drive, or the path to it, reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Model name that the drive reports.
    pub model: String,
    /// Size of the drive in blocks of 4 KiB.
    pub blocks: u64,
    /// Maximum number of requests in flight that the drive accepts.
    pub depth: u32,
    /// Maximum number of blocks of 4 KiB per request.
    pub most_blocks: u32,
    /// Whether the drive reports a volatile cache.
    pub volatile_cache: bool,
    /// Share of its blocks, 0 … 1, that the file system reports as holes; reading a hole needs no I/O.
    pub holes: f64,
}

impl Identity {
    /// Size of the drive in bytes.
    pub fn bytes(&self) -> u64 {
        self.blocks * BLOCK_BYTES
    }
}

/// Results of the measurements that write to the drive.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// Share of the drive that was trimmed before the measurements, 0 … 1.
    pub trimmed: f64,
    /// The first writes after idle time: at the speed of the buffer, and then beyond it.
    pub burst: Option<Profile>,
    /// Sequential writes over the whole region, once.
    pub fill: Option<Profile>,
    /// Number of filled blocks, which is the region for reads.
    pub filled: u64,
    /// Random writes of 4 KiB by queue depth, after the fill and before garbage collection can have begun.
    pub latency: Vec<Tally>,
    /// Reads at depth 1 beside few writes, before garbage collection can have begun.
    pub beside_few: Option<Tally>,
    /// Random writes of 4 KiB until their bandwidth is steady.
    pub overwrite: Option<Profile>,
    /// Whether the bandwidth of the random writes became steady.
    pub is_settled: bool,
    /// Reads at depth 1 beside few writes, in the steady state.
    pub beside_worn: Option<Tally>,
    /// Reads at depth 1 beside as many writes as the drive accepts, in the steady state.
    pub beside_all: Option<Tally>,
    /// Latency of a flush without prior writes.
    pub idle_flush: Option<LatencyHistogram>,
    /// Latency of a flush after a single write.
    pub flush: Option<LatencyHistogram>,
    /// Latency of a trim of 1 MiB.
    pub trim: Option<LatencyHistogram>,
}

/// How a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All measurements were made.
    Complete,
    /// The probe was cancelled.
    Stopped,
    /// A request of the probe failed.
    Failed(Failed),
}

impl Measured {
    /// Empty results for this drive.
    pub fn nothing(identity: Identity) -> Measured {
        Measured {
            identity,
            reads: Vec::new(),
            large_reads: Vec::new(),
            sequential_read: None,
            stream: None,
            again: None,
            writes: Writes::default(),
            end: End::Complete,
        }
    }

    /// Typical latency of a single read of 4 KiB, in ns: the median, since a few reads may collide with other
    /// work.
    pub fn read_latency(&self) -> Option<f64> {
        self.reads.first().filter(|tally| tally.latency.count() > 0).map(|tally| tally.percentile(50.0))
    }

    /// Maximum read bandwidth in bytes per second.
    pub fn read_bandwidth(&self) -> Option<f64> {
        let all = self.reads.iter().chain(&self.large_reads).chain(&self.sequential_read);
        all.map(Tally::bandwidth).reduce(f64::max)
    }

    /// Maximum rate of 4 KiB reads per second, without the delays of the slowest ones.
    pub fn read_rate(&self) -> Option<f64> {
        self.reads.iter().map(Tally::unhurt_rate).reduce(f64::max)
    }

    /// Typical latency of a single write of 4 KiB, in ns.
    pub fn write_latency(&self) -> Option<f64> {
        let alone = self.writes.latency.first().filter(|tally| tally.latency.count() > 0);
        alone.map(|tally| tally.percentile(50.0))
    }

    /// The pattern of slow reads during garbage collection.
    pub fn signature(&self) -> Option<Signature> {
        let worn = self.writes.beside_worn.as_ref()?;
        Some(Signature::of(&worn.samples, self.slow_from()?))
    }

    /// Latency from which on a read has collided with something other than a read: that of nearly all reads
    /// at depth 1.
    pub fn slow_from(&self) -> Option<Nanos> {
        let alone = self.reads.first().filter(|tally| tally.latency.count() > 0)?;
        Some(alone.latency.percentile(99.0) * 2)
    }

    /// Share of the drive that was filled before random writes. The rest acts as spare space.
    pub fn filled(&self) -> f64 {
        self.writes.filled as f64 / self.identity.blocks.max(1) as f64
    }

    /// True if anything was measured that needs writes.
    pub fn has_writes(&self) -> bool {
        self.writes.fill.is_some()
    }
}

impl Writes {
    /// Bandwidth of the burst until the buffer is full, in bytes per second, and the bytes written until
    /// then; None if it was not seen to fill.
    pub fn buffered(&self) -> Option<(f64, u64)> {
        let burst = self.burst.as_ref()?;
        let cliff = burst.cliff()?;
        Some((burst.typical_rate(cliff.at), cliff.at))
    }

    /// Maximum write bandwidth in bytes per second.
    pub fn peak(&self) -> Option<f64> {
        let burst =
            self.burst.as_ref().map(|burst| self.buffered().map_or(burst.settled_rate(), |(rate, _)| rate));
        burst.into_iter().chain(self.fill.as_ref().map(Profile::settled_rate)).reduce(f64::max)
    }

    /// Sequential write bandwidth in bytes per second, after a cliff if there is one.
    pub fn sequential(&self) -> Option<f64> {
        self.fill.as_ref().map(|fill| fill.cliff().map_or(fill.settled_rate(), |cliff| cliff.after))
    }

    /// Random write bandwidth in bytes per second, before and after the cliff. The first value is from before
    /// garbage collection, and present only if a cliff was seen.
    pub fn random(&self) -> Option<(Option<f64>, f64)> {
        let overwrite = self.overwrite.as_ref()?;
        let cliff = overwrite.cliff();
        let after = cliff.map_or(overwrite.settled_rate(), |cliff| cliff.after);
        Some((cliff.map(|cliff| cliff.before), after))
    }
}
