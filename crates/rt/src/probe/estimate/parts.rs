//! Estimates link, controller, channels and chips from reads.

use super::writes::is_buffered;
use super::{Estimate, PAGE, Provenance};
use crate::probe::Tally;
use crate::probe::measured::Measured;
use tailcut_base::Nanos;
use tailcut_base::quantity::{show_count, show_rate, show_time};

/// A bandwidth below this share of the link's is not limited by the link.
const BELOW: f64 = 0.9;

/// How much wider channels are assumed to be than the link, where the link hides them.
const WIDER: f64 = 1.25;

/// Maximum share of a read spent on the bus where the bus was not observed: beyond it the preset's bus is
/// considered too slow.
const BUS_PART: f64 = 0.25;

/// Minimum share of a read spent on its cells.
const CELL_PART: f64 = 0.1;

/// The number of chips implied by a point of the curve.
struct Point {
    units: f64,
    /// A lower bound: the queueing delay is no more than noise.
    is_bound: bool,
}

/// A curve is flat where doubling the depth gains less than this factor; differences below it are not
/// significant.
const FLAT: f64 = 1.25;

/// Share of the queueing delay that a single queue has to explain.
const EXPLAINED: f64 = 0.5;

/// Blocks of the largest reads of a probe.
const LARGEST: u32 = 256;

/// Mean waiting time at a server with service time `service` and utilization `load` (M/D/1).
fn wait(service: f64, load: f64) -> f64 {
    service * load / (2.0 * (1.0 - load.min(0.95)))
}

/// Points of a curve indicate the number of chips while the curve rises, and if their queueing delay exceeds
/// noise.
const RISING: f64 = 0.8;
const NOISE: f64 = 0.03;

impl Estimate {
    /// The link carries the maximum measured bandwidth in either direction.
    pub(super) fn link(&mut self, measured: &Measured) {
        let read = measured.read_bandwidth().unwrap_or(0.0);
        let written = measured.writes.peak().unwrap_or(0.0);
        let rate = read.max(written);
        self.config.link.rate = (rate as u64).clamp(1_000_000, 1_000_000_000_000);
        self.config.link.command = Nanos::ZERO;
        let why = if written > read {
            format!(
                "the most bytes per second of all measurements, those of a burst of writes ({} read)",
                show_rate(read)
            )
        } else {
            String::from(
                "the most bytes per second of all measurements, read; the link, or all channels together",
            )
        };
        self.is("link.rate", Provenance::Measured, why);
        self.is("link.command", Provenance::Assumed, "none beside what `queue.firmware` holds");
        self.commands(measured);
        self.assume("link.half_duplex", "reads and writes at once were not measured");
    }

    /// Where large reads transfer more pages per second than small ones at any depth, small reads may be
    /// limited by a cost per command on the way to the drive, or by chips, if these read several pages of a
    /// large read at a time. In the first case there is one server for all, and the queueing delay of reads
    /// while the curve rises follows from its load (M/D/1).
    fn commands(&mut self, measured: &Measured) {
        let (most, carried) = (measured.read_rate().unwrap_or(0.0), self.config.link.rate as f64);
        let read = measured.read_bandwidth().unwrap_or(0.0) / PAGE as f64;
        let [.., before, last] = measured.reads.as_slice() else { return };
        let is_flat = last.unhurt_rate() < FLAT * before.unhurt_rate();
        if !is_flat || read < FLAT * most {
            return;
        }
        let each = 1e9 / most;
        let command = each - PAGE as f64 * 1e9 / carried;
        let alone = measured.reads[0].trimmed_mean();
        let (mut explained, mut waited) = (0.0, 0.0);
        for tally in
            measured.reads.iter().filter(|tally| tally.load.depth > 1 && tally.unhurt_rate() < RISING * most)
        {
            let others = 1.0 - 1.0 / f64::from(tally.load.depth);
            explained += wait(each, others * tally.unhurt_rate() / most);
            waited += tally.trimmed_mean() - alone;
        }
        if command <= 0.0 || explained < EXPLAINED * waited {
            return;
        }
        self.config.link.command = Nanos(command as u64).min(Nanos::millis(1));
        // The maximum bandwidth includes commands as well.
        let largest = measured.identity.most_blocks.min(LARGEST) as f64 * PAGE as f64;
        let rate = largest / (largest / carried - command / 1e9).max(0.1 * largest / carried);
        self.config.link.rate = (rate as u64).min(1_000_000_000_000);
        let why = format!(
            "no more than {} reads of 4 KiB per second at any depth, although larger ones bring {}, and a \
             queue before one server explains how long they wait",
            show_count(most),
            show_rate(read * PAGE as f64)
        );
        self.is("link.command", Provenance::Derived, why);
        self.is(
            "link.rate",
            Provenance::Derived,
            "the most bytes per second of all measurements, without the time of commands",
        );
    }

