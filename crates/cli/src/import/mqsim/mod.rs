//! MQSim: a device (`ssdconfig.xml`) and one scenario of a workload (`workload.xml`).
//!
//! The translation follows what the program does (commit 7ec40e3), which is not always what the name of a
//! parameter promises; each such difference is a note. Names, defaults and units are those of its
//! `Host_`, `Device_`, `Flash_` and `IO_Flow_Parameter_Set.cpp`.

mod drive;
mod elements;
mod flash;
mod host;
mod load;
mod parameters;
mod partition;
mod size;

use crate::failure::Failure;
use crate::import::draft::Draft;
use crate::scenario::{Place, Problem, Source};
use elements::Parameters;
use roxmltree::Node;
use std::path::Path;
use tailcut_ssd::config::{Order, VictimPolicy};
use tailcut_ssd::flash::timing::CellKind;

/// The scenario of a device and of the `number`th `IO_Scenario` of a workload, from 1.
///
/// # Errors
/// Everything that is wrong with the files, with its line and what would be right.
pub(super) fn translate(device: &Path, workload: &Path, number: usize) -> Result<Draft, Failure> {
    draft(&[elements::open(device)?, elements::open(workload)?], workload.parent(), number)
}

/// The scenario of the texts of both files. Traces may be in `folder`.
///
/// # Errors
/// Everything that is wrong with the texts.
fn draft(sources: &[Source; 2], folder: Option<&Path>, number: usize) -> Result<Draft, Failure> {
    let (device, flows, count) = read(sources, number)?;
    let names = sources.each_ref().map(|source| source.file_name().unwrap_or_default());
    let title =
        format!("Imported from MQSim: {} and IO_Scenario {number} of {count} of {}.", names[0], names[1]);
    let mut draft = Draft::new(title);
    if count > 1 {
        draft.note(
            "IO_Scenario",
            format!(
                "MQSim runs all {count} one after another; this is number {number}: --scenario N imports \
                 another"
            ),
        );
    }
    let resources = partition::Resources::new(&device, &flows);
    let unit = size::PageUnit::new(&device, &flows);
    host::translate(&mut draft, &device, &flows, &resources);
    flash::translate(&mut draft, &device, &flows, &resources, unit);
    drive::translate(&mut draft, &device, &flows, &resources);
    load::translate(&mut draft, &device, &flows, &load::Layout::new(&resources, unit, folder));
    Ok(draft)
}

/// The parameters of both files, the flows of the chosen scenario, and how many scenarios there are.
///
/// # Errors
/// Everything that is wrong with the files.
fn read(sources: &[Source; 2], number: usize) -> Result<(Device, Vec<Flow>, usize), Failure> {
    let mut problems = Vec::new();
    let (mut configuration, mut scenarios) = (None, Vec::new());
    match elements::parse(0, &sources[0]) {
        Ok(document) => match elements::root(0, &document, "Execution_Parameter_Set") {
            Ok(root) => configuration = Some(Device::read(Parameters::new(0, root, &mut problems))),
            Err(problem) => problems.push(problem),
        },
        Err(problem) => problems.push(problem),
    }
    let device = configuration.unwrap_or_default();
    match elements::parse(1, &sources[1]) {
        Ok(document) => match elements::root(1, &document, "MQSim_IO_Scenarios") {
            Ok(root) => scenarios = read_scenarios(root, &device, &mut problems),
            Err(problem) => problems.push(problem),
        },
        Err(problem) => problems.push(problem),
    }
    let count = scenarios.len();
    if problems.is_empty() && !(1..=count).contains(&number) {
        let message = format!("there is no IO_Scenario {number}: this file has {count}");
        let remedy = if count == 0 {
            String::from("write an <IO_Scenario> with a flow")
        } else {
            format!("--scenario takes 1 to {count}")
        };
        problems.push(Problem::at(Place::new(1, 0..0), message).remedy(remedy));
    }
    if !problems.is_empty() {
        return Err(elements::failure(sources, problems));
    }
    Ok((device, scenarios.swap_remove(number - 1), count))
}

