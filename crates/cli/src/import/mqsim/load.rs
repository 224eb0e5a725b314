//! Flows as sources of requests, and the state of the drive before them.

use super::partition::Resources;
use super::size::PageUnit;
use super::{Device, Distribution, Flow, Interface, Synthetic, TimeUnit, Trace};
use crate::import::draft::Draft;
use std::path::{Path, PathBuf};
use tailcut_workload::trace::{self, Format, TraceScan};

/// What decides where the requests of flows go.
pub(super) struct Layout<'i> {
    /// The division of the flash.
    resources: &'i Resources,
    /// The page of the scenario.
    unit: PageUnit,
    /// The folder of the workload's file: traces may be there.
    folder: Option<&'i Path>,
}

impl<'i> Layout<'i> {
    /// The division of the flash, the page of the scenario and the folder of the workload's file.
    pub(super) fn new(resources: &'i Resources, unit: PageUnit, folder: Option<&'i Path>) -> Layout<'i> {
        Layout { resources, unit, folder }
    }
}

/// The part of the drive that a flow uses, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    /// From the start of the drive.
    first: u64,
    pages: u64,
}

/// Translates the flows, the preconditioning, and the end of the run.
pub(super) fn translate(draft: &mut Draft, device: &Device, flows: &[Flow], layout: &Layout<'_>) {
    draft.set_time("run.ramp", 0, "MQSim measures from the start");
    draft.set_time("run.round", 0, "");
    let regions = regions(flows, layout.resources);
    let trace = flows.iter().find_map(Flow::trace);
    let scan = trace.and_then(|trace| translate_trace(draft, trace, layout));
    translate_state(draft, device, flows, &regions, layout, scan.as_ref());
    if let Some(trace) = trace {
        return translate_replay(draft, device, flows, trace, scan.as_ref());
    }
    let stops = flows.iter().filter_map(Flow::synthetic).map(|flow| flow.stop);
    let stops: Vec<u64> = stops.collect();
    let last = stops.iter().copied().max().unwrap_or(0);
    let all_stop = stops.iter().all(|&stop| stop > 0);
    draft.set_time("run.duration", if all_stop { last } else { 0 }, "Stop_Time");
    for (number, flow) in flows.iter().enumerate() {
        let Some(synthetic) = flow.synthetic() else { continue };
        let mut source = Source { draft, section: section(number), flow, synthetic };
        source.translate(device, layout.unit);
        source.place(regions[number], layout.unit);
        source.end(all_stop && synthetic.stop == last);
        if number > 0 {
            source.draft.set_plain(format!("{}.enabled", source.section), true, "a further flow");
        }
        if flows.len() > 1 && device.interface == Interface::Nvme {
            source.draft.set_plain(
                format!("{}.stream", source.section),
                number,
                "write frontiers of the flow",
            );
        }
    }
}

/// The section of flow number `number`.
fn section(number: usize) -> String {
    match number {
        0 => String::from("workload"),
        1 => String::from("beside"),
        _ => format!("beside_{}", number + 1),
    }
}

/// Regions of flows, one behind the other from the start of the drive: where exactly does not matter.
fn regions(flows: &[Flow], resources: &Resources) -> Vec<Region> {
    let mut first = 0;
    let region = |flow: &Flow| {
        let share = flow.synthetic().map_or(100, |flow| flow.working_set);
        let pages = (resources.pages_of_flow() * share / 100).max(1);
        let region = Region { first, pages };
        first += pages;
        region
    };
    flows.iter().map(region).collect()
}

