//! Sprinkler, figure 6: how busy chips are, and could be.

use super::evaluation::{Load, Pace, least, loads, mean, table_1};
use super::many_chip::CHIPS;
use super::{Options, Row, Study};
use tailcut_sim::measured::{Measured, Run};
use tailcut_ssd::config::CommitPolicy::{Pas, Sprinkler, Vas};

/// The potential of scheduling: VAS, PAS, and neither obstacle.
pub(crate) struct Potential;

impl Study for Potential {
    fn id(&self) -> &'static str {
        "sprinkler-6"
    }

    fn title(&self) -> &'static str {
        "Chip utilisation under VAS and PAS, and with both obstacles removed"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, section 3 and figure 6"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let mut runs = Vec::new();
        for chips in CHIPS {
            for load in loads(options) {
                runs.extend([Vas, Pas].map(|policy| load.run(options, policy, chips, Pace::Saturated)));
                runs.push(load.run(options, Sprinkler, chips, Pace::Deep));
            }
        }
        runs
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        let shares = |load: &Load, chips| {
            [
                load.saturated(done, Vas, chips).figures.lun_utilisation(),
                load.saturated(done, Pas, chips).figures.lun_utilisation(),
                load.deep(done, Sprinkler, chips).figures.lun_utilisation(),
            ]
        };
        for load in loads(options) {
            for chips in CHIPS {
                let case = format!("{chips} chips, {}", load.name());
                let row = |(name, share): (&str, f64)| {
                    Row::new(case.clone(), format!("chip utilisation, {name}"), "share", share)
                };
                rows.extend(SCENARIOS.into_iter().zip(shares(&load, chips)).map(row));
            }
        }
        let all = &table_1();
        let mut over_all = [0.0; 3];
        for (at, name) in SCENARIOS.into_iter().enumerate() {
            let of = |chips| mean(all, |load| shares(load, chips)[at]);
            let quantity = format!("chip utilisation, {name}, mean");
            rows.extend(
                CHIPS.map(|chips| {
                    Row::new(format!("{chips} chips, all"), quantity.clone(), "share", of(chips))
                }),
            );
            let over_drives = CHIPS.map(of).iter().sum::<f64>() / CHIPS.len() as f64;
            let row = Row::new("all drives, all", quantity, "share", over_drives).paper(PAPER[at]);
            rows.push(row.explain(PLATFORM));
            over_all[at] = over_drives;
        }
        let unobstructed =
            |load: &Load| CHIPS.map(|chips| shares(load, chips)[2]).iter().sum::<f64>() / CHIPS.len() as f64;
        let row = |quantity: &str, unit, measured: f64| Row::new("all drives, all", quantity, unit, measured);
        rows.extend([
            row("chip utilisation, no obstacles, min", "share", least(all, unobstructed))
                .at_least(0.4)
                .explain(PLATFORM),
            row("chip utilisation, no obstacles / VAS", "x", over_all[2] / over_all[0])
                .paper(3.0)
                .explain(PLATFORM),
            row("chip utilisation, no obstacles / PAS", "x", over_all[2] / over_all[1])
                .paper(2.0)
                .explain(PLATFORM),
        ]);
        rows
    }
}

/// The three bars of the figure. Without the obstacles means: a chip never waits because of the order or the
/// size of requests, as SPK3 does with as many requests to choose from as its layout holds.
const SCENARIOS: [&str; 3] = ["VAS", "PAS", "no obstacles"];

/// The paper's means.
const PAPER: [f64; 3] = [0.17, 0.24, 0.55];

const PLATFORM: &str = "\
The paper does not say on how many chips: VAS alone is at 20 % on 64 chips and at 5 % on 1024, because 32 \
requests in the queue are as many on a large drive as on a small one.";
