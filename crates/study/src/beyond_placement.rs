//! Beyond Shin's control API: what Flexible Data Placement does to write amplification and to the tail of
//! reads.
//!
//! A small drive with the flash of `pm9a3-960` under four loads of writes whose data dies at different times,
//! beside reads of all of it. Each load runs with everything behind one handle, with a handle for each kind
//! of data that collection may mix again, with handles that stay isolated, and with handles chosen by a host
//! that knows addresses and lengths only; the first three without suspension as well, and two loads over a
//! mirror that reads the drive which is not written (`epochs`). Tenants also have a reclaim group each.

use super::{Options, Row, Study};
use tailcut_base::config::Choice;
use tailcut_base::fdp::Isolation;
use tailcut_base::{Nanos, Op};
use tailcut_host::PlacementPolicy;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::report::Tail;
use tailcut_sim::world::Limits;
use tailcut_ssd::config::{Handling, PacingConfig};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::PaceKind;

/// Reads beside data that is placed by handle, against the same without.
pub(crate) struct Placement;

/// A load of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// A flash cache as CacheLib divides it: 4 % of the space takes small objects at random places, the rest
    /// large ones in order, with this share of the drive in use, in per cent.
    Cache(u32),
    /// Five classes of blocks of a cache of LLM states on 89 % of the drive, each written twice as often as
    /// the one before, at random places or in order.
    Classes { in_order: bool },
    /// Two tenants on half of the drive each: one overwrites at random, one in order.
    Tenants,
    /// One tenant on half of the drive that overwrites at random, and one on the other that only reads.
    Neighbour,
}

const LOADS: [Load; 6] = [
    Load::Cache(50),
    Load::Cache(100),
    Load::Classes { in_order: false },
    Load::Classes { in_order: true },
    Load::Tenants,
    Load::Neighbour,
];

/// What is done with the handles of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One for all.
    None,
    /// Each source names its own.
    Named(Isolation),
    /// The host chooses, and knows addresses and lengths only; initially isolated.
    Chosen(PlacementPolicy),
    /// Each source names a reclaim group, on dies of its own.
    Groups,
}

/// What helps a tenant that only reads, or may.
const KINDS_OF_NEIGHBOUR: [Kind; 3] = [Kind::None, Kind::Named(Isolation::Persistently), Kind::Groups];

const KINDS: [Kind; 6] = [
    Kind::None,
    Kind::Named(Isolation::Initially),
    Kind::Named(Isolation::Persistently),
    Kind::Chosen(PlacementPolicy::Size),
    Kind::Chosen(PlacementPolicy::Recency),
    Kind::Chosen(PlacementPolicy::Sequence),
];

/// What keeps writes out of the way of reads besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Besides {
    /// Reads suspend programs and erases.
    Suspension,
    /// Nothing.
    Nothing,
    /// Suspension, and two drives with the same data of which one at a time is written.
    Epochs,
}

impl Besides {
    /// What follows the name of a case.
    fn name(self) -> &'static str {
        match self {
            Besides::Suspension => "",
            Besides::Nothing => ", no suspension",
            Besides::Epochs => ", epochs",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Besides::Suspension => "",
            Besides::Nothing => "/none",
            Besides::Epochs => "/epochs",
        }
    }
}

/// Classes of data, and handles.
const CLASSES: u32 = 5;

/// Writes a second, over all sources: less than the slowest arrangement sustains.
const WRITES: u64 = 12_000;

/// Regions begin and end on multiples of this many bytes.
const BLOCK: u64 = 1 << 20;

/// Reads a second.
const READS: u64 = 4_000;

impl Load {
    fn name(self) -> String {
        match self {
            Load::Cache(share) => format!("cache of small and large objects, {share} % in use"),
            Load::Classes { in_order: false } => "five classes of blocks, 89 % in use".into(),
            Load::Classes { in_order: true } => "five classes of blocks in order, 89 % in use".into(),
            Load::Tenants => "two tenants, all in use".into(),
            Load::Neighbour => "a tenant that reads beside one that writes".into(),
        }
    }

    fn id(self) -> String {
        match self {
            Load::Cache(share) => format!("cache-{share}"),
            Load::Classes { in_order: false } => "classes".into(),
            Load::Classes { in_order: true } => "classes-in-order".into(),
            Load::Tenants => "tenants".into(),
            Load::Neighbour => "neighbour".into(),
        }
    }

    /// Share of the drive that holds data, in parts per million.
    fn used(self) -> u32 {
        match self {
            Load::Cache(share) => share * 10_000,
            Load::Classes { .. } => 890_000,
            Load::Tenants | Load::Neighbour => 1_000_000,
        }
    }

    /// Write amplification that was published: without handles, and with them.
    fn published(self) -> Option<[f64; 2]> {
        match self {
            Load::Cache(100) => Some([3.22, 1.03]),
            Load::Classes { .. } => Some([2.600, 1.425]),
            _ => None,
        }
    }

