//! The runs that Sprinkler's evaluation is made of: the workloads of its table 1, and recorded
//! traces beside them, under each scheduler, on drives of 64 to 1024 chips.
//!
//! The paper does not describe how its traces were replayed. Two loads cover the possibilities:
//!
//! - *saturated*: twice as many requests at a time as the device queue takes. Bandwidth, requests
//!   per second, idleness and parallelism are measured here;
//! - *carried*: Poisson arrivals at nine tenths of what VAS sustains when it is saturated, equal for all
//!   schedulers. Latency and queue stall are measured here: in a saturated closed loop both would only
//!   repeat the bandwidth (Little's law).

use super::many_chip::{CHIPS, Scheduler, drive, schedulers};
use super::{Options, Row};
use std::path::{Path, PathBuf};
use tailcut_base::Cause;
use tailcut_base::config::Choice;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::scenario::ReplayTiming;
use tailcut_sim::world::Limits;
use tailcut_ssd::config::CommitPolicy::{self, Pas, Sprinkler, Vas};
use tailcut_ssd::config::Protocol;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Figures, Precondition, SsdConfig};
use tailcut_workload::address::WHOLE;
use tailcut_workload::config::PaceKind;
use tailcut_workload::datacenter::{DatacenterConfig, Workload};
use tailcut_workload::trace::{self, Replay, ReplayOptions};

/// Where the requests come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// A row of table 1.
    Table(Workload),
    /// A recorded trace, replayed.
    Trace(PathBuf),
}

/// When they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As many at a time as the device queue takes, and as many outside.
    Saturated,
    /// As [`Pace::Saturated`], with a device queue of [`DEEP`] entries instead of 32.
    Deep,
    /// At this many requests per second, on average.
    Carried(u64),
}

impl Pace {
    /// The suffix of a row at this pace; empty for the usual one.
    pub fn suffix(self) -> String {
        if self == Pace::Deep { format!(", queue of {DEEP}") } else { String::new() }
    }
}

/// Entries of a deeper queue. The paper names the native command queue of Serial ATA, which has 32 entries
/// (section 5.1), but also states that the layout of waiting requests takes 256 KB at four bytes each, and
/// that an entry tracks 64 of them (section 4.4): room for 1024 entries.
pub const DEEP: u32 = (256 << 10) / 4 / 64;

/// The share of VAS's saturated throughput at which latencies are compared.
const CARRIED: f64 = 0.9;

/// The loads of the sixteen workloads of Sprinkler's table 1, in its order.
pub fn table_1() -> Vec<Load> {
    let rows = Workload::all().iter().copied().filter(|workload| workload.row().is_some());
    rows.map(Load::Table).collect()
}

/// The sixteen workloads, and the traces that the user has.
pub fn loads(options: &Options) -> Vec<Load> {
    let mut loads = table_1();
    loads.extend(options.traces.iter().flat_map(|folder| traces(folder)).map(Load::Trace));
    loads
}

