//! Sprinkler, figure 11: inter-chip and intra-chip idleness.

use super::evaluation::{
    BEYOND, Load, Pace, QUEUES, SMALL, Step, figures, loads, mean, queue_decides, read_at, saturated_runs,
    saved, table_1,
};
use super::many_chip::schedulers;
use super::{NO_CAUSE, Options, Row, Study};
use tailcut_sim::measured::{Measured, Run};
use tailcut_ssd::config::CommitPolicy::{self, Rios, Sprinkler, Vas};

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
                    .explain(queue_decides(paper, short, deep));
                read_at(row, SMALL, pace)
            };
            rows.extend([row(0, 0.461), row(1, 0.235)]);
        }
        rows.extend(orders(&rows));
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
        order(&intra, &["all, VAS", "all, SPK2", "all, SPK1"]),
        order(&intra, &["all, SPK3", "all, SPK1"]),
    ]
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

const UTILISATION: &str = "The paper does not say against which scheduler, nor on which drive.";

const KINDS: [&str; 2] = ["inter-chip idleness", "intra-chip idleness"];

fn idleness(done: &[Measured], load: &Load, policy: CommitPolicy, pace: Pace) -> [f64; 2] {
    let figures = figures(done, load, policy, pace);
    [figures.inter_chip_idleness(), figures.intra_chip_idleness()]
}