    /// The sources of writes on a drive of `bytes`, each with its handle.
    fn writers(self, bytes: u64) -> Vec<SyntheticConfig> {
        let used = bytes / 1_000_000 * u64::from(self.used());
        let source = |handle: u32, (from, to): (u64, u64), rate: u64| SyntheticConfig {
            read: 0,
            stream: handle,
            region_offset: from / BLOCK * BLOCK,
            region_size: (to - from) / BLOCK * BLOCK,
            pace: PaceKind::Open,
            rate: rate.max(1),
            depth: 1 << 16,
            ..SyntheticConfig::default()
        };
        // In order, in larger requests of as many bytes.
        let in_order = |source: SyntheticConfig| SyntheticConfig {
            write_size: "64KiB".into(),
            sequential: 1_000_000,
            rate: (source.rate / 16).max(1),
            ..source
        };
        match self {
            Load::Cache(_) => {
                let small = used / 25;
                vec![source(1, (0, small), WRITES / 2), in_order(source(0, (small, used), WRITES / 2))]
            }
            Load::Classes { in_order: ordered } => {
                let each = used / u64::from(CLASSES);
                let all = (1 << CLASSES) - 1;
                (0..CLASSES)
                    .map(|class| {
                        let from = each * u64::from(class);
                        let source = source(class, (from, from + each), (WRITES << class) / all);
                        if ordered { in_order(source) } else { source }
                    })
                    .collect()
            }
            Load::Neighbour => vec![source(0, (0, used / 2), WRITES / 2)],
            Load::Tenants => {
                vec![source(0, (0, used / 2), WRITES / 2), in_order(source(1, (used / 2, used), WRITES / 2))]
            }
        }
    }

    fn scenario(self, options: &Options, kind: Kind, besides: Besides) -> Scenario {
        let mut device = Preset::Pm9a3.config();
        let g = &mut device.geometry;
        (g.channels, g.chips, g.pages) = (4, 1, 2304);
        g.blocks = if options.quick { 64 } else { 256 };
        (device.ftl.spare, device.gc.copies) = (if options.quick { 280_000 } else { 150_000 }, 16);
        device.pacing = PacingConfig::NONE;
        device.buffer.size = 16 << 20;
        if besides == Besides::Nothing {
            (device.preempt.program, device.preempt.erase) = (Handling::None, Handling::None);
        }
        let handles = match self {
            Load::Classes { .. } => CLASSES,
            _ => 2,
        };
        let has_epochs = besides == Besides::Epochs;
        // The array itself needs one.
        let handles = handles + u32::from(has_epochs);
        (device.fdp.handles, device.fdp.isolation) = match kind {
            Kind::None => (1, Isolation::Initially),
            Kind::Named(isolation) => (handles, isolation),
            Kind::Chosen(_) => (handles, Isolation::Initially),
            Kind::Groups => (1, Isolation::Initially),
        };
        device.fdp.groups = if kind == Kind::Groups { 2 } else { 1 };
        // An array keeps a little of its drives for itself.
        let all = device.user_bytes();
        let bytes = if has_epochs { all - all / 50 } else { all };
        let mut writers = self.writers(bytes).into_iter().map(|writer| match kind {
            Kind::Named(_) | Kind::Groups => writer,
            Kind::None | Kind::Chosen(_) => SyntheticConfig { stream: 0, ..writer },
        });
        // All data is overwritten as often before the measurement as it takes to forget how it was prepared.
        let times = if options.quick { 3 } else { 5 };
        let ramp = Nanos::for_bytes(times * bytes, WRITES * 4096);
        let length = ramp / if options.quick { 3 } else { 2 };
        let reads = SyntheticConfig {
            read: 1_000_000,
            region_share: self.used(),
            region_offset: if self == Load::Neighbour { (bytes / 2).next_multiple_of(BLOCK) } else { 0 },
            pace: PaceKind::Open,
            rate: READS,
            depth: 1 << 16,
            ..SyntheticConfig::default()
        };
        let mut scenario = Scenario {
            seed: options.seed,
            content: false,
            device,
            precondition: Precondition { state: PreparedState::Sequential, fill: self.used() },
            workload: reads,
            run: Limits { ramp, duration: ramp + length, ..Limits::NONE },
            ..Scenario::default()
        };
        if has_epochs {
            scenario.array =
                ArrayConfig { drives: 2, groups: 2, layout: LayoutKind::Epochs, ..ArrayConfig::default() };
        }
        if let Kind::Chosen(policy) = kind {
            scenario.placement.policy = policy;
        }
        (scenario.beside.enabled, scenario.beside.source) = (true, writers.next().expect("it writes"));
        for (place, source) in writers.enumerate() {
            scenario.further.enable(place, source);
        }
        scenario
    }

    fn label(self, kind: Kind, besides: Besides) -> String {
        format!("{}/{}{}", self.id(), kind.id(), besides.id())
    }

