//! Sprinkler, figure 16: how many transactions over-commitment saves.

use super::evaluation::{Load, Pace, loads, mean, saved, table_1};
use super::many_chip::{CHIPS, Scheduler, schedulers};
use super::{Measured, Options, Row, Run, Study};
use tailcut_ssd::controller::commit::CommitPolicy::{self, Sprinkler, Vas};

/// Transactions for the same requests, against VAS.
pub struct Transactions;

/// The drives of figure 16.
const DRIVES: [u32; 2] = [CHIPS[0], CHIPS[2]];

impl Study for Transactions {
    fn id(&self) -> &'static str {
        "sprinkler-16"
    }

    fn title(&self) -> &'static str {
        "Flash transactions saved against VAS for the same requests, 64 and 1024 chips"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, section 5.8 and figure 16"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let mut runs = Vec::new();
        for chips in DRIVES {
            for load in loads(options) {
                let run = |scheduler: &Scheduler| load.run(options, scheduler.policy, chips, Pace::Saturated);
                runs.extend(schedulers().iter().map(run));
            }
            for load in table_1() {
                runs.extend([Vas, Sprinkler].map(|policy| load.run(options, policy, chips, Pace::Deep)));
            }
        }
        runs
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for chips in DRIVES {
            for load in loads(options) {
                for scheduler in schedulers().iter().filter(|scheduler| scheduler.policy != Vas) {
                    let case = format!("{chips} chips, {}, {}", load.name(), scheduler.paper_name);
                    let measured = reduction(done, &load, scheduler.policy, chips, Pace::Saturated);
                    rows.push(Row::new(case, "transactions saved", "share", measured));
                }
            }
        }
        let all = &table_1();
        let row = |name: &str, policy, chips: u32, pace| {
            let measured = mean(all, |load| reduction(done, load, policy, chips, pace));
            Row::new(
                format!("{chips} chips, all, {name}{}", pace.suffix()),
                "transactions saved, mean",
                "share",
                measured,
            )
        };
        for scheduler in schedulers().iter().filter(|scheduler| scheduler.policy != Vas) {
            let claim = (scheduler.policy == Sprinkler).then_some(0.502);
            let row = |chips| row(scheduler.paper_name, scheduler.policy, chips, Pace::Saturated);
            rows.extend(DRIVES.map(|chips| row(chips).paper(claim).explain(SHORT_QUEUE)));
        }
        rows.extend(
            DRIVES
                .map(|chips| row("SPK3", Sprinkler, chips, Pace::Deep).paper(0.502).explain(FEW_FOR_A_CHIP)),
        );
        rows
    }
}

/// Transactions saved against VAS for the same requests.
fn reduction(done: &[Measured], load: &Load, policy: CommitPolicy, chips: u32, pace: Pace) -> f64 {
    let transactions = |policy| {
        let run = if pace == Pace::Deep {
            load.deep(done, policy, chips)
        } else {
            load.saturated(done, policy, chips)
        };
        run.figures.transactions.iter().sum::<u64>() as f64
    };
    saved(transactions(Vas), transactions(policy))
}

const SHORT_QUEUE: &str = "\
A transaction is saved when a second request for the same chip, at another die or at the same page offset of another plane, \
waits already. Thirty-two requests of a few pages leave a chip of a small drive one or two pages to choose from, and a chip of a \
large one hardly ever a second. The rows 'queue of 1024' have the queue that the paper's 256 KB of layout would hold.";

const FEW_FOR_A_CHIP: &str = "\
Even 1024 requests of a few pages are only a few for each of 1024 chips, and half of those are at the same die.";