/// The files in a folder that are traces of block devices, by name.
pub fn traces(folder: &Path) -> Vec<PathBuf> {
    let opens = |file: &PathBuf| {
        let options = trace::Options { format: None, skip_bad_lines: false };
        Replay::open(file, &options, ReplayOptions::new(1 << 30)).is_ok()
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(opens).collect();
    files.sort();
    files
}

impl Load {
    /// Name of the load in rows.
    pub fn name(&self) -> String {
        match self {
            Load::Table(workload) => workload.name().to_string(),
            Load::Trace(file) => file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// True when [`Pace`] sets the arrivals: a trace has its own.
    pub fn has_pace(&self) -> bool {
        matches!(self, Load::Table(_))
    }

    /// How many requests a run has with a queue of `depth` entries.
    fn requests(&self, options: &Options, depth: u32) -> u64 {
        let Load::Table(workload) = self else { return if options.quick { 2_000 } else { 0 } };
        let row = workload.row().expect("only rows of the table are loads");
        let share = row.read_share();
        let mean = share * row.mean_read_bytes() + (1.0 - share) * row.mean_write_bytes();
        // Rounded up to whole requests.
        let requests = |bytes: u64| (bytes as f64 / mean).ceil() as u64;
        let fulls = least_fulls(options) * u64::from(depth);
        fulls.max(requests(bytes_of_run(options))).min(requests(most_bytes(options)).max(fulls / 8))
    }

    /// The most that a run is expected to write, in bytes.
    fn written(&self, options: &Options, depth: u32) -> u64 {
        match self {
            Load::Table(workload) => {
                let row = workload.row().expect("only rows of the table are loads");
                let writes = (1.0 - row.read_share()) * self.requests(options, depth) as f64;
                // A write touches up to a page more than it has; a third is left for chance.
                (writes * (row.mean_write_bytes() + 2048.0) * 4.0 / 3.0) as u64
            }
            Load::Trace(_) => bytes_of_run(options),
        }
    }

    /// The run of this load under a scheduler on a drive of `chips` chips.
    pub fn run(&self, options: &Options, policy: CommitPolicy, chips: u32, pace: Pace) -> Run {
        let mut device = drive(chips);
        if pace == Pace::Deep {
            (device.queue.protocol, device.queue.depth) = (Protocol::Nvme, DEEP);
        }
        let depth = device.queue.depth;
        let mut device = with_room(device, self.written(options, depth));
        device.schedule.commit = policy;
        let fill = fill_of(&device);
        let mut scenario = Scenario {
            seed: options.seed,
            device,
            precondition: Precondition { state: PreparedState::Sequential, fill },
            run: Limits::NONE,
            ..Scenario::default()
        };
        match self {
            Load::Table(workload) => {
                let requests = self.requests(options, depth);
                let (pace, rate, depth) = match pace {
                    Pace::Saturated | Pace::Deep => (PaceKind::Closed, 1, 2 * depth),
                    Pace::Carried(rate) => (PaceKind::Open, rate, 1 << 20),
                };
                scenario.datacenter =
                    DatacenterConfig { workload: *workload, requests, pace, depth, rate, region_share: fill };
            }
            Load::Trace(file) => {
                scenario.precondition.fill = WHOLE;
                scenario.trace.file = file.to_string_lossy().into_owned();
                scenario.trace.timing = ReplayTiming::Closed;
                scenario.trace.depth = 2 * depth;
                scenario.trace.requests = self.requests(options, depth);
            }
        }
        Run { label: self.label(policy, chips, pace), scenario }
    }

    /// The run with a step beyond the paper on top of RIOS and FARO.
    pub fn run_beyond(&self, options: &Options, chips: u32, pace: Pace, step: Step) -> Run {
        let mut run = self.run(options, Sprinkler, chips, pace);
        let schedule = &mut run.scenario.device.schedule;
        schedule.level_frontiers = step != Step::Match;
        schedule.match_cell_times = step != Step::Level;
        run.label += step.suffix();
        run
    }

    /// The results of the run that [`Load::run_beyond`] describes.
    pub fn beyond<'m>(&self, done: &'m [Measured], chips: u32, pace: Pace, step: Step) -> &'m Measured {
        find(done, &(self.label(Sprinkler, chips, pace) + step.suffix()))
    }

    pub(super) fn label(&self, policy: CommitPolicy, chips: u32, pace: Pace) -> String {
        let pace = match pace {
            Pace::Saturated => "saturated",
            Pace::Deep => "deep-queue",
            Pace::Carried(_) => "carried",
        };
        format!("{chips}-chips/{}/{policy}/{pace}", self.name()).replace(char::is_whitespace, "-")
    }

    /// The results at a pace.
    pub fn at<'m>(&self, done: &'m [Measured], policy: CommitPolicy, chips: u32, pace: Pace) -> &'m Measured {
        find(done, &self.label(policy, chips, pace))
    }

    /// The results of a saturated run.
    pub fn saturated<'m>(&self, done: &'m [Measured], policy: CommitPolicy, chips: u32) -> &'m Measured {
        self.at(done, policy, chips, Pace::Saturated)
    }

    /// The results of a saturated run with a deep queue.
    pub fn deep<'m>(&self, done: &'m [Measured], policy: CommitPolicy, chips: u32) -> &'m Measured {
        self.at(done, policy, chips, Pace::Deep)
    }

    /// The results at the load that VAS carries.
    pub fn carried<'m>(&self, done: &'m [Measured], policy: CommitPolicy, chips: u32) -> &'m Measured {
        self.at(done, policy, chips, Pace::Carried(0))
    }

    /// The pace at which latencies are compared, from what VAS has sustained.
    pub fn carried_pace(&self, done: &[Measured], chips: u32) -> Pace {
        let sustained = self.saturated(done, Vas, chips).iops();
        // Rounded down, and one request per second at least.
        Pace::Carried(((sustained * CARRIED) as u64).max(1))
    }
}

/// A step beyond the paper: see `docs/decisions/beyond-sprinkler.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The plane of a die that is behind programs first.
    Level,
    /// Dies share a program if their pages take equally long.
    Match,
    /// Both steps together.
    Both,
}

impl Step {
    /// Every step.
    pub const ALL: [Step; 3] = [Step::Level, Step::Match, Step::Both];

