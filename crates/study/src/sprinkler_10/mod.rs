//! Sprinkler, figures 10 and 12: bandwidth, requests per second, latency and queue stall time.

mod by_workload;

use super::evaluation::{
    BEYOND, Load, Pace, QUEUES, SMALL, Step, device_latency_ns, geometric_mean, least, loads, mean, most,
    queue_decides, read_at, saved, table_1,
};
use super::many_chip::{CHIPS, Scheduler, schedulers};
use super::{Basis, NO_CAUSE, Options, Row, Study};
use tailcut_sim::measured::{Measured, Run};
use tailcut_ssd::config::CommitPolicy::{self, Faro, Pas, Rios, Sprinkler, Vas};
use tailcut_workload::datacenter::Workload;

/// The five schedulers under the workloads of table 1.
pub(crate) struct Performance;

/// The schedulers that are compared on every drive.
const CLAIMED: [CommitPolicy; 3] = [Vas, Pas, Sprinkler];

/// The workload of figure 12.
const SERIES: Load = Load::Table(Workload::Msnfs1);

impl Study for Performance {
    fn id(&self) -> &'static str {
        "sprinkler-10"
    }

    fn title(&self) -> &'static str {
        "Bandwidth, latency and queue stall of the five schedulers under sixteen workloads"
    }

    fn source(&self) -> &'static str {
        "Jung and Kandemir, Sprinkler, HPCA 2014, sections 5.2 and 5.4, figures 10 and 12"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        let loads = loads(options);
        let cases = |chips: u32| -> Vec<(Load, CommitPolicy, u32)> {
            let policies: Vec<CommitPolicy> = match chips {
                SMALL => schedulers().iter().map(|scheduler| scheduler.policy).collect(),
                _ => CLAIMED.to_vec(),
            };
            let pairs =
                loads.iter().flat_map(|load| policies.iter().map(move |&policy| (load.clone(), policy)));
            pairs.map(|(load, policy)| (load, policy, chips)).collect()
        };
        let saturated = CHIPS.into_iter().flat_map(cases);
        if done.is_empty() {
            let mut runs: Vec<Run> = saturated
                .map(|(load, policy, chips)| load.run(options, policy, chips, Pace::Saturated))
                .collect();
            for load in table_1() {
                for chips in CHIPS {
                    runs.extend(CLAIMED.map(|policy| load.run(options, policy, chips, Pace::Deep)));
                }
                for step in Step::ALL {
                    runs.extend(QUEUES.map(|pace| load.run_beyond(options, SMALL, pace, step)));
                }
            }
            runs.extend(by_workload::runs(options));
            return runs;
        }
        if done.iter().any(|measured| measured.label.ends_with("/carried")) {
            return Vec::new();
        }
        saturated
            .filter(|(load, ..)| load.has_pace())
            .map(|(load, policy, chips)| load.run(options, policy, chips, load.carried_pace(done, chips)))
            .collect()
    }

    fn later_runs(&self) -> Option<&'static str> {
        Some(
            "and for each .../saturated one .../carried, at nine tenths of what VAS sustains: its scenario \
             is known when the saturated runs are measured",
        )
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for load in loads(options) {
            rows.extend(schedulers().iter().flat_map(|scheduler| absolute(done, &load, scheduler)));
            rows.extend(gains(done, &load));
        }
        for chips in CHIPS {
            rows.extend(bandwidths(done, chips));
            rows.extend(latencies(done, chips));
        }
        rows.extend(weaknesses(done));
        rows.extend(gained(done));
        rows.extend(by_workload::rows(done));
        rows.extend(stalls(done));
        rows.extend(series(done));
        for step in Step::ALL {
            rows.extend(QUEUES.into_iter().flat_map(|pace| beyond(done, pace, step)));
        }
        rows
    }
}

fn bandwidth(done: &[Measured], load: &Load, policy: CommitPolicy, chips: u32) -> f64 {
    load.saturated(done, policy, chips).bandwidth()
}

fn latency(done: &[Measured], load: &Load, policy: CommitPolicy, chips: u32) -> f64 {
    device_latency_ns(load.carried(done, policy, chips))
}

/// How much shorter SPK3's latency is than that of `than`.
fn shorter(done: &[Measured], load: &Load, than: CommitPolicy, chips: u32) -> f64 {
    saved(latency(done, load, than, chips), latency(done, load, Sprinkler, chips))
}

