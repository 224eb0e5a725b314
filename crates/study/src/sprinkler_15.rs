//! Sprinkler, figure 15: chip utilisation of each scheduler over transfer sizes.

use super::many_chip::{CHIPS, drive, most_chips, random_reads, schedulers, transfer_sizes};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_base::quantity::exact_bytes;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_ssd::config::{CommitPolicy, Order};

/// Chip utilisation for 4 KiB to 4 MiB on 64, 256 and 1024 chips.
pub(crate) struct ChipUtilisation;

impl Study for ChipUtilisation {
    fn id(&self) -> &'static str {
        "sprinkler-15"
    }

    fn title(&self) -> &'static str {
        "Chip utilisation of each scheduler, for transfers of 4 KiB to 4 MiB on 64 to 1024 chips"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, section 5.7 and figure 15"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let mut runs = Vec::new();
        for chips in CHIPS {
            for curve in curves() {
                runs.extend(transfer_sizes().into_iter().map(|size| curve.run(options, chips, size)));
            }
        }
        runs
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for chips in CHIPS {
            for curve in curves().iter().filter(|curve| curve.reading == Reading::Ours) {
                rows.extend(transfer_sizes().into_iter().map(|size| curve.single(done, chips, size)));
            }
        }
        for chips in CHIPS {
            rows.extend(curves().iter().map(|curve| curve.overall(done, chips)));
        }
        rows.extend(orders(done));
        rows
    }
}

/// How we read what the paper leaves open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Pages go to channels and chips first, and a request begins when nothing of an earlier one is at its
    /// chips, as in the example of figure 4.
    Ours,
    /// A request begins when its predecessor has ended.
    OneAtATime,
    /// Pages go to the planes and dies of a chip first.
    PlanesFirst,
}

/// One scheduler over all transfer sizes.
struct Curve {
    paper_name: &'static str,
    policy: CommitPolicy,
    reading: Reading,
}

/// The schedulers of the paper, and VAS under the other readings.
fn curves() -> Vec<Curve> {
    let mut curves = Vec::new();
    for scheduler in schedulers() {
        let readings: &[Reading] = match scheduler.policy {
            CommitPolicy::Vas => &[Reading::Ours, Reading::OneAtATime, Reading::PlanesFirst],
            _ => &[Reading::Ours],
        };
        let (paper_name, policy) = (scheduler.paper_name, scheduler.policy);
        curves.extend(readings.iter().map(|&reading| Curve { paper_name, policy, reading }));
    }
    curves
}

impl Curve {
    fn run(&self, options: &Options, chips: u32, size: u64) -> Run {
        let mut device = drive(chips);
        device.schedule.commit = self.policy;
        if self.reading == Reading::PlanesFirst {
            device.ftl.order = Order::Pdwc;
        }
        let mut run = random_reads(options, self.label(chips, size), device, size);
        run.scenario.workload.depth = self.in_flight(chips);
        run
    }

    fn label(&self, chips: u32, size: u64) -> String {
        let reading = match self.reading {
            Reading::Ours => "",
            Reading::OneAtATime => "-one-at-a-time",
            Reading::PlanesFirst => "-planes-first",
        };
        format!("{chips}-chips/{}{reading}/{}", self.policy, exact_bytes(size))
    }

    fn case(&self, chips: u32) -> String {
        let reading = match self.reading {
            Reading::Ours => "",
            Reading::OneAtATime => ", one request at a time",
            Reading::PlanesFirst => ", planes first",
        };
        format!("{chips} chips, {}{reading}", self.paper_name)
    }

    /// The largest share of the chips that the requests in flight can keep busy.
    fn limit(&self, chips: u32, size: u64) -> f64 {
        most_chips(chips, self.in_flight(chips), size)
    }

    fn in_flight(&self, chips: u32) -> u32 {
        if self.reading == Reading::OneAtATime { 1 } else { drive(chips).queue.depth }
    }

    fn utilisation(&self, done: &[Measured], chips: u32, size: u64) -> f64 {
        find(done, &self.label(chips, size)).figures.lun_utilisation()
    }

    fn single(&self, done: &[Measured], chips: u32, size: u64) -> Row {
        let quantity = format!("utilisation, {}", exact_bytes(size));
        let measured = self.utilisation(done, chips, size);
        Row::new(self.case(chips), quantity, "share", measured).limit(self.limit(chips, size))
    }