    /// Name of the step in rows.
    pub fn name(self) -> &'static str {
        match self {
            Step::Level => "level frontiers",
            Step::Match => "matched cell times",
            Step::Both => "both",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Step::Level => "/level-frontiers",
            Step::Match => "/match-cell-times",
            Step::Both => "/both",
        }
    }
}

/// The drive on which all five schedulers are compared.
pub const SMALL: u32 = CHIPS[0];

/// The queues of the claims.
pub const QUEUES: [Pace; 2] = [Pace::Saturated, Pace::Deep];

/// The figures of a run on the small drive.
pub fn figures<'m>(done: &'m [Measured], load: &Load, policy: CommitPolicy, pace: Pace) -> &'m Figures {
    &load.at(done, policy, SMALL, pace).figures
}

/// All schedulers under saturation, and those of the claims with a deep queue, on the small drive;
/// and SPK3 with level frontiers.
pub fn saturated_runs(options: &Options, done: &[Measured]) -> Vec<Run> {
    if !done.is_empty() {
        return Vec::new();
    }
    let mut runs = Vec::new();
    for load in loads(options) {
        let run = |scheduler: &Scheduler| load.run(options, scheduler.policy, SMALL, Pace::Saturated);
        runs.extend(schedulers().iter().map(run));
    }
    for load in table_1() {
        runs.extend([Vas, Pas, Sprinkler].map(|policy| load.run(options, policy, SMALL, Pace::Deep)));
        runs.push(load.run_beyond(options, SMALL, Pace::Deep, Step::Level));
    }
    runs
}

/// Mean latency inside the drive, in ns: from the moment at which a tag was bound.
pub fn device_latency_ns(measured: &Measured) -> f64 {
    let all = measured.report.all();
    let outside = [Cause::Tag, Cause::HostQueue];
    let waits = all.waits.iter().filter(|wait| outside.iter().any(|cause| cause.label() == wait.cause));
    all.latency.mean_ns - waits.map(|wait| wait.mean_ns).sum::<f64>()
}

/// The drive with as few blocks as hold the data and take `written` bytes without garbage
/// collection: the paper's main evaluation is on pristine drives (section 5.9), where the number
/// of blocks does not matter.
fn with_room(mut device: SsdConfig, written: u64) -> SsdConfig {
    let row = row_bytes(&device);
    let used = region(&device) / row;
    // Blocks are opened for whole rows; chance fills some planes more than others.
    let new = written.div_ceil(row) * 5 / 4 + 2;
    let blocks = used + new + u64::from(device.blocks_kept());
    device.geometry.blocks = blocks as u32;
    // Rounded down, so that the region fits; capacity that is offered and not used is as good as spare.
    device.ftl.spare = (u64::from(WHOLE) * (blocks - used) / blocks).min(900_000) as u32;
    device
}

/// The share of the user capacity that holds data.
fn fill_of(device: &SsdConfig) -> u32 {
    let pages = device.ftl.logical_pages(&device.geometry);
    let share = u64::from(WHOLE) * region(device) / (pages * device.geometry.page_bytes);
    share.min(u64::from(WHOLE)) as u32
}

/// Bytes that requests go to: some hundred times the bytes in flight, in whole blocks of each plane.
fn region(device: &SsdConfig) -> u64 {
    LEAST_REGION.next_multiple_of(row_bytes(device))
}

/// User bytes of one block of each plane.
fn row_bytes(device: &SsdConfig) -> u64 {
    let g = &device.geometry;
    u64::from(g.plane_count()) * u64::from(g.pages) * g.page_bytes
}

const LEAST_REGION: u64 = 512 << 20;

/// Bytes that a run moves, about.
fn bytes_of_run(options: &Options) -> u64 {
    if options.quick { 16 << 20 } else { 256 << 20 }
}

/// A run fills the queue at least this many times, or an eighth of that where requests are so large that it
/// would move more than [`most_bytes`]: filling and draining the queue are a small part.
fn least_fulls(options: &Options) -> u64 {
    if options.quick { 20 } else { 64 }
}

fn most_bytes(options: &Options) -> u64 {
    if options.quick { 96 << 20 } else { 2 << 30 }
}

/// The mean of a figure over loads.
pub fn mean(loads: &[Load], figure: impl Fn(&Load) -> f64) -> f64 {
    loads.iter().map(figure).sum::<f64>() / loads.len() as f64
}

/// The geometric mean of a ratio over loads.
pub fn geometric_mean(loads: &[Load], ratio: impl Fn(&Load) -> f64) -> f64 {
    (loads.iter().map(|load| ratio(load).ln()).sum::<f64>() / loads.len() as f64).exp()
}

