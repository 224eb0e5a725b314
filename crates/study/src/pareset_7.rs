//! PAReset, figures 7, 8 and 9: suspending and resetting programs and erases, in all combinations.

use super::pareset::{
    COMBINATIONS, Combination, RESET, RESET_ERASES, RESET_PROGRAMS, SOS, SUSPEND, TAIL_PERCENTILE, fio, mean,
    percentile, rows_of, wear,
};
use super::{NO_CAUSE, Options, Row, Study};
use tailcut_sim::measured::{Measured, Run, find};

use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::show_count;
use tailcut_workload::config::{ArrivalKind, PaceKind};

/// Tail, mean and wear of five combinations.
pub(crate) struct Combinations;

/// How the load is read; the first is the thesis' job as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Eight at a time, no bound on resets.
    Job,
    /// As [`Reading::Job`], and each operation is reset once at the most.
    Once,
    /// As [`Reading::Job`], behind the write buffer of the drive.
    Buffered,
    /// As [`Reading::Job`], and reads go before other work of a chip for up to a second.
    Patient,
    /// This many requests a second.
    Paced(u64),
}

/// Rates of paced loads: from a drive that is nearly idle to one whose chips are half taken.
const RATES: [u64; 3] = [1000, 2000, 4000];

fn readings() -> Vec<Reading> {
    let fixed = [Reading::Job, Reading::Once, Reading::Buffered, Reading::Patient];
    fixed.into_iter().chain(RATES.map(Reading::Paced)).collect()
}

impl Reading {
    fn label(self, combination: Combination) -> String {
        match self {
            Reading::Job => format!("job/{}", combination.label),
            Reading::Once => format!("once/{}", combination.label),
            Reading::Buffered => format!("buffered/{}", combination.label),
            Reading::Patient => format!("patient/{}", combination.label),
            Reading::Paced(rate) => format!("paced-{rate}/{}", combination.label),
        }
    }

    fn case(self, combination: Combination) -> String {
        match self {
            Reading::Job => combination.name.to_string(),
            Reading::Once => format!("{}, once", combination.name),
            Reading::Buffered => format!("{}, buffered", combination.name),
            Reading::Patient => format!("{}, patient", combination.name),
            Reading::Paced(rate) => format!("{}, {} requests/s", combination.name, show_count(rate as f64)),
        }
    }

    /// Its name where it is not the main one: the thesis' job, unchanged.
    fn name(self) -> Option<String> {
        match self {
            Reading::Job => None,
            Reading::Once => Some("each operation reset at most once".into()),
            Reading::Buffered => Some("behind a write buffer".into()),
            Reading::Patient => Some("erases wait up to 1 s".into()),
            Reading::Paced(rate) => Some(format!("{} requests/s", show_count(rate as f64))),
        }
    }

    fn run(self, options: &Options, combination: Combination) -> Run {
        let device = combination.drive();
        let buffer = device.buffer.size;
        let mut run = fio(options, self.label(combination), device);
        let scenario = &mut run.scenario;
        match self {
            Reading::Job => {}
            Reading::Once => scenario.device.preempt.resets = 1,
            Reading::Buffered => scenario.device.buffer.size = buffer,
            Reading::Patient => scenario.device.schedule.write_patience = Nanos::secs(1),
            Reading::Paced(rate) => {
                let workload = &mut scenario.workload;
                (workload.pace, workload.arrivals) = (PaceKind::Open, ArrivalKind::Poisson);
                (workload.rate, workload.depth) = (rate, 1024);
            }
        }
        run
    }
}

impl Study for Combinations {
    fn id(&self) -> &'static str {
        "pareset-7"
    }

    fn title(&self) -> &'static str {
        "Read latency and wear with programs and erases suspended or reset for reads"
    }

    fn source(&self) -> &'static str {
        "Lee, PAReset, Seoul National University 2018, section 3, figures 7, 8 and 9"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let readings = readings().into_iter();
        readings.flat_map(|reading| COMBINATIONS.map(|c| reading.run(options, c))).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for combination in COMBINATIONS {
            let label = Reading::Job.label(combination);
            rows.extend(rows_of(&Reading::Job.case(combination), find(done, &label)));
        }
        for reading in readings() {
            let compared = Compared { done, reading }.rows().into_iter();
            rows.extend(compared.map(|row| match reading.name() {
                Some(name) => row.of_reading(name),
                None => row,
            }));
        }
        rows
    }
}

/// The combinations under one reading of the load, held against each other.
struct Compared<'m> {
    done: &'m [Measured],
    reading: Reading,
}