fn stall(done: &[Measured], load: &Load, policy: CommitPolicy, chips: u32) -> f64 {
    load.carried(done, policy, chips).queue_stall.0 as f64
}

/// A scheduler's own figures on the small drive.
fn absolute(done: &[Measured], load: &Load, scheduler: &Scheduler) -> Vec<Row> {
    let case = format!("{}, {}", load.name(), scheduler.paper_name);
    let run = load.saturated(done, scheduler.policy, SMALL);
    let mut rows = vec![
        Row::new(case.clone(), "bandwidth", "B/s", run.bandwidth()).limit(run.bandwidth_limit()),
        Row::new(case.clone(), "requests", "1/s", run.iops()).limit(run.iops_limit()),
    ];
    if load.has_pace() {
        let seconds = latency(done, load, scheduler.policy, SMALL) * 1e-9;
        rows.push(Row::new(case, LATENCY, "s", seconds));
    }
    rows
}

/// What SPK3 gains on the small drive under one load.
fn gains(done: &[Measured], load: &Load) -> Vec<Row> {
    let ratio = |of, to| bandwidth(done, load, of, SMALL) / bandwidth(done, load, to, SMALL);
    let row = |quantity: &str, unit, measured: f64| Row::new(load.name(), quantity, unit, measured);
    let mut rows = vec![
        row("bandwidth, SPK3 / VAS", "x", ratio(Sprinkler, Vas)),
        row("bandwidth, SPK3 / PAS", "x", ratio(Sprinkler, Pas)),
    ];
    if load.has_pace() {
        let stalled = |policy| stall(done, load, policy, SMALL);
        rows.push(row("latency saved, SPK3 against VAS", "share", shorter(done, load, Vas, SMALL)));
        rows.push(row(
            "queue stall saved, SPK3 against VAS",
            "share",
            saved(stalled(Vas), stalled(Sprinkler)),
        ));
    }
    rows
}

/// The claims on latency and queue stall, at the load that VAS carries.
fn latencies(done: &[Measured], chips: u32) -> Vec<Row> {
    let loads = &table_1();
    let case = format!("{chips} chips, all");
    let row =
        |quantity: &str, measured: f64| Row::new(case.clone(), quantity, "share", measured).effect().saving();
    let drive = |load: &Load| shorter(done, load, Vas, chips);
    let whole = |load: &Load| {
        let latency = |policy| load.carried(done, policy, chips).mean_latency_ns();
        saved(latency(Vas), latency(Sprinkler))
    };
    let stalled = |policy| loads.iter().map(|load| stall(done, load, policy, chips)).sum::<f64>();
    let claim = |row: Row| read_at(row, chips, Pace::Carried(0));
    let against_pas = |load: &Load| shorter(done, load, Pas, chips);
    let either = |load: &Load| drive(load).min(against_pas(load));
    vec![
        claim(row("latency saved against VAS, min", least(loads, drive)).paper(0.591).explain(FEW_PAGES)),
        claim(row("latency saved against VAS, mean", mean(loads, drive)).paper(0.78).explain(FEW_PAGES)),
        claim(row("latency saved against VAS, max", most(loads, drive)).paper(0.923).explain(FEW_PAGES)),
        claim(
            row("latency saved against PAS, mean", mean(loads, against_pas))
                .paper(0.78)
                .explain(PAS_CARRIES_IT),
        ),
        claim(
            row("latency saved against VAS and PAS, min", least(loads, either))
                .at_least(0.566)
                .explain(PAS_CARRIES_IT),
        ),
        row("latency saved against VAS with the wait for a tag, mean", mean(loads, whole)),
        claim(
            row("queue stall saved against VAS", saved(stalled(Vas), stalled(Sprinkler)))
                .paper(0.86)
                .explain(LITTLE_STALL),
        ),
    ]
}

