//! The measurements of a probe, their order and their duration.

use super::Watch;
use super::bench::{Bench, Bound, Failed, Load, Order};
use super::measured::{End, Identity, Measured};
use super::pace::Pace;
use super::tally::Tally;
use crate::drive::Drive;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op};
use tailcut_host::BLOCK_BYTES;

/// Upper bounds on the effort per measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementLimits {
    /// Time per point of a curve.
    pub point: Nanos,
    /// I/Os per point of a curve.
    pub ios: u64,
    /// Bytes per point of a read curve.
    pub bytes: u64,
    /// Maximum time for the sequential fill; later measurements use the part filled by then.
    pub fill: Nanos,
    /// Maximum number of bytes of the sequential fill.
    pub fill_bytes: u64,
    /// Maximum time for random writes to become steady.
    pub overwrite: Nanos,
    /// Bytes to write at random before anything counts as steady, in percent of the filled bytes: a drive
    /// that has just been filled sequentially may have this much erased, and garbage collection begins only
    /// after it.
    pub unsteady: u64,
}

impl MeasurementLimits {
    /// Takes some minutes, most of them for writes.
    pub const FULL: MeasurementLimits = MeasurementLimits {
        point: Nanos::secs(2),
        ios: 1 << 20,
        bytes: u64::MAX,
        fill: Nanos::secs(300),
        fill_bytes: u64::MAX,
        overwrite: Nanos::secs(600),
        unsteady: 100,
    };

    /// Takes half a minute: enough for the curves, and for the cliff of a small drive.
    pub const QUICK: MeasurementLimits = MeasurementLimits {
        point: Nanos::millis(250),
        ios: 1 << 16,
        fill: Nanos::secs(10),
        overwrite: Nanos::secs(20),
        ..MeasurementLimits::FULL
    };

    /// Upper bound of the time of a whole probe, without draining I/Os at the end of each measurement.
    pub fn most(&self, is_destroying: bool) -> Nanos {
        let writing = self.point * WRITE_POINTS + self.fill + self.overwrite;
        self.point * READ_POINTS + if is_destroying { writing } else { Nanos::ZERO }
    }

    /// The effort with times scaled down or up, so that a whole probe takes at most `total`.
    pub fn within(self, total: Nanos, is_destroying: bool) -> MeasurementLimits {
        let most = u128::from(self.most(is_destroying).0);
        let scaled = |time: Nanos| Nanos((u128::from(time.0) * u128::from(total.0) / most) as u64);
        let (point, fill, overwrite) = (scaled(self.point), scaled(self.fill), scaled(self.overwrite));
        MeasurementLimits { point, fill, overwrite, ..self }
    }
}

/// Points of the part `Reads`: depths, sizes, sequential, stream, repeated.
const READ_POINTS: u64 = 9 + 4 + 3;
/// Points of the other parts: trim, burst, depths, reads beside writes three times (two points each), flush
/// and trim three times.
const WRITE_POINTS: u64 = 2 + 6 + 6 + 3;

/// Queue depths of the read curve, and of the write curve.
const READ_DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const WRITE_DEPTHS: [u32; 6] = [1, 4, 16, 32, 64, 256];

/// Blocks of larger I/Os: 64 KiB and 1 MiB.
const LARGE: [u32; 2] = [16, 256];

/// Queue depth of larger I/Os.
const LARGE_DEPTH: u32 = 16;

/// Queue depth and blocks per I/O of sequential writes; queue depth of random overwrites.
const FILL: (u32, u32) = (16, 32);
const OVERWRITE_DEPTH: u32 = 32;

/// Number of blocks of the repeated reads.
const AGAIN: u64 = 64;

/// Maximum bytes of the burst: more than a buffer holds.
const BURST: u64 = 128 << 20;

/// Idle time before a measurement, since the drive may still write buffered data.
const REST: Nanos = Nanos::millis(300);

/// Share of the bandwidth that few writes take, in percent: they keep each chip busy for about this share of
/// its time, so about as many reads collide with one.
const FEW: u64 = 20;

/// Bytes that a point of the write curve may write, unless a hundredth of the drive is more.
const LEAST_WRITTEN: u64 = 4 << 20;

/// A group of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All measurements of reads. Writes nothing.
    Reads,
    /// The drive is trimmed, then written sequentially.
    Fresh,
    /// Few writes on a drive with data, before garbage collection.
    Light,
    /// Writes into garbage collection, and reads beside them.
    Worn,
    /// Latencies of flushes and trims.
    Calls,
}

impl Part {
    /// All parts, in the order of a probe that may destroy all data.
    pub const ALL: [Part; 5] = [Part::Fresh, Part::Reads, Part::Light, Part::Worn, Part::Calls];
}

/// Measures a drive, part by part.
pub struct Prober<'a, D, P> {
    bench: Bench<'a, D, P>,
    effort: MeasurementLimits,
    depth: u32,
}