    fn run(self, options: &Options, kind: Kind, besides: Besides) -> Run {
        Run { label: self.label(kind, besides), scenario: self.scenario(options, kind, besides) }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::None => "one handle",
            Kind::Named(Isolation::Initially) => "handles, initially isolated",
            Kind::Named(Isolation::Persistently) => "handles, persistently isolated",
            Kind::Groups => "a reclaim group each",
            Kind::Chosen(PlacementPolicy::Named) => "handles as named",
            Kind::Chosen(PlacementPolicy::Size) => "handles by size of the write",
            Kind::Chosen(PlacementPolicy::Recency) => "handles by recency of the address",
            Kind::Chosen(PlacementPolicy::Sequence) => "handles by sequence",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Kind::None => "none",
            Kind::Named(isolation) => isolation.name(),
            Kind::Chosen(policy) => policy.name(),
            Kind::Groups => "groups",
        }
    }
}

/// The loads that are run, and what besides.
fn cases(options: &Options) -> Vec<(Load, Kind, Besides)> {
    let all: &[Besides] = match options.quick {
        true => &[Besides::Suspension, Besides::Epochs],
        false => &[Besides::Suspension, Besides::Nothing, Besides::Epochs],
    };
    let of = |load: Load, besides: Besides| match besides {
        Besides::Suspension if load == Load::Neighbour => &KINDS_OF_NEIGHBOUR[..],
        Besides::Suspension => &KINDS[..],
        Besides::Nothing if load == Load::Neighbour => &KINDS_OF_NEIGHBOUR[..],
        Besides::Nothing => &KINDS[..3],
        Besides::Epochs if matches!(load, Load::Cache(100) | Load::Tenants) => &KINDS[..3],
        Besides::Epochs => &[],
    };
    let mut cases = Vec::new();
    for &besides in all {
        for load in LOADS {
            cases.extend(of(load, besides).iter().map(|&kind| (load, kind, besides)));
            if load == Load::Tenants && besides == Besides::Suspension {
                cases.push((load, Kind::Groups, besides));
            }
        }
    }
    cases
}

/// The percentiles of the reads.
const PERCENTILES: [(f64, &str); 4] =
    [(50.0, "read p50"), (99.0, "read p99"), (99.9, "read p99.9"), (99.99, "read p99.99")];

/// The share of the slowest 0.1 % of reads that waited longest for collection.
fn held_up_by_collection(measured: &Measured) -> Option<f64> {
    let tails = &measured.kind(Op::Read)?.slowest;
    let tail: &Tail = tails.iter().find(|tail| tail.share < 0.002)?;
    let shares = tail.held_up.iter().filter(|by| by.work == "collection");
    Some(shares.fold(0.0, |sum, by| sum + by.share))
}

const ASSUMED: &str = "\
The publications' rates and lifetimes are not known here: half of the bytes go to the small objects, and \
each class is written twice as often as the one before. How much is moved follows from the order within a \
class: see the rows of blocks in order.";

impl Study for Placement {
    fn id(&self) -> &'static str {
        "beyond-placement"
    }

    fn title(&self) -> &'static str {
        "Data placement by handle: write amplification, and the tail of reads beside it"
    }

    fn source(&self) -> &'static str {
        "NVMe Flexible Data Placement; amplifications of CacheLib and of LMCache's raw-block back end"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        cases(options).into_iter().map(|(load, kind, besides)| load.run(options, kind, besides)).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (load, kind, besides) in cases(options) {
            let case = format!("{}, {}{}", load.name(), kind.name(), besides.name());
            let measured = find(done, &load.label(kind, besides));
            let none = find(done, &load.label(Kind::None, besides));
            let drive = &measured.report.drive;
            let published =
                load.published().filter(|_| besides == Besides::Suspension).and_then(|[without, with]| {
                    match kind {
                        Kind::None => Some(without),
                        Kind::Named(Isolation::Persistently) => Some(with),
                        _ => None,
                    }
                });
            let row =
                Row::new(&*case, "write amplification", "x", drive.write_amplification).paper(published);
            let row = match load {
                Load::Classes { in_order: true } => row.of_reading("blocks in order"),
                _ => row,
            };
            rows.push(if published.is_some() { row.explain(ASSUMED) } else { row });
            for handle in &drive.handles {
                let quantity = format!("write amplification of handle {}", handle.placement());
                rows.push(Row::new(&*case, quantity, "x", handle.write_amplification));
            }
            for (percentile, quantity) in PERCENTILES {
                rows.push(Row::new(&*case, quantity, "s", measured.read_percentile(percentile)));
                if kind != Kind::None {
                    let ratio = measured.read_percentile_over(none, percentile);
                    rows.push(Row::new(&*case, format!("{quantity} / one handle"), "x", ratio));
                }
            }
            if kind != Kind::None {
                let share = held_up_by_collection(measured);
                let quantity = "slowest 0.1 % of reads held up longest by collection";
                rows.push(Row::new(&*case, quantity, "share", share));
            }
        }
        rows
    }
}
