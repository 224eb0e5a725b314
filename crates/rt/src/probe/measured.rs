//! What a probe has found, as far as it came.

use super::bench::Failed;
use super::profile::Profile;
use super::stalls::Signature;
use super::tally::Tally;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_host::BLOCK_BYTES;

/// What is known of a drive. What was not reached is empty.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What the drive says of itself.
    pub identity: Identity,
    /// Random reads of 4 KiB, by depth, which is 1 first.
    pub reads: Vec<Tally>,
    /// Random reads of larger sizes, at depth 1 and deep.
    pub large_reads: Vec<Tally>,
    /// Reads in order, of the largest size and deep.
    pub sequential_read: Option<Tally>,
    /// Reads of 4 KiB in order, one after another: quicker than at random where the drive reads ahead.
    pub stream: Option<Tally>,
    /// Reads of a few blocks again and again: quicker where the drive keeps what it has read.
    pub again: Option<Tally>,
    /// What writing shows.
    pub writes: Writes,
    /// How the probe ended.
    pub end: End,
}

/// What a drive, or the way to it, says.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Its name.
    pub model: String,
    /// Blocks of 4 KiB.
    pub blocks: u64,
    /// Requests that it is given at a time, at the most.
    pub depth: u32,
    /// The most blocks of a request.
    pub most_blocks: u32,
    /// It says that its cache is volatile.
    pub volatile_cache: bool,
    /// Share of its blocks that are holes as far as the system knows: reading those costs nothing.
    pub holes: f64,
}

impl Identity {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.blocks * BLOCK_BYTES
    }
}

/// What writing shows.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// Share of the drive that was trimmed before.
    pub trimmed: f64,
    /// The first writes after a rest: what goes into a buffer, and then beyond it.
    pub burst: Option<Profile>,
    /// Writes in order over the whole region, once.
    pub fill: Option<Profile>,
    /// Blocks that were filled: where reads are measured.
    pub filled: u64,
    /// Random writes of 4 KiB by depth, after that and before collection can have begun.
    pub latency: Vec<Tally>,
    /// Reads one after another beside few writes, before collection can have begun.
    pub beside_few: Option<Tally>,
    /// Random writes of 4 KiB until their bandwidth is steady.
    pub overwrite: Option<Profile>,
    /// It became steady.
    pub is_settled: bool,
    /// Reads one after another beside few writes, when it is.
    pub beside_worn: Option<Tally>,
    /// The same beside as many writes as the drive takes.
    pub beside_all: Option<Tally>,
    /// A flush when there is nothing to be flushed.
    pub idle_flush: Option<LatencyHistogram>,
    /// A flush behind a single write.
    pub flush: Option<LatencyHistogram>,
    /// A trim of 1 MiB.
    pub trim: Option<LatencyHistogram>,
}

/// How a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With all that was to be measured.
    Complete,
    /// Somebody stopped it.
    Stopped,
    /// A request failed.
    Failed(Failed),
}

impl Measured {
    /// Nothing, of this drive.
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

    /// The typical latency of one read of 4 KiB by itself, in ns: its median, as a few of them may meet
    /// something.
    pub fn read_latency(&self) -> Option<f64> {
        self.reads.first().filter(|tally| tally.latency.count() > 0).map(|tally| tally.percentile(50.0))
    }

    /// The most bytes per second at which anything was read.
    pub fn read_bandwidth(&self) -> Option<f64> {
        let all = self.reads.iter().chain(&self.large_reads).chain(&self.sequential_read);
        all.map(Tally::bandwidth).reduce(f64::max)
    }

    /// The most reads of 4 KiB per second, without what held up the slowest of them.
    pub fn read_rate(&self) -> Option<f64> {
        self.reads.iter().map(Tally::unhurt_rate).reduce(f64::max)
    }

    /// The typical latency of one write of 4 KiB by itself, in ns.
    pub fn write_latency(&self) -> Option<f64> {
        let alone = self.writes.latency.first().filter(|tally| tally.latency.count() > 0);
        alone.map(|tally| tally.percentile(50.0))
    }

    /// How slow reads come while the drive collects.
    pub fn signature(&self) -> Option<Signature> {
        let worn = self.writes.beside_worn.as_ref()?;
        Some(Signature::of(&worn.samples, self.slow_from()?))
    }

    /// From where on a read that takes longer has met something that is not another read: what nearly all
    /// take alone.
    pub fn slow_from(&self) -> Option<Nanos> {
        let alone = self.reads.first().filter(|tally| tally.latency.count() > 0)?;
        Some(alone.latency.percentile(99.0) * 2)
    }

    /// Share of the drive that was filled before it was written at random. What was not is spare as well.
    pub fn filled(&self) -> f64 {
        self.writes.filled as f64 / self.identity.blocks.max(1) as f64
    }

    /// True when something was measured that only writing shows.
    pub fn has_writes(&self) -> bool {
        self.writes.fill.is_some()
    }
}

impl Writes {
    /// Bytes per second of the burst before a buffer is full, and how many it takes until then; if it was
    /// seen to be full.
    pub fn buffered(&self) -> Option<(f64, u64)> {
        let burst = self.burst.as_ref()?;
        let cliff = burst.cliff()?;
        Some((burst.typical_rate(cliff.at), cliff.at))
    }

    /// The most bytes per second at which writes were taken.
    pub fn peak(&self) -> Option<f64> {
        let burst =
            self.burst.as_ref().map(|burst| self.buffered().map_or(burst.settled_rate(), |(rate, _)| rate));
        burst.into_iter().chain(self.fill.as_ref().map(Profile::settled_rate)).reduce(f64::max)
    }

    /// Bytes per second in order, behind a fall if there is one.
    pub fn sequential(&self) -> Option<f64> {
        self.fill.as_ref().map(|fill| fill.cliff().map_or(fill.settled_rate(), |cliff| cliff.after))
    }

    /// Bytes per second at random: before the cliff and behind it. The first is what was measured before
    /// anything had to be collected, if a cliff was seen.
    pub fn random(&self) -> Option<(Option<f64>, f64)> {
        let overwrite = self.overwrite.as_ref()?;
        let cliff = overwrite.cliff();
        let after = cliff.map_or(overwrite.settled_rate(), |cliff| cliff.after);
        Some((cliff.map(|cliff| cliff.before), after))
    }
}
