//! Shin, table 5.2, its storage half: what gets and sets of a key-value store wait for its storage.
//!
//! The paper's memcached keeps its items in the engine, and YCSB asks it over a network. Here gets read a block of
//! 4 KiB of the array and sets write one; server and network take no time.

use super::shin::{MODES, Mode, run};
use super::{Measured, Options, Row, Run, Study, find};
use crate::Scenario;
use crate::workload::address_config::Distribution;
use tailcut_base::histogram::LatencyHistogram;

/// Gets and sets in the three modes.
pub struct StoredItems;

/// Requests at a time. The paper names no number of clients; operations per second times latency in its table
/// are some forty in EPCH and GCCTRL and more in MIX (Little's law).
const CLIENTS: u32 = 64;

/// A mix of YCSB (Cooper et al., SoCC 2010, table 2); the paper does not say which it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    A,
    B,
}

const MIXES: [Mix; 2] = [Mix::A, Mix::B];

impl Mix {
    fn name(self) -> &'static str {
        match self {
            Mix::A => "YCSB-A",
            Mix::B => "YCSB-B",
        }
    }

    /// Share of gets, in parts per million.
    fn gets(self) -> u32 {
        match self {
            Mix::A => 500_000,
            Mix::B => 950_000,
        }
    }
}

/// The paper's percentiles.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Operations per second, and latencies at [`PERCENTILES`], in µs.
fn printed(mode: Mode) -> (f64, [f64; 4]) {
    match mode {
        Mode::Mix => (51_362.0, [696.0, 3578.0, 4420.0, 30_090.0]),
        Mode::Epoch => (66_661.0, [451.0, 791.0, 1059.0, 9514.0]),
        Mode::Control => (76_917.0, [437.0, 779.0, 1099.0, 6548.0]),
    }
}

fn label(mode: Mode, mix: Mix) -> String {
    format!("{}/{}", mode.name(), mix.name())
}

impl Study for StoredItems {
    fn id(&self) -> &'static str {
        "shin-t5.2"
    }

    fn title(&self) -> &'static str {
        "Key-value store on four SATA drives, storage alone: gets and sets in the three modes"
    }

    fn source(&self) -> &'static str {
        "Shin, dissertation, Seoul National University, 2017, section 5.4.3, table 5.2"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let of = |mode: Mode| MIXES.map(|mix| run(label(mode, mix), scenario(options, mode, mix)));
        MODES.into_iter().flat_map(of).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let of = |mode: Mode| MIXES.into_iter().flat_map(move |mix| rows_of(done, mode, mix));
        MODES.into_iter().flat_map(of).collect()
    }
}

fn scenario(options: &Options, mode: Mode, mix: Mix) -> Scenario {
    let seconds = if options.quick { 3 } else { 60 };
    let mut scenario = mode.readers(options, CLIENTS, seconds);
    scenario.workload.read = mix.gets();
    scenario.workload.addresses.distribution = Distribution::ZipfianYcsb;
    scenario
}

fn rows_of(done: &[Measured], mode: Mode, mix: Mix) -> Vec<Row> {
    let measured = find(done, &label(mode, mix));
    let case = format!("{}, {}", mode.name(), mix.name());
    let (per_second, latencies) = printed(mode);
    let mut all = measured.reads.clone();
    all.merge(&measured.writes);
    let operations = Row::new(&*case, "operations", "1/s", measured.iops());
    let mut rows = vec![operations.paper(per_second).explain(STORAGE)];
    for (percentile, paper) in PERCENTILES.into_iter().zip(latencies) {
        let row = row(&case, "latency", &all, percentile);
        rows.push(row.paper(paper / 1e6).explain(STORAGE));
    }
    for percentile in [99.0, 99.9, 99.99] {
        rows.push(row(&case, "get latency", &measured.reads, percentile));
        rows.push(row(&case, "set latency", &measured.writes, percentile));
    }
    rows
}

fn row(case: &str, what: &str, of: &LatencyHistogram, percentile: f64) -> Row {
    Row::new(case, format!("{what}, {percentile} %"), "s", of.percentile(percentile).as_secs_f64())
}

const STORAGE: &str = "\
The paper's figures are of whole operations: they hold memcached, Linux and a network of four times 1 Gbit/s beside the storage, which is \
all that is modelled here, and its table leaves open which mix of YCSB was run and by how many clients. Sets end in the engine's cache \
(EPCH, GCCTRL) or in the buffers of the drives (MIX).";