/// The state of the drive before the run.
fn translate_state(
    draft: &mut Draft,
    device: &Device,
    flows: &[Flow],
    regions: &[Region],
    layout: &Layout<'_>,
    scan: Option<&TraceScan>,
) {
    let resources = layout.resources;
    let has_reads = flows.iter().any(Flow::has_reads);
    let written: u64 = flows.iter().map(|flow| resources.pages_of_flow() * flow.occupancy / 100).sum();
    let mut used: u64 = regions.iter().map(|region| region.pages).sum();
    if let Some(scan) = scan {
        used = scan.span().div_ceil(device.flash.page).min(used);
    }
    let pages = resources.pages();
    let ppm = |part: u64| {
        u32::try_from((part * 1_000_000).div_ceil(pages.max(1))).unwrap_or(u32::MAX).min(1_000_000)
    };
    let origin = "Initial_Occupancy_Percentage";
    match (device.preconditioned, has_reads) {
        (true, _) => {
            draft.set_text("precondition.state", "steady", "Enabled_Preconditioning");
            let fill = if has_reads { written.max(used) } else { written };
            draft.set_share("precondition.fill", ppm(fill), origin);
            if has_reads && used > written {
                draft.note(
                    origin,
                    "MQSim takes a flash page for each page that is read before it was written; here all \
                     that is read holds data from the start, more than this percentage",
                );
            }
        }
        (false, true) => {
            draft.set_text("precondition.state", "sequential", "Enabled_Preconditioning");
            draft.set_share("precondition.fill", ppm(used), "pages that are read");
            draft.note(
                "Enabled_Preconditioning = false",
                "MQSim takes a flash page for each page that is read before it was written, at once and in \
                 no time; here all that is read holds data from the start",
            );
        }
        (false, false) => {
            draft.set_text("precondition.state", "empty", "Enabled_Preconditioning");
        }
    }
}

/// A source that is being translated.
struct Source<'i> {
    draft: &'i mut Draft,
    section: String,
    flow: &'i Flow,
    synthetic: &'i Synthetic,
}

impl Source<'_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.section)
    }

    /// What is requested, and when.
    fn translate(&mut self, device: &Device, unit: PageUnit) {
        let (flow, synthetic) = (self.flow, self.synthetic);
        let sizes = unit.sizes(synthetic);
        let share = u32::try_from(synthetic.read * 10_000).unwrap_or(1_000_000);
        self.draft.set_share(self.key("read"), share, "Read_Percentage");
        let origin = if synthetic.deviation.is_some() {
            "Average_Request_Size, Variance_Request_Size (a standard deviation)"
        } else {
            "Average_Request_Size"
        };
        self.draft.set_text(self.key("read_size"), &sizes, origin);
        self.draft.set_text(self.key("write_size"), &sizes, origin);
        self.draft.set_bytes(self.key("align"), unit.alignment(synthetic), "Address_Alignment_Unit");
        match synthetic.depth {
            Some(depth) => {
                self.draft.set_text(self.key("pace"), "closed", "Synthetic_Generator_Type");
                self.draft.set_plain(self.key("depth"), depth, "Average_No_of_Reqs_in_Queue");
            }
            None => {
                self.draft.set_text(self.key("pace"), "open", "Synthetic_Generator_Type");
                self.draft.set_text(self.key("arrivals"), "poisson", "Synthetic_Generator_Type");
                let rate = synthetic.requests_per_second();
                self.draft.set_plain(self.key("rate"), rate, "Bandwidth ÷ Average_Request_Size");
                // Requests wait in the host for a place in the queue.
                self.draft.set_plain(self.key("depth"), 1 << 20, "MQSim: no bound");
            }
        }
        let class = flow.read_class(device.scheduling);
        self.draft.set_plain(self.key("read_class"), class, "Priority_Class");
    }

    /// Where requests go.
    fn place(&mut self, region: Region, unit: PageUnit) {
        let synthetic = self.synthetic;
        let bytes = region.pages * unit.bytes();
        self.draft.set_bytes(
            self.key("region_offset"),
            region.first * unit.bytes(),
            "behind the flow before",
        );
        self.draft.set_bytes(self.key("region_size"), bytes, "Working_Set_Percentage");
        let name = match synthetic.distribution {
            Distribution::Streaming => "sequential",
            Distribution::HotCold => "hot-cold",
            Distribution::Uniform => "uniform",
        };
        self.draft.set_text(self.key("addresses.distribution"), name, "Address_Distribution");
        if synthetic.distribution == Distribution::HotCold {
            let hot = u32::try_from(synthetic.hot * 10_000).unwrap_or(0);
            self.draft.set_share(self.key("addresses.hot_space"), hot, "Percentage_of_Hot_Region");
            let origin = "100 − Percentage_of_Hot_Region";
            self.draft.set_share(self.key("addresses.hot_access"), 1_000_000 - hot, origin);
        }
        let stride = unit.alignment(synthetic);
        if synthetic.distribution == Distribution::Streaming && stride > unit.size(synthetic) {
            self.draft.note(
                format!("Address_Alignment_Unit = {}", synthetic.align.unwrap_or(1)),
                "MQSim's stream leaves the rest of each alignment unit out; here a request begins where its \
                 predecessor ended",
            );
        }
    }

    /// When it ends. `with_run` if the run ends then.
    fn end(&mut self, with_run: bool) {
        if self.synthetic.stop == 0 {
            self.draft.set_plain(self.key("requests"), self.synthetic.total, "Total_Requests_To_Generate");
        } else if !with_run {
            self.draft.set_time(self.key("runtime"), self.synthetic.stop, "Stop_Time");
        }
    }
}