impl Compared<'_> {
    fn of(&self, combination: Combination) -> &Measured {
        find(self.done, &self.reading.label(combination))
    }

    fn ratio(&self, of: impl Fn(&Measured) -> Option<f64>, a: Combination, b: Combination) -> Option<f64> {
        of(self.of(a)).zip(of(self.of(b))).map(|(a, b)| a / b)
    }

    /// The claims, which count for the unchanged job.
    fn rows(&self) -> Vec<Row> {
        let means = |a, b| self.ratio(|m| Some(mean(m)), a, b);
        let wears = |a, b| self.ratio(|m| Some(wear(m)), a, b);
        let tails = |a, b| self.ratio(|m| percentile(m, 99.9), a, b);
        let worst = |a, b| self.ratio(|m| percentile(m, TAIL_PERCENTILE), a, b);
        let added = |of| wears(of, SOS).map(|wear| wear - 1.0);
        let alike =
            added(RESET_ERASES).zip(added(RESET_PROGRAMS)).map(|(erases, programs)| erases / programs);
        let row = |c: Combination, quantity: &str, measured| {
            Row::new(self.reading.case(c), quantity, "x", measured)
        };
        let relative = "mean / W-S & E-S";
        let mut rows = vec![
            row(RESET_PROGRAMS, relative, means(RESET_PROGRAMS, SUSPEND))
                .at_most(0.93)
                .effect()
                .explain(MEAN),
            row(RESET, relative, means(RESET, SUSPEND)).at_most(0.93).effect().explain(MEAN),
            row(RESET_ERASES, relative, means(RESET_ERASES, SUSPEND)),
            row(RESET_PROGRAMS, "99.99 % / W-S & E-S", worst(RESET_PROGRAMS, SUSPEND))
                .paper(1.0)
                .effect()
                .explain(PATIENCE),
            row(RESET_ERASES, "99.99 % / W-S & E-S", worst(RESET_ERASES, SUSPEND))
                .at_most(1.0)
                .resolved(2.0 * LatencyHistogram::ERROR_BOUND)
                .explain(PATIENCE),
            row(RESET_ERASES, "99.9 % / W-S & E-S", tails(RESET_ERASES, SUSPEND)),
            row(RESET_PROGRAMS, "99.9 % / W-S & E-S", tails(RESET_PROGRAMS, SUSPEND)),
            row(SUSPEND, "collisions per read", Some(collisions(self.of(SUSPEND)))),
            row(SUSPEND, "collisions with programs / all", Some(with_programs(self.of(SUSPEND))))
                .at_least(0.5)
                .explain(NO_CAUSE),
            row(RESET_PROGRAMS, "erases / SOS", wears(RESET_PROGRAMS, SOS)),
            row(RESET_ERASES, "erases / SOS", wears(RESET_ERASES, SOS)),
            row(RESET, "erases / SOS", wears(RESET, SOS)).paper(2.0).explain(WEAR),
            row(RESET_ERASES, "wear added / that of W-R & E-S", alike).paper(1.0).explain(WEAR),
        ];
        let [erases, programs] =
            [RESET_ERASES, RESET_PROGRAMS].map(|combination| self.reading.case(combination));
        rows.push(Row::order(&rows, relative, &[&erases, &programs]).explain(AGAIN));
        rows
    }
}

/// How many programs and erases were preempted for each read.
fn collisions(measured: &Measured) -> f64 {
    let counts = &measured.figures.counts;
    let preempted =
        counts.program_suspends + counts.erase_suspends + counts.program_resets + counts.erase_resets;
    preempted as f64 / counts.host_reads as f64
}

/// The share of programs among them.
fn with_programs(measured: &Measured) -> f64 {
    let counts = &measured.figures.counts;
    let programs = counts.program_suspends + counts.program_resets;
    programs as f64 / (programs + counts.erase_suspends + counts.erase_resets).max(1) as f64
}

const MEAN: &str = "\
A read that meets a program gains 120 µs if it resets instead of suspending (30 µs to take the chip instead \
of 150 µs), one that meets nothing gains nothing: 7 % of a mean near 200 µs is what collisions of one read \
in eight would give. See 'collisions per read': at the unchanged job more than every second read meets a \
program, because eight chips serve about seven programs at a time. The thesis does not give its program \
time, nor how often its reads collided.";

const PATIENCE: &str = "\
The slowest reads meet erases that reads have held off for 10 ms (schedule.write_patience), and which must \
then finish, whatever may be reset. Where they can be held off for a second, see 'erases wait up to 1 s', \
it is as in the thesis: resetting programs leaves the tail alone (1.00), resetting erases cuts it to 0.19 \
times. 'Once' has the tail of suspending, since an erase that was reset is suspended from then on. Figures \
of the full form.";

const AGAIN: &str = "\
Because erases are reset again and again, each of which spares a read 2 ms: with each operation reset at \
most once (preempt.resets = 1) the means at 4000 requests/s are 0.967 and 0.959 times, in the thesis' \
order, instead of 0.914 and 0.947. Figures of the full form.";

const WEAR: &str = "\
By the thesis, resetting always shortens the life of a drive by about half: twice the erases. A reset \
program uses up its word line and that of the page beside it, a reset erase counts like a whole one, and \
both are tried again. So the cost follows the collisions per read (see there): at the paced loads, where \
they are few, it stays below the thesis' figure; at the unchanged job programs and erases are hit again and \
again. 'Once' bounds that: an operation that was reset is suspended from then on.";
