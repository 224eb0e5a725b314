//! Shin, figure 5.6: more readers beside the writers.

use super::shin::{MODES, Mode, ONE_AT_A_TIME, bandwidth, one_at_a_time, run};
use super::{Measured, Options, Row, Run, Study, find};
use tailcut_base::Op;

/// Tail and bandwidth by number of readers.
pub struct Readers;

const READERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The numbers of readers in the quick form.
const QUICK: [u32; 3] = [1, 8, 32];

fn readers(options: &Options) -> &'static [u32] {
    if options.quick { &QUICK } else { &READERS }
}

fn label(mode: Mode, readers: u32) -> String {
    format!("{}/{readers}", mode.name())
}

/// That of GCCTRL with one drive at a time.
fn label_of_one(readers: u32) -> String {
    format!("GCCTRL-4-groups/{readers}")
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
        let of_one = |&readers| run(label_of_one(readers), one_at_a_time(options, readers, seconds));
        let of_ones = self::readers(options).iter().map(of_one);
        MODES.into_iter().flat_map(runs).chain(of_ones).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for mode in MODES {
            for &readers in self::readers(options) {
                let measured = find(done, &label(mode, readers));
                let is_control = mode == Mode::Control;
                rows.extend(rows_of(options, mode.name(), readers, is_control, measured));
            }
        }
        for &readers in self::readers(options) {
            rows.extend(rows_of(options, ONE_AT_A_TIME, readers, false, find(done, &label_of_one(readers))));
        }
        rows
    }
}

fn rows_of(options: &Options, series: &str, readers: u32, is_control: bool, measured: &Measured) -> [Row; 3] {
    let case = format!("{series}, {readers} readers");
    let percentile = if options.quick { 99.99 } else { 99.9999 };
    let latency = measured.read_percentile_ns(percentile) / 1e9;
    let count = format!("{} reads{}", measured.reads.count(), if is_control { below(readers) } else { "" });
    let latency = Row::new(&*case, format!("read latency, {percentile} %"), "s", latency).note(count);
    let reads = Row::new(&*case, "read bandwidth", "B/s", bandwidth(measured, Op::Read)).note(FIGURE);
    let is_printed = is_control && readers == 32;
    let total = Row::new(&*case, "bandwidth, reads and writes", "B/s", measured.bandwidth());
    [latency, reads, total.paper(is_printed.then_some(PRINTED)).explain(BANDWIDTH)]
}

/// The paper's remark on the latency of GCCTRL.
fn below(readers: u32) -> &'static str {
    match readers {
        0..=16 => "; the paper: below 1 ms",
        17..=32 => "; the paper: from 32 readers on it rises",
        _ => "",
    }
}

/// What GCCTRL reaches below a millisecond, with a number of readers that the paper does not name.
const PRINTED: f64 = 1.148e9;

const FIGURE: &str = "What the figure shows: read bandwidth, by its caption.";

const BANDWIDTH: &str = "\
Two of the four drives serve all reads, at 132 us each, and each write goes to two drives, each of which has the token for half of the time: beside the \
same readers that leaves at the most 183 MB/s of writes (see shin-5.4), where MIX writes each block once and at any time. The paper's drives are not described; its uplink of 1.5 GB/s is \
not modelled here.";