/// The claims on bandwidth, "at least 2.2 times" VAS and "1.8 times" PAS, with each queue.
fn bandwidths(done: &[Measured], chips: u32) -> Vec<Row> {
    let loads = &table_1();
    let gain = |to, pace| {
        let bandwidth = move |load: &Load, policy| load.at(done, policy, chips, pace).bandwidth();
        move |load: &Load| bandwidth(load, Sprinkler) / bandwidth(load, to)
    };
    let least_of = |to| QUEUES.map(|pace| least(loads, gain(to, pace)));
    let mean_of = |to| QUEUES.map(|pace| geometric_mean(loads, gain(to, pace)));
    let mut rows = Vec::new();
    for (at, pace) in QUEUES.into_iter().enumerate() {
        let case = format!("{chips} chips, all{}", pace.suffix());
        let row = |quantity: &str, measured: f64| Row::new(case.clone(), quantity, "x", measured);
        let claim = |quantity: &str, paper: f64, values: [f64; 2]| {
            let row = row(quantity, values[at]).at_least(paper);
            read_at(row.explain(queue_decides(paper, values[0], values[1])), chips, pace)
        };
        rows.extend([
            claim("bandwidth, SPK3 / VAS, min", 2.2, least_of(Vas)),
            row("bandwidth, SPK3 / VAS, geometric mean", mean_of(Vas)[at]),
            claim("bandwidth, SPK3 / PAS, min", 1.8, least_of(Pas)),
            row("bandwidth, SPK3 / PAS, geometric mean", mean_of(Pas)[at]),
        ]);
    }
    rows
}

/// The paper's claims about SPK1 and SPK2 alone, in counts of workloads.
fn weaknesses(done: &[Measured]) -> Vec<Row> {
    let loads = table_1();
    let served = |load: &Load, policy| bandwidth(done, load, policy, SMALL);
    let row = |what: &str, than: &str, most: f64, is_slower: &dyn Fn(&Load) -> bool, why: &str| {
        let slower: Vec<String> = loads.iter().filter(|load| is_slower(load)).map(Load::name).collect();
        let count = slower.len() as f64;
        let names = if slower.is_empty() { String::new() } else { format!("{}. ", slower.join(", ")) };
        Row::new(format!("{SMALL} chips, all"), format!("{what} serves less than {than}"), "workloads", count)
            .at_most(most)
            .note(names + why)
    };
    let few = |row: Row, word: &str| {
        row.basis(Basis::Derived, &format!("what '{word}' is taken to mean, fewer than half of sixteen"))
    };
    let below = |a, b| move |load: &Load| served(load, a) < served(load, b);
    let below_any =
        |load: &Load| [Vas, Pas, Faro, Rios].iter().any(|&b| served(load, Sprinkler) < served(load, b));
    vec![
        few(row("SPK1", "PAS", 7.0, &below(Faro, Pas), IN_ORDER), "occasionally"),
        row("SPK2", "VAS", 0.0, &below(Rios, Vas), ONE_PAGE),
        row("SPK2", "PAS", 0.0, &below(Rios, Pas), ONE_PAGE),
        few(row("SPK2", "SPK1", 7.0, &below(Rios, Faro), LARGE), "in most cases"),
        row("SPK3", "another", 0.0, &below_any, COUPLED),
    ]
}

/// Figure 12, which follows msnfs1 for three thousand requests: the means of its curves, at both
/// loads.
fn series(done: &[Measured]) -> Vec<Row> {
    let saturated = |policy| device_latency_ns(SERIES.saturated(done, policy, SMALL));
    let row = |quantity: &str, measured: f64| {
        Row::new("msnfs1, 64 chips", quantity, "share", measured).effect().saving()
    };
    let at_saturation = |than| saved(saturated(than), saturated(Sprinkler));
    let deep = |policy| SERIES.deep(done, policy, SMALL).bandwidth();
    let shown = |(name, policy): (&str, CommitPolicy)| {
        Row::new(format!("msnfs1, {name}"), LATENCY, "s", latency(done, &SERIES, policy, SMALL) * 1e-9)
    };
    let of_each = [("VAS", Vas), ("PAS", Pas), ("SPK3", Sprinkler)].map(shown);
    let order =
        Row::order(&of_each, LATENCY, &["msnfs1, VAS", "msnfs1, PAS", "msnfs1, SPK3"]).explain(NO_CAUSE);
    vec![
        row("latency saved against VAS (figure 12)", shorter(done, &SERIES, Vas, SMALL))
            .paper(0.8)
            .explain(FEW_PAGES),
        row("latency saved against PAS (figure 12)", shorter(done, &SERIES, Pas, SMALL))
            .paper(0.64)
            .explain(PAS_CARRIES_IT),
        row("latency saved against VAS (figure 12), saturated", at_saturation(Vas))
            .paper(0.8)
            .of_reading("saturated")
            .explain(FEW_PAGES),
        row("latency saved against PAS (figure 12), saturated", at_saturation(Pas))
            .paper(0.64)
            .of_reading("saturated")
            .explain(PAS_IS_CLOSER.replace("{}", &format!("{:.1}", deep(Sprinkler) / deep(Pas)))),
        order,
    ]
}

