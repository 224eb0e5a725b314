//! Beyond Shin, section 5.4.3: the cost of sets to the gets of a key-value server at a constant rate of
//! gets.
//!
//! Table 5.2 compares whole loads, in which everything moves at once. Here gets arrive at one rate in all
//! runs, by the clock, from clients that do not wait for each other, with or without sets beside them. Any
//! additional waiting of gets is due to the sets.

use super::interval::Interval;
use super::served::{self, figures};
use super::shin::{MODES, Mode, run};
use super::{Options, Row, Study};
use tailcut_base::histogram::LatencyHistogram;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_workload::config::PaceKind;
use tailcut_workload::{BesideConfig, SyntheticConfig};

/// Gets alone, and beside sets.
pub(crate) struct GetsBesideSets;

/// Gets per second: with as many sets about half of what the slowest mode takes of them (`shin-t5.2`).
const GETS: u64 = 20_000;

/// Sets for each get, in per cent: none, one in ten commands, half of them.
const LOADS: [(&str, u64); 3] = [("gets alone", 0), ("90/10", 11), ("50/50", 100)];

/// More connections than there are ever commands: a set that waits for room keeps no get from being asked.
const CONNECTIONS: u32 = 4096;

/// The percentile that the goal is for.
const LAST: f64 = 99.9;

fn label(mode: Mode, load: &str) -> String {
    format!("{}/{}", mode.name(), load.replace(' ', "-"))
}

fn scenario(options: &Options, mode: Mode, sets: u64) -> Scenario {
    let seconds = if options.quick { 2 } else { 20 };
    let mut scenario = mode.readers(options, 1, seconds);
    scenario.content = true;
    scenario.kv = served::server(options, CONNECTIONS);
    scenario.workload = by_the_clock(1_000_000, GETS);
    if sets > 0 {
        scenario.beside = BesideConfig { enabled: true, source: by_the_clock(0, GETS * sets / 100) };
    }
    scenario
}

fn by_the_clock(read: u32, rate: u64) -> SyntheticConfig {
    let mut workload = SyntheticConfig {
        read,
        pace: PaceKind::Open,
        rate,
        depth: CONNECTIONS / 2,
        ..SyntheticConfig::default()
    };
    served::popular(&mut workload);
    workload
}

impl Study for GetsBesideSets {
    fn id(&self) -> &'static str {
        "beyond-kv"
    }

    fn title(&self) -> &'static str {
        "Key-value server on four SATA drives: gets from flash beside sets, against the same gets alone"
    }

    fn source(&self) -> &'static str {
        "Beyond Shin, dissertation, Seoul National University, 2017, section 5.4.3"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let of = |mode: Mode| LOADS.map(|(load, sets)| run(label(mode, load), scenario(options, mode, sets)));
        MODES.into_iter().flat_map(of).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let of = |mode: Mode| LOADS.into_iter().flat_map(move |(load, _)| rows_of(done, mode, load));
        MODES.into_iter().flat_map(of).collect()
    }
}

fn rows_of(done: &[Measured], mode: Mode, load: &str) -> Vec<Row> {
    let measured = find(done, &label(mode, load));
    let alone = figures(find(done, &label(mode, LOADS[0].0)));
    let server = figures(measured);
    let case = format!("{}, {load}", mode.name());
    let row = |quantity: String, unit, value: f64| Row::new(&*case, quantity, unit, value);
    let seconds =
        |of: &LatencyHistogram, percentile| of.resolved_percentile(percentile).map(|at| at.as_secs_f64());
    let latency = |quantity: String, of: &LatencyHistogram, percentile| {
        Row::new(&*case, quantity, "s", seconds(of, percentile))
    };
    let gets = server.from_flash.count() as f64 / server.elapsed.as_secs_f64();
    let mut rows = vec![row("gets answered from flash".into(), "1/s", gets).note(LOAD)];
    for percentile in [50.0, 99.0, LAST, 99.99] {
        rows.push(latency(format!("get from flash, {percentile} %"), &server.from_flash, percentile));
        rows.push(latency(format!("of that, storage, {percentile} %"), &server.flash, percentile));
    }
    let Interval { from, to } = Interval::of(&server.from_flash, LAST);
    let count = format!("of {} gets, taken as independent", server.from_flash.count());
    let bound = |at: Option<tailcut_base::Nanos>| at.map(|at| at.as_secs_f64());
    rows.push(
        Row::new(&*case, format!("{LAST} %: 95 % interval from"), "s", bound(from)).note(count.clone()),
    );
    rows.push(Row::new(&*case, format!("{LAST} %: 95 % interval to"), "s", bound(to)).note(count));
    if load != LOADS[0].0 {
        let ratio = |with: &LatencyHistogram, without: &LatencyHistogram| {
            Some(seconds(with, LAST)? / seconds(without, LAST)?)
        };
        let over = |quantity: String, ratio| Row::new(&*case, quantity, "x", ratio).limit(1.0);
        let whole = ratio(&server.from_flash, &alone.from_flash);
        rows.push(over(format!("get from flash, {LAST} %, / alone"), whole).note(GOALS));
        let storage = ratio(&server.flash, &alone.flash);
        rows.push(over(format!("of that, storage, {LAST} %, / alone"), storage));
        rows.push(latency("set, 50 %".into(), &server.sets, 50.0));
        rows.push(latency(format!("set, {LAST} %"), &server.sets, LAST));
    }
    rows
}

const LOAD: &str = "\
Of 20,000 gets a second, which come by the clock; the others are answered from memory. Sets come beside \
them, by a clock of their own.";

const GOALS: &str = "\
The goal is 1.3 at the most in GCCTRL.";
