//! Sprinkler, figure 11: inter-chip and intra-chip idleness.

use super::evaluation::{
    BEYOND, Load, Pace, QUEUES, SMALL, Step, figures, loads, mean, queue_decides, saturated_runs, saved,
    table_1,
};
use super::many_chip::schedulers;
use super::{Measured, Options, Row, Run, Study};
use tailcut_ssd::config::CommitPolicy::{self, Sprinkler, Vas};

/// Idle chips, and idle dies and planes in busy chips.
pub struct Idleness;

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
                Row::new(format!("all{}", pace.suffix()), quantity, "share", saving(kind, pace))
                    .paper(paper)
                    .explain(queue_decides(paper, short, deep))
            };
            rows.extend([row(0, 0.461), row(1, 0.235)]);
        }
        let level =
            |load: &Load| load.beyond(done, SMALL, Pace::Deep, Step::Level).figures.intra_chip_idleness();
        let saving = saved(mean(1, Vas, Pace::Deep), super::evaluation::mean(&table_1(), level));
        let quantity = format!("{} saved, SPK3 with level frontiers against VAS", KINDS[1]);
        rows.push(Row::new(format!("all{}", Pace::Deep.suffix()), quantity, "share", saving).note(BEYOND));
        rows
    }
}

const KINDS: [&str; 2] = ["inter-chip idleness", "intra-chip idleness"];

fn idleness(done: &[Measured], load: &Load, policy: CommitPolicy, pace: Pace) -> [f64; 2] {
    let figures = figures(done, load, policy, pace);
    [figures.inter_chip_idleness(), figures.intra_chip_idleness()]
}
