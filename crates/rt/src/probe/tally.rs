//! Result of a load on a drive.

use super::bench::Bound;
use super::profile::Profile;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Time};
use tailcut_host::BLOCK_BYTES;
use tailcut_pts::load::{Load, Order};

/// Result of a load.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The load that the results are of.
    pub load: Load,
    /// Latencies of the I/Os that count.
    pub latency: LatencyHistogram,
    /// Bytes of the I/Os that count.
    pub bytes: u64,
    /// Total time of the I/Os that count.
    pub took: Nanos,
    /// I/Os per second, over the I/Os that count.
    pub rate: f64,
    /// Times of stretches over all I/Os of the load, the warm-up included.
    pub profile: Profile,
    /// Start times and latencies of I/Os in order of completion; the first [`SAMPLES`] only.
    pub samples: Vec<(Time, Nanos)>,
    /// Number of I/Os that do not count, as warm-up.
    warm: u64,
    pub(super) counted_from: Time,
    /// When the next I/O may start.
    pub(super) due: Time,
    /// Number of the next I/O.
    pub(super) next: u64,
    pub(super) in_flight: u32,
}

/// Maximum number of samples per load.
pub const SAMPLES: usize = 1 << 17;

impl Tally {
    /// The tally of a load that starts now; an `Onward` load has issued `onward` I/Os before.
    pub(super) fn begin(load: Load, bound: Bound, onward: u64, now: Time) -> Tally {
        let each = load.sizes.most_bytes();
        // So that the load spans some hundred stretches.
        let least = bound.bytes.min(bound.ios.saturating_mul(each)) / 512;
        let warms = bound.warms && load.gap == Nanos::ZERO;
        let warm =
            if warms { (2 * u64::from(load.depth)).min(bound.ios.min(bound.bytes / each) / 4) } else { 0 };
        Tally {
            load,
            latency: LatencyHistogram::new(),
            bytes: 0,
            took: Nanos::ZERO,
            rate: 0.0,
            profile: Profile::new(least.min(MOST_STRETCH).next_multiple_of(each).max(each)),
            samples: Vec::new(),
            warm,
            counted_from: now,
            due: now,
            next: if load.order == Order::Onward { onward } else { 0 },
            in_flight: 0,
        }
    }

    /// Records the completion of an I/O of `bytes` bytes that started at `began`; the load started at
    /// `begun`.
    pub(super) fn ended(&mut self, bytes: u64, began: Time, begun: Time, now: Time) {
        self.profile.add(bytes, now.since(begun));
        if self.warm > 0 {
            self.warm -= 1;
            self.counted_from = now;
            return;
        }
        let latency = now.since(began);
        self.latency.record(latency);
        self.bytes += bytes;
        if self.samples.len() < SAMPLES {
            self.samples.push((began, latency));
        }
    }

    /// Bytes per second, over the I/Os that count.
    pub fn bandwidth(&self) -> f64 {
        let count = self.latency.count().max(1) as f64;
        self.rate * (self.bytes as f64 / count)
    }

    /// Number of blocks of 4 KiB of the load's largest I/O.
    pub fn blocks(&self) -> u64 {
        self.load.sizes.most_bytes().div_ceil(BLOCK_BYTES)
    }

    /// Mean latency in ns without the slowest hundredth: on a machine with other work, that reflects the
    /// machine more than the drive.
    pub fn trimmed_mean(&self) -> f64 {
        let mut left = self.latency.count() - self.latency.count() / 100;
        let (mut sum, mut count) = (0.0, 0);
        for (latency, times) in self.latency.buckets() {
            let taken = times.min(left);
            sum += latency.0 as f64 * taken as f64;
            (left, count) = (left - taken, count + taken);
        }
        if count == 0 { 0.0 } else { sum / count as f64 }
    }

    /// I/Os per second by Little's law from the trimmed mean: the rate of the drive without delays caused by
    /// the machine. For loads limited by their queue depth.
    pub fn unhurt_rate(&self) -> f64 {
        let mean = self.trimmed_mean();
        if mean == 0.0 { 0.0 } else { f64::from(self.load.depth) * 1e9 / mean }
    }

    /// A percentile of the latency in ns.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.latency.percentile(percent).0 as f64
    }
}

/// Maximum initial size of a stretch.
const MOST_STRETCH: u64 = 64 << 20;