/// The flows of every scenario.
fn read_scenarios(root: Node<'_, '_>, device: &Device, problems: &mut Vec<Problem>) -> Vec<Vec<Flow>> {
    let mut scenarios = Vec::new();
    for scenario in root.children().filter(Node::is_element) {
        if scenario.tag_name().name() != "IO_Scenario" {
            let message = format!("there is no <{}> in MQSim_IO_Scenarios", scenario.tag_name().name());
            let start = scenario.range().start;
            let problem = Problem::at(Place::new(1, start..start + 1), message);
            problems.push(problem.remedy("MQSim would ignore it: write <IO_Scenario>, or remove it"));
            continue;
        }
        let flows: Vec<Flow> = scenario
            .children()
            .filter(Node::is_element)
            .filter_map(|flow| Flow::read(flow, device, problems))
            .collect();
        let count = flows.len();
        if !(1..=MOST_FLOWS).contains(&count) {
            let start = scenario.range().start;
            let message = format!("an IO_Scenario has 1 to {MOST_FLOWS} flows, and this one {count}");
            let problem = Problem::at(Place::new(1, start..start + "<IO_Scenario".len()), message);
            problems.push(problem.remedy("MQSim has no queue for more: remove flows, or add one"));
        }
        scenarios.push(flows);
    }
    scenarios
}

/// Queue pairs of MQSim's NVMe interface.
const MOST_FLOWS: usize = 8;

