//! Shin, figure 5.6: more readers beside the writers.

use super::shin::{MODES, Mode, bandwidth, run};
use super::{Measured, Options, Row, Run, Study, find};
use tailcut_base::Op;

/// Tail and bandwidth by number of readers.
pub struct Readers;

const READERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Those of the quick form.
const QUICK: [u32; 3] = [1, 8, 32];

fn readers(options: &Options) -> &'static [u32] {
    if options.quick { &QUICK } else { &READERS }
}

fn label(mode: Mode, readers: u32) -> String {
    format!("{}/{readers}", mode.name())
}

impl Study for Readers {
    fn id(&self) -> &'static str {
        "shin-5.6"
    }

    fn title(&self) -> &'static str {
        "Latency and bandwidth of 1 to 64 random 4 KiB readers beside 4 random 1 MiB writers on four SATA drives"
    }

    fn source(&self) -> &'static str {
        "Shin, dissertation, Seoul National University, 2017, section 5.4.2, figure 5.6"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let seconds = if options.quick { 2 } else { 60 };
        let runs = |mode: Mode| {
            let run = move |&readers| run(label(mode, readers), mode.mixed(options, readers, seconds));
            self::readers(options).iter().map(run)
        };
        MODES.into_iter().flat_map(runs).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let percentile = if options.quick { 99.99 } else { 99.9999 };
        let mut rows = Vec::new();
        for mode in MODES {
            for &readers in self::readers(options) {
                let measured = find(done, &label(mode, readers));
                let case = format!("{}, {readers} readers", mode.name());
                let latency = measured.read_percentile_ns(percentile) / 1e9;
                let below = mode == Mode::Control && readers <= 32;
                let mut count = format!("{} reads", measured.reads.count());
                if below {
                    count += "; the paper: below 1 ms";
                }
                let quantity = format!("read latency, {percentile} %");
                rows.push(Row::new(&*case, quantity, "s", latency).note(count));
                let reads = bandwidth(measured, Op::Read);
                rows.push(Row::new(&*case, "read bandwidth", "B/s", reads));
                let is_printed = mode == Mode::Control && readers == 32;
                let total = Row::new(&*case, "bandwidth, reads and writes", "B/s", measured.bandwidth());
                rows.push(total.paper(is_printed.then_some(PRINTED)).explain(BANDWIDTH));
            }
        }
        rows
    }
}

/// What GCCTRL reaches below a millisecond.
const PRINTED: f64 = 1.148e9;

const BANDWIDTH: &str = "\
Two of the four drives serve all reads, at 132 us each, and writes go to two drives each. The paper's drives are not described; its uplink of 1.5 GB/s is \
not modelled here.";
