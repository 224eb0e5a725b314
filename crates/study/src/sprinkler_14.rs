//! Sprinkler, figure 14: how much parallelism inside the chips each scheduler finds.

use super::evaluation::{
    BEYOND, Load, Pace, QUEUES, SMALL, Step, figures, least, loads, mean, most, queue_decides, read_at,
    table_1,
};
use super::many_chip::schedulers;
use super::sprinkler_switch::{SHORT, Switch, saturated_runs, short_loads};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_sim::measured::{Measured, Run};
use tailcut_ssd::config::CommitPolicy::{self, Faro, Pas, Rios, Sprinkler, Vas};

/// NON-PAL, PAL1, PAL2 and PAL3.
pub(crate) struct Parallelism;

/// The classes in the paper's order (section 5.6).
const CLASSES: [&str; 4] =
    ["NON-PAL (none)", "PAL1 (plane sharing)", "PAL2 (die interleaving)", "PAL3 (both)"];

impl Study for Parallelism {
    fn id(&self) -> &'static str {
        "sprinkler-14"
    }

    fn title(&self) -> &'static str {
        "Memory requests by the parallelism of the transaction that served them, 64 chips, saturated"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, section 5.6 and figure 14"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        saturated_runs(options, done)
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for load in loads(options) {
            for scheduler in schedulers() {
                let case = format!("{}, {}", load.name(), scheduler.paper_name);
                let shares = figures(done, &load, scheduler.policy, Pace::Saturated).parallelism_shares();
                let row = |(class, share): (&str, f64)| Row::new(case.clone(), class, "share", share);
                rows.extend(CLASSES.into_iter().zip(shares).map(row));
            }
        }
        for scheduler in schedulers() {
            rows.extend(means(done, scheduler.paper_name, scheduler.policy, Pace::Saturated));
        }
        for (name, policy) in [("VAS", Vas), ("PAS", Pas), ("SPK3", Sprinkler)] {
            rows.extend(means(done, name, policy, Pace::Deep));
        }
        // Memory requests in a transaction, in the mean over the workloads.
        let overlap = |policy, pace| {
            mean(&table_1(), |load| 1.0 / (1.0 - figures(done, load, policy, pace).transaction_reduction()))
        };
        let gain = |base, pace| overlap(Sprinkler, pace) / overlap(base, pace) - 1.0;
        for pace in QUEUES {
            let row = |name: &str, base| {
                let quantity = format!("more memory requests in a transaction, SPK3 against {name}");
                Row::new(format!("all{}", pace.suffix()), quantity, "share", gain(base, pace))
            };
            let [short, deep] = QUEUES.map(|pace| gain(Vas, pace));
            let claim = row("VAS", Vas).paper(0.802).effect().explain(queue_decides(0.802, short, deep));
            rows.push(read_at(claim, SMALL, pace));
            rows.push(row("PAS", Pas));
        }
        for scheduler in schedulers() {
            let case = format!("all, {}", scheduler.paper_name);
            rows.push(Row::new(case, TOGETHER, "x", overlap(scheduler.policy, Pace::Saturated)));
        }
        let order = ["SPK1", "SPK3", "SPK2", "PAS", "VAS"].map(|name| format!("all, {name}"));
        rows.push(Row::order(&rows, TOGETHER, &order.each_ref().map(String::as_str)).explain(ORDER));
        rows.extend(experiments(done));
        rows.extend(classes(done));
        let reduction =
            |load: &Load| load.beyond(done, SMALL, Pace::Deep, Step::Level).figures.transaction_reduction();
        let level = mean(&table_1(), |load| 1.0 / (1.0 - reduction(load)));
        let quantity = "more memory requests in a transaction, SPK3 with level frontiers against VAS";
        let gain = level / overlap(Vas, Pace::Deep) - 1.0;
        rows.push(Row::new(format!("all{}", Pace::Deep.suffix()), quantity, "share", gain).note(BEYOND));
        rows
    }
}

