//! Sprinkler, figure 11: inter-chip and intra-chip idleness.

use super::evaluation::{
    BEYOND, Load, Pace, QUEUES, SMALL, Step, figures, loads, mean, queue_decides, read_at, saved, table_1,
};
use super::many_chip::schedulers;
use super::sprinkler_switch::{SHORT, Switch, saturated_runs, short_loads};
use super::{NO_CAUSE, Options, Row, Study};
use tailcut_sim::measured::{Measured, Run};
use tailcut_ssd::config::CommitPolicy::{self, Faro, Rios, Sprinkler, Vas};

/// Idle chips, and idle dies and planes in busy chips.
pub(crate) struct Idleness;

impl Study for Idleness {
    fn id(&self) -> &'static str {
        "sprinkler-11"
    }

    fn title(&self) -> &'static str {
        "Inter-chip and intra-chip idleness of the five schedulers, 64 chips, saturated"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, section 5.3 and figure 11"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        saturated_runs(options, done)
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for load in loads(options) {
            for scheduler in schedulers() {
                let case = format!("{}, {}", load.name(), scheduler.paper_name);
                let idle = idleness(done, &load, scheduler.policy, Pace::Saturated);
                rows.extend(
                    KINDS
                        .into_iter()
                        .zip(idle)
                        .map(|(kind, share)| Row::new(case.clone(), kind, "share", share)),
                );
            }
        }
        let mean =
            |kind: usize, policy, pace| mean(&table_1(), |load| idleness(done, load, policy, pace)[kind]);
        for scheduler in schedulers() {
            let case = format!("all, {}", scheduler.paper_name);
            let row = |kind: usize| {
                let measured = mean(kind, scheduler.policy, Pace::Saturated);
                Row::new(case.clone(), format!("{}, mean", KINDS[kind]), "share", measured)
            };
            rows.extend([row(0), row(1)]);
        }
        let saving = |kind, pace| saved(mean(kind, Vas, pace), mean(kind, Sprinkler, pace));
        for pace in QUEUES {
            let row = |kind: usize, paper: f64| {
                let quantity = format!("{} saved, SPK3 against VAS", KINDS[kind]);
                let [short, deep] = QUEUES.map(|pace| saving(kind, pace));
                let row = Row::new(format!("all{}", pace.suffix()), quantity, "share", saving(kind, pace))
                    .paper(paper)
                    .effect()
                    .saving()
                    .explain(queue_decides(paper, short, deep));
                read_at(row, SMALL, pace)
            };
            rows.extend([row(0, 0.461), row(1, 0.235)]);
        }
        let orders = orders(&rows);
        rows.extend(orders);
        rows.extend(experiments(done));
        rows.extend(utilisation(done));
        let level =
            |load: &Load| load.beyond(done, SMALL, Pace::Deep, Step::Level).figures.intra_chip_idleness();
        let saving = saved(mean(1, Vas, Pace::Deep), super::evaluation::mean(&table_1(), level));
        let quantity = format!("{} saved, SPK3 with level frontiers against VAS", KINDS[1]);
        rows.push(Row::new(format!("all{}", Pace::Deep.suffix()), quantity, "share", saving).note(BEYOND));
        rows
    }
}

/// Claims of section 5.3 about the schedulers against each other.
fn orders(rows: &[Row]) -> Vec<Row> {
    let [inter, intra] = KINDS.map(|kind| format!("{kind}, mean"));
    let order = |quantity: &str, cases: &[&str]| Row::order(rows, quantity, cases).explain(NO_CAUSE);
    vec![
        order(&inter, &["all, PAS", "all, SPK2"]),
        order(&inter, &["all, SPK1", "all, SPK2"]),
        Row::order(rows, &intra, &["all, VAS", "all, SPK2", "all, SPK1"]).explain(LONG_REQUESTS),
        Row::order(rows, &intra, &["all, SPK3", "all, SPK1"]).explain(ONE_A_PLACE),
    ]
}

