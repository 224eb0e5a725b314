//! The limits that physics sets: `docs/model.md`, section "Limits", derives each.

use serde::{Deserialize, Serialize};
use tailcut_base::{Nanos, Op};
use tailcut_ssd::Figures;
use tailcut_ssd::config::SsdConfig;
use tailcut_ssd::flash::timing::Phases;
use tailcut_ssd::request::Kind;

/// A resource that the requests of a run need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// What it is.
    pub name: String,
    /// Share of the measurement during which it must have been busy, at the very least, for the
    /// work that was done. Below the utilisation that was measured where work was done less well
    /// than possible.
    pub busy: f64,
    /// Requests per second of this mix at which it would be busy all of the time.
    pub requests_per_s: f64,
}

/// The least time that each resource of a drive needs for the work of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    elapsed_ns: f64,
    /// Name and busy time averaged over the parts of the resource, in ns.
    needs: Vec<(&'static str, f64)>,
    /// Cell time averaged over the dies, in ns.
    dies: f64,
}

impl Demand {
    /// The demand of the work that `figures` count.
    pub fn new(config: &SsdConfig, figures: &Figures) -> Demand {
        let phases = Phases::new(&config.timing, &config.geometry);
        let sum = |time: &dyn Fn(Kind) -> f64| -> f64 {
            Kind::ALL.iter().map(|&kind| figures.served[kind as usize] as f64 * time(kind)).sum()
        };
        let g = &config.geometry;
        let members = f64::from(members_max(config));
        let cells = sum(&|kind| cell_ns(&phases, kind));
        let bus = sum(&|kind| bus_ns(&phases, kind));
        let [to_host, to_device] = figures.link_busy.map(|busy| busy.0 as f64);
        let mut needs = vec![
            ("chips", (cells / members + bus) / f64::from(g.units())),
            ("buses", bus / f64::from(g.channels)),
        ];
        if config.link.half_duplex {
            needs.push(("link", to_host + to_device));
        } else {
            needs.push(("link to host", to_host));
            needs.push(("link to drive", to_device));
        }
        let planes = if config.schedule.plane_sharing { f64::from(g.planes) } else { 1.0 };
        let dies = cells / planes / figures.dies.max(1) as f64;
        Demand { elapsed_ns: figures.at.0 as f64, needs, dies }
    }

    /// The least share of the time of all dies during which their cells must have been at work.
    pub fn die_share(&self) -> f64 {
        if self.elapsed_ns == 0.0 { 0.0 } else { self.dies / self.elapsed_ns }
    }

    /// The resources with their limits, for a measured throughput.
    pub fn resources(&self, requests_per_s: f64) -> Vec<Resource> {
        if self.elapsed_ns == 0.0 {
            return Vec::new();
        }
        let busy = self.needs.iter().map(|&(name, ns)| (name, ns / self.elapsed_ns));
        busy.filter(|&(_, busy)| busy > 0.0)
            .map(|(name, busy)| Resource { name: name.into(), busy, requests_per_s: requests_per_s / busy })
            .collect()
    }
}

/// The most memory requests that one transaction can serve.
fn members_max(config: &SsdConfig) -> u32 {
    let planes = if config.schedule.plane_sharing { config.geometry.planes } else { 1 };
    let dies = if config.schedule.die_interleaving { config.geometry.dies_per_unit() } else { 1 };
    planes * dies
}

fn cell_ns(phases: &Phases, kind: Kind) -> f64 {
    match kind {
        Kind::UserRead | Kind::GcRead => phases.read_cell_mean(),
        Kind::UserWrite | Kind::GcWrite => phases.program_cell_mean(),
        Kind::Erase => phases.erase.0 as f64,
    }
}

fn bus_ns(phases: &Phases, kind: Kind) -> f64 {
    let time = match kind {
        Kind::UserRead | Kind::GcRead => phases.read_command + phases.transfer,
        Kind::UserWrite | Kind::GcWrite => phases.program_command + phases.transfer,
        Kind::Erase => phases.erase_command,
    };
    time.0 as f64
}