    /// Divides the latency of a single read into its parts.
    pub(super) fn latencies(&mut self, measured: &Measured, latency: f64) {
        self.channels(measured, latency);
        self.firmware(measured, latency);
        let rest = latency - self.bus_time() - self.link_time() - self.config.queue.firmware.0 as f64;
        let cell = Nanos(rest.max(CELL_PART * latency).max(1.0) as u64);
        let first = &measured.reads[0];
        // Half of a uniform distribution lies within half of its width.
        let jitter = Nanos(((first.percentile(75.0) - first.percentile(25.0)) as u64).min(cell.0 / 2));
        let is_noise = (jitter.0 as f64) < 0.02 * latency;
        let timing = &mut self.config.timing;
        timing.read = vec![cell];
        timing.read_jitter = if is_noise { Nanos::ZERO } else { jitter };
        let why = format!(
            "the median read of 4 KiB by itself, {}, without its times on bus, link and in the controller; \
             one for all pages",
            show_time(latency)
        );
        self.is("timing.read", Provenance::Derived, why);
        let why = "what lies between the first and third quartile of these reads; none below 2 %";
        self.is("timing.read_jitter", Provenance::Measured, why);
    }

    /// Channels are visible where they carry less than the link.
    fn channels(&mut self, measured: &Measured, latency: f64) {
        let (link, read) = (self.config.link.rate as f64, measured.read_bandwidth().unwrap_or(0.0));
        let least_bus = PAGE as f64 * 1e9 / (BUS_PART * latency);
        let is_too_slow = self.bus_time() > BUS_PART * latency;
        if is_too_slow {
            self.config.timing.bus = (least_bus as u64).clamp(1_000_000, 100_000_000_000);
            self.config.timing.cycle = Nanos::ZERO;
            let why = "so that a page takes a quarter of a read on it: that of the preset would take longer";
            self.is("timing.bus", Provenance::Assumed, why);
            self.is("timing.cycle", Provenance::Assumed, "part of that");
        } else {
            self.assume("timing.bus", "only the rate of all channels together can be seen");
            self.assume("timing.cycle", "part of the time on the bus");
        }
        let each = PAGE as f64 * 1e9 / self.bus_time();
        if read < BELOW * link {
            let channels = (read / each).round().clamp(1.0, 256.0);
            self.config.geometry.channels = channels as u32;
            let why =
                format!("the {} at which it was read at the most, by the rate of a bus", show_rate(read));
            return self.is("geometry.channels", Provenance::Derived, why);
        }
        let channels = (WIDER * link / each).ceil().clamp(1.0, 256.0);
        self.config.geometry.channels = channels as u32;
        let why = "so many that they carry a quarter more than the link, behind which they cannot be seen";
        self.is("geometry.channels", Provenance::Assumed, why);
    }

    /// A write into a buffer does not touch flash: beyond the link, its latency is that of the controller and
    /// of the path to the drive.
    fn firmware(&mut self, measured: &Measured, latency: f64) {
        let buffered = measured.write_latency().filter(|_| is_buffered(measured));
        let Some(write) = buffered else {
            self.config.queue.firmware = self.config.queue.firmware.min(Nanos((0.2 * latency) as u64));
            return self.assume("queue.firmware", "no write that ends in a buffer was measured");
        };
        let firmware = (write - self.link_time()).clamp(0.0, 0.5 * latency);
        self.config.queue.firmware = Nanos(firmware as u64);
        let why = format!(
            "a write of 4 KiB by itself takes {}; that beside the link, and what system and program take",
            show_time(write)
        );
        self.is("queue.firmware", Provenance::Derived, why);
    }

