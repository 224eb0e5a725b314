//! Shin, figure 5.6: more readers beside the writers.

use super::shin::{MODES, Mode, ONE_AT_A_TIME, bandwidth, one_at_a_time, prepared_as_told, run};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_base::Op;
use tailcut_sim::measured::{Measured, Run, find};

/// Tail and bandwidth by number of readers.
pub(crate) struct Readers;

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
        "Latency and bandwidth of 1 to 64 random 4 KiB readers beside 4 random 1 MiB writers on four SATA \
            drives"
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
            let run = move |&readers| {
                run(label(mode, readers), prepared_as_told(mode.mixed(options, readers, seconds)))
            };
            self::readers(options).iter().map(run)
        };
        let of_one =
            |&readers| run(label_of_one(readers), prepared_as_told(one_at_a_time(options, readers, seconds)));
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
        rows.extend(claims(options, done));
        for &readers in self::readers(options) {
            rows.extend(rows_of(options, ONE_AT_A_TIME, readers, false, find(done, &label_of_one(readers))));
        }
        rows
    }
}

/// Claims of the text about the curves.
fn claims(options: &Options, done: &[Measured]) -> Vec<Row> {
    let all = readers(options);
    let of = |mode: Mode, readers: u32| find(done, &label(mode, readers));
    let latency = |mode, readers| of(mode, readers).read_percentile(percentile(options));
    let quantity = format!("read latency, {} %", percentile(options));
    // "At 16 threads ... +GCCTRL remained under a milli-second."
    let few = all.iter().filter(|&&readers| readers <= 16);
    let latencies: Option<Vec<f64>> = few.map(|&readers| latency(Mode::Control, readers)).collect();
    let highest = latencies.map(|latencies| latencies.into_iter().fold(0.0, f64::max));
    let read = |mode, readers| bandwidth(of(mode, readers), Op::Read);
    let beaten =
        |mode| all.iter().filter(|&&readers| read(mode, readers) <= read(Mode::Mix, readers)).count();
    let slower = |mode: Mode| {
        let case = format!("{}, all numbers of readers", mode.name());
        Row::new(case, "MIX reads as much", "cases", beaten(mode) as f64)
            .at_most(0.0)
            .explain(IDLE_COLLECTION)
    };
    let mean = all
        .iter()
        .map(|&readers| (of(Mode::Control, readers).bandwidth() / of(Mode::Epoch, readers).bandwidth()).ln());
    let ratio = (mean.sum::<f64>() / all.len() as f64).exp();
    let mut rows = vec![
        Row::new("GCCTRL, 16 readers or fewer", format!("{quantity}, highest"), "s", highest)
            .at_most(1e-3)
            .explain(NO_CAUSE),
        slower(Mode::Epoch),
        slower(Mode::Control),
        Row::new(
            "GCCTRL / EPCH, all numbers of readers",
            "bandwidth, reads and writes, geometric mean",
            "x",
            ratio,
        )
        .paper(1.0)
        .effect()
        .explain(BANDWIDTH),
    ];
    // "Both MIX and EPCH ranging in tens of milli-seconds."
    for mode in [Mode::Mix, Mode::Epoch].into_iter().filter(|_| all.contains(&16)) {
        let row = Row::new(format!("{}, 16 readers, told", mode.name()), &*quantity, "s", latency(mode, 16));
        let row = row.at_least(10e-3).basis(Basis::Derived, "the least of 'tens of milli-seconds'");
        rows.push(row.explain(ERASES));
    }
    rows
}

const IDLE_COLLECTION: &str = "\
Drives of EPCH collect while they are idle, up to four erased blocks in each plane, and so while they serve \
reads without the token; full drives are always behind that. With 64 readers it reads 503 MB/s and MIX 514; \
if its drives collect only when a write finds too few (device.gc.background = false), 991. Of 8 and 32 \
readers, 79 and 286 MB/s become 221 and 695 (MIX: 72 and 283). When the dissertation's drives collect it \
does not say, beyond 'uncontrollable'. Figures of the full form.";

const ERASES: &str = "\
Chips serve reads first here, and no program or copy of a page comes between: a read waits for one erase, of \
4 ms, and hardly longer. The dissertation does not say what its drives' erases take.";

/// What the run's length resolves of the tail.
fn percentile(options: &Options) -> f64 {
    if options.quick { 99.99 } else { 99.9999 }
}

fn rows_of(options: &Options, series: &str, readers: u32, is_control: bool, measured: &Measured) -> [Row; 3] {
    let case = format!("{series}, {readers} readers");
    let percentile = percentile(options);
    let latency = measured.read_percentile(percentile);
    let count = format!("{} reads", measured.reads.count());
    let latency = Row::new(&*case, format!("read latency, {percentile} %"), "s", latency).note(count);
    let reads = Row::new(&*case, "read bandwidth", "B/s", bandwidth(measured, Op::Read)).note(FIGURE);
    let is_printed = is_control && readers == 32;
    let total = Row::new(&*case, "bandwidth, reads and writes", "B/s", measured.bandwidth());
    [latency, reads, total.paper(is_printed.then_some(PRINTED)).explain(BANDWIDTH)]
}

/// What GCCTRL reaches below a millisecond, with a number of readers that the paper does not name.
const PRINTED: f64 = 1.148e9;

const FIGURE: &str = "What the figure shows: read bandwidth, by its caption.";

const BANDWIDTH: &str = "\
Two of the four drives serve all reads, at 132 µs each, and each write goes to two drives, which have the \
token for half of the time and are full (section 5.4.1): for each page written collection moves some eight, \
which leaves 20 MB/s of writes. The dissertation does not describe its drives, nor how long they had been \
written to; its uplink of 1.5 GB/s is not modelled here.";