/// Latencies of requests on a drive that has nothing else to do.
#[derive(Clone, Debug)]
pub struct Bare {
    phases: Phases,
    channels: f64,
    page_bytes: f64,
    link_rate: u64,
    link_command_ns: f64,
    firmware_ns: f64,
    write_back: bool,
}

impl Bare {
    /// For a drive of this configuration.
    pub fn new(config: &SsdConfig) -> Bare {
        Bare {
            phases: Phases::new(&config.timing, &config.geometry),
            channels: f64::from(config.geometry.channels),
            page_bytes: config.geometry.page_bytes as f64,
            link_rate: config.link.rate,
            link_command_ns: config.link.command.0 as f64,
            firmware_ns: config.queue.firmware.0 as f64,
            write_back: config.buffer.size > 0,
        }
    }

    /// The latency of a request of `bytes`, in ns: from the flash for a read, into the buffer (or
    /// to the flash where there is none) for a write.
    pub fn latency_ns(&self, op: Op, bytes: f64) -> f64 {
        let cost = self.link_command_ns + self.firmware_ns;
        match op {
            Op::Read => cost + self.read_ns(bytes),
            Op::Write if self.write_back => cost + self.link_ns(bytes),
            Op::Write => cost + self.program_ns(bytes),
            Op::Trim | Op::Flush => cost,
        }
    }

    /// The pages come from all channels at once; either the link, behind the first of them, or the
    /// busiest channel ends last.
    fn read_ns(&self, bytes: f64) -> f64 {
        let (p, transfer) = (&self.phases, self.phases.transfer.0 as f64);
        let link_last = transfer + self.link_ns(bytes);
        let bus_last = self.per_channel(bytes) * transfer + self.link_ns(bytes.min(self.page_bytes));
        p.read_command.0 as f64 + p.read_cell_mean() + link_last.max(bus_last)
    }

    fn program_ns(&self, bytes: f64) -> f64 {
        let p = &self.phases;
        let transfers = self.per_channel(bytes) * p.transfer.0 as f64;
        self.link_ns(bytes.min(self.page_bytes))
            + p.program_command.0 as f64
            + (self.link_ns(bytes) - self.link_ns(bytes.min(self.page_bytes)))
                .max(transfers - p.transfer.0 as f64)
            + p.transfer.0 as f64
            + p.program_cell_mean()
    }

    /// Pages that the busiest channel carries at least.
    fn per_channel(&self, bytes: f64) -> f64 {
        ((bytes / self.page_bytes).ceil() / self.channels).ceil().max(1.0)
    }

    fn link_ns(&self, bytes: f64) -> f64 {
        Nanos::for_bytes(bytes.round() as u64, self.link_rate).0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_ssd::Preset;

    #[test]
    fn a_bare_read_is_the_sum_of_its_phases() {
        // 7 cycles of 25 ns, 75 us, 4 KiB at 333 MB/s, 4 KiB at 3.938 GB/s.
        let bare = Bare::new(&Preset::M.config());
        assert_eq!(bare.latency_ns(Op::Read, 4096.0), 175.0 + 75_000.0 + 12_301.0 + 1_041.0);
        assert_eq!(bare.latency_ns(Op::Write, 4096.0), 1_041.0);
        assert_eq!(bare.latency_ns(Op::Flush, 0.0), 0.0);
    }

    #[test]
    fn reads_alone_are_limited_by_the_chips_of_a_drive_with_fast_buses() {
        let config = Preset::M.config();
        let mut figures = Figures { at: tailcut_base::Time(1_000_000_000), ..Figures::default() };
        figures.served[Kind::UserRead as usize] = 100_000;
        let resources = Demand::new(&config, &figures).resources(100_000.0);
        let limit =
            |name: &str| resources.iter().find(|r| r.name == name).expect("it is there").requests_per_s;
        // 64 dies, two planes each, 75 us shared by two and 12.476 us of bus for each.
        assert!((limit("chips") - 64e9 / (37_500.0 + 12_476.0)).abs() < 1.0);
        assert!((limit("buses") - 8e9 / 12_476.0).abs() < 1.0);
    }
}
