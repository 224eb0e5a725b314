//! A simulated drive that resembles the measured one, with the reason for each key.
//!
//! Each value follows from measurements by a formula, given where it is used; only the division into channels
//! and chips is found by search ([`refine`]). The simulated drive is then probed as well
//! ([`check`](super::check)), which shows the error of the formulas.

mod nearest;
mod parts;
mod refine;
mod size;
mod worn;
mod writes;

use super::measured::Measured;
use tailcut_base::Nanos;
use tailcut_base::config::Choice;
use tailcut_ssd::config::{AHCI_DEPTH, Protocol, SsdConfig};
use tailcut_ssd::{CacheConfig, Preset};

/// How the value of a key was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The value was measured.
    Measured,
    /// Derived from measurements, assuming that the drive works like the model.
    Derived,
    /// Not observable from outside, or not measured: the preset's value.
    Assumed,
}

/// Origin of the value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The scenario key, without `device.` in front of it.
    pub key: &'static str,
    /// Whether the value was measured, derived from measurements, or assumed.
    pub how: Provenance,
    /// Why the key has this value, in one sentence.
    pub why: String,
}

/// A simulated drive that resembles a measured one.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The preset that supplies the keys without an entry in `origins`.
    pub preset: Preset,
    /// The configuration of the simulated drive, complete.
    pub config: SsdConfig,
    /// Where the estimated values come from, one entry per key.
    pub origins: Vec<Origin>,
    /// Size of the measured drive in 4 KiB blocks.
    blocks: u64,
    /// Share of the flash that is spare for garbage collection, whatever the size of blocks.
    spare: Option<f64>,
}

/// Page size of the simulated drive, for reads and writes. Larger pages cannot be distinguished from smaller
/// ones on chips that work in parallel.
const PAGE: u64 = 4096;

impl Estimate {
    /// Estimates a drive from measurements; None if not even the read latency is known.
    pub fn of(measured: &Measured) -> Option<Estimate> {
        let latency = measured.read_latency()?;
        let preset = nearest::to(latency, measured.read_bandwidth()?);
        let mut estimate = Estimate {
            preset,
            config: preset.config(),
            origins: Vec::new(),
            blocks: measured.identity.blocks,
            spare: None,
        };
        estimate.page();
        estimate.interface(measured);
        estimate.link(measured);
        estimate.latencies(measured, latency);
        estimate.units(measured);
        estimate.programs(measured);
        estimate.refine(measured);
        // The program bandwidth of all chips together was measured, and their number may be higher now.
        estimate.programs(measured);
        estimate.buffer(measured);
        estimate.worn(measured);
        estimate.capacity(measured.identity.blocks);
        Some(estimate)
    }

    fn is(&mut self, key: &'static str, how: Provenance, why: impl Into<String>) {
        self.origins.retain(|origin| origin.key != key);
        self.origins.push(Origin { key, how, why: why.into() });
    }

    fn assume(&mut self, key: &'static str, why: &str) {
        let preset = self.preset.name();
        self.is(key, Provenance::Assumed, format!("from preset {preset}: {why}"));
    }

    fn page(&mut self) {
        let geometry = &mut self.config.geometry;
        (geometry.page_bytes, geometry.spare_bytes) = (PAGE, 0);
        let why = "the unit in which it was probed; larger pages cannot be told from several chips that work \
            side by side";
        self.is("geometry.page", Provenance::Assumed, why);
        self.is("geometry.spare", Provenance::Assumed, "the rate of the bus is that of user data");
    }

    fn interface(&mut self, measured: &Measured) {
        let depth = measured.identity.depth;
        let queue = &mut self.config.queue;
        queue.depth = depth;
        queue.protocol = if depth <= AHCI_DEPTH { Protocol::Ahci } else { Protocol::Nvme };
        queue.trim = Nanos::ZERO;
        self.is("queue.depth", Provenance::Measured, "what the drive, or the way to it, takes at a time");
        let why = format!("AHCI has {AHCI_DEPTH} tags at the most, NVMe more");
        self.is("queue.protocol", Provenance::Derived, why);
        self.is("queue.trim", Provenance::Assumed, "trims are taken for queued ones");
        self.config.cache = CacheConfig::OFF;
        self.cache(measured);
    }

    /// A read cache is reported, not estimated: its size would take reads of growing regions.
    fn cache(&mut self, measured: &Measured) {
        let Some(alone) = measured.read_latency() else { return };
        let share = |tally: &Option<super::Tally>| {
            tally
                .as_ref()
                .filter(|tally| tally.latency.count() > 0)
                .map(|tally| tally.percentile(50.0) / alone)
        };
        let (again, stream) = (share(&measured.again), share(&measured.stream));
        let why = match (again, stream) {
            (Some(again), _) if again < QUICKER => {
                format!("none is simulated, although blocks read again took {again:.2} of the time of others")
            }
            (_, Some(stream)) if stream < QUICKER => {
                format!(
                    "none is simulated, although reads in order took {stream:.2} of the time of random ones"
                )
            }
            (Some(again), Some(stream)) => {
                format!("blocks read again took {again:.2} of the time of others, reads in order {stream:.2}")
            }
            _ => String::from("not looked at"),
        };
        let how =
            if again.is_some() && stream.is_some() { Provenance::Measured } else { Provenance::Assumed };
        self.is("cache.size", how, why);
        self.is("cache.ahead", Provenance::Derived, "no cache, no reading ahead");
    }

    /// Time of a page on the bus of its channel, including its command.
    fn bus_time(&self) -> f64 {
        let timing = &self.config.timing;
        (timing.cycle * 7).0 as f64 + PAGE as f64 * 1e9 / timing.bus as f64
    }

    /// Time of a page on the link, including its command.
    fn link_time(&self) -> f64 {
        let link = &self.config.link;
        link.command.0 as f64 + PAGE as f64 * 1e9 / link.rate as f64
    }

    /// Service time of a page read at a chip or die: from its command to the end of its transfer.
    fn service_time(&self) -> f64 {
        self.config.timing.read[0].0 as f64 + self.bus_time()
    }

    /// Number of chips or dies that work independently.
    fn unit_count(&self) -> f64 {
        f64::from(self.config.geometry.luns())
    }
}

/// Reads that take less than this share of the latency of others hit a cache.
const QUICKER: f64 = 0.6;