impl<'a, D: Drive, P: Pace> Prober<'a, D, P> {
    /// A prober of the whole drive.
    pub fn new(
        drive: D,
        pace: P,
        effort: MeasurementLimits,
        seed: u64,
        watch: &'a dyn Watch,
    ) -> Prober<'a, D, P> {
        let depth = drive.disk().depth;
        Prober { bench: Bench::new(drive, pace, seed, watch), effort, depth }
    }

    /// Restricts the prober to the first blocks, which hold data.
    pub fn within(mut self, blocks: u64) -> Prober<'a, D, P> {
        self.bench.region.end = blocks.min(self.bench.region.end);
        self
    }

    /// Empty results with the drive's identity.
    pub fn nothing(&self) -> Measured {
        let (drive, disk) = (self.bench.drive(), self.bench.drive().disk());
        let mut random = Stream::new(1, "holes");
        let is_hole = |_: &u64| drive.extent(random.below(disk.blocks), 1).is_zero;
        let holes = (0..HOLES).filter(is_hole).count() as f64 / HOLES as f64;
        Measured::nothing(Identity {
            model: drive.identify().model,
            blocks: disk.blocks,
            depth: disk.depth,
            most_blocks: disk.most_blocks,
            volatile_cache: disk.volatile_cache,
            holes,
        })
    }

    /// Runs some parts in order, up to the first that cannot be measured.
    pub fn measure(&mut self, parts: &[Part], into: &mut Measured) {
        for &part in parts {
            let done = self.part(part, into);
            into.end = match done {
                Err(failed) => End::Failed(failed),
                Ok(()) if self.bench.watch().is_stopped() => End::Stopped,
                Ok(()) => continue,
            };
            return;
        }
    }

    fn part(&mut self, part: Part, into: &mut Measured) -> Result<(), Failed> {
        match part {
            Part::Reads => self.reads(into),
            Part::Fresh => self.fresh(into),
            Part::Light => self.light(into),
            Part::Worn => self.worn(into),
            Part::Calls => self.calls(into),
        }
    }

    fn begins(&self, what: &str) {
        self.bench.watch().begins(what);
    }

    fn is_stopped(&self) -> bool {
        self.bench.watch().is_stopped()
    }

    fn point(&mut self, load: Load) -> Result<Tally, Failed> {
        let MeasurementLimits { point, ios, bytes, .. } = self.effort;
        // Few writes, so that the cliff is still ahead when it is measured.
        let region = (self.bench.region.end - self.bench.region.start) * BLOCK_BYTES;
        let bytes = if load.has_writes() { (region / 100).max(LEAST_WRITTEN) } else { bytes };
        let bound = Bound { time: point, ios, bytes, settles: 0, warms: true };
        let mut tally = self.bench.run(&[load], bound)?.remove(0);
        // Only the histogram of a point is used.
        tally.samples = Vec::new();
        Ok(tally)
    }

    /// The depths of a curve that the drive supports, including its own maximum.
    fn depths(&self, of: &[u32]) -> Vec<u32> {
        let mut depths: Vec<u32> = of.iter().map(|&depth| depth.min(self.depth)).collect();
        depths.dedup();
        depths
    }

    fn curve(&mut self, op: Op, depths: &[u32], into: &mut Vec<Tally>) -> Result<(), Failed> {
        for depth in self.depths(depths) {
            if self.is_stopped() {
                break;
            }
            self.begins(&format!("random {op}s of 4 KiB, {depth} at a time"));
            into.push(self.point(Load::random(op, depth))?);
        }
        Ok(())
    }

    fn reads(&mut self, into: &mut Measured) -> Result<(), Failed> {
        self.curve(Op::Read, &READ_DEPTHS, &mut into.reads)?;
        for blocks in LARGE {
            for depth in [1, LARGE_DEPTH] {
                if self.is_stopped() {
                    return Ok(());
                }
                self.begins(&format!("random reads of {} KiB, {depth} at a time", blocks * 4));
                into.large_reads.push(self.point(Load::random(Op::Read, depth).of_blocks(blocks))?);
            }
        }
        self.begins("reads in order");
        let in_order = |depth, blocks| Load {
            order: Order::Sequential,
            ..Load::random(Op::Read, depth).of_blocks(blocks)
        };
        into.sequential_read = Some(self.point(in_order(LARGE_DEPTH, LARGE[1]))?);
        self.begins("reads of 4 KiB in order, one after another");
        into.stream = Some(self.point(in_order(1, 1))?);
        self.begins("reads of the same blocks again");
        let region = self.bench.region.clone();
        let somewhere = self.bench.somewhere(AGAIN as u32);
        self.bench.region = somewhere..somewhere + AGAIN.min(region.end - region.start);
        let again = self.point(Load::random(Op::Read, 1));
        self.bench.region = region;
        into.again = Some(again?);
        Ok(())
    }

    fn fresh(&mut self, into: &mut Measured) -> Result<(), Failed> {
        into.writes.trimmed = self.trim_all();
        self.begins("a burst of writes after a rest");
        self.bench.rest(REST);
        let (depth, blocks) = FILL;
        let load = Load { order: Order::Sequential, ..Load::random(Op::Write, depth).of_blocks(blocks) };
        let bound = Bound { time: self.effort.point, ios: u64::MAX, bytes: BURST, settles: 0, warms: true };
        into.writes.burst = Some(self.bench.run(&[load], bound)?.remove(0).profile);
        if self.is_stopped() {
            return Ok(());
        }
        self.begins("filling the drive in order");
        let all = self.bench.region.end * BLOCK_BYTES;
        let bytes = all.min(self.effort.fill_bytes);
        let bound = Bound { time: self.effort.fill, ios: u64::MAX, bytes, settles: 0, warms: true };
        let fill = self.bench.run(&[load], bound)?.remove(0).profile;
        let filled = (fill.total() / BLOCK_BYTES).min(self.bench.region.end);
        // Reads of blocks that were never written would take no time.
        self.bench.region = 0..filled.max(1);
        (into.writes.filled, into.writes.fill) = (filled, Some(fill));
        Ok(())
    }

    /// Trims the drive as far as time allows; returns the share that was trimmed.
    fn trim_all(&mut self) -> f64 {
        self.begins("trimming the drive");
        self.bench.trim(self.effort.point)
    }

    fn light(&mut self, into: &mut Measured) -> Result<(), Failed> {
        // On an idle drive: earlier writes are still being programmed.
        self.bench.rest(REST);
        self.curve(Op::Write, &WRITE_DEPTHS, &mut into.writes.latency)?;
        let deepest = into.writes.latency.last().map(Tally::bandwidth);
        let (Some(random), Some(in_order)) = (deepest, into.writes.sequential()) else { return Ok(()) };
        self.bench.rest(REST);
        self.begins("reads beside few writes");
        into.writes.beside_few = Some(self.beside(Some(random.min(in_order)))?);
        Ok(())
    }

    /// Reads at depth 1 beside few writes on a drive that can write `rate` bytes per second; without a rate,
    /// beside as many writes as the drive accepts.
    fn beside(&mut self, rate: Option<f64>) -> Result<Tally, Failed> {
        let gap = rate.map_or(0.0, |rate| BLOCK_BYTES as f64 * 1e9 * 100.0 / (FEW as f64 * rate.max(1.0)));
        let writes =
            Load { gap: Nanos(gap as u64), ..Load::random(Op::Write, OVERWRITE_DEPTH.min(self.depth)) };
        let MeasurementLimits { point, ios, .. } = self.effort;
        let bound = Bound { time: point * 2, ios, bytes: u64::MAX, settles: 0, warms: true };
        Ok(self.bench.run(&[Load::random(Op::Read, 1), writes], bound)?.remove(0))
    }

    fn worn(&mut self, into: &mut Measured) -> Result<(), Failed> {
        self.begins("writing at random until it is steady");
        let filled = (self.bench.region.end - self.bench.region.start) * BLOCK_BYTES;
        let settles = filled * self.effort.unsteady.max(1) / 100;
        let bound = Bound {
            time: self.effort.overwrite,
            ios: u64::MAX,
            bytes: settles.saturating_mul(8),
            settles,
            warms: true,
        };
        let load = Load::random(Op::Write, OVERWRITE_DEPTH.min(self.depth));
        let profile = self.bench.run(&[load], bound)?.remove(0).profile;
        into.writes.is_settled = profile.total() >= settles && profile.is_steady(settles);
        into.writes.overwrite = Some(profile);
        if self.is_stopped() {
            return Ok(());
        }
        self.begins("reads beside all the writes that it takes");
        into.writes.beside_all = Some(self.beside(None)?);
        let rate = into.writes.random().map(|(_, after)| after);
        self.bench.rest(REST);
        self.begins("reads beside few writes, when it is steady");
        into.writes.beside_worn = Some(self.beside(rate)?);
        Ok(())
    }

    fn calls(&mut self, into: &mut Measured) -> Result<(), Failed> {
        self.begins("flushes and trims");
        self.bench.rest(REST);
        into.writes.idle_flush = Some(self.repeat(|bench| bench.one(Op::Flush, 0, 0))?);
        into.writes.flush = Some(self.repeat(|bench| {
            let block = bench.somewhere(1);
            bench.one(Op::Write, block, 1)?;
            bench.one(Op::Flush, 0, 0)
        })?);
        // Support for trim is optional.
        into.writes.trim = self
            .repeat(|bench| {
                let blocks = u64::from(LARGE[1]).min(bench.region.end - bench.region.start) as u32;
                let block = bench.somewhere(blocks);
                bench.one(Op::Trim, block, blocks)
            })
            .ok();
        Ok(())
    }

    fn repeat(
        &mut self,
        mut once: impl FnMut(&mut Bench<'a, D, P>) -> Result<Nanos, Failed>,
    ) -> Result<LatencyHistogram, Failed> {
        let mut latency = LatencyHistogram::new();
        let mut spent = Nanos::ZERO;
        while latency.count() < CALLS && spent < self.effort.point && !self.is_stopped() {
            let took = once(&mut self.bench)?;
            latency.record(took);
            spent += took;
        }
        Ok(latency)
    }
}

/// Number of addresses to check for holes.
const HOLES: u64 = 256;

/// Number of flushes, or trims, to measure.
const CALLS: u64 = 200;
