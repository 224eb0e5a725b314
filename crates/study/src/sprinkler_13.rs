//! Sprinkler, figure 13: where the time of the chips goes.

use super::evaluation::{
    Pace, QUEUES, SMALL, figures, loads, mean, queue_decides, read_at, saturated_runs, saved, table_1,
};
use super::many_chip::schedulers;
use super::{NO_CAUSE, Options, Row, Study};
use tailcut_sim::measured::{Measured, Run};
use tailcut_ssd::Breakdown;
use tailcut_ssd::config::CommitPolicy::{self, Pas, Sprinkler, Vas};

/// Bus active, bus contention, cell active and idle.
pub(crate) struct TimeBreakdown;

type Part = (&'static str, fn(&Breakdown) -> f64);

/// The parts, in the paper's order.
const PARTS: [Part; 4] = [
    ("bus active", |b| b.bus_active),
    ("bus contention", |b| b.bus_contention),
    ("cell active", |b| b.cell_active),
    ("idle", |b| b.idle),
];

/// Workloads with more reads than writes, in which SPK3 waits longer for buses.
const READERS: [&str; 3] = ["cfs3", "msnfs2", "proj2"];

impl Study for TimeBreakdown {
    fn id(&self) -> &'static str {
        "sprinkler-13"
    }

    fn title(&self) -> &'static str {
        "Where the time of the chips goes under the five schedulers, 64 chips, saturated"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, section 5.5 and figure 13"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        saturated_runs(options, done)
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for load in loads(options) {
            for (name, policy) in [("PAS", Pas), ("SPK3", Sprinkler)] {
                let breakdown = figures(done, &load, policy, Pace::Saturated).breakdown();
                let case = format!("{}, {name}", load.name());
                rows.extend(
                    PARTS.map(|(what, part)| Row::new(case.clone(), what, "share", part(&breakdown))),
                );
            }
        }
        let means = |policy: CommitPolicy, pace, part: fn(&Breakdown) -> f64| {
            mean(&table_1(), |load| part(&figures(done, load, policy, pace).breakdown()))
        };
        for scheduler in schedulers() {
            let case = format!("all, {}", scheduler.paper_name);
            rows.extend(PARTS.map(|(what, part)| {
                let measured = means(scheduler.policy, Pace::Saturated, part);
                Row::new(case.clone(), format!("{what}, mean"), "share", measured)
            }));
        }
        let idle = |policy, pace| means(policy, pace, |breakdown| breakdown.idle);
        let saving = |than, pace| saved(idle(than, pace), idle(Sprinkler, pace));
        for pace in QUEUES {
            let row = |name: &str, than, paper: f64| {
                let quantity = format!("idle time saved, SPK3 against {name}");
                let [short, deep] = QUEUES.map(|pace| saving(than, pace));
                let row = Row::new(format!("all{}", pace.suffix()), quantity, "share", saving(than, pace))
                    .paper(paper)
                    .effect()
                    .saving()
                    .explain(queue_decides(paper, short, deep));
                read_at(row, SMALL, pace)
            };
            rows.push(row("PAS", Pas, 0.405));
            rows.push(row("VAS", Vas, 0.507));
        }
        let order = |quantity: &str, cases: &[&str]| Row::order(&rows, quantity, cases).explain(NO_CAUSE);
        let mut claims = vec![order("cell active, mean", &["all, SPK3", "all, PAS"])];
        claims.extend(
            READERS.map(|load| order("bus contention", &[&format!("{load}, SPK3"), &format!("{load}, PAS")])),
        );
        rows.extend(claims);
        rows
    }
}