    /// Number of chips that serve reads independently. If reads saturate below the bandwidth of link and
    /// channels, the saturated rate is that of all chips. Otherwise the number follows from queueing: of `Q`
    /// reads at random chips, each finds a chip with the load `r` that the other `Q - 1` put on it, and waits
    /// `S r / 2 (1 - r)` if the service time is `S` (M/D/1, with the arrival theorem of closed networks for
    /// `r`: Reiser and Lavenberg, JACM 1980).
    pub(super) fn units(&mut self, measured: &Measured) {
        let (service, alone) = (self.service_time(), measured.reads[0].trimmed_mean());
        let most = measured.read_rate().unwrap_or(0.0);
        // Where commands limit small reads, only large ones show the bandwidth of the chips.
        let large = measured.read_bandwidth().unwrap_or(0.0) / PAGE as f64;
        let served = if self.config.link.command > Nanos::ZERO { most.max(large) } else { most };
        let least = served * service / 1e9;
        let carried = (self.config.link.rate as f64).min(measured.read_bandwidth().unwrap_or(f64::MAX));
        let is_bound_by_chips = most * (PAGE as f64) < RISING * carried;
        let points = || measured.reads.iter().filter_map(|tally| self.seen(tally, alone, most));
        let seen = median(points().filter(|point| !point.is_bound).map(|point| point.units).collect());
        let hidden = points().map(|point| point.units).fold(least, f64::max);
        let (units, why) = match seen {
            Some(units) => {
                (units.max(least), "from how long reads wait for each other where the curve rises")
            }
            None if is_bound_by_chips => (least, "from the most reads per second, by what each takes a chip"),
            None => (hidden, "as reads hardly wait for each other; more would not show"),
        };
        let channels = f64::from(self.config.geometry.channels);
        let chips = (units / channels).round().max(1.0);
        if units < channels / 2.0 {
            // Fewer chips than channels: the total bandwidth of the channels is kept.
            self.narrow(units.round().max(1.0));
        }
        let geometry = &mut self.config.geometry;
        (geometry.chips, geometry.dies) = ((chips as u32).min(256), 1);
        self.is("geometry.chips", Provenance::Derived, why);
        self.is(
            "geometry.dies",
            Provenance::Assumed,
            "each chip is one die: that dies share a chip cannot be seen",
        );
    }

    fn narrow(&mut self, channels: f64) {
        let before = f64::from(self.config.geometry.channels);
        let rate = self.config.timing.bus as f64 * before / channels;
        self.config.timing.bus = (rate as u64).min(100_000_000_000);
        self.config.geometry.channels = channels as u32;
        self.is("geometry.channels", Provenance::Derived, "one for each chip that can be told");
        self.is("timing.bus", Provenance::Derived, "so that all channels carry what was measured");
    }

    /// The number of chips implied by a point of the curve.
    fn seen(&self, tally: &Tally, alone: f64, most: f64) -> Option<Point> {
        let depth = f64::from(tally.load.depth);
        if depth < 2.0 || tally.unhurt_rate() > RISING * most || tally.latency.count() == 0 {
            return None;
        }
        let others = (depth - 1.0) / depth;
        let on_link = others * tally.unhurt_rate() * self.link_time() / 1e9;
        let on_bus =
            others * tally.unhurt_rate() * self.bus_time() / 1e9 / f64::from(self.config.geometry.channels);
        let for_bus = wait(self.bus_time(), on_bus);
        let waited = tally.trimmed_mean() - alone - wait(self.link_time(), on_link) - for_bus;
        let is_bound = waited < NOISE * alone;
        let waited = waited.max(NOISE * alone);
        // A chip is busy while its data waits for the bus.
        let service = self.service_time() + for_bus;
        let load = 2.0 * waited / (service + 2.0 * waited) / others;
        Some(Point { units: tally.unhurt_rate() * service / 1e9 / load, is_bound })
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
