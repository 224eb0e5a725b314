//! Beyond PAReset (its section 6.2): drives that find out by themselves which reads matter, that bound what
//! resets cost, and that keep programs and erases out of the way of reads.

use super::pareset::{Cached, RESET, SUSPEND, mean, percentile, rocksdb, rows_of, wear};
use super::{Options, Row, Study};
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::world::Limits;
use tailcut_ssd::config::Classes;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, SsdConfig};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::{ArrivalKind, PaceKind};

/// Inference, budget and avoidance against classes that the host sets.
pub(crate) struct ReadImportance;

/// A policy under comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// All reads suspend.
    Suspend,
    /// All reads reset.
    Reset,
    /// Reads suspend or reset according to their class.
    Told,
    /// The drive infers classes.
    Inferred,
    /// As [`Policy::Inferred`], and resets may add this much to the wear of erases, in parts per million.
    Budget(u32),
    /// As [`Policy::Told`], and programs go where the next read is expected later.
    Placed,
    /// As [`Policy::Told`], and erases wait for a quiet chip.
    ErasesTimed,
    /// As [`Policy::Told`], and programs wait in the buffer for a quiet drive.
    ProgramsTimed,
    /// All of that.
    Avoiding,
}

const POLICIES: [Policy; 9] = [
    Policy::Suspend,
    Policy::Reset,
    Policy::Told,
    Policy::Inferred,
    Policy::Budget(100_000),
    Policy::Placed,
    Policy::ErasesTimed,
    Policy::ProgramsTimed,
    Policy::Avoiding,
];

impl Policy {
    fn name(self) -> String {
        match self {
            Policy::Suspend => "suspend for all".into(),
            Policy::Reset => "reset for all".into(),
            Policy::Told => "told".into(),
            Policy::Inferred => "inferred".into(),
            Policy::Budget(ppm) => format!("inferred, budget {} %", ppm / 10_000),
            Policy::Placed => "told, placed".into(),
            Policy::ErasesTimed => "told, erases timed".into(),
            Policy::ProgramsTimed => "told, programs timed".into(),
            Policy::Avoiding => "told, all of these".into(),
        }
    }

    fn drive(self) -> SsdConfig {
        if self == Policy::Suspend {
            return SUSPEND.drive();
        }
        let mut device = RESET.drive();
        device.schedule.classes = match self {
            Policy::Reset => Classes::Equal,
            Policy::Inferred | Policy::Budget(_) => Classes::Inferred,
            _ => Classes::Told,
        };
        if let Policy::Budget(ppm) = self {
            device.preempt.wear_budget = ppm;
        }
        device.preempt.place_programs = matches!(self, Policy::Placed | Policy::Avoiding);
        device.preempt.time_erases = matches!(self, Policy::ErasesTimed | Policy::Avoiding);
        device.preempt.time_programs = matches!(self, Policy::ProgramsTimed | Policy::Avoiding);
        device
    }
}

/// The loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// The store of `pareset-12`, most of its blocks in the page cache.
    Store,
    /// Reads of class 1 and writes in bursts of 10 ms, ten in a second, on half of the drive.
    Bursts,
    /// As many of them at independent moments: nothing can be foreseen.
    Poisson,
}

const LOADS: [Load; 3] = [Load::Store, Load::Bursts, Load::Poisson];

impl Load {
    fn name(self) -> &'static str {
        match self {
            Load::Store => "store",
            Load::Bursts => "bursts",
            Load::Poisson => "Poisson",
        }
    }

    fn run(self, options: &Options, policy: Policy) -> Run {
        let label = self.label(policy);
        match self {
            Load::Store => rocksdb(options, label, policy.drive(), Cached::Most),
            Load::Bursts => bursts(options, label, policy.drive()),
            Load::Poisson => {
                let mut run = bursts(options, label, policy.drive());
                run.scenario.workload.arrivals = ArrivalKind::Poisson;
                run.scenario.workload.rate = 2000;
                run
            }
        }
    }

    fn label(self, policy: Policy) -> String {
        format!("{}/{}", self.name(), policy.name().replace([' ', ',', '%'], ""))
    }
}

/// Half reads, half writes, random and Poisson within a burst; a tenth of the time is burst.
fn bursts(options: &Options, label: String, device: SsdConfig) -> Run {
    const HALF: u32 = 500_000;
    let workload = SyntheticConfig {
        read: HALF,
        read_class: 1,
        region_share: HALF,
        pace: PaceKind::Open,
        arrivals: ArrivalKind::Bursts,
        rate: 20_000,
        burst_time: Nanos::millis(10),
        idle: Nanos::millis(90),
        depth: 1024,
        ..SyntheticConfig::default()
    };
    let scenario = Scenario {
        seed: options.seed,
        content: false,
        device,
        precondition: Precondition { state: PreparedState::Steady, fill: HALF },
        run: Limits { requests: if options.quick { 100_000 } else { 1_000_000 }, ..Limits::NONE },
        workload,
        ..Scenario::default()
    };
    Run { label, scenario }
}

impl Study for ReadImportance {
    fn id(&self) -> &'static str {
        "beyond-read-importance"
    }

    fn title(&self) -> &'static str {
        "Which reads matter, without being told; a budget for resets; programs and erases out of their way"
    }

    fn source(&self) -> &'static str {
        "what Lee, PAReset, 2018, leaves open in its section 6.2 (no figures)"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        LOADS.into_iter().flat_map(|load| POLICIES.map(|policy| load.run(options, policy))).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for load in LOADS {
            let of = |policy| find(done, &load.label(policy));
            for policy in POLICIES {
                let case = format!("{}, {}", load.name(), policy.name());
                rows.extend(rows_of(&case, of(policy)));
                let row = |quantity: &str, measured: Option<f64>| Row::new(&*case, quantity, "x", measured);
                let (told, suspend) = (of(Policy::Told), of(Policy::Suspend));
                let tails = percentile(of(policy), 99.99).zip(percentile(told, 99.99));
                rows.push(row("mean / told", Some(mean(of(policy)) / mean(told))));
                rows.push(row("99.99 % / told", tails.map(|(own, told)| own / told)));
                rows.push(row("resets / told", Some(resets(of(policy)) / resets(told))));
                rows.push(row("erases / suspend", Some(wear(of(policy)) / wear(suspend))));
            }
        }
        rows
    }
}

/// Resets of programs and erases for each page that the host wrote.
fn resets(measured: &Measured) -> f64 {
    let counts = &measured.figures.counts;
    (counts.program_resets + counts.erase_resets) as f64 / counts.host_pages_written as f64
}