/// The experiments that show why the order of requests in a transaction does not hold: without the workloads
/// of long requests, and with none passed over in addition.
fn experiments(done: &[Measured]) -> Vec<Row> {
    let switch = Switch::NonePassedOver;
    let mut rows = Vec::new();
    for reading in [SHORT.to_string(), format!("{}, {SHORT}", switch.reading())] {
        let is_switched = reading != SHORT;
        let together = |load: &Load, policy| {
            // It changes nothing of the other two.
            let figures = match policy {
                Pas | Faro | Sprinkler if is_switched => &switch.of(done, load, policy).figures,
                _ => figures(done, load, policy, Pace::Saturated),
            };
            1.0 / (1.0 - figures.transaction_reduction())
        };
        let schedulers = [("SPK1", Faro), ("SPK3", Sprinkler), ("SPK2", Rios), ("PAS", Pas), ("VAS", Vas)];
        let of_each = schedulers.map(|(name, policy)| {
            let measured = mean(&short_loads(), |load| together(load, policy));
            Row::new(format!("all, {name}, {reading}"), TOGETHER, "x", measured)
        });
        let order = Row::order(&of_each, TOGETHER, &of_each.each_ref().map(|row| row.case.as_str()));
        rows.extend(of_each);
        rows.push(order.explain(ORDER).of_reading(reading));
    }
    rows
}

/// The shares of all classes, in the mean over the workloads.
fn means(done: &[Measured], name: &str, policy: CommitPolicy, pace: Pace) -> Vec<Row> {
    let row = |class: usize| {
        let share = |load: &Load| figures(done, load, policy, pace).parallelism_shares()[class];
        let case = format!("all, {name}{}", pace.suffix());
        Row::new(case, format!("{}, mean", CLASSES[class]), "share", mean(&table_1(), share))
    };
    (0..CLASSES.len()).map(row).collect()
}

/// Claims of section 5.6 about the classes that VAS and PAS reach.
fn classes(done: &[Measured]) -> Vec<Row> {
    let loads = &table_1();
    let share = |policy, class: usize| {
        move |load: &Load| figures(done, load, policy, Pace::Saturated).parallelism_shares()[class]
    };
    let row = |case: &str, quantity: String, measured: f64| Row::new(case, quantity, "share", measured);
    let shared = |which: &str, measured: f64| row("all, VAS", format!("{}, {which}", CLASSES[1]), measured);
    let none = |case: &str, policy, class: usize| {
        let quantity = format!("{}, max", CLASSES[class]);
        row(case, quantity, most(loads, share(policy, class))).at_most(0.0).explain(LONG)
    };
    vec![
        shared("min", least(loads, share(Vas, 1)))
            .at_least(0.01)
            .basis(Basis::Derived, "the lower end of '1 to 3 %'")
            .explain(ONE_A_CHIP),
        shared("max", most(loads, share(Vas, 1)))
            .at_most(0.03)
            .basis(Basis::Derived, "the upper end of '1 to 3 %'")
            .explain(NO_CAUSE),
        none("all, VAS", Vas, 2),
        none("all, VAS", Vas, 3),
        none("all, PAS", Pas, 3),
    ]
}

const ORDER: &str = "\
SPK2 gives a chip one page at a time, so it is behind PAS where a request has several pages for a chip, in \
msnfs1 and msnfs3 alone: without them, see there, it is ahead. SPK1 gives a chip one request for each place \
and lays out the next I/O request when all of one are committed, so it has fewer to choose from than SPK3: \
with schedule.passes = 0 it commits a chip's oldest request in any case and is ahead ('none passed over'). \
With both the order is the paper's.";

const LONG: &str = "\
Of msnfs1 and msnfs3 alone: the mean of their reads, or writes, is longer than the 64 pages of one pass over \
the chips, so that pages of one request meet on chips when it begins. Of the other fourteen, whose requests \
have 64 pages at the most, it is 0.3 % at the most.";

const ONE_A_CHIP: &str = "\
Requests of at most 64 pages have one page for each chip, since pages go to channels and chips before dies \
and planes: there is none to share a die with. The paper does not give the order of its pages.";

const TOGETHER: &str = "memory requests in a transaction, mean";
