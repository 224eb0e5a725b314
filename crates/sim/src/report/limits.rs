//! The limits that physics sets: `docs/model.md`, section "Limits", derives each.

use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};
use tailcut_base::{Nanos, Op};
use tailcut_host::array::LayoutKind;
use tailcut_ssd::Figures;
use tailcut_ssd::config::{DramConfig, SsdConfig};
use tailcut_ssd::flash::timing::Phases;
use tailcut_ssd::link::COMPLETION_BYTES;
use tailcut_ssd::request::Kind;

/// A resource that the requests of a run need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Name of the resource, such as `chips` or `buses`.
    pub name: String,
    /// Share of the measurement during which it must have been busy, at the very least, for the
    /// work that was done: 0 to 1. Below the utilisation that was measured where work was done less well
    /// than possible, and never above it.
    pub busy: f64,
    /// Requests per second of this mix at which it would be busy all of the time.
    pub requests_per_s: f64,
}

/// The minimum time that each resource of a drive needs for the work of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    elapsed_ns: f64,
    /// Name and busy time averaged over the parts of the resource, in ns.
    needs: Vec<(&'static str, f64)>,
    /// Cell time averaged over the dies, in ns.
    dies: f64,
    transactions: u64,
    intra_chip_idleness: f64,
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
        // No less was needed than what was used: work that is under way at the end of the measurement is
        // served but not yet done, a page may be quicker than the mean page, and of dies with cells of
        // different lengths one can hide its command phase behind another's cells.
        let cells = sum(&|kind| cell_ns(&phases, kind)).min(figures.plane_busy.0 as f64);
        let program = f64::from(config.pages_per_program());
        let bus = sum(&|kind| bus_ns(&phases, kind, program)).min(figures.bus_busy.0 as f64);
        let used = |share: f64| share * figures.at.0 as f64;
        let [to_host, to_device] = figures.link_busy.map(|busy| busy.0 as f64);
        let chips = (cells / members + bus) / f64::from(g.luns());
        let mut needs = vec![
            ("chips", chips.min(used(figures.lun_utilisation()))),
            ("buses", bus / f64::from(g.channels)),
        ];
        if config.link.half_duplex {
            needs.push(("link", to_host + to_device));
        } else {
            needs.push(("link to host", to_host));
            needs.push(("link to drive", to_device));
        }
        let planes = if config.schedule.plane_sharing { f64::from(g.planes) } else { 1.0 };
        let dies = (cells / planes / figures.dies.max(1) as f64).min(used(figures.die_utilisation()));
        let most = u64::from(members_max(config));
        Demand {
            elapsed_ns: figures.at.0 as f64,
            needs,
            dies,
            transactions: figures.served.iter().map(|served| served.div_ceil(most)).sum(),
            intra_chip_idleness: intra_chip_idleness(members, figures),
        }
    }

    /// The least number of transactions that could have served the same memory requests.
    pub fn transactions(&self) -> u64 {
        self.transactions
    }

    /// The least intra-chip idleness: every transaction as full as geometry and flags allow, and
    /// none that waits for a bus.
    pub fn intra_chip_idleness(&self) -> f64 {
        self.intra_chip_idleness
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

/// The resources of equal drives: of each kind the one that was needed most, with the number of its
/// drive where there are several.
pub(super) fn of_drives(config: &SsdConfig, figures: &[Figures], requests_per_s: f64) -> Vec<Resource> {
    let mut most: Vec<Resource> = Vec::new();
    for (drive, of_drive) in figures.iter().enumerate() {
        for (place, resource) in
            Demand::new(config, of_drive).resources(requests_per_s).into_iter().enumerate()
        {
            let name = match figures.len() {
                1 => resource.name,
                _ => format!("{} of drive {drive}", resource.name),
            };
            let resource = Resource { name, ..resource };
            match most.get_mut(place) {
                None => most.push(resource),
                Some(known) if resource.busy > known.busy => *known = resource,
                Some(_) => {}
            }
        }
    }
    most
}

/// The most memory requests that one transaction can serve.
fn members_max(config: &SsdConfig) -> u32 {
    let planes = if config.schedule.plane_sharing { config.geometry.planes } else { 1 };
    let dies = if config.schedule.die_interleaving { config.geometry.dies_per_lun() } else { 1 };
    planes * dies
}

/// Cells of full transactions overlap, their bus phases do not. Never above what was measured: of
/// dies with cells of different lengths one can hide its command phase behind another's cells.
fn intra_chip_idleness(members: f64, figures: &Figures) -> f64 {
    let (cells, bus) = (figures.plane_busy.0 as f64, figures.bus_busy.0 as f64);
    let whole = figures.places as f64 * (cells / members + bus);
    if whole == 0.0 { 0.0 } else { (1.0 - cells / whole).clamp(0.0, figures.intra_chip_idleness()) }
}

/// The least inter-chip idleness: the transactions as they were, in the time that the busiest
/// resource needs at least, which is the share `busiest` of the measurement.
pub(super) fn inter_chip_idleness(figures: &Figures, busiest: f64) -> f64 {
    let active = figures.active.0 as f64;
    figures.idleness_within(active.min(busiest * figures.at.0 as f64))
}

fn cell_ns(phases: &Phases, kind: Kind) -> f64 {
    match kind {
        Kind::UserRead | Kind::GcRead | Kind::ReadAhead => phases.read_cell_mean(),
        Kind::UserWrite | Kind::GcWrite => phases.program_cell_mean(),
        Kind::Erase => phases.erase.0 as f64,
    }
}

/// The minimum time of an operation on the bus, where a program carries `program` pages. A read carries one
/// at least.
fn bus_ns(phases: &Phases, kind: Kind, program: f64) -> f64 {
    let [transfer, read, write, erase] =
        [phases.transfer, phases.read_command, phases.program_command, phases.erase_command]
            .map(|time| time.0 as f64);
    match kind {
        Kind::UserRead | Kind::GcRead | Kind::ReadAhead => read + transfer,
        Kind::UserWrite | Kind::GcWrite => write + transfer * program,
        Kind::Erase => erase,
    }
}

/// Latencies of requests on a drive that has nothing else to do.
#[derive(Clone, Debug)]
pub struct Bare {
    phases: Phases,
    channels: f64,
    page_bytes: f64,
    link_rate: u64,
    link_command_ns: f64,
    completion_ns: f64,
    firmware_ns: f64,
    write_back: bool,
    /// The memory that the buffer is in.
    dram: DramConfig,
    /// The buffer survives a power cut: a write with force unit access ends in it.
    capacitor: bool,
    /// Writes complete in the host's memory, before any drive has them.
    in_host_memory: bool,
    /// Pages that cells of all planes read at once.
    planes: f64,
    /// Bytes of a stripe's data, where a smaller write has to read for its parity: 0 otherwise.
    stripe: f64,
    /// Its flushes and trims may end without a drive.
    is_array: bool,
    /// Drives that serve a wide request together, and the bytes of one that a drive serves at least.
    drives: f64,
    chunk: f64,
}

impl Bare {
    /// For the drive or array of a scenario.
    pub(super) fn of(scenario: &Scenario) -> Bare {
        let array = &scenario.array;
        let has_tokens = array.layout.is_mirrored() || array.log.tokens;
        let bare = Bare::new(&scenario.device);
        Bare {
            in_host_memory: array.drives > 0 && has_tokens,
            is_array: array.drives > 0,
            drives: f64::from(array.drives).max(1.0),
            stripe: match array.layout {
                LayoutKind::Raid4 | LayoutKind::Raid5 if array.drives > 0 => {
                    f64::from(array.drives / array.groups.max(1) - 1) * array.raid.chunk as f64
                }
                _ => 0.0,
            },
            chunk: match array.layout {
                LayoutKind::Raid0 | LayoutKind::Raid4 | LayoutKind::Raid5 => array.raid.chunk as f64,
                LayoutKind::Epochs => array.epoch.chunk as f64,
                _ => bare.page_bytes,
            },
            ..bare
        }
    }

    /// For a drive of this configuration.
    pub fn new(config: &SsdConfig) -> Bare {
        Bare {
            phases: Phases::new(&config.timing, &config.geometry),
            channels: f64::from(config.geometry.channels),
            page_bytes: config.geometry.page_bytes as f64,
            link_rate: config.link.rate,
            link_command_ns: config.link.command.0 as f64,
            completion_ns: Nanos::for_bytes(COMPLETION_BYTES, config.link.rate).0.max(1) as f64,
            firmware_ns: config.queue.firmware.0 as f64,
            write_back: config.buffer.size > 0,
            dram: config.buffer.dram.clone(),
            capacitor: config.buffer.capacitor,
            in_host_memory: false,
            planes: config.geometry.block_count() as f64 / f64::from(config.geometry.blocks),
            stripe: 0.0,
            is_array: false,
            drives: 1.0,
            chunk: 0.0,
        }
    }

    /// The latency of a request of `bytes`, in ns: from the flash for a read, into the buffer (or
    /// to the flash where there is none) for a write.
    pub fn latency_ns(&self, op: Op, bytes: f64) -> f64 {
        let cost = self.link_command_ns + self.firmware_ns;
        let parity = if op == Op::Write { self.parity_ns(bytes) } else { 0.0 };
        let bytes = self.share(bytes);
        parity
            + match op {
                Op::Read => cost + self.read_ns(bytes),
                Op::Write if self.in_host_memory => 0.0,
                Op::Write if self.write_back => cost + self.link_ns(bytes) + self.dram_ns(bytes),
                Op::Write => cost + self.program_ns(bytes),
                Op::Trim | Op::Flush if self.is_array => 0.0,
                Op::Trim | Op::Flush => self.firmware_ns + self.link_command_ns.max(self.completion_ns),
            }
    }

    /// The latency of a write of `bytes` with force unit access, in ns: to the flash, or into a buffer that
    /// survives a power cut.
    pub fn fua_ns(&self, bytes: f64) -> f64 {
        let cost = self.link_command_ns + self.firmware_ns + self.parity_ns(bytes);
        let bytes = self.share(bytes);
        match self.write_back && self.capacitor {
            true => cost + self.link_ns(bytes) + self.dram_ns(bytes),
            false => cost + self.program_ns(bytes),
        }
    }

    /// The time to read what the parity of a write of less than a stripe has to be computed from: a page at
    /// least.
    fn parity_ns(&self, bytes: f64) -> f64 {
        let reads = bytes < self.stripe;
        if reads {
            self.link_command_ns + self.firmware_ns + self.read_ns(bytes.min(self.page_bytes))
        } else {
            0.0
        }
    }

    /// Whether small writes read for their parity.
    pub(super) fn has_parity(&self) -> bool {
        self.stripe > 0.0
    }

    /// The bytes of a wide request that each drive serves at least.
    fn share(&self, bytes: f64) -> f64 {
        (bytes / self.drives).max(self.chunk.min(bytes))
    }

    /// The pages come from all channels at once; the link, behind the first of them, the busiest channel or
    /// the cells end last.
    fn read_ns(&self, bytes: f64) -> f64 {
        let (p, transfer) = (&self.phases, self.phases.transfer.0 as f64);
        let link_last = transfer + self.link_ns(bytes);
        let bus_last = self.per_channel(bytes) * transfer + self.link_ns(bytes.min(self.page_bytes));
        let first = p.read_command.0 as f64 + p.read_cell_mean();
        // Pages beyond those that all planes read at once wait for cells.
        let cells_last = first
            + (self.rounds(bytes) - 1.0) * p.read_cell_mean()
            + transfer
            + self.link_ns(bytes.min(self.page_bytes));
        cells_last.max(first + link_last.max(bus_last))
    }

    fn program_ns(&self, bytes: f64) -> f64 {
        let p = &self.phases;
        let (first_page, transfer) = (self.link_ns(bytes.min(self.page_bytes)), p.transfer.0 as f64);
        // Behind the first page, one of these ends last.
        let link_last = self.link_ns(bytes) - first_page;
        let bus_last = (self.per_channel(bytes) - 1.0) * transfer;
        let cells_last = (self.rounds(bytes) - 1.0) * p.program_cell_mean();
        let rest = link_last.max(bus_last).max(cells_last);
        first_page + p.program_command.0 as f64 + transfer + p.program_cell_mean() + rest
    }

    /// How often the cells of a plane are needed at least.
    fn rounds(&self, bytes: f64) -> f64 {
        ((bytes / self.page_bytes).ceil() / self.planes).ceil().max(1.0)
    }

    /// Pages that the busiest channel carries at least.
    fn per_channel(&self, bytes: f64) -> f64 {
        ((bytes / self.page_bytes).ceil() / self.channels).ceil().max(1.0)
    }

    fn link_ns(&self, bytes: f64) -> f64 {
        Nanos::for_bytes(bytes.round() as u64, self.link_rate).0 as f64
    }

    fn dram_ns(&self, bytes: f64) -> f64 {
        self.dram.time(bytes.round() as u64).0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Time;
    use tailcut_ssd::Preset;
    use tailcut_ssd::flash::geometry::ReadyBusy;
    use tailcut_ssd::holder::Holder;

    fn resource<'r>(resources: &'r [Resource], name: &str) -> &'r Resource {
        resources.iter().find(|resource| resource.name == name).expect("it was used")
    }

    #[test]
    fn drives_of_an_array_serve_a_wide_request_together() {
        let mut scenario = Scenario::default();
        let drive = Bare::of(&scenario);
        (scenario.array.drives, scenario.array.layout) = (4, LayoutKind::Raid0);
        scenario.array.raid.chunk = 64 << 10;
        let array = Bare::of(&scenario);
        for (bytes, share) in [(1 << 20, 256 << 10), (128 << 10, 64 << 10), (4 << 10, 4 << 10)] {
            let [bytes, share] = [bytes, share].map(f64::from);
            assert_eq!(array.latency_ns(Op::Read, bytes), drive.latency_ns(Op::Read, share), "{bytes}");
        }
    }

    #[test]
    fn a_bare_read_is_the_sum_of_its_phases() {
        // 7 cycles of 25 ns, 75 us, 4 KiB at 333 MB/s, 4 KiB at 3.938 GB/s.
        let bare = Bare::new(&Preset::M.config());
        assert_eq!(bare.latency_ns(Op::Read, 4096.0), 175.0 + 75_000.0 + 12_301.0 + 1_041.0);
        assert_eq!(bare.latency_ns(Op::Write, 4096.0), 1_041.0);
        assert_eq!(bare.latency_ns(Op::Flush, 0.0), 5.0);
    }

    #[test]
    fn reads_alone_are_limited_by_the_chips_of_a_drive_with_fast_buses() {
        let config = Preset::M.config();
        let mut figures = Figures {
            at: Time(1_000_000_000),
            luns: 64,
            channels: 8,
            plane_busy: Nanos::micros(100_000 * 75),
            bus_busy: Nanos::micros(1_247_600),
            ..Figures::default()
        };
        figures.served[Kind::UserRead as usize] = 100_000;
        figures.holders[Holder::UserRead as usize] = 64_000_000_000;
        let resources = Demand::new(&config, &figures).resources(100_000.0);
        let limit = |name| resource(&resources, name).requests_per_s;
        // 64 dies, two planes each, 75 us shared by two and 12.476 us of bus for each.
        assert!((limit("chips") - 64e9 / (37_500.0 + 12_476.0)).abs() < 1.0);
        assert!((limit("buses") - 8e9 / 12_476.0).abs() < 1.0);
    }

    #[test]
    fn no_more_is_needed_than_was_used() {
        // An erase of two planes began in a measurement of 1 ms, and at its end had held one line of 64 for
        // half of it.
        let config = Preset::M.config();
        let mut figures = Figures {
            at: Time(1_000_000),
            luns: 64,
            channels: 8,
            dies: 64,
            bus_busy: Nanos(250),
            die_busy: Nanos(499_750),
            plane_busy: Nanos(2 * 499_750),
            ..Figures::default()
        };
        figures.served[Kind::Erase as usize] = 2;
        figures.holders[Holder::Erase as usize] = 500_000;
        let demand = Demand::new(&config, &figures);
        let resources = demand.resources(1000.0);
        let busy = |name| resource(&resources, name).busy;
        assert!((busy("chips") - 0.5 / 64.0).abs() < 1e-9);
        assert!((busy("buses") - 250e-6 / 8.0).abs() < 1e-9);
        assert!((demand.die_share() - 0.499_750 / 64.0).abs() < 1e-9);
    }

    #[test]
    fn transactions_are_fewest_when_each_has_all_that_flags_allow() {
        let mut config = Preset::M.config();
        (config.geometry.dies, config.geometry.planes) = (2, 2);
        config.geometry.ready_busy = ReadyBusy::Chip;
        let mut figures = Figures::default();
        (figures.served[Kind::UserRead as usize], figures.served[Kind::Erase as usize]) = (9, 1);
        for (planes, dies, least) in
            [(true, true, 3 + 1), (true, false, 5 + 1), (false, true, 5 + 1), (false, false, 9 + 1)]
        {
            (config.schedule.plane_sharing, config.schedule.die_interleaving) = (planes, dies);
            assert_eq!(Demand::new(&config, &figures).transactions(), least);
        }
    }

    #[test]
    fn chips_in_full_transactions_are_idle_during_bus_phases_only() {
        let mut config = Preset::M.config();
        config.schedule.plane_sharing = true;
        // Two lines of two places. A plane's cells worked 100 us, another's not; 30 us of bus.
        let figures = Figures {
            at: Time(1_000_000),
            luns: 2,
            places: 2,
            plane_busy: Nanos::micros(100),
            bus_busy: Nanos::micros(30),
            holders: [0, 0, 130_000, 0, 0, 0, 0, 0, 0, 0, 0],
            ..Figures::default()
        };
        assert!((figures.intra_chip_idleness() - (1.0 - 100.0 / 260.0)).abs() < 1e-12);
        let least = Demand::new(&config, &figures).intra_chip_idleness();
        assert!((least - (1.0 - 100.0 / (2.0 * 80.0))).abs() < 1e-12, "{least}");
        config.schedule.plane_sharing = false;
        let alone = Demand::new(&config, &figures).intra_chip_idleness();
        assert!((alone - figures.intra_chip_idleness()).abs() < 1e-12, "{alone}");
    }

    #[test]
    fn chips_are_as_idle_as_the_busiest_resource_makes_them() {
        let figures = Figures {
            at: Time(1_000_000),
            luns: 2,
            active: Nanos::micros(800),
            held_active: Nanos::micros(400),
            ..Figures::default()
        };
        let least = |busiest| inter_chip_idleness(&figures, busiest);
        assert!((figures.inter_chip_idleness() - 0.75).abs() < 1e-12);
        assert!((least(1.0) - 0.75).abs() < 1e-12, "no resource is busy without a command");
        assert!((least(0.4) - 0.5).abs() < 1e-12);
        assert_eq!(least(0.2), 0.0);
        assert_eq!(least(0.0), 0.0);
    }
}