/// Beyond the paper: what SPK3 gains by one more step.
fn beyond(done: &[Measured], pace: Pace, step: Step) -> Vec<Row> {
    let loads = &table_1();
    let gain = |load: &Load| {
        load.beyond(done, SMALL, pace, step).bandwidth() / load.at(done, Sprinkler, SMALL, pace).bandwidth()
    };
    let case = format!("{SMALL} chips, all{}", pace.suffix());
    let row = |which: &str, measured: f64| {
        Row::new(case.clone(), format!("bandwidth, SPK3 with {} / SPK3, {which}", step.name()), "x", measured)
    };
    vec![
        row("min", least(loads, gain)),
        row("geometric mean", geometric_mean(loads, gain)).note(BEYOND),
        row("max", most(loads, gain)),
    ]
}

/// What SPK3 adds to the bandwidth of VAS and PAS, from the least to the most of all workloads.
fn gained(done: &[Measured]) -> Vec<Row> {
    let loads = &table_1();
    let claim = |than: &str, which: &str, paper: f64, measured: f64| {
        let quantity = format!("bandwidth, SPK3 - {than}, {which}");
        Row::new(format!("{SMALL} chips, all"), quantity, "B/s", measured).paper(paper).explain(SIZES)
    };
    let of = |than| {
        move |load: &Load| bandwidth(done, load, Sprinkler, SMALL) - bandwidth(done, load, than, SMALL)
    };
    vec![
        claim("VAS", "min", 42e6, least(loads, of(Vas))),
        claim("VAS", "max", 300e6, most(loads, of(Vas))),
        claim("PAS", "min", 38e6, least(loads, of(Pas))),
        claim("PAS", "max", 200e6, most(loads, of(Pas))),
    ]
}

/// Queue stall of all workloads together: every SPK has less of it.
fn stalls(done: &[Measured]) -> Vec<Row> {
    let total = |policy| table_1().iter().map(|load| stall(done, load, policy, SMALL)).sum::<f64>() * 1e-9;
    let case = |name: &str| format!("all, {name}");
    let row = |scheduler: &Scheduler| {
        Row::new(case(scheduler.paper_name), "queue stall, all together", "s", total(scheduler.policy))
    };
    let mut rows: Vec<Row> = schedulers().iter().map(row).collect();
    for name in ["SPK1", "SPK2"] {
        let order = Row::order(&rows, "queue stall, all together", &[&case("VAS"), &case(name)]);
        rows.push(order.explain(NO_CAUSE));
    }
    rows
}

const LATENCY: &str = "mean latency in the drive, at 90 % of VAS's load";

const SIZES: &str = "\
The paper does not say on which of its drives, nor how its traces were replayed: here requests follow each \
other without a pause, so that bandwidth is what the drive can carry.";

const IN_ORDER: &str = "\
The paper: \"occasionally\" (cfs3, proj0 and proj1 are named). FARO alone keeps the order of I/O requests, \
so a chip's set is as small as the request at the head of the queue.";

const ONE_PAGE: &str =
    "The paper: never. RIOS alone gives a chip one page at a time, however large the requests.";

const LARGE: &str = "The paper: in proj2, whose requests are large.";

const COUPLED: &str = "\
The paper: never. Dies behind one ready/busy line end together: a fast page that shares a program with a \
slow one is busy for as long as the slow one.";

const PAS_CARRIES_IT: &str = "\
A load that VAS just carries is far below what PAS serves, so PAS hardly queues: what remains of both \
latencies is mostly the program of a page. The paper does not say at which load its curves were taken.";

const PAS_IS_CLOSER: &str = "\
In a saturated loop latency follows bandwidth (Little's law), and the paper's 64 % would need a bandwidth of \
2.8 times that of PAS. With a queue of 1024 entries it is {} times; the paper does not say at which load its \
curves were taken.";

const FEW_PAGES: &str = "\
At the load that VAS carries on that many chips the 32 requests in its queue rarely collide, so there is \
less for SPK3 to save; what remains is the program of the last page of each request.";

const LITTLE_STALL: &str = "\
The load decides: at nine tenths of what VAS carries SPK3's queue is hardly ever full. On 64 chips 0.5 % of \
VAS's stall remains there, 4.5 % at twice what VAS carries, 10 % at three times, 29 % at five times; in the \
paper it is 14 %, at a load that it does not give. Figures of the full form.";