    /// The mean over the transfer sizes.
    fn overall(&self, done: &[Measured], chips: u32) -> Row {
        let sizes = transfer_sizes();
        let mean = |of: &dyn Fn(u64) -> f64| sizes.iter().map(|&s| of(s)).sum::<f64>() / sizes.len() as f64;
        let measured = mean(&|size| self.utilisation(done, chips, size));
        let row = Row::new(self.case(chips), "utilisation, overall", "share", measured)
            .paper(paper(self.paper_name, chips))
            .limit(mean(&|size| self.limit(chips, size)));
        let row = match self.reading {
            Reading::Ours => row,
            Reading::OneAtATime => row.of_reading("one request at a time"),
            Reading::PlanesFirst => row.of_reading("planes first"),
        };
        row.explain(if self.policy == CommitPolicy::Vas { READINGS } else { TRANSFERS })
    }
}

/// Claims of section 5.7 about the curves.
fn orders(done: &[Measured]) -> Vec<Row> {
    let all: Vec<Curve> = curves().into_iter().filter(|curve| curve.reading == Reading::Ours).collect();
    let of =
        |name: &str| all.iter().find(|curve| curve.paper_name == name).expect("a scheduler of the paper");
    let sizes = transfer_sizes();
    let is_beaten = |&(chips, size): &(u32, u64)| {
        let utilisation = |curve: &Curve| curve.utilisation(done, chips, size);
        let best = utilisation(of("SPK3"));
        all.iter().any(|curve| utilisation(curve) > best)
    };
    let points = CHIPS.into_iter().flat_map(|chips| sizes.iter().map(move |&size| (chips, size)));
    let beaten = points.filter(is_beaten).count() as f64;
    let large = |name: &str| {
        let points =
            CHIPS.into_iter().flat_map(|chips| sizes[LARGE..].iter().map(move |&size| (chips, size)));
        points.map(|(chips, size)| of(name).utilisation(done, chips, size)).sum::<f64>()
    };
    let mut rows = vec![
        Row::new("all drives and sizes", "another is busier than SPK3", "points", beaten)
            .at_most(0.0)
            .explain(FULL_EITHER_WAY),
        Row::new("all drives, 1 MiB to 4 MiB", "utilisation, SPK1 / VAS", "x", large("SPK1") / large("VAS"))
            .paper(1.16)
            .effect()
            .basis(Basis::Derived, "given for 'large' requests; these are the largest three sizes")
            .explain(NO_CAUSE),
    ];
    for chips in CHIPS {
        let grown = of("VAS").utilisation(done, chips, sizes[sizes.len() - 1])
            / of("VAS").utilisation(done, chips, sizes[0]);
        rows.push(
            Row::new(format!("{chips} chips, VAS"), "utilisation, largest / smallest size", "x", grown)
                .at_least(1.0)
                .explain(NO_CAUSE),
        );
    }
    rows
}

/// The place of the first large size.
const LARGE: usize = 8;

/// The overall utilisation in the text of section 5.7.
fn paper(scheduler: &str, chips: u32) -> Option<f64> {
    match (scheduler, chips) {
        ("VAS", 64) => Some(0.37),
        ("VAS", 256) => Some(0.212),
        ("VAS", 1024) => Some(0.139),
        ("SPK3", 64) => Some(0.712),
        ("SPK3", 256) => Some(0.615),
        ("SPK3", 1024) => Some(0.449),
        _ => None,
    }
}

const FULL_EITHER_WAY: &str = "\
The lead is 0.02 % of the time at the most (full form), mostly where both keep all chips busy, from 512 KiB \
on. There it comes from the end of the run, where SPK3 has more pages in unfinished transactions: in a run \
eight times as long it is an eighth (64 chips, 512 KiB: 0.085 % in the quick form, 0.011 % in the full \
one). At 4 to 16 KiB few requests ever meet, and which of the two is ahead changes with the seed.";

const TRANSFERS: &str = "\
These are reads, of 20 µs in the cells and 10.6 µs on a bus that many chips share: SPK3 serves several pages \
in one transaction, so its chips are done sooner and wait for the next turn of a bus that is nearly full. \
The paper does not say what its transfers were.";

const READINGS: &str = "\
The paper leaves open what decides this figure: whether VAS begins a request before its predecessor has \
ended (we: yes, if none of its chips has requests of an earlier one, as in its figure 4), and in which order \
pages spread over the drive (we: channels, chips, dies, planes). The rows 'one request at a time' and \
'planes first' show the other readings. Bus rate, a deeper queue and firmware time matter little: chips that \
serve large transfers are held mostly while they wait for their bus.";