/// The experiments that show why orders of intra-chip idleness do not hold.
fn experiments(done: &[Measured]) -> Vec<Row> {
    let quantity = format!("{}, mean", KINDS[1]);
    let row = |name: &str, reading: &str, measured: f64| {
        Row::new(format!("all, {name}, {reading}"), quantity.clone(), "share", measured)
    };
    let of_short = |policy| mean(&short_loads(), |load| idleness(done, load, policy, Pace::Saturated)[1]);
    let switch = Switch::NonePassedOver;
    let switched =
        |policy| mean(&table_1(), |load| switch.of(done, load, policy).figures.intra_chip_idleness());
    let mut rows: Vec<Row> =
        [("VAS", Vas), ("SPK2", Rios), ("SPK1", Faro)].map(|(name, p)| row(name, SHORT, of_short(p))).into();
    rows.extend(
        [("SPK3", Sprinkler), ("SPK1", Faro)].map(|(name, p)| row(name, switch.reading(), switched(p))),
    );
    let orders = [(0..3, SHORT), (3..5, switch.reading())].map(|(part, reading)| {
        let cases: Vec<&str> = rows[part].iter().map(|row| row.case.as_str()).collect();
        Row::order(&rows, &quantity, &cases).of_reading(reading)
    });
    rows.extend(orders);
    rows
}

/// How much more of the drive is busy: chips under RIOS (section 1), planes under SPK3 (section 5.3).
fn utilisation(done: &[Measured]) -> Vec<Row> {
    let chips =
        |policy| mean(&table_1(), |load| figures(done, load, policy, Pace::Saturated).lun_utilisation());
    let planes =
        |policy| mean(&table_1(), |load| figures(done, load, policy, Pace::Saturated).plane_utilisation());
    let row = |quantity: &str, measured: f64| Row::new("all", quantity, "x", measured);
    let others =
        schedulers().into_iter().map(|scheduler| scheduler.policy).filter(|&policy| policy != Sprinkler);
    let best = others.map(planes).fold(0.0, f64::max);
    vec![
        row("chip utilisation, SPK2 / VAS", chips(Rios) / chips(Vas))
            .paper(1.688)
            .effect()
            .explain(UTILISATION),
        row("chip utilisation, SPK3 / VAS", chips(Sprinkler) / chips(Vas))
            .paper(1.688)
            .effect()
            .of_reading("Sprinkler as a whole")
            .explain(UTILISATION),
        row("plane utilisation, SPK3 / the best of the others", planes(Sprinkler) / best)
            .at_least(1.0)
            .explain(NO_CAUSE),
    ]
}

const LONG_REQUESTS: &str = "\
VAS shares programs in msnfs1 and msnfs3 alone, where one request has several pages for a chip: without \
these two, see there, the order is the paper's. SPK2 gives a chip one page at a time, however long the \
request.";

const ONE_A_PLACE: &str = "\
SPK1 gives a chip one request for each place and lays out the next I/O request when all of one are \
committed, so it has fewer to choose from than SPK3. With schedule.passes = 0 it commits a chip's oldest \
request in any case, and the order is the paper's: 74.1 against 74.8 % ('none passed over'). But then it \
leaves fewer chips idle than SPK2 (40.6 against 43.3 %), which contradicts the section. Planes first: 49.9 \
against 48.0 %. Not the queue: 77.2 against 67.7 % with 1024 entries. Figures of the full form.";

const UTILISATION: &str = "The paper does not say against which scheduler, nor on which drive.";

const KINDS: [&str; 2] = ["inter-chip idleness", "intra-chip idleness"];

fn idleness(done: &[Measured], load: &Load, policy: CommitPolicy, pace: Pace) -> [f64; 2] {
    let figures = figures(done, load, policy, pace);
    [figures.inter_chip_idleness(), figures.intra_chip_idleness()]
}