/// The least of a figure over loads.
pub fn least(loads: &[Load], figure: impl Fn(&Load) -> f64) -> f64 {
    loads.iter().map(figure).fold(f64::INFINITY, f64::min)
}

/// The most of a figure over loads.
pub fn most(loads: &[Load], figure: impl Fn(&Load) -> f64) -> f64 {
    loads.iter().map(figure).fold(f64::NEG_INFINITY, f64::max)
}

/// A row of a drive of `chips` chips with this queue. Figures that name neither are read as those of 64 chips
/// and a queue of 32 entries; the others are further readings (`docs/decisions/how-we-read-sprinkler.md`).
pub fn read_at(row: Row, chips: u32, pace: Pace) -> Row {
    let queue = (pace == Pace::Deep).then(|| format!("queue of {DEEP}"));
    let drive = (chips != SMALL).then(|| format!("{chips} chips"));
    match [drive, queue].into_iter().flatten().collect::<Vec<_>>() {
        main if main.is_empty() => row,
        others => row.of_reading(others.join(", ")),
    }
}

/// Why a claim comes out differently: the depth of the queue, which the paper leaves open (see [`DEEP`]),
/// decides how many requests a scheduler can choose from. Returns a sentence that places the paper's figure
/// relative to those measured with 32 and with 1024 entries.
pub fn queue_decides(paper: f64, short: f64, deep: f64) -> String {
    let (low, high) = (short.min(deep), short.max(deep));
    let place = match paper {
        paper if paper < low => "below both",
        paper if paper > high => "above both",
        _ => "between the two",
    };
    format!(
        "A scheduler can only choose among requests that wait: with 32 entries in the queue a chip of a \
         small drive has one or two pages to choose from and a chip of a large one mostly none, with {DEEP} \
         entries dozens. The paper names a queue of 32 entries and a layout that would hold {DEEP}; its \
         figure lies {place}."
    )
}

/// Note on the rows with steps beyond the paper.
pub const BEYOND: &str = "\
Beyond the paper: random writes let the write frontiers of a die's planes drift apart, and planes share \
programs only at one page offset; with level_frontiers the plane that is behind goes first. Dies behind one \
ready/busy line end together; with match_cell_times a fast page does not wait for a slow one.";

/// The saving against a base, as a share of it; 0 where the base is 0.
pub fn saved(base: f64, now: f64) -> f64 {
    if base == 0.0 { 0.0 } else { 1.0 - now / base }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_sim::measured::measure;

    const QUICK: Options = Options { quick: true, seed: 3, traces: None };

    #[test]
    fn the_sixteen_workloads_run_on_a_pristine_drive() {
        let loads = table_1();
        assert_eq!(loads.len(), 16);
        for load in loads {
            let run = load.run(&QUICK, Sprinkler, 64, Pace::Saturated);
            assert_eq!(run.scenario.device.check_space(), Ok(()), "{}", run.label);
            let measured = measure(&run, &|| false).expect("it runs");
            assert_eq!(measured.errors(), 0, "{}", run.label);
            assert_eq!(measured.figures.counts.erases, 0, "{}: nothing is collected", run.label);
            let bound = measured.bandwidth_limit().expect("there was work");
            assert!(measured.bandwidth() <= bound, "{}", run.label);
        }
    }

    #[test]
    fn a_deeper_queue_is_what_the_layout_of_the_paper_holds() {
        assert_eq!(DEEP, 1024);
        let run = table_1()[0].run(&QUICK, Vas, 256, Pace::Deep);
        assert_eq!(run.scenario.device.queue.depth, 1024);
        assert_eq!(run.scenario.datacenter.depth, 2048);
    }

    #[test]
    fn what_the_queue_decides_says_where_the_paper_lies() {
        assert!(queue_decides(2.0, 1.0, 3.0).ends_with("between the two."));
        assert!(queue_decides(0.5, 3.0, 1.0).ends_with("below both."));
        assert!(queue_decides(5.0, 1.0, 3.0).ends_with("above both."));
    }

    #[test]
    fn savings_and_means() {
        assert_eq!(saved(4.0, 1.0), 0.75);
        assert_eq!(saved(0.0, 1.0), 0.0);
        let loads = &table_1()[..2];
        let of = |load: &Load| if *load == loads[0] { 1.0 } else { 4.0 };
        assert_eq!((mean(loads, of), geometric_mean(loads, of)), (2.5, 2.0));
        assert_eq!((least(loads, of), most(loads, of)), (1.0, 4.0));
    }
}
