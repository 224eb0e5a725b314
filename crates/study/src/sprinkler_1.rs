//! Sprinkler, figure 1: more chips, hardly more bandwidth.

use super::many_chip::{drive, most_chips, random_reads, transfer_sizes};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_base::quantity::exact_bytes;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_ssd::config::CommitPolicy;

/// Random reads under VAS on drives of 2 to 32,768 dies.
pub(crate) struct StagnatingReads;

/// One chip of two dies, and each drive four times the last: 2 to 32,768 dies.
const CHIPS: [u32; 8] = [1, 4, 16, 64, 256, 1024, 4096, 16_384];

/// Dies of a chip.
const DIES: u32 = 2;

impl Study for StagnatingReads {
    fn id(&self) -> &'static str {
        "sprinkler-1"
    }

    fn title(&self) -> &'static str {
        "Read bandwidth stagnates and chips fall idle as a drive under VAS gets more dies"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, section 1 and figure 1 (curves without figures)"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let mut runs = Vec::new();
        // The largest drive takes more than a gigabyte: it runs beside small ones, not beside its like.
        for size in sizes(options) {
            for chips in CHIPS.into_iter().rev() {
                let mut device = drive(chips);
                device.schedule.commit = CommitPolicy::Vas;
                runs.push(random_reads(options, label(chips, size), device, size));
            }
        }
        runs
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let sizes = sizes(options);
        let mut rows: Vec<Row> = sizes.iter().flat_map(|&size| bandwidths(done, size)).collect();
        rows.extend(CHIPS.map(|chips| {
            let row = mean_row(done, &sizes, chips, "chip utilisation", utilisation);
            row.limit(mean(&sizes, |size| most_chips(chips, drive(chips).queue.depth, size)))
        }));
        rows.extend(CHIPS.map(|chips| mean_row(done, &sizes, chips, "idleness", idleness)));
        rows.extend(sizes.iter().map(|&size| stagnation(done, size)));
        rows.push(lost_utilisation(done, &sizes));
        rows.extend(claims(done, &sizes, &rows));
        rows
    }
}

/// All transfer sizes; in the quick form both ends and the middle.
fn sizes(options: &Options) -> Vec<u64> {
    let all = transfer_sizes();
    if options.quick { vec![all[0], all[all.len() / 2], all[all.len() - 1]] } else { all }
}

fn mean(sizes: &[u64], figure: impl Fn(u64) -> f64) -> f64 {
    sizes.iter().map(|&size| figure(size)).sum::<f64>() / sizes.len() as f64
}

fn mean_row(done: &[Measured], sizes: &[u64], chips: u32, quantity: &str, figure: Figure) -> Row {
    let measured = mean(sizes, |size| figure(find(done, &label(chips, size))));
    Row::new(case_of(chips), quantity, "share", measured)
}

fn case_of(chips: u32) -> String {
    format!("all sizes, {} dies", chips * DIES)
}

type Figure = fn(&Measured) -> f64;

fn utilisation(measured: &Measured) -> f64 {
    measured.figures.lun_utilisation()
}

/// The share of the time of all planes during which their cells do nothing: the paper's
/// memory-level idleness.
fn idleness(measured: &Measured) -> f64 {
    1.0 - measured.figures.plane_utilisation()
}

fn bandwidths(done: &[Measured], size: u64) -> Vec<Row> {
    let row = |chips| {
        let measured = find(done, &label(chips, size));
        let case = format!("{}, {} dies", exact_bytes(size), chips * DIES);
        Row::new(case, "bandwidth", "B/s", measured.bandwidth()).limit(measured.bandwidth_limit())
    };
    CHIPS.map(row).into()
}

/// The gain of the last fourfold increase of dies.
fn stagnation(done: &[Measured], size: u64) -> Row {
    let [.., fewer, more] = CHIPS;
    let run = |chips| find(done, &label(chips, size));
    let case = format!("{}, {} to {} dies", exact_bytes(size), fewer * DIES, more * DIES);
    let gain = run(more).bandwidth() / run(fewer).bandwidth();
    let row = Row::new(case, "bandwidth gained", "x", gain).limit(f64::from(more / fewer));
    match run(more).report.bottleneck() {
        Some(least) => row.note(format!(
            "{:.0} % of what the {} can carry on the larger drive",
            least.busy * 100.0,
            least.name
        )),
        None => row,
    }
}

/// How many times as busy the chips of the smallest drive are as those of the largest.
fn lost_utilisation(done: &[Measured], sizes: &[u64]) -> Row {
    let [first, .., last] = CHIPS;
    let of = |chips| mean(sizes, |size| utilisation(find(done, &label(chips, size))));
    let case = format!("all sizes, {} to {} dies", first * DIES, last * DIES);
    Row::new(case, "chip utilisation lost", "x", of(first) / of(last))
}

fn label(chips: u32, size: u64) -> String {
    format!("{}-dies/{}", chips * DIES, exact_bytes(size))
}

const BUSES: &str = "\
Four times the dies have twice the buses: 8192 dies are bound by 12 GB/s of them, 32,768 by the 16 GB/s of \
the link. With a link of 8 GB/s (device.link.rate) the gain is 1.04 times (full form).";

/// Claims of section 1 about the curves.
fn claims(done: &[Measured], sizes: &[u64], rows: &[Row]) -> Vec<Row> {
    let [.., fewer, more] = CHIPS;
    let logs = sizes.iter().map(|&size| {
        let bandwidth = |chips| find(done, &label(chips, size)).bandwidth();
        (bandwidth(more) / bandwidth(fewer)).ln()
    });
    let gained = (logs.sum::<f64>() / sizes.len() as f64).exp();
    let case = format!("all sizes, {} to {} dies", fewer * DIES, more * DIES);
    let cases = CHIPS.map(case_of);
    let falling = cases.each_ref().map(String::as_str);
    let mut growing = falling;
    growing.reverse();
    vec![
        Row::new(case, "bandwidth gained, geometric mean", "x", gained)
            .at_most(1.25)
            .basis(
                Basis::Derived,
                "what 'stagnates' is taken to mean, less than a quarter for four times the dies",
            )
            .explain(BUSES),
        Row::order(rows, "chip utilisation", &falling).explain(NO_CAUSE),
        Row::order(rows, "idleness", &growing).explain(NO_CAUSE),
    ]
}