/// The file of a trace, and its content if it can be read.
fn translate_trace(draft: &mut Draft, trace: &Trace, layout: &Layout<'_>) -> Option<TraceScan> {
    let file = trace_file(&trace.file, layout.folder);
    draft.set_text("trace.file", &file.display().to_string(), "File_Path");
    draft.set_text("trace.format", "mqsim", "MQSim's format");
    let options = trace::Options { format: Some(Format::Mqsim), skip_bad_lines: true };
    match trace::scan(&file, &options) {
        Ok(scan) => Some(scan),
        Err(error) => {
            draft.note(
                format!("File_Path = {}", trace.file),
                format!(
                    "the trace cannot be read now ({error}): its length and addresses are not known here"
                ),
            );
            None
        }
    }
}

/// MQSim opens a trace from the folder in which it runs; here it may also be beside the workload's file.
fn trace_file(name: &str, folder: Option<&Path>) -> PathBuf {
    let as_is = PathBuf::from(name);
    let beside = folder.map(|folder| folder.join(name));
    let found = beside.filter(|beside| !as_is.exists() && beside.exists()).unwrap_or(as_is);
    // A file that is there is found from any folder.
    match found.exists() {
        true => std::path::absolute(&found).unwrap_or(found),
        false => found,
    }
}

/// How a trace is replayed.
fn translate_replay(
    draft: &mut Draft,
    device: &Device,
    flows: &[Flow],
    trace: &Trace,
    scan: Option<&TraceScan>,
) {
    draft.set_plain("trace.depth", 1 << 20, "MQSim: no bound");
    draft.set_plain("trace.times", trace.times, "Relay_Count");
    if trace.percentage < 100 && trace.times == 1 {
        match scan {
            Some(scan) => {
                let requests = scan.tally.records * trace.percentage / 100;
                draft.set_plain("trace.requests", requests, "Percentage_To_Be_Executed of the trace");
            }
            None => draft.note(
                format!("Percentage_To_Be_Executed = {}", trace.percentage),
                "it needs the length of the trace: set trace.requests",
            ),
        }
    } else if trace.percentage < 100 {
        draft.note(
            format!("Percentage_To_Be_Executed = {}", trace.percentage),
            "MQSim ignores it where Relay_Count is above 1, as here",
        );
    }
    let stretch: u64 = match trace.unit {
        TimeUnit::Picoseconds => 1_000,
        TimeUnit::Nanoseconds => 1_000_000,
        TimeUnit::Microseconds => 1_000_000_000,
    };
    if stretch != 1_000_000 {
        draft.note(
            "Time_Unit",
            format!(
                "MQSim takes all times for nanoseconds whatever it is set to, as here; for the unit of the \
                 file: --set trace.stretch_ppm={stretch}"
            ),
        );
    }
    let class =
        flows.iter().find(|flow| flow.trace().is_some()).map_or(3, |flow| flow.read_class(device.scheduling));
    draft.set_plain("workload.read_class", class, "Priority_Class");
    if flows.len() > 1 {
        draft.note(
            format!("{} further flows", flows.len() - 1),
            "MQSim runs them beside the trace; here a trace is the only source of a run, and they are \
             left out",
        );
    }
}