/// The parameters of a device and of the host around it.
#[derive(Clone, Debug)]
struct Device {
    /// GB/s in each direction.
    lane_bandwidth: f64,
    lanes: u64,
    /// Nanoseconds for each message, of a SATA host.
    sata_delay: u64,
    /// Nanoseconds between two lines of a log of response times; `None` without that log.
    log_period: Option<u64>,
    seed: u64,
    preconditioned: bool,
    interface: Interface,
    /// Entries of a submission queue.
    queue_depth: u64,
    /// Commands of a flow in the device.
    fetched: u64,
    caching: Caching,
    cache_is_shared: bool,
    /// Bytes.
    cache: u64,
    dram: Dram,
    hybrid_mapping: bool,
    ideal_map: bool,
    /// Bytes of the cached mapping table.
    map_cache: u64,
    map_cache_is_shared: bool,
    order: Order,
    scheduling: Scheduling,
    /// Shares of 1.
    spare: f64,
    gc_threshold: f64,
    gc_hard_threshold: f64,
    victim: Victim,
    copyback: bool,
    preemptible: bool,
    dynamic_levelling: bool,
    static_levelling: bool,
    levelling_spread: u64,
    /// Written suspension thresholds by name, in nanoseconds.
    suspension_thresholds: Vec<(&'static str, u64)>,
    channels: u64,
    /// Bytes.
    channel_width: u64,
    /// Million transfers per second.
    transfer_rate: u64,
    chips: u64,
    flash: Flash,
    /// Parameters that MQSim does not read, as they are written.
    unread: Vec<(&'static str, String)>,
}

/// The flash chips. Times in nanoseconds.
#[derive(Clone, Debug)]
struct Flash {
    cell: CellKind,
    suspends_programs: bool,
    suspends_erases: bool,
    /// Lower, centre and upper page.
    read: [u64; 3],
    program: [u64; 3],
    erase: u64,
    endurance: u64,
    suspend_erase: u64,
    suspend_program: u64,
    dies: u64,
    planes: u64,
    blocks: u64,
    pages: u64,
    /// Bytes.
    page: u64,
    spare: u64,
}

/// The DRAM of the data cache.
#[derive(Clone, Debug)]
struct Dram {
    /// Bytes of a row.
    row: u64,
    /// Million transfers per second.
    rate: u64,
    /// Bytes of a transfer.
    burst: u64,
    /// Nanoseconds.
    row_to_column: u64,
    column: u64,
    precharge: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interface {
    Nvme,
    Sata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caching {
    Simple,
    Advanced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheduling {
    OutOfOrder,
    Priority,
    Flin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Greedy,
    Rga,
    Random,
    RandomP,
    RandomPp,
    Fifo,
}

impl Victim {
    /// The policy here.
    fn policy(self) -> VictimPolicy {
        match self {
            Victim::Greedy => VictimPolicy::Greedy,
            Victim::Rga => VictimPolicy::DChoices,
            Victim::Random | Victim::RandomP | Victim::RandomPp => VictimPolicy::Random,
            Victim::Fifo => VictimPolicy::Fifo,
        }
    }
}

/// One flow of a scenario.
#[derive(Clone, Debug)]
struct Flow {
    caching: CachingMode,
    priority: Priority,
    /// The parts of the device that it may use.
    share: Share,
    /// Per cent of its logical space that is written before the run.
    occupancy: u64,
    requests: Requests,
    unread: Vec<(&'static str, String)>,
}

/// Numbers of channels, chips of a channel, dies of a chip and planes of a die.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Share {
    channels: Vec<u64>,
    chips: Vec<u64>,
    dies: Vec<u64>,
    planes: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CachingMode {
    Off,
    Write,
    Read,
    WriteRead,
}

impl CachingMode {
    fn caches_writes(self) -> bool {
        matches!(self, CachingMode::Write | CachingMode::WriteRead)
    }

    fn caches_reads(self) -> bool {
        matches!(self, CachingMode::Read | CachingMode::WriteRead)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Priority {
    Urgent,
    High,
    Medium,
    Low,
}

/// Where the requests of a flow come from.
#[derive(Clone, Debug)]
enum Requests {
    Synthetic(Synthetic),
    Trace(Trace),
}

/// A generator of requests. Sizes in sectors of 512 bytes.
#[derive(Clone, Debug)]
struct Synthetic {
    /// Per cent.
    working_set: u64,
    /// Requests in flight; `None` for arrivals by [`Synthetic::bandwidth`].
    depth: Option<u64>,
    /// Bytes per second.
    bandwidth: u64,
    /// Per cent.
    read: u64,
    distribution: Distribution,
    /// Per cent.
    hot: u64,
    /// Sectors; `None` for any sector.
    align: Option<u64>,
    /// Sectors.
    size: u64,
    /// Standard deviation of a normal distribution; `None` for one size.
    deviation: Option<u64>,
    seed: u64,
    /// Nanoseconds; 0 for by count.
    stop: u64,
    total: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distribution {
    Streaming,
    HotCold,
    Uniform,
}

/// A trace file.
#[derive(Clone, Debug)]
struct Trace {
    file: String,
    /// Per cent of its requests.
    percentage: u64,
    times: u64,
    unit: TimeUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeUnit {
    Picoseconds,
    Nanoseconds,
    Microseconds,
}

impl Flow {
    /// The generator, unless it replays a trace.
    fn synthetic(&self) -> Option<&Synthetic> {
        match &self.requests {
            Requests::Synthetic(synthetic) => Some(synthetic),
            Requests::Trace(_) => None,
        }
    }

    /// The trace, if it replays one.
    fn trace(&self) -> Option<&Trace> {
        match &self.requests {
            Requests::Trace(trace) => Some(trace),
            Requests::Synthetic(_) => None,
        }
    }

    /// Whether some of its requests are reads.
    fn has_reads(&self) -> bool {
        self.synthetic().is_none_or(|synthetic| synthetic.read > 0)
    }

    /// Whether some of its requests are writes.
    fn has_writes(&self) -> bool {
        self.synthetic().is_none_or(|synthetic| synthetic.read < 100)
    }
}

#[cfg(test)]
mod tests;
